/* trees.c - ensembles of decision trees: every row of x walks from each root to a leaf, whose weights are added.
 *
 * ci_prepare_tree_ensemble (or the run, when the trees come as data) checks the trees and packs them: comparisons
 * become "x <= split" or "x == split" by exchanging branches, and a leaf is a node that leads to itself, so that a walk
 * is a fixed number of steps without a jump. Eight walks go side by side, since each waits for its loads.
 */
#include <math.h>

#include "../ci_kernel.h"
#include "../../plan/pack.h"
#include "../../session/session.h"
#include "../../math/scalar_math.h"

enum {
  TREES_X,
  TREES_SPLITS,
  TREES_FEATURES,
  TREES_MODES,
  TREES_BRANCHES,
  TREES_ROOTS,
  TREES_STARTS,
  TREES_TARGETS,
  TREES_WEIGHTS,
  TREES_INPUTS
};
enum { TREES_LEQ, TREES_LT, TREES_GTE, TREES_GT, TREES_EQ, TREES_NEQ, TREES_MODE_COUNT, TREES_MISSING = 128 };
enum { TREES_SUM, TREES_AVERAGE, TREES_MIN, TREES_MAX };
enum { TREES_LANES = 8, TREES_ROWS = 128 }; /* rows that go through one tree after another: they stay in the cache */
enum { TREES_TAKES_NAN = 1, TREES_IS_EQUAL = 2 }; /* of a packed node's flags */
enum { TREES_WORK = 1 << 14 };

struct trees_node_float {
  float split;
  uint32_t feature;
  int32_t next[2]; /* where the comparison holds, and where not */
};
struct trees_node_double {
  double split;
  uint32_t feature;
  int32_t next[2];
};

struct trees_plan {
  int64_t columns, targets, nodes, leaves, trees, entries;
  int aggregate;
  bool is_double, wide; /* x and splits, weights and y: float64 */
  bool dense;           /* every leaf has a weight for every target */
  size_t at_roots, at_depths, at_flags, at_dense, at_heights, bytes; /* in the pack; nodes come first */
  const char *memory; /* the pack, where the trees are constants of the model; else made in scratch by each run */
};

/* ---- checks ---- */

static ci_status trees_vector(ci_kernel *k, int input, int32_t dtype, int rank, const char *what) {
  const ci_value *v = k->in[input];
  if (v->dtype == dtype && v->rank == rank) return CI_OK;
  char str[128];
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "%s is %s, expected %s of rank %d", what,
                   ci_value_describe(v, str, sizeof str), ci_dtype_name(dtype), rank);
}

