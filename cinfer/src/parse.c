/* parse.c - reads the graph. One pass: a name is known only after its node, so an order that is none cannot pass. */
#include "parse.h"

#include <string.h>

#include "custom.h"

enum { PARSE_MOST = INT32_MAX / 2 }; /* numbers of things are int32 */

ci_status ci_parse_memory(ci_parser *p) { return ci_fail(p->error, CI_RESOURCE_EXHAUSTED, "no memory for the model"); }

ci_status ci_parse_damaged(ci_parser *p, const char *what, ci_span name) {
  return ci_fail(p->error, CI_DATA_LOSS, "the model is damaged: %s '%.*s'", what, CI_SPAN_ARG(name));
}

ci_status ci_parse_too_many(ci_parser *p) {
  return ci_fail(p->error, CI_RESOURCE_EXHAUSTED, "the model has more than %llu nodes",
                 (unsigned long long)p->model->limits.max_nodes);
}

static ci_status parse_push_ref(ci_parser *p, int32_t ref) {
  ci_model *m = p->model;
  if (m->refs.count >= PARSE_MOST || !CI_LIST_GROW(&m->allocator, &m->refs)) return ci_parse_memory(p);
  m->refs.at[m->refs.count++] = ref;
  return CI_OK;
}

int32_t ci_parse_edge(ci_parser *p, ci_edge edge) {
  ci_model *m = p->model;
  if (m->edges.count >= PARSE_MOST || !CI_LIST_GROW(&m->allocator, &m->edges)) return CI_NONE;
  m->edges.at[m->edges.count] = edge;
  return (int32_t)m->edges.count++;
}

/* ---- names ---- */

/* What a node is called in messages: inside a call, by the call's name first. */
static ci_status parse_full_name(ci_parser *p, ci_span prefix, ci_span *name) {
  if (prefix.length == 0) return CI_OK;
  char *text = ci_pool_chars(&p->model->pool, prefix.length + name->length);
  if (text == NULL) return ci_parse_memory(p);
  memcpy(text, prefix.data, prefix.length);
  memcpy(text + prefix.length, name->data, name->length);
  *name = (ci_span){text, prefix.length + name->length};
  return CI_OK;
}

ci_status ci_parse_name(ci_parser *p, const ci_scope *scope, ci_span name, ci_name *entry) {
  if (name.length == 0 || memchr(name.data, ':', name.length) != NULL || !ci_utf8_valid(name)) {
    return ci_parse_damaged(p, "a node or input has no name, or an impossible one", name);
  }
  entry->scope = scope->names;
  entry->text = name;
  switch (ci_names_add(&p->model->allocator, &p->model->names, entry)) {
    case CI_NAMES_ADDED: return CI_OK;
    case CI_NAMES_DUPLICATE: return ci_parse_damaged(p, "two nodes or inputs have the name", name);
    case CI_NAMES_CROWDED: return ci_parse_damaged(p, "too many names collide, one is", name);
    default: return ci_parse_memory(p);
  }
}

/* Splits "node:k"; k is 0 when there is none. */
static ci_span parse_output_of(ci_span name, int32_t *index) {
  size_t colon = name.length;
  while (colon > 0 && name.data[colon - 1] >= '0' && name.data[colon - 1] <= '9') colon--;
  *index = 0;
  if (colon == 0 || colon == name.length || name.data[colon - 1] != ':' || name.length - colon > 8) return name;
  if (name.data[colon] == '0') return name; /* no name has a colon */
  for (size_t i = colon; i < name.length; i++) *index = *index * 10 + (name.data[i] - '0');
  return (ci_span){name.data, colon - 1};
}

static const ci_name *parse_find(const ci_parser *p, const ci_scope *scope, ci_span name) {
  return ci_names_find(&p->model->names, scope->names, name);
}

static int32_t parse_edge_of(const ci_model *m, const ci_name *name, int32_t index) {
  if (name == NULL || index >= name->count) return CI_NONE;
  int32_t edge = name->first + index;
  return m->edges.at[edge].same_as != CI_NONE ? m->edges.at[edge].same_as : edge;
}

static bool parse_captured(const ci_model *m, const ci_graph *graph, int32_t edge) {
  uint32_t low = graph->captures, high = graph->captures + graph->capture_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (m->refs.at[middle] == edge) return true;
    if (m->refs.at[middle] < edge) low = middle + 1;
    else high = middle;
  }
  return false;
}

