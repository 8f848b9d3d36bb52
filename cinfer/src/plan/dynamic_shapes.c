/* dynamic_shapes.c - fits a plan to other shapes of its inputs.
 *
 * Most plans of a signature differ in sizes alone: the same steps, the same values in the same memory. Then only the
 * kernels whose inputs changed are prepared again, and the arena is laid out again. Any other difference spoils the
 * plan, and the caller makes a new one.
 */
#include "compile.h"
#include "../session/output.h"

static ci_buffer *dynamic_shapes_buffer(ci_plan *plan, const ci_plan_value *plan_value) {
  return &plan->buffers.at[plan->plan_values[plan_value->root].buffer];
}

static bool dynamic_shapes_is_touched(const ci_step *step) {
  for (int i = 0; i < step->k.n_in; i++) {
    if (step->k.in[i] != NULL && ci_plan_value_of(step->k.in[i])->shape_changed) return true;
  }
  return false;
}

void ci_dynamic_shapes_classify(ci_plan *plan) {
  plan->refits = !plan->has_heap;
  for (size_t s = 0; s < plan->all_steps.count; s++) {
    const ci_step *step = plan->all_steps.at[s];
    if (step->dynamic || ci_step_is(step, CI_OP_CONTROL)) plan->refits = false;
  }
  ci_dynamic_shapes_batch_find(plan);
}

/* To the kernels that are prepared, the results of the last run are unknown. */
static void dynamic_shapes_forget(ci_plan *plan) {
  for (int32_t i = 0; i < plan->plan_value_count; i++) {
    ci_plan_value *plan_value = &plan->plan_values[i];
    plan_value->shape_changed = false;
    if (plan->plan_values[plan_value->root].buffer != CI_NONE &&
        dynamic_shapes_buffer(plan, plan_value)->home != CI_HOME_FIXED)
      plan_value->value.data = NULL;
  }
}

static bool dynamic_shapes_differs(const ci_value *was, const ci_value *now) {
  return was->dtype != now->dtype || !ci_shape_same(was->rank, was->dims, now->rank, now->dims);
}

static bool dynamic_shapes_inputs(ci_plan *plan, const ci_tensor *inputs) {
  for (int32_t i = 0; i < plan->input_count; i++) {
    ci_plan_value *plan_value = plan->input_plan_values[i];
    const ci_value was = plan_value->value;
    ci_tensor shape = inputs[i];
    shape.data = plan_value; /* as in compile.c, not read */
    if (ci_value_of_tensor(&shape, &plan_value->value, NULL) != CI_OK) return false;
    plan_value->value.data = NULL;
    plan_value->shape_changed = dynamic_shapes_differs(&was, &plan_value->value);
    plan->inputs[i] = inputs[i];
    plan->inputs[i].data = NULL;
  }
  return true;
}

/* Whether the step still offers its output the memory that the layout chose for it. */
static bool dynamic_shapes_offered(const ci_compiler *c, int32_t output, int32_t given) {
  const ci_plan *plan = c->plan;
  for (size_t i = 0; i < c->offers.count; i++) {
    if (c->offers.at[i].output != output) continue;
    int32_t buffer = plan->plan_values[plan->plan_values[c->offers.at[i].input].root].buffer;
    while (buffer != given && buffer != CI_NONE) buffer = plan->buffers.at[buffer].same_as;
    if (buffer == given) return true;
  }
  return false;
}

enum {
  REFIT_OUTPUTS = 8,
  REFIT_LOST = 1 << 16 /* unused bytes of the pool with which a new plan is better */
};

/* Computes again a result that was computed while planning, in the same memory if that is large enough; if not, in one
 * and a half times the size, so that sizes that increase leave little unused. */
static bool dynamic_shapes_folded(ci_compiler *c, ci_step *step, const ci_value *was) {
  ci_plan *plan = c->plan;
  for (int o = 0; o < step->k.n_out; o++) {
    ci_value *value = step->k.out[o];
    ci_buffer *buffer = dynamic_shapes_buffer(plan, ci_plan_value_of(value));
    const size_t held = buffer->block_bytes > was[o].bytes ? buffer->block_bytes : was[o].bytes;
    value->data = was[o].data;
    if (value->bytes > held) {
      plan->lost += buffer->block == NULL ? held : 0;
      /* ci_k_out has limited the size */
      if (!ci_buffer_take_fixed(plan, buffer, value->bytes + value->bytes / 2, &value->data)) return false;
    }
    ci_plan_value_of(value)->shape_changed = true;
  }
  return ci_fold_again(c, step);
}

static bool dynamic_shapes_output(ci_compiler *c, ci_step *step, int o, const ci_value *was) {
  ci_plan *plan = c->plan;
  ci_plan_value *plan_value = ci_plan_value_of(step->k.out[o]);
  plan_value->shape_changed = dynamic_shapes_differs(was, &plan_value->value);
  if (was->dtype != plan_value->value.dtype) return false;
  if (step->alias[o] != CI_NONE) { /* known numbers may differ although the shape is the same */
    plan_value->value.data = plan->plan_values[plan_value->root].value.data;
    plan_value->shape_changed = plan_value->shape_changed || plan->plan_values[plan_value->root].shape_changed;
    return true;
  }
  ci_buffer *buffer = &plan->buffers.at[plan_value->buffer];
  if (buffer->home != CI_HOME_ARENA) return !plan_value->shape_changed;
  buffer->bytes = plan_value->value.bytes;
  return buffer->same_as == CI_NONE ||
         dynamic_shapes_offered(c, ci_plan_value_index(plan, plan_value), buffer->same_as);
}

