"""Strings to numbers and back, and bytes as numbers, in both engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.gradient_registry import not_differentiable
from graphio.framework.graph import Tensor
from graphio.ops.base import primitive
from graphio.ops.base.emit import operation, scope
from graphio.ops.base.shapes import Dims, dims_of
from graphio.ops.strings import core as text
from graphio.ops.strings.joining import string_join
from graphio.ops.strings.python_strings import as_text
from graphio.support import api_guard, errors

__all__ = ["as_string", "decode_raw", "string_to_number"]

not_differentiable(*("StringToNumber", "AsString", "DecodeRaw"), domain="graphio")


def _made(
    op: str, inputs: Sequence[Tensor], of: DType, dims: Dims, at: str, tf_type: str, **attrs: Any
) -> Tensor:
    made = operation(
        op, inputs, [(of, dims)], name=at, domain="graphio", tf_type=tf_type, attrs=attrs
    )
    return made.outputs[0]


@api_guard.operator
def string_to_number(
    string_tensor: Any = None,
    out_type: Any = dtypes.float32,
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """The number that each string represents.

    Args:
        string_tensor, input: string tensor. A run in which one is not a number is an
            InvalidArgumentError.
        out_type: float32, float64, int32 or int64.
        name: of the operation.

    Raises:
        TypeError: it is not a string, or out_type is another one.
    """
    with scope(name, "StringToNumber") as at:
        x = as_text(string_tensor if input is None else input, "input")
        requested = dtypes.as_dtype(out_type)
        if requested not in (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64):
            raise TypeError(
                f"StringToNumber: out_type is {requested.name}, expected float32, float64, int32 "
                "or int64"
            )
        return _made(
            "StringToNumber", [x], requested, dims_of(x), at, "StringToNumber", dtype=requested
        )


@api_guard.operator
def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Numbers as text, as C's printf writes them.

    Args:
        input: numbers or bools, or strings, which only width changes.
        precision: digits after the point of floats; -1: 6.
        scientific, shortest: floats as %e or %g instead of %f.
        width: at least so many characters; -1: as many as there are.
        fill: "", or one of printf's flags " ", "+", "-", "0", "#".
        name: of the operation.

    Raises:
        InvalidArgumentError: both scientific and shortest, the options do not go with the dtype,
            or fill or width is out of range.
        TypeError: the dtype of input has no string form.
    """
    with scope(name, "AsString") as at:
        x = convert_to_tensor(input, name="input")
        if x.dtype in (dtypes.float16, dtypes.bfloat16):
            x = primitive.cast(x, dtypes.float32)
        _check_form(x.dtype, precision, scientific, shortest, width, fill)
        if x.dtype == dtypes.string:
            return _widened(x, width, fill == "-", at)
        return _made(
            "AsString",
            [x],
            dtypes.string,
            dims_of(x),
            at,
            "AsString",
            precision=max(int(precision), -1),
            scientific=int(scientific),
            shortest=int(shortest),
            width=int(width),
            fill=fill,
        )


def _check_form(
    dtype: DType, precision: int, scientific: bool, shortest: bool, width: int, fill: str
) -> None:
    """Checks that as_string can write the dtype with these options."""
    floating = dtype in _PRINTED
    if not floating and not dtype.is_integer and dtype not in (dtypes.bool, dtypes.string):
        raise TypeError(f"AsString: input is {dtype.name}, expected numbers, bools or strings")
    wrong = None
    if scientific and shortest:
        wrong = "Cannot select both scientific and shortest notation"
    elif not floating and (scientific or shortest or precision >= 0):
        wrong = f"scientific, shortest and precision are not supported for {dtype.name}"
    elif fill not in ("", " ", "+", "-", "0", "#"):
        wrong = f'Fill argument not supported: "{fill}"'
    elif max(width, precision) > _MOST_WIDTH:
        wrong = f"width and precision are at most {_MOST_WIDTH}"
    if wrong is not None:
        raise errors.InvalidArgumentError(message=f"AsString: {wrong}")


def _widened(x: Tensor, width: int, left: bool, at: str) -> Tensor:
    """Strings padded with blanks on one side, so that each has the width."""
    if width <= 0:
        return primitive.unary("Identity", x, at)
    none = constant(0)
    missing = primitive.binary("Sub", constant(width), text.length(x))
    missing = primitive.binary("Max", missing, none)
    starts = primitive.binary("Mul", missing, none)
    blanks = text.substr(" " * width, starts, missing)
    return string_join([x, blanks] if left else [blanks, x], name=at)


_PRINTED = (dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128)
_MOST_WIDTH = 100


@api_guard.operator
def decode_raw(
    input_bytes: Any = None,
    out_type: Any = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: Any = None,
    fixed_length: int | None = None,
) -> Tensor:
    """The bytes of strings as numbers.

    Args:
        input_bytes, bytes: string tensor, whose elements have one length in a run, a multiple of
            the dtype's size.
        out_type: dtype of the numbers.
        little_endian: False: the bytes of each number come the highest first.
        name: of the operation.
        fixed_length: so many bytes of each string, a multiple of the dtype's size; zeros follow
            shorter strings. None: all.

    Returns:
        The numbers, with one dimension more than the input.

    Raises:
        TypeError: it is not a string, or there is no such out_type.
        ValueError: fixed_length is not a multiple of the dtype's size.
    """
    with scope(name, "DecodeRaw") as at:
        x = as_text(input_bytes if bytes is None else bytes, "bytes")
        requested = dtypes.as_dtype(out_type)
        if requested == dtypes.string or requested.number > dtypes.bfloat16.number:
            raise TypeError(f"DecodeRaw: out_type is {requested.name}, expected a type of numbers")
        dims, count = dims_of(x), None
        if fixed_length is not None:
            count, rest = divmod(fixed_length, requested.size)
            if rest or count <= 0:
                raise ValueError(
                    f"DecodeRaw: fixed_length is {fixed_length}, which must be a multiple of "
                    f"{requested.size}, the size of {requested.name}"
                )
            x = text.substr(string_join([x, b"\0" * fixed_length]), 0, fixed_length)
        return _made(
            "DecodeRaw",
            [x],
            requested,
            None if dims is None else (*dims, count),
            at,
            "DecodeRaw",
            dtype=requested,
            little_endian=int(little_endian),
        )
