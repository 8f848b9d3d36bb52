/* session_check.c - the checks of a call: whether it has to end, its inputs, checksums of constants. */
#include "session.h"

ci_status ci_session_check_go_on(struct ci_session *session, ci_error *error) {
  if (!ci_stop_requested(&session->stop)) return CI_OK;
  return ci_fail(error, ci_stop_status(&session->stop), "the call %s", ci_stop_string(&session->stop));
}

ci_status ci_session_check_input(const ci_signature_info *signature, int32_t i, const ci_tensor *input,
                                 ci_error *error) {
  const ci_binding *binding = &signature->inputs[i];
  bool fits = input->dtype == binding->dtype && input->rank >= 0 && input->rank <= CI_MAX_RANK &&
              (binding->rank < 0 || binding->rank == input->rank);
  for (int32_t d = 0; fits && d < binding->rank; d++) {
    fits = binding->dims[d] < 0 || binding->dims[d] == input->dims[d];
  }
  if (fits) return CI_OK;
  ci_value type = {.dtype = binding->dtype, .rank = binding->rank};
  ci_value found = {.dtype = input->dtype, .rank = input->rank < 0 || input->rank > CI_MAX_RANK ? -1 : input->rank};
  char expected[200], given[200];
  for (int32_t d = 0; d < binding->rank; d++) type.dims[d] = binding->dims[d];
  memcpy(found.dims, input->dims, sizeof found.dims);
  return ci_fail(error, CI_INVALID_ARGUMENT, "input '%.200s' of signature '%.200s' is %s, expected %s", binding->key,
                 signature->name, ci_value_describe(&found, given, sizeof given),
                 ci_value_describe(&type, expected, sizeof expected));
}

ci_status ci_session_check_constant(struct ci_session *session, int32_t constant, ci_error *error) {
  const ci_constant *c = &session->model->constants.at[constant];
  if (!c->unchecked || session->checked[constant]) return CI_OK;
  if (!ci_constant_intact(c, &session->stop)) {
    CI_TRY(ci_session_check_go_on(session, error));
    return ci_fail(error, CI_DATA_LOSS, "the model file is damaged: the checksum of a tensor does not match");
  }
  session->checked[constant] = true;
  return CI_OK;
}
