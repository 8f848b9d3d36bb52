"""Protobuf messages without their classes: fields by number, as encoded."""

from __future__ import annotations

from collections.abc import Iterator

from graphio.train.interop.reading import damaged

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class Message:
    """One message: its fields, unknown ones included.

    Args:
        data: its bytes.
        what: how messages call the file.

    Raises:
        DataLossError: it is not a message.
    """

    def __init__(self, data: bytes, what: str) -> None:
        self.what = what
        self._fields: dict[int, list[int | bytes]] = {}
        at = 0
        while at < len(data):
            key, at = varint(data, at, what)
            value, at = self._value(data, at, key & 7)
            if not key >> 3:
                raise damaged(what, "a message has a field 0")
            self._fields.setdefault(key >> 3, []).append(value)

    def _value(self, data: bytes, at: int, kind: int) -> tuple[int | bytes, int]:
        if kind == VARINT:
            return varint(data, at, self.what)
        if kind == BYTES:
            length, at = varint(data, at, self.what)
        elif kind in (FIXED32, FIXED64):
            length = 4 if kind == FIXED32 else 8
        else:
            raise damaged(self.what, f"a message has a field of wire type {kind}")
        if length > len(data) - at:
            raise damaged(self.what, "a message is cut off")
        part = data[at : at + length]
        return part if kind == BYTES else int.from_bytes(part, "little"), at + length

    def number(self, field: int) -> int:
        """A number, signed as int64 is; 0 where it is missing. The last one counts."""
        value = self._fields.get(field, [0])[-1]
        if not isinstance(value, int):
            raise damaged(self.what, f"field {field} of a message is not a number")
        return value - (1 << 64) if value >= 1 << 63 else value

    def has(self, field: int) -> bool:
        """Whether a field is there."""
        return field in self._fields

    def parts(self, field: int) -> list[bytes]:
        """All bytes of a repeated field."""
        found = self._fields.get(field, [])
        if not all(isinstance(value, bytes) for value in found):
            raise damaged(self.what, f"field {field} of a message has no length")
        return [value for value in found if isinstance(value, bytes)]

    def messages(self, field: int) -> Iterator[Message]:
        """All messages of a repeated field."""
        return (Message(part, self.what) for part in self.parts(field))

    def text(self, field: int) -> str:
        """A string; "" where it is missing."""
        try:
            return self.parts(field)[-1].decode() if self.has(field) else ""
        except UnicodeDecodeError:
            raise damaged(self.what, f"field {field} of a message is not a string") from None


def varint(data: bytes, at: int, what: str) -> tuple[int, int]:
    """A number of at most 64 bits, in its shortest form, and where it ends."""
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            if value >= 1 << 64 or (shift and not byte):
                break
            return value, at
        shift += 7
    raise damaged(what, "a number is cut off, too large or too long")
