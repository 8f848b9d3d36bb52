/* copy.h - copies between two strided arrays: shared by Transpose, Slice, Concat, Tile, Expand, Pad and similar
 * operators. */
#ifndef CI_COPY_H
#define CI_COPY_H
#include "../ci_kernel.h"

typedef struct ci_two_words { /* an element of 16 bytes: complex128 on every machine, strings where addresses have 64
                                 bits */
  uint64_t words[2];
} ci_two_words;

enum { CI_COPY_AXES = 2 * CI_MAX_RANK }; /* Tile has two axes for each of its input */

typedef struct ci_copy { /* strides in bytes; a step of 0 repeats, a negative one goes back */
  const struct ci_isa *isa;
  size_t item;
  int rank;
  int64_t dims[CI_COPY_AXES];
  ptrdiff_t from[CI_COPY_AXES], to[CI_COPY_AXES];
} ci_copy;

/* A few bytes, without a call where they are one number. */
CI_INLINE void ci_copy_bytes(void *to, const void *from, size_t bytes) {
  if (bytes == 4) {
    memcpy(to, from, 4);
  } else if (bytes == 8) {
    memcpy(to, from, 8);
  } else {
    memcpy(to, from, bytes);
  }
}

CI_LOCAL void ci_copy_start(ci_copy *copy, const struct ci_isa *isa, size_t item);
/* Adds an axis inside those before; strides in elements. Axes that continue each other become one. */
CI_LOCAL void ci_copy_axis(ci_copy *copy, int64_t size, ptrdiff_t from, ptrdiff_t to);
CI_LOCAL void ci_copy_run(const ci_copy *copy, void *to, const void *from);

/* The same into all of k's output, whose axes are those of the copy in their order. */
CI_LOCAL void ci_copy_result(ci_kernel *k, const ci_copy *copy, const void *from);

/* Strides in elements of a dense tensor. */
CI_LOCAL void ci_copy_strides(const int64_t *dims, int rank, ptrdiff_t *strides);
#endif
