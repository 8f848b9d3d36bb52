"""Progress of long work, reported to the caller that asks for it. By default it is not shown."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator
from typing import Any, Protocol

__all__ = ["ProgressBar", "shown_by", "task", "untold"]


class ProgressBar(Protocol):
    """Shows one piece of work."""

    def update(self, amount: int) -> Any:
        """So much more is done."""

    def close(self) -> Any:
        """It is over, perhaps before its end."""


#: makes a progress bar: of what, how much there is, its unit
Factory = Callable[[str, int, str], ProgressBar]
_factory: contextvars.ContextVar[Factory | None] = contextvars.ContextVar(
    "progress_bars", default=None
)


@contextlib.contextmanager
def shown_by(factory: Factory | None) -> Iterator[None]:
    """A context of this thread in which long work is shown; None: in which it is not."""
    before = _factory.set(factory)
    try:
        yield
    finally:
        _factory.reset(before)


@contextlib.contextmanager
def task(what: str, total: int, unit: str) -> Iterator[Callable[[int], Any]]:
    """A piece of long work; work inside of it is a part of it and has no progress bar.

    Args:
        what: is done, for people.
        total: how much there is.
        unit: of the amounts; "B": bytes.

    Yields:
        A function to be called with each amount that is done.
    """
    factory = _factory.get()
    if factory is None:
        yield untold
        return
    shown = factory(what, total, unit)
    try:
        with shown_by(None):
            yield shown.update
    finally:
        shown.close()


def untold(amount: int) -> None:
    """Ignores the amounts."""
