/* string_numbers.c - StringToNumber and AsString: strings to numbers and back; DecodeRaw: bytes as numbers. */
#include <stdio.h>
#include <stdlib.h>

#include "strings.h"

enum {
  STRING_NUMBER = 1000,
  STRING_WIDTH = 100,
  STRING_CAPACITY = 1024,
  STRING_FEWEST = -2
}; /* a number's text, its format, the capacity for it; a precision */

static ci_status words_like(ci_kernel *k, int32_t dtype) {
  CI_TRY(ci_string_input(k, 0));
  return ci_k_out_like(k, 0, dtype, k->in[0]);
}

/* ---- the point of a number ---- */

enum { STRING_POINT = 8 };

/* The decimal point that the C library writes, which a program may have chosen by setlocale; returns its length. */
static size_t words_point(char point[STRING_POINT]) {
  char half[STRING_POINT + 2];
  const int written = snprintf(half, sizeof half, "%.1f", 0.5);
  const bool fits = written > 2 && written < (int)sizeof half;
  const size_t length = fits ? (size_t)written - 2 : 1;
  memcpy(point, fits ? half + 1 : ".", length);
  return length;
}

/* Replaces `from`, where it occurs in a terminated string, by `to`, if the capacity suffices; returns the string's
 * length. */
static size_t words_exchange(char *str, const char *from, size_t from_length, const char *to, size_t to_length) {
  const size_t length = strlen(str);
  for (size_t i = 0; i + from_length <= length; i++) {
    if (memcmp(str + i, from, from_length) != 0) continue;
    memmove(str + i + to_length, str + i + from_length, length - i - from_length + 1);
    memcpy(str + i, to, to_length);
    return length - from_length + to_length;
  }
  return length;
}

/* ---- numbers ---- */

static const char *words_digits(const char *p, bool hexadecimal) {
  while ((*p >= '0' && *p <= '9') || (hexadecimal && (*p | 32) >= 'a' && (*p | 32) <= 'f')) p++;
  return p;
}

static bool words_word(const char *p, const char *word) { /* without regard to case */
  for (; *word != '\0'; p++, word++) {
    if ((*p | 32) != *word) return false;
  }
  return *p == '\0';
}

static bool words_is_float(const char *p) {
  if (*p == '+' || *p == '-') p++;
  if (words_word(p, "inf") || words_word(p, "infinity") || words_word(p, "nan")) return true;
  const bool hexadecimal = p[0] == '0' && (p[1] | 32) == 'x';
  if (hexadecimal) p += 2;
  const char *whole = p;
  p = words_digits(p, hexadecimal);
  bool digits = p > whole;
  if (*p == '.') {
    const char *part = ++p;
    p = words_digits(p, hexadecimal);
    digits = digits || p > part;
  }
  if (digits && (*p | 32) == (hexadecimal ? 'p' : 'e')) {
    p += p[1] == '+' || p[1] == '-' ? 2 : 1;
    const char *power = p;
    p = words_digits(p, false);
    digits = p > power;
  }
  return digits && *p == '\0';
}

static bool words_read_int(const char *p, int64_t least, int64_t most, int64_t *number) {
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

ci_status ci_prepare_string_to_number(ci_kernel *k) {
  int64_t dtype;
  CI_TRY(ci_k_attr_i(k, "dtype", CI_FLOAT, &dtype));
  if (dtype != CI_FLOAT && dtype != CI_DOUBLE && dtype != CI_INT32 && dtype != CI_INT64) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "numbers of type %lld cannot be read from strings", (long long)dtype);
  }
  return words_like(k, (int32_t)dtype);
}

static bool words_read(ci_string s, ci_value *y, int64_t i) {
  char word[STRING_NUMBER + STRING_POINT], point[STRING_POINT];
  int64_t whole;
  s = ci_string_stripped(s);
  if (s.length > STRING_NUMBER || s.length == 0 || memchr(s.data, '\0', s.length) != NULL) return false;
  memcpy(word, s.data, s.length);
  word[s.length] = '\0';
  if (y->dtype == CI_INT32) {
    if (!words_read_int(word, INT32_MIN, INT32_MAX, &whole)) return false;
    ((int32_t *)y->data)[i] = (int32_t)whole;
  } else if (y->dtype == CI_INT64) {
    if (!words_read_int(word, INT64_MIN, INT64_MAX, &whole)) return false;
    ((int64_t *)y->data)[i] = whole;
  } else {
    if (!words_is_float(word)) return false;
    (void)words_exchange(word, ".", 1, point, words_point(point));
    const double number = strtod(word, NULL);
    if (y->dtype == CI_DOUBLE) ((double *)y->data)[i] = number;
    else ((float *)y->data)[i] = (float)number;
  }
  return true;
}

