/* isa_move_impl.h - the loops of isa_move.h: included once per instruction set. */
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
#if CI_HALVES
/* The same bits, all but those of NaN, which is put right in float32. */
CI_INLINE vf CI_N(half_nan)(vf v) { return v_select(v_is_nan(v), v_from_bits(vi_set(0x7fc00000)), v); }

static void CI_N(cast_CI_FLOAT_CI_FLOAT16)(void *out, const void *in, int64_t n) {
  const int64_t whole = n / CI_VL * CI_VL;
  uint16_t last[CI_VL], *y = out;
  const float *x = in;
  for (int64_t i = 0; i < whole; i += CI_VL) v_store_half(y + i, CI_N(half_nan)(v_load(x + i)));
  v_store_half(last, CI_N(half_nan)(v_load_part(x + whole, (int)(n - whole), 0.0f)));
  for (int64_t i = whole; i < n; i++) y[i] = last[i - whole];
}
static void CI_N(cast_CI_FLOAT16_CI_FLOAT)(void *out, const void *in, int64_t n) {
  const int64_t whole = n / CI_VL * CI_VL;
  uint16_t last[CI_VL] = {0};
  const uint16_t *x = in;
  float *y = out;
  for (int64_t i = 0; i < whole; i += CI_VL) v_store(y + i, CI_N(half_nan)(v_load_half(x + i)));
  for (int64_t i = whole; i < n; i++) last[i - whole] = x[i];
  v_store_part(y + whole, (int)(n - whole), CI_N(half_nan)(v_load_half(last)));
}
#else
CI_MOVE_HALF_CASTS(CI_MOVE_CAST)
#endif
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

