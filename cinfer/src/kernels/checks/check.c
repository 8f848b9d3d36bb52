/* check.c - operators that check their inputs: Assert, CheckNumerics. */
#include <stdio.h>
#include <stdlib.h>

#include "../arithmetic/cast.h"

/* ---- text ---- */

enum { CHECK_MESSAGE_BYTES = 560 }; /* bytes of the text in an error */

typedef struct check_message {
  const struct ci_isa *isa;
  char str[CHECK_MESSAGE_BYTES];
  size_t used;
} check_message;

static void check_add(check_message *t, const char *str, size_t length) {
  size_t remaining = sizeof t->str - 1 - t->used;
  if (length > remaining) length = remaining;
  if (length > 0) memcpy(t->str + t->used, str, length);
  t->used += length;
  t->str[t->used] = '\0';
}

static void check_word(check_message *t, const char *word) { check_add(t, word, strlen(word)); }

/* As few digits as give the number back, of two choices. */
static void check_float(check_message *t, double value, bool wide) {
  char str[40];
  if (value != value) {
    check_word(t, "nan");
    return;
  }
  (void)snprintf(str, sizeof str, "%.*g", wide ? 15 : 6, value);
  double back = strtod(str, NULL);
  if (wide ? back != value : (float)back != (float)value) (void)snprintf(str, sizeof str, "%.*g", wide ? 17 : 8, value);
  check_word(t, str);
}

/* One element, at any alignment. */
static void check_element(check_message *t, const ci_value *v, int64_t i) {
  char str[32];
  uint64_t bits[2] = {0};
  double parts[2];
  float narrow[2];
  int64_t whole;
  ci_string string;
  ci_caster cast;
  const size_t item = ci_dtype_size(v->dtype);
  const bool integer = v->dtype == CI_INT8 || v->dtype == CI_INT16 || v->dtype == CI_INT32 || v->dtype == CI_INT64 ||
                       v->dtype == CI_UINT8 || v->dtype == CI_UINT16 || v->dtype == CI_UINT32 || v->dtype == CI_BOOL;
  if (item == 0 || item > sizeof bits) return;
  memcpy(bits, (const char *)v->data + (size_t)i * item, item);
  if (v->dtype == CI_STRING) {
    memcpy(&string, bits, sizeof string);
    check_add(t, string.data, string.length);
  } else if (v->dtype == CI_COMPLEX64 || v->dtype == CI_COMPLEX128) {
    const bool wide = v->dtype == CI_COMPLEX128;
    memcpy(narrow, bits, sizeof narrow);
    memcpy(parts, bits, sizeof parts);
    check_word(t, "(");
    check_float(t, wide ? parts[0] : (double)narrow[0], wide);
    check_word(t, ",");
    check_float(t, wide ? parts[1] : (double)narrow[1], wide);
    check_word(t, ")");
  } else if (v->dtype == CI_UINT64) {
    (void)snprintf(str, sizeof str, "%llu", (unsigned long long)bits[0]);
    check_word(t, str);
  } else if (integer && ci_caster_make(&cast, t->isa, v->dtype, CI_INT64, true, CI_ROUND_UP)) {
    ci_caster_run(&cast, &whole, bits, 1);
    (void)snprintf(str, sizeof str, "%lld", (long long)whole);
    check_word(t, str);
  } else if (ci_caster_make(&cast, t->isa, v->dtype, CI_DOUBLE, true, CI_ROUND_UP)) {
    ci_caster_run(&cast, parts, bits, 1);
    check_float(t, parts[0], v->dtype == CI_DOUBLE);
  }
}

