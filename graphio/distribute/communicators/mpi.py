"""Ranks that mpiexec started, through mpi4py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio.distribute.communicators.base import Bytes, Communicator
from graphio.distribute.communicators.waiting import wait_until

__all__ = ["MPI"]


class MPI(Communicator):
    """A communicator of MPI.

    Args:
        timeout: seconds that a call waits for the other ranks.
        communicator: of mpi4py; None: a copy of COMM_WORLD, so that the program's own messages
            do not mix with these.
    """

    def __init__(self, timeout: float, communicator: Any = None) -> None:
        from mpi4py import MPI as mpi

        self._mpi = mpi
        self._world = mpi.COMM_WORLD.Dup() if communicator is None else communicator
        self.rank, self.size = self._world.Get_rank(), self._world.Get_size()
        self._timeout = timeout

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
        wait_until(request.Test, self._timeout, f"rank {self.rank}")


def _starts(counts: Sequence[int]) -> list[int]:
    found, total = [], 0
    for count in counts:
        found.append(total)
        total += count
    return found
