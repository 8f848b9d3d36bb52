"""CsvDataset and make_csv_dataset."""

from __future__ import annotations

import collections
import csv
import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.data import records
from graphio.data.csv_lines import Rows
from graphio.data.dataset import AUTOTUNE, Dataset
from graphio.data.function import Opening
from graphio.data.readers import _names
from graphio.data.special import without_errors
from graphio.data.stages import Item, Stage
from graphio.data.structure import Spec
from graphio.framework import dtypes
from graphio.framework.constants import as_array
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.strings.csv_lines import check_delimiter, fields_of, number_of
from graphio.support import api_guard, errors

__all__ = ["CsvDataset", "make_csv_dataset"]

Array = np.ndarray[Any, Any]
#: from the narrowest on
_TYPES_OF_NUMBERS = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)
_TYPES = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.string)


class _Columns(Stage):
    """Rows of csv files, converted column by column."""

    kind = "CsvDataset"

    def __init__(
        self,
        lines: Rows,
        columns: Sequence[tuple[Any, Any]],
        select: Sequence[int] | None,
        delimiter: str,
        quotes: bool,
        missing: str,
    ) -> None:
        super().__init__(lines)
        self.lines = lines
        self.columns, self.select = columns, select
        self.missing, self.delimiter, self.quotes = missing, delimiter, quotes

    def pull(self, count: int) -> Sequence[Item]:
        return [self._row(element[0][()]) for element in self.lines.pull(count)]

    def _row(self, line: bytes) -> list[Array]:
        text = line.decode("utf-8", "surrogateescape")
        try:
            fields = fields_of(text, self.delimiter, self.quotes) or [""]
        except ValueError as error:
            raise self.refused(f"cannot read the csv line {_shown(text)}: {error}") from None
        requested = range(len(self.columns)) if self.select is None else self.select
        if (self.select is None and len(fields) != len(self.columns)) or (
            max(requested, default=-1) >= len(fields)
        ):
            raise self.refused(
                f"Expect {len(self.columns)} fields but have {len(fields)} in record {_shown(text)}"
            )
        return [self._field(fields[i], *c) for i, c in zip(requested, self.columns, strict=True)]

    def _field(self, text: str, dtype: Any, default: Any) -> Array:
        if text in ("", self.missing):
            if default is None:
                raise self.refused("Field is required but missing in record!")
            return np.asarray(default)
        try:
            if dtype == dtypes.string:
                return as_array(text.encode("utf-8", "surrogateescape"), None)
            return as_array(number_of(text, dtype), dtype)
        except (TypeError, ValueError):
            raise self.refused(f"Field is not a valid {dtype.name}: {text!r}") from None


def _shown(text: str) -> str:
    return repr(text[:200])


class CsvDataset(Dataset):
    """Rows of csv files: a tuple of scalars, one a column.

    Args:
        filenames: a name, a list of names or a string tensor.
        record_defaults: for each column its dtype, where it is required, or a default value.
        compression_type: "", "GZIP" or "ZLIB".
        buffer_size: accepted, if it is above 0.
        header: True leaves out the first line of each file.
        field_delim: between fields, one character.
        use_quote_delim: False takes quotation marks as text.
        na_value: the string for a missing field, as well as the empty one.
        select_cols: numbers of the columns to take, ascending; None: all.

    Raises:
        ValueError: select_cols does not fit record_defaults, or does not ascend.
        TypeError: a column of another dtype than float32, float64, int32, int64 and string.
        InvalidArgumentError: a buffer_size of 0 or less; field_delim is not one character.
    """

    def __init__(
        self,
        filenames: Any,
        record_defaults: Sequence[Any],
        compression_type: Any = None,
        buffer_size: Any = None,
        header: bool = False,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Sequence[int] | None = None,
    ) -> None:
        if buffer_size is not None and not isinstance(buffer_size, Tensor) and buffer_size < 1:
            raise errors.InvalidArgumentError(
                message=f"CsvDataset: buffer_size should be positive, got {buffer_size}"
            )
        check_delimiter(field_delim)
        columns = [_column(default) for default in record_defaults]
        if select_cols is not None:
            if len(select_cols) != len(columns):
                raise ValueError("select_cols and record_defaults must have the same length")
            if any(a >= b for a, b in zip(select_cols, select_cols[1:], strict=False)):
                raise ValueError("select_cols must be strictly increasing")
        names = _names(filenames)
        kind = records.checked_compression(compression_type)

        def opened(o: Opening) -> Stage:
            paths = np.atleast_1d(o.value(names))
            lines = Rows(paths, kind, header, field_delim, use_quote_delim)
            values = [(t, o.value(d) if isinstance(d, Tensor) else d) for t, d in columns]
            return _Columns(lines, values, select_cols, field_delim, use_quote_delim, na_value)

        specs = tuple(Spec(dtype, TensorShape([])) for dtype, _ in columns)
        super().__init__(specs, opened, given=[names, *(d for _, d in columns)])


def _column(default: Any) -> tuple[Any, Any]:
    """A column's dtype, and its default or None."""
    value: Any
    if isinstance(default, (dtypes.DType, type)):
        dtype, value = dtypes.as_dtype(default), None
    elif isinstance(default, Tensor):
        dtype, value = default.dtype, default
    else:
        array = as_array(default, None)
        dtype = dtypes.as_dtype(array.dtype)
        value = array.reshape(-1)[0:1].reshape(()) if array.size else None
    if dtype not in _TYPES:
        raise TypeError(
            f"CsvDataset: a column is {dtype.name}; expected one of "
            f"{', '.join(t.name for t in _TYPES)}"
        )
    return dtype, value


