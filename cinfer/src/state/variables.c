/* variables.c - the public functions of a state: its variables and generators by number and name. */
#include <string.h>

#include "../model/model.h"
#include "state.h"

static ci_status variables_memory(ci_error *error) {
  return ci_fail(error, CI_RESOURCE_EXHAUSTED, "no memory for the state");
}

static ci_slot *variables_at(const ci_state *state, int index) {
  return state == NULL || index < 0 || index >= ci_state_slot_count(state) ? NULL : ci_state_slot(state, index);
}

int ci_variable_count(const ci_state *state) { return state == NULL ? 0 : ci_state_slot_count(state); }

int ci_variable_index(const ci_state *state, const char *name) {
  return state == NULL || name == NULL ? -1 : ci_state_find(state, (ci_span){name, strlen(name)});
}

ci_status ci_variable(const ci_state *state, int index, ci_info *info) {
  const ci_slot *slot = variables_at(state, index);
  if (slot == NULL || info == NULL) return CI_OUT_OF_RANGE;
  *info = (ci_info){.name = slot->name, .dtype = slot->dtype, .rank = slot->rank};
  memcpy(info->dims, slot->dims, sizeof info->dims);
  return CI_OK;
}

int ci_variable_initialized(const ci_state *state, int index) {
  const ci_slot *slot = variables_at(state, index);
  return slot != NULL && slot->initialized;
}

static ci_status variables_none(int index, ci_error *error) {
  return ci_fail(error, CI_OUT_OF_RANGE, "the state has no variable number %d", index);
}

ci_status ci_variable_view(const ci_state *state, int index, ci_tensor *value, ci_error *error) {
  const ci_slot *slot = variables_at(state, index);
  if (slot == NULL) return variables_none(index, error);
  if (value == NULL)
    return ci_fail(error, CI_INVALID_ARGUMENT, "value is NULL; it must point to where the value is stored");
  if (!slot->initialized) {
    return ci_fail(error, CI_FAILED_PRECONDITION, "Attempting to use uninitialized value %s", slot->name);
  }
  CI_TRY(ci_slot_check(slot, error));
  *value = (ci_tensor){slot->value.data, slot->value.bytes, slot->value.dtype, slot->value.rank, {0}};
  memcpy(value->dims, slot->value.dims, sizeof value->dims);
  return CI_OK;
}

static ci_status variables_change(const ci_state *state, int index, const ci_tensor *tensor, ci_slot_change *change,
                                  ci_error *error) {
  if (variables_at(state, index) == NULL) return variables_none(index, error);
  change->slot = index;
  CI_TRY(ci_value_of_tensor(tensor, &change->value, error));
  if (tensor->bytes < change->value.bytes) {
    return ci_fail(error, CI_INVALID_ARGUMENT, "the value has %zu bytes, its shape needs %zu", tensor->bytes,
                   change->value.bytes);
  }
  return CI_OK;
}

ci_status ci_variable_set(ci_state *state, int index, const ci_tensor *tensor, ci_error *error) {
  if (variables_at(state, index) == NULL) return variables_none(index, error);
  if (tensor == NULL) return ci_fail(error, CI_INVALID_ARGUMENT, "there is no value: value is NULL");
  ci_slot_change change = {0};
  CI_TRY(ci_state_idle(state, error));
  CI_TRY(variables_change(state, index, tensor, &change, error));
  return ci_state_change(state, &change, 1, NULL, 0, error);
}

ci_status ci_variable_declare(ci_state *state, const ci_info *info, int *index, ci_error *error) {
  int found;
  if (state == NULL || info == NULL || info->name == NULL) {
    return ci_fail(error, CI_INVALID_ARGUMENT, "a declaration needs a state and a name");
  }
  ci_span name = {info->name, strlen(info->name)};
  CI_TRY(ci_state_idle(state, error));
  CI_TRY(ci_state_declare(state, name, info->dtype, info->rank, info->dims, &found, error));
  ci_state_rule(state, found, info->rank, info->dims);
  if (index != NULL) *index = found;
  return CI_OK;
}

ci_status ci_variable_forget(ci_state *state, int count, ci_error *error) {
  if (state == NULL || count < 0) {
    return ci_fail(error, CI_INVALID_ARGUMENT, "forgetting variables needs a state and a count");
  }
  CI_TRY(ci_state_idle(state, error));
  for (int i = count; i < ci_state_slot_count(state); i++) {
    if (!ci_state_slot(state, i)->initialized) continue;
    return ci_fail(error, CI_FAILED_PRECONDITION, "variable '%s' has a value and cannot be forgotten",
                   ci_state_slot(state, i)->name);
  }
  if (count < ci_state_slot_count(state)) ci_state_forget(state, count, ci_state_random_count(state));
  return CI_OK;
}

int ci_generator_count(const ci_state *state) { return state == NULL ? 0 : ci_state_random_count(state); }

const char *ci_generator_name(const ci_state *state, int index) {
  if (index < 0 || index >= ci_generator_count(state)) return NULL;
  return ci_state_random(state, index)->name;
}

