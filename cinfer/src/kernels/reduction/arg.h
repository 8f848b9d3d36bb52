/* arg.h - finds the index of the largest or smallest element. */
#ifndef CI_ARG_H
#define CI_ARG_H
#include "../ci_kernel.h"

/* Where the largest or smallest of n > 0 neighbours is: the first of equals, or the last; the first NaN beats all. */
CI_LOCAL int64_t ci_arg_best(const struct ci_isa *isa, const float *x, int64_t n, bool least, bool last);
#endif
