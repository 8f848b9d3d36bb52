/* normalize.c - normalizations of rows: LayerNormalization, RMSNormalization, GroupNormalization,
 * InstanceNormalization, BatchNormalization, LpNormalization (docs/numerics.md, "Normalizations"). */
#include "normalize.h"

#include <math.h>

#include "../../simd/isa.h"
#include "../arithmetic/broadcast.h"
#include "../shape/copy.h"
#include "../arithmetic/elementwise.h"
#include "../linear/gemm.h"
#include "../reduction/reduce.h"
#if CI_HAS_GEMM

/* ONNX's defaults are floats; as literals in an expression they may have the precision of double. */
static const float norm_epsilon = 1e-5f, norm_momentum = 0.9f;

enum { NORM_PART_WORK = 1 << 13, NORM_CHUNK = 2048 }; /* elements: worth a thread; that stay in the cache */
enum { NORM_NONE, NORM_ROW, NORM_CHANNELS, NORM_LATER }; /* the strides of scale and bias along a row */

typedef struct norm_plan {
  int32_t dtype;
  size_t item, row_bytes, thread_bytes; /* scratch of one thread: rows of row_bytes, then partial sums */
  int64_t rows, n, grain;
  bool centred;
  double epsilon, momentum;
  int form[2];                           /* of scale and bias */
  int64_t groups, channels, segment;     /* NORM_CHANNELS: row r has channels (r % groups) * channels ..., each of
                                            `segment` elements */
  int64_t images, inner;                 /* BatchNormalization; LpNormalization */
  int p;
  ci_broadcast walk[2];                  /* NORM_LATER */
} norm_plan;

/* ---- arithmetic of rows ---- */

void ci_vector_binary(const ci_kernel *k, int32_t dtype, int op, void *y, const void *a, const void *b, int64_t n,
                      int scalar) {
  if (dtype == CI_FLOAT) {
    k->isa->math->binary[op](y, a, b, n, scalar);
  } else {
    ci_typed_binary(op, CI_DOUBLE)(y, a, b, n, scalar);
  }
}

ci_number ci_vector_dot(const ci_kernel *k, int32_t dtype, const void *a, const void *b, int64_t n) {
  ci_number y = {.d = 0.0};
  ci_matmul rule;
  ci_matmul_rule(&rule, dtype, 1, n);
  const ci_matmul_part part = {
      .a = {a, (ptrdiff_t)n, 1}, .b = {b, 1, (ptrdiff_t)n}, .c = &y, .c_row = 1, .m = 1, .n = 1, .k = n};
  ci_matmul_compute(&rule, k->isa, &part);
  return y;
}

ci_status ci_same_floats(ci_kernel *k, int n) {
  for (int i = 0; i < n && i < k->n_in; i++) {
    if (k->in[i] == NULL) continue;
    const int32_t dtype = k->in[i]->dtype;
    if (dtype != CI_FLOAT && dtype != CI_DOUBLE) {
      return ci_k_fail(k, CI_UNIMPLEMENTED,
                       "input %d has type %s, for which this operator has no kernel; it takes floats", i,
                       ci_dtype_name(dtype));
    }
    if (dtype == k->in[0]->dtype) continue;
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "input %d has type %s, input 0 has %s; they must be equal: cast one", i,
                     ci_dtype_name(dtype), ci_dtype_name(k->in[0]->dtype));
  }
  return CI_OK;
}

static ci_number norm_divide(int32_t dtype, ci_number a, double b) {
  if (dtype == CI_FLOAT) return (ci_number){.f = a.f / (float)b};
  return (ci_number){.d = a.d / b};
}

/* 1 / sqrt(v + epsilon); the root of a double that holds a float is the float's own, rounded once more. */
static ci_number norm_inverse(int32_t dtype, ci_number v, double epsilon) {
  if (dtype == CI_FLOAT) {
    const float sum = v.f + (float)epsilon; /* assigned: rounded where floats are computed in double, too */
    return (ci_number){.f = 1.0f / (float)sqrt((double)sum)};
  }
  return (ci_number){.d = 1.0 / sqrt(v.d + epsilon)};
}

