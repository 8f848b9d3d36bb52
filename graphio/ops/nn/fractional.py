"""Pooling over windows whose sizes differ by one, so that it shrinks a picture by any ratio.

Rows and columns are cut at positions that a run draws (Graham 2015, https://arxiv.org/abs/1412.6071).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphio.framework import dtypes, scopes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import index
from graphio.ops.array import surface as array
from graphio.ops.array.order import argsort
from graphio.ops.base.emit import scalar
from graphio.ops.base.primitive import select
from graphio.ops.math import arithmetic, comparison, elementwise, reduction
from graphio.ops.random import core as random
from graphio.ops.random import stateless
from graphio.support import api_guard

__all__ = ["fractional_avg_pool", "fractional_max_pool"]

_DTYPES = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)


class Pooled(NamedTuple):
    """The result, and the first row and column of each window, with the size at the end."""

    output: Tensor
    row_pooling_sequence: Tensor
    col_pooling_sequence: Tensor


@api_guard.operator
def fractional_max_pool(
    value: Any,
    pooling_ratio: Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Pooled:
    """The maximum of each window, where windows have one of two neighbouring sizes.

    Args:
        value: (n, height, width, c) of known height and width; float32, float64, int32 or int64.
        pooling_ratio: four numbers of 1 or more, of which the first and the last are 1: the height
            and width of the result are those of value divided by the others, rounded down.
        pseudo_random: True: the borders of windows are those of equal parts, shifted at random and
            rounded up. False: the sizes of windows are in a random order.
        overlapping: True: the last row and column of a window are also the first of the next.
        deterministic: True: all runs have the same windows.
        seed, seed2: of the random numbers; both 0: the graph's seed. The numbers are not those of
            TensorFlow.
        name: of the operations.

    Returns:
        (output, row_pooling_sequence, col_pooling_sequence): the latter are int64 vectors with the
        first row, or column, of each window, and at the end the number of them all.

    Raises:
        TypeError: value has another dtype.
        ValueError: the height or width is unknown, or pooling_ratio does not fit.
    """
    return _pooled("FractionalMaxPool", value, pooling_ratio, pseudo_random, overlapping,
                   deterministic, (seed, seed2), name, _maxima)  # fmt: skip


@api_guard.operator
def fractional_avg_pool(
    value: Any,
    pooling_ratio: Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Pooled:
    """The mean of each window; see fractional_max_pool. Means of integers are rounded to zero."""
    return _pooled("FractionalAvgPool", value, pooling_ratio, pseudo_random, overlapping,
                   deterministic, (seed, seed2), name, _means)  # fmt: skip


def _pooled(
    op: str, value: Any, ratio: Sequence[float], pseudo_random: bool, overlapping: bool,
    deterministic: bool, seeds: tuple[int, int], name: str | None,
    reduce: Callable[[Tensor, list[tuple[Tensor, Tensor]]], Tensor],
) -> Pooled:  # fmt: skip
    with scopes.name_scope(name, op):
        x = convert_to_tensor(value, name="value")
        if x.dtype not in _DTYPES:
            raise TypeError(
                f"{op}: value is {x.dtype.name}, expected {', '.join(d.name for d in _DTYPES)}"
            )
        sizes = _sizes(op, x, ratio)
        cut = _shifted if pseudo_random else _ordered
        rows, columns = (
            cut(*size, _uniform(seeds, axis, deterministic)) for axis, size in enumerate(sizes)
        )
        windows = [
            _windows(borders, *size, overlapping)
            for borders, size in zip((rows, columns), sizes, strict=True)
        ]
        return Pooled(reduce(x, windows), rows, columns)


def _sizes(op: str, x: Tensor, ratio: Sequence[float]) -> list[tuple[int, int]]:
    """Before and after, of height and width."""
    if len(ratio) != 4 or min(ratio) < 1.0 or (ratio[0], ratio[3]) != (1.0, 1.0):
        raise ValueError(
            f"{op}: pooling_ratio is {list(ratio)}, expected four numbers of 1 or more, the first "
            "and the last of which are 1"
        )
    if x.shape.ndims != 4 or None in x.shape.as_list()[1:3]:
        raise ValueError(
            f"{op}: value has shape {x.shape}, expected (n, height, width, channels) with known "
            "height and width; set_shape says them"
        )
    before = [int(size or 0) for size in x.shape.as_list()[1:3]]
    found = [(s, int(np.floor(s / r))) for s, r in zip(before, ratio[1:3], strict=True)]
    if min(after for _, after in found) < 1:
        raise ValueError(f"{op}: pooling_ratio is {list(ratio)}, above the sizes of {x.shape}")
    return found


# ---- borders of windows ----


def _uniform(seeds: tuple[int, int], axis: int, same: bool) -> Callable[[Sequence[int]], Tensor]:
    """The source of an axis's random numbers in [0, 1), float64; the same in all runs or not."""
    seed, second = seeds

    def every_run(shape: Sequence[int]) -> Tensor:
        start = [(seed << 1) + axis, second]
        return stateless.stateless_uniform(shape, seed=start, dtype=dtypes.float64)

    def each_run(shape: Sequence[int]) -> Tensor:
        start = None if seeds == (0, 0) else 2 * (seed * 1_000_003 + second) + axis
        return random.random_uniform(shape, seed=start, dtype=dtypes.float64)

    return every_run if same else each_run


