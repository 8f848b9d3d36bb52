"""A zip archive read strictly: stored and deflated entries, every one with its CRC-32.

Our own reader and not zipfile: it maps stored entries without a copy, compares both records in
    which
the format describes an entry, and takes no more memory than an entry says and its bytes can give.
"""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

from graphio.schema import packed as packed_parts
from graphio.train.interop.reading import damaged, find, refused

LOCAL = struct.Struct("<4s5H3I2H")
CENTRAL = struct.Struct("<4s6H3I5H2I")
END = struct.Struct("<4s4H2IH")
END64 = struct.Struct("<4sQ2H2I4Q")
LOCATOR = struct.Struct("<4sIQI")
STORED, DEFLATED = 0, 8
ENCRYPTED, DESCRIPTOR = 1 << 0, 1 << 3
UNKNOWN_FLAGS = ~(DESCRIPTOR | 0b110 | 1 << 11)  # bits 1 and 2: effort; 11: names are UTF-8
MOST = 1032  # how many bytes one byte of deflate can become
FULL, FULL16 = 0xFFFFFFFF, 0xFFFF  # the value is in the zip64 field


#: disk, disk of the directory, entries here, entries, directory's size and offset
_Six = tuple[int, int, int, int, int, int]


class Member(NamedTuple):
    """An entry of the central directory."""

    name: str
    method: int
    flags: int
    crc: int
    packed: int
    size: int
    offset: int


