/* array.c - operators on shape and layout: Reshape, Flatten, Squeeze, Unsqueeze, Shape, Size, Transpose, Expand, Tile,
 * Concat, Split. */
#include "copy.h"

#include "../../simd/isa.h"
#include "../../simd/linear/isa_linear.h"
#include "../../simd/math/isa_move.h"

/* ---- the same bytes under another shape ---- */

static ci_status array_view(ci_kernel *k, int rank, const int64_t *dims) {
  CI_TRY(ci_k_out(k, 0, k->in[0]->dtype, rank, dims));
  ci_k_alias(k, 0, 0);
  return CI_OK;
}

/* The product of the sizes of all but the free axis, at most INT64_MAX; 0 if one of them is 0. */
static int64_t array_count(const int64_t *dims, int rank, int free_axis) {
  int64_t count = 1;
  for (int i = 0; i < rank; i++) {
    if (dims[i] == 0) return 0;
    if (i != free_axis) count = count > INT64_MAX / dims[i] ? INT64_MAX : count * dims[i];
  }
  return count;
}

ci_status ci_prepare_reshape(ci_kernel *k) {
  const ci_value *x = k->in[0];
  int64_t dims[CI_MAX_RANK], allow_zero = 0;
  int rank = 0, free_axis = -1;
  char str[128];
  CI_TRY(ci_k_attr_i(k, "allowzero", 0, &allow_zero));
  CI_TRY(ci_k_known_ints(k, 1, dims, CI_MAX_RANK, &rank));
  for (int i = 0; i < rank; i++) {
    if (dims[i] == 0 && !allow_zero) {
      if (i >= x->rank) {
        return ci_k_fail(k, CI_INVALID_ARGUMENT, "shape[%d] is 0, which copies an axis that %s does not have", i,
                         ci_value_describe(x, str, sizeof str));
      }
      dims[i] = x->dims[i];
    }
    if (dims[i] == -1 && free_axis < 0) {
      free_axis = i;
      continue;
    }
    if (dims[i] < 0) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "shape[%d] is %lld, expected 0 or more, or one -1", i,
                       (long long)dims[i]);
    }
  }
  const int64_t known = array_count(dims, rank, free_axis);
  if (free_axis >= 0 && known > 0 && x->count % known == 0) {
    dims[free_axis] = x->count / known;
  } else if (free_axis >= 0 || known != x->count) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "%s has %lld elements, the new shape %s %lld",
                     ci_value_describe(x, str, sizeof str), (long long)x->count,
                     free_axis >= 0       ? "a multiple of"
                     : known == INT64_MAX ? "at least"
                                          : "has",
                     (long long)known);
  }
  return array_view(k, rank, dims);
}

ci_status ci_prepare_flatten(ci_kernel *k) {
  const ci_value *x = k->in[0];
  int64_t requested = 1, dims[2];
  int axis = x->rank;
  CI_TRY(ci_k_attr_i(k, "axis", 1, &requested));
  if (requested != x->rank && (x->rank > 0 || requested != 1)) CI_TRY(ci_k_axis(k, requested, x->rank, &axis));
  dims[0] = ci_shape_count(x->dims, 0, axis);
  dims[1] = ci_shape_count(x->dims, axis, x->rank);
  return array_view(k, 2, dims);
}

ci_status ci_prepare_squeeze(ci_kernel *k) {
  const ci_value *x = k->in[0];
  int64_t axes[CI_MAX_RANK], dims[CI_MAX_RANK];
  bool gone[CI_MAX_RANK] = {false};
  int count = 0, rank = 0;
  if (k->n_in > 1 && k->in[1] != NULL) {
    CI_TRY(ci_k_known_ints(k, 1, axes, CI_MAX_RANK, &count));
    for (int i = 0; i < count; i++) {
      int axis = 0;
      char str[128];
      CI_TRY(ci_k_axis(k, axes[i], x->rank, &axis));
      if (x->dims[axis] != 1) {
        return ci_k_fail(k, CI_INVALID_ARGUMENT, "axis %lld of %s is not 1 and cannot be squeezed", (long long)axes[i],
                         ci_value_describe(x, str, sizeof str));
      }
      if (gone[axis]) return ci_k_fail(k, CI_INVALID_ARGUMENT, "axis %lld is given twice", (long long)axes[i]);
      gone[axis] = true;
    }
  } else {
    for (int i = 0; i < x->rank; i++) gone[i] = x->dims[i] == 1;
  }
  for (int i = 0; i < x->rank; i++) {
    if (!gone[i]) dims[rank++] = x->dims[i];
  }
  return array_view(k, rank, dims);
}

