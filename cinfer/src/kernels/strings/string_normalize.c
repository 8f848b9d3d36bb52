/* string_normalize.c - StringConcat, and StringNormalizer: case and stop words. */
#include "../../base/letters.h"
#include "../../base/wire.h"
#include "strings.h"

/* ---- StringConcat: strings one after the other, broadcast ---- */

ci_status ci_prepare_string_concat(ci_kernel *k) {
  int64_t dims[CI_MAX_RANK];
  int rank;
  CI_TRY(ci_string_input(k, 0));
  CI_TRY(ci_string_input(k, 1));
  const ci_value *const both[] = {k->in[0], k->in[1]};
  CI_TRY(ci_k_broadcast(k, both, 2, &rank, dims));
  return ci_k_out(k, 0, CI_STRING, rank, dims);
}

/* The element of an input that belongs to element i of the output. */
static ci_string concat_part(const ci_kernel *k, int input, int64_t i) {
  const ci_value *x = k->in[input], *y = k->out[0];
  int64_t at = 0, step = 1;
  for (int d = 1; d <= x->rank; d++) {
    const int64_t size = x->dims[x->rank - d], position = i % y->dims[y->rank - d];
    i /= y->dims[y->rank - d];
    if (size > 1) at += position * step;
    step *= size;
  }
  return ((const ci_string *)x->data)[at];
}

ci_status ci_run_string_concat(ci_kernel *k) {
  ci_string *y = k->out[0]->data;
  const int64_t count = k->out[0]->count;
  char *str = NULL;
  size_t bytes = 0;
  for (int64_t i = 0; i < count; i++) {
    CI_TRY(ci_string_add(k, &bytes, concat_part(k, 0, i).length));
    CI_TRY(ci_string_add(k, &bytes, concat_part(k, 1, i).length));
  }
  CI_TRY(ci_string_memory(k, bytes, &str));
  for (int64_t i = 0; i < count; i++) {
    const ci_string left = concat_part(k, 0, i), right = concat_part(k, 1, i);
    y[i] = (ci_string){str, left.length + right.length};
    str = ci_string_append(str, left.data, left.length);
    str = ci_string_append(str, right.data, right.length);
  }
  return CI_OK;
}

/* ---- StringNormalizer: without stop words, in another case ---- */

typedef uint32_t (*normalize_case)(uint32_t c);

typedef struct normalize_plan {
  normalize_case change; /* NULL: none */
  bool exact;            /* whether stop words have their case */
  const ci_span *stops;
  int stop_count;
} normalize_plan;

static ci_status normalize_attributes(ci_kernel *k, normalize_plan *p) {
  int64_t exact;
  ci_span action;
  CI_TRY(ci_k_attr_s(k, "case_change_action", "NONE", &action));
  CI_TRY(ci_k_attr_i(k, "is_case_sensitive", 0, &exact));
  CI_TRY(ci_k_attr_strings(k, "stopwords", &p->stops, &p->stop_count));
  p->exact = exact != 0;
  if (ci_span_is(action, "LOWER")) p->change = ci_letter_small;
  else if (ci_span_is(action, "UPPER")) p->change = ci_letter_large;
  else if (!ci_span_is(action, "NONE")) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "case_change_action is '%.*s', expected NONE, LOWER or UPPER",
                     (int)(action.length < 64 ? action.length : 64), action.data);
  }
  for (int i = 0; i < p->stop_count; i++) {
    if (!ci_utf8_valid(p->stops[i])) return ci_k_fail(k, CI_INVALID_ARGUMENT, "stop word %d is not UTF-8", i);
  }
  return CI_OK;
}

static bool normalize_same(ci_string str, ci_span word, bool exact) {
  if (exact) return str.length == word.length && (str.length == 0 || memcmp(str.data, word.data, str.length) == 0);
  const char *a = str.data, *b = word.data;
  size_t left = str.length, right = word.length;
  while (left > 0 && right > 0) {
    const char *a_begin = a, *b_begin = b;
    if (ci_letter_folded(ci_utf8_next(&a)) != ci_letter_folded(ci_utf8_next(&b))) return false;
    left -= (size_t)(a - a_begin);
    right -= (size_t)(b - b_begin);
  }
  return left == 0 && right == 0;
}

static bool normalize_stops(const normalize_plan *p, ci_string str) {
  for (int i = 0; i < p->stop_count; i++) {
    if (normalize_same(str, p->stops[i], p->exact)) return true;
  }
  return false;
}

ci_status ci_prepare_string_normalizer(ci_kernel *k) {
  const ci_value *x = k->in[0];
  char found[128];
  int64_t count = 0;
  normalize_plan *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_string_input(k, 0));
  CI_TRY(normalize_attributes(k, p));
  if (x->rank < 1 || x->rank > 2 || (x->rank == 2 && x->dims[0] != 1)) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "the input is %s, expected a vector or one row",
                     ci_value_describe(x, found, sizeof found));
  }
  if (x->count > 0 && !ci_k_known(k, 0)) return CI_PENDING;
  for (int64_t i = 0; i < x->count; i++) {
    const ci_string str = ((const ci_string *)x->data)[i];
    if (!ci_utf8_valid((ci_span){str.data, str.length})) {
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "string %lld is not UTF-8", (long long)i);
    }
    count += !normalize_stops(p, str);
  }
  return ci_k_out(k, 0, CI_STRING, x->rank, (int64_t[]){x->rank == 1 && count > 0 ? count : 1, count > 0 ? count : 1});
}

/* Writes a string in its case to `to`, or nothing; returns its bytes. */
static size_t normalize_write(normalize_case change, ci_string str, char *to) {
  size_t bytes = 0;
  const char *at = str.data, *end = at;
  if (str.length > 0) end += str.length;
  while (at != end) {
    char letter[4];
    const size_t length = ci_utf8_put(change(ci_utf8_next(&at)), letter);
    if (to != NULL) memcpy(to + bytes, letter, length);
    bytes += length;
  }
  return bytes;
}

ci_status ci_run_string_normalizer(ci_kernel *k) {
  const normalize_plan *p = k->private_memory;
  const ci_string *x = k->in[0]->data;
  ci_string *y = k->out[0]->data;
  int64_t count = 0;
  char *str = NULL;
  size_t bytes = 0;
  y[0] = (ci_string){NULL, 0}; /* where no word stays */
  for (int64_t i = 0; i < k->in[0]->count; i++) {
    if (!normalize_stops(p, x[i])) y[count++] = x[i];
  }
  if (p->change == NULL) return CI_OK;
  for (int64_t i = 0; i < count; i++) CI_TRY(ci_string_add(k, &bytes, normalize_write(p->change, y[i], NULL)));
  CI_TRY(ci_string_memory(k, bytes, &str));
  for (int64_t i = 0; i < count; i++) {
    y[i] = (ci_string){str, normalize_write(p->change, y[i], str)};
    str += y[i].length;
  }
  return CI_OK;
}
