/* checkpoint.c - fuzz target: a folder of files is restored from, and saved to.
 *
 * An input is a byte of options, then the files (bundle.h). They are in a folder in memory, of this process alone. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle.h"
#include "feeds.h"

enum {
  OPTION_LAZY = 1,
  OPTION_PARTIAL = 2,
  OPTION_LATEST = 4,
  OPTION_VARIABLES = 8,
  OPTION_SAVE = 16,
  OPTION_KEEP = 32
};

/* ---- the folder ---- */

static char folder[64]; /* made once a process; the process's last input may stay there */

static int folder_open(void) {
  if (folder[0] == 0) {
    snprintf(folder, sizeof folder, "/dev/shm/cinfer-fuzz-XXXXXX");
    if (mkdtemp(folder) == NULL) exit(2);
  }
  const int handle = open(folder, O_RDONLY | O_DIRECTORY);
  if (handle < 0) exit(2);
  return handle;
}

static void folder_empty(int handle) {
  DIR *entries = fdopendir(dup(handle));
  if (entries == NULL) exit(2);
  rewinddir(entries);
  for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) (void)unlinkat(handle, entry->d_name, 0);
  closedir(entries);
}

static void folder_fill(int handle, const fuzz_file *files, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const int file = openat(handle, files[i].name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0) continue;
    if (write(file, files[i].data, files[i].length) != (ssize_t)files[i].length) exit(2);
    close(file);
  }
}

/* ---- the state ---- */

static const float before[4] = {1.0f, -2.0f, 3.0f, 0.5f};

static void declare(ci_state *state, const char *name, float *values) {
  ci_info info = {.name = name, .dtype = CI_FLOAT, .rank = 1, .dims = {4}};
  ci_tensor value = {.data = values, .bytes = 4 * sizeof *values, .dtype = CI_FLOAT, .rank = 1, .dims = {4}};
  int index;
  fuzz_require(ci_variable_declare(state, &info, &index, NULL) == CI_OK, "variables can be declared");
  fuzz_require(ci_variable_set(state, index, &value, NULL) == CI_OK, "variables can be set");
}

/* Every value is looked at: those that stay in their files are checked now. */
static uint64_t look(ci_state *state) {
  uint64_t digest = 0;
  for (int i = 0; i < ci_variable_count(state); i++) {
    ci_tensor value;
    ci_info info;
    ci_error error;
    fuzz_require(ci_variable(state, i, &info) == CI_OK && info.name != NULL, "S6: variables can be queried");
    const ci_status status = ci_variable_view(state, i, &value, &error);
    fuzz_check_error(status, &error);
    if (status == CI_OK) digest = fuzz_digest(digest, &value);
  }
  for (int i = 0; i < ci_generator_count(state); i++) {
    ci_generator value = {0};
    int known;
    fuzz_require(ci_generator_get(state, i, &value, &known) == CI_OK, "S6: generators can be queried");
    digest = fuzz_digest_bytes(digest, &value, sizeof value);
  }
  for (int i = 0; i < ci_state_blob_count(state); i++) {
    const void *data;
    size_t bytes;
    const ci_status status = ci_state_blob(state, ci_state_blob_name(state, i), &data, &bytes, NULL);
    fuzz_require(status == CI_OK, "S6: blobs are found by their names");
    digest = fuzz_digest_bytes(digest, data, bytes);
  }
  return digest;
}

/* ---- restoring and saving ---- */

static void prefix_of(const fuzz_file *files, size_t count, char prefix[256]) {
  const char *name = "model.index";
  for (size_t i = 0; i < count; i++)
    if (fuzz_ends_with(files[i].name, ".index")) name = files[i].name;
  snprintf(prefix, 256, "%s/%.*s", folder, (int)(strlen(name) - strlen(".index")), name);
}

static void restore(ci_state *state, uint8_t options, const char *prefix) {
  ci_restore_options requested = ci_restore_defaults();
  requested.verify = (options & OPTION_LAZY) != 0 ? CI_VERIFY_LAZY : CI_VERIFY_FULL;
  requested.partial = (options & OPTION_PARTIAL) != 0 ? CI_PARTIAL_MISSING | CI_PARTIAL_DIFFERENT : 0;
  const int variables = ci_variable_count(state);
  const uint64_t digest = look(state);
  ci_restored restored = {.size = sizeof restored};
  ci_error error;
  const ci_status status = (options & OPTION_LATEST) != 0
                               ? ci_restore_latest(state, folder, &requested, &restored, &error)
                               : ci_restore_with(state, prefix, &requested, &restored, &error);
  fuzz_check_error(status, &error);
  const uint64_t after = look(state);
  if (status != CI_OK)
    fuzz_require(after == digest && ci_variable_count(state) == variables, "S6: a refused restore changes nothing");
}

static void save(ci_state *state, uint8_t options) {
  char prefix[sizeof folder + 16];
  ci_save_options requested = ci_save_defaults();
  requested.step = options;
  requested.max_to_keep = (options & OPTION_KEEP) != 0 ? 1 : 0;
  snprintf(prefix, sizeof prefix, "%s/model-7", folder);
  const uint64_t digest = look(state);
  ci_error error;
  const ci_status status = ci_save_with(state, NULL, prefix, &requested, &error);
  fuzz_check_error(status, &error);
  if (status != CI_OK) return;
  fuzz_require(ci_restore(state, prefix, NULL, &error) == CI_OK,
               "a saved checkpoint can be restored next to any other files");
  fuzz_require(look(state) == digest, "what was saved is what is restored");
}

const bool fuzz_has_tail = false;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_reader reader = {data, data + size};
  fuzz_file files[FUZZ_MOST_FILES];
  fuzz_memory memory = {.fill = 0xa5};
  const uint8_t options = fuzz_byte(&reader);
  const size_t count = fuzz_bundle_read(&reader, files);
  const int handle = folder_open();
  folder_fill(handle, files, count);
  ci_state_options requested = ci_state_defaults();
  requested.allocator = fuzz_allocator(&memory);
  ci_state *state = NULL;
  fuzz_require(ci_state_open(&requested, &state, NULL) == CI_OK, "a state can be opened");
  if ((options & OPTION_VARIABLES) != 0) declare(state, "a", (float[4]){before[0], before[1], before[2], before[3]});
  char prefix[256];
  prefix_of(files, count, prefix);
  restore(state, options, prefix);
  if ((options & OPTION_SAVE) != 0) save(state, options);
  ci_state_close(state);
  fuzz_require(memory.blocks == 0 && memory.live == 0, "S6: nothing leaks");
  folder_empty(handle);
  close(handle);
  return 0;
}
