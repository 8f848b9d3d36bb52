/* isa_math_map_impl.h - elementwise functions: full vectors, then the rest in part. They write one NaN, which costs
 * nothing compared with the loads and stores. */
CI_INLINE vf CI_N(one_nan)(vf v) { return v_select(v_is_nan(v), v_from_bits(vi_set(0x7fc00000)), v); }

#define CI_M_UNARY(name, value)                                                                    \
  static void CI_N(unary_##name)(float *y, const float *x, int64_t n, float first, float second) { \
    const vf a = v_set(first), b = v_set(second);                                                  \
    (void)a, (void)b;                                                                              \
    int64_t i = 0;                                                                                 \
    for (; i + CI_VL <= n; i += CI_VL) {                                                           \
      const vf v = v_load(x + i);                                                                  \
      v_store(y + i, CI_N(one_nan)(value));                                                        \
    }                                                                                              \
    if (i < n) {                                                                                   \
      const int part = (int)(n - i);                                                               \
      const vf v = v_load_part(x + i, part, 0.0f);                                                 \
      v_store_part(y + i, part, CI_N(one_nan)(value));                                             \
    }                                                                                              \
  }
CI_MATH_UNARY_BUILT(CI_M_UNARY)
#undef CI_M_UNARY

/* An operand that is one number is a vector of it, which is not stepped over. */
#define CI_M_BINARY(name, value)                                                                            \
  static void CI_N(binary_##name)(float *y, const float *x, const float *z, int64_t n, int scalar) {        \
    float same[CI_VL];                                                                                      \
    if (n <= 0) return;                                                                                     \
    v_store(same, v_set(scalar == CI_SCALAR_A ? *x : *z));                                                  \
    const ptrdiff_t x_step = scalar == CI_SCALAR_A ? 0 : CI_VL, z_step = scalar == CI_SCALAR_B ? 0 : CI_VL; \
    if (x_step == 0) x = same;                                                                              \
    if (z_step == 0) z = same;                                                                              \
    for (; n >= CI_VL; n -= CI_VL, x += x_step, z += z_step, y += CI_VL) {                                  \
      const vf a = v_load(x), b = v_load(z);                                                                \
      v_store(y, CI_N(one_nan)(value));                                                                     \
    }                                                                                                       \
    if (n > 0) {                                                                                            \
      const int part = (int)n;                                                                              \
      const vf a = v_load_part(x, part, 1.0f), b = v_load_part(z, part, 1.0f);                              \
      v_store_part(y, part, CI_N(one_nan)(value));                                                          \
    }                                                                                                       \
  }
CI_MATH_BINARY_BUILT(CI_M_BINARY)
#undef CI_M_BINARY
