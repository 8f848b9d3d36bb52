/* isa.c - the vector code, compiled once per instruction set in regions of its own, and the choice between them.
 *
 * No file needs a compiler flag: the regions carry their target with them. */
#include "isa.h"

#include "cpu.h"
#include "isa_bytes.h"
#include "isa_linear.h"
#include "isa_linear_lists.h"
#include "isa_math.h"
#include "isa_move.h"
#include "scalar_math.h"
#include "scalar_series.h"
#include "vec_names.h" /* brings the intrinsics, which must not lie in a region below */

#if defined(__x86_64__) && defined(__GNUC__) && !defined(CI_NO_SIMD)
#define CI_ISA_X86 1
#endif
#if defined(__aarch64__) && defined(__GNUC__) && !defined(CI_NO_SIMD) && !defined(CI_NO_NEON)
#define CI_ISA_ARM 1
#endif
#if defined(__wasm_simd128__) && !defined(CI_NO_SIMD) && !defined(CI_NO_SIMD128)
#define CI_ISA_WASM 1
#endif

/* Instruction sets may be left out, the portable code where there is another. */
#if CI_ISA_X86 && !defined(CI_NO_AVX2)
#define CI_ISA_X86_AVX2 1
#endif
#if CI_ISA_X86 && !defined(CI_NO_AVX512)
#define CI_ISA_X86_AVX512 1
#endif
#if !defined(CI_NO_PORTABLE) || !(CI_ISA_X86_AVX2 || CI_ISA_X86_AVX512 || CI_ISA_ARM || CI_ISA_WASM)
#define CI_ISA_ANYWHERE 1
#endif

#if CI_HAS(quantization)
#define CI_BYTES(name) &isa_bytes_##name
#else
#define CI_BYTES(name) NULL
#endif

#define CI_PRAGMA(x) _Pragma(#x)
#if defined(__clang__)
#define CI_TARGET_BEGIN(isa) CI_PRAGMA(clang attribute push(__attribute__((target(isa))), apply_to = function))
#define CI_TARGET_END CI_PRAGMA(clang attribute pop)
#else
#define CI_TARGET_BEGIN(isa) CI_PRAGMA(GCC push_options) CI_PRAGMA(GCC target(isa))
#define CI_TARGET_END CI_PRAGMA(GCC pop_options)
#endif

#if CI_ISA_ANYWHERE
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
#endif
#define CI_N(x) x##_portable
#include "vec.h"
#include "isa_math_impl.h"
#include "isa_linear_impl.h"
#include "isa_move_impl.h"
#include "isa_bytes_impl.h"
#undef CI_N
#if CI_ISA_X86 && defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
static const struct ci_isa isa_portable = {CI_ISA_PORTABLE,      "portable",         &isa_math_portable,
                                           &isa_linear_portable, &isa_move_portable, CI_BYTES(portable)};
#endif

#undef CI_REGION_FAST
#undef CI_ISA_DOUBLES
#define CI_REGION_FAST CI_FAST
#define CI_ISA_DOUBLES CI_LARGE /* one copy, of the least instruction set, serves all */

#if CI_ISA_X86_AVX2
CI_TARGET_BEGIN("avx2,fma,f16c")
#define CI_VEC_AVX2
#define CI_N(x) x##_avx2
#include "vec.h"
#include "isa_math_impl.h"
#include "isa_linear_impl.h"
#include "isa_move_impl.h"
#include "isa_bytes_impl.h"
#undef CI_N
#undef CI_VEC_AVX2
CI_TARGET_END
static const struct ci_isa isa_avx2 = {CI_ISA_AVX2,      "avx2",         &isa_math_avx2,
                                       &isa_linear_avx2, &isa_move_avx2, CI_BYTES(avx2)};
#endif

#if CI_ISA_X86_AVX512
CI_TARGET_BEGIN("avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")
#define CI_VEC_AVX512
#define CI_N(x) x##_avx512
#include "vec.h"
#include "isa_math_impl.h"
#include "isa_linear_impl.h"
#include "isa_move_impl.h"
#include "isa_bytes_impl.h"
#undef CI_N
#undef CI_VEC_AVX512
CI_TARGET_END
#if CI_HAS(quantization) /* nothing else is in this region */
#define CI_VEC_AVX512
#define CI_BYTES_VNNI
#define CI_N(x) x##_avx512_vnni
CI_TARGET_BEGIN("avx512f,avx512vl,avx512bw,avx512dq,avx512vnni,avx2,fma")
#include "isa_bytes_impl.h"
CI_TARGET_END
#undef CI_N
#undef CI_BYTES_VNNI
#undef CI_VEC_AVX512
#endif
static const struct ci_isa isa_avx512_vnni = {CI_ISA_AVX512,      "avx512",         &isa_math_avx512,
                                              &isa_linear_avx512, &isa_move_avx512, CI_BYTES(avx512_vnni)};
