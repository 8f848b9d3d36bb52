"""Convolutions and pools over one to three axes, and their variants under TensorFlow's names."""

from __future__ import annotations

import math as _math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import filling, joining
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import (
    FLOATING,
    describe,
    integers_of,
    ints,
    like,
    node,
    operation,
    renamed,
    require,
    scalar,
    scope,
)
from graphio.ops.base.primitive import binary, cast
from graphio.ops.base.shapes import Dims, dims_of
from graphio.ops.nn import conv
from graphio.ops.nn.batches import has_more_batches, over_batches
from graphio.ops.nn.narrow_integers import is_narrow
from graphio.ops.nn.padding import (
    channels_first,
    explicit,
    four,
    padding_of,
    spatial,
    spatial_attributes,
)
from graphio.support import api_guard, errors

__all__ = [
    "atrous_conv2d",
    "atrous_conv2d_transpose",
    "avg_pool1d",
    "avg_pool3d",
    "conv1d",
    "conv1d_transpose",
    "conv3d",
    "conv3d_transpose",
    "convolution",
    "depthwise_conv2d_native",
    "max_pool1d",
    "max_pool3d",
    "max_pool_with_argmax",
    "pool",
]

# ---- shared by the formats ----

#: axes of windows in each data format, None standing for the one of the rank
_FIRST = {"NWC": False, "NHWC": False, "NDHWC": False, "NCW": True, "NCHW": True, "NCDHW": True}


def _format(data_format: str | None, axes: int, op: str) -> bool:
    """Whether channels come second. Raises ValueError for a format of another rank."""
    word = data_format or ("NWC", "NHWC", "NDHWC")[axes - 1]
    if word not in _FIRST or len(word) != axes + 2:
        known = [f for f in _FIRST if len(f) == axes + 2]
        raise ValueError(f"{op}: data_format is {data_format!r}, expected {' or '.join(known)}")
    return _FIRST[word]


def _steps(value: Any, axes: int, first: bool, op: str, parameter: str) -> list[int]:
    """The part of the windows' axes of one number, one for each of them, or one for all axes."""
    listed = integers_of(value)
    if len(listed) == 1:
        listed = listed * axes
    if len(listed) == axes:
        listed = [1, 1, *listed] if first else [1, *listed, 1]
    others = listed[:2] if first else [listed[0], listed[-1]]
    if len(listed) != axes + 2 or any(v < 1 for v in listed) or others != [1, 1]:
        raise ValueError(
            f"{op}: {parameter} is {value!r}, expected {axes + 2} positive integers, 1 for batch "
            "and channels"
        )
    return listed[2:] if first else listed[1:-1]


def _front(x: Tensor, first: bool) -> Tensor:
    """Channels brought second."""
    rank = x.shape.ndims or 0
    return x if first else primitive.transpose(x, [0, rank - 1, *range(1, rank - 1)])


def _back(y: Tensor, first: bool, axes: int, name: str) -> Tensor:
    """The inverse of _front, under the user's name."""
    if first:
        return primitive.unary("Identity", y, name)
    return primitive.transpose(y, [0, *range(2, axes + 2), 1], name)


def _ranked(x: Tensor, rank: int, what: str) -> tuple[int | None, ...]:
    dims = dims_of(x)
    if dims is None:
        x.set_shape([None] * rank)
        dims = (None,) * rank
    if len(dims) != rank:
        raise ValueError(
            f"Shape must be rank {rank} but is rank {len(dims)} for {what} with input shapes: "
            f"{shapes.text(dims)}."
        )
    return dims


def _positions(
    dims: Sequence[int | None], kernel: Sequence[int | None], strides: Sequence[int],
    dilations: Sequence[int], padding: str, what: str,
) -> list[int | None]:  # fmt: skip
    """The static sizes of the result along the windows' axes."""
    sizes = zip(dims, kernel, strides, dilations, strict=True)
    return [shapes.window(d, k, s, g, padding, what) for d, k, s, g in sizes]


# ---- convolutions ----


