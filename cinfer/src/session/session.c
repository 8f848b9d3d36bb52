/* session.c - opens a session, and runs calls: finds the plan of a call and runs it. */
#include "session.h"

#include <stdio.h>

#include "output.h"
#include "../kernels/sequence.h"
#include "../system/threads.h"

enum {
  SESSION_MOST_THREADS = 256,
  SESSION_LONG = 1 << 20 /* bytes of values: steps of a run of so many take much longer than a look at the clock */
};

/* ---- memory ---- */

static ci_status session_memory(ci_error *error) {
  return ci_fail(error, CI_RESOURCE_EXHAUSTED, "no memory for the session");
}

/* Frees the memory that the run before needed: old buffers of variables, values of a plan whose shapes that run had
 * found. */
static void session_tidy(struct ci_session *session) {
  while (session->retired != NULL) {
    ci_retired *next = session->retired->next;
    ci_block_free(session->retired->allocator, session->retired->block);
    ci_release(&session->allocator, session->retired, sizeof(ci_retired));
    session->retired = next;
  }
  for (int p = 0; session->heap_bytes > 0 && p < session->plans.count; p++) {
    ci_plan *plan = session->plans.at[p];
    for (size_t i = 0; plan->has_heap && i < plan->buffers.count; i++) ci_buffer_release(plan, &plan->buffers.at[i]);
  }
}

/* ---- open and close ---- */

ci_session_options ci_session_defaults(void) {
  ci_session_options options = {.size = sizeof options, .threads = 1};
  return options;
}

static ci_status session_declare(struct ci_session *session, ci_slot_change *changes, ci_error *error) {
  const ci_model *m = session->model;
  for (size_t i = 0; i < m->variables.count; i++) {
    const ci_variable_info *v = &m->variables.at[i];
    ci_slot_change *change = &changes[i];
    CI_TRY(ci_state_declare(session->state, (ci_span){v->name, strlen(v->name)}, v->dtype, v->rank, v->dims,
                            &change->slot, error));
    CI_TRY(ci_state_link(session->state, change->slot, v->slot_of, v->slot, &change->linked, error));
  }
  for (size_t i = 0; i < m->generators.count; i++) {
    const ci_generator_info *g = &m->generators.at[i];
    int index;
    CI_TRY(
        ci_state_declare_random(session->state, (ci_span){g->name, strlen(g->name)}, g->seeded, g->key, &index, error));
  }
  return CI_OK;
}

static ci_status session_variables(struct ci_session *session, ci_slot_change *changes, ci_error *error) {
  const ci_model *m = session->model;
  for (size_t i = 0; i < m->variables.count; i++) {
    const ci_variable_info *v = &m->variables.at[i];
    ci_slot_change *change = &changes[i];
    CI_TRY(ci_session_check_go_on(session, error));
    if (v->value == CI_NONE || ci_state_slot(session->state, change->slot)->initialized) continue;
    ci_constant *constant = &session->model->constants.at[v->value];
    CI_TRY(ci_session_check_constant(session, v->value, error));
    change->value = ci_constant_value(constant);
    if (change->value.data == NULL) {
      return ci_fail(error, CI_UNIMPLEMENTED, "variable '%.200s' has elements of type %s, which cinfer lacks", v->name,
                     ci_dtype_name(v->dtype));
    }
    change->value.data = (void *)(uintptr_t)ci_pack_constant_plain(session->model, constant);
    if (change->value.data == NULL) return session_memory(error);
    CI_TRY(ci_state_change(session->state, change, 1, NULL, 0, error));
    ci_file_forget(&m->file, change->value.data, change->value.bytes);
  }
  return CI_OK;
}

/* The steps that cannot fail come last: rules of variables, and positions of generators that existed. */
static void session_settle(struct ci_session *session, const ci_slot_change *changes) {
  const ci_model *m = session->model;
  for (size_t i = 0; i < m->variables.count; i++)
    ci_state_rule(session->state, changes[i].slot, m->variables.at[i].rank, m->variables.at[i].dims);
  for (size_t i = 0; i < m->generators.count; i++) {
    const ci_generator_info *g = &m->generators.at[i];
    const int index = ci_state_find_random(session->state, (ci_span){g->name, strlen(g->name)});
    ci_random *random = ci_state_random(session->state, index);
    if (g->has_state && !random->initialized) {
      random->now = g->state;
      random->initialized = true;
    }
  }
}

