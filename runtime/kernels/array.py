"""Shapes and the order of elements: reshape, transpose, concatenate, slice, pad ..."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.runtime.registry import Array, Call, Function, function, kernel
from graphio.support import errors


def ints(x: Any) -> list[int]:
    """The integers of a scalar or vector; InvalidArgumentError for another rank."""
    x = np.asarray(x)
    if x.ndim > 1:
        raise errors.InvalidArgumentError(
            message=f"{x.dtype.name}{list(x.shape)} is not a list of numbers, expected rank 1"
        )
    result: list[int] = x.reshape(-1).tolist()
    return result


def axis_of(axis: int, rank: int) -> int:
    """axis from the front; InvalidArgumentError outside -rank..rank-1."""
    if not -rank <= axis < rank:
        raise errors.InvalidArgumentError(
            message=f"axis {axis} is out of range for rank {rank}, expected {-rank} to {rank - 1}"
        )
    return axis % rank


def axes_of(axes: Sequence[int], rank: int) -> list[int]:
    """Axes from the front; InvalidArgumentError for one outside or twice."""
    found = [axis_of(axis, rank) for axis in axes]
    if len(set(found)) < len(found):
        raise errors.InvalidArgumentError(message=f"axes {list(axes)} name one axis twice")
    return found


def along(axis: int, part: slice) -> tuple[slice, ...]:
    """The index that takes a part of one axis."""
    index = [slice(None)] * axis
    index.append(part)
    return tuple(index)


# ---- shape ----


@kernel("Shape", types="A", fresh=True)
def _shape(call: Call) -> Function:
    start, end = call.integer("start", 0), call.attrs.get("end")
    part = slice(start, end)
    return lambda x: np.array(x.shape[part], np.int64)


function("Size", 1, lambda x: np.int64(x.size), "A")


@kernel("Reshape", since=5, types="AI")
def _reshape(call: Call) -> Function:
    keep_zero = call.integer("allowzero", 0)
    known = call.constant(1)
    if known is not None and (keep_zero or 0 not in ints(known)):
        target = tuple(ints(known))
        return lambda x, shape: reshape(x, target)

    def function(x: Any, shape: Any) -> Array:
        sizes = ints(shape)
        if not keep_zero:
            if any(size == 0 and i >= x.ndim for i, size in enumerate(sizes)):
                raise errors.InvalidArgumentError(
                    message=f"shape {sizes} copies a size that x of rank {x.ndim} does not have"
                )
            sizes = [size or x.shape[i] for i, size in enumerate(sizes)]
        return reshape(x, tuple(sizes))

    return function


def reshape(x: Any, shape: tuple[int, ...]) -> Array:
    """numpy's reshape, with words that say what does not fit."""
    if len(shape) > 16:
        raise errors.InvalidArgumentError(message=f"the shape has rank {len(shape)}, at most 16")
    if min(shape, default=0) < -1:
        raise errors.InvalidArgumentError(
            message=f"shape {list(shape)} has a negative size, expected 0 or more, or one -1"
        )
    try:
        result: Array = x.reshape(shape)
        return result
    except ValueError:
        raise errors.InvalidArgumentError(
            message=f"cannot reshape {x.size} elements of shape {list(x.shape)} to {list(shape)}"
        ) from None


@kernel("Squeeze", since=13, types="AI")
def _squeeze(call: Call) -> Function:
    def squeeze(x: Any, axes: Any = None) -> Any:
        chosen = (
            [i for i, n in enumerate(x.shape) if n == 1]
            if axes is None
            else axes_of(ints(axes), x.ndim)
        )
        for axis in chosen:
            if x.shape[axis] != 1:
                raise errors.InvalidArgumentError(
                    message=f"axis {axis} of shape {list(x.shape)} has size {x.shape[axis]}, "
                    "expected 1"
                )
        return x.reshape([n for i, n in enumerate(x.shape) if i not in chosen])

    return squeeze


