"""Writing files so that a crash leaves the old one or the new one, never less.

Every operation goes through a FileLayer, so that tests can record, stop or fail it. Failures are
errors that name the file, and OSError: UnavailableError, DiskFullError when the disk is full,
NoFolderError and OtherKindError when what should be there is not.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import secrets
import stat
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from graphio.storage import native
from graphio.support import errors

CHUNK = 1 << 24  # bytes given to one write, so that an interrupt waits for no gigabyte
PIECE = 1 << 22  # bytes that are checked at a time: a processor's cache still holds them
JOINED = 1 << 19  # bytes up to which small parts are put together
BLOCK = 1 << 21  # bytes of a file that is to be mapped, written at once: a large page
START = 1 << 23  # bytes that begin their way to the disk together
PAGE = 1 << 16  # a multiple of what the system writes at once
#: what the fsync of a folder says on file systems that have no such thing (CIFS, vboxsf, DrvFs)
NO_FOLDER_SYNC = frozenset((errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS))
_TEMPORARY = re.compile(r"tmp-[0-9a-f]{16}-.+", re.ASCII)


class DiskFullError(errors.ResourceExhaustedError, OSError):
    """The disk is full, or the quota is used up."""


class NoFolderError(errors.NotFoundError, errors.UnavailableError):
    """The folder for a new file does not exist."""


class OtherKindError(errors.InvalidArgumentError, errors.UnavailableError):
    """A folder, a pipe or a device where a file is meant, or a file where a folder is."""


def _close(handle: int) -> None:
    """Closes a file; an interrupt leaves it closed, and says nothing of its bytes."""
    with contextlib.suppress(InterruptedError):
        os.close(handle)


def let_go(handle: int) -> None:
    """Closes a file that was only read: what goes wrong has no meaning."""
    with contextlib.suppress(OSError):
        os.close(handle)


@functools.cache
def _start() -> Callable[[int, int, int], object]:
    """FileLayer.start of this system: cinfer knows how, where it is built."""
    found = native.functions()
    return (lambda handle, offset, count: None) if found is None else found.start


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

    def start(self, handle: int, offset: int, count: int) -> None:
        """Lets bytes that were written begin their way to the disk: less is left for fsync, which
        says whether they arrived. A hint."""
        _start()(handle, offset, count)

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
            try:
                os.fsync(handle)
            except OSError as error:
                if error.errno not in NO_FOLDER_SYNC:
                    raise
            # XFS that has shut itself down after an error says yes to the fsync of a folder, and
            # no to this.
            os.fstat(handle)
        finally:
            _close(handle)

    def remove(self, path: str) -> None:
        """Removes a file."""
        os.unlink(path)

    def make_folder(self, path: str) -> None:
        """Makes a folder in one that is there."""
        os.mkdir(path)


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


def taken_away(message: str) -> errors.UnavailableError:
    """The error for a file that another process has removed meanwhile."""
    made = errors.UnavailableError(message=message)
    made.errno = errno.ESTALE
    return made


class naming:
    """Turns an OSError inside into one of ours that names the file.

    No generator: where one raises another error, Python 3.12 and later keep both, and with them
    all that the callers hold, until the garbage collector comes.
    """

    def __init__(self, what: str, path: str) -> None:
        self._what, self._path = what, path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, OSError) and not isinstance(error, errors.OpError):
            raise failed(error, self._what, self._path) from None


def write_all(layer: FileLayer, handle: int, data: Any) -> None:
    """Writes all of a bytes-like object, however the system cuts it up."""
    view = memoryview(data)
    while len(view):
        written = layer.write(handle, view[:CHUNK])
        if written == 0:
            raise OSError(errno.EIO, "the system writes nothing")
        view = view[written:]


def joined(parts: Iterable[bytes | memoryview]) -> Iterator[bytes | memoryview]:
    """The same bytes in fewer parts: small ones are put together."""
    small: list[bytes | memoryview] = []
    size = 0
    for part in parts:
        large = len(part) >= JOINED // 8
        if size and (large or size + len(part) > JOINED):
            yield b"".join(small)
            small, size = [], 0
        if large:
            yield part
        else:
            small.append(part)
            size += len(part)
    if size:
        yield b"".join(small)


def in_blocks(parts: Iterable[bytes | memoryview]) -> Iterator[bytearray | memoryview]:
    """The same bytes in parts that begin at multiples of BLOCK, for a file that will be mapped.

    Linux keeps what is written at once in pages as large as that, and maps 100 MB of them in half
    a millisecond, where pages of 4 KB take five.
    """
    held = bytearray()
    for part in parts:
        rest = memoryview(part).cast("B")
        if held:
            taken = min(BLOCK - len(held), len(rest))
            held += rest[:taken]
            rest = rest[taken:]
            if len(held) < BLOCK:
                continue
            yield held
            held = bytearray()
        whole = len(rest) // BLOCK * BLOCK
        if whole:
            yield rest[:whole]
        held += rest[whole:]
    if held:
        yield held


def write_new(layer: FileLayer, path: str, parts: Iterable[Any], temporary: str) -> None:
    """Writes parts to `temporary`, on the disk, then renames it to path.

    The folder's entry is not synced: see FileLayer.sync_folder. When anything fails the
    temporary is removed and path is as it was. After a failed fsync nothing is tried again: the
    system may have dropped the pages and call them clean.
    """
    with naming("write", path):
        handle = create(layer, path, temporary)
        try:
            try:
                _write_parts(layer, handle, parts)
                layer.fsync(handle)
            finally:
                layer.close(handle)
            layer.rename(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                layer.remove(temporary)
            raise


def create(layer: FileLayer, path: str, temporary: str) -> int:
    """Makes the temporary file of a path; says what is wrong with the folder of both."""
    try:
        return layer.create(temporary)
    except FileNotFoundError as error:
        made: errors.UnavailableError = NoFolderError(
            message=f"cannot write {path!r}: there is no folder {folder_of(path)!r}"
        )
        made.errno = error.errno
    except NotADirectoryError as error:
        made = OtherKindError(message=f"cannot write {path!r}: {folder_of(path)!r} is not a folder")
        made.errno = error.errno
    raise made


def _write_parts(layer: FileLayer, handle: int, parts: Iterable[Any]) -> None:
    """Writes parts; the system brings complete pages to the disk while the next are made."""
    written = started = 0
    for part in parts:
        write_all(layer, handle, part)
        written += len(part)
        end = written // PAGE * PAGE  # half a page would be written twice
        if end - started >= START:
            layer.start(handle, started, end - started)
            started = end


def sync_folder(layer: FileLayer, folder: str) -> None:
    """FileLayer.sync_folder with an error that names the folder."""
    with naming("write the folder", folder):
        layer.sync_folder(folder)


def make_folder(layer: FileLayer, path: str) -> None:
    """Makes a folder, durably, if it is not there; the one that it is in must be."""
    if is_folder(path):
        return
    with naming("make the folder", path):
        try:
            layer.make_folder(path)
        except FileExistsError:
            if not is_folder(path):
                raise  # else another process was faster
        layer.sync_folder(folder_of(os.path.abspath(path)))


def is_temporary(name: str) -> bool:
    """Whether a base name is one of temporary_name's."""
    return _TEMPORARY.fullmatch(name) is not None


