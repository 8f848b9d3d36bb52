/* host.c - HostCall, ImageDecoder: nodes that call functions of the program around the library. */
#include <stdio.h>

#include "../../session/session.h"
#include "../strings/strings.h"

typedef struct host_plan { /* the step's private memory; the arrays it points at follow it */
  ci_tensor *inputs;
  ci_info *outputs;
  bool *given;
  char *function;
  bool called; /* the function is running: it may give outputs */
} host_plan;

static bool host_reserve(size_t *total, size_t count, size_t item, size_t *offset) {
  size_t bytes;
  *offset = *total;
  return ci_mul_size(count, item, &bytes) && ci_add_size(ci_round_up(bytes, 8), *total, total);
}

static host_plan *host_memory(ci_kernel *k, ci_span function) {
  size_t total = sizeof(host_plan), inputs, outputs, given, name;
  if (!host_reserve(&total, (size_t)k->n_in, sizeof(ci_tensor), &inputs) ||
      !host_reserve(&total, (size_t)k->n_out, sizeof(ci_info), &outputs) ||
      !host_reserve(&total, (size_t)k->n_out, sizeof(bool), &given) ||
      !host_reserve(&total, function.length, 1, &name) || !ci_add_size(total, 1, &total)) {
    return NULL;
  }
  char *memory = ci_k_private(k, total);
  if (memory == NULL) return NULL;
  host_plan *plan = (host_plan *)(void *)memory;
  plan->inputs = (ci_tensor *)(void *)(memory + inputs);
  plan->outputs = (ci_info *)(void *)(memory + outputs);
  plan->given = (bool *)(void *)(memory + given);
  plan->function = memory + name;
  if (function.length > 0) memcpy(plan->function, function.data, function.length);
  return plan;
}

/* An output whose shape is not known has separate memory, allocated when the function gives it. */
static ci_status host_buffer(ci_kernel *k, int o, const ci_type *type, ci_info *info) {
  ci_plan *plan = k->node->plan;
  info->dtype = type->dtype;
  info->rank = type->rank;
  memcpy(info->dims, type->dims, sizeof info->dims);
  bool known = type->rank >= 0;
  for (int32_t d = 0; d < type->rank; d++) known = known && type->dims[d] >= 0;
  if (known) return ci_k_out(k, o, type->dtype, type->rank, type->dims);
  ci_plan_value *plan_value = ci_plan_value_of(k->out[o]);
  int32_t buffer = ci_plan_buffer(plan, CI_HOME_HEAP, 0);
  if (buffer == CI_NONE) return ci_k_no_memory(k);
  plan_value->value.dtype = type->dtype;
  plan_value->value.rank = -1;
  ci_plan_own(plan, plan_value, buffer);
  plan_value->made = k->node->begin;
  return CI_OK;
}

/* An output of the type that the model declares. */
static ci_status host_declare(ci_kernel *k, int o, ci_info *info) {
  ci_plan *plan = k->node->plan;
  const ci_edge *edge = &plan->model->edges.at[k->node->node->outputs + o];
  ci_type type = {.rank = -1};
  CI_TRY(ci_type_parse(ci_stored_bytes(plan->model, edge->type), &type, plan->error));
  if (type.kind != CI_KIND_TENSOR || ci_dtype_size(type.dtype) == 0) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "output %d is not declared as a tensor of a known type", o);
  }
  return host_buffer(k, o, &type, info);
}

ci_status ci_prepare_host_call(ci_kernel *k) {
  ci_span function;
  CI_TRY(ci_k_attr_s(k, "function", "", &function));
  if (!ci_is_string(function)) return ci_k_fail(k, CI_INVALID_ARGUMENT, "the name of the function has a zero byte");
  host_plan *plan = host_memory(k, function);
  if (plan == NULL) return ci_k_no_memory(k);
  for (int o = 0; o < k->n_out; o++) {
    plan->outputs[o].name = plan->function;
    CI_TRY(host_declare(k, o, &plan->outputs[o]));
  }
  return CI_OK;
}

static ci_status image_check(ci_kernel *k) {
  const ci_value *x = k->in[0];
  char found[128];
  if (x->dtype == CI_UINT8 && x->rank == 1) return CI_OK;
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "the input is %s, expected a vector of uint8",
                   ci_value_describe(x, found, sizeof found));
}

/* Pictures are decoded by a function of the name ai.onnx.ImageDecoder/RGB, BGR or Grayscale: a vector of uint8 to
 * [height, width, channels]. The shape of the vector may be known in the run alone. */
