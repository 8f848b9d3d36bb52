"""Tables of numbers from CSV files."""

from __future__ import annotations

import csv
import errno
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graphio.examples.tutorials.mnist.input_data import Datasets
from graphio.storage.gfile import GFile
from graphio.support import api_guard

__all__ = [
    "Dataset",
    "Datasets",
    "load_boston",
    "load_csv_with_header",
    "load_csv_without_header",
    "load_iris",
    "maybe_download",
    "retry",
    "shrink_csv",
    "urlretrieve_with_retry",
]


class Dataset(NamedTuple):
    """Samples and what is to be learned of each.

    Attributes:
        data: [n, features].
        target: [n].
    """

    data: Any
    target: Any


@api_guard.unguarded
def load_csv_with_header(
    filename: Any, target_dtype: Any, features_dtype: Any, target_column: int = -1
) -> Dataset:
    """A table whose first line begins with the numbers of rows and of features.

    Args:
        filename: the CSV file.
        target_dtype, features_dtype: numpy's dtypes.
        target_column: the column of the targets; negative: from the last one.

    Raises:
        NotFoundError: there is no such file.
        ValueError: the file has other rows than its first line says, or a field is not a number.
    """
    with GFile(filename) as file:
        header, *rows = csv.reader(file)
    samples, features = int(header[0]), int(header[1])
    found = _table(rows, target_dtype, features_dtype, target_column)
    if len(rows) > samples or (rows and found.data.shape[1:] != (features,)):
        raise ValueError(
            f"{filename} has {len(rows)} rows of {found.data.shape[1:]} features, and its first "
            f"line says {samples} rows of {features}"
        )
    # rows that the file lacks are zeros
    data = np.zeros((samples, features), features_dtype)
    target = np.zeros((samples,), target_dtype)
    data[: len(rows)], target[: len(rows)] = found.data.reshape(len(rows), features), found.target
    return Dataset(data=data, target=target)


@api_guard.unguarded
def load_csv_without_header(
    filename: Any, target_dtype: Any, features_dtype: Any, target_column: int = -1
) -> Dataset:
    """A table all of whose lines are rows. Arguments are those of load_csv_with_header.

    Raises:
        NotFoundError: there is no such file.
        ValueError: rows differ in length, or a field is not a number.
    """
    with GFile(filename) as file:
        return _table(list(csv.reader(file)), target_dtype, features_dtype, target_column)


def _table(rows: list[list[str]], target_dtype: Any, features_dtype: Any, column: int) -> Dataset:
    target = np.array([row.pop(column) for row in rows], dtype=target_dtype)
    data = np.array([np.asarray(row, dtype=features_dtype) for row in rows])
    return Dataset(data=data, target=target)


@api_guard.unguarded
def shrink_csv(filename: str, ratio: int) -> None:
    """Writes each ratio-th row of a CSV file, the first included, to a file next to it: of
    train.csv to train_small.csv."""
    with GFile(filename) as file, GFile(filename.replace(".", "_small."), "w") as small:
        writer = csv.writer(small)
        for number, row in enumerate(csv.reader(file)):
            if number % ratio == 0:
                writer.writerow(row)


@api_guard.unguarded
def load_iris(data_path: Any = None) -> Dataset:
    """Fisher's irises: four measures of 150 flowers of 3 kinds.

    Args:
        data_path: the file iris.csv in the form that load_csv_with_header reads.

    Raises:
        FileNotFoundError: no file was given: graphio has none.
    """
    return load_csv_with_header(_given(data_path, "iris.csv"), int, float)


@api_guard.unguarded
def load_boston(data_path: Any = None) -> Dataset:
    """Prices of 506 houses by 13 features.

    Args:
        data_path: the file boston_house_prices.csv in the form that load_csv_with_header reads.

    Raises:
        FileNotFoundError: no file was given: graphio has none.
    """
    return load_csv_with_header(_given(data_path, "boston_house_prices.csv"), float, float)


def _given(path: Any, name: str) -> Any:
    if path is None:
        raise FileNotFoundError(
            f"graphio has no {name}, and downloads nothing: give data_path, a CSV file whose "
            "first line begins with the numbers of rows and of features, and whose last column "
            "is the target"
        )
    return path


@api_guard.unguarded
def maybe_download(filename: str, work_directory: Any, source_url: str) -> str:
    """The path of a file in a folder.

    Args:
        source_url: where the file can be had, for the error: nothing is downloaded.

    Raises:
        FileNotFoundError: the file is not there.
    """
    path = Path(work_directory) / filename
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} is not there, and graphio downloads nothing: get {source_url} and put it there"
        )
    return str(path)


@api_guard.unguarded
def retry(
    initial_delay: float,
    max_delay: float,
    factor: float = 2.0,
    jitter: float = 0.25,
    is_retriable: Callable[[Exception], bool] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: a call that fails is repeated.

    Args:
        initial_delay: seconds before the second call; each further time factor times as long.
        max_delay: when a delay would be longer, the last call is made.
        factor: at least 1.
        jitter: each delay is multiplied by a random number between 1 - jitter and 1 + jitter.
        is_retriable: whether an error is worth another call; None: each is, without a delay.

    Raises:
        ValueError: factor is less than 1, or jitter is not less than 1.
    """
    if factor < 1:
        raise ValueError(f"factor must be >= 1; was {factor:f}")
    if jitter >= 1:
        raise ValueError(f"jitter must be < 1; was {jitter:f}")

    def delays() -> Iterator[float]:
        delay = initial_delay
        while delay <= max_delay:
            yield delay * random.uniform(1 - jitter, 1 + jitter)
            delay *= factor

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            for delay in delays():
                try:
                    return function(*arguments, **options)
                except Exception as error:
                    if is_retriable is None:
                        continue
                    if not is_retriable(error):
                        raise
                    time.sleep(delay)
            return function(*arguments, **options)

        return call

    return decorate


def _is_timeout(error: Exception) -> bool:
    return isinstance(error, OSError) and error.errno == errno.ETIMEDOUT


@api_guard.unguarded
def urlretrieve_with_retry(url: str, filename: Any = None) -> Any:
    """urllib.request.urlretrieve, which is repeated for half a minute when the time runs out.

    Args:
        filename: the file that is written; None: a temporary one.

    Returns:
        the file's path, and the headers.
    """
    # loaded at its use: it takes longer to load than all of contrib.learn
    import urllib.request

    fetch = retry(initial_delay=1.0, max_delay=16.0, is_retriable=_is_timeout)
    return fetch(urllib.request.urlretrieve)(url, filename)
