"""Queue runners for the time of a block."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from graphio.framework.collections import GraphKeys, get_collection
from graphio.support import api_guard
from graphio.train.loops.coordinator import Coordinator

__all__ = ["NestedQueueRunnerError", "QueueRunners"]

_running = threading.Lock()


class NestedQueueRunnerError(Exception):
    """QueueRunners in a block of QueueRunners."""


@api_guard.unguarded
@contextlib.contextmanager
def QueueRunners(session: Any) -> Iterator[None]:
    """Starts the queue runners of the default graph, and stops them at the end.

    Raises:
        NestedQueueRunnerError: they run already.
    """
    if not _running.acquire(blocking=False):
        raise NestedQueueRunnerError("QueueRunners cannot be nested")
    try:
        coord = Coordinator()
        threads: list[Any] = []
        for runner in get_collection(GraphKeys.QUEUE_RUNNERS):
            threads.extend(runner.create_threads(session, coord=coord, daemon=True, start=True))
        try:
            yield
        finally:
            coord.request_stop()
            try:
                coord.join(threads, stop_grace_period_secs=120)
            except RuntimeError:
                session.close()
    finally:
        _running.release()
