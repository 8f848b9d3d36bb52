/* attention.c - Attention: some rows of q of one head at a time, so that only their scores are in memory
 * (docs/numerics.md, "Attention"). */
#include <math.h>

#include "../../simd/isa.h"
#include "../arithmetic/elementwise.h"
#include "../activation/softmax.h"
#include "../normalization/normalize.h"
#include "../linear/gemm.h"
#if CI_HAS(attention)

enum { ATTN_ROWS = 64, ATTN_FEW_ROWS = 8, ATTN_PART_WORK = 1 << 17 };
enum { ATTN_Q, ATTN_K, ATTN_V, ATTN_MASK, ATTN_PAST_KEY, ATTN_PAST_VALUE, ATTN_LENGTHS };

typedef struct attn_view { /* (n, heads, length, size) with any strides; steps in elements */
  int64_t n, heads, length, size;
  ptrdiff_t step[3]; /* of n, heads, length */
} attn_view;

typedef struct attn_plan {
  int32_t dtype, soft; /* soft: the type that the softmax is computed in */
  size_t item;
  attn_view q, k, v, y; /* k and v with the past */
  int64_t past, group;  /* heads of q for each of k */
  bool causal, mask_bool;
  int64_t left, right; /* < 0: no bound */
  int mode;
  ci_number scale, softcap;
  bool caps;
  ci_matmul scores, sums; /* q k', weights v */
  ptrdiff_t mask_step[3];
  int64_t mask_keys;
  int64_t rows, blocks, tasks, grain;                       /* rows of q in a task, tasks of a head */
  size_t scores_at, k_at, v_at, soft_at, thread_bytes;      /* in the scratch of one thread; q is at its start */
  size_t present_at[2];                                     /* in scratch, where the past has no output to go to */
} attn_plan;

static const ci_value *attn_in(const ci_kernel *k, int i) { return i < k->n_in ? k->in[i] : NULL; }

/* ---- run ---- */

/* Scores s of one row: -inf outside [low, high), the mask inside. False: no key takes part. */
#define ATTN_MASK(T, name)                                                                                      \
  static bool attn_mask_##name(T *s, const void *mask, bool boolean, int64_t low, int64_t high, int64_t keys) { \
    const T never = -(T)INFINITY;                                                                               \
    bool any = false;                                                                                           \
    for (int64_t j = 0; j < low; j++) s[j] = never;                                                             \
    for (int64_t j = high; j < keys; j++) s[j] = never;                                                         \
    if (mask == NULL) return low < high;                                                                        \
    if (boolean) {                                                                                              \
      const uint8_t *m = mask;                                                                                  \
      for (int64_t j = low; j < high; j++) {                                                                    \
        any |= m[j] != 0;                                                                                       \
        s[j] = m[j] != 0 ? s[j] : never;                                                                        \
      }                                                                                                         \
    } else {                                                                                                    \
      const T *m = mask;                                                                                        \
      for (int64_t j = low; j < high; j++) {                                                                    \
        any |= m[j] != never;                                                                                   \
        s[j] = m[j] == never ? never : s[j] + m[j];                                                             \
      }                                                                                                         \
    }                                                                                                           \
    return any;                                                                                                 \
  }
ATTN_MASK(float, f32)
ATTN_MASK(double, f64)

static int64_t attn_least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Mask and bounds of row i of batch b, head h. False: no key takes part. */
static bool attn_bound_row(const ci_kernel *k, const attn_plan *p, void *scores, int64_t b, int64_t h, int64_t i) {
  const ci_value *mask = attn_in(k, ATTN_MASK), *lengths = attn_in(k, ATTN_LENGTHS);
  const int64_t keys = p->k.length, length = lengths != NULL ? ((const int64_t *)lengths->data)[b] : keys;
  const int64_t at = i + (lengths != NULL ? length - p->q.length : p->past); /* the row's position among the keys */
  int64_t low = 0, high = attn_least(length, p->mask_keys);
  if (p->causal) high = attn_least(high, at + 1);
  if (p->right >= 0) high = attn_least(high, at + p->right + 1);
  if (p->left >= 0 && at > p->left) low = at - p->left;
  if (high < 0) high = 0;
  if (low > high) low = high;
  const char *m = NULL;
  if (mask != NULL) {
    m = (const char *)mask->data +
        (b * p->mask_step[0] + h * p->mask_step[1] + i * p->mask_step[2]) * (ptrdiff_t)ci_dtype_size(mask->dtype);
  }
  return p->dtype == CI_FLOAT ? attn_mask_f32(scores, m, p->mask_bool, low, high, keys)
                              : attn_mask_f64(scores, m, p->mask_bool, low, high, keys);
}

