/* index.c - Gather, GatherND, GatherElements, ScatterElements, ScatterND, ScatterSum.
 *
 * Indices are checked where they are read: the message names the index, its position and the range.
 */
#include <stdio.h>

#include "../../session/session.h"
#include "../shape/copy.h"
#include "../arithmetic/integers.h"

static ci_status index_type(ci_kernel *k, const ci_value *indices) {
  char str[128];
  if (indices->dtype == CI_INT32 || indices->dtype == CI_INT64) return CI_OK;
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "indices are %s, expected int32 or int64",
                   ci_value_describe(indices, str, sizeof str));
}

/* Position i of indices as "[2, 0]". */
static const char *index_position(const ci_value *indices, int64_t i, char *str, size_t size) {
  int64_t at[CI_MAX_RANK];
  size_t used = 0;
  for (int axis = indices->rank - 1; axis >= 0; axis--) {
    at[axis] = i % indices->dims[axis];
    i /= indices->dims[axis];
  }
  str[0] = '\0';
  for (int axis = 0; axis < indices->rank && used < size; axis++) {
    const int wrote = snprintf(str + used, size - used, "%s%lld", axis == 0 ? "" : ", ", (long long)at[axis]);
    if (wrote < 0) break;
    used += (size_t)wrote;
  }
  return str;
}

static ci_status index_bad(ci_kernel *k, const ci_value *indices, int64_t i, int64_t index, int64_t low, int64_t size) {
  char position[160];
  if (size == 0) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "indices[%s] = %lld, but the axis that it selects from is empty",
                     index_position(indices, i, position, sizeof position), (long long)index);
  }
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "indices[%s] = %lld is outside %lld to %lld",
                   index_position(indices, i, position, sizeof position), (long long)index, (long long)low,
                   (long long)(size - 1));
}

ci_status ci_prepare_index_range(ci_kernel *k) {
  const ci_value *indices = k->in[0];
  int64_t *limit = ci_k_private(k, sizeof *limit);
  if (limit == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_k_attr_i(k, "limit", -1, limit));
  if (indices->dtype != CI_INT32 && indices->dtype != CI_INT64) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "indices are %s, expected int32 or int64", ci_dtype_name(indices->dtype));
  }
  CI_TRY(ci_k_out_like(k, 0, indices->dtype, indices));
  ci_k_alias(k, 0, 0);
  return CI_OK;
}

ci_status ci_run_index_range(ci_kernel *k) {
  const ci_value *indices = k->in[0];
  const int64_t limit = *(const int64_t *)k->private_memory;
  const bool narrow = indices->dtype == CI_INT32;
  char position[160];
  for (int64_t i = 0; i < indices->count; i++) {
    const int64_t index = narrow ? ((const int32_t *)indices->data)[i] : ((const int64_t *)indices->data)[i];
    if (index >= 0 && (limit < 0 || index < limit)) continue;
    index_position(indices, i, position, sizeof position);
    if (limit < 0)
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "indices[%s] = %lld is negative", position, (long long)index);
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "indices[%s] = %lld is not in [0, %lld)", position, (long long)index,
                     (long long)limit);
  }
  return CI_OK;
}

/* Reads position i, -size..size-1, as 0..size-1. */
#define INDEX_READ(k, indices, i, size, index)                                                                        \
  do {                                                                                                                \
    (index) =                                                                                                         \
        (indices)->dtype == CI_INT64 ? ((const int64_t *)(indices)->data)[i] : ((const int32_t *)(indices)->data)[i]; \
    if ((index) < -(size) || (index) >= (size)) return index_bad(k, indices, i, index, -(size), size);                \
    if ((index) < 0) (index) += (size);                                                                               \
  } while (0)

/* ---- Gather: data (outer, axis, inner), indices -> (outer, indices, inner) ---- */

struct index_gather {
  int64_t outer, size;
  size_t inner; /* bytes */
};

