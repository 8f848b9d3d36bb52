/* checkpoint_clean.c - removes files that no index needs, and checkpoints that are too old.
 *
 * A file of a save may go when two things are seen, in this order: its record is gone (checkpoint_record.c), so it
 * will never commit; and no index of the folder needs the file. Thereby the files that other writers are about to
 * commit are safe, in whatever order their calls and ours come. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint.h"
#include "../model/model.h"

typedef struct clean_file { /* of a save */
  char *name;
  ci_span prefix; /* of the save */
  uint64_t id;
} clean_file;

typedef struct clean_folder {
  const ci_folder *folder;
  ci_pool pool;
  CI_LIST(clean_file) files;   /* by prefix, then by save, then by name */
  CI_LIST(char *) temporaries; /* that belong to no save */
  CI_LIST(const char *) gone;  /* files of saves that will not commit any more */
} clean_folder;

/* ---- the files of the folder ---- */

static bool clean_visit(void *argument, const char *name) {
  clean_folder *look = argument;
  const bool temporary = ci_checkpoint_is_temporary(name);
  uint64_t id = 0, inside = 0;
  const char *final = temporary ? ci_checkpoint_final(name, &id) : name;
  size_t length = ci_checkpoint_prefix(final, &inside);
  if (temporary && length && inside != id) length = 0;
  if (temporary && !length) (void)ci_checkpoint_ends(final, ".index", &length);
  if ((!temporary && !length) || length >= CI_NAME_BYTES) return true;
  char *copy = ci_pool_string(&look->pool, (ci_span){name, strlen(name)});
  if (!copy) return false; /* a file that is not seen is removed by the next save */
  if (length) {
    if (!CI_LIST_GROW(look->pool.allocator, &look->files)) return false;
    look->files.at[look->files.count++] = (clean_file){copy, {copy + (final - name), length}, temporary ? id : inside};
  } else {
    if (!CI_LIST_GROW(look->pool.allocator, &look->temporaries)) return false;
    look->temporaries.at[look->temporaries.count++] = copy;
  }
  return true;
}

static int clean_order(const void *left, const void *right) {
  const clean_file *a = left, *b = right;
  const int order = ci_span_order(a->prefix, b->prefix);
  if (order) return order;
  return a->id != b->id ? (a->id < b->id ? -1 : 1) : strcmp(a->name, b->name);
}

static void clean_look(const ci_folder *folder, clean_folder *look) {
  *look = (clean_folder){.folder = folder, .pool.allocator = folder->allocator};
  (void)ci_folder_each(folder, clean_visit, look, NULL);
  if (look->files.count) qsort(look->files.at, look->files.count, sizeof *look->files.at, clean_order);
}

static void clean_free(clean_folder *look) {
  CI_LIST_FREE(look->pool.allocator, &look->files);
  CI_LIST_FREE(look->pool.allocator, &look->temporaries);
  CI_LIST_FREE(look->pool.allocator, &look->gone);
  ci_pool_release(&look->pool);
}

static bool clean_is_of(const clean_file *file, const char *base) {
  return file->prefix.length == strlen(base) && memcmp(file->prefix.data, base, file->prefix.length) == 0;
}

/* The files of one save, or of one prefix, follow each other: the end of those from `first` on. */
static size_t clean_end(const clean_folder *look, size_t first, bool of_save) {
  const clean_file *files = look->files.at;
  size_t next = first + 1;
  while (next < look->files.count && ci_span_order(files[next].prefix, files[first].prefix) == 0 &&
         (!of_save || files[next].id == files[first].id))
    next++;
  return next;
}

/* Whether a save may commit yet. Checked again for each file, since a listing is not of one moment. */
static bool clean_under_way(const clean_folder *look, const clean_file *file) {
  char record[CI_TEMPORARY_BYTES];
  ci_record_name(record, file->id, file->prefix);
  return ci_folder_has(look->folder, record);
}

static void clean_keep_latest(const ci_folder *folder, const char *name, int64_t *latest) {
  int64_t modified, arrived;
  if (!ci_folder_times(folder, name, &modified, &arrived)) {
    if (!ci_folder_has(folder, name)) return;
    arrived = INT64_MAX; /* it is there and cannot be looked at: it stays */
  }
  if (arrived > *latest) *latest = arrived;
}

