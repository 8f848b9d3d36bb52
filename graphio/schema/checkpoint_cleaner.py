"""Removing what no index needs: files of saves that were replaced or have died, and checkpoints.

A file of a save may go when two things are seen, in this order: its commit record is gone, so it
will never commit; and no index of the folder needs the file. What other writers are about to commit
is thereby safe, in whatever order their calls and ours come.
"""

from __future__ import annotations

import collections
import os
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from graphio.schema import checkpoint_files
from graphio.storage import files, stores
from graphio.storage.files import SYSTEM, FileLayer
from graphio.storage.stores import Store
from graphio.support import errors

__all__ = ["clean", "delete", "name_graph", "name_left"]

#: seconds after which a file that no index refers to is taken for a crashed save's in a shared
#: store: a save to it must not take longer
GARBAGE_AGE = 24 * 3600.0
#: likewise in a folder, for saves without a lock and for other prefixes
ABANDONED_AGE = 3600.0
_TENSORFLOW = r"\.data-\d{5}-of-\d{5}"
_DELETED = ".deleted"
_INDEX, _GRAPH = ".index", ".meta"


@dataclass
class _Save:
    """The files of one save in a folder.

    Attributes:
        prefix, token: of the save.
        files: all of them, temporary ones too.
    """

    prefix: str
    token: str
    files: list[str] = field(default_factory=list)

    @property
    def record(self) -> str:
        """The name of its commit record."""
        return files.temporary_base(self.prefix + _INDEX, self.token)


