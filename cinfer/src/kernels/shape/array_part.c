/* array_part.c - Slice (starts, ends, axes, steps) and Pad (constant, reflect, edge, wrap; negative pads crop). */
#include "copy.h"

#include "../../simd/isa.h"
#include "../../simd/math/isa_move.h"

struct array_part_move { /* the part of the input that is copied, and where it goes; elements */
  ci_copy copy;
  ptrdiff_t from, to;
};

static void array_part_run(const struct array_part_move *move, void *to, const void *from) {
  const ptrdiff_t item = (ptrdiff_t)move->copy.item;
  ci_copy_run(&move->copy, (char *)to + move->to * item, (const char *)from + move->from * item);
}

/* ---- Slice ---- */

/* numpy's rule: both ends are clamped to the axis. Returns the number of elements. */
static int64_t array_part_clamp(int64_t size, int64_t *start, int64_t end, int64_t step) {
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  if (*start < 0) *start += size;
  if (end < 0) end += size;
  *start = *start < low ? low : *start > high ? high : *start;
  end = end < low ? low : end > high ? high : end;
  if (step > 0) return end > *start ? (end - *start - 1) / step + 1 : 0;
  if (step == INT64_MIN) step = -INT64_MAX;
  return *start > end ? (*start - end - 1) / -step + 1 : 0;
}

static ci_status array_part_list(ci_kernel *k, int input, const char *name, int expected, int64_t *values, int *count) {
  if (k->n_in <= input || k->in[input] == NULL) {
    *count = -1;
    return CI_OK;
  }
  CI_TRY(ci_k_known_ints(k, input, values, CI_MAX_RANK, count));
  if (expected < 0 || *count == expected) return CI_OK;
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "%s has %d numbers, starts has %d", name, *count, expected);
}

ci_status ci_prepare_slice(ci_kernel *k) {
  const ci_value *x = k->in[0];
  int64_t starts[CI_MAX_RANK], ends[CI_MAX_RANK], axes[CI_MAX_RANK], steps[CI_MAX_RANK], dims[CI_MAX_RANK];
  int64_t first[CI_MAX_RANK] = {0}, by[CI_MAX_RANK];
  bool used[CI_MAX_RANK] = {false};
  int count = 0, other = 0, axes_count = -1, steps_count = -1;
  const size_t item = ci_dtype_size(x->dtype);
  CI_TRY(array_part_list(k, 1, "starts", -1, starts, &count));
  CI_TRY(array_part_list(k, 2, "ends", count, ends, &other));
  CI_TRY(array_part_list(k, 3, "axes", count, axes, &axes_count));
  CI_TRY(array_part_list(k, 4, "steps", count, steps, &steps_count));
  for (int i = 0; i < x->rank; i++) {
    dims[i] = x->dims[i];
    by[i] = 1;
  }
  for (int i = 0; i < count; i++) {
    int axis = 0;
    const int64_t step = steps_count < 0 ? 1 : steps[i];
    CI_TRY(ci_k_axis(k, axes_count < 0 ? i : axes[i], x->rank, &axis));
    if (step == 0) return ci_k_fail(k, CI_INVALID_ARGUMENT, "steps[%d] is 0; a step is positive or negative", i);
    if (used[axis]) return ci_k_fail(k, CI_INVALID_ARGUMENT, "axis %d is given twice", axis);
    used[axis] = true;
    first[axis] = starts[i];
    dims[axis] = array_part_clamp(x->dims[axis], &first[axis], ends[i], step);
    by[axis] = dims[axis] > 1 ? step : 1;
  }
  CI_TRY(ci_k_out(k, 0, x->dtype, x->rank, dims));
  struct array_part_move *move = ci_k_private(k, sizeof *move);
  if (move == NULL) return ci_k_no_memory(k);
  if (k->out[0]->count == 0) return CI_OK;
  ptrdiff_t in[CI_MAX_RANK], out[CI_MAX_RANK];
  ci_copy_strides(x->dims, x->rank, in);
  ci_copy_strides(dims, x->rank, out);
  ci_copy_start(&move->copy, k->isa, item);
  for (int i = 0; i < x->rank; i++) {
    move->from += in[i] * (ptrdiff_t)first[i];
    ci_copy_axis(&move->copy, dims[i], in[i] * (ptrdiff_t)by[i], out[i]);
  }
  return CI_OK;
}

ci_status ci_run_slice(ci_kernel *k) {
  const struct array_part_move *move = k->private_memory;
  if (k->out[0]->count == 0) return CI_OK;
  ci_copy_result(k, &move->copy, (const char *)k->in[0]->data + move->from * (ptrdiff_t)move->copy.item);
  return CI_OK;
}

/* ---- Pad ---- */

enum array_part_mode { ARRAY_CONSTANT, ARRAY_REFLECT, ARRAY_EDGE, ARRAY_WRAP };
#define ARRAY_PART_MOST ((int64_t)1 << 40)
enum { ARRAY_PART_GRAIN = 1 << 14 }; /* elements that are worth a thread */

