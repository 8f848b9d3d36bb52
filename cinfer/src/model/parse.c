/* parse.c - reads the graph of a model file. One pass: a name is known only after its node, so a node cannot refer to
 * a later one. */
#include "parse.h"

#include <string.h>

#include "custom.h"
#include "../base/sort.h"

enum { PARSE_MOST = INT32_MAX / 2 }; /* numbers of things are int32 */

ci_status ci_parse_memory(ci_parser *p) { return ci_fail(p->error, CI_RESOURCE_EXHAUSTED, "no memory for the model"); }

ci_status ci_parse_damaged(ci_parser *p, const char *what, ci_span name) {
  return ci_fail(p->error, CI_DATA_LOSS, "the model is damaged: %s '%.*s'", what, CI_SPAN_ARG(name));
}

ci_status ci_parse_damaged_node(ci_parser *p, const ci_scope *scope, const char *what, ci_span name) {
  char buffer[200];
  return ci_parse_damaged(p, what, ci_call_name(p->model, scope->call, name, buffer, sizeof buffer));
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

/* Number 2n: node n, whose name is first in its message. Number 2n + 1: entry n of `named`. */
static ci_key parse_key(const ci_model *m, uint32_t number) {
  if (number % 2 == 0) return (ci_key){ci_node_own_name(m, &m->nodes.at[number / 2]), 0};
  const ci_named *named = &m->named.at[number / 2];
  return (ci_key){ci_stored_bytes(m, named->str), named->scope};
}

static bool parse_is(const void *owner, uint32_t number, const ci_key *key) {
  return ci_key_same(parse_key(owner, number), *key);
}

static ci_namer parse_namer(const ci_model *m) { return (ci_namer){parse_is, m}; }

/* Whether there is one; *found is the part that it names. */
static bool parse_find_name(const ci_model *m, uint32_t scope, ci_span str, ci_named *found) {
  const ci_namer namer = parse_namer(m);
  const int64_t number = ci_names_find(&m->names, &namer, &(ci_key){str, scope});
  if (number < 0) return false;
  if (number % 2 != 0) {
    *found = m->named.at[number / 2];
    return true;
  }
  const int32_t n = (int32_t)(number / 2);
  const ci_node *node = &m->nodes.at[n];
  *found = (ci_named){.first = node->outputs, .count = node->output_count, .nodes = {n, n + 1}};
  return true;
}

static bool parse_name_fits(ci_span name) {
  return name.length > 0 && memchr(name.data, ':', name.length) == NULL && ci_utf8_valid(name);
}

/* Attributes, which have the odd scopes, may be called anything. */
static ci_status parse_name(ci_parser *p, const ci_key *key, uint32_t number) {
  const ci_namer namer = parse_namer(p->model);
  if (key->scope % 2 == 0 && !parse_name_fits(key->str))
    return ci_parse_damaged(p, "a node or input has no name, or an impossible one", key->str);
  switch (ci_names_add(&p->model->allocator, &p->model->names, &namer, key, number)) {
    case CI_NAMES_ADDED: return CI_OK;
    case CI_NAMES_DUPLICATE: return ci_parse_damaged(p, "two nodes or inputs have the name", key->str);
    case CI_NAMES_CROWDED: return ci_parse_damaged(p, "too many names collide, one is", key->str);
    default: return ci_parse_memory(p);
  }
}

ci_status ci_parse_name(ci_parser *p, uint32_t scope, const ci_field *name, ci_named entry) {
  ci_model *m = p->model;
  if (m->named.count >= PARSE_MOST || !CI_LIST_GROW(&m->allocator, &m->named)) return ci_parse_memory(p);
  CI_TRY(parse_name(p, &(ci_key){name->bytes, scope}, 2 * (uint32_t)m->named.count + 1));
  entry.str = ci_stored_of(m, name);
  entry.scope = scope;
  m->named.at[m->named.count++] = entry;
  return CI_OK;
}

bool ci_parse_is_named(const ci_parser *p, uint32_t scope, ci_span name) {
  ci_named found;
  return parse_find_name(p->model, scope, name, &found);
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

static int32_t parse_edge_of(const ci_model *m, const ci_named *name, int32_t index) {
  if (index >= name->count) return CI_NONE;
  const int32_t edge = name->first + index;
  return m->edges.at[edge].role == CI_EDGE_SAME ? m->edges.at[edge].of : edge;
}

static int32_t parse_edge_graph(const ci_model *m, int32_t edge) {
  const ci_edge *e = &m->edges.at[edge]; /* none that is the same as another */
  return e->role == CI_EDGE_FORMAL ? e->of : m->nodes.at[e->of].graph;
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
  const int32_t home = parse_edge_graph(m, edge);
  while (graph != home) {
    if (graph <= 0 || !parse_captured(m, &m->graphs.at[graph], edge)) return false;
    graph = m->graphs.at[graph].parent;
  }
  return true;
}

static ci_status parse_lookup(ci_parser *p, const ci_scope *scope, ci_span name, int32_t *edge) {
  int32_t index;
  ci_named found = {.count = -1};
  const bool there = parse_find_name(p->model, scope->names, parse_output_of(name, &index), &found);
  *edge = parse_edge_of(p->model, &found, index);
  /* An input that a call left out has a name and no value. */
  if (there && found.count == 0 && found.nodes.begin == found.nodes.end) return CI_OK;
  if (*edge == CI_NONE) return ci_parse_damaged(p, "a node reads a value that no earlier node produces:", name);
  return CI_OK;
}

ci_status ci_parse_ref(ci_parser *p, const ci_scope *scope, ci_span name, int32_t *edge) {
  if (name.length == 0) {
    *edge = CI_NONE;
    return CI_OK;
  }
  CI_TRY(parse_lookup(p, scope, name, edge));
  if (*edge == CI_NONE || parse_visible(p->model, scope->graph, *edge)) return CI_OK;
  return ci_parse_damaged(p, "a subgraph does not list a value that it captures:", name);
}

static ci_status parse_push_range(ci_parser *p, ci_range range) {
  CI_TRY(parse_push_ref(p, range.begin));
  return parse_push_ref(p, range.end);
}

/* Nodes by name, which must be of the scope's graph. */
static ci_status parse_push_nodes(ci_parser *p, const ci_scope *scope, ci_span name) {
  const ci_model *m = p->model;
  ci_named found;
  if (!parse_find_name(m, scope->names, name, &found) || found.nodes.begin == found.nodes.end ||
      m->nodes.at[found.nodes.begin].graph != scope->graph) {
    return ci_parse_damaged(p, "there is no earlier node of this graph", name);
  }
  return parse_push_range(p, found.nodes);
}

/* ---- attributes ---- */

/* Numbers in a run of varints, which may be cut off: each ends with a byte without the top bit. */
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
    if (!CI_LIST_GROW_BY(&m->allocator, &m->ints, packed ? parse_varints(field.bytes) : 1)) return ci_parse_memory(p);
    while (!packed || ci_wire_varint(&run, &number)) {
      m->ints.at[m->ints.count++] = (int64_t)number;
      if (!packed) break;
    }
    if (run.broken) return ci_parse_damaged(p, "a list cannot be read in attribute", ci_stored_bytes(m, attr->key));
  }
  attr->count = (uint32_t)(m->ints.count - attr->as.first);
  return wire.broken ? ci_parse_damaged(p, "a list cannot be read in attribute", ci_stored_bytes(m, attr->key)) : CI_OK;
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
    if (!CI_LIST_GROW_BY(&m->allocator, &m->floats, packed ? field.bytes.length / 4 : 1)) return ci_parse_memory(p);
    while (!packed || ci_wire_fixed32(&run, &bits)) {
      m->floats.at[m->floats.count++] = ci_float_of(bits);
      if (!packed) break;
    }
    if (run.broken) return ci_parse_damaged(p, "a list cannot be read in attribute", ci_stored_bytes(m, attr->key));
  }
  attr->count = (uint32_t)(m->floats.count - attr->as.first);
  return wire.broken ? ci_parse_damaged(p, "a list cannot be read in attribute", ci_stored_bytes(m, attr->key)) : CI_OK;
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
  return wire.broken ? ci_parse_damaged(p, "a list cannot be read in attribute", ci_stored_bytes(m, attr->key)) : CI_OK;
}