/* d = x - mean or x; the statistics of the row. */
static void norm_statistics(const ci_kernel *k, const norm_plan *p, void *d, const void *x, void *partial,
                            ci_number *mean, ci_number *variance, ci_number *inverse) {
  *mean = (ci_number){.d = 0.0};
  if (p->centred) {
    ci_sum_row(k->isa->math, p->dtype, mean, x, p->n, partial);
    *mean = norm_divide(p->dtype, *mean, (double)p->n);
  }
  if (p->centred && p->dtype == CI_FLOAT) {
    variance->f = k->isa->math->centre(d, x, mean->f, p->n);
  } else if (p->centred) {
    ci_vector_binary(k, p->dtype, CI_MATH_sub, d, x, mean, p->n, CI_SCALAR_B);
    *variance = ci_vector_dot(k, p->dtype, d, d, p->n);
  } else {
    *variance = ci_vector_dot(k, p->dtype, x, x, p->n);
  }
  *variance = norm_divide(p->dtype, *variance, (double)p->n);
  *inverse = norm_inverse(p->dtype, *variance, p->epsilon);
}

/* y = (x - mean) / sqrt(variance + epsilon), or x / sqrt(mean square + epsilon). */
static void norm_row(const ci_kernel *k, const norm_plan *p, void *y, const void *x, void *partial, ci_number *mean,
                     ci_number *variance, ci_number *inverse) {
  norm_statistics(k, p, y, x, partial, mean, variance, inverse);
  ci_vector_binary(k, p->dtype, CI_MATH_mul, y, p->centred ? y : x, inverse, p->n, CI_SCALAR_B);
}

/* y = y op operand (scale or bias) for one row. */
static void norm_operand(const ci_kernel *k, const norm_plan *p, int which, void *y, int64_t row) {
  const int op = which == 0 ? CI_MATH_mul : CI_MATH_add;
  if (p->form[which] == NORM_ROW) {
    ci_vector_binary(k, p->dtype, op, y, y, k->in[1 + which]->data, p->n, CI_NO_SCALAR);
  } else if (p->form[which] == NORM_CHANNELS) {
    const char *number = (const char *)k->in[1 + which]->data + (size_t)(row % p->groups * p->channels) * p->item;
    for (int64_t c = 0; c < p->channels; c++, number += p->item) {
      void *at = (char *)y + (size_t)(c * p->segment) * p->item;
      ci_vector_binary(k, p->dtype, op, at, at, number, p->segment, CI_SCALAR_B);
    }
  }
}

/* Statistics are outputs of the type stash_type. */
static void norm_store(const ci_kernel *k, int output, int64_t row, double value) {
  if (output >= k->n_out) return;
  if (k->out[output]->dtype == CI_FLOAT) {
    ((float *)k->out[output]->data)[row] = (float)value;
  } else {
    ((double *)k->out[output]->data)[row] = value;
  }
}

static const float *norm_along(const ci_kernel *k, const norm_plan *p, int which) {
  return p->form[which] == NORM_ROW ? k->in[1 + which]->data : NULL;
}

static void norm_rows_part(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const norm_plan *p = k->private_memory;
  void *partial = (char *)k->scratch + p->thread_bytes * (size_t)thread;
  const bool whole = p->dtype == CI_FLOAT && p->centred && p->form[0] <= NORM_ROW && p->form[1] <= NORM_ROW;
  for (int64_t row = begin; row < end; row++) {
    const size_t at = (size_t)(row * p->n) * p->item;
    char *y = (char *)k->out[0]->data + at;
    const char *x = (const char *)k->in[0]->data + at;
    ci_number mean, variance, inverse;
    if (whole) {
      norm_statistics(k, p, y, x, partial, &mean, &variance, &inverse);
      k->isa->math->affine((float *)(void *)y, inverse.f, norm_along(k, p, 0), norm_along(k, p, 1), p->n);
    } else {
      norm_row(k, p, y, x, partial, &mean, &variance, &inverse);
      norm_operand(k, p, 0, y, row);
      norm_operand(k, p, 1, y, row);
    }
    norm_store(k, 1, row, ci_number_get(p->dtype, &mean));
    norm_store(k, 2, row, ci_number_get(p->dtype, &inverse));
  }
}

