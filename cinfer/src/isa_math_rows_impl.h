/* isa_math_rows_impl.h - softmax and cross entropy of contiguous rows: included once per instruction set.
 *
 * A NaN may be lost in the largest; it comes back in its own exp and with the sum in every element.
 */
#define CI_M_FILL_START(fill, q) g[q] = v_set(fill);
#define CI_M_ROW_MAX(unused, q) g[q] = v_max(v_load(x + i + (q) * CI_VL), g[q]);
#define CI_M_ROW_MAX_REST(unused, q) g[q] = v_max(CI_N(group_load)(x + i, left, q, -INFINITY), g[q]);

CI_INLINE float CI_N(row_largest)(const float *x, int64_t n) {
  vf g[CI_N(quads)];
  int64_t i = 0;
  CI_M_GROUP(CI_M_FILL_START, -INFINITY)
  for (; i + 16 <= n; i += 16) {
    CI_M_GROUP(CI_M_ROW_MAX, 0)
  }
  if (i < n) {
    const int left = (int)(n - i);
    CI_M_GROUP(CI_M_ROW_MAX_REST, 0)
  }
  return CI_N(group_max)(g);
}

/* A row of at most 16 stays in registers. */
#define CI_M_GET(unused, q) z[q] = CI_N(group_load)(x, left, q, -INFINITY);
#define CI_M_EXP(unused, q) e[q] = v_exp(z[q] = v_sub(z[q], m));
#define CI_M_SCALE(unused, q) CI_N(group_store)(y, left, q, v_mul(e[q], r));
#define CI_M_LOWER(unused, q) CI_N(group_store)(y, left, q, v_sub(z[q], r));

CI_INLINE void CI_N(softmax_short)(float *y, const float *x, int left, bool logarithm) {
  vf z[CI_N(quads)], e[CI_N(quads)];
  CI_M_GROUP(CI_M_GET, 0)
  const vf m = v_set(CI_N(group_max)(z));
  CI_M_GROUP(CI_M_EXP, 0)
  const vf s = v_set(CI_N(group_sum)(e));
  if (logarithm) {
    const vf r = v_log(s);
    CI_M_GROUP(CI_M_LOWER, 0)
  } else {
    const vf r = v_div(v_set(1.0f), s);
    CI_M_GROUP(CI_M_SCALE, 0)
  }
}

/* First pass of a long row: y = exp(x - m), or x - m if the logarithm is wanted, and the 16-lane sum of the exps. */
#define CI_M_PASS(unused, q)                                          \
  {                                                                   \
    const vf z = v_sub(v_load(x + i + (q) * CI_VL), m), e = v_exp(z); \
    g[q] = v_add(g[q], e);                                            \
    v_store(y + i + (q) * CI_VL, logarithm ? z : e);                  \
  }
#define CI_M_PASS_REST(unused, q)                                                     \
  {                                                                                   \
    const vf z = v_sub(CI_N(group_load)(x + i, left, q, -INFINITY), m), e = v_exp(z); \
    g[q] = v_add(g[q], e);                                                            \
    CI_N(group_store)(y + i, left, q, logarithm ? z : e);                             \
  }
CI_INLINE float CI_N(softmax_pass)(float *y, const float *x, int64_t n, bool logarithm) {
  const vf m = v_set(CI_N(row_largest)(x, n));
  vf g[CI_N(quads)];
  int64_t i = 0;
  CI_M_GROUP(CI_M_FILL_START, 0.0f)
  for (; i + 16 <= n; i += 16) {
    CI_M_GROUP(CI_M_PASS, 0)
  }
  if (i < n) {
    const int left = (int)(n - i);
    CI_M_GROUP(CI_M_PASS_REST, 0)
  }
  return CI_N(group_sum)(g);
}

static void CI_N(softmax)(float *y, const float *x, int64_t rows, int64_t n) {
  for (; rows > 0; rows--, x += n, y += n) {
    if (n <= 16) {
      CI_N(softmax_short)(y, x, (int)n, false);
    } else {
      const float s = CI_N(softmax_pass)(y, x, n, false);
      CI_N(binary_mul)(y, y, &(float){1.0f / s}, n, CI_SCALAR_B);
    }
  }
}

static void CI_N(log_softmax)(float *y, const float *x, int64_t rows, int64_t n) {
  for (; rows > 0; rows--, x += n, y += n) {
    if (n <= 16) {
      CI_N(softmax_short)(y, x, (int)n, true);
    } else {
      float log_s = CI_N(softmax_pass)(y, x, n, true);
      CI_N(unary_log)(&log_s, &log_s, 1, 0.0f, 0.0f);
      CI_N(binary_sub)(y, y, &log_s, n, CI_SCALAR_B);
    }
  }
}

static void CI_N(shifted_exp)(float *z, float *e, const float *x, int64_t n) {
  const vf m = v_set(CI_N(row_largest)(x, n));
  int64_t i = 0;
  for (; i + CI_VL <= n; i += CI_VL) {
    const vf v = v_sub(v_load(x + i), m);
    v_store(z + i, v);
    v_store(e + i, v_exp(v));
  }
  if (i < n) {
    const int part = (int)(n - i);
    const vf v = v_sub(v_load_part(x + i, part, 0.0f), m);
    v_store_part(z + i, part, v);
    v_store_part(e + i, part, v_exp(v));
  }
}

static void CI_N(cross_entropy)(float *t, float *gradient, const float *z, const float *e, const float *labels,
                                float log_s, float r, int64_t n) {
  const vf top = v_set(log_s), scale = v_set(r);
  int64_t i = 0;
  for (; i + CI_VL <= n; i += CI_VL) {
    const vf label = v_load(labels + i), p = v_mul(v_load(e + i), scale);
    v_store(t + i, v_mul(label, v_sub(top, v_load(z + i))));
    v_store(gradient + i, v_sub(p, label));
  }
  if (i < n) {
    const int part = (int)(n - i);
    const vf label = v_load_part(labels + i, part, 0.0f), p = v_mul(v_load_part(e + i, part, 0.0f), scale);
    v_store_part(t + i, part, v_mul(label, v_sub(top, v_load_part(z + i, part, 0.0f))));
    v_store_part(gradient + i, part, v_sub(p, label));
  }
}
