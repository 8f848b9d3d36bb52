"""Looking into checkpoints: whether every byte is as it was written, and what they hold."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from graphio.schema import checkpoint_files, checkpoint_index, dtypes, shard_reader
from graphio.schema.checkpoint_index import read_index_of
from graphio.schema.checkpoint_pb2 import CheckpointIndex, CheckpointVariable
from graphio.schema.crc32c import crc32c as checksum
from graphio.storage import stores
from graphio.support import api_guard, errors, html
from graphio.train.checkpoints.checkpoint_reader import resolved
from graphio.train.interop import formats
from graphio.train.interop.sources import CheckpointSource, Source, open_source

__all__ = ["Listed", "Listing", "Verified", "list_checkpoint", "verify"]

Where = str | os.PathLike[str]


# ---- verify ----


@dataclass(frozen=True)
class Verified:
    """The result of a byte-by-byte check.

    Attributes:
        prefixes: of the checkpoints.
        files, variables, resources, bytes: how many, all checkpoints together; resources are
            random generators, iterators and blobs.
    """

    prefixes: tuple[str, ...]
    files: int
    variables: int
    resources: int
    bytes: int

    def __str__(self) -> str:
        count = len(self.prefixes)
        return (
            f"{count} checkpoint{'s' * (count != 1)}, {self.files} files, {self.variables} "
            f"variables, {self.resources} resources, {self.bytes:,} bytes: all as they were written"
        )


@api_guard.guarded
def verify(prefix: Where, *, all: bool = False) -> Verified:
    """Checks every byte of a checkpoint: index, graph file and all data files.

    Args:
        prefix: of its files' names, or a folder, whose newest checkpoint is checked. A file of
            another framework is checked as far as its format has checksums.
        all: True checks all checkpoints of a folder; those that are deleted meanwhile do not count.

    Returns:
        The result of the check; print it.

    Raises:
        NotFoundError: there is no checkpoint.
        DataLossError: something is damaged; the message lists all of it.
        UnimplementedError: nothing is, but a newer graphio wrote what cannot be checked; the
            message lists all of it.
    """
    checks = _check_all(prefix) if all else [_check(resolved(prefix))]
    _refuse(checks)
    return Verified(
        tuple(check.prefix for check in checks),
        sum(check.files for check in checks),
        sum(check.variables for check in checks),
        sum(check.resources for check in checks),
        sum(check.bytes for check in checks),
    )


def _refuse(checks: Sequence[_Check]) -> None:
    """Raises what verify raises, if a checkpoint is damaged, or newer than this reader."""
    wrong = [f"  {text}" for check in checks for text in check.wrong]
    newer = [f"  {check.newer}" for check in checks if check.newer]
    described = f"{len(newer)} of {len(checks)} checkpoints not checked:\n" + "\n".join(newer)
    if wrong:
        damaged = sum(bool(check.wrong) for check in checks)
        text = f"{damaged} of {len(checks)} checkpoints damaged:\n" + "\n".join(wrong)
        raise errors.DataLossError(message=f"{text}\n{described}" if newer else text)
    if newer:
        raise errors.UnimplementedError(message=described)


class _Check:
    """The check of one checkpoint: the checked files and values, and the errors.

    Attributes:
        newer: why it cannot be checked, if a newer graphio wrote it; else "".
    """

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.files = self.variables = self.resources = self.bytes = 0
        self.wrong: list[str] = []
        self.newer = ""

    def says(self, error: Exception) -> None:
        """Notes what is wrong."""
        self.wrong.append(f"{self.prefix}: {error}")

    def file(self, size: int) -> None:
        """Counts a file that is right."""
        self.files += 1
        self.bytes += size


def _check_all(folder: Where) -> list[_Check]:
    """The checks of a folder's checkpoints; what a run deletes meanwhile is left out."""
    store = stores.of_folder(folder)
    checks = []
    for name in store.names():
        if not name.endswith(".index"):
            continue
        try:
            check = _check(store.path(name.removesuffix(".index")))
        except errors.NotFoundError:
            if store.exists(name):
                raise
            continue
        if not check.wrong or store.exists(name):
            checks.append(check)
    if not checks:
        raise errors.NotFoundError(message=f"there is no checkpoint in {os.fspath(folder)!r}")
    return checks


def _check(prefix: str) -> _Check:
    check = _Check(prefix)
    store, base = stores.of(prefix)
    try:
        index = read_index_of(store, base)
    except errors.NotFoundError:
        return _check_foreign(check)
    except errors.UnimplementedError as error:
        check.newer = f"{check.prefix}: {error}"
        return check
    except errors.OpError as error:
        if isinstance(error, errors.DataLossError) and formats.is_tensorflow(prefix):
            return _check_foreign(check)
        check.says(error)
        return check
    check.file(len(store.read(base + ".index", follow=True)))
    check.resources = len(index.resource)
    for number, rows in enumerate(checkpoint_index.by_shard(index)):
        _check_shard(check, store, base, index, number, rows)
    _check_meta(check, store, base, index)
    if check.wrong and _save_id(store, base) != index.save_id:
        return _check(prefix)  # a save to the same prefix came in between
    return check


def _save_id(store: stores.Store, base: str) -> int | None:
    try:
        return read_index_of(store, base).save_id
    except errors.OpError:
        return None


