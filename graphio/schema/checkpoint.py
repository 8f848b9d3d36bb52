"""Checkpoints that were written: reading and checking them. Format: schema/README.md."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import ItemsView, Iterator, Mapping
from typing import Any

import numpy as np

from graphio.schema import checkpoint_files, checkpoint_index, dtypes, shard_reader, tensors
from graphio.schema.checkpoint_index import read_index, read_index_of
from graphio.schema.checkpoint_pb2 import CheckpointIndex, CheckpointVariable
from graphio.schema.checkpoint_writer import Resource, delete, write_checkpoint
from graphio.schema.crc32c import crc32c
from graphio.schema.dtypes import STRING
from graphio.storage import stores
from graphio.support import errors, progress

__all__ = [
    "Checkpoint",
    "Resource",
    "copy",
    "delete",
    "read_checkpoint",
    "read_index",
    "write_checkpoint",
]

Array = np.ndarray[Any, Any]
#: data files that stay open; a process has few handles, and a mapped file takes two
HELD = 16


class Checkpoint:
    """A checkpoint that was opened; its files stay open until it is forgotten.

    Of more than HELD data files the others are opened when something in them is needed.

    Attributes:
        prefix: of its files' names.
        index: the verified index.
        variables: name to read-only array; before `read` each is a view of the mapped data file,
            checked when it is first used.
    """

    def __init__(self, store: stores.Store, base: str, index: CheckpointIndex) -> None:
        self.prefix, self.index = store.path(base), index
        self._store, self._base = store, base
        self._files = _Files(store, base, index)
        rows = {v.name: v for v in index.variable}
        self._variables = _Variables(rows, self._files, self.prefix)
        self.variables: Mapping[str, Array] = self._variables

    def read(self, into: Mapping[str, Array] | None = None) -> None:
        """Reads all variables and checks every byte of them.

        Args:
            into: arrays by name to read values into, contiguous, of the variable's dtype and as
                many elements; what they hold when this raises is undefined. The other variables
                are checked only. None: all are held in memory, in new arrays.

        Raises:
            DataLossError: bytes are damaged.
        """
        total = sum(row.nbytes for row in self.index.variable)
        with progress.task(f"read {self._base}", total, "B") as report:
            for number, rows in enumerate(self._files.rows):
                with self._files.file(number) as file:
                    for name, array in shard_reader.read_shard(file, rows, into, report):
                        if into is None:
                            self._variables.arrays[name] = array

    @property
    def step(self) -> int | None:
        """The global step, None if it was saved without."""
        return self.index.step if self.index.has_step else None

    @property
    def metrics(self) -> dict[str, float]:
        """The numbers that were given with the save, by name."""
        return {metric.name: metric.value for metric in self.index.metric}

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
            NotFoundError: there is none, or none any more.
            DataLossError: it is not the one that was saved.
        """
        if not self.index.meta_file:
            raise errors.NotFoundError(message=f"checkpoint {self.prefix!r} has no graph file")
        found = checkpoint_files.read_graph(self._store, self._base, self.index)
        if found is None:
            raise errors.NotFoundError(
                message=f"the graph file of {self.prefix!r} is gone: {self.index.meta_file!r} and "
                f"'{self._base}.meta' are not there"
            )
        data, same = found
        if not same:
            if self.replaced():
                raise errors.NotFoundError(
                    message=f"another save to {self.prefix!r} has replaced the graph file"
                )
            raise errors.DataLossError(message=f"the graph file of {self.prefix!r} is damaged")
        return data

    def verify(self) -> None:
        """Checks every byte now; a missing graph file is not an error. Raises DataLossError."""
        self.read({})
        self.check_meta()

    def stored(self, name: str, *, checked: bool = True, fetched: bool = True) -> tensors.Stored:
        """A variable that is checked when its array is used. Raises NotFoundError.

        Args:
            checked: False does not look at its checksum.
            fetched: False leaves its bytes alone, too, until then.
        """
        return self._variables.stored(name, checked, fetched)

    def replaced(self) -> bool:
        """Whether it has been saved again, or deleted, since it was opened."""
        try:
            return read_index_of(self._store, self._base).save_id != self.index.save_id
        except errors.NotFoundError:
            return True

    def check_meta(self) -> None:
        """Checks the graph file; it may be missing. Raises DataLossError."""
        if self.index.meta_file:
            try:
                self.meta()
            except errors.NotFoundError:
                return


