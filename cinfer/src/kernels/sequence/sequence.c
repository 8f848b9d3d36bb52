/* sequence.c - operators on sequences (../sequence.h) and optional values. */
#include "../sequence.h"

#include "../../plan/plan.h"

static ci_status sequence_check(ci_kernel *k, int i) {
  char found[160];
  if (k->in[i]->dtype == CI_SEQUENCE) return CI_OK;
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "input %d is %s, expected a sequence", i,
                   ci_value_describe(k->in[i], found, sizeof found));
}

static ci_status sequence_tensor(ci_kernel *k, int i) {
  if (ci_dtype_size(k->in[i]->dtype) > 0) return CI_OK;
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "input %d is %s, expected a tensor", i, ci_dtype_name(k->in[i]->dtype));
}

static ci_status sequence_large(ci_kernel *k) {
  return ci_k_fail(k, CI_RESOURCE_EXHAUSTED, "the sequence is larger than this machine can hold");
}

static ci_status sequence_types(ci_kernel *k, int32_t a, int32_t b) {
  if (a == b) return CI_OK;
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "the elements have the types %s and %s, expected one type", ci_dtype_name(a),
                   ci_dtype_name(b));
}

static int64_t sequence_int(const ci_value *v, int64_t i) { /* a caller's array may have any alignment */
  int64_t wide;
  int32_t narrow;
  if (v->dtype == CI_INT64) return memcpy(&wide, (const char *)v->data + 8 * i, sizeof wide), wide;
  return memcpy(&narrow, (const char *)v->data + 4 * i, sizeof narrow), narrow;
}

static ci_status sequence_ints(ci_kernel *k, int i, const char *what, bool one) {
  char found[160];
  const ci_value *v = k->in[i];
  if ((v->dtype == CI_INT64 || v->dtype == CI_INT32) && (!one || v->count == 1)) return CI_OK;
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "the %s is %s, expected %s", what, ci_value_describe(v, found, sizeof found),
                   one ? "one integer" : "integers");
}

/* The position that input i gives, from the front; `fallback` if it is absent. -count to `last` may be given. */
static ci_status sequence_position(ci_kernel *k, int i, int64_t count, int64_t last, int64_t fallback, int64_t *at) {
  *at = fallback;
  if (i < k->n_in && k->in[i] != NULL) {
    CI_TRY(sequence_ints(k, i, "position", true));
    *at = sequence_int(k->in[i], 0);
  }
  if (*at < -count || *at > last) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "position %lld is outside %lld to %lld of a sequence of %lld",
                     (long long)*at, (long long)-count, (long long)last, (long long)count);
  }
  if (*at < 0) *at += count;
  return CI_OK;
}

/* ---- made of tensors ---- */

ci_status ci_prepare_sequence_empty(ci_kernel *k) {
  size_t bytes;
  int64_t dtype; /* of an absent value */
  CI_TRY(ci_k_attr_i(k, "dtype", 0, &dtype));
  return ci_sequence_bytes(0, &bytes) ? ci_k_out_sequence(k, 0, bytes) : sequence_large(k);
}

ci_status ci_prepare_sequence_construct(ci_kernel *k) {
  size_t bytes;
  if (!ci_sequence_bytes(k->n_in, &bytes)) return sequence_large(k);
  for (int i = 0; i < k->n_in; i++) {
    CI_TRY(sequence_tensor(k, i));
    CI_TRY(sequence_types(k, k->in[0]->dtype, k->in[i]->dtype));
    if (!ci_sequence_more(&bytes, k->in[i]->bytes)) return sequence_large(k);
  }
  return ci_k_out_sequence(k, 0, bytes);
}

ci_status ci_run_sequence_construct(ci_kernel *k) {
  ci_sequence_writer writer = ci_sequence_begin(k->out[0]->data, k->n_in);
  for (int i = 0; i < k->n_in; i++) ci_sequence_add(&writer, k->in[i]);
  return CI_OK;
}

/* ---- one more, one less ---- */

ci_status ci_prepare_sequence_insert(ci_kernel *k) {
  CI_TRY(sequence_check(k, 0));
  CI_TRY(sequence_tensor(k, 1));
  if (!ci_k_known(k, 0)) return CI_PENDING;
  size_t bytes;
  ci_value item;
  ci_sequence_reader reader = ci_sequence_open(k->in[0]->data);
  if (!ci_sequence_bytes(reader.left + 1, &bytes) || !ci_sequence_more(&bytes, k->in[1]->bytes))
    return sequence_large(k);
  while (ci_sequence_next(&reader, &item)) {
    CI_TRY(sequence_types(k, item.dtype, k->in[1]->dtype));
    if (!ci_sequence_more(&bytes, item.bytes)) return sequence_large(k);
  }
  return ci_k_out_sequence(k, 0, bytes);
}

