/* array_make.c - operators that make a tensor: ConstantOfShape, Range, OneHot. */
#include <math.h>

#include "copy.h"
#include "../arithmetic/integers.h"
#include "../../math/scalar_math.h"

/* ---- ConstantOfShape ---- */

struct array_make_fill {
  ci_copy copy;
  const void *value;
};

ci_status ci_prepare_constant_of_shape(ci_kernel *k) {
  static const float zero = 0.0f;
  int64_t dims[CI_MAX_RANK];
  int rank = 0;
  ci_value value;
  CI_TRY(ci_k_known_ints(k, 0, dims, CI_MAX_RANK, &rank));
  CI_TRY(ci_k_attr_tensor(k, "value", &value));
  if (value.rank >= 0 && value.count != 1) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "attribute value has %lld elements, expected 1", (long long)value.count);
  }
  const int32_t dtype = value.rank < 0 ? CI_FLOAT : value.dtype;
  CI_TRY(ci_k_out(k, 0, dtype, rank, dims));
  struct array_make_fill *fill = ci_k_private(k, sizeof *fill);
  if (fill == NULL) return ci_k_no_memory(k);
  fill->value = value.rank < 0 ? (const void *)&zero : value.data;
  ci_copy_start(&fill->copy, k->isa, ci_dtype_size(dtype));
  ci_copy_axis(&fill->copy, k->out[0]->count, 0, 1);
  return CI_OK;
}

ci_status ci_run_constant_of_shape(ci_kernel *k) {
  const struct array_make_fill *fill = k->private_memory;
  ci_copy_result(k, &fill->copy, fill->value);
  return CI_OK;
}

/* ---- Range: start + i * delta, two roundings for floats ---- */

static int64_t array_make_steps(uint64_t distance, uint64_t step) { /* ceil(distance / step), capped */
  const uint64_t steps = distance / step + (distance % step != 0);
  return steps > INT64_MAX ? INT64_MAX : (int64_t)steps;
}

static int64_t array_make_int_count(int64_t start, int64_t limit, int64_t delta) {
  if (delta > 0 && limit > start) return array_make_steps((uint64_t)limit - (uint64_t)start, (uint64_t)delta);
  if (delta < 0 && limit < start) return array_make_steps((uint64_t)start - (uint64_t)limit, 0 - (uint64_t)delta);
  return 0;
}

ci_status ci_prepare_range(ci_kernel *k) {
  const ci_value *start = k->in[0];
  int64_t count = 0;
  for (int i = 0; i < 3; i++) {
    if (k->in[i]->count != 1 || k->in[i]->rank > 1 || k->in[i]->dtype != start->dtype) {
      char str[128];
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "input %d is %s, expected one %s like start", i,
                       ci_value_describe(k->in[i], str, sizeof str), ci_dtype_name(start->dtype));
    }
  }
  if (!ci_k_known(k, 0) || !ci_k_known(k, 1) || !ci_k_known(k, 2)) return CI_PENDING;
  if (start->dtype == CI_FLOAT || start->dtype == CI_DOUBLE) {
    double v[3];
    for (int i = 0; i < 3; i++) {
      v[i] = start->dtype == CI_FLOAT ? (double)*(const float *)k->in[i]->data : *(const double *)k->in[i]->data;
    }
    const double exact = ci_ceil((v[1] - v[0]) / v[2]);
    if (v[2] == 0.0 || !(exact < 9e15)) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "from %g to %g by %g has no end", v[0], v[1], v[2]);
    }
    count = exact > 0 ? (int64_t)exact : 0;
  } else if (ci_is_integer(start->dtype)) {
    int64_t v[3];
    for (int i = 0; i < 3; i++) v[i] = ci_read_integer(k->in[i], 0);
    if (v[2] == 0) return ci_k_fail(k, CI_INVALID_ARGUMENT, "delta is 0; it is positive or negative");
    if (start->dtype != CI_UINT64) {
      count = array_make_int_count(v[0], v[1], v[2]);
    } else if ((uint64_t)v[1] > (uint64_t)v[0]) {
      count = array_make_steps((uint64_t)v[1] - (uint64_t)v[0], (uint64_t)v[2]);
    }
  } else {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "ranges of %s", ci_dtype_name(start->dtype));
  }
  return ci_k_out(k, 0, start->dtype, 1, &count);
}

#define ARRAY_MAKE_RANGE(T, W)                                                                \
  {                                                                                           \
    const W start = (W) * (const T *)k->in[0]->data, delta = (W) * (const T *)k->in[2]->data; \
    T *y = k->out[0]->data;                                                                   \
    for (int64_t i = 0; i < n; i++) {                                                         \
      const W offset = (W)i * delta;                                                          \
      y[i] = (T)(start + offset);                                                             \
    }                                                                                         \
  }

