"""Pixels as arrays: their number, and other channels."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.support import errors

__all__ = ["LARGEST", "Array", "check_size", "with_channels"]

Array = np.ndarray[Any, Any]
#: bytes that the pixels of a file may take: TensorFlow's limit
LARGEST = 1 << 29


def check_size(width: int, height: int, channels: int, kind: str) -> None:
    """Refuses a picture by what its header says.

    Raises:
        InvalidArgumentError: there are no pixels, or too many for memory.
    """
    if width <= 0 or height <= 0:
        raise errors.InvalidArgumentError(
            message=f"Invalid {kind} data: a picture of {height} x {width} has no pixels"
        )
    if width * height * channels > LARGEST:
        raise errors.InvalidArgumentError(
            message=f"{kind} size too large: {height} x {width} with {channels} channels is more "
            f"than {LARGEST} bytes"
        )


def with_channels(pixels: Array, channels: int) -> Array:
    """A picture with another number of channels.

    Args:
        pixels: uint8 or uint16 [height, width, 1 to 4]; the second of two and the fourth of four
            channels is the opacity, which is complete where there is none.
        channels: 1, 3 or 4; 0 changes nothing.
    """
    found = pixels.shape[2]
    if channels in (0, found):
        return pixels
    colours = pixels[..., : 3 if found > 2 else 1]
    if channels == 1:
        return _grey(colours) if found > 2 else colours
    if found < 3:
        colours = colours.repeat(3, 2)
    if channels == 3:
        return colours
    opaque = np.full_like(pixels[..., :1], np.iinfo(pixels.dtype).max)
    return np.concatenate([colours, opaque if found % 2 else pixels[..., found - 1 :]], 2)


def _grey(colours: Array) -> Array:
    """Grey with libpng's weights, which have 15 binary digits; it rounds what has 16 bits."""
    half = 1 << 14 if colours.dtype == np.uint16 else 0
    red, green, blue = (colours[..., k : k + 1].astype(np.int64) for k in range(3))
    return ((9798 * red + 19235 * green + 3735 * blue + half) >> 15).astype(colours.dtype)
