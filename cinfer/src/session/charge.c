/* charge.c - the memory limit of a session: values and plans together may take at most max_memory.
 *
 * Plans have at least what the load of their model may take (ci_load_most), so that a limit that is meant for values,
 * however small, lets any model be planned that could be loaded.
 */
#include "session.h"

static size_t charge_values(const struct ci_session *session) { return session->arena_bytes + session->heap_bytes; }

/* Whether values and plans of so many bytes may be there at the same time. */
static bool charge_fits(const struct ci_session *session, size_t values, size_t plans) {
  const uint64_t most = session->limits.max_memory;
  return values <= most && (plans <= session->granted || plans <= most - values);
}

static bool charge_add(const struct ci_session *session, size_t values, size_t bytes) {
  return ci_add_size(values, bytes, &values) && charge_fits(session, values, session->planned);
}

static void charge_refuse(struct ci_session *session, size_t bytes) {
  session->refused = (ci_refused){bytes, session->planned, charge_values(session)};
}

bool ci_charge_value(struct ci_session *session, size_t bytes) {
  const size_t held = charge_values(session);
  return charge_add(session, held, bytes) || (ci_plan_cache_shed(session) && charge_add(session, held, bytes));
}

bool ci_charge_arena(struct ci_session *session, size_t bytes) {
  if (charge_add(session, session->heap_bytes, bytes)) return true;
  if (bytes <= session->limits.max_memory) charge_refuse(session, bytes); /* the memory of plans exceeds the limit */
  return false;
}

ci_status ci_charge_refusal(const struct ci_session *session, int signature, ci_error *error) {
  return ci_fail(error, CI_RESOURCE_EXHAUSTED,
                 "the plan of signature '%.200s' needs %zu bytes more, with %zu held for plans and %zu for values: the "
                 "session's limit is %llu. If the model can be trusted, raise the limit max_memory",
                 session->model->signatures.at[signature].name, session->refused.bytes, session->refused.plans,
                 session->refused.values, (unsigned long long)session->limits.max_memory);
}

/* ---- the allocators of a session ---- */

enum {
  /* bytes from which large pages are requested: a virtual machine may take longer to find one than for the first run,
   * and few of them make no run faster */
  CHARGE_LARGE = 1 << 23
};

static void *charge_give(struct ci_session *session, size_t bytes) {
  session->stats.allocations++;
  session->stats.run_allocations += session->running;
  void *block = bytes < CHARGE_LARGE ? ci_alloc_sparse(&session->given, bytes) : NULL;
  return block != NULL ? block : ci_alloc_uncleared(&session->given, bytes); /* ci_alloc clears it */
}

static void *charge_alloc(void *user, size_t bytes, size_t align) {
  struct ci_session *session = user;
  size_t plans;
  (void)align; /* ci_alloc asks for 64 */
  const bool adds = ci_add_size(session->planned, bytes, &plans);
  if (!adds || (plans > session->granted && !charge_fits(session, charge_values(session), plans))) {
    charge_refuse(session, bytes);
    return NULL;
  }
  void *block = charge_give(session, bytes);
  if (block != NULL) session->planned = plans;
  return block;
}

static void charge_release(void *user, void *memory, size_t bytes) {
  struct ci_session *session = user;
  session->planned -= bytes;
  ci_release(&session->given, memory, bytes);
}

static void *charge_alloc_value(void *user, size_t bytes, size_t align) {
  (void)align;
  return charge_give(user, bytes);
}

static void charge_release_value(void *user, void *memory, size_t bytes) {
  struct ci_session *session = user;
  ci_release(&session->given, memory, bytes);
}

void ci_charge_open(struct ci_session *session) {
  session->allocator = (ci_allocator){session, charge_alloc, charge_release};
  session->values = (ci_allocator){session, charge_alloc_value, charge_release_value};
  session->planned = sizeof *session;
  session->granted = ci_load_most(session->model);
}
