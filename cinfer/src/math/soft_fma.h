/* soft_fma.h - float32 fused multiply-add for portable code: the machine's own, or exact software. */
#ifndef CI_SOFT_FMA_H
#define CI_SOFT_FMA_H
#include <float.h>
#include <math.h>
#include <string.h>

#include "../base/ci_common.h"

#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 1
#error "cinfer needs float arithmetic that rounds to float or double: on x86 compile with -msse2 -mfpmath=sse"
#endif

/* Of a double's bits: those that a normal float drops, half of that range, and the upper half of the smallest normal
 * float.
 */
enum { CI_FMA_DROPPED = 0x1fffffff, CI_FMA_TIE = 0x10000000, CI_FMA_NORMAL = 0x38100000 };

/* The multiplication is exact in double. The sum is rounded there first, which matters only where it lands halfway
 * between two floats. Then, and for denormals, whose halves are elsewhere, it is rounded to odd: truncated towards
 * zero, its last bit set if anything was lost. 53 bits hold a float twice and two bits more, so the second rounding,
 * to float, is right. */
CI_OUTLINE float ci_soft_fma(float a, float b, float c) {
  const double p = (double)a * (double)b;
  const double d = (double)c;
  const double s = p + d;
  int64_t bits;
  memcpy(&bits, &s, sizeof bits);
  const uint32_t size = (uint32_t)(bits >> 32) & 0x7fffffff;
  if (((uint32_t)bits & CI_FMA_DROPPED) != CI_FMA_TIE && (size >= CI_FMA_NORMAL || size == 0)) return (float)s;
  const double d_part = s - p;
  const double p_part = s - d_part;
  const double d_error = d - d_part;
  const double p_error = p - p_part;
  const double error = p_error + d_error;
  if (error != 0.0 && s - s == 0.0) { /* an error of NaN comes with an infinite or NaN sum */
    if ((error < 0.0) != (s < 0.0)) bits--;
    bits |= 1;
    double odd;
    memcpy(&odd, &bits, sizeof odd);
    return (float)odd;
  }
  return (float)s;
}

/* Libraries are not trusted: some compute in double. Only functions that the compiler makes one instruction of are
 * used. */
CI_INLINE float ci_fma(float a, float b, float c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__FP_FAST_FMAF)
  return __builtin_fmaf(a, b, c);
#else
  return ci_soft_fma(a, b, c);
#endif
}
#endif
