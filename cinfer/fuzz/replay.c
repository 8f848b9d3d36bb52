/* replay.c - runs a fuzz target on files, without a fuzzer.
 *
 *   fuzz_wire FILE|SEEDS.pack ...
 *
 * A pack is one seed after another, each after its length in four bytes. Every input is given in a block of its exact
 * size. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

static uint8_t *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  uint8_t *data = NULL;
  size_t capacity = 0;
  *size = 0;
  while (file != NULL && !feof(file) && !ferror(file)) {
    if (*size == capacity) data = realloc(data, capacity = 2 * capacity + 4096);
    if (data == NULL) break;
    *size += fread(data + *size, 1, capacity - *size, file);
  }
  const bool whole = file != NULL && !ferror(file) && data != NULL;
  if (file != NULL) fclose(file);
  if (whole) return data;
  fprintf(stderr, "%s cannot be read\n", path);
  exit(2);
}

static void run(const uint8_t *data, size_t size) {
  uint8_t *exact = malloc(size > 0 ? size : 1);
  if (exact == NULL) exit(2);
  if (size > 0) memcpy(exact, data, size);
  (void)LLVMFuzzerTestOneInput(exact, size);
  free(exact);
}

static size_t run_pack(const uint8_t *data, size_t size) {
  fuzz_reader reader = {data, data + size};
  size_t seeds = 0;
  for (; reader.at < reader.end; seeds++) {
    const size_t length = (size_t)fuzz_number(&reader, 4);
    if (length > (size_t)(reader.end - reader.at)) exit(2);
    run(reader.at, length);
    reader.at += length;
  }
  return seeds;
}

int main(int count, char **paths) {
  size_t inputs = 0;
  for (int i = 1; i < count; i++) {
    size_t size;
    uint8_t *data = read_file(paths[i], &size);
    const char *end = strrchr(paths[i], '.');
    if (end != NULL && strcmp(end, ".pack") == 0) inputs += run_pack(data, size);
    else run(data, size), inputs++;
    free(data);
  }
  printf("%zu inputs\n", inputs);
  return 0;
}
