"""Random numbers: each operation has a generator of its own, whose state a session keeps.

With a graph seed or an operation seed the numbers repeat from session to session. Those of half
types are drawn in float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio import dtypes, scopes
from graphio.constants import constant, convert_to_tensor
from graphio.dtypes import DType
from graphio.gradient_registry import not_differentiable
from graphio.graph import Tensor, as_seed
from graphio.ops import primitive, shapes, shaping
from graphio.ops.emit import ints, like, node, operation, scalar, scope, single
from graphio.ops.primitive import binary
from graphio.ops.shapes import dims_of

__all__ = [
    "drawn_in",
    "multinomial",
    "random_normal",
    "random_shuffle",
    "random_uniform",
    "rounded_down",
    "set_random_seed",
    "truncated_normal",
]

not_differentiable(
    *("RandomUniform", "RandomNormal", "RandomTruncatedNormal", "RandomInteger"),
    domain="graphio",
)

#: digits after the point of uniform numbers of half types, as TensorFlow's; with 1 they add up to
#: less than 2, which dropout relies upon
_DIGITS = {dtypes.float16: 10, dtypes.bfloat16: 7}


def set_random_seed(seed: int | None) -> None:
    """Gives the default graph a seed; random operations made from now on use it.

    Args:
        seed: an integer, or None for numbers that differ from session to session.

    Raises:
        TypeError: seed is no integer.
    """
    # of a larger integer the last 64 bits are used, and files hold them with a sign
    half = 1 << 63
    number = as_seed(seed)
    wrapped = None if number is None else (number + half) % (2 * half) - half
    scopes.get_default_graph().root.seed = wrapped


def random_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers from a normal distribution, drawn anew in each run.

    Args:
        shape: of the result.
        mean: of the distribution, broadcasts to shape.
        stddev: standard deviation, broadcasts to shape.
        dtype: float16, bfloat16, float32 or float64.
        seed: of this operation, see set_random_seed.
        name: of the operation.
    """
    return _normal("RandomNormal", "random_normal", shape, mean, stddev, dtype, seed, name)


def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """As random_normal, but numbers two or more deviations away are drawn again."""
    op = "RandomTruncatedNormal"
    return _normal(op, "truncated_normal", shape, mean, stddev, dtype, seed, name)


def _normal(
    op: str,
    default: str,
    shape: Any,
    mean: Any,
    stddev: Any,
    dtype: Any,
    seed: int | None,
    name: str | None,
) -> Tensor:
    wanted = _floating(dtype, default)
    with scope(name, default) as at:
        plain_mean, plain_deviation = _is_number(mean, 0), _is_number(stddev, 1)
        target = ints(shape, default, "shape")
        factor = None if plain_deviation else convert_to_tensor(stddev, wanted, name="stddev")
        offset = None if plain_mean else convert_to_tensor(mean, wanted, name="mean")
        bare = factor is None and offset is None
        draw = _draw(op, target, wanted, seed, at if bare else None)
        if factor is not None:
            draw = binary("Mul", draw, factor, at if offset is None else "mul")
        return draw if offset is None else binary("Add", draw, offset, at)


def _is_number(value: Any, number: float) -> bool:
    return isinstance(value, (int, float)) and value == number


def _floating(dtype: Any, function: str) -> DType:
    wanted = dtypes.as_dtype(dtype).base_dtype
    if wanted not in (*_DIGITS, dtypes.float32, dtypes.float64):
        raise TypeError(
            f"{function}: dtype is {wanted.name}, expected float16, bfloat16, float32 or float64"
        )
    return wanted


def drawn_in(dtype: DType) -> DType:
    """The dtype to draw in: half types are rounded from float32."""
    return dtypes.float64 if dtype.base_dtype == dtypes.float64 else dtypes.float32


def rounded_down(uniform: Tensor, dtype: DType, name: str | None = None) -> Tensor:
    """Uniform float32 numbers in a half type, of which none becomes 1; others as they are."""
    digits = _DIGITS.get(dtype)
    if digits is None:
        return uniform
    whole = primitive.unary("Floor", binary("Mul", uniform, scalar(2.0**digits, uniform.dtype)))
    return primitive.cast(binary("Mul", whole, scalar(2.0**-digits, uniform.dtype)), dtype, name)


def _draw(op: str, shape: Tensor, dtype: DType, seed: int | None, name: str | None) -> Tensor:
    if dtype not in _DIGITS:
        return _with_generator(op, [shape], dtype, seed, name)
    draw = _with_generator(op, [shape], drawn_in(dtype), seed, None)
    if op == "RandomUniform":
        return rounded_down(draw, dtype, name)
    return primitive.cast(draw, dtype, name)


