"""From operations to nodes of models, with the arrays that are too large for them."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.dtypes import DType
from graphio.framework.graph import Graph, Operation, Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.schema import model_pb2, nodes, operators, tensors, wire
from graphio.schema.nodes import Form, PlainGraph, PlainNode, Value, ValueType

__all__ = ["INLINE_BELOW", "Liveness", "NodeWriter", "set_shape", "set_type", "value_name"]

Array = np.ndarray[Any, Any]
INLINE_BELOW = 1024  # bytes; larger constants are in the data section
_REMEMBERED = 64  # bytes: constants as small as that are looked up
_LARGE = 4096  # bytes: constants as large as that are copied only into the message of their node
_TEXT = wire.tag(model_pb2.AttributeValue, "s")
_WITH_BODIES = frozenset({"If", "Loop"})


def value_name(tensor: Tensor) -> str:
    """A value's name in files: "node", or "node:k" from the second output on."""
    return tensor.op.name if tensor.value_index == 0 else f"{tensor.op.name}:{tensor.value_index}"


class Liveness:
    """The operations that outputs and targets of bodies need; the rest of a body is not written.

    Args:
        renamed: tensors that are read in the place of others.
        outputs: what bodies give in the place of their outputs.
    """

    def __init__(
        self,
        renamed: Mapping[Tensor, Tensor] | None = None,
        outputs: Mapping[Graph, list[Tensor]] | None = None,
    ) -> None:
        self._renamed = renamed
        self._outputs = outputs or {}
        self._known: dict[Graph, tuple[list[Operation], list[Tensor]]] = {}

    def sources(self, operation: Operation) -> list[Tensor]:
        """All values that an operation reads: its inputs, then what its bodies capture."""
        found = [t for t in operation.operands if t is not None]
        for value in operation.attrs.values():
            if isinstance(value, Graph):
                found.extend(self.captures(value))
        if self._renamed:
            found = [self._renamed.get(tensor, tensor) for tensor in found]
        return found

    def in_place_of(self, tensor: Tensor) -> Tensor:
        """The tensor that is read instead of another one, by default the same."""
        return self._renamed.get(tensor, tensor) if self._renamed else tensor

    def outputs(self, body: Graph) -> list[Tensor]:
        """The outputs of a body."""
        return self._outputs.get(body, body.outputs)

    def outputs_of(self, operation: Operation) -> list[Tensor]:
        """The outputs that an operation has."""
        found: list[Tensor] = operation.outputs
        if not self._outputs or operation.op not in _WITH_BODIES:
            return found
        for body in operation.bodies():
            if body in self._outputs:
                return found[: len(found) - len(body.outputs) + len(self._outputs[body])]
        return found

    def operations(self, body: Graph) -> list[Operation]:
        """The operations of a body that count, in order of creation."""
        return self._of(body)[0]

    def captures(self, body: Graph) -> list[Tensor]:
        """The values from outside that those operations and the body's outputs read."""
        return self._of(body)[1]

    def _of(self, body: Graph) -> tuple[list[Operation], list[Tensor]]:
        if body not in self._known:
            self._known[body] = self._find(body)
        return self._known[body]

    def _find(self, body: Graph) -> tuple[list[Operation], list[Tensor]]:
        found: set[Operation] = set()
        outputs = [self.in_place_of(tensor) for tensor in self.outputs(body)]
        captures = dict.fromkeys(t for t in outputs if t.graph is not body)
        pending = [t.op for t in outputs if t.graph is body] + body.targets
        while pending:
            operation = pending.pop()
            if operation in found:
                continue
            found.add(operation)
            pending.extend(operation.awaited)
            for tensor in self.sources(operation):
                if tensor.graph is body:
                    pending.append(tensor.op)
                else:
                    captures.setdefault(tensor)
        return [op for op in body.operations if op in found], list(captures)


