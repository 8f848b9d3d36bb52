"""Gradients of operators as separate operators."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import graphio as tf
from graphio.tensorflow_files.calls import Call, Row

__all__ = ["ROWS"]


def slope(c: Call, forward: Callable[[Any], Any], x: Any, above: Any) -> Any:
    """The gradient of forward at x, times the gradient above it."""
    (found,) = tf.gradients(forward(x), x, above)
    return tf.identity(found, name=c.name)


def _by_rule(rule: Callable[[Any, Any], Any], c: Call) -> Any:
    """A gradient that follows from the two inputs: the gradient above, and the input or output."""
    return tf.identity(rule(c[0], c[1]), name=c.name)


def _relu6(dy: Any, x: Any) -> Any:
    inside = tf.logical_and(x > 0, x < 6)
    return tf.where(inside, dy, tf.zeros_like(dy))


def _selu(dy: Any, y: Any) -> Any:
    scale, limit = 1.0507009873554805, 1.7580993408473768
    return tf.where(y > 0, scale * dy, dy * (y + limit))


def _leaky_relu(c: Call) -> Any:
    dy, x = c[0], c[1]
    return tf.where(x > 0, dy, c.number("alpha", 0.2) * dy, name=c.name)


def _bias_add(c: Call) -> Any:
    channels_first = c.text("data_format", "NHWC") == "NCHW"
    axes = [axis for axis in range(c[0].shape.ndims or 0) if axis != (1 if channels_first else -1)]
    axes = axes if channels_first else axes[:-1]
    return tf.reduce_sum(c[0], axes, name=c.name)


def _window_settings(c: Call) -> dict[str, Any]:
    return {
        "ksize": c.integers("ksize"), "strides": c.integers("strides"), "padding": c.text("padding")
    }  # fmt: skip


def _pool(function: str, default: str, shape_first: bool, c: Call) -> Any:
    """Of a pooling, whose first input is the pooled tensor, or its shape."""
    settings = _window_settings(c) | {"data_format": c.text("data_format", default)}
    x = tf.zeros(c.known(0), c[1].dtype) if shape_first else c[0]
    return slope(c, lambda x: getattr(tf.nn, function)(x, **settings), x, c[-1])


def _pool_v2(c: Call) -> Any:
    """MaxPoolGradV2 has its sizes as inputs."""
    sizes, strides = ([int(n) for n in c.constant(i)] for i in (3, 4))
    options = {"padding": c.text("padding"), "data_format": c.text("data_format", "NHWC")}
    return slope(c, lambda x: tf.nn.max_pool(x, sizes, strides, **options), c[0], c[2])


def _pool_with_argmax(c: Call) -> Any:
    """The gradient is added at the positions that the third input has."""
    batch = c.flag("include_batch_in_index")
    x, above, positions = c.tensors
    count = tf.size(x, out_type=positions.dtype)
    if not batch:
        rows = tf.cast(tf.shape(x)[0], positions.dtype)
        first = tf.range(rows) * (count // rows)
        positions = positions + tf.reshape(first, [-1, 1, 1, 1])
    flat = tf.scatter_nd(tf.reshape(positions, [-1, 1]), tf.reshape(above, [-1]), [count])
    return tf.reshape(flat, tf.shape(x), name=c.name)


def _lrn(c: Call) -> Any:
    bias, alpha, beta = (c.number(k, d) for k, d in (("bias", 1.0), ("alpha", 1.0), ("beta", 0.5)))
    radius = c.integer("depth_radius", 5)
    return slope(c, lambda x: tf.nn.lrn(x, radius, bias, alpha, beta), c[1], c[0])


def _batch_norm(c: Call) -> Any:
    """Of training: the moments are those of the batch."""
    above, x, scale = c[0], c[1], c[2]
    epsilon, order = c.number("epsilon", 1e-4), c.text("data_format", "NHWC")
    axes = [0, 2, 3] if order == "NCHW" else [0, 1, 2]
    sums: dict[str, Any] = {"axis": axes, "keepdims": True}
    wide = tf.cast(x, tf.float32)
    if c.flag("is_training", True):
        mean = tf.reduce_mean(wide, **sums)
        variance = tf.reduce_mean(tf.square(wide - mean), **sums)
    else:
        shape = [1, -1, 1, 1] if order == "NCHW" else [1, 1, 1, -1]
        mean, variance = tf.reshape(c[3], shape), tf.reshape(c[4], shape)
    inverse = tf.rsqrt(variance + epsilon)
    normal = (wide - mean) * inverse
    scaled = above * tf.cast(inverse, above.dtype) * tf.reshape(scale, tf.shape(mean))
    if c.flag("is_training", True):
        along = tf.reduce_mean(scaled * normal, **sums)
        dx = scaled - tf.reduce_mean(scaled, **sums) - normal * along
    else:
        dx = scaled
    of_scale, of_offset = tf.reduce_sum(above * normal, axes), tf.reduce_sum(above, axes)
    none = tf.zeros([0])
    return [tf.identity(dx, name=c.name), of_scale, of_offset, none, none]


def _resized(function: str, c: Call) -> Any:
    """Of a resize; the second input has the shape or the size of the original."""
    options = {
        "align_corners": c.flag("align_corners"),
        "half_pixel_centers": c.flag("half_pixel_centers"),
    }
    if function == "resize_nearest_neighbor":
        size = c.constant(1)
        shape = tf.stack([tf.shape(c[0])[0], int(size[0]), int(size[1]), tf.shape(c[0])[3]])
        x = tf.zeros(shape, c[0].dtype)
    else:
        x = tf.zeros_like(c[1])
    size = c[0].shape[1:3].as_list()
    return slope(c, lambda x: getattr(tf.image, function)(x, size, **options), x, c[0])


def _mirrored(c: Call) -> Any:
    paddings, mode = c.constant(1), c.text("mode")
    less = tf.constant(paddings.sum(axis=1), tf.int32)
    x = tf.zeros(tf.shape(c[0]) - less, c[0].dtype)
    return slope(c, lambda x: tf.pad(x, paddings.tolist(), mode), x, c[0])


def _sliced(c: Call) -> Any:
    """Of StridedSlice: the first input is the shape of what was sliced."""
    masks: dict[str, Any] = {
        f"{kind}_mask": c.integer(f"{kind}_mask", 0)
        for kind in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    }
    x = tf.zeros(c.known(0), c[4].dtype)
    begin, end, strides = c.known(1), c.known(2), c.known(3)
    return slope(c, lambda x: tf.strided_slice(x, begin, end, strides, **masks), x, c[4])


def _conv2d_filter(c: Call) -> Any:
    return tf.nn.conv2d_backprop_filter(
        c[0], c.known(1), c[2], c.integers("strides"), c.text("padding"),
        data_format=c.text("data_format", "NHWC"),
        dilations=c.integers("dilations") or [1, 1, 1, 1], name=c.name,
    )  # fmt: skip


def _depthwise(kind: str, c: Call) -> Any:
    first, second = (c.known(0), c[1]) if kind == "input" else (c[0], c.known(1))
    return getattr(tf.nn, f"depthwise_conv2d_native_backprop_{kind}")(
        first, second, c[2], c.integers("strides"), c.text("padding"),
        c.text("data_format", "NHWC"), c.integers("dilations") or [1, 1, 1, 1], name=c.name,
    )  # fmt: skip


def _conv3d(of_filter: bool, has_sizes: bool, c: Call) -> Any:
    """Of Conv3D; the tensor that the gradient is of is an input, or its sizes are."""
    of = 1 if of_filter else 0
    made = tf.zeros(c.known(of), c[2].dtype) if has_sizes else tf.zeros_like(c[of])
    options: dict[str, Any] = {
        "strides": c.integers("strides"), "padding": c.text("padding"),
        "data_format": c.text("data_format", "NDHWC"),
        "dilations": c.integers("dilations") or [1, 1, 1, 1, 1],
    }  # fmt: skip
    x, weights = (c[0], made) if of_filter else (made, c[1])
    y = tf.nn.conv3d(x, weights, **options)
    return tf.identity(tf.gradients(y, made, c[2])[0], name=c.name)


def _dilated(of: int, c: Call) -> Any:
    options = (c.integers("strides"), c.integers("rates"), c.text("padding"))
    y = tf.nn.dilation2d(c[0], c[1], *options)
    return tf.identity(tf.gradients(y, c[of], c[2])[0], name=c.name)


def _cropped(of_boxes: bool, c: Call) -> Any:
    """Of CropAndResize."""
    grads, method = c[0], c.text("method", "bilinear")
    size = grads.shape[1:3].as_list()
    if of_boxes:
        image, boxes, rows = c[1], c[2], c[3]
    else:
        image, boxes, rows = tf.zeros(c.known(3), c.dtype("T")), c[1], c[2]
    y = tf.image.crop_and_resize(image, boxes, rows, size, method)
    found = tf.gradients(y, boxes if of_boxes else image, grads)[0]
    return tf.identity(found, name=c.name)


def _segments(function: str, c: Call) -> Any:
    """Of SparseSegmentMean and SparseSegmentSqrtN: rows are added where they came from."""
    shape = tf.concat([[c.known(3)], tf.shape(c[0])[1:]], 0)
    x = tf.zeros(shape, c[0].dtype)
    count = tf.shape(c[0])[0]
    forward = getattr(tf, function)
    return slope(c, lambda x: forward(x, c[1], c[2], num_segments=count), x, c[0])


def _tiled(c: Call) -> Any:
    multiples = c.constant(1)
    sizes = [
        part
        for m, d in zip(multiples, c[0].shape.as_list(), strict=True)
        for part in (int(m), -1 if d is None else d // int(m))
    ]
    axes = list(range(0, len(sizes), 2))
    return tf.reduce_sum(tf.reshape(c[0], sizes), axes, name=c.name)


#: by type: the gradient from the first two inputs
_RULES: dict[str, Callable[[Any, Any], Any]] = {
    "EluGrad": lambda dy, y: tf.where(y < 0, (y + 1) * dy, dy),
    "InvGrad": lambda y, dy: -dy * y * y,
    "ReciprocalGrad": lambda y, dy: -dy * y * y,
    "Relu6Grad": _relu6,
    "ReluGrad": lambda dy, y: tf.where(y > 0, dy, tf.zeros_like(dy)),
    "RsqrtGrad": lambda y, dy: -0.5 * dy * y * y * y,
    "SeluGrad": _selu,
    "SigmoidGrad": lambda y, dy: dy * y * (1 - y),
    "SoftplusGrad": lambda dy, x: dy * tf.sigmoid(x),
    "SoftsignGrad": lambda dy, x: dy / tf.square(1 + tf.abs(x)),
    "SqrtGrad": lambda y, dy: 0.5 * dy / y,
    "TanhGrad": lambda y, dy: dy * (1 - y * y),
}

ROWS: dict[str, Row] = {
    **{op: partial(_by_rule, rule) for op, rule in _RULES.items()},
    "AvgPool3DGrad": partial(_pool, "avg_pool3d", "NDHWC", True),
    "AvgPoolGrad": partial(_pool, "avg_pool", "NHWC", True),
    "BiasAddGrad": _bias_add,
    "Conv2DBackpropFilter": _conv2d_filter,
    "Conv3DBackpropFilter": partial(_conv3d, True, False),
    "Conv3DBackpropFilterV2": partial(_conv3d, True, True),
    "Conv3DBackpropInput": partial(_conv3d, False, False),
    "Conv3DBackpropInputV2": partial(_conv3d, False, True),
    "CropAndResizeGradBoxes": partial(_cropped, True),
    "CropAndResizeGradImage": partial(_cropped, False),
    "DepthwiseConv2dNativeBackpropFilter": partial(_depthwise, "filter"),
    "DepthwiseConv2dNativeBackpropInput": partial(_depthwise, "input"),
    "Dilation2DBackpropFilter": partial(_dilated, 1),
    "Dilation2DBackpropInput": partial(_dilated, 0),
    "FusedBatchNormGrad": _batch_norm,
    "FusedBatchNormGradV2": _batch_norm,
    "FusedBatchNormGradV3": _batch_norm,
    "LRNGrad": _lrn,
    "LeakyReluGrad": _leaky_relu,
    "MaxPool3DGrad": partial(_pool, "max_pool3d", "NDHWC", False),
    "MaxPoolGrad": partial(_pool, "max_pool", "NHWC", False),
    "MaxPoolGradV2": _pool_v2,
    "MaxPoolGradWithArgmax": _pool_with_argmax,
    "MirrorPadGrad": _mirrored,
    "ResizeBicubicGrad": partial(_resized, "resize_bicubic"),
    "ResizeBilinearGrad": partial(_resized, "resize_bilinear"),
    "ResizeNearestNeighborGrad": partial(_resized, "resize_nearest_neighbor"),
    "SparseSegmentMeanGrad": partial(_segments, "sparse_segment_mean"),
    "SparseSegmentSqrtNGrad": partial(_segments, "sparse_segment_sqrt_n"),
    "StridedSliceGrad": _sliced,
    "TileGrad": _tiled,
}