static ci_status parse_inline_tensor(ci_parser *p, ci_span message, ci_attr *attr) {
  ci_model *m = p->model;
  if (!CI_LIST_GROW(&m->allocator, &m->constants)) return ci_parse_memory(p);
  CI_TRY(ci_constant_parse(m, message, (ci_span){NULL, 0}, NULL, &m->constants.at[m->constants.count], p->error));
  attr->as.constant = (int32_t)m->constants.count++;
  return CI_OK;
}

/* A type that is nested too deep is refused where a kernel would have to make it: its element type is 0. A message
 * without a reader is not written: it takes longer than the type. */
static ci_status parse_type(ci_parser *p, ci_span message, ci_type *type) {
  const ci_status status = ci_type_parse(message, type, NULL);
  if (status == CI_UNIMPLEMENTED) type->dtype = 0;
  return status == CI_OK || status == CI_UNIMPLEMENTED ? CI_OK : ci_type_parse(message, type, p->error);
}

/* About how many bytes of the file are read again by each that has the value: a body is parsed, a type read, a list
 * looked through. Tensors are shared. */
static size_t parse_weight(const ci_model *m, const ci_attr *attr) {
  switch (attr->kind) {
    case CI_PB_ATTRIBUTEVALUE_S:
    case CI_PB_ATTRIBUTEVALUE_TYPE:
    case CI_PB_ATTRIBUTEVALUE_G: return ci_stored_bytes(m, attr->as.at).length;
    case CI_PB_ATTRIBUTEVALUE_INTS:
    case CI_PB_ATTRIBUTEVALUE_FLOATS:
    case CI_PB_ATTRIBUTEVALUE_STRINGS: return attr->count;
    default: return 0;
  }
}

