"""Convolutions over images, channels last inside; filters (height, width, in, out)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphio.constants import convert_to_tensor
from graphio.gradient_registry import gradient
from graphio.graph import Operation, Tensor
from graphio.ops import joining, primitive, shapes
from graphio.ops.emit import (
    FLOATING,
    describe,
    ints,
    like,
    node,
    require,
    scope,
    static_ints,
)
from graphio.ops.padding import (
    channels_first,
    explicit,
    padding_of,
    spatial,
    spatial_attributes,
    to_nchw,
    to_nhwc,
)
from graphio.ops.shapes import Dims, dims_of

__all__ = [
    "conv2d",
    "conv2d_backprop_filter",
    "conv2d_backprop_input",
    "conv2d_transpose",
    "convolution",
    "depthwise_conv2d",
    "depthwise_conv2d_native_backprop_filter",
    "depthwise_conv2d_native_backprop_input",
    "separable_conv2d",
]

Gradients = Sequence["Tensor | None"]
Attributes = Mapping[str, Any]

# ---- nodes, channels last ----


def _convolve(
    x: Tensor, w: Tensor, attrs: Attributes, dims: Dims, name: str | None = None,
    tf_type: str | None = None,
) -> Tensor:  # fmt: skip
    return node(
        "Conv2D", [x, w], x.dtype, dims, name=name, domain="graphio", tf_type=tf_type, **attrs
    )


def _input_gradient(
    x_shape: Tensor, w: Tensor, dy: Tensor, attrs: Attributes, dims: Dims, name: str | None = None
) -> Tensor:
    inputs = [x_shape, w, dy]
    return node("Conv2DGradInput", inputs, dy.dtype, dims, name=name, domain="graphio", **attrs)


def _filter_gradient(
    x: Tensor, w_shape: Tensor, dy: Tensor, attrs: Attributes, dims: Dims, name: str | None = None
) -> Tensor:
    inputs = [x, w_shape, dy]
    return node("Conv2DGradFilter", inputs, dy.dtype, dims, name=name, domain="graphio", **attrs)


def _result_dims(
    x: Dims, w: Dims, strides: Sequence[int], dilations: Sequence[int], padding: str, group: int,
    what: str,
) -> Dims:  # fmt: skip
    """The static shape of a convolution, channels last."""
    for dims, label in ((x, "input"), (w, "filter")):
        if dims is not None and len(dims) != 4:
            raise ValueError(
                f"Shape must be rank 4 but is rank {len(dims)} for {what} with input shapes: "
                f"{shapes.text(x)}, {shapes.text(w)}; {label} has four axes"
            )
    n, h, width, c = x or (None,) * 4
    kh, kw, k, m = w or (None,) * 4
    if c is not None and k is not None and c != k * group:
        raise ValueError(
            f"Dimensions must be equal, but are {c} and {k * group} for {what} with input shapes: "
            f"{shapes.text(x)}, {shapes.text(w)}: the input has {c} channels, the filter expects "
            f"{k * group}."
        )
    return (
        n,
        shapes.window(h, kh, strides[0], dilations[0], padding, what),
        shapes.window(width, kw, strides[1], dilations[1], padding, what),
        m,
    )


# ---- builders ----


def conv2d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """Convolution (cross-correlation) of images with filters.

    Args:
        input: floating (n, h, w, c), or (n, c, h, w) with NCHW.
        filter: (kh, kw, c, m) of the same dtype.
        strides: 4 integers in data_format's order, 1 for batch and channels; or 1 or 2.
        padding: SAME (size / stride, rounded up), VALID (no padding), or 4 pairs of zeros before
            and after each axis in data_format's order, 0 for batch and channels.
        use_cudnn_on_gpu: accepted for TensorFlow's sake.
        data_format: NHWC or NCHW.
        dilations: 4 integers, as strides.
        name: of the operation.
        filters: the new name of filter.

    Returns:
        A tensor (n, oh, ow, m), or (n, m, oh, ow).

    Raises:
        ValueError: the channels differ, a rank is not 4, the window does not fit, or padding is
            none of these.
    """
    return _conv2d(input, filter if filters is None else filters, strides, padding, data_format,
                   dilations, name, "Conv2D")  # fmt: skip


def _conv2d(
    images: Any, kernel: Any, strides: Any, padding: Any, data_format: str, dilations: Any,
    name: str | None, op: str,
) -> Tensor:  # fmt: skip
    first = channels_first(data_format, op)
    pairs = explicit(padding, first, op) if isinstance(padding, (list, tuple)) else None
    word = padding_of(padding, op) if pairs is None else "VALID"
    steps = spatial(1 if strides is None else strides, first, op, "strides")
    gaps = spatial(dilations, first, op, "dilations")
    with scope(name, op) as at:
        x = convert_to_tensor(images, name="input")
        require(x, FLOATING, op, "input")
        w = like(kernel, x, op, ("input", "filter"))
        x = x if pairs is None else joining.pad(x, pairs)
        x = to_nhwc(x, first) if x.shape.ndims in (4, None) else x
        dims = _result_dims(dims_of(x), dims_of(w), steps, gaps, word, 1, describe(at, op))
        attrs = spatial_attributes(steps, word, dilations=gaps, group=1)
        y = _convolve(x, w, attrs, dims, None if first else at)
        return to_nchw(y, first, at)


def convolution(
    input: Any,
    filter: Any,
    padding: Any,
    strides: Any = None,
    dilation_rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
) -> Tensor:
    """conv2d with strides and dilation_rate of height and width alone.

    Args:
        input: floating (n, h, w, c), or (n, c, h, w) with NCHW.
        filter: (kh, kw, c, m).
        padding: SAME or VALID.
        strides: 2 integers; None: 1.
        dilation_rate: 2 integers; None: 1.
        name: of the operation.
        data_format: NHWC or NCHW; None: NHWC.
    """
    return _conv2d(input, filter, 1 if strides is None else list(strides), padding,
                   data_format or "NHWC", 1 if dilation_rate is None else list(dilation_rate),
                   name or "convolution", "Conv2D")  # fmt: skip


def conv2d_transpose(
    value: Any,
    filter: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """The transpose (gradient by the input) of conv2d.

    Args:
        value: floating (n, h, w, m), or (n, m, h, w) with NCHW.
        filter: (kh, kw, c, m), c being the result's channels.
        output_shape: of the result, 4 integers in data_format's order.
        strides: as conv2d's.
        padding: SAME or VALID.
        data_format: NHWC or NCHW.
        name: of the operation.

    Raises:
        ValueError: the channels differ, or a rank is not 4.
    """
    with scope(name, "conv2d_transpose") as at:
        x = convert_to_tensor(value, name="value")
        w = like(filter, x, "conv2d_transpose", ("value", "filter"))
        return conv2d_backprop_input(
            output_shape, w, x, strides, padding, data_format=data_format, name=at
        )


def conv2d_backprop_input(
    input_sizes: Any,
    filter: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of conv2d by its input.

    Args:
        input_sizes: the input's shape, 4 integers in data_format's order.
        filter: (kh, kw, c, m).
        out_backprop: the gradient by conv2d's result.
        strides: as conv2d's.
        padding: SAME or VALID.
        use_cudnn_on_gpu: accepted for TensorFlow's sake.
        data_format: NHWC or NCHW.
        dilations: as conv2d's.
        name: of the operation.
    """
    op = "Conv2DBackpropInput"
    word, first = padding_of(padding, op), channels_first(data_format, op)
    steps = spatial(strides, first, op, "strides")
    gaps = spatial(dilations, first, op, "dilations")
    with scope(name, op) as at:
        dy = convert_to_tensor(out_backprop, name="out_backprop")
        w = like(filter, dy, op, ("out_backprop", "filter"))
        sizes = ints(input_sizes, op, "input_sizes")
        if first:
            order = primitive.int_vector([0, 2, 3, 1])
            sizes = primitive.gather(sizes, order, 0)
        given, rows = to_nhwc(dy, first), primitive.static_vector(sizes)
        what = describe(at, op)
        expected = _result_dims(rows, dims_of(w), steps, gaps, word, 1, what)
        shapes.merge(expected, dims_of(given), what)
        attrs = spatial_attributes(steps, word, dilations=gaps, group=1)
        dx = _input_gradient(sizes, w, given, attrs, rows, None if first else at)
        return to_nchw(dx, first, at)


