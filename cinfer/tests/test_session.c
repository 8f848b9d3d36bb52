/* test_session.c - opening and running: results, memory, failures of the allocator, damage, cancelling. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "cinfer.h"
#include "models.h"
#include "system/threads.h"
#include "base/wire.h"
#if defined(__SSE__) || defined(__x86_64__)
#include <xmmintrin.h>
#define HAS_CONTROL_WORD 1
#endif

enum { MOST_OUTPUTS = 16, MOST_ELEMENTS = 64 };

/* ---- an allocator that counts, and fails or cancels on request ---- */

typedef struct meter {
  long calls, fail_at; /* fail_at 0: never */
  long long held;
  bool failed;
  ci_session *cancel; /* cancelled by the next call */
} meter;

static void *meter_alloc(void *user, size_t bytes, size_t align) {
  meter *m = user;
  (void)align;
  if (m->cancel != NULL) ci_cancel(m->cancel);
  if (++m->calls == m->fail_at) {
    m->failed = true;
    return NULL;
  }
  void *block = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (block != NULL) m->held += (long long)bytes;
  return block;
}

static void meter_release(void *user, void *memory, size_t bytes) {
  ((meter *)user)->held -= (long long)bytes;
  free(memory);
}

static ci_allocator meter_hook(meter *m) { return (ci_allocator){m, meter_alloc, meter_release}; }

/* ---- calls ---- */

typedef struct call { /* inputs of model_everything */
  float x[MOST_ELEMENTS];
  uint8_t yes;
  int64_t shape[2];
  ci_tensor inputs[3], items[3];
} call;

static void call_fill(call *c, int64_t n, int64_t rows) {
  for (int i = 0; i < MOST_ELEMENTS; i++) c->x[i] = (float)i + 1;
  c->yes = 1;
  c->shape[0] = rows;
  c->shape[1] = -1;
  c->inputs[0] = (ci_tensor){c->x, (size_t)n * sizeof(float), CI_FLOAT, 1, {n}};
  c->inputs[1] = (ci_tensor){&c->yes, 1, CI_BOOL, 0, {0}};
  c->inputs[2] = (ci_tensor){c->shape, sizeof c->shape, CI_INT64, 1, {2}};
}

static ci_status open_model(const unsigned char *data, size_t bytes, meter *m, ci_model **model, ci_error *error) {
  ci_options options = ci_defaults();
  if (m != NULL) options.allocator = meter_hook(m);
  options.limits.max_loop_steps = 64; /* a flipped bit may ask for many more */
  options.limits.max_memory = 1 << 24;
  return ci_open_memory(data, bytes, &options, model, error);
}

static ci_status open_session(ci_model *model, ci_state *state, meter *m, ci_session **session, ci_error *error) {
  ci_session_options options = ci_session_defaults();
  if (m != NULL) options.allocator = meter_hook(m);
  options.limits.max_loop_steps = 64;
  options.limits.max_memory = 1 << 24;
  return ci_session_open(model, state, &options, session, error);
}

/* The inputs of model_sequences: a sequence of `count`, something or nothing, a tensor. */
static void call_fill_held(call *c, int64_t count, bool something) {
  call_fill(c, 4, 2);
  for (int i = 0; i < 3; i++) c->items[i] = (ci_tensor){c->x + i, (size_t)i * sizeof(float), CI_FLOAT, 1, {i}};
  c->inputs[2] = c->inputs[0];
  c->inputs[0] = (ci_tensor){c->items, sizeof c->items, CI_SEQUENCE, 1, {count}};
  c->inputs[1] = something ? c->items[2] : (ci_tensor){.dtype = CI_NOTHING};
}

