"""The files of a save in a folder, and those that an index needs.

A checkpoint may have been copied by its file names, `best.index` with `best.data-...`: its index
names the files of the original. What it names counts; where that is missing, the file of the same
ending under the copy's own name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from google.protobuf.message import DecodeError

from graphio.schema import checkpoint_index
from graphio.schema.checkpoint_pb2 import CheckpointIndex
from graphio.schema.crc32c import crc32c
from graphio.storage import stores
from graphio.storage.stores import Store
from graphio.support import errors

__all__ = [
    "SaveFile",
    "candidates",
    "graph_name",
    "lacking",
    "missing",
    "needed",
    "opened",
    "prefixes_needing",
    "save_file",
]

INDEX = ".index"
_SAVE_FILE = re.compile(
    r"(.+)(\.(?:data-([0-9a-f]{16})-\d+-of-\d+\.safetensors|meta-([0-9a-f]{16})))", re.ASCII
)
_PLAIN_GRAPH = ".meta"


class SaveFile(NamedTuple):
    """The parts of the name of a data or graph file.

    Attributes:
        prefix: the base name that it was saved or copied under.
        token: the save's id, 16 hexadecimal digits.
        ending: what follows the prefix.
    """

    prefix: str
    token: str
    ending: str

    @property
    def is_graph(self) -> bool:
        """Whether it is a graph file."""
        return self.ending.startswith(_PLAIN_GRAPH)


def save_file(name: str) -> SaveFile | None:
    """The parts of the name of a data or graph file with a save id; None: it is not such a name."""
    found = _SAVE_FILE.fullmatch(name)
    return SaveFile(found[1], found[3] or found[4], found[2]) if found else None


def is_graph_of(name: str, base: str) -> bool:
    """Whether a file is the graph file of a save to `base`, under the name that has its id."""
    parts = save_file(name)
    return parts is not None and parts.prefix == base and parts.is_graph


def candidates(base: str, name: str) -> list[str]:
    """The possible names of a file that the index of `base` names; the first one counts.

    A graph file gets its plain name after the commit.
    """
    found, parts = [name], save_file(name)
    if parts is not None and parts.is_graph:
        found += [parts.prefix + _PLAIN_GRAPH, base + parts.ending, base + _PLAIN_GRAPH]
    elif parts is not None:
        found.append(base + parts.ending)
    elif name.endswith(_PLAIN_GRAPH):
        found.append(base + _PLAIN_GRAPH)
    return list(dict.fromkeys(found))


def references(index: CheckpointIndex) -> list[tuple[str, int]]:
    """The files that an index names, each with its length."""
    found = [(shard.file, shard.nbytes) for shard in index.shard]
    return [*found, (index.meta_file, index.meta_nbytes)] if index.meta_file else found


def peeked(store: Store, base: str) -> CheckpointIndex | None:
    """An index of which only the checksums and the names of its files are checked: that takes a
    tenth of the time. None: there is none that is valid.

    Raises:
        UnavailableError: it cannot be read now.
    """
    try:
        return _parsed(store.read(base + INDEX, follow=True))
    except errors.UnavailableError as error:
        if isinstance(error, errors.InvalidArgumentError):
            return None  # no file
        raise
    except errors.OpError:
        return None


def _parsed(data: bytes) -> CheckpointIndex:
    """Raises DataLossError, UnimplementedError."""
    try:
        index = CheckpointIndex.FromString(checkpoint_index.unwrap(data))
    except DecodeError:
        raise checkpoint_index.damaged("it is not a CheckpointIndex message") from None
    if not all(checkpoint_index.is_safe_name(name) for name, _ in references(index)):
        raise checkpoint_index.damaged("it names no plain file")
    return index


def of_its_save(index: CheckpointIndex) -> list[str]:
    """The files that an index names and that have its save's id in their names."""
    named = ((name, save_file(name)) for name, _ in references(index))
    return [name for name, parts in named if parts and parts.token == f"{index.save_id:016x}"]


def needed_by(store: Store, base: str, index: CheckpointIndex) -> Iterator[str]:
    """The names that must stay for the index of `base`.

    A copy that has all of a file's bytes does not need the original's.
    """
    for name, nbytes in references(index):
        where = candidates(base, name)
        own = [candidate for candidate in where if _prefix(candidate) == base]
        has_own = own != where and any(store.size(candidate) == nbytes for candidate in own)
        yield from own if has_own else where


