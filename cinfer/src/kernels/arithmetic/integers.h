/* integers.h - reading indices of whatever integer type they have. */
#ifndef CI_INTEGERS_H
#define CI_INTEGERS_H
#include "../ci_kernel.h"

CI_INLINE bool ci_is_integer(int32_t dtype) {
  switch (dtype) {
    case CI_INT8:
    case CI_INT16:
    case CI_INT32:
    case CI_INT64:
    case CI_UINT8:
    case CI_UINT16:
    case CI_UINT32:
    case CI_UINT64: return true;
    default: return false;
  }
}

/* Element i; a uint64 beyond int64 becomes negative, which no index is allowed to be in its range check. */
CI_INLINE int64_t ci_read_integer(const ci_value *v, int64_t i) {
  switch (v->dtype) {
    case CI_INT8: return ((const int8_t *)v->data)[i];
    case CI_INT16: return ((const int16_t *)v->data)[i];
    case CI_INT32: return ((const int32_t *)v->data)[i];
    case CI_UINT8: return ((const uint8_t *)v->data)[i];
    case CI_UINT16: return ((const uint16_t *)v->data)[i];
    case CI_UINT32: return ((const uint32_t *)v->data)[i];
    default: return ((const int64_t *)v->data)[i];
  }
}
#endif