/* Runs every signature of a model with the inputs of model_everything, or a matrix where one is expected. */
static ci_status run_all(ci_session *session, const ci_model *model, ci_error *error) {
  call c;
  ci_status first = CI_OK;
  call_fill(&c, 4, 2);
  for (int s = 0; s < ci_signature_count(model); s++) {
    ci_tensor outputs[MOST_OUTPUTS] = {{0}};
    int inputs = ci_input_count(model, s), count = ci_output_count(model, s);
    ci_info info;
    if (inputs > 3 || count > MOST_OUTPUTS) continue;
    if (ci_input(model, s, 0, &info) == CI_OK && info.rank == 2) {
      c.inputs[0] = (ci_tensor){c.x, 8 * sizeof(float), CI_FLOAT, 2, {2, 4}};
    }
    if (ci_input_kind(model, s, 0) == CI_KIND_SEQUENCE) call_fill_held(&c, 3, true);
    ci_status status = ci_run(session, s, c.inputs, inputs, outputs, count, error);
    /* one signature reads a variable that another gives its first value later */
    if (first == CI_OK && status != CI_FAILED_PRECONDITION) first = status;
  }
  return first;
}

static ci_status whole_life(const unsigned char *data, size_t bytes, meter *m, ci_error *error) {
  ci_model *model = NULL;
  ci_session *session = NULL;
  ci_status status = open_model(data, bytes, m, &model, error);
  if (status == CI_OK) status = open_session(model, NULL, m, &session, error);
  if (status == CI_OK) status = run_all(session, model, error);
  ci_session_close(session);
  ci_close(model);
  return status;
}

/* ---- results ---- */

static void test_perceptron(void) {
  ci_model *model;
  ci_session *session;
  ci_error error;
  ci_stats before = {.size = sizeof before}, after = {.size = sizeof after};
  float x[8] = {1, 2, 3, 4, -1, 0, 1, 0}, y[6], relu[6];
  ci_tensor input = {x, sizeof x, CI_FLOAT, 2, {2, 4}};
  CHECK(open_model(model_perceptron, sizeof model_perceptron, NULL, &model, &error) == CI_OK);
  CHECK(open_session(model, NULL, NULL, &session, &error) == CI_OK);
  for (int run = 0; run < 3; run++) {
    ci_tensor outputs[2] = {{y, sizeof y, 0, 0, {0}}, {relu, sizeof relu, 0, 0, {0}}};
    if (run == 1) ci_session_stats(session, &before);
    CHECK(ci_run(session, 0, &input, 1, outputs, 2, &error) == CI_OK);
    CHECK(outputs[0].rank == 2 && outputs[0].dims[0] == 2 && outputs[0].dims[1] == 3);
    CHECK(relu[0] == 3.0f && relu[1] == 2.75f && relu[2] == 7.0f);
    CHECK(fabsf(y[0] + y[1] + y[2] - 1) < 1e-6f);
  }
  ci_session_stats(session, &after);
  CHECK(before.allocations == after.allocations && after.runs == 3 && after.plans == 1);
  ci_session_close(session);
  ci_close(model);
}

