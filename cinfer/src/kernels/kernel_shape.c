/* kernel_shape.c - shapes of a kernel: axes and broadcasting. */
#include "../plan/plan.h"
#include "ci_kernel.h"

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
      (void)ci_value_describe(v[0], first, sizeof first);
      (void)ci_value_describe(v[i], second, sizeof second);
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

ci_status ci_k_broadcast_of(ci_kernel *k, ci_span op, ci_span name, const ci_value *const *v, int n, int *rank,
                            int64_t *dims) {
  const ci_as as = {op, name};
  const ci_as *before = k->node->as;
  k->node->as = &as;
  const ci_status status = ci_k_broadcast(k, v, n, rank, dims);
  k->node->as = before;
  return status;
}
