"""Convolutions over images, channels last inside; filters (height, width, in, out)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.gradient_registry import gradient
from graphio.framework.graph import Operation, Tensor
from graphio.ops.array import filling, joining
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import (
    FLOATING,
    describe,
    ints,
    like,
    node,
    renamed,
    require,
    scalar,
    scope,
    static_ints,
)
from graphio.ops.base.shapes import Dims, dims_of
from graphio.ops.checks import assertion
from graphio.ops.math import elementwise
from graphio.ops.nn.batches import has_more_batches, over_batches
from graphio.ops.nn.padding import (
    channels_first,
    padding_of,
    spatial,
    spatial_attributes,
    spatial_of,
    to_nchw,
    to_nhwc,
    word_or_pairs,
)
from graphio.support import api_guard, errors

__all__ = [
    "conv2d",
    "conv2d_backprop_filter",
    "conv2d_backprop_input",
    "conv2d_transpose",
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
    if 0 in (kh, kw, k, m):
        raise errors.InvalidArgumentError(
            message=f"filter must not have zero elements, but has shape {shapes.text(w)} for {what}"
        )
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


def _groups(x: Dims, w: Dims, what: str) -> int:
    """The number of groups of a convolution, channels last, from the channels of input and filter.

    Raises:
        ValueError: the groups do not share the filters evenly.
    """
    if x is None or w is None or len(x) != 4 or len(w) != 4:
        return 1
    channels, each, filters = x[3], w[2], w[3]
    if channels is None or not each or channels % each or channels == each:
        return 1
    group = channels // each
    if filters is not None and filters % group:
        raise ValueError(
            f"{what}: {filters} filters do not share evenly among the {group} groups of {each} "
            f"that the input's {channels} channels make"
        )
    return group


# ---- builders ----


@api_guard.operator
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
        input: floating (n, h, w, c), or (n, c, h, w) with NCHW; more axes before are batches, too.
        filter: (kh, kw, c / g, m) of the same dtype; where its channels are fewer than the
            input's, each of g groups of channels has m / g of the filters.
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
        ValueError: the channels differ, input has fewer than 4 axes or filter another number, the
            window does not fit, or padding is none of these.
        InvalidArgumentError: of the run: strides has another number than 1 for batch or channels.
    """
    return _conv2d(input, filter if filters is None else filters, strides, padding, data_format,
                   dilations, name, "Conv2D")  # fmt: skip


def _conv2d(
    images: Any, kernel: Any, strides: Any, padding: Any, data_format: str, dilations: Any,
    name: str | None, op: str,
) -> Tensor:  # fmt: skip
    first = channels_first(data_format, op)
    word, pairs = word_or_pairs(padding, first, op)
    steps, plain = spatial_of(1 if strides is None else strides, first, op, "strides")
    gaps = spatial(dilations, first, op, "dilations")
    with scope(name, op) as at:
        x = convert_to_tensor(images, name="input")
        require(x, FLOATING, op, "input")
        w = like(kernel, x, op, ("input", "filter"))
        if has_more_batches(x, 4):
            return over_batches(x, 4, at, lambda flat: _conv2d(
                flat, w, strides, padding, data_format, dilations, None, op))  # fmt: skip
        if not plain:
            x = assertion.never(x, f"{op}: strides is {strides!r}: those of batch and channels "
                                 "must be 1; only height and width can have others")  # fmt: skip
        x = to_nhwc(x, first) if x.shape.ndims in (4, None) else x
        x = x if pairs is None else joining.pad(x, pairs)
        group = _groups(dims_of(x), dims_of(w), describe(at, op))
        dims = _result_dims(dims_of(x), dims_of(w), steps, gaps, word, group, describe(at, op))
        attrs = spatial_attributes(steps, word, dilations=gaps, group=group)
        y = _convolve(x, w, attrs, dims, None if first else at)
        return to_nchw(y, first, at)


