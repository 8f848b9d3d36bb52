/* dtype.c - sizes and names of element types, and how files pack the small ones. */
#include <string.h>

#include "ci_common.h"

/* The 4- and 2-bit types take a byte an element in memory, the code in its low bits; files pack them. */
static const struct {
  const char *name;
  uint8_t bytes; /* in memory */
  uint8_t bits;  /* 0: all of them */
} dtype_rows[] = {
    {"undefined", 0, 0},      {"float32", 4, 0},    {"uint8", 1, 0},
    {"int8", 1, 0},           {"uint16", 2, 0},     {"int16", 2, 0},
    {"int32", 4, 0},          {"int64", 8, 0},      {"string", sizeof(ci_string), 0},
    {"bool", 1, 0},           {"float16", 2, 0},    {"float64", 8, 0},
    {"uint32", 4, 0},         {"uint64", 8, 0},     {"complex64", 8, 0},
    {"complex128", 16, 0},    {"bfloat16", 2, 0},   {"float8e4m3fn", 1, 0},
    {"float8e4m3fnuz", 1, 0}, {"float8e5m2", 1, 0}, {"float8e5m2fnuz", 1, 0},
    {"uint4", 1, 4},          {"int4", 1, 4},       {"float4e2m1", 1, 4},
    {"float8e8m0", 1, 0},     {"uint2", 1, 2},      {"int2", 1, 2},
};
enum { DTYPE_ROWS = sizeof dtype_rows / sizeof dtype_rows[0] };

size_t ci_dtype_size(int32_t dtype) { return dtype > 0 && dtype < DTYPE_ROWS ? dtype_rows[dtype].bytes : 0; }

int ci_dtype_bits(int32_t dtype) {
  const bool packed = dtype > 0 && dtype < DTYPE_ROWS && dtype_rows[dtype].bits != 0;
  return packed ? dtype_rows[dtype].bits : (int)(8 * ci_dtype_size(dtype));
}

size_t ci_dtype_packed_bytes(int32_t dtype, size_t count) {
  const size_t each = (size_t)(8 / ci_dtype_bits(dtype));
  return count / each + (count % each != 0);
}

void ci_dtype_pack(int32_t dtype, uint8_t *to, const uint8_t *from, size_t count) {
  const size_t bits = (size_t)ci_dtype_bits(dtype), each = 8 / bits;
  memset(to, 0, ci_dtype_packed_bytes(dtype, count));
  for (size_t i = 0; i < count; i++) to[i / each] |= (uint8_t)((from[i] & ((1u << bits) - 1)) << i % each * bits);
}

bool ci_dtype_unpack(int32_t dtype, uint8_t *to, const uint8_t *from, size_t count) {
  const size_t bits = (size_t)ci_dtype_bits(dtype), each = 8 / bits;
  for (size_t i = 0; i < count; i++)
    to[i] = (uint8_t)((unsigned)from[i / each] >> i % each * bits & ((1u << bits) - 1));
  return count % each == 0 || from[count / each] >> count % each * bits == 0;
}

const char *ci_dtype_name(int32_t dtype) {
  if (dtype == CI_SEQUENCE) return "sequence";
  if (dtype == CI_NOTHING) return "nothing";
  return dtype >= 0 && dtype < DTYPE_ROWS ? dtype_rows[dtype].name : "unknown";
}

void ci_dtype_swap(int32_t dtype, void *data, size_t bytes) {
  const uint16_t one = 1;
  uint8_t first, *p = data;
  memcpy(&first, &one, 1);
  size_t size = ci_dtype_size(dtype);
  if (dtype == CI_COMPLEX64 || dtype == CI_COMPLEX128) size /= 2;
  if (first == 1 || size < 2) return;
  for (size_t at = 0; at + size <= bytes; at += size)
    for (size_t i = 0; i < size / 2; i++) {
      uint8_t low = p[at + i];
      p[at + i] = p[at + size - 1 - i];
      p[at + size - 1 - i] = low;
    }
}
