/* feeds.c - makes input tensors from the bytes of a fuzz input, and computes the digest of output tensors. */
#include "feeds.h"

#include <stdlib.h>
#include <string.h>

#include "base/ci_common.h"

enum { MOST_ELEMENTS = 1 << 14, MOST_TEXT = 32, EXPLICIT = 0x80 };

/* ---- shapes ---- */

static int64_t feed_dimension(fuzz_reader *reader) {
  const uint8_t size = fuzz_byte(reader);
  return size < 255 ? size : (int64_t)(fuzz_number(reader, 8) & INT64_MAX);
}

static void feed_shape(fuzz_reader *reader, const ci_info *info, uint8_t mode, ci_tensor *tensor) {
  const bool given = (mode & EXPLICIT) != 0;
  tensor->dtype = given ? 1 + (fuzz_byte(reader) + 25) % 26 : info->dtype;
  tensor->rank = given || info->rank < 0 ? fuzz_byte(reader) % (CI_MAX_RANK + 1) : info->rank;
  for (int32_t i = 0; i < tensor->rank; i++)
    tensor->dims[i] = given || info->rank < 0 || info->dims[i] < 0 ? feed_dimension(reader) : info->dims[i];
}

/* The number of elements; a shape with too many becomes a small one. */
static size_t feed_count(ci_tensor *tensor) {
  bool empty = false;
  size_t count = 1;
  for (int32_t i = 0; i < tensor->rank; i++) empty = empty || tensor->dims[i] == 0;
  if (empty) return 0;
  for (int32_t i = 0; i < tensor->rank; i++) {
    if (tensor->dims[i] > MOST_ELEMENTS || count * (size_t)tensor->dims[i] > MOST_ELEMENTS) tensor->dims[i] = 1;
    count *= (size_t)tensor->dims[i];
  }
  return count;
}

/* ---- elements ---- */

static uint64_t feed_edge(int32_t dtype, uint8_t choice) {
  static const uint64_t floats[] = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
                                    0x7fc00000, 1,          0x7f7fffff, 0x3f000000, 0x4f000000, 0xdf000000};
  static const uint64_t doubles[] = {0,
                                     UINT64_C(1) << 63,
                                     UINT64_C(0x3ff0000000000000),
                                     UINT64_C(0xbff0000000000000),
                                     UINT64_C(0x7ff0000000000000),
                                     UINT64_C(0xfff0000000000000),
                                     UINT64_C(0x7ff8000000000000),
                                     1,
                                     UINT64_C(0x7fefffffffffffff),
                                     UINT64_C(0x3fe0000000000000),
                                     UINT64_C(0x43e0000000000000),
                                     UINT64_C(0xc3e0000000000000)};
  static const uint64_t integers[] = {
      0, 1, UINT64_MAX, UINT64_MAX - 1, 2, 3, INT64_MAX, UINT64_C(1) << 63, INT32_MAX, UINT64_C(1) << 31, 255, 127};
  const uint8_t at = choice % 12;
  if (dtype == CI_FLOAT || dtype == CI_COMPLEX64) return floats[at];
  if (dtype == CI_DOUBLE || dtype == CI_COMPLEX128) return doubles[at];
  return dtype == CI_FLOAT16 || dtype == CI_BFLOAT16 ? floats[at] >> 16 : integers[at];
}

static uint64_t feed_counted(int32_t dtype, size_t i) {
  union {
    float f;
    uint32_t u;
  } narrow = {(float)(i % 64)};
  union {
    double d;
    uint64_t u;
  } wide = {(double)(i % 64)};
  if (dtype == CI_FLOAT || dtype == CI_COMPLEX64) return narrow.u;
  if (dtype == CI_DOUBLE || dtype == CI_COMPLEX128) return wide.u;
  return dtype == CI_BFLOAT16 ? narrow.u >> 16 : i % 64;
}

/* The bits that no byte of such an element may have set. */
static uint8_t feed_mask(int32_t dtype) {
  const int bits = ci_dtype_bits(dtype);
  return (uint8_t)(dtype == CI_BOOL ? 1 : bits < 8 ? (1 << bits) - 1 : 0xff);
}

static void feed_numbers(fuzz_reader *reader, uint8_t mode, const ci_tensor *tensor, size_t count, uint8_t *to) {
  const size_t item = ci_dtype_size(tensor->dtype);
  const size_t word = tensor->dtype == CI_COMPLEX64 || tensor->dtype == CI_COMPLEX128 ? item / 2 : item;
  const uint8_t fill = (mode & 7) == 4 ? fuzz_byte(reader) : 0, mask = feed_mask(tensor->dtype);
  for (size_t i = 0; i < count * item / word; i++) {
    uint64_t value = 0;
    switch (mode & 7) {
      case 0: value = fuzz_number(reader, (int)word); break;
      case 1: value = feed_edge(tensor->dtype, fuzz_byte(reader)); break;
      case 3: value = feed_counted(tensor->dtype, i); break;
      case 4: value = fill * UINT64_C(0x0101010101010101); break;
      default: break;
    }
    for (size_t b = 0; b < word; b++) to[i * word + b] = (uint8_t)(value >> (8 * b)) & mask;
  }
}

