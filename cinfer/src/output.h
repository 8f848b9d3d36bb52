/* output.h - hands the results of a run to the caller. */
#ifndef CI_OUTPUT_H
#define CI_OUTPUT_H
#include "plan.h"

/* Copies elements; every NaN of float32, float64 and the complex types becomes the same one. to may be from. */
void ci_output_copy(const ci_plan *plan, void *to, const void *from, size_t bytes, int32_t dtype);
/* Whether the caller's buffers hold what is known of the outputs already. */
ci_status ci_output_check(const ci_plan *plan, const ci_tensor *outputs, ci_error *error);
/* Fills the caller's outputs. */
ci_status ci_output_give(ci_plan *plan, ci_tensor *outputs, ci_error *error);
#endif
