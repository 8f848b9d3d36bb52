/* special.c - special functions, and NextAfter: one function of up to three numbers for each element. */
#include <math.h>

#include "../../math/scalar_math.h"
#include "../../math/special_math.h"
#include "broadcast.h"

enum { SF_MOST = 3, SF_COST = 64 /* of an element, in those of an addition */ };

typedef double (*sf_function)(const double *x);
typedef struct sf_plan {
  ci_broadcast walk;
  sf_function function;
} sf_plan;

#define SF_LOOP(T, name)                                                                        \
  static void sf_run_##name(const void *context, void *out, const void *const *in, int64_t n) { \
    const sf_plan *p = context;                                                                 \
    T *y = out;                                                                                 \
    for (int64_t i = 0; i < n; i++) {                                                           \
      double x[SF_MOST];                                                                        \
      for (int j = 0; j < p->walk.inputs; j++) {                                                \
        x[j] = (double)((const T *)in[j])[ci_broadcast_still(&p->walk, j) ? 0 : i];             \
      }                                                                                         \
      y[i] = (T)p->function(x);                                                                 \
    }                                                                                           \
  }
SF_LOOP(float, f32)
SF_LOOP(double, f64)

static ci_status sf_prepare(ci_kernel *k, sf_function function) {
  const ci_value *in[SF_MOST];
  int rank;
  int64_t dims[CI_MAX_RANK];
  for (int i = 0; i < k->n_in; i++) in[i] = k->in[i];
  CI_TRY(ci_k_broadcast(k, in, k->n_in, &rank, dims));
  CI_TRY(ci_k_out(k, 0, in[0]->dtype, rank, dims));
  sf_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  p->function = function;
  ci_broadcast_plan(&p->walk, k->out[0], in, k->n_in);
  p->walk.grain = p->walk.grain / SF_COST + 1;
  for (int i = 0; i < k->n_in; i++) {
    if (in[i]->bytes == k->out[0]->bytes && in[i]->count == k->out[0]->count) ci_k_in_place(k, 0, i);
  }
  return CI_OK;
}

ci_status ci_run_special(ci_kernel *k) {
  const sf_plan *p = k->private_memory;
  const void *x[SF_MOST];
  for (int i = 0; i < k->n_in; i++) x[i] = k->in[i]->data;
  ci_broadcast_run(k, &p->walk, k->out[0]->dtype == CI_FLOAT ? sf_run_f32 : sf_run_f64, p, k->out[0]->data, x);
  return CI_OK;
}

/* The next number after x[0] on the way to x[1]. */
static double sf_next_after_double(const double *x) {
  if (x[0] != x[0] || x[1] != x[1]) return x[0] + x[1];
  return x[0] == x[1] ? x[1] : x[0] < x[1] ? -ci_below(-x[0]) : ci_below(x[0]);
}

static double sf_next_after_float(const double *x) {
  if (x[0] != x[0] || x[1] != x[1]) return x[0] + x[1];
  const float near = (float)x[0];
  return x[0] == x[1] ? x[1] : (double)(x[0] < x[1] ? -ci_below_float(-near) : ci_below_float(near));
}

/* clang-format off */
#define SF_ROWS(X)                                                                                         \
  X(igamma, ci_igamma(x[0], x[1])) X(igammac, ci_igammac(x[0], x[1]))                                      \
  X(igamma_grad_a, ci_igamma_grad_a(x[0], x[1])) X(betainc, ci_betainc(x[0], x[1], x[2]))                  \
  X(zeta, ci_zeta(x[0], x[1])) X(polygamma, ci_polygamma(x[0], x[1]))                                      \
  X(bessel_i0, ci_bessel_i0(x[0])) X(bessel_i0e, ci_bessel_i0e(x[0]))                                      \
  X(bessel_i1, ci_bessel_i1(x[0])) X(bessel_i1e, ci_bessel_i1e(x[0]))
/* clang-format on */
#define SF_PREPARE(name, value)                              \
  static double sf_##name(const double *x) { return value; } \
  ci_status ci_prepare_##name(ci_kernel *k) { return sf_prepare(k, sf_##name); }
SF_ROWS(SF_PREPARE)

ci_status ci_prepare_next_after(ci_kernel *k) {
  return sf_prepare(k, k->in[0]->dtype == CI_FLOAT ? sf_next_after_float : sf_next_after_double);
}
