"""Operations on the contents of pictures and sounds: from arrays to lists of arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphio.engine.media import decoding, distortion, jpeg, png, wav
from graphio.engine.media.pixels import Array
from graphio.support import errors

__all__ = ["FUNCTIONS"]


def _bytes(contents: Array) -> bytes:
    """The content of a file, a scalar string."""
    if np.ndim(contents):
        raise errors.InvalidArgumentError(
            message=f"contents must be scalar, got shape {list(np.shape(contents))}"
        )
    return bytes(np.asarray(contents, object).item())


def _string(data: bytes) -> list[Array]:
    return [np.array(data, object)]


def _decoder(op: str) -> Callable[..., list[Array]]:
    def decode(contents: Array, dtype: str = "uint8", **options: Any) -> list[Array]:
        data = _bytes(contents)
        if dtype != "float32":
            return [decoding.decode(data, op, dtype=dtype, **options)]
        deep = data.startswith(png.SIGNATURE)
        pixels = decoding.decode(data, op, dtype="uint16" if deep else "uint8", **options)
        return [pixels.astype(np.float32) * np.float32(1 / (65535 if deep else 255))]

    return decode


def _decode_and_crop(contents: Array, window: Array, **options: Any) -> list[Array]:
    data = _bytes(contents)
    if not data.startswith(jpeg.SIGNATURE):
        raise errors.InvalidArgumentError(
            message=f"Invalid JPEG data or crop window, data size {len(data)}"
        )
    pixels = decoding.decode(data, "DecodeJpeg", **options)
    return [jpeg.crop(pixels, [int(v) for v in window])]


def _shape(contents: Array, dtype: str) -> list[Array]:
    return [np.array(jpeg.shape(_bytes(contents)), dtype)]


def _encode_jpeg(image: Array, format: str = "", **options: Any) -> list[Array]:
    _require_channels(image, {"grayscale": (1,), "rgb": (3,)}.get(format, (1, 3)))
    return _string(jpeg.encode(image, **options))


def _encode_by_quality(image: Array, quality: Array) -> list[Array]:
    number = int(np.asarray(quality).item())
    if not 0 <= number <= 100:
        raise errors.InvalidArgumentError(message=f"quality must be in [0,100], got {number}")
    return _encode_jpeg(image, quality=number)


def _encode_png(image: Array, compression: int = -1) -> list[Array]:
    _require_channels(image, (1, 2, 3, 4))
    return _string(png.encode(image, compression))


def _require_channels(image: Array, channels: tuple[int, ...]) -> None:
    expected = " or ".join(map(str, channels))
    if image.ndim != 3:
        raise errors.InvalidArgumentError(
            message=f"image must be 3-dimensional, got shape {list(image.shape)}"
        )
    if image.shape[2] not in channels or not image.size:
        raise errors.InvalidArgumentError(
            message=f"image must have pixels of {expected} channels, got shape {list(image.shape)}"
        )


def _decode_wav(contents: Array, **options: Any) -> list[Array]:
    samples, rate = wav.decode(_bytes(contents), **options)
    return [samples, np.array(rate, np.int32)]


def _encode_wav(audio: Array, sample_rate: Array) -> list[Array]:
    return _string(wav.encode(audio, int(np.asarray(sample_rate).item())))


#: by TensorFlow's type of the operation: from its inputs as arrays, and options
FUNCTIONS: Mapping[str, Callable[..., list[Array]]] = {
    **{
        f"Decode{kind}": _decoder(f"Decode{kind}")
        for kind in ("Bmp", "Gif", "Image", "Jpeg", "Png")
    },
    "DecodeAndCropJpeg": _decode_and_crop,
    "DecodeWav": _decode_wav,
    "EncodeJpeg": _encode_jpeg,
    "EncodeJpegVariableQuality": _encode_by_quality,
    "EncodePng": _encode_png,
    "EncodeWav": _encode_wav,
    "ExtractJpegShape": _shape,
    "SampleDistortedBoundingBoxV2": distortion.sample,
}
