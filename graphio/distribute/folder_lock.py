"""One training at a time in a folder of checkpoints."""

from __future__ import annotations

import contextlib
import os
import socket
from typing import Any

from graphio.storage import stores
from graphio.support import errors

__all__ = ["FolderLock"]

NAME = "training.lock"


class FolderLock:
    """Holds a folder until released, or until the process ends, whatever ends it.

    A folder of an object store, and a system without flock, are not held.

    Args:
        folder: is made if it is not there; None: nothing is held.

    Raises:
        FailedPreconditionError: another training holds it; the message says which process.
        UnavailableError: the folder cannot be written.
    """

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        self._file: Any = None
        if folder is None or stores.is_remote(os.fspath(folder)):
            return
        try:
            import fcntl
        except ImportError:
            return
        path = os.path.join(folder, NAME)
        try:
            os.makedirs(folder, exist_ok=True)
            file = open(path, "a+")
        except OSError as error:
            raise errors.UnavailableError(
                message=f"cannot write {path!r}: {error.strerror}"
            ) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            holder = file.read(200).strip() or "another process"
            file.close()
            raise errors.FailedPreconditionError(
                message=f"the folder {os.fspath(folder)!r} belongs to a training that is running "
                f"({holder}): wait for its end, or give this one another folder"
            ) from None
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
        self._file = file

    def release(self) -> None:
        """Lets the folder go."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.truncate(0)
            self._file.close()
            self._file = None
