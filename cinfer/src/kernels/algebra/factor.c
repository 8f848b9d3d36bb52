/* factor.c - SelfAdjointEig and Qr, decompositions of matrices of float32 or float64, in double (docs/numerics.md,
 * "Factors of matrices"). */
#include <math.h>

#include "../ci_kernel.h"

typedef struct factor_plan {
  int64_t rows, columns, wide, batches; /* wide: columns of Q */
} factor_plan;

static double factor_get(const ci_value *v, int64_t e) {
  return v->dtype == CI_FLOAT ? (double)((const float *)v->data)[e] : ((const double *)v->data)[e];
}

static void factor_put(const ci_value *v, int64_t e, double value) {
  if (v->dtype == CI_FLOAT) ((float *)v->data)[e] = (float)value;
  else ((double *)v->data)[e] = value;
}

/* Checks the input; scratch for two matrices of so many numbers each. */
static ci_status factor_plan_for(ci_kernel *k, int64_t rows, int64_t columns, int64_t wide) {
  const ci_value *a = k->in[0];
  factor_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  *p = (factor_plan){rows, columns, wide, ci_shape_count(a->dims, 0, a->rank - 2)};
  const int64_t side = columns > wide ? columns : wide;
  size_t bytes;
  if (!ci_mul_size((uint64_t)rows, (uint64_t)side, &bytes)) return ci_k_no_memory(k);
  if (!ci_mul_size(bytes, 2 * sizeof(double), &k->scratch_bytes)) return ci_k_no_memory(k);
  return CI_OK;
}

static ci_status factor_check(ci_kernel *k, bool square) {
  const ci_value *a = k->in[0];
  char str[128];
  if (a->dtype != CI_FLOAT && a->dtype != CI_DOUBLE) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "input 0 has type %s, for which this operator has no kernel",
                     ci_dtype_name(a->dtype));
  }
  if (a->rank < 2 || (square && a->dims[a->rank - 1] != a->dims[a->rank - 2])) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "the input is %s, expected %smatrices",
                     ci_value_describe(a, str, sizeof str), square ? "square " : "");
  }
  return CI_OK;
}

/* ---- eigenvalues of symmetric matrices, by Jacobi's rotations ---- */

ci_status ci_prepare_self_adjoint_eig(ci_kernel *k) {
  CI_TRY(factor_check(k, true));
  const ci_value *a = k->in[0];
  const int64_t n = a->dims[a->rank - 1];
  CI_TRY(ci_k_out(k, 0, a->dtype, a->rank - 1, a->dims));
  CI_TRY(ci_k_out_like(k, 1, a->dtype, a));
  return factor_plan_for(k, n, n, n);
}

/* Turns columns p and q. */
static void eig_turn(double *x, int64_t n, int64_t p, int64_t q, double c, double s) {
  for (int64_t i = 0; i < n; i++) {
    double *one = x + i * n + p, *other = x + i * n + q;
    const double left = c * *one, right = s * *other, low = s * *one, high = c * *other;
    *one = left - right;
    *other = low + high;
  }
}

static void eig_rotate(double *a, double *v, int64_t n, int64_t p, int64_t q) {
  const double off = a[p * n + q];
  if (off == 0.0) return;
  const double theta = (a[q * n + q] - a[p * n + p]) / (2.0 * off);
  const double size = fabs(theta) + sqrt(theta * theta + 1.0);
  const double t = theta < 0.0 ? -1.0 / size : 1.0 / size;
  const double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
  eig_turn(a, n, p, q, c, s); /* columns */
  for (int64_t i = 0; i < n; i++) { /* rows */
    const double one = a[p * n + i], other = a[q * n + i];
    const double left = c * one, right = s * other, low = s * one, high = c * other;
    a[p * n + i] = left - right;
    a[q * n + i] = low + high;
  }
  a[p * n + q] = a[q * n + p] = 0.0;
  eig_turn(v, n, p, q, c, s);
}