static void attn_softmax_row(const ci_kernel *k, const attn_plan *p, void *row, void *soft) {
  const int64_t keys = p->k.length;
  void *at = row;
  if (p->soft != p->dtype) {
    ci_cast_find(k->isa, p->dtype, p->soft)(soft, row, keys);
    at = soft;
  }
  if (p->soft == CI_FLOAT) {
    k->isa->math->softmax(at, at, 1, keys);
  } else {
    ci_softmax_double(at, at, 1, keys, false);
  }
  if (at != row) ci_cast_find(k->isa, p->soft, p->dtype)(row, soft, keys);
}

static void attn_tanh(const ci_kernel *k, const attn_plan *p, void *x, int64_t n) {
  ci_vector_binary(k, p->dtype, CI_MATH_div, x, x, &p->softcap, n, CI_SCALAR_B);
  if (p->dtype == CI_FLOAT) {
    k->isa->math->unary[CI_MATH_tanh](x, x, n, 0.0f, 0.0f);
  } else {
    ci_typed_unary(CI_MATH_tanh, CI_DOUBLE)(x, x, n, 0.0, 0.0);
  }
  ci_vector_binary(k, p->dtype, CI_MATH_mul, x, x, &p->softcap, n, CI_SCALAR_B);
}

typedef struct attn_job {
  ci_kernel *k;
  const char *keys, *values; /* with the past */
} attn_job;

static const char *attn_at(const attn_view *v, const void *data, size_t item, int64_t n, int64_t head, int64_t row) {
  return (const char *)data + (n * v->step[0] + head * v->step[1] + row * v->step[2]) * (ptrdiff_t)item;
}

/* One row of scores becomes weights; the part for the fourth output goes to `debug`. */
static void attn_row(const ci_kernel *k, const attn_plan *p, char *row, char *debug, void *soft, const int64_t at[3]) {
  const size_t bytes = (size_t)p->k.length * p->item;
  if (bytes == 0) return;
  if (debug != NULL && p->mode == 0) memcpy(debug, row, bytes);
  if (p->caps) attn_tanh(k, p, row, p->k.length);
  if (debug != NULL && p->mode == 1) memcpy(debug, row, bytes);
  const bool any = attn_bound_row(k, p, row, at[0], at[1], at[2]);
  if (debug != NULL && p->mode == 2) memcpy(debug, row, bytes);
  if (any) {
    attn_softmax_row(k, p, row, soft);
  } else {
    memset(row, 0, bytes);
  }
  if (debug != NULL && p->mode == 3) memcpy(debug, row, bytes);
}

/* Rows first .. first + rows of one head. */
static void attn_block(const attn_job *job, char *scratch, int64_t b, int64_t h, int64_t first, int64_t rows) {
  ci_kernel *k = job->k;
  const attn_plan *p = k->private_memory;
  const int64_t keys = p->k.length, size = p->q.size;
  char *scores = scratch + p->scores_at;
  for (int64_t i = 0; i < rows && size > 0; i++) {
    ci_vector_binary(k, p->dtype, CI_MATH_mul, scratch + (size_t)(i * size) * p->item,
                     attn_at(&p->q, k->in[ATTN_Q]->data, p->item, b, h, first + i), &p->scale, size, CI_SCALAR_B);
  }
  const ci_operand transposed = {attn_at(&p->k, job->keys, p->item, b, h / p->group, 0), 1, p->k.step[2]};
  const ci_matmul_part gemm = {.a = {scratch, (ptrdiff_t)size, 1},
                               .b = ci_matmul_pack_b(&p->scores, transposed, scratch + p->k_at),
                               .c = scores,
                               .c_row = (ptrdiff_t)keys,
                               .m = rows,
                               .n = keys,
                               .k = size};
  ci_matmul_compute(&p->scores, k->isa, &gemm);
  char *debug = NULL;
  if (k->n_out > 3) {
    debug = (char *)k->out[3]->data + (size_t)(((b * p->q.heads + h) * p->q.length + first) * keys) * p->item;
  }
  for (int64_t i = 0; i < rows; i++) {
    const size_t at = (size_t)(i * keys) * p->item;
    attn_row(k, p, scores + at, debug != NULL ? debug + at : NULL, scratch + p->soft_at,
             (const int64_t[3]){b, h, first + i});
  }
  const ci_operand values = {attn_at(&p->v, job->values, p->item, b, h / p->group, 0), p->v.step[2], 1};
  const ci_matmul_part sums = {
      .a = {scores, (ptrdiff_t)keys, 1},
      .b = ci_matmul_pack_b(&p->sums, values, scratch + p->v_at),
      .c = (char *)k->out[0]->data + (b * p->y.step[0] + h * p->y.step[1] + first * p->y.step[2]) * (ptrdiff_t)p->item,
      .c_row = p->y.step[2],
      .m = rows,
      .n = p->v.size,
      .k = keys};
  ci_matmul_compute(&p->sums, k->isa, &sums);
}

