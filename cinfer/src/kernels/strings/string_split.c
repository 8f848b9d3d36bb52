/* string_split.c - StringSplit, graphio's of a vector and ONNX's: parts of strings, which are not copied. */
#include "strings.h"

/* ---- where to cut ---- */

typedef struct string_cutter {
  ci_span separator;
  bool letters; /* each byte of the separator separates, and none if there is none */
  bool skips;   /* parts that are empty are left out */
  int64_t limit; /* of cuts; negative: none */
} string_cutter;

typedef struct string_cut { /* where a string is being split; at > length: it is done */
  ci_string str;
  size_t at;
  int64_t cuts;
} string_cut;

static ci_string string_slice(ci_string str, size_t begin, size_t end) {
  return (ci_string){end > begin ? str.data + begin : NULL, end - begin};
}

/* The part up to `end`, after which `skip` bytes separate. */
static bool string_take(string_cut *c, size_t end, size_t skip, ci_string *part) {
  *part = string_slice(c->str, c->at, end);
  c->at = end + skip;
  c->cuts++;
  return true;
}

static bool string_next_letters(const string_cutter *p, string_cut *c, ci_string *part) {
  const size_t length = c->str.length;
  if (p->separator.length == 0) return c->at < length && string_take(c, c->at + 1, 0, part);
  while (c->at <= length) {
    size_t end = c->at;
    while (end < length && memchr(p->separator.data, c->str.data[end], p->separator.length) == NULL) end++;
    (void)string_take(c, end, 1, part);
    if (part->length > 0 || !p->skips) return true;
  }
  return false;
}

static bool string_next_word(const string_cutter *p, string_cut *c, ci_string *part) {
  const size_t length = c->str.length;
  while (c->at < length && ci_string_is_space(c->str.data[c->at])) c->at++;
  if (c->at >= length) return false;
  size_t end = c->at;
  while (end < length && (c->cuts == p->limit || !ci_string_is_space(c->str.data[end]))) end++;
  return string_take(c, end, 0, part);
}

static bool string_next(const string_cutter *p, string_cut *c, ci_string *part) {
  const size_t length = c->str.length, size = p->separator.length;
  if (p->letters) return string_next_letters(p, c, part);
  if (size == 0) return string_next_word(p, c, part);
  if (c->at > length) return false;
  for (size_t end = c->at; c->cuts != p->limit && end + size <= length; end++) {
    if (memcmp(c->str.data + end, p->separator.data, size) == 0) return string_take(c, end, size, part);
  }
  return string_take(c, length, 1, part);
}

/* ---- graphio's: strings (m) -> indices (n, 2), parts (n), shape (m, most parts of a string) ---- */

static ci_status string_cutter_of(ci_kernel *k, string_cutter *p) {
  int64_t letters, skips;
  CI_TRY(ci_k_attr_s(k, "separator", "", &p->separator));
  CI_TRY(ci_k_attr_i(k, "letters", 0, &letters));
  CI_TRY(ci_k_attr_i(k, "skip_empty", 0, &skips));
  CI_TRY(ci_k_attr_i(k, "limit", -1, &p->limit));
  p->letters = letters != 0;
  p->skips = skips != 0;
  return CI_OK;
}

ci_status ci_prepare_string_split(ci_kernel *k) {
  const ci_value *x = k->in[0];
  char found[128];
  int64_t count = 0, two = 2;
  ci_string part;
  string_cutter *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_string_input(k, 0));
  CI_TRY(string_cutter_of(k, p));
  if (x->rank != 1) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "input 0 is %s, expected a vector",
                     ci_value_describe(x, found, sizeof found));
  }
  if (x->count > 0 && !ci_k_known(k, 0)) return CI_PENDING;
  for (int64_t i = 0; i < x->count; i++) {
    string_cut cut = {.str = ((const ci_string *)x->data)[i]};
    while (string_next(p, &cut, &part)) count++;
  }
  CI_TRY(ci_k_out(k, 0, CI_INT64, 2, (int64_t[]){count, 2}));
  CI_TRY(ci_k_out(k, 1, CI_STRING, 1, &count));
  return ci_k_out(k, 2, CI_INT64, 1, &two);
}

ci_status ci_run_string_split(ci_kernel *k) {
  const string_cutter *p = k->private_memory;
  int64_t *positions = k->out[0]->data, *shape = k->out[2]->data;
  ci_string *parts = k->out[1]->data;
  shape[0] = k->in[0]->count;
  shape[1] = 0;
  for (int64_t i = 0; i < shape[0]; i++) {
    string_cut cut = {.str = ((const ci_string *)k->in[0]->data)[i]};
    ci_string part; /* also written for parts that are left out */
    int64_t column = 0;
    for (; string_next(p, &cut, &part); column++) {
      *parts++ = part;
      *positions++ = i;
      *positions++ = column;
    }
    shape[1] = column > shape[1] ? column : shape[1];
  }
  return CI_OK;
}

/* ---- ONNX's: strings (...) -> parts (..., most parts of a string), numbers of parts (...) ---- */

ci_status ci_prepare_standard_split(ci_kernel *k) {
  const ci_value *x = k->in[0];
  int64_t dims[CI_MAX_RANK], most = 0;
  ci_string part;
  string_cutter *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_string_input(k, 0));
  CI_TRY(ci_k_attr_s(k, "delimiter", "", &p->separator));
  CI_TRY(ci_k_attr_i(k, "maxsplit", -1, &p->limit));
  if (x->rank == CI_MAX_RANK) return ci_k_fail(k, CI_UNIMPLEMENTED, "parts of strings of rank %d", (int)x->rank);
  if (x->count > 0 && !ci_k_known(k, 0)) return CI_PENDING;
  for (int64_t i = 0; i < x->count; i++) {
    string_cut cut = {.str = ((const ci_string *)x->data)[i]};
    int64_t count = 0;
    while (string_next(p, &cut, &part)) count++;
    most = count > most ? count : most;
  }
  memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
  dims[x->rank] = most;
  CI_TRY(ci_k_out(k, 0, CI_STRING, x->rank + 1, dims));
  return k->n_out > 1 ? ci_k_out_like(k, 1, CI_INT64, x) : CI_OK;
}

ci_status ci_run_standard_split(ci_kernel *k) {
  const string_cutter *p = k->private_memory;
  const int64_t most = k->out[0]->dims[k->in[0]->rank];
  for (int64_t i = 0; i < k->in[0]->count; i++) {
    string_cut cut = {.str = ((const ci_string *)k->in[0]->data)[i]};
    ci_string *parts = (ci_string *)k->out[0]->data + i * most;
    int64_t count = 0;
    while (count < most && string_next(p, &cut, &parts[count])) count++;
    if (k->n_out > 1) ((int64_t *)k->out[1]->data)[i] = count;
    for (; count < most; count++) parts[count] = (ci_string){NULL, 0};
  }
  return CI_OK;
}
