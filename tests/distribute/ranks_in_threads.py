"""Ranks that are threads of one process: a communicator without an engine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from graphio.distribute.communicators.base import Bytes, Communicator

Value = TypeVar("Value")


class _Meeting:
    """The state that the ranks of a job share."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.parts: list[Any] = [None] * size
        self.barrier = threading.Barrier(size, timeout=60)


class Rank(Communicator):
    """One of the ranks; counts the bytes that it sends to others."""

    def __init__(self, rank: int, meeting: _Meeting) -> None:
        self.rank, self.size, self._meeting = rank, meeting.size, meeting
        self.sent = 0

    def _all(self, mine: Any) -> list[Any]:
        self._meeting.parts[self.rank] = mine
        self._meeting.barrier.wait()
        found = list(self._meeting.parts)
        self._meeting.barrier.wait()
        return found

    def exchange(
        self, send: Bytes, send_counts: Sequence[int], receive: Bytes, counts: Sequence[int]
    ) -> None:
        ends = np.cumsum(send_counts)
        parts = [send[e - n : e].copy() for e, n in zip(ends, send_counts, strict=True)]
        self.sent += sum(len(p) for r, p in enumerate(parts) if r != self.rank)
        found = [parts[self.rank] for parts in self._all(parts)]
        assert [len(part) for part in found] == list(counts)
        receive[:] = np.concatenate(found)

    def gather(self, part: Bytes, receive: Bytes, counts: Sequence[int]) -> None:
        self.sent += len(part) * (self.size - 1)
        found = self._all(part.copy())
        assert [len(each) for each in found] == list(counts)
        receive[:] = np.concatenate(found)


def on_ranks(size: int, work: Callable[[Rank], Value]) -> list[Value]:
    """The result of work on each rank; of ranks that fail, the exception."""
    meeting = _Meeting(size)
    results: list[Any] = [None] * size

    def run(rank: int) -> None:
        try:
            results[rank] = work(Rank(rank, meeting))
        except Exception as error:
            results[rank] = error

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive(), "a rank waits without end"
    return results
