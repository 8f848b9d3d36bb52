/* test_checkpoint_list.c - the text file `checkpoint`: which checkpoints stay and which go. */
#include "system/posix.h"

#include <fcntl.h>

#include "checkpoints.h"

static void test_max_to_keep(void) {
  ci_state *state = full_state();
  char name[16];
  for (int i = 1; i <= 5; i++) {
    snprintf(name, sizeof name, "m-%d", i);
    CHECK(save_as(state, name, i, 40, 2) == CI_OK);
  }
  CHECK(has_file("m-4.index") && has_file("m-5.index") && !find_file("m-3") && !find_file("m-1"));
  CHECK(file_holds("checkpoint", "# to be deleted: \"m-3\"\n") && file_holds("checkpoint", "paths: \"m-4\"\nall"));
  CHECK(save_as(state, "m-5", 6, 0, 2) == CI_OK && has_file("m-4.index")); /* the same name counts once */
  CHECK(save_as(state, "m-6", 6, 0, 1) == CI_OK && !find_file("m-4") && !find_file("m-5"));
  CHECK(list_files().count == 3);
  ci_state_close(state);
  remove_all();
}

/* Files P.keep and P.best are next to the files that Python keeps. */
static void test_what_is_protected_stays(void) {
  ci_state *state = full_state();
  char name[16];
  for (int i = 1; i <= 3; i++) {
    snprintf(name, sizeof name, "m-%d", i);
    CHECK(save_as(state, name, i, 0, 3) == CI_OK);
  }
  write_text("m-1.keep", "");
  write_text("m-2.best", "");
  CHECK(save_as(state, "m-4", 4, 0, 1) == CI_OK);
  CHECK(has_file("m-1.index") && has_file("m-2.index") && !find_file("m-3"));
  CHECK(file_holds("checkpoint", "paths: \"m-1\"\nall_model_checkpoint_paths: \"m-2\"\nall"));
  unlink(in_folder("m-2.best"));
  CHECK(save_as(state, "m-5", 5, 0, 1) == CI_OK && has_file("m-1.index") && !find_file("m-2") && !find_file("m-4"));
  write_text("checkpoint", "model_checkpoint_path: \"m-5\"\n# to be deleted: \"m-1\"\n");
  CHECK(save_as(state, "m-5", 6, 0, 1) == CI_OK && has_file("m-1.index"));
  ci_state_close(state);
  remove_all();
}

static void test_lines_of_others_stay(void) {
  static const char before[] =
      "model_checkpoint_path: \"old\"\n"
      "all_model_checkpoint_paths: \"/else/where \\\"x\\\"\"  # far away\n"
      "  all_model_checkpoint_paths : \"old\"\n\n"
      "all_model_checkpoint_timestamps: 1790000000.25\n"
      "all_model_checkpoint_timestamps: 1.79e9\n"
      "last_preserved_timestamp: 1780000000.5\nunknown: 3\n";
  static const char after[] =
      "model_checkpoint_path: \"new\"\n"
      "all_model_checkpoint_paths: \"/else/where \\\"x\\\"\"\n"
      "all_model_checkpoint_paths: \"old\"\nall_model_checkpoint_paths: \"new\"\n"
      "all_model_checkpoint_timestamps: 1790000000.25\nall_model_checkpoint_timestamps: 1.79e9\n"
      "all_model_checkpoint_timestamps: ";
  ci_state *state = full_state();
  write_text("checkpoint", before);
  CHECK(save_as(state, "new", 1, 0, 0) == CI_OK);
  CHECK(file_holds("checkpoint", after) && file_holds("checkpoint", "\nlast_preserved_timestamp: 1780000000.5\n"));
  CHECK(save_as(state, "newer", 1, 0, 1) == CI_OK); /* deletes nothing outside the folder */
  CHECK(file_holds("checkpoint", "/else/where") && !file_holds("checkpoint", "\"old\"") && !has_file("new.index"));
  ci_state_close(state);
  remove_all();
}

static void test_an_unreadable_list_is_replaced(void) {
  static const char *const lists[] = {"nonsense\n", "model_checkpoint_path: \"open\n", "a: \"x\" y\n",
                                      "\xff: 1\n",  "model_checkpoint_path: \"x\\\"",  ": 3\n",
                                      "a:\n"};
  ci_state *state = full_state(), *other = new_state();
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    write_text("checkpoint", lists[i]);
    CHECK(save_as(state, "m", 1, 0, 0) == CI_OK && file_holds("checkpoint", "model_checkpoint_path: \"m\"\nall"));
    write_text("checkpoint", lists[i]);
    CHECK(strcmp(latest(other, CI_OK).name, "m") == 0);
  }
  ci_state_close(state);
  ci_state_close(other);
  remove_all();
}

