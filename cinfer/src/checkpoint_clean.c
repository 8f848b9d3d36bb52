/* checkpoint_clean.c - removes what no index refers to, and checkpoints that are too old. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint.h"

enum { CLEAN_ID_DIGITS = 16 };

typedef struct clean_list { /* the entries of a folder that are to go */
  const char *base;         /* NULL: temporaries */
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

/* Whether a name with a save id belongs to the prefix. */
static bool clean_is_own(const char *name, const char *base, uint64_t *id) {
  const size_t length = strlen(base);
  if (strncmp(name, base, length) != 0) return false;
  const char *rest = name + length;
  if (strncmp(rest, ".data-", 6) == 0) return clean_is_shard_end(clean_id(rest + 6, id));
  if (strncmp(rest, ".meta-", 6) != 0) return false;
  const char *end = clean_id(rest + 6, id);
  return end && *end == 0;
}

bool ci_checkpoint_is_temporary(const char *name) {
  uint64_t id;
  const char *rest = strncmp(name, "tmp-", 4) == 0 ? clean_id(name + 4, &id) : NULL;
  return rest && rest[0] == '-' && rest[1] != 0;
}

static bool clean_visit(void *argument, const char *name) {
  clean_list *list = argument;
  uint64_t id = 0;
  bool goes = list->base ? clean_is_own(name, list->base, &id) && !(list->keep && id == *list->keep)
                         : ci_checkpoint_is_temporary(name);
  if (!goes) return true;
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
  clean_list list = {.base = base, .keep = keep};
  clean_find(folder, &list);
  for (size_t i = 0; i < list.names.count; i++) (void)ci_folder_unlink(folder, list.names.at[i]);
  clean_free(&list);
}

void ci_checkpoint_remove_temporaries(const ci_folder *folder, int64_t seconds) {
  clean_list list = {.base = NULL};
  clean_find(folder, &list);
  for (size_t i = 0; i < list.names.count; i++) {
    int64_t written;
    if (ci_folder_modified(folder, list.names.at[i], &written) && written < seconds)
      (void)ci_folder_unlink(folder, list.names.at[i]);
  }
  clean_free(&list);
}

void ci_checkpoint_delete(const ci_folder *folder, const char *base) {
  char name[CI_NAME_BYTES + 8];
  snprintf(name, sizeof name, "%s.index", base);
  if (ci_folder_unlink(folder, name) != CI_OK || ci_folder_sync(folder, NULL) != CI_OK) return;
  ci_checkpoint_collect(folder, base, NULL);
  snprintf(name, sizeof name, "%s.meta", base);
  (void)ci_folder_unlink(folder, name);
}
