/* bundle.c - reads and writes several small files in one fuzz input. */
#include "bundle.h"

#include <string.h>

/* Names as people give them: a reader that opened another one would be found out. */
static void bundle_name(fuzz_reader *reader, char name[FUZZ_NAME]) {
  const size_t length = fuzz_byte(reader) % FUZZ_NAME;
  for (size_t i = 0; i < length; i++) {
    const char c = (char)fuzz_byte(reader);
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '_' || (c == '.' && i > 0);
    name[i] = plain ? c : 'x';
  }
  name[length] = 0;
  if (length == 0) memcpy(name, "x", 2);
}

size_t fuzz_bundle_read(fuzz_reader *reader, fuzz_file files[FUZZ_MOST_FILES]) {
  size_t count = 0;
  while (count < FUZZ_MOST_FILES && reader->at < reader->end) {
    fuzz_file *file = &files[count++];
    bundle_name(reader, file->name);
    const size_t left = (size_t)(reader->end - reader->at), length_given = (size_t)fuzz_number(reader, 4);
    const size_t rest = left < 4 ? 0 : left - 4;
    file->data = reader->at;
    file->length = length_given < rest ? length_given : rest;
    reader->at += file->length;
  }
  return count;
}

size_t fuzz_bundle_write(const fuzz_file *files, size_t count, uint8_t *bytes, size_t most) {
  size_t used = 0;
  for (size_t i = 0; i < count; i++) {
    const size_t name = strlen(files[i].name), length = files[i].length;
    if (most - used < 5 + name + length) return 0;
    bytes[used++] = (uint8_t)name;
    memcpy(bytes + used, files[i].name, name);
    used += name;
    for (int b = 0; b < 4; b++) bytes[used++] = (uint8_t)(length >> (8 * b));
    if (length > 0) memmove(bytes + used, files[i].data, length);
    used += length;
  }
  return used;
}

bool fuzz_ends_with(const char *name, const char *end) {
  const size_t length = strlen(name), ending = strlen(end);
  return length >= ending && strcmp(name + length - ending, end) == 0;
}
