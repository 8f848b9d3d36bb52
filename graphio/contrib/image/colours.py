"""Hue, saturation and value of images, changed in the space YIQ."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.base.emit import scope
from graphio.ops.image.imaging import convert_image_dtype
from graphio.ops.linalg.matmul import matmul, tensordot
from graphio.ops.math import elementwise
from graphio.ops.random.core import random_uniform
from graphio.support import api_guard

__all__ = ["adjust_hsv_in_yiq", "random_hsv_in_yiq"]

#: red, green and blue as rows; the inverse has the digits of TensorFlow's contrib
_TO_YIQ = ((0.299, 0.596, 0.211), (0.587, -0.274, -0.523), (0.114, -0.322, 0.312))
_FROM_YIQ = (
    (1.0, 1.0, 1.0), (0.95617069, -0.2726886, -1.103744), (0.62143257, -0.64681324, 1.70062309),
)  # fmt: skip


@api_guard.operator
def adjust_hsv_in_yiq(
    image: Any,
    delta_hue: Any = 0,
    scale_saturation: Any = 1,
    scale_value: Any = 1,
    name: str | None = None,
) -> Tensor:
    """Images with another hue, saturation and value.

    Args:
        image: numeric (..., 3), RGB; integers stand for a part of their range.
        delta_hue: by which hues turn in the plane of I and Q, in radians; a scalar, as the others.
        scale_saturation: factor of I and Q.
        scale_value: factor of Y, I and Q.
        name: of the operation.

    Returns:
        A tensor of image's dtype and shape.

    Raises:
        ValueError: the last size is not 3.
    """
    with scope(name, "adjust_hsv_in_yiq") as at:
        x = convert_to_tensor(image, name="image")
        if x.shape.ndims is not None and x.shape.as_list()[-1:] not in ([3], [None]):
            raise ValueError(f"input must have 3 channels but has shape {x.shape}")
        floats = convert_image_dtype(x, dtypes.float32)
        hue, saturation, value = (
            convert_to_tensor(v, dtypes.float32) for v in (delta_hue, scale_saturation, scale_value)
        )
        along = value * saturation * elementwise.cos(hue)
        across = value * saturation * elementwise.sin(hue)
        zero = convert_to_tensor(0.0)
        mixed = array.stack(
            [
                array.stack([value, zero, zero]),
                array.stack([zero, along, across]),
                array.stack([zero, -across, along]),
            ]
        )
        to, back = (np.array(rows, np.float32) for rows in (_TO_YIQ, _FROM_YIQ))
        matrix = matmul(matmul(to, mixed), back)
        return convert_image_dtype(tensordot(floats, matrix, 1), x.dtype, name=at)


@api_guard.operator
def random_hsv_in_yiq(
    image: Any,
    max_delta_hue: float = 0,
    lower_saturation: float = 1,
    upper_saturation: float = 1,
    lower_value: float = 1,
    upper_value: float = 1,
    seed: int | None = None,
) -> Tensor:
    """Images with a random hue, saturation and value; see adjust_hsv_in_yiq.

    Args:
        image: numeric (..., 3), RGB.
        max_delta_hue: by which hues turn at most, in radians; not below 0.
        lower_saturation, upper_saturation: bounds of its factor, not below 0.
        lower_value, upper_value: bounds of its factor, not below 0.
        seed: of the draws, see tf.set_random_seed.

    Raises:
        ValueError: a number is below 0, or a lower bound is above its upper bound.
    """
    if max_delta_hue < 0:
        raise ValueError(f"max_delta must be non-negative, got {max_delta_hue}")
    bounds = {
        "saturation": (lower_saturation, upper_saturation),
        "value": (lower_value, upper_value),
    }
    for what, (lower, upper) in bounds.items():
        if lower < 0:
            raise ValueError(f"lower_{what} must be non-negative, got {lower}")
        if lower > upper:
            raise ValueError(f"lower_{what} must be < upper_{what}, got {lower} and {upper}")

    def drawn(lower: float, upper: float) -> Any:
        return lower if lower == upper else random_uniform([], lower, upper, seed=seed)

    hue = drawn(-max_delta_hue, max_delta_hue)
    return adjust_hsv_in_yiq(image, hue, drawn(*bounds["saturation"]), drawn(*bounds["value"]))
