/* steps.c - a step of a plan: prepares its kernel, then calls it. */
#include "compile.h"
#include "half.h"
#include "kinds.h"

void ci_step_reset(ci_step *step) {
  step->k.scratch_bytes = 0;
  step->k.join = NULL;
  step->k.largest = NULL;
  step->k.free_rows = 0;
  step->k.reordered = 0;
  for (int o = 0; o < step->k.n_out; o++) step->alias[o] = CI_NONE;
}

static ci_status steps_check_held(ci_step *step) {
  if (ci_step_is(step, CI_OP_HOLDS)) return CI_OK;
  for (int i = 0; i < step->k.n_in; i++) {
    if (step->k.in[i] == NULL || !ci_holds(step->k.in[i]->dtype)) continue;
    return ci_k_fail(&step->k, CI_INVALID_ARGUMENT, "input %d is %s, expected a tensor", i,
                     step->k.in[i]->dtype == CI_SEQUENCE ? "a sequence" : "an empty optional");
  }
  return CI_OK;
}

/* Operators that compute, which are those that widen float16, do so with the usual types where family types is left
 * out. */
static ci_status steps_check_types(ci_step *step) {
  if (CI_HAS(types) || !ci_step_is(step, CI_OP_HALF)) return CI_OK;
  for (int i = 0; i < step->k.n_in; i++) {
    if (step->k.in[i] == NULL) continue;
    switch (step->k.in[i]->dtype) {
      case CI_DOUBLE:
      case CI_INT8:
      case CI_INT16:
      case CI_UINT16:
      case CI_UINT32:
      case CI_UINT64:
        return ci_k_fail(&step->k, CI_UNIMPLEMENTED,
                         "input %d has type %s, with which this cinfer does not compute: add types to CINFER_FAMILIES "
                         "(CMake) or CI_FAMILIES (one file)",
                         i, ci_dtype_name(step->k.in[i]->dtype));
      default: break;
    }
  }
  return CI_OK;
}

/* A custom operator may request any amount; sums of sizes in an arena must not overflow. */
static ci_status steps_check_scratch(ci_step *step) {
  const uint64_t requested = step->plan->session->limits.max_memory, most = PTRDIFF_MAX / 4;
  const uint64_t limit = requested < most ? requested : most;
  if (step->k.scratch_bytes <= limit) return CI_OK;
  return ci_k_fail(&step->k, CI_RESOURCE_EXHAUSTED, "scratch memory of %zu bytes exceeds the session's limit of %llu",
                   step->k.scratch_bytes, (unsigned long long)limit);
}

static ci_status steps_plain_inputs(ci_step *step, uint32_t except) {
  for (int i = 0; step->plan->model->packed_tiles && i < step->k.n_in; i++) {
    if (i < 32 && (except >> i & 1) != 0) continue;
    CI_TRY(ci_pack_plain(step->plan, step->k.in[i]));
  }
  return CI_OK;
}

ci_status ci_step_prepare(ci_step *step) {
  ci_step_reset(step);
  step->widens = false;
  CI_TRY(steps_check_held(step));
  CI_TRY(steps_check_types(step));
  CI_TRY(ci_kinds_check(&step->k, step->node->kernel->types));
  CI_TRY(steps_plain_inputs(step, ci_step_is(step, CI_OP_PACKED_TILES) ? 1u << 1 : 0));
  CI_TRY(ci_half_needed(step) ? ci_half_prepare(step) : step->node->kernel->prepare(&step->k));
  CI_TRY(steps_plain_inputs(step, step->k.reordered));
  return steps_check_scratch(step);
}

ci_status ci_step_compute(ci_step *step) {
  return step->widens ? ci_half_run(&step->k) : step->node->kernel->run(&step->k);
}
