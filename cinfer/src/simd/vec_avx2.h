/* vec_avx2.h - vec.h over AVX2 and FMA, 8 lanes. */
typedef __m256 vf;
typedef __m256i vi;
typedef __m256 vm;

/* 8 - n words in, a mask of which the first n lanes are set. */
static const int32_t CI_N(part_masks)[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};

typedef struct {
  __m256d low, high;
} vd;
CI_INLINE vd vd_zero(void) { return (vd){_mm256_setzero_pd(), _mm256_setzero_pd()}; }
CI_INLINE vd vd_add(vd a, vf b) {
  a.low = _mm256_add_pd(a.low, _mm256_cvtps_pd(_mm256_castps256_ps128(b)));
  a.high = _mm256_add_pd(a.high, _mm256_cvtps_pd(_mm256_extractf128_ps(b, 1)));
  return a;
}
CI_INLINE void vd_store(double *p, vd v) {
  _mm256_storeu_pd(p, v.low);
  _mm256_storeu_pd(p + 4, v.high);
}

#define CI_HALVES 1
CI_INLINE vf v_load_half(const uint16_t *p) {
  return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}
CI_INLINE void v_store_half(uint16_t *p, vf v) {
  _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}

#define CI_DOUBLES 1
CI_INLINE vd vd_of(vf v) {
  return (vd){_mm256_cvtps_pd(_mm256_castps256_ps128(v)), _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1))};
}
CI_INLINE vd vd_load(const double *p) { return (vd){_mm256_loadu_pd(p), _mm256_loadu_pd(p + 4)}; }
CI_INLINE vd vd_set(double x) { return (vd){_mm256_set1_pd(x), _mm256_set1_pd(x)}; }
CI_INLINE vd vd_plus(vd a, vd b) { return (vd){_mm256_add_pd(a.low, b.low), _mm256_add_pd(a.high, b.high)}; }
CI_INLINE vd vd_times(vd a, vd b) { return (vd){_mm256_mul_pd(a.low, b.low), _mm256_mul_pd(a.high, b.high)}; }
CI_INLINE vd vd_over(vd a, vd b) { return (vd){_mm256_div_pd(a.low, b.low), _mm256_div_pd(a.high, b.high)}; }
/* inverse is the reciprocal, rounded: near is wrong by less than two of its last bits, the first fma finds the
 * difference without an error, and no quotient is so near the middle of two doubles that the second one rounded it to
 * the wrong side. Infinities have no rest. */
CI_INLINE __m256d CI_N(vd_half_by)(__m256d a, __m256d whole, __m256d inverse) {
  const __m256d near = _mm256_mul_pd(a, inverse), rest = _mm256_fnmadd_pd(near, whole, a);
  return _mm256_blendv_pd(_mm256_fmadd_pd(rest, inverse, near), near, _mm256_cmp_pd(rest, rest, _CMP_UNORD_Q));
}
CI_INLINE vd vd_by(vd a, vd whole, vd inverse) {
  return (vd){CI_N(vd_half_by)(a.low, whole.low, inverse.low), CI_N(vd_half_by)(a.high, whole.high, inverse.high)};
}
CI_INLINE vf v_of_doubles(vd v) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(v.low)), _mm256_cvtpd_ps(v.high), 1);
}

#define CI_LOW_BYTES 1
CI_INLINE void v_store_low_bytes(uint8_t *p, vf v) {
  const __m256i lowest = _mm256_set_epi32(-1, -1, -1, 0x0c080400, -1, -1, -1, 0x0c080400);
  const __m256i fours = _mm256_shuffle_epi8(_mm256_castps_si256(v), lowest);
  const __m128i all = _mm_unpacklo_epi32(_mm256_castsi256_si128(fours), _mm256_extracti128_si256(fours, 1));
  _mm_storel_epi64((__m128i *)(void *)p, all);
}

#include "vec_bytes_x86.h"

