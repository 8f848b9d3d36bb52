"""Pooling over windows of images, channels last inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.gradient_registry import gradient
from graphio.framework.graph import Operation, Tensor
from graphio.ops.array import joining
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import (
    FLOATING,
    as_invalid_argument,
    describe,
    is_symbolic,
    node,
    require,
    scope,
)
from graphio.ops.base.shapes import dims_of
from graphio.ops.nn import windows
from graphio.ops.nn.narrow_integers import is_narrow
from graphio.ops.nn.padding import (
    channels_first,
    four,
    padding_of,
    spatial_attributes,
    spatial_of,
    to_nchw,
    to_nhwc,
    word_or_pairs,
)
from graphio.support import api_guard, errors

__all__ = ["avg_pool", "avg_pool2d", "max_pool", "max_pool2d"]

Gradients = Sequence["Tensor | None"]


@api_guard.operator
def max_pool(
    value: Any = None,
    ksize: Any = None,
    strides: Any = None,
    padding: Any = None,
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """The largest element of each window; the first one of equals takes the gradient.

    Args:
        value: floating (n, h, w, c), or (n, c, h, w) with NCHW; of rank 3 and 5 as max_pool1d and
            max_pool3d take it. Of rank 4 also integers of up to 32 bits.
        ksize: the window: 4 integers in data_format's order, 1 for the batch; or 1 or 2. A window
            of several channels, with NHWC, has height and width 1, and strides of its sizes.
        strides: as ksize.
        padding: SAME (size / stride, rounded up), VALID (no padding), or 4 pairs: the numbers of
            elements of minus infinity before and after each axis in data_format's order, 0 for
            batch and channels.
        data_format: NHWC or NCHW; NWC and NCW are max_pool1d's.
        name: of the operation.
        input: the new name of value.

    Raises:
        ValueError: the rank is not 3, 4 or 5, the window does not fit, or padding is none of these.
        InvalidArgumentError: a size of the window or a stride is not positive.
        UnimplementedError: a window of several images, or one of several channels that does not
            keep to the above, or whose size does not divide the channels.
    """
    images = value if input is None else input
    arguments = images, ksize, strides, padding, data_format, name
    if data_format in ("NWC", "NCW"):
        return windows.max_pool1d(*arguments)
    if _rank(images) in (3, 5):
        return _along_other_axes("max_pool", *arguments)
    if is_narrow(images):
        with scope(name, "MaxPool") as at:
            x = convert_to_tensor(images, name="value")
            wide = primitive.cast(x, dtypes.float64)
            pooled = _pool("MaxPool2D", "MaxPool", wide, ksize, strides, padding, data_format, None)
            return primitive.cast(pooled, x.dtype, at)
    return _pool("MaxPool2D", "MaxPool", *arguments)


@api_guard.operator
def avg_pool(
    value: Any = None,
    ksize: Any = None,
    strides: Any = None,
    padding: Any = None,
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """The mean of each window, padding left out; arguments as max_pool's.

    Its windows have one channel, and its padding is a word.
    """
    images = value if input is None else input
    arguments = images, ksize, strides, padding, data_format, name
    if _rank(images) in (3, 5):
        return _along_other_axes("avg_pool", *arguments)
    return _pool("AveragePool2D", "AvgPool", *arguments)


avg_pool2d, max_pool2d = avg_pool, max_pool


def _rank(value: Any) -> int | None:
    if isinstance(value, (list, tuple)) and value:  # perhaps of tensors
        inner = _rank(value[0])
        return None if inner is None else inner + 1
    rank: int | None = value.shape.ndims if is_symbolic(value) else np.ndim(value)
    return rank


def _along_other_axes(
    function: str, value: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None,
    name: str | None,
) -> Tensor:  # fmt: skip
    """Pooling of lines or volumes, whose formats have other names."""
    axes, positions = ("1d", "W") if _rank(value) == 3 else ("3d", "DHW")
    own = {"NHWC": f"N{positions}C", "NCHW": f"NC{positions}"}.get(
        data_format or "NHWC", data_format
    )
    pooled: Tensor = getattr(windows, function + axes)(value, ksize, strides, padding, own, name)
    return pooled


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
    first, largest = channels_first(data_format, tf_type), op == "MaxPool2D"
    word, pairs = (
        word_or_pairs(padding, first, tf_type) if largest else (padding_of(padding, tf_type), None)
    )
    with as_invalid_argument():
        whole = [four(v, first, tf_type, k) for v, k in ((ksize, "ksize"), (strides, "strides"))]
    if largest and not first and whole[0][3] > 1:
        return _across_channels(value, whole[0], whole[1], name)
    kernel, steps = (_one_image(v, first, tf_type) for v in whole)
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
        x = x if pairs is None else joining.pad(x, pairs, constant_values=-np.inf)
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


def _one_image(sizes: list[int], first: bool, tf_type: str) -> list[int]:
    found, plain = spatial_of(sizes, first, tf_type, "ksize")
    if not plain:
        raise errors.UnimplementedError(
            message=f"{tf_type}: ksize or strides is {sizes}: those of batch and channels must be "
            "1; only height and width can have others"
        )
    return found


def _across_channels(value: Any, ksize: list[int], strides: list[int], name: str | None) -> Tensor:
    """The largest of so many neighbouring channels."""
    channels = ksize[3]
    wrong = ""
    if ksize[:3] != [1, 1, 1] or strides[:3] != [1, 1, 1]:
        wrong = "exactly one of pooling across depth and across width and height is supported"
    elif strides[3] != channels:
        wrong = "depthwise max pooling requires the depth window to equal the depth stride"
    with scope(name, "MaxPool") as at:
        x = convert_to_tensor(value, name="value")
        require(x, FLOATING, "MaxPool", "value")
        dims = dims_of(x) or (None,) * 4
        shapes.merge(dims, (None,) * 4, describe(at, "MaxPool"))
        if not wrong and dims[3] is not None and dims[3] % channels:
            wrong = "depthwise max pooling requires the depth window to evenly divide the channels"
        if wrong:
            raise errors.UnimplementedError(
                message=f"{describe(at, 'MaxPool')}: ksize is {ksize}, strides is {strides}, the "
                f"shape is {shapes.text(dims)}: {wrong}"
            )
        # Each group of channels is a separate image, as high as the window.
        groups = primitive.reshape(x, [-1, channels, 1, 1])
        attrs = spatial_attributes([channels, 1], "VALID", kernel_shape=[channels, 1])
        largest = node(
            "MaxPool2D", [groups], x.dtype, (None, 1, 1, 1), domain="graphio", tf_type="MaxPool",
            **attrs,
        )  # fmt: skip
        lead = primitive.slice_axes(primitive.shape_of(x), [0], [3], [0])
        target = primitive.concat([lead, primitive.int_vector([-1])], 0)
        static = (*dims[:3], None if dims[3] is None else dims[3] // channels)
        return primitive.reshape_to(largest, target, static, at)


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
    """The elements of all windows: (elements of the window, n, oh, ow, c)."""
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
