/* custom.c - custom operators: rows that the caller adds to the table of operators. */
#include "custom.h"

#include "../kernels/custom/custom_kernel.h"

enum { CUSTOM_MOST = 1 << 16 };

static bool custom_is_name(const char *str) {
  const size_t length = str == NULL ? 0 : strlen(str);
  return length > 0 && length <= CUSTOM_NAME;
}

static bool custom_is_ours(const char *domain) {
  static const char *const ours[] = {"ai.onnx", "ai.onnx.ml", "ai.onnx.preview.training", "graphio"};
  for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
    if (strcmp(domain, ours[i]) == 0) return true;
  }
  return false;
}

static bool custom_is_range(int32_t least, int32_t most) {
  return least >= 0 && least <= INT8_MAX && most >= -1 && most <= INT8_MAX && (most < 0 || most >= least);
}

static ci_status custom_check(const ci_operator *given, int32_t number, ci_error *error) {
  if (given == NULL || given->size < sizeof *given || !custom_is_name(given->domain) || !custom_is_name(given->name)) {
    return ci_fail(error, CI_INVALID_ARGUMENT,
                   "operator %d of ci_options: size must be sizeof(ci_operator), domain and name 1 to %d bytes",
                   (int)number, CUSTOM_NAME);
  }
  const char *wrong = NULL;
  if (custom_is_ours(given->domain)) wrong = "the domain belongs to the library; choose another one";
  else if (given->since < 1 || (given->until != 0 && given->until < given->since)) wrong = "no such range of versions";
  else if (!custom_is_range(given->min_inputs, given->max_inputs)) wrong = "no such range of inputs (at most 127)";
  else if (!custom_is_range(given->min_outputs, given->max_outputs)) wrong = "no such range of outputs (at most 127)";
  else if (given->shape == NULL || given->run == NULL) wrong = "shape or run is NULL";
  if (wrong == NULL) return CI_OK;
  return ci_fail(error, CI_INVALID_ARGUMENT, "operator %s.%s of ci_options: %s", given->domain, given->name, wrong);
}

ci_status ci_custom_take(ci_model *model, const ci_operator *const *operators, int32_t count, ci_error *error) {
  if (count == 0) return CI_OK;
  if (!CI_HAS(custom)) {
    return ci_fail(error, CI_UNIMPLEMENTED,
                   "this cinfer was built without custom operators: add custom to CINFER_FAMILIES (CMake) "
                   "or CI_FAMILIES (one file)");
  }
  if (count < 0 || count > CUSTOM_MOST || operators == NULL) {
    return ci_fail(error, CI_INVALID_ARGUMENT, "%d operators in ci_options, expected 0 to %d and their addresses",
                   (int)count, CUSTOM_MOST);
  }
  model->customs = ci_pool_alloc(&model->pool, (size_t)count * sizeof *model->customs);
  if (model->customs == NULL) return ci_fail(error, CI_RESOURCE_EXHAUSTED, "no memory for the model");
  for (int32_t i = 0; i < count; i++) {
    const ci_operator *given = operators[i];
    CI_TRY(custom_check(given, i, error));
    model->customs[i] = (ci_custom){{.domain = given->domain,
                                     .name = given->name,
                                     .since = given->since,
                                     .until = given->until,
                                     .min_in = (int8_t)given->min_inputs,
                                     .max_in = (int8_t)given->max_inputs,
                                     .min_out = (int8_t)given->min_outputs,
                                     .max_out = (int8_t)given->max_outputs,
                                     .flags = given->stateful != 0 ? CI_OP_STATEFUL : 0u,
                                     .prepare = ci_prepare_custom,
                                     .run = ci_run_custom},
                                    given};
    model->custom_count = i + 1;
  }
  return CI_OK;
}

static bool custom_same(const char *str, ci_span span) {
  return strlen(str) == span.length && memcmp(str, span.data, span.length) == 0;
}

const ci_op *ci_custom_find(const ci_model *model, ci_span domain, ci_span name, int64_t version) {
  for (int32_t i = 0; i < model->custom_count; i++) {
    const ci_op *op = &model->customs[i].op;
    const bool fits = version >= op->since && (op->until == 0 || version <= op->until);
    if (fits && custom_same(op->name, name) && custom_same(op->domain, domain)) return op;
  }
  return NULL;
}
