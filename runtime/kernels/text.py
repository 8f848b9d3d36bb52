"""Strings: arrays of bytes objects."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from graphio.runtime.kernels.array import axis_of
from graphio.runtime.registry import Array, Call, Function, kernel
from graphio.support import errors

_UNITS = ("BYTE", "UTF8_CHAR")
_WAYS: dict[str, Callable[[bytes], bytes]] = {
    "lower": bytes.lower,
    "upper": bytes.upper,
    "strip": bytes.strip,
}


def _each(function: Callable[..., Any], first: Array, *rest: Array, dtype: Any = object) -> Array:
    """function of the elements of arrays of one shape; scalars go with every element."""
    columns = [first.ravel(), *(np.broadcast_to(a, first.shape).ravel() for a in rest)]
    result = np.empty(first.size, dtype)
    result[:] = [function(*column) for column in zip(*columns, strict=True)]
    shaped: Array = result.reshape(first.shape)
    return shaped


def _unit(call: Call) -> str:
    unit = call.text("unit", "BYTE")
    if unit not in _UNITS:
        raise errors.InvalidArgumentError(
            message=f"unit is {unit!r}, expected {' or '.join(_UNITS)}"
        )
    return unit


def _starts(text: bytes, unit: str) -> list[int]:
    """Where each character begins."""
    return [i for i, byte in enumerate(text) if unit == "BYTE" or byte & 0xC0 != 0x80]


@kernel("StringLength", domain="graphio", types="S", fresh=True)
def _string_length(call: Call) -> Function:
    unit = _unit(call)
    return lambda x: _each(lambda text: len(_starts(text, unit)), x, dtype=np.int32)


@kernel("StringTransform", domain="graphio", types="S", fresh=True)
def _string_transform(call: Call) -> Function:
    way = call.text("way", "lower")
    if way not in _WAYS:
        raise errors.InvalidArgumentError(message=f"way is {way!r}, expected {' or '.join(_WAYS)}")
    return lambda x: _each(_WAYS[way], x)


@kernel("Substr", domain="graphio", types="SLL", fresh=True)
def _substr(call: Call) -> Function:
    unit = _unit(call)

    def part(text: bytes, begin: int, count: int) -> bytes:
        starts = [*_starts(text, unit), len(text)]
        size = len(starts) - 1
        if not -size <= begin <= size:
            raise errors.InvalidArgumentError(
                message=f"pos {begin} out of range for string {text[:100]!r}"
            )
        if count < 0:
            raise errors.InvalidArgumentError(message=f"len {count} is negative")
        first = begin + size if begin < 0 else begin
        return text[starts[first] : starts[min(first + count, size)]]

    def substr(x: Any, begin: Any, count: Any) -> Array:
        _check_shapes(x.shape, begin, count)
        return _each(lambda t, b, n: part(t, int(b), int(n)), x, begin, count)

    return substr


def _check_shapes(shape: tuple[int, ...], *others: Any) -> None:
    for i, other in enumerate(others, 1):
        if other.ndim and other.shape != shape:
            raise errors.InvalidArgumentError(
                message=f"input {i} has shape {list(other.shape)}, expected a scalar or the shape "
                f"{list(shape)}"
            )


def _separator(call: Call) -> bytes:
    value = call.attrs.get("separator", b"")
    return value.encode() if isinstance(value, str) else bytes(value)


@kernel("StringJoin", domain="graphio", types="S*", fresh=True)
def _string_join(call: Call) -> Function:
    separator = _separator(call)

    def join(*strings: Any) -> Array:
        shape = next((t.shape for t in strings if t.ndim), ())
        _check_shapes(shape, *strings)
        first, *rest = (np.broadcast_to(t, shape) for t in strings)
        return _each(lambda *parts: separator.join(parts), first, *rest)

    return join


@kernel("StringReduceJoin", domain="graphio", types="S", fresh=True)
def _string_reduce_join(call: Call) -> Function:
    separator, axis = _separator(call), call.integer("axis", 0)

    def reduce_join(x: Any) -> Array:
        at = axis_of(axis, x.ndim)
        lines = np.moveaxis(x, at, -1)
        result = np.empty(lines.shape[:-1], object)
        for position in np.ndindex(result.shape):
            result[position] = separator.join(lines[position].tolist())
        return np.expand_dims(result, at)

    return reduce_join


@kernel("StringSplit", domain="graphio", types="S", fresh=True)
def _string_split(call: Call) -> Function:
    separator, limit = _separator(call), call.integer("limit", -1)
    letters, skips = call.integer("letters", 0), call.integer("skip_empty", 0)
    between = re.compile(b"[" + re.escape(separator) + b"]") if separator else None

    def parts(text: bytes) -> list[bytes]:
        if not letters:
            return text.split(separator or None, max(limit, -1))
        if between is None:
            return [text[i : i + 1] for i in range(len(text))]
        return [part for part in between.split(text) if part or not skips]

    def split(x: Any) -> tuple[Array, Array, Array]:
        if x.ndim != 1:
            raise errors.InvalidArgumentError(
                message=f"the strings have shape {list(x.shape)}, expected a vector"
            )
        rows = [parts(text) for text in x.tolist()]
        starts = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
        values = np.empty(len(starts), object)
        values[:] = [part for row in rows for part in row]
        widest = max((len(row) for row in rows), default=0)
        found = np.asarray(starts, np.int64).reshape(-1, 2)
        return found, values, np.asarray([len(rows), widest], np.int64)

    return split
