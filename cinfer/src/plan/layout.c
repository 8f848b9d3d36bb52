/* layout.c - memory planning: which values share a buffer, and the offset of each buffer in the arena. */
#include "compile.h"
#include "../base/guard.h"
#include "../session/output.h"

static ci_status layout_failed(ci_plan *plan) {
  ci_error *error = plan->compiler->error;
  CI_TRY(ci_session_check_go_on(plan->session, error));
  return ci_fail(error, CI_RESOURCE_EXHAUSTED, "no memory for the plan of a signature");
}

static ci_buffer *layout_buffer(ci_plan *plan, const ci_plan_value *root) {
  return &plan->buffers.at[ci_plan_resolve(plan, root->buffer)];
}

static void layout_chain(ci_plan *plan) {
  for (int32_t i = plan->plan_value_count - 1; i >= 0; i--) {
    ci_plan_value *plan_value = &plan->plan_values[i];
    if (plan_value->root == i) continue;
    plan_value->next = plan->plan_values[plan_value->root].next;
    plan->plan_values[plan_value->root].next = i;
  }
}

/* A variable's reader shows the state's buffer unless a step assigns the variable before the value's last reader. */
static void layout_reader(ci_plan *plan, ci_step *step, int32_t assigned) {
  if (!ci_step_is(step, CI_OP_READS_VARIABLE) || step->dynamic || step->k.n_out == 0) return;
  const ci_plan_value *plan_value = ci_plan_value_of(step->k.out[0]);
  step->copies = assigned > 0 && assigned < plan_value->last_read;
  if (step->copies) plan->buffers.at[plan_value->buffer].home = CI_HOME_ARENA;
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
    const int32_t until = always ? CI_END : plan->plan_values[ci_plan_value_of(step->k.out[0])->root].last_read;
    if (known->read_until < until) known->read_until = until;
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
  const ci_plan_value *made = ci_plan_value_of(step->k.out[0]);
  bool alone = next->k.in[0] == &made->value && made->last_read == next->begin;
  for (int i = 1; alone && i < next->k.n_in; i++)
    alone = next->k.in[i] == NULL || &plan->plan_values[ci_plan_value_of(next->k.in[i])->root] != made;
  return alone;
}

/* The next step then has nothing to do. */
static void layout_joined(ci_plan *plan) {
  for (size_t s = 1; !plan->root.has_heap && s < plan->root.steps.count; s++) {
    ci_step *step = plan->root.steps.at[s - 1], *next = plan->root.steps.at[s];
    const size_t bytes = layout_may_join(plan, step, next) ? step->k.join(&step->k, &next->k) : 0;
    if (bytes == 0) continue;
    ci_plan_value *made = ci_plan_value_of(step->k.out[0]), *output = ci_plan_value_of(next->k.out[0]);
    plan->buffers.at[made->buffer].bytes = 0;
    plan->buffers.at[output->buffer].bytes = bytes;
    output->made = step->begin;
    if (next->scratch != CI_NONE) plan->buffers.at[next->scratch].first = step->begin;
    next->run = ci_run_nothing;
    step->joins = next;
    next->joined = true;
  }
}

/* ---- results made in a variable's buffer ---- */

/* Chains the offers of each output; the first of each is in c->sorted. */
static bool layout_offered(ci_compiler *c) {
  const size_t count = (size_t)c->plan->plan_value_count;
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
    const ci_plan_value *input = &plan->plan_values[plan->plan_values[offer->input].root];
    const ci_buffer *buffer = &plan->buffers.at[input->buffer];
    if (buffer->home == CI_HOME_VARIABLE && buffer->slot == slot &&
        input->value.bytes == plan->plan_values[output].value.bytes)
      return true;
  }
  return false;
}

/* Whether the value of an Assign can be made where the variable's old one is by the step before it. */
static bool layout_may_make(const ci_compiler *c, const ci_step *maker, const ci_step *assign) {
  const ci_plan *plan = c->plan;
  const int32_t index = ci_plan_value_of(assign->k.in[0])->root;
  const ci_plan_value *plan_value = &plan->plan_values[index];
  const ci_slot_plan *known = &c->slots[assign->slot];
  if (maker == NULL || plan_value->made != maker->begin || plan_value->last_read != assign->begin) return false;
  const ci_buffer *buffer = &plan->buffers.at[plan_value->buffer];
  const bool fits = buffer->home == CI_HOME_ARENA && buffer->same_as == CI_NONE &&
                    (plan_value->value.dtype == CI_FLOAT || plan_value->value.dtype == CI_DOUBLE);
  /* The old value has no reader after the maker, and the variable is assigned nowhere else. */
  const bool last = known->assigns == 1 && known->read_until <= maker->begin;
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
    const ci_plan_value *plan_value = &plan->plan_values[ci_plan_value_of(assign->k.in[0])->root];
    if (!CI_LIST_GROW(c->allocator, &plan->bound_reads)) return layout_failed(plan);
    plan->bound_reads.at[plan->bound_reads.count++] = ci_plan_value_index(plan, plan_value);
    plan->buffers.at[plan_value->buffer].home = CI_HOME_VARIABLE;
    plan->buffers.at[plan_value->buffer].slot = assign->slot;
    assign->next_made = maker->makes;
    maker->makes = assign;
    maker->plan->makes = true;
  }
  return CI_OK;
}

