/* custom_kernel.h - the kernel of every custom operator, which has no row in ops.def. */
#ifndef CI_CUSTOM_KERNEL_H
#define CI_CUSTOM_KERNEL_H
#include "../ci_kernel.h"

ci_status ci_prepare_custom(ci_kernel *k);
ci_status ci_run_custom(ci_kernel *k);
#endif
