/* reduce.h - reductions: plain functions for types other than float32, which isa_math.h has. */
#ifndef CI_REDUCE_H
#define CI_REDUCE_H
#include "../ci_kernel.h"
#include "../../simd/math/isa_math.h"

enum {
  CI_REDUCE_PIECE = 4096,       /* of a row longer than */
  CI_REDUCE_LONGEST = 1 << 16,  /* this, for sums and product reductions */
  CI_REDUCE_MANY_LANES = 256    /* 64 lanes instead of 16 from here on */
};

/* One row of n > 0 to *y, and columns as in isa_math.h. */
typedef void (*ci_typed_row_fn)(void *y, const void *x, int64_t n);
typedef void (*ci_typed_columns_fn)(void *y, const void *x, int64_t k, int64_t n, ptrdiff_t stride, int64_t block);
typedef struct ci_typed_reduce {
  ci_typed_row_fn row;
  ci_typed_columns_fn columns;
  ci_typed_row_fn divide; /* y[0..n) /= *x, which is an int64: for means */
  ci_typed_row_fn fill;   /* y[0..n) = the result of an empty reduction */
} ci_typed_reduce;

/* op: CI_REDUCE_... NULL: the operator does not take the type. float32 has divide and fill only. */
CI_LOCAL const ci_typed_reduce *ci_reduce_typed_find(int op, int32_t dtype);

/* The parts of a norm around its sum (reduce_norm.c). The tensor is [outer, n, inner]; `top` has the largest of each
 * [outer, inner] and is read by the exponential alone. y may be x. */
enum { CI_BEFORE_NOTHING, CI_BEFORE_ABS, CI_BEFORE_SQUARE, CI_BEFORE_EXP };
enum { CI_AFTER_NOTHING, CI_AFTER_ROOT, CI_AFTER_LOG };
struct ci_reduce_map {
  const ci_kernel *k; /* set by ci_reduce_norm_before */
  int before;
  int32_t dtype;
  size_t item;
  int64_t n, inner;
  const void *x, *top;
  void *y;
};
CI_LOCAL void ci_reduce_norm_before(ci_kernel *k, struct ci_reduce_map *m, int64_t count);
CI_LOCAL void ci_reduce_norm_finite(int32_t dtype, void *top, int64_t n);
CI_LOCAL void ci_reduce_norm_after(ci_kernel *k, int after, const void *top); /* top: NULL, or added to the logarithm */

/* The sum of one row of float32 or float64 in the full order of summation, pieces included. Rows beyond
 * CI_REDUCE_LONGEST use `partial`, which has ci_sum_partials(n) elements. */
CI_LOCAL void ci_sum_row(const struct ci_isa_math *math, int32_t dtype, void *y, const void *x, int64_t n,
                         void *partial);
CI_LOCAL int64_t ci_sum_partials(int64_t n);
#endif
