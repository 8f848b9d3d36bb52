/* reduce_typed.c - reductions of float64 and integers in plain C, in the order that float32 has. */
#include <math.h>

#include "../arithmetic/elementwise.h"
#include "reduce.h"

#define RT_SUM(a, b, W) ((W)(a) + (W)(b))
#define RT_PROD(a, b, W) ((W)(a) * (W)(b))
#define RT_MAX(a, b, W) ((b) > (a) ? (b) : (a))
#define RT_MIN(a, b, W) ((b) < (a) ? (b) : (a))
/* NaN wins and stays. */
#define RT_MAX_F(a, b, W) ((b) > (a) || (b) != (b) ? (a) != (a) ? (a) : (b) : (a))
#define RT_MIN_F(a, b, W) ((b) < (a) || (b) != (b) ? (a) != (a) ? (a) : (b) : (a))

CI_FAST static void rt_sixteen(double *restrict to, const double *restrict x) {
  for (int l = 0; l < 16; l++) to[l] = to[l] + x[l];
}
#define RT_SIXTEEN                       \
  if (rest == 16) rt_sixteen(to, x + i); \
  else

/* float64. `zero` is added at the end: +0 makes a zero positive, -0 changes nothing.
 *
 * Lanes i mod 16 or i mod 64; of the rest of 64, full and partial 16s go to the first 16. Then the tree. */
#define RT_ROW(name, OP, neutral, zero, whole)                                                               \
  static void rt_row_##name(void *out, const void *in, int64_t n) {                                          \
    const double *x = in;                                                                                    \
    double lane[64];                                                                                         \
    const int lanes = n >= CI_REDUCE_MANY_LANES ? 64 : 16;                                                   \
    const int64_t many = n & -(int64_t)lanes;                                                                \
    for (int l = 0; l < 64; l++) lane[l] = neutral;                                                          \
    for (int64_t i = 0; i < n; i += 16) {                                                                    \
      double *const to = lane + (i < many ? i & (lanes - 1) : 0);                                            \
      const int rest = n - i < 16 ? (int)(n - i) : 16;                                                       \
      whole for (int l = 0; l < rest; l++) to[l] = OP(to[l], x[i + l], double);                              \
    }                                                                                                        \
    if (lanes == 64) {                                                                                       \
      for (int l = 0; l < 16; l++) {                                                                         \
        const double low = OP(lane[l], lane[l + 16], double), high = OP(lane[l + 32], lane[l + 48], double); \
        lane[l] = OP(low, high, double);                                                                     \
      }                                                                                                      \
    }                                                                                                        \
    for (int half = 8; half > 0; half /= 2) {                                                                \
      for (int l = 0; l < half; l++) lane[l] = OP(lane[l], lane[l + half], double);                          \
    }                                                                                                        \
    *(double *)out = lane[0] + zero;                                                                         \
  }

/* Chains over blocks of rows, eight columns at a time. */
#define RT_COLUMNS(name, OP, neutral, zero)                                                                         \
  static void rt_columns_##name(void *out, const void *in, int64_t k, int64_t n, ptrdiff_t stride, int64_t block) { \
    double *y = out;                                                                                                \
    for (int64_t i = 0; i < n; i += 8) {                                                                            \
      const int width = n - i < 8 ? (int)(n - i) : 8;                                                               \
      const double *x = (const double *)in + i;                                                                     \
      double total[8] = {0}, chain[8];                                                                              \
      for (int64_t left = k; left > 0; left -= block) {                                                             \
        for (int c = 0; c < 8; c++) chain[c] = neutral;                                                             \
        for (int64_t step = left < block ? left : block; step > 0; step--, x += stride) {                           \
          for (int c = 0; c < width; c++) chain[c] = OP(chain[c], x[c], double);                                    \
        }                                                                                                           \
        for (int c = 0; c < width; c++) total[c] = left == k ? chain[c] : OP(total[c], chain[c], double);           \
      }                                                                                                             \
      for (int c = 0; c < width; c++) y[i + c] = total[c] + zero;                                                   \
    }                                                                                                               \
  }

/* Integers: no order can be seen. */
#define RT_ANY_ROW(name, T, W, OP, neutral)                         \
  static void rt_row_##name(void *out, const void *in, int64_t n) { \
    const T *x = in;                                                \
    T total = neutral;                                              \
    for (int64_t i = 0; i < n; i++) total = (T)OP(total, x[i], W);  \
    *(T *)out = total;                                              \
  }
#define RT_ANY_COLUMNS(name, T, W, OP, neutral)                                                                     \
  static void rt_columns_##name(void *out, const void *in, int64_t k, int64_t n, ptrdiff_t stride, int64_t block) { \
    T *y = out;                                                                                                     \
    const T *x = in;                                                                                                \
    (void)block;                                                                                                    \
    for (int64_t c = 0; c < n; c++) y[c] = neutral;                                                                 \
    for (; k > 0; k--, x += stride) {                                                                               \
      for (int64_t c = 0; c < n; c++) y[c] = (T)OP(y[c], x[c], W);                                                  \
    }                                                                                                               \
  }

