"""tf.image, tf.io: files of pictures."""

from __future__ import annotations

from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.base import shapes
from graphio.ops.base.emit import describe, is_symbolic, scope
from graphio.ops.base.shapes import dims_of
from graphio.ops.image.imaging import convert_image_dtype
from graphio.ops.media.calls import call, require_one_of, scalar_of
from graphio.ops.media.decoding import decode_jpeg
from graphio.ops.random.core import random_uniform
from graphio.ops.strings.python_strings import as_bytes
from graphio.support import api_guard, errors

__all__ = ["adjust_jpeg_quality", "encode_jpeg", "encode_png", "random_jpeg_quality"]


def _picture(image: Any, allowed: tuple[Any, ...], op: str, at: str) -> Tensor:
    """The image as a tensor of rank 3 and one of the dtypes."""
    symbolic = is_symbolic(image) or hasattr(image, "dtype")
    x = convert_to_tensor(image, None if symbolic else allowed[0], name="image")
    if x.dtype.base_dtype not in allowed:
        names = ", ".join(dtype.name for dtype in allowed)
        raise TypeError(
            f"Value passed to parameter 'image' of {describe(at, op)} has DataType "
            f"{x.dtype.name} not in list of allowed values: {names}; tf.image.convert_image_dtype "
            "converts it"
        )
    shapes.merge(dims_of(x), (None, None, None), describe(at, op))
    return x


@api_guard.operator
def encode_jpeg(
    image: Any,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str | bytes = "",
    name: str | None = None,
) -> Tensor:
    """A JPEG file of a picture.

    Args:
        image: uint8 (height, width, channels) of 1 or 3 channels.
        format: "grayscale" or "rgb" where the channels must be 1 or 3.
        quality: 0 to 100, the largest files.
        progressive: whether a viewer may show the picture coarsely first.
        optimize_size: whether the file gets smaller in more time.
        chroma_downsampling: whether the file has one colour for 2 x 2 pixels.
        density_unit: of the densities, "in" or "cm".
        x_density, y_density: pixels a unit.
        xmp_metadata: text that the header has.
        name: of the operation.

    Returns:
        A scalar string tensor.

    Raises:
        ValueError: the shape does not fit.
        TypeError: image is not uint8.
        InvalidArgumentError: an argument has another value; of the run: other channels.
        UnimplementedError: of the run: Pillow is not installed.
    """
    op = "EncodeJpeg"
    with scope(name, op) as at:
        require_one_of(format, ("", "default", "grayscale", "rgb"), "format", op)
        require_one_of(density_unit, ("in", "cm"), "density_unit", op)
        if not 0 <= quality <= 100:
            raise errors.InvalidArgumentError(message=f"quality must be in [0,100], got {quality}")
        metadata = as_bytes(xmp_metadata)
        if len(metadata) > _LONGEST:
            raise errors.InvalidArgumentError(
                message=f"xmp_metadata has {len(metadata)} bytes, expected up to {_LONGEST}"
            )
        for what, density in (("x_density", x_density), ("y_density", y_density)):
            if not 0 < density < 1 << 16:
                raise errors.InvalidArgumentError(
                    message=f"{what} of {op} is {density}, expected 1 to 65535"
                )
        options = {
            "format": "" if format == "default" else format,
            "quality": quality,
            "progressive": bool(progressive),
            "optimize_size": bool(optimize_size),
            "chroma_downsampling": bool(chroma_downsampling),
            "density_unit": density_unit,
            "x_density": x_density,
            "y_density": y_density,
            "xmp_metadata": metadata,
        }
        picture = _picture(image, (dtypes.uint8,), op, at)
        return call(op, [picture], [(dtypes.string, ())], at, **options).outputs[0]


#: bytes of metadata that fit into one segment of a file
_LONGEST = 65535 - 2 - len(b"http://ns.adobe.com/xap/1.0/\0")


@api_guard.operator
def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Tensor:
    """A PNG file of a picture; it needs no Pillow.

    Args:
        image: uint8 or uint16 (height, width, channels): 1: grey; 2: grey and opacity; 3: RGB; 4:
            RGBA.
        compression: 0 to 9, the smallest files; -1: zlib's default.
        name: of the operation.

    Returns:
        A scalar string tensor.

    Raises:
        ValueError: the shape does not fit.
        TypeError: image has another dtype.
        InvalidArgumentError: compression is out of range; of the run: other channels.
    """
    op = "EncodePng"
    with scope(name, op) as at:
        require_one_of(compression, range(-1, 10), "compression", op)
        picture = _picture(image, (dtypes.uint8, dtypes.uint16), op, at)
        made = call(op, [picture], [(dtypes.string, ())], at, compression=compression)
        return made.outputs[0]


@api_guard.operator
def adjust_jpeg_quality(image: Any, jpeg_quality: Any, name: str | None = None) -> Tensor:
    """A picture as it looks after JPEG of a quality.

    Args:
        image: numeric (height, width, channels) of 1 or 3 channels; floats are in [0, 1].
        jpeg_quality: 0 to 100, or a scalar int32 tensor.
        name: of the operation.

    Returns:
        A tensor of image's dtype (height, width, channels).

    Raises:
        ValueError: the shape does not fit.
        InvalidArgumentError: of the run: jpeg_quality is out of range, or other channels.
        UnimplementedError: of the run: Pillow is not installed.
    """
    op = "EncodeJpegVariableQuality"
    with scope(name, "adjust_jpeg_quality") as at:
        x = convert_to_tensor(image, name="image")
        channels = (dims_of(x) or (None,))[-1]
        picture = _picture(convert_image_dtype(x, dtypes.uint8), (dtypes.uint8,), op, at)
        number = convert_to_tensor(jpeg_quality, dtypes.int32, name="quality")
        inputs = [picture, scalar_of(number, op, at)]
        encoded = call(op, inputs, [(dtypes.string, ())], f"{at}{op}").outputs[0]
        decoded = decode_jpeg(encoded, channels=channels or 0)
        return convert_image_dtype(decoded, x.dtype, name=at)


@api_guard.operator
def random_jpeg_quality(
    image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> Tensor:
    """A picture as it looks after JPEG of a random quality; see adjust_jpeg_quality.

    Args:
        image: numeric (height, width, channels).
        min_jpeg_quality: the minimum, 0 to 100.
        max_jpeg_quality: above the maximum, up to 100.
        seed: of the draw, see tf.set_random_seed.

    Raises:
        ValueError: the qualities are out of range, or the minimum is not below the maximum.
    """
    if not (0 <= min_jpeg_quality <= 100 and 0 <= max_jpeg_quality <= 100):
        raise ValueError(
            "jpeg encoding range must be between 0 and 100, got "
            f"{min_jpeg_quality} to {max_jpeg_quality}"
        )
    if min_jpeg_quality >= max_jpeg_quality:
        raise ValueError(
            f"`min_jpeg_quality` must be less than `max_jpeg_quality`, got {min_jpeg_quality} and "
            f"{max_jpeg_quality}"
        )
    quality = random_uniform([], min_jpeg_quality, max_jpeg_quality, dtype=dtypes.int32, seed=seed)
    return adjust_jpeg_quality(image, quality)
