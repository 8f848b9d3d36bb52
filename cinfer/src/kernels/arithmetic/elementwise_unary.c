/* elementwise_unary.c - elementwise operators of one input, and Clip: one plain loop for each type. */
#include <math.h>

#include "../../math/scalar_math.h"
#include "elementwise.h"

#define EU_LOOP(name, T, R, value)                                                  \
  static void eu_##name(void *out, const void *in, int64_t n, double a, double b) { \
    R *y = out;                                                                     \
    const T *x = in;                                                                \
    (void)a, (void)b;                                                               \
    for (int64_t i = 0; i < n; i++) {                                               \
      const T v = x[i];                                                             \
      y[i] = (R)(value);                                                            \
    }                                                                               \
  }

/* Rows: operator of isa_math.h, its value for a double v. */
#define EU_DOUBLE_PLAIN(X)  \
  X(abs, fabs(v))           \
  X(neg, -v)                \
  X(sqrt, sqrt(v))          \
  X(reciprocal, 1.0 / v)    \
  X(exp, ci_exp(v))         \
  X(log, ci_log(v))         \
  X(tanh, ci_tanh(v))       \
  X(sigmoid, ci_sigmoid(v)) \
  X(erf, ci_erf(v))         \
  X(relu, (0.0 > v ? 0.0 : v) + 0.0)
#define EU_DOUBLE_ROUNDING(X) \
  X(floor, ci_floor(v))       \
  X(ceil, ci_ceil(v))         \
  X(round, eu_round(v))       \
  X(sign, v > 0.0 ? 1.0 : v < 0.0 ? -1.0 : v != v ? v : 0.0)
#define EU_DOUBLE_ACTIVATION(X)               \
  X(softplus, ci_softplus(v))                 \
  X(elu, v > 0.0 ? v : a * ci_expm1(v))       \
  X(selu, b *(v > 0.0 ? v : a * ci_expm1(v))) \
  X(leaky_relu, v < 0.0 ? a * v : v)          \
  X(gelu, eu_gelu(v))                         \
  X(gelu_tanh, eu_gelu_tanh(v))               \
  X(mish, eu_mish(v))                         \
  X(swish, v *ci_sigmoid(a *v))               \
  X(hard_sigmoid, eu_hard_sigmoid(v, a, b))   \
  X(hard_swish, v *eu_hard_sigmoid(v, a, b))  \
  X(softsign, v / (1.0 + fabs(v)))
#define EU_DOUBLE(X) EU_DOUBLE_PLAIN(X) EU_DOUBLE_IF_ROUNDING(X) EU_DOUBLE_IF_ACTIVATION(X)
#if CI_HAS(rounding)
#define EU_DOUBLE_IF_ROUNDING EU_DOUBLE_ROUNDING
#else
#define EU_DOUBLE_IF_ROUNDING CI_MATH_NONE
#endif
#if CI_HAS(activation)
#define EU_DOUBLE_IF_ACTIVATION EU_DOUBLE_ACTIVATION
#else
#define EU_DOUBLE_IF_ACTIVATION CI_MATH_NONE
#endif

/* Half to even, independent of the rounding mode and without its flags. */
static double eu_round(double v) {
  const double size = fabs(v);
  return size < 0x1p52 ? copysign((size + 0x1p52) - 0x1p52, v) : v;
}

static double eu_gelu(double v) { return (ci_erf(v * 0x1.6a09e667f3bcdp-1) + 1.0) * v * 0.5; }
static double eu_gelu_tanh(double v) {
  const double square = v * v, scaled = square * 0x1.2444f2a4d8b4bp-4;
  return v * ci_sigmoid(v * (scaled + 0x1.9884533d43651p+0));
}
static double eu_mish(double v) {
  const double e = ci_exp(v > 20.0 ? 20.0 : v), n = e * (e + 2.0);
  return v * (n / (n + 2.0));
}
static double eu_hard_sigmoid(double v, double a, double b) {
  const double scaled = a * v, line = scaled + b;
  return (line < 0.0 ? 0.0 : line > 1.0 ? 1.0 : line) + 0.0;
}

#define EU_DOUBLE_LOOP(name, value) EU_LOOP(name##_f64, double, double, value)
EU_DOUBLE(EU_DOUBLE_LOOP)
CI_FAST EU_LOOP(is_nan_f32, float, bool, v != v) EU_LOOP(is_nan_f64, double, bool, v != v)
    /* a and b: whether -inf and +inf count. */
    CI_FAST EU_LOOP(is_inf_f32, float, bool, ((v == INFINITY) & (b != 0.0)) | ((v == -INFINITY) & (a != 0.0)))
        EU_LOOP(is_inf_f64, double, bool, (v == INFINITY && b != 0.0) || (v == -INFINITY && a != 0.0)) CI_FAST
    EU_LOOP(not_bool, uint8_t, uint8_t, v ^ 1) EU_LOOP(bit_not_1, uint8_t, uint8_t, ~v)
        EU_LOOP(bit_not_2, uint16_t, uint16_t, ~v) EU_LOOP(bit_not_4, uint32_t, uint32_t, ~v)
            EU_LOOP(bit_not_8, uint64_t, uint64_t, ~v)