ci_status ci_prepare_gather(ci_kernel *k) {
  const ci_value *data = k->in[0], *indices = k->in[1];
  int64_t requested = 0, dims[CI_MAX_RANK];
  int axis = 0, rank = 0;
  const size_t item = ci_dtype_size(data->dtype);
  CI_TRY(index_type(k, indices));
  CI_TRY(ci_k_attr_i(k, "axis", 0, &requested));
  CI_TRY(ci_k_axis(k, requested, data->rank, &axis));
  if (data->rank - 1 + indices->rank > CI_MAX_RANK) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "the result would have rank %d, at most %d is possible",
                     data->rank - 1 + indices->rank, CI_MAX_RANK);
  }
  for (int i = 0; i < axis; i++) dims[rank++] = data->dims[i];
  for (int i = 0; i < indices->rank; i++) dims[rank++] = indices->dims[i];
  for (int i = axis + 1; i < data->rank; i++) dims[rank++] = data->dims[i];
  CI_TRY(ci_k_out(k, 0, data->dtype, rank, dims));
  struct index_gather *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  p->size = data->dims[axis];
  p->outer = 1;
  if (k->out[0]->count > 0) {
    p->outer = ci_shape_count(data->dims, 0, axis);
    p->inner = (size_t)ci_shape_count(data->dims, axis + 1, data->rank) * item;
  }
  return CI_OK;
}

ci_status ci_run_gather(ci_kernel *k) {
  const struct index_gather *p = k->private_memory;
  const ci_value *indices = k->in[1];
  const char *from = k->in[0]->data;
  char *to = k->out[0]->data;
  for (int64_t o = 0; o < p->outer; o++, from += (size_t)p->size * p->inner) {
    for (int64_t i = 0; i < indices->count; i++, to += p->inner) {
      int64_t index;
      INDEX_READ(k, indices, i, p->size, index);
      if (p->inner == sizeof(float)) {
        memcpy(to, from + (size_t)index * sizeof(float), sizeof(float));
      } else if (p->inner > 0) {
        memcpy(to, from + (size_t)index * p->inner, p->inner);
      }
    }
  }
  return CI_OK;
}

/* ---- GatherND, ScatterND: the last axis of indices is a coordinate ---- */

struct index_nd {
  int64_t batches, rows;     /* coordinates of a batch */
  int width;                 /* numbers of a coordinate */
  int first;                 /* axis of data of the first */
  int64_t step[CI_MAX_RANK]; /* slices from one index of an axis to the next */
  int64_t batch_slices;
  int64_t slice; /* elements */
  size_t item;
  int reduction;
};

static ci_status index_nd_prepare(ci_kernel *k, int batch_dims, struct index_nd **plan) {
  const ci_value *data = k->in[0], *indices = k->in[1];
  const size_t item = ci_dtype_size(data->dtype);
  char str[128];
  CI_TRY(index_type(k, indices));
  if (indices->rank < 1 || batch_dims < 0 || batch_dims >= indices->rank || batch_dims > data->rank) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "indices is %s, expected rank %d or more",
                     ci_value_describe(indices, str, sizeof str), batch_dims + 1);
  }
  const int64_t width = indices->dims[indices->rank - 1];
  if (width > data->rank - batch_dims) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "a coordinate has %lld numbers, data has %d axes after %d batch axes",
                     (long long)width, data->rank - batch_dims, batch_dims);
  }
  for (int i = 0; i < batch_dims; i++) {
    if (data->dims[i] != indices->dims[i]) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "batch axis %d is %lld in data and %lld in indices", i,
                       (long long)data->dims[i], (long long)indices->dims[i]);
    }
  }
  struct index_nd *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  p->batches = ci_shape_count(indices->dims, 0, batch_dims);
  p->rows = ci_shape_count(indices->dims, batch_dims, indices->rank - 1);
  p->width = (int)width;
  p->first = batch_dims;
  p->item = item;
  int64_t slices = 1;
  for (int i = p->width - 1; i >= 0 && data->count > 0; i--) {
    p->step[i] = slices;
    slices *= data->dims[batch_dims + i];
  }
  p->batch_slices = slices;
  p->slice = data->count > 0 ? ci_shape_count(data->dims, batch_dims + p->width, data->rank) : 0;
  *plan = p;
  return CI_OK;
}