static void test_wrong_calls(void) {
  ci_model *model;
  ci_session *session;
  ci_error error;
  float x[8] = {0}, y[6], relu[6];
  ci_tensor good = {x, sizeof x, CI_FLOAT, 2, {2, 4}}, input = good;
  ci_tensor outputs[2] = {{y, sizeof y, 0, 0, {0}}, {relu, 4, 0, 0, {0}}};
  CHECK(open_model(model_perceptron, sizeof model_perceptron, NULL, &model, &error) == CI_OK);
  CHECK(open_session(model, NULL, NULL, &session, &error) == CI_OK);
  input.dtype = CI_DOUBLE;
  CHECK(ci_run(session, 0, &input, 1, outputs, 2, &error) == CI_INVALID_ARGUMENT);
  CHECK(strcmp(error.message, "input 'x' of signature 'predict' is float64[2,4], expected float32[?,4]") == 0);
  input = good;
  input.rank = 17;
  CHECK(ci_run(session, 0, &input, 1, outputs, 2, &error) == CI_INVALID_ARGUMENT);
  input = good;
  input.dims[0] = INT64_MAX;
  CHECK(ci_run(session, 0, &input, 1, outputs, 2, &error) == CI_INVALID_ARGUMENT);
  input.dims[0] = -1;
  CHECK(ci_run(session, 0, &input, 1, outputs, 2, &error) == CI_INVALID_ARGUMENT);
  input = good;
  input.bytes = 31;
  CHECK(ci_run(session, 0, &input, 1, outputs, 2, &error) == CI_INVALID_ARGUMENT);
  CHECK(ci_run(session, 0, &good, 1, outputs, 2, &error) == CI_INVALID_ARGUMENT); /* the second output is too small */
  CHECK(strstr(error.message, "needs 24 bytes, its buffer has 4") != NULL);
  CHECK(ci_run(session, 0, &good, 0, outputs, 2, &error) == CI_INVALID_ARGUMENT);
  CHECK(ci_run(session, 1, &good, 1, outputs, 2, &error) == CI_OUT_OF_RANGE);
  CHECK(ci_run(session, 0, NULL, 1, outputs, 2, &error) == CI_INVALID_ARGUMENT);
  CHECK(strcmp(error.message, "inputs is NULL") == 0);
  CHECK(ci_run(session, 0, &good, 1, NULL, 2, &error) == CI_INVALID_ARGUMENT);
  CHECK(strcmp(error.message, "outputs is NULL") == 0);
  CHECK(ci_run(NULL, 0, &good, 1, outputs, 2, NULL) == CI_INVALID_ARGUMENT);
  ci_session_close(session);
  ci_close(model);
}

static bool is_floats(const ci_tensor *t, const float *expected, int64_t count) {
  return t->dtype == CI_FLOAT && t->bytes == (size_t)count * sizeof(float) && memcmp(t->data, expected, t->bytes) == 0;
}

static void test_everything(void) {
  ci_model *model;
  ci_session *session;
  ci_error error;
  call c;
  CHECK(open_model(model_everything, sizeof model_everything, NULL, &model, &error) == CI_OK);
  CHECK(open_session(model, NULL, NULL, &session, &error) == CI_OK);
  int all = ci_signature(model, "all");
  for (int64_t n = 2; n <= 6; n += 2) {
    ci_tensor out[9] = {{0}};
    call_fill(&c, n, 2);
    c.yes = n != 4;
    CHECK(ci_run(session, all, c.inputs, 3, out, 9, &error) == CI_OK);
    const float *chosen = out[0].data, *grown = out[1].data, *tripled = out[7].data;
    const int64_t *sizes = out[2].data;
    CHECK(chosen[1] == 4 && tripled[1] == 6 && out[1].dims[0] == 8 * n && grown[8 * n - 1] == (float)n);
    CHECK(out[2].dims[0] == 3 && sizes[0] == 2 * n && sizes[2] == 8 * n);
    CHECK(is_floats(&out[3], (float[]){2, 2}, 2) && is_floats(&out[4], (float[]){3, 3}, 2));
    CHECK(out[5].rank == 2 && out[5].dims[0] == 2 && out[5].dims[1] == n / 2 && is_floats(&out[6], c.x, n));
    const ci_string *text = out[8].data;
    CHECK(out[8].dtype == CI_STRING && text[0].length == 2 && text[1].length == 0 &&
          memcmp(text[2].data, "cde", 3) == 0);
  }
  ci_session_close(session);
  ci_close(model);
}

/* ---- state ---- */

