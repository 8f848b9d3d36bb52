"""Numbers as the messages that TensorBoard reads: the host's part of the summary operations.

Each function takes the arrays of an operation, its tag first, and gives the bytes of a Summary.
"""

from __future__ import annotations

import io
import struct
import wave
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.schema.histograms import histogram_of
from graphio.schema.summary_pb2 import Summary, SummaryMetadata, TensorProto
from graphio.support import errors

__all__ = ["FUNCTIONS", "tensor_of"]

Array = np.ndarray[Any, Any]

#: of a number in a WAV file, in bytes
_SAMPLE_SIZE = 2


def _text(array: Any) -> str:
    value = np.asarray(array, object).reshape(-1)[0]
    return value.decode() if isinstance(value, bytes) else str(value)


def _invalid(message: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(message=message)


def _scalar(tag: Array, value: Array) -> Summary:
    if np.shape(value) != ():
        raise _invalid(
            f"tags and values are not the same shape: [] != {list(np.shape(value))} (tag "
            f"'{_text(tag)}'); a scalar summary takes one number, such as tf.reduce_mean's"
        )
    return _one(tag, simple_value=float(value))


def _histogram(tag: Array, values: Array) -> Summary:
    numbers = np.asarray(values, np.float64).reshape(-1)
    for bad, word in ((np.isnan(numbers), "Nan"), (np.isinf(numbers), "Infinity")):
        if bad.any():
            raise _invalid(f"{word} in summary histogram for: {_text(tag)}")
    return _one(tag, histo=histogram_of(numbers))


def _image(tag: Array, images: Array, most: Array) -> Summary:
    if np.ndim(images) != 4 or images.shape[3] not in (1, 3, 4):
        raise _invalid(
            f"Tensor must be 4-D with last dim 1, 3, or 4, not {list(np.shape(images))} (image "
            f"summary '{_text(tag)}')"
        )
    made = Summary()
    count = min(int(most), len(images))
    for i in range(count):
        pixels = images[i] if images.dtype == np.uint8 else _scaled(images[i])
        value = made.value.add(tag=f"{_text(tag)}/image" + ("" if int(most) == 1 else f"/{i}"))
        value.image.height, value.image.width, value.image.colorspace = pixels.shape
        value.image.encoded_image_string = _png(pixels)
    return made


def _scaled(image: Array) -> Array:
    """Floats as bytes: the largest is 255; 0 is 128 if some are negative; NaN is red."""
    values = np.asarray(image, np.float32)
    finite = np.isfinite(values).all(-1)
    good = values[finite]
    low, high = (float(good.min()), float(good.max())) if good.size else (0.0, 0.0)
    if low < 0:
        largest = max(abs(low), abs(high))
        scale, offset = (0.0 if largest < 1e-6 else 127.0 / largest), 128.0
    else:
        scale, offset = (0.0 if high < 1e-6 else 255.0 / high), 0.0
    pixels = np.zeros(values.shape, np.uint8)
    pixels[finite] = (good * scale + offset).astype(np.uint8)
    pixels[~finite] = np.array([255, 0, 0, 255], np.uint8)[: values.shape[-1]]
    return pixels


def _png(pixels: Array) -> bytes:
    """The PNG file of (height, width, 1 grey, 3 colours or 4 with opacity) bytes (RFC 2083)."""
    height, width, channels = pixels.shape
    kind = {1: 0, 3: 2, 4: 6}[channels]
    rows = np.zeros((height, 1 + width * channels), np.uint8)  # each begins with filter 0: none
    rows[:, 1:] = pixels.reshape(height, -1)
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows.tobytes())),
        (b"IEND", b""),
    ]
    chunks = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _audio(tag: Array, sounds: Array, rate: Array, most: Array) -> Summary:
    if np.ndim(sounds) not in (2, 3):
        raise _invalid(f"Tensor must be 3-D or 2-D, got: {list(np.shape(sounds))}")
    if np.ndim(rate) or not 0 < rate < np.inf:
        raise _invalid(f"sample_rate must be a finite scalar above 0, got {rate}")
    length, channels = (*np.shape(sounds)[1:], 1)[:2]
    second = float(rate) * channels * _SAMPLE_SIZE
    if len(sounds) and not (length and 0 < channels < 1 << 16 and second < 1 << 32):
        raise _invalid(
            f"a WAV file cannot hold {length} frames of {channels} channels at sample_rate {rate}"
        )
    made = Summary()
    for i in range(min(int(most), len(sounds))):
        frames = np.asarray(sounds[i], np.float64).reshape(length, channels)
        file = io.BytesIO()
        with wave.open(file, "wb") as out:
            out.setnchannels(frames.shape[1])
            out.setsampwidth(_SAMPLE_SIZE)
            out.setframerate(max(1, round(float(rate))))
            out.writeframes((frames.clip(-1, 1) * 32767).round().astype("<i2").tobytes())
        value = made.value.add(tag=f"{_text(tag)}/audio" + ("" if int(most) == 1 else f"/{i}"))
        value.audio.sample_rate = float(rate)
        value.audio.length_frames, value.audio.num_channels = frames.shape
        value.audio.encoded_audio_string = file.getvalue()
        value.audio.content_type = "audio/wav"
    return made


def _tensor(tag: Array, values: Array, metadata: Array) -> Summary:
    made = _one(tag, tensor=tensor_of(values))
    content = np.asarray(metadata, object).reshape(-1)[0]
    made.value[0].metadata.CopyFrom(SummaryMetadata.FromString(content))
    return made


def tensor_of(values: Array) -> TensorProto:
    """An array as a TensorProto."""
    array = np.asarray(values)
    strings = array.dtype.kind in "OSU"
    made = TensorProto(dtype=7 if strings else dtypes.as_dtype(array.dtype).as_datatype_enum)
    made.tensor_shape.SetInParent()
    for size in array.shape:
        made.tensor_shape.dim.add(size=size)
    if strings:
        elements = array.reshape(-1).tolist()
        made.string_val.extend(t.encode() if isinstance(t, str) else t for t in elements)
    else:
        made.tensor_content = np.ascontiguousarray(array).tobytes()
    return made


def _merge(*parts: Array) -> Summary:
    made, tags = Summary(), set()
    for part in parts:
        for content in np.asarray(part, object).reshape(-1):
            for value in Summary.FromString(content).value:
                if value.tag in tags:
                    raise _invalid(f"Duplicate tag {value.tag} found in summary inputs")
                tags.add(value.tag)
                made.value.add().CopyFrom(value)
    return made


def _one(tag: Array, **value: Any) -> Summary:
    return Summary(value=[Summary.Value(tag=_text(tag), **value)])


def _serialized(function: Callable[..., Summary]) -> Callable[[Sequence[Array]], list[Array]]:
    def call(arrays: Sequence[Array]) -> list[Array]:
        found = np.empty((), object)
        found[()] = function(*arrays).SerializeToString()
        return [found]

    return call


#: the function that a HostCall of each of TensorFlow's types calls
_KINDS: dict[str, Callable[..., Summary]] = {
    "ScalarSummary": _scalar,
    "HistogramSummary": _histogram,
    "ImageSummary": _image,
    "AudioSummaryV2": _audio,
    "TensorSummaryV2": _tensor,
    "MergeSummary": _merge,
}
FUNCTIONS = {kind: _serialized(function) for kind, function in _KINDS.items()}
