/* error.c - error messages, and the names of statuses and element types. */
#include <stdio.h>
#include <string.h>

#include "wire.h"

const char *ci_status_name(ci_status status) {
  switch (status) {
    case CI_OK: return "OK";
    case CI_CANCELLED: return "CANCELLED";
    case CI_UNKNOWN: return "UNKNOWN";
    case CI_INVALID_ARGUMENT: return "INVALID_ARGUMENT";
    case CI_DEADLINE_EXCEEDED: return "DEADLINE_EXCEEDED";
    case CI_NOT_FOUND: return "NOT_FOUND";
    case CI_ALREADY_EXISTS: return "ALREADY_EXISTS";
    case CI_RESOURCE_EXHAUSTED: return "RESOURCE_EXHAUSTED";
    case CI_FAILED_PRECONDITION: return "FAILED_PRECONDITION";
    case CI_OUT_OF_RANGE: return "OUT_OF_RANGE";
    case CI_UNIMPLEMENTED: return "UNIMPLEMENTED";
    case CI_INTERNAL: return "INTERNAL";
    case CI_UNAVAILABLE: return "UNAVAILABLE";
    case CI_DATA_LOSS: return "DATA_LOSS";
    case 7: return "PERMISSION_DENIED"; /* the library has no use for these, functions of the program may */
    case 10: return "ABORTED";
    case 16: return "UNAUTHENTICATED";
    default: return "UNKNOWN";
  }
}

void ci_printable(char *str, bool lines) {
  for (size_t left = strlen(str); left > 0;) {
    const uint8_t first = (uint8_t)str[0];
    const size_t n = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    bool fits = n <= left && ci_utf8_valid((ci_span){str, n});
    if (first < 0x20) fits = lines && (first == '\n' || first == '\t');
    if (first == 0x7f || (first == 0xc2 && (uint8_t)str[1] < 0xa0)) fits = false; /* controls beyond ASCII's */
    if (!fits) str[0] = '?';
    str += fits ? n : 1;
    left -= fits ? n : 1;
  }
}

/* A line end in a name or string that is inserted does not start a line of the message: only a format has lines. */
ci_status ci_vfail(ci_error *error, ci_status status, const char *format, va_list arguments) {
  if (error == NULL) return status;
  error->status = status;
  error->node[0] = error->op[0] = error->source[0] = '\0';
  (void)vsnprintf(error->message, sizeof error->message, format, arguments); /* the library's formats cannot fail */
  ci_printable(error->message, strchr(format, '\n') != NULL);
  return status;
}

ci_status ci_fail(ci_error *error, ci_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  ci_vfail(error, status, format, arguments);
  va_end(arguments);
  return status;
}
