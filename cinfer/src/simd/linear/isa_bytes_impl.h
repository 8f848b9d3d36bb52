/* isa_bytes_impl.h - the multiplication of isa_bytes.h: included once per instruction set, and again with
 * CI_BYTES_VNNI where the processor multiplies and adds four bytes at once. Else even and odd bytes are widened to 16
 * bits, where multiplying two pairs and adding is exact in 32. */
#if CI_HAS(quantization)
#if defined(CI_VEC_AVX512)
#define CI_B_VECTOR __m512i
#define CI_B_LOAD(p) _mm512_loadu_si512((const void *)(p))
#define CI_B_STORE(p, v) _mm512_storeu_si512((void *)(p), v)
#define CI_B(name) _mm512_##name
#define CI_B_ODD(x) _mm512_srli_epi16(x, 8)
#define CI_B_EVEN(x) _mm512_and_si512(x, _mm512_set1_epi16(255))
#elif defined(CI_VEC_AVX2)
#define CI_B_VECTOR __m256i
#define CI_B_LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define CI_B_STORE(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define CI_B(name) _mm256_##name
#define CI_B_ODD(x) _mm256_srli_epi16(x, 8)
#define CI_B_EVEN(x) _mm256_and_si256(x, _mm256_set1_epi16(255))
#endif

CI_INLINE int32_t CI_N(bytes_four)(const int8_t *w) {
  int32_t four;
  memcpy(&four, w, sizeof four);
  return four;
}

#if defined(CI_B)
enum { CI_N(BYTES_LANES) = sizeof(CI_B_VECTOR) / 4, CI_N(bytes_cols) = 2 * CI_N(BYTES_LANES) };
/* Eight rows by two vectors. */
#define CI_B_ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define CI_B_BEGIN(r)                                  \
  const CI_B_VECTOR add##r = CI_B(set1_epi32)(add[r]); \
  CI_B_VECTOR a##r = CI_B(add_epi32)(start0, add##r), b##r = CI_B(add_epi32)(start1, add##r);