static const struct ci_isa isa_avx512 = {CI_ISA_AVX512,      "avx512",         &isa_math_avx512,
                                         &isa_linear_avx512, &isa_move_avx512, CI_BYTES(avx512)};
#endif

#if CI_ISA_ARM
#define CI_VEC_NEON
#define CI_N(x) x##_neon
#include "vec.h"
#include "isa_math_impl.h"
#include "isa_linear_impl.h"
#include "isa_move_impl.h"
#include "isa_bytes_impl.h"
#undef CI_N
#undef CI_VEC_NEON
static const struct ci_isa isa_neon = {CI_ISA_NEON,      "neon",         &isa_math_neon,
                                       &isa_linear_neon, &isa_move_neon, CI_BYTES(neon)};
#endif

#if CI_ISA_WASM
#define CI_VEC_SIMD128
#define CI_N(x) x##_simd128
#include "vec.h"
#include "isa_math_impl.h"
#include "isa_linear_impl.h"
#include "isa_move_impl.h"
#include "isa_bytes_impl.h"
#undef CI_N
#undef CI_VEC_SIMD128
static const struct ci_isa isa_simd128 = {CI_ISA_SIMD128,      "simd128",         &isa_math_simd128,
                                          &isa_linear_simd128, &isa_move_simd128, CI_BYTES(simd128)};
#endif

const struct ci_isa *ci_isa_find(int32_t id) {
#if CI_ISA_X86_AVX512
  if ((id == CI_ISA_AVX512 || id == CI_ISA_BEST) && (ci_cpu() & CI_CPU_AVX512) != 0)
    return (ci_cpu() & CI_CPU_VNNI) != 0 ? &isa_avx512_vnni : &isa_avx512;
#endif
#if CI_ISA_X86_AVX2
  if ((id == CI_ISA_AVX2 || id == CI_ISA_BEST) && (ci_cpu() & CI_CPU_AVX2) != 0) return &isa_avx2;
#endif
#if CI_ISA_ARM
  if (id == CI_ISA_NEON || id == CI_ISA_BEST) return &isa_neon;
#endif
#if CI_ISA_WASM
  if (id == CI_ISA_SIMD128 || id == CI_ISA_BEST) return &isa_simd128;
#endif
#if CI_ISA_ANYWHERE
  if (id == CI_ISA_PORTABLE || id == CI_ISA_BEST) return &isa_portable;
#endif
  return NULL;
}

static bool isa_gives(float found, uint32_t bits) {
  uint32_t actual;
  memcpy(&actual, &found, sizeof actual);
  return actual == bits;
}

/* Inputs are volatile, so that the machine computes and not the compiler. */
bool ci_isa_self_check(const struct ci_isa *isa) {
  static const volatile float numbers[] = {0x1.001p0f, 0x1p-60f, 0x1p100f, 0x1p28f, -0x1p127f, 0x1p-149f, 1e8f, 1.0f};
  static const volatile double wide[] = {0x1.00000004p0, 0x1.00000008p0};
  float n[8], row[17], y[2];
  for (int i = 0; i < 8; i++) n[i] = numbers[i];
  for (int i = 0; i < 17; i++) row[i] = i == 0 ? n[6] : i == 16 ? -n[6] : n[7];
  const struct ci_isa_math *math = isa->math;
  const struct ci_isa_linear *linear = isa->linear;
  bool good = isa_gives(math->row[CI_REDUCE_SUM](row, 17), 0x41700000); /* lane 0 is 1e8 - 1e8, the others 1 */
  y[0] = n[1], y[1] = n[4];
  linear->multiply_add(y, n, n, 1);
  good = good && isa_gives(y[0], 0x3f801001); /* half a place and a little more: rounded twice it would be lost */
  linear->multiply_add(y + 1, n + 2, n + 3, 1);
  good = good && isa_gives(y[1], 0x7f000000); /* 2^128 - 2^127 does not overflow on the way */
  math->gradient_descent(y, n, n, n[0], 1);
  good = good && isa_gives(y[0], 0xb9800000); /* a product and a difference round twice */
  math->binary[CI_MATH_mul](y, n + 5, n + 7, 1, CI_NO_SCALAR);
  good = good && isa_gives(y[0], 1); /* denormals stay */
  math->unary[CI_MATH_exp](y, n + 7, 1, 0.0f, 0.0f);
  good = good && isa_gives(y[0], 0x402df854);
  const double a = wide[0], square = a * a, rest = square - wide[1];
  return good && rest == 0.0; /* double arithmetic is not contracted either */
}

int ci_isa_available(int32_t isa) { return ci_isa_find(isa) != NULL; }
