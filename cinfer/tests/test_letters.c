/* test_letters.c - letters that have another case, and characters as UTF-8. */
#include "base/letters.h"

#include "check.h"
#include "base/wire.h"

enum { BEYOND = 0x110000 };

/* Characters that ci_letter_next steps over have no other case, up to the last character and after it. */
static void test_every_letter_with_another_case_is_met(void) {
  int met = 0, missed = 0;
  uint32_t next = ci_letter_next(0);
  for (uint32_t c = 0; c <= BEYOND; c++) {
    const bool changes = ci_letter_small(c) != c || ci_letter_large(c) != c;
    if (c == next) {
      met += changes;
      next = ci_letter_next(c + 1);
    } else {
      missed += changes;
    }
  }
  CHECK(met > 2000 && missed == 0 && next == UINT32_MAX);
}

static void test_letters_that_differ_in_case_alone_are_folded_to_one(void) {
  static const uint32_t same[][2] = {{'a', 'A'}, {0xdf, 0x1e9e}, {0x3c2, 0x3a3}, {0x3c3, 0x3a3}, {0x1e943, 0x1e921}};
  for (size_t i = 0; i < sizeof same / sizeof *same; i++)
    CHECK(ci_letter_folded(same[i][0]) == ci_letter_folded(same[i][1]));
  CHECK(ci_letter_folded(0x131) != ci_letter_folded('i')); /* the dotless i, whose large form is I */
  CHECK(ci_letter_folded('1') == '1');
}

static void test_characters_are_read_as_they_are_written(void) {
  int right = 0, halves = 0;
  for (uint32_t c = 0; c < BEYOND; c++) {
    char text[4];
    const size_t length = ci_utf8_put(c, text);
    const char *at = text;
    right += ci_utf8_next(&at) == c && at == text + length;
    halves += !ci_utf8_valid((ci_span){text, length}); /* of surrogate pairs: no UTF-8 has them */
  }
  CHECK(right == BEYOND && halves == 0x800);
}

int main(void) {
  test_every_letter_with_another_case_is_met();
  test_letters_that_differ_in_case_alone_are_folded_to_one();
  test_characters_are_read_as_they_are_written();
  return CHECK_END;
}