/* A crash between the list and the deletion: the next save goes on with it. */
static void test_what_is_to_be_deleted_is_written_down(void) {
  ci_state *state = full_state();
  CHECK(save_as(state, "a", 1, 0, 0) == CI_OK && save_as(state, "b", 2, 0, 0) == CI_OK);
  CHECK(save_as(state, "c", 2, 0, 0) == CI_OK);
  write_text("checkpoint",
             "# a comment\nmodel_checkpoint_path: \"c\"\nall_model_checkpoint_paths: \"b\"\n"
             "all_model_checkpoint_paths: \"c\"\n  # to be deleted: \"a\"\n# to be deleted: \"b\"\n"
             "# to be deleted: \"../x\"\n# to be deleted: \"gone\"\n# to be deleted:\n");
  CHECK(save_as(state, "c", 3, 0, 0) == CI_OK && has_file("a.index"));
  CHECK(file_holds("checkpoint", "\n# to be deleted: \"a\"\n# crc32c: "));
  CHECK(save_as(state, "d", 4, 0, 2) == CI_OK && !find_file("a.") && !find_file("b.") && has_file("c.index"));
  CHECK(file_holds("checkpoint", "\n# to be deleted: \"a\"\n# to be deleted: \"b\"\n# crc32c: "));
  CHECK(save_as(state, "d", 4, 0, 2) == CI_OK && !file_holds("checkpoint", "deleted"));
  ci_state_close(state);
  remove_all();
}

static void test_a_list_with_a_wrong_checksum_is_not_read(void) {
  size_t size;
  ci_state *state = full_state(), *other = new_state();
  CHECK(save_as(state, "a", 1, 0, 0) == CI_OK && save_as(state, "b", 2, 0, 0) == CI_OK);
  char *text = (char *)load_file("checkpoint", &size);
  char *path = size ? strstr(text, "\"b\"") : NULL;
  CHECK(path != NULL);
  if (path) path[1] = 'a';
  store_file("checkpoint", (unsigned char *)text, size);
  CHECK(strcmp(latest(other, CI_OK).name, "b") == 0);
  store_file("checkpoint", (unsigned char *)text, size - 19); /* without the last line: edited by hand */
  CHECK(strcmp(latest(other, CI_OK).name, "a") == 0);
  free(text);
  ci_state_close(state);
  ci_state_close(other);
  remove_all();
}

static void test_the_list_is_left_alone_when_requested(void) {
  ci_save_options options = ci_save_defaults();
  ci_state *state = full_state();
  ci_error error;
  options.write_state = 0;
  options.max_to_keep = 1;
  CHECK(save_as(state, "a", 1, 0, 0) == CI_OK);
  CHECK(ci_save_with(state, NULL, in_folder("b"), &options, &error) == CI_OK);
  CHECK(has_file("a.index") && has_file("b.index") && !file_holds("checkpoint", "\"b\""));
  ci_state_close(state);
  remove_all();
}

/* ---- after a kill ---- */

/* The names of the checkpoints in the folder, in order, each with a blank. */
static const char *lying(void) {
  static char text[512];
  const listing l = list_files();
  char names[MOST_FILES][256];
  int count = 0;
  for (int i = 0; i < l.count; i++) {
    const size_t length = strlen(l.names[i]);
    if (length > 6 && strcmp(l.names[i] + length - 6, ".index") == 0)
      snprintf(names[count++], sizeof names[0], "%.*s", (int)length - 6, l.names[i]);
  }
  qsort(names, (size_t)count, sizeof names[0], (int (*)(const void *, const void *))strcmp);
  text[0] = 0;
  for (int i = 0; i < count; i++) strcat(strcat(text, names[i]), " ");
  return text;
}

static bool lie(const char *names) {
  if (strcmp(lying(), names) == 0) return true;
  fprintf(stderr, "the folder has: %s\n", lying());
  return false;
}

static void save_steps(ci_state *state, int first, int last, int32_t keep) {
  char name[16];
  for (int i = first; i <= last; i++) {
    snprintf(name, sizeof name, "m-%d", i);
    CHECK(save_as(state, name, i, 0, keep) == CI_OK);
  }
}

