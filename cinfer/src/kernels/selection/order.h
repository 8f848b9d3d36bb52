/* order.h - one order for the elements of every type: numbers ascending, -0 equal to +0, NaN after all and equal to
 * NaN, strings byte by byte. */
#ifndef CI_ORDER_H
#define CI_ORDER_H
#include "../ci_kernel.h"

/* keys[i] of element begin + i * step: unsigned, ordered as the elements. False: the type has no such keys. */
CI_LOCAL bool ci_order_keys(const ci_value *v, int64_t begin, int64_t step, int64_t n, uint64_t *keys);
/* Where the largest or least of n > 0 neighbours is: the first of equals, or the last; the first NaN beats all. */
CI_LOCAL int64_t ci_best_float(const struct ci_isa *isa, const float *x, int64_t n, bool least, bool last);
#endif