static ci_status trees_shapes(ci_kernel *k, struct trees_plan *p) {
  const ci_value *x = k->in[TREES_X];
  if (x->dtype != CI_FLOAT && x->dtype != CI_DOUBLE) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "x has type %s, for which this operator has no kernel",
                     ci_dtype_name(x->dtype));
  }
  CI_TRY(trees_vector(k, TREES_X, x->dtype, 2, "x"));
  CI_TRY(trees_vector(k, TREES_SPLITS, x->dtype, 1, "splits"));
  CI_TRY(trees_vector(k, TREES_FEATURES, CI_INT32, 1, "features"));
  CI_TRY(trees_vector(k, TREES_MODES, CI_UINT8, 1, "modes"));
  CI_TRY(trees_vector(k, TREES_BRANCHES, CI_INT32, 2, "branches"));
  CI_TRY(trees_vector(k, TREES_ROOTS, CI_INT32, 1, "roots"));
  CI_TRY(trees_vector(k, TREES_STARTS, CI_INT32, 1, "leaf_starts"));
  CI_TRY(trees_vector(k, TREES_TARGETS, CI_INT32, 1, "targets"));
  p->wide = x->dtype == CI_DOUBLE || k->in[TREES_WEIGHTS]->dtype == CI_DOUBLE;
  CI_TRY(trees_vector(k, TREES_WEIGHTS, p->wide ? CI_DOUBLE : CI_FLOAT, 1, "weights"));
  const int64_t n = k->in[TREES_SPLITS]->count, m = k->in[TREES_TARGETS]->count;
  const ci_value *branches = k->in[TREES_BRANCHES];
  if (k->in[TREES_FEATURES]->count != n || k->in[TREES_MODES]->count != n || branches->dims[0] != n ||
      branches->dims[1] != 2) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT,
                     "%lld splits, %lld features, %lld modes and branches [%lld,%lld], expected one of each a node and "
                     "branches [%lld,2]",
                     (long long)n, (long long)k->in[TREES_FEATURES]->count, (long long)k->in[TREES_MODES]->count,
                     (long long)branches->dims[0], (long long)branches->dims[1], (long long)n);
  }
  if (k->in[TREES_WEIGHTS]->count != m || k->in[TREES_STARTS]->count < 1) {
    return ci_k_fail(
        k, CI_INVALID_ARGUMENT,
        "%lld targets, %lld weights and %lld leaf_starts, expected as many weights as targets and one more "
        "start than leaves",
        (long long)m, (long long)k->in[TREES_WEIGHTS]->count, (long long)k->in[TREES_STARTS]->count);
  }
  p->columns = x->dims[1];
  p->nodes = n;
  p->entries = m;
  p->leaves = k->in[TREES_STARTS]->count - 1;
  p->trees = k->in[TREES_ROOTS]->count;
  p->is_double = x->dtype == CI_DOUBLE;
  if (n > INT32_MAX - p->leaves || p->columns > INT32_MAX / 4) {
    return ci_k_fail(k, CI_RESOURCE_EXHAUSTED,
                     "%lld nodes, %lld leaves and %lld columns are more than this operator counts", (long long)n,
                     (long long)p->leaves, (long long)p->columns);
  }
  return CI_OK;
}

static ci_status trees_attributes(ci_kernel *k, struct trees_plan *p) {
  static const char *const names[] = {"SUM", "AVERAGE", "MIN", "MAX"};
  ci_span aggregate;
  CI_TRY(ci_k_attr_i(k, "n_targets", 0, &p->targets));
  CI_TRY(ci_k_attr_s(k, "aggregate", "SUM", &aggregate));
  if (p->targets < 1)
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "n_targets is %lld, expected 1 or more", (long long)p->targets);
  for (p->aggregate = TREES_SUM; p->aggregate <= TREES_MAX; p->aggregate++) {
    if (ci_span_is(aggregate, names[p->aggregate])) return CI_OK;
  }
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "aggregate is '%.*s', expected SUM, AVERAGE, MIN or MAX",
                   (int)(aggregate.length > 40 ? 40 : aggregate.length), aggregate.data);
}

static ci_status trees_check_nodes(ci_kernel *k, const struct trees_plan *p) {
  const int32_t *features = k->in[TREES_FEATURES]->data, *branches = k->in[TREES_BRANCHES]->data;
  const uint8_t *modes = k->in[TREES_MODES]->data;
  for (int64_t i = 0; i < p->nodes; i++) {
    if (features[i] < 0 || features[i] >= p->columns) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "node %lld compares column %d, but x has %lld columns", (long long)i,
                       features[i], (long long)p->columns);
    }
    if ((modes[i] & ~TREES_MISSING) >= TREES_MODE_COUNT) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT,
                       "node %lld has mode %d, expected 0 to 5, plus 128 where NaN goes the true way", (long long)i,
                       modes[i]);
    }
    for (int way = 0; way < 2; way++) {
      const int64_t to = branches[2 * i + way];
      if (to >= 0 ? to <= i || to >= p->nodes : -1 - to >= p->leaves) {
        return ci_k_fail(k, CI_INVALID_ARGUMENT,
                         "node %lld leads to %lld, expected a later node (%lld to %lld) or a leaf (-1 to %lld)",
                         (long long)i, (long long)to, (long long)i + 1, (long long)p->nodes - 1, (long long)-p->leaves);
      }
    }
  }
  return CI_OK;
}