/* Whether a value is visible in a graph: its own, or listed as a capture in every graph on the way out. */
static bool parse_visible(const ci_model *m, int32_t graph, int32_t edge) {
  int32_t home = m->edges.at[edge].graph;
  while (graph != home) {
    if (graph <= 0 || !parse_captured(m, &m->graphs.at[graph], edge)) return false;
    graph = m->graphs.at[graph].parent;
  }
  return true;
}

static ci_status parse_lookup(ci_parser *p, const ci_scope *scope, ci_span name, int32_t *edge) {
  int32_t index;
  ci_span node = parse_output_of(name, &index);
  const ci_name *found = parse_find(p, scope, node);
  *edge = parse_edge_of(p->model, found, index);
  /* An input that a call left out has a name and no value. */
  if (found != NULL && found->count == 0 && found->begin == found->end) return CI_OK;
  if (*edge == CI_NONE) return ci_parse_damaged(p, "a node reads what is not produced before it:", name);
  return CI_OK;
}

ci_status ci_parse_ref(ci_parser *p, const ci_scope *scope, ci_span name, int32_t *edge) {
  if (name.length == 0) {
    *edge = CI_NONE;
    return CI_OK;
  }
  CI_TRY(parse_lookup(p, scope, name, edge));
  if (*edge == CI_NONE || parse_visible(p->model, scope->graph, *edge)) return CI_OK;
  return ci_parse_damaged(p, "a subgraph does not list what it captures:", name);
}

/* Nodes by name, which must be of the scope's graph. */
static ci_status parse_push_nodes(ci_parser *p, const ci_scope *scope, ci_span name) {
  ci_model *m = p->model;
  const ci_name *found = parse_find(p, scope, name);
  if (found == NULL || found->begin == found->end || m->nodes.at[found->begin].graph != scope->graph) {
    return ci_parse_damaged(p, "there is no earlier node of this graph", name);
  }
  if (!CI_LIST_GROW(&m->allocator, &m->ranges)) return ci_parse_memory(p);
  m->ranges.at[m->ranges.count++] = (ci_range){found->begin, found->end};
  return CI_OK;
}

/* ---- attributes ---- */

/* Numbers in a run of varints, whole or not: each ends with a byte without the top bit. */
static size_t parse_varints(ci_span run) {
  size_t count = 0;
  for (size_t i = 0; i < run.length; i++) count += (uint8_t)run.data[i] < 0x80;
  return count;
}

static ci_status parse_ints(ci_parser *p, ci_span message, ci_attr *attr) {
  ci_model *m = p->model;
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  attr->as.first = m->ints.count;
  while (ci_wire_next(&wire, &field)) {
    ci_wire run = ci_wire_open(field.bytes);
    uint64_t number = field.number;
    bool packed = field.key == CI_KEY_PACKED(ATTRIBUTEVALUE_INTLIST_I);
    if (!packed && field.key != CI_KEY(ATTRIBUTEVALUE_INTLIST_I)) continue;
    if (!CI_LIST_GROW_BY(&m->allocator, &m->ints, parse_varints(field.bytes) + 1)) return ci_parse_memory(p);
    while (!packed || ci_wire_varint(&run, &number)) {
      m->ints.at[m->ints.count++] = (int64_t)number;
      if (!packed) break;
    }
    if (run.broken) return ci_parse_damaged(p, "a list cannot be read in attribute", attr->key);
  }
  attr->count = (uint32_t)(m->ints.count - attr->as.first);
  return wire.broken ? ci_parse_damaged(p, "a list cannot be read in attribute", attr->key) : CI_OK;
}

static ci_status parse_floats(ci_parser *p, ci_span message, ci_attr *attr) {
  ci_model *m = p->model;
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  attr->as.first = m->floats.count;
  while (ci_wire_next(&wire, &field)) {
    ci_wire run = ci_wire_open(field.bytes);
    uint32_t bits = (uint32_t)field.number;
    bool packed = field.key == CI_KEY_PACKED(ATTRIBUTEVALUE_FLOATLIST_F);
    if (!packed && field.key != CI_KEY(ATTRIBUTEVALUE_FLOATLIST_F)) continue;
    if (!CI_LIST_GROW_BY(&m->allocator, &m->floats, field.bytes.length / 4 + 1)) return ci_parse_memory(p);
    while (!packed || ci_wire_fixed32(&run, &bits)) {
      m->floats.at[m->floats.count++] = ci_float_of(bits);
      if (!packed) break;
    }
    if (run.broken) return ci_parse_damaged(p, "a list cannot be read in attribute", attr->key);
  }
  attr->count = (uint32_t)(m->floats.count - attr->as.first);
  return wire.broken ? ci_parse_damaged(p, "a list cannot be read in attribute", attr->key) : CI_OK;
}

