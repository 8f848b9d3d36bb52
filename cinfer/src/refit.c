/* refit.c - a plan made to fit other shapes of its inputs.
 *
 * Most plans of a signature differ in sizes alone: the same steps, the same values in the same memory. Then only the
 * kernels whose inputs changed are prepared again, and the arena is laid out anew. Whatever else turns out to differ
 * spoils the plan, and the caller makes one from nothing.
 */
#include "compile.h"
#include "output.h"

static ci_place *refit_place(ci_plan *plan, const ci_cell *cell) {
  return &plan->places.at[plan->cells[cell->root].place];
}

/* ---- by rows: only lengths of first axes change, and each kernel that reads them fits what it has ---- */

static bool refit_is_touched(const ci_step *step) {
  for (int i = 0; i < step->k.n_in; i++) {
    if (step->k.in[i] != NULL && ci_cell_of(step->k.in[i])->changed != CI_UNCHANGED) return true;
  }
  return false;
}

/* Whether the inputs that have changed, all in their rows alone, are those that the kernel is fitted to. */
static bool refit_has_rows(const ci_step *step) {
  if (step->k.refit == NULL || step->widens) return false;
  for (int i = 0; i < step->k.n_in; i++) {
    const ci_cell *cell = step->k.in[i] == NULL ? NULL : ci_cell_of(step->k.in[i]);
    const bool with_rows = (step->k.row_inputs >> i & 1) != 0; /* the operator has no more inputs than bits */
    if (cell != NULL && cell->changed != (with_rows ? CI_ROWS_CHANGED : CI_UNCHANGED)) return false;
  }
  return true;
}

/* Marks what has other rows when all inputs have whose signature leaves them open, of two or more. */
static bool refit_learn(ci_plan *plan) {
  const ci_binding *bindings = plan->model->signatures.at[plan->signature].inputs;
  for (int32_t i = 0; i < plan->cell_count; i++) plan->cells[i].changed = CI_UNCHANGED;
  for (int32_t i = 0; i < plan->input_count; i++) {
    const ci_value *value = &plan->input_cells[i]->value;
    const bool open = bindings[i].rank < 0 || (bindings[i].rank > 0 && bindings[i].dims[0] < 0);
    if (open && value->rank > 0 && value->dims[0] > 1) plan->input_cells[i]->changed = CI_ROWS_CHANGED;
  }
  for (size_t s = 0; s < plan->all_steps.count; s++) {
    ci_step *step = plan->all_steps.at[s];
    step->by_rows = refit_is_touched(step);
    if (!step->by_rows) continue;
    const ci_place *place = step->k.n_out == 1 ? refit_place(plan, ci_cell_of(step->k.out[0])) : NULL;
    if (place == NULL || place->home != CI_HOME_ARENA || place->same_as != CI_NONE || !refit_has_rows(step))
      return false;
    ci_cell_of(step->k.out[0])->changed = CI_ROWS_CHANGED;
  }
  return true;
}

void ci_plan_may_refit(ci_plan *plan) {
  plan->refits = !plan->has_heap;
  for (size_t s = 0; s < plan->all_steps.count; s++) {
    const ci_step *step = plan->all_steps.at[s];
    if (step->dynamic || (step->node->kernel->flags & CI_OP_CONTROL) != 0) plan->refits = false;
  }
  plan->by_rows = plan->refits && refit_learn(plan);
}

bool ci_plan_fits_by_rows(const ci_plan *plan, const ci_tensor *inputs) {
  if (!plan->by_rows) return false;
  for (int32_t i = 0; i < plan->input_count; i++) {
    const ci_value *was = &plan->input_cells[i]->value;
    const ci_tensor *now = &inputs[i];
    if (was->dtype != now->dtype || was->rank != now->rank) return false;
    for (int d = 1; d < now->rank; d++) {
      if (was->dims[d] != now->dims[d]) return false;
    }
    const bool differs = now->rank > 0 && was->dims[0] != now->dims[0];
    if (differs != (plan->input_cells[i]->changed == CI_ROWS_CHANGED) || (differs && now->dims[0] < 2)) return false;
  }
  return true;
}

