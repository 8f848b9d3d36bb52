/* test_kernel.c - S7, S8, S12: the arguments of the kernel API are checked for every kernel. */
#include <string.h>

#include "check.h"
#include "cinfer.h"
#include "models.h"
#include "plan/pack.h"
#include "session/session.h"

enum { LIMIT = 1 << 20, MORE = 1 << 17 };

static ci_session *open_session(ci_model **model) {
  static float x[8];
  const ci_tensor input = {x, sizeof x, CI_FLOAT, 2, {2, 4}};
  ci_session_options options = ci_session_defaults();
  ci_session *session = NULL;
  options.limits.max_memory = LIMIT;
  CHECK(ci_open_memory(model_perceptron, sizeof model_perceptron, NULL, model, NULL) == CI_OK);
  CHECK(ci_session_open(*model, NULL, &options, &session, NULL) == CI_OK);
  CHECK(ci_reserve(session, 0, &input, 1, NULL) == CI_OK);
  return session;
}

/* The MatMul of x and a constant: two inputs, one output. */
static ci_kernel *find_matmul(ci_session *session) {
  const ci_plan *plan = session->plans.at[0];
  for (size_t i = 0; i < plan->all_steps.count; i++)
    if (plan->all_steps.at[i]->node->kernel->run == ci_run_matmul) return &plan->all_steps.at[i]->k;
  return NULL;
}

static void test_outputs_have_limits(ci_kernel *k) {
  const struct {
    int32_t dtype, rank;
    int64_t dims[CI_MAX_RANK + 1];
    ci_status status;
  } rows[] = {
      {CI_FLOAT, 2, {2, 3}, CI_OK},
      {CI_FLOAT, 0, {0}, CI_OK},
      {CI_FLOAT, 3, {0, INT64_MAX, INT64_MAX}, CI_OK},
      {0, 1, {1}, CI_UNIMPLEMENTED},
      {CI_SEQUENCE, 1, {1}, CI_UNIMPLEMENTED},
      {CI_FLOAT, -1, {1}, CI_INVALID_ARGUMENT},
      {CI_FLOAT, CI_MAX_RANK + 1, {1}, CI_INVALID_ARGUMENT},
      {CI_FLOAT, 2, {2, -3}, CI_INVALID_ARGUMENT},
      {CI_FLOAT, 1, {LIMIT}, CI_RESOURCE_EXHAUSTED},
      {CI_FLOAT, 1, {INT64_MAX / 4}, CI_RESOURCE_EXHAUSTED},
      {CI_FLOAT, 2, {INT64_MAX, INT64_MAX}, CI_RESOURCE_EXHAUSTED},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    CHECK(ci_k_out(k, 0, rows[i].dtype, rows[i].rank, rows[i].dims) == rows[i].status);
  CHECK(ci_k_out_sequence(k, 0, LIMIT + 1) == CI_RESOURCE_EXHAUSTED && ci_k_out_sequence(k, 0, LIMIT) == CI_OK);
  CHECK(ci_k_out_like(k, 0, CI_SEQUENCE, k->in[0]) == CI_UNIMPLEMENTED); /* of a tensor's shape */
  CHECK(ci_k_out(k, 0, CI_FLOAT, 2, rows[0].dims) == CI_OK);
}

static bool is_zero(const char *memory, size_t bytes) {
  bool zero = true;
  for (size_t i = 0; i < bytes; i++) zero = zero && memory[i] == 0;
  return zero;
}

/* Private memory is separate, zeroed each time, and as much as the session may have. */
static void test_private_memory(ci_kernel *k) {
  static const size_t sizes[] = {100, 50, 300, MORE, 10};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    char *one = ci_k_private(k, sizes[i]), *other = ci_k_private_more(k, sizes[i]);
    CHECK(one != NULL && other != NULL && one != other && is_zero(one, sizes[i]) && is_zero(other, sizes[i]));
    memset(one, 1, sizes[i]);
    memset(other, 1, sizes[i]);
  }
  CHECK(ci_k_private(k, LIMIT + 1) == NULL);
  CHECK(ci_k_private(k, 100) != NULL);
}

static void test_inputs_that_are_not_there_are_not_known(ci_kernel *k) {
  ci_value *weights = k->in[1];
  CHECK(ci_k_version(k) == 1 && ci_k_has(k, "alpha") == false);
  CHECK(!ci_k_known(k, 0) && ci_k_known(k, 1) && !ci_k_known(k, 2) && !ci_k_known(k, 17));
  CHECK(!ci_k_is_constant(k, 0) && ci_k_is_constant(k, 1) && !ci_k_is_constant(k, 2));
  k->in[1] = NULL;
  CHECK(!ci_k_known(k, 1) && !ci_k_is_constant(k, 1));
  k->in[1] = weights;
}

typedef struct count {
  int64_t elements;
  int calls;
} count;

static void count_part(void *argument, int64_t begin, int64_t end, int thread) {
  count *c = argument;
  c->elements += end - begin;
  c->calls += 1 + thread;
}

static void test_parts_cover_everything(ci_kernel *k) {
  static const struct {
    int64_t n, grain;
    int calls;
  } rows[] = {{-1, 1, 0}, {0, 0, 0}, {1, 0, 1}, {7, 0, 1}, {7, 1, 1}, {7, INT64_MAX, 1}, {1 << 20, 1, 1}};
  static float y[6];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    count plain = {0, 0}, by_rows = {0, 0};
    bool one_nan = false;
    ci_k_parallel(k, rows[i].n, rows[i].grain, count_part, &plain);
    CHECK(plain.calls == rows[i].calls && plain.elements == (rows[i].n < 0 ? 0 : rows[i].n));
    k->one_nan = &one_nan;
    CHECK(ci_k_out(k, 0, CI_FLOAT, 1, (const int64_t[]){0}) == CI_OK); /* nothing that could be a NaN */
    ci_k_parallel_rows(k, rows[i].n, rows[i].grain, count_part, &by_rows);
    CHECK(by_rows.elements == plain.elements && !one_nan);
    k->one_nan = NULL;
  }
  count all = {0, 0};
  bool one_nan = false;
  k->out[0]->data = y;
  k->one_nan = &one_nan;
  CHECK(ci_k_out(k, 0, CI_FLOAT, 2, (const int64_t[]){2, 3}) == CI_OK);
  ci_k_parallel_rows(k, 0, 1, count_part, &all);
  CHECK(all.calls == 0 && !one_nan);
  ci_k_parallel_rows(k, 2, 1, count_part, &all);
  CHECK(all.elements == 2 && one_nan);
  k->one_nan = NULL;
}

int main(void) {
  ci_model *model = NULL;
  ci_session *session = open_session(&model);
  ci_kernel *k = find_matmul(session);
  CHECK(k != NULL);
  if (k == NULL) return CHECK_END;
  test_outputs_have_limits(k);
  test_private_memory(k);
  test_inputs_that_are_not_there_are_not_known(k);
  test_parts_cover_everything(k);
  ci_session_close(session);
  ci_close(model);
  return CHECK_END;
}
