/* plan_cache.c - the plans of a session: which one is for a call, which one goes when there are many.
 *
 * A plan is looked for by a hash of what it is for. The one used last is compared first. What a plan leaves behind when
 * it goes, its blocks and lists, the next one takes over, so that ever new shapes cost neither memory nor calls for it.
 */
#include "session.h"

static bool plans_same_shape(const ci_tensor *a, const ci_tensor *b) {
  return a->dtype == b->dtype && ci_shape_same(a->rank, a->dims, b->rank, b->dims);
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
bool ci_plans_holds(const ci_plan *plan) {
  if (plan->bound_layout == ci_state_layout(plan->state)) return true;
  for (size_t i = 0; i < plan->watches.count; i++) {
    const ci_watch *watch = &plan->watches.at[i];
    const ci_value *now = &ci_state_slot(plan->state, watch->slot)->value;
    if (!ci_shape_same(watch->rank, watch->dims, now->rank, now->dims)) return false;
  }
  return true;
}

/* Whether the plan is for these inputs, or is now: the number of rows may be open. */
bool ci_plans_takes(ci_plan *plan, int signature, const ci_tensor *inputs) {
  if (plan->signature != signature || !ci_plans_holds(plan)) return false;
  return plan->rows.now > 0 ? ci_plan_takes_rows(plan, inputs) : plans_fits(plan, signature, inputs);
}

static uint64_t plans_mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 29;
}

/* Inputs are checked when a plan is made; until then a rank may be anything. */
uint64_t ci_plans_key(const struct ci_session *session, int signature, const ci_tensor *inputs) {
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
void ci_plans_drop(struct ci_session *session, int p) {
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
    ci_plans_drop(session, p);
    any = true;
  }
  if (plans->spare != NULL) ci_plan_free(plans->spare);
  plans->spare = NULL;
  return any;
}

int ci_plans_oldest(const ci_plans *plans) {
  int oldest = 0;
  for (int p = 1; p < plans->count; p++) {
    if (plans->used[p] < plans->used[oldest]) oldest = p;
  }
  return oldest;
}

ci_plan *ci_plans_use(struct ci_session *session, int p) {
  session->plans.latest = p;
  session->plans.used[p] = ++session->plans.clock;
  return session->plans.at[p];
}

ci_plan *ci_plans_find(struct ci_session *session, uint64_t key, int signature, const ci_tensor *inputs) {
  for (int p = 0; p < session->plans.count; p++) {
    ci_plan *plan = session->plans.at[p];
    if (session->plans.keys[p] != key || !plans_fits(plan, signature, inputs)) continue;
    if (ci_plans_holds(plan)) return ci_plans_use(session, p);
    ci_plans_drop(session, p);
    return NULL;
  }
  for (int p = 0; p < session->plans.count; p++) { /* the key of a plan that has rows is of some number of them */
    ci_plan *plan = session->plans.at[p];
    if (plan->rows.now > 0 && ci_plans_takes(plan, signature, inputs)) return ci_plans_use(session, p);
  }
  return NULL;
}

void ci_plans_free(struct ci_session *session) {
  ci_plans_show(session, NULL);
  for (int p = 0; p < session->plans.count; p++) ci_plan_free(session->plans.at[p]);
  if (session->plans.spare != NULL) ci_plan_free(session->plans.spare);
  session->plans.count = 0;
  session->plans.spare = NULL;
  ci_compiler_free(session);
}
