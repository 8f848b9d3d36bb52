/* state.c - kernels of placeholders, variables and constants, and of operators that pass their input on, such as
 * Identity. */
#include <stdio.h>

#include "../../ci_schema.h"
#include "../../session/session.h"

/* ---- pass on ---- */

ci_status ci_prepare_identity(ci_kernel *k) {
  CI_TRY(ci_k_out_like(k, 0, k->in[0]->dtype, k->in[0]));
  ci_k_alias(k, 0, 0);
  return CI_OK;
}

ci_status ci_prepare_nothing(ci_kernel *k) {
  (void)k;
  return CI_OK;
}

/* For whatever is done when it is prepared. */
ci_status ci_run_nothing(ci_kernel *k) {
  (void)k;
  return CI_OK;
}

/* ---- placeholders ---- */

/* TensorFlow's names of the types where they differ from numpy's. */
static const char *state_type_name(int32_t dtype) {
  return dtype == CI_FLOAT ? "float" : dtype == CI_DOUBLE ? "double" : ci_dtype_name(dtype);
}

/* "[2,?]", or "<unknown>" */
static void state_shape_string(const ci_type *type, char *str, size_t size) {
  int used = snprintf(str, size, type->rank < 0 ? "<unknown>" : "[");
  for (int32_t d = 0; d < type->rank && used >= 0 && (size_t)used < size; d++) {
    const char *comma = d == 0 ? "" : ",";
    int more = type->dims[d] < 0 ? snprintf(str + used, size - (size_t)used, "%s?", comma)
                                 : snprintf(str + used, size - (size_t)used, "%s%lld", comma, (long long)type->dims[d]);
    used = more < 0 ? -1 : used + more;
  }
  if (type->rank >= 0 && used >= 0 && (size_t)used < size) snprintf(str + used, size - (size_t)used, "]");
}

/* One that the caller feeds is never prepared, so this is the error itself. */
ci_status ci_prepare_placeholder(ci_kernel *k) {
  const ci_node *node = k->node->node;
  ci_error *error = k->node->plan->error;
  ci_type type = {.rank = -1};
  char shape[256];
  const ci_model *model = k->node->plan->model;
  CI_TRY(ci_type_parse(ci_stored_bytes(model, model->edges.at[node->outputs].type), &type, error));
  state_shape_string(&type, shape, sizeof shape);
  return ci_node_fail(model, node, error, CI_INVALID_ARGUMENT,
                      "You must feed a value for placeholder tensor '%.*s' with dtype %s and shape %s",
                      CI_SPAN_ARG(ci_node_own_name(model, node)), state_type_name(type.dtype), shape);
}

/* ---- variables ---- */

ci_status ci_prepare_variable(ci_kernel *k) { return ci_plan_variables_read(k); }

ci_status ci_run_variable(ci_kernel *k) {
  const ci_slot *slot = ci_state_slot(k->node->plan->state, k->node->slot);
  if (!slot->initialized)
    return ci_plan_variables_uninitialized(k->node->plan, k->node->node, slot, k->node->plan->error);
  if (k->node->dynamic || k->node->copies) {
    if (slot->value.bytes > 0) memcpy(k->out[0]->data, slot->value.data, slot->value.bytes);
    return CI_OK;
  }
  ci_plan_point(k->node->plan, ci_plan_value_of(k->out[0]), slot->value.data);
  return CI_OK;
}

ci_status ci_prepare_assign(ci_kernel *k) {
  CI_TRY(ci_plan_variables_assign(k));
  ci_k_alias(k, 0, 0);
  return CI_OK;
}

/* The old buffer of a variable whose value takes another amount of memory stays until the next run, because views of
 * it may be read or borrowed. */