static void attn_part(void *argument, int64_t begin, int64_t end, int thread) {
  const attn_job *job = argument;
  const attn_plan *p = job->k->private_memory;
  char *scratch = (char *)job->k->scratch + p->thread_bytes * (size_t)thread;
  for (int64_t task = begin; task < end; task++) {
    const int64_t head = task / p->blocks, first = task % p->blocks * p->rows;
    attn_block(job, scratch, head / p->q.heads, head % p->q.heads, first, attn_least(p->rows, p->q.length - first));
  }
}

/* present = past, then x, as (n, heads, length, size). */
static void attn_append(const attn_plan *p, char *present, const ci_value *past, const ci_value *x,
                        const attn_view *from) {
  const size_t row = (size_t)from->size * p->item, before = (size_t)p->past * row;
  const char *old = past != NULL ? past->data : NULL;
  if (row == 0 || from->length + p->past == 0) return; /* there may be any number of heads without rows */
  for (int64_t head = 0; head < from->n * from->heads; head++) {
    if (before > 0) memcpy(present, old + (size_t)head * before, before);
    present += before;
    for (int64_t i = 0; i < from->length; i++, present += row) {
      memcpy(present, attn_at(from, x->data, p->item, head / from->heads, head % from->heads, i), row);
    }
  }
}

static attn_view attn_dense(int64_t n, int64_t heads, int64_t length, int64_t size) {
  return (attn_view){
      n, heads, length, size, {(ptrdiff_t)(heads * length * size), (ptrdiff_t)(length * size), (ptrdiff_t)size}};
}

/* The view of input i: rank 4, or rank 3 with `heads` side by side in the last axis. */
static attn_view attn_see(const ci_value *x, int64_t heads) {
  if (x->count == 0 && x->rank == 4) return (attn_view){x->dims[0], x->dims[1], x->dims[2], x->dims[3], {0, 0, 0}};
  if (x->rank == 4) return attn_dense(x->dims[0], x->dims[1], x->dims[2], x->dims[3]);
  attn_view v = {x->dims[0], heads, x->dims[1], x->dims[2] / heads, {0, 0, 0}};
  if (x->count == 0) return v;
  v.step[0] = (ptrdiff_t)(x->dims[1] * x->dims[2]);
  v.step[1] = (ptrdiff_t)v.size;
  v.step[2] = (ptrdiff_t)x->dims[2];
  return v;
}

ci_status ci_run_attention(ci_kernel *k) {
  const attn_plan *p = k->private_memory;
  const ci_value *lengths = attn_in(k, ATTN_LENGTHS);
  attn_job job = {.k = k, .keys = k->in[ATTN_K]->data, .values = k->in[ATTN_V]->data};
  const char **source[2] = {&job.keys, &job.values};
  for (int64_t b = 0; lengths != NULL && b < lengths->count; b++) {
    const int64_t length = ((const int64_t *)lengths->data)[b];
    if (length >= 0 && length <= p->k.length) continue;
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "nonpad_kv_seqlen %lld of %lld is outside [0, %lld]", (long long)length,
                     (long long)b, (long long)p->k.length);
  }
  for (int i = 0; i < 2; i++) {
    const ci_value *x = k->in[ATTN_K + i], *past = attn_in(k, ATTN_PAST_KEY + i);
    const attn_view from = attn_see(x, p->k.heads);
    char *present = 1 + i < k->n_out ? k->out[1 + i]->data
                    : past != NULL   ? (char *)k->scratch + p->present_at[i]
                                     : NULL;
    if (present != NULL) attn_append(p, present, past, x, &from);
    if (past != NULL) *source[i] = present;
  }
  if (p->tasks > 0) ci_k_parallel(k, p->tasks, p->grain, attn_part, &job);
  return CI_OK;
}

