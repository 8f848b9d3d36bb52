"""Watching a run of the C library: when each step ended, and a moment when it has to be over."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from graphio.cinfer._native import ffi, lib
from graphio.schema.engine import NodeTime

if TYPE_CHECKING:
    from graphio.cinfer.model import Handles

_AGAIN = 0.05  # seconds: a run that waits for its turn takes no notice of being cancelled


class Steps:
    """The steps of one run, as C tells of them: they follow each other without a gap."""

    def __init__(self) -> None:
        self._found: list[tuple[str, int]] = []

    def times(self) -> Iterator[NodeTime]:
        """One entry a step."""
        thread = threading.get_ident()
        for (_, start), (name, end) in zip(self._found, self._found[1:], strict=False):
            if name:
                yield NodeTime(name, start, end, thread)

    @contextlib.contextmanager
    def watching(self, session: Any) -> Iterator[None]:
        """A context in which a C session's runs tell of their steps here."""
        watch = ffi.new("ci_observer *")
        noted = ffi.gc(lib.graphio_times_new(), lib.graphio_times_free)
        if noted == ffi.NULL:
            raise MemoryError
        watch.user, watch.step = noted, ffi.addressof(lib, "graphio_times_note")
        lib.ci_session_observe(session, watch[0])
        try:
            yield
        finally:
            lib.ci_session_observe(session, ffi.new("ci_observer *")[0])
            self._found += map(_told, noted.ends[0 : noted.count])


def _told(end: Any) -> tuple[str, int]:
    """A step's name, "" before the first one, and when it ended."""
    if end.name == ffi.NULL:
        return "", end.at
    return bytes(ffi.buffer(end.name, end.length)).decode("utf-8", "replace"), end.at


@contextlib.contextmanager
def ended_at(deadline: float | None, handles: Handles) -> Iterator[threading.Event]:
    """A context in which C's run is cancelled at a moment; the event says whether it was.

    Args:
        deadline: of time.monotonic; None: never.
        handles: of the session.
    """
    late, over = threading.Event(), threading.Event()
    if deadline is None:
        yield late
        return

    def end() -> None:
        wait = max(0.0, deadline - time.monotonic())
        while not over.wait(wait):
            late.set()
            if handles.session is not None:
                lib.ci_cancel(handles.session)
            wait = _AGAIN

    waiter = threading.Thread(target=end, daemon=True)
    waiter.start()
    try:
        yield late
    finally:
        over.set()
        waiter.join()
