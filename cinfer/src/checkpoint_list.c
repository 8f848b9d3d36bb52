/* checkpoint_list.c - the text file `checkpoint` of a folder, and its newest checkpoint.
 *
 * Lines `key: "text"` or `key: number`, as Python writes and reads them. Entries of other checkpoints are copied as
 * they stand, escapes included. */
#include <stdio.h>
#include <string.h>

#include "checkpoint.h"
#include "model.h"
#include "wire.h"

enum { LIST_MOST_BYTES = 1 << 28 };

static const char list_file[] = "checkpoint";

/* ---- reading ---- */

typedef struct list_line {
  ci_span key, value;
  bool quoted;
} list_line;

static bool list_is(char c, const char *more) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         (c != 0 && strchr(more, c) != NULL);
}

static const char *list_blanks(const char *at, const char *end) {
  while (at < end && (*at == ' ' || *at == '\t' || *at == '\r')) at++;
  return at;
}

static const char *list_word(const char *at, const char *end, const char *more, ci_span *word) {
  const char *start = at;
  while (at < end && list_is(*at, more)) at++;
  *word = (ci_span){start, (size_t)(at - start)};
  return at;
}

static const char *list_quoted(const char *at, const char *end, ci_span *text) {
  const char *start = ++at;
  for (; at < end && *at != '"'; at++)
    if (*at == '\\' && ++at == end) return NULL;
  if (at == end) return NULL;
  *text = (ci_span){start, (size_t)(at - start)};
  return at + 1;
}

/* One line without its end; false: it is none of the file's. */
static bool list_parse_line(const char *at, const char *end, list_line *line) {
  at = list_word(list_blanks(at, end), end, "", &line->key);
  at = list_blanks(at, end);
  if (line->key.length == 0 || at == end || *at++ != ':') return false;
  at = list_blanks(at, end);
  line->quoted = at < end && *at == '"';
  at = line->quoted ? list_quoted(at, end, &line->value) : list_word(at, end, "+-.", &line->value);
  if (!at || (!line->quoted && line->value.length == 0)) return false;
  at = list_blanks(at, end);
  return at == end || *at == '#';
}

static bool list_key(const list_line *line, const char *key, bool quoted) {
  return line->quoted == quoted && line->key.length == strlen(key) &&
         memcmp(line->key.data, key, line->key.length) == 0;
}

static bool list_take_line(const ci_allocator *allocator, ci_checkpoints *list, const list_line *line) {
  if (list_key(line, "model_checkpoint_path", true)) list->latest = line->value;
  if (list_key(line, "last_preserved_timestamp", false)) list->preserved = line->value;
  if (list_key(line, "all_model_checkpoint_paths", true)) {
    if (!CI_LIST_GROW(allocator, &list->paths)) return false;
    list->paths.at[list->paths.count++] = line->value;
  }
  if (list_key(line, "all_model_checkpoint_timestamps", false)) {
    if (!CI_LIST_GROW(allocator, &list->times)) return false;
    list->times.at[list->times.count++] = line->value;
  }
  return true;
}

static ci_status list_parse(const ci_allocator *allocator, ci_checkpoints *list, ci_error *error) {
  const char *at = (const char *)list->file.data, *end = at + list->file.length;
  if (!ci_utf8_valid((ci_span){at, list->file.length}) || memchr(at, 0, list->file.length))
    return ci_fail(error, CI_DATA_LOSS, "the file '%s' is no text", list_file);
  while (at < end) {
    const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
    list_line line = {.quoted = false};
    if (list_blanks(at, stop) < stop) {
      if (!list_parse_line(at, stop, &line))
        return ci_fail(error, CI_DATA_LOSS, "the file '%s' has a line that cannot be read: %.*s", list_file,
                       (int)(stop - at < 200 ? stop - at : 200), at);
      if (!list_take_line(allocator, list, &line))
        return ci_fail(error, CI_RESOURCE_EXHAUSTED, "out of memory while reading the file '%s'", list_file);
    }
    at = stop + 1;
  }
  if (list->times.count != list->paths.count) list->times.count = 0;
  return CI_OK;
}

ci_status ci_checkpoints_read(const ci_folder *folder, ci_checkpoints *list, ci_error *error) {
  *list = (ci_checkpoints){.latest = {NULL, 0}};
  CI_TRY(ci_folder_read(folder, list_file, LIST_MOST_BYTES, &list->file, error));
  return list_parse(folder->allocator, list, error);
}

void ci_checkpoints_free(const ci_allocator *allocator, ci_checkpoints *list) {
  CI_LIST_FREE(allocator, &list->paths);
  CI_LIST_FREE(allocator, &list->times);
  ci_file_unmap(allocator, &list->file);
}

/* ---- writing ---- */

static bool list_same(ci_span path, const char *base) {
  return path.length == strlen(base) && memcmp(path.data, base, path.length) == 0;
}

