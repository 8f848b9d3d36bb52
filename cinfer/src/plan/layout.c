/* layout.c - memory planning: which values share a buffer, and the offset of each buffer in the arena. */
#include "compile.h"
#include "../base/guard.h"
#include "../session/output.h"

static ci_status layout_failed(ci_plan *plan) {
  ci_error *error = plan->compiler->error;
  CI_TRY(ci_session_check_go_on(plan->session, error));
  return ci_fail(error, CI_RESOURCE_EXHAUSTED, "no memory for the plan of a signature");
}

static ci_place *layout_place(ci_plan *plan, const ci_cell *root) {
  return &plan->places.at[ci_plan_resolve(plan, root->place)];
}

static void layout_chain(ci_plan *plan) {
  for (int32_t i = plan->cell_count - 1; i >= 0; i--) {
    ci_cell *cell = &plan->cells[i];
    if (cell->root == i) continue;
    cell->next = plan->cells[cell->root].next;
    plan->cells[cell->root].next = i;
  }
}

/* A variable's reader shows the state's buffer unless a step assigns the variable before the value's last reader. */
static void layout_reader(ci_plan *plan, ci_step *step, int32_t assigned) {
  if (!ci_step_is(step, CI_OP_READS_VARIABLE) || step->dynamic || step->k.n_out == 0) return;
  const ci_cell *cell = ci_cell_of(step->k.out[0]);
  step->copies = assigned > 0 && assigned < cell->last_read;
  if (step->copies) plan->places.at[cell->place].home = CI_HOME_ARENA;
}

/* From the last step to the first, so that each knows the next Assign of its variable. */
static void layout_variables(ci_compiler *c) {
  ci_plan *plan = c->plan;
  size_t a = c->assigns.count;
  for (size_t s = plan->all_steps.count; s-- > 0;) {
    ci_step *step = plan->all_steps.at[s];
    for (; a > 0 && c->assigns.at[a - 1].position > step->begin; a--)
      c->slots[c->assigns.at[a - 1].slot].next = c->assigns.at[a - 1].position;
    if (step->slot < 0) continue;
    ci_slot_plan *known = &c->slots[step->slot];
    layout_reader(plan, step, known->next);
    if (known->next == 0) continue;
    const bool always = step->k.n_out == 0 || step->dynamic || step->copies;
    const int32_t until = always ? CI_END : plan->cells[ci_cell_of(step->k.out[0])->root].last_read;
    if (known->wanted < until) known->wanted = until;
  }
}

/* ---- steps that do the next one's work ---- */

/* Whether a kernel may join, or be joined. In a plan without heap values the step was prepared while planning, and its
 * output is in the arena. */
static bool layout_joins(const ci_step *step) {
  return (step->k.join != NULL || step->k.largest != NULL) && !step->widens;
}

/* The next step must be the only reader of the step's output. */
static bool layout_may_join(const ci_plan *plan, const ci_step *step, const ci_step *next) {
  if (step->k.join == NULL || step->joined || !layout_joins(step) || !layout_joins(next)) return false;
  const ci_cell *made = ci_cell_of(step->k.out[0]);
  bool alone = next->k.in[0] == &made->value && made->last_read == next->begin;
  for (int i = 1; alone && i < next->k.n_in; i++)
    alone = next->k.in[i] == NULL || &plan->cells[ci_cell_of(next->k.in[i])->root] != made;
  return alone;
}

/* The next step then has nothing to do. */
static void layout_joined(ci_plan *plan) {
  for (size_t s = 1; !plan->root.has_heap && s < plan->root.steps.count; s++) {
    ci_step *step = plan->root.steps.at[s - 1], *next = plan->root.steps.at[s];
    const size_t bytes = layout_may_join(plan, step, next) ? step->k.join(&step->k, &next->k) : 0;
    if (bytes == 0) continue;
    ci_cell *made = ci_cell_of(step->k.out[0]), *wanted = ci_cell_of(next->k.out[0]);
    plan->places.at[made->place].bytes = 0;
    plan->places.at[wanted->place].bytes = bytes;
    wanted->made = step->begin;
    if (next->scratch != CI_NONE) plan->places.at[next->scratch].first = step->begin;
    next->run = ci_run_nothing;
    step->joins = next;
    next->joined = true;
  }
}

