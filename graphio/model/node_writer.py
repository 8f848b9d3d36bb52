"""From operations to the bytes of Node messages, with the arrays that are too large for them."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from graphio.framework import dtypes
from graphio.framework.dtypes import DType
from graphio.framework.graph import Graph, Operation, Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.schema import model_pb2, operators, tensors, wire

__all__ = ["INLINE_BELOW", "Liveness", "NodeWriter", "set_shape", "set_type", "value_name"]

Array = np.ndarray[Any, Any]
INLINE_BELOW = 1024  # bytes; larger constants are in the data section
_REMEMBERED = 64  # bytes: constants as small as that are looked up
_LARGE = 4096  # bytes: constants as large as that are written into the message of their node
_AT_ONCE = 4096  # nodes that are parsed together

_NODE = wire.tag(model_pb2.Graph, "node")
_NAME, _INPUT, _CONTROL, _ATTR = (
    wire.tag(model_pb2.Node, name) for name in ("name", "input", "control_input", "attr")
)
_KEY, _VALUE = (wire.tag(model_pb2.Attribute, name) for name in ("key", "value"))
_TEXT = wire.tag(model_pb2.AttributeValue, "s")
_WITH_BODIES = frozenset({"If", "Loop"})
#: attributes whose values are written when their node is a message
_Late: TypeAlias = "dict[str, Array | Graph]"


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
        self._forms: dict[tuple[Any, ...], bytes] = {}
        self._attributes: dict[tuple[Any, ...], bytes] = {}
        self._keys: dict[str, bytes] = {}

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
        waiting: list[bytes] = []
        for operation in operations:
            late: _Late = {}
            waiting.append(wire.sized(_NODE, self._bytes(operation, late)))
            if late or len(waiting) == _AT_ONCE:
                message.MergeFromString(b"".join(waiting))
                waiting.clear()
            if late:
                self._fill(message.node[-1], operation, late)
        message.MergeFromString(b"".join(waiting))

    def node(self, message: model_pb2.Node, operation: Operation) -> None:
        """Fills a node."""
        late: _Late = {}
        message.MergeFromString(self._bytes(operation, late))
        self._fill(message, operation, late)

    def _fill(self, node: model_pb2.Node, operation: Operation, late: _Late) -> None:
        """Gives a node the attributes that are too large to be copied: a parser takes 2 GB at most,
        and what is in a body would be copied for each body around it."""
        for attribute in node.attr:
            value = late.get(attribute.key)
            if isinstance(value, Graph):
                attribute.value.g.SetInParent()
                with self._renaming(operation):
                    self.body(attribute.value.g, value)
            elif value is not None:
                tensors.fill(attribute.value.t, value, tensors.encode(value))

    def _bytes(self, operation: Operation, late: _Late) -> bytes:
        """A Node without the values of the attributes that are added to `late`."""
        self.written.append(operation)
        if operation in self._of_operation:
            with self._renaming(operation):
                return self._node(operation, late)
        return self._node(operation, late)

    @contextlib.contextmanager
    def _renaming(self, operation: Operation) -> Iterator[None]:
        """Renames what an operation of the root graph reads; operations of bodies keep what the one
        around them has."""
        of_this = self._of_operation.get(operation)
        if of_this is None:
            yield
            return
        self._renamed = {**self._fed, **of_this}
        try:
            yield
        finally:
            self._renamed = self._fed

    def _node(self, operation: Operation, late: _Late) -> bytes:
        sized = wire.sized
        parts = [sized(_NAME, operation.name.encode()), self._form(operation)]
        for tensor in self._as_read(operation.operands):
            parts.append(sized(_INPUT, b"" if tensor is None else value_name(tensor).encode()))
        for control in operation.awaited:
            if control in self.given:
                continue
            parts.append(sized(_CONTROL, control.name.encode()))
        attrs = operation.attrs
        for key in sorted(attrs) if len(attrs) > 1 else attrs:
            value = attrs[key]
            if value is None:
                continue
            if isinstance(value, Graph) or (
                isinstance(value, np.ndarray) and _LARGE <= value.nbytes < self.inline_below
            ):
                late[key] = value
                parts.append(self._of_value(key, b""))
            else:
                parts.append(self._attribute(operation, key, value))
        return b"".join(parts)

    def _as_read(self, tensors: list[Any]) -> list[Any]:
        """The tensors, or those that are read instead."""
        if not self._renamed:
            return tensors
        return [self._renamed.get(tensor, tensor) for tensor in tensors]

    def _form(self, operation: Operation) -> bytes:
        """The part of a node shared by others of its operator that one source line has made."""
        outputs = self._live.outputs_of(operation)
        key = (
            operation.op, operation.domain, operation.version, operation.device,
            operation.tf_type, operation.source,
            *[(t.dtype, t.shape.key) for t in outputs],
        )  # fmt: skip
        found = self._forms.get(key)
        if found is None:
            message = self._form_message(operation, outputs)
            found = self._forms[key] = message.SerializeToString()
        return found

    def _form_message(self, operation: Operation, outputs: list[Tensor]) -> model_pb2.Node:
        node = model_pb2.Node(op=operation.op, version=operation.version)
        node.domain, node.device = operation.domain, operation.device
        for tensor in outputs:
            set_type(node.output_type.add(), tensor.dtype, tensor.shape)
        if operation.source.file:
            node.source.file, node.source.line, node.source.function = operation.source
        if operation.tf_type and operation.tf_type != operation.op:
            node.tf_type = operation.tf_type
        return node

    # ---- attributes ----

    def _attribute(self, operation: Operation, key: str, value: Any) -> bytes:
        """An attribute as a field of a Node."""
        kind = value.__class__
        if kind is str:
            return self._of_value(key, wire.sized(_TEXT, value.encode()))
        if isinstance(value, np.ndarray):
            return self._array(key, value)
        if kind is DType or kind is int:
            known: tuple[Any, ...] = (key, kind, value)
        elif kind is tuple and len(value) == 2 and value[0].__class__ is DType:
            known = (key, value[0], value[1].key)
        else:
            return self._of_value(key, self._value(operation, key, value))
        found = self._attributes.get(known)
        if found is None:
            found = self._of_value(key, self._value(operation, key, value))
            self._attributes[known] = found
        return found

    def _of_value(self, key: str, value: bytes) -> bytes:
        """The field of an attribute whose value has these bytes."""
        named = self._keys.get(key)
        if named is None:
            named = self._keys[key] = wire.sized(_KEY, key.encode())
        return wire.sized(_ATTR, named + wire.sized(_VALUE, value))

    def _array(self, key: str, array: Array) -> bytes:
        data = tensors.encode(array)
        message = model_pb2.AttributeValue()
        if len(data) >= self.inline_below:
            message.tensor = self.stored(array, data)
            return self._of_value(key, message.SerializeToString())
        small = len(data) <= _REMEMBERED
        known = (key, array.dtype, array.shape, bytes(data)) if small else None
        found = None if known is None else self._attributes.get(known)
        if found is None:
            tensors.fill(message.t, array, data)
            found = self._of_value(key, message.SerializeToString())
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

    def body(self, message: model_pb2.Graph, graph: Graph) -> None:
        """Fills a subgraph."""
        self.nodes(message, self._live.operations(graph))
        for tensor in graph.inputs:
            argument = message.input.add(name=tensor.op.name)
            set_type(argument.type, tensor.dtype, tensor.shape)
        message.output.extend(value_name(t) for t in self._as_read(self._live.outputs(graph)))
        captures = self._as_read(self._live.captures(graph))
        message.capture.extend(sorted(map(value_name, dict.fromkeys(captures))))
        message.target.extend(op.name for op in graph.targets)


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