/* The slice that coordinate `row` (of all batches) names. */
static ci_status index_nd_slice(ci_kernel *k, const struct index_nd *p, int64_t row, int64_t *slice) {
  const ci_value *data = k->in[0], *indices = k->in[1];
  int64_t sum = 0;
  for (int i = 0; i < p->width; i++) {
    int64_t index;
    INDEX_READ(k, indices, row * p->width + i, data->dims[p->first + i], index);
    sum += index * p->step[i];
  }
  *slice = sum;
  return CI_OK;
}

ci_status ci_prepare_gather_nd(ci_kernel *k) {
  const ci_value *data = k->in[0], *indices = k->in[1];
  int64_t batch_dims = 0, dims[CI_MAX_RANK];
  int rank = 0;
  struct index_nd *p;
  CI_TRY(ci_k_attr_i(k, "batch_dims", 0, &batch_dims));
  if (batch_dims < 0 || batch_dims > CI_MAX_RANK) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "batch_dims is %lld", (long long)batch_dims);
  }
  CI_TRY(index_nd_prepare(k, (int)batch_dims, &p));
  const int rest = p->first + p->width;
  if (indices->rank - 1 + data->rank - rest > CI_MAX_RANK) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "the result would have rank %d, at most %d is possible",
                     indices->rank - 1 + data->rank - rest, CI_MAX_RANK);
  }
  for (int i = 0; i < indices->rank - 1; i++) dims[rank++] = indices->dims[i];
  for (int i = rest; i < data->rank; i++) dims[rank++] = data->dims[i];
  return ci_k_out(k, 0, data->dtype, rank, dims);
}

ci_status ci_run_gather_nd(ci_kernel *k) {
  const struct index_nd *p = k->private_memory;
  const size_t bytes = (size_t)p->slice * p->item;
  const char *from = k->in[0]->data;
  char *to = k->out[0]->data;
  if (k->in[1]->count == 0 && k->out[0]->count == 0) return CI_OK; /* however many batches of no rows there are */
  for (int64_t batch = 0, row = 0; batch < p->batches; batch++, from += (size_t)p->batch_slices * bytes) {
    for (int64_t i = 0; i < p->rows; i++, row++, to += bytes) {
      int64_t slice;
      CI_TRY(index_nd_slice(k, p, row, &slice));
      if (bytes > 0) ci_copy_bytes(to, from + (size_t)slice * bytes, bytes);
    }
  }
  return CI_OK;
}

/* ---- reductions of the scatters: y = y op x, n elements ---- */

enum { INDEX_NONE, INDEX_ADD, INDEX_MUL, INDEX_MAX, INDEX_MIN };

#define INDEX_ADDED(a, b) ((a) + (b))
#define INDEX_MULTIPLIED(a, b) ((a) * (b))
/* NaN wins; + 0 makes a zero positive, as everywhere for max and min. */
#define INDEX_LARGER(a, b) (((b) > (a) || (b) != (b) ? (b) : (a)) + 0)
#define INDEX_SMALLER(a, b) (((b) < (a) || (b) != (b) ? (b) : (a)) + 0)
#define INDEX_LOOP(T, W, f)                                            \
  for (int64_t i = 0; i < n; i++) {                                    \
    ((T *)y)[i] = (T)(W)f((W)((const T *)y)[i], (W)((const T *)x)[i]); \
  }                                                                    \
  break;
