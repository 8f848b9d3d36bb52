"""tf.image, tf.io: pictures from the contents of files."""

from __future__ import annotations

from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import describe, scope
from graphio.ops.base.shapes import dims_of
from graphio.ops.image.imaging import convert_image_dtype
from graphio.ops.math import comparison
from graphio.ops.media.calls import call, contents_of, require_one_of
from graphio.ops.strings.core import substr
from graphio.support import api_guard

__all__ = [
    "decode_and_crop_jpeg",
    "decode_bmp",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "extract_jpeg_shape",
    "is_jpeg",
]

_RATIOS = (1, 2, 4, 8)
_METHODS = ("", "INTEGER_FAST", "INTEGER_ACCURATE")
#: the dtypes that decode_image's function gives; others are converted from one of them
_OF_DECODER = (dtypes.uint8, dtypes.uint16, dtypes.float32)


def _channels(channels: int | None, op: str, allowed: tuple[int, ...] = (0, 1, 3, 4)) -> int:
    return int(require_one_of(channels or 0, allowed, "channels", op))


def _jpeg_options(
    op: str, ratio: int, fancy_upscaling: bool, try_recover_truncated: bool, dct_method: str
) -> dict[str, Any]:
    require_one_of(dct_method, _METHODS, "dct_method", op)
    return {
        "ratio": require_one_of(ratio, _RATIOS, "ratio", op),
        "fancy_upscaling": bool(fancy_upscaling),
        "try_recover_truncated": bool(try_recover_truncated),
        "dct_method": str(dct_method),
    }


