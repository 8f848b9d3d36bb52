/* run.c - fuzz target: a model is loaded, planned and run.
 *
 * An input is a model file, then the caller's actions: a byte of options, for each run a signature and its feeds
 * (feeds.h). With OPTION_COMPARE all is done again by the portable kernels, in memory that held something else, and
 * must give the same statuses and bits (S9, S11). */
#include <stdlib.h>
#include <string.h>

#include "base/ci_common.h"
#include "feeds.h"

enum {
  OPTION_COMPARE = 1,
  OPTION_CAPACITY = 2,
  OPTION_LAZY = 4,
  OPTION_STATE = 8,
  OPTION_RUNS = 0x30,
  OPTION_THREADS = 64
};
enum { MOST_OUTPUTS = 64, SMALL_MEMORY = 1 << 16, LARGE_MEMORY = 1 << 17, MOST_NODES = 256 };
/* Loops in loops: their nodes run 6 x 6 x 6 times, for each run, so that no input takes seconds. */
enum { MOST_STEPS = 6, MOST_DEPTH = 3 };

typedef struct play { /* one time through */
  ci_model *model;
  ci_session *session;
  fuzz_memory memory;
  uint64_t digest;
  bool limited; /* how much memory kernels need depends on instruction set and threads */
} play;

static void note(play *p, ci_status status) {
  const int64_t number = status;
  p->limited = p->limited || status == CI_RESOURCE_EXHAUSTED;
  p->digest = fuzz_digest_bytes(p->digest, &number, sizeof number);
}

/* ---- the host ---- */

static ci_status host_give(ci_host_call *call, int32_t output, ci_error *error) {
  const ci_info *info = &call->outputs[output];
  uint8_t zeros[256] = {0};
  ci_tensor value = {.data = zeros, .dtype = info->dtype, .rank = info->rank < 0 ? 0 : info->rank};
  size_t count = 1;
  for (int32_t i = 0; i < value.rank; i++) {
    value.dims[i] = info->dims[i] < 0 ? 1 : info->dims[i];
    count = value.dims[i] <= 16 && count <= 16 ? count * (size_t)value.dims[i] : 1000;
  }
  const size_t item = ci_dtype_size(info->dtype);
  if (count * item > sizeof zeros) return ci_fail(error, CI_RESOURCE_EXHAUSTED, "the host's buffer is too small");
  ci_string strings[16] = {{"text", 4}};
  if (info->dtype == CI_STRING) value.data = strings;
  value.bytes = count * item;
  return ci_host_give(call, output, &value, error);
}

static ci_status host_call(void *user, ci_host_call *call, ci_error *error) {
  (void)user;
  for (int32_t i = 0; i < call->output_count; i++) {
    const ci_status status = host_give(call, i, error);
    if (status != CI_OK) return status;
  }
  return CI_OK;
}

/* ---- opening ---- */

static ci_limits limits_of(uint8_t options) {
  ci_limits limits = {.size = sizeof limits, .max_bytes = 1 << 20, .max_nodes = MOST_NODES, .max_depth = MOST_DEPTH};
  limits.max_memory = (options & OPTION_CAPACITY) != 0 ? LARGE_MEMORY : SMALL_MEMORY;
  limits.max_loop_steps = MOST_STEPS;
  return limits;
}

static bool play_open(play *p, const uint8_t *file, size_t size, uint8_t choices, int32_t isa) {
  ci_options options = ci_defaults();
  options.allocator = fuzz_allocator(&p->memory);
  options.limits = limits_of(choices);
  options.isa = isa;
  options.lazy = (choices & OPTION_LAZY) != 0;
  ci_error error;
  ci_status status = ci_open_memory(file, size, &options, &p->model, &error);
  fuzz_check_error(status, &error);
  if (status == CI_OK) {
    ci_session_options requested = ci_session_defaults();
    requested.allocator = options.allocator;
    requested.limits = options.limits;
    requested.host.call = host_call;
    requested.threads = (choices & OPTION_THREADS) != 0 && isa == CI_ISA_BEST ? 2 : 1;
    status = ci_session_open(p->model, NULL, &requested, &p->session, &error);
    fuzz_check_error(status, &error);
  }
  note(p, status);
  return status == CI_OK;
}

/* ---- runs ---- */

static bool play_are_values(const ci_tensor *value) {
  const uint8_t *bytes = value->data;
  bool right = true;
  for (size_t i = 0; value->dtype == CI_BOOL && i < value->bytes; i++) right = right && bytes[i] <= 1;
  return right;
}