/* The bytes of the strings are stored after the strings. */
static void feed_strings(fuzz_reader *reader, size_t count, ci_string *strings) {
  char *text = (char *)(strings + count);
  for (size_t i = 0; i < count; i++) {
    const size_t length = fuzz_byte(reader) % MOST_TEXT;
    for (size_t b = 0; b < length; b++) text[b] = (char)fuzz_byte(reader);
    strings[i] = (ci_string){text, length};
    text += length;
  }
}

static void *feed_tensor(fuzz_reader *reader, const ci_info *info, ci_tensor *tensor) {
  const uint8_t mode = fuzz_byte(reader);
  feed_shape(reader, info, mode, tensor);
  const bool text = tensor->dtype == CI_STRING;
  const size_t item = ci_dtype_size(tensor->dtype), count = feed_count(tensor);
  tensor->bytes = count * item;
  const size_t bytes = count * item + (text ? count * MOST_TEXT : 0);
  void *memory = malloc(bytes > 0 ? bytes : 1);
  if (memory == NULL) exit(2);
  tensor->data = memory;
  if (text) feed_strings(reader, count, memory);
  else feed_numbers(reader, mode, tensor, count, memory);
  return memory;
}

void fuzz_feed_make(fuzz_reader *reader, const ci_info *info, int kind, fuzz_feed *feed) {
  *feed = (fuzz_feed){0};
  const uint8_t count = kind == CI_KIND_TENSOR ? 0 : fuzz_byte(reader) % (FUZZ_MOST_PARTS + 1);
  if ((kind & CI_KIND_OPTIONAL) != 0 && count == 0) {
    feed->tensor.dtype = CI_NOTHING;
  } else if ((kind & CI_KIND_SEQUENCE) == 0) {
    feed->memory = feed_tensor(reader, info, &feed->tensor);
  } else {
    for (uint8_t i = 0; i < count; i++) feed->part_memory[i] = feed_tensor(reader, info, &feed->parts[i]);
    feed->tensor = (ci_tensor){.data = feed->parts, .bytes = count * sizeof feed->parts[0], .dtype = CI_SEQUENCE};
    feed->tensor.rank = 1;
    feed->tensor.dims[0] = count;
  }
}

void fuzz_feed_free(fuzz_feed *feed) {
  free(feed->memory);
  for (int i = 0; i < FUZZ_MOST_PARTS; i++) free(feed->part_memory[i]);
}

/* ---- digests ---- */

uint64_t fuzz_digest_bytes(uint64_t digest, const void *data, size_t bytes) {
  return (digest ^ ci_crc32c((uint32_t)digest, data, bytes) ^ bytes) * UINT64_C(0x100000001b3);
}

/* Of a number of so many bytes, whose exponent has so many bits. */
static uint64_t digest_floats(uint64_t digest, const uint8_t *data, size_t bytes, size_t size, int mantissa) {
  for (size_t at = 0; at + size <= bytes; at += size) {
    uint64_t value = 0;
    memcpy(&value, data + at, size);
    const uint64_t infinity = (UINT64_C(1) << (8 * size - 1)) - (UINT64_C(1) << mantissa);
    if ((value & (UINT64_MAX >> (65 - 8 * size))) > infinity) value = infinity + 1;
    digest = (digest ^ value) * UINT64_C(0x100000001b3);
  }
  return digest;
}

static uint64_t digest_elements(uint64_t digest, const ci_tensor *tensor) {
  switch (tensor->dtype) {
    case CI_FLOAT: return digest_floats(digest, tensor->data, tensor->bytes, 4, 23);
    case CI_DOUBLE: return digest_floats(digest, tensor->data, tensor->bytes, 8, 52);
    case CI_FLOAT16: return digest_floats(digest, tensor->data, tensor->bytes, 2, 10);
    case CI_BFLOAT16: return digest_floats(digest, tensor->data, tensor->bytes, 2, 7);
    default: return fuzz_digest_bytes(digest, tensor->data, tensor->bytes);
  }
}

uint64_t fuzz_digest(uint64_t digest, const ci_tensor *tensor) {
  const int64_t head[2] = {tensor->dtype, tensor->rank};
  fuzz_require(tensor->rank >= 0 && tensor->rank <= CI_MAX_RANK, "S6: outputs have a rank");
  digest = fuzz_digest_bytes(digest, head, sizeof head);
  digest = fuzz_digest_bytes(digest, tensor->dims, (size_t)tensor->rank * sizeof tensor->dims[0]);
  if (tensor->dtype == CI_NOTHING) return digest;
  fuzz_require(tensor->bytes == 0 || tensor->data != NULL, "S6: outputs have their data");
  if (tensor->dtype == CI_SEQUENCE) {
    const ci_tensor *parts = tensor->data;
    for (size_t i = 0; i < tensor->bytes / sizeof *parts; i++) digest = fuzz_digest(digest, &parts[i]);
    return digest;
  }
  if (tensor->dtype != CI_STRING) return digest_elements(digest, tensor);
  const ci_string *strings = tensor->data;
  for (size_t i = 0; i < tensor->bytes / sizeof *strings; i++)
    digest = fuzz_digest_bytes(digest, strings[i].data, strings[i].length);
  return digest;
}
