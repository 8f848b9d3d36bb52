/* vec_portable.h - vec.h in plain C, one lane: the definition. A function's return rounds to float, also where
 * expressions have more precision (s390x with -std=c11), so each has one operation. Integers wrap. */
typedef float vf;
typedef int32_t vi;
typedef bool vm;

typedef double vd;
CI_INLINE vd vd_zero(void) { return 0.0; }
CI_INLINE vd vd_add(vd a, vf b) { return a + (double)b; }
CI_INLINE void vd_store(double *p, vd v) { *p = v; }

CI_INLINE vf v_load(const float *p) { return *p; }
CI_INLINE void v_store(float *p, vf v) { *p = v; }
CI_INLINE vf v_set(float x) { return x; }
CI_INLINE vf v_add(vf a, vf b) { return a + b; }
CI_INLINE vf v_sub(vf a, vf b) { return a - b; }
CI_INLINE vf v_mul(vf a, vf b) { return a * b; }
CI_INLINE vf v_div(vf a, vf b) { return a / b; }
CI_INLINE vf v_sqrt(vf a) { return sqrtf(a); }
CI_INLINE vf v_fma(vf a, vf b, vf c) { return ci_fma(a, b, c); }
CI_INLINE vf v_nfma(vf a, vf b, vf c) { return ci_fma(-a, b, c); }
CI_INLINE vf v_max(vf a, vf b) { return a > b ? a : b; }
CI_INLINE vf v_min(vf a, vf b) { return a < b ? a : b; }
CI_INLINE vm v_gt(vf a, vf b) { return a > b; }
CI_INLINE vm v_ge(vf a, vf b) { return a >= b; }
CI_INLINE vm v_eq(vf a, vf b) { return a == b; }
CI_INLINE vm v_is_nan(vf a) { return a != a; }
CI_INLINE int v_leading(vm m) { return m; }
CI_INLINE vf v_select(vm m, vf a, vf b) { return m ? a : b; }
CI_INLINE vi v_bits(vf a) {
  vi bits;
  memcpy(&bits, &a, sizeof bits);
  return bits;
}
CI_INLINE vf v_from_bits(vi a) {
  vf value;
  memcpy(&value, &a, sizeof value);
  return value;
}
CI_INLINE vi vi_set(int32_t x) { return x; }
CI_INLINE vi vi_add(vi a, vi b) { return (vi)((uint32_t)a + (uint32_t)b); }
CI_INLINE vi vi_sub(vi a, vi b) { return (vi)((uint32_t)a - (uint32_t)b); }
CI_INLINE vi vi_and(vi a, vi b) { return a & b; }
CI_INLINE vi vi_or(vi a, vi b) { return a | b; }
CI_INLINE vi vi_xor(vi a, vi b) { return a ^ b; }
CI_INLINE vi vi_merge(vi m, vi a, vi b) { return vi_or(vi_and(m, a), b & ~m); }
CI_INLINE vi vi_shl(vi a, int n) { return (vi)((uint32_t)a << n); }
CI_INLINE vi vi_sra(vi a, int n) { return a < 0 ? ~(~a >> n) : a >> n; }
CI_INLINE vf vi_to_float(vi a) { return (float)a; }
CI_INLINE vf v_load_part(const float *p, int n, float fill) { return n > 0 ? *p : fill; }
CI_INLINE void v_store_part(float *p, int n, vf v) {
  if (n > 0) *p = v;
}
CI_INLINE float v_sum_tree(vf a) { return a; }
CI_INLINE float v_max_tree(vf a) { return a; }
CI_INLINE float v_min_tree(vf a) { return a; }
CI_INLINE vf v_even(vf a, vf b) {
  (void)b;
  return a;
}
CI_INLINE vf v_behind(vf a) {
  (void)a;
  return 0.0f;
}
CI_INLINE void v_turn(vf *v) { (void)v; }
