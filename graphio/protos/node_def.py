"""NodeDef and AttrValue: a Node message as readers of TensorFlow's GraphDef expect it.

There is one schema, ours (schema/model.proto). These classes are views of its messages: what is
written to a view is written to the message.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes, registered
from graphio.framework.constants import constant
from graphio.framework.graph import Graph
from graphio.framework.graph_state.attachments import COLOCATION_GROUPS
from graphio.framework.operation import TENSORFLOW_ATTRIBUTES
from graphio.framework.tensor_shape import TensorShape
from graphio.model.node_writer import set_type
from graphio.model.static_types import static_type
from graphio.protos.tensorflow_messages import node_message, tensor_message
from graphio.schema import model_pb2, tensors
from graphio.support import api_guard

__all__ = ["AttrValue", "NodeDef", "make_ndarray", "make_tensor_proto"]

Array = np.ndarray[Any, Any]

#: attributes that hold an element type; we store ONNX's number of it
DTYPE_KEYS = frozenset({"dtype", "to", "T", "SrcT", "DstT", "Tidx", "out_type", "output_type"})
#: TensorFlow's types whose attribute T is the element type of the first output
_HAS_T = frozenset(
    "Abs Add AddN AddV2 Assign AssignAdd AssignSub BatchMatMulV2 BiasAdd Ceil ConcatV2 Conv2D Div "
    "Elu Exp "
    "ExpandDims Fill Floor FloorDiv Identity Log MatMul Max MaxPool Maximum Mean Min Minimum Mul "
    "Neg Pack Pad Pow Prod RealDiv Relu Reshape Rsqrt Selu Sigmoid Sign Slice Softmax Sqrt Square "
    "Squeeze StridedSlice Sub Sum Tanh Tile Transpose".split()
)
#: TensorFlow's names of element types whose values are in a field "<name>_val"
_VALUE_FIELDS = {
    "float_val": ("float32",),
    "double_val": ("float64",),
    "int_val": ("int32", "int16", "int8", "uint8", "uint16"),
    "int64_val": ("int64",),
    "bool_val": ("bool",),
    "string_val": ("string",),
    "half_val": ("float16", "bfloat16"),
    "uint32_val": ("uint32",),
    "uint64_val": ("uint64",),
}


class View:
    """A message with another face; what the face lacks is looked up in the message."""

    _message: Any

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_message":
            raise AttributeError(name)
        return getattr(self._message, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            super().__setattr__(name, value)
        else:
            setattr(self._message, name, value)

    def CopyFrom(self, other: Any) -> None:
        """Becomes a copy of another."""
        self._message.CopyFrom(message_of(other))

    def MergeFrom(self, other: Any) -> None:
        """Takes over the fields that are set in another, and appends its lists."""
        self._message.MergeFrom(message_of(other))

    def __eq__(self, other: object) -> bool:
        return bool(self._message == message_of(other))

    __hash__ = None  # type: ignore[assignment]

    def __deepcopy__(self, memo: Any) -> Any:
        made = type(self)()
        made.CopyFrom(self)
        return made

    def __str__(self) -> str:
        return str(self._message)

    def __repr__(self) -> str:
        return str(self._message)


def message_of(value: Any) -> Any:
    """The message of a view; anything else as it is."""
    return value._message if isinstance(value, View) else value


# ---- shapes and tensors ----


class DimensionProto:
    """One dimension of a shape: its size, -1 where it is unknown."""

    def __init__(self, size: int = -1, name: str = "") -> None:
        self.size, self.name = size, name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DimensionProto) and self.size == other.size

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"dim {{ size: {self.size} }}"


class TensorShapeProto:
    """A static shape as messages have it.

    Attributes:
        dim: dimensions, outermost first; size -1 is unknown.
        unknown_rank: True: nothing is known, dim is empty.
    """

    Dim = DimensionProto

    def __init__(self, dim: Iterable[DimensionProto] = (), unknown_rank: bool = False) -> None:
        self.dim = list(dim)
        self.unknown_rank = unknown_rank

    @classmethod
    def of(cls, shape: TensorShape) -> TensorShapeProto:
        """The message of a shape."""
        if shape.ndims is None:
            return cls(unknown_rank=True)
        return cls(DimensionProto(-1 if n is None else n) for n in shape.as_list())

    def shape(self) -> TensorShape:
        """The shape of the message."""
        if self.unknown_rank:
            return TensorShape(None)
        return TensorShape([None if d.size < 0 else d.size for d in self.dim])

    def CopyFrom(self, other: TensorShapeProto) -> None:
        """Becomes a copy of another."""
        self.dim = [DimensionProto(d.size, d.name) for d in other.dim]
        self.unknown_rank = other.unknown_rank

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorShapeProto):
            return False
        return self.unknown_rank == other.unknown_rank and self.dim == other.dim

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "unknown_rank: true" if self.unknown_rank else " ".join(map(repr, self.dim))


class TensorProto(View):
    """A tensor with its numbers, a view of a Tensor message; its bytes are TensorFlow's."""

    def __init__(self, message: model_pb2.Tensor | None = None) -> None:
        self._message = model_pb2.Tensor() if message is None else message

    @property
    def dtype(self) -> int:
        """TensorFlow's number of the element type."""
        return dtypes.of_number(self._message.dtype).as_datatype_enum

    def SerializeToString(self) -> bytes:
        """The bytes of TensorFlow's message, as tf.io.parse_tensor and TensorFlow read them."""
        text: bytes = tensor_message(self._message).SerializeToString(deterministic=True)
        return text

    def ParseFromString(self, serialized: bytes) -> int:
        """Becomes the tensor of such bytes; gives how many there are.

        Raises:
            DecodeError: they are not a message of this kind.
            ValueError: the elements do not fit dtype and shape.
        """
        self._message.CopyFrom(tensors.from_array(registered.array_of_message(serialized)))
        return len(serialized)

    @classmethod
    def FromString(cls, serialized: bytes) -> TensorProto:
        """The tensor of such bytes; raises as ParseFromString."""
        made = cls()
        made.ParseFromString(serialized)
        return made

    @property
    def tensor_shape(self) -> TensorShapeProto:
        """The shape."""
        return TensorShapeProto.of(TensorShape(list(self._message.dims)))

    @property
    def tensor_content(self) -> bytes:
        """The elements as little-endian bytes; empty for one element and for strings."""
        array = tensors.to_array(self._message)
        plain = array.size > 1 and dtypes.of_number(self._message.dtype).name != "string"
        return bytes(self._message.data) if plain else b""

    def __getattr__(self, name: str) -> Any:
        if name in _VALUE_FIELDS:
            kind = dtypes.of_number(self._message.dtype).name
            array = tensors.to_array(self._message)
            shown = kind in _VALUE_FIELDS[name] and (array.size == 1 or kind == "string")
            return array.ravel().tolist() if shown else []
        return super().__getattr__(name)