ci_status ci_prepare_unsqueeze(ci_kernel *k) {
  const ci_value *x = k->in[0];
  int64_t axes[CI_MAX_RANK], dims[CI_MAX_RANK];
  bool fresh[CI_MAX_RANK] = {false};
  int count = 0;
  CI_TRY(ci_k_known_ints(k, 1, axes, CI_MAX_RANK, &count));
  const int rank = x->rank + count;
  if (rank > CI_MAX_RANK) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "the result would have rank %d, at most %d is possible", rank,
                     CI_MAX_RANK);
  }
  for (int i = 0; i < count; i++) {
    int axis = 0;
    CI_TRY(ci_k_axis(k, axes[i], rank, &axis));
    if (fresh[axis]) return ci_k_fail(k, CI_INVALID_ARGUMENT, "axis %lld is given twice", (long long)axes[i]);
    fresh[axis] = true;
  }
  for (int i = 0, next = 0; i < rank; i++) dims[i] = fresh[i] ? 1 : x->dims[next++];
  return array_view(k, rank, dims);
}

/* ---- Shape, Size ---- */

static void array_shape_range(const ci_value *x, int64_t start, int64_t end, int *first, int *last) {
  const int64_t rank = x->rank;
  if (start < 0) start += rank;
  if (end < 0) end += rank;
  start = start < 0 ? 0 : start > rank ? rank : start;
  end = end < start ? start : end > rank ? rank : end;
  *first = (int)start;
  *last = (int)end;
}

ci_status ci_prepare_shape(ci_kernel *k) {
  int64_t start = 0, end = CI_MAX_RANK;
  int *range = ci_k_private(k, 2 * sizeof *range);
  if (range == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_k_attr_i(k, "start", 0, &start));
  CI_TRY(ci_k_attr_i(k, "end", CI_MAX_RANK, &end));
  array_shape_range(k->in[0], start, end, &range[0], &range[1]);
  const int64_t length = range[1] - range[0];
  return ci_k_out(k, 0, CI_INT64, 1, &length);
}

ci_status ci_run_shape(ci_kernel *k) {
  const int *range = k->private_memory;
  int64_t *y = k->out[0]->data;
  for (int i = range[0]; i < range[1]; i++) *y++ = k->in[0]->dims[i];
  return CI_OK;
}

ci_status ci_prepare_size(ci_kernel *k) { return ci_k_out(k, 0, CI_INT64, 0, NULL); }

ci_status ci_run_size(ci_kernel *k) {
  *(int64_t *)k->out[0]->data = k->in[0]->count;
  return CI_OK;
}

/* ---- one strided copy ---- */

static ci_copy *array_copy(ci_kernel *k, size_t item) {
  ci_copy *copy = ci_k_private(k, sizeof *copy);
  if (copy != NULL) ci_copy_start(copy, k->isa, item);
  return copy;
}

ci_status ci_run_strided_copy(ci_kernel *k) {
  ci_k_repeats(k, k->in[0]);
  ci_copy_result(k, k->private_memory, k->in[0]->data);
  return CI_OK;
}

