/* test_plans.c - many shapes one after another, and work handed to threads of the host. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "cinfer.h"
#include "untrusted_plans.h"
#include "models.h"

#define MOST INT64_MAX
enum { ROWS = 1 << 16, SIZES = 10000, KEPT_PLANS = 8, MOST_PLANS = 64 };

static float x[ROWS * 4], y[ROWS * 3], relu[ROWS * 3];

typedef struct meter {
  size_t held, calls;
} meter;

static void *meter_alloc(void *user, size_t bytes, size_t align) {
  meter *m = user;
  m->held += bytes;
  m->calls++;
  return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void meter_release(void *user, void *memory, size_t bytes) {
  ((meter *)user)->held -= bytes;
  free(memory);
}

static ci_session *open_on(const unsigned char *bytes, size_t count, const ci_session_options *options) {
  ci_model *model;
  ci_session *session = NULL;
  ci_error error;
  CHECK(ci_open_memory(bytes, count, NULL, &model, &error) == CI_OK);
  CHECK(ci_session_open(model, NULL, options, &session, &error) == CI_OK);
  ci_close(model);
  return session;
}

static ci_session *open_session(const ci_session_options *options) {
  return open_on(model_perceptron, sizeof model_perceptron, options);
}

static void run_rows(ci_session *session, int64_t rows) {
  ci_error error;
  ci_tensor input = {x, sizeof x, CI_FLOAT, 2, {rows, 4}};
  ci_tensor outputs[2] = {{y, sizeof y, 0, 0, {0}}, {relu, sizeof relu, 0, 0, {0}}};
  CHECK(ci_run(session, 0, &input, 1, outputs, 2, &error) == CI_OK);
  CHECK(outputs[0].dims[0] == rows && outputs[1].dims[0] == rows);
}

static ci_stats stats_of(const ci_session *session) {
  ci_stats stats = {.size = sizeof stats};
  ci_session_stats(session, &stats);
  return stats;
}

/* Every size is seen for the first time, or so long ago that its plan is gone. */
static void test_ever_new_sizes_take_no_memory(void) {
  meter m = {0, 0};
  ci_session_options options = ci_session_defaults();
  options.allocator = (ci_allocator){&m, meter_alloc, meter_release};
  ci_session *session = open_session(&options);
  run_rows(session, ROWS);
  for (int64_t rows = 1; rows <= 2 * MOST_PLANS; rows++) run_rows(session, rows);
  const meter before = m;
  const uint64_t plans = stats_of(session).plans;
  for (int i = 0; i < SIZES; i++) run_rows(session, 1 + i % 1000);
  CHECK(stats_of(session).plans == plans + SIZES);
  CHECK(m.held == before.held && m.calls == before.calls);
  ci_session_close(session);
  CHECK(m.held == 0);
}

static void test_plans_that_are_kept_are_found(void) {
  ci_session *session = open_session(NULL);
  for (int round = 0; round < 3; round++) {
    for (int64_t rows = 1; rows <= KEPT_PLANS; rows++) run_rows(session, rows);
  }
  CHECK(stats_of(session).plans == KEPT_PLANS && stats_of(session).refits == 0);
  run_rows(session, KEPT_PLANS + 1); /* in place of the one used longest ago, that of one row */
  run_rows(session, 2);
  CHECK(stats_of(session).plans == KEPT_PLANS + 1 && stats_of(session).refits == 1);
  run_rows(session, 1);
  CHECK(stats_of(session).plans == KEPT_PLANS + 2 && stats_of(session).refits == 2);
  ci_session_close(session);
}

static void test_a_plan_in_used_memory_gives_the_same(void) {
  static float first[ROWS * 3];
  ci_session *session = open_session(NULL);
  run_rows(session, 300);
  memcpy(first, y, sizeof first);
  for (int64_t rows = 301; rows < 500; rows++) run_rows(session, rows);
  memset(y, 0, sizeof y);
  run_rows(session, 300);
  CHECK(memcmp(first, y, 300 * 3 * sizeof *y) == 0);
  ci_session_close(session);
}

