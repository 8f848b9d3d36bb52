"""tf.gfile: the older names of tf.io.gfile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graphio.storage import gfile
from graphio.storage.gfile import GFile
from graphio.support import public_path

__all__ = [
    "Copy", "DeleteRecursively", "Exists", "FastGFile", "GFile", "Glob", "IsDirectory",
    "ListDirectory", "MakeDirs", "MkDir", "Open", "Remove", "Rename", "Stat", "Walk",
]  # fmt: skip

FastGFile = Open = GFile
public_path.name_class(GFile, __name__, "GFile")


def Exists(filename: Any) -> bool:
    """Whether there is a file or folder."""
    return gfile.exists(filename)


def IsDirectory(dirname: Any) -> bool:
    """Whether there is a folder."""
    return gfile.isdir(dirname)


def Stat(filename: Any) -> gfile.FileStatistics:
    """length, mtime_nsec and is_directory. Raises NotFoundError."""
    return gfile.stat(filename)


def MkDir(dirname: Any) -> None:
    """Makes a folder. Raises AlreadyExistsError, NotFoundError."""
    gfile.mkdir(dirname)


def MakeDirs(dirname: Any) -> None:
    """Makes a folder with its parents, if it is not there."""
    gfile.makedirs(dirname)


def Remove(filename: Any) -> None:
    """Removes a file. Raises NotFoundError."""
    gfile.remove(filename)


def DeleteRecursively(dirname: Any) -> None:
    """Removes a folder and all in it. Raises NotFoundError."""
    gfile.rmtree(dirname)


def Copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:
    """Copies a file. Raises AlreadyExistsError unless overwrite."""
    gfile.copy(oldpath, newpath, overwrite)


def Rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:
    """Moves a file or folder. Raises AlreadyExistsError unless overwrite."""
    gfile.rename(oldname, newname, overwrite)


def ListDirectory(dirname: Any) -> list[str]:
    """The names in a folder, sorted. Raises NotFoundError."""
    return gfile.listdir(dirname)


def Glob(filename: Any) -> list[str]:
    """The paths that match a pattern, or one of a list of them."""
    return gfile.glob(filename)


def Walk(top: Any, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """For a folder and each below it: (its path, the names of folders, those of files)."""
    return gfile.walk(top, in_order)