static void norm_parallel(ci_kernel *k, int64_t count, ci_part_fn part) {
  const norm_plan *p = k->private_memory;
  if (count <= p->grain) {
    part(k, 0, count, 0);
  } else {
    ci_k_parallel(k, count, p->grain, part, k);
  }
}

static void norm_broadcast_mul(const void *context, void *y, const void *const *x, int64_t n) {
  const ci_kernel *k = context;
  const norm_plan *p = k->private_memory;
  const int scalar = ci_broadcast_still(&p->walk[0], 1) && n > 1 ? CI_SCALAR_B : CI_NO_SCALAR;
  ci_vector_binary(k, p->dtype, CI_MATH_mul, y, x[0], x[1], n, scalar);
}
static void norm_broadcast_add(const void *context, void *y, const void *const *x, int64_t n) {
  const ci_kernel *k = context;
  const norm_plan *p = k->private_memory;
  const int scalar = ci_broadcast_still(&p->walk[1], 1) && n > 1 ? CI_SCALAR_B : CI_NO_SCALAR;
  ci_vector_binary(k, p->dtype, CI_MATH_add, y, x[0], x[1], n, scalar);
}

ci_status ci_run_normalize_rows(ci_kernel *k) {
  const norm_plan *p = k->private_memory;
  if (p->n == 0) { /* statistics of nothing */
    for (int64_t row = 0; row < p->rows; row++) {
      norm_store(k, 1, row, (double)NAN);
      norm_store(k, 2, row, (double)NAN);
    }
    return CI_OK;
  }
  norm_parallel(k, p->rows, norm_rows_part);
  for (int which = 0; which < 2; which++) {
    if (p->form[which] != NORM_LATER) continue;
    const void *x[2] = {k->out[0]->data, k->in[1 + which]->data};
    ci_broadcast_run(k, &p->walk[which], which == 0 ? norm_broadcast_mul : norm_broadcast_add, k, k->out[0]->data, x);
  }
  return CI_OK;
}

/* ---- prepare ---- */

/* The plan of `rows` rows of n elements, with `copies` of one in every thread's scratch. */
static norm_plan *norm_make(ci_kernel *k, int64_t rows, int64_t n, int copies) {
  norm_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return NULL;
  p->dtype = k->in[0]->dtype;
  p->item = ci_dtype_size(p->dtype);
  p->rows = rows;
  p->n = n;
  p->grain = n > 0 && n < NORM_PART_WORK ? NORM_PART_WORK / n : 1;
  if (k->in[0]->count > 0) { /* n is then no more than the input holds */
    p->row_bytes = ci_round_up((size_t)n * p->item, 64);
    p->thread_bytes = p->row_bytes * (size_t)copies + ci_round_up((size_t)ci_sum_partials(n) * p->item, 64);
    k->scratch_bytes = p->thread_bytes * (size_t)k->threads;
  }
  return p;
}

/* The strides of scale (which 0) or bias (1) along the rows that begin at `axis`. */
static ci_status norm_form(ci_kernel *k, norm_plan *p, int which, int axis) {
  const ci_value *x = k->in[0], *v = 1 + which < k->n_in ? k->in[1 + which] : NULL;
  char found[2][160];
  bool fits, row;
  if (v == NULL) return CI_OK;
  fits = v->rank <= x->rank;
  row = v->count == p->n;
  for (int i = 0; fits && i < v->rank; i++) {
    const int at = i + x->rank - v->rank;
    if (v->dims[i] != 1 && v->dims[i] != x->dims[at]) fits = false;
    if (v->dims[i] != 1 && at < axis) row = false;
  }
  if (!fits) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "%s is %s, which does not broadcast to x, %s",
                     which == 0 ? "scale" : "bias", ci_value_describe(v, found[0], sizeof found[0]),
                     ci_value_describe(x, found[1], sizeof found[1]));
  }
  p->form[which] = row ? NORM_ROW : v->count == 1 ? NORM_CHANNELS : NORM_LATER;
  if (p->form[0] == NORM_LATER) p->form[which] = NORM_LATER; /* the bias comes after the scale */
  const ci_value *both[2] = {k->out[0], v};
  if (p->form[which] == NORM_LATER) ci_broadcast_plan(&p->walk[which], k->out[0], both, 2);
  return CI_OK;
}

