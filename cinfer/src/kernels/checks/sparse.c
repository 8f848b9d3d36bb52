/* sparse.c - CheckSparseIndices and CheckEqual: checks that give their first input unchanged, or an error. */
#include <stdio.h>

#include "../arithmetic/integers.h"

typedef struct sparse_list_string { /* a list "[1,2]" that is cut at the end of the buffer */
  char str[160];
  size_t used;
} sparse_list_string;

static const char *sparse_list(sparse_list_string *t, const int64_t *values, int64_t count) {
  t->used = 0;
  t->str[0] = '\0';
  for (int64_t i = 0; i < count && t->used < sizeof t->str; i++) {
    const int wrote =
        snprintf(t->str + t->used, sizeof t->str - t->used, "%s%lld", i == 0 ? "" : ",", (long long)values[i]);
    if (wrote < 0) break;
    t->used += (size_t)wrote;
  }
  return t->str;
}

static ci_status sparse_bad(ci_kernel *k, int64_t row, const int64_t *at, int64_t rank, const char *what) {
  sparse_list_string str;
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "indices[%lld] = [%s] %s", (long long)row, sparse_list(&str, at, rank),
                   what);
}

static ci_status sparse_vector(ci_kernel *k, int i, int64_t count) {
  const ci_value *v = k->in[i];
  char str[128];
  if (v->dtype == CI_INT64 && v->rank == 1 && (count < 0 || v->count == count)) return CI_OK;
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "input %d is %s, expected an int64 vector%s", i,
                   ci_value_describe(v, str, sizeof str), count < 0 ? "" : " of one number a coordinate");
}

ci_status ci_prepare_check_sparse_indices(ci_kernel *k) {
  const ci_value *indices = k->in[0];
  char str[128];
  int64_t *ordered = ci_k_private(k, sizeof *ordered);
  if (ordered == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_k_attr_i(k, "ordered", 1, ordered));
  if (indices->dtype != CI_INT64 || indices->rank != 2) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "indices is %s, expected an int64 matrix",
                     ci_value_describe(indices, str, sizeof str));
  }
  CI_TRY(sparse_vector(k, 1, indices->dims[1]));
  CI_TRY(ci_k_out_like(k, 0, indices->dtype, indices));
  ci_k_alias(k, 0, 0);
  return CI_OK;
}

/* How row `at` follows the one before it: negative: it belongs before that, 0: the same. */
static int sparse_order(const int64_t *at, int64_t rank) {
  for (int64_t i = 0; i < rank; i++) {
    if (at[i] != at[i - rank]) return at[i] > at[i - rank] ? 1 : -1;
  }
  return 0;
}

/* The number of elements must fit an int64, since later operators number them. */
static ci_status sparse_countable(ci_kernel *k, const int64_t *shape, int64_t rank) {
  sparse_list_string sizes;
  int64_t positions = 1;
  for (int64_t i = 0; i < rank && positions > 0; i++) {
    if (shape[i] > 0 && positions > INT64_MAX / shape[i]) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "shape [%s] has more elements than an int64 counts",
                       sparse_list(&sizes, shape, rank));
    }
    positions *= shape[i] > 0 ? shape[i] : 0;
  }
  return CI_OK;
}

ci_status ci_run_check_sparse_indices(ci_kernel *k) {
  const int64_t *at = k->in[0]->data, *shape = k->in[1]->data;
  const bool ordered = *(const int64_t *)k->private_memory != 0;
  const int64_t rank = k->in[0]->dims[1];
  if (rank == 0 && !ordered) return CI_OK; /* however many there are */
  CI_TRY(sparse_countable(k, shape, rank));
  for (int64_t row = 0; row < k->in[0]->dims[0]; row++, at += rank) {
    for (int64_t i = 0; i < rank; i++) {
      if (at[i] < 0 || at[i] >= shape[i]) {
        sparse_list_string sizes;
        char what[224];
        snprintf(what, sizeof what, "is out of bounds: need 0 <= index < [%s]", sparse_list(&sizes, shape, rank));
        return sparse_bad(k, row, at, rank, what);
      }
    }
    if (!ordered || row == 0) continue;
    const int order = sparse_order(at, rank);
    if (order == 0) return sparse_bad(k, row, at, rank, "is repeated");
    if (order < 0) {
      return sparse_bad(k, row, at, rank,
                        "is out of order. Many sparse ops require sorted indices. Use `tf.sparse.reorder` to create a "
                        "correctly ordered copy.");
    }
  }
  return CI_OK;
}

ci_status ci_prepare_check_equal(ci_kernel *k) {
  ci_span *message = ci_k_private(k, sizeof *message);
  if (message == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_k_attr_s(k, "message", "", message));
  CI_TRY(sparse_vector(k, 0, -1));
  CI_TRY(sparse_vector(k, 1, -1));
  CI_TRY(ci_k_out_like(k, 0, k->in[0]->dtype, k->in[0]));
  ci_k_alias(k, 0, 0);
  return CI_OK;
}

ci_status ci_run_check_equal(ci_kernel *k) {
  const ci_value *x = k->in[0], *y = k->in[1];
  const ci_span *message = k->private_memory;
  sparse_list_string left, right;
  bool same = x->count == y->count;
  for (int64_t i = 0; same && i < x->count; i++) same = ((const int64_t *)x->data)[i] == ((const int64_t *)y->data)[i];
  if (same) return CI_OK;
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "%.*s: [%s] and [%s]", (int)(message->length < 200 ? message->length : 200),
                   message->data, sparse_list(&left, x->data, x->count), sparse_list(&right, y->data, y->count));
}
