/* session_plan.c - gets the plan of a call: finds one, fits one to other shapes, or makes one; and allocates the arena
 * for all of them. */
#include "session.h"

/* Fits plan p to the shapes, which takes a fraction of the time that a new one does. */
static bool session_plan_refit(struct ci_session *session, int p, uint64_t key, const ci_tensor *inputs,
                               ci_plan **plan) {
  if (p == CI_NONE || !ci_plan_cache_holds(session->plans.at[p])) return false;
  if (!ci_dynamic_shapes_refit(session->plans.at[p], inputs)) {
    ci_plan_cache_drop(session, p);
    return false;
  }
  session->plans.keys[p] = key;
  session->stats.plans++;
  session->stats.refits++;
  *plan = ci_plan_cache_use(session, p);
  return true;
}

/* In the memory that other plans held, if there is no other. */
static ci_status session_plan_make(struct ci_session *session, int signature, const ci_tensor *inputs, ci_plan **plan,
                                   ci_error *error) {
  session->refused.bytes = 0;
  ci_status status = ci_compile_plan(session, signature, inputs, plan, error);
  if (status == CI_RESOURCE_EXHAUSTED && session->refused.bytes > 0 && ci_plan_cache_shed(session)) {
    session->refused.bytes = 0;
    status = ci_compile_plan(session, signature, inputs, plan, error);
  }
  const bool refused = status == CI_RESOURCE_EXHAUSTED && session->refused.bytes > 0;
  return refused ? ci_charge_refusal(session, signature, error) : status;
}

static ci_status session_plan_new(struct ci_session *session, uint64_t key, int signature, const ci_tensor *inputs,
                                  ci_plan **plan, ci_error *error) {
  const ci_signature_info *s = &session->model->signatures.at[signature];
  for (int32_t i = 0; i < s->input_count; i++) {
    if (s->inputs[i].kind == CI_KIND_TENSOR) CI_TRY(ci_session_check_input(s, i, &inputs[i], error));
  }
  if (session_plan_refit(session, ci_plan_cache_refittable(&session->plans, signature, inputs), key, inputs, plan))
    return CI_OK;
  if (session->plans.count == CI_MOST_PLANS) ci_plan_cache_drop(session, ci_plan_cache_oldest(&session->plans));
  CI_TRY(session_plan_make(session, signature, inputs, plan, error));
  const int p = session->plans.count++;
  session->plans.at[p] = *plan;
  session->plans.keys[p] = key;
  session->stats.plans++;
  ci_plan_cache_use(session, p);
  return CI_OK;
}

static ci_status session_plan_memory(ci_error *error) {
  return ci_fail(error, CI_RESOURCE_EXHAUSTED, "no memory for the session");
}

/* An arena that has to grow grows by half at least, so that ever larger inputs seldom need another one. */
static size_t session_plan_arena_bytes(struct ci_session *session, size_t bytes) {
  size_t more = session->arena_bytes + session->arena_bytes / 2;
  if (!ci_charge_arena(session, more)) more = bytes;
  return more > bytes ? more : bytes;
}

static ci_status session_plan_arena(struct ci_session *session, size_t bytes, ci_error *error) {
  if (bytes == 0) bytes = 64; /* a plan that is bound has an address to compare */
  bytes = session_plan_arena_bytes(session, bytes);
  ci_retired *record = NULL;
  if (session->plans.shown != NULL) { /* outputs that are borrowed show the old arena until the next run */
    record = ci_session_keep_record(session);
    if (record == NULL) return session_plan_memory(error);
  } else {
    ci_release(&session->values, session->arena, session->arena_bytes);
    session->arena = NULL;
    session->arena_bytes = 0;
  }
  char *arena = ci_alloc_uncleared(&session->values, bytes);
  if (arena == NULL) {
    ci_release(&session->allocator, record, sizeof *record);
    return session_plan_memory(error);
  }
  if (record != NULL)
    ci_session_keep_block(session, record, &session->values, (ci_block){session->arena, session->arena_bytes, NULL});
  session->arena = arena;
  session->arena_bytes = bytes;
  return CI_OK;
}

ci_status ci_session_plan(struct ci_session *session, int signature, const ci_tensor *inputs, ci_plan **plan,
                          ci_error *error) {
  const int latest = session->plans.latest;
  if (latest < session->plans.count && ci_plan_cache_takes(session->plans.at[latest], signature, inputs)) {
    *plan = session->plans.at[latest];
  } else {
    const uint64_t key = ci_plan_cache_key(session, signature, inputs);
    *plan = ci_plan_cache_find(session, key, signature, inputs);
    if (*plan == NULL) CI_TRY(session_plan_new(session, key, signature, inputs, plan, error));
  }
  return (*plan)->arena_bytes <= session->arena_bytes && session->arena != NULL
             ? CI_OK
             : session_plan_arena(session, (*plan)->arena_bytes, error);
}
