/* functions.c - inlines functions: replaces a call, a node that has no kernel, with the body of its function. */
#include "parse.h"

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

uint32_t ci_function_outputs(const ci_function *function) {
  ci_wire wire = ci_wire_open(function->message);
  ci_field field;
  uint32_t count = 0;
  while (ci_wire_next(&wire, &field)) count += field.key == CI_KEY(FUNCTION_OUTPUT); /* a message has less than 2^31 */
  return count;
}

/* A formal input is a name for the call's input; one that the call leaves out has no value. */
static ci_status functions_formal(ci_parser *p, const ci_scope *inner, const ci_field *name, int32_t actual) {
  int32_t first = CI_NONE;
  if (actual != CI_NONE) {
    first = ci_parse_edge(p, (ci_edge){.of = actual, .role = CI_EDGE_SAME});
    if (first == CI_NONE) return ci_parse_memory(p);
  }
  /* An absent one keeps its name with count 0; ci_parse_ref then finds the absent value. */
  return ci_parse_name(p, inner->names, name, (ci_named){.first = first, .count = actual == CI_NONE ? 0 : 1});
}

/* A name to which nodes inside may refer; once is enough. */
static ci_status functions_attribute(ci_parser *p, uint32_t scope, const ci_field *name) {
  return ci_parse_is_named(p, scope, name->bytes) ? CI_OK : ci_parse_name(p, scope, name, (ci_named){.count = 0});
}

static ci_status functions_body(ci_parser *p, const ci_scope *scope, const ci_scope *inner, const ci_function *function,
                                const ci_node *call, ci_span name) {
  ci_model *m = p->model;
  ci_wire wire = ci_wire_open(function->message);
  ci_field field;
  uint32_t formals = 0;
  int32_t outputs = 0;
  while (ci_wire_next(&wire, &field)) {
    if (field.key == CI_KEY(FUNCTION_ATTRIBUTE)) CI_TRY(functions_attribute(p, inner->names + 1, &field));
    if (field.key != CI_KEY(FUNCTION_INPUT)) continue;
    int32_t actual = formals < call->input_count ? m->refs.at[call->inputs + formals] : CI_NONE;
    CI_TRY(functions_formal(p, inner, &field, actual));
    formals++;
  }
  if (call->input_count > formals) return ci_parse_damaged_node(p, scope, "more inputs than its function has:", name);
  for (wire = ci_wire_open(function->message); ci_wire_next(&wire, &field);) {
    if (field.key == CI_KEY(FUNCTION_NODE)) CI_TRY(ci_parse_node(p, inner, &field));
  }
  for (wire = ci_wire_open(function->message); ci_wire_next(&wire, &field);) {
    int32_t edge;
    if (field.key != CI_KEY(FUNCTION_OUTPUT) || outputs == call->output_count) continue;
    CI_TRY(ci_parse_ref(p, inner, field.bytes, &edge));
    if (edge == CI_NONE) return ci_parse_damaged_node(p, scope, "an output is absent in the function of", name);
    ci_edge *output = &m->edges.at[call->outputs + outputs++];
    output->of = edge;
    output->role = CI_EDGE_SAME;
    /* Bodies are written for any type; only the call declares the types of its outputs. */
    if (m->edges.at[edge].type == 0) {
      m->edges.at[edge].type = output->type;
      m->edges.at[edge].dtype = output->dtype;
    }
  }
  if (outputs < call->output_count) return ci_parse_damaged_node(p, scope, "more outputs than its function has:", name);
  return CI_OK;
}

ci_status ci_function_inline(ci_parser *p, const ci_scope *scope, const ci_function *function, const ci_node *call,
                             ci_span name) {
  ci_model *m = p->model;
  const size_t number = m->inlined.count;
  if (number >= m->limits.max_nodes) return ci_parse_too_many(p);
  /* the parts of a body other than nodes take no memory */
  CI_TRY(ci_load_again(m, function->message.length, p->error));
  if (scope->calls == CI_MOST_CALLS) {
    char buffer[200];
    name = ci_call_name(m, scope->call, name, buffer, sizeof buffer);
    return ci_fail(p->error, CI_RESOURCE_EXHAUSTED, "functions call each other deeper than %d at '%.*s'", CI_MOST_CALLS,
                   (int)name.length, name.data);
  }
  if (!CI_LIST_GROW(&m->allocator, &m->inlined)) return ci_parse_memory(p);
  const int32_t begin = (int32_t)m->nodes.count;
  m->inlined.at[m->inlined.count++] = (ci_inlined){call->at, scope->call, {begin, INT32_MAX}};
  const ci_scope inner = {.graph = scope->graph,
                          .call = (int32_t)number,
                          .calls = scope->calls + 1,
                          .names = 2 * (uint32_t)(number + 1), /* each call has a name, of which there are fewer */
                          .attrs = call->attrs,
                          .attr_count = call->attr_count,
                          .controls = call->inputs + call->input_count,
                          .control_count = call->control_count};
  const ci_status status = functions_body(p, scope, &inner, function, call, name);
  m->inlined.at[number].nodes.end = (int32_t)m->nodes.count;
  return status;
}
