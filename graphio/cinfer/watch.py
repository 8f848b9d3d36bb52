"""Watching a run of the C library: when each step ended, until when it has to be over, and whether
signals of the program want it to end."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from graphio.cinfer._native import ffi, lib
from graphio.engine.interface import NodeTime
from graphio.support import errors

if TYPE_CHECKING:
    from graphio.cinfer.model import Handles

_MOST = 2**63  # nanoseconds


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
            self._found += map(_step, noted.ends[0 : noted.count])


def _step(end: Any) -> tuple[str, int]:
    """A step's name, "" before the first one, and when it ended."""
    if end.name == ffi.NULL:
        return "", end.at
    return bytes(ffi.buffer(end.name, end.length)).decode("utf-8", "replace"), end.at


def checked_timeout(seconds: Any) -> float | None:
    """A time that a call may take, in seconds.

    Raises:
        InvalidArgumentError: it is neither None nor a number above 0.
    """
    if seconds is None:
        return None
    if isinstance(seconds, (int, float)) and not isinstance(seconds, bool) and seconds > 0:
        return float(seconds)
    raise errors.InvalidArgumentError(
        message=f"timeout is {seconds!r}, expected seconds above 0, or None for no end"
    )


def nanoseconds(seconds: float | None) -> int:
    """The deadline as C takes it; None: 0, which means no end."""
    return 0 if seconds is None else int(min(max(1.0, seconds * 1e9), _MOST))


@contextlib.contextmanager
def ended_at(deadline: float | None, handles: Handles) -> Iterator[None]:
    """A context in which C's runs end at a moment. The caller holds the state's lock.

    Args:
        deadline: of time.monotonic; None: as long as the model's runs may take.
        handles: of the session.
    """
    if deadline is None or handles.session is None:
        yield
        return
    handles.set_deadline(max(deadline - time.monotonic(), 1e-9))
    try:
        yield
    finally:
        handles.set_deadline(handles.timeout)


def _raised(_kind: Any, raised: BaseException, trace: Any) -> int:
    """An error that a signal's handler raised, as KeyboardInterrupt, is the error of the call."""
    ffi.from_handle(trace.tb_frame.f_locals["user"]).keep(raised)
    return 1


@ffi.def_extern(onerror=_raised)  # type: ignore[untyped-decorator]
def graphio_interrupted(user: Any) -> int:
    """Called by C now and then in calls that take long. Handlers of signals run while Python code
    does, in the main thread: here.
    """
    return 0
