/* nonzero.c - NonZero: the coordinates of the elements that are not 0, in row-major order. */
#include "../ci_kernel.h"

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

/* How many there are decides the shape, so it has to wait for the numbers. */
ci_status ci_prepare_nonzero(ci_kernel *k) {
  const ci_value *x = k->in[0];
  int64_t found = 0;
  if (x->count > 0 && !ci_k_known(k, 0)) return CI_PENDING;
  for (int64_t i = 0; i < x->count; i++) found += nonzero_bits(x, i) != 0;
  return ci_k_out(k, 0, CI_INT64, 2, (const int64_t[]){x->rank > 0 ? x->rank : 1, found});
}

ci_status ci_run_nonzero(ci_kernel *k) {
  const ci_value *x = k->in[0];
  const int64_t columns = k->out[0]->dims[1];
  int64_t *y = k->out[0]->data, column = 0;
  for (int64_t i = 0; i < x->count && column < columns; i++) {
    if (nonzero_bits(x, i) == 0) continue;
    int64_t rest = i;
    for (int axis = x->rank - 1; axis >= 0; axis--) {
      y[axis * columns + column] = rest % x->dims[axis];
      rest /= x->dims[axis];
    }
    if (x->rank == 0) y[column] = 0;
    column++;
  }
  return CI_OK;
}