static void session_undo(struct ci_session *session, const ci_slot_change *changes, int slots, int randoms) {
  for (size_t i = 0; i < session->model->variables.count; i++) {
    if (changes[i].linked) ci_state_unlink(session->state, changes[i].slot);
    if (changes[i].value.data != NULL) ci_state_empty(session->state, changes[i].slot);
  }
  ci_state_forget(session->state, slots, randoms);
}

/* The state gets the variables and generators that the model declares, or stays as it is. */
static ci_status session_join(struct ci_session *session, ci_error *error) {
  const int slots = ci_state_slot_count(session->state), randoms = ci_state_random_count(session->state);
  size_t bytes;
  CI_TRY(ci_state_idle(session->state, error));
  if (!ci_mul_size(session->model->variables.count, sizeof(ci_slot_change), &bytes)) return session_memory(error);
  ci_slot_change *changes = ci_alloc(&session->allocator, bytes);
  if (changes == NULL) return session_memory(error);
  ci_status status = session_declare(session, changes, error);
  if (status == CI_OK) status = session_variables(session, changes, error);
  if (status == CI_OK) session_settle(session, changes);
  else session_undo(session, changes, slots, randoms);
  ci_release(&session->allocator, changes, bytes);
  return status;
}

static ci_status session_fill(struct ci_session *session, ci_state *state, ci_error *error) {
  size_t checked = session->model->constants.count * sizeof(bool);
  session->checked = ci_alloc(&session->allocator, checked);
  if (session->checked == NULL) return session_memory(error);
  if (state != NULL) {
    session->state = state;
    ci_state_retain(state);
  } else {
    ci_state_options options = ci_state_defaults();
    options.allocator = session->given;
    options.limits = session->limits;
    CI_TRY(ci_state_open(&options, &session->state, error));
  }
  if (session->thread_count > 1 && session->executor.run == NULL) {
    session->threads = ci_threads_start(&session->allocator, session->thread_count - 1);
    if (session->threads == NULL) session->thread_count = 1; /* slower, and the same bits */
  }
  return session_join(session, error);
}

ci_status ci_session_open(ci_model *model, ci_state *state, const ci_session_options *given, ci_session **session,
                          ci_error *error) {
  ci_session_options options = ci_session_defaults();
  if (session == NULL)
    return ci_fail(error, CI_INVALID_ARGUMENT, "session is NULL; it must point to where the session is stored");
  *session = NULL;
  if (model == NULL) return ci_fail(error, CI_INVALID_ARGUMENT, "model is NULL");
  CI_TRY(ci_take_options(&options, sizeof options, given, "ci_session_defaults", error));
  ci_session *s = ci_alloc(&options.allocator, sizeof *s);
  if (s == NULL) return session_memory(error);
  s->model = model;
  ci_model_retain(model);
  s->given = options.allocator;
  s->limits = options.limits;
  s->host = options.host;
  s->executor = options.executor;
  ci_limits_fill(&s->limits);
  ci_charge_open(s);
  s->thread_count = options.threads < 1 ? 1 : options.threads;
  if (s->thread_count > SESSION_MOST_THREADS) s->thread_count = SESSION_MOST_THREADS;
  atomic_init(&s->stop.cancelled, 0);
  ci_status status = ci_stop_set(&s->stop, options.deadline, NULL, options.interrupt, error);
  ci_stop_begin(&s->stop);
  if (status == CI_OK) status = session_fill(s, state, error);
  if (status == CI_OK) *session = s;
  else ci_session_close(s);
  return status;
}

void ci_session_close(ci_session *session) {
  if (session == NULL) return;
  if (session->state != NULL) session_tidy(session);
  ci_plan_cache_free(session);
  ci_threads_stop(&session->allocator, session->threads);
  ci_release(&session->values, session->arena, session->arena_bytes);
  ci_release(&session->allocator, session->checked, session->model->constants.count * sizeof(bool));
  ci_state_close(session->state);
  ci_close(session->model);
  ci_allocator given = session->given;
  ci_release(&given, session, sizeof *session);
}

ci_state *ci_session_state(ci_session *session) { return session == NULL ? NULL : session->state; }

void ci_session_observe(ci_session *session, ci_observer observer) {
  if (session != NULL) session->observer = observer;
}

void ci_cancel(ci_session *session) {
  if (session != NULL) atomic_store(&session->stop.cancelled, 1);
}

