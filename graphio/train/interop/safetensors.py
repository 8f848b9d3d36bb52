"""A plain safetensors file: eight bytes of length, JSON, then the tensors without gaps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from graphio.schema import dtypes, shards
from graphio.support import errors
from graphio.train.interop.reading import (
    UNKNOWN,
    Array,
    check_dims,
    damaged,
    decode,
    find,
    nbytes,
    parse_json,
)
from graphio.train.interop.source import Entry, Resource

LARGEST_HEADER = 100_000_000  # the format's own limit

#: the format's names to ours, in addition to those that checkpoints use
NAMES = {
    **{theirs: ours for ours, theirs in shards.STORED_AS.items()},
    "C64": "complex64",
    "F8_E4M3": "float8e4m3fn",
    "F8_E5M2": "float8e5m2",
    "F8_E8M0": "float8e8m0",
    "F8_E4M3FNUZ": "float8e4m3fnuz",
    "F8_E5M2FNUZ": "float8e5m2fnuz",
}


class _Row(NamedTuple):
    kind: str
    dims: tuple[int, ...]
    begin: int
    end: int


class SafetensorsSource:
    """The tensors of a safetensors file, mapped: an array is a view of it.

    The format has no checksums: a bit that flips in a tensor's bytes is not noticed.

    Args:
        path: of the file, for messages.
        data: its bytes; `{` is at byte 8, which is how the format is known.

    Raises:
        DataLossError: it breaks a rule of the format.
    """

    resources: Mapping[str, Resource] = {}
    skipped: Mapping[str, str] = {}

    def __init__(self, path: str, data: memoryview) -> None:
        self.what = f"safetensors file {path!r}"
        header = _header(data, self.what)
        self._data = data[8 + len(header) :]
        rows = parse_json(bytes(header), self.what)
        self.metadata: dict[str, str] = _metadata(rows.pop("__metadata__", None), self.what)
        self._rows = {name: _row(name, row, self.what) for name, row in rows.items()}
        _check_tiling(self._rows, len(self._data), self.what)
        self._entries = {name: _entry(row) for name, row in self._rows.items()}

    def entries(self) -> Mapping[str, Entry]:
        """Name to dtype and dimensions."""
        return self._entries

    def array(self, name: str) -> Array:
        """A read-only array.

        Raises:
            NotFoundError: there is none of this name.
            UnimplementedError: it has a dtype that we cannot hold.
        """
        row = find(self._rows, name, self.what)
        number = self._entries[name].dtype
        if number == UNKNOWN:
            raise errors.UnimplementedError(
                message=f"{self.what}: {name!r} has the dtype {row.kind!r}, which graphio has not; "
                f"it knows {', '.join(sorted(NAMES))}"
            )
        return decode(number, row.dims, self._data[row.begin : row.end], self.what, name)


def _header(view: memoryview, what: str) -> memoryview:
    length = int.from_bytes(view[:8], "little")
    if length > LARGEST_HEADER:
        raise damaged(what, f"its header has {length} bytes, at most {LARGEST_HEADER} may be")
    if length > len(view) - 8:
        raise damaged(what, f"its header has {length} bytes, {len(view) - 8} follow")
    return view[8 : 8 + length]


def _metadata(found: Any, what: str) -> dict[str, str]:
    if found is None:
        return {}
    if not isinstance(found, dict) or not all(isinstance(v, str) for v in found.values()):
        raise damaged(what, "its __metadata__ is not a map from string to string")
    return found


def _row(name: str, row: Any, what: str) -> _Row:
    if not isinstance(row, dict) or not {"dtype", "shape", "data_offsets"} <= row.keys():
        raise damaged(what, f"{name!r} lacks one of dtype, shape, data_offsets")
    kind, shape, offsets = row["dtype"], row["shape"], row["data_offsets"]
    if not isinstance(kind, str) or not _naturals(shape) or not _naturals(offsets):
        raise damaged(what, f"{name!r} has a dtype, shape or data_offsets of another type")
    dims = check_dims(shape, what, name)
    if len(offsets) != 2 or offsets[0] > offsets[1]:
        raise damaged(what, f"{name!r} has the data_offsets {offsets}")
    begin, end = offsets
    if kind in NAMES and end - begin != nbytes(dtypes.BY_NAME[NAMES[kind]].number, dims):
        raise damaged(what, f"{name!r} {kind}{shape} has {end - begin} bytes")
    return _Row(kind, dims, begin, end)


def _naturals(found: Any) -> bool:
    return isinstance(found, list) and all(type(n) is int and n >= 0 for n in found)


def _entry(row: _Row) -> Entry:
    known = row.kind in NAMES
    return Entry(dtypes.BY_NAME[NAMES[row.kind]].number if known else UNKNOWN, row.dims)


def _check_tiling(rows: Mapping[str, _Row], size: int, what: str) -> None:
    """Every byte after the header belongs to one tensor."""
    end = 0
    for name, row in sorted(rows.items(), key=lambda item: (item[1].begin, item[1].end)):
        if row.begin != end:
            word = "overlaps another tensor" if row.begin < end else "comes after a gap"
            raise damaged(what, f"{name!r} at {row.begin} {word}")
        end = row.end
    if end != size:
        raise damaged(what, f"its tensors end at {end}, {size} bytes follow its header")