struct array_part_pad {
  struct array_part_move inner; /* constant: the part of the input that is kept */
  ci_copy fill;                 /* constant: the entire output, one value */
  bool keeps;
  enum array_part_mode mode;
  int64_t first, run; /* other modes: the indices of the last axis that are copied unchanged */
  ptrdiff_t *source[CI_MAX_RANK]; /* other modes: for each index of an axis of the output, the input's bytes */
};

static ci_status array_part_mode_of(ci_kernel *k, enum array_part_mode *mode) {
  static const char *const names[] = {"constant", "reflect", "edge", "wrap"};
  ci_span str;
  CI_TRY(ci_k_attr_s(k, "mode", "constant", &str));
  for (int i = 0; i < 4; i++) {
    if (ci_span_is(str, names[i])) {
      *mode = (enum array_part_mode)i;
      return CI_OK;
    }
  }
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "mode is '%.*s', expected constant, reflect, edge or wrap",
                   (int)(str.length < 32 ? str.length : 32), str.data);
}

/* before[axis] and after[axis] from the input pads, which covers `axes` (all by default). */
static ci_status array_part_pads(ci_kernel *k, int64_t *before, int64_t *after) {
  const int rank = k->in[0]->rank;
  int64_t pads[2 * CI_MAX_RANK], axes[CI_MAX_RANK];
  bool used[CI_MAX_RANK] = {false};
  int count = 0, given = -1;
  CI_TRY(ci_k_known_ints(k, 1, pads, 2 * CI_MAX_RANK, &count));
  if (k->n_in > 3 && k->in[3] != NULL) CI_TRY(ci_k_known_ints(k, 3, axes, CI_MAX_RANK, &given));
  const int half = given < 0 ? rank : given;
  if (count != 2 * half) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT,
                     "pads has %d numbers, expected %d: one before and one after for each of %d axes", count, 2 * half,
                     half);
  }
  for (int i = 0; i < half; i++) {
    int axis = i;
    if (given >= 0) CI_TRY(ci_k_axis(k, axes[i], rank, &axis));
    if (used[axis]) return ci_k_fail(k, CI_INVALID_ARGUMENT, "axis %d is given twice", axis);
    used[axis] = true;
    for (int side = 0; side < 2; side++) {
      const int64_t pad = pads[i + side * half];
      if (pad < -ARRAY_PART_MOST || pad > ARRAY_PART_MOST) {
        return ci_k_fail(k, CI_INVALID_ARGUMENT, "pads[%d] is %lld, expected -2^40 to 2^40", i + side * half,
                         (long long)pad);
      }
      (side == 0 ? before : after)[axis] = pad;
    }
  }
  return CI_OK;
}

/* The source of index i (counted from the first that is left of the input) of a padded axis. */
static int64_t array_part_source(enum array_part_mode mode, int64_t i, int64_t size) {
  if (mode == ARRAY_EDGE) return i < 0 ? 0 : i >= size ? size - 1 : i;
  const int64_t period = mode == ARRAY_WRAP ? size : size > 1 ? 2 * (size - 1) : 1;
  int64_t position = i % period;
  if (position < 0) position += period;
  return mode == ARRAY_WRAP || position < size ? position : period - position;
}

/* Bytes of the tables that the modes other than constant use. */
static size_t array_part_table_bytes(const ci_value *y) {
  size_t positions = 0;
  for (int axis = 0; axis < y->rank; axis++) positions += (size_t)y->dims[axis];
  return positions * sizeof(ptrdiff_t);
}

static ci_status array_part_tables(ci_kernel *k, struct array_part_pad *p, const int64_t *before, const int64_t *after,
                                   size_t item) {
  const ci_value *x = k->in[0], *y = k->out[0];
  ptrdiff_t in[CI_MAX_RANK], *next = (ptrdiff_t *)(void *)(p + 1);
  ci_copy_strides(x->dims, x->rank, in);
  for (int axis = 0; axis < x->rank; axis++) {
    const int64_t first = before[axis] < 0 ? -before[axis] : 0;
    const int64_t left = x->dims[axis] - first + (after[axis] < 0 ? after[axis] : 0);
    if (left <= 0) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "axis %d has no elements to pad it with", axis);
    }
    p->source[axis] = next;
    p->first = before[axis] > 0 ? before[axis] : 0;
    p->run = left;
    for (int64_t i = 0; i < y->dims[axis]; i++) {
      const int64_t position = array_part_source(p->mode, i - before[axis] - first, left);
      *next++ = (ptrdiff_t)(first + position) * in[axis] * (ptrdiff_t)item;
    }
  }
  return CI_OK;
}

