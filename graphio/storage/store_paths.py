"""Paths and URLs of files and folders, wherever they lie."""

from __future__ import annotations

import os
import pathlib
import re

from graphio.support import errors

__all__ = ["absolute", "is_remote", "join", "plain", "real", "split"]

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.:-]+)://", re.ASCII)
_BROKEN = re.compile(r"(s3a?|gc?s|az|abfss?|memory|file):/", re.ASCII)
_LOCAL = ("file", "local")


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
    """The path of a name in a folder, unless the name is an absolute path or a URL."""
    where, name = plain(folder), plain(name)
    if is_remote(name):
        return name
    if not is_remote(where):
        return os.path.join(where, name)
    return where + name if where.endswith("/") else f"{where}/{name}"
