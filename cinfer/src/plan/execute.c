/* execute.c - walks the steps of a plan. */

#include "../base/guard.h"
#include "../session/session.h"
#include "../system/threads.h"

/* ---- values with separate memory ---- */

static void execute_give_back(ci_step *step) {
  for (int32_t p = step->freed; p != CI_NONE; p = step->plan->buffers.at[p].next_freed) {
    ci_buffer_release(step->plan, &step->plan->buffers.at[ci_plan_resolve(step->plan, p)]);
  }
}

/* ---- steps ---- */

ci_status ci_execute_freeing_step(ci_kernel *k) {
  CI_TRY(ci_step_compute(k->node));
  execute_give_back(k->node);
  return CI_OK;
}

static ci_status execute_dynamic_outputs(ci_step *step) {
  ci_kernel *k = &step->k;
  for (int o = 0; o < k->n_out; o++) {
    const ci_value *from = step->alias[o] == CI_NONE ? NULL : k->in[step->alias[o]];
    CI_TRY(ci_heap_value(k, k->out[o]));
    if (from != NULL && from->bytes > 0) memcpy(k->out[o]->data, from->data, from->bytes);
  }
  return CI_OK;
}

static ci_status execute_dynamic_kernel(ci_step *step) {
  ci_kernel *k = &step->k;
  const ci_allocator *allocator = &step->plan->session->values;
  size_t bytes = k->scratch_bytes;
  if (!ci_charge_value(step->plan->session, bytes)) return ci_heap_refuse(k, "scratch memory", bytes);
  k->scratch = bytes == 0 ? (void *)step : ci_alloc(allocator, bytes);
  if (k->scratch == NULL) return ci_k_no_memory(k);
  ci_status status = ci_step_compute(step);
  if (bytes > 0) ci_release(allocator, k->scratch, bytes);
  return status;
}

ci_status ci_execute_dynamic_step(ci_kernel *k) {
  ci_step *step = k->node;
  for (int o = 0; o < k->n_out; o++) k->out[o]->data = NULL;
  ci_status status = ci_step_prepare(step);
  if (status == CI_PENDING) return ci_k_fail(k, CI_INTERNAL, "prepare waits for numbers that are there");
  if (status == CI_OK) status = execute_dynamic_outputs(step);
  if (status == CI_OK) status = execute_dynamic_kernel(step);
  if (status == CI_OK) execute_give_back(step);
  return status;
}

ci_status ci_execute_go_on(ci_kernel *k) {
  ci_stop *stop = &k->node->plan->session->stop;
  if (!ci_stop_requested(stop)) return CI_OK;
  return ci_k_fail(k, ci_stop_status(stop), "the run %s", ci_stop_string(stop));
}

/* In the arena, a step may touch only the values that it reads and writes. */
#ifdef CI_GUARDED
static void execute_permit_value(const ci_step *step, const ci_value *value) {
  const struct ci_session *session = step->plan->session;
  if (value == NULL || (uintptr_t)value->data - (uintptr_t)session->arena >= session->arena_bytes) return;
  const size_t available =
      ci_plan_buffer_of(step->plan, value)->bytes; /* 0: between two steps that are one, nothing is made */
  CI_PERMIT(value->data, step->joined || available == 0 ? available : value->bytes);
}

static void execute_permit_step(const ci_step *step) {
  const ci_kernel *k = &step->k;
  for (int i = 0; i < k->n_in; i++) execute_permit_value(step, k->in[i]);
  for (int o = 0; o < k->n_out; o++) execute_permit_value(step, k->out[o]);
  if (step->scratch != CI_NONE) CI_PERMIT(k->scratch, k->scratch_bytes);
}

/* The steps of a body see to themselves. */
static ci_status execute_step(ci_step *step) {
  const struct ci_session *session = step->plan->session;
  const bool alone = !ci_step_is(step, CI_OP_CONTROL);
  if (alone) CI_FORBID(session->arena, session->arena_bytes);
  for (const ci_step *s = step; alone && s != NULL; s = s->joins) execute_permit_step(s);
  const ci_status status = step->run(&step->k);
  CI_PERMIT(session->arena, session->arena_bytes);
  return status;
}
#else
static ci_status execute_step(ci_step *step) { return step->run(&step->k); }
#endif