def conv2d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of conv2d by its filter, of shape filter_sizes; see conv2d_backprop_input."""
    op = "Conv2DBackpropFilter"
    word, first = padding_of(padding, op), channels_first(data_format, op)
    steps = spatial(strides, first, op, "strides")
    gaps = spatial(dilations, first, op, "dilations")
    with scope(name, op) as at:
        x = convert_to_tensor(input, name="input")
        dy = like(out_backprop, x, op, ("input", "out_backprop"))
        sizes = ints(filter_sizes, op, "filter_sizes")
        attrs = spatial_attributes(steps, word, dilations=gaps, group=1)
        dims = primitive.static_vector(sizes)
        given = to_nhwc(dy, first)
        return _filter_gradient(to_nhwc(x, first), sizes, given, attrs, dims, at)


def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
) -> Tensor:
    """Each channel convolved with filters of its own.

    Args:
        input: floating (n, h, w, c), or (n, c, h, w) with NCHW.
        filter: (kh, kw, c, k), statically known: k filters for each channel.
        strides: as conv2d's.
        padding: SAME or VALID.
        rate: dilation of height and width; None: 1.
        name: of the operation.
        data_format: NHWC or NCHW; None: NHWC.

    Returns:
        A tensor (n, oh, ow, c * k), or (n, c * k, oh, ow).

    Raises:
        ValueError: the channels differ, or the filter's sizes are not known.
    """
    op = "depthwise"
    word, first = padding_of(padding, op), channels_first(data_format, op)
    steps = spatial(strides, first, op, "strides")
    gaps = spatial(1 if rate is None else list(rate), first, op, "rate")
    with scope(name, op) as at:
        x = convert_to_tensor(input, name="tensor_in")
        require(x, FLOATING, op, "input")
        w = like(filter, x, op, ("input", "filter"))
        sizes = dims_of(w)
        if sizes is None or len(sizes) != 4 or sizes[2] is None or sizes[3] is None:
            raise ValueError(
                f"depthwise_conv2d: filter has shape {shapes.text(sizes)}, expected (kh, kw, c, k) "
                "with known c and k"
            )
        kh, kw, c, k = sizes
        assert c is not None and k is not None
        x = to_nhwc(x, first)
        flat_dims: Dims = (kh, kw, 1, c * k)
        if kh is None or kw is None:
            raise ValueError(f"depthwise_conv2d: filter has shape {shapes.text(sizes)}, not known")
        flat = primitive.reshape(w, [kh, kw, 1, c * k])
        dims = _result_dims(dims_of(x), flat_dims, steps, gaps, word, c, describe(at, op))
        attrs = spatial_attributes(steps, word, dilations=gaps, group=c)
        kind = "DepthwiseConv2dNative"
        y = _convolve(x, flat, attrs, dims, None if first else at, kind)
        return to_nchw(y, first, at)


def _depthwise(
    op: str, filter_sizes: Any, strides: Any, padding: Any, data_format: str, dilations: Any
) -> tuple[list[int], Attributes, bool]:
    """The filter's sizes, the attributes of its convolution, and whether channels come first."""
    first = channels_first(data_format, op)
    sizes = [int(d) for d in filter_sizes if d is not None]
    if len(sizes) != 4:
        raise ValueError(f"{op}: the filter's sizes must be known and four, not {filter_sizes}")
    attrs = spatial_attributes(
        spatial(strides, first, op, "strides"), padding_of(padding, op),
        dilations=spatial(dilations, first, op, "dilations"), group=sizes[2],
    )  # fmt: skip
    return sizes, attrs, first


