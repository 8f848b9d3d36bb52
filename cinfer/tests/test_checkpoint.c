/* test_checkpoint.c - ci_save and ci_restore: round trip, all-or-nothing, every bit and every length. */
#include "system/posix.h"

#include <signal.h>
#include <sys/resource.h>

#include "checkpoints.h"

/* ---- tests ---- */

static void test_round_trip(void) {
  ci_state *state = full_state(), *other = new_state(), *declared = new_state();
  ci_error error;
  int64_t step = 0;
  CHECK(ci_save(state, NULL, in_folder("model-77"), 77, &error) == CI_OK);
  CHECK(list_files().count == 3); /* shard, index, checkpoint */
  CHECK(ci_restore(other, in_folder("model-77"), &step, &error) == CI_OK && step == 77 && is_full(other));
  declare(declared, "net/w", CI_FLOAT, 2, 2, -1);
  CHECK(ci_restore(declared, in_folder("model-77"), NULL, &error) == CI_OK && is_full(declared));
  CHECK(ci_save(other, NULL, in_folder("again"), -1, &error) == CI_OK);
  CHECK(ci_restore(state, in_folder("again"), &step, &error) == CI_OK && step == -1);
  size_t size;
  unsigned char *text = load_file("checkpoint", &size);
  static const char expected[] =
      "model_checkpoint_path: \"again\"\nall_model_checkpoint_paths: \"model-77\"\n"
      "all_model_checkpoint_paths: \"again\"\nall_model_checkpoint_timestamps: ";
  CHECK(size > sizeof expected && memcmp(text, expected, sizeof expected - 1) == 0);
  free(text);
  ci_state_close(state);
  ci_state_close(other);
  ci_state_close(declared);
  remove_all();
}

/* Saving again leaves one shard, and no temporary file. */
static void test_same_prefix(void) {
  ci_state *state = full_state();
  ci_error error;
  for (int i = 0; i < 3; i++) {
    CHECK(ci_save(state, NULL, in_folder("model"), i, &error) == CI_OK);
    CHECK(list_files().count == 3 && !find_file("tmp-"));
  }
  ci_state_close(state);
  remove_all();
}

static void refuse(const char *what, size_t at) {
  ci_state *state = new_state();
  ci_error error;
  ci_status status = ci_restore(state, in_folder("model"), NULL, &error);
  if (status == CI_OK || ci_variable_count(state) != 0) {
    fprintf(stderr, "%s %zu: status %d\n", what, at, (int)status);
    CHECK(status != CI_OK);
  }
  ci_state_close(state);
}

static bool holds(const char *name, const char *text) {
  size_t size;
  unsigned char *data = load_file(name, &size);
  bool same = size == strlen(text) && memcmp(data, text, size) == 0;
  free(data);
  return same;
}

/* The graph file of a committed save is replaced only after the next commit. */
static void test_graph_file(void) {
  ci_state *state = full_state();
  ci_error error;
  static const char *const graphs[] = {"graph one", "graph one", "another"};
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
    CHECK(ci_checkpoint_save(state, graphs[i], strlen(graphs[i]), in_folder("model"), NULL, &error) == CI_OK);
    CHECK(list_files().count == 4 && holds("model.meta", graphs[i]));
    CHECK(ci_restore(state, in_folder("model"), NULL, &error) == CI_OK && is_full(state));
  }
  store_file("model.meta", (const unsigned char *)"anothes", 7);
  refuse("graph file", 0);
  unlink(in_folder("model.meta"));
  CHECK(ci_restore(state, in_folder("model"), NULL, &error) == CI_OK);
  ci_state_close(state);
  remove_all();
}

