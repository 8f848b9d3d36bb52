/* cost.c - fuzz target: the work and the memory that it takes to open a model and to plan a signature of it.
 *
 * Work is basic blocks (work.h), which are the same in every run. The bounds are those of honest files, ten times
 * (cost_bounds.h), and for memory `max_load` and `max_memory`. Computation while planning, which has a separate limit,
 * is counted apart: as much of it as an honest file may ask for would hide the rest. */
#include <stdlib.h>

#include "base/ci_common.h"
#include "plan/compile.h"
#include "cost_bounds.h"
#include "harness.h"
#include "search.h"
#include "work.h"

enum {
  MOST_SIGNATURES = 4,
  MOST_FEEDS = 64,
  MOST_MEMORY = 1 << 20,
  LOAD_FOR_ANY = 1 << 16,
  LOAD_FOR_EACH = 4,
  ENDLESS = 1000
};

/* The library computes at most 16 MB while planning, and 64 bytes for each of the file; so many blocks for a byte. */
enum { AHEAD_FOR_ANY = 1 << 24, AHEAD_FOR_EACH = 64, AHEAD_BLOCKS = 10 };

static search_cost last;
static uint64_t ahead; /* blocks of constant folding */

search_cost search_cost_of_last(void) { return last; }

static const char broken_s5[] = "S5: no file takes more than a + b * n basic blocks";

static void endless(void) { fuzz_require(false, broken_s5); }

/* A call that takes a little more may go on, so that a search that looks for others may. */
static void exceeded(void) {
  search_found(broken_s5);
  work_exceeded = endless;
  work_most = ENDLESS * work_blocks;
}

static uint64_t blocks_of(size_t size) { return COST_BLOCKS_FOR_ANY + COST_BLOCKS_FOR_EACH_BYTE * (uint64_t)size; }

static uint64_t ahead_of(size_t size) { return AHEAD_BLOCKS * (AHEAD_FOR_ANY + AHEAD_FOR_EACH * (uint64_t)size); }

/* ---- constant folding: the linker puts these functions in the place of the library's ---- */

typedef bool fold(ci_compiler *compiler, ci_step *step);
fold __real_ci_fold, __real_ci_fold_again, __wrap_ci_fold, __wrap_ci_fold_again;

static bool count_apart(fold *real, ci_compiler *compiler, ci_step *step) {
  const uint64_t before = work_blocks;
  work_positions *const map = work_map;
  work_map = NULL;
  const bool folded = real(compiler, step);
  work_map = map;
  ahead += work_blocks - before;
  return folded;
}

bool __wrap_ci_fold(ci_compiler *compiler, ci_step *step) { return count_apart(__real_ci_fold, compiler, step); }

bool __wrap_ci_fold_again(ci_compiler *compiler, ci_step *step) {
  return count_apart(__real_ci_fold_again, compiler, step);
}

/* ---- costs ---- */

static void note_part(uint64_t blocks, uint64_t allowed) {
  const double part = (double)blocks / (double)allowed;
  if (part > last.part) last.part = part;
  if (part > 1 && !search_measures()) search_found(broken_s5);
}

/* `work_blocks` are all; those of constant folding are counted apart. */
static void note_blocks(size_t size) {
  const uint64_t blocks = work_blocks - ahead;
  if (blocks > last.blocks) last.blocks = blocks;
  if (ahead > last.ahead) last.ahead = ahead;
  if (work_exceeded == endless) return; /* it has been reported */
  note_part(blocks, blocks_of(size));
  note_part(ahead, ahead_of(size));
}

/* How near it comes to a limit does not tell how much it could take: the library keeps within it. */
static void note_memory(uint64_t most, uint64_t allowed) {
  if (most > last.memory) last.memory = most;
  if (most > allowed && !search_measures()) search_found("S2, S8: memory is within max_load and max_memory");
}

/* Of the shapes that are declared; an open dimension is 2. */
static ci_tensor feed_of(const ci_model *model, int signature, int index) {
  ci_info info;
  (void)ci_input(model, signature, index, &info);
  ci_tensor feed = {.dtype = info.dtype, .rank = info.rank < 0 ? 1 : info.rank};
  for (int32_t d = 0; d < feed.rank; d++) feed.dims[d] = info.rank < 0 || info.dims[d] < 0 ? 2 : info.dims[d];
  return feed;
}

static void plan(ci_model *model, ci_session *session, int signature) {
  ci_tensor feeds[MOST_FEEDS];
  ci_error error;
  const int count = ci_input_count(model, signature);
  if (count > MOST_FEEDS) return;
  for (int i = 0; i < count; i++) feeds[i] = feed_of(model, signature, i);
  fuzz_check_error(ci_reserve(session, signature, feeds, count, &error), &error);
}

/* Each signature alone: a caller that plans all signatures of a model pays for all. A plan may take what the load may,
 * too, whatever max_memory is. */
static void plan_all(ci_model *model, size_t size, uint64_t opened) {
  for (int s = 0; s < ci_signature_count(model) && s < MOST_SIGNATURES; s++) {
    fuzz_memory memory = {.fill = 0xa5};
    ci_session_options options = ci_session_defaults();
    ci_session *session = NULL;
    ci_error error;
    options.allocator = fuzz_allocator(&memory);
    options.limits.max_memory = MOST_MEMORY;
    work_blocks = opened;
    ahead = 0;
    fuzz_check_error(ci_session_open(model, NULL, &options, &session, &error), &error);
    if (session != NULL) plan(model, session, s);
    note_blocks(size);
    note_memory(memory.most, MOST_MEMORY + LOAD_FOR_ANY + LOAD_FOR_EACH * (uint64_t)size);
    ci_session_close(session);
  }
}

const bool fuzz_has_tail = false, fuzz_multiplies = true;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_memory memory = {.fill = 0x5a};
  ci_options options = ci_defaults();
  ci_model *model = NULL;
  ci_error error;
  last = (search_cost){0};
  options.allocator = fuzz_allocator(&memory);
  work_exceeded = exceeded;
  work_most = search_measures() ? UINT64_MAX : blocks_of(size) + ahead_of(size);
  work_blocks = ahead = 0;
  fuzz_check_error(ci_open_memory(data, size, &options, &model, &error), &error);
  const uint64_t opened = work_blocks;
  note_blocks(size);
  note_memory(memory.most, LOAD_FOR_ANY + LOAD_FOR_EACH * (uint64_t)size);
  if (model != NULL) plan_all(model, size, opened);
  work_most = UINT64_MAX;
  ci_close(model);
  return 0;
}
