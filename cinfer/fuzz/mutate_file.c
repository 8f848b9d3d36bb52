/* mutate_file.c - libFuzzer's hooks for inputs that begin with a model file.
 *
 * Nearly all inputs that come out have right checksums, so that the code after their check is reached; some do not. */
#include <string.h>

#include "base/ci_common.h"
#include "harness.h"
#include "multiply.h"
#include "mutate.h"

enum { HEADER = 64 };

static fuzz_tree tree, other; /* of the mutator alone; too large for a stack */

/* The graph section as bytes without a meaning. */
static size_t change_graph(uint8_t *data, size_t size, size_t most) {
  if (size < HEADER) return LLVMFuzzerMutate(data, size, most);
  const uint64_t length = fuzz_read_number(data + 16, 8), offset = fuzz_read_number(data + 24, 8);
  static uint8_t graph[1 << 16];
  if (length > size - HEADER || offset > size || length + 64 > sizeof graph) return LLVMFuzzerMutate(data, size, most);
  memcpy(graph, data + HEADER, (size_t)length);
  const size_t made = LLVMFuzzerMutate(graph, (size_t)length, (size_t)length + 64);
  const size_t start = ci_round_up(HEADER + made, 64), rest = size - (size_t)offset;
  if (start > most || rest > most - start) return size;
  memmove(data + start, data + offset, rest);
  memset(data + HEADER, 0, start - HEADER);
  memcpy(data + HEADER, graph, made);
  fuzz_seal(data, made, start + rest);
  return start + rest;
}

static size_t change_model(uint8_t *data, size_t size, size_t most, fuzz_random *random) {
  if (!fuzz_parse(&tree, data, size)) return LLVMFuzzerMutate(data, size, most);
  tree.left = most > size ? most - size : 0;
  for (uint32_t changes = 1 + fuzz_below(random, 4); changes > 0; changes--) {
    if (fuzz_multiplies && fuzz_one_in(random, 2)) fuzz_multiply(&tree, random);
    else fuzz_mutate(&tree, random);
  }
  static uint8_t made[1 << 20];
  const size_t length = fuzz_encode(&tree, made, most < sizeof made ? most : sizeof made);
  if (length > 0) memcpy(data, made, length);
  return length > 0 ? length : size;
}

/* Any header, with a right checksum. */
static size_t change_header(uint8_t *data, size_t size) {
  if (size < HEADER) return size;
  (void)LLVMFuzzerMutate(data + 8, 52, 52);
  const uint32_t crc = ci_crc32c(0, data, 60);
  for (int i = 0; i < 4; i++) data[60 + i] = (uint8_t)(crc >> (8 * i));
  return size;
}

static size_t change_file(uint8_t *data, size_t size, size_t most, fuzz_random *random) {
  const uint32_t what = fuzz_below(random, 32);
  if (what == 0) return LLVMFuzzerMutate(data, size, most);
  if (what == 1) return change_header(data, size);
  return what < 8 ? change_graph(data, size, most) : change_model(data, size, most, random);
}

/* The bytes after the model, where they are part of the input. */
static size_t change_tail(uint8_t *data, size_t size, size_t most, fuzz_random *random) {
  static uint8_t behind[1 << 16];
  size_t length = fuzz_container_size(data, size), rest = size - length;
  if (rest > sizeof behind) rest = sizeof behind;
  memcpy(behind, data + length, rest);
  const uint32_t what = fuzz_below(random, 8);
  if (what < 6) length = change_file(data, length, most > rest ? most - rest : most, random);
  const size_t space = most - length < sizeof behind ? most - length : sizeof behind;
  if (rest > space) rest = space;
  if (what > 3 && space > 0) rest = LLVMFuzzerMutate(behind, rest, space);
  memcpy(data + length, behind, rest);
  return length + rest;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed) {
  fuzz_random random = {seed};
  return fuzz_has_tail ? change_tail(data, size, most, &random) : change_file(data, size, most, &random);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size, uint8_t *out,
                                 size_t most, unsigned int seed) {
  fuzz_random random = {seed};
  const size_t a_length = fuzz_container_size(a, a_size), b_length = fuzz_container_size(b, b_size);
  if (!fuzz_parse(&tree, a, a_length) || !fuzz_parse(&other, b, b_length)) return 0;
  for (uint32_t parts = 1 + fuzz_below(&random, 4); parts > 0; parts--) fuzz_splice(&tree, &other, &random);
  size_t length = fuzz_encode(&tree, out, most), rest = a_size - a_length;
  if (length == 0) return 0;
  if (rest > most - length) rest = most - length;
  memcpy(out + length, a + a_length, rest);
  return length + rest;
}