def _prefix(name: str) -> str:
    parts = save_file(name)
    return parts.prefix if parts else name.removesuffix(_PLAIN_GRAPH)


def needed(store: Store, names: Collection[str], listing: Iterable[str] | None = None) -> set[str]:
    """Those of some data and graph files that an index of the folder needs, copies included.

    Args:
        names: of the files.
        listing: the names in the folder; None: it is read.

    Returns:
        All of the names if an index cannot be read now, or needs a newer reader.
    """
    listed = set(names)
    found: set[str] = set()
    for base, index in _naming(store, listed, listing):
        if index is None:
            return listed
        found.update(listed.intersection(needed_by(store, base, index)))
    return found


def prefixes_needing(store: Store, name: str) -> list[str]:
    """The base names of the checkpoints of the folder whose index needs a file."""
    return [
        base
        for base, index in _naming(store, {name}, None)
        if index is None or name in needed_by(store, base, index)
    ]


def _naming(
    store: Store, names: Collection[str], listing: Iterable[str] | None
) -> Iterator[tuple[str, CheckpointIndex | None]]:
    """The indexes that may have one of the names; None for one that cannot be read now."""
    if not names:
        return
    keys = {_key(name) for name in names}
    for file in store.names() if listing is None else listing:
        if not file.endswith(INDEX):
            continue
        base = file.removesuffix(INDEX)
        try:
            data = store.read(file, follow=True)
            if any(key in data for key in keys):  # to search is faster than to parse
                yield base, _parsed(data)
        except (errors.NotFoundError, errors.InvalidArgumentError, errors.DataLossError):
            continue  # it is gone, no file, or nothing that can be restored
        except errors.OpError:
            yield base, None


def _key(name: str) -> bytes:
    """Each index that refers to a file."""
    parts = save_file(name)
    return (parts.token if parts else name).encode()


def opened(store: Store, base: str, name: str) -> tuple[str, stores.StoredFile]:
    """Opens a data file that the index of `base` names; also its actual name.

    Raises:
        DataLossError: it is not there.
    """
    for candidate in candidates(base, name):
        try:
            return candidate, store.open(candidate)
        except errors.NotFoundError:
            continue
    raise errors.DataLossError(message=_absent(store, base, [name]))


def read_graph(store: Store, base: str, index: CheckpointIndex) -> tuple[bytes, bool] | None:
    """The graph file that the index of `base` names, and whether it is the one that was saved.

    None: there is none. Where other saves use the same name, that of this save is looked for.
    """
    found: bytes | None = None
    for candidate in candidates(base, index.meta_file):
        try:
            data = store.read(candidate)
        except errors.NotFoundError:
            continue
        if (len(data), crc32c(data)) == (index.meta_nbytes, index.meta_crc32c):
            return data, True
        found = data if found is None else found
        if save_file(candidate) is not None:
            break  # that name is of this save alone: the file is damaged
    return None if found is None else (found, False)


def graph_name(store: Store, plain: str) -> str:
    """The path of a checkpoint's graph file `P.meta`: until it gets that name, under the one
    that its index knows."""
    base = plain.removesuffix(_PLAIN_GRAPH)
    try:
        named = checkpoint_index.read_index_of(store, base).meta_file if base != plain else ""
    except errors.OpError:
        return plain
    return named if is_graph_of(named, base) and store.exists(named) else plain


def missing(store: Store, base: str, index: CheckpointIndex) -> str:
    """The sentence about data files that an index names and that are gone; "": none is."""
    gone = [
        shard.file
        for shard in index.shard
        if all(store.size(candidate) is None for candidate in candidates(base, shard.file))
    ]
    return _absent(store, base, gone) if gone else ""


def lacking(store: Store, base: str) -> str:
    """Likewise for a checkpoint in a folder of this machine; "" also if it has no valid index.

    In an object store it is not looked for: each file would be a request.
    """
    known: int | None = None
    while not store.shared:
        try:
            index = peeked(store, base)
        except errors.UnavailableError:
            break
        text = missing(store, base, index) if index else ""
        if index is None or not text or index.save_id == known:
            return text
        known = index.save_id  # a save to the same prefix may have come in between
    return ""


def _absent(store: Store, base: str, names: Iterable[str]) -> str:
    paths = ", ".join(f"no file {store.path(name)!r}" for name in names)
    return (
        f"a data file is missing: there is {paths}, which the checkpoint {base!r} needs: bring it "
        "back into its folder, or restore another checkpoint"
    )