static ci_status parse_strings(ci_parser *p, ci_span message, ci_attr *attr) {
  ci_model *m = p->model;
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  attr->as.first = m->strings.count;
  while (ci_wire_next(&wire, &field)) {
    if (field.key != CI_KEY(ATTRIBUTEVALUE_STRINGLIST_S)) continue;
    if (!CI_LIST_GROW(&m->allocator, &m->strings)) return ci_parse_memory(p);
    m->strings.at[m->strings.count++] = field.bytes;
  }
  attr->count = (uint32_t)(m->strings.count - attr->as.first);
  return wire.broken ? ci_parse_damaged(p, "a list cannot be read in attribute", attr->key) : CI_OK;
}

static ci_status parse_inline_tensor(ci_parser *p, ci_span message, ci_attr *attr) {
  ci_model *m = p->model;
  if (!CI_LIST_GROW(&m->allocator, &m->constants)) return ci_parse_memory(p);
  CI_TRY(ci_constant_parse(m, message, (ci_span){NULL, 0}, NULL, &m->constants.at[m->constants.count], p->error));
  attr->as.constant = (int32_t)m->constants.count++;
  return CI_OK;
}

/* What lies too deep is refused where a kernel would have to make it: its element type is 0. */
static ci_status parse_type(ci_parser *p, ci_span message, ci_type *type) {
  const ci_status status = ci_type_parse(message, type, p->error);
  if (status == CI_UNIMPLEMENTED) type->dtype = 0;
  return status == CI_UNIMPLEMENTED ? CI_OK : status;
}

/* `reference`: the attribute of the call, or none when the call has none. */
static void parse_reference(ci_parser *p, const ci_scope *scope, ci_span name, ci_attr *attr) {
  const ci_attr *found = ci_find_key(p->model, scope->attrs, scope->attr_count, name);
  ci_span key = attr->key;
  attr->kind = 0;
  if (found != NULL) *attr = *found;
  attr->key = key;
}

static ci_status parse_value(ci_parser *p, const ci_scope *scope, ci_span message, ci_attr *attr) {
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  bool referred = false;
  while (ci_wire_next(&wire, &field)) {
    switch (field.key) {
      case CI_KEY(ATTRIBUTEVALUE_I): attr->as.i = (int64_t)field.number; break;
      case CI_KEY(ATTRIBUTEVALUE_F): attr->as.f = ci_float_of((uint32_t)field.number); break;
      case CI_KEY(ATTRIBUTEVALUE_D): attr->as.f = ci_double_of(field.number); break;
      case CI_KEY(ATTRIBUTEVALUE_TYPE): CI_TRY(parse_type(p, field.bytes, &(ci_type){0})); /* fall through */
      case CI_KEY(ATTRIBUTEVALUE_S):
      case CI_KEY(ATTRIBUTEVALUE_G): attr->as.s = field.bytes; break;
      case CI_KEY(ATTRIBUTEVALUE_T): CI_TRY(parse_inline_tensor(p, field.bytes, attr)); break;
      case CI_KEY(ATTRIBUTEVALUE_TENSOR):
        if (field.number >= p->model->constants.count)
          return ci_parse_damaged(p, "no such tensor in attribute", attr->key);
        attr->as.constant = (int32_t)field.number;
        break;
      case CI_KEY(ATTRIBUTEVALUE_INTS): CI_TRY(parse_ints(p, field.bytes, attr)); break;
      case CI_KEY(ATTRIBUTEVALUE_FLOATS): CI_TRY(parse_floats(p, field.bytes, attr)); break;
      case CI_KEY(ATTRIBUTEVALUE_STRINGS): CI_TRY(parse_strings(p, field.bytes, attr)); break;
      case CI_KEY(ATTRIBUTEVALUE_REFERENCE):
        referred = scope->names != 0 && ci_names_find(&p->model->names, scope->names + 1, field.bytes) != NULL;
        parse_reference(p, scope, field.bytes, attr);
        continue;
      default: continue;
    }
    attr->kind = (int32_t)(field.key >> 3);
  }
  if (wire.broken || (attr->kind == 0 && !referred)) return ci_parse_damaged(p, "no value in attribute", attr->key);
  return CI_OK;
}

