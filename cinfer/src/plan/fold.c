/* fold.c - constant folding: results that are known before the run are computed while planning, and freed when no step
 * reads them.
 *
 * A result is settled if it follows from constants alone, whatever the shapes of the inputs are. Once all readers of a
 * settled result are settled themselves, its elements are not needed again, not even when the plan is fitted to other
 * shapes.
 */
#include "compile.h"
#include "../base/wire.h"

enum {
  FOLD_BYTES = 1 << 16, /* larger results are computed in the run, so that planning stays quick and small */
  FOLD_WORK = 1 << 24,  /* bytes that all of a plan read and write, or numbers that a MatMul multiplies, */
  FOLD_EACH = 64,       /* and for each byte of the file */
  FOLD_STEEP = 1 << 20  /* of one steep operator */
};

/* ---- memory ---- */

/* ---- the readers of values ---- */

static void fold_count(ci_compiler *c, uint32_t first, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    const int32_t edge = c->model->refs.at[first + i];
    if (edge != CI_NONE) c->readers[edge]++;
  }
}

void ci_fold_readers(ci_compiler *c, const ci_signature_info *signature) {
  const ci_model *m = c->model;
  memset(c->readers, 0, m->edges.count * sizeof *c->readers);
  for (size_t n = 0; n < m->nodes.count; n++) {
    const ci_node *node = &m->nodes.at[n];
    if (c->need[n] != 0) fold_count(c, node->inputs, node->input_count);
  }
  for (size_t g = 0; g < m->graphs.count; g++) {
    const ci_graph *graph = &m->graphs.at[g];
    fold_count(c, graph->outputs, graph->output_count);
    fold_count(c, graph->captures, graph->capture_count);
  }
  for (int32_t i = 0; i < signature->output_count; i++) c->readers[signature->outputs[i].edge]++;
}

/* Only what this attempt at this frame has made: bodies are compiled several times, and read values around them. */
static bool fold_is_settled(const ci_compiler *c, const ci_plan_value *root) {
  return root->settled && root->made >= c->frame_begin;
}

static bool fold_reads_settled(const ci_compiler *c, const ci_step *step) {
  for (int i = 0; i < step->k.n_in; i++) {
    if (step->k.in[i] != NULL && !fold_is_settled(c, &c->plan->plan_values[ci_plan_value_of(step->k.in[i])->root]))
      return false;
  }
  return true;
}

static void fold_drop(ci_plan *plan, ci_plan_value *root) {
  ci_buffer *buffer = root->buffer == CI_NONE ? NULL : &plan->buffers.at[root->buffer];
  if (!root->settled || root->readers != 0 || buffer == NULL || buffer->block == NULL) return;
  ci_buffer_release_fixed(plan, buffer);
  root->value.data = NULL;
}

void ci_fold_note(ci_compiler *c, ci_step *step, bool done) {
  ci_plan *plan = c->plan;
  const bool settled = done && !ci_step_is(step, CI_OP_STATEFUL) && fold_reads_settled(c, step);
  for (int o = 0; o < step->k.n_out; o++) {
    ci_plan_value *plan_value = ci_plan_value_of(step->k.out[o]), *root = &plan->plan_values[plan_value->root];
    const int32_t edge = step->node->outputs + o;
    const int32_t readers = c->fed[edge] ? 0 : c->readers[edge];
    if (root != plan_value) root->readers += readers;
    else plan_value->readers = readers;
    if (root == plan_value) plan_value->settled = settled && plan->buffers.at[plan_value->buffer].home == CI_HOME_FIXED;
  }
  for (int i = 0; i < step->k.n_in; i++) {
    if (step->k.in[i] == NULL) continue;
    ci_plan_value *root = &plan->plan_values[ci_plan_value_of(step->k.in[i])->root];
    if (settled) root->readers--;
    else root->settled = root->settled && root->buffer != CI_NONE && plan->buffers.at[root->buffer].block == NULL;
    fold_drop(plan, root);
  }
  for (int o = 0; o < step->k.n_out; o++) fold_drop(plan, &plan->plan_values[ci_plan_value_of(step->k.out[o])->root]);
}

/* ---- computing ---- */

