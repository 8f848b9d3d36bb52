"""CollectionDef: the collections of a MetaGraphDef as TensorFlow's messages show them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.any_pb2 import Any as AnyMessage

from graphio.model.model_strings import metadata
from graphio.protos.node_def import View
from graphio.protos.signature_def import KeyedMap
from graphio.schema import model_pb2
from graphio.schema.tensorflow_pb2 import AssetFileDef

__all__ = ["ASSET", "CollectionDef", "Collections"]

#: keys of the model's strings that name the file of a tensor begin so
ASSET = "saved_model/asset/"
_ASSETS = "saved_model_assets"


class _Values:
    def __init__(self, value: list[Any]) -> None:
        self.value = value


class CollectionDef(View):
    """A collection: one of node_list, int64_list, float_list, bytes_list has its `value`."""

    def __init__(self, message: model_pb2.Collection | None = None) -> None:
        self._message = model_pb2.Collection() if message is None else message

    def WhichOneof(self, oneof: str = "kind") -> str | None:
        """The name of the list in use."""
        kinds = [item.WhichOneof("value") for item in self._message.item]
        return _KINDS[kinds[0]] if kinds else None

    def HasField(self, name: str) -> bool:
        """Whether it is that list."""
        return self.WhichOneof() == name

    def __getattr__(self, name: str) -> Any:
        if name not in _KINDS.values():
            return super().__getattr__(name)
        items = [(item.WhichOneof("value"), item) for item in self._message.item]
        found = [getattr(item, kind) for kind, item in items if kind and _KINDS[kind] == name]
        is_bytes = name == "bytes_list"
        return _Values([v.encode() if is_bytes and isinstance(v, str) else v for v in found])


#: TensorFlow's list for each kind of item; a variable is bytes there, too
_KINDS = {
    "variable": "bytes_list",
    "tensor": "node_list",
    "operation": "node_list",
    "i": "int64_list",
    "d": "float_list",
    "s": "bytes_list",
}


class _AssetCollection:
    """The files of a saved model: `any_list` of AssetFileDef messages, sorted by their tensors."""

    def __init__(self, files: dict[str, str]) -> None:
        self._files = files

    def WhichOneof(self, oneof: str = "kind") -> str:
        """any_list."""
        return "any_list"

    def HasField(self, name: str) -> bool:
        """Whether it is any_list."""
        return name == "any_list"

    @property
    def any_list(self) -> _Values:
        """The messages, each to be unpacked."""
        found = []
        for tensor, name in self._files.items():
            asset = AssetFileDef(filename=name)
            asset.tensor_info.name = tensor
            packed = AnyMessage()
            packed.Pack(asset)
            found.append(packed)
        return _Values(found)


class Collections(KeyedMap):
    """The collections of a model by name, and the files of a saved model as one of them."""

    def __init__(self, model: model_pb2.Model) -> None:
        super().__init__(model.collection, "name", CollectionDef, is_sorted=True)
        strings = metadata(model).items()
        self._files = {k.removeprefix(ASSET): v for k, v in strings if k.startswith(ASSET)}

    def __getitem__(self, key: str) -> Any:
        if key == _ASSETS and self._files:
            return _AssetCollection(self._files)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        return (key == _ASSETS and bool(self._files)) or super().__contains__(key)

    def __iter__(self) -> Iterator[str]:
        names = set(super().__iter__())
        return iter(sorted(names | {_ASSETS} if self._files else names))

    def __len__(self) -> int:
        return len(list(iter(self)))
