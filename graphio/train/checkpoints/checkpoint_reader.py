"""Looking into checkpoints without a graph."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.storage import stores
from graphio.support import api_guard, errors
from graphio.train.checkpoints.checkpoint_state import STATE_FILE, latest_checkpoint
from graphio.train.interop.sources import CheckpointSource, open_source

__all__ = [
    "CheckpointReader",
    "NewCheckpointReader",
    "list_variables",
    "load_checkpoint",
    "load_variable",
]


class CheckpointReader:
    """The variables of one checkpoint; a variable is read and checked when it is requested.

    Args:
        filepattern: the checkpoint's prefix, or another file that tf.train.Saver.restore reads.

    Attributes:
        where: the path, or what messages call it.

    Raises:
        NotFoundError: there is none.
        DataLossError: it is damaged.
    """

    def __init__(self, filepattern: Any) -> None:
        try:
            self._source = open_source(filepattern, lazy=True)
        except errors.NotFoundError as error:
            text = (
                "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for "
            )
            raise errors.NotFoundError(message=f"{text}{filepattern}: {error.message}") from None
        self._entries = self._source.entries()
        self.where = str(filepattern) if _is_path(filepattern) else self._source.what

    def __repr__(self) -> str:
        return f"<tf.train.CheckpointReader of {self.where!r}: {len(self._entries)} variables>"

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Name to shape."""
        return {name: list(entry.dims) for name, entry in self._entries.items()}

    def get_variable_to_dtype_map(self) -> dict[str, dtypes.DType]:
        """Name to dtype."""
        return {name: dtypes.of_number(entry.dtype) for name, entry in self._entries.items()}

    def has_tensor(self, tensor_str: str) -> bool:
        """Whether there is a variable of that name."""
        return tensor_str in self._entries

    def get_tensor(self, tensor_str: str) -> Any:
        """A variable's value, a fresh array, a numpy scalar if it has no dimensions.

        Raises:
            NotFoundError: there is none of that name.
            DataLossError: it is damaged.
        """
        if tensor_str not in self._entries:
            raise errors.NotFoundError(message=f"Key {tensor_str} not found in checkpoint")
        return np.array(self._source.array(tensor_str))[()]

    def blobs(self) -> list[str]:
        """Names of the bytes that Saver.save and its objects put in, sorted."""
        resources = self._source.resources
        return sorted(name for name, state in resources.items() if isinstance(state, bytes))

    def get_blob(self, name: str) -> bytes:
        """The bytes of a blob. Raises NotFoundError."""
        found = self._source.resources.get(name)
        if not isinstance(found, bytes):
            has = ", ".join(self.blobs()) or "none"
            raise errors.NotFoundError(message=f"Blob {name} not found in checkpoint: it has {has}")
        return found

    def metrics(self) -> dict[str, float]:
        """The numbers that were given to Saver.save, by name; {} in files of others."""
        source = self._source
        return source.checkpoint.metrics if isinstance(source, CheckpointSource) else {}

    def debug_string(self) -> bytes:
        """A line a variable, with TensorFlow's names of the dtypes."""
        kinds = self.get_variable_to_dtype_map()
        lines = [
            f"{name} (DT_{kinds[name].proto_name.upper()}) [{','.join(map(str, dims))}]\n"
            for name, dims in self.get_variable_to_shape_map().items()
        ]
        return "".join(lines).encode()


@api_guard.guarded
def NewCheckpointReader(filepattern: str) -> CheckpointReader:
    """As CheckpointReader."""
    return CheckpointReader(filepattern)


@api_guard.guarded
def load_checkpoint(ckpt_dir_or_file: Any) -> CheckpointReader:
    """A reader of a checkpoint.

    Args:
        ckpt_dir_or_file: a prefix, another file that tf.train.Saver.restore reads, or a folder,
            whose newest checkpoint is taken.

    Raises:
        ValueError: the folder has none.
        NotFoundError: there is no such checkpoint.
    """
    return CheckpointReader(resolved(ckpt_dir_or_file))


def _is_path(where: Any) -> bool:
    return isinstance(where, (str, bytes, os.PathLike))


def resolved(where: Any) -> Any:
    """The newest checkpoint of a folder; a path that is not a folder, or is one model, as it is.

    Raises:
        ValueError: the folder has none.
    """
    if not _is_path(where):
        return where
    path = os.fsdecode(where)
    if not _is_folder(path):
        return path
    newest = latest_checkpoint(path)
    if newest is None and not _is_foreign(path):
        raise ValueError(
            f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}"
        )
    return newest or path


def _is_folder(where: str) -> bool:
    if not stores.is_remote(where):
        return os.path.isdir(stores.plain(where))
    return stores.of_folder(where).exists(STATE_FILE)


def _is_foreign(folder: str) -> bool:
    """Whether it is one model in the files of another framework."""
    try:
        open_source(folder)
    except (errors.NotFoundError, errors.InvalidArgumentError):
        return False
    return True


@api_guard.guarded
def load_variable(ckpt_dir_or_file: Any, name: str) -> Any:
    """A variable's value, a fresh array; errors as load_checkpoint, and NotFoundError."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


@api_guard.guarded
def list_variables(ckpt_dir_or_file: Any) -> list[tuple[str, list[int]]]:
    """Names and shapes, sorted by name; errors as load_checkpoint."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())
