/* matmul.c - MatMul (a (..., m, k), b (..., k, n), broadcast batches) and Gemm (alpha a' b' + beta c), alone and with
 * a program over their result. */
#include "../../simd/isa.h"
#include "../../simd/linear/isa_linear.h"
#include "../arithmetic/fused.h"
#include "gemm.h"
#if CI_HAS(linear)

enum {
  MATMUL_PACKED_TILE =
      64, /* columns that a thread takes at least: a multiple of the packed tiles of every instruction set */
  MATMUL_FEW_ROWS = 16,
  MATMUL_TILE_ROWS = CI_SWEEP_ROWS, /* rows and elements of the result that are finished while they are in the cache */
  MATMUL_TILE = 1 << 16
};
#define MATMUL_PART_WORK 131072 /* multiplications that are worth a thread */

struct matmul {
  ci_matmul gemm;
  bool direct; /* one small matrix whose operands are read in place: computed as one part */
  bool finishes; /* an epilogue follows the multiplication */
  bool may_follow; /* narrow tiles may run the epilogue, which is only a clamp and an addition to each column */
  bool b_packed_tiles; /* b is in packed tiles (gemm.h), by the model or in scratch */
  bool by_matrices; /* threads take entire matrices of a batch */
  bool by_columns; /* threads take packed tiles of columns instead of rows */
  int batch_rank; /* 0: at most one matrix */
  int64_t m;
  int64_t each; /* rows for each of out[0]'s first axis, which may have another length when it runs; 0: it has not */
  const void *b_packed; /* b in memory of the model, or NULL */
  const ci_fused *epilogue; /* of a fused operator, or NULL: there is none, or `clamp` is all of it */
  const ci_value *c; /* or NULL; for each row and column of the result c_row and c_col further */
  ci_clamp clamp; /* of a program that is no more than that; its `added` is c then */
  ci_matmul_part whole; /* but for its rows, and the addresses of a, c and a b that is not b_packed */
  ptrdiff_t c_row, c_col;
  double alpha, beta; /* Gemm: y = beta * c + alpha * y */
  ptrdiff_t a_row, a_col, b_row, b_col;
  size_t item, a_bytes, b_bytes,
      sweep_buffer_bytes; /* scratch: copies of a and b, work memory (gemm.h) for each thread */
  size_t each_bytes; /* of all three, of one thread that takes entire matrices */
  int64_t grain; /* rows, packed tiles or matrices a part */
  int64_t batches, batch_dims[CI_MAX_RANK];
  ptrdiff_t a_step[CI_MAX_RANK], b_step[CI_MAX_RANK]; /* elements from one matrix to the next of an axis */
};

typedef struct matmul_job { /* one matrix being computed */
  ci_kernel *k;
  const struct matmul *p;
  ci_operand a, b;
  char *y, *scratch;
  int64_t first_row; /* of y, in the complete result */
} matmul_job;

/* ---- Gemm's last step: y = fma(beta, c, alpha * y) ---- */

#define MATMUL_SCALE_ADD(T, name)                                                                       \
  static void matmul_scale_add_##name(T *y, T alpha, T beta, const T *c, ptrdiff_t c_step, int64_t n) { \
    for (int64_t i = 0; i < n; i++) {                                                                   \
      const T scaled = alpha * y[i];                                                                    \
      const T added = c == NULL ? (T)0 : beta * c[i * c_step];                                          \
      y[i] = c == NULL ? scaled : added + scaled;                                                       \
    }                                                                                                   \
  }
MATMUL_SCALE_ADD(double, double)
MATMUL_SCALE_ADD(uint32_t, uint32)
MATMUL_SCALE_ADD(uint64_t, uint64)

