/* test_planning.c - S5, S8: the memory and work of planning are charged for any file, and a call that plans or opens
 * can be ended. */
#include <stdlib.h>

#include "check.h"
#include "plan/compile.h"
#include "untrusted_plans.h"

enum { MEGABYTE = 1 << 20, WIDE = 1 << 14 /* numbers of a vector of 64 KB */ };

/* ---- sessions whose memory is counted, and which can be ended at an allocation ---- */

typedef struct meter {
  size_t now, most;
  long left; /* allocations until `end` is called; 0: never */
  void (*end)(struct meter *m);
  ci_session *session;
  ci_cancel_token token;
} meter;

static void *meter_alloc(void *user, size_t bytes, size_t align) {
  meter *m = user;
  if (m->left > 0 && --m->left == 0) m->end(m);
  m->now += bytes;
  if (m->now > m->most) m->most = m->now;
  return aligned_alloc(align, ci_round_up(bytes, align));
}

static void meter_release(void *user, void *memory, size_t bytes) {
  ((meter *)user)->now -= bytes;
  free(memory);
}

static ci_model *open_family(void (*write)(ci_out *graph, ci_out *model, size_t n), size_t n) {
  const untrusted_family family = {"", write, CI_OK, false};
  ci_out file = untrusted_model(&family, n);
  ci_options options = ci_defaults();
  ci_error error;
  ci_model *model = NULL;
  options.limits.max_load = 100;
  if (ci_open_memory(file.data, file.length, &options, &model, &error) != CI_OK) fprintf(stderr, "%s\n", error.message);
  ci_out_free(&file);
  return model;
}

static ci_session *open_session(ci_model *model, meter *m, uint64_t max_memory, uint64_t deadline) {
  ci_session_options options = ci_session_defaults();
  options.allocator = (ci_allocator){m, meter_alloc, meter_release};
  options.limits.max_memory = max_memory;
  options.deadline = deadline;
  CHECK(ci_session_open(model, NULL, &options, &m->session, NULL) == CI_OK);
  return m->session;
}

static ci_status run(ci_session *session, ci_error *error) {
  static float x[2] = {1, 2};
  const ci_tensor input = {x, sizeof x, CI_FLOAT, 1, {2}};
  ci_tensor output = {0};
  return ci_run(session, 0, &input, 1, &output, 1, error);
}

static void close_both(ci_session *session, ci_model *model, const meter *m) {
  ci_session_close(session);
  ci_close(model);
  CHECK(m->now == 0);
}

/* ---- memory ---- */

static void known_wide(ci_out *graph, ci_out *model, size_t n) { plans_known(graph, model, n, WIDE); }

/* 200 vectors of 64 KB are computed while planning, of which two are there at a time. */
static void test_what_is_computed_ahead_goes_when_no_step_reads_it(void) {
  meter m = {0};
  ci_model *model = open_family(known_wide, 100);
  ci_session *session = open_session(model, &m, 0, 0);
  CHECK(run(session, NULL) == CI_OK);
  CHECK(m.most < 8 * WIDE * sizeof(float));
  const ci_plan *plan = session->plans.at[0];
  CHECK(plan->root.steps.count == 0); /* and all of them were */
  close_both(session, model, &m);
}

static void test_plans_are_charged_to_the_limit_of_memory(void) {
  meter m = {0};
  ci_error error;
  ci_model *model = open_family(plans_chain, 4000);
  ci_session *session = open_session(model, &m, MEGABYTE, 0);
  session->granted = 0;
  CHECK(run(session, &error) == CI_RESOURCE_EXHAUSTED);
  CHECK(strstr(error.message, "the session's limit is 1048576") != NULL);
  CHECK(strstr(error.message, "raise the limit max_memory") != NULL);
  CHECK(m.most <= MEGABYTE + 1024); /* the state has its own */
  session->limits.max_memory = 1 << 24;
  CHECK(run(session, &error) == CI_OK);
  close_both(session, model, &m);
}

/* A limit that is meant for values does not keep a model from being planned. */
static void test_plans_have_at_least_what_a_load_may_take(void) {
  meter m = {0};
  ci_model *model = open_family(plans_chain, 1000);
  ci_session *session = open_session(model, &m, 256, 0);
  CHECK(session->granted > MEGABYTE && run(session, NULL) == CI_OK);
  close_both(session, model, &m);
}

