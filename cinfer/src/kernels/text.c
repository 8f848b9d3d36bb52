/* text.c - operators on text. What they make is kept until the next run (ci_session_text). */
#include <stdio.h>
#include <stdlib.h>

#include "../session.h"

enum { TEXT_NUMBER = 1000, TEXT_WIDTH = 100, TEXT_ROOM = 1024 }; /* a number's text, its format, room for it */

static ci_status text_wanted(ci_kernel *k, int i) {
  char found[160];
  if (k->in[i] != NULL && k->in[i]->dtype == CI_STRING) return CI_OK;
  return k_fail(k, CI_INVALID_ARGUMENT, "input %d is %s, expected string", i,
                k->in[i] == NULL ? "absent" : k_describe(k->in[i], found, sizeof found));
}

static ci_status text_like(ci_kernel *k, int32_t dtype) {
  CI_TRY(text_wanted(k, 0));
  return k_out_like(k, 0, dtype, k->in[0]);
}

static ci_status text_memory(ci_kernel *k, size_t bytes, char **text) {
  struct ci_session *session = k->node->plan->session;
  *text = ci_session_text(session, bytes);
  if (*text != NULL) return CI_OK;
  return k_fail(k, CI_RESOURCE_EXHAUSTED, "no memory for %zu bytes of text, with a limit of %llu", bytes,
                (unsigned long long)session->limits.max_memory);
}

static ci_status text_large(ci_kernel *k) {
  return k_fail(k, CI_RESOURCE_EXHAUSTED, "the text is larger than this machine can hold");
}

static bool text_is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static ci_string text_stripped(ci_string s) {
  while (s.length > 0 && text_is_space(s.data[0])) s.data++, s.length--;
  while (s.length > 0 && text_is_space(s.data[s.length - 1])) s.length--;
  return s;
}

/* ---- join ---- */

ci_status prepare_string_join(ci_kernel *k) {
  const ci_value *shape = k->in[0];
  ci_span separator;
  CI_TRY(k_attr_s(k, "separator", "", &separator));
  for (int i = 0; i < k->n_in; i++) {
    char one[160], two[160];
    CI_TRY(text_wanted(k, i));
    const ci_value *in = k->in[i];
    if (shape->rank == 0) shape = in;
    if (in->rank == 0) continue;
    bool same = in->rank == shape->rank;
    for (int d = 0; same && d < in->rank; d++) same = in->dims[d] == shape->dims[d];
    if (!same) {
      return k_fail(k, CI_INVALID_ARGUMENT, "the inputs have the shapes %s and %s, expected one",
                    k_describe(shape, one, sizeof one), k_describe(in, two, sizeof two));
    }
  }
  return k_out_like(k, 0, CI_STRING, shape);
}

static ci_string text_part(const ci_value *v, int64_t i) { return ((const ci_string *)v->data)[v->rank == 0 ? 0 : i]; }

static char *text_put(char *to, const char *from, size_t bytes) {
  if (bytes > 0) memcpy(to, from, bytes);
  return to + bytes;
}

/* Joins `parts` strings: part p of row i is what `get` says. */
typedef ci_string (*text_get)(const ci_kernel *k, int64_t i, int64_t p);

static ci_status text_join(ci_kernel *k, int64_t parts, text_get get) {
  ci_string *y = k->out[0]->data;
  const int64_t rows = k->out[0]->count;
  ci_span between;
  char *text;
  size_t bytes = 0;
  CI_TRY(k_attr_s(k, "separator", "", &between));
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t p = 0; p < parts; p++) {
      if (!ci_add_size(bytes, get(k, i, p).length, &bytes) || !ci_add_size(bytes, p > 0 ? between.length : 0, &bytes)) {
        return text_large(k);
      }
    }
  }
  CI_TRY(text_memory(k, bytes, &text));
  for (int64_t i = 0; i < rows; i++) {
    y[i].data = text;
    for (int64_t p = 0; p < parts; p++) {
      ci_string part = get(k, i, p);
      if (p > 0) text = text_put(text, between.data, between.length);
      text = text_put(text, part.data, part.length);
    }
    y[i].length = (size_t)(text - y[i].data);
  }
  return CI_OK;
}

