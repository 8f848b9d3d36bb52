"""SignatureDef and TensorInfo: a Signature message as readers of TensorFlow's expect it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, ClassVar

from graphio.framework import dtypes
from graphio.framework.graph import Tensor
from graphio.framework.sparse_tensor import SparseTensor
from graphio.model.node_writer import set_shape, set_type, value_name
from graphio.model.static_types import static_type
from graphio.protos.node_def import TensorShapeProto, View, message_of
from graphio.schema import model_pb2

__all__ = ["CooSparse", "KeyedMap", "SignatureDef", "TensorInfo"]


class KeyedMap(MutableMapping[str, Any]):
    """Messages that have a key, as a map: a key that is not there is added at its first use.

    Args:
        messages: the repeated field.
        key: the field that is the key.
        view: from a message to what the map gives.
        is_sorted: True keeps the messages sorted by their keys.
    """

    def __init__(
        self, messages: Any, key: str, view: Callable[[Any], Any], is_sorted: bool = False
    ) -> None:
        self._messages, self._key, self._view, self._sorted = messages, key, view, is_sorted

    def _find(self, key: str) -> Any:
        return next((m for m in self._messages if getattr(m, self._key) == key), None)

    def __getitem__(self, key: str) -> Any:
        found = self._find(key)
        if found is None:
            self._messages.add(**{self._key: key})
            if self._sorted:
                self._messages.sort(key=lambda m: getattr(m, self._key))
            found = self._find(key)
        return self._view(found)

    def get(self, key: str, default: Any = None) -> Any:
        """The message of the key, or default: none is added."""
        return self[key] if key in self else default

    def __setitem__(self, key: str, value: Any) -> None:
        raise ValueError(f"write map[{key!r}].CopyFrom(value)")

    def __delitem__(self, key: str) -> None:
        found = self._find(key)
        if found is None:
            raise KeyError(key)
        self._messages.remove(found)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._find(key) is not None

    def __iter__(self) -> Iterator[str]:
        return iter([getattr(m, self._key) for m in self._messages])

    def __len__(self) -> int:
        return len(self._messages)

    def __repr__(self) -> str:
        return repr(dict(self))


class _KeyedView(View):
    """A view whose message has a key, which a copy of another leaves as it is."""

    _KEY = "key"

    def CopyFrom(self, other: Any) -> None:
        """Becomes a copy of another, under its own key."""
        key = getattr(self._message, self._KEY)
        super().CopyFrom(other)
        setattr(self._message, self._KEY, key)

    def __eq__(self, other: object) -> bool:
        mine, theirs = type(self._message)(), type(self._message)()
        for copy, original in ((mine, self._message), (theirs, message_of(other))):
            if not isinstance(original, type(self._message)):
                return False
            copy.CopyFrom(original)
            copy.ClearField(self._KEY)
        return bool(mine == theirs)

    __hash__ = None


class CooSparse(View):
    """A sparse tensor of a TensorInfo, by the names of its parts: a view of a Sparse message.

    Attributes:
        values_tensor_name, indices_tensor_name, dense_shape_tensor_name: "x/values:0".
    """

    _FIELDS: ClassVar[dict[str, str]] = {
        "values_tensor_name": "values",
        "indices_tensor_name": "indices",
        "dense_shape_tensor_name": "dense_shape",
    }

    def __init__(self, message: model_pb2.Signature.Sparse) -> None:
        self._message = message

    def __getattr__(self, name: str) -> Any:
        return super().__getattr__(self._FIELDS.get(name, name))

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(self._FIELDS.get(name, name), value)


class TensorInfo(_KeyedView):
    """A tensor of a signature: a view of a Binding message.

    Args:
        name: "x:0".
        dtype: TensorFlow's number of the element type.
        tensor_shape: the static shape.

    A sparse tensor has no name; coo_sparse has those of its parts.
    """

    def __init__(
        self, name: str = "", dtype: int = 0, tensor_shape: TensorShapeProto | None = None
    ) -> None:
        self._message = model_pb2.Signature.Binding(value=name.removesuffix(":0"))
        if dtype:
            self._message.type.tensor.dtype = dtypes.as_dtype(dtype).number
        if tensor_shape is not None:
            self._set_shape(tensor_shape)

    @classmethod
    def of(cls, message: model_pb2.Signature.Binding) -> TensorInfo:
        """The view of a message."""
        made = cls()
        made._message = message
        return made

    @classmethod
    def of_tensor(cls, tensor: Tensor) -> TensorInfo:
        """The description of a tensor."""
        made = cls()
        made._message.value = value_name(tensor)
        set_type(made._message.type, tensor.dtype, tensor.shape)
        return made

    @classmethod
    def of_sparse(cls, sparse: SparseTensor) -> TensorInfo:
        """The description of a sparse tensor."""
        made = cls()
        set_type(made._message.type, sparse.dtype, sparse.shape)
        part = made._message.sparse
        part.values, part.indices = sparse.values.name, sparse.indices.name
        part.dense_shape = sparse.dense_shape.name
        return made

    @property
    def coo_sparse(self) -> CooSparse:
        """The names of a sparse tensor's parts."""
        return CooSparse(self._message.sparse)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "name":
            self._message.value = value.removesuffix(":0")
        elif name == "dtype":
            self._message.type.tensor.dtype = dtypes.as_dtype(value).number
        else:
            super().__setattr__(name, value)

    def _set_shape(self, shape: TensorShapeProto) -> None:
        self._message.type.tensor.ClearField("shape")
        known = shape.shape()
        if known.ndims is not None:
            set_shape(self._message.type.tensor.shape, known)

    @property
    def name(self) -> str:
        """The tensor's name, "x:0"."""
        value = self._message.value
        return value if ":" in value or not value else f"{value}:0"

    @property
    def dtype(self) -> int:
        """TensorFlow's number of the element type."""
        number = self._message.type.tensor.dtype
        return dtypes.of_number(number).as_datatype_enum if number else 0

    @property
    def tensor_shape(self) -> TensorShapeProto:
        """The static shape; sizes that are not known are -1."""
        return TensorShapeProto.of(static_type(self._message.type)[1])

    def WhichOneof(self, oneof: str = "encoding") -> str | None:
        """The form of the tensor: by its name, or, a sparse one, by those of its parts."""
        if self._message.HasField("sparse"):
            return "coo_sparse"
        return "name" if self._message.value else None

    def ClearField(self, field_name: str) -> None:
        """Forgets a field."""
        if field_name == "name":
            self._message.ClearField("value")
        elif field_name == "coo_sparse":
            self._message.ClearField("sparse")
        elif field_name in ("dtype", "tensor_shape"):
            self._message.type.tensor.ClearField(field_name.removeprefix("tensor_"))
        else:
            self._message.ClearField(field_name)

    def HasField(self, field: str) -> bool:
        """Whether a field is set."""
        if field in ("dtype", "tensor_shape"):
            return bool(self._message.HasField("type"))
        if field == "coo_sparse":
            return bool(self._message.HasField("sparse"))
        return field == "name" and bool(self._message.value)


