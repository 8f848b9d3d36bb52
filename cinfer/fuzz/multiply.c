/* multiply.c - makes models that cost much for their bytes (multiply.h). They stay valid as far as a reader checks:
 * names are new and sorted, a call has the attributes that its function names. */
#include "multiply.h"

#include <string.h>

#include "ci_schema.h"

enum { MOST_TIMES = 12, MOST_COPIES = 1 << 13, UNKNOWN = 15 }; /* times: a power of two; a field that no message has */

/* ---- fields ---- */

static fuzz_field *new_field(fuzz_tree *tree, uint8_t message, uint32_t number, fuzz_kind kind) {
  fuzz_field *field = fuzz_take(tree, sizeof *field);
  if (field == NULL) return NULL;
  *field =
      (fuzz_field){.number = number, .wire = kind == FUZZ_VARINT ? 0 : 2, .kind = (uint8_t)kind, .message = message};
  return field;
}

static fuzz_field *new_child(fuzz_tree *tree, uint8_t message, uint32_t number, uint8_t inside) {
  fuzz_field *field = new_field(tree, message, number, FUZZ_CHILD);
  if (field != NULL) field->inside = inside;
  return field;
}

static fuzz_field *new_text(fuzz_tree *tree, uint8_t message, uint32_t number, const fuzz_field *text) {
  fuzz_field *field = new_field(tree, message, number, FUZZ_TEXT);
  if (field == NULL) return NULL;
  field->data = text->data;
  field->length = text->length;
  return field;
}

static bool is_message(const fuzz_field *field, uint8_t inside) {
  return field != NULL && field->kind == FUZZ_CHILD && field->inside == inside;
}

static void put_last(fuzz_field *parent, fuzz_field *field) {
  fuzz_field **link = &parent->child;
  while (*link != NULL) link = &(*link)->next;
  *link = field;
}

static fuzz_field *any_message(const fuzz_tree *tree, uint8_t inside, fuzz_random *random) {
  fuzz_field *found = NULL;
  uint32_t seen = 0;
  for (size_t i = 0; i < tree->count; i++) {
    if (is_message(tree->fields[i], inside) && fuzz_one_in(random, ++seen)) found = tree->fields[i];
  }
  return found;
}

/* One of all messages: a tree may be full of fields that mean nothing. */
static fuzz_field *any_child(const fuzz_tree *tree, fuzz_random *random) {
  fuzz_field *found = NULL;
  uint32_t seen = 0;
  for (size_t i = 0; i < tree->count; i++) {
    if (tree->fields[i]->kind == FUZZ_CHILD && fuzz_one_in(random, ++seen)) found = tree->fields[i];
  }
  return found;
}

static fuzz_field *any_inside(fuzz_field *parent, uint32_t number, fuzz_random *random) {
  fuzz_field *found = NULL;
  uint32_t seen = 0;
  for (fuzz_field *field = parent->child; field != NULL; field = field->next) {
    if (field->number == number && fuzz_one_in(random, ++seen)) found = field;
  }
  return found;
}

static int order(const fuzz_field *a, const fuzz_field *b) {
  const size_t common = a->length < b->length ? a->length : b->length;
  const int bytes = common > 0 ? memcmp(a->data, b->data, common) : 0;
  return bytes != 0 ? bytes : (a->length > b->length) - (a->length < b->length);
}

/* Adds an attribute where its key belongs; one that the node has stays. */
static void put_attribute(fuzz_field *node, fuzz_field *attribute) {
  const fuzz_field *key = fuzz_find(attribute, CI_PB_ATTRIBUTE_KEY);
  fuzz_field **link = &node->child;
  for (; key != NULL && *link != NULL; link = &(*link)->next) {
    const fuzz_field *other = is_message(*link, FUZZ_ATTRIBUTE) ? fuzz_find(*link, CI_PB_ATTRIBUTE_KEY) : NULL;
    if (other != NULL && order(other, key) == 0) return;
    if (other != NULL && order(other, key) > 0) break;
  }
  attribute->next = *link;
  *link = attribute;
}