class _Folder:
    """The content of a folder, by saves.

    Attributes:
        saves: by prefix and token.
        temporaries: that belong to none.
        per_prefix: how many saves each prefix has.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.names = store.entries()
        self.listed = set(self.names)
        self.saves: dict[tuple[str, str], _Save] = {}
        self.temporaries: list[str] = []
        for name in self.names:
            whose = _save_of(name)
            if whose is not None:
                self.saves.setdefault(whose, _Save(*whose)).files.append(name)
            elif files.is_temporary(name):
                self.temporaries.append(name)
        self.per_prefix = collections.Counter(prefix for prefix, _ in self.saves)

    def is_alone(self, save: _Save) -> bool:
        """Whether all that its prefix has is of one save, and an index."""
        return self.per_prefix[save.prefix] == 1 and save.prefix + _INDEX in self.listed

    def under_way(self, save: _Save) -> bool:
        """Whether a save may commit yet; checked again, since a listing is not of one moment."""
        return save.record in self.listed or self.store.exists(save.record)

    def youngest(self, save: _Save) -> float:
        """When the last file of a save came."""
        moments = []
        for name in save.files:
            try:
                moments.append(self.store.arrived(name))
            except (errors.NotFoundError, errors.UnavailableError):
                continue  # it is gone; if it cannot be looked at, it will not be removed either
        return max(moments, default=0.0)


def _save_of(name: str) -> tuple[str, str] | None:
    """Prefix and token of the save that a file belongs to."""
    if not files.is_temporary(name):
        parts = checkpoint_files.save_file(name)
        return (parts.prefix, parts.token) if parts else None
    token, final = files.token_of(name), files.final_name(name)
    parts = checkpoint_files.save_file(final)
    if parts is not None and parts.token == token:
        return parts.prefix, token
    return (final.removesuffix(_INDEX), token) if final.endswith(_INDEX) else None


def clean(store: Store, base: str, token: str, locks: bool, replaced: Iterable[str]) -> None:
    """Removes what no checkpoint needs any more, after a save has committed.

    Args:
        store, base, token: of the save.
        locks: whether this folder has locks of the saves under way.
        replaced: in a shared store, the files of the index that it has replaced.
    """
    folder, now = _Folder(store), store.arrived(base + _INDEX)
    limit = now - (GARBAGE_AGE if store.shared else ABANDONED_AGE)
    gone: list[list[str]] = []
    for save in folder.saves.values():
        if (save.prefix, save.token) == (base, token):
            continue
        if _is_over(folder, save, base, locks, limit, set(replaced)):
            gone.append(_files_to_remove(folder, save))
    _remove(folder, gone)
    store.tidy(base, folder.temporaries)


def _is_over(
    folder: _Folder, save: _Save, base: str, locks: bool, limit: float, replaced: set[str]
) -> bool:
    """Whether a save will never commit, so that what no index needs of it may go."""

    def is_old() -> bool:
        return folder.youngest(save) < limit

    store = folder.store
    if save.prefix == base and store.shared:
        return replaced.issuperset(save.files) or is_old()
    if save.record in folder.listed or (save.prefix == base and store.exists(save.record)):
        if run_of(save.prefix) != run_of(base) and not is_old():
            return False  # of another program, which may lock nothing
        try:
            return store.end_if_dead(save.record, locks, is_old)
        except OSError:
            return False  # of another user, or not a file: it stays, and holds up no other
    # Of another prefix it may be a copy under way; of one save with its index nothing is garbage.
    return save.prefix == base or (not folder.is_alone(save) and is_old())


def run_of(base: str) -> str:
    """The part of a name that the checkpoints of one run share: the name without the step."""
    return re.sub(r"-\d+$", "", base, flags=re.ASCII)


def _files_to_remove(folder: _Folder, save: _Save) -> list[str]:
    """A graph file before data files: it cannot be recognised without them."""
    plain = save.prefix + _GRAPH
    unnamed = plain in folder.listed and save.prefix + _INDEX not in folder.listed
    left = [name for name in save.files if name != save.record]
    return [plain, *left] if unnamed else left


def _remove(folder: _Folder, saves: Sequence[Sequence[str]]) -> None:
    """Removes files of saves that are over, unless an index needs them."""
    store = folder.store
    needed = checkpoint_files.needed(store, [name for names in saves for name in names])
    for names in saves:
        for number, name in enumerate(name for name in names if name not in needed):
            store.remove(name)
            if number == 0 and name.endswith(_GRAPH):
                store.barrier()


def name_graph(store: Store, base: str, graph: str) -> None:
    """Gives the graph file of a committed save its plain name.

    A save that commits later removes the graph file of that checkpoint before it names its own, so
    that this fails then: files that the present index names always have one of their two names.
    """
    folder, plain = _Folder(store), base + _GRAPH
    if not checkpoint_files.is_graph_of(graph, base) or graph not in folder.listed:
        return
    for save in folder.saves.values():
        if save.prefix != base or graph in save.files or save.record in folder.listed:
            continue
        if any(checkpoint_files.is_graph_of(name, base) for name in save.files):
            return  # it is needed, or could not be removed, and might be named at any moment
    if any(files.final_name(name) == base + _DELETED for name in folder.temporaries):
        return  # the process that deletes the checkpoint is about to remove that name
    if plain in folder.listed:
        others = [name for name in folder.names if name != base + _INDEX]
        if checkpoint_files.needed(store, [plain], others):
            return
    store.rename(graph, plain)


def name_left(store: Store, base: str) -> None:
    """Does the same for checkpoints of other prefixes that a crash has kept from it."""
    folder = _Folder(store)
    for save in folder.saves.values():
        plain = save.prefix + _GRAPH
        if save.prefix == base or plain in folder.listed or not folder.is_alone(save):
            continue
        if any(checkpoint_files.is_graph_of(name, save.prefix) for name in save.files):
            index = checkpoint_files.peeked(store, save.prefix)
            if index is not None:
                name_graph(store, save.prefix, index.meta_file)


def delete(
    prefix: str | os.PathLike[str],
    layer: FileLayer = SYSTEM,
    *,
    meta_suffix: str = "meta",
) -> None:
    """Removes a checkpoint, ours or a TensorFlow V2 one: the index first, so that a crash leaves
    garbage and no half. What another index of the folder needs stays.

    Args:
        meta_suffix: of a graph file that goes besides `prefix`.meta.
    """
    store, base = stores.of(prefix, layer)
    index = checkpoint_files.peeked(store, base)
    named = checkpoint_files.of_its_save(index) if index is not None else []
    mark = "" if store.shared else files.temporary_base(base + _DELETED, secrets.token_hex(8))
    if not _remove_index(store, base + _INDEX, mark):
        return
    try:
        store.barrier()
        _remove_deleted(store, base, named, meta_suffix)
    finally:
        if mark:
            _remove_mark(store, mark)


def _remove_index(store: Store, name: str, mark: str) -> bool:
    """Removes an index; False: there is none.

    While the mark is there, no save to the same prefix gives its graph file the plain name.
    """
    if not mark:
        return store.remove(name)
    try:
        store.rename(name, mark)
    except errors.UnavailableError:
        if store.exists(name):
            raise
        return False
    return True


def _remove_mark(store: Store, mark: str) -> None:
    """Leaves nothing under a temporary name because one call failed."""
    try:
        store.remove(mark)
    except OSError:
        store.remove(mark)


def _remove_deleted(store: Store, base: str, named: Sequence[str], meta_suffix: str) -> None:
    """Removes the files of a checkpoint that has no index any more."""
    folder = _Folder(store)
    own = [save for save in folder.saves.values() if save.prefix == base]
    under_way = [save for save in own if folder.under_way(save)]
    spared = {name for save in under_way for name in save.files}
    graphs = dict.fromkeys((f"{base}{_GRAPH}", f"{base}.{meta_suffix}"))
    if under_way or base + _INDEX in folder.listed:
        graphs.clear()  # they may be the other save's
    tensorflow = re.compile(re.escape(base) + _TENSORFLOW, re.ASCII)
    data = [name for save in own for name in save.files]
    data += [name for name in folder.names if tensorflow.fullmatch(name)]
    gone = [n for n in dict.fromkeys([*graphs, *data, *named]) if n not in spared]
    needed = checkpoint_files.needed(store, gone)
    for name in gone:
        if name not in needed:
            store.remove(name)