static void pieces(ci_out *graph, ci_out *model, size_t n) {
  ci_out signature = {0};
  (void)n;
  untrusted_bind(&signature, CI_PB_SIGNATURE_INPUT, "x", "-x");
  untrusted_bind(&signature, CI_PB_SIGNATURE_OUTPUT, "y", "b");
  untrusted_x(graph);
  untrusted_step(graph, CI_PB_GRAPH_NODE, "c", "Shape", "-x", NULL);
  untrusted_step(graph, CI_PB_GRAPH_NODE, "b", "Expand", "-x", "c");
  untrusted_add(model, CI_PB_MODEL_SIGNATURE, &signature);
}

/* Each shape has a separate plan: those that no run uses make way for the new one. */
static void test_plans_of_other_shapes_make_way(void) {
  meter m = {0};
  float x[200] = {0};
  ci_model *model = open_family(pieces, 1);
  ci_session *session = open_session(model, &m, 0, 0);
  for (int64_t rank = 1; rank <= 12; rank++) {
    ci_tensor input = {x, sizeof x, CI_FLOAT, (int32_t)rank, {0}}, output = {0};
    for (int64_t d = 0; d < rank; d++) input.dims[d] = 1;
    CHECK(ci_run(session, 0, &input, 1, &output, 1, NULL) == CI_OK);
    if (rank == 3) session->limits.max_memory = session->planned + session->arena_bytes, session->granted = 0;
    CHECK(rank < 3 || session->planned + session->arena_bytes <= session->limits.max_memory);
  }
  CHECK(session->plans.count >= 1 && session->plans.count <= 3);
  close_both(session, model, &m);
}

/* ---- work ---- */

/* MatMuls of one constant matrix, each small and of many multiplications. */
static void gemm(ci_out *graph, ci_out *model, size_t n) {
  static const int64_t side = 16;
  ci_out sum = untrusted_node("-y", "Sum", 13);
  untrusted_x(graph);
  plans_constant(graph, CI_PB_GRAPH_NODE, "-one", CI_FLOAT, &(float){1}, sizeof(float));
  plans_constant(graph, CI_PB_GRAPH_NODE, "-side", CI_INT64, &side, sizeof side);
  untrusted_step(graph, CI_PB_GRAPH_NODE, "-shape", "Concat", "-side", "-side");
  untrusted_step(graph, CI_PB_GRAPH_NODE, "-wide", "Expand", "-one", "-shape");
  for (size_t i = 0; i < n; i++) {
    char name[16];
    untrusted_step(graph, CI_PB_GRAPH_NODE, untrusted_name(name, i), "MatMul", "-wide", "-wide");
    untrusted_string(&sum, CI_PB_NODE_INPUT, name);
  }
  untrusted_ends(graph, CI_PB_GRAPH_NODE, &sum);
  ci_out signature = untrusted_signature("-y");
  untrusted_add(model, CI_PB_MODEL_SIGNATURE, &signature);
}

static void test_a_plan_computes_ahead_in_proportion_to_its_file(void) {
  meter m = {0};
  ci_model *model = open_family(gemm, 2000);
  ci_session *session = open_session(model, &m, 0, 0);
  CHECK(run(session, NULL) == CI_OK);
  const size_t left = session->plans.at[0]->root.steps.count;
  CHECK(left > 1900 && left < 2000); /* most are left to the run */
  close_both(session, model, &m);
}

/* Nodes that have a shape only once the same constant is read. */
static void selections(ci_out *graph, ci_out *model, size_t n) {
  static const char yes[4096] = {1};
  ci_out tensor = {0}, node = untrusted_node("-c", "Constant", 13), signature = untrusted_signature("-x");
  untrusted_x(graph);
  ci_out_field_varint(&tensor, CI_PB_TENSOR_DTYPE, CI_BOOL);
  ci_out_field_packed(&tensor, CI_PB_TENSOR_DIMS, (const int64_t[]){sizeof yes}, 1);
  ci_out_field_bytes(&tensor, CI_PB_TENSOR_DATA, yes, sizeof yes);
  untrusted_attribute(&node, "value", CI_PB_ATTRIBUTEVALUE_T, &tensor);
  ci_out_free(&tensor);
  untrusted_outputs(&node, 1);
  untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
  for (size_t i = 0; i < n; i++) {
    char name[16];
    node = untrusted_node(untrusted_name(name, i), "NonZero", 13);
    untrusted_string(&node, CI_PB_NODE_INPUT, "-c");
    untrusted_outputs(&node, 1);
    untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
    untrusted_string(&signature, CI_PB_SIGNATURE_TARGET, name);
  }
  untrusted_add(model, CI_PB_MODEL_SIGNATURE, &signature);
}

