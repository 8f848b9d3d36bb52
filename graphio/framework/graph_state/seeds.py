"""The seed of a root graph, and the keys of its random generators."""

from __future__ import annotations

import operator
from typing import Any

from graphio.schema.seeds import mix_seeds

__all__ = ["DEFAULT_GRAPH_SEED", "Seeds", "as_seed"]

#: the graph's seed where only an operation has one, as in TensorFlow
DEFAULT_GRAPH_SEED = 87654321


class Seeds:
    """The seed of a root graph.

    Attributes:
        graph_seed: None: tf.set_random_seed was not called.
        given: how many operations without a seed have got one that follows from the graph's.
    """

    __slots__ = ("given", "graph_seed")

    def __init__(self) -> None:
        self.graph_seed: int | None = None
        self.given = 0

    def key(self, op_seed: Any) -> int | None:
        """The key of both seeds; None: not seeded.

        Seeds combine as TensorFlow's do: with a graph seed only, the operation's is a counter;
        with an operation's only, the graph's is 87654321; with neither it is not seeded.

        Raises:
            TypeError: op_seed is not an integer.
        """
        op_seed = as_seed(op_seed)
        if self.graph_seed is None and op_seed is None:
            return None
        if op_seed is None:
            op_seed = self.given
            self.given += 1
        graph_seed = DEFAULT_GRAPH_SEED if self.graph_seed is None else self.graph_seed
        return mix_seeds(graph_seed, op_seed)


def as_seed(seed: Any) -> int | None:
    """A seed as Python's integer, or None.

    Raises:
        TypeError: it is not an integer.
    """
    if seed is None:
        return None
    try:
        return operator.index(seed)
    except TypeError:
        raise TypeError(f"seed is {seed!r}, expected an integer or None") from None
