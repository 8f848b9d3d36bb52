/* cast.c - Cast, CastLike and BitCast between all types of numbers (docs/numerics.md, "Casts").
 *
 * Float to integer truncates and saturates, NaN gives 0; integer to integer wraps; any number but 0 is true. A table
 * has a loop for each pair of the 8- to 64-bit types. The small floats (16 bits and less) go through float32: widening
 * is exact, narrowing rounds once and writes one NaN. The 4- and 2-bit integers go through int8, uint8 and int32.
 */
#include "cast.h"

#include "../../simd/isa.h"
#include "../../simd/math/isa_move.h"

#define CAST_LOOP(from, to, F, T, value)                                 \
  static void cast_##from##_##to(void *out, const void *in, int64_t n) { \
    T *y = out;                                                          \
    const F *x = in;                                                     \
    for (int64_t i = 0; i < n; i++) {                                    \
      const F v = x[i];                                                  \
      y[i] = (T)(value);                                                 \
    }                                                                    \
  }

/* Limits: the lowest number, and the power of two that is the first number too large. */
#define CAST_SATURATE(v, T, least, beyond) \
  ((v) != (v) ? (T)0 : (v) < (least) ? (T)(least) : (v) >= (beyond) ? (T) ~(T)(least) : (T)(v))

/* Targets of a floating source: least and beyond of each integer type. ~least is the largest, signed or not. */
#define CAST_FROM_FLOAT(from, F)                                               \
  CAST_LOOP(from, u32, F, uint32_t, CAST_SATURATE(v, uint32_t, 0.0f, 0x1p32f)) \
  CAST_LOOP(from, u64, F, uint64_t, CAST_SATURATE(v, uint64_t, 0.0f, 0x1p64f))
#define CAST_FROM_DOUBLE(from, F)                                                \
  CAST_FROM_FLOAT(from, F)                                                       \
  CAST_LOOP(from, i8, F, int8_t, CAST_SATURATE(v, int8_t, -0x1p7f, 0x1p7f))      \
  CAST_LOOP(from, i16, F, int16_t, CAST_SATURATE(v, int16_t, -0x1p15f, 0x1p15f)) \
  CAST_LOOP(from, i32, F, int32_t, CAST_SATURATE(v, int32_t, -0x1p31f, 0x1p31f)) \
  CAST_LOOP(from, i64, F, int64_t, CAST_SATURATE(v, int64_t, -0x1p63f, 0x1p63f)) \
  CAST_LOOP(from, u8, F, uint8_t, CAST_SATURATE(v, uint8_t, 0.0f, 0x1p8f))       \
  CAST_LOOP(from, u16, F, uint16_t, CAST_SATURATE(v, uint16_t, 0.0f, 0x1p16f))   \
  CAST_LOOP(from, flag, F, bool, v != 0)

#define CAST_FROM_INTEGER(F, from, id, W, class) \
  CAST_LOOP(from, f32, F, float, v)              \
  CAST_LOOP(from, f64, F, double, v)             \
  CAST_LOOP(from, i8, F, int8_t, v)              \
  CAST_LOOP(from, i16, F, int16_t, v)            \
  CAST_LOOP(from, i32, F, int32_t, v)            \
  CAST_LOOP(from, i64, F, int64_t, v)            \
  CAST_LOOP(from, u8, F, uint8_t, v)             \
  CAST_LOOP(from, u16, F, uint16_t, v)           \
  CAST_LOOP(from, u32, F, uint32_t, v) CAST_LOOP(from, u64, F, uint64_t, v) CAST_LOOP(from, flag, F, bool, v != 0)

/* Towards zero, the last bit set if anything was lost: a second rounding is then as good as one. */
static float cast_odd(double v) {
  const float near = (float)v;
  if ((double)near == v || v != v || near - near != 0.0f) return near;
  uint32_t bits = ci_float_bits(near);
  if ((v > 0.0 && (double)near > v) || (v < 0.0 && (double)near < v)) bits--;
  return ci_float_from(bits | 1);
}