/* No operator takes a higher power of its sizes than this. 0: it takes too long to be computed ahead. */
static uint64_t fold_steep(const ci_step *step) {
  uint64_t in = 0, out = 0, all = 1;
  for (int i = 0; i < step->k.n_in && all <= FOLD_STEEP && in <= FOLD_STEEP; i++) {
    const uint64_t count = step->k.in[i] == NULL ? 1 : (uint64_t)step->k.in[i]->count;
    in += count;
    all *= count > FOLD_STEEP ? FOLD_STEEP + 1 : count;
  }
  for (int o = 0; o < step->k.n_out; o++) out += (uint64_t)step->k.out[o]->count; /* few: their bytes were looked at */
  const bool small = all <= FOLD_STEEP && in <= FOLD_STEEP && in * (in + out) <= FOLD_STEEP;
  return small ? all + in * (in + out) + 1 : 0;
}

/* A plan computes no more ahead than is in proportion to its file: the rest is work of the run. */
static bool fold_is_within(ci_compiler *c, const ci_step *step) {
  const uint64_t most = FOLD_WORK + (uint64_t)FOLD_EACH * c->model->file.length;
  const bool is_steep = ci_step_is(step, CI_OP_STEEP);
  const bool reads = !ci_step_is(step, CI_OP_SHAPE_ONLY); /* else only shapes count, not elements */
  uint64_t work = is_steep ? fold_steep(step) : step->k.scratch_bytes;
  if (is_steep && work == 0) return false;
  for (int i = 0; reads && i < step->k.n_in; i++) work += step->k.in[i] == NULL ? 0 : step->k.in[i]->bytes;
  for (int o = 0; o < step->k.n_out; o++) work += step->k.out[o]->bytes;
  if (work > most || c->folded > most - work) return false;
  c->folded += work;
  return true;
}

static bool fold_can(ci_compiler *c, const ci_step *step) {
  size_t bytes = 0;
  if (step->dynamic || ci_step_is(step, CI_OP_STATEFUL | CI_OP_CONTROL | CI_OP_NO_RUN)) return false;
  if (step->k.n_out == 0 || step->k.scratch_bytes > FOLD_BYTES) return false;
  for (int i = 0; i < step->k.n_in && !ci_step_is(step, CI_OP_SHAPE_ONLY); i++) {
    if (step->k.in[i] != NULL && step->k.in[i]->data == NULL) return false;
  }
  for (int o = 0; o < step->k.n_out; o++) {
    if (step->alias[o] != CI_NONE || !ci_add_size(bytes, step->k.out[o]->bytes, &bytes)) return false;
  }
  return bytes <= FOLD_BYTES && fold_is_within(c, step);
}

static bool fold_run(ci_compiler *c, ci_step *step) {
  const size_t scratch = step->k.scratch_bytes;
  step->k.scratch = ci_alloc(c->allocator, scratch);
  step->k.threads = 1;
  step->k.ahead = true;
  const bool whole = step->k.scratch != NULL && step->run(&step->k) == CI_OK;
  ci_release(c->allocator, step->k.scratch, scratch);
  step->k.scratch = step;
  step->k.ahead = false;
  step->k.threads = c->plan->session->thread_count;
  return whole;
}

bool ci_fold_again(ci_compiler *c, ci_step *step) { return fold_can(c, step) && fold_run(c, step); }

static bool fold_memory(ci_compiler *c, ci_step *step) {
  for (int o = 0; o < step->k.n_out; o++) {
    ci_plan_value *plan_value = ci_plan_value_of(step->k.out[o]);
    const int32_t buffer = ci_plan_buffer(c->plan, CI_HOME_FIXED, 0);
    if (buffer == CI_NONE) return false;
    ci_plan_own(c->plan, plan_value, buffer);
    if (!ci_buffer_take_fixed(c->plan, &c->plan->buffers.at[buffer], plan_value->value.bytes, &plan_value->value.data))
      return false;
  }
  return true;
}

bool ci_fold(ci_compiler *c, ci_step *step) {
  if (!fold_can(c, step)) return false;
  const size_t buffers = c->plan->buffers.count;
  const bool whole = fold_memory(c, step) && fold_run(c, step);
  for (int o = 0; o < step->k.n_out; o++) {
    ci_plan_value *plan_value = ci_plan_value_of(step->k.out[o]);
    plan_value->made = step->begin;
    if (whole) continue;
    plan_value->value.data = NULL;
    plan_value->buffer = CI_NONE;
  }
  if (!whole) ci_plan_drop_buffers(c->plan, buffers);
  return whole;
}
