"""Convolution, pooling, normalisation, resizing, losses and random numbers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import graphio as tf
from graphio.tensorflow_files.calls import Call, Row
from graphio.tensorflow_files.operators.elementwise import fused

__all__ = ["ROWS"]

_NCHW = {"NCHW": (0, 2, 3, 1), "NCDHW": (0, 2, 3, 4, 1)}


class _Layout:
    """Windows of a node that may be channels-first: computed channels-last, between transposes."""

    def __init__(self, c: Call, default: str = "NHWC") -> None:
        self.c = c
        self.order = _NCHW.get(c.text("data_format", default))

    def last(self, x: Any) -> Any:
        """The tensor, channels last."""
        return x if self.order is None else tf.transpose(x, self.order)

    def sizes(self, key: str, count: int) -> list[int]:
        """An attribute of one number an axis, channels last; missing: ones."""
        found = self.c.integers(key) or [1] * count
        return found if self.order is None else [found[axis] for axis in self.order]

    def back(self, y: Any) -> Any:
        """The result in the node's own order, with its name."""
        if self.order is None:
            return y
        inverse = [int(axis) for axis in np.argsort(self.order)]
        return tf.transpose(y, inverse, name=self.c.name)

    @property
    def name(self) -> str | None:
        """The name of the inner operation."""
        return self.c.name if self.order is None else None


def _padded(c: Call, layout: _Layout, x: Any, value: float = 0.0) -> tuple[Any, str]:
    """The input and its padding; explicit paddings are put around it."""
    padding = c.text("padding")
    if padding != "EXPLICIT":
        return x, padding
    pairs: Any = np.reshape(c.integers("explicit_paddings"), (-1, 2))
    order = layout.order or tuple(range(len(pairs)))
    return tf.pad(x, [pairs[axis].tolist() for axis in order], constant_values=value), "VALID"


def _conv(function: str, rank: int, c: Call) -> Any:
    layout = _Layout(c, "NHWC" if rank == 4 else "NDHWC")
    x, padding = _padded(c, layout, layout.last(c[0]))
    strides, dilations = layout.sizes("strides", rank), layout.sizes("dilations", rank)
    made = getattr(tf.nn, function)(
        x, c[1], strides, padding, dilations=dilations, name=layout.name
    )
    return layout.back(made)


def _fused_conv(c: Call) -> Any:
    layout = _Layout(c)
    x, padding = _padded(c, layout, layout.last(c[0]))
    strides, dilations = layout.sizes("strides", 4), layout.sizes("dilations", 4)
    y = tf.nn.conv2d(x, c[1], strides, padding, dilations=dilations)
    return layout.back(fused(c, y, c.tensors[2:]))


def _conv_transpose(c: Call) -> Any:
    layout = _Layout(c)
    if c.text("padding") == "EXPLICIT":
        raise NotImplementedError("has explicit paddings, which are not read here")
    sizes = c.known(0)
    if layout.order is not None:
        sizes = tf.gather(sizes, layout.order)
    made = tf.nn.conv2d_backprop_input(
        sizes, c[1], layout.last(c[2]), layout.sizes("strides", 4), c.text("padding"),
        dilations=layout.sizes("dilations", 4), name=layout.name,
    )  # fmt: skip
    return layout.back(made)


def _pool(function: str, rank: int, c: Call) -> Any:
    layout = _Layout(c, "NHWC" if rank == 4 else "NDHWC")
    x, padding = _padded(c, layout, layout.last(c[0]), float("-inf"))
    made = getattr(tf.nn, function)(
        x, layout.sizes("ksize", rank), layout.sizes("strides", rank), padding, name=layout.name
    )
    return layout.back(made)


def _pool_v2(c: Call) -> Any:
    """MaxPoolV2 has its sizes as inputs."""
    sizes, strides = ([int(n) for n in c.constant(i)] for i in (1, 2))
    return tf.nn.max_pool(c[0], sizes, strides, c.text("padding"), name=c.name)


def _batch_norm(c: Call) -> Any:
    x, scale, offset, mean, variance = c.tensors
    training = c.flag("is_training", True)
    order = c.text("data_format", "NHWC")
    epsilon = c.number("epsilon", 1e-4)
    if training:
        made = tf.nn.fused_batch_norm(
            x, scale, offset, epsilon=epsilon, data_format=order, name=c.name
        )
    else:
        made = tf.nn.fused_batch_norm(
            x, scale, offset, mean, variance, epsilon, order, is_training=False, name=c.name
        )
    return [made[0], made[1], made[2], mean, variance, mean]


def _bias_add(c: Call) -> Any:
    return tf.nn.bias_add(c[0], c[1], c.text("data_format", "NHWC"), name=c.name)


def _bias_add_v1(c: Call) -> Any:
    return tf.nn.bias_add(c[0], c[1], name=c.name)


def _resize(function: str, c: Call) -> Any:
    return getattr(tf.image, function)(
        c[0], c.known(1), c.flag("align_corners"), name=c.name,
        half_pixel_centers=c.flag("half_pixel_centers"),
    )  # fmt: skip


def _lrn(c: Call) -> Any:
    bias, alpha, beta = (c.number(k, d) for k, d in (("bias", 1.0), ("alpha", 1.0), ("beta", 0.5)))
    return tf.nn.lrn(c[0], c.integer("depth_radius", 5), bias, alpha, beta, name=c.name)


def _drawn(function: str, c: Call) -> Any:
    seed = c.integer("seed2", 0) or c.integer("seed", 0) or None
    dtype = c.dtype("dtype")
    return getattr(tf, function)(c.known(0), dtype=dtype, seed=seed, name=c.name)


def _drawn_integers(c: Call) -> Any:
    seed = c.integer("seed2", 0) or c.integer("seed", 0) or None
    return tf.random_uniform(c.known(0), c[1], c[2], c.dtype("Tout"), seed, name=c.name)


ROWS: dict[str, Row] = {
    "AvgPool": partial(_pool, "avg_pool", 4),
    "AvgPool3D": partial(_pool, "avg_pool3d", 5),
    "BiasAdd": _bias_add,
    "BiasAddV1": _bias_add_v1,
    "Conv2D": partial(_conv, "conv2d", 4),
    "Conv2DBackpropInput": _conv_transpose,
    "Conv3D": partial(_conv, "conv3d", 5),
    "DepthwiseConv2dNative": partial(_conv, "depthwise_conv2d_native", 4),
    "FusedBatchNorm": _batch_norm,
    "FusedBatchNormV2": _batch_norm,
    "FusedBatchNormV3": _batch_norm,
    "LRN": _lrn,
    "MaxPool": partial(_pool, "max_pool", 4),
    "MaxPool3D": partial(_pool, "max_pool3d", 5),
    "MaxPoolV2": _pool_v2,
    "RandomStandardNormal": partial(_drawn, "random_normal"),
    "RandomUniform": partial(_drawn, "random_uniform"),
    "RandomUniformInt": _drawn_integers,
    "ResizeBicubic": partial(_resize, "resize_bicubic"),
    "ResizeBilinear": partial(_resize, "resize_bilinear"),
    "ResizeNearestNeighbor": partial(_resize, "resize_nearest_neighbor"),
    "TruncatedNormal": partial(_drawn, "truncated_normal"),
    "_FusedConv2D": _fused_conv,
}