/* A part of the result, which holds the result of the multiplication; c is the addend. */
static void matmul_finish_float(const ci_kernel *k, const ci_matmul_part *part, const void *c) {
  const struct matmul *p = k->private_memory;
  const ci_finish finish = {.y = part->c,
                            .c = c,
                            .y_row = part->c_row,
                            .c_row = p->c_row,
                            .c_step = p->c_col,
                            .rows = part->m,
                            .n = part->n,
                            .alpha = (float)p->alpha,
                            .beta = (float)p->beta,
                            .low = p->clamp.low,
                            .high = p->clamp.high,
                            .clamps = p->clamp.clamps};
  k->isa->linear->finish(&finish);
}

static void matmul_finish_plain(const struct matmul *p, const ci_matmul_part *part, const char *c) {
  for (int64_t i = 0; i < part->m; i++) {
    void *y = (char *)part->c + (size_t)(i * part->c_row) * p->item;
    const void *added = c == NULL ? NULL : c + (size_t)(i * p->c_row) * p->item;
    switch (p->gemm.dtype) {
      case CI_DOUBLE: matmul_scale_add_double(y, p->alpha, p->beta, added, p->c_col, part->n); break;
      case CI_INT32:
      case CI_UINT32:
        matmul_scale_add_uint32(y, (uint32_t)(int64_t)p->alpha, (uint32_t)(int64_t)p->beta, added, p->c_col, part->n);
        break;
      default:
        matmul_scale_add_uint64(y, (uint64_t)(int64_t)p->alpha, (uint64_t)(int64_t)p->beta, added, p->c_col, part->n);
        break;
    }
  }
}

/* The addend of the result from (row, column) on. */
static const char *matmul_added(const struct matmul *p, int64_t row, int64_t column) {
  return p->c == NULL ? NULL : (const char *)p->c->data + (size_t)(row * p->c_row + column * p->c_col) * p->item;
}

/* A part of few columns: the multiplication runs the clamp, too. */
static void matmul_narrow(const ci_kernel *k, ci_matmul_part *part, int64_t column) {
  const struct matmul *p = k->private_memory;
  const ci_after after = {.added = p->c == NULL ? NULL : (const float *)p->c->data + column,
                          .clamps = p->clamp.clamps,
                          .low = p->clamp.low,
                          .high = p->clamp.high};
  part->after = &after;
  ci_matmul_compute(&p->gemm, k->isa, part);
  part->after = NULL;
}

/* A part of the result, from (row, column) on. */
static void matmul_compute(const ci_kernel *k, ci_matmul_part *part, int64_t row, int64_t column) {
  const struct matmul *p = k->private_memory;
  if (p->may_follow && ci_tile_is_narrow(part->m, part->n, part->k)) {
    matmul_narrow(k, part, column);
  } else {
    ci_matmul_compute(&p->gemm, k->isa, part);
    if (p->finishes && p->gemm.dtype == CI_FLOAT) matmul_finish_float(k, part, matmul_added(p, row, column));
    else if (p->finishes) matmul_finish_plain(p, part, matmul_added(p, row, column));
  }
  if (p->epilogue != NULL) ci_fused_rows(p->epilogue, part->c, part->c_row, row, column, part->m, part->n);
}

/* ---- one matrix multiplication, in parts ---- */

/* Some rows and columns of the result; they may use the work memory of `thread`. */
typedef struct matmul_position {
  int64_t row, rows, column, columns;
  int thread;
} matmul_position;

static void matmul_tile(const matmul_job *job, const matmul_position *at) {
  const struct matmul *p = job->p;
  char *sweep_buffer = p->sweep_buffer_bytes > 0 ? job->scratch + p->a_bytes + p->b_bytes : NULL;
  const ptrdiff_t b_step = (ptrdiff_t)at->column * (p->b_packed_tiles ? (ptrdiff_t)p->gemm.k : job->b.col);
  ci_matmul_part part = {
      .a = {(const char *)job->a.data + (size_t)(at->row * job->a.row) * p->item, job->a.row, job->a.col},
      .b = {(const char *)job->b.data + (size_t)b_step * p->item, job->b.row, job->b.col},
      .packed_tiles = p->b_packed_tiles,
      .c = job->y + (size_t)(at->row * p->gemm.n + at->column) * p->item,
      .c_row = (ptrdiff_t)p->gemm.n,
      .m = at->rows,
      .n = at->columns,
      .k = p->gemm.k,
      .sweep_buffer = sweep_buffer == NULL ? NULL : sweep_buffer + (size_t)at->thread * p->sweep_buffer_bytes};
  matmul_compute(job->k, &part, job->first_row + at->row, at->column);
}