/* `reference`: the attribute of the call, or none when the call has none. */
static ci_status parse_reference(ci_parser *p, const ci_scope *scope, ci_span name, ci_attr *attr) {
  const ci_attr *found = ci_attr_find_key(p->model, scope->attrs, scope->attr_count, name);
  const ci_stored key = attr->key;
  attr->kind = 0;
  if (found == NULL) return CI_OK;
  *attr = *found;
  attr->key = key;
  return ci_load_again(p->model, parse_weight(p->model, attr), p->error);
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
      case CI_KEY(ATTRIBUTEVALUE_G): attr->as.at = ci_stored_of(p->model, &field); break;
      case CI_KEY(ATTRIBUTEVALUE_T): CI_TRY(parse_inline_tensor(p, field.bytes, attr)); break;
      case CI_KEY(ATTRIBUTEVALUE_TENSOR):
        if (field.number >= p->stored)
          return ci_parse_damaged(p, "no such tensor in attribute", ci_stored_bytes(p->model, attr->key));
        attr->as.constant = (int32_t)field.number;
        break;
      case CI_KEY(ATTRIBUTEVALUE_INTS): CI_TRY(parse_ints(p, field.bytes, attr)); break;
      case CI_KEY(ATTRIBUTEVALUE_FLOATS): CI_TRY(parse_floats(p, field.bytes, attr)); break;
      case CI_KEY(ATTRIBUTEVALUE_STRINGS): CI_TRY(parse_strings(p, field.bytes, attr)); break;
      case CI_KEY(ATTRIBUTEVALUE_REFERENCE):
        referred = scope->names != 0 && ci_parse_is_named(p, scope->names + 1, field.bytes);
        CI_TRY(parse_reference(p, scope, field.bytes, attr));
        continue;
      default: continue;
    }
    attr->kind = (int32_t)(field.key >> 3);
  }
  if (wire.broken || (attr->kind == 0 && !referred))
    return ci_parse_damaged(p, "no value in attribute", ci_stored_bytes(p->model, attr->key));
  return CI_OK;
}

static ci_status parse_attr(ci_parser *p, const ci_scope *scope, ci_span message, ci_span name, ci_span *last) {
  ci_model *m = p->model;
  ci_wire wire = ci_wire_open(message);
  ci_field field, key = {0}, value = {0};
  int values = 0; /* other readers take two for one in two parts */
  while (ci_wire_next(&wire, &field)) {
    if (field.key == CI_KEY(ATTRIBUTE_KEY)) key = field;
    if (field.key != CI_KEY(ATTRIBUTE_VALUE)) continue;
    value = field;
    values++;
  }
  if (wire.broken || key.bytes.length == 0 || values > 1)
    return ci_parse_damaged_node(p, scope, "an attribute cannot be read in node", name);
  if (last->data != NULL && ci_span_order(*last, key.bytes) >= 0) {
    return ci_parse_damaged(p, "attributes are not sorted and unique at", key.bytes);
  }
  *last = key.bytes;
  ci_attr attr = {.key = ci_stored_of(m, &key)};
  CI_TRY(parse_value(p, scope, value.bytes, &attr));
  if (attr.kind == 0) return CI_OK;
  if (m->attrs.count >= PARSE_MOST || !CI_LIST_GROW(&m->allocator, &m->attrs)) return ci_parse_memory(p);
  m->attrs.at[m->attrs.count++] = attr;
  return CI_OK;
}

