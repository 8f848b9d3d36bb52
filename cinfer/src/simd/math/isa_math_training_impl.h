/* isa_math_training_impl.h - steps of optimizers in one pass: included once per instruction set.
 *
 * They compute the same as their bodies (schema/graphio_operators.json) node by node: a multiplication and an addition
 * round twice.
 */
#define CI_M_LOAD(p) (part == CI_VL ? v_load((p) + i) : v_load_part((p) + i, part, 0.0f))
#define CI_M_STORE(p, v)            \
  if (part == CI_VL) {              \
    v_store((p) + i, v);            \
  } else {                          \
    v_store_part((p) + i, part, v); \
  }
#define CI_M_STEPS(BODY)               \
  int64_t i = 0;                       \
  for (; i + CI_VL <= n; i += CI_VL) { \
    const int part = CI_VL;            \
    BODY                               \
  }                                    \
  if (i < n) {                         \
    const int part = (int)(n - i);     \
    BODY                               \
  }

static void CI_N(gradient_descent)(float *new_p, const float *p, const float *g, float rate, int64_t n) {
  const vf by = v_set(rate);
#define CI_M_BODY CI_M_STORE(new_p, v_sub(CI_M_LOAD(p), v_mul(by, CI_M_LOAD(g))))
  CI_M_STEPS(CI_M_BODY)
#undef CI_M_BODY
}

static void CI_N(momentum)(float *new_p, float *new_a, const float *p, const float *a, const float *g, float rate,
                           float momentum, bool nesterov, int64_t n) {
  const vf by = v_set(rate), keep = v_set(momentum);
#define CI_M_BODY                                                          \
  const vf gradient = CI_M_LOAD(g), old = CI_M_LOAD(p);                    \
  const vf sum = v_add(v_mul(keep, CI_M_LOAD(a)), gradient);               \
  const vf direction = nesterov ? v_add(gradient, v_mul(keep, sum)) : sum; \
  CI_M_STORE(new_a, sum)                                                   \
  CI_M_STORE(new_p, v_sub(old, v_mul(by, direction)))
  CI_M_STEPS(CI_M_BODY)
#undef CI_M_BODY
}

static void CI_N(adam)(float *new_p, float *new_m, float *new_v, const float *p, const float *m, const float *v,
                       const float *g, const ci_adam *numbers, int64_t n) {
  const vf rate = v_set(numbers->rate), k1 = v_set(numbers->k1), k2 = v_set(numbers->k2);
  const vf epsilon = v_set(numbers->epsilon);
#define CI_M_BODY                                                                                   \
  const vf gradient = CI_M_LOAD(g), old_m = CI_M_LOAD(m), old_v = CI_M_LOAD(v), old = CI_M_LOAD(p); \
  const vf first = v_add(old_m, v_mul(v_sub(gradient, old_m), k1));                                 \
  const vf second = v_add(old_v, v_mul(v_sub(v_mul(gradient, gradient), old_v), k2));               \
  const vf step = v_div(v_mul(rate, first), v_add(v_sqrt(second), epsilon));                        \
  CI_M_STORE(new_m, first)                                                                          \
  CI_M_STORE(new_v, second)                                                                         \
  CI_M_STORE(new_p, v_sub(old, step))
  CI_M_STEPS(CI_M_BODY)
#undef CI_M_BODY
}
#undef CI_M_LOAD
#undef CI_M_STORE
#undef CI_M_STEPS
