"""Checkpoints: data files, graph file and index, written in an order that no crash can break.

The index is the commit record: nothing is valid unless a valid index refers to it, and no bytes
that an index refers to are ever overwritten. Format and order: schema/README.md.
"""

from __future__ import annotations

import os
import re
import secrets
import time as clock
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphio.schema import checkpoint_index, dtypes, errors, files, shards, tensors
from graphio.schema.checkpoint_index import MINOR, is_safe_name, read_index
from graphio.schema.checkpoint_pb2 import CheckpointIndex, CheckpointResource
from graphio.schema.crc32c import crc32c
from graphio.schema.files import SYSTEM, FileLayer
from graphio.schema.model_pb2 import GeneratorState, IteratorState

__all__ = ["Checkpoint", "delete", "read_checkpoint", "read_index", "write_checkpoint"]

Array = np.ndarray[Any, Any]
#: a generator's key and counter, an iterator's place, or bytes of the user's
Resource = tuple[int, int] | IteratorState | bytes

PRODUCER = "graphio 0.1.0"
_STARTED = clock.time()


def write_checkpoint(
    prefix: str | os.PathLike[str],
    variables: Mapping[str, Array],
    resources: Mapping[str, Resource] | None = None,
    *,
    step: int | None = None,
    meta: bytes | None = None,
    slots: Mapping[str, tuple[str, str]] | None = None,
    shard_bytes: int | None = None,
    save_id: int | None = None,
    time: int | None = None,
    layer: FileLayer = SYSTEM,
) -> None:
    """Writes a checkpoint; when this returns it is on the disk.

    A crash at any moment, or an error, leaves an earlier checkpoint of the same prefix as it was.
    What earlier crashes have left of this prefix, or under temporary names, is removed.

    Args:
        prefix: of its files' names; the folder must exist.
        variables: name to value.
        resources: name to state; these lie in the index itself.
        step: the global step.
        meta: the bytes of the graph file `prefix`.meta; None: none.
        slots: name of an optimizer slot to the name of its variable and of the slot.
        shard_bytes: how large a data file may become; None: there is one.
        save_id, time: chosen by the system when None; given, the same state gives the same bytes.
        layer: the operating system.

    Raises:
        InvalidArgumentError: a name that cannot be stored.
        DiskFullError, UnavailableError: what the operating system said; both are OSError.
    """
    where = os.fspath(prefix)
    folder, base = files.folder_of(where), os.path.basename(where)
    if not is_safe_name(base):
        raise errors.InvalidArgumentError(
            message=f"a checkpoint cannot be called {base!r}: use letters, digits, '_', '-' and '.'"
        )
    if "__metadata__" in variables:
        raise errors.InvalidArgumentError(message="a variable cannot be called '__metadata__'")
    index = CheckpointIndex(
        save_id=secrets.randbits(64) if save_id is None else save_id,
        time=int(clock.time()) if time is None else time,
        step=step or 0,
        has_step=step is not None,
        producer=PRODUCER,
        min_reader=MINOR,
        resource=[_resource(name, state) for name, state in _by_name(resources or {})],
    )
    writer = _Writer(folder, base, index, layer)
    try:
        writer.write_shards(variables, shard_bytes, slots or {})
        if meta is not None:
            writer.write_meta(meta)
        files.sync_folder(layer, folder)  # before the index: it must not outlive its shards
        payload = index.SerializeToString(deterministic=True)
        writer.file(base + ".index", [checkpoint_index.wrap(payload)], commits=True)
    except BaseException:
        writer.abandon()
        raise
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

    def __init__(self, folder: str, base: str, index: CheckpointIndex, layer: FileLayer) -> None:
        self.folder, self.base, self.index, self.layer = folder, base, index, layer
        self.token = f"{index.save_id:016x}"
        self.written: list[str] = []

    def path(self, name: str) -> str:
        """A file of the folder."""
        return os.path.join(self.folder, name)

    def file(self, name: str, parts: Any, commits: bool = False) -> None:
        """Writes one file under its final name; the index also makes everything durable."""
        path = self.path(name)
        files.write_new(self.layer, path, parts, files.temporary_name(path, self.token))
        if commits:
            self.written.clear()  # from here on they are referred to
            files.sync_folder(self.layer, self.folder)
        else:
            self.written.append(name)

    def write_shards(
        self,
        variables: Mapping[str, Array],
        shard_bytes: int | None,
        slots: Mapping[str, tuple[str, str]],
    ) -> None:
        """Writes the data files and fills in the index."""
        encoded = {name: tensors.encode(array) for name, array in variables.items()}
        entries = [
            shards.Entry(name, dtypes.of_numpy(a.dtype).number, a.shape, len(encoded[name]))
            for name, a in variables.items()
        ]
        groups = shards.split(entries, shard_bytes)
        for number, group in enumerate(groups):
            name = f"{self.base}.data-{self.token}-{number:05}-of-{len(groups):05}.safetensors"
            self.write_shard(name, shards.in_order(group), encoded, slots)
        rows = sorted(self.index.variable, key=lambda v: v.name.encode())
        del self.index.variable[:]
        self.index.variable.extend(rows)

    def write_shard(
        self,
        name: str,
        entries: Sequence[shards.Entry],
        encoded: dict[str, bytes | memoryview],
        slots: Mapping[str, tuple[str, str]],
    ) -> None:
        """Writes one data file; checksums are computed on the way."""
        head = shards.header(entries, self.index.save_id)
        number, offset = len(self.index.shard), len(head)

        def parts() -> Iterator[bytes | memoryview]:
            nonlocal offset
            yield head
            for entry in entries:
                data = encoded.pop(entry.name)
                slot_of, slot = slots.get(entry.name, ("", ""))
                self.index.variable.add(
                    name=entry.name,
                    dtype=entry.dtype,
                    dims=entry.dims,
                    shard=number,
                    offset=offset,
                    nbytes=entry.nbytes,
                    crc32c=crc32c(data),
                    slot_of=slot_of,
                    slot=slot,
                )
                offset += entry.nbytes
                yield data

        self.file(name, parts())
        self.index.shard.add(file=name, nbytes=offset)
        self.index.shard_header.append(crc32c(head))

    def write_meta(self, data: bytes) -> None:
        """Writes the graph file; beside the one that the present index refers to, if it differs."""
        self.index.meta_nbytes = len(data)
        self.index.meta_crc32c = crc32c(data)
        self.index.meta_file = plain = self.base + ".meta"
        present = self.present_meta()
        if present not in (None, (self.index.meta_nbytes, self.index.meta_crc32c)):
            self.index.meta_file += "-" + self.token
        self.file(self.index.meta_file, [data])
        if present is not None and self.index.meta_file == plain:
            self.written.remove(plain)  # the present index refers to these bytes

    def present_meta(self) -> tuple[int, int] | None:
        """Length and checksum of the graph file that a committed checkpoint refers to."""
        try:
            present = read_index(self.path(self.base))
        except errors.OpError:
            return None
        return (present.meta_nbytes, present.meta_crc32c) if present.meta_file else None

    def abandon(self) -> None:
        """Removes what was written and is not referred to."""
        for name in self.written:
            try:
                files.remove(self.layer, self.path(name))
            except OSError:
                continue

    def settle(self) -> None:
        """After the commit: the graph file gets its plain name, garbage goes."""
        plain = self.base + ".meta"
        try:
            if self.index.meta_file not in ("", plain):
                self.layer.rename(self.path(self.index.meta_file), self.path(plain))
            keep = {self.index.meta_file, *(shard.file for shard in self.index.shard)}
            for name in _own_files(self.folder, self.base):
                if name not in keep:
                    files.remove(self.layer, self.path(name))
            _remove_old_temporaries(self.folder, self.layer)
        except OSError:
            return  # the checkpoint stands; the next save tidies up again


