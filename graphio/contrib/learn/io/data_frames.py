"""DataFrames of pandas and dask: as batches, and as arrays. Neither is imported: a DataFrame is
there only when the program has imported its package."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from graphio.contrib.learn.io.feeding import Options, batch_of, rows_queue
from graphio.contrib.learn.io.input_functions import check_shuffle
from graphio.support import api_guard

__all__ = [
    "HAS_DASK",
    "HAS_PANDAS",
    "extract_dask_data",
    "extract_dask_labels",
    "extract_pandas_data",
    "extract_pandas_labels",
    "extract_pandas_matrix",
    "pandas_input_fn",
]

#: whether pandas is installed
HAS_PANDAS = importlib.util.find_spec("pandas") is not None
#: whether dask is installed
HAS_DASK = importlib.util.find_spec("dask") is not None

#: numpy's kinds of dtypes that are numbers: bool, integers, floats
_NUMBERS = "biuf"


def _is_a(value: Any, module: str, *names: str) -> bool:
    """Whether a value is of a class of a module that the program has imported."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(value, tuple(getattr(loaded, n) for n in names))


@api_guard.unguarded
def pandas_input_fn(
    x: Any, y: Any = None, batch_size: int = 128, num_epochs: int | None = 1, shuffle: bool = True,
    queue_capacity: int | None = 1000, num_threads: int = 1, target_column: str = "target",
) -> Callable[[], Any]:  # fmt: skip
    """A function that gives rows of a DataFrame. Further arguments are those of numpy_input_fn.

    Args:
        x: a DataFrame.
        y: the targets, a Series or DataFrame with the index of x; None: there are none.
        queue_capacity: rows of the queue; None: the rows of x, with shuffle four times as many.
        target_column: the name of a Series' column, which x must not have.

    Returns:
        The function: it builds a queue in the default graph and gives a dict of features by
        columns; with y a tuple of this and the target, a dict where y is a DataFrame.

    Raises:
        TypeError: target_column is not a string, or x is not a DataFrame.
        ValueError: shuffle is not a bool, x has the column already, or the indexes differ.
    """
    if not _is_a(x, "pandas", "DataFrame"):
        raise TypeError(f"x must be a pandas DataFrame; got {type(x).__name__}")
    check_shuffle(shuffle)
    if not isinstance(target_column, str):
        raise TypeError("target_column must be a string type")
    targets = _target_columns(x, y, target_column)
    columns = [x[name] for name in x.columns] + targets
    capacity = queue_capacity or (4 * len(x) if shuffle else len(x))
    options = Options(batch_size, num_epochs, shuffle, capacity, num_threads, max(capacity // 4, 1))
    names = list(x.columns)

    def input_fn() -> Any:
        # the queue's first component is the index of a row
        parts = [x.index, *columns]
        kinds = [(_numpy_dtype(part.dtype), ()) for part in parts]
        arrays = [np.asarray(p, dtype=kind) for p, (kind, _) in zip(parts, kinds, strict=True)]
        queue = rows_queue(kinds, len(x), lambda at: [array[at] for array in arrays], options)
        batch = batch_of(queue, options)[1:]
        features = dict(zip(names, batch[: len(names)], strict=True))
        if y is None:
            return features
        if len(y.shape) > 1:
            return features, dict(zip(y.columns, batch[len(names) :], strict=True))
        return features, batch[-1]

    return input_fn


def _target_columns(x: Any, y: Any, target_column: str) -> list[Any]:
    if y is None:
        return []
    if target_column in x:
        raise ValueError(
            f"Cannot use name {target_column} for target column: DataFrame already has a column "
            f"with that name: {x.columns}"
        )
    if not np.array_equal(x.index, y.index):
        raise ValueError(
            f"Index for x and y are mismatched.\nIndex for x: {x.index}\nIndex for y: {y.index}\n"
        )
    return [y[name] for name in y.columns] if len(y.shape) > 1 else [y]


def _numpy_dtype(dtype: Any) -> Any:
    """The dtype of numpy for one of pandas; its own, such as that of strings, are objects."""
    return dtype if isinstance(dtype, np.dtype) else np.dtype(object)


def _check_numbers(data: Any, purpose: str) -> None:
    dtypes = {name: data[name].dtype for name in data}
    wrong = [
        f"'{name}' type='{dtype}'"
        for name, dtype in dtypes.items()
        if not isinstance(dtype, np.dtype) or dtype.kind not in _NUMBERS
    ]
    if wrong:
        raise ValueError(
            f"Data types for extracting {purpose} must be int, float, or bool. "
            f"Found: {', '.join(wrong)}"
        )


@api_guard.unguarded
def extract_pandas_data(data: Any) -> Any:
    """The numbers of a DataFrame as a float64 array; other data stay as they are.

    Raises:
        ValueError: a column is not of int, float or bool.
    """
    if not _is_a(data, "pandas", "DataFrame"):
        return data
    _check_numbers(data, "pandas data")
    return data.values.astype(np.float64)


@api_guard.unguarded
def extract_pandas_matrix(data: Any) -> Any:
    """The values of a DataFrame as an array; other data stay as they are."""
    return data.values if _is_a(data, "pandas", "DataFrame") else data


@api_guard.unguarded
def extract_pandas_labels(labels: Any) -> Any:
    """The values of a DataFrame with one column as an array; other labels stay as they are.

    Raises:
        ValueError: there are several columns, or that one is not of int, float or bool.
    """
    if not _is_a(labels, "pandas", "DataFrame"):
        return labels
    if len(labels.columns) > 1:
        raise ValueError("Only one column for labels is allowed.")
    _check_numbers(labels, "labels")
    return labels.values


@api_guard.unguarded
def extract_dask_data(data: Any) -> Any:
    """A DataFrame or Series of dask whose index counts the rows over all partitions, with known
    divisions; other data stay as they are."""
    if not _is_a(data, "dask.dataframe", "Series", "DataFrame"):
        return data
    dask, frames = sys.modules["dask"], sys.modules["dask.dataframe"]
    starts = np.cumsum([0, *data.map_partitions(len).compute()]).tolist()
    moved = [
        dask.delayed(_index_from)(part, start)
        for part, start in zip(data.to_delayed(), starts[:-1], strict=True)
    ]
    return frames.from_delayed(moved, meta=data._meta, divisions=tuple(starts))


def _index_from(part: Any, start: int) -> Any:
    """A partition whose index is moved."""
    moved = part.copy()
    moved.index += start
    return moved


@api_guard.unguarded
def extract_dask_labels(labels: Any) -> Any:
    """As extract_dask_data, of labels.

    Raises:
        ValueError: a DataFrame has several columns.
    """
    if _is_a(labels, "dask.dataframe", "DataFrame") and len(labels.columns) > 1:
        raise ValueError("Only one column for labels is allowed.")
    return extract_dask_data(labels)
