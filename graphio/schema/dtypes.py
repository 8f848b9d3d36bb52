"""The table of element types: ONNX's number, name, numpy dtype, bits an element."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from graphio.support import errors


class ElementType(NamedTuple):
    """One row; numpy is None where numpy itself has no such dtype."""

    number: int
    name: str
    numpy: np.dtype[Any] | None
    bits: int


def _row(number: int, name: str, dtype: Any = None, bits: int = 0) -> ElementType:
    numpy_dtype = None if dtype is None else np.dtype(dtype)
    if numpy_dtype is not None:
        bits = numpy_dtype.itemsize * 8
    return ElementType(number, name, numpy_dtype, bits)


#: STRING's elements are Python bytes in object arrays.
TABLE = (
    _row(1, "float32", np.float32),
    _row(2, "uint8", np.uint8),
    _row(3, "int8", np.int8),
    _row(4, "uint16", np.uint16),
    _row(5, "int16", np.int16),
    _row(6, "int32", np.int32),
    _row(7, "int64", np.int64),
    _row(8, "string", object),
    _row(9, "bool", np.bool_),
    _row(10, "float16", np.float16),
    _row(11, "float64", np.float64),
    _row(12, "uint32", np.uint32),
    _row(13, "uint64", np.uint64),
    _row(14, "complex64", np.complex64),
    _row(15, "complex128", np.complex128),
    _row(16, "bfloat16", None, 16),
    _row(17, "float8e4m3fn", None, 8),
    _row(18, "float8e4m3fnuz", None, 8),
    _row(19, "float8e5m2", None, 8),
    _row(20, "float8e5m2fnuz", None, 8),
    _row(21, "uint4", None, 4),
    _row(22, "int4", None, 4),
    _row(23, "float4e2m1", None, 4),
    _row(24, "float8e8m0", None, 8),
    _row(25, "uint2", None, 2),
    _row(26, "int2", None, 2),
)
STRING = 8

#: Types that numpy lacks, as the ml_dtypes package calls them (graphio.schema.small_types).
ML_DTYPES = {
    16: "bfloat16",
    17: "float8_e4m3fn",
    18: "float8_e4m3fnuz",
    19: "float8_e5m2",
    20: "float8_e5m2fnuz",
    21: "uint4",
    22: "int4",
    23: "float4_e2m1fn",
    24: "float8_e8m0fnu",
    25: "uint2",
    26: "int2",
}
_ML_NUMBERS = {name: number for number, name in ML_DTYPES.items()}

BY_NUMBER = {row.number: row for row in TABLE}
BY_NAME = {row.name: row for row in TABLE}
_BY_NUMPY = {row.numpy: row for row in TABLE if row.numpy is not None}


def of_number(number: int) -> ElementType:
    """The row of ONNX's number.

    Raises:
        UnimplementedError: there is no such element type.
    """
    if number not in BY_NUMBER:
        raise errors.UnimplementedError(
            message=f"element type {number} is unknown; the newest known is {TABLE[-1].number}"
        )
    return BY_NUMBER[number]


def of_numpy(dtype: Any) -> ElementType:
    """The row of a numpy dtype; text of any kind is STRING.

    Raises:
        InvalidArgumentError: no element type corresponds to it.
    """
    dtype = np.dtype(dtype)
    if dtype in _BY_NUMPY:
        return _BY_NUMPY[dtype]
    if dtype.kind in "biufc":
        dtype = dtype.newbyteorder("=")
    if dtype.kind in "OSU":
        return BY_NUMBER[STRING]
    if dtype.name in _ML_NUMBERS:
        return BY_NUMBER[_ML_NUMBERS[dtype.name]]
    if dtype not in _BY_NUMPY:
        raise errors.InvalidArgumentError(message=f"numpy dtype {dtype} has no element type")
    return _BY_NUMPY[dtype]


def name(number: int) -> str:
    """ "float32" for 1; "type 99" for what is unknown."""
    return BY_NUMBER[number].name if number in BY_NUMBER else f"type {number}"
