/* plans.c - the plans of a session: which one a call wants, which one goes when there are many, the arena for all.
 *
 * A plan is looked for by a hash of what it is for. The one used last is compared first. What a plan leaves behind when
 * it goes, its blocks and lists, the next one takes over, so that ever new shapes cost neither memory nor calls for it.
 */
#include "session.h"

static bool plans_same_shape(const ci_tensor *a, const ci_tensor *b) {
  if (a->dtype != b->dtype || a->rank != b->rank) return false;
  for (int32_t d = 0; d < a->rank; d++) {
    if (a->dims[d] != b->dims[d]) return false;
  }
  return true;
}

static bool plans_fits(const ci_plan *plan, int signature, const ci_tensor *inputs) {
  if (plan->signature != signature) return false;
  const ci_binding *bindings = plan->model->signatures.at[signature].inputs;
  for (int32_t i = 0; i < plan->input_count; i++) {
    if (bindings[i].kind == CI_KIND_TENSOR && !plans_same_shape(&plan->inputs[i], &inputs[i])) return false;
  }
  return true;
}

/* Whether variables still have the shapes that the plan was made for. */
static bool plans_holds(const ci_plan *plan) {
  if (plan->bound_layout == ci_state_layout(plan->state)) return true;
  for (size_t i = 0; i < plan->watches.count; i++) {
    const ci_watch *watch = &plan->watches.at[i];
    const ci_value *now = &ci_state_slot(plan->state, watch->slot)->value;
    if (now->rank != watch->rank) return false;
    for (int32_t d = 0; d < watch->rank; d++) {
      if (now->dims[d] != watch->dims[d]) return false;
    }
  }
  return true;
}

/* Whether the plan is for these inputs, or is now: the number of rows may be open. */
static bool plans_takes(ci_plan *plan, int signature, const ci_tensor *inputs) {
  if (plan->signature != signature || !plans_holds(plan)) return false;
  return plan->rows.now > 0 ? ci_plan_takes_rows(plan, inputs) : plans_fits(plan, signature, inputs);
}

static uint64_t plans_mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 29;
}

/* Inputs are checked when a plan is made; until then a rank may be anything. */
static uint64_t plans_key(const struct ci_session *session, int signature, const ci_tensor *inputs) {
  const ci_signature_info *s = &session->model->signatures.at[signature];
  uint64_t hash = plans_mix(0, (uint64_t)signature);
  for (int32_t i = 0; i < s->input_count; i++) {
    if (s->inputs[i].kind != CI_KIND_TENSOR) continue;
    const int32_t rank = inputs[i].rank < 0 || inputs[i].rank > CI_MAX_RANK ? 0 : inputs[i].rank;
    hash = plans_mix(hash, (uint64_t)(uint32_t)inputs[i].dtype << 32 | (uint32_t)inputs[i].rank);
    for (int32_t d = 0; d < rank; d++) hash = plans_mix(hash, (uint64_t)inputs[i].dims[d]);
  }
  return hash;
}

static void plans_leave(ci_plans *plans, ci_plan *gone) {
  if (plans->spare != NULL) {
    ci_plan_free(gone);
  } else {
    ci_plan_clear(gone);
    plans->spare = gone;
  }
}

/* Takes plan p out of the list and keeps what it leaves for the next one; not yet if a caller of ci_run may still look
 * at its results. */
static void plans_drop(struct ci_session *session, int p) {
  ci_plans *plans = &session->plans;
  ci_plan *gone = plans->at[p];
  const int last = --plans->count;
  plans->at[p] = plans->at[last];
  plans->keys[p] = plans->keys[last];
  plans->used[p] = plans->used[last];
  plans->latest = CI_MOST_PLANS; /* none */
  if (gone == plans->shown) plans->shown_is_gone = true;
  else plans_leave(plans, gone);
}

void ci_plans_show(struct ci_session *session, ci_plan *plan) {
  ci_plans *plans = &session->plans;
  if (plans->shown_is_gone) plans_leave(plans, plans->shown);
  plans->shown_is_gone = false;
  plans->shown = plan;
}

