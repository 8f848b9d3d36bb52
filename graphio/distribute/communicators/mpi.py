"""Ranks that mpiexec started, through mpi4py."""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import io
from collections.abc import Iterator, Sequence
from typing import Any

from graphio.distribute.communicators.base import Bytes, Communicator
from graphio.distribute.communicators.waiting import wait_until
from graphio.support import errors

__all__ = ["MPI"]


class MPI(Communicator):
    """A communicator of MPI.

    Args:
        timeout: seconds that a call waits for the other ranks.
        communicator: of mpi4py; None: a copy of COMM_WORLD, so that the program's own messages
            do not mix with these.
    """

    def __init__(self, timeout: float, communicator: Any = None) -> None:
        with _limited(timeout):
            from mpi4py import MPI as mpi

        self._mpi, self._timeout, self._lost = mpi, timeout, False
        world = mpi.COMM_WORLD if communicator is None else communicator
        self.rank, self.size = world.Get_rank(), world.Get_size()
        atexit.register(self._abort_where_lost)  # before MPI's own end, which would wait for all
        self._world = world
        if communicator is None:
            self._world, request = world.Idup()
            self._wait(request)

    def exchange(
        self, send: Bytes, send_counts: Sequence[int], receive: Bytes, counts: Sequence[int]
    ) -> None:
        """Alltoallv."""
        self._wait(
            self._world.Ialltoallv(
                [send, (send_counts, _starts(send_counts)), self._mpi.BYTE],
                [receive, (counts, _starts(counts)), self._mpi.BYTE],
            )
        )

    def gather(self, part: Bytes, receive: Bytes, counts: Sequence[int]) -> None:
        """Allgatherv."""
        self._wait(
            self._world.Iallgatherv(
                [part, self._mpi.BYTE], [receive, (counts, _starts(counts)), self._mpi.BYTE]
            )
        )

    def _wait(self, request: Any) -> None:
        try:
            wait_until(request.Test, self._timeout, f"rank {self.rank}")
        except errors.DeadlineExceededError:
            self._lost = True
            raise

    def _abort_where_lost(self) -> None:
        if self._lost:
            self._mpi.COMM_WORLD.Abort(1)


@contextlib.contextmanager
def _limited(timeout: float) -> Iterator[None]:
    """Ends the process where MPI's start takes longer, which another rank causes that never starts
    MPI: the wait is in C, so that no exception can be raised."""
    try:
        faulthandler.dump_traceback_later(timeout, exit=True)
    except (AttributeError, ValueError, RuntimeError, io.UnsupportedOperation):
        pass  # stderr is not a file
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def _starts(counts: Sequence[int]) -> list[int]:
    found, total = [], 0
    for count in counts:
        found.append(total)
        total += count
    return found
