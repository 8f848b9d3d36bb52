/* reduce_norm.c - the steps of ReduceL1, L2, SumSquare, LogSum and LogSumExp before and after their sum. */
#include "../../simd/isa.h"
#include "../arithmetic/elementwise.h"
#include "reduce.h"

enum { NORM_GRAIN = 1 << 14, NORM_PIECE = 128 };

static void norm_unary(const ci_kernel *k, int32_t dtype, int op, void *y, const void *x, int64_t n) {
  if (dtype == CI_FLOAT) {
    k->isa->math->unary[op](y, x, n, 0.0f, 0.0f);
  } else {
    ci_typed_unary(op, dtype)(y, x, n, 0.0, 0.0);
  }
}

static void norm_binary(const ci_kernel *k, int32_t dtype, int op, void *y, const void *a, const void *b, int64_t n,
                        int scalar) {
  if (dtype == CI_FLOAT) {
    k->isa->math->binary[op](y, a, b, n, scalar);
  } else {
    ci_typed_binary(op, dtype)(y, a, b, n, scalar);
  }
}

/* exp(x - top), row by row: a row has one largest, or one for each of its elements. */
static void norm_exp(const struct ci_reduce_map *m, int64_t begin, int64_t end) {
  const int64_t length = m->inner == 1 ? m->n : m->inner;
  const size_t item = m->item;
  for (int64_t at = begin, next; at < end; at = next) {
    const int64_t row = at / length, first = at % length;
    next = (row + 1) * length < end ? (row + 1) * length : end;
    const int64_t top = m->inner == 1 ? row : row / m->n * m->inner + first;
    char *y = (char *)m->y + (size_t)at * item;
    norm_binary(m->k, m->dtype, CI_MATH_sub, y, (const char *)m->x + (size_t)at * item,
                (const char *)m->top + (size_t)top * item, next - at, m->inner == 1 ? CI_SCALAR_B : CI_NO_SCALAR);
    norm_unary(m->k, m->dtype, CI_MATH_exp, y, y, next - at);
  }
}

static void norm_part(void *argument, int64_t begin, int64_t end, int thread) {
  const struct ci_reduce_map *m = argument;
  char *y = (char *)m->y + (size_t)begin * m->item;
  const char *x = (const char *)m->x + (size_t)begin * m->item;
  (void)thread;
  switch (m->before) {
    case CI_BEFORE_ABS: norm_unary(m->k, m->dtype, CI_MATH_abs, y, x, end - begin); break;
    case CI_BEFORE_SQUARE: norm_binary(m->k, m->dtype, CI_MATH_mul, y, x, x, end - begin, CI_NO_SCALAR); break;
    default: norm_exp(m, begin, end); break;
  }
}

void ci_reduce_norm_before(ci_kernel *k, struct ci_reduce_map *m, int64_t count) {
  m->k = k;
  ci_k_parallel(k, count, NORM_GRAIN, norm_part, m);
}

/* Infinity and NaN, which cannot be subtracted, become 0. */
#define NORM_FINITE(T, name)                          \
  static void norm_finite_##name(T *top, int64_t n) { \
    for (int64_t i = 0; i < n; i++) {                 \
      if (!(top[i] - top[i] == (T)0)) top[i] = (T)0;  \
    }                                                 \
  }
NORM_FINITE(float, float)
NORM_FINITE(double, double)

void ci_reduce_norm_finite(int32_t dtype, void *top, int64_t n) {
  if (dtype == CI_FLOAT) {
    norm_finite_float(top, n);
  } else {
    norm_finite_double(top, n);
  }
}

/* Roots of integers are cut to whole numbers; one below 0, where the sum wrapped, gives 0. */
static void norm_integer_root(const ci_kernel *k, int32_t dtype, char *y, int64_t n) {
  const ci_cast_fn from = ci_cast_find(k->isa, dtype, CI_DOUBLE), to = ci_cast_find(k->isa, CI_DOUBLE, dtype);
  const size_t item = ci_dtype_size(dtype);
  double piece[NORM_PIECE];
  for (int64_t i = 0; i < n; i += NORM_PIECE, y += NORM_PIECE * item) {
    const int64_t count = n - i < NORM_PIECE ? n - i : NORM_PIECE;
    from(piece, y, count);
    ci_typed_unary(CI_MATH_sqrt, CI_DOUBLE)(piece, piece, count, 0.0, 0.0);
    to(y, piece, count);
  }
}

void ci_reduce_norm_after(ci_kernel *k, int after, const void *top) {
  const ci_value *y = k->out[0];
  const bool floating = y->dtype == CI_FLOAT || y->dtype == CI_DOUBLE;
  if (after == CI_AFTER_LOG) {
    norm_unary(k, y->dtype, CI_MATH_log, y->data, y->data, y->count);
    if (top != NULL) norm_binary(k, y->dtype, CI_MATH_add, y->data, y->data, top, y->count, CI_NO_SCALAR);
  } else if (after == CI_AFTER_ROOT && floating) {
    norm_unary(k, y->dtype, CI_MATH_sqrt, y->data, y->data, y->count);
  } else if (after == CI_AFTER_ROOT) {
    norm_integer_root(k, y->dtype, y->data, y->count);
  }
}
