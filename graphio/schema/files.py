"""Writing files so that a crash leaves the old one or the new one, never less.

Every operation goes through a FileLayer, so that tests can record, stop or fail it. Failures are
errors that name the file: UnavailableError, DiskFullError when there is no room, both OSError.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from graphio.schema import errors

CHUNK = 1 << 24  # bytes given to one write, so that an interrupt waits for no gigabyte
T = TypeVar("T")
_TEMPORARY = re.compile(r"tmp-[0-9a-f]{16}-.+", re.ASCII)


class DiskFullError(errors.ResourceExhaustedError, OSError):
    """There is no room on the disk, or the quota is used up."""


def _close(handle: int) -> None:
    """Closes a file; an interrupt leaves it closed, and says nothing of its bytes."""
    with contextlib.suppress(InterruptedError):
        os.close(handle)


class FileLayer:
    """The operating system's calls, one method each."""

    def create(self, path: str) -> int:
        """Opens a new file for writing; it must not exist. Mode 0666 less the umask."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        return os.open(
            path, flags | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0), 0o666
        )

    def write(self, handle: int, data: memoryview) -> int:
        """Writes some of data; returns how much. An interrupt is not an end (PEP 475)."""
        return os.write(handle, data)

    def fsync(self, handle: int) -> None:
        """Waits until the file is on the disk."""
        os.fsync(handle)

    def close(self, handle: int) -> None:
        """Closes a file."""
        _close(handle)

    def rename(self, old: str, new: str) -> None:
        """Puts a file in the place of another."""
        os.replace(old, new)

    def sync_folder(self, path: str) -> None:
        """Makes the entries of a folder durable, where the system has that."""
        if os.name == "nt":
            return
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            _close(handle)

    def remove(self, path: str) -> None:
        """Removes a file."""
        os.unlink(path)


SYSTEM = FileLayer()


def folder_of(path: str) -> str:
    """The folder of a path, "." for the current one."""
    return os.path.dirname(path) or "."


def failed(error: OSError, what: str, path: str) -> errors.OpError:
    """The error of graphio's for an operating system's error on a file."""
    full = error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", None))
    kind = DiskFullError if full else errors.UnavailableError
    made = kind(message=f"cannot {what} {path!r}: {error.strerror or error}")
    made.errno, made.filename = error.errno, path
    return made


@contextlib.contextmanager
def naming(what: str, path: str) -> Iterator[None]:
    """Turns an OSError inside into one of ours that names the file."""
    try:
        yield
    except errors.OpError:
        raise
    except OSError as error:
        raise failed(error, what, path) from None


def write_all(layer: FileLayer, handle: int, data: Any) -> None:
    """Writes all of a bytes-like object, however the system cuts it up."""
    view = memoryview(data)
    while len(view):
        written = layer.write(handle, view[:CHUNK])
        if written == 0:
            raise OSError(errno.EIO, "the system writes nothing")
        view = view[written:]


def write_new(layer: FileLayer, path: str, parts: Iterable[Any], temporary: str) -> None:
    """Writes parts to `temporary`, on the disk, then renames it to path.

    The folder's entry is not synced: see FileLayer.sync_folder. When anything fails the
    temporary is removed and path is as it was. After a failed fsync nothing is tried again: the
    system may have dropped the pages and call them clean.
    """
    with naming("write", path):
        handle = layer.create(temporary)
        try:
            try:
                for part in parts:
                    write_all(layer, handle, part)
                layer.fsync(handle)
            finally:
                layer.close(handle)
            layer.rename(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                layer.remove(temporary)
            raise


def sync_folder(layer: FileLayer, folder: str) -> None:
    """FileLayer.sync_folder with an error that names the folder."""
    with naming("write the folder", folder):
        layer.sync_folder(folder)


def is_temporary(name: str) -> bool:
    """Whether a base name is one of temporary_name's."""
    return _TEMPORARY.fullmatch(name) is not None


def temporary_name(path: str, token: str) -> str:
    """Where a file is written before it gets its name; `token` is 16 hexadecimal digits."""
    return os.path.join(folder_of(path), f"tmp-{token}-{os.path.basename(path)}")


def replace(path: str, parts: Iterable[Any], layer: FileLayer = SYSTEM) -> None:
    """Writes a file in one step: afterwards it is whole and on the disk."""
    write_new(layer, path, parts, temporary_name(path, secrets.token_hex(8)))
    sync_folder(layer, folder_of(path))


def remove(layer: FileLayer, path: str) -> bool:
    """Removes a file if it is there; returns whether it was."""
    with naming("remove", path):
        try:
            layer.remove(path)
        except FileNotFoundError:
            return False
    return True


def open_regular(path: str, use: Callable[[int, int], T], *, follow: bool = True) -> T:
    """Opens a regular file for reading and calls use(handle, size).

    Args:
        follow: False refuses a symbolic link in the last place of the path.

    Raises:
        NotFoundError: it is not there.
        UnavailableError: it is no regular file, or cannot be read.
    """
    # O_NONBLOCK: a FIFO must not make the open wait.
    flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
    flags |= getattr(os, "O_BINARY", 0) | (0 if follow else getattr(os, "O_NOFOLLOW", 0))
    try:
        with naming("read", path):
            handle = os.open(path, flags)
            try:
                status = os.fstat(handle)
                if not stat.S_ISREG(status.st_mode):
                    raise errors.UnavailableError(message=f"{path!r} is no regular file")
                return use(handle, status.st_size)
            finally:
                _close(handle)
    except errors.UnavailableError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            raise errors.NotFoundError(message=f"there is no file {path!r}") from None
        raise


def read(path: str, *, follow: bool = True) -> bytes:
    """The bytes of a regular file; errors as open_regular."""

    def use(handle: int, size: int) -> bytes:
        parts = []
        while part := os.read(handle, max(size, 1)):
            parts.append(part)
        return b"".join(parts)

    return open_regular(path, use, follow=follow)


def read_into(path: str, offset: int, target: memoryview) -> None:
    """Fills target with a regular file's bytes from offset on, never through a link in its place.

    Raises:
        DataLossError: it ends before; others as open_regular.
    """
    data = target.cast("B")

    def use(handle: int, size: int) -> None:
        if offset + len(data) > size:
            raise errors.DataLossError(
                message=f"{path!r} has {size} bytes, {offset + len(data)} were expected"
            )
        with open(handle, "rb", buffering=0, closefd=False) as file:
            file.seek(offset)
            done = 0
            while done < len(data):
                count = file.readinto(data[done : done + CHUNK])
                if not count:
                    raise errors.DataLossError(message=f"{path!r} became shorter while it was read")
                done += count

    open_regular(path, use, follow=False)


def map_file(path: str, *, follow: bool = True) -> Any:
    """The bytes of a regular file, mapped; errors as open_regular.

    Whoever truncates the file while it is mapped stops the process (SIGBUS).
    """
    import mmap

    def use(handle: int, size: int) -> Any:
        return mmap.mmap(handle, size, access=mmap.ACCESS_READ) if size else b""

    return open_regular(path, use, follow=follow)