def final_name(name: str) -> str:
    """The base name that a file of a temporary one is to get."""
    return name[len("tmp-") + 16 + 1 :]


def token_of(name: str) -> str:
    """The token in a temporary base name."""
    return name[len("tmp-") :][:16]


def temporary_base(name: str, token: str) -> str:
    """The temporary base name of a file; `token` is 16 hexadecimal digits."""
    return f"tmp-{token}-{name}"


def temporary_name(path: str, token: str) -> str:
    """Where a file is written before it gets its name; `token` as in temporary_base."""
    return os.path.join(folder_of(path), temporary_base(os.path.basename(path), token))


def replace(path: str, parts: Iterable[Any], layer: FileLayer = SYSTEM) -> None:
    """Writes a file in one step: afterwards it is complete and on the disk.

    Raises:
        OtherKindError: a folder, a pipe or a device is there, which a file must not take the place
            of.
        UnavailableError: as write_new.
    """
    there = _mode(path, True)
    if there and not stat.S_ISREG(there):
        raise OtherKindError(message=f"cannot write {path!r}: what is there is no regular file")
    write_new(layer, path, parts, temporary_name(path, secrets.token_hex(8)))
    try:
        sync_folder(layer, folder_of(path))
    except OSError:
        if not there:
            remove(layer, path)  # an error leaves no new file
        raise


def remove(layer: FileLayer, path: str) -> bool:
    """Removes a file if it is there; returns whether it was."""
    with naming("remove", path):
        try:
            layer.remove(path)
        except FileNotFoundError:
            return False
    return True


