"""Values in TensorFlow's messages: element types, shapes, tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphio.framework import dtypes, registered
from graphio.framework.dtypes import DType
from graphio.framework.tensor_shape import TensorShape
from graphio.schema import tensorflow_pb2, tensors
from graphio.schema.dtypes import BY_NAME
from graphio.support.errors import OpError
from graphio.train.interop.tensorflow import DTYPES

__all__ = ["array_of", "dtype_of", "shape_of"]

Array = np.ndarray[Any, Any]

#: The most bytes that a constant written as one repeated element may have.
_LARGEST_FILL = 1 << 26

#: Where a tensor without tensor_content has its elements, by the name of its type.
_LISTS = {
    "float32": "float_val", "float64": "double_val", "int32": "int_val", "uint8": "int_val",
    "int16": "int_val", "int8": "int_val", "uint16": "int_val", "string": "string_val",
    "int64": "int64_val", "bool": "bool_val", "uint32": "uint32_val", "uint64": "uint64_val",
    "float16": "half_val", "bfloat16": "half_val", "complex64": "scomplex_val",
    "complex128": "dcomplex_val",
}  # fmt: skip


def dtype_of(number: int) -> DType:
    """Our type of TensorFlow's number. Raises ValueError where there is none."""
    name = DTYPES.get(number)
    if name is None or name not in BY_NAME:
        names = tensorflow_pb2.DataType.items()
        found = next((n for n, i in names if i == number), f"number {number}")
        raise ValueError(f"has the element type {found}, which graphio has not")
    return dtypes.as_dtype(name)


def shape_of(proto: tensorflow_pb2.TensorShapeProto) -> TensorShape:
    """The shape; raises ValueError for sizes that there are not."""
    if proto.unknown_rank:
        return TensorShape(None)
    sizes = [d.size for d in proto.dim]
    if any(size < -1 for size in sizes):
        raise ValueError(f"has the shape {sizes}")
    return TensorShape([None if size < 0 else size for size in sizes])


def array_of(proto: tensorflow_pb2.TensorProto) -> Array:
    """The elements.

    Raises:
        ValueError: they do not fit their type and shape.
    """
    dtype = dtype_of(proto.dtype)
    name, dims = dtype.name, [d.size for d in proto.tensor_shape.dim]
    if proto.tensor_shape.unknown_rank or any(d < 0 for d in dims) or len(dims) > 16:
        raise ValueError(f"its value has the shape {dims}")
    if proto.tensor_content:
        try:
            return np.array(tensors.decode(BY_NAME[name].number, dims, proto.tensor_content))
        except OpError as error:
            raise ValueError(f"its value of shape {dims}: {error.message}") from None
    found = list(getattr(proto, _LISTS[name])) if name in _LISTS else []
    return _filled(name, dims, _elements(name, dtype, found))


@registered.array_of_message.register
def _array_of_message(content: bytes) -> Array:
    return array_of(tensorflow_pb2.TensorProto.FromString(content))


def _elements(name: str, dtype: DType, found: list[Any]) -> Array:
    if name == "string":
        made: Array = np.empty(len(found), object)
        made[:] = found
        return made
    if name in ("float16", "bfloat16"):
        if any(not 0 <= bits < 1 << 16 for bits in found):
            raise ValueError("its value has an element of more than 16 bits")
        return np.asarray(found, np.uint16).view(dtype.as_numpy_dtype)
    if name.startswith("complex"):
        half = np.float32 if name == "complex64" else np.float64
        return np.asarray(found[: len(found) // 2 * 2], half).view(dtype.as_numpy_dtype)
    try:
        return np.asarray(found).astype(dtype.as_numpy_dtype)
    except (OverflowError, ValueError) as error:
        raise ValueError(f"its value: {error}") from None


def _filled(name: str, dims: list[int], found: Array) -> Array:
    """The array of the elements given, the last of which fills the rest; none given: zeros."""
    count = math.prod(dims)
    if len(found) > count:
        raise ValueError(f"its value of shape {dims} has {len(found)} elements")
    if len(found) == count:
        return found.reshape(dims)
    if count * max(found.itemsize, 1) > _LARGEST_FILL:
        raise ValueError(f"its value of shape {dims} is written as {len(found)} elements")
    last = found[-1] if len(found) else (b"" if name == "string" else found.dtype.type(0))
    made: Array = np.full(count, last, found.dtype)
    made[: len(found)] = found
    return made.reshape(dims)
