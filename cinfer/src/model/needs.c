/* needs.c - finds the nodes that a signature runs. */
#include "model.h"
#include "../base/wire.h"

ci_status ci_needs_no_memory(ci_error *error) {
  return ci_fail(error, CI_RESOURCE_EXHAUSTED, "no memory for the plan of a signature");
}

typedef struct needs_walk {
  const ci_model *model;
  const bool *fed;
  int32_t *need;
  CI_LIST(int32_t) work; /* nodes that are marked and not followed yet */
} needs_walk;

static bool needs_mark(needs_walk *w, int32_t node) {
  if (w->need[node] != 0) return true;
  if (!CI_LIST_GROW(&w->model->allocator, &w->work)) return false;
  w->need[node] = 1;
  w->work.at[w->work.count++] = node;
  return true;
}

static bool needs_value(needs_walk *w, int32_t edge) {
  if (edge == CI_NONE || w->fed[edge] || w->model->edges.at[edge].role == CI_EDGE_FORMAL) return true;
  return needs_mark(w, w->model->edges.at[edge].of);
}

static bool needs_values(needs_walk *w, uint32_t first, uint32_t count) {
  for (uint32_t i = first; i < first + count; i++) {
    if (!needs_value(w, w->model->refs.at[i])) return false;
  }
  return true;
}

/* A range may span nodes of bodies; those belong to another graph and are found through theirs. Many may wait for one
 * call: the part of a range that was followed is kept at its first node. */
static bool needs_ranges(needs_walk *w, uint32_t first, uint32_t count, int32_t graph) {
  for (uint32_t i = 0; i < count; i++) {
    const ci_range range = ci_graph_range_at(w->model, first, i);
    const int32_t followed = w->need[range.begin];
    for (int32_t n = followed > range.begin ? followed : range.begin; n < range.end; n++) {
      if (w->model->nodes.at[n].graph == graph && !needs_mark(w, n)) return false;
    }
    if (followed < range.end) w->need[range.begin] = range.end;
  }
  return true;
}

static bool needs_body(needs_walk *w, int32_t number) {
  const ci_graph *g = &w->model->graphs.at[number];
  return needs_values(w, g->outputs, g->output_count) && needs_values(w, g->captures, g->capture_count) &&
         needs_ranges(w, g->targets, g->target_count, number);
}

static bool needs_follow(needs_walk *w, int32_t number) {
  const ci_node *node = &w->model->nodes.at[number];
  if (!needs_values(w, node->inputs, node->input_count)) return false;
  if (!needs_ranges(w, node->inputs + node->input_count, node->control_count, node->graph)) return false;
  for (uint32_t i = node->attrs; i < node->attrs + node->attr_count; i++) {
    const ci_attr *attr = &w->model->attrs.at[i];
    if (attr->kind == CI_PB_ATTRIBUTEVALUE_G && !needs_body(w, attr->as.graph)) return false;
  }
  return true;
}

ci_status ci_needs(const ci_model *model, const ci_signature_info *signature, const bool *fed, int32_t *need,
                   ci_error *error) {
  needs_walk w = {.model = model, .fed = fed, .need = need};
  bool whole = needs_ranges(&w, signature->targets, signature->target_count, 0);
  for (int32_t i = 0; whole && i < signature->output_count; i++) whole = needs_value(&w, signature->outputs[i].edge);
  while (whole && w.work.count > 0) whole = needs_follow(&w, w.work.at[--w.work.count]);
  CI_LIST_FREE(&model->allocator, &w.work);
  return whole ? CI_OK : ci_needs_no_memory(error);
}