/* ---- results made in a variable's buffer ---- */

/* Chains the offers of each output; the first of each is in c->sorted. */
static bool layout_offered(ci_compiler *c) {
  const size_t count = (size_t)c->plan->cell_count;
  if (!CI_LIST_GROW_BY(c->allocator, &c->sorted, count)) return false;
  for (size_t i = 0; i < count; i++) c->sorted.at[i] = CI_NONE;
  for (size_t i = 0; i < c->offers.count; i++) {
    ci_offer *offer = &c->offers.at[i];
    offer->next = c->sorted.at[offer->output];
    c->sorted.at[offer->output] = (int32_t)i;
  }
  return true;
}

/* Whether the step may write this output over the variable that it reads, and reads it last. Another of its inputs may
 * be the variable, too, read again; and on failure the step must have written all of the value or none of it. */
static bool layout_offers(const ci_compiler *c, int32_t output, int32_t slot) {
  const ci_plan *plan = c->plan;
  for (int32_t i = c->sorted.at[output]; i != CI_NONE; i = c->offers.at[i].next) {
    const ci_offer *offer = &c->offers.at[i];
    if (offer->alone) continue;
    const ci_cell *input = &plan->cells[plan->cells[offer->input].root];
    const ci_place *place = &plan->places.at[input->place];
    if (place->home == CI_HOME_VARIABLE && place->slot == slot && input->value.bytes == plan->cells[output].value.bytes)
      return true;
  }
  return false;
}

/* Whether the value of an Assign can be made where the variable's old one is by the step before it. */
static bool layout_may_make(const ci_compiler *c, const ci_step *maker, const ci_step *assign) {
  const ci_plan *plan = c->plan;
  const int32_t index = ci_cell_of(assign->k.in[0])->root;
  const ci_cell *cell = &plan->cells[index];
  const ci_slot_plan *known = &c->slots[assign->slot];
  if (maker == NULL || cell->made != maker->begin || cell->last_read != assign->begin) return false;
  const ci_place *place = &plan->places.at[cell->place];
  const bool fits = place->home == CI_HOME_ARENA && place->same_as == CI_NONE &&
                    (cell->value.dtype == CI_FLOAT || cell->value.dtype == CI_DOUBLE);
  /* The old value has no reader after the maker, and the variable is assigned nowhere else. */
  const bool last = known->assigns == 1 && known->wanted <= maker->begin;
  return fits && last && layout_offers(c, index, assign->slot);
}

/* An optimizer's step writes the new value where the old one is, so that Assign has nothing to copy. From the start of
 * the step before an Assign, and of other Assigns between them, to the Assign nothing can fail. */
static ci_status layout_assigned(ci_compiler *c) {
  ci_plan *plan = c->plan;
  ci_step *maker = NULL;
  if (c->assigns.count > 0 && !layout_offered(c)) return layout_failed(plan);
  for (size_t a = 0; a < plan->root.steps.count; a++) {
    ci_step *assign = plan->root.steps.at[a];
    if (!ci_step_is(assign, CI_OP_ASSIGNS)) {
      maker = assign;
      continue;
    }
    if (assign->dynamic || !layout_may_make(c, maker, assign)) continue;
    const ci_cell *cell = &plan->cells[ci_cell_of(assign->k.in[0])->root];
    if (!CI_LIST_GROW(c->allocator, &plan->bound_reads)) return layout_failed(plan);
    plan->bound_reads.at[plan->bound_reads.count++] = ci_cell_index(plan, cell);
    plan->places.at[cell->place].home = CI_HOME_VARIABLE;
    plan->places.at[cell->place].slot = assign->slot;
    assign->next_made = maker->makes;
    maker->makes = assign;
    maker->plan->makes = true;
  }
  return CI_OK;
}