static ci_status trees_check_leaves(ci_kernel *k, const struct trees_plan *p) {
  const int32_t *starts = k->in[TREES_STARTS]->data, *targets = k->in[TREES_TARGETS]->data;
  const int32_t *roots = k->in[TREES_ROOTS]->data;
  for (int64_t t = 0; t < p->trees; t++) {
    if (roots[t] >= 0 ? roots[t] >= p->nodes : -1 - (int64_t)roots[t] >= p->leaves) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT,
                       "tree %lld starts at %d, expected a node (below %lld) or a leaf (-1 to %lld)", (long long)t,
                       roots[t], (long long)p->nodes, (long long)-p->leaves);
    }
  }
  if (starts[0] != 0 || starts[p->leaves] != p->entries) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "leaf_starts go from %d to %d, expected 0 to %lld, the number of weights",
                     starts[0], starts[p->leaves], (long long)p->entries);
  }
  for (int64_t leaf = 0; leaf < p->leaves; leaf++) {
    if (starts[leaf] > starts[leaf + 1] || starts[leaf + 1] > p->entries) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "leaf %lld has weights %d to %d, expected ascending indices below %lld",
                       (long long)leaf, starts[leaf], starts[leaf + 1], (long long)p->entries);
    }
    for (int32_t e = starts[leaf]; e < starts[leaf + 1]; e++) {
      const int32_t before = e == starts[leaf] ? -1 : targets[e - 1];
      if (targets[e] <= before || targets[e] >= p->targets) {
        return ci_k_fail(k, CI_INVALID_ARGUMENT,
                         "leaf %lld has a weight for target %d after %d, expected ascending targets "
                         "below %lld",
                         (long long)leaf, targets[e], before, (long long)p->targets);
      }
    }
  }
  return CI_OK;
}

/* ---- the pack ---- */

static bool trees_layout(struct trees_plan *p) {
  const size_t item = p->wide ? sizeof(double) : sizeof(float);
  const size_t node = p->is_double ? sizeof(struct trees_node_double) : sizeof(struct trees_node_float);
  size_t roots, weights = 0;
  p->dense = p->aggregate <= TREES_AVERAGE && p->leaves > 0 && p->entries / p->leaves >= p->targets - p->targets / 2;
  if (!ci_mul_size((uint64_t)(p->nodes + p->leaves), node, &p->at_roots)) return false;
  if (!ci_mul_size((uint64_t)p->trees, 2 * sizeof(int32_t), &roots)) return false;
  if (p->dense &&
      (!ci_mul_size((uint64_t)p->leaves, (uint64_t)p->targets, &weights) || !ci_mul_size(weights, item, &weights))) {
    return false;
  }
  p->at_depths = p->at_roots + roots / 2;
  if (!ci_add_size(p->at_roots, roots + sizeof(double), &p->at_flags)) return false;
  p->at_flags = p->at_flags / sizeof(double) * sizeof(double);
  p->at_dense = p->at_flags + sizeof(double);
  if (!ci_add_size(p->at_dense, weights, &p->at_heights)) return false;
  p->at_heights = (p->at_heights + sizeof(int32_t) - 1) / sizeof(int32_t) * sizeof(int32_t);
  return ci_add_size(p->at_heights, (size_t)p->nodes * sizeof(int32_t), &p->bytes);
}

/* A comparison as "x <= split" or "x == split", perhaps with its branches exchanged. */
struct trees_rule {
  bool below, exchanged; /* below: the largest number under the split takes its place */
  uint32_t flags;
};

static struct trees_rule trees_rule_of(uint8_t mode) {
  const bool missing = (mode & TREES_MISSING) != 0;
  const int plain = mode & ~TREES_MISSING;
  struct trees_rule r = {.below = plain == TREES_LT || plain == TREES_GTE,
                         .exchanged = plain == TREES_GTE || plain == TREES_GT || plain == TREES_NEQ,
                         .flags = plain == TREES_EQ || plain == TREES_NEQ ? TREES_IS_EQUAL : 0};
  /* NaN: no comparison but NEQ holds, unless its flag sends it to the true branch. */
  const bool holds = missing || plain == TREES_NEQ;
  if (holds != r.exchanged) r.flags |= TREES_TAKES_NAN;
  return r;
}

