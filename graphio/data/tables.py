"""Arrow tables and Parquet files as sources: columns by name, rows one by one or in batches."""

from __future__ import annotations

import bisect
import itertools
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphio.data import arrow
from graphio.data.arrow import Column
from graphio.data.dataset import Dataset
from graphio.data.stages import Item, Stage
from graphio.data.structure import Spec
from graphio.framework import api_boundary
from graphio.framework.tensor_shape import TensorShape
from graphio.storage.gfile import failing_as_tensorflow
from graphio.support import errors

__all__ = ["ArrowDataset", "ParquetDataset"]

Array = np.ndarray[Any, Any]


class _Groups:
    """Rows in groups, of which one at a time is in memory as arrays.

    Attributes:
        counts: rows of each group.
        signature: a string that distinguishes these rows from others.
    """

    counts: list[int]
    signature: str

    def read(self, index: int, columns: Sequence[Column]) -> Mapping[str, Any]:
        """The columns of a group."""
        raise NotImplementedError

    def close(self) -> None:
        """Lets go of files."""


class _Batches(_Groups):
    """The record batches of a table."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self._batches = table.to_batches()
        self.counts = [batch.num_rows for batch in self._batches]
        self.signature = "table"

    def read(self, index: int, columns: Sequence[Column]) -> Mapping[str, Any]:
        batch = self._table.from_batches([self._batches[index]], self._table.schema)
        return arrow.table_with(batch, columns)


class _RowGroups(_Groups):
    """The row groups of Parquet files, one file after the other."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._where: list[tuple[str, int]] = []
        self.counts = []
        for path in paths:
            with _opened(path) as file:
                for i in range(file.num_row_groups):
                    self._where.append((path, i))
                    self.counts.append(file.metadata.row_group(i).num_rows)
        self.signature = ",".join(map(os.path.basename, paths))
        self._path, self._file = "", None

    def read(self, index: int, columns: Sequence[Column]) -> Mapping[str, Any]:
        path, group = self._where[index]
        if path != self._path:
            self.close()
            self._path, self._file = path, _opened(path)
        names = [column.name for column in columns]
        file: Any = self._file
        absent = [name for name in names if name not in file.schema_arrow.names]
        if absent:
            raise ValueError(f"{path} has no columns {absent}; it has {file.schema_arrow.names}")
        try:
            table = file.read_row_group(group, names, use_threads=False)
        except (OSError, arrow.module("ParquetDataset").ArrowException) as error:
            raise _damaged(path, error) from None
        try:
            return arrow.table_with(table, columns)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}, row group {group}: {error}") from None

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._path, self._file = "", None


def _opened(path: str) -> Any:
    """A Parquet file.

    Raises:
        NotFoundError, PermissionDeniedError: as the operating system says.
        DataLossError: it is none.
    """
    pyarrow = arrow.module("ParquetDataset")
    from pyarrow import parquet

    with failing_as_tensorflow(path), open(path, "rb"):
        pass
    try:
        return parquet.ParquetFile(path, memory_map=False)
    except (OSError, pyarrow.ArrowException) as error:
        raise _damaged(path, error) from None


def _damaged(path: str, error: Exception) -> errors.OpError:
    return errors.DataLossError(message=f"{path} cannot be read as Parquet: {error}")


class _Rows(Stage):
    """Rows of groups, or batches of them; its position is the number of the next row."""

    first = 0

    def __init__(
        self, kind: str, groups: _Groups, columns: Sequence[Column], size: int, drop: bool
    ) -> None:
        super().__init__()
        self.kind = self.what = kind
        self.groups, self.columns = groups, columns
        self.size, self.drop = size, drop
        self._ends = list(itertools.accumulate(groups.counts))
        self._group, self._arrays = -1, dict[str, Any]()

    def pull(self, count: int) -> Sequence[Item]:
        if not self.size:
            pieces = self._next(count)
            return [[_row(piece, i) for piece in pieces] for i in range(len(pieces[0]))]
        found: list[Item] = []
        while len(found) < count:
            batch = self._next(self.size)
            if not len(batch[0]) or (self.drop and len(batch[0]) < self.size):
                break
            found.append(batch)
        return found

    def _next(self, count: int) -> list[Any]:
        """The next rows of every column, in separate memory; fewer only at the end."""
        parts: list[list[Any]] = [[] for _ in self.columns]
        while count > 0 and self.position < self._most:
            group = bisect.bisect_right(self._ends, self.position)
            start = self.position - (self._ends[group] - self.groups.counts[group])
            stop = min(start + count, self.groups.counts[group])
            try:
                arrays = self._read(group)
            except errors.OpError:
                self.position = self._ends[group]  # a pipeline that ignores errors goes on after it
                raise
            for part, column in zip(parts, self.columns, strict=True):
                part.append(arrays[column.name][start:stop])
            self.position += stop - start
            count -= stop - start
        return [_joined(part, c) for part, c in zip(parts, self.columns, strict=True)]

    def _read(self, group: int) -> Mapping[str, Any]:
        if group != self._group:
            self._group, self._arrays = -1, {}
            try:
                self._arrays = dict(self.groups.read(group, self.columns))
            except (TypeError, ValueError) as error:
                raise self.refused(str(error)) from None
            self._group = group
        return self._arrays

    @property
    def _most(self) -> int:
        return self._ends[-1] if self._ends else 0

    def most(self) -> int | None:
        return self._most

    def parameters(self) -> Sequence[Any]:
        shown = [*map(str, self.columns), self.size, self.drop]
        return [self.groups.signature, self._most, *shown]

    def close(self) -> None:
        self.groups.close()
        self._group, self._arrays = -1, {}


