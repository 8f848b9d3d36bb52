"""Pooling over windows whose sizes differ by one, so that it shrinks a picture by any ratio.

Rows and columns are cut at positions that a run draws (Graham 2015, https://arxiv.org/abs/1412.6071).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import index, shaping
from graphio.ops.array import surface as array
from graphio.ops.array.filling import range as numbers_to
from graphio.ops.array.order import argsort
from graphio.ops.base.emit import scalar
from graphio.ops.base.primitive import select
from graphio.ops.checks.assertion import once
from graphio.ops.math import arithmetic, comparison, elementwise, reduction
from graphio.ops.random import core as random
from graphio.ops.random import stateless
from graphio.support import api_guard

__all__ = ["fractional_avg_pool", "fractional_max_pool"]

_DTYPES = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)


#: of an axis: a number, or an int64 scalar that the run knows
Size = Any


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
        value: (n, height, width, c); float32, float64, int32 or int64.
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
        TypeError: value has another dtype, or pooling_ratio is not a list.
        ValueError: the rank is not 4, or pooling_ratio does not fit; where the run knows the sizes,
            an InvalidArgumentError of the run.
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
        if x.shape.ndims is None:
            x = shaping.ensure_shape(x, [None] * 4)
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


def _sizes(op: str, x: Tensor, ratio: Sequence[float]) -> list[tuple[Size, Size]]:
    """Before and after, of height and width."""
    if not isinstance(ratio, (list, tuple, np.ndarray)):
        raise TypeError(f"{op}: pooling_ratio is {ratio!r}, expected a list of four numbers")
    if len(ratio) != 4 or not all(r >= 1.0 for r in ratio) or (ratio[0], ratio[3]) != (1.0, 1.0):
        raise ValueError(
            f"{op}: pooling_ratio is {list(ratio)}, expected four numbers of 1 or more, the first "
            "and the last of which are 1"
        )
    if x.shape.ndims != 4:
        raise ValueError(f"{op}: value has shape {x.shape}, expected (n, height, width, channels)")
    words = f"{op}: pooling_ratio is {list(ratio)}, above the sizes of the value"
    return [_shrunk(x, axis, ratio[axis], words) for axis in (1, 2)]


def _shrunk(x: Tensor, axis: int, ratio: float, words: str) -> tuple[Size, Size]:
    """The size of an axis and that over the ratio, rounded down: numbers, or known by the run."""
    known = x.shape[axis].value
    if known is not None:
        if known < ratio:
            raise ValueError(words)
        return int(known), int(np.floor(known / ratio))
    shape: Any = array.shape(x)
    size = elementwise.cast(shape[axis], dtypes.int64)
    count = elementwise.cast(elementwise.floor(_real(size) / ratio), dtypes.int64)
    return size, once(count, comparison.greater_equal(count, np.int64(1)), words)


def _real(size: Size) -> Any:
    return elementwise.cast(size, dtypes.float64) if isinstance(size, Tensor) else np.float64(size)


def _numbers(first: int, end: Size) -> Tensor:
    """The integers from first to before end, int64."""
    known = isinstance(end, int)
    return numbers_to(
        first, end if known else elementwise.cast(end, dtypes.int64), dtype=dtypes.int64
    )


# ---- borders of windows ----


def _uniform(seeds: tuple[int, int], axis: int, same: bool) -> Callable[[Any], Tensor]:
    """The source of an axis's random numbers in [0, 1), float64; the same in all runs or not."""
    seed, second = seeds

    def every_run(shape: Any) -> Tensor:
        start = [(seed << 1) + axis, second]
        return stateless.stateless_uniform(shape, seed=start, dtype=dtypes.float64)

    def each_run(shape: Any) -> Tensor:
        start = None if seeds == (0, 0) else 2 * (seed * 1_000_003 + second) + axis
        return random.random_uniform(shape, seed=start, dtype=dtypes.float64)

    return every_run if same else each_run


def _ordered(size: Size, count: Size, draw: Callable[[Any], Tensor]) -> Tensor:
    """Borders of windows whose sizes are in a random order."""
    base = size // count
    longer = comparison.less(_numbers(0, count), size - base * count)
    lengths = elementwise.cast(longer, dtypes.int64) + base
    shape = array.reshape(count, [1]) if isinstance(count, Tensor) else [count]
    mixed = index.gather(lengths, argsort(draw(shape)))
    return array.concat([np.zeros(1, np.int64), reduction.cumsum(mixed)], 0)


def _shifted(size: Size, count: Size, draw: Callable[[Any], Tensor]) -> Tensor:
    """Borders of equal parts, shifted and rounded up so that no window has a third size."""
    part, base = _real(size) / _real(count), _real(size // count)
    most = elementwise.minimum(
        (base + 2) / part - 1, (_real(size) + 1 - base) / part - (_real(count) - 1)
    )
    steps = elementwise.cast(_numbers(1, count), dtypes.float64)
    shift = elementwise.maximum(draw([1]), 1e-12) * most  # above 0: none of the sizes is a third
    inner = elementwise.cast(elementwise.ceil((shift + steps) * part), dtypes.int64)
    last = array.reshape(convert_to_tensor(size, dtypes.int64), [1])
    return array.concat([np.zeros(1, np.int64), inner - np.int64(1), last], 0)


# ---- pooling ----


def _windows(borders: Tensor, size: Size, count: Size, overlapping: bool) -> tuple[Tensor, Tensor]:
    """The positions in each window (count, longest), the last one repeated; which are not."""
    first, following = borders[:-1], borders[1:]
    last = following if overlapping else following - np.int64(1)
    at = array.expand_dims(first, 1) + _numbers(0, size // count + 1 + int(overlapping))
    end = convert_to_tensor(size, dtypes.int64) - np.int64(1)
    ends = array.expand_dims(elementwise.minimum(last, end), 1)
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
        along = inside
        for _ in range(3 - axis):
            along = array.expand_dims(along, -1)
        x = reduction.reduce_sum(select(along, elements, scalar(0, x.dtype)), axis + 1)
        own = reduction.reduce_sum(elementwise.cast(inside, x.dtype), 1)
        counts = array.expand_dims(counts, -1) * own
    counts = array.expand_dims(counts, -1)
    return arithmetic.truncatediv(x, counts) if x.dtype.is_integer else x / counts
