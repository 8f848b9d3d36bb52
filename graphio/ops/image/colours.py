"""Colours of images: spaces, hue and saturation; how alike two images are; their edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.base.emit import describe, scope
from graphio.ops.base.shapes import dims_of, text
from graphio.ops.image import imaging
from graphio.ops.linalg import matmul
from graphio.ops.math import comparison, elementwise
from graphio.ops.math.arithmetic import div_no_nan
from graphio.ops.nn.conv import depthwise_conv2d
from graphio.ops.random import core as random
from graphio.support import api_guard

__all__ = [
    "adjust_hue",
    "adjust_saturation",
    "hsv_to_rgb",
    "random_hue",
    "random_saturation",
    "rgb_to_hsv",
    "rgb_to_yiq",
    "rgb_to_yuv",
    "sobel_edges",
    "yiq_to_rgb",
    "yuv_to_rgb",
]

#: red, green and blue as rows
_SPACES = {
    "rgb_to_yiq": (
        (0.299, 0.59590059, 0.2115), (0.587, -0.27455667, -0.52273617),
        (0.114, -0.32134392, 0.31119955),
    ),
    "yiq_to_rgb": (
        (1.0, 1.0, 1.0), (0.95598634, -0.27201283, -1.10674021),
        (0.6208248, -0.64720424, 1.70423049),
    ),
    "rgb_to_yuv": (
        (0.299, -0.14714119, 0.61497538), (0.587, -0.28886916, -0.51496512),
        (0.114, 0.43601035, -0.10001026),
    ),
    "yuv_to_rgb": (
        (1.0, 1.0, 1.0), (0.0, -0.394642334, 2.03206185), (1.13988303, -0.58062185, 0.0),
    ),
}  # fmt: skip


def _channels(images: Any, function: str, at: str) -> list[Tensor]:
    """The three channels (...)."""
    x = convert_to_tensor(images, name="images")
    dims = dims_of(x)
    if not dims or dims[-1] not in (3, None) or not x.dtype.is_floating:
        raise ValueError(
            f"images are {x.dtype.name}{text(dims)}, expected floats (..., 3) for "
            f"{describe(at, function)}"
        )
    return [x[..., i] for i in range(3)]


@api_guard.operator
def rgb_to_hsv(images: Any, name: str | None = None) -> Tensor:
    """Hue, saturation and value, each in [0, 1], of floating images (..., 3) in [0, 1].

    Raises:
        ValueError: the last axis is not 3, or the dtype not floating.
    """
    with scope(name, "RGBToHSV") as at:
        red, green, blue = _channels(images, "RGBToHSV", at)
        value = elementwise.maximum(elementwise.maximum(red, green), blue)
        spread = value - elementwise.minimum(elementwise.minimum(red, green), blue)
        sixth = div_no_nan(array.ones_like(spread), 6.0 * spread)
        hue = array.where(
            comparison.equal(red, value), sixth * (green - blue),
            array.where(
                comparison.equal(green, value), sixth * (blue - red) + 2.0 / 6.0,
                sixth * (red - green) + 4.0 / 6.0,
            ),
        )  # fmt: skip
        hue = array.where(comparison.less_equal(spread, 0.0), array.zeros_like(hue), hue)
        hue = array.where(comparison.less(hue, 0.0), hue + 1.0, hue)
        return array.stack([hue, div_no_nan(spread, value), value], -1, name=at)


@api_guard.operator
def hsv_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Red, green and blue of images (..., 3) of hue, saturation and value; see rgb_to_hsv."""
    with scope(name, "HSVToRGB") as at:
        hue, saturation, value = _channels(images, "HSVToRGB", at)
        turn = hue * 6.0
        parts = (
            elementwise.abs(turn - 3.0) - 1.0,
            2.0 - elementwise.abs(turn - 2.0),
            2.0 - elementwise.abs(turn - 4.0),
        )
        colours = [
            ((1.0 - saturation) + saturation * elementwise.clip_by_value(part, 0.0, 1.0)) * value
            for part in parts
        ]
        return array.stack(colours, -1, name=at)


