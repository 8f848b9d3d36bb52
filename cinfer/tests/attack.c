/* attack.c - prints how cinfer opens and runs models of untrusted input: a line a model, by which builds and machines
 * are compared.
 *
 *   attack PACK
 *
 * PACK, little-endian: "GIOATTAK"; u32 models; a model: u32 length and bytes of its name, u64 length and bytes of the
 * file, u32 inputs; an input: i32 dtype, i32 rank, i64 dims, u64 length and bytes of its elements (of text: each a u64
 * length and its bytes).
 *
 * Prints a line a model: "OPEN SESSION RUN HASH NAME", numbers of ci_status or - for steps that were not reached; HASH
 * is of the outputs as little-endian bytes, - where one is not a tensor of numbers. All limits are small, so that
 * every machine has enough memory for each answer. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cinfer.h"

enum { MOST_INPUTS = 16, MOST_OUTPUTS = 128 };
static const uint64_t most_memory = 1 << 24, most_steps = 1 << 16;

typedef struct reader {
  const uint8_t *at, *end;
} reader;

static void die(const char *what) {
  fprintf(stderr, "attack: %s\n", what);
  exit(1);
}

static const uint8_t *take(reader *r, uint64_t bytes) {
  if (bytes > (uint64_t)(r->end - r->at)) die("the pack ends too early");
  const uint8_t *found = r->at;
  r->at += bytes;
  return found;
}

static uint64_t number(reader *r, int bytes) {
  const uint8_t *p = take(r, (uint64_t)bytes);
  uint64_t value = 0;
  for (int i = 0; i < bytes; i++) value |= (uint64_t)p[i] << (8 * i);
  return value;
}

static void *memory(size_t bytes) {
  void *made = calloc(1, bytes + 1);
  if (made == NULL) die("out of memory");
  return made;
}

/* Between the host's order of bytes and little-endian; complex numbers are two. */
static void swap(int32_t dtype, uint8_t *data, size_t bytes) {
  const uint16_t one = 1;
  size_t size = ci_dtype_size(dtype);
  if (dtype == CI_COMPLEX64 || dtype == CI_COMPLEX128) size /= 2;
  if (*(const uint8_t *)&one == 1 || size < 2) return;
  for (size_t at = 0; at + size <= bytes; at += size)
    for (size_t i = 0; i < size / 2; i++) {
      uint8_t low = data[at + i];
      data[at + i] = data[at + size - 1 - i];
      data[at + size - 1 - i] = low;
    }
}

static void strings(reader *r, uint64_t bytes, ci_tensor *t) {
  const uint8_t *end = r->at + bytes;
  size_t count = 0;
  ci_string *made = memory((size_t)bytes / 8 * sizeof *made);
  while (r->at < end) {
    const size_t length = (size_t)number(r, 8);
    made[count++] = (ci_string){(const char *)take(r, length), length};
  }
  t->data = made;
  t->bytes = count * sizeof *made;
}

static void read_input(reader *r, ci_tensor *t) {
  t->dtype = (int32_t)number(r, 4);
  t->rank = (int32_t)number(r, 4);
  if (t->rank < 0 || t->rank > CI_MAX_RANK) die("a strange rank");
  for (int i = 0; i < t->rank; i++) t->dims[i] = (int64_t)number(r, 8);
  const uint64_t bytes = number(r, 8);
  if (t->dtype == CI_STRING) {
    strings(r, bytes, t);
    return;
  }
  t->bytes = (size_t)bytes;
  t->data = memory(t->bytes);
  if (bytes > 0) memcpy(t->data, take(r, bytes), t->bytes);
  swap(t->dtype, t->data, t->bytes);
}

/* FNV-1a of dtypes, shapes and elements; false where an output is not a tensor of numbers. */
static bool hashed(const ci_tensor *outputs, int count, uint64_t *hash) {
  *hash = 0xcbf29ce484222325u;
  for (int o = 0; o < count; o++) {
    const ci_tensor *t = &outputs[o];
    if (t->dtype == CI_STRING || t->dtype == CI_SEQUENCE || t->dtype == CI_NOTHING) return false;
    uint8_t *copy = memory(t->bytes);
    if (t->bytes > 0) memcpy(copy, t->data, t->bytes);
    swap(t->dtype, copy, t->bytes);
    *hash = (*hash ^ (uint64_t)t->dtype) * 0x100000001b3u;
    for (int d = 0; d < t->rank; d++) *hash = (*hash ^ (uint64_t)t->dims[d]) * 0x100000001b3u;
    for (size_t i = 0; i < t->bytes; i++) *hash = (*hash ^ copy[i]) * 0x100000001b3u;
    free(copy);
  }
  return true;
}

static void run(ci_session *session, ci_model *model, const ci_tensor *inputs, int count) {
  static ci_tensor outputs[MOST_OUTPUTS];
  ci_error error;
  uint64_t hash;
  const int requested = ci_output_count(model, 0);
  if (requested > MOST_OUTPUTS) die("a model of too many outputs");
  memset(outputs, 0, sizeof outputs);
  const ci_status status = ci_run(session, 0, inputs, count, outputs, requested, &error);
  printf(" %d", (int)status);
  if (status == CI_OK && hashed(outputs, requested, &hash)) printf(" %016" PRIx64, hash);
  else printf(" -");
}

static void attack(const uint8_t *file, size_t bytes, const ci_tensor *inputs, int count) {
  ci_options options = ci_defaults();
  ci_session_options small = ci_session_defaults();
  ci_model *model = NULL;
  ci_session *session = NULL;
  ci_error error;
  options.limits.max_memory = small.limits.max_memory = most_memory;
  options.limits.max_loop_steps = small.limits.max_loop_steps = most_steps;
  const ci_status opened = ci_open_memory(file, bytes, &options, &model, &error);
  printf("%d", (int)opened);
  const ci_status made = opened != CI_OK ? opened : ci_session_open(model, NULL, &small, &session, &error);
  if (opened != CI_OK) printf(" - - -");
  else if (made != CI_OK) printf(" %d - -", (int)made);
  else printf(" 0"), run(session, model, inputs, count);
  ci_session_close(session);
  ci_close(model);
}

static void one(reader *r) {
  ci_tensor inputs[MOST_INPUTS];
  const int name_length = (int)number(r, 4);
  const char *name = (const char *)take(r, (uint64_t)name_length);
  const size_t bytes = (size_t)number(r, 8);
  const uint8_t *file = take(r, bytes);
  const int count = (int)number(r, 4);
  if (count > MOST_INPUTS) die("a model of too many inputs");
  memset(inputs, 0, sizeof inputs);
  for (int i = 0; i < count; i++) read_input(r, &inputs[i]);
  attack(file, bytes, inputs, count);
  printf(" %.*s\n", name_length, name);
  for (int i = 0; i < count; i++) free(inputs[i].data);
}

int main(int argc, char **argv) {
  FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  if (file == NULL) die("expected a pack");
  size_t capacity = 1 << 20, bytes = 0, got;
  uint8_t *pack = memory(capacity);
  while ((got = fread(pack + bytes, 1, capacity - bytes, file)) > 0) {
    bytes += got;
    if (bytes < capacity) continue;
    pack = realloc(pack, capacity *= 2);
    if (pack == NULL) die("out of memory");
  }
  fclose(file);
  reader r = {pack, pack + bytes};
  if (memcmp(take(&r, 8), "GIOATTAK", 8) != 0) die("no pack");
  for (uint64_t left = number(&r, 4); left > 0; left--) one(&r);
  free(pack);
  return 0;
}
