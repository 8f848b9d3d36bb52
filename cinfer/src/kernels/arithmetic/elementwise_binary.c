/* elementwise_binary.c - elementwise operators of two inputs, one plain loop for each type and each way to be scalar.
 *
 * Integers wrap; division truncates, by zero it gives 0.
 */
#include <math.h>

#include "../../math/scalar_math.h"
#include "elementwise.h"

#define EB_LOOP(name, T, R, value)                                                               \
  static void eb_##name(void *out, const void *left, const void *right, int64_t n, int scalar) { \
    R *y = out;                                                                                  \
    const T *x = left, *z = right;                                                               \
    if (scalar == CI_SCALAR_A) {                                                                 \
      const T a = *x;                                                                            \
      for (int64_t i = 0; i < n; i++) {                                                          \
        const T b = z[i];                                                                        \
        y[i] = (R)(value);                                                                       \
      }                                                                                          \
    } else if (scalar == CI_SCALAR_B) {                                                          \
      const T b = *z;                                                                            \
      for (int64_t i = 0; i < n; i++) {                                                          \
        const T a = x[i];                                                                        \
        y[i] = (R)(value);                                                                       \
      }                                                                                          \
    } else {                                                                                     \
      for (int64_t i = 0; i < n; i++) {                                                          \
        const T a = x[i], b = z[i];                                                              \
        y[i] = (R)(value);                                                                       \
      }                                                                                          \
    }                                                                                            \
  }

typedef void (*eb_each_fn)(void *out, const void *left, const void *right, int64_t n);

CI_FAST static void eb_fill(uint32_t *to, uint32_t word, int64_t n) {
  for (int64_t i = 0; i < n; i++) to[i] = word;
}

/* item: 1 or 4 bytes. */
static void eb_pieces(eb_each_fn each, size_t item, void *out, const void *const *from, int64_t n, int scalar) {
  enum { piece = 1024 }; /* bytes */
  _Alignas(64) char same[piece];
  const int64_t most = (int64_t)(piece / item), count = n < most ? n : most;
  const void *number = from[scalar == CI_SCALAR_A ? 0 : 1];
  if (scalar == CI_NO_SCALAR || n == 0) {
    each(out, from[0], from[1], n);
    return;
  }
  uint32_t word = 0;
  memcpy(&word, number, item);
  if (item == 1) memset(same, *(const uint8_t *)number, (size_t)count);
  else eb_fill((uint32_t *)(void *)same, word, count);
  for (int64_t at = 0; at < n; at += count) {
    const void *left = scalar == CI_SCALAR_A ? same : (const char *)from[0] + (size_t)at * item;
    const void *right = scalar == CI_SCALAR_B ? same : (const char *)from[1] + (size_t)at * item;
    each((char *)out + at, left, right, n - at < count ? n - at : count);
  }
}

/* The same in one loop that compilers vectorise: a scalar is repeated in a short row. R has one byte. */
#define EB_PIECES(name, T, R, value)                                                              \
  CI_FAST static void eb_each_##name(void *out, const void *left, const void *right, int64_t n) { \
    R *y = out;                                                                                   \
    const T *x = left, *z = right;                                                                \
    for (int64_t i = 0; i < n; i++) {                                                             \
      const T a = x[i], b = z[i];                                                                 \
      y[i] = (R)(value);                                                                          \
    }                                                                                             \
  }                                                                                               \
  static void eb_##name(void *out, const void *left, const void *right, int64_t n, int scalar) {  \
    eb_pieces(eb_each_##name, sizeof(T), out, (const void *const[]){left, right}, n, scalar);     \
  }

/* The same in one loop: for operators that are rare or slow in themselves, where three loops would only be larger. */
#define EB_SHORT(name, T, R, value)                                                              \
  static void eb_##name(void *out, const void *left, const void *right, int64_t n, int scalar) { \
    R *y = out;                                                                                  \
    const T *x = left, *z = right, a0 = *x, b0 = *z;                                             \
    for (int64_t i = 0; i < n; i++) {                                                            \
      const T a = scalar == CI_SCALAR_A ? a0 : x[i], b = scalar == CI_SCALAR_B ? b0 : z[i];      \
      y[i] = (R)(value);                                                                         \
    }                                                                                            \
  }
/* Another operator with its inputs exchanged. */
#define EB_TRANSPOSED(name, other)                                                               \
  static void eb_##name(void *out, const void *left, const void *right, int64_t n, int scalar) { \
    const int swapped = scalar == CI_SCALAR_A ? CI_SCALAR_B : CI_SCALAR_A;                       \
    eb_##other(out, right, left, n, scalar == CI_NO_SCALAR ? scalar : swapped);                  \
  }
