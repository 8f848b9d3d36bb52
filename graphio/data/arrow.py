"""Columns of Arrow tables as arrays: supported types, and replacements of missing values."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphio.data.structure import Spec
from graphio.framework import dtypes
from graphio.framework.dtypes import DType
from graphio.framework.tensor_shape import TensorShape
from graphio.support import installation

Array = np.ndarray[Any, Any]

#: Arrow's names of the types whose values are tensors' elements
_TYPES: dict[str, DType] = {
    "bool": dtypes.bool, "int8": dtypes.int8, "int16": dtypes.int16, "int32": dtypes.int32,
    "int64": dtypes.int64, "uint8": dtypes.uint8, "uint16": dtypes.uint16,
    "uint32": dtypes.uint32, "uint64": dtypes.uint64, "halffloat": dtypes.float16,
    "float": dtypes.float32, "double": dtypes.float64, "string": dtypes.string,
    "large_string": dtypes.string, "string_view": dtypes.string, "binary": dtypes.string,
    "large_binary": dtypes.string, "binary_view": dtypes.string,
}  # fmt: skip
#: the types of which Arrow has few functions, and what they are cast to before other functions are
#: called
_VIEWS = {"string_view": "large_string", "binary_view": "large_binary"}


def module(what: str) -> Any:
    """pyarrow. Raises ImportError: what to install."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError(f"{what} needs pyarrow: {installation.hint('tables')}") from None
    return pyarrow


class Column(NamedTuple):
    """A column of a table, which gives a tensor a row.

    Attributes:
        name: of the column.
        spec: of a row's tensor.
        missing: replacement of null; None: there is none.
    """

    name: str
    spec: Spec
    missing: Any

    @property
    def ragged(self) -> bool:
        """Whether the rows' tensors have different lengths."""
        return None in self.spec.shape.as_list()

    def empty_shape(self, rows: int) -> tuple[int, ...]:
        """The shape of so many rows that have one length."""
        return (rows, *(size or 0 for size in self.spec.shape.as_list()))

    def __str__(self) -> str:
        return f"{self.name}:{self.spec.dtype.name}{self.spec.shape.as_list()}"


def columns_of(
    schema: Any, requested: Sequence[str] | None, missing: Mapping[str, Any] | None, what: str
) -> list[Column]:
    """The requested columns of a schema.

    Args:
        requested: their names; None: all.
        missing: replacements of null, by name.

    Raises:
        TypeError: a type that no tensor has.
        ValueError: a name that is not a column, or is there twice.
    """
    names = list(schema.names)
    fill = dict(missing or {})
    chosen = names if requested is None else list(requested)
    for name in (*chosen, *fill):
        if name not in names:
            near = difflib.get_close_matches(str(name), names, 1)
            advice = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"{what}: there is no column {name!r}; there are {names}{advice}")
    twice = [name for name in chosen if names.count(name) > 1 or chosen.count(name) > 1]
    if twice or not chosen:
        raise ValueError(f"{what}: columns are {chosen}, expected one or more, each once")
    for name, value in fill.items():
        _check_fill(name, value, schema.field(name).type, what)
    return [Column(n, _spec(n, schema.field(n).type, what), fill.get(n)) for n in chosen]


def _check_fill(name: str, value: Any, kind: Any, what: str) -> None:
    """Refuses a replacement that cannot be a value of a column, or of its lists."""
    pyarrow = module(what)
    inner = getattr(kind, "value_type", None) or kind
    inner = getattr(inner, "value_type", None) or inner  # of a dictionary in a list
    try:
        pyarrow.scalar(value, inner)
    except (TypeError, OverflowError, pyarrow.ArrowException) as error:
        raise ValueError(
            f"{what}: missing={{{name!r}: {value!r}}} is not a value of {inner}: {error}"
        ) from None


def _spec(name: str, kind: Any, what: str) -> Spec:
    types = module(what).types
    value, shape = kind, []
    if types.is_fixed_size_list(kind):
        value, shape = kind.value_type, [kind.list_size]
    elif types.is_list(kind) or types.is_large_list(kind):
        value, shape = kind.value_type, [None]
    runs = types.is_run_end_encoded(value) and str(value.value_type) not in _VIEWS
    if types.is_dictionary(value) or runs:
        value = value.value_type
    if types.is_fixed_size_binary(value):
        return Spec(dtypes.string, TensorShape(shape))
    if str(value) not in _TYPES:
        raise TypeError(
            f"{what}: column {name!r} is {kind}, which no tensor has; choose others with "
            "columns=[...], or cast it: to numbers, bool, strings, or lists of them"
        )
    return Spec(_TYPES[str(value)], TensorShape(shape))


def table_with(table: Any, columns: Iterable[Column]) -> dict[str, Any]:
    """The columns of a table as arrays with a row each, or lists of arrays.

    Raises:
        ValueError: a value is missing, or a column is not of the declared type.
    """
    return {column.name: _rows(table.column(column.name), column) for column in columns}


def _rows(values: Any, column: Column) -> Any:
    found = _spec(column.name, values.type, "tables")
    if found != column.spec:
        raise ValueError(
            f"column {column.name!r} is {values.type}, where the first file says "
            f"{column.spec.dtype.name}{column.spec.shape.as_list()}"
        )
    if not column.spec.shape.ndims:
        return _flat(values, column, column.spec.dtype)
    lists = values.combine_chunks()
    _no_nulls(lists, column)
    inner = _flat(lists.flatten(), column, column.spec.dtype)
    if not column.ragged:
        return inner.reshape(column.empty_shape(len(lists)))
    lengths = lists.value_lengths().to_numpy(zero_copy_only=False)
    return np.split(inner, np.cumsum(lengths)[:-1]) if len(lists) else []


def _flat(values: Any, column: Column, dtype: DType) -> Array:
    """Scalar values, not lists."""
    values = _plain(values)
    if column.missing is not None and values.null_count:
        values = values.fill_null(column.missing)
    _no_nulls(values, column)
    if dtype != dtypes.string:
        return np.asarray(values, dtype.as_numpy_dtype)
    array = np.empty(len(values), object)
    array[:] = values.cast("large_binary").to_pylist()
    return array


def _plain(values: Any) -> Any:
    """The values themselves, in a type that Arrow computes with: not indices of a dictionary, runs
    or views of bytes."""
    pyarrow = module("tables")
    kind = values.type
    if pyarrow.types.is_run_end_encoded(kind):
        from pyarrow import compute

        return _plain(compute.run_end_decode(values))
    if pyarrow.types.is_dictionary(kind):
        return _entries(pyarrow, values)
    view = _VIEWS.get(str(kind))
    return values if view is None else values.cast(view)


def _entries(pyarrow: Any, values: Any) -> Any:
    """The entries of a dictionary, by their indices."""
    chunks = values.chunks if isinstance(values, pyarrow.ChunkedArray) else [values]
    kind = _VIEWS.get(str(values.type.value_type), values.type.value_type)
    found = [pyarrow.DictionaryArray.from_arrays(c.indices, _plain(c.dictionary)) for c in chunks]
    return pyarrow.chunked_array([part.dictionary_decode() for part in found], kind)


def _no_nulls(values: Any, column: Column) -> None:
    if values.null_count:
        row = values.is_null().index(True).as_py()
        raise ValueError(
            f"column {column.name!r} has {values.null_count} missing values, the first at {row}; "
            f"say what stands for them: missing={{{column.name!r}: ...}}"
        )