bool ci_checkpoints_other(ci_span path, const char *base) {
  return ci_file_safe_name(path.data, path.length) && !list_same(path, base);
}

static void list_put(ci_out *out, const char *before, ci_span text, const char *after) {
  ci_out_text(out, "%s", before);
  ci_out_bytes(out, text.data, text.length);
  ci_out_text(out, "%s\n", after);
}

static void list_put_paths(const ci_checkpoints *list, const char *base, size_t dropped, bool times, ci_out *out) {
  for (size_t i = 0; i < list->paths.count; i++) {
    bool other = ci_checkpoints_other(list->paths.at[i], base);
    if (list_same(list->paths.at[i], base) || (other && dropped > 0 && dropped--)) continue;
    if (times) list_put(out, "all_model_checkpoint_timestamps: ", list->times.at[i], "");
    else list_put(out, "all_model_checkpoint_paths: \"", list->paths.at[i], "\"");
  }
}

void ci_checkpoints_text(const ci_checkpoints *list, const char *base, size_t dropped, ci_out *out) {
  int32_t nanoseconds;
  long long seconds = (long long)ci_file_now(&nanoseconds);
  ci_out_text(out, "model_checkpoint_path: \"%s\"\n", base);
  list_put_paths(list, base, dropped, false, out);
  ci_out_text(out, "all_model_checkpoint_paths: \"%s\"\n", base);
  if (list->times.count == list->paths.count) {
    list_put_paths(list, base, dropped, true, out);
    ci_out_text(out, "all_model_checkpoint_timestamps: %lld.%06d\n", seconds, (int)(nanoseconds / 1000));
  }
  if (list->preserved.length) list_put(out, "last_preserved_timestamp: ", list->preserved, "");
}

/* ---- the newest ---- */

typedef struct list_search {
  const ci_folder *folder;
  char base[CI_NAME_BYTES];
  int64_t time, step;
  bool found;
  ci_status damage; /* of the last index that cannot be read */
  ci_error *error;
} list_search;

static bool list_is_newer(const list_search *search, const ci_index *index, const char *base) {
  if (!search->found) return true;
  if (index->time != search->time) return index->time > search->time;
  if (index->step != search->step) return index->step > search->step;
  return strcmp(base, search->base) > 0;
}

static void list_consider(list_search *search, const char *name, size_t length) {
  const ci_allocator *allocator = search->folder->allocator;
  ci_bytes bytes = {0};
  ci_index index = {.allocator = allocator};
  char base[CI_NAME_BYTES];
  snprintf(base, sizeof base, "%.*s", (int)length, name);
  ci_status status = ci_folder_read(search->folder, name, SIZE_MAX, &bytes, search->error);
  if (status == CI_OK) status = ci_index_decode(allocator, &bytes, name, &index, search->error);
  if (status != CI_OK && status != CI_NOT_FOUND) search->damage = status;
  if (status == CI_OK && list_is_newer(search, &index, base)) {
    memcpy(search->base, base, sizeof base);
    search->time = index.time;
    search->step = index.step;
    search->found = true;
  }
  ci_index_free(&index);
  ci_file_unmap(allocator, &bytes);
}

static bool list_visit(void *argument, const char *name) {
  const size_t length = strlen(name), end = sizeof ".index" - 1;
  if (length > end && length < CI_NAME_BYTES && strcmp(name + length - end, ".index") == 0 &&
      !ci_checkpoint_is_temporary(name) && ci_file_safe_name(name, length))
    list_consider(argument, name, length - end);
  return true;
}

/* Whether the file names a checkpoint that was committed. */
static bool list_named(const ci_folder *folder, char base[CI_NAME_BYTES]) {
  ci_checkpoints list;
  char index[CI_NAME_BYTES + 8];
  bool named =
      ci_checkpoints_read(folder, &list, NULL) == CI_OK && ci_file_safe_name(list.latest.data, list.latest.length);
  if (named) {
    snprintf(base, CI_NAME_BYTES, "%.*s", (int)list.latest.length, list.latest.data);
    snprintf(index, sizeof index, "%s.index", base);
    named = ci_folder_has(folder, index);
  }
  ci_checkpoints_free(folder->allocator, &list);
  return named;
}

ci_status ci_checkpoints_latest(const ci_folder *folder, char base[CI_NAME_BYTES], ci_error *error) {
  list_search search = {.folder = folder, .damage = CI_OK, .error = error};
  if (list_named(folder, base)) return CI_OK;
  CI_TRY(ci_folder_each(folder, list_visit, &search, error));
  if (search.found) memcpy(base, search.base, sizeof search.base);
  if (search.found) return CI_OK;
  if (search.damage != CI_OK) return search.damage; /* what is wrong with it is in error */
  return ci_fail(error, CI_NOT_FOUND, "there is no checkpoint in '%s'", folder->path);
}
