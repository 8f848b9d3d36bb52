/* cast.c - Cast and CastLike between all types of numbers (docs/numerics.md, "Casts").
 *
 * Float to integer truncates and saturates, NaN gives 0; integer to integer wraps; whatever is not 0 is true. Half
 * precision goes through float32: widening is exact, narrowing rounds half to even and writes one NaN.
 */
#include "elementwise.h"

#define CAST_LOOP(from, to, F, T, value)                                 \
  static void cast_##from##_##to(void *out, const void *in, int64_t n) { \
    T *y = out;                                                          \
    const F *x = in;                                                     \
    for (int64_t i = 0; i < n; i++) {                                    \
      const F v = x[i];                                                  \
      y[i] = (T)(value);                                                 \
    }                                                                    \
  }

/* Limits: the least number, and the power of two that is the first number too large. */
#define CAST_SATURATE(v, T, least, beyond) \
  ((v) != (v) ? (T)0 : (v) < (least) ? (T)(least) : (v) >= (beyond) ? (T) ~(T)(least) : (T)(v))

/* Targets of a floating source: least and beyond of each integer type. ~least is the largest, signed or not. */
#define CAST_FROM_FLOAT(from, F)                                                 \
  CAST_LOOP(from, i8, F, int8_t, CAST_SATURATE(v, int8_t, -0x1p7f, 0x1p7f))      \
  CAST_LOOP(from, i16, F, int16_t, CAST_SATURATE(v, int16_t, -0x1p15f, 0x1p15f)) \
  CAST_LOOP(from, i32, F, int32_t, CAST_SATURATE(v, int32_t, -0x1p31f, 0x1p31f)) \
  CAST_LOOP(from, i64, F, int64_t, CAST_SATURATE(v, int64_t, -0x1p63f, 0x1p63f)) \
  CAST_LOOP(from, u8, F, uint8_t, CAST_SATURATE(v, uint8_t, 0.0f, 0x1p8f))       \
  CAST_LOOP(from, u16, F, uint16_t, CAST_SATURATE(v, uint16_t, 0.0f, 0x1p16f))   \
  CAST_LOOP(from, u32, F, uint32_t, CAST_SATURATE(v, uint32_t, 0.0f, 0x1p32f))   \
  CAST_LOOP(from, u64, F, uint64_t, CAST_SATURATE(v, uint64_t, 0.0f, 0x1p64f))   \
  CAST_LOOP(from, flag, F, bool, v != 0)                                         \
  CAST_LOOP(from, f16, F, uint16_t, cast_to_half(cast_odd((double)v)))           \
  CAST_LOOP(from, bf16, F, uint16_t, cast_to_brain(cast_odd((double)v)))

#define CAST_FROM_INTEGER(F, from, id, W, class)                       \
  CAST_LOOP(from, f32, F, float, v)                                    \
  CAST_LOOP(from, f64, F, double, v)                                   \
  CAST_LOOP(from, i8, F, int8_t, v)                                    \
  CAST_LOOP(from, i16, F, int16_t, v)                                  \
  CAST_LOOP(from, i32, F, int32_t, v)                                  \
  CAST_LOOP(from, i64, F, int64_t, v)                                  \
  CAST_LOOP(from, u8, F, uint8_t, v)                                   \
  CAST_LOOP(from, u16, F, uint16_t, v)                                 \
  CAST_LOOP(from, u32, F, uint32_t, v)                                 \
  CAST_LOOP(from, u64, F, uint64_t, v)                                 \
  CAST_LOOP(from, flag, F, bool, v != 0)                               \
  CAST_LOOP(from, f16, F, uint16_t, cast_to_half(cast_odd((double)v))) \
  CAST_LOOP(from, bf16, F, uint16_t, cast_to_brain(cast_odd((double)v)))

static uint32_t cast_bits(float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}

