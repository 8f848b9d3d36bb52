/* vec_bytes_x86.h - squares of 16 x 16 bytes, for vec_avx2.h and vec_avx512.h. */
#define CI_SQUARES 1
#define CI_SIXTEEN(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)

/* Number 2i of the result begins with the first byte of row i, then that of row i + 8: after four times the first bytes
 * of all rows are side by side. */
CI_INLINE void CI_N(v_shuffle_rows)(__m128i *to, const __m128i *from) {
#define CI_ROWS(i) \
  to[2 * i] = _mm_unpacklo_epi8(from[i], from[i + 8]), to[2 * i + 1] = _mm_unpackhi_epi8(from[i], from[i + 8]);
  CI_ROWS(0)
  CI_ROWS(1) CI_ROWS(2) CI_ROWS(3) CI_ROWS(4) CI_ROWS(5) CI_ROWS(6) CI_ROWS(7)
#undef CI_ROWS
}

CI_INLINE void v_turn_bytes(char *to, ptrdiff_t to_row, const char *from, ptrdiff_t from_row) {
  __m128i a[16], b[16];
#define CI_TAKE(i) a[i] = _mm_loadu_si128((const __m128i *)(const void *)(from + i * from_row));
#define CI_GIVE(i) _mm_storeu_si128((__m128i *)(void *)(to + i * to_row), a[i]);
  CI_SIXTEEN(CI_TAKE)
  CI_N(v_shuffle_rows)(b, a);
  CI_N(v_shuffle_rows)(a, b);
  CI_N(v_shuffle_rows)(b, a);
  CI_N(v_shuffle_rows)(a, b);
  CI_SIXTEEN(CI_GIVE)
#undef CI_TAKE
#undef CI_GIVE
}
#undef CI_SIXTEEN
