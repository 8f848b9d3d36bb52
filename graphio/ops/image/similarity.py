"""tf.image: how alike two images are."""

from __future__ import annotations

import math as _math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import shaping
from graphio.ops.array import surface as array
from graphio.ops.base import primitive
from graphio.ops.base.emit import scope
from graphio.ops.base.shapes import dims_of
from graphio.ops.image import imaging
from graphio.ops.math import elementwise, reduction
from graphio.ops.nn.conv import depthwise_conv2d
from graphio.ops.nn.core import relu
from graphio.ops.nn.pooling import avg_pool
from graphio.support import api_guard

__all__ = ["psnr", "ssim", "ssim_multiscale"]

#: of the scales, from the finest to the coarsest (Wang et al. 2003)
_POWERS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


def _both(a: Any, b: Any, max_val: Any) -> tuple[Tensor, Tensor, Tensor]:
    one, two = convert_to_tensor(a, name="a"), convert_to_tensor(b, name="b")
    limit = elementwise.cast(convert_to_tensor(max_val), one.dtype)
    return (
        imaging.convert_image_dtype(one, dtypes.float32),
        imaging.convert_image_dtype(two, dtypes.float32),
        imaging.convert_image_dtype(limit, dtypes.float32),
    )


@api_guard.operator
def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Tensor:
    """The peak signal-to-noise ratio of two images, in decibels.

    Args:
        a: images (..., h, w, c).
        b: images of the same shape and dtype.
        max_val: difference between the largest and the smallest possible value.
        name: of the operation.

    Returns:
        A tensor (...).
    """
    with scope(name, "PSNR") as at:
        one, two, limit = _both(a, b, max_val)
        error = reduction.reduce_mean(elementwise.squared_difference(one, two), [-3, -2, -1])
        peak = 20.0 / _math.log(10.0) * elementwise.log(limit)
        return elementwise.subtract(peak, 10.0 / _math.log(10.0) * elementwise.log(error), name=at)


