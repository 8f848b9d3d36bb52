/* test_lent.c - the memory of outputs: the session's, the caller's, or that of inputs; and how long it is valid. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "cinfer.h"
#include "models.h"

enum { LARGE = 4096 }; /* numbers of an output that is computed in the caller's memory */

typedef struct lender {
  ci_model *model;
  ci_session *session;
} lender;

static lender lender_open(void) {
  lender l = {NULL, NULL};
  CHECK(ci_open_memory(model_lent, sizeof model_lent, NULL, &l.model, NULL) == CI_OK);
  CHECK(ci_session_open(l.model, NULL, NULL, &l.session, NULL) == CI_OK);
  return l;
}

static void lender_close(lender *l) {
  ci_session_close(l->session);
  ci_close(l->model);
}

static ci_status lender_run(lender *l, const char *name, const ci_tensor *inputs, ci_tensor *outputs, ci_error *error) {
  const int signature = ci_signature(l->model, name);
  return ci_run(l->session, signature, inputs, ci_input_count(l->model, signature), outputs,
                ci_output_count(l->model, signature), error);
}

/* ---- strings ---- */

static bool text_is(const ci_string *text, const char *expected) {
  return text->length == strlen(expected) && (text->length == 0 || memcmp(text->data, expected, text->length) == 0);
}

static void check_strings(const ci_tensor *outputs) {
  const ci_string *kept = outputs[0].data, *parts = outputs[1].data;
  const ci_tensor *several = outputs[2].data;
  CHECK(outputs[0].dims[0] == 2 && text_is(&kept[0], "alpha beta") && text_is(&kept[1], ""));
  CHECK(outputs[1].rank == 2 && outputs[1].dims[1] == 2 && text_is(&parts[0], "alpha") && text_is(&parts[1], "beta"));
  CHECK(text_is(&parts[2], "") && outputs[2].dims[0] == 2);
  for (int i = 0; i < 2; i++) CHECK(text_is(several[i].data, "alpha beta"));
}

/* Whether the ci_string elements are the session's or the caller's. */
static void test_strings_outlive_those_of_inputs(void) {
  lender l = lender_open();
  for (int own = 0; own < 2; own++) {
    ci_string kept[2], parts[4], *fed = malloc(2 * sizeof *fed);
    char *text = malloc(10);
    CHECK(fed != NULL && text != NULL);
    memcpy(text, "alpha beta", 10);
    fed[0] = (ci_string){text, 10};
    fed[1] = (ci_string){NULL, 0};
    const ci_tensor input = {fed, 2 * sizeof *fed, CI_STRING, 1, {2}};
    ci_tensor outputs[3] = {{0}};
    if (own) outputs[0].data = kept, outputs[0].bytes = sizeof kept;
    if (own) outputs[1].data = parts, outputs[1].bytes = sizeof parts;
    CHECK(lender_run(&l, "texts", &input, outputs, NULL) == CI_OK);
    memset(text, 'x', 10);
    free(text);
    free(fed);
    check_strings(outputs);
  }
  lender_close(&l);
}

static void test_strings_stay_within_the_limit(void) {
  ci_session_options options = ci_session_defaults();
  ci_string fed = {"alpha beta", 10};
  const ci_tensor input = {&fed, sizeof fed, CI_STRING, 1, {1}};
  ci_tensor outputs[3] = {{0}};
  ci_error error;
  lender l = lender_open();
  ci_session_close(l.session);
  options.limits.max_memory = 4096;
  CHECK(ci_session_open(l.model, NULL, &options, &l.session, NULL) == CI_OK);
  CHECK(lender_run(&l, "texts", &input, outputs, NULL) == CI_OK);
  char *text = calloc(5000, 1);
  CHECK(text != NULL);
  fed = (ci_string){text, 5000};
  memset(outputs, 0, sizeof outputs);
  CHECK(lender_run(&l, "texts", &input, outputs, &error) == CI_RESOURCE_EXHAUSTED);
  CHECK(strstr(error.message, "strings of output 'kept'") != NULL);
  free(text);
  lender_close(&l);
}

/* ---- numbers: 2x, x, z, xz ---- */

typedef struct numbers {
  int64_t n;
  float *x, *z, *buffers[4];
  ci_tensor inputs[2], outputs[4];
} numbers;

static float number_of(int64_t i, bool z) { return z ? (float)(i % 5) + 0.5f : (float)(i % 7) - 3.0f; }

static void numbers_make(numbers *c, int64_t n) {
  *c = (numbers){.n = n};
  const size_t bytes = (size_t)n * sizeof(float);
  c->x = aligned_alloc(64, bytes);
  c->z = aligned_alloc(64, bytes);
  CHECK(c->x != NULL && c->z != NULL);
  for (int64_t i = 0; i < n; i++) c->x[i] = number_of(i, false), c->z[i] = number_of(i, true);
  c->inputs[0] = (ci_tensor){c->x, bytes, CI_FLOAT, 1, {n}};
  c->inputs[1] = (ci_tensor){c->z, bytes, CI_FLOAT, 1, {n}};
}

/* Gives output o memory: 0 none, 1 its own, 2 that of x, 3 that of z. */
static void numbers_buffer(numbers *c, int o, int where) {
  const size_t bytes = (size_t)c->n * sizeof(float);
  if (where == 1) c->buffers[o] = aligned_alloc(64, bytes);
  float *const addresses[] = {NULL, c->buffers[o], c->x, c->z};
  c->outputs[o] = (ci_tensor){.data = addresses[where], .bytes = where == 0 ? 0 : bytes};
}

