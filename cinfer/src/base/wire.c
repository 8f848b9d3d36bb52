/* wire.c - reads protobuf messages from untrusted input. */
#include "wire.h"

#include <string.h>

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

uint32_t ci_wire_load_u32(const void *at) {
  const uint8_t *b = at;
  return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

uint64_t ci_wire_load_u64(const void *at) {
  return (uint64_t)ci_wire_load_u32(at) | (uint64_t)ci_wire_load_u32((const uint8_t *)at + 4) << 32;
}

ci_wire ci_wire_open(ci_span message) {
  const uint8_t *at = (const uint8_t *)message.data;
  return (ci_wire){at, message.length > 0 ? at + message.length : at, false};
}

static size_t wire_left(const ci_wire *wire) { return (size_t)(wire->end - wire->at); }

static bool wire_broken(ci_wire *wire) {
  wire->broken = true;
  wire->at = wire->end;
  return false;
}

/* At most ten bytes; the tenth has one bit. */
bool ci_wire_varint(ci_wire *wire, uint64_t *number) {
  const size_t left = wire_left(wire);
  const int most = left < 10 ? (int)left : 10;
  uint64_t value = 0;
  for (int i = 0; i < most; i++) {
    const uint8_t byte = wire->at[i];
    value |= (uint64_t)(byte & 0x7f) << 7 * i;
    if (byte >= 0x80) continue;
    if (i == 9 && byte > 1) break;
    wire->at += i + 1;
    *number = value;
    return true;
  }
  return left == 0 ? false : wire_broken(wire);
}

/* Nearly all keys, lengths and numbers have one byte. */
CI_INLINE bool wire_short(ci_wire *wire, uint64_t *number) {
  if (wire->at == wire->end || *wire->at >= 0x80) return ci_wire_varint(wire, number);
  *number = *wire->at++;
  return true;
}

bool ci_wire_fixed32(ci_wire *wire, uint32_t *number) {
  if (wire->at == wire->end) return false;
  if (wire_left(wire) < 4) return wire_broken(wire);
  *number = ci_wire_load_u32(wire->at);
  wire->at += 4;
  return true;
}

static bool wire_bytes(ci_wire *wire, ci_span *bytes) {
  uint64_t length;
  if (!wire_short(wire, &length) || length > wire_left(wire)) return wire_broken(wire);
  *bytes = (ci_span){(const char *)wire->at, (size_t)length};
  wire->at += length;
  return true;
}

bool ci_wire_next(ci_wire *wire, ci_field *field) {
  uint64_t key;
  uint32_t word;
  *field = (ci_field){0};
  if (!wire_short(wire, &key)) return false;
  if (key - 8 > UINT32_MAX - 8) return wire_broken(wire); /* fields are numbered from 1 */
  field->key = (uint32_t)key;
  switch (key & 7) {
    case WIRE_VARINT:
      if (!wire_short(wire, &field->number)) return wire_broken(wire);
      return true;
    case WIRE_BYTES: field->at = (const char *)wire->at; return wire_bytes(wire, &field->bytes);
    case WIRE_FIXED32:
      if (!ci_wire_fixed32(wire, &word)) return wire_broken(wire);
      field->number = word;
      return true;
    case WIRE_FIXED64:
      if (wire_left(wire) < 8) return wire_broken(wire);
      field->number = ci_wire_load_u64(wire->at);
      wire->at += 8;
      return true;
    default: return wire_broken(wire); /* groups, and types that do not exist */
  }
}

ci_span ci_wire_stored(ci_span message, size_t at) {
  ci_wire wire = ci_wire_open(message);
  ci_span bytes = {NULL, 0};
  wire.at += at;
  (void)wire_bytes(&wire, &bytes);
  return bytes;
}

/* Lengths by the first byte; the second byte shows overlong forms, surrogates and characters above U+10FFFF. */
static int wire_utf8_length(uint8_t first, uint8_t *low, uint8_t *high) {
  *low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  *high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

bool ci_utf8_valid(ci_span str) {
  if (str.length == 0) return true;
  const uint8_t *at = (const uint8_t *)str.data, *end = at + str.length;
  while (at < end) {
    uint8_t low, high;
    int length = wire_utf8_length(*at, &low, &high);
    if (length == 0 || end - at < length) return false;
    if (length > 1 && (at[1] < low || at[1] > high)) return false;
    for (int i = 2; i < length; i++)
      if (at[i] < 0x80 || at[i] > 0xbf) return false;
    at += length;
  }
  return true;
}

bool ci_is_string(ci_span str) {
  return ci_utf8_valid(str) && (str.length == 0 || memchr(str.data, '\0', str.length) == NULL);
}