/* Results that a caller has borrowed stay while shapes are reserved, however many, until the next run. */
static void test_borrowed_results_outlive_their_plan(void) {
  ci_session *session = open_on(model_found, sizeof model_found, NULL);
  ci_error error;
  ci_tensor input = {(float[]){1.0f, 0.0f, 2.0f, 0.0f, 3.0f}, 5 * sizeof(float), CI_FLOAT, 1, {5}}, outputs[2] = {{0}};
  for (int round = 0; round < 3; round++) {
    input.dims[0] = 5;
    outputs[0].data = outputs[1].data = NULL;
    CHECK(ci_run(session, 0, &input, 1, outputs, 2, &error) == CI_OK);
    for (int64_t size = 6; size <= 6 + 2 * MOST_PLANS; size++) {
      input.dims[0] = size;
      CHECK(ci_reserve(session, 0, &input, 1, &error) == CI_OK);
    }
    const int64_t *buffers = outputs[1].data;
    CHECK(outputs[1].bytes == 3 * sizeof *buffers && buffers[0] == 0 && buffers[1] == 2 && buffers[2] == 4);
    CHECK(*(const int64_t *)outputs[0].data == 5);
  }
  ci_session_close(session);
}

static ci_status try_input(ci_session *session, ci_tensor input, ci_error *error) {
  ci_tensor outputs[2] = {{y, sizeof y, 0, 0, {0}}, {relu, sizeof relu, 0, 0, {0}}};
  return ci_run(session, 0, &input, 1, outputs, 2, error);
}

/* Whether there is a plan yet, or so many that old ones are fitted to new shapes. */
static void test_inputs_that_do_not_fit_are_refused(void) {
  const struct {
    ci_tensor input;
    const char *words;
  } wrong[] = {
      {{x, sizeof x, CI_DOUBLE, 2, {2, 4}}, "'x' of signature 'predict' is float64[2,4], expected float32[?,4]"},
      {{x, sizeof x, CI_FLOAT, -1, {2, 4}}, "is float32[...], expected"},
      {{x, sizeof x, CI_FLOAT, 17, {2, 4}}, "is float32[...], expected"},
      {{x, sizeof x, CI_FLOAT, 1, {4}}, "is float32[4], expected"},
      {{x, sizeof x, CI_FLOAT, 2, {4, 2}}, "is float32[4,2], expected"},
      {{x, sizeof x, CI_FLOAT, 12, {MOST, MOST, MOST, MOST, MOST, MOST, MOST, MOST, MOST, MOST, MOST, MOST}},
       "is float32[9223372036854775807,"},
      {{x, sizeof x, CI_FLOAT, 2, {-2, 4}}, "impossible dtype, rank or shape"},
      {{x, sizeof x, CI_FLOAT, 2, {MOST, 4}}, "impossible dtype, rank or shape"},
      {{x, 8, CI_FLOAT, 2, {2, 4}}, "'x' of signature 'predict' has 8 bytes, its shape needs 32"},
      {{NULL, 32, CI_FLOAT, 2, {2, 4}}, "'x' of signature 'predict' has 0 bytes, its shape needs 32"},
  };
  for (int64_t plans = 0; plans <= 2 * KEPT_PLANS; plans += KEPT_PLANS) {
    ci_session *session = open_session(NULL);
    ci_error error;
    for (int64_t rows = 3; rows < 3 + plans; rows++) run_rows(session, rows);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
      CHECK(try_input(session, wrong[i].input, &error) == CI_INVALID_ARGUMENT);
      CHECK(strstr(error.message, wrong[i].words) != NULL);
      run_rows(session, 2);
    }
    ci_session_close(session);
  }
}

/* Those that are reserved stay, however many others come and go; next to them few others fit. */
static void test_reserved_plans_are_not_fitted_to_others(void) {
  ci_session *session = open_session(NULL);
  ci_error error;
  for (int64_t rows = 1; rows <= MOST_PLANS; rows++) {
    const ci_tensor input = {x, sizeof x, CI_FLOAT, 2, {rows, 4}};
    CHECK(ci_reserve(session, 0, &input, 1, &error) == CI_OK);
  }
  const uint64_t plans = stats_of(session).plans;
  for (int64_t rows = 1; rows <= MOST_PLANS; rows++) run_rows(session, rows);
  CHECK(stats_of(session).plans == plans && stats_of(session).refits == 0);
  run_rows(session, MOST_PLANS + 1);
  CHECK(stats_of(session).plans == plans + 1 && stats_of(session).refits == 0);
  ci_session_close(session);
}

