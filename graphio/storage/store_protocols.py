"""The interface of a store of files, and of the files that it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

__all__ = ["Buffer", "Record", "Store", "StoredFile"]

Buffer = bytes | bytearray | memoryview


class Store(Protocol):
    """A folder of files. Errors are graphio's and name the file.

    Attributes:
        shared: whether other machines may be saving here now and nothing can be renamed: what no
            index refers to may then belong to a save under way.
    """

    shared: bool

    def path(self, name: str) -> str:
        """A file's complete path, for messages and for prefixes that are returned."""
        ...

    def make(self) -> None:
        """Makes the folder, durably, if it is not there; the one that it is in must be."""
        ...

    def put(self, name: str, parts: Iterable[Buffer], token: str | None = None) -> None:
        """Writes a complete file or none; when this returns its bytes are durable.

        Args:
            token: the id of the save that it belongs to, 16 hexadecimal digits.
        """
        ...

    def record(self, name: str, token: str) -> Record:
        """Begins a save that the index `name` will commit."""
        ...

    def end_if_dead(self, record: str, locks: bool, is_old: Callable[[], bool]) -> bool:
        """As commit_record.end_if_dead, for a name among `entries`."""
        ...

    def rename(self, old: str, new: str) -> None:
        """Puts a file in the place of another; not where the store is shared."""
        ...

    def barrier(self) -> None:
        """Makes all earlier writes and removals durable before any later one."""
        ...

    def read(self, name: str, *, follow: bool = False) -> bytes:
        """A file's bytes.

        Args:
            follow: True follows a symbolic link of that name.
        """
        ...

    def open(self, name: str) -> StoredFile:
        """A file that is read at many offsets. Links are not followed."""
        ...

    def remove(self, name: str) -> bool:
        """Removes a file if it is there; returns whether it was."""
        ...

    def tidy(self, base: str, temporaries: Iterable[str]) -> None:
        """Removes those of some temporary files that earlier processes left.

        Args:
            base: of the prefix that is saved. Temporary files of other runs go when they are old:
                another process may be writing them.
            temporaries: that belong to no save.
        """
        ...

    def names(self) -> list[str]:
        """The names of all files, sorted; no temporary ones."""
        ...

    def entries(self) -> list[str]:
        """Likewise, with the temporary ones."""
        ...

    def exists(self, name: str) -> bool:
        """Whether there is such a file."""
        ...

    def size(self, name: str) -> int | None:
        """A file's length; None: it is not there."""
        ...

    def modified(self, name: str) -> float:
        """When a file was last written, in seconds since 1970 of the store's clock."""
        ...

    def arrived(self, name: str) -> float:
        """Likewise, when it came here: later than it was written if it was copied."""
        ...


class Record(Protocol):
    """The record that a save commits with.

    Attributes:
        locks: whether a lock tells other processes that the save is under way.
    """

    locks: bool

    def put(self, data: bytes) -> None:
        """Commits.

        Raises:
            AlreadyExistsError: another writer has made this checkpoint in the meantime.
            UnavailableError: the error of the system or the store; it may have committed yet.
        """
        ...

    def cancel(self) -> bool:
        """Ends the save after a failure; False: it may commit yet."""
        ...


class StoredFile(Protocol):
    """A file of a store that was opened.

    Attributes:
        size: its length.
        piece: how many bytes are best read at a time.
    """

    size: int
    piece: int

    def read_into(self, offset: int, target: memoryview) -> None:
        """Fills target with the bytes from offset on; DataLossError if there are fewer."""
        ...

    def part(self, offset: int, nbytes: int) -> memoryview:
        """Some bytes: mapped, or fetched where there is no map; DataLossError as read_into."""
        ...

    def close(self) -> None:
        """Closes the file; views of it stay."""
        ...
