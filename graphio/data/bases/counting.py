"""Stages whose position is the number of items that were given: a saved one is found by reading."""

from __future__ import annotations

from typing import Any

from graphio.data.stages import Stage
from graphio.support import errors

__all__ = ["Counting"]

_BLOCK = 1024  # items that are read at a time, and dropped


class Counting(Stage):
    """The base of stages that read something from its beginning.

    Attributes:
        items: what they give, in words.
    """

    first = 0
    items = "items"

    def restart(self) -> None:
        self.close()
        self.position = 0

    def set_saved_position(self, saved_position: Any) -> None:
        self.restart()
        target = self.counted(saved_position)
        while self.position < target:
            if not self.pull(min(target - self.position, _BLOCK)):
                raise errors.DataLossError(
                    message=f"there are {self.position} {self.items}, fewer than the saved "
                    f"position {target} [{self.what}]"
                )
