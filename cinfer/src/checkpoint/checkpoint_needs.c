/* checkpoint_needs.c - finds the files of a folder that its indexes need, those of copies and renamed ones included. */
#include <stdlib.h>
#include <string.h>

#include "checkpoint.h"

typedef struct needs_look {
  const ci_folder *folder;
  ci_needed *needs;
} needs_look;

static bool needs_put(ci_needed *needs, const char *name) {
  char *copy = ci_pool_string(&needs->pool, (ci_span){name, strlen(name)});
  if (!copy || !CI_LIST_GROW(needs->pool.allocator, &needs->names)) return false;
  needs->names.at[needs->names.count++] = copy;
  return true;
}

static bool needs_has_length(const ci_folder *folder, const char *name, uint64_t bytes) {
  ci_reader reader;
  const bool there = ci_reader_open(folder, name, UINT64_MAX, &reader, NULL) == CI_OK && reader.size == bytes;
  ci_reader_close(&reader);
  return there;
}

static bool needs_is_own(const char *name, const char *base) {
  uint64_t id;
  size_t length = ci_checkpoint_prefix(name, &id);
  if (!length && !ci_checkpoint_ends(name, ".meta", &length)) return false;
  return length == strlen(base) && memcmp(name, base, length) == 0;
}

/* A copy that has a complete file under its name does not need the original's. */
static bool needs_add(const needs_look *look, const char *base, ci_span file, uint64_t bytes) {
  ci_candidates candidates;
  size_t own = 0;
  bool whole = false;
  ci_checkpoint_candidates(base, file, &candidates);
  for (size_t i = 0; i < candidates.count; i++) own += needs_is_own(candidates.names[i], base);
  for (size_t i = 0; own < candidates.count && i < candidates.count && !whole; i++)
    whole = needs_is_own(candidates.names[i], base) && needs_has_length(look->folder, candidates.names[i], bytes);
  for (size_t i = 0; i < candidates.count; i++)
    if ((!whole || needs_is_own(candidates.names[i], base)) && !needs_put(look->needs, candidates.names[i]))
      return false;
  return true;
}

static bool needs_add_index(const needs_look *look, const char *base, const ci_index *index) {
  for (size_t i = 0; i < index->shards.count; i++)
    if (!needs_add(look, base, index->shards.at[i].file, index->shards.at[i].nbytes)) return false;
  return index->meta_file.length == 0 || needs_add(look, base, index->meta_file, index->meta_nbytes);
}

static bool needs_visit(void *argument, const char *name) {
  const needs_look *look = argument;
  ci_needed *needs = look->needs;
  size_t length;
  ci_bytes bytes = {0};
  ci_index index;
  char base[CI_NAME_BYTES];
  if (!ci_checkpoint_ends(name, ".index", &length) || ci_checkpoint_is_temporary(name) || length >= sizeof base ||
      (needs->without && length == strlen(needs->without) && memcmp(name, needs->without, length) == 0))
    return true;
  memcpy(base, name, length);
  base[length] = 0;
  const ci_status status = ci_checkpoint_index_read(look->folder, name, &bytes, &index, NULL);
  /* A damaged index, or a path that is not a file, cannot be restored. */
  if (status == CI_OK) needs->all = !needs_add_index(look, base, &index);
  else needs->all = status != CI_DATA_LOSS && status != CI_INVALID_ARGUMENT && status != CI_NOT_FOUND;
  ci_checkpoint_index_free(&index);
  ci_file_unmap(look->folder->allocator, &bytes);
  return !needs->all;
}

static int needs_order(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

void ci_needed_read(const ci_folder *folder, const char *without, ci_needed *needs) {
  *needs = (ci_needed){.pool.allocator = folder->allocator, .without = without};
  needs_look look = {folder, needs};
  if (ci_folder_each(folder, needs_visit, &look, NULL) != CI_OK) needs->all = true;
  if (needs->names.count) qsort(needs->names.at, needs->names.count, sizeof *needs->names.at, needs_order);
}

bool ci_needed_has(const ci_needed *needs, const char *name) {
  return needs->all || (needs->names.count && bsearch(&name, needs->names.at, needs->names.count,
                                                      sizeof *needs->names.at, needs_order) != NULL);
}

void ci_needed_free(ci_needed *needs) {
  CI_LIST_FREE(needs->pool.allocator, &needs->names);
  ci_pool_release(&needs->pool);
}

bool ci_checkpoint_lacks(const ci_folder *folder, const char *base, const ci_index *index, ci_error *error) {
  for (size_t s = 0; s < index->shards.count; s++) {
    const ci_span file = index->shards.at[s].file;
    ci_candidates candidates;
    bool there = false;
    ci_checkpoint_candidates(base, file, &candidates);
    for (size_t i = 0; i < candidates.count && !there; i++) there = ci_folder_has(folder, candidates.names[i]);
    if (!there) {
      (void)ci_fail(error, CI_DATA_LOSS,
                    "the checkpoint '%s' lacks its shard '%.*s': bring it back into its folder, or restore another "
                    "checkpoint",
                    base, CI_NAME_ARG(file));
      return true;
    }
  }
  return false;
}