static ci_status state_assign_elsewhere(ci_kernel *k, ci_state *state, ci_slot *slot, const ci_value *value) {
  struct ci_session *session = k->node->plan->session;
  ci_block replaced;
  ci_retired *record = ci_session_keep_record(session);
  if (record == NULL) return ci_k_no_memory(k);
  ci_error why;
  ci_status status = ci_slot_assign(state, slot, value, &replaced, &why);
  if (status == CI_OK) ci_session_keep_block(session, record, ci_state_allocator(state), replaced);
  else ci_release(&session->allocator, record, sizeof *record);
  return status == CI_OK ? CI_OK : ci_k_fail(k, status, "%s", why.message);
}

ci_status ci_run_assign(ci_kernel *k) {
  ci_state *state = k->node->plan->state;
  ci_slot *slot = ci_state_slot(state, k->node->slot);
  const ci_value *value = k->in[0];
  if (slot->initialized && !slot->mapping && slot->dtype != CI_STRING && slot->capacity == value->bytes &&
      ci_shape_same(slot->value.rank, slot->value.dims, value->rank, value->dims)) {
    if (slot->value.data != value->data && value->bytes > 0) memcpy(slot->value.data, value->data, value->bytes);
    slot->version++;
  } else {
    CI_TRY(state_assign_elsewhere(k, state, slot, value));
  }
  k->node->assigned_in = k->node->plan->session->run;
  return CI_OK;
}

ci_status ci_prepare_is_initialized(ci_kernel *k) {
  CI_TRY(ci_plan_variables_slot(k));
  return ci_k_out(k, 0, CI_BOOL, 0, NULL);
}

ci_status ci_run_is_initialized(ci_kernel *k) {
  *(uint8_t *)k->out[0]->data = ci_state_slot(k->node->plan->state, k->node->slot)->initialized ? 1 : 0;
  return CI_OK;
}

ci_status ci_prepare_ensure_shape(ci_kernel *k) {
  const ci_value *x = k->in[0];
  const int64_t *dims;
  int rank;
  CI_TRY(ci_k_attr_ints(k, "dims", &dims, &rank));
  bool fits = rank < 0 || rank == x->rank;
  for (int i = 0; fits && i < rank; i++) fits = dims[i] < 0 || dims[i] == x->dims[i];
  if (!fits) {
    ci_value expected = {.dtype = x->dtype, .rank = rank < CI_MAX_RANK ? rank : CI_MAX_RANK};
    for (int i = 0; i < expected.rank; i++) expected.dims[i] = dims[i];
    char found[256], described[256];
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "Shape of tensor %s is not compatible with expected shape %s.",
                     strchr(ci_value_describe(x, found, sizeof found), '['),
                     strchr(ci_value_describe(&expected, described, sizeof described), '['));
  }
  return ci_prepare_identity(k);
}

ci_status ci_prepare_non_zero_divisor(ci_kernel *k) {
  const int32_t dtype = k->in[0]->dtype;
  if (dtype == CI_STRING || dtype == CI_COMPLEX64 || dtype == CI_COMPLEX128) {
    return ci_k_fail(k, CI_UNIMPLEMENTED, "there is no kernel for %s", ci_dtype_name(dtype));
  }
  return ci_prepare_identity(k);
}

/* An integer is 0 if all of its bytes are. */
ci_status ci_run_non_zero_divisor(ci_kernel *k) {
  const ci_value *x = k->in[0];
  const unsigned char *bytes = x->data;
  const size_t width = x->count > 0 ? x->bytes / (size_t)x->count : 1;
  for (size_t e = 0; e < x->bytes; e += width) {
    unsigned any = 0;
    for (size_t i = 0; i < width; i++) any |= bytes[e + i];
    if (any == 0) return ci_k_fail(k, CI_INVALID_ARGUMENT, "Integer division by zero");
  }
  return CI_OK;
}

