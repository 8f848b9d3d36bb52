"""Looking into checkpoints without a graph."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from graphio import dtypes
from graphio.schema import stores
from graphio.schema.checkpoint import Checkpoint, read_checkpoint
from graphio.train.checkpoint_state import STATE_FILE, latest_checkpoint

__all__ = [
    "CheckpointReader",
    "NewCheckpointReader",
    "list_variables",
    "load_checkpoint",
    "load_variable",
]


class CheckpointReader:
    """The variables of one checkpoint; a variable is read and checked when it is asked for.

    Args:
        filepattern: the checkpoint's prefix.

    Raises:
        NotFoundError: there is none.
        DataLossError: it is damaged.
    """

    def __init__(self, filepattern: str) -> None:
        self._checkpoint: Checkpoint = read_checkpoint(filepattern, lazy=True)
        self._rows = {v.name: v for v in self._checkpoint.index.variable}

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Name to shape."""
        return {name: list(row.dims) for name, row in self._rows.items()}

    def get_variable_to_dtype_map(self) -> dict[str, dtypes.DType]:
        """Name to dtype."""
        return {name: dtypes.of_number(row.dtype) for name, row in self._rows.items()}

    def has_tensor(self, tensor_str: str) -> bool:
        """Whether there is a variable of that name."""
        return tensor_str in self._rows

    def get_tensor(self, tensor_str: str) -> Any:
        """A variable's value, a fresh array. Raises NotFoundError, DataLossError."""
        return np.array(self._checkpoint.variables[tensor_str])

    def debug_string(self) -> bytes:
        """A line a variable."""
        kinds = self.get_variable_to_dtype_map()
        lines = [f"{n} ({kinds[n].name}) {list(row.dims)}\n" for n, row in self._rows.items()]
        return "".join(lines).encode()


def NewCheckpointReader(filepattern: str) -> CheckpointReader:
    """As CheckpointReader."""
    return CheckpointReader(filepattern)


def load_checkpoint(ckpt_dir_or_file: str | os.PathLike[str]) -> CheckpointReader:
    """A reader of a checkpoint.

    Args:
        ckpt_dir_or_file: a prefix, or a folder, whose newest checkpoint is taken.

    Raises:
        ValueError: the folder has none.
        NotFoundError: there is no such checkpoint.
    """
    where = os.fspath(ckpt_dir_or_file)
    if _is_folder(where):
        newest = latest_checkpoint(where)
        if newest is None:
            raise ValueError(
                f"Couldn't find 'checkpoint' file or checkpoints in given directory {where}"
            )
        where = newest
    return CheckpointReader(where)


def _is_folder(where: str) -> bool:
    if not stores.is_remote(where):
        return os.path.isdir(stores.plain(where))
    return stores.of_folder(where).exists(STATE_FILE)


def load_variable(ckpt_dir_or_file: str | os.PathLike[str], name: str) -> Any:
    """A variable's value, a fresh array; errors as load_checkpoint, and NotFoundError."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


def list_variables(ckpt_dir_or_file: str | os.PathLike[str]) -> list[tuple[str, list[int]]]:
    """Names and shapes, sorted by name; errors as load_checkpoint."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())
