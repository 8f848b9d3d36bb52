/* training.c - optimizer steps in one pass, with the same bits as their bodies (schema/graphio_operators.json). */
#include <math.h>

#include "../ci_kernel.h"
#include "../../simd/isa.h"
#include "../../simd/math/isa_math.h"
#if CI_HAS(training)

enum { TRAINING_GRAIN = 1 << 14 };

typedef struct training_plan {
  bool nesterov;
} training_plan;

/* scalars[i] '1': input i is one number; '0': it has the parameter's shape. */
static ci_status training_check(ci_kernel *k, const char *names, const char *scalars) {
  const ci_value *parameter = k->in[0];
  const int32_t dtype = parameter->dtype;
  if (dtype != CI_FLOAT && dtype != CI_DOUBLE) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "there is no kernel for %s, only for float32 and float64",
                     ci_dtype_name(dtype));
  }
  for (int i = 1; i < k->n_in; i++) {
    const ci_value *v = k->in[i];
    const bool one = scalars[i] == '1';
    const bool fits = one ? v->count == 1 : ci_shape_same(v->rank, v->dims, parameter->rank, parameter->dims);
    if (v->dtype == dtype && fits) continue;
    char found[160], described[160];
    int length = 0;
    for (int skip = i; skip > 0; names++) skip -= *names == ' ';
    while (names[length] != ' ' && names[length] != '\0') length++;
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "%.*s is %s, expected %s%s", length, names,
                     ci_value_describe(v, found, sizeof found),
                     one ? "one number of the type of parameter " : "the type and shape of parameter ",
                     ci_value_describe(parameter, described, sizeof described));
  }
  for (int o = 0; o < k->n_out; o++) CI_TRY(ci_k_out_like(k, o, dtype, parameter));
  return CI_OK;
}

static void *training_at(const ci_value *v, int64_t index) {
  return (char *)v->data + (size_t)index * (v->dtype == CI_FLOAT ? sizeof(float) : sizeof(double));
}
static float training_float(const ci_value *v) { return *(const float *)v->data; }
static double training_double(const ci_value *v) { return *(const double *)v->data; }

/* ---- GradientDescentStep: parameter, learning_rate, gradient ---- */

ci_status ci_prepare_gradient_descent_step(ci_kernel *k) {
  CI_TRY(training_check(k, "parameter learning_rate gradient", "010"));
  ci_k_in_place(k, 0, 0);
  return CI_OK;
}

static void gradient_descent_part(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  void *new_p = training_at(k->out[0], begin);
  const void *p = training_at(k->in[0], begin), *g = training_at(k->in[2], begin);
  (void)thread;
  if (k->in[0]->dtype == CI_FLOAT) {
    k->isa->math->gradient_descent(new_p, p, g, training_float(k->in[1]), end - begin);
    return;
  }
  const double rate = training_double(k->in[1]);
  for (int64_t i = 0; i < end - begin; i++) {
    const double step = rate * ((const double *)g)[i];
    ((double *)new_p)[i] = ((const double *)p)[i] - step;
  }
}

ci_status ci_run_gradient_descent_step(ci_kernel *k) {
  ci_k_parallel(k, k->out[0]->count, TRAINING_GRAIN, gradient_descent_part, k);
  return CI_OK;
}

/* ---- MomentumStep: parameter, accumulator, learning_rate, gradient, momentum ---- */

static ci_status momentum_prepare(ci_kernel *k, bool nesterov) {
  CI_TRY(training_check(k, "parameter accumulator learning_rate gradient momentum", "00101"));
  training_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  p->nesterov = nesterov;
  ci_k_in_place(k, 0, 0);
  ci_k_in_place(k, 1, 1);
  return CI_OK;
}
ci_status ci_prepare_momentum_step(ci_kernel *k) { return momentum_prepare(k, false); }
ci_status ci_prepare_nesterov_momentum_step(ci_kernel *k) { return momentum_prepare(k, true); }

