/* isa_move_impl.h - isa_move.h's loops: included once per instruction set. */
#define CI_MOVE_CAST(from, to, F, T, value)                                                   \
  CI_REGION_FAST static void CI_N(cast_##from##_##to)(void *out, const void *in, int64_t n) { \
    T *y = out;                                                                               \
    const F *x = in;                                                                          \
    for (int64_t i = 0; i < n; i++) {                                                         \
      const F v = x[i];                                                                       \
      y[i] = (T)(value);                                                                      \
    }                                                                                         \
  }
CI_MOVE_CASTS(CI_MOVE_CAST)
#undef CI_MOVE_CAST

CI_REGION_FAST static void CI_N(one_nan_double)(uint64_t *y, const uint64_t *x, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    const int64_t size = (int64_t)(x[i] & ~((uint64_t)1 << 63));
    y[i] = size > (int64_t)((uint64_t)0x7ff << 52) ? (uint64_t)0x7ff8 << 48 : x[i];
  }
}

CI_REGION_FAST static int32_t CI_N(most_bits)(const uint32_t *x, int64_t n) {
  int32_t most = 0;
  for (int64_t i = 0; i < n; i++) {
    const int32_t size = (int32_t)(x[i] & 0x7fffffff);
    most = size > most ? size : most;
  }
  return most;
}

CI_REGION_FAST static void CI_N(divide)(float *x, const float *by, int64_t n) {
  for (int64_t i = 0; i < n; i++) x[i] = x[i] / by[i];
}

#define CI_MOVE_LARGER(a, b) ((b) > (a) ? (b) : (a))
#define CI_MOVE_LESS(a, b) ((b) < (a) ? (b) : (a))
#define CI_MOVE_ADDED(a, b) ((uint64_t)(a) + (uint64_t)(b))
#define CI_MOVE_ROW(T, name, what, OP)                                                         \
  CI_REGION_FAST static void CI_N(row_##what##_##name)(void *out, const void *in, int64_t n) { \
    const T *x = in;                                                                           \
    T total = x[0];                                                                            \
    for (int64_t i = 1; i < n; i++) total = (T)OP(total, x[i]);                                \
    *(T *)out = total;                                                                         \
  }
#define CI_MOVE_ROWS(T, name)               \
  CI_MOVE_ROW(T, name, max, CI_MOVE_LARGER) \
  CI_MOVE_ROW(T, name, min, CI_MOVE_LESS) CI_MOVE_ROW(T, name, sum, CI_MOVE_ADDED)
CI_MOVE_INTEGERS(CI_MOVE_ROWS)
#undef CI_MOVE_ROW
#undef CI_MOVE_ROWS

/* What is loaded anyway needs no branch. */
#define CI_MOVE_CHOOSE(T)                                                                                       \
  CI_REGION_FAST static void CI_N(choose_##T)(void *out, const uint8_t *c, const void *left, const void *right, \
                                              int64_t n) {                                                      \
    const T *a = left, *b = right;                                                                              \
    T *y = out;                                                                                                 \
    for (int64_t i = 0; i < n; i++) y[i] = (T)((a[i] & (T)(0 - (T)c[i])) | (b[i] & (T)((T)c[i] - 1)));          \
  }
CI_MOVE_CHOOSE(uint8_t)
CI_MOVE_CHOOSE(uint16_t)
CI_MOVE_CHOOSE(uint32_t)
CI_MOVE_CHOOSE(uint64_t)
#undef CI_MOVE_CHOOSE

/* Beyond 2^20 the sum is beyond the limits, below it everything is exact. */
CI_INLINE int32_t CI_N(quantized)(float v, float zero, float least, float most) {
  const float low = v > -0x1p20f ? v : -0x1p20f, inside = low < 0x1p20f ? low : 0x1p20f;
  const float moved = inside + 0x1.8p23f, whole = moved - 0x1.8p23f;
  const float sum = (v == v ? whole : 0.0f) + zero, above = sum > least ? sum : least;
  return (int32_t)(above < most ? above : most);
}

CI_REGION_FAST static void CI_N(quantize)(int32_t *y, const float *x, const float *zero, int64_t n, float least,
                                          float most) {
  for (int64_t i = 0; i < n; i++) y[i] = CI_N(quantized)(x[i], zero[i], least, most);
}

/* Whole numbers of less than 23 bits lie in the low bits of their sums with 1.5 * 2^23. */
CI_INLINE vi CI_N(quantized_bits)(vf v, vf zero, vf least, vf most) {
  const vf inside = v_min(v_max(v, v_set(-0x1p20f)), v_set(0x1p20f));
  const vf whole = v_sub(v_add(inside, v_set(0x1.8p23f)), v_set(0x1.8p23f));
  const vf sum = v_add(v_select(v_is_nan(v), v_set(0.0f), whole), zero);
  return v_bits(v_add(v_min(v_max(sum, least), most), v_set(0x1.8p23f)));
}

enum { CI_N(QUANTIZE_PIECE) = 256 };
CI_REGION_FAST static void CI_N(narrow_1)(void *out, const uint32_t *x, int64_t n) {
  uint8_t *y = out;
  for (int64_t i = 0; i < n; i++) y[i] = (uint8_t)x[i];
}
CI_REGION_FAST static void CI_N(narrow_2)(void *out, const uint32_t *x, int64_t n) {
  uint16_t *y = out;
  for (int64_t i = 0; i < n; i++) y[i] = (uint16_t)x[i];
}