#define INDEX_REDUCE(name, T, W, CMP)                                                 \
  static void index_reduce_##name(void *y, const void *x, int64_t n, int reduction) { \
    switch (reduction) {                                                              \
      case INDEX_ADD: INDEX_LOOP(T, W, INDEX_ADDED)                                   \
      case INDEX_MUL: INDEX_LOOP(T, W, INDEX_MULTIPLIED)                              \
      case INDEX_MAX: INDEX_LOOP(T, CMP, INDEX_LARGER)                                \
      default: INDEX_LOOP(T, CMP, INDEX_SMALLER)                                      \
    }                                                                                 \
  }
INDEX_REDUCE(float, float, float, float)
INDEX_REDUCE(double, double, double, double)
INDEX_REDUCE(int8, int8_t, uint64_t, int8_t)
INDEX_REDUCE(int16, int16_t, uint64_t, int16_t)
INDEX_REDUCE(int32, int32_t, uint64_t, int32_t)
INDEX_REDUCE(int64, int64_t, uint64_t, int64_t)
INDEX_REDUCE(uint8, uint8_t, uint64_t, uint8_t)
INDEX_REDUCE(uint16, uint16_t, uint64_t, uint16_t)
INDEX_REDUCE(uint32, uint32_t, uint64_t, uint32_t)
INDEX_REDUCE(uint64, uint64_t, uint64_t, uint64_t)

static void index_reduce_bool(void *y, const void *x, int64_t n, int reduction) {
  const bool either = reduction == INDEX_ADD || reduction == INDEX_MAX, *from = x;
  bool *to = y;
  for (int64_t i = 0; i < n; i++) to[i] = either ? to[i] || from[i] : to[i] && from[i];
}

/* Pairs of a real and an imaginary part; complex numbers have no largest. */
#define INDEX_COMPLEX(name, T)                                                                 \
  static void index_reduce_##name(void *y, const void *x, int64_t n, int reduction) {          \
    T *to = y;                                                                                 \
    const T *from = x;                                                                         \
    for (int64_t i = 0; i < 2 * n; i += 2) {                                                   \
      const T re = to[i], im = to[i + 1];                                                      \
      to[i] = reduction == INDEX_ADD ? re + from[i] : re * from[i] - im * from[i + 1];         \
      to[i + 1] = reduction == INDEX_ADD ? im + from[i + 1] : re * from[i + 1] + im * from[i]; \
    }                                                                                          \
  }
INDEX_COMPLEX(complex64, float)
INDEX_COMPLEX(complex128, double)

typedef void (*index_reduce_fn)(void *y, const void *x, int64_t n, int reduction);

static index_reduce_fn index_reduction(int32_t dtype) {
  switch (dtype) {
    case CI_FLOAT: return index_reduce_float;
    case CI_DOUBLE: return index_reduce_double;
    case CI_INT8: return index_reduce_int8;
    case CI_INT16: return index_reduce_int16;
    case CI_INT32: return index_reduce_int32;
    case CI_INT64: return index_reduce_int64;
    case CI_UINT8: return index_reduce_uint8;
    case CI_UINT16: return index_reduce_uint16;
    case CI_UINT32: return index_reduce_uint32;
    case CI_UINT64: return index_reduce_uint64;
    case CI_BOOL: return index_reduce_bool;
    case CI_COMPLEX64: return index_reduce_complex64;
    case CI_COMPLEX128: return index_reduce_complex128;
    default: return NULL;
  }
}

static ci_status index_reduction_attr(ci_kernel *k, int32_t dtype, int *reduction) {
  static const char *const names[] = {"none", "add", "mul", "max", "min"};
  ci_span str;
  CI_TRY(ci_k_attr_s(k, "reduction", "none", &str));
  for (int i = 0; i < 5; i++) {
    if (!ci_span_is(str, names[i])) continue;
    const bool paired = dtype == CI_COMPLEX64 || dtype == CI_COMPLEX128;
    if ((i != INDEX_NONE && index_reduction(dtype) == NULL && (dtype != CI_STRING || i != INDEX_ADD)) ||
        (i > INDEX_MUL && paired)) {
      return ci_k_fail(k, CI_UNIMPLEMENTED, "reduction %s of %s", names[i], ci_dtype_name(dtype));
    }
    *reduction = i;
    return CI_OK;
  }
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "reduction is '%.*s', expected none, add, mul, max or min",
                   (int)(str.length < 32 ? str.length : 32), str.data);
}

