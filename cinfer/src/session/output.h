/* output.h - gives the results of a run to the caller: in the caller's memory, or as views. */
#ifndef CI_OUTPUT_H
#define CI_OUTPUT_H
#include "../plan/plan.h"

enum { CI_OUTPUT_LARGE = 1 << 12 }; /* bytes of an output that is worth pointing at the caller's memory */
/* While planning: which outputs steps may write into the caller's memory, and which steps see to NaN themselves. */
void ci_output_plan(ci_plan *plan);
/* Points the plan values of large outputs at the caller's memory, after the inputs are known. */
void ci_output_lend(ci_plan *plan, const ci_tensor *inputs, const ci_tensor *outputs);
/* Whether the caller's buffers fit the inferred outputs. */
ci_status ci_output_check(const ci_plan *plan, const ci_tensor *outputs, ci_error *error);
/* The inferred types and shapes of the outputs: rank -1 where the shape is unknown. */
void ci_output_infer(const ci_plan *plan, ci_tensor *outputs);
/* Fills the caller's outputs. */
ci_status ci_output_give(ci_plan *plan, ci_tensor *outputs, ci_error *error);
/* Whether a caller's pointer leads to an output that is borrowed from the last run, which the next one ends. */
bool ci_output_is_lent(const struct ci_session *session, const void *data);
#endif