class SignatureDef(_KeyedView):
    """A way to run a graph: a view of a Signature message.

    Args:
        inputs, outputs: TensorInfo by key.
        method_name: such as "tensorflow/serving/predict".
    """

    _KEY = "name"

    def __init__(
        self,
        inputs: Mapping[str, TensorInfo] | None = None,
        outputs: Mapping[str, TensorInfo] | None = None,
        method_name: str = "",
    ) -> None:
        self._message = model_pb2.Signature(method=method_name)
        for given, made in ((inputs, self.inputs), (outputs, self.outputs)):
            for key, info in (given or {}).items():
                made[key].CopyFrom(info)

    @classmethod
    def of(cls, message: model_pb2.Signature) -> SignatureDef:
        """The view of a message."""
        made = cls()
        made._message = message
        return made

    @property
    def inputs(self) -> KeyedMap:
        """TensorInfo of what is fed, by key."""
        return KeyedMap(self._message.input, "key", TensorInfo.of)

    @property
    def outputs(self) -> KeyedMap:
        """TensorInfo of what is fetched, by key."""
        return KeyedMap(self._message.output, "key", TensorInfo.of)

    @property
    def method_name(self) -> str:
        """The kind of signature."""
        return str(self._message.method)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__("method" if name == "method_name" else name, value)
