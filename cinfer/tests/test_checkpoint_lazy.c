/* test_checkpoint_lazy.c - restores that leave variables in their file until they are used. */
#include "system/posix.h"

#include <sys/resource.h>

#include "checkpoints.h"
#include "models.h"

enum { BIG = 1 << 21 };

static const float pair[2] = {5, 7}, other_pair[2] = {1, 2};

static ci_status lazily(ci_state *state, const char *name, ci_error *error) {
  ci_restore_options options = ci_restore_defaults();
  ci_restored restored = {.size = sizeof restored};
  options.verify = CI_VERIFY_LAZY;
  return ci_restore_with(state, in_folder(name), &options, &restored, error);
}

/* Mapped data files of checkpoints; -1: this system does not list them. */
static int mapped_files(void) {
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[1024];
  int count = 0;
  if (!maps) return -1;
  while (fgets(line, sizeof line, maps)) count += strstr(line, ".safetensors") != NULL;
  fclose(maps);
  return count;
}

#define CHECK_MAPPED(expected)                         \
  do {                                                 \
    const int found_files = mapped_files();            \
    CHECK(found_files < 0 || found_files == expected); \
  } while (0)

/* Flips a bit of the first occurrence of these bytes in the only data file. */
static void damage(const void *bytes, size_t size) {
  size_t length, at = 0;
  const char *name = find_file(".data-");
  unsigned char *data = load_file(name, &length);
  while (at + size < length && memcmp(data + at, bytes, size) != 0) at++;
  CHECK(at + size <= length);
  data[at] ^= 1;
  store_file(name, data, length);
  free(data);
}

static ci_status view(ci_state *state, const char *name, ci_error *error) {
  ci_tensor value;
  return ci_variable_view(state, ci_variable_index(state, name), &value, error);
}

static bool names_both(const ci_error *error, const char *variable) {
  return strstr(error->message, variable) && strstr(error->message, in_folder("a"));
}

/* ---- states ---- */

static void test_what_is_restored_lazily_is_the_same(void) {
  ci_state *state = full_state(), *other = new_state(), *third = new_state();
  ci_error error;
  CHECK(save_as(state, "a", 1, 40, 0) == CI_OK);
  CHECK(lazily(other, "a", &error) == CI_OK && is_full(other));
  CHECK(save_as(other, "b", 2, 0, 0) == CI_OK);
  CHECK(lazily(other, "b", &error) == CI_OK && ci_restore(third, in_folder("b"), NULL, &error) == CI_OK);
  remove_all(); /* the mapped files live on */
  CHECK(is_full(other) && is_full(third));
  CHECK(save_as(other, "c", 3, 0, 0) == CI_OK && ci_restore(state, in_folder("c"), NULL, &error) == CI_OK);
  CHECK(is_full(state));
  ci_state_close(state);
  ci_state_close(other);
  ci_state_close(third);
  CHECK_MAPPED(0);
  remove_all();
}

static void test_damage_is_found_by_whoever_looks(void) {
  ci_state *state = full_state(), *other = new_state();
  ci_error error;
  CHECK(save_as(state, "a", 1, 0, 0) == CI_OK);
  damage(weights, sizeof weights);
  CHECK(ci_restore(other, in_folder("a"), NULL, &error) == CI_DATA_LOSS);
  CHECK(lazily(other, "a", &error) == CI_OK);
  CHECK(same_bytes(other, "halves", halves, sizeof halves) && same_bytes(other, "global_step", &step_value, 8));
  for (int again = 0; again < 2; again++) CHECK(view(other, "net/w", &error) == CI_DATA_LOSS);
  CHECK(names_both(&error, "net/w"));
  CHECK(ci_save(other, NULL, in_folder("b"), 1, &error) == CI_DATA_LOSS && names_both(&error, "net/w"));
  CHECK(!find_file("b.") && !find_file("tmp-"));
  give(other, "net/w", CI_FLOAT, 2, 2, 3, weights);
  CHECK(is_full(other) && save_as(other, "b", 1, 0, 0) == CI_OK);
  ci_state_close(state);
  ci_state_close(other);
  remove_all();
}

