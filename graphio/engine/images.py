"""Pictures from the bytes of their files, through Pillow, which is imported late."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphio.engine.interface import HostFunction
from graphio.engine.media import pillow
from graphio.support import errors

__all__ = ["FUNCTIONS", "PIXELS", "decode"]

Array = np.ndarray[Any, Any]
#: ONNX's layouts of a pixel, with Pillow's modes
PIXELS = {"RGB": "RGB", "BGR": "RGB", "Grayscale": "L"}
#: the formats that the standard lists
_FORMATS = ("BMP", "JPEG", "JPEG2000", "PNG", "PPM", "TIFF", "WEBP")


def decode(data: Array, pixels: str) -> Array:
    """The picture in a file.

    Args:
        data: its bytes, uint8 vector.
        pixels: a key of PIXELS.

    Returns:
        uint8 [height, width, 3], or [height, width, 1] in grey.

    Raises:
        UnimplementedError: Pillow is not installed.
        InvalidArgumentError: the bytes are not a picture of a known format, or damaged.
        ResourceExhaustedError: the picture is larger than Pillow takes.
    """
    Image = pillow.library()
    try:
        with Image.open(io.BytesIO(data.tobytes()), formats=_FORMATS) as picture:
            made = np.array(picture.convert(PIXELS[pixels]), np.uint8)
    except Image.DecompressionBombError as error:
        raise errors.ResourceExhaustedError(message=str(error)) from None
    except MemoryError:
        raise
    except Exception as error:  # Pillow's decoders raise of many kinds
        why = "" if type(error).__name__ == "UnidentifiedImageError" else f": {error}"
        raise errors.InvalidArgumentError(
            message=f"{data.size} bytes are not a picture of {', '.join(_FORMATS)}, or damaged{why}"
        ) from None
    if pixels == "Grayscale":
        return made[:, :, None]
    return made[:, :, ::-1].copy() if pixels == "BGR" else made


def _function(pixels: str) -> HostFunction:
    return lambda inputs: [decode(inputs[0], pixels)]


#: The function that the C library calls, by name.
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    f"ai.onnx.ImageDecoder/{pixels}": _function(pixels) for pixels in PIXELS
}