static ci_status parse_attr(ci_parser *p, const ci_scope *scope, ci_span message, ci_node *node, ci_span *last) {
  ci_model *m = p->model;
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  ci_attr attr = {0};
  ci_span value = {NULL, 0};
  int values = 0; /* other readers take two for one that lies in two parts */
  while (ci_wire_next(&wire, &field)) {
    if (field.key == CI_KEY(ATTRIBUTE_KEY)) attr.key = field.bytes;
    if (field.key != CI_KEY(ATTRIBUTE_VALUE)) continue;
    value = field.bytes;
    values++;
  }
  if (wire.broken || attr.key.length == 0 || values > 1)
    return ci_parse_damaged(p, "an attribute cannot be read in node", node->name);
  if (last->data != NULL && ci_span_order(*last, attr.key) >= 0) {
    return ci_parse_damaged(p, "attributes are not sorted and unique at", attr.key);
  }
  *last = attr.key;
  CI_TRY(parse_value(p, scope, value, &attr));
  if (attr.kind == 0) return CI_OK;
  if (m->attrs.count >= PARSE_MOST || !CI_LIST_GROW(&m->allocator, &m->attrs)) return ci_parse_memory(p);
  m->attrs.at[m->attrs.count++] = attr;
  node->attr_count++;
  return CI_OK;
}

/* ---- graphs ---- */

static ci_status parse_formal(ci_parser *p, const ci_scope *scope, ci_span message, ci_graph *graph) {
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  ci_span name = {NULL, 0}, type = {NULL, 0};
  ci_type checked;
  while (ci_wire_next(&wire, &field)) {
    if (field.key == CI_KEY(ARGUMENT_NAME)) name = field.bytes;
    else if (field.key == CI_KEY(ARGUMENT_TYPE)) type = field.bytes;
  }
  if (wire.broken) return ci_parse_damaged(p, "a formal input cannot be read after", name);
  CI_TRY(ci_type_parse(type, &checked, p->error));
  int32_t edge = ci_parse_edge(p, (ci_edge){CI_NONE, graph->formal_count, scope->graph, CI_NONE, type, checked.dtype});
  if (edge == CI_NONE) return ci_parse_memory(p);
  if (graph->formal_count++ == 0) graph->formals = edge;
  return ci_parse_name(p, scope, name, &(ci_name){.first = edge, .count = 1});
}

static void parse_sort(int32_t *at, size_t count) { /* heap sort: nothing from a file makes it slow */
  for (size_t heap = count / 2, end = count; end > 1;) {
    if (heap > 0) {
      heap--;
    } else {
      int32_t top = at[0];
      at[0] = at[--end];
      at[end] = top;
    }
    size_t root = heap, child;
    int32_t moved = at[root];
    while ((child = 2 * root + 1) < end) {
      if (child + 1 < end && at[child] < at[child + 1]) child++;
      if (at[child] <= moved) break;
      at[root] = at[child];
      root = child;
    }
    at[root] = moved;
  }
}

/* Captures and formal inputs come before nodes, wherever they stand in the message. */
static ci_status parse_border(ci_parser *p, const ci_scope *outer, const ci_scope *scope, ci_span message) {
  ci_model *m = p->model;
  ci_graph graph = m->graphs.at[scope->graph];
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  ci_span last = {NULL, 0};
  graph.captures = (uint32_t)m->refs.count;
  while (ci_wire_next(&wire, &field)) {
    if (field.key == CI_KEY(GRAPH_CAPTURE)) {
      int32_t edge;
      if (outer == NULL || field.bytes.length == 0 || (last.data != NULL && ci_span_order(last, field.bytes) >= 0)) {
        return ci_parse_damaged(p, "captures are not sorted and unique, or stand in the root:", field.bytes);
      }
      last = field.bytes;
      CI_TRY(ci_parse_ref(p, outer, field.bytes, &edge));
      if (edge != CI_NONE) CI_TRY(parse_push_ref(p, edge));
    } else if (field.key == CI_KEY(GRAPH_INPUT)) {
      if (outer == NULL) return ci_parse_damaged(p, "the root has a formal input", field.bytes);
      CI_TRY(parse_formal(p, scope, field.bytes, &graph));
    }
  }
  graph.capture_count = (uint32_t)m->refs.count - graph.captures;
  if (graph.capture_count > 0) parse_sort(m->refs.at + graph.captures, graph.capture_count);
  m->graphs.at[scope->graph] = graph;
  return wire.broken ? ci_parse_damaged(p, "a graph cannot be read after", last) : CI_OK;
}

