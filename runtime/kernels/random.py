"""Random numbers from generators of the state: Philox words in order, the formulas of the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphio.runtime import philox
from graphio.runtime.kernels.array import ints
from graphio.runtime.registry import Array, Call, Function, kernel
from graphio.schema import errors

_U32 = 2.0**-24
_U64 = 2.0**-53
Take = Callable[[int], Array]


def _sizes(shape: Any) -> tuple[list[int], int]:
    sizes = ints(shape)
    if any(n < 0 for n in sizes):
        raise errors.InvalidArgumentError(message=f"shape {sizes} has a negative size")
    return sizes, int(np.prod(sizes, dtype=np.int64))


def _words(call: Call) -> Take:
    """The function that draws so many 32-bit words from the node's generator."""
    state = call.state
    assert state is not None
    generator = state.generator(call.text("generator", ""))

    def take(count: int) -> Any:
        key, counter = state.draw(generator, -(-count // 4))
        return philox.stream(key, counter, count)

    return take


def _wide(words: Array) -> Any:
    """64-bit words from pairs, low half first."""
    low, high = words[0::2].astype(np.uint64), words[1::2].astype(np.uint64)
    return low | high << np.uint64(32)


@kernel("RandomUniform", domain="graphio", types="I", fresh=True, fold=False)
def _uniform(call: Call) -> Function:
    take, dtype = _words(call), call.dtype("dtype")

    def uniform(shape: Any) -> Any:
        sizes, count = _sizes(shape)
        if dtype == np.float64:
            return ((_wide(take(2 * count)) >> np.uint64(11)) * _U64).reshape(sizes)
        return ((take(count) >> np.uint32(8)) * np.float32(_U32)).astype(dtype).reshape(sizes)

    return uniform


def box_muller(u1: Array, u2: Array) -> Any:
    """Normal numbers in double: (n, 2) from (n) and (n)."""
    radius, angle = np.sqrt(-2.0 * np.log(u1)), 2.0 * np.pi * u2
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)


def _short_pair(words: Array) -> Any:
    """Normal numbers from pairs of 32-bit words (n, 2)."""
    parts = words >> np.uint32(8)
    return box_muller((parts[:, 0] + np.uint32(1)) * _U32, parts[:, 1] * _U32)


@kernel("RandomNormal", domain="graphio", types="I", fresh=True, fold=False)
def _normal(call: Call) -> Function:
    take, dtype = _words(call), call.dtype("dtype")

    def normal(shape: Any) -> Any:
        sizes, count = _sizes(shape)
        even = count + count % 2
        if dtype == np.float64:
            parts = _wide(take(2 * even)).reshape(-1, 2) >> np.uint64(11)
            pairs = box_muller((parts[:, 0] + np.uint64(1)) * _U64, parts[:, 1] * _U64)
        else:
            pairs = _short_pair(take(even).reshape(-1, 2))
        return pairs.reshape(-1)[:count].astype(dtype).reshape(sizes)

    return normal


@kernel("RandomTruncatedNormal", domain="graphio", types="I", fresh=True, fold=False)
def _truncated_normal(call: Call) -> Function:
    state, dtype = call.state, call.dtype("dtype")
    assert state is not None
    generator = state.generator(call.text("generator", ""))

    def truncated_normal(shape: Any) -> Any:
        sizes, count = _sizes(shape)
        key, counter = state.draw(generator, count)
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


@kernel("RandomInteger", domain="graphio", types="INN", fresh=True, fold=False)
def _integer(call: Call) -> Function:
    take, dtype = _words(call), call.dtype("dtype")

    def integer(shape: Any, low: Any, high: Any) -> Any:
        first, last = int(np.asarray(low).reshape(())), int(np.asarray(high).reshape(()))
        if last <= first:
            raise errors.InvalidArgumentError(
                message=f"low is {first} and high {last}, expected high > low"
            )
        sizes, count = _sizes(shape)
        span = np.uint64(last - first)
        if dtype.itemsize == 8:
            offsets = _high_product(_wide(take(2 * count)), span)
        else:
            offsets = (take(count).astype(np.uint64) * span) >> np.uint64(32)
        return (offsets + np.uint64(first % (1 << 64))).astype(dtype).reshape(sizes)

    return integer


def _high_product(x: Array, y: np.uint64) -> Any:
    """The high 64 bits of the 128-bit products."""
    low, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    x0, x1, y0, y1 = x & low, x >> shift, y & low, y >> shift
    middle = x1 * y0 + ((x0 * y0) >> shift)
    cross = x0 * y1 + (middle & low)
    return np.asarray(x1 * y1 + (middle >> shift) + (cross >> shift))
