"""Snappy's block format, unpacked."""

from __future__ import annotations

from graphio.train.interop.reading import damaged
from graphio.train.interop.wire import varint

#: A copy of three bytes makes at most 64: no honest block becomes more of a byte.
MOST = 64


def unpack(data: bytes, what: str) -> bytes:
    """The bytes that were packed.

    Raises:
        DataLossError: it is no such block.
    """
    size, at = varint(data, 0, what)
    if size > len(data) * MOST:
        raise damaged(what, f"{len(data)} packed bytes cannot become {size}")
    out = bytearray()
    while at < len(data):
        tag = data[at]
        at += 1
        if tag & 3 == 0:
            length, at = _literal(data, at, tag >> 2)
            out += data[at : at + length]
            at += length
        else:
            length, offset, at = _copy(data, at, tag, what)
            _repeat(out, length, offset, what)
        if len(out) > size:
            break
    if len(out) != size:
        raise damaged(what, "a packed block does not unpack to its size")
    return bytes(out)


def _literal(data: bytes, at: int, length: int) -> tuple[int, int]:
    """Length of a literal and where it starts; one that is cut off leaves the size unmet."""
    if length >= 60:
        extra = length - 59
        length = int.from_bytes(data[at : at + extra], "little")
        at += extra
    return length + 1, at


def _copy(data: bytes, at: int, tag: int, what: str) -> tuple[int, int, int]:
    """Length and offset of a copy, and where the next element starts."""
    extra = (1, 2, 4)[(tag & 3) - 1]
    if extra > len(data) - at:
        raise damaged(what, "a packed block is cut off")
    number = int.from_bytes(data[at : at + extra], "little")
    if extra == 1:
        return (tag >> 2 & 7) + 4, (tag >> 5) << 8 | number, at + 1
    return (tag >> 2) + 1, number, at + extra


def _repeat(out: bytearray, length: int, offset: int, what: str) -> None:
    if not 0 < offset <= len(out):
        raise damaged(what, "a packed block copies from before its start")
    piece = bytes(out[-offset:][:length])
    out += (piece * (length // len(piece) + 1))[:length]
