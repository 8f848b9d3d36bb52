/* isa_math_functions_impl.h - elementary functions of one vector: included once per instruction set.
 *
 * docs/numerics.md, "Elementary functions", has the methods and the errors. Coefficients are exact hexadecimal floats,
 * lowest first. Clamps compare with the constant first, so that NaN passes through.
 */
#ifndef CI_ISA_MATH_NAMES
#define CI_ISA_MATH_NAMES
#define v_exp CI_N(v_exp)
#define v_exp_parts CI_N(v_exp_parts)
#define v_exp_inside CI_N(v_exp_inside)
#define v_exp_below CI_N(v_exp_below)
#define v_expm1 CI_N(v_expm1)
#define v_log CI_N(v_log)
#define v_tanh CI_N(v_tanh)
#define v_sigmoid CI_N(v_sigmoid)
#define v_erf CI_N(v_erf)
#define v_softplus CI_N(v_softplus)
#define v_gelu CI_N(v_gelu)
#define v_gelu_tanh CI_N(v_gelu_tanh)
#define v_swish CI_N(v_swish)
#define v_mish CI_N(v_mish)
#define v_hard_sigmoid CI_N(v_hard_sigmoid)
#define v_floor CI_N(v_floor)
#define v_ceil CI_N(v_ceil)
#define v_round CI_N(v_round)
#define v_sign CI_N(v_sign)
#define v_step CI_N(v_step)
#endif

/* One copy each in portable code, which has many calls of them, and in small code; inline where vectors make them worth
 * it. */
#undef CI_V_FUNCTION
#if CI_VL == 1 || defined(CI_SMALL)
#define CI_V_FUNCTION CI_OUTLINE
#else
#define CI_V_FUNCTION CI_INLINE
#endif

/* One step of Horner's rule. */
CI_INLINE vf v_step(vf p, vf x, float c) { return v_fma(p, x, v_set(c)); }

/* The integer n, as a float and as an integer, and r = x - n log 2; returns (exp(r) - 1) / r. */
CI_INLINE vf v_exp_parts(vf x, vf *n, vi *whole, vf *rest) {
  const vf magic = v_set(0x1.8p+23f); /* rounds to an integer, which is then in the low bits */
  const vf t = v_fma(x, v_set(0x1.715476p+0f), magic);
  *n = v_sub(t, magic);
  *whole = vi_sub(v_bits(t), vi_set(0x4b400000));
  vf r = v_nfma(*n, v_set(0x1.63p-1f), x);
  r = v_nfma(*n, v_set(-0x1.bd0106p-13f), r);
  vf q = v_set(0x1.6a6544p-10f);
  q = v_step(q, r, 0x1.12406ep-7f);
  q = v_step(q, r, 0x1.5558a2p-5f);
  q = v_step(q, r, 0x1.555488p-3f);
  q = v_step(q, r, 0x1.fffffcp-2f);
  *rest = r;
  return v_step(q, r, 1.0f);
}

/* exp of a number that is known to be from -104 to 89, or NaN */
CI_V_FUNCTION vf v_exp_inside(vf x) {
  vi whole;
  vf n, r;
  vf p = v_exp_parts(x, &n, &whole, &r);
  p = v_step(p, r, 1.0f);
  return v_scale(p, n, whole);
}

CI_V_FUNCTION vf v_exp(vf x) { return v_exp_inside(v_max(v_set(-104.0f), v_min(v_set(89.0f), x))); }

/* exp(-|x|) */
CI_INLINE vf v_exp_below(vf x) {
  return v_exp_inside(v_max(v_set(-104.0f), v_from_bits(vi_or(v_bits(x), vi_set(INT32_MIN)))));
}