ci_status ci_prepare_image_decoder(ci_kernel *k) {
  static const char *const names[] = {"ai.onnx.ImageDecoder/RGB", "ai.onnx.ImageDecoder/BGR",
                                      "ai.onnx.ImageDecoder/Grayscale"};
  ci_span pixels;
  int chosen = 0;
  CI_TRY(ci_k_attr_s(k, "pixel_format", "RGB", &pixels));
  while (chosen < 3 && !ci_span_is(pixels, strrchr(names[chosen], '/') + 1)) chosen++;
  if (chosen == 3) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "pixel_format is '%.*s', expected RGB, BGR or Grayscale",
                     (int)(pixels.length < 64 ? pixels.length : 64), pixels.length > 0 ? pixels.data : "");
  }
  if (k->in[0]->rank >= 0) CI_TRY(image_check(k));
  host_plan *plan = host_memory(k, (ci_span){names[chosen], strlen(names[chosen])});
  if (plan == NULL) return ci_k_no_memory(k);
  plan->outputs[0].name = plan->function;
  const ci_type type = {.dtype = CI_UINT8, .rank = 3, .dims = {-1, -1, chosen == 2 ? 1 : 3}};
  return host_buffer(k, 0, &type, &plan->outputs[0]);
}

/* ---- the function gives its outputs ---- */

/* Text that the function owns is copied to where views of this run may show it. */
static ci_status host_strings(ci_kernel *k, const ci_value *from, ci_string *to) {
  const ci_string *given = from->data;
  char *str = NULL;
  size_t bytes = 0;
  for (int64_t i = 0; i < from->count; i++) CI_TRY(ci_string_add(k, &bytes, given[i].length));
  CI_TRY(ci_string_memory(k, bytes, &str));
  for (int64_t i = 0; i < from->count; i++) {
    to[i] = (ci_string){str, given[i].length};
    if (given[i].length > 0) memcpy(str, given[i].data, given[i].length);
    str += given[i].length;
  }
  return CI_OK;
}

static ci_status host_wrong(const ci_host_call *call, int32_t output, const ci_value *value, ci_error *error) {
  const ci_info *declared = &call->outputs[output];
  ci_value requested = {.dtype = declared->dtype, .rank = declared->rank};
  char found[200], expected[200];
  memcpy(requested.dims, declared->dims, sizeof requested.dims);
  return ci_fail(error, CI_INVALID_ARGUMENT, "output %d of %.200s is %s, expected %s", (int)output, call->function,
                 ci_value_describe(value, found, sizeof found),
                 ci_value_describe(&requested, expected, sizeof expected));
}

static bool host_fits(const ci_info *declared, const ci_value *value) {
  bool fits = declared->dtype == value->dtype && (declared->rank < 0 || declared->rank == value->rank);
  for (int32_t d = 0; fits && d < declared->rank; d++) {
    fits = declared->dims[d] < 0 || declared->dims[d] == value->dims[d];
  }
  return fits;
}

ci_status ci_host_give(ci_host_call *call, int32_t output, const ci_tensor *tensor, ci_error *error) {
  ci_value value;
  if (!CI_HAS(host) || call == NULL || tensor == NULL || output < 0 || output >= call->output_count) {
    return ci_fail(error, CI_INVALID_ARGUMENT, "there is no output number %d", (int)output);
  }
  ci_kernel *k = call->kernel;
  host_plan *plan = k->private_memory;
  if (!plan->called) {
    return ci_fail(error, CI_FAILED_PRECONDITION,
                   "output %d of %.200s is given outside of its call: give it in its turn", (int)output,
                   call->function);
  }
  if (plan->given[output]) {
    return ci_fail(error, CI_INVALID_ARGUMENT, "output %d of %.200s is given twice", (int)output, call->function);
  }
  CI_TRY(ci_value_of_tensor(tensor, &value, error));
  if (tensor->bytes < value.bytes || (tensor->data == NULL && value.bytes > 0)) {
    return ci_fail(error, CI_INVALID_ARGUMENT, "output %d of %.200s has %zu bytes, its shape needs %zu", (int)output,
                   call->function, tensor->data == NULL ? 0 : tensor->bytes, value.bytes);
  }
  if (!host_fits(&call->outputs[output], &value)) return host_wrong(call, output, &value, error);
  ci_value *to = k->out[output];
  ci_error *outside = k->node->plan->error;
  k->node->plan->error = error;
  ci_status status = CI_OK;
  if (ci_plan_buffer_of(k->node->plan, to)->home == CI_HOME_HEAP) {
    *to = value;
    status = ci_heap_value(k, to);
  }
  if (status == CI_OK && value.dtype == CI_STRING) status = host_strings(k, &value, to->data);
  else if (status == CI_OK && value.bytes > 0) memcpy(to->data, value.data, value.bytes);
  k->node->plan->error = outside;
  plan->given[output] = status == CI_OK;
  return status;
}

