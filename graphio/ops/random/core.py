"""Random numbers: each operation has a separate generator, whose state a session keeps.

With a graph seed or an operation seed the numbers repeat from session to session. Those of half
types are drawn in float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.gradient_registry import not_differentiable
from graphio.framework.graph import Tensor
from graphio.framework.graph_state.seeds import as_seed
from graphio.ops.base import primitive
from graphio.ops.base.emit import ints, operation, scope
from graphio.ops.base.shapes import dims_of
from graphio.ops.random import draws
from graphio.ops.random.draws import Source
from graphio.support import api_guard

__all__ = [
    "multinomial",
    "random_normal",
    "random_shuffle",
    "random_uniform",
    "set_random_seed",
    "truncated_normal",
]

_DRAWS = ("RandomUniform", "RandomNormal", "RandomTruncatedNormal", "RandomInteger")
not_differentiable(*_DRAWS, *(f"Stateless{op}" for op in _DRAWS), domain="graphio")


def _generator(seed: int | None) -> Source:
    """Draws from a generator of the draw's own, whose state a session keeps."""

    def draw(
        op: str, inputs: Sequence[Tensor], dtype: DType, name: str | None, tf_type: str | None
    ) -> Tensor:
        generator = scopes.get_default_graph().add_generator("generator", seed)
        made = operation(
            op,
            inputs,
            [(dtype, primitive.static_vector(inputs[0]))],
            name=name,
            domain="graphio",
            tf_type=tf_type,
            attrs={"generator": generator, "dtype": dtype},
        )
        return made.outputs[0]

    return draw


@api_guard.operator
def set_random_seed(seed: int | None) -> None:
    """Gives the default graph a seed; random operations made from now on use it.

    Args:
        seed: an integer, or None for numbers that differ from session to session.

    Raises:
        TypeError: seed is not an integer.
    """
    # of a larger integer the last 64 bits are used, and files hold them with a sign
    half = 1 << 63
    number = as_seed(seed)
    wrapped = None if number is None else (number + half) % (2 * half) - half
    scopes.get_default_graph().root.seed = wrapped


@api_guard.operator
def random_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers from a normal distribution, drawn again in each run.

    Args:
        shape: of the result.
        mean: of the distribution, broadcasts to shape.
        stddev: standard deviation, broadcasts to shape.
        dtype: float16, bfloat16, float32 or float64.
        seed: of this operation, see set_random_seed.
        name: of the operation.
    """
    with scope(name, "random_normal") as at:
        requested = draws.floating(dtype, "random_normal")
        target = ints(shape, "random_normal", "shape")
        return draws.normal(_generator(seed), "RandomNormal", target, mean, stddev, requested, at)


@api_guard.operator
def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """As random_normal, but numbers two or more deviations away are drawn again."""
    with scope(name, "truncated_normal") as at:
        requested, op = draws.floating(dtype, "truncated_normal"), "RandomTruncatedNormal"
        target = ints(shape, "truncated_normal", "shape")
        return draws.normal(_generator(seed), op, target, mean, stddev, requested, at)


@api_guard.operator
def random_uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers from [minval, maxval), equally probable, drawn again in each run.

    Args:
        shape: of the result.
        minval: lower bound.
        maxval: upper bound, not included; None: 1 for floats.
        dtype: float16, bfloat16, float32, float64, int32 or int64.
        seed: of this operation, see set_random_seed.
        name: of the operation.

    Raises:
        ValueError: dtype is an integer, and maxval is not given or a bound is not a scalar.
        TypeError: dtype is none of these.
    """
    requested, op = dtypes.as_dtype(dtype).base_dtype, "random_uniform"
    with scope(name, op) as at:
        target, source = ints(shape, op, "shape"), _generator(seed)
        if requested not in (dtypes.int32, dtypes.int64):
            requested = draws.floating(requested, op)
            return draws.uniform(source, target, minval, maxval, requested, op, at)
        if maxval is None:
            raise ValueError("Must specify maxval for integer dtype")
        return draws.integers(source, target, minval, maxval, requested, op, at)


@api_guard.operator
def random_shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """value with its slices along axis 0 in random order.

    Args:
        value: any tensor; a scalar stays as it is.
        seed: of this operation, see set_random_seed.
        name: of the operation.
    """
    with scope(name, "RandomShuffle") as at:
        x = convert_to_tensor(value, name="value")
        if x.shape.ndims == 0:
            return primitive.unary("Identity", x, at)
        rows = primitive.slice_axes(primitive.shape_of(x), [0], [1], [0])
        keys = _generator(seed)("RandomUniform", [rows], dtypes.float64, None, None)
        dims = dims_of(keys)
        outputs = [(dtypes.float64, dims), (dtypes.int64, dims)]
        order = operation("TopK", [keys, rows], outputs, version=11, attrs={"axis": 0}).outputs[1]
        return primitive.gather(x, order, 0, at, "RandomShuffle")


@api_guard.operator
def multinomial(
    logits: Any,
    num_samples: Any,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: Any = dtypes.int64,
) -> Tensor:
    """Classes drawn by probability softmax(logits), row by row, by the Gumbel-max method.

    Args:
        logits: floating tensor (n, classes).
        num_samples: how many to draw for each row.
        seed: of this operation, see set_random_seed.
        name: of the operation.
        output_dtype: int64 or int32.

    Returns:
        A tensor (n, num_samples) of classes.
    """
    with scope(name, "multinomial") as at:
        return draws.classes(_generator(seed), logits, num_samples, output_dtype, "multinomial", at)
