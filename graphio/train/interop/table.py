"""A sorted string table as LevelDB lays it out: blocks of keys and values, each with its CRC."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator

from graphio.schema.crc32c import crc32c
from graphio.train.interop import snappy
from graphio.train.interop.reading import damaged, refused
from graphio.train.interop.wire import varint

MAGIC = (0xDB4775248B80FB57).to_bytes(8, "little")
FOOTER = 48  # two handles, filled with zeros, and the magic
TRAILER = 5  # a block's compression and its masked CRC
PLAIN, SNAPPY = 0, 1
MAX_EXPANSION = 64  # the most bytes that a byte may unpack to, keys and blocks together


def unmask(crc: int) -> int:
    """The CRC that was stored rotated and shifted by a constant."""
    unmasked = (crc - 0xA282EAD8) & 0xFFFFFFFF
    return (unmasked >> 17 | unmasked << 15) & 0xFFFFFFFF


def read_table(data: bytes, what: str) -> dict[bytes, bytes]:
    """All keys with their values, in order.

    Raises:
        DataLossError: it is not a table, a checksum does not match, or keys are not ascending.
        InvalidArgumentError: its blocks are packed in a way that we do not read.
    """
    return _Table(data, what).rows()


class _Table:
    def __init__(self, data: bytes, what: str) -> None:
        self._data, self.what = data, what
        self._bytes_left = MAX_EXPANSION * len(data)

    def rows(self) -> dict[bytes, bytes]:
        """All keys with their values: blocks, a block about filters, the list of blocks, footer."""
        table: dict[bytes, bytes] = {}
        filters, index = self._footer()
        end, last = 0, b""
        for bound, value in self._rows(self._block(*index)):
            offset, size, after = self._handle(value, 0)
            if after != len(value) or offset != end:
                raise damaged(self.what, "its blocks do not follow one another")
            end = offset + size + TRAILER
            for key, content in self._rows(self._block(offset, size)):
                if table and key <= last:
                    raise damaged(self.what, "its keys are not ascending")
                table[key], last = content, key
            if last > bound:
                raise damaged(self.what, "a key is larger than its block's")
        for offset, size in (filters, index):
            if offset != end:
                raise damaged(self.what, "its last blocks do not follow one another")
            end = offset + size + TRAILER
        if end != len(self._data) - FOOTER or any(self._rows(self._block(*filters))):
            raise damaged(self.what, "its last blocks do not end where its last bytes start")
        return table

    def _footer(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The positions of the meta-index block and of the index block."""
        if len(self._data) < FOOTER or self._data[-8:] != MAGIC:
            raise damaged(self.what, "it does not end as a table of TensorFlow's does")
        footer = self._data[-FOOTER:-8]
        offset, size, at = self._handle(footer, 0)
        index, length, at = self._handle(footer, at)
        if footer[at:].strip(b"\0"):
            raise damaged(self.what, "the filling of its last bytes is not zero")
        return (offset, size), (index, length)

    def _handle(self, data: bytes, at: int) -> tuple[int, int, int]:
        offset, at = varint(data, at, self.what)
        size, at = varint(data, at, self.what)
        return offset, size, at

    def _block(self, offset: int, size: int) -> bytes:
        if offset + size + TRAILER > len(self._data) - FOOTER:
            raise damaged(self.what, f"a block of {size} bytes at {offset} reaches beyond its end")
        kind, stored = struct.unpack_from("<BI", self._data, offset + size)
        if crc32c(self._data[offset : offset + size + 1]) != unmask(stored):
            raise damaged(self.what, f"the checksum of the block at {offset} does not match")
        if kind not in (PLAIN, SNAPPY):
            raise refused(self.what, f"the block at {offset} is packed by method {kind}")
        content = self._data[offset : offset + size]
        if kind == PLAIN:
            return content
        unpacked = snappy.unpack(content, self.what)
        self._take(len(unpacked))
        return unpacked

    def _rows(self, block: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values of a block: a key says how much of the one before it starts with."""
        end = len(block) - 4 * (int.from_bytes(block[-4:], "little") + 1)
        if len(block) < 4 or end < 0:
            raise damaged(self.what, "a block is too short for its restart points")
        at, key = 0, b""
        while at < end:
            shared, at = varint(block, at, self.what)
            fresh, at = varint(block, at, self.what)
            size, at = varint(block, at, self.what)
            if shared > len(key) or fresh + size > end - at:
                raise damaged(self.what, "an entry of a block is cut off")
            self._take(shared + fresh)
            key = key[:shared] + block[at : at + fresh]
            at += fresh + size
            yield key, block[at - size : at]

    def _take(self, count: int) -> None:
        self._bytes_left -= count
        if self._bytes_left < 0:
            raise refused(self.what, f"it unpacks to more than {MAX_EXPANSION} times its size")


def slice_key(name: str, extents: list[tuple[int, int]]) -> bytes:
    """The key of a slice of a partitioned variable; a length of -1: the complete dimension."""
    text = name.encode().replace(b"\xff", b"\xff\x00").replace(b"\0", b"\0\xff")
    numbers = b"".join(map(_signed, itertools.chain(*extents)))
    return b"\0" + text + b"\0\1" + _unsigned(len(extents)) + numbers


def _unsigned(value: int) -> bytes:
    data = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return bytes([len(data)]) + data


def _signed(value: int) -> bytes:
    """Order-preserving: the first bits count the bytes."""
    magnitude = ~value if value < 0 else value
    length = next(n for n in range(1, 11) if magnitude < 1 << (7 * n - 1))
    data = (value & ((1 << 8 * length) - 1)).to_bytes(length, "big")
    marks = ((1 << length) - 1) << (8 * length - length)
    return (int.from_bytes(data, "big") ^ marks).to_bytes(length, "big")
