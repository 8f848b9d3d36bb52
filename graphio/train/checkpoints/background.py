"""Background saves: one job at a time in a separate thread, and reused snapshot buffers."""

from __future__ import annotations

import atexit
import collections
import contextlib
import functools
import importlib
import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphio.support import errors

__all__ = ["Background", "Memory"]

Array = np.ndarray[Any, Any]
_ALIGN = 64


class Memory:
    """Copies of arrays, side by side in one block; the next copies go to the same block.

    The system gives a large block in large pages, which makes the first copy cheaper.
    """

    def __init__(self) -> None:
        self._block = np.empty(0, np.uint8)

    def copies(self, views: Mapping[str, Array]) -> dict[str, Array]:
        """Copies by name; those of the call before are gone."""
        size = sum(_aligned_bytes(view) for view in views.values())
        if self._block.size < size:
            self.release()  # first: the old and the new block are never both there
            self._block = np.empty(size, np.uint8)
        copies, offset = {}, 0
        for name, view in views.items():
            if view.dtype.hasobject:
                copies[name] = view.copy()
                continue
            memory = self._block[offset : offset + view.nbytes]
            copies[name] = memory.view(view.dtype).reshape(view.shape)
            np.copyto(copies[name], view)
            offset += _aligned_bytes(view)
        return copies

    def release(self) -> None:
        """Lets the memory go."""
        self._block = np.empty(0, np.uint8)


def _aligned_bytes(array: Array) -> int:
    """Bytes of a block for an array, so that the next one is aligned."""
    return 0 if array.dtype.hasobject else -(-array.nbytes // _ALIGN) * _ALIGN


class Background:
    """Runs jobs one after the other in a thread and keeps their errors until a call reports them.

    The process does not end before the job has (the thread is not a daemon). After os.fork() a
    child has neither the job nor its failure: both are the parent's.

    Attributes:
        turn: held while a job is put together and started.
    """

    def __init__(self) -> None:
        self.forget()
        _all.add(self)

    def forget(self) -> None:
        """Resets to the initial state; a child of os.fork() begins with it."""
        self.turn = threading.RLock()
        self._done: threading.Event | None = None
        self._failures: collections.deque[BaseException] = collections.deque()

    def start(self, what: str, job: Callable[[], None]) -> None:
        """Begins a job when the one before has ended; see wait for the errors.

        Args:
            what: how messages call it, "the save of 'm-3'".
            job: what to do.
        """
        self.join()
        _finish_at_exit()
        done = self._done = threading.Event()

        def run() -> None:
            nonlocal job
            try:
                time.sleep(0.001)  # the caller, which waits for the interpreter, goes on first
                job()
            except BaseException as error:
                self._failures.append(_named(error, what))
                _unseen.add(self)
            finally:
                del job  # with all that it holds, before a waiting caller continues
                done.set()

        thread = threading.Thread(target=run, name="graphio-save", daemon=False)
        try:
            thread.start()
        except RuntimeError:  # no more threads, or the interpreter is ending
            run()
        except BaseException:
            if thread.ident is None:  # no thread would ever end it
                self._done = None
            raise

    def running(self) -> bool:
        """Whether a job has not ended."""
        return self._done is not None and not self._done.is_set()

    def join(self) -> None:
        """Waits until the job has ended. An interrupt ends the waiting, not the job."""
        if self._done is not None:
            self._done.wait()

    def wait(self) -> None:
        """Waits until the job has ended; raises its error, once."""
        self.join()
        try:
            failure = self._failures.popleft()
        except IndexError:
            return
        _unseen.discard(self)
        raise failure


_all: weakref.WeakSet[Background] = weakref.WeakSet()
#: those with an unreported error; they must not be collected before it was reported
_unseen: set[Background] = set()


def _named(error: BaseException, what: str) -> BaseException:
    """The error with what failed in its message, of the same class if it is one of ours."""
    kind = type(error) if isinstance(error, errors.OpError) else errors.UnknownError
    detail = str(error) if isinstance(error, errors.OpError) else repr(error)
    made = kind(message=f"{what} in the background failed: {detail}")
    if isinstance(error, OSError) and isinstance(made, OSError):
        made.errno, made.filename = error.errno, error.filename
    made.__cause__ = error
    return made


@functools.cache
def _finish_at_exit() -> None:
    """Lets jobs end before the interpreter stops executors: clients of object stores need them.

    Its hooks run last in, first out, and that of executors comes with their import.
    """
    importlib.import_module("concurrent.futures.thread")
    register = getattr(threading, "_register_atexit", None)
    if register is not None:
        with contextlib.suppress(RuntimeError):  # the interpreter is ending already
            register(_join_all)


def _join_all() -> None:
    for background in list(_all):
        background.join()


@atexit.register
def _tell_the_unseen() -> None:
    """The threads have ended by now: the interpreter waits for them before this is called."""
    while _unseen:
        background = _unseen.pop()
        for failure in background._failures:
            warnings.warn(str(failure), RuntimeWarning, stacklevel=2)


def _after_fork() -> None:
    _unseen.clear()
    for background in list(_all):
        background.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