CI_INLINE vf v_load(const float *p) { return _mm256_loadu_ps(p); }
CI_INLINE void v_store(float *p, vf v) { _mm256_storeu_ps(p, v); }
CI_INLINE vf v_set(float x) { return _mm256_set1_ps(x); }
CI_INLINE vf v_add(vf a, vf b) { return _mm256_add_ps(a, b); }
CI_INLINE vf v_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
CI_INLINE vf v_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
CI_INLINE vf v_div(vf a, vf b) { return _mm256_div_ps(a, b); }
CI_INLINE vf v_sqrt(vf a) { return _mm256_sqrt_ps(a); }
CI_INLINE vf v_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
CI_INLINE vf v_nfma(vf a, vf b, vf c) { return _mm256_fnmadd_ps(a, b, c); }
CI_INLINE vf v_max(vf a, vf b) { return _mm256_max_ps(a, b); }
CI_INLINE vf v_min(vf a, vf b) { return _mm256_min_ps(a, b); }
CI_INLINE vm v_gt(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_GT_OQ); }
CI_INLINE vm v_ge(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_GE_OQ); }
CI_INLINE vm v_eq(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
CI_INLINE vm v_is_nan(vf a) { return _mm256_cmp_ps(a, a, _CMP_UNORD_Q); }
CI_INLINE int v_leading(vm m) { return __builtin_ctz(~(unsigned)_mm256_movemask_ps(m)); }
CI_INLINE vf v_select(vm m, vf a, vf b) { return _mm256_blendv_ps(b, a, m); }
CI_INLINE vi v_bits(vf a) { return _mm256_castps_si256(a); }
CI_INLINE vf v_from_bits(vi a) { return _mm256_castsi256_ps(a); }
CI_INLINE vi vi_set(int32_t x) { return _mm256_set1_epi32(x); }
CI_INLINE vi vi_add(vi a, vi b) { return _mm256_add_epi32(a, b); }
CI_INLINE vi vi_sub(vi a, vi b) { return _mm256_sub_epi32(a, b); }
CI_INLINE vi vi_and(vi a, vi b) { return _mm256_and_si256(a, b); }
CI_INLINE vi vi_or(vi a, vi b) { return _mm256_or_si256(a, b); }
CI_INLINE vi vi_xor(vi a, vi b) { return _mm256_xor_si256(a, b); }
CI_INLINE vi vi_merge(vi m, vi a, vi b) { return _mm256_or_si256(_mm256_and_si256(m, a), _mm256_andnot_si256(m, b)); }
CI_INLINE vi vi_shl(vi a, int n) { return _mm256_slli_epi32(a, n); }
CI_INLINE vi vi_sra(vi a, int n) { return _mm256_srai_epi32(a, n); }
CI_INLINE vf vi_to_float(vi a) { return _mm256_cvtepi32_ps(a); }
CI_INLINE vi CI_N(v_part_mask)(int n) {
  return _mm256_loadu_si256((const __m256i *)(const void *)(CI_N(part_masks) + 8 - n));
}
CI_INLINE vf v_load_part(const float *p, int n, float fill) {
  const vi mask = CI_N(v_part_mask)(n);
  return v_select(v_from_bits(mask), _mm256_maskload_ps(p, mask), _mm256_set1_ps(fill));
}
CI_INLINE void v_store_part(float *p, int n, vf v) { _mm256_maskstore_ps(p, CI_N(v_part_mask)(n), v); }

#define CI_AVX2_TREE(op)                                                                     \
  const __m128 four = _mm_##op##_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1)); \
  const __m128 two = _mm_##op##_ps(four, _mm_movehl_ps(four, four));                         \
  return _mm_cvtss_f32(_mm_##op##_ss(two, _mm_shuffle_ps(two, two, 1)));
CI_INLINE float v_sum_tree(vf a){CI_AVX2_TREE(add)} CI_INLINE float v_max_tree(vf a){CI_AVX2_TREE(max)} CI_INLINE
    float v_min_tree(vf a){CI_AVX2_TREE(min)}
#undef CI_AVX2_TREE

CI_INLINE vf v_even(vf a, vf b) {
  const __m256d both = _mm256_castps_pd(_mm256_shuffle_ps(a, b, 0xd8));
  return _mm256_castpd_ps(_mm256_permute4x64_pd(both, 0xd8));
}

CI_INLINE vf v_behind(vf a) {
  const vf reversed = _mm256_permutevar8x32_ps(a, _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6));
  return _mm256_blend_ps(reversed, _mm256_setzero_ps(), 1);
}

/* Pairs, then pairs of pairs, then halves. */
CI_INLINE void v_turn(vf *v) {
#define CI_PAIR(i) \
  const vf a##i = _mm256_unpacklo_ps(v[2 * i], v[2 * i + 1]), b##i = _mm256_unpackhi_ps(v[2 * i], v[2 * i + 1]);
#define CI_FOUR(name, i, j)                                                                              \
  const vf name##0 = _mm256_shuffle_ps(a##i, a##j, 0x44), name##1 = _mm256_shuffle_ps(a##i, a##j, 0xee), \
           name##2 = _mm256_shuffle_ps(b##i, b##j, 0x44), name##3 = _mm256_shuffle_ps(b##i, b##j, 0xee);
#define CI_EIGHT(i) \
  v[i] = _mm256_permute2f128_ps(c##i, d##i, 0x20), v[i + 4] = _mm256_permute2f128_ps(c##i, d##i, 0x31);
  CI_PAIR(0)
  CI_PAIR(1) CI_PAIR(2) CI_PAIR(3) CI_FOUR(c, 0, 1) CI_FOUR(d, 2, 3) CI_EIGHT(0) CI_EIGHT(1) CI_EIGHT(2) CI_EIGHT(3)
#undef CI_PAIR
#undef CI_FOUR
#undef CI_EIGHT
}