class OpenFile:
    """A regular file, opened to be read at any offset until it is closed or forgotten.

    Args:
        path: of the file.
        follow: False refuses a path whose last part is a symbolic link.

    Attributes:
        path, size: of the file, when it was opened.
        handle: the operating system's.
        piece: how many bytes are best read at a time.

    Raises:
        NotFoundError: it is not there.
        OtherKindError: it is not a regular file.
        UnavailableError: it cannot be read.
    """

    piece = PIECE

    def __init__(self, path: str, *, follow: bool = True) -> None:
        # O_NONBLOCK: a FIFO must not make the open wait.
        flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
        flags |= getattr(os, "O_BINARY", 0) | (0 if follow else getattr(os, "O_NOFOLLOW", 0))
        self.path = path
        self._map: memoryview | None = None
        try:
            with naming("read", path):
                handle = os.open(path, flags)
                self._closes = weakref.finalize(self, let_go, handle)
                status = os.fstat(handle)
        except errors.UnavailableError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                raise errors.NotFoundError(message=f"there is no file {path!r}") from None
            raise
        if not stat.S_ISREG(status.st_mode):
            self.close()
            raise OtherKindError(message=f"{path!r} is not a regular file")
        self.handle, self.size = handle, status.st_size

    def __enter__(self) -> OpenFile:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file; views of it stay."""
        self._closes()

    def read_into(self, offset: int, target: memoryview) -> None:
        """Fills target with the bytes from offset on.

        Raises:
            DataLossError: the file ends before.
            UnavailableError: the error that the operating system reported.
        """
        with naming("read", self.path):
            while len(target):
                count = _read_at(self.handle, offset, target)
                if count == 0:
                    raise errors.DataLossError(message=f"{self.path!r} ends at byte {offset}")
                offset += count
                target = target[count:]

    def part(self, offset: int, nbytes: int) -> memoryview:
        """Some bytes of the mapped file; see view."""
        if self._map is None:
            self._map = self.view()
        return self._map[offset : offset + nbytes]

    def view(self) -> memoryview:
        """The bytes, mapped. A program that truncates the file while it is mapped stops the process
        (SIGBUS)."""
        import mmap

        if not self.size:
            return memoryview(b"")
        with naming("map", self.path):
            mapped = mmap.mmap(self.handle, self.size, access=mmap.ACCESS_READ)
        if self.size >= BLOCK and hasattr(mmap, "MADV_HUGEPAGE"):
            with contextlib.suppress(OSError):  # a system that has none
                mapped.madvise(mmap.MADV_HUGEPAGE)  # bytes from the disk come in large pages
        return memoryview(mapped)


def _read_at(handle: int, offset: int, target: memoryview) -> int:
    """Reads some bytes at an offset; returns how many, 0 at the file's end."""
    if hasattr(os, "preadv"):
        return os.preadv(handle, [target], offset)
    os.lseek(handle, offset, os.SEEK_SET)
    data = os.read(handle, len(target))
    target[: len(data)] = data
    return len(data)


def read(path: str, *, follow: bool = True) -> bytes:
    """The bytes of a regular file; errors as OpenFile."""
    with OpenFile(path, follow=follow) as file:
        data = bytearray(file.size)
        file.read_into(0, memoryview(data))
        return bytes(data)


def part(path: str, begin: int, count: int) -> bytes:
    """At most `count` bytes of a regular file from `begin` on, from its end if that is negative;
    errors as OpenFile."""
    with OpenFile(path) as file:
        begin = min(begin, file.size) if begin >= 0 else max(file.size + begin, 0)
        data = bytearray(min(count, file.size - begin))
        file.read_into(begin, memoryview(data))
        return bytes(data)


def exists(path: str, *, follow: bool = True) -> bool:
    """Whether there is a regular file; follow=False: or a link of that name.

    Raises:
        UnavailableError: that cannot be known.
    """
    mode = _mode(path, follow)
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def is_folder(path: str) -> bool:
    """Whether there is a folder; UnavailableError if that cannot be known."""
    return stat.S_ISDIR(_mode(path, True))


def size(path: str) -> int | None:
    """The length of a regular file that is not a link; None: there is none.

    Raises:
        UnavailableError: that cannot be known.
    """
    found = _status(path, False)
    return found.st_size if found is not None and stat.S_ISREG(found.st_mode) else None


def _mode(path: str, follow: bool) -> int:
    """Kind and permissions, 0 if the path does not exist."""
    found = _status(path, follow)
    return 0 if found is None else found.st_mode


def _status(path: str, follow: bool) -> os.stat_result | None:
    with naming("look for", path):
        try:
            return os.stat(path, follow_symlinks=follow)
        except (FileNotFoundError, NotADirectoryError):
            return None


def map_file(path: str, *, follow: bool = True) -> memoryview:
    """The bytes of a regular file, mapped; errors as OpenFile and OpenFile.view."""
    with OpenFile(path, follow=follow) as file:
        return file.view()
