/* select.c - Trilu, EyeLike, Compress, ReverseSequence, TensorScatter: select or move elements. */
#include "../arithmetic/cast.h"
#include "../shape/copy.h"
#include "../arithmetic/elementwise.h"

/* The one number in an int64 input, in run. */
static ci_status select_number(ci_kernel *k, int i, int64_t fallback, int64_t *number) {
  *number = fallback;
  if (k->n_in <= i || k->in[i] == NULL) return CI_OK;
  memcpy(number, k->in[i]->data, sizeof *number);
  return CI_OK;
}

static int64_t select_clamp(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}

/* ---- Trilu: of every matrix the part on one side of diagonal k ---- */

ci_status ci_prepare_trilu(ci_kernel *k) {
  const ci_value *x = k->in[0];
  int64_t *upper = ci_k_private(k, sizeof *upper);
  char str[128];
  if (upper == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_k_attr_i(k, "upper", 1, upper));
  if (x->rank < 2) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "input is %s, expected rank 2 or more",
                     ci_value_describe(x, str, sizeof str));
  }
  if (k->n_in > 1 && k->in[1] != NULL && (k->in[1]->dtype != CI_INT64 || k->in[1]->count != 1)) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "k is %s, expected one int64",
                     ci_value_describe(k->in[1], str, sizeof str));
  }
  CI_TRY(ci_k_out_like(k, 0, x->dtype, x));
  ci_k_in_place(k, 0, 0);
  return CI_OK;
}

ci_status ci_run_trilu(ci_kernel *k) {
  const ci_value *x = k->in[0];
  const bool upper = *(const int64_t *)k->private_memory != 0;
  const size_t item = ci_dtype_size(x->dtype);
  const char *from = x->data;
  char *to = k->out[0]->data;
  int64_t diagonal;
  CI_TRY(select_number(k, 1, 0, &diagonal));
  if (x->count == 0) return CI_OK;
  const int64_t rows = x->dims[x->rank - 2], columns = x->dims[x->rank - 1];
  const size_t line = (size_t)columns * item;
  diagonal = select_clamp(diagonal, -rows, columns);
  for (int64_t r = 0; r < x->count / columns; r++, from += line, to += line) {
    /* the upper part starts at its cut, the lower one ends there */
    const int64_t cut = select_clamp(r % rows + diagonal + (upper ? 0 : 1), 0, columns);
    const size_t left = (size_t)cut * item;
    if (to != from) memcpy(to, from, line);
    memset(upper ? to : to + left, 0, upper ? left : line - left);
  }
  return CI_OK;
}

/* ---- EyeLike ---- */

typedef struct select_eye {
  int64_t diagonal;
  ci_caster caster; /* of the ones */
} select_eye;

ci_status ci_prepare_eye_like(ci_kernel *k) {
  const ci_value *x = k->in[0];
  select_eye *eye = ci_k_private(k, sizeof *eye);
  int64_t dtype = 0;
  if (eye == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_k_attr_i(k, "k", 0, &eye->diagonal));
  CI_TRY(ci_k_attr_i(k, "dtype", x->dtype, &dtype));
  if (x->rank != 2) {
    char str[128];
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "input is %s, expected a matrix", ci_value_describe(x, str, sizeof str));
  }
  if (dtype < 0 || dtype >= CI_DTYPES ||
      !ci_caster_make(&eye->caster, k->isa, CI_FLOAT, (int32_t)dtype, true, CI_ROUND_UP)) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "there is no kernel for type %lld", (long long)dtype);
  }
  return ci_k_out_like(k, 0, (int32_t)dtype, x);
}

ci_status ci_run_eye_like(ci_kernel *k) {
  const ci_value *y = k->out[0];
  const select_eye *eye = k->private_memory;
  const float one = 1.0f;
  if (y->count == 0) return CI_OK;
  const int64_t rows = y->dims[0], columns = y->dims[1];
  const int64_t diagonal = select_clamp(eye->diagonal, -rows, columns);
  const size_t item = ci_dtype_size(y->dtype);
  memset(y->data, 0, y->bytes);
  for (int64_t r = 0; r < rows; r++) {
    const int64_t c = r + diagonal;
    if (c < 0 || c >= columns) continue;
    ci_caster_run(&eye->caster, (char *)y->data + (size_t)(r * columns + c) * item, &one, 1);
  }
  k_wrote_one_nan(k);
  return CI_OK;
}

