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


def unmask(crc: int) -> int:
    """The CRC that was stored rotated and shifted by a constant."""
    turned = (crc - 0xA282EAD8) & 0xFFFFFFFF
    return (turned >> 17 | turned << 15) & 0xFFFFFFFF


def read_table(data: bytes, what: str) -> dict[bytes, bytes]:
    """All keys with their values, in order.

    Raises:
        DataLossError: it is no table, a checksum does not match, or keys are not ascending.
        InvalidArgumentError: its blocks are packed in a way that we do not read.
    """
    if len(data) < FOOTER or data[-8:] != MAGIC:
        raise damaged(what, "it does not end as a table of TensorFlow's does")
    footer = data[-FOOTER:-8]
    _, at = _handle(footer, 0, what)  # of blocks about blocks, which there are none of
    index, at = _handle(footer, at, what)
    if footer[at:].strip(b"\0"):
        raise damaged(what, "the filling of its last bytes is not zero")
    table: dict[bytes, bytes] = {}
    end, last = 0, b""
    for bound, value in _rows(_block(data, index, what), what):
        (offset, size), after = _handle(value, 0, what)
        if after != len(value) or offset != end:
            raise damaged(what, "its blocks do not follow one another")
        end = offset + size + TRAILER
        for key, content in _rows(_block(data, (offset, size), what), what):
            if table and key <= last:
                raise damaged(what, "its keys are not ascending")
            table[key], last = content, key
        if last > bound:
            raise damaged(what, "a key is larger than its block's")
    return table


def _handle(data: bytes, at: int, what: str) -> tuple[tuple[int, int], int]:
    offset, at = varint(data, at, what)
    size, at = varint(data, at, what)
    return (offset, size), at


def _block(data: bytes, handle: tuple[int, int], what: str) -> bytes:
    offset, size = handle
    if offset + size + TRAILER > len(data) - FOOTER:
        raise damaged(what, f"a block of {size} bytes at {offset} reaches beyond its end")
    kind, stored = struct.unpack_from("<BI", data, offset + size)
    if crc32c(data[offset : offset + size + 1]) != unmask(stored):
        raise damaged(what, f"the checksum of the block at {offset} does not match")
    if kind not in (PLAIN, SNAPPY):
        raise refused(what, f"the block at {offset} is packed by method {kind}")
    content = data[offset : offset + size]
    return snappy.unpack(content, what) if kind == SNAPPY else content


def _rows(block: bytes, what: str) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of a block: a key says how much of the one before it starts with."""
    restarts = int.from_bytes(block[-4:], "little")
    end = len(block) - 4 * (restarts + 1)
    if len(block) < 4 or end < 0:
        raise damaged(what, "a block has no room for its restart points")
    at, key = 0, b""
    while at < end:
        shared, at = varint(block, at, what)
        fresh, at = varint(block, at, what)
        size, at = varint(block, at, what)
        if shared > len(key) or fresh + size > end - at:
            raise damaged(what, "an entry of a block is cut off")
        key = key[:shared] + block[at : at + fresh]
        at += fresh + size
        yield key, block[at - size : at]


def slice_key(name: str, extents: list[tuple[int, int]]) -> bytes:
    """The key of a slice of a partitioned variable; a length of -1: the whole dimension."""
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
