"""Draws by a seed, composed of ONNX's operators on integers of 64 bits."""

from __future__ import annotations

import math as _math
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.math import bits, comparison, elementwise, reduction

__all__ = ["integers", "normal", "truncated_normal", "uniform"]

Attributes = Mapping[str, Any]
U = dtypes.uint64
_LOW = (1 << 32) - 1
_SEED_KEY = 0x02461E293EC8F720
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
_MIX_STEP, _MIX_FACTORS = 0x9E3779B97F4A7C15, (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
#: Of the blocks that a truncated number may take; one in 10^21 finds no number inside them.
_ATTEMPTS = 4


def uniform(given: Sequence[Any], attrs: Attributes) -> list[Tensor]:
    """StatelessRandomUniform of shape and seed."""
    dtype = dtypes.of_number(attrs["dtype"])
    return [_shaped(given, _unit(_words(given, dtype.size), dtype.size, dtype), dtype)]


def normal(given: Sequence[Any], attrs: Attributes) -> list[Tensor]:
    """StatelessRandomNormal of shape and seed."""
    dtype = dtypes.of_number(attrs["dtype"])
    words = array.reshape(_words(given, dtype.size, even=True), [-1, 2])
    pairs = _box_muller(words[:, 0], words[:, 1], dtype.size)
    return [_shaped(given, array.reshape(pairs, [-1])[: _count(given)], dtype)]


def truncated_normal(given: Sequence[Any], attrs: Attributes) -> list[Tensor]:
    """StatelessRandomTruncatedNormal of shape and seed: of each element the first number inside
    (-2, 2) of its blocks."""
    low = _positions(_count(given))
    words = [
        array.stack(
            _philox(_key(given[1]), low, elementwise.cast(array.fill(array.shape(low), i), U)), 1
        )
        for i in range(1, _ATTEMPTS + 1)
    ]
    all_words = array.reshape(array.concat(words, 1), [-1, 2])
    pairs = _box_muller(all_words[:, 0], all_words[:, 1], 4)
    candidates = array.reshape(pairs, [-1, 4 * _ATTEMPTS])
    inside = elementwise.cast(
        comparison.less(elementwise.abs(candidates), _double(2.0)), dtypes.int32
    )
    positions = array.range(4 * _ATTEMPTS, dtype=dtypes.int64)
    first = comparison.equal(array.expand_dims(reduction.argmax(inside, 1), 1), positions)
    found = reduction.reduce_sum(array.where(first, candidates, array.zeros_like(candidates)), 1)
    return [_shaped(given, found, dtypes.of_number(attrs["dtype"]))]


def integers(given: Sequence[Any], attrs: Attributes) -> list[Tensor]:
    """StatelessRandomInteger of shape, seed, low and high."""
    dtype = dtypes.of_number(attrs["dtype"])
    words = _words(given, dtype.size)
    if len(given) == 2:
        return [_shaped(given, words, dtype)]
    low, high = (elementwise.cast(array.reshape(x, []), U) for x in given[2:])
    scaled = _mul_high if dtype.size == 8 else _high_half
    return [_shaped(given, scaled(words, high - low) + low, dtype)]


# ---- words ----


def _u(value: int) -> Tensor:
    return constant(np.uint64(value))


def _double(value: float) -> Tensor:
    return constant(np.float64(value))


def _xor(*parts: Tensor) -> Tensor:
    return reduce(bits.bitwise_xor, parts)


def _high_half(x: Tensor, y: Tensor) -> Tensor:
    """The high 32 bits of the result of multiplying 32-bit integers."""
    return bits.right_shift(x * y, _u(32))


def _low_half(x: Tensor) -> Tensor:
    return bits.bitwise_and(x, _u(_LOW))


def _mul_high(x: Tensor, y: Tensor) -> Tensor:
    """The high 64 bits of the result of multiplying 64-bit integers."""
    x0, x1, y0, y1 = _low_half(x), _halved(x), _low_half(y), _halved(y)
    middle = x1 * y0 + _high_half(x0, y0)
    cross = x0 * y1 + _low_half(middle)
    return x1 * y1 + _halved(middle) + _halved(cross)


def _halved(x: Tensor) -> Tensor:
    return bits.right_shift(x, _u(32))


def _philox(key: Tensor, low: Tensor, high: Tensor) -> list[Tensor]:
    """The four words of each block, 32 bits in 64."""
    counter = [_low_half(low), _halved(low), _low_half(high), _halved(high)]
    keys = [_low_half(key), _halved(key)]
    for _ in range(10):
        first, second = counter[0] * _u(_MULTIPLIERS[0]), counter[2] * _u(_MULTIPLIERS[1])
        counter = [
            _xor(_halved(second), counter[1], keys[0]),
            _low_half(second),
            _xor(_halved(first), counter[3], keys[1]),
            _low_half(first),
        ]
        keys = [_low_half(k + _u(step)) for k, step in zip(keys, _KEY_STEPS, strict=True)]
    return counter


def _wide(low: Tensor, high: Tensor) -> Tensor:
    return bits.bitwise_or(low, bits.left_shift(high, _u(32)))


def _key(seed: Tensor) -> Tensor:
    """The key of a seed; see StatelessRandomUniform in schema/graphio_operators.json."""
    given = elementwise.cast(seed, U)
    words = _philox(_u(_SEED_KEY), given[0], given[1])
    state = _wide(words[0], words[1])
    for word in (_u(0), _wide(words[2], words[3])):
        state = _xor(state, word) + _u(_MIX_STEP)
        for shift, factor in zip((30, 27), _MIX_FACTORS, strict=True):
            state = _xor(state, bits.right_shift(state, _u(shift))) * _u(factor)
        state = _xor(state, bits.right_shift(state, _u(31)))
    return state


def _count(given: Sequence[Any]) -> Tensor:
    return reduction.reduce_prod(elementwise.cast(given[0], dtypes.int64))


def _positions(count: Tensor) -> Tensor:
    """0 ... count - 1."""
    return elementwise.cast(array.range(count), U)


def _words(given: Sequence[Any], size: int, even: bool = False) -> Tensor:
    """A word of 32 or 64 bits, for `size` 4 or 8, for each element; one more to be even."""
    count = _count(given)
    if even:
        count = count + elementwise.mod(count, constant(np.int64(2)))
    per_block = constant(np.int64(16 // size))
    low = _positions(elementwise.floordiv(count + per_block - constant(np.int64(1)), per_block))
    words = _philox(_key(given[1]), low, array.zeros_like(low))
    if size == 8:
        words = [_wide(words[0], words[1]), _wide(words[2], words[3])]
    return array.reshape(array.stack(words, 1), [-1])[:count]


def _shaped(given: Sequence[Any], values: Tensor, dtype: dtypes.DType) -> Tensor:
    return array.reshape(elementwise.cast(values, dtype), given[0])


# ---- numbers ----


def _unit(words: Tensor, size: int, dtype: dtypes.DType, more: int = 0) -> Tensor:
    """Numbers of [0, 1), or of (0, 1] with `more` 1; `size` is the words', 4 or 8 bytes."""
    shift, scale = (8, 2.0**-24) if size == 4 else (11, 2.0**-53)
    whole = bits.right_shift(words, _u(shift)) + _u(more)
    return elementwise.cast(whole, dtype) * constant(np.asarray(scale, dtype.as_numpy_dtype))


def _box_muller(first: Tensor, second: Tensor, size: int) -> Tensor:
    """Pairs (n, 2) of normal float64 numbers of words (n)."""
    radius = elementwise.sqrt(
        _double(-2.0) * elementwise.log(_unit(first, size, dtypes.float64, 1))
    )
    angle = _double(2 * _math.pi) * _unit(second, size, dtypes.float64)
    return array.stack([radius * elementwise.cos(angle), radius * elementwise.sin(angle)], 1)
