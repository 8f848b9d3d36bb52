/* test_layout.c - S1, S8: values that matter at the same time never share memory, whatever their sizes and spans, and
 * no arena is smaller than it has to be for them, or takes more than the session may. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "plan/compile.h"
#include "base/guard.h"

enum {
  LARGE_FILE = 1 << 20,
  MANY = 6000,
  ZONE = CI_RED_ZONE > 0 ? 64 : 0 /* after each value, under AddressSanitizer */
};
static const size_t HUGE_BYTES = SIZE_MAX / 4 & ~(size_t)63;

static ci_buffer buffers[MANY];
static ci_plan plan;
static ci_compiler compiler;
static ci_model model;
static struct ci_session session;
static ci_error error;
static uint32_t seed = 1;

static uint32_t chance(uint32_t below) {
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) % below;
}

static ci_buffer buffer_of(size_t bytes, int32_t first, int32_t last) {
  return (ci_buffer){.home = CI_HOME_ARENA,
                     .bytes = bytes,
                     .same_as = CI_NONE,
                     .carried = CI_NONE,
                     .result = CI_NONE,
                     .first = first,
                     .last = last};
}

static ci_status lay_out(size_t count) {
  plan.session = &session;
  plan.compiler = &compiler;
  compiler.model = &model;
  plan.buffers.at = buffers;
  plan.buffers.count = count;
  plan.arena_bytes = 0;
  compiler.allocator = &session.allocator;
  compiler.error = &error;
  return ci_layout_offsets(&plan);
}

static bool lies_in_arena(const ci_buffer *p) {
  return p->home == CI_HOME_ARENA && p->same_as == CI_NONE && p->last >= 0;
}

static size_t capacity_of(const ci_buffer *p) { return p->bytes == 0 ? 64 : (p->bytes + 63) / 64 * 64; }

static void check_buffers(size_t count) {
  size_t meeting = 0, outside = 0;
  for (size_t i = 0; i < count; i++) {
    const ci_buffer *a = &buffers[i];
    if (!lies_in_arena(a)) continue;
    outside += a->offset % 64 != 0 || a->offset > plan.arena_bytes || capacity_of(a) > plan.arena_bytes - a->offset;
    for (size_t j = 0; j < i; j++) {
      const ci_buffer *b = &buffers[j];
      const bool together = a->first <= b->last && b->first <= a->last;
      if (lies_in_arena(b) && together)
        meeting += a->offset < b->offset + capacity_of(b) && b->offset < a->offset + capacity_of(a);
    }
  }
  CHECK(meeting == 0 && outside == 0);
}

/* Of any sizes; some are in other memory, or have no reader. */
static void test_buffers_that_matter_together_never_meet(void) {
  static const size_t counts[] = {0, 1, 2, 3, 8, 60, 500, 3000, MANY};
  session.limits.max_memory = SIZE_MAX;
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    for (int round = 0; round < (counts[c] < 1000 ? 40 : 1); round++) {
      for (size_t i = 0; i < counts[c]; i++) {
        const int32_t first = (int32_t)chance((uint32_t)counts[c] + 1);
        const int32_t last = first + (int32_t)(chance(4) == 0 ? chance((uint32_t)counts[c] + 1) : chance(6));
        buffers[i] = buffer_of((size_t)chance(30) * (round % 2 == 0 ? 64 : chance(300)), first, last);
        if (chance(20) == 0) buffers[i].home = CI_HOME_FIXED;
        if (chance(20) == 0) buffers[i].same_as = 0;
        if (chance(20) == 0) buffers[i].last = CI_NONE;
      }
      CHECK(lay_out(counts[c]) == CI_OK);
      check_buffers(counts[c]);
    }
  }
}

/* Many small gaps of which none is large enough for the values that follow; then one is, for all of them. */
static void test_gaps_beyond_those_that_are_remembered_do_no_harm(void) {
  session.limits.max_memory = SIZE_MAX;
  for (int32_t i = 0; i < MANY; i++)
    buffers[i] = i < MANY / 2 ? buffer_of(64, i, i % 2 == 0 ? MANY / 2 : 2 * MANY) : buffer_of(64, MANY, MANY);
  CHECK(lay_out(MANY) == CI_OK);
  check_buffers(MANY);
}

/* The largest first: the arena is as large as the most bytes that are live at the same time. */
static void test_the_denser_of_two_layouts_is_taken(void) {
  session.limits.max_memory = SIZE_MAX;
  buffers[0] = buffer_of(64, 0, 1);
  buffers[1] = buffer_of(256, 0, 3);
  buffers[2] = buffer_of(128, 2, 4);
  buffers[3] = buffer_of(256, 4, 5);
  CHECK(lay_out(4) == CI_OK && plan.arena_bytes == 384 + 2 * ZONE);
  check_buffers(4);
}