/* ---- prepare ---- */

static ci_status attn_attributes(ci_kernel *k, attn_plan *p) {
  int64_t causal, mode, soft;
  double softcap;
  CI_TRY(ci_k_attr_i(k, "is_causal", 0, &causal));
  CI_TRY(ci_k_attr_i(k, "qk_matmul_output_mode", 0, &mode));
  CI_TRY(ci_k_attr_i(k, "softmax_precision", 0, &soft));
  CI_TRY(ci_k_attr_i(k, "left_window_size", -1, &p->left));
  CI_TRY(ci_k_attr_i(k, "right_window_size", -1, &p->right));
  CI_TRY(ci_k_attr_f(k, "softcap", 0.0, &softcap));
  if (mode < 0 || mode > 3) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "qk_matmul_output_mode is %lld, expected 0 to 3", (long long)mode);
  }
  if (soft != 0 && soft != CI_FLOAT && soft != CI_FLOAT16 && soft != CI_DOUBLE && soft != CI_BFLOAT16) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "softmax_precision is %lld, expected 1, 10, 11 or 16", (long long)soft);
  }
  if (p->left < -1 || p->right < -1) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "the window sizes are %lld and %lld, expected -1 or more",
                     (long long)p->left, (long long)p->right);
  }
  const int64_t far = (int64_t)1 << 60; /* so that sums with positions stay in range */
  p->left = attn_least(p->left, far);
  p->right = attn_least(p->right, far);
  p->causal = causal != 0;
  p->mode = (int)mode;
  p->dtype = k->in[ATTN_Q]->dtype;
  p->item = ci_dtype_size(p->dtype);
  p->soft = soft == 0 ? p->dtype : soft == CI_DOUBLE ? CI_DOUBLE : CI_FLOAT;
  p->caps = softcap != 0.0;
  p->softcap = ci_number_of(p->dtype, softcap);
  return CI_OK;
}

/* q, k, v by heads, from rank 4 or from rank 3 and the numbers of heads. */
static ci_status attn_views(ci_kernel *k, attn_plan *p) {
  const ci_value *x[3] = {k->in[ATTN_Q], k->in[ATTN_K], k->in[ATTN_V]};
  attn_view *view[3] = {&p->q, &p->k, &p->v};
  int64_t heads[3];
  char found[3][160];
  CI_TRY(ci_k_attr_i(k, "q_num_heads", 0, &heads[0]));
  CI_TRY(ci_k_attr_i(k, "kv_num_heads", 0, &heads[1]));
  heads[2] = heads[1];
  const bool flat = x[0]->rank == 3;
  bool fits = flat ? heads[0] > 0 && heads[1] > 0 : !ci_k_has(k, "q_num_heads") && !ci_k_has(k, "kv_num_heads");
  for (int i = 0; i < 3; i++) {
    if (x[i]->rank != (flat ? 3 : 4) || (fits && flat && x[i]->dims[2] % heads[i] != 0)) fits = false;
    if (fits) *view[i] = attn_see(x[i], heads[i]);
  }
  if (fits) {
    fits = p->q.n == p->k.n && p->q.n == p->v.n && p->k.heads == p->v.heads && p->k.length == p->v.length &&
           p->q.size == p->k.size && p->k.heads > 0 && p->q.heads % p->k.heads == 0;
  }
  if (fits) return CI_OK;
  return ci_k_fail(
      k, CI_INVALID_ARGUMENT,
      "q, k, v are %s, %s, %s, expected (n, heads, q, size), (n, kv, k, size), (n, kv, k, v size) where kv "
      "divides heads, or rank 3 with q_num_heads and kv_num_heads",
      ci_value_describe(x[0], found[0], sizeof found[0]), ci_value_describe(x[1], found[1], sizeof found[1]),
      ci_value_describe(x[2], found[2], sizeof found[2]));
}

