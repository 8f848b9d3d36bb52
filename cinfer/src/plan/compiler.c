/* compiler.c - allocates and frees the memory of a session's compiler of plans. */
#include "compile.h"

void ci_compiler_free(struct ci_session *session) {
  ci_compiler *c = session->compiler;
  if (c == NULL) return;
  session->compiler = NULL;
  ci_release(c->allocator, c->need, c->model->nodes.count * sizeof *c->need);
  ci_release(c->allocator, c->fed, c->model->edges.count * sizeof *c->fed);
  ci_release(c->allocator, c->plan_value_of, c->model->edges.count * sizeof *c->plan_value_of);
  ci_release(c->allocator, c->loops, c->model->nodes.count * sizeof *c->loops);
  ci_release(c->allocator, c->readers, c->model->edges.count * sizeof *c->readers);
  ci_release(c->allocator, c->slots, c->slot_count * sizeof *c->slots);
  CI_LIST_FREE(c->allocator, &c->offers);
  CI_LIST_FREE(c->allocator, &c->assigns);
  CI_LIST_FREE(c->allocator, &c->step_at);
  CI_LIST_FREE(c->allocator, &c->sorted);
  CI_LIST_FREE(c->allocator, &c->gaps);
  ci_release(c->allocator, c, sizeof *c);
}

ci_status ci_compiler_begin(struct ci_session *session, ci_compiler **made, ci_error *error) {
  const ci_model *m = session->model;
  const ci_allocator *allocator = &session->allocator;
  ci_compiler *c = session->compiler;
  if (c == NULL) {
    c = session->compiler = ci_alloc(allocator, sizeof *c);
    if (c == NULL) return ci_needs_no_memory(error);
    c->model = m;
    c->allocator = allocator;
    c->signature = CI_NONE;
    c->need = ci_alloc(allocator, m->nodes.count * sizeof *c->need);
    c->fed = ci_alloc(allocator, m->edges.count * sizeof *c->fed);
    c->plan_value_of = ci_alloc(allocator, m->edges.count * sizeof *c->plan_value_of);
    c->readers = ci_alloc(allocator, m->edges.count * sizeof *c->readers);
  }
  *made = c;
  c->error = error;
  c->depth = 0;
  c->folded = c->read = 0;
  if (c->loops != NULL) memset(c->loops, 0, m->nodes.count * sizeof *c->loops);
  c->offers.count = c->assigns.count = c->step_at.count = 0;
  const size_t slots = (size_t)ci_state_slot_count(session->state);
  if (slots > c->slot_count || c->slots == NULL) {
    ci_release(allocator, c->slots, c->slot_count * sizeof *c->slots);
    c->slots = ci_alloc(allocator, slots * sizeof *c->slots);
    c->slot_count = c->slots == NULL ? 0 : slots;
  } else if (slots > 0) {
    memset(c->slots, 0, c->slot_count * sizeof *c->slots);
  }
  const bool whole =
      c->need != NULL && c->fed != NULL && c->plan_value_of != NULL && c->readers != NULL && c->slots != NULL;
  if (whole) return CI_OK;
  ci_compiler_free(session);
  return ci_needs_no_memory(error);
}
