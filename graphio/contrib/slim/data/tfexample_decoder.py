"""Items of records that are tf.train.Example."""

from __future__ import annotations

import abc
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphio.contrib.slim.data import data_decoder
from graphio.framework import dtypes, sparse_tensor
from graphio.ops.array import surface as array
from graphio.ops.control_flow.branches import case, cond
from graphio.ops.control_flow.functional import map_fn
from graphio.ops.math import comparison, elementwise, reduction
from graphio.ops.sparse.arranging import sparse_reshape
from graphio.ops.sparse.conversion import sparse_tensor_to_dense
from graphio.ops.strings.example import FixedLenFeature, parse_single_example
from graphio.ops.strings.numbers import decode_raw

__all__ = [
    "BackupHandler",
    "BoundingBox",
    "Image",
    "ItemHandler",
    "ItemHandlerCallback",
    "LookupTensor",
    "SparseTensor",
    "TFExampleDecoder",
    "Tensor",
]


class ItemHandler(abc.ABC):
    """Makes an item of the tensors of features.

    Args:
        keys: names of the features.
    """

    def __init__(self, keys: Any) -> None:
        self._keys = keys if isinstance(keys, (list, tuple)) else [keys]

    @property
    def keys(self) -> Any:
        """The names of the features."""
        return self._keys

    @abc.abstractmethod
    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """The item of the features' tensors by name."""


class ItemHandlerCallback(ItemHandler):
    """An item by a function of the features' tensors by name."""

    def __init__(self, keys: Any, func: Callable[[Mapping[str, Any]], Any]) -> None:
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """The function's result."""
        return self._func(keys_to_tensors)


class BoundingBox(ItemHandler):
    """Boxes (n, 4) of four features, each a side.

    Args:
        keys: names of the sides; None: ymin, xmin, ymax, xmax.
        prefix: of the names.

    Raises:
        ValueError: there are not four names.
    """

    def __init__(self, keys: Sequence[str] | None = None, prefix: str = "") -> None:
        sides = ["ymin", "xmin", "ymax", "xmax"] if keys is None else keys
        if len(sides) != 4:
            raise ValueError(f"BoundingBox expects 4 keys but got {len(sides)}")
        super().__init__([prefix + key for key in sides])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """The boxes."""
        given = [keys_to_tensors[key] for key in self._keys]
        sides = [s.values if isinstance(s, sparse_tensor.SparseTensor) else s for s in given]
        return array.transpose(array.concat([array.expand_dims(side, 0) for side in sides], 0))


class Tensor(ItemHandler):
    """The tensor of a feature, dense and of a shape.

    Args:
        tensor_key: name of the feature.
        shape_keys: names of features that are its shape; None: shape.
        shape: None: the feature's.
        default_value: of elements that a sparse one lacks.

    Raises:
        ValueError: there are shape_keys and a shape.
    """

    def __init__(
        self, tensor_key: str, shape_keys: Any = None, shape: Any = None, default_value: Any = 0
    ) -> None:
        if shape_keys and shape is not None:
            raise ValueError("Cannot specify both shape_keys and shape parameters.")
        self._shape_keys = (
            shape_keys if isinstance(shape_keys, list) or not shape_keys else [shape_keys]
        )
        self._tensor_key, self._shape, self._default_value = tensor_key, shape, default_value
        super().__init__([tensor_key, *(self._shape_keys or ())])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """The tensor."""
        tensor, shape = keys_to_tensors[self._tensor_key], self._shape
        if self._shape_keys:
            sizes = [_dense(keys_to_tensors[key]) for key in self._shape_keys]
            shape = array.reshape(array.stack(sizes), [-1])
        if isinstance(tensor, sparse_tensor.SparseTensor):
            if shape is not None:
                tensor = sparse_reshape(tensor, shape)
            return sparse_tensor_to_dense(tensor, self._default_value)
        return tensor if shape is None else array.reshape(tensor, shape)


class LookupTensor(Tensor):
    """The values of a table for the tensor of a feature; see Tensor."""

    def __init__(
        self,
        tensor_key: str,
        table: Any,
        shape_keys: Any = None,
        shape: Any = None,
        default_value: Any = "",
    ) -> None:
        self._table = table
        super().__init__(tensor_key, shape_keys, shape, default_value)

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """The values."""
        return self._table.lookup(super().tensors_to_item(keys_to_tensors))


class BackupHandler(ItemHandler):
    """The item of a handler, or of another where it is empty.

    Raises:
        ValueError: one is not an ItemHandler.
    """

    def __init__(self, handler: ItemHandler, backup: ItemHandler) -> None:
        for name, one in (("Primary", handler), ("Backup", backup)):
            if not isinstance(one, ItemHandler):
                raise ValueError(f"{name} handler is of type {type(one)} instead of ItemHandler")
        self._handler, self._backup = handler, backup
        super().__init__([*handler.keys, *backup.keys])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """The item."""
        item = self._handler.tensors_to_item(keys_to_tensors)
        empty = comparison.equal(reduction.reduce_prod(array.shape(item)), 0)
        return cond(empty, lambda: self._backup.tensors_to_item(keys_to_tensors), lambda: item)


