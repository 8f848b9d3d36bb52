"""tf.io.gfile: files and folders of this machine and of object stores, with TensorFlow's errors."""

from __future__ import annotations

import contextlib
import glob as _glob
import os
import shutil
from collections.abc import Iterator
from typing import IO, Any

from graphio.storage import stores
from graphio.storage.remote_files import Found, RemoteFiles
from graphio.support import errors

__all__ = [
    "GFile", "copy", "exists", "glob", "isdir", "listdir", "makedirs", "mkdir", "remove", "rename",
    "rmtree", "stat", "walk",
]  # fmt: skip

_PIECE = 1 << 22  # bytes that a copy moves at a time
_MODES = ("r", "w", "a", "r+", "w+", "a+")


def local(path: Any) -> str:
    """The path as text, without "file://"; a URL of an object store as it is."""
    return stores.plain(os.fsdecode(path))


def remote(path: str) -> RemoteFiles | None:
    """The store of a path; None: it is of this machine.

    Raises:
        UnimplementedError: graphio knows no such store.
        ImportError: the package for it is not installed; says which.
    """
    return RemoteFiles(path) if stores.is_remote(path) else None


@contextlib.contextmanager
def failing_as_tensorflow(path: str) -> Iterator[None]:
    """Turns an error of the operating system into TensorFlow's."""
    try:
        yield
    except errors.OpError:
        raise
    except FileNotFoundError:
        raise errors.NotFoundError(message=f"{path}; No such file or directory") from None
    except FileExistsError:
        raise errors.AlreadyExistsError(message=f"{path}; File exists") from None
    except PermissionError as error:
        raise errors.PermissionDeniedError(message=f"{path}; {error.strerror}") from None
    except (IsADirectoryError, NotADirectoryError) as error:
        raise errors.FailedPreconditionError(message=f"{path}; {error.strerror}") from None
    except OSError as error:
        raise errors.UnknownError(message=f"{path}; {error.strerror or error}") from None


class GFile:
    """A file, opened when it is used first.

    With + it is read and written at two positions: reading begins at the start of the
    file, and the first write empties it (r+, w+) or appends (a+).

    Args:
        name: its path.
        mode: r, w, a, with + for both, and b for bytes instead of text (UTF-8).

    Raises:
        InvalidArgumentError: another mode.
        NotFoundError: at its first use, it or its folder is not there.
        UnimplementedError: at its first use, a or + in an object store.
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        if mode.replace("b", "", 1) not in _MODES:
            raise errors.InvalidArgumentError(message=f"mode is not 'r' or 'w' or 'a': {mode!r}")
        self._name, self._mode = name, mode
        self._path = local(name)
        self._reader: IO[Any] | None = None
        self._writer: IO[Any] | None = None
        self._was_written = False

    @property
    def name(self) -> Any:
        """The path as it was given."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode."""
        return self._mode

    def _reading(self) -> IO[Any]:
        if self._mode[0] != "r" and "+" not in self._mode:
            raise errors.PermissionDeniedError(message="File isn't open for reading")
        if self._writer is not None:
            self._writer.flush()
        if self._reader is None:
            self._reader = self._open("r")
        return self._reader

    def _writing(self) -> IO[Any]:
        if self._mode[0] == "r" and "+" not in self._mode:
            raise errors.PermissionDeniedError(message="File isn't open for writing")
        if self._writer is None:
            self._writer = self._open("a" if self._mode[0] == "a" else "w")
            self._was_written = True
        return self._writer

    def _open(self, mode: str) -> IO[Any]:
        binary = "b" in self._mode
        store = remote(self._path)
        with failing_as_tensorflow(self._path):
            if store is not None:
                return store.open(self._path, self._mode)
            if binary:
                return open(self._path, mode + "b")
            return open(self._path, mode, encoding="utf-8", newline="")

    def size(self) -> int:
        """The number of bytes."""
        self.flush()
        return stat(self._path).length

    def read(self, n: int = -1) -> Any:
        """The next n characters (bytes in mode b), all that are left for -1."""
        if n < -1:
            raise errors.InvalidArgumentError(message=f"read: n is {n}, expected -1 or more")
        return self._reading().read(n)

    def readline(self) -> Any:
        """The next line with its end; empty after the last one."""
        return self._reading().readline()

    def readlines(self) -> list[Any]:
        """The lines that are left."""
        return list(self)

    def __iter__(self) -> Iterator[Any]:
        yield from iter(self.readline, b"" if "b" in self._mode else "")

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def write(self, file_content: Any) -> None:
        """Appends text, or bytes, which text becomes in mode b."""
        if "b" in self._mode and isinstance(file_content, str):
            file_content = file_content.encode()
        elif "b" not in self._mode and isinstance(file_content, bytes):
            file_content = file_content.decode()
        self._writing().write(file_content)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Moves the position to read from: whence 0 counts from the start, 1 from here, 2 from the
        end.

        Raises:
            TypeError: neither offset nor position, its old name, is given, or both are.
            InvalidArgumentError: the position is before the start, or whence is another number.
        """
        if (offset is None) == (position is None):
            raise TypeError("seek(): offset argument required; give it, or position, its old name")
        if whence not in (0, 1, 2):
            raise errors.InvalidArgumentError(
                message=f"Invalid whence argument: {whence}. Valid values are 0, 1, or 2."
            )
        file = self._reading()
        target = offset if offset is not None else position or 0
        if whence:
            target += file.tell() if whence == 1 else self.size()
        if target < 0:
            raise errors.InvalidArgumentError(message=f"seek: {target} is before the file's start")
        file.seek(target)

    def tell(self) -> int:
        """The position that is read from next; of a file that is written alone, its end."""
        written_alone = self._mode[0] != "r" and "+" not in self._mode
        return (self._writing() if written_alone else self._reading()).tell()

    def seekable(self) -> bool:
        """True: files are."""
        return True

    def flush(self) -> None:
        """Gives what was written to the operating system."""
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        """Closes the file; a file to be written is there afterwards, even if nothing was."""
        if not self._was_written and self._mode[0] in "wa":
            self._writing()
        for file in (self._reader, self._writer):
            if file is not None:
                file.close()
        self._reader = self._writer = None

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *details: Any) -> None:
        self.close()


FileStatistics = Found


def exists(path: Any) -> bool:
    """Whether there is a file or folder."""
    where = local(path)
    store = remote(where)
    return os.path.exists(where) if store is None else store.exists(where)


def isdir(path: Any) -> bool:
    """Whether there is a folder."""
    where = local(path)
    store = remote(where)
    return os.path.isdir(where) if store is None else store.isdir(where)


def stat(path: Any) -> FileStatistics:
    """The length and the time of change of a file. Raises NotFoundError."""
    where = local(path)
    store = remote(where)
    with failing_as_tensorflow(where):
        if store is not None:
            return store.stat(where)
        found = os.stat(where)
    return FileStatistics(found.st_size, found.st_mtime_ns, os.path.isdir(where))


def mkdir(path: Any) -> None:
    """Makes a folder; an object store needs none. Raises AlreadyExistsError, or NotFoundError if
    its parent is not there."""
    where = local(path)
    if remote(where) is None:
        with failing_as_tensorflow(where):
            os.mkdir(where)


def makedirs(path: Any) -> None:
    """Makes a folder with its parents, if it is not there; an object store needs none."""
    where = local(path)
    if remote(where) is None:
        with failing_as_tensorflow(where):
            os.makedirs(where, exist_ok=True)


def remove(path: Any) -> None:
    """Removes a file. Raises NotFoundError, or FailedPreconditionError for a folder."""
    where = local(path)
    store = remote(where)
    with failing_as_tensorflow(where):
        if isdir(where):
            raise IsADirectoryError(21, "Is a directory")
        (os.remove if store is None else store.remove)(where)


def rmtree(path: Any) -> None:
    """Removes a folder and all in it. Raises NotFoundError."""
    where = local(path)
    store = remote(where)
    with failing_as_tensorflow(where):
        if store is not None:
            store.rmtree(where)
        elif os.path.isdir(where):
            shutil.rmtree(where)
        else:
            os.remove(where)


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copies a file, also between stores. Raises NotFoundError, or AlreadyExistsError unless
    overwrite."""
    source, target = local(src), local(dst)
    _may_replace(target, overwrite)
    with failing_as_tensorflow(source if not exists(source) else target):
        if remote(source) is None and remote(target) is None:
            shutil.copyfile(source, target)
        else:
            with _opened(source, "rb") as reader, _opened(target, "wb") as writer:
                shutil.copyfileobj(reader, writer, _PIECE)


