/* isa_portable.c - the vector code of plain C. */
#include "isa_sets.h"

#if CI_ISA_ANYWHERE
#include "isa_region.h"

/* On x86 this is for processors without AVX2 alone: there it is made small. */
#if CI_ISA_X86 && defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("Os", "fp-contract=off")
#endif
#if CI_ISA_X86
#define CI_REGION_FAST
#define CI_ISA_DOUBLES 0
#else
#define CI_REGION_FAST CI_FAST
#define CI_ISA_DOUBLES CI_LARGE
#define CI_ISA_DOUBLES_HERE 1
#endif
#define CI_N(x) x##_portable
#include "vec.h"
#include "math/isa_math_impl.h"
#include "linear/isa_linear_impl.h"
#include "math/isa_move_impl.h"
#include "linear/isa_bytes_impl.h"
#undef CI_N
#undef CI_ISA_DOUBLES_HERE
#undef CI_ISA_DOUBLES
#undef CI_REGION_FAST
#if CI_ISA_X86 && defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
const struct ci_isa ci_isa_portable = CI_ISA_TABLE(CI_ISA_PORTABLE, "portable", portable, CI_BYTES(portable));
#endif