static int64_t matmul_at_most(int64_t a, int64_t b) { return a < b ? a : b; }

/* A part, in tiles small enough to be finished in the cache. */
static void matmul_part(const matmul_job *job, const matmul_position *at) {
  const bool finishes = job->p->finishes || job->p->epilogue != NULL;
  if (!finishes || at->rows * at->columns <= MATMUL_TILE) {
    matmul_tile(job, at);
    return;
  }
  const int64_t rows_end = at->row + at->rows, columns_end = at->column + at->columns;
  for (int64_t row = at->row; row < rows_end; row += MATMUL_TILE_ROWS) {
    const int64_t rows = matmul_at_most(rows_end - row, MATMUL_TILE_ROWS);
    const int64_t width = (MATMUL_TILE / rows + MATMUL_PACKED_TILE - 1) / MATMUL_PACKED_TILE * MATMUL_PACKED_TILE;
    for (int64_t column = at->column; column < columns_end; column += width) {
      matmul_tile(job, &(matmul_position){row, rows, column, matmul_at_most(columns_end - column, width), at->thread});
    }
  }
}

static void matmul_rows(void *argument, int64_t begin, int64_t end, int thread) {
  const matmul_job *job = argument;
  matmul_part(job, &(matmul_position){begin, end - begin, 0, job->p->gemm.n, thread});
}

static void matmul_packed_tiles(void *argument, int64_t begin, int64_t end, int thread) {
  const matmul_job *job = argument;
  const int64_t from = begin * MATMUL_PACKED_TILE, to = matmul_at_most(end * MATMUL_PACKED_TILE, job->p->gemm.n);
  matmul_part(job, &(matmul_position){0, job->p->m, from, to - from, thread});
}

/* The operands of a matrix as its parts read them. */
static void matmul_pack(matmul_job *job) {
  const struct matmul *p = job->p;
  void *const copy =
      p->a_bytes > 0 ? job->scratch + p->a_bytes : job->scratch; /* which is NULL where no thread needs any */
  job->a = ci_matmul_pack_a(&p->gemm, p->m, job->a, job->scratch);
  if (p->b_packed != NULL) {
    job->b = (ci_operand){p->b_packed, p->whole.b.row, p->whole.b.col};
  } else if (p->b_packed_tiles) {
    job->b = ci_matmul_pack_tiles(&p->gemm, job->k->isa, job->b, copy);
  } else {
    job->b = ci_matmul_pack_b(&p->gemm, job->b, copy);
  }
}

/* Matrices of a batch, each cut into parts for the threads unless a thread takes it as a whole. */
static void matmul_matrices(void *argument, int64_t begin, int64_t end, int thread) {
  ci_kernel *k = argument;
  const struct matmul *p = k->private_memory;
  const bool alone = p->by_matrices || k->threads <= 1;
  char *const scratch = p->each_bytes > 0 ? (char *)k->scratch + (size_t)thread * p->each_bytes : k->scratch;
  for (int64_t matrix = begin; matrix < end; matrix++) {
    ptrdiff_t a = 0, b = 0;
    for (int64_t axis = p->batch_rank - 1, rest = matrix; axis >= 0; rest /= p->batch_dims[axis--]) {
      a += p->a_step[axis] * (ptrdiff_t)(rest % p->batch_dims[axis]);
      b += p->b_step[axis] * (ptrdiff_t)(rest % p->batch_dims[axis]);
    }
    matmul_job job = {.k = k,
                      .p = p,
                      .y = (char *)k->out[0]->data + (size_t)(matrix * p->m * p->gemm.n) * p->item,
                      .a = {(const char *)k->in[0]->data + (size_t)a * p->item, p->a_row, p->a_col},
                      .b = {(const char *)k->in[1]->data + (size_t)b * p->item, p->b_row, p->b_col},
                      .scratch = scratch,
                      .first_row = matrix * p->m};
    matmul_pack(&job);
    if (alone) {
      matmul_part(&job, &(matmul_position){0, p->m, 0, p->gemm.n, 0});
    } else if (p->by_columns) {
      ci_k_parallel(k, (p->gemm.n + MATMUL_PACKED_TILE - 1) / MATMUL_PACKED_TILE, p->grain, matmul_packed_tiles, &job);
    } else {
      ci_k_parallel(k, p->m, p->grain, matmul_rows, &job);
    }
  }
}

