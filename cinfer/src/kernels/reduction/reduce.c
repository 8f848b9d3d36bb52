/* reduce.c - ReduceSum and the other reductions (docs/numerics.md, "Reductions").
 *
 * The tensor is seen as [outer, n, inner]. Axes that are not adjacent: the reduced ones are first copied after the
 * others, so inner is 1.
 */
#include "reduce.h"

#include "../../simd/isa.h"
#include "../../simd/math/isa_move.h"
#include "../shape/copy.h"
#if CI_HAS_GEMM

typedef struct reduce_plan {
  bool mean, empty, copy_alone; /* copy_alone: nothing is reduced */
  int before, after; /* CI_BEFORE_..., CI_AFTER_... */
  size_t top_bytes;  /* of the largest ones, for CI_BEFORE_EXP */
  int64_t outer, n, inner;
  int64_t block;        /* L of the column form */
  int64_t pieces;       /* of one row, 0: no long rows */
  int64_t grain;        /* outer indices that are worth a thread */
  int64_t column_grain; /* columns */
  size_t item;
  const ci_typed_reduce *typed;
  ci_typed_row_fn typed_row;
  ci_row_fn row; /* float32 */
  ci_columns_fn columns;
  bool transposed;
  ci_copy copy;
} reduce_plan;

enum { REDUCE_PART_WORK = 1 << 15 };

/* ---- shapes ---- */

static ci_status reduce_axes(ci_kernel *k, bool *reduced) {
  const ci_value *x = k->in[0];
  int64_t axes[CI_MAX_RANK], noop;
  int count = 0;
  if (k->n_in > 1 && k->in[1] != NULL) CI_TRY(ci_k_known_ints(k, 1, axes, CI_MAX_RANK, &count));
  CI_TRY(ci_k_attr_i(k, "noop_with_empty_axes", 0, &noop));
  for (int i = 0; i < x->rank; i++) reduced[i] = count == 0 && noop == 0;
  for (int i = 0; i < count; i++) {
    int axis = 0;
    CI_TRY(ci_k_axis(k, axes[i], x->rank, &axis));
    if (reduced[axis]) return ci_k_fail(k, CI_INVALID_ARGUMENT, "axes name axis %d twice", axis);
    reduced[axis] = true;
  }
  return CI_OK;
}

