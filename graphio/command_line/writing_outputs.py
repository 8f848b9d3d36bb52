"""Writes the outputs of a run into files."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphio.command_line.exits import USAGE, Refused
from graphio.command_line.extras import need
from graphio.storage import stores

__all__ = ["check_ending", "write_outputs"]

Array = np.ndarray[Any, Any]


def check_ending(path: str) -> None:
    """Refuses a path that no format belongs to, or none that can be written, before any run."""
    ending = os.path.splitext(path)[1].lower()
    if ending not in _WRITERS:
        raise Refused(f"'{path}' ends in none of {', '.join(_WRITERS)}", USAGE)
    if ending in _TABLES:
        need("pyarrow")


def write_outputs(path: str, outputs: Mapping[str, Any]) -> None:
    """Writes outputs to .npz, .npy (one output), .csv or .parquet (a column a number of a row).

    Raises:
        Refused: another ending, several outputs for .npy, rows of different numbers.
    """
    check_ending(path)
    arrays = {name: np.asarray(value) for name, value in outputs.items()}
    _WRITERS[os.path.splitext(path)[1].lower()](path, arrays)


def _npz(path: str, arrays: Mapping[str, Array]) -> None:
    from graphio.train.interop.exporting import export_variables

    export_variables(dict(arrays), path)


def _npy(path: str, arrays: Mapping[str, Array]) -> None:
    if len(arrays) != 1:
        raise Refused(f"a .npy file holds one array, the run gave {', '.join(arrays)}: take .npz")
    made = io.BytesIO()
    np.save(made, next(iter(arrays.values())), allow_pickle=False)
    stores.write(path, [made.getbuffer()])


def _csv(path: str, arrays: Mapping[str, Array]) -> None:
    from pyarrow import csv

    made = io.BytesIO()
    csv.write_csv(_table(arrays), made)
    stores.write(path, [made.getbuffer()])


def _parquet(path: str, arrays: Mapping[str, Array]) -> None:
    from pyarrow import parquet

    made = io.BytesIO()
    parquet.write_table(_table(arrays), made)
    stores.write(path, [made.getbuffer()])


def _table(arrays: Mapping[str, Array]) -> Any:
    """A row a row of the batch; of an output of several numbers a row, a column each."""
    import pyarrow

    rows = {array.shape[:1] for array in arrays.values()}
    if len(rows) != 1 or rows == {()}:
        shapes = ", ".join(f"{name}{list(array.shape)}" for name, array in arrays.items())
        raise Refused(f"a table needs outputs of the same number of rows, got {shapes}: take .npz")
    columns: dict[str, Any] = {}
    for name, array in arrays.items():
        flat = array.reshape(len(array), -1)
        flat = _strings(flat) if flat.dtype == object else flat
        if array.ndim == 1:
            columns[name] = flat[:, 0]
        else:
            columns |= {f"{name}.{i}": flat[:, i] for i in range(flat.shape[1])}
    return pyarrow.table(columns)


def _strings(array: Array) -> Array:
    made = np.empty(array.shape, object)
    for position, value in np.ndenumerate(array):
        made[position] = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return made


_WRITERS: Mapping[str, Callable[[str, Mapping[str, Array]], None]] = {
    ".npz": _npz,
    ".npy": _npy,
    ".csv": _csv,
    ".parquet": _parquet,
}
_TABLES = (".csv", ".parquet")