/* stash_type: all rows are computed in at least float32; it is the type of the statistics. */
static ci_status norm_stash(ci_kernel *k, int32_t *dtype) {
  int64_t stash;
  CI_TRY(ci_k_attr_i(k, "stash_type", CI_FLOAT, &stash));
  const bool known = stash == CI_FLOAT || stash == CI_DOUBLE;
  if (known || ((stash == CI_FLOAT16 || stash == CI_BFLOAT16) && k->n_out == 1)) {
    *dtype = (int32_t)stash;
    return CI_OK;
  }
  return ci_k_fail(k, CI_UNIMPLEMENTED, "stash_type is %lld, there are kernels for 1 (float32) and 11 (float64)",
                   (long long)stash);
}

static ci_status norm_last_axes(ci_kernel *k, bool centred) {
  const ci_value *x = k->in[0];
  int64_t requested, dims[CI_MAX_RANK];
  int axis = 0;
  int32_t stash;
  double epsilon;
  CI_TRY(ci_same_floats(k, 3));
  CI_TRY(ci_k_attr_i(k, "axis", -1, &requested));
  CI_TRY(ci_k_axis(k, requested, x->rank, &axis));
  CI_TRY(ci_k_attr_f(k, "epsilon", (double)norm_epsilon, &epsilon));
  CI_TRY(norm_stash(k, &stash));
  CI_TRY(ci_k_out_like(k, 0, x->dtype, x));
  for (int i = 0; i < x->rank; i++) dims[i] = i < axis ? x->dims[i] : 1;
  for (int i = 1; i < k->n_out; i++) CI_TRY(ci_k_out(k, i, stash, x->rank, dims));
  const bool some = x->count > 0; /* sizes multiplied may overflow next to a zero; ci_k_out has checked those it made */
  const int64_t n = some ? ci_shape_count(x->dims, axis, x->rank) : 0;
  const int64_t rows = some ? x->count / n : k->n_out > 1 ? k->out[1]->count : 0;
  norm_plan *p = norm_make(k, rows, n, 0);
  if (p == NULL) return ci_k_no_memory(k);
  p->centred = centred;
  p->epsilon = epsilon;
  p->groups = p->channels = 1;
  p->segment = n;
  CI_TRY(norm_form(k, p, 0, axis));
  return norm_form(k, p, 1, axis);
}
ci_status ci_prepare_layer_normalization(ci_kernel *k) { return norm_last_axes(k, true); }
ci_status ci_prepare_rms_normalization(ci_kernel *k) { return norm_last_axes(k, false); }

/* x has at least two axes, and inputs 1 ... are vectors of its second axis' size. */
static ci_status norm_per_channel(ci_kernel *k, int inputs) {
  const ci_value *x = k->in[0];
  char found[2][160];
  CI_TRY(ci_same_floats(k, inputs));
  if (x->rank < 2) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "x is %s, expected rank 2 or more: (n, channels, ...)",
                     ci_value_describe(x, found[0], sizeof found[0]));
  }
  for (int i = 1; i < inputs; i++) {
    if (k->in[i]->rank == 1 && k->in[i]->dims[0] == x->dims[1]) continue;
    return ci_k_fail(k, CI_INVALID_ARGUMENT,
                     "input %d is %s, expected one number for each of the %lld channels of x, %s", i,
                     ci_value_describe(k->in[i], found[0], sizeof found[0]), (long long)x->dims[1],
                     ci_value_describe(x, found[1], sizeof found[1]));
  }
  return CI_OK;
}