ci_status ci_prepare_below_limit(ci_kernel *k) {
  const ci_value *x = k->in[0];
  int64_t *limit = ci_k_private(k, sizeof *limit);
  if (limit == NULL) return ci_k_no_memory(k);
  CI_TRY(ci_k_attr_i(k, "limit", 0, limit));
  if (x->dtype != CI_INT32 && x->dtype != CI_INT64) {
    return ci_k_fail(k, CI_INVALID_ARGUMENT, "x is %s, expected int32 or int64", ci_dtype_name(x->dtype));
  }
  if (x->rank != 0) return ci_k_fail(k, CI_INVALID_ARGUMENT, "x has rank %d, expected a scalar", (int)x->rank);
  return ci_k_out_like(k, 0, x->dtype, x);
}

ci_status ci_run_below_limit(ci_kernel *k) {
  const ci_value *x = k->in[0];
  const int64_t limit = *(const int64_t *)k->private_memory;
  const int64_t value = x->dtype == CI_INT32 ? *(const int32_t *)x->data : *(const int64_t *)x->data;
  if (value >= limit) return ci_k_fail(k, CI_OUT_OF_RANGE, "Reached limit of %lld", (long long)limit);
  memcpy(k->out[0]->data, x->data, x->bytes);
  return CI_OK;
}

/* ---- constants ---- */

static ci_status state_constant_of(ci_kernel *k, int32_t dtype, int rank, int64_t count, const void *values) {
  CI_TRY(ci_k_out(k, 0, dtype, rank, &count));
  void *copy = ci_k_private(k, k->out[0]->bytes);
  if (copy == NULL) return ci_k_no_memory(k);
  if (k->out[0]->bytes > 0) memcpy(copy, values, k->out[0]->bytes);
  return ci_k_fix(k, 0, copy);
}

static ci_status state_no_constant(ci_kernel *k) {
  return ci_k_fail(k, CI_INVALID_ARGUMENT,
                   "no value, expected attribute value, value_int, value_ints, value_float, value_floats, value_string "
                   "or value_strings, one of them");
}

/* A ci_span of the model's strings is laid out as an element of a tensor of strings. */
static ci_status state_constant_lists(ci_kernel *k) {
  const int64_t *ints;
  const float *floats;
  const ci_span *strings;
  int int_count, float_count, string_count;
  CI_TRY(ci_k_attr_ints(k, "value_ints", &ints, &int_count));
  if (int_count >= 0) return state_constant_of(k, CI_INT64, 1, int_count, ints);
  CI_TRY(ci_k_attr_floats(k, "value_floats", &floats, &float_count));
  if (float_count >= 0) return state_constant_of(k, CI_FLOAT, 1, float_count, floats);
  CI_TRY(ci_k_attr_strings(k, "value_strings", &strings, &string_count));
  if (string_count >= 0) return state_constant_of(k, CI_STRING, 1, string_count, strings);
  if (ci_k_has(k, "value_string")) {
    ci_span str;
    CI_TRY(ci_k_attr_s(k, "value_string", NULL, &str));
    return state_constant_of(k, CI_STRING, 0, 1, &str);
  }
  return state_no_constant(k);
}

ci_status ci_prepare_constant(ci_kernel *k) {
  ci_value tensor;
  if (k->node->node->attr_count > 1) return state_no_constant(k);
  CI_TRY(ci_k_attr_stored(k, "value", &tensor));
  if (tensor.rank >= 0) {
    CI_TRY(ci_k_out(k, 0, tensor.dtype, tensor.rank, tensor.dims));
    CI_TRY(ci_k_fix(k, 0, tensor.data));
    ci_plan_buffer_of(k->node->plan, k->out[0])->constant =
        ci_attr_find(k->node->plan->model, k->node->node, "value")->as.constant;
    return CI_OK;
  }
  if (ci_k_has(k, "value_int")) {
    int64_t value;
    CI_TRY(ci_k_attr_i(k, "value_int", 0, &value));
    return state_constant_of(k, CI_INT64, 0, 1, &value);
  }
  if (ci_k_has(k, "value_float")) {
    double value;
    CI_TRY(ci_k_attr_f(k, "value_float", 0, &value));
    float single = (float)value;
    return state_constant_of(k, CI_FLOAT, 0, 1, &single);
  }
  return state_constant_lists(k);
}
