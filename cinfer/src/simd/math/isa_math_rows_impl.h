/* isa_math_rows_impl.h - softmax, normalization and cross entropy of contiguous rows: included once per instruction
 * set.
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

/* First pass of a long row: y = exp(x - m), or x - m if the logarithm is requested, and the 16-lane sum of the exps. */
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
CI_INLINE float CI_N(softmax_pass)(float *y, const float *x, float largest, int64_t n, bool logarithm) {
  const vf m = v_set(largest);
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

/* Some rows at a time, each step for all of them: no step waits for the end of a row. */
enum { CI_N(softmax_rows) = 8, CI_N(softmax_cached) = 1 << 12 };
CI_EITHER void CI_N(softmax_either)(float *y, const float *x, int64_t rows, int64_t n, bool logarithm) {
  if (CI_LARGE && n <= 16) {
    for (; rows > 0; rows--, x += n, y += n) CI_N(softmax_short)(y, x, (int)n, logarithm);
    return;
  }
  const int64_t most = n * CI_N(softmax_rows) <= CI_N(softmax_cached) ? CI_N(softmax_rows) : 1;
  for (int64_t some; rows > 0; rows -= some, x += some * n, y += some * n) {
    float number[CI_N(softmax_rows)];
    some = rows < most ? rows : most;
    for (int64_t r = 0; r < some; r++) number[r] = CI_N(row_largest)(x + r * n, n);
    for (int64_t r = 0; r < some; r++) number[r] = CI_N(softmax_pass)(y + r * n, x + r * n, number[r], n, logarithm);
    if (logarithm) {
      CI_N(unary_log)(number, number, some, 0.0f, 0.0f);
    } else {
      for (int64_t r = 0; r < some; r++) number[r] = 1.0f / number[r];
    }
    for (int64_t r = 0; r < some; r++) {
      if (logarithm) CI_N(binary_sub)(y + r * n, y + r * n, number + r, n, CI_SCALAR_B);
      else CI_N(binary_mul)(y + r * n, y + r * n, number + r, n, CI_SCALAR_B);
    }
  }
}

static void CI_N(softmax)(float *y, const float *x, int64_t rows, int64_t n) {
  CI_N(softmax_either)(y, x, rows, n, false);
}

static void CI_N(log_softmax)(float *y, const float *x, int64_t rows, int64_t n) {
  CI_N(softmax_either)(y, x, rows, n, true);
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

/* ---- normalization ---- */

#define CI_M_CENTRE(g, q)                                \
  {                                                      \
    const vf d = v_sub(v_load(x + at + (q) * CI_VL), m); \
    v_store(y + at + (q) * CI_VL, d);                    \
    g[q] = v_fma(d, d, g[q]);                            \
  }
/* Elements beyond the row are +0, whatever the mean. */
#define CI_M_CENTRE_REST(g, q)                                                             \
  {                                                                                        \
    CI_N(group_store)(y + at, left, q, v_sub(CI_N(group_load)(x + at, left, q, 0.0f), m)); \
    const vf d = CI_N(group_load)(y + at, left, q, 0.0f);                                  \
    g[q] = v_fma(d, d, g[q]);                                                              \
  }
static float CI_N(centre)(float *y, const float *x, float mean, int64_t n) {
  const vf m = v_set(mean);
  vf g0[CI_N(quads)], g1[CI_N(quads)], g2[CI_N(quads)], g3[CI_N(quads)];
  int64_t at = 0;
  CI_M_GROUP(CI_M_START, 0.0f)
  if (n >= 256) {
    CI_M_GROUP(CI_M_START4, 0.0f)
    while (at + 64 <= n) {
      CI_M_GROUP(CI_M_CENTRE, g0) at += 16;
      CI_M_GROUP(CI_M_CENTRE, g1) at += 16;
      CI_M_GROUP(CI_M_CENTRE, g2) at += 16;
      CI_M_GROUP(CI_M_CENTRE, g3) at += 16;
    }
  }
  for (; at + 16 <= n; at += 16) {
    CI_M_GROUP(CI_M_CENTRE, g0)
  }
  if (at < n) {
    const int left = (int)(n - at);
    CI_M_GROUP(CI_M_CENTRE_REST, g0)
  }
  if (n >= 256) {
    CI_M_GROUP(CI_M_JOIN4, v_add)
  }
  return CI_N(group_sum)(g0);
}

static void CI_N(affine)(float *y, float factor, const float *scale, const float *bias, int64_t n) {
  const vf r = v_set(factor);
  for (int64_t i = 0; i < n; i += CI_VL) {
    const int part = n - i < CI_VL ? (int)(n - i) : CI_VL;
    if (part == CI_VL) {
      vf v = v_mul(v_load(y + i), r);
      if (scale != NULL) v = v_mul(v, v_load(scale + i));
      if (bias != NULL) v = v_add(v, v_load(bias + i));
      v_store(y + i, v);
    } else {
      vf v = v_mul(v_load_part(y + i, part, 0.0f), r);
      if (scale != NULL) v = v_mul(v, v_load_part(scale + i, part, 0.0f));
      if (bias != NULL) v = v_add(v, v_load_part(bias + i, part, 0.0f));
      v_store_part(y + i, part, v);
    }
  }
}

/* y = (x - mean) * factor + bias */
static void CI_N(batch)(float *y, const float *x, const float *mean, const float *factor, const float *bias, int64_t n,
                        bool one) {
  if (one) {
    const vf m = v_set(*mean), f = v_set(*factor), b = v_set(*bias);
    int64_t i = 0;
    for (; i + CI_VL <= n; i += CI_VL) v_store(y + i, v_add(v_mul(v_sub(v_load(x + i), m), f), b));
    if (i < n) v_store_part(y + i, (int)(n - i), v_add(v_mul(v_sub(v_load_part(x + i, (int)(n - i), 0.0f), m), f), b));
    return;
  }
  for (int64_t i = 0; i < n; i += CI_VL) {
    const int part = n - i < CI_VL ? (int)(n - i) : CI_VL;
    const vf d = v_sub(v_load_part(x + i, part, 0.0f), v_load_part(mean + i, part, 0.0f));
    v_store_part(y + i, part, v_add(v_mul(d, v_load_part(factor + i, part, 0.0f)), v_load_part(bias + i, part, 0.0f)));
  }
}