ci_status ci_prepare_transpose(ci_kernel *k) {
  const ci_value *x = k->in[0];
  const int64_t *perm = NULL;
  int count = -1, from[CI_MAX_RANK];
  bool used[CI_MAX_RANK] = {false};
  int64_t dims[CI_MAX_RANK];
  ptrdiff_t in[CI_MAX_RANK], out[CI_MAX_RANK];
  const size_t item = ci_dtype_size(x->dtype);
  CI_TRY(ci_k_attr_ints(k, "perm", &perm, &count));
  if (count >= 0 && count != x->rank) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "perm has %d numbers, x has rank %d", count, x->rank);
  }
  for (int i = 0; i < x->rank; i++) {
    const int64_t axis = count < 0 ? x->rank - 1 - i : perm[i];
    if (axis < 0 || axis >= x->rank || used[axis]) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "perm[%d] is %lld: perm must name each of the axes 0 to %d once", i,
                       (long long)axis, x->rank - 1);
    }
    used[axis] = true;
    from[i] = (int)axis;
    dims[i] = x->dims[axis];
  }
  CI_TRY(ci_k_out(k, 0, x->dtype, x->rank, dims));
  ci_copy *copy = array_copy(k, item);
  if (copy == NULL) return ci_k_no_memory(k);
  ci_copy_strides(x->dims, x->rank, in);
  ci_copy_strides(dims, x->rank, out);
  for (int i = 0; i < x->rank; i++) ci_copy_axis(copy, dims[i], in[from[i]], out[i]);
  return CI_OK;
}

ci_status ci_prepare_expand(ci_kernel *k) {
  const ci_value *x = k->in[0];
  int64_t requested[CI_MAX_RANK], dims[CI_MAX_RANK];
  int count = 0, rank = 0;
  const size_t item = ci_dtype_size(x->dtype);
  CI_TRY(ci_k_known_ints(k, 1, requested, CI_MAX_RANK, &count));
  ci_value target = {.dtype = x->dtype, .rank = count};
  for (int i = 0; i < count; i++) {
    if (requested[i] < 0) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "shape[%d] is %lld, expected 0 or more", i, (long long)requested[i]);
    }
    target.dims[i] = requested[i];
  }
  const ci_value *both[2] = {x, &target};
  CI_TRY(ci_k_broadcast(k, both, 2, &rank, dims));
  CI_TRY(ci_k_out(k, 0, x->dtype, rank, dims));
  ci_copy *copy = array_copy(k, item);
  if (copy == NULL) return ci_k_no_memory(k);
  ptrdiff_t in[CI_MAX_RANK], out[CI_MAX_RANK];
  ci_copy_strides(x->dims, x->rank, in);
  ci_copy_strides(dims, rank, out);
  for (int i = 0; i < rank; i++) {
    const int axis = i - (rank - x->rank);
    ci_copy_axis(copy, dims[i], axis < 0 || x->dims[axis] == 1 ? 0 : in[axis], out[i]);
  }
  return CI_OK;
}

enum { ARRAY_TILE_SOURCE = 1 << 14, ARRAY_TILE_RUN = 64 }; /* bytes */

typedef struct array_tile { /* axes from the innermost outwards, without those that nothing repeats */
  int rank;
  int64_t dims[CI_MAX_RANK], repeats[CI_MAX_RANK];
  size_t block; /* bytes that are contiguous in both tensors */
  const struct ci_isa *isa;
} array_tile;

ci_status ci_prepare_tile(ci_kernel *k) {
  const ci_value *x = k->in[0];
  int64_t repeats[CI_MAX_RANK], dims[CI_MAX_RANK];
  int count = 0;
  const size_t item = ci_dtype_size(x->dtype);
  CI_TRY(ci_k_known_ints(k, 1, repeats, CI_MAX_RANK, &count));
  if (count != x->rank) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "repeats has %d numbers, x has rank %d", count, x->rank);
  }
  for (int i = 0; i < count; i++) {
    if (repeats[i] < 0 || (x->dims[i] > 0 && repeats[i] > INT64_MAX / x->dims[i])) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "repeats[%d] is %lld, expected 0 or more and a result that fits memory",
                       i, (long long)repeats[i]);
    }
    dims[i] = x->dims[i] * repeats[i];
  }
  CI_TRY(ci_k_out(k, 0, x->dtype, x->rank, dims));
  array_tile *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  p->block = item;
  p->isa = k->isa;
  for (int i = x->rank - 1; i >= 0 && k->out[0]->count > 0; i--) {
    if (p->rank == 0 && repeats[i] == 1) {
      p->block *= (size_t)x->dims[i];
    } else if (p->rank > 0 && p->repeats[p->rank - 1] == 1) { /* a stretch of this axis is one of the one inside it */
      p->dims[p->rank - 1] *= x->dims[i];
      p->repeats[p->rank - 1] = repeats[i];
    } else {
      p->dims[p->rank] = x->dims[i];
      p->repeats[p->rank++] = repeats[i];
    }
  }
  return CI_OK;
}

