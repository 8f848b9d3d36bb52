/* verify.c - nodes against the rows of their operators. */
#include <stdio.h>
#include <string.h>

#include "model.h"
#include "wire.h"

int ci_span_order(ci_span a, ci_span b) {
  size_t common = a.length < b.length ? a.length : b.length;
  int order = common == 0 ? 0 : memcmp(a.data, b.data, common);
  if (order != 0 || a.length == b.length) return order;
  return a.length < b.length ? -1 : 1;
}

const ci_attr *ci_find_key(const ci_model *model, uint32_t first, uint32_t count, ci_span key) {
  for (uint32_t end = first + count; first < end;) {
    const uint32_t middle = first + (end - first) / 2;
    const int order = ci_span_order(model->attrs.at[middle].key, key);
    if (order == 0) return &model->attrs.at[middle];
    if (order < 0) first = middle + 1;
    else end = middle;
  }
  return NULL;
}

const ci_attr *ci_find_attr(const ci_model *model, const ci_node *node, const char *name) {
  return ci_find_key(model, node->attrs, node->attr_count, (ci_span){name, strlen(name)});
}

static ci_status verify_absent(const ci_model *model, const ci_node *node, ci_error *error) {
  const ci_op *op = node->kernel;
  const bool loop = op->domain[0] == '\0' && strcmp(op->name, "Loop") == 0; /* it may lack its first two */
  for (uint32_t i = 0; i < node->input_count; i++) {
    bool optional = loop ? i < 2 : (int)i >= op->min_in && op->max_in >= 0;
    if (model->refs.at[node->inputs + i] == CI_NONE && !optional) {
      return ci_fail_node(node, error, CI_INVALID_ARGUMENT, "input %u is absent, expected a value", (unsigned)i);
    }
  }
  return CI_OK;
}

ci_status ci_verify_node(const ci_model *model, const ci_node *node, ci_error *error) {
  const ci_op *op = node->kernel;
  if (op == NULL) return CI_OK; /* reported if a signature needs it */
  if ((int64_t)node->input_count < op->min_in || (op->max_in >= 0 && (int64_t)node->input_count > op->max_in)) {
    return ci_fail_node(node, error, CI_INVALID_ARGUMENT, "%u inputs, expected %d to %d", (unsigned)node->input_count,
                        op->min_in, op->max_in < 0 ? INT32_MAX : op->max_in);
  }
  if (node->output_count < op->min_out || (op->max_out >= 0 && node->output_count > op->max_out)) {
    return ci_fail_node(node, error, CI_INVALID_ARGUMENT, "%d outputs, expected %d to %d", node->output_count,
                        op->min_out, op->max_out < 0 ? INT32_MAX : op->max_out);
  }
  return verify_absent(model, node, error);
}

/* ---- operators that this build lacks ---- */

typedef struct verify_list {
  char text[600];
  size_t used;
  int named, more;
  char families[200]; /* of operators that were left out */
} verify_list;

static void verify_family(verify_list *list, const char *family) {
  const size_t used = strlen(list->families), length = strlen(family);
  if (strstr(list->families, family) != NULL) return; /* no family's name is part of another's */
  if (used + length + sizeof ", " > sizeof list->families) return;
  snprintf(list->families + used, sizeof list->families - used, "%s%s", used > 0 ? ", " : "", family);
}

/* `family` NULL: of no operator that cinfer has. */
static void verify_add(verify_list *list, const ci_node *node, const char *op, const char *family) {
  char item[400];
  int length = snprintf(item, sizeof item, "%s%s (node '%.*s'%s%s)", list->named > 0 ? ", " : "", op,
                        CI_SPAN_ARG(node->name), family != NULL ? ", family " : "", family != NULL ? family : "");
  if (family != NULL) verify_family(list, family);
  if ((size_t)length >= sizeof item) length = (int)sizeof item - 1;
  if (list->used + (size_t)length + 1 > sizeof list->text) {
    list->more++;
    return;
  }
  memcpy(list->text + list->used, item, (size_t)length + 1);
  list->used += (size_t)length;
  list->named++;
}

static bool verify_same_op(const ci_node *a, const ci_node *b) {
  return a->version == b->version && ci_span_order(a->op, b->op) == 0 && ci_span_order(a->domain, b->domain) == 0;
}

/* Each operator once, with the first node that needs it. Looks back over few: the list is short when it is read. */
static bool verify_listed(const ci_model *model, const int32_t *need, size_t node) {
  enum { LOOK_BACK = 1000 };
  for (size_t i = node > LOOK_BACK ? node - LOOK_BACK : 0; i < node; i++) {
    const ci_node *before = &model->nodes.at[i];
    if (need[i] != 0 && before->kernel == NULL && verify_same_op(before, &model->nodes.at[node])) return true;
  }
  return false;
}

