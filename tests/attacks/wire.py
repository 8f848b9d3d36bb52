"""Files whose bytes lie: the header, the fields of the messages, the data section."""
# ruff: noqa: E501 - the tables have a row a line

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from engines import Builder, tensor_type

from attacks.named import Named, add
from graphio.schema import container
from graphio.schema.crc32c import crc32c
from graphio.schema.model_pb2 import Model

X = np.arange(4, dtype=np.float32)
FEEDS = {"x": X}


def sample() -> bytes:
    """y = x + c, c in the data section."""
    return builder().bytes()


def builder() -> Builder:
    """The same before it is bytes."""
    made = Builder()
    names = [made.placeholder("x", np.float32, (4,)), made.constant("c", X + 1)]
    made.node("y", "Add", names, [tensor_type(np.float32)], version=7)
    made.signature({"x": "x"}, {"y": "y"})
    return made


# ---- the header ----


def header(**changes: Any) -> Callable[[], bytes]:
    """The sample with other fields in its header, whose checksum is right."""

    def made() -> bytes:
        data = sample()
        names = ("magic", "major", "minor", "flags", "graph", "start", "size", "crc", "zero")
        fields = dict(zip(names, container._FIELDS.unpack(data[:60]), strict=True))
        for name, value in changes.items():
            fields[name] = value(fields[name]) if callable(value) else value
        first = container._FIELDS.pack(*fields.values())
        return first + struct.pack("<I", crc32c(first)) + data[64:]

    return made


def edited(change: Callable[[bytearray], object]) -> Callable[[], bytes]:
    """The sample with other bytes."""

    def made() -> bytes:
        data = bytearray(sample())
        change(data)
        return bytes(data)

    return made


def _flip(at: int) -> Callable[[bytearray], object]:
    return lambda data: data.__setitem__(at, data[at] ^ 1)


def _padding(data: bytearray) -> None:
    length, start = struct.unpack("<QQ", data[16:32])
    assert 64 + length < start
    data[start - 1] = 1


HEADERS: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "a file of no bytes": ("counts", lambda: b"", "is empty"),
    "a file of one byte": ("counts", lambda: b"\x89", "1 bytes"),
    "a header that is cut": ("counts", lambda: sample()[:63], "63 bytes"),
    "a header and nothing after it": ("counts", lambda: sample()[:64], "sections"),
    "another magic number": ("counts", edited(_flip(1)), "does not begin as one"),
    "line ends that were converted": (
        "counts", lambda: sample().replace(b"\r\n", b"\n", 1), "line ends were converted",
    ),
    "a header of another checksum": ("counts", edited(_flip(60)), "header's checksum"),
    "a flipped bit in the header": ("counts", edited(_flip(18)), "header's checksum"),
    "format version 2": ("missing parts", header(major=2), "version 2"),
    "format version 0": ("missing parts", header(major=0), "version 0"),
    "an unknown flag": ("missing parts", header(flags=1 << 31), "flags 0x80000000"),
    "a flag of packed weights that there are not": ("missing parts", header(flags=1), "PACKED|packed tiles"),
    "reserved bytes in use": ("counts", header(zero=b"\1" + bytes(15)), "reserved"),
    "a graph section of 2^64 - 1 bytes": ("size arithmetic", header(graph=2**64 - 1), "sections"),
    "a graph section of 2^63 bytes": ("size arithmetic", header(graph=2**63), "sections"),
    "a graph section of 2^32 bytes": ("size arithmetic", header(graph=2**32), "sections"),
    "a graph section of 64 bytes more": (
        "counts", header(graph=lambda n: n + 64, start=lambda n: n + 64), "sections",
    ),
    "a data section at byte 0": ("size arithmetic", header(start=0), "sections"),
    "a data section off its alignment": (
        "size arithmetic", header(start=lambda n: n + 1, size=lambda n: n - 1), "sections",
    ),
    "a data section that begins beyond the file": (
        "size arithmetic", header(start=2**63), "sections",
    ),
    "a data section whose end wraps": (
        "size arithmetic", header(size=lambda n: n + 2**64 - 64 if n > 64 else 2**64 - 1), "sections",
    ),
    "a data section of a byte more": ("counts", header(size=lambda n: n + 1), "sections"),
    "a data section of a byte less": ("counts", header(size=lambda n: n - 1), "sections"),
    "a graph section of another checksum": ("counts", edited(_flip(70)), "graph section's"),
    "padding that is not zero": ("counts", edited(_padding), "padding"),
    "a byte after the end": ("counts", lambda: sample() + b"\0", "sections"),
    "two files in one": ("counts", lambda: sample() * 2, "sections"),
    "a file without its last byte": ("counts", lambda: sample()[:-1], "sections"),
    "a tensor of another checksum": ("counts", edited(_flip(-1)), "checksum"),
}  # fmt: skip
for _name, (_section, _file, _words) in HEADERS.items():
    add(Named(_section, _name, _file, FEEDS, _words))


# ---- messages ----


def varint(value: int) -> bytes:
    """A varint of the shortest form."""
    made = b""
    while value > 127:
        made += bytes([value & 127 | 128])
        value >>= 7
    return made + bytes([value])


def tag(number: int, wire: int) -> bytes:
    """The tag that a field begins with."""
    return varint(number << 3 | wire)