#define TREES_PACK(T, below_of)                                                                                     \
  static uint32_t trees_pack_nodes_##T(const ci_kernel *k, const struct trees_plan *p, struct trees_node_##T *to) { \
    const T *splits = k->in[TREES_SPLITS]->data;                                                                    \
    const int32_t *features = k->in[TREES_FEATURES]->data, *branches = k->in[TREES_BRANCHES]->data;                 \
    const uint8_t *modes = k->in[TREES_MODES]->data;                                                                \
    uint32_t all = 0;                                                                                               \
    for (int64_t i = 0; i < p->nodes; i++) {                                                                        \
      const struct trees_rule r = trees_rule_of(modes[i]);                                                          \
      to[i].split = r.below ? below_of(splits[i]) : splits[i];                                                      \
      to[i].feature = (uint32_t)features[i] << 2 | r.flags;                                                         \
      for (int way = 0; way < 2; way++) {                                                                           \
        const int32_t next = branches[2 * i + way];                                                                 \
        to[i].next[r.exchanged ? 1 - way : way] = next >= 0 ? next : (int32_t)(p->nodes - 1 - next);                \
      }                                                                                                             \
      all |= r.flags;                                                                                               \
    }                                                                                                               \
    for (int64_t i = p->nodes; i < p->nodes + p->leaves; i++) {                                                     \
      to[i] = (struct trees_node_##T){.next = {(int32_t)i, (int32_t)i}};                                            \
    }                                                                                                               \
    return all;                                                                                                     \
  }
#define TREES_PACK_DENSE(T)                                                                                      \
  static void trees_pack_dense_##T(const ci_kernel *k, const struct trees_plan *p, T *to) {                      \
    const int32_t *starts = k->in[TREES_STARTS]->data, *targets = k->in[TREES_TARGETS]->data;                    \
    const T *weights = k->in[TREES_WEIGHTS]->data;                                                               \
    memset(to, 0, (size_t)p->leaves * (size_t)p->targets * sizeof(T));                                           \
    for (int64_t leaf = 0; leaf < p->leaves; leaf++) {                                                           \
      for (int32_t e = starts[leaf]; e < starts[leaf + 1]; e++) to[leaf * p->targets + targets[e]] = weights[e]; \
    }                                                                                                            \
  }
/* No number is below -inf, and a comparison with a NaN split never holds. */
static float trees_below_float(float x) { return x == -INFINITY ? NAN : ci_below_float(x); }
static double trees_below_double(double x) { return x == -(double)INFINITY ? (double)NAN : ci_below(x); }
TREES_PACK(float, trees_below_float)
TREES_PACK(double, trees_below_double)
TREES_PACK_DENSE(float)
TREES_PACK_DENSE(double)

/* How many steps the longest walk of each tree has: children come after their parents. */
static void trees_pack_roots(const ci_kernel *k, const struct trees_plan *p, char *memory) {
  const int32_t *branches = k->in[TREES_BRANCHES]->data, *from = k->in[TREES_ROOTS]->data;
  int32_t *roots = (int32_t *)(void *)(memory + p->at_roots), *depths = (int32_t *)(void *)(memory + p->at_depths);
  int32_t *height = (int32_t *)(void *)(memory + p->at_heights);
  for (int64_t i = p->nodes; i-- > 0;) {
    const int32_t a = branches[2 * i], b = branches[2 * i + 1];
    const int32_t ha = a < 0 ? 0 : height[a], hb = b < 0 ? 0 : height[b];
    height[i] = 1 + (ha > hb ? ha : hb);
  }
  for (int64_t t = 0; t < p->trees; t++) {
    roots[t] = from[t] >= 0 ? from[t] : (int32_t)(p->nodes - 1 - from[t]);
    depths[t] = from[t] >= 0 ? height[from[t]] : 0;
  }
}

