/* checkpoint_keep.c - retention: decides which checkpoints of the file `checkpoint` stay when one more is saved, and
 * which expire. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint.h"
#include "../model/model.h"

static bool keep_expire(const ci_allocator *allocator, ci_checkpoints *list, ci_span expired) {
  if (!CI_LIST_GROW(allocator, &list->expired)) return false;
  list->expired.at[list->expired.count++] = expired;
  return true;
}

static bool keep_same(ci_span path, const char *base) {
  return path.length == strlen(base) && memcmp(path.data, base, path.length) == 0;
}

/* One that was saved again since the file was written is not the one that was to be deleted. */
static bool keep_is_older(const ci_folder *folder, ci_span path) {
  char index[CI_NAME_BYTES + 8];
  int64_t listed, committed, other;
  snprintf(index, sizeof index, "%.*s.index", (int)path.length, path.data);
  return ci_folder_times(folder, CI_CHECKPOINT_LIST, &listed, &other) &&
         ci_folder_times(folder, index, &other, &committed) && committed <= listed;
}

/* Whether it is protected from being deleted: by files of these names, as Python writes them. */
static bool keep_is_protected(const ci_folder *folder, ci_span path) {
  static const char *const marks[] = {".keep", ".best"};
  char name[CI_NAME_BYTES + 8];
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
    snprintf(name, sizeof name, "%.*s%s", (int)path.length, path.data, marks[i]);
    if (ci_folder_has(folder, name)) return true;
  }
  return false;
}

typedef struct keep_position { /* a path of the list and its index in it */
  ci_span path;
  size_t at;
} keep_position;

typedef struct keep_table { /* sorted by path: lists may be long */
  keep_position *at;
  size_t count;
} keep_table;

static int keep_position_order(const void *left, const void *right) {
  const keep_position *a = left, *b = right;
  const int order = ci_span_order(a->path, b->path);
  return order ? order : (a->at > b->at) - (a->at < b->at);
}

static bool keep_sort(const ci_allocator *allocator, const ci_checkpoints *list, keep_table *table) {
  const size_t count = list->paths.count;
  *table = (keep_table){ci_alloc(allocator, count * sizeof *table->at), count};
  if (!table->at) return false;
  for (size_t i = 0; i < count; i++) table->at[i] = (keep_position){list->paths.at[i], i};
  qsort(table->at, count, sizeof *table->at, keep_position_order);
  return true;
}

static void keep_table_free(const ci_allocator *allocator, keep_table *table) {
  ci_release(allocator, table->at, table->count * sizeof *table->at);
}

static bool keep_has(const keep_table *table, ci_span path) {
  size_t low = 0, high = table->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const int order = ci_span_order(table->at[middle].path, path);
    if (order == 0) return true;
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return false;
}

/* A checkpoint that is listed twice counts at its first position; its time is then unknown. */
static void keep_drop_repeated(ci_checkpoints *list, const keep_table *table) {
  size_t left = 0;
  for (size_t i = 1; i < table->count; i++)
    if (ci_span_order(table->at[i - 1].path, table->at[i].path) == 0)
      list->paths.at[table->at[i].at] = (ci_span){NULL, 0};
  for (size_t i = 0; i < list->paths.count; i++)
    if (list->paths.at[i].data) list->paths.at[left++] = list->paths.at[i];
  if (left != list->paths.count) list->times.count = 0;
  list->paths.count = left;
}

/* Drops checkpoints that an earlier save expired without deleting them, unless they are in the list again. */
static void keep_drop_expired(const ci_folder *folder, ci_checkpoints *list, const keep_table *table,
                              const char *base) {
  size_t left = 0;
  for (size_t i = 0; i < list->expired.count; i++) {
    const ci_span path = list->expired.at[i];
    if (!keep_same(path, base) && !keep_has(table, path) && ci_checkpoint_exists(folder, path) &&
        keep_is_older(folder, path) && !keep_is_protected(folder, path))
      list->expired.at[left++] = path;
  }
  list->expired.count = left;
}