/* A sum of strings of which at most one is not empty: no new string is made that a later run would miss. */
static ci_status index_join(ci_kernel *k, ci_string *y, const ci_string *x, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    if (y[i].length == 0) y[i] = x[i];
    else if (x[i].length > 0) return ci_k_fail(k, CI_UNIMPLEMENTED, "reduction add of two strings at one index");
  }
  return CI_OK;
}

/* The update x of n elements at y; several updates of one index happen in ascending order. */
static ci_status index_update(ci_kernel *k, char *y, const char *x, int64_t n, size_t item, int reduction) {
  const int32_t dtype = k->in[0]->dtype;
  if (reduction == INDEX_NONE) {
    ci_copy_bytes(y, x, (size_t)n * item);
    return CI_OK;
  }
  if (dtype == CI_STRING) return index_join(k, (ci_string *)(void *)y, (const ci_string *)(const void *)x, n);
  index_reduction(dtype)(y, x, n, reduction);
  return CI_OK;
}

/* Sums of strings: their lengths first, then one block for those that get more. Scratch: by how much each string
 * grows. */
static ci_status index_join_rows(ci_kernel *k, const struct index_nd *p) {
  ci_string *y = k->out[0]->data;
  const ci_string *x = k->in[2]->data;
  size_t *more = k->scratch, bytes = 0;
  int64_t slice;
  if (k->ahead) return CI_PENDING;
  memset(more, 0, (size_t)k->out[0]->count * sizeof *more);
  for (int64_t row = 0; row < p->rows; row++) {
    CI_TRY(index_nd_slice(k, p, row, &slice));
    for (int64_t i = 0; i < p->slice; i++) {
      const size_t length = x[row * p->slice + i].length;
      if (!ci_add_size(bytes, length, &bytes)) return ci_k_no_memory(k);
      more[slice * p->slice + i] += length;
    }
  }
  for (int64_t i = 0; i < k->out[0]->count; i++) {
    if (more[i] > 0 && !ci_add_size(bytes, y[i].length, &bytes)) return ci_k_no_memory(k);
  }
  if (bytes == 0) return CI_OK;
  if (bytes > k->node->plan->session->limits.max_memory) return ci_k_no_memory(k);
  char *str = ci_session_keep(k->node->plan->session, bytes);
  if (str == NULL) return ci_k_no_memory(k);
  for (int64_t i = 0; i < k->out[0]->count; i++) {
    if (more[i] == 0) continue;
    if (y[i].length > 0) memcpy(str, y[i].data, y[i].length);
    y[i].data = str;
    str += y[i].length + more[i];
  }
  for (int64_t row = 0; row < p->rows; row++) {
    CI_TRY(index_nd_slice(k, p, row, &slice));
    for (int64_t i = 0; i < p->slice; i++, x++) {
      ci_string *to = &y[slice * p->slice + i];
      if (x->length == 0) continue;
      memcpy((char *)to->data + to->length, x->data, x->length);
      to->length += x->length;
    }
  }
  return CI_OK;
}

ci_status ci_prepare_scatter_nd(ci_kernel *k) {
  const ci_value *data = k->in[0], *indices = k->in[1], *updates = k->in[2];
  int reduction = 0, rank = 0;
  struct index_nd *p;
  char str[128];
  CI_TRY(index_reduction_attr(k, data->dtype, &reduction));
  CI_TRY(index_nd_prepare(k, 0, &p));
  bool same = updates->dtype == data->dtype && updates->rank == indices->rank - 1 + data->rank - p->width;
  for (int i = 0; same && i < indices->rank - 1; i++, rank++) same = updates->dims[rank] == indices->dims[i];
  for (int i = p->width; same && i < data->rank; i++, rank++) same = updates->dims[rank] == data->dims[i];
  if (!same) {
    return ci_k_fail(
        k, CI_INVALID_ARGUMENT,
        "updates is %s, expected %s and the indices' shape without its last axis, then data's axes from %d on",
        ci_value_describe(updates, str, sizeof str), ci_dtype_name(data->dtype), p->width);
  }
  p->reduction = reduction;
  CI_TRY(ci_k_out_like(k, 0, data->dtype, data));
  if (data->dtype == CI_STRING && reduction == INDEX_ADD) k->scratch_bytes = (size_t)data->count * sizeof(size_t);
  ci_k_in_place_alone(k, 0, 0);
  return CI_OK;
}

