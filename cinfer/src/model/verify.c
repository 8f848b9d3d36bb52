/* verify.c - checks the nodes of a model against the rows of their operators. */
#include <stdio.h>
#include <string.h>

#include "model.h"
#include "../base/wire.h"

static ci_status verify_absent(const ci_model *model, const ci_node *node, ci_error *error) {
  const ci_op *op = node->kernel;
  const bool loop = op->domain[0] == '\0' && strcmp(op->name, "Loop") == 0; /* it may lack its first two */
  for (uint32_t i = 0; i < node->input_count; i++) {
    bool optional = loop ? i < 2 : (int)i >= op->min_in && op->max_in >= 0;
    if (model->refs.at[node->inputs + i] == CI_NONE && !optional) {
      return ci_node_fail(model, node, error, CI_INVALID_ARGUMENT, "input %u is absent, expected a value", (unsigned)i);
    }
  }
  return CI_OK;
}

ci_status ci_verify_node(const ci_model *model, const ci_node *node, ci_error *error) {
  const ci_op *op = node->kernel;
  if (op == NULL) return CI_OK; /* reported if a signature needs it */
  if ((int64_t)node->input_count < op->min_in || (op->max_in >= 0 && (int64_t)node->input_count > op->max_in)) {
    return ci_node_fail(model, node, error, CI_INVALID_ARGUMENT, "%u inputs, expected %d to %d",
                        (unsigned)node->input_count, op->min_in, op->max_in < 0 ? INT32_MAX : op->max_in);
  }
  if (node->output_count < op->min_out || (op->max_out >= 0 && node->output_count > op->max_out)) {
    return ci_node_fail(model, node, error, CI_INVALID_ARGUMENT, "%d outputs, expected %d to %d", node->output_count,
                        op->min_out, op->max_out < 0 ? INT32_MAX : op->max_out);
  }
  return verify_absent(model, node, error);
}

/* ---- operators that this build lacks ---- */

typedef struct verify_list {
  char str[600];
  size_t used;
  int named, more, tried;
  char families[200]; /* of operators that were left out */
  const ci_model *model;
} verify_list;

static void verify_family(verify_list *list, const char *family) {
  const size_t used = strlen(list->families), length = strlen(family);
  if (strstr(list->families, family) != NULL) return; /* no family's name is part of another's */
  if (used + length + sizeof ", " > sizeof list->families) return;
  snprintf(list->families + used, sizeof list->families - used, "%s%s", used > 0 ? ", " : "", family);
}

/* Above the capacity of the list: reading a name costs the reading of the calls around its node. */
enum { VERIFY_MOST_NAMED = 64 };

/* Each operator with the first node that needs it; of operators above the capacity, each node counts. `op` has its own
 * space and bracket, so that it is not a part of another one; `family` NULL: of no operator that cinfer has. */
static void verify_missing(verify_list *list, const ci_node *node, const char *op, const char *family) {
  char item[400], buffer[200];
  if (strstr(list->str, op) != NULL) return;
  if (family != NULL) verify_family(list, family);
  if (list->tried == VERIFY_MOST_NAMED) {
    list->more++;
    return;
  }
  list->tried++;
  const ci_span name = ci_node_name(list->model, node, buffer, sizeof buffer);
  int length = snprintf(item, sizeof item, "%s%snode '%.*s'%s%s)", list->named > 0 ? "," : "", op, CI_SPAN_ARG(name),
                        family != NULL ? ", family " : "", family != NULL ? family : "");
  if ((size_t)length >= sizeof item || list->used + (size_t)length + 1 > sizeof list->str) {
    list->more++;
    return;
  }
  memcpy(list->str + list->used, item, (size_t)length + 1);
  list->used += (size_t)length;
  list->named++;
}

static void verify_node_kernel(verify_list *list, const ci_node *node) {
  const ci_node_string str = ci_node_read(list->model, node);
  char op[360];
  snprintf(op, sizeof op, " %.*s%s%.*s version %d (", CI_SPAN_ARG(str.domain), str.domain.length > 0 ? "." : "",
           CI_SPAN_ARG(str.op), (int)str.version);
  const bool ours = str.domain.length == 0 || ci_span_is(str.domain, "graphio");
  verify_missing(list, node, op, ours ? ci_op_left_out(str.op) : NULL);
}

/* Operators that were fused into this one. */
static void verify_steps(verify_list *list, const ci_model *model, const ci_node *node) {
  const ci_attr *ops = CI_HAS_ALL ? NULL : ci_attr_find(model, node, "ops");
  if (ops == NULL || ops->kind != CI_PB_ATTRIBUTEVALUE_STRINGS || strncmp(node->kernel->name, "Fused", 5) != 0) return;
  for (uint32_t i = 0; i < ops->count; i++) {
    const ci_span step = model->strings.at[ops->as.first + i];
    const char *family = ci_op_left_out(ci_span_is(step, "GeluTanh") ? (ci_span){"Gelu", 4} : step);
    if (family == NULL) continue;
    char op[360];
    snprintf(op, sizeof op, " %.*s in %s (", CI_SPAN_ARG(step), node->kernel->name);
    verify_missing(list, node, op, family);
  }
}

static ci_status verify_report(const ci_model *model, const int32_t *need, ci_error *error) {
  verify_list list = {.model = model};
  for (size_t i = 0; i < model->nodes.count; i++) {
    const ci_node *node = &model->nodes.at[i];
    if (need[i] != 0 && node->kernel == NULL) verify_node_kernel(&list, node);
    if (need[i] != 0 && node->kernel != NULL) verify_steps(&list, model, node);
  }
  if (list.named + list.more == 0) return CI_OK;
  char more[32] = "", build[160 + sizeof list.families] = "";
  if (list.more > 0) snprintf(more, sizeof more, " and for %d more", list.more);
  if (list.families[0] != '\0') {
    snprintf(build, sizeof build, "; it was built without these families: add %s to CINFER_FAMILIES (CMake) or %s",
             list.families, "CI_FAMILIES (one file)");
  }
  return ci_fail(error, CI_UNIMPLEMENTED, "this cinfer lacks operators of the model:%s%s%s", list.str, more, build);
}

ci_status ci_verify_operators(const ci_model *model, ci_error *error) {
  size_t need_bytes = model->nodes.count * sizeof(int32_t), fed_bytes = model->edges.count * sizeof(bool);
  int32_t *need = ci_alloc(&model->allocator, need_bytes);
  bool *fed = ci_alloc(&model->allocator, fed_bytes);
  ci_status status = CI_OK;
  if (need == NULL || fed == NULL) status = ci_fail(error, CI_RESOURCE_EXHAUSTED, "no memory for the model");
  for (size_t s = 0; status == CI_OK && s < model->signatures.count; s++) {
    const ci_signature_info *signature = &model->signatures.at[s];
    for (int32_t i = 0; i < signature->input_count; i++) fed[signature->inputs[i].edge] = true;
    status = ci_needs(model, signature, fed, need, error);
    for (int32_t i = 0; i < signature->input_count; i++) fed[signature->inputs[i].edge] = false;
  }
  if (status == CI_OK) status = verify_report(model, need, error);
  ci_release(&model->allocator, need, need_bytes);
  ci_release(&model->allocator, fed, fed_bytes);
  return status;
}