ci_status ci_generator_get(const ci_state *state, int index, ci_generator *value, int *initialized) {
  if (index < 0 || index >= ci_generator_count(state)) return CI_OUT_OF_RANGE;
  const ci_random *random = ci_state_random(state, index);
  if (value != NULL) *value = random->now;
  if (initialized != NULL) *initialized = random->initialized;
  return CI_OK;
}

/* A failure leaves no new generator. */
static ci_status variables_settle(ci_state *state, int randoms, ci_status status) {
  if (status != CI_OK && ci_state_random_count(state) > randoms)
    ci_state_forget(state, ci_state_slot_count(state), randoms);
  return status;
}

ci_status ci_generator_set(ci_state *state, const char *name, const ci_generator *value, ci_error *error) {
  ci_random_change change = {.random = -1};
  if (state == NULL || name == NULL || value == NULL) {
    return ci_fail(error, CI_INVALID_ARGUMENT, "setting a generator needs a state, a name and a value");
  }
  const int before = ci_state_random_count(state);
  CI_TRY(ci_state_idle(state, error));
  CI_TRY(ci_state_declare_random(state, (ci_span){name, strlen(name)}, false, 0, &change.random, error));
  change.value = *value;
  return variables_settle(state, before, ci_state_change(state, NULL, 0, &change, 1, error));
}

static ci_status variables_assign(ci_state *state, const ci_assignment *requested, ci_slot_change *slots,
                                  ci_random_change *randoms, ci_error *error) {
  for (int i = 0; i < requested->variable_count; i++) {
    ci_tensor tensor = requested->values[i];
    const bool in_file = requested->in_file != NULL && requested->in_file[i].file >= 0;
    if (in_file && requested->in_file[i].file >= requested->file_count)
      return ci_fail(error, CI_INVALID_ARGUMENT, "variable %d is in file %d of %d", requested->variables[i],
                     (int)requested->in_file[i].file, requested->file_count);
    if (in_file) tensor.data = &tensor, tensor.bytes = SIZE_MAX; /* until the file is there */
    CI_TRY(variables_change(state, requested->variables[i], &tensor, &slots[i], error));
    if (in_file) continue;
    slots[i].given = requested->given != NULL && requested->given[i];
    if (slots[i].given && slots[i].value.dtype == CI_STRING)
      return ci_fail(error, CI_INVALID_ARGUMENT, "variable %d has strings, which are copied and cannot be given",
                     requested->variables[i]);
  }
  for (int i = 0; i < requested->generator_count; i++) {
    const char *name = requested->generators[i];
    if (name == NULL) return ci_fail(error, CI_INVALID_ARGUMENT, "generator %d has no name", i);
    CI_TRY(ci_state_declare_random(state, (ci_span){name, strlen(name)}, false, 0, &randoms[i].random, error));
    randoms[i].value = requested->positions[i];
  }
  ci_status status = requested->in_file == NULL ? CI_OK : ci_in_file_changes(state, requested, slots, error);
  if (status == CI_OK)
    status = ci_state_change(state, slots, requested->variable_count, randoms, requested->generator_count, error);
  for (int i = 0; status != CI_OK && requested->in_file != NULL && i < requested->variable_count; i++)
    if (requested->in_file[i].file >= 0) ci_state_change_drop(state, &slots[i]); /* the caller still owns its data */
  return status;
}

ci_status ci_state_assign(ci_state *state, const ci_assignment *assignment, ci_error *error) {
  if (state == NULL || assignment == NULL) {
    return ci_fail(error, CI_INVALID_ARGUMENT, "an assignment needs a state and a list of values");
  }
  if (assignment->variable_count < 0 || assignment->generator_count < 0) {
    return ci_fail(error, CI_INVALID_ARGUMENT, "an assignment has a negative count");
  }
  if ((assignment->variable_count > 0 && (assignment->variables == NULL || assignment->values == NULL)) ||
      (assignment->in_file != NULL && assignment->file_count > 0 && assignment->files == NULL) ||
      (assignment->generator_count > 0 && (assignment->generators == NULL || assignment->positions == NULL))) {
    return ci_fail(error, CI_INVALID_ARGUMENT, "an assignment lacks a list that it counts");
  }
  CI_TRY(ci_state_idle(state, error));
  size_t slot_bytes, random_bytes;
  if (!ci_mul_size((uint64_t)assignment->variable_count, sizeof(ci_slot_change), &slot_bytes) ||
      !ci_mul_size((uint64_t)assignment->generator_count, sizeof(ci_random_change), &random_bytes)) {
    return variables_memory(error);
  }
  const int before = ci_state_random_count(state);
  ci_slot_change *slots = ci_alloc(ci_state_allocator(state), slot_bytes);
  ci_random_change *randoms = ci_alloc(ci_state_allocator(state), random_bytes);
  const int known = ci_state_random_count(state);
  ci_status status = slots == NULL || randoms == NULL ? variables_memory(error)
                                                      : variables_assign(state, assignment, slots, randoms, error);
  if (status != CI_OK && known < ci_state_random_count(state)) {
    ci_state_forget(state, ci_state_slot_count(state), known);
  }
  ci_release(ci_state_allocator(state), slots, slot_bytes);
  ci_release(ci_state_allocator(state), randoms, random_bytes);
  return variables_settle(state, before, status);
}
