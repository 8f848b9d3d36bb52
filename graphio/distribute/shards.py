"""The work of a rank on its shards of a step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphio.distribute.communicators.base import Communicator
from graphio.distribute.draws import Draws
from graphio.distribute.reduction import Vectors
from graphio.distribute.step_graph import StepGraph
from graphio.distribute.tree import Node

__all__ = ["Feed", "Shards"]

Array = np.ndarray[Any, Any]
#: the feed_dict of a shard, from step and shard
Feed = Callable[[int, int], Mapping[Any, Any]]


class Shards:
    """Computes the shards of a rank.

    Args:
        session: in which the graph runs.
        graph: what a shard gives.
        draws: random draws.
        feed: None: the data come from the graph's iterators.
        run: the shards of this rank.
        shards: of a step.
        mean: whether sparse gradients are averaged.
    """

    def __init__(
        self,
        session: Any,
        graph: StepGraph,
        draws: Draws,
        feed: Feed | None,
        run: Node,
        shards: int,
        mean: bool,
    ) -> None:
        self._session, self._graph, self._draws, self._feed = session, graph, draws, feed
        self._run, self._shards, self._mean = run, shards, mean
        parts = [(sparse.indices, sparse.values) for sparse in graph.sparse]
        self._fetches = (graph.fetches, parts)
        self._slices: list[list[tuple[Array, Array]]] = []

    def leaf(self, step: int) -> Callable[[int], Vectors]:
        """The function that computes a shard of a step by its number: those of this rank, in order.

        It raises OutOfRangeError where the data end, on all ranks at the same step: a rank also
        takes the elements of the others' shards.
        """
        self._slices = []
        first, last = self._run[0], self._run[1] - 1

        def compute(shard: int) -> Vectors:
            if shard == first:
                self._skip(first)
            self._draws.seek(self._session.state, step, shard)
            feed = None if self._feed is None else self._feed(step, shard)
            vectors, slices = self._session.run(self._fetches, feed)
            self._slices.append(slices)
            if shard == last:
                self._skip(self._shards - self._run[1])
                self._draws.seek(self._session.state, step + 1, 0)  # as checkpoints have it
            return list(vectors)

        return compute

    def _skip(self, elements: int) -> None:
        for _ in range(elements if self._graph.iterators else 0):
            self._session.run(self._graph.iterators)

    def feeds(self, sums: Vectors, communicator: Communicator) -> dict[Any, Array]:
        """The feed_dict of the second part of the step: means and sums of all shards."""
        found: dict[Any, Array] = {}
        for fed, averaged, vector in zip(self._graph.fed, self._graph.averaged, sums, strict=True):
            if averaged:
                vector[:averaged] /= self._shards
            found[fed] = vector
        for number, sparse in enumerate(self._graph.sparse):
            mine = [slices[number] for slices in self._slices]
            found[sparse.all_indices] = _joined(communicator, [i for i, _ in mine])
            values = _joined(communicator, [v for _, v in mine])
            found[sparse.all_values] = values / self._shards if self._mean else values
        return found


def _joined(communicator: Communicator, parts: list[Array]) -> Array:
    """The rows of all shards after each other, for every rank."""
    mine = np.concatenate(parts)
    if communicator.size == 1:
        return mine
    data = b"".join(communicator.gather_bytes(mine.tobytes()))
    return np.frombuffer(data, mine.dtype).reshape(-1, *mine.shape[1:])