static float cast_from_bits(uint32_t bits) {
  float v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

/* Towards zero, the last bit set if anything was lost: a second rounding is then as good as one. */
static float cast_odd(double v) {
  const float near = (float)v;
  if ((double)near == v || v != v || near - near != 0.0f) return near;
  uint32_t bits = cast_bits(near);
  if ((v > 0.0 && (double)near > v) || (v < 0.0 && (double)near < v)) bits--;
  return cast_from_bits(bits | 1);
}

/* Drops `shift` bits, half to even. */
static uint32_t cast_round(uint32_t bits, int shift) {
  const uint32_t half = (uint32_t)1 << (shift - 1), odd = bits >> shift & 1;
  return (bits + half - 1 + odd) >> shift;
}

static uint16_t cast_to_half(float v) {
  const uint32_t bits = cast_bits(v), size = bits & 0x7fffffff, sign = bits >> 16 & 0x8000;
  if (size > 0x7f800000) return 0x7e00;
  if (size >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* 65520 and more round to infinity */
  if (size >= 0x38800000) return (uint16_t)(sign | cast_round(size - 0x38000000, 13));
  if (size < 0x33000000) return (uint16_t)sign; /* below half of the least denormal */
  const int shift = 126 - (int)(size >> 23);
  return (uint16_t)(sign | cast_round((size & 0x7fffff) | 0x800000, shift));
}

static float cast_from_half(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 0x3ff;
  if (exponent == 31) return fraction != 0 ? cast_from_bits(0x7fc00000) : cast_from_bits(sign | 0x7f800000);
  if (exponent != 0) return cast_from_bits(sign | (exponent + 112) << 23 | fraction << 13);
  const float size = (float)fraction * 0x1p-24f;
  return sign != 0 ? -size : size;
}

static uint16_t cast_to_brain(float v) {
  if (v != v) return 0x7fc0;
  return (uint16_t)cast_round(cast_bits(v), 16);
}

static float cast_from_brain(uint16_t brain) { return cast_from_bits((uint32_t)brain << 16); }

CAST_FROM_FLOAT(f32, float)
CAST_FROM_FLOAT(f64, double)
CAST_LOOP(f32, f64, float, double, v)
CAST_LOOP(f64, f32, double, float, v)
CAST_LOOP(f64, f64, double, double, v)
CI_INTEGER_TYPES(CAST_FROM_INTEGER)
CAST_FROM_INTEGER(bool, flag, CI_BOOL, uint32_t, U)
CAST_LOOP(f16, f32, uint16_t, float, cast_from_half(v))
CAST_LOOP(bf16, f32, uint16_t, float, cast_from_brain(v))

#define CAST_ROW(from)                                                                              \
  [CI_INT8] = cast_##from##_i8, [CI_INT16] = cast_##from##_i16, [CI_INT32] = cast_##from##_i32,     \
  [CI_INT64] = cast_##from##_i64, [CI_UINT8] = cast_##from##_u8, [CI_UINT16] = cast_##from##_u16,   \
  [CI_UINT32] = cast_##from##_u32, [CI_UINT64] = cast_##from##_u64, [CI_BOOL] = cast_##from##_flag, \
  [CI_FLOAT16] = cast_##from##_f16, [CI_BFLOAT16] = cast_##from##_bf16
#define CAST_INTEGER_ROW(F, from, id, W, class) \
  [id] = {CAST_ROW(from), [CI_FLOAT] = cast_##from##_f32, [CI_DOUBLE] = cast_##from##_f64},
/* clang-format off */
static const ci_cast_fn cast_table[CI_DTYPES][CI_DTYPES] = {
  CI_INTEGER_TYPES(CAST_INTEGER_ROW)
  CAST_INTEGER_ROW(bool, flag, CI_BOOL, uint32_t, U)
  [CI_FLOAT] = {CAST_ROW(f32), [CI_DOUBLE] = cast_f32_f64},
  [CI_DOUBLE] = {CAST_ROW(f64), [CI_FLOAT] = cast_f64_f32, [CI_DOUBLE] = cast_f64_f64},
  [CI_FLOAT16] = {[CI_FLOAT] = cast_f16_f32},
  [CI_BFLOAT16] = {[CI_FLOAT] = cast_bf16_f32}};
/* clang-format on */

ci_cast_fn ci_find_cast(int32_t from, int32_t to) {
  if (from < 0 || from >= CI_DTYPES || to < 0 || to >= CI_DTYPES) return NULL;
  return cast_table[from][to];
}

/* ---- the operators ---- */

typedef struct cast_plan {
  ci_cast_fn first, second; /* second: from float32, when there is no direct way; both NULL: an alias */
  size_t from, to;          /* bytes of an element */
} cast_plan;

enum { CAST_PIECE = 256, CAST_GRAIN = 1 << 14 };

static ci_status cast_prepare(ci_kernel *k, int64_t to) {
  const int32_t from = k->in[0]->dtype;
  cast_plan *p = k_private(k, sizeof *p);
  if (p == NULL) return k_no_memory(k);
  if (to == from) {
    CI_TRY(k_out_like(k, 0, from, k->in[0]));
    k_alias(k, 0, 0);
    return CI_OK;
  }
  p->from = ci_dtype_size(from);
  if (to > 0 && to < CI_DTYPES) {
    p->first = ci_find_cast(from, (int32_t)to);
    p->to = ci_dtype_size((int32_t)to);
    if (p->first == NULL && from != CI_FLOAT && to != CI_FLOAT) {
      p->first = ci_find_cast(from, CI_FLOAT);
      p->second = p->first != NULL ? ci_find_cast(CI_FLOAT, (int32_t)to) : NULL;
      if (p->second == NULL) p->first = NULL;
    }
  }
  if (p->first == NULL) {
    const char *name = to > 0 && to < CI_DTYPES ? ci_dtype_name((int32_t)to) : "an unknown type";
    return k_fail(k, CI_UNIMPLEMENTED, "no cast from %s to %s (%lld)", ci_dtype_name(from), name, (long long)to);
  }
  return k_out_like(k, 0, (int32_t)to, k->in[0]);
}

ci_status prepare_cast(ci_kernel *k) {
  int64_t to;
  CI_TRY(k_attr_i(k, "to", 0, &to));
  return cast_prepare(k, to);
}

ci_status prepare_cast_like(ci_kernel *k) { return cast_prepare(k, k->in[1]->dtype); }

static void cast_part(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const cast_plan *p = k->private_memory;
  const char *x = (const char *)k->in[0]->data + (size_t)begin * p->from;
  char *y = (char *)k->out[0]->data + (size_t)begin * p->to;
  (void)thread;
  if (p->second == NULL) {
    p->first(y, x, end - begin);
    return;
  }
  for (int64_t left = end - begin; left > 0; left -= CAST_PIECE) {
    float piece[CAST_PIECE];
    const int64_t n = left < CAST_PIECE ? left : CAST_PIECE;
    p->first(piece, x, n);
    p->second(y, piece, n);
    x += (size_t)n * p->from;
    y += (size_t)n * p->to;
  }
}

ci_status run_cast(ci_kernel *k) {
  const cast_plan *p = k->private_memory;
  if (p->first == NULL) return CI_OK; /* an alias */
  k_parallel(k, k->out[0]->count, CAST_GRAIN, cast_part, k);
  return CI_OK;
}