static void test_a_plan_reads_values_for_shapes_in_proportion_to_its_file(void) {
  meter m = {0};
  size_t left = 0;
  ci_model *model = open_family(selections, 1000);
  ci_session *session = open_session(model, &m, 0, 0);
  CHECK(run(session, NULL) == CI_OK);
  const ci_plan *plan = session->plans.at[0];
  for (size_t s = 0; s < plan->all_steps.count; s++) left += plan->all_steps.at[s]->dynamic;
  CHECK(left > 800 && left < 1000); /* most have their shape in the run */
  close_both(session, model, &m);
}

static void split(ci_out *graph, ci_out *model, size_t n) {
  ci_out node = untrusted_node("a", "SplitToSequence", 11), sequence = {0}, type = {0}, element = untrusted_float();
  (void)n;
  untrusted_x(graph);
  untrusted_string(&node, CI_PB_NODE_INPUT, "-x");
  untrusted_add(&sequence, CI_PB_TYPE_SEQUENCE, &element);
  ci_out_bytes(&type, sequence.data, sequence.length);
  ci_out_free(&sequence);
  untrusted_add(&node, CI_PB_NODE_OUTPUT_TYPE, &type);
  untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
  ci_out signature = untrusted_signature("-x");
  untrusted_string(&signature, CI_PB_SIGNATURE_TARGET, "a");
  untrusted_add(model, CI_PB_MODEL_SIGNATURE, &signature);
}

/* 2^50 of them: to go through them would take days. */
static void test_pieces_of_a_long_axis_are_counted_without_going_through_them(void) {
  meter m = {0};
  ci_error error;
  ci_model *model = open_family(split, 1);
  ci_session *session = open_session(model, &m, 0, 0);
  const ci_tensor input = {NULL, 0, CI_FLOAT, 1, {INT64_C(1) << 50}};
  CHECK(ci_reserve(session, 0, &input, 1, &error) == CI_RESOURCE_EXHAUSTED);
  CHECK(run(session, &error) == CI_OK); /* two pieces */
  close_both(session, model, &m);
}

static const char *const loop_names[] = {"a", "b", "c", "d", "e"};
enum { LOOP_DEPTH = sizeof loop_names / sizeof *loop_names };

/* A loop whose carried value grows, around another one, which knows the shape that it begins with. */
static void write_loops(ci_out *graph, uint32_t field, size_t depth, size_t n) {
  ci_out body = {0}, type = untrusted_float(), loop;
  char text[4][8], last[20], other[20];
  for (int i = 0; i < 4; i++) snprintf(text[i], sizeof text[i], "%s%c", loop_names[depth], "icxy"[i]);
  for (int i = 0; i < 3; i++) {
    ci_out argument = {0};
    untrusted_string(&argument, CI_PB_ARGUMENT_NAME, text[i]);
    ci_out_field_message(&argument, CI_PB_ARGUMENT_TYPE, &type);
    untrusted_add(&body, CI_PB_GRAPH_INPUT, &argument);
  }
  ci_out_free(&type);
  snprintf(last, sizeof last, "%s", text[2]);
  for (size_t i = 0; i < n; i++) {
    char name[16];
    snprintf(name, sizeof name, "%s%d", loop_names[depth], (int)i);
    untrusted_step(&body, CI_PB_GRAPH_NODE, name, "Neg", last, NULL);
    memcpy(last, name, sizeof name);
  }
  memcpy(other, last, sizeof other);
  if (depth + 1 < LOOP_DEPTH) {
    untrusted_string(&body, CI_PB_GRAPH_CAPTURE, "-one");
    untrusted_string(&body, CI_PB_GRAPH_CAPTURE, "-x");
    untrusted_string(&body, CI_PB_GRAPH_CAPTURE, "-yes");
    write_loops(&body, CI_PB_GRAPH_NODE, depth + 1, n);
    snprintf(other, sizeof other, "%sl", loop_names[depth + 1]);
  }
  untrusted_step(&body, CI_PB_GRAPH_NODE, text[3], "Concat", last, other);
  untrusted_string(&body, CI_PB_GRAPH_OUTPUT, text[1]);
  untrusted_string(&body, CI_PB_GRAPH_OUTPUT, text[3]);
  snprintf(last, sizeof last, "%sl", loop_names[depth]);
  loop = untrusted_node(last, "Loop", 13);
  untrusted_string(&loop, CI_PB_NODE_INPUT, "-one");
  untrusted_string(&loop, CI_PB_NODE_INPUT, "-yes");
  untrusted_string(&loop, CI_PB_NODE_INPUT, "-x");
  untrusted_attribute(&loop, "body", CI_PB_ATTRIBUTEVALUE_G, &body);
  ci_out_free(&body);
  untrusted_ends(graph, field, &loop);
}

