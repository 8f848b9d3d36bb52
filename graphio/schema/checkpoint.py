"""Checkpoints that were written: reading and checking them. Format: schema/README.md."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphio.schema import checkpoint_index, errors, stores, tensors
from graphio.schema.checkpoint_index import read_index, read_index_of
from graphio.schema.checkpoint_pb2 import CheckpointIndex
from graphio.schema.checkpoint_writer import Resource, delete, write_checkpoint
from graphio.schema.crc32c import crc32c

__all__ = ["Checkpoint", "Resource", "delete", "read_checkpoint", "read_index", "write_checkpoint"]

Array = np.ndarray[Any, Any]


class Checkpoint:
    """A checkpoint that was read.

    Attributes:
        prefix: of its files' names.
        index: the verified index.
        variables: name to read-only array, a view of the mapped data file.
    """

    def __init__(self, store: stores.Store, base: str, index: CheckpointIndex) -> None:
        self.prefix, self.index = store.path(base), index
        self._store, self._base = store, base
        self.variables: Mapping[str, Array] = _Variables(
            {v.name: v for v in index.variable}, self._map_shards()
        )

    def _map_shards(self) -> list[memoryview]:
        views = []
        sizes = checkpoint_index.header_sizes(self.index)
        for number, shard in enumerate(self.index.shard):
            view = self._store.view(shard.file)
            if len(view) != shard.nbytes:
                raise errors.DataLossError(
                    message=f"{shard.file} has {len(view)} bytes, its index says {shard.nbytes}"
                )
            head = view[: sizes[number]]
            if crc32c(head) != self.index.shard_header[number]:
                raise errors.DataLossError(message=f"the header of {shard.file} is damaged")
            views.append(view)
        return views

    @property
    def step(self) -> int | None:
        """The global step, None if it was saved without."""
        return self.index.step if self.index.has_step else None

    @property
    def resources(self) -> dict[str, Resource]:
        """Name to state: a generator's (key, counter), an IteratorState, or bytes."""
        found: dict[str, Resource] = {}
        for resource in self.index.resource:
            if resource.WhichOneof("state") == "generator":
                found[resource.name] = (resource.generator.key, resource.generator.counter)
            elif resource.WhichOneof("state") == "iterator":
                found[resource.name] = resource.iterator
            else:
                found[resource.name] = resource.blob
        return found

    @property
    def generators(self) -> dict[str, tuple[int, int]]:
        """Key and counter of every random generator."""
        return {name: state for name, state in self.resources.items() if isinstance(state, tuple)}

    def meta(self) -> bytes:
        """The bytes of the graph file.

        Raises:
            NotFoundError: there is none.
            DataLossError: it is not the one that was saved.
        """
        if not self.index.meta_file:
            raise errors.NotFoundError(message=f"checkpoint {self.prefix!r} has no graph file")
        try:
            data = self._store.read(self.index.meta_file)
        except errors.NotFoundError:  # renamed after the commit
            data = self._store.read(self._base + ".meta")
        if (len(data), crc32c(data)) != (self.index.meta_nbytes, self.index.meta_crc32c):
            raise errors.DataLossError(message=f"the graph file of {self.prefix!r} is damaged")
        return data

    def verify(self) -> None:
        """Checks every byte now; a graph file that is gone is no error. Raises DataLossError."""
        for name in self.variables:
            self.variables[name]
        if self.index.meta_file:
            try:
                self.meta()
            except errors.NotFoundError:
                return


class _Variables(Mapping[str, Array]):
    """Arrays by name, checked and decoded when first asked for."""

    def __init__(self, rows: Mapping[str, Any], views: Sequence[memoryview]) -> None:
        self._stored = {
            name: tensors.Stored(
                row.dtype,
                row.dims,
                views[row.shard][row.offset : row.offset + row.nbytes],
                row.crc32c,
                f"variable '{name}' in the checkpoint",
            )
            for name, row in rows.items()
        }

    def __getitem__(self, name: str) -> Array:
        if name not in self._stored:
            raise errors.NotFoundError(message=f"Key {name} not found in checkpoint")
        return self._stored[name].array()

    def __contains__(self, name: object) -> bool:
        return name in self._stored

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)


def read_checkpoint(prefix: str | os.PathLike[str], *, lazy: bool = False) -> Checkpoint:
    """Opens a checkpoint.

    Args:
        prefix: of its files' names.
        lazy: True checks a variable when it is first asked for, and the graph file never; index
            and headers of data files are always checked.

    Raises:
        NotFoundError: there is none.
        DataLossError: a byte is damaged, missing or too many.
        UnimplementedError: it needs a newer graphio.
    """
    store, base = stores.of(prefix)
    index = read_index_of(store, base)
    while True:
        try:
            found = Checkpoint(store, base, index)
            break
        except errors.NotFoundError as error:
            # A save to the same prefix may have come in between: then the index is another.
            again = read_index_of(store, base)
            if again.save_id == index.save_id:
                raise errors.DataLossError(message=f"a data file is missing: {error}") from None
            index = again
    if not lazy:
        found.verify()
    return found
