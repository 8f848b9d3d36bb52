/* checkpoint_clean.c - removes what no index refers to, and checkpoints that are too old. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint.h"

enum { CLEAN_ID_DIGITS = 16 };

typedef struct clean_list { /* entries of a folder that may be garbage */
  enum { CLEAN_OWN, CLEAN_OTHERS, CLEAN_TEMPORARIES } what;
  const char *base; /* of the prefix itself, or that others are not of */
  const uint64_t *keep;
  ci_pool pool;
  CI_LIST(char *) names;
  bool looked;          /* at the indexes of the folder */
  bool spares_all;      /* one of them cannot be read now */
  CI_LIST(char *) needed; /* files that they name; sorted */
} clean_list;

/* Reads 16 lower-case hexadecimal digits; NULL if there are others. */
static const char *clean_id(const char *at, uint64_t *id) {
  static const char digits[] = "0123456789abcdef";
  *id = 0;
  for (int i = 0; i < CLEAN_ID_DIGITS; i++) {
    const char *digit = at[i] ? strchr(digits, at[i]) : NULL;
    if (!digit) return NULL;
    *id = *id << 4 | (uint64_t)(digit - digits);
  }
  return at + CLEAN_ID_DIGITS;
}

static const char *clean_number(const char *at) {
  size_t digits = strspn(at, "0123456789");
  return digits ? at + digits : NULL;
}

/* "-<i>-of-<n>.safetensors" */
static bool clean_is_shard_end(const char *at) {
  if (!at || *at != '-' || !(at = clean_number(at + 1)) || strncmp(at, "-of-", 4) != 0) return false;
  return (at = clean_number(at + 4)) && strcmp(at, ".safetensors") == 0;
}

/* What stands behind the prefix in a name with a save id. */
static bool clean_is_end(const char *at, uint64_t *id) {
  if (strncmp(at, ".data-", 6) == 0) return clean_is_shard_end(clean_id(at + 6, id));
  if (strncmp(at, ".meta-", 6) != 0) return false;
  const char *end = clean_id(at + 6, id);
  return end && *end == 0;
}

/* The length of the prefix in a name with a save id, else 0. */
static size_t clean_prefix(const char *name, uint64_t *id) {
  for (size_t length = strlen(name); length > 0; length--)
    if (name[length] == '.' && clean_is_end(name + length, id)) return length;
  return 0;
}

bool ci_checkpoint_is_temporary(const char *name) {
  uint64_t id;
  const char *rest = strncmp(name, "tmp-", 4) == 0 ? clean_id(name + 4, &id) : NULL;
  return rest && rest[0] == '-' && rest[1] != 0;
}

size_t ci_checkpoint_run_length(const char *base) {
  const size_t length = strlen(base);
  size_t at = length;
  while (at > 0 && base[at - 1] >= '0' && base[at - 1] <= '9') at--;
  return at > 1 && at < length && base[at - 1] == '-' ? at - 1 : length;
}

static bool clean_wants(const clean_list *list, const char *name) {
  uint64_t id = 0;
  if (list->what == CLEAN_TEMPORARIES) return ci_checkpoint_is_temporary(name);
  const size_t length = clean_prefix(name, &id);
  const bool own = length == strlen(list->base) && memcmp(name, list->base, length) == 0;
  if (list->what == CLEAN_OTHERS)
    return length > 0 && length < CI_NAME_BYTES && !own && !ci_checkpoint_is_temporary(name);
  return own && !(list->keep && id == *list->keep);
}

static bool clean_put(clean_list *list, bool needed, ci_span name) {
  char *copy = ci_pool_text(&list->pool, name);
  if (!copy) return false;
  if (needed) {
    if (!CI_LIST_GROW(list->pool.allocator, &list->needed)) return false;
    list->needed.at[list->needed.count++] = copy;
  } else {
    if (!CI_LIST_GROW(list->pool.allocator, &list->names)) return false;
    list->names.at[list->names.count++] = copy;
  }
  return true;
}

static bool clean_visit(void *argument, const char *name) {
  clean_list *list = argument;
  if (!clean_wants(list, name)) return true;
  return clean_put(list, false, (ci_span){name, strlen(name)}); /* what is not seen the next save tidies up */
}