CAST_FROM_FLOAT(f32, float)
CAST_FROM_DOUBLE(f64, double)
CAST_LOOP(f64, f64, double, double, v)
CAST_LOOP(f64, f16, double, uint16_t, ci_float_to_half(cast_odd(v)))
CAST_LOOP(f64, bf16, double, uint16_t, ci_float_to_brain(cast_odd(v)))
CI_INTEGER_TYPES(CAST_FROM_INTEGER)
CAST_FROM_INTEGER(bool, flag, CI_BOOL, uint32_t, U)

#define CAST_ROW(from)                                                                            \
  [CI_INT8] = cast_##from##_i8, [CI_INT16] = cast_##from##_i16, [CI_INT32] = cast_##from##_i32,   \
  [CI_INT64] = cast_##from##_i64, [CI_UINT8] = cast_##from##_u8, [CI_UINT16] = cast_##from##_u16, \
  [CI_UINT32] = cast_##from##_u32, [CI_UINT64] = cast_##from##_u64, [CI_BOOL] = cast_##from##_flag
#define CAST_INTEGER_ROW(F, from, id, W, class) \
  [id] = {CAST_ROW(from), [CI_FLOAT] = cast_##from##_f32, [CI_DOUBLE] = cast_##from##_f64},
/* clang-format off: the pairs that isa_move.h lacks. */
static const ci_cast_fn cast_table[CI_DTYPES][CI_DTYPES] = {
    CI_INTEGER_TYPES(CAST_INTEGER_ROW) CAST_INTEGER_ROW(
        bool, flag, CI_BOOL, uint32_t, U)[CI_FLOAT] = {[CI_UINT32] = cast_f32_u32, [CI_UINT64] = cast_f32_u64},
    [CI_DOUBLE] = {CAST_ROW(f64), [CI_DOUBLE] = cast_f64_f64, [CI_FLOAT16] = cast_f64_f16,
                   [CI_BFLOAT16] = cast_f64_bf16}};
/* clang-format on */

ci_cast_fn ci_cast_find(const struct ci_isa *isa, int32_t from, int32_t to) {
  for (int i = 0; i < CI_MOVE_CAST_COUNT; i++) {
    const ci_move_cast *cast = &isa->move->casts[i];
    if (cast->from == from && cast->to == to) return cast->fn;
  }
  if (from < 0 || from >= CI_DTYPES || to < 0 || to >= CI_DTYPES) return NULL;
  return cast_table[from][to];
}

/* ---- floats of 8 and 4 bits ---- */

typedef struct cast_format { /* sign, exponent, fraction */
  uint8_t sign, fraction, bias;
  uint8_t most;     /* the largest number's code */
  uint8_t over;     /* a number above the range, where it does not saturate: infinity or NaN */
  uint8_t nan;
  bool one_zero;    /* the code of -0 is NaN */
} cast_format;

static const cast_format cast_formats[] = {
    {0x80, 3, 7, 0x7e, 0x7f, 0x7f, false},  /* CI_FLOAT8E4M3FN */
    {0x80, 3, 8, 0x7f, 0x80, 0x80, true},   /* CI_FLOAT8E4M3FNUZ */
    {0x80, 2, 15, 0x7b, 0x7c, 0x7e, false}, /* CI_FLOAT8E5M2 */
    {0x80, 2, 16, 0x7f, 0x80, 0x80, true},  /* CI_FLOAT8E5M2FNUZ */
    {0x08, 1, 1, 0x07, 0x07, 0x08, false},  /* CI_FLOAT4E2M1: no NaN, which becomes -0 */
};

static const cast_format *cast_format_of(int32_t dtype) {
  return &cast_formats[dtype == CI_FLOAT4E2M1 ? 4 : dtype - CI_FLOAT8E4M3FN];
}

/* The code as a float32 with another bias, which one multiplication corrects exactly: also for denormals. */
static float cast_widen(const cast_format *f, uint8_t code) {
  const uint32_t size = code & (f->sign - 1u), negative = (code & f->sign) != 0 ? 0x80000000u : 0;
  if (size > f->most || (f->one_zero && code == f->nan)) {
    return ci_float_from(size == f->over && f->over != f->nan ? negative | 0x7f800000 : 0x7fc00000);
  }
  const float v = ci_float_from(size << (23 - f->fraction)) * ci_float_from((254u - f->bias) << 23);
  return ci_float_from(ci_float_bits(v) | negative);
}

static uint8_t cast_narrow(const cast_format *f, float v, bool saturate) {
  const uint32_t bits = ci_float_bits(v), size = bits & 0x7fffffff;
  const uint8_t sign = bits >> 31 != 0 ? f->sign : 0;
  if (size > 0x7f800000) return f->nan;
  const int exponent = (int)(size >> 23) - 127 + f->bias, shift = 23 - f->fraction;
  uint32_t code = 0; /* below half of the smallest denormal */
  if (exponent >= 1) code = ci_round_bits(size - ((127u - f->bias) << 23), shift);
  else if (shift + 1 - exponent <= 24) code = ci_round_bits((size & 0x7fffff) | 0x800000, shift + 1 - exponent);
  if (code > f->most) code = saturate ? f->most : f->over;
  if (f->one_zero && (code == 0 || code == f->nan)) return (uint8_t)code;
  return (uint8_t)(sign | code);
}

/* float8e8m0: powers of two from 2^-127 to 2^127, and NaN. */
static float cast_from_power(uint8_t code) {
  if (code == 0xff) return ci_float_from(0x7fc00000);
  return ci_float_from(code == 0 ? 0x400000 : (uint32_t)code << 23);
}

static uint8_t cast_to_power(float v, bool saturate, int round) {
  const uint32_t bits = ci_float_bits(v);
  if (v != v || v < 0.0f) return 0xff;
  if (v < 0x1p-127f) return saturate ? 0 : 0xff;
  if (v - v != 0.0f) return saturate ? 0xfe : 0xff;
  const uint32_t code = bits >> 23, fraction = code == 0 ? (bits & 0x3fffff) << 1 : bits & 0x7fffff;
  const bool more = round == CI_ROUND_UP ? fraction != 0 : round == CI_ROUND_NEAREST && fraction >= 0x400000;
  if (code + more > 0xfe) return saturate ? 0xfe : 0xff;
  return (uint8_t)(code + more);
}

/* ---- any pair ---- */

static bool cast_is_float(int32_t dtype) { /* of 16 bits or less */
  return dtype == CI_FLOAT16 || (dtype >= CI_BFLOAT16 && dtype <= CI_FLOAT8E5M2FNUZ) || dtype == CI_FLOAT4E2M1 ||
         dtype == CI_FLOAT8E8M0;
}

static bool cast_is_signed(int32_t dtype) { return dtype == CI_INT4 || dtype == CI_INT2; }

bool ci_caster_make(ci_caster *c, const struct ci_isa *isa, int32_t from, int32_t to, bool saturate, int round) {
  const bool from_float = cast_is_float(from), to_float = cast_is_float(to);
  const bool from_packed = !from_float && ci_dtype_bits(from) < 8, to_packed = !to_float && ci_dtype_bits(to) < 8;
  *c = (ci_caster){.isa = isa, .from = from, .to = to, .saturate = saturate, .round = round};
  if (ci_dtype_size(from) == 0 || ci_dtype_size(to) == 0) return false;
  c->from_bytes = ci_dtype_size(from);
  c->to_bytes = ci_dtype_size(to);
  c->decodes = from_float || from_packed;
  c->encodes = to_float || to_packed;
  const int32_t base = from_float ? CI_FLOAT : !from_packed ? from : cast_is_signed(from) ? CI_INT8 : CI_UINT8;
  c->middle = to_packed ? CI_INT32 : !to_float ? to : base == CI_FLOAT ? CI_FLOAT : CI_DOUBLE;
  c->direct = ci_cast_find(isa, from, to);
  if (base == c->middle) return base == CI_FLOAT || ci_cast_find(isa, base, CI_FLOAT) != NULL;
  c->converts = ci_cast_find(isa, base, c->middle);
  return c->converts != NULL;
}

static void cast_decode(const struct ci_isa *isa, int32_t dtype, void *out, const void *in, int64_t n) {
  const uint8_t *x = in;
  float *y = out;
  if (dtype == CI_FLOAT16 || dtype == CI_BFLOAT16) {
    ci_cast_find(isa, dtype, CI_FLOAT)(out, in, n);
  } else if (dtype == CI_FLOAT8E8M0) {
    for (int64_t i = 0; i < n; i++) y[i] = cast_from_power(x[i]);
  } else if (cast_is_float(dtype)) {
    const cast_format *f = cast_format_of(dtype);
    for (int64_t i = 0; i < n; i++) y[i] = cast_widen(f, x[i]);
  } else { /* the sign bit is spread over the byte */
    const unsigned mask = (1u << ci_dtype_bits(dtype)) - 1, sign = cast_is_signed(dtype) ? (mask + 1) / 2 : 0;
    uint8_t *bytes = out;
    for (int64_t i = 0; i < n; i++) bytes[i] = (uint8_t)(((x[i] & mask) ^ sign) - sign);
  }
}

static void cast_encode(const ci_caster *c, void *out, const void *in, int64_t n) {
  const float *x = in;
  const int32_t *numbers = in;
  uint8_t *y = out;
  const uint8_t mask = (uint8_t)((1u << ci_dtype_bits(c->to)) - 1);
  if (c->to == CI_FLOAT16 || c->to == CI_BFLOAT16) {
    ci_cast_find(c->isa, CI_FLOAT, c->to)(out, in, n);
  } else if (c->to == CI_FLOAT8E8M0) {
    for (int64_t i = 0; i < n; i++) y[i] = cast_to_power(x[i], c->saturate, c->round);
  } else if (cast_is_float(c->to)) {
    const cast_format *f = cast_format_of(c->to);
    for (int64_t i = 0; i < n; i++) y[i] = cast_narrow(f, x[i], c->saturate);
  } else {
    for (int64_t i = 0; i < n; i++) y[i] = (uint8_t)(numbers[i] & mask);
  }
}

enum { CAST_PIECE = 256, CAST_GRAIN = 1 << 14 };

static void cast_piece(const ci_caster *c, void *y, const void *x, int64_t n) {
  float decoded[CAST_PIECE];
  double middle[CAST_PIECE];
  if (c->decodes) {
    void *to = c->converts != NULL || c->encodes ? decoded : y;
    cast_decode(c->isa, c->from, to, x, n);
    x = to;
  }
  if (c->converts != NULL) {
    void *to = c->encodes ? middle : y;
    c->converts(to, x, n);
    x = to;
  }
  if (!c->encodes) return;
  if (c->middle == CI_DOUBLE) {
    const double *wide = x;
    for (int64_t i = 0; i < n; i++) decoded[i] = cast_odd(wide[i]);
    x = decoded;
  }
  cast_encode(c, y, x, n);
}

void ci_caster_run(const ci_caster *c, void *y, const void *x, int64_t n) {
  if (c->direct != NULL) {
    c->direct(y, x, n);
    return;
  }
  if (!c->decodes && !c->encodes) {
    memcpy(y, x, (size_t)n * c->to_bytes);
    return;
  }
  for (int64_t at = 0; at < n; at += CAST_PIECE) {
    cast_piece(c, (char *)y + (size_t)at * c->to_bytes, (const char *)x + (size_t)at * c->from_bytes,
               n - at < CAST_PIECE ? n - at : CAST_PIECE);
  }
}

float ci_round_to(int32_t dtype, float v) {
  if (dtype == CI_FLOAT16) return ci_float_from_half(ci_float_to_half(v));
  return dtype == CI_BFLOAT16 ? ci_float_from((uint32_t)ci_float_to_brain(v) << 16) : v;
}

/* ---- the operators ---- */

typedef struct cast_plan {
  ci_caster caster;
  bool runs; /* false: an alias */
} cast_plan;

static ci_status cast_round_mode(ci_kernel *k, int *round) {
  ci_span mode;
  CI_TRY(ci_k_attr_s(k, "round_mode", "up", &mode));
  *round = ci_span_is(mode, "up") ? CI_ROUND_UP : ci_span_is(mode, "down") ? CI_ROUND_DOWN : CI_ROUND_NEAREST;
  if (*round != CI_ROUND_NEAREST || ci_span_is(mode, "nearest")) return CI_OK;
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "round_mode is '%.*s', expected up, down or nearest",
                   (int)(mode.length < 64 ? mode.length : 64), mode.data);
}