static void loops(ci_out *graph, ci_out *model, size_t n) {
  untrusted_x(graph);
  plans_constant(graph, CI_PB_GRAPH_NODE, "-one", CI_INT64, &(int64_t){1}, sizeof(int64_t));
  plans_constant(graph, CI_PB_GRAPH_NODE, "-yes", CI_BOOL, "\1", 1);
  write_loops(graph, CI_PB_GRAPH_NODE, 0, n);
  ci_out signature = untrusted_signature("al");
  untrusted_add(model, CI_PB_MODEL_SIGNATURE, &signature);
}

/* Without the results of earlier attempts, a body would be compiled 2^depth times, and others 3^depth. */
static void test_bodies_within_bodies_are_compiled_a_few_times_each(void) {
  meter m = {0};
  ci_error error;
  ci_model *model = open_family(loops, 20);
  CHECK(model != NULL);
  ci_session *session = open_session(model, &m, 0, 0);
  const ci_status status = run(session, &error);
  if (status != CI_OK) fprintf(stderr, "%s\n", error.message);
  CHECK(status == CI_OK);
  CHECK(session->plans.at[0]->all_steps.count <= 6 * model->nodes.count);
  close_both(session, model, &m);
}

/* ---- calls that end early ---- */

static void end_session(meter *m) { ci_cancel(m->session); }
static void end_token(meter *m) { ci_cancel_token_set(&m->token, 1); }
static void end_never(meter *m) { (void)m; }

static void test_cancel_ends_planning_before_the_next_node(void) {
  meter m = {.end = end_session};
  ci_error error;
  ci_model *model = open_family(plans_chain, 4000);
  ci_session *session = open_session(model, &m, 0, 0);
  m.left = 30;
  CHECK(run(session, &error) == CI_CANCELLED && m.left == 0);
  CHECK(strstr(error.message, "was cancelled") != NULL && error.node[0] != '\0');
  CHECK(session->plans.count == 0 && session->stats.allocations < 60);
  CHECK(run(session, &error) == CI_OK); /* the next call begins again */
  close_both(session, model, &m);
}

/* Wherever it comes: at the n-th allocation of a session that is opened again. */
static void test_cancel_at_any_moment_of_planning(void) {
  ci_model *model = open_family(plans_chain, 50);
  long ended = 0;
  for (bool over = false; !over; ended++) {
    meter m = {.end = end_session};
    ci_session *session = open_session(model, &m, 0, 0);
    m.left = ended + 1;
    const ci_status status = run(session, NULL);
    over = m.left > 0;
    CHECK(status == (over ? CI_OK : CI_CANCELLED));
    CHECK(run(session, NULL) == CI_OK);
    ci_session_close(session);
    CHECK(m.now == 0);
  }
  CHECK(ended > 20);
  ci_close(model);
}

static void test_a_deadline_ends_planning_and_runs(void) {
  meter m = {0};
  ci_error error;
  ci_model *model = open_family(plans_chain, 4000);
  ci_session *session = open_session(model, &m, 0, 0);
  CHECK(ci_session_set_deadline(session, 1, &error) == CI_OK);
  CHECK(run(session, &error) == CI_DEADLINE_EXCEEDED && session->plans.count == 0);
  CHECK(strstr(error.message, "took longer than its deadline") != NULL);
  CHECK(ci_session_set_deadline(session, 0, &error) == CI_OK && run(session, &error) == CI_OK);
  CHECK(ci_session_set_deadline(session, 1, &error) == CI_OK);
  CHECK(run(session, &error) == CI_DEADLINE_EXCEEDED && session->plans.count == 1); /* it was planned before */
  CHECK(ci_session_set_deadline(session, UINT64_MAX, &error) == CI_OK && run(session, &error) == CI_OK);
  CHECK(ci_session_set_deadline(NULL, 1, &error) == CI_INVALID_ARGUMENT);
  close_both(session, model, &m);
}

static ci_status open_with(meter *m, uint64_t deadline, ci_error *error) {
  const untrusted_family family = {"", plans_chain, CI_OK, false};
  ci_out file = untrusted_model(&family, 4000);
  ci_options options = ci_defaults();
  ci_model *model = NULL;
  options.allocator = (ci_allocator){m, meter_alloc, meter_release};
  options.limits.max_load = 100;
  options.cancel = &m->token;
  options.deadline = deadline;
  const ci_status status = ci_open_memory(file.data, file.length, &options, &model, error);
  CHECK((status == CI_OK) == (model != NULL));
  ci_close(model);
  ci_out_free(&file);
  return status;
}