/* ---- Compress: the slices whose condition holds ---- */

struct select_compress {
  int64_t outer, n;
  size_t inner; /* bytes */
};

ci_status ci_prepare_compress(ci_kernel *k) {
  const ci_value *x = k->in[0], *condition = k->in[1];
  int64_t requested, other, found = 0, dims[CI_MAX_RANK];
  int axis = 0;
  const size_t item = ci_dtype_size(x->dtype);
  CI_TRY(ci_k_attr_i(k, "axis", 0, &requested));
  CI_TRY(ci_k_attr_i(k, "axis", 1, &other));
  const bool flat = requested != other; /* there is no such attribute */
  if (!flat) CI_TRY(ci_k_axis(k, requested, x->rank, &axis));
  const int64_t n = flat ? x->count : x->dims[axis];
  if (condition->dtype != CI_BOOL || condition->rank != 1 || condition->count > n) {
    char str[128];
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "condition is %s, expected a vector of at most %lld bools",
                     ci_value_describe(condition, str, sizeof str), (long long)n);
  }
  if (condition->count > 0 && !ci_k_known(k, 1)) return CI_PENDING;
  for (int64_t i = 0; i < condition->count; i++) found += ((const uint8_t *)condition->data)[i] != 0;
  for (int i = 0; i < x->rank; i++) dims[i] = x->dims[i];
  dims[flat ? 0 : axis] = found;
  CI_TRY(ci_k_out(k, 0, x->dtype, flat ? 1 : x->rank, dims));
  struct select_compress *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  if (k->out[0]->count == 0) return CI_OK;
  p->n = n;
  p->outer = flat ? 1 : ci_shape_count(x->dims, 0, axis);
  p->inner = flat ? item : (size_t)ci_shape_count(x->dims, axis + 1, x->rank) * item;
  return CI_OK;
}

ci_status ci_run_compress(ci_kernel *k) {
  const struct select_compress *p = k->private_memory;
  const uint8_t *condition = k->in[1]->data;
  const char *from = k->in[0]->data;
  char *to = k->out[0]->data;
  if (k->out[0]->count == 0) return CI_OK;
  for (int64_t o = 0; o < p->outer; o++, from += (size_t)p->n * p->inner) {
    for (int64_t i = 0; i < k->in[1]->count; i++) {
      if (condition[i] == 0) continue;
      ci_copy_bytes(to, from + (size_t)i * p->inner, p->inner);
      to += p->inner;
    }
  }
  return CI_OK;
}

/* ---- ReverseSequence: of each batch the first sequence_lens steps backwards ---- */

ci_status ci_prepare_reverse_sequence(ci_kernel *k) {
  const ci_value *x = k->in[0], *lengths = k->in[1];
  int64_t batch, time;
  int *axis = ci_k_private(k, sizeof *axis);
  char str[128];
  if (axis == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_k_attr_i(k, "batch_axis", 1, &batch));
  CI_TRY(ci_k_attr_i(k, "time_axis", 0, &time));
  if (x->rank < 2 || batch < 0 || batch > 1 || time != 1 - batch) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT,
                     "input is %s, batch_axis %lld and time_axis %lld: expected rank 2 or more and the axes 0 and 1",
                     ci_value_describe(x, str, sizeof str), (long long)batch, (long long)time);
  }
  if (lengths->dtype != CI_INT64 || lengths->rank != 1 || lengths->count != x->dims[batch]) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "sequence_lens is %s, expected int64[%lld]",
                     ci_value_describe(lengths, str, sizeof str), (long long)x->dims[batch]);
  }
  *axis = (int)batch;
  return ci_k_out_like(k, 0, x->dtype, x);
}

