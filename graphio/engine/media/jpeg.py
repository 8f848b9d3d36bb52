"""JPEG files, decoded and encoded as TensorFlow does."""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.engine.media import pillow, turbojpeg
from graphio.engine.media.pixels import Array, check_size
from graphio.support import errors

__all__ = ["SIGNATURE", "crop", "decode", "encode", "shape"]

SIGNATURE = b"\xff\xd8\xff"
_END = b"\xff\xd9"
#: channels of a file by Pillow's mode
_CHANNELS = {"L": 1, "RGB": 3, "CMYK": 4}
_XMP = b"http://ns.adobe.com/xap/1.0/\0"


def _opened(data: bytes) -> Any:
    return pillow.opened(
        data, ("JPEG",), f"Invalid JPEG data or crop window, data size {len(data)}"
    )


def shape(data: bytes) -> tuple[int, int, int]:
    """Height, width and channels that a file's header says.

    Raises:
        InvalidArgumentError: it is not a JPEG file.
    """
    with _opened(data) as picture:
        return picture.height, picture.width, _CHANNELS[picture.mode]


def decode(
    data: bytes,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    dct_method: str = "INTEGER_FAST",
) -> Array:
    """The pixels of a file.

    Args:
        data: bytes of the file.
        channels: 1, 3; 0: those of the file, 3 of CMYK.
        ratio: 1, 2, 4 or 8: how many times smaller the picture gets.
        fancy_upscaling: False repeats the colours of files that have fewer of them.
        try_recover_truncated: whether lines that the file lacks are made up.
        dct_method: INTEGER_ACCURATE, or INTEGER_FAST, which "" is, too.

    Returns:
        uint8 [height, width, channels].

    Raises:
        InvalidArgumentError: it is not a JPEG file, damaged, or too large.
    """
    if try_recover_truncated:
        data += _END  # libjpeg makes up the lines before the end
    height, width, found = shape(data)
    check_size(width, height, found, "JPEG")
    requested = channels or min(found, 3)
    if found != 4 and not try_recover_truncated:
        accurate = dct_method == "INTEGER_ACCURATE"
        pixels = turbojpeg.decode(
            data, (height, width), requested, ratio, fancy_upscaling, accurate
        )
        if pixels is not None:
            return pixels
    with _opened(data) as picture:
        if found == 4:
            if requested == 1:
                raise errors.InvalidArgumentError(
                    message="Invalid JPEG data: a CMYK picture has no grey; give channels 0 or 3"
                )
            return _of_inks(_smaller(picture, "CMYK", ratio), "adobe" in picture.info)
        if fancy_upscaling or requested == 1 or _upscaling(picture) == (1, 1):
            pixels = _smaller(picture, "L" if requested == 1 else "RGB", ratio)
            return pixels if pixels.ndim == 3 else pixels[..., None]
        if _upscaling(picture) != (2, 2):
            raise errors.UnimplementedError(
                message="fancy_upscaling=False is not supported for this JPEG file, which has "
                "other colours than one for a pixel or for 2 x 2: leave it True"
            )
        if ratio > 1:  # libjpeg finds all colours by smaller transforms
            return _smaller(picture, "RGB", ratio)
    return _repeated(data)


def _smaller(picture: Any, mode: str, ratio: int) -> Array:
    """The pixels, with libjpeg's smaller transforms for a ratio above 1."""
    _shrink(picture, mode, ratio)
    return np.array(picture.convert(mode), np.uint8)


def _shrink(picture: Any, mode: str, ratio: int) -> None:
    """Has libjpeg decode a smaller picture: Pillow takes the largest ratio, of 1, 2, 4 and 8, that
    is not above that of the sizes, which need not be integers."""
    between = ratio + 0.5
    picture.draft(mode, (picture.width / between, picture.height / between))


def _of_inks(inks: Array, adobe: bool) -> Array:
    """RGB from CMYK as Pillow has it, where ink is above 0. Files of Adobe store 255 for no
    ink; TensorFlow takes the numbers of others for amounts of ink, too."""
    light = (255 - inks if adobe else inks).astype(np.int32)
    colours = light[..., :3] * light[..., 3:] // 255
    return colours.astype(np.uint8)


# ---- colours that are repeated ----


def _upscaling(picture: Any) -> tuple[int, int]:
    """How many columns and rows of pixels the file has for each colour; 0, 0 where these differ."""
    factors = {layer[1:3] for layer in picture.layer[1:]}
    across, down = picture.layer[0][1:3]
    if len(factors) > 1:
        return 0, 0
    for one in factors:
        return across // one[0], down // one[1]
    return 1, 1


def _repeated(data: bytes) -> Array:
    """RGB where each colour fills two by two pixels."""
    with _opened(data) as picture:
        _shrink(picture, "YCbCr", 1)
        bright = np.array(picture, np.int32)[..., 0]
    with _opened(data) as picture:
        # at half the size libjpeg gives the colours as they are in the file
        colours = _smaller(picture, "YCbCr", 2)[..., 1:].astype(np.int32) - 128
    large = colours.repeat(2, 0).repeat(2, 1)[: bright.shape[0], : bright.shape[1]]
    blue, red = large[..., 0], large[..., 1]
    half = 1 << 15  # libjpeg's numbers of 16 binary digits after the point
    found = (
        bright + ((91881 * red + half) >> 16),
        bright + ((-22554 * blue - 46802 * red + half) >> 16),
        bright + ((116130 * blue + half) >> 16),
    )
    return np.stack(found, -1).clip(0, 255).astype(np.uint8)


def crop(pixels: Array, window: Sequence[int]) -> Array:
    """A part of a picture: y, x, height and width.

    Raises:
        InvalidArgumentError: it is empty, or reaches beyond the picture.
    """
    y, x, height, width = window
    inside = y >= 0 and x >= 0 and y + height <= len(pixels) and x + width <= pixels.shape[1]
    if height <= 0 or width <= 0 or not inside:
        raise errors.InvalidArgumentError(
            message=f"Invalid JPEG data or crop window: the window {list(window)} (y, x, height, "
            f"width) is not inside of a picture of {pixels.shape[0]} x {pixels.shape[1]}"
        )
    return pixels[y : y + height, x : x + width]


# ---- encoding ----


def encode(
    pixels: Array,
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: bytes = b"",
) -> bytes:
    """A file of a picture, uint8 [height, width, 1 or 3].

    Args:
        pixels: the picture.
        quality: 0 to 100.
        progressive: whether a viewer may show it coarsely first.
        optimize_size: whether tables are made for this picture.
        chroma_downsampling: whether it has a fourth of the colours.
        density_unit, x_density, y_density: pixels for each "in" or "cm".
        xmp_metadata: bytes for the header.
    """
    image = pillow.library()
    options: dict[str, Any] = {"quality": max(quality, 1), "progressive": progressive}
    if pixels.shape[2] == 3:
        options["subsampling"] = 2 if chroma_downsampling else 0
    if xmp_metadata:
        segment = _XMP + xmp_metadata
        options["extra"] = b"\xff\xe1" + struct.pack(">H", len(segment) + 2) + segment
    options |= {"optimize": optimize_size, "dpi": (x_density, y_density)}
    stream = io.BytesIO()
    image.fromarray(pixels if pixels.shape[2] == 3 else pixels[..., 0]).save(
        stream, "JPEG", **options
    )
    file = bytearray(stream.getvalue())
    file[_UNIT] = {"in": 1, "cm": 2}[density_unit]
    return bytes(file)


#: position of the unit of densities in a file with the header that libjpeg writes
_UNIT = 13