ci_status ci_run_matmul(ci_kernel *k) {
  const struct matmul *p = k->private_memory;
  if (p->direct) {
    ci_matmul_part whole = p->whole;
    whole.m = p->each > 0 ? p->each * k->out[0]->dims[0] : p->m;
    whole.a.data = k->in[0]->data;
    whole.b.data = p->b_packed != NULL ? p->b_packed : k->in[1]->data;
    whole.c = k->out[0]->data;
    matmul_compute(k, &whole, 0, 0);
  } else if (p->by_matrices) {
    ci_k_parallel(k, p->batches, p->grain, matmul_matrices, k);
  } else {
    matmul_matrices(k, 0, p->batches, 0);
  }
  return CI_OK;
}

/* ---- prepare ---- */

static ci_status matmul_types(ci_kernel *k) {
  const ci_value *a = k->in[0], *b = k->in[1];
  ci_matmul rule;
  char left[128], right[128];
  if (a->dtype != b->dtype || !ci_matmul_rule(&rule, a->dtype, 1, 1)) {
    return ci_k_fail(
        k, CI_INVALID_ARGUMENT,
        "a is %s and b is %s: both must have one of the types float32, float64, int32, int64, uint32, uint64",
        ci_value_describe(a, left, sizeof left), ci_value_describe(b, right, sizeof right));
  }
  return CI_OK;
}

ci_status ci_matmul_unequal(ci_kernel *k, const ci_value *a, const ci_value *b, int64_t columns, int64_t rows) {
  char left[128], right[128];
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "a has %lld columns, b has %lld rows, they must be equal (a %s, b %s)",
                   (long long)columns, (long long)rows, ci_value_describe(a, left, sizeof left),
                   ci_value_describe(b, right, sizeof right));
}

/* How several threads share the work. */
static void matmul_share(const ci_kernel *k, struct matmul *p) {
  const int64_t n = p->gemm.n, depth = p->gemm.k > 0 ? p->gemm.k : 1;
  p->by_matrices = p->batches >= k->threads;
  p->by_columns = p->m < MATMUL_FEW_ROWS && n > MATMUL_PACKED_TILE;
  const int64_t each = p->by_matrices ? p->m * n : p->by_columns ? MATMUL_PACKED_TILE * p->m : n; /* outputs of one */
  p->grain = each > 0 ? MATMUL_PART_WORK / depth / each + 1 : 1;
}

/* Up to how many rows one thread does all of a matrix whose operands are read in place. */
static int64_t matmul_direct_rows(const ci_kernel *k, const struct matmul *p) {
  const int64_t n = p->gemm.n, depth = p->gemm.k > 0 ? p->gemm.k : 1;
  const int64_t tile = MATMUL_TILE / n, part = (MATMUL_PART_WORK - 1) / depth / n;
  return k->threads > 1 && part < tile ? part : tile;
}

static bool matmul_may_follow(const struct matmul *p) {
  const bool plain = p->c == NULL || (p->c_row == 0 && p->c_col == 1 && p->beta == 1.0);
  return CI_LARGE && p->finishes && p->alpha == 1.0 && plain && p->gemm.dtype == CI_FLOAT && !p->gemm.dots;
}

