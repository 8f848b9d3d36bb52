/* texts.c - what is read from the file when somebody asks: what people call a node, and where it was built. */
#include <stdio.h>
#include <string.h>

#include "model.h"

ci_span ci_model_stored(const ci_model *model, ci_stored at) {
  return at == 0 ? (ci_span){NULL, 0} : ci_wire_stored(model->section, at);
}

ci_stored ci_model_store(const ci_model *model, const ci_field *field) {
  return (ci_stored)(field->at - model->section.data);
}

void ci_node_text_take(ci_node_text *text, const ci_field *field) {
  switch (field->key) {
    case CI_KEY(NODE_NAME): text->name = field->bytes; break;
    case CI_KEY(NODE_OP): text->op = field->bytes; break;
    case CI_KEY(NODE_DOMAIN): text->domain = field->bytes; break;
    case CI_KEY(NODE_VERSION): text->version = field->number; break;
    case CI_KEY(NODE_SOURCE): text->source = field->bytes; break;
    default: break;
  }
}

static ci_node_text texts_of(const ci_model *model, ci_stored at) {
  ci_wire wire = ci_wire_open(ci_model_stored(model, at));
  ci_field field;
  ci_node_text text = {.version = 0};
  while (ci_wire_next(&wire, &field)) ci_node_text_take(&text, &field);
  return text;
}

ci_node_text ci_node_read(const ci_model *model, const ci_node *node) { return texts_of(model, node->at); }

/* The bytes may lie in a file that somebody changes meanwhile: then there is none. */
ci_span ci_node_own_name(const ci_model *model, const ci_node *node) {
  ci_wire message = ci_wire_open(ci_model_stored(model, node->at));
  ci_field field = {0};
  while (field.key != CI_KEY(NODE_NAME) && ci_wire_next(&message, &field)) continue;
  return field.bytes;
}

/* ---- names of what calls have in them ---- */

/* The innermost call that has a node, or CI_NONE: the last that begins no later, or one around that. */
static int32_t texts_call(const ci_model *model, const ci_node *node) {
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

/* Written from its end: what does not fit is missing at the beginning. */
ci_span ci_call_name(const ci_model *model, int32_t call, ci_span name, char *room, size_t size) {
  size_t at = size;
  if (call == CI_NONE) return name;
  for (;; call = model->inlined.at[call].parent) {
    const size_t length = name.length < at ? name.length : at;
    at -= length;
    if (length > 0) memcpy(room + at, name.data + (name.length - length), length);
    if (call == CI_NONE || at == 0) return (ci_span){room + at, size - at};
    room[--at] = '/';
    name = texts_of(model, model->inlined.at[call].at).name;
  }
}

ci_span ci_node_name(const ci_model *model, const ci_node *node, char *room, size_t size) {
  return ci_call_name(model, texts_call(model, node), ci_node_own_name(model, node), room, size);
}

/* ---- messages ---- */

static void texts_copy(char *to, size_t size, ci_span text) {
  size_t length = text.length < size ? text.length : size - 1;
  if (length > 0) memcpy(to, text.data, length);
  to[length] = '\0';
  ci_printable(to, false);
}

/* `source`: of a node, or empty; then that of the call which it is in. */
static void texts_built(const ci_model *model, int32_t call, ci_span source, char *to, size_t size) {
  for (; source.length == 0 && call != CI_NONE; call = model->inlined.at[call].parent)
    source = texts_of(model, model->inlined.at[call].at).source;
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

/* Of a node that stands for another, it is not known where that was built. */
static void texts_where(const ci_model *model, const ci_node *node, const ci_as *as, ci_error *error) {
  const ci_node_text text = ci_node_read(model, node);
  const bool other = as != NULL && as->name.length > 0 && !ci_span_same(as->name, text.name);
  const int32_t call = other ? CI_NONE : texts_call(model, node);
  char room[sizeof error->node];
  texts_copy(error->node, sizeof error->node,
             ci_call_name(model, call, other ? as->name : text.name, room, sizeof room));
  texts_copy(error->op, sizeof error->op, as != NULL ? as->op : text.op);
  texts_built(model, call, other ? (ci_span){NULL, 0} : text.source, error->source, sizeof error->source);
}

ci_status ci_vfail_node(const ci_model *model, const ci_node *node, const ci_as *as, ci_error *error, ci_status status,
                        const char *format, va_list arguments) {
  if (error == NULL) return status;
  char said[600]; /* with node and source it fits the message */
  (void)vsnprintf(said, sizeof said, format, arguments); /* no format of ours can fail */
  ci_printable(said, true); /* what a program's own function says may have lines */
  error->status = status;
  texts_where(model, node, as, error);
  const char *open = error->source[0] != '\0' ? " (" : "", *close = error->source[0] != '\0' ? ")" : "";
  snprintf(error->message, sizeof error->message, "%s '%s'%s%s%s: %s", error->op, error->node, open, error->source,
           close, said);
  return status;
}

ci_status ci_fail_node(const ci_model *model, const ci_node *node, ci_error *error, ci_status status,
                       const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  ci_vfail_node(model, node, NULL, error, status, format, arguments);
  va_end(arguments);
  return status;
}
