/* vec_turn_x86.h - v_transpose of vec.h for AVX2 and AVX-512. */
enum { CI_N(turned_rows) = 8 };
#define CI_TURN_ROW(i)                                                              \
  _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from + (i) * from_row)), \
                       _mm_loadu_ps(from + ((i) + 4) * from_row), 1)
CI_INLINE void v_transpose(float *to, ptrdiff_t to_row, const float *from, ptrdiff_t from_row) {
  const __m256 a = CI_TURN_ROW(0), b = CI_TURN_ROW(1), c = CI_TURN_ROW(2), d = CI_TURN_ROW(3);
  const __m256 ab = _mm256_unpacklo_ps(a, b), cd = _mm256_unpacklo_ps(c, d);
  const __m256 ab_high = _mm256_unpackhi_ps(a, b), cd_high = _mm256_unpackhi_ps(c, d);
  _mm256_storeu_ps(to, _mm256_shuffle_ps(ab, cd, 0x44));
  _mm256_storeu_ps(to + to_row, _mm256_shuffle_ps(ab, cd, 0xee));
  _mm256_storeu_ps(to + 2 * to_row, _mm256_shuffle_ps(ab_high, cd_high, 0x44));
  _mm256_storeu_ps(to + 3 * to_row, _mm256_shuffle_ps(ab_high, cd_high, 0xee));
}
#undef CI_TURN_ROW
