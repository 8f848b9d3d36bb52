"""Writing files so that a crash leaves the old one or the new one, never less.

Every operation goes through a FileLayer, so that tests can record, stop or fail it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable
from typing import Any


class FileLayer:
    """The operating system's calls, one method each."""

    def create(self, path: str) -> int:
        """Opens a new file for writing; it must not exist."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)

    def write(self, handle: int, data: memoryview) -> int:
        """Writes some of data; returns how much."""
        return os.write(handle, data)

    def fsync(self, handle: int) -> None:
        """Waits until the file is on the disk."""
        os.fsync(handle)

    def close(self, handle: int) -> None:
        """Closes a file."""
        os.close(handle)

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
            os.close(handle)

    def remove(self, path: str) -> None:
        """Removes a file."""
        os.unlink(path)


SYSTEM = FileLayer()


def folder_of(path: str) -> str:
    """The folder of a path, "." for the current one."""
    return os.path.dirname(path) or "."


def write_all(layer: FileLayer, handle: int, data: Any) -> None:
    """Writes all of a bytes-like object, however the system cuts it up."""
    view = memoryview(data).cast("B") if len(memoryview(data)) else memoryview(b"")
    while len(view):
        written = layer.write(handle, view[: 1 << 30])
        view = view[written:]


def write_new(layer: FileLayer, path: str, parts: Iterable[Any], temporary: str) -> None:
    """Writes parts to `temporary`, on the disk, then renames it to path.

    The folder's entry is not synced: see FileLayer.sync_folder. When anything fails the
    temporary is removed and path is as it was.
    """
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


def replace(path: str, parts: Iterable[Any], layer: FileLayer = SYSTEM) -> None:
    """Writes a file in one step: afterwards it is whole and on the disk."""
    folder = folder_of(path)
    temporary = os.path.join(folder, f"tmp-{secrets.token_hex(8)}-{os.path.basename(path)}")
    write_new(layer, path, parts, temporary)
    layer.sync_folder(folder)