static void trees_pack(const ci_kernel *k, const struct trees_plan *p, char *memory) {
  uint32_t flags;
  trees_pack_roots(k, p, memory);
  if (p->is_double) {
    flags = trees_pack_nodes_double(k, p, (struct trees_node_double *)(void *)memory);
  } else {
    flags = trees_pack_nodes_float(k, p, (struct trees_node_float *)(void *)memory);
  }
  if (p->dense && p->wide) trees_pack_dense_double(k, p, (double *)(void *)(memory + p->at_dense));
  if (p->dense && !p->wide) trees_pack_dense_float(k, p, (float *)(void *)(memory + p->at_dense));
  memcpy(memory + p->at_flags, &flags, sizeof flags);
}

/* ---- walks ---- */

#define TREES_ALL(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define TREES_BEGIN(l) int32_t at##l = at[l];
#define TREES_END(l) at[l] = at##l;
/* x_of(l): the row of walk l. */
#define TREES_STEP(l, x_of)                                   \
  {                                                           \
    const node *n = nodes + at##l;                            \
    at##l = n->next[!(x_of(l)[n->feature >> 2] <= n->split)]; \
  }
#define TREES_STEP_GENERAL(l, x_of)                                                              \
  {                                                                                              \
    const node *n = nodes + at##l;                                                               \
    const value v = x_of(l)[n->feature >> 2];                                                    \
    const bool equal = v == n->split, less = v < n->split && (n->feature & TREES_IS_EQUAL) == 0; \
    const bool missing = v != v && (n->feature & TREES_TAKES_NAN) != 0;                          \
    at##l = n->next[!(equal | less | missing)];                                                  \
  }
#define TREES_ONE_ROW(l) x
#define TREES_NEXT_ROW(l) (x + (l) * columns)
/* Eight walks of `depth` steps from at[0..7]. */
#define TREES_WALK(T, name, step, x_of)                                                                               \
  static void trees_##name##_##T(const struct trees_node_##T *nodes, const T *x, ptrdiff_t columns, int32_t *at,      \
                                 int32_t depth) {                                                                     \
    typedef struct trees_node_##T node;                                                                               \
    typedef T value;                                                                                                  \
    (void)columns;                                                                                                    \
    (void)sizeof(value);                                                                                              \
    TREES_ALL(TREES_BEGIN)                                                                                            \
    for (; depth > 0; depth--) {                                                                                      \
      step(0, x_of) step(1, x_of) step(2, x_of) step(3, x_of) step(4, x_of) step(5, x_of) step(6, x_of) step(7, x_of) \
    }                                                                                                                 \
    TREES_ALL(TREES_END)                                                                                              \
  }
#define TREES_WALKS(T)                                             \
  TREES_WALK(T, across, TREES_STEP, TREES_ONE_ROW)                 \
  TREES_WALK(T, across_general, TREES_STEP_GENERAL, TREES_ONE_ROW) \
  TREES_WALK(T, down, TREES_STEP, TREES_NEXT_ROW)                  \
  TREES_WALK(T, down_general, TREES_STEP_GENERAL, TREES_NEXT_ROW)

/* ---- sums: one chain a row and target, in the order of the trees ---- */

struct trees_run { /* shared by the parts of a run */
  const ci_kernel *k;
  const struct trees_plan *p;
  const char *memory;
  uint32_t flags;
};

