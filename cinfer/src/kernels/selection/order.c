/* order.c - sort keys of elements, for TopK, Unique and other operators. */
#include "order.h"

/* Sign and magnitude as in IEEE's formats; a magnitude above that of infinity is a NaN. */
static uint64_t order_float_key(uint64_t magnitude, bool negative, uint64_t infinity) {
  const uint64_t middle = (uint64_t)1 << 63;
  if (magnitude > infinity) return UINT64_MAX;
  return negative ? middle - magnitude : middle + magnitude;
}

#define ORDER_LOOP(expression)                                      \
  for (int64_t i = 0; i < n; i++, at += step) keys[i] = expression; \
  return true
#define ORDER_INT(T) ORDER_LOOP((uint64_t)(int64_t)((const T *)data)[at] ^ middle)
#define ORDER_FLOAT(T, bits, infinity)                                                  \
  ORDER_LOOP(order_float_key(((const T *)data)[at] & (((uint64_t)1 << (bits - 1)) - 1), \
                             ((const T *)data)[at] >> (bits - 1) != 0, (uint64_t)(infinity)))

CI_FAST static void order_singles(uint64_t *keys, const uint32_t *x, int64_t n) {
  for (int64_t i = 0; i < n; i++) keys[i] = ci_order_single(x[i]);
}

bool ci_order_keys(const ci_value *v, int64_t begin, int64_t step, int64_t n, uint64_t *keys) {
  const uint64_t middle = (uint64_t)1 << 63;
  const void *data = v->data;
  int64_t at = begin;
  if (v->dtype == CI_FLOAT && step == 1 && n > 0) { /* without elements there may be no data */
    order_singles(keys, (const uint32_t *)data + begin, n);
    return true;
  }
  switch (v->dtype) {
    case CI_FLOAT: ORDER_LOOP(ci_order_single(((const uint32_t *)data)[at]));
    case CI_DOUBLE: ORDER_FLOAT(uint64_t, 64, 0x7ff0000000000000);
    case CI_FLOAT16: ORDER_FLOAT(uint16_t, 16, 0x7c00);
    case CI_BFLOAT16: ORDER_FLOAT(uint16_t, 16, 0x7f80);
    case CI_INT8: ORDER_INT(int8_t);
    case CI_INT16: ORDER_INT(int16_t);
    case CI_INT32: ORDER_INT(int32_t);
    case CI_INT64: ORDER_INT(int64_t);
    case CI_BOOL:
    case CI_UINT8: ORDER_LOOP(((const uint8_t *)data)[at]);
    case CI_UINT16: ORDER_LOOP(((const uint16_t *)data)[at]);
    case CI_UINT32: ORDER_LOOP(((const uint32_t *)data)[at]);
    case CI_UINT64: ORDER_LOOP(((const uint64_t *)data)[at]);
    default: return false;
  }
}