/* Between the commit of the first checkpoint and the file `checkpoint`: a run that goes on from it lists it. */
static void test_a_kill_before_the_first_list(void) {
  ci_state *state = full_state(), *other = new_state();
  save_steps(state, 1, 1, 3);
  unlink(in_folder("checkpoint"));
  CHECK(strcmp(latest(other, CI_OK).name, "m-1") == 0);
  save_steps(other, 2, 3, 3);
  CHECK(lie("m-1 m-2 m-3 ") && file_holds("checkpoint", "paths: \"m-1\"\nall_model_checkpoint_paths: \"m-2\"\n"));
  CHECK(file_holds("checkpoint", "\"m-3\"\nall_model_checkpoint_timestamps: "));
  save_steps(other, 4, 4, 3);
  CHECK(lie("m-2 m-3 m-4 "));
  ci_state_close(state);
  ci_state_close(other);
  remove_all();
}

/* After that the list lacks the newest; the step is repeated, or another one comes. */
static void test_a_kill_before_a_later_list(void) {
  ci_state *state = full_state(), *other = new_state();
  size_t size;
  save_steps(state, 1, 4, 2);
  unsigned char *list = load_file("checkpoint", &size);
  save_steps(state, 5, 5, 0);
  store_file("checkpoint", list, size);
  CHECK(strcmp(latest(other, CI_OK).name, "m-4") == 0);
  save_steps(other, 5, 6, 2);
  CHECK(lie("m-5 m-6 "));
  free(list);
  ci_state_close(state);
  ci_state_close(other);
  remove_all();
}

/* Only what the run goes on from: not another run's, not one that was saved again, not one that was only looked at. */
static void test_what_nobody_lists_stays(void) {
  ci_state *state = full_state(), *other = new_state();
  ci_error error;
  save_steps(state, 1, 2, 0);
  unlink(in_folder("checkpoint"));
  CHECK(strcmp(latest(other, CI_OK).name, "m-2") == 0);
  CHECK(save_as(other, "n-3", 3, 0, 1) == CI_OK && lie("m-1 m-2 n-3 "));
  unlink(in_folder("checkpoint"));
  unlink(in_folder("n-3.index"));
  CHECK(strcmp(latest(other, CI_OK).name, "m-2") == 0 && save_as(state, "m-2", 3, 0, 0) == CI_OK);
  unlink(in_folder("checkpoint"));
  save_steps(other, 3, 4, 1);
  CHECK(lie("m-1 m-2 m-4 "));
  unlink(in_folder("checkpoint"));
  CHECK(strcmp(latest(other, CI_OK).name, "m-4") == 0 && ci_restore(other, in_folder("m-2"), NULL, &error) == CI_OK);
  save_steps(other, 5, 6, 1);
  CHECK(lie("m-1 m-2 m-4 m-6 "));
  ci_state_close(state);
  ci_state_close(other);
  remove_all();
}

/* A comment says that it is to be deleted, but it was saved again since, which a kill kept from the list. */
static void test_one_that_was_saved_again_is_not_deleted(void) {
  ci_save_options options = ci_save_defaults();
  ci_state *state = full_state();
  ci_error error;
  options.write_state = 0;
  save_steps(state, 1, 1, 0);
  write_text("checkpoint", "model_checkpoint_path: \"gone\"\n# to be deleted: \"m-1\"\n# to be deleted: \"m-2\"\n");
  usleep(20000); /* the clock of files may be that coarse */
  save_steps(state, 2, 2, 0);
  write_text("checkpoint", "model_checkpoint_path: \"gone\"\n# to be deleted: \"m-1\"\n# to be deleted: \"m-2\"\n");
  usleep(20000);
  CHECK(ci_save_with(state, NULL, in_folder("m-1"), &options, &error) == CI_OK);
  save_steps(state, 3, 3, 2);
  CHECK(lie("m-1 m-3 ") && !file_holds("checkpoint", "m-1"));
  ci_state_close(state);
  remove_all();
}

/* ---- odd lists ---- */

static void test_a_checkpoint_that_is_listed_twice_counts_once(void) {
  ci_state *state = full_state();
  save_steps(state, 1, 3, 0);
  write_text("checkpoint",
             "model_checkpoint_path: \"m-3\"\nall_model_checkpoint_paths: \"m-1\"\n"
             "all_model_checkpoint_paths: \"m-2\"\nall_model_checkpoint_paths: \"m-1\"\n"
             "all_model_checkpoint_paths: \"m-3\"\nall_model_checkpoint_paths: \"m-3\"\n"
             "all_model_checkpoint_timestamps: 1\nall_model_checkpoint_timestamps: 2\n"
             "all_model_checkpoint_timestamps: 3\nall_model_checkpoint_timestamps: 4\n"
             "all_model_checkpoint_timestamps: 5\n");
  save_steps(state, 4, 4, 3);
  CHECK(lie("m-2 m-3 m-4 ") && !file_holds("checkpoint", "timestamps"));
  CHECK(file_holds("checkpoint",
                   "paths: \"m-2\"\nall_model_checkpoint_paths: \"m-3\"\nall_model_checkpoint_paths: "
                   "\"m-4\"\n# to be deleted: \"m-1\"\n# crc"));
  ci_state_close(state);
  remove_all();
}