static bool refit_length(ci_value *value, int64_t rows, uint64_t most) {
  const int64_t count = value->count / value->dims[0]; /* of a row: there were two or more */
  size_t bytes;
  if (!ci_mul_size(value->bytes / (size_t)value->dims[0], (uint64_t)rows, &bytes) || bytes > most) return false;
  value->dims[0] = rows;
  value->count = count * rows;
  value->bytes = bytes;
  return true;
}

/* The one length of the inputs that have other rows; 0: they differ. */
static int64_t refit_rows(const ci_step *step) {
  int64_t rows = -1;
  for (int i = 0; i < step->k.n_in; i++) {
    if ((step->k.row_inputs >> i & 1) == 0) continue; /* the operator has no more inputs than bits */
    if (rows >= 0 && step->k.in[i]->dims[0] != rows) return 0;
    rows = step->k.in[i]->dims[0];
  }
  return rows;
}

static bool refit_step_length(ci_step *step) {
  const uint64_t most = step->plan->session->limits.max_memory;
  const int64_t rows = refit_rows(step);
  return rows > 0 && refit_length(step->k.out[0], rows, most < PTRDIFF_MAX ? most : PTRDIFF_MAX) &&
         ci_step_refit(step) == CI_OK;
}

/* What lies in the place has another size now; *fits stays true while everything does where it is. */
static void refit_resize(ci_place *place, size_t bytes, bool *fits) {
  place->bytes = bytes;
  *fits = *fits && bytes <= place->room;
}

static bool refit_step_rows(ci_plan *plan, ci_step *step, bool *fits) {
  if (!refit_step_length(step)) return false;
  if ((step->scratch == CI_NONE) != (step->k.scratch_bytes == 0)) return false;
  if (step->scratch != CI_NONE) refit_resize(&plan->places.at[step->scratch], step->k.scratch_bytes, fits);
  refit_resize(refit_place(plan, ci_cell_of(step->k.out[0])), step->k.out[0]->bytes, fits);
  return true;
}

static bool refit_by_rows(ci_plan *plan, const ci_tensor *inputs) {
  bool fits = true;
  for (int32_t i = 0; i < plan->input_count; i++) {
    if (plan->input_cells[i]->changed == CI_UNCHANGED) continue;
    if (!refit_length(&plan->input_cells[i]->value, inputs[i].dims[0], PTRDIFF_MAX)) return false;
    plan->inputs[i].dims[0] = inputs[i].dims[0];
  }
  for (size_t s = 0; s < plan->all_steps.count; s++) {
    ci_step *step = plan->all_steps.at[s];
    if (step->by_rows && !refit_step_rows(plan, step, &fits)) return false;
  }
  for (int32_t i = 0; i < plan->output_count; i++) {
    const ci_plan_output *output = &plan->outputs[i];
    if (output->copy != CI_NONE) refit_resize(&plan->places.at[output->copy], output->cell->value.bytes, &fits);
  }
  if (fits) {
    ci_output_resized(plan);
    return true;
  }
  if (ci_plan_offsets(plan) != CI_OK) return false;
  ci_output_plan(plan);
  plan->bound_arena = NULL;
  return true;
}

/* ---- whatever changes ---- */

/* What a run has left in the cells is unknown again to the kernels that are prepared. */
static void refit_forget(ci_plan *plan) {
  for (int32_t i = 0; i < plan->cell_count; i++) {
    ci_cell *cell = &plan->cells[i];
    cell->changed = CI_UNCHANGED;
    if (plan->cells[cell->root].place != CI_NONE && refit_place(plan, cell)->home != CI_HOME_FIXED)
      cell->value.data = NULL;
  }
}

