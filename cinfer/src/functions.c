/* functions.c - puts the body of a function in the place of a node that has no kernel. */
#include <string.h>

#include "parse.h"

enum {
  FUNCTIONS_MOST_CALLS = 16,  /* inside each other; a function that calls itself ends here */
  FUNCTIONS_NODE_BYTES = 1024, /* bytes of bodies that may be read for each node that the limit allows, */
  FUNCTIONS_NODE_MEMORY = 32   /* and for which memory may be taken */
};

const ci_function *ci_function_find(const ci_parser *p, ci_span domain, ci_span name, int64_t version) {
  size_t low = 0, high = p->function_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const ci_function *f = &p->functions[middle];
    int order = ci_span_order(f->domain, domain);
    if (order == 0) order = ci_span_order(f->name, name);
    if (order == 0 && f->version == (uint64_t)version) return f;
    if (order < 0 || (order == 0 && f->version < (uint64_t)version)) low = middle + 1;
    else high = middle;
  }
  return NULL;
}

int32_t ci_function_outputs(const ci_function *function) {
  ci_wire wire = ci_wire_open(function->message);
  ci_field field;
  int32_t count = 0;
  while (ci_wire_next(&wire, &field) && count < INT32_MAX) count += field.key == CI_KEY(FUNCTION_OUTPUT);
  return count;
}

static ci_status functions_prefix(ci_parser *p, ci_span name, ci_span *prefix) {
  char *text = ci_pool_chars(&p->model->pool, name.length + 1);
  if (text == NULL) return ci_parse_memory(p);
  memcpy(text, name.data, name.length);
  text[name.length] = '/';
  *prefix = (ci_span){text, name.length + 1};
  return CI_OK;
}

/* A formal input is a name for the call's input; one that the call leaves out has no value. */
static ci_status functions_formal(ci_parser *p, const ci_scope *inner, ci_span name, int32_t actual) {
  ci_edge edge = {.node = CI_NONE, .graph = inner->graph, .same_as = actual};
  int32_t first = CI_NONE;
  if (actual != CI_NONE) {
    first = ci_parse_edge(p, edge);
    if (first == CI_NONE) return ci_parse_memory(p);
  }
  /* An absent one keeps its name with count 0; ci_parse_ref then finds the absent value. */
  return ci_parse_name(p, inner, name, &(ci_name){.first = first, .count = actual == CI_NONE ? 0 : 1});
}

/* A name to which nodes inside may refer. */
static ci_status functions_attribute(ci_parser *p, const ci_scope *inner, ci_span name) {
  const ci_name entry = {.text = name, .scope = inner->names + 1};
  const ci_names_result added = ci_names_add(&p->model->allocator, &p->model->names, &entry);
  return added == CI_NAMES_NO_MEMORY ? ci_parse_memory(p) : CI_OK;
}

static ci_status functions_body(ci_parser *p, const ci_scope *inner, const ci_function *function, const ci_node *call) {
  ci_model *m = p->model;
  ci_wire wire = ci_wire_open(function->message);
  ci_field field;
  uint32_t formals = 0;
  int32_t outputs = 0;
  while (ci_wire_next(&wire, &field)) {
    if (field.key == CI_KEY(FUNCTION_ATTRIBUTE)) CI_TRY(functions_attribute(p, inner, field.bytes));
    if (field.key != CI_KEY(FUNCTION_INPUT)) continue;
    int32_t actual = formals < call->input_count ? m->refs.at[call->inputs + formals] : CI_NONE;
    CI_TRY(functions_formal(p, inner, field.bytes, actual));
    formals++;
  }
  if (call->input_count > formals) return ci_parse_damaged(p, "more inputs than its function has:", call->name);
  for (wire = ci_wire_open(function->message); ci_wire_next(&wire, &field);) {
    if (field.key == CI_KEY(FUNCTION_NODE)) CI_TRY(ci_parse_node(p, inner, field.bytes));
  }
  for (wire = ci_wire_open(function->message); ci_wire_next(&wire, &field);) {
    int32_t edge;
    if (field.key != CI_KEY(FUNCTION_OUTPUT) || outputs == call->output_count) continue;
    CI_TRY(ci_parse_ref(p, inner, field.bytes, &edge));
    if (edge == CI_NONE) return ci_parse_damaged(p, "an output is absent in the function of", call->name);
    ci_edge *output = &m->edges.at[call->outputs + outputs++];
    output->same_as = edge;
    /* Bodies are written for any type; what the call says of its outputs is all that is known. */
    if (m->edges.at[edge].type.length == 0) {
      m->edges.at[edge].type = output->type;
      m->edges.at[edge].dtype = output->dtype;
    }
  }
  if (outputs < call->output_count) return ci_parse_damaged(p, "more outputs than its function has:", call->name);
  return CI_OK;
}

ci_status ci_function_inline(ci_parser *p, const ci_scope *scope, const ci_function *function, const ci_node *call) {
  ci_scope inner = {.graph = scope->graph,
                    .calls = scope->calls + 1,
                    .attrs = call->attrs,
                    .attr_count = call->attr_count,
                    .controls = call->controls,
                    .control_count = call->control_count,
                    .file = call->file,
                    .function = call->function,
                    .line = call->line};
  p->expanded += function->message.length;
  if (++p->calls > p->model->limits.max_nodes || p->expanded / FUNCTIONS_NODE_BYTES > p->model->limits.max_nodes) {
    return ci_parse_too_many(p);
  }
  if (inner.calls > FUNCTIONS_MOST_CALLS) {
    return ci_fail(p->error, CI_RESOURCE_EXHAUSTED, "functions call each other deeper than %d at '%.*s'",
                   FUNCTIONS_MOST_CALLS, CI_SPAN_ARG(call->name));
  }
  if (p->expanded / FUNCTIONS_NODE_MEMORY < p->model->limits.max_nodes)
    ci_model_allow(p->model, function->message.length);
  inner.names = 2 * (uint32_t)p->calls; /* each call has a name, of which there are fewer */
  CI_TRY(functions_prefix(p, call->name, &inner.name_prefix));
  return functions_body(p, &inner, function, call);
}
