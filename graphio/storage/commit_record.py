"""The file with which a save commits: `tmp-<save id>-P.index`, which becomes `P.index`.

It is made before all other files of the save and is there until the save has committed or failed.
A process that removes the files of an ended save removes its record first: from then on
that save cannot commit any more, should it be alive after all. That a live save is spared is the
business of a lock that the kernel lets go when a process ends, and of age where there are no locks;
that nothing is lost rests on neither.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

from graphio.storage import files
from graphio.storage.files import FileLayer

try:
    import fcntl
except ImportError:  # Windows: age decides
    fcntl = None  # type: ignore[assignment]

__all__ = ["CommitRecord", "end_if_dead"]

_TRIES = 4
_FLAGS = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


class CommitRecord:
    """The record of a save under way.

    Args:
        layer: the operating system.
        path: of the index that it will be.
        token: the save's id, 16 hexadecimal digits.

    Attributes:
        locks: whether locks were seen to keep others out in this folder.
    """

    def __init__(self, layer: FileLayer, path: str, token: str) -> None:
        self._layer, self._path = layer, path
        self._temporary = files.temporary_name(path, token)
        self._handle = self._held = -1
        self._made = False
        self.locks = False
        try:
            with files.naming("write", path):
                self._make()
        except BaseException:
            self.cancel()
            raise

    def _make(self) -> None:
        """Makes the file; another process may take it for a dead one's before it is locked."""
        for _ in range(_TRIES):
            self._close()
            self._handle = files.create(self._layer, self._path, self._temporary)
            self._made = True
            locked = _lock(self._handle, wait=True)
            if files.exists(self._temporary):
                if locked:
                    self._held = os.dup(self._handle)  # the lock outlives the close of the other
                    self.locks = _is_locked(self._temporary)
                return

    def put(self, data: bytes) -> None:
        """Writes the record, on the disk, and puts it in the place of the index."""
        with files.naming("write", self._path):
            files.write_all(self._layer, self._handle, data)
            self._layer.fsync(self._handle)
            handle, self._handle = self._handle, -1
            self._layer.close(handle)
            try:
                self._layer.rename(self._temporary, self._path)
            except FileNotFoundError:
                raise files.taken_away(
                    f"{self._path!r} was not committed: another process has taken this "
                    "save for one that was killed and has removed its files. Save again"
                ) from None
        self._close()

    def cancel(self) -> bool:
        """Ends the save; False: it may commit yet, because its record cannot be removed."""
        self._close()
        if not self._made:
            return True  # a file of that name is of another save
        try:
            files.remove(self._layer, self._temporary)
        except OSError:
            return False
        return True

    def _close(self) -> None:
        """Lets go of the lock, and of a file that will not be committed."""
        with contextlib.suppress(OSError):
            if self._handle >= 0:
                self._layer.close(self._handle)
        if self._held >= 0:
            files.let_go(self._held)
        self._handle = self._held = -1


def end_if_dead(layer: FileLayer, path: str, locks: bool, is_old: Callable[[], bool]) -> bool:
    """Removes the record of a save that has ended.

    Args:
        layer: the operating system.
        path: of the record.
        locks: whether locks work in its folder.
        is_old: whether the save is so old that it is taken for ended, where they do not.

    Returns:
        Whether that save cannot commit any more; False: it is under way.
    """
    if not locks:
        if not is_old():
            return False
        files.remove(layer, path)
        return True
    try:
        handle = os.open(path, _FLAGS)
    except FileNotFoundError:
        return True
    try:
        if not _lock(handle):
            return False
        files.remove(layer, path)
        return True
    finally:
        files.let_go(handle)


def _lock(handle: int, *, wait: bool = False) -> bool:
    """Locks an open file until it is closed, at the latest when the process ends."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def _is_locked(path: str) -> bool:
    """Whether a lock keeps out who opens the file again."""
    try:
        handle = os.open(path, _FLAGS)
    except OSError:
        return False
    try:
        return not _lock(handle)
    finally:
        files.let_go(handle)