static ci_change refit_change(const ci_value *was, const ci_value *now) {
  if (was->dtype != now->dtype || was->rank != now->rank) return CI_CHANGED;
  for (int d = 1; d < now->rank; d++) {
    if (was->dims[d] != now->dims[d]) return CI_CHANGED;
  }
  if (now->rank < 1 || was->dims[0] == now->dims[0]) return CI_UNCHANGED;
  return was->dims[0] > 1 && now->dims[0] > 1 ? CI_ROWS_CHANGED : CI_CHANGED;
}

static bool refit_inputs(ci_plan *plan, const ci_tensor *inputs) {
  for (int32_t i = 0; i < plan->input_count; i++) {
    ci_cell *cell = plan->input_cells[i];
    const ci_value was = cell->value;
    ci_tensor shape = inputs[i];
    shape.data = cell; /* as compile.c: nothing reads it */
    if (ci_value_of_tensor(&shape, &cell->value, NULL) != CI_OK) return false;
    cell->value.data = NULL;
    cell->changed = refit_change(&was, &cell->value);
    plan->inputs[i] = inputs[i];
    plan->inputs[i].data = NULL;
  }
  return true;
}

/* Whether some offer of the step gives the place of its output the memory that the layout chose. */
static bool refit_offered(const ci_compiler *c, int32_t output, int32_t given) {
  const ci_plan *plan = c->plan;
  for (size_t i = 0; i < c->offers.count; i++) {
    if (c->offers.at[i].output != output) continue;
    int32_t place = plan->cells[plan->cells[c->offers.at[i].input].root].place;
    while (place != given && place != CI_NONE) place = plan->places.at[place].same_as;
    if (place == given) return true;
  }
  return false;
}

enum {
  REFIT_OUTPUTS = 8,
  REFIT_LOST = 1 << 16 /* bytes of the pool that no step uses any more: then a plan from nothing is better */
};

/* A result that was computed while planning is computed again, in the same memory if that is large enough; if not, in
 * half as much again, so that growing sizes leave little behind. */
static bool refit_folded(ci_compiler *c, ci_step *step, const ci_value *was) {
  ci_plan *plan = c->plan;
  for (int o = 0; o < step->k.n_out; o++) {
    ci_value *value = step->k.out[o];
    ci_place *place = refit_place(plan, ci_cell_of(value));
    const size_t held = place->block_bytes > was[o].bytes ? place->block_bytes : was[o].bytes;
    value->data = was[o].data;
    place->block_bytes = held;
    if (value->bytes > held) {
      place->block_bytes = value->bytes + value->bytes / 2; /* ci_k_out has checked that there may be so many */
      value->data = ci_pool_alloc(&plan->pool, place->block_bytes);
      plan->lost += held;
    }
    ci_cell_of(value)->changed = CI_CHANGED;
    if (value->data == NULL) return false;
  }
  return ci_compile_fold_into(c, step);
}

static bool refit_output(ci_compiler *c, ci_step *step, int o, const ci_value *was) {
  ci_plan *plan = c->plan;
  ci_cell *cell = ci_cell_of(step->k.out[o]);
  cell->changed = refit_change(was, &cell->value);
  if (was->dtype != cell->value.dtype) return false;
  if (step->alias[o] != CI_NONE) { /* a number that is known may have changed where the shape has not */
    cell->value.data = plan->cells[cell->root].value.data;
    if (cell->changed < plan->cells[cell->root].changed) cell->changed = plan->cells[cell->root].changed;
    return true;
  }
  ci_place *place = &plan->places.at[cell->place];
  if (place->home != CI_HOME_ARENA) return cell->changed == CI_UNCHANGED;
  place->bytes = cell->value.bytes;
  return place->same_as == CI_NONE || refit_offered(c, (int32_t)(cell - plan->cells), place->same_as);
}