/* Next to an axis of size 0 others may be of any size: no overflow of signed numbers, and the result is 0. */
static int64_t reduce_times(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

/* Neighbours of one kind become one; sizes of 1 vanish. Returns how many there are. */
static int reduce_groups(const ci_value *x, const bool *reduced, int64_t *size, bool *kind) {
  int groups = 0;
  for (int i = 0; i < x->rank; i++) {
    if (x->dims[i] == 1) continue;
    if (groups > 0 && kind[groups - 1] == reduced[i]) {
      size[groups - 1] = reduce_times(size[groups - 1], x->dims[i]);
    } else {
      size[groups] = x->dims[i];
      kind[groups++] = reduced[i];
    }
  }
  return groups;
}

/* The order of summation of MatMul for K = n and N = inner. */
static int64_t reduce_block(int64_t n, int64_t inner) {
  const int64_t length = inner <= 16 ? (n + 3) / 4 : inner <= 32 ? (n + 1) / 2 : n;
  return length < 16 ? 16 : length > 256 ? 256 : length;
}

/* Kept groups first, then reduced ones, each in their order. */
static void reduce_transpose(const ci_kernel *k, reduce_plan *p, const int64_t *size, const bool *kind, int groups) {
  ptrdiff_t from[CI_MAX_RANK], stride = 1, to[CI_MAX_RANK];
  for (int i = groups - 1; i >= 0; i--) {
    from[i] = stride;
    stride *= (ptrdiff_t)size[i];
  }
  stride = 1;
  for (int pass = 1; pass >= 0; pass--) {
    for (int i = groups - 1; i >= 0; i--) {
      if (kind[i] != (pass == 1)) continue;
      to[i] = stride;
      stride *= (ptrdiff_t)size[i];
    }
  }
  ci_copy_start(&p->copy, k->isa, p->item);
  for (int pass = 0; pass < 2; pass++) {
    for (int i = 0; i < groups; i++) {
      if (kind[i] == (pass == 1)) ci_copy_axis(&p->copy, size[i], from[i], to[i]);
    }
  }
}

static void reduce_shape(const ci_kernel *k, reduce_plan *p, const ci_value *x, const bool *reduced) {
  int64_t size[CI_MAX_RANK];
  bool kind[CI_MAX_RANK];
  const int groups = reduce_groups(x, reduced, size, kind), first = groups > 0 && !kind[0];
  p->outer = p->n = p->inner = 1;
  if (groups > first + 2) { /* kept or not, reduced, kept, reduced ... */
    p->transposed = true;
    for (int i = 0; i < groups; i++) {
      if (kind[i]) {
        p->n = reduce_times(p->n, size[i]);
      } else {
        p->outer = reduce_times(p->outer, size[i]);
      }
    }
    if (x->count > 0) reduce_transpose(k, p, size, kind, groups);
    return;
  }
  if (first) p->outer = size[0];
  if (groups > first) p->n = size[first];
  if (groups > first + 1) p->inner = size[first + 1];
}

static ci_status reduce_out(ci_kernel *k, const bool *reduced) {
  const ci_value *x = k->in[0];
  int64_t keep, dims[CI_MAX_RANK];
  int rank = 0;
  CI_TRY(ci_k_attr_i(k, "keepdims", 1, &keep));
  for (int i = 0; i < x->rank; i++) {
    if (!reduced[i]) dims[rank++] = x->dims[i];
    else if (keep != 0) dims[rank++] = 1;
  }
  return ci_k_out(k, 0, x->dtype, rank, dims);
}

static void reduce_parts(reduce_plan *p) {
  const int64_t all = p->n < REDUCE_PART_WORK ? p->n : REDUCE_PART_WORK;
  p->column_grain = REDUCE_PART_WORK / all;
  if (p->column_grain < 64) p->column_grain = 64;
  const int64_t one = p->inner < REDUCE_PART_WORK ? all * p->inner : REDUCE_PART_WORK;
  p->grain = one < REDUCE_PART_WORK ? REDUCE_PART_WORK / one : 1;
}

/* The functions of one operator on one type. */
static bool reduce_choose(const ci_kernel *k, reduce_plan *p, int op) {
  const int32_t dtype = k->in[0]->dtype;
  p->typed = ci_reduce_typed_find(op, dtype);
  const int integer = ci_move_integer(dtype == CI_BOOL ? CI_UINT8 : dtype);
  if (p->typed != NULL) p->typed_row = p->typed->row;
  if (p->typed != NULL && integer >= 0 && op != CI_REDUCE_PROD) {
    p->typed_row = k->isa->move->row[integer][op == CI_REDUCE_MAX   ? CI_MOVE_MAX
                                              : op == CI_REDUCE_MIN ? CI_MOVE_MIN
                                                                    : CI_MOVE_SUM];
  }
  p->row = dtype == CI_FLOAT ? k->isa->math->row[op] : NULL;
  p->columns = dtype == CI_FLOAT ? k->isa->math->columns[op] : NULL;
  return p->typed != NULL;
}

static ci_status reduce_plan_for(ci_kernel *k, int op, bool mean, const bool *reduced) {
  const ci_value *x = k->in[0];
  reduce_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  p->mean = mean;
  p->item = ci_dtype_size(x->dtype);
  if (!reduce_choose(k, p, op)) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "input 0 has type %s, for which this operator has no kernel",
                     ci_dtype_name(x->dtype));
  }
  reduce_shape(k, p, x, reduced);
  p->empty = x->count == 0;
  if (p->empty) return CI_OK;
  p->block = reduce_block(p->n, p->inner);
  reduce_parts(p);
  if (p->transposed) k->scratch_bytes = ci_round_up(x->bytes, 64);
  const bool ordered = op == CI_REDUCE_SUM || op == CI_REDUCE_PROD;
  if (ordered && p->inner == 1 && p->n > CI_REDUCE_LONGEST) {
    p->pieces = (p->n + CI_REDUCE_PIECE - 1) / CI_REDUCE_PIECE;
    k->scratch_bytes += (size_t)(p->outer * p->pieces) * 2 * p->item; /* lists of lists are shorter than these */
  }
  return CI_OK;
}