/* ---- the same many times ---- */

/* How often something of `each` bytes comes: half of what may still come, or any number. Lengths grow, too. */
static uint32_t any_times(const fuzz_tree *tree, size_t each, fuzz_random *random) {
  const size_t fit = (tree->left - tree->left / 8) / each;
  const uint32_t most = fit < 1 ? 1 : fit < MOST_COPIES ? (uint32_t)fit : MOST_COPIES;
  if (fuzz_one_in(random, 4)) return most / 2 + 1;
  const uint32_t times = 1 + fuzz_below(random, 1u << (1 + fuzz_below(random, MOST_TIMES)));
  return times < most ? times : most;
}

/* The i-th of the names that begin with `name`, in order. */
static void name_copy(fuzz_tree *tree, fuzz_field *copy, uint32_t number, uint32_t i) {
  fuzz_field *name = fuzz_find(copy, number);
  uint8_t *text = name != NULL && name->wire == 2 ? fuzz_take(tree, name->length + 3) : NULL;
  if (text == NULL) return;
  if (name->length > 0) memcpy(text, name->data, name->length);
  for (int digit = 2; digit >= 0; digit--, i /= 26) text[name->length + (size_t)digit] = (uint8_t)('a' + i % 26);
  name->data = text;
  name->length += 3;
}

static uint32_t name_of(const fuzz_field *field) {
  return is_message(field, FUZZ_FUNCTION) ? CI_PB_FUNCTION_NAME : 1; /* the first field of all others that have one */
}

static void repeat_field(fuzz_tree *tree, fuzz_field *field, bool named, fuzz_random *random) {
  const size_t each = fuzz_length(field) + (named ? 3 : 0);
  const uint32_t times = any_times(tree, each, random);
  tree->left -= times * each < tree->left ? times * each : tree->left;
  fuzz_field *last = field;
  for (uint32_t i = 0; i < times; i++) {
    fuzz_field *copy = fuzz_copy(tree, field);
    if (copy == NULL) return;
    if (named) name_copy(tree, copy, name_of(copy), i);
    copy->next = last->next;
    last = last->next = copy;
  }
}

static void repeat(fuzz_tree *tree, fuzz_random *random) {
  fuzz_field *child = fuzz_one_in(random, 4) ? NULL : any_child(tree, random);
  fuzz_field *field = child != NULL ? child : tree->fields[fuzz_below(random, (uint32_t)tree->count)];
  repeat_field(tree, field, field->kind == FUZZ_CHILD && !fuzz_one_in(random, 8), random);
}

static void skip_inside(fuzz_tree *tree, fuzz_field *parent, fuzz_random *random) {
  fuzz_field **link = &parent->child;
  while (*link != NULL && fuzz_one_in(random, 2)) link = &(*link)->next;
  for (uint32_t times = any_times(tree, 2, random); times > 0; times--) {
    tree->left -= tree->left < 2 ? tree->left : 2;
    fuzz_field *field = new_field(tree, parent->inside, UNKNOWN, FUZZ_VARINT);
    if (field == NULL) return;
    field->next = *link;
    *link = field;
  }
}

/* One thing that is referred to by its name, many times, and maybe there is much in it that a reader skips. */
static void read_much(fuzz_tree *tree, fuzz_random *random) {
  fuzz_field *found = NULL;
  uint32_t seen = 0;
  for (size_t i = 0; i < tree->count; i++) {
    if (tree->fields[i]->kind == FUZZ_VALUE && fuzz_one_in(random, ++seen)) found = tree->fields[i];
  }
  fuzz_field *node = fuzz_one_in(random, 2) ? any_message(tree, FUZZ_NODE, random) : NULL;
  const fuzz_field *name = node != NULL ? fuzz_find(node, CI_PB_NODE_NAME) : NULL;
  if (found == NULL) return;
  if (name != NULL) {
    found->data = name->data;
    found->length = name->length;
  }
  repeat_field(tree, found, false, random);
  if (name != NULL && fuzz_one_in(random, 2)) skip_inside(tree, node, random);
}

