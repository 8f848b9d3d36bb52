"""Signals that end a training after its running step instead of in the middle of it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable
from typing import Any

__all__ = ["STOP_SIGNALS", "StopSignals"]

#: what a cluster sends before it takes a machine away, and Ctrl-C
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StopSignals:
    """Notes the first signal; the second has its default effect, at once.

    Outside of the main thread, where Python takes no handlers, nothing is caught; nor is a signal
    that the process ignores.

    Args:
        signals: their numbers.

    Attributes:
        caught: the signal's number, None before it comes.
    """

    def __init__(self, signals: Iterable[int] = STOP_SIGNALS) -> None:
        self._signals = tuple(signals)
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
        """Puts the handlers that were there before in their places."""
        while self._before:
            signal.signal(*self._before.popitem())

    def send_again(self) -> None:
        """After release: the process gets the signal that was caught, with its usual effect."""
        if self.caught is not None:
            signal.raise_signal(self.caught)
