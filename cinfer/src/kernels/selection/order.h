/* order.h - the order of the elements of every type: numbers ascending, -0 equal to +0, NaN after all and equal to
 * NaN, strings byte by byte. */
#ifndef CI_ORDER_H
#define CI_ORDER_H
#include "../ci_kernel.h"

/* keys[i] of element begin + i * step: unsigned, ordered as the elements. False: the type has no such keys. */
CI_LOCAL bool ci_order_keys(const ci_value *v, int64_t begin, int64_t step, int64_t n, uint64_t *keys);
/* The key of a float32 with these bits, without a branch. */
CI_INLINE uint64_t ci_order_single(uint32_t x) {
  const int32_t size = (int32_t)(x & 0x7fffffff), number = (int32_t)x < 0 ? -size : size;
  const int32_t key = size > 0x7f800000 ? INT32_MAX : number;
  return ((uint64_t)1 << 63) + (uint64_t)(int64_t)key;
}
#endif