static ci_status parse_results(ci_parser *p, const ci_scope *scope, ci_span message) {
  ci_model *m = p->model;
  ci_graph *graph = &m->graphs.at[scope->graph];
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  graph->outputs = (uint32_t)m->refs.count;
  graph->targets = (uint32_t)m->ranges.count;
  while (ci_wire_next(&wire, &field)) {
    if (field.key == CI_KEY(GRAPH_OUTPUT)) {
      if (graph->parent == CI_NONE) return ci_parse_damaged(p, "the root has an output", field.bytes);
      int32_t edge;
      CI_TRY(ci_parse_ref(p, scope, field.bytes, &edge));
      if (edge == CI_NONE) return ci_parse_damaged(p, "an output of a graph is absent", field.bytes);
      CI_TRY(parse_push_ref(p, edge));
    } else if (field.key == CI_KEY(GRAPH_TARGET)) {
      CI_TRY(parse_push_nodes(p, scope, field.bytes));
    }
  }
  graph->output_count = (uint32_t)m->refs.count - graph->outputs;
  graph->target_count = (uint32_t)m->ranges.count - graph->targets;
  return CI_OK;
}

/* Whether the value of an attribute begins as an inline tensor does. */
static bool parse_has_tensor(ci_span attribute) {
  ci_wire wire = ci_wire_open(attribute);
  ci_field field;
  while (ci_wire_next(&wire, &field)) {
    if (field.key == CI_KEY(ATTRIBUTE_VALUE) && field.bytes.length > 0)
      return (uint8_t)field.bytes.data[0] == CI_KEY(ATTRIBUTEVALUE_T);
  }
  return false;
}

/* Room for what a graph has, so that large lists are seldom copied; what its bodies have comes with them. */
static ci_status parse_reserve(ci_parser *p, ci_span graph) {
  ci_model *m = p->model;
  size_t nodes = 0, inputs = 0, outputs = 0, attrs = 0, tensors = 0;
  ci_wire wire = ci_wire_open(graph);
  ci_field field;
  while (ci_wire_next(&wire, &field)) {
    if (field.key != CI_KEY(GRAPH_NODE)) continue;
    ci_wire node = ci_wire_open(field.bytes);
    nodes++;
    while (ci_wire_next(&node, &field)) {
      inputs += field.key == CI_KEY(NODE_INPUT);
      outputs += field.key == CI_KEY(NODE_OUTPUT_TYPE);
      attrs += field.key == CI_KEY(NODE_ATTR);
      tensors += field.key == CI_KEY(NODE_ATTR) && parse_has_tensor(field.bytes);
    }
  }
  if (nodes > m->limits.max_nodes) nodes = (size_t)m->limits.max_nodes; /* calls are not kept, so more may stand here */
  const bool room =
      CI_LIST_GROW_BY(&m->allocator, &m->nodes, nodes) && CI_LIST_GROW_BY(&m->allocator, &m->edges, outputs) &&
      CI_LIST_GROW_BY(&m->allocator, &m->refs, inputs) && CI_LIST_GROW_BY(&m->allocator, &m->attrs, attrs) &&
      CI_LIST_GROW_BY(&m->allocator, &m->constants, tensors) && ci_names_reserve(&m->allocator, &m->names, nodes);
  return room ? CI_OK : ci_parse_memory(p);
}

