"""A cache in a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from graphio.data import records, saving
from graphio.data.stages import Element, Item, Stage
from graphio.storage.gfile import failing_as_tensorflow
from graphio.support import errors

try:
    import fcntl
except ImportError:  # another system than POSIX's
    fcntl = None  # type: ignore[assignment]


class FileCache(Stage):
    """Writes the elements of the first pass to a file and reads those after it from there.

    A complete file has the cache's name; until then it has a temporary name in the same folder.
    """

    kind = "cache"
    never_more = True

    def __init__(self, source: Stage, path: str) -> None:
        super().__init__(source)
        self.source, self.path = source, path
        self.given = 0
        self._writing: Any = None
        self._reading: Any = None

    @property
    def _part(self) -> str:
        return f"{self.path}.part"

    def pull(self, count: int) -> Sequence[Item]:
        found: list[Element] = []
        while len(found) < count:
            elements = self._read() if self._complete() else self._write()
            if not elements:
                break
            self.given += 1
            found += elements
        return found

    def _complete(self) -> bool:
        return self._writing is None and os.path.exists(self.path)

    def _write(self) -> list[Element]:
        if self._writing is None:
            if self.given:
                return []
            self._writing = self._begun()
        elements = self.source.elements(1)
        if elements:
            self._writing.write(records.framed(saving.encode(elements[0])))
            return elements
        self._writing.flush()
        os.replace(self._part, self.path)  # before the close, which gives the lock back
        self._writing.close()
        self._writing = None
        self._reading = records.opened(self.path, "")
        self._reading.seek(0, os.SEEK_END)
        return []

    def _begun(self) -> Any:
        """The part, open and empty. Raises AlreadyExistsError: another iterator writes it."""
        with failing_as_tensorflow(self._part):
            file = open(self._part, "ab")
        if not self._locked(file):
            file.close()
            raise errors.AlreadyExistsError(
                message=f"cache: another iterator, of this or another program, writes {self.path} "
                f"at this time; let it come to its end, or give another filename [{self.what}]"
            )
        file.truncate(0)
        return file

    def _locked(self, file: Any) -> bool:
        """Whether the part, which stays locked until it is closed, is this iterator's alone."""
        if fcntl is None:
            return True
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks
            return True
        try:  # it may have become the complete file since it was opened
            return os.path.samestat(os.fstat(file.fileno()), os.stat(self._part))
        except FileNotFoundError:
            return False

    def _read(self) -> list[Element]:
        if self._reading is None:
            self._reading = records.opened(self.path, "")
        record = records.read_record(self._reading, self.path, self._reading.tell())
        return [] if record is None else [saving.decode(record)]

    def rewind(self) -> None:
        if self._writing is not None:  # the first pass did not come to its end: begin again
            super().rewind()
        self.close_files()
        self.given = 0

    def saved_position(self) -> Any:
        return self.given

    def set_saved_position(self, saved_position: Any) -> None:
        self.counted(saved_position, self.source.most())
        if os.path.exists(self.path):
            self.pull(saved_position)
        elif saved_position:
            raise errors.FailedPreconditionError(
                message=f"cache: {self.path} was not complete when the checkpoint was saved, so "
                f"the pipeline cannot go on from there [{self.what}]"
            )

    def parameters(self) -> Sequence[Any]:
        return [os.path.basename(self.path)]

    def close_files(self) -> None:
        """Closes what is open."""
        for file in (self._writing, self._reading):
            if file is not None:
                file.close()
        self._writing = self._reading = None

    def close(self) -> None:
        self.close_files()
        super().close()