static int clean_order(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void clean_find(const ci_folder *folder, clean_list *list) {
  list->pool.allocator = folder->allocator;
  (void)ci_folder_each(folder, clean_visit, list, NULL);
  if (list->names.count) qsort(list->names.at, list->names.count, sizeof *list->names.at, clean_order);
}

static void clean_free(clean_list *list) {
  CI_LIST_FREE(list->pool.allocator, &list->names);
  CI_LIST_FREE(list->pool.allocator, &list->needed);
  ci_pool_release(&list->pool);
}

/* ---- what an index names, be it one that somebody has renamed ---- */

static bool clean_add_needed(clean_list *list, const ci_index *index) {
  for (size_t i = 0; i < index->shards.count; i++)
    if (!clean_put(list, true, index->shards.at[i].file)) return false;
  return index->meta_file.length == 0 || clean_put(list, true, index->meta_file);
}

typedef struct clean_indexes {
  const ci_folder *folder;
  clean_list *list;
} clean_indexes;

static bool clean_visit_index(void *argument, const char *name) {
  const clean_indexes *look = argument;
  const size_t length = strlen(name), end = sizeof ".index" - 1;
  ci_bytes bytes = {0};
  ci_index index;
  if (length <= end || strcmp(name + length - end, ".index") != 0 || ci_checkpoint_is_temporary(name)) return true;
  const ci_status status = ci_index_read(look->folder, name, &bytes, &index, NULL);
  /* A damaged one, or what is no file, nobody can restore. */
  if (status == CI_OK) look->list->spares_all = !clean_add_needed(look->list, &index);
  else look->list->spares_all = status != CI_DATA_LOSS && status != CI_INVALID_ARGUMENT && status != CI_NOT_FOUND;
  ci_index_free(&index);
  ci_file_unmap(look->folder->allocator, &bytes);
  return !look->list->spares_all;
}

static bool clean_is_needed(const ci_folder *folder, clean_list *list, const char *name) {
  clean_indexes look = {folder, list};
  if (!list->looked) {
    list->looked = true;
    if (ci_folder_each(folder, clean_visit_index, &look, NULL) != CI_OK) list->spares_all = true;
    if (list->needed.count) qsort(list->needed.at, list->needed.count, sizeof *list->needed.at, clean_order);
  }
  return list->spares_all || (list->needed.count && bsearch(&name, list->needed.at, list->needed.count,
                                                            sizeof *list->needed.at, clean_order) != NULL);
}

bool ci_checkpoint_needs(const ci_folder *folder, const char *name) {
  clean_list list = {.pool.allocator = folder->allocator};
  const bool needed = ci_folder_has(folder, name) && clean_is_needed(folder, &list, name);
  clean_free(&list);
  return needed;
}

/* CI_NOT_FOUND: it is not there, or stays. */
static ci_status clean_remove(const ci_folder *folder, clean_list *list, const char *name) {
  return clean_is_needed(folder, list, name) ? CI_NOT_FOUND : ci_folder_unlink(folder, name);
}

/* ---- of this prefix ---- */

void ci_checkpoint_collect(const ci_folder *folder, const char *base, const uint64_t *keep) {
  clean_list list = {.what = CLEAN_OWN, .base = base, .keep = keep};
  clean_find(folder, &list);
  for (size_t i = 0; i < list.names.count; i++) (void)clean_remove(folder, &list, list.names.at[i]);
  clean_free(&list);
}

/* Behind "tmp-<id>-": a file of the run that `base` is of, or the list of checkpoints. */
static bool clean_is_of_run(const char *temporary, const char *base) {
  const char *name = temporary + 4 + CLEAN_ID_DIGITS + 1;
  const size_t length = ci_checkpoint_run_length(base);
  if (strcmp(name, CI_CHECKPOINT_LIST) == 0) return true;
  return strncmp(name, base, length) == 0 && (name[length] == '-' || name[length] == '.') && name[length + 1] != 0;
}

void ci_checkpoint_remove_temporaries(const ci_folder *folder, const char *base, int64_t time, int64_t age) {
  clean_list list = {.what = CLEAN_TEMPORARIES};
  clean_find(folder, &list);
  for (size_t i = 0; i < list.names.count; i++) {
    const char *name = list.names.at[i];
    int64_t modified, arrived;
    if (ci_folder_times(folder, name, &modified, &arrived) && modified < time - (clean_is_of_run(name, base) ? 0 : age))
      (void)ci_folder_unlink(folder, name);
  }
  clean_free(&list);
}

/* ---- what crashes have left of other prefixes ---- */

static void clean_keep_latest(const ci_folder *folder, const char *name, int64_t *latest) {
  int64_t modified, arrived;
  if (!ci_folder_times(folder, name, &modified, &arrived)) {
    if (!ci_folder_has(folder, name)) return;
    arrived = INT64_MAX; /* it is there and cannot be looked at: it stays */
  }
  if (arrived > *latest) *latest = arrived;
}

static bool clean_one_save(char *const *names, size_t count) {
  uint64_t id, other;
  (void)clean_prefix(names[0], &id);
  for (size_t i = 1; i < count; i++)
    if (clean_prefix(names[i], &other) && other != id) return false;
  return true;
}

/* Of a prefix that has an index: what another save has left. It is read only when there are files of two. */
static void clean_unreferred(const ci_folder *folder, clean_list *list, const char *index_name, char *const *names,
                             size_t count, int64_t limit) {
  ci_bytes bytes = {0};
  ci_index index;
  int64_t latest = INT64_MIN;
  uint64_t id;
  if (clean_one_save(names, count)) return;
  if (ci_index_read(folder, index_name, &bytes, &index, NULL) == CI_OK) {
    for (size_t i = 0; i < count; i++)
      if (clean_prefix(names[i], &id) && id != index.save_id) clean_keep_latest(folder, names[i], &latest);
    for (size_t i = 0; i < count && latest < limit; i++)
      if (clean_prefix(names[i], &id) && id != index.save_id) (void)clean_remove(folder, list, names[i]);
  }
  ci_index_free(&index);
  ci_file_unmap(folder->allocator, &bytes);
}

/* The graph file before the data files: without these nothing tells that it is ours. */
static void clean_abandoned(const ci_folder *folder, clean_list *list, char *const *names, size_t count,
                            int64_t limit) {
  uint64_t id;
  char name[CI_NAME_BYTES + 8];
  const int length = (int)clean_prefix(names[0], &id);
  int64_t latest = INT64_MIN;
  snprintf(name, sizeof name, "%.*s.index", length, names[0]);
  if (ci_folder_has(folder, name)) {
    clean_unreferred(folder, list, name, names, count, limit);
    return;
  }
  snprintf(name, sizeof name, "%.*s.meta", length, names[0]);
  clean_keep_latest(folder, name, &latest);
  for (size_t i = 0; i < count; i++) clean_keep_latest(folder, names[i], &latest);
  if (latest >= limit) return;
  ci_status status = clean_remove(folder, list, name);
  if (status == CI_OK) status = ci_folder_sync(folder, NULL);
  if (status != CI_OK && status != CI_NOT_FOUND) return;
  for (size_t i = 0; i < count; i++) (void)clean_remove(folder, list, names[i]);
}

void ci_checkpoint_remove_abandoned(const ci_folder *folder, const char *base, int64_t age) {
  clean_list list = {.what = CLEAN_OTHERS, .base = base};
  char index[CI_NAME_BYTES + 8];
  int64_t modified, now; /* by the clock of the folder */
  uint64_t id;
  snprintf(index, sizeof index, "%s.index", base);
  if (!ci_folder_times(folder, index, &modified, &now)) return;
  clean_find(folder, &list);
  for (size_t first = 0, next; first < list.names.count; first = next) {
    char *const *names = list.names.at;
    const size_t length = clean_prefix(names[first], &id);
    for (next = first + 1; next < list.names.count; next++)
      if (clean_prefix(names[next], &id) != length || memcmp(names[next], names[first], length) != 0) break;
    clean_abandoned(folder, &list, names + first, next - first, now - age);
  }
  clean_free(&list);
}

void ci_checkpoint_delete(const ci_folder *folder, const char *base) {
  clean_list list = {.what = CLEAN_OWN, .base = base};
  char name[CI_NAME_BYTES + 8];
  snprintf(name, sizeof name, "%s.index", base);
  if (ci_folder_unlink(folder, name) != CI_OK || ci_folder_sync(folder, NULL) != CI_OK) return;
  clean_find(folder, &list);
  snprintf(name, sizeof name, "%s.meta", base);
  (void)clean_remove(folder, &list, name);
  for (size_t i = 0; i < list.names.count; i++) (void)clean_remove(folder, &list, list.names.at[i]);
  clean_free(&list);
}
