/* elementwise.c - prepares and runs elementwise operators.
 *
 * Rows name the operators; the functions that they compute are in isa_math.h (float32) and elementwise_unary.c,
 * _binary.c.
 */
#include "elementwise.h"

#include <math.h>

#include "../../simd/isa.h"
#include "../../math/scalar_math.h"
#include "broadcast.h"
#include "integers.h"
#include "../reduction/reduce.h"

enum { EW_GRAIN = 1 << 14 }; /* elements that are worth a thread */

static ci_status ew_no_type(ci_kernel *k, int i) {
  return ci_k_fail(k, CI_UNIMPLEMENTED, "input %d has type %s, for which this operator has no kernel", i,
                   ci_dtype_name(k->in[i]->dtype));
}

/* ---- one input ---- */

typedef struct ew_unary {
  ci_unary_fn vector; /* or NULL */
  ci_typed_unary_fn typed;
  ci_scalar_map_fn map; /* of `scalar`, or NULL */
  ci_scalar_fn scalar;
  double a, b;
  size_t from, to; /* bytes of an element */
} ew_unary;

static ci_status ew_prepare_unary(ci_kernel *k, int op, double a, double b) {
  const ci_value *x = k->in[0];
  ew_unary *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  if (x->dtype == CI_FLOAT && op < CI_MATH_UNARY_COUNT) {
    p->vector = k->isa->math->unary[op];
  } else {
    p->typed = ci_typed_unary(op, x->dtype);
    if (p->typed == NULL) return ew_no_type(k, 0);
  }
  p->a = a;
  p->b = b;
  const int32_t to = op == CI_EW_IS_NAN || op == CI_EW_IS_INF ? CI_BOOL : x->dtype;
  CI_TRY(ci_k_out_like(k, 0, to, x));
  p->from = ci_dtype_size(x->dtype);
  p->to = ci_dtype_size(to);
  if (p->from == p->to) ci_k_in_place(k, 0, 0);
  return CI_OK;
}

static void ew_unary_part(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const ew_unary *p = k->private_memory;
  (void)thread;
  if (p->vector != NULL) {
    p->vector((float *)k->out[0]->data + begin, (const float *)k->in[0]->data + begin, end - begin, (float)p->a,
              (float)p->b);
  } else if (p->map != NULL) {
    p->map((char *)k->out[0]->data + (size_t)begin * p->to, (const char *)k->in[0]->data + (size_t)begin * p->from,
           end - begin, p->scalar);
  } else {
    p->typed((char *)k->out[0]->data + (size_t)begin * p->to, (const char *)k->in[0]->data + (size_t)begin * p->from,
             end - begin, p->a, p->b);
  }
}

ci_status ci_run_unary(ci_kernel *k) {
  const int64_t n = k->out[0]->count;
  const ew_unary *p = k->private_memory;
  if (n <= EW_GRAIN) {
    ew_unary_part(k, 0, n, 0);
  } else if (p->vector != NULL) {
    ci_k_parallel(k, n, EW_GRAIN, ew_unary_part, k);
  } else {
    ci_k_parallel_rows(k, n, EW_GRAIN, ew_unary_part, k);
  }
  if (p->vector != NULL) k_wrote_one_nan(k);
  return CI_OK;
}

/* clang-format off */
#define EW_UNARY_ROWS(X)                                                                                  \
  X(abs, CI_MATH_abs) X(neg, CI_MATH_neg) X(sqrt, CI_MATH_sqrt) X(reciprocal, CI_MATH_reciprocal)         \
  X(exp, CI_MATH_exp) X(log, CI_MATH_log) X(tanh, CI_MATH_tanh) X(sigmoid, CI_MATH_sigmoid)               \
  X(erf, CI_MATH_erf) X(softplus, CI_MATH_softplus) X(relu, CI_MATH_relu) X(floor, CI_MATH_floor)         \
  X(ceil, CI_MATH_ceil) X(round, CI_MATH_round) X(sign, CI_MATH_sign) X(not, CI_EW_NOT)                   \
  X(is_nan, CI_EW_IS_NAN) X(bitwise_not, CI_EW_BIT_NOT) X(mish, CI_MATH_mish) X(softsign, CI_MATH_softsign)
/* clang-format on */
#define EW_UNARY_PREPARE(name, op) \
  ci_status ci_prepare_##name(ci_kernel *k) { return ew_prepare_unary(k, op, 0.0, 0.0); }