ci_status ci_run_scatter_nd(ci_kernel *k) {
  const struct index_nd *p = k->private_memory;
  const size_t bytes = (size_t)p->slice * p->item;
  const char *x = k->in[2]->data;
  char *y = k->out[0]->data;
  if (y != k->in[0]->data && k->out[0]->bytes > 0) memcpy(y, k->in[0]->data, k->out[0]->bytes);
  if (k->in[1]->count == 0 && k->in[2]->count == 0) return CI_OK; /* however many rows there are */
  if (k->in[0]->dtype == CI_STRING && p->reduction == INDEX_ADD) return index_join_rows(k, p);
  for (int64_t row = 0; row < p->rows; row++, x += bytes) {
    int64_t slice;
    CI_TRY(index_nd_slice(k, p, row, &slice));
    if (bytes > 0) CI_TRY(index_update(k, y + (size_t)slice * bytes, x, p->slice, p->item, p->reduction));
  }
  return CI_OK;
}

/* ---- GatherElements, ScatterElements: indices are of data's rank, only one axis is replaced ---- */

struct index_elements {
  int axis, reduction;
  size_t item;
  ptrdiff_t step[CI_MAX_RANK]; /* strides of data in elements; that of the axis is in `along` */
  ptrdiff_t along;
};

static ci_status index_elements_prepare(ci_kernel *k, struct index_elements **plan) {
  const ci_value *data = k->in[0], *indices = k->in[1];
  int64_t requested = 0;
  int axis = 0;
  const size_t item = ci_dtype_size(data->dtype);
  char left[128], right[128];
  CI_TRY(index_type(k, indices));
  CI_TRY(ci_k_attr_i(k, "axis", 0, &requested));
  CI_TRY(ci_k_axis(k, requested, data->rank, &axis));
  bool fits = indices->rank == data->rank;
  for (int i = 0; fits && i < data->rank; i++) fits = i == axis || indices->dims[i] <= data->dims[i];
  if (!fits) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT,
                     "indices is %s and data %s: the ranks must be equal and no axis but %d larger",
                     ci_value_describe(indices, left, sizeof left), ci_value_describe(data, right, sizeof right), axis);
  }
  struct index_elements *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  p->axis = axis;
  p->item = item;
  if (data->count > 0) ci_copy_strides(data->dims, data->rank, p->step);
  p->along = p->step[axis];
  p->step[axis] = 0;
  *plan = p;
  return CI_OK;
}

/* Moves `at` to the next element of indices and keeps the offset into data without the replaced axis. */
static void index_elements_next(const struct index_elements *p, const ci_value *indices, int64_t *at,
                                ptrdiff_t *offset) {
  for (int axis = indices->rank - 1; axis >= 0; axis--) {
    *offset += p->step[axis];
    if (++at[axis] < indices->dims[axis]) return;
    *offset -= p->step[axis] * (ptrdiff_t)at[axis];
    at[axis] = 0;
  }
}

ci_status ci_prepare_gather_elements(ci_kernel *k) {
  struct index_elements *p;
  CI_TRY(index_elements_prepare(k, &p));
  return ci_k_out_like(k, 0, k->in[0]->dtype, k->in[1]);
}