/* One variable, whose value is in a file. */
static ci_assignment one_in_file(const int *variable, const ci_tensor *value, const ci_in_file *source,
                                 const char *const *path) {
  return (ci_assignment){
      .variables = variable, .values = value, .variable_count = 1, .in_file = source, .files = path, .file_count = 1};
}

static void test_a_bool_that_is_none_is_damage(void) {
  static const uint8_t wrong[70] = {2};
  ci_state *state = new_state();
  ci_error error;
  const int variable = declare(state, "flags", CI_BOOL, 1, 70, 0);
  const ci_tensor value = {.dtype = CI_BOOL, .rank = 1, .dims = {70}};
  const ci_in_file source = {0, ci_crc32c(0, wrong, sizeof wrong), 0};
  store_file("a", wrong, sizeof wrong);
  const char *path = in_folder("a");
  const ci_assignment requested = one_in_file(&variable, &value, &source, &path);
  CHECK(ci_state_assign(state, &requested, &error) == CI_OK);
  CHECK(view(state, "flags", &error) == CI_DATA_LOSS && names_both(&error, "flags"));
  ci_state_close(state);
  remove_all();
}

static void test_headers_and_lengths_are_checked_at_once(void) {
  ci_state *state = full_state(), *other = new_state();
  ci_error error;
  size_t size;
  CHECK(save_as(state, "a", 1, 0, 0) == CI_OK);
  char name[256];
  snprintf(name, sizeof name, "%s", find_file(".data-"));
  unsigned char *data = load_file(name, &size);
  store_file(name, data, size - 1);
  CHECK(lazily(other, "a", &error) == CI_DATA_LOSS);
  data[20] ^= 1;
  store_file(name, data, size);
  CHECK(lazily(other, "a", &error) == CI_DATA_LOSS && strstr(error.message, "header"));
  CHECK(ci_variable_count(other) == 0);
  unlink(in_folder(name));
  CHECK(lazily(other, "a", &error) == CI_DATA_LOSS);
  CHECK_MAPPED(0);
  free(data);
  ci_state_close(state);
  ci_state_close(other);
  remove_all();
}

static void test_there_is_no_other_way_to_verify(void) {
  ci_state *state = new_state();
  ci_restore_options options = ci_restore_defaults();
  ci_error error;
  options.verify = CI_VERIFY_LAZY + 1;
  CHECK(ci_restore_with(state, in_folder("a"), &options, NULL, &error) == CI_INVALID_ARGUMENT);
  ci_state_close(state);
}

static void test_a_mapping_ends_with_its_last_variable(void) {
  ci_state *state = new_state(), *other = new_state();
  ci_error error;
  give(state, "v", CI_FLOAT, 1, 2, 0, pair);
  give(state, "w", CI_FLOAT, 1, 16, 0, halves);
  CHECK(save_as(state, "a", 1, 0, 0) == CI_OK && lazily(other, "a", &error) == CI_OK);
  CHECK_MAPPED(1);
  give(other, "v", CI_FLOAT, 1, 2, 0, other_pair);
  CHECK(same_bytes(other, "v", other_pair, sizeof pair));
  CHECK_MAPPED(1);
  give(other, "w", CI_FLOAT, 1, 16, 0, halves);
  CHECK_MAPPED(0);
  CHECK(lazily(other, "a", &error) == CI_OK && lazily(other, "a", &error) == CI_OK);
  CHECK_MAPPED(1);
  CHECK(ci_restore(other, in_folder("a"), NULL, &error) == CI_OK && same_bytes(other, "v", pair, sizeof pair));
  CHECK_MAPPED(0);
  ci_state_close(state);
  ci_state_close(other);
  remove_all();
}

/* ---- values in files of any kind ---- */

enum { OTHER_OFFSET = 64, RAGGED_OFFSET = 130 };

static const char *write_numbers(void) {
  unsigned char data[RAGGED_OFFSET + sizeof weights] = {0};
  memcpy(data + OTHER_OFFSET, pair, sizeof pair);
  memcpy(data + RAGGED_OFFSET, weights, sizeof weights);
  store_file("numbers", data, sizeof data);
  return in_folder("numbers");
}