ci_status ci_run_sequence_insert(ci_kernel *k) {
  ci_sequence_reader reader = ci_sequence_open(k->in[0]->data);
  const int64_t count = reader.left;
  int64_t at;
  ci_value item;
  CI_TRY(sequence_position(k, 2, count, count, count, &at));
  ci_sequence_writer writer = ci_sequence_begin(k->out[0]->data, count + 1);
  for (int64_t i = 0; i <= count; i++) {
    if (i == at) ci_sequence_add(&writer, k->in[1]);
    else if (ci_sequence_next(&reader, &item)) ci_sequence_add(&writer, &item);
  }
  return CI_OK;
}

ci_status ci_prepare_sequence_erase(ci_kernel *k) {
  CI_TRY(sequence_check(k, 0));
  if (!ci_k_known(k, 0) || (k->n_in > 1 && k->in[1] != NULL && !ci_k_known(k, 1))) return CI_PENDING;
  size_t bytes;
  int64_t at;
  ci_value item;
  ci_sequence_reader reader = ci_sequence_open(k->in[0]->data);
  const int64_t count = reader.left;
  CI_TRY(sequence_position(k, 1, count, count - 1, -1, &at));
  if (!ci_sequence_bytes(count - 1, &bytes)) return sequence_large(k);
  for (int64_t i = 0; ci_sequence_next(&reader, &item); i++) {
    if (i != at && !ci_sequence_more(&bytes, item.bytes)) return sequence_large(k);
  }
  return ci_k_out_sequence(k, 0, bytes);
}

ci_status ci_run_sequence_erase(ci_kernel *k) {
  ci_sequence_reader reader = ci_sequence_open(k->in[0]->data);
  const int64_t count = reader.left;
  int64_t at;
  ci_value item;
  CI_TRY(sequence_position(k, 1, count, count - 1, -1, &at));
  ci_sequence_writer writer = ci_sequence_begin(k->out[0]->data, count - 1);
  for (int64_t i = 0; ci_sequence_next(&reader, &item); i++) {
    if (i != at) ci_sequence_add(&writer, &item);
  }
  return CI_OK;
}

/* ---- read ---- */

ci_status ci_prepare_sequence_length(ci_kernel *k) {
  CI_TRY(sequence_check(k, 0));
  return ci_k_out(k, 0, CI_INT64, 0, NULL);
}

ci_status ci_run_sequence_length(ci_kernel *k) {
  const int64_t count = ci_sequence_count(k->in[0]->data);
  memcpy(k->out[0]->data, &count, sizeof count);
  return CI_OK;
}

static ci_status sequence_element(ci_kernel *k, ci_value *item) {
  ci_sequence_reader reader = ci_sequence_open(k->in[0]->data);
  int64_t at;
  CI_TRY(sequence_position(k, 1, reader.left, reader.left - 1, -1, &at));
  for (int64_t i = 0; i <= at; i++) (void)ci_sequence_next(&reader, item);
  return CI_OK;
}

ci_status ci_prepare_sequence_at(ci_kernel *k) {
  CI_TRY(sequence_check(k, 0));
  if (!ci_k_known(k, 0) || !ci_k_known(k, 1)) return CI_PENDING;
  ci_value item = {0};
  CI_TRY(sequence_element(k, &item));
  return ci_k_out(k, 0, item.dtype, item.rank, item.dims);
}

ci_status ci_run_sequence_at(ci_kernel *k) {
  ci_value item = {0};
  CI_TRY(sequence_element(k, &item));
  if (item.bytes > 0) memcpy(k->out[0]->data, item.data, item.bytes);
  return CI_OK;
}

/* ---- cut and joined ---- */

typedef struct sequence_cut { /* of a tensor along an axis */
  int axis;
  bool keep;     /* the axis stays, in pieces of a size of 1 */
  int64_t count; /* pieces */
  int64_t size;  /* of each, the last may be smaller; 0: input 1 lists them */
} sequence_cut;

static ci_status split_wrong(ci_kernel *k, int64_t total) {
  char found[160];
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "split is %s, expected sizes with the sum %lld or one number above 0",
                   ci_value_describe(k->in[1], found, sizeof found), (long long)total);
}

