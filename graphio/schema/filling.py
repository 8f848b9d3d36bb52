"""The size that a model file must have for the C library to open it without a higher limit.

An open may take four bytes of memory for each of the file's, of which a copy of the file is one,
and some for any file (docs/security.md, S2). Nodes of few bytes and lists of small numbers take
more: their files are filled up with bytes without a reader. The count here is at least what
the structures of cinfer/src/model/model.h take where addresses have 64 bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from graphio.schema import dtypes
from graphio.schema.model_pb2 import (
    AttributeValue,
    Function,
    Graph,
    Model,
    Node,
    Signature,
    Tensor,
)
from graphio.schema.verify_graph import MAX_RANK
from graphio.support import errors

__all__ = ["filling"]

TIMES = 3  # bytes of memory for each byte of a file, in addition to its copy
FIXED = 40_000  # for any file: the rest of 64 KB is for what there is one of
MOST = 40  # bytes of memory for a byte of a graph section without functions
DEEPEST = 16  # functions in each other
LARGEST = 1 << 30  # bytes of filling

#: of a list that grew: the last time it was copied to where there is half as much more
GROWN = 2.5
#: bytes of memory for what is counted before it is read
NODE, NAME, EDGE, REF, ATTRIBUTE, INT, FLOAT, STRING, CONSTANT = 40, 12, 12, 4, 24, 8, 4, 16, 64
#: and for what is not
GRAPH, NAMED, VARIABLE, GENERATOR, SIGNATURE, ENTRY, FUNCTION = (
    GROWN * size for size in (56, 24, 64, 48, 40, 16, 64)
)
BINDING, INPUT = 40, 60  # an input has two names more while its signature is read
SMALL, BLOCK, ALIGN = 256, 64, 64  # pieces of a pool that leave next to nothing of it empty
#: domains whose operators have kernels
_KNOWN = ("", "graphio")
_Key = tuple[str, str, int]


def filling(model: Model, graph: int, size: int) -> int:
    """The bytes of filling that the file of a model needs.

    Args:
        model: the message, with Model.tensor and without filling.
        graph: bytes of the message.
        size: bytes of the file.

    Raises:
        ResourceExhaustedError: it is more than 1 GiB, because functions call functions many times.
    """
    given = TIMES * size + FIXED
    stored = sum(map(_elements, model.tensor))
    if not model.function and MOST * graph + stored <= given:
        return 0
    missing = math.ceil((stored + _Count(model).total() - given) / TIMES)
    if missing > LARGEST:
        raise errors.ResourceExhaustedError(
            message=f"the calls of the model's functions stand for {missing * TIMES:.3g} bytes of "
            f"nodes in a model of {graph} bytes, at most {LARGEST * TIMES:.3g} are written; call "
            "fewer functions in each other"
        )
    return max(0, missing)


class _Count:
    """The memory that a model's message takes."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._functions: Mapping[_Key, Function] = {
            (f.domain, f.name, f.version): f for f in model.function if f.domain not in _KNOWN
        }
        self._calls: dict[_Key, float] = {}
        self._nodes = self._named = self._refs = self._targets = 0

    def total(self) -> float:
        """All of it, the elements of stored tensors apart."""
        model = self._model
        total = (
            self._graph(model.graph, 0)
            + 2 * CONSTANT * len(model.tensor)
            + FUNCTION * len(model.function)
            + sum(VARIABLE + _text(v.name) + _words(len(v.shape.dim)) for v in model.variable)
            + sum(GENERATOR + _text(r.name) for r in model.resource)
            + sum(ENTRY + _text(m.key) + _text(m.value) for m in model.metadata)
            + sum(map(self._signature, model.signature))
            + INPUT * max((len(s.input) for s in model.signature), default=0)
        )
        # Lists that their count does not cover grow.
        names = NAME * (self._nodes + self._named) * (GROWN if self._named else 1)
        refs = REF * (self._refs + 2 * self._targets) * (GROWN if self._targets else 1)
        return total + names + refs

    def _signature(self, signature: Signature) -> float:
        self._targets += len(signature.target)
        bindings = [len(signature.input), len(signature.output)]
        total = SIGNATURE + _text(signature.name) + sum(_pooled(BINDING * n) for n in bindings)
        for binding in (*signature.input, *signature.output):
            dims = binding.type.tensor.shape.dim
            rank = len(dims) if binding.HasField("type") else MAX_RANK  # else it is its value's
            total += _text(binding.key) + _words(rank) + _words(rank)
            total += sum(_text(dim.symbol) for dim in dims if dim.symbol)
        return total

    def _graph(self, graph: Graph, depth: int) -> float:
        """A graph and those inside it."""
        total, waiting = 0.0, [graph]
        while waiting:
            each = waiting.pop()
            total += GRAPH + (NAMED + EDGE) * len(each.input)
            self._named += len(each.input)
            self._refs += len(each.output) + len(each.capture)
            self._targets += len(each.target)
            for node in each.node:
                total += self._node(node, waiting, depth)
        return total

    def _node(self, node: Node, waiting: list[Graph], depth: int) -> float:
        """A node; the graphs that it has are added to waiting."""
        self._nodes += 1
        self._refs += len(node.input) + 2 * len(node.control_input)
        total: float = NODE + EDGE * len(node.output_type)
        for attribute in node.attr:
            total += ATTRIBUTE + _value(attribute.value, waiting)
        if node.domain not in _KNOWN:
            total += self._call((node.domain, node.op, node.version), depth)
        return total

    def _call(self, key: _Key, depth: int) -> float:
        """The nodes that replace a call; in the main graph, with the copies of its lists."""
        body = self._functions.get(key)
        if body is None or depth > DEEPEST:
            return 0
        if key not in self._calls:
            self._calls[key] = self._body(body, depth + 1)
        self._named += 1
        return self._calls[key] if depth else GROWN * self._calls[key]

    def _body(self, body: Function, depth: int) -> float:
        before = self._nodes, self._refs
        total = NAMED * (1 + len(body.input)) + self._listed(body.node, depth)
        made = NAME * (self._nodes - before[0] + len(body.input)) + REF * (self._refs - before[1])
        return total + made

    def _listed(self, nodes: Iterable[Node], depth: int) -> float:
        graphs: list[Graph] = []
        total = sum(self._node(node, graphs, depth) for node in nodes)
        return total + sum(self._graph(graph, depth) for graph in graphs)


