"""The sources of restored values: our checkpoints, files of other frameworks, arrays."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from graphio.schema import checkpoint, checkpoint_index, dtypes
from graphio.storage import files, stores
from graphio.support import errors
from graphio.train.interop import formats
from graphio.train.interop.source import Entry, Resource, Source

__all__ = [
    "ArraysSource",
    "CheckpointSource",
    "Entry",
    "Resource",
    "Source",
    "open_source",
]

Array = np.ndarray[Any, Any]


class CheckpointSource:
    """A checkpoint of ours.

    Args:
        prefix: of its files' names.
        lazy: True checks a variable when it is requested, False all bytes now.

    Raises:
        NotFoundError, DataLossError, UnimplementedError: as read_checkpoint.
    """

    skipped: Mapping[str, str] = {}

    def __init__(self, prefix: str | os.PathLike[str], *, lazy: bool = False) -> None:
        self.what = f"checkpoint {os.fspath(prefix)!r}"
        with self._naming():
            self.checkpoint = checkpoint.read_checkpoint(prefix, lazy=lazy)
        self.resources: Mapping[str, Resource] = self.checkpoint.resources
        rows = self.checkpoint.index.variable
        self._entries = {row.name: Entry(row.dtype, tuple(row.dims)) for row in rows}

    def entries(self) -> Mapping[str, Entry]:
        """Name to dtype and dimensions."""
        return self._entries

    def array(self, name: str) -> Array:
        """A read-only array, a view of the mapped file. Raises NotFoundError, DataLossError."""
        with self._naming():
            return self.checkpoint.variables[name]

    @contextlib.contextmanager
    def _naming(self) -> Iterator[None]:
        """Errors of damage say in which checkpoint."""
        try:
            yield
        except errors.DataLossError as error:
            raise errors.DataLossError(message=f"{self.what}: {error.message}") from None


class ArraysSource:
    """Arrays by name, of the caller's.

    Args:
        values: name to array or what numpy makes one of.

    Raises:
        InvalidArgumentError: a value has no element type of ours.
    """

    what = "the given arrays"
    resources: Mapping[str, Resource] = {}
    skipped: Mapping[str, str] = {}

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._arrays = {name: np.asarray(value) for name, value in values.items()}
        self._entries = {
            name: Entry(dtypes.of_numpy(array.dtype).number, array.shape)
            for name, array in self._arrays.items()
        }

    def entries(self) -> Mapping[str, Entry]:
        """Name to dtype and dimensions."""
        return self._entries

    def array(self, name: str) -> Array:
        """The array. Raises NotFoundError."""
        if name not in self._arrays:
            raise errors.NotFoundError(message=f"Key {name} not found in {self.what}")
        return self._arrays[name]


def open_source(where: Any, *, lazy: bool = False, unpacked: int | None = None) -> Source:
    """Opens a source of a restore; its format is found by its bytes, not by its name.

    Args:
        where: a prefix of a checkpoint of graphio or of a TensorFlow V2 checkpoint; a file
            .safetensors, .npz, .npy, or one of torch.save's; a folder, or its `*.index.json`, as
            Hugging Face lays models out; a Source, or a mapping from names to arrays.
        lazy: True checks a variable of a checkpoint of ours when it is read, False all now.
        unpacked: bytes that the packed parts of a file may become; see graphio.schema.packed.

    Raises:
        ResourceExhaustedError: they become more.
        NotFoundError: there is no such file.
        DataLossError: it is damaged.
        InvalidArgumentError: it is none of these.
    """
    if hasattr(where, "entries") and hasattr(where, "array"):
        opened: Source = where
        return opened
    if isinstance(where, Mapping):
        return ArraysSource(where)
    path = stores.plain(where)
    if _starts_as_ours(path + ".index"):
        return CheckpointSource(path, lazy=lazy)
    return formats.open_foreign(path, unpacked)


def _starts_as_ours(path: str) -> bool:
    """Whether a checkpoint's index is there; what cannot be read now is an error."""
    try:
        if not stores.is_remote(path):
            start = files.part(path, 0, len(checkpoint_index.MAGIC))
        else:
            store, name = stores.of(path)
            start = store.read(name)[: len(checkpoint_index.MAGIC)]
    except errors.NotFoundError:
        return False
    return start == checkpoint_index.MAGIC