/* How many pieces, checked. */
static ci_status split_count(ci_kernel *k, sequence_cut *cut, int64_t total) {
  const ci_value *sizes = k->n_in > 1 ? k->in[1] : NULL;
  int64_t sum = 0;
  cut->size = 1;
  cut->count = total;
  if (sizes == NULL) return CI_OK;
  cut->keep = true;
  CI_TRY(sequence_ints(k, 1, "input split", false));
  if (sizes->rank > 1) return split_wrong(k, total);
  if (!ci_k_known(k, 1)) return CI_PENDING;
  if (sizes->rank == 0) {
    cut->size = sequence_int(sizes, 0);
    if (cut->size <= 0) return split_wrong(k, total);
    cut->count = total / cut->size + (total % cut->size != 0);
    return CI_OK;
  }
  cut->size = 0;
  cut->count = sizes->count;
  for (int64_t i = 0; i < sizes->count; i++) {
    const int64_t size = sequence_int(sizes, i);
    if (size < 0 || size > total - sum) return split_wrong(k, total);
    sum += size;
  }
  return sum == total ? CI_OK : split_wrong(k, total);
}

/* Piece i, which begins at `begin` of the axis: its size there is returned. */
static int64_t split_piece(const ci_kernel *k, const sequence_cut *cut, int64_t i, int64_t begin, ci_value *piece) {
  const ci_value *x = k->in[0];
  const int64_t rest = x->dims[cut->axis] - begin, given = cut->size == 0 ? sequence_int(k->in[1], i) : cut->size;
  const int64_t size = given < rest ? given : rest;
  *piece = (ci_value){.dtype = x->dtype, .rank = x->rank - !cut->keep};
  for (int d = 0; d < piece->rank; d++) piece->dims[d] = x->dims[!cut->keep && d >= cut->axis ? d + 1 : d];
  if (cut->keep) piece->dims[cut->axis] = size;
  piece->bytes = x->bytes == 0 ? 0 : x->bytes / (size_t)x->dims[cut->axis] * (size_t)size;
  return size;
}

/* Adds the bytes of all pieces. Those of one size are not gone through: an axis may be of any length. */
static bool split_bytes(const ci_kernel *k, const sequence_cut *cut, int64_t total, size_t *bytes) {
  const bool alike = cut->size != 0;
  const int64_t whole = alike ? total / cut->size : 0;
  ci_value piece;
  if (whole > 0) {
    (void)split_piece(k, cut, 0, 0, &piece);
    if (!ci_sequence_alike(bytes, whole, piece.bytes)) return false;
  }
  for (int64_t i = whole, begin = alike ? whole * cut->size : 0; i < cut->count; i++) {
    begin += split_piece(k, cut, i, begin, &piece);
    if (!ci_sequence_more(bytes, piece.bytes)) return false;
  }
  return true;
}

ci_status ci_prepare_split_to_sequence(ci_kernel *k) {
  const ci_value *x = k->in[0];
  int64_t axis, keep;
  size_t bytes;
  sequence_cut *cut = ci_k_private(k, sizeof *cut);
  if (cut == NULL) return ci_k_no_memory(k);
  CI_TRY(sequence_tensor(k, 0));
  CI_TRY(ci_k_attr_i(k, "axis", 0, &axis));
  CI_TRY(ci_k_attr_i(k, "keepdims", 1, &keep));
  CI_TRY(ci_k_axis(k, axis, x->rank, &cut->axis));
  cut->keep = keep != 0;
  CI_TRY(split_count(k, cut, x->dims[cut->axis]));
  if (!ci_sequence_bytes(cut->count, &bytes) || !split_bytes(k, cut, x->dims[cut->axis], &bytes))
    return sequence_large(k);
  return ci_k_out_sequence(k, 0, bytes);
}

ci_status ci_run_split_to_sequence(ci_kernel *k) {
  const ci_value *x = k->in[0];
  const sequence_cut *cut = k->private_memory;
  const int64_t outer = x->bytes == 0 ? 0 : ci_shape_count(x->dims, 0, cut->axis), total = x->dims[cut->axis];
  ci_sequence_writer writer = ci_sequence_begin(k->out[0]->data, cut->count);
  for (int64_t i = 0, begin = 0; i < cut->count; i++) {
    ci_value piece;
    const int64_t size = split_piece(k, cut, i, begin, &piece);
    char *to = ci_sequence_add(&writer, &piece);
    if (piece.bytes > 0) {
      const size_t part = piece.bytes / (size_t)outer, unit = part / (size_t)size;
      const char *from = (const char *)x->data + (size_t)begin * unit;
      for (int64_t o = 0; o < outer; o++) memcpy(to + (size_t)o * part, from + (size_t)(o * total) * unit, part);
    }
    begin += size;
  }
  return CI_OK;
}

