/* isa.c - the vector code, compiled once per instruction set in regions of its own, and the choice between them.
 *
 * No file needs a compiler flag: the regions carry their target with them. */
#include "isa.h"

#include "isa_linear.h"
#include "isa_linear_lists.h"
#include "isa_math.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(CI_NO_SIMD)
#define CI_ISA_X86 1
#endif
#if defined(__aarch64__) && defined(__GNUC__) && !defined(CI_NO_SIMD)
#define CI_ISA_ARM 1
#endif

#define CI_PRAGMA(x) _Pragma(#x)
#if defined(__clang__)
#define CI_TARGET_BEGIN(isa) CI_PRAGMA(clang attribute push(__attribute__((target(isa))), apply_to = function))
#define CI_TARGET_END CI_PRAGMA(clang attribute pop)
#else
#define CI_TARGET_BEGIN(isa) CI_PRAGMA(GCC push_options) CI_PRAGMA(GCC target(isa))
#define CI_TARGET_END CI_PRAGMA(GCC pop_options)
#endif

#define CI_N(x) x##_portable
#include "vec.h"
#include "isa_math_impl.h"
#include "isa_linear_impl.h"
#undef CI_N
static const struct ci_isa isa_portable = {CI_ISA_PORTABLE, "portable", &isa_math_portable, &isa_linear_portable};

#if CI_ISA_X86
CI_TARGET_BEGIN("avx2,fma")
#define CI_VEC_AVX2
#define CI_N(x) x##_avx2
#include "vec.h"
#include "isa_math_impl.h"
#include "isa_linear_impl.h"
#undef CI_N
#undef CI_VEC_AVX2
CI_TARGET_END
static const struct ci_isa isa_avx2 = {CI_ISA_AVX2, "avx2", &isa_math_avx2, &isa_linear_avx2};

CI_TARGET_BEGIN("avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")
#define CI_VEC_AVX512
#define CI_N(x) x##_avx512
#include "vec.h"
#include "isa_math_impl.h"
#include "isa_linear_impl.h"
#undef CI_N
#undef CI_VEC_AVX512
CI_TARGET_END
static const struct ci_isa isa_avx512 = {CI_ISA_AVX512, "avx512", &isa_math_avx512, &isa_linear_avx512};
#endif

#if CI_ISA_ARM
#define CI_VEC_NEON
#define CI_N(x) x##_neon
#include "vec.h"
#include "isa_math_impl.h"
#include "isa_linear_impl.h"
#undef CI_N
#undef CI_VEC_NEON
static const struct ci_isa isa_neon = {CI_ISA_NEON, "neon", &isa_math_neon, &isa_linear_neon};
#endif

#if CI_ISA_X86
/* __builtin_cpu_supports also asks whether the system saves the registers. */
static bool isa_has_avx2(void) {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
static bool isa_has_avx512(void) {
  return isa_has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
}
#endif

const struct ci_isa *ci_isa_find(int32_t id) {
#if CI_ISA_X86
  if ((id == CI_ISA_AVX512 || id == CI_ISA_BEST) && isa_has_avx512()) return &isa_avx512;
  if ((id == CI_ISA_AVX2 || id == CI_ISA_BEST) && isa_has_avx2()) return &isa_avx2;
#elif CI_ISA_ARM
  if (id == CI_ISA_NEON || id == CI_ISA_BEST) return &isa_neon;
#endif
  return id == CI_ISA_PORTABLE || id == CI_ISA_BEST ? &isa_portable : NULL;
}

int ci_isa_available(int32_t isa) { return ci_isa_find(isa) != NULL; }