EW_UNARY_ROWS(EW_UNARY_PREPARE)

#if CI_HAS(trigonometry)
static ci_status ew_prepare_scalar(ci_kernel *k, ci_scalar_fn fn, int vector) {
  ew_unary *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  p->map = ci_scalar_map(k->in[0]->dtype);
  p->scalar = fn;
  if (k->in[0]->dtype == CI_FLOAT && vector < CI_DOUBLE_COUNT) p->vector = k->isa->math->trigonometry[vector];
  if (p->map == NULL) return ew_no_type(k, 0);
  p->from = p->to = ci_dtype_size(k->in[0]->dtype);
  CI_TRY(ci_k_out_like(k, 0, k->in[0]->dtype, k->in[0]));
  ci_k_in_place(k, 0, 0);
  return CI_OK;
}
/* clang-format off */
#define EW_SCALAR_ROWS(X)                                                                                   \
  X(sin, CI_DOUBLE_sin) X(cos, CI_DOUBLE_cos) X(asin, CI_DOUBLE_asin) X(acos, CI_DOUBLE_acos)               \
  X(atan, CI_DOUBLE_atan) X(tan, CI_DOUBLE_COUNT) X(sinh, CI_DOUBLE_COUNT) X(cosh, CI_DOUBLE_COUNT)         \
  X(asinh, CI_DOUBLE_COUNT) X(acosh, CI_DOUBLE_COUNT) X(atanh, CI_DOUBLE_COUNT)
/* clang-format on */
#define EW_SCALAR_PREPARE(name, vector) \
  ci_status ci_prepare_##name(ci_kernel *k) { return ew_prepare_scalar(k, ci_##name, vector); }
EW_SCALAR_ROWS(EW_SCALAR_PREPARE)
#endif

/* Operators with numeric attributes: alpha and gamma as float32 (ONNX's type of attributes). */
static ci_status ew_prepare_numbers(ci_kernel *k, int op, float alpha, float gamma) {
  double a, b;
  CI_TRY(ci_k_attr_f(k, "alpha", alpha, &a));
  CI_TRY(ci_k_attr_f(k, "gamma", gamma, &b));
  return ew_prepare_unary(k, op, (double)(float)a, (double)(float)b);
}
ci_status ci_prepare_elu(ci_kernel *k) { return ew_prepare_numbers(k, CI_MATH_elu, 1.0f, 0.0f); }
ci_status ci_prepare_leaky_relu(ci_kernel *k) { return ew_prepare_numbers(k, CI_MATH_leaky_relu, 0.01f, 0.0f); }
ci_status ci_prepare_selu(ci_kernel *k) {
  return ew_prepare_numbers(k, CI_MATH_selu, 1.67326319217681884765625f, 1.05070102214813232421875f);
}
ci_status ci_prepare_swish(ci_kernel *k) { return ew_prepare_numbers(k, CI_MATH_swish, 1.0f, 0.0f); }
ci_status ci_prepare_hard_swish(ci_kernel *k) {
  /* float64 takes its own sixth */
  const double sixth = k->in[0]->dtype == CI_DOUBLE ? 1.0 / 6.0 : (double)(1.0f / 6.0f);
  return ew_prepare_unary(k, CI_MATH_hard_swish, sixth, 0.5);
}
ci_status ci_prepare_hard_sigmoid(ci_kernel *k) {
  double alpha, beta;
  CI_TRY(ci_k_attr_f(k, "alpha", 0.2f, &alpha));
  CI_TRY(ci_k_attr_f(k, "beta", 0.5f, &beta));
  return ew_prepare_unary(k, CI_MATH_hard_sigmoid, (double)(float)alpha, (double)(float)beta);
}
ci_status ci_prepare_gelu(ci_kernel *k) {
  ci_span method;
  CI_TRY(ci_k_attr_s(k, "approximate", "none", &method));
  const bool approximate = ci_span_is(method, "tanh");
  if (!approximate && !ci_span_is(method, "none")) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "attribute 'approximate' is '%.*s', expected 'none' or 'tanh'",
                     (int)(method.length < 40 ? method.length : 40), method.data);
  }
  return ew_prepare_unary(k, approximate ? CI_MATH_gelu_tanh : CI_MATH_gelu, 0.0, 0.0);
}
ci_status ci_prepare_is_inf(ci_kernel *k) {
  int64_t negative, positive;
  CI_TRY(ci_k_attr_i(k, "detect_negative", 1, &negative));
  CI_TRY(ci_k_attr_i(k, "detect_positive", 1, &positive));
  return ew_prepare_unary(k, CI_EW_IS_INF, negative != 0, positive != 0);
}

