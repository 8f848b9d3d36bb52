/* custom.c - runs custom operators: nodes whose functions the caller has registered. */
#include "custom_kernel.h"

#include <stdio.h>

#include "../../model/custom.h"
#include "../../session/session.h"

typedef struct custom_plan { /* the step's private memory; the tensors follow it */
  ci_call call;
  ci_tensor *inputs, *outputs;
  ci_status first_failure; /* of an attribute that could not be read and reported it */
} custom_plan;

static const ci_operator *custom_host(const ci_kernel *k) {
  return ((const ci_custom *)(const void *)k->node->node->kernel)->host;
}

/* ---- the interface for the caller's functions ---- */

static ci_status custom_reported(const ci_call *call, ci_status status) {
  custom_plan *plan = ((ci_kernel *)call->kernel)->private_memory;
  if (plan->first_failure == CI_OK) plan->first_failure = status;
  return status;
}

static int32_t custom_has(const ci_call *call, const char *name) {
  const ci_step *step = ((const ci_kernel *)call->kernel)->node;
  return ci_attr_find(step->plan->model, step->node, name) != NULL;
}

static ci_status custom_int(const ci_call *call, const char *name, int64_t otherwise, int64_t *value) {
  return custom_reported(call, ci_k_attr_i(call->kernel, name, otherwise, value));
}

static ci_status custom_float(const ci_call *call, const char *name, double otherwise, double *value) {
  return custom_reported(call, ci_k_attr_f(call->kernel, name, otherwise, value));
}

static ci_status custom_string(const ci_call *call, const char *name, const char **data, size_t *length) {
  ci_span str;
  CI_TRY(custom_reported(call, ci_k_attr_s(call->kernel, name, "", &str)));
  *data = str.data;
  *length = str.length;
  return CI_OK;
}

static ci_status custom_ints(const ci_call *call, const char *name, const int64_t **values, int32_t *count) {
  int found = 0;
  CI_TRY(custom_reported(call, ci_k_attr_ints(call->kernel, name, values, &found)));
  *count = found;
  return CI_OK;
}

static ci_status custom_floats(const ci_call *call, const char *name, const float **values, int32_t *count) {
  int found = 0;
  CI_TRY(custom_reported(call, ci_k_attr_floats(call->kernel, name, values, &found)));
  *count = found;
  return CI_OK;
}

typedef struct custom_job {
  void (*part)(void *argument, int64_t begin, int64_t end);
  void *argument;
} custom_job;

static void custom_part(void *argument, int64_t begin, int64_t end, int thread) {
  const custom_job *job = argument;
  (void)thread;
  job->part(job->argument, begin, end);
}

static void custom_parallel(const ci_call *call, int64_t n, int64_t grain,
                            void (*part)(void *argument, int64_t begin, int64_t end), void *argument) {
  custom_job job = {part, argument};
  ci_k_parallel(call->kernel, n, grain, custom_part, &job);
}

static const ci_services custom_services = {.size = sizeof(ci_services),
                                            .has = custom_has,
                                            .get_int = custom_int,
                                            .get_float = custom_float,
                                            .get_string = custom_string,
                                            .get_ints = custom_ints,
                                            .get_floats = custom_floats,
                                            .parallel = custom_parallel,
                                            .dtype_size = ci_dtype_size,
                                            .dtype_name = ci_dtype_name};

/* ---- the node ---- */

static custom_plan *custom_memory(ci_kernel *k) {
  const size_t count = (size_t)k->n_in + (size_t)k->n_out;
  size_t bytes;
  if (!ci_mul_size(count, sizeof(ci_tensor), &bytes) || !ci_add_size(bytes, sizeof(custom_plan), &bytes)) return NULL;
  custom_plan *plan = ci_k_private(k, bytes);
  if (plan == NULL) return NULL;
  plan->inputs = (ci_tensor *)(void *)(plan + 1);
  plan->outputs = plan->inputs + k->n_in;
  plan->call = (ci_call){.size = sizeof plan->call,
                         .version = ci_k_version(k),
                         .input_count = k->n_in,
                         .output_count = k->n_out,
                         .inputs = plan->inputs,
                         .outputs = plan->outputs,
                         .services = &custom_services,
                         .kernel = k};
  return plan;
}