/* A result that an iteration hands on may not use the buffer of another formal input: the copies would overlap. */
static bool layout_meets(const ci_place *given, const ci_place *wanted) {
  return given->carried != CI_NONE && wanted->result != CI_NONE && wanted->result != given->carried;
}

static void layout_results(ci_plan *plan) {
  for (int32_t i = 0; i < plan->cell_count; i++) {
    const ci_cell *cell = &plan->cells[i];
    if (cell->root == i && cell->place != CI_NONE && cell->result != CI_NONE)
      layout_place(plan, cell)->result = cell->result;
  }
}

static void layout_in_place(ci_compiler *c) {
  ci_plan *plan = c->plan;
  for (size_t i = 0; i < c->offers.count; i++) {
    const ci_offer *offer = &c->offers.at[i];
    const ci_cell *output = &plan->cells[offer->output];
    ci_cell *input = &plan->cells[plan->cells[offer->input].root];
    int32_t to = ci_plan_resolve(plan, output->place), from = ci_plan_resolve(plan, input->place);
    ci_place *wanted = &plan->places.at[to], *given = &plan->places.at[from];
    bool fits = to != from && to == output->place && wanted->home == CI_HOME_ARENA && given->home == CI_HOME_ARENA &&
                wanted->bytes == given->bytes && input->last_read == offer->position && !input->taken;
    if (!fits || layout_meets(given, wanted)) continue;
    input->taken = true;
    wanted->same_as = from;
    if (given->first > wanted->first) given->first = wanted->first;
    if (given->last < wanted->last) given->last = wanted->last;
    if (given->carried == CI_NONE) given->carried = wanted->carried;
    if (given->result == CI_NONE) given->result = wanted->result;
  }
}

static void layout_spans(ci_plan *plan) {
  for (int32_t i = 0; i < plan->cell_count; i++) {
    const ci_cell *cell = &plan->cells[i];
    if (cell->root != i || cell->place == CI_NONE) continue;
    ci_place *place = layout_place(plan, cell);
    int32_t last = cell->last_read > cell->made ? cell->last_read : cell->made;
    if (place->first > cell->made) place->first = cell->made;
    if (place->last < last) place->last = last;
  }
}

/* ---- offsets ---- */

enum {
  LAYOUT_MOST_SORTED = 4096, /* buffers: the time of layout_denser grows with their square */
  LAYOUT_MOST_GAPS = 1024,   /* that are remembered: among more no time is spent */
  LAYOUT_TURNS = 1 << 14,    /* buffers and gaps that are looked at for all buffers of a plan, */
  LAYOUT_TURNS_EACH = 32     /* and for each byte of the file */
};

typedef struct layout_arena {
  ci_plan *plan;
  int32_t *by_first, *by_last; /* buffers, sorted */
  int32_t *merged;             /* while they are sorted */
  int32_t count;
  ci_gap *gaps; /* by offset, never touching each other */
  int32_t gap_count;
  size_t end;
  uint64_t turns; /* that may still be taken */
} layout_arena;

typedef enum layout_order { LAYOUT_BY_FIRST, LAYOUT_BY_LAST, LAYOUT_BY_BYTES } layout_order;

/* Without branches: many are compared. */
static bool layout_before(const ci_plan *plan, int32_t a, int32_t b, layout_order order) {
  const ci_place *x = &plan->places.at[a], *y = &plan->places.at[b];
  const int32_t left[] = {x->first, x->last, 0}, right[] = {y->first, y->last, 0};
  const bool alike = left[order] == right[order], lower = (a < b) != (order == LAYOUT_BY_BYTES);
  /* By bytes, of equal ones the later gets the lower offset: smaller ones follow it. */
  return (left[order] < right[order]) | (alike & ((x->bytes > y->bytes) | ((x->bytes == y->bytes) & lower)));
}

