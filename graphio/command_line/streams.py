"""The standard streams of the command: closed ones, full disks, readers that have seen enough."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast

__all__ = ["Output", "open_closed"]


def open_closed() -> None:
    """Opens a file for each standard stream that the caller has closed, before another file gets
    its number. Writing to such an output fails as in other programs."""
    for number, (name, mode, flags) in enumerate(_STREAMS):
        if getattr(sys, name) is None:
            found = os.open(os.devnull, flags)
            if found != number:
                os.dup2(found, number)
                os.close(found)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))


#: name, mode, and how the null device is opened instead: the output so that writing fails
_STREAMS = (
    ("stdin", "r", os.O_RDONLY),
    ("stdout", "w", os.O_RDONLY),
    ("stderr", "w", os.O_WRONLY),
)


class Output:
    """A context in which the standard output notes why writing to it failed.

    Attributes:
        failure: the first error, None while there is none.
    """

    def __init__(self) -> None:
        self.failure: OSError | None = None
        self._stream: TextIO = sys.stdout

    def __enter__(self) -> Output:
        sys.stdout = cast(TextIO, self)
        return self

    def __exit__(self, *details: object) -> None:
        """Writes what was printed; where that fails, the rest is discarded."""
        sys.stdout = self._stream
        with contextlib.suppress(OSError):
            self.flush()
        if self.failure is not None:
            _discard(self._stream)

    def write(self, text: str) -> int:
        """As the stream's."""
        with self._noting():
            return self._stream.write(text)

    def flush(self) -> None:
        """As the stream's."""
        with self._noting():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @contextlib.contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.failure = self.failure or error
            raise


def _discard(stream: TextIO) -> None:
    """Sends the rest of a stream's buffer to the null device."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
