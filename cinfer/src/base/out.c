/* out.c - writes bytes to a buffer that grows: protobuf's wire format, JSON strings (out.h). */
#include "out.h"

#include <stdio.h>
#include <string.h>

void ci_out_free(ci_out *out) {
  if (out->data) ci_release(out->allocator, out->data, out->capacity);
  *out = (ci_out){.allocator = out->allocator};
}

static bool out_reserve(ci_out *out, size_t bytes) {
  size_t needed, capacity;
  if (out->failed) return false;
  if (!ci_add_size(out->length, bytes, &needed) || needed > SIZE_MAX / 4) return !(out->failed = true);
  if (needed <= out->capacity) return true;
  capacity = needed < 256 ? 256 : needed + needed / 2;
  uint8_t *data = ci_alloc(out->allocator, capacity);
  if (!data) return !(out->failed = true);
  if (out->length) memcpy(data, out->data, out->length);
  if (out->data) ci_release(out->allocator, out->data, out->capacity);
  out->data = data;
  out->capacity = capacity;
  return true;
}

void ci_out_bytes(ci_out *out, const void *data, size_t bytes) {
  if (!bytes || !out_reserve(out, bytes)) return;
  memcpy(out->data + out->length, data, bytes);
  out->length += bytes;
}

void ci_out_string(ci_out *out, const char *format, ...) {
  char str[512];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(str, sizeof str, format, arguments);
  va_end(arguments);
  if (length < 0 || (size_t)length >= sizeof str) out->failed = true;
  if (!out->failed) ci_out_bytes(out, str, (size_t)length);
}

static void out_little(ci_out *out, uint64_t value, int bytes) {
  uint8_t b[8];
  for (int i = 0; i < bytes; i++) b[i] = (uint8_t)(value >> (8 * i));
  ci_out_bytes(out, b, (size_t)bytes);
}

void ci_out_u32(ci_out *out, uint32_t value) { out_little(out, value, 4); }
void ci_out_u64(ci_out *out, uint64_t value) { out_little(out, value, 8); }

static void out_varint(ci_out *out, uint64_t value) {
  uint8_t b[10];
  size_t n = 0;
  for (; value > 0x7f; value >>= 7) b[n++] = (uint8_t)(value | 0x80);
  b[n++] = (uint8_t)value;
  ci_out_bytes(out, b, n);
}

static void out_tag(ci_out *out, uint32_t field, uint32_t wire) { out_varint(out, (uint64_t)field << 3 | wire); }

void ci_out_field_varint(ci_out *out, uint32_t field, uint64_t value) {
  if (!value) return;
  out_tag(out, field, 0);
  out_varint(out, value);
}

void ci_out_field_fixed32(ci_out *out, uint32_t field, uint32_t value) {
  if (!value) return;
  out_tag(out, field, 5);
  ci_out_u32(out, value);
}

void ci_out_field_fixed64(ci_out *out, uint32_t field, uint64_t value) {
  if (!value) return;
  out_tag(out, field, 1);
  ci_out_u64(out, value);
}

void ci_out_field_bytes(ci_out *out, uint32_t field, const void *data, size_t bytes) {
  if (!bytes) return;
  out_tag(out, field, 2);
  out_varint(out, bytes);
  ci_out_bytes(out, data, bytes);
}

void ci_out_field_packed(ci_out *out, uint32_t field, const int64_t *values, int count) {
  size_t bytes = 0;
  if (count <= 0) return;
  for (int i = 0; i < count; i++)
    for (uint64_t v = (uint64_t)values[i], more = 1; more; v >>= 7, bytes++) more = v > 0x7f;
  out_tag(out, field, 2);
  out_varint(out, bytes);
  for (int i = 0; i < count; i++) out_varint(out, (uint64_t)values[i]);
}

void ci_out_field_message(ci_out *out, uint32_t field, const ci_out *message) {
  out->failed = out->failed || message->failed;
  out_tag(out, field, 2);
  out_varint(out, message->length);
  ci_out_bytes(out, message->data, message->length);
}

void ci_out_json_string(ci_out *out, const char *str) {
  ci_out_bytes(out, "\"", 1);
  for (const char *p = str; *p; p++) {
    unsigned char c = (unsigned char)*p;
    if (c == '"' || c == '\\') ci_out_string(out, "\\%c", c);
    else if (c < 0x20) ci_out_string(out, "\\u%04x", c);
    else ci_out_bytes(out, p, 1);
  }
  ci_out_bytes(out, "\"", 1);
}
