/* bits_inputs.h - the inputs of bits.c, read from memory: tensors are views of it, so a microcontroller needs none.
 *
 * Little-endian: "GIOBITS2"; u32 sets; a set: u32 length and bytes of the signature's name, u32 kind, u32 inputs; an
 * input: i32 dtype, i32 rank, i64 dims, zeros up to a multiple of 8, then the elements; zeros up to a multiple of 4
 * after a name, of 8 after elements. Strings cannot be inputs. */
#ifndef CI_TEST_BITS_INPUTS_H
#define CI_TEST_BITS_INPUTS_H
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "cinfer.h"

enum { BITS_SETS = 64, BITS_TENSORS = 256 };
enum {
  BITS_ONCE, /* run a few times on a separate state, which is hashed with the outputs afterwards */
  BITS_ROWS, /* a batch: all at once and row by row give the same */
  BITS_LINE  /* with the lines after it a script on one state */
};

typedef struct bits_set {
  char name[64];
  uint32_t kind;
  int n;
  const ci_tensor *in;
} bits_set;

typedef struct bits_inputs {
  bits_set sets[BITS_SETS];
  ci_tensor tensors[BITS_TENSORS];
  int n, tensors_taken;
} bits_inputs;

void bits_die(const char *what);

typedef struct bits_reader {
  uint8_t *at;
  size_t left;
  size_t read;
} bits_reader;

static bool host_is_big(void) {
  const uint16_t one = 1;
  uint8_t first;
  memcpy(&first, &one, 1);
  return first == 0;
}

/* Elements between the host's byte order and little-endian. Complex numbers are two elements. */
static void swap_elements(int32_t dtype, uint8_t *p, size_t bytes) {
  size_t size = ci_dtype_size(dtype);
  if (dtype == CI_COMPLEX64 || dtype == CI_COMPLEX128) size /= 2;
  if (!host_is_big() || size < 2) return;
  for (size_t at = 0; at + size <= bytes; at += size)
    for (size_t i = 0; i < size / 2; i++) {
      uint8_t low = p[at + i];
      p[at + i] = p[at + size - 1 - i];
      p[at + size - 1 - i] = low;
    }
}

static uint8_t *bits_take(bits_reader *r, size_t bytes, size_t align) {
  uint8_t *start = r->at;
  size_t padded = bytes + (align - (r->read + bytes) % align) % align;
  if (bytes > r->left || padded > r->left) bits_die("the inputs end too early");
  r->at += padded;
  r->left -= padded;
  r->read += padded;
  return start;
}

static uint64_t bits_number(bits_reader *r, size_t bytes) {
  const uint8_t *p = bits_take(r, bytes, 1);
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; i++) value |= (uint64_t)p[i] << (8 * i);
  return value;
}

static void bits_read_tensor(bits_reader *r, ci_tensor *t) {
  t->dtype = (int32_t)(uint32_t)bits_number(r, 4);
  t->rank = (int32_t)(uint32_t)bits_number(r, 4);
  t->bytes = ci_dtype_size(t->dtype);
  if (t->bytes == 0 || t->dtype == CI_STRING || t->rank < 0 || t->rank > CI_MAX_RANK) bits_die("a strange tensor");
  for (int i = 0; i < t->rank; i++) {
    t->dims[i] = (int64_t)bits_number(r, 8);
    t->bytes *= (size_t)t->dims[i];
  }
  (void)bits_take(r, 0, 8);
  t->data = bits_take(r, t->bytes, 8);
  if (host_is_big()) swap_elements(t->dtype, t->data, t->bytes);
}

/* data: aligned to 8, and writable where the host is big-endian. */
static void bits_read_inputs(bits_inputs *inputs, uint8_t *data, size_t bytes) {
  bits_reader r = {.at = data, .left = bytes};
  if (bytes < 8 || memcmp(bits_take(&r, 8, 1), "GIOBITS2", 8) != 0) bits_die("no inputs file");
  inputs->n = (int)bits_number(&r, 4);
  inputs->tensors_taken = 0;
  if (inputs->n < 0 || inputs->n > BITS_SETS) bits_die("too many sets");
  for (int i = 0; i < inputs->n; i++) {
    bits_set *set = &inputs->sets[i];
    const size_t length = (size_t)bits_number(&r, 4);
    if (length >= sizeof set->name) bits_die("a name is too long");
    memcpy(set->name, bits_take(&r, length, 4), length);
    set->name[length] = 0;
    set->kind = (uint32_t)bits_number(&r, 4);
    set->n = (int)bits_number(&r, 4);
    if (set->n < 0 || set->n > BITS_TENSORS - inputs->tensors_taken) bits_die("too many inputs");
    set->in = &inputs->tensors[inputs->tensors_taken];
    for (int k = 0; k < set->n; k++) bits_read_tensor(&r, &inputs->tensors[inputs->tensors_taken++]);
  }
}
#endif