static ci_string text_input(const ci_kernel *k, int64_t i, int64_t p) { return text_part(k->in[p], i); }

ci_status run_string_join(ci_kernel *k) { return text_join(k, k->n_in, text_input); }

ci_status prepare_string_reduce_join(ci_kernel *k) {
  ci_span separator;
  CI_TRY(text_wanted(k, 0));
  CI_TRY(k_attr_s(k, "separator", "", &separator));
  if (k->in[0]->rank == 0) return k_fail(k, CI_INVALID_ARGUMENT, "the input is a scalar, expected dimensions");
  return k_out(k, 0, CI_STRING, k->in[0]->rank - 1, k->in[0]->dims);
}

static ci_string text_in_row(const ci_kernel *k, int64_t i, int64_t p) {
  return ((const ci_string *)k->in[0]->data)[i * k->in[0]->dims[k->in[0]->rank - 1] + p];
}

ci_status run_string_reduce_join(ci_kernel *k) { return text_join(k, k->in[0]->dims[k->in[0]->rank - 1], text_in_row); }

/* ---- length and parts ---- */

static ci_status text_unit(ci_kernel *k, bool *characters) {
  ci_span unit;
  CI_TRY(k_attr_s(k, "unit", "BYTE", &unit));
  *characters = k_span_is(unit, "UTF8_CHAR");
  if (*characters || k_span_is(unit, "BYTE")) return CI_OK;
  return k_fail(k, CI_INVALID_ARGUMENT, "attribute unit is '%.*s', expected one of BYTE, UTF8_CHAR",
                unit.length > 40 ? 40 : (int)unit.length, unit.data);
}

static bool text_begins(char byte) { return ((unsigned char)byte & 0xc0) != 0x80; } /* a character */

static int64_t text_length(ci_string s, bool characters) {
  int64_t n = 0;
  if (!characters) return (int64_t)s.length;
  for (size_t i = 0; i < s.length; i++) n += text_begins(s.data[i]);
  return n;
}

/* Where character number `n` begins, or the text ends; bytes before the first one belong to none. */
static size_t text_place(ci_string s, int64_t n, bool characters) {
  size_t i = 0;
  if (!characters) return (size_t)n;
  for (; i < s.length; i++) {
    if (text_begins(s.data[i]) && n-- == 0) break;
  }
  return i;
}

ci_status prepare_string_length(ci_kernel *k) {
  bool characters;
  CI_TRY(text_unit(k, &characters));
  return text_like(k, CI_INT32);
}

ci_status run_string_length(ci_kernel *k) {
  bool characters;
  int32_t *y = k->out[0]->data;
  CI_TRY(text_unit(k, &characters));
  for (int64_t i = 0; i < k->in[0]->count; i++) y[i] = (int32_t)text_length(text_part(k->in[0], i), characters);
  return CI_OK;
}

ci_status prepare_string_substr(ci_kernel *k) {
  const ci_value *in[3] = {k->in[0], k->in[1], k->in[2]};
  int64_t dims[CI_MAX_RANK];
  int rank;
  bool characters;
  CI_TRY(text_unit(k, &characters));
  CI_TRY(text_wanted(k, 0));
  for (int i = 1; i < 3; i++) {
    if (in[i]->dtype != CI_INT32 && in[i]->dtype != CI_INT64) {
      return k_fail(k, CI_UNIMPLEMENTED, "input %d has type %s, expected int32 or int64", i,
                    ci_dtype_name(in[i]->dtype));
    }
  }
  CI_TRY(k_broadcast(k, in, 3, &rank, dims));
  return k_out(k, 0, CI_STRING, rank, dims);
}

/* The element of an input that goes with element i of the output. */
static int64_t text_at(const ci_value *out, const ci_value *in, int64_t i) {
  int64_t at = 0, step = 1;
  for (int d = out->rank - 1, e = in->rank - 1; e >= 0; d--, e--) {
    at += in->dims[e] == 1 ? 0 : i % out->dims[d] * step;
    step *= in->dims[e];
    i /= out->dims[d];
  }
  return at;
}