/* Chooses copies and threads, and the range of row counts that the plan allows. */
static void matmul_plan_rows(ci_kernel *k, struct matmul *p) {
  const ci_matmul *rule = &p->gemm;
  const size_t threads = (size_t)(k->threads > 1 ? k->threads : 1);
  if (k->threads > 1) matmul_share(k, p);
  p->a_bytes = ci_round_up(ci_matmul_a_bytes(rule, p->m, p->a_row, p->a_col), 64);
  p->sweep_buffer_bytes = ci_matmul_buffer_bytes(rule, p->m, p->a_row, p->a_col);
  p->each_bytes = p->a_bytes + p->b_bytes + p->sweep_buffer_bytes;
  p->direct = p->batches == 1 && p->each_bytes == 0 && p->m <= matmul_direct_rows(k, p);
  k->scratch_bytes = p->by_matrices ? p->each_bytes * threads : p->each_bytes + p->sweep_buffer_bytes * (threads - 1);
}

/* The first axis of a is rows of one matrix, in which several axes may be merged, and of the result. */
static void matmul_free_rows(ci_kernel *k, struct matmul *p, const ci_value *c) {
  const ci_value *a = k->in[0], *b = k->in[1];
  const bool transposed = p->a_col != 1 || a->dims[a->rank - 1] != p->gemm.k;
  if (!p->direct || p->batch_rank != 0 || a->rank < 2 || b->rank != 2 || transposed) return;
  int64_t most = matmul_direct_rows(k, p);
  if (ci_matmul_buffer_bytes(&p->gemm, most, p->a_row, p->a_col) > 0) most = p->m;
  p->each = p->m / a->dims[0];
  k->free_rows = most / p->each;
  k->row_inputs = 1;
  if (c != NULL && c->rank == 2 && c->dims[0] == p->m) k->row_inputs |= 1 << 2;
}

/* Chooses the order of summation, copies and threads by the sizes. */
static void matmul_plan(ci_kernel *k, struct matmul *p, int64_t n, int64_t depth) {
  ci_matmul_rule(&p->gemm, k->in[0]->dtype, n, depth);
  p->item = ci_dtype_size(k->in[0]->dtype);
  p->finishes = p->c != NULL || p->alpha != 1.0;
  p->may_follow = matmul_may_follow(p);
  if (p->batches == 0) return; /* the other sizes may be anything */
  const ci_matmul *rule = &p->gemm;
  const size_t in_order = ci_matmul_b_bytes(rule, p->b_row, p->b_col),
               packed_tiles = ci_matmul_packed_tile_bytes(rule, k->isa);
  const bool one = k->in[1]->rank <= 2; /* one b for all matrices */
  p->b_packed = one ? ci_matmul_constant(rule, k, 1, (ci_operand){NULL, p->b_row, p->b_col}) : NULL;
  p->b_packed_tiles = packed_tiles > 0 && (p->b_packed != NULL || in_order > 0);
  p->b_bytes = p->b_packed != NULL ? 0 : ci_round_up(p->b_packed_tiles ? packed_tiles : in_order, 64);
  p->whole = (ci_matmul_part){.a = {NULL, p->a_row, p->a_col},
                              .b = {NULL, p->b_row, p->b_col},
                              .packed_tiles = p->b_packed_tiles,
                              .c_row = (ptrdiff_t)n,
                              .n = n,
                              .k = depth};
  if (p->b_packed != NULL && rule->dots) p->whole.b = (ci_operand){NULL, 1, (ptrdiff_t)depth};
  else if (p->b_packed != NULL)
    p->whole.b = (ci_operand){NULL, p->b_packed_tiles ? k->isa->linear->packed_tile_width : (ptrdiff_t)n, 1};
  matmul_plan_rows(k, p);
}