@api_guard.operator
def conv1d(
    value: Any = None,
    filters: Any = None,
    stride: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool | None = None,
    data_format: str | None = None,
    name: str | None = None,
    input: Any = None,
    dilations: Any = None,
) -> Tensor:
    """Convolution (cross-correlation) along one axis.

    Args:
        value: floating (n, w, c), or (n, c, w) with NCW; more axes before are batches, too.
        filters: (kw, c, m) of the same dtype.
        stride: an integer.
        padding: SAME (size / stride, rounded up) or VALID (no padding).
        use_cudnn_on_gpu: accepted for TensorFlow's sake.
        data_format: NWC or NCW, or NHWC or NCHW for the same; None: NWC.
        name: of the operation.
        input: the new name of value.
        dilations: an integer; None: 1.

    Returns:
        A tensor (n, ow, m), or (n, m, ow).

    Raises:
        ValueError: the channels differ, a rank is not 3, or the window does not fit.
    """
    first = _format(_narrow(data_format), 1, "conv1d")
    step, gap = (
        _steps(1 if v is None else v, 1, first, "conv1d", label)[0]
        for v, label in ((stride, "stride"), (dilations, "dilations"))
    )
    with scope(name, "conv1d") as at:
        x = convert_to_tensor(input if value is None else value, name="value")
        w = like(filters, x, "conv1d", ("value", "filters"))
        if has_more_batches(x, 3):
            return over_batches(x, 3, at, lambda flat: conv1d(
                flat, w, stride, padding, data_format=data_format, dilations=dilations
            ))  # fmt: skip
        _ranked(x, 3, describe(at, "conv1d"))
        _ranked(w, 3, describe(at, "conv1d"))
        position = 2 if first else 1
        word = "NCHW" if first else "NHWC"
        y = conv.conv2d(
            primitive.unsqueeze(x, [position]), primitive.unsqueeze(w, [0]), [1, step], padding,
            data_format=word, dilations=[1, gap],
        )  # fmt: skip
        return primitive.squeeze(y, [position], at)


def _narrow(data_format: str | None) -> str | None:
    return {"NHWC": "NWC", "NCHW": "NCW"}.get(data_format or "", data_format)