/* Adds fields that a reader skips, before or after the ones it looks for. */
static void skip_much(fuzz_tree *tree, fuzz_random *random) {
  fuzz_field *parent = any_child(tree, random);
  if (parent != NULL) skip_inside(tree, parent, random);
}

/* ---- functions ---- */

static void call(fuzz_tree *tree, fuzz_field *node, const fuzz_field *function) {
  static const uint32_t of_node[] = {CI_PB_NODE_OP, CI_PB_NODE_DOMAIN},
                        of_function[] = {CI_PB_FUNCTION_NAME, CI_PB_FUNCTION_DOMAIN};
  for (int i = 0; i < 2; i++) {
    const fuzz_field *text = fuzz_find(function, of_function[i]), none = {.data = (const uint8_t *)"", .length = 0};
    fuzz_field *field = fuzz_find(node, of_node[i]);
    if (text == NULL) text = &none;
    if (field == NULL && text->length > 0) put_last(node, field = new_text(tree, FUZZ_NODE, of_node[i], text));
    if (field == NULL) continue;
    field->data = text->data;
    field->length = text->length;
  }
  const fuzz_field *version = fuzz_find(function, CI_PB_FUNCTION_VERSION);
  (void)fuzz_set(tree, node, CI_PB_NODE_VERSION, 0, version != NULL ? version->value : 0);
}

static void call_any(fuzz_tree *tree, fuzz_random *random) {
  const fuzz_field *function = any_message(tree, FUZZ_FUNCTION, random);
  fuzz_field *node = any_message(tree, FUZZ_NODE, random);
  if (function != NULL && node != NULL) call(tree, node, function);
}

/* A function of a node; the owner of the node calls the function instead, or may. */
static void make_function(fuzz_tree *tree, fuzz_random *random) {
  static const fuzz_field name = {.data = (const uint8_t *)"f", .length = 1};
  fuzz_field *node = any_message(tree, FUZZ_NODE, random), *before = any_message(tree, FUZZ_FUNCTION, random);
  if (node == NULL) return;
  fuzz_field *inner = fuzz_copy(tree, node), *function = NULL;
  if (before != NULL) { /* another one after it, whose name comes next */
    function = fuzz_copy(tree, before);
    if (function == NULL) return;
    name_copy(tree, function, CI_PB_FUNCTION_NAME, fuzz_below(random, 26));
    function->next = before->next;
    before->next = function;
  } else {
    function = new_child(tree, FUZZ_MODEL, CI_PB_MODEL_FUNCTION, FUZZ_FUNCTION);
    if (function == NULL) return;
    put_last(function, new_text(tree, FUZZ_FUNCTION, CI_PB_FUNCTION_NAME, &name));
    (void)fuzz_set(tree, function, CI_PB_FUNCTION_VERSION, 0, 1);
    put_last(&tree->root, function);
  }
  if (inner == NULL) return;
  inner->number = CI_PB_FUNCTION_NODE;
  inner->message = FUZZ_FUNCTION;
  name_copy(tree, inner, CI_PB_NODE_NAME, fuzz_below(random, 26 * 26 * 26));
  if (before == NULL || fuzz_one_in(random, 2)) put_last(function, inner);
  if (fuzz_one_in(random, 2)) call(tree, node, function);
}

/* Whether a node calls the function. */
static bool calls(const fuzz_field *node, const fuzz_field *function) {
  const fuzz_field *op = fuzz_find(node, CI_PB_NODE_OP), *name = fuzz_find(function, CI_PB_FUNCTION_NAME);
  return op != NULL && name != NULL && order(op, name) == 0;
}