#define EB_SHAPE_i8 EB_SHORT
#define EB_SHAPE_i16 EB_SHORT
#define EB_SHAPE_i32 CI_FAST EB_LOOP
#define EB_SHAPE_i64 CI_FAST EB_LOOP
#define EB_SHAPE_u8 EB_SHORT
#define EB_SHAPE_u16 EB_SHORT
#define EB_SHAPE_u32 EB_SHORT
#define EB_SHAPE_u64 EB_SHORT
#define EB_SHAPE_f64 CI_FAST EB_LOOP
#define EB_COMPARED_i8 EB_SHORT
#define EB_COMPARED_i16 EB_SHORT
#define EB_COMPARED_i32 EB_PIECES
#define EB_COMPARED_i64 CI_FAST EB_LOOP
#define EB_COMPARED_u8 EB_SHORT
#define EB_COMPARED_u16 EB_SHORT
#define EB_COMPARED_u32 EB_SHORT
#define EB_COMPARED_u64 EB_SHORT
#define EB_COMPARED_f32 EB_PIECES
#define EB_COMPARED_f64 CI_FAST EB_LOOP

static double eb_floor_mod(double a, double b) {
  const double r = ci_fmod(a, b); /* exact, hence the same in every library */
  if (r == 0.0) return copysign(0.0, b);
  return (r < 0.0) != (b < 0.0) ? r + b : r;
}

/* Integer powers by squaring; negative ones are 0 but for 1 and -1. */
static uint64_t eb_power(uint64_t base, bool negative, uint64_t exponent) {
  if (negative) return base == 1 ? 1 : base == UINT64_MAX ? (exponent & 1 ? base : 1) : 0;
  uint64_t y = 1;
  for (; exponent > 0; exponent >>= 1, base *= base) {
    if (exponent & 1) y *= base;
  }
  return y;
}

/* ---- the types' own operators ---- */

CI_FAST EB_LOOP(add_f64, double, double, a + b) CI_FAST EB_LOOP(sub_f64, double, double, a - b) CI_FAST
    EB_LOOP(mul_f64, double, double, (a * b)) CI_FAST EB_LOOP(div_f64, double, double, a / b) CI_FAST
    EB_LOOP(max_f64, double, double,
            (a != a  ? a
             : a > b ? a
                     : b) +
                0.0) CI_FAST EB_LOOP(min_f64, double, double,
                                     (a != a  ? a
                                      : a < b ? a
                                              : b) +
                                         0.0) EB_LOOP(relu_grad_f64, double, double, a > 0.0 ? b : 0.0)
        EB_SHORT(prelu_f64, double, double, a < 0.0 ? b * a : a) EB_SHORT(mod_f64, double, double, eb_floor_mod(a, b))
            EB_SHORT(fmod_f64, double, double, ci_fmod(a, b))
                EB_SHORT(pow_f64, double, double, b == 2.0 ? a * a : ci_pow(a, b))
                    EB_SHORT(mod_f32, float, float, eb_floor_mod(a, b)) EB_SHORT(fmod_f32, float, float, ci_fmod(a, b))
                        EB_LOOP(pow_f32, float, float, b == 2.0f ? a * a : ci_pow_float(a, b))
