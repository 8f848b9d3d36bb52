/* sequence.h - sequences of tensors, each one block of bytes.
 *
 * A value of dtype CI_SEQUENCE is a count, that many ci_tensor, and their elements, each part from a multiple of 64
 * on. The offset of an element follows from the sizes of those before it, and `data` of the ci_tensor means nothing:
 * the block may be copied and moved like the bytes of any tensor, so plans keep, carry and free sequences like
 * tensors. Its rank is 1 and its dimension the number of bytes. A value of dtype CI_NOTHING has no bytes; an optional
 * value is that, or else the value that it holds.
 */
#ifndef CI_SEQUENCE_H
#define CI_SEQUENCE_H
#include "ci_kernel.h"

/* Bytes of a sequence of `count` tensors without their elements; false: too large. */
bool ci_sequence_bytes(int64_t count, size_t *bytes);
bool ci_sequence_more(size_t *bytes, size_t elements); /* adds those of one tensor */
bool ci_sequence_alike(size_t *bytes, int64_t count, size_t elements); /* of so many, at least one, with as many each */
int64_t ci_sequence_count(const void *block);

typedef struct ci_sequence_writer {
  ci_tensor *next;
  char *data;
} ci_sequence_writer;
ci_sequence_writer ci_sequence_begin(void *block, int64_t count);
/* Adds a tensor; returns where its elements go. They are copied if value->data is not NULL. */
char *ci_sequence_add(ci_sequence_writer *writer, const ci_value *value);

typedef struct ci_sequence_reader {
  const ci_tensor *next;
  char *data;
  int64_t left;
} ci_sequence_reader;
ci_sequence_reader ci_sequence_open(const void *block);
bool ci_sequence_next(ci_sequence_reader *reader, ci_value *value); /* false: there are no more */

/* Sets `data` of all tensors to where they are now; returns the first. */
ci_tensor *ci_sequence_point(void *block);
#endif
