/* checkpoint_list.c - reads and writes the text file `checkpoint` of a folder, and finds the folder's newest
 * checkpoint.
 *
 * Lines `key: "text"` or `key: number`, as Python writes and reads them. Entries of other checkpoints are copied
 * unchanged, escapes included. */
#include <stdio.h>
#include <string.h>

#include "checkpoint.h"
#include "../model/model.h"
#include "../base/wire.h"

enum { LIST_MOST_BYTES = 1 << 28 };

static const char list_file[] = CI_CHECKPOINT_LIST;
static const char list_expired[] = "# to be deleted: ";
static const char list_seal[] = "# crc32c: "; /* and eight hexadecimal digits */

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

static const char *list_quoted(const char *at, const char *end, ci_span *str) {
  const char *start = ++at;
  for (; at < end && *at != '"'; at++)
    if (*at == '\\' && ++at == end) return NULL;
  if (at == end) return NULL;
  *str = (ci_span){start, (size_t)(at - start)};
  return at + 1;
}

/* One line without its end; false: it is not a line of the file. */
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

static bool list_take_expired(const ci_allocator *allocator, ci_checkpoints *list, ci_span expired) {
  if (!CI_LIST_GROW(allocator, &list->expired)) return false;
  list->expired.at[list->expired.count++] = expired;
  return true;
}

static bool list_take_comment(const ci_allocator *allocator, ci_checkpoints *list, const char *at, const char *end) {
  const size_t length = sizeof list_expired - 1;
  ci_span path;
  if ((size_t)(end - at) <= length || memcmp(at, list_expired, length) != 0 || at[length] != '"') return true;
  return !list_quoted(at + length, end, &path) || list_take_expired(allocator, list, path);
}

/* The last line is the checksum of all before it; it may be left out. */
static bool list_is_intact(ci_span str) {
  const size_t length = sizeof list_seal - 1 + 9;
  char expected[sizeof list_seal + 9];
  if (str.length < length || str.data[str.length - 1] != '\n') return true;
  const char *line = str.data + str.length - length;
  if (memcmp(line, list_seal, sizeof list_seal - 1) != 0 || (line > str.data && line[-1] != '\n')) return true;
  snprintf(expected, sizeof expected, "%s%08x\n", list_seal, (unsigned)ci_crc32c(0, str.data, str.length - length));
  return memcmp(line, expected, length) == 0;
}

