"""File layers that the real Saver is made to write through."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

from graphio.storage import files


@contextlib.contextmanager
def through(layer: files.FileLayer) -> Iterator[None]:
    """Inside, all of graphio's writing goes through `layer`."""
    system = files.SYSTEM
    kind, state = type(system), system.__dict__
    system.__class__, system.__dict__ = type(layer), layer.__dict__
    try:
        yield
    finally:
        system.__class__, system.__dict__ = kind, state


class InPlace(files.FileLayer):
    """Writes files under their final names, and slowly: what programs do that lose data."""

    def create(self, path: str) -> int:
        """Empties the file that the temporary one would replace."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        return os.open(_final(path), flags, 0o666)

    def write(self, handle: int, data: memoryview) -> int:
        """Takes its time."""
        time.sleep(0.003)
        return super().write(handle, data)

    def rename(self, old: str, new: str) -> None:
        """Nothing, where the name is the final one already."""
        if not files.is_temporary(os.path.basename(old)):
            super().rename(old, new)

    def remove(self, path: str) -> None:
        """As ever: an error leaves half a file."""
        if not files.is_temporary(os.path.basename(path)):
            super().remove(path)


def _final(path: str) -> str:
    """The name that a temporary file will get."""
    folder, name = os.path.split(path)
    return os.path.join(folder, name.split("-", 2)[2] if files.is_temporary(name) else name)