static ci_status assign_from(ci_state *state, ci_in_file v, ci_in_file w, const char *path, ci_error *error) {
  const int variables[2] = {ci_variable_index(state, "v"), ci_variable_index(state, "w")};
  const ci_tensor values[2] = {{.dtype = CI_FLOAT, .rank = 1, .dims = {2}},
                               {.dtype = CI_FLOAT, .rank = 1, .dims = {6}}};
  const ci_in_file sources[2] = {v, w};
  const ci_assignment requested = {.variables = variables,
                                   .values = values,
                                   .variable_count = 2,
                                   .in_file = sources,
                                   .files = &path,
                                   .file_count = 1,
                                   .checkpoint = "of mine"};
  return ci_state_assign(state, &requested, error);
}

static void test_values_are_taken_from_any_file(void) {
  ci_state *state = new_state();
  ci_error error;
  declare(state, "v", CI_FLOAT, 1, 2, 0);
  declare(state, "w", CI_FLOAT, 1, 6, 0);
  const ci_in_file v = {0, ci_crc32c(0, pair, sizeof pair), OTHER_OFFSET};
  const ci_in_file w = {0, ci_crc32c(0, weights, sizeof weights), RAGGED_OFFSET};
  const ci_in_file no_v = {1, v.crc32c, v.offset}, no_w = {0, w.crc32c, RAGGED_OFFSET + 4};
  const ci_in_file far_w = {0, w.crc32c, UINT64_MAX - 3}, bad_v = {0, v.crc32c ^ 1, v.offset};
  const ci_in_file bad_w = {0, w.crc32c ^ 1, w.offset};
  const char *path = write_numbers();
  CHECK(assign_from(state, no_v, w, path, &error) == CI_INVALID_ARGUMENT);
  CHECK(assign_from(state, v, w, "no such file", &error) == CI_NOT_FOUND);
  CHECK(assign_from(state, v, no_w, path, &error) == CI_DATA_LOSS);
  CHECK(strstr(error.message, "variable 'w' needs 24 bytes at 134 of 'numbers', which has 154"));
  CHECK(assign_from(state, v, far_w, path, &error) == CI_DATA_LOSS);
  CHECK(strstr(error.message, "'w' needs 24 bytes at 18446744073709551612 of"));
  CHECK(assign_from(state, v, bad_w, path, &error) == CI_DATA_LOSS &&
        strstr(error.message, "'w' in checkpoint 'of mine'"));
  CHECK(!ci_variable_initialized(state, 0) && !ci_variable_initialized(state, 1));
  CHECK(assign_from(state, bad_v, w, path, &error) == CI_OK && same_bytes(state, "w", weights, sizeof weights));
  CHECK(view(state, "v", &error) == CI_DATA_LOSS && strstr(error.message, "'v' in checkpoint 'of mine'"));
  CHECK(assign_from(state, v, w, path, &error) == CI_OK);
  CHECK(same_bytes(state, "v", pair, sizeof pair) && same_bytes(state, "w", weights, sizeof weights));
  ci_state_close(state);
  remove_all();
}

/* Without memory to map a file it is read; without memory to read it the call fails and changes nothing. */
static void test_an_assignment_from_files_may_have_no_memory(void) {
  const ci_in_file v = {0, ci_crc32c(0, pair, sizeof pair), OTHER_OFFSET};
  const ci_in_file w = {0, ci_crc32c(0, weights, sizeof weights), RAGGED_OFFSET};
  const char *path = write_numbers();
  int refused = 0;
  for (long left = 0, rest = 0; rest == 0; left++) {
    meter m = {-1, 0};
    ci_state *state = metered_state(&m);
    ci_error error;
    declare(state, "v", CI_FLOAT, 1, 2, 0);
    declare(state, "w", CI_FLOAT, 1, 6, 0);
    m.left = left;
    const ci_status status = assign_from(state, v, w, path, &error);
    rest = m.left;
    m.left = -1;
    refused += status == CI_RESOURCE_EXHAUSTED;
    CHECK(status == CI_OK || (status == CI_RESOURCE_EXHAUSTED && !ci_variable_initialized(state, 0)));
    CHECK(status == CI_OK || assign_from(state, v, w, path, &error) == CI_OK);
    CHECK(same_bytes(state, "v", pair, sizeof pair) && same_bytes(state, "w", weights, sizeof weights));
    ci_state_close(state);
    CHECK(m.blocks == 0);
  }
  CHECK(refused > 2);
  remove_all();
}