ci_status ci_run_reverse_sequence(ci_kernel *k) {
  const ci_value *x = k->in[0];
  const int axis = *(const int *)k->private_memory;
  const int64_t batches = x->dims[axis], steps = x->dims[1 - axis];
  const int64_t *lengths = k->in[1]->data;
  for (int64_t b = 0; b < batches; b++) {
    if (lengths[b] >= 0 && lengths[b] <= steps) continue;
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "sequence_lens[%lld] = %lld is outside 0 to %lld", (long long)b,
                     (long long)lengths[b], (long long)steps);
  }
  if (x->count == 0) return CI_OK;
  const size_t bytes = x->bytes / (size_t)(batches * steps);
  for (int64_t b = 0; b < batches; b++) {
    for (int64_t t = 0; t < steps; t++) {
      const int64_t s = t < lengths[b] ? lengths[b] - 1 - t : t;
      const int64_t to = axis == 0 ? b * steps + t : t * batches + b;
      const int64_t from = axis == 0 ? b * steps + s : s * batches + b;
      memcpy((char *)k->out[0]->data + (size_t)to * bytes, (const char *)x->data + (size_t)from * bytes, bytes);
    }
  }
  return CI_OK;
}

/* ---- TensorScatter: update written into the cache from write_indices[batch] on ---- */

struct select_cache {
  int axis;
  bool circular;
};

ci_status ci_prepare_tensor_scatter(ci_kernel *k) {
  const ci_value *cache = k->in[0], *update = k->in[1], *starts = k->n_in > 2 ? k->in[2] : NULL;
  struct select_cache *p = ci_k_private(k, sizeof *p);
  int64_t requested;
  ci_span mode;
  char left[128], right[128];
  if (p == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_k_attr_i(k, "axis", -2, &requested));
  CI_TRY(ci_k_attr_s(k, "mode", "linear", &mode));
  CI_TRY(ci_k_axis(k, requested, cache->rank, &p->axis));
  p->circular = ci_span_is(mode, "circular");
  if (!p->circular && !ci_span_is(mode, "linear")) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "mode is '%.*s', expected linear or circular",
                     (int)(mode.length < 32 ? mode.length : 32), mode.data);
  }
  if (p->axis == 0) return ci_k_fail(k, CI_INVALID_ARGUMENT, "axis is 0, which is the batch; expected another");
  bool fits = update->rank == cache->rank && update->dtype == cache->dtype;
  for (int i = 0; fits && i < cache->rank; i++) {
    fits = i == p->axis ? update->dims[i] <= cache->dims[i] : update->dims[i] == cache->dims[i];
  }
  if (!fits) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "update is %s and past_cache %s: only axis %d may differ, and be smaller",
                     ci_value_describe(update, left, sizeof left), ci_value_describe(cache, right, sizeof right),
                     p->axis);
  }
  if (starts != NULL && (starts->dtype != CI_INT64 || starts->rank != 1 || starts->count != cache->dims[0])) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "write_indices is %s, expected int64[%lld]",
                     ci_value_describe(starts, left, sizeof left), (long long)cache->dims[0]);
  }
  CI_TRY(ci_k_out_like(k, 0, cache->dtype, cache));
  ci_k_in_place_alone(k, 0, 0);
  return CI_OK;
}

ci_status ci_run_tensor_scatter(ci_kernel *k) {
  const ci_value *cache = k->in[0], *update = k->in[1], *starts = k->n_in > 2 ? k->in[2] : NULL;
  const struct select_cache *p = k->private_memory;
  const int64_t size = cache->dims[p->axis], steps = update->dims[p->axis];
  for (int64_t b = 0; starts != NULL && b < starts->count && !p->circular; b++) {
    const int64_t start = ((const int64_t *)starts->data)[b];
    if (start >= 0 && start <= size - steps) continue;
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "write_indices[%lld] = %lld is outside 0 to %lld", (long long)b,
                     (long long)start, (long long)(size - steps));
  }
  if (k->out[0]->data != cache->data && cache->bytes > 0) memcpy(k->out[0]->data, cache->data, cache->bytes);
  if (update->count == 0) return CI_OK;
  const int64_t lines = ci_shape_count(cache->dims, 0, p->axis), each = lines / cache->dims[0];
  const size_t bytes = update->bytes / (size_t)(lines * steps);
  const char *from = update->data;
  for (int64_t line = 0; line < lines; line++) {
    int64_t position = starts == NULL ? 0 : ((const int64_t *)starts->data)[line / each] % size;
    if (position < 0) position += size;
    for (int64_t s = 0; s < steps; s++, from += bytes, position = position + 1 < size ? position + 1 : 0) {
      memcpy((char *)k->out[0]->data + (size_t)(line * size + position) * bytes, from, bytes);
    }
  }
  return CI_OK;
}