static ci_status norm_groups(ci_kernel *k, int64_t groups) {
  const ci_value *x = k->in[0];
  double epsilon;
  CI_TRY(ci_k_attr_f(k, "epsilon", (double)norm_epsilon, &epsilon));
  CI_TRY(ci_k_out_like(k, 0, x->dtype, x));
  const int64_t channels = groups > 0 ? x->dims[1] / groups : 0, inner = ci_shape_count(x->dims, 2, x->rank);
  const bool some = x->count > 0; /* sizes multiplied may overflow next to a zero */
  norm_plan *p = norm_make(k, some ? x->dims[0] * groups : 0, some ? channels * inner : 0, 0);
  if (p == NULL) return ci_k_no_memory(k);
  p->centred = true;
  p->epsilon = epsilon;
  p->form[0] = p->form[1] = NORM_CHANNELS;
  p->groups = groups;
  p->channels = channels;
  p->segment = inner;
  return CI_OK;
}

ci_status ci_prepare_instance_normalization(ci_kernel *k) {
  CI_TRY(norm_per_channel(k, 3));
  return norm_groups(k, k->in[0]->dims[1]);
}

ci_status ci_prepare_group_normalization(ci_kernel *k) {
  int64_t groups;
  int32_t stash;
  CI_TRY(norm_per_channel(k, 3));
  CI_TRY(norm_stash(k, &stash));
  CI_TRY(ci_k_attr_i(k, "num_groups", 0, &groups));
  if (groups < 1 || k->in[0]->dims[1] % groups != 0) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT,
                     "num_groups is %lld, expected a number of groups that divides %lld channels", (long long)groups,
                     (long long)k->in[0]->dims[1]);
  }
  return norm_groups(k, groups);
}

/* ---- BatchNormalization ---- */

ci_status ci_prepare_batch_normalization(ci_kernel *k) {
  const ci_value *x = k->in[0];
  int64_t training;
  double epsilon, momentum;
  CI_TRY(norm_per_channel(k, 5));
  CI_TRY(ci_k_attr_i(k, "training_mode", 0, &training));
  CI_TRY(ci_k_attr_f(k, "epsilon", (double)norm_epsilon, &epsilon));
  CI_TRY(ci_k_attr_f(k, "momentum", (double)norm_momentum, &momentum));
  if (training == 0 && k->n_out > 1) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "there are %d outputs, expected 1 without training_mode", k->n_out);
  }
  CI_TRY(ci_k_out_like(k, 0, x->dtype, x));
  for (int i = 1; i < k->n_out; i++) CI_TRY(ci_k_out(k, i, x->dtype, 1, x->dims + 1));
  const int64_t inner = ci_shape_count(x->dims, 2, x->rank), images = x->dims[0];
  norm_plan *p = norm_make(k, x->dims[1], x->count > 0 ? images * inner : 0, training != 0 ? 2 : 0);
  if (p == NULL) return ci_k_no_memory(k);
  p->centred = true;
  p->epsilon = epsilon;
  p->momentum = momentum;
  p->images = images;
  p->inner = inner;
  p->form[0] = p->form[1] = NORM_CHANNELS;
  p->groups = p->rows > 0 ? p->rows : 1;
  p->channels = 1;
  p->segment = p->n;
  p->p = training != 0;
  if (training == 0) ci_k_in_place_alone(k, 0, 0);
  if (training == 0 && x->count > 0) {
    k->scratch_bytes = ci_round_up((size_t)p->rows * p->item, 64);
    p->grain = inner > 1 ? (NORM_PART_WORK + inner - 1) / inner : (NORM_PART_WORK + p->rows - 1) / p->rows;
  }
  return CI_OK;
}

