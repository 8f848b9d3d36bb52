"""Checkpoints in object stores, through fsspec.

One put is atomic there and a read sees what was put, but there is no rename: data and graph files
go first, under names that no other save uses, and the index last (schema/README.md).
"""

from __future__ import annotations

import contextlib
import errno
import importlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from graphio.storage import files, store_paths
from graphio.storage.store_protocols import Buffer, StoredFile
from graphio.support import errors, installation

__all__ = ["KINDS", "FsspecStore", "file_system"]

#: bytes: more than these go as a multipart upload, in parts of so many
SINGLE = 1 << 25
#: bytes of one request of a big read, and how many requests are under way at a time
BLOCK, REQUESTS = 1 << 24, 8


class Kind(NamedTuple):
    """A kind of store.

    Attributes:
        package: what to install besides fsspec.
        streams: whether a file that is being written is invisible until it is committed.
    """

    package: str
    streams: bool


_S3, _GOOGLE, _AZURE = Kind("s3fs", True), Kind("gcsfs", True), Kind("adlfs", True)
#: Only stores whose puts are atomic: not sftp, hdfs, webdav, where others see half a file.
KINDS = {
    "s3": _S3,
    "s3a": _S3,
    "gs": _GOOGLE,
    "gcs": _GOOGLE,
    "az": _AZURE,
    "abfs": _AZURE,
    "abfss": _AZURE,
    "memory": Kind("", False),
}


