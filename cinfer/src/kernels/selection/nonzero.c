/* nonzero.c - NonZero: the coordinates of the elements that are not 0, in row-major order. */
#include "../ci_kernel.h"
#include "../arithmetic/elementwise.h"

/* The element's bits without the sign of a float, so that -0 is 0 and NaN is not; of a string its length. */
static uint64_t nonzero_bits(const ci_value *x, int64_t i) {
  const void *data = x->data;
  switch (x->dtype) {
    case CI_FLOAT: return ((const uint32_t *)data)[i] & 0x7fffffffu;
    case CI_DOUBLE: return ((const uint64_t *)data)[i] & ~((uint64_t)1 << 63);
    case CI_FLOAT16:
    case CI_BFLOAT16: return ((const uint16_t *)data)[i] & 0x7fffu;
    case CI_COMPLEX64: return ((const uint64_t *)data)[i] & 0x7fffffff7fffffffu;
    case CI_COMPLEX128: return (((const uint64_t *)data)[2 * i] | ((const uint64_t *)data)[2 * i + 1]) << 1;
    case CI_STRING: return ((const ci_string *)data)[i].length;
    case CI_INT32:
    case CI_UINT32: return ((const uint32_t *)data)[i];
    case CI_INT64:
    case CI_UINT64: return ((const uint64_t *)data)[i];
    case CI_INT16:
    case CI_UINT16: return ((const uint16_t *)data)[i];
    case CI_FLOAT8E4M3FN:
    case CI_FLOAT8E5M2: return ((const uint8_t *)data)[i] & 0x7fu;
    case CI_FLOAT4E2M1: return ((const uint8_t *)data)[i] & 7u;
    case CI_FLOAT8E8M0: return 1; /* which has no 0 */
    default: return ((const uint8_t *)data)[i];
  }
}

enum { NZ_CHUNK = 256 };

/* Which of n elements from `at` on are not 0. */
static void nonzero_flags(const ci_kernel *k, int64_t at, int64_t n, uint8_t *flags) {
  const ci_value *x = k->in[0];
  if (x->dtype == CI_FLOAT) {
    ci_cast_find(k->isa, CI_FLOAT, CI_BOOL)(flags, (const float *)x->data + at, n);
    return;
  }
  for (int64_t i = 0; i < n; i++) flags[i] = nonzero_bits(x, at + i) != 0;
}

/* How many there are decides the shape, so it has to wait for the numbers. */
ci_status ci_prepare_nonzero(ci_kernel *k) {
  const ci_value *x = k->in[0];
  int64_t found = 0;
  if (x->count > 0 && !ci_k_known(k, 0)) return CI_PENDING;
  for (int64_t at = 0; at < x->count; at += NZ_CHUNK) {
    uint8_t flags[NZ_CHUNK];
    const int64_t n = x->count - at < NZ_CHUNK ? x->count - at : NZ_CHUNK;
    nonzero_flags(k, at, n, flags);
    for (int64_t i = 0; i < n; i++) found += flags[i];
  }
  return ci_k_out(k, 0, CI_INT64, 2, (const int64_t[]){x->rank > 0 ? x->rank : 1, found});
}

ci_status ci_run_nonzero(ci_kernel *k) {
  const ci_value *x = k->in[0];
  const int64_t columns = k->out[0]->dims[1];
  const int64_t width = x->rank > 0 ? x->dims[x->rank - 1] : 1;
  int64_t *y = k->out[0]->data, column = 0, first = 0, row = 0; /* first: element of the row, which ends before next */
  int64_t next = width;
  uint8_t flags[NZ_CHUNK];
  for (int64_t i = 0; i < x->count && column < columns; i++) {
    if (i % NZ_CHUNK == 0) nonzero_flags(k, i, x->count - i < NZ_CHUNK ? x->count - i : NZ_CHUNK, flags);
    if (flags[i % NZ_CHUNK] == 0) continue;
    if (i >= next) row = i / width, first = row * width, next = first + width;
    y[(x->rank > 0 ? x->rank - 1 : 0) * columns + column] = i - first;
    int64_t rest = row;
    for (int axis = x->rank - 2; axis >= 0; axis--) {
      y[axis * columns + column] = axis > 0 ? rest % x->dims[axis] : rest;
      if (axis > 0) rest /= x->dims[axis];
    }
    column++;
  }
  return CI_OK;
}
