/* untrusted.h - models of untrusted input: families of files, each of which takes much memory or time for its bytes. A
 * member of a family has about n of the family's parts. */
#ifndef CI_TEST_UNTRUSTED_H
#define CI_TEST_UNTRUSTED_H
#include <stdio.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/out.h"
#include "base/wire.h"

/* ---- messages ---- */

static void untrusted_string(ci_out *out, uint32_t field, const char *text) {
  ci_out_field_bytes(out, field, text, strlen(text));
}

/* Adds a message and frees it. */
static void untrusted_add(ci_out *out, uint32_t field, ci_out *message) {
  ci_out_field_message(out, field, message);
  ci_out_free(message);
}

/* The i-th of the shortest names. */
static const char *untrusted_name(char *buffer, size_t i) {
  static const char digits[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
  char *at = buffer;
  do *at++ = digits[i % 64];
  while ((i /= 64) > 0);
  *at = '\0';
  return buffer;
}

typedef struct untrusted_key {
  char bytes[4];
} untrusted_key;

/* The i-th of keys that are sorted by their bytes. */
static untrusted_key untrusted_sorted(size_t i) {
  return (untrusted_key){{(char)('A' + i / 2500), (char)('A' + i / 50 % 50), (char)('A' + i % 50), '\0'}};
}

/* A node with a name, an operator and a version; the rest follows. */
static ci_out untrusted_node(const char *name, const char *op, uint64_t version) {
  ci_out node = {0};
  untrusted_string(&node, CI_PB_NODE_NAME, name);
  untrusted_string(&node, CI_PB_NODE_OP, op);
  ci_out_field_varint(&node, CI_PB_NODE_VERSION, version);
  return node;
}

/* Empty output types. */
static void untrusted_outputs(ci_out *node, size_t count) {
  for (size_t i = 0; i < count; i++) ci_out_field_message(node, CI_PB_NODE_OUTPUT_TYPE, &(ci_out){0});
}

/* {key: <field> value} */
static void untrusted_attribute(ci_out *node, const char *key, uint32_t field, const ci_out *value) {
  ci_out attribute = {0}, wrapped = {0};
  untrusted_string(&attribute, CI_PB_ATTRIBUTE_KEY, key);
  ci_out_field_message(&wrapped, field, value);
  untrusted_add(&attribute, CI_PB_ATTRIBUTE_VALUE, &wrapped);
  untrusted_add(node, CI_PB_NODE_ATTR, &attribute);
}

/* The file around a Model message, without a data section. */
static ci_out untrusted_file(ci_out *model) {
  ci_out file = {0};
  const size_t end = 64 + model->length, offset = ci_round_up(end, 64);
  ci_out_bytes(&file, "\x89GIO\r\n\x1a\n\1\0\0\0\0\0\0\0", 16);
  ci_out_u64(&file, model->length);
  ci_out_u64(&file, offset);
  ci_out_u64(&file, 0);
  ci_out_u32(&file, ci_crc32c(0, model->data, model->length));
  ci_out_bytes(&file, (char[16]){0}, 16);
  ci_out_u32(&file, ci_crc32c(0, file.data, 60));
  ci_out_bytes(&file, model->data, model->length);
  ci_out_bytes(&file, (char[64]){0}, offset - end);
  ci_out_free(model);
  return file;
}

/* ---- families: each writes a graph, and may add to the model ---- */

static void untrusted_empty_nodes(ci_out *graph, ci_out *model, size_t n) {
  (void)model;
  for (size_t i = 0; i < n; i++) {
    char name[16];
    ci_out node = untrusted_node(untrusted_name(name, i), "", 1);
    untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
  }
}

/* A node that n others, each of one kernel, read. */
static void untrusted_fan(ci_out *graph, ci_out *model, size_t n) {
  (void)model;
  ci_out first = untrusted_node("-", "Constant", 1);
  untrusted_outputs(&first, 1);
  untrusted_add(graph, CI_PB_GRAPH_NODE, &first);
  for (size_t i = 0; i < n; i++) {
    char name[16];
    ci_out node = untrusted_node(untrusted_name(name, i), "Or", 7);
    untrusted_string(&node, CI_PB_NODE_INPUT, "-");
    untrusted_string(&node, CI_PB_NODE_INPUT, "-");
    untrusted_outputs(&node, 1);
    untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
  }
}

static void untrusted_chain(ci_out *graph, ci_out *model, size_t n) {
  (void)model;
  char name[16], before[16] = "";
  for (size_t i = 0; i < n; i++) {
    ci_out node = untrusted_node(untrusted_name(name, i), i == 0 ? "Constant" : "Not", 1);
    untrusted_string(&node, CI_PB_NODE_INPUT, before);
    untrusted_outputs(&node, 1);
    untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
    memcpy(before, name, sizeof before);
  }
}

/* Each node waits for the one before. */
static void untrusted_waits(ci_out *graph, ci_out *model, size_t n) {
  (void)model;
  char name[16], before[16] = "";
  for (size_t i = 0; i < n; i++) {
    ci_out node = untrusted_node(untrusted_name(name, i), "", 1);
    untrusted_string(&node, CI_PB_NODE_CONTROL_INPUT, before);
    untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
    memcpy(before, name, sizeof before);
  }
}

static void untrusted_many_inputs(ci_out *graph, ci_out *model, size_t n) {
  (void)model;
  ci_out node = untrusted_node("a", "", 1);
  untrusted_outputs(&node, 1);
  untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
  node = untrusted_node("b", "", 1);
  for (size_t i = 0; i < n; i++) untrusted_string(&node, CI_PB_NODE_INPUT, "a");
  untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
}

static void untrusted_many_outputs(ci_out *graph, ci_out *model, size_t n) {
  (void)model;
  ci_out node = untrusted_node("a", "", 1);
  untrusted_outputs(&node, n);
  untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
}

/* Sorted keys of a node that no kernel looks at. */
static void untrusted_attributes(ci_out *graph, ci_out *model, size_t n) {
  (void)model;
  ci_out node = untrusted_node("a", "", 1), value = {0};
  ci_out_field_varint(&value, CI_PB_ATTRIBUTEVALUE_I, 1);
  for (size_t i = 0; i < n; i++) {
    ci_out attribute = {0};
    untrusted_string(&attribute, CI_PB_ATTRIBUTE_KEY, untrusted_sorted(i).bytes);
    ci_out_field_message(&attribute, CI_PB_ATTRIBUTE_VALUE, &value);
    untrusted_add(&node, CI_PB_NODE_ATTR, &attribute);
  }
  ci_out_free(&value);
  untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
}

static void untrusted_list(ci_out *graph, uint32_t kind, const ci_out *list) {
  ci_out node = untrusted_node("a", "", 1);
  untrusted_attribute(&node, "k", kind, list);
  untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
}

static void untrusted_ints(ci_out *graph, ci_out *model, size_t n) {
  (void)model;
  ci_out list = {0}, packed = {0};
  for (size_t i = 0; i < n; i++) ci_out_bytes(&packed, "\1", 1);
  untrusted_add(&list, CI_PB_ATTRIBUTEVALUE_INTLIST_I, &packed);
  untrusted_list(graph, CI_PB_ATTRIBUTEVALUE_INTS, &list);
  ci_out_free(&list);
}

static void untrusted_floats(ci_out *graph, ci_out *model, size_t n) {
  (void)model;
  ci_out list = {0}, packed = {0};
  for (size_t i = 0; i < n; i++) ci_out_u32(&packed, 1);
  untrusted_add(&list, CI_PB_ATTRIBUTEVALUE_FLOATLIST_F, &packed);
  untrusted_list(graph, CI_PB_ATTRIBUTEVALUE_FLOATS, &list);
  ci_out_free(&list);
}

static void untrusted_strings(ci_out *graph, ci_out *model, size_t n) {
  (void)model;
  ci_out list = {0};
  for (size_t i = 0; i < n; i++) ci_out_field_message(&list, CI_PB_ATTRIBUTEVALUE_STRINGLIST_S, &(ci_out){0});
  untrusted_list(graph, CI_PB_ATTRIBUTEVALUE_STRINGS, &list);
  ci_out_free(&list);
}

/* Tensors of one dimension, which is 0, in attributes. */
static void untrusted_inline_tensors(ci_out *graph, ci_out *model, size_t n) {
  (void)model;
  ci_out tensor = {0};
  ci_out_field_varint(&tensor, CI_PB_TENSOR_DTYPE, CI_FLOAT);
  ci_out_field_packed(&tensor, CI_PB_TENSOR_DIMS, (const int64_t[]){0}, 1);
  for (size_t i = 0; i < n; i++) {
    char name[16];
    ci_out node = untrusted_node(untrusted_name(name, i), "", 1);
    untrusted_attribute(&node, "k", CI_PB_ATTRIBUTEVALUE_T, &tensor);
    untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
  }
  ci_out_free(&tensor);
}

static void untrusted_tensors(ci_out *graph, ci_out *model, size_t n) {
  (void)graph;
  ci_out tensor = {0};
  ci_out_field_varint(&tensor, CI_PB_TENSOR_DTYPE, CI_FLOAT);
  ci_out_field_packed(&tensor, CI_PB_TENSOR_DIMS, (const int64_t[]){0}, 1);
  ci_out_field_varint(&tensor, CI_PB_TENSOR_STORED, 1);
  for (size_t i = 0; i < n; i++) ci_out_field_message(model, CI_PB_MODEL_TENSOR, &tensor);
  ci_out_free(&tensor);
}

static void untrusted_string_tensor(ci_out *graph, ci_out *model, size_t n) {
  (void)model;
  ci_out tensor = {0}, data = {0}, node = untrusted_node("a", "", 1);
  for (size_t i = 0; i < n; i++) ci_out_u64(&data, 0);
  ci_out_field_varint(&tensor, CI_PB_TENSOR_DTYPE, CI_STRING);
  ci_out_field_packed(&tensor, CI_PB_TENSOR_DIMS, (const int64_t[]){(int64_t)n}, 1);
  untrusted_add(&tensor, CI_PB_TENSOR_DATA, &data);
  untrusted_attribute(&node, "k", CI_PB_ATTRIBUTEVALUE_T, &tensor);
  ci_out_free(&tensor);
  untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
}

static void untrusted_packed_tensor(ci_out *graph, ci_out *model, size_t n) {
  (void)model;
  ci_out tensor = {0}, data = {0}, node = untrusted_node("a", "", 1);
  for (size_t i = 0; i < n; i++) ci_out_bytes(&data, "\1", 1);
  ci_out_field_varint(&tensor, CI_PB_TENSOR_DTYPE, CI_UINT2);
  ci_out_field_packed(&tensor, CI_PB_TENSOR_DIMS, (const int64_t[]){4 * (int64_t)n}, 1);
  untrusted_add(&tensor, CI_PB_TENSOR_DATA, &data);
  untrusted_attribute(&node, "k", CI_PB_ATTRIBUTEVALUE_T, &tensor);
  ci_out_free(&tensor);
  untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
}

static void untrusted_variables(ci_out *graph, ci_out *model, size_t n) {
  (void)graph;
  for (size_t i = 0; i < n; i++) {
    ci_out variable = {0};
    untrusted_string(&variable, CI_PB_VARIABLE_NAME, untrusted_sorted(i).bytes);
    ci_out_field_varint(&variable, CI_PB_VARIABLE_DTYPE, CI_FLOAT);
    untrusted_add(model, CI_PB_MODEL_VARIABLE, &variable);
  }
}

static void untrusted_resources(ci_out *graph, ci_out *model, size_t n) {
  (void)graph;
  for (size_t i = 0; i < n; i++) {
    ci_out resource = {0};
    untrusted_string(&resource, CI_PB_RESOURCE_NAME, untrusted_sorted(i).bytes);
    ci_out_field_message(&resource, CI_PB_RESOURCE_GENERATOR, &(ci_out){0});
    untrusted_add(model, CI_PB_MODEL_RESOURCE, &resource);
  }
}

static void untrusted_metadata(ci_out *graph, ci_out *model, size_t n) {
  (void)graph;
  for (size_t i = 0; i < n; i++) {
    ci_out entry = {0};
    untrusted_string(&entry, CI_PB_KEYVALUE_KEY, untrusted_sorted(i).bytes);
    untrusted_add(model, CI_PB_MODEL_METADATA, &entry);
  }
}

/* A value that a signature may name. */
static void untrusted_one_value(ci_out *graph) {
  ci_out node = untrusted_node("a", "", 1);
  untrusted_outputs(&node, 1);
  untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
}

static void untrusted_signature_outputs(ci_out *graph, ci_out *model, size_t n) {
  ci_out signature = {0}, binding = {0};
  untrusted_one_value(graph);
  untrusted_string(&binding, CI_PB_SIGNATURE_BINDING_VALUE, "a");
  for (size_t i = 0; i < n; i++) ci_out_field_message(&signature, CI_PB_SIGNATURE_OUTPUT, &binding);
  ci_out_free(&binding);
  untrusted_add(model, CI_PB_MODEL_SIGNATURE, &signature);
}

static void untrusted_signatures(ci_out *graph, ci_out *model, size_t n) {
  (void)graph;
  for (size_t i = 0; i < n; i++) {
    ci_out signature = {0};
    untrusted_string(&signature, CI_PB_SIGNATURE_NAME, untrusted_sorted(i).bytes);
    untrusted_add(model, CI_PB_MODEL_SIGNATURE, &signature);
  }
}

static void untrusted_targets(ci_out *graph, ci_out *model, size_t n) {
  ci_out signature = {0};
  untrusted_one_value(graph);
  for (size_t i = 0; i < n; i++) untrusted_string(&signature, CI_PB_SIGNATURE_TARGET, "a");
  untrusted_add(model, CI_PB_MODEL_SIGNATURE, &signature);
}

/* Formal inputs of a body: the shortest things that have names. */
static void untrusted_formals(ci_out *graph, ci_out *model, size_t n) {
  (void)model;
  ci_out body = {0};
  for (size_t i = 0; i < n; i++) {
    char name[16];
    ci_out formal = {0};
    untrusted_string(&formal, CI_PB_ARGUMENT_NAME, untrusted_name(name, i));
    untrusted_add(&body, CI_PB_GRAPH_INPUT, &formal);
  }
  ci_out node = untrusted_node("-", "", 1);
  untrusted_attribute(&node, "k", CI_PB_ATTRIBUTEVALUE_G, &body);
  ci_out_free(&body);
  untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
}

/* n nodes, each with a body of nothing. */
static void untrusted_bodies(ci_out *graph, ci_out *model, size_t n) {
  (void)model;
  for (size_t i = 0; i < n; i++) {
    char name[16];
    ci_out node = untrusted_node(untrusted_name(name, i), "", 1);
    untrusted_attribute(&node, "k", CI_PB_ATTRIBUTEVALUE_G, &(ci_out){0});
    untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
  }
}

/* Bodies inside each other, as deep as they may be, at the bottom n nodes that capture through all of them. */
static void untrusted_deep(ci_out *graph, ci_out *model, size_t n) {
  (void)model;
  enum { DEPTH = 16 };
  ci_out inner = {0};
  untrusted_one_value(graph);
  untrusted_string(&inner, CI_PB_GRAPH_CAPTURE, "a");
  for (size_t i = 0; i < n; i++) {
    char name[20] = "_";
    untrusted_name(name + 1, i);
    ci_out node = untrusted_node(name, "", 1);
    untrusted_string(&node, CI_PB_NODE_INPUT, "a");
    untrusted_add(&inner, CI_PB_GRAPH_NODE, &node);
  }
  for (int depth = 1; depth < DEPTH; depth++) {
    ci_out outer = {0}, node = {0};
    char name[16];
    snprintf(name, sizeof name, "-%d", depth);
    node = untrusted_node(name, "", 1);
    untrusted_attribute(&node, "k", CI_PB_ATTRIBUTEVALUE_G, &inner);
    ci_out_free(&inner);
    untrusted_string(&outer, CI_PB_GRAPH_CAPTURE, "a");
    untrusted_add(&outer, CI_PB_GRAPH_NODE, &node);
    inner = outer;
  }
  ci_out node = untrusted_node("-", "", 1);
  untrusted_attribute(&node, "k", CI_PB_ATTRIBUTEVALUE_G, &inner);
  ci_out_free(&inner);
  untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
}

/* A body that captures n values and reads none. */
static void untrusted_captures(ci_out *graph, ci_out *model, size_t n) {
  (void)model;
  ci_out body = {0};
  for (size_t i = 0; i < n; i++) {
    const untrusted_key name = untrusted_sorted(i);
    ci_out node = untrusted_node(name.bytes, "", 1);
    untrusted_outputs(&node, 1);
    untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
    untrusted_string(&body, CI_PB_GRAPH_CAPTURE, name.bytes);
  }
  ci_out node = untrusted_node("-", "", 1);
  untrusted_attribute(&node, "k", CI_PB_ATTRIBUTEVALUE_G, &body);
  ci_out_free(&body);
  untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
}

static void untrusted_functions(ci_out *graph, ci_out *model, size_t n) {
  (void)graph;
  for (size_t i = 0; i < n; i++) {
    ci_out function = {0};
    untrusted_string(&function, CI_PB_FUNCTION_NAME, untrusted_sorted(i).bytes);
    untrusted_add(model, CI_PB_MODEL_FUNCTION, &function);
  }
}

/* n calls of one function, which has a node. */
static void untrusted_calls(ci_out *graph, ci_out *model, size_t n) {
  ci_out function = {0}, inner = untrusted_node("n", "-", 1);
  untrusted_string(&function, CI_PB_FUNCTION_NAME, "f");
  ci_out_field_varint(&function, CI_PB_FUNCTION_VERSION, 1);
  untrusted_add(&function, CI_PB_FUNCTION_NODE, &inner);
  untrusted_add(model, CI_PB_MODEL_FUNCTION, &function);
  for (size_t i = 0; i < n; i++) {
    char name[16];
    ci_out node = untrusted_node(untrusted_name(name, i), "f", 1);
    untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
  }
}

/* n calls of one function, which has n fields that no version knows. */
static void untrusted_unknown_fields(ci_out *graph, ci_out *model, size_t n) {
  ci_out function = {0};
  char name[16];
  untrusted_string(&function, CI_PB_FUNCTION_NAME, "f");
  ci_out_field_varint(&function, CI_PB_FUNCTION_VERSION, 1);
  for (size_t i = 0; i < n; i++) ci_out_field_varint(&function, 1000, 1);
  untrusted_add(model, CI_PB_MODEL_FUNCTION, &function);
  for (size_t i = 0; i < n; i++) {
    ci_out node = untrusted_node(untrusted_name(name, i), "f", 1);
    untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
  }
}

static void untrusted_skipped(ci_out *message, size_t n) {
  for (size_t i = 0; i < n; i++) ci_out_field_varint(message, 15, 1); /* a field of no version */
}

/* A node whose name comes after n unknown fields, and n inputs that read it. */
static void untrusted_late_name(ci_out *graph, ci_out *model, size_t n) {
  (void)model;
  ci_out node = {0};
  untrusted_skipped(&node, n);
  untrusted_string(&node, CI_PB_NODE_NAME, "a");
  ci_out_field_varint(&node, CI_PB_NODE_VERSION, 1);
  untrusted_outputs(&node, 1);
  untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
  node = untrusted_node("b", "", 1);
  for (size_t i = 0; i < n; i++) untrusted_string(&node, CI_PB_NODE_INPUT, "a");
  untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
}

/* A function of n nodes, which all have an attribute of the call: a body, a type or a string of n fields, a list of n.
 */
static void untrusted_given(ci_out *graph, ci_out *model, size_t n, uint32_t kind) {
  ci_out function = {0}, call = untrusted_node("-", "f", 1), value = {0}, list = {0};
  char name[16];
  untrusted_string(&function, CI_PB_FUNCTION_NAME, "f");
  ci_out_field_varint(&function, CI_PB_FUNCTION_VERSION, 1);
  untrusted_string(&function, CI_PB_FUNCTION_ATTRIBUTE, "k");
  for (size_t i = 0; i < n; i++) {
    ci_out inner = untrusted_node(untrusted_name(name, i), "", 1), reference = {0}, attribute = {0};
    untrusted_string(&reference, CI_PB_ATTRIBUTEVALUE_REFERENCE, "k");
    untrusted_string(&attribute, CI_PB_ATTRIBUTE_KEY, "k");
    untrusted_add(&attribute, CI_PB_ATTRIBUTE_VALUE, &reference);
    untrusted_add(&inner, CI_PB_NODE_ATTR, &attribute);
    untrusted_add(&function, CI_PB_FUNCTION_NODE, &inner);
  }
  untrusted_add(model, CI_PB_MODEL_FUNCTION, &function);
  if (kind == CI_PB_ATTRIBUTEVALUE_INTS) {
    for (size_t i = 0; i < n; i++) ci_out_bytes(&list, "\1", 1);
    ci_out_field_message(&value, CI_PB_ATTRIBUTEVALUE_INTLIST_I, &list);
  } else {
    untrusted_skipped(&value, n);
  }
  untrusted_attribute(&call, "k", kind, &value);
  ci_out_free(&list);
  ci_out_free(&value);
  untrusted_add(graph, CI_PB_GRAPH_NODE, &call);
}

static void untrusted_given_body(ci_out *graph, ci_out *model, size_t n) {
  untrusted_given(graph, model, n, CI_PB_ATTRIBUTEVALUE_G);
}

static void untrusted_given_type(ci_out *graph, ci_out *model, size_t n) {
  untrusted_given(graph, model, n, CI_PB_ATTRIBUTEVALUE_TYPE);
}

static void untrusted_given_list(ci_out *graph, ci_out *model, size_t n) {
  untrusted_given(graph, model, n, CI_PB_ATTRIBUTEVALUE_INTS);
}

/* A value whose type has n unknown fields, and n outputs of a signature of that type. */
static void untrusted_bound_type(ci_out *graph, ci_out *model, size_t n) {
  ci_out node = untrusted_node("a", "", 1), type = {0}, signature = {0};
  untrusted_skipped(&type, n);
  untrusted_add(&node, CI_PB_NODE_OUTPUT_TYPE, &type);
  untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
  for (size_t i = 0; i < n; i++) {
    ci_out binding = {0};
    untrusted_string(&binding, CI_PB_SIGNATURE_BINDING_KEY, untrusted_sorted(i).bytes);
    untrusted_string(&binding, CI_PB_SIGNATURE_BINDING_VALUE, "a");
    untrusted_add(&signature, CI_PB_SIGNATURE_OUTPUT, &binding);
  }
  untrusted_add(model, CI_PB_MODEL_SIGNATURE, &signature);
}

/* A call with n unknown fields of a function of n nodes, each of a different operator that does not exist: the message
 * about them has names after that of the call. */
static void untrusted_missing(ci_out *graph, ci_out *model, size_t n) {
  ci_out function = {0}, call = untrusted_node("-", "f", 1), signature = {0};
  char name[16], op[8];
  untrusted_string(&function, CI_PB_FUNCTION_NAME, "f");
  ci_out_field_varint(&function, CI_PB_FUNCTION_VERSION, 1);
  for (size_t i = 0; i < n; i++) {
    snprintf(op, sizeof op, "-%s", untrusted_sorted(i).bytes);
    ci_out inner = untrusted_node(untrusted_name(name, i), op, 1);
    untrusted_add(&function, CI_PB_FUNCTION_NODE, &inner);
  }
  untrusted_add(model, CI_PB_MODEL_FUNCTION, &function);
  untrusted_skipped(&call, n);
  untrusted_add(graph, CI_PB_GRAPH_NODE, &call);
  untrusted_string(&signature, CI_PB_SIGNATURE_TARGET, "-");
  untrusted_add(model, CI_PB_MODEL_SIGNATURE, &signature);
}

/* A call whose name has n bytes, of a function with n nodes, which read each other. */
static void untrusted_long_name(ci_out *graph, ci_out *model, size_t n) {
  ci_out function = {0}, long_name = {0}, node;
  char name[16], before[16] = "";
  untrusted_string(&function, CI_PB_FUNCTION_NAME, "f");
  ci_out_field_varint(&function, CI_PB_FUNCTION_VERSION, 1);
  for (size_t i = 0; i < n; i++) {
    node = untrusted_node(untrusted_name(name, i), i == 0 ? "Constant" : "Not", 1);
    if (i > 0) untrusted_string(&node, CI_PB_NODE_INPUT, before);
    untrusted_add(&function, CI_PB_FUNCTION_NODE, &node);
    memcpy(before, name, sizeof before);
    ci_out_bytes(&long_name, "n", 1);
  }
  untrusted_add(model, CI_PB_MODEL_FUNCTION, &function);
  ci_out_bytes(&long_name, "", 1);
  node = untrusted_node((const char *)long_name.data, "f", 1);
  ci_out_free(&long_name);
  untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
}

/* Functions that call the next one, `width` times each; at the bottom there is a list of n integers. */
static void untrusted_nested(ci_out *graph, ci_out *model, size_t n, int width) {
  enum { DEPTH = 15 };
  for (int depth = 0; depth < DEPTH; depth++) {
    ci_out function = {0};
    const char name[2] = {(char)('a' + depth), '\0'}, next[2] = {(char)('b' + depth), '\0'};
    untrusted_string(&function, CI_PB_FUNCTION_NAME, name);
    ci_out_field_varint(&function, CI_PB_FUNCTION_VERSION, 1);
    for (int call = 0; call < width; call++) {
      ci_out node = untrusted_node(call == 0 ? "1" : "2", next, 1), list = {0}, packed = {0};
      for (size_t i = 0; depth == DEPTH - 1 && i < n; i++) ci_out_bytes(&packed, "\1", 1);
      untrusted_add(&list, CI_PB_ATTRIBUTEVALUE_INTLIST_I, &packed);
      if (depth == DEPTH - 1) untrusted_attribute(&node, "k", CI_PB_ATTRIBUTEVALUE_INTS, &list);
      ci_out_free(&list);
      untrusted_add(&function, CI_PB_FUNCTION_NODE, &node);
    }
    untrusted_add(model, CI_PB_MODEL_FUNCTION, &function);
  }
  ci_out node = untrusted_node("bomb", "a", 1);
  untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
}

/* A function without a name for what it takes: n attributes, n nodes; they wait for as many nodes, and n wait for it.
 */
static void untrusted_called(ci_out *graph, ci_out *model, size_t n, bool controls, bool references) {
  ci_out function = {0}, call = untrusted_node("-", "f", 1), value = {0};
  char name[16];
  untrusted_string(&function, CI_PB_FUNCTION_NAME, "f");
  ci_out_field_varint(&function, CI_PB_FUNCTION_VERSION, 1);
  ci_out_field_varint(&value, CI_PB_ATTRIBUTEVALUE_I, 1);
  for (size_t i = 0; i < n; i++) {
    ci_out inner = untrusted_node(untrusted_name(name, i), "", 1), attribute = {0}, wrapped = {0};
    const char *key = untrusted_sorted(i).bytes;
    if (controls) {
      ci_out before = untrusted_node(name, "", 1);
      untrusted_add(graph, CI_PB_GRAPH_NODE, &before);
      untrusted_string(&call, CI_PB_NODE_CONTROL_INPUT, name);
    }
    if (references) {
      untrusted_string(&function, CI_PB_FUNCTION_ATTRIBUTE, key);
      untrusted_string(&attribute, CI_PB_ATTRIBUTE_KEY, key);
      ci_out_field_message(&attribute, CI_PB_ATTRIBUTE_VALUE, &value);
      untrusted_add(&call, CI_PB_NODE_ATTR, &attribute);
      untrusted_string(&wrapped, CI_PB_ATTRIBUTEVALUE_REFERENCE, key);
      untrusted_string(&attribute, CI_PB_ATTRIBUTE_KEY, "k");
      untrusted_add(&attribute, CI_PB_ATTRIBUTE_VALUE, &wrapped);
      untrusted_add(&inner, CI_PB_NODE_ATTR, &attribute);
    }
    untrusted_add(&function, CI_PB_FUNCTION_NODE, &inner);
  }
  ci_out_free(&value);
  untrusted_add(model, CI_PB_MODEL_FUNCTION, &function);
  untrusted_add(graph, CI_PB_GRAPH_NODE, &call);
}

static void untrusted_references(ci_out *graph, ci_out *model, size_t n) {
  untrusted_called(graph, model, n, false, true);
}

static void untrusted_call_waits(ci_out *graph, ci_out *model, size_t n) {
  untrusted_called(graph, model, n, true, false);
}

/* n nodes that wait for a call of n nodes, in a signature. */
static void untrusted_waits_for_call(ci_out *graph, ci_out *model, size_t n) {
  ci_out signature = {0};
  untrusted_called(graph, model, n, false, false);
  for (size_t i = 0; i < n; i++) {
    char name[16];
    ci_out node = untrusted_node(untrusted_name(name, i), "Constant", 1);
    untrusted_string(&node, CI_PB_NODE_CONTROL_INPUT, "-");
    untrusted_outputs(&node, 1);
    untrusted_add(graph, CI_PB_GRAPH_NODE, &node);
    untrusted_string(&signature, CI_PB_SIGNATURE_TARGET, name);
  }
  untrusted_add(model, CI_PB_MODEL_SIGNATURE, &signature);
}

/* Signatures of a graph that has as many values. */
static void untrusted_signatures_of_many(ci_out *graph, ci_out *model, size_t n) {
  untrusted_fan(graph, model, n);
  untrusted_signatures(graph, model, n);
}

/* Inputs of a signature, each a different value. */
static void untrusted_signature_inputs(ci_out *graph, ci_out *model, size_t n) {
  ci_out signature = {0}, type = {0}, tensor = {0};
  ci_out_field_varint(&tensor, CI_PB_TYPE_TENSORTYPE_DTYPE, CI_FLOAT);
  untrusted_add(&type, CI_PB_TYPE_TENSOR, &tensor);
  untrusted_fan(graph, model, n);
  for (size_t i = 0; i < n; i++) {
    char name[16];
    ci_out binding = {0};
    untrusted_string(&binding, CI_PB_SIGNATURE_BINDING_KEY, untrusted_name(name, i));
    untrusted_string(&binding, CI_PB_SIGNATURE_BINDING_VALUE, name);
    ci_out_field_message(&binding, CI_PB_SIGNATURE_BINDING_TYPE, &type);
    untrusted_add(&signature, CI_PB_SIGNATURE_INPUT, &binding);
  }
  ci_out_free(&type);
  untrusted_add(model, CI_PB_MODEL_SIGNATURE, &signature);
}

static void untrusted_bomb(ci_out *graph, ci_out *model, size_t n) { untrusted_nested(graph, model, n, 2); }
static inline void untrusted_deep_calls(ci_out *graph, ci_out *model, size_t n) {
  untrusted_nested(graph, model, n, 1);
}

typedef struct untrusted_family {
  const char *name;
  void (*write)(ci_out *graph, ci_out *model, size_t n);
  ci_status status; /* of the load of a large one, if it may take the memory */
  bool dense;       /* it needs more than a load may take */
} untrusted_family;

static const untrusted_family untrusted_families[] = {
    {"nodes with only a name", untrusted_empty_nodes, CI_OK, true},
    {"nodes that all read one value", untrusted_fan, CI_OK, false},
    {"nodes in a chain", untrusted_chain, CI_OK, false},
    {"nodes that wait for each other", untrusted_waits, CI_OK, true},
    {"inputs of one node", untrusted_many_inputs, CI_OK, false},
    {"outputs of one node", untrusted_many_outputs, CI_OK, true},
    {"attributes of one node", untrusted_attributes, CI_OK, false},
    {"integers of one attribute", untrusted_ints, CI_OK, true},
    {"floats of one attribute", untrusted_floats, CI_OK, false},
    {"strings of one attribute", untrusted_strings, CI_OK, true},
    {"inline tensors", untrusted_inline_tensors, CI_OK, true},
    {"stored tensors", untrusted_tensors, CI_OK, true},
    {"elements of a string tensor", untrusted_string_tensor, CI_OK, false},
    {"elements of a packed tensor", untrusted_packed_tensor, CI_OK, false},
    {"variables", untrusted_variables, CI_OK, true},
    {"resources", untrusted_resources, CI_OK, true},
    {"entries of the metadata", untrusted_metadata, CI_OK, true},
    {"outputs of a signature", untrusted_signature_outputs, CI_DATA_LOSS, true},
    {"signatures", untrusted_signatures, CI_OK, true},
    {"targets of a signature", untrusted_targets, CI_UNIMPLEMENTED, true},
    {"formal inputs of a body", untrusted_formals, CI_OK, true},
    {"empty bodies", untrusted_bodies, CI_OK, true},
    {"nodes in deep bodies", untrusted_deep, CI_OK, true},
    {"captures of a body", untrusted_captures, CI_OK, true},
    {"functions", untrusted_functions, CI_OK, true},
    {"calls of a function", untrusted_calls, CI_OK, true},
    {"calls of a function and its unknown fields", untrusted_unknown_fields, CI_RESOURCE_EXHAUSTED, true},
    {"bytes of a call's name", untrusted_long_name, CI_OK, true},
    {"references to attributes of a call", untrusted_references, CI_OK, true},
    {"nodes that a call waits for", untrusted_call_waits, CI_RESOURCE_EXHAUSTED, true},
    {"nodes that wait for a call", untrusted_waits_for_call, CI_UNIMPLEMENTED, true},
    {"signatures of a large graph", untrusted_signatures_of_many, CI_OK, true},
    {"inputs of a signature", untrusted_signature_inputs, CI_OK, true},
    {"integers in functions that call twice", untrusted_bomb, CI_RESOURCE_EXHAUSTED, true},
    {"inputs that read a name behind unknown fields", untrusted_late_name, CI_OK, false},
    {"nodes with a body that a call gives", untrusted_given_body, CI_RESOURCE_EXHAUSTED, true},
    {"nodes with a type that a call gives", untrusted_given_type, CI_RESOURCE_EXHAUSTED, true},
    {"nodes with a list that a call gives", untrusted_given_list, CI_RESOURCE_EXHAUSTED, true},
    {"outputs of a signature and fields of their type", untrusted_bound_type, CI_RESOURCE_EXHAUSTED, true},
    {"operators that are missing in a call", untrusted_missing, CI_UNIMPLEMENTED, true},
};
enum { UNTRUSTED_FAMILIES = sizeof untrusted_families / sizeof untrusted_families[0] };

static inline ci_out untrusted_model(const untrusted_family *family, size_t n) {
  ci_out graph = {0}, model = {0}, whole = {0};
  family->write(&graph, &model, n);
  untrusted_add(&whole, CI_PB_MODEL_GRAPH, &graph);
  ci_out_bytes(&whole, model.data, model.length);
  ci_out_free(&model);
  return untrusted_file(&whole);
}
#endif
