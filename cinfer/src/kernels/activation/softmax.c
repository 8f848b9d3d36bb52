/* softmax.c - Softmax, LogSoftmax and the cross entropies (docs/numerics.md, "Softmax"). */
#include "softmax.h"

#include <math.h>

#include "../../simd/isa.h"
#include "../../simd/linear/isa_linear.h"
#include "../../simd/math/isa_math.h"
#include "../../math/scalar_math.h"
#include "../arithmetic/integers.h"
#include "../normalization/normalize.h"
#include "../reduction/reduce.h"
#if CI_HAS_SOFTMAX

enum { NN_PART_WORK = 1 << 13 }; /* elements that are worth a thread */

static int64_t softmax_grain(int64_t row) { return row > 0 && row < NN_PART_WORK ? NN_PART_WORK / row : 1; }

static ci_status softmax_float_type(ci_kernel *k) {
  const int32_t dtype = k->in[0]->dtype;
  if (dtype == CI_FLOAT || dtype == CI_DOUBLE) return CI_OK;
  return ci_k_fail(k, CI_UNIMPLEMENTED, "there is no kernel for %s, only for float32 and float64",
                   ci_dtype_name(dtype));
}

/* ---- softmax: [outer, n, inner] ---- */

typedef struct softmax_plan {
  bool logarithm;
  int64_t outer, n, inner, grain;
  size_t row; /* bytes of scratch of one thread: columns of inner > 1 */
} softmax_plan;

enum { NN_COLUMNS = 16 }; /* of float32 that are turned into rows at a time */

static ci_status softmax_prepare(ci_kernel *k, bool logarithm) {
  const ci_value *x = k->in[0];
  int64_t axis_requested;
  int axis = 0;
  CI_TRY(softmax_float_type(k));
  CI_TRY(ci_k_attr_i(k, "axis", -1, &axis_requested));
  CI_TRY(ci_k_axis(k, axis_requested, x->rank, &axis));
  CI_TRY(ci_k_out_like(k, 0, x->dtype, x));
  softmax_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  p->logarithm = logarithm;
  p->outer = ci_shape_count(x->dims, 0, axis);
  p->n = x->dims[axis];
  p->inner = ci_shape_count(x->dims, axis + 1, x->rank);
  p->grain = softmax_grain(x->count > 0 ? p->n : 0);
  if (p->inner > 1 && x->count > 0) {
    const size_t columns = x->dtype == CI_FLOAT ? NN_COLUMNS : 1;
    p->row = ci_round_up((size_t)p->n * ci_dtype_size(x->dtype) * columns, 64);
    k->scratch_bytes = p->row * (size_t)k->threads;
  } else {
    ci_k_in_place(k, 0, 0);
  }
  return CI_OK;
}

ci_status ci_prepare_softmax(ci_kernel *k) { return softmax_prepare(k, false); }
ci_status ci_prepare_log_softmax(ci_kernel *k) { return softmax_prepare(k, true); }

static double softmax_tree16(double *lane) {
  for (int half = 8; half > 0; half /= 2) {
    for (int l = 0; l < half; l++) lane[l] += lane[l + half];
  }
  return lane[0];
}

static double softmax_largest(const double *x, int64_t n) {
  double m = -INFINITY;
  for (int64_t i = 0; i < n; i++) m = x[i] > m ? x[i] : m;
  return m;
}

/* The definition for float64: 16 lanes, then the tree. A NaN comes back with the sum. y may be x. */
void ci_softmax_double(double *y, const double *x, int64_t rows, int64_t n, bool logarithm) {
  for (; rows > 0; rows--, x += n, y += n) {
    const double m = softmax_largest(x, n);
    double lane[16] = {0};
    for (int64_t i = 0; i < n; i++) {
      const double z = x[i] - m, e = ci_exp(z);
      lane[i & 15] += e;
      y[i] = logarithm ? z : e;
    }
    const double s = softmax_tree16(lane), r = 1.0 / s, log_s = ci_log(s);
    for (int64_t i = 0; i < n; i++) y[i] = logarithm ? y[i] - log_s : y[i] * r;
  }
}