ci_status ci_session_set_deadline(ci_session *session, uint64_t nanoseconds, ci_error *error) {
  if (session == NULL) return ci_fail(error, CI_INVALID_ARGUMENT, "session is NULL");
  return ci_stop_set(&session->stop, nanoseconds, NULL, session->stop.interrupt, error);
}

void ci_session_stats(const ci_session *session, ci_stats *stats) {
  if (session == NULL || stats == NULL) return;
  ci_stats now = session->stats;
  size_t size = stats->size < sizeof now ? stats->size : sizeof now;
  now.size = stats->size;
  now.runs = session->run;
  now.arena_bytes = session->arena_bytes + session->heap_bytes;
  memcpy(stats, &now, size);
}

/* ---- run ---- */

static ci_status session_check_call(const ci_session *session, int signature, const ci_tensor *inputs, int input_count,
                                    ci_error *error) {
  if (session == NULL) return ci_fail(error, CI_INVALID_ARGUMENT, "session is NULL");
  if (signature < 0 || (size_t)signature >= session->model->signatures.count) {
    return ci_fail(error, CI_OUT_OF_RANGE, "the model has no signature number %d", signature);
  }
  const ci_signature_info *s = &session->model->signatures.at[signature];
  if (inputs == NULL && input_count > 0) return ci_fail(error, CI_INVALID_ARGUMENT, "inputs is NULL");
  if (input_count != s->input_count) {
    return ci_fail(error, CI_INVALID_ARGUMENT, "signature '%.200s' has %d inputs, %d are given", s->name,
                   (int)s->input_count, input_count);
  }
  return CI_OK;
}

static ci_status session_check_outputs(const ci_session *session, int signature, const ci_tensor *outputs, int count,
                                       ci_error *error) {
  const ci_signature_info *s = &session->model->signatures.at[signature];
  if (outputs == NULL && count > 0) return ci_fail(error, CI_INVALID_ARGUMENT, "outputs is NULL");
  if (count == s->output_count) return CI_OK;
  return ci_fail(error, CI_INVALID_ARGUMENT, "signature '%.200s' has %d outputs, %d are given", s->name,
                 (int)s->output_count, count);
}

static ci_status session_small_input(const ci_plan *plan, int32_t i, size_t given, size_t needed, ci_error *error) {
  const ci_signature_info *s = &plan->model->signatures.at[plan->signature];
  return ci_fail(error, CI_INVALID_ARGUMENT, "input '%.200s' of signature '%.200s' has %zu bytes, its shape needs %zu",
                 s->inputs[i].key, s->name, given, needed);
}

/* The run overwrites or frees the outputs that were borrowed from the last one. */
static ci_status session_check_lent(const struct ci_session *session, int signature, const ci_tensor *inputs,
                                    ci_error *error) {
  const ci_signature_info *s = &session->model->signatures.at[signature];
  for (int32_t i = 0; i < s->input_count; i++) {
    if (inputs[i].bytes == 0 || !ci_output_is_lent(session, inputs[i].data)) continue;
    return ci_fail(error, CI_INVALID_ARGUMENT,
                   "input '%.200s' of signature '%.200s' is in an output that was borrowed until this run: copy it, "
                   "or give that output separate memory",
                   s->inputs[i].key, s->name);
  }
  return CI_OK;
}

/* One tensor of a sequence or optional value. */
static ci_status session_item(const ci_plan *plan, int32_t i, const ci_tensor *item, ci_value *value, ci_error *error) {
  CI_TRY(ci_session_check_input(&plan->model->signatures.at[plan->signature], i, item, error));
  CI_TRY(ci_value_of_tensor(item, value, error));
  return item->bytes < value->bytes ? session_small_input(plan, i, item->bytes, value->bytes, error) : CI_OK;
}

