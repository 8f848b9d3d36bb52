/* vec_simd128.h - vec.h over the vector instructions of WebAssembly, 4 lanes. There is no fused multiply-add that is
 * the same on every machine: it is made of doubles. */
typedef v128_t vf;
typedef v128_t vi;
typedef v128_t vm;

typedef struct {
  v128_t low, high;
} vd;
#define v_low_doubles(a) wasm_f64x2_promote_low_f32x4(a)
#define v_high_doubles(a) wasm_f64x2_promote_low_f32x4(wasm_i32x4_shuffle(a, a, 2, 3, 2, 3))
CI_INLINE vd vd_zero(void) { return (vd){wasm_f64x2_splat(0.0), wasm_f64x2_splat(0.0)}; }
CI_INLINE vd vd_add(vd a, vf b) {
  a.low = wasm_f64x2_add(a.low, v_low_doubles(b));
  a.high = wasm_f64x2_add(a.high, v_high_doubles(b));
  return a;
}
CI_INLINE void vd_store(double *p, vd v) {
  wasm_v128_store(p, v.low);
  wasm_v128_store(p + 2, v.high);
}

CI_INLINE vf v_load(const float *p) { return wasm_v128_load(p); }
CI_INLINE void v_store(float *p, vf v) { wasm_v128_store(p, v); }
CI_INLINE vf v_set(float x) { return wasm_f32x4_splat(x); }
CI_INLINE vf v_add(vf a, vf b) { return wasm_f32x4_add(a, b); }
CI_INLINE vf v_sub(vf a, vf b) { return wasm_f32x4_sub(a, b); }
CI_INLINE vf v_mul(vf a, vf b) { return wasm_f32x4_mul(a, b); }
CI_INLINE vf v_div(vf a, vf b) { return wasm_f32x4_div(a, b); }
CI_INLINE vf v_sqrt(vf a) { return wasm_f32x4_sqrt(a); }
CI_INLINE vi v_bits(vf a) { return a; }
CI_INLINE vf v_from_bits(vi a) { return a; }
CI_INLINE vi vi_set(int32_t x) { return wasm_i32x4_splat(x); }
CI_INLINE vi vi_add(vi a, vi b) { return wasm_i32x4_add(a, b); }
CI_INLINE vi vi_sub(vi a, vi b) { return wasm_i32x4_sub(a, b); }
CI_INLINE vi vi_and(vi a, vi b) { return wasm_v128_and(a, b); }
CI_INLINE vi vi_or(vi a, vi b) { return wasm_v128_or(a, b); }
CI_INLINE vi vi_xor(vi a, vi b) { return wasm_v128_xor(a, b); }
CI_INLINE vi vi_merge(vi m, vi a, vi b) { return wasm_v128_bitselect(a, b, m); }
CI_INLINE vi vi_shl(vi a, int n) { return wasm_i32x4_shl(a, (uint32_t)n); }
CI_INLINE vi vi_sra(vi a, int n) { return wasm_i32x4_shr(a, (uint32_t)n); }
CI_INLINE vf vi_to_float(vi a) { return wasm_f32x4_convert_i32x4(a); }
CI_INLINE vm v_gt(vf a, vf b) { return wasm_f32x4_gt(a, b); }
CI_INLINE vm v_ge(vf a, vf b) { return wasm_f32x4_ge(a, b); }
CI_INLINE vm v_eq(vf a, vf b) { return wasm_f32x4_eq(a, b); }
CI_INLINE vm v_is_nan(vf a) { return wasm_f32x4_ne(a, a); }
CI_INLINE int v_leading(vm m) { return __builtin_ctz(~wasm_i32x4_bitmask(m)); }
CI_INLINE vf v_select(vm m, vf a, vf b) { return wasm_v128_bitselect(a, b, m); }
CI_INLINE vf v_max(vf a, vf b) { return wasm_f32x4_pmax(b, a); }
CI_INLINE vf v_min(vf a, vf b) { return wasm_f32x4_pmin(b, a); }