@kernel("Unsqueeze", since=13, types="AI")
def _unsqueeze(call: Call) -> Function:
    def unsqueeze(x: Any, axes: Any) -> Any:
        chosen = ints(axes)
        rank = x.ndim + len(chosen)
        positions = axes_of(chosen, rank)
        rest = iter(x.shape)
        return x.reshape([1 if i in positions else next(rest) for i in range(rank)])

    return unsqueeze


@kernel("Flatten", types="A")
def _flatten(call: Call) -> Function:
    axis = call.integer("axis", 1)

    def flatten(x: Any) -> Any:
        scalar = x.ndim == 0 and axis == 1  # the attributes of a node without an effect
        at = x.ndim if scalar or axis == x.ndim else axis_of(axis, x.ndim)
        return x.reshape(int(np.prod(x.shape[:at])), int(np.prod(x.shape[at:])))

    return flatten


@kernel("Transpose", types="A")
def _transpose(call: Call) -> Function:
    order = call.integers("perm")

    right = None if order is None or sorted(order) != list(range(len(order))) else len(order)

    def transpose(x: Any) -> Any:
        if order is not None and right != x.ndim:
            raise errors.InvalidArgumentError(
                message=f"perm is {order}, expected an order of the {x.ndim} axes"
            )
        return x.transpose(order)

    return transpose


@kernel("Expand", since=8, types="AI")
def _expand(call: Call) -> Function:
    return lambda x, shape: expand_to(x, tuple(ints(shape)))


def expand_to(x: Any, target: tuple[int, ...]) -> Any:
    """x repeated to a shape that it broadcasts with."""
    if x.shape == target:
        return x
    if x.ndim == 0 and 0 <= min(target):  # np.broadcast_to in a fifth of its time
        return np.ndarray(target, x.dtype, x, 0, (0,) * len(target))
    try:
        return np.broadcast_to(x, np.broadcast_shapes(x.shape, target))
    except (ValueError, RuntimeError):  # of shapes that differ, and of too many axes
        raise errors.InvalidArgumentError(
            message=f"shape {list(x.shape)} does not broadcast with {list(target)}"
        ) from None


@kernel("Tile", since=6, types="AI", fresh=True)
def _tile(call: Call) -> Function:
    def tile(x: Any, repeats: Any) -> Any:
        counts = ints(repeats)
        if len(counts) != x.ndim or any(n < 0 for n in counts):
            raise errors.InvalidArgumentError(
                message=f"repeats are {counts}, expected {x.ndim} numbers >= 0"
            )
        return np.tile(x, counts)

    return tile


# ---- parts ----


@kernel("Concat", since=4, types="A*", fresh=True)
def _concat(call: Call) -> Function:
    axis = call.integer("axis", 0)

    def concat(*parts: Any) -> Any:
        at = axis_of(axis, parts[0].ndim)
        try:
            return np.concatenate(parts, at)
        except ValueError:
            shapes = ", ".join(str(list(p.shape)) for p in parts)
            raise errors.InvalidArgumentError(
                message=f"shapes {shapes} must agree except along axis {at}"
            ) from None

    return concat


@kernel("Slice", since=10, types="AIIII")
def _slice(call: Call) -> Function:
    fixed = [call.constant(i) for i in range(1, len(call.dtypes))]
    given = [number >= 0 for number in call.dtypes[1:]]
    if all(c is not None for c, g in zip(fixed, given, strict=True) if g):
        vectors = [None if c is None else ints(c) for c in fixed]
        return lambda x, *rest: x[_slices(x.shape, *vectors)]
    return lambda x, *rest: x[_slices(x.shape, *[None if r is None else ints(r) for r in rest])]