static void softmax_rows(const ci_kernel *k, void *y, const void *x, int64_t rows) {
  const softmax_plan *p = k->private_memory;
  if (k->in[0]->dtype == CI_DOUBLE) {
    ci_softmax_double(y, x, rows, p->n, p->logarithm);
  } else if (p->logarithm) {
    k->isa->math->log_softmax(y, x, rows, p->n);
  } else {
    k->isa->math->softmax(y, x, rows, p->n);
  }
}

static void softmax_columns(const ci_kernel *k, float *y, const float *x, float *scratch, int64_t columns) {
  const softmax_plan *p = k->private_memory;
  const ptrdiff_t n = (ptrdiff_t)p->n, inner = (ptrdiff_t)p->inner;
  k->isa->linear->transpose(scratch, n, x, inner, n, columns);
  softmax_rows(k, scratch, scratch, columns);
  k->isa->linear->transpose(y, inner, scratch, n, columns, n);
}

static void softmax_column_double(const ci_kernel *k, double *y, const double *x, double *row) {
  const softmax_plan *p = k->private_memory;
  for (int64_t i = 0; i < p->n; i++) row[i] = x[i * p->inner];
  softmax_rows(k, row, row, 1);
  for (int64_t i = 0; i < p->n; i++) y[i * p->inner] = row[i];
}

/* Rows begin..end, or columns of inner > 1, column after column. */
static void softmax_part(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const softmax_plan *p = k->private_memory;
  const size_t item = ci_dtype_size(k->in[0]->dtype);
  const char *x = k->in[0]->data;
  char *y = k->out[0]->data;
  if (p->inner == 1) {
    const size_t at = (size_t)(begin * p->n) * item;
    softmax_rows(k, y + at, x + at, end - begin);
    return;
  }
  void *scratch = (char *)k->scratch + p->row * (size_t)thread;
  for (int64_t i = begin, columns = 1; i < end; i += columns) {
    const int64_t outer = i / p->inner, column = i % p->inner;
    const size_t at = (size_t)(outer * p->n * p->inner + column) * item;
    if (item == sizeof(double)) {
      softmax_column_double(k, (double *)(void *)(y + at), (const double *)(const void *)(x + at), scratch);
      continue;
    }
    columns = p->inner - column < end - i ? p->inner - column : end - i;
    columns = columns < NN_COLUMNS ? columns : NN_COLUMNS;
    softmax_columns(k, (float *)(void *)(y + at), (const float *)(const void *)(x + at), scratch, columns);
  }
}

ci_status ci_run_softmax(ci_kernel *k) {
  const softmax_plan *p = k->private_memory;
  if (k->in[0]->count == 0) return CI_OK;
  const int64_t rows = p->outer * p->inner;
  if (rows <= p->grain) {
    softmax_part(k, 0, rows, 0);
  } else {
    ci_k_parallel(k, rows, p->grain, softmax_part, k);
  }
  return CI_OK;
}

#if CI_HAS(training)
/* ---- cross entropies: their bodies (schema/graphio_operators.json) row by row ---- */

typedef struct entropy_plan {
  bool sparse;
  int64_t rows, n, grain;
  size_t item, z_bytes, thread_bytes; /* scratch of one thread: z, then partial sums */
} entropy_plan;

static ci_status entropy_prepare(ci_kernel *k, bool sparse) {
  const ci_value *x = k->in[0], *labels = k->in[1];
  char found[2][160];
  CI_TRY(softmax_float_type(k));
  const bool type = sparse ? ci_is_integer(labels->dtype) : labels->dtype == x->dtype;
  const bool shape = x->rank == 2 && labels->rank == (sparse ? 1 : 2) && labels->dims[0] == x->dims[0] &&
                     (sparse || labels->dims[1] == x->dims[1]);
  if (!type || !shape) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "logits are %s and labels %s, expected %s",
                     ci_value_describe(x, found[0], sizeof found[0]),
                     ci_value_describe(labels, found[1], sizeof found[1]),
                     sparse ? "(n, c) and integers (n)" : "(n, c) twice, of one type");
  }
  CI_TRY(ci_k_out(k, 0, x->dtype, 1, x->dims));
  CI_TRY(ci_k_out_like(k, 1, x->dtype, x));
  entropy_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  p->sparse = sparse;
  p->rows = x->dims[0];
  p->n = x->dims[1];
  p->grain = softmax_grain(p->n);
  p->item = ci_dtype_size(x->dtype);
  if (x->count > 0) {
    p->z_bytes = ci_round_up((size_t)p->n * p->item, 64);
    p->thread_bytes = p->z_bytes + ci_round_up((size_t)ci_sum_partials(p->n) * p->item, 64);
    k->scratch_bytes = p->thread_bytes * (size_t)k->threads;
  }
  return CI_OK;
}

