/* plan_variables.c - operators on variables: their slots in the state while a plan is made, and their values in a run.
 */
#include "compile.h"

ci_status ci_plan_variables_slot(ci_kernel *k) {
  ci_span name;
  CI_TRY(ci_k_attr_s(k, "variable", NULL, &name));
  k->node->slot = ci_state_find(k->node->plan->state, name);
  if (k->node->slot >= 0) return CI_OK;
  return ci_k_fail(k, CI_NOT_FOUND, "the state has no variable '%.*s'", CI_SPAN_ARG(name));
}

static bool plan_variables_is_static(const ci_slot *slot) {
  bool is_static = slot->rank >= 0;
  for (int32_t i = 0; i < slot->rank; i++) is_static = is_static && slot->dims[i] >= 0;
  return is_static;
}

static ci_status plan_variables_watch(ci_plan *plan, int32_t index, const ci_slot *slot) {
  if (!CI_LIST_GROW(&plan->session->allocator, &plan->watchpoints)) return CI_RESOURCE_EXHAUSTED;
  ci_watch *watch = &plan->watchpoints.at[plan->watchpoints.count++];
  *watch = (ci_watch){.slot = index, .rank = slot->value.rank};
  memcpy(watch->dims, slot->value.dims, sizeof watch->dims);
  return CI_OK;
}

/* Not after an Assign of the graph itself; one in a body may not happen. */
static ci_status plan_variables_note_read(ci_plan *plan, const ci_step *step, const ci_slot_plan *known) {
  if (known->before && !known->in_body) return CI_OK;
  if (!CI_LIST_GROW(&plan->session->allocator, &plan->reads)) return CI_RESOURCE_EXHAUSTED;
  const bool must = !known->before && step->node->graph == 0;
  plan->reads.at[plan->reads.count++] = (ci_read){step->slot, must, step->node};
  return CI_OK;
}

/* The shape that the variable has here, or CI_PENDING. */
static ci_status plan_variables_read_shape(ci_kernel *k, const ci_slot *slot, const ci_slot_plan *known) {
  ci_plan *plan = k->node->plan;
  if (plan_variables_is_static(slot)) return ci_k_out(k, 0, slot->dtype, slot->rank, slot->dims);
  if (known->in_body || (known->before && !known->shape_known)) return CI_PENDING;
  if (known->before) return ci_k_out(k, 0, slot->dtype, known->rank, known->dims);
  if (!slot->initialized) return CI_PENDING;
  if (plan_variables_watch(plan, k->node->slot, slot) != CI_OK) return ci_k_no_memory(k);
  return ci_k_out(k, 0, slot->dtype, slot->value.rank, slot->value.dims);
}

ci_status ci_plan_variables_uninitialized(const ci_plan *plan, const ci_node *node, const ci_slot *slot,
                                          ci_error *error) {
  return ci_node_fail(plan->model, node, error, CI_FAILED_PRECONDITION, "Attempting to use uninitialized value %s",
                      slot->name);
}

ci_status ci_plan_variables_read(ci_kernel *k) {
  ci_plan *plan = k->node->plan;
  CI_TRY(ci_plan_variables_slot(k));
  const ci_slot *slot = ci_state_slot(plan->state, k->node->slot);
  if (plan->compiler == NULL) {
    if (!slot->initialized) return ci_plan_variables_uninitialized(plan, k->node->node, slot, plan->error);
    return ci_k_out(k, 0, slot->dtype, slot->value.rank, slot->value.dims);
  }
  ci_slot_plan *known = &plan->compiler->slots[k->node->slot];
  if (plan_variables_note_read(plan, k->node, known) != CI_OK) return ci_k_no_memory(k);
  CI_TRY(plan_variables_read_shape(k, slot, known));
  int32_t buffer = ci_plan_buffer(plan, CI_HOME_VARIABLE, k->out[0]->bytes);
  if (buffer == CI_NONE) return ci_k_no_memory(k);
  plan->buffers.at[buffer].slot = k->node->slot;
  ci_plan_own(plan, ci_plan_value_of(k->out[0]), buffer);
  return CI_OK;
}

/* Called when the value's shape is known: in the plan, or else in the run. */
ci_status ci_plan_variables_assign(ci_kernel *k) {
  ci_plan *plan = k->node->plan;
  CI_TRY(ci_plan_variables_slot(k));
  const ci_slot *slot = ci_state_slot(plan->state, k->node->slot);
  const ci_value *value = k->in[0];
  if (!ci_slot_accepts(slot, value->dtype, value->rank, value->dims)) {
    ci_value rule = {.dtype = slot->dtype, .rank = slot->rank};
    char found[160], expected[160];
    memcpy(rule.dims, slot->dims, sizeof rule.dims);
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "variable '%s' is %s and cannot be given %s", slot->name,
                     ci_value_describe(&rule, expected, sizeof expected),
                     ci_value_describe(value, found, sizeof found));
  }
  return ci_k_out_like(k, 0, value->dtype, value);
}
