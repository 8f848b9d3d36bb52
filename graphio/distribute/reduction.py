"""Sums over the shards of all ranks, along the tree of tree.py.

A rank sums its greatest subtrees and sends each other rank one slice of them; a rank finishes the
tree for its slice; the slices are gathered. So a rank sends what a ring's all-reduce sends where
the subtrees are one a rank, and at most log2 of the shards times as much. The buffers are made
once.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphio.distribute import tree
from graphio.distribute.communicators.base import Communicator
from graphio.support import errors

__all__ = ["Group", "Reduction", "Status"]

Array = np.ndarray[Any, Any]
#: one vector for each group
Vectors = list[Array]
ALIGNMENT = 8  # bytes, of every type that is summed


class Status(enum.IntEnum):
    """The message of a rank with its sums; the greatest of all ranks counts."""

    GOES_ON = 0
    STOPS = 1  # without this step
    FAILED = 2


class Group(NamedTuple):
    """Numbers of one dtype that are summed as a vector."""

    dtype: np.dtype[Any]
    length: int


class Reduction:
    """The sum of one value a shard, for every rank.

    Args:
        communicator: the ranks.
        shards: how many there are.
        groups: what the value of a shard is: a vector for each.

    Raises:
        ValueError: there are more ranks than shards.
    """

    def __init__(self, communicator: Communicator, shards: int, groups: Sequence[Group]) -> None:
        size = communicator.size
        if size > shards:
            raise ValueError(
                f"{size} ranks share {shards} shards: a rank would have none. Give DataParallel at "
                f"least shards={size}, or start fewer ranks"
            )
        self._communicator = communicator
        self._groups, self._root = list(groups), (0, shards)
        self.run = tree.run_of(communicator.rank, size, shards)
        self._mine = tree.greatest_inside(self.run, self._root)
        self._out = [np.zeros(g.length, g.dtype) for g in groups]
        cuts = [[g.length * r // size for r in range(size + 1)] for g in groups]
        self._lengths = [[b - a for a, b in zip(cut, cut[1:], strict=False)] for cut in cuts]
        self._slices = [[slice(a, b) for a, b in zip(cut, cut[1:], strict=False)] for cut in cuts]
        mine, ranks = communicator.rank, range(size)
        here = [lengths[mine] for lengths in self._lengths]
        runs = [tree.run_of(rank, size, shards) for rank in ranks]
        nodes = [tree.greatest_inside(run, self._root) for run in runs]
        # A rank sends itself a header alone: its slice of its sums needs no copy.
        self._sent = _Blocks(
            [
                ([] if rank == mine else self._mine, [lengths[rank] for lengths in self._lengths])
                for rank in ranks
            ],
            self._groups,
        )
        self._got = _Blocks(
            [([] if rank == mine else nodes[rank], here) for rank in ranks], self._groups
        )

    def __call__(self, leaf: Callable[[int], Vectors] | None) -> Vectors | None:
        """The sums, in buffers that the next call uses again; None when a rank wants to stop.

        Args:
            leaf: the vectors of a shard by its number; they may be changed. It raises
                OutOfRangeError where the data end. None: this rank wants to stop.

        Raises:
            AbortedError: another rank has failed; the message says how. What leaf raises on this
                rank is raised here.
        """
        sums: dict[tree.Node, Vectors] = {}
        if leaf is None:
            return self._after(sums, Status.STOPS, None)
        try:
            for node in self._mine:
                sums[node] = tree.fold(node, leaf, _add)
        except errors.OutOfRangeError:
            return self._after({}, Status.STOPS, None)
        except Exception as error:
            return self._after({}, Status.FAILED, error)
        return self._after(sums, Status.GOES_ON, None)

    def agree(self, failure: Exception | None) -> None:
        """Waits for all ranks; raises on each what failed on one.

        Another rank may call the object itself meanwhile: the two meet.

        Args:
            failure: of this rank; None: none.

        Raises:
            AbortedError: as a call does. failure itself is raised here.
        """
        self._after({}, Status.STOPS if failure is None else Status.FAILED, failure)

    def _after(
        self, sums: dict[tree.Node, Vectors], status: Status, failure: Exception | None
    ) -> Vectors | None:
        if self._communicator.size == 1:
            if failure is not None:
                raise failure
            return sums.get(self._root)
        self._send(sums, status)
        worst = Status(max(int(header[0]) for header in self._got.headers))
        if worst is Status.FAILED:
            self._raise(failure)
        return self._finish(sums) if worst is Status.GOES_ON else None

    def _send(self, sums: dict[tree.Node, Vectors], status: Status) -> None:
        for header in self._sent.headers:
            header[0] = status
        for node, vectors in sums.items():
            for group, vector in enumerate(vectors):
                for rank, part in enumerate(self._slices[group]):
                    if rank != self._communicator.rank:
                        self._sent.views[rank][node, group][:] = vector[part]
        self._communicator.exchange(
            self._sent.buffer, self._sent.counts, self._got.buffer, self._got.counts
        )

    def _finish(self, sums: dict[tree.Node, Vectors]) -> Vectors:
        here = [parts[self._communicator.rank] for parts in self._slices]
        known: dict[tree.Node, Vectors] = {
            node: [vector[part] for vector, part in zip(vectors, here, strict=True)]
            for node, vectors in sums.items()
        }
        for views in self._got.views:
            for (node, group), view in views.items():
                known.setdefault(node, [view] * len(self._groups))[group] = view
        slices = tree.finish(self._root, known, _add)
        for group, part in enumerate(slices):
            size = self._groups[group].dtype.itemsize
            self._communicator.gather(
                part.view(np.uint8),
                self._out[group].view(np.uint8),
                [n * size for n in self._lengths[group]],
            )
        return self._out

    def _raise(self, failure: Exception | None) -> None:
        text = "" if failure is None else f"{type(failure).__name__}: {failure}"
        found = self._communicator.gather_bytes(text.encode())
        if failure is not None:
            raise failure
        failed = [(rank, words.decode()) for rank, words in enumerate(found) if words]
        raise errors.AbortedError(
            message="; ".join(f"rank {rank} failed: {words}" for rank, words in failed)
        )


class _Blocks:
    """A buffer with a block for each rank: a header of 8 bytes, and slices by node and group.

    Args:
        parts: of each rank the nodes, and the length of a slice for each group.
    """

    def __init__(
        self, parts: Sequence[tuple[Sequence[tree.Node], Sequence[int]]], groups: Sequence[Group]
    ) -> None:
        by_size = sorted(range(len(groups)), key=lambda g: -groups[g].dtype.itemsize)
        offsets: list[dict[tuple[tree.Node, int], tuple[int, int]]] = []
        starts, at = [0], 0
        for nodes, lengths in parts:
            at += ALIGNMENT  # the header
            found = {}
            for group in by_size:
                for node in nodes:
                    count = lengths[group] * groups[group].dtype.itemsize
                    found[node, group] = (at, at + count)
                    at += count
            at += -at % ALIGNMENT
            offsets.append(found)
            starts.append(at)
        self.buffer = np.zeros(at, np.uint8)
        self.counts = [b - a for a, b in zip(starts, starts[1:], strict=False)]
        self.headers = [self.buffer[a : a + ALIGNMENT].view(np.int64) for a in starts[:-1]]
        self.views = [
            {key: self.buffer[a:b].view(groups[key[1]].dtype) for key, (a, b) in found.items()}
            for found in offsets
        ]


def _add(one: Vectors, other: Vectors) -> Vectors:
    for left, right in zip(one, other, strict=True):
        left += right
    return one