class FsspecStore:
    """A folder of an object store.

    Args:
        folder: its URL, "s3://bucket/run". How to reach the store (keys, endpoint) is fsspec's
            configuration: ~/.config/fsspec, FSSPEC_S3_ENDPOINT_URL and similar variables.

    Raises:
        InvalidArgumentError: no such kind of store is known.
        ImportError: the package for it is not installed.
    """

    shared = True

    def __init__(self, folder: str) -> None:
        protocol = folder.partition("://")[0].lower()
        self.folder = folder
        self._kind = _kind(protocol, folder)
        self._fs = _file_system(protocol, self._kind)

    def path(self, name: str) -> str:
        """As Store.path."""
        return store_paths.join(self.folder, name)

    def make(self) -> None:
        """As Store.make: there are no folders."""

    def put(self, name: str, parts: Iterable[Buffer], token: str | None = None) -> None:
        """As Store.put: one request, or a multipart upload that is aborted on failure."""
        with self._naming("write", name):
            pending = bytearray()
            stream: Any = None
            try:
                for piece in _pieces(parts):
                    if stream is not None:
                        stream.write(piece)
                        continue
                    pending += piece
                    if len(pending) > SINGLE and self._kind.streams:
                        stream = self._fs.open(
                            self.path(name), "wb", block_size=SINGLE, autocommit=False
                        )
                        stream.write(pending)
                        pending.clear()
                if stream is None:
                    self._fs.pipe_file(self.path(name), bytes(pending))
                else:
                    stream.close()
                    stream.commit()
            except BaseException:
                if stream is not None:
                    _discard(stream)
                raise

    def record(self, name: str, token: str) -> _Record:
        """As Store.record."""
        return _Record(self, name)

    def end_if_dead(self, record: str, locks: bool, is_old: Callable[[], bool]) -> bool:
        """As Store.end_if_dead: there are no records before the commit."""
        return True

    def commit(self, name: str, data: bytes, *, new: bool) -> None:
        """Puts an index. A put that failed is looked for: its answer alone may be lost.

        Args:
            name, data: of the index.
            new: there is none yet: where the store can tell, one that came meanwhile stays.

        Raises:
            AlreadyExistsError: another writer's came meanwhile; this one is not there.
            UnavailableError: it is not there, but may arrive yet.
        """
        try:
            if new:
                self._create(name, data)
            else:
                self.put(name, [data])
        except (errors.AlreadyExistsError, errors.UnavailableError) as error:
            with contextlib.suppress(errors.OpError):
                if self.read(name) == data:
                    return
            raise error

    def _create(self, name: str, data: bytes) -> None:
        """Puts a file if there is none of its name, where the store has such puts."""
        with self._naming("write", name):
            try:
                self._fs.pipe_file(self.path(name), data, mode="create")
                return
            except FileExistsError:
                raise errors.AlreadyExistsError(
                    message=f"another writer has put {self.path(name)!r} in the meantime, so this "
                    "checkpoint was not saved: give each writer its own folder or prefix"
                ) from None
            except (NotImplementedError, TypeError):
                pass
            except OSError as error:
                if error.errno != errno.ENOSYS:
                    raise
        self.put(name, [data])

    def rename(self, old: str, new: str) -> None:
        """Object stores have none."""
        raise errors.UnimplementedError(message=f"{self.folder!r} cannot rename {old!r}")

    def barrier(self) -> None:
        """As Store.barrier: a put that has returned is durable."""

    def read(self, name: str, *, follow: bool = False) -> bytes:
        """As Store.read."""
        with self._naming("read", name):
            return bytes(self._fs.cat_file(self.path(name)))

    def open(self, name: str) -> StoredFile:
        """As Store.open."""
        with self._naming("read", name):
            size = int(self._fs.info(self.path(name))["size"])
        return _RemoteFile(self, name, size)

    def fetch(self, name: str, offset: int, target: memoryview) -> None:
        """Fills target with a file's bytes from offset on, by several requests at a time."""
        path = self.path(name)
        starts = range(0, len(target), BLOCK)
        for first in range(0, len(starts), REQUESTS):
            group = starts[first : first + REQUESTS]
            ends = [min(start + BLOCK, len(target)) for start in group]
            with self._naming("read", name):
                found = self._fs.cat_ranges(
                    [path] * len(group),
                    [offset + start for start in group],
                    [offset + end for end in ends],
                    on_error="raise",
                )
            for start, end, part in zip(group, ends, found, strict=True):
                if len(part) != end - start:
                    raise errors.DataLossError(
                        message=f"{path!r} ends before byte {offset + end}, which was expected"
                    )
                target[start:end] = part

    def remove(self, name: str) -> bool:
        """As Store.remove."""
        if not self.exists(name):
            return False
        try:
            with self._naming("remove", name):
                self._fs.rm_file(self.path(name))
        except errors.NotFoundError:
            return False
        return True

    def tidy(self, base: str, temporaries: Iterable[str]) -> None:
        """As Store.tidy: there are no temporary names."""

    def entries(self) -> list[str]:
        """As Store.entries."""
        return self.names()

    def names(self) -> list[str]:
        """As Store.names; a folder that is not there is empty."""
        try:
            with self._naming("list", ""):
                found = self._fs.ls(self.folder, detail=True)
        except errors.NotFoundError:
            return []
        return sorted(row["name"].rpartition("/")[2] for row in found if row["type"] == "file")

    def exists(self, name: str) -> bool:
        """As Store.exists; a store that does not answer is an error."""
        try:
            with self._naming("look for", name):
                return bool(self._fs.info(self.path(name))["type"] == "file")
        except errors.NotFoundError:
            return False

    def size(self, name: str) -> int | None:
        """As Store.size; a store that does not answer is an error."""
        try:
            with self._naming("look for", name):
                found = self._fs.info(self.path(name))
        except errors.NotFoundError:
            return None
        return int(found["size"]) if found["type"] == "file" else None

    def arrived(self, name: str) -> float:
        """As Store.arrived."""
        return self.modified(name)

    def modified(self, name: str) -> float:
        """As Store.modified."""
        with self._naming("read", name):
            return float(self._fs.modified(self.path(name)).timestamp())

    def _naming(self, what: str, name: str) -> _Naming:
        return _Naming(what, self.path(name) if name else self.folder)