def _opened(path: str, mode: str) -> IO[Any]:
    store = remote(path)
    return open(path, mode) if store is None else store.open(path, mode)


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Moves a file or folder. Raises NotFoundError, or AlreadyExistsError unless overwrite;
    UnimplementedError in object stores, where nothing can be moved in one step."""
    source, target = local(src), local(dst)
    for where in (source, target):
        if remote(where) is not None:
            raise errors.UnimplementedError(
                message=f"{where}: an object store renames nothing in one step; copy and remove"
            )
    _may_replace(target, overwrite)
    with failing_as_tensorflow(source):
        os.replace(source, target)


def _may_replace(target: str, overwrite: bool) -> None:
    if not overwrite and exists(target):
        raise errors.AlreadyExistsError(
            message=f"{target}: file already exists; overwrite=True replaces it"
        )


def listdir(path: Any) -> list[str]:
    """The names in a folder, sorted. Raises NotFoundError."""
    where = local(path)
    store = remote(where)
    if not isdir(where):
        raise errors.NotFoundError(message=f"Could not find directory {where}")
    with failing_as_tensorflow(where):
        return sorted(os.listdir(where)) if store is None else store.listdir(where)


def glob(pattern: Any) -> list[str]:
    """The paths that match a pattern, or one of a list of them, sorted."""
    patterns = pattern if isinstance(pattern, (list, tuple)) else [pattern]
    return [path for p in map(local, patterns) for path in _matching(p)]


def _matching(pattern: str) -> list[str]:
    store = remote(pattern)
    return sorted(_glob.glob(pattern)) if store is None else store.glob(pattern)


def walk(
    top: Any, topdown: bool = True, onerror: Any = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """For a folder and each below it: (its path, the names of folders, those of files), sorted."""
    where = local(top)
    store = remote(where)
    if store is not None:
        yield from store.walk(where, topdown)
        return
    for folder, folders, files in os.walk(where, topdown, onerror):
        folders.sort()
        yield folder, folders, sorted(files)
