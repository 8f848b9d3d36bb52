"""PythonState: bytes of a program in a checkpoint of objects."""

from __future__ import annotations

from typing import Any

__all__ = ["PythonState"]


class PythonState:
    """A part of tf.train.Checkpoint that is saved as a string; subclasses give both methods."""

    def serialize(self) -> Any:
        """The string to save: text or bytes."""
        raise NotImplementedError

    def deserialize(self, string_value: bytes) -> None:
        """Takes the string of a checkpoint."""
        raise NotImplementedError
