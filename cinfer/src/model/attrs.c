/* attrs.c - reads the attributes of a node, which are sorted by their keys. */
#include <string.h>

#include "model.h"

const ci_attr *ci_attr_find_key(const ci_model *model, uint32_t first, uint32_t count, ci_span key) {
  for (uint32_t end = first + count; first < end;) {
    const uint32_t middle = first + (end - first) / 2;
    const int order = ci_span_order(ci_stored_bytes(model, model->attrs.at[middle].key), key);
    if (order == 0) return &model->attrs.at[middle];
    if (order < 0) first = middle + 1;
    else end = middle;
  }
  return NULL;
}

const ci_attr *ci_attr_find(const ci_model *model, const ci_node *node, const char *name) {
  return ci_attr_find_key(model, node->attrs, node->attr_count, (ci_span){name, strlen(name)});
}
