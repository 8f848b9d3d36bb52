/* arg.c - ArgMax, ArgMin, CumSum and CumProd along one axis: the tensor as [outer, n, inner]. */
#include "../../simd/isa.h"
#include "../../simd/math/isa_math.h"
#include "../../simd/math/isa_move.h"
#include "../arithmetic/elementwise.h"
#include "arg.h"

typedef void (*arg_fn)(void *y, const void *x, int64_t n, int64_t inner, int64_t select);

typedef struct arg_plan { /* of both families */
  arg_fn fn;
  int64_t outer, n, inner, select, grain;
  bool rows, least;
  size_t in, out; /* bytes of one outer index */
} arg_plan;

enum { ARG_LAST = 1, ARG_EXCLUSIVE = 1, ARG_REVERSE = 2, ARG_PART_WORK = 1 << 15, ARG_BLOCK = 128 };

/* ---- ArgMax, ArgMin: the first (or last) of equals; a NaN beats all, the first one ---- */

#define ARG_BEST(name, T, better, unordered)                                                    \
  static void arg_##name(void *out, const void *in, int64_t n, int64_t inner, int64_t select) { \
    int64_t *y = out;                                                                           \
    for (int64_t c = 0; c < inner; c++) {                                                       \
      const T *x = (const T *)in + c;                                                           \
      T best = *x;                                                                              \
      int64_t at = 0;                                                                           \
      for (int64_t i = 1; i < n; i++) {                                                         \
        x += inner;                                                                             \
        if (*x better best || unordered(*x, best) || (select == ARG_LAST && *x == best)) {      \
          best = *x;                                                                            \
          at = i;                                                                               \
        }                                                                                       \
        if (unordered(best, (T)0)) break;                                                       \
      }                                                                                         \
      y[c] = at;                                                                                \
    }                                                                                           \
  }
/* Columns side by side. */
#define ARG_COLUMNS(name, better)                                                                              \
  CI_FAST static void arg_##name##_columns(int64_t *y, const float *in, int64_t n, int64_t inner, int columns, \
                                           bool last) {                                                        \
    float best[ARG_BLOCK];                                                                                     \
    int32_t at[ARG_BLOCK];                                                                                     \
    for (int c = 0; c < columns; c++) best[c] = in[c], at[c] = 0;                                              \
    for (int64_t i = 1; i < n; i++) {                                                                          \
      const float *x = in + i * inner;                                                                         \
      for (int c = 0; c < columns; c++) {                                                                      \
        const float v = x[c], old = best[c];                                                                   \
        const bool same = last & (v == old), takes = (v better old) | same | ((v != v) & (old == old));        \
        best[c] = takes ? v : old;                                                                             \
        at[c] = takes ? (int32_t)i : at[c];                                                                    \
      }                                                                                                        \
    }                                                                                                          \
    for (int c = 0; c < columns; c++) y[c] = at[c];                                                            \
  }                                                                                                            \
  static void arg_##name##_f32(void *out, const void *in, int64_t n, int64_t inner, int64_t select) {          \
    int64_t *y = out;                                                                                          \
    if (inner == 1 || n > INT32_MAX) {                                                                         \
      arg_##name##_row(out, in, n, inner, select);                                                             \
      return;                                                                                                  \
    }                                                                                                          \
    for (int64_t c = 0; c < inner; c += ARG_BLOCK) {                                                           \
      const int columns = inner - c < ARG_BLOCK ? (int)(inner - c) : ARG_BLOCK;                                \
      arg_##name##_columns(y + c, (const float *)in + c, n, inner, columns, select == ARG_LAST);               \
    }                                                                                                          \
  }
#define ARG_NAN(a, b) ((a) != (a) && (b) == (b))
#define ARG_NEVER(a, b) false
#define ARG_TYPES(T, name, id, W, class) ARG_BEST(max_##name, T, >, ARG_NEVER) ARG_BEST(min_##name, T, <, ARG_NEVER)
ARG_BEST(max_row, float, >, ARG_NAN)
ARG_BEST(min_row, float, <, ARG_NAN)
ARG_COLUMNS(max, >)
ARG_COLUMNS(min, <)
ARG_BEST(max_f64, double, >, ARG_NAN)
ARG_BEST(min_f64, double, <, ARG_NAN)
CI_COMPUTED_INTEGERS(ARG_TYPES)

/* ---- CumSum, CumProd: a chain from +0 or 1 ---- */

