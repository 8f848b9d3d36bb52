/* test_checkpoint_folder.c - blobs, shards, partial restores, and the files of a folder of checkpoints. */
#include "system/posix.h"

#include <sys/wait.h>

#include "checkpoints.h"
#include "models.h"

/* ---- small helpers ---- */

static bool is_blob(const ci_state *state, const char *name, const char *bytes) {
  const void *data = NULL;
  size_t size = 0;
  return ci_state_blob(state, name, &data, &size, NULL) == CI_OK && size == strlen(bytes) &&
         memcmp(data, bytes, size) == 0;
}

static void blob(ci_state *state, const char *name, const char *bytes) {
  ci_error error;
  CHECK(ci_state_set_blob(state, name, bytes, strlen(bytes), &error) == CI_OK);
}

/* ---- blobs and positions of iterators ---- */

static void test_blobs_are_listed_replaced_and_removed(void) {
  ci_state *state = new_state();
  ci_error error;
  blob(state, "schedule", "one");
  blob(state, "a/config", "{}");
  blob(state, "empty", "");
  blob(state, "schedule", "two");
  CHECK(ci_state_blob_count(state) == 3 && strcmp(ci_state_blob_name(state, 0), "a/config") == 0);
  CHECK(strcmp(ci_state_blob_name(state, 2), "schedule") == 0 && is_blob(state, "schedule", "two"));
  CHECK(is_blob(state, "empty", ""));
  CHECK(!ci_state_blob_name(state, 3) && !ci_state_blob_name(state, -1) && !ci_state_blob_name(NULL, 0));
  CHECK(ci_state_blob(state, "absent", NULL, NULL, &error) == CI_NOT_FOUND && strstr(error.message, "absent"));
  CHECK(ci_state_remove_blob(state, "empty", &error) == CI_OK && ci_state_blob_count(state) == 2);
  CHECK(ci_state_remove_blob(state, "empty", &error) == CI_NOT_FOUND);
  ci_state_close(state);
}

