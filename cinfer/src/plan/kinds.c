/* kinds.c - checks the element types of an operator's inputs against the letters of ops.def. */
#include "kinds.h"

#include "../session/session.h"

#define KINDS_OF(dtype) (1u << (dtype))
#define KINDS_HALVES (KINDS_OF(CI_FLOAT16) | KINDS_OF(CI_BFLOAT16))
#define KINDS_SINGLE (KINDS_OF(CI_FLOAT) | KINDS_HALVES)
#define KINDS_FLOATS (KINDS_SINGLE | KINDS_OF(CI_DOUBLE))
#define KINDS_UNSIGNED (KINDS_OF(CI_UINT8) | KINDS_OF(CI_UINT16) | KINDS_OF(CI_UINT32) | KINDS_OF(CI_UINT64))
#define KINDS_INDICES (KINDS_OF(CI_INT32) | KINDS_OF(CI_INT64))
#define KINDS_INTEGERS (KINDS_UNSIGNED | KINDS_INDICES | KINDS_OF(CI_INT8) | KINDS_OF(CI_INT16))
#define KINDS_NUMBERS (KINDS_FLOATS | KINDS_INTEGERS)
#define KINDS_WIDE (KINDS_INDICES | KINDS_OF(CI_UINT32) | KINDS_OF(CI_UINT64))
#define KINDS_BOOL KINDS_OF(CI_BOOL)
#define KINDS_STRING KINDS_OF(CI_STRING)
#define KINDS_COMPLEX (KINDS_OF(CI_COMPLEX64) | KINDS_OF(CI_COMPLEX128))

/* A letter means one type for all inputs that have it, where `same` is set; under `computed` float16 and bfloat16
 * count as float32, in which the kernel computes. */
typedef struct kinds_row {
  char letter;
  bool computed, same;
  uint32_t types; /* a bit an element type */
  const char *words;
} kinds_row;

static const kinds_row kinds_table[] = {
    {'A', false, true, UINT32_MAX, "any type"},
    {'E', false, true, UINT32_MAX, "any type"},
    {'P', false, true, KINDS_NUMBERS | KINDS_COMPLEX | KINDS_BOOL | KINDS_STRING, "types that are compared"},
    {'N', true, true, KINDS_NUMBERS, "numbers"},
    {'M', true, true, KINDS_NUMBERS, "numbers"},
    {'K', true, true, KINDS_NUMBERS, "numbers"},
    {'X', true, true, KINDS_NUMBERS | KINDS_BOOL, "numbers or bool"},
    {'F', true, true, KINDS_FLOATS, "floats"},
    {'H', true, true, KINDS_FLOATS, "floats"},
    {'V', false, true, KINDS_OF(CI_FLOAT), "float32"},
    {'G', true, true, KINDS_SINGLE, "float32, float16 or bfloat16"},
    {'W', true, true, KINDS_FLOATS | KINDS_WIDE, "floats, int32, int64, uint32 or uint64"},
    {'B', false, true, KINDS_BOOL, "bool"},
    {'S', false, true, KINDS_STRING, "strings"},
    {'T', false, true, KINDS_INDICES | KINDS_STRING, "int32, int64 or strings"},
    {'D', false, false, KINDS_OF(CI_INT32), "int32"},
    {'I', false, false, KINDS_INDICES, "int32 or int64"},
    {'J', false, false, KINDS_INDICES, "int32 or int64"},
    {'L', false, false, KINDS_OF(CI_INT64), "int64"},
    {'Z', false, true, KINDS_INTEGERS, "integers"},
    {'C', false, true, KINDS_COMPLEX, "complex64 or complex128"},
    {'R', false, true, KINDS_OF(CI_FLOAT) | KINDS_OF(CI_DOUBLE), "float32 or float64"},
};

static const kinds_row *kinds_of(char letter) {
  const kinds_row *row = kinds_table;
  while (row->letter != letter) row++; /* tests/ops/test_operator_dtypes.py: every letter of ops.def has a row */
  return row;
}

static ci_status kinds_equal(ci_kernel *k, int i, int first) {
  return ci_k_fail(k, CI_INVALID_ARGUMENT, "input %d has type %s, input %d has %s; they must be equal: cast one", i,
                   ci_dtype_name(k->in[i]->dtype), first, ci_dtype_name(k->in[first]->dtype));
}

/* The element type that the kernel is given for a value of this one. */
static int32_t kinds_seen(const kinds_row *row, int32_t dtype) {
  return row->computed && (KINDS_OF(dtype) & KINDS_HALVES) != 0 ? CI_FLOAT : dtype;
}

ci_status ci_kinds_check(ci_kernel *k, const char *letters) {
  int firsts[sizeof kinds_table / sizeof kinds_table[0]];
  for (size_t r = 0; r < sizeof firsts / sizeof firsts[0]; r++) firsts[r] = -1;
  const char *at = letters;
  for (int i = 0; i < k->n_in && at != NULL && *at != '\0'; i++) {
    const kinds_row *row = kinds_of(*at);
    if (at[1] != '*') at++;
    if (k->in[i] == NULL || k->in[i]->dtype <= 0 || k->in[i]->dtype > CI_INT2) continue;
    const int32_t dtype = k->in[i]->dtype;
    if ((row->types & KINDS_OF(dtype)) == 0) {
      return ci_k_fail(k, CI_UNIMPLEMENTED, "input %d has type %s, for which this operator has no kernel; it takes %s",
                       i, ci_dtype_name(dtype), row->words);
    }
    int *first = &firsts[row - kinds_table];
    if (*first < 0) *first = i;
    if (row->same && kinds_seen(row, dtype) != kinds_seen(row, k->in[*first]->dtype)) return kinds_equal(k, i, *first);
  }
  return CI_OK;
}
