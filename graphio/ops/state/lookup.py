"""tf.lookup: tables from words or numbers to others, kept and searched by Python.

A table is filled when its initializer is run (tables_initializer() runs those of all), for that
session.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.ops.base.emit import scope
from graphio.ops.state.bucket_tables import BucketTable
from graphio.ops.state.tables import InitializableLookupTableBase, PairsInitializer
from graphio.ops.strings.python_strings import string_to_hash_bucket_fast
from graphio.support import errors

__all__ = [
    "KeyValueTensorInitializer",
    "StaticHashTable",
    "StaticVocabularyTable",
    "TextFileIndex",
    "TextFileInitializer",
]

Array = np.ndarray[Any, Any]


class KeyValueTensorInitializer(PairsInitializer):
    """Fills a table with pairs.

    Args:
        keys: vector.
        values: vector of as many.
        key_dtype, value_dtype: of the vectors if they are not tensors; None: their own.
        name: of the operations.

    Raises:
        ValueError: the lengths differ.
    """

    def __init__(
        self, keys: Any, values: Any, key_dtype: Any = None, value_dtype: Any = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        with scope(name, "key_value_init"):
            self.inputs = [
                convert_to_tensor(keys, key_dtype, name="keys"),
                convert_to_tensor(values, value_dtype, name="values"),
            ]
        first, second = (t.shape.with_rank(1) for t in self.inputs)
        if not first.is_compatible_with(second):
            raise ValueError(f"Shapes of keys and values differ: {first} and {second}")
        super().__init__(*(t.dtype for t in self.inputs))

    def pairs(self, arrays: list[Array]) -> tuple[list[Any], list[Any]]:
        """Keys and values, from the inputs' arrays."""
        return arrays[0].tolist(), arrays[1].tolist()


class TextFileIndex:
    """The parts of a line that can be a key or a value, apart from the columns."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


class TextFileInitializer(PairsInitializer):
    """Fills a table with the lines of a text file.

    Args:
        filename: a path or scalar string tensor.
        key_dtype: string, or int64 for line numbers and columns of numbers.
        key_index: TextFileIndex.WHOLE_LINE, LINE_NUMBER, or a column from 0.
        value_dtype, value_index: likewise.
        vocab_size: lines to read; None: all.
        delimiter: what parts columns.
        name: of the operations.

    Raises:
        ValueError: an index is none of these, or a dtype does not fit it.
    """

    def __init__(
        self, filename: Any, key_dtype: Any, key_index: int, value_dtype: Any, value_index: int,
        vocab_size: int | None = None, delimiter: str = "\t", name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(key_dtype, value_dtype)
        for dtype, index in ((self.key_dtype, key_index), (self.value_dtype, value_index)):
            _check_column(dtype, index)
        self._columns = (key_index, value_index)
        self._limit, self._delimiter = vocab_size, delimiter.encode()
        with scope(name, "text_file_init"):
            self.inputs = [convert_to_tensor(filename, dtypes.string, name="filename")]

    def pairs(self, arrays: list[Array]) -> tuple[list[Any], list[Any]]:
        """Keys and values, from the file."""
        path = os.fsdecode(arrays[0].item())
        try:
            with open(path, "rb") as file:
                lines = file.read().splitlines()[: self._limit]
        except OSError as error:
            raise errors.NotFoundError(message=f"{path}; {error.strerror}") from None
        if self._limit is not None and len(lines) < self._limit:
            raise errors.InvalidArgumentError(
                message=f"Invalid vocab_size in {path}: expected {self._limit} lines, found "
                f"{len(lines)}"
            )
        kinds = (self.key_dtype, self.value_dtype)
        first, second = (
            [self._part(line, i, column, kind, path) for i, line in enumerate(lines)]
            for column, kind in zip(self._columns, kinds, strict=True)
        )
        return first, second

    def _part(self, line: bytes, number: int, column: int, kind: DType, path: str) -> Any:
        if column == TextFileIndex.LINE_NUMBER:
            return number
        try:
            whole = column == TextFileIndex.WHOLE_LINE
            text = line if whole else line.split(self._delimiter)[column]
            return text if kind == dtypes.string else kind.as_numpy_dtype(text).item()
        except (IndexError, ValueError):
            raise errors.InvalidArgumentError(
                message=f"{path}, line {number + 1}: {_column_words(column)} is not of dtype "
                f"{kind.name}: {line!r}"
            ) from None


def _check_column(dtype: DType, index: int) -> None:
    if index < TextFileIndex.WHOLE_LINE:
        raise ValueError(f"Invalid index {index}: a column's number or one of TextFileIndex")
    requested = {
        TextFileIndex.LINE_NUMBER: (dtypes.int64,),
        TextFileIndex.WHOLE_LINE: (dtypes.string, dtypes.int64),
    }
    if dtype not in requested.get(index, (dtype,)):
        kinds = " or ".join(kind.name for kind in requested[index])
        raise ValueError(f"Signature mismatch. Index {index} must be {kinds}, got {dtype.name}.")


def _column_words(column: int) -> str:
    return "the line" if column == TextFileIndex.WHOLE_LINE else f"column {column}"


class StaticHashTable(InitializableLookupTableBase):
    """A table that is filled once.

    Args:
        initializer: KeyValueTensorInitializer or TextFileInitializer.
        default_value: of a key that the table has not.
        name: of the operations.

    Attributes:
        initializer: the operation that fills it, in the collection TABLE_INITIALIZERS.
        key_dtype, value_dtype: of what lookup takes and gives.
        name: of the table.
        default_value: as given, a tensor.
    """

    def __init__(self, initializer: Any, default_value: Any, name: str | None = None) -> None:
        super().__init__(default_value, initializer, name)
        self.init = self.initializer


class StaticVocabularyTable(BucketTable):
    """A table from words to numbers in which every word has one: those that the table has not fall
    into buckets after its entries.

    Args:
        initializer: as StaticHashTable's, with keys of string or int64 and values of int64; None:
            there are only buckets.
        num_oov_buckets: how many buckets, 1 or more.
        lookup_key_dtype: of lookup's keys, string or an integer; None: the initializer's.
        name: of the operations.

    Attributes:
        initializer: the operation that fills it.

    Raises:
        ValueError: num_oov_buckets is less than 1. TypeError: a dtype is another one.
    """

    def __init__(
        self, initializer: Any, num_oov_buckets: int, lookup_key_dtype: Any = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        if num_oov_buckets < 1:
            raise ValueError(f"num_oov_buckets must be > 0, got {num_oov_buckets}")
        table = None if initializer is None else StaticHashTable(initializer, -1, name)
        kind = None if table is None else lookup_key_dtype
        super().__init__(table, num_oov_buckets, string_to_hash_bucket_fast, kind, name)