static void test_blobs_that_cannot_be_kept_are_refused(void) {
  static const char *const names[] = {"", "\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "cut\xe2\x82"};
  ci_state *state = full_state();
  ci_error error;
  char name[5000];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    CHECK(ci_state_set_blob(state, names[i], "x", 1, &error) == CI_INVALID_ARGUMENT);
  memset(name, 'a', sizeof name);
  name[sizeof name - 1] = 0;
  CHECK(ci_state_set_blob(state, name, "x", 1, &error) == CI_INVALID_ARGUMENT);
  CHECK(ci_state_set_blob(state, "dropout", "x", 1, &error) == CI_ALREADY_EXISTS);
  CHECK(ci_state_set_blob(state, "x", NULL, 1, &error) == CI_INVALID_ARGUMENT);
  CHECK(ci_state_set_blob(state, "x", "x", ((size_t)1 << 24) + 1, &error) == CI_RESOURCE_EXHAUSTED);
  CHECK(ci_state_set_blob(state, "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82", NULL, 0, &error) == CI_OK);
  CHECK(ci_state_blob_count(state) == 1);
  ci_state_close(state);
}

/* Resources that a restore kept are saved again byte by byte, also those that no C program interprets. */
static void test_resources_pass_through(void) {
  static const char position[] = "\x08\x02\x10\x2a\x22\x03xyz"; /* an IteratorState that Python has written */
  const ci_span name = {"train/iterator", 14}, bytes = {position, sizeof position - 1};
  ci_state *state = full_state(), *other = new_state();
  ci_error error;
  size_t size;
  CHECK(ci_resources_put(ci_state_allocator(state), ci_state_resources(state), name, CI_RESOURCE_ITERATOR, bytes));
  blob(state, "config", "bytes");
  blob(state, "nothing", "");
  CHECK(ci_state_blob_count(state) == 2);
  CHECK(ci_state_blob(state, "train/iterator", NULL, NULL, &error) == CI_NOT_FOUND);
  CHECK(ci_save(state, NULL, in_folder("a"), 1, &error) == CI_OK);
  blob(other, "stale", "of another run");
  CHECK(ci_restore(other, in_folder("a"), NULL, &error) == CI_OK && is_full(other));
  CHECK(ci_state_blob_count(other) == 2 && is_blob(other, "config", "bytes") && is_blob(other, "nothing", ""));
  CHECK(ci_save(other, NULL, in_folder("b"), 1, &error) == CI_OK);
  const ci_resource *kept = ci_resources_find(ci_state_resources(other), name);
  CHECK(kept && kept->bytes == bytes.length && memcmp(kept->data, position, bytes.length) == 0);
  unsigned char *file = load_file("b.index", &size);
  CHECK(file_holds("b.index", "GIX") && size > 0);
  int found = 0;
  for (size_t i = 0; i + bytes.length <= size; i++) found += memcmp(file + i, position, bytes.length) == 0;
  CHECK(found == 1);
  free(file);
  CHECK(ci_state_remove_blob(other, "train/iterator", &error) == CI_OK);
  CHECK(!ci_resources_find(ci_state_resources(other), name));
  ci_state_close(state);
  ci_state_close(other);
  remove_all();
}

static void test_a_failed_restore_leaves_the_blobs(void) {
  ci_state *state = full_state(), *other = new_state();
  ci_error error;
  blob(state, "config", "new");
  CHECK(ci_save(state, NULL, in_folder("a"), 1, &error) == CI_OK);
  blob(other, "config", "old");
  declare(other, "absent", CI_FLOAT, 0, 0, 0);
  CHECK(ci_restore(other, in_folder("a"), NULL, &error) == CI_NOT_FOUND && is_blob(other, "config", "old"));
  ci_state_close(state);
  ci_state_close(other);
  remove_all();
}

/* A checkpoint could not have both, so a state never has. */
static void test_a_generator_and_a_blob_of_one_name(void) {
  ci_state *state = new_state(), *other = new_state();
  const ci_generator generator = {1, 2};
  const char *const names[] = {"new", "dice"};
  const ci_generator positions[] = {generator, generator};
  const ci_assignment both = {.generators = names, .positions = positions, .generator_count = 2};
  ci_error error;
  blob(state, "dice", "x");
  CHECK(ci_generator_set(state, "dice", &generator, &error) == CI_ALREADY_EXISTS);
  CHECK(strstr(error.message, "'dice'") && strstr(error.message, "ci_state_remove_blob"));
  CHECK(ci_state_assign(state, &both, &error) == CI_ALREADY_EXISTS && ci_generator_count(state) == 0);
  CHECK(ci_save(state, NULL, in_folder("a"), 1, &error) == CI_OK);
  CHECK(ci_generator_set(other, "dice", &generator, &error) == CI_OK);
  CHECK(ci_restore(other, in_folder("a"), NULL, &error) == CI_INVALID_ARGUMENT && strstr(error.message, "'dice'"));
  CHECK(ci_state_blob_count(other) == 0 && ci_save(other, NULL, in_folder("b"), 1, &error) == CI_OK);
  CHECK(ci_restore(state, in_folder("b"), NULL, &error) == CI_OK); /* the blob goes, the generator comes */
  CHECK(ci_state_blob_count(state) == 0 && ci_generator_count(state) == 1);
  ci_state_close(state);
  ci_state_close(other);
  remove_all();
}

/* ---- the state after a failure ---- */

static bool is_linked(ci_state *state, int index) { return ci_state_slot(state, index)->slot_of != NULL; }

static void test_a_failed_restore_links_no_slot(void) {
  const float value[2] = {1, 2};
  meter m = {-1, 0};
  ci_state *state = new_state(), *other = metered_state(&m);
  ci_error error;
  ci_status status = CI_RESOURCE_EXHAUSTED;
  give(state, "w", CI_FLOAT, 1, 2, 0, value);
  give(state, "w/momentum", CI_FLOAT, 1, 2, 0, value);
  bool made = false;
  CHECK(ci_state_link(state, 1, (ci_span){"w", 1}, (ci_span){"momentum", 8}, &made, &error) == CI_OK && made);
  CHECK(save_as(state, "a", 1, 0, 0) == CI_OK);
  declare(other, "w", CI_FLOAT, 1, 2, 0);
  const int slot = declare(other, "w/momentum", CI_FLOAT, 1, 2, 0);
  for (long left = 0; status != CI_OK && left < 1000; left++) {
    m.left = left;
    status = ci_restore(other, in_folder("a"), NULL, &error);
    CHECK(is_linked(other, slot) == (status == CI_OK));
  }
  m.left = -1;
  CHECK(is_linked(other, slot) && strcmp(ci_state_slot(other, slot)->slot, "momentum") == 0);
  ci_state_close(state);
  ci_state_close(other);
  CHECK(m.blocks == 0);
  remove_all();
}

static void test_a_failed_assignment_leaves_no_generator(void) {
  const float value[2] = {1, 2};
  const char *const names[] = {"dice"};
  const ci_generator positions[] = {{1, 2}};
  meter m = {-1, 0};
  ci_state *state = metered_state(&m);
  const int slot = declare(state, "w", CI_FLOAT, 1, 2, 0);
  const ci_tensor tensor = {(void *)(uintptr_t)value, sizeof value, CI_FLOAT, 1, {2}};
  const ci_assignment requested = {.variables = &slot,
                                   .values = &tensor,
                                   .variable_count = 1,
                                   .generators = names,
                                   .positions = positions,
                                   .generator_count = 1};
  ci_error error;
  ci_status status = CI_RESOURCE_EXHAUSTED;
  for (long left = 0; status != CI_OK && left < 100; left++) {
    m.left = left;
    status = ci_state_assign(state, &requested, &error);
    CHECK(ci_generator_count(state) == (status == CI_OK));
  }
  status = CI_RESOURCE_EXHAUSTED;
  for (long left = 0; status != CI_OK && left < 100; left++) {
    m.left = left;
    status = ci_generator_set(state, "more", positions, &error);
    CHECK(ci_generator_count(state) == 1 + (status == CI_OK));
  }
  m.left = -1;
  CHECK(ci_generator_count(state) == 2 && same_bytes(state, "w", value, sizeof value));
  ci_state_close(state);
  CHECK(m.blocks == 0);
}

/* The variables of model_everything are free, of any shape and without a value, and v; its generator is dice. */
static ci_model *open_everything(void) {
  ci_model *model = NULL;
  CHECK(ci_open_memory(model_everything, sizeof model_everything, NULL, &model, NULL) == CI_OK);
  return model;
}

static void test_a_session_that_finds_other_variables_adds_none(void) {
  const int32_t value[2] = {1, 2};
  ci_model *model = open_everything();
  ci_state *state = new_state();
  ci_session *session = NULL;
  ci_error error;
  give(state, "v", CI_INT32, 1, 2, 0, value);
  CHECK(save_as(state, "a", 1, 0, 0) == CI_OK);
  CHECK(ci_session_open(model, state, NULL, &session, &error) == CI_INVALID_ARGUMENT && !session);
  CHECK(strstr(error.message, "'v'") && ci_variable_count(state) == 1 && ci_variable_index(state, "free") == -1);
  CHECK(ci_restore(state, in_folder("a"), NULL, &error) == CI_OK && same_bytes(state, "v", value, sizeof value));
  ci_state_close(state);
  ci_close(model);
  remove_all();
}

/* Of a checkpoint without a model, whose shapes are not rules yet. */
static void test_a_session_that_cannot_have_its_generator_makes_no_rule(void) {
  const float value[3] = {1, 2, 3};
  ci_model *model = open_everything();
  ci_state *state = new_state(), *other = new_state();
  ci_session *session = NULL;
  ci_error error;
  give(state, "free", CI_FLOAT, 1, 3, 0, value);
  CHECK(save_as(state, "a", 1, 0, 0) == CI_OK && ci_restore(other, in_folder("a"), NULL, &error) == CI_OK);
  CHECK(ci_state_set_blob(other, "dice", "six", 3, &error) == CI_OK);
  CHECK(ci_session_open(model, other, NULL, &session, &error) == CI_ALREADY_EXISTS);
  CHECK(ci_variable_count(other) == 1 && ci_state_slot(other, 0)->rank == 1 && !ci_state_slot(other, 0)->ruled);
  CHECK(ci_state_remove_blob(other, "dice", &error) == CI_OK);
  CHECK(ci_session_open(model, other, NULL, &session, &error) == CI_OK && ci_variable_count(other) == 2);
  CHECK(ci_state_slot(other, 0)->rank == -1 && ci_state_slot(other, 0)->ruled);
  ci_session_close(session);
  ci_state_close(state);
  ci_state_close(other);
  ci_close(model);
  remove_all();
}

static void test_a_session_without_memory_leaves_the_state(void) {
  ci_model *model = open_everything();
  meter m = {-1, 0};
  ci_state *state = metered_state(&m);
  ci_session *session = NULL;
  ci_error error;
  ci_status status = CI_RESOURCE_EXHAUSTED;
  const int v = declare(state, "v", CI_FLOAT, 1, 2, 0);
  for (long left = 0; status != CI_OK && left < 100; left++) {
    m.left = left;
    status = ci_session_open(model, state, NULL, &session, &error);
    const bool opened = status == CI_OK;
    CHECK(ci_variable_count(state) == 1 + opened && ci_generator_count(state) == opened);
    CHECK(ci_variable_initialized(state, v) == opened && (opened || status == CI_RESOURCE_EXHAUSTED));
  }
  m.left = -1;
  CHECK(status == CI_OK);
  ci_session_close(session);
  ci_state_close(state);
  ci_close(model);
  CHECK(m.blocks == 0);
}

/* ---- shards ---- */

static void test_shards(void) {
  ci_state *state = full_state(), *other = new_state();
  ci_error error;
  /* By name: flags 3 bytes, global_step 8, halves 128, net/w 24, nothing 0, words 21. */
  CHECK(save_as(state, "a", 1, 30, 0) == CI_OK && find_file("00000-of-00004") && find_file("00003-of-00004"));
  CHECK(save_as(state, "a", 2, 1, 0) == CI_OK && find_file("-of-00006") && !find_file("-of-00004"));
  CHECK(ci_restore(other, in_folder("a"), NULL, &error) == CI_OK && is_full(other));
  CHECK(save_as(state, "a", 3, 0, 0) == CI_OK && list_files().count == 3);
  ci_state *empty = new_state();
  CHECK(save_as(empty, "empty", 1, 10, 0) == CI_OK && ci_restore(empty, in_folder("empty"), NULL, &error) == CI_OK);
  ci_state_close(state);
  ci_state_close(other);
  ci_state_close(empty);
  remove_all();
}

/* ---- partial ---- */

static void test_partial_restore(void) {
  ci_state *state = full_state(), *other = new_state();
  ci_restore_options options = ci_restore_defaults();
  ci_restored restored = {.size = sizeof restored};
  ci_error error;
  const float mine[2] = {7, 8};
  CHECK(save_as(state, "a", 5, 0, 0) == CI_OK);
  give(other, "head/bias", CI_FLOAT, 1, 2, 0, mine);
  give(other, "net/w", CI_FLOAT, 1, 2, 0, mine);
  options.partial = CI_PARTIAL_MISSING;
  CHECK(ci_restore_with(other, in_folder("a"), &options, &restored, &error) == CI_INVALID_ARGUMENT);
  CHECK(!strstr(error.message, "head/bias") && ci_variable_count(other) == 2);
  options.partial = CI_PARTIAL_DIFFERENT;
  CHECK(ci_restore_with(other, in_folder("a"), &options, &restored, &error) == CI_NOT_FOUND);
  options.partial = CI_PARTIAL_MISSING | CI_PARTIAL_DIFFERENT;
  CHECK(ci_restore_with(other, in_folder("a"), &options, &restored, &error) == CI_OK);
  CHECK(restored.left_out == 2 && restored.step == 5 && strcmp(restored.name, "a") == 0);
  CHECK(same_bytes(other, "head/bias", mine, sizeof mine) && same_bytes(other, "net/w", mine, sizeof mine));
  CHECK(same_bytes(other, "halves", halves, sizeof halves) && ci_generator_count(other) == 1);
  ci_state_close(state);
  ci_state_close(other);
  remove_all();
}

static void test_missing_names_come_with_near_ones(void) {
  ci_state *state = full_state(), *other = new_state();
  ci_error error;
  char name[40];
  CHECK(save_as(state, "a", 5, 0, 0) == CI_OK);
  declare(other, "net2/w", CI_FLOAT, 0, 0, 0);
  CHECK(ci_restore(other, in_folder("a"), NULL, &error) == CI_NOT_FOUND);
  CHECK(strstr(error.message, "Key net2/w not found in checkpoint (it has net/w)"));
  for (int i = 0; i < 200; i++) {
    snprintf(name, sizeof name, "a/rather/long/name/%d", i);
    declare(other, name, CI_FLOAT, 0, 0, 0);
  }
  CHECK(ci_restore(other, in_folder("a"), NULL, &error) == CI_NOT_FOUND);
  CHECK(strstr(error.message, "201 variables are missing") && strstr(error.message, "\nand 1"));
  ci_state_close(state);
  ci_state_close(other);
  remove_all();
}

/* A shape that only a checkpoint has is not a rule: the first model that declares the variable decides. */
static void test_a_restored_shape_is_no_rule(void) {
  ci_state *state = full_state(), *other = new_state();
  ci_error error;
  const float longer[3] = {1, 2, 3};
  give(state, "any", CI_FLOAT, 1, 2, 0, longer);
  CHECK(save_as(state, "a", 5, 0, 0) == CI_OK);
  CHECK(ci_restore(other, in_folder("a"), NULL, &error) == CI_OK);
  int index = declare(other, "any", CI_FLOAT, 1, -1, 0);
  ci_tensor value = {(void *)(uintptr_t)longer, sizeof longer, CI_FLOAT, 1, {3}};
  CHECK(ci_variable_set(other, index, &value, &error) == CI_OK);
  ci_info wrong = {.name = "net/w", .dtype = CI_FLOAT, .rank = 2, .dims = {2, 4}};
  CHECK(ci_variable_declare(other, &wrong, NULL, &error) == CI_INVALID_ARGUMENT);
  ci_state_close(state);
  ci_state_close(other);
  remove_all();
}

/* ---- the latest ---- */

static void test_latest(void) {
  ci_state *state = full_state(), *other = new_state();
  ci_restored restored = {.size = sizeof restored};
  ci_error error;
  CHECK(latest(other, CI_OK).name[0] == 0 && latest(other, CI_OK).step == -1);
  CHECK(ci_restore_latest(other, in_folder("no/where"), NULL, &restored, &error) == CI_OK && !restored.name[0]);
  CHECK(save_as(state, "b", 1, 0, 0) == CI_OK && save_as(state, "a", 2, 0, 0) == CI_OK);
  restored = latest(other, CI_OK);
  CHECK(strcmp(restored.name, "a") == 0 && restored.step == 2 && is_full(other));
  write_text("checkpoint", "model_checkpoint_path: \"b\"\n");
  CHECK(strcmp(latest(other, CI_OK).name, "b") == 0);
  write_text("checkpoint", "model_checkpoint_path: \"../a\"\n");
  CHECK(strcmp(latest(other, CI_OK).name, "a") == 0);
  write_text("checkpoint", "model_checkpoint_path: \"gone\"\n");
  CHECK(strcmp(latest(other, CI_OK).name, "a") == 0); /* the later step of one second */
  unlink(in_folder("checkpoint"));
  write_text("a.index", "damaged");
  CHECK(strcmp(latest(other, CI_OK).name, "b") == 0);
  write_text("b.index", "damaged");
  CHECK(latest(other, CI_DATA_LOSS).name[0] == 0); /* never silently from the start */
  ci_state_close(state);
  ci_state_close(other);
  remove_all();
}

/* A link cannot be a file of a checkpoint, and a loop of links cannot be a folder. */
static void test_latest_and_links(void) {
  ci_state *state = full_state(), *other = new_state();
  ci_error error;
  char loop[512];
  CHECK(save_as(state, "a", 1, 0, 0) == CI_OK);
  unlink(in_folder("checkpoint"));
  CHECK(symlink("b.index", in_folder("b.index")) == 0 && symlink("a.index", in_folder("c.index")) == 0);
  CHECK(strcmp(latest(other, CI_OK).name, "a") == 0);
  CHECK(ci_restore(other, in_folder("b"), NULL, &error) == CI_INVALID_ARGUMENT);
  CHECK(symlink("loop", in_folder("loop")) == 0);
  snprintf(loop, sizeof loop, "%s", in_folder("loop"));
  CHECK(ci_restore_latest(other, loop, NULL, NULL, &error) == CI_INVALID_ARGUMENT && strstr(error.message, "loop"));
  CHECK(ci_restore_latest(other, in_folder("a.index"), NULL, NULL, &error) == CI_INVALID_ARGUMENT);
  CHECK(ci_save(state, NULL, in_folder("loop/a"), 1, &error) == CI_INVALID_ARGUMENT);
  CHECK(ci_save(state, NULL, in_folder("absent/a"), 1, &error) == CI_NOT_FOUND);
  CHECK(ci_restore(state, in_folder("absent/a"), NULL, &error) == CI_NOT_FOUND);
  ci_state_close(state);
  ci_state_close(other);
  remove_all();
}

/* A reader finds a complete checkpoint while others save and delete, never an older one than before. */
static void test_a_reader_looks_while_another_process_saves(void) {
  enum { SAVES = 60 };
  ci_state *state = full_state(), *other = new_state();
  char name[16];
  int status = 1, polls = 0;
  CHECK(save_as(state, "m-0", 0, 0, 1) == CI_OK);
  const pid_t writer = fork();
  if (writer == 0) {
    for (int i = 1; i <= SAVES; i++) {
      snprintf(name, sizeof name, "m-%d", i / 3); /* each prefix three times */
      if (save_as(state, name, i, i % 2 ? 20 : 0, 1) != CI_OK) _exit(1);
    }
    _exit(0);
  }
  for (int64_t last = 0; waitpid(writer, &status, WNOHANG) == 0; polls++) {
    const ci_restored restored = latest(other, CI_OK);
    CHECK(restored.name[0] && restored.step >= last && is_full(other));
    last = restored.step;
  }
  CHECK(polls > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 && latest(other, CI_OK).step == SAVES);
  ci_state_close(state);
  ci_state_close(other);
  remove_all();
}

/* At one of its allocations another process has just saved. */
typedef struct intruder {
  long left;
  ci_state *writer;
  const char *name; /* of what is saved then */
  bool came;
} intruder;

static void *intruded_alloc(void *user, size_t bytes, size_t align) {
  intruder *i = user;
  if (i->left-- == 0) {
    i->came = true;
    CHECK(save_graph(i->writer, "another graph", i->name, 2, 20, 1) == CI_OK);
  }
  return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void intruded_release(void *user, void *memory, size_t bytes) {
  (void)user, (void)bytes;
  free(memory);
}

/* Whenever the save comes, into the same prefix or so that what is read is deleted: all of one checkpoint is restored.
 */
static void test_a_save_overtakes_a_restore(const char *name) {
  ci_state *state = full_state();
  intruder i = {.writer = state, .name = name, .came = true};
  ci_state_options options = ci_state_defaults();
  ci_error error;
  options.allocator = (ci_allocator){&i, intruded_alloc, intruded_release};
  for (long at = 0; i.came; at++) {
    ci_restored restored = {.size = sizeof restored};
    ci_state *other = NULL;
    remove_all();
    CHECK(save_graph(state, "graph", "m", 1, 0, 1) == CI_OK);
    i.left = -1;
    CHECK(ci_state_open(&options, &other, &error) == CI_OK);
    i.left = at;
    i.came = false;
    CHECK(ci_restore_latest(other, folder, NULL, &restored, &error) == CI_OK && is_full(other));
    CHECK(restored.step == 1 || restored.step == 2);
    ci_state_close(other);
    CHECK(at < 1000);
  }
  ci_state_close(state);
  remove_all();
}

/* Every bit of the list: the newest checkpoint is found all the same, be it by the list or without. */
static void test_a_damaged_list_leaves_the_newest(void) {
  ci_state *state = full_state();
  size_t size;
  for (int step = 1; step <= 3; step++) {
    const char name[] = {'m', (char)('0' + step), 0};
    CHECK(save_as(state, name, step, 0, 0) == CI_OK);
  }
  unsigned char *list = load_file("checkpoint", &size);
  CHECK(file_holds("checkpoint", "# crc32c: "));
  for (size_t bit = 0; bit < 8 * size; bit++) {
    list[bit / 8] ^= (unsigned char)(1u << bit % 8);
    store_file("checkpoint", list, size);
    list[bit / 8] ^= (unsigned char)(1u << bit % 8);
    CHECK(strcmp(latest(state, CI_OK).name, "m3") == 0);
  }
  for (size_t length = 0; length < size; length++) {
    store_file("checkpoint", list, length);
    CHECK(strcmp(latest(state, CI_OK).name, "m3") == 0);
  }
  free(list);
  write_text("checkpoint", "# by hand\nmodel_checkpoint_path: \"m1\"\n  # to be deleted: \"m0\"\n");
  CHECK(strcmp(latest(state, CI_OK).name, "m1") == 0);
  ci_state_close(state);
  remove_all();
}

/* ---- memory ---- */

/* Shards, blobs, a list to shorten: whatever allocation fails, the state and the older checkpoints are as they were. */
static void test_no_memory(void) {
  meter m = {-1, 0};
  ci_state *state = fill(metered_state(&m));
  ci_save_options options = ci_save_defaults();
  ci_error error;
  options.shard_bytes = 30;
  options.max_to_keep = 1;
  blob(state, "config", "bytes");
  CHECK(save_as(state, "old", 1, 30, 0) == CI_OK);
  long failures = 0;
  for (ci_status status = CI_RESOURCE_EXHAUSTED; status != CI_OK; failures++) {
    m.left = failures;
    status = ci_save_with(state, NULL, in_folder("new"), &options, &error);
    CHECK(status == CI_OK || (status == CI_RESOURCE_EXHAUSTED && has_file("old.index")));
    CHECK(status == CI_OK || !find_file("tmp-"));
  }
  CHECK(failures > 20 && has_file("new.index"));
  failures = 0;
  for (ci_status status = CI_RESOURCE_EXHAUSTED; status != CI_OK; failures++) {
    m.left = -1;
    ci_state *other = metered_state(&m);
    ci_restored restored = {.size = sizeof restored};
    blob(other, "config", "before");
    m.left = failures;
    status = ci_restore_latest(other, folder, NULL, &restored, &error);
    m.left = -1;
    if (status == CI_OK && restored.name[0]) CHECK(is_full(other) && is_blob(other, "config", "bytes"));
    else CHECK(ci_variable_count(other) == 0 && ci_generator_count(other) == 0 && is_blob(other, "config", "before"));
    ci_state_close(other);
  }
  CHECK(failures > 20);
  failures = 0;
  for (ci_status status = CI_RESOURCE_EXHAUSTED; status != CI_OK; failures++) {
    m.left = failures;
    status = ci_state_set_blob(state, "more", "x", 1, &error);
    CHECK(ci_state_blob_count(state) == (status == CI_OK ? 2 : 1));
  }
  m.left = -1;
  CHECK(is_blob(state, "more", "x"));
  ci_state_close(state);
  CHECK(m.blocks == 0 && ample.blocks == 0);
  remove_all();
}

/* ---- another program in the folder ---- */

static listing before_the_save;

static bool was_there(const char *name) {
  for (int i = 0; i < before_the_save.count; i++)
    if (strcmp(before_the_save.names[i], name) == 0) return true;
  return false;
}

/* Where the library asks for memory, another program may do something, too: here it removes data of the save. */
static void *sweeping_alloc(void *user, size_t bytes, size_t align) {
  const listing l = list_files();
  for (int i = 0; i < l.count; i++)
    if (strstr(l.names[i], ".data-") && strncmp(l.names[i], "tmp-", 4) && !was_there(l.names[i]))
      unlink(in_folder(l.names[i]));
  return metered_alloc(user, bytes, align);
}

static void test_a_save_whose_data_are_removed_does_not_replace_the_one_that_is_there(void) {
  ci_state_options options = ci_state_defaults();
  ci_state *state = full_state(), *other = new_state(), *swept = NULL;
  ci_error error;
  CHECK(ci_save(state, NULL, in_folder("model"), 1, &error) == CI_OK);
  before_the_save = list_files();
  options.allocator = (ci_allocator){&ample, sweeping_alloc, metered_release};
  CHECK(ci_state_open(&options, &swept, &error) == CI_OK);
  give(swept, "net/w", CI_FLOAT, 2, 2, 3, weights);
  CHECK(ci_save(swept, NULL, in_folder("model"), 2, &error) == CI_UNAVAILABLE);
  CHECK(strstr(error.message, ".data-") && strstr(error.message, "removed before the save was committed"));
  CHECK(list_files().count == before_the_save.count);
  CHECK(ci_restore(other, in_folder("model"), NULL, &error) == CI_OK && is_full(other));
  ci_state_close(swept);
  ci_state_close(other);
  ci_state_close(state);
  remove_all();
}

int main(void) {
  CHECK(mkdtemp(folder) != NULL);
  test_blobs_are_listed_replaced_and_removed();
  test_blobs_that_cannot_be_kept_are_refused();
  test_resources_pass_through();
  test_a_failed_restore_leaves_the_blobs();
  test_a_generator_and_a_blob_of_one_name();
  test_a_failed_restore_links_no_slot();
  test_a_failed_assignment_leaves_no_generator();
  test_a_session_that_finds_other_variables_adds_none();
  test_a_session_that_cannot_have_its_generator_makes_no_rule();
  test_a_session_without_memory_leaves_the_state();
  test_shards();
  test_partial_restore();
  test_missing_names_come_with_near_ones();
  test_a_restored_shape_is_no_rule();
  test_latest();
  test_latest_and_links();
  test_a_damaged_list_leaves_the_newest();
  test_a_reader_looks_while_another_process_saves();
  test_a_save_overtakes_a_restore("m");
  test_a_save_overtakes_a_restore("n");
  test_a_save_whose_data_are_removed_does_not_replace_the_one_that_is_there();
  test_no_memory();
  CHECK(rmdir(folder) == 0);
  return CHECK_END;
}