#define RT_FILL(name, T, value)                                          \
  static void rt_fill_##name(void *out, const void *unused, int64_t n) { \
    T *y = out;                                                          \
    (void)unused;                                                        \
    for (int64_t i = 0; i < n; i++) y[i] = value;                        \
  }

#define RT_ORDERED(name, OP, neutral, zero, whole) \
  RT_ROW(name, OP, neutral, zero, whole)           \
  RT_COLUMNS(name, OP, neutral, zero)              \
  RT_FILL(name, double, neutral)
#define RT_ANY(name, T, W, OP, neutral)   \
  RT_ANY_ROW(name, T, W, OP, neutral)     \
  RT_ANY_COLUMNS(name, T, W, OP, neutral) \
  RT_FILL(name, T, neutral)

#define RT_LEAST_S(T, W) ((T)((W)1 << (8 * sizeof(T) - 1)))
#define RT_LEAST_U(T, W) ((T)0)
#define RT_DIVIDE_S(v, by) ((by) == 0 ? 0 : (v) / (by)) /* truncates */
#define RT_DIVIDE_U(v, by) ((by) == 0 ? 0 : (uint64_t)(v) / (uint64_t)(by))
#define RT_INTEGER(T, name, id, W, class)                                     \
  RT_ANY(sum_##name, T, W, RT_SUM, (T)0)                                      \
  RT_ANY(prod_##name, T, W, RT_PROD, (T)1)                                    \
  RT_ANY(max_##name, T, W, RT_MAX, RT_LEAST_##class(T, W))                    \
  RT_ANY(min_##name, T, W, RT_MIN, (T)~RT_LEAST_##class(T, W))                \
  static void rt_divide_##name(void *out, const void *by, int64_t n) {        \
    T *y = out;                                                               \
    const int64_t count = *(const int64_t *)by;                               \
    for (int64_t i = 0; i < n; i++) y[i] = (T)RT_DIVIDE_##class(y[i], count); \
  }
CI_COMPUTED_INTEGERS(RT_INTEGER)

RT_ORDERED(sum_f64, RT_SUM, 0.0, -0.0, RT_SIXTEEN)
RT_ORDERED(prod_f64, RT_PROD, 1.0, -0.0, )
RT_ORDERED(max_f64, RT_MAX_F, -INFINITY, 0.0, )
RT_ORDERED(min_f64, RT_MIN_F, INFINITY, 0.0, )
RT_FILL(sum_f32, float, 0.0f)
RT_FILL(prod_f32, float, 1.0f)
RT_FILL(max_f32, float, -INFINITY)
RT_FILL(min_f32, float, INFINITY)

static void rt_divide_f64(void *out, const void *by, int64_t n) {
  double *y = out;
  const double count = (double)*(const int64_t *)by;
  for (int64_t i = 0; i < n; i++) y[i] = y[i] / count;
}
static void rt_divide_f32(void *out, const void *by, int64_t n) {
  float *y = out;
  const float count = (float)*(const int64_t *)by;
  for (int64_t i = 0; i < n; i++) y[i] = y[i] / count;
}

#define RT_ENTRY(op, name) {rt_row_##op##_##name, rt_columns_##op##_##name, rt_divide_##name, rt_fill_##op##_##name}
#define RT_ENTRY_F32(op) {NULL, NULL, rt_divide_f32, rt_fill_##op##_f32}
#define RT_ENTRIES(T, name, id, W, class)                   \
  [CI_SLOT(id)] = {[CI_REDUCE_SUM] = RT_ENTRY(sum, name),   \
                   [CI_REDUCE_PROD] = RT_ENTRY(prod, name), \
                   [CI_REDUCE_MAX] = RT_ENTRY(max, name),   \
                   [CI_REDUCE_MIN] = RT_ENTRY(min, name)},
/* clang-format off */
static const ci_typed_reduce rt_table[CI_SLOTS][CI_REDUCE_COUNT] = {
  CI_COMPUTED_NUMBERS(RT_ENTRIES)
  [CI_SLOT(CI_FLOAT)] = {[CI_REDUCE_SUM] = RT_ENTRY_F32(sum), [CI_REDUCE_PROD] = RT_ENTRY_F32(prod),
                [CI_REDUCE_MAX] = RT_ENTRY_F32(max), [CI_REDUCE_MIN] = RT_ENTRY_F32(min)}};
/* clang-format on */

const ci_typed_reduce *ci_reduce_typed_find(int op, int32_t dtype) {
  if (dtype == CI_BOOL && (op == CI_REDUCE_MAX || op == CI_REDUCE_MIN)) dtype = CI_UINT8; /* any, all */
  const int slot = CI_SLOT(dtype);
  return slot < CI_SLOTS && rt_table[slot][op].fill != NULL ? &rt_table[slot][op] : NULL;
}
