"""The C library's functions for files, as graphio.storage.native has them."""

from __future__ import annotations

import sys
from typing import Any, cast

from graphio.cinfer._native import ffi, lib
from graphio.storage import native

__all__ = ["crc32c", "start"]

start = lib.ci_file_start


def crc32c(data: Any, crc: int) -> int:
    """The CRC-32C of a bytes-like object, going on from crc."""
    view = ffi.from_buffer(data)
    return int(lib.ci_crc32c(crc, view, len(view)))


@native.file_functions.register
def _functions() -> native.Functions:
    """This module."""
    return cast(native.Functions, sys.modules[__name__])