def _joined(parts: list[Any], column: Column) -> Any:
    """Pieces of a column as one; rows of different lengths as a list, other ones as an array."""
    if column.ragged:
        return [row for part in parts for row in part]
    empty = np.empty(column.empty_shape(0), column.spec.dtype.as_numpy_dtype)
    return np.concatenate(parts or [empty])


def _row(piece: Any, index: int) -> Any:
    return piece[index, ...] if isinstance(piece, np.ndarray) else piece[index]


class _TableDataset(Dataset):
    """The common base of both kinds of tables."""

    def _of_groups(
        self, groups: Any, columns: list[Column], requested: Any, size: int, drop: bool
    ) -> None:
        kind = type(self).__name__
        ragged = [column.name for column in columns if column.ragged]
        if size and ragged:
            raise ValueError(
                f"{kind}: lists of the columns {ragged} differ in length: rows cannot be batched; "
                "leave batch_size out and use padded_batch"
            )
        specs = [_batched(c.spec, size if drop else None) if size else c.spec for c in columns]
        structure = _structure(columns, specs, requested)
        ordered = columns if requested is not None else sorted(columns, key=lambda c: c.name)
        super().__init__(structure, lambda o: _Rows(kind, groups(), ordered, size, drop))


def _structure(columns: Sequence[Column], values: Sequence[Any], requested: Any) -> Any:
    """Dicts by name; tuples where columns were named."""
    if requested is not None:
        return tuple(values)
    return {column.name: value for column, value in zip(columns, values, strict=True)}


def _batched(spec: Spec, size: int | None) -> Spec:
    return Spec(spec.dtype, TensorShape([size, *spec.shape.as_list()]))


def _size(batch_size: Any, kind: str) -> int:
    """0 for None."""
    if batch_size is None:
        return 0
    if not isinstance(batch_size, (int, np.integer)) or batch_size < 1:
        raise ValueError(f"{kind}: batch_size is {batch_size!r}, expected 1 or more")
    return int(batch_size)


class ArrowDataset(_TableDataset):
    """The rows of an Arrow table. TensorFlow has no such dataset; pyarrow must be installed.

    Elements are dicts by the columns' names; with `columns`, tuples. Numbers, bool and strings are
    scalars, lists of them vectors, dictionaries their entries.

    Args:
        table: whatever pyarrow.table takes: a Table, record batches, a reader of them, a
            DataFrame of pandas or polars.
        columns: names of the columns to take, in the order of the tuple; None: all.
        missing: replacement of null, by name of a column.
        batch_size: so many rows an element, cut from the columns at once; None: one, without
            the dimension.
        drop_remainder: True leaves out a last batch that is short.

    Raises:
        ImportError: pyarrow is not installed.
        TypeError: a column of another type.
        ValueError: a name that is not a column; a missing value without a replacement.
    """

    @api_boundary.rolling_back
    def __init__(
        self,
        table: Any,
        columns: Sequence[str] | None = None,
        missing: Mapping[str, Any] | None = None,
        batch_size: int | None = None,
        drop_remainder: bool = False,
    ) -> None:
        pyarrow = arrow.module("ArrowDataset")
        whole = _as_table(pyarrow, table)
        found = arrow.columns_of(whole.schema, columns, missing, "ArrowDataset")
        size = _size(batch_size, "ArrowDataset")
        if size or any(column.ragged for column in found):
            self._of_groups(lambda: _Batches(whole), found, columns, size, drop_remainder)
            return
        arrays = arrow.table_with(whole, found)
        values = [arrays[column.name] for column in found]
        made = Dataset.from_tensor_slices(_structure(found, values, columns))
        super(_TableDataset, self).__init__(made.element_specs, made.open, [made])


def _as_table(pyarrow: Any, given: Any) -> Any:
    if isinstance(given, pyarrow.Table):
        return given
    if isinstance(given, (list, tuple)) and given:
        return pyarrow.Table.from_batches(list(given))
    if isinstance(given, pyarrow.RecordBatch):
        return pyarrow.Table.from_batches([given])
    try:
        return pyarrow.table(given)
    except (TypeError, ValueError, pyarrow.ArrowException) as error:
        raise TypeError(
            f"ArrowDataset: got {type(given).__name__}, expected a pyarrow.Table, record batches "
            f"or a data frame: {error}"
        ) from None


class ParquetDataset(_TableDataset):
    """The rows of Parquet files, of which a row group at a time is in memory.

    Elements, columns, missing, batch_size and drop_remainder are as ArrowDataset's; batches go on
    from one file to the next. TensorFlow has no such dataset; pyarrow must be installed.

    Args:
        filenames: a name or a list of names, whose files are there; the first one's schema counts.

    Raises:
        NotFoundError, DataLossError: there is no such file, or it is damaged.
        ImportError, TypeError, ValueError: as ArrowDataset; of values, in a run.
    """

    @api_boundary.rolling_back
    def __init__(
        self,
        filenames: Any,
        columns: Sequence[str] | None = None,
        missing: Mapping[str, Any] | None = None,
        batch_size: int | None = None,
        drop_remainder: bool = False,
    ) -> None:
        paths = _paths(filenames)
        with _opened(paths[0]) as file:
            found = arrow.columns_of(file.schema_arrow, columns, missing, "ParquetDataset")
        size = _size(batch_size, "ParquetDataset")
        self._of_groups(lambda: _RowGroups(paths), found, columns, size, drop_remainder)


def _paths(filenames: Any) -> list[str]:
    several = [filenames] if isinstance(filenames, (str, bytes, os.PathLike)) else filenames
    if not isinstance(several, (list, tuple)) or not several:
        raise TypeError(
            f"ParquetDataset: filenames is {several!r}, expected a name or a list of names: the "
            "columns are read from the first file while the graph is built"
        )
    return [os.fsdecode(path) for path in several]
