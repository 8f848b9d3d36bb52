/* isa_math.h - the functions of every instruction set for elementwise operators, reductions and training, in float32.
 * Unary and binary functions write one NaN.
 *
 * docs/numerics.md has the rules. Vectors may overlap only where output and input are the same.
 */
#ifndef CI_ISA_MATH_H
#define CI_ISA_MATH_H
#include "../../base/ci_common.h"

/* Rows: name, value of vector v with the operator's numbers a and b. Families that a build lacks have no functions,
 * but their numbers stay. */
#define CI_MATH_UNARY_PLAIN(X)                              \
  X(abs, v_abs(v))                                          \
  X(neg, v_from_bits(vi_xor(v_bits(v), vi_set(INT32_MIN)))) \
  X(sqrt, v_sqrt(v))                                        \
  X(reciprocal, v_div(v_set(1.0f), v))                      \
  X(exp, v_exp(v))                                          \
  X(log, v_log(v))                                          \
  X(tanh, v_tanh(v))                                        \
  X(sigmoid, v_sigmoid(v))                                  \
  X(erf, v_erf(v))                                          \
  X(relu, v_add(v_max(v_set(0.0f), v), v_set(0.0f)))        \
  X(clip, v_add(v_min(b, v_max(a, v)), v_set(0.0f)))        \
  X(one_nan, v)
#define CI_MATH_UNARY_ROUNDING(X) \
  X(floor, v_floor(v))            \
  X(ceil, v_ceil(v))              \
  X(round, v_round(v))            \
  X(sign, v_sign(v))
#define CI_MATH_UNARY_ACTIVATION(X)                                          \
  X(softplus, v_softplus(v))                                                 \
  X(elu, v_select(v_gt(v, v_set(0.0f)), v, v_mul(a, v_expm1(v))))            \
  X(selu, v_mul(b, v_select(v_gt(v, v_set(0.0f)), v, v_mul(a, v_expm1(v))))) \
  X(leaky_relu, v_select(v_gt(v_set(0.0f), v), v_mul(a, v), v))              \
  X(gelu, v_gelu(v))                                                         \
  X(gelu_tanh, v_gelu_tanh(v))                                               \
  X(mish, v_mish(v))                                                         \
  X(swish, v_swish(v, a))                                                    \
  X(hard_sigmoid, v_hard_sigmoid(v, a, b))                                   \
  X(hard_swish, v_mul(v, v_hard_sigmoid(v, a, b)))                           \
  X(softsign, v_div(v, v_add(v_set(1.0f), v_abs(v))))
#define CI_MATH_UNARY(X) CI_MATH_UNARY_PLAIN(X) CI_MATH_UNARY_ROUNDING(X) CI_MATH_UNARY_ACTIVATION(X)
#define CI_MATH_UNARY_BUILT(X) CI_MATH_UNARY_PLAIN(X) CI_MATH_IF_ROUNDING(X) CI_MATH_IF_ACTIVATION(X)
#define CI_MATH_NONE(X)
#if CI_HAS(rounding)
#define CI_MATH_IF_ROUNDING CI_MATH_UNARY_ROUNDING
#else
#define CI_MATH_IF_ROUNDING CI_MATH_NONE
#endif
#if CI_HAS(activation) || CI_HAS(recurrent)
#define CI_MATH_IF_ACTIVATION CI_MATH_UNARY_ACTIVATION
#else
#define CI_MATH_IF_ACTIVATION CI_MATH_NONE
#endif

/* Rows: name, value of vectors a and b. */
#define CI_MATH_BINARY(X) CI_MATH_BINARY_PLAIN(X) CI_MATH_BINARY_GRADIENT(X) CI_MATH_BINARY_ACTIVATION(X)
#define CI_MATH_BINARY_PLAIN(X)                                     \
  X(add, v_add(a, b))                                               \
  X(sub, v_sub(a, b))                                               \
  X(mul, v_mul(a, b))                                               \
  X(div, v_div(a, b))                                               \
  X(max, v_add(v_select(v_is_nan(a), a, v_max(a, b)), v_set(0.0f))) \
  X(min, v_add(v_select(v_is_nan(a), a, v_min(a, b)), v_set(0.0f)))
#define CI_MATH_BINARY_GRADIENT(X) X(relu_grad, v_select(v_gt(a, v_set(0.0f)), b, v_set(0.0f)))
#define CI_MATH_BINARY_ACTIVATION(X) X(prelu, v_select(v_gt(v_set(0.0f), a), v_mul(b, a), a))
#define CI_MATH_BINARY_BUILT(X) CI_MATH_BINARY_PLAIN(X) CI_MATH_IF_GRADIENT(X) CI_MATH_IF_PRELU(X)
#if CI_HAS(training)
#define CI_MATH_IF_GRADIENT CI_MATH_BINARY_GRADIENT
#else
#define CI_MATH_IF_GRADIENT CI_MATH_NONE
#endif
#if CI_HAS(activation)
#define CI_MATH_IF_PRELU CI_MATH_BINARY_ACTIVATION
#else
#define CI_MATH_IF_PRELU CI_MATH_NONE
#endif