static void test_two_sessions_share_a_state(void) {
  ci_model *model;
  ci_state *state;
  ci_session *one, *two;
  ci_error error;
  call c;
  ci_tensor out[3] = {{0}};
  CHECK(open_model(model_everything, sizeof model_everything, NULL, &model, &error) == CI_OK);
  CHECK(ci_state_open(NULL, &state, &error) == CI_OK);
  CHECK(open_session(model, state, NULL, &one, &error) == CI_OK);
  CHECK(open_session(model, state, NULL, &two, &error) == CI_OK);
  int step = ci_signature(model, "step"), keep = ci_signature(model, "keep"), alone = ci_signature(model, "alone");
  CHECK(ci_run(two, alone, NULL, 0, out, 1, &error) == CI_FAILED_PRECONDITION);
  CHECK(strstr(error.message, ": Attempting to use uninitialized value free") != NULL);
  CHECK(strcmp(error.node, "alone") == 0);
  CHECK(ci_run(one, step, NULL, 0, out, 3, &error) == CI_OK);
  CHECK(is_floats(&out[0], (float[]){1, 2}, 2) && is_floats(&out[1], (float[]){2, 3}, 2));
  float noise[2];
  memcpy(noise, out[2].data, sizeof noise);
  memset(out, 0, sizeof out);
  CHECK(ci_run(two, step, NULL, 0, out, 3, &error) == CI_OK);
  CHECK(is_floats(&out[0], (float[]){2, 3}, 2) && is_floats(&out[1], (float[]){3, 4}, 2));
  CHECK(memcmp(noise, out[2].data, sizeof noise) != 0); /* the generator is shared too */
  for (int64_t n = 3; n <= 5; n++) { /* a variable of any shape moves, and both see it */
    call_fill(&c, n, 1);
    memset(out, 0, sizeof out);
    CHECK(ci_run(one, keep, c.inputs, 1, out, 2, &error) == CI_OK && is_floats(&out[0], c.x, n));
    memset(out, 0, sizeof out);
    CHECK(ci_run(two, alone, NULL, 0, out, 1, &error) == CI_OK && is_floats(&out[0], c.x, n));
  }
  call_fill(&c, 2, 1);
  CHECK(ci_run(one, keep, c.inputs, 1, out, 2, &error) == CI_INVALID_ARGUMENT);
  CHECK(strstr(error.message, " Variables already assigned by this run: free.") != NULL);
  CHECK(strstr(error.message, "(make.py:") != NULL);
  ci_state_close(state);
  ci_close(model);
  ci_session_close(one); /* sessions keep what they need */
  memset(out, 0, sizeof out);
  CHECK(ci_run(two, alone, NULL, 0, out, 1, &error) == CI_OK && is_floats(&out[0], c.x, 2));
  ci_session_close(two);
}

static void test_assignments_take_no_memory(void) {
  ci_model *model;
  ci_session *session;
  ci_error error;
  meter m = {0};
  CHECK(open_model(model_everything, sizeof model_everything, NULL, &model, &error) == CI_OK);
  CHECK(open_session(model, NULL, &m, &session, &error) == CI_OK);
  int step = ci_signature(model, "step");
  ci_tensor out[3] = {{0}};
  CHECK(ci_run(session, step, NULL, 0, out, 3, &error) == CI_OK);
  long calls = m.calls;
  for (int i = 0; i < 3; i++) {
    memset(out, 0, sizeof out);
    CHECK(ci_run(session, step, NULL, 0, out, 3, &error) == CI_OK);
  }
  CHECK(m.calls == calls);
  ci_session_close(session);
  ci_close(model);
  CHECK(m.held == 0);
}

/* ---- sequences and optional values ---- */

static bool floats_are(const ci_tensor *t, int64_t count, float first) {
  bool same = t->dtype == CI_FLOAT && t->rank == 1 && t->dims[0] == count && t->bytes == (size_t)count * sizeof(float);
  for (int64_t i = 0; same && i < count; i++) same = ((const float *)t->data)[i] == first + (float)i;
  return same;
}

static bool sequence_is(const ci_tensor *y, int64_t count) {
  return y->dtype == CI_SEQUENCE && y->rank == 1 && y->dims[0] == count && y->bytes == (size_t)count * sizeof *y;
}

