"""SqlDataset: the rows of a query to a data base of SQLite."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

import numpy as np

from graphio.data import structure
from graphio.data.bases.counting import Counting
from graphio.data.dataset import Dataset
from graphio.data.stages import Item, Stage
from graphio.data.structure import Spec
from graphio.framework import api_boundary, dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.tensor_shape import TensorShape
from graphio.support import errors

__all__ = ["SqlDataset"]

Array = np.ndarray[Any, Any]
_INTEGERS = (dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.uint16)
#: of a column's dtype: the storage class of SQLite that its values are cast to, and its type here
_CLASSES: dict[DType, tuple[str, type]] = {
    dtypes.string: ("TEXT", bytes),
    dtypes.float64: ("REAL", float),
    dtypes.bool: ("INTEGER", int),
    **dict.fromkeys(_INTEGERS, ("INTEGER", int)),
}


class SqlDataset(Dataset):
    """The rows of a query, each a tuple of scalars.

    A value of another class is cast as SQLite casts it; NULL is 0, or an empty string. An integer
    that does not fit its dtype is wrapped around.

    Args:
        driver_name: "sqlite", a string or a scalar string tensor, as the next two.
        data_source_name: path of the data base.
        query: a SELECT, which runs when the data begins.
        output_types: a tuple of dtypes, one a column: string, bool, float64, or integers of up to
            64 bits.

    Raises:
        ValueError: one of these strings is not a scalar.

    Raises, when run:
        InvalidArgumentError: another driver, a dtype that is not listed, or another number of
            columns.
        UnknownError: SQLite refuses the data base or the query.
    """

    @api_boundary.rolling_back
    def __init__(
        self, driver_name: Any, data_source_name: Any, query: Any, output_types: Any
    ) -> None:
        given = [
            convert_to_tensor(v, dtypes.string) for v in (driver_name, data_source_name, query)
        ]
        types = [dtypes.as_dtype(t) for t in structure.flatten(output_types)]
        specs = structure.pack(output_types, [Spec(t, TensorShape([])) for t in types])

        def opened(o: Any) -> Stage:
            driver, source, text = (os.fsdecode(bytes(o.value(v)[()])) for v in given)
            return _Rows(driver, source, text, types)

        for tensor, argument in zip(
            given, ("driver_name", "data_source_name", "query"), strict=True
        ):
            if tensor.shape.ndims not in (None, 0):
                raise ValueError(
                    f"SqlDataset: {argument} has shape {tensor.shape}, expected a scalar string"
                )
        super().__init__(specs, opened, given=given)


class _Rows(Counting):
    """The rows of a query; its position is the number of rows that were given."""

    kind, items = "SqlDataset", "rows"

    def __init__(self, driver: str, source: str, query: str, types: Sequence[DType]) -> None:
        super().__init__()
        self.source, self.query, self.types = source, query, types
        self._open = contextlib.ExitStack()
        self._rows: Iterator[Any] | None = None
        if driver != "sqlite":
            raise self.refused(
                f"The database type, {driver}, is not supported by SqlDataset. The set of "
                "supported databases is: {'sqlite'}."
            )
        wrong = [t.name for t in types if t not in _CLASSES]
        if wrong:
            known = ", ".join(t.name for t in _CLASSES)
            raise self.refused(f"Each element of `output_types` must be one of: {known}; {wrong}")

    def pull(self, count: int) -> list[Item]:
        found: list[Item] = []
        with self._failing():
            if self._rows is None:
                self._rows = self._queried()
            while len(found) < count and (row := next(self._rows, None)) is not None:
                found.append([self._value(*pair) for pair in zip(row, self.types, strict=True)])
        self.position += len(found)
        return found

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        import sqlite3  # late: it takes milliseconds

        try:
            yield
        except (sqlite3.Error, sqlite3.Warning, UnicodeEncodeError) as error:
            raise errors.UnknownError(message=f"{error} [{self.what}]") from error

    def _queried(self) -> Iterator[Any]:
        import sqlite3

        # Nothing is committed, so that a query changes no data. Threads: of prefetch and others.
        address = f"file:{quote(os.fsencode(self.source))}?mode=rw"
        made = sqlite3.connect(address, uri=True, check_same_thread=False)
        self._connection = self._open.enter_context(contextlib.closing(made))
        self._connection.text_factory = bytes
        cursor = self._connection.execute(self.query)
        columns = len(cursor.description or ())
        if columns != len(self.types):
            raise self.refused(
                f"The number of columns in query ({columns}) must match the number of elements in "
                f"`output_types` ({len(self.types)})."
            )
        return cursor

    def _value(self, value: Any, dtype: DType) -> Array:
        storage, kind = _CLASSES[dtype]
        if value is not None and type(value) is not kind:
            cast = self._connection.execute(f"SELECT CAST(? AS {storage})", (value,))
            value = cast.fetchone()[0]
        found = kind() if value is None else value
        if dtype is dtypes.string:
            array = np.empty((), object)
            array[()] = found
            return array
        wide = np.array(found, np.float64 if kind is float else np.int64)
        return wide.astype(dtype.as_numpy_dtype)

    def parameters(self) -> Sequence[Any]:
        return [self.source, self.query, *(t.name for t in self.types)]

    def close(self) -> None:
        self._open.close()
        self._rows = None