/* Axis `axis` and those inside it; the first copy is repeated after itself. Returns the end of the written part. */
static char *array_tile_axis(const array_tile *p, int axis, char *to, const char **from) {
  char *end = to;
  if (axis < 0) {
    memcpy(to, *from, p->block);
    *from += p->block;
    return to + p->block;
  }
  if (axis == 0) { /* the blocks of the innermost axis follow each other */
    const size_t bytes = (size_t)p->dims[0] * p->block;
    const int64_t times = bytes < ARRAY_TILE_RUN ? 1 : p->repeats[0];
    p->isa->move->runs(to, (ptrdiff_t)bytes, *from, 0, times, bytes);
    *from += bytes;
    end = to + bytes * (size_t)times;
    if (times == p->repeats[0]) return end;
  } else {
    for (int64_t i = 0; i < p->dims[axis]; i++) end = array_tile_axis(p, axis - 1, end, from);
  }
  size_t once = (size_t)(end - to), left = once * (size_t)(p->repeats[axis] - 1);
  for (size_t done = once; left > 0;) {
    const size_t more = left < done ? left : done;
    memcpy(end, to, more);
    end += more;
    left -= more;
    if (done < ARRAY_TILE_SOURCE) done += more; /* a source that stays in cache */
  }
  return end;
}

ci_status ci_run_tile(ci_kernel *k) {
  const array_tile *p = k->private_memory;
  const char *from = k->in[0]->data;
  ci_k_repeats(k, k->in[0]);
  if (k->out[0]->count > 0) (void)array_tile_axis(p, p->rank - 1, k->out[0]->data, &from);
  return CI_OK;
}

/* ---- Concat, Split: lines of one axis with all that is inside it ---- */

struct array_lines {
  size_t outer, inner; /* lines; bytes of one step of the axis */
  int axis;
};

ci_status ci_prepare_concat(ci_kernel *k) {
  const ci_value *first = k->in[0];
  int64_t requested = 0, dims[CI_MAX_RANK];
  int axis = 0;
  const size_t item = ci_dtype_size(first->dtype);
  CI_TRY(ci_k_attr_i(k, "axis", 0, &requested));
  if (first->rank == 0)
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "scalars cannot be concatenated; Unsqueeze them first");
  CI_TRY(ci_k_axis(k, requested, first->rank, &axis));
  memcpy(dims, first->dims, (size_t)first->rank * sizeof *dims);
  for (int i = 1; i < k->n_in; i++) {
    const ci_value *v = k->in[i];
    bool same = v->rank == first->rank && v->dtype == first->dtype;
    for (int d = 0; same && d < v->rank; d++) same = d == axis || v->dims[d] == first->dims[d];
    if (!same || dims[axis] > INT64_MAX - v->dims[axis]) {
      char left[128], right[128];
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "input 0 is %s and input %d is %s: only axis %d may differ",
                       ci_value_describe(first, left, sizeof left), i, ci_value_describe(v, right, sizeof right), axis);
    }
    dims[axis] += v->dims[axis];
  }
  struct array_lines *lines = ci_k_private(k, sizeof *lines);
  if (lines == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_k_out(k, 0, first->dtype, first->rank, dims));
  lines->axis = axis;
  lines->outer = k->out[0]->count == 0 ? 0 : (size_t)ci_shape_count(dims, 0, axis);
  lines->inner = k->out[0]->count == 0 ? 0 : (size_t)ci_shape_count(dims, axis + 1, first->rank) * item;
  return CI_OK;
}

