"""Reading checkpoints, with the names that the arguments have in tf.contrib."""

from __future__ import annotations

from typing import Any

from graphio.support import api_guard
from graphio.train.checkpoints import checkpoint_reader, warm_starting

__all__ = ["init_from_checkpoint", "list_variables", "load_checkpoint", "load_variable"]


@api_guard.guarded
def load_checkpoint(filepattern: Any) -> checkpoint_reader.CheckpointReader:
    """tf.train.load_checkpoint of a file, or of a folder with checkpoints."""
    return checkpoint_reader.load_checkpoint(filepattern)


@api_guard.guarded
def load_variable(checkpoint_dir: Any, name: str) -> Any:
    """tf.train.load_variable of a file, or of a folder with checkpoints."""
    return checkpoint_reader.load_variable(checkpoint_dir, name)


@api_guard.guarded
def list_variables(checkpoint_dir: Any) -> list[tuple[str, list[int]]]:
    """tf.train.list_variables of a file, or of a folder with checkpoints."""
    return checkpoint_reader.list_variables(checkpoint_dir)


@api_guard.makes_variables
def init_from_checkpoint(checkpoint_dir: Any, assignment_map: Any) -> None:
    """tf.train.init_from_checkpoint of a file, or of a folder with checkpoints."""
    warm_starting.init_from_checkpoint(checkpoint_dir, assignment_map)