@api_guard.guarded
def make_tensor_proto(
    values: Any,
    dtype: Any = None,
    shape: Any = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> TensorProto:
    """A tensor message of numbers.

    Args:
        values: array, number, string or nested list.
        dtype: of the tensor; None: as tf.constant chooses.
        shape: of the tensor; None: that of values.
        verify_shape: True refuses values of another shape.
        allow_broadcast: accepted; too few values repeat the last.

    Raises:
        TypeError, ValueError: as tf.constant.
    """
    with Graph().as_default():
        made = constant(values, dtype, shape, verify_shape=verify_shape)
    return TensorProto(tensors.from_array(made.op.attrs["value"]))


@api_guard.guarded
def make_ndarray(tensor: Any) -> Array:
    """The array of a tensor message: of make_tensor_proto, of a summary, or of TensorFlow's.

    Raises:
        TypeError: it is not a message.
        ValueError: its elements do not fit its dtype and shape.
    """
    message = message_of(tensor)
    if isinstance(message, model_pb2.Tensor):
        return np.array(tensors.to_array(message))
    if not hasattr(message, "SerializeToString"):
        raise TypeError(f"make_ndarray takes a TensorProto, got {tensor!r}")
    made: Array = registered.array_of_message(message.SerializeToString())
    return made


# ---- attributes ----


class ListValue:
    """The elements of an attribute that is a list."""

    def __init__(self, **lists: Any) -> None:
        for field in ("s", "i", "f", "b", "type", "shape", "tensor"):
            setattr(self, field, list(lists.get(field, ())))


class AttrValue(View):
    """The value of an attribute: a view of an AttributeValue message.

    Args:
        s, i, f, b, type, shape, tensor: one of them: bytes, int, float, bool, TensorFlow's number
            of an element type, TensorShapeProto, TensorProto.
    """

    def __init__(self, **field: Any) -> None:
        self._message = model_pb2.AttributeValue()
        self._is_type, self._is_flag = "type" in field, False
        for key, value in field.items():
            setattr(self, key, value)

    @classmethod
    def of(cls, message: model_pb2.AttributeValue, key: str) -> AttrValue:
        """The view of an attribute's message."""
        made = cls()
        made._message, made._is_type = message, key in DTYPE_KEYS
        return made

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            super().__setattr__(name, value)
        elif name == "type":
            self._is_type = True
            self._message.i = dtypes.as_dtype(value).number
        elif name in ("i", "b"):
            self._is_flag = name == "b"
            self._message.i = int(value)
        elif name == "f":
            self._message.f = float(value)
        elif name == "s":
            self._message.s = value.encode() if isinstance(value, str) else bytes(value)
        elif name == "tensor":
            self._message.t.CopyFrom(message_of(value))
        elif name == "shape":
            set_type(self._message.type, dtypes.float32, value.shape())
        else:
            raise AttributeError(f"AttrValue has no field {name!r}")

    def WhichOneof(self, oneof: str = "value") -> str | None:
        """The name of the field that is set, in TensorFlow's words."""
        kind = self._message.WhichOneof("value")
        if kind == "i" and (self._is_type or self._is_flag):
            return "type" if self._is_type else "b"
        names = {"d": "f", "t": "tensor", "tensor": "tensor", "type": "shape", "g": "func"}
        return names.get(kind, "list" if kind in _LISTS else kind)

    def HasField(self, name: str) -> bool:
        """Whether that field is set."""
        return self.WhichOneof() in (name, {"b": "i"}.get(name))

    @property
    def type(self) -> int:
        """TensorFlow's number of an element type; 0 where the attribute is none."""
        return dtypes.of_number(self._message.i).as_datatype_enum if self._message.i else 0

    @property
    def b(self) -> bool:
        """The attribute as a bool."""
        return bool(self._message.i)

    @property
    def f(self) -> float:
        """The attribute as a float."""
        kind = self._message.WhichOneof("value")
        return float(self._message.d if kind == "d" else self._message.f)

    @property
    def tensor(self) -> TensorProto:
        """The attribute as a tensor."""
        return TensorProto(self._message.t)

    @property
    def shape(self) -> TensorShapeProto:
        """The attribute as a shape."""
        if self._message.WhichOneof("value") != "type":
            return TensorShapeProto()
        return TensorShapeProto.of(static_type(self._message.type)[1])

    @property
    def list(self) -> ListValue:
        """The attribute as a list."""
        kind = self._message.WhichOneof("value")
        if kind not in _LISTS:
            return ListValue()
        field = _LISTS[kind]
        return ListValue(**{field: getattr(getattr(self._message, kind), field)})


_LISTS = {"ints": "i", "floats": "f", "strings": "s"}


class _Derived:
    """An attribute that TensorFlow has and our node says otherwise: it can be read only."""

    def __init__(self, **fields: Any) -> None:
        self._fields = fields
        empty = AttrValue()
        for field in ("s", "i", "f", "b", "type", "shape", "tensor", "list"):
            setattr(self, field, fields.get(field, getattr(empty, field)))

    def WhichOneof(self, oneof: str = "value") -> str | None:
        """The name of the field that is set."""
        return next(iter(self._fields), None)

    def HasField(self, name: str) -> bool:
        """Whether that field is set."""
        return name in self._fields

    def __repr__(self) -> str:
        return repr(self._fields)


class AttrMap(MutableMapping[str, Any]):
    """A node's attributes by name; a name that is not there is added at its first use."""

    def __init__(self, node: model_pb2.Node, add_shapes: bool) -> None:
        self._node, self._add_shapes = node, add_shapes

    def _derived(self) -> dict[str, Any]:
        node, found = self._node, {}
        types = [static_type(t) for t in node.output_type]
        kind = node.tf_type or node.op
        if types and kind in _HAS_T:
            found["T"] = _Derived(type=types[0][0].as_datatype_enum)
        if types and kind == "Const":
            found["dtype"] = _Derived(type=types[0][0].as_datatype_enum)
        if types and kind == "Cast":
            found["DstT"] = _Derived(type=types[0][0].as_datatype_enum)
        if self._add_shapes:
            shapes = [TensorShapeProto.of(shape) for _, shape in types]
            found["_output_shapes"] = _Derived(list=ListValue(shape=shapes))
        stored = {a.key for a in node.attr}
        return {key: value for key, value in found.items() if key not in stored}

    def __getitem__(self, key: str) -> Any:
        for attribute in self._node.attr:
            if attribute.key == key:
                return AttrValue.of(attribute.value, key)
        derived = self._derived()
        if key in derived:
            return derived[key]
        self._node.attr.add(key=key)
        self._node.attr.sort(key=lambda a: a.key)
        return self[key]

    def get(self, key: str, default: Any = None) -> Any:
        """The attribute, or default: nothing is added."""
        return self[key] if key in self else default

    def __setitem__(self, key: str, value: Any) -> None:
        raise ValueError(f"write node.attr[{key!r}].CopyFrom(value), or a field of it")

    def __delitem__(self, key: str) -> None:
        for i, attribute in enumerate(self._node.attr):
            if attribute.key == key:
                del self._node.attr[i]
                return
        if key not in self._derived():
            raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted([*(a.key for a in self._node.attr), *self._derived()]))

    def __contains__(self, key: object) -> bool:
        return any(a.key == key for a in self._node.attr) or key in self._derived()

    def __len__(self) -> int:
        return len(list(iter(self)))