/* Batch strides of one operand, aligned at the right with the output's batch axes. */
static void matmul_steps(const ci_value *v, int rank, const int64_t *dims, ptrdiff_t *steps) {
  const int own = v->rank > 2 ? v->rank - 2 : 0;
  ptrdiff_t step = v->rank >= 2 ? (ptrdiff_t)(v->dims[v->rank - 2] * v->dims[v->rank - 1]) : 0;
  for (int i = rank - 1; i >= 0; i--) {
    const int axis = i - (rank - own);
    const int64_t size = axis >= 0 ? v->dims[axis] : 1;
    steps[i] = size == 1 && dims[i] != 1 ? 0 : step;
    if (axis < 0) steps[i] = 0;
    step *= (ptrdiff_t)size;
  }
}

ci_status ci_prepare_matmul(ci_kernel *k) {
  const ci_value *a = k->in[0], *b = k->in[1];
  CI_TRY(matmul_types(k));
  if (a->rank == 0 || b->rank == 0) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "%s is a scalar, MatMul needs rank 1 or more; Mul scales by a scalar",
                     a->rank == 0 ? "a" : "b");
  }
  const int64_t columns = a->dims[a->rank - 1], rows = b->dims[b->rank == 1 ? 0 : b->rank - 2];
  if (columns != rows) return ci_matmul_unequal(k, k->in[0], k->in[1], columns, rows);
  struct matmul *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  const int64_t n = b->rank == 1 ? 1 : b->dims[b->rank - 1];
  p->m = a->rank == 1 ? 1 : a->dims[a->rank - 2];
  p->alpha = 1.0;

  ci_value left = *a, right = *b; /* the batch axes alone */
  left.rank = a->rank > 2 ? a->rank - 2 : 0;
  right.rank = b->rank > 2 ? b->rank - 2 : 0;
  const ci_value *both[2] = {&left, &right};
  int rank = 0;
  int64_t dims[CI_MAX_RANK];
  CI_TRY(ci_k_broadcast(k, both, 2, &rank, dims));
  p->batches = ci_shape_count(dims, 0, rank);
  p->batch_rank = rank;
  memcpy(p->batch_dims, dims, (size_t)rank * sizeof *dims);
  const int axes = rank;
  if (a->rank > 1) dims[rank++] = p->m;
  if (b->rank > 1) dims[rank++] = n;
  CI_TRY(ci_k_out(k, 0, a->dtype, rank, dims));
  if (k->out[0]->count > 0) {
    matmul_steps(a, axes, dims, p->a_step);
    matmul_steps(b, axes, dims, p->b_step);
  }

  if (right.rank == 0 && a->rank > 2 && a->count > 0) { /* one b for all: the batches are just more rows */
    p->m *= p->batches;
    p->batches = 1;
    p->batch_rank = 0;
  }
  if (k->out[0]->count == 0) p->batches = 0;
  p->a_row = (ptrdiff_t)columns;
  p->a_col = 1;
  p->b_row = (ptrdiff_t)n;
  p->b_col = 1;
  matmul_plan(k, p, n, columns);
  matmul_free_rows(k, p, NULL);
  return CI_OK;
}

/* c (m, n), (n), (1, n), (m, 1) or one number. */
static ci_status matmul_gemm_c(ci_kernel *k, struct matmul *p, int64_t n) {
  const ci_value *c = k->in[2];
  char str[128];
  const int64_t rows = c->rank < 2 ? 1 : c->dims[0], columns = c->rank == 0 ? 1 : c->dims[c->rank - 1];
  if (c->dtype != k->in[0]->dtype || c->rank > 2 || (rows != 1 && rows != p->m) || (columns != 1 && columns != n)) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "c is %s, expected %s[%lld,%lld] or a shape that broadcasts to it",
                     ci_value_describe(c, str, sizeof str), ci_dtype_name(k->in[0]->dtype), (long long)p->m,
                     (long long)n);
  }
  p->c = p->beta != 0.0 ? c : NULL;
  p->c_row = rows == 1 ? 0 : (ptrdiff_t)columns;
  p->c_col = columns == 1 ? 0 : 1;
  return CI_OK;
}