static int64_t text_int(const ci_value *v, int64_t i) { /* a caller's array may lie anywhere */
  int64_t wide;
  int32_t narrow;
  if (v->dtype == CI_INT64) return memcpy(&wide, (const char *)v->data + 8 * i, sizeof wide), wide;
  return memcpy(&narrow, (const char *)v->data + 4 * i, sizeof narrow), narrow;
}

ci_status run_string_substr(ci_kernel *k) {
  const ci_value *out = k->out[0];
  ci_string *y = out->data;
  bool characters;
  CI_TRY(text_unit(k, &characters));
  for (int64_t i = 0; i < out->count; i++) {
    ci_string s = ((const ci_string *)k->in[0]->data)[text_at(out, k->in[0], i)];
    int64_t pos = text_int(k->in[1], text_at(out, k->in[1], i)), count = text_int(k->in[2], text_at(out, k->in[2], i));
    const int64_t length = text_length(s, characters);
    if (pos < -length || pos > length) {
      return k_fail(k, CI_INVALID_ARGUMENT, "pos %lld out of range for string of length %lld at index %lld",
                    (long long)pos, (long long)length, (long long)i);
    }
    if (count < 0) {
      return k_fail(k, CI_INVALID_ARGUMENT, "len %lld is negative at index %lld", (long long)count, (long long)i);
    }
    if (pos < 0) pos += length;
    if (count > length - pos) count = length - pos;
    const size_t first = text_place(s, pos, characters), last = text_place(s, pos + count, characters);
    y[i] = (ci_string){s.data == NULL ? NULL : s.data + first, last - first};
  }
  return CI_OK;
}

/* ---- change ---- */

enum { TEXT_LOWER, TEXT_UPPER, TEXT_STRIP };

static ci_status text_change(ci_kernel *k, int *change) {
  static const char *const names[] = {"lower", "upper", "strip"};
  ci_span found;
  CI_TRY(k_attr_s(k, "change", "", &found));
  for (*change = TEXT_LOWER; *change <= TEXT_STRIP; ++*change) {
    if (k_span_is(found, names[*change])) return CI_OK;
  }
  return k_fail(k, CI_INVALID_ARGUMENT, "attribute change is '%.*s', expected one of lower, upper, strip",
                found.length > 40 ? 40 : (int)found.length, found.data);
}

ci_status prepare_string_change(ci_kernel *k) {
  int change;
  CI_TRY(text_change(k, &change));
  return text_like(k, CI_STRING);
}

ci_status run_string_change(ci_kernel *k) {
  const ci_value *x = k->in[0];
  ci_string *y = k->out[0]->data;
  int change;
  char *text;
  size_t bytes = 0;
  CI_TRY(text_change(k, &change));
  for (int64_t i = 0; i < x->count; i++) {
    if (change == TEXT_STRIP) y[i] = text_stripped(text_part(x, i));
    else if (!ci_add_size(bytes, text_part(x, i).length, &bytes)) return text_large(k);
  }
  if (change == TEXT_STRIP) return CI_OK;
  CI_TRY(text_memory(k, bytes, &text));
  const char first = change == TEXT_LOWER ? 'A' : 'a', last = change == TEXT_LOWER ? 'Z' : 'z';
  for (int64_t i = 0; i < x->count; i++) {
    const ci_string from = text_part(x, i);
    y[i] = (ci_string){text, from.length};
    for (size_t c = 0; c < from.length; c++) {
      const char byte = from.data[c];
      *text++ = byte >= first && byte <= last ? (char)(byte ^ 32) : byte;
    }
  }
  return CI_OK;
}

/* ---- numbers ---- */

static const char *text_digits(const char *p) {
  while (*p >= '0' && *p <= '9') p++;
  return p;
}

static bool text_word(const char *p, const char *word) { /* without regard to case */
  for (; *word != '\0'; p++, word++) {
    if ((*p | 32) != *word) return false;
  }
  return *p == '\0';
}

