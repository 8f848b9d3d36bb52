/* isa_math_map_impl.h - element-wise functions: whole vectors, then the rest in part. They write one NaN, which costs
 * nothing beside the loads and stores. */
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

#define CI_M_BINARY_LOOP(get_a, get_b, value) \
  for (; i + CI_VL <= n; i += CI_VL) {        \
    const vf a = get_a(x), b = get_b(z);      \
    v_store(y + i, CI_N(one_nan)(value));     \
  }
#define CI_M_FULL(p) v_load(p + i)
#define CI_M_ONE(p) v_set(p##0)
#define CI_M_BINARY(name, value)                                                                     \
  static void CI_N(binary_##name)(float *y, const float *x, const float *z, int64_t n, int scalar) { \
    int64_t i = 0;                                                                                   \
    if (n <= 0) return;                                                                              \
    const float x0 = *x, z0 = *z; /* read before y, which may be the same memory, is written */      \
    if (scalar == CI_SCALAR_A) {                                                                     \
      CI_M_BINARY_LOOP(CI_M_ONE, CI_M_FULL, value)                                                   \
    } else if (scalar == CI_SCALAR_B) {                                                              \
      CI_M_BINARY_LOOP(CI_M_FULL, CI_M_ONE, value)                                                   \
    } else {                                                                                         \
      CI_M_BINARY_LOOP(CI_M_FULL, CI_M_FULL, value)                                                  \
    }                                                                                                \
    if (i < n) {                                                                                     \
      const int part = (int)(n - i);                                                                 \
      const vf a = scalar == CI_SCALAR_A ? v_set(x0) : v_load_part(x + i, part, 1.0f);               \
      const vf b = scalar == CI_SCALAR_B ? v_set(z0) : v_load_part(z + i, part, 1.0f);               \
      v_store_part(y + i, part, CI_N(one_nan)(value));                                               \
    }                                                                                                \
  }
CI_MATH_BINARY_BUILT(CI_M_BINARY)
#undef CI_M_BINARY
#undef CI_M_BINARY_LOOP
#undef CI_M_FULL
#undef CI_M_ONE