static void verify_node_kernel(verify_list *list, const ci_node *node) {
  char op[320];
  snprintf(op, sizeof op, "%.*s%s%.*s version %d", CI_SPAN_ARG(node->domain), node->domain.length > 0 ? "." : "",
           CI_SPAN_ARG(node->op), (int)node->version);
  verify_add(list, node, op, ci_left_out(node->domain, node->op));
}

/* The family of an operator in a fused program. */
static const char *verify_step_family(ci_span step) {
  if (k_span_is(step, "GeluTanh")) step.length = strlen("Gelu");
  const char *family = ci_left_out((ci_span){"", 0}, step);
  return family != NULL ? family : ci_left_out((ci_span){"graphio", 7}, step);
}

static bool verify_said(const verify_list *list, const char *op) {
  const char *at = strstr(list->text, op);
  return at != NULL && (at == list->text || at[-1] == ' ');
}

/* Operators that were fused into this one. */
static void verify_steps(verify_list *list, const ci_model *model, const ci_node *node) {
  const ci_attr *ops = CI_HAS_ALL ? NULL : ci_find_attr(model, node, "ops");
  if (ops == NULL || ops->kind != CI_PB_ATTRIBUTEVALUE_STRINGS || strncmp(node->kernel->name, "Fused", 5) != 0) return;
  for (uint32_t i = 0; i < ops->count; i++) {
    const ci_span step = model->strings.at[ops->as.first + i];
    const char *family = verify_step_family(step);
    if (family == NULL) continue;
    char op[320];
    snprintf(op, sizeof op, "%.*s in %s", CI_SPAN_ARG(step), node->kernel->name);
    if (!verify_said(list, op)) verify_add(list, node, op, family);
  }
}

static ci_status verify_report(const ci_model *model, const int32_t *need, ci_error *error) {
  verify_list list = {.used = 0};
  for (size_t i = 0; i < model->nodes.count; i++) {
    const ci_node *node = &model->nodes.at[i];
    if (need[i] != 0 && node->kernel == NULL && !verify_listed(model, need, i)) verify_node_kernel(&list, node);
    if (need[i] != 0 && node->kernel != NULL) verify_steps(&list, model, node);
  }
  if (list.named + list.more == 0) return CI_OK;
  char more[32] = "", build[160 + sizeof list.families] = "";
  if (list.more > 0) snprintf(more, sizeof more, " and %d more", list.more);
  if (list.families[0] != '\0') {
    snprintf(build, sizeof build, "; it was built without these families: add %s to CINFER_FAMILIES (CMake) or %s",
             list.families, "CI_FAMILIES (one file)");
  }
  return ci_fail(error, CI_UNIMPLEMENTED, "this cinfer lacks operators of the model: %s%s%s", list.text, more, build);
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

/* ---- messages ---- */

/* Of a node that has a kernel, neither name nor operator is empty. */
static void verify_copy(char *to, size_t size, ci_span text) {
  size_t length = text.length < size ? text.length : size - 1;
  memcpy(to, text.data, length);
  to[length] = '\0';
  ci_printable(to, false);
}

static void verify_where(const ci_node *node, ci_error *error) {
  verify_copy(error->node, sizeof error->node, node->name);
  verify_copy(error->op, sizeof error->op, node->op);
  error->source[0] = '\0';
  if (node->file.length == 0) return;
  snprintf(error->source, sizeof error->source, "%.*s:%u%s%.*s", CI_SPAN_ARG(node->file), (unsigned)node->line,
           node->function.length > 0 ? " in " : "", CI_SPAN_ARG(node->function));
  ci_printable(error->source, false);
}

ci_status ci_vfail_node(const ci_node *node, ci_error *error, ci_status status, const char *format, va_list arguments) {
  if (error == NULL) return status;
  char said[600]; /* with node and source it fits the message */
  (void)vsnprintf(said, sizeof said, format, arguments); /* no format of ours can fail */
  ci_printable(said, true); /* what a program's own function says may have lines */
  error->status = status;
  verify_where(node, error);
  const char *open = error->source[0] != '\0' ? " (" : "", *close = error->source[0] != '\0' ? ")" : "";
  snprintf(error->message, sizeof error->message, "%s '%s'%s%s%s: %s", error->op, error->node, open, error->source,
           close, said);
  return status;
}

ci_status ci_fail_node(const ci_node *node, ci_error *error, ci_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  ci_vfail_node(node, error, status, format, arguments);
  va_end(arguments);
  return status;
}