/* Brings two sorted parts together. */
static void layout_merge(const layout_arena *arena, const int32_t *at, size_t begin, size_t middle, size_t end,
                         layout_order order) {
  int32_t *to = arena->merged + begin;
  size_t left = begin, right = middle;
  if (layout_before(arena->plan, at[middle], at[middle - 1], order)) {
    while (left < middle && right < end) {
      const size_t later = layout_before(arena->plan, at[right], at[left], order);
      *to++ = at[left + later * (right - left)];
      left += 1 - later;
      right += later;
    }
  }
  memcpy(to, at + left, (middle - left) * sizeof *at);
  memcpy(to + (middle - left), at + right, (end - right) * sizeof *at);
}

static void layout_sort(const layout_arena *arena, int32_t *at, layout_order order) {
  const size_t count = (size_t)arena->count;
  for (size_t width = 1; width < count; width *= 2) {
    size_t begin = 0;
    for (; begin + width < count; begin += 2 * width) {
      const size_t end = begin + 2 * width < count ? begin + 2 * width : count;
      layout_merge(arena, at, begin, begin + width, end, order);
    }
    memcpy(at, arena->merged, (begin < count ? begin : count) * sizeof *at);
  }
}

static size_t layout_bytes(const ci_place *place) {
  return place->bytes == 0 ? 64 : ci_round_up(place->bytes + CI_RED_ZONE, 64);
}

/* A dense layout is worth work in proportion to the file: few bytes can declare many buffers. */
static bool layout_affords(layout_arena *arena, uint64_t turns) {
  if (turns > arena->turns) return false;
  arena->turns -= turns;
  return true;
}

/* Each of them: those that cost too much are forgotten. */
static void layout_look_at_gaps(layout_arena *arena) {
  if (!layout_affords(arena, (uint64_t)arena->gap_count)) arena->gap_count = 0;
}

/* The smallest gap that is large enough, else the end. */
static bool layout_take(layout_arena *arena, ci_place *place) {
  size_t wanted = layout_bytes(place), least = SIZE_MAX;
  int32_t best = CI_NONE;
  layout_look_at_gaps(arena);
  for (int32_t i = 0; i < arena->gap_count; i++) {
    const size_t bytes = arena->gaps[i].bytes;
    if ((bytes >= wanted) & (bytes < least)) {
      best = i;
      least = bytes;
    }
  }
  if (best == CI_NONE) {
    place->offset = arena->end;
    return ci_add_size(arena->end, wanted, &arena->end);
  }
  ci_gap *gap = &arena->gaps[best];
  place->offset = gap->offset;
  gap->offset += wanted;
  gap->bytes -= wanted;
  if (gap->bytes > 0) return true;
  memmove(gap, gap + 1, (size_t)(arena->gap_count - best - 1) * sizeof *gap);
  arena->gap_count--;
  return true;
}

static void layout_give(layout_arena *arena, const ci_place *place) {
  const ci_gap freed = {place->offset, layout_bytes(place)};
  int32_t i = 0;
  layout_look_at_gaps(arena);
  while (i < arena->gap_count && arena->gaps[i].offset < freed.offset) i++;
  bool joins_next = i < arena->gap_count && freed.offset + freed.bytes == arena->gaps[i].offset;
  if (i > 0 && arena->gaps[i - 1].offset + arena->gaps[i - 1].bytes == freed.offset) {
    arena->gaps[i - 1].bytes += freed.bytes;
    if (!joins_next) return;
    arena->gaps[i - 1].bytes += arena->gaps[i].bytes;
    memmove(&arena->gaps[i], &arena->gaps[i + 1], (size_t)(arena->gap_count - i - 1) * sizeof freed);
    arena->gap_count--;
  } else if (joins_next) {
    arena->gaps[i] = (ci_gap){freed.offset, freed.bytes + arena->gaps[i].bytes};
  } else if (arena->gap_count < LAYOUT_MOST_GAPS) {
    memmove(&arena->gaps[i + 1], &arena->gaps[i], (size_t)(arena->gap_count - i) * sizeof freed);
    arena->gaps[i] = freed;
    arena->gap_count++;
  }
}

