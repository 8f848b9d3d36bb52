"""Writing checkpoints: data files, graph file and index, in an order that no crash can break.

The index is the commit record: nothing is valid unless a valid index refers to it, and no bytes
that an index refers to are ever overwritten. Format and order: schema/README.md.
"""

from __future__ import annotations

import itertools
import os
import secrets
import time as clock
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphio.schema import (
    checkpoint_cleaner,
    checkpoint_files,
    checkpoint_index,
    dtypes,
    shards,
    tensors,
)
from graphio.schema.checkpoint_cleaner import delete
from graphio.schema.checkpoint_index import is_safe_name, read_index_of
from graphio.schema.checkpoint_pb2 import (
    CheckpointIndex,
    CheckpointMetric,
    CheckpointResource,
    CheckpointVariable,
)
from graphio.schema.crc32c import crc32c
from graphio.schema.model_pb2 import GeneratorState, IteratorState
from graphio.storage import files, stores
from graphio.storage.files import PIECE, SYSTEM, FileLayer
from graphio.storage.stores import Store
from graphio.support import errors, progress

__all__ = ["Resource", "delete", "write_checkpoint"]

Array = np.ndarray[Any, Any]
#: a generator's key and counter, an iterator's position, or bytes of the user's
Resource = tuple[int, int] | IteratorState | bytes

PRODUCER = "graphio 0.1.0"


def write_checkpoint(
    prefix: str | os.PathLike[str],
    variables: Mapping[str, Array],
    resources: Mapping[str, Resource] | None = None,
    *,
    step: int | None = None,
    meta: bytes | None = None,
    slots: Mapping[str, tuple[str, str]] | None = None,
    shard_bytes: int | None = None,
    parts: Mapping[str, str] | None = None,
    metrics: Mapping[str, float] | None = None,
    save_id: int | None = None,
    time: int | None = None,
    layer: FileLayer = SYSTEM,
) -> None:
    """Writes a checkpoint; when this returns it is on the disk.

    A crash at any moment, or an error, leaves an earlier checkpoint of the same prefix as it was.
    What earlier crashes have left of this prefix, or under temporary names, is removed. Other
    threads, processes and machines may save to the same prefix meanwhile: what is there in the end
    is one of the saved checkpoints, complete, and none older than one that was acknowledged.

    Args:
        prefix: of its files' names, a path or a URL ("s3://bucket/run/model"); a folder of this
            machine must exist.
        variables: name to value.
        resources: name to state; these are in the index itself.
        step: the global step.
        meta: the bytes of the graph file `prefix`.meta; None: none.
        slots: name of an optimizer slot to the name of its variable and of the slot.
        shard_bytes: how large a data file may become; None: there is one.
        parts: name to a string; variables of different strings are in different data files.
        metrics: name to a number of the program's, such as a loss.
        save_id, time: chosen by the system when None; given, the same state gives the same bytes.
        layer: the operating system.

    Raises:
        InvalidArgumentError: a name that cannot be stored.
        DiskFullError, UnavailableError: the error of the operating system or the store; both are
            OSError.
        AlreadyExistsError: another writer made this checkpoint in the meantime.
    """
    store, base = stores.of(prefix, layer)
    if not is_safe_name(base) or files.is_temporary(base):
        raise errors.InvalidArgumentError(
            message=f"a checkpoint cannot be called {base!r}: a name has up to 255 bytes of UTF-8, "
            "does not begin with '.' or like a temporary file, and has no slash, backslash, double "
            "quote or control character"
        )
    if "__metadata__" in variables:
        raise errors.InvalidArgumentError(message="a variable cannot be called '__metadata__'")
    index = CheckpointIndex(
        save_id=secrets.randbits(64) if save_id is None else save_id,
        time=int(clock.time()) if time is None else time,
        step=step or 0,
        has_step=step is not None,
        producer=PRODUCER,
        resource=[_resource(name, state) for name, state in _by_name(resources or {})],
        metric=[CheckpointMetric(name=k, value=v) for k, v in _by_name(metrics or {})],
    )
    writer = _Writer(store, base, index)
    try:
        writer.begin()
        writer.write_shards(variables, shard_bytes, slots or {}, parts)
        if meta is not None:
            writer.write_meta(meta)
        store.barrier()  # before the index: it must not outlive its shards
        writer.commit()
    except BaseException as error:
        committed = writer.abandon()
        if not committed or not isinstance(error, errors.UnavailableError):
            raise
    writer.confirm()
    writer.settle()


def _resource(name: str, state: Resource) -> CheckpointResource:
    if isinstance(state, tuple):
        key, counter = state
        return CheckpointResource(name=name, generator=GeneratorState(key=key, counter=counter))
    if isinstance(state, IteratorState):
        return CheckpointResource(name=name, iterator=state)
    return CheckpointResource(name=name, blob=state)


