/* vec_avx512.h - vec.h over AVX-512 (F, VL, BW, DQ), 16 lanes. */
typedef __m512 vf;
typedef __m512i vi;
typedef __mmask16 vm;

typedef struct {
  __m512d low, high;
} vd;
CI_INLINE vd vd_zero(void) { return (vd){_mm512_setzero_pd(), _mm512_setzero_pd()}; }
CI_INLINE vd vd_add(vd a, vf b) {
  a.low = _mm512_add_pd(a.low, _mm512_cvtps_pd(_mm512_castps512_ps256(b)));
  a.high = _mm512_add_pd(a.high, _mm512_cvtps_pd(_mm512_extractf32x8_ps(b, 1)));
  return a;
}
CI_INLINE void vd_store(double *p, vd v) {
  _mm512_storeu_pd(p, v.low);
  _mm512_storeu_pd(p + 8, v.high);
}

#define CI_HALVES 1
CI_INLINE vf v_load_half(const uint16_t *p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
CI_INLINE void v_store_half(uint16_t *p, vf v) {
  _mm256_storeu_si256((__m256i *)(void *)p, _mm512_maskz_cvtps_ph(0xffff, v, _MM_FROUND_TO_NEAREST_INT));
}

#define CI_DOUBLES 1
CI_INLINE vd vd_of(vf v) {
  return (vd){_mm512_cvtps_pd(_mm512_castps512_ps256(v)), _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1))};
}
CI_INLINE vd vd_load(const double *p) { return (vd){_mm512_loadu_pd(p), _mm512_loadu_pd(p + 8)}; }
CI_INLINE vd vd_set(double x) { return (vd){_mm512_set1_pd(x), _mm512_set1_pd(x)}; }
CI_INLINE vd vd_plus(vd a, vd b) { return (vd){_mm512_add_pd(a.low, b.low), _mm512_add_pd(a.high, b.high)}; }
CI_INLINE vd vd_times(vd a, vd b) { return (vd){_mm512_mul_pd(a.low, b.low), _mm512_mul_pd(a.high, b.high)}; }
CI_INLINE vd vd_over(vd a, vd b) { return (vd){_mm512_div_pd(a.low, b.low), _mm512_div_pd(a.high, b.high)}; }
/* inverse is the reciprocal, rounded: near is wrong by less than two of its last bits, the first fma finds the
 * difference without an error, and no quotient is so near the middle of two doubles that the second one rounded it to
 * the wrong side. Infinities have no rest. */
CI_INLINE __m512d CI_N(vd_half_by)(__m512d a, __m512d whole, __m512d inverse) {
  const __m512d near = _mm512_mul_pd(a, inverse), rest = _mm512_fnmadd_pd(near, whole, a);
  return _mm512_mask3_fmadd_pd(rest, inverse, near, _mm512_cmp_pd_mask(rest, rest, _CMP_ORD_Q));
}
CI_INLINE vd vd_by(vd a, vd whole, vd inverse) {
  return (vd){CI_N(vd_half_by)(a.low, whole.low, inverse.low), CI_N(vd_half_by)(a.high, whole.high, inverse.high)};
}
CI_INLINE vf v_of_doubles(vd v) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(v.low)), _mm512_cvtpd_ps(v.high), 1);
}

#define CI_LOW_BYTES 1
CI_INLINE void v_store_low_bytes(uint8_t *p, vf v) {
  _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8(_mm512_castps_si512(v)));
}

#include "vec_bytes_x86.h"

