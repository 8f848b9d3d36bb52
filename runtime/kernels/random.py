"""Random numbers: Philox words in order, the formulas of the table.

The words come from a generator of the state, or, of operators whose names begin with Stateless,
from a seed, the second input.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from graphio.runtime import philox
from graphio.runtime.kernels.array import ints
from graphio.runtime.registry import Array, Call, Function, kernel
from graphio.support import errors

_U32 = 2.0**-24
_U64 = 2.0**-53
_FULL = ("int32", "int64", "uint32", "uint64")  # types that are drawn over their full range
#: draws: a key and the first counter of so many blocks
Draw = Callable[[int], tuple[int, int]]
#: the function of a draw: of the key's source, the shape and other inputs
Formula = Callable[..., Any]


def _sizes(shape: Any) -> tuple[list[int], int]:
    sizes = ints(shape)
    if any(n < 0 for n in sizes):
        raise errors.InvalidArgumentError(message=f"shape {sizes} has a negative size")
    return sizes, int(np.prod(sizes, dtype=np.int64))


def _words(draw: Draw, count: int) -> Any:
    """The next 32-bit words."""
    key, counter = draw(-(-count // 4))
    return philox.stream(key, counter, count)


def _of_seed(seed: Array) -> Draw:
    """Draws of a seed: always the same."""
    if seed.shape != (2,):
        raise errors.InvalidArgumentError(
            message=f"seed has shape {list(seed.shape)}, expected two integers of shape (2)"
        )
    key = philox.key_of_seed(int(seed[0]), int(seed[1]))
    return lambda blocks: (key, 0)


def _both(op: str, more: str = "") -> Callable[[Callable[[Any], Formula]], None]:
    """Registers a formula for the operator and for the stateless one.

    `more` has the letters of the inputs after the shape.
    """

    def register(formula_of: Callable[[Any], Formula]) -> None:
        def stateful(call: Call) -> Function:
            state, formula = call.state, formula_of(call.dtype("dtype"))
            assert state is not None
            generator = state.generator(call.text("generator", ""))
            return lambda shape, *rest: formula(partial(state.draw, generator), shape, *rest)

        def stateless(call: Call) -> Function:
            formula = formula_of(call.dtype("dtype"))
            return lambda shape, seed, *rest: formula(_of_seed(seed), shape, *rest)

        kernel(op, domain="graphio", types=f"I{more}", fresh=True, fold=False)(stateful)
        kernel(f"Stateless{op}", domain="graphio", types=f"IL{more}", fresh=True)(stateless)

    return register


def _wide(words: Array) -> Any:
    """64-bit words from pairs, low half first."""
    low, high = words[0::2].astype(np.uint64), words[1::2].astype(np.uint64)
    return low | high << np.uint64(32)


@_both("RandomUniform")
def _uniform(dtype: Any) -> Formula:
    def uniform(draw: Draw, shape: Any) -> Any:
        sizes, count = _sizes(shape)
        if dtype == np.float64:
            return ((_wide(_words(draw, 2 * count)) >> np.uint64(11)) * _U64).reshape(sizes)
        words = _words(draw, count) >> np.uint32(8)
        return (words * np.float32(_U32)).astype(dtype).reshape(sizes)

    return uniform


def box_muller(u1: Array, u2: Array) -> Any:
    """Normal numbers in double: (n, 2) from (n) and (n)."""
    radius, angle = np.sqrt(-2.0 * np.log(u1)), 2.0 * np.pi * u2
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)


def _short_pair(words: Array) -> Any:
    """Normal numbers from pairs of 32-bit words (n, 2)."""
    parts = words >> np.uint32(8)
    return box_muller((parts[:, 0] + np.uint32(1)) * _U32, parts[:, 1] * _U32)


@_both("RandomNormal")
def _normal(dtype: Any) -> Formula:
    def normal(draw: Draw, shape: Any) -> Any:
        sizes, count = _sizes(shape)
        even = count + count % 2
        if dtype == np.float64:
            parts = _wide(_words(draw, 2 * even)).reshape(-1, 2) >> np.uint64(11)
            pairs = box_muller((parts[:, 0] + np.uint64(1)) * _U64, parts[:, 1] * _U64)
        else:
            pairs = _short_pair(_words(draw, even).reshape(-1, 2))
        return pairs.reshape(-1)[:count].astype(dtype).reshape(sizes)

    return normal


@_both("RandomTruncatedNormal")
def _truncated_normal(dtype: Any) -> Formula:
    def truncated_normal(draw: Draw, shape: Any) -> Any:
        sizes, count = _sizes(shape)
        key, counter = draw(count)
        result = np.empty(count)
        missing = np.arange(count, dtype=np.uint64)
        attempt = 1
        while missing.size:
            high = np.full(missing.size, attempt, np.uint64)
            words = philox.blocks(key, missing + np.uint64(counter), high)
            candidates = _short_pair(words.reshape(-1, 2)).reshape(-1, 4)
            inside = np.abs(candidates) < 2.0
            found = inside.any(axis=1)
            first = inside[found].argmax(axis=1)
            result[missing[found]] = candidates[found, first]
            missing = missing[~found]
            attempt += 1
        return result.astype(dtype).reshape(sizes)

    return truncated_normal


@_both("RandomInteger", "NN")
def _integer(dtype: Any) -> Formula:
    wide = dtype.itemsize == 8

    def words(draw: Draw, count: int) -> Any:
        return _wide(_words(draw, 2 * count)) if wide else _words(draw, count)

    def integer(draw: Draw, shape: Any, low: Any = None, high: Any = None) -> Any:
        sizes, count = _sizes(shape)
        if (low is None) != (high is None):
            raise errors.InvalidArgumentError(
                message="one of low and high is given: give both or none"
            )
        if low is None:
            if np.dtype(dtype).name not in _FULL:
                raise errors.InvalidArgumentError(
                    message=f"dtype is {np.dtype(dtype).name}, expected one of {', '.join(_FULL)}"
                )
            return words(draw, count).view(dtype).reshape(sizes)
        first, last = int(np.asarray(low).reshape(())), int(np.asarray(high).reshape(()))
        if last <= first:
            raise errors.InvalidArgumentError(
                message=f"low is {first} and high {last}, expected high > low"
            )
        span = np.uint64(last - first)
        if wide:
            offsets = _high_bits(words(draw, count), span)
        else:
            offsets = (words(draw, count).astype(np.uint64) * span) >> np.uint64(32)
        return (offsets + np.uint64(first % (1 << 64))).astype(dtype).reshape(sizes)

    return integer


def _high_bits(x: Array, y: np.uint64) -> Any:
    """The high 64 bits of x * y, which has 128."""
    low, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    x0, x1, y0, y1 = x & low, x >> shift, y & low, y >> shift
    middle = x1 * y0 + ((x0 * y0) >> shift)
    cross = x0 * y1 + (middle & low)
    return np.asarray(x1 * y1 + (middle >> shift) + (cross >> shift))