/* One line of the last axis, whose step in data is `step`; gives how many indices were good. */
#define INDEX_POSITION(i) ((uint64_t)(indices[i] + (size & ((int64_t)indices[i] >> 63))))
#define INDEX_GATHER_LINE(I, T)                                                                   \
  {                                                                                               \
    const I *indices = at;                                                                        \
    const T *x = from;                                                                            \
    T *y = to;                                                                                    \
    for (; dense && i + 4 <= n; i += 4) {                                                         \
      const uint64_t a = INDEX_POSITION(i), b = INDEX_POSITION(i + 1), c = INDEX_POSITION(i + 2), \
                     d = INDEX_POSITION(i + 3);                                                   \
      if ((a >= most) | (b >= most) | (c >= most) | (d >= most)) break;                           \
      const T first = x[a], second = x[b], third = x[c], fourth = x[d];                           \
      y[i] = first, y[i + 1] = second, y[i + 2] = third, y[i + 3] = fourth;                       \
    }                                                                                             \
    for (; i < n; i++) {                                                                          \
      const uint64_t position = INDEX_POSITION(i);                                                \
      if (position >= most) break;                                                                \
      y[i] = x[(int64_t)position * along + i * step];                                             \
    }                                                                                             \
    return i;                                                                                     \
  }
#define INDEX_GATHER_TYPES(T)               \
  if (narrow) INDEX_GATHER_LINE(int32_t, T) \
  else INDEX_GATHER_LINE(int64_t, T)
CI_FAST static int64_t index_gather_line(void *to, const void *from, const void *at, bool narrow, int64_t n,
                                         int64_t size, ptrdiff_t along, ptrdiff_t step, size_t item) {
  const uint64_t most = (uint64_t)size;
  const bool dense = along == 1 && step == 0;
  int64_t i = 0;
  switch (item) {
    case 1: INDEX_GATHER_TYPES(uint8_t)
    case 2: INDEX_GATHER_TYPES(uint16_t)
    case 4: INDEX_GATHER_TYPES(uint32_t)
    case 8: INDEX_GATHER_TYPES(uint64_t)
    default: INDEX_GATHER_TYPES(ci_two_words)
  }
}

ci_status ci_run_gather_elements(ci_kernel *k) {
  const struct index_elements *p = k->private_memory;
  const ci_value *data = k->in[0], *indices = k->in[1];
  const bool narrow = indices->dtype == CI_INT32;
  const size_t width = narrow ? sizeof(int32_t) : sizeof(int64_t);
  const int last = indices->rank - 1;
  const int64_t n = indices->dims[last];
  int64_t at[CI_MAX_RANK] = {0};
  ptrdiff_t offset = 0;
  for (int64_t line = 0; line < indices->count; line += n) {
    const int64_t good = index_gather_line((char *)k->out[0]->data + (size_t)line * p->item,
                                           (const char *)data->data + offset * (ptrdiff_t)p->item,
                                           (const char *)indices->data + (size_t)line * width, narrow, n,
                                           data->dims[p->axis], p->along, p->step[last], p->item);
    int64_t index;
    if (good < n) INDEX_READ(k, indices, line + good, data->dims[p->axis], index);
    for (int axis = last - 1; axis >= 0; axis--) {
      offset += p->step[axis];
      if (++at[axis] < indices->dims[axis]) break;
      offset -= p->step[axis] * (ptrdiff_t)at[axis];
      at[axis] = 0;
    }
  }
  return CI_OK;
}

ci_status ci_prepare_scatter_elements(ci_kernel *k) {
  const ci_value *data = k->in[0], *indices = k->in[1], *updates = k->in[2];
  struct index_elements *p;
  int reduction = 0;
  CI_TRY(index_reduction_attr(k, data->dtype, &reduction));
  CI_TRY(index_elements_prepare(k, &p));
  p->reduction = reduction;
  const bool same = ci_shape_same(updates->rank, updates->dims, indices->rank, indices->dims);
  if (updates->dtype != data->dtype || !same) {
    char left[128], right[128];
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "updates is %s, expected %s and the shape of indices, %s",
                     ci_value_describe(updates, left, sizeof left), ci_dtype_name(data->dtype),
                     ci_value_describe(indices, right, sizeof right));
  }
  CI_TRY(ci_k_out_like(k, 0, data->dtype, data));
  ci_k_in_place_alone(k, 0, 0);
  return CI_OK;
}

