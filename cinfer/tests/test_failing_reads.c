/* test_failing_reads.c - every call on the files of models and checkpoints fails, is cut short or interrupted.
 *
 * tests/proofs/io_shim.c is linked between the library and the system. A read that fails is reported with the file's
 * name and has changed nothing; one that was interrupted or gave less is repeated; afterwards everything works. The
 * files after a failing save are checked by tests/proofs/faults.py. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"
#include "system/file.h"
#include "inputs.h"
#include "io_shim.h"
#include "models.h"

enum { MOST_CALLS = 1000 };

static char folder[64], model_path[128], prefix[128];
static ci_error error;

/* ---- the result of reading: a status, and a number for the content ---- */

typedef struct found {
  ci_status status;
  uint32_t digest;
} found;

static ci_status run_opened(ci_model *model, uint32_t *digest) {
  ci_session *session = NULL;
  ci_status status = ci_session_open(model, NULL, NULL, &session, &error);
  for (int s = 0; status == CI_OK && s < ci_signature_count(model); s++) {
    ci_tensor outputs[OUTPUTS_MOST] = {{0}};
    inputs in;
    inputs_make(&in, model, s, 3);
    if (ci_run(session, s, in.tensors, in.count, outputs, ci_output_count(model, s), NULL) == CI_OK)
      *digest = digest_tensors(*digest, outputs, ci_output_count(model, s));
    inputs_free(&in);
  }
  ci_session_close(session);
  return status;
}

static found open_model(bool lazy) {
  ci_options options = ci_defaults();
  ci_model *model = NULL;
  found f = {0};
  options.lazy = lazy;
  f.status = ci_open(model_path, &options, &model, &error);
  CHECK((f.status == CI_OK) == (model != NULL));
  if (f.status == CI_OK) f.status = run_opened(model, &f.digest);
  ci_close(model);
  return f;
}

static found open_whole(void) { return open_model(false); }
static found open_lazily(void) { return open_model(true); }

static found open_unmapped(void) {
  io_shim_refuse_maps(1);
  const found f = open_model(false);
  io_shim_refuse_maps(0);
  return f;
}

/* A state that has values: a restore that fails leaves them as they are. */
static ci_state *state_with_values(void) {
  ci_state *state = NULL;
  const ci_tensor value = {(float[]){7, 7}, 2 * sizeof(float), CI_FLOAT, 1, {2}};
  const ci_info info = {.name = "v", .dtype = CI_FLOAT, .rank = 1, .dims = {2}};
  int index = -1;
  CHECK(ci_state_open(NULL, &state, &error) == CI_OK);
  CHECK(ci_variable_declare(state, &info, &index, &error) == CI_OK);
  CHECK(ci_variable_set(state, index, &value, &error) == CI_OK);
  return state;
}

static found restore_by(uint32_t verify, bool newest) {
  ci_state *state = state_with_values();
  ci_restore_options how = ci_restore_defaults();
  ci_restored restored = {.size = sizeof restored};
  const uint32_t before = digest_state(state);
  found f = {0};
  how.verify = verify;
  f.status = newest ? ci_restore_latest(state, folder, &how, &restored, &error)
                    : ci_restore_with(state, prefix, &how, &restored, &error);
  f.digest = digest_state(state);
  if (f.status != CI_OK) CHECK(f.digest == before);
  else f.digest = ci_crc32c(f.digest, &restored.step, sizeof restored.step);
  ci_state_close(state);
  return f;
}

static uint32_t older, newest; /* the results of restoring the checkpoints */

static found restore_whole(void) { return restore_by(CI_VERIFY_FULL, false); }
static found restore_lazily(void) { return restore_by(CI_VERIFY_LAZY, false); }
static found restore_newest(void) { return restore_by(CI_VERIFY_FULL, true); }

static const float in_file[2] = {3, 4};
enum { IN_FILE_OFFSET = 2 }; /* where no float can be mapped */

static const char *values_path(void) {
  static char path[128];
  snprintf(path, sizeof path, "%s/m.values", folder);
  return path;
}

static found assign_from_file(void) {
  ci_state *state = state_with_values();
  const uint32_t before = digest_state(state);
  const int variable = 0;
  const ci_tensor value = {.dtype = CI_FLOAT, .rank = 1, .dims = {2}};
  const ci_in_file position = {0, ci_crc32c(0, in_file, sizeof in_file), IN_FILE_OFFSET};
  const char *path = values_path();
  const ci_assignment requested = {.variables = &variable,
                                   .values = &value,
                                   .variable_count = 1,
                                   .in_file = &position,
                                   .files = &path,
                                   .file_count = 1};
  const ci_status status = ci_state_assign(state, &requested, &error);
  const found f = {status, digest_state(state)};
  CHECK((f.digest == before) == (status != CI_OK));
  ci_state_close(state);
  return f;
}

