"""Nodes as plain objects, for code that makes, reads or changes many of them.

A field of a message costs several times as much to read as an attribute of an object, so that a
run's model is made, rewritten and written without messages of nodes. Types and attributes stay the
bytes of their messages, which nodes share; they are decoded where their meaning is needed, and
equal bytes once.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from graphio.schema import tensors, wire
from graphio.schema.model_pb2 import Argument, Attribute, AttributeValue, Graph, Node, Source, Type

__all__ = [
    "Bodies",
    "Form",
    "PlainGraph",
    "PlainNode",
    "Value",
    "ValueType",
    "decoded",
    "encoded_floats",
    "encoded_graph",
    "encoded_ints",
    "encoded_strings",
    "encoded_value",
    "fill_graph",
    "fill_node",
    "from_message",
    "is_stored",
    "stored_index",
    "stored_value",
    "type_of_bytes",
]

Array = np.ndarray[Any, Any]
_AT_ONCE = 4096  # nodes that are parsed together
_REMEMBERED = 256  # bytes: values of attributes as small as that are decoded once
_USUAL = 24  # bytes: values of attributes as small as that are encoded with their key once
_KEPT = 4096  # types, values and fields that are remembered

_NAME, _OP, _INPUT, _DEVICE, _ATTR, _DOMAIN, _CONTROL, _OUTPUT_TYPE, _SOURCE, _TF_TYPE = (
    wire.tag(Node, name)
    for name in ("name", "op", "input", "device", "attr", "domain", "control_input", "output_type")
    + ("source", "tf_type")
)
_VERSION = wire.number_tag(Node, "version")
_KEY, _VALUE = wire.tag(Attribute, "key"), wire.tag(Attribute, "value")
_STORED = wire.number_tag(AttributeValue, "tensor")
_BODY, _BODIES = wire.tag(AttributeValue, "g"), wire.tag(AttributeValue, "graphs")
_IN_BODIES = wire.tag(AttributeValue.GraphList, "g")
_STRINGS = wire.tag(AttributeValue, "strings")
_IN_STRINGS = wire.tag(AttributeValue.StringList, "s")
_NODE = wire.tag(Graph, "node")
_GRAPH_NAME, _ARGUMENT, _OUTPUT, _CAPTURE, _TARGET = (
    wire.tag(Graph, name) for name in ("name", "input", "output", "capture", "target")
)
_ARGUMENT_NAME, _ARGUMENT_TYPE = wire.tag(Argument, "name"), wire.tag(Argument, "type")
_LISTS = {"ints": "i", "floats": "f", "strings": "s"}


class ValueType:
    """The static type of a value.

    Attributes:
        data: the bytes of its Type message.
        dtype: the element type of a tensor, 0 of anything else.
        shape: a size, a symbol or None for each dimension; None: the rank is not known.
        fixed: whether all sizes are known.
        symbolic: whether one is a symbol.
    """

    __slots__ = ("data", "dtype", "fixed", "shape", "symbolic")

    def __init__(self, data: bytes, dtype: int, shape: tuple[Any, ...] | None) -> None:
        self.data, self.dtype, self.shape = data, dtype, shape
        self.fixed = shape is not None and all(isinstance(size, int) for size in shape)
        self.symbolic = any(isinstance(size, str) for size in shape or ())

    def message(self) -> Type:
        """The type as a message."""
        return Type.FromString(self.data)


@functools.lru_cache(_KEPT)
def type_of_bytes(data: bytes) -> ValueType:
    """The type that the bytes of a Type message say."""
    message = Type.FromString(data)
    dtype, shape = 0, None
    if message.HasField("tensor"):
        dtype = int(message.tensor.dtype)
        if message.tensor.HasField("shape"):
            shape = tuple(map(_size, message.tensor.shape.dim))
    return ValueType(data, dtype, shape)


def _size(dimension: Any) -> Any:
    kind = dimension.WhichOneof("value")
    return None if kind is None else getattr(dimension, kind)


@functools.lru_cache(_KEPT)
def tensor_type(dtype: int, shape: tuple[Any, ...] | None) -> ValueType:
    """The type of a tensor; shape as ValueType has it."""
    message = Type()
    message.tensor.dtype = dtype  # type: ignore[assignment]
    if shape is not None:
        message.tensor.shape.SetInParent()
        for size in shape:
            dimension = message.tensor.shape.dim.add()
            if isinstance(size, str):
                dimension.symbol = size
            elif size is not None:
                dimension.size = size
    return ValueType(message.SerializeToString(), dtype, shape)


class Form:
    """The part of a node that others of its operator share.

    Attributes:
        op, domain, version, device, tf_type: as in the message.
        source: the bytes of its Source, empty if it is not known.
        types: of the outputs.
    """

    __slots__ = ("_data", "device", "domain", "op", "source", "tf_type", "types", "version")

    def __init__(
        self,
        op: str,
        domain: str = "",
        version: int = 1,
        types: Sequence[ValueType] = (),
        device: str = "",
        tf_type: str = "",
        source: bytes = b"",
    ) -> None:
        self.op, self.domain, self.version, self.types = op, domain, version, tuple(types)
        self.device, self.tf_type, self.source = device, tf_type, source
        self._data: bytes | None = None

    def like(
        self, op: str, domain: str, version: int, types: Sequence[ValueType] | None = None
    ) -> Form:
        """The form of a node of another operator in the place of this one."""
        chosen = self.types if types is None else types
        tf_type = self.tf_type or self.op
        return Form(op, domain, version, chosen, self.device, tf_type, self.source)

    def giving(self, types: Sequence[ValueType]) -> Form:
        """The form with other types of outputs."""
        return Form(
            self.op, self.domain, self.version, types, self.device, self.tf_type, self.source
        )

    @property
    def data(self) -> bytes:
        """The fields of a Node that say this."""
        if self._data is None:
            strings = ((_OP, self.op), (_DOMAIN, self.domain), (_DEVICE, self.device))
            parts = [wire.sized(tag, text.encode()) for tag, text in strings if text]
            if self.version:
                parts.append(_VERSION + wire.varint(self.version))
            parts += [wire.sized(_OUTPUT_TYPE, kind.data) for kind in self.types]
            if self.source:
                parts.append(wire.sized(_SOURCE, self.source))
            if self.tf_type:
                parts.append(wire.sized(_TF_TYPE, self.tf_type.encode()))
            self._data = b"".join(parts)
        return self._data


class Bodies(list["PlainGraph"]):
    """The graphs that an attribute holds.

    Attributes:
        listed: whether the attribute is a list of graphs; False: it is one graph.
    """

    __slots__ = ("listed",)

    def __init__(self, graphs: Iterable[PlainGraph], listed: bool = False) -> None:
        super().__init__(graphs)
        self.listed = listed


#: the value of an attribute: the bytes of an AttributeValue, an array that is too large to be
#: copied, or graphs
Value: TypeAlias = "bytes | Array | Bodies"


class PlainNode:
    """A node.

    Attributes:
        name, op, domain, input, control_input: as in the message.
        form: what it shares with others; it says op and domain, too.
        attr: values by key.
    """

    __slots__ = ("attr", "control_input", "domain", "form", "input", "name", "op")

    def __init__(
        self,
        name: str,
        form: Form,
        input: Iterable[str] = (),
        control_input: Iterable[str] = (),
        attr: Mapping[str, Value] | None = None,
    ) -> None:
        self.name, self.form, self.op, self.domain = name, form, form.op, form.domain
        self.input, self.control_input = list(input), list(control_input)
        self.attr: dict[str, Value] = {} if attr is None else dict(attr)

    @property
    def version(self) -> int:
        """The operator's version."""
        return self.form.version

    def values(self) -> list[str]:
        """The names of its outputs."""
        if len(self.form.types) == 1:
            return [self.name]
        indices = range(len(self.form.types))
        return [f"{self.name}:{k}" if k else self.name for k in indices]

    def bodies(self) -> list[PlainGraph]:
        """The graphs among its attributes, in order."""
        return [body for value in self.attr.values() if isinstance(value, Bodies) for body in value]