static void check_held(const ci_tensor *y, int64_t count, bool something) {
  enum { S, O, EMPTY, TRADED, TRADED_1, SHORTER, FIRST, COUNT, JOINED, MADE, FIXED, CUT, HAS, CHOSEN, MAYBE };
  const ci_tensor *s = y[S].data, *traded = y[TRADED_1].data, *made = y[MADE].data, *fixed = y[FIXED].data;
  const ci_tensor *cut = y[CUT].data;
  CHECK(sequence_is(&y[S], count) && sequence_is(&y[EMPTY], 0) && sequence_is(&y[SHORTER], count));
  CHECK(sequence_is(&y[TRADED], 1) && sequence_is(&y[TRADED_1], count + 2));
  CHECK(sequence_is(&y[MADE], 3) && sequence_is(&y[FIXED], 2) && sequence_is(&y[CUT], 4));
  for (int64_t i = 0; i < count; i++) CHECK(floats_are(&s[i], i, (float)i + 1));
  for (int64_t i = 0; i < count; i++) CHECK(floats_are(&traded[i], i, (float)i + 1));
  CHECK(floats_are(&traded[count], 4, 1) && floats_are(&traded[count + 1], 4, 1));
  CHECK(floats_are(y[TRADED].data, 4, 1) && (count == 0 || floats_are(y[SHORTER].data, 4, 1)));
  CHECK(floats_are(&made[0], 4, 1) && floats_are(&made[1], 1, 1) && floats_are(&made[2], 4, 1));
  CHECK(floats_are(&fixed[0], 1, 1) && floats_are(&fixed[1], 1, 1));
  for (int i = 0; i < 4; i++) CHECK(floats_are(&cut[i], 1, (float)i + 1));
  CHECK(floats_are(&y[FIRST], 4, 1) && *(const int64_t *)y[COUNT].data == count + 1);
  CHECK(y[JOINED].dims[0] == 4 + count * (count - 1) / 2);
  CHECK(*(const uint8_t *)y[HAS].data == something && floats_are(&y[CHOSEN], something ? 2 : 4, something ? 3 : 1));
  if (something) CHECK(floats_are(&y[O], 2, 3) && y[MAYBE].dtype == CI_NOTHING && y[MAYBE].bytes == 0);
  else CHECK(y[O].dtype == CI_NOTHING && y[O].bytes == 0 && sequence_is(&y[MAYBE], 3));
}

static void test_sequences(void) {
  ci_error error;
  ci_model *model;
  ci_session *session;
  meter m = {0};
  call c;
  CHECK(open_model(model_sequences, sizeof model_sequences, &m, &model, &error) == CI_OK);
  CHECK(open_session(model, NULL, &m, &session, &error) == CI_OK);
  CHECK(ci_input_kind(model, 0, 1) == CI_KIND_OPTIONAL && ci_input_kind(model, 0, 2) == CI_KIND_TENSOR);
  CHECK(ci_output_kind(model, 0, 14) == (CI_KIND_OPTIONAL | CI_KIND_SEQUENCE) && ci_output_kind(model, 0, 15) == -1);
  call_fill_held(&c, 0, false);
  CHECK(ci_reserve(session, 0, c.inputs, 3, &error) == CI_OK);
  for (int64_t count = 0; count < 8; count++) {
    ci_tensor outputs[15] = {{0}};
    call_fill_held(&c, count % 4, count >= 4);
    CHECK(ci_run(session, 0, c.inputs, 3, outputs, 15, &error) == CI_OK);
    check_held(outputs, count % 4, count >= 4);
  }
  ci_stats stats = {.size = sizeof stats};
  ci_session_stats(session, &stats);
  CHECK(stats.plans == 1);
  ci_session_close(session);
  ci_close(model);
  CHECK(m.held == 0);
}

