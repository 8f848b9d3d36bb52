/* checkpoint_files.c - the names of a checkpoint's files: reads the parts of a name, and finds the file that an index
 * names: under that name, or, of a checkpoint that was copied by its file names, under the copy's name. */
#include <stdio.h>
#include <string.h>

#include "checkpoint.h"

enum { FILES_ID_DIGITS = 16, FILES_TEMPORARY = 4 + FILES_ID_DIGITS + 1 /* "tmp-<id>-" */ };

/* Reads 16 lower-case hexadecimal digits; NULL if there are others. */
static const char *files_id(const char *at, uint64_t *id) {
  static const char digits[] = "0123456789abcdef";
  *id = 0;
  for (int i = 0; i < FILES_ID_DIGITS; i++) {
    const char *digit = at[i] ? strchr(digits, at[i]) : NULL;
    if (!digit) return NULL;
    *id = *id << 4 | (uint64_t)(digit - digits);
  }
  return at + FILES_ID_DIGITS;
}

static const char *files_number(const char *at) {
  size_t digits = strspn(at, "0123456789");
  return digits ? at + digits : NULL;
}

/* "-<i>-of-<n>.safetensors" */
static bool files_is_shard_end(const char *at) {
  if (!at || *at != '-' || !(at = files_number(at + 1)) || strncmp(at, "-of-", 4) != 0) return false;
  return (at = files_number(at + 4)) && strcmp(at, ".safetensors") == 0;
}

/* Whether a name with a save id has a known ending after the prefix. */
static bool files_is_end(const char *at, uint64_t *id) {
  if (strncmp(at, ".data-", 6) == 0) return files_is_shard_end(files_id(at + 6, id));
  if (strncmp(at, ".meta-", 6) != 0) return false;
  const char *end = files_id(at + 6, id);
  return end && *end == 0;
}

size_t ci_checkpoint_prefix(const char *name, uint64_t *id) {
  for (size_t length = strlen(name); length > 0; length--)
    if (name[length] == '.' && files_is_end(name + length, id)) return length;
  return 0;
}

bool ci_checkpoint_is_temporary(const char *name) {
  uint64_t id;
  const char *rest = strncmp(name, "tmp-", 4) == 0 ? files_id(name + 4, &id) : NULL;
  return rest && rest[0] == '-' && rest[1] != 0;
}

const char *ci_checkpoint_final(const char *temporary, uint64_t *id) {
  (void)files_id(temporary + 4, id);
  return temporary + FILES_TEMPORARY;
}

bool ci_checkpoint_ends(const char *name, const char *ending, size_t *length) {
  const size_t all = strlen(name), end = strlen(ending);
  if (all <= end || strcmp(name + all - end, ending) != 0) return false;
  *length = all - end;
  return true;
}

size_t ci_checkpoint_run_length(const char *base) {
  const size_t length = strlen(base);
  size_t at = length;
  while (at > 0 && base[at - 1] >= '0' && base[at - 1] <= '9') at--;
  return at > 1 && at < length && base[at - 1] == '-' ? at - 1 : length;
}

static void files_add_candidate(ci_candidates *candidates, ci_span prefix, const char *ending) {
  char *name = candidates->names[candidates->count];
  const int length = snprintf(name, sizeof candidates->names[0], "%.*s%s", (int)prefix.length, prefix.data, ending);
  if (length < 0 || length >= CI_NAME_BYTES) return;
  for (size_t i = 0; i < candidates->count; i++)
    if (strcmp(candidates->names[i], name) == 0) return;
  candidates->count++;
}

void ci_checkpoint_candidates(const char *base, ci_span named, ci_candidates *candidates) {
  const ci_span own = {base, strlen(base)};
  uint64_t id;
  candidates->count = 0;
  files_add_candidate(candidates, named, "");
  char name[CI_NAME_BYTES];
  memcpy(name, candidates->names[0], sizeof name);
  size_t length = ci_checkpoint_prefix(name, &id);
  const bool graph = length ? strncmp(name + length, ".meta", 5) == 0 : ci_checkpoint_ends(name, ".meta", &length);
  if (graph) files_add_candidate(candidates, (ci_span){name, length}, ".meta");
  if (length) files_add_candidate(candidates, own, name + length);
  if (graph) files_add_candidate(candidates, own, ".meta");
}