class PlainGraph:
    """A graph, or a body with its formal inputs and its outputs; fields as in the message."""

    __slots__ = ("capture", "input", "name", "nodes", "output", "target")

    def __init__(self, nodes: Iterable[PlainNode] = ()) -> None:
        self.name = ""
        self.nodes = list(nodes)
        self.input: list[tuple[str, ValueType]] = []
        self.output: list[str] = []
        self.capture: list[str] = []
        self.target: list[str] = []

    def all(self) -> Iterator[PlainGraph]:
        """The graph and everything inside it."""
        waiting = [self]
        while waiting:
            current = waiting.pop()
            yield current
            for node in current.nodes:
                for value in node.attr.values():
                    if value.__class__ is Bodies:
                        waiting.extend(value)


# ---- values of attributes ----


@functools.lru_cache(_KEPT, typed=True)
def encoded_value(value: float | str) -> bytes:
    """The bytes of an attribute: of an int, float32 or string."""
    message = AttributeValue()
    if isinstance(value, str):
        message.s = value.encode()
    elif isinstance(value, float):
        message.f = value
    else:
        message.i = value
    return message.SerializeToString()


@functools.lru_cache(_KEPT)
def encoded_ints(values: tuple[int, ...]) -> bytes:
    """The bytes of an attribute that is a list of ints."""
    return AttributeValue(ints=AttributeValue.IntList(i=values)).SerializeToString()