#define TREES_SUMS(T)                                                                                          \
  static void trees_begin_##T(const struct trees_plan *p, T *y, int64_t rows) {                                \
    const T start = p->aggregate == TREES_MIN ? (T)INFINITY : p->aggregate == TREES_MAX ? -(T)INFINITY : (T)0; \
    for (int64_t i = 0; i < rows * p->targets; i++) y[i] = start;                                              \
  }                                                                                                            \
  /* One leaf into a row; named[target]: some leaf has a weight for it. */                                     \
  static void trees_add_##T(const struct trees_run *r, int32_t leaf, T *y) {                                   \
    const struct trees_plan *p = r->p;                                                                         \
    if (p->dense) {                                                                                            \
      const T *w = (const T *)(const void *)(r->memory + p->at_dense) + leaf * p->targets;                     \
      for (int64_t c = 0; c < p->targets; c++) y[c] = y[c] + w[c];                                             \
      return;                                                                                                  \
    }                                                                                                          \
    const int32_t *starts = r->k->in[TREES_STARTS]->data, *targets = r->k->in[TREES_TARGETS]->data;            \
    const T *weights = r->k->in[TREES_WEIGHTS]->data;                                                          \
    for (int32_t e = starts[leaf]; e < starts[leaf + 1]; e++) {                                                \
      T *to = y + targets[e];                                                                                  \
      if (p->aggregate == TREES_MIN) {                                                                         \
        *to = weights[e] < *to ? weights[e] : *to;                                                             \
      } else if (p->aggregate == TREES_MAX) {                                                                  \
        *to = weights[e] > *to ? weights[e] : *to;                                                             \
      } else {                                                                                                 \
        *to = *to + weights[e];                                                                                \
      }                                                                                                        \
    }                                                                                                          \
  }                                                                                                            \
  /* A target that no leaf names is 0. */                                                                      \
  static void trees_end_##T(const struct trees_plan *p, T *y, int64_t rows) {                                  \
    if (p->aggregate == TREES_SUM) return;                                                                     \
    const T start = p->aggregate == TREES_MIN ? (T)INFINITY : -(T)INFINITY, count = (T)p->trees;               \
    for (int64_t i = 0; i < rows * p->targets; i++) {                                                          \
      if (p->aggregate == TREES_AVERAGE) {                                                                     \
        y[i] = p->trees > 0 ? y[i] / count : (T)0;                                                             \
      } else if (y[i] == start) {                                                                              \
        y[i] = (T)0;                                                                                           \
      }                                                                                                        \
    }                                                                                                          \
  }
/* T: of x, W: of weights and y. */
#define TREES_PARTS(T, W, N)                                                                                       \
  /* Up to TREES_ROWS rows, tree after tree: a tree stays in the cache while they walk through it. */              \
  static void trees_rows_##N(const struct trees_run *r, const T *x, int64_t rows, W *y) {                          \
    const struct trees_plan *p = r->p;                                                                             \
    const int32_t *roots = (const int32_t *)(const void *)(r->memory + p->at_roots);                               \
    const int32_t *depths = (const int32_t *)(const void *)(r->memory + p->at_depths);                             \
    for (int64_t t = 0; t < p->trees; t++) {                                                                       \
      for (int64_t i = 0; i < rows; i += TREES_LANES) {                                                            \
        const int64_t first = i + TREES_LANES <= rows ? i : rows - TREES_LANES; /* some walk twice */              \
        int32_t at[TREES_LANES];                                                                                   \
        for (int l = 0; l < TREES_LANES; l++) at[l] = roots[t];                                                    \
        (r->flags != 0 ? trees_down_general_##T : trees_down_##T)((const void *)r->memory, x + first * p->columns, \
                                                                  (ptrdiff_t)p->columns, at, depths[t]);           \
        for (int64_t l = i; l < first + TREES_LANES; l++) {                                                        \
          trees_add_##W(r, at[l - first] - (int32_t)p->nodes, y + l * p->targets);                                 \
        }                                                                                                          \
      }                                                                                                            \
    }                                                                                                              \
  }                                                                                                                \
  /* One row, eight trees side by side. */                                                                         \
  static void trees_row_##N(const struct trees_run *r, const T *x, W *y) {                                         \
    const struct trees_plan *p = r->p;                                                                             \
    const int32_t *roots = (const int32_t *)(const void *)(r->memory + p->at_roots);                               \
    const int32_t *depths = (const int32_t *)(const void *)(r->memory + p->at_depths);                             \
    for (int64_t t = 0; t < p->trees; t += TREES_LANES) {                                                          \
      const int lanes = p->trees - t < TREES_LANES ? (int)(p->trees - t) : TREES_LANES;                            \
      int32_t at[TREES_LANES], depth = 0;                                                                          \
      for (int l = 0; l < TREES_LANES; l++) {                                                                      \
        at[l] = roots[l < lanes ? t + l : t];                                                                      \
        if (l < lanes && depths[t + l] > depth) depth = depths[t + l];                                             \
      }                                                                                                            \
      (r->flags != 0 ? trees_across_general_##T : trees_across_##T)((const void *)r->memory, x, 0, at, depth);     \
      for (int l = 0; l < lanes; l++) trees_add_##W(r, at[l] - (int32_t)p->nodes, y);                              \
    }                                                                                                              \
  }                                                                                                                \
  static void trees_part_##N(void *argument, int64_t begin, int64_t end, int thread) {                             \
    const struct trees_run *r = argument;                                                                          \
    const struct trees_plan *p = r->p;                                                                             \
    (void)thread;                                                                                                  \
    for (int64_t row = begin; row < end; row += TREES_ROWS) {                                                      \
      const int64_t rows = end - row < TREES_ROWS ? end - row : TREES_ROWS;                                        \
      const T *x = (const T *)r->k->in[TREES_X]->data + row * p->columns;                                          \
      W *y = (W *)r->k->out[0]->data + row * p->targets;                                                           \
      trees_begin_##W(p, y, rows);                                                                                 \
      if (rows >= TREES_LANES) {                                                                                   \
        trees_rows_##N(r, x, rows, y);                                                                             \
      } else {                                                                                                     \
        for (int64_t i = 0; i < rows; i++) trees_row_##N(r, x + i * p->columns, y + i * p->targets);               \
      }                                                                                                            \
      trees_end_##W(p, y, rows);                                                                                   \
    }                                                                                                              \
  }
