"""tf.io.gfile in object stores, through fsspec: the paths are URLs, "s3://bucket/file".

There are no folders to be made: one is there as long as a file is in it.
"""

from __future__ import annotations

import contextlib
import errno
import re
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

from graphio.storage import remote
from graphio.support import errors

__all__ = ["RemoteFiles"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


class Found(NamedTuple):
    """length in bytes, time of the last change in nanoseconds since 1970, whether a folder."""

    length: int
    mtime_nsec: int
    is_directory: bool


class RemoteFiles:
    """The files of one kind of store.

    Args:
        url: of a file or folder in it.

    Raises:
        UnimplementedError: graphio knows no such store.
        ImportError: the package for it is not installed; says which.
    """

    def __init__(self, url: str) -> None:
        found = _SCHEME.match(url)
        self.scheme = found[1].lower() if found else ""
        if self.scheme not in remote.KINDS:
            known = ", ".join(f"{name}://" for name in remote.KINDS)
            raise errors.UnimplementedError(
                message=f"File system scheme '{self.scheme}' not implemented (file: '{url}'): "
                f"there are {known} and local files; copy it there, or mount the file system"
            )
        self._fs = remote.file_system(self.scheme)

    def open(self, url: str, mode: str) -> IO[Any]:
        """A file. What is written is there when it is closed.

        Raises:
            UnimplementedError: stores change no part of a file.
        """
        if mode.replace("b", "") not in ("r", "w"):
            raise errors.UnimplementedError(
                message=f"'{url}' cannot be opened with mode '{mode}': an object store changes no "
                "part of a file; read it and write it again"
            )
        options = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
        with _asking(url):
            opened: IO[Any] = self._fs.open(url, mode, **options)
        return opened

    def exists(self, url: str) -> bool:
        """Whether there is a file or folder."""
        with _asking(url):
            return bool(self._fs.exists(url))

    def isdir(self, url: str) -> bool:
        """Whether there is a folder."""
        with _asking(url):
            return bool(self._fs.isdir(url))

    def stat(self, url: str) -> Found:
        """The length and kind of a file or folder. Raises FileNotFoundError."""
        with _asking(url):
            found = self._fs.info(url)
            if found["type"] == "directory":
                return Found(0, 0, True)
            when = self._fs.modified(url).timestamp()
        return Found(int(found["size"]), int(when * 1e9), False)

    def remove(self, url: str) -> None:
        """Removes a file. Raises FileNotFoundError."""
        with _asking(url):
            self._fs.rm_file(url)

    def rmtree(self, url: str) -> None:
        """Removes a folder and all in it. Raises FileNotFoundError."""
        with _asking(url):
            self._fs.rm(url, recursive=True)

    def listdir(self, url: str) -> list[str]:
        """The names in a folder, sorted."""
        with _asking(url):
            rows = self._fs.ls(url, detail=False)
        return sorted(row.rstrip("/").rpartition("/")[2] for row in rows)

    def glob(self, pattern: str) -> list[str]:
        """The URLs that match a pattern, sorted."""
        with _asking(pattern):
            return sorted(map(self._url, self._fs.glob(pattern)))

    def walk(self, top: str, topdown: bool) -> Iterator[tuple[str, list[str], list[str]]]:
        """As tf.io.gfile.walk."""
        for folder, folders, names in self._fs.walk(top, topdown=topdown):
            folders.sort()
            yield self._url(folder), folders, sorted(names)

    def _url(self, path: str) -> str:
        """A path of fsspec's, which lacks the scheme, as a URL."""
        return f"{self.scheme}://{path.lstrip('/')}"


@contextlib.contextmanager
def _asking(url: str) -> Iterator[None]:
    """A context in which what a store's package raises is an error of graphio's, or of the system's
    where it has that class."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:  # each package has its error classes
        made = errors.UnavailableError(message=f"{url}: {type(error).__name__}: {error}")
        made.errno = getattr(error, "errno", None) or errno.EIO
        raise made from error