ci_status ci_run_range(ci_kernel *k) {
  const int64_t n = k->out[0]->count;
  switch (k->out[0]->dtype) {
    case CI_FLOAT: ARRAY_MAKE_RANGE(float, float) break;
    case CI_DOUBLE: ARRAY_MAKE_RANGE(double, double) break;
    case CI_INT8:
    case CI_UINT8: ARRAY_MAKE_RANGE(uint8_t, uint64_t) break;
    case CI_INT16:
    case CI_UINT16: ARRAY_MAKE_RANGE(uint16_t, uint64_t) break;
    case CI_INT32:
    case CI_UINT32: ARRAY_MAKE_RANGE(uint32_t, uint64_t) break;
    default: ARRAY_MAKE_RANGE(uint64_t, uint64_t) break;
  }
  return CI_OK;
}

/* ---- OneHot: indices, depth, (off, on) -> the indices' shape with an axis of depth ---- */

struct array_make_one_hot {
  int64_t outer, inner, depth;
  size_t item;
  ci_copy fill;
};

ci_status ci_prepare_one_hot(ci_kernel *k) {
  const ci_value *indices = k->in[0], *depth_value = k->in[1], *values = k->in[2];
  int64_t requested = -1, depth = 0, dims[CI_MAX_RANK];
  int axis = 0;
  char str[128];
  CI_TRY(ci_k_attr_i(k, "axis", -1, &requested));
  const bool floating = indices->dtype == CI_FLOAT || indices->dtype == CI_DOUBLE;
  if (!floating && !ci_is_integer(indices->dtype)) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "indices are %s, expected numbers",
                     ci_value_describe(indices, str, sizeof str));
  }
  if (values->count != 2) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "values is %s, expected two elements: off and on",
                     ci_value_describe(values, str, sizeof str));
  }
  if (depth_value->count != 1) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "depth is %s, expected one number",
                     ci_value_describe(depth_value, str, sizeof str));
  }
  if (!ci_k_known(k, 1)) return CI_PENDING;
  if (ci_is_integer(depth_value->dtype)) {
    depth = ci_read_integer(depth_value, 0);
    if (depth >= (int64_t)9e15) depth = -1;
  } else if (depth_value->dtype == CI_FLOAT || depth_value->dtype == CI_DOUBLE) {
    const double number =
        depth_value->dtype == CI_FLOAT ? (double)*(const float *)depth_value->data : *(const double *)depth_value->data;
    depth = number > -1 && number < 9e15 ? (int64_t)number : -1;
  } else {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "depth is %s, expected a number",
                     ci_value_describe(depth_value, str, sizeof str));
  }
  if (depth < 0) return ci_k_fail(k, CI_INVALID_ARGUMENT, "depth is negative or not a number");
  if (indices->rank + 1 > CI_MAX_RANK) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "the result would have rank %d, at most %d is possible", indices->rank + 1,
                     CI_MAX_RANK);
  }
  CI_TRY(ci_k_axis(k, requested, indices->rank + 1, &axis));
  for (int i = 0; i <= indices->rank; i++) dims[i] = i == axis ? depth : indices->dims[i < axis ? i : i - 1];
  CI_TRY(ci_k_out(k, 0, values->dtype, indices->rank + 1, dims));
  struct array_make_one_hot *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  p->outer = ci_shape_count(indices->dims, 0, axis);
  p->inner = ci_shape_count(indices->dims, axis, indices->rank);
  p->depth = depth;
  p->item = ci_dtype_size(values->dtype);
  ci_copy_start(&p->fill, k->isa, p->item);
  ci_copy_axis(&p->fill, k->out[0]->count, 0, 1);
  return CI_OK;
}

/* The index at i, or -1 when it is outside -depth..depth-1: such a row is all off. */
static int64_t array_make_index(const ci_value *indices, int64_t i, int64_t depth) {
  int64_t index;
  if (indices->dtype == CI_FLOAT || indices->dtype == CI_DOUBLE) {
    const double x =
        indices->dtype == CI_FLOAT ? (double)((const float *)indices->data)[i] : ((const double *)indices->data)[i];
    if (!(x > -(double)depth - 1 && x < (double)depth)) return -1;
    index = (int64_t)x; /* the fraction is cut */
  } else {
    index = ci_read_integer(indices, i);
    if (index < (indices->dtype == CI_UINT64 ? 0 : -depth) || index >= depth) return -1;
  }
  return index < 0 ? index + depth : index;
}

ci_status ci_run_one_hot(ci_kernel *k) {
  const struct array_make_one_hot *p = k->private_memory;
  const char *values = k->in[2]->data;
  char *y = k->out[0]->data;
  if (k->out[0]->count == 0) return CI_OK;
  ci_copy_run(&p->fill, y, values);
  for (int64_t o = 0, i = 0; o < p->outer; o++) {
    for (int64_t n = 0; n < p->inner; n++, i++) {
      const int64_t index = array_make_index(k->in[0], i, p->depth);
      if (index < 0) continue;
      memcpy(y + (size_t)((o * p->depth + index) * p->inner + n) * p->item, values + p->item, p->item);
    }
  }
  return CI_OK;
}