ci_status ci_run_string_to_number(ci_kernel *k) {
  for (int64_t i = 0; i < k->in[0]->count; i++) {
    const ci_string s = ((const ci_string *)k->in[0]->data)[i];
    if (words_read(s, k->out[0], i)) continue;
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "StringToNumberOp could not correctly convert string: %.*s",
                     s.length > 200 ? 200 : (int)s.length, s.data == NULL ? "" : s.data);
  }
  return CI_OK;
}

typedef struct words_form { /* private memory of AsString */
  char format[64]; /* of printf, for long long, unsigned long long or double */
  bool fewest;     /* as few digits as distinguish a number from all others of its type */
  bool narrow;     /* that is float32 */
} words_form;

static bool words_is_whole(int32_t dtype) {
  return (dtype >= CI_UINT8 && dtype <= CI_INT64) || dtype == CI_UINT32 || dtype == CI_UINT64;
}

ci_status ci_prepare_as_string(ci_kernel *k) {
  const int32_t dtype = k->in[0]->dtype;
  const bool floating = dtype == CI_FLOAT || dtype == CI_DOUBLE || dtype == CI_COMPLEX64 || dtype == CI_COMPLEX128;
  int64_t precision, scientific, shortest, width;
  ci_span fill;
  char digits[24] = "", points[24] = "", flag[2] = "";
  CI_TRY(ci_k_attr_i(k, "precision", -1, &precision));
  CI_TRY(ci_k_attr_i(k, "scientific", 0, &scientific));
  CI_TRY(ci_k_attr_i(k, "shortest", 0, &shortest));
  CI_TRY(ci_k_attr_i(k, "width", -1, &width));
  CI_TRY(ci_k_attr_s(k, "fill", "", &fill));
  words_form *form = ci_k_private(k, sizeof *form);
  if (form == NULL) return ci_k_no_memory(k);
  if (!floating && dtype != CI_BOOL && !words_is_whole(dtype)) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "no string form of type %s", ci_dtype_name(dtype));
  }
  if (fill.length > 1 || (fill.length == 1 && memchr(" +-0#", fill.data[0], 5) == NULL)) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "Fill argument not supported: \"%.*s\"",
                     fill.length > 40 ? 40 : (int)fill.length, fill.data);
  }
  if (width > STRING_WIDTH || precision > STRING_WIDTH) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "width %lld and precision %lld, expected at most %d", (long long)width,
                     (long long)precision, STRING_WIDTH);
  }
  if (scientific != 0 && shortest != 0) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "Cannot select both scientific and shortest notation");
  }
  if (!floating && dtype != CI_BOOL && (scientific != 0 || shortest != 0 || precision >= 0)) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "scientific, shortest and precision are not supported for %s",
                     ci_dtype_name(dtype));
  }
  if (width >= 0) (void)snprintf(digits, sizeof digits, "%d", (int)width);
  if (precision >= 0) (void)snprintf(points, sizeof points, ".%d", (int)precision);
  if (fill.length == 1) flag[0] = fill.data[0];
  const bool sign = dtype == CI_INT8 || dtype == CI_INT16 || dtype == CI_INT32 || dtype == CI_INT64;
  const char *letter = floating ? (scientific != 0 ? "e" : shortest != 0 ? "g" : "f") : sign ? "lld" : "llu";
  (void)snprintf(form->format, sizeof form->format, "%%%s%s%s%s", flag, digits, points, letter);
  form->fewest = precision == STRING_FEWEST && (dtype == CI_FLOAT || dtype == CI_DOUBLE);
  form->narrow = dtype == CI_FLOAT;
  return ci_k_out_like(k, 0, CI_STRING, k->in[0]);
}

/* Plain from 1e-4 to 1e16, else with an exponent. */
static int words_fewest(double value, bool narrow, char *to) {
  double read;
  int digits = 0;
  do {
    (void)snprintf(to, STRING_CAPACITY / 2, "%.*e", digits++, value);
    read = strtod(to, NULL);
  } while (digits < 17 && (narrow ? (double)(float)read : read) != value);
  const double size = value < 0 ? -value : value;
  if (size != 0 && !(size >= 1e-4 && size < 1e16)) return (int)strlen(to);
  const int points = digits - 1 - atoi(strchr(to, 'e') + 1);
  return snprintf(to, STRING_CAPACITY / 2, "%.*f", points > 1 ? points : 1, read);
}

