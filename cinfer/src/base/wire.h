/* wire.h - a reader of protobuf messages from untrusted input.
 *
 * A reader walks the fields of one message and never looks beyond its end. Nothing is allocated: a length is compared
 * with the bytes that are there before anything else happens.
 */
#ifndef CI_WIRE_H
#define CI_WIRE_H
#include "ci_common.h"
#include "../ci_schema.h"

typedef struct ci_wire { /* a message being read */
  const uint8_t *at, *end;
  bool broken; /* set for good when the bytes are not a message */
} ci_wire;

typedef struct ci_field {
  uint32_t key;    /* number << 3 | wire type, as CI_KEY gives it */
  uint64_t number; /* of a varint or a fixed field */
  ci_span bytes;   /* of a length-delimited field, */
  const char *at;  /* and the offset of its length */
} ci_field;

/* For `case CI_KEY(NODE_OP):`. A field whose wire type is not the schema's matches no case and is skipped, as unknown
 * fields are. */
#define CI_KEY(field) ((uint32_t)CI_PB_##field << 3 | CI_PB_##field##_WIRE)
/* The packed form of a repeated number. */
#define CI_KEY_PACKED(field) ((uint32_t)CI_PB_##field << 3 | 2)

ci_wire ci_wire_open(ci_span message);
/* The next field; false at the end and when the message is broken. */
bool ci_wire_next(ci_wire *wire, ci_field *field);
/* The bytes of such a field of a message, by the offset of their length in it; none if they are not all there. */
ci_span ci_wire_stored(ci_span message, size_t at);
/* Numbers of a packed field, one after the other; false at its end and when it is broken. */
bool ci_wire_varint(ci_wire *wire, uint64_t *number);
bool ci_wire_fixed32(ci_wire *wire, uint32_t *number);

bool ci_utf8_valid(ci_span str); /* Whether a field of type string may have these bytes. */
bool ci_is_string(ci_span str);    /* and all of it reaches a C program: it has no zero byte */

uint32_t ci_wire_load_u32(const void *at); /* little-endian */
uint64_t ci_wire_load_u64(const void *at);
CI_INLINE float ci_float_of(uint32_t bits) {
  union {
    uint32_t u;
    float f;
  } both = {bits};
  return both.f;
}
CI_INLINE double ci_double_of(uint64_t bits) {
  union {
    uint64_t u;
    double d;
  } both = {bits};
  return both.d;
}
#endif
