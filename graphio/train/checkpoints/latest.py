"""Restoring from a folder in which another process saves and deletes, or a crash has damaged."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from graphio.schema.checkpoint_index import read_index
from graphio.support import api_guard, errors
from graphio.train.checkpoints import restoring
from graphio.train.checkpoints.checkpoint_state import (
    checkpoint_exists,
    indexes_count,
    latest_checkpoint,
    read_state,
)
from graphio.train.checkpoints.folder_indexes import indexes, none_is_whole

if TYPE_CHECKING:
    from graphio.train.checkpoints.saver import Saver

__all__ = ["restore_latest"]


@api_guard.makes_variables
def restore_latest(
    saver: Saver,
    sess: Any,
    checkpoint_dir: str | os.PathLike[str],
    latest_filename: str | None = None,
    *,
    fall_back: bool = False,
    **options: Any,
) -> str | None:
    """Restores the newest checkpoint of a folder, be it that of a run that goes on.

    A checkpoint that the run deletes while it is being restored is not an error: the one that is
        the
    newest then is restored. In a folder that has lost its list, what is restored counts as listed:
    a save under its name deletes it when it is one too many.

    Args:
        saver: whose variables are restored.
        sess: the session.
        checkpoint_dir: the folder.
        latest_filename: of the state file; None: "checkpoint".
        fall_back: True restores the one before, with a warning, where the newest is damaged.
        options: further arguments of Saver.restore.

    Returns:
        The prefix of what was restored; None if the folder has no checkpoint.

    Raises:
        DataLossError: the newest is damaged; with fall_back: all are; or no index is valid.
        UnimplementedError: a newer graphio wrote the newest, or may have.
        ValueError, OpError: see Saver.restore.
    """
    damaged: dict[str, str] = {}
    while True:
        found = _newest_but(damaged, checkpoint_dir, latest_filename)
        if found is None:
            if damaged and indexes_count(checkpoint_dir, latest_filename):
                damaged.update(indexes(os.fspath(checkpoint_dir))[1])
            break
        save_id = _save_id(found)
        try:
            saver.restore(sess, found, **options)
            break
        except (ValueError, errors.NotFoundError, errors.DataLossError) as error:
            if not checkpoint_exists(found) or _save_id(found) != save_id:
                continue
            if not fall_back or not isinstance(error, errors.DataLossError):
                raise
            damaged[found] = restoring.without_advice(error)
    _tell(damaged, found, checkpoint_dir)
    if found is not None:
        saver._go_on_from(found)
    return found


def _newest_but(
    damaged: Iterable[str], folder: str | os.PathLike[str], latest_filename: str | None
) -> str | None:
    """The newest checkpoint of the folder's list that is not among the damaged ones."""
    found = latest_checkpoint(folder, latest_filename)
    if found is None or found not in damaged:
        return found
    state = read_state(folder, latest_filename)
    listed = state.all_model_checkpoint_paths if state is not None else []
    for prefix in [*reversed(listed), *reversed(indexes(os.fspath(folder))[0])]:
        if prefix not in damaged and checkpoint_exists(prefix):
            return prefix
    return None


def _tell(damaged: dict[str, str], found: str | None, folder: str | os.PathLike[str]) -> None:
    if not damaged:
        return
    if found is None:
        raise none_is_whole(folder, damaged)
    what = "; ".join(f"{prefix!r}: {error}" for prefix, error in damaged.items())
    warnings.warn(
        f"going on from {found!r}, because what is newer is damaged: {what}", stacklevel=3
    )


def _save_id(prefix: str) -> int | None:
    try:
        return read_index(prefix).save_id
    except errors.OpError:
        return None
