"""Element types that numpy itself does not have: through the ml_dtypes package, imported late.

Arrays hold an element a byte, or two bytes for bfloat16; files pack the 4- and 2-bit types.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from graphio.schema import dtypes
from graphio.support import errors

Array = np.ndarray[Any, Any]


def numpy_dtype(row: dtypes.ElementType) -> np.dtype[Any]:
    """numpy's dtype or that of ml_dtypes.

    Raises:
        UnimplementedError: ml_dtypes is needed and not installed.
    """
    if row.numpy is not None:
        return row.numpy
    try:
        import ml_dtypes
    except ImportError:
        raise errors.UnimplementedError(
            message=f"numpy has no {row.name}; `pip install ml_dtypes` adds it"
        ) from None
    made: np.dtype[Any] = np.dtype(getattr(ml_dtypes, dtypes.ML_DTYPES[row.number]))
    return made


def encode(row: dtypes.ElementType, array: Array) -> bytes:
    """The elements as a file has them."""
    dense = np.ascontiguousarray(array).reshape(-1)
    if row.bits >= 8:
        return _little(dense.view(f"u{row.bits // 8}")).tobytes()
    per_byte = 8 // row.bits
    codes = dense.view(np.uint8) & ((1 << row.bits) - 1)
    filled = np.zeros(-(-len(codes) // per_byte) * per_byte, np.uint8)
    filled[: len(codes)] = codes
    shifts = np.arange(per_byte, dtype=np.uint8) * row.bits
    return bytes(np.bitwise_or.reduce(filled.reshape(-1, per_byte) << shifts, axis=1))


def decode(row: dtypes.ElementType, count: int, data: bytes | memoryview) -> Array:
    """The flat array that encode made.

    Raises:
        DataLossError: another number of bytes, or filling bits that are not zero.
    """
    kind = numpy_dtype(row)
    expected = (count * row.bits + 7) // 8
    if len(data) != expected:
        raise errors.DataLossError(
            message=f"{count} elements of {row.name} have {len(data)} bytes, expected {expected}"
        )
    if row.bits >= 8:
        return _little(np.frombuffer(data, f"u{row.bits // 8}")).view(kind)
    shifts = np.arange(8 // row.bits, dtype=np.uint8) * row.bits
    codes = (np.frombuffer(data, np.uint8)[:, None] >> shifts).reshape(-1) & ((1 << row.bits) - 1)
    if codes[count:].any():
        raise errors.DataLossError(message=f"filling bits of a {row.name} tensor are not zero")
    codes = codes[:count]
    if row.name.startswith("int"):
        sign = 1 << (row.bits - 1)
        return ((codes ^ sign).astype(np.int8) - sign).astype(kind)
    return codes.astype(kind) if row.name.startswith("uint") else codes.view(kind)


def _little(array: Array) -> Array:
    return array if sys.byteorder == "little" else array.byteswap()