/* A result that an iteration hands on may not use the buffer of another formal input: the copies would overlap. */
static bool layout_meets(const ci_buffer *given, const ci_buffer *target) {
  return given->carried != CI_NONE && target->result != CI_NONE && target->result != given->carried;
}

static void layout_results(ci_plan *plan) {
  for (int32_t i = 0; i < plan->plan_value_count; i++) {
    const ci_plan_value *plan_value = &plan->plan_values[i];
    if (plan_value->root == i && plan_value->buffer != CI_NONE && plan_value->result != CI_NONE)
      layout_buffer(plan, plan_value)->result = plan_value->result;
  }
}

static void layout_in_place(ci_compiler *c) {
  ci_plan *plan = c->plan;
  for (size_t i = 0; i < c->offers.count; i++) {
    const ci_offer *offer = &c->offers.at[i];
    const ci_plan_value *output = &plan->plan_values[offer->output];
    ci_plan_value *input = &plan->plan_values[plan->plan_values[offer->input].root];
    int32_t to = ci_plan_resolve(plan, output->buffer), from = ci_plan_resolve(plan, input->buffer);
    ci_buffer *target = &plan->buffers.at[to], *given = &plan->buffers.at[from];
    bool fits = to != from && to == output->buffer && target->home == CI_HOME_ARENA && given->home == CI_HOME_ARENA &&
                target->bytes == given->bytes && input->last_read == offer->position && !input->taken;
    if (!fits || layout_meets(given, target)) continue;
    input->taken = true;
    target->same_as = from;
    if (given->first > target->first) given->first = target->first;
    if (given->last < target->last) given->last = target->last;
    if (given->carried == CI_NONE) given->carried = target->carried;
    if (given->result == CI_NONE) given->result = target->result;
  }
}

