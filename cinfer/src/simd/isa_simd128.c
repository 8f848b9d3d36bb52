/* isa_simd128.c - the vector code for WebAssembly's SIMD instructions. */
#include "isa_sets.h"

#if CI_ISA_WASM
#include "isa_region.h"

#define CI_REGION_FAST CI_FAST
#define CI_ISA_DOUBLES CI_LARGE
#define CI_ISA_DOUBLES_HERE !CI_ISA_ANYWHERE
#define CI_VEC_SIMD128
#define CI_N(x) x##_simd128
#include "vec.h"
#include "math/isa_math_impl.h"
#include "linear/isa_linear_impl.h"
#include "math/isa_move_impl.h"
#include "linear/isa_bytes_impl.h"
#undef CI_N
#undef CI_VEC_SIMD128
#undef CI_ISA_DOUBLES_HERE
#undef CI_ISA_DOUBLES
#undef CI_REGION_FAST
const struct ci_isa ci_isa_simd128 = CI_ISA_TABLE(CI_ISA_SIMD128, "simd128", simd128, CI_BYTES(simd128));
#endif
