"""libjpeg-turbo by simplejpeg: the transforms that TensorFlow has, which Pillow does not choose."""

from __future__ import annotations

import numpy as np

from graphio.engine.media.pixels import Array

__all__ = ["decode"]


def decode(
    data: bytes, size: tuple[int, int], channels: int, ratio: int, fancy: bool, accurate: bool
) -> Array | None:
    """The pixels of a JPEG file, uint8 [height, width, channels].

    Args:
        data: bytes of the file.
        size: height and width that its header says.
        channels: 1 or 3.
        ratio: 1, 2, 4 or 8: how many times smaller the picture gets.
        fancy: False repeats the colours of a file that has fewer than pixels.
        accurate: False takes the faster and coarser of libjpeg's transforms.

    Returns:
        None where simplejpeg is not installed, or does not decode the file: Pillow says why.
    """
    try:
        import simplejpeg
    except ImportError:
        return None
    height, width = (-(-edge // ratio) for edge in size)
    try:
        pixels = simplejpeg.decode_jpeg(
            data,
            colorspace="GRAY" if channels == 1 else "RGB",
            fastdct=not accurate,
            fastupsample=not fancy,
            min_height=height if ratio > 1 else 0,
            min_width=width if ratio > 1 else 0,
            min_factor=1,
        )
    except ValueError:
        return None
    if pixels.shape != (height, width, channels):
        return None
    return np.array(pixels, np.uint8)
