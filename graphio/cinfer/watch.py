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
        self._thread = threading.get_ident()
        self._found: list[tuple[bytes, int]] = []
        self._handle = ffi.new_handle(self)

    def note(self, name: bytes) -> None:
        """A step that has just ended; b"" before the first one."""
        self._found.append((name, time.time_ns()))

    def times(self) -> Iterator[NodeTime]:
        """One entry a step."""
        for (_, start), (name, end) in zip(self._found, self._found[1:], strict=False):
            if name:
                yield NodeTime(name.decode("utf-8", "replace"), start, end, self._thread)

    @contextlib.contextmanager
    def watching(self, session: Any) -> Iterator[None]:
        """A context in which a C session's runs tell of their steps here."""
        watch = ffi.new("ci_observer *")
        watch.user, watch.step = self._handle, lib.graphio_step
        lib.ci_session_observe(session, watch[0])
        try:
            yield
        finally:
            lib.ci_session_observe(session, ffi.new("ci_observer *")[0])


@ffi.def_extern()  # type: ignore[untyped-decorator]
def graphio_step(user: Any, name: Any, length: int) -> None:
    """What C calls; see Steps.note."""
    ffi.from_handle(user).note(bytes(ffi.buffer(name, length)) if length else b"")


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
