"""Texts: arrays of bytes objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphio.runtime.registry import Array, Call, Function, kernel
from graphio.schema import errors

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
        places = [*_starts(text, unit), len(text)]
        size = len(places) - 1
        if not -size <= begin <= size:
            raise errors.InvalidArgumentError(
                message=f"pos {begin} out of range for string {text[:100]!r}"
            )
        if count < 0:
            raise errors.InvalidArgumentError(message=f"len {count} is negative")
        first = begin + size if begin < 0 else begin
        return text[places[first] : places[min(first + count, size)]]

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


@kernel("StringJoin", domain="graphio", types="S*", fresh=True)
def _string_join(call: Call) -> Function:
    value = call.attrs.get("separator", b"")
    separator = value.encode() if isinstance(value, str) else bytes(value)

    def join(*texts: Any) -> Array:
        shape = next((t.shape for t in texts if t.ndim), ())
        _check_shapes(shape, *texts)
        first, *rest = (np.broadcast_to(t, shape) for t in texts)
        return _each(lambda *parts: separator.join(parts), first, *rest)

    return join
