"""Random numbers that are functions of a seed: the same in every run.

The bits are the position and the seed, mixed by multiplications and shifts of 31-bit numbers.
"""

from __future__ import annotations

import math as _math
from typing import Any

from graphio import dtypes
from graphio.constants import convert_to_tensor
from graphio.dtypes import DType
from graphio.graph import Tensor
from graphio.ops import array, bits, comparison, math, reduction, run_checks
from graphio.ops.emit import INTEGER, describe, ints, require, scope
from graphio.ops.random import drawn_in, rounded_down

__all__ = [
    "stateless_categorical",
    "stateless_multinomial",
    "stateless_normal",
    "stateless_truncated_normal",
    "stateless_uniform",
]

_MASK = (1 << 31) - 1
#: odd multipliers whose products with 31-bit numbers fit into 62 bits
_FACTORS = (0x7FEB352D, 0x446CA68B, 0x31848BAB)
_TRIES = 8


def _mixed(x: Tensor) -> Tensor:
    """31-bit numbers as others that depend on every bit of them."""
    for shift, factor in zip((16, 15, 14), _FACTORS, strict=True):
        x = bits.bitwise_xor(x, bits.right_shift(x, _wide(shift)))
        x = bits.bitwise_and(x * factor, _wide(_MASK))
    return bits.bitwise_xor(x, bits.right_shift(x, _wide(16)))


def _wide(value: int) -> Tensor:
    return convert_to_tensor(value, dtypes.int64)


def _words(shape: Tensor, seed: Any, op: str, at: str, which: int) -> Tensor:
    """31-bit numbers of a shape; other ones for another `which`."""
    given = convert_to_tensor(seed, name="seed")
    require(given, INTEGER, op, "seed")
    if not given.shape.is_compatible_with([2]):
        raise ValueError(f"seed must have shape [2], not {given.shape} for {describe(at, op)}")
    key, state = math.cast(given, dtypes.int64), _wide(0x2545F491 + which)
    for place in (0, 1):
        for shift in (0, 31, 62):
            part = bits.bitwise_and(bits.right_shift(key[place], _wide(shift)), _wide(_MASK))
            state = _mixed(bits.bitwise_xor(state, part))
    count = reduction.reduce_prod(math.cast(shape, dtypes.int64))
    low = bits.bitwise_and(array.range(count), _wide(_MASK))
    return array.reshape(_mixed(bits.bitwise_xor(_mixed(low), state)), shape)


def _unit(shape: Tensor, seed: Any, dtype: DType, op: str, at: str, which: int = 0) -> Tensor:
    """Numbers in [0, 1)."""
    first = _words(shape, seed, op, at, 2 * which)
    if dtype == dtypes.float32:
        return math.cast(bits.right_shift(first, _wide(7)), dtype) * 2.0**-24
    second = bits.right_shift(_words(shape, seed, op, at, 2 * which + 1), _wide(9))
    return (math.cast(first, dtype) * 2.0**22 + math.cast(second, dtype)) * 2.0**-53


def _real(dtype: Any, op: str) -> DType:
    wanted = dtypes.as_dtype(dtype).base_dtype
    if wanted not in (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64):
        raise TypeError(
            f"{op}: dtype is {wanted.name}, expected float16, bfloat16, float32 or float64"
        )
    return wanted