static ci_status reduce_prepare(ci_kernel *k, int op, bool mean) {
  bool reduced[CI_MAX_RANK];
  CI_TRY(reduce_axes(k, reduced));
  CI_TRY(reduce_out(k, reduced));
  return reduce_plan_for(k, op, mean, reduced);
}

ci_status ci_prepare_reduce_sum(ci_kernel *k) { return reduce_prepare(k, CI_REDUCE_SUM, false); }
ci_status ci_prepare_reduce_mean(ci_kernel *k) { return reduce_prepare(k, CI_REDUCE_SUM, true); }
ci_status ci_prepare_reduce_prod(ci_kernel *k) { return reduce_prepare(k, CI_REDUCE_PROD, false); }
ci_status ci_prepare_reduce_max(ci_kernel *k) { return reduce_prepare(k, CI_REDUCE_MAX, false); }
ci_status ci_prepare_reduce_min(ci_kernel *k) { return reduce_prepare(k, CI_REDUCE_MIN, false); }

/* The axes that broadcasting a tensor of shape in[1] would repeat. */
ci_status ci_prepare_sum_to_shape(ci_kernel *k) {
  const ci_value *x = k->in[0];
  int64_t target[CI_MAX_RANK];
  bool reduced[CI_MAX_RANK] = {false}, any = false;
  int rank = 0;
  CI_TRY(ci_k_known_ints(k, 1, target, CI_MAX_RANK, &rank));
  const int lead = x->rank - rank;
  bool fits = lead >= 0;
  for (int i = 0; fits && i < x->rank; i++) {
    const int64_t size = i < lead ? 1 : target[i - lead];
    fits = size == 1 || size == x->dims[i];
    reduced[i] = size != x->dims[i];
    any = any || reduced[i];
  }
  if (!fits) {
    char str[160];
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "a shape of %d sizes does not broadcast to x, which is %s", rank,
                     ci_value_describe(x, str, sizeof str));
  }
  CI_TRY(ci_k_out(k, 0, x->dtype, rank, target));
  if (!any) ci_k_in_place(k, 0, 0);
  CI_TRY(reduce_plan_for(k, CI_REDUCE_SUM, false, reduced));
  ((reduce_plan *)k->private_memory)->copy_alone = !any;
  return CI_OK;
}

ci_status ci_run_sum_to_shape(ci_kernel *k) {
  const reduce_plan *p = k->private_memory;
  if (!p->copy_alone) return ci_run_reduce(k);
  if (k->out[0]->data != k->in[0]->data && k->out[0]->bytes > 0) {
    memcpy(k->out[0]->data, k->in[0]->data, k->out[0]->bytes);
  }
  return CI_OK;
}

/* A sum with something before and after; logarithms and exponentials of floats alone. */
static ci_status reduce_prepare_norm(ci_kernel *k, int before, int after) {
  const ci_value *x = k->in[0];
  const bool floating = x->dtype == CI_FLOAT || x->dtype == CI_DOUBLE;
  if (after == CI_AFTER_LOG && !floating) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "input 0 has type %s, for which this operator has no kernel",
                     ci_dtype_name(x->dtype));
  }
  CI_TRY(reduce_prepare(k, CI_REDUCE_SUM, false));
  reduce_plan *p = k->private_memory;
  p->before = before;
  p->after = after;
  if (p->empty || before == CI_BEFORE_NOTHING) return CI_OK;
  if (!p->transposed) k->scratch_bytes += ci_round_up(x->bytes, 64);
  if (before == CI_BEFORE_EXP) p->top_bytes = ci_round_up(k->out[0]->bytes, 64);
  k->scratch_bytes += p->top_bytes;
  return CI_OK;
}

ci_status ci_prepare_reduce_l1(ci_kernel *k) { return reduce_prepare_norm(k, CI_BEFORE_ABS, CI_AFTER_NOTHING); }
ci_status ci_prepare_reduce_l2(ci_kernel *k) { return reduce_prepare_norm(k, CI_BEFORE_SQUARE, CI_AFTER_ROOT); }
ci_status ci_prepare_reduce_sum_square(ci_kernel *k) {
  return reduce_prepare_norm(k, CI_BEFORE_SQUARE, CI_AFTER_NOTHING);
}
ci_status ci_prepare_reduce_log_sum(ci_kernel *k) { return reduce_prepare_norm(k, CI_BEFORE_NOTHING, CI_AFTER_LOG); }
ci_status ci_prepare_reduce_log_sum_exp(ci_kernel *k) { return reduce_prepare_norm(k, CI_BEFORE_EXP, CI_AFTER_LOG); }

