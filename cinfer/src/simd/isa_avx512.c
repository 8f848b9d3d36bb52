/* isa_avx512.c - the vector code for AVX-512, and its multiplication of bytes for processors with VNNI. */
#include "isa_sets.h"

#if CI_ISA_X86_AVX512
#include "isa_region.h"

CI_TARGET_BEGIN("avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")
#define CI_REGION_FAST CI_FAST
#define CI_ISA_DOUBLES CI_LARGE
#define CI_ISA_DOUBLES_HERE !CI_ISA_X86_AVX2
#define CI_VEC_AVX512
#define CI_N(x) x##_avx512
#include "vec.h"
#include "math/isa_math_impl.h"
#include "linear/isa_linear_impl.h"
#include "math/isa_move_impl.h"
#include "linear/isa_bytes_impl.h"
#undef CI_N
CI_TARGET_END
#if CI_HAS(quantization) /* nothing else is in this region */
#define CI_BYTES_VNNI
#define CI_N(x) x##_avx512_vnni
CI_TARGET_BEGIN("avx512f,avx512vl,avx512bw,avx512dq,avx512vnni,avx2,fma")
#include "linear/isa_bytes_impl.h"
CI_TARGET_END
#undef CI_N
#undef CI_BYTES_VNNI
#endif
#undef CI_VEC_AVX512
#undef CI_ISA_DOUBLES_HERE
#undef CI_ISA_DOUBLES
#undef CI_REGION_FAST
const struct ci_isa ci_isa_avx512 = CI_ISA_TABLE(CI_ISA_AVX512, "avx512", avx512, CI_BYTES(avx512));
const struct ci_isa ci_isa_avx512_vnni = CI_ISA_TABLE(CI_ISA_AVX512, "avx512", avx512, CI_BYTES(avx512_vnni));
#endif
