/* text_split.c - StringSplit, graphio's of a vector and ONNX's: parts of strings, which are not copied. */
#include "text.h"

/* ---- where to cut ---- */

typedef struct text_cutter {
  ci_span separator;
  bool letters; /* each byte of the separator separates, and none if there is none */
  bool skips;   /* parts that are empty are left out */
  int64_t limit; /* of cuts; negative: none */
} text_cutter;

typedef struct text_cut { /* where a string is being split; at > length: it is done */
  ci_string text;
  size_t at;
  int64_t cuts;
} text_cut;

static ci_string text_slice(ci_string text, size_t begin, size_t end) {
  return (ci_string){end > begin ? text.data + begin : NULL, end - begin};
}

/* The part up to `end`, after which `skip` bytes separate. */
static bool text_take(text_cut *c, size_t end, size_t skip, ci_string *part) {
  *part = text_slice(c->text, c->at, end);
  c->at = end + skip;
  c->cuts++;
  return true;
}

static bool text_next_letters(const text_cutter *p, text_cut *c, ci_string *part) {
  const size_t length = c->text.length;
  if (p->separator.length == 0) return c->at < length && text_take(c, c->at + 1, 0, part);
  while (c->at <= length) {
    size_t end = c->at;
    while (end < length && memchr(p->separator.data, c->text.data[end], p->separator.length) == NULL) end++;
    (void)text_take(c, end, 1, part);
    if (part->length > 0 || !p->skips) return true;
  }
  return false;
}

static bool text_next_word(const text_cutter *p, text_cut *c, ci_string *part) {
  const size_t length = c->text.length;
  while (c->at < length && ci_text_is_space(c->text.data[c->at])) c->at++;
  if (c->at >= length) return false;
  size_t end = c->at;
  while (end < length && (c->cuts == p->limit || !ci_text_is_space(c->text.data[end]))) end++;
  return text_take(c, end, 0, part);
}

static bool text_next(const text_cutter *p, text_cut *c, ci_string *part) {
  const size_t length = c->text.length, size = p->separator.length;
  if (p->letters) return text_next_letters(p, c, part);
  if (size == 0) return text_next_word(p, c, part);
  if (c->at > length) return false;
  for (size_t end = c->at; c->cuts != p->limit && end + size <= length; end++) {
    if (memcmp(c->text.data + end, p->separator.data, size) == 0) return text_take(c, end, size, part);
  }
  return text_take(c, length, 1, part);
}

/* ---- graphio's: strings (m) -> indices (n, 2), parts (n), shape (m, most parts of a string) ---- */

static ci_status text_cutter_of(ci_kernel *k, text_cutter *p) {
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
  text_cutter *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_text_input(k, 0));
  CI_TRY(text_cutter_of(k, p));
  if (x->rank != 1) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "input 0 is %s, expected a vector",
                     ci_value_describe(x, found, sizeof found));
  }
  if (x->count > 0 && !ci_k_known(k, 0)) return CI_PENDING;
  for (int64_t i = 0; i < x->count; i++) {
    text_cut cut = {.text = ((const ci_string *)x->data)[i]};
    while (text_next(p, &cut, &part)) count++;
  }
  CI_TRY(ci_k_out(k, 0, CI_INT64, 2, (int64_t[]){count, 2}));
  CI_TRY(ci_k_out(k, 1, CI_STRING, 1, &count));
  return ci_k_out(k, 2, CI_INT64, 1, &two);
}

ci_status ci_run_string_split(ci_kernel *k) {
  const text_cutter *p = k->private_memory;
  int64_t *places = k->out[0]->data, *shape = k->out[2]->data;
  ci_string *parts = k->out[1]->data;
  shape[0] = k->in[0]->count;
  shape[1] = 0;
  for (int64_t i = 0; i < shape[0]; i++) {
    text_cut cut = {.text = ((const ci_string *)k->in[0]->data)[i]};
    ci_string part; /* also written for parts that are left out */
    int64_t column = 0;
    for (; text_next(p, &cut, &part); column++) {
      *parts++ = part;
      *places++ = i;
      *places++ = column;
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
  text_cutter *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_text_input(k, 0));
  CI_TRY(ci_k_attr_s(k, "delimiter", "", &p->separator));
  CI_TRY(ci_k_attr_i(k, "maxsplit", -1, &p->limit));
  if (x->rank == CI_MAX_RANK) return ci_k_fail(k, CI_UNIMPLEMENTED, "parts of strings of rank %d", (int)x->rank);
  if (x->count > 0 && !ci_k_known(k, 0)) return CI_PENDING;
  for (int64_t i = 0; i < x->count; i++) {
    text_cut cut = {.text = ((const ci_string *)x->data)[i]};
    int64_t count = 0;
    while (text_next(p, &cut, &part)) count++;
    most = count > most ? count : most;
  }
  memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
  dims[x->rank] = most;
  CI_TRY(ci_k_out(k, 0, CI_STRING, x->rank + 1, dims));
  return k->n_out > 1 ? ci_k_out_like(k, 1, CI_INT64, x) : CI_OK;
}

ci_status ci_run_standard_split(ci_kernel *k) {
  const text_cutter *p = k->private_memory;
  const int64_t most = k->out[0]->dims[k->in[0]->rank];
  for (int64_t i = 0; i < k->in[0]->count; i++) {
    text_cut cut = {.text = ((const ci_string *)k->in[0]->data)[i]};
    ci_string *parts = (ci_string *)k->out[0]->data + i * most;
    int64_t count = 0;
    while (count < most && text_next(p, &cut, &parts[count])) count++;
    if (k->n_out > 1) ((int64_t *)k->out[1]->data)[i] = count;
    for (; count < most; count++) parts[count] = (ci_string){NULL, 0};
  }
  return CI_OK;
}