/* ---- two inputs ---- */

typedef struct ew_binary {
  ci_broadcast walk;
  ci_binary_fn vector; /* or NULL */
  ci_typed_binary_fn typed;
  int scalar;
} ew_binary;

static int ew_scalar(const ci_broadcast *walk) {
  return walk->dims[0] == 1            ? CI_NO_SCALAR
         : ci_broadcast_still(walk, 0) ? CI_SCALAR_A
         : ci_broadcast_still(walk, 1) ? CI_SCALAR_B
                                       : CI_NO_SCALAR;
}

static void ew_binary_run(const void *context, void *y, const void *const *x, int64_t n) {
  const ew_binary *p = context;
  if (p->vector != NULL) {
    p->vector(y, x[0], x[1], n, p->scalar);
  } else {
    p->typed(y, x[0], x[1], n, p->scalar);
  }
}

static ci_status ew_binary_plan(ci_kernel *k, ew_binary *p, int op, const ci_value *a, const ci_value *b) {
  const ci_value *in[2] = {a, b};
  if (b->dtype == CI_FLOAT && op < CI_MATH_BINARY_COUNT) {
    p->vector = k->isa->math->binary[op];
  } else if (b->dtype == CI_FLOAT && op == CI_EW_POW && k->isa->math->pow != NULL) {
    p->vector = k->isa->math->pow;
  } else {
    p->typed = ci_typed_binary(op, b->dtype);
    if (p->typed == NULL) return ew_no_type(k, 0);
  }
  ci_broadcast_plan(&p->walk, k->out[0], in, 2);
  p->walk.one_nan = p->vector != NULL;
  p->scalar = ew_scalar(&p->walk);
  return CI_OK;
}

static ci_status ew_same_types(ci_kernel *k) {
  for (int i = 1; i < k->n_in; i++) {
    if (k->in[i]->dtype == k->in[0]->dtype) continue;
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "input %d has type %s, input 0 has %s; they must be equal: cast one", i,
                     ci_dtype_name(k->in[i]->dtype), ci_dtype_name(k->in[0]->dtype));
  }
  return CI_OK;
}

static ci_status ew_prepare_binary(ci_kernel *k, int op) {
  int rank;
  int64_t dims[CI_MAX_RANK];
  const ci_value *in[2] = {k->in[0], k->in[1]};
  CI_TRY(ew_same_types(k));
  CI_TRY(ci_k_broadcast(k, in, 2, &rank, dims));
  CI_TRY(ci_k_out(k, 0, op >= CI_EW_EQUAL ? CI_BOOL : in[0]->dtype, rank, dims));
  ew_binary *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  CI_TRY(ew_binary_plan(k, p, op, in[0], in[1]));
  for (int i = 0; i < 2; i++) {
    if (in[i]->bytes == k->out[0]->bytes && in[i]->count == k->out[0]->count) ci_k_in_place(k, 0, i);
  }
  return CI_OK;
}

ci_status ci_run_binary(ci_kernel *k) {
  const ew_binary *p = k->private_memory;
  const void *x[2] = {k->in[0]->data, k->in[1]->data};
  ci_broadcast_run(k, &p->walk, ew_binary_run, p, k->out[0]->data, x);
  return CI_OK;
}

/* clang-format off */
#define EW_BINARY_ROWS(X)                                                                                         \
  X(add, CI_MATH_add) X(sub, CI_MATH_sub) X(mul, CI_MATH_mul) X(div, CI_MATH_div) X(relu_grad, CI_MATH_relu_grad) \
  X(equal, CI_EW_EQUAL) X(less, CI_EW_LESS) X(less_equal, CI_EW_LESS_EQUAL) X(greater, CI_EW_GREATER)             \
  X(greater_equal, CI_EW_GREATER_EQUAL) X(and, CI_EW_AND) X(or, CI_EW_OR) X(xor, CI_EW_XOR)                       \
  X(bitwise_and, CI_EW_BIT_AND) X(bitwise_or, CI_EW_BIT_OR) X(bitwise_xor, CI_EW_BIT_XOR)
/* clang-format on */
#define EW_BINARY_PREPARE(name, op) \
  ci_status ci_prepare_##name(ci_kernel *k) { return ew_prepare_binary(k, op); }
EW_BINARY_ROWS(EW_BINARY_PREPARE)