class _Files:
    """The data files of a checkpoint, of which few are open at a time.

    Attributes:
        rows: of each file the variables in the order of their bytes.
    """

    def __init__(self, store: stores.Store, base: str, index: CheckpointIndex) -> None:
        self._store, self._base, self._index = store, base, index
        self.rows = checkpoint_index.by_shard(index)
        self._names = [shard.file for shard in index.shard]
        self._held: dict[int, stores.StoredFile] = {}
        for number in range(len(index.shard)):
            with self.file(number) as file:
                if number < HELD:
                    self._held[number] = file

    @contextlib.contextmanager
    def file(self, number: int) -> Iterator[stores.StoredFile]:
        """A data file; one that is not held is open for as long as this."""
        file = self._held.get(number) or self._open(number)
        try:
            yield file
        finally:
            if number not in self._held:
                file.close()

    def part(self, row: CheckpointVariable) -> memoryview:
        """The bytes of a variable: of a file that is held they are mapped, else read."""
        with self.file(row.shard) as file:
            if row.shard in self._held:
                return file.part(row.offset, row.nbytes)
            data = memoryview(bytearray(row.nbytes))
            file.read_into(row.offset, data)
            return data.toreadonly()

    def location(self, row: CheckpointVariable, checkpoint: str) -> tensors.Location | None:
        """The location of a variable in a local file; None: not on this machine."""
        if not isinstance(self._store, stores.LocalStore):
            return None
        path = self._store.path(self._names[row.shard])
        return tensors.Location(path, row.offset, checkpoint)

    def _open(self, number: int) -> stores.StoredFile:
        """A data file whose length and header are right; DataLossError if it is not there."""
        shard, rows = self._index.shard[number], self.rows[number]
        self._names[number], file = checkpoint_files.opened(self._store, self._base, shard.file)
        if file.size != shard.nbytes:
            raise errors.DataLossError(
                message=f"{shard.file} has {file.size} bytes, its index says {shard.nbytes}"
            )
        head = memoryview(bytearray(rows[0].offset if rows else shard.nbytes))
        file.read_into(0, head)
        if crc32c(head) != self._index.shard_header[number]:
            raise errors.DataLossError(message=f"the header of {shard.file} is damaged")
        return file


class _Variables(Mapping[str, Array]):
    """Arrays by name, checked and decoded when first used."""

    def __init__(self, rows: Mapping[str, CheckpointVariable], files: _Files, prefix: str) -> None:
        self._rows, self._files, self._prefix = rows, files, prefix
        self.arrays: dict[str, Array] = {}

    def __getitem__(self, name: str) -> Array:
        if name not in self.arrays:
            self.arrays[name] = self.stored(name).array()
        return self.arrays[name]

    def stored(self, name: str, checked: bool = True, fetched: bool = True) -> tensors.Stored:
        """A variable in its file. Raises NotFoundError."""
        if name not in self._rows:
            raise errors.NotFoundError(message=f"Key {name} not found in checkpoint")
        row = self._rows[name]
        part = functools.partial(self._files.part, row)
        what = f"variable '{name}' in checkpoint {self._prefix!r}"
        crc = row.crc32c if checked else None
        location = self._files.location(row, self._prefix)
        return tensors.Stored(row.dtype, row.dims, part() if fetched else part, crc, what, location)

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def read_checkpoint(prefix: str | os.PathLike[str], *, lazy: bool = False) -> Checkpoint:
    """Opens a checkpoint.

    Args:
        prefix: of its files' names.
        lazy: True maps the data files and checks a variable when it is first used, the graph
            file never; index and headers of data files are always checked. False reads all of
            them into memory now.

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
            if not lazy:
                found.read()
                found.check_meta()
            return found
        except errors.DataLossError:
            # A save to the same prefix may have come in between: then the index is another.
            again = read_index_of(store, base)
            if again.save_id == index.save_id:
                raise
            index = again


class _Streamed(Mapping[str, Array]):
    """The values of a checkpoint, each read and checked when it is used, and not held."""

    def __init__(self, source: Checkpoint) -> None:
        self._source = source

    def __getitem__(self, name: str) -> Array:
        return self._source.stored(name).array()

    def __contains__(self, name: object) -> bool:
        return name in self._source.variables

    def __iter__(self) -> Iterator[str]:
        return iter(self._source.variables)

    def __len__(self) -> int:
        return len(self._source.variables)

    def items(self) -> ItemsView[str, Array]:
        """Arrays of the same dtypes and shapes, uninitialised but for strings."""
        rows = self._source.index.variable
        return {
            row.name: self[row.name] if row.dtype == STRING else _hollow(row) for row in rows
        }.items()


def _hollow(row: CheckpointVariable) -> Array:
    """An array of a variable's dtype and shape that takes the memory of one element."""
    return np.broadcast_to(np.zeros((), dtypes.of_number(row.dtype).numpy), tuple(row.dims))


def copy(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    shard_bytes: int | None = None,
    *,
    as_files: bool = False,
) -> None:
    """Writes a checkpoint again, from one store to another: every byte is checked on the way, and
    one variable at a time is in memory.

    Args:
        source, target: prefixes; the copy has a new save id.
        shard_bytes: how large a data file may become; None: there is one.
        as_files: True parts the variables into data files as the source does.

    Raises:
        as read_checkpoint and write_checkpoint.
    """
    found = read_checkpoint(source, lazy=True)
    while True:
        rows = found.index.variable
        try:
            write_checkpoint(
                target,
                _Streamed(found),
                found.resources,
                step=found.step,
                meta=_graph_of(found),
                slots={v.name: (v.slot_of, v.slot) for v in rows if v.slot},
                metrics=found.metrics,
                time=found.index.time,
                shard_bytes=shard_bytes,
                parts={v.name: f"{v.shard:010}" for v in rows} if as_files else None,
            )
            return
        except errors.DataLossError:
            if not found.replaced():
                raise
            # A save to the source, or its deletion, came in between.
            found = read_checkpoint(source, lazy=True)


def _graph_of(found: Checkpoint) -> bytes | None:
    """The bytes of the graph file; None if there is none, or none any more."""
    try:
        return found.meta()
    except errors.NotFoundError as error:
        if found.index.meta_file and found.replaced():
            raise errors.DataLossError(message=error.message) from None  # the copy begins again
        return None
