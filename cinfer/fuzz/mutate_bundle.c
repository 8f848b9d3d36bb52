/* mutate_bundle.c - libFuzzer's hooks for the files of a checkpoint.
 *
 * A change of one file mostly corrects the checksums that other files have of it, so that the code after their check
 * is reached.
 */
#include <stdio.h>
#include <string.h>

#include "bundle.h"
#include "base/ci_common.h"
#include "mutate.h"

enum { ENVELOPE = 32, BUFFER_BYTES = 1 << 16 };
enum { INDEX_SHARD = 2, INDEX_VARIABLE = 3, INDEX_META_BYTES = 6, INDEX_META_CRC = 7, INDEX_HEADERS = 13 };
enum { VARIABLE_SHARD = 4, VARIABLE_OFFSET = 5, VARIABLE_BYTES = 6, VARIABLE_CRC = 7 };

static fuzz_tree tree, other; /* of the mutator alone; too large for a stack */

static bool is_index(const fuzz_file *file) { return fuzz_ends_with(file->name, ".index") && file->length > ENVELOPE; }

static void put_u32(uint8_t *to, uint64_t value) {
  for (int i = 0; i < 4; i++) to[i] = (uint8_t)(value >> (8 * i));
}

static void seal_index(uint8_t *index, size_t length) {
  static const uint8_t start[16] = {0x89, 'G', 'I', 'X', '\r', '\n', 0x1a, '\n', 1};
  memcpy(index, start, sizeof start);
  put_u32(index + 16, length - ENVELOPE);
  put_u32(index + 20, 0);
  put_u32(index + 24, ci_crc32c(0, index + ENVELOPE, length - ENVELOPE));
  put_u32(index + 28, ci_crc32c(0, index, 28));
}

/* ---- the index's entries about other files ---- */

static const fuzz_file *file_called(const fuzz_file *files, size_t count, const fuzz_field *name) {
  for (size_t i = 0; name != NULL && i < count; i++)
    if (strlen(files[i].name) == name->length && memcmp(files[i].name, name->data, name->length) == 0) return &files[i];
  return NULL;
}

static uint64_t number_of(const fuzz_field *parent, uint32_t number) {
  const fuzz_field *field = fuzz_find(parent, number);
  return field != NULL ? field->value : 0;
}

static void right_variables(const fuzz_file *file, uint64_t shard, uint64_t *first) {
  for (fuzz_field *v = tree.root.child; v != NULL; v = v->next) {
    if (v->number != INDEX_VARIABLE || v->kind != FUZZ_CHILD || number_of(v, VARIABLE_SHARD) != shard) continue;
    const uint64_t offset = number_of(v, VARIABLE_OFFSET), bytes = number_of(v, VARIABLE_BYTES);
    if (offset > file->length || bytes > file->length - offset) continue;
    if (offset < *first) *first = offset;
    (void)fuzz_set(&tree, v, VARIABLE_CRC, 5, ci_crc32c(0, file->data + offset, (size_t)bytes));
  }
}

static void right_index(const fuzz_file *files, size_t count) {
  uint8_t *headers = fuzz_take(&tree, 4 * FUZZ_MOST_FILES);
  uint64_t shard = 0;
  for (fuzz_field *s = tree.root.child; s != NULL && headers != NULL; s = s->next) {
    if (s->number != INDEX_SHARD || s->kind != FUZZ_CHILD) continue;
    const fuzz_file *file = file_called(files, count, fuzz_find(s, 1));
    uint64_t first = file != NULL ? file->length : 0;
    if (file != NULL) {
      (void)fuzz_set(&tree, s, 2, 0, file->length);
      right_variables(file, shard, &first);
    }
    if (shard < FUZZ_MOST_FILES)
      put_u32(headers + 4 * shard, file != NULL ? ci_crc32c(0, file->data, (size_t)first) : 0);
    shard++;
  }
  fuzz_field *sums = fuzz_find(&tree.root, INDEX_HEADERS);
  if (sums != NULL && headers != NULL && sums->wire == 2)
    sums->data = headers, sums->length = 4 * (shard < FUZZ_MOST_FILES ? (size_t)shard : FUZZ_MOST_FILES);
  const fuzz_file *meta = file_called(files, count, fuzz_find(&tree.root, 5));
  if (meta == NULL) return;
  (void)(fuzz_set(&tree, &tree.root, INDEX_META_BYTES, 0, meta->length) &&
         fuzz_set(&tree, &tree.root, INDEX_META_CRC, 5, ci_crc32c(0, meta->data, meta->length)));
}

/* ---- changes ---- */

static bool parse_index(fuzz_tree *into, const fuzz_file *file) {
  return fuzz_parse_message(into, FUZZ_CHECKPOINTINDEX, file->data + ENVELOPE, file->length - ENVELOPE);
}

