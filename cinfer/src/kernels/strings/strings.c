/* strings.c - StringLength, StringTransform, Substr, StringJoin, StringReduceJoin: strings are bytes, perhaps of UTF-8.
 */
#include "strings.h"

#include "../../session/session.h"
#include "../arithmetic/integers.h"

/* ---- memory ---- */

ci_status ci_string_add(ci_kernel *k, size_t *bytes, size_t length) {
  const uint64_t limit = k->node->plan->session->limits.max_memory;
  if (ci_add_size(*bytes, length, bytes) && *bytes <= limit) return CI_OK;
  return ci_k_fail(k, CI_RESOURCE_EXHAUSTED, "the strings exceed the session's limit of %llu bytes",
                   (unsigned long long)limit);
}

ci_status ci_string_memory(ci_kernel *k, size_t bytes, char **str) {
  *str = ci_session_keep(k->node->plan->session, bytes);
  return *str == NULL ? ci_k_no_memory(k) : CI_OK;
}

/* ---- inputs and attributes ---- */

ci_status ci_string_input(ci_kernel *k, int i) {
  char found[128];
  if (k->in[i]->dtype == CI_STRING) return CI_OK;
  return ci_k_fail(k, CI_UNIMPLEMENTED, "input %d is %s, expected strings", i,
                   ci_value_describe(k->in[i], found, sizeof found));
}

/* Which word of a list an attribute is. */
static ci_status string_word(ci_kernel *k, const char *name, const char *const *words, int count, int *found) {
  ci_span given;
  CI_TRY(ci_k_attr_s(k, name, words[0], &given));
  for (int i = 0; i < count; i++) {
    if (ci_span_is(given, words[i])) {
      *found = i;
      return CI_OK;
    }
  }
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "%s is '%.*s', expected %s, %s%s%s", name,
                   (int)(given.length < 64 ? given.length : 64), given.data, words[0], words[1],
                   count > 2 ? " or " : "", count > 2 ? words[2] : "");
}

static const char *const string_units[] = {"BYTE", "UTF8_CHAR"};
static const char *const string_ways[] = {"lower", "upper", "strip"};
enum { STRING_LOWER, STRING_UPPER, STRING_STRIP };

static ci_status string_plan(ci_kernel *k, const char *name, const char *const *words, int count) {
  int *chosen = ci_k_private(k, sizeof *chosen);
  if (chosen == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_string_input(k, 0));
  return string_word(k, name, words, count, chosen);
}

/* ---- length ---- */

static bool string_begins(char byte, bool bytes) { return bytes || ((unsigned char)byte & 0xC0) != 0x80; }

static int64_t string_length(ci_string str, bool bytes) {
  int64_t count = 0;
  for (size_t i = 0; i < str.length; i++) count += string_begins(str.data[i], bytes);
  return count;
}

ci_status ci_prepare_string_length(ci_kernel *k) {
  CI_TRY(string_plan(k, "unit", string_units, 2));
  return ci_k_out_like(k, 0, CI_INT32, k->in[0]);
}

ci_status ci_run_string_length(ci_kernel *k) {
  const ci_string *x = k->in[0]->data;
  const bool bytes = *(const int *)k->private_memory == 0;
  int32_t *y = k->out[0]->data;
  for (int64_t i = 0; i < k->in[0]->count; i++) {
    const int64_t length = string_length(x[i], bytes);
    if (length > INT32_MAX)
      return ci_k_fail(k, CI_INVALID_ARGUMENT, "a string of %lld bytes is too long; a length is an int32",
                       (long long)length);
    y[i] = (int32_t)length;
  }
  return CI_OK;
}

/* ---- lower, upper, strip ---- */

bool ci_string_is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

ci_string ci_string_stripped(ci_string str) {
  size_t begin = 0, end = str.length;
  while (begin < end && ci_string_is_space(str.data[begin])) begin++;
  while (end > begin && ci_string_is_space(str.data[end - 1])) end--;
  return (ci_string){end > begin ? str.data + begin : NULL, end - begin};
}

