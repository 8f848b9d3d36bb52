"""Functions of the C library for files, where it was built: checksums, and a hint to the system.

The format imports no engine: graphio.cinfer.file_functions registers these functions. They are
loaded when a file needs them first, and without them there is Python.
"""

from __future__ import annotations

import functools
from typing import Any, Protocol

from graphio.support.registration import Registered

__all__ = ["Functions", "file_functions", "functions"]


class Functions(Protocol):
    """The functions of the C library."""

    def crc32c(self, data: Any, crc: int) -> int:
        """The CRC-32C of a bytes-like object, going on from crc."""

    def start(self, handle: int, offset: int, count: int) -> object:
        """Lets bytes of a file begin their way to the disk."""


#: gives the functions, or raises ImportError where they were not built
file_functions: Registered[[], Functions] = Registered("file_functions")


@functools.cache
def functions() -> Functions | None:
    """The functions; None where they were not built."""
    try:
        return file_functions()
    except ImportError:
        return None
