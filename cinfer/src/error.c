/* error.c - statuses, messages, element types. */
#include <stdio.h>
#include <string.h>

#include "ci_common.h"

const char *ci_status_name(ci_status status) {
  switch (status) {
    case CI_OK: return "OK";
    case CI_CANCELLED: return "CANCELLED";
    case CI_INVALID_ARGUMENT: return "INVALID_ARGUMENT";
    case CI_NOT_FOUND: return "NOT_FOUND";
    case CI_ALREADY_EXISTS: return "ALREADY_EXISTS";
    case CI_RESOURCE_EXHAUSTED: return "RESOURCE_EXHAUSTED";
    case CI_FAILED_PRECONDITION: return "FAILED_PRECONDITION";
    case CI_OUT_OF_RANGE: return "OUT_OF_RANGE";
    case CI_UNIMPLEMENTED: return "UNIMPLEMENTED";
    case CI_INTERNAL: return "INTERNAL";
    case CI_UNAVAILABLE: return "UNAVAILABLE";
    case CI_DATA_LOSS: return "DATA_LOSS";
    default: return "UNKNOWN";
  }
}

ci_status ci_vfail(ci_error *error, ci_status status, const char *format, va_list arguments) {
  if (error == NULL) return status;
  error->status = status;
  error->node[0] = error->op[0] = error->source[0] = '\0';
  if (vsnprintf(error->message, sizeof error->message, format, arguments) < 0) error->message[0] = '\0';
  return status;
}

ci_status ci_fail(ci_error *error, ci_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  ci_vfail(error, status, format, arguments);
  va_end(arguments);
  return status;
}

/* ---- element types ---- */

static const struct {
  const char *name;
  uint8_t bytes; /* 0: no whole bytes */
} error_dtypes[] = {
    {"undefined", 0},      {"float32", 4},    {"uint8", 1},
    {"int8", 1},           {"uint16", 2},     {"int16", 2},
    {"int32", 4},          {"int64", 8},      {"string", sizeof(ci_string)},
    {"bool", 1},           {"float16", 2},    {"float64", 8},
    {"uint32", 4},         {"uint64", 8},     {"complex64", 8},
    {"complex128", 16},    {"bfloat16", 2},   {"float8e4m3fn", 1},
    {"float8e4m3fnuz", 1}, {"float8e5m2", 1}, {"float8e5m2fnuz", 1},
    {"uint4", 0},          {"int4", 0},       {"float4e2m1", 0},
    {"float8e8m0", 1},     {"uint2", 0},      {"int2", 0},
};
enum { ERROR_DTYPES = sizeof error_dtypes / sizeof error_dtypes[0] };

size_t ci_dtype_size(int32_t dtype) { return dtype > 0 && dtype < ERROR_DTYPES ? error_dtypes[dtype].bytes : 0; }

const char *ci_dtype_name(int32_t dtype) {
  return dtype >= 0 && dtype < ERROR_DTYPES ? error_dtypes[dtype].name : "unknown";
}

/* ---- library ---- */

uint32_t ci_version(void) { return CI_VERSION_MAJOR << 16 | CI_VERSION_MINOR << 8 | CI_VERSION_PATCH; }
uint32_t ci_abi(void) { return CI_ABI; }
uint32_t ci_numerics(void) { return CI_NUMERICS; }