def _value(value: AttributeValue, waiting: list[Graph]) -> float:
    kind = value.WhichOneof("value")
    if kind == "ints":
        return INT * len(value.ints.i)
    if kind == "floats":
        return FLOAT * len(value.floats.f)
    if kind == "strings":
        return STRING * len(value.strings.s)
    if kind == "t":
        return CONSTANT + _elements(value.t) + _pooled(len(value.t.data) + 8)
    if kind == "g":
        waiting.append(value.g)
    elif kind == "graphs":
        waiting.extend(value.graphs.g)
    return 0


def _elements(tensor: Tensor) -> float:
    """Dimensions, and elements that have another form in memory than in the file."""
    row = dtypes.BY_NUMBER.get(tensor.dtype)
    if tensor.dtype == dtypes.STRING:
        size = STRING
    elif row is not None and row.bits < 8:
        size = 1
    else:
        return _words(len(tensor.dims))
    return _words(len(tensor.dims)) + _pooled(size * math.prod(tensor.dims) + ALIGN)


def _text(text: str) -> float:
    return _pooled(len(text.encode()) + 1)


def _words(count: int) -> float:
    return _pooled(8 * count)


def _pooled(size: int) -> float:
    """Bytes of a pool's blocks: what does not fit into one leaves less than its size empty."""
    return 1.1 * size + 1 if size <= SMALL else 2 * size + BLOCK
