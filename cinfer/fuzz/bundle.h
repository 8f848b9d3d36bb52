/* bundle.h - several small files in one input: each is its name after a byte with its length, then its content after
 * four bytes with theirs. */
#ifndef FUZZ_BUNDLE_H
#define FUZZ_BUNDLE_H
#include "harness.h"

enum { FUZZ_MOST_FILES = 8, FUZZ_NAME = 96 };

typedef struct fuzz_file {
  char name[FUZZ_NAME]; /* one that may be in a folder */
  const uint8_t *data;
  size_t length;
} fuzz_file;

/* Reads the files in the rest of the bytes; returns their number. */
size_t fuzz_bundle_read(fuzz_reader *reader, fuzz_file files[FUZZ_MOST_FILES]);
/* The bytes of such files; 0: more than `most`. */
size_t fuzz_bundle_write(const fuzz_file *files, size_t count, uint8_t *bytes, size_t most);
bool fuzz_ends_with(const char *name, const char *end);
#endif