static void test_a_value_without_elements_lies_anywhere_in_a_file(void) {
  const int variable = 0;
  const ci_tensor value = {.dtype = CI_FLOAT, .rank = 1, .dims = {0}};
  const ci_in_file source = {0, 0, OTHER_OFFSET};
  const char *path = write_numbers();
  const ci_assignment requested = one_in_file(&variable, &value, &source, &path);
  ci_state *state = new_state();
  ci_error error;
  declare(state, "none", CI_FLOAT, -1, 0, 0);
  CHECK(ci_state_assign(state, &requested, &error) == CI_OK && ci_variable_initialized(state, 0));
  CHECK(same_bytes(state, "none", pair, 0));
  ci_state_close(state);
  remove_all();
}

static void test_strings_are_not_taken_from_files(void) {
  ci_state *state = new_state();
  ci_error error;
  declare(state, "text", CI_STRING, 0, 0, 0);
  const int variable = 0;
  const ci_tensor value = {.dtype = CI_STRING};
  const ci_in_file source = {0, 0, 0};
  const char *path = write_numbers();
  ci_assignment requested = one_in_file(&variable, &value, &source, NULL);
  CHECK(ci_state_assign(state, &requested, &error) == CI_INVALID_ARGUMENT);
  requested.files = &path;
  CHECK(ci_state_assign(state, &requested, &error) == CI_INVALID_ARGUMENT && strstr(error.message, "'text'"));
  path = "nowhere/numbers";
  CHECK(ci_state_assign(state, &requested, &error) == CI_NOT_FOUND && strstr(error.message, "nowhere"));
  ci_state_close(state);
  remove_all();
}

/* Elements of half a byte are packed in a file, but not in a variable. */
static void test_packed_numbers_are_not_taken_from_files(void) {
  ci_state *state = new_state();
  ci_error error;
  declare(state, "packed", CI_INT4, 1, 2, 0);
  const int variable = 0;
  const ci_tensor value = {.dtype = CI_INT4, .rank = 1, .dims = {2}};
  const ci_in_file source = {0, 0, 0};
  const char *path = write_numbers();
  const ci_assignment requested = one_in_file(&variable, &value, &source, &path);
  CHECK(ci_state_assign(state, &requested, &error) == CI_INVALID_ARGUMENT && strstr(error.message, "'packed'"));
  ci_state_close(state);
  remove_all();
}

/* ---- memory and handles ---- */

static size_t taken;

