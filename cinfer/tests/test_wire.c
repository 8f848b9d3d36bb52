/* test_wire.c - the reader of messages byte by byte: numbers, lengths, strings (docs/security.md: S1). */
#include <string.h>

#include "check.h"
#include "base/wire.h"

typedef struct row {
  const char *bytes;
  size_t length;
  bool good;
  uint64_t number;
} row;

#define ROW(text, ...) {(text), sizeof(text) - 1, __VA_ARGS__}

static ci_span row_span(const row *r) { return (ci_span){r->bytes, r->length}; }

static void test_varints(void) {
  static const row rows[] = {
      ROW("\x00", true, 0),
      ROW("\x7f", true, 127),
      ROW("\x80\x01", true, 128),
      ROW("\x80\x00", true, 0), /* longer than it need be, as protobuf allows */
      ROW("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", true, UINT64_MAX),
      ROW("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", false, 0),     /* a 65th bit */
      ROW("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00", false, 0), /* an eleventh byte */
      ROW("\x80", false, 0),
      ROW("\xff\xff\xff\xff\xff\xff\xff\xff\xff", false, 0),
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ci_wire wire = ci_wire_open(row_span(&rows[i]));
    uint64_t number = 0;
    CHECK(ci_wire_varint(&wire, &number) == rows[i].good && number == rows[i].number);
    CHECK(wire.broken == !rows[i].good && wire.at == wire.end);
    CHECK(!ci_wire_varint(&wire, &number)); /* a broken message stays broken */
  }
}

static void test_fixed_numbers(void) {
  uint32_t number = 0;
  ci_wire wire = ci_wire_open((ci_span){"\x01\x02\x03\x04\x05", 5});
  CHECK(ci_wire_fixed32(&wire, &number) && number == 0x04030201);
  CHECK(!ci_wire_fixed32(&wire, &number) && wire.broken);
  wire = ci_wire_open((ci_span){NULL, 0});
  CHECK(!ci_wire_fixed32(&wire, &number) && !wire.broken);
}

static void test_fields(void) {
  static const row rows[] = {
      ROW("\x08\x05", true, 5),
      ROW("\x0d\x01\x00\x00\x00", true, 1),
      ROW("\x09\x01\x00\x00\x00\x00\x00\x00\x80", true, 1 | UINT64_C(1) << 63),
      ROW("\x0a\x00", true, 0),
      ROW("\xf8\xff\xff\xff\x0f\x07", true, 7), /* the largest number of a field */
      ROW("\x08", false, 0),
      ROW("\x08\x80", false, 0),
      ROW("\x0d\x01\x00\x00", false, 0),
      ROW("\x0d", false, 0),
      ROW("\x09\x01\x00\x00\x00\x00\x00\x00", false, 0),
      ROW("\x0a", false, 0),
      ROW("\x0a\x01", false, 0),
      ROW("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", false, 0), /* a length of 2^64 - 1 */
      ROW("\x00\x01", false, 0),                                     /* field 0 */
      ROW("\x80\x80\x80\x80\x10\x01", false, 0),                     /* field 2^29 */
      ROW("\x0b\x0c", false, 0),                                     /* a group */
      ROW("\x0e", false, 0),
      ROW("\x0f", false, 0),
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ci_wire wire = ci_wire_open(row_span(&rows[i]));
    ci_field field;
    CHECK(ci_wire_next(&wire, &field) == rows[i].good && field.number == rows[i].number);
    CHECK(wire.broken == !rows[i].good && wire.at == wire.end);
    CHECK(!ci_wire_next(&wire, &field));
  }
}

static void test_text(void) {
  static const row rows[] = {
      ROW("", true, 0),
      ROW("a\x7f", true, 0),
      ROW("\xc2\x80\xdf\xbf", true, 0),
      ROW("\xe0\xa0\x80\xef\xbf\xbf", true, 0),
      ROW("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", true, 0),
      ROW("\x80", false, 0),
      ROW("\xc1\xbf", false, 0), /* longer than it need be */
      ROW("\xe0\x9f\xbf", false, 0),
      ROW("\xf0\x8f\xbf\xbf", false, 0),
      ROW("\xed\xa0\x80", false, 0), /* half of a pair */
      ROW("\xf4\x90\x80\x80", false, 0), /* above U+10FFFF */
      ROW("\xf5\x80\x80\x80", false, 0),
      ROW("\xc2", false, 0),
      ROW("\xe2\x82", false, 0),
      ROW("\xc2\x41", false, 0),
      ROW("\xc2\xc0", false, 0),
      ROW("\xe2\x82\x41", false, 0),
      ROW("\xe2\x82\xc0", false, 0),
      ROW("\xf1\x80\x80\x7f", false, 0),
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) CHECK(ci_utf8_valid(row_span(&rows[i])) == rows[i].good);
}

int main(void) {
  test_varints();
  test_fixed_numbers();
  test_fields();
  test_text();
  return CHECK_END;
}