ci_status ci_run_scatter_elements(ci_kernel *k) {
  const struct index_elements *p = k->private_memory;
  const ci_value *indices = k->in[1];
  const char *x = k->in[2]->data;
  char *y = k->out[0]->data;
  int64_t at[CI_MAX_RANK] = {0};
  ptrdiff_t offset = 0;
  if (y != k->in[0]->data && k->out[0]->bytes > 0) memcpy(y, k->in[0]->data, k->out[0]->bytes);
  for (int64_t i = 0; i < indices->count; i++, x += p->item) {
    int64_t index;
    INDEX_READ(k, indices, i, k->in[0]->dims[p->axis], index);
    char *to = y + (offset + (ptrdiff_t)index * p->along) * (ptrdiff_t)p->item;
    CI_TRY(index_update(k, to, x, 1, p->item, p->reduction));
    index_elements_next(p, indices, at, &offset);
  }
  return CI_OK;
}

/* ---- ScatterSum: y (rows, rest) with y[indices[i]] += values[i], i ascending from +0 ---- */

struct index_sum {
  int64_t rows, slice;
  size_t item;
};

ci_status ci_prepare_scatter_sum(ci_kernel *k) {
  const ci_value *indices = k->in[0], *values = k->in[1];
  int64_t dims[CI_MAX_RANK], rows = 0;
  int count = 0, rank = 1;
  char left[128], right[128];
  CI_TRY(index_type(k, indices));
  if (index_reduction(values->dtype) == NULL) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "values is %s, expected numbers",
                     ci_value_describe(values, left, sizeof left));
  }
  bool fits = values->rank >= indices->rank;
  for (int i = 0; fits && i < indices->rank; i++) fits = values->dims[i] == indices->dims[i];
  if (!fits || values->rank - indices->rank + 1 > CI_MAX_RANK) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "values is %s, its shape must begin with that of indices, %s",
                     ci_value_describe(values, left, sizeof left), ci_value_describe(indices, right, sizeof right));
  }
  CI_TRY(ci_k_known_ints(k, 2, &rows, 1, &count));
  if (count != 1 || rows < 0) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "rows is %lld, expected one number, 0 or more", (long long)rows);
  }
  dims[0] = rows;
  for (int i = indices->rank; i < values->rank; i++) dims[rank++] = values->dims[i];
  CI_TRY(ci_k_out(k, 0, values->dtype, rank, dims));
  struct index_sum *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  p->rows = rows;
  p->slice = k->out[0]->count > 0 ? ci_shape_count(values->dims, indices->rank, values->rank) : 0;
  p->item = ci_dtype_size(values->dtype);
  return CI_OK;
}

ci_status ci_run_scatter_sum(ci_kernel *k) {
  const struct index_sum *p = k->private_memory;
  const ci_value *indices = k->in[0];
  const index_reduce_fn reduce = index_reduction(k->in[1]->dtype);
  const size_t bytes = (size_t)p->slice * p->item;
  const char *x = k->in[1]->data;
  char *y = k->out[0]->data;
  if (k->out[0]->bytes > 0) memset(y, 0, k->out[0]->bytes);
  for (int64_t i = 0; i < indices->count; i++, x += bytes) {
    const int64_t index =
        indices->dtype == CI_INT64 ? ((const int64_t *)indices->data)[i] : ((const int32_t *)indices->data)[i];
    if (index < 0 || index >= p->rows) return index_bad(k, indices, i, index, 0, p->rows);
    if (bytes > 0) reduce(y + (size_t)index * bytes, x, p->slice, INDEX_ADD);
  }
  return CI_OK;
}