def _with_generator(
    op: str,
    inputs: Sequence[Tensor],
    dtype: DType,
    seed: int | None,
    name: str | None,
    tf_type: str | None = None,
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


def random_uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers from [minval, maxval), all alike probable, drawn anew in each run.

    Args:
        shape: of the result.
        minval: lower bound.
        maxval: upper bound, not included; None: 1 for floats.
        dtype: float16, bfloat16, float32, float64, int32 or int64.
        seed: of this operation, see set_random_seed.
        name: of the operation.

    Raises:
        ValueError: dtype is an integer, and maxval is not given or a bound is no scalar.
        TypeError: dtype is none of these.
    """
    wanted = dtypes.as_dtype(dtype).base_dtype
    with scope(name, "random_uniform") as at:
        target = ints(shape, "random_uniform", "shape")
        if wanted in (dtypes.int32, dtypes.int64):
            return _integers(target, minval, maxval, wanted, seed, at)
        wanted = _floating(wanted, "random_uniform")
        upper = 1 if maxval is None else maxval
        if _is_number(minval, 0) and _is_number(upper, 1):
            return _draw("RandomUniform", target, wanted, seed, at)
        low = convert_to_tensor(minval, wanted, name="min")
        high = like(upper, low, "random_uniform", ("minval", "maxval"))
        draw = _draw("RandomUniform", target, wanted, seed, None)
        return binary("Add", binary("Mul", draw, binary("Sub", high, low)), low, at)


def _integers(
    shape: Tensor, minval: Any, maxval: Any, dtype: DType, seed: int | None, name: str
) -> Tensor:
    if maxval is None:
        raise ValueError("Must specify maxval for integer dtype")
    low = convert_to_tensor(minval, dtype, name="min")
    high = like(maxval, low, "random_uniform", ("minval", "maxval"))
    for bound, label in ((low, "minval"), (high, "maxval")):
        if bound.shape.ndims not in (None, 0):
            raise ValueError(f"{label} must be a scalar; got a tensor of shape {bound.shape}")
    sizes = primitive.static_vector(shape)
    if sizes is not None and 0 in sizes and None not in sizes:  # bounds without a number between
        return node("Expand", [low, shape], dtype, sizes, name=name, tf_type="RandomUniformInt")
    inputs = [shape, low, high]
    return _with_generator("RandomInteger", inputs, dtype, seed, name, "RandomUniformInt")


def random_shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """value with its slices along axis 0 in random order.

    Args:
        value: tensor of rank 1 or more.
        seed: of this operation, see set_random_seed.
        name: of the operation.
    """
    with scope(name, "RandomShuffle") as at:
        x = convert_to_tensor(value, name="value")
        rows = primitive.slice_axes(primitive.shape_of(x), [0], [1], [0])
        keys = _draw("RandomUniform", rows, dtypes.float64, seed, None)
        dims = dims_of(keys)
        outputs = [(dtypes.float64, dims), (dtypes.int64, dims)]
        order = operation("TopK", [keys, rows], outputs, version=11, attrs={"axis": 0}).outputs[1]
        return primitive.gather(x, order, 0, at, "RandomShuffle")


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
        x = convert_to_tensor(logits, name="logits")
        if x.shape.ndims is None:
            x = shaping.ensure_shape(x, [None, None])
        dims = dims_of(x)
        if dims is None or len(dims) != 2:
            raise ValueError(f"multinomial: logits has shape {shapes.text(dims)}, expected (n, c)")
        x = primitive.cast(x, drawn_in(x.dtype)) if x.dtype in _DIGITS else x
        sizes = primitive.shape_of(x)
        rows, classes = (primitive.slice_axes(sizes, [i], [i + 1], [0]) for i in (0, 1))
        samples = single(num_samples, "multinomial", "num_samples")
        full = primitive.concat([rows, samples, classes], 0)
        draw = _draw("RandomUniform", full, x.dtype, seed, None)
        tiny = constant(np.asarray(np.finfo(x.dtype.as_numpy_dtype).tiny))
        inner = primitive.unary("Neg", primitive.unary("Log", binary("Max", draw, tiny)))
        noise = primitive.unary("Neg", primitive.unary("Log", binary("Max", inner, tiny)))
        score = binary("Add", primitive.unsqueeze(x, [1]), noise)
        at_dims = None if (d := dims_of(score)) is None else d[:2]
        found = node("ArgMax", [score], dtypes.int64, at_dims, axis=2, keepdims=0)
        return primitive.cast(found, dtypes.as_dtype(output_dtype), at)