def _by_name(items: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return sorted(items.items(), key=lambda item: item[0].encode())


class _Writer:
    """One save: the files written so far, and what becomes of them."""

    def __init__(self, store: Store, base: str, index: CheckpointIndex) -> None:
        self.store, self.base, self.index = store, base, index
        self.token = f"{index.save_id:016x}"
        self.written: list[str] = []
        self.replaced: list[str] = []
        self.meta = b""
        self.record: stores.Record | None = None
        self.committing = False

    def begin(self) -> None:
        """Makes the record that the save will commit with: from now on its files are safe."""
        self.record = self.store.record(self.base + ".index", self.token)
        if self.store.shared:
            self.replaced = self._present()

    def _present(self) -> list[str]:
        """The files of the present index, if it is complete."""
        try:
            index = read_index_of(self.store, self.base)
        except (errors.NotFoundError, errors.DataLossError, errors.UnimplementedError):
            return []
        return [name for name, _ in checkpoint_files.references(index)]

    def file(self, name: str, parts: Iterable[stores.Buffer]) -> None:
        """Writes one file under its final name."""
        self.store.put(name, parts, self.token)
        self.written.append(name)

    def write_shards(
        self,
        variables: Mapping[str, Array],
        shard_bytes: int | None,
        slots: Mapping[str, tuple[str, str]],
        parts: Mapping[str, str] | None = None,
    ) -> None:
        """Writes the data files and fills in the index."""
        entries = [
            shards.Entry(name, dtypes.of_numpy(a.dtype).number, a.shape, tensors.stored_size(a))
            for name, a in variables.items()
        ]
        groups = shards.split(entries, shard_bytes, parts)
        rows: list[CheckpointVariable] = []
        total = sum(entry.nbytes for entry in entries)
        with progress.task(f"write {self.base}", total, "B") as report:
            for number, group in enumerate(groups):
                name = f"{self.base}.data-{self.token}-{number:05}-of-{len(groups):05}.safetensors"
                rows += self.write_shard(name, shards.in_order(group), variables, report)
        for row in rows:
            row.slot_of, row.slot = slots.get(row.name, ("", ""))
        self.index.variable.extend(sorted(rows, key=lambda row: row.name.encode()))

    def write_shard(
        self,
        name: str,
        entries: Sequence[shards.Entry],
        variables: Mapping[str, Array],
        report: Callable[[int], Any],
    ) -> list[CheckpointVariable]:
        """Writes one data file; checksums are computed on the way, while the bytes are in cache."""
        head = shards.header(entries, self.index.save_id)
        number, offset = len(self.index.shard), len(head)
        rows: list[CheckpointVariable] = []

        def parts() -> Iterator[bytes | memoryview]:
            nonlocal offset
            for entry in entries:
                data = memoryview(tensors.encode(variables[entry.name]))
                crc = 0
                for at in range(0, len(data), PIECE):
                    piece = data[at : at + PIECE]
                    crc = crc32c(piece, crc)
                    yield piece
                    report(len(piece))
                rows.append(
                    CheckpointVariable(
                        name=entry.name,
                        dtype=entry.dtype,  # type: ignore[arg-type]
                        dims=entry.dims,
                        shard=number,
                        offset=offset,
                        nbytes=entry.nbytes,
                        crc32c=crc,
                    )
                )
                offset += entry.nbytes

        self.file(name, itertools.chain([head], files.joined(parts())))
        self.index.shard.add(file=name, nbytes=offset)
        self.index.shard_header.append(crc32c(head))
        return rows

    def write_meta(self, data: bytes) -> None:
        """Writes the graph file, under a name that no other save uses."""
        self.meta = data
        self.index.meta_nbytes = len(data)
        self.index.meta_crc32c = crc32c(data)
        self.index.meta_file = f"{self.base}.meta-{self.token}"
        self.file(self.index.meta_file, [data])

    def commit(self) -> None:
        """Writes the index. From then on what was written is referred to."""
        assert self.record is not None
        try:
            checkpoint_index.check(self.index)
            for row in self.index.variable:
                tensors.check_dims(row.dims)
        except errors.DataLossError as error:
            raise errors.InvalidArgumentError(
                message=f"{self.store.path(self.base)!r} cannot be saved, no reader would take it: "
                f"{error.message}"
            ) from None
        self._check_written()
        data = checkpoint_index.encoded(self.index)
        self.committing = True
        self.record.put(data)

    def _check_written(self) -> None:
        """Refuses to replace the present checkpoint by one whose files have been removed."""
        if self.store.shared:
            return
        gone = [self.store.path(name) for name in self.written if not self.store.exists(name)]
        if gone:
            raise files.taken_away(
                f"{gone[0]!r} was removed before the save was committed, by another "
                "program or by a save to the same prefix that took this one for dead; the "
                "checkpoint that was there stays. Save again"
            )

    def abandon(self) -> bool:
        """After a failure: removes what was written, unless the save has committed all the same.

        A rename that failed may have happened (NFS, when the answer was lost).

        Returns:
            Whether it has committed.
        """
        if self.record is None:
            return False
        ended, committed = self.record.cancel(), False
        if self.committing:
            try:
                committed = self._is_present()
            except errors.OpError:
                return False  # files that an index may refer to stay
        if ended and not committed:
            for name in self.written:
                try:
                    self.store.remove(name)
                except OSError:
                    continue
        return committed

    def _is_present(self) -> bool:
        """Whether the index that there is is that of this save."""
        try:
            return read_index_of(self.store, self.base).save_id == self.index.save_id
        except (errors.NotFoundError, errors.DataLossError, errors.UnimplementedError):
            return False

    def confirm(self) -> None:
        """The committed files are durable and complete, or another save has replaced them."""
        self.store.barrier()
        if self.store.shared:
            return
        lost = checkpoint_files.missing(self.store, self.base, self.index)
        if lost and self._is_present():
            raise files.taken_away(
                f"another program has removed files of this save: {lost}. Save again"
            )

    def settle(self) -> None:
        """After the commit: deletes replaced files; the graph file gets its plain name."""
        assert self.record is not None
        try:
            checkpoint_cleaner.clean(
                self.store, self.base, self.token, self.record.locks, self.replaced
            )
            if not self.store.shared:
                checkpoint_cleaner.name_graph(self.store, self.base, self.index.meta_file)
                checkpoint_cleaner.name_left(self.store, self.base)
            elif self.index.meta_file:
                self.store.put(self.base + ".meta", [self.meta])  # for people
        except (OSError, errors.NotFoundError):
            return  # the checkpoint stands; the next save tidies up again