/* y = ((x - mean) * factor) + bias: planes of a channel, or images of inner 1 with all channels side by side. */
static void norm_batch_part(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const norm_plan *p = k->private_memory;
  const bool planes = p->inner > 1;
  const int64_t size = planes ? p->inner : p->rows;
  const int scalar = planes ? CI_SCALAR_B : CI_NO_SCALAR;
  (void)thread;
  for (int64_t i = begin; i < end; i++) {
    for (int64_t at = 0; at < size; at += NORM_CHUNK) {
      const int64_t n = size - at < NORM_CHUNK ? size - at : NORM_CHUNK;
      const size_t offset = (size_t)(i * size + at) * p->item;
      const size_t channel = (size_t)(planes ? i % p->rows : at) * p->item;
      char *y = (char *)k->out[0]->data + offset;
      if (p->dtype == CI_FLOAT) {
        const size_t at_channel = channel / sizeof(float);
        k->isa->math->batch((float *)(void *)y, (const float *)k->in[0]->data + offset / sizeof(float),
                            (const float *)k->in[3]->data + at_channel, (const float *)k->scratch + at_channel,
                            (const float *)k->in[2]->data + at_channel, n, planes);
        continue;
      }
      ci_vector_binary(k, p->dtype, CI_MATH_sub, y, (const char *)k->in[0]->data + offset,
                       (const char *)k->in[3]->data + channel, n, scalar);
      ci_vector_binary(k, p->dtype, CI_MATH_mul, y, y, (const char *)k->scratch + channel, n, scalar);
      ci_vector_binary(k, p->dtype, CI_MATH_add, y, y, (const char *)k->in[2]->data + channel, n, scalar);
    }
  }
}

/* new = old * momentum + current * (1 - momentum) */
static void norm_running(const ci_kernel *k, const norm_plan *p, int output, int64_t channel, ci_number current) {
  if (output >= k->n_out) return;
  if (p->dtype == CI_FLOAT) {
    const float m = (float)p->momentum, kept = ((const float *)k->in[2 + output]->data)[channel] * m;
    const float rest = 1.0f - m, added = current.f * rest;
    ((float *)k->out[output]->data)[channel] = kept + added;
  } else {
    const double m = p->momentum, kept = ((const double *)k->in[2 + output]->data)[channel] * m;
    const double added = current.d * (1.0 - m);
    ((double *)k->out[output]->data)[channel] = kept + added;
  }
}

/* A channel of all images is one row: copied together, normalized, copied back. */
static void norm_training_part(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const norm_plan *p = k->private_memory;
  char *row = (char *)k->scratch + p->thread_bytes * (size_t)thread, *result = row + p->row_bytes;
  const size_t plane = (size_t)p->inner * p->item;
  for (int64_t c = begin; c < end; c++) {
    const char *x = (const char *)k->in[0]->data + (size_t)c * plane;
    char *y = (char *)k->out[0]->data + (size_t)c * plane;
    ci_number mean, variance, inverse;
    for (int64_t i = 0; i < p->images; i++) {
      memcpy(row + (size_t)i * plane, x + (size_t)(i * p->rows) * plane, plane);
    }
    norm_row(k, p, result, row, result + p->row_bytes, &mean, &variance, &inverse);
    norm_operand(k, p, 0, result, c);
    norm_operand(k, p, 1, result, c);
    for (int64_t i = 0; i < p->images; i++) {
      memcpy(y + (size_t)(i * p->rows) * plane, result + (size_t)i * plane, plane);
    }
    norm_running(k, p, 1, c, mean);
    norm_running(k, p, 2, c, variance);
  }
}

ci_status ci_run_batch_normalization(ci_kernel *k) {
  const norm_plan *p = k->private_memory;
  if (p->p != 0 && p->n == 0) { /* statistics of nothing */
    for (int64_t c = 0; c < p->rows; c++) {
      norm_store(k, 1, c, (double)NAN);
      norm_store(k, 2, c, (double)NAN);
    }
    return CI_OK;
  }
  if (p->p != 0) {
    norm_parallel(k, p->rows, norm_training_part);
    return CI_OK;
  }
  if (p->n == 0 || p->rows == 0) return CI_OK;
  for (int64_t c = 0; c < p->rows; c++) {
    ci_number variance = {.d = 0.0};
    memcpy(&variance, (const char *)k->in[4]->data + (size_t)c * p->item, p->item);
    const ci_number inverse = norm_inverse(p->dtype, variance, p->epsilon);
    memcpy((char *)k->scratch + (size_t)c * p->item, &inverse, p->item);
  }
  ci_vector_binary(k, p->dtype, CI_MATH_mul, k->scratch, k->scratch, k->in[1]->data, p->rows, CI_NO_SCALAR);
  norm_parallel(k, p->inner > 1 ? p->images * p->rows : p->images, norm_batch_part);
  return CI_OK;
}