/* ---- graphs ---- */

/* The type of a field, or none, as an edge stores it. */
static ci_status parse_edge_type(ci_parser *p, const ci_field *field, ci_edge *edge, bool formal) {
  ci_type checked;
  CI_TRY(formal ? ci_type_parse(field->bytes, &checked, p->error) : parse_type(p, field->bytes, &checked));
  edge->type = field->bytes.length == 0 ? 0 : ci_stored_of(p->model, field);
  edge->dtype = (uint8_t)checked.dtype;
  return CI_OK;
}

static ci_status parse_formal(ci_parser *p, const ci_scope *scope, ci_span message, ci_graph *graph) {
  ci_wire wire = ci_wire_open(message);
  ci_field field, name = {0}, type = {0};
  while (ci_wire_next(&wire, &field)) {
    if (field.key == CI_KEY(ARGUMENT_NAME)) name = field;
    else if (field.key == CI_KEY(ARGUMENT_TYPE)) type = field;
  }
  if (wire.broken) return ci_parse_damaged(p, "a formal input cannot be read after", name.bytes);
  ci_edge made = {.of = scope->graph, .role = CI_EDGE_FORMAL};
  CI_TRY(parse_edge_type(p, &type, &made, true));
  const int32_t edge = ci_parse_edge(p, made);
  if (edge == CI_NONE) return ci_parse_memory(p);
  if (graph->formal_count++ == 0) graph->formals = edge;
  return ci_parse_name(p, scope->names, &name, (ci_named){.first = edge, .count = 1});
}

static bool parse_is_before(const void *owner, int32_t a, int32_t b) {
  (void)owner;
  return a < b;
}

/* Captures and formal inputs come before nodes, wherever they are in the message. */
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
        return ci_parse_damaged(p, "captures are not sorted and unique, or belong to the root:", field.bytes);
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
  if (graph.capture_count > 0) ci_sort(m->refs.at + graph.captures, graph.capture_count, parse_is_before, NULL);
  m->graphs.at[scope->graph] = graph;
  return wire.broken ? ci_parse_damaged(p, "a graph cannot be read after", last) : CI_OK;
}

static ci_status parse_results(ci_parser *p, const ci_scope *scope, ci_span message) {
  ci_model *m = p->model;
  ci_graph *graph = &m->graphs.at[scope->graph];
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  bool has_targets = false;
  graph->outputs = (uint32_t)m->refs.count;
  while (ci_wire_next(&wire, &field)) {
    has_targets |= field.key == CI_KEY(GRAPH_TARGET);
    if (field.key != CI_KEY(GRAPH_OUTPUT)) continue;
    if (graph->parent == CI_NONE) return ci_parse_damaged(p, "the root has an output", field.bytes);
    int32_t edge;
    CI_TRY(ci_parse_ref(p, scope, field.bytes, &edge));
    if (edge == CI_NONE) return ci_parse_damaged(p, "an output of a graph is absent", field.bytes);
    CI_TRY(parse_push_ref(p, edge));
    graph->output_count++;
  }
  graph->targets = (uint32_t)m->refs.count;
  for (wire = ci_wire_open(message); has_targets && ci_wire_next(&wire, &field);) {
    if (field.key != CI_KEY(GRAPH_TARGET)) continue;
    CI_TRY(parse_push_nodes(p, scope, field.bytes));
    graph->target_count++;
  }
  return CI_OK;
}

/* ---- how much there is ---- */

typedef struct parse_counts {
  size_t nodes, edges, refs, attrs, constants, ints, floats, strings;
} parse_counts;

static void parse_count_graph(parse_counts *counts, ci_span graph, uint32_t depth);

