"""Checks of a Saver's arguments."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from graphio.train.checkpoints.retention import FOR_EVER

__all__ = ["checked_size", "is_kept", "kept"]


def checked_size(shard_bytes: Any) -> int | None:
    """The largest size of a data file. Raises TypeError, ValueError."""
    if shard_bytes is None:
        return None
    if isinstance(shard_bytes, bool) or not isinstance(shard_bytes, (int, np.integer)):
        raise TypeError(f"shard_bytes must be a number of bytes or None, not {shard_bytes!r}")
    if shard_bytes <= 0:
        raise ValueError(f"shard_bytes is {shard_bytes}, expected a positive number of bytes")
    return int(shard_bytes)


def kept(max_to_keep: Any, hours: Any) -> tuple[int, float]:
    """The number of checkpoints to keep, 0 for all, and the hours between those kept for good.

    Raises:
        TypeError, ValueError: an argument is of another type, or out of range.
    """
    if max_to_keep is not None and not isinstance(max_to_keep, (int, np.integer)):
        raise TypeError(f"max_to_keep must be an int or None, not {max_to_keep!r}")
    if hours is not None and not isinstance(hours, (int, float, np.number)):
        raise TypeError(f"keep_checkpoint_every_n_hours must be a number, not {hours!r}")
    if hours is not None and not hours >= 0:
        raise ValueError(f"keep_checkpoint_every_n_hours is {hours}, expected 0 or more")
    return max(int(max_to_keep or 0), 0), FOR_EVER if hours is None else float(hours)


def is_kept(pair: Any) -> bool:
    """Whether it is a path with a moment."""
    return (
        isinstance(pair, (list, tuple))
        and len(pair) == 2
        and isinstance(pair[0], (str, os.PathLike))
        and isinstance(pair[1], (int, float, np.number))
    )
