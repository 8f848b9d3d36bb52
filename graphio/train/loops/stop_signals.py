"""Signals that end a training after its running step instead of in the middle of it."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterable
from typing import Any

__all__ = ["STOP_SIGNALS", "StopSignals", "checked_signals"]

#: sent by a cluster before it takes a machine away, and by Ctrl-C
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def checked_signals(signals: Iterable[int]) -> tuple[int, ...]:
    """The numbers of signals for which there can be a handler. Raises ValueError, TypeError."""
    if not isinstance(signals, Iterable):
        raise TypeError(f"stop_signals is {signals!r}, expected a list of numbers of signals")
    numbers = tuple(signals)
    never = {getattr(signal, name, None) for name in ("SIGKILL", "SIGSTOP")}
    for number in numbers:
        if number not in signal.valid_signals():
            raise ValueError(f"stop_signals has {number!r}, which is not a signal of this system")
        if number in never:
            name = signal.Signals(number).name
            raise ValueError(
                f"stop_signals has {int(number)} ({name}), which no process can catch; give "
                "others, for instance [signal.SIGTERM]"
            )
    return numbers


class StopSignals:
    """Notes the first signal; the second has its default effect, at once.

    Outside of the main thread, where Python takes no handlers, nothing is caught; nor is a signal
    that the process ignores.

    Args:
        signals: their numbers.

    Attributes:
        caught: the signal's number, None before it comes.

    Raises:
        TypeError, ValueError: see checked_signals.
    """

    def __init__(self, signals: Iterable[int] = STOP_SIGNALS) -> None:
        self._signals = checked_signals(signals)
        self._before: dict[int, Any] = {}
        self.caught: int | None = None

    def catch(self) -> None:
        """Puts the handlers in place."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in self._signals:
            if signal.getsignal(number) not in (None, signal.SIG_IGN):
                self._before[number] = signal.signal(number, self._note)

    def _note(self, number: int, frame: Any) -> None:
        self.caught = number
        for each in self._before:
            signal.signal(each, signal.SIG_DFL)

    def release(self) -> None:
        """Restores the former handlers."""
        while self._before:
            signal.signal(*self._before.popitem())

    def send_again(self) -> None:
        """After release: the process gets the signal that was caught, with its usual effect.

        Raises:
            SystemExit: that is to end the process, but the system does not do it to the first
                process of a container.
        """
        if self.caught is None:
            return
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, OSError, ValueError):
                stream.flush()
        handler = signal.getsignal(self.caught)
        signal.raise_signal(self.caught)
        if handler is signal.SIG_DFL:
            raise SystemExit(128 + self.caught)