ci_status ci_prepare_prelu(ci_kernel *k) {
  char found[2][160];
  CI_TRY(ew_prepare_binary(k, CI_MATH_prelu));
  const ci_value *x = k->in[0], *y = k->out[0];
  if (ci_shape_same(x->rank, x->dims, y->rank, y->dims)) return CI_OK;
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "slope is %s, which does not broadcast to x, %s",
                   ci_value_describe(k->in[1], found[0], sizeof found[0]),
                   ci_value_describe(x, found[1], sizeof found[1]));
}

ci_status ci_prepare_mod(ci_kernel *k) {
  int64_t fmod_rule;
  CI_TRY(ci_k_attr_i(k, "fmod", 0, &fmod_rule));
  if (fmod_rule != 0 && fmod_rule != 1) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "fmod is %lld, expected 0 or 1", (long long)fmod_rule);
  }
  return ew_prepare_binary(k, fmod_rule != 0 ? CI_EW_FMOD : CI_EW_MOD);
}

ci_status ci_prepare_bit_shift(ci_kernel *k) {
  ci_span direction;
  CI_TRY(ci_k_attr_s(k, "direction", "", &direction));
  const bool left = ci_span_is(direction, "LEFT");
  if (!left && !ci_span_is(direction, "RIGHT")) {
    const int length = direction.length < 40 ? (int)direction.length : 40;
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "direction is \"%.*s\", expected \"LEFT\" or \"RIGHT\"", length,
                     direction.data);
  }
  return ew_prepare_binary(k, left ? CI_EW_SHIFT_LEFT : CI_EW_SHIFT_RIGHT);
}

/* ---- Max and Min of any number of inputs: the first with the second, that with the third ... ---- */

typedef struct ew_fold {
  int steps;
  ci_typed_row_fn divide; /* Mean: at the end, by the number of inputs */
  ew_binary step[];
} ew_fold;

static ci_status ew_prepare_fold(ci_kernel *k, int op) {
  int rank;
  int64_t dims[CI_MAX_RANK];
  CI_TRY(ew_same_types(k));
  CI_TRY(ci_k_broadcast(k, (const ci_value *const *)k->in, k->n_in, &rank, dims));
  CI_TRY(ci_k_out(k, 0, k->in[0]->dtype, rank, dims));
  const int steps = k->n_in > 1 ? k->n_in - 1 : 1;
  ew_fold *p = ci_k_private(k, sizeof *p + (size_t)steps * sizeof p->step[0]);
  if (p == NULL) return ci_k_no_memory(k);
  p->steps = steps;
  for (int i = 0; i < steps; i++) {
    const ci_value *left = i == 0 ? k->in[0] : k->out[0], *right = k->in[k->n_in > 1 ? i + 1 : 0];
    CI_TRY(ew_binary_plan(k, &p->step[i], op, left, right));
  }
  for (int i = 0; i < k->n_in && k->n_in <= 2; i++) { /* more inputs may hold one tensor twice */
    if (k->in[i]->count == k->out[0]->count) ci_k_in_place(k, 0, i);
  }
  return CI_OK;
}

ci_status ci_prepare_max(ci_kernel *k) { return ew_prepare_fold(k, CI_MATH_max); }
ci_status ci_prepare_min(ci_kernel *k) { return ew_prepare_fold(k, CI_MATH_min); }
ci_status ci_prepare_sum(ci_kernel *k) {
  if (k->n_in > 1) return ew_prepare_fold(k, CI_MATH_add);
  if (ci_k_private(k, sizeof(ew_fold)) == NULL) return ci_k_no_memory(k); /* no steps */
  CI_TRY(ci_k_out_like(k, 0, k->in[0]->dtype, k->in[0]));
  ci_k_alias(k, 0, 0);
  return CI_OK;
}

/* The sum divided by the number of inputs. */
ci_status ci_prepare_mean(ci_kernel *k) {
  const ci_typed_reduce *reduce = ci_reduce_typed_find(CI_REDUCE_SUM, k->in[0]->dtype);
  if (reduce == NULL) return ew_no_type(k, 0);
  CI_TRY(ci_prepare_sum(k));
  if (k->n_in > 1) ((ew_fold *)k->private_memory)->divide = reduce->divide;
  return CI_OK;
}