/* Adds a graph; outer is NULL for the root, else the scope of its node. */
static ci_status parse_graph(ci_parser *p, const ci_scope *outer, int32_t owner, ci_span message, int32_t *number) {
  ci_model *m = p->model;
  int32_t depth = outer == NULL ? 0 : m->graphs.at[outer->graph].depth + 1;
  if (depth > (int32_t)m->limits.max_depth) {
    return ci_fail(p->error, CI_RESOURCE_EXHAUSTED, "subgraphs are nested deeper than the limit of %u",
                   (unsigned)m->limits.max_depth);
  }
  if (m->graphs.count >= PARSE_MOST || !CI_LIST_GROW(&m->allocator, &m->graphs)) return ci_parse_memory(p);
  *number = (int32_t)m->graphs.count++;
  m->graphs.at[*number] = (ci_graph){.owner = owner,
                                     .parent = outer == NULL ? CI_NONE : outer->graph,
                                     .first = CI_NONE,
                                     .last = CI_NONE,
                                     .depth = depth,
                                     .formals = CI_NONE};
  ci_scope scope = {0};
  if (outer != NULL) scope = *outer;
  scope.graph = *number;
  scope.control_count = 0; /* control edges stop at the border */
  CI_TRY(parse_reserve(p, message));
  CI_TRY(parse_border(p, outer, &scope, message));
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  while (ci_wire_next(&wire, &field)) {
    if (field.key == CI_KEY(GRAPH_NODE)) CI_TRY(ci_parse_node(p, &scope, field.bytes));
  }
  return parse_results(p, &scope, message);
}

/* ---- nodes ---- */

static ci_status parse_source(ci_parser *p, ci_span message, ci_node *node) {
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  while (ci_wire_next(&wire, &field)) {
    switch (field.key) {
      case CI_KEY(SOURCE_FILE): node->file = field.bytes; break;
      case CI_KEY(SOURCE_LINE): node->line = (uint32_t)field.number; break;
      case CI_KEY(SOURCE_FUNCTION): node->function = field.bytes; break;
      default: break;
    }
  }
  return wire.broken ? ci_parse_damaged(p, "the source cannot be read of node", node->name) : CI_OK;
}

/* A bit for each field of a node, so that a pass for what is not there is left out. */
#define PARSE_FIELD(field) (1u << CI_PB_##field)

/* The fields that other fields are understood by; `fields` gets which there are. */
static ci_status parse_head(ci_parser *p, const ci_scope *scope, ci_span message, ci_node *node, uint32_t *fields) {
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  uint64_t version = 0;
  node->file = scope->file;
  node->function = scope->function;
  node->line = scope->line;
  while (ci_wire_next(&wire, &field)) {
    if (field.key >> 3 < 32) *fields |= 1u << (field.key >> 3);
    switch (field.key) {
      case CI_KEY(NODE_NAME): node->name = field.bytes; break;
      case CI_KEY(NODE_OP): node->op = field.bytes; break;
      case CI_KEY(NODE_DOMAIN): node->domain = field.bytes; break;
      case CI_KEY(NODE_VERSION): version = field.number; break;
      case CI_KEY(NODE_OUTPUT_TYPE): node->output_count++; break;
      case CI_KEY(NODE_SOURCE): CI_TRY(parse_source(p, field.bytes, node)); break;
      default: break;
    }
  }
  if (wire.broken || node->name.length == 0) return ci_parse_damaged(p, "a node cannot be read:", node->name);
  if (version == 0 || version > INT32_MAX) return ci_parse_damaged(p, "no operator version in node", node->name);
  node->version = (int32_t)version;
  node->kernel = ci_find_op(node->domain, node->op, node->version);
  if (node->kernel == NULL) node->kernel = ci_custom_find(p->model, node->domain, node->op, node->version);
  return CI_OK;
}

static ci_status parse_inputs(ci_parser *p, const ci_scope *scope, ci_span message, ci_node *node) {
  ci_model *m = p->model;
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  node->inputs = (uint32_t)m->refs.count;
  while (ci_wire_next(&wire, &field)) {
    int32_t edge;
    if (field.key != CI_KEY(NODE_INPUT)) continue;
    CI_TRY(ci_parse_ref(p, scope, field.bytes, &edge));
    CI_TRY(parse_push_ref(p, edge));
    node->input_count++;
  }
  return CI_OK;
}