/* ---- how it fails ---- */

static int entries_of(const char *path) {
  int count = 0;
  DIR *all = opendir(path);
  while (all != NULL && readdir(all) != NULL) count++;
  if (all != NULL) closedir(all);
  return count;
}

static bool is_mapped(void) {
  char line[4096];
  bool mapped = false;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) mapped = mapped || strstr(line, folder) != NULL;
  if (maps != NULL) fclose(maps);
  return mapped;
}

static bool is_reported(ci_status status, int reason) {
  if (strstr(error.message, folder) == NULL && strstr(error.message, "'m") == NULL &&
      strstr(error.message, "'checkpoint'") == NULL)
    return false;
  return reason == IO_SHIM_ENDS ? status == CI_DATA_LOSS || status == CI_UNAVAILABLE : status == CI_UNAVAILABLE;
}

/* A file that ends too early is damaged, and a damaged checkpoint is not the newest. */
static bool is_right(const found *f, const found *expected, int reason) {
  if (f->status != CI_OK) return reason != EINTR && reason != IO_SHIM_HALVES && is_reported(f->status, reason);
  return f->digest == expected->digest || (reason == IO_SHIM_ENDS && f->digest == older);
}

/* Returns how many calls there were. */
static long one_call(const char *what, found (*read)(void), found expected, long n, int reason, bool forever) {
  const int open_before = entries_of("/proc/self/fd");
  io_shim_arm(folder, n, reason, forever);
  const found f = read();
  const long calls = io_shim_calls();
  io_shim_arm("", 0, 0, 0);
  const bool closed = entries_of("/proc/self/fd") == open_before && !is_mapped();
  if (!closed || !is_right(&f, &expected, reason)) {
    check_failures++;
    fprintf(stderr, "%s: call %ld%s with %d: %s: %s\n", what, n, forever ? " and all after" : "", reason,
            ci_status_name(f.status),
            !closed             ? "left open"
            : f.status == CI_OK ? "something else was read"
                                : error.message);
  }
  return calls;
}

static long every_call(const char *what, found (*read)(void)) {
  static const int reasons[] = {EIO, EMFILE, ENOMEM, EACCES, EINTR, IO_SHIM_HALVES, IO_SHIM_ENDS};
  const found expected = read();
  CHECK(expected.digest != older);
  long tried = 0;
  CHECK(expected.status == CI_OK);
  for (size_t r = 0; r < sizeof reasons / sizeof *reasons; r++)
    for (int forever = 0; forever < 2; forever++) {
      if (forever && (reasons[r] == EINTR || reasons[r] == IO_SHIM_HALVES)) continue; /* would never end; is for ever */
      for (long n = 1; n < MOST_CALLS && one_call(what, read, expected, n, reasons[r], forever) >= n; n++) tried++;
    }
  const found after = read();
  CHECK(after.status == CI_OK && after.digest == expected.digest);
  return tried;
}

/* ---- the files ---- */

static void store_model(void) {
  FILE *file = fopen(model_path, "wb");
  CHECK(file != NULL && fwrite(model_everything, 1, sizeof model_everything, file) == sizeof model_everything);
  if (file != NULL) fclose(file);
}

static void store_values(void) {
  FILE *file = fopen(values_path(), "wb");
  CHECK(file != NULL && fseek(file, IN_FILE_OFFSET, SEEK_SET) == 0);
  if (file == NULL) return;
  CHECK(fwrite(in_file, sizeof in_file, 1, file) == 1);
  fclose(file);
}

/* Two checkpoints with data files of one variable each, strings among them, and a blob. */
static void store_checkpoints(void) {
  const ci_string strings[2] = {{"two", 3}, {"words", 5}};
  const ci_tensor value = {(void *)(uintptr_t)strings, sizeof strings, CI_STRING, 1, {2}};
  const ci_info info = {.name = "texts", .dtype = CI_STRING, .rank = -1};
  ci_save_options options = ci_save_defaults();
  ci_model *model = NULL;
  ci_state *state = state_with_values();
  ci_session *session = NULL;
  int index = -1;
  CHECK(ci_open(model_path, NULL, &model, &error) == CI_OK);
  CHECK(ci_variable_declare(state, &info, &index, &error) == CI_OK);
  CHECK(ci_variable_set(state, index, &value, &error) == CI_OK);
  CHECK(ci_state_set_blob(state, "place", "12345", 5, &error) == CI_OK);
  CHECK(ci_session_open(model, state, NULL, &session, &error) == CI_OK);
  options.shard_bytes = 1;
  for (options.step = 1; options.step <= 2; options.step++) {
    ci_tensor outputs[3] = {{0}};
    CHECK(ci_run(session, ci_signature(model, "step"), NULL, 0, outputs, 3, &error) == CI_OK);
    snprintf(prefix, sizeof prefix, "%s/m-%d", folder, (int)options.step);
    CHECK(ci_save_with(state, model, prefix, &options, &error) == CI_OK);
    *(options.step == 1 ? &older : &newest) = restore_whole().digest;
  }
  ci_session_close(session);
  ci_state_close(state);
  ci_close(model);
}