static char string_cased(char c, int way) {
  if (way == STRING_LOWER) return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
  return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

ci_status ci_prepare_string_transform(ci_kernel *k) {
  CI_TRY(string_plan(k, "way", string_ways, 3));
  return ci_k_out_like(k, 0, CI_STRING, k->in[0]);
}

ci_status ci_run_string_transform(ci_kernel *k) {
  const ci_string *x = k->in[0]->data;
  ci_string *y = k->out[0]->data;
  const int way = *(const int *)k->private_memory;
  const int64_t count = k->in[0]->count;
  char *str = NULL;
  size_t bytes = 0;
  for (int64_t i = 0; way == STRING_STRIP && i < count; i++) y[i] = ci_string_stripped(x[i]);
  if (way == STRING_STRIP) return CI_OK;
  for (int64_t i = 0; i < count; i++) CI_TRY(ci_string_add(k, &bytes, x[i].length));
  CI_TRY(ci_string_memory(k, bytes, &str));
  for (int64_t i = 0; i < count; i++) {
    const size_t length = x[i].length;
    for (size_t j = 0; j < length; j++) str[j] = string_cased(x[i].data[j], way);
    y[i] = (ci_string){str, length};
    str += length;
  }
  return CI_OK;
}

/* ---- substr: pos and len are scalars, or of the strings' shape ---- */

static bool string_same_shape(const ci_value *a, const ci_value *b) {
  return ci_shape_same(a->rank, a->dims, b->rank, b->dims);
}

ci_status ci_prepare_substr(ci_kernel *k) {
  CI_TRY(string_plan(k, "unit", string_units, 2));
  for (int i = 1; i < 3; i++) {
    char found[128], strings[128];
    const ci_value *v = k->in[i];
    if (v->dtype == CI_INT64 && (v->rank == 0 || string_same_shape(v, k->in[0]))) continue;
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "input %d is %s, expected an int64 scalar, or int64 of the shape of %s", i,
                     ci_value_describe(v, found, sizeof found), ci_value_describe(k->in[0], strings, sizeof strings));
  }
  return ci_k_out_like(k, 0, CI_STRING, k->in[0]);
}

/* Where character number n of a string begins; its end if there are as many. */
static size_t string_position(ci_string str, int64_t n, bool bytes) {
  size_t at = 0;
  if (bytes) return (uint64_t)n < str.length ? (size_t)n : str.length;
  for (int64_t found = -1; at < str.length; at++) {
    found += string_begins(str.data[at], false);
    if (found == n) return at;
  }
  return at;
}

static ci_status string_part(ci_kernel *k, ci_string str, int64_t begin, int64_t count, bool bytes, ci_string *part) {
  const int64_t length = string_length(str, bytes);
  if (begin < -length || begin > length) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "pos %lld out of range for string b'%.*s'", (long long)begin,
                     (int)(str.length < 100 ? str.length : 100), str.length > 0 ? str.data : "");
  }
  if (count < 0) return ci_k_fail(k, CI_INVALID_ARGUMENT, "len %lld is negative", (long long)count);
  if (begin < 0) begin += length;
  const int64_t end = count < length - begin ? begin + count : length;
  const size_t from = string_position(str, begin, bytes), to = string_position(str, end, bytes);
  *part = (ci_string){to > from ? str.data + from : NULL, to - from};
  return CI_OK;
}

ci_status ci_run_substr(ci_kernel *k) {
  const ci_string *x = k->in[0]->data;
  const int64_t *begin = k->in[1]->data, *count = k->in[2]->data;
  const bool bytes = *(const int *)k->private_memory == 0;
  const int64_t step = k->in[1]->rank > 0, stride = k->in[2]->rank > 0;
  ci_string *y = k->out[0]->data;
  for (int64_t i = 0; i < k->in[0]->count; i++) {
    CI_TRY(string_part(k, x[i], begin[i * step], count[i * stride], bytes, &y[i]));
  }
  return CI_OK;
}

/* ---- join: inputs of one shape, or scalars ---- */

