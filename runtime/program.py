"""A model's graphs as Python objects: nodes with attributes, who produces which value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphio.schema import tensors
from graphio.schema.model_pb2 import AttributeValue, Graph, Node, Type
from graphio.support import errors

Array = np.ndarray[Any, Any]
_PLAIN = frozenset(("i", "f", "d", "s", "type"))  # attributes that the message gives as they are


class NodeInfo:
    """One node.

    Attributes:
        proto: as the file has it.
        attrs: attributes as Python values, without subgraphs and stored tensors.
        stored: attributes that are in the data section, read when they are needed.
        bodies: subgraphs by attribute.
        captures: outer values that the subgraphs read, sorted.
        reads: values that must be there before the node runs: inputs and captures.
        outputs: names of its values, types: their types.
        controls: names of nodes that run before it.
        key, version: domain and operator, and its version.
    """

    __slots__ = (
        "_arrays",
        "attrs",
        "bodies",
        "captures",
        "controls",
        "inputs",
        "key",
        "name",
        "outputs",
        "proto",
        "reads",
        "stored",
        "types",
        "version",
    )

    def __init__(self, proto: Node, arrays: Sequence[Array]) -> None:
        self.proto = proto
        self.name = name = proto.name
        self.key = (proto.domain, proto.op)
        self.version = proto.version
        self.bodies: dict[str, GraphInfo] = {}
        self.attrs: dict[str, Any] = {}
        self.stored: dict[str, int] = {}
        self._arrays = arrays
        for attribute in proto.attr:
            key, value = attribute.key, attribute.value
            kind = value.WhichOneof("value")
            if kind in _PLAIN:
                self.attrs[key] = getattr(value, kind)
            elif kind == "g":
                self.bodies[key] = GraphInfo(value.g, arrays)
            elif kind == "tensor":
                self.stored[key] = value.tensor
            else:
                self.attrs[key] = _attribute(key, kind, value)
        self.captures: Sequence[str] = ()
        if self.bodies:
            self.captures = sorted({c for body in self.bodies.values() for c in body.captures})
        self.inputs = list(proto.input)
        self.reads = [*filter(None, self.inputs), *self.captures] if self.inputs else self.captures
        self.controls = list(proto.control_input)
        self.types = list(proto.output_type)
        count = len(self.types)
        self.outputs = [name]
        if count != 1:
            self.outputs = [name if k == 0 else f"{name}:{k}" for k in range(count)]

    def attributes(self) -> dict[str, Any]:
        """All attributes but subgraphs."""
        if not self.stored:
            return self.attrs
        return {**self.attrs, **{key: self._arrays[i] for key, i in self.stored.items()}}


class GraphInfo:
    """The root graph or a body."""

    def __init__(self, proto: Graph, arrays: Sequence[Array]) -> None:
        self.nodes = [NodeInfo(node, arrays) for node in proto.node]
        self.inputs = [argument.name for argument in proto.input]
        self.outputs = list(proto.output)
        self.captures: list[str] = list(proto.capture)
        self.targets = list(proto.target)
        self.types: dict[str, Type] = {a.name: a.type for a in proto.input}
        self.index: dict[str, int] = {}
        self.producer: dict[str, int] = {}
        for i, node in enumerate(self.nodes):
            self.index[node.name] = i
            for value, kind in zip(node.outputs, node.types, strict=True):
                self.producer[value] = i
                self.types[value] = kind

    def needed(
        self, values: Sequence[str], targets: Sequence[str], fed: Mapping[str, Any]
    ) -> list[int]:
        """Indices of the nodes that values and targets need, in order.

        Args:
            values: to be computed.
            targets: names of nodes to be run.
            fed: values that are given, whose producers are not needed.
        """
        found: set[int] = set()
        pending = [self._producer_of(v) for v in values if v not in fed]
        pending += [self.index[name] for name in targets]
        while pending:
            i = pending.pop()
            if i < 0 or i in found:
                continue
            found.add(i)
            node = self.nodes[i]
            pending += [self._producer_of(v) for v in node.reads if v not in fed]
            pending += [self.index[name] for name in node.controls]
        return sorted(found)

    def _producer_of(self, value: str) -> int:
        """-1: it comes from outside the graph."""
        return self.producer.get(value, -1)


def _attribute(key: str, kind: str | None, value: AttributeValue) -> Any:
    if kind == "t":
        return tensors.to_array(value.t)
    if kind == "ints":
        return list(value.ints.i)
    if kind == "floats":
        return list(value.floats.f)
    if kind == "strings":
        return list(value.strings.s)
    raise errors.UnimplementedError(message=f"attribute {key!r} is of the unknown kind {kind}")
