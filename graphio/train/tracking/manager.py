"""CheckpointManager: keeps the newest checkpoints of a Checkpoint."""

from __future__ import annotations

import os
import time
from typing import Any

from graphio.storage.gfile import makedirs
from graphio.train.checkpoints.checkpoint_state import (
    checkpoint_exists,
    get_checkpoint_state,
    update_checkpoint_state,
)
from graphio.train.checkpoints.retention import remove_checkpoint
from graphio.train.tracking.checkpoint import Checkpoint
from graphio.train.tracking.status import session_of
from graphio.variables.variables import Variable

__all__ = ["CheckpointManager"]


class CheckpointManager:
    """Saves a Checkpoint under numbers, and deletes old ones.

    Args:
        checkpoint: the Checkpoint.
        directory: folder of the checkpoints; made if it is not there. Those that a manager saved
            there before are kept and deleted as if this one had saved them; others stay.
        max_to_keep: number of checkpoints to keep; None: all.
        keep_checkpoint_every_n_hours: one in so many hours is not deleted; None: none.
        checkpoint_name: beginning of their names.

    Raises:
        ValueError: max_to_keep is not positive.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: Any,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
    ) -> None:
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(
                f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}."
            )
        self._checkpoint, self._directory = checkpoint, os.fspath(directory)
        self._most, self._hours = max_to_keep, keep_checkpoint_every_n_hours
        self._prefix = os.path.join(self._directory, checkpoint_name)
        makedirs(self._directory)
        state, now = get_checkpoint_state(self._directory), time.time()
        self._kept: dict[str, float] = {}
        # a second earlier, so that a manager that is made at once after the first save finds it
        self._preserved = now - 1.0
        self._latest: str | None = None
        if state is not None:
            self._latest = state.model_checkpoint_path
            self._preserved = min(state.last_preserved_timestamp or 0.0, now)
            for path, saved in zip(
                state.all_model_checkpoint_paths,
                state.all_model_checkpoint_timestamps,
                strict=False,
            ):  # no times: saved without a manager
                if min(saved, now) > self._preserved:
                    self._kept[path] = min(saved, now)

    @property
    def checkpoints(self) -> list[str]:
        """The paths that are kept, the newest last."""
        return list(self._kept)

    @property
    def latest_checkpoint(self) -> str | None:
        """The newest path; None: there is none."""
        return self._latest

    def save(self, checkpoint_number: Any = None) -> str:
        """Saves, in the default session, and deletes what is too old.

        Args:
            checkpoint_number: of the name: an integer or a variable; None: the number of the save.

        Returns:
            The path.
        """
        session = session_of(None, "CheckpointManager.save")
        self._checkpoint._start_counter(session)
        counter = self._checkpoint._counter()
        count = int(session.run(counter)) + 1
        counter.load(count, session)
        number = count if checkpoint_number is None else checkpoint_number
        if isinstance(number, Variable):
            number = session.run(number)
        path = self._checkpoint.write(f"{self._prefix}-{int(number)}", session)
        self._kept.pop(path, None)
        self._kept[path], self._latest = time.time(), path
        old = self._dropped()
        update_checkpoint_state(
            self._directory, path, self.checkpoints,
            all_model_checkpoint_timestamps=list(self._kept.values()),
            last_preserved_timestamp=self._preserved,
        )  # fmt: skip
        for one in old:
            if checkpoint_exists(one):
                remove_checkpoint(one)
        return path

    def _dropped(self) -> list[str]:
        """Takes the oldest ones off the list; gives those to delete."""
        found = []
        while self._most is not None and len(self._kept) > self._most:
            path, saved = next(iter(self._kept.items()))
            del self._kept[path]
            if self._hours is not None and saved - self._preserved >= self._hours * 3600:
                self._preserved = saved
            else:
                found.append(path)
        return found
