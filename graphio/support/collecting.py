"""Pauses of Python's collector of cycles while much is made that stays."""

from __future__ import annotations

import functools
import gc
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

__all__ = ["without_collector"]

P = ParamSpec("P")
R = TypeVar("R")
_lock = threading.Lock()
_inside = 0  # calls, of all threads
_was_enabled = False


def without_collector(function: Callable[P, R]) -> Callable[P, R]:
    """The function, during which no cycles are looked for: it makes objects by the thousand of
    which none is free before it ends, and each look takes longer than the one before."""

    @functools.wraps(function)
    def call(*arguments: P.args, **options: P.kwargs) -> R:
        _enter()
        try:
            return function(*arguments, **options)
        finally:
            _leave()

    return call


def _enter() -> None:
    global _inside, _was_enabled
    with _lock:
        if not _inside:
            _was_enabled = gc.isenabled()
            gc.disable()
        _inside += 1


def _leave() -> None:
    global _inside
    with _lock:
        _inside -= 1
        if not _inside and _was_enabled:
            gc.enable()