static void test_wrong_sequences(void) {
  ci_error error;
  ci_model *model;
  ci_session *session;
  call c;
  CHECK(open_model(model_sequences, sizeof model_sequences, NULL, &model, &error) == CI_OK);
  CHECK(open_session(model, NULL, NULL, &session, &error) == CI_OK);
  for (int wrong = 0; wrong < 11; wrong++) {
    ci_tensor outputs[15] = {{0}};
    call_fill_held(&c, 3, true);
    if (wrong == 1) c.inputs[0].dims[0] = 4; /* more than there are bytes */
    if (wrong == 2) c.inputs[0].dims[0] = INT64_MAX;
    if (wrong == 3) c.inputs[0].dims[0] = -1;
    if (wrong == 4) c.inputs[0].data = NULL;
    if (wrong == 5) c.inputs[0].rank = 2;
    if (wrong == 6) c.inputs[0] = c.inputs[2];
    if (wrong == 7) c.items[1].dtype = CI_DOUBLE;
    if (wrong == 8) c.items[2].bytes = 1;
    if (wrong == 9) c.inputs[1] = c.inputs[0];
    if (wrong == 10) outputs[3] = (ci_tensor){.data = c.x, .bytes = sizeof c.x};
    CHECK(ci_run(session, 0, c.inputs, 3, outputs, 15, &error) == (wrong == 0 ? CI_OK : CI_INVALID_ARGUMENT));
  }
  ci_session_close(session);
  ci_close(model);
}

/* Fed values count, and the message names the limit. */
static void test_sequences_within_limits(void) {
  ci_error error;
  ci_model *model;
  call c;
  bool fits = false, reported = false;
  CHECK(open_model(model_sequences, sizeof model_sequences, NULL, &model, &error) == CI_OK);
  call_fill_held(&c, 3, true);
  for (uint64_t limit = 64; !fits && limit < 1 << 20; limit += 64) {
    ci_session_options options = ci_session_defaults();
    ci_tensor outputs[15] = {{0}};
    ci_session *session;
    options.limits.max_memory = limit;
    CHECK(ci_session_open(model, NULL, &options, &session, &error) == CI_OK);
    ci_status status = ci_run(session, 0, c.inputs, 3, outputs, 15, &error);
    CHECK(status == CI_OK || status == CI_RESOURCE_EXHAUSTED);
    fits = status == CI_OK;
    reported = reported || (!fits && strncmp(error.message, "no memory for input", 19) == 0);
    ci_session_close(session);
  }
  CHECK(fits && reported);
  ci_close(model);
}

/* ---- failures ---- */

static void test_every_allocation_may_fail(const unsigned char *data, size_t bytes) {
  ci_error error;
  bool failed = true;
  for (long n = 1; failed; n++) {
    meter m = {.fail_at = n};
    ci_status status = whole_life(data, bytes, &m, &error);
    CHECK(status == CI_OK || (m.failed && status == CI_RESOURCE_EXHAUSTED));
    CHECK(m.held == 0);
    failed = m.failed;
  }
}

static void test_every_length_is_refused(void) {
  ci_error error;
  for (size_t n = 0; n < sizeof model_everything; n++) {
    unsigned char *part = malloc(n + 1);
    if (part == NULL) return;
    memcpy(part, model_everything, n);
    ci_model *model;
    CHECK(open_model(part, n, NULL, &model, &error) == CI_DATA_LOSS);
    free(part);
  }
}

static void put_u32(unsigned char *at, uint32_t number) {
  for (int i = 0; i < 4; i++) at[i] = (unsigned char)(number >> 8 * i);
}

/* Every bit: with its checksums as they were it is damage; with checksums made right it may be a model, and then runs
 * or fails, but within its memory (the sanitizers see to that). */
