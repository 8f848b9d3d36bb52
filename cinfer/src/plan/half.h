/* half.h - float16 and bfloat16 in kernels that compute in float32.
 *
 * A row of ops.def with CI_OP_HALF never sees these types: its inputs are widened, which is exact, it runs in float32,
 * and each output that the model declares as float16 or bfloat16 is rounded once, half to even.
 */
#ifndef CI_HALF_H
#define CI_HALF_H
#include "plan.h"

bool ci_half_needed(const ci_step *step);
/* In the place of the kernel's prepare and run. */
ci_status ci_half_prepare(ci_step *step);
ci_status ci_half_run(ci_kernel *k);
#endif