/* Everything that does not fit is in the message, and nothing changed. */
static void test_mismatches(void) {
  ci_state *state = full_state(), *other = new_state();
  ci_error error;
  float before[2] = {7, 8};
  CHECK(ci_save(state, NULL, in_folder("model"), 1, &error) == CI_OK);
  give(other, "absent/one", CI_FLOAT, 1, 2, 0, before);
  give(other, "absent/two", CI_FLOAT, 1, 2, 0, before);
  give(other, "net/w", CI_FLOAT, 1, 2, 0, before);
  declare(other, "halves", CI_FLOAT, 1, 16, 0);
  CHECK(ci_restore(other, in_folder("model"), NULL, &error) == CI_NOT_FOUND);
  CHECK(strstr(error.message, "2 variables are missing in it, 2 are others"));
  CHECK(strstr(error.message, "Key absent/one not found") && strstr(error.message, "Key absent/two not found"));
  CHECK(
      strstr(error.message, "net/w: Assign requires shapes of both tensors to match. lhs shape= [2] rhs shape= [2,3]"));
  CHECK(strstr(error.message, "halves: the variable has dtype float32, the checkpoint float64"));
  CHECK(same_bytes(other, "net/w", before, sizeof before) && ci_variable_index(other, "flags") < 0);
  CHECK(ci_generator_count(other) == 0);
  ci_state *missing = new_state();
  declare(missing, "only/missing", CI_FLOAT, 0, 0, 0);
  CHECK(ci_restore(missing, in_folder("model"), NULL, &error) == CI_NOT_FOUND);
  CHECK(ci_restore(missing, in_folder("nowhere"), NULL, &error) == CI_NOT_FOUND && strstr(error.message, "nowhere"));
  CHECK(ci_restore(missing, in_folder("no such/x"), NULL, &error) != CI_OK);
  CHECK(ci_save(state, NULL, in_folder("no/such/x"), 1, &error) == CI_NOT_FOUND);
  CHECK(ci_save(state, NULL, in_folder(".hidden"), 1, &error) == CI_INVALID_ARGUMENT);
  ci_state_close(state);
  ci_state_close(other);
  ci_state_close(missing);
  remove_all();
}

static void damage_file(const char *part) {
  char name[256];
  size_t size;
  const char *found = find_file(part);
  CHECK(found != NULL);
  if (!found) return;
  snprintf(name, sizeof name, "%s", found);
  unsigned char *data = load_file(name, &size);
  for (size_t bit = 0; bit < 8 * size; bit++) {
    data[bit / 8] = (unsigned char)(data[bit / 8] ^ (1u << bit % 8));
    store_file(name, data, size);
    refuse("bit", bit);
    data[bit / 8] = (unsigned char)(data[bit / 8] ^ (1u << bit % 8));
  }
  for (size_t length = 0; length < size; length++) {
    store_file(name, data, length);
    refuse("length", length);
  }
  for (size_t extra = 1; extra <= 64; extra++) {
    data[size + extra - 1] = 0;
    store_file(name, data, size + extra);
    refuse("extra", extra);
  }
  store_file(name, data, size);
  free(data);
}

static void test_damage(void) {
  ci_state *state = full_state(), *other = new_state();
  ci_error error;
  CHECK(ci_save(state, NULL, in_folder("model"), 1, &error) == CI_OK);
  damage_file(".index");
  damage_file(".safetensors");
  CHECK(ci_restore(other, in_folder("model"), NULL, &error) == CI_OK && is_full(other));
  unlink(in_folder(find_file(".safetensors")));
  refuse("no shard", 0);
  ci_state_close(state);
  ci_state_close(other);
  remove_all();
}

/* Any allocation fails: a clean error, nothing half done, nothing lost. */
static void test_no_memory(void) {
  meter m = {-1, 0};
  ci_state *state = fill(metered_state(&m)), *keeper = full_state();
  ci_error error;
  CHECK(ci_save(keeper, NULL, in_folder("model"), 1, &error) == CI_OK);
  long failures = 0;
  for (ci_status status = CI_RESOURCE_EXHAUSTED; status != CI_OK; failures++) {
    m.left = failures;
    status = ci_save(state, NULL, in_folder("other"), 1, &error);
    CHECK(status == CI_OK || (status == CI_RESOURCE_EXHAUSTED && !find_file("other") && !find_file("tmp-")));
  }
  CHECK(failures > 5);
  failures = 0;
  for (ci_status status = CI_RESOURCE_EXHAUSTED; status != CI_OK; failures++) {
    m.left = -1;
    ci_state *empty = metered_state(&m);
    m.left = failures;
    status = ci_restore(empty, in_folder("model"), NULL, &error);
    CHECK(status == CI_OK || status == CI_RESOURCE_EXHAUSTED);
    for (int i = 0; status != CI_OK && i < ci_variable_count(empty); i++) CHECK(!ci_variable_initialized(empty, i));
    if (status == CI_OK) CHECK(is_full(empty));
    ci_state_close(empty);
  }
  CHECK(failures > 10);
  ci_state_close(state);
  ci_state_close(keeper);
  CHECK(m.blocks == 0 && ample.blocks == 0);
  remove_all();
}

