/* checkpoints.h - for tests of checkpoints: a temporary folder, its files, and states with variables. */
#ifndef CI_TEST_CHECKPOINTS_H
#define CI_TEST_CHECKPOINTS_H
#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "checkpoint/checkpoint.h"

enum { MOST_FILES = 32, MOST_BYTES = 1 << 24 };

static char folder[] = "test_checkpoint_XXXXXX";

CI_OUTLINE const char *in_folder(const char *name) {
  static char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

/* ---- files of the folder ---- */

typedef struct listing {
  char names[MOST_FILES][256];
  int count;
} listing;

CI_OUTLINE listing list_files(void) {
  listing l = {.count = 0};
  DIR *dir = opendir(folder);
  for (struct dirent *entry; dir && (entry = readdir(dir)) && l.count < MOST_FILES;)
    if (entry->d_name[0] != '.') snprintf(l.names[l.count++], sizeof l.names[0], "%s", entry->d_name);
  if (dir) closedir(dir);
  return l;
}

CI_OUTLINE const char *find_file(const char *part) {
  static char name[256];
  listing l = list_files();
  for (int i = 0; i < l.count; i++)
    if (strstr(l.names[i], part)) return memcpy(name, l.names[i], sizeof name);
  return NULL;
}

CI_OUTLINE void remove_all(void) {
  listing l = list_files();
  for (int i = 0; i < l.count; i++) unlink(in_folder(l.names[i]));
}

CI_OUTLINE unsigned char *load_file(const char *name, size_t *size) {
  unsigned char *data = malloc(MOST_BYTES);
  FILE *file = fopen(in_folder(name), "rb");
  *size = file ? fread(data, 1, MOST_BYTES, file) : 0;
  if (file) fclose(file);
  return data;
}

CI_OUTLINE void store_file(const char *name, const unsigned char *data, size_t size) {
  FILE *file = fopen(in_folder(name), "wb");
  CHECK(file && fwrite(data, 1, size, file) == size);
  if (file) fclose(file);
}

CI_OUTLINE bool has_file(const char *name) {
  struct stat about;
  return lstat(in_folder(name), &about) == 0;
}

CI_OUTLINE void write_text(const char *name, const char *text) {
  store_file(name, (const unsigned char *)text, strlen(text));
}

CI_OUTLINE bool file_holds(const char *name, const char *part) {
  size_t size;
  char *data = (char *)load_file(name, &size);
  data[size < MOST_BYTES ? size : size - 1] = 0;
  bool found = strstr(data, part) != NULL;
  free(data);
  return found;
}

/* ---- states ---- */

/* Counts the blocks that it gave, and fails when `left` has come down to zero. */
typedef struct meter {
  long left, blocks;
} meter;

CI_OUTLINE void *metered_alloc(void *user, size_t bytes, size_t align) {
  meter *m = user;
  if (m->left == 0) return NULL;
  m->left--;
  m->blocks++;
  return aligned_alloc(align, (bytes + align - 1) / align * align);
}

CI_OUTLINE void metered_release(void *user, void *memory, size_t bytes) {
  (void)bytes;
  ((meter *)user)->blocks--;
  free(memory);
}

static meter ample = {-1, 0};

CI_OUTLINE ci_state *metered_state(meter *m) {
  ci_state_options options = ci_state_defaults();
  ci_state *state = NULL;
  ci_error error;
  options.allocator = (ci_allocator){m, metered_alloc, metered_release};
  CHECK(ci_state_open(&options, &state, &error) == CI_OK);
  return state;
}

CI_OUTLINE ci_state *new_state(void) { return metered_state(&ample); }

CI_OUTLINE int declare(ci_state *state, const char *name, int32_t dtype, int rank, int64_t d0, int64_t d1) {
  ci_info info = {.name = name, .dtype = dtype, .rank = rank, .dims = {d0, d1}};
  int index = -1;
  ci_error error;
  CHECK(ci_variable_declare(state, &info, &index, &error) == CI_OK);
  return index;
}

CI_OUTLINE void give(ci_state *state, const char *name, int32_t dtype, int rank, int64_t d0, int64_t d1,
                     const void *data) {
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

CI_OUTLINE ci_state *fill(ci_state *state) {
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

CI_OUTLINE ci_state *full_state(void) { return fill(new_state()); }

CI_OUTLINE bool same_bytes(ci_state *state, const char *name, const void *data, size_t bytes) {
  ci_tensor value;
  ci_error error;
  int index = ci_variable_index(state, name);
  if (index < 0 || ci_variable_view(state, index, &value, &error) != CI_OK) return false;
  return value.bytes == bytes && (bytes == 0 || memcmp(value.data, data, bytes) == 0);
}

CI_OUTLINE bool is_full(ci_state *state) {
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

/* ---- saving and restoring ---- */

CI_OUTLINE ci_status save_graph(ci_state *state, const char *graph, const char *name, int64_t step,
                                uint64_t shard_bytes, int32_t keep) {
  ci_save_options options = ci_save_defaults();
  ci_error error;
  options.step = step;
  options.shard_bytes = shard_bytes;
  options.max_to_keep = keep;
  return ci_checkpoint_save(state, graph, graph ? strlen(graph) : 0, in_folder(name), &options, &error);
}

CI_OUTLINE ci_status save_as(ci_state *state, const char *name, int64_t step, uint64_t shard_bytes, int32_t keep) {
  return save_graph(state, NULL, name, step, shard_bytes, keep);
}

CI_OUTLINE ci_restored latest(ci_state *state, ci_status expected) {
  ci_restored restored = {.size = sizeof restored, .step = -9, .name = "?"};
  ci_error error;
  CHECK(ci_restore_latest(state, folder, NULL, &restored, &error) == expected);
  return restored;
}
#endif
