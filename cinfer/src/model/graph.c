/* graph.c - iterates over the nodes and edges of graphs. */
#include "model.h"

ci_range ci_graph_range_at(const ci_model *model, uint32_t first, uint32_t i) {
  const size_t begin = (size_t)first + 2 * (size_t)i;
  return (ci_range){model->refs.at[begin], model->refs.at[begin + 1]};
}

int32_t ci_graph_next(const ci_model *model, const ci_graph *graph, int32_t n) {
  const int32_t own = model->nodes.at[n].graph;
  for (n++; n < graph->end && model->nodes.at[n].graph != own;) n = model->graphs.at[model->nodes.at[n].graph].end;
  return n;
}
