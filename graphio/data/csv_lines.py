"""Rows of CSV files as bytes: a line's end inside of a quotation ends no row."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from graphio.data.records import TextLines

Array = np.ndarray[Any, Any]
_PIECE = 1 << 18
_MARK = b'"'


class Rows(TextLines):
    """Rows without their ends, which are those of Unix, of Windows, or single carriage returns."""

    kind = "CsvDataset"

    def __init__(
        self, paths: Array, compression: str, header: bool, delimiter: str, quotes: bool
    ) -> None:
        super().__init__(paths, compression)
        self.header, self.delimiter, self.quotes = header, delimiter.encode(), quotes

    def records(self, file: IO[bytes], path: str) -> Iterator[bytes]:
        scan = _Scan(file, self.delimiter, self.quotes)
        if self.header and scan.row() is None:
            raise self.refused(f"Can't read header of file: {path} is empty")
        while (row := scan.row()) is not None:
            if scan.open:
                shown = row[:200].decode("utf-8", "replace")
                raise self.refused(f"a quoted field does not end: {shown!r}")
            yield row


@functools.cache
def _patterns(delimiter: bytes, quotes: bool) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """The patterns of a row without quotation marks, and of a field's end."""
    mark = _MARK if quotes else b""
    plain = re.compile(b"[^\r\n" + mark + b"]*(?:\n|\r\n|\r(?=[^\n]))")
    return plain, re.compile(b"[\r\n]|" + re.escape(delimiter))


class _Scan:
    """Rows of a file, one after the other. Each byte is looked at a fixed number of times.

    Attributes:
        open: whether the last row, which ended with the file, has a quotation that is open.
    """

    def __init__(self, file: IO[bytes], delimiter: bytes, quotes: bool) -> None:
        self._file, self._delimiter, self._quotes = file, delimiter, quotes
        self._plain, self._ends = _patterns(delimiter, quotes)
        self._data, self._start, self._at = bytearray(), 0, 0
        self._done = self.open = False

    def _more(self) -> None:
        """Reads on, and drops the fields that were returned."""
        del self._data[: self._start]
        self._at -= self._start
        self._start = 0
        piece = self._file.read(_PIECE)
        self._done = not piece
        self._data += piece

    def row(self) -> bytes | None:
        """The next row; None at the end."""
        found = self._plain.match(self._data, self._start)
        if found:
            return self._given(len(found[0].rstrip(b"\r\n")), found.end())
        self._at = self._start
        while True:
            end = self._field()
            if end is None:
                return self._rest()
            if end:
                return self._given(self._at - self._start, self._at + end)
            self._at += len(self._delimiter)

    def _given(self, size: int, end: int) -> bytes:
        row = bytes(self._data[self._start : self._start + size])
        self._start = end
        return row

    def _rest(self) -> bytes | None:
        size = len(self._data) - self._start
        return self._given(size, len(self._data)) if size else None

    def _field(self) -> int | None:
        """Goes behind a field; how long the row's end is that follows, 0 if a delimiter does, None
        if the file does."""
        if self._quotes and self._has(1) and self._data.startswith(_MARK, self._at):
            self._at += 1
            if not self._close():
                return None
        while not (found := self._ends.search(self._data, self._at)):
            if self._done:
                return None
            # The data may end within a delimiter, whose character may have several bytes.
            self._at = max(self._at, len(self._data) - len(self._delimiter) + 1)
            self._more()
        self._at = found.start()
        if found[0] == self._delimiter:
            return 0
        crlf = found[0] == b"\r" and self._has(2) and self._data.startswith(b"\r\n", self._at)
        return 2 if crlf else 1

    def _close(self) -> bool:
        """Moves past the mark that closes a quotation; False: there is none."""
        while True:
            mark = self._data.find(_MARK, self._at)
            self._at = len(self._data) if mark < 0 else mark
            if not self._has(1):
                self.open = True
                return False
            if mark < 0:
                continue
            doubled = self._has(2) and self._data.startswith(_MARK * 2, self._at)
            self._at += 2 if doubled else 1
            if not doubled:
                return True

    def _has(self, count: int) -> bool:
        """Whether so many bytes are ahead, which are read if need be."""
        while len(self._data) - self._at < count and not self._done:
            self._more()
        return len(self._data) - self._at >= count