static bool layout_offsets(layout_arena *arena) {
  ci_plan *plan = arena->plan;
  int32_t ended = 0;
  for (int32_t i = 0; i < arena->count; i++) {
    ci_place *place = &plan->places.at[arena->by_first[i]];
    if (ci_stop_wanted(&plan->session->stop)) return false;
    while (plan->places.at[arena->by_last[ended]].last < place->first) /* it ends after its own start */
      layout_give(arena, &plan->places.at[arena->by_last[ended++]]);
    if (!layout_take(arena, place)) return false;
  }
  plan->arena_bytes = arena->end;
  return true;
}

/* No arena can be smaller: the most bytes of buffers that are live at the same time. */
static size_t layout_least(const layout_arena *arena) {
  const ci_plan *plan = arena->plan;
  size_t now = 0, most = 0;
  int32_t ended = 0;
  for (int32_t i = 0; i < arena->count; i++) {
    const ci_place *place = &plan->places.at[arena->by_first[i]];
    while (plan->places.at[arena->by_last[ended]].last < place->first)
      now -= layout_bytes(&plan->places.at[arena->by_last[ended++]]);
    now += layout_bytes(place);
    if (now > most) most = now;
  }
  return most;
}

static bool layout_may_be_denser(layout_arena *arena) {
  const uint64_t count = (uint64_t)arena->count;
  return count <= LAYOUT_MOST_SORTED && layout_least(arena) < arena->plan->arena_bytes &&
         layout_affords(arena, count * count / 2);
}

/* The lowest offset at which a buffer overlaps none of those that have one; `placed` is sorted by offset. */
static size_t layout_lowest(const ci_plan *plan, const int32_t *placed, int32_t count, const ci_place *place) {
  const size_t wanted = layout_bytes(place);
  size_t low = 0;
  for (int32_t i = 0; i < count; i++) { /* few branches: this runs for each pair of buffers */
    const ci_place *other = &plan->places.at[placed[i]];
    const bool together = (other->last >= place->first) & (other->first <= place->last);
    if (together & (other->offset >= low) & (other->offset - low >= wanted)) break;
    const size_t behind = (size_t)together * (other->offset + layout_bytes(other));
    low = behind > low ? behind : low;
  }
  return low;
}