bool ci_plans_shed(struct ci_session *session) {
  ci_plans *plans = &session->plans;
  bool any = plans->spare != NULL;
  for (int p = plans->count; p-- > 0;) {
    if (plans->at[p] == plans->shown || plans->at[p]->reserved) continue;
    plans_drop(session, p);
    any = true;
  }
  if (plans->spare != NULL) ci_plan_free(plans->spare);
  plans->spare = NULL;
  return any;
}

static int plans_oldest(const ci_plans *plans) {
  int oldest = 0;
  for (int p = 1; p < plans->count; p++) {
    if (plans->used[p] < plans->used[oldest]) oldest = p;
  }
  return oldest;
}

static ci_plan *plans_use(struct ci_session *session, int p) {
  session->plans.latest = p;
  session->plans.used[p] = ++session->plans.clock;
  return session->plans.at[p];
}

static ci_plan *plans_find(struct ci_session *session, uint64_t key, int signature, const ci_tensor *inputs) {
  for (int p = 0; p < session->plans.count; p++) {
    ci_plan *plan = session->plans.at[p];
    if (session->plans.keys[p] != key || !plans_fits(plan, signature, inputs)) continue;
    if (plans_holds(plan)) return plans_use(session, p);
    plans_drop(session, p);
    return NULL;
  }
  for (int p = 0; p < session->plans.count; p++) { /* the key of a plan that has rows is of some number of them */
    ci_plan *plan = session->plans.at[p];
    if (plan->rows.now > 0 && plans_takes(plan, signature, inputs)) return plans_use(session, p);
  }
  return NULL;
}

ci_status ci_session_check_input(const ci_signature_info *signature, int32_t i, const ci_tensor *input,
                                 ci_error *error) {
  const ci_binding *binding = &signature->inputs[i];
  bool fits = input->dtype == binding->dtype && input->rank >= 0 && input->rank <= CI_MAX_RANK &&
              (binding->rank < 0 || binding->rank == input->rank);
  for (int32_t d = 0; fits && d < binding->rank; d++) {
    fits = binding->dims[d] < 0 || binding->dims[d] == input->dims[d];
  }
  if (fits) return CI_OK;
  ci_value wanted = {.dtype = binding->dtype, .rank = binding->rank};
  ci_value found = {.dtype = input->dtype, .rank = input->rank < 0 || input->rank > CI_MAX_RANK ? -1 : input->rank};
  char expected[200], given[200];
  for (int32_t d = 0; d < binding->rank; d++) wanted.dims[d] = binding->dims[d];
  memcpy(found.dims, input->dims, sizeof found.dims);
  return ci_fail(error, CI_INVALID_ARGUMENT, "input '%.200s' of signature '%.200s' is %s, expected %s", binding->key,
                 signature->name, ci_k_describe(&found, given, sizeof given),
                 ci_k_describe(&wanted, expected, sizeof expected));
}

/* A plan of the signature that only lacks room, or the oldest that may be fitted to other shapes, if there are as many
 * as are kept of such: few of those that are fitted in no time, of others as many as there is room for. */
static int plans_to_refit(const ci_plans *plans, int signature, const ci_tensor *inputs) {
  int oldest = CI_NONE, count = 0;
  for (int p = 0; p < plans->count; p++) {
    const ci_plan *plan = plans->at[p];
    if (plan->signature != signature || !plan->refits || plan->reserved || plan == plans->shown) continue;
    if (ci_plan_lacks_room(plan, inputs)) return p;
    if (oldest == CI_NONE || plans->used[p] < plans->used[oldest]) oldest = p;
    count++;
  }
  if (oldest == CI_NONE) return CI_NONE;
  const bool small = plans->at[oldest]->all_steps.count <= CI_FEW_STEPS;
  return (small && count >= CI_KEPT_PLANS) || plans->count == CI_MOST_PLANS ? oldest : CI_NONE;
}

/* Fits plan p to the shapes, which takes a fraction of the time that a new one does. */
static bool plans_refit(struct ci_session *session, int p, uint64_t key, const ci_tensor *inputs, ci_plan **plan) {
  if (p == CI_NONE || !plans_holds(session->plans.at[p])) return false;
  if (!ci_plan_refit(session->plans.at[p], inputs)) {
    plans_drop(session, p);
    return false;
  }
  session->plans.keys[p] = key;
  session->stats.plans++;
  session->stats.refits++;
  *plan = plans_use(session, p);
  return true;
}