static bool dynamic_shapes_step(ci_compiler *c, ci_step *step) {
  ci_plan *plan = c->plan;
  const size_t held = step->private_bytes, more = step->more_bytes;
  const int outs = step->k.n_out;
  ci_value was[REFIT_OUTPUTS];
  int32_t alias[REFIT_OUTPUTS];
  if (outs < 1 || outs > REFIT_OUTPUTS) return false;
  for (int o = 0; o < outs; o++) {
    was[o] = *step->k.out[o];
    alias[o] = step->alias[o];
    step->k.out[o]->data = NULL;
  }
  c->offers.count = 0;
  if (ci_step_prepare(step) != CI_OK) return false;
  if (held < step->private_bytes) plan->lost += held;
  if (more < step->more_bytes) plan->lost += more;
  for (int o = 0; o < outs; o++) {
    if (alias[o] != step->alias[o]) return false;
  }
  const bool folded =
      alias[0] == CI_NONE && dynamic_shapes_buffer(plan, ci_plan_value_of(step->k.out[0]))->home == CI_HOME_FIXED;
  if (folded) return dynamic_shapes_folded(c, step, was);
  for (int o = 0; o < outs; o++) {
    if (!dynamic_shapes_output(c, step, o, &was[o])) return false;
  }
  if ((step->scratch == CI_NONE) != (step->k.scratch_bytes == 0)) return false;
  if (step->scratch != CI_NONE) plan->buffers.at[step->scratch].bytes = step->k.scratch_bytes;
  return true;
}

/* Values that share memory are of one size; an output that a caller borrows has a separate copy. */
static bool dynamic_shapes_sizes(ci_plan *plan) {
  for (size_t p = 0; p < plan->buffers.count; p++) {
    const ci_buffer *buffer = &plan->buffers.at[p];
    if (buffer->same_as != CI_NONE && buffer->bytes != plan->buffers.at[buffer->same_as].bytes) return false;
  }
  for (int32_t i = 0; i < plan->output_count; i++) {
    if (plan->outputs[i].copy != CI_NONE)
      plan->buffers.at[plan->outputs[i].copy].bytes = plan->outputs[i].plan_value->value.bytes;
  }
  return true;
}

/* Steps that do the work of the next one must be able to do it for these sizes. */
static bool dynamic_shapes_joined(ci_plan *plan) {
  for (size_t s = 0; s < plan->root.steps.count; s++) {
    ci_step *step = plan->root.steps.at[s];
    if (step->joins == NULL) continue;
    const size_t bytes = step->k.join(&step->k, &step->joins->k); /* also if it was not prepared again */
    if (bytes == 0) return false;
    dynamic_shapes_buffer(plan, ci_plan_value_of(step->k.out[0]))->bytes = 0;
    dynamic_shapes_buffer(plan, ci_plan_value_of(step->joins->k.out[0]))->bytes = bytes;
  }
  return true;
}

/* Batch sizes that increase seldom need another layout: it has the capacity for twice the size where memory allows. */
static bool dynamic_shapes_spacious(ci_plan *plan) {
  for (size_t p = 0; p < plan->buffers.count; p++) {
    if (plan->buffers.at[p].bytes > PTRDIFF_MAX / 4) return false;
  }
  for (size_t p = 0; p < plan->buffers.count; p++) plan->buffers.at[p].bytes *= 2;
  const ci_status status = ci_layout_offsets(plan);
  for (size_t p = 0; p < plan->buffers.count; p++) plan->buffers.at[p].bytes /= 2;
  return status == CI_OK;
}

static bool dynamic_shapes_all(ci_compiler *c, const ci_tensor *inputs) {
  ci_plan *plan = c->plan;
  const bool grows = ci_dynamic_shapes_batch_lacks_capacity(plan, inputs);
  c->folded = c->read = 0;
  dynamic_shapes_forget(plan);
  if (!dynamic_shapes_inputs(plan, inputs)) return false;
  for (size_t s = 0; s < plan->all_steps.count; s++) {
    ci_step *step = plan->all_steps.at[s];
    if (ci_stop_requested(&plan->session->stop)) return false; /* a new plan will not be made, either */
    if (dynamic_shapes_is_touched(step) && !dynamic_shapes_step(c, step)) return false;
  }
  if (!dynamic_shapes_joined(plan) || !dynamic_shapes_sizes(plan)) return false;
  if (!(grows && dynamic_shapes_spacious(plan)) && ci_layout_offsets(plan) != CI_OK) return false;
  ci_output_plan(plan);
  return true;
}

bool ci_dynamic_shapes_refit(ci_plan *plan, const ci_tensor *inputs) {
  ci_compiler *c = plan->session->compiler;
  if (c == NULL || plan->lost > REFIT_LOST) return false;
  c->plan = plan;
  c->error = NULL;
  plan->compiler = c;
  plan->error = NULL;
  const bool fits = dynamic_shapes_all(c, inputs);
  plan->compiler = NULL;
  plan->bound_arena = NULL;
  plan->bound_layout = UINT64_MAX;
  if (fits) ci_dynamic_shapes_batch_find(plan);
  return fits;
}