static ci_status parse_controls(ci_parser *p, const ci_scope *scope, ci_span message, ci_node *node) {
  ci_model *m = p->model;
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  node->controls = (uint32_t)m->ranges.count;
  for (uint32_t i = 0; i < scope->control_count; i++) { /* those of the call */
    if (!CI_LIST_GROW(&m->allocator, &m->ranges)) return ci_parse_memory(p);
    m->ranges.at[m->ranges.count] = m->ranges.at[scope->controls + i];
    m->ranges.count++;
  }
  while (ci_wire_next(&wire, &field)) {
    if (field.key == CI_KEY(NODE_CONTROL_INPUT)) CI_TRY(parse_push_nodes(p, scope, field.bytes));
  }
  node->control_count = (uint32_t)m->ranges.count - node->controls;
  return CI_OK;
}

static ci_status parse_attrs(ci_parser *p, const ci_scope *scope, ci_span message, ci_node *node) {
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  ci_span last = {NULL, 0};
  node->attrs = (uint32_t)p->model->attrs.count;
  while (ci_wire_next(&wire, &field)) {
    if (field.key == CI_KEY(NODE_ATTR)) CI_TRY(parse_attr(p, scope, field.bytes, node, &last));
  }
  return CI_OK;
}

/* A node inside a function may come without output types: then it has all outputs that its operator can have. */
static void parse_guess_outputs(const ci_model *m, ci_node *node, const ci_function *function) {
  const ci_attr *number = ci_find_attr(m, node, "num_outputs");
  if (function != NULL) node->output_count = ci_function_outputs(function);
  if (node->kernel == NULL) return;
  node->output_count = node->kernel->max_out >= 0 ? node->kernel->max_out : node->kernel->min_out;
  if (number != NULL && number->kind == CI_PB_ATTRIBUTEVALUE_I && number->as.i > 0 && number->as.i < 1024) {
    node->output_count = (int32_t)number->as.i;
  }
}

static ci_status parse_outputs(ci_parser *p, ci_span message, ci_node *node) {
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  int32_t count = 0;
  while (ci_wire_next(&wire, &field)) {
    ci_type checked;
    if (field.key != CI_KEY(NODE_OUTPUT_TYPE)) continue;
    CI_TRY(parse_type(p, field.bytes, &checked));
    const int32_t number = (int32_t)p->model->nodes.count;
    int32_t edge = ci_parse_edge(p, (ci_edge){number, count, node->graph, CI_NONE, field.bytes, checked.dtype});
    if (edge == CI_NONE) return ci_parse_memory(p);
    if (count++ == 0) node->outputs = edge;
  }
  for (; count < node->output_count; count++) {
    int32_t edge = ci_parse_edge(
        p, (ci_edge){.node = (int32_t)p->model->nodes.count, .index = count, .graph = node->graph, .same_as = CI_NONE});
    if (edge == CI_NONE) return ci_parse_memory(p);
    if (count == 0) node->outputs = edge;
  }
  return CI_OK;
}

static ci_status parse_bodies(ci_parser *p, const ci_scope *scope, const ci_node *node, int32_t number) {
  for (uint32_t i = node->attrs; i < node->attrs + node->attr_count; i++) {
    ci_attr *attr = &p->model->attrs.at[i];
    int32_t graph;
    if (attr->kind != CI_PB_ATTRIBUTEVALUE_G) continue;
    CI_TRY(parse_graph(p, scope, number, attr->as.s, &graph));
    p->model->attrs.at[i].as.graph = graph; /* the array may have moved */
  }
  return CI_OK;
}

static void parse_link(ci_model *m, int32_t number) {
  ci_graph *graph = &m->graphs.at[m->nodes.at[number].graph];
  if (graph->last == CI_NONE) graph->first = number;
  else m->nodes.at[graph->last].next = number;
  graph->last = number;
}