class _Record:
    """As Record: whether another writer makes the same new checkpoint is seen at the commit."""

    locks = False

    def __init__(self, store: FsspecStore, name: str) -> None:
        self._store, self._name = store, name
        self._new = not store.exists(name)
        self._tried = False

    def put(self, data: bytes) -> None:
        """As Record.put."""
        self._tried = True  # a call that fails may take effect later
        try:
            self._store.commit(self._name, data, new=self._new)
        except errors.AlreadyExistsError:
            self._tried = False
            raise

    def cancel(self) -> bool:
        """As Record.cancel."""
        return not self._tried


class _Naming:
    """Turns what a store's package raises into an error that names the object.

    A class for the reason that files.naming has.
    """

    def __init__(self, what: str, path: str) -> None:
        self._what, self._path = what, path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        # Each package has its error classes.
        if isinstance(error, errors.OpError) or not isinstance(error, Exception):
            return
        if isinstance(error, FileNotFoundError) and self._what != "write":
            raise errors.NotFoundError(message=f"there is no file {self._path!r}") from None
        raise _failed(self._what, self._path, error) from error


class _RemoteFile:
    """A StoredFile: a small one is fetched at once, of a big one the parts that are requested."""

    piece = BLOCK * REQUESTS

    def __init__(self, store: FsspecStore, name: str, size: int) -> None:
        self._store, self._name, self.size = store, name, size
        self._start, self._window = 0, memoryview(b"")
        if size <= SINGLE:
            self._look(0, size)

    def _look(self, start: int, nbytes: int) -> None:
        data = memoryview(bytearray(nbytes))
        self._store.fetch(self._name, start, data)
        self._start, self._window = start, data.toreadonly()

    def part(self, offset: int, nbytes: int) -> memoryview:
        """As StoredFile.part: with what follows, since variables lie close together."""
        at = offset - self._start
        if not 0 <= at <= at + nbytes <= len(self._window):
            ahead = min(max(nbytes, BLOCK), max(self.size - offset, nbytes))
            self._look(offset, ahead)
            at = 0
        return self._window[at : at + nbytes]

    def read_into(self, offset: int, target: memoryview) -> None:
        """As StoredFile.read_into."""
        at = offset - self._start
        if 0 <= at <= at + len(target) <= len(self._window):
            target[:] = self._window[at : at + len(target)]
        else:
            self._store.fetch(self._name, offset, target)

    def close(self) -> None:
        """As StoredFile.close."""


def _failed(what: str, path: str, error: Exception) -> errors.OpError:
    made = errors.UnavailableError(
        message=f"cannot {what} {path!r}: {type(error).__name__}: {error}"
    )
    made.errno, made.filename = getattr(error, "errno", None) or errno.EIO, path
    return made


def _kind(protocol: str, folder: str) -> Kind:
    if protocol in KINDS and "::" not in folder:
        return KINDS[protocol]
    known = ", ".join(f"{name}://" for name in KINDS)
    raise errors.InvalidArgumentError(
        message=f"{folder!r} cannot be used: files need a store whose puts are atomic, "
        f"{known}, or a folder of this machine"
    )


def file_system(protocol: str) -> Any:
    """fsspec's object for one of KINDS.

    Raises:
        ImportError: the package for it is not installed; says which.
    """
    return _file_system(protocol, KINDS[protocol])


def _file_system(protocol: str, kind: Kind) -> Any:
    """fsspec's object for a kind of store; it never answers from a cache of listings."""
    try:
        fsspec: Any = importlib.import_module("fsspec")
        return fsspec.filesystem(protocol, use_listings_cache=False)
    except ImportError as error:
        command = installation.hint("remote", *filter(None, [kind.package]))
        raise ImportError(
            f"{protocol}:// needs packages that are not installed: {command} ({error})"
        ) from error


def _pieces(parts: Iterable[Buffer]) -> Iterator[memoryview]:
    for part in parts:
        view = memoryview(part)
        view = view.cast("B") if view.nbytes else view[:0]
        for start in range(0, len(view), files.CHUNK):
            yield view[start : start + files.CHUNK]


def _discard(stream: Any) -> None:
    """Aborts an upload. A close would commit half of it, and so would the garbage collector."""
    with contextlib.suppress(Exception):
        stream.discard()
    stream.closed = True