/* The bytes of a sequence that is fed, once it is found to be one. */
static ci_status session_sequence_bytes(const ci_plan *plan, int32_t i, const ci_tensor *input, size_t *bytes,
                                        ci_error *error) {
  const ci_signature_info *s = &plan->model->signatures.at[plan->signature];
  const int64_t count = input->dims[0];
  size_t array;
  if (input->dtype != CI_SEQUENCE || input->rank != 1 || count < 0) {
    return ci_fail(error, CI_INVALID_ARGUMENT, "input '%.200s' of signature '%.200s' is %s, expected a sequence",
                   s->inputs[i].key, s->name, ci_dtype_name(input->dtype));
  }
  bool fits = (uint64_t)count <= SIZE_MAX && ci_mul_size((uint64_t)count, sizeof(ci_tensor), &array) &&
              ci_sequence_bytes(count, bytes);
  if (!fits || input->bytes < array || (input->data == NULL && count > 0)) {
    return session_small_input(plan, i, input->data == NULL ? 0 : input->bytes, fits ? array : SIZE_MAX, error);
  }
  for (int64_t e = 0; e < count; e++) {
    ci_value value;
    CI_TRY(session_item(plan, i, (const ci_tensor *)input->data + e, &value, error));
    if (!ci_sequence_more(bytes, value.bytes)) return session_memory(error);
  }
  return CI_OK;
}

/* A sequence or optional value is copied: its shape is not a part of the plan. */
static ci_status session_feed(ci_plan *plan, int32_t i, const ci_tensor *input, ci_error *error) {
  const int32_t kind = plan->model->signatures.at[plan->signature].inputs[i].kind;
  ci_plan_value *plan_value = plan->input_plan_values[i];
  ci_buffer *buffer = &plan->buffers.at[plan_value->buffer];
  const void *data = NULL;
  size_t bytes = 0;
  if ((kind & CI_KIND_OPTIONAL) != 0 && input->dtype == CI_NOTHING) {
    plan_value->value = (ci_value){.dtype = CI_NOTHING, .rank = 1};
  } else if ((kind & CI_KIND_SEQUENCE) != 0) {
    CI_TRY(session_sequence_bytes(plan, i, input, &bytes, error));
    plan_value->value =
        (ci_value){.dtype = CI_SEQUENCE, .rank = 1, .dims = {(int64_t)bytes}, .count = (int64_t)bytes, .bytes = bytes};
  } else {
    CI_TRY(session_item(plan, i, input, &plan_value->value, error));
    bytes = plan_value->value.bytes;
    data = plan_value->value.data;
  }
  if (!ci_heap_take(plan, buffer, bytes)) {
    return ci_fail(error, CI_RESOURCE_EXHAUSTED,
                   "no memory for input '%.200s': %zu bytes, with %zu held already and a limit of %llu",
                   plan->model->signatures.at[plan->signature].inputs[i].key, bytes,
                   plan->session->arena_bytes + plan->session->heap_bytes,
                   (unsigned long long)plan->session->limits.max_memory);
  }
  plan_value->value.data = buffer->block;
  if (data != NULL && bytes > 0) memcpy(buffer->block, data, bytes);
  if (plan_value->value.dtype != CI_SEQUENCE) return CI_OK;
  ci_sequence_writer writer = ci_sequence_begin(buffer->block, input->dims[0]);
  for (int64_t e = 0; e < input->dims[0]; e++) {
    ci_value value;
    CI_TRY(ci_value_of_tensor((const ci_tensor *)input->data + e, &value, error));
    ci_sequence_add(&writer, &value);
  }
  return CI_OK;
}

static ci_status session_set_inputs(ci_plan *plan, const ci_tensor *inputs, ci_error *error) {
  static const uint64_t nothing = 0; /* the data of an empty input */
  for (int32_t i = 0; i < plan->input_count; i++) {
    ci_plan_value *plan_value = plan->input_plan_values[i];
    void *data = inputs[i].data;
    if (plan->has_heap && plan->buffers.at[plan_value->buffer].home == CI_HOME_HEAP) {
      CI_TRY(session_feed(plan, i, &inputs[i], error));
      continue;
    }
    if (inputs[i].bytes < plan_value->value.bytes || (data == NULL && plan_value->value.bytes > 0)) {
      return session_small_input(plan, i, data == NULL ? 0 : inputs[i].bytes, plan_value->value.bytes, error);
    }
    if (data == NULL) data = (void *)(uintptr_t)&nothing;
    for (;; plan_value = &plan->plan_values[plan_value->next]) {
      plan_value->value.data = data;
      if (plan_value->next == CI_NONE) break;
    }
  }
  return CI_OK;
}

