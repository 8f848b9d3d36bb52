"""Where checkpoints lie: a folder of this machine, or of an object store such as s3://.

A Store knows base names only, so nothing that a file says leads out of its folder.
"""

from __future__ import annotations

import contextlib
import errno
import os
import pathlib
import re
import secrets
import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from graphio.schema import commit_record, errors, files
from graphio.schema.files import SYSTEM, FileLayer

__all__ = [
    "LocalStore",
    "Record",
    "Store",
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

Buffer = bytes | bytearray | memoryview
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.:-]+)://", re.ASCII)
_BROKEN = re.compile(r"(s3a?|gc?s|az|abfss?|memory|file):/", re.ASCII)
_LOCAL = ("file", "local")
_STARTED = time.time()
#: seconds before this process began after which nobody writes a temporary file any more
OTHERS_AGE = 3600.0
_TRIES = 4


class Store(Protocol):
    """A folder of files. Errors are graphio's and name the file.

    Attributes:
        shared: whether other machines may be saving here now and nothing can be renamed: what no
            index refers to may then belong to a save under way.
    """

    shared: bool

    def path(self, name: str) -> str:
        """A file's whole path, for messages and for prefixes that are returned."""
        ...

    def make(self) -> None:
        """Makes the folder, durably, if it is not there; the one that it is in must be."""
        ...

    def put(self, name: str, parts: Iterable[Buffer], token: str | None = None) -> None:
        """Writes a file: whole or not at all; when this returns its bytes are durable.

        Args:
            token: the id of the save that it belongs to, 16 hexadecimal digits.
        """
        ...

    def record(self, name: str, token: str) -> Record:
        """Begins a save that the index `name` will commit."""
        ...

    def end_if_dead(self, record: str, locks: bool, is_old: Callable[[], bool]) -> bool:
        """As commit_record.end_if_dead, for a name among `entries`."""
        ...

    def rename(self, old: str, new: str) -> None:
        """Puts a file in the place of another; not where the store is shared."""
        ...

    def barrier(self) -> None:
        """What was put or removed before is durable before anything after."""
        ...

    def read(self, name: str, *, follow: bool = False) -> bytes:
        """A file's bytes.

        Args:
            follow: True follows a symbolic link in the file's place.
        """
        ...

    def open(self, name: str) -> StoredFile:
        """A file that is read at many places. Links are not followed."""
        ...

    def remove(self, name: str) -> bool:
        """Removes a file if it is there; returns whether it was."""
        ...

    def tidy(self, base: str, temporaries: Iterable[str]) -> None:
        """Removes those of some temporary files that earlier processes left.

        Args:
            base: of the prefix that is saved. Temporary files of other runs go when they are old:
                another process may be writing them.
            temporaries: that belong to no save.
        """
        ...

    def names(self) -> list[str]:
        """The names of all files, sorted; no temporary ones."""
        ...

    def entries(self) -> list[str]:
        """Likewise, with the temporary ones."""
        ...

    def exists(self, name: str) -> bool:
        """Whether there is such a file."""
        ...

    def size(self, name: str) -> int | None:
        """A file's length; None: it is not there."""
        ...

    def modified(self, name: str) -> float:
        """When a file was last written, in seconds since 1970 of the store's clock."""
        ...

    def arrived(self, name: str) -> float:
        """Likewise, when it came here: later than it was written if it was copied."""
        ...


class Record(Protocol):
    """What a save will commit with.

    Attributes:
        locks: whether a lock tells other processes that the save is under way.
    """

    locks: bool

    def put(self, data: bytes) -> None:
        """Commits.

        Raises:
            AlreadyExistsError: another writer has made this checkpoint in the meantime.
            UnavailableError: what the system or the store said; it may have committed yet.
        """
        ...

    def cancel(self) -> bool:
        """Ends the save after a failure; False: it may commit yet."""
        ...


class StoredFile(Protocol):
    """A file of a store that was opened.

    Attributes:
        size: its length.
        piece: how many bytes are best read at a time.
    """

    size: int
    piece: int

    def read_into(self, offset: int, target: memoryview) -> None:
        """Fills target with the bytes from offset on; DataLossError if there are fewer."""
        ...

    def part(self, offset: int, nbytes: int) -> memoryview:
        """Some bytes: mapped, or fetched where there is no map; DataLossError as read_into."""
        ...

    def close(self) -> None:
        """Closes the file; views of it stay."""
        ...


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


def is_remote(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a URL of another store: "s3://bucket/run", not "file:///run"."""
    found = _URL.match(os.fspath(path))
    return found is not None and found.group(1) not in _LOCAL


def plain(path: str | os.PathLike[str]) -> str:
    """The path without the "file://" of a local one.

    Raises:
        InvalidArgumentError: pathlib has made "s3:/" of a URL.
    """
    where = os.fspath(path)
    if isinstance(path, pathlib.PurePath) and _BROKEN.match(path.as_posix()):
        raise errors.InvalidArgumentError(
            message=f"{where!r} was a URL before pathlib took a slash from it: pass text"
        )
    found = _URL.match(where)
    return where[found.end() :] if found and found.group(1) in _LOCAL else where


def absolute(path: str | os.PathLike[str]) -> str:
    """The path from the root on, which means the same in every folder; a URL as it is.

    "link/.." stays: it is not the folder of the link.
    """
    where = plain(path)
    return where if is_remote(where) else os.path.join(os.getcwd(), where)


def real(folder: str | os.PathLike[str]) -> str:
    """A folder's one name, for comparisons: links followed, no slash twice."""
    where = plain(folder)
    found = _URL.match(where)
    if found is None or not is_remote(where):
        return os.path.realpath(where)
    return found.group().lower() + "/".join(filter(None, where[found.end() :].split("/")))


def split(path: str | os.PathLike[str]) -> tuple[str, str]:
    """Folder and base name of a path or a URL; the folder of a bare name is ""."""
    where = plain(path)
    found = _URL.match(where)
    if found is None:
        return os.path.split(where)
    folder, _, base = where[found.end() :].rpartition("/")
    return found.group() + folder, base


def join(folder: str | os.PathLike[str], name: str) -> str:
    """The path of a name in a folder, unless the name is a whole path itself."""
    where, name = plain(folder), plain(name)
    if is_remote(name):
        return name
    if not is_remote(where):
        return os.path.join(where, name)
    return where + name if where.endswith("/") else f"{where}/{name}"


def of_folder(folder: str | os.PathLike[str], layer: FileLayer = SYSTEM) -> Store:
    """The store of a folder.

    Raises:
        ImportError: the package that knows the URL's store is not installed; says which.
        InvalidArgumentError: no package knows such URLs.
    """
    where = plain(folder)
    if is_remote(where):
        from graphio.schema import remote

        return remote.FsspecStore(where)
    return LocalStore(where, layer)


def of(path: str | os.PathLike[str], layer: FileLayer = SYSTEM) -> tuple[Store, str]:
    """The store that a path or prefix lies in, and its name there; errors as of_folder.

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
    """What an engine opens a model from: a path of this machine, or bytes, which are fetched where
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
    """Writes a file in one step: afterwards it is whole and durable, or as it was before."""
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
