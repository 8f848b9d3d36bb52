/* sequence.c - reads and builds sequences of tensors (sequence.h). */
#include "sequence.h"

enum { SEQUENCE_ALIGN = 64 };

bool ci_sequence_bytes(int64_t count, size_t *bytes) {
  size_t tensors;
  *bytes = SEQUENCE_ALIGN;
  if (count < 0 || (uint64_t)count > SIZE_MAX) return false;
  return ci_mul_size((uint64_t)count, sizeof(ci_tensor), &tensors) && ci_sequence_more(bytes, tensors);
}

bool ci_sequence_alike(size_t *bytes, int64_t count, size_t elements) {
  size_t all, sum;
  if (elements > PTRDIFF_MAX - SEQUENCE_ALIGN) return false;
  if (!ci_mul_size((uint64_t)count, ci_round_up(elements, SEQUENCE_ALIGN), &all)) return false;
  if (!ci_add_size(*bytes, all, &sum) || sum > PTRDIFF_MAX) return false;
  *bytes = sum;
  return true;
}

bool ci_sequence_more(size_t *bytes, size_t elements) { return ci_sequence_alike(bytes, 1, elements); }

int64_t ci_sequence_count(const void *block) {
  int64_t count;
  memcpy(&count, block, sizeof count);
  return count;
}

static size_t sequence_head(int64_t count) {
  return SEQUENCE_ALIGN + ci_round_up((size_t)count * sizeof(ci_tensor), SEQUENCE_ALIGN);
}

ci_sequence_writer ci_sequence_begin(void *block, int64_t count) {
  memset(block, 0, SEQUENCE_ALIGN);
  memcpy(block, &count, sizeof count);
  return (ci_sequence_writer){(ci_tensor *)((char *)block + SEQUENCE_ALIGN), (char *)block + sequence_head(count)};
}

char *ci_sequence_add(ci_sequence_writer *writer, const ci_value *value) {
  char *data = writer->data;
  ci_tensor *item = writer->next++;
  *item = (ci_tensor){.bytes = value->bytes, .dtype = value->dtype, .rank = value->rank};
  for (int32_t d = 0; d < value->rank; d++) item->dims[d] = value->dims[d];
  if (value->data != NULL && value->bytes > 0) memcpy(data, value->data, value->bytes);
  writer->data += ci_round_up(value->bytes, SEQUENCE_ALIGN);
  return data;
}

ci_sequence_reader ci_sequence_open(const void *block) {
  const int64_t count = ci_sequence_count(block);
  char *start = (char *)(uintptr_t)block;
  return (ci_sequence_reader){(const ci_tensor *)(start + SEQUENCE_ALIGN), start + sequence_head(count), count};
}

bool ci_sequence_next(ci_sequence_reader *reader, ci_value *value) {
  const ci_tensor *item = reader->next;
  if (reader->left == 0) return false;
  *value = (ci_value){.data = reader->data, .bytes = item->bytes, .dtype = item->dtype, .rank = item->rank};
  value->count = (int64_t)(item->bytes / ci_dtype_size(item->dtype));
  for (int32_t d = 0; d < item->rank; d++) value->dims[d] = item->dims[d];
  reader->data += ci_round_up(item->bytes, SEQUENCE_ALIGN);
  reader->next++;
  reader->left--;
  return true;
}

ci_tensor *ci_sequence_point(void *block) {
  ci_sequence_reader reader = ci_sequence_open(block);
  ci_tensor *items = (ci_tensor *)((char *)block + SEQUENCE_ALIGN);
  ci_value value;
  for (int64_t i = 0; ci_sequence_next(&reader, &value); i++) items[i].data = value.data;
  return items;
}
