"""Functions of the C library for files, where it was built: checksums, and a hint to the system.

The format imports no engine. The root of the package says where these functions come from; they are
loaded when a file needs them first, and without them there is Python.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["Functions", "functions", "provide"]


class Functions(Protocol):
    """The functions of the C library."""

    def crc32c(self, data: Any, crc: int) -> int:
        """The CRC-32C of a bytes-like object, going on from crc."""

    def start(self, handle: int, offset: int, count: int) -> object:
        """Lets bytes of a file begin their way to the disk."""


_load: Callable[[], Functions] | None = None


def provide(load: Callable[[], Functions]) -> None:
    """Says how the functions are loaded; `load` raises ImportError where they were not built."""
    global _load
    _load = load
    functions.cache_clear()


@functools.cache
def functions() -> Functions | None:
    """The functions; None where they were not built."""
    try:
        return None if _load is None else _load()
    except ImportError:
        return None