static void test_every_flip(const unsigned char *source, size_t bytes, size_t stride) {
  static _Alignas(64) unsigned char data[1 << 14];
  ci_error error;
  ci_model *model;
  CHECK(bytes <= sizeof data);
  memcpy(data, source, bytes);
  size_t graph = (size_t)ci_wire_load_u64(data + 16);
  for (size_t bit = 0; bit < bytes * 8; bit += stride) {
    data[bit / 8] ^= (unsigned char)(1 << bit % 8);
    ci_status status = open_model(data, bytes, NULL, &model, &error);
    CHECK(status == CI_DATA_LOSS);
    if (bit / 8 >= 64 && bit / 8 < 64 + graph) {
      put_u32(data + 40, ci_crc32c(0, data + 64, graph));
      put_u32(data + 60, ci_crc32c(0, data, 60));
      meter m = {0};
      whole_life(data, bytes, &m, &error);
      CHECK(m.held == 0);
      memcpy(data, source, 64);
    }
    data[bit / 8] ^= (unsigned char)(1 << bit % 8);
  }
}

/* Lazily: damage in the data section is found when the tensor is used. */
static void test_lazy_checks(void) {
  static _Alignas(64) unsigned char data[sizeof model_perceptron];
  ci_error error;
  ci_model *model;
  ci_session *session;
  ci_options options = ci_defaults();
  float x[4] = {0};
  ci_tensor input = {x, sizeof x, CI_FLOAT, 2, {1, 4}}, outputs[2] = {{0}};
  memcpy(data, model_perceptron, sizeof data);
  data[sizeof data - 1] ^= 1;
  CHECK(ci_open_memory(data, sizeof data, &options, &model, &error) == CI_DATA_LOSS);
  options.lazy = options.borrow = 1;
  CHECK(ci_open_memory(data, sizeof data, &options, &model, &error) == CI_OK);
  CHECK(ci_session_open(model, NULL, NULL, &session, &error) == CI_OK);
  CHECK(ci_run(session, 0, &input, 1, outputs, 2, &error) == CI_DATA_LOSS);
  data[sizeof data - 1] ^= 1;
  CHECK(ci_run(session, 0, &input, 1, outputs, 2, &error) == CI_OK);
  ci_session_close(session);
  ci_close(model);
}

static void test_limits(void) {
  ci_error error;
  ci_model *model;
  ci_options options = ci_defaults();
  options.limits.max_nodes = 5;
  CHECK(ci_open_memory(model_everything, sizeof model_everything, &options, &model, &error) == CI_RESOURCE_EXHAUSTED);
  options = ci_defaults();
  options.limits.max_bytes = 100;
  CHECK(ci_open_memory(model_everything, sizeof model_everything, &options, &model, &error) == CI_RESOURCE_EXHAUSTED);
  options = ci_defaults();
  options.abi = CI_ABI + 1;
  CHECK(ci_open_memory(model_everything, sizeof model_everything, &options, &model, &error) == CI_INVALID_ARGUMENT);
  CHECK(model == NULL);
  ci_session *session;
  call c;
  ci_tensor out[9] = {{0}};
  call_fill(&c, 4, 2);
  CHECK(ci_open_memory(model_everything, sizeof model_everything, NULL, &model, &error) == CI_OK);
  ci_session_options limited = ci_session_defaults();
  limited.limits.max_loop_steps = 2;
  CHECK(ci_session_open(model, NULL, &limited, &session, &error) == CI_OK);
  CHECK(ci_run(session, ci_signature(model, "all"), c.inputs, 3, out, 9, &error) == CI_RESOURCE_EXHAUSTED);
  ci_session_close(session);
  limited = ci_session_defaults();
  limited.limits.max_memory = 400;
  CHECK(ci_session_open(model, NULL, &limited, &session, &error) == CI_OK);
  CHECK(ci_run(session, ci_signature(model, "all"), c.inputs, 3, out, 9, &error) == CI_RESOURCE_EXHAUSTED);
  ci_session_close(session);
  ci_close(model);
}