static ci_status cast_prepare(ci_kernel *k, int64_t to) {
  const int32_t from = k->in[0]->dtype;
  int64_t saturate;
  int round;
  CI_TRY(ci_k_attr_i(k, "saturate", 1, &saturate));
  CI_TRY(cast_round_mode(k, &round));
  cast_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  if (to == from) {
    CI_TRY(ci_k_out_like(k, 0, from, k->in[0]));
    ci_k_alias(k, 0, 0);
    return CI_OK;
  }
  const int32_t known = to > 0 && to <= CI_INT2 ? (int32_t)to : 0;
  if (known == 0 || !ci_caster_make(&p->caster, k->isa, from, known, saturate != 0, round)) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "no cast from %s to %s (%lld)", ci_dtype_name(from),
                     known != 0 ? ci_dtype_name(known) : "an unknown type", (long long)to);
  }
  p->runs = true;
  return ci_k_out_like(k, 0, known, k->in[0]);
}

ci_status ci_prepare_cast(ci_kernel *k) {
  int64_t to;
  CI_TRY(ci_k_attr_i(k, "to", 0, &to));
  return cast_prepare(k, to);
}

ci_status ci_prepare_cast_like(ci_kernel *k) { return cast_prepare(k, k->in[1]->dtype); }

static void cast_part(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const cast_plan *p = k->private_memory;
  (void)thread;
  ci_caster_run(&p->caster, (char *)k->out[0]->data + (size_t)begin * p->caster.to_bytes,
                (const char *)k->in[0]->data + (size_t)begin * p->caster.from_bytes, end - begin);
}

