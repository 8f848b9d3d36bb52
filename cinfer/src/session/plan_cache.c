/* plan_cache.c - the plans of a session: which one serves a call, which one is fitted to other shapes, which one is
 * dropped when there are many.
 *
 * A plan is found by a hash of its signature and shapes. The one used last is compared first. The next plan takes over
 * the blocks and lists of a plan that is dropped, so that new shapes again and again need neither memory nor calls for
 * it. dynamic_shapes.h has the states of a plan.
 */
#include "session.h"

static bool plan_cache_same_shape(const ci_tensor *a, const ci_tensor *b) {
  return a->dtype == b->dtype && ci_shape_same(a->rank, a->dims, b->rank, b->dims);
}

static bool plan_cache_fits(const ci_plan *plan, int signature, const ci_tensor *inputs) {
  if (plan->signature != signature) return false;
  const ci_binding *bindings = plan->model->signatures.at[signature].inputs;
  for (int32_t i = 0; i < plan->input_count; i++) {
    if (bindings[i].kind == CI_KIND_TENSOR && !plan_cache_same_shape(&plan->inputs[i], &inputs[i])) return false;
  }
  return true;
}

/* Whether variables still have the shapes that the plan was made for. */
bool ci_plan_cache_holds(const ci_plan *plan) {
  if (plan->bound_layout == ci_state_layout(plan->state)) return true;
  for (size_t i = 0; i < plan->watchpoints.count; i++) {
    const ci_watch *watch = &plan->watchpoints.at[i];
    const ci_value *now = &ci_state_slot(plan->state, watch->slot)->value;
    if (!ci_shape_same(watch->rank, watch->dims, now->rank, now->dims)) return false;
  }
  return true;
}

/* Whether the plan serves these inputs; a batched one may take another batch size for it. */
bool ci_plan_cache_takes(ci_plan *plan, int signature, const ci_tensor *inputs) {
  if (plan->signature != signature || !ci_plan_cache_holds(plan)) return false;
  return plan->batch.size > 0 ? ci_dynamic_shapes_batch_takes(plan, inputs) : plan_cache_fits(plan, signature, inputs);
}

static uint64_t plan_cache_mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 29;
}

/* Inputs are checked when a plan is made; until then a rank may be anything. */
uint64_t ci_plan_cache_key(const struct ci_session *session, int signature, const ci_tensor *inputs) {
  const ci_signature_info *s = &session->model->signatures.at[signature];
  uint64_t hash = plan_cache_mix(0, (uint64_t)signature);
  for (int32_t i = 0; i < s->input_count; i++) {
    if (s->inputs[i].kind != CI_KIND_TENSOR) continue;
    const int32_t rank = inputs[i].rank < 0 || inputs[i].rank > CI_MAX_RANK ? 0 : inputs[i].rank;
    hash = plan_cache_mix(hash, (uint64_t)(uint32_t)inputs[i].dtype << 32 | (uint32_t)inputs[i].rank);
    for (int32_t d = 0; d < rank; d++) hash = plan_cache_mix(hash, (uint64_t)inputs[i].dims[d]);
  }
  return hash;
}

static void plan_cache_leave(ci_plan_cache *plans, ci_plan *gone) {
  if (plans->spare != NULL) {
    ci_plan_free(gone);
  } else {
    ci_plan_clear(gone);
    plans->spare = gone;
  }
}

/* Takes plan p out of the list and keeps its memory for the next one. While the caller of ci_run may read its results,
 * it stays as it is (ci_plan_cache_show). */
void ci_plan_cache_drop(struct ci_session *session, int p) {
  ci_plan_cache *plans = &session->plans;
  ci_plan *gone = plans->at[p];
  const int last = --plans->count;
  plans->at[p] = plans->at[last];
  plans->keys[p] = plans->keys[last];
  plans->used[p] = plans->used[last];
  plans->latest = CI_MOST_PLANS; /* none */
  if (gone == plans->shown) plans->shown_is_gone = true;
  else plan_cache_leave(plans, gone);
}

void ci_plan_cache_show(struct ci_session *session, ci_plan *plan) {
  ci_plan_cache *plans = &session->plans;
  if (plans->shown_is_gone) plan_cache_leave(plans, plans->shown);
  plans->shown_is_gone = false;
  plans->shown = plan;
}

bool ci_plan_cache_shed(struct ci_session *session) {
  ci_plan_cache *plans = &session->plans;
  bool any = plans->spare != NULL;
  for (int p = plans->count; p-- > 0;) {
    if (plans->at[p] == plans->shown || plans->at[p]->reserved) continue;
    ci_plan_cache_drop(session, p);
    any = true;
  }
  if (plans->spare != NULL) ci_plan_free(plans->spare);
  plans->spare = NULL;
  return any;
}

int ci_plan_cache_oldest(const ci_plan_cache *plans) {
  int oldest = 0;
  for (int p = 1; p < plans->count; p++) {
    if (plans->used[p] < plans->used[oldest]) oldest = p;
  }
  return oldest;
}

ci_plan *ci_plan_cache_use(struct ci_session *session, int p) {
  session->plans.latest = p;
  session->plans.used[p] = ++session->plans.clock;
  return session->plans.at[p];
}

ci_plan *ci_plan_cache_find(struct ci_session *session, uint64_t key, int signature, const ci_tensor *inputs) {
  for (int p = 0; p < session->plans.count; p++) {
    ci_plan *plan = session->plans.at[p];
    if (session->plans.keys[p] != key || !plan_cache_fits(plan, signature, inputs)) continue;
    if (ci_plan_cache_holds(plan)) return ci_plan_cache_use(session, p);
    ci_plan_cache_drop(session, p);
    return NULL;
  }
  for (int p = 0; p < session->plans.count; p++) { /* the key of a batched plan is of one of its batch sizes */
    ci_plan *plan = session->plans.at[p];
    if (plan->batch.size > 0 && ci_plan_cache_takes(plan, signature, inputs)) return ci_plan_cache_use(session, p);
  }
  return NULL;
}

/* A plan that only lacks capacity; else the one that was used longest ago if the cache is full, or if that plan is
 * small and the signature has as many as are kept of such: a small plan is fitted at little cost. */
int ci_plan_cache_refittable(const ci_plan_cache *plans, int signature, const ci_tensor *inputs) {
  int oldest = CI_NONE, count = 0;
  for (int p = 0; p < plans->count; p++) {
    const ci_plan *plan = plans->at[p];
    if (plan->signature != signature || !plan->refits || plan->reserved || plan == plans->shown) continue;
    if (ci_dynamic_shapes_batch_lacks_capacity(plan, inputs)) return p;
    if (oldest == CI_NONE || plans->used[p] < plans->used[oldest]) oldest = p;
    count++;
  }
  if (oldest == CI_NONE) return CI_NONE;
  const bool small = plans->at[oldest]->all_steps.count <= CI_FEW_STEPS;
  return (small && count >= CI_KEPT_PLANS) || plans->count == CI_MOST_PLANS ? oldest : CI_NONE;
}

void ci_plan_cache_free(struct ci_session *session) {
  ci_plan_cache_show(session, NULL);
  for (int p = 0; p < session->plans.count; p++) ci_plan_free(session->plans.at[p]);
  if (session->plans.spare != NULL) ci_plan_free(session->plans.spare);
  session->plans.count = 0;
  session->plans.spare = NULL;
  ci_compiler_free(session);
}