/* The elements of a list, one a field or a run of them. */
static void parse_count_list(parse_counts *counts, const ci_field *list) {
  ci_wire wire = ci_wire_open(list->bytes);
  ci_field field;
  while (ci_wire_next(&wire, &field)) {
    switch (list->key) {
      case CI_KEY(ATTRIBUTEVALUE_INTS):
        counts->ints += field.key == CI_KEY_PACKED(ATTRIBUTEVALUE_INTLIST_I) ? parse_varints(field.bytes) : 1;
        break;
      case CI_KEY(ATTRIBUTEVALUE_FLOATS):
        counts->floats += field.key == CI_KEY_PACKED(ATTRIBUTEVALUE_FLOATLIST_F) ? field.bytes.length / 4 : 1;
        break;
      case CI_KEY(ATTRIBUTEVALUE_STRINGS): counts->strings++; break;
      default: return;
    }
  }
}

static void parse_count_attr(parse_counts *counts, ci_span attribute, uint32_t depth) {
  ci_wire wire = ci_wire_open(attribute);
  ci_field field;
  counts->attrs++;
  while (ci_wire_next(&wire, &field)) {
    if (field.key != CI_KEY(ATTRIBUTE_VALUE)) continue;
    ci_wire value = ci_wire_open(field.bytes);
    while (ci_wire_next(&value, &field)) {
      counts->constants += field.key == CI_KEY(ATTRIBUTEVALUE_T);
      if (field.key == CI_KEY(ATTRIBUTEVALUE_G)) parse_count_graph(counts, field.bytes, depth);
      else parse_count_list(counts, &field);
    }
  }
}

static void parse_count_node(parse_counts *counts, ci_span node, uint32_t depth) {
  ci_wire wire = ci_wire_open(node);
  ci_field field;
  counts->nodes++;
  while (ci_wire_next(&wire, &field)) {
    switch (field.key) {
      case CI_KEY(NODE_INPUT): counts->refs++; break;
      case CI_KEY(NODE_CONTROL_INPUT): counts->refs += 2; break;
      case CI_KEY(NODE_OUTPUT_TYPE): counts->edges++; break;
      case CI_KEY(NODE_ATTR): parse_count_attr(counts, field.bytes, depth); break;
      default: break;
    }
  }
}

/* Counts the parts of which a graph and its bodies, to a depth, have most: the capacity of these lists is reserved at
 * once. */
static void parse_count_graph(parse_counts *counts, ci_span graph, uint32_t depth) {
  ci_wire wire = ci_wire_open(graph);
  ci_field field;
  if (depth == 0) return;
  while (ci_wire_next(&wire, &field)) {
    if (field.key == CI_KEY(GRAPH_NODE)) parse_count_node(counts, field.bytes, depth - 1);
    else if (field.key == CI_KEY(GRAPH_INPUT)) counts->edges++;
    else counts->refs++; /* outputs and captures, hardly anything else */
  }
}

static ci_status parse_reserve(ci_parser *p, ci_span graph) {
  ci_model *m = p->model;
  parse_counts all = {0};
  parse_count_graph(&all, graph, m->limits.max_depth + 1);
  /* calls are not kept: there may be more of them */
  if (all.nodes > m->limits.max_nodes) all.nodes = (size_t)m->limits.max_nodes;
  const bool buffer =
      CI_LIST_GROW_BY(&m->allocator, &m->nodes, all.nodes) && CI_LIST_GROW_BY(&m->allocator, &m->edges, all.edges) &&
      CI_LIST_GROW_BY(&m->allocator, &m->refs, all.refs) && CI_LIST_GROW_BY(&m->allocator, &m->attrs, all.attrs) &&
      CI_LIST_GROW_BY(&m->allocator, &m->constants, all.constants) &&
      CI_LIST_GROW_BY(&m->allocator, &m->ints, all.ints) && CI_LIST_GROW_BY(&m->allocator, &m->floats, all.floats) &&
      CI_LIST_GROW_BY(&m->allocator, &m->strings, all.strings) && ci_names_reserve(&m->allocator, &m->names, all.nodes);
  return buffer ? CI_OK : ci_parse_memory(p);
}