@api_guard.operator
def conv1d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The transpose (gradient by the input) of conv1d.

    Args:
        input: floating (n, w, m), or (n, m, w) with NCW.
        filters: (kw, c, m), c being the result's channels.
        output_shape: of the result, 3 integers in data_format's order.
        strides: an integer.
        padding: SAME or VALID.
        data_format: NWC or NCW.
        dilations: an integer; None: 1.
        name: of the operation.
    """
    op = "conv1d_transpose"
    first = _format(_narrow(data_format), 1, op)
    step, gap = (
        _steps(1 if v is None else v, 1, first, op, label)[0]
        for v, label in ((strides, "strides"), (dilations, "dilations"))
    )
    with scope(name, op) as at:
        x = convert_to_tensor(input, name="input")
        w = like(filters, x, op, ("input", "filters"))
        _ranked(x, 3, describe(at, op))
        position, word = (2, "NCHW") if first else (1, "NHWC")
        sizes = ints(output_shape, op, "output_shape")
        before, after = (
            primitive.slice_axes(sizes, [a], [b], [0])
            for a, b in ((0, position), (position, primitive.last))
        )
        whole = primitive.concat([before, primitive.int_vector([1]), after], 0)
        y = conv.conv2d_backprop_input(
            whole, primitive.unsqueeze(w, [0]), primitive.unsqueeze(x, [position]), [1, step],
            padding, data_format=word, dilations=[1, gap],
        )  # fmt: skip
        return primitive.squeeze(y, [position], at)


def _weights_front(w: Tensor) -> Tensor:
    """(kd, kh, kw, in, out) as (out, in, kd, kh, kw)."""
    return primitive.transpose(w, [4, 3, 0, 1, 2])


@api_guard.operator
def conv3d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    data_format: str = "NDHWC",
    dilations: Any = (1, 1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """Convolution (cross-correlation) of volumes with filters.

    Args:
        input: floating (n, d, h, w, c), or (n, c, d, h, w) with NCDHW; more axes before are
            batches, too.
        filter: (kd, kh, kw, c, m) of the same dtype.
        strides: 5 integers in data_format's order, 1 for batch and channels; or 1 or 3.
        padding: SAME (size / stride, rounded up) or VALID (no padding).
        data_format: NDHWC or NCDHW.
        dilations: 5 integers, as strides.
        name: of the operation.
        filters: the new name of filter.

    Raises:
        ValueError: the channels differ, a rank is not 5, or the window does not fit.
    """
    op = "Conv3D"
    word, first = padding_of(padding, op), _format(data_format, 3, op)
    steps = _steps(1 if strides is None else strides, 3, first, op, "strides")
    gaps = _steps(dilations, 3, first, op, "dilations")
    with scope(name, op) as at:
        x = convert_to_tensor(input, name="input")
        require(x, FLOATING, op, "input")
        w = like(filter if filters is None else filters, x, op, ("input", "filter"))
        if has_more_batches(x, 5):
            return over_batches(x, 5, at, lambda flat: conv3d(
                flat, w, strides, padding, data_format, dilations
            ))  # fmt: skip
        what = describe(at, op)
        _ranked(x, 5, what)
        kernel = _ranked(w, 5, what)
        x = _front(x, first)
        dims = dims_of(x)
        assert dims is not None
        shapes.merge(dims[1:2], kernel[3:4], what)
        sizes = _positions(dims[2:], kernel[:3], steps, gaps, word, what)
        attrs = spatial_attributes(steps, word, dilations=gaps, group=1)
        result: Dims = (dims[0], kernel[4], *sizes)
        y = node("Conv", [x, _weights_front(w)], x.dtype, result, tf_type=op, **attrs)
        return _back(y, first, 3, at)


@api_guard.operator
def conv3d_transpose(
    value: Any,
    filter: Any = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: str = "SAME",
    data_format: str = "NDHWC",
    name: str | None = None,
    input: Any = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """The transpose (gradient by the input) of conv3d.

    Args:
        value: floating (n, d, h, w, m), or (n, m, d, h, w) with NCDHW.
        filter: (kd, kh, kw, c, m), c being the result's channels.
        output_shape: of the result, 5 integers in data_format's order.
        strides: as conv3d's.
        padding: SAME or VALID.
        data_format: NDHWC or NCDHW.
        name: of the operation.
        input: the new name of value.
        filters: the new name of filter.
        dilations: as conv3d's; None: 1.

    Raises:
        ValueError: the channels differ, or a rank is not 5.
    """
    op = "conv3d_transpose"
    word, first = padding_of(padding, op), _format(data_format, 3, op)
    steps = _steps(strides, 3, first, op, "strides")
    gaps = _steps(1 if dilations is None else dilations, 3, first, op, "dilations")
    with scope(name, op) as at:
        dy = convert_to_tensor(value if input is None else input, name="value")
        require(dy, FLOATING, op, "value")
        w = like(filter if filters is None else filters, dy, op, ("value", "filter"))
        what = describe(at, op)
        _ranked(dy, 5, what)
        kernel = _ranked(w, 5, what)
        sizes = ints(output_shape, op, "output_shape")
        if not first:
            sizes = primitive.gather(sizes, primitive.int_vector([0, 4, 1, 2, 3]), 0)
        dims = primitive.static_vector(sizes) or (None,) * 5
        shapes.merge(dims[1:2], kernel[3:4], what)
        given = _front(dy, first)
        positions = _positions(dims[2:], kernel[:3], steps, gaps, word, what)
        shapes.merge((dims[0], kernel[4], *positions), dims_of(given), what)
        attrs = spatial_attributes(steps, word, dilations=gaps, group=1)
        inputs = [sizes, _weights_front(w), given]
        dx = node("ConvGradInput", inputs, dy.dtype, dims, domain="graphio", **attrs)
        return _back(dx, first, 3, at)


@api_guard.operator
def convolution(
    input: Any,
    filter: Any = None,
    padding: Any = None,
    strides: Any = None,
    dilation_rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """Convolution over one to three axes, as many as the filter has in addition to its channels.

    Args:
        input: floating tensor, channels last or as data_format says.
        filter: (windows..., c, m) of the same dtype.
        padding: SAME or VALID.
        strides: one integer an axis; None: 1.
        dilation_rate: one integer an axis; None: 1.
        name: of the operation.
        data_format: NWC, NHWC, NDHWC (the default) or NCW, NCHW, NCDHW.
        filters: the new name of filter.
        dilations: the new name of dilation_rate.

    Returns:
        A tensor of input's rank.

    Raises:
        ValueError: no rank is known, it is none of 3 to 5, strides and dilations are both above 1,
            the channels differ, or the window does not fit.
    """
    with scope(name, "convolution") as at:
        x = convert_to_tensor(input, name="input")
        w = like(renamed("filters", filters, "filter", filter), x, "convolution",
                 ("input", "filter"))  # fmt: skip
        rank = x.shape.ndims if w.shape.ndims is None else w.shape.ndims
        if rank not in (3, 4, 5):
            raise ValueError(
                f"convolution: filter has shape {shapes.text_of(w)}, expected (windows..., in, "
                "out) with 1 to 3 axes of windows"
            )
        axes = rank - 2
        first = _format(data_format, axes, "convolution")
        rate = renamed("dilations", dilations, "dilation_rate", dilation_rate)
        steps, gaps = (
            _steps(1 if v is None else v, axes, first, "convolution", label)
            for v, label in ((strides, "strides"), (rate, "dilations"))
        )
        if max(steps) > 1 and max(gaps) > 1:
            raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1")
        if axes == 1:
            return conv1d(x, w, steps, padding, data_format=data_format, dilations=gaps, name=at)
        form = data_format or ("NHWC", "NDHWC")[axes - 2]
        build = conv.conv2d if axes == 2 else conv3d
        return build(x, w, steps, padding, data_format=form, dilations=gaps, name=at)


@api_guard.operator
def depthwise_conv2d_native(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """depthwise_conv2d with dilations of 4 integers in data_format's order."""
    first = channels_first(data_format, "DepthwiseConv2dNative")
    rate = spatial(dilations, first, "DepthwiseConv2dNative", "dilations")
    return conv.depthwise_conv2d(
        input, filter, strides, padding, rate, name=name or "DepthwiseConv2dNative",
        data_format=data_format,
    )  # fmt: skip


