/* plan.c - the parts of a plan: plan values, their buffers and the memory of both. */
#include "../base/guard.h"
#include "compile.h"

/* ---- plan values ---- */

void ci_plan_note_reader(ci_plan *plan, int32_t cell, int32_t position) {
  ci_cell *root = &plan->cells[plan->cells[cell].root];
  if (root->last_read < position) root->last_read = position;
}

void ci_plan_point(ci_plan *plan, ci_cell *root, void *data) {
  for (ci_cell *cell = root;; cell = &plan->cells[cell->next]) {
    cell->value.data = data;
    if (cell->next == CI_NONE) return;
  }
}

void ci_plan_own(ci_plan *plan, ci_cell *cell, int32_t place) {
  cell->root = ci_cell_index(plan, cell);
  cell->place = place;
}

bool ci_plan_offer(ci_plan *plan, ci_cell *output, ci_cell *input, int32_t position, bool alone) {
  ci_compiler *c = plan->compiler;
  if (!CI_LIST_GROW(c->allocator, &c->offers)) return false;
  c->offers.at[c->offers.count++] =
      (ci_offer){ci_cell_index(plan, output), ci_cell_index(plan, input), position, alone, CI_NONE};
  return true;
}

/* ---- buffers ---- */

enum { PLAN_POOLED = 256 }; /* bytes: smaller values cost less in the pool than in a block */

int32_t ci_plan_place(ci_plan *plan, ci_home home, size_t bytes) {
  if (plan->places.count >= INT32_MAX / 2 || !CI_LIST_GROW(&plan->session->allocator, &plan->places)) return CI_NONE;
  plan->places.at[plan->places.count] = (ci_place){.home = home,
                                                   .bytes = bytes,
                                                   .same_as = CI_NONE,
                                                   .carried = CI_NONE,
                                                   .result = CI_NONE,
                                                   .slot = CI_NONE,
                                                   .constant = CI_NONE,
                                                   .next_freed = CI_NONE,
                                                   .first = INT32_MAX,
                                                   .last = CI_NONE};
  if (home == CI_HOME_HEAP) plan->has_heap = true;
  return (int32_t)plan->places.count++;
}

int32_t ci_plan_resolve(const ci_plan *plan, int32_t place) {
  while (plan->places.at[place].same_as != CI_NONE) place = plan->places.at[place].same_as;
  return place;
}

ci_place *ci_plan_place_of(ci_plan *plan, const ci_value *value) {
  const ci_cell *root = &plan->cells[ci_cell_of(value)->root];
  return &plan->places.at[ci_plan_resolve(plan, root->place)];
}

ci_constant *ci_plan_constant(ci_plan *plan, const ci_value *value) {
  if (value->data == NULL || plan->cells[ci_cell_of(value)->root].place == CI_NONE) return NULL;
  const ci_place *place = ci_plan_place_of(plan, value);
  if (place->home != CI_HOME_FIXED || place->constant == CI_NONE) return NULL;
  return &plan->session->model->constants.at[place->constant];
}

void ci_place_release(ci_plan *plan, ci_place *place) {
  if (place->home != CI_HOME_HEAP || place->block == NULL) return;
  ci_release(&plan->session->values, place->block, place->block_bytes);
  plan->session->heap_bytes -= place->block_bytes;
  place->block = NULL;
  place->block_bytes = 0;
}

void ci_place_release_fixed(ci_plan *plan, ci_place *place) {
  if (place->home != CI_HOME_FIXED || place->block == NULL) return;
  ci_release(&plan->session->allocator, place->block, place->block_bytes);
  place->block = NULL;
  place->block_bytes = 0;
}

bool ci_place_take_fixed(ci_plan *plan, ci_place *place, size_t bytes, void **data) {
  ci_place_release_fixed(plan, place);
  if (bytes <= PLAN_POOLED) {
    *data = ci_pool_alloc(&plan->pool, bytes);
  } else {
    *data = place->block = ci_alloc(&plan->session->allocator, bytes);
  }
  place->block_bytes = *data == NULL ? 0 : bytes;
  return *data != NULL;
}