/* "1 2 3..." for a vector, "[1 2][3 4]" for a matrix, at most `most` elements (negative: all). */
static void check_value(check_message *t, const ci_value *v, int64_t most) {
  const int64_t limit = most < 0 || most > v->count ? v->count : most;
  for (int64_t i = 0; i < limit && t->used + 1 < sizeof t->str; i++) {
    int64_t below = 1; /* brackets open and close where an outer index begins and ends */
    for (int d = v->rank - 1; d >= 1; d--) {
      below *= v->dims[d];
      if (i % below == 0) check_word(t, "[");
    }
    check_element(t, v, i);
    bool last = i + 1 == limit, row = v->rank > 0 && (i + 1) % v->dims[v->rank - 1] == 0;
    below = 1;
    for (int d = v->rank - 1; d >= 1; d--) {
      below *= v->dims[d];
      if (last || (i + 1) % below == 0) check_word(t, "]");
    }
    if (!last && !row) check_word(t, " ");
  }
  if (v->count > limit) check_word(t, "...");
}

/* ---- Assert ---- */

ci_status ci_prepare_assert(ci_kernel *k) {
  char str[160];
  int64_t most;
  CI_TRY(ci_k_attr_i(k, "summarize", 3, &most));
  if (k->in[0]->dtype == CI_BOOL && k->in[0]->count == 1) return CI_OK;
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "the condition is %s, expected one bool",
                   ci_value_describe(k->in[0], str, sizeof str));
}

ci_status ci_run_assert(ci_kernel *k) {
  int64_t most;
  if (*(const uint8_t *)k->in[0]->data != 0) return CI_OK;
  CI_TRY(ci_k_attr_i(k, "summarize", 3, &most));
  check_message message = {.isa = k->isa};
  for (int i = 1; i < k->n_in; i++) {
    check_word(&message, i > 1 ? " [" : "[");
    check_value(&message, k->in[i], most);
    check_word(&message, "]");
  }
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "assertion failed: %s", message.str);
}

/* ---- CheckNumerics ---- */

ci_status ci_prepare_check_numerics(ci_kernel *k) {
  const ci_value *x = k->in[0];
  ci_span message;
  CI_TRY(ci_k_attr_s(k, "message", "", &message));
  if (x->dtype != CI_FLOAT && x->dtype != CI_DOUBLE && x->dtype != CI_FLOAT16 && x->dtype != CI_BFLOAT16) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "input 0 has type %s, for which this operator has no kernel; it takes floats",
                     ci_dtype_name(x->dtype));
  }
  CI_TRY(ci_k_out_like(k, 0, x->dtype, x));
  ci_k_alias(k, 0, 0);
  return CI_OK;
}

/* Whether an element is infinite (1) or no number (2), by its bits. */
static int check_bits(const ci_value *x, int64_t i) {
  const char *data = x->data;
  uint64_t bits = 0, infinity;
  uint32_t narrow;
  uint16_t half;
  if (x->dtype == CI_DOUBLE) {
    memcpy(&bits, data + 8 * i, 8);
    infinity = (uint64_t)0x7ff << 52;
    bits &= ~((uint64_t)1 << 63);
  } else if (x->dtype == CI_FLOAT) {
    memcpy(&narrow, data + 4 * i, 4);
    infinity = 0x7f800000u;
    bits = narrow & 0x7fffffffu;
  } else {
    memcpy(&half, data + 2 * i, 2);
    infinity = x->dtype == CI_FLOAT16 ? 0x7c00u : 0x7f80u;
    bits = half & 0x7fffu;
  }
  return bits < infinity ? 0 : bits == infinity ? 1 : 2;
}

ci_status ci_run_check_numerics(ci_kernel *k) {
  static const char *const names[] = {"", "Inf", "NaN", "Inf and NaN"};
  const ci_value *x = k->in[0];
  int found = 0;
  ci_span message;
  for (int64_t i = 0; i < x->count && found != 3; i++) found |= check_bits(x, i);
  if (found == 0) return CI_OK;
  CI_TRY(ci_k_attr_s(k, "message", "", &message));
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "%.*s : Tensor had %s values",
                   message.length > 400 ? 400 : (int)message.length, message.data, names[found]);
}