static void test_those_that_are_gone_do_not_count(void) {
  ci_state *state = full_state();
  save_steps(state, 1, 3, 0);
  unlink(in_folder("m-2.index"));
  save_steps(state, 4, 4, 3);
  CHECK(lie("m-1 m-3 m-4 ") && !file_holds("checkpoint", "m-2"));
  ci_state_close(state);
  remove_all();
}

/* Each name is looked up, so the time must not grow with the square of their number. */
static void test_a_long_list(void) {
  enum { LINES = 200000 };
  ci_state *state = full_state();
  save_steps(state, 1, 1, 0);
  FILE *file = fopen(in_folder("checkpoint"), "w");
  for (int i = 0; file && i < LINES; i++)
    fprintf(file, "all_model_checkpoint_paths: \"/other/m-%d\"\n# to be deleted: \"/other/x-%d\"\n", i, i);
  CHECK(file && fclose(file) == 0);
  alarm(60);
  save_steps(state, 2, 2, 1);
  alarm(0);
  CHECK(file_holds("checkpoint", "/other/m-99999\"\n") && !file_holds("checkpoint", "/other/x"));
  ci_state_close(state);
  remove_all();
}

static void make_hole(const char *name, off_t bytes) { CHECK(truncate(in_folder(name), bytes) == 0); }

static void test_files_that_are_too_long_are_no_list_and_no_index(void) {
  ci_state *state = full_state(), *other = new_state();
  save_steps(state, 1, 2, 0);
  make_hole("checkpoint", (off_t)1 << 40);
  write_text("m-9.index", "x");
  make_hole("m-9.index", (off_t)1 << 40);
  CHECK(strcmp(latest(other, CI_OK).name, "m-2") == 0);
  save_steps(other, 3, 3, 0);
  CHECK(file_holds("checkpoint", "model_checkpoint_path: \"m-3\"\n"));
  ci_state_close(state);
  ci_state_close(other);
  remove_all();
}

/* Gives nothing once. */
static void *once_alloc(void *user, size_t bytes, size_t align) {
  meter *m = user;
  return m->left-- == 0 ? NULL : aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void once_release(void *user, void *memory, size_t bytes) {
  (void)user, (void)bytes;
  free(memory);
}

/* Without memory to read the list, a restore must not go on from another checkpoint than it names. */
static void test_no_memory_for_the_list(void) {
  meter m = {-1, 0};
  ci_state_options options = ci_state_defaults();
  ci_state *state = full_state(), *other = NULL;
  ci_restored restored = {.size = sizeof restored};
  ci_error error;
  long left = 0;
  options.allocator = (ci_allocator){&m, once_alloc, once_release};
  CHECK(ci_state_open(&options, &other, &error) == CI_OK);
  save_steps(state, 1, 2, 0);
  write_text("checkpoint", "model_checkpoint_path: \"m-1\"\nall_model_checkpoint_paths: \"m-1\"\n");
  for (m.left = -1; m.left < 0 && left < 1000; left++) {
    m.left = left;
    const ci_status status = ci_restore_latest(other, folder, NULL, &restored, &error);
    CHECK(status == CI_RESOURCE_EXHAUSTED ? restored.name[0] == 0 : strcmp(restored.name, "m-1") == 0);
  }
  CHECK(left > 10);
  ci_state_close(state);
  ci_state_close(other);
  remove_all();
}

int main(void) {
  CHECK(mkdtemp(folder) != NULL);
  test_max_to_keep();
  test_what_is_protected_stays();
  test_lines_of_others_stay();
  test_an_unreadable_list_is_replaced();
  test_what_is_to_be_deleted_is_written_down();
  test_a_list_with_a_wrong_checksum_is_not_read();
  test_the_list_is_left_alone_when_requested();
  test_a_kill_before_the_first_list();
  test_a_kill_before_a_later_list();
  test_what_nobody_lists_stays();
  test_one_that_was_saved_again_is_not_deleted();
  test_a_checkpoint_that_is_listed_twice_counts_once();
  test_those_that_are_gone_do_not_count();
  test_a_long_list();
  test_files_that_are_too_long_are_no_list_and_no_index();
  test_no_memory_for_the_list();
  CHECK(rmdir(folder) == 0);
  return CHECK_END;
}
