/* shape.c - shapes: broadcasting, axes, and their words in messages. */
#include <stdio.h>

#include "ci_kernel.h"

/* Every buffer has room for the name of a type; shapes may be cut. */
const char *ci_k_describe(const ci_value *v, char *buffer, size_t size) {
  size_t used = (size_t)snprintf(buffer, size, "%s", ci_dtype_name(v->dtype));
  if (ci_holds(v->dtype)) return buffer;
  if (v->rank < 0) {
    snprintf(buffer + used, size - used, "[...]");
    return buffer;
  }
  for (int32_t i = 0; i <= v->rank && used < size; i++) {
    const char *before = i == 0 ? "[" : ",";
    int more;
    if (i == v->rank) more = snprintf(buffer + used, size - used, v->rank == 0 ? "[]" : "]");
    else if (v->dims[i] < 0) more = snprintf(buffer + used, size - used, "%s?", before);
    else more = snprintf(buffer + used, size - used, "%s%lld", before, (long long)v->dims[i]);
    used += (size_t)more;
  }
  return buffer;
}

int64_t ci_product(const int64_t *dims, int begin, int end) {
  uint64_t product = 1; /* beside a dimension of 0 others may be of any size: no overflow of signed numbers */
  for (int i = begin; i < end; i++) product *= (uint64_t)dims[i];
  return (int64_t)product;
}

ci_status ci_k_axis(ci_kernel *k, int64_t axis, int rank, int *out) {
  if (axis < -rank || axis >= rank) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "axis %lld is out of range for rank %d, expected %d to %d",
                     (long long)axis, rank, -rank, rank - 1);
  }
  *out = (int)(axis < 0 ? axis + rank : axis);
  return CI_OK;
}

static ci_status shape_differ(ci_kernel *k, const ci_value *const *v, int n) {
  char first[160], second[160];
  for (int i = 1; i < n; i++) {
    for (int a = 1; a <= v[0]->rank && a <= v[i]->rank; a++) {
      int64_t x = v[0]->dims[v[0]->rank - a], y = v[i]->dims[v[i]->rank - a];
      if (x == y || x == 1 || y == 1) continue;
      (void)ci_k_describe(v[0], first, sizeof first);
      (void)ci_k_describe(v[i], second, sizeof second);
      return ci_k_fail(k, CI_INVALID_ARGUMENT,
                       "Incompatible shapes: %s vs. %s: %lld and %lld differ and neither is 1 (%s, %s)",
                       strchr(first, '['), strchr(second, '['), (long long)x, (long long)y, first, second);
    }
  }
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "the shapes of the inputs cannot be broadcast");
}

ci_status ci_k_broadcast(ci_kernel *k, const ci_value *const *v, int n, int *rank, int64_t *dims) {
  *rank = 0;
  for (int i = 0; i < n; i++) {
    if (v[i]->rank > *rank) *rank = v[i]->rank;
  }
  for (int a = 1; a <= *rank; a++) {
    int64_t size = 1;
    for (int i = 0; i < n; i++) {
      int64_t here = a <= v[i]->rank ? v[i]->dims[v[i]->rank - a] : 1;
      if (size != 1 && here != 1 && here != size) return shape_differ(k, v, n);
      if (here != 1) size = here;
    }
    dims[*rank - a] = size;
  }
  return CI_OK;
}
