"""Restoring from a folder in which another process saves and deletes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from graphio.schema import errors
from graphio.schema.checkpoint_index import read_index
from graphio.train.checkpoint_state import checkpoint_exists, latest_checkpoint

if TYPE_CHECKING:
    from graphio.train.saver import Saver

__all__ = ["restore_latest"]


def restore_latest(
    saver: Saver,
    sess: Any,
    checkpoint_dir: str | os.PathLike[str],
    latest_filename: str | None = None,
    **options: Any,
) -> str | None:
    """Restores the newest checkpoint of a folder, be it that of a run that goes on.

    A checkpoint that the run deletes while it is being restored is no error: the one that is the
    newest then is restored.

    Args:
        saver: whose variables are restored.
        sess: the session.
        checkpoint_dir: the folder.
        latest_filename: of the state file; None: "checkpoint".
        options: further arguments of Saver.restore.

    Returns:
        The prefix of what was restored; None if the folder has no checkpoint.

    Raises:
        ValueError, OpError: see Saver.restore.
    """
    while True:
        found = latest_checkpoint(checkpoint_dir, latest_filename)
        if found is None:
            return None
        save_id = _save_id(found)
        try:
            saver.restore(sess, found, **options)
            return found
        except (ValueError, errors.NotFoundError, errors.DataLossError):
            if checkpoint_exists(found) and _save_id(found) == save_id:
                raise


def _save_id(prefix: str) -> int | None:
    try:
        return read_index(prefix).save_id
    except errors.OpError:
        return None
