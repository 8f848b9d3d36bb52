"""How much Python does in a call: lines and calls, which do not depend on the machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def operations(work: Callable[[], object]) -> int:
    """Lines run and functions called, each turn of a loop on one line included.

    What one call of a built-in function does is one operation: a scan by `in` or `list.remove` is
    not seen.
    """
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count