static void layout_spans(ci_plan *plan) {
  for (int32_t i = 0; i < plan->plan_value_count; i++) {
    const ci_plan_value *plan_value = &plan->plan_values[i];
    if (plan_value->root != i || plan_value->buffer == CI_NONE) continue;
    ci_buffer *buffer = layout_buffer(plan, plan_value);
    int32_t last = plan_value->last_read > plan_value->made ? plan_value->last_read : plan_value->made;
    if (buffer->first > plan_value->made) buffer->first = plan_value->made;
    if (buffer->last < last) buffer->last = last;
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
  const ci_buffer *x = &plan->buffers.at[a], *y = &plan->buffers.at[b];
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

static size_t layout_bytes(const ci_buffer *buffer) {
  return buffer->bytes == 0 ? 64 : ci_round_up(buffer->bytes + CI_RED_ZONE, 64);
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
static bool layout_take(layout_arena *arena, ci_buffer *buffer) {
  size_t needed = layout_bytes(buffer), least = SIZE_MAX;
  int32_t best = CI_NONE;
  layout_look_at_gaps(arena);
  for (int32_t i = 0; i < arena->gap_count; i++) {
    const size_t bytes = arena->gaps[i].bytes;
    if ((bytes >= needed) & (bytes < least)) {
      best = i;
      least = bytes;
    }
  }
  if (best == CI_NONE) {
    buffer->offset = arena->end;
    return ci_add_size(arena->end, needed, &arena->end);
  }
  ci_gap *gap = &arena->gaps[best];
  buffer->offset = gap->offset;
  gap->offset += needed;
  gap->bytes -= needed;
  if (gap->bytes > 0) return true;
  memmove(gap, gap + 1, (size_t)(arena->gap_count - best - 1) * sizeof *gap);
  arena->gap_count--;
  return true;
}

static void layout_give(layout_arena *arena, const ci_buffer *buffer) {
  const ci_gap freed = {buffer->offset, layout_bytes(buffer)};
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
    ci_buffer *buffer = &plan->buffers.at[arena->by_first[i]];
    if (ci_stop_requested(&plan->session->stop)) return false;
    while (plan->buffers.at[arena->by_last[ended]].last < buffer->first) /* it ends after its own start */
      layout_give(arena, &plan->buffers.at[arena->by_last[ended++]]);
    if (!layout_take(arena, buffer)) return false;
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
    const ci_buffer *buffer = &plan->buffers.at[arena->by_first[i]];
    while (plan->buffers.at[arena->by_last[ended]].last < buffer->first)
      now -= layout_bytes(&plan->buffers.at[arena->by_last[ended++]]);
    now += layout_bytes(buffer);
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
static size_t layout_lowest(const ci_plan *plan, const int32_t *placed, int32_t count, const ci_buffer *buffer) {
  const size_t needed = layout_bytes(buffer);
  size_t low = 0;
  for (int32_t i = 0; i < count; i++) { /* few branches: this runs for each pair of buffers */
    const ci_buffer *other = &plan->buffers.at[placed[i]];
    const bool together = (other->last >= buffer->first) & (other->first <= buffer->last);
    if (together & (other->offset >= low) & (other->offset - low >= needed)) break;
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
    if (plan->buffers.at[placed[middle]].offset <= offset) low = middle + 1;
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
    ci_buffer *buffer = &plan->buffers.at[order[i]];
    buffer->first_offset = buffer->offset;
  }
  layout_sort(arena, order, LAYOUT_BY_BYTES);
  for (int32_t i = 0; i < arena->count && better; i++) {
    ci_buffer *buffer = &plan->buffers.at[order[i]];
    buffer->offset = layout_lowest(plan, placed, i, buffer);
    better = buffer->offset < plan->arena_bytes - layout_bytes(buffer); /* no sum may exceed the address space */
    const int32_t at = layout_rank(plan, placed, i, buffer->offset);
    memmove(&placed[at + 1], &placed[at], (size_t)(i - at) * sizeof *placed);
    placed[at] = order[i];
    if (buffer->offset + layout_bytes(buffer) > end) end = buffer->offset + layout_bytes(buffer);
  }
  for (int32_t i = 0; i < arena->count && !better; i++) {
    ci_buffer *buffer = &plan->buffers.at[order[i]];
    buffer->offset = buffer->first_offset;
  }
  if (better) plan->arena_bytes = end;
}

static bool layout_in_arena(const ci_buffer *buffer) {
  return buffer->home == CI_HOME_ARENA && buffer->same_as == CI_NONE && buffer->last != CI_NONE;
}

ci_status ci_layout_offsets(ci_plan *plan) {
  ci_compiler *c = plan->compiler;
  const size_t count = plan->buffers.count, gaps = count < LAYOUT_MOST_GAPS ? count + 1 : LAYOUT_MOST_GAPS;
  layout_arena arena = {.plan = plan, .turns = LAYOUT_TURNS + LAYOUT_TURNS_EACH * (uint64_t)c->model->file.length};
  bool whole = CI_LIST_GROW_BY(c->allocator, &c->sorted, 3 * count) && CI_LIST_GROW_BY(c->allocator, &c->gaps, gaps);
  arena.by_first = c->sorted.at;
  arena.by_last = whole && count > 0 ? c->sorted.at + count : NULL;
  arena.merged = whole && count > 0 ? c->sorted.at + 2 * count : NULL;
  arena.gaps = c->gaps.at;
  for (size_t i = 0; whole && i < plan->buffers.count; i++) {
    if (layout_in_arena(&plan->buffers.at[i]))
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
    ci_buffer *buffer = &plan->buffers.at[arena.by_first[i]];
    buffer->capacity = layout_bytes(buffer) - CI_RED_ZONE;
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
  for (int32_t i = 0; i < plan->plan_value_count; i++) {
    const ci_plan_value *plan_value = &plan->plan_values[i];
    if (plan_value->root != i || plan_value->buffer == CI_NONE ||
        plan->buffers.at[plan_value->buffer].home != CI_HOME_HEAP)
      continue;
    int32_t last = plan_value->last_read > plan_value->made ? plan_value->last_read : plan_value->made;
    if ((size_t)last >= c->step_at.count) continue;
    ci_step *step = c->step_at.at[last];
    if (step == NULL || plan->buffers.at[plan_value->buffer].carried != CI_NONE) continue;
    plan->buffers.at[plan_value->buffer].next_freed = step->freed;
    step->freed = plan_value->buffer;
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