def _in_hsv(image: Any, function: str, change: Any) -> Tensor:
    with scope(None, function) as at:
        x = convert_to_tensor(image, name="image")
        old = x.dtype.base_dtype
        floats = x if old.is_floating else imaging.convert_image_dtype(x, dtypes.float32)
        hsv = rgb_to_hsv(floats)
        changed = change(*[hsv[..., i] for i in range(3)])
        rgb = hsv_to_rgb(array.stack(changed, -1))
        return imaging.convert_image_dtype(rgb, old, saturate=not old.is_floating, name=at)


@api_guard.operator
def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Tensor:
    """Images (..., 3) whose hue is rotated by delta, where 1 is a full turn.

    Args:
        image: floats in [0, 1], or integers, which are taken as such.
        delta: number or scalar in [-1, 1].
        name: accepted.
    """

    def rotated(hue: Tensor, saturation: Tensor, value: Tensor) -> list[Tensor]:
        amount = elementwise.cast(convert_to_tensor(delta), hue.dtype)
        return [elementwise.floormod(hue + (amount + 1.0), 1.0), saturation, value]

    return _in_hsv(image, name or "adjust_hue", rotated)


@api_guard.operator
def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Tensor:
    """Images (..., 3) whose saturation is multiplied; see adjust_hue."""

    def stronger(hue: Tensor, saturation: Tensor, value: Tensor) -> list[Tensor]:
        factor = elementwise.cast(convert_to_tensor(saturation_factor), hue.dtype)
        return [hue, elementwise.clip_by_value(saturation * factor, 0.0, 1.0), value]

    return _in_hsv(image, name or "adjust_saturation", stronger)


@api_guard.operator
def random_hue(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """adjust_hue by a random number in [-max_delta, max_delta).

    Raises:
        ValueError: max_delta is not in [0, 0.5].
    """
    if not 0 <= max_delta <= 0.5:
        raise ValueError("max_delta must be between 0 and 0.5.")
    return adjust_hue(image, random.random_uniform([], -max_delta, max_delta, seed=seed))


@api_guard.operator
def random_saturation(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """adjust_saturation by a random factor in [lower, upper).

    Raises:
        ValueError: lower is negative, or not below upper.
    """
    if upper <= lower or lower < 0:
        raise ValueError("upper must be > lower, and lower must be non-negative.")
    return adjust_saturation(image, random.random_uniform([], lower, upper, seed=seed))


# ---- spaces that are a matrix away ----


def _mixed(images: Any, function: str) -> Tensor:
    with scope(None, function) as at:
        x = convert_to_tensor(images, name="images")
        _channels(x, function, at)
        matrix = constant(np.asarray(_SPACES[function], x.dtype.as_numpy_dtype), name="kernel")
        return matmul.tensordot(x, matrix, [[len(dims_of(x) or ()) - 1], [0]])


@api_guard.operator
def rgb_to_yiq(images: Any) -> Tensor:
    """Brightness, and the two colours of NTSC, of floating images (..., 3)."""
    return _mixed(images, "rgb_to_yiq")


@api_guard.operator
def yiq_to_rgb(images: Any) -> Tensor:
    """The inverse of rgb_to_yiq."""
    return _mixed(images, "yiq_to_rgb")


@api_guard.operator
def rgb_to_yuv(images: Any) -> Tensor:
    """Brightness, and the two colours of PAL, of floating images (..., 3)."""
    return _mixed(images, "rgb_to_yuv")


@api_guard.operator
def yuv_to_rgb(images: Any) -> Tensor:
    """The inverse of rgb_to_yuv."""
    return _mixed(images, "yuv_to_rgb")


# ---- comparing ----


# ---- edges ----


@api_guard.operator
def sobel_edges(image: Any) -> Tensor:
    """How images (n, h, w, c) change downwards and to the right: (n, h, w, c, 2).

    Raises:
        ValueError: the channels are not known.
    """
    with scope(None, "sobel_edges") as at:
        x = convert_to_tensor(image, name="image")
        channels = x.shape[-1].value if x.shape.ndims == 4 else None
        if channels is None:
            raise ValueError(f"sobel_edges: image has shape {x.shape}, expected (n, h, w, c)")
        down = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]], x.dtype.as_numpy_dtype)
        weights = np.repeat(np.stack([down, down.T], -1)[:, :, None, :], channels, 2)
        padded = array.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
        edges = depthwise_conv2d(padded, constant(weights), [1, 1, 1, 1], "VALID")
        full = array.concat([array.shape(x), [2]], 0)
        return array.reshape(edges, full, name=at)