#define CI_MATH_ENUM(name, value) CI_MATH_##name,
enum { CI_MATH_UNARY(CI_MATH_ENUM) CI_MATH_UNARY_COUNT };
enum { CI_MATH_BINARY(CI_MATH_ENUM) CI_MATH_BINARY_COUNT };
#undef CI_MATH_ENUM

/* Functions of double, rounded once, that have vectors. */
enum { CI_DOUBLE_sin, CI_DOUBLE_cos, CI_DOUBLE_asin, CI_DOUBLE_acos, CI_DOUBLE_atan, CI_DOUBLE_COUNT };

enum { CI_REDUCE_SUM, CI_REDUCE_PROD, CI_REDUCE_MAX, CI_REDUCE_MIN, CI_REDUCE_COUNT };
enum { CI_NO_SCALAR, CI_SCALAR_A, CI_SCALAR_B }; /* which operand of a binary operator is one number */

typedef void (*ci_unary_fn)(float *y, const float *x, int64_t n, float a, float b);
typedef void (*ci_binary_fn)(float *y, const float *a, const float *b, int64_t n, int scalar);
/* One row, n > 0: 16 lanes, 64 from 256 elements on, then the tree. max and min: NaN wins, zeros are +0. */
typedef float (*ci_row_fn)(const float *x, int64_t n);
/* y[i] = over k rows of x[row * stride + i], 0 <= i < n, k > 0: sums and product reductions in blocks, each one chain.
 */
typedef void (*ci_columns_fn)(float *y, const float *x, int64_t k, int64_t n, ptrdiff_t stride, int64_t block);

typedef struct ci_adam { /* numbers of one AdamStep; rate, k1, k2 as its body computes them */
  float rate, k1, k2, epsilon;
} ci_adam;

typedef struct ci_recurrent { /* a step of n units of LSTM or GRU, of one row */
  const float *r; /* weights in groups of units, in them [n][gate][unit], filled up with zeros */
  const float *h; /* the state before */
  float *to;      /* the state after; not h */
  float *c;       /* of LSTM */
  const float *x, *bias; /* the inputs' contribution to the gates; of GRU's last gate, the bias inside the reset */
  int64_t n, block;      /* block: the longest chain */
  bool forth;            /* from the first group to the last */
} ci_recurrent;

struct ci_isa_math {
  ci_unary_fn unary[CI_MATH_UNARY_COUNT];
  ci_binary_fn binary[CI_MATH_BINARY_COUNT];
  ci_binary_fn pow; /* NULL, as those of trigonometry: there are no vectors of doubles */
#if CI_HAS(trigonometry)
  ci_unary_fn trigonometry[CI_DOUBLE_COUNT];
#endif
  ci_row_fn row[CI_REDUCE_COUNT];
  ci_columns_fn columns[CI_REDUCE_COUNT];
#if CI_HAS_SOFTMAX
  /* rows of n > 0 contiguous elements; the sum has 16 lanes always */
  void (*softmax)(float *y, const float *x, int64_t rows, int64_t n);
  void (*log_softmax)(float *y, const float *x, int64_t rows, int64_t n);
#endif
  /* y = x - mean, and the sum of its squares by the rule of a dot product; then y = y * r * scale + bias, of which
   * scale and bias may be NULL. Each multiplication and addition rounds. */
  float (*centre)(float *y, const float *x, float mean, int64_t n);
  void (*affine)(float *y, float r, const float *scale, const float *bias, int64_t n);
  /* y = (x - mean) * factor + bias, each step rounded; one: these are one number each. */
  void (*batch)(float *y, const float *x, const float *mean, const float *factor, const float *bias, int64_t n,
                bool one);
  void (*gradient_descent)(float *new_p, const float *p, const float *g, float rate, int64_t n);
#if CI_HAS(training)
  /* One row of a cross entropy. z = x - largest, e = exp(z) in two rows; returns sum(e) by the rule of row[SUM]
   * for n <= 65536; the caller sums longer rows itself. */
  void (*shifted_exp)(float *z, float *e, const float *x, int64_t n);
  /* t = labels * (log_s - z), gradient = e * r - labels; gradient may be e, t may be z */
  void (*cross_entropy)(float *t, float *gradient, const float *z, const float *e, const float *labels, float log_s,
                        float r, int64_t n);
  void (*momentum)(float *new_p, float *new_a, const float *p, const float *a, const float *g, float rate,
                   float momentum, bool nesterov, int64_t n);
  void (*adam)(float *new_p, float *new_m, float *new_v, const float *p, const float *m, const float *v, const float *g,
               const ci_adam *numbers, int64_t n);
#endif
#if CI_HAS(recurrent)
  /* The gates of n units: x and g hold their sums, those of i o f c and z r h so far apart. */
  void (*lstm)(float *h, float *c, const float *x, int64_t x_gate, const float *g, int64_t g_gate, int64_t n);
  void (*gru)(float *to, const float *h, const float *x, int64_t x_gate, const float *g, int64_t g_gate,
              const float *bias, int64_t n); /* linear_before_reset */
  int lstm_units, gru_units; /* of a group of ci_recurrent */
  void (*lstm_step)(const ci_recurrent *t);
  void (*gru_step)(const ci_recurrent *t);
#endif
};
#endif
