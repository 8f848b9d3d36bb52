/* isa_math_reduce_impl.h - reductions of rows and columns to one number each: included once per instruction set.
 *
 * A group is 16 virtual lanes, 16 / CI_VL native vectors that the preprocessor writes out, so that they stay in
 * registers; one lane at a time is a loop. Four groups from 256 elements on; the rest after full steps of 64 goes to
 * group 0.
 */
#if CI_VL == 16
#define CI_M_GROUP(X, arg) X(arg, 0)
#elif CI_VL == 8
#define CI_M_GROUP(X, arg) X(arg, 0) X(arg, 1)
#elif CI_VL == 4
#define CI_M_GROUP(X, arg) X(arg, 0) X(arg, 1) X(arg, 2) X(arg, 3)
#else
#define CI_M_GROUP(X, arg)                         \
  for (int ci_lane = 0; ci_lane < 16; ci_lane++) { \
    X(arg, ci_lane)                                \
  }
#endif
enum { CI_N(quads) = 16 / CI_VL };

/* Vector q of a group of which `left` elements exist, possibly none of this vector. */
CI_INLINE vf CI_N(group_load)(const float *p, int left, int q, float fill) {
  const int mine = left - q * CI_VL;
  return mine >= CI_VL ? v_load(p + q * CI_VL) : mine > 0 ? v_load_part(p + q * CI_VL, mine, fill) : v_set(fill);
}
CI_INLINE void CI_N(group_store)(float *p, int left, int q, vf v) {
  const int mine = left - q * CI_VL;
  if (mine >= CI_VL) {
    v_store(p + q * CI_VL, v);
  } else if (mine > 0) {
    v_store_part(p + q * CI_VL, mine, v);
  }
}

/* Lane i with lane i + 8, then i + 4, i + 2, i + 1. */
#if CI_VL == 16
#define CI_M_HALVE(op, g) const vf half = (g)[0];
#elif CI_VL == 8
#define CI_M_HALVE(op, g) const vf half = op((g)[0], (g)[1]);
#elif CI_VL == 4
#define CI_M_HALVE(op, g) const vf half = op(op((g)[0], (g)[2]), op((g)[1], (g)[3]));
#else
#define CI_M_TO8(op, g, i) op((g)[i], (g)[(i) + 8])
#define CI_M_TO4(op, g, i) op(CI_M_TO8(op, g, i), CI_M_TO8(op, g, (i) + 4))
#define CI_M_TO2(op, g, i) op(CI_M_TO4(op, g, i), CI_M_TO4(op, g, (i) + 2))
#define CI_M_HALVE(op, g) const vf half = op(CI_M_TO2(op, g, 0), CI_M_TO2(op, g, 1));
#endif
CI_INLINE float CI_N(group_sum)(const vf *g) {
  CI_M_HALVE(v_add, g)
  return v_sum_tree(half);
}
CI_INLINE float CI_N(group_max)(const vf *g) {
  CI_M_HALVE(v_max, g)
  return v_max_tree(half);
}
CI_INLINE float CI_N(group_min)(const vf *g) {
  CI_M_HALVE(v_min, g)
  return v_min_tree(half);
}
CI_INLINE float CI_N(group_prod)(const vf *g) {
  float lane[16];
  for (int q = 0; q < CI_N(quads); q++) v_store(lane + q * CI_VL, g[q]);
  for (int half = 8; half > 0; half /= 2) {
    for (int i = 0; i < half; i++) lane[i] = lane[i] * lane[i + half];
  }
  return lane[0];
}

#define CI_M_START(fill, q) g0[q] = v_set(fill);
#define CI_M_START4(fill, q) g1[q] = g2[q] = g3[q] = v_set(fill);
#define CI_M_TAKE(op, q) g0[q] = op(g0[q], v_load(x + i + (q) * CI_VL));
#define CI_M_TAKE4(op, q)                              \
  g0[q] = op(g0[q], v_load(x + i + (q) * CI_VL));      \
  g1[q] = op(g1[q], v_load(x + i + 16 + (q) * CI_VL)); \
  g2[q] = op(g2[q], v_load(x + i + 32 + (q) * CI_VL)); \
  g3[q] = op(g3[q], v_load(x + i + 48 + (q) * CI_VL));
#define CI_M_JOIN4(op, q) g0[q] = op(op(g0[q], g1[q]), op(g2[q], g3[q]));
#define CI_M_TAKE_REST(op, q) g0[q] = op(g0[q], CI_N(group_load)(x + i, left, q, fill));