static double eig_rest(const double *a, int64_t n) {
  double sum = 0.0;
  for (int64_t r = 0; r < n; r++) {
    for (int64_t c = 0; c < r; c++) sum = sum + fabs(a[r * n + c]);
  }
  return sum;
}

static bool eig_one(double *a, double *v, int64_t n) {
  for (int64_t e = 0; e < n * n; e++) {
    if (!isfinite(a[e])) return false;
    v[e] = e % (n + 1) == 0 ? 1.0 : 0.0;
  }
  for (int sweep = 0; sweep < 60; sweep++) {
    const double rest = eig_rest(a, n);
    if (rest == 0.0) return true;
    if (rest - rest != 0.0) return false;
    for (int64_t p = 0; p + 1 < n; p++) {
      for (int64_t q = p + 1; q < n; q++) eig_rotate(a, v, n, p, q);
    }
  }
  return true;
}

/* The largest number of a column, the first of equals, is made positive. */
static double eig_sign(const double *v, int64_t n, int64_t column) {
  double best = 0.0;
  for (int64_t i = 0; i < n; i++) {
    if (fabs(v[i * n + column]) > fabs(best)) best = v[i * n + column];
  }
  return best < 0.0 ? -1.0 : 1.0;
}

ci_status ci_run_self_adjoint_eig(ci_kernel *k) {
  const factor_plan *p = k->private_memory;
  const int64_t n = p->rows;
  double *a = k->scratch, *v = a + n * n;
  for (int64_t m = 0; n > 0 && m < p->batches; m++) {
    for (int64_t r = 0; r < n; r++) {
      for (int64_t c = 0; c <= r; c++) a[r * n + c] = a[c * n + r] = factor_get(k->in[0], m * n * n + r * n + c);
    }
    if (!eig_one(a, v, n)) return ci_k_fail(k, CI_INVALID_ARGUMENT, "the matrix has elements that are not finite");
    for (int64_t position = 0; position < n; position++) { /* the eigenvalue with so many below it */
      for (int64_t c = 0; c < n; c++) {
        int64_t below = 0;
        for (int64_t i = 0; i < n; i++) {
          below += a[i * n + i] < a[c * n + c] || (a[i * n + i] == a[c * n + c] && i < c) ? 1 : 0;
        }
        if (below != position) continue;
        const double sign = eig_sign(v, n, c);
        factor_put(k->out[0], m * n + position, a[c * n + c]);
        for (int64_t i = 0; i < n; i++) factor_put(k->out[1], (m * n + i) * n + position, sign * v[i * n + c]);
      }
    }
  }
  return CI_OK;
}

/* ---- Q and R, by Householder's reflections ---- */

ci_status ci_prepare_qr(ci_kernel *k) {
  CI_TRY(factor_check(k, false));
  const ci_value *a = k->in[0];
  int64_t full, dims[CI_MAX_RANK];
  CI_TRY(ci_k_attr_i(k, "full_matrices", 0, &full));
  const int64_t rows = a->dims[a->rank - 2], columns = a->dims[a->rank - 1];
  const int64_t wide = full != 0 || rows < columns ? rows : columns;
  for (int i = 0; i < a->rank; i++) dims[i] = a->dims[i];
  dims[a->rank - 1] = wide;
  CI_TRY(ci_k_out(k, 0, a->dtype, a->rank, dims));
  dims[a->rank - 2] = wide;
  dims[a->rank - 1] = columns;
  CI_TRY(ci_k_out(k, 1, a->dtype, a->rank, dims));
  return factor_plan_for(k, rows, columns, wide);
}

enum { QR_TOGETHER = 32 }; /* columns that are reflected at a time, so that rows are read contiguously */

/* Reflects columns from `begin` of x by the vector in column `at` of a, below its diagonal, with a 1 on the diagonal.
 */