CI_OUTLINE vf v_fma_of_lanes(vf a, vf b, vf c) {
  float x[4], y[4], z[4];
  v_store(x, a);
  v_store(y, b);
  v_store(z, c);
  for (int i = 0; i < 4; i++) z[i] = ci_soft_fma(x[i], y[i], z[i]);
  return v_load(z);
}
/* ci_soft_fma by vectors: where no lane is a tie or denormal, rounding twice is rounding once. */
CI_INLINE vf v_fma(vf a, vf b, vf c) {
  const v128_t low = wasm_f64x2_add(wasm_f64x2_mul(v_low_doubles(a), v_low_doubles(b)), v_low_doubles(c));
  const v128_t high = wasm_f64x2_add(wasm_f64x2_mul(v_high_doubles(a), v_high_doubles(b)), v_high_doubles(c));
  const v128_t ends = wasm_i32x4_shuffle(low, high, 0, 2, 4, 6), tops = wasm_i32x4_shuffle(low, high, 1, 3, 5, 7);
  const vm tie = wasm_i32x4_eq(vi_and(ends, vi_set(CI_FMA_DROPPED)), vi_set(CI_FMA_TIE));
  const vi size = vi_and(tops, vi_set(0x7fffffff));
  const vm denormal = wasm_u32x4_lt(vi_sub(size, vi_set(1)), vi_set(CI_FMA_NORMAL - 1));
  if (wasm_v128_any_true(wasm_v128_or(tie, denormal))) return v_fma_of_lanes(a, b, c);
  return wasm_i32x4_shuffle(wasm_f32x4_demote_f64x2_zero(low), wasm_f32x4_demote_f64x2_zero(high), 0, 1, 4, 5);
}
CI_INLINE vf v_nfma(vf a, vf b, vf c) { return v_fma(wasm_f32x4_neg(a), b, c); }

CI_INLINE vf v_load_part(const float *p, int n, float fill) {
  float lane[4] = {fill, fill, fill, fill};
  for (int i = 0; i < n; i++) lane[i] = p[i];
  return v_load(lane);
}
CI_INLINE void v_store_part(float *p, int n, vf v) {
  float lane[4];
  v_store(lane, v);
  for (int i = 0; i < n; i++) p[i] = lane[i];
}
#define CI_SIMD128_TREE(of)                                       \
  const v128_t two = of(a, wasm_i32x4_shuffle(a, a, 2, 3, 2, 3)); \
  return wasm_f32x4_extract_lane(of(two, wasm_i32x4_shuffle(two, two, 1, 1, 1, 1)), 0);
CI_INLINE float v_sum_tree(vf a){CI_SIMD128_TREE(v_add)} CI_INLINE
    float v_max_tree(vf a){CI_SIMD128_TREE(v_max)} CI_INLINE float v_min_tree(vf a){CI_SIMD128_TREE(v_min)}
#undef CI_SIMD128_TREE
CI_INLINE vf v_even(vf a, vf b) {
  return wasm_i32x4_shuffle(a, b, 0, 2, 5, 7);
}
CI_INLINE vf v_behind(vf a) { return wasm_i32x4_shuffle(v_set(0.0f), a, 0, 4, 5, 6); }
CI_INLINE void v_turn(vf *v) {
  const vf low = wasm_i32x4_shuffle(v[0], v[1], 0, 4, 1, 5), high = wasm_i32x4_shuffle(v[0], v[1], 2, 6, 3, 7);
  const vf low_2 = wasm_i32x4_shuffle(v[2], v[3], 0, 4, 1, 5), high_2 = wasm_i32x4_shuffle(v[2], v[3], 2, 6, 3, 7);
  v[0] = wasm_i32x4_shuffle(low, low_2, 0, 1, 4, 5);
  v[1] = wasm_i32x4_shuffle(low, low_2, 2, 3, 6, 7);
  v[2] = wasm_i32x4_shuffle(high, high_2, 0, 1, 4, 5);
  v[3] = wasm_i32x4_shuffle(high, high_2, 2, 3, 6, 7);
}
#undef v_low_doubles
#undef v_high_doubles