static bool clean_is_older(const clean_folder *look, size_t first, size_t end, int64_t limit) {
  int64_t latest = INT64_MIN;
  for (size_t i = first; i < end; i++) clean_keep_latest(look->folder, look->files.at[i].name, &latest);
  return latest < limit;
}

static void clean_add_gone(clean_folder *look, const char *name) {
  if (CI_LIST_GROW(look->pool.allocator, &look->gone)) look->gone.at[look->gone.count++] = name;
}

/* The indexes are read now, after the records were seen to be gone. */
static void clean_remove_gone(clean_folder *look) {
  ci_needed needs;
  if (!look->gone.count) return;
  ci_needed_read(look->folder, NULL, &needs);
  for (size_t i = 0; i < look->gone.count; i++) {
    const char *name = look->gone.at[i];
    size_t length;
    if (ci_needed_has(&needs, name) || ci_folder_unlink(look->folder, name) != CI_OK) continue;
    /* The graph file goes before the data files: they show that it belongs to a checkpoint. */
    if (ci_checkpoint_ends(name, ".meta", &length)) (void)ci_folder_sync(look->folder, NULL);
  }
  ci_needed_free(&needs);
}

/* Removes the record of a save that has ended; false: it is under way. */
static bool clean_end_save(const clean_folder *look, const clean_file *file) {
  char record[CI_TEMPORARY_BYTES];
  ci_record_name(record, file->id, file->prefix);
  const ci_status status = ci_folder_unlink_unlocked(look->folder, record);
  return status == CI_OK || status == CI_NOT_FOUND;
}

/* ---- of this prefix ---- */

void ci_checkpoint_collect(const ci_folder *folder, const char *base, uint64_t keep, bool locks, int64_t age) {
  clean_folder look;
  char index[CI_NAME_BYTES + 8];
  int64_t modified, now = INT64_MIN; /* by the clock of the folder */
  snprintf(index, sizeof index, "%s.index", base);
  if (!ci_folder_times(folder, index, &modified, &now)) return;
  clean_look(folder, &look);
  for (size_t first = 0, end; first < look.files.count; first = end) {
    const clean_file *file = &look.files.at[first];
    end = clean_end(&look, first, true);
    if (!clean_is_of(file, base) || file->id == keep) continue;
    if (clean_under_way(&look, file) &&
        ((!locks && !clean_is_older(&look, first, end, now - age)) || !clean_end_save(&look, file)))
      continue;
    for (size_t i = first; i < end; i++) clean_add_gone(&look, look.files.at[i].name);
  }
  clean_remove_gone(&look);
  clean_free(&look);
}

/* Whether the final name of a temporary file is one of the run that `base` is of, or the list of checkpoints. */
static bool clean_is_of_run(const char *name, const char *base) {
  const size_t length = ci_checkpoint_run_length(base);
  if (strcmp(name, CI_CHECKPOINT_LIST) == 0) return true;
  return strncmp(name, base, length) == 0 && (name[length] == '-' || name[length] == '.') && name[length + 1] != 0;
}

static bool clean_is_stale(const ci_folder *folder, const char *name, const char *base, int64_t time, int64_t age) {
  int64_t modified, arrived;
  uint64_t id;
  return ci_folder_times(folder, name, &modified, &arrived) &&
         modified < time - (clean_is_of_run(ci_checkpoint_final(name, &id), base) ? 0 : age);
}

void ci_checkpoint_remove_temporaries(const ci_folder *folder, const char *base, bool locks, int64_t time,
                                      int64_t age) {
  clean_folder look;
  clean_look(folder, &look);
  for (size_t i = 0; i < look.temporaries.count; i++)
    if (clean_is_stale(folder, look.temporaries.at[i], base, time, age))
      (void)ci_folder_unlink(folder, look.temporaries.at[i]);
  for (size_t first = 0, end; first < look.files.count; first = end) {
    end = clean_end(&look, first, true);
    if (!locks && clean_under_way(&look, &look.files.at[first]) && !clean_is_older(&look, first, end, time - age))
      continue; /* only its age shows whether its save is alive */
    for (size_t i = first; i < end; i++) {
      const clean_file *file = &look.files.at[i];
      const char *name = file->name;
      size_t length;
      if (!ci_checkpoint_is_temporary(name) || !clean_is_stale(folder, name, base, time, age)) continue;
      if (ci_checkpoint_ends(name, ".index", &length)) (void)clean_end_save(&look, file);
      else if (!clean_under_way(&look, file)) (void)ci_folder_unlink(folder, name);
    }
  }
  clean_free(&look);
}