def _slices(
    shape: Sequence[int],
    starts: Sequence[int] | None = None,
    ends: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    steps: Sequence[int] | None = None,
) -> tuple[slice | Any, ...]:
    starts, ends = starts or [], ends or []
    chosen = axes_of(range(len(starts)) if axes is None else axes, len(shape))
    strides = [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(chosen) == len(strides):
        raise errors.InvalidArgumentError(
            message=f"{len(starts)} starts, {len(ends)} ends, {len(chosen)} axes and "
            f"{len(strides)} steps; expected as many of each"
        )
    index: list[Any] = [slice(None)] * len(shape)
    for start, end, axis, step in zip(starts, ends, chosen, strides, strict=True):
        if step == 0:
            raise errors.InvalidArgumentError(message=f"the step of axis {axis} is 0")
        # An end below -size means "to the very first" going backwards, as in Python.
        index[axis] = slice(start, end, step)
    return (*index, ...)


@kernel("Split", since=13, types="AI")
def _split(call: Call) -> Function:
    axis, count = call.integer("axis", 0), len(call.outputs)
    requested = call.integer("num_outputs", count)

    def split(x: Any, sizes: Any = None) -> Any:
        at = axis_of(axis, x.ndim)
        length = x.shape[at]
        if requested != count:
            raise errors.InvalidArgumentError(
                message=f"num_outputs is {requested}, the node has {count} outputs"
            )
        parts = _even(length, count) if sizes is None else ints(sizes)
        uneven = sizes is None and length % count != 0
        if uneven and (call.version < 18 or parts[0] * (count - 1) > length):
            raise errors.InvalidArgumentError(
                message=f"an axis of {length} cannot be split into {count} equal parts; give split"
            )
        if len(parts) != count or sum(parts) != length or min(parts, default=0) < 0:
            raise errors.InvalidArgumentError(
                message=f"axis {at} of size {length} cannot be split into {count} parts of sizes "
                f"{parts}"
            )
        ends = itertools.accumulate(parts)
        pairs = zip(ends, parts, strict=True)
        results = tuple([x[along(at, slice(end - n, end))] for end, n in pairs])
        return results[0] if count == 1 else results

    return split


def _even(length: int, count: int) -> list[int]:
    """Equal sizes, the last one smaller."""
    size = -(-length // count)
    return [min(size, max(0, length - i * size)) for i in range(count)]


# ---- padding ----


@kernel("Pad", since=11, types="AIAI", fresh=True)
def _pad(call: Call) -> Function:
    mode = call.text("mode", "constant")
    pad_with: Any = np.pad
    if mode not in ("constant", "reflect", "edge", "wrap"):
        raise errors.UnimplementedError(message=f"mode {mode!r}")

    def pad(x: Any, pads: Any, value: Any = None, axes: Any = None) -> Any:
        widths = _widths(ints(pads), None if axes is None else ints(axes), x.ndim)
        sizes = [a + n + b for (a, b), n in zip(widths, x.shape, strict=True)]
        if min(sizes, default=0) < 0:
            raise errors.InvalidArgumentError(
                message=f"pads {widths} crop more than shape {list(x.shape)} has"
            )
        if mode == "constant":
            return _pad_constant(x, widths, sizes, _fill(x, value))
        if 0 in sizes or not sizes:
            return x.copy() if not sizes else np.empty(sizes, x.dtype)
        kept = x[_cropped(x.shape, widths)]
        if 0 in kept.shape:
            raise errors.InvalidArgumentError(
                message=f"axis {kept.shape.index(0)} has no elements that mode {mode!r} could "
                "repeat"
            )
        return pad_with(kept, [(max(0, a), max(0, b)) for a, b in widths], mode=mode)

    return pad


def _cropped(shape: Sequence[int], widths: Sequence[tuple[int, int]]) -> tuple[slice, ...]:
    """The part of an array that negative widths leave."""
    pairs = zip(widths, shape, strict=True)
    return tuple(slice(max(0, -a), max(0, n - max(0, -b))) for (a, b), n in pairs)


def _widths(pads: list[int], axes: list[int] | None, rank: int) -> list[tuple[int, int]]:
    chosen = list(range(rank)) if axes is None else axes_of(axes, rank)
    if len(pads) != 2 * len(chosen):
        raise errors.InvalidArgumentError(
            message=f"{len(pads)} pads for {len(chosen)} axes, expected two for each"
        )
    widths = [(0, 0)] * rank
    for i, axis in enumerate(chosen):
        widths[axis] = (pads[i], pads[i + len(chosen)])
    return widths


def _fill(x: Any, value: Any) -> Any:
    if value is None:
        return b"" if x.dtype.kind == "O" else 0
    return np.asarray(value).reshape(-1)[0]


def _pad_constant(
    x: Any, widths: Sequence[tuple[int, int]], sizes: Sequence[int], value: Any
) -> Array:
    result = np.full(sizes, value, x.dtype)
    kept = x[_cropped(x.shape, widths)]
    if kept.size:
        starts = [max(0, a) for a, _ in widths]
        result[tuple(slice(a, a + n) for a, n in zip(starts, kept.shape, strict=True))] = kept
    return result


# ---- making ----


@kernel("ConstantOfShape", since=9, types="I", fresh=True)
def _constant_of_shape(call: Call) -> Function:
    given = call.array("value")
    value = np.zeros(1, np.float32) if given is None else given
    if value.size != 1:
        raise errors.InvalidArgumentError(message=f"value has {value.size} elements, expected 1")

    def constant_of_shape(shape: Any) -> Array:
        sizes = ints(shape)
        if any(n < 0 for n in sizes):
            raise errors.InvalidArgumentError(message=f"shape {sizes} has a negative size")
        return np.full(sizes, value.reshape(-1)[0], value.dtype)

    return constant_of_shape


@kernel("Range", since=11, types="NNN", fresh=True)
def _range(call: Call) -> Function:
    def sequence(start: Any, limit: Any, delta: Any) -> Any:
        if any(np.size(v) != 1 for v in (start, limit, delta)):
            raise errors.InvalidArgumentError(message="start, limit and delta must be scalars")
        first, last, step = start.item(), limit.item(), delta.item()
        floating = start.dtype.kind == "f"
        if step == 0 or (floating and not (last - first) / step < 9e15):
            raise errors.InvalidArgumentError(
                message=f"from {first} to {last} by {step} has no end"
            )
        count = max(
            0, int(np.ceil((last - first) / step)) if floating else -((first - last) // step)
        )
        if count > sys.maxsize:
            raise errors.InvalidArgumentError(message=f"{count} numbers are too many")
        steps = np.arange(count).astype(start.dtype)
        return start.reshape(()) + steps * delta.reshape(())

    return sequence


@kernel("OneHot", since=9, types="NMA", fresh=True)
def _one_hot(call: Call) -> Function:
    axis = call.integer("axis", -1)

    def one_hot(indices: Any, depth: Any, values: Any) -> Any:
        numbers, rank = np.asarray(depth).reshape(-1).tolist(), indices.ndim + 1
        if len(numbers) != 1 or not 0 <= numbers[0] < 9e15:
            raise errors.InvalidArgumentError(
                message=f"depth is {numbers}, expected one number, at least 0"
            )
        if values.size != 2:
            raise errors.InvalidArgumentError(
                message=f"values has shape {list(values.shape)}, expected two elements: off and on"
            )
        size = int(numbers[0])
        at = axis_of(axis, rank)
        requested = np.expand_dims(_positions(indices, size), at)
        positions = np.arange(size).reshape([size if i == at else 1 for i in range(rank)])
        return np.where(requested == positions, *values.reshape(-1)[::-1]).astype(
            values.dtype, copy=False
        )

    return one_hot


def _positions(indices: Any, size: int) -> Array:
    """Indices as int64, counted from the front; floats lose their fraction. -1: out of range."""
    whole = np.trunc(indices) if indices.dtype.kind == "f" else indices
    inside = (whole < size) & (whole >= (0 if indices.dtype.kind == "u" else -size))
    positions = np.where(inside, whole, 0).astype(np.int64)
    return np.where(inside, np.where(positions < 0, positions + size, positions), -1)