static void momentum_part(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const bool nesterov = ((const training_plan *)k->private_memory)->nesterov;
  void *new_p = training_at(k->out[0], begin), *new_a = training_at(k->out[1], begin);
  const void *p = training_at(k->in[0], begin), *a = training_at(k->in[1], begin), *g = training_at(k->in[3], begin);
  (void)thread;
  if (k->in[0]->dtype == CI_FLOAT) {
    k->isa->math->momentum(new_p, new_a, p, a, g, training_float(k->in[2]), training_float(k->in[4]), nesterov,
                           end - begin);
    return;
  }
  const double rate = training_double(k->in[2]), momentum = training_double(k->in[4]);
  for (int64_t i = 0; i < end - begin; i++) {
    const double gradient = ((const double *)g)[i], kept = momentum * ((const double *)a)[i];
    const double sum = kept + gradient, ahead = momentum * sum, old = ((const double *)p)[i];
    const double step = rate * (nesterov ? gradient + ahead : sum);
    ((double *)new_a)[i] = sum;
    ((double *)new_p)[i] = old - step;
  }
}

ci_status ci_run_momentum_step(ci_kernel *k) {
  ci_k_parallel(k, k->out[0]->count, TRAINING_GRAIN, momentum_part, k);
  return CI_OK;
}

/* ---- AdamStep: parameter, m, v, beta1_power, beta2_power, learning_rate, beta1, beta2, epsilon, gradient ---- */

enum {
  ADAM_P,
  ADAM_M,
  ADAM_V,
  ADAM_POWER1,
  ADAM_POWER2,
  ADAM_RATE,
  ADAM_BETA1,
  ADAM_BETA2,
  ADAM_EPSILON,
  ADAM_GRADIENT
};

ci_status ci_prepare_adam_step(ci_kernel *k) {
  CI_TRY(training_check(k, "parameter m v beta1_power beta2_power learning_rate beta1 beta2 epsilon gradient",
                        "0001111110"));
  for (int i = 0; i < 3; i++) ci_k_in_place(k, i, i);
  return CI_OK;
}

/* The body's scalars, one rounding each. */
static ci_adam adam_floats(const ci_kernel *k) {
  const float c2 = 1.0f - training_float(k->in[ADAM_POWER2]), c1 = 1.0f - training_float(k->in[ADAM_POWER1]);
  const float root = sqrtf(c2), ratio = root / c1;
  return (ci_adam){.rate = training_float(k->in[ADAM_RATE]) * ratio,
                   .k1 = 1.0f - training_float(k->in[ADAM_BETA1]),
                   .k2 = 1.0f - training_float(k->in[ADAM_BETA2]),
                   .epsilon = training_float(k->in[ADAM_EPSILON])};
}

static void adam_doubles(const ci_kernel *k, int64_t begin, int64_t end) {
  const double root2 = sqrt(1.0 - training_double(k->in[ADAM_POWER2]));
  const double ratio = root2 / (1.0 - training_double(k->in[ADAM_POWER1]));
  const double rate = training_double(k->in[ADAM_RATE]) * ratio, epsilon = training_double(k->in[ADAM_EPSILON]);
  const double k1 = 1.0 - training_double(k->in[ADAM_BETA1]), k2 = 1.0 - training_double(k->in[ADAM_BETA2]);
  const double *p = k->in[ADAM_P]->data, *m = k->in[ADAM_M]->data, *v = k->in[ADAM_V]->data;
  const double *g = k->in[ADAM_GRADIENT]->data;
  double *new_p = k->out[0]->data, *new_m = k->out[1]->data, *new_v = k->out[2]->data;
  for (int64_t i = begin; i < end; i++) {
    const double sm = (g[i] - m[i]) * k1, first = m[i] + sm;
    const double g2 = g[i] * g[i], sv = (g2 - v[i]) * k2, second = v[i] + sv;
    const double step = rate * first / (sqrt(second) + epsilon), old = p[i];
    new_m[i] = first;
    new_v[i] = second;
    new_p[i] = old - step;
  }
}

static void adam_part(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  (void)thread;
  if (k->in[0]->dtype == CI_DOUBLE) {
    adam_doubles(k, begin, end);
    return;
  }
  const ci_adam numbers = adam_floats(k);
  k->isa->math->adam(training_at(k->out[0], begin), training_at(k->out[1], begin), training_at(k->out[2], begin),
                     training_at(k->in[ADAM_P], begin), training_at(k->in[ADAM_M], begin),
                     training_at(k->in[ADAM_V], begin), training_at(k->in[ADAM_GRADIENT], begin), &numbers,
                     end - begin);
}

ci_status ci_run_adam_step(ci_kernel *k) {
  ci_k_parallel(k, k->out[0]->count, TRAINING_GRAIN, adam_part, k);
  return CI_OK;
}
#endif
