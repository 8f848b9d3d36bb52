/* det.c - Det: determinants of matrices of float32 or float64, computed in double (docs/numerics.md, "Det"). */
#include <math.h>

#include "../ci_kernel.h"

typedef struct det_plan {
  int64_t n, batches, grain;
  size_t matrix; /* bytes of a thread's copy */
} det_plan;

ci_status ci_prepare_det(ci_kernel *k) {
  const ci_value *x = k->in[0];
  char str[128];
  if (x->dtype != CI_FLOAT && x->dtype != CI_DOUBLE) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "input 0 has type %s, for which this operator has no kernel",
                     ci_dtype_name(x->dtype));
  }
  if (x->rank < 2 || x->dims[x->rank - 1] != x->dims[x->rank - 2]) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "the input is %s, expected square matrices",
                     ci_value_describe(x, str, sizeof str));
  }
  CI_TRY(ci_k_out(k, 0, x->dtype, x->rank - 2, x->dims));
  det_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  p->n = x->dims[x->rank - 1];
  p->batches = k->out[0]->count;
  if (x->count == 0) return CI_OK; /* without elements: 1 for each, or nothing */
  const int64_t work = p->n < 64 ? p->n * p->n * p->n : INT64_C(1) << 18;
  p->grain = (INT64_C(1) << 18) / work;
  p->matrix = ci_round_up((size_t)(p->n * p->n) * sizeof(double), 64);
  if (!ci_mul_size(p->matrix, (uint64_t)(k->threads > 1 ? k->threads : 1), &k->scratch_bytes)) return ci_k_no_memory(k);
  return CI_OK;
}

/* Gaussian elimination with the largest of the column (the first of equals) on top; the pivots are multiplied in their
 * order. */
static double det_of(double *a, int64_t n) {
  double det = 1.0;
  for (int64_t c = 0; c < n; c++) {
    int64_t best = c;
    for (int64_t r = c + 1; r < n; r++) {
      if (fabs(a[r * n + c]) > fabs(a[best * n + c])) best = r;
    }
    if (best != c) {
      det = -det;
      for (int64_t i = c; i < n; i++) {
        const double other = a[c * n + i];
        a[c * n + i] = a[best * n + i];
        a[best * n + i] = other;
      }
    }
    const double pivot = a[c * n + c];
    det = det * pivot;
    if (pivot == 0.0) continue;
    for (int64_t r = c + 1; r < n; r++) {
      const double factor = a[r * n + c] / pivot;
      for (int64_t i = c + 1; i < n; i++) {
        const double part = factor * a[c * n + i];
        a[r * n + i] = a[r * n + i] - part;
      }
    }
  }
  return det;
}

static void det_part(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const det_plan *p = k->private_memory;
  const int64_t size = p->n * p->n;
  double *a = (double *)(void *)((char *)k->scratch + (size_t)thread * p->matrix);
  for (int64_t i = begin; i < end; i++) {
    if (k->in[0]->dtype == CI_FLOAT) {
      const float *x = (const float *)k->in[0]->data + i * size;
      for (int64_t e = 0; e < size; e++) a[e] = (double)x[e];
      ((float *)k->out[0]->data)[i] = (float)det_of(a, p->n);
    } else {
      memcpy(a, (const double *)k->in[0]->data + i * size, (size_t)size * sizeof *a);
      ((double *)k->out[0]->data)[i] = det_of(a, p->n);
    }
  }
}

ci_status ci_run_det(ci_kernel *k) {
  const det_plan *p = k->private_memory;
  if (k->in[0]->count > 0) {
    ci_k_parallel(k, p->batches, p->grain, det_part, k);
    return CI_OK;
  }
  for (int64_t i = 0; i < p->batches; i++) { /* of matrices without rows */
    if (k->out[0]->dtype == CI_FLOAT) ((float *)k->out[0]->data)[i] = 1.0f;
    else ((double *)k->out[0]->data)[i] = 1.0;
  }
  return CI_OK;
}
