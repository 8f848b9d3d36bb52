/* kinds.h - which element types the inputs of an operator may have. */
#ifndef CI_KINDS_H
#define CI_KINDS_H
#include "../kernels/ci_kernel.h"

/* Refuses inputs whose types the letters do not admit: one letter an input, an asterisk repeats the one before it,
 * inputs beyond the letters are the kernel's own matter. NULL: a custom operator, which checks its inputs itself. */
ci_status ci_kinds_check(ci_kernel *k, const char *letters);
#endif
