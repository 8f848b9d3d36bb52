"""Sequences, which are lists of arrays, and optional values, None where they hold nothing.

Lists are never changed once they are made.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.runtime.kernels.array import axis_of
from graphio.runtime.registry import Array, Call, Function, kernel
from graphio.support import errors


def _register(op: str, since: int, compute: Function) -> None:
    kernel(op, since, fold=False)(lambda call: compute)


def _list(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    found = "nothing" if value is None else "a tensor"
    raise errors.InvalidArgumentError(message=f"the input is {found}, expected a sequence")


def _position(position: Any, count: int, largest: int) -> int:
    """A position from the front, -count <= position <= largest."""
    if isinstance(position, list):
        raise errors.InvalidArgumentError(message="the position is a sequence, expected an integer")
    if position.size != 1 or position.dtype.name not in ("int32", "int64"):
        raise errors.InvalidArgumentError(
            message=f"the position is {position.dtype}{list(position.shape)}, expected one integer"
        )
    at = int(position.item())
    if not -count <= at <= largest:
        raise errors.InvalidArgumentError(
            message=f"position {at} is outside {-count} to {largest} of a sequence of {count}"
        )
    return at + count if at < 0 else at


def _same_dtype(values: list[Any]) -> list[Any]:
    kinds = sorted({str(v.dtype) for v in values if not isinstance(v, list)})
    if len(kinds) > 1:
        raise errors.InvalidArgumentError(
            message=f"the elements have the types {', '.join(kinds)}, expected one type"
        )
    return values


def construct(*values: Any) -> list[Any]:
    """The values as a sequence."""
    return _same_dtype(list(values))


def insert(sequence: Any, value: Any, position: Any = None) -> list[Any]:
    """With the value before what is at the position; at the end without one."""
    items = _list(sequence)
    at = len(items) if position is None else _position(position, len(items), len(items))
    return _same_dtype([*items[:at], value, *items[at:]])


def erase(sequence: Any, position: Any = None) -> list[Any]:
    """Without what is at the position; without the last without one."""
    items = _list(sequence)
    given = np.int64(-1) if position is None else position
    at = _position(given, len(items), len(items) - 1)
    return items[:at] + items[at + 1 :]


def element(sequence: Any, position: Any) -> Any:
    """The element at the position."""
    items = _list(sequence)
    return items[_position(position, len(items), len(items) - 1)]


_register("SequenceConstruct", 11, construct)
_register("SequenceInsert", 11, insert)
_register("SequenceErase", 11, erase)
_register("SequenceAt", 11, element)
_register("SequenceLength", 11, lambda sequence: np.array(len(_list(sequence)), np.int64))
_register("SequenceEmpty", 11, list)


@kernel("SplitToSequence", since=11, fold=False)
def _split(call: Call) -> Function:
    axis, keep = call.integer("axis", 0), bool(call.integer("keepdims", 1))

    def split(x: Any, sizes: Any = None) -> list[Any]:
        at = axis_of(axis, x.ndim)
        if sizes is None:
            pieces = _pieces(x, np.ones(x.shape[at], np.int64), at)
            return pieces if keep else [np.squeeze(p, at) for p in pieces]
        return _pieces(x, _sizes(sizes, x.shape[at]), at)

    return split


def _sizes(sizes: Any, total: int) -> Array:
    """How long each piece is: as given, or of one size with a shorter rest."""
    if sizes.ndim == 0 and sizes.item() > 0:
        size = int(sizes.item())
        return np.array([min(size, total - i) for i in range(0, total, size)], np.int64)
    found = np.asarray(sizes)
    if found.ndim != 1 or (found < 0).any() or int(found.sum()) != total:
        raise errors.InvalidArgumentError(
            message=f"split is {found.tolist()}, expected sizes with the sum {total} or one "
            "number above 0"
        )
    return found


def _pieces(x: Any, sizes: Array, axis: int) -> list[Any]:
    ends = np.cumsum(sizes)
    lead = (slice(None),) * axis
    return [
        np.ascontiguousarray(x[lead + (slice(int(end - size), int(end)),)])
        for size, end in zip(sizes, ends, strict=True)
    ]


@kernel("ConcatFromSequence", since=11, fold=False)
def _concat(call: Call) -> Function:
    axis, new = call.integer("axis", 0), bool(call.integer("new_axis", 0))

    def concat(sequence: Any) -> Array:
        items = _list(sequence)
        if not items:
            raise errors.InvalidArgumentError(message="the sequence is empty")
        at = axis_of(axis, items[0].ndim + new)
        if any(_rest(v, at, new) != _rest(items[0], at, new) for v in items):
            raise errors.InvalidArgumentError(
                message=f"the elements have the shapes {[list(v.shape) for v in items]}, which "
                f"cannot be joined along axis {at}"
            )
        return np.stack(items, at) if new else np.concatenate(items, at)

    return concat


def _rest(x: Any, axis: int, new: bool) -> tuple[int, ...]:
    """The dimensions in which the elements must agree."""
    shape: tuple[int, ...] = x.shape
    return shape if new else (*shape[:axis], -1, *shape[axis + 1 :])


def content(value: Any) -> Any:
    """The value in an optional value."""
    if value is None:
        raise errors.InvalidArgumentError(message="the optional value holds nothing")
    return value


_register("Optional", 15, lambda value=None: value)
_register("OptionalHasElement", 15, lambda value=None: np.array(value is not None))
_register("OptionalGetElement", 15, content)
