"""The notebook display of a graph: its operators, and a picture if it is small."""

from __future__ import annotations

from typing import Any

from graphio.framework import registered
from graphio.model.describing import describe
from graphio.model.export import build_model
from graphio.observe.drawing import draw, is_written_in
from graphio.schema.model_pb2 import Model, Signature
from graphio.support import errors, html

__all__ = ["graph_html"]

_MOST_BOXES = 60  # of a picture
_LEFT_OUT = ("NoOp", "Assign")  # ends that no user fetches


@registered.graph_html.register
def graph_html(graph: Any) -> str:
    """A table of a graph's operators, and its picture."""
    model, _ = build_model(graph, [], prune=False, bodies=False)
    facts = describe(model)
    weights = facts["parameters"] | {"variables": len(facts["variables"])}
    title = f"Graph: {facts['nodes']} operations, {weights['variables']} variables"
    rows = list(facts["operators"].items())
    try:
        picture = draw(model, _everything(model), _MOST_BOXES)
    except errors.InvalidArgumentError:
        picture = ""
    return html.table(title, ("operator", "count"), rows, picture, right=(1,))


def _everything(model: Model) -> Signature:
    """A signature from all placeholders to all values without a reader."""
    read = {value.partition(":")[0] for node in model.graph.node for value in node.input}
    nodes = {node.name: node for node in model.graph.node}
    made = Signature(name="graph")
    for node in model.graph.node:
        if not node.output_type or node.op in _LEFT_OUT:
            continue
        if node.op == "Placeholder":
            made.input.add(key=node.name, value=node.name, type=node.output_type[0])
        elif node.name not in read and not is_written_in(node, nodes):
            made.output.add(key=node.name, value=node.name, type=node.output_type[0])
    return made
