/* rows.c - plans in which the length of first axes alone is open, as it is in a model of products for batches of any
 * size.
 *
 * Where every kernel that reads such values takes the length from them when it runs (free_rows in ci_kernel.h), another
 * length is a matter of a few numbers as long as the results fit where they lie.
 */
#include "compile.h"
#include "../session/output.h"

enum { ROWS_MOST_INPUTS = 64 }; /* bits */

static void rows_at_most(int64_t *bound, uint64_t most) {
  if (most < (uint64_t)*bound) *bound = (int64_t)most;
}

/* The cell's value has as many rows as the others. */
static bool rows_add(ci_plan *plan, ci_cell *cell) {
  ci_rows *rows = &plan->rows;
  ci_value *value = &cell->value;
  const ci_place *place = &plan->places.at[cell->place];
  const bool whole = value->bytes == (size_t)value->count * ci_dtype_size(value->dtype);
  if (value->dims[0] != rows->now || value->bytes == 0 || !whole) return false;
  if (!CI_LIST_GROW(&plan->session->allocator, &rows->values)) return false;
  const ci_row_value row = {value, value->count / rows->now, value->bytes / (size_t)rows->now};
  rows->values.at[rows->values.count++] = row;
  cell->changed = true;
  rows_at_most(&rows->most, PTRDIFF_MAX / row.bytes);
  if (place->home == CI_HOME_ARENA) rows_at_most(&rows->room, place->room / row.bytes);
  return true;
}

/* Inputs of two or more rows whose number the signature leaves open; one row may mean something else. */
static bool rows_inputs(ci_plan *plan) {
  const ci_binding *bindings = plan->model->signatures.at[plan->signature].inputs;
  ci_rows *rows = &plan->rows;
  if (plan->input_count > ROWS_MOST_INPUTS) return false;
  for (int32_t i = 0; i < plan->input_count; i++) {
    const ci_value *value = &plan->input_cells[i]->value;
    const bool open = bindings[i].rank < 0 || (bindings[i].rank > 0 && bindings[i].dims[0] < 0);
    if (!open || value->rank < 1 || value->dims[0] < 2) continue;
    if (rows->now == 0) rows->now = value->dims[0];
    if (!rows_add(plan, plan->input_cells[i])) return false;
    rows->inputs |= UINT64_C(1) << i;
  }
  return rows->now > 0;
}

/* Whether the step reads nothing that has rows, or what it reads has them where its kernel is free. */
static bool rows_step(ci_plan *plan, const ci_step *step) {
  const ci_kernel *k = &step->k;
  bool reads = false, as_free = !step->widens && k->n_out == 1 && k->free_rows >= plan->rows.now;
  for (int i = 0; i < k->n_in; i++) {
    const bool has = k->in[i] != NULL && ci_cell_of(k->in[i])->changed;
    const bool may = as_free && (k->row_inputs >> i & 1) != 0; /* the operator has no more inputs than bits */
    reads = reads || has;
    as_free = as_free && (k->in[i] == NULL || has == may);
  }
  if (!reads) return true;
  ci_cell *cell = as_free ? ci_cell_of(k->out[0]) : NULL;
  if (cell == NULL || cell->place == CI_NONE) return false;
  const ci_place *place = &plan->places.at[cell->place];
  if (place->home != CI_HOME_ARENA || place->same_as != CI_NONE) return false;
  rows_at_most(&plan->rows.most, (uint64_t)k->free_rows);
  return rows_add(plan, cell);
}

/* Outputs stay as large or as small as output.c took them for, and borrowed ones fit where they are copied. */
static void rows_outputs(ci_plan *plan) {
  ci_rows *rows = &plan->rows;
  for (int32_t i = 0; i < plan->output_count; i++) {
    const ci_plan_output *output = &plan->outputs[i];
    if (!output->cell->changed) continue;
    const size_t bytes = output->cell->value.bytes / (size_t)rows->now;
    const int64_t large = (int64_t)((CI_OUTPUT_LARGE + bytes - 1) / bytes);
    if (output->copy != CI_NONE) rows_at_most(&rows->room, plan->places.at[output->copy].room / bytes);
    if (rows->now < large) rows_at_most(&rows->most, (uint64_t)large - 1);
    else if (rows->least < large) rows->least = large;
  }
}

void ci_plan_find_rows(ci_plan *plan) {
  ci_rows *rows = &plan->rows;
  rows->values.count = 0;
  rows->inputs = 0;
  rows->now = 0;
  rows->least = 2;
  rows->most = rows->room = PTRDIFF_MAX;
  for (int32_t i = 0; i < plan->cell_count; i++) plan->cells[i].changed = false;
  bool open = plan->refits && rows_inputs(plan);
  for (size_t s = 0; open && s < plan->all_steps.count; s++) open = rows_step(plan, plan->all_steps.at[s]);
  if (open) rows_outputs(plan);
  else rows->now = 0;
}

/* The number of rows of inputs that differ from the plan's in nothing else; -1: they do. */
static int64_t rows_of(const ci_plan *plan, const ci_tensor *inputs) {
  int64_t rows = -1;
  for (int32_t i = 0; i < plan->input_count; i++) {
    const ci_tensor *was = &plan->inputs[i], *now = &inputs[i];
    const bool open = (plan->rows.inputs >> i & 1) != 0;
    if (was->dtype != now->dtype || was->rank != now->rank) return -1;
    for (int32_t d = open; d < now->rank; d++) {
      if (was->dims[d] != now->dims[d]) return -1;
    }
    if (open && rows < 0) rows = now->dims[0];
    if (open && rows != now->dims[0]) return -1;
  }
  return rows;
}

bool ci_plan_takes_rows(ci_plan *plan, const ci_tensor *inputs) {
  ci_rows *rows = &plan->rows;
  const int64_t wanted = rows_of(plan, inputs);
  if (wanted == rows->now) return true;
  if (plan->reserved || wanted < rows->least || wanted > rows->most || wanted > rows->room) return false;
  rows->now = wanted;
  for (size_t i = 0; i < rows->values.count; i++) {
    const ci_row_value *row = &rows->values.at[i];
    row->value->dims[0] = wanted;
    row->value->count = wanted * row->count;
    row->value->bytes = (size_t)wanted * row->bytes;
  }
  for (int32_t i = 0; i < plan->input_count; i++) {
    if ((rows->inputs >> i & 1) != 0) plan->inputs[i].dims[0] = wanted;
  }
  plan->session->stats.plans++;
  plan->session->stats.refits++;
  return true;
}

bool ci_plan_lacks_room(const ci_plan *plan, const ci_tensor *inputs) {
  const ci_rows *rows = &plan->rows;
  const int64_t wanted = rows->now == 0 ? -1 : rows_of(plan, inputs);
  return wanted >= rows->least && wanted <= rows->most && wanted > rows->room;
}
