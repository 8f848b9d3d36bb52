"""The interface of engines, which move bytes between ranks."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["Alone", "Bytes", "Communicator"]

#: uint8 (n)
Bytes = np.ndarray[Any, Any]


class Communicator(abc.ABC):
    """The ranks of a job. Every rank calls the same methods in the same order.

    An engine adds nothing and compares nothing, so that neither its version nor its algorithms can
    change a bit of a training.

    Attributes:
        rank: of this process, from 0.
        size: how many ranks there are.
    """

    rank: int
    size: int

    @abc.abstractmethod
    def exchange(
        self, send: Bytes, send_counts: Sequence[int], receive: Bytes, counts: Sequence[int]
    ) -> None:
        """Every rank sends a part to every rank (MPI's Alltoallv).

        Args:
            send: the parts for the ranks 0, 1, ... after each other, send_counts bytes each.
            receive: is filled with the parts of the ranks 0, 1, ..., counts bytes each.

        Raises:
            AbortedError: a rank is gone.
        """

    @abc.abstractmethod
    def gather(self, part: Bytes, receive: Bytes, counts: Sequence[int]) -> None:
        """Every rank gets the parts of all (MPI's Allgatherv).

        Args:
            part: of this rank.
            receive: is filled with the parts of the ranks 0, 1, ..., counts bytes each.

        Raises:
            AbortedError: a rank is gone.
        """

    def gather_bytes(self, value: bytes) -> list[bytes]:
        """The values of all ranks, of any length each, in the order of the ranks."""
        lengths = np.empty(self.size, np.int64)
        mine = np.array([len(value)], np.int64)
        self.gather(mine.view(np.uint8), lengths.view(np.uint8), [8] * self.size)
        counts = [int(n) for n in lengths]
        found = np.empty(sum(counts), np.uint8)
        self.gather(np.frombuffer(value, np.uint8), found, counts)
        ends = np.cumsum(counts)
        return [found[e - n : e].tobytes() for e, n in zip(ends, counts, strict=True)]

    def broadcast(self, value: bytes) -> bytes:
        """The value of rank 0; those of the others do not count."""
        return self.gather_bytes(value if self.rank == 0 else b"")[0]


class Alone(Communicator):
    """One process without an engine."""

    rank, size = 0, 1

    def exchange(
        self, send: Bytes, send_counts: Sequence[int], receive: Bytes, counts: Sequence[int]
    ) -> None:
        """Copies."""
        receive[:] = send

    def gather(self, part: Bytes, receive: Bytes, counts: Sequence[int]) -> None:
        """Copies."""
        receive[:] = part