static void test_sums_that_no_address_holds_are_refused(void) {
  session.limits.max_memory = SIZE_MAX;
  for (int32_t i = 0; i < 4; i++) buffers[i] = buffer_of(HUGE_BYTES, 0, 1);
  CHECK(lay_out(3) == CI_OK && plan.arena_bytes == 3 * (HUGE_BYTES + ZONE));
  buffers[3].bytes += 1024;
  CHECK(lay_out(4) == CI_RESOURCE_EXHAUSTED && error.status == CI_RESOURCE_EXHAUSTED);
  session.limits.max_memory = 3 * (HUGE_BYTES + ZONE) - 1;
  CHECK(lay_out(3) == CI_RESOURCE_EXHAUSTED && strstr(error.message, "the session's limit is") != NULL);
}

/* Each value is larger than the ones before, of which the last is still there: gaps that nothing fits. Then many small
 * ones. */
static void dynamic_buffers(size_t count) {
  for (int32_t i = 0; i < 6; i++) buffers[i] = buffer_of((size_t)1 << (2 * i + 12), i, i + 1);
  for (size_t i = 6; i < count; i++) buffers[i] = buffer_of(64, 6, 6);
}

/* How many are looked at for the others grows with their square, which few bytes may not ask for. */
static void test_a_small_file_gets_a_denser_layout_of_few_values(void) {
  session.limits.max_memory = SIZE_MAX;
  static const struct {
    size_t count, length;
    bool denser;
  } rows[] = {{100, 0, true}, {1000, 0, false}, {1000, LARGE_FILE, true}, {4000, 100000, false}, {4000, 300000, true}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    dynamic_buffers(rows[i].count);
    model.file.length = rows[i].length;
    CHECK(lay_out(rows[i].count) == CI_OK);
    check_buffers(rows[i].count);
    const size_t least = (1 << 20) + (1 << 22) + 2 * ZONE;
    CHECK((plan.arena_bytes == least) == rows[i].denser && plan.arena_bytes >= least);
  }
  model.file.length = LARGE_FILE;
}

/* Every second value goes at once, the others stay: gaps, which are used as long as the file allows that. */
static void test_gaps_that_cost_too_much_are_forgotten(void) {
  session.limits.max_memory = SIZE_MAX;
  size_t arena[2];
  for (int large = 0; large < 2; large++) {
    for (int32_t i = 0; i < MANY; i++)
      buffers[i] = i < MANY / 2 ? buffer_of(64, 0, i % 2 == 0 ? 0 : MANY) : buffer_of(64, i, i);
    model.file.length = large ? LARGE_FILE : 0;
    CHECK(lay_out(MANY) == CI_OK);
    check_buffers(MANY);
    arena[large] = plan.arena_bytes;
  }
  CHECK(arena[1] == (size_t)(MANY / 2) * (64 + ZONE) && arena[0] > arena[1]);
}

/* Sums that exceed all addresses are no smaller arena: whatever fits, no two values meet. */
static void test_a_denser_layout_never_passes_the_last_address(void) {
  session.limits.max_memory = SIZE_MAX;
  int laid_out = 0;
  for (int round = 0; round < 20000; round++) {
    const size_t count = 3 + chance(6);
    for (size_t i = 0; i < count; i++) {
      const int32_t first = (int32_t)chance(8);
      buffers[i] = buffer_of(HUGE_BYTES / 8 * (1 + chance(16)), first, first + (int32_t)chance(4));
    }
    if (lay_out(count) != CI_OK) continue;
    check_buffers(count);
    laid_out++;
  }
  CHECK(laid_out > 1000 && laid_out < 20000);
}

int main(void) {
  model.file.length = LARGE_FILE;
  test_buffers_that_matter_together_never_meet();
  test_gaps_beyond_those_that_are_remembered_do_no_harm();
  test_the_denser_of_two_layouts_is_taken();
  test_a_small_file_gets_a_denser_layout_of_few_values();
  test_gaps_that_cost_too_much_are_forgotten();
  test_sums_that_no_address_holds_are_refused();
  test_a_denser_layout_never_passes_the_last_address();
  CI_LIST_FREE(compiler.allocator, &compiler.sorted);
  CI_LIST_FREE(compiler.allocator, &compiler.gaps);
  return CHECK_END;
}