/* The past: k and v become views of past and present together. */
static ci_status attn_past(ci_kernel *k, attn_plan *p) {
  const ci_value *past[2] = {attn_in(k, ATTN_PAST_KEY), attn_in(k, ATTN_PAST_VALUE)};
  attn_view *view[2] = {&p->k, &p->v};
  char found[160];
  if ((past[0] == NULL) != (past[1] == NULL)) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "past_key and past_value must be given together");
  }
  for (int i = 0; i < 2 && past[0] != NULL; i++) {
    const ci_value *x = past[i];
    const attn_view *v = view[i];
    const bool fits = x->dtype == p->dtype && x->rank == 4 && x->dims[0] == v->n && x->dims[1] == v->heads &&
                      x->dims[3] == v->size && x->dims[2] == past[0]->dims[2] && x->dims[2] <= INT64_MAX / 4 &&
                      v->length <= INT64_MAX / 4;
    if (!fits) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "%s is %s, expected %s[%lld,%lld,past,%lld]",
                       i == 0 ? "past_key" : "past_value", ci_value_describe(x, found, sizeof found),
                       ci_dtype_name(p->dtype), (long long)v->n, (long long)v->heads, (long long)v->size);
    }
  }
  p->past = past[0] != NULL ? past[0]->dims[2] : 0;
  for (int i = 0; i < 2; i++) {
    const int64_t dims[4] = {view[i]->n, view[i]->heads, view[i]->length + p->past, view[i]->size};
    const bool some = k->in[ATTN_K + i]->count > 0 || (past[0] != NULL && past[i]->count > 0);
    if (1 + i < k->n_out) CI_TRY(ci_k_out(k, 1 + i, p->dtype, 4, dims));
    if (past[0] == NULL) continue;
    *view[i] = (attn_view){dims[0], dims[1], dims[2], dims[3], {0, 0, 0}};
    if (some) *view[i] = attn_dense(dims[0], dims[1], dims[2], dims[3]);
  }
  return CI_OK;
}

static ci_status attn_mask(ci_kernel *k, attn_plan *p) {
  const ci_value *mask = attn_in(k, ATTN_MASK), *lengths = attn_in(k, ATTN_LENGTHS);
  const int64_t full[3] = {p->q.n, p->q.heads, p->q.length};
  char found[160];
  p->mask_keys = p->k.length;
  if (lengths != NULL && (lengths->dtype != CI_INT64 || lengths->rank != 1 || lengths->dims[0] != p->q.n ||
                          attn_in(k, ATTN_PAST_KEY) != NULL)) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "nonpad_kv_seqlen is %s, expected int64[%lld] and no past_key",
                     ci_value_describe(lengths, found, sizeof found), (long long)p->q.n);
  }
  if (mask == NULL) return CI_OK;
  bool fits = mask->rank >= 1 && mask->rank <= 4 && (mask->dtype == CI_BOOL || mask->dtype == p->dtype);
  if (fits) fits = mask->dims[mask->rank - 1] <= p->k.length;
  int64_t step = fits ? mask->dims[mask->rank - 1] : 0;
  p->mask_keys = step;
  for (int i = 2, at = mask->rank - 2; fits && at >= 0; i--, at--) {
    fits = mask->dims[at] == 1 || mask->dims[at] == full[i];
    p->mask_step[i] = mask->dims[at] == 1 || mask->count == 0 ? 0 : (ptrdiff_t)step;
    if (mask->count > 0) step *= mask->dims[at];
  }
  p->mask_bool = mask->dtype == CI_BOOL;
  if (fits) return CI_OK;
  return ci_k_fail(k, CI_INVALID_ARGUMENT,
                   "attn_mask is %s, expected bool or %s, broadcasting to [%lld,%lld,%lld,%lld]",
                   ci_value_describe(mask, found, sizeof found), ci_dtype_name(p->dtype), (long long)full[0],
                   (long long)full[1], (long long)full[2], (long long)p->k.length);
}

/* Adds rows * columns elements to *total, and sets *at to their offset. */
static bool attn_reserve(size_t *total, size_t *at, int64_t rows, int64_t columns, size_t item) {
  size_t bytes;
  *at = *total;
  if (!ci_mul_size((uint64_t)rows, (uint64_t)columns, &bytes) || !ci_mul_size(bytes, item, &bytes)) return false;
  return bytes < SIZE_MAX / 4 && ci_add_size(*total, ci_round_up(bytes, 64), total);
}