def _own_files(folder: str, base: str) -> list[str]:
    """Names of data and graph files with a save id that belong to a prefix, whole or not."""
    pattern = re.compile(
        re.escape(base) + r"\.(data-[0-9a-f]{16}-\d+-of-\d+\.safetensors|meta-[0-9a-f]{16})",
        re.ASCII,
    )
    return sorted(name for name in os.listdir(folder) if pattern.fullmatch(name))


def _remove_old_temporaries(folder: str, layer: FileLayer) -> None:
    """Removes temporaries older than this process: those of others may be in use."""
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if files.is_temporary(name) and os.stat(path).st_mtime < _STARTED:
            files.remove(layer, path)


def delete(prefix: str | os.PathLike[str], layer: FileLayer = SYSTEM) -> None:
    """Removes a checkpoint: the index first, so that a crash leaves garbage and no half."""
    where = os.fspath(prefix)
    folder, base = files.folder_of(where), os.path.basename(where)
    if not files.remove(layer, where + ".index"):
        return
    files.sync_folder(layer, folder)
    for name in [*_own_files(folder, base), base + ".meta"]:
        files.remove(layer, os.path.join(folder, name))


class Checkpoint:
    """A checkpoint that was read.

    Attributes:
        prefix: of its files' names.
        index: the verified index.
        variables: name to read-only array, a view of the mapped data file.
    """

    def __init__(self, prefix: str, index: CheckpointIndex) -> None:
        self.prefix, self.index = prefix, index
        self.variables: Mapping[str, Array] = _Variables(
            {v.name: v for v in index.variable}, self._map_shards()
        )

    def _map_shards(self) -> list[memoryview]:
        views = []
        for number, shard in enumerate(self.index.shard):
            view = memoryview(files.map_file(self._beside(shard.file), follow=False))
            if len(view) != shard.nbytes:
                raise errors.DataLossError(
                    message=f"{shard.file} has {len(view)} bytes, its index says {shard.nbytes}"
                )
            head = view[: checkpoint_index.header_size(self.index, number)]
            if crc32c(head) != self.index.shard_header[number]:
                raise errors.DataLossError(message=f"the header of {shard.file} is damaged")
            views.append(view)
        return views

    def _beside(self, name: str) -> str:
        return os.path.join(files.folder_of(self.prefix), name)

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
            data = files.read(self._beside(self.index.meta_file), follow=False)
        except errors.NotFoundError:  # renamed after the commit
            data = files.read(self.prefix + ".meta", follow=False)
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
    where = os.fspath(prefix)
    index = read_index(where)
    while True:
        try:
            found = Checkpoint(where, index)
            break
        except errors.NotFoundError as error:
            # A save to the same prefix may have come in between: then the index is another.
            again = read_index(where)
            if again.save_id == index.save_id:
                raise errors.DataLossError(message=f"a data file is missing: {error}") from None
            index = again
    if not lazy:
        found.verify()
    return found
