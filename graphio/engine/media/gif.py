"""GIF files: all frames as TensorFlow draws them, each over the frame before it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from graphio.engine.media import pillow
from graphio.engine.media.pixels import Array, check_size
from graphio.support import errors

__all__ = ["SIGNATURE", "decode"]

SIGNATURE = b"GIF8"
_EXTENSION, _FRAME, _CONTROL = 0x21, 0x2C, 0xF9


@dataclass(frozen=True)
class _Frame:
    """A frame as the file has it.

    Attributes:
        left, top, width, height: its position.
        palette: colours, uint8 [n, 3].
        transparent: the number of the colour that shows what is below, or -1.
        data: a file of this frame alone, at the corner.
    """

    left: int
    top: int
    width: int
    height: int
    palette: Array
    transparent: int
    data: bytes


def decode(data: bytes, first: bool = False) -> Array:
    """The frames of a file, uint8 [frames, height, width, 3].

    Args:
        data: bytes of the file.
        first: whether the first frame is enough.

    Raises:
        InvalidArgumentError: it is not a GIF file, the first frame is damaged, or it is too large.
    """
    if len(data) < 13 or not data.startswith(SIGNATURE):
        raise errors.InvalidArgumentError(message="Invalid GIF data: there is no header")
    frames = list(_frames(data))
    if not frames:
        raise errors.InvalidArgumentError(
            message=f"Invalid GIF data (size {len(data)}): there is no complete frame"
        )
    width = max(frame.width for frame in frames)
    height = max(frame.height for frame in frames)
    drawn = frames[:1] if first else frames
    check_size(width, height * len(drawn), 3, "GIF")
    canvas = np.zeros((height, width, 3), np.uint8)
    found = []
    for k, frame in enumerate(drawn):
        try:
            canvas = _drawn(canvas, frame)
        except errors.InvalidArgumentError:
            if k == 0:
                raise
            break
        found.append(canvas)
    return np.stack(found)


def _drawn(canvas: Array, frame: _Frame) -> Array:
    """The canvas with a frame over it."""
    with pillow.opened(frame.data, ("GIF",), "Invalid GIF data") as picture:
        picture.load()
        numbers = np.array(picture, np.uint8)
    palette = np.zeros((256, 3), np.uint8)
    palette[: len(frame.palette)] = frame.palette
    if int(numbers.max(initial=0)) >= len(frame.palette):
        raise errors.InvalidArgumentError(
            message=f"found color index {numbers.max()} outside of color map range "
            f"{len(frame.palette)}"
        )
    made = np.array(canvas)
    inside = made[frame.top : frame.top + frame.height, frame.left : frame.left + frame.width]
    numbers = numbers[: inside.shape[0], : inside.shape[1]]
    inside[:] = np.where((numbers == frame.transparent)[..., None], inside, palette[numbers])
    return made


def _frames(data: bytes) -> Iterator[_Frame]:
    """The frames of a file up to where it ends or is damaged."""
    flags = data[10]
    shared, at = _palette(data, flags, 13)
    transparent = -1
    while at < len(data):
        kind = data[at]
        if kind == _EXTENSION:
            if data[at + 1 : at + 3] == bytes((_CONTROL, 4)) and at + 7 < len(data):
                transparent = data[at + 6] if data[at + 3] & 1 else -1
            at = _after(data, at + 2)
        elif kind == _FRAME and at + 10 <= len(data):
            left, top, width, height, own = struct.unpack("<HHHHB", data[at + 1 : at + 10])
            palette, start = _palette(data, own, at + 10)
            end = _after(data, start + 1)
            if end > len(data):
                return
            if not own & 0x80:
                palette = shared
            check_size(width, height, 1, "GIF")
            single = _single(data[start:end], width, height, own & 0x40)
            yield _Frame(left, top, width, height, palette, transparent, single)
            transparent, at = -1, end
        else:
            return


def _palette(data: bytes, flags: int, at: int) -> tuple[Array, int]:
    """The colours that flags announce, and the position after them."""
    if not flags & 0x80:
        return np.zeros((0, 3), np.uint8), at
    end = at + 3 * (2 << (flags & 7))
    part = data[at:end]
    return np.frombuffer(part[: len(part) // 3 * 3], np.uint8).reshape(-1, 3), end


def _after(data: bytes, at: int) -> int:
    """The position after a sequence of blocks, each behind its size; beyond the data where it
    ends."""
    while at < len(data) and data[at]:
        at += data[at] + 1
    return at + 1


def _single(blocks: bytes, width: int, height: int, interlaced: int) -> bytes:
    """A file whose pixels are the numbers of colours of one frame: its palette is that of grey."""
    size = struct.pack("<HH", width, height)
    greys = bytes(v for number in range(256) for v in (number,) * 3)
    head = b"GIF89a" + size + b"\xf7\0\0" + greys
    return head + b"\x2c\0\0\0\0" + size + bytes((interlaced,)) + blocks + b";"