CI_INLINE vf v_load(const float *p) { return _mm512_loadu_ps(p); }
CI_INLINE void v_store(float *p, vf v) { _mm512_storeu_ps(p, v); }
CI_INLINE vf v_set(float x) { return _mm512_set1_ps(x); }
CI_INLINE vf v_add(vf a, vf b) { return _mm512_add_ps(a, b); }
CI_INLINE vf v_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
CI_INLINE vf v_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
CI_INLINE vf v_div(vf a, vf b) { return _mm512_div_ps(a, b); }
CI_INLINE vf v_sqrt(vf a) { return _mm512_sqrt_ps(a); }
CI_INLINE vf v_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
CI_INLINE vf v_nfma(vf a, vf b, vf c) { return _mm512_fnmadd_ps(a, b, c); }
CI_INLINE vf v_max(vf a, vf b) { return _mm512_max_ps(a, b); }
CI_INLINE vf v_min(vf a, vf b) { return _mm512_min_ps(a, b); }
CI_INLINE vm v_gt(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
CI_INLINE vm v_ge(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
CI_INLINE vm v_eq(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
CI_INLINE vm v_is_nan(vf a) { return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q); }
CI_INLINE int v_leading(vm m) { return __builtin_ctz(~(unsigned)m); }
CI_INLINE vf v_select(vm m, vf a, vf b) { return _mm512_mask_blend_ps(m, b, a); }
CI_INLINE vi v_bits(vf a) { return _mm512_castps_si512(a); }
CI_INLINE vf v_from_bits(vi a) { return _mm512_castsi512_ps(a); }
CI_INLINE vi vi_set(int32_t x) { return _mm512_set1_epi32(x); }
CI_INLINE vi vi_sub(vi a, vi b) { return _mm512_sub_epi32(a, b); }
CI_INLINE vi vi_and(vi a, vi b) { return _mm512_and_si512(a, b); }
CI_INLINE vi vi_or(vi a, vi b) { return _mm512_or_si512(a, b); }
CI_INLINE vi vi_xor(vi a, vi b) { return _mm512_xor_si512(a, b); }
CI_INLINE vi vi_merge(vi m, vi a, vi b) { return _mm512_ternarylogic_epi32(m, a, b, 0xca); }
CI_INLINE vi vi_sra(vi a, int n) { return _mm512_srai_epi32(a, (unsigned)n); }
CI_INLINE vf vi_to_float(vi a) { return _mm512_cvtepi32_ps(a); }
CI_INLINE vf v_scale(vf p, vf n, vi whole) {
  (void)whole;
  return _mm512_scalef_ps(p, n);
}
CI_INLINE vf v_load_part(const float *p, int n, float fill) {
  return _mm512_mask_loadu_ps(_mm512_set1_ps(fill), (__mmask16)((1u << n) - 1u), p);
}
CI_INLINE void v_store_part(float *p, int n, vf v) { _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1u), v); }

#define CI_QUADS 4
CI_INLINE vf v_quads_of(const float *p) {
  const __m512i each = _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0);
  return _mm512_permutevar_ps(_mm512_broadcast_f32x4(_mm_loadu_ps(p)), each);
}
CI_INLINE vf v_quad(const float *p) { return _mm512_broadcast_f32x4(_mm_loadu_ps(p)); }
#define CI_AVX512_PAIR(a, b) _mm256_insertf128_ps(_mm256_castps128_ps256(a), b, 1)
#define CI_AVX512_FEW(p) _mm_maskz_loadu_ps((__mmask8)((1u << n) - 1u), p)
CI_INLINE vf v_quads(const float *p, ptrdiff_t row) {
  const __m256 high = CI_AVX512_PAIR(_mm_loadu_ps(p + 2 * row), _mm_loadu_ps(p + 3 * row));
  return _mm512_insertf32x8(_mm512_castps256_ps512(CI_AVX512_PAIR(_mm_loadu_ps(p), _mm_loadu_ps(p + row))), high, 1);
}
CI_INLINE vf v_quads_part(const float *p, ptrdiff_t row, int n) {
  const __m256 high = CI_AVX512_PAIR(CI_AVX512_FEW(p + 2 * row), CI_AVX512_FEW(p + 3 * row));
  return _mm512_insertf32x8(_mm512_castps256_ps512(CI_AVX512_PAIR(CI_AVX512_FEW(p), CI_AVX512_FEW(p + row))), high, 1);
}
/* Full vectors with a mask: of a quarter's store, compilers make an instruction that faults beyond the mask. */
CI_INLINE void v_quads_store(float *p, ptrdiff_t row, int n, vf v) {
  const __mmask16 some = (__mmask16)((1u << n) - 1u);
  _mm512_mask_storeu_ps(p, some, v);
  _mm512_mask_storeu_ps(p + row, some, _mm512_shuffle_f32x4(v, v, 1));
  _mm512_mask_storeu_ps(p + 2 * row, some, _mm512_shuffle_f32x4(v, v, 2));
  _mm512_mask_storeu_ps(p + 3 * row, some, _mm512_shuffle_f32x4(v, v, 3));
}
#define v_pick(v, i) _mm512_permute_ps(v, (i) * 0x55)
#undef CI_AVX512_PAIR
#undef CI_AVX512_FEW

