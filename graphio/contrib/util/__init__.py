"""tf.contrib.util: arrays and TensorProto messages."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from graphio.framework import api_boundary, refusals
from graphio.ops.array.static_values import get_static_value
from graphio.protos.node_def import make_ndarray, make_tensor_proto
from graphio.support import api_guard

__all__ = ["constant_value", "make_ndarray", "make_tensor_proto", "ops_used_by_graph_def"]


@api_guard.unguarded
def constant_value(tensor: Any, partial: bool = False) -> Any:
    """The value of a tensor if it is known while the graph is built; None: it is not.

    Args:
        tensor: tensor.
        partial: True: a tensor of tf.stack is an array of objects, None where one is not known.
    """
    return get_static_value(tensor, partial)


@api_guard.unguarded
def ops_used_by_graph_def(graph_def: Any) -> list[str]:
    """The types of a GraphDef's nodes, each once, also of those in functions that they call, whose
    names are left out."""
    functions = {f.signature.name: f for f in graph_def.library.function}
    found: dict[str, None] = {}
    waiting = [node.op for node in graph_def.node]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = None
            if name in functions:
                waiting.extend(node.op for node in functions[name].node_def)
    return [name for name in found if name not in functions]


api_boundary.guard_namespace(sys.modules[__name__])

if not TYPE_CHECKING:
    __getattr__ = refusals.getter(__name__)
