"""Waits for other ranks that leave the core to them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from graphio.support import errors

__all__ = ["wait_until"]

#: how often a wait gives the core to another process before it sleeps
YIELDS = 200
SLEEP = 50e-6  # seconds


def wait_until(done: Callable[[], bool], timeout: float, what: str) -> None:
    """Returns when done() is true. MPI's own waits are busy: with more ranks than cores they take
    the time that the rank that is waited for needs.

    Args:
        timeout: seconds.
        what: of which rank, for the error.

    Raises:
        DeadlineExceededError: it is not after timeout.
    """
    give = getattr(os, "sched_yield", lambda: time.sleep(0))
    for _ in range(YIELDS):
        if done():
            return
        give()
    end = time.monotonic() + timeout
    while not done():
        if time.monotonic() > end:
            raise errors.DeadlineExceededError(
                message=f"{what} waited {timeout:g} s for the other ranks: one of them has ended, "
                "runs another program, or is slower than `timeout` of DataParallel allows"
            )
        time.sleep(SLEEP)
