"""Pooling over windows of images, channels last inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio import dtypes
from graphio.constants import constant, convert_to_tensor
from graphio.gradient_registry import gradient
from graphio.graph import Operation, Tensor
from graphio.ops import primitive, shapes
from graphio.ops.emit import FLOATING, describe, node, require, scope
from graphio.ops.padding import (
    channels_first,
    padding_of,
    spatial,
    spatial_attributes,
    to_nchw,
    to_nhwc,
)
from graphio.ops.shapes import dims_of

__all__ = ["avg_pool", "max_pool"]

Gradients = Sequence["Tensor | None"]


def max_pool(
    value: Any,
    ksize: Any = None,
    strides: Any = None,
    padding: Any = None,
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """The largest element of each window; the first one of equals takes the gradient.

    Args:
        value: floating (n, h, w, c), or (n, c, h, w) with NCHW.
        ksize: the window: 4 integers in data_format's order, 1 for batch and channels; or 1 or 2.
        strides: as ksize.
        padding: SAME (size / stride, rounded up) or VALID (no padding).
        data_format: NHWC or NCHW.
        name: of the operation.
        input: the new name of value.

    Raises:
        ValueError: the rank is not 4, or the window does not fit.
    """
    images = value if input is None else input
    return _pool("MaxPool2D", "MaxPool", images, ksize, strides, padding, data_format, name)


def avg_pool(
    value: Any,
    ksize: Any = None,
    strides: Any = None,
    padding: Any = None,
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """The mean of each window, padding left out; arguments as max_pool's."""
    images = value if input is None else input
    return _pool("AveragePool2D", "AvgPool", images, ksize, strides, padding, data_format, name)


def _pool(
    op: str,
    tf_type: str,
    value: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str,
    name: str | None,
) -> Tensor:
    word, first = padding_of(padding, tf_type), channels_first(data_format, tf_type)
    kernel = spatial(ksize, first, tf_type, "ksize")
    steps = spatial(strides, first, tf_type, "strides")
    with scope(name, tf_type) as at:
        x = convert_to_tensor(value, name="value")
        require(x, FLOATING, tf_type, "value")
        what = describe(at, tf_type)
        if x.shape.ndims not in (4, None):
            raise ValueError(
                f"Shape must be rank 4 but is rank {x.shape.ndims} for {what} with input shapes: "
                f"{shapes.text(dims_of(x))}."
            )
        x = to_nhwc(x, first)
        n, h, w, c = dims_of(x) or (None,) * 4
        height = shapes.window(h, kernel[0], steps[0], 1, word, what)
        width = shapes.window(w, kernel[1], steps[1], 1, word, what)
        attrs = spatial_attributes(steps, word, kernel_shape=kernel)
        y = node(
            op,
            [x],
            x.dtype,
            (n, height, width, c),
            name=None if first else at,
            domain="graphio",
            tf_type=tf_type,
            **attrs,
        )
        return to_nchw(y, first, at)


# ---- gradients ----


@gradient("MaxPool2D", domain="graphio")
def _max_pool_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy to the first largest element of each window."""
    x = op.inputs[0]
    return [node("MaxPool2DGrad", [x, dy], dy.dtype, dims_of(x), domain="graphio", **op.attrs)]


@gradient("MaxPool2DGrad", domain="graphio")
def _max_pool_grad_gradient(op: Operation, ddx: Tensor) -> Gradients:
    """None by x, which only chooses; by dy the element of ddx that each window chose."""
    x = op.inputs[0]
    lowest = np.asarray(-np.inf, x.dtype.as_numpy_dtype)
    candidates = _windows(op, x, lowest)
    others = _windows(op, ddx, np.asarray(0, ddx.dtype.as_numpy_dtype))
    dims = dims_of(candidates)
    chosen_dims = None if dims is None else (1, *dims[1:])
    chosen = node("ArgMax", [candidates], dtypes.int64, chosen_dims, axis=0, keepdims=1)
    picked = node("GatherElements", [others, chosen], ddx.dtype, chosen_dims, axis=0)
    return [None, primitive.squeeze(picked, [0])]


def _windows(op: Operation, x: Tensor, filling: np.ndarray[Any, Any]) -> Tensor:
    """The elements of all windows: (places in the window, n, oh, ow, c)."""
    (kh, kw), (sh, sw) = op.attrs["kernel_shape"], op.attrs["strides"]
    dims, result = dims_of(x), dims_of(op.inputs[1])
    if dims is None or result is None or None in (*dims[1:3], *result[1:3]):
        raise ValueError(
            f"the second derivative of MaxPool '{op.name}'{op.where} needs static heights and "
            f"widths, but the image is {shapes.text(dims)}; use set_shape"
        )
    (h, w), (oh, ow) = dims[1:3], result[1:3]
    assert h is not None and w is not None and oh is not None and ow is not None
    rows, columns = max((oh - 1) * sh + kh - h, 0), max((ow - 1) * sw + kw - w, 0)
    top, left = rows // 2, columns // 2
    if rows or columns:
        pads = [0, top, left, 0, 0, rows - top, columns - left, 0]
        padded = (dims[0], h + rows, w + columns, dims[3])
        x = node(
            "Pad",
            [x, primitive.int_vector(pads, "pads"), constant(filling)],
            x.dtype,
            padded,
            mode="constant",
        )
    parts = []
    for i in range(kh):
        for j in range(kw):
            ends = [i + (oh - 1) * sh + 1, j + (ow - 1) * sw + 1]
            part = primitive.slice_axes(x, [i, j], ends, [1, 2], [sh, sw])
            parts.append(primitive.unsqueeze(part, [0]))
    return primitive.concat(parts, 0)


@gradient("AveragePool2D", domain="graphio")
def _average_pool_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy shared evenly by the elements of each window."""
    x = op.inputs[0]
    inputs = [primitive.shape_of(x), dy]
    return [node("AveragePool2DGrad", inputs, dy.dtype, dims_of(x), domain="graphio", **op.attrs)]


@gradient("AveragePool2DGrad", domain="graphio")
def _average_pool_grad_gradient(op: Operation, ddx: Tensor) -> Gradients:
    """The mean of each window of ddx."""
    dims = dims_of(op.inputs[1])
    return [None, node("AveragePool2D", [ddx], ddx.dtype, dims, domain="graphio", **op.attrs)]