static bool text_is_float(const char *p) {
  if (*p == '+' || *p == '-') p++;
  if (text_word(p, "inf") || text_word(p, "infinity") || text_word(p, "nan")) return true;
  const char *whole = p;
  p = text_digits(p);
  bool digits = p > whole;
  if (*p == '.') {
    const char *part = ++p;
    p = text_digits(p);
    digits = digits || p > part;
  }
  if (digits && (*p | 32) == 'e') {
    p += p[1] == '+' || p[1] == '-' ? 2 : 1;
    const char *power = p;
    p = text_digits(p);
    digits = p > power;
  }
  return digits && *p == '\0';
}

static bool text_read_int(const char *p, int64_t least, int64_t most, int64_t *number) {
  const bool negative = *p == '-';
  if (*p == '+' || *p == '-') p++;
  if (*p == '\0') return false;
  for (*number = 0; *p >= '0' && *p <= '9'; p++) {
    const int digit = *p - '0';
    if (negative ? *number < (least + digit) / 10 : *number > (most - digit) / 10) return false;
    *number = *number * 10 + (negative ? -digit : digit);
  }
  return *p == '\0';
}

ci_status prepare_string_to_number(ci_kernel *k) {
  int64_t dtype;
  CI_TRY(k_attr_i(k, "dtype", CI_FLOAT, &dtype));
  if (dtype != CI_FLOAT && dtype != CI_DOUBLE && dtype != CI_INT32 && dtype != CI_INT64) {
    return k_fail(k, CI_UNIMPLEMENTED, "no number of type %lld is read from text", (long long)dtype);
  }
  return text_like(k, (int32_t)dtype);
}

static bool text_read(ci_string s, ci_value *y, int64_t i) {
  char word[TEXT_NUMBER + 1];
  int64_t whole;
  s = text_stripped(s);
  if (s.length > TEXT_NUMBER || s.length == 0 || memchr(s.data, '\0', s.length) != NULL) return false;
  memcpy(word, s.data, s.length);
  word[s.length] = '\0';
  if (y->dtype == CI_INT32) {
    if (!text_read_int(word, INT32_MIN, INT32_MAX, &whole)) return false;
    ((int32_t *)y->data)[i] = (int32_t)whole;
  } else if (y->dtype == CI_INT64) {
    if (!text_read_int(word, INT64_MIN, INT64_MAX, &whole)) return false;
    ((int64_t *)y->data)[i] = whole;
  } else {
    if (!text_is_float(word)) return false;
    const double number = strtod(word, NULL);
    if (y->dtype == CI_DOUBLE) ((double *)y->data)[i] = number;
    else ((float *)y->data)[i] = (float)number;
  }
  return true;
}

ci_status run_string_to_number(ci_kernel *k) {
  for (int64_t i = 0; i < k->in[0]->count; i++) {
    const ci_string s = text_part(k->in[0], i);
    if (text_read(s, k->out[0], i)) continue;
    return k_fail(k, CI_INVALID_ARGUMENT, "StringToNumberOp could not correctly convert string: %.*s",
                  s.length > 200 ? 200 : (int)s.length, s.data == NULL ? "" : s.data);
  }
  return CI_OK;
}

typedef struct text_form { /* private memory of AsString */
  char format[64]; /* of printf, for long long, unsigned long long or double */
} text_form;

static bool text_is_whole(int32_t dtype) {
  return (dtype >= CI_UINT8 && dtype <= CI_INT64) || dtype == CI_UINT32 || dtype == CI_UINT64;
}