/* ---- runs ---- */

struct reduce_job {
  const reduce_plan *p;
  const char *x;
  char *y;
  int64_t n, pieces; /* of rows in pieces: elements of a row, and its pieces */
};

static void reduce_one_row(const reduce_plan *p, char *y, const char *x, int64_t n) {
  if (p->row != NULL) {
    const float value = p->row((const float *)(const void *)x, n);
    memcpy(y, &value, sizeof value);
  } else {
    p->typed_row(y, x, n);
  }
}

static void reduce_outer_part(void *argument, int64_t begin, int64_t end, int thread) {
  const struct reduce_job *job = argument;
  const reduce_plan *p = job->p;
  const ptrdiff_t item = (ptrdiff_t)p->item, in = item * (ptrdiff_t)(job->n * p->inner),
                  out = item * (ptrdiff_t)p->inner;
  const char *x = job->x + begin * in;
  char *y = job->y + begin * out;
  (void)thread;
  for (int64_t i = begin; i < end; i++, x += in, y += out) {
    if (p->inner == 1) {
      reduce_one_row(p, y, x, job->n);
    } else if (p->columns != NULL) {
      p->columns((float *)(void *)y, (const float *)(const void *)x, p->n, p->inner, (ptrdiff_t)p->inner, p->block);
    } else {
      p->typed->columns(y, x, p->n, p->inner, (ptrdiff_t)p->inner, p->block);
    }
  }
}

static void reduce_column_part(void *argument, int64_t begin, int64_t end, int thread) {
  const struct reduce_job *job = argument;
  const reduce_plan *p = job->p;
  const char *x = job->x + (size_t)begin * p->item;
  char *y = job->y + (size_t)begin * p->item;
  (void)thread;
  if (p->columns != NULL) {
    p->columns((float *)(void *)y, (const float *)(const void *)x, p->n, end - begin, (ptrdiff_t)p->inner, p->block);
  } else {
    p->typed->columns(y, x, p->n, end - begin, (ptrdiff_t)p->inner, p->block);
  }
}

/* Pieces begin..end of all rows, row after row. */
static void reduce_piece_part(void *argument, int64_t begin, int64_t end, int thread) {
  const struct reduce_job *job = argument;
  const reduce_plan *p = job->p;
  int64_t row = begin / job->pieces, piece = begin % job->pieces;
  (void)thread;
  for (int64_t i = begin; i < end; i++) {
    const int64_t at = piece * CI_REDUCE_PIECE, n = job->n - at < CI_REDUCE_PIECE ? job->n - at : CI_REDUCE_PIECE;
    reduce_one_row(p, job->y + (size_t)i * p->item, job->x + (size_t)(row * job->n + at) * p->item, n);
    if (++piece == job->pieces) {
      piece = 0;
      row++;
    }
  }
}

/* Long rows to the lists of their pieces, until the lists are short. */
static void reduce_pieces(ci_kernel *k, struct reduce_job *job, char *lists) {
  const reduce_plan *p = job->p;
  while (job->n > CI_REDUCE_LONGEST) {
    job->pieces = (job->n + CI_REDUCE_PIECE - 1) / CI_REDUCE_PIECE;
    char *y = job->y;
    job->y = lists;
    ci_k_parallel(k, p->outer * job->pieces, 8, reduce_piece_part, job);
    job->y = y;
    job->x = lists;
    lists += (size_t)(p->outer * job->pieces) * p->item;
    job->n = job->pieces;
  }
}