@api_guard.guarded
def make_csv_dataset(
    file_pattern: Any,
    batch_size: int,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int = AUTOTUNE,
    num_parallel_reads: int | None = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: Any = None,
    ignore_errors: bool = False,
    encoding: str = "utf-8",
) -> Dataset:
    """Batches of csv rows: dicts of columns by name, with label_name pairs of dict and label.

    Args:
        file_pattern: of the files, or a list of patterns.
        batch_size: rows of a batch; a short last one comes as well.
        column_names: None: the first line of the first file.
        column_defaults: see CsvDataset; None: dtypes are inferred from the first rows.
        label_name: the column that is the label.
        select_columns: names or numbers of the columns to take.
        field_delim, use_quote_delim, na_value, header, compression_type: see CsvDataset.
        num_epochs: None: without end.
        shuffle, shuffle_buffer_size, shuffle_seed: see Dataset.shuffle.
        prefetch_buffer_size: see Dataset.prefetch.
        num_parallel_reads, sloppy: accepted.
        num_rows_for_inference: how many rows are looked at.
        ignore_errors: True leaves out rows that are none.
        encoding: of the names of the columns, and of the rows that are looked at.

    Raises:
        ValueError: names that are not columns; another number of column_defaults; rows of another
            number of fields, where types are inferred; ZLIB without names or defaults of columns.
        InvalidArgumentError: field_delim is not one character.
    """
    check_delimiter(field_delim)
    probed = column_names is None or column_defaults is None
    if probed and records.checked_compression(compression_type) == "ZLIB":
        raise ValueError(
            "make_csv_dataset: `compression_type` ZLIB is not supported for probing columns: give "
            "column_names and column_defaults, or take GZIP"
        )
    files = records.matching(np.atleast_1d(as_array(file_pattern, None)))
    lines = records.TextLines(files[:1], records.checked_compression(compression_type))
    options: Any = {"delimiter": field_delim}
    if not use_quote_delim:
        options["quoting"] = csv.QUOTE_NONE
    requested = (num_rows_for_inference or 100) + 1
    text = "\n".join(e[0][()].decode(encoding, "surrogateescape") for e in lines.pull(requested))
    lines.close()
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), **options) if row]
    if not rows:
        raise ValueError(f"make_csv_dataset: {files[0].decode()} is empty")
    if column_names is None:
        if not header:
            raise ValueError("Cannot infer column names without a header line.")
        column_names = rows[0]
    names = list(column_names)
    chosen = _chosen(names, select_columns)
    if label_name is not None and label_name not in [names[i] for i in chosen]:
        raise ValueError("`label_name` provided must be one of the columns.")
    if column_defaults is None:
        body = rows[1:] if header else rows
        _check_widths(body, names)
        column_defaults = [_inferred([r[i] for r in body], na_value) for i in chosen]
    elif len(column_defaults) != len(chosen):
        raise ValueError(
            f"make_csv_dataset: there are {len(column_defaults)} column_defaults for "
            f"{len(chosen)} columns"
        )
    data: Dataset = CsvDataset(
        list(files), column_defaults, compression_type, None, header, field_delim,
        use_quote_delim, na_value, chosen,
    )  # fmt: skip
    if ignore_errors:
        data = without_errors(data)
    if shuffle:
        data = data.shuffle(shuffle_buffer_size, shuffle_seed)
    data = data.repeat(num_epochs).batch(batch_size, drop_remainder=num_epochs is None)

    def named(*columns: Any) -> Any:
        features = collections.OrderedDict(
            (names[i], column) for i, column in zip(chosen, columns, strict=True)
        )
        if label_name is None:
            return features
        label = features.pop(label_name)
        return features, label

    return data.map(named).prefetch(prefetch_buffer_size)


def _check_widths(rows: Sequence[Sequence[str]], names: Sequence[str]) -> None:
    """Refuses rows of which types cannot be inferred."""
    for row in rows:
        if len(row) != len(names):
            raise ValueError(
                f"make_csv_dataset: a row has {len(row)} fields, expected {len(names)}, as many as "
                f"there are columns {names}: {row}"
            )


def _chosen(names: Sequence[str], select: Sequence[Any] | None) -> list[int]:
    """Numbers of the columns, ascending."""
    if select is None:
        return list(range(len(names)))
    unknown = [c for c in select if (c not in names if isinstance(c, str) else c >= len(names))]
    if unknown:
        raise ValueError(f"select_columns: there are no columns {unknown}; there are {names}")
    return sorted(names.index(c) if isinstance(c, str) else int(c) for c in select)


def _inferred(string_values: Sequence[str], missing: str) -> Any:
    """A default of the narrowest dtype that takes all strings."""
    known = [text for text in string_values if text not in ("", missing)]
    for dtype in _TYPES_OF_NUMBERS if known else ():
        convert = int if dtype.is_integer else float
        try:
            numbers = [convert(text) for text in known]
        except ValueError:
            continue
        least, most = convert(dtype.min), convert(dtype.max)
        if all(least <= n <= most for n in numbers):
            return dtype.as_numpy_dtype(0)
    return ""
