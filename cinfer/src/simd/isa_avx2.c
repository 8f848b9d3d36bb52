/* isa_avx2.c - the vector code for AVX2. */
#include "isa_sets.h"

#if CI_ISA_X86_AVX2
#include "isa_region.h"

CI_TARGET_BEGIN("avx2,fma,f16c")
#define CI_REGION_FAST CI_FAST
#define CI_ISA_DOUBLES CI_LARGE
#define CI_ISA_DOUBLES_HERE 1 /* this copy serves AVX-512, too */
#define CI_VEC_AVX2
#define CI_N(x) x##_avx2
#include "vec.h"
#include "math/isa_math_impl.h"
#include "linear/isa_linear_impl.h"
#include "math/isa_move_impl.h"
#include "linear/isa_bytes_impl.h"
#undef CI_N
#undef CI_VEC_AVX2
#undef CI_ISA_DOUBLES_HERE
#undef CI_ISA_DOUBLES
#undef CI_REGION_FAST
CI_TARGET_END
const struct ci_isa ci_isa_avx2 = CI_ISA_TABLE(CI_ISA_AVX2, "avx2", avx2, CI_BYTES(avx2));
#endif