def message(number: int, payload: bytes) -> bytes:
    """A field of bytes."""
    return tag(number, 2) + varint(len(payload)) + payload


def framed(graph: bytes, data: bytes) -> bytes:
    """A file around a graph section and a data section."""
    start = (64 + len(graph) + 63) // 64 * 64
    fields = container._FIELDS.pack(
        container.MAGIC, 1, 0, 0, len(graph), start, len(data), crc32c(graph), bytes(16)
    )
    padding = bytes(start - 64 - len(graph))
    return fields + struct.pack("<I", crc32c(fields)) + graph + padding + data


def section(change: Callable[[bytes], bytes]) -> Callable[[], bytes]:
    """The sample with other bytes in its graph section; the checksums are right."""

    def made() -> bytes:
        data = sample()
        length, start = struct.unpack("<QQ", data[16:32])
        return framed(change(data[64 : 64 + length]), data[start:])

    return made


def _with(extra: bytes) -> Callable[[], bytes]:
    """Bytes at the end of the message."""
    return section(lambda graph: graph + extra)


def _in_node(extra: bytes) -> Callable[[], bytes]:
    """A node more, whose message is these bytes."""

    def change(section: bytes) -> bytes:
        model = Model.FromString(section)
        graph = model.graph.SerializeToString() + message(2, extra)
        model.ClearField("graph")
        return message(2, graph) + model.SerializeToString(deterministic=True)

    return section(change)


def _deep(levels: int) -> bytes:
    """Messages in messages: field 2 of each is the next."""
    made = b""
    for _ in range(levels):
        made = message(2, made)
    return made


UNREADABLE = "cannot be read|not a Model message"
MESSAGES: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "a varint of eleven bytes": ("counts", _with(tag(14, 0) + b"\xff" * 10 + b"\1"), UNREADABLE),
    "a varint without an end": ("counts", _with(tag(14, 0) + b"\xff"), UNREADABLE),
    "a key without a value": ("counts", _with(tag(14, 0)), UNREADABLE),
    "field number 0": ("counts", _with(tag(0, 0) + b"\0"), UNREADABLE),
    "a group that begins": ("counts", _with(tag(99, 3)), UNREADABLE),
    "a group that ends": ("counts", _with(tag(99, 4)), UNREADABLE),
    "wire type 6": ("counts", _with(tag(99, 6) + b"\0"), UNREADABLE),
    "wire type 7": ("counts", _with(tag(99, 7) + b"\0"), UNREADABLE),
    "a length of one byte more than there is": (
        "counts", _with(tag(13, 2) + varint(2) + b"x"), UNREADABLE,
    ),
    "a length of 2^32": ("counts", _with(tag(13, 2) + varint(2**32) + b"x"), UNREADABLE),
    "a length of 2^63": ("counts", _with(tag(13, 2) + varint(2**63) + b"x"), UNREADABLE),
    "a length of 2^64 - 1": ("counts", _with(tag(13, 2) + varint(2**64 - 1) + b"x"), UNREADABLE),
    "a fixed number of three bytes": ("counts", _with(tag(99, 5) + bytes(3)), UNREADABLE),
    "a fixed number of seven bytes": ("counts", _with(tag(99, 1) + bytes(7)), UNREADABLE),
    "a node of which half is missing": (
        "counts", _with(tag(2, 2) + varint(200) + message(2, b"")), UNREADABLE,
    ),
    "messages nested in each other 100000 deep": (
        "recursion", _in_node(_deep(100000)), "cannot be read|not a Model message|no name|damaged",
    ),
    "a name that is not UTF-8": (
        "missing parts", _in_node(message(1, b"\xff\xfe") + message(2, b"NoOp") + message(6, b"graphio") + tag(7, 0) + b"\1"),
        "damaged",
    ),
    "a name that is a number": (
        "element types", _in_node(tag(1, 0) + varint(5) + message(2, b"NoOp")), "name|cannot be read",
    ),
    "a node without any field": ("missing parts", _in_node(b""), "name|cannot be read"),
    "unknown fields of every wire type": (
        "counts",
        _with(tag(99, 0) + b"\1" + tag(98, 1) + bytes(8) + message(97, b"x") + tag(96, 5) + bytes(4)),
        "",
    ),
    "a producer that comes twice": (
        "counts", _with(message(13, b"one") + message(13, b"two")), "",
    ),
    "a varint that is longer than it needs to be": ("counts", _with(tag(14, 0) + b"\x85\x80\0"), ""),
    "a signature of no fields": ("missing parts", _with(message(6, b"")), "sorted"),
}  # fmt: skip
for _name, (_section, _file, _words) in MESSAGES.items():
    add(Named(_section, _name, _file, FEEDS, _words))

#: parts that protobuf merges before the Python reader sees them
PARTS = {
    "a graph that comes in two parts": _with(message(2, message(1, b"name"))),
    "a value of an attribute that comes in two parts": _in_node(
        message(1, b"n") + message(2, b"NoOp") + message(6, b"graphio") + tag(7, 0) + b"\1"
        + message(5, message(1, b"k") + message(2, message(9, b"")) * 2)
    ),
}  # fmt: skip
for _name, _file in PARTS.items():
    add(Named("aliasing", _name, _file, FEEDS, "two graphs|cannot be read", ("cinfer",)))
