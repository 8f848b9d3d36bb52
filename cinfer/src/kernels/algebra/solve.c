/* solve.c - MatrixSolve and Cholesky of float32 or float64, in double (docs/numerics.md, "Linear equations"). */
#include <math.h>

#include "../ci_kernel.h"

typedef struct solve_plan {
  int64_t n, columns, batches;
} solve_plan;

/* The element e of a float or double tensor, and its assignment. */
static double solve_get(const ci_value *v, int64_t e) {
  return v->dtype == CI_FLOAT ? (double)((const float *)v->data)[e] : ((const double *)v->data)[e];
}

static void solve_put(const ci_value *v, int64_t e, double value) {
  if (v->dtype == CI_FLOAT) ((float *)v->data)[e] = (float)value;
  else ((double *)v->data)[e] = value;
}

static ci_status solve_square(ci_kernel *k) {
  const ci_value *a = k->in[0];
  char str[128];
  if (a->rank < 2 || a->dims[a->rank - 1] != a->dims[a->rank - 2]) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "the input is %s, expected square matrices",
                     ci_value_describe(a, str, sizeof str));
  }
  return CI_OK;
}

/* Memory for one matrix, and for as many columns of a right side. */
static ci_status solve_plan_for(ci_kernel *k, int64_t columns) {
  const ci_value *a = k->in[0];
  solve_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  p->n = a->dims[a->rank - 1];
  p->columns = columns;
  p->batches = ci_shape_count(a->dims, 0, a->rank - 2);
  size_t numbers, wide;
  if (!ci_mul_size((uint64_t)p->n, sizeof(double), &wide)) return ci_k_no_memory(k);
  if (!ci_mul_size((uint64_t)p->n + (uint64_t)columns, wide, &numbers)) return ci_k_no_memory(k);
  k->scratch_bytes = numbers;
  return CI_OK;
}

ci_status ci_prepare_matrix_solve(ci_kernel *k) {
  CI_TRY(solve_square(k));
  const ci_value *a = k->in[0], *b = k->in[1];
  bool fits = b->dtype == a->dtype && b->rank == a->rank;
  for (int i = 0; fits && i < a->rank - 1; i++) fits = a->dims[i] == b->dims[i];
  if (!fits) {
    char left[128], right[128];
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "the matrix is %s and the right side %s, expected as many rows of each",
                     ci_value_describe(a, left, sizeof left), ci_value_describe(b, right, sizeof right));
  }
  CI_TRY(ci_k_out_like(k, 0, b->dtype, b));
  return solve_plan_for(k, b->dims[b->rank - 1]);
}

static void solve_swap(double *rows, int64_t width, int64_t one, int64_t other) {
  for (int64_t i = 0; i < width; i++) {
    const double kept = rows[one * width + i];
    rows[one * width + i] = rows[other * width + i];
    rows[other * width + i] = kept;
  }
}

/* target -= factor * source, each with two roundings */
static void solve_subtract(double *target, const double *source, int64_t begin, int64_t end, double factor) {
  for (int64_t i = begin; i < end; i++) {
    const double part = factor * source[i];
    target[i] = target[i] - part;
  }
}

/* b becomes the solution; false if the matrix has no inverse. */
static bool solve_one(double *a, double *b, int64_t n, int64_t columns) {
  for (int64_t c = 0; c < n; c++) {
    int64_t best = c;
    for (int64_t r = c + 1; r < n; r++) {
      if (fabs(a[r * n + c]) > fabs(a[best * n + c])) best = r;
    }
    if (best != c) {
      solve_swap(a, n, c, best);
      solve_swap(b, columns, c, best);
    }
    if (a[c * n + c] == 0.0) return false;
    for (int64_t r = c + 1; r < n; r++) {
      const double factor = a[r * n + c] / a[c * n + c];
      solve_subtract(a + r * n, a + c * n, c + 1, n, factor);
      solve_subtract(b + r * columns, b + c * columns, 0, columns, factor);
    }
  }
  for (int64_t r = n - 1; r >= 0; r--) {
    for (int64_t c = r + 1; c < n; c++) solve_subtract(b + r * columns, b + c * columns, 0, columns, a[r * n + c]);
    for (int64_t i = 0; i < columns; i++) b[r * columns + i] = b[r * columns + i] / a[r * n + r];
  }
  return true;
}

ci_status ci_run_matrix_solve(ci_kernel *k) {
  const solve_plan *p = k->private_memory;
  const int64_t square = p->n * p->n, side = p->n * p->columns;
  double *a = k->scratch, *b = a + square;
  for (int64_t m = 0; square > 0 && m < p->batches; m++) {
    for (int64_t e = 0; e < square; e++) a[e] = solve_get(k->in[0], m * square + e);
    for (int64_t e = 0; e < side; e++) b[e] = solve_get(k->in[1], m * side + e);
    if (!solve_one(a, b, p->n, p->columns)) return ci_k_fail(k, CI_INVALID_ARGUMENT, "Input matrix is not invertible.");
    for (int64_t e = 0; e < side; e++) solve_put(k->out[0], m * side + e, b[e]);
  }
  return CI_OK;
}

ci_status ci_prepare_cholesky(ci_kernel *k) {
  CI_TRY(solve_square(k));
  CI_TRY(ci_k_out_like(k, 0, k->in[0]->dtype, k->in[0]));
  return solve_plan_for(k, 0);
}

/* a becomes its lower factor, with zeros above; false if it has none. */
static bool cholesky_one(double *a, int64_t n) {
  for (int64_t c = 0; c < n; c++) {
    for (int64_t r = c; r < n; r++) {
      double sum = a[r * n + c];
      for (int64_t i = 0; i < c; i++) {
        const double part = a[r * n + i] * a[c * n + i];
        sum = sum - part;
      }
      if (r == c && !(sum > 0.0)) return false;
      a[r * n + c] = r == c ? sqrt(sum) : sum / a[c * n + c];
    }
    for (int64_t i = c + 1; i < n; i++) a[c * n + i] = 0.0;
  }
  return true;
}

/* Fills the factor of a matrix that has none. */
static void cholesky_none(double *a, int64_t n) {
  for (int64_t r = 0; r < n; r++) {
    for (int64_t c = 0; c < n; c++) a[r * n + c] = c <= r ? (double)NAN : 0.0;
  }
}

ci_status ci_run_cholesky(ci_kernel *k) {
  const solve_plan *p = k->private_memory;
  const int64_t square = p->n * p->n;
  double *a = k->scratch;
  for (int64_t m = 0; square > 0 && m < p->batches; m++) {
    for (int64_t e = 0; e < square; e++) a[e] = solve_get(k->in[0], m * square + e);
    if (!cholesky_one(a, p->n)) cholesky_none(a, p->n);
    for (int64_t e = 0; e < square; e++) solve_put(k->out[0], m * square + e, a[e]);
  }
  return CI_OK;
}
