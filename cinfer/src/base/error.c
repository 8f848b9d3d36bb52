/* error.c - statuses, messages, element types. */
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

void ci_printable(char *text, bool lines) {
  for (size_t left = strlen(text); left > 0;) {
    const uint8_t first = (uint8_t)text[0];
    const size_t n = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    bool fits = n <= left && ci_utf8_valid((ci_span){text, n});
    if (first < 0x20) fits = lines && (first == '\n' || first == '\t');
    if (first == 0x7f || (first == 0xc2 && (uint8_t)text[1] < 0xa0)) fits = false; /* controls beyond ASCII's */
    if (!fits) text[0] = '?';
    text += fits ? n : 1;
    left -= fits ? n : 1;
  }
}

/* What a name or text adds is no line of the message: only a format has lines. */
ci_status ci_vfail(ci_error *error, ci_status status, const char *format, va_list arguments) {
  if (error == NULL) return status;
  error->status = status;
  error->node[0] = error->op[0] = error->source[0] = '\0';
  (void)vsnprintf(error->message, sizeof error->message, format, arguments); /* no format of ours can fail */
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

/* A size that holds no more than itself is that of a struct that nobody filled: its limits would not count. */
ci_status ci_take_options(void *options, size_t size, const void *given, const char *defaults, ci_error *error) {
  size_t given_size;
  if (given == NULL) return CI_OK;
  memcpy(&given_size, given, sizeof given_size);
  if (given_size <= sizeof given_size) {
    return ci_fail(error, CI_INVALID_ARGUMENT, "the options' size is %zu: begin with those that %s() gives", given_size,
                   defaults);
  }
  memcpy(options, given, given_size < size ? given_size : size);
  return CI_OK;
}

/* ---- element types ---- */

/* The 4- and 2-bit types take a byte an element in memory, the code in its low bits; files pack them. */
static const struct {
  const char *name;
  uint8_t bytes; /* in memory */
  uint8_t bits;  /* 0: all of them */
} error_dtypes[] = {
    {"undefined", 0, 0},      {"float32", 4, 0},    {"uint8", 1, 0},
    {"int8", 1, 0},           {"uint16", 2, 0},     {"int16", 2, 0},
    {"int32", 4, 0},          {"int64", 8, 0},      {"string", sizeof(ci_string), 0},
    {"bool", 1, 0},           {"float16", 2, 0},    {"float64", 8, 0},
    {"uint32", 4, 0},         {"uint64", 8, 0},     {"complex64", 8, 0},
    {"complex128", 16, 0},    {"bfloat16", 2, 0},   {"float8e4m3fn", 1, 0},
    {"float8e4m3fnuz", 1, 0}, {"float8e5m2", 1, 0}, {"float8e5m2fnuz", 1, 0},
    {"uint4", 1, 4},          {"int4", 1, 4},       {"float4e2m1", 1, 4},
    {"float8e8m0", 1, 0},     {"uint2", 1, 2},      {"int2", 1, 2},
};
enum { ERROR_DTYPES = sizeof error_dtypes / sizeof error_dtypes[0] };

size_t ci_dtype_size(int32_t dtype) { return dtype > 0 && dtype < ERROR_DTYPES ? error_dtypes[dtype].bytes : 0; }

int ci_dtype_bits(int32_t dtype) {
  const bool packed = dtype > 0 && dtype < ERROR_DTYPES && error_dtypes[dtype].bits != 0;
  return packed ? error_dtypes[dtype].bits : (int)(8 * ci_dtype_size(dtype));
}

size_t ci_packed_bytes(int32_t dtype, size_t count) {
  const size_t each = (size_t)(8 / ci_dtype_bits(dtype));
  return count / each + (count % each != 0);
}

void ci_pack(int32_t dtype, uint8_t *to, const uint8_t *from, size_t count) {
  const size_t bits = (size_t)ci_dtype_bits(dtype), each = 8 / bits;
  memset(to, 0, ci_packed_bytes(dtype, count));
  for (size_t i = 0; i < count; i++) to[i / each] |= (uint8_t)((from[i] & ((1u << bits) - 1)) << i % each * bits);
}

bool ci_unpack(int32_t dtype, uint8_t *to, const uint8_t *from, size_t count) {
  const size_t bits = (size_t)ci_dtype_bits(dtype), each = 8 / bits;
  for (size_t i = 0; i < count; i++)
    to[i] = (uint8_t)((unsigned)from[i / each] >> i % each * bits & ((1u << bits) - 1));
  return count % each == 0 || from[count / each] >> count % each * bits == 0;
}

const char *ci_dtype_name(int32_t dtype) {
  if (dtype == CI_SEQUENCE) return "sequence";
  if (dtype == CI_NOTHING) return "nothing";
  return dtype >= 0 && dtype < ERROR_DTYPES ? error_dtypes[dtype].name : "unknown";
}

/* ---- library ---- */

uint32_t ci_version(void) { return CI_VERSION_MAJOR << 16 | CI_VERSION_MINOR << 8 | CI_VERSION_PATCH; }
uint32_t ci_abi(void) { return CI_ABI; }
uint32_t ci_numerics(void) { return CI_NUMERICS; }
