"""numpy's files: .npy, one array, and .npz, a zip archive of these. Pickled objects are refused."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from graphio.schema import dtypes, tensors
from graphio.support import errors
from graphio.train.interop.reading import (
    UNKNOWN,
    Array,
    check_dims,
    damaged,
    decode,
    find,
    frozen,
    stem,
)
from graphio.train.interop.source import Entry, Resource
from graphio.train.interop.zip_file import ZipFile

MAGIC = b"\x93NUMPY"
LARGEST_HEADER = 10_000  # numpy's own limit
#: the bytes of the header's length, by the format's version
LENGTHS = {(1, 0): 2, (2, 0): 4, (3, 0): 4}
#: numpy's kind and width to our names
DTYPES = {
    "b1": "bool",
    **{f"i{n}": f"int{8 * n}" for n in (1, 2, 4, 8)},
    **{f"u{n}": f"uint{8 * n}" for n in (1, 2, 4, 8)},
    **{f"f{n}": f"float{8 * n}" for n in (2, 4, 8)},
    "c8": "complex64",
    "c16": "complex128",
}

_S = r"\s{0,9}"
_ITEM = (
    rf"""['"](?:descr['"]{_S}:{_S}['"]([<>|=]?[a-zA-Z]\d{{0,9}})['"]"""
    rf"""|fortran_order['"]{_S}:{_S}(True|False)"""
    rf"""|shape['"]{_S}:{_S}\(([0-9,\s]{{0,1000}})\))"""
)
_NEXT = rf"{_S},{_S}"
_HEADER = re.compile(rf"\{{{_S}{_ITEM}{_NEXT}{_ITEM}{_NEXT}{_ITEM}{_S},?{_S}\}}\s*")


class _Row(NamedTuple):
    """An array's header, parsed; `start`: where its bytes start."""

    order: str
    kind: str
    width: int
    fortran: bool
    dims: tuple[int, ...]
    start: int

    @property
    def number(self) -> int:
        if self.kind in "SU":
            return dtypes.STRING
        name = DTYPES.get(f"{self.kind}{self.width}")
        return dtypes.BY_NAME[name].number if name else UNKNOWN

    @property
    def nbytes(self) -> int:
        return math.prod(self.dims) * self.width * (4 if self.kind == "U" else 1)


class NpySource:
    """The array of a .npy file; its name is the file's without the ending.

    Args:
        path: of the file.
        data: its bytes.

    Raises:
        DataLossError: it is damaged.
    """

    resources: Mapping[str, Resource] = {}
    skipped: Mapping[str, str] = {}

    def __init__(self, path: str, data: memoryview) -> None:
        self.what = f"numpy file {path!r}"
        self._data = data
        self._name = stem(path)
        self._row = _row(bytes(self._data[: LARGEST_HEADER + 12]), len(self._data), self.what)

    def entries(self) -> Mapping[str, Entry]:
        """Name to dtype and dimensions."""
        return {self._name: Entry(self._row.number, self._row.dims)}

    def array(self, name: str) -> Array:
        """The read-only array. Raises NotFoundError, DataLossError, UnimplementedError."""
        row = find({self._name: self._row}, name, self.what)
        return _array(row, self._data[row.start :], self.what, name)


class NpzSource:
    """The arrays of an .npz file, read when they are requested.

    Args:
        path: of the file, for messages.
        archive: what it is.

    Raises:
        DataLossError: it is damaged.
    """

    resources: Mapping[str, Resource] = {}

    def __init__(self, path: str, archive: ZipFile) -> None:
        self.what = archive.what = f"numpy archive {path!r}"
        self._zip = archive
        self.skipped: dict[str, str] = {}
        self._rows: dict[str, _Row] = {}
        for file, member in self._zip.members.items():
            if file.endswith(".npy"):
                start = self._zip.start(file, LARGEST_HEADER + 12)
                self._rows[file.removesuffix(".npy")] = _row(
                    start, member.size, f"{self.what}, {file!r}"
                )
            else:
                self.skipped[file] = "no array of numpy's"
        self._entries = {name: Entry(row.number, row.dims) for name, row in self._rows.items()}

    def entries(self) -> Mapping[str, Entry]:
        """Name to dtype and dimensions."""
        return self._entries

    def array(self, name: str) -> Array:
        """A read-only array, its bytes checked against the archive's CRC-32.

        Raises:
            NotFoundError: there is none of this name.
            DataLossError: its bytes are damaged.
            UnimplementedError: it has a dtype that we cannot hold, or holds pickled objects.
        """
        row = find(self._rows, name, self.what)
        return _array(row, self._zip.read(name + ".npy")[row.start :], self.what, name)