/* ---- LpNormalization ---- */

ci_status ci_prepare_lp_normalization(ci_kernel *k) {
  const ci_value *x = k->in[0];
  int64_t requested, norm;
  int axis = 0;
  CI_TRY(ci_same_floats(k, 1));
  CI_TRY(ci_k_attr_i(k, "axis", -1, &requested));
  CI_TRY(ci_k_axis(k, requested, x->rank, &axis));
  CI_TRY(ci_k_attr_i(k, "p", 2, &norm));
  if (norm != 1 && norm != 2) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "attribute 'p' is %lld, expected 1 or 2", (long long)norm);
  }
  CI_TRY(ci_k_out_like(k, 0, x->dtype, x));
  const bool some = x->count > 0;
  const int64_t inner = some ? ci_shape_count(x->dims, axis + 1, x->rank) : 1;
  norm_plan *p = norm_make(k, some ? x->count / x->dims[axis] : 0, x->dims[axis], 2);
  if (p == NULL) return ci_k_no_memory(k);
  p->inner = inner;
  p->p = (int)norm;
  return CI_OK;
}

static void norm_strided(const norm_plan *p, char *to, size_t to_step, const char *from, size_t from_step) {
  for (int64_t i = 0; i < p->n; i++) ci_copy_bytes(to + (size_t)i * to_step, from + (size_t)i * from_step, p->item);
}

/* A column is copied together, divided by its norm, copied back. */
static void norm_lp_part(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const norm_plan *p = k->private_memory;
  char *row = (char *)k->scratch + p->thread_bytes * (size_t)thread, *size = row + p->row_bytes;
  for (int64_t i = begin; i < end; i++) {
    const size_t at = (size_t)(i / p->inner * p->n * p->inner + i % p->inner) * p->item;
    const char *x = (const char *)k->in[0]->data + at;
    char *y = (char *)k->out[0]->data + at;
    ci_number norm = {.d = 0.0};
    if (p->inner == 1) {
      row = y;
      memcpy(row, x, (size_t)p->n * p->item);
    } else {
      norm_strided(p, row, p->item, x, (size_t)p->inner * p->item);
    }
    if (p->p == 2) {
      norm = ci_vector_dot(k, p->dtype, row, row, p->n);
      norm = ci_number_of(p->dtype, sqrt(ci_number_get(p->dtype, &norm)));
    } else if (p->dtype == CI_FLOAT) {
      k->isa->math->unary[CI_MATH_abs]((float *)(void *)size, (const float *)(void *)row, p->n, 0.0f, 0.0f);
      ci_sum_row(k->isa->math, p->dtype, &norm, size, p->n, size + p->row_bytes);
    } else {
      ci_typed_unary(CI_MATH_abs, CI_DOUBLE)(size, row, p->n, 0.0, 0.0);
      ci_sum_row(k->isa->math, p->dtype, &norm, size, p->n, size + p->row_bytes);
    }
    if (ci_number_get(p->dtype, &norm) == 0.0) {
      memset(row, 0, (size_t)p->n * p->item);
    } else {
      ci_vector_binary(k, p->dtype, CI_MATH_div, row, row, &norm, p->n, CI_SCALAR_B);
    }
    if (p->inner > 1) norm_strided(p, y, (size_t)p->inner * p->item, row, p->item);
  }
}

ci_status ci_run_lp_normalization(ci_kernel *k) {
  const norm_plan *p = k->private_memory;
  norm_parallel(k, p->rows, norm_lp_part);
  return CI_OK;
}
#endif
