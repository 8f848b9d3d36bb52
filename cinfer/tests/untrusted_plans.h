/* untrusted_plans.h - models whose plans are large: n steps, values, variables. Signature 0 takes x, two floats, gives
 * y.
 */
#ifndef CI_TEST_UNTRUSTED_PLANS_H
#define CI_TEST_UNTRUSTED_PLANS_H
#include "untrusted.h"

/* {tensor {dtype: FLOAT}} */
static ci_out untrusted_float(void) {
  ci_out type = {0}, tensor = {0};
  ci_out_field_varint(&tensor, CI_PB_TYPE_TENSORTYPE_DTYPE, CI_FLOAT);
  untrusted_add(&type, CI_PB_TYPE_TENSOR, &tensor);
  return type;
}

static void untrusted_ends(ci_out *to, uint32_t field, ci_out *node) {
  ci_out type = untrusted_float();
  untrusted_add(node, CI_PB_NODE_OUTPUT_TYPE, &type);
  untrusted_add(to, field, node);
}

/* axis: -1 */
static void untrusted_last_axis(ci_out *node) {
  ci_out axis = {0}, attribute = {0};
  ci_out_field_varint(&axis, CI_PB_ATTRIBUTEVALUE_I, UINT64_MAX);
  untrusted_string(&attribute, CI_PB_ATTRIBUTE_KEY, "axis");
  untrusted_add(&attribute, CI_PB_ATTRIBUTE_VALUE, &axis);
  untrusted_add(node, CI_PB_NODE_ATTR, &attribute);
}

/* A node of one or two inputs and one output. */
static void untrusted_step(ci_out *to, uint32_t field, const char *name, const char *op, const char *a, const char *b) {
  ci_out node = untrusted_node(name, op, 13);
  untrusted_string(&node, CI_PB_NODE_INPUT, a);
  if (b != NULL) untrusted_string(&node, CI_PB_NODE_INPUT, b);
  if (strcmp(op, "Concat") == 0) untrusted_last_axis(&node);
  untrusted_ends(to, field, &node);
}

static void untrusted_x(ci_out *graph) {
  ci_out x = untrusted_node("-x", "Placeholder", 1);
  untrusted_string(&x, CI_PB_NODE_DOMAIN, "graphio");
  untrusted_ends(graph, CI_PB_GRAPH_NODE, &x);
}

static void untrusted_bind(ci_out *signature, uint32_t field, const char *key, const char *value) {
  ci_out binding = {0};
  untrusted_string(&binding, CI_PB_SIGNATURE_BINDING_KEY, key);
  untrusted_string(&binding, CI_PB_SIGNATURE_BINDING_VALUE, value);
  untrusted_add(signature, field, &binding);
}

static ci_out untrusted_signature(const char *y) {
  ci_out signature = {0};
  untrusted_bind(&signature, CI_PB_SIGNATURE_INPUT, "x", "-x");
  untrusted_bind(&signature, CI_PB_SIGNATURE_OUTPUT, "y", y);
  return signature;
}

static void plans_chain(ci_out *graph, ci_out *model, size_t n) {
  char name[16], before[16] = "-x";
  untrusted_x(graph);
  for (size_t i = 0; i < n; i++) {
    untrusted_step(graph, CI_PB_GRAPH_NODE, untrusted_name(name, i), "Neg", before, NULL);
    memcpy(before, name, sizeof before);
  }
  ci_out signature = untrusted_signature(before);
  untrusted_add(model, CI_PB_MODEL_SIGNATURE, &signature);
}

/* Values that all stay till the end, when one node reads them. */
static void plans_fan(ci_out *graph, ci_out *model, size_t n) {
  ci_out sum = untrusted_node("-y", "Sum", 13);
  untrusted_x(graph);
  for (size_t i = 0; i < n; i++) {
    char name[16];
    untrusted_step(graph, CI_PB_GRAPH_NODE, untrusted_name(name, i), "Neg", "-x", NULL);
    untrusted_string(&sum, CI_PB_NODE_INPUT, name);
  }
  untrusted_ends(graph, CI_PB_GRAPH_NODE, &sum);
  ci_out signature = untrusted_signature("-y");
  untrusted_add(model, CI_PB_MODEL_SIGNATURE, &signature);
}

/* Every second value goes, so that the arena is full of gaps, none of which is large enough for the values that
 * follow. */