static size_t words_double(const words_form *form, double value, char *to) {
  static const uint64_t bits = (uint64_t)0x7ff8 << 48;
  if (value != value) memcpy(&value, &bits, sizeof value); /* without a sign */
  char point[STRING_POINT];
  const int length =
      form->fewest ? words_fewest(value, form->narrow, to) : snprintf(to, STRING_CAPACITY / 2, form->format, value);
  if (length < 0) return 0;
  return words_exchange(to, point, words_point(point), ".", 1);
}

static size_t words_complex(const words_form *form, double re, double im, char *to) {
  size_t n = 0;
  to[n++] = '(';
  n += words_double(form, re, to + n);
  to[n++] = ',';
  n += words_double(form, im, to + n);
  to[n++] = ')';
  return n;
}

/* Writes element i into `to`, which has STRING_CAPACITY bytes; returns its length. */
static size_t words_element(const words_form *form, const ci_value *x, int64_t i, char *to) {
  const void *data = x->data;
  long long whole = 0;
  int written;
  switch (x->dtype) {
    case CI_FLOAT: return words_double(form, (double)((const float *)data)[i], to);
    case CI_DOUBLE: return words_double(form, ((const double *)data)[i], to);
    case CI_COMPLEX64:
      return words_complex(form, (double)((const float *)data)[2 * i], (double)((const float *)data)[2 * i + 1], to);
    case CI_COMPLEX128:
      return words_complex(form, ((const double *)data)[2 * i], ((const double *)data)[2 * i + 1], to);
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
      written = snprintf(to, STRING_CAPACITY, form->format, large);
      return written < 0 ? 0 : (size_t)written;
    }
  }
  written = snprintf(to, STRING_CAPACITY, form->format, whole);
  return written < 0 ? 0 : (size_t)written;
}

ci_status ci_run_as_string(ci_kernel *k) {
  const words_form *form = k->private_memory;
  const ci_value *x = k->in[0];
  ci_string *y = k->out[0]->data;
  char one[STRING_CAPACITY], *str;
  size_t bytes = 0;
  for (int64_t i = 0; i < x->count; i++) {
    CI_TRY(ci_string_add(k, &bytes, words_element(form, x, i, one)));
  }
  CI_TRY(ci_string_memory(k, bytes, &str));
  for (int64_t i = 0; i < x->count; i++) {
    y[i] = (ci_string){str, words_element(form, x, i, one)};
    str = ci_string_append(str, one, y[i].length);
  }
  return CI_OK;
}

/* ---- bytes as numbers ---- */

/* The lengths of the strings decide the shape, so prepare has to wait for them. */
ci_status ci_prepare_decode_raw(ci_kernel *k) {
  const ci_value *x = k->in[0];
  const ci_string *s = x->data;
  int64_t dtype, little, dims[CI_MAX_RANK];
  CI_TRY(ci_k_attr_i(k, "dtype", 0, &dtype));
  CI_TRY(ci_k_attr_i(k, "little_endian", 1, &little));
  CI_TRY(ci_string_input(k, 0));
  if (dtype < CI_FLOAT || dtype > CI_BFLOAT16 || dtype == CI_STRING) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "bytes as elements of type %lld", (long long)dtype);
  }
  if (x->rank == CI_MAX_RANK) return ci_k_fail(k, CI_INVALID_ARGUMENT, "the input has rank %d", x->rank);
  if (x->count > 0 && !ci_k_known(k, 0)) return CI_PENDING;
  const size_t size = x->count > 0 ? s[0].length : 0, item = ci_dtype_size((int32_t)dtype);
  for (int64_t i = 0; i < x->count; i++) {
    if (s[i].length == size) continue;
    return ci_k_fail(k, CI_INVALID_ARGUMENT,
                     "DecodeRaw requires input strings to all be the same size, but element %lld has size %zu != %zu",
                     (long long)i, s[i].length, size);
  }
  if (size % item != 0) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT,
                     "Input to DecodeRaw has length %zu that is not a multiple of %zu, the size of %s", size, item,
                     ci_dtype_name((int32_t)dtype));
  }
  memcpy(dims, x->dims, sizeof dims);
  dims[x->rank] = (int64_t)(size / item);
  return ci_k_out(k, 0, (int32_t)dtype, x->rank + 1, dims);
}

ci_status ci_run_decode_raw(ci_kernel *k) {
  const ci_value *x = k->in[0], *y = k->out[0];
  char *to = y->data;
  int64_t little;
  CI_TRY(ci_k_attr_i(k, "little_endian", 1, &little));
  for (int64_t i = 0; i < x->count; i++) {
    const ci_string s = ((const ci_string *)x->data)[i];
    to = ci_string_append(to, s.data, s.length);
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
