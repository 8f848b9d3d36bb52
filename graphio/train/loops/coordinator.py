"""Coordinator: how the threads of a program agree to stop."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from graphio.support import errors

__all__ = ["Coordinator", "LooperThread"]


class Coordinator:
    """Lets threads stop together, and hands the first error of one to join.

    Args:
        clean_stop_exception_types: errors that end the work without being one; None:
            OutOfRangeError.
    """

    def __init__(self, clean_stop_exception_types: Any = None) -> None:
        self._clean = (
            (errors.OutOfRangeError,)
            if clean_stop_exception_types is None
            else tuple(clean_stop_exception_types)
        )
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._joined = False
        self._registered_threads: set[threading.Thread] = set()

    @property
    def joined(self) -> bool:
        """Whether join has returned."""
        return self._joined

    def register_thread(self, thread: threading.Thread) -> None:
        """Adds a thread for join to wait for."""
        with self._lock:
            self._registered_threads.add(thread)

    def should_stop(self) -> bool:
        """Whether a stop was requested."""
        return self._stop.is_set()

    def request_stop(self, ex: Any = None) -> None:
        """Requests a stop; join raises ex, an exception or what sys.exc_info() gives, if there is
        one, if it is the first and no clean end."""
        error = ex[1] if isinstance(ex, tuple) else ex
        if error is not None and not isinstance(error, BaseException):
            raise TypeError(f"request_stop: {ex!r} is not an exception")
        with self._lock:
            if self._joined and error is not None and not isinstance(error, self._clean):
                raise error
            first = not self._stop.is_set() and not isinstance(error, self._clean)
            if first and error is not None:
                self._error = error
            self._stop.set()

    def clear_stop(self) -> None:
        """Forgets the request and the error."""
        with self._lock:
            self._joined, self._error = False, None
            self._stop.clear()

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """A context whose exception becomes a request to stop."""
        try:
            yield
        except Exception:
            self.request_stop(sys.exc_info())

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Waits for a request; whether there is one."""
        return self._stop.wait(timeout)

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Waits for the threads to end; after a request to stop, at most for a while.

        Args:
            threads: to wait for in addition to the registered ones.
            stop_grace_period_secs: how long after a request.
            ignore_live_threads: whether threads that still run then are not an error.

        Raises:
            RuntimeError: threads still run.
            Exception: what a thread gave request_stop.
        """
        with self._lock:
            waiting = self._registered_threads | set(threads or ())
        while any(t.is_alive() for t in waiting) and not self.wait_for_stop(0.05):
            pass
        until = time.monotonic() + stop_grace_period_secs
        for thread in waiting:
            thread.join(max(0.0, until - time.monotonic()))
        with self._lock:
            self._joined = True
            self._registered_threads.clear()
        self.raise_requested_exception()
        alive = sorted(t.name for t in waiting if t.is_alive())
        if alive and not ignore_live_threads:
            raise RuntimeError(f"Coordinator stopped with threads still running: {' '.join(alive)}")

    def raise_requested_exception(self) -> None:
        """Raises what a thread gave request_stop, if there is something."""
        with self._lock:
            if self._error is not None:
                raise self._error


class LooperThread(threading.Thread):
    """A thread that calls a function again and again until a coordinator is to stop.

    What the function raises is given to the coordinator. A subclass may have run_loop, start_loop
    and stop_loop instead.

    Args:
        coord: the Coordinator, which waits for the thread when it joins.
        timer_interval_secs: seconds from the beginning of a call to that of the next; None: none
            is waited for.
        target: the function.
        args, kwargs: what it is called with.

    Raises:
        ValueError: coord is not a Coordinator.
    """

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any] | None = None,
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord!r}")
        super().__init__(daemon=True)
        self._coord, self._interval = coord, timer_interval_secs
        self._loop, self._given = target, (tuple(args or ()), dict(kwargs or {}))
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """A thread that was started."""
        thread = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        thread.start()
        return thread

    def run(self) -> None:
        """The body of the thread."""
        with self._coord.stop_on_exception():
            self.start_loop()
            if self._interval is None:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                due = time.monotonic()
                while not self._coord.wait_for_stop(max(0.0, due - time.monotonic())):
                    due += self._interval
                    self.run_loop()
            self.stop_loop()

    def start_loop(self) -> None:
        """Called before the first call."""

    def run_loop(self) -> None:
        """One call of the function."""
        if self._loop is not None:
            args, kwargs = self._given
            self._loop(*args, **kwargs)

    def stop_loop(self) -> None:
        """Called after the last call."""