static void play_run(play *p, int signature, ci_tensor *inputs, int input_count) {
  ci_tensor outputs[MOST_OUTPUTS] = {{0}}, inferred[MOST_OUTPUTS] = {{0}};
  const int count = ci_output_count(p->model, signature);
  if (count > MOST_OUTPUTS) return;
  ci_error error;
  const ci_status planned = ci_infer_outputs(p->session, signature, inputs, input_count, inferred, count, &error);
  fuzz_check_error(planned, &error);
  const ci_status status = ci_run(p->session, signature, inputs, input_count, outputs, count, &error);
  fuzz_check_error(status, &error);
  note(p, planned);
  note(p, status);
  for (int i = 0; i < count && status == CI_OK; i++) {
    p->digest = fuzz_digest(p->digest, &outputs[i]);
    fuzz_require(play_are_values(&outputs[i]), "S10: bools are 0 or 1");
    if (planned != CI_OK || inferred[i].rank < 0) continue;
    const bool same =
        inferred[i].dtype == outputs[i].dtype && inferred[i].rank == outputs[i].rank &&
        memcmp(inferred[i].dims, outputs[i].dims, (size_t)outputs[i].rank * sizeof outputs[i].dims[0]) == 0;
    fuzz_require(same, "a run gives the shapes that were inferred");
  }
}

static void play_signature(play *p, fuzz_reader *reader) {
  const int signatures = ci_signature_count(p->model);
  if (signatures == 0) return;
  const int signature = fuzz_byte(reader) % signatures, count = ci_input_count(p->model, signature);
  if (count > FUZZ_MOST_FEEDS) return;
  fuzz_feed feeds[FUZZ_MOST_FEEDS];
  ci_tensor inputs[FUZZ_MOST_FEEDS];
  for (int i = 0; i < count; i++) {
    ci_info info;
    (void)ci_input(p->model, signature, i, &info);
    fuzz_feed_make(reader, &info, ci_input_kind(p->model, signature, i), &feeds[i]);
    inputs[i] = feeds[i].tensor;
    if (inputs[i].dtype == CI_SEQUENCE) inputs[i].data = feeds[i].parts;
  }
  play_run(p, signature, inputs, count);
  for (int i = 0; i < count; i++) fuzz_feed_free(&feeds[i]);
}

/* ---- state ---- */

static void play_variable(play *p, ci_state *state, int index, fuzz_reader *reader) {
  ci_info info;
  ci_error error;
  ci_tensor value = {0};
  fuzz_require(ci_variable(state, index, &info) == CI_OK, "S6: variables can be queried");
  ci_status status = ci_variable_view(state, index, &value, &error);
  fuzz_check_error(status, &error);
  note(p, status);
  if (status == CI_OK) p->digest = fuzz_digest(p->digest, &value);
  if (fuzz_byte(reader) % 2 == 0) return;
  fuzz_feed feed;
  fuzz_feed_make(reader, &info, CI_KIND_TENSOR, &feed);
  status = ci_variable_set(state, index, &feed.tensor, &error);
  fuzz_check_error(status, &error);
  note(p, status);
  fuzz_feed_free(&feed);
}

static void play_state(play *p, fuzz_reader *reader) {
  ci_state *state = ci_session_state(p->session);
  for (int i = 0; i < ci_variable_count(state); i++) play_variable(p, state, i, reader);
  for (int i = 0; i < ci_generator_count(state); i++) {
    ci_generator value = {0};
    ci_error error;
    int known = 0;
    fuzz_require(ci_generator_get(state, i, &value, &known) == CI_OK, "S6: generators can be queried");
    p->digest = fuzz_digest_bytes(p->digest, &value, sizeof value);
    value.counter = fuzz_number(reader, 8);
    if (fuzz_byte(reader) % 2 == 1) note(p, ci_generator_set(state, ci_generator_name(state, i), &value, &error));
  }
}

/* ---- all of it ---- */

static play play_all(const uint8_t *file, size_t size, fuzz_reader reader, int32_t isa, uint8_t fill) {
  play p = {.memory = {.fill = fill}};
  const uint8_t options = fuzz_byte(&reader);
  if (play_open(&p, file, size, options, isa)) {
    for (int runs = (options & OPTION_RUNS) >> 4; runs >= 0; runs--) {
      play_signature(&p, &reader);
      if ((options & OPTION_STATE) != 0) play_state(&p, &reader);
    }
  }
  ci_session_close(p.session);
  ci_close(p.model);
  fuzz_require(p.memory.blocks == 0 && p.memory.live == 0, "S6: nothing leaks");
  return p;
}

const bool fuzz_has_tail = true, fuzz_multiplies = false;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  enum { HEADER = 64 };
  if (size < HEADER) return 0;
  fuzz_reader header = {data + 24, data + 40};
  const uint64_t offset = fuzz_number(&header, 8), length = fuzz_number(&header, 8);
  if (offset > size || length > size - offset) return 0;
  const size_t file = (size_t)(offset + length);
  const fuzz_reader behind = {data + file, data + size};
  const play best = play_all(data, file, behind, CI_ISA_BEST, 0xa5);
  if (file == size || (data[file] & OPTION_COMPARE) == 0) return 0;
  const play portable = play_all(data, file, behind, CI_ISA_PORTABLE, 0x5a);
  fuzz_require(best.digest == portable.digest || best.limited || portable.limited,
               "S9, S11: all instruction sets, whatever memory held, give the same bits");
  return 0;
}
