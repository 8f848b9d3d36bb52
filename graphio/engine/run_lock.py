"""The lock of a state, which the threads of a parallel run share."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Protocol


class Inner(Protocol):
    """The interface of threading.RLock."""

    def acquire(self, *, timeout: float = ...) -> bool:
        """Takes the lock; False if that takes longer than timeout."""

    def release(self) -> None:
        """Gives it back."""

    def __enter__(self) -> bool: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...


class _Here(threading.local):
    lock: RunLock | None = None


_here = _Here()


class RunLock:
    """An RLock that other threads may share with its holder.

    A function that a parallel run calls may use the run's own state, whichever thread calls it.

    Attributes:
        inner: the RLock, for those who have no other threads and no time.

    Args:
        inner: does what an RLock does; None: a new RLock.
    """

    def __init__(self, inner: Inner | None = None) -> None:
        self.inner: Inner = threading.RLock() if inner is None else inner

    def acquire(self, timeout: float = -1.0) -> bool:
        """Takes the lock; False if that takes longer than timeout."""
        return _here.lock is self or self.inner.acquire(timeout=timeout)

    def release(self) -> None:
        """Gives it back."""
        if _here.lock is not self:
            self.inner.release()

    def __enter__(self) -> None:
        if _here.lock is not self:
            self.inner.acquire()

    def __exit__(self, *_: object) -> None:
        if _here.lock is not self:
            self.inner.release()

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        """A context in which this thread shares the lock with the thread that holds it."""
        before, _here.lock = _here.lock, self
        try:
            yield
        finally:
            _here.lock = before
