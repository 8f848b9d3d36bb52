/* test_state.c - values that a program gives to a state: wrong declarations, views of the state itself. */
#include <string.h>

#include "check.h"
#include "cinfer.h"

static const float numbers[4] = {1, 2, 3, 4}, others[4] = {5, 6, 7, 8};

static ci_state *open_state(void) {
  ci_state *state = NULL;
  CHECK(ci_state_open(NULL, &state, NULL) == CI_OK);
  return state;
}

/* A variable of any shape. */
static int declare(ci_state *state, const char *name, int32_t dtype) {
  const ci_info info = {.name = name, .dtype = dtype, .rank = -1};
  int index = -1;
  CHECK(ci_variable_declare(state, &info, &index, NULL) == CI_OK);
  return index;
}

static int give(ci_state *state, const char *name, const float *values) {
  const ci_tensor value = {(void *)(uintptr_t)values, sizeof numbers, CI_FLOAT, 1, {4}};
  const int index = declare(state, name, CI_FLOAT);
  CHECK(ci_variable_set(state, index, &value, NULL) == CI_OK);
  return index;
}

static ci_tensor view(const ci_state *state, int index) {
  ci_tensor value = {0};
  CHECK(ci_variable_view(state, index, &value, NULL) == CI_OK);
  return value;
}

static ci_status assign_two(ci_state *state, int first, int second, const ci_tensor values[2], ci_error *error) {
  const int variables[2] = {first, second};
  return ci_state_assign(state, &(ci_assignment){.variables = variables, .values = values, .variable_count = 2}, error);
}

/* ---- declaring ---- */

static void test_what_no_variable_can_be_is_refused_for_known_names_too(void) {
  static const struct {
    int32_t dtype, rank;
  } rows[] = {{CI_FLOAT, 17}, {CI_FLOAT, 1000}, {CI_FLOAT, -2}, {CI_FLOAT, INT32_MIN}, {CI_NOTHING, 1}, {99, 1}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ci_state *state = open_state();
    ci_info info = {.name = "v", .dtype = CI_FLOAT, .rank = 16};
    ci_error error = {.message = ""};
    int index = -7;
    CHECK(ci_variable_declare(state, &info, NULL, &error) == CI_OK);
    for (int known = 0; known < 2; known++) {
      info = (ci_info){.name = known ? "v" : "w", .dtype = rows[i].dtype, .rank = rows[i].rank};
      CHECK(ci_variable_declare(state, &info, &index, &error) == CI_INVALID_ARGUMENT);
      CHECK(strstr(error.message, "which no variable can have") && index == -7 && ci_variable_count(state) == 1);
    }
    ci_state_close(state);
  }
}

/* ---- views of the state as its values ---- */

static void test_a_variable_takes_its_own_view_in_another_shape(void) {
  ci_state *state = open_state();
  const int v = give(state, "v", numbers);
  for (int again = 0; again < 2; again++) {
    ci_tensor value = view(state, v);
    value.rank = 2;
    value.dims[0] = value.dims[1] = 2;
    CHECK(ci_variable_set(state, v, &value, NULL) == CI_OK);
    value = view(state, v);
    CHECK(value.rank == 2 && value.dims[1] == 2 && memcmp(value.data, numbers, sizeof numbers) == 0);
  }
  ci_tensor half = view(state, v); /* its second half */
  half.data = (float *)half.data + 2;
  half.bytes /= 2;
  half.rank = 1;
  CHECK(ci_variable_set(state, v, &half, NULL) == CI_OK);
  CHECK(view(state, v).bytes == 2 * sizeof(float) && memcmp(view(state, v).data, numbers + 2, 8) == 0);
  ci_state_close(state);
}

static void test_two_variables_trade_their_values_by_their_views(void) {
  ci_state *state = open_state();
  const int v = give(state, "v", numbers), w = give(state, "w", others);
  CHECK(assign_two(state, v, w, (ci_tensor[2]){view(state, w), view(state, v)}, NULL) == CI_OK);
  CHECK(memcmp(view(state, v).data, others, sizeof others) == 0);
  CHECK(memcmp(view(state, w).data, numbers, sizeof numbers) == 0);
  const ci_tensor wrong = {.data = NULL, .dtype = CI_DOUBLE, .rank = 1, .dims = {0}};
  CHECK(assign_two(state, v, w, (ci_tensor[2]){view(state, w), wrong}, NULL) == CI_INVALID_ARGUMENT);
  CHECK(memcmp(view(state, v).data, others, sizeof others) == 0);
  ci_state_close(state);
}

static void test_strings_are_taken_from_their_own_view(void) {
  const ci_string words[2] = {{"a word that is longer than a pointer", 36}, {NULL, 0}};
  const ci_tensor given = {(void *)(uintptr_t)words, sizeof words, CI_STRING, 1, {2}};
  ci_state *state = open_state();
  const int v = declare(state, "v", CI_STRING), w = declare(state, "w", CI_STRING);
  CHECK(ci_variable_set(state, v, &given, NULL) == CI_OK);
  for (int again = 0; again < 2; again++) {
    const ci_tensor value = view(state, v);
    CHECK(assign_two(state, v, w, (ci_tensor[2]){value, value}, NULL) == CI_OK);
    const ci_string *mine = view(state, v).data, *its = view(state, w).data;
    CHECK(mine[0].length == 36 && memcmp(mine[0].data, words[0].data, 36) == 0 && mine[1].length == 0);
    CHECK(its[0].data != mine[0].data && memcmp(its[0].data, words[0].data, 36) == 0);
  }
  ci_state_close(state);
}

/* ---- memory for values ---- */

static void test_memory_for_a_value_needs_a_state_and_a_pointer(void) {
  ci_state *state = open_state();
  ci_error error;
  void *data = NULL;
  CHECK(ci_state_alloc(NULL, 16, &data, &error) == CI_INVALID_ARGUMENT && strstr(error.message, "state"));
  CHECK(ci_state_alloc(state, 16, NULL, &error) == CI_INVALID_ARGUMENT);
  ci_state_free(NULL, NULL, 16);
  ci_state_free(state, NULL, 16);
  CHECK(ci_state_alloc(state, 16, &data, &error) == CI_OK);
  ci_state_free(state, data, 16);
  ci_state_close(state);
}

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

static void test_older_names_call_the_same_functions(void) {
  ci_state *state = open_state();
  ci_error error;
  void *data = NULL;
  CHECK(ci_state_room(NULL, 16, &data, &error) == CI_INVALID_ARGUMENT && strstr(error.message, "state"));
  CHECK(ci_state_room(state, 16, &data, &error) == CI_OK && data != NULL);
  ci_state_room_free(state, data, 16);
  CHECK(ci_foresee(NULL, 0, NULL, 0, NULL, 0, &error) == CI_INVALID_ARGUMENT && strstr(error.message, "session"));
  CHECK(ci_host_ahead(NULL, 1, NULL) == 0);
  ci_state_close(state);
}

int main(void) {
  test_what_no_variable_can_be_is_refused_for_known_names_too();
  test_a_variable_takes_its_own_view_in_another_shape();
  test_two_variables_trade_their_values_by_their_views();
  test_strings_are_taken_from_their_own_view();
  test_memory_for_a_value_needs_a_state_and_a_pointer();
  test_older_names_call_the_same_functions();
  return CHECK_END;
}
