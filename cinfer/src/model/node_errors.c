/* node_errors.c - completes the error messages of a node with its operator, its name, and where it was built. */
#include <stdio.h>
#include <string.h>

#include "model.h"

static void node_error_copy(char *to, size_t size, ci_span str) {
  size_t length = str.length < size ? str.length : size - 1;
  if (length > 0) memcpy(to, str.data, length);
  to[length] = '\0';
  ci_printable(to, false);
}

/* `source`: of a node, or empty; then that of the call which it is in. */
static void node_error_built(const ci_model *model, int32_t call, ci_span source, char *to, size_t size) {
  for (; source.length == 0 && call != CI_NONE; call = model->inlined.at[call].parent)
    source = ci_node_string_at(model, model->inlined.at[call].at).source;
  ci_wire wire = ci_wire_open(source);
  ci_field field;
  ci_span file = {"", 0}, function = {"", 0};
  uint32_t line = 0;
  while (ci_wire_next(&wire, &field)) {
    switch (field.key) {
      case CI_KEY(SOURCE_FILE): file = field.bytes; break;
      case CI_KEY(SOURCE_LINE): line = (uint32_t)field.number; break;
      case CI_KEY(SOURCE_FUNCTION): function = field.bytes; break;
      default: break;
    }
  }
  to[0] = '\0';
  if (file.length == 0) return;
  snprintf(to, size, "%.*s:%u%s%.*s", CI_SPAN_ARG(file), (unsigned)line, function.length > 0 ? " in " : "",
           CI_SPAN_ARG(function));
  ci_printable(to, false);
}

/* Of a node that replaces another, the source line is unknown. */
static void node_error_where(const ci_model *model, const ci_node *node, const ci_as *as, ci_error *error) {
  const ci_node_string str = ci_node_read(model, node);
  const bool other = as != NULL && as->name.length > 0 && !ci_span_same(as->name, str.name);
  const int32_t call = other ? CI_NONE : ci_node_call(model, node);
  char buffer[sizeof error->node];
  node_error_copy(error->node, sizeof error->node,
                  ci_call_name(model, call, other ? as->name : str.name, buffer, sizeof buffer));
  node_error_copy(error->op, sizeof error->op, as != NULL ? as->op : str.op);
  node_error_built(model, call, other ? (ci_span){NULL, 0} : str.source, error->source, sizeof error->source);
}

ci_status ci_node_vfail(const ci_model *model, const ci_node *node, const ci_as *as, ci_error *error, ci_status status,
                        const char *format, va_list arguments) {
  if (error == NULL) return status;
  char reported[600]; /* with node and source it fits the message */
  (void)vsnprintf(reported, sizeof reported, format, arguments); /* the library's formats cannot fail */
  ci_printable(reported, true); /* the message of a caller's function may have several lines */
  error->status = status;
  node_error_where(model, node, as, error);
  const char *open = error->source[0] != '\0' ? " (" : "", *close = error->source[0] != '\0' ? ")" : "";
  snprintf(error->message, sizeof error->message, "%s '%s'%s%s%s: %s", error->op, error->node, open, error->source,
           close, reported);
  return status;
}

ci_status ci_node_fail(const ci_model *model, const ci_node *node, ci_error *error, ci_status status,
                       const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  ci_node_vfail(model, node, NULL, error, status, format, arguments);
  va_end(arguments);
  return status;
}
