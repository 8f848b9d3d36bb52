/* isa.c - chooses between the instruction sets that a build has, and checks the one that is chosen. */
#include "isa_sets.h"

#include <string.h>

#include "../system/cpu.h"
#include "linear/isa_linear.h"
#include "math/isa_math.h"

const struct ci_isa *ci_isa_find(int32_t id) {
#if CI_ISA_X86_AVX512
  if ((id == CI_ISA_AVX512 || id == CI_ISA_BEST) && (ci_cpu() & CI_CPU_AVX512) != 0)
    return (ci_cpu() & CI_CPU_VNNI) != 0 ? &ci_isa_avx512_vnni : &ci_isa_avx512;
#endif
#if CI_ISA_X86_AVX2
  if ((id == CI_ISA_AVX2 || id == CI_ISA_BEST) && (ci_cpu() & CI_CPU_AVX2) != 0) return &ci_isa_avx2;
#endif
#if CI_ISA_ARM
  if (id == CI_ISA_NEON || id == CI_ISA_BEST) return &ci_isa_neon;
#endif
#if CI_ISA_WASM
  if (id == CI_ISA_SIMD128 || id == CI_ISA_BEST) return &ci_isa_simd128;
#endif
#if CI_ISA_ANYWHERE
  if (id == CI_ISA_PORTABLE || id == CI_ISA_BEST) return &ci_isa_portable;
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
  /* a little more than half of the last bit, which is lost if it is rounded twice */
  good = good && isa_gives(y[0], 0x3f801001);
  linear->multiply_add(y + 1, n + 2, n + 3, 1);
  good = good && isa_gives(y[1], 0x7f000000); /* 2^128 - 2^127 does not overflow on the way */
  math->gradient_descent(y, n, n, n[0], 1);
  good = good && isa_gives(y[0], 0xb9800000); /* a multiplication and a subtraction round twice */
  math->binary[CI_MATH_mul](y, n + 5, n + 7, 1, CI_NO_SCALAR);
  good = good && isa_gives(y[0], 1); /* denormals stay */
  math->unary[CI_MATH_exp](y, n + 7, 1, 0.0f, 0.0f);
  good = good && isa_gives(y[0], 0x402df854);
  const double a = wide[0], square = a * a, rest = square - wide[1];
  return good && rest == 0.0; /* double arithmetic is not contracted either */
}

int ci_isa_available(int32_t isa) { return ci_isa_find(isa) != NULL; }