ci_status ci_parse_node(ci_parser *p, const ci_scope *scope, ci_span message) {
  ci_model *m = p->model;
  ci_node node = {.graph = scope->graph, .next = CI_NONE, .outputs = CI_NONE};
  uint32_t fields = 0;
  CI_TRY(parse_head(p, scope, message, &node, &fields));
  ci_span local = node.name;
  CI_TRY(parse_full_name(p, scope->name_prefix, &node.name));
  if ((fields & PARSE_FIELD(NODE_INPUT)) != 0) CI_TRY(parse_inputs(p, scope, message, &node));
  if ((fields & PARSE_FIELD(NODE_CONTROL_INPUT)) != 0 || scope->control_count > 0)
    CI_TRY(parse_controls(p, scope, message, &node));
  if ((fields & PARSE_FIELD(NODE_ATTR)) != 0) CI_TRY(parse_attrs(p, scope, message, &node));
  int32_t number = (int32_t)m->nodes.count;
  const ci_function *function = node.kernel != NULL ? NULL : ci_function_find(p, node.domain, node.op, node.version);
  if (node.output_count == 0) parse_guess_outputs(m, &node, function);
  CI_TRY(parse_outputs(p, message, &node));
  if (function != NULL) {
    CI_TRY(ci_function_inline(p, scope, function, &node));
  } else {
    if (m->nodes.count >= m->limits.max_nodes || m->nodes.count >= PARSE_MOST) {
      return ci_parse_too_many(p);
    }
    if (!CI_LIST_GROW(&m->allocator, &m->nodes)) return ci_parse_memory(p);
    m->nodes.at[m->nodes.count++] = node;
    parse_link(m, number);
    CI_TRY(parse_bodies(p, scope, &node, number));
    CI_TRY(ci_verify_node(m, &node, p->error));
  }
  ci_name entry = {.first = node.outputs, .count = node.output_count, .begin = number, .end = number + 1};
  if (function != NULL) entry.end = (int32_t)m->nodes.count;
  return ci_parse_name(p, scope, local, &entry);
}

/* ---- the root ---- */

static ci_status parse_functions(ci_parser *p, const ci_span *messages, ci_function *functions) {
  for (size_t i = 0; i < p->function_count; i++) {
    ci_wire wire = ci_wire_open(messages[i]);
    ci_field field;
    ci_function *f = &functions[i];
    f->message = messages[i];
    while (ci_wire_next(&wire, &field)) {
      switch (field.key) {
        case CI_KEY(FUNCTION_DOMAIN): f->domain = field.bytes; break;
        case CI_KEY(FUNCTION_NAME): f->name = field.bytes; break;
        case CI_KEY(FUNCTION_VERSION): f->version = field.number; break;
        default: break;
      }
    }
    if (wire.broken) return ci_parse_damaged(p, "a function cannot be read:", f->name);
    const ci_function *before = i == 0 ? NULL : &functions[i - 1];
    int order = before == NULL ? -1 : ci_span_order(before->domain, f->domain);
    if (order == 0) order = ci_span_order(before->name, f->name);
    if (order > 0 || (order == 0 && before->version >= f->version)) {
      return ci_parse_damaged(p, "functions are not sorted and unique at", f->name);
    }
  }
  return CI_OK;
}

ci_status ci_parse_graph(ci_model *model, ci_span graph, const ci_span *functions, size_t function_count,
                         ci_error *error) {
  ci_parser p = {.model = model, .error = error, .function_count = function_count};
  size_t bytes = function_count * sizeof(ci_function); /* the spans are as many and there already */
  ci_function *parsed = ci_alloc(&model->allocator, bytes);
  int32_t root;
  if (parsed == NULL) return ci_parse_memory(&p);
  p.functions = parsed;
  ci_status status = parse_functions(&p, functions, parsed);
  if (status == CI_OK) status = parse_graph(&p, NULL, CI_NONE, graph, &root);
  ci_release(&model->allocator, parsed, bytes);
  return status;
}

ci_status ci_parse_root_value(const ci_model *model, ci_span name, const char *what, int32_t *edge, ci_error *error) {
  int32_t index;
  ci_span node = parse_output_of(name, &index);
  *edge = parse_edge_of(model, ci_names_find(&model->names, 0, node), index);
  if (*edge != CI_NONE && model->edges.at[*edge].graph == 0) return CI_OK;
  return ci_fail(error, CI_DATA_LOSS, "the model is damaged: %s '%.*s' is no value of its root graph", what,
                 CI_SPAN_ARG(name));
}

ci_status ci_parse_root_nodes(const ci_model *model, ci_span name, const char *what, ci_range *range, ci_error *error) {
  const ci_name *found = ci_names_find(&model->names, 0, name);
  if (found == NULL || found->begin == found->end || model->nodes.at[found->begin].graph != 0) {
    return ci_fail(error, CI_DATA_LOSS, "the model is damaged: %s '%.*s' is no node of its root graph", what,
                   CI_SPAN_ARG(name));
  }
  *range = (ci_range){found->begin, found->end};
  return CI_OK;
}