static ci_status list_parse(const ci_allocator *allocator, ci_checkpoints *list, ci_error *error) {
  const char *at = (const char *)list->file.data, *end = at + list->file.length;
  if (!ci_utf8_valid((ci_span){at, list->file.length}) || memchr(at, 0, list->file.length))
    return ci_fail(error, CI_DATA_LOSS, "the file '%s' is not UTF-8 text", list_file);
  if (!list_is_intact((ci_span){at, list->file.length}))
    return ci_fail(error, CI_DATA_LOSS,
                   "the checksum of the file '%s' does not match; if you edited it by hand, delete the line '%s...'",
                   list_file, list_seal);
  while (at < end) {
    const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
    list_line line = {.quoted = false};
    at = list_blanks(at, stop);
    if (at < stop && *at == '#') {
      if (!list_take_comment(allocator, list, at, stop))
        return ci_fail(error, CI_RESOURCE_EXHAUSTED, "out of memory while reading the file '%s'", list_file);
    } else if (at < stop) {
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
  CI_TRY(ci_checkpoint_read(folder, list_file, LIST_MOST_BYTES, &list->file, error));
  return list_parse(folder->allocator, list, error);
}

void ci_checkpoints_free(const ci_allocator *allocator, ci_checkpoints *list) {
  CI_LIST_FREE(allocator, &list->paths);
  CI_LIST_FREE(allocator, &list->times);
  CI_LIST_FREE(allocator, &list->expired);
  ci_file_unmap(allocator, &list->file);
}

/* ---- writing ---- */

static void list_put(ci_out *out, const char *before, ci_span str, const char *after) {
  ci_out_string(out, "%s", before);
  ci_out_bytes(out, str.data, str.length);
  ci_out_string(out, "%s\n", after);
}

void ci_checkpoints_string(const ci_checkpoints *list, const char *base, ci_out *out) {
  const int64_t microseconds = ci_file_now() / 1000;
  const size_t n = list->paths.count;
  ci_out_string(out, "model_checkpoint_path: \"%s\"\n", base);
  for (size_t i = 0; i < n; i++) list_put(out, "all_model_checkpoint_paths: \"", list->paths.at[i], "\"");
  ci_out_string(out, "all_model_checkpoint_paths: \"%s\"\n", base);
  if (list->times.count == n) {
    for (size_t i = 0; i < n; i++) list_put(out, "all_model_checkpoint_timestamps: ", list->times.at[i], "");
    ci_out_string(out, "all_model_checkpoint_timestamps: %lld.%06d\n", (long long)(microseconds / 1000000),
                  (int)(microseconds % 1000000));
  }
  if (list->preserved.length) list_put(out, "last_preserved_timestamp: ", list->preserved, "");
  for (size_t i = 0; i < list->expired.count; i++) {
    ci_out_string(out, "%s", list_expired);
    list_put(out, "\"", list->expired.at[i], "\"");
  }
  if (!out->failed) ci_out_string(out, "%s%08x\n", list_seal, (unsigned)ci_crc32c(0, out->data, out->length));
}

/* ---- the newest ---- */

bool ci_checkpoint_exists(const ci_folder *folder, ci_span path) {
  char index[CI_NAME_BYTES + 8];
  if (!ci_file_safe_name(path.data, path.length)) return false;
  snprintf(index, sizeof index, "%.*s.index", (int)path.length, path.data);
  return ci_folder_has(folder, index);
}

typedef struct list_search {
  const ci_folder *folder;
  char base[CI_NAME_BYTES];
  int64_t time, step;
  bool found;
  ci_status damage;  /* of the last file that is not an index */
  ci_status suspect; /* of the last file with the name of an index and another content */
  bool has_data;     /* whether a file has the name of a data file */
  ci_status failure; /* one that cannot be read, now or by this library, may be the newest */
  ci_error *error;
} list_search;

static int64_t list_modified(const ci_folder *folder, const char *base) {
  char index[CI_NAME_BYTES + 8];
  int64_t modified, arrived;
  snprintf(index, sizeof index, "%s.index", base);
  return ci_folder_times(folder, index, &modified, &arrived) ? modified : INT64_MIN;
}

/* The time of an index has seconds: among those of one second that of the file decides. */
static bool list_is_newer(const list_search *search, const ci_index *index, const char *base) {
  if (!search->found) return true;
  if (index->step != search->step) return index->step > search->step;
  if (index->time != search->time) return index->time > search->time;
  const int64_t one = list_modified(search->folder, base), other = list_modified(search->folder, search->base);
  return one != other ? one > other : strcmp(base, search->base) > 0;
}

static void list_note_status(list_search *search, ci_status status, const ci_bytes *bytes) {
  switch (status) {
    case CI_UNAVAILABLE:
    case CI_RESOURCE_EXHAUSTED:
    case CI_UNIMPLEMENTED: search->failure = status; break;
    case CI_DATA_LOSS:
      if (ci_checkpoint_index_begins(bytes)) search->damage = status;
      else search->suspect = status;
      break;
    default: break;
  }
}

/* Whether a checkpoint with a valid index has lost data files. While they were looked for, a save to the same prefix
 * may have replaced them: then the index is another. */
static bool list_lacks(const ci_folder *folder, const char *base, ci_error *error) {
  char name[CI_NAME_BYTES + 8];
  uint64_t last = 0;
  snprintf(name, sizeof name, "%s.index", base);
  for (bool again = false;; again = true) {
    ci_bytes bytes = {0};
    ci_index index;
    const bool read = ci_checkpoint_index_read(folder, name, &bytes, &index, NULL) == CI_OK;
    const bool lacks = read && ci_checkpoint_lacks(folder, base, &index, error);
    const uint64_t id = index.save_id;
    ci_checkpoint_index_free(&index);
    ci_file_unmap(folder->allocator, &bytes);
    if (!lacks || (again && id == last)) return lacks;
    last = id;
  }
}

static void list_consider(list_search *search, const char *name, size_t length) {
  const ci_allocator *allocator = search->folder->allocator;
  ci_bytes bytes = {0};
  ci_index index;
  char base[CI_NAME_BYTES];
  snprintf(base, sizeof base, "%.*s", (int)length, name);
  ci_status status = ci_checkpoint_index_read(search->folder, name, &bytes, &index, search->error);
  if (status == CI_OK && list_lacks(search->folder, base, search->error)) status = CI_DATA_LOSS;
  list_note_status(search, status, &bytes);
  if (status == CI_OK && list_is_newer(search, &index, base)) {
    memcpy(search->base, base, sizeof base);
    search->time = index.time;
    search->step = index.step;
    search->found = true;
  }
  ci_checkpoint_index_free(&index);
  ci_file_unmap(allocator, &bytes);
}

static bool list_visit(void *argument, const char *name) {
  list_search *search = argument;
  const size_t length = strlen(name), end = sizeof ".index" - 1;
  if (strstr(name, ".data-")) search->has_data = true;
  if (length > end && length < CI_NAME_BYTES && strcmp(name + length - end, ".index") == 0 &&
      !ci_checkpoint_is_temporary(name) && ci_file_safe_name(name, length))
    list_consider(search, name, length - end);
  return search->failure == CI_OK;
}

/* The checkpoint that the file names; "" if it names none that can be in the folder. Only a lack of memory is an
 * error: the file is a hint, and where it cannot be read the checkpoints are looked at. */
static ci_status list_read_name(const ci_folder *folder, char base[CI_NAME_BYTES], ci_error *error) {
  ci_checkpoints list;
  base[0] = 0;
  ci_status status = ci_checkpoints_read(folder, &list, error);
  if (status == CI_OK && ci_file_safe_name(list.latest.data, list.latest.length))
    snprintf(base, CI_NAME_BYTES, "%.*s", (int)list.latest.length, list.latest.data);
  ci_checkpoints_free(folder->allocator, &list);
  return status == CI_RESOURCE_EXHAUSTED ? status : CI_OK;
}

/* Whether the file names a checkpoint that was committed. Where it is gone another process may have saved and deleted
 * in between, and has written the file again by then. */
static ci_status list_named(const ci_folder *folder, char base[CI_NAME_BYTES], bool *found, ci_error *error) {
  char before[CI_NAME_BYTES] = "";
  *found = false;
  for (;;) {
    CI_TRY(list_read_name(folder, base, error));
    if (strcmp(base, before) == 0) return CI_OK;
    *found = ci_checkpoint_exists(folder, (ci_span){base, strlen(base)}) && !list_lacks(folder, base, NULL);
    if (*found) return CI_OK;
    memcpy(before, base, sizeof before);
  }
}

ci_status ci_checkpoints_latest(const ci_folder *folder, char base[CI_NAME_BYTES], ci_error *error) {
  list_search search = {.folder = folder, .error = error};
  bool named;
  CI_TRY(list_named(folder, base, &named, error));
  if (named) return CI_OK;
  CI_TRY(ci_folder_each(folder, list_visit, &search, error));
  if (search.failure != CI_OK) return search.failure;
  if (search.found) memcpy(base, search.base, sizeof search.base);
  if (search.found) return CI_OK;
  /* The fault is in error. An index without data files is an unrelated file with the name of an index. */
  if (search.damage != CI_OK) return search.damage;
  if (search.has_data && search.suspect != CI_OK) return search.suspect;
  return ci_fail(error, CI_NOT_FOUND, "there is no checkpoint in '%s'", folder->path);
}