static bool numbers_are_right(const numbers *c) {
  bool right = true;
  for (int64_t i = 0; i < c->n; i++) {
    const float x = number_of(i, false), z = number_of(i, true), expected[] = {x + x, x, z, x * z};
    for (int o = 0; o < 4; o++) right = right && ((const float *)c->outputs[o].data)[i] == expected[o];
  }
  return right;
}

static void numbers_free(numbers *c) {
  for (int o = 0; o < 4; o++) free(c->buffers[o]);
  free(c->x);
  free(c->z);
}

/* All assignments of memory to four outputs where no two have the same: also x where z was, and z where x was. */
static void test_outputs_may_take_the_memory_of_inputs(void) {
  lender l = lender_open();
  for (int way = 0; way < 2 * 4 * 4 * 4 * 4; way++) {
    const int64_t n = way % 2 == 0 ? 16 : LARGE;
    int taken[4] = {0};
    numbers c;
    for (int o = 0; o < 4; o++) taken[way / 2 >> 2 * o & 3]++;
    if (taken[2] > 1 || taken[3] > 1) continue;
    numbers_make(&c, n);
    for (int o = 0; o < 4; o++) numbers_buffer(&c, o, way / 2 >> 2 * o & 3);
    CHECK(lender_run(&l, "numbers", c.inputs, c.outputs, NULL) == CI_OK && numbers_are_right(&c));
    numbers_free(&c);
  }
  lender_close(&l);
}

/* Its bytes begin in those of x, four numbers later. */
static void test_an_output_may_meet_its_own_input(void) {
  lender l = lender_open();
  float *buffer = malloc((LARGE + 4) * sizeof *buffer);
  numbers c;
  CHECK(buffer != NULL);
  numbers_make(&c, LARGE);
  memcpy(buffer, c.x, LARGE * sizeof *buffer);
  c.inputs[0].data = buffer;
  for (int o = 0; o < 4; o++) numbers_buffer(&c, o, o == 1 ? 0 : 1);
  c.outputs[1] = (ci_tensor){.data = buffer + 4, .bytes = LARGE * sizeof *buffer};
  CHECK(lender_run(&l, "numbers", c.inputs, c.outputs, NULL) == CI_OK && numbers_are_right(&c));
  numbers_free(&c);
  free(buffer);
  lender_close(&l);
}

/* ---- borrowed outputs as inputs ---- */

static void refused(lender *l, const char *name, const ci_tensor *inputs) {
  ci_tensor outputs[4] = {{0}};
  ci_error error;
  CHECK(lender_run(l, name, inputs, outputs, &error) == CI_INVALID_ARGUMENT);
  CHECK(strstr(error.message, "input 'x' of signature") != NULL && strstr(error.message, "borrowed") != NULL);
}

static void test_what_is_borrowed_is_no_input(void) {
  lender l = lender_open();
  for (int o = 0; o < 4; o++) { /* in the arena: made there, or copies of the caller's values */
    numbers c;
    numbers_make(&c, LARGE);
    CHECK(lender_run(&l, "numbers", c.inputs, c.outputs, NULL) == CI_OK);
    ci_tensor inputs[2] = {c.outputs[o], c.inputs[1]};
    refused(&l, "numbers", inputs);
    CHECK(numbers_are_right(&c)); /* a run that is refused changes nothing */
    ci_tensor larger[2] = {c.inputs[0], c.inputs[1]};
    larger[0].dims[0] = larger[1].dims[0] = 4 * LARGE * (o + 1);
    CHECK(ci_reserve(l.session, ci_signature(l.model, "numbers"), larger, 2, NULL) == CI_OK);
    refused(&l, "numbers", inputs); /* in an arena that has gone, but for what is borrowed */
    numbers_free(&c);
  }
  lender_close(&l);
}

/* Of a shape that is found in the run, so that it is outside of the arena. */
static void test_what_is_borrowed_of_the_heap_is_no_input(void) {
  lender l = lender_open();
  const float x[4] = {1, 0, 0, 1};
  ci_tensor input = {(void *)(uintptr_t)x, sizeof x, CI_FLOAT, 1, {4}}, output = {0};
  CHECK(lender_run(&l, "counted", &input, &output, NULL) == CI_OK && ((const float *)output.data)[1] == 3.0f);
  input = (ci_tensor){output.data, output.bytes, CI_FLOAT, 1, {2}};
  refused(&l, "counted", &input);
  lender_close(&l);
}

/* Its memory is the caller's: a state that is fed back needs no copy. */
static void test_outputs_of_ones_own_may_be_fed(void) {
  lender l = lender_open();
  float *buffers[2] = {aligned_alloc(64, LARGE * sizeof(float)), aligned_alloc(64, LARGE * sizeof(float))};
  numbers c;
  CHECK(buffers[0] != NULL && buffers[1] != NULL);
  numbers_make(&c, LARGE);
  for (int run = 0; run < 4; run++) {
    memset(c.outputs, 0, sizeof c.outputs);
    c.outputs[0] = (ci_tensor){.data = buffers[run % 2], .bytes = LARGE * sizeof(float)};
    CHECK(lender_run(&l, "numbers", c.inputs, c.outputs, NULL) == CI_OK);
    c.inputs[0] = c.outputs[0];
  }
  CHECK(buffers[1][1] == 16 * number_of(1, false) && buffers[1][0] == 16 * number_of(0, false));
  numbers_free(&c);
  free(buffers[0]);
  free(buffers[1]);
  lender_close(&l);
}

int main(void) {
  test_strings_outlive_those_of_inputs();
  test_strings_stay_within_the_limit();
  test_outputs_may_take_the_memory_of_inputs();
  test_an_output_may_meet_its_own_input();
  test_what_is_borrowed_is_no_input();
  test_what_is_borrowed_of_the_heap_is_no_input();
  test_outputs_of_ones_own_may_be_fed();
  return CHECK_END;
}
