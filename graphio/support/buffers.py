"""Memory for arrays that are overwritten at once: restored values, copies for a snapshot."""

from __future__ import annotations

import contextlib
import math
import mmap
from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
LARGE = 1 << 22  # bytes from which on large pages pay
_PAGE = 1 << 21  # bytes of a large page


def uncleared(dims: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """numpy.empty; a large array begins where a large page does.

    The system gives memory when it is first written to, page by page, which takes as long as
    reading a cached file. numpy asks for large pages too, but cuts off the first and the last.
    """
    nbytes = math.prod(dims) * dtype.itemsize
    if nbytes < LARGE or dtype.hasobject or not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.empty(dims, dtype)
    try:  # the bytes outside of the array are never touched
        block = mmap.mmap(-1, nbytes + _PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:
        return np.empty(dims, dtype)
    memory = np.frombuffer(block, np.uint8)
    start = -memory.ctypes.data % _PAGE
    with contextlib.suppress(OSError):  # a kernel without large pages
        block.madvise(mmap.MADV_HUGEPAGE, start, nbytes)
    return memory[start : start + nbytes].view(dtype).reshape(dims)
