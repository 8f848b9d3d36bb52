/* value.h - a tensor with its elements, or without them while they are not known. */
#ifndef CI_VALUE_H
#define CI_VALUE_H
#include "ci_common.h"

typedef struct ci_value { /* a tensor of a running graph */
  void *data;             /* NULL while preparing unless the value is known already */
  int64_t count;          /* elements */
  size_t bytes;           /* count * element size */
  int32_t dtype;
  int32_t rank;
  int64_t dims[CI_MAX_RANK];
} ci_value;

/* Whether a dtype is that of a sequence or an empty optional (sequence.h). Kernels whose row lacks CI_OP_HOLDS never
 * see one. */
CI_INLINE bool ci_holds(int32_t dtype) { return dtype == CI_SEQUENCE || dtype == CI_NOTHING; }

/* "float32[8,3,?]" for messages; the string is in `buffer`. */
const char *ci_value_describe(const ci_value *v, char *buffer, size_t size);
/* Bytes that a copy of this value takes: its elements, and the text of strings. False: more than a size_t. */
bool ci_value_storage(const ci_value *value, size_t *bytes);
/* Copies elements, with the bytes of strings after them. to has ci_value_storage bytes. */
void ci_value_copy(void *to, const ci_value *value);
/* A view of a caller's tensor, whose sizes are checked; bytes is computed from the shape. */
ci_status ci_value_of_tensor(const ci_tensor *tensor, ci_value *value, ci_error *error);

CI_INLINE bool ci_shape_same(int32_t rank, const int64_t *dims, int32_t other_rank, const int64_t *other) {
  bool same = rank == other_rank;
  for (int32_t d = 0; same && d < rank; d++) same = dims[d] == other[d];
  return same;
}

/* ---- shape.c ---- */

int64_t ci_shape_count(const int64_t *dims, int begin, int end); /* elements of axes begin <= i < end */
#endif
