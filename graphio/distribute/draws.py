"""Random draws that depend on seed, step and shard, and on nothing else.

Dropout and its kind draw from generators of the state: a key and a counter (Philox, Salmon et al.
2011). Before each shard the counters are set to the position of the shard in the training, so that
it does not matter which rank computes it, nor what that rank computed before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from graphio.schema.crc32c import crc32c
from graphio.schema.seeds import mix_seeds

__all__ = ["Draws"]

#: of the counter's 64 bits, those that count blocks within one shard; 4 words a block
BITS = 32


class Draws:
    """The generators of a training.

    Args:
        names: of the generators that a shard draws from.
        keys: of the graph's generators, by name; None: not seeded.
        seed: 64 bits, of generators that are not seeded.
        shards: of a step.
    """

    def __init__(
        self, names: Iterable[str], keys: Mapping[str, int | None], seed: int, shards: int
    ) -> None:
        given = {name: keys.get(name) for name in names}
        self._keys = {
            name: mix_seeds(seed, crc32c(name.encode())) if key is None else key
            for name, key in given.items()
        }
        self._shards = shards

    def seek(self, state: Any, step: int, shard: int) -> None:
        """Sets the generators of an engine's state to a shard of a step."""
        for name, key in self._keys.items():
            state.set_generator(name, key, (step * self._shards + shard) << BITS)