class ZipFile:
    """The entries of an archive.

    Args:
        data: its bytes.
        what: how messages call it.
        unpacked: bytes that its packed entries may become together; None: as graphio.schema.packed
            says.

    Raises:
        ResourceExhaustedError: they become more.
        DataLossError: it is not an archive, or a broken one.
        InvalidArgumentError: it is encrypted, or packed in a way that we do not read.
    """

    def __init__(self, data: memoryview, what: str, unpacked: int | None = None) -> None:
        self.what = what
        self._view = data
        count, size, offset = self._end()
        self._limit = offset  # the central directory starts where the last entry ends
        self.members = self._directory(count, offset, offset + size)
        self._extents = {m.name: self._extent(m) for m in self.members.values()}
        self._check_overlaps()
        total = sum(m.size for m in self.members.values() if m.method == DEFLATED)
        advice = f"open it with tf.train.load_values(path, unpacked={total})"
        packed_parts.check(what, len(data), total, unpacked, advice)
        self._checked: set[str] = set()  # stored entries whose checksum was computed
        self._last: tuple[str, memoryview] | None = None  # the packed entry that was read last

    def _end(self) -> tuple[int, int, int]:
        """Number of entries, size and offset of the central directory."""
        tail = bytes(self._view[-(END.size + FULL16) :])
        at = tail.rfind(b"PK\x05\x06")
        if at < 0 or len(tail) - at < END.size:
            raise damaged(self.what, "the end of its zip archive is missing")
        _, disk, first, here, count, size, offset, comment = END.unpack_from(tail, at)
        if at + END.size + comment != len(tail):
            raise damaged(self.what, "bytes follow the end of its zip archive")
        end = len(self._view) - (len(tail) - at)
        found: _Six = (disk, first, here, count, size, offset)
        if end >= LOCATOR.size and bytes(self._view[end - LOCATOR.size :][:4]) == b"PK\x06\x07":
            end, found = self._end64(end - LOCATOR.size, found)
        disk, first, here, count, size, offset = found
        if disk or first or here != count:
            raise refused(self.what, "a zip archive of several parts is not supported")
        if offset + size != end:
            raise damaged(
                self.what, "its zip directory does not end where the archive's end starts"
            )
        return count, size, offset

    def _end64(self, at: int, small: _Six) -> tuple[int, _Six]:
        _, disk, offset, disks = LOCATOR.unpack_from(self._view, at)
        if disk or disks != 1 or offset + END64.size != at:
            raise damaged(self.what, "its zip64 end record is not where it should be")
        mark, length, _, _, disk, first, here, count, size, start = END64.unpack_from(
            self._view, offset
        )
        if mark != b"PK\x06\x06" or length != END64.size - 12:
            raise damaged(self.what, "its zip64 end record is broken")
        large = (disk, first, here, count, size, start)
        limits = (FULL16, FULL16, FULL16, FULL16, FULL, FULL)
        if any(s not in (v, full) for s, v, full in zip(small, large, limits, strict=True)):
            raise damaged(self.what, "its two zip end records differ")
        return offset, large

    def _directory(self, count: int, at: int, end: int) -> dict[str, Member]:
        members: dict[str, Member] = {}
        for _ in range(count):
            member, at = self._central(at, end)
            if member.name in members:
                raise damaged(self.what, f"the entry {member.name!r} is there twice")
            members[member.name] = member
        if at != end:
            raise damaged(self.what, "its zip directory has bytes too many")
        return members

    def _central(self, at: int, end: int) -> tuple[Member, int]:
        if end - at < CENTRAL.size:
            raise damaged(self.what, "its zip directory is cut off")
        row = CENTRAL.unpack_from(self._view, at)
        mark, _, _, flags, method, _, _, crc, packed, size = row[:10]
        name_length, extra_length, comment, disk, _, _, offset = row[10:]
        start = at + CENTRAL.size
        after = start + name_length + extra_length + comment
        if mark != b"PK\x01\x02" or after > end:
            raise damaged(self.what, "an entry of its zip directory is broken")
        name = self._name(start, name_length)
        extra = bytes(self._view[start + name_length :][:extra_length])
        size, packed, offset = self._large(name, extra, [size, packed, offset])
        if flags & ENCRYPTED:
            raise refused(self.what, f"the entry {name!r} is encrypted")
        if flags & UNKNOWN_FLAGS or method not in (STORED, DEFLATED) or disk not in (0, FULL16):
            raise refused(
                self.what, f"the entry {name!r} is packed by method {method}, flags {flags:#x}"
            )
        if size > packed * MOST or (method == STORED and size != packed):
            raise damaged(self.what, f"{packed} bytes of the entry {name!r} cannot become {size}")
        return Member(name, method, flags, crc, packed, size, offset), after

    def _name(self, at: int, length: int) -> str:
        try:
            return bytes(self._view[at : at + length]).decode()
        except UnicodeDecodeError:
            raise damaged(self.what, "the name of a zip entry is not UTF-8") from None

    def _large(self, name: str, extra: bytes, fields: list[int]) -> list[int]:
        """The fields of 32 bits with those that are full from the zip64 extra field."""
        found, at = b"", 0
        while len(extra) - at >= 4:
            kind, length = struct.unpack_from("<2H", extra, at)
            found = extra[at + 4 : at + 4 + length] if kind == 1 else found
            at += 4 + length
        for i, value in enumerate(fields):
            if value == FULL and len(found) >= 8:
                fields[i], found = int.from_bytes(found[:8], "little"), found[8:]
        if any(value > len(self._view) * MOST for value in fields):
            raise damaged(self.what, f"the entry {name!r} is larger than the file can be")
        return fields

    def _extent(self, member: Member) -> tuple[int, int]:
        """The offsets of an entry and of its bytes; both descriptions must agree."""
        at = member.offset
        if self._limit - at < LOCAL.size:
            raise damaged(self.what, f"the entry {member.name!r} starts beyond the entries")
        mark, _, flags, method, _, _, crc, packed, size, name_length, extra_length = (
            LOCAL.unpack_from(self._view, at)
        )
        start = at + LOCAL.size + name_length + extra_length
        if mark != b"PK\x03\x04" or start + member.packed > self._limit:
            raise damaged(self.what, f"the entry {member.name!r} is not where the directory says")
        name = self._name(at + LOCAL.size, name_length)
        extra = bytes(self._view[at + LOCAL.size + name_length : start])
        size, packed = self._large(name, extra, [size, packed])
        if (name, flags, method) != (member.name, member.flags, member.method):
            raise damaged(self.what, f"the entry {member.name!r} is described in two ways")
        expected = (member.crc, member.packed, member.size)
        if (crc, packed, size) != expected and not (
            flags & DESCRIPTOR and (crc, packed, size) == (0, 0, 0)
        ):
            raise damaged(
                self.what, f"the sizes of the entry {member.name!r} are given in two ways"
            )
        return at, start

    def _check_overlaps(self) -> None:
        """No byte belongs to two entries: else small files could hold endless data."""
        end = 0
        for name, (at, start) in sorted(self._extents.items(), key=lambda item: item[1]):
            if at < end:
                raise damaged(self.what, f"the entry {name!r} overlaps another")
            end = start + self.members[name].packed

    def stored(self, name: str) -> bool:
        """Whether an entry's bytes are stored uncompressed."""
        return find(self.members, name, self.what).method == STORED

    def start(self, name: str, limit: int) -> bytes:
        """The first bytes of an entry, not checked."""
        return self._unpacked(find(self.members, name, self.what), limit)

    def read(self, name: str) -> memoryview:
        """An entry's bytes: a view of the file where they are stored.

        Raises:
            NotFoundError: there is no such entry.
            DataLossError: they do not have their checksum.
        """
        member = find(self.members, name, self.what)
        if self._last is not None and self._last[0] == name:
            return self._last[1]  # consecutive tensors may share a storage
        if member.method == STORED:
            data = self._packed(member)
        else:
            data = memoryview(self._unpacked(member, member.size))
        if name not in self._checked and zlib.crc32(data) != member.crc:
            raise damaged(self.what, f"the checksum of the entry {name!r} does not match")
        if member.method == STORED:
            self._checked.add(name)
        else:
            self._last = name, data
        return data

    def _packed(self, member: Member) -> memoryview:
        _, start = self._extents[member.name]
        return self._view[start : start + member.packed]

    def _unpacked(self, member: Member, limit: int) -> bytes:
        if member.method == STORED:
            return bytes(self._packed(member)[:limit])
        machine = zlib.decompressobj(-15)
        try:
            # One byte beyond the size shows whether the stream is longer.
            data = machine.decompress(self._packed(member), limit + 1)
        except zlib.error as error:
            raise damaged(
                self.what, f"the entry {member.name!r} is not a deflate stream: {error}"
            ) from None
        if limit >= member.size and (len(data) != member.size or not machine.eof):
            raise damaged(self.what, f"the entry {member.name!r} does not unpack to its size")
        return data[:limit]