/* In the memory that other plans held, if there is no other. */
static ci_status plans_make(struct ci_session *session, int signature, const ci_tensor *inputs, ci_plan **plan,
                            ci_error *error) {
  session->refused.bytes = 0;
  ci_status status = ci_plan_make(session, signature, inputs, plan, error);
  if (status == CI_RESOURCE_EXHAUSTED && session->refused.bytes > 0 && ci_plans_shed(session)) {
    session->refused.bytes = 0;
    status = ci_plan_make(session, signature, inputs, plan, error);
  }
  const bool refused = status == CI_RESOURCE_EXHAUSTED && session->refused.bytes > 0;
  return refused ? ci_charge_refusal(session, signature, error) : status;
}

static ci_status plans_new(struct ci_session *session, uint64_t key, int signature, const ci_tensor *inputs,
                           ci_plan **plan, ci_error *error) {
  const ci_signature_info *s = &session->model->signatures.at[signature];
  for (int32_t i = 0; i < s->input_count; i++) {
    if (s->inputs[i].kind == CI_KIND_TENSOR) CI_TRY(ci_session_check_input(s, i, &inputs[i], error));
  }
  if (plans_refit(session, plans_to_refit(&session->plans, signature, inputs), key, inputs, plan)) return CI_OK;
  if (session->plans.count == CI_MOST_PLANS) plans_drop(session, plans_oldest(&session->plans));
  CI_TRY(plans_make(session, signature, inputs, plan, error));
  const int p = session->plans.count++;
  session->plans.at[p] = *plan;
  session->plans.keys[p] = key;
  session->stats.plans++;
  plans_use(session, p);
  return CI_OK;
}

static ci_status plans_memory(ci_error *error) {
  return ci_fail(error, CI_RESOURCE_EXHAUSTED, "no memory for the session");
}

/* An arena that has to grow grows by half at least, so that ever larger inputs seldom need another one. */
static size_t plans_arena_bytes(struct ci_session *session, size_t bytes) {
  size_t more = session->arena_bytes + session->arena_bytes / 2;
  if (!ci_charge_arena(session, more)) more = bytes;
  return more > bytes ? more : bytes;
}

static ci_status plans_arena(struct ci_session *session, size_t bytes, ci_error *error) {
  if (bytes == 0) bytes = 64; /* a plan that is bound has an address to compare */
  bytes = plans_arena_bytes(session, bytes);
  ci_retired *record = NULL;
  if (session->plans.shown != NULL) { /* outputs that are borrowed show the old arena until the next run */
    record = ci_session_record(session);
    if (record == NULL) return plans_memory(error);
  } else {
    ci_release(&session->values, session->arena, session->arena_bytes);
    session->arena = NULL;
    session->arena_bytes = 0;
  }
  char *arena = ci_alloc_uncleared(&session->values, bytes);
  if (arena == NULL) {
    ci_release(&session->allocator, record, sizeof *record);
    return plans_memory(error);
  }
  if (record != NULL)
    ci_session_retire(session, record, &session->values, (ci_block){session->arena, session->arena_bytes, NULL});
  session->arena = arena;
  session->arena_bytes = bytes;
  return CI_OK;
}

ci_status ci_session_plan(struct ci_session *session, int signature, const ci_tensor *inputs, ci_plan **plan,
                          ci_error *error) {
  const int latest = session->plans.latest;
  if (latest < session->plans.count && plans_takes(session->plans.at[latest], signature, inputs)) {
    *plan = session->plans.at[latest];
  } else {
    const uint64_t key = plans_key(session, signature, inputs);
    *plan = plans_find(session, key, signature, inputs);
    if (*plan == NULL) CI_TRY(plans_new(session, key, signature, inputs, plan, error));
  }
  return (*plan)->arena_bytes <= session->arena_bytes && session->arena != NULL
             ? CI_OK
             : plans_arena(session, (*plan)->arena_bytes, error);
}

void ci_plans_free(struct ci_session *session) {
  ci_plans_show(session, NULL);
  for (int p = 0; p < session->plans.count; p++) ci_plan_free(session->plans.at[p]);
  if (session->plans.spare != NULL) ci_plan_free(session->plans.spare);
  session->plans.count = 0;
  session->plans.spare = NULL;
  ci_compiler_free(session);
}