#define ARG_SPEED_f32 CI_FAST
#define ARG_SPEED_f64 CI_FAST
#define ARG_SPEED_i32 CI_FAST
#define ARG_SPEED_i64 CI_FAST
#define ARG_SPEED_i8
#define ARG_SPEED_i16
#define ARG_SPEED_u8
#define ARG_SPEED_u16
#define ARG_SPEED_u32
#define ARG_SPEED_u64
#define ARG_SCAN(speed, name, T, W, op, start)                                                  \
  speed static void arg_row_##name(T *restrict y, const T *before, const T *x, int64_t n) {     \
    for (int64_t c = 0; c < n; c++) y[c] = (T)((W)before[c] op(W) x[c]);                        \
  }                                                                                             \
  static void arg_##name(void *out, const void *in, int64_t n, int64_t inner, int64_t select) { \
    const int64_t first = select & ARG_REVERSE ? (n - 1) * inner : 0;                           \
    const int64_t step = select & ARG_REVERSE ? -inner : inner;                                 \
    const T *x = (const T *)in + first;                                                         \
    T *y = (T *)out + first;                                                                    \
    if (inner == 1) {                                                                           \
      T sum = (T)(start);                                                                       \
      for (int64_t i = 0; i < n; i++, x += step, y += step) {                                   \
        const T next = (T)((W)sum op(W) * x);                                                   \
        *y = select & ARG_EXCLUSIVE ? sum : next;                                               \
        sum = next;                                                                             \
      }                                                                                         \
      return;                                                                                   \
    }                                                                                           \
    for (int64_t c = 0; c < inner; c++) {                                                       \
      y[c] = select & ARG_EXCLUSIVE ? (T)(start) : (T)((W)(T)(start)op(W) x[c]);                \
    }                                                                                           \
    for (int64_t i = 1; i < n; i++) {                                                           \
      y += step;                                                                                \
      arg_row_##name(y, y - step, select & ARG_EXCLUSIVE ? x : x + step, inner);                \
      x += step;                                                                                \
    }                                                                                           \
  }
#define ARG_SCANS(T, name, id, W, class) \
  ARG_SCAN(ARG_SPEED_##name, sum_##name, T, W, +, 0) ARG_SCAN(ARG_SPEED_##name, prod_##name, T, W, *, 1)
ARG_SCANS(float, f32, CI_FLOAT, float, F)
ARG_SCANS(double, f64, CI_DOUBLE, double, F)
CI_COMPUTED_INTEGERS(ARG_SCANS)

enum { ARG_IS_MAX, ARG_IS_MIN, ARG_IS_SUM, ARG_IS_PROD, ARG_KINDS };
#if CI_HAS(selection)
#define ARG_SUMS(name) arg_sum_##name, arg_prod_##name
#else
#define ARG_SUMS(name) NULL, NULL
#endif
#define ARG_ENTRY(T, name, id, W, class) [CI_SLOT(id)] = {arg_max_##name, arg_min_##name, ARG_SUMS(name)},
static const arg_fn arg_table[CI_SLOTS][ARG_KINDS] = {ARG_ENTRY(float, f32, CI_FLOAT, float, F)
                                                          CI_COMPUTED_NUMBERS(ARG_ENTRY)};

/* ---- complete rows: the best number, then its index ---- */

enum { ARG_LOOK = 64 }; /* elements that are compared before the index is looked for among them */
#define ARG_FIND(name, T, is)                                                                         \
  CI_FAST static int64_t arg_find_##name(const void *in, const void *extreme, int64_t n, bool last) { \
    const T *x = in;                                                                                  \
    const T best = *(const T *)extreme;                                                               \
    int64_t from = last ? n - 1 - (n - 1) % ARG_LOOK : 0;                                             \
    for (; from >= 0 && from < n; from += last ? -ARG_LOOK : ARG_LOOK) {                              \
      const int64_t end = n - from < ARG_LOOK ? n : from + ARG_LOOK;                                  \
      int any = 0;                                                                                    \
      for (int64_t i = from; i < end; i++) any |= is(x[i], best);                                     \
      for (int64_t i = last ? end - 1 : from; any && i >= from && i < end; i += last ? -1 : 1) {      \
        if (is(x[i], best)) return i;                                                                 \
      }                                                                                               \
    }                                                                                                 \
    return 0;                                                                                         \
  }
#define ARG_SAME(a, b) ((a) == (b))
#define ARG_IS_NAN(a, b) ((void)(b), (a) != (a))
ARG_FIND(f32, float, ARG_SAME)
ARG_FIND(nan, float, ARG_IS_NAN)
ARG_FIND(i8, int8_t, ARG_SAME)
ARG_FIND(u8, uint8_t, ARG_SAME)
ARG_FIND(i32, int32_t, ARG_SAME)
ARG_FIND(i64, int64_t, ARG_SAME)

int64_t ci_arg_best(const struct ci_isa *isa, const float *x, int64_t n, bool least, bool last) {
  const float best = isa->math->row[least ? CI_REDUCE_MIN : CI_REDUCE_MAX](x, n);
  return best != best ? arg_find_nan(x, &best, n, false) : arg_find_f32(x, &best, n, last);
}

static int64_t arg_best_integer(const struct ci_isa *isa, int type, const void *x, int64_t n, bool least, bool last) {
  static int64_t (*const find[])(const void *, const void *, int64_t, bool) = {[CI_MOVE_i8] = arg_find_i8,
                                                                               [CI_MOVE_u8] = arg_find_u8,
                                                                               [CI_MOVE_i32] = arg_find_i32,
                                                                               [CI_MOVE_i64] = arg_find_i64};
  int64_t best;
  isa->move->row[type][least ? CI_MOVE_MIN : CI_MOVE_MAX](&best, x, n);
  return find[type](x, &best, n, last);
}

