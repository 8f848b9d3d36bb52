"""BMP files as TensorFlow decodes them: 1, 3 or 4 bytes a pixel, without their palette."""

from __future__ import annotations

import struct

import numpy as np

from graphio.engine.media.pixels import Array, check_size, with_channels
from graphio.support import errors

__all__ = ["SIGNATURE", "decode"]

SIGNATURE = b"BM"


def decode(data: bytes, channels: int = 0) -> Array:
    """The pixels of a file.

    Args:
        data: bytes of the file.
        channels: 3 or 4; 0: those of the file.

    Raises:
        InvalidArgumentError: it is not such a file, ends early, or is too large.
    """
    if len(data) < 32:
        raise errors.InvalidArgumentError(
            message=f"Incomplete bmp content, requires at least 32 bytes to find the header size, "
            f"width, height, and bpp, got {len(data)} bytes"
        )
    at, width, height = struct.unpack("<i", data[10:14]) + struct.unpack("<ii", data[18:26])
    (bits,) = struct.unpack("<h", data[28:30])
    if bits not in (8, 24, 32):
        raise errors.InvalidArgumentError(
            message=f"bits per pixel of a BMP file is {bits}, expected 8, 24 or 32"
        )
    found = bits // 8
    check_size(width, abs(height), found, "BMP")
    row = (width * found + 3) // 4 * 4
    last = at + row * (abs(height) - 1) + width * found
    if at < 0 or last > len(data):
        raise errors.InvalidArgumentError(
            message=f"Incomplete bmp content, requires at least {last} bytes, got {len(data)} bytes"
        )
    lines = np.frombuffer(
        data[at : at + row * abs(height)].ljust(row * abs(height), b"\0"), np.uint8
    )
    pixels = lines.reshape(abs(height), row)[:, : width * found].reshape(abs(height), width, found)
    order = [0] if found == 1 else [2, 1, 0, 3][:found]
    return with_channels(pixels[:: -1 if height > 0 else 1, :, order], channels)
