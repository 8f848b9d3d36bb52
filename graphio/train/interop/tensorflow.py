"""A TensorFlow V2 checkpoint, `P.index` and `P.data-0000i-of-0000n`, read without TensorFlow."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from graphio.schema import dtypes
from graphio.schema.crc32c import crc32c
from graphio.support import errors
from graphio.train.interop.reading import (
    UNKNOWN,
    Array,
    check_dims,
    damaged,
    decode,
    find,
    frozen,
    map_bytes,
    nbytes,
    refused,
)
from graphio.train.interop.source import Entry, Resource
from graphio.train.interop.table import read_table, slice_key, unmask
from graphio.train.interop.wire import Message, varint

VERSION = 1  # of the format, as readers count
OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"  # the suffix of a variable's path in object-based checkpoints

#: TensorFlow's numbers of element types to our names
DTYPES = {
    1: "float32",
    2: "float64",
    3: "int32",
    4: "uint8",
    5: "int16",
    6: "int8",
    7: "string",
    8: "complex64",
    9: "int64",
    10: "bool",
    14: "bfloat16",
    17: "uint16",
    18: "complex128",
    19: "float16",
    22: "uint32",
    23: "uint64",
    24: "float8e5m2",
    25: "float8e4m3fn",
    26: "float8e4m3fnuz",
    28: "float8e5m2fnuz",
}


class _Row(NamedTuple):
    """A BundleEntry; `slices` are the keys of a partitioned variable's parts, with their
    indices."""

    kind: int
    dims: tuple[int, ...]
    shard: int
    offset: int
    size: int
    crc: int
    slices: tuple[tuple[bytes, tuple[slice, ...]], ...]

    @property
    def number(self) -> int:
        return dtypes.BY_NAME[DTYPES[self.kind]].number if self.kind in DTYPES else UNKNOWN


class TensorFlowSource:
    """The variables of a TensorFlow V2 checkpoint, each checked by its CRC32C when it is read.

    Partitioned variables are put together. The keys of an object-based checkpoint (TensorFlow 2)
    lose their `/.ATTRIBUTES/VARIABLE_VALUE`.

    Args:
        prefix: of its files' names.

    Attributes:
        full_names: of an object-based checkpoint: a variable's key to its name in the program.

    Raises:
        NotFoundError: there is no index, or a data file is missing.
        DataLossError: it is damaged.
        InvalidArgumentError: it needs a newer reader.
    """

    resources: Mapping[str, Resource] = {}

    def __init__(self, prefix: str) -> None:
        self.what = f"TensorFlow checkpoint {prefix!r}"
        table = read_table(bytes(map_bytes(prefix + ".index")), self.what)
        self._big, shards = self._header(table.pop(b"", b""))
        self._parts: dict[bytes, _Row] = {}
        rows: dict[str, _Row] = {}
        for key, value in table.items():
            row = self._row(key, Message(value, self.what), shards)
            if key[:1] == b"\0":
                self._parts[key] = row
            else:
                rows[self._text(key)] = row
        self._shards = self._map(prefix, shards, [*rows.values(), *self._parts.values()])
        self.skipped: dict[str, str] = {}
        self.full_names: dict[str, str] = {}
        self.object_graph: bytes | None = None
        self._rows = self._named(rows)
        for name, row in self._rows.items():
            self._check_slices(name, row)
        self._entries = {name: Entry(row.number, row.dims) for name, row in self._rows.items()}

    def entries(self) -> Mapping[str, Entry]:
        """Name to dtype and dimensions."""
        return self._entries

    def array(self, name: str) -> Array:
        """A read-only array.

        Raises:
            NotFoundError: there is none of this name.
            DataLossError: its bytes are damaged.
            UnimplementedError: it has a dtype that we cannot hold.
        """
        row = find(self._rows, name, self.what)
        if not row.slices:
            return self._read(name, row)
        parts = [(self._read(name, self._parts[key]), where) for key, where in row.slices]
        whole = np.empty(row.dims, parts[0][0].dtype)
        filled = np.zeros(row.dims, np.bool_)
        for part, where in parts:
            whole[where] = part
            filled[where] = True
        if not filled.all():
            raise damaged(self.what, f"the slices of {name!r} overlap")
        return frozen(whole)

    # ---- the index ----

    def _header(self, data: bytes) -> tuple[bool, int]:
        """Whether numbers are big-endian, and how many data files there are."""
        if not data:
            raise damaged(self.what, "its header is missing")
        header = Message(data, self.what)
        shards, order = header.number(1), header.number(2)
        if shards < 1 or order not in (0, 1):
            raise damaged(self.what, f"its header says {shards} data files, byte order {order}")
        for version in header.messages(3):
            if version.number(2) > VERSION:
                raise refused(self.what, f"it needs a reader of version {version.number(2)}")
        return order == 1, shards

    def _text(self, key: bytes) -> str:
        try:
            return key.decode()
        except UnicodeDecodeError:
            raise damaged(self.what, f"the name {key!r} is not UTF-8") from None

    def _row(self, key: bytes, entry: Message, shards: int) -> _Row:
        name = key.decode(errors="replace")
        shape = next(entry.messages(2), Message(b"", self.what))
        if shape.number(3):
            raise damaged(self.what, f"{name!r} has a shape of unknown rank")
        dims = check_dims([dim.number(1) for dim in shape.messages(2)], self.what, name)
        slices = tuple(self._slice(key, extents, dims) for extents in entry.messages(7))
        numbers = [entry.number(field) for field in (1, 3, 4, 5, 6)]
        kind, shard, offset, size, crc = numbers
        row = _Row(kind, dims, shard, offset, size, crc, slices)
        if min(offset, size) < 0 or not 0 <= shard < shards:
            raise damaged(self.what, f"{name!r} has {size} bytes at {offset} of data file {shard}")
        if slices and size:
            raise damaged(self.what, f"{name!r} has both slices and separate bytes")
        fixed = row.number not in (UNKNOWN, dtypes.STRING) and not slices
        if fixed and size != nbytes(row.number, dims):
            raise damaged(self.what, f"{name!r} {DTYPES[kind]}{list(dims)} has {size} bytes")
        return row

    def _slice(
        self, key: bytes, message: Message, dims: tuple[int, ...]
    ) -> tuple[bytes, tuple[slice, ...]]:
        """The key of a part, and its index in the variable."""
        extents = [
            (extent.number(1), extent.number(2) if extent.has(2) else -1)
            for extent in message.messages(1)
        ]
        name = self._text(key)
        if len(extents) != len(dims):
            raise damaged(self.what, f"a slice of {name!r} has {len(extents)} dimensions")
        where = []
        for (start, length), dim in zip(extents, dims, strict=True):
            start, length = (start, length) if length >= 0 else (0, dim)
            if start < 0 or start + length > dim:
                raise damaged(self.what, f"a slice of {name!r} reaches beyond {list(dims)}")
            where.append(slice(start, start + length))
        return slice_key(name, extents), tuple(where)

    def _check_slices(self, name: str, row: _Row) -> None:
        """The parts of a partitioned variable are there and have as many elements as the
        variable."""
        if not row.slices:
            return
        if len({key for key, _ in row.slices}) < len(row.slices):
            raise damaged(self.what, f"a slice of {name!r} is there twice")
        total = 0
        for key, where in row.slices:
            part = self._parts.get(key)
            lengths = tuple(s.stop - s.start for s in where)
            if part is None or part.slices or (part.kind, part.dims) != (row.kind, lengths):
                raise damaged(self.what, f"a slice of {name!r} is missing or has another type")
            total += math.prod(lengths)
        if total != math.prod(row.dims):
            raise damaged(self.what, f"the slices of {name!r} do not cover it")

    def _map(self, prefix: str, count: int, rows: list[_Row]) -> dict[int, memoryview]:
        """The data files with at least one value; every byte belongs to one value at most."""
        views: dict[int, memoryview] = {}
        ends: dict[int, int] = {}
        for row in sorted(rows, key=lambda row: (row.shard, row.offset, row.size)):
            if row.slices:
                continue
            if row.shard not in views:
                views[row.shard] = map_bytes(f"{prefix}.data-{row.shard:05}-of-{count:05}")
            if row.offset < ends.get(row.shard, 0):
                raise damaged(self.what, f"two values overlap at {row.offset}")
            ends[row.shard] = row.offset + row.size
        for shard, view in views.items():
            if ends[shard] != len(view):
                text = f"data file {shard} has {len(view)} bytes, its values end at {ends[shard]}"
                raise damaged(self.what, text)
        return views

    def _named(self, rows: dict[str, _Row]) -> dict[str, _Row]:
        """The rows under the names that users see."""
        if OBJECT_GRAPH not in rows:
            return rows
        row = rows.pop(OBJECT_GRAPH)
        if row.number != dtypes.STRING or row.dims:
            raise damaged(self.what, "its object graph is not a string")
        graph = self._read(OBJECT_GRAPH, row)
        self.object_graph = bytes(graph[()])
        self.skipped[OBJECT_GRAPH] = "how the objects of the program hang together"
        short = {key: key.removesuffix(VALUE) for key in rows}
        if len(set(short.values())) < len(short):
            short = {key: key for key in rows}
        for node in Message(self.object_graph, self.what).messages(1):
            for attribute in node.messages(2):
                key, full = attribute.text(3), attribute.text(2)
                if key in short and full:
                    self.full_names[short[key]] = full
        return {short[key]: row for key, row in rows.items()}

    # ---- values ----

    def _read(self, name: str, row: _Row) -> Array:
        if row.number == UNKNOWN:
            raise errors.UnimplementedError(
                message=f"{self.what}: {name!r} has TensorFlow's element type {row.kind}, which "
                "graphio has not"
            )
        data = self._shards[row.shard][row.offset : row.offset + row.size]
        if row.number == dtypes.STRING:
            return self._strings(name, row, bytes(data))
        if crc32c(data) != unmask(row.crc):
            raise damaged(self.what, f"the checksum of {name!r} does not match")
        return decode(row.number, row.dims, data, self.what, name, big=self._big)

    def _strings(self, name: str, row: _Row, data: bytes) -> Array:
        """Lengths, a checksum of these, then the strings; one checksum is of all."""
        count = math.prod(row.dims)
        lengths, at = [], 0
        for _ in range(count):
            length, at = varint(data, at, self.what)
            lengths.append(length)
        order = ">" if self._big else "<"
        widths = [f"{order}u{4 if length < 1 << 32 else 8}" for length in lengths]
        sizes = b"".join(np.array(n, w).tobytes() for n, w in zip(lengths, widths, strict=True))
        start = at + 4
        if start + sum(lengths) != len(data):
            raise damaged(self.what, f"the lengths of {name!r} do not add up to its bytes")
        crc = crc32c(sizes)
        stored = int.from_bytes(data[at:start], "big" if self._big else "little")
        if crc != unmask(stored) or crc32c(data[at:], crc) != unmask(row.crc):
            raise damaged(self.what, f"the checksum of {name!r} does not match")
        strings = np.empty(count, object)
        for i, length in enumerate(lengths):
            strings[i] = data[start : start + length]
            start += length
        return frozen(strings.reshape(row.dims))
