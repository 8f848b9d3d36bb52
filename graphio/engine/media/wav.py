"""WAV files of 16 bits a sample, as TensorFlow reads and writes them."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np

from graphio.engine.media.pixels import LARGEST, Array
from graphio.support import errors

__all__ = ["decode", "encode"]

_HEADER = "<4sI4s4sIHHIIHH4sI"


def decode(data: bytes, desired_channels: int = -1, desired_samples: int = -1) -> tuple[Array, int]:
    """The samples of a file, float32 [samples, channels] in [-1, 1), and their number a second.

    Args:
        data: bytes of the file.
        desired_channels, desired_samples: others are left out, missing ones are 0 or, of channels,
            the last one; -1: as the file has.

    Raises:
        InvalidArgumentError: it is not such a file, or ends early.
    """
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise _bad("Header mismatch: expected RIFF and WAVE")
    form: tuple[int, ...] | None = None
    for kind, part, size in _chunks(data):
        if kind == b"fmt ":
            form = _form(part, size)
        elif kind == b"data":
            if form is None:
                raise _bad("the samples come before their format")
            found = _samples(part, size, form[1])
            return _fitted(found, desired_channels, desired_samples), form[2]
    raise _bad("No data chunk found in WAV file")


def _bad(message: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(message=f"Bad audio format for WAV: {message}")


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes, int]]:
    """Kind, bytes and announced size of each chunk."""
    at = 12
    while at + 8 <= len(data):
        kind, size = data[at : at + 4], struct.unpack("<I", data[at + 4 : at + 8])[0]
        yield kind, data[at + 8 : at + 8 + size], size
        at += 8 + size


def _form(part: bytes, size: int) -> tuple[int, ...]:
    """Layout, channels, samples a second, bytes a second, bytes a sample of all channels, bits."""
    if size not in (16, 18, 40) or len(part) < 16:
        raise _bad(f"the chunk of the format has {size} bytes, expected 16, 18 or 40")
    form = struct.unpack("<HHIIHH", part[:16])
    if form[0] not in (1, 0xFFFE) or form[5] != 16:
        raise _bad(
            f"Can only read 16-bit WAV files of integers, got {form[5]} bits in layout {form[0]}"
        )
    if not form[1] or form[4] != 2 * form[1] or form[3] != form[4] * form[2]:
        raise _bad(f"the format contradicts itself: {form[1]} channels, {form[4]} bytes a sample")
    return form


def _samples(part: bytes, size: int, channels: int) -> Array:
    if size > len(part):
        raise _bad(f"Data too short when trying to read {size} bytes of samples")
    count = size // (2 * channels)
    numbers = np.frombuffer(part[: 2 * count * channels], "<i2").reshape(count, channels)
    samples: Array = numbers.astype(np.float32) * np.float32(1 / 32768)
    return samples


def _fitted(samples: Array, channels: int, count: int) -> Array:
    """The samples in another number, and of other channels."""
    channels = samples.shape[1] if channels == -1 else channels
    count = len(samples) if count == -1 else count
    if 4 * channels * count > LARGEST:
        raise errors.InvalidArgumentError(
            message=f"{count} samples of {channels} channels are more than {LARGEST} bytes"
        )
    of_file = np.minimum(np.arange(channels), samples.shape[1] - 1)
    part = samples[:count, of_file]
    made = np.zeros((count, channels), np.float32)
    made[: len(part)] = part
    return made


def encode(audio: Array, rate: int) -> bytes:
    """A file of samples, float32 [samples, channels], which are limited to [-1, 1].

    Raises:
        InvalidArgumentError: there are no channels, or more than 65535; too many samples.
    """
    if audio.ndim != 2 or not 0 < audio.shape[1] < 1 << 16:
        raise errors.InvalidArgumentError(
            message=f"audio must be 2-dimensional with channels, got shape {list(audio.shape)}"
        )
    if rate <= 0 or rate * audio.shape[1] * 2 >= 1 << 32 or 2 * audio.size >= (1 << 32) - 36:
        raise errors.InvalidArgumentError(
            message=f"a WAV file cannot have {audio.size} samples with {rate} a second"
        )
    wide = 2 * audio.shape[1]
    numbers = np.nan_to_num(audio.astype(np.float32)) * np.float32(32768)
    rounded = np.trunc(numbers + np.copysign(np.float32(0.5), numbers))
    samples = rounded.clip(-32768, 32767).astype("<i2").tobytes()
    header = struct.pack(
        _HEADER, b"RIFF", 36 + len(samples), b"WAVE", b"fmt ", 16, 1, audio.shape[1], rate,
        rate * wide, wide, 16, b"data", len(samples),
    )  # fmt: skip
    return header + bytes(samples)