ci_status ci_run_fold(ci_kernel *k) {
  const ew_fold *p = k->private_memory;
  for (int i = 0; i < p->steps; i++) {
    const void *x[2] = {i == 0 ? k->in[0]->data : k->out[0]->data, k->in[k->n_in > 1 ? i + 1 : 0]->data};
    ci_broadcast_run(k, &p->step[i].walk, ew_binary_run, &p->step[i], k->out[0]->data, x);
  }
  const int64_t inputs = k->n_in;
  void *y = k->out[0]->data;
  if (p->divide != NULL && k->out[0]->dtype == CI_FLOAT)
    k->isa->math->binary[CI_MATH_div](y, y, &(const float){(float)inputs}, k->out[0]->count, CI_SCALAR_B);
  else if (p->divide != NULL) p->divide(y, &inputs, k->out[0]->count);
  return CI_OK;
}

/* ---- Pow: the exponent may have another type ---- */

typedef struct ew_power {
  ew_binary same; /* types equal */
  ci_cast_fn from, exponent, to;
  ci_typed_binary_fn compute; /* of two double, int64 or uint64 */
  size_t item[2];
} ew_power;

enum { EW_POWER_PIECE = 128 };
typedef union ew_number {
  double f;
  int64_t i;
  uint64_t u;
} ew_number;

/* In double, or in 64 bits if both are integers, in pieces; powers of float32 by their own rule. */
static void ew_power_run(const void *context, void *y, const void *const *x, int64_t n) {
  const ew_power *p = context;
  ew_number base[EW_POWER_PIECE], exponent[EW_POWER_PIECE];
  const bool still[2] = {p->same.scalar == CI_SCALAR_A, p->same.scalar == CI_SCALAR_B};
  for (int64_t i = 0; i < n; i += EW_POWER_PIECE) {
    const int64_t count = n - i < EW_POWER_PIECE ? n - i : EW_POWER_PIECE;
    p->from(base, (const char *)x[0] + (still[0] ? 0 : (size_t)i * p->item[0]), still[0] ? 1 : count);
    p->exponent(exponent, (const char *)x[1] + (still[1] ? 0 : (size_t)i * p->item[1]), still[1] ? 1 : count);
    p->compute(base, base, exponent, count, p->same.scalar);
    p->to((char *)y + (size_t)i * p->item[0], base, count);
  }
}

static bool ew_is_unsigned(int32_t dtype) {
  return dtype == CI_UINT8 || dtype == CI_UINT16 || dtype == CI_UINT32 || dtype == CI_UINT64;
}

ci_status ci_prepare_pow(ci_kernel *k) {
  const ci_value *x = k->in[0], *z = k->in[1], *in[2] = {x, z};
  int rank;
  int64_t dims[CI_MAX_RANK];
  CI_TRY(ci_k_broadcast(k, in, 2, &rank, dims));
  CI_TRY(ci_k_out(k, 0, x->dtype, rank, dims));
  ew_power *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  if (x->dtype == z->dtype) return ew_binary_plan(k, &p->same, CI_EW_POW, x, z);
  for (int i = 0; i < 2; i++) {
    if (ci_typed_binary(CI_EW_POW, in[i]->dtype) == NULL) return ew_no_type(k, i);
  }
  const bool whole = ci_is_integer(x->dtype) && ci_is_integer(z->dtype);
  const int32_t between = !whole ? CI_DOUBLE : ew_is_unsigned(z->dtype) ? CI_UINT64 : CI_INT64;
  p->from = ci_cast_find(k->isa, x->dtype, between);
  p->exponent = ci_cast_find(k->isa, z->dtype, between);
  p->to = ci_cast_find(k->isa, between, x->dtype);
  p->compute = ci_typed_binary(CI_EW_POW, between);
  if (p->compute == NULL) return ew_no_type(k, 1);
  p->item[0] = ci_dtype_size(x->dtype);
  p->item[1] = ci_dtype_size(z->dtype);
  ci_broadcast_plan(&p->same.walk, k->out[0], in, 2);
  p->same.scalar = ew_scalar(&p->same.walk);
  return CI_OK;
}

ci_status ci_run_pow(ci_kernel *k) {
  const ew_power *p = k->private_memory;
  const void *x[2] = {k->in[0]->data, k->in[1]->data};
  if (p->same.vector != NULL || p->same.typed != NULL) {
    ci_broadcast_run(k, &p->same.walk, ew_binary_run, &p->same, k->out[0]->data, x);
  } else {
    ci_broadcast_run(k, &p->same.walk, ew_power_run, p, k->out[0]->data, x);
  }
  return CI_OK;
}