/* Near 0 without the 1, elsewhere exp(x) - 1 loses no more than two bits. */
CI_V_FUNCTION vf v_expm1(vf x) {
  vi whole;
  vf n, r; /* n is 0 where `near` is taken */
  const vf p = v_exp_parts(v_max(v_set(-1.0f), v_min(v_set(1.0f), x)), &n, &whole, &r), near = v_mul(p, r);
  const vf far = v_sub(v_exp(x), v_set(1.0f));
  return v_select(v_gt(v_abs(x), v_set(0x1.62e42ep-2f)), far, v_select(v_eq(x, v_set(0.0f)), x, near));
}

CI_V_FUNCTION vf v_log(vf x) {
  const vm tiny = v_gt(v_set(0x1p-126f), x);
  const vf scaled = v_select(tiny, v_mul(x, v_set(0x1p+23f)), x);
  const vi bits = v_bits(scaled);
  const vi exponent = vi_and(vi_sub(bits, vi_set(0x3f2aaaab)), vi_set(-0x800000));
  const vf f = v_sub(v_from_bits(vi_sub(bits, exponent)), v_set(1.0f));
  const vf n = v_sub(vi_to_float(vi_sra(exponent, 23)), v_select(tiny, v_set(23.0f), v_set(0.0f)));
  vf p = v_set(-0x1.027d94p-3f);
  p = v_step(p, f, 0x1.1e609ap-3f);
  p = v_step(p, f, -0x1.f59fbep-4f);
  p = v_step(p, f, 0x1.1ed77cp-3f);
  p = v_step(p, f, -0x1.558620p-3f);
  p = v_step(p, f, 0x1.99d03ap-3f);
  p = v_step(p, f, -0x1.ffff76p-3f);
  p = v_step(p, f, 0x1.555506p-2f);
  const vf f2 = v_mul(f, f);
  const vf series = v_fma(v_mul(f2, f), p, v_mul(f2, v_set(-0.5f)));
  const vf small = v_fma(n, v_set(-0x1.bd0106p-13f), series);
  vf y = v_fma(n, v_set(0x1.63p-1f), v_add(f, small));
  y = v_select(v_gt(x, v_set(0x1.fffffep+127f)), x, y);
  y = v_select(v_eq(x, v_set(0.0f)), v_set(-INFINITY), y);
  y = v_select(v_gt(v_set(0.0f), x), v_set(NAN), y);
  return v_select(v_is_nan(x), x, y);
}

CI_V_FUNCTION vf v_tanh(vf x) {
  const vf size = v_abs(x), s = v_mul(size, size);
  vf p = v_set(0x1.9f70f4p-10f);
  p = v_step(p, s, -0x1.e5a2a2p-8f);
  p = v_step(p, s, 0x1.5d0b98p-6f);
  p = v_step(p, s, -0x1.b929cep-5f);
  p = v_step(p, s, 0x1.110b50p-3f);
  p = v_step(p, s, -0x1.55553ep-2f);
  const vf near = v_fma(v_mul(size, s), p, size);
  const vf e = v_exp_inside(v_mul(v_set(2.0f), v_min(v_set(0x1.233334p+3f), size)));
  const vf far = v_sub(v_set(1.0f), v_div(v_set(2.0f), v_add(e, v_set(1.0f))));
  return v_copy_sign(v_select(v_gt(size, v_set(0x1.333334p-1f)), far, near), x);
}

CI_V_FUNCTION vf v_sigmoid(vf x) {
  const vf one = v_set(1.0f), e = v_exp_below(x);
  return v_div(v_select(v_gt(v_set(0.0f), x), e, one), v_add(one, e));
}

