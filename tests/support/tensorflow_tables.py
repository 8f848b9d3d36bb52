"""Tables of TensorFlow's checkpoints, made byte by byte."""

from __future__ import annotations

import struct

from graphio.schema.crc32c import crc32c
from graphio.train.interop import table

Rows = list[tuple[bytes, bytes]]  # keys and values of a table


def number(value: int) -> bytes:
    """A varint."""
    data = b""
    while value > 127:
        data += bytes([value & 127 | 128])
        value >>= 7
    return data + bytes([value])


def masked(data: bytes) -> bytes:
    """A checksum as TensorFlow stores it."""
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def block(rows: Rows, packing: int = 0) -> bytes:
    """A block with its trailer; keys are not shared."""
    content = b"".join(b"\0" + number(len(k)) + number(len(v)) + k + v for k, v in rows)
    return sealed(content + struct.pack("<2I", 0, 1), packing)


def sealed(content: bytes, packing: int) -> bytes:
    """Bytes with the trailer of a block."""
    content += bytes([packing])
    return content + masked(content)


def table_of(
    rows: Rows, data: bytes | None = None, *, bound: bytes = b"\xff", begin: int = 0, gap: int = 0
) -> bytes:
    """An index file of one block, which the list of blocks puts at `begin`."""
    first = block(rows) if data is None else data
    filters, index = block([]), block([(bound, number(begin) + number(len(first) - 5))])
    positions = (len(first), len(filters) - 5, len(first) + len(filters), len(index) - 5)
    footer = b"".join(map(number, positions)).ljust(40, b"\0")
    return first + filters + index + bytes(gap) + footer + table.MAGIC


def field(tag: int, value: int | bytes) -> bytes:
    """A protobuf field; a checksum's is fixed."""
    if isinstance(value, bytes):
        return number(tag << 3 | 2) + number(len(value)) + value
    return number(tag << 3) + number(value & ((1 << 64) - 1))


def entry(
    kind: int, dims: tuple[int, ...], offset: int, data: bytes, *, size: int | None = None,
    shard: int = 0, slices: tuple[bytes, ...] = ()
) -> bytes:  # fmt: skip
    """A BundleEntry."""
    shape = b"".join(field(2, field(1, dim)) for dim in dims)
    made = field(1, kind) + field(2, shape) + field(3, shard) + field(4, offset)
    made += field(5, len(data) if size is None else size) + b"\x35" + masked(data)
    return made + b"".join(field(7, extents) for extents in slices)