/* The step has changed variables; their Assigns, which follow at once, only say so again. */
static void execute_note_made(const ci_step *step) {
  for (ci_step *assign = step->makes; assign != NULL; assign = assign->next_made) {
    assign->assigned_in = step->plan->session->run;
    ci_state_slot(step->plan->state, assign->slot)->version++;
  }
}

ci_status ci_execute_frame(ci_frame *frame) {
  ci_step *const *steps = frame->steps.at;
  ci_stop *stop = &frame->plan->session->stop;
  const ci_observer observer = frame->plan->session->observer;
  const bool makes = frame->plan->makes;
  const bool watched = observer.step != NULL && frame == &frame->plan->root;
  if (watched) observer.step(observer.user, NULL, 0);
  for (size_t i = 0; i < frame->steps.count; i++) {
    ci_step *step = steps[i];
    ci_status status = execute_step(step);
    if (status != CI_OK) return status;
    if (makes) execute_note_made(step);
    if (watched) {
      char buffer[512];
      const ci_span name = ci_node_name(frame->plan->model, step->node, buffer, sizeof buffer);
      observer.step(observer.user, name.data, name.length);
    }
    if (ci_stop_requested(stop)) return ci_k_fail(&step->k, ci_stop_status(stop), "the run %s", ci_stop_string(stop));
  }
  return CI_OK;
}

/* ---- binding: the addresses of values, after the arena or the state has moved ---- */

static void execute_bind_arena(ci_plan *plan) {
  char *base = plan->session->arena;
  for (int32_t i = 0; i < plan->plan_value_count; i++) {
    ci_plan_value *plan_value = &plan->plan_values[i];
    if (plan_value->root != i || plan_value->buffer == CI_NONE) continue;
    const ci_buffer *buffer = &plan->buffers.at[ci_plan_resolve(plan, plan_value->buffer)];
    if (buffer->home == CI_HOME_ARENA) ci_plan_point(plan, plan_value, base + buffer->offset);
    if (buffer->home == CI_HOME_OWNED) ci_plan_point(plan, plan_value, buffer->block);
  }
  for (size_t s = 0; s < plan->all_steps.count; s++) {
    ci_step *step = plan->all_steps.at[s];
    if (step->scratch != CI_NONE) step->k.scratch = base + plan->buffers.at[step->scratch].offset;
  }
  for (int32_t i = 0; i < plan->output_count; i++) plan->outputs[i].lent = NULL;
  plan->bound_arena = base;
}

static ci_status execute_bind_variables(ci_plan *plan, ci_error *error) {
  for (size_t i = 0; i < plan->reads.count; i++) {
    const ci_read *read = &plan->reads.at[i];
    const ci_slot *slot = ci_state_slot(plan->state, read->slot);
    if (read->must && !slot->initialized) return ci_plan_variables_uninitialized(plan, read->node, slot, error);
  }
  /* Now, so that a run that finds damage has assigned nothing. */
  for (size_t i = 0; i < plan->reads.count; i++)
    CI_TRY(ci_slot_check(ci_state_slot(plan->state, plan->reads.at[i].slot), error));
  for (size_t i = 0; i < plan->bound_reads.count; i++) {
    ci_plan_value *plan_value = &plan->plan_values[plan->bound_reads.at[i]];
    const ci_slot *slot = ci_state_slot(plan->state, plan->buffers.at[plan_value->buffer].slot);
    ci_plan_point(plan, plan_value, slot->value.data);
  }
  plan->bound_layout = ci_state_layout(plan->state);
  return CI_OK;
}

ci_status ci_execute_bind(ci_plan *plan, ci_error *error) {
  if (plan->bound_arena != plan->session->arena || plan->bound_arena == NULL) execute_bind_arena(plan);
  if (plan->bound_layout != ci_state_layout(plan->state)) CI_TRY(execute_bind_variables(plan, error));
  return CI_OK;
}