@api_guard.operator
def atrous_conv2d(
    value: Any, filters: Any, rate: int, padding: Any, name: str | None = None
) -> Tensor:
    """conv2d of images (n, h, w, c) with `rate` as the dilation of height and width.

    Raises:
        ValueError: the shapes do not fit, or images that are padded to complete blocks of rate, as
            TensorFlow pads them, would have more elements than int64 counts.
    """
    with scope(name, "atrous_conv2d") as at:
        made = conv.conv2d(value, filters, 1, padding, dilations=[rate, rate], name=at)
        _check_blocks(made.op.operands, rate)
        return made


def _check_blocks(operands: Sequence[Tensor | None], rate: int) -> None:
    """Refuses a rate at which blocks of images are beyond every memory."""
    images, filters = ((dims_of(t) if t is not None else None) or () for t in operands[:2])
    sizes = [(image or 1) + rate * ((window or 1) - 1)
             for image, window in zip(images[1:3], filters[:2], strict=False)]  # fmt: skip
    blocks = [-(-size // rate) * rate for size in sizes]
    if _math.prod(blocks) * ((images[3:] or (1,))[0] or 1) >= 2**63:
        raise ValueError(
            f"atrous_conv2d: at a rate of {rate} images are padded to {blocks}, more elements than "
            "int64 counts; take a smaller rate, or conv2d with dilations, which does not pad"
        )


@api_guard.operator
def atrous_conv2d_transpose(
    value: Any, filters: Any, output_shape: Any, rate: int, padding: Any, name: str | None = None
) -> Tensor:
    """The transpose (gradient by the input) of atrous_conv2d; output_shape is its result's."""
    with scope(name, "atrous_conv2d_transpose") as at:
        x = convert_to_tensor(value, name="value")
        w = like(filters, x, "atrous_conv2d_transpose", ("value", "filters"))
        return conv.conv2d_backprop_input(
            output_shape, w, x, 1, padding, dilations=[rate, rate], name=at
        )


# ---- pools ----


def _pool(
    op: str, tf_type: str, x: Any, window: list[int], steps: list[int], gaps: list[int],
    padding: Any, first: bool, name: str | None,
) -> Tensor:  # fmt: skip
    word, axes = padding_of(padding, tf_type), len(window)
    with scope(name, tf_type) as at:
        tensor = convert_to_tensor(x, name="input")
        require(tensor, FLOATING, tf_type, "input")
        what = describe(at, tf_type)
        _ranked(tensor, axes + 2, what)
        tensor = _front(tensor, first)
        dims = dims_of(tensor)
        assert dims is not None
        sizes = _positions(dims[2:], window, steps, gaps, word, what)
        attrs = spatial_attributes(steps, word, kernel_shape=window)
        if any(g != 1 for g in gaps):
            attrs["dilations"] = gaps
        y = node(op, [tensor], tensor.dtype, (*dims[:2], *sizes), tf_type=tf_type, **attrs)
        return _back(y, first, axes, at)


def _plain(
    op: str, tf_type: str, axes: int, x: Any, ksize: Any, strides: Any, padding: Any,
    data_format: str | None, name: str | None,
) -> Tensor:  # fmt: skip
    first = _format(data_format, axes, tf_type)
    window = _steps(ksize, axes, first, tf_type, "ksize")
    steps = _steps(strides, axes, first, tf_type, "strides")
    return _pool(op, tf_type, x, window, steps, [1] * axes, padding, first, name)


@api_guard.operator
def max_pool1d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The largest element of each window of (n, w, c), or (n, c, w) with NCW; see max_pool."""
    if isinstance(padding, (list, tuple)):
        pairs = explicit(padding, _format(data_format, 1, "max_pool1d"), "max_pool1d", 3)
        input, padding = joining.pad(input, pairs, constant_values=-np.inf), "VALID"
    return _plain("MaxPool", "max_pool1d", 1, input, ksize, strides, padding, data_format, name)


@api_guard.operator
def avg_pool1d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window of (n, w, c), padding left out; see max_pool1d."""
    kind = "AveragePool"
    return _plain(kind, "avg_pool1d", 1, input, ksize, strides, padding, data_format, name)


@api_guard.operator
def max_pool3d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The largest element of each window of volumes; the first one of equals takes the gradient.

    Args:
        input: floating (n, d, h, w, c), or (n, c, d, h, w) with NCDHW.
        ksize: the window: 5 integers in data_format's order, 1 for batch and channels; or 1 or 3.
        strides: as ksize.
        padding: SAME (size / stride, rounded up) or VALID (no padding).
        data_format: NDHWC or NCDHW.
        name: of the operation.

    Raises:
        ValueError: the rank is not 5, or the window does not fit.
    """
    return _plain("MaxPool", "MaxPool3D", 3, input, ksize, strides, padding, data_format, name)


@api_guard.operator
def avg_pool3d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window of volumes, padding left out; arguments as max_pool3d's."""
    return _plain("AveragePool", "AvgPool3D", 3, input, ksize, strides, padding, data_format, name)


@api_guard.operator
def pool(
    input: Any,
    window_shape: Sequence[int],
    pooling_type: str,
    padding: Any,
    dilation_rate: Any = None,
    strides: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Pooling over one to three axes, as many as window_shape has.

    Args:
        input: floating tensor, channels last or as data_format says.
        window_shape: the window along each axis.
        pooling_type: MAX or AVG.
        padding: SAME or VALID.
        dilation_rate: one integer an axis; None: 1.
        strides: one integer an axis; None: 1.
        name: of the operation.
        data_format: NWC, NHWC, NDHWC (the default) or NCW, NCHW, NCDHW.
        dilations: the new name of dilation_rate.

    Raises:
        ValueError: pooling_type is neither, strides and dilations are both above 1, or the window
            does not fit.
    """
    if pooling_type not in ("MAX", "AVG"):
        raise ValueError(f"pooling_type is {pooling_type!r}, expected 'MAX' or 'AVG'")
    axes = len(window_shape)
    if not 1 <= axes <= 3:
        raise ValueError(f"pool: window_shape is {list(window_shape)}, expected 1 to 3 integers")
    first = _format(data_format, axes, "pool")
    window = _steps(list(window_shape), axes, first, "pool", "window_shape")
    rate = dilation_rate if dilations is None else dilations
    steps, gaps = (
        _steps(1 if v is None else v, axes, first, "pool", label)
        for v, label in ((strides, "strides"), (rate, "dilation_rate"))
    )
    if max(steps) > 1 and max(gaps) > 1:
        raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1")
    op = "MaxPool" if pooling_type == "MAX" else "AveragePool"
    return _pool(op, "pool", input, window, steps, gaps, padding, first, name)


class MaxPoolWithArgmax(NamedTuple):
    """The results of max_pool_with_argmax."""

    output: Tensor
    argmax: Tensor


def _positions_alone(ksize: list[int], strides: list[int]) -> tuple[list[int], list[int]]:
    """Height's and width's part of a window and of its strides."""
    across = ksize[3] != 1 or strides[3] != 1
    plain = ksize[:3] == [1, 1, 1] and ksize == strides
    if ksize[0] != 1 or strides[0] != 1 or (across and not plain):
        raise errors.UnimplementedError(
            message=f"MaxPoolWithArgmax: ksize is {ksize}, strides is {strides}: pooling is across "
            "height and width; a window across channels is as wide as its strides, and has one "
            "position of one image"
        )
    return ksize[1:3], strides[1:3]


@api_guard.operator
def max_pool_with_argmax(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    Targmax: Any = None,
    name: str | None = None,
    output_dtype: Any = None,
    include_batch_in_index: bool = False,
) -> MaxPoolWithArgmax:
    """max_pool, and where each largest element is, the first of equal ones.

    Args:
        input: floating (n, h, w, c), or integers of up to 32 bits.
        ksize: 4 integers, 1 for batch; or 1 or 2. A window of several channels changes nothing, as
            in TensorFlow, whose kernel pools height and width alone.
        strides: as ksize.
        padding: SAME or VALID.
        data_format: NHWC.
        Targmax: int64 or int32; None: int64.
        name: of the operation.
        output_dtype: the new name of Targmax.
        include_batch_in_index: True counts from the first image.

    Returns:
        output (n, oh, ow, c), and argmax: (y * w + x) * c + channel of the element in its image.

    Raises:
        ValueError: the rank is not 4, the window does not fit, or data_format is another.
        UnimplementedError: a window of several images, or of several channels with several
            positions or other strides.
    """
    op = "MaxPoolWithArgmax"
    word = padding_of(padding, op)
    if channels_first(data_format, op):
        raise ValueError(f"{op}: data_format is 'NCHW', expected 'NHWC'")
    window, steps = _positions_alone(
        four(ksize, False, op, "ksize"), four(strides, False, op, "strides")
    )
    kind = dtypes.as_dtype(Targmax or output_dtype or dtypes.int64).base_dtype
    with scope(name, op) as at:
        given = convert_to_tensor(input, name="input")
        tensor = cast(given, dtypes.float64) if is_narrow(given) else given
        require(tensor, FLOATING, op, "input")
        what = describe(at, op)
        _ranked(tensor, 4, what)
        x = _front(tensor, False)
        dims = dims_of(x)
        assert dims is not None
        sizes = _positions(dims[2:], window, steps, [1, 1], word, what)
        result = (*dims[:2], *sizes)
        attrs = spatial_attributes(steps, word, kernel_shape=window)
        outputs: list[tuple[dtypes.DType, Dims]] = [(x.dtype, result), (dtypes.int64, result)]
        y, number = operation("MaxPool", [x], outputs, attrs=attrs).outputs
        # The operator counts through all images, channels before height and width.
        n, c, h, w = (primitive.gather(primitive.shape_of(x), scalar(i, dtypes.int64), 0)
                      for i in range(4))  # fmt: skip
        area = binary("Mul", h, w)
        inside = node("Mod", [number, area], dtypes.int64, result, fmod=0)
        channel = primitive.unsqueeze(filling.range(c), [1, 2])
        position = binary("Add", binary("Mul", inside, c), channel)
        if include_batch_in_index:
            image = primitive.unsqueeze(filling.range(n), [1, 2, 3])
            position = binary("Add", position, binary("Mul", image, binary("Mul", area, c)))
        return MaxPoolWithArgmax(
            cast(primitive.transpose(y, [0, 2, 3, 1]), given.dtype),
            cast(primitive.transpose(position, [0, 2, 3, 1]), kind, at),
        )