static void test_cancel(void) {
  ci_model *model;
  ci_session *session;
  ci_error error;
  meter m = {0};
  call c;
  ci_tensor out[9] = {{0}};
  call_fill(&c, 4, 2);
  CHECK(open_model(model_everything, sizeof model_everything, NULL, &model, &error) == CI_OK);
  CHECK(open_session(model, NULL, &m, &session, &error) == CI_OK);
  m.cancel = session;
  CHECK(ci_run(session, ci_signature(model, "all"), c.inputs, 3, out, 9, &error) == CI_CANCELLED);
  m.cancel = NULL;
  memset(out, 0, sizeof out);
  CHECK(ci_run(session, ci_signature(model, "all"), c.inputs, 3, out, 9, &error) == CI_OK);
  ci_session_close(session);
  ci_close(model);
  CHECK(m.held == 0);
}

/* ---- parts ---- */

static void mark_part(void *argument, int64_t begin, int64_t end, int thread) {
  (void)thread;
  for (int64_t i = begin; i < end; i++) ((int *)argument)[i]++;
}

static void test_threads(void) {
  enum { N = 1000 };
  static int marks[N];
  ci_threads *threads = ci_threads_start(NULL, 3);
  if (threads == NULL) return; /* built without */
  for (int round = 0; round < 50; round++) ci_threads_run(threads, 1 + round % 5, N - round, mark_part, marks);
  for (int i = 0; i < N; i++) CHECK(marks[i] == (i < N - 49 ? 50 : N - i));
  ci_threads_stop(NULL, threads);
}

static void test_wire(void) {
  static const struct {
    const char *bytes;
    size_t length;
    bool whole;
  } rows[] = {
      {"\x08\x96\x01", 3, true},                                           /* field 1, varint 150 */
      {"\x08\x96", 2, false},                                              /* cut */
      {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, true},          /* 2^64 - 1 */
      {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11, false},         /* more than 64 bits */
      {"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12, false},     /* eleven bytes */
      {"\x0a\x02hi", 4, true},                                             /* field 1, two bytes */
      {"\x0a\x03hi", 4, false},                                            /* one byte too few */
      {"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7fhi", 12, false},           /* a length near 2^63 */
      {"\x00\x01", 2, false},                                              /* field 0 */
      {"\x0b", 1, false},                                                  /* a group */
      {"\x0f\x01", 2, false},                                              /* wire type 7 */
      {"\x0d\x01\x02\x03", 4, false},                                      /* fixed32 of three bytes */
      {"\x09\x01\x02\x03\x04\x05\x06\x07\x08", 9, true},                   /* fixed64 */
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    ci_wire wire = ci_wire_open((ci_span){rows[i].bytes, rows[i].length});
    ci_field field;
    while (ci_wire_next(&wire, &field)) continue;
    CHECK(wire.broken == !rows[i].whole);
  }
}

static void test_float_mode(void) {
#ifdef HAS_CONTROL_WORD
  ci_float_mode mode;
  unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040u); /* as a program linked with -ffast-math */
  ci_float_enter(&mode);
  volatile float tiny = 1e-39f;
  CHECK(tiny * 1.0f != 0.0f);
  ci_float_leave(&mode);
  CHECK((_mm_getcsr() & 0x8040u) == 0x8040u);
  _mm_setcsr(before);
#endif
}

int main(void) {
  test_perceptron();
  test_wrong_calls();
  test_everything();
  test_two_sessions_share_a_state();
  test_assignments_take_no_memory();
  test_every_allocation_may_fail(model_perceptron, sizeof model_perceptron);
  test_every_allocation_may_fail(model_everything, sizeof model_everything);
  test_sequences();
  test_wrong_sequences();
  test_sequences_within_limits();
  test_every_length_is_refused();
  test_every_allocation_may_fail(model_sequences, sizeof model_sequences);
  test_every_flip(model_packed_tiles, sizeof model_packed_tiles, 1);
  test_every_flip(model_everything, sizeof model_everything, 1);
  test_every_flip(model_sequences, sizeof model_sequences, 1);
  test_lazy_checks();
  test_limits();
  test_cancel();
  test_threads();
  test_wire();
  test_float_mode();
  return CHECK_END;
}