def _row(start: bytes, size: int, what: str) -> _Row:
    """Parses the header of an array's file of `size` bytes."""
    width = LENGTHS.get((start[6], start[7])) if len(start) > 8 else None
    if start[:6] != MAGIC or width is None:
        raise damaged(what, "it does not start as a .npy file of version 1, 2 or 3")
    end = 8 + width + int.from_bytes(start[8 : 8 + width], "little")
    if end > len(start):
        raise damaged(what, f"its header ends at {end}, there are {size} bytes")
    row = _parsed(start[8 + width : end], end, what)
    objects = row.kind == "O"  # pickled: their size is not known
    if not objects and row.nbytes != size - end:
        raise damaged(what, f"{size - end} bytes follow its header, expected {row.nbytes}")
    return row


def _parsed(header: bytes, end: int, what: str) -> _Row:
    match = _HEADER.fullmatch(header.decode("latin-1"))
    groups = match.groups() if match else ()
    descr, fortran, shape = (
        [group for group in groups[i::3] if group is not None] for i in range(3)
    )
    if not len(descr) == len(fortran) == len(shape) == 1:
        raise damaged(what, "its header does not say descr, fortran_order and shape of one array")
    order, kind, width = re.fullmatch(r"([<>|=]?)(.)(\d*)", descr[0]).groups()  # type: ignore[union-attr]
    sizes = [text.strip() for text in shape[0].split(",")]
    if sizes[-1] == "":
        sizes.pop()
    if not all(text.isdecimal() and len(text) < 20 for text in sizes):
        raise damaged(what, f"its shape is ({shape[0]})")
    dims = check_dims([int(text) for text in sizes], what, "its array")
    return _Row(order, kind, int(width or 0), fortran[0] == "True", dims, end)


def _array(row: _Row, data: memoryview, what: str, name: str) -> Array:
    if row.number == UNKNOWN:
        why = "pickled Python objects, which are never read" if row.kind == "O" else "another dtype"
        raise errors.UnimplementedError(
            message=f"{what}: {name!r} holds {row.kind}{row.width}: {why}"
        )
    dims = row.dims[::-1] if row.fortran else row.dims
    if row.number == dtypes.STRING:
        array = _strings(row, dims, data, what, name)
    else:
        array = decode(row.number, dims, data, what, name, big=row.order == ">")
    return array.T if row.fortran else array


def _strings(row: _Row, dims: tuple[int, ...], data: memoryview, what: str, name: str) -> Array:
    """Strings of one width as bytes objects."""
    if not row.width:
        if math.prod(dims) > LARGEST_HEADER:
            raise damaged(what, f"{name!r} has {math.prod(dims)} strings without a byte")
        return frozen(np.full(dims, b"", object))
    order = row.order or "<"
    fixed: Array = np.frombuffer(data, f"{order}{row.kind}{row.width}")
    try:
        # numpy itself would make strings of characters that do not exist.
        if (
            row.kind == "U"
            and len(data)
            and np.frombuffer(data, f"{order}u4").max() > sys.maxunicode
        ):
            raise ValueError("beyond Unicode")
        return frozen(tensors.strings(fixed.astype(object)).reshape(dims))
    except ValueError:
        raise damaged(what, f"{name!r} holds characters outside Unicode") from None
