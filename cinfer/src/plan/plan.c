/* plan.c - the parts of a plan: plan values, their buffers and the memory of both. */
#include "../base/guard.h"
#include "compile.h"

/* ---- plan values ---- */

void ci_plan_note_reader(ci_plan *plan, int32_t plan_value, int32_t position) {
  ci_plan_value *root = &plan->plan_values[plan->plan_values[plan_value].root];
  if (root->last_read < position) root->last_read = position;
}

void ci_plan_point(ci_plan *plan, ci_plan_value *root, void *data) {
  for (ci_plan_value *plan_value = root;; plan_value = &plan->plan_values[plan_value->next]) {
    plan_value->value.data = data;
    if (plan_value->next == CI_NONE) return;
  }
}

void ci_plan_own(ci_plan *plan, ci_plan_value *plan_value, int32_t buffer) {
  plan_value->root = ci_plan_value_index(plan, plan_value);
  plan_value->buffer = buffer;
}

bool ci_plan_offer(ci_plan *plan, ci_plan_value *output, ci_plan_value *input, int32_t position, bool alone) {
  ci_compiler *c = plan->compiler;
  if (!CI_LIST_GROW(c->allocator, &c->offers)) return false;
  c->offers.at[c->offers.count++] =
      (ci_offer){ci_plan_value_index(plan, output), ci_plan_value_index(plan, input), position, alone, CI_NONE};
  return true;
}

/* ---- buffers ---- */

enum { PLAN_POOLED = 256 }; /* bytes: smaller values cost less in the pool than in a block */

int32_t ci_plan_buffer(ci_plan *plan, ci_home home, size_t bytes) {
  if (plan->buffers.count >= INT32_MAX / 2 || !CI_LIST_GROW(&plan->session->allocator, &plan->buffers)) return CI_NONE;
  plan->buffers.at[plan->buffers.count] = (ci_buffer){.home = home,
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
  return (int32_t)plan->buffers.count++;
}

int32_t ci_plan_resolve(const ci_plan *plan, int32_t buffer) {
  while (plan->buffers.at[buffer].same_as != CI_NONE) buffer = plan->buffers.at[buffer].same_as;
  return buffer;
}

ci_buffer *ci_plan_buffer_of(ci_plan *plan, const ci_value *value) {
  const ci_plan_value *root = &plan->plan_values[ci_plan_value_of(value)->root];
  return &plan->buffers.at[ci_plan_resolve(plan, root->buffer)];
}

ci_constant *ci_plan_constant(ci_plan *plan, const ci_value *value) {
  if (value->data == NULL || plan->plan_values[ci_plan_value_of(value)->root].buffer == CI_NONE) return NULL;
  const ci_buffer *buffer = ci_plan_buffer_of(plan, value);
  if (buffer->home != CI_HOME_FIXED || buffer->constant == CI_NONE) return NULL;
  return &plan->session->model->constants.at[buffer->constant];
}

void ci_buffer_release(ci_plan *plan, ci_buffer *buffer) {
  if (buffer->home != CI_HOME_HEAP || buffer->block == NULL) return;
  ci_release(&plan->session->values, buffer->block, buffer->block_bytes);
  plan->session->heap_bytes -= buffer->block_bytes;
  buffer->block = NULL;
  buffer->block_bytes = 0;
}

void ci_buffer_release_fixed(ci_plan *plan, ci_buffer *buffer) {
  if (buffer->home != CI_HOME_FIXED || buffer->block == NULL) return;
  ci_release(&plan->session->allocator, buffer->block, buffer->block_bytes);
  buffer->block = NULL;
  buffer->block_bytes = 0;
}

bool ci_buffer_take_fixed(ci_plan *plan, ci_buffer *buffer, size_t bytes, void **data) {
  ci_buffer_release_fixed(plan, buffer);
  if (bytes <= PLAN_POOLED) {
    *data = ci_pool_alloc(&plan->pool, bytes);
  } else {
    *data = buffer->block = ci_alloc(&plan->session->allocator, bytes);
  }
  buffer->block_bytes = *data == NULL ? 0 : bytes;
  return *data != NULL;
}

void ci_plan_drop_buffers(ci_plan *plan, size_t count) {
  for (size_t i = count; i < plan->buffers.count; i++) ci_buffer_release_fixed(plan, &plan->buffers.at[i]);
  plan->buffers.count = count;
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
  return (ci_plan_mark){plan->buffers.count, plan->all_steps.count, plan->compiler->offers.count,
                        plan->bound_reads.count};
}

void ci_plan_forget(ci_plan *plan, ci_plan_mark mark) {
  ci_plan_drop_buffers(plan, mark.buffers);
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
  for (size_t i = 0; i < plan->buffers.count; i++) ci_buffer_release(plan, &plan->buffers.at[i]);
  ci_plan_drop_buffers(plan, 0);
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
                    .buffers = was.buffers,
                    .root = {.steps = was.root.steps},
                    .watchpoints = was.watchpoints,
                    .reads = was.reads,
                    .bound_reads = was.bound_reads,
                    .batch.values = was.batch.values};
  plan->all_steps.count = plan->buffers.count = plan->root.steps.count = 0;
  plan->watchpoints.count = plan->reads.count = plan->bound_reads.count = 0;
}

void ci_plan_free(ci_plan *plan) {
  const ci_allocator *allocator = &plan->session->allocator;
  plan_release(plan);
  CI_LIST_FREE(allocator, &plan->root.steps);
  CI_LIST_FREE(allocator, &plan->all_steps);
  CI_LIST_FREE(allocator, &plan->buffers);
  CI_LIST_FREE(allocator, &plan->watchpoints);
  CI_LIST_FREE(allocator, &plan->reads);
  CI_LIST_FREE(allocator, &plan->bound_reads);
  CI_LIST_FREE(allocator, &plan->batch.values);
  ci_pool_release(&plan->pool);
  ci_release(allocator, plan, sizeof *plan);
}
