"""CSV: what a line and a field say, and tf.decode_csv, by a function of Python's."""

from __future__ import annotations

import csv
import functools
import io
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.ops.base.emit import scope
from graphio.ops.base.host import host_call
from graphio.ops.strings.python_strings import as_text
from graphio.support import api_guard, errors

__all__ = ["check_delimiter", "decode_csv", "fields_of", "number_of"]


def check_delimiter(delimiter: Any) -> None:
    """Refuses what cannot be between fields. Raises InvalidArgumentError: it is not a character."""
    if not isinstance(delimiter, str) or len(delimiter) != 1:
        raise errors.InvalidArgumentError(
            message=f"field_delim is {delimiter!r}, expected a string of one character"
        )


def fields_of(line: str, delimiter: str, quotes: bool) -> list[str]:
    """The fields of a line.

    Args:
        line: text, without its end.
        delimiter: between fields.
        quotes: whether fields may be in quotation marks, which then are nowhere else but doubled
            within them.

    Raises:
        ValueError: the line is none of CSV.
    """
    if quotes and '"' in line and not _whole_fields(delimiter).fullmatch(line):
        raise ValueError("quotation marks must enclose complete fields, and be doubled within them")
    options: Any = {} if quotes else {"quoting": csv.QUOTE_NONE}
    text = io.StringIO(line, newline="")
    try:
        return next(csv.reader(text, delimiter=delimiter, strict=True, **options), [])
    except csv.Error as error:
        raise ValueError(str(error)) from None


@functools.cache
def _whole_fields(delimiter: str) -> re.Pattern[str]:
    """Lines whose quotation marks are around fields or doubled inside of them."""
    mark = re.escape(delimiter)
    field = f'(?:"(?:[^"]|"")*"|[^"{mark}]*)'
    return re.compile(f"{field}(?:{mark}{field})*")


def number_of(field: str, dtype: dtypes.DType) -> int | float:
    """The number that a field says. Raises ValueError: none, or one that dtype does not hold."""
    word = field.strip()
    if "_" in word or not word.isascii():  # numbers in Python's programs alone
        raise ValueError(f"no number: {field!r}")
    if not dtype.is_integer:
        return float(word)
    number = int(word)
    if not dtype.min <= number <= dtype.max:
        raise ValueError(f"{number} is out of the range of {dtype.name}")
    return number


@api_guard.operator
def decode_csv(
    records: Any,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
) -> list[Tensor]:
    """The fields of lines of CSV, a tensor a column.

    Args:
        records: string tensor, a line an element.
        record_defaults: for each column a value of its dtype (float32, float64, int32, int64 or
            string) for where the field is empty; an empty list: the field must be there.
        field_delim: between fields, one character.
        use_quote_delim: whether fields may be in quotation marks.
        name: of the operation.
        na_value: text that stands for an empty field, too.
        select_cols: numbers of the columns to take, ascending; None: all.

    Returns:
        Tensors of records' shape. A line that does not fit is an InvalidArgumentError of the run.

    Raises:
        TypeError: records is not a string, a dtype is another one, or record_defaults is not a
            list.
        ValueError: select_cols has negative numbers, does not ascend, or has another length than
            record_defaults; a default is not a constant of at most one element and rank 1.
        InvalidArgumentError: field_delim is not one character.
    """
    check_delimiter(field_delim)
    if not isinstance(record_defaults, (list, tuple)):
        kind = type(record_defaults).__name__
        raise TypeError(f"DecodeCSV: record_defaults is {kind}, expected a list, a value a column")
    if select_cols is not None and any(i < 0 for i in select_cols):
        raise ValueError(f"DecodeCSV: select_cols is {list(select_cols)}, expected numbers >= 0")
    if select_cols is not None and any(np.diff(list(select_cols)) < 1):
        raise ValueError(
            f"DecodeCSV: select_cols is not strictly increasing, but {list(select_cols)}"
        )
    with scope(name, "DecodeCSV") as at:
        x = as_text(records, "records")
        columns = [_Column(i, value) for i, value in enumerate(record_defaults)]
        taken = list(range(len(columns)) if select_cols is None else select_cols)
        if len(taken) != len(columns):
            raise ValueError("DecodeCSV: select_cols and record_defaults differ in length")

        def decode(values: list[Any]) -> list[Any]:
            lines = np.asarray(values[0], object)
            made = [np.empty(lines.shape, c.kind) for c in columns]
            for position, line in enumerate(lines.reshape(-1)):
                try:
                    fields = fields_of(
                        line.decode("utf-8", "surrogateescape"), field_delim, use_quote_delim
                    )
                except ValueError as error:
                    raise _refused(f"Record {position} is not valid CSV: {error}") from None
                fields = fields or [""]
                _check_fields(fields, taken, select_cols is None, position)
                for column, target, number in zip(columns, made, taken, strict=True):
                    target.reshape(-1)[position] = column.read(
                        fields[number], number, position, na_value
                    )
            return made

        outputs = [(c.dtype, x.shape) for c in columns]
        made = host_call(
            lambda session: decode,
            [x],
            outputs,
            function="text/DecodeCSV",
            stateful=False,
            name=at,
            tf_type="DecodeCSV",
        )
        return list(made.outputs)


def _check_fields(fields: list[str], taken: list[int], exactly: bool, record: int) -> None:
    requested = len(taken) if exactly else max(taken, default=-1) + 1
    if len(fields) < requested or (exactly and len(fields) != requested):
        raise _refused(f"Expect {requested} fields but have {len(fields)} in record {record}")


def _refused(message: str) -> errors.OpError:
    return errors.InvalidArgumentError(message=message)


class _Column:
    """A column's dtype, and what stands for its empty fields."""

    def __init__(self, index: int, default: Any) -> None:
        self.dtype, self.default = _default(index, default)
        kinds = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.string)
        if self.dtype not in kinds:
            raise TypeError(
                f"DecodeCSV: record_defaults[{index}] is {self.dtype.name}, expected one of "
                f"{', '.join(k.name for k in kinds)}"
            )
        self.kind: Any = object if self.dtype == dtypes.string else self.dtype.as_numpy_dtype

    def read(self, field: str, number: int, record: int, na_value: str) -> Any:
        """The field's value."""
        if field in ("", na_value):
            if self.default is None:
                raise _refused(f"Field {number} is required but missing in record {record}!")
            return self.default
        if self.dtype == dtypes.string:
            return field.encode("utf-8", "surrogateescape")
        try:
            return self.kind(number_of(field, self.dtype))
        except ValueError:
            raise _refused(
                f"Field {number} in record {record} is not a valid {self.dtype.name}: {field}"
            ) from None


def _default(index: int, given: Any) -> tuple[dtypes.DType, Any]:
    """The dtype of a default, and its value, None for a column that must be there."""
    if isinstance(given, (dtypes.DType, type)):
        return dtypes.as_dtype(given), None
    tensor = convert_to_tensor(given, name=f"record_defaults_{index}")
    value = constant_value(tensor)
    if value is None or value.size > 1 or value.ndim > 1:
        raise ValueError(
            f"DecodeCSV: record_defaults[{index}] is '{tensor.name}', expected a constant of at "
            "most one element and rank 1"
        )
    return tensor.dtype, value.reshape(-1)[0] if value.size else None