static void *counted_alloc(void *user, size_t bytes, size_t align) {
  (void)user;
  taken += bytes;
  return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void counted_release(void *user, void *memory, size_t bytes) {
  (void)user, (void)bytes;
  free(memory);
}

static void test_no_memory_is_taken_for_the_values(void) {
  ci_state_options options = ci_state_defaults();
  ci_state *state = new_state(), *other = NULL;
  ci_error error;
  float *numbers = calloc(BIG, sizeof *numbers);
  options.allocator = (ci_allocator){NULL, counted_alloc, counted_release};
  CHECK(numbers && ci_state_open(&options, &other, &error) == CI_OK);
  for (int i = 0; numbers && i < BIG; i++) numbers[i] = (float)i;
  give(state, "big", CI_FLOAT, 1, BIG, 0, numbers);
  CHECK(save_as(state, "a", 1, 0, 0) == CI_OK);
  taken = 0;
  CHECK(lazily(other, "a", &error) == CI_OK && same_bytes(other, "big", numbers, BIG * sizeof *numbers));
  CHECK(taken < BIG * sizeof *numbers * 3 / 4); /* the buffer of one read */
  taken = 0;
  CHECK(ci_restore(other, in_folder("a"), NULL, &error) == CI_OK && taken > BIG * sizeof *numbers);
  free(numbers);
  ci_state_close(state);
  ci_state_close(other);
  remove_all();
}

static void test_more_data_files_than_handles(void) {
  ci_state *state = new_state();
  ci_error error;
  struct rlimit before, few;
  char name[32];
  for (int i = 0; i < 100; i++) {
    const float numbers[2] = {(float)i, -1};
    snprintf(name, sizeof name, "v%d", i);
    give(state, name, CI_FLOAT, 1, 2, 0, numbers);
  }
  CHECK(save_as(state, "a", 1, 1, 0) == CI_OK && find_file("-of-00100"));
  ci_state_close(state);
  CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
  few = before;
  few.rlim_cur = 16;
  CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
  for (int lazy = 0; lazy < 2; lazy++) {
    state = new_state();
    CHECK((lazy ? lazily(state, "a", &error) : ci_restore(state, in_folder("a"), NULL, &error)) == CI_OK);
    for (int i = 0; i < 100; i++) {
      const float numbers[2] = {(float)i, -1};
      snprintf(name, sizeof name, "v%d", i);
      CHECK(same_bytes(state, name, numbers, sizeof numbers));
    }
    CHECK(save_as(state, "b", 2, 1, 0) == CI_OK);
    ci_state_close(state);
  }
  CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
  while (list_files().count > 0) remove_all();
}

/* Every allocation fails once. */
static void test_memory_that_runs_out_changes_nothing(void) {
  ci_state *state = full_state();
  ci_error error;
  CHECK(save_as(state, "a", 1, 30, 0) == CI_OK);
  ci_state_close(state);
  ci_status status = CI_RESOURCE_EXHAUSTED;
  for (long allowed = 0; allowed < 1000 && status != CI_OK; allowed++) {
    meter m = {-1, 0};
    state = metered_state(&m);
    m.left = allowed;
    status = lazily(state, "a", &error);
    CHECK(status == CI_OK ? ci_variable_count(state) == 6 : status == CI_RESOURCE_EXHAUSTED);
    CHECK(status == CI_OK || ci_variable_count(state) == 0);
    m.left = -1;
    CHECK(status != CI_OK || is_full(state));
    ci_state_close(state);
    CHECK(m.blocks == 0);
  }
  CHECK(status == CI_OK);
  CHECK_MAPPED(0);
  remove_all();
}

/* ---- runs ---- */

typedef struct run_case {
  ci_model *model;
  ci_session *session;
  ci_state *state;
} run_case;

static run_case open_case(void) {
  run_case c = {.state = new_state()};
  ci_error error;
  CHECK(ci_open_memory(model_everything, sizeof model_everything, NULL, &c.model, &error) == CI_OK);
  CHECK(ci_session_open(c.model, c.state, NULL, &c.session, &error) == CI_OK);
  return c;
}

static void close_case(run_case *c) {
  ci_session_close(c->session);
  ci_close(c->model);
  ci_state_close(c->state);
}

static ci_status run(run_case *c, const char *signature, const float *x, ci_tensor *outputs, ci_error *error) {
  const int s = ci_signature(c->model, signature);
  const ci_tensor input = {(void *)(uintptr_t)x, 4 * sizeof *x, CI_FLOAT, 1, {4}};
  for (int i = 0; i < ci_output_count(c->model, s); i++) outputs[i] = (ci_tensor){0};
  return ci_run(c->session, s, &input, ci_input_count(c->model, s), outputs, ci_output_count(c->model, s), error);
}

static bool is_at(const run_case *c, float first) {
  const float expected[2] = {first, first + 2};
  return same_bytes(c->state, "v", expected, sizeof expected);
}

static void save_case(const float *free_value) {
  run_case c = open_case();
  give(c.state, "v", CI_FLOAT, 1, 2, 0, pair);
  give(c.state, "free", CI_FLOAT, 1, 4, 0, free_value);
  CHECK(save_as(c.state, "a", 1, 0, 0) == CI_OK);
  close_case(&c);
}

static void test_runs_train_on_from_a_mapped_file(void) {
  const float x[4] = {9, 8, 7, 6};
  ci_tensor outputs[3];
  ci_error error;
  save_case(x);
  run_case c = open_case();
  CHECK(run(&c, "step", x, outputs, &error) == CI_OK && lazily(c.state, "a", &error) == CI_OK);
  CHECK_MAPPED(1);
  CHECK(run(&c, "step", x, outputs, &error) == CI_OK && is_at(&c, 6));
  CHECK(((const float *)outputs[0].data)[1] == 7 && ((const float *)outputs[1].data)[1] == 8);
  CHECK(run(&c, "alone", x, outputs, &error) == CI_OK && memcmp(outputs[0].data, x, sizeof x) == 0);
  CHECK(run(&c, "step", x, outputs, &error) == CI_OK && is_at(&c, 7));
  CHECK_MAPPED(1);
  CHECK(run(&c, "keep", x, outputs, &error) == CI_OK && run(&c, "step", x, outputs, &error) == CI_OK && is_at(&c, 8));
  CHECK_MAPPED(0); /* mappings of the run before are gone now */
  CHECK(lazily(c.state, "a", &error) == CI_OK && run(&c, "step", x, outputs, &error) == CI_OK && is_at(&c, 6));
  close_case(&c);
  CHECK_MAPPED(0);
  remove_all();
}

static void test_a_run_that_reads_damage_does_nothing(void) {
  const float x[4] = {9, 8, 7, 6};
  ci_tensor outputs[3];
  ci_error error;
  ci_generator before = {0, 0}, after = {1, 1};
  save_case(x);
  damage(pair, sizeof pair);
  run_case c = open_case();
  CHECK(run(&c, "step", x, outputs, &error) == CI_OK && lazily(c.state, "a", &error) == CI_OK);
  CHECK(ci_generator_get(c.state, 0, &before, NULL) == CI_OK);
  for (int again = 0; again < 2; again++) {
    CHECK(run(&c, "step", x, outputs, &error) == CI_DATA_LOSS && names_both(&error, "'v'"));
    CHECK(run(&c, "alone", x, outputs, &error) == CI_OK && memcmp(outputs[0].data, x, sizeof x) == 0);
  }
  CHECK(ci_generator_get(c.state, 0, &after, NULL) == CI_OK && after.counter == before.counter);
  CHECK(view(c.state, "v", &error) == CI_DATA_LOSS);
  give(c.state, "v", CI_FLOAT, 1, 2, 0, other_pair);
  CHECK(run(&c, "step", x, outputs, &error) == CI_OK);
  close_case(&c);
  remove_all();
}

static void test_a_run_may_assign_over_damage(void) {
  const float x[4] = {9, 8, 7, 6}, y[4] = {1, 2, 3, 4};
  ci_tensor outputs[3];
  ci_error error;
  save_case(x);
  damage(x, sizeof x);
  run_case c = open_case();
  CHECK(lazily(c.state, "a", &error) == CI_OK);
  CHECK(run(&c, "alone", y, outputs, &error) == CI_DATA_LOSS && names_both(&error, "'free'"));
  CHECK(run(&c, "keep", y, outputs, &error) == CI_OK && same_bytes(c.state, "free", y, sizeof y));
  CHECK(run(&c, "alone", y, outputs, &error) == CI_OK);
  close_case(&c);
  remove_all();
}

int main(void) {
  if (!mkdtemp(folder)) return 2;
  test_what_is_restored_lazily_is_the_same();
  test_damage_is_found_by_whoever_looks();
  test_a_bool_that_is_none_is_damage();
  test_headers_and_lengths_are_checked_at_once();
  test_there_is_no_other_way_to_verify();
  test_a_mapping_ends_with_its_last_variable();
  test_values_are_taken_from_any_file();
  test_an_assignment_from_files_may_have_no_memory();
  test_a_value_without_elements_lies_anywhere_in_a_file();
  test_strings_are_not_taken_from_files();
  test_packed_numbers_are_not_taken_from_files();
  test_no_memory_is_taken_for_the_values();
  test_more_data_files_than_handles();
  test_memory_that_runs_out_changes_nothing();
  test_runs_train_on_from_a_mapped_file();
  test_a_run_that_reads_damage_does_nothing();
  test_a_run_may_assign_over_damage();
  remove_all();
  CHECK(rmdir(folder) == 0);
  return CHECK_END;
}
