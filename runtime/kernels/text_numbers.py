"""Strings to numbers and back, bytes as numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from graphio.runtime.registry import Array, Call, Function, kernel
from graphio.schema import dtypes
from graphio.support import errors

_SPACE = b" \t\n\v\f\r"
_WHOLE = re.compile(rb"[+-]?[0-9]+")
_FLOAT = re.compile(rb"[+-]?(?:([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf|infinity|nan)", re.I)
_HEXADECIMAL = re.compile(
    rb"[+-]?0x([0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(p[+-]?[0-9]+)?", re.IGNORECASE
)
_MOST_NUMBER = 1000  # characters of a number
_MOST_WIDTH = 100
_MOST_RAW = 16  # element types beyond bfloat16 have less than a byte, or are exchanged packed


def _array(x: Any) -> Array:
    return np.asarray(x, object)


def _map(function: Callable[[Any], Any], x: Any, dtype: Any = object) -> Array:
    """An array of what the function gives for each element."""
    source = np.asarray(x)
    made = np.empty(source.shape, dtype)
    flat = made.reshape(-1)
    for i, value in enumerate(source.reshape(-1)):
        flat[i] = function(value)
    return made


def _bad(message: str) -> errors.OpError:
    return errors.InvalidArgumentError(message=message)


@kernel("StringToNumber", domain="graphio", types="S", fresh=True)
def _to_number(call: Call) -> Function:
    dtype = call.dtype("dtype")
    if dtype.name not in ("float32", "float64", "int32", "int64"):
        raise errors.UnimplementedError(
            message=f"numbers of type {dtype} cannot be read from strings"
        )

    def read(text: bytes) -> Any:
        word = text.strip(_SPACE)
        word = word if len(word) <= _MOST_NUMBER else b""
        if dtype.kind == "f" and _FLOAT.fullmatch(word):
            return float(word)
        if dtype.kind == "f" and _HEXADECIMAL.fullmatch(word):
            return _hexadecimal(word.decode())
        if dtype.kind == "i" and _WHOLE.fullmatch(word):
            number = int(word)
            if np.iinfo(dtype).min <= number <= np.iinfo(dtype).max:
                return number
        shown = text.decode("utf-8", "replace")
        raise _bad(f"StringToNumberOp could not correctly convert string: {shown}")

    return lambda x: _map(read, _array(x), dtype)


def _hexadecimal(word: str) -> float:
    try:
        return float.fromhex(word)
    except OverflowError:
        return float("-inf" if word.startswith("-") else "inf")


@kernel("AsString", domain="graphio", fresh=True)
def _as_string(call: Call) -> Function:
    number = call.dtypes[0] if call.dtypes else 0
    form = _form(call, dtypes.name(number))
    if form == "":
        return lambda x: _map(lambda value: b"true" if value else b"false", x)
    if call.integer("precision", -1) == _FEWEST and dtypes.name(number) in ("float32", "float64"):
        return lambda x: _map(_fewest, x)
    plain = form.replace("%0", "%")  # C fills words with blanks

    def one(value: Any) -> str:
        return str((form if np.isfinite(value) else plain) % value)

    if dtypes.name(number).startswith("complex"):
        return lambda x: _map(lambda v: f"({one(v.real)},{one(v.imag)})".encode(), x)
    return lambda x: _map(lambda value: one(value).encode(), x)


def _fewest(value: Any) -> bytes:
    """As few digits as tell it from all others of its type; plain from 1e-4 to 1e16."""
    if not np.isfinite(value):
        return b"nan" if np.isnan(value) else b"inf" if value > 0 else b"-inf"
    for digits in range(17):
        word = f"{value:.{digits}e}"
        if type(value)(float(word)) == value:
            break
    if value != 0 and not 1e-4 <= abs(float(value)) < 1e16:
        return word.encode()
    points = digits - int(word.partition("e")[2])
    return f"{float(word):.{max(points, 1)}f}".encode()


def _form(call: Call, name: str) -> str:
    """The printf format; "" for bool."""
    width, precision = call.integer("width", -1), call.integer("precision", -1)
    letters = [call.integer("scientific", 0) and "e", call.integer("shortest", 0) and "g"]
    fill = call.text("fill", "")
    floating = name in ("float32", "float64", "complex64", "complex128")
    if name == "bool":
        return ""
    if not floating and name not in _INTEGERS:
        raise errors.UnimplementedError(message=f"no string form of type {name}")
    if fill not in ("", " ", "+", "-", "0", "#"):
        raise _bad(f'Fill argument not supported: "{fill}"')
    if max(width, precision) > _MOST_WIDTH:
        raise _bad(f"width {width} and precision {precision}, expected at most {_MOST_WIDTH}")
    if all(letters):
        raise _bad("Cannot select both scientific and shortest notation")
    if not floating and (any(letters) or precision >= 0):
        raise _bad(f"scientific, shortest and precision are not supported for {name}")
    form = f"%{fill}{'' if width < 0 else width}{'' if precision < 0 else f'.{precision}'}"
    return form + str("d" if not floating else letters[0] or letters[1] or "f")


_FEWEST = -2
_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@kernel("DecodeRaw", domain="graphio", types="S", fresh=True)
def _decode_raw(call: Call) -> Function:
    dtype = call.dtype("dtype")
    swapped = not call.integer("little_endian", 1)
    if dtypes.of_numpy(dtype).number > _MOST_RAW or dtype.kind == "O":
        raise errors.UnimplementedError(message=f"bytes as elements of type {dtype}")

    def decode(x: Any) -> Array:
        source = _array(x)
        strings = source.reshape(-1).tolist()
        size = len(strings[0]) if strings else 0
        for i, text in enumerate(strings):
            if len(text) != size:
                raise _bad(
                    "DecodeRaw requires input strings to all be the same size, but element "
                    f"{i} has size {len(text)} != {size}"
                )
        if size % dtype.itemsize:
            raise _bad(
                f"Input to DecodeRaw has length {size} that is not a multiple of {dtype.itemsize},"
                f" the size of {dtype.name}"
            )
        data = np.frombuffer(b"".join(strings), np.uint8)
        if swapped:
            part = dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize
            data = data.reshape(-1, part)[:, ::-1].copy()
        shape = (*source.shape, size // dtype.itemsize)
        flat = data != 0 if dtype == np.bool_ else data.reshape(-1).view(dtype)
        made: Array = flat.reshape(shape).copy()
        return made

    return decode