static void plans_gaps(ci_out *graph, ci_out *model, size_t n) {
  ci_out sum = untrusted_node("-y", "Sum", 13), kept = untrusted_node("-k", "Sum", 13);
  ci_out large = untrusted_node("-z", "Sum", 13);
  char name[16], longer[20], wide[20] = "-x";
  untrusted_x(graph);
  for (int i = 0; i < 6; i++) { /* 2 * 64 floats, more than the gap of a small one */
    snprintf(longer, sizeof longer, "-w%d", i);
    untrusted_step(graph, CI_PB_GRAPH_NODE, longer, "Concat", wide, wide);
    memcpy(wide, longer, sizeof wide);
  }
  for (size_t i = 0; i < n; i++) untrusted_step(graph, CI_PB_GRAPH_NODE, untrusted_name(name, i), "Neg", "-x", NULL);
  for (size_t i = 0; i < n; i += 2) untrusted_string(&sum, CI_PB_NODE_INPUT, untrusted_name(name, i));
  untrusted_ends(graph, CI_PB_GRAPH_NODE, &sum);
  for (size_t i = 0; i < n; i++) {
    snprintf(longer, sizeof longer, "+%s", untrusted_name(name, i));
    untrusted_step(graph, CI_PB_GRAPH_NODE, longer, "Neg", wide, NULL);
    untrusted_string(&large, CI_PB_NODE_INPUT, longer);
  }
  for (size_t i = 1; i < n; i += 2) untrusted_string(&kept, CI_PB_NODE_INPUT, untrusted_name(name, i));
  untrusted_ends(graph, CI_PB_GRAPH_NODE, &large);
  untrusted_ends(graph, CI_PB_GRAPH_NODE, &kept);
  ci_out signature = untrusted_signature("-z");
  untrusted_string(&signature, CI_PB_SIGNATURE_TARGET, "-y");
  untrusted_string(&signature, CI_PB_SIGNATURE_TARGET, "-k");
  untrusted_add(model, CI_PB_MODEL_SIGNATURE, &signature);
}

/* Outputs of 1024 floats, which are computed in the caller's memory. */
static void plans_outputs(ci_out *graph, ci_out *model, size_t n) {
  ci_out signature = {0};
  char longer[20], wide[20] = "-x";
  untrusted_bind(&signature, CI_PB_SIGNATURE_INPUT, "x", "-x");
  untrusted_x(graph);
  for (int i = 0; i < 9; i++) {
    snprintf(longer, sizeof longer, "-w%d", i);
    untrusted_step(graph, CI_PB_GRAPH_NODE, longer, "Concat", wide, wide);
    memcpy(wide, longer, sizeof wide);
  }
  for (size_t i = 0; i < n; i++) {
    const untrusted_key key = untrusted_sorted(i);
    untrusted_step(graph, CI_PB_GRAPH_NODE, key.bytes, "Neg", wide, NULL);
    untrusted_bind(&signature, CI_PB_SIGNATURE_OUTPUT, key.bytes, key.bytes);
  }
  untrusted_add(model, CI_PB_MODEL_SIGNATURE, &signature);
}

static void plans_variable(ci_out *graph, const char *name, const char *op, const char *variable, const char *input) {
  ci_out node = untrusted_node(name, op, 1), text = {0}, attribute = {0};
  untrusted_string(&node, CI_PB_NODE_DOMAIN, "graphio");
  if (input != NULL) untrusted_string(&node, CI_PB_NODE_INPUT, input);
  untrusted_string(&text, CI_PB_ATTRIBUTEVALUE_S, variable);
  untrusted_string(&attribute, CI_PB_ATTRIBUTE_KEY, "variable");
  untrusted_add(&attribute, CI_PB_ATTRIBUTE_VALUE, &text);
  untrusted_add(&node, CI_PB_NODE_ATTR, &attribute);
  untrusted_ends(graph, CI_PB_GRAPH_NODE, &node);
}