static void array_part_inner(const ci_kernel *k, const int64_t *before, size_t item, struct array_part_pad *p) {
  const ci_value *x = k->in[0], *y = k->out[0];
  ptrdiff_t in[CI_MAX_RANK], out[CI_MAX_RANK];
  ci_copy_strides(x->dims, x->rank, in);
  ci_copy_strides(y->dims, y->rank, out);
  ci_copy_start(&p->fill, k->isa, item);
  ci_copy_axis(&p->fill, y->count, 0, 1);
  ci_copy_start(&p->inner.copy, k->isa, item);
  p->keeps = x->count > 0;
  for (int i = 0; i < x->rank; i++) {
    const int64_t from = before[i] < 0 ? -before[i] : 0, to = before[i] < 0 ? 0 : before[i];
    const int64_t remaining = y->dims[i] - to, kept = x->dims[i] - from < remaining ? x->dims[i] - from : remaining;
    if (kept <= 0) {
      p->keeps = false;
      return;
    }
    p->inner.from += in[i] * (ptrdiff_t)from;
    p->inner.to += out[i] * (ptrdiff_t)to;
    ci_copy_axis(&p->inner.copy, kept, in[i], out[i]);
  }
}

ci_status ci_prepare_pad(ci_kernel *k) {
  const ci_value *x = k->in[0];
  int64_t before[CI_MAX_RANK] = {0}, after[CI_MAX_RANK] = {0}, dims[CI_MAX_RANK];
  enum array_part_mode mode = ARRAY_CONSTANT;
  const size_t item = ci_dtype_size(x->dtype);
  CI_TRY(array_part_mode_of(k, &mode));
  CI_TRY(array_part_pads(k, before, after));
  for (int i = 0; i < x->rank; i++) {
    if (x->dims[i] > INT64_MAX / 2 || x->dims[i] + before[i] + after[i] < 0) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "pads %lld and %lld crop more than axis %d has (%lld)",
                       (long long)before[i], (long long)after[i], i, (long long)x->dims[i]);
    }
    dims[i] = x->dims[i] + before[i] + after[i];
  }
  if (k->n_in > 2 && k->in[2] != NULL && (k->in[2]->dtype != x->dtype || k->in[2]->count != 1)) {
    char str[128];
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "the padding value is %s, expected one %s",
                     ci_value_describe(k->in[2], str, sizeof str), ci_dtype_name(x->dtype));
  }
  CI_TRY(ci_k_out(k, 0, x->dtype, x->rank, dims));
  const bool empty = k->out[0]->count == 0;
  const size_t tables = mode == ARRAY_CONSTANT || empty ? 0 : array_part_table_bytes(k->out[0]);
  struct array_part_pad *p = ci_k_private(k, sizeof *p + tables);
  if (p == NULL) return ci_k_no_memory(k);
  p->mode = mode;
  if (empty) return CI_OK;
  if (mode != ARRAY_CONSTANT) return array_part_tables(k, p, before, after, item);
  array_part_inner(k, before, item, p);
  return CI_OK;
}

/* Rows of the last axis. */
static void array_part_mapped(void *argument, int64_t begin, int64_t end, int thread) {
  const ci_kernel *k = argument;
  const struct array_part_pad *p = k->private_memory;
  const ci_value *y = k->out[0];
  const size_t item = ci_dtype_size(y->dtype);
  const int inner = y->rank - 1;
  const int64_t width = y->dims[inner];
  int64_t at[CI_MAX_RANK], rest = begin;
  char *to = (char *)y->data + (size_t)(begin * width) * item;
  (void)thread;
  for (int axis = inner - 1; axis >= 0; rest /= y->dims[axis--]) at[axis] = rest % y->dims[axis];
  for (int64_t row = begin; row < end; row++) {
    const char *from = k->in[0]->data;
    for (int i = 0; i < inner; i++) from += p->source[i][at[i]];
    for (int64_t i = 0; i < width;) {
      const int64_t n = i == p->first ? p->run : 1;
      const char *start = from + p->source[inner][i];
      if (n == 1) ci_copy_bytes(to, start, item);
      else k->isa->move->runs(to, 0, start, 0, 1, (size_t)n * item);
      to += (size_t)n * item;
      i += n;
    }
    for (int axis = inner - 1; axis >= 0 && ++at[axis] == y->dims[axis]; axis--) at[axis] = 0;
  }
}

ci_status ci_run_pad(ci_kernel *k) {
  const struct array_part_pad *p = k->private_memory;
  static const uint64_t nothing[2] = {0, 0};
  if (k->out[0]->count == 0) return CI_OK;
  if (k->in[0]->rank == 0) {
    memcpy(k->out[0]->data, k->in[0]->data, k->out[0]->bytes);
  } else if (p->mode != ARRAY_CONSTANT) {
    const int64_t width = k->out[0]->dims[k->out[0]->rank - 1];
    ci_k_parallel_rows(k, k->out[0]->count / width, ARRAY_PART_GRAIN / width + 1, array_part_mapped, k);
  } else {
    const bool given = k->n_in > 2 && k->in[2] != NULL;
    ci_copy_run(&p->fill, k->out[0]->data, given ? k->in[2]->data : nothing);
    if (p->keeps) array_part_run(&p->inner, k->out[0]->data, k->in[0]->data);
  }
  return CI_OK;
}
