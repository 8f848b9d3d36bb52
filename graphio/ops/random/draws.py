"""Distributions made from draws: the same formulas whether a generator's state or a seed says the
words.

A Source makes the node of a draw from the operator ("RandomUniform" ...), its inputs, its dtype,
its name and its type in TensorFlow. Numbers of half types are drawn in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.ops.array import shaping
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import like, node, scalar, single
from graphio.ops.base.primitive import binary
from graphio.ops.base.shapes import dims_of

__all__ = ["Source", "classes", "drawn_in", "floating", "integers", "normal", "uniform"]

Source = Callable[[str, Sequence[Tensor], DType, str | None, str | None], Tensor]

#: digits after the point of uniform numbers of half types, as TensorFlow's; with 1 they add up to
#: less than 2, which dropout relies upon
_DIGITS = {dtypes.float16: 10, dtypes.bfloat16: 7}


def floating(dtype: Any, function: str) -> DType:
    """A dtype of which numbers can be drawn.

    Raises:
        TypeError: it is another one.
    """
    requested = dtypes.as_dtype(dtype).base_dtype
    if requested not in (*_DIGITS, dtypes.float32, dtypes.float64):
        raise TypeError(
            f"{function}: dtype is {requested.name}, expected float16, bfloat16, float32 or float64"
        )
    return requested


def drawn_in(dtype: DType) -> DType:
    """The dtype to draw in: half types are rounded from float32."""
    return dtypes.float64 if dtype.base_dtype == dtypes.float64 else dtypes.float32


def uniform(
    source: Source, shape: Tensor, minval: Any, maxval: Any, dtype: DType, function: str, at: str
) -> Tensor:
    """Floats of [minval, maxval); maxval None: 1."""
    upper = 1 if maxval is None else maxval
    if _is_number(minval, 0) and _is_number(upper, 1):
        return _draw(source, "RandomUniform", shape, dtype, at)
    low = convert_to_tensor(minval, dtype, name="min")
    high = like(upper, low, function, ("minval", "maxval"))
    draw = _draw(source, "RandomUniform", shape, dtype, None)
    return binary("Add", binary("Mul", draw, binary("Sub", high, low)), low, at)


def integers(
    source: Source, shape: Tensor, minval: Any, maxval: Any, dtype: DType, function: str, at: str
) -> Tensor:
    """Integers of [minval, maxval).

    Raises:
        ValueError: a bound is not a scalar.
    """
    low = convert_to_tensor(minval, dtype, name="min")
    high = like(maxval, low, function, ("minval", "maxval"))
    for bound, label in ((low, "minval"), (high, "maxval")):
        if bound.shape.ndims not in (None, 0):
            raise ValueError(f"{label} must be a scalar; got a tensor of shape {bound.shape}")
    sizes = primitive.static_vector(shape)
    if sizes is not None and 0 in sizes and None not in sizes:  # bounds without a number between
        return node("Expand", [low, shape], dtype, sizes, name=at, tf_type="RandomUniformInt")
    return source("RandomInteger", [shape, low, high], dtype, at, "RandomUniformInt")


def normal(
    source: Source, op: str, shape: Tensor, mean: Any, stddev: Any, dtype: DType, at: str
) -> Tensor:
    """Numbers of "RandomNormal" or "RandomTruncatedNormal", scaled and moved."""
    plain_mean, plain_deviation = _is_number(mean, 0), _is_number(stddev, 1)
    factor = None if plain_deviation else convert_to_tensor(stddev, dtype, name="stddev")
    offset = None if plain_mean else convert_to_tensor(mean, dtype, name="mean")
    bare = factor is None and offset is None
    draw = _draw(source, op, shape, dtype, at if bare else None)
    if factor is not None:
        draw = binary("Mul", draw, factor, at if offset is None else "mul")
    return draw if offset is None else binary("Add", draw, offset, at)


def classes(
    source: Source, logits: Any, num_samples: Any, output_dtype: Any, function: str, at: str
) -> Tensor:
    """Classes (n, num_samples) by probability softmax(logits), by the Gumbel-max method.

    Raises:
        ValueError: logits are not a matrix.
    """
    x = convert_to_tensor(logits, name="logits")
    if x.shape.ndims is None:
        x = shaping.ensure_shape(x, [None, None])
    dims = dims_of(x)
    if dims is None or len(dims) != 2:
        raise ValueError(f"{function}: logits has shape {shapes.text(dims)}, expected (n, c)")
    x = primitive.cast(x, drawn_in(x.dtype)) if x.dtype in _DIGITS else x
    sizes = primitive.shape_of(x)
    rows, choices = (primitive.slice_axes(sizes, [i], [i + 1], [0]) for i in (0, 1))
    samples = single(num_samples, function, "num_samples")
    draw = _draw(
        source, "RandomUniform", primitive.concat([rows, samples, choices], 0), x.dtype, None
    )
    tiny = constant(np.asarray(np.finfo(x.dtype.as_numpy_dtype).tiny))
    inner = primitive.unary("Neg", primitive.unary("Log", binary("Max", draw, tiny)))
    noise = primitive.unary("Neg", primitive.unary("Log", binary("Max", inner, tiny)))
    score = binary("Add", primitive.unsqueeze(x, [1]), noise)
    at_dims = None if (d := dims_of(score)) is None else d[:2]
    found = node("ArgMax", [score], dtypes.int64, at_dims, axis=2, keepdims=0)
    return primitive.cast(found, dtypes.as_dtype(output_dtype), at)


def _is_number(value: Any, number: float) -> bool:
    return isinstance(value, (int, float)) and value == number


def _draw(source: Source, op: str, shape: Tensor, dtype: DType, name: str | None) -> Tensor:
    if dtype not in _DIGITS:
        return source(op, [shape], dtype, name, None)
    draw = source(op, [shape], drawn_in(dtype), None, None)
    if op == "RandomUniform":
        return _rounded_down(draw, dtype, name)
    return primitive.cast(draw, dtype, name)


def _rounded_down(uniform: Tensor, dtype: DType, name: str | None) -> Tensor:
    """Uniform float32 numbers in a half type, of which none becomes 1."""
    digits = _DIGITS[dtype]
    whole = primitive.unary("Floor", binary("Mul", uniform, scalar(2.0**digits, uniform.dtype)))
    return primitive.cast(binary("Mul", whole, scalar(2.0**-digits, uniform.dtype)), dtype, name)
