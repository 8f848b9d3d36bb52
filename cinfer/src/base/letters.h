/* letters.h - upper and lower case by Unicode's simple mappings, and the characters of UTF-8. */
#ifndef CI_LETTERS_H
#define CI_LETTERS_H
#include "ci_common.h"

uint32_t ci_letter_small(uint32_t c);
uint32_t ci_letter_large(uint32_t c);
/* The character that all cases of a letter are compared as. */
uint32_t ci_letter_folded(uint32_t c);
/* The first character at or after c that has another case; UINT32_MAX: none. */
uint32_t ci_letter_next(uint32_t c);

/* The character at `at`, and where the next one begins: of text that ci_utf8_valid accepts. */
uint32_t ci_utf8_next(const char **at);
/* Writes a character; returns its bytes. */
size_t ci_utf8_put(uint32_t c, char to[4]);
#endif
