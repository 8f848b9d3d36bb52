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

static bool clean_visit(void *argument, const char *name) {
  clean_list *list = argument;
  if (!clean_wants(list, name)) return true;
  char *copy = ci_pool_text(&list->pool, (ci_span){name, strlen(name)});
  if (!copy || !CI_LIST_GROW(list->pool.allocator, &list->names)) return false; /* the next save tidies up */
  list->names.at[list->names.count++] = copy;
  return true;
}

static int clean_order(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void clean_find(const ci_folder *folder, clean_list *list) {
  list->pool.allocator = folder->allocator;
  (void)ci_folder_each(folder, clean_visit, list, NULL);
  if (list->names.count) qsort(list->names.at, list->names.count, sizeof *list->names.at, clean_order);
}

static void clean_free(clean_list *list) {
  CI_LIST_FREE(list->pool.allocator, &list->names);
  ci_pool_release(&list->pool);
}

void ci_checkpoint_collect(const ci_folder *folder, const char *base, const uint64_t *keep) {
  clean_list list = {.what = CLEAN_OWN, .base = base, .keep = keep};
  clean_find(folder, &list);
  for (size_t i = 0; i < list.names.count; i++) (void)ci_folder_unlink(folder, list.names.at[i]);
  clean_free(&list);
}

void ci_checkpoint_remove_temporaries(const ci_folder *folder, int64_t time) {
  clean_list list = {.what = CLEAN_TEMPORARIES};
  clean_find(folder, &list);
  for (size_t i = 0; i < list.names.count; i++) {
    int64_t modified, arrived;
    if (ci_folder_times(folder, list.names.at[i], &modified, &arrived) && modified < time)
      (void)ci_folder_unlink(folder, list.names.at[i]);
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
static void clean_unreferred(const ci_folder *folder, const char *index_name, char *const *names, size_t count,
                             int64_t limit) {
  ci_bytes bytes = {0};
  ci_index index = {.allocator = folder->allocator};
  int64_t latest = INT64_MIN;
  uint64_t id;
  if (clean_one_save(names, count)) return;
  if (ci_folder_read(folder, index_name, SIZE_MAX, &bytes, NULL) == CI_OK &&
      ci_index_decode(folder->allocator, &bytes, index_name, &index, NULL) == CI_OK) {
    for (size_t i = 0; i < count; i++)
      if (clean_prefix(names[i], &id) && id != index.save_id) clean_keep_latest(folder, names[i], &latest);
    for (size_t i = 0; i < count && latest < limit; i++)
      if (clean_prefix(names[i], &id) && id != index.save_id) (void)ci_folder_unlink(folder, names[i]);
  }
  ci_index_free(&index);
  ci_file_unmap(folder->allocator, &bytes);
}

/* The graph file before the data files: without these nothing tells that it is ours. */
static void clean_abandoned(const ci_folder *folder, char *const *names, size_t count, int64_t limit) {
  uint64_t id;
  char name[CI_NAME_BYTES + 8];
  const int length = (int)clean_prefix(names[0], &id);
  int64_t latest = INT64_MIN;
  snprintf(name, sizeof name, "%.*s.index", length, names[0]);
  if (ci_folder_has(folder, name)) {
    clean_unreferred(folder, name, names, count, limit);
    return;
  }
  snprintf(name, sizeof name, "%.*s.meta", length, names[0]);
  clean_keep_latest(folder, name, &latest);
  for (size_t i = 0; i < count; i++) clean_keep_latest(folder, names[i], &latest);
  if (latest >= limit) return;
  ci_status status = ci_folder_unlink(folder, name);
  if (status == CI_OK) status = ci_folder_sync(folder, NULL);
  if (status != CI_OK && status != CI_NOT_FOUND) return;
  for (size_t i = 0; i < count; i++) (void)ci_folder_unlink(folder, names[i]);
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
    clean_abandoned(folder, names + first, next - first, now - age);
  }
  clean_free(&list);
}

void ci_checkpoint_delete(const ci_folder *folder, const char *base) {
  char name[CI_NAME_BYTES + 8];
  snprintf(name, sizeof name, "%s.index", base);
  if (ci_folder_unlink(folder, name) != CI_OK || ci_folder_sync(folder, NULL) != CI_OK) return;
  snprintf(name, sizeof name, "%s.meta", base);
  (void)ci_folder_unlink(folder, name);
  ci_checkpoint_collect(folder, base, NULL);
}
