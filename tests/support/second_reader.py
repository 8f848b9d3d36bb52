"""A second reader of our files, written from schema/README.md alone: no graphio, no protobuf.

python tests/support/second_reader.py FILE.gio | CHECKPOINT_PREFIX
"""

from __future__ import annotations

import os
import re
import struct
import sys

import numpy as np

DTYPES = {
    1: "<f4", 2: "u1", 3: "i1", 4: "<u2", 5: "<i2", 6: "<i4", 7: "<i8", 9: "?", 10: "<f2",
    11: "<f8", 12: "<u4", 13: "<u8", 14: "<c8", 15: "<c16",
}  # fmt: skip
STRING = 8

TABLE = []
for _byte in range(256):
    for _ in range(8):
        _byte = _byte >> 1 ^ (0x82F63B78 if _byte & 1 else 0)
    TABLE.append(_byte)


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def expect(ok: bool, what: str) -> None:
    if not ok:
        raise ValueError(what)


# ---- messages ----


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value & (1 << 64) - 1, at


def fields(data: bytes) -> dict[int, list]:
    """Field number to its values: ints of varints and fixed numbers, bytes of the others."""
    found: dict[int, list] = {}
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        wire = key & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 2:
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            size = {1: 8, 5: 4}[wire]
            value, at = int.from_bytes(data[at : at + size], "little"), at + size
        expect(at <= len(data), "a field is cut off")
        found.setdefault(key >> 3, []).append(value)
    return found


def one(message: dict[int, list], number: int, default):
    value = message.get(number, [default])[-1]
    return value.decode() if isinstance(default, str) and isinstance(value, bytes) else value


def numbers(message: dict[int, list], number: int, fixed32: bool = False) -> list[int]:
    """A repeated number, packed or not."""
    found = []
    for value in message.get(number, []):
        if isinstance(value, int):
            found.append(value)
        elif fixed32:
            found += struct.unpack(f"<{len(value) // 4}I", value)
        else:
            at = 0
            while at < len(value):
                item, at = varint(value, at)
                found.append(item)
    return found


def array(dtype: int, dims: list[int], data: bytes):
    if dtype != STRING:
        return np.frombuffer(data, DTYPES[dtype]).reshape(dims)
    count = int(np.prod(dims, dtype=np.int64))
    found, at = [], 8 * count
    for length in struct.unpack_from(f"<{count}Q", data):
        found.append(data[at : at + length])
        at += length
    expect(at == len(data), "a string tensor has another length")
    made = np.empty(count, object)
    made[:] = found
    return made.reshape(dims)


# ---- model ----


