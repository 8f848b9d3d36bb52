/* test_host.c - host functions: their inputs, their outputs, their errors. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "cinfer.h"
#include "models.h"

typedef enum host_way {
  GOOD,
  FAILS,
  FAILS_SILENTLY,
  NO_STATUS,
  GIVES_LESS,
  GIVES_TWICE,
  WRONG_TYPE,
  WRONG_SHAPE,
  NO_BYTES,
  NO_OUTPUT,
  RUNS
} host_way;

typedef struct host { /* how the functions behave */
  int f_calls, g_calls;
  host_way way;
  ci_model *model;
  ci_session *session; /* RUNS: is run by the function */
  ci_status inner, set, save, declare, generator, open;
  long fail_at, calls; /* of the allocator */
} host;

static void *host_alloc(void *user, size_t bytes, size_t align) {
  host *h = user;
  (void)align;
  return ++h->calls == h->fail_at ? NULL : aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void host_release(void *user, void *memory, size_t bytes) {
  (void)user;
  (void)bytes;
  free(memory);
}

/* f: the first half of x, its sum, two strings. */
static ci_status host_f(host *h, ci_host_call *call, ci_error *error) {
  const ci_tensor *x = &call->inputs[0];
  const float *values = x->data;
  float half[8], sum = 0;
  ci_string text[2] = {{"ab", 2}, {NULL, 0}};
  int64_t n = x->dims[0] / 2;
  for (int64_t i = 0; i < x->dims[0]; i++) sum += values[i];
  for (int64_t i = 0; i < n; i++) half[i] = values[i];
  ci_tensor outputs[3] = {{half, (size_t)n * sizeof(float), CI_FLOAT, 1, {n}},
                          {&sum, sizeof sum, CI_FLOAT, 0, {0}},
                          {text, sizeof text, CI_STRING, 1, {2}}};
  if (h->way == WRONG_TYPE) outputs[1].dtype = CI_INT32;
  if (h->way == WRONG_SHAPE) outputs[1].rank = 1, outputs[1].dims[0] = 1;
  if (h->way == NO_BYTES) outputs[0].bytes--;
  int count = h->way == GIVES_LESS ? 2 : 3;
  for (int i = 0; i < count; i++) {
    ci_status status = ci_host_give(call, h->way == NO_OUTPUT ? i + 3 : i, &outputs[i], error);
    if (status != CI_OK) return status;
  }
  return h->way == GIVES_TWICE ? ci_host_give(call, 0, &outputs[0], error) : CI_OK;
}

/* All that would change the state of the run. */
static void host_meddle(host *h, ci_error *error) {
  ci_state *state = ci_session_state(h->session);
  const ci_info info = {.name = "new", .dtype = CI_FLOAT};
  const ci_tensor value = {&(float){1}, sizeof(float), CI_FLOAT, 0, {0}};
  const ci_generator position = {1, 2};
  ci_tensor inputs[2] = {{0}}, outputs[5] = {{0}}; /* are not even looked at */
  ci_session *other = NULL;
  h->inner = ci_run(h->session, 0, inputs, 2, outputs, 5, error);
  h->declare = ci_variable_declare(state, &info, NULL, error);
  h->set = ci_variable_set(state, ci_variable_index(state, "old"), &value, error);
  h->generator = ci_generator_set(state, "dice", &position, error);
  h->open = ci_session_open(h->model, state, NULL, &other, error);
  h->save = ci_save(state, NULL, "half_a_step", 0, error);
}

static ci_status host_call(void *user, ci_host_call *call, ci_error *error) {
  host *h = user;
  CHECK(error != NULL && call->size == sizeof *call && call->input_count == 1);
  if (strcmp(call->function, "g") == 0) {
    h->g_calls++;
    return ci_host_give(call, 0, &call->inputs[0], error);
  }
  CHECK(strcmp(call->function, "f") == 0 && call->output_count == 3);
  CHECK(call->outputs[0].rank == 1 && call->outputs[0].dims[0] == -1 && call->outputs[2].dtype == CI_STRING);
  h->f_calls++;
  if (h->way == FAILS) return snprintf(error->message, sizeof error->message, "over"), CI_OUT_OF_RANGE;
  if (h->way == FAILS_SILENTLY) return CI_UNAVAILABLE;
  if (h->way == NO_STATUS) return 42;
  if (h->way == RUNS) host_meddle(h, error);
  return host_f(h, call, error);
}

typedef struct calling { /* a model in a session, and its inputs and outputs */
  ci_model *model;
  ci_session *session;
  float x[8];
  uint8_t yes;
  ci_tensor inputs[2], outputs[5];
} calling;

static ci_status calling_open(calling *c, host *h, ci_error *error) {
  ci_session_options options = ci_session_defaults();
  *c = (calling){.yes = 1};
  ci_status status = ci_open_memory(model_called, sizeof model_called, NULL, &c->model, error);
  if (h != NULL) options.host = (ci_host){h, host_call};
  if (h != NULL && h->fail_at > 0) options.allocator = (ci_allocator){h, host_alloc, host_release};
  return status == CI_OK ? ci_session_open(c->model, NULL, &options, &c->session, error) : status;
}

static ci_status calling_run(calling *c, int64_t n, ci_error *error) {
  for (int i = 0; i < 8; i++) c->x[i] = (float)i + 1;
  c->inputs[0] = (ci_tensor){c->x, (size_t)n * sizeof(float), CI_FLOAT, 1, {n}};
  c->inputs[1] = (ci_tensor){&c->yes, 1, CI_BOOL, 0, {0}};
  memset(c->outputs, 0, sizeof c->outputs);
  return ci_run(c->session, 0, c->inputs, 2, c->outputs, 5, error);
}

static void calling_close(calling *c) {
  ci_session_close(c->session);
  ci_close(c->model);
}

static void test_results(void) {
  host h = {0};
  calling c;
  ci_error error;
  CHECK(calling_open(&c, &h, &error) == CI_OK);
  for (int64_t n = 4; n <= 8; n += 2) { /* shapes that differ from run to run */
    c.yes = n != 6;
    CHECK(calling_run(&c, n, &error) == CI_OK);
    const float *half = c.outputs[0].data, *sum = c.outputs[1].data, *twice = c.outputs[3].data;
    const ci_string *text = c.outputs[2].data;
    CHECK(c.outputs[0].dims[0] == n / 2 && half[1] == 2.0f);
    CHECK(*sum == (float)(n * (n + 1) / 2) && twice[1] == 2.0f + *sum);
    CHECK(text[0].length == 2 && memcmp(text[0].data, "ab", 2) == 0 && text[1].length == 0);
    CHECK(c.outputs[4].dims[0] == n);
  }
  CHECK(h.f_calls == 3 && h.g_calls == 2); /* the branch that is not taken makes no call */
  CHECK(calling_run(&c, 0, &error) == CI_OK && c.outputs[0].bytes == 0);
  calling_close(&c);
}

static void test_failures(void) {
  static const struct {
    host_way way;
    ci_status status;
    const char *words;
  } rows[] = {{FAILS, CI_OUT_OF_RANGE, "HostCall 'call' (make.py:3 in build): over"},
              {FAILS_SILENTLY, CI_UNAVAILABLE, "the host function f failed"},
              {NO_STATUS, CI_UNKNOWN, "the host function f returned 42, which is not a status of cinfer.h"},
              {GIVES_LESS, CI_INVALID_ARGUMENT, "f returned without its output 2"},
              {GIVES_TWICE, CI_INVALID_ARGUMENT, "output 0 of f is given twice"},
              {WRONG_TYPE, CI_INVALID_ARGUMENT, "output 1 of f is int32[], expected float32[]"},
              {WRONG_SHAPE, CI_INVALID_ARGUMENT, "output 1 of f is float32[1], expected float32[]"},
              {NO_BYTES, CI_INVALID_ARGUMENT, "output 0 of f has 7 bytes, its shape needs 8"},
              {NO_OUTPUT, CI_INVALID_ARGUMENT, "there is no output number 3"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    host h = {.way = rows[i].way};
    calling c;
    ci_error error;
    CHECK(calling_open(&c, &h, &error) == CI_OK);
    CHECK(calling_run(&c, 4, &error) == rows[i].status);
    CHECK(strstr(error.message, rows[i].words) != NULL && strcmp(error.node, "call") == 0);
    CHECK(calling_run(&c, 4, NULL) == rows[i].status); /* the caller does not request the error */
    h.way = GOOD;
    CHECK(calling_run(&c, 4, &error) == CI_OK);
    calling_close(&c);
  }
}

typedef struct early { /* calls of f, and of g, which may begin with it */
  ci_host_call f, g;
  int calls;
} early;

static ci_status early_call(void *user, ci_host_call *call, ci_error *error) {
  early *e = user;
  const float number = strcmp(call->function, "f") == 0 ? 1.0f : 2.0f;
  float values[4] = {number, number, number, number};
  const ci_tensor value = {values, sizeof values, CI_FLOAT, 1, {4}};
  e->calls++;
  if (strcmp(call->function, "f") == 0) {
    e->f = *call;
    CHECK(ci_host_peek(call, 1, &e->g) == 1 && strcmp(e->g.function, "g") == 0);
    CHECK(ci_host_give(&e->g, 0, &value, error) == CI_FAILED_PRECONDITION);
    CHECK(strstr(error->message, "output 0 of g is given outside of its call") != NULL);
    return ci_host_give(call, 0, &value, error);
  }
  CHECK(ci_host_give(&e->f, 0, &value, error) == CI_FAILED_PRECONDITION);
  return ci_host_give(&e->g, 0, &value, error); /* it is this call, which was known before */
}

static void test_outputs_are_given_in_their_turn(void) {
  ci_model *model = NULL;
  ci_session *session = NULL;
  ci_session_options options = ci_session_defaults();
  early e = {.calls = 0};
  float x[2] = {1, 2};
  const ci_tensor input = {x, sizeof x, CI_FLOAT, 1, {2}};
  options.host = (ci_host){&e, early_call};
  CHECK(ci_open_memory(model_lent, sizeof model_lent, NULL, &model, NULL) == CI_OK);
  CHECK(ci_session_open(model, NULL, &options, &session, NULL) == CI_OK);
  for (int run = 1; run <= 3; run++) {
    ci_tensor output = {0};
    CHECK(ci_run(session, ci_signature(model, "calls"), &input, 1, &output, 1, NULL) == CI_OK && e.calls == 2 * run);
    CHECK(((const float *)output.data)[3] == 3.0f);
    CHECK(ci_host_give(&e.f, 0, &output, NULL) == CI_FAILED_PRECONDITION);
  }
  ci_session_close(session);
  ci_close(model);
}

static void test_nobody_is_bound(void) {
  calling c;
  ci_error error;
  CHECK(calling_open(&c, NULL, &error) == CI_OK); /* it blocks neither loading */
  CHECK(calling_run(&c, 4, &error) == CI_FAILED_PRECONDITION);
  CHECK(strstr(error.message, "the host function 'f' is not bound") != NULL);
  calling_close(&c);
}

static void test_the_state_is_busy(void) {
  host h = {.way = RUNS};
  calling c;
  ci_error error;
  CHECK(calling_open(&c, &h, &error) == CI_OK);
  h.session = c.session;
  h.model = c.model;
  ci_state *state = ci_session_state(c.session);
  CHECK(ci_variable_declare(state, &(ci_info){.name = "old", .dtype = CI_FLOAT}, NULL, &error) == CI_OK);
  CHECK(calling_run(&c, 4, &error) == CI_OK);
  CHECK(h.inner == CI_FAILED_PRECONDITION && h.set == CI_FAILED_PRECONDITION);
  CHECK(h.save == CI_FAILED_PRECONDITION && h.declare == CI_FAILED_PRECONDITION);
  CHECK(h.generator == CI_FAILED_PRECONDITION && h.open == CI_FAILED_PRECONDITION);
  CHECK(ci_variable_count(state) == 1 && ci_generator_count(state) == 0);
  h.way = GOOD;
  CHECK(calling_run(&c, 4, &error) == CI_OK);
  calling_close(&c);
}

static void test_every_allocation_may_fail(void) {
  bool failed = true;
  for (long at = 1; failed && at < 1000; at++) {
    host h = {.fail_at = at};
    calling c;
    ci_error error;
    ci_status status = calling_open(&c, &h, &error);
    if (status == CI_OK) status = calling_run(&c, 4, &error);
    failed = h.calls >= at;
    CHECK(failed ? status == CI_RESOURCE_EXHAUSTED || status == CI_OK : status == CI_OK);
    calling_close(&c);
  }
  CHECK(!failed);
}

int main(void) {
  test_results();
  test_failures();
  test_outputs_are_given_in_their_turn();
  test_nobody_is_bound();
  test_the_state_is_busy();
  test_every_allocation_may_fail();
  return CHECK_END;
}