static void test_a_token_ends_an_open(void) {
  meter m = {.end = end_token, .left = 4};
  ci_error error;
  CHECK(open_with(&m, 0, &error) == CI_CANCELLED && m.left == 0 && m.now == 0);
  CHECK(strstr(error.message, "opening the model was cancelled") != NULL);
  CHECK(open_with(&m, 0, &error) == CI_CANCELLED); /* it stays set until it is set back */
  ci_cancel_token_set(&m.token, 0);
  CHECK(open_with(&m, 0, &error) == CI_OK);
}

static void test_a_deadline_ends_an_open(void) {
  meter m = {.end = end_never};
  ci_error error;
  CHECK(open_with(&m, 1, &error) == CI_DEADLINE_EXCEEDED && m.now == 0);
  CHECK(strstr(error.message, "took longer than its deadline") != NULL);
  CHECK(open_with(&m, UINT64_MAX, &error) == CI_OK);
}

/* The state that it would have joined is as it was. */
static void test_a_deadline_ends_the_opening_of_a_session(void) {
  ci_session_options options = ci_session_defaults();
  ci_session *session;
  ci_state *state;
  ci_error error;
  ci_model *model = open_family(plans_training, 100);
  options.deadline = 1;
  CHECK(ci_state_open(NULL, &state, NULL) == CI_OK);
  CHECK(ci_session_open(model, state, &options, &session, &error) == CI_DEADLINE_EXCEEDED && session == NULL);
  CHECK(ci_variable_count(state) == 0);
  options.deadline = 0;
  CHECK(ci_session_open(model, state, &options, &session, &error) == CI_OK && ci_variable_count(state) == 100);
  ci_session_close(session);
  ci_state_close(state);
  ci_close(model);
}

typedef struct host { /* returns at the n-th call that the library's call has to end */
  int asks, end_at;
} host;

static int32_t host_interrupts(void *user) {
  host *h = user;
  return ++h->asks == h->end_at;
}

/* Without waiting for the time between two questions: the clock is made to say that it has come. */
static void test_an_interrupt_of_the_host_ends_a_run(void) {
  host h = {.end_at = 2};
  ci_stop stop = {.pace = 0};
  CHECK(ci_stop_set(&stop, 0, NULL, (ci_interrupt){&h, host_interrupts}, NULL) == CI_OK);
  ci_stop_begin(&stop);
  CHECK(!ci_stop_look(&stop) && h.asks == 0); /* short calls never ask */
  stop.ask_at = 1;
  CHECK(!ci_stop_look(&stop) && h.asks == 1);
  CHECK(!ci_stop_look(&stop) && h.asks == 1);
  stop.ask_at = 1;
  CHECK(ci_stop_look(&stop) && h.asks == 2 && ci_stop_status(&stop) == CI_CANCELLED);
  ci_stop_begin(&stop);
  CHECK(!ci_stop_requested(&stop));
}

static void test_a_reason_stays_until_the_next_call(void) {
  ci_stop stop = {.pace = 0};
  CHECK(ci_stop_set(&stop, 1, NULL, (ci_interrupt){NULL, NULL}, NULL) == CI_OK);
  ci_stop_begin(&stop);
  while (!ci_stop_requested(&stop)) continue;
  for (int i = 0; i < 100; i++) CHECK(ci_stop_requested(&stop) && ci_stop_status(&stop) == CI_DEADLINE_EXCEEDED);
  CHECK(ci_stop_set(&stop, 0, NULL, (ci_interrupt){NULL, NULL}, NULL) == CI_OK);
  ci_stop_begin(&stop);
  CHECK(!ci_stop_requested(&stop));
}

int main(void) {
  test_what_is_computed_ahead_goes_when_no_step_reads_it();
  test_plans_are_charged_to_the_limit_of_memory();
  test_plans_have_at_least_what_a_load_may_take();
  test_plans_of_other_shapes_make_way();
  test_a_plan_computes_ahead_in_proportion_to_its_file();
  test_a_plan_reads_values_for_shapes_in_proportion_to_its_file();
  test_pieces_of_a_long_axis_are_counted_without_going_through_them();
  test_bodies_within_bodies_are_compiled_a_few_times_each();
  test_cancel_ends_planning_before_the_next_node();
  test_cancel_at_any_moment_of_planning();
  test_a_deadline_ends_planning_and_runs();
  test_a_token_ends_an_open();
  test_a_deadline_ends_an_open();
  test_a_deadline_ends_the_opening_of_a_session();
  test_an_interrupt_of_the_host_ends_a_run();
  test_a_reason_stays_until_the_next_call();
  return CHECK_END;
}