/* ---- files of other prefixes that crashes have left ---- */

static bool clean_has(const clean_folder *look, ci_span prefix, const char *ending) {
  char name[CI_NAME_BYTES + 8];
  snprintf(name, sizeof name, "%.*s%s", CI_NAME_ARG(prefix), ending);
  return ci_folder_has(look->folder, name);
}

/* A save of a prefix without an index may be a copy under way. */
static void clean_abandoned(clean_folder *look, size_t first, size_t end, int64_t limit, bool has_index) {
  const clean_file *file = &look->files.at[first];
  int64_t latest = INT64_MIN;
  char plain[CI_NAME_BYTES + 8];
  snprintf(plain, sizeof plain, "%.*s.meta", CI_NAME_ARG(file->prefix));
  if (!has_index) clean_keep_latest(look->folder, plain, &latest);
  if (latest >= limit || !clean_is_older(look, first, end, limit)) return;
  if (clean_under_way(look, file) && !clean_end_save(look, file)) return;
  char *graph = has_index ? NULL : ci_pool_string(&look->pool, (ci_span){plain, strlen(plain)});
  if (graph) clean_add_gone(look, graph);
  for (size_t i = first; i < end; i++) clean_add_gone(look, look->files.at[i].name);
}

void ci_checkpoint_remove_abandoned(const ci_folder *folder, const char *base, int64_t age) {
  clean_folder look;
  char index[CI_NAME_BYTES + 8];
  int64_t modified, now; /* by the clock of the folder */
  snprintf(index, sizeof index, "%s.index", base);
  if (!ci_folder_times(folder, index, &modified, &now)) return;
  clean_look(folder, &look);
  for (size_t first = 0, all; first < look.files.count; first = all) {
    all = clean_end(&look, first, false);
    const bool has_index = clean_has(&look, look.files.at[first].prefix, ".index");
    if (clean_is_of(&look.files.at[first], base) || (has_index && clean_end(&look, first, true) == all)) continue;
    for (size_t save = first, end; save < all; save = end) {
      end = clean_end(&look, save, true);
      clean_abandoned(&look, save, end, now - age, has_index);
    }
  }
  clean_remove_gone(&look);
  clean_free(&look);
}

/* ---- the plain name of a graph file ---- */

static bool clean_graph_of(const char *name, const char *base) {
  uint64_t id;
  const size_t length = ci_checkpoint_prefix(name, &id);
  return length && length == strlen(base) && memcmp(name, base, length) == 0 &&
         strncmp(name + length, ".meta-", 6) == 0;
}

/* Whether another save of the prefix might be given the plain name at any moment, or is about to remove it. */
static bool clean_name_is_taken(const clean_folder *look, const char *base, const char *graph) {
  char mark[CI_NAME_BYTES + 16];
  uint64_t id;
  snprintf(mark, sizeof mark, "%s.deleted", base);
  for (size_t i = 0; i < look->files.count; i++) {
    const clean_file *file = &look->files.at[i];
    if (clean_graph_of(file->name, base) && strcmp(file->name, graph) != 0 && !clean_under_way(look, file)) return true;
  }
  for (size_t i = 0; i < look->temporaries.count; i++)
    if (strcmp(ci_checkpoint_final(look->temporaries.at[i], &id), mark) == 0) return true;
  return false;
}

static bool clean_others_need(const ci_folder *folder, const char *name, const char *base) {
  ci_needed needs;
  if (!ci_folder_has(folder, name)) return false;
  ci_needed_read(folder, base, &needs);
  const bool needed = ci_needed_has(&needs, name);
  ci_needed_free(&needs);
  return needed;
}

/* The name under which the index of `base` knows its graph file; false: there is no valid index. */
static bool clean_present_graph(const ci_folder *folder, const char *base, char graph[CI_NAME_BYTES]) {
  char name[CI_NAME_BYTES + 8];
  ci_bytes bytes = {0};
  ci_index index;
  snprintf(name, sizeof name, "%s.index", base);
  const bool read = ci_checkpoint_index_read(folder, name, &bytes, &index, NULL) == CI_OK;
  if (read) snprintf(graph, CI_NAME_BYTES, "%.*s", CI_NAME_ARG(index.meta_file));
  ci_checkpoint_index_free(&index);
  ci_file_unmap(folder->allocator, &bytes);
  return read;
}