def stateless_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Numbers from [minval, maxval), all alike probable, a function of the seed.

    Args:
        shape: of the result.
        seed: two integers, or an integer tensor of shape (2).
        minval: lower bound.
        maxval: upper bound, not included; None: 1 for floats.
        dtype: float16, bfloat16, float32, float64, int32 or int64; of integers, ranges below 2^31.
        name: of the operation.

    Raises:
        ValueError: seed is not of shape (2); dtype is an integer and maxval is not given.
        TypeError: dtype is none of these.
        InvalidArgumentError: of the run: a range of integers that is empty or too large.
    """
    op = "stateless_random_uniform"
    wanted = dtypes.as_dtype(dtype).base_dtype
    with scope(name, op) as at:
        sizes = ints(shape, op, "shape")
        if wanted in (dtypes.int32, dtypes.int64):
            if maxval is None:
                raise ValueError("Must specify maxval for integer dtype")
            low = math.cast(convert_to_tensor(minval), dtypes.int64)
            span = math.cast(convert_to_tensor(maxval), dtypes.int64) - low
            fits = comparison.logical_and(
                comparison.greater(span, 0), comparison.less_equal(span, _MASK)
            )
            span = run_checks.once(span, fits, "maxval - minval must be in 1 ... 2^31 - 1:")
            draw = math.floormod(_words(sizes, seed, op, at, 0), span)
            return math.cast(draw + low, wanted, name=at)
        wanted = _real(wanted, op)
        start = convert_to_tensor(minval, wanted, name="min")
        end = convert_to_tensor(1 if maxval is None else maxval, wanted, name="max")
        draw = rounded_down(_unit(sizes, seed, drawn_in(wanted), op, at), wanted)
        return math.add(draw * (end - start), start, name=at)


def _gauss(shape: Tensor, seed: Any, dtype: DType, op: str, at: str, which: int = 0) -> Tensor:
    """Numbers of mean 0 and deviation 1, by Box and Muller's formula."""
    radius = math.sqrt(-2.0 * math.log(1.0 - _unit(shape, seed, dtype, op, at, 2 * which)))
    return radius * math.cos(2.0 * _math.pi * _unit(shape, seed, dtype, op, at, 2 * which + 1))


def stateless_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Numbers from a normal distribution, a function of the seed; see stateless_uniform."""
    op = "stateless_random_normal"
    with scope(name, op) as at:
        sizes, wanted = ints(shape, op, "shape"), _real(dtype, op)
        draw = math.cast(_gauss(sizes, seed, drawn_in(wanted), op, at), wanted)
        return math.add(draw * stddev, mean, name=at)


def stateless_truncated_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """As stateless_normal, but numbers two or more deviations away are drawn again."""
    op = "stateless_truncated_normal"
    with scope(name, op) as at:
        sizes, result = ints(shape, op, "shape"), _real(dtype, op)
        wanted = drawn_in(result)
        draw = _gauss(sizes, seed, wanted, op, at)
        # After the last attempt one number in 10^11 is left, and becomes 0.
        for which in range(1, _TRIES + 1):
            outside = comparison.greater_equal(math.abs(draw), 2.0)
            last = which == _TRIES
            again = array.zeros_like(draw) if last else _gauss(sizes, seed, wanted, op, at, which)
            draw = array.where(outside, again, draw)
        return math.add(math.cast(draw, result) * stddev, mean, name=at)


def stateless_multinomial(
    logits: Any,
    num_samples: Any,
    seed: Any,
    output_dtype: Any = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """Classes drawn by probability softmax(logits), row by row, a function of the seed.

    Args:
        logits: floating tensor (n, classes).
        num_samples: how many to draw for each row.
        seed: two integers, or an integer tensor of shape (2).
        output_dtype: int64 or int32.
        name: of the operation.

    Returns:
        A tensor (n, num_samples) of classes.

    Raises:
        ValueError: logits have not two dimensions, or seed is not of shape (2).
    """
    op = "stateless_multinomial"
    with scope(name, op) as at:
        x = convert_to_tensor(logits, name="logits")
        if x.shape.ndims != 2:
            raise ValueError(f"{op}: logits have shape {x.shape}, expected (n, classes)")
        x = math.cast(x, drawn_in(_real(x.dtype, op)))
        sizes = array.shape(x)
        samples = math.cast(convert_to_tensor(num_samples), dtypes.int32)
        full = ints(array.stack([sizes[0], samples, sizes[1]]), op, "shape")
        draw = _unit(full, seed, x.dtype, op, at)
        tiny = 2.0**-60
        noise = -math.log(math.maximum(-math.log(math.maximum(draw, tiny)), tiny))
        best = reduction.argmax(array.expand_dims(x, 1) + noise, 2)
        return math.cast(best, output_dtype, name=at)


def stateless_categorical(
    logits: Any, num_samples: Any, seed: Any, dtype: Any = dtypes.int64, name: str | None = None
) -> Tensor:
    """As stateless_multinomial."""
    return stateless_multinomial(logits, num_samples, seed, dtype, name or "stateless_categorical")
