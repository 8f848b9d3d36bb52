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

CI_REGION_FAST static void CI_N(divide)(float *x, const float *by, int64_t n) {
  for (int64_t i = 0; i < n; i++) x[i] = x[i] / by[i];
}

/* Beyond 2^20 the sum is beyond the limits, below it everything is exact. */
CI_REGION_FAST static void CI_N(quantize)(int32_t *y, const float *x, const float *zero, int64_t n, float least,
                                          float most) {
  for (int64_t i = 0; i < n; i++) {
    const float v = x[i], low = v > -0x1p20f ? v : -0x1p20f, inside = low < 0x1p20f ? low : 0x1p20f;
    const float moved = inside + 0x1.8p23f, whole = moved - 0x1.8p23f;
    const float sum = (v == v ? whole : 0.0f) + zero[i], above = sum > least ? sum : least;
    y[i] = (int32_t)(above < most ? above : most);
  }
}

CI_REGION_FAST static void CI_N(dequantize)(float *x, const float *zero, const float *scale, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    const float moved = x[i] - zero[i];
    x[i] = moved * scale[i];
  }
}

#define CI_MOVE_ENTRY(from, to, F, T, value) {from, to, CI_N(cast_##from##_##to)},
static const struct ci_isa_move CI_N(isa_move) = {.casts = {CI_MOVE_CASTS(CI_MOVE_ENTRY)},
                                                  
#if CI_HAS(quantization)
                                                  .divide = CI_N(divide),
                                                  .quantize = CI_N(quantize),
                                                  .dequantize = CI_N(dequantize),
#endif
                                                  .one_nan = CI_N(one_nan_double)};
#undef CI_MOVE_ENTRY