static void CI_N(quantize_small)(void *y, size_t item, const float *x, const float *scale, const float *zero, int64_t n,
                                 bool one, float least, float most) {
  float bits[CI_N(QUANTIZE_PIECE) + CI_VL];
  uint32_t words[CI_N(QUANTIZE_PIECE)];
  const vf low = v_set(least), high = v_set(most), by = v_set(*scale), from = v_set(*zero);
  for (int64_t at = 0; at < n; at += CI_N(QUANTIZE_PIECE)) {
    const int64_t count = n - at < CI_N(QUANTIZE_PIECE) ? n - at : CI_N(QUANTIZE_PIECE);
    for (int64_t i = 0; i < count; i += CI_VL) {
      const int part = count - i < CI_VL ? (int)(count - i) : CI_VL;
      const bool full = part == CI_VL;
      const vf v = full ? v_load(x + at + i) : v_load_part(x + at + i, part, 0.0f);
      const vf s = one ? by : full ? v_load(scale + at + i) : v_load_part(scale + at + i, part, 1.0f);
      const vf z = one ? from : full ? v_load(zero + at + i) : v_load_part(zero + at + i, part, 0.0f);
      v_store(bits + i, v_from_bits(CI_N(quantized_bits)(v_div(v, s), z, low, high)));
    }
    memcpy(words, bits, (size_t)count * sizeof *words);
    if (item == 1) CI_N(narrow_1)((uint8_t *)y + at, words, count);
    else CI_N(narrow_2)((uint16_t *)y + at, words, count);
  }
}

CI_REGION_FAST static void CI_N(requantize)(uint8_t *y, const int32_t *sums, int64_t n, int32_t add, float factor,
                                            float zero, float least, float most) {
  uint32_t words[CI_N(QUANTIZE_PIECE)];
  for (int64_t at = 0; at < n; at += CI_N(QUANTIZE_PIECE)) {
    const int64_t count = n - at < CI_N(QUANTIZE_PIECE) ? n - at : CI_N(QUANTIZE_PIECE);
    for (int64_t i = 0; i < count; i++) {
      const float v = (float)(int32_t)((uint32_t)sums[at + i] + (uint32_t)add) * factor;
      const float low = v > -0x1p20f ? v : -0x1p20f, inside = low < 0x1p20f ? low : 0x1p20f;
      const float moved = inside + 0x1.8p23f, whole = moved - 0x1.8p23f, sum = whole + zero;
      const float above = sum > least ? sum : least, value = (above < most ? above : most) + 0x1.8p23f;
      words[i] = ci_float_bits(value);
    }
    CI_N(narrow_1)(y + at, words, count);
  }
}

CI_REGION_FAST static void CI_N(requantize_wide)(uint8_t *y, const int32_t *sums, int64_t n, double factor, double zero,
                                                 double least, double most) {
  for (int64_t i = 0; i < n; i++) {
    const double v = (double)sums[i] * factor, low = v > -0x1p40 ? v : -0x1p40, inside = low < 0x1p40 ? low : 0x1p40;
    const double moved = inside + 0x1.8p52, whole = moved - 0x1.8p52, sum = whole + zero;
    const double above = sum > least ? sum : least;
    y[i] = (uint8_t)(int32_t)(above < most ? above : most);
  }
}

#define CI_MOVE_DEQUANTIZE(T, name)                                                                                   \
  CI_REGION_FAST static void CI_N(dequantize_##name)(float *y, const void *in, const float *scale, const float *zero, \
                                                     int64_t n, bool one) {                                           \
    const T *x = in;                                                                                                  \
    if (one) {                                                                                                        \
      const float by = *scale, from = *zero;                                                                          \
      for (int64_t i = 0; i < n; i++) {                                                                               \
        const float moved = (float)x[i] - from;                                                                       \
        y[i] = moved * by;                                                                                            \
      }                                                                                                               \
    } else {                                                                                                          \
      for (int64_t i = 0; i < n; i++) {                                                                               \
        const float moved = (float)x[i] - zero[i];                                                                    \
        y[i] = moved * scale[i];                                                                                      \
      }                                                                                                               \
    }                                                                                                                 \
  }
CI_MOVE_DEQUANTIZE(int8_t, i8)
CI_MOVE_DEQUANTIZE(uint8_t, u8)
CI_MOVE_DEQUANTIZE(int32_t, i32)
#undef CI_MOVE_DEQUANTIZE

CI_REGION_FAST static void CI_N(dequantize)(float *x, const float *zero, const float *scale, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    const float moved = x[i] - zero[i];
    x[i] = moved * scale[i];
  }
}

#define CI_MOVE_ROW_ENTRY(T, name) {CI_N(row_max_##name), CI_N(row_min_##name), CI_N(row_sum_##name)},
#define CI_MOVE_ENTRY(from, to, F, T, value) {from, to, CI_N(cast_##from##_##to)},
static const struct ci_isa_move CI_N(isa_move) = {
    .casts = {CI_MOVE_CASTS(CI_MOVE_ENTRY)},
    .most_bits = CI_N(most_bits),
    .row = {CI_MOVE_INTEGERS(CI_MOVE_ROW_ENTRY)},
    .choose = {CI_N(choose_uint8_t), CI_N(choose_uint16_t), CI_N(choose_uint32_t), CI_N(choose_uint64_t)},
#if CI_HAS(quantization)
    .quantize_small = CI_N(quantize_small),
    .requantize = CI_N(requantize),
    .requantize_wide = CI_N(requantize_wide),
    .dequantize_integers = {CI_N(dequantize_i8), CI_N(dequantize_u8), CI_N(dequantize_i32)},
    .divide = CI_N(divide),
    .quantize = CI_N(quantize),
    .dequantize = CI_N(dequantize),
#endif
    .one_nan = CI_N(one_nan_double)};
#undef CI_MOVE_ENTRY
#undef CI_MOVE_ROW_ENTRY