#define EU_SIGNED(T, name, id, W, class) EU_SIGNED_##class(T, name, W)
#define EU_SIGNED_U(T, name, W)          \
  EU_LOOP(abs_##name, T, T, v)           \
  EU_LOOP(neg_##name, T, T, (W)0 - (W)v) \
  EU_LOOP(relu_##name, T, T, v)          \
  EU_LOOP(sign_##name, T, T, v > 0)
#define EU_SIGNED_S(T, name, W)                         \
  EU_LOOP(abs_##name, T, T, v < 0 ? (W)0 - (W)v : (W)v) \
  EU_LOOP(neg_##name, T, T, (W)0 - (W)v)                \
  EU_LOOP(relu_##name, T, T, v > 0 ? v : 0)             \
  EU_LOOP(sign_##name, T, T, (v > 0) - (v < 0))
                CI_COMPUTED_INTEGERS(EU_SIGNED)

#define EU_DOUBLE_ENTRY(name, value) [CI_MATH_##name][CI_SLOT(CI_DOUBLE)] = eu_##name##_f64,
#define EU_INTEGER_ENTRY(T, name, id, W, class)                                           \
  [CI_MATH_abs][CI_SLOT(id)] = eu_abs_##name, [CI_MATH_neg][CI_SLOT(id)] = eu_neg_##name, \
  [CI_MATH_relu][CI_SLOT(id)] = eu_relu_##name, [CI_MATH_sign][CI_SLOT(id)] = eu_sign_##name,
    /* clang-format off */
static const ci_typed_unary_fn eu_table[CI_EW_UNARY_COUNT][CI_SLOTS] = {
#if CI_HAS(types)
  EU_DOUBLE(EU_DOUBLE_ENTRY)
#endif
  CI_COMPUTED_INTEGERS(EU_INTEGER_ENTRY)
#if CI_HAS(bits)
  [CI_EW_BIT_NOT] = {[CI_SLOT(CI_INT8)] = eu_bit_not_1, [CI_SLOT(CI_UINT8)] = eu_bit_not_1,
                     [CI_SLOT(CI_INT16)] = eu_bit_not_2, [CI_SLOT(CI_UINT16)] = eu_bit_not_2,
                     [CI_SLOT(CI_INT32)] = eu_bit_not_4, [CI_SLOT(CI_UINT32)] = eu_bit_not_4,
                     [CI_SLOT(CI_INT64)] = eu_bit_not_8, [CI_SLOT(CI_UINT64)] = eu_bit_not_8},
#endif
#if CI_HAS(logic)
  [CI_EW_NOT] = {[CI_SLOT(CI_BOOL)] = eu_not_bool},
  [CI_EW_IS_NAN] = {[CI_SLOT(CI_FLOAT)] = eu_is_nan_f32, [CI_SLOT(CI_DOUBLE)] = eu_is_nan_f64},
  [CI_EW_IS_INF] = {[CI_SLOT(CI_FLOAT)] = eu_is_inf_f32, [CI_SLOT(CI_DOUBLE)] = eu_is_inf_f64},
#endif
};
/* clang-format on */

ci_typed_unary_fn ci_typed_unary(int op, int32_t dtype) {
  const int slot = CI_SLOT(dtype);
  return slot < CI_SLOTS ? eu_table[op][slot] : NULL;
}

/* ---- functions of one double ---- */

#define EU_SCALAR_MAP(T, name)                                                          \
  static void eu_scalar_##name(void *out, const void *in, int64_t n, ci_scalar_fn fn) { \
    T *y = out;                                                                         \
    const T *x = in;                                                                    \
    for (int64_t i = 0; i < n; i++) y[i] = (T)fn((double)x[i]);                         \
  }
EU_SCALAR_MAP(float, f32)
EU_SCALAR_MAP(double, f64)

ci_scalar_map_fn ci_scalar_map(int32_t dtype) {
  return dtype == CI_FLOAT ? eu_scalar_f32 : dtype == CI_DOUBLE ? eu_scalar_f64 : NULL;
}

/* ---- Clip ---- */

#define EU_CLIP(T, name, id, zero)                                                                       \
  static void eu_clip_##name(void *out, const void *in, int64_t n, const void *low, const void *high) {  \
    T *y = out;                                                                                          \
    const T *x = in;                                                                                     \
    const T least = low != NULL ? *(const T *)low : (T)0, most = high != NULL ? *(const T *)high : (T)0; \
    for (int64_t i = 0; i < n; i++) {                                                                    \
      T v = x[i];                                                                                        \
      if (low != NULL && least > v) v = least;                                                           \
      if (high != NULL && most < v) v = most;                                                            \
      y[i] = (T)(v + zero);                                                                              \
    }                                                                                                    \
  }
#define EU_CLIP_INTEGER(T, name, id, W, class) EU_CLIP(T, name, id, 0)
EU_CLIP(float, f32, CI_FLOAT, 0.0f)
EU_CLIP(double, f64, CI_DOUBLE, 0.0)
CI_COMPUTED_INTEGERS(EU_CLIP_INTEGER)
#define EU_CLIP_ENTRY(T, name, id, W, class) [CI_SLOT(id)] = eu_clip_##name,
static const ci_clip_fn eu_clip_table[CI_SLOTS] = {
    [CI_SLOT(CI_FLOAT)] = eu_clip_f32, [CI_SLOT(CI_DOUBLE)] = eu_clip_f64, CI_COMPUTED_INTEGERS(EU_CLIP_ENTRY)};

ci_clip_fn ci_typed_clip(int32_t dtype) {
  const int slot = CI_SLOT(dtype);
  return slot < CI_SLOTS ? eu_clip_table[slot] : NULL;
}