/* The sum of one row, and the product of its elements. */
#define CI_M_ROW(name, op, neutral)                          \
  static float CI_N(row_##name)(const float *x, int64_t n) { \
    const float fill = neutral;                              \
    vf g0[CI_N(quads)];                                      \
    int64_t i = 0;                                           \
    CI_M_GROUP(CI_M_START, neutral)                          \
    if (n < 256) {                                           \
      for (; i + 16 <= n; i += 16) {                         \
        CI_M_GROUP(CI_M_TAKE, op)                            \
      }                                                      \
      if (i < n) {                                           \
        const int left = (int)(n - i);                       \
        CI_M_GROUP(CI_M_TAKE_REST, op)                       \
      }                                                      \
      return CI_N(group_##name)(g0);                         \
    }                                                        \
    vf g1[CI_N(quads)], g2[CI_N(quads)], g3[CI_N(quads)];    \
    CI_M_GROUP(CI_M_START4, neutral)                         \
    for (; i + 64 <= n; i += 64) {                           \
      CI_M_GROUP(CI_M_TAKE4, op)                             \
    }                                                        \
    for (; i + 16 <= n; i += 16) {                           \
      CI_M_GROUP(CI_M_TAKE, op)                              \
    }                                                        \
    if (i < n) {                                             \
      const int left = (int)(n - i);                         \
      CI_M_GROUP(CI_M_TAKE_REST, op)                         \
    }                                                        \
    CI_M_GROUP(CI_M_JOIN4, op)                               \
    return CI_N(group_##name)(g0);                           \
  }
CI_M_ROW(sum, v_add, 0.0f)
CI_M_ROW(prod, v_mul, 1.0f)

/* Largest and smallest are exact in any order; `bad` is 0 or the last NaN seen. */
#define CI_M_SEE(op, q)                        \
  {                                            \
    const vf v = v_load(x + i + (q) * CI_VL);  \
    g0[q] = op(v, g0[q]);                      \
    bad[q] = v_select(v_is_nan(v), v, bad[q]); \
  }
#define CI_M_SEE_REST(op, q)                             \
  {                                                      \
    const vf v = CI_N(group_load)(x + i, left, q, fill); \
    g0[q] = op(v, g0[q]);                                \
    bad[q] = v_select(v_is_nan(v), v, bad[q]);           \
  }
#define CI_M_GOOD(unused, q) bad[q] = v_set(0.0f);
#define CI_M_EXTREME(name, op, worst)                                          \
  static float CI_N(row_##name)(const float *x, int64_t n) {                   \
    const float fill = worst;                                                  \
    vf g0[CI_N(quads)], bad[CI_N(quads)];                                      \
    int64_t i = 0;                                                             \
    CI_M_GROUP(CI_M_START, worst)                                              \
    CI_M_GROUP(CI_M_GOOD, 0)                                                   \
    for (; i + 16 <= n; i += 16) {                                             \
      CI_M_GROUP(CI_M_SEE, op)                                                 \
    }                                                                          \
    if (i < n) {                                                               \
      const int left = (int)(n - i);                                           \
      CI_M_GROUP(CI_M_SEE_REST, op)                                            \
    }                                                                          \
    const float any = CI_N(group_sum)(bad), y = CI_N(group_##name)(g0) + 0.0f; \
    return any != any ? any : y;                                               \
  }
CI_M_EXTREME(max, v_max, -INFINITY)
CI_M_EXTREME(min, v_min, INFINITY)

/* Four vectors of columns side by side, then one, then the rest; each column for itself. */
#define CI_M_COLUMNS(name, BODY)                                                                                      \
  static void CI_N(columns_##name)(float *y, const float *x, int64_t k, int64_t n, ptrdiff_t stride, int64_t block) { \
    int64_t i = 0;                                                                                                    \
    (void)block;                                                                                                      \
    for (; i + 4 * CI_VL <= n; i += 4 * CI_VL) {                                                                      \
      BODY(CI_M_FOUR, CI_M_WHOLE)                                                                                     \
    }                                                                                                                 \
    for (; i + CI_VL <= n; i += CI_VL) {                                                                              \
      BODY(CI_M_SINGLE, CI_M_WHOLE)                                                                                   \
    }                                                                                                                 \
    if (i < n) {                                                                                                      \
      const int part = (int)(n - i);                                                                                  \
      BODY(CI_M_SINGLE, CI_M_SOME)                                                                                    \
    }                                                                                                                 \
  }
#define CI_M_FOUR(X, arg) X(arg, 0) X(arg, 1) X(arg, 2) X(arg, 3)
#define CI_M_SINGLE(X, arg) X(arg, 0)
#define CI_M_WHOLE_LOAD(p) v_load(p)
#define CI_M_WHOLE_STORE(p, v) v_store(p, v)
#define CI_M_SOME_LOAD(p) v_load_part(p, part, 0.0f)
#define CI_M_SOME_STORE(p, v) v_store_part(p, part, v)

/* Chains over blocks of rows; the totals of the blocks are joined in order. */
#define CI_M_CHAINS(EACH, HOW, op, neutral)                              \
  vf total[4], chain[4];                                                 \
  const float *row = x + i;                                              \
  EACH(CI_M_TOTAL_START, neutral)                                        \
  for (int64_t left = k; left > 0; left -= block) {                      \
    EACH(CI_M_CHAIN_START, neutral)                                      \
    for (int64_t step = left < block ? left : block; step > 0; step--) { \
      EACH(CI_M_CHAIN_##op, HOW)                                         \
      row += stride;                                                     \
    }                                                                    \
    if (left == k) {                                                     \
      EACH(CI_M_TOTAL_FIRST, 0)                                          \
    } else {                                                             \
      EACH(CI_M_TOTAL_NEXT, op)                                          \
    }                                                                    \
  }                                                                      \
  EACH(CI_M_TOTAL_STORE, HOW)
#define CI_M_CHAIN_START(neutral, j) chain[j] = v_set(neutral);
#define CI_M_CHAIN_v_add(HOW, j) chain[j] = v_add(chain[j], HOW##_LOAD(row + (j) * CI_VL));
#define CI_M_CHAIN_v_mul(HOW, j) chain[j] = v_mul(chain[j], HOW##_LOAD(row + (j) * CI_VL));
#define CI_M_TOTAL_START(neutral, j) total[j] = v_set(neutral);
#define CI_M_TOTAL_FIRST(unused, j) total[j] = chain[j];
#define CI_M_TOTAL_NEXT(op, j) total[j] = op(total[j], chain[j]);
#define CI_M_TOTAL_STORE(HOW, j) HOW##_STORE(y + i + (j) * CI_VL, total[j]);

#define CI_M_KEEP(EACH, HOW, op, worst)      \
  vf most[4], bad[4];                        \
  const float *row = x + i;                  \
  EACH(CI_M_KEEP_START, worst)               \
  for (int64_t step = k; step > 0; step--) { \
    EACH(CI_M_KEEP_##op, HOW)                \
    row += stride;                           \
  }                                          \
  EACH(CI_M_KEEP_STORE, HOW)
#define CI_M_KEEP_START(worst, j) most[j] = v_set(worst), bad[j] = v_set(0.0f);
#define CI_M_KEEP_v_max(HOW, j)                 \
  {                                             \
    const vf v = HOW##_LOAD(row + (j) * CI_VL); \
    most[j] = v_max(v, most[j]);                \
    bad[j] = v_select(v_is_nan(v), v, bad[j]);  \
  }
#define CI_M_KEEP_v_min(HOW, j)                 \
  {                                             \
    const vf v = HOW##_LOAD(row + (j) * CI_VL); \
    most[j] = v_min(v, most[j]);                \
    bad[j] = v_select(v_is_nan(v), v, bad[j]);  \
  }
/* bad is 0 or NaN, so the sum is also the zero that makes a largest -0 a +0. */
#define CI_M_KEEP_STORE(HOW, j) HOW##_STORE(y + i + (j) * CI_VL, v_add(most[j], bad[j]));

#define CI_M_SUM_BODY(EACH, HOW) CI_M_CHAINS(EACH, HOW, v_add, 0.0f)
#define CI_M_PROD_BODY(EACH, HOW) CI_M_CHAINS(EACH, HOW, v_mul, 1.0f)
#define CI_M_MAX_BODY(EACH, HOW) CI_M_KEEP(EACH, HOW, v_max, -INFINITY)
#define CI_M_MIN_BODY(EACH, HOW) CI_M_KEEP(EACH, HOW, v_min, INFINITY)
CI_M_COLUMNS(sum, CI_M_SUM_BODY)
CI_M_COLUMNS(prod, CI_M_PROD_BODY)
CI_M_COLUMNS(max, CI_M_MAX_BODY)
CI_M_COLUMNS(min, CI_M_MIN_BODY)
#undef CI_M_HALVE
