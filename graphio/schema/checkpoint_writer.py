"""Writing checkpoints: data files, graph file and index, in an order that no crash can break.

The index is the commit record: nothing is valid unless a valid index refers to it, and no bytes
that an index refers to are ever overwritten. Format and order: schema/README.md.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import secrets
import threading
import time as clock
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphio.schema import checkpoint_index, dtypes, errors, files, meter, shards, stores, tensors
from graphio.schema.checkpoint_index import MINOR, is_safe_name, read_index_of
from graphio.schema.checkpoint_pb2 import CheckpointIndex, CheckpointResource, CheckpointVariable
from graphio.schema.crc32c import crc32c
from graphio.schema.files import PIECE, SYSTEM, FileLayer
from graphio.schema.model_pb2 import GeneratorState, IteratorState
from graphio.schema.stores import Store

__all__ = ["Resource", "delete", "write_checkpoint"]

Array = np.ndarray[Any, Any]
#: a generator's key and counter, an iterator's place, or bytes of the user's
Resource = tuple[int, int] | IteratorState | bytes

PRODUCER = "graphio 0.1.0"
#: seconds after which a file that no index refers to is taken for a crashed save's in a shared
#: store: a save to it must not take longer
GARBAGE_AGE = 24 * 3600.0
#: likewise for other prefixes of a folder of this machine
ABANDONED_AGE = 3600.0
_TENSORFLOW = r"\.data-\d{5}-of-\d{5}"
_OWN = r"\.(data-[0-9a-f]{16}-\d+-of-\d+\.safetensors|meta-[0-9a-f]{16})"


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
    save_id: int | None = None,
    time: int | None = None,
    layer: FileLayer = SYSTEM,
) -> None:
    """Writes a checkpoint; when this returns it is on the disk.

    A crash at any moment, or an error, leaves an earlier checkpoint of the same prefix as it was.
    What earlier crashes have left of this prefix, or under temporary names, is removed.

    Args:
        prefix: of its files' names, a path or a URL ("s3://bucket/run/model"); a folder of this
            machine must exist.
        variables: name to value.
        resources: name to state; these lie in the index itself.
        step: the global step.
        meta: the bytes of the graph file `prefix`.meta; None: none.
        slots: name of an optimizer slot to the name of its variable and of the slot.
        shard_bytes: how large a data file may become; None: there is one.
        parts: name to a text; variables of different texts lie in different data files.
        save_id, time: chosen by the system when None; given, the same state gives the same bytes.
        layer: the operating system.

    Raises:
        InvalidArgumentError: a name that cannot be stored.
        DiskFullError, UnavailableError: what the operating system or the store said; both are
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
        min_reader=MINOR,
        resource=[_resource(name, state) for name, state in _by_name(resources or {})],
    )
    with contextlib.nullcontext() if store.shared else _turn(store.path(base)):
        writer = _Writer(store, base, index)
        try:
            writer.write_shards(variables, shard_bytes, slots or {}, parts)
            if meta is not None:
                writer.write_meta(meta)
            store.barrier()  # before the index: it must not outlive its shards
            writer.commit()
        except BaseException:
            writer.abandon()
            raise
        writer.settle()


class _Busy:
    """The prefixes that threads of this process are saving to."""

    def __init__(self) -> None:
        self.forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        """A child has none of the threads."""
        self.prefixes: set[str] = set()
        self.changed = threading.Condition()


_BUSY = _Busy()