/* ---- a graph ---- */

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
                                     .first = (int32_t)m->nodes.count,
                                     .end = (int32_t)m->nodes.count,
                                     .depth = depth,
                                     .formals = CI_NONE};
  ci_scope scope = {.call = CI_NONE};
  if (outer != NULL) scope = *outer;
  scope.graph = *number;
  scope.control_count = 0; /* control edges stop at the border */
  CI_TRY(parse_border(p, outer, &scope, message));
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  while (ci_wire_next(&wire, &field)) {
    if (field.key == CI_KEY(GRAPH_NODE)) CI_TRY(ci_parse_node(p, &scope, &field));
  }
  m->graphs.at[*number].end = (int32_t)m->nodes.count;
  return parse_results(p, &scope, message);
}

/* ---- nodes ---- */

/* A bit for each field of a node, so that passes for missing fields are left out. */
#define PARSE_FIELD(field) (1u << CI_PB_##field)

typedef struct parse_head { /* the fields that other fields are understood by */
  ci_node_string str;
  ci_field name;
  uint32_t fields; /* which there are */
  uint32_t outputs; /* output types */
} parse_head;

static bool parse_is_whole(ci_span message) {
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  while (ci_wire_next(&wire, &field)) continue;
  return !wire.broken;
}

static ci_status parse_read_head(ci_parser *p, const ci_scope *scope, ci_span message, parse_head *head) {
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  while (ci_wire_next(&wire, &field)) {
    if (field.key >> 3 < 32) head->fields |= 1u << (field.key >> 3);
    if (field.key == CI_KEY(NODE_NAME)) {
      if (head->name.at != NULL) return ci_parse_damaged(p, "a node has two names, one is", field.bytes);
      head->name = field;
    }
    head->outputs += field.key == CI_KEY(NODE_OUTPUT_TYPE);
    ci_node_string_take(&head->str, &field);
    if (field.key == CI_KEY(NODE_SOURCE) && !parse_is_whole(field.bytes))
      return ci_parse_damaged_node(p, scope, "the source cannot be read of node", head->str.name);
  }
  const ci_node_string *str = &head->str;
  if (wire.broken || str->name.length == 0) return ci_parse_damaged(p, "a node cannot be read:", str->name);
  if (str->version == 0 || str->version > INT32_MAX)
    return ci_parse_damaged_node(p, scope, "no operator version in node", str->name);
  return CI_OK;
}

static ci_status parse_input(ci_parser *p, const ci_scope *scope, ci_span name, ci_node *node) {
  int32_t edge;
  CI_TRY(ci_load_go_on(p->model, p->error));
  CI_TRY(ci_parse_ref(p, scope, name, &edge));
  CI_TRY(parse_push_ref(p, edge));
  node->input_count++;
  return CI_OK;
}

/* Of the type of a field; NULL: of an open one. */
static ci_status parse_output(ci_parser *p, const ci_field *type, ci_node *node) {
  ci_edge made = {.of = (int32_t)p->model->nodes.count, .role = CI_EDGE_OUTPUT};
  if (type != NULL) CI_TRY(parse_edge_type(p, type, &made, false));
  const int32_t edge = ci_parse_edge(p, made);
  if (edge == CI_NONE) return ci_parse_memory(p);
  if (node->output_count++ == 0) node->outputs = edge;
  return CI_OK;
}

/* One pass for all: a function is read again by each of its calls. */
static ci_status parse_fields(ci_parser *p, const ci_scope *scope, ci_span message, ci_span name, ci_node *node) {
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  ci_span last = {NULL, 0};
  while (ci_wire_next(&wire, &field)) {
    switch (field.key) {
      case CI_KEY(NODE_INPUT): CI_TRY(parse_input(p, scope, field.bytes, node)); break;
      case CI_KEY(NODE_ATTR): CI_TRY(parse_attr(p, scope, field.bytes, name, &last)); break;
      case CI_KEY(NODE_OUTPUT_TYPE): CI_TRY(parse_output(p, &field, node)); break;
      default: break;
    }
  }
  return CI_OK;
}

static ci_status parse_controls(ci_parser *p, const ci_scope *scope, ci_span message, bool any, ci_node *node) {
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  for (uint32_t i = 0; i < scope->control_count; i++) /* those of the call */
    CI_TRY(parse_push_range(p, ci_graph_range_at(p->model, scope->controls, i)));
  node->control_count = scope->control_count;
  if (!any) return CI_OK;
  while (ci_wire_next(&wire, &field)) {
    if (field.key != CI_KEY(NODE_CONTROL_INPUT)) continue;
    CI_TRY(parse_push_nodes(p, scope, field.bytes));
    node->control_count++;
  }
  return CI_OK;
}

