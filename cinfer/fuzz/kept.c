/* kept.c - the inputs that a search goes on from (kept.h). */
#include "kept.h"

#include <stdlib.h>
#include <string.h>

enum { LEVELS = 32, MOST_INPUTS = 1 << 16, TRIES = 16, DEAREST_OF = 4, RAREST_OF = 3 };
enum { FRAME = 512 }; /* bytes of a file around the part that matters: shorter inputs do not count as denser */
static const double worth = 1.25; /* times as dense as the one before */

typedef struct kept_position {
  uint32_t shortest[LEVELS]; /* inputs, and one */
  uint32_t densest;          /* an input, and one */
  float density;
  uint32_t reached; /* inputs that were tried in which it ran */
} kept_position;

static struct {
  kept_input inputs[MOST_INPUTS];
  uint32_t count;
  kept_position positions[WORK_POSITIONS];
  uint32_t known[WORK_POSITIONS]; /* blocks that any input reaches */
  kept_figures figures;
} kept;

static uint32_t level_of(uint32_t runs) { return 31 - (uint32_t)__builtin_clz(runs); }

static float density_of(uint32_t runs, size_t size) { return (float)((double)runs / (double)(size + FRAME)); }

static bool is_shorter(uint32_t holder, size_t size) { return holder == 0 || size < kept.inputs[holder - 1].size; }

static bool is_denser(const kept_position *position, float density) {
  return position->densest == 0 || density > worth * (double)position->density;
}

static kept_news news_of(const work_positions *positions, size_t size) {
  kept_news news = KEPT_NOTHING;
  for (uint32_t i = 0; i < positions->count; i++) {
    const uint32_t runs = positions->runs[positions->seen[i]];
    kept_position *position = &kept.positions[positions->seen[i]];
    const uint32_t holder = position->shortest[level_of(runs)];
    position->reached++;
    if (holder == 0) news = KEPT_LEVEL;
    else if (news == KEPT_NOTHING && (is_shorter(holder, size) || is_denser(position, density_of(runs, size))))
      news = KEPT_BETTER;
  }
  return news;
}

static void drop(kept_input *input) {
  free(input->data);
  input->data = NULL;
  input->size = 0;
  kept.figures.inputs--;
}

static void take(uint32_t *holder, uint32_t number) {
  kept_input *before = *holder == 0 ? NULL : &kept.inputs[*holder - 1];
  *holder = number + 1;
  kept.inputs[number].held++;
  if (before != NULL && --before->held == 0) drop(before);
}

static uint32_t free_number(void) {
  if (kept.count < MOST_INPUTS) return kept.count++;
  for (uint32_t i = 0; i < MOST_INPUTS; i++) {
    if (kept.inputs[i].data == NULL) return i;
  }
  return MOST_INPUTS;
}

static void hold(kept_position *position, uint32_t number_of_position, uint32_t runs, uint32_t number) {
  const size_t size = kept.inputs[number].size;
  const float density = density_of(runs, size);
  uint32_t *shortest = &position->shortest[level_of(runs)];
  if (position->densest == 0) kept.known[kept.figures.blocks++] = number_of_position;
  if (*shortest == 0) kept.figures.levels++;
  if (is_shorter(*shortest, size)) take(shortest, number);
  if (!is_denser(position, density)) return;
  take(&position->densest, number);
  position->density = density;
}

kept_news kept_add(const work_positions *positions, const uint8_t *data, size_t size, double part) {
  const kept_news news = news_of(positions, size);
  const uint32_t number = news == KEPT_NOTHING ? MOST_INPUTS : free_number();
  uint8_t *copy = number == MOST_INPUTS ? NULL : malloc(size + 1);
  if (copy == NULL) return KEPT_NOTHING;
  memcpy(copy, data, size);
  kept.inputs[number] = (kept_input){.data = copy, .size = size, .part = part};
  kept.figures.inputs++;
  for (uint32_t i = 0; i < positions->count; i++) {
    const uint32_t position = positions->seen[i];
    hold(&kept.positions[position], position, positions->runs[position], number);
  }
  return news;
}

/* ---- choosing ---- */

static const kept_position *any_position(fuzz_random *random) {
  return &kept.positions[kept.known[fuzz_below(random, kept.figures.blocks)]];
}

/* The densest of a block, mostly of one that few inputs reach. */
static const kept_input *densest(fuzz_random *random) {
  const kept_position *rarest = any_position(random);
  for (uint32_t i = 1; i < RAREST_OF; i++) {
    const kept_position *position = any_position(random);
    if (position->reached < rarest->reached) rarest = position;
  }
  return &kept.inputs[rarest->densest - 1];
}

static const kept_input *dearest(fuzz_random *random, size_t longest, uint32_t of) {
  const kept_input *best = NULL;
  for (uint32_t i = 0, seen = 0; i < TRIES * of && seen < of; i++) {
    const kept_input *input = &kept.inputs[fuzz_below(random, kept.count)];
    if (input->data == NULL || input->size > longest) continue;
    seen++;
    if (best == NULL || input->part > best->part) best = input;
  }
  return best;
}

const kept_input *kept_choose(fuzz_random *random, size_t longest) {
  for (uint32_t i = 0; i < TRIES && fuzz_one_in(random, 2); i++) {
    const kept_input *input = densest(random);
    if (input->size <= longest) return input;
  }
  return dearest(random, longest, fuzz_one_in(random, 2) ? DEAREST_OF : 1);
}

kept_figures kept_count(void) { return kept.figures; }