/* -1 apart: the quotient of the lowest number and -1 does not exist. */
#define EB_DIV_S(T, W) b == 0 ? 0 : b == -1 ? (W)0 - (W)a : (W)(a / b)
#define EB_DIV_U(T, W) b == 0 ? 0 : a / b
#define EB_FMOD_S(T, W) b == 0 || b == -1 ? 0 : a % b
#define EB_FMOD_U(T, W) b == 0 ? 0 : a % b
#define EB_MOD_S(T, W) b == 0 || b == -1 ? 0 : a % b != 0 && (a % b < 0) != (b < 0) ? a % b + b : a % b
#define EB_MOD_U(T, W) b == 0 ? 0 : a % b
#define EB_POW_S(T, W) eb_power((uint64_t)(int64_t)a, b < 0, (uint64_t)(int64_t)b)
#define EB_POW_U(T, W) eb_power(a, false, b)
/* clang-format off */
#define EB_INTEGER(T, name, id, W, class)                \
  EB_SHAPE_##name(add_##name, T, T, (W)a + (W)b)         \
  EB_SHAPE_##name(sub_##name, T, T, (W)a - (W)b)         \
  EB_SHAPE_##name(mul_##name, T, T, (W)a * (W)b)         \
  EB_SHAPE_##name(max_##name, T, T, a > b ? a : b)       \
  EB_SHAPE_##name(min_##name, T, T, a < b ? a : b)       \
  EB_SHAPE_##name(relu_grad_##name, T, T, a > 0 ? b : 0) \
  EB_SHORT(div_##name, T, T, EB_DIV_##class(T, W))       \
  EB_SHORT(mod_##name, T, T, EB_MOD_##class(T, W))       \
  EB_SHORT(fmod_##name, T, T, EB_FMOD_##class(T, W))     \
  EB_SHORT(pow_##name, T, T, EB_POW_##class(T, W))
    /* clang-format on */
    CI_COMPUTED_INTEGERS(EB_INTEGER)
        EB_SHORT(prelu_i32, int32_t, int32_t, a < 0 ? (uint32_t)a * (uint32_t)b : (uint32_t)a)
            EB_SHORT(prelu_i64, int64_t, int64_t, a < 0 ? (uint64_t)a * (uint64_t)b : (uint64_t)a)
                EB_SHORT(prelu_u32, uint32_t, uint32_t, a + 0 * b) EB_SHORT(prelu_u64, uint64_t, uint64_t, a + 0 * b)

/* ---- bits; a shift by more bits than the type has leaves copies of the sign bit, or 0 ---- */

#define EB_BITS(T, S, size)                                                   \
  EB_SHORT(bit_and_##size, T, T, a &b)                                        \
  EB_SHORT(bit_or_##size, T, T, a | b)                                        \
  EB_SHORT(bit_xor_##size, T, T, a ^ b)                                       \
  EB_SHORT(shift_left_##size, T, T, b < 8 * sizeof(T) ? (uint64_t)a << b : 0) \
  EB_SHORT(shift_right_##size, T, T, b < 8 * sizeof(T) ? a >> b : 0)          \
  EB_SHORT(shift_sign_##size, S, S, (T)b < 8 * sizeof(T) ? EB_SIGN_SHIFT(a, b) : a < 0 ? -1 : 0)
/* Of a negative number: the complement shifted, for >> of negative ones is the compiler's choice. */
#define EB_SIGN_SHIFT(a, b) (a < 0 ? ~(~(int64_t)a >> b) : (int64_t)a >> b)
                    EB_BITS(uint8_t, int8_t, 1) EB_BITS(uint16_t, int16_t, 2) EB_BITS(uint32_t, int32_t, 4)
                        EB_BITS(uint64_t, int64_t, 8)

/* ---- comparisons, of every type ---- */

/* clang-format off */
#define EB_COMPARE(T, name, id, W, class)                \
  EB_COMPARED_##name(equal_##name, T, bool, a == b)         \
  EB_COMPARED_##name(less_##name, T, bool, a < b)           \
  EB_COMPARED_##name(less_equal_##name, T, bool, a <= b)    \
  EB_TRANSPOSED(greater_##name, less_##name)                 \
  EB_TRANSPOSED(greater_equal_##name, less_equal_##name)
    /* clang-format on */
    EB_COMPARE(float, f32, CI_FLOAT, float, F) EB_COMPARE(double, f64, CI_DOUBLE, double, F)
        CI_COMPUTED_INTEGERS(EB_COMPARE)

            static bool eb_same_string(ci_string a, ci_string b) {
  return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}
EB_SHORT(equal_string, ci_string, bool, eb_same_string(a, b))
EB_PIECES(equal_bool, uint8_t, uint8_t, a ^ b ^ 1)
EB_PIECES(and_bool, uint8_t, uint8_t, a &b)
EB_PIECES(or_bool, uint8_t, uint8_t, a | b)
EB_PIECES(xor_bool, uint8_t, uint8_t, a ^ b)

/* clang-format off */
#define EB_COMPARE_ENTRY(T, name, id, W, class)                                            \
  [CI_EW_EQUAL][CI_SLOT(id)] = eb_equal_##name, [CI_EW_LESS][CI_SLOT(id)] = eb_less_##name,                  \
  [CI_EW_LESS_EQUAL][CI_SLOT(id)] = eb_less_equal_##name, [CI_EW_GREATER][CI_SLOT(id)] = eb_greater_##name,  \
  [CI_EW_GREATER_EQUAL][CI_SLOT(id)] = eb_greater_equal_##name,
#define EB_ARITHMETIC_ENTRY(T, name, id, W, class)                                         \
  [CI_MATH_add][CI_SLOT(id)] = eb_add_##name, [CI_MATH_sub][CI_SLOT(id)] = eb_sub_##name,                    \
  [CI_MATH_mul][CI_SLOT(id)] = eb_mul_##name, [CI_MATH_div][CI_SLOT(id)] = eb_div_##name,                    \
  [CI_MATH_max][CI_SLOT(id)] = eb_max_##name, [CI_MATH_min][CI_SLOT(id)] = eb_min_##name,                    \
  [CI_EW_POW][CI_SLOT(id)] = eb_pow_##name,
#define EB_MOD_ENTRY(T, name, id, W, class)                                                \
  [CI_EW_MOD][CI_SLOT(id)] = eb_mod_##name, [CI_EW_FMOD][CI_SLOT(id)] = eb_fmod_##name,
#define EB_GRADIENT_ENTRY(T, name, id, W, class) [CI_MATH_relu_grad][CI_SLOT(id)] = eb_relu_grad_##name,
#define EB_BITS_ENTRY(id, size, right)                                                     \
  [CI_EW_BIT_AND][CI_SLOT(id)] = eb_bit_and_##size, [CI_EW_BIT_OR][CI_SLOT(id)] = eb_bit_or_##size,          \
  [CI_EW_BIT_XOR][CI_SLOT(id)] = eb_bit_xor_##size, [CI_EW_SHIFT_LEFT][CI_SLOT(id)] = eb_shift_left_##size,  \
  [CI_EW_SHIFT_RIGHT][CI_SLOT(id)] = eb_shift_##right##_##size,
static const ci_typed_binary_fn eb_table[CI_EW_BINARY_COUNT][CI_SLOTS] = {
  CI_COMPUTED_NUMBERS(EB_ARITHMETIC_ENTRY)
#if CI_HAS(rounding)
  CI_COMPUTED_NUMBERS(EB_MOD_ENTRY)
  [CI_EW_MOD][CI_SLOT(CI_FLOAT)] = eb_mod_f32,
  [CI_EW_FMOD][CI_SLOT(CI_FLOAT)] = eb_fmod_f32,
#endif
#if CI_HAS(training)
  CI_COMPUTED_NUMBERS(EB_GRADIENT_ENTRY)
#endif
  [CI_EW_POW][CI_SLOT(CI_FLOAT)] = eb_pow_f32,
#if !CI_HAS(types)
  [CI_EW_POW][CI_SLOT(CI_DOUBLE)] = eb_pow_f64, /* powers of two types are made in it */
#endif
#if CI_HAS(activation)
  [CI_MATH_prelu] = {[CI_SLOT(CI_INT32)] = eb_prelu_i32, [CI_SLOT(CI_INT64)] = eb_prelu_i64,
#if CI_HAS(types)
                     [CI_SLOT(CI_DOUBLE)] = eb_prelu_f64,
                     [CI_SLOT(CI_UINT32)] = eb_prelu_u32, [CI_SLOT(CI_UINT64)] = eb_prelu_u64
#endif
  },
#endif
#if CI_HAS(logic)
  EB_COMPARE_ENTRY(float, f32, CI_FLOAT, float, F)
  CI_COMPUTED_NUMBERS(EB_COMPARE_ENTRY)
  [CI_EW_EQUAL][CI_SLOT(CI_STRING)] = eb_equal_string,
  [CI_EW_EQUAL][CI_SLOT(CI_BOOL)] = eb_equal_bool,
  [CI_EW_AND][CI_SLOT(CI_BOOL)] = eb_and_bool,
  [CI_EW_OR][CI_SLOT(CI_BOOL)] = eb_or_bool,
  [CI_EW_XOR][CI_SLOT(CI_BOOL)] = eb_xor_bool,
#endif
#if CI_HAS(bits)
  EB_BITS_ENTRY(CI_INT8, 1, sign) EB_BITS_ENTRY(CI_UINT8, 1, right)
  EB_BITS_ENTRY(CI_INT16, 2, sign) EB_BITS_ENTRY(CI_UINT16, 2, right)
  EB_BITS_ENTRY(CI_INT32, 4, sign) EB_BITS_ENTRY(CI_UINT32, 4, right)
  EB_BITS_ENTRY(CI_INT64, 8, sign) EB_BITS_ENTRY(CI_UINT64, 8, right)
#endif
};
/* clang-format on */

ci_typed_binary_fn ci_typed_binary(int op, int32_t dtype) {
  const int slot = CI_SLOT(dtype);
  return slot < CI_SLOTS ? eb_table[op][slot] : NULL;
}