ci_status ci_prepare_gemm(ci_kernel *k) {
  const ci_value *a = k->in[0], *b = k->in[1];
  int64_t a_transposed = 0, b_transposed = 0;
  double alpha = 1.0, beta = 1.0;
  CI_TRY(matmul_types(k));
  CI_TRY(ci_k_attr_i(k, "transA", 0, &a_transposed));
  CI_TRY(ci_k_attr_i(k, "transB", 0, &b_transposed));
  CI_TRY(ci_k_attr_f(k, "alpha", 1.0, &alpha));
  CI_TRY(ci_k_attr_f(k, "beta", 1.0, &beta));
  if (a->rank != 2 || b->rank != 2) {
    char left[128], right[128];
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "a is %s and b is %s: both must be matrices; MatMul takes other ranks",
                     ci_value_describe(a, left, sizeof left), ci_value_describe(b, right, sizeof right));
  }
  const bool whole = a->dtype != CI_FLOAT && a->dtype != CI_DOUBLE;
  const bool small = alpha >= -1e15 && alpha <= 1e15 && beta >= -1e15 && beta <= 1e15; /* not NaN either */
  if (whole && (!small || alpha != (double)(int64_t)alpha || beta != (double)(int64_t)beta)) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "alpha %g and beta %g must be whole numbers for %s", alpha, beta,
                     ci_dtype_name(a->dtype));
  }
  const int64_t columns = a->dims[a_transposed ? 0 : 1], rows = b->dims[b_transposed ? 1 : 0];
  if (columns != rows) return ci_matmul_unequal(k, k->in[0], k->in[1], columns, rows);
  struct matmul *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  const int64_t n = b->dims[b_transposed ? 0 : 1];
  p->m = a->dims[a_transposed ? 1 : 0];
  p->alpha = alpha;
  p->beta = beta;
  const ci_value *c = k->n_in > 2 ? k->in[2] : NULL;
  if (c != NULL) CI_TRY(matmul_gemm_c(k, p, n));
  const int64_t dims[2] = {p->m, n};
  CI_TRY(ci_k_out(k, 0, a->dtype, 2, dims));
  p->batches = k->out[0]->count == 0 ? 0 : 1;
  p->a_row = a_transposed ? 1 : (ptrdiff_t)columns;
  p->a_col = a_transposed ? (ptrdiff_t)p->m : 1;
  p->b_row = b_transposed ? 1 : (ptrdiff_t)n;
  p->b_col = b_transposed ? (ptrdiff_t)columns : 1;
  matmul_plan(k, p, n, columns);
  matmul_free_rows(k, p, c);
  return CI_OK;
}

/* ---- MatMul and Gemm with an epilogue (fused.h) ---- */

/* A clamp that the multiplication applies to its result in cache, instead of running a program. */
static void matmul_take(struct matmul *p, const ci_clamp *clamp) {
  p->clamp = *clamp;
  p->finishes = true;
  p->epilogue = NULL;
  if (clamp->added == NULL) return;
  p->c = clamp->added;
  p->c_row = clamp->row;
  p->c_col = clamp->col;
  p->beta = 1.0;
}

static ci_status matmul_fused(ci_kernel *k, const char *op, ci_status (*prepare)(ci_kernel *k), int first_extra) {
  CI_TRY(ci_k_prepare_as(k, (ci_span){op, strlen(op)}, "nodes", prepare));
  struct matmul *p = k->private_memory;
  ci_clamp clamp;
  CI_TRY(ci_fused_prepare(k, first_extra, p->gemm.n, &p->epilogue));
  if (!ci_fused_prepare_by_rows(k, p->epilogue, first_extra)) k->free_rows = 0;
  if (ci_fused_prepare_clamp(k, p->epilogue, &clamp) && (clamp.added == NULL || p->c == NULL)) matmul_take(p, &clamp);
  p->may_follow = matmul_may_follow(p);
  return CI_OK;
}

ci_status ci_prepare_fused_matmul(ci_kernel *k) { return matmul_fused(k, "MatMul", ci_prepare_matmul, 2); }

ci_status ci_prepare_fused_gemm(ci_kernel *k) { return matmul_fused(k, "Gemm", ci_prepare_gemm, 3); }
#endif