void ci_plan_drop_places(ci_plan *plan, size_t count) {
  for (size_t i = count; i < plan->places.count; i++) ci_place_release_fixed(plan, &plan->places.at[i]);
  plan->places.count = count;
}

/* ---- values that are known while planning ---- */

enum {
  PLAN_READ = 1 << 15, /* bytes of values that are read for the shapes of a plan, */
  PLAN_READ_EACH = 16  /* and for each byte of the file */
};

bool ci_plan_may_read(ci_compiler *c, uint64_t work) {
  const uint64_t most = PLAN_READ + (uint64_t)PLAN_READ_EACH * c->model->file.length;
  if (work > most || c->read > most - work) return false;
  c->read += work;
  return true;
}

/* ---- going back while compiling ---- */

ci_plan_mark ci_plan_mark_now(const ci_plan *plan) {
  return (ci_plan_mark){plan->places.count, plan->all_steps.count, plan->compiler->offers.count,
                        plan->bound_reads.count};
}

void ci_plan_forget(ci_plan *plan, ci_plan_mark mark) {
  ci_plan_drop_places(plan, mark.places);
  plan->compiler->offers.count = mark.offers;
  plan->bound_reads.count = mark.bound_reads;
  for (size_t i = mark.steps; i < plan->all_steps.count; i++) {
    /* stays for the memory that it owns; its plan values belong to another step */
    ci_step *step = plan->all_steps.at[i];
    step->scratch = CI_NONE;
    step->k.n_out = 0;
  }
}

/* ---- the end of a plan ---- */

/* Frees the memory that is not in the plan's pool and lists. */
static void plan_release(ci_plan *plan) {
  const ci_allocator *allocator = &plan->session->allocator;
  for (size_t i = 0; i < plan->places.count; i++) ci_place_release(plan, &plan->places.at[i]);
  ci_plan_drop_places(plan, 0);
  for (size_t i = 0; i < plan->all_steps.count; i++) {
    ci_step *step = plan->all_steps.at[i];
    if (!step->private_pooled) ci_release(allocator, step->k.private_memory, step->private_bytes);
    if (!step->more_pooled) ci_release(allocator, step->k.private_more, step->more_bytes);
    for (int b = 0; b < 2; b++) {
      if (step->bodies[b] != NULL) CI_LIST_FREE(allocator, &step->bodies[b]->steps);
    }
  }
}

void ci_plan_clear(ci_plan *plan) {
  plan_release(plan);
  ci_pool_clear(&plan->pool);
  const ci_plan was = *plan;
  *plan = (ci_plan){.session = was.session,
                    .pool = was.pool,
                    .all_steps = was.all_steps,
                    .places = was.places,
                    .root = {.steps = was.root.steps},
                    .watches = was.watches,
                    .reads = was.reads,
                    .bound_reads = was.bound_reads,
                    .batch.values = was.batch.values};
  plan->all_steps.count = plan->places.count = plan->root.steps.count = 0;
  plan->watches.count = plan->reads.count = plan->bound_reads.count = 0;
}

void ci_plan_free(ci_plan *plan) {
  const ci_allocator *allocator = &plan->session->allocator;
  plan_release(plan);
  CI_LIST_FREE(allocator, &plan->root.steps);
  CI_LIST_FREE(allocator, &plan->all_steps);
  CI_LIST_FREE(allocator, &plan->places);
  CI_LIST_FREE(allocator, &plan->watches);
  CI_LIST_FREE(allocator, &plan->reads);
  CI_LIST_FREE(allocator, &plan->bound_reads);
  CI_LIST_FREE(allocator, &plan->batch.values);
  ci_pool_release(&plan->pool);
  ci_release(allocator, plan, sizeof *plan);
}