def read_model(path: str) -> dict:
    """nodes: (name, operator, inputs) in order; variables: name to array or None; signatures."""
    data = open(path, "rb").read()
    expect(data[:8] == b"\x89GIO\r\n\x1a\n", "another magic number")
    major, minor, flags, length, start, size, crc = struct.unpack_from("<HHIQQQI", data, 8)
    expect(crc32c(data[:60]) == struct.unpack_from("<I", data, 60)[0], "the header's checksum")
    expect(major == 1 and flags < 2 and not any(data[44:60]), "another version")
    expect(start == -(-(64 + length) // 64) * 64 and start + size == len(data), "lengths")
    expect(not any(data[64 + length : start]), "padding")
    graph_section = data[64 : 64 + length]
    expect(crc32c(graph_section) == crc, "the graph section's checksum")
    model = fields(graph_section)
    tensors = read_tensors(model, data[start:], flags == 1)
    graph = fields(one(model, 2, b""))
    nodes = [fields(node) for node in graph.get(2, [])]
    variables = [fields(variable) for variable in model.get(4, [])]
    return {
        "nodes": [
            (one(n, 1, ""), one(n, 2, ""), [i.decode() for i in n.get(3, [])]) for n in nodes
        ],
        "variables": {one(v, 1, ""): tensors[one(v, 9, 0)] if 9 in v else None for v in variables},
        "tensors": tensors,
        "signatures": {one(fields(s), 1, ""): read_signature(fields(s)) for s in model.get(6, [])},
    }


def read_tensors(model: dict[int, list], data: bytes, flag: bool) -> list:
    found, end, in_packed_tiles = [], 0, False
    for row in map(fields, model.get(7, [])):
        offset, nbytes = one(row, 4, 0), one(row, 5, 0)
        expect(offset == -(-end // 64) * 64 and not any(data[end:offset]), "a tensor's offset")
        end = offset + nbytes
        expect(one(row, 7, 0) == 1 and end <= len(data), "a tensor's end")
        expect(crc32c(data[offset:end]) == one(row, 6, 0), "a tensor's checksum")
        dtype, dims, width, axis = one(row, 1, 0), numbers(row, 2), one(row, 8, 0), one(row, 9, 0)
        made = array(dtype, dims, data[offset:end])
        if width or axis:
            expect(dtype == 1 and len(dims) > 1 and 0 < width <= 4096, "a tensor's packing")
            expect(axis in (0, len(dims) - 1), "a tensor's packed axis")
            made, in_packed_tiles = row_major(made.ravel(), dims, width, axis), True
        found.append(made)
    expect(end == len(data), "the data section's length")
    expect(flag == in_packed_tiles, "the flag of packed weights")
    return found


def row_major(elements, dims: list[int], width: int, axis: int):
    """The tensor of packed elements."""
    rows, columns = dims[axis], int(np.prod(dims[1:] if axis == 0 else dims[:-1], dtype=np.int64))
    matrix, at = np.empty((rows, columns), elements.dtype), 0
    for first in range(0, rows, width):
        for column in range(columns):
            side_by_side = min(width, rows - first)
            matrix[first : first + width, column] = elements[at : at + side_by_side]
            at += side_by_side
    return (matrix if axis == 0 else matrix.T).reshape(dims)


def read_signature(signature: dict[int, list]) -> tuple[dict[str, str], dict[str, str]]:
    """Keys to values, of the inputs and of the outputs."""

    def bindings(number: int) -> dict[str, str]:
        return {one(fields(b), 1, ""): one(fields(b), 2, "") for b in signature.get(number, [])}

    return bindings(2), bindings(3)


# ---- checkpoint ----


def read_checkpoint(prefix: str) -> dict:
    """variables: name to array; generators: name to (key, counter); step: int or None."""
    data = open(prefix + ".index", "rb").read()
    magic, major, _, flags, length, crc, header = struct.unpack_from("<8sHHIQII", data)
    expect(magic == b"\x89GIX\r\n\x1a\n" and crc32c(data[:28]) == header, "the index's header")
    expect(major == 1 and flags == 0 and len(data) == 32 + length, "the index's length")
    expect(crc32c(data[32:]) == crc, "the index's checksum")
    index = fields(data[32:])
    rows = [fields(v) for v in index.get(3, [])]
    found = {}
    for i, shard in enumerate(map(fields, index.get(2, []))):
        inside = sorted((one(r, 5, 0), one(r, 6, 0), r[1][0], r) for r in rows if one(r, 4, 0) == i)
        bytes_of = open_beside(prefix, one(shard, 1, ""))
        expect(len(bytes_of) == one(shard, 2, 0), "a shard's length")
        end = inside[0][0] if inside else len(bytes_of)
        expect(crc32c(bytes_of[:end]) == numbers(index, 13, fixed32=True)[i], "a shard's header")
        for offset, nbytes, name, row in inside:
            part = bytes_of[offset : offset + nbytes]
            expect(offset == end and crc32c(part) == one(row, 7, 0), "a variable's checksum")
            found[name.decode()] = array(one(row, 2, 0), numbers(row, 3), part)
            end = offset + nbytes
        expect(end == len(bytes_of), "a shard's length")
    resources = [fields(r) for r in index.get(4, [])]
    generators = {one(r, 1, ""): fields(r[2][0]) for r in resources if 2 in r}
    return {
        "variables": found,
        "generators": {n: (one(g, 1, 0), one(g, 2, 0)) for n, g in generators.items()},
        "step": one(index, 8, 0) if one(index, 9, 0) else None,
    }


def open_beside(prefix: str, name: str) -> bytes:
    expect(
        re.fullmatch(r'[^\x00-\x1f\x7f/\\".][^\x00-\x1f\x7f/\\"]*', name) is not None,
        "a shard's name",
    )
    return open(os.path.join(os.path.dirname(prefix), name), "rb").read()


if __name__ == "__main__":
    print((read_model if os.path.exists(sys.argv[1]) else read_checkpoint)(sys.argv[1]))
