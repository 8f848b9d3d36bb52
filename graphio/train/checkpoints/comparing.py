"""Comparing two checkpoints: what differs, and by how much."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphio.schema import dtypes
from graphio.support import api_guard, html
from graphio.train.checkpoints.checkpoint_reader import resolved
from graphio.train.checkpoints.inspecting import as_table
from graphio.train.interop.sources import Entry, Source, open_source

__all__ = ["CheckpointDiff", "Difference", "diff_checkpoints"]

Array = np.ndarray[Any, Any]
_PIECE = 1 << 20  # elements that are compared at a time
_ORDER = {"shape": 0, "differs": 1, "dtype": 1, "only in a": 2, "only in b": 3, "same": 4}


@dataclass(frozen=True)
class Difference:
    """The difference of a variable.

    Attributes:
        name: in both.
        status: "same" (the bits are), "differs", "dtype", "shape", "only in a" or "only in b".
        a, b: its type in each, "float32 [2, 3]"; "" where it is absent.
        largest: the largest absolute difference; infinite where only one of the two is NaN, and of
            different infinities. None where nothing can be subtracted: text, other shapes.
        relative: the largest difference as a part of the larger of the two magnitudes.
        count: how many elements differ; of 0.0 and -0.0, and of NaNs, the bits count.
        size: how many elements there are.
    """

    name: str
    status: str
    a: str
    b: str
    largest: float | None = None
    relative: float | None = None
    count: int = 0
    size: int = 0


_COLUMNS = ("name", "status", "is", "largest", "relative", "differing")
_NUMBERS = (3, 4, 5)


class CheckpointDiff(Sequence[Difference]):
    """All variables of two checkpoints, the largest difference first; prints as a table.

    Attributes:
        a, b: the two.
        rows: one a variable, and one a random generator, iterator or blob.
    """

    def __init__(self, a: str, b: str, rows: Sequence[Difference]) -> None:
        self.a, self.b, self.rows = a, b, tuple(rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def equal(self) -> bool:
        """Whether both hold the same names with the same bits."""
        return all(row.status == "same" for row in self.rows)

    def __str__(self) -> str:
        head = f"a: {self.a}\nb: {self.b}\n{self._same()}"
        cells = self._cells()
        return f"{head}\n{as_table(_COLUMNS, cells, right=_NUMBERS)}" if cells else head

    __repr__ = __str__

    def _repr_html_(self) -> str:
        title = f"{self.a} and {self.b}: {self._same()}"
        return html.table(title, _COLUMNS, self._cells(), right=_NUMBERS)

    def _same(self) -> str:
        same = sum(row.status == "same" for row in self.rows)
        return f"{same} of {len(self.rows)} have the same bits"

    def _cells(self) -> list[tuple[str, ...]]:
        """Of what differs."""
        return [
            (
                row.name,
                row.status,
                row.a if row.a == row.b else " | ".join(filter(None, (row.a, row.b))),
                "" if row.largest is None else f"{row.largest:.6g}",
                "" if row.relative is None else f"{row.relative:.3g}",
                f"{row.count} of {row.size}" if row.size else "",
            )
            for row in self.rows
            if row.status != "same"
        ]


@api_guard.guarded
def diff_checkpoints(a: str | os.PathLike[str], b: str | os.PathLike[str]) -> CheckpointDiff:
    """Compares two checkpoints, or files of other frameworks, variable by variable.

    Args:
        a, b: what tf.train.Saver.restore reads, or a folder, whose newest checkpoint is taken.

    Returns:
        A row a variable, the largest difference first; prints as a table of what differs.

    Raises:
        NotFoundError: there is none.
        DataLossError: one is damaged.
    """
    one, other = (open_source(resolved(where), lazy=True) for where in (a, b))
    rows = [*_variables(one, other), *_resources(one, other)]
    return CheckpointDiff(one.what, other.what, sorted(rows, key=_sort_key))


def _sort_key(row: Difference) -> tuple[int, float, str]:
    unknown = np.inf if row.count else 0.0
    largest = unknown if row.largest is None else row.largest
    return _ORDER[row.status], -largest, row.name


def _variables(one: Source, other: Source) -> Iterator[Difference]:
    here, there = one.entries(), other.entries()
    for name in sorted({*here, *there}):
        if name not in here or name not in there:
            side = "a" if name in here else "b"
            yield Difference(name, f"only in {side}", _text(here.get(name)), _text(there.get(name)))
        elif here[name].dims != there[name].dims:
            yield Difference(name, "shape", _text(here[name]), _text(there[name]))
        else:
            about = _text(here[name]), _text(there[name])
            yield _compared(name, about, one.array(name), other.array(name))


def _text(entry: Entry | None) -> str:
    return "" if entry is None else f"{dtypes.name(entry.dtype)} {list(entry.dims)}"


def _compared(name: str, about: tuple[str, str], x: Array, y: Array) -> Difference:
    flat_x, flat_y = x.reshape(-1), y.reshape(-1)
    count, largest, relative = 0, 0.0, 0.0
    for at in range(0, x.size, _PIECE):
        found = _differences(flat_x[at : at + _PIECE], flat_y[at : at + _PIECE])
        count += found[0]
        largest, relative = max(largest, found[1]), max(relative, found[2])
    strings = object in (x.dtype, y.dtype)
    status = "dtype" if x.dtype != y.dtype else "differs" if count else "same"
    if strings:
        return Difference(name, status, *about, None, None, count, x.size)
    return Difference(name, status, *about, largest, relative, count, x.size)


def _differences(x: Array, y: Array) -> tuple[int, float, float]:
    """The number of different elements, the largest difference, and its part of the larger
    value."""
    if object in (x.dtype, y.dtype):
        return sum(p != q for p, q in zip(x.tolist(), y.tolist(), strict=True)), 0.0, 0.0
    count = None
    if x.dtype == y.dtype:
        bits = f"V{x.itemsize}"
        differing = np.ascontiguousarray(x).view(bits) != np.ascontiguousarray(y).view(bits)
        x, y = x[differing], y[differing]
        count = x.size
    gaps, sizes = _gaps(_wide(x), _wide(y))
    finite = np.isfinite(gaps) & (sizes > 0)
    parts = np.divide(gaps, sizes, out=np.where(np.isinf(gaps), np.inf, 0.0), where=finite)
    count = int(np.count_nonzero(gaps)) if count is None else count
    return count, float(gaps.max(initial=0)), float(parts.max(initial=0))


def _wide(array: Array) -> Array:
    """As numpy's own integers, doubles or complex numbers."""
    if array.dtype.kind in "iufc":
        return array
    return array.astype(np.int64 if array.dtype.kind == "b" or "int" in array.dtype.name else float)