void ci_checkpoint_name_graph(const ci_folder *folder, const char *base, const char *graph) {
  clean_folder look;
  char plain[CI_NAME_BYTES + 8];
  snprintf(plain, sizeof plain, "%s.meta", base);
  if (!clean_graph_of(graph, base) || !ci_folder_has(folder, graph)) return;
  clean_look(folder, &look);
  if (!clean_name_is_taken(&look, base, graph) && !clean_others_need(folder, plain, base))
    (void)ci_folder_rename(folder, graph, plain, NULL);
  clean_free(&look);
}

static void clean_name_present(const ci_folder *folder, const char *base) {
  char graph[CI_NAME_BYTES];
  if (clean_present_graph(folder, base, graph)) ci_checkpoint_name_graph(folder, base, graph);
}

void ci_checkpoint_name_left(const ci_folder *folder, const char *base) {
  clean_folder look;
  char other[CI_NAME_BYTES];
  clean_look(folder, &look);
  for (size_t first = 0, all; first < look.files.count; first = all) {
    const clean_file *file = &look.files.at[first];
    all = clean_end(&look, first, false);
    snprintf(other, sizeof other, "%.*s", CI_NAME_ARG(file->prefix));
    bool graph = false;
    for (size_t i = first; i < all; i++) graph = graph || clean_graph_of(look.files.at[i].name, other);
    if (graph && !clean_is_of(file, base) && clean_end(&look, first, true) == all &&
        !clean_has(&look, file->prefix, ".meta"))
      clean_name_present(folder, other);
  }
  clean_free(&look);
}

/* ---- deleting ---- */

/* The files that the index names and that have the id of its save, also under the name of the original of a copy. */
static void clean_add_named(clean_folder *look, const ci_index *index) {
  for (size_t i = 0; i <= index->shards.count; i++) {
    const ci_span file = i < index->shards.count ? index->shards.at[i].file : index->meta_file;
    char *name = file.length ? ci_pool_string(&look->pool, file) : NULL;
    uint64_t id;
    if (name && ci_checkpoint_prefix(name, &id) && id == index->save_id) clean_add_gone(look, name);
  }
}

static void clean_add_deleted(clean_folder *look, const char *base, const char *plain) {
  bool others = clean_has(look, (ci_span){base, strlen(base)}, ".index");
  for (size_t first = 0, end; first < look->files.count; first = end) {
    end = clean_end(look, first, true);
    if (!clean_is_of(&look->files.at[first], base)) continue;
    const bool under_way = clean_under_way(look, &look->files.at[first]);
    others = others || under_way;
    for (size_t i = first; !under_way && i < end; i++) clean_add_gone(look, look->files.at[i].name);
  }
  if (!others) clean_add_gone(look, plain); /* else it may be that save's */
}

/* The index becomes a mark: while that is there, no save to the same prefix gives its graph file the plain name. */
void ci_checkpoint_delete(const ci_folder *folder, const char *base) {
  clean_folder look;
  char name[CI_NAME_BYTES + 8], plain[CI_NAME_BYTES + 8], mark[CI_TEMPORARY_BYTES];
  ci_bytes bytes = {0};
  ci_index index;
  snprintf(name, sizeof name, "%s.index", base);
  snprintf(plain, sizeof plain, "%s.meta", base);
  const uint64_t id = ci_file_random();
  snprintf(mark, sizeof mark, "tmp-%016llx-%s.deleted", (unsigned long long)id, base);
  const bool read = ci_checkpoint_index_read(folder, name, &bytes, &index, NULL) == CI_OK;
  if (ci_folder_rename(folder, name, mark, NULL) == CI_OK) {
    if (ci_folder_sync(folder, NULL) == CI_OK) {
      clean_look(folder, &look);
      clean_add_deleted(&look, base, plain);
      if (read) clean_add_named(&look, &index);
      clean_remove_gone(&look);
      clean_free(&look);
    }
    if (ci_folder_unlink(folder, mark) != CI_OK) (void)ci_folder_unlink(folder, mark); /* one call may fail */
  }
  ci_checkpoint_index_free(&index);
  ci_file_unmap(folder->allocator, &bytes);
}