/* An attribute of a function's node becomes one of its calls', to which the node refers. */
static void refer_to(fuzz_tree *tree, fuzz_field *function, const fuzz_field *node, fuzz_field *attribute) {
  fuzz_field *key = is_message(attribute, FUZZ_ATTRIBUTE) ? fuzz_find(attribute, CI_PB_ATTRIBUTE_KEY) : NULL;
  fuzz_field *value = key != NULL ? fuzz_find(attribute, CI_PB_ATTRIBUTE_VALUE) : NULL;
  if (!is_message(value, FUZZ_ATTRIBUTEVALUE) || fuzz_find(value, CI_PB_ATTRIBUTEVALUE_REFERENCE) != NULL) return;
  for (size_t i = 0; i < tree->count; i++) {
    fuzz_field *other = tree->fields[i];
    if (!is_message(other, FUZZ_NODE) || other == node || !calls(other, function)) continue;
    fuzz_field *given = fuzz_copy(tree, attribute);
    if (given == NULL) return;
    put_attribute(other, given);
  }
  fuzz_field *named = new_text(tree, FUZZ_FUNCTION, CI_PB_FUNCTION_ATTRIBUTE, key);
  if (named == NULL) return;
  named->next = function->child;
  function->child = named;
  value->child = new_text(tree, FUZZ_ATTRIBUTEVALUE, CI_PB_ATTRIBUTEVALUE_REFERENCE, key);
}

static void refer(fuzz_tree *tree, fuzz_random *random) {
  fuzz_field *function = any_message(tree, FUZZ_FUNCTION, random);
  fuzz_field *node = function != NULL ? any_inside(function, CI_PB_FUNCTION_NODE, random) : NULL;
  fuzz_field *attribute = is_message(node, FUZZ_NODE) ? any_inside(node, CI_PB_NODE_ATTR, random) : NULL;
  if (attribute != NULL) refer_to(tree, function, node, attribute);
}

static fuzz_field *reference_of(const fuzz_field *attribute) {
  const fuzz_field *value = is_message(attribute, FUZZ_ATTRIBUTE) ? fuzz_find(attribute, CI_PB_ATTRIBUTE_VALUE) : NULL;
  return is_message(value, FUZZ_ATTRIBUTEVALUE) ? fuzz_find(value, CI_PB_ATTRIBUTEVALUE_REFERENCE) : NULL;
}

/* A node that has an attribute of the call around it; `reference` is the field that names it. */
static fuzz_field *any_referring(const fuzz_tree *tree, const fuzz_field **reference, fuzz_random *random) {
  fuzz_field *found = NULL;
  uint32_t seen = 0;
  for (size_t i = 0; i < tree->count; i++) {
    if (!is_message(tree->fields[i], FUZZ_NODE)) continue;
    for (const fuzz_field *a = tree->fields[i]->child; a != NULL; a = a->next) {
      const fuzz_field *named = reference_of(a);
      if (named == NULL || !fuzz_one_in(random, ++seen)) continue;
      found = tree->fields[i];
      *reference = named;
    }
  }
  return found;
}

/* The value that a call gives under this name. */
static fuzz_field *any_given(const fuzz_tree *tree, const fuzz_field *name, fuzz_random *random) {
  fuzz_field *found = NULL;
  uint32_t seen = 0;
  for (size_t i = 0; i < tree->count; i++) {
    fuzz_field *attribute = tree->fields[i];
    const fuzz_field *key = is_message(attribute, FUZZ_ATTRIBUTE) ? fuzz_find(attribute, CI_PB_ATTRIBUTE_KEY) : NULL;
    fuzz_field *value = key != NULL ? fuzz_find(attribute, CI_PB_ATTRIBUTE_VALUE) : NULL;
    if (!is_message(value, FUZZ_ATTRIBUTEVALUE) || order(key, name) != 0 || reference_of(attribute) != NULL) continue;
    if (fuzz_one_in(random, ++seen)) found = value;
  }
  return found;
}