ci_status prepare_as_string(ci_kernel *k) {
  const int32_t dtype = k->in[0]->dtype;
  const bool floating = dtype == CI_FLOAT || dtype == CI_DOUBLE || dtype == CI_COMPLEX64 || dtype == CI_COMPLEX128;
  int64_t precision, scientific, shortest, width;
  ci_span fill;
  char digits[24] = "", points[24] = "", flag[2] = "";
  CI_TRY(k_attr_i(k, "precision", -1, &precision));
  CI_TRY(k_attr_i(k, "scientific", 0, &scientific));
  CI_TRY(k_attr_i(k, "shortest", 0, &shortest));
  CI_TRY(k_attr_i(k, "width", -1, &width));
  CI_TRY(k_attr_s(k, "fill", "", &fill));
  text_form *form = k_private(k, sizeof *form);
  if (form == NULL) return k_no_memory(k);
  if (!floating && dtype != CI_BOOL && !text_is_whole(dtype)) {
    return k_fail(k, CI_UNIMPLEMENTED, "no text of type %s", ci_dtype_name(dtype));
  }
  if (fill.length > 1 || (fill.length == 1 && memchr(" +-0#", fill.data[0], 5) == NULL)) {
    return k_fail(k, CI_INVALID_ARGUMENT, "Fill argument not supported: \"%.*s\"",
                  fill.length > 40 ? 40 : (int)fill.length, fill.data);
  }
  if (width > TEXT_WIDTH || precision > TEXT_WIDTH) {
    return k_fail(k, CI_INVALID_ARGUMENT, "width %lld and precision %lld, expected at most %d", (long long)width,
                  (long long)precision, TEXT_WIDTH);
  }
  if (scientific != 0 && shortest != 0) {
    return k_fail(k, CI_INVALID_ARGUMENT, "Cannot select both scientific and shortest notation");
  }
  if (!floating && dtype != CI_BOOL && (scientific != 0 || shortest != 0 || precision >= 0)) {
    return k_fail(k, CI_INVALID_ARGUMENT, "scientific, shortest and precision are not supported for %s",
                  ci_dtype_name(dtype));
  }
  if (width >= 0) (void)snprintf(digits, sizeof digits, "%d", (int)width);
  if (precision >= 0) (void)snprintf(points, sizeof points, ".%d", (int)precision);
  if (fill.length == 1) flag[0] = fill.data[0];
  const bool sign = dtype == CI_INT8 || dtype == CI_INT16 || dtype == CI_INT32 || dtype == CI_INT64;
  const char *letter = floating ? (scientific != 0 ? "e" : shortest != 0 ? "g" : "f") : sign ? "lld" : "llu";
  (void)snprintf(form->format, sizeof form->format, "%%%s%s%s%s", flag, digits, points, letter);
  return k_out_like(k, 0, CI_STRING, k->in[0]);
}

static size_t text_double(const text_form *form, double value, char *to) {
  static const uint64_t bits = (uint64_t)0x7ff8 << 48;
  if (value != value) memcpy(&value, &bits, sizeof value); /* without a sign */
  int written = snprintf(to, TEXT_ROOM / 2, form->format, value);
  return written < 0 ? 0 : (size_t)written;
}

static size_t text_complex(const text_form *form, double re, double im, char *to) {
  size_t n = 0;
  to[n++] = '(';
  n += text_double(form, re, to + n);
  to[n++] = ',';
  n += text_double(form, im, to + n);
  to[n++] = ')';
  return n;
}

/* Writes element i into `to`, of TEXT_ROOM bytes; returns its length. */
static size_t text_element(const text_form *form, const ci_value *x, int64_t i, char *to) {
  const void *data = x->data;
  long long whole = 0;
  int written;
  switch (x->dtype) {
    case CI_FLOAT: return text_double(form, (double)((const float *)data)[i], to);
    case CI_DOUBLE: return text_double(form, ((const double *)data)[i], to);
    case CI_COMPLEX64:
      return text_complex(form, (double)((const float *)data)[2 * i], (double)((const float *)data)[2 * i + 1], to);
    case CI_COMPLEX128: return text_complex(form, ((const double *)data)[2 * i], ((const double *)data)[2 * i + 1], to);
    case CI_BOOL:
      memcpy(to, ((const uint8_t *)data)[i] != 0 ? "true" : "false", 5);
      return ((const uint8_t *)data)[i] != 0 ? 4 : 5;
    case CI_INT8: whole = ((const int8_t *)data)[i]; break;
    case CI_INT16: whole = ((const int16_t *)data)[i]; break;
    case CI_INT32: whole = ((const int32_t *)data)[i]; break;
    case CI_INT64: whole = ((const int64_t *)data)[i]; break;
    case CI_UINT8: whole = ((const uint8_t *)data)[i]; break;
    case CI_UINT16: whole = ((const uint16_t *)data)[i]; break;
    case CI_UINT32: whole = ((const uint32_t *)data)[i]; break;
    default: {
      const unsigned long long large = ((const uint64_t *)data)[i];
      written = snprintf(to, TEXT_ROOM, form->format, large);
      return written < 0 ? 0 : (size_t)written;
    }
  }
  written = snprintf(to, TEXT_ROOM, form->format, whole);
  return written < 0 ? 0 : (size_t)written;
}