def encoded_floats(values: Iterable[float]) -> bytes:
    """The bytes of an attribute that is a list of floats."""
    return AttributeValue(floats=AttributeValue.FloatList(f=values)).SerializeToString()


def encoded_strings(values: Iterable[str]) -> bytes:
    """The bytes of an attribute that is a list of strings."""
    return wire.sized(_STRINGS, b"".join([wire.sized(_IN_STRINGS, v.encode()) for v in values]))


def decoded(value: Value) -> Any:
    """The Python value of an attribute that is a number, a string or a list, which is a tuple; None
    of another one. Strings that are not text have replacement characters."""
    if not isinstance(value, bytes):
        return None
    return _decoded_once(value) if len(value) <= _REMEMBERED else _decoded(value)


def _decoded(data: bytes) -> Any:
    message = AttributeValue.FromString(data)
    kind = str(message.WhichOneof("value"))
    if kind == "s":
        return message.s.decode("utf-8", "replace")
    if kind in ("i", "f", "d"):
        return getattr(message, kind)
    if kind in _LISTS:
        return tuple(getattr(getattr(message, kind), _LISTS[kind]))
    return None


_decoded_once = functools.lru_cache(_KEPT)(_decoded)


def array_of(value: Value) -> Array | None:
    """The numbers of an attribute that has them inline, None of another one."""
    if not isinstance(value, bytes):
        return value if isinstance(value, np.ndarray) else None
    message = AttributeValue.FromString(value)
    return tensors.to_array(message.t) if message.HasField("t") else None


def inline_value(array: Array) -> bytes:
    """The value of an attribute that has an array inline."""
    return AttributeValue(t=tensors.from_array(array)).SerializeToString()


def stored_value(index: int) -> bytes:
    """The value of an attribute that refers to an array of the data section."""
    return _STORED + wire.varint(index)


def is_stored(value: Value) -> TypeGuard[bytes]:
    """Whether an attribute refers to an array of the data section."""
    return isinstance(value, bytes) and value[:1] == _STORED


def stored_index(value: bytes) -> int:
    """The array that an attribute refers to."""
    return AttributeValue.FromString(value).tensor


# ---- to bytes and messages ----


def encoded_graph(graph: PlainGraph) -> bytes:
    """The bytes of a Graph message."""
    parts = [wire.sized(_NODE, _encoded(node)) for node in graph.nodes]
    return b"".join([*parts, _outside(graph)])


def _outside(graph: PlainGraph) -> bytes:
    """All fields of a Graph but its nodes."""
    sized = wire.sized
    parts = [sized(_GRAPH_NAME, graph.name.encode())] if graph.name else []
    for name, kind in graph.input:
        named = sized(_ARGUMENT_NAME, name.encode())
        parts.append(sized(_ARGUMENT, named + sized(_ARGUMENT_TYPE, kind.data)))
    lists = ((_OUTPUT, graph.output), (_CAPTURE, graph.capture), (_TARGET, graph.target))
    parts += [sized(tag, text.encode()) for tag, strings in lists for text in strings]
    return b"".join(parts)


def _encoded(node: PlainNode) -> bytes:
    """The bytes of a Node message."""
    sized = wire.sized
    parts = [sized(_NAME, node.name.encode()), node.form.data]
    parts += [sized(_INPUT, value.encode()) for value in node.input]
    parts += [sized(_CONTROL, name.encode()) for name in node.control_input]
    attr = node.attr
    for key in sorted(attr) if len(attr) > 1 else attr:
        value = attr[key]
        if not isinstance(value, bytes):
            value = _encoded_large(value)
        parts.append(_known_field(key, value) if len(value) <= _USUAL else _field(key, value))
    return b"".join(parts)


