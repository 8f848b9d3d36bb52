"""Arrays to bytes and back, as schema/README.md lays tensors out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.schema import dtypes, errors
from graphio.schema.model_pb2 import Tensor

Array = np.ndarray[Any, Any]


def encode(array: Array) -> bytes:
    """The elements as little-endian bytes; strings as lengths, then text."""
    if dtypes.of_numpy(array.dtype).number == dtypes.STRING:
        parts = [_text(element) for element in array.ravel().tolist()]
        return np.array([len(p) for p in parts], "<u8").tobytes() + b"".join(parts)
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()


def _text(element: Any) -> bytes:
    if isinstance(element, str):
        return element.encode()
    if isinstance(element, bytes):
        return element
    raise errors.InvalidArgumentError(
        message=f"a string tensor holds {type(element).__name__}, expected bytes or str"
    )


def decode(number: int, dims: Sequence[int], data: bytes | memoryview) -> Array:
    """The array that encode made; without a copy where the bytes allow it.

    Raises:
        DataLossError: the bytes do not fit dtype and shape.
    """
    row = dtypes.of_number(number)
    count = math.prod(dims)
    if row.number == dtypes.STRING:
        return _decode_strings(count, data).reshape(dims)
    if row.numpy is None:
        raise errors.UnimplementedError(message=f"{row.name} has no numpy dtype yet")
    if len(data) != count * row.numpy.itemsize:
        raise errors.DataLossError(
            message=f"tensor {row.name}{list(dims)} has {len(data)} bytes, expected "
            f"{count * row.numpy.itemsize}"
        )
    array: Array = np.frombuffer(data, row.numpy.newbyteorder("<")).reshape(dims)
    if row.name == "bool" and count and np.frombuffer(data, np.uint8).max() > 1:
        raise errors.DataLossError(message="a bool tensor holds a byte other than 0 and 1")
    return array if array.dtype.isnative else array.astype(row.numpy)


def _decode_strings(count: int, data: bytes | memoryview) -> Array:
    if len(data) < 8 * count:
        raise errors.DataLossError(
            message=f"a string tensor of {count} elements has {len(data)} bytes"
        )
    lengths = np.frombuffer(data, "<u8", count).tolist()
    if sum(lengths) != len(data) - 8 * count:
        raise errors.DataLossError(
            message=f"the lengths of a string tensor add up to {sum(lengths)}, but "
            f"{len(data) - 8 * count} bytes follow"
        )
    array = np.empty(count, object)
    position = 8 * count
    for i, length in enumerate(lengths):
        array[i] = bytes(data[position : position + length])
        position += length
    return array


def check_dims(dims: Sequence[int]) -> None:
    """Refuses a rank above 16, negative dimensions and sizes beyond 2^62."""
    if len(dims) > 16:
        raise errors.DataLossError(message=f"rank {len(dims)} is above the limit of 16")
    if any(d < 0 for d in dims) or math.prod(d for d in dims if d) > 1 << 62:
        raise errors.DataLossError(message=f"the shape {list(dims)} is impossible")


def from_array(array: Array) -> Tensor:
    """An inline tensor."""
    number = dtypes.of_numpy(array.dtype).number
    return Tensor(dtype=number, dims=array.shape, data=encode(array))  # type: ignore[arg-type]


def to_array(tensor: Tensor) -> Array:
    """The array of an inline tensor."""
    check_dims(tensor.dims)
    return decode(tensor.dtype, tuple(tensor.dims), tensor.data)