ci_status ci_run_cast(ci_kernel *k) {
  const cast_plan *p = k->private_memory;
  if (p->runs) ci_k_parallel_rows(k, k->out[0]->count, CAST_GRAIN, cast_part, k);
  return CI_OK;
}

/* ---- BitCast ---- */

ci_status ci_prepare_bit_cast(ci_kernel *k) {
  const int32_t from = k->in[0]->dtype;
  int64_t to;
  CI_TRY(ci_k_attr_i(k, "to", 0, &to));
  const int32_t known = to > 0 && to <= CI_INT2 ? (int32_t)to : 0;
  if (known == 0 || known == CI_STRING || from == CI_STRING || ci_dtype_bits(from) != ci_dtype_bits(known)) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "the bits of %s cannot be read as %s (%lld): both need the same width",
                     ci_dtype_name(from), known != 0 ? ci_dtype_name(known) : "an unknown type", (long long)to);
  }
  CI_TRY(ci_k_out_like(k, 0, known, k->in[0]));
  if (known != CI_BOOL || from == CI_BOOL) ci_k_alias(k, 0, 0);
  return CI_OK;
}

/* Only bytes that become truth values are copied: these are 0 and 1 everywhere. */
ci_status ci_run_bit_cast(ci_kernel *k) {
  const uint8_t *x = k->in[0]->data;
  bool *y = k->out[0]->data;
  if (k->out[0]->dtype != CI_BOOL || k->in[0]->dtype == CI_BOOL) return CI_OK;
  for (int64_t i = 0; i < k->out[0]->count; i++) y[i] = x[i] != 0;
  return CI_OK;
}
