/* normalize.h - functions that write one normalization for float32 and float64: vectors through tables, single numbers
 * through a union. */
#ifndef CI_NORMALIZE_H
#define CI_NORMALIZE_H
#include "../ci_kernel.h"

typedef union ci_number { /* one float32 or float64, by the operator's type */
  float f;
  double d;
} ci_number;

CI_INLINE ci_number ci_number_of(int32_t dtype, double value) {
  ci_number n = {.d = 0.0};
  if (dtype == CI_FLOAT) {
    n.f = (float)value;
  } else {
    n.d = value;
  }
  return n;
}
CI_INLINE double ci_number_get(int32_t dtype, const void *at) {
  return dtype == CI_FLOAT ? (double)*(const float *)at : *(const double *)at;
}

/* y = a op b for n elements of float32 or float64; op: CI_MATH_..., scalar: CI_SCALAR_... */
CI_LOCAL void ci_vector_binary(const ci_kernel *k, int32_t dtype, int op, void *y, const void *a, const void *b,
                               int64_t n, int scalar);
/* The dot product of docs/numerics.md of two rows. */
CI_LOCAL ci_number ci_vector_dot(const ci_kernel *k, int32_t dtype, const void *a, const void *b, int64_t n);
/* float32 or float64, and the same for the first n inputs that are there. */
CI_LOCAL ci_status ci_same_floats(ci_kernel *k, int n);
#endif