/* With no changes the index is only made right. */
static void change_index(fuzz_file *files, size_t count, fuzz_file *index, uint32_t changes, fuzz_random *random) {
  static uint8_t buffer[BUFFER_BYTES];
  size_t length;
  if (parse_index(&tree, index)) {
    for (; changes > 0; changes--) fuzz_mutate(&tree, random);
    if (!fuzz_one_in(random, 8)) right_index(files, count);
    length = fuzz_encode_message(&tree, buffer + ENVELOPE, BUFFER_BYTES - ENVELOPE);
  } else {
    length = index->length - ENVELOPE < BUFFER_BYTES / 2 ? index->length - ENVELOPE : BUFFER_BYTES / 2;
    memcpy(buffer + ENVELOPE, index->data + ENVELOPE, length);
    length = LLVMFuzzerMutate(buffer + ENVELOPE, length, BUFFER_BYTES - ENVELOPE);
  }
  index->data = buffer;
  index->length = ENVELOPE + length;
  seal_index(buffer, index->length);
}

static void change_list(fuzz_file *file, uint8_t *bytes, size_t most) {
  static const char seal[] = "# crc32c: ";
  const size_t line = sizeof seal - 1 + 9;
  if (file->length < line) return;
  size_t length = file->length - line;
  if (memcmp(bytes + length, seal, sizeof seal - 1) != 0 || length + line > most) return;
  char text[32];
  const int made = snprintf(text, sizeof text, "%s%08x\n", seal, (unsigned)ci_crc32c(0, bytes, length));
  memcpy(bytes + length, text, (size_t)made);
}

static void change_file(fuzz_file *file, fuzz_random *random) {
  static uint8_t buffer[BUFFER_BYTES];
  size_t length = file->length < BUFFER_BYTES / 2 ? file->length : BUFFER_BYTES / 2;
  if (length > 0) memcpy(buffer, file->data, length);
  const size_t kept = strcmp(file->name, "checkpoint") == 0 && length > 19 && !fuzz_one_in(random, 4) ? 19 : 0;
  uint8_t last[19];
  memcpy(last, buffer + length - kept, kept);
  length = LLVMFuzzerMutate(buffer, length - kept, BUFFER_BYTES / 2);
  memcpy(buffer + length, last, kept);
  file->data = buffer;
  file->length = length + kept;
  if (kept > 0) change_list(file, buffer, BUFFER_BYTES);
}

static size_t change_bundle(fuzz_file *files, size_t count, fuzz_random *random) {
  const uint32_t at = fuzz_below(random, (uint32_t)count);
  fuzz_file *index = NULL;
  for (size_t i = 0; i < count; i++)
    if (is_index(&files[i])) index = &files[i];
  if (fuzz_one_in(random, 32)) {
    files[at] = files[--count];
  } else if (index != NULL && fuzz_one_in(random, 2)) {
    change_index(files, count, index, 1 + fuzz_below(random, 3), random);
  } else {
    change_file(&files[at], random);
    if (index != NULL && index != &files[at] && !fuzz_one_in(random, 8)) change_index(files, count, index, 0, random);
  }
  return count;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed) {
  fuzz_random random = {seed};
  fuzz_file files[FUZZ_MOST_FILES];
  fuzz_reader reader = {data + 1, data + size};
  if (size < 2 || fuzz_one_in(&random, 32)) return LLVMFuzzerMutate(data, size, most);
  size_t count = fuzz_bundle_read(&reader, files);
  if (fuzz_one_in(&random, 8)) data[0] = (uint8_t)fuzz_below(&random, 256);
  count = change_bundle(files, count, &random);
  static uint8_t made[8 * BUFFER_BYTES];
  const size_t length = fuzz_bundle_write(files, count, made, most - 1 < sizeof made ? most - 1 : sizeof made);
  memcpy(data + 1, made, length);
  return 1 + length;
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size, uint8_t *out,
                                 size_t most, unsigned int seed) {
  fuzz_random random = {seed};
  fuzz_file files[FUZZ_MOST_FILES], others[FUZZ_MOST_FILES];
  if (a_size < 2 || b_size < 2) return 0;
  fuzz_reader reader = {a + 1, a + a_size}, from = {b + 1, b + b_size};
  const size_t count = fuzz_bundle_read(&reader, files), more = fuzz_bundle_read(&from, others);
  fuzz_file *one = &files[fuzz_below(&random, (uint32_t)count)];
  const fuzz_file *two = &others[fuzz_below(&random, (uint32_t)more)];
  if (is_index(one) && is_index(two) && parse_index(&tree, one) && parse_index(&other, two)) {
    fuzz_splice(&tree, &other, &random);
    static uint8_t buffer[BUFFER_BYTES];
    right_index(files, count);
    one->length = ENVELOPE + fuzz_encode_message(&tree, buffer + ENVELOPE, BUFFER_BYTES - ENVELOPE);
    one->data = buffer;
    seal_index(buffer, one->length);
  } else {
    one->data = two->data;
    one->length = two->length;
  }
  out[0] = a[0];
  return 1 + fuzz_bundle_write(files, count, out + 1, most - 1);
}
