/* span.c - spans of bytes: equality and order. */
#include <string.h>

#include "ci_common.h"

bool ci_span_same(ci_span a, ci_span b) {
  return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

int ci_span_order(ci_span a, ci_span b) {
  size_t common = a.length < b.length ? a.length : b.length;
  int order = common == 0 ? 0 : memcmp(a.data, b.data, common);
  if (order != 0 || a.length == b.length) return order;
  return a.length < b.length ? -1 : 1;
}

bool ci_span_is(ci_span span, const char *str) {
  return span.length == strlen(str) && memcmp(span.data, str, span.length) == 0; /* str is not empty */
}