static void empty_bodies(fuzz_tree *tree) {
  for (size_t i = 0; i < tree->count; i++) {
    if (is_message(tree->fields[i], FUZZ_GRAPH) && tree->fields[i] != fuzz_find(&tree->root, CI_PB_MODEL_GRAPH))
      tree->fields[i]->child = NULL;
  }
}

/* More nodes use the body or type that a call passes, or that gets larger, or both. Names of nodes are unique: bodies
 * that several nodes have are empty, but for fields that a reader skips. */
static void refer_much(fuzz_tree *tree, fuzz_random *random) {
  const fuzz_field *reference = NULL;
  fuzz_field *node = any_referring(tree, &reference, random);
  fuzz_field *given = node != NULL ? any_given(tree, reference, random) : NULL;
  if (given == NULL || given->child == NULL) return;
  const uint32_t what = fuzz_below(random, 3);
  if (what != 0 && fuzz_one_in(random, 2)) empty_bodies(tree);
  if (what != 0) repeat_field(tree, node, true, random);
  fuzz_field *inner = given->child->kind == FUZZ_CHILD ? given->child : given;
  if (what != 1 && inner->child != NULL && fuzz_one_in(random, 2))
    repeat_field(tree, inner->child, inner->child->kind == FUZZ_CHILD, random);
  else if (what != 1) skip_inside(tree, inner, random);
}

static fuzz_field *new_body(fuzz_tree *tree, fuzz_field *content, fuzz_random *random) {
  static const fuzz_field keys[] = {{.data = (const uint8_t *)"body", .length = 4},
                                    {.data = (const uint8_t *)"g", .length = 1}};
  fuzz_field *attribute = new_child(tree, FUZZ_NODE, CI_PB_NODE_ATTR, FUZZ_ATTRIBUTE);
  fuzz_field *value = new_child(tree, FUZZ_ATTRIBUTE, CI_PB_ATTRIBUTE_VALUE, FUZZ_ATTRIBUTEVALUE);
  fuzz_field *graph = new_child(tree, FUZZ_ATTRIBUTEVALUE, CI_PB_ATTRIBUTEVALUE_G, FUZZ_GRAPH);
  fuzz_field *key = new_text(tree, FUZZ_ATTRIBUTE, CI_PB_ATTRIBUTE_KEY, &keys[fuzz_below(random, 2)]);
  if (attribute == NULL || value == NULL || graph == NULL || key == NULL) return NULL;
  graph->child = content;
  attribute->child = key;
  key->next = value;
  value->child = graph;
  return attribute;
}

/* A node gets a body: an empty one, or one that another has; one of a function may have it from its calls. */
static void give_body(fuzz_tree *tree, fuzz_random *random) {
  fuzz_field *function = fuzz_one_in(random, 2) ? any_message(tree, FUZZ_FUNCTION, random) : NULL;
  fuzz_field *node = function != NULL ? any_inside(function, CI_PB_FUNCTION_NODE, random) : NULL;
  const bool inner = is_message(node, FUZZ_NODE);
  if (!inner) node = any_message(tree, FUZZ_NODE, random);
  const fuzz_field *other = any_message(tree, FUZZ_GRAPH, random);
  const fuzz_field *copy = other != NULL && fuzz_one_in(random, 2) ? fuzz_copy(tree, other) : NULL;
  fuzz_field *attribute = new_body(tree, copy != NULL ? copy->child : NULL, random);
  if (node == NULL || attribute == NULL) return;
  if (inner && fuzz_one_in(random, 2)) refer_to(tree, function, node, attribute);
  put_attribute(node, attribute);
}

void fuzz_multiply(fuzz_tree *tree, fuzz_random *random) {
  static void (*const changes[])(fuzz_tree *, fuzz_random *) = {
      repeat, read_much, skip_much, skip_much, call_any, make_function, refer, refer_much, give_body,
  };
  changes[fuzz_below(random, sizeof changes / sizeof changes[0])](tree, random);
}