ci_status ci_run_concat(ci_kernel *k) {
  const struct array_lines *lines = k->private_memory;
  const size_t line = lines->inner * (size_t)k->out[0]->dims[lines->axis];
  char *to = k->out[0]->data;
  if (lines->outer == 0) return CI_OK;
  for (int i = 0; i < k->n_in; i++) {
    const size_t part = lines->inner * (size_t)k->in[i]->dims[lines->axis];
    const char *from = k->in[i]->data;
    if (part > 0) k->isa->move->runs(to, (ptrdiff_t)line, from, (ptrdiff_t)part, (int64_t)lines->outer, part);
    to += part;
  }
  return CI_OK;
}

/* Sizes of the parts: the input `split`, or equal parts of which the last may be smaller from version 18 on. */
static ci_status array_split_sizes(ci_kernel *k, int64_t size, int64_t *sizes) {
  const int n = k->n_out;
  if (k->n_in > 1 && k->in[1] != NULL) {
    int count = 0;
    int64_t sum = 0;
    CI_TRY(ci_k_known_ints(k, 1, sizes, n, &count));
    for (int i = 0; i < count; i++) {
      if (sizes[i] < 0 || sizes[i] > size - sum) {
        return ci_k_fail(k, CI_INVALID_ARGUMENT, "split[%d] is %lld: the parts must be 0 or more and sum to %lld", i,
                         (long long)sizes[i], (long long)size);
      }
      sum += sizes[i];
    }
    if (count == n && sum == size) return CI_OK;
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "split has %d parts of together %lld, expected %d of together %lld", count,
                     (long long)sum, n, (long long)size);
  }
  const int64_t part = size / n + (size % n != 0);
  if (size % n != 0 && (ci_k_version(k) < 18 || part * (n - 1) > size)) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "an axis of %lld cannot be split into %d equal parts; give split",
                     (long long)size, n);
  }
  for (int i = 0; i < n; i++) sizes[i] = i < n - 1 ? part : size - part * (n - 1);
  return CI_OK;
}

ci_status ci_prepare_split(ci_kernel *k) {
  const ci_value *x = k->in[0];
  int64_t requested = 0, dims[CI_MAX_RANK], parts = k->n_out;
  int axis = 0;
  const size_t item = ci_dtype_size(x->dtype);
  CI_TRY(ci_k_attr_i(k, "axis", 0, &requested));
  CI_TRY(ci_k_axis(k, requested, x->rank, &axis));
  CI_TRY(ci_k_attr_i(k, "num_outputs", k->n_out, &parts));
  if (parts != k->n_out) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "num_outputs is %lld, the node has %d outputs", (long long)parts,
                     k->n_out);
  }
  struct array_lines *lines = ci_k_private(k, sizeof *lines + (size_t)k->n_out * sizeof(int64_t));
  if (lines == NULL) return ci_k_no_memory(k);
  int64_t *sizes = (int64_t *)(void *)(lines + 1);
  CI_TRY(array_split_sizes(k, x->dims[axis], sizes));
  memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
  for (int i = 0; i < k->n_out; i++) {
    dims[axis] = sizes[i];
    CI_TRY(ci_k_out(k, i, x->dtype, x->rank, dims));
  }
  lines->axis = axis;
  lines->outer = x->count == 0 ? 0 : (size_t)ci_shape_count(x->dims, 0, axis);
  lines->inner = x->count == 0 ? 0 : (size_t)ci_shape_count(x->dims, axis + 1, x->rank) * item;
  return CI_OK;
}

ci_status ci_run_split(ci_kernel *k) {
  const struct array_lines *lines = k->private_memory;
  const char *from = k->in[0]->data;
  if (lines->outer == 0) return CI_OK;
  const size_t line = lines->inner * (size_t)k->in[0]->dims[lines->axis];
  for (int i = 0; i < k->n_out; i++) {
    const size_t part = lines->inner * (size_t)k->out[i]->dims[lines->axis];
    char *to = k->out[i]->data;
    if (part > 0) k->isa->move->runs(to, (ptrdiff_t)part, from, (ptrdiff_t)line, (int64_t)lines->outer, part);
    from += part;
  }
  return CI_OK;
}
