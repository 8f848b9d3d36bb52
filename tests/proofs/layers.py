"""File layers that the real Saver is made to write through."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from graphio.schema import files


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