static bool refit_step(ci_compiler *c, ci_step *step) {
  ci_plan *plan = c->plan;
  const size_t held = step->private_bytes, more = step->more_bytes;
  const int outs = step->k.n_out;
  ci_value was[REFIT_OUTPUTS];
  int32_t alias[REFIT_OUTPUTS];
  if (outs < 1 || outs > REFIT_OUTPUTS) return false;
  for (int o = 0; o < outs; o++) {
    was[o] = *step->k.out[o];
    alias[o] = step->alias[o];
    step->k.out[o]->data = NULL;
  }
  c->offers.count = 0;
  const bool by_rows = refit_has_rows(step) && refit_step_length(step);
  if (!by_rows && ci_step_prepare(step) != CI_OK) return false;
  if (held < step->private_bytes) plan->lost += held;
  if (more < step->more_bytes) plan->lost += more;
  for (int o = 0; o < outs; o++) {
    if (alias[o] != step->alias[o]) return false;
  }
  const bool folded = alias[0] == CI_NONE && refit_place(plan, ci_cell_of(step->k.out[0]))->home == CI_HOME_FIXED;
  if (folded) return refit_folded(c, step, was);
  for (int o = 0; o < outs; o++) {
    if (!refit_output(c, step, o, &was[o])) return false;
  }
  if ((step->scratch == CI_NONE) != (step->k.scratch_bytes == 0)) return false;
  if (step->scratch != CI_NONE) plan->places.at[step->scratch].bytes = step->k.scratch_bytes;
  return true;
}

/* Values that share memory are of one size; what a caller borrows has room of its own. */
static bool refit_sizes(ci_plan *plan) {
  for (size_t p = 0; p < plan->places.count; p++) {
    const ci_place *place = &plan->places.at[p];
    if (place->same_as != CI_NONE && place->bytes != plan->places.at[place->same_as].bytes) return false;
  }
  for (int32_t i = 0; i < plan->output_count; i++) {
    if (plan->outputs[i].copy != CI_NONE)
      plan->places.at[plan->outputs[i].copy].bytes = plan->outputs[i].cell->value.bytes;
  }
  return true;
}

/* Steps that did the next one's work must be able to do it for these sizes. */
static bool refit_joined(ci_plan *plan) {
  for (size_t s = 0; s < plan->root.steps.count; s++) {
    ci_step *step = plan->root.steps.at[s];
    if (step->joins == NULL) continue;
    const size_t bytes = step->k.join(&step->k, &step->joins->k); /* prepared again or not, it joins */
    if (bytes == 0) return false;
    refit_place(plan, ci_cell_of(step->k.out[0]))->bytes = 0;
    refit_place(plan, ci_cell_of(step->joins->k.out[0]))->bytes = bytes;
  }
  return true;
}

static bool refit_all(ci_compiler *c, const ci_tensor *inputs) {
  ci_plan *plan = c->plan;
  refit_forget(plan);
  if (!refit_inputs(plan, inputs)) return false;
  for (size_t s = 0; s < plan->all_steps.count; s++) {
    ci_step *step = plan->all_steps.at[s];
    if (refit_is_touched(step) && !refit_step(c, step)) return false;
  }
  if (!refit_joined(plan) || !refit_sizes(plan) || ci_plan_offsets(plan) != CI_OK) return false;
  ci_output_plan(plan);
  return true;
}

bool ci_plan_refit(ci_plan *plan, const ci_tensor *inputs, bool by_rows) {
  ci_compiler *c = plan->session->compiler;
  if (c == NULL || plan->lost > REFIT_LOST) return false;
  c->plan = plan;
  c->error = NULL;
  plan->compiler = c;
  plan->error = NULL;
  const bool fits = by_rows ? refit_by_rows(plan, inputs) : refit_all(c, inputs);
  plan->compiler = NULL;
  if (by_rows) return fits;
  plan->bound_arena = NULL;
  plan->bound_layout = UINT64_MAX;
  plan->by_rows = fits && refit_learn(plan);
  return fits;
}