/* An arena that has to grow takes no more than it needs where half as much again is above the limit. */
static void test_the_arena_grows_up_to_the_limit(void) {
  meter m = {0, 0};
  ci_session_options options = ci_session_defaults();
  ci_session *session = open_session(&options);
  ci_error error;
  run_rows(session, 1000);
  options.limits.max_memory = stats_of(session).arena_bytes;
  ci_session_close(session);
  options.allocator = (ci_allocator){&m, meter_alloc, meter_release};
  session = open_session(&options);
  for (int64_t rows = 600; rows <= 1000; rows += 40) run_rows(session, rows); /* more than are kept */
  CHECK(stats_of(session).arena_bytes <= options.limits.max_memory);
  CHECK(try_input(session, (ci_tensor){x, sizeof x, CI_FLOAT, 2, {1100, 4}}, &error) == CI_RESOURCE_EXHAUSTED);
  run_rows(session, 1000);
  ci_session_close(session);
  CHECK(m.held == 0);
}

/* As plan_cache.c hashes the shapes of a plan. */
static uint64_t mixed(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 29;
}

/* A second dimension with which [0, it] has the hash of [rows, columns], or less than 0. */
static int64_t same_hash(int64_t rows, int64_t columns) {
  const uint64_t before = mixed(mixed(0, 0), (uint64_t)CI_FLOAT << 32 | 2);
  return (int64_t)(mixed(before, (uint64_t)rows) ^ (uint64_t)columns ^ mixed(before, 0));
}

/* Shapes of untrusted input, chosen so that their hashes are the same: two plans are made. */
static void test_shapes_of_one_hash_are_different_shapes(void) {
  ci_out graph = {0}, message = {0};
  ci_error error;
  int64_t rows = 1;
  plans_chain(&graph, &message, 3);
  ci_out whole = {0};
  untrusted_add(&whole, CI_PB_MODEL_GRAPH, &graph);
  ci_out_bytes(&whole, message.data, message.length);
  ci_out_free(&message);
  ci_out file = untrusted_file(&whole);
  ci_session *session = open_on((const unsigned char *)file.data, file.length, NULL);
  while (same_hash(rows, 4) < 0) rows++;
  for (int round = 0; round < 3; round++) {
    const ci_tensor empty = {x, 0, CI_FLOAT, 2, {0, same_hash(rows, 4)}};
    const ci_tensor full = {x, sizeof x, CI_FLOAT, 2, {rows, 4}};
    ci_tensor output = {y, sizeof y, 0, 0, {0}};
    CHECK(ci_run(session, 0, &full, 1, &output, 1, &error) == CI_OK);
    CHECK(output.dims[0] == rows && output.dims[1] == 4 && y[1] == -x[1]);
    output = (ci_tensor){y, sizeof y, 0, 0, {0}};
    CHECK(ci_run(session, 0, &empty, 1, &output, 1, &error) == CI_OK);
    CHECK(output.dims[0] == 0 && output.dims[1] == empty.dims[1] && output.bytes == 0);
  }
  CHECK(stats_of(session).plans == 2);
  ci_session_close(session);
  ci_out_free(&file);
}

typedef struct host_threads {
  int calls, parts;
} host_threads;

/* One after another, the last part first. */
static void host_run(void *user, int32_t parts, void (*part)(void *job, int32_t number), void *job) {
  host_threads *host = user;
  host->calls++;
  host->parts = parts > host->parts ? parts : host->parts;
  for (int32_t p = parts - 1; p >= 0; p--) part(job, p);
}

static void test_threads_of_the_host(void) {
  static float alone[ROWS * 3];
  host_threads host = {0, 0};
  ci_session_options options = ci_session_defaults();
  options.threads = 3;
  options.executor = (ci_executor){&host, host_run};
  ci_session *session = open_session(NULL), *shared = open_session(&options);
  run_rows(session, ROWS);
  memcpy(alone, y, sizeof alone);
  memset(y, 0, sizeof y);
  run_rows(shared, ROWS);
  CHECK(memcmp(alone, y, sizeof alone) == 0);
  CHECK(host.calls > 0 && host.parts > 1 && host.parts <= 3);
  CHECK(stats_of(shared).handed_out == (uint64_t)host.calls && stats_of(session).handed_out == 0);
  ci_session_close(session);
  ci_session_close(shared);
}

int main(void) {
  for (int i = 0; i < ROWS * 4; i++) x[i] = (float)(i % 11) * 0.25f - 1.0f;
  test_ever_new_sizes_take_no_memory();
  test_plans_that_are_kept_are_found();
  test_a_plan_in_used_memory_gives_the_same();
  test_borrowed_results_outlive_their_plan();
  test_inputs_that_do_not_fit_are_refused();
  test_reserved_plans_are_not_fitted_to_others();
  test_the_arena_grows_up_to_the_limit();
  test_shapes_of_one_hash_are_different_shapes();
  test_threads_of_the_host();
  return CHECK_END;
}