/* lists: memory for those of long rows. */
static void reduce_all(ci_kernel *k, struct reduce_job job, char *lists) {
  const reduce_plan *p = job.p;
  if (p->pieces > 0) reduce_pieces(k, &job, lists);
  if (p->inner > 1 && p->outer < k->threads) {
    const char *x = job.x;
    for (int64_t i = 0; i < p->outer; i++) {
      job.x = x + (size_t)(i * p->n * p->inner) * p->item;
      ci_k_parallel(k, p->inner, p->column_grain, reduce_column_part, &job);
      job.y += (size_t)p->inner * p->item;
    }
  } else if (p->outer <= p->grain) {
    reduce_outer_part(&job, 0, p->outer, 0);
  } else {
    ci_k_parallel(k, p->outer, p->grain, reduce_outer_part, &job);
  }
}

/* The largest of each row, those that are not finite as 0. */
static void reduce_tops(ci_kernel *k, const reduce_plan *p, const char *x, char *top) {
  reduce_plan largest = *p;
  largest.pieces = 0;
  reduce_choose(k, &largest, CI_REDUCE_MAX);
  reduce_all(k, (struct reduce_job){.p = &largest, .x = x, .y = top, .n = p->n}, NULL);
  ci_reduce_norm_finite(k->in[0]->dtype, top, k->out[0]->count);
}

ci_status ci_run_reduce(ci_kernel *k) {
  const reduce_plan *p = k->private_memory;
  struct reduce_job job = {.p = p, .x = k->in[0]->data, .y = k->out[0]->data, .n = p->n};
  char *top = k->scratch, *copy = p->top_bytes > 0 ? top + p->top_bytes : top, *lists = copy;
  if (p->empty) {
    p->typed->fill(job.y, NULL, k->out[0]->count);
    /* Bools are reduced as uint8: the minimum of none is 255. */
    if (k->out[0]->dtype == CI_BOOL && k->out[0]->count > 0) memset(job.y, *job.y & 1, k->out[0]->bytes);
  } else {
    if (p->transposed || p->before != CI_BEFORE_NOTHING) lists += ci_round_up(k->in[0]->bytes, 64);
    if (p->transposed) {
      ci_copy_run(&p->copy, copy, job.x);
      job.x = copy;
    }
    if (p->before == CI_BEFORE_EXP) reduce_tops(k, p, job.x, top);
    if (p->before != CI_BEFORE_NOTHING) {
      struct ci_reduce_map map = {.before = p->before,
                                  .dtype = k->in[0]->dtype,
                                  .item = p->item,
                                  .n = p->n,
                                  .inner = p->inner,
                                  .x = job.x,
                                  .top = top,
                                  .y = copy};
      ci_reduce_norm_before(k, &map, k->in[0]->count);
      job.x = copy;
    }
    reduce_all(k, job, lists);
  }
  if (p->after != CI_AFTER_NOTHING) ci_reduce_norm_after(k, p->after, p->top_bytes > 0 ? top : NULL);
  if (p->mean) p->typed->divide(k->out[0]->data, &p->n, k->out[0]->count);
  return CI_OK;
}

/* ---- one row for other kernels ---- */

int64_t ci_sum_partials(int64_t n) {
  return n > CI_REDUCE_LONGEST ? 2 * ((n + CI_REDUCE_PIECE - 1) / CI_REDUCE_PIECE) : 0;
}

static void reduce_sum_once(const struct ci_isa_math *math, int32_t dtype, void *y, const void *x, int64_t n) {
  if (dtype == CI_FLOAT) {
    *(float *)y = math->row[CI_REDUCE_SUM](x, n);
  } else {
    ci_reduce_typed_find(CI_REDUCE_SUM, dtype)->row(y, x, n);
  }
}

void ci_sum_row(const struct ci_isa_math *math, int32_t dtype, void *y, const void *x, int64_t n, void *partial) {
  const size_t item = dtype == CI_FLOAT ? sizeof(float) : sizeof(double);
  char *list = partial;
  while (n > CI_REDUCE_LONGEST) {
    int64_t pieces = 0;
    for (int64_t at = 0; at < n; at += CI_REDUCE_PIECE, pieces++) {
      reduce_sum_once(math, dtype, list + (size_t)pieces * item, (const char *)x + (size_t)at * item,
                      n - at < CI_REDUCE_PIECE ? n - at : CI_REDUCE_PIECE);
    }
    x = list;
    n = pieces;
    list += (size_t)pieces * item;
  }
  reduce_sum_once(math, dtype, y, x, n);
}
#endif
