"""The interface of state that a Saver keeps as several tensors, apart from variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["SavedParts"]

Array = np.ndarray[Any, Any]


class SavedParts:
    """State of a session that checkpoints have as tensors.

    Attributes:
        saved_name: the beginning of the tensors' names in checkpoints.
    """

    saved_name: str

    def declared(self) -> Mapping[str, tuple[int, Sequence[int | None]]]:
        """The tensors: the rest of each name to its dtype and shape."""
        raise NotImplementedError

    def arrays(self, session: Any) -> list[Array]:
        """The tensors' values in a session, in the order of declared."""
        raise NotImplementedError

    def load(self, session: Any, arrays: Sequence[Array]) -> None:
        """Gives a session these values."""
        raise NotImplementedError

    def snapshot(self, session: Any) -> Callable[[], None]:
        """A function that gives the session the values of now again."""
        raise NotImplementedError
