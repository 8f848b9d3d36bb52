/* isa_move.h - the functions of every instruction set for casts and quantisation: plain loops, of which the compiler
 * makes vectors. docs/numerics.md, "Casts", has the rules. */
#ifndef CI_ISA_MOVE_H
#define CI_ISA_MOVE_H
#include <string.h>

#include "../../base/ci_common.h"
#include "isa_fourier.h"

CI_INLINE uint32_t ci_float_bits(float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}

CI_INLINE float ci_float_from(uint32_t bits) {
  float v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

/* Truncated and kept within limits that are whole numbers; NaN gives 0. */
CI_INLINE int32_t ci_float_whole(float v, float least, float most) {
  const float low = v > least ? v : least, inside = low < most ? low : most;
  return (int32_t)inside & -(int32_t)(v == v);
}
/* until the end, the largest float32 below 2^63 represents all larger numbers */
CI_INLINE int64_t ci_float_long(float v) {
  const float low = v > -0x1p63f ? v : -0x1p63f, inside = low < 0x1.fffffep62f ? low : 0x1.fffffep62f;
  const int64_t whole = (int64_t)inside & -(int64_t)(v == v);
  return v >= 0x1p63f ? INT64_MAX : whole;
}

/* Drops `shift` bits, half to even. */
CI_INLINE uint32_t ci_round_bits(uint32_t bits, int shift) {
  const uint32_t half = (uint32_t)1 << (shift - 1), odd = bits >> shift & 1;
  return (bits + half - 1 + odd) >> shift;
}

/* A sum with 1/2 rounds to the precision of denormals; 65520 and more become infinity. */
CI_INLINE uint16_t ci_float_to_half(float v) {
  const uint32_t bits = ci_float_bits(v);
  const int32_t size = (int32_t)(bits & 0x7fffffff), sign = (int32_t)(bits >> 16 & 0x8000);
  const float sum = ci_float_from((uint32_t)size) + 0.5f;
  const int32_t low = (int32_t)ci_float_bits(sum) - 0x3f000000;
  const int32_t rounded = (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
  const int32_t high = rounded < 0x7c00 ? rounded : 0x7c00;
  const int32_t number = (size < 0x38800000 ? low : high) | sign;
  return (uint16_t)(size > 0x7f800000 ? 0x7e00 : number);
}
CI_INLINE float ci_float_from_half(uint16_t half) { /* the multiplication is exact */
  const int32_t size = (half & 0x7fff) << 13;
  const float number = ci_float_from((uint32_t)size) * 0x1p112f;
  const uint32_t sign = (uint32_t)(half & 0x8000) << 16;
  const uint32_t large = size > 0x0f800000 ? 0x7fc00000 : 0x7f800000 | sign;
  return ci_float_from(size >= 0x0f800000 ? large : ci_float_bits(number) | sign);
}
CI_INLINE uint16_t ci_float_to_brain(float v) {
  const uint32_t rounded = ci_round_bits(ci_float_bits(v), 16);
  return (uint16_t)(v != v ? 0x7fc0 : rounded);
}

/* Rows: types of ONNX, C types, value of v. The first ones are those that processors may have instructions for. */
#define CI_MOVE_HALF_CASTS(X)                                   \
  X(CI_FLOAT, CI_FLOAT16, float, uint16_t, ci_float_to_half(v)) \
  X(CI_FLOAT16, CI_FLOAT, uint16_t, float, ci_float_from_half(v))
#define CI_MOVE_CASTS(X)                                                                                        \
  X(CI_FLOAT, CI_DOUBLE, float, double, v)                                                                      \
  X(CI_FLOAT, CI_BFLOAT16, float, uint16_t, ci_float_to_brain(v))                                               \
  X(CI_FLOAT, CI_INT8, float, int8_t, ci_float_whole(v, -128.0f, 127.0f))                                       \
  X(CI_FLOAT, CI_INT16, float, int16_t, ci_float_whole(v, -0x1p15f, 32767.0f))                                  \
  X(CI_FLOAT, CI_UINT8, float, uint8_t, ci_float_whole(v, 0.0f, 255.0f))                                        \
  X(CI_FLOAT, CI_UINT16, float, uint16_t, ci_float_whole(v, 0.0f, 65535.0f))                                    \
  X(CI_FLOAT, CI_INT32, float, int32_t, v >= 0x1p31f ? INT32_MAX : ci_float_whole(v, -0x1p31f, 0x1.fffffep30f)) \
  X(CI_FLOAT, CI_INT64, float, int64_t, ci_float_long(v))                                                       \
  X(CI_FLOAT, CI_BOOL, float, uint8_t, v != 0.0f)                                                               \
  X(CI_DOUBLE, CI_FLOAT, double, float, v)                                                                      \
  X(CI_BFLOAT16, CI_FLOAT, uint16_t, float, ci_float_from((uint32_t)v << 16))                                   \
  X(CI_INT8, CI_FLOAT, int8_t, float, v)                                                                        \
  X(CI_INT16, CI_FLOAT, int16_t, float, v)                                                                      \
  X(CI_INT32, CI_FLOAT, int32_t, float, v)                                                                      \
  X(CI_INT64, CI_FLOAT, int64_t, float, v)                                                                      \
  X(CI_UINT8, CI_FLOAT, uint8_t, float, v)                                                                      \
  X(CI_UINT16, CI_FLOAT, uint16_t, float, v)                                                                    \
  X(CI_BOOL, CI_FLOAT, uint8_t, float, v)                                                                       \
  X(CI_INT64, CI_INT32, int64_t, uint32_t, v)                                                                   \
  X(CI_INT32, CI_INT64, int32_t, int64_t, v)                                                                    \
  X(CI_UINT8, CI_INT32, uint8_t, int32_t, v)                                                                    \
  X(CI_INT32, CI_UINT8, int32_t, uint8_t, v)                                                                    \
  X(CI_INT32, CI_INT8, int32_t, uint8_t, v)                                                                     \
  X(CI_BOOL, CI_INT32, uint8_t, int32_t, v)                                                                     \
  X(CI_BOOL, CI_INT64, uint8_t, int64_t, v)

#define CI_MOVE_ONE(from, to, F, T, value) +1
enum { CI_MOVE_CAST_COUNT = 0 CI_MOVE_HALF_CASTS(CI_MOVE_ONE) CI_MOVE_CASTS(CI_MOVE_ONE) };
#undef CI_MOVE_ONE

typedef struct ci_move_cast {
  int32_t from, to;
  void (*fn)(void *y, const void *x, int64_t n);
} ci_move_cast;

/* Rows: integers of a type, 8 to 64 bits. */
#define CI_MOVE_INTEGERS(X) X(int8_t, i8) X(uint8_t, u8) X(int32_t, i32) X(int64_t, i64)
enum { CI_MOVE_i8, CI_MOVE_u8, CI_MOVE_i32, CI_MOVE_i64, CI_MOVE_INTEGER_COUNT };
enum { CI_MOVE_MAX, CI_MOVE_MIN, CI_MOVE_SUM, CI_MOVE_ROW_COUNT };

/* CI_MOVE_... of an element type, or -1. */
CI_INLINE int ci_move_integer(int32_t dtype) {
  switch (dtype) {
    case CI_INT8: return CI_MOVE_i8;
    case CI_UINT8: return CI_MOVE_u8;
    case CI_INT32: return CI_MOVE_i32;
    case CI_INT64: return CI_MOVE_i64;
    default: return -1;
  }
}

enum { CI_MOVE_FILL = 64, CI_MOVE_SQUARE = 16 };

struct ci_isa_move {
  ci_move_cast casts[CI_MOVE_CAST_COUNT];
  void (*one_nan)(uint64_t *y, const uint64_t *x, int64_t n); /* of float64 */
  int32_t (*most_bits)(const uint32_t *x, int64_t n); /* the largest without its sign bit: of float32 beyond that of
                                                         infinity if there is a NaN */
  /* One row of n > 0 integers: the largest, the smallest, the sum that wraps. */
  void (*row[CI_MOVE_INTEGER_COUNT][CI_MOVE_ROW_COUNT])(void *y, const void *x, int64_t n);
  /* The first of n numbers that is not <= limit (above) or not >= limit; n if all are. */
  int64_t (*beyond)(const float *x, int64_t n, float limit, bool above);
  /* y = c ? a : b for elements of 1, 2, 4 and 8 bytes. */
  void (*choose[4])(void *y, const uint8_t *c, const void *a, const void *b, int64_t n);
  /* n runs of so many bytes, which do not meet; a step of 0 repeats one. */
  void (*runs)(char *to, ptrdiff_t to_step, const char *from, ptrdiff_t from_step, int64_t n, size_t bytes);
  void (*twice)(void *to, const void *from, int64_t n); /* each of n words of 4 bytes */
  /* Rows of bytes become columns; both sizes are multiples of CI_MOVE_SQUARE. NULL: copy.c has words. */
  void (*turn_bytes)(char *to, ptrdiff_t to_row, const char *from, ptrdiff_t from_row, int64_t rows, int64_t cols);
  void (*fill)(char *to, const char *sixteen, size_t bytes); /* sixteen bytes again and again, CI_MOVE_FILL or more */
#if CI_HAS(signal)
  void (*fourier_stage)(const ci_fourier_stage *s, const double *x, double *y);
#endif
#if CI_HAS(quantization)
  /* quantize of x / scale to items of 1 or 2 bytes, and (x - zero) * scale of i8, u8 and i32; one: a scale and a zero
   * point for all */
  void (*quantize_small)(void *y, size_t item, const float *x, const float *scale, const float *zero, int64_t n,
                         bool one, float least, float most);
  /* quantize of (sums + add) * factor, which is finite, to bytes */
  void (*requantize)(uint8_t *y, const int32_t *sums, int64_t n, int32_t add, float factor, float zero, float least,
                     float most);
  /* the same in double, without add; zero and the limits are whole numbers of 16 bits; one: a factor for all */
  void (*requantize_wide)(uint8_t *y, const int32_t *sums, int64_t n, const double *factor, bool one, double zero,
                          double least, double most);
  void (*dequantize_integers[CI_MOVE_i64])(float *y, const void *x, const float *scale, const float *zero, int64_t n,
                                           bool one);
  void (*divide)(float *x, const float *by, int64_t n);
  /* The nearest whole number, half to even (NaN: 0), plus zero, in the limits of a type of 16 bits or less. */
  void (*quantize)(int32_t *y, const float *x, const float *zero, int64_t n, float least, float most);
  void (*dequantize)(float *x, const float *zero, const float *scale, int64_t n); /* (x - zero) * scale */
#endif
};
#endif