@api_guard.operator
def decode_jpeg(
    contents: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """The picture in a JPEG file; also in a PNG file or a GIF of one frame.

    Args:
        contents: scalar string tensor: the bytes of the file.
        channels: 0: as the file has; 1: grey; 3: RGB.
        ratio: 1, 2, 4 or 8: the picture gets so many times smaller.
        fancy_upscaling: False repeats the colours of a file that has fewer than pixels; without
            simplejpeg known for files with one colour for 2 x 2 pixels, which most have.
        try_recover_truncated: makes up what a file that ends early lacks, which may differ from
            what TensorFlow makes up.
        acceptable_fraction: has no effect: a file that ends early is an error.
        dct_method: INTEGER_ACCURATE or INTEGER_FAST, which "" is, too, and which differs by up to
            5 of 255. Without simplejpeg, and for files with four inks, both are INTEGER_ACCURATE.
        name: of the operation.

    Returns:
        A uint8 tensor (height, width, channels).

    Raises:
        ValueError: contents is not a scalar.
        InvalidArgumentError: channels, ratio or dct_method has another value; of the run: the
            file is damaged, of another format or too large.
        UnimplementedError: of the run: Pillow is not installed.

    Example:
        picture = tf.image.decode_jpeg(tf.read_file("cat.jpg"), channels=3)
    """
    op = "DecodeJpeg"
    with scope(name, op) as at:
        given = _channels(channels, op)
        options = _jpeg_options(op, ratio, fancy_upscaling, try_recover_truncated, dct_method)
        outputs = [(dtypes.uint8, (None, None, given or None))]
        made = call(op, [contents_of(contents, op, at)], outputs, at, channels=given, **options)
        return made.outputs[0]


@api_guard.operator
def decode_and_crop_jpeg(
    contents: Any,
    crop_window: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """A part of the picture in a JPEG file.

    Args:
        contents: scalar string tensor: the bytes of the file.
        crop_window: int32 (4): y, x, height and width of the part, after ratio.
        channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method:
            as decode_jpeg's.
        name: of the operation.

    Returns:
        A uint8 tensor (height, width, channels).

    Raises:
        ValueError: a shape does not fit.
        InvalidArgumentError: as decode_jpeg; of the run: the part is empty or reaches beyond the
            picture.
    """
    op = "DecodeAndCropJpeg"
    with scope(name, op) as at:
        given = _channels(channels, op, (0, 1, 3))
        options = _jpeg_options(op, ratio, fancy_upscaling, try_recover_truncated, dct_method)
        window = convert_to_tensor(crop_window, dtypes.int32, name="crop_window")
        shapes.merge(dims_of(window), (4,), describe(at, op))
        sizes = primitive.static_vector(primitive.slice_axes(window, [2], [4], [0])) or (None, None)
        inputs = [contents_of(contents, op, at), window]
        outputs = [(dtypes.uint8, (*sizes, given or None))]
        return call(op, inputs, outputs, at, channels=given, **options).outputs[0]


@api_guard.operator
def decode_png(
    contents: Any, channels: int = 0, dtype: Any = dtypes.uint8, name: str | None = None
) -> Tensor:
    """The picture in a PNG file; also in a JPEG file or a GIF of one frame.

    Args:
        contents: scalar string tensor: the bytes of the file.
        channels: 0: as the file has, up to 4; 1: grey; 3: RGB; 4: RGBA.
        dtype: uint8, or uint16 for what files of 16 bits have.
        name: of the operation.

    Returns:
        A tensor (height, width, channels).

    Raises:
        ValueError: contents is not a scalar.
        TypeError: dtype is another one.
        InvalidArgumentError, UnimplementedError: as decode_jpeg.
    """
    op = "DecodePng"
    with scope(name, op) as at:
        given, requested = _channels(channels, op), dtypes.as_dtype(dtype).base_dtype
        if requested not in (dtypes.uint8, dtypes.uint16):
            raise TypeError(
                f"Value passed to parameter 'dtype' of {describe(at, op)} has DataType "
                f"{requested.name} not in list of allowed values: uint8, uint16"
            )
        outputs = [(requested, (None, None, given or None))]
        made = call(op, [contents_of(contents, op, at)], outputs, at, channels=given,
                    dtype=requested.name)  # fmt: skip
        return made.outputs[0]


@api_guard.operator
def decode_gif(contents: Any, name: str | None = None) -> Tensor:
    """The frames of a GIF file, each drawn over the frame before it.

    Args:
        contents: scalar string tensor: the bytes of the file.
        name: of the operation.

    Returns:
        A uint8 tensor (frames, height, width, 3).

    Raises:
        ValueError: contents is not a scalar.
        InvalidArgumentError, UnimplementedError: as decode_jpeg.
    """
    op = "DecodeGif"
    with scope(name, op) as at:
        outputs = [(dtypes.uint8, (None, None, None, 3))]
        return call(op, [contents_of(contents, op, at)], outputs, at).outputs[0]


@api_guard.operator
def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Tensor:
    """The picture in a BMP file of 8, 24 or 32 bits a pixel; of 8 bits without its palette.

    Args:
        contents: scalar string tensor: the bytes of the file.
        channels: 0: as the file has; 3: RGB; 4: RGBA.
        name: of the operation.

    Returns:
        A uint8 tensor (height, width, channels).

    Raises:
        ValueError: contents is not a scalar.
        InvalidArgumentError: channels has another value; of the run: as decode_jpeg.
    """
    op = "DecodeBmp"
    with scope(name, op) as at:
        given = _channels(channels, op, (0, 3, 4))
        outputs = [(dtypes.uint8, (None, None, given or None))]
        return call(op, [contents_of(contents, op, at)], outputs, at, channels=given).outputs[0]


@api_guard.operator
def decode_image(
    contents: Any,
    channels: int | None = None,
    dtype: Any = dtypes.uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """The picture in a JPEG, PNG, GIF or BMP file.

    Args:
        contents: scalar string tensor: the bytes of the file.
        channels: None or 0: as the file has; 1: grey, not of GIF and BMP; 3: RGB; 4: RGBA, of PNG
            and BMP.
        dtype: of the result: floats are in [0, 1], integers in the range of the dtype.
        name: of the operation.
        expand_animations: whether a GIF gives all frames (frames, height, width, 3); False: the
            first one.

    Returns:
        A tensor (height, width, channels). Its rank is not known where a GIF could give frames.

    Raises:
        ValueError: contents is not a scalar.
        InvalidArgumentError: channels has another value; of the run: as decode_jpeg, or the format
            does not have the channels.
    """
    op = "DecodeImage"
    with scope(name, "decode_image") as at:
        given, requested = _channels(channels, op), dtypes.as_dtype(dtype).base_dtype
        fallback = dtypes.float32 if requested.is_floating else dtypes.uint16
        found = requested if requested in _OF_DECODER else fallback
        dims = None if expand_animations else (None, None, given or None)
        made = call(op, [contents_of(contents, op, at)], [(found, dims)],
                    at if found == requested else f"{at}{op}", channels=given, dtype=found.name,
                    expand_animations=bool(expand_animations))  # fmt: skip
        return convert_image_dtype(made.outputs[0], requested, name=at) if (
            found != requested
        ) else made.outputs[0]  # fmt: skip


@api_guard.operator
def extract_jpeg_shape(
    contents: Any, output_type: Any = dtypes.int32, name: str | None = None
) -> Tensor:
    """Height, width and channels that the header of a JPEG file says.

    Args:
        contents: scalar string tensor: the bytes of the file.
        output_type: int32 or int64.
        name: of the operation.

    Returns:
        An integer vector of three.

    Raises:
        ValueError: contents is not a scalar.
        InvalidArgumentError: output_type is another dtype; of the run: as decode_jpeg.
    """
    op = "ExtractJpegShape"
    with scope(name, op) as at:
        dtype = dtypes.as_dtype(output_type)
        require_one_of(dtype, (dtypes.int32, dtypes.int64), "output_type", op)
        made = call(op, [contents_of(contents, op, at)], [(dtype, (3,))], at, dtype=dtype.name)
        return made.outputs[0]


@api_guard.operator
def is_jpeg(contents: Any, name: str | None = None) -> Tensor:
    """Whether files begin as JPEG files do: bool.

    Args:
        contents: string tensor: bytes of files, or their first three.
        name: of the operation.
    """
    with scope(name, "is_jpeg") as at:
        return comparison.equal(substr(contents, 0, 3), b"\xff\xd8\xff", name=at)
