/* dynamic_shapes_batch.c - plans in which only the batch size is dynamic, as in a multilayer perceptron.
 *
 * Where every kernel that reads a batched value takes the batch size from it when it runs (free_rows in ci_kernel.h),
 * another batch size is an update of a few numbers as long as the results fit the layout.
 */
#include "compile.h"
#include "../session/output.h"

enum { DYNAMIC_SHAPES_BATCH_INPUTS = 64 }; /* bits of ci_batch.inputs */

static void dynamic_shapes_batch_at_most(int64_t *bound, uint64_t most) {
  if (most < (uint64_t)*bound) *bound = (int64_t)most;
}

/* Adds a value to the batched ones; false: its first axis is not the batch. */
static bool dynamic_shapes_batch_add(ci_plan *plan, ci_plan_value *plan_value) {
  ci_batch *batch = &plan->batch;
  ci_value *value = &plan_value->value;
  const ci_buffer *buffer = &plan->buffers.at[plan_value->buffer];
  const bool plain = value->bytes == (size_t)value->count * ci_dtype_size(value->dtype);
  if (value->dims[0] != batch->size || value->bytes == 0 || !plain) return false;
  if (!CI_LIST_GROW(&plan->session->allocator, &batch->values)) return false;
  const ci_batched_value added = {value, value->count / batch->size, value->bytes / (size_t)batch->size};
  batch->values.at[batch->values.count++] = added;
  plan_value->has_batch = true;
  dynamic_shapes_batch_at_most(&batch->most, PTRDIFF_MAX / added.bytes);
  if (buffer->home == CI_HOME_ARENA) dynamic_shapes_batch_at_most(&batch->capacity, buffer->capacity / added.bytes);
  return true;
}

/* Inputs with a batch of two or more items whose size the signature leaves open; kernels may broadcast a batch of one.
 */
static bool dynamic_shapes_batch_inputs(ci_plan *plan) {
  const ci_binding *bindings = plan->model->signatures.at[plan->signature].inputs;
  ci_batch *batch = &plan->batch;
  if (plan->input_count > DYNAMIC_SHAPES_BATCH_INPUTS) return false;
  for (int32_t i = 0; i < plan->input_count; i++) {
    const ci_value *value = &plan->input_plan_values[i]->value;
    const bool open = bindings[i].rank < 0 || (bindings[i].rank > 0 && bindings[i].dims[0] < 0);
    if (!open || value->rank < 1 || value->dims[0] < 2) continue;
    if (batch->size == 0) batch->size = value->dims[0];
    if (!dynamic_shapes_batch_add(plan, plan->input_plan_values[i])) return false;
    batch->inputs |= UINT64_C(1) << i;
  }
  return batch->size > 0;
}

/* Whether the step reads no batched value, or only such for which its kernel takes any batch size. */
static bool dynamic_shapes_batch_step(ci_plan *plan, const ci_step *step) {
  const ci_kernel *k = &step->k;
  bool reads = false, as_free = !step->widens && k->n_out == 1 && k->free_rows >= plan->batch.size;
  for (int i = 0; i < k->n_in; i++) {
    const bool has = k->in[i] != NULL && ci_plan_value_of(k->in[i])->has_batch;
    const bool may = as_free && (k->row_inputs >> i & 1) != 0; /* the operator has no more inputs than bits */
    reads = reads || has;
    as_free = as_free && (k->in[i] == NULL || has == may);
  }
  if (!reads) return true;
  ci_plan_value *plan_value = as_free ? ci_plan_value_of(k->out[0]) : NULL;
  if (plan_value == NULL || plan_value->buffer == CI_NONE) return false;
  const ci_buffer *buffer = &plan->buffers.at[plan_value->buffer];
  if (buffer->home != CI_HOME_ARENA || buffer->same_as != CI_NONE) return false;
  dynamic_shapes_batch_at_most(&plan->batch.most, (uint64_t)k->free_rows);
  return dynamic_shapes_batch_add(plan, plan_value);
}

/* An output must remain below CI_OUTPUT_LARGE, or not (output.c), and a borrowed one must fit its copy. */
static void dynamic_shapes_batch_outputs(ci_plan *plan) {
  ci_batch *batch = &plan->batch;
  for (int32_t i = 0; i < plan->output_count; i++) {
    const ci_plan_output *output = &plan->outputs[i];
    if (!output->plan_value->has_batch) continue;
    const size_t bytes = output->plan_value->value.bytes / (size_t)batch->size;
    const int64_t large = (int64_t)((CI_OUTPUT_LARGE + bytes - 1) / bytes);
    if (output->copy != CI_NONE)
      dynamic_shapes_batch_at_most(&batch->capacity, plan->buffers.at[output->copy].capacity / bytes);
    if (batch->size < large) dynamic_shapes_batch_at_most(&batch->most, (uint64_t)large - 1);
    else if (batch->least < large) batch->least = large;
  }
}

void ci_dynamic_shapes_batch_find(ci_plan *plan) {
  ci_batch *batch = &plan->batch;
  batch->values.count = 0;
  batch->inputs = 0;
  batch->size = 0;
  batch->least = 2;
  batch->most = batch->capacity = PTRDIFF_MAX;
  for (int32_t i = 0; i < plan->plan_value_count; i++) plan->plan_values[i].has_batch = false;
  bool batched = plan->refits && dynamic_shapes_batch_inputs(plan);
  for (size_t s = 0; batched && s < plan->all_steps.count; s++)
    batched = dynamic_shapes_batch_step(plan, plan->all_steps.at[s]);
  if (batched) dynamic_shapes_batch_outputs(plan);
  else batch->size = 0;
}

/* The batch size of inputs that differ from the plan's in nothing else; -1: they do. */
static int64_t dynamic_shapes_batch_size_of(const ci_plan *plan, const ci_tensor *inputs) {
  int64_t size = -1;
  for (int32_t i = 0; i < plan->input_count; i++) {
    const ci_tensor *was = &plan->inputs[i], *now = &inputs[i];
    const bool batched = (plan->batch.inputs >> i & 1) != 0;
    if (was->dtype != now->dtype || was->rank != now->rank) return -1;
    for (int32_t d = batched; d < now->rank; d++) {
      if (was->dims[d] != now->dims[d]) return -1;
    }
    if (batched && size < 0) size = now->dims[0];
    if (batched && size != now->dims[0]) return -1;
  }
  return size;
}

bool ci_dynamic_shapes_batch_takes(ci_plan *plan, const ci_tensor *inputs) {
  ci_batch *batch = &plan->batch;
  const int64_t size = dynamic_shapes_batch_size_of(plan, inputs);
  if (size == batch->size) return true;
  if (plan->reserved || size < batch->least || size > batch->most || size > batch->capacity) return false;
  batch->size = size;
  for (size_t i = 0; i < batch->values.count; i++) {
    const ci_batched_value *batched = &batch->values.at[i];
    batched->value->dims[0] = size;
    batched->value->count = size * batched->count;
    batched->value->bytes = (size_t)size * batched->bytes;
  }
  for (int32_t i = 0; i < plan->input_count; i++) {
    if ((batch->inputs >> i & 1) != 0) plan->inputs[i].dims[0] = size;
  }
  plan->session->stats.plans++;
  plan->session->stats.refits++;
  return true;
}

bool ci_dynamic_shapes_batch_lacks_capacity(const ci_plan *plan, const ci_tensor *inputs) {
  const ci_batch *batch = &plan->batch;
  const int64_t size = batch->size == 0 ? -1 : dynamic_shapes_batch_size_of(plan, inputs);
  return size >= batch->least && size <= batch->most && size > batch->capacity;
}
