"""Short tracebacks: an error of a public function shows the program's lines, not those of graphio.

The complete traceback is shown after `tf.debugging.disable_traceback_filtering()`, or where the
environment variable GRAPHIO_FULL_TRACEBACKS is set.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import ParamSpec, TypeVar

from graphio.framework import source
from graphio.support import api_guard

__all__ = [
    "disable_traceback_filtering",
    "enable_traceback_filtering",
    "is_traceback_filtering_enabled",
    "shorten",
    "shorten_cause",
    "shortening",
]

P = ParamSpec("P")
R = TypeVar("R")


class _Thread(threading.local):
    def __init__(self) -> None:
        self.short = not os.environ.get("GRAPHIO_FULL_TRACEBACKS")


_thread = _Thread()


@api_guard.unguarded
def enable_traceback_filtering() -> None:
    """Leaves graphio's own frames out of the tracebacks of errors in this thread: the default,
    unless the environment variable GRAPHIO_FULL_TRACEBACKS is set."""
    _thread.short = True


@api_guard.unguarded
def disable_traceback_filtering() -> None:
    """Keeps all frames in the tracebacks of errors in this thread."""
    _thread.short = False


@api_guard.unguarded
def is_traceback_filtering_enabled() -> bool:
    """Whether tracebacks of this thread's errors are short."""
    return _thread.short


def shorten(error: BaseException) -> None:
    """Leaves graphio's frames out of an error's traceback, behind the frame that calls this, and
    out of those of the errors that led to it, of which the last frame stays. Does nothing where
    graphio itself has called that frame: the outermost call of graphio shortens all of it."""
    first = error.__traceback__
    if first is None or not _is_called_by_the_program(first):
        return
    _link(first, [at for at in _entries(first.tb_next) if not _is_ours(at)])
    for earlier in _earlier(error):
        _shorten_earlier(earlier)


def shortening(function: Callable[P, R]) -> Callable[P, R]:
    """The function, whose errors have short tracebacks."""

    @functools.wraps(function)
    def call(*arguments: P.args, **options: P.kwargs) -> R:
        try:
            return function(*arguments, **options)
        except Exception as error:
            shorten(error)
            raise

    return call


def shorten_cause(error: BaseException) -> None:
    """Shortens an error that is about to be the cause of another one: its last frame stays, which
    says where it came from."""
    if error.__traceback__ is not None and _is_called_by_the_program(error.__traceback__):
        for earlier in (error, *_earlier(error)):
            _shorten_earlier(earlier)


def _is_called_by_the_program(at: TracebackType) -> bool:
    """Whether tracebacks are short, and the frame is one that the program has called."""
    caller = at.tb_frame.f_back
    return _thread.short and not (
        caller is not None and source.is_inside(caller.f_code.co_filename)
    )


def _shorten_earlier(error: BaseException) -> None:
    entries = list(_entries(error.__traceback__))
    kept = [at for at in entries if not _is_ours(at)] or entries[-1:]
    if kept:
        _link(kept[0], kept[1:])
        error.__traceback__ = kept[0]


def _entries(at: TracebackType | None) -> Iterator[TracebackType]:
    while at is not None:
        yield at
        at = at.tb_next


def _is_ours(at: TracebackType) -> bool:
    return source.is_inside(at.tb_frame.f_code.co_filename)


def _link(first: TracebackType, following: list[TracebackType]) -> None:
    for at in following:
        first.tb_next = at
        first = at
    first.tb_next = None


def _earlier(error: BaseException) -> Iterator[BaseException]:
    """The causes and contexts of an error, each once."""
    seen = {id(error)}
    pending = [error.__cause__, error.__context__]
    while pending:
        found = pending.pop()
        if found is not None and id(found) not in seen:
            seen.add(id(found))
            pending += [found.__cause__, found.__context__]
            yield found
