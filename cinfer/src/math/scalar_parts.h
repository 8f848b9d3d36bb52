/* scalar_parts.h - exact pieces of double arithmetic for scalar_math.c and scalar_trig.c. */
#ifndef CI_SCALAR_PARTS_H
#define CI_SCALAR_PARTS_H
#include <string.h>

#include "../base/ci_common.h"

CI_INLINE uint64_t ci_double_bits(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

CI_INLINE double ci_double_from_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

CI_INLINE double ci_power_of_two(int k) { return ci_double_from_bits((uint64_t)(k + 1023) << 52); } /* -1022..1023 */

/* factor[0] x^(n-1) + ... + factor[n-1]: highest first. */
CI_INLINE double ci_polynomial(const double *factor, int n, double x) {
  double y = factor[0];
  for (int i = 1; i < n; i++) y = y * x + factor[i];
  return y;
}

/* a + b = sum + *error, exactly. */
CI_INLINE double ci_two_sum(double a, double b, double *error) {
  const double sum = a + b, b_part = sum - a, a_part = sum - b_part;
  *error = (a - a_part) + (b - b_part);
  return sum;
}

/* a * b + *error is exact (Dekker), for sizes far from overflow. */
CI_INLINE double ci_two_product(double a, double b, double *error) {
  const double prod = a * b, a_wide = a * 134217729.0, b_wide = b * 134217729.0;
  const double a_high = a_wide - (a_wide - a), a_low = a - a_high;
  const double b_high = b_wide - (b_wide - b), b_low = b - b_high;
  *error = ((a_high * b_high - prod) + a_high * b_low + a_low * b_high) + a_low * b_low;
  return prod;
}
#endif