def _gaps(x: Array, y: Array) -> tuple[Array, Array]:
    """Absolute differences and the larger magnitudes, as doubles."""
    if x.dtype.kind in "iu" and y.dtype.kind in "iu":
        above, below = np.maximum(x, y), np.minimum(x, y)
        if x.dtype == y.dtype:  # exact, where signed ones would overflow
            gaps = (above.astype(np.uint64) - below.astype(np.uint64)).astype(float)
        else:
            gaps = above.astype(float) - below.astype(float)
        return gaps, np.maximum(np.abs(x.astype(float)), np.abs(y.astype(float)))
    kind = complex if "c" in (x.dtype.kind, y.dtype.kind) else float
    x, y = x.astype(kind), y.astype(kind)
    with np.errstate(all="ignore"):
        gaps = np.abs(x - y)
    lost = np.isnan(x), np.isnan(y)
    gaps[(x == y) | (lost[0] & lost[1])] = 0.0
    gaps[(lost[0] != lost[1]) | np.isnan(gaps)] = np.inf
    return gaps, np.fmax(np.abs(x), np.abs(y))


def _resources(one: Source, other: Source) -> Iterator[Difference]:
    for name in sorted({*one.resources, *other.resources}):
        here, there = one.resources.get(name), other.resources.get(name)
        about = _kind(here), _kind(there)
        if here is None or there is None:
            yield Difference(name, "only in b" if here is None else "only in a", *about)
        else:
            yield Difference(name, "same" if here == there else "differs", *about)


def _kind(state: Any) -> str:
    if state is None:
        return ""
    if isinstance(state, tuple):
        return "generator"
    return f"blob [{len(state)}]" if isinstance(state, bytes) else "iterator"
