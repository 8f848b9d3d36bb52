"""Restoring the newest checkpoint of a folder that is not damaged."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from graphio.schema import errors
from graphio.train.checkpoint_state import (
    checkpoint_exists,
    get_checkpoint_state,
    latest_checkpoint,
)

__all__ = ["restore_newest"]


def restore_newest(saver: Any, session: Any, folder: str) -> str | None:
    """Restores a folder's newest checkpoint; where it is damaged, the one before, with a warning.

    Args:
        saver: a Saver.
        session: the session that gets the values.
        folder: of checkpoints.

    Returns:
        The prefix; None if the folder has no checkpoint.

    Raises:
        DataLossError: there are checkpoints, and all are damaged.
        as Saver.restore: the checkpoint is whole but does not fit.
    """
    damaged: list[str] = []
    for prefix in _newest_first(folder):
        try:
            saver.restore(session, prefix)
        except errors.DataLossError as error:
            damaged.append(f"{prefix!r}: {error}")
            continue
        if damaged:
            warnings.warn(
                f"going on from {prefix!r}, because what is newer is damaged: {'; '.join(damaged)}",
                stacklevel=2,
            )
        return prefix
    if damaged:
        raise errors.DataLossError(
            message=f"no checkpoint of {folder!r} can be restored: {'; '.join(damaged)}. To begin "
            "anew, take another folder or move these away"
        )
    return None


def _newest_first(folder: str) -> Iterator[str]:
    latest = latest_checkpoint(folder)
    if latest is None:
        return
    yield latest
    state = get_checkpoint_state(folder)
    for prefix in reversed(state.all_model_checkpoint_paths if state is not None else []):
        if prefix != latest and checkpoint_exists(prefix):
            yield prefix
