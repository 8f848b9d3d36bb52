"""Files of LMDB, read by the package lmdb, the extra `lmdb`: LMDBDataset."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from graphio.data.bases.counting import Counting
from graphio.data.dataset import Dataset
from graphio.data.stages import Item, Stage
from graphio.data.structure import Spec
from graphio.framework import api_boundary, dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.support import errors, installation

__all__ = ["LMDBDataset", "entries", "module"]

_STRING = Spec(dtypes.string, TensorShape([]))


def module(what: str) -> Any:
    """lmdb. Raises ImportError: what to install."""
    try:
        import lmdb
    except ImportError:
        raise ImportError(f"{what} needs lmdb: {installation.hint('lmdb')}") from None
    return lmdb


def entries(path: str) -> Iterator[tuple[bytes, bytes]]:
    """The keys and values of a file, or of the folder that has a data.mdb, in the order of keys.

    Raises:
        InvalidArgumentError: it cannot be opened, or is damaged.
    """
    lmdb = module("reading LMDB files")
    try:
        with (
            lmdb.open(path, readonly=True, lock=False, subdir=os.path.isdir(path)) as file,
            file.begin() as transaction,
            transaction.cursor() as cursor,
        ):
            yield from cursor
    except lmdb.Error as error:
        raise errors.InvalidArgumentError(message=str(error)) from error


class LMDBDataset(Dataset):
    """The keys and values of LMDB files: pairs of scalar strings, in the order of a file's keys.

    Args:
        filenames: a name, a list of them, or a string tensor; files, or folders with a data.mdb.

    Raises:
        ImportError: the package lmdb is not installed.

    Raises, when run:
        InvalidArgumentError: a file cannot be opened.
    """

    @api_boundary.rolling_back
    def __init__(self, filenames: Any) -> None:
        module("LMDBDataset")
        names = convert_to_tensor(filenames, dtypes.string, name="filenames")

        def opened(o: Any) -> Stage:
            found = np.asarray(o.value(names)).reshape(-1).tolist()
            return _Entries([os.fsdecode(name) for name in found])

        super().__init__((_STRING, _STRING), opened, given=[names])


class _Entries(Counting):
    """The entries of files; its position is the number of those that were given."""

    kind, items = "LMDBDataset", "entries"

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__()
        self.paths = paths
        self._running: Iterator[tuple[bytes, bytes]] | None = None

    def pull(self, count: int) -> list[Item]:
        if self._running is None:
            self._running = (entry for path in self.paths for entry in entries(path))
        found: list[Item] = []
        while len(found) < count and (entry := next(self._running, None)) is not None:
            found.append([np.array(part, object) for part in entry])
        self.position += len(found)
        return found

    def parameters(self) -> Sequence[Any]:
        return self.paths

    def close(self) -> None:
        end = getattr(self._running, "close", None)
        if end is not None:
            end()
        self._running = None
