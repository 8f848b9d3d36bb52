/* lrn.c - LRN (local response normalization) and Hardmax. */
#include <math.h>

#include "../../math/scalar_math.h"
#include "../arithmetic/elementwise.h"
#include "../reduction/arg.h"
#include "normalize.h"
#if CI_HAS(normalization)

static const float lrn_alpha = 0.0001f; /* no literal: that might have the precision of double */

enum { LRN_PART_WORK = 1 << 11, LRN_PIECE = 128 };

/* ---- LRN: x (n, channels, ...), in double ---- */

typedef struct lrn_plan {
  ci_cast_fn from, to;
  size_t item;
  int64_t planes, channels, inner, below, above, grain;
  double scale, beta, bias; /* scale = alpha / size */
} lrn_plan;

ci_status ci_prepare_lrn(ci_kernel *k) {
  const ci_value *x = k->in[0];
  int64_t size;
  double alpha;
  char found[160];
  lrn_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_same_floats(k, 1));
  CI_TRY(ci_k_attr_i(k, "size", 0, &size));
  CI_TRY(ci_k_attr_f(k, "alpha", (double)lrn_alpha, &alpha));
  CI_TRY(ci_k_attr_f(k, "beta", 0.75, &p->beta));
  CI_TRY(ci_k_attr_f(k, "bias", 1.0, &p->bias));
  if (size < 1) return ci_k_fail(k, CI_INVALID_ARGUMENT, "size is %lld, expected 1 or more", (long long)size);
  if (x->rank < 2) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "x is %s, expected rank 2 or more: (n, channels, ...)",
                     ci_value_describe(x, found, sizeof found));
  }
  CI_TRY(ci_k_out_like(k, 0, x->dtype, x));
  p->from = ci_cast_find(k->isa, x->dtype, CI_DOUBLE);
  p->to = ci_cast_find(k->isa, CI_DOUBLE, x->dtype);
  p->item = ci_dtype_size(x->dtype);
  p->channels = x->dims[1];
  p->inner = x->count > 0 ? ci_shape_count(x->dims, 2, x->rank) : 1;
  p->planes = x->count / p->inner;
  p->below = (size - 1) / 2;
  p->above = (size - 1) - p->below;
  p->scale = alpha / (double)size;
  p->grain = p->inner < LRN_PART_WORK ? LRN_PART_WORK / p->inner : 1;
  return CI_OK;
}

static double lrn_power(double base, double beta) {
  if (beta != 0.75) return ci_pow(base, beta);
  const double root = sqrt(base);
  return root * sqrt(root);
}

/* `count` elements from `at` on of plane c of an image. */
static void lrn_piece(const lrn_plan *p, char *y, const char *x, int64_t c, int64_t at, int64_t count) {
  const int64_t first = c > p->below ? c - p->below : 0;
  const int64_t last = p->above < p->channels - 1 - c ? c + p->above : p->channels - 1;
  double sum[LRN_PIECE] = {0}, v[LRN_PIECE];
  for (int64_t i = first; i <= last; i++) {
    p->from(v, x + (size_t)(i * p->inner + at) * p->item, count);
    for (int64_t j = 0; j < count; j++) {
      const double square = v[j] * v[j];
      sum[j] += square;
    }
  }
  p->from(v, x + (size_t)(c * p->inner + at) * p->item, count);
  for (int64_t j = 0; j < count; j++) {
    const double scaled = p->scale * sum[j];
    v[j] = v[j] / lrn_power(p->bias + scaled, p->beta);
  }
  p->to(y + (size_t)(c * p->inner + at) * p->item, v, count);
}

static void lrn_part(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const lrn_plan *p = k->private_memory;
  (void)thread;
  for (int64_t plane = begin; plane < end; plane++) {
    const int64_t c = plane % p->channels;
    const size_t image = (size_t)((plane - c) * p->inner) * p->item;
    for (int64_t at = 0; at < p->inner; at += LRN_PIECE) {
      lrn_piece(p, (char *)k->out[0]->data + image, (const char *)k->in[0]->data + image, c, at,
                p->inner - at < LRN_PIECE ? p->inner - at : LRN_PIECE);
    }
  }
}

ci_status ci_run_lrn(ci_kernel *k) {
  const lrn_plan *p = k->private_memory;
  ci_k_parallel(k, p->planes, p->grain, lrn_part, k);
  return CI_OK;
}

/* ---- Hardmax: [outer, n, inner] ---- */

enum { HARDMAX_GRAIN = 1 << 15 };

typedef struct hardmax_plan {
  int64_t columns, n, inner;
} hardmax_plan;

ci_status ci_prepare_hardmax(ci_kernel *k) {
  const ci_value *x = k->in[0];
  int64_t requested;
  int axis = 0;
  hardmax_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_same_floats(k, 1));
  CI_TRY(ci_k_attr_i(k, "axis", -1, &requested));
  CI_TRY(ci_k_axis(k, requested, x->rank, &axis));
  CI_TRY(ci_k_out_like(k, 0, x->dtype, x));
  p->n = x->count > 0 ? x->dims[axis] : 1;
  p->inner = x->count > 0 ? ci_shape_count(x->dims, axis + 1, x->rank) : 1;
  p->columns = x->count / p->n;
  return CI_OK;
}

static void hardmax_rows(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const int64_t n = ((const hardmax_plan *)k->private_memory)->n;
  const float *x = k->in[0]->data;
  float *y = k->out[0]->data;
  (void)thread;
  for (int64_t row = begin; row < end; row++) {
    memset(y + row * n, 0, (size_t)n * sizeof *y);
    y[row * n + ci_arg_best(k->isa, x + row * n, n, false, false)] = 1.0f;
  }
}

ci_status ci_run_hardmax(ci_kernel *k) {
  const hardmax_plan *p = k->private_memory;
  if (k->in[0]->dtype == CI_FLOAT && p->inner == 1) {
    ci_k_parallel(k, p->columns, HARDMAX_GRAIN / (p->n + 1) + 1, hardmax_rows, k);
    k_wrote_one_nan(k);
    return CI_OK;
  }
  const int32_t dtype = k->in[0]->dtype;
  const size_t item = ci_dtype_size(dtype);
  const ci_number one = ci_number_of(dtype, 1.0);
  memset(k->out[0]->data, 0, k->out[0]->bytes);
  for (int64_t i = 0; i < p->columns; i++) {
    const size_t column = (size_t)(i / p->inner * p->n * p->inner + i % p->inner) * item,
                 step = (size_t)p->inner * item;
    const char *x = (const char *)k->in[0]->data + column;
    double best = ci_number_get(dtype, x);
    size_t at = 0;
    for (size_t j = 1; j < (size_t)p->n; j++) {
      const double v = ci_number_get(dtype, x + j * step);
      if (!(v > best || (v != v && best == best))) continue;
      best = v;
      at = j;
    }
    memcpy((char *)k->out[0]->data + column + at * step, &one, item);
  }
  return CI_OK;
}
#endif