static ci_status concat_differ(ci_kernel *k, const ci_value *first, const ci_value *item, int axis) {
  char left[160], right[160];
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "the elements %s and %s cannot be joined along axis %d",
                   ci_value_describe(first, left, sizeof left), ci_value_describe(item, right, sizeof right), axis);
}

typedef struct sequence_join {
  int axis;
  bool fresh; /* the axis is a new one */
} sequence_join;

ci_status ci_prepare_concat_from_sequence(ci_kernel *k) {
  int64_t axis, fresh, dims[CI_MAX_RANK];
  CI_TRY(ci_k_attr_i(k, "axis", INT64_MIN, &axis)); /* which no tensor has */
  CI_TRY(ci_k_attr_i(k, "new_axis", 0, &fresh));
  CI_TRY(sequence_check(k, 0));
  if (!ci_k_known(k, 0)) return CI_PENDING;
  sequence_join *join = ci_k_private(k, sizeof *join);
  ci_sequence_reader reader = ci_sequence_open(k->in[0]->data);
  ci_value first, item;
  if (join == NULL) return ci_k_no_memory(k);
  const int64_t count = reader.left;
  if (!ci_sequence_next(&reader, &first)) return ci_k_fail(k, CI_INVALID_ARGUMENT, "the sequence is empty");
  join->fresh = fresh != 0;
  const int rank = first.rank + join->fresh;
  CI_TRY(ci_k_axis(k, axis, rank, &join->axis));
  if (rank > CI_MAX_RANK)
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "the output has rank %d, the limit is %d", rank, CI_MAX_RANK);
  for (int d = 0; d < rank; d++) dims[d] = first.dims[join->fresh && d > join->axis ? d - 1 : d];
  if (join->fresh) dims[join->axis] = count;
  while (ci_sequence_next(&reader, &item)) {
    bool same = item.rank == first.rank && item.dtype == first.dtype;
    for (int d = 0; same && d < item.rank; d++) {
      same = item.dims[d] == first.dims[d] || (!join->fresh && d == join->axis);
    }
    if (!same || (!join->fresh && dims[join->axis] > INT64_MAX - item.dims[join->axis]))
      return concat_differ(k, &first, &item, join->axis);
    if (!join->fresh) dims[join->axis] += item.dims[join->axis];
  }
  return ci_k_out(k, 0, first.dtype, rank, dims);
}

ci_status ci_run_concat_from_sequence(ci_kernel *k) {
  const sequence_join *join = k->private_memory;
  const ci_value *y = k->out[0];
  ci_sequence_reader reader = ci_sequence_open(k->in[0]->data);
  ci_value item;
  char *to = y->data;
  if (y->bytes == 0) return CI_OK;
  const size_t outer = (size_t)ci_shape_count(y->dims, 0, join->axis), line = y->bytes / outer;
  while (ci_sequence_next(&reader, &item)) {
    const size_t part = item.bytes / outer;
    const char *from = item.data;
    for (size_t o = 0; o < outer && part > 0; o++) memcpy(to + o * line, from + o * part, part);
    to += part;
  }
  return CI_OK;
}

/* ---- optional values ---- */

ci_status ci_prepare_optional(ci_kernel *k) {
  const ci_attr *type = ci_attr_find(k->node->plan->model, k->node->node, "type");
  if (type != NULL && type->kind != CI_PB_ATTRIBUTEVALUE_TYPE)
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "attribute type is not a type");
  if (k->n_in == 0 || k->in[0] == NULL) return ci_k_out_nothing(k, 0);
  CI_TRY(ci_k_out_like(k, 0, k->in[0]->dtype, k->in[0]));
  ci_k_alias(k, 0, 0);
  return CI_OK;
}

ci_status ci_prepare_optional_get_element(ci_kernel *k) {
  if (k->in[0]->dtype == CI_NOTHING) return ci_k_fail(k, CI_INVALID_ARGUMENT, "the optional value holds nothing");
  return ci_prepare_optional(k);
}

ci_status ci_prepare_optional_has_element(ci_kernel *k) { return ci_k_out(k, 0, CI_BOOL, 0, NULL); }

ci_status ci_run_optional_has_element(ci_kernel *k) {
  *(uint8_t *)k->out[0]->data = k->n_in > 0 && k->in[0] != NULL && k->in[0]->dtype != CI_NOTHING;
  return CI_OK;
}
