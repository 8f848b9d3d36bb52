"""The protocol's types: their names, and tensors of them as bytes.

Bytes are little-endian, row-major. A string is its length in four bytes and itself.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.schema import dtypes, small_types
from graphio.serving.failures import invalid

__all__ = ["from_bytes", "name_of", "to_bytes"]

Array = np.ndarray[Any, Any]
#: ours to theirs; Triton's BF16 among them
_NAMES = {
    "bool": "BOOL",
    "uint8": "UINT8",
    "uint16": "UINT16",
    "uint32": "UINT32",
    "uint64": "UINT64",
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "float16": "FP16",
    "bfloat16": "BF16",
    "float32": "FP32",
    "float64": "FP64",
    "string": "BYTES",
}


def name_of(dtype: np.dtype[Any]) -> str:
    """The protocol's name of a type; of one that it lacks ours, in capitals."""
    ours = dtypes.of_numpy(dtype).name
    return _NAMES.get(ours, ours.upper())


def to_bytes(array: Array) -> bytes:
    """The elements of a tensor."""
    row = dtypes.of_numpy(array.dtype)
    if row.number != dtypes.STRING:
        return small_types.encode(row, array)
    values = array.reshape(-1).tolist()
    return b"".join(part for v in values for part in (struct.pack("<I", len(v)), v))


def from_bytes(
    data: bytes | memoryview, dtype: np.dtype[Any], shape: Sequence[int], what: str
) -> Array:
    """A tensor from its elements.

    Raises:
        InvalidArgumentError: another number of bytes than the shape needs.
    """
    count = math.prod(shape)
    if dtypes.of_numpy(dtype).number == dtypes.STRING:
        return _strings(data, count, what).reshape(shape)
    if len(data) != count * dtype.itemsize:
        raise invalid(
            f"{what} has {len(data)} bytes, expected {count * dtype.itemsize}: shape "
            f"{list(shape)} of {name_of(dtype)}"
        )
    made = np.frombuffer(data, dtype.newbyteorder("<") if dtype.kind in "iufc" else dtype)
    if dtype.kind == "b" and made.view(np.uint8).max(initial=0) > 1:
        raise invalid(f"{what} has a byte that is neither 0 nor 1, expected BOOL")
    # A copy: the body is not aligned, and a run may keep its inputs.
    return made.astype(dtype).reshape(shape)


def _strings(data: bytes | memoryview, count: int, what: str) -> Array:
    found, at = [], 0
    while at < len(data):
        if at + 4 > len(data):
            raise invalid(f"{what}: {len(data) - at} bytes are left, too few for a length")
        (size,) = struct.unpack_from("<I", data, at)
        at += 4
        if size > len(data) - at:
            raise invalid(f"{what}: a string of {size} bytes, of which {len(data) - at} are there")
        found.append(bytes(data[at : at + size]))
        at += size
    if len(found) != count:
        raise invalid(f"{what} has {len(found)} strings, expected {count}")
    made = np.empty(count, object)
    made[:] = found
    return made