def _ordered(size: int, count: int, draw: Callable[[Sequence[int]], Tensor]) -> Tensor:
    """Borders of windows whose sizes are in a random order."""
    base = size // count
    lengths = np.full(count, base, np.int64)
    lengths[: size - base * count] += 1
    mixed = index.gather(constant(lengths), argsort(draw([count])))
    return array.concat([np.zeros(1, np.int64), reduction.cumsum(mixed)], 0)


def _shifted(size: int, count: int, draw: Callable[[Sequence[int]], Tensor]) -> Tensor:
    """Borders of equal parts, shifted and rounded up so that no window has a third size."""
    part, base = size / count, size // count
    most = min((base + 2) / part - 1, (size + 1 - base) / part - (count - 1))
    steps = np.arange(1, count, dtype=np.float64)
    shift = elementwise.maximum(draw([1]), 1e-12) * most  # above 0: none of the sizes is a third
    inner = elementwise.ceil((shift + steps) * part)
    borders = elementwise.cast(inner, dtypes.int64) - np.int64(1)
    return array.concat([np.zeros(1, np.int64), borders, np.array([size], np.int64)], 0)


# ---- pooling ----


def _windows(borders: Tensor, size: int, count: int, overlapping: bool) -> tuple[Tensor, Tensor]:
    """The positions in each window (count, longest), the last one repeated; which are not."""
    first, following = borders[:-1], borders[1:]
    last = following if overlapping else following - np.int64(1)
    longest = np.arange(size // count + 1 + int(overlapping), dtype=np.int64)
    at = array.expand_dims(first, 1) + longest
    ends = array.expand_dims(elementwise.minimum(last, np.int64(size - 1)), 1)
    return elementwise.minimum(at, ends), comparison.less_equal(at, ends)


def _maxima(x: Tensor, windows: list[tuple[Tensor, Tensor]]) -> Tensor:
    for axis, (at, _) in enumerate(windows, start=1):
        x = reduction.reduce_max(index.gather(x, at, axis=axis), axis + 1)
    return x


def _means(x: Tensor, windows: list[tuple[Tensor, Tensor]]) -> Tensor:
    """Sums first: the quotients of integers are rounded once."""
    counts = array.ones([], x.dtype)
    for axis, (at, inside) in enumerate(windows, start=1):
        elements = index.gather(x, at, axis=axis)
        along = array.reshape(inside, [*inside.shape.as_list(), *[1] * (3 - axis)])
        x = reduction.reduce_sum(select(along, elements, scalar(0, x.dtype)), axis + 1)
        own = reduction.reduce_sum(elementwise.cast(inside, x.dtype), 1)
        counts = array.expand_dims(counts, -1) * own
    counts = array.expand_dims(counts, -1)
    return arithmetic.truncatediv(x, counts) if x.dtype.is_integer else x / counts