def depthwise_conv2d_native_backprop_input(
    input_sizes: Any,
    filter: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of depthwise_conv2d_native by its input; see conv2d_backprop_input."""
    op = "DepthwiseConv2dNativeBackpropInput"
    with scope(name, op) as at:
        dy = convert_to_tensor(out_backprop, name="out_backprop")
        w = like(filter, dy, op, ("out_backprop", "filter"))
        known = dims_of(w) or ()
        (kh, kw, c, k), attrs, first = _depthwise(
            op, known, strides, padding, data_format, dilations
        )
        sizes = ints(input_sizes, op, "input_sizes")
        if first:
            sizes = primitive.gather(sizes, primitive.int_vector([0, 2, 3, 1]), 0)
        dims, flat = primitive.static_vector(sizes), primitive.reshape(w, [kh, kw, 1, c * k])
        given = to_nhwc(dy, first)
        word, what = padding_of(padding, op), describe(at, op)
        steps, gaps = (
            spatial(strides, first, op, "strides"),
            spatial(dilations, first, op, "dilations"),
        )
        expected = _result_dims(dims, dims_of(flat), steps, gaps, word, c, what)
        shapes.merge(expected, dims_of(given), what)
        dx = _input_gradient(sizes, flat, given, attrs, dims, None if first else at)
        return to_nchw(dx, first, at)


def depthwise_conv2d_native_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of depthwise_conv2d_native by its filter, whose four sizes must be known."""
    op = "DepthwiseConv2dNativeBackpropFilter"
    with scope(name, op) as at:
        x = convert_to_tensor(input, name="input")
        dy = like(out_backprop, x, op, ("input", "out_backprop"))
        known = static_ints(filter_sizes) or ()
        (kh, kw, c, k), attrs, first = _depthwise(
            op, known, strides, padding, data_format, dilations
        )
        flat = primitive.int_vector([kh, kw, 1, c * k])
        dims: Dims = (kh, kw, 1, c * k)
        given = to_nhwc(dy, first)
        dw = _filter_gradient(to_nhwc(x, first), flat, given, attrs, dims)
        return primitive.reshape_to(dw, primitive.int_vector([kh, kw, c, k]), (kh, kw, c, k), at)


def separable_conv2d(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
) -> Tensor:
    """depthwise_conv2d followed by a convolution with windows of size 1.

    Args:
        input: floating (n, h, w, c), or (n, c, h, w) with NCHW.
        depthwise_filter: (kh, kw, c, k).
        pointwise_filter: (1, 1, c * k, m).
        strides: as conv2d's.
        padding: SAME or VALID.
        rate: dilation of the first step.
        name: of the operation.
        data_format: NHWC or NCHW; None: NHWC.
    """
    with scope(name, "separable_conv2d") as at:
        deep = depthwise_conv2d(
            input, depthwise_filter, strides, padding, rate, data_format=data_format
        )
        form = data_format or "NHWC"
        return conv2d(deep, pointwise_filter, 1, "VALID", data_format=form, name=at)


# ---- gradients: each of the three is linear in both of its tensors ----


def _attributes(op: Operation) -> Attributes:
    return dict(op.attrs)


@gradient("Conv2D", domain="graphio")
def _conv_gradient(op: Operation, dy: Tensor) -> Gradients:
    """The two gradients of a convolution."""
    x, w = op.inputs
    attrs = _attributes(op)
    return [
        _input_gradient(primitive.shape_of(x), w, dy, attrs, dims_of(x)),
        _filter_gradient(x, primitive.shape_of(w), dy, attrs, dims_of(w)),
    ]


@gradient("Conv2DGradInput", domain="graphio")
def _input_gradient_gradient(op: Operation, ddx: Tensor) -> Gradients:
    """By w the filter's gradient with ddx as the image; by dy the convolution of ddx."""
    _, w, dy = op.inputs
    attrs = _attributes(op)
    return [
        None,
        _filter_gradient(ddx, primitive.shape_of(w), dy, attrs, dims_of(w)),
        _convolve(ddx, w, attrs, dims_of(dy)),
    ]


@gradient("Conv2DGradFilter", domain="graphio")
def _filter_gradient_gradient(op: Operation, ddw: Tensor) -> Gradients:
    """By x the input's gradient with ddw as the filter; by dy the convolution with ddw."""
    x, _, dy = op.inputs
    attrs = _attributes(op)
    return [
        _input_gradient(primitive.shape_of(x), ddw, dy, attrs, dims_of(x)),
        None,
        _convolve(x, ddw, attrs, dims_of(dy)),
    ]