/* Variables of two floats, each assigned from itself, the step right before its Assign or all steps first. */
static void plans_assigns(ci_out *graph, ci_out *model, size_t n, bool in_turn) {
  ci_out signature = untrusted_signature("-x"), shape = {0}, two = {0};
  ci_out_field_varint(&two, CI_PB_DIMENSION_SIZE, 2);
  untrusted_add(&shape, CI_PB_SHAPE_DIM, &two);
  untrusted_x(graph);
  for (size_t i = 0; i < n; i++) {
    const untrusted_key key = untrusted_sorted(i);
    ci_out variable = {0};
    char made[8], assign[8];
    snprintf(made, sizeof made, "m%s", key.bytes);
    snprintf(assign, sizeof assign, "a%s", key.bytes);
    untrusted_string(&variable, CI_PB_VARIABLE_NAME, key.bytes);
    ci_out_field_varint(&variable, CI_PB_VARIABLE_DTYPE, CI_FLOAT);
    ci_out_field_message(&variable, CI_PB_VARIABLE_SHAPE, &shape);
    untrusted_add(model, CI_PB_MODEL_VARIABLE, &variable);
    plans_variable(graph, key.bytes, "Variable", key.bytes, NULL);
    untrusted_step(graph, CI_PB_GRAPH_NODE, made, "Neg", key.bytes, NULL);
    if (in_turn) plans_variable(graph, assign, "Assign", key.bytes, made);
    untrusted_string(&signature, CI_PB_SIGNATURE_TARGET, assign);
  }
  for (size_t i = 0; i < n && !in_turn; i++) {
    const untrusted_key key = untrusted_sorted(i);
    char made[8], assign[8];
    snprintf(made, sizeof made, "m%s", key.bytes);
    snprintf(assign, sizeof assign, "a%s", key.bytes);
    plans_variable(graph, assign, "Assign", key.bytes, made);
  }
  ci_out_free(&shape);
  untrusted_add(model, CI_PB_MODEL_SIGNATURE, &signature);
}

static void plans_training(ci_out *graph, ci_out *model, size_t n) { plans_assigns(graph, model, n, true); }
static void plans_late_assigns(ci_out *graph, ci_out *model, size_t n) { plans_assigns(graph, model, n, false); }

/* A constant of one number, a vector. */
static void plans_constant(ci_out *to, uint32_t field, const char *name, int32_t dtype, const void *data,
                           size_t bytes) {
  ci_out node = untrusted_node(name, "Constant", 13), tensor = {0};
  ci_out_field_varint(&tensor, CI_PB_TENSOR_DTYPE, (uint64_t)dtype);
  ci_out_field_bytes(&tensor, CI_PB_TENSOR_DIMS, "\1", 1);
  ci_out_field_bytes(&tensor, CI_PB_TENSOR_DATA, data, bytes);
  untrusted_attribute(&node, "value", CI_PB_ATTRIBUTEVALUE_T, &tensor);
  ci_out_free(&tensor);
  untrusted_outputs(&node, 1);
  untrusted_add(to, field, &node);
}

/* A chain of values that follow from constants: so many numbers each, the last one is an output. */
static void plans_known(ci_out *graph, ci_out *model, size_t n, int64_t elements) {
  char name[16], before[16] = "-wide";
  untrusted_x(graph);
  plans_constant(graph, CI_PB_GRAPH_NODE, "-one", CI_FLOAT, &(float){1}, sizeof(float));
  plans_constant(graph, CI_PB_GRAPH_NODE, "-shape", CI_INT64, &elements, sizeof elements);
  untrusted_step(graph, CI_PB_GRAPH_NODE, before, "Expand", "-one", "-shape");
  for (size_t i = 0; i < n; i++) {
    untrusted_step(graph, CI_PB_GRAPH_NODE, untrusted_name(name, i), "Neg", before, NULL);
    memcpy(before, name, sizeof before);
  }
  ci_out signature = untrusted_signature(before);
  untrusted_add(model, CI_PB_MODEL_SIGNATURE, &signature);
}

static void plans_small_known(ci_out *graph, ci_out *model, size_t n) { plans_known(graph, model, n, 4); }
static void plans_large_known(ci_out *graph, ci_out *model, size_t n) { plans_known(graph, model, n, 256); }

static const untrusted_family untrusted_plans[] = {
    {"a chain of steps", plans_chain, CI_OK, false},
    {"values that are read at the end", plans_fan, CI_OK, false},
    {"large outputs", plans_outputs, CI_OK, false},
    {"gaps that nothing fits", plans_gaps, CI_OK, false},
    {"variables assigned in turn", plans_training, CI_OK, false},
    {"variables assigned at the end", plans_late_assigns, CI_OK, false},
    {"a chain of small constants", plans_small_known, CI_OK, false},
    {"a chain of constants", plans_large_known, CI_OK, false},
};
enum { UNTRUSTED_PLANS = sizeof untrusted_plans / sizeof untrusted_plans[0] };
#endif