def _field(key: str, value: bytes) -> bytes:
    """An attribute as a field of a Node."""
    return wire.sized(_ATTR, wire.sized(_KEY, key.encode()) + wire.sized(_VALUE, value))


_known_field = functools.lru_cache(_KEPT)(_field)


def _encoded_large(value: Array | Bodies) -> bytes:
    if not isinstance(value, Bodies):
        return inline_value(value)
    if not value.listed:
        return wire.sized(_BODY, encoded_graph(value[0]))
    return wire.sized(_BODIES, b"".join(wire.sized(_IN_BODIES, encoded_graph(g)) for g in value))


def fill_graph(message: Graph, graph: PlainGraph, nodes: Iterable[PlainNode] | None = None) -> None:
    """Adds a graph to a message.

    A parser takes 2 GB at most, and what is in a body would be copied for each body around it:
    large values are written into the message of their node.

    Args:
        nodes: those of the graph, where they are made one after the other.
    """
    waiting: list[bytes] = []
    for node in graph.nodes if nodes is None else nodes:
        large = {k: v for k, v in node.attr.items() if not isinstance(v, bytes)}
        waiting.append(wire.sized(_NODE, _encoded(_without(node, large))))
        if large or len(waiting) == _AT_ONCE:
            message.MergeFromString(b"".join(waiting))
            waiting.clear()
        if large:
            _fill_large(message.node[-1], large)
    message.MergeFromString(b"".join([*waiting, _outside(graph)]))


def fill_node(message: Node, node: PlainNode) -> None:
    """Fills a message."""
    large = {k: v for k, v in node.attr.items() if not isinstance(v, bytes)}
    message.MergeFromString(_encoded(_without(node, large)))
    _fill_large(message, large)


def _without(node: PlainNode, large: Mapping[str, Value]) -> PlainNode:
    """The node with empty attributes in the place of large ones."""
    if not large:
        return node
    attr = {**node.attr, **dict.fromkeys(large, b"")}
    return PlainNode(node.name, node.form, node.input, node.control_input, attr)


def _fill_large(node: Node, large: Mapping[str, Value]) -> None:
    for attribute in node.attr if large else ():
        value = large.get(attribute.key)
        if isinstance(value, Bodies):
            _fill_bodies(attribute.value, value)
        elif isinstance(value, np.ndarray):
            tensors.fill(attribute.value.t, value, tensors.encode(value))


def _fill_bodies(value: AttributeValue, bodies: Bodies) -> None:
    if bodies.listed:
        value.graphs.SetInParent()
    for body in bodies:
        message = value.graphs.g.add() if bodies.listed else value.g
        message.SetInParent()
        fill_graph(message, body)


# ---- from messages ----


def from_message(message: Graph) -> PlainGraph:
    """A graph of a message; the nodes have its types and attributes as bytes."""
    forms: dict[tuple[Any, ...], Form] = {}
    made = PlainGraph(_from_node(node, forms) for node in message.node)
    made.name = message.name
    made.input = [(a.name, type_of_bytes(a.type.SerializeToString())) for a in message.input]
    made.output, made.capture = list(message.output), list(message.capture)
    made.target = list(message.target)
    return made


def _from_node(node: Node, forms: dict[tuple[Any, ...], Form]) -> PlainNode:
    source = node.source.SerializeToString() if node.HasField("source") else b""
    types = tuple(type_of_bytes(kind.SerializeToString()) for kind in node.output_type)
    key = (node.op, node.domain, node.version, types, node.device, node.tf_type, source)
    form = forms.get(key)
    if form is None:
        form = forms[key] = Form(*key)
    attr = {a.key: _from_value(a.value) for a in node.attr}
    return PlainNode(node.name, form, node.input, node.control_input, attr)


def _from_value(value: AttributeValue) -> Value:
    kind = value.WhichOneof("value")
    if kind == "g":
        return Bodies([from_message(value.g)])
    if kind == "graphs":
        return Bodies(map(from_message, value.graphs.g), listed=True)
    return value.SerializeToString()


def source_bytes(file: str, line: int, function: str) -> bytes:
    """The bytes of a Source, empty if the file is not known."""
    if not file:
        return b""
    return Source(file=file, line=line, function=function).SerializeToString()