def _check_shard(
    check: _Check,
    store: stores.Store,
    base: str,
    index: CheckpointIndex,
    number: int,
    rows: Sequence[CheckpointVariable],
) -> None:
    shard = index.shard[number]
    try:
        _, file = checkpoint_files.opened(store, base, shard.file)
    except errors.OpError as error:
        check.says(error)
        return
    try:
        if file.size != shard.nbytes:
            raise errors.DataLossError(
                message=f"{shard.file} has {file.size} bytes, its index says {shard.nbytes}"
            )
        head = memoryview(bytearray(rows[0].offset if rows else shard.nbytes))
        file.read_into(0, head)
        if checksum(head) != index.shard_header[number]:
            check.says(errors.DataLossError(message=f"the header of {shard.file} is damaged"))
        for row in rows:
            _check_variable(check, file, row)
        check.file(file.size)
    except errors.OpError as error:
        check.says(error)
    finally:
        file.close()


def _check_variable(check: _Check, file: stores.StoredFile, row: CheckpointVariable) -> None:
    check.variables += 1
    try:
        for _ in shard_reader.read_shard(file, [row], {}):
            pass
    except errors.OpError as error:
        check.says(error)


def _check_meta(check: _Check, store: stores.Store, base: str, index: CheckpointIndex) -> None:
    """A missing graph file is not damage: a restore does not need it."""
    if not index.meta_file:
        return
    try:
        found = checkpoint_files.read_graph(store, base, index)
    except errors.OpError as error:
        check.says(error)
        return
    if found is None:
        return
    data, same = found
    if same:
        check.file(len(data))
    else:
        check.says(errors.DataLossError(message=f"the graph file {base}.meta is damaged"))


def _check_foreign(check: _Check) -> _Check:
    source = open_source(check.prefix)
    for name in source.entries():
        try:
            check.bytes += source.array(name).nbytes
            check.variables += 1
        except errors.OpError as error:
            check.says(error)
    check.files = 1
    return check


# ---- listing ----


class Listed(NamedTuple):
    """A row of a listing.

    Attributes:
        name: in the checkpoint.
        kind: variable, slot, generator, iterator or blob.
        dtype: name of the element type; "" for anything but a tensor.
        shape: None for anything but a tensor.
        bytes: how many it takes.
        shard: number of its data file; None: it is in the index, or graphio did not write the file.
        of: of a slot: the variable's name.
    """

    name: str
    kind: str
    dtype: str
    shape: tuple[int, ...] | None
    bytes: int
    shard: int | None
    of: str = ""


_COLUMNS = ("name", "kind", "dtype", "shape", "bytes", "shard")
_NUMBERS = (4, 5)


class Listing(Sequence[Listed]):
    """The contents of a checkpoint: rows, and a table when it is printed.

    Attributes:
        what: the checkpoint.
        step: it was saved with; None: none.
        rows: variables by name, then resources.
        metrics: the numbers that were given with the save, by name.
    """

    def __init__(
        self,
        what: str,
        step: int | None,
        rows: Sequence[Listed],
        metrics: Mapping[str, float] | None = None,
    ) -> None:
        self.what, self.step, self.rows = what, step, tuple(rows)
        self.metrics = dict(metrics or {})

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        return f"{self._title()}\n{as_table(_COLUMNS, self._cells(), right=_NUMBERS)}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html.table(self._title(), _COLUMNS, self._cells(), right=_NUMBERS)

    def _title(self) -> str:
        step = "" if self.step is None else f", step {self.step}"
        described = "".join(f", {name} {value:.6g}" for name, value in self.metrics.items())
        size = sum(row.bytes for row in self.rows)
        return f"{self.what}{step}{described}: {len(self.rows)} entries, {size:,} bytes"

    def _cells(self) -> list[tuple[str, ...]]:
        return [
            (
                row.name,
                f"{row.kind} of {row.of}" if row.of else row.kind,
                row.dtype,
                "" if row.shape is None else str(list(row.shape)),
                f"{row.bytes:,}",
                "" if row.shard is None else str(row.shard),
            )
            for row in self.rows
        ]


def as_table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Lines with aligned columns.

    Args:
        right: numbers of the columns that are aligned to the right.
    """
    lines = [tuple(head), *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


@api_guard.guarded
def list_checkpoint(prefix: Where) -> Listing:
    """The contents of a checkpoint; of one of graphio's only the index and headers are read.

    Args:
        prefix: of its files' names, a folder, whose newest is taken, or a file of another
            framework that tf.train.Saver.restore reads.

    Returns:
        Rows; prints as a table.

    Raises:
        NotFoundError: there is none.
        DataLossError: it is damaged.
    """
    source = open_source(resolved(prefix), lazy=True)
    if not isinstance(source, CheckpointSource):
        return Listing(source.what, None, list(_foreign_rows(source)))
    found = source.checkpoint
    return Listing(source.what, found.step, list(_own_rows(found.index)), found.metrics)


def _own_rows(index: CheckpointIndex) -> Iterator[Listed]:
    for row in index.variable:
        kind = "slot" if row.slot_of else "variable"
        dtype = dtypes.name(row.dtype)
        yield Listed(row.name, kind, dtype, tuple(row.dims), row.nbytes, row.shard, row.slot_of)
    for resource in index.resource:
        kind = resource.WhichOneof("state") or ""
        size = len(resource.blob) if kind == "blob" else resource.ByteSize()
        yield Listed(resource.name, kind, "", None, size, None)


def _foreign_rows(source: Source) -> Iterator[Listed]:
    for name, entry in sorted(source.entries().items()):
        size = dtypes.BY_NUMBER[entry.dtype].bits if entry.dtype in dtypes.BY_NUMBER else 0
        for dim in entry.dims:
            size *= dim
        dtype = dtypes.name(entry.dtype)
        yield Listed(name, "variable", dtype, entry.dims, (size + 7) // 8, None)
