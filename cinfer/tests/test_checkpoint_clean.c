/* test_checkpoint_clean.c - the files that a save removes and those that it leaves, also when calls of the system fail
 * or lie. */
#include "system/posix.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include "checkpoints.h"

/* ---- garbage ---- */

static void test_garbage_of_crashes_goes(void) {
  static const char *const goes[] = {"m.data-0123456789abcdef-00000-of-00002.safetensors", "m.meta-0123456789abcdef",
                                     "tmp-0123456789abcdef-m.index"};
  static const char *const stays[] = {"m2.data-0123456789abcdef-00000-of-00002.safetensors",
                                      "m.data-0123456789abcdeg-00000-of-00002.safetensors",
                                      "m.data-0123456789abcdef-0000x-of-00002.safetensors",
                                      "m.data-0123456789abcdef-00000-of-00002.safetensors.bak",
                                      "m.data-0123456789abcdef",
                                      "m.meta-0123456789abcdef0",
                                      "tmp-0123456789ABCDEF-m.index",
                                      "tmp-0123456789abcdef-",
                                      "tmp-mine",
                                      "notes"};
  const struct timespec old[2] = {{1000000000, 0}, {1000000000, 0}};
  ci_state *state = full_state();
  CHECK(save_as(state, "m", 1, 0, 0) == CI_OK);
  for (size_t i = 0; i < sizeof goes / sizeof *goes; i++) write_text(goes[i], "x");
  for (size_t i = 0; i < sizeof stays / sizeof *stays; i++) write_text(stays[i], "x");
  write_text("tmp-1123456789abcdef-new", "x"); /* of another process that is writing now */
  CHECK(utimensat(AT_FDCWD, in_folder(goes[2]), old, 0) == 0);
  CHECK(save_as(state, "m", 2, 0, 0) == CI_OK);
  for (size_t i = 0; i < sizeof goes / sizeof *goes; i++) CHECK(!has_file(goes[i]));
  for (size_t i = 0; i < sizeof stays / sizeof *stays; i++) CHECK(has_file(stays[i]));
  CHECK(has_file("tmp-1123456789abcdef-new"));
  ci_state_close(state);
  remove_all();
}

static void test_what_crashes_left_of_others_goes_when_it_is_old(void) {
  static const char *const files[] = {"n-1.data-0123456789abcdef-00000-of-00002.safetensors",
                                      "n-1.data-0123456789abcdef-00001-of-00002.safetensors", "n-1.meta"};
  ci_state *state = full_state();
  ci_folder opened;
  const char *base;
  CHECK(save_as(state, "n-2", 2, 0, 0) == CI_OK);
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) write_text(files[i], "x");
  write_text("notes.meta", "x");
  CHECK(save_as(state, "m", 1, 0, 0) == CI_OK);
  CHECK(ci_folder_open(NULL, in_folder("m"), &opened, &base, NULL) == CI_OK);
  ci_checkpoint_remove_abandoned(&opened, "m", 3600 * CI_SECOND);
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) CHECK(has_file(files[i]));
  ci_checkpoint_remove_abandoned(&opened, "m", -3600 * CI_SECOND);
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) CHECK(!has_file(files[i]));
  write_text("n-2.data-00000000000000ab-00000-of-00001.safetensors", "of a save that n-2.index does not name");
  ci_checkpoint_remove_abandoned(&opened, "m", -3600 * CI_SECOND);
  CHECK(!has_file("n-2.data-00000000000000ab-00000-of-00001.safetensors"));
  CHECK(has_file("notes.meta") && has_file("n-2.index") && find_file("n-2.data-") && has_file("m.index"));
  ci_folder_close(&opened);
  ci_state_close(state);
  remove_all();
}

static void make_old(const char *name, time_t seconds) {
  const struct timespec then[2] = {{time(NULL) - seconds, 0}, {time(NULL) - seconds, 0}};
  CHECK(utimensat(AT_FDCWD, in_folder(name), then, 0) == 0);
}

/* Of the run itself those that are older than the state; others may be in use by a process that saves slowly. */
static void test_temporaries_of_other_runs_stay_for_an_hour(void) {
  static const char *const goes[] = {"tmp-0123456789abcdef-m-7.index", "tmp-0123456789abcdef-m.index",
                                     "tmp-0123456789abcdef-checkpoint", "tmp-0123456789abcdef-old.index"};
  static const char *const stays[] = {"tmp-0123456789abcdef-n-7.index", "tmp-0123456789abcdef-mm-7.index",
                                      "tmp-0123456789abcdef-m", "tmp-0123456789abcdef-checkpoint2"};
  ci_state *state = full_state();
  for (size_t i = 0; i < sizeof goes / sizeof *goes; i++) write_text(goes[i], "x");
  for (size_t i = 0; i < sizeof goes / sizeof *goes; i++) make_old(goes[i], i == 3 ? 4000 : 60);
  for (size_t i = 0; i < sizeof stays / sizeof *stays; i++) write_text(stays[i], "x");
  for (size_t i = 0; i < sizeof stays / sizeof *stays; i++) make_old(stays[i], 60);
  write_text("tmp-1123456789abcdef-m-7.index", "of a save under way");
  CHECK(save_as(state, "m-8", 8, 0, 0) == CI_OK);
  for (size_t i = 0; i < sizeof goes / sizeof *goes; i++) CHECK(!has_file(goes[i]));
  for (size_t i = 0; i < sizeof stays / sizeof *stays; i++) CHECK(has_file(stays[i]));
  CHECK(has_file("tmp-1123456789abcdef-m-7.index"));
  ci_state_close(state);
  remove_all();
}