class SparseTensor(ItemHandler):
    """A sparse tensor whose last indices and values are features.

    Args:
        indices_key, values_key: names of the features; None: indices, values.
        shape_key: name of the feature of its shape; None: shape.
        shape: None: that of the indices.
        densify: whether the item is dense; default_value: of elements that it lacks.
    """

    def __init__(
        self,
        indices_key: str | None = None,
        values_key: str | None = None,
        shape_key: str | None = None,
        shape: Any = None,
        densify: bool = False,
        default_value: Any = 0,
    ) -> None:
        self._indices_key, self._values_key = indices_key or "indices", values_key or "values"
        self._shape_key, self._shape = shape_key, shape
        self._densify, self._default_value = densify, default_value
        super().__init__([self._indices_key, self._values_key, *([shape_key] if shape_key else [])])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """The tensor."""
        indices, values = keys_to_tensors[self._indices_key], keys_to_tensors[self._values_key]
        shape = self._shape or indices.dense_shape
        if self._shape_key:
            shape = _dense(keys_to_tensors[self._shape_key])
        last = array.reshape(elementwise.cast(indices.values, dtypes.int64), [-1, 1])
        full = array.concat([indices.indices[:, :-1], last], 1)
        made = sparse_tensor.SparseTensor(full, values.values, shape)
        return sparse_tensor_to_dense(made, self._default_value) if self._densify else made


class Image(ItemHandler):
    """A decoded picture.

    Args:
        image_key, format_key: names of the features of its bytes and their format; None:
            image/encoded, image/format. The format raw is that of tf.decode_raw.
        shape: of the item; None: that of the picture.
        channels: number of channels.
        dtype: of the item.
        repeated: whether there are several pictures.
        dct_method: without an effect.
    """

    def __init__(
        self,
        image_key: str | None = None,
        format_key: str | None = None,
        shape: Any = None,
        channels: int = 3,
        dtype: Any = dtypes.uint8,
        repeated: bool = False,
        dct_method: str = "",
    ) -> None:
        self._image_key, self._format_key = (
            image_key or "image/encoded",
            format_key or "image/format",
        )
        self._shape, self._channels, self._dtype = shape, channels, dtype
        self._repeated = repeated
        super().__init__([self._image_key, self._format_key])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """The picture, or pictures."""
        encoded, kind = keys_to_tensors[self._image_key], keys_to_tensors[self._format_key]
        if self._repeated:
            return map_fn(lambda x: self._decode(x, kind), encoded, dtype=self._dtype)
        return self._decode(encoded, kind)

    def _decode(self, encoded: Any, kind: Any) -> Any:
        # of the namespace, which says what to do where pictures cannot be decoded
        images = importlib.import_module("graphio.image")

        def decode() -> Any:
            found = images.decode_image(encoded, channels=self._channels)
            return elementwise.cast(found, self._dtype)

        raw = comparison.logical_or(comparison.equal(kind, "raw"), comparison.equal(kind, "RAW"))
        image = case(
            [(raw, lambda: decode_raw(encoded, self._dtype))], default=decode, exclusive=True
        )
        image.set_shape([None, None, self._channels])
        return image if self._shape is None else array.reshape(image, self._shape)


class TFExampleDecoder(data_decoder.DataDecoder):
    """Decodes a record to items.

    Args:
        keys_to_features: features by name, such as tf.FixedLenFeature.
        items_to_handlers: ItemHandlers by item.
    """

    def __init__(
        self, keys_to_features: Mapping[str, Any], items_to_handlers: Mapping[str, ItemHandler]
    ) -> None:
        self._keys_to_features, self._items_to_handlers = keys_to_features, items_to_handlers

    def list_items(self) -> list[str]:
        """The names of the items."""
        return list(self._items_to_handlers)

    def decode(self, serialized_example: Any, items: Sequence[str] | None = None) -> list[Any]:
        """The tensors of items of a record; None: all items."""
        example = dict(parse_single_example(serialized_example, self._keys_to_features))
        for key, feature in sorted(self._keys_to_features.items()):
            if isinstance(feature, FixedLenFeature):
                example[key] = array.reshape(example[key], feature.shape)
        found = []
        for item in items or self._items_to_handlers:
            handler = self._items_to_handlers[item]
            found.append(handler.tensors_to_item({key: example[key] for key in handler.keys}))
        return found


def _dense(value: Any) -> Any:
    return sparse_tensor_to_dense(value) if isinstance(value, sparse_tensor.SparseTensor) else value
