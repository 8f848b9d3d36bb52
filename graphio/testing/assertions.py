"""Assertions on plain values, threads and streams that TensorFlow's test cases have."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import unittest
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sized
from typing import Any

from graphio.framework.devices import DeviceSpec

__all__ = ["Assertions", "CheckedThread"]


class CheckedThread:
    """A thread whose error fails the test that joins it.

    Args:
        case: the test case.
        target: the function that the thread calls.
        args, kwargs: its arguments.
    """

    def __init__(
        self, case: Any, target: Callable[..., Any], args: Any, kwargs: Mapping[str, Any] | None
    ) -> None:
        self._case = case
        self._error: Exception | None = None
        self._target, self._args, self._kwargs = target, args or (), kwargs or {}
        self._thread = threading.Thread(target=self._protected)
        self._joined = False

    def _protected(self) -> None:
        try:
            self._target(*self._args, **self._kwargs)
        except Exception as error:
            self._error = error

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def join(self) -> None:
        """Waits for the thread; its error is a failure of the test."""
        self._joined = True
        self._thread.join()
        if self._error is not None:
            self._case.fail(f"Error in checkedThread: {self._error}")

    def is_alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def check_termination(self) -> None:
        """Fails the test if the thread was not joined."""
        if not self._joined:
            self._case.fail(
                "A checked thread was not joined: call join() before the test ends, which tells "
                "its error"
            )


class CapturedWrites:
    """The text that was written to a stream; `contents` gives it."""

    def __init__(self, path: str) -> None:
        self._path = path

    def contents(self) -> str:
        """All that was written so far."""
        with open(self._path, encoding="utf-8") as file:
            return file.read()


class Assertions(unittest.TestCase):
    """Assertions that need neither graph nor session."""

    def checkedThread(
        self, target: Callable[..., Any], args: Any = None, kwargs: Mapping[str, Any] | None = None
    ) -> CheckedThread:
        """A thread, to be started and joined, whose error fails the test."""
        made = CheckedThread(self, target, args, kwargs)
        self.addCleanup(made.check_termination)
        return made

    @contextlib.contextmanager
    def captureWritesToStream(self, stream: Any) -> Iterator[CapturedWrites]:
        """A context that catches what the process writes to a stream with a file descriptor."""
        number, kept = stream.fileno(), os.dup(stream.fileno())
        stream.flush()
        with tempfile.NamedTemporaryFile() as file:
            os.dup2(file.fileno(), number)
            try:
                yield CapturedWrites(file.name)
            finally:
                stream.flush()
                os.dup2(kept, number)
                os.close(kept)

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: str | None = None) -> None:
        """Two names of devices, or None, mean the same: "/cpu:0" is "/device:CPU:0"."""
        one, two = (DeviceSpec.from_string(d or "").to_string() for d in (device1, device2))
        self.assertEqual(one, two, f"Devices {one} and {two} are not equal. {msg or ''}")

    def assertLen(self, container: Sized, expected_len: int, msg: str | None = None) -> None:
        """A container has so many elements."""
        if len(container) != expected_len:
            found = f"{container!r} has length of {len(container)}, expected {expected_len}"
            self.fail(f"{found}. {msg or ''}".strip())

    def assertEmpty(self, container: Sized, msg: str | None = None) -> None:
        """A container has no elements."""
        if len(container):
            self.fail(f"{container!r} has length of {len(container)}. {msg or ''}".strip())

    def assertNotEmpty(self, container: Sized, msg: str | None = None) -> None:
        """A container has elements."""
        if not len(container):
            self.fail(f"{container!r} has length of 0. {msg or ''}".strip())

    def assertBetween(self, value: Any, minv: Any, maxv: Any, msg: str | None = None) -> None:
        """minv <= value <= maxv."""
        if not minv <= value <= maxv:
            self.fail(msg or f"{value!r} unexpectedly not between {minv!r} and {maxv!r}")

    def assertSameElements(
        self, expected_seq: Iterable[Any], actual_seq: Iterable[Any], msg: str | None = None
    ) -> None:
        """The same elements, however often each."""
        self.assertEqual(set(expected_seq), set(actual_seq), msg)

    def assertContainsSubset(
        self, expected_subset: Iterable[Any], actual_set: Container[Any], msg: str | None = None
    ) -> None:
        """A container has all of some elements."""
        missing = [element for element in expected_subset if element not in actual_set]
        if missing:
            self.fail(f"Missing elements {missing!r} in {actual_set!r}. {msg or ''}".strip())