static void qr_reflect(double *x, int64_t width, int64_t begin, const double *a, const factor_plan *p, int64_t at,
                       double tau) {
  for (int64_t first = begin; first < width; first += QR_TOGETHER) {
    const int64_t left = width - first, count = left < QR_TOGETHER ? left : QR_TOGETHER;
    double sum[QR_TOGETHER], *top = x + at * width + first;
    for (int64_t c = 0; c < count; c++) sum[c] = top[c];
    for (int64_t r = at + 1; r < p->rows; r++) {
      const double factor = a[r * p->columns + at], *row = x + r * width + first;
      for (int64_t c = 0; c < count; c++) {
        const double part = factor * row[c];
        sum[c] = sum[c] + part;
      }
    }
    for (int64_t c = 0; c < count; c++) {
      sum[c] = tau * sum[c];
      top[c] = top[c] - sum[c];
    }
    for (int64_t r = at + 1; r < p->rows; r++) {
      const double factor = a[r * p->columns + at];
      double *row = x + r * width + first;
      for (int64_t c = 0; c < count; c++) {
        const double part = factor * sum[c];
        row[c] = row[c] - part;
      }
    }
  }
}

/* The reflection that makes a column 0 below its diagonal: its factor; its vector replaces the column. */
static double qr_vector(double *a, const factor_plan *p, int64_t at, double *diagonal) {
  double sum = 0.0;
  for (int64_t r = at + 1; r < p->rows; r++) {
    const double part = a[r * p->columns + at] * a[r * p->columns + at];
    sum = sum + part;
  }
  const double alpha = a[at * p->columns + at];
  *diagonal = alpha;
  if (sum == 0.0) return 0.0;
  const double norm = sqrt(alpha * alpha + sum);
  const double beta = alpha < 0.0 ? norm : -norm;
  for (int64_t r = at + 1; r < p->rows; r++) a[r * p->columns + at] = a[r * p->columns + at] / (alpha - beta);
  *diagonal = beta;
  return (beta - alpha) / beta;
}

static double qr_tau(const double *a, const factor_plan *p, int64_t at) { /* 2 / |vector|^2 */
  double sum = 1.0;
  for (int64_t r = at + 1; r < p->rows; r++) {
    const double part = a[r * p->columns + at] * a[r * p->columns + at];
    sum = sum + part;
  }
  return sum == 1.0 ? 0.0 : 2.0 / sum;
}

ci_status ci_run_qr(ci_kernel *k) {
  const factor_plan *p = k->private_memory;
  const int64_t size = p->rows * p->columns, depth = p->rows < p->columns ? p->rows : p->columns;
  const int64_t side = p->columns > p->wide ? p->columns : p->wide;
  double *a = k->scratch, *q = a + p->rows * side;
  if (k->out[0]->bytes + k->out[1]->bytes == 0) return CI_OK; /* however many matrices of nothing there are */
  for (int64_t m = 0; m < p->batches; m++) {
    for (int64_t e = 0; e < size; e++) a[e] = factor_get(k->in[0], m * size + e);
    for (int64_t c = 0; c < depth; c++) {
      double diagonal;
      const double tau = qr_vector(a, p, c, &diagonal);
      qr_reflect(a, p->columns, c + 1, a, p, c, tau);
      a[c * p->columns + c] = diagonal;
    }
    for (int64_t e = 0; e < p->rows * p->wide; e++) q[e] = e / p->wide == e % p->wide ? 1.0 : 0.0;
    for (int64_t c = depth - 1; c >= 0; c--) qr_reflect(q, p->wide, 0, a, p, c, qr_tau(a, p, c));
    for (int64_t e = 0; e < p->rows * p->wide; e++) factor_put(k->out[0], m * p->rows * p->wide + e, q[e]);
    for (int64_t e = 0; e < p->wide * p->columns; e++) {
      const int64_t r = e / p->columns, c = e % p->columns;
      factor_put(k->out[1], m * p->wide * p->columns + e, c < r ? 0.0 : a[r * p->columns + c]);
    }
  }
  return CI_OK;
}