ci_status run_as_string(ci_kernel *k) {
  const text_form *form = k->private_memory;
  const ci_value *x = k->in[0];
  ci_string *y = k->out[0]->data;
  char one[TEXT_ROOM], *text;
  size_t bytes = 0;
  for (int64_t i = 0; i < x->count; i++) {
    if (!ci_add_size(bytes, text_element(form, x, i, one), &bytes)) return text_large(k);
  }
  CI_TRY(text_memory(k, bytes, &text));
  for (int64_t i = 0; i < x->count; i++) {
    y[i] = (ci_string){text, text_element(form, x, i, one)};
    text = text_put(text, one, y[i].length);
  }
  return CI_OK;
}

/* ---- bytes as numbers ---- */

/* The texts' length decides the shape, so it has to wait for them. */
ci_status prepare_decode_raw(ci_kernel *k) {
  const ci_value *x = k->in[0];
  const ci_string *s = x->data;
  int64_t dtype, little, dims[CI_MAX_RANK];
  CI_TRY(k_attr_i(k, "dtype", 0, &dtype));
  CI_TRY(k_attr_i(k, "little_endian", 1, &little));
  CI_TRY(text_wanted(k, 0));
  if (dtype < CI_FLOAT || dtype > CI_BFLOAT16 || dtype == CI_STRING) {
    return k_fail(k, CI_UNIMPLEMENTED, "bytes as elements of type %lld", (long long)dtype);
  }
  if (x->rank == CI_MAX_RANK) return k_fail(k, CI_INVALID_ARGUMENT, "the input has rank %d", x->rank);
  if (x->count > 0 && !k_known(k, 0)) return CI_PENDING;
  const size_t size = x->count > 0 ? s[0].length : 0, item = ci_dtype_size((int32_t)dtype);
  for (int64_t i = 0; i < x->count; i++) {
    if (s[i].length == size) continue;
    return k_fail(k, CI_INVALID_ARGUMENT,
                  "DecodeRaw requires input strings to all be the same size, but element %lld has size %zu != %zu",
                  (long long)i, s[i].length, size);
  }
  if (size % item != 0) {
    return k_fail(k, CI_INVALID_ARGUMENT,
                  "Input to DecodeRaw has length %zu that is not a multiple of %zu, the size of %s", size, item,
                  ci_dtype_name((int32_t)dtype));
  }
  memcpy(dims, x->dims, sizeof dims);
  dims[x->rank] = (int64_t)(size / item);
  return k_out(k, 0, (int32_t)dtype, x->rank + 1, dims);
}

ci_status run_decode_raw(ci_kernel *k) {
  const ci_value *x = k->in[0], *y = k->out[0];
  char *to = y->data;
  int64_t little;
  CI_TRY(k_attr_i(k, "little_endian", 1, &little));
  for (int64_t i = 0; i < x->count; i++) {
    const ci_string s = text_part(x, i);
    to = text_put(to, s.data, s.length);
  }
  char *bytes = y->data;
  const bool pairs = y->dtype == CI_COMPLEX64 || y->dtype == CI_COMPLEX128;
  const size_t item = ci_dtype_size(y->dtype) / (pairs ? 2 : 1);
  for (size_t i = 0; y->dtype == CI_BOOL && i < y->bytes; i++) bytes[i] = bytes[i] != 0;
  for (size_t i = 0; little == 0 && i < y->bytes; i += item) {
    for (size_t b = 0; b < item / 2; b++) {
      const char swap = bytes[i + b];
      bytes[i + b] = bytes[i + item - 1 - b];
      bytes[i + item - 1 - b] = swap;
    }
  }
  return CI_OK;
}
