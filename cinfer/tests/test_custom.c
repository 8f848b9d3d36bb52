/* test_custom.c - custom operators: their inputs, their outputs, their errors. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "cinfer.h"
#include "untrusted_plans.h"
#include "models.h"

typedef enum own_way {
  GOOD,
  FAILS,
  FAILS_SILENTLY,
  NO_STATUS,
  BAD_RANK,
  BAD_TYPE,
  WRONG_KIND,
  WAITS,
  VARIES,
  GREEDY,
  NUMBERED,
  ABORTS,
  ENDLESS,
  ASKS_AT_RUN,
  CALLS_BACK
} own_way;

typedef struct own { /* how the operators behave */
  own_way way;
  int shapes, runs;
  size_t scratch; /* GREEDY: so much */
  long fail_at, calls; /* of the allocator */
  ci_session *session; /* CALLS_BACK: the session that it runs and plans, and the statuses of these calls */
  ci_status ran, planned;
} own;

static void *own_alloc(void *user, size_t bytes, size_t align) {
  own *o = user;
  (void)align;
  return ++o->calls == o->fail_at ? NULL : aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void own_release(void *user, void *memory, size_t bytes) {
  (void)user;
  (void)bytes;
  free(memory);
}

static void own_calls_back(own *o, int64_t size) {
  float x[8] = {0};
  int64_t n = 2;
  const ci_tensor inputs[2] = {{x, sizeof x, CI_FLOAT, 1, {size}}, {&n, sizeof n, CI_INT64, 0, {0}}};
  ci_tensor outputs[3] = {{0}};
  o->way = GOOD; /* a call that got so far would not call back for ever */
  o->ran = ci_run(o->session, 0, inputs, 2, outputs, 3, NULL);
  o->planned = ci_reserve(o->session, 0, inputs, 2, NULL);
}

static ci_status scale_shape(void *user, ci_call *call, ci_error *error) {
  own *o = user;
  o->shapes++;
  CHECK(call->size == sizeof *call && call->version == 3 && call->input_count == 1 && call->output_count == 1);
  CHECK((call->inputs[0].data == NULL || o->way == WAITS) && error != NULL);
  call->outputs[0] = call->inputs[0];
  call->scratch_bytes = 100;
  if (o->way == VARIES && call->inputs[0].dims[0] % 2 == 1) {
    call->outputs[0].dtype = CI_INT32;
    call->scratch_bytes = 0;
  }
  if (o->way == GREEDY) call->scratch_bytes = o->scratch;
  if (o->way == BAD_RANK) call->outputs[0].rank = 17;
  if (o->way == BAD_TYPE) call->outputs[0].dtype = CI_STRING;
  if (o->way == WAITS) return CI_AT_RUN;
  if (o->way == CALLS_BACK) own_calls_back(o, 8);
  return CI_OK;
}

typedef struct scale_job {
  const float *x;
  float *y, by;
} scale_job;

static void scale_part(void *argument, int64_t begin, int64_t end) {
  const scale_job *j = argument;
  for (int64_t i = begin; i < end; i++) j->y[i] = j->x[i] * j->by;
}

static void scale_attributes(const ci_call *call) {
  const ci_services *s = call->services;
  const int64_t *ints;
  const float *floats;
  const char *text;
  size_t length;
  int32_t count;
  int64_t number;
  CHECK(s->has(call, "by") == 1 && s->has(call, "other") == 0);
  CHECK(s->get_int(call, "other", 7, &number) == CI_OK && number == 7);
  CHECK(s->get_ints(call, "axes", &ints, &count) == CI_OK && count == 2 && ints[1] == 2);
  CHECK(s->get_floats(call, "other", &floats, &count) == CI_OK && count == -1);
  CHECK(s->get_string(call, "how", &text, &length) == CI_OK && length == 2 && memcmp(text, "up", 2) == 0);
  CHECK(s->dtype_size(CI_FLOAT) == 4 && strcmp(s->dtype_name(CI_FLOAT), "float32") == 0);
}

static ci_status scale_run(void *user, ci_call *call, ci_error *error) {
  own *o = user;
  double by;
  int64_t wrong;
  o->runs++;
  scale_attributes(call);
  if (call->scratch_bytes > 0) memset(call->scratch, 7, call->scratch_bytes);
  if (o->way == FAILS) return snprintf(error->message, sizeof error->message, "over"), CI_OUT_OF_RANGE;
  if (o->way == FAILS_SILENTLY) return CI_UNAVAILABLE;
  if (o->way == NO_STATUS) return -7;
  if (o->way == NUMBERED) return snprintf(error->message, sizeof error->message, "mine"), 77;
  if (o->way == ABORTS) return 10;
  if (o->way == ENDLESS) return memset(error->message, 'x', sizeof error->message), CI_INTERNAL;
  if (o->way == ASKS_AT_RUN) return CI_AT_RUN;
  if (o->way == CALLS_BACK) own_calls_back(o, 4);
  if (o->way == WRONG_KIND) return call->services->get_int(call, "by", 0, &wrong);
  CHECK(call->services->get_float(call, "by", 1.0, &by) == CI_OK);
  scale_job job = {call->inputs[0].data, call->outputs[0].data, (float)by};
  call->services->parallel(call, call->inputs[0].dims[0], 2, scale_part, &job);
  return CI_OK;
}

static ci_status first_shape(void *user, ci_call *call, ci_error *error) {
  const int64_t *n = call->inputs[1].data;
  (void)user;
  (void)error;
  if (n == NULL) return CI_AT_RUN;
  call->outputs[0] = (ci_tensor){.dtype = CI_FLOAT, .rank = 1, .dims = {*n}};
  return CI_OK;
}

static ci_status first_run(void *user, ci_call *call, ci_error *error) {
  (void)user;
  (void)error;
  CHECK(call->scratch == NULL);
  if (call->outputs[0].bytes > call->inputs[0].bytes) return CI_OUT_OF_RANGE;
  if (call->outputs[0].bytes > 0) memcpy(call->outputs[0].data, call->inputs[0].data, call->outputs[0].bytes);
  return CI_OK;
}

typedef struct opened { /* a model in a session, and its inputs and outputs */
  ci_operator scale, first;
  const ci_operator *all[2];
  ci_options options;
  ci_model *model;
  ci_session *session;
  float x[8];
  int64_t n;
  ci_tensor outputs[3];
} opened;

static void opened_fill(opened *c, own *o) {
  const ci_operator made = {.size = sizeof(ci_operator),
                            .domain = "com.example",
                            .name = "Scale",
                            .since = 2,
                            .min_inputs = 1,
                            .max_inputs = 1,
                            .min_outputs = 1,
                            .max_outputs = 1,
                            .user = o,
                            .shape = scale_shape,
                            .run = scale_run};
  memset(c, 0, sizeof *c);
  c->scale = c->first = made;
  c->first.name = "First";
  c->first.since = 1, c->first.until = 1;
  c->first.min_inputs = c->first.max_inputs = 2;
  c->first.shape = first_shape, c->first.run = first_run;
  c->all[0] = &c->scale, c->all[1] = &c->first;
  c->options = ci_defaults();
  c->options.operators = c->all, c->options.operator_count = 2;
  if (o->fail_at > 0) c->options.allocator = (ci_allocator){o, own_alloc, own_release};
}

static ci_status opened_start(opened *c, ci_error *error) {
  ci_session_options options = ci_session_defaults();
  options.allocator = c->options.allocator;
  options.threads = 2;
  const ci_status status = ci_open_memory(model_own, sizeof model_own, &c->options, &c->model, error);
  return status == CI_OK ? ci_session_open(c->model, NULL, &options, &c->session, error) : status;
}

static ci_status opened_run(opened *c, int64_t size, int64_t n, ci_error *error) {
  for (int i = 0; i < 8; i++) c->x[i] = (float)i + 1;
  c->n = n;
  ci_tensor inputs[2] = {{c->x, (size_t)size * sizeof(float), CI_FLOAT, 1, {size}}, {&c->n, 8, CI_INT64, 0, {0}}};
  memset(c->outputs, 0, sizeof c->outputs);
  return ci_run(c->session, 0, inputs, 2, c->outputs, 3, error);
}

static void opened_close(opened *c) {
  ci_session_close(c->session);
  ci_close(c->model);
}

static void test_results(void) {
  own o = {.way = GOOD};
  opened c;
  ci_error error;
  opened_fill(&c, &o);
  CHECK(opened_start(&c, &error) == CI_OK);
  for (int64_t n = 8; n >= 0; n--) {
    CHECK(opened_run(&c, 8, n, &error) == CI_OK);
    const float *scaled = c.outputs[0].data, *sum = c.outputs[2].data;
    CHECK(c.outputs[0].dims[0] == 8 && scaled[7] == 16.0f);
    CHECK(c.outputs[1].dims[0] == n && c.outputs[2].dims[0] == n);
    CHECK(n == 0 || sum[n - 1] == 4.0f * (float)n);
  }
  CHECK(o.shapes == 1 && o.runs == 9);
  CHECK(opened_run(&c, 4, 5, &error) == CI_OUT_OF_RANGE);
  CHECK(strstr(error.message, "First 'first'") != NULL);
  CHECK(strstr(error.message, "run of operator com.example.First failed") != NULL);
  opened_close(&c);
}

static void test_failures(void) {
  static const struct {
    own_way way;
    ci_status status;
    const char *words;
  } rows[] = {
      {FAILS, CI_OUT_OF_RANGE, "Scale 'scaled' (make.py:3 in build): over"},
      {FAILS_SILENTLY, CI_UNAVAILABLE, "run of operator com.example.Scale failed"},
      {NO_STATUS, CI_UNKNOWN, "run of operator com.example.Scale returned -7, which is not a status"},
      {NUMBERED, CI_UNKNOWN, "run of operator com.example.Scale returned 77, which is not a status of cinfer.h: mine"},
      {ABORTS, 10, "run of operator com.example.Scale failed"},
      {ENDLESS, CI_INTERNAL, "make.py:3 in build): xxxxxxxx"},
      {ASKS_AT_RUN, CI_UNKNOWN, "run of operator com.example.Scale returned -1"},
      {WRONG_KIND, CI_INVALID_ARGUMENT, "attribute by is not an integer"},
      {BAD_RANK, CI_INVALID_ARGUMENT, "gives float32 of rank 17 for output 0"},
      {BAD_TYPE, CI_INVALID_ARGUMENT, "gives string of rank 1 for output 0"},
      {WAITS, CI_UNKNOWN, "returned CI_AT_RUN, but the numbers of all its inputs are known"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    own o = {.way = rows[i].way};
    opened c;
    ci_error error;
    opened_fill(&c, &o);
    CHECK(opened_start(&c, &error) == CI_OK);
    CHECK(opened_run(&c, 4, 2, &error) == rows[i].status);
    CHECK(strstr(error.message, rows[i].words) != NULL);
    CHECK(opened_run(&c, 4, 2, NULL) == rows[i].status);
    o.way = GOOD;
    CHECK(opened_run(&c, rows[i].way == WAITS ? 5 : 4, 2, &error) == CI_OK);
    opened_close(&c);
  }
}

/* A plan that is being made and a run that goes on are not begun a second time by functions that they call. */
static void test_a_function_may_not_use_the_session_that_calls_it(void) {
  own o = {.way = GOOD};
  opened c;
  ci_error error;
  opened_fill(&c, &o);
  CHECK(opened_start(&c, &error) == CI_OK);
  o.session = c.session;
  CHECK(opened_run(&c, 4, 2, &error) == CI_OK);
  o.way = CALLS_BACK; /* from run: the shape is planned */
  CHECK(opened_run(&c, 4, 2, &error) == CI_OK);
  CHECK(o.ran == CI_FAILED_PRECONDITION && o.planned == CI_FAILED_PRECONDITION);
  const ci_tensor inputs[2] = {{c.x, sizeof c.x, CI_FLOAT, 1, {7}}, {&c.n, sizeof c.n, CI_INT64, 0, {0}}};
  for (int with_outputs = 0; with_outputs < 2; with_outputs++) {
    ci_model *model = c.model;
    ci_session *before = c.session;
    CHECK(ci_session_open(model, NULL, NULL, &c.session, &error) == CI_OK); /* one that has no plan to fit */
    ci_session_close(before);
    o = (own){.way = CALLS_BACK, .session = c.session};
    CHECK((with_outputs ? ci_infer_outputs(c.session, 0, inputs, 2, c.outputs, 3, &error)
                        : ci_reserve(c.session, 0, inputs, 2, &error)) == CI_OK);
    CHECK(o.ran == CI_FAILED_PRECONDITION && o.planned == CI_FAILED_PRECONDITION);
  }
  CHECK(opened_run(&c, 4, 2, &error) == CI_OK);
  opened_close(&c);
}

static void test_scratch_has_a_limit(void) {
  const size_t sizes[] = {SIZE_MAX,         SIZE_MAX - 61, SIZE_MAX - 62,   SIZE_MAX - 63,
                          SIZE_MAX / 2 + 1, PTRDIFF_MAX,   PTRDIFF_MAX / 2, (size_t)1 << 20 | 1};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    for (int large = 0; large < 2; large++) {
      own o = {.way = GREEDY, .scratch = sizes[i]};
      ci_session_options options = ci_session_defaults();
      opened c;
      ci_error error;
      opened_fill(&c, &o);
      options.limits.max_memory = large ? UINT64_MAX : 1 << 20;
      if (large && i + 1 == sizeof sizes / sizeof *sizes) continue; /* that is within it */
      CHECK(ci_open_memory(model_own, sizeof model_own, &c.options, &c.model, &error) == CI_OK);
      CHECK(ci_session_open(c.model, NULL, &options, &c.session, &error) == CI_OK);
      CHECK(opened_run(&c, 4, 2, &error) == CI_RESOURCE_EXHAUSTED && o.runs == 0);
      CHECK(strstr(error.message, "Scale 'scaled' (make.py:3 in build): scratch memory of") != NULL);
      opened_close(&c);
    }
  }
}

/* Plans are fitted to new shapes of the same signature; where the types differ, too, they are rebuilt. */
static void test_types_may_depend_on_shapes(void) {
  enum { SIZES = 32 };
  own o = {.way = VARIES};
  opened c;
  ci_error error;
  float x[SIZES + 1] = {1.0f, 2.0f};
  opened_fill(&c, &o);
  CHECK(ci_open_memory(model_chain, sizeof model_chain, &c.options, &c.model, &error) == CI_OK);
  CHECK(ci_session_open(c.model, NULL, NULL, &c.session, &error) == CI_OK);
  for (int64_t size = SIZES; size > 0; size--) {
    const ci_tensor input = {x, sizeof x, CI_FLOAT, 1, {size % 7 < 2 ? size : 2 * (size / 2) + 1}};
    ci_tensor outputs[2] = {{0}};
    CHECK(ci_run(c.session, 0, &input, 1, outputs, 2, &error) == CI_OK);
    CHECK(outputs[1].dtype == (input.dims[0] % 2 == 1 ? CI_INT32 : CI_FLOAT) && outputs[1].dims[0] == input.dims[0]);
  }
  ci_stats stats = {.size = sizeof stats};
  ci_session_stats(c.session, &stats);
  CHECK(stats.refits > 0 && stats.refits < stats.plans);
  opened_close(&c);
}

static void test_declarations_are_checked(void) {
  own o = {.way = GOOD};
  opened c;
  ci_error error;
  char too_long[202] = {0};
  memset(too_long, 'a', sizeof too_long - 1);
#define REFUSED(change, words)                                                 \
  do {                                                                         \
    opened_fill(&c, &o);                                                       \
    change;                                                                    \
    CHECK(opened_start(&c, &error) == CI_INVALID_ARGUMENT && c.model == NULL); \
    CHECK(strstr(error.message, words) != NULL);                               \
  } while (0)
  REFUSED(c.scale.domain = "graphio", "the domain belongs to the library");
  REFUSED(c.scale.domain = "", "domain and name");
  REFUSED(c.scale.domain = NULL, "domain and name");
  REFUSED(c.scale.name = "", "domain and name");
  REFUSED(c.scale.name = too_long, "domain and name");
  REFUSED(c.scale.size = 8, "sizeof(ci_operator)");
  REFUSED(c.all[1] = NULL, "operator 1 of ci_options");
  REFUSED(c.scale.since = 0, "versions");
  REFUSED((c.scale.since = 3, c.scale.until = 2), "versions");
  REFUSED(c.scale.min_inputs = -1, "inputs");
  REFUSED(c.scale.min_inputs = 128, "inputs");
  REFUSED(c.scale.max_inputs = 200, "inputs");
  REFUSED(c.scale.max_inputs = -2, "inputs");
  REFUSED(c.scale.min_outputs = 2, "outputs");
  REFUSED((c.scale.min_outputs = 2, c.scale.max_outputs = -1), "1 outputs, expected 2 to 2147483647");
  REFUSED(c.scale.run = NULL, "shape or run is NULL");
  REFUSED(c.scale.shape = NULL, "shape or run is NULL");
  REFUSED(c.options.operator_count = -1, "-1 operators");
  REFUSED(c.options.operator_count = 1 << 17, "131072 operators");
  REFUSED(c.options.operators = NULL, "their addresses");
  opened_fill(&c, &o);
  c.scale.until = 2; /* the node is of version 3 */
  CHECK(opened_start(&c, &error) == CI_UNIMPLEMENTED);
  CHECK(strstr(error.message, "com.example.Scale version 3") != NULL);
  opened_fill(&c, &o);
  c.scale.name = "Scole"; /* as long as the node's, and not the same */
  CHECK(opened_start(&c, &error) == CI_UNIMPLEMENTED);
  opened_fill(&c, &o);
  c.scale.domain = "com.exampla";
  CHECK(opened_start(&c, &error) == CI_UNIMPLEMENTED);
  opened_fill(&c, &o);
  c.scale.max_inputs = -1;
  CHECK(opened_start(&c, &error) == CI_OK);
  opened_close(&c);
}

static void test_every_allocation_may_fail(void) {
  bool failed = true;
  for (long at = 1; failed && at < 1000; at++) {
    own o = {.fail_at = at};
    opened c;
    ci_error error;
    opened_fill(&c, &o);
    ci_status status = opened_start(&c, &error);
    if (status == CI_OK) status = opened_run(&c, 4, 2, &error);
    failed = o.calls >= at;
    CHECK(failed ? status == CI_RESOURCE_EXHAUSTED || status == CI_OK : status == CI_OK);
    opened_close(&c);
  }
  CHECK(!failed);
}

static ci_status watch_shape(void *user, ci_call *call, ci_error *error) {
  (void)user, (void)error;
  return call->output_count == 0 ? CI_OK : CI_INTERNAL;
}

static ci_status watch_run(void *user, ci_call *call, ci_error *error) {
  (void)error;
  *(float *)user += *(const float *)call->inputs[0].data;
  return CI_OK;
}

/* It is run each time, though its inputs are known while planning. */
static void test_an_operator_may_have_no_outputs(void) {
  ci_out graph = {0}, message = {0}, tensor = {0}, signature = untrusted_signature("-x");
  ci_out constant = untrusted_node("-c", "Constant", 13), watch = untrusted_node("-w", "Watch", 1);
  float seen = 0, x[1] = {1};
  const ci_operator own_watch = {.size = sizeof(ci_operator),
                                 .domain = "com.example",
                                 .name = "Watch",
                                 .since = 1,
                                 .min_inputs = 1,
                                 .max_inputs = 1,
                                 .user = &seen,
                                 .shape = watch_shape,
                                 .run = watch_run};
  const ci_operator *all[] = {&own_watch};
  ci_options options = ci_defaults();
  ci_model *model = NULL;
  ci_session *session = NULL;
  ci_tensor input = {x, sizeof x, CI_FLOAT, 1, {1}}, output = {0};
  ci_out_field_varint(&tensor, CI_PB_TENSOR_DTYPE, CI_FLOAT);
  ci_out_field_bytes(&tensor, CI_PB_TENSOR_DATA, (const float[]){2}, 4);
  untrusted_attribute(&constant, "value", CI_PB_ATTRIBUTEVALUE_T, &tensor);
  ci_out_free(&tensor);
  untrusted_x(&graph);
  untrusted_ends(&graph, CI_PB_GRAPH_NODE, &constant);
  untrusted_string(&watch, CI_PB_NODE_DOMAIN, "com.example");
  untrusted_string(&watch, CI_PB_NODE_INPUT, "-c");
  untrusted_add(&graph, CI_PB_GRAPH_NODE, &watch);
  untrusted_string(&signature, CI_PB_SIGNATURE_TARGET, "-w");
  untrusted_add(&message, CI_PB_MODEL_GRAPH, &graph);
  untrusted_add(&message, CI_PB_MODEL_SIGNATURE, &signature);
  ci_out file = untrusted_file(&message);
  options.operators = all, options.operator_count = 1;
  CHECK(ci_open_memory(file.data, file.length, &options, &model, NULL) == CI_OK);
  CHECK(ci_session_open(model, NULL, NULL, &session, NULL) == CI_OK);
  for (int run = 1; run <= 3; run++)
    CHECK(ci_run(session, 0, &input, 1, &output, 1, NULL) == CI_OK && seen == 2.0f * (float)run);
  ci_session_close(session);
  ci_close(model);
  ci_out_free(&file);
}

int main(void) {
  test_results();
  test_failures();
  test_a_function_may_not_use_the_session_that_calls_it();
  test_scratch_has_a_limit();
  test_types_may_depend_on_shapes();
  test_declarations_are_checked();
  test_every_allocation_may_fail();
  test_an_operator_may_have_no_outputs();
  return CHECK_END;
}