#define CI_B_WRITE(r)                \
  CI_B_STORE(c + (r) * c_row, a##r); \
  CI_B_STORE(c + (r) * c_row + CI_N(BYTES_LANES), b##r);
#if defined(CI_BYTES_VNNI)
#define CI_B_TAKE const CI_B_VECTOR x0 = CI_B_LOAD(x), x1 = CI_B_LOAD(x + 4 * CI_N(BYTES_LANES));
#define CI_B_STEP(r)                                                          \
  {                                                                           \
    const CI_B_VECTOR four = CI_B(set1_epi32)(CI_N(bytes_four)(w + 4 * (r))); \
    a##r = CI_B(dpbusd_epi32)(a##r, x0, four);                                \
    b##r = CI_B(dpbusd_epi32)(b##r, x1, four);                                \
  }
#else
#define CI_B_TAKE                                                                       \
  const CI_B_VECTOR both0 = CI_B_LOAD(x), both1 = CI_B_LOAD(x + 4 * CI_N(BYTES_LANES)); \
  const CI_B_VECTOR x0 = CI_B_EVEN(both0), x1 = CI_B_EVEN(both1), y0 = CI_B_ODD(both0), y1 = CI_B_ODD(both1);
#define CI_B_STEP(r)                                                                                           \
  {                                                                                                            \
    const CI_B_VECTOR four = CI_B(set1_epi32)(CI_N(bytes_four)(w + 4 * (r))), odd = CI_B(srai_epi16)(four, 8); \
    const CI_B_VECTOR even = CI_B(srai_epi16)(CI_B(slli_epi16)(four, 8), 8);                                   \
    a##r = CI_B(add_epi32)(a##r, CI_B(add_epi32)(CI_B(madd_epi16)(x0, even), CI_B(madd_epi16)(y0, odd)));      \
    b##r = CI_B(add_epi32)(b##r, CI_B(add_epi32)(CI_B(madd_epi16)(x1, even), CI_B(madd_epi16)(y1, odd)));      \
  }
#endif

#define CI_B_BLOCK(name, ROWS)                                                                        \
  static void CI_N(name)(const uint8_t *columns, const int8_t *w, const ci_bytes_tile *t, int32_t *c, \
                         const int32_t *start, const int32_t *add) {                                  \
    const ptrdiff_t c_row = t->c_row;                                                                 \
    const CI_B_VECTOR none = CI_B(set1_epi32)(0), start0 = start == NULL ? none : CI_B_LOAD(start),   \
                      start1 = start == NULL ? none : CI_B_LOAD(start + CI_N(BYTES_LANES));           \
    ROWS(CI_B_BEGIN)                                                                                  \
    for (int64_t s = 0; s < t->steps; s++, w += CI_BYTES_ROWS * CI_BYTES_DEPTH) {                     \
      const uint8_t *x = columns + t->step[s];                                                        \
      CI_B_TAKE                                                                                       \
      ROWS(CI_B_STEP)                                                                                 \
    }                                                                                                 \
    ROWS(CI_B_WRITE)                                                                                  \
  }
#define CI_B_ONE(X) X(0)
CI_B_BLOCK(bytes_block, CI_B_ROWS)
CI_B_BLOCK(bytes_row, CI_B_ONE)
#undef CI_B_BLOCK
#undef CI_B_ONE
#undef CI_B_ROWS
#undef CI_B_BEGIN
#undef CI_B_WRITE
#undef CI_B_TAKE
#undef CI_B_STEP
#undef CI_B_LOAD
#undef CI_B_STORE
#undef CI_B_ODD
#undef CI_B_EVEN
#undef CI_B
#undef CI_B_VECTOR
#define CI_BYTES_ROW CI_N(bytes_row)
#else
#define CI_BYTES_ROW CI_N(bytes_block)
enum { CI_N(bytes_cols) = CI_BYTES_COLS };
CI_REGION_FAST static void CI_N(bytes_block)(const uint8_t *columns, const int8_t *w, const ci_bytes_tile *t,
                                             int32_t *c, const int32_t *start, const int32_t *add) {
  uint32_t sum[CI_BYTES_ROWS][CI_BYTES_COLS];
  for (int r = 0; r < CI_BYTES_ROWS; r++) {
    for (int i = 0; i < CI_BYTES_COLS; i++) sum[r][i] = (start == NULL ? 0 : (uint32_t)start[i]) + (uint32_t)add[r];
  }
  for (int64_t s = 0; s < t->steps; s++) {
    const uint8_t *x = columns + t->step[s];
    for (int r = 0; r < CI_BYTES_ROWS; r++, w += CI_BYTES_DEPTH) {
      for (int i = 0; i < CI_BYTES_COLS; i++) {
        const int32_t low = w[0] * x[4 * i] + w[1] * x[4 * i + 1], high = w[2] * x[4 * i + 2] + w[3] * x[4 * i + 3];
        sum[r][i] += (uint32_t)(low + high);
      }
    }
  }
  for (int r = 0; r < CI_BYTES_ROWS; r++) memcpy(c + r * t->c_row, sum[r], sizeof sum[r]);
}
#endif

static void CI_N(bytes_gemm)(const ci_bytes_tile *t) {
  static const int32_t none[CI_BYTES_ROWS] = {0};
  const int64_t block = t->steps * CI_BYTES_ROWS * CI_BYTES_DEPTH;
  const ptrdiff_t packed_tile_step = t->packed_tile_step == 0 ? CI_BYTES_COLS * CI_BYTES_DEPTH : t->packed_tile_step;
  for (int64_t n = 0; n < t->cols; n += CI_N(bytes_cols)) {
    const uint8_t *x = t->x + n / CI_BYTES_COLS * packed_tile_step + n % CI_BYTES_COLS * CI_BYTES_DEPTH;
    const int8_t *w = t->w;
    for (int64_t r = 0; r < t->rows; r += CI_BYTES_ROWS, w += block)
      (t->one ? CI_BYTES_ROW : CI_N(bytes_block))(
          x, w, t, t->c + r * t->c_row + n, t->start == NULL ? NULL : t->start + n, t->add == NULL ? none : t->add + r);
  }
}
#undef CI_BYTES_ROW
static const struct ci_isa_bytes CI_N(isa_bytes) = {CI_N(bytes_gemm)};
#endif
