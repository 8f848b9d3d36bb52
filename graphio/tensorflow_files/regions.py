"""The values of one body, branch or loop of a TensorFlow graph while it is built."""

from __future__ import annotations

from typing import Any

from graphio.framework.graph import Operation
from graphio.tensorflow_files.bodies import Body, Key
from graphio.tensorflow_files.frames import Frames

__all__ = ["Broken", "Region"]


class Broken(Exception):
    """Raised where an input could not be built; its error is noted already."""


class Region:
    """Values by node in one body, one branch or one loop; inner ones see those of the outer.

    Args:
        body: whose nodes these are.
        frames: the body's loops and branches.
        outer: the region around a branch.
        predicate: that of the branch.
    """

    def __init__(
        self, body: Body, frames: Frames, outer: Region | None = None, predicate: Key | None = None
    ) -> None:
        self.body, self.frames, self.outer, self.predicate = body, frames, outer, predicate
        self.values: dict[str, list[Any]] = {}
        self.effects: dict[str, list[Operation]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.values or (self.outer is not None and name in self.outer)

    def find(self, key: Key) -> Any:
        """A value; None: it could not be made. Raises ValueError where nothing makes it."""
        name, output = key
        if name not in self.values:
            if self.outer is None:
                raise ValueError(f"'{name}' is read outside its loop or branch")
            return self.outer.find(key)
        found = self.values[name]
        if output >= len(found) and None in found:
            return None
        if output >= len(found):
            raise ValueError(f"'{name}' makes {len(found)} outputs, number {output} is read")
        return found[output]