static void arg_rows_part(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const arg_plan *p = k->private_memory;
  const int type = ci_move_integer(k->in[0]->dtype);
  const bool last = p->select == ARG_LAST;
  (void)thread;
  for (int64_t i = begin; i < end; i++) {
    const void *x = (const char *)k->in[0]->data + (size_t)i * p->in;
    ((int64_t *)k->out[0]->data)[i] = type < 0 ? ci_arg_best(k->isa, x, p->n, p->least, last)
                                               : arg_best_integer(k->isa, type, x, p->n, p->least, last);
  }
}

/* ---- prepare and run ---- */

static ci_status arg_prepare(ci_kernel *k, int kind, int64_t axis_requested, int64_t select, int *axis) {
  const ci_value *x = k->in[0];
  CI_TRY(ci_k_axis(k, axis_requested, x->rank, axis));
  arg_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  const int slot = CI_SLOT(x->dtype);
  p->fn = slot < CI_SLOTS ? arg_table[slot][kind] : NULL;
  if (p->fn == NULL) return ci_k_fail(k, CI_UNIMPLEMENTED, "there is no kernel for %s", ci_dtype_name(x->dtype));
  p->outer = ci_shape_count(x->dims, 0, *axis);
  p->n = x->dims[*axis];
  p->inner = ci_shape_count(x->dims, *axis + 1, x->rank);
  p->select = select;
  if (x->count > 0) {
    const int64_t work = p->n * p->inner;
    p->in = x->bytes / (size_t)p->outer;
    p->grain = work < ARG_PART_WORK ? ARG_PART_WORK / work : 1;
  }
  return CI_OK;
}

static ci_status arg_prepare_best(ci_kernel *k, int kind) {
  const ci_value *x = k->in[0];
  int64_t axis_requested, keep, last, dims[CI_MAX_RANK];
  int axis, rank = 0;
  CI_TRY(ci_k_attr_i(k, "axis", 0, &axis_requested));
  CI_TRY(ci_k_attr_i(k, "keepdims", 1, &keep));
  CI_TRY(ci_k_attr_i(k, "select_last_index", 0, &last));
  CI_TRY(arg_prepare(k, kind, axis_requested, last != 0 ? ARG_LAST : 0, &axis));
  for (int i = 0; i < x->rank; i++) {
    if (i != axis) dims[rank++] = x->dims[i];
    else if (keep != 0) dims[rank++] = 1;
  }
  CI_TRY(ci_k_out(k, 0, CI_INT64, rank, dims));
  arg_plan *p = k->private_memory;
  p->out = (size_t)p->inner * sizeof(int64_t);
  p->rows = p->inner == 1 && (x->dtype == CI_FLOAT || ci_move_integer(x->dtype) >= 0);
  p->least = kind == ARG_IS_MIN;
  if (p->n > 0 || k->out[0]->count == 0) return CI_OK;
  return ci_k_fail(k, CI_INVALID_ARGUMENT,
                   "axis %d of the input has size 0: an empty axis has no largest or smallest element", axis);
}

ci_status ci_prepare_arg_max(ci_kernel *k) { return arg_prepare_best(k, ARG_IS_MAX); }
ci_status ci_prepare_arg_min(ci_kernel *k) { return arg_prepare_best(k, ARG_IS_MIN); }

static ci_status arg_prepare_scan(ci_kernel *k, int kind) {
  int64_t axis_requested, exclusive, reverse;
  int count, axis;
  CI_TRY(ci_k_known_ints(k, 1, &axis_requested, 1, &count));
  if (count != 1) return ci_k_fail(k, CI_INVALID_ARGUMENT, "axis must be one number");
  CI_TRY(ci_k_attr_i(k, "exclusive", 0, &exclusive));
  CI_TRY(ci_k_attr_i(k, "reverse", 0, &reverse));
  const int64_t select = (exclusive != 0 ? ARG_EXCLUSIVE : 0) | (reverse != 0 ? ARG_REVERSE : 0);
  CI_TRY(arg_prepare(k, kind, axis_requested, select, &axis));
  arg_plan *p = k->private_memory;
  p->out = p->in;
  return ci_k_out_like(k, 0, k->in[0]->dtype, k->in[0]);
}

ci_status ci_prepare_cum_sum(ci_kernel *k) { return arg_prepare_scan(k, ARG_IS_SUM); }
ci_status ci_prepare_cum_prod(ci_kernel *k) { return arg_prepare_scan(k, ARG_IS_PROD); }

static void arg_part(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const arg_plan *p = k->private_memory;
  (void)thread;
  for (int64_t i = begin; i < end; i++) {
    p->fn((char *)k->out[0]->data + (size_t)i * p->out, (const char *)k->in[0]->data + (size_t)i * p->in, p->n,
          p->inner, p->select);
  }
}

ci_status ci_run_along_axis(ci_kernel *k) {
  const arg_plan *p = k->private_memory;
  if (k->in[0]->count > 0) ci_k_parallel(k, p->outer, p->grain, p->rows ? arg_rows_part : arg_part, k);
  return CI_OK;
}