/* 16 lanes to 4, then to 1; the names of the last three steps are those of 128-bit registers. */
#define CI_AVX512_TREE(op)                                                                           \
  const __m256 eight = _mm256_##op##_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));    \
  const __m128 four = _mm_##op##_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1)); \
  const __m128 two = _mm_##op##_ps(four, _mm_movehl_ps(four, four));                                 \
  return _mm_cvtss_f32(_mm_##op##_ss(two, _mm_shuffle_ps(two, two, 1)));
CI_INLINE float v_sum_tree(vf a){CI_AVX512_TREE(add)} CI_INLINE float v_max_tree(vf a){CI_AVX512_TREE(max)} CI_INLINE
    float v_min_tree(vf a){CI_AVX512_TREE(min)}
#undef CI_AVX512_TREE

CI_INLINE vf v_even(vf a, vf b) {
  const vi lanes = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31);
  return _mm512_permutex2var_ps(a, lanes, b);
}

CI_INLINE vf v_behind(vf a) { return v_from_bits(_mm512_alignr_epi32(v_bits(a), _mm512_setzero_si512(), CI_VL - 1)); }

/* Pairs, then pairs of pairs, then quarters: a quarter has lanes 4 apart, of four vectors. */
CI_INLINE void v_turn(vf *v) {
#define CI_PAIR(i) \
  const vf a##i = _mm512_unpacklo_ps(v[2 * i], v[2 * i + 1]), b##i = _mm512_unpackhi_ps(v[2 * i], v[2 * i + 1]);
#define CI_FOUR(name, i, j)                                                                              \
  const vf name##0 = _mm512_shuffle_ps(a##i, a##j, 0x44), name##1 = _mm512_shuffle_ps(a##i, a##j, 0xee), \
           name##2 = _mm512_shuffle_ps(b##i, b##j, 0x44), name##3 = _mm512_shuffle_ps(b##i, b##j, 0xee);
#define CI_SIXTEEN(i)                                                                                      \
  {                                                                                                        \
    const vf low = _mm512_shuffle_f32x4(c##i, d##i, 0x88), high = _mm512_shuffle_f32x4(c##i, d##i, 0xdd);  \
    const vf more = _mm512_shuffle_f32x4(e##i, f##i, 0x88), most = _mm512_shuffle_f32x4(e##i, f##i, 0xdd); \
    v[i] = _mm512_shuffle_f32x4(low, more, 0x88), v[i + 8] = _mm512_shuffle_f32x4(low, more, 0xdd);        \
    v[i + 4] = _mm512_shuffle_f32x4(high, most, 0x88), v[i + 12] = _mm512_shuffle_f32x4(high, most, 0xdd); \
  }
  CI_PAIR(0)
  CI_PAIR(1)
  CI_PAIR(2)
  CI_PAIR(3)
  CI_PAIR(4)
  CI_PAIR(5)
  CI_PAIR(6)
  CI_PAIR(7)
  CI_FOUR(c, 0, 1)
  CI_FOUR(d, 2, 3) CI_FOUR(e, 4, 5) CI_FOUR(f, 6, 7) CI_SIXTEEN(0) CI_SIXTEEN(1) CI_SIXTEEN(2) CI_SIXTEEN(3)
#undef CI_PAIR
#undef CI_FOUR
#undef CI_SIXTEEN
}