static int by_value(const void *one, const void *other) {
  const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
  return (a > b) - (a < b);
}

/* A save needs a number for the names of its files that no other has. Its call of the system opens no file; where there
 * is none, and where no file can be opened either, the numbers still differ. */
static void save_without_random_numbers(void) {
  enum { NUMBERS = 1000 };
  static uint64_t numbers[NUMBERS];
  struct rlimit before, none;
  ci_state *state = state_with_values();
  io_shim_arm("/dev", 1, EMFILE, 1);
  CHECK(ci_save(state, NULL, prefix, 2, &error) == CI_OK && io_shim_calls() == 0);
  io_shim_refuse_random(1);
  CHECK(ci_save(state, NULL, prefix, 2, &error) == CI_OK && restore_whole().status == CI_OK);
  io_shim_arm("", 0, 0, 0);
  CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
  none = before;
  none.rlim_cur = 0;
  CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
  for (int i = 0; i < NUMBERS; i++) numbers[i] = ci_file_random();
  CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
  io_shim_refuse_random(0);
  qsort(numbers, NUMBERS, sizeof *numbers, by_value);
  for (int i = 1; i < NUMBERS; i++) CHECK(numbers[i - 1] != numbers[i]);
  ci_state_close(state);
}

/* Signals come while it writes, syncs and renames. */
static void save_interrupted(void) {
  ci_state *state = state_with_values();
  long n = 1, calls = 1;
  for (; n < MOST_CALLS && calls >= n; n++) {
    io_shim_arm(folder, n, EINTR, 0);
    CHECK(ci_save(state, NULL, prefix, 2, &error) == CI_OK);
    calls = io_shim_calls();
    io_shim_arm("", 0, 0, 0);
    CHECK(restore_whole().status == CI_OK);
  }
  printf("a save: %ld interrupted calls\n", n - 2);
  CHECK(n > 10);
  ci_state_close(state);
}

/* Another run of the folder takes the new list for the rest of a crash and removes it before it has its name: the save
 * writes it again. Whatever else of a save is gone fails it. */
static void list_removed_meanwhile(void) {
  ci_state *state = state_with_values();
  char path[160], list[160];
  int failed = 0;
  long all = MOST_CALLS;
  snprintf(list, sizeof list, "%s/checkpoint'", folder);
  for (long n = 0; n <= all; n++) {
    snprintf(path, sizeof path, "%s/list-%ld", folder, n);
    io_shim_arm(folder, n == 0 ? MOST_CALLS : n, ENOENT, 0);
    const ci_status status = ci_save(state, NULL, path, n, &error);
    if (n == 0) all = io_shim_calls();
    io_shim_arm("", 0, 0, 0);
    CHECK(status == CI_OK || strstr(error.message, list) == NULL);
    failed += status != CI_OK;
  }
  printf("a list that is removed: %d of %ld saves fail, for other reasons\n", failed, all);
  CHECK(failed > 0 && failed < all);
  ci_state_close(state);
}

int main(void) {
  static const struct {
    const char *what;
    found (*read)(void);
    long least; /* calls */
  } rows[] = {{"a model", open_whole, 20},
              {"a model that is checked later", open_lazily, 20},
              {"a model that cannot be mapped", open_unmapped, 20},
              {"a checkpoint", restore_whole, 100},
              {"a checkpoint that stays in its files", restore_lazily, 100},
              {"values in a file", assign_from_file, 15},
              {"the newest checkpoint", restore_newest, 100},
              {"the newest of all files", restore_newest, 100}}; /* without the list, which is removed before */
  const size_t count = sizeof rows / sizeof *rows;
  char path[128];
  snprintf(folder, sizeof folder, "%s/reads_XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
  if (mkdtemp(folder) == NULL) return 2;
  snprintf(model_path, sizeof model_path, "%s/model.gio", folder);
  store_model();
  store_values();
  store_checkpoints();
  for (size_t i = 0; i < count; i++) {
    snprintf(path, sizeof path, "%s/checkpoint", folder);
    if (i + 1 == count) CHECK(unlink(path) == 0);
    const long tried = every_call(rows[i].what, rows[i].read);
    printf("%s: %ld failing calls\n", rows[i].what, tried);
    CHECK(tried >= rows[i].least);
  }
  save_without_random_numbers();
  save_interrupted();
  list_removed_meanwhile();
  snprintf(path, sizeof path, "rm -r '%s'", folder);
  CHECK(system(path) == 0);
  return CHECK_END;
}
