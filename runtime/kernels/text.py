"""Operators on text: arrays of bytes objects."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphio.runtime.registry import Array, Call, Function, kernel
from graphio.schema import dtypes, errors

_SPACE = b" \t\n\v\f\r"
_CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "lower": bytes.lower,
    "upper": bytes.upper,
    "strip": lambda text: text.strip(_SPACE),
}
_WHOLE = re.compile(rb"[+-]?[0-9]+")
_FLOAT = re.compile(rb"[+-]?(?:([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf|infinity|nan)", re.I)
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


def _choice(call: Call, key: str, choices: Sequence[str]) -> str:
    found = call.text(key, choices[0])
    if found not in choices:
        raise _bad(f"attribute {key} is {found!r}, expected one of {', '.join(choices)}")
    return found


@kernel("StringJoin", domain="graphio", fresh=True)
def _join(call: Call) -> Function:
    between = call.text("separator", "").encode()

    def join(*inputs: Any) -> Array:
        arrays = [_array(x) for x in inputs]
        shapes = {x.shape for x in arrays if x.ndim}
        if len(shapes) > 1:
            raise _bad(f"the inputs have the shapes {sorted(map(list, shapes))}, expected one")
        made = np.empty(shapes.pop() if shapes else (), object)
        rows = [np.broadcast_to(x, made.shape).reshape(-1) for x in arrays]
        flat = made.reshape(-1)
        for i in range(flat.size):
            flat[i] = between.join(row[i] for row in rows)
        return made

    return join


@kernel("StringReduceJoin", domain="graphio", fresh=True)
def _reduce_join(call: Call) -> Function:
    between = call.text("separator", "").encode()

    def join(x: Any) -> Array:
        source = _array(x)
        if source.ndim == 0:
            raise _bad("the input is a scalar, expected dimensions")
        made = np.empty(source.shape[:-1], object)
        flat, rows = made.reshape(-1), source.reshape(made.size, -1 if made.size else 0)
        for i in range(flat.size):
            flat[i] = between.join(rows[i])
        return made

    return join


def _ends(text: bytes) -> list[int]:
    """Where characters begin, and the end."""
    return [i for i, byte in enumerate(text) if byte & 0xC0 != 0x80] + [len(text)]


@kernel("StringLength", domain="graphio", fresh=True)
def _length(call: Call) -> Function:
    if _choice(call, "unit", ("BYTE", "UTF8_CHAR")) == "BYTE":
        return lambda x: _map(len, _array(x), np.int32)
    return lambda x: _map(lambda text: len(_ends(text)) - 1, _array(x), np.int32)


@kernel("StringSubstr", domain="graphio", fresh=True)
def _substr(call: Call) -> Function:
    in_bytes = _choice(call, "unit", ("BYTE", "UTF8_CHAR")) == "BYTE"

    def one(text: bytes, pos: int, length: int, index: int) -> bytes:
        ends: Sequence[int] = range(len(text) + 1) if in_bytes else _ends(text)
        count = len(ends) - 1
        if not -count <= pos <= count:
            raise _bad(f"pos {pos} out of range for string of length {count} at index {index}")
        if length < 0:
            raise _bad(f"len {length} is negative at index {index}")
        first = pos + count if pos < 0 else pos
        return text[ends[first] : ends[min(first + length, count)]]

    def substr(x: Any, pos: Any, length: Any) -> Array:
        parts = np.broadcast_arrays(_array(x), pos, length)
        made = np.empty(parts[0].shape, object)
        flat = made.reshape(-1)
        rows = [part.reshape(-1) for part in parts]
        for i, (text, at, count) in enumerate(zip(*rows, strict=True)):
            flat[i] = one(text, int(at), int(count), i)
        return made

    return substr


@kernel("StringChange", domain="graphio", fresh=True)
def _change(call: Call) -> Function:
    change = _CHANGES[_choice(call, "change", tuple(_CHANGES))]
    return lambda x: _map(change, _array(x))


# ---- numbers ----


@kernel("StringToNumber", domain="graphio", fresh=True)
def _to_number(call: Call) -> Function:
    dtype = call.dtype("dtype")
    if dtype.name not in ("float32", "float64", "int32", "int64"):
        raise errors.UnimplementedError(message=f"no number of type {dtype} is read from text")

    def read(text: bytes) -> Any:
        word = text.strip(_SPACE)
        word = word if len(word) <= _MOST_NUMBER else b""
        if dtype.kind == "f" and _FLOAT.fullmatch(word):
            return float(word)
        if dtype.kind == "i" and _WHOLE.fullmatch(word):
            number = int(word)
            if np.iinfo(dtype).min <= number <= np.iinfo(dtype).max:
                return number
        shown = text.decode("utf-8", "replace")
        raise _bad(f"StringToNumberOp could not correctly convert string: {shown}")

    return lambda x: _map(read, _array(x), dtype)


@kernel("AsString", domain="graphio", fresh=True)
def _as_string(call: Call) -> Function:
    number = call.dtypes[0] if call.dtypes else 0
    form = _form(call, dtypes.name(number))
    if form == "":
        return lambda x: _map(lambda value: b"true" if value else b"false", x)
    plain = form.replace("%0", "%")  # C fills words with blanks

    def one(value: Any) -> str:
        return str((form if np.isfinite(value) else plain) % value)

    if dtypes.name(number).startswith("complex"):
        return lambda x: _map(lambda v: f"({one(v.real)},{one(v.imag)})".encode(), x)
    return lambda x: _map(lambda value: one(value).encode(), x)


def _form(call: Call, name: str) -> str:
    """The printf format; "" for bool."""
    width, precision = call.integer("width", -1), call.integer("precision", -1)
    letters = [call.integer("scientific", 0) and "e", call.integer("shortest", 0) and "g"]
    fill = call.text("fill", "")
    floating = name in ("float32", "float64", "complex64", "complex128")
    if name == "bool":
        return ""
    if not floating and name not in _INTEGERS:
        raise errors.UnimplementedError(message=f"no text of type {name}")
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


_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@kernel("DecodeRaw", domain="graphio", fresh=True)
def _decode_raw(call: Call) -> Function:
    dtype = call.dtype("dtype")
    turned = not call.integer("little_endian", 1)
    if dtypes.of_numpy(dtype).number > _MOST_RAW or dtype.kind == "O":
        raise errors.UnimplementedError(message=f"bytes as elements of type {dtype}")

    def decode(x: Any) -> Array:
        source = _array(x)
        texts = source.reshape(-1).tolist()
        size = len(texts[0]) if texts else 0
        for i, text in enumerate(texts):
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
        data = np.frombuffer(b"".join(texts), np.uint8)
        if turned:
            part = dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize
            data = data.reshape(-1, part)[:, ::-1].copy()
        shape = (*source.shape, size // dtype.itemsize)
        flat = data != 0 if dtype == np.bool_ else data.reshape(-1).view(dtype)
        made: Array = flat.reshape(shape).copy()
        return made

    return decode