ci_status ci_prepare_softmax_cross_entropy(ci_kernel *k) { return entropy_prepare(k, false); }
ci_status ci_prepare_sparse_softmax_cross_entropy(ci_kernel *k) { return entropy_prepare(k, true); }

static void entropy_row_float(const ci_kernel *k, int64_t row, float *z, void *partial) {
  const entropy_plan *p = k->private_memory;
  const struct ci_isa_math *math = k->isa->math;
  const int64_t n = p->n;
  float *loss = (float *)k->out[0]->data + row, *gradient = (float *)k->out[1]->data + row * n, s, log_s;
  math->shifted_exp(z, gradient, (const float *)k->in[0]->data + row * n, n);
  ci_sum_row(math, CI_FLOAT, &s, gradient, n, partial);
  const float r = 1.0f / s;
  math->unary[CI_MATH_log](&log_s, &s, 1, 0.0f, 0.0f);
  if (p->sparse) {
    const int64_t label = ci_read_integer(k->in[1], row);
    *loss = log_s - z[label];
    math->binary[CI_MATH_mul](gradient, gradient, &r, n, CI_SCALAR_B);
    gradient[label] = gradient[label] + -1.0f;
  } else {
    math->cross_entropy(z, gradient, z, gradient, (const float *)k->in[1]->data + row * n, log_s, r, n);
    ci_sum_row(math, CI_FLOAT, loss, z, n, partial);
  }
}

static void entropy_row_double(const ci_kernel *k, int64_t row, double *z, void *partial) {
  const entropy_plan *p = k->private_memory;
  const int64_t n = p->n;
  const double *x = (const double *)k->in[0]->data + row * n, m = softmax_largest(x, n);
  double *loss = (double *)k->out[0]->data + row, *gradient = (double *)k->out[1]->data + row * n, s;
  for (int64_t i = 0; i < n; i++) {
    z[i] = x[i] - m;
    gradient[i] = ci_exp(z[i]);
  }
  ci_sum_row(k->isa->math, CI_DOUBLE, &s, gradient, n, partial);
  const double r = 1.0 / s, log_s = ci_log(s);
  for (int64_t i = 0; i < n; i++) gradient[i] = gradient[i] * r;
  if (p->sparse) {
    const int64_t label = ci_read_integer(k->in[1], row);
    *loss = log_s - z[label];
    gradient[label] = gradient[label] + -1.0;
  } else {
    const double *labels = (const double *)k->in[1]->data + row * n;
    for (int64_t i = 0; i < n; i++) {
      const double d = log_s - z[i];
      z[i] = labels[i] * d;
      gradient[i] = gradient[i] - labels[i];
    }
    ci_sum_row(k->isa->math, CI_DOUBLE, loss, z, n, partial);
  }
}

static void entropy_part(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const entropy_plan *p = k->private_memory;
  char *scratch = (char *)k->scratch + p->thread_bytes * (size_t)thread;
  for (int64_t row = begin; row < end; row++) {
    if (p->item == sizeof(float)) {
      entropy_row_float(k, row, (float *)(void *)scratch, scratch + p->z_bytes);
    } else {
      entropy_row_double(k, row, (double *)(void *)scratch, scratch + p->z_bytes);
    }
  }
}

ci_status ci_run_cross_entropy(ci_kernel *k) {
  const entropy_plan *p = k->private_memory;
  for (int64_t row = 0; p->sparse && row < p->rows; row++) {
    const int64_t label = ci_read_integer(k->in[1], row);
    if (label >= 0 && label < p->n) continue;
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "label %lld of row %lld is outside [0, %lld)", (long long)label,
                     (long long)row, (long long)p->n);
  }
  if (p->n == 0) {
    memset(k->out[0]->data, 0, k->out[0]->bytes); /* sums of nothing */
  } else if (p->rows <= p->grain) {
    entropy_part(k, 0, p->rows, 0);
  } else {
    ci_k_parallel(k, p->rows, p->grain, entropy_part, k);
  }
  return CI_OK;
}
#endif
#endif
