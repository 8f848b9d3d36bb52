"""Gradients of ONNX's pooling operators, channels first over any number of axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.gradient_registry import gradient, not_differentiable
from graphio.framework.graph import Operation, Tensor
from graphio.ops.base.emit import node, operation, scalar
from graphio.ops.base.primitive import (
    binary,
    compare,
    concat,
    count,
    gather,
    int_vector,
    reduce_sum,
    reshape,
    select,
    shape_of,
    slice_axes,
    unary,
)
from graphio.ops.base.recompute import by_parts
from graphio.ops.base.shapes import dims_of

_WINDOW = ("kernel_shape", "strides", "pads", "dilations", "auto_pad", "ceil_mode")


def _input(op: Operation, i: int) -> Tensor:
    x: Tensor | None = op.inputs[i]
    assert x is not None
    return x


def _window(op: Operation) -> dict[str, Any]:
    return {key: op.attrs[key] for key in _WINDOW if key in op.attrs}


def _spread(op: Operation, dy: Tensor, divisor: str) -> Tensor:
    """The gradient of the mean (or sum) over op's windows, of the shape of its first input."""
    x = _input(op, 0)
    attrs = {**_window(op), "divisor": divisor}
    inputs = [shape_of(x), dy]
    return node("AveragePoolGrad", inputs, dy.dtype, dims_of(x), domain="graphio", **attrs)


@gradient("MaxPool")
def _max_pool(op: Operation, dy: Tensor | None, *_: Tensor | None) -> list[Tensor | None]:
    if dy is None:
        return [None]
    x, dims = _input(op, 0), dims_of(op.outputs[0])
    if len(op.outputs) > 1 and not op.attrs.get("storage_order"):
        indices = op.outputs[1]
    else:
        attrs = {key: value for key, value in op.attrs.items() if key != "storage_order"}
        types = [(x.dtype, dims), (dtypes.int64, dims)]
        indices = operation("MaxPool", [x], types, attrs=attrs).outputs[1]
    zero = scalar(0, dtypes.int64)
    taken = compare("Less", indices, zero)  # a window in the padding has no winner
    rows = reshape(select(taken, zero, indices), [-1])
    values = reshape(select(taken, scalar(0, dy.dtype), dy), [-1])
    inputs = [rows, values, count(x, dtypes.int64)]
    summed = node("ScatterSum", inputs, dy.dtype, (None,), domain="graphio")
    return [reshape(summed, shape_of(x), dims_of(x))]


@gradient("AveragePool")
def _average_pool(op: Operation, dy: Tensor) -> list[Tensor | None]:
    return [_spread(op, dy, "padded" if op.attrs.get("count_include_pad") else "window")]


@gradient("AveragePoolGrad", "graphio")
def _average_pool_grad(op: Operation, ddx: Tensor) -> list[Tensor | None]:
    attrs, dy = _window(op), _input(op, 1)
    divisor = op.attrs["divisor"]
    padding: dict[str, Any] = {"count_include_pad": 1} if divisor in ("padded", b"padded") else {}
    mean = node("AveragePool", [ddx], ddx.dtype, dims_of(dy), **attrs, **padding)
    if divisor not in ("one", b"one"):
        return [None, mean]
    ones = unary("Exp", binary("Sub", ddx, ddx))
    sizes = node("LpPool", [ones], ddx.dtype, dims_of(dy), p=1, **attrs)
    return [None, binary("Mul", mean, sizes)]


@gradient("LpPool")
def _lp_pool(op: Operation, dy: Tensor) -> list[Tensor | None]:
    x, y, p = _input(op, 0), op.outputs[0], int(op.attrs.get("p", 2))
    slope = unary("Sign", x)
    if p > 1:
        power = scalar(p - 1, x.dtype)
        slope = binary("Mul", slope, binary("Pow", unary("Abs", x), power))
        flat = compare("Equal", y, scalar(0, y.dtype))  # all elements are 0: no direction
        safe = binary("Pow", select(flat, scalar(1, y.dtype), y), power)
        dy = select(flat, scalar(0, y.dtype), binary("Div", dy, safe))
    return [binary("Mul", slope, _spread(op, dy, "one"))]


def _spatial(x: Tensor) -> list[int]:
    dims = dims_of(x)
    if dims is None:
        raise ValueError(f"the gradient of pooling '{x.name}' needs its rank")
    return list(range(2, len(dims)))


@gradient("GlobalAveragePool")
def _global_average(op: Operation, dy: Tensor) -> list[Tensor | None]:
    def parts(x: Tensor) -> Tensor:
        summed = reduce_sum(x, _spatial(x), keepdims=True)
        ratio = binary("Div", count(summed, x.dtype), count(x, x.dtype))
        return binary("Mul", summed, ratio)

    return by_parts(op, [dy], parts)


@gradient("GlobalMaxPool")
def _global_max(op: Operation, dy: Tensor) -> list[Tensor | None]:
    def parts(x: Tensor) -> Tensor:
        axes = int_vector(_spatial(x))
        return node("ReduceMax", [x, axes], x.dtype, dims_of(op.outputs[0]), keepdims=1)

    return by_parts(op, [dy], parts)


@gradient("GlobalLpPool")
def _global_lp(op: Operation, dy: Tensor) -> list[Tensor | None]:
    p = int(op.attrs.get("p", 2))

    def parts(x: Tensor) -> Tensor:
        powers = binary("Pow", unary("Abs", x), scalar(p, x.dtype))
        summed = reduce_sum(powers, _spatial(x), keepdims=True)
        return binary("Pow", summed, scalar(1 / p, x.dtype))

    return by_parts(op, [dy], parts)


@gradient("MaxUnpool")
def _max_unpool(op: Operation, dy: Tensor) -> list[Tensor | None]:
    x, indices = _input(op, 0), _input(op, 1)
    kernel = np.asarray(op.attrs["kernel_shape"], np.int64)
    if len(op.inputs) > 2 and op.inputs[2] is not None:
        n = len(kernel)
        strides = np.asarray(op.attrs.get("strides") or [1] * n, np.int64)
        pads = np.asarray(op.attrs.get("pads") or [0] * 2 * n, np.int64)
        shape = shape_of(x)
        steps = binary("Mul", slice_axes(shape, [2], [n + 2], [0]), int_vector(list(strides)))
        rest = kernel - strides - pads[:n] - pads[n:]
        ends = binary("Add", steps, int_vector(list(rest)))
        limits = concat([slice_axes(shape, [0], [2], [0]), ends], 0)
        starts, axes = int_vector([0] * (n + 2)), int_vector(range(n + 2))
        dy = node("Slice", [dy, starts, limits, axes], dy.dtype, (None,) * (n + 2))
    dx = gather(reshape(dy, [-1]), indices, 0)
    return [dx, *([None] * (len(op.inputs) - 1))]


not_differentiable("NonMaxSuppression")
