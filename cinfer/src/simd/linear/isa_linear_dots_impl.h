/* isa_linear_dots_impl.h - the dot form: 16 virtual lanes (64 for a long K), then the tree.
 *
 * A group is 16 lanes: 16 / CI_VL native vectors. The rest of K after the last full group goes to group 0, missing
 * lanes run fma(+0, +0, sum).
 */
#if CI_VL == 16
#define CI_GROUP(X, arg) CI_V1(X, arg)
#elif CI_VL == 8
#define CI_GROUP(X, arg) CI_V2(X, arg)
#elif CI_VL == 4
#define CI_GROUP(X, arg) CI_V4(X, arg)
#else /* a loop: written out, software fma would make this large */
#define CI_GROUP(X, arg)                  \
  for (int lane = 0; lane < 16; lane++) { \
    X(arg, lane)                          \
  }
#endif
enum { CI_N(group_vectors) = 16 / CI_VL };

#define CI_D_ZERO(s, q) sum[s][q] = v_set(0.0f);
#define CI_D_CLEAR(s, unused) CI_GROUP(CI_D_ZERO, s)
/* Row s of a, one column of b. */
#define CI_D_LOAD(unused, q) w[q] = v_load(b + k + (q) * CI_VL);
#define CI_D_FMA(s, q) sum[s][q] = v_fma(v_load(a + (s) * a_row + k + (q) * CI_VL), w[q], sum[s][q]);
#define CI_D_STEP(s, unused) CI_GROUP(CI_D_FMA, s)
/* Group s of one row. */
#define CI_D_FMA_FAR(s, q) \
  sum[s][q] = v_fma(v_load(a + k + (s) * 16 + (q) * CI_VL), v_load(b + k + (s) * 16 + (q) * CI_VL), sum[s][q]);
#define CI_D_STEP_FAR(s, unused) CI_GROUP(CI_D_FMA_FAR, s)
#define CI_D_LOAD_REST(unused, q) w[q] = CI_N(load_rest)(b + k, left - (q) * CI_VL, (q) * CI_VL);
#define CI_D_FMA_REST(s, q) \
  sum[s][q] = v_fma(CI_N(load_rest)(a + (s) * a_row + k, left - (q) * CI_VL, (q) * CI_VL), w[q], sum[s][q]);
#define CI_D_STEP_REST(s, unused) CI_GROUP(CI_D_FMA_REST, s)
#define CI_D_STORE(s, unused) t->c[(m + (s)) * t->c_row + n] = CI_N(tree)(sum[s]);
#define CI_D_ADD(s, q) sum[s][q] = v_add(sum[s][q], sum[(s) + 1][q]);
#define CI_D_ADD_PAIR(s, q) sum[s][q] = v_add(sum[s][q], sum[(s) + 2][q]);

/* The vector at p + offset of which `left` elements exist, possibly none; the others are +0. */
CI_INLINE vf CI_N(load_rest)(const float *p, int64_t left, int offset) {
  if (left >= CI_VL) return v_load(p + offset);
  return left > 0 ? v_load_part(p + offset, (int)left, 0.0f) : v_set(0.0f);
}

/* Lane i += lane i + 8, then i + 4, i + 2, i + 1. */
CI_INLINE float CI_N(tree)(const vf *sum) {
#if CI_VL == 16
  return v_sum_tree(sum[0]);
#elif CI_VL == 8
  return v_sum_tree(v_add(sum[0], sum[1]));
#elif CI_VL == 4
  return v_sum_tree(v_add(v_add(sum[0], sum[2]), v_add(sum[1], sum[3])));
#else
  vf lane[16];
  memcpy(lane, sum, sizeof lane);
  for (int half = 8; half > 0; half /= 2) {
    for (int i = 0; i < half; i++) lane[i] = v_add(lane[i], lane[i + half]);
  }
  return v_sum_tree(lane[0]);
#endif
}

/* R rows by one column, 16 lanes each. */
#define CI_DOTS(R)                                                     \
  static void CI_N(dots_##R)(const ci_tile *t, int64_t m, int64_t n) { \
    const ptrdiff_t a_row = t->a_row;                                  \
    const float *a = t->a + m * a_row, *b = t->b + n * t->b_col;       \
    vf sum[R][CI_N(group_vectors)], w[CI_N(group_vectors)];            \
    int64_t k = 0;                                                     \
    CI_R##R(CI_D_CLEAR, 0) for (; k + 16 <= t->k; k += 16) {           \
      CI_GROUP(CI_D_LOAD, 0)                                           \
      CI_R##R(CI_D_STEP, 0)                                            \
    }                                                                  \
    if (k < t->k) {                                                    \
      const int64_t left = t->k - k;                                   \
      CI_GROUP(CI_D_LOAD_REST, 0)                                      \
      CI_R##R(CI_D_STEP_REST, 0)                                       \
    }                                                                  \
    CI_R##R(CI_D_STORE, 0)                                             \
  }
CI_DOTS(1)
CI_DOTS(2)
CI_DOTS(3)
CI_DOTS(4)

/* One row by one column, 64 lanes. */
static void CI_N(dot_far)(const ci_tile *t, int64_t m, int64_t n) {
  const ptrdiff_t a_row = 0;
  const float *a = t->a + m * t->a_row, *b = t->b + n * t->b_col;
  vf sum[4][CI_N(group_vectors)], w[CI_N(group_vectors)];
  int64_t k = 0;
  CI_R4(CI_D_CLEAR, 0)
  for (; k + 64 <= t->k; k += 64) {
    CI_R4(CI_D_STEP_FAR, 0)
  }
  for (; k + 16 <= t->k; k += 16) {
    CI_GROUP(CI_D_LOAD, 0)
    CI_R1(CI_D_STEP, 0)
  }
  if (k < t->k) {
    const int64_t left = t->k - k;
    CI_GROUP(CI_D_LOAD_REST, 0)
    CI_R1(CI_D_STEP_REST, 0)
  }
  CI_GROUP(CI_D_ADD, 0)
  CI_GROUP(CI_D_ADD, 2)
  CI_GROUP(CI_D_ADD_PAIR, 0)
  t->c[m * t->c_row + n] = CI_N(tree)(sum[0]);
}

static void CI_N(dots)(const ci_tile *t) {
  for (int64_t n = 0; n < t->n; n++) {
    int64_t m = 0;
    if (t->k >= CI_MANY_LANES_FROM) {
      for (; m < t->m; m++) CI_N(dot_far)(t, m, n);
    }
    for (; m + 4 <= t->m; m += 4) CI_N(dots_4)(t, m, n);
    for (; !CI_LARGE && m < t->m; m++) CI_N(dots_1)(t, m, n);
    switch (CI_LARGE ? t->m - m : 0) {
      case 3: CI_N(dots_3)(t, m, n); break;
      case 2: CI_N(dots_2)(t, m, n); break;
      case 1: CI_N(dots_1)(t, m, n); break;
      default: break;
    }
  }
}