ci_status ci_prepare_string_join(ci_kernel *k) {
  const ci_value *shape = k->in[0];
  ci_span *separator = ci_k_private(k, sizeof *separator);
  if (separator == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_k_attr_s(k, "separator", "", separator));
  for (int i = 0; i < k->n_in; i++) {
    CI_TRY(ci_string_input(k, i));
    if (shape->rank == 0) shape = k->in[i];
  }
  for (int i = 0; i < k->n_in; i++) {
    char found[128], expected[128];
    if (k->in[i]->rank == 0 || string_same_shape(k->in[i], shape)) continue;
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "input %d is %s, expected a scalar or the shape of %s", i,
                     ci_value_describe(k->in[i], found, sizeof found),
                     ci_value_describe(shape, expected, sizeof expected));
  }
  return ci_k_out_like(k, 0, CI_STRING, shape);
}

static ci_string string_of(const ci_kernel *k, int input, int64_t i) {
  return ((const ci_string *)k->in[input]->data)[k->in[input]->rank > 0 ? i : 0];
}

char *ci_string_append(char *to, const void *from, size_t length) {
  if (length > 0) memcpy(to, from, length);
  return to + length;
}

ci_status ci_run_string_join(ci_kernel *k) {
  const ci_span *separator = k->private_memory;
  ci_string *y = k->out[0]->data;
  char *str = NULL;
  size_t bytes = 0;
  for (int64_t i = 0; i < k->out[0]->count; i++) {
    for (int n = 0; n < k->n_in; n++) {
      CI_TRY(ci_string_add(k, &bytes, string_of(k, n, i).length));
      if (n > 0) CI_TRY(ci_string_add(k, &bytes, separator->length));
    }
  }
  CI_TRY(ci_string_memory(k, bytes, &str));
  for (int64_t i = 0; i < k->out[0]->count; i++) {
    char *begin = str;
    for (int n = 0; n < k->n_in; n++) {
      const ci_string part = string_of(k, n, i);
      if (n > 0) str = ci_string_append(str, separator->data, separator->length);
      str = ci_string_append(str, part.data, part.length);
    }
    y[i] = (ci_string){begin, (size_t)(str - begin)};
  }
  return CI_OK;
}

/* ---- join along an axis: (outer, n, inner) -> (outer, 1, inner) ---- */

typedef struct string_lines {
  ci_span separator;
  int64_t n, inner;
} string_lines;

ci_status ci_prepare_string_reduce_join(ci_kernel *k) {
  const ci_value *x = k->in[0];
  int64_t requested, dims[CI_MAX_RANK];
  int axis = 0;
  string_lines *p = ci_k_private(k, sizeof *p);
  if (p == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_string_input(k, 0));
  CI_TRY(ci_k_attr_i(k, "axis", 0, &requested));
  CI_TRY(ci_k_attr_s(k, "separator", "", &p->separator));
  CI_TRY(ci_k_axis(k, requested, x->rank, &axis));
  for (int i = 0; i < x->rank; i++) dims[i] = i == axis ? 1 : x->dims[i];
  p->n = x->dims[axis];
  p->inner = ci_shape_count(x->dims, axis + 1, x->rank);
  return ci_k_out(k, 0, CI_STRING, x->rank, dims);
}

ci_status ci_run_string_reduce_join(ci_kernel *k) {
  const string_lines *p = k->private_memory;
  const ci_string *x = k->in[0]->data;
  ci_string *y = k->out[0]->data;
  char *str = NULL;
  size_t bytes = 0;
  for (int64_t i = 0; i < k->in[0]->count; i++) {
    CI_TRY(ci_string_add(k, &bytes, x[i].length));
    CI_TRY(ci_string_add(k, &bytes, p->separator.length)); /* one too many a line */
  }
  CI_TRY(ci_string_memory(k, bytes, &str));
  for (int64_t i = 0; i < k->out[0]->count; i++) {
    const ci_string *line = k->in[0]->count > 0 ? x + i / p->inner * p->n * p->inner + i % p->inner : NULL;
    char *begin = str;
    for (int64_t n = 0; n < p->n; n++) {
      if (n > 0) str = ci_string_append(str, p->separator.data, p->separator.length);
      str = ci_string_append(str, line[n * p->inner].data, line[n * p->inner].length);
    }
    y[i] = (ci_string){begin, (size_t)(str - begin)};
  }
  return CI_OK;
}