static void custom_view(const ci_value *value, ci_tensor *tensor) {
  *tensor = (ci_tensor){.data = value->data, .bytes = value->bytes, .dtype = value->dtype, .rank = value->rank};
  for (int32_t d = 0; d < value->rank; d++) tensor->dims[d] = value->dims[d];
}

static void custom_inputs(const ci_kernel *k, custom_plan *plan) {
  for (int i = 0; i < k->n_in; i++) {
    if (k->in[i] != NULL) custom_view(k->in[i], &plan->inputs[i]);
  }
}

static ci_status custom_failed(ci_kernel *k, const char *function, ci_status status, ci_error *reported) {
  const custom_plan *plan = k->private_memory;
  const ci_operator *host = custom_host(k);
  char what[2 * CUSTOM_NAME + 32];
  if (plan->first_failure != CI_OK) return plan->first_failure;
  (void)snprintf(what, sizeof what, "%s of operator %s.%s", function, host->domain, host->name);
  return ci_k_fail_of(k, what, status, reported);
}

static ci_status custom_output(ci_kernel *k, int o, const ci_tensor *reported) {
  const ci_operator *host = custom_host(k);
  bool fits = reported->rank >= 0 && reported->rank <= CI_MAX_RANK && reported->dtype != CI_STRING &&
              !ci_holds(reported->dtype) && ci_dtype_size(reported->dtype) > 0;
  for (int32_t d = 0; fits && d < reported->rank; d++) fits = reported->dims[d] >= 0;
  if (fits) return ci_k_out(k, o, reported->dtype, reported->rank, reported->dims);
  return ci_k_fail(
      k, CI_INVALID_ARGUMENT,
      "shape of operator %s.%s gives %s of rank %d for output %d, expected a type of numbers, a rank of 0 to "
      "%d and no negative dimension",
      host->domain, host->name, ci_dtype_name(reported->dtype), (int)reported->rank, o, CI_MAX_RANK);
}

ci_status ci_prepare_custom(ci_kernel *k) {
  const ci_operator *host = custom_host(k);
  custom_plan *plan = custom_memory(k);
  ci_error reported = {.status = CI_OK};
  bool known = true;
  if (plan == NULL) return ci_k_no_memory(k);
  custom_inputs(k, plan);
  for (int i = 0; i < k->n_in; i++) known = known && (k->in[i] == NULL || k->in[i]->data != NULL);
  const ci_status status = host->shape(host->user, &plan->call, &reported);
  if (status == CI_AT_RUN && !known) return CI_PENDING;
  if (status == CI_AT_RUN) {
    return ci_k_fail(k, CI_UNKNOWN,
                     "shape of operator %s.%s returned CI_AT_RUN, but the numbers of all its inputs are known",
                     host->domain, host->name);
  }
  if (status != CI_OK) return custom_failed(k, "shape", status, &reported);
  for (int o = 0; o < k->n_out; o++) CI_TRY(custom_output(k, o, &plan->outputs[o]));
  k->scratch_bytes = plan->call.scratch_bytes;
  return CI_OK;
}

ci_status ci_run_custom(ci_kernel *k) {
  const ci_operator *host = custom_host(k);
  custom_plan *plan = k->private_memory;
  ci_error reported = {.status = CI_OK};
  plan->first_failure = CI_OK;
  custom_inputs(k, plan);
  for (int o = 0; o < k->n_out; o++) custom_view(k->out[o], &plan->outputs[o]);
  plan->call.scratch = k->scratch_bytes == 0 ? NULL : k->scratch;
  const ci_status status = host->run(host->user, &plan->call, &reported);
  return status == CI_OK ? CI_OK : custom_failed(k, "run", status, &reported);
}