/* A node inside a function may come without output types: then it has all outputs that its operator can have. */
static uint32_t parse_guess_outputs(const ci_model *m, const ci_node *node, const ci_function *function) {
  const ci_attr *number = ci_attr_find(m, node, "num_outputs");
  if (function != NULL) return ci_function_outputs(function);
  if (node->kernel == NULL) return 0;
  if (number != NULL && number->kind == CI_PB_ATTRIBUTEVALUE_I && number->as.i > 0 && number->as.i < 1024)
    return (uint32_t)number->as.i;
  return (uint32_t)(node->kernel->max_out >= 0 ? node->kernel->max_out : node->kernel->min_out);
}

static ci_status parse_bodies(ci_parser *p, const ci_scope *scope, const ci_node *node, int32_t number) {
  for (uint32_t i = node->attrs; i < node->attrs + node->attr_count; i++) {
    const ci_attr *attr = &p->model->attrs.at[i];
    int32_t graph;
    if (attr->kind != CI_PB_ATTRIBUTEVALUE_G) continue;
    CI_TRY(parse_graph(p, scope, number, ci_stored_bytes(p->model, attr->as.at), &graph));
    p->model->attrs.at[i].as.graph = graph; /* the array may have moved */
  }
  return CI_OK;
}

/* Whether a node of the root's names is found by its own number, for which its name is read from the message at each
 * look-up: it must be at the start. */
static bool parse_is_found(const ci_parser *p, const ci_scope *scope, const ci_node *node, const ci_field *name) {
  return scope->names == 0 && name->at == ci_stored_bytes(p->model, node->at).data + 1;
}

static ci_status parse_keep(ci_parser *p, const ci_scope *scope, const ci_node *node, const parse_head *head) {
  ci_model *m = p->model;
  const int32_t number = (int32_t)m->nodes.count;
  if (m->nodes.count >= m->limits.max_nodes || m->nodes.count >= PARSE_MOST) return ci_parse_too_many(p);
  if (!CI_LIST_GROW(&m->allocator, &m->nodes)) return ci_parse_memory(p);
  m->nodes.at[m->nodes.count++] = *node;
  CI_TRY(parse_bodies(p, scope, node, number));
  CI_TRY(ci_verify_node(m, &m->nodes.at[number], p->error));
  const ci_named entry = {.first = node->outputs, .count = node->output_count, .nodes = {number, number + 1}};
  if (!parse_is_found(p, scope, node, &head->name)) return ci_parse_name(p, scope->names, &head->name, entry);
  return parse_name(p, &(ci_key){.str = head->str.name}, 2 * (uint32_t)number);
}

static ci_status parse_call(ci_parser *p, const ci_scope *scope, const ci_function *function, const ci_node *node,
                            const parse_head *head) {
  ci_model *m = p->model;
  const int32_t begin = (int32_t)m->nodes.count;
  CI_TRY(ci_function_inline(p, scope, function, node, head->str.name));
  const ci_range nodes = {begin, (int32_t)m->nodes.count};
  return ci_parse_name(p, scope->names, &head->name,
                       (ci_named){.first = node->outputs, .count = node->output_count, .nodes = nodes});
}

static ci_status parse_too_wide(ci_parser *p, const ci_scope *scope, ci_span name) {
  return ci_parse_damaged_node(p, scope, "more than 65535 attributes or outputs in node", name);
}

ci_status ci_parse_node(ci_parser *p, const ci_scope *scope, const ci_field *field) {
  ci_model *m = p->model;
  ci_node node = {.at = ci_stored_of(m, field), .graph = scope->graph, .outputs = CI_NONE};
  parse_head head = {.fields = 0};
  CI_TRY(ci_load_go_on(m, p->error));
  CI_TRY(parse_read_head(p, scope, field->bytes, &head));
  const ci_node_string *str = &head.str;
  const int64_t version = (int64_t)str->version;
  node.kernel = ci_op_find(str->domain, str->op, version);
  if (node.kernel == NULL) node.kernel = ci_custom_find(m, str->domain, str->op, version);
  node.inputs = (uint32_t)m->refs.count;
  node.attrs = (uint32_t)m->attrs.count;
  if (head.outputs > CI_MOST_OF_NODE) return parse_too_wide(p, scope, str->name);
  CI_TRY(parse_fields(p, scope, field->bytes, str->name, &node));
  CI_TRY(parse_controls(p, scope, field->bytes, (head.fields & PARSE_FIELD(NODE_CONTROL_INPUT)) != 0, &node));
  const ci_function *function = node.kernel != NULL ? NULL : ci_function_find(p, str->domain, str->op, version);
  const size_t attrs = m->attrs.count - node.attrs;
  node.attr_count = (uint16_t)attrs;
  if (head.outputs == 0) head.outputs = parse_guess_outputs(m, &node, function);
  if (attrs > CI_MOST_OF_NODE || head.outputs > CI_MOST_OF_NODE) return parse_too_wide(p, scope, str->name);
  while (node.output_count < head.outputs) CI_TRY(parse_output(p, NULL, &node));
  return function != NULL ? parse_call(p, scope, function, &node, &head) : parse_keep(p, scope, &node, &head);
}