/* The disk refuses after n bytes: an error that names the file, the old checkpoint complete, no temporary left. */
static void test_disk_refuses(void) {
  ci_state *state = full_state(), *other = new_state();
  struct rlimit limit, before;
  ci_error error;
  int64_t step = 0;
  CHECK(ci_save(state, NULL, in_folder("model"), 5, &error) == CI_OK);
  CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0 && signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
  for (rlim_t most = 0; most < 400; most += 40) {
    limit = (struct rlimit){most, before.rlim_max};
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK(ci_save(state, NULL, in_folder("model"), 6, &error) == CI_UNAVAILABLE);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(strstr(error.message, "model") && list_files().count == 3 && !find_file("tmp-"));
  }
  CHECK(ci_restore(other, in_folder("model"), &step, &error) == CI_OK && step == 5 && is_full(other));
  ci_state_close(state);
  ci_state_close(other);
  remove_all();
}

/* Larger than the piece that is read at a time, next to small ones; bytes at both ends of each piece are checked. */
static void test_large(void) {
  enum { ELEMENTS = (9 << 20) / 4 + 5 };
  ci_state *state = new_state(), *other = new_state();
  ci_error error;
  ci_tensor view;
  static float values[ELEMENTS];
  for (int i = 0; i < ELEMENTS; i++) values[i] = (float)i;
  give(state, "small", CI_FLOAT, 1, 3, 0, values);
  give(state, "large", CI_FLOAT, 1, ELEMENTS, 0, values);
  CHECK(ci_save(state, NULL, in_folder("model"), 1, &error) == CI_OK);
  CHECK(ci_restore(other, in_folder("model"), NULL, &error) == CI_OK);
  CHECK(ci_variable_view(other, ci_variable_index(other, "large"), &view, &error) == CI_OK);
  CHECK(view.bytes == sizeof values && memcmp(view.data, values, sizeof values) == 0);
  size_t size;
  const char *shard = find_file(".safetensors");
  unsigned char *data = load_file(shard, &size);
  const size_t start = size - sizeof values - 12;
  static const size_t positions[] = {0, (1 << 22) - 1, 1 << 22, 1 << 23, sizeof values - 1};
  for (size_t i = 0; i < sizeof positions / sizeof *positions; i++) {
    data[start + positions[i]] ^= 1;
    store_file(shard, data, size);
    refuse("large", positions[i]);
    data[start + positions[i]] ^= 1;
  }
  free(data);
  ci_state_close(state);
  ci_state_close(other);
  remove_all();
}

/* Memory that is given is taken over when all is assigned, and stays the caller's otherwise. */
static void test_given(void) {
  ci_state *state = new_state();
  ci_error error;
  ci_tensor view;
  void *buffer;
  float one[2] = {1, 2};
  static const char *const text = "text";
  ci_string string = {text, 4};
  give(state, "v", CI_FLOAT, 1, 2, 0, one);
  give(state, "w", CI_FLOAT, 1, 2, 0, one);
  give(state, "s", CI_STRING, 0, 0, 0, &string);
  CHECK(ci_state_alloc(state, sizeof one, &buffer, &error) == CI_OK);
  memcpy(buffer, one, sizeof one);
  const int variables[] = {ci_variable_index(state, "v"), ci_variable_index(state, "w")};
  ci_tensor values[] = {{buffer, sizeof one, CI_FLOAT, 1, {2}}, {one, sizeof one, CI_FLOAT, 1, {3}}};
  static const uint8_t given[] = {1, 0};
  ci_assignment all = {.variables = variables, .values = values, .variable_count = 2, .given = given};
  CHECK(ci_state_assign(state, &all, &error) == CI_INVALID_ARGUMENT); /* the second is too short for its shape */
  values[1].dims[0] = 2;
  CHECK(ci_state_assign(state, &all, &error) == CI_OK);
  CHECK(ci_variable_view(state, variables[0], &view, &error) == CI_OK && view.data == buffer);
  CHECK(ci_variable_view(state, variables[1], &view, &error) == CI_OK && view.data != (void *)one);
  const int strings = ci_variable_index(state, "s");
  const ci_tensor value = {&string, sizeof string, CI_STRING, 0, {0}};
  ci_assignment string_values = {.variables = &strings, .values = &value, .variable_count = 1, .given = given};
  CHECK(ci_state_assign(state, &string_values, &error) == CI_INVALID_ARGUMENT && strstr(error.message, "strings"));
  const ci_assignment nothing = {0}, no_values = {.variables = &strings, .variable_count = 1};
  const ci_assignment no_positions = {.generators = &text, .generator_count = 1}, fewer = {.variable_count = -1};
  CHECK(ci_state_assign(state, &nothing, &error) == CI_OK);
  CHECK(ci_state_assign(state, &no_values, &error) == CI_INVALID_ARGUMENT && strstr(error.message, "lacks a list"));
  CHECK(ci_state_assign(state, &no_positions, &error) == CI_INVALID_ARGUMENT && strstr(error.message, "lacks a list"));
  CHECK(ci_state_assign(state, &fewer, &error) == CI_INVALID_ARGUMENT && ci_state_assign(state, NULL, &error) != CI_OK);
  CHECK(ci_state_alloc(state, 100, &buffer, &error) == CI_OK);
  ci_state_free(state, buffer, 100);
  ci_state_close(state);
}

