/* test_checkpoint.c - ci_save and ci_restore: round trip, all-or-nothing, every bit and every length. */
#include "posix.h"

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"
#include "checkpoint.h"

enum { MOST_FILES = 16 };

static char folder[] = "test_checkpoint_XXXXXX";

static const char *in_folder(const char *name) {
  static char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

/* ---- files of the folder ---- */

typedef struct listing {
  char names[MOST_FILES][256];
  int count;
} listing;

static listing list_files(void) {
  listing l = {.count = 0};
  DIR *dir = opendir(folder);
  for (struct dirent *entry; dir && (entry = readdir(dir)) && l.count < MOST_FILES;)
    if (entry->d_name[0] != '.') snprintf(l.names[l.count++], sizeof l.names[0], "%s", entry->d_name);
  if (dir) closedir(dir);
  return l;
}

static const char *find_file(const char *part) {
  static char name[256];
  listing l = list_files();
  for (int i = 0; i < l.count; i++)
    if (strstr(l.names[i], part)) return memcpy(name, l.names[i], sizeof name);
  return NULL;
}

static void remove_all(void) {
  listing l = list_files();
  for (int i = 0; i < l.count; i++) unlink(in_folder(l.names[i]));
}

static unsigned char *load_file(const char *name, size_t *size) {
  unsigned char *data = malloc(1 << 20);
  FILE *file = fopen(in_folder(name), "rb");
  *size = file ? fread(data, 1, 1 << 20, file) : 0;
  if (file) fclose(file);
  return data;
}

static void store_file(const char *name, const unsigned char *data, size_t size) {
  FILE *file = fopen(in_folder(name), "wb");
  CHECK(file && fwrite(data, 1, size, file) == size);
  if (file) fclose(file);
}

/* ---- states ---- */

/* Counts what it gave, and gives nothing when `left` has come down to zero. */
typedef struct meter {
  long left, blocks;
} meter;

static void *metered_alloc(void *user, size_t bytes, size_t align) {
  meter *m = user;
  if (m->left == 0) return NULL;
  m->left--;
  m->blocks++;
  return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void metered_release(void *user, void *memory, size_t bytes) {
  (void)bytes;
  ((meter *)user)->blocks--;
  free(memory);
}

static meter ample = {-1, 0};

static ci_state *metered_state(meter *m) {
  ci_state_options options = ci_state_defaults();
  ci_state *state = NULL;
  ci_error error;
  options.allocator = (ci_allocator){m, metered_alloc, metered_release};
  CHECK(ci_state_open(&options, &state, &error) == CI_OK);
  return state;
}

static ci_state *new_state(void) { return metered_state(&ample); }

static int declare(ci_state *state, const char *name, int32_t dtype, int rank, int64_t d0, int64_t d1) {
  ci_info info = {.name = name, .dtype = dtype, .rank = rank, .dims = {d0, d1}};
  int index = -1;
  ci_error error;
  CHECK(ci_variable_declare(state, &info, &index, &error) == CI_OK);
  return index;
}

static void give(ci_state *state, const char *name, int32_t dtype, int rank, int64_t d0, int64_t d1, const void *data) {
  ci_tensor value = {.data = (void *)(uintptr_t)data, .dtype = dtype, .rank = rank, .dims = {d0, d1}};
  ci_error error;
  value.bytes = ci_dtype_size(dtype) * (size_t)(rank > 0 ? d0 : 1) * (size_t)(rank > 1 ? d1 : 1);
  int index = declare(state, name, dtype, rank, d0, d1);
  CHECK(ci_variable_set(state, index, &value, &error) == CI_OK);
}

static const float weights[6] = {1, -2, 3.5f, 0, 1e-40f, 6};
static const int64_t step_value = 77;
static const uint8_t flags[3] = {1, 0, 1};
static const ci_string words[2] = {{"hello", 5}, {"", 0}};
static const double halves[16] = {0.5, 1.5};

static ci_state *fill(ci_state *state) {
  ci_generator generator = {0x0123456789abcdefu, 5};
  ci_error error;
  give(state, "net/w", CI_FLOAT, 2, 2, 3, weights);
  give(state, "global_step", CI_INT64, 0, 0, 0, &step_value);
  give(state, "flags", CI_BOOL, 1, 3, 0, flags);
  give(state, "words \"quoted\"", CI_STRING, 1, 2, 0, words);
  give(state, "halves", CI_DOUBLE, 1, 16, 0, halves);
  give(state, "nothing", CI_FLOAT, 1, 0, 0, weights);
  CHECK(ci_generator_set(state, "dropout", &generator, &error) == CI_OK);
  return state;
}

static ci_state *full_state(void) { return fill(new_state()); }

static bool same_bytes(ci_state *state, const char *name, const void *data, size_t bytes) {
  ci_tensor value;
  ci_error error;
  int index = ci_variable_index(state, name);
  if (index < 0 || ci_variable_view(state, index, &value, &error) != CI_OK) return false;
  return value.bytes == bytes && (bytes == 0 || memcmp(value.data, data, bytes) == 0);
}

static bool is_full(ci_state *state) {
  ci_tensor value;
  ci_error error;
  int index = ci_variable_index(state, "words \"quoted\"");
  if (index < 0 || ci_variable_view(state, index, &value, &error) != CI_OK) return false;
  const ci_string *text = value.data;
  ci_generator generator = {0, 0};
  int used = 0;
  CHECK(ci_generator_count(state) == 1 && strcmp(ci_generator_name(state, 0), "dropout") == 0);
  CHECK(ci_generator_get(state, 0, &generator, &used) == CI_OK);
  return same_bytes(state, "net/w", weights, sizeof weights) && same_bytes(state, "global_step", &step_value, 8) &&
         same_bytes(state, "flags", flags, 3) && same_bytes(state, "halves", halves, sizeof halves) &&
         same_bytes(state, "nothing", NULL, 0) && value.dims[0] == 2 && text[0].length == 5 &&
         memcmp(text[0].data, "hello", 5) == 0 && text[1].length == 0 && used && generator.key == 0x0123456789abcdefu &&
         generator.counter == 5;
}

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

/* Whatever allocation fails: a clean error, nothing half done, nothing lost. */
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

/* The disk refuses after n bytes: an error that names the file, the old checkpoint whole, no temporary left. */
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

int main(void) {
  CHECK(mkdtemp(folder) != NULL);
  test_round_trip();
  test_same_prefix();
  test_graph_file();
  test_mismatches();
  test_damage();
  test_no_memory();
  test_disk_refuses();
  CHECK(rmdir(folder) == 0);
  return CHECK_END;
}