/* ---- the root ---- */

static ci_status parse_functions(ci_parser *p, ci_span message, ci_function *functions) {
  ci_wire model = ci_wire_open(message);
  ci_field field;
  while (ci_wire_next(&model, &field)) {
    if (field.key != CI_KEY(MODEL_FUNCTION)) continue;
    ci_function *f = functions++;
    ci_wire wire = ci_wire_open(field.bytes);
    f->message = field.bytes;
    while (ci_wire_next(&wire, &field)) {
      switch (field.key) {
        case CI_KEY(FUNCTION_DOMAIN): f->domain = field.bytes; break;
        case CI_KEY(FUNCTION_NAME): f->name = field.bytes; break;
        case CI_KEY(FUNCTION_VERSION): f->version = field.number; break;
        default: break;
      }
    }
    if (wire.broken) return ci_parse_damaged(p, "a function cannot be read:", f->name);
    const ci_function *before = f == p->functions ? NULL : f - 1;
    int order = before == NULL ? -1 : ci_span_order(before->domain, f->domain);
    if (order == 0) order = ci_span_order(before->name, f->name);
    if (order > 0 || (order == 0 && before->version >= f->version)) {
      return ci_parse_damaged(p, "functions are not sorted and unique at", f->name);
    }
  }
  return CI_OK;
}

ci_status ci_parse_graph(ci_model *model, ci_span message, ci_span graph, ci_error *error) {
  ci_parser p = {.model = model, .error = error, .stored = model->constants.count};
  ci_wire wire = ci_wire_open(message);
  ci_field field;
  size_t bytes;
  int32_t root;
  while (ci_wire_next(&wire, &field)) p.function_count += field.key == CI_KEY(MODEL_FUNCTION);
  const bool fits = ci_mul_size(p.function_count, sizeof(ci_function), &bytes);
  ci_function *parsed = fits ? ci_alloc(&model->allocator, bytes) : NULL;
  if (parsed == NULL) return ci_parse_memory(&p);
  p.functions = parsed;
  ci_status status = parse_functions(&p, message, parsed);
  if (status == CI_OK) status = parse_reserve(&p, graph);
  if (status == CI_OK) status = parse_graph(&p, NULL, CI_NONE, graph, &root);
  ci_release(&model->allocator, parsed, bytes);
  return status;
}

ci_status ci_parse_root_value(const ci_model *model, ci_span name, const char *what, int32_t *edge, ci_error *error) {
  int32_t index;
  ci_named found = {.count = -1};
  (void)parse_find_name(model, 0, parse_output_of(name, &index), &found);
  *edge = parse_edge_of(model, &found, index);
  if (*edge != CI_NONE && parse_edge_graph(model, *edge) == 0) return CI_OK;
  return ci_fail(error, CI_DATA_LOSS, "the model is damaged: %s '%.*s' is not a value of its root graph", what,
                 CI_SPAN_ARG(name));
}

ci_status ci_parse_root_nodes(const ci_model *model, ci_span name, const char *what, ci_range *range, ci_error *error) {
  ci_named found;
  if (!parse_find_name(model, 0, name, &found) || found.nodes.begin == found.nodes.end ||
      model->nodes.at[found.nodes.begin].graph != 0) {
    return ci_fail(error, CI_DATA_LOSS, "the model is damaged: %s '%.*s' is not a node of its root graph", what,
                   CI_SPAN_ARG(name));
  }
  *range = found.nodes;
  return CI_OK;
}