/* Orders of summation, tasks and scratch. */
static ci_status attn_layout(ci_kernel *k, attn_plan *p) {
  const int64_t keys = p->k.length, size = p->q.size, v_size = p->v.size;
  size_t none, heads, total = 0, tasks;
  ci_matmul_rule(&p->scores, p->dtype, keys, size);
  ci_matmul_rule(&p->sums, p->dtype, v_size, keys);
  /* transposing k would cost more than the multiplication */
  if (p->q.length < ATTN_FEW_ROWS && size > 0) p->scores.dots = true;
  p->rows = attn_least(p->q.length, ATTN_ROWS);
  p->blocks = p->rows > 0 ? (p->q.length - 1) / p->rows + 1 : 0;
  const bool k_transposed = ci_matmul_b_bytes(&p->scores, 1, p->k.step[2]) > 0;
  const bool v_transposed = ci_matmul_b_bytes(&p->sums, p->v.step[2], 1) > 0;
  bool fits = attn_reserve(&total, &none, p->rows, size, p->item) &&
              attn_reserve(&total, &p->scores_at, p->rows, keys, p->item) &&
              attn_reserve(&total, &p->k_at, k_transposed ? keys : 0, size, p->item) &&
              attn_reserve(&total, &p->v_at, v_transposed ? keys : 0, v_size, p->item) &&
              attn_reserve(&total, &p->soft_at, p->soft != p->dtype ? keys : 0, 1, sizeof(double));
  p->thread_bytes = total;
  fits = fits && ci_mul_size(total, (uint64_t)k->threads, &total);
  for (int i = 0; i < 2 && fits; i++) {
    const attn_view *v = i == 0 ? &p->k : &p->v;
    const bool copied = p->past > 0 || attn_in(k, ATTN_PAST_KEY) != NULL;
    if (v->n > 0 && v->heads > INT64_MAX / v->n) return ci_k_fail(k, CI_RESOURCE_EXHAUSTED, "the shapes are too large");
    int64_t rows = v->n * v->heads;
    if (v->size == 0 || v->length == 0 || !copied || 1 + i < k->n_out) rows = 0;
    if (rows > 0 && v->length > INT64_MAX / rows)
      return ci_k_fail(k, CI_RESOURCE_EXHAUSTED, "the shapes are too large");
    fits = attn_reserve(&total, &p->present_at[i], rows * v->length, v->size, p->item);
  }
  fits = fits && ci_mul_size((uint64_t)p->q.n, (uint64_t)p->q.heads, &heads) &&
         ci_mul_size(heads, (uint64_t)p->blocks, &tasks) && tasks < SIZE_MAX / 4;
  if (!fits) return ci_k_fail(k, CI_RESOURCE_EXHAUSTED, "the shapes are too large");
  k->scratch_bytes = total;
  const bool nothing = k->out[0]->count == 0 && (k->n_out < 4 || k->out[3]->count == 0);
  p->tasks = nothing ? 0 : (int64_t)tasks;
  const double work = (double)p->rows * (double)keys * ((double)size + (double)v_size) + 1.0;
  p->grain = work < (double)ATTN_PART_WORK ? (int64_t)((double)ATTN_PART_WORK / work) + 1 : 1;
  return CI_OK;
}

ci_status ci_prepare_attention(ci_kernel *k) {
  double scale;
  attn_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_same_floats(k, 3));
  CI_TRY(attn_attributes(k, p));
  CI_TRY(attn_views(k, p));
  CI_TRY(attn_past(k, p));
  CI_TRY(attn_mask(k, p));
  p->group = p->q.heads / p->k.heads;
  CI_TRY(ci_k_attr_f(k, "scale", 1.0 / sqrt((double)(p->q.size > 0 ? p->q.size : 1)), &scale));
  p->scale = ci_number_of(p->dtype, scale);
  const bool flat = k->in[ATTN_Q]->rank == 3;
  const int64_t n = p->q.n, heads = p->q.heads, length = p->q.length, size = p->v.size, keys = p->k.length;
  if (size > 0 && heads > INT64_MAX / size) return ci_k_fail(k, CI_RESOURCE_EXHAUSTED, "the shapes are too large");
  const int64_t dims[4] = {n, heads, length, size}, flat_dims[3] = {n, length, heads * size};
  CI_TRY(ci_k_out(k, 0, p->dtype, flat ? 3 : 4, flat ? flat_dims : dims));
  if (k->n_out > 3) {
    const int64_t all[4] = {n, heads, length, keys};
    CI_TRY(ci_k_out(k, 3, p->dtype, 4, all));
  }
  p->y = attn_see(k->out[0], heads > 0 ? heads : 1);
  return attn_layout(k, p);
}
#endif