/* The seconds since 1970 at which a checkpoint was saved; -1: it is not the one of that save. */
static int64_t keep_time_of(const ci_folder *folder, const ci_origin *origin) {
  char name[CI_NAME_BYTES + 8];
  ci_bytes bytes = {0};
  ci_index index;
  snprintf(name, sizeof name, "%s.index", origin->base);
  const bool same =
      ci_checkpoint_index_read(folder, name, &bytes, &index, NULL) == CI_OK && index.save_id == origin->save_id;
  const int64_t time = same ? index.time : -1;
  ci_checkpoint_index_free(&index);
  ci_file_unmap(folder->allocator, &bytes);
  return time;
}

static bool keep_same_run(const char *a, const char *b) {
  const size_t length = ci_checkpoint_run_length(a);
  return length == ci_checkpoint_run_length(b) && memcmp(a, b, length) == 0;
}

/* It is listed after all others: it was the newest when the state was restored from it. */
static bool keep_add_origin(const ci_folder *folder, ci_checkpoints *list, const keep_table *table, const char *base,
                            const ci_origin *origin) {
  const ci_span path = {origin->base, strlen(origin->base)};
  if (path.length == 0 || keep_same(path, base) || keep_has(table, path) || !keep_same_run(origin->base, base))
    return true;
  for (size_t i = 0; i < list->expired.count; i++)
    if (ci_span_order(list->expired.at[i], path) == 0) return true;
  const int64_t time = keep_time_of(folder, origin);
  const bool timed = list->times.count == list->paths.count;
  if (time < 0) return true;
  snprintf(list->origin_time, sizeof list->origin_time, "%lld", (long long)time);
  if (!CI_LIST_GROW(folder->allocator, &list->paths) || !CI_LIST_GROW(folder->allocator, &list->times)) return false;
  list->paths.at[list->paths.count++] = path;
  if (timed) list->times.at[list->times.count++] = (ci_span){list->origin_time, strlen(list->origin_time)};
  return true;
}

static void keep_move(ci_checkpoints *list, size_t from, size_t to) {
  list->paths.at[to] = list->paths.at[from];
  if (list->times.count) list->times.at[to] = list->times.at[from];
}

static void keep_cut(ci_checkpoints *list, size_t count) {
  list->paths.count = count;
  if (list->times.count) list->times.count = count;
}

/* Checkpoints of this folder that another process has deleted do not count. */
static void keep_drop_gone(const ci_folder *folder, ci_checkpoints *list) {
  size_t left = 0;
  for (size_t i = 0; i < list->paths.count; i++) {
    const ci_span path = list->paths.at[i];
    if (!ci_file_safe_name(path.data, path.length) || ci_checkpoint_exists(folder, path)) keep_move(list, i, left++);
  }
  keep_cut(list, left);
}

static bool keep_shorten(const ci_folder *folder, ci_checkpoints *list, const char *base, size_t most) {
  size_t left = 0, others = 0;
  for (size_t i = 0; i < list->paths.count; i++)
    others +=
        !keep_same(list->paths.at[i], base) && ci_file_safe_name(list->paths.at[i].data, list->paths.at[i].length);
  for (size_t i = 0; i < list->paths.count; i++) {
    const ci_span path = list->paths.at[i];
    if (keep_same(path, base)) continue;
    if (others >= most && ci_file_safe_name(path.data, path.length)) {
      others--;
      if (!keep_is_protected(folder, path)) {
        if (!keep_expire(folder->allocator, list, path)) return false;
        continue;
      }
    }
    keep_move(list, i, left++);
  }
  keep_cut(list, left);
  return true;
}

bool ci_checkpoints_expire(const ci_folder *folder, ci_checkpoints *list, const char *base, const ci_origin *origin,
                           size_t most) {
  keep_table table;
  if (!keep_sort(folder->allocator, list, &table)) return false;
  keep_drop_expired(folder, list, &table, base);
  keep_drop_repeated(list, &table);
  const bool added = keep_add_origin(folder, list, &table, base, origin);
  keep_table_free(folder->allocator, &table);
  if (most < SIZE_MAX) keep_drop_gone(folder, list);
  return added && keep_shorten(folder, list, base, most);
}