CI_V_FUNCTION vf v_erf(vf x) {
  const vf size = v_abs(x), s = v_mul(size, size), a = v_min(v_set(4.0f), size);
  vf p = v_set(0x1.5c4fa6p-14f);
  p = v_step(p, s, -0x1.aa0546p-11f);
  p = v_step(p, s, 0x1.54be8cp-8f);
  p = v_step(p, s, -0x1.b80d20p-6f);
  p = v_step(p, s, 0x1.ce2deep-4f);
  p = v_step(p, s, -0x1.812742p-2f);
  p = v_step(p, s, 0x1.06eba8p-3f);
  const vf near = v_fma(size, p, size);
  vf g = v_set(-0x1.9b3010p-13f);
  g = v_step(g, a, 0x1.8f01c4p-9f);
  g = v_step(g, a, -0x1.6c35f6p-6f);
  g = v_step(g, a, 0x1.a9b830p-4f);
  g = v_step(g, a, 0x1.463c68p-1f);
  g = v_step(g, a, 0x1.20af66p+0f);
  g = v_step(g, a, 0x1.9a518cp-13f);
  const vf far = v_sub(v_set(1.0f), v_exp_inside(v_sub(v_set(0.0f), g)));
  return v_copy_sign(v_select(v_gt(size, v_set(0x1.d8p-1f)), far, near), x);
}

/* max(x, 0) + log(1 + e), e = exp(-|x|); the rounding error of 1 + e is corrected to first order. */
CI_V_FUNCTION vf v_softplus(vf x) {
  const vf one = v_set(1.0f), e = v_exp_below(x);
  const vf u = v_add(one, e);
  const vf lost = v_sub(e, v_sub(u, one));
  const vf tail = v_add(v_log(u), v_div(lost, u));
  return v_add(v_max(v_set(0.0f), x), tail);
}

/* Calls cost less than second copies of these. x (1 + erf(x / sqrt(2))) / 2: */
CI_OUTLINE vf v_gelu(vf x) {
  return v_mul(v_mul(v_add(v_erf(v_mul(x, v_set(0x1.6a09e6p-1f))), v_set(1.0f)), x), v_set(0.5f));
}

CI_OUTLINE vf v_swish(vf x, vf a) { return v_mul(x, v_sigmoid(v_mul(a, x))); }

/* (1 + tanh(u)) / 2 is sigmoid(2 u), which loses nothing where u is far below 0. */
CI_OUTLINE vf v_gelu_tanh(vf x) {
  const vf twice = v_fma(v_mul(x, x), v_set(0x1.2444f2p-4f), v_set(0x1.988454p+0f));
  return v_swish(x, twice);
}

/* tanh(log(1 + e)) = n / (n + 2), n = e (e + 2) */
CI_OUTLINE vf v_mish(vf x) {
  const vf two = v_set(2.0f), e = v_exp(v_min(v_set(20.0f), x)), n = v_mul(e, v_add(e, two));
  return v_mul(x, v_div(n, v_add(n, two)));
}

CI_INLINE vf v_hard_sigmoid(vf x, vf a, vf b) {
  const vf zero = v_set(0.0f), line = v_add(v_mul(a, x), b);
  return v_add(v_min(v_set(1.0f), v_max(zero, line)), zero);
}

/* Half to even: adding 2^23 leaves no bit for a fraction. */
CI_INLINE vf v_round(vf x) {
  const vf size = v_abs(x), big = v_set(0x1p+23f);
  const vf whole = v_copy_sign(v_sub(v_add(size, big), big), x);
  return v_select(v_gt(big, size), whole, x);
}

CI_INLINE vf v_floor(vf x) {
  const vf whole = v_round(x);
  return v_copy_sign(v_select(v_gt(whole, x), v_sub(whole, v_set(1.0f)), whole), x);
}

CI_INLINE vf v_ceil(vf x) {
  const vf whole = v_round(x);
  return v_copy_sign(v_select(v_gt(x, whole), v_add(whole, v_set(1.0f)), whole), x);
}

CI_INLINE vf v_sign(vf x) {
  const vf zero = v_set(0.0f), y = v_select(v_gt(x, zero), v_set(1.0f), v_select(v_is_nan(x), x, zero));
  return v_select(v_gt(zero, x), v_set(-1.0f), y);
}