/* An index was renamed to keep the checkpoint: the files that it names are not garbage of the old name. */
static void test_what_a_renamed_index_names_stays(void) {
  char from[512];
  ci_state *state = full_state(), *other = new_state();
  ci_error error;
  ci_folder opened;
  const char *base;
  CHECK(save_graph(state, "graph", "m-1", 1, 30, 1) == CI_OK);
  snprintf(from, sizeof from, "%s", in_folder("m-1.index"));
  CHECK(rename(from, in_folder("best.index")) == 0);
  for (int i = 0; i < 2; i++) {
    CHECK(save_graph(state, "another graph", "m-1", 1, 30, 1) == CI_OK);
    CHECK(ci_restore(other, in_folder("best"), NULL, &error) == CI_OK);
    CHECK(ci_restore(other, in_folder("m-1"), NULL, &error) == CI_OK && find_file("m-1.meta-"));
  }
  CHECK(save_graph(state, "graph", "m-2", 2, 30, 1) == CI_OK && !has_file("m-1.index"));
  CHECK(ci_restore(other, in_folder("best"), NULL, &error) == CI_OK && has_file("m-1.meta"));
  CHECK(ci_folder_open(NULL, in_folder("m-2"), &opened, &base, NULL) == CI_OK);
  ci_checkpoint_remove_abandoned(&opened, "m-2", -3600 * CI_SECOND);
  CHECK(ci_restore(other, in_folder("best"), NULL, &error) == CI_OK && is_full(other) && has_file("m-1.meta"));
  unlink(in_folder("best.index"));
  ci_checkpoint_remove_abandoned(&opened, "m-2", -3600 * CI_SECOND);
  CHECK(!find_file("m-1."));
  ci_folder_close(&opened);
  ci_state_close(state);
  ci_state_close(other);
  remove_all();
}

/* ---- names and lists ---- */

static void test_a_name_like_a_temporary_one_is_refused(void) {
  ci_state *state = full_state();
  ci_error error;
  CHECK(ci_save(state, NULL, in_folder("tmp-0123456789abcdef-m"), 1, &error) == CI_INVALID_ARGUMENT);
  CHECK(strstr(error.message, "temporary") && list_files().count == 0);
  CHECK(ci_save(state, NULL, in_folder("tmp-m"), 1, &error) == CI_OK);
  ci_state_close(state);
  remove_all();
}

/* The checkpoint is committed, so the files that it replaces are garbage; checkpoints that are too old stay, because
 * no list has them. */
static void test_a_list_that_cannot_be_written(void) {
  ci_state *state = full_state();
  ci_error error;
  CHECK(save_as(state, "m", 1, 1, 0) == CI_OK && find_file("-of-00006"));
  unlink(in_folder("checkpoint"));
  CHECK(mkdir(in_folder("checkpoint"), 0777) == 0);
  CHECK(save_as(state, "m", 2, 0, 1) != CI_OK);
  CHECK(!find_file("-of-00006") && !find_file("tmp-") && find_file("-of-00001"));
  int64_t step = 0;
  CHECK(ci_restore(state, in_folder("m"), &step, &error) == CI_OK && step == 2);
  CHECK(rmdir(in_folder("checkpoint")) == 0);
  ci_state_close(state);
  remove_all();
}

/* ---- calls that fail or lie ---- */

#ifdef __linux__
static bool writes_nothing;
static int renames_lie; /* 1: of an index, done but an error reported; 2: not done */

ssize_t write(int file, const void *data, size_t bytes) {
  return writes_nothing ? 0 : (ssize_t)syscall(SYS_write, file, data, bytes);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
  const bool lies = renames_lie && strstr(to, ".index");
  const long done = lies && renames_lie == 2 ? 0 : syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
  if (!lies) return (int)done;
  errno = EIO;
  return -1;
}

static void test_a_rename_that_happened_though_it_failed(void) {
  ci_state *state = full_state(), *other = new_state();
  CHECK(save_as(state, "m", 1, 0, 0) == CI_OK);
  renames_lie = 1;
  CHECK(save_as(state, "m", 2, 30, 0) == CI_OK);
  CHECK(latest(other, CI_OK).step == 2 && is_full(other) && find_file("-of-00004") && !find_file("-of-00001"));
  renames_lie = 2;
  CHECK(save_as(state, "m", 3, 0, 0) == CI_UNAVAILABLE && save_as(state, "n", 3, 0, 0) == CI_UNAVAILABLE);
  renames_lie = 0;
  CHECK(latest(other, CI_OK).step == 2 && !find_file("-of-00001") && !find_file("tmp-") && !find_file("n."));
  ci_state_close(state);
  ci_state_close(other);
  remove_all();
}

static void test_a_disk_that_takes_nothing(void) {
  ci_state *state = full_state();
  alarm(60);
  writes_nothing = true;
  const ci_status status = save_as(state, "m", 1, 0, 0);
  writes_nothing = false;
  alarm(0);
  CHECK(status == CI_UNAVAILABLE && list_files().count == 0);
  ci_state_close(state);
}
#endif

int main(void) {
  CHECK(mkdtemp(folder) != NULL);
  test_garbage_of_crashes_goes();
  test_what_crashes_left_of_others_goes_when_it_is_old();
  test_temporaries_of_other_runs_stay_for_an_hour();
  test_what_a_renamed_index_names_stays();
  test_a_name_like_a_temporary_one_is_refused();
  test_a_list_that_cannot_be_written();
#ifdef __linux__
  test_a_rename_that_happened_though_it_failed();
  test_a_disk_that_takes_nothing();
#endif
  CHECK(rmdir(folder) == 0);
  return CHECK_END;
}
