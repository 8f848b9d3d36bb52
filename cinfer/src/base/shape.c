/* shape.c - the number of elements of a shape. */
#include "value.h"

int64_t ci_shape_count(const int64_t *dims, int begin, int end) {
  uint64_t total = 1; /* next to a dimension of 0, others may be of any size: no overflow of signed numbers */
  for (int i = begin; i < end; i++) total *= (uint64_t)dims[i];
  return (int64_t)total;
}