@registered.attribute_of.register
def attribute_of(operation: Any, name: str) -> Any:
    """An operation's attribute in TensorFlow's form; see Operation.get_attr."""
    node = operation.node_def
    beside = COLOCATION_GROUPS.of(operation.graph)
    if name == "_class" and operation in beside:
        return list(beside[operation])
    given = TENSORFLOW_ATTRIBUTES.of(operation.graph).get(operation, {})
    if name in given:
        return given[name]
    if name not in node.attr:
        raise ValueError(f"Operation '{operation.name}' has no attr named '{name}'.")
    if isinstance(operation.attrs.get(name), (bool, float)):
        return operation.attrs[name]
    value = node.attr[name]
    kind = value.WhichOneof()
    if kind == "func":
        return operation.attrs[name]
    if kind == "list":
        lists = [values for values in vars(value.list).values() if values]
        return lists[0] if lists else []
    return dtypes.as_dtype(value.type) if kind == "type" else getattr(value, kind)


# ---- inputs and nodes ----


class InputList(MutableSequence[str]):
    """A node's inputs, as TensorFlow writes them: its variable, values, "^node" to wait for."""

    def __init__(self, node: model_pb2.Node) -> None:
        self._node = node

    def _positions(self) -> list[tuple[Any, int]]:
        """The list and the position in it of each entry; absent optional inputs have none."""
        node = self._node
        variable = [a.value for a in node.attr if a.key == "variable" and node.op != "Variable"]
        positions: list[tuple[Any, int]] = [(value, -1) for value in variable]
        positions += [(node.input, i) for i, name in enumerate(node.input) if name]
        return positions + [(node.control_input, i) for i in range(len(node.control_input))]

    def _read(self, position: tuple[Any, int]) -> str:
        holder, i = position
        if i < 0:
            return str(holder.s.decode())
        return f"^{holder[i]}" if holder is self._node.control_input else str(holder[i])

    def __len__(self) -> int:
        return len(self._positions())

    def __getitem__(self, index: Any) -> Any:
        return [self._read(position) for position in self._positions()][index]

    def __setitem__(self, index: Any, value: Any) -> None:
        holder, i = self._positions()[index]
        if i < 0:
            holder.s = value.encode()
        elif value.startswith("^") == (holder is self._node.control_input):
            holder[i] = value.removeprefix("^").removesuffix(":0")
        else:
            del self[index]
            self.append(value)

    def __delitem__(self, index: Any) -> None:
        chosen = self._positions()[index]
        for holder, i in reversed(chosen if isinstance(chosen, list) else [chosen]):
            if i < 0:
                raise ValueError(f"'{self._node.name}' cannot lose its variable")
            del holder[i]

    def insert(self, index: int, value: str) -> None:
        """Adds an input: a value after the others, or "^node"."""
        if value.startswith("^"):
            self._node.control_input.append(value[1:])
        else:
            variables = sum(i < 0 for _, i in self._positions())
            self._node.input.insert(max(index - variables, 0), value.removesuffix(":0"))

    def append(self, value: str) -> None:
        """Adds an input at the end."""
        self.insert(len(self), value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        return repr(list(self))


class NodeDef(View):
    """A node: a view of a Node message.

    Args:
        name: of the node.
        op: TensorFlow's type, or the operator.
        input: names of its inputs, "^node" for a control input.
        device: the requested device.
        attr: AttrValue by name.

    Attributes:
        attr: AttrValue by name; those that TensorFlow has besides can be read.
        input: names of its inputs.
    """

    def __init__(
        self,
        name: str = "",
        op: str = "",
        input: Iterable[str] = (),
        device: str = "",
        attr: Any = None,
    ) -> None:
        self._message = model_pb2.Node(name=name, op=op, device=device)
        self._add_shapes = False
        self.input.extend(input)
        for key, value in (attr or {}).items():
            self.attr[key].CopyFrom(value)

    @classmethod
    def of(cls, message: model_pb2.Node, add_shapes: bool = False) -> NodeDef:
        """The view of a message: the same one as long as a program holds it."""
        known = _views.get(id(message))
        if known is not None and known._message is message and known._add_shapes == add_shapes:
            return known
        made = cls.__new__(cls)
        object.__setattr__(made, "_message", message)
        object.__setattr__(made, "_add_shapes", add_shapes)
        _views[id(message)] = made
        return made

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "op":
            self._message.op, self._message.tf_type, self._message.domain = value, "", ""
            self._message.version = 0
        else:
            super().__setattr__(name, value)

    def __str__(self) -> str:
        """Text of TensorFlow's message; google.protobuf.text_format gives that of ours."""
        return str(node_message(self))

    __repr__ = __str__

    @property
    def op(self) -> str:
        """TensorFlow's type."""
        return str(self._message.tf_type or self._message.op)

    @property
    def input(self) -> InputList:
        """Its inputs."""
        return InputList(self._message)

    @property
    def attr(self) -> AttrMap:
        """Its attributes by name."""
        return AttrMap(self._message, self._add_shapes)


#: views that are in use, by the id of the message that each holds
_views: weakref.WeakValueDictionary[int, NodeDef] = weakref.WeakValueDictionary()


registered.shape_proto.register(TensorShapeProto.of)