@contextlib.contextmanager
def _turn(prefix: str) -> Iterator[None]:
    """Saves to one prefix come one after the other: each removes what it does not know."""
    folder, base = stores.split(prefix)
    name = stores.join(stores.real(folder), base)
    with _BUSY.changed:
        while name in _BUSY.prefixes:
            _BUSY.changed.wait()
        _BUSY.prefixes.add(name)
    try:
        yield
    finally:
        with _BUSY.changed:
            _BUSY.prefixes.discard(name)
            _BUSY.changed.notify_all()


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
        self.meta = b""
        self.new, self.present = self._present()

    def _present(self) -> tuple[bool, CheckpointIndex | None]:
        """Whether there is no index of this prefix yet, and the one there is if it is whole."""
        try:
            return False, read_index_of(self.store, self.base)
        except errors.NotFoundError:
            return True, None
        except (errors.DataLossError, errors.UnimplementedError):
            return False, None

    def file(self, name: str, parts: Iterable[stores.Buffer]) -> None:
        """Writes one file under its final name."""
        self.store.put(name, parts)
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
        with meter.task(f"write {self.base}", total, "B") as told:
            for number, group in enumerate(groups):
                name = f"{self.base}.data-{self.token}-{number:05}-of-{len(groups):05}.safetensors"
                rows += self.write_shard(name, shards.in_order(group), variables, told)
        for row in rows:
            row.slot_of, row.slot = slots.get(row.name, ("", ""))
        self.index.variable.extend(sorted(rows, key=lambda row: row.name.encode()))

    def write_shard(
        self,
        name: str,
        entries: Sequence[shards.Entry],
        variables: Mapping[str, Array],
        told: Callable[[int], Any],
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
                    told(len(piece))
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
        """Writes the graph file; beside the one that the present index refers to, if it differs.

        In a shared store always beside it: another writer may be about to refer to that name.
        """
        self.meta = data
        self.index.meta_nbytes = len(data)
        self.index.meta_crc32c = crc32c(data)
        self.index.meta_file = plain = self.base + ".meta"
        present = self.present if self.present is not None and self.present.meta_file else None
        same = present is None or (present.meta_nbytes, present.meta_crc32c) == (
            self.index.meta_nbytes,
            self.index.meta_crc32c,
        )
        if self.store.shared or not same:
            self.index.meta_file += "-" + self.token
        self.file(self.index.meta_file, [data])
        if present is not None and self.index.meta_file == plain:
            self.written.remove(plain)  # the present index refers to these bytes

    def commit(self) -> None:
        """Writes the index. From then on what was written is referred to."""
        self._check()
        data = checkpoint_index.wrap(self.index.SerializeToString(deterministic=True))
        written = list(self.written)
        if self.store.shared:  # what failed may arrive yet: then its files must be there
            self.written.clear()
        try:
            self.store.commit(self.base + ".index", data, new=self.new)
        except errors.AlreadyExistsError:
            self.written = written
            raise
        self.written.clear()
        self.store.barrier()

    def _check(self) -> None:
        """What is committed can be read: no reader refuses it, and nobody has removed its files."""
        try:
            checkpoint_index.check(self.index)
            for row in self.index.variable:
                tensors.check_dims(row.dims)
        except errors.DataLossError as error:
            raise errors.InvalidArgumentError(
                message=f"{self.store.path(self.base)!r} cannot be saved, no reader would take it: "
                f"{error.message}"
            ) from None
        if self.store.shared:  # nobody removes there what may belong to a save under way
            return
        gone = [name for name in self.written if not self.store.exists(name)]
        if gone:
            raise errors.UnavailableError(
                message=f"{self.store.path(gone[0])!r} is gone before it was committed: another "
                "process saves to the same prefix. Give each its own"
            )

    def abandon(self) -> None:
        """Removes what was written and is not referred to."""
        for name in self.written:
            try:
                self.store.remove(name)
            except OSError:
                continue

    def settle(self) -> None:
        """After the commit: the graph file gets its plain name, garbage goes."""
        plain = self.base + ".meta"
        try:
            if self.index.meta_file not in ("", plain):
                if self.store.shared:
                    self.store.put(plain, [self.meta])  # for people; the index refers to the other
                else:
                    self.store.rename(self.index.meta_file, plain)
            for name in self._garbage():
                self.store.remove(name)
            self.store.tidy(self.base)
            _remove_abandoned(self.store, self.base)
        except (OSError, errors.NotFoundError):
            return  # the checkpoint stands; the next save tidies up again

    def _garbage(self) -> list[str]:
        """Files of this prefix that no index refers to, nor a save that may be under way."""
        keep = _referred(self.index)
        left = [name for name in _own_files(self.store, self.base) if name not in keep]
        if not self.store.shared:
            return left
        replaced = _referred(self.present) if self.present is not None else set()
        limit = self.store.modified(self.base + ".index") - GARBAGE_AGE
        return [n for n in left if n in replaced or self.store.modified(n) < limit]


def _referred(index: CheckpointIndex) -> set[str]:
    """The files that an index names."""
    return {index.meta_file, *(shard.file for shard in index.shard)}


def _own_files(store: Store, base: str) -> list[str]:
    """Names of data and graph files with a save id that belong to a prefix, whole or not."""
    return _files_of(store, base, _OWN)


def _files_of(store: Store, base: str, endings: str) -> list[str]:
    pattern = re.compile(f"{re.escape(base)}(?:{endings})", re.ASCII)
    return [name for name in store.names() if pattern.fullmatch(name)]


def _remove_abandoned(store: Store, base: str) -> None:
    """Removes what saves and deletions that crashed left of other prefixes.

    The age is that of the name, not of the bytes: a folder may be copied into this one.
    """
    age = GARBAGE_AGE if store.shared else ABANDONED_AGE
    limit = store.arrived(base + ".index") - age
    names = set(store.names())
    saves: dict[str, list[str]] = {}
    for name in sorted(names):
        if match := re.fullmatch("(.+)" + _OWN, name, re.ASCII):
            saves.setdefault(match[1], []).append(name)
    for prefix, found in saves.items():
        if prefix + ".index" in names:
            left = _unreferred(store, prefix, found)
        else:
            left = [*([prefix + ".meta"] if prefix + ".meta" in names else []), *found]
        if left and max(map(store.arrived, left)) < limit:
            _remove_in_order(store, left)


def _unreferred(store: Store, prefix: str, found: Sequence[str]) -> list[str]:
    """Of the files of a prefix those that its index does not name."""
    if len(set(re.findall(r"\.(?:data|meta)-([0-9a-f]{16})", " ".join(found)))) < 2:
        return []  # all of one save: the index need not be read
    try:
        keep = _referred(read_index_of(store, prefix))
    except errors.OpError:
        return []  # whose they are cannot be known
    return [name for name in found if name not in keep]


def _remove_in_order(store: Store, names: Sequence[str]) -> None:
    """Removes a graph file before data files: without these nothing tells that it is ours."""
    for number, name in enumerate(names):
        store.remove(name)
        if number == 0:
            store.barrier()


def delete(
    prefix: str | os.PathLike[str], layer: FileLayer = SYSTEM, *, meta_suffix: str = "meta"
) -> None:
    """Removes a checkpoint, ours or a TensorFlow V2 one: the index first, so that a crash leaves
    garbage and no half.

    Args:
        meta_suffix: of a graph file that goes besides `prefix`.meta.
    """
    store, base = stores.of(prefix, layer)
    if not store.remove(base + ".index"):
        return
    store.barrier()
    graphs = dict.fromkeys((f"{base}.meta", f"{base}.{meta_suffix}"))
    for name in [*graphs, *_files_of(store, base, f"{_OWN}|{_TENSORFLOW}")]:
        store.remove(name)
