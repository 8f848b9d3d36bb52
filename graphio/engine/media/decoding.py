"""A picture of any format that TensorFlow decodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.engine.media import bmp, gif, jpeg, png
from graphio.engine.media.pixels import Array
from graphio.support import errors

__all__ = ["decode"]


def decode(
    data: bytes,
    op: str = "DecodeImage",
    channels: int = 0,
    dtype: str = "uint8",
    expand_animations: bool = True,
    **of_jpeg: Any,
) -> Array:
    """The pixels of a file, whose first bytes say its format.

    Args:
        data: bytes of the file.
        op: TensorFlow's operation: DecodeBmp takes BMP alone, whatever its
            first two bytes are; DecodeGif and DecodeImage give all
            frames of a GIF, [frames, height, width, 3]; DecodeJpeg and DecodePng give the frame
            of one that has one.
        channels: 1, 3 or 4; 0: those of the file.
        dtype: uint8 or uint16; of formats of 8 bits the numbers keep their part of the range.
        expand_animations: False has DecodeImage give the first frame of a GIF, without its axis.
        of_jpeg: more options of jpeg.decode.

    Returns:
        uint8 or uint16 [height, width, channels], with the exceptions under `op`.

    Raises:
        InvalidArgumentError: the format is none of these, does not have the channels, or the file
            is damaged or too large.
    """
    if data.startswith(gif.SIGNATURE) and op != "DecodeBmp":
        _check(channels in (0, 3), f"channels must be 0 or 3 for GIF, but got {channels}")
        frames = _in_range(gif.decode(data, first=not expand_animations), dtype)
        if op in ("DecodeGif", "DecodeImage") and expand_animations:
            return frames
        _check(
            len(frames) == 1,
            f"Got {len(frames)} frames, but animated gifs can only be decoded by "
            "tf.io.decode_gif or tf.io.decode_image",
        )
        first: Array = frames[0]
        return first
    if op == "DecodeGif":
        return np.expand_dims(_one_frame(data, op, 3, dtype), 0)
    return _one_frame(data, op, channels, dtype, **of_jpeg)


def _one_frame(data: bytes, op: str, channels: int, dtype: str, **of_jpeg: Any) -> Array:
    if op == "DecodeBmp" or data.startswith(bmp.SIGNATURE) and op == "DecodeImage":
        _check(channels != 1, f"`channels` must be 0, 3 or 4 for BMP, but got {channels}")
        return _in_range(bmp.decode(data, channels), dtype)
    if data.startswith(jpeg.SIGNATURE):
        _check(channels != 4, f"channels must be 0, 1, or 3 for JPEG, but got {channels}")
        return _in_range(jpeg.decode(data, channels, **of_jpeg), dtype)
    if data.startswith(png.SIGNATURE):
        return png.decode(data, channels, dtype)
    raise errors.InvalidArgumentError(
        message="Unknown image file format. One of JPEG, PNG, GIF, BMP required: "
        f"{op} got {len(data)} bytes that begin with {data[:4]!r}"
    )


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise errors.InvalidArgumentError(message=message)


def _in_range(pixels: Array, dtype: str) -> Array:
    """Numbers of 8 bits in the range of dtype, as tf.image.convert_image_dtype."""
    return pixels if dtype == "uint8" else pixels.astype(np.uint16) * 256