/* ---- bools that are neither 0 nor 1 ---- */

static void test_no_variable_is_given_what_is_no_bool(void) {
  static const uint8_t wrong[3] = {1, 0, 2};
  ci_state *state = full_state();
  const int index = ci_variable_index(state, "flags");
  const ci_tensor value = {(void *)(uintptr_t)wrong, sizeof wrong, CI_BOOL, 1, {3}};
  ci_error error;
  void *buffer;
  CHECK(ci_variable_set(state, index, &value, &error) == CI_INVALID_ARGUMENT);
  CHECK(strstr(error.message, "'flags'") && strstr(error.message, "neither 0 nor 1"));
  CHECK(ci_state_alloc(state, sizeof wrong, &buffer, &error) == CI_OK);
  memcpy(buffer, wrong, sizeof wrong);
  const ci_tensor inside = {buffer, sizeof wrong, CI_BOOL, 1, {3}};
  ci_assignment all = {.variables = &index, .values = &inside, .variable_count = 1, .given = (uint8_t[1]){1}};
  CHECK(ci_state_assign(state, &all, &error) == CI_INVALID_ARGUMENT && is_full(state));
  ci_state_free(state, buffer, sizeof wrong);
  ci_state_close(state);
}

/* As in a run: it assigns a fed value, and looks at no element. */
static void test_what_a_run_took_for_true_is_saved_as_true(void) {
  enum { MANY = 10000 };
  static uint8_t fed[MANY], expected[MANY];
  ci_state *state = new_state(), *other = new_state();
  ci_error error;
  for (int i = 0; i < MANY; i++) fed[i] = (uint8_t)i, expected[i] = i % 256 != 0;
  give(state, "flags", CI_BOOL, 1, MANY, 0, expected);
  const ci_value value = {.data = fed, .dtype = CI_BOOL, .rank = 1, .dims = {MANY}, .count = MANY, .bytes = MANY};
  ci_block replaced;
  CHECK(ci_slot_assign(state, ci_state_slot(state, 0), &value, &replaced, &error) == CI_OK && !replaced.data);
  CHECK(save_as(state, "a", 1, 0, 0) == CI_OK && same_bytes(state, "flags", fed, MANY));
  CHECK(ci_restore(other, in_folder("a"), NULL, &error) == CI_OK && same_bytes(other, "flags", expected, MANY));
  ci_state_close(state);
  ci_state_close(other);
  remove_all();
}

int main(void) {
  CHECK(mkdtemp(folder) != NULL);
  test_round_trip();
  test_same_prefix();
  test_graph_file();
  test_mismatches();
  test_damage();
  test_large();
  test_given();
  test_no_variable_is_given_what_is_no_bool();
  test_what_a_run_took_for_true_is_saved_as_true();
  test_no_memory();
  test_disk_refuses();
  CHECK(rmdir(folder) == 0);
  return CHECK_END;
}