class NodeWriter:
    """Writes nodes and gathers the arrays that are too large to be inline.

    Args:
        inline_below: bytes of an array from which on it is gathered.

    Attributes:
        arrays: those gathered, each once.
        written: the operations written, those of bodies too.
        given: operations that no node waits for, because their values are fed.
    """

    def __init__(self, inline_below: int = INLINE_BELOW) -> None:
        self.inline_below = inline_below
        self.arrays: list[Array] = []
        self.written: list[Operation] = []
        self.given: set[Operation] = set()
        self._live = Liveness()
        #: tensors that are read in the place of others: everywhere, and by one operation
        self._fed: Mapping[Tensor, Tensor] = {}
        self._renamed: Mapping[Tensor, Tensor] = {}
        self._of_operation: Mapping[Operation, Mapping[Tensor, Tensor]] = {}
        self._known: dict[tuple[Any, ...], int] = {}
        #: pieces that many nodes share, by what they depend on
        self._forms: dict[tuple[Any, ...], Form] = {}
        self._types: dict[tuple[DType, object], ValueType] = {}
        self._attributes: dict[tuple[Any, ...], bytes] = {}

    def rename(
        self,
        fed: Mapping[Tensor, Tensor],
        of_operation: Mapping[Operation, Mapping[Tensor, Tensor]],
        outputs: Mapping[Graph, list[Tensor]] | None = None,
    ) -> None:
        """Has tensors read in the place of others.

        Args:
            fed: everywhere.
            of_operation: by an operation of the root graph and its bodies.
            outputs: what bodies give in the place of their outputs.
        """
        self._live = Liveness(fed, outputs)
        self._fed = self._renamed = fed
        self._of_operation = of_operation

    def nodes(self, message: model_pb2.Graph, operations: Iterable[Operation]) -> None:
        """Adds operations to a graph."""
        nodes.fill_graph(message, PlainGraph(), map(self.plain_node, operations))

    def node(self, message: model_pb2.Node, operation: Operation) -> None:
        """Fills a node."""
        nodes.fill_node(message, self.plain_node(operation))

    def plain_node(self, operation: Operation) -> PlainNode:
        """An operation as a node."""
        self.written.append(operation)
        if operation in self._of_operation:
            with self._renaming(operation):
                return self._node(operation)
        return self._node(operation)

    @contextlib.contextmanager
    def _renaming(self, operation: Operation) -> Iterator[None]:
        """Renames what an operation of the root graph reads; operations of bodies keep what the one
        around them has."""
        self._renamed = {**self._fed, **self._of_operation[operation]}
        try:
            yield
        finally:
            self._renamed = self._fed

    def _node(self, operation: Operation) -> PlainNode:
        operands = self._as_read(operation.operands)
        inputs = ["" if tensor is None else value_name(tensor) for tensor in operands]
        controls = [op.name for op in operation.awaited if op not in self.given]
        attr: dict[str, Value] = {}
        bodies: dict[str, Graph] = {}
        attrs = operation.attrs
        for key in sorted(attrs) if len(attrs) > 1 else attrs:
            value = attrs[key]
            if isinstance(value, Graph):
                bodies[key] = value
            elif value is not None:
                attr[key] = self._attribute(operation, key, value)
        for key, body in bodies.items():
            attr[key] = nodes.Bodies([self.body(body)])
        return PlainNode(operation.name, self._form(operation), inputs, controls, attr)

    def _as_read(self, tensors: list[Any]) -> list[Any]:
        """The tensors, or those that are read instead."""
        if not self._renamed:
            return tensors
        return [self._renamed.get(tensor, tensor) for tensor in tensors]

    def _form(self, operation: Operation) -> Form:
        """The part of a node shared by others of its operator that one source line has made."""
        outputs = self._live.outputs_of(operation)
        key = (
            operation.op, operation.domain, operation.version, operation.device,
            operation.tf_type, operation.source,
            *[(t.dtype, t.shape.key) for t in outputs],
        )  # fmt: skip
        found = self._forms.get(key)
        if found is None:
            types = [self.value_type(t.dtype, t.shape) for t in outputs]
            tf_type = operation.tf_type if operation.tf_type != operation.op else ""
            source = nodes.source_bytes(*operation.source[:3])
            found = self._forms[key] = Form(
                operation.op, operation.domain, operation.version, types, operation.device,
                tf_type or "", source,
            )  # fmt: skip
        return found

    def value_type(self, dtype: DType, shape: TensorShape) -> ValueType:
        """The type of a value; of what holds tensors, shape is that of each."""
        found = self._types.get((dtype, shape.key))
        if found is None:
            message = model_pb2.Type()
            set_type(message, dtype, shape)
            found = nodes.type_of_bytes(message.SerializeToString())
            self._types[dtype, shape.key] = found
        return found

    # ---- attributes ----

    def _attribute(self, operation: Operation, key: str, value: Any) -> Value:
        """The value of an attribute, of any kind but graphs."""
        kind = value.__class__
        if kind is str:
            return wire.sized(_TEXT, value.encode())
        if isinstance(value, np.ndarray):
            return self._array(value)
        if kind is DType or kind is int:
            known: tuple[Any, ...] = (kind, value)
        elif kind is tuple and len(value) == 2 and value[0].__class__ is DType:
            known = (value[0], value[1].key)
        else:
            return self._value(operation, key, value)
        found = self._attributes.get(known)
        if found is None:
            found = self._attributes[known] = self._value(operation, key, value)
        return found

    def _array(self, array: Array) -> Value:
        if _LARGE <= array.nbytes < self.inline_below:
            return array
        data = tensors.encode(array)
        if len(data) >= self.inline_below:
            return nodes.stored_value(self.stored(array, data))
        small = len(data) <= _REMEMBERED
        known = (array.dtype, array.shape, bytes(data)) if small else None
        found = None if known is None else self._attributes.get(known)
        if found is None:
            message = model_pb2.AttributeValue()
            tensors.fill(message.t, array, data)
            found = message.SerializeToString()
            if known is not None:
                self._attributes[known] = found
        return found

    def _value(self, operation: Operation, key: str, value: Any) -> bytes:
        message = model_pb2.AttributeValue()
        if isinstance(value, (list, tuple)) and len(value) == 0:
            getattr(message, _list_kind(operation, key)).SetInParent()
        else:
            self.attribute(message, value)
        return message.SerializeToString()

    def attribute(self, message: model_pb2.AttributeValue, value: Any) -> None:
        """Fills the value of an attribute, of any kind but arrays, graphs and empty lists."""
        if isinstance(value, DType):
            message.i = value.number
        elif isinstance(value, (bool, int, np.integer)):
            message.i = int(value)
        elif isinstance(value, float):
            if np.float32(value) == value or value != value:
                message.f = value
            else:
                message.d = value
        elif isinstance(value, (str, bytes)):
            message.s = value.encode() if isinstance(value, str) else value
        elif isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], DType):
            set_type(message.type, *value)
        else:
            self.listed(message, list(value))

    def listed(self, message: model_pb2.AttributeValue, values: list[Any]) -> None:
        """Fills the value of an attribute with a list."""
        if all(isinstance(v, (bool, int, np.integer)) for v in values):
            message.ints.SetInParent()
            message.ints.i.extend(int(v) for v in values)
        elif all(isinstance(v, (str, bytes)) for v in values):
            message.strings.s.extend(v.encode() if isinstance(v, str) else v for v in values)
        else:
            message.floats.f.extend(float(v) for v in values)

    def stored(self, array: Array, data: bytes | memoryview) -> int:
        """The index of an array in the data section; equal ones are kept once."""
        key = (array.dtype.str, array.shape, hashlib.sha256(data).digest())
        if key not in self._known:
            self._known[key] = len(self.arrays)
            self.arrays.append(array)
        return self._known[key]

    def body(self, graph: Graph) -> PlainGraph:
        """A body as a subgraph."""
        made = PlainGraph(map(self.plain_node, self._live.operations(graph)))
        made.input = [(t.op.name, self.value_type(t.dtype, t.shape)) for t in graph.inputs]
        made.output = [value_name(t) for t in self._as_read(self._live.outputs(graph))]
        captures = self._as_read(self._live.captures(graph))
        made.capture = sorted(map(value_name, dict.fromkeys(captures)))
        made.target = [op.name for op in graph.targets]
        return made


def _list_kind(operation: Operation, key: str) -> str:
    """The kind of elements of a list attribute that is empty."""
    row = operators.find(operation.domain, operation.op, operation.version)
    spec = None if row is None else row.attributes.get(key)
    return spec.kind if spec is not None and spec.kind in ("floats", "strings") else "ints"


def set_type(message: model_pb2.Type, dtype: DType, shape: TensorShape) -> None:
    """Fills a type; of what holds tensors, shape is that of each."""
    kind = dtypes.as_dtype(dtype)
    while kind.inside is not None:
        message = message.sequence if kind.kind == "sequence" else message.optional
        kind = kind.inside
    message.tensor.dtype = kind.number  # type: ignore[assignment]
    if shape.ndims is not None:
        set_shape(message.tensor.shape, shape)


def set_shape(message: model_pb2.Shape, shape: TensorShape) -> None:
    """Fills a shape of known rank."""
    message.SetInParent()
    for size, symbol in zip(shape.as_list(), shape.symbols, strict=True):
        dimension = message.dim.add()
        if size is not None:
            dimension.size = size
        elif symbol:
            dimension.symbol = symbol
