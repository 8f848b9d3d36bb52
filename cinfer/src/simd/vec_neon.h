/* vec_neon.h - vec.h over the vector instructions of aarch64, 4 lanes. max and min are compare and select: the
 * instructions of that name treat NaN and zeros otherwise. */
typedef float32x4_t vf;
typedef int32x4_t vi;
typedef uint32x4_t vm;

typedef struct {
  float64x2_t low, high;
} vd;
CI_INLINE vd vd_zero(void) { return (vd){vdupq_n_f64(0.0), vdupq_n_f64(0.0)}; }
CI_INLINE vd vd_add(vd a, vf b) {
  a.low = vaddq_f64(a.low, vcvt_f64_f32(vget_low_f32(b)));
  a.high = vaddq_f64(a.high, vcvt_high_f64_f32(b));
  return a;
}
CI_INLINE void vd_store(double *p, vd v) {
  vst1q_f64(p, v.low);
  vst1q_f64(p + 2, v.high);
}

CI_INLINE vf v_load(const float *p) { return vld1q_f32(p); }
CI_INLINE void v_store(float *p, vf v) { vst1q_f32(p, v); }
CI_INLINE vf v_set(float x) { return vdupq_n_f32(x); }
CI_INLINE vf v_add(vf a, vf b) { return vaddq_f32(a, b); }
CI_INLINE vf v_sub(vf a, vf b) { return vsubq_f32(a, b); }
CI_INLINE vf v_mul(vf a, vf b) { return vmulq_f32(a, b); }
CI_INLINE vf v_div(vf a, vf b) { return vdivq_f32(a, b); }
CI_INLINE vf v_sqrt(vf a) { return vsqrtq_f32(a); }
CI_INLINE vf v_fma(vf a, vf b, vf c) { return vfmaq_f32(c, a, b); }
CI_INLINE vf v_nfma(vf a, vf b, vf c) { return vfmsq_f32(c, a, b); }
CI_INLINE vm v_gt(vf a, vf b) { return vcgtq_f32(a, b); }
CI_INLINE vm v_ge(vf a, vf b) { return vcgeq_f32(a, b); }
CI_INLINE vm v_eq(vf a, vf b) { return vceqq_f32(a, b); }
CI_INLINE vm v_is_nan(vf a) { return vmvnq_u32(vceqq_f32(a, a)); }
CI_INLINE int v_leading(vm m) {
  const uint64_t lanes = ~vget_lane_u64(vreinterpret_u64_u16(vmovn_u32(m)), 0);
  return lanes == 0 ? 4 : __builtin_ctzll(lanes) / 16;
}
CI_INLINE vf v_select(vm m, vf a, vf b) { return vbslq_f32(m, a, b); }
CI_INLINE vf v_max(vf a, vf b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
CI_INLINE vf v_min(vf a, vf b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
CI_INLINE vi v_bits(vf a) { return vreinterpretq_s32_f32(a); }
CI_INLINE vf v_from_bits(vi a) { return vreinterpretq_f32_s32(a); }
CI_INLINE vi vi_set(int32_t x) { return vdupq_n_s32(x); }
CI_INLINE vi vi_add(vi a, vi b) { return vaddq_s32(a, b); }
CI_INLINE vi vi_sub(vi a, vi b) { return vsubq_s32(a, b); }
CI_INLINE vi vi_and(vi a, vi b) { return vandq_s32(a, b); }
CI_INLINE vi vi_or(vi a, vi b) { return vorrq_s32(a, b); }
CI_INLINE vi vi_xor(vi a, vi b) { return veorq_s32(a, b); }
CI_INLINE vi vi_merge(vi m, vi a, vi b) { return vbslq_s32(vreinterpretq_u32_s32(m), a, b); }
CI_INLINE vi vi_shl(vi a, int n) { return vshlq_s32(a, vdupq_n_s32(n)); }
CI_INLINE vi vi_sra(vi a, int n) { return vshlq_s32(a, vdupq_n_s32(-n)); }
CI_INLINE vf vi_to_float(vi a) { return vcvtq_f32_s32(a); }
CI_INLINE vf v_load_part(const float *p, int n, float fill) {
  float lane[4] = {fill, fill, fill, fill};
  for (int i = 0; i < n; i++) lane[i] = p[i];
  return vld1q_f32(lane);
}
CI_INLINE void v_store_part(float *p, int n, vf v) {
  float lane[4];
  vst1q_f32(lane, v);
  for (int i = 0; i < n; i++) p[i] = lane[i];
}
CI_INLINE float v_sum_tree(vf a) {
  const float32x2_t two = vadd_f32(vget_low_f32(a), vget_high_f32(a));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}
#define CI_NEON_TREE(before)                                        \
  const float32x2_t low = vget_low_f32(a), high = vget_high_f32(a); \
  const float32x2_t two = vbsl_f32(before(low, high), low, high);   \
  const float32x2_t reversed = vrev64_f32(two);                     \
  return vget_lane_f32(vbsl_f32(before(two, reversed), two, reversed), 0);
CI_INLINE float v_max_tree(vf a){CI_NEON_TREE(vcgt_f32)} CI_INLINE float v_min_tree(vf a){CI_NEON_TREE(vclt_f32)}
#undef CI_NEON_TREE
CI_INLINE vf v_even(vf a, vf b) {
  return vuzp1q_f32(a, vextq_f32(b, b, 1));
}
CI_INLINE vf v_behind(vf a) { return vextq_f32(vdupq_n_f32(0.0f), a, 3); }
CI_INLINE void v_turn(vf *v) {
  const float32x4x2_t low = vtrnq_f32(v[0], v[1]), high = vtrnq_f32(v[2], v[3]);
  v[0] = vcombine_f32(vget_low_f32(low.val[0]), vget_low_f32(high.val[0]));
  v[1] = vcombine_f32(vget_low_f32(low.val[1]), vget_low_f32(high.val[1]));
  v[2] = vcombine_f32(vget_high_f32(low.val[0]), vget_high_f32(high.val[0]));
  v[3] = vcombine_f32(vget_high_f32(low.val[1]), vget_high_f32(high.val[1]));
}
