/* softmax.h - softmax and log-softmax of rows (docs/numerics.md, "Softmax"). */
#ifndef CI_SOFTMAX_H
#define CI_SOFTMAX_H
#include "../ci_kernel.h"

/* Of rows of float64; y may be x. */
CI_LOCAL void ci_softmax_double(double *y, const double *x, int64_t rows, int64_t n, bool logarithm);
#endif