/* ---- the call ---- */

static ci_status host_inputs(ci_kernel *k, ci_tensor *inputs) {
  for (int i = 0; i < k->n_in; i++) {
    const ci_value *in = k->in[i];
    inputs[i] = (ci_tensor){.data = in->data, .bytes = in->bytes, .dtype = in->dtype, .rank = in->rank};
    memcpy(inputs[i].dims, in->dims, (size_t)in->rank * sizeof in->dims[0]);
  }
  return CI_OK;
}

static ci_status host_failed(ci_kernel *k, const host_plan *plan, ci_status status, ci_error *reported) {
  char what[240];
  (void)snprintf(what, sizeof what, "the host function %.200s", plan->function);
  return ci_k_fail_of(k, what, status, reported);
}

static ci_host_call host_call_of(ci_kernel *k) {
  const host_plan *plan = k->private_memory;
  return (ci_host_call){.size = sizeof(ci_host_call),
                        .function = plan->function,
                        .input_count = k->n_in,
                        .output_count = k->n_out,
                        .inputs = plan->inputs,
                        .outputs = plan->outputs,
                        .kernel = k};
}

/* Whether the calls of two functions keep their order: those of one, and those of `name` and `name/part`. */
static bool host_related(const char *one, const char *other) {
  while (*one != '\0' && *one == *other) one++, other++;
  return (*one == '\0' && (*other == '\0' || *other == '/')) || (*one == '/' && *other == '\0');
}

/* Whether all that a step does is one call of the host. */
static bool host_is_call(const ci_step *step) {
  return ci_step_is(step, CI_OP_CALLS_HOST) && !step->dynamic && step->freed == CI_NONE;
}

/* Whether a step calls the host, neither waits for a node nor reads a result of one of `count` steps, and its call
 * keeps its order with none of these. */
static bool host_independent(const ci_step *step, ci_step *const *before, size_t count) {
  if (!host_is_call(step) || step->node->control_count > 0) return false;
  const host_plan *own = step->k.private_memory;
  for (size_t s = 0; s < count; s++) {
    const host_plan *other = before[s]->k.private_memory;
    if (!host_is_call(before[s]) || host_related(own->function, other->function)) return false;
  }
  for (int i = 0; i < step->k.n_in; i++) {
    if (step->k.in[i] == NULL || ci_holds(step->k.in[i]->dtype)) return false;
    for (size_t s = 0; s < count; s++) {
      for (int o = 0; o < before[s]->k.n_out; o++) {
        if (ci_plan_value_of(step->k.in[i])->root == ci_plan_value_of(before[s]->k.out[o])->root) return false;
      }
    }
  }
  return true;
}

int ci_host_peek(const ci_host_call *call, int n, ci_host_call *next) {
  if (!CI_HAS(host) || call == NULL || next == NULL || n < 1) return 0;
  const ci_kernel *k = call->kernel;
  const ci_frame *frame = &k->node->plan->root;
  size_t at = 0, ahead = (size_t)n;
  while (at < frame->steps.count && frame->steps.at[at] != k->node) at++;
  if (at == frame->steps.count || ahead >= frame->steps.count - at) return 0;
  for (size_t i = 1; i <= ahead; i++) {
    if (!host_independent(frame->steps.at[at + i], &frame->steps.at[at], i)) return 0;
  }
  ci_kernel *other = &frame->steps.at[at + ahead]->k;
  host_plan *plan = other->private_memory;
  if (host_inputs(other, plan->inputs) != CI_OK) return 0;
  *next = host_call_of(other);
  return 1;
}

ci_status ci_run_host_call(ci_kernel *k) {
  const struct ci_session *session = k->node->plan->session;
  host_plan *plan = k->private_memory;
  ci_error reported = {.status = CI_OK};
  if (session->host.call == NULL) {
    return ci_k_fail(
        k, CI_FAILED_PRECONDITION,
        "the host function '%.200s' is not bound: a file holds its name alone; give one in the options of the "
        "session",
        plan->function);
  }
  CI_TRY(host_inputs(k, plan->inputs));
  for (int o = 0; o < k->n_out; o++) plan->given[o] = false;
  ci_host_call call = host_call_of(k);
  plan->called = true;
  const ci_status status = session->host.call(session->host.user, &call, &reported);
  plan->called = false;
  if (status != CI_OK) return host_failed(k, plan, status, &reported);
  for (int o = 0; o < k->n_out; o++) {
    if (!plan->given[o]) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "%.200s returned without its output %d", plan->function, o);
    }
  }
  return CI_OK;
}

ci_status ci_run_image_decoder(ci_kernel *k) {
  CI_TRY(image_check(k));
  return ci_run_host_call(k);
}