/* Where a buffer is inserted in `placed`: after those of the same offset. */
static int32_t layout_rank(const ci_plan *plan, const int32_t *placed, int32_t count, size_t offset) {
  int32_t low = 0, high = count;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (plan->places.at[placed[middle]].offset <= offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Once more, the largest first, which leaves fewer holes where sizes differ much; the smaller arena stays. */
static void layout_denser(layout_arena *arena) {
  ci_plan *plan = arena->plan;
  int32_t *order = arena->by_first, *placed = arena->by_last;
  size_t end = 0;
  bool better = true;
  for (int32_t i = 0; i < arena->count; i++) {
    ci_place *place = &plan->places.at[order[i]];
    place->first_offset = place->offset;
  }
  layout_sort(arena, order, LAYOUT_BY_BYTES);
  for (int32_t i = 0; i < arena->count && better; i++) {
    ci_place *place = &plan->places.at[order[i]];
    place->offset = layout_lowest(plan, placed, i, place);
    better = place->offset < plan->arena_bytes - layout_bytes(place); /* no sum may exceed the address space */
    const int32_t at = layout_rank(plan, placed, i, place->offset);
    memmove(&placed[at + 1], &placed[at], (size_t)(i - at) * sizeof *placed);
    placed[at] = order[i];
    if (place->offset + layout_bytes(place) > end) end = place->offset + layout_bytes(place);
  }
  for (int32_t i = 0; i < arena->count && !better; i++) {
    ci_place *place = &plan->places.at[order[i]];
    place->offset = place->first_offset;
  }
  if (better) plan->arena_bytes = end;
}

static bool layout_in_arena(const ci_place *place) {
  return place->home == CI_HOME_ARENA && place->same_as == CI_NONE && place->last != CI_NONE;
}

ci_status ci_layout_offsets(ci_plan *plan) {
  ci_compiler *c = plan->compiler;
  const size_t count = plan->places.count, gaps = count < LAYOUT_MOST_GAPS ? count + 1 : LAYOUT_MOST_GAPS;
  layout_arena arena = {.plan = plan, .turns = LAYOUT_TURNS + LAYOUT_TURNS_EACH * (uint64_t)c->model->file.length};
  bool whole = CI_LIST_GROW_BY(c->allocator, &c->sorted, 3 * count) && CI_LIST_GROW_BY(c->allocator, &c->gaps, gaps);
  arena.by_first = c->sorted.at;
  arena.by_last = whole && count > 0 ? c->sorted.at + count : NULL;
  arena.merged = whole && count > 0 ? c->sorted.at + 2 * count : NULL;
  arena.gaps = c->gaps.at;
  for (size_t i = 0; whole && i < plan->places.count; i++) {
    if (layout_in_arena(&plan->places.at[i]))
      arena.by_first[arena.count] = arena.by_last[arena.count] = (int32_t)i, arena.count++;
  }
  if (whole) {
    layout_sort(&arena, arena.by_first, LAYOUT_BY_FIRST);
    layout_sort(&arena, arena.by_last, LAYOUT_BY_LAST);
    whole = layout_offsets(&arena);
    if (whole && layout_may_be_denser(&arena)) layout_denser(&arena);
  }
  if (!whole) return layout_failed(plan);
  for (int32_t i = 0; i < arena.count; i++) {
    ci_place *place = &plan->places.at[arena.by_first[i]];
    place->room = layout_bytes(place) - CI_RED_ZONE;
  }
  if (ci_charge_arena(plan->session, plan->arena_bytes)) return CI_OK;
  return ci_fail(c->error, CI_RESOURCE_EXHAUSTED,
                 "the values of this signature need %zu bytes, the session's limit is %llu", plan->arena_bytes,
                 (unsigned long long)plan->session->limits.max_memory);
}

/* ---- values with separately allocated memory ---- */

/* Who reads one last gives it back; at the end of a frame the frame does. */
static void layout_frees(ci_compiler *c) {
  ci_plan *plan = c->plan;
  for (int32_t i = 0; i < plan->cell_count; i++) {
    const ci_cell *cell = &plan->cells[i];
    if (cell->root != i || cell->place == CI_NONE || plan->places.at[cell->place].home != CI_HOME_HEAP) continue;
    int32_t last = cell->last_read > cell->made ? cell->last_read : cell->made;
    if ((size_t)last >= c->step_at.count) continue;
    ci_step *step = c->step_at.at[last];
    if (step == NULL || plan->places.at[cell->place].carried != CI_NONE) continue;
    plan->places.at[cell->place].next_freed = step->freed;
    step->freed = cell->place;
    if (!step->dynamic) step->run = ci_execute_freeing_step;
  }
}

ci_status ci_layout_plan(ci_plan *plan) {
  ci_compiler *c = plan->compiler;
  layout_chain(plan);
  layout_variables(c);
  layout_joined(plan);
  CI_TRY(layout_assigned(c));
  layout_results(plan);
  layout_in_place(c);
  layout_spans(plan);
  layout_frees(c);
  CI_TRY(ci_layout_offsets(plan));
  ci_output_plan(plan);
  return CI_OK;
}
