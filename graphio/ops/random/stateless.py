"""Random numbers that are functions of a seed: the same in every run.

As in TensorFlow, the numbers of a seed are the first ones of a generator whose graph seed and
operation seed are the Philox block of that seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.ops.array.joining import stack
from graphio.ops.base import primitive
from graphio.ops.base.emit import INTEGER, describe, ints, operation, require, scope
from graphio.ops.random import draws
from graphio.ops.random.draws import Source
from graphio.support import api_guard

__all__ = [
    "fold_in",
    "split",
    "stateless_categorical",
    "stateless_multinomial",
    "stateless_normal",
    "stateless_truncated_normal",
    "stateless_uniform",
]

_UNIFORM = "stateless_random_uniform"
_INTEGERS = (dtypes.int32, dtypes.int64, dtypes.uint32, dtypes.uint64)


def _of_seed(seed: Any, op: str, at: str) -> Source:
    """Draws by a seed of two integers.

    Raises:
        TypeError: the seed's dtype is not an integer.
        ValueError: it is not of shape (2).
    """
    given = convert_to_tensor(seed, name="seed")
    require(given, INTEGER, op, "seed")
    if not given.shape.is_compatible_with([2]):
        raise ValueError(f"seed must have shape [2], not {given.shape} for {describe(at, op)}")
    key = primitive.cast(given, dtypes.int64)

    def draw(
        op: str, inputs: Sequence[Tensor], dtype: DType, name: str | None, tf_type: str | None
    ) -> Tensor:
        shape, *bounds = inputs
        made = operation(
            f"Stateless{op}",
            [shape, key, *bounds],
            [(dtype, primitive.static_vector(shape))],
            name=name,
            domain="graphio",
            tf_type=tf_type and f"Stateless{tf_type}",
            attrs={"dtype": dtype},
        )
        return made.outputs[0]

    return draw


@api_guard.operator
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
        minval: lower bound; None, with maxval None: all integers of the dtype.
        maxval: upper bound, not included; None: 1 for floats.
        dtype: float16, bfloat16, float32, float64, int32 or int64; without bounds also uint32 or
            uint64.
        name: of the operation.

    Raises:
        ValueError: seed is not of shape (2); dtype is an integer and one bound is None; dtype is
            unsigned and there are bounds.
        TypeError: dtype is none of these.
        InvalidArgumentError: of the run: maxval is not above minval.

    Example:
        tf.random.stateless_uniform([2, 3], seed=[1, 2])
    """
    return _uniform(shape, seed, minval, maxval, dtype, name, _UNIFORM)


def _uniform(
    shape: Any, seed: Any, minval: Any, maxval: Any, dtype: Any, name: str | None, caller: str
) -> Tensor:
    """As stateless_uniform; caller: the function that errors in the shape and the seed name."""
    op, requested = _UNIFORM, dtypes.as_dtype(dtype).base_dtype
    with scope(name, op) as at:
        sizes, source = ints(shape, caller, "shape"), _of_seed(seed, caller, at)
        if requested not in _INTEGERS:
            requested = draws.floating(requested, op)
            low = 0 if minval is None else minval
            return draws.uniform(source, sizes, low, maxval, requested, op, at)
        if minval is None and maxval is None:
            return source("RandomInteger", [sizes], requested, at, "RandomUniformFullInt")
        if minval is None or maxval is None:
            raise ValueError(
                f"For integer dtype {requested.name}, minval and maxval must be both None or both "
                f"non-None; got minval={minval}, maxval={maxval}"
            )
        if requested.is_unsigned:
            raise ValueError(
                f"{op}: of dtype {requested.name} only the full range can be drawn: leave minval "
                "and maxval None, or draw int64"
            )
        return draws.integers(source, sizes, minval, maxval, requested, op, at)


@api_guard.operator
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
        sizes, requested = ints(shape, op, "shape"), draws.floating(dtype, op)
        source = _of_seed(seed, op, at)
        return draws.normal(source, "RandomNormal", sizes, mean, stddev, requested, at)


@api_guard.operator
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
        sizes, requested = ints(shape, op, "shape"), draws.floating(dtype, op)
        source = _of_seed(seed, op, at)
        return draws.normal(source, "RandomTruncatedNormal", sizes, mean, stddev, requested, at)


@api_guard.operator
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
        return draws.classes(_of_seed(seed, op, at), logits, num_samples, output_dtype, op, at)


@api_guard.operator
def stateless_categorical(
    logits: Any, num_samples: Any, seed: Any, dtype: Any = dtypes.int64, name: str | None = None
) -> Tensor:
    """As stateless_multinomial."""
    return stateless_multinomial(logits, num_samples, seed, dtype, name or "stateless_categorical")


@api_guard.operator
def split(seed: Any, num: Any = 2) -> Tensor:
    """New seeds made of one, for stateless operations that must not draw the same numbers.

    Args:
        seed: two integers, or an int32 or int64 tensor of shape (2).
        num: how many seeds; a number or a scalar tensor.

    Returns:
        A tensor (num, 2) of the seed's dtype; each row is a seed.

    Raises:
        ValueError: seed is not of shape (2).
        TypeError: seed is of another dtype.

    Example:
        first, second = tf.unstack(tf.random.split([1, 2]))
        x = tf.random.stateless_uniform([3], first) + tf.random.stateless_normal([3], second)
    """
    op = "tf.random.split"
    with scope(None, "split_seed") as at:
        given = convert_to_tensor(seed, name="seed")
        require(given, INTEGER, op, "seed")
        return _uniform([num, 2], given, None, None, given.dtype, at, op)


@api_guard.operator
def fold_in(seed: Any, data: Any) -> Tensor:
    """A new seed made of a seed and a number, such as the global step.

    Args:
        seed: two integers, or an int32 or int64 tensor of shape (2).
        data: a scalar of dtype int32 or int64.

    Returns:
        A tensor (2) of data's dtype.

    Raises:
        ValueError: seed is not of shape (2), or data is not a scalar.
        TypeError: data is of another dtype.
    """
    op = "tf.random.fold_in"
    with scope(None, "fold_in") as at:
        given = convert_to_tensor(data, name="data")
        require(given, INTEGER, op, "data")
        if not given.shape.is_compatible_with([]):
            raise ValueError(f"data must be a scalar, not of shape {given.shape}, for {op}")
        drawn = _uniform([], seed, None, None, given.dtype, None, op)
        return stack([drawn, given], name=at)