/* Names of the variables that the failed run had assigned, sorted, at the end of the message. */
static void session_tell_assigned(const ci_plan *plan, ci_error *error) {
  const char *last = NULL;
  size_t used = error == NULL ? 0 : strlen(error->message);
  for (bool first = true; error != NULL;) {
    const char *next = NULL;
    for (size_t i = 0; i < plan->all_steps.count; i++) {
      const ci_step *step = plan->all_steps.at[i];
      if (step->assigned_in != plan->session->run || step->slot < 0) continue;
      const char *name = ci_state_slot(plan->state, step->slot)->name;
      if ((last == NULL || strcmp(name, last) > 0) && (next == NULL || strcmp(name, next) < 0)) next = name;
    }
    size_t remaining = sizeof error->message - used;
    const char *form = first ? ". Variables already assigned by this run: %s" : ", %s";
    if (first && used > 0 && error->message[used - 1] == '.') form++; /* the sentence has its end already */
    if (next == NULL && !first && remaining > 1) snprintf(error->message + used, remaining, ".");
    if (next == NULL) return;
    int written = snprintf(error->message + used, remaining, form, next);
    ci_printable(error->message + used, false);
    if (written < 0 || (size_t)written >= remaining) return;
    used += (size_t)written;
    last = next;
    first = false;
  }
}

static ci_status session_go(ci_plan *plan, const ci_tensor *inputs, ci_tensor *outputs, ci_error *error) {
  struct ci_session *session = plan->session;
  CI_TRY(ci_execute_bind(plan, error));
  CI_TRY(ci_output_check(plan, outputs, error));
  CI_TRY(session_set_inputs(plan, inputs, error));
  ci_output_lend(plan, inputs, outputs);
  if (plan->arena_bytes >= SESSION_LONG) ci_stop_hasten(&session->stop);
  session->run++;
  session->running = true;
  plan->error = error;
  ci_status status = ci_execute_frame(&plan->root);
  if (status == CI_OK) status = ci_output_give(plan, outputs, error);
  plan->error = NULL;
  session->running = false;
  if (status == CI_OK) return CI_OK;
  session_tell_assigned(plan, error);
  for (size_t i = 0; plan->has_heap && i < plan->buffers.count; i++) ci_buffer_release(plan, &plan->buffers.at[i]);
  return status;
}

ci_status ci_run(ci_session *session, int signature, const ci_tensor *inputs, int input_count, ci_tensor *outputs,
                 int output_count, ci_error *error) {
  CI_TRY(session_check_call(session, signature, inputs, input_count, error));
  CI_TRY(session_check_outputs(session, signature, outputs, output_count, error));
  CI_TRY(ci_state_enter(session->state, error));
  ci_float_mode mode;
  ci_plan *plan;
  ci_status status = session_check_lent(session, signature, inputs, error);
  if (status != CI_OK) {
    ci_state_leave(session->state);
    return status;
  }
  ci_float_enter(&mode);
  ci_stop_begin(&session->stop);
  ci_plan_cache_show(session, NULL);
  if (session->retired != NULL || session->heap_bytes > 0) session_tidy(session);
  status = ci_session_plan(session, signature, inputs, &plan, error);
  if (status == CI_OK) ci_plan_cache_show(session, plan);
  if (status == CI_OK) status = session_go(plan, inputs, outputs, error);
  ci_float_leave(&mode);
  ci_state_leave(session->state);
  return status;
}

/* outputs NULL: the caller does not request them. */
static ci_status session_reserve(ci_session *session, int signature, const ci_tensor *inputs, ci_tensor *outputs,
                                 ci_error *error) {
  CI_TRY(ci_state_enter(session->state, error)); /* the shape of a custom operator may call the library */
  ci_float_mode mode;
  ci_plan *plan;
  ci_float_enter(&mode);
  ci_stop_begin(&session->stop);
  ci_status status = ci_session_plan(session, signature, inputs, &plan, error);
  if (status == CI_OK && outputs == NULL) plan->reserved = true;
  ci_float_leave(&mode);
  ci_state_leave(session->state);
  if (status == CI_OK && outputs != NULL) ci_output_infer(plan, outputs);
  return status;
}

ci_status ci_reserve(ci_session *session, int signature, const ci_tensor *inputs, int input_count, ci_error *error) {
  CI_TRY(session_check_call(session, signature, inputs, input_count, error));
  return session_reserve(session, signature, inputs, NULL, error);
}

ci_status ci_infer_outputs(ci_session *session, int signature, const ci_tensor *inputs, int input_count,
                           ci_tensor *outputs, int output_count, ci_error *error) {
  CI_TRY(session_check_call(session, signature, inputs, input_count, error));
  CI_TRY(session_check_outputs(session, signature, outputs, output_count, error));
  return session_reserve(session, signature, inputs, outputs, error);
}
