"""Pieces of messages as bytes, for messages that are made by the hundred thousand.

Setting a message's fields from Python takes several times as long as parsing its bytes, and most
of what such messages say is the same in all of them. The order of fields in a piece is of no
consequence: who parses it and writes it again has them in the order of their numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["merge", "number_tag", "sized", "tag", "varint"]

_SIZES = [bytes((size,)) for size in range(128)]
_AT_ONCE = 4096  # pieces that are put together before they are parsed


def tag(message: Any, name: str) -> bytes:
    """The bytes before a string, bytes or a message in a field of a message type."""
    return varint(message.DESCRIPTOR.fields_by_name[name].number << 3 | 2)


def number_tag(message: Any, name: str) -> bytes:
    """The bytes before an integer in a field of a message type."""
    return varint(message.DESCRIPTOR.fields_by_name[name].number << 3)


def varint(value: int) -> bytes:
    """A number of at least 0, seven bits a byte, the lowest first."""
    if value < 128:
        return _SIZES[value]
    found = bytearray()
    while value >= 128:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)


def sized(tag: bytes, content: bytes) -> bytes:
    """A field with its content."""
    size = len(content)
    return tag + (_SIZES[size] if size < 128 else varint(size)) + content


def merge(message: Any, pieces: Iterable[bytes]) -> None:
    """Adds fields to a message, in their order."""
    waiting: list[bytes] = []
    for piece in pieces:
        waiting.append(piece)
        if len(waiting) == _AT_ONCE:
            message.MergeFromString(b"".join(waiting))
            waiting.clear()
    message.MergeFromString(b"".join(waiting))