@api_guard.operator
def ssim(
    img1: Any,
    img2: Any,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """The structural similarity of images (Wang et al. 2004), mean over positions and channels.

    Args:
        img1: images (..., h, w, c), each side at least filter_size.
        img2: images of the same shape and dtype.
        max_val: difference between the largest and the smallest possible value.
        filter_size: of the Gaussian window.
        filter_sigma: its width.
        k1: weight of the constant that steadies the comparison of means.
        k2: likewise of deviations.

    Returns:
        A tensor (...).

    Raises:
        ValueError: the rank is below 3, or the channels are not known.
    """
    with scope(None, "SSIM") as at:
        x, y, limit = _both(img1, img2, max_val)
        blur = _gauss(filter_size, filter_sigma, _channels(x, y, "ssim"))
        x, y = _alike_batches(x, y)
        alike, _ = _per_channel(_flat(x), _flat(y), limit, blur, k1, k2)
        return _unflattened(reduction.reduce_mean(alike, [-1]), x, at)


@api_guard.operator
def ssim_multiscale(
    img1: Any,
    img2: Any,
    max_val: Any,
    power_factors: Sequence[float] = _POWERS,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """The structural similarity of images on several scales (Wang et al. 2003).

    Args:
        img1: images (..., h, w, c), each side of the coarsest scale at least filter_size.
        img2: images of the same shape and dtype.
        max_val: difference between the largest and the smallest possible value.
        power_factors: the weight of each scale; each is half of the one before it.
        filter_size, filter_sigma, k1, k2: as ssim's.

    Returns:
        A tensor (...), from 0 to 1.

    Raises:
        ValueError: the rank is below 3, or the channels are not known.
    """
    with scope(None, "MS-SSIM") as at:
        one, two, limit = _both(img1, img2, max_val)
        blur = _gauss(filter_size, filter_sigma, _channels(one, two, "ssim_multiscale"))
        one, two = _alike_batches(one, two)
        x, y = _flat(one), _flat(two)
        found: list[Tensor] = []
        for k in range(len(power_factors)):
            if k:
                x, y = _halved(x), _halved(y)
            alike, contrast = _per_channel(x, y, limit, blur, k1, k2)
            last = k == len(power_factors) - 1
            found.append(relu(alike if last else contrast))
        powers = constant(np.asarray(power_factors, np.float32))
        together = elementwise.pow(array.stack(found, -1), powers)
        mean = reduction.reduce_mean(reduction.reduce_prod(together, [-1]), [-1])
        return _unflattened(mean, one, at)


def _channels(x: Tensor, y: Tensor, function: str) -> int:
    """The channels of two images.

    Raises:
        ValueError: the rank is below 3, the channels are not known, or the shapes do not fit.
    """
    for image in (x, y):
        if image.shape.ndims is None or image.shape.ndims < 3 or image.shape[-1].value is None:
            raise ValueError(
                f"images have shape {image.shape}, expected (..., h, w, c) with c known for "
                f"{function}"
            )
    if not x.shape[-3:].is_compatible_with(y.shape[-3:]):
        raise ValueError(f"images of {function} have shapes {x.shape} and {y.shape}")
    return int(x.shape[-1].value)


def _alike_batches(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Images whose dimensions before h, w and c have been broadcast."""
    if x.shape[:-3].is_fully_defined() and x.shape[:-3] == y.shape[:-3] or x.shape.ndims == 3:
        return x, y
    shape = shaping.broadcast_dynamic_shape(array.shape(x), array.shape(y))
    static = shaping.broadcast_static_shape(x.shape, y.shape)
    wide = [array.broadcast_to(image, shape) for image in (x, y)]
    for image in wide:
        image.set_shape(static)
    return wide[0], wide[1]


def _flat(x: Tensor) -> Tensor:
    """Images of any rank as (n, h, w, c)."""
    if x.shape.ndims == 4:
        return x
    dims = dims_of(x) or ()
    tail = primitive.slice_axes(primitive.shape_of(x), [-3], [2**31 - 1], [0])
    return primitive.reshape(
        x, primitive.concat([primitive.int_vector([-1]), tail], 0), (None, *dims[-3:])
    )


def _unflattened(x: Tensor, like: Tensor, at: str) -> Tensor:
    """Numbers (n) in the shape of the images that they are about."""
    if like.shape.ndims == 4:
        return array.identity(x, name=at)
    head = primitive.slice_axes(primitive.shape_of(like), [0], [-3], [0])
    return primitive.reshape_to(x, head, (dims_of(like) or ())[:-3], at)


def _per_channel(
    x: Tensor, y: Tensor, limit: Tensor, blur: Any, k1: float, k2: float
) -> tuple[Tensor, Tensor]:
    """The similarity, and its part of contrast and structure: (n, c)."""
    first, second = elementwise.square(k1 * limit), elementwise.square(k2 * limit)
    means = blur(x), blur(y)
    doubled = 2.0 * means[0] * means[1]
    squares = elementwise.square(means[0]) + elementwise.square(means[1])
    light = (doubled + first) / (squares + first)
    both, each = 2.0 * blur(x * y), blur(elementwise.square(x) + elementwise.square(y))
    shape = (both - doubled + second) / (each - squares + second)
    return reduction.reduce_mean(light * shape, [-3, -2]), reduction.reduce_mean(shape, [-3, -2])


def _halved(x: Tensor) -> Tensor:
    """Images of half the size, whose odd sides repeat their last line."""
    size = primitive.shape_of(x)
    odd = elementwise.floormod(size, primitive.int_vector([1, 2, 2, 1]))
    ends = array.stack([array.zeros_like(odd), odd], 1)
    padded = array.pad(x, ends, mode="SYMMETRIC")
    rest = [None if d is None else d + d % 2 for d in (dims_of(x) or (None,) * 4)[1:3]]
    padded.set_shape([None, *rest, x.shape[-1].value])
    return avg_pool(padded, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")


def _gauss(size: int, sigma: float, channels: int) -> Any:
    """A function that blurs images, without the border."""
    at = np.arange(size) - (size - 1) / 2
    line = np.exp(-(at**2) / (2 * sigma**2))
    window = np.outer(line, line) / line.sum() ** 2
    weights = np.repeat(window[:, :, None, None], channels, 2).astype(np.float32)

    def blur(x: Tensor) -> Tensor:
        return depthwise_conv2d(x, constant(weights), [1, 1, 1, 1], "VALID")

    return blur
