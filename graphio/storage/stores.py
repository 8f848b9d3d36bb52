"""Where checkpoints lie: a folder of this machine, or of an object store such as s3://.

A Store knows base names only, so nothing that a file says leads out of its folder.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable
from typing import Any

from graphio.storage import commit_record, files
from graphio.storage.files import SYSTEM, FileLayer
from graphio.storage.store_paths import absolute, is_remote, join, plain, real, split
from graphio.storage.store_protocols import Buffer, Record, Store, StoredFile
from graphio.support import errors

__all__ = [
    "Buffer",
    "LocalStore",
    "Record",
    "Store",
    "StoredFile",
    "absolute",
    "can_be_folder",
    "is_folder",
    "is_remote",
    "join",
    "loadable",
    "make_folder",
    "of",
    "of_folder",
    "plain",
    "real",
    "split",
    "write",
]

_STARTED = time.time()
#: seconds before this process began after which no process writes a temporary file any more
OTHERS_AGE = 3600.0
_TRIES = 4


class LocalStore:
    """A folder of this machine.

    Args:
        folder: its path; "" is the current one.
        layer: the operating system.
    """

    shared = False

    def __init__(self, folder: str, layer: FileLayer = SYSTEM) -> None:
        self.folder, self.layer = folder, layer

    def path(self, name: str) -> str:
        """As Store.path."""
        return os.path.join(self.folder, name)

    def make(self) -> None:
        """As Store.make."""
        if self.folder:
            files.make_folder(self.layer, self.folder)

    def put(self, name: str, parts: Iterable[Buffer], token: str | None = None) -> None:
        """As Store.put: under a temporary name, synced, then renamed."""
        path = self.path(name)
        temporary = files.temporary_name(path, token or secrets.token_hex(8))
        files.write_new(self.layer, path, parts, temporary)

    def record(self, name: str, token: str) -> commit_record.CommitRecord:
        """As Store.record."""
        return commit_record.CommitRecord(self.layer, self.path(name), token)

    def end_if_dead(self, record: str, locks: bool, is_old: Callable[[], bool]) -> bool:
        """As Store.end_if_dead."""
        with files.naming("look for", self.path(record)):
            return commit_record.end_if_dead(self.layer, self.path(record), locks, is_old)

    def rename(self, old: str, new: str) -> None:
        """As Store.rename."""
        with files.naming("rename", self.path(old)):
            self.layer.rename(self.path(old), self.path(new))

    def barrier(self) -> None:
        """As Store.barrier: syncs the folder."""
        files.sync_folder(self.layer, self.folder or os.curdir)

    def read(self, name: str, *, follow: bool = False) -> bytes:
        """As Store.read."""
        return files.read(self.path(name), follow=follow)

    def open(self, name: str) -> files.OpenFile:
        """As Store.open."""
        return files.OpenFile(self.path(name), follow=False)

    def remove(self, name: str) -> bool:
        """As Store.remove."""
        return files.remove(self.layer, self.path(name))

    def tidy(self, base: str, temporaries: Iterable[str]) -> None:
        """As Store.tidy: of this run those older than the process."""
        ours = re.compile(re.escape(re.sub(r"-\d+$", "", base)) + r"[-.].+|checkpoint", re.ASCII)
        for name in temporaries:
            path = self.path(name)
            with contextlib.suppress(FileNotFoundError):
                age = _STARTED - os.stat(path).st_mtime
                if age > (0 if ours.fullmatch(files.final_name(name)) else OTHERS_AGE):
                    files.remove(self.layer, path)

    def names(self) -> list[str]:
        """As Store.names."""
        return [name for name in self.entries() if not files.is_temporary(name)]

    def entries(self) -> list[str]:
        """As Store.entries."""
        with files.naming("list", self.folder):
            return sorted(os.listdir(self.folder or os.curdir))

    def exists(self, name: str) -> bool:
        """As Store.exists."""
        return files.exists(self.path(name))

    def size(self, name: str) -> int | None:
        """As Store.size."""
        return files.size(self.path(name))

    def modified(self, name: str) -> float:
        """As Store.modified."""
        with files.naming("read", self.path(name)):
            return os.stat(self.path(name)).st_mtime

    def arrived(self, name: str) -> float:
        """As Store.arrived."""
        with files.naming("read", self.path(name)):
            return os.stat(self.path(name)).st_ctime


def of_folder(folder: str | os.PathLike[str], layer: FileLayer = SYSTEM) -> Store:
    """The store of a folder.

    Raises:
        ImportError: the package that knows the URL's store is not installed; says which.
        InvalidArgumentError: no package knows such URLs.
    """
    where = plain(folder)
    if is_remote(where):
        from graphio.storage import remote

        return remote.FsspecStore(where)
    return LocalStore(where, layer)


def of(path: str | os.PathLike[str], layer: FileLayer = SYSTEM) -> tuple[Store, str]:
    """The store of a path or prefix, and its name there; errors as of_folder.

    "s3://bucket/run/model-5" gives the store "s3://bucket/run" and "model-5".
    """
    folder, base = split(path)
    return of_folder(folder, layer), base


def can_be_folder(path: str | os.PathLike[str]) -> bool:
    """Whether files can be put there: a folder, or one that Store.make can make. A store of
    objects has no folders to be missed."""
    where = plain(path)
    if is_remote(where) or not where or files.is_folder(where):
        return True
    above = os.path.dirname(os.path.abspath(where))
    return not files.exists(where, follow=False) and files.is_folder(above)


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a path is one of a folder: in an object store, one that is not of a file."""
    where = plain(path)
    if not is_remote(where):
        return os.path.isdir(where)
    store, name = of(where)
    return not name or not store.exists(name)


def make_folder(folder: str | os.PathLike[str]) -> None:
    """Makes a folder of this machine, durably and with those that it is in, if it is not there; a
    store of objects needs none."""
    where = plain(folder)
    if not where or is_remote(where) or files.is_folder(where):
        return
    above = os.path.dirname(os.path.abspath(where))
    if above != os.path.abspath(where):
        make_folder(above)
    files.make_folder(SYSTEM, where)


def loadable(source: Any) -> Any:
    """The argument of an engine's load: a path of this machine, or bytes, which are fetched where
    the path is a URL; anything else is itself.

    Raises:
        NotFoundError, UnavailableError: the store has no such file, or does not answer.
        ImportError, InvalidArgumentError: as of_folder.
    """
    if not isinstance(source, (str, os.PathLike)):
        return source
    if isinstance(os.fspath(source), bytes):
        return source
    where = plain(source)
    if not is_remote(where):
        return where
    store, name = of(where)
    return store.read(name)


def write(path: str | os.PathLike[str], parts: Iterable[Buffer], layer: FileLayer = SYSTEM) -> None:
    """Writes a file in one step: afterwards it is complete and durable, or unchanged."""
    store, name = of(path, layer)
    new = not store.shared and store.size(name) is None
    store.put(name, parts)
    try:
        store.barrier()
    except OSError:
        if new:
            store.remove(name)  # an error leaves no new file
        raise


def put_again(store: Store, name: str, data: bytes) -> None:
    """Store.put of a small file; once more if another process took its temporary one for what a
    crash has left, and removed it."""
    for left in reversed(range(_TRIES)):
        try:
            store.put(name, [data])
            return
        except errors.UnavailableError as error:
            if left == 0 or error.errno != errno.ENOENT or isinstance(error, files.NoFolderError):
                raise