CI_INLINE int64_t CI_N(beyond_blocks)(const float *x, int64_t n, float limit, const bool above) {
  const vf most = v_set(limit);
  int64_t i = 0;
  for (; i + CI_VL <= n; i += CI_VL) {
    const vf v = v_load(x + i);
    const int within = v_leading(above ? v_ge(most, v) : v_ge(v, most));
    if (within < CI_VL) return i + within;
  }
  while (i < n && (above ? x[i] <= limit : x[i] >= limit)) i++;
  return i;
}
static int64_t CI_N(beyond)(const float *x, int64_t n, float limit, bool above) {
  return above ? CI_N(beyond_blocks)(x, n, limit, true) : CI_N(beyond_blocks)(x, n, limit, false);
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

/* ---- bytes ---- */

#if CI_VL >= 4
typedef vf CI_N(block);
#else
typedef struct {
  uint64_t words[2];
} CI_N(block);
#endif

/* The last block of a run overlaps the one before it. */
#define CI_MOVE_RUNS(T)                                         \
  for (; n > 0; n--, to += to_step, from += from_step) {        \
    T one;                                                      \
    for (size_t i = 0; i + sizeof(T) < bytes; i += sizeof(T)) { \
      memcpy(&one, from + i, sizeof(T));                        \
      memcpy(to + i, &one, sizeof(T));                          \
    }                                                           \
    memcpy(&one, from + bytes - sizeof(T), sizeof(T));          \
    memcpy(to + bytes - sizeof(T), &one, sizeof(T));            \
  }
enum { CI_N(LONG_RUN) = 512 }; /* bytes from which a call pays */

static void CI_N(runs)(char *to, ptrdiff_t to_step, const char *from, ptrdiff_t from_step, int64_t n, size_t bytes) {
  typedef struct {
    uint64_t words[2];
  } sixteen;
  if (bytes > CI_N(LONG_RUN) || bytes < 4) {
    for (; n > 0; n--, to += to_step, from += from_step) memcpy(to, from, bytes);
  } else if (bytes >= sizeof(CI_N(block))) {
    CI_MOVE_RUNS(CI_N(block))
  } else if (bytes >= sizeof(sixteen)) {
    CI_MOVE_RUNS(sixteen)
  } else if (bytes >= 8) {
    CI_MOVE_RUNS(uint64_t)
  } else {
    CI_MOVE_RUNS(uint32_t)
  }
}
#undef CI_MOVE_RUNS

#if CI_SQUARES
/* Lines of the result are filled up before the next ones are begun. */
static void CI_N(turn_bytes)(char *to, ptrdiff_t to_row, const char *from, ptrdiff_t from_row, int64_t rows,
                             int64_t cols) {
  enum { line = 64 };
  for (int64_t block = 0; block < rows; block += line) {
    const int64_t end = rows - block < line ? rows : block + line;
    for (int64_t c = 0; c < cols; c += CI_MOVE_SQUARE) {
      for (int64_t r = block; r < end; r += CI_MOVE_SQUARE)
        v_turn_bytes(to + c * to_row + r, to_row, from + r * from_row + c, from_row);
    }
  }
}
#endif

static void CI_N(fill_bytes)(char *to, const char *sixteen, size_t bytes) {
  CI_N(block) one;
  for (size_t i = 0; i < sizeof one; i += 16) memcpy((char *)&one + i, sixteen, 16);
  for (size_t i = 0; i + sizeof one < bytes; i += sizeof one) memcpy(to + i, &one, sizeof one);
  memcpy(to + bytes - sizeof one, &one, sizeof one);
}

CI_REGION_FAST static void CI_N(twice)(void *to, const void *from, int64_t n) {
  const uint32_t *x = from;
  uint32_t *y = to;
  for (int64_t i = 0; i < n; i++) y[2 * i] = x[i], y[2 * i + 1] = x[i];
}

/* A value that is loaded anyway needs no branch. */
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

/* Integers of less than 23 bits are in the low bits of their sums with 1.5 * 2^23. The limits are integers, so it does
 * not matter whether they come before rounding. */
CI_INLINE vf CI_N(quantized_bits)(vf v, vf zero, vf least, vf most) {
  const vf number = v_select(v_is_nan(v), v_set(0.0f), v);
  const vf inside = v_min(v_max(number, v_sub(least, zero)), v_sub(most, zero));
  return v_add(v_add(inside, v_set(0x1.8p23f)), zero);
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
  int64_t at = 0;
#if CI_LOW_BYTES
  for (; item == 1 && at + CI_VL <= n; at += CI_VL) {
    const vf s = one ? by : v_load(scale + at), z = one ? from : v_load(zero + at);
    v_store_low_bytes((uint8_t *)y + at, CI_N(quantized_bits)(v_div(v_load(x + at), s), z, low, high));
  }
#endif
  for (; at < n; at += CI_N(QUANTIZE_PIECE)) {
    const int64_t count = n - at < CI_N(QUANTIZE_PIECE) ? n - at : CI_N(QUANTIZE_PIECE);
    for (int64_t i = 0; i < count; i += CI_VL) {
      const int part = count - i < CI_VL ? (int)(count - i) : CI_VL;
      const bool full = part == CI_VL;
      const vf v = full ? v_load(x + at + i) : v_load_part(x + at + i, part, 0.0f);
      const vf s = one ? by : full ? v_load(scale + at + i) : v_load_part(scale + at + i, part, 1.0f);
      const vf z = one ? from : full ? v_load(zero + at + i) : v_load_part(zero + at + i, part, 0.0f);
      v_store(bits + i, CI_N(quantized_bits)(v_div(v, s), z, low, high));
    }
    memcpy(words, bits, (size_t)count * sizeof *words);
    if (item == 1) CI_N(narrow_1)((uint8_t *)y + at, words, count);
    else CI_N(narrow_2)((uint16_t *)y + at, words, count);
  }
}

CI_REGION_FAST static void CI_N(requantize)(uint8_t *y, const int32_t *sums, int64_t n, int32_t add, float factor,
                                            float zero, float least, float most) {
  uint32_t words[CI_N(QUANTIZE_PIECE)];
  const float low = least - zero, high = most - zero;
  for (int64_t at = 0; at < n; at += CI_N(QUANTIZE_PIECE)) {
    const int64_t count = n - at < CI_N(QUANTIZE_PIECE) ? n - at : CI_N(QUANTIZE_PIECE);
    for (int64_t i = 0; i < count; i++) {
      const float v = (float)(int32_t)((uint32_t)sums[at + i] + (uint32_t)add) * factor;
      const float above = v > low ? v : low, inside = above < high ? above : high, whole = inside + 0x1.8p23f;
      words[i] = ci_float_bits(whole + zero);
    }
    CI_N(narrow_1)(y + at, words, count);
  }
}

CI_REGION_FAST static void CI_N(requantize_wide)(uint8_t *y, const int32_t *sums, int64_t n, const double *factor,
                                                 bool one, double zero, double least, double most) {
  enum { piece = CI_N(QUANTIZE_PIECE) / 2 };
  double factors[piece];
  uint32_t words[piece];
  const double low = least - zero, high = most - zero;
  for (int i = 0; one && i < piece; i++) factors[i] = *factor;
  for (int64_t at = 0; at < n; at += piece) {
    const int64_t count = n - at < piece ? n - at : piece;
    const double *by = one ? factors : factor + at;
    for (int64_t i = 0; i < count; i++) {
      const double v = (double)sums[at + i] * by[i], above = v > low ? v : low, inside = above < high ? above : high;
      const double whole = inside + 0x1.8p52, moved = whole - 0x1.8p52, number = moved + zero;
      words[i] = (uint32_t)(int32_t)number;
    }
    CI_N(narrow_1)(y + at, words, count);
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

#if CI_HAS(signal)
#include "isa_fourier_impl.h"
#endif

#define CI_MOVE_ROW_ENTRY(T, name) {CI_N(row_max_##name), CI_N(row_min_##name), CI_N(row_sum_##name)},
#define CI_MOVE_ENTRY(from, to, F, T, value) {from, to, CI_N(cast_##from##_##to)},
static const struct ci_isa_move CI_N(isa_move) = {
    .casts = {CI_MOVE_HALF_CASTS(CI_MOVE_ENTRY) CI_MOVE_CASTS(CI_MOVE_ENTRY)},
    .most_bits = CI_N(most_bits),
    .beyond = CI_N(beyond),
    .row = {CI_MOVE_INTEGERS(CI_MOVE_ROW_ENTRY)},
    .choose = {CI_N(choose_uint8_t), CI_N(choose_uint16_t), CI_N(choose_uint32_t), CI_N(choose_uint64_t)},
    .runs = CI_N(runs),
    .twice = CI_N(twice),
#if CI_SQUARES
    .turn_bytes = CI_N(turn_bytes),
#endif
    .fill = CI_N(fill_bytes),
#if CI_HAS(signal)
    .fourier_stage = CI_N(fourier_stage),
#endif
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
