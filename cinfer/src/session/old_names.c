/* old_names.c - functions under the names that they had before, for one version. */
#include "session.h"

ci_status ci_foresee(ci_session *session, int signature, const ci_tensor *inputs, int input_count, ci_tensor *outputs,
                     int output_count, ci_error *error) {
  return ci_infer_outputs(session, signature, inputs, input_count, outputs, output_count, error);
}

ci_status ci_state_room(ci_state *state, size_t bytes, void **data, ci_error *error) {
  return ci_state_alloc(state, bytes, data, error);
}

void ci_state_room_free(ci_state *state, void *data, size_t bytes) { ci_state_free(state, data, bytes); }

int ci_host_ahead(const ci_host_call *call, int n, ci_host_call *next) { return ci_host_peek(call, n, next); }