TREES_WALKS(float)
TREES_WALKS(double)
TREES_SUMS(float)
TREES_SUMS(double)
TREES_PARTS(float, float, float)
TREES_PARTS(float, double, mixed)
TREES_PARTS(double, double, double)

/* ---- the operator ---- */

struct trees_fill {
  const ci_kernel *k;
  const struct trees_plan *p;
};

static void trees_fill(void *to, const ci_value *splits, const void *argument) {
  const struct trees_fill *f = argument;
  (void)splits;
  trees_pack(f->k, f->p, to);
}

static bool trees_are_constants(const ci_kernel *k) {
  for (int i = TREES_SPLITS; i < TREES_INPUTS; i++) {
    if (!ci_k_is_constant(k, i)) return false;
  }
  return true;
}

static ci_status trees_check(ci_kernel *k, const struct trees_plan *p) {
  CI_TRY(trees_check_nodes(k, p));
  return trees_check_leaves(k, p);
}

ci_status ci_prepare_tree_ensemble(ci_kernel *k) {
  struct trees_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  CI_TRY(trees_shapes(k, p));
  CI_TRY(trees_attributes(k, p));
  CI_TRY(ci_k_out(k, 0, p->wide ? CI_DOUBLE : CI_FLOAT, 2, (int64_t[]){k->in[TREES_X]->dims[0], p->targets}));
  if (!trees_layout(p)) return ci_k_no_memory(k);
  if (trees_are_constants(k)) {
    CI_TRY(trees_check(k, p));
    const uint32_t node =
        (uint32_t)(k->node->node - k->node->plan->model->nodes.at); /* the splits may have others too */
    p->memory = ci_k_packed(k, TREES_SPLITS, CI_PACK_TREES, node, p->bytes, trees_fill, &(struct trees_fill){k, p});
  }
  if (p->memory == NULL) k->scratch_bytes = p->bytes;
  return CI_OK;
}

ci_status ci_run_tree_ensemble(ci_kernel *k) {
  const struct trees_plan *p = k->private_memory;
  struct trees_run r = {.k = k, .p = p, .memory = p->memory};
  if (r.memory == NULL) {
    CI_TRY(trees_check(k, p));
    trees_pack(k, p, k->scratch);
    r.memory = k->scratch;
  }
  memcpy(&r.flags, r.memory + p->at_flags, sizeof r.flags);
  const int64_t grain = 1 + TREES_WORK / (1 + p->trees);
  const ci_part_fn part = p->is_double ? trees_part_double : p->wide ? trees_part_mixed : trees_part_float;
  ci_k_parallel(k, k->in[TREES_X]->dims[0], grain, part, &r);
  return CI_OK;
}
