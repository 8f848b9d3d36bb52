"""Whether the signatures of a model compute the same, so that one can be taken for all.

Keras writes what it exports twice, as "serving_default" and as "serve", each traced by itself: the
nodes have other names, and are otherwise equal.
"""

from __future__ import annotations

import hashlib
from collections import ChainMap
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.schema import tensors
from graphio.schema.model_pb2 import AttributeValue, Graph, Model, Node, Signature

__all__ = ["default_signature"]

Array = np.ndarray[Any, Any]
#: values of the graph, then those of each body around
Known = ChainMap[str, bytes]
_PREFERRED = "serving_default"


def default_signature(model: Model, arrays: Sequence[Array]) -> str | None:
    """ "serving_default" where every other signature computes the same; else None."""
    names = [signature.name for signature in model.signature]
    if len(names) < 2 or _PREFERRED not in names:
        return None
    prints = {_Prints(model, arrays, signature).result for signature in model.signature}
    return _PREFERRED if len(prints) == 1 else None


class _Prints:
    """A digest of what a signature computes, whatever the nodes are called.

    Attributes:
        result: it.
    """

    def __init__(self, model: Model, arrays: Sequence[Array], signature: Signature) -> None:
        self._arrays = arrays
        known: Known = ChainMap()
        for number, binding in enumerate(signature.input):
            known[binding.value] = _digest(b"input", number, binding.type.SerializeToString())
        self._nodes(model.graph, known)
        ends = [known[binding.value] for binding in signature.output]
        self.result = _digest(b"ends", *ends, *(known[target] for target in signature.target))

    def _nodes(self, graph: Graph, known: Known) -> None:
        """Adds the values of a graph's nodes; those that are known stay."""
        for node in graph.node:
            made = self._node(node, known)
            known.setdefault(node.name, made)
            for k in range(1, len(node.output_type)):
                known.setdefault(f"{node.name}:{k}", _digest(made, k))

    def _node(self, node: Node, known: Known) -> bytes:
        inputs = [known.get(value, b"") for value in node.input]
        controls = sorted(known.get(name, b"") for name in node.control_input)
        attrs = [(a.key, self._attribute(a.value, known)) for a in node.attr]
        return _digest(node.domain, node.op, node.version, inputs, controls, attrs)

    def _attribute(self, value: AttributeValue, known: Known) -> bytes:
        kind = value.WhichOneof("value")
        if kind == "g":
            return self._body(value.g, known)
        if kind == "graphs":
            return _digest(*(self._body(graph, known) for graph in value.graphs.g))
        if kind == "tensor":
            array = self._arrays[value.tensor]
            return _digest(str(array.dtype), array.shape, bytes(tensors.encode(array)))
        return value.SerializeToString(deterministic=True)

    def _body(self, graph: Graph, known: Known) -> bytes:
        inner = known.new_child()
        for number, formal in enumerate(graph.input):
            inner[formal.name] = _digest(b"formal", number, len(known.maps))
        self._nodes(graph, inner)
        ends = [inner.get(value, b"") for value in (*graph.output, *graph.target)]
        return _digest(b"body", *ends)


def _digest(*parts: Any) -> bytes:
    return hashlib.sha256(repr(parts).encode()).digest()
