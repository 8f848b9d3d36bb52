/* node_names.c - reads the names of nodes from the file, only when they are needed. */
#include <string.h>

#include "model.h"

void ci_node_string_take(ci_node_string *str, const ci_field *field) {
  switch (field->key) {
    case CI_KEY(NODE_NAME): str->name = field->bytes; break;
    case CI_KEY(NODE_OP): str->op = field->bytes; break;
    case CI_KEY(NODE_DOMAIN): str->domain = field->bytes; break;
    case CI_KEY(NODE_VERSION): str->version = field->number; break;
    case CI_KEY(NODE_SOURCE): str->source = field->bytes; break;
    default: break;
  }
}

ci_node_string ci_node_string_at(const ci_model *model, ci_stored at) {
  ci_wire wire = ci_wire_open(ci_stored_bytes(model, at));
  ci_field field;
  ci_node_string str = {.version = 0};
  while (ci_wire_next(&wire, &field)) ci_node_string_take(&str, &field);
  return str;
}

ci_node_string ci_node_read(const ci_model *model, const ci_node *node) { return ci_node_string_at(model, node->at); }

/* The bytes may be in a file that is changed meanwhile: then there is none. */
ci_span ci_node_own_name(const ci_model *model, const ci_node *node) {
  ci_wire message = ci_wire_open(ci_stored_bytes(model, node->at));
  ci_field field = {0};
  while (field.key != CI_KEY(NODE_NAME) && ci_wire_next(&message, &field)) continue;
  return field.bytes;
}

/* ---- names of nodes inside calls ---- */

/* The last call that begins no later than the node, or one around that. */
int32_t ci_node_call(const ci_model *model, const ci_node *node) {
  const int32_t number = (int32_t)(node - model->nodes.at);
  size_t low = 0, high = model->inlined.count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (model->inlined.at[middle].nodes.begin <= number) low = middle + 1;
    else high = middle;
  }
  int32_t call = (int32_t)low - 1;
  while (call != CI_NONE && model->inlined.at[call].nodes.end <= number) call = model->inlined.at[call].parent;
  return call;
}

/* Written from its end: if it does not fit, the beginning is missing. */
ci_span ci_call_name(const ci_model *model, int32_t call, ci_span name, char *buffer, size_t size) {
  size_t at = size;
  if (call == CI_NONE) return name;
  for (;; call = model->inlined.at[call].parent) {
    const size_t length = name.length < at ? name.length : at;
    at -= length;
    if (length > 0) memcpy(buffer + at, name.data + (name.length - length), length);
    if (call == CI_NONE || at == 0) return (ci_span){buffer + at, size - at};
    buffer[--at] = '/';
    name = ci_node_string_at(model, model->inlined.at[call].at).name;
  }
}

ci_span ci_node_name(const ci_model *model, const ci_node *node, char *buffer, size_t size) {
  return ci_call_name(model, ci_node_call(model, node), ci_node_own_name(model, node), buffer, size);
}