@api_guard.operator
def conv2d_transpose(
    value: Any = None,
    filter: Any = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: Any = "SAME",
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """The transpose (gradient by the input) of conv2d.

    Args:
        value: floating or int32 (n, h, w, m), or (n, m, h, w) with NCHW; int32 is computed in
            float64, which is exact while sums are below 2^53.
        filter: (kh, kw, c, m), c being the result's channels.
        output_shape: of the result, 4 integers in data_format's order.
        strides: as conv2d's.
        padding: as conv2d's.
        data_format: NHWC or NCHW.
        name: of the operation.
        input: the new name of value.
        filters: the new name of filter.
        dilations: as conv2d's; None: 1.

    Raises:
        ValueError: the channels differ, a rank is not 4, or an argument is given under two names.
    """
    with scope(name, "conv2d_transpose") as at:
        x = convert_to_tensor(renamed("input", input, "value", value), name="value")
        kernel = renamed("filters", filters, "filter", filter)
        w = like(kernel, x, "conv2d_transpose", ("value", "filter"))
        return conv2d_backprop_input(
            output_shape, w, x, 1 if strides is None else strides, padding,
            data_format=data_format, dilations=1 if dilations is None else dilations, name=at,
        )  # fmt: skip


@api_guard.operator
def conv2d_backprop_input(
    input_sizes: Any,
    filter: Any = None,
    out_backprop: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """The gradient of conv2d by its input.

    Args:
        input_sizes: the input's shape, 4 integers in data_format's order; or its height and width.
        filter: (kh, kw, c, m).
        out_backprop: the gradient by conv2d's result.
        strides: as conv2d's.
        padding: as conv2d's.
        use_cudnn_on_gpu: accepted for TensorFlow's sake.
        data_format: NHWC or NCHW.
        dilations: as conv2d's.
        name: of the operation.
        filters: the newer name of filter.

    Raises:
        ValueError: filter and filters are given, or none of them.
    """
    op = "Conv2DBackpropInput"
    if (filter is None) == (filters is None):
        raise ValueError(f"{op}: expected one of filter and filters")
    filter = filters if filter is None else filter
    first = channels_first(data_format, op)
    word, pairs = word_or_pairs(padding, first, op)
    steps = spatial(strides, first, op, "strides")
    gaps = spatial(dilations, first, op, "dilations")
    with scope(name, op) as at:
        dy = convert_to_tensor(out_backprop, name="out_backprop")
        w = like(filter, dy, op, ("out_backprop", "filter"))
        sizes, given = ints(input_sizes, op, "input_sizes"), to_nhwc(dy, first)
        if dims_of(sizes) == (2,):
            sizes = _with_batch_and_channels(sizes, given, w)
        elif first:
            sizes = primitive.gather(sizes, primitive.int_vector([0, 2, 3, 1]), 0)
        if given.shape.num_elements() == 0:
            return to_nchw(
                filling.fill(sizes, scalar(0, dy.dtype), None if first else at), first, at
            )
        padded = _padded_sizes(sizes, pairs)
        rows, what = primitive.static_vector(padded), describe(at, op)
        group = _groups(rows, dims_of(w), what)
        expected = _result_dims(rows, dims_of(w), steps, gaps, word, group, what)
        shapes.merge(expected, dims_of(given), what)
        attrs = spatial_attributes(steps, word, dilations=gaps, group=group)
        direct = not first and pairs is None
        whole = dy.dtype == dtypes.int32
        if whole:
            w, given = (primitive.cast(t, dtypes.float64) for t in (w, given))
        dx = _input_gradient(padded, w, given, attrs, rows, at if direct and not whole else None)
        if whole:
            dx = elementwise.cast(dx, dtypes.int32, name=at if direct else None)
        if pairs is not None:
            dx = _without_padding(dx, sizes, pairs, None if first else at)
        return to_nchw(dx, first, at)


def _with_batch_and_channels(sizes: Tensor, dy: Tensor, w: Tensor) -> Tensor:
    """Height and width between dy's batch and the filter's channels."""
    batch = primitive.slice_axes(primitive.shape_of(dy), [0], [1], [0])
    channels = primitive.slice_axes(primitive.shape_of(w), [2], [3], [0])
    return primitive.concat([batch, sizes, channels], 0)


def _padded_sizes(sizes: Tensor, pairs: list[list[int]] | None) -> Tensor:
    if pairs is None:
        return sizes
    added = primitive.int_vector([sum(pair) for pair in pairs])
    known = primitive.static_vector(sizes)
    if known is None or None in known:
        return primitive.binary("Add", sizes, added)
    whole = zip(known, pairs, strict=True)
    return primitive.int_vector([d + sum(pair) for d, pair in whole if d is not None])


def _without_padding(x: Tensor, sizes: Tensor, pairs: list[list[int]], name: str | None) -> Tensor:
    """The part of x (n, h, w, c) within the padding."""
    before = primitive.int_vector([pair[0] for pair in pairs])
    ends = primitive.binary("Add", before, sizes)
    axes = primitive.int_vector(range(4))
    dims = primitive.static_vector(sizes)
    return node("Slice", [x, before, ends, axes], x.dtype, dims, name=name)


@api_guard.operator
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
    first = channels_first(data_format, op)
    word, pairs = word_or_pairs(padding, first, op)
    steps = spatial(strides, first, op, "strides")
    gaps = spatial(dilations, first, op, "dilations")
    with scope(name, op) as at:
        x = convert_to_tensor(input, name="input")
        dy = like(out_backprop, x, op, ("input", "out_backprop"))
        sizes = ints(filter_sizes, op, "filter_sizes")
        dims = primitive.static_vector(sizes)
        image = to_nhwc(x, first)
        image = image if pairs is None else joining.pad(image, pairs)
        group = _groups(dims_of(image), dims, describe(at, op))
        attrs = spatial_attributes(steps, word, dilations=gaps, group=group)
        return _filter_gradient(image, sizes, to_nhwc(dy, first), attrs, dims, at)


@api_guard.operator
def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Each channel convolved with separate filters.

    Args:
        input: floating (n, h, w, c), or (n, c, h, w) with NCHW.
        filter: (kh, kw, c, k), statically known: k filters for each channel.
        strides: as conv2d's.
        padding: as conv2d's.
        rate: dilation of height and width; None: 1.
        name: of the operation.
        data_format: NHWC or NCHW; None: NHWC.
        dilations: the new name of rate.

    Returns:
        A tensor (n, oh, ow, c * k), or (n, c * k, oh, ow).

    Raises:
        ValueError: the channels differ, or the filter's sizes are not known.
    """
    op = "depthwise"
    first = channels_first(data_format, op)
    word, pairs = word_or_pairs(padding, first, op)
    steps = spatial(strides, first, op, "strides")
    given = renamed("dilations", dilations, "rate", rate)
    gaps = spatial(1 if given is None else given, first, op, "dilations")
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
        x = x if pairs is None else joining.pad(x, pairs)
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


@api_guard.operator
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


@api_guard.operator
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


@api_guard.operator
def separable_conv2d(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """depthwise_conv2d followed by a convolution with windows of size 1.

    Args:
        input: floating (n, h, w, c), or (n, c, h, w) with NCHW.
        depthwise_filter: (kh, kw, c, k).
        pointwise_filter: (1, 1, c * k, m).
        strides: as conv2d's.
        padding: as conv2d's.
        rate: dilation of the first step.
        name: of the operation.
        data_format: NHWC or NCHW; None: NHWC.
        dilations: the new name of rate.
    """
    with scope(name, "separable_conv2d") as at:
        gaps = renamed("dilations", dilations, "rate", rate)
        deep = depthwise_conv2d(
            input, depthwise_filter, strides, padding, gaps, data_format=data_format
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
