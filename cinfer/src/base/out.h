/* out.h - writes bytes to a buffer that grows: protobuf's wire format, JSON strings. */
#ifndef CI_OUT_H
#define CI_OUT_H
#include "ci_common.h"

typedef struct ci_out {
  const ci_allocator *allocator;
  uint8_t *data;
  size_t length, capacity;
  bool failed; /* out of memory: later writes are dropped, and the caller checks once at the end */
} ci_out;

void ci_out_free(ci_out *out);
void ci_out_bytes(ci_out *out, const void *data, size_t bytes);
void ci_out_string(ci_out *out, const char *format, ...) CI_PRINTF(2, 3); /* at most 511 characters a call */
void ci_out_u32(ci_out *out, uint32_t value);                           /* little-endian */
void ci_out_u64(ci_out *out, uint64_t value);
/* Fields of a protobuf message. A zero or an empty string is the default, which is not written. */
void ci_out_field_varint(ci_out *out, uint32_t field, uint64_t value);
void ci_out_field_fixed32(ci_out *out, uint32_t field, uint32_t value);
void ci_out_field_fixed64(ci_out *out, uint32_t field, uint64_t value);
void ci_out_field_bytes(ci_out *out, uint32_t field, const void *data, size_t bytes);
void ci_out_field_packed(ci_out *out, uint32_t field, const int64_t *values, int count); /* varints */
/* A message is written into a separate buffer and then added, empty or not. */
void ci_out_field_message(ci_out *out, uint32_t field, const ci_out *message);
/* A JSON string with its quotes; UTF-8 stays as it is. */
void ci_out_json_string(ci_out *out, const char *str);
#endif
