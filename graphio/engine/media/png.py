"""PNG files, decoded as TensorFlow does; written by zlib alone."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

from graphio.engine.media import pillow
from graphio.engine.media.pixels import Array, check_size, with_channels
from graphio.support import errors

__all__ = ["SIGNATURE", "decode", "encode"]

SIGNATURE = b"\x89PNG\r\n\x1a\n"
#: channels by the colour type of the header; 3, a palette: depends on its transparency
_CHANNELS = {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}
#: the colour type by channels
_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}


def decode(data: bytes, channels: int = 0, dtype: str = "uint8") -> Array:
    """The pixels of a file.

    Args:
        data: bytes of the file.
        channels: 1, 3 or 4; 0: those of the file.
        dtype: uint8 or uint16.

    Raises:
        InvalidArgumentError: it is not a PNG file, damaged, or too large.
    """
    failure = f"Invalid PNG data, size {len(data)}"
    if len(data) < 26 or data[12:16] != b"IHDR" or data[25] not in _CHANNELS:
        raise errors.InvalidArgumentError(message=f"{failure}: there is no header")
    width, height = struct.unpack(">II", data[16:24])
    deep = data[24] == 16
    check_size(width, height, _CHANNELS[data[25]] * (2 if deep else 1), "PNG")
    with pillow.opened(data, ("PNG",), failure) as picture:
        pixels = _deep(data, picture, failure) if deep else _shallow(picture, data[25] == 3)
        key = picture.info.get("transparency") if data[25] != 3 else None
    if channels == 4 and key is not None:
        pixels = _keyed(pixels, np.asarray(key) * (255 // ((1 << data[24]) - 1) or 1))
    found = with_channels(pixels, channels)
    if dtype == "uint8":
        return (found >> 8).astype(np.uint8) if deep else found
    return found if deep else found.astype(np.uint16) * 257


def _keyed(pixels: Array, key: Array) -> Array:
    """The picture with an opacity of zero where it has one colour."""
    most = np.iinfo(pixels.dtype).max
    opacity = np.where((pixels == key).all(-1, keepdims=True), 0, most)
    return np.concatenate([pixels, opacity.astype(pixels.dtype)], 2)


def _shallow(picture: Any, palette: bool) -> Array:
    """Pixels of up to 8 bits a channel, without the transparency of one colour."""
    if palette:
        mode = "RGBA" if "transparency" in picture.info else "RGB"
    else:
        mode = "L" if picture.mode == "1" else picture.mode
    pixels = np.array(picture.convert(mode), np.uint8)
    return pixels if pixels.ndim == 3 else pixels[..., None]


def _deep(data: bytes, picture: Any, failure: str) -> Array:
    """Pixels of 16 bits a channel, of which Pillow gives the upper 8: it reads colours as if their
    bytes were exchanged, too, and grey with transparency as four channels."""
    if data[25] == 0:
        return np.array(picture, np.uint16)[..., None]
    if data[25] == 4:
        return _raw(picture, "RGBA").view(">u2").astype(np.uint16)
    name = picture.mode
    upper = _raw(picture, f"{name};16B").astype(np.uint16)
    with pillow.opened(data, ("PNG",), failure) as again:
        return upper << 8 | _raw(again, f"{name};16L")


def _raw(picture: Any, layout: str) -> Array:
    """The pixels where the file is taken to have a layout of Pillow's."""
    picture.tile = [(codec, area, at, layout) for codec, area, at, _ in picture.tile]
    picture.load()
    return np.array(picture, np.uint8)


# ---- encoding ----


def encode(pixels: Array, compression: int = -1) -> bytes:
    """A file of a picture, uint8 or uint16 [height, width, 1 to 4].

    Args:
        pixels: the picture.
        compression: of zlib, 0 to 9; -1: its default.
    """
    height, width, channels = pixels.shape
    wide = pixels.astype(pixels.dtype.newbyteorder(">"))
    lines = np.ascontiguousarray(wide).view(np.uint8).reshape(height, -1)
    depth = 8 * pixels.dtype.itemsize
    header = struct.pack(">IIBBBBB", width, height, depth, _TYPES[channels], 0, 0, 0)
    filtered = _filtered(lines, channels * pixels.dtype.itemsize)
    parts = (
        SIGNATURE,
        _chunk(b"IHDR", header),
        _chunk(b"IDAT", zlib.compress(filtered.tobytes(), compression)),
        _chunk(b"IEND", b""),
    )
    return b"".join(parts)


def _filtered(lines: Array, step: int) -> Array:
    """The lines, each as the difference from the line above or from the pixel to the left where
    that is smaller, behind the number of its way. step: bytes of a pixel."""
    above, left = np.zeros_like(lines), np.zeros_like(lines)
    above[1:], left[:, step:] = lines[:-1], lines[:, :-step]
    ways = np.stack([lines, lines - left, lines - above])
    sizes = np.abs(ways.view(np.int8).astype(np.int32)).sum(2)
    best = sizes.argmin(0)
    chosen = ways[best, np.arange(len(lines))]
    return np.concatenate([best[:, None].astype(np.uint8), chosen], 1)


def _chunk(kind: bytes, data: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(kind + data))
    return struct.pack(">I", len(data)) + kind + data + check
