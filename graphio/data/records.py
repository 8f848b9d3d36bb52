"""Sources that read files: lines, records, columns; and the framing of TFRecord files."""

from __future__ import annotations

import glob
import gzip
import io
import os
import zlib
from collections.abc import Iterator, Sequence
from typing import IO, Any, cast

import numpy as np

from graphio.data.stages import Item, Stage
from graphio.schema.crc32c import crc32c
from graphio.storage.gfile import failing_as_tensorflow
from graphio.support import errors

Array = np.ndarray[Any, Any]
_MASK = 0xA282EAD8
_PIECE = 1 << 24  # bytes that are read at once
_LARGEST = 1 << 40  # bytes of a record


# ---- files ----


class _Inflated(io.RawIOBase):
    """A file of zlib's format, unpacked no further than it is read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._zlib = file, zlib.decompressobj()
        self._read = 0

    def tell(self) -> int:
        """The number of unpacked bytes read so far."""
        return self._read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = b""
        while not data and not self._zlib.eof:
            packed = self._zlib.unconsumed_tail or self._file.read(1 << 16)
            data = self._zlib.decompress(packed, len(buffer))
            if not packed and not data and not self._zlib.eof:
                raise EOFError("the compressed data is cut short")
        buffer[: len(data)] = data
        self._read += len(data)
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def opened(path: str, compression: str, buffering: int = 1 << 18) -> IO[bytes]:
    """A file for reading, unpacked.

    Args:
        compression: "", "GZIP" or "ZLIB".

    Raises:
        NotFoundError, PermissionDeniedError, FailedPreconditionError, UnknownError: as the
            operating system says.
    """
    with failing_as_tensorflow(path):
        file = open(path, "rb", buffering=buffering or 1 << 18)
    if compression == "GZIP":
        return cast("IO[bytes]", gzip.GzipFile(fileobj=file, mode="rb"))
    if compression == "ZLIB":
        return io.BufferedReader(_Inflated(file), 1 << 18)
    return file


def checked_compression(compression: Any) -> str:
    """ "", "GZIP" or "ZLIB". Raises InvalidArgumentError for anything else."""
    text = compression.decode() if isinstance(compression, bytes) else compression or ""
    if text not in ("", "GZIP", "ZLIB"):
        raise errors.InvalidArgumentError(
            message=f"Unsupported compression_type: {text}; there are '', 'GZIP' and 'ZLIB'"
        )
    return str(text)


def paths_as_strings(value: Any) -> Any:
    """Names of files as strings, one or a list of them."""
    if isinstance(value, (list, tuple)):
        return [paths_as_strings(v) for v in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def matching(patterns: Array, one_shot: bool = False) -> Array:
    """Names of the files that match, sorted; one_shot: whether it is for a one-shot iterator.

    Raises:
        InvalidArgumentError: there is none. A one-shot iterator ends there (OutOfRangeError), for
            TensorFlow's leaves the check out of the function that makes its dataset.
    """
    strings = [bytes(p).decode() for p in patterns.ravel().tolist()]
    found = sorted({name for text in strings for name in glob.glob(text)})
    if not found:
        kind = errors.OutOfRangeError if one_shot else errors.InvalidArgumentError
        raise kind(message=f"No files matched pattern: {', '.join(strings)}")
    array = np.empty(len(found), object)
    array[:] = [name.encode() for name in found]
    return array


# ---- TFRecord: length, its checksum, bytes, their checksum ----


def masked_crc(data: bytes) -> int:
    """TFRecord's checksum: CRC-32C, rotated, plus a constant."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + _MASK) & 0xFFFFFFFF


def framed(record: bytes) -> bytes:
    """A record as a TFRecord file has it."""
    length = len(record).to_bytes(8, "little")
    return b"".join(
        (
            length,
            masked_crc(length).to_bytes(4, "little"),
            record,
            masked_crc(record).to_bytes(4, "little"),
        )
    )


def _head(file: IO[bytes], offset: int) -> bytes:
    """The first 12 bytes of a record, fewer at the end."""
    try:
        return file.read(12)
    except EOFError:  # of packed bytes: what was unpacked before it is lost, but counted
        if file.tell() != offset:
            raise
        return b""


def read_record(file: IO[bytes], path: str, offset: int) -> bytes | None:
    """The next record; None at the end.

    A packed file without its end ends after its last complete record: its writer has flushed it,
        and
    may write on.

    Args:
        offset: where it begins, of the unpacked bytes.

    Raises:
        DataLossError: it is cut short, or a checksum is not its own.
    """
    try:
        head = _head(file, offset)
        if not head:
            return None
        length = int.from_bytes(head[:8], "little")
        if len(head) < 12:
            raise _lost("truncated record", path, offset)
        if masked_crc(head[:8]) != int.from_bytes(head[8:], "little") or length > _LARGEST:
            raise _lost("corrupted record", path, offset)
        record = _exactly(file, length)
        tail = file.read(4)
    except (EOFError, OSError, zlib.error) as error:
        if isinstance(error, errors.OpError):
            raise
        raise _lost(f"damaged compressed data ({error})", path, offset) from None
    if len(record) < length or len(tail) < 4:
        raise _lost("truncated record", path, offset)
    if masked_crc(record) != int.from_bytes(tail, "little"):
        raise _lost("corrupted record", path, offset)
    return record


def _exactly(file: IO[bytes], count: int) -> bytes:
    """The next bytes, fewer at the end; a length that lies takes no memory."""
    parts = []
    while count > 0 and (part := file.read(min(count, _PIECE))):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _lost(what: str, path: str, offset: int) -> errors.OpError:
    return errors.DataLossError(message=f"{what} at {offset} in {path}")


# ---- stages ----


class Files(Stage):
    """Records of several files, one after the other; a position: file and number of records."""

    def __init__(self, paths: Array, compression: str = "", buffering: int = 0) -> None:
        super().__init__()
        self.paths = [bytes(p).decode() for p in paths.ravel().tolist()]
        self.compression, self.buffering = compression, buffering
        self._running: Iterator[bytes] | None = None
        self.at = self.read = 0

    def records(self, file: IO[bytes], path: str) -> Iterator[bytes]:
        """The records of an open file."""
        raise NotImplementedError

    def pull(self, count: int) -> Sequence[Item]:
        found: list[Item] = []
        while len(found) < count and self.at < len(self.paths):
            record = self._next()
            if record is not None:
                found.append([_text(record)])
        return found

    def _next(self) -> bytes | None:
        """The next record, or None where a file ends."""
        if self._running is None:
            self._running = self._file(self.paths[self.at])
        try:
            record = next(self._running)
        except StopIteration:
            self.at, self.read, self._running = self.at + 1, 0, None
            return None
        except errors.OpError as error:
            self.at, self.read, self._running = self.at + 1, 0, None
            raise type(error)(message=f"{error.message} [{self.what}]") from None
        self.read += 1
        return record

    def _file(self, path: str) -> Iterator[bytes]:
        file = opened(path, self.compression, self.buffering)
        try:
            yield from self.records(file, path)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise _lost(f"damaged compressed data ({error})", path, 0) from None
        finally:
            file.close()

    def restart(self) -> None:
        self.close()
        self.at = self.read = 0

    def saved_position(self) -> Any:
        return [self.at, self.read]

    def set_saved_position(self, saved_position: Any) -> None:
        self.restart()
        at, count = saved_position
        self.at = self.counted(at, len(self.paths))
        for _ in range(self.counted(count)):
            if self._next() is None:
                raise ValueError(f"{self.paths[at]} ends before record {count}")

    def parameters(self) -> Sequence[Any]:
        return [*map(os.path.basename, self.paths), self.compression]

    def close(self) -> None:
        if self._running is not None:
            cast(Any, self._running).close()
        self._running = None


def _text(record: bytes) -> Array:
    array = np.empty((), object)
    array[()] = record
    return array


class TextLines(Files):
    """Lines without their ends."""

    kind = "TextLineDataset"

    def records(self, file: IO[bytes], path: str) -> Iterator[bytes]:
        rest: list[bytes] = []  # of a line that has not ended
        while data := file.read(1 << 18):
            *lines, last = data.split(b"\n")
            if lines:
                lines[0] = b"".join((*rest, lines[0]))
                rest.clear()
            rest.append(last)
            yield from (line[:-1] if line.endswith(b"\r") else line for line in lines)
        if any(rest):
            yield b"".join(rest)


class TFRecords(Files):
    """Records of TFRecord files."""

    kind = "TFRecordDataset"

    def records(self, file: IO[bytes], path: str) -> Iterator[bytes]:
        offset = 0
        while (record := read_record(file, path, offset)) is not None:
            yield record
            offset += len(record) + 16


class FixedLength(Files):
    """Records of one length between a header and a footer."""

    kind = "FixedLengthRecordDataset"

    def __init__(
        self, paths: Array, size: int, header: int, footer: int, compression: str, buffering: int
    ) -> None:
        super().__init__(paths, compression, buffering)
        if size < 1 or header < 0 or footer < 0:
            raise self.refused(
                f"record_bytes must be > 0, header_bytes and footer_bytes >= 0, got {size}, "
                f"{header} and {footer}"
            )
        self.size, self.header, self.footer = size, header, footer

    def records(self, file: IO[bytes], path: str) -> Iterator[bytes]:
        if not self.compression:
            self._check_size(os.fstat(file.fileno()).st_size, path)
        if len(file.read(self.header)) < self.header:
            raise self.refused(f"{path} is shorter than its header of {self.header} bytes")
        ahead = file.read(self.size + self.footer)
        while len(ahead) == self.size + self.footer:
            yield ahead[: self.size]
            ahead = ahead[self.size :] + file.read(self.size)
        if len(ahead) != self.footer:
            raise self._cut(path, len(ahead) - self.footer)

    def _check_size(self, size: int, path: str) -> None:
        """Refuses a regular file, before its first record, that does not consist of records."""
        body = size - self.header - self.footer
        if size and body % self.size:
            raise self._cut(path, body % self.size)

    def _cut(self, path: str, left: int) -> errors.OpError:
        return self.refused(
            f"Excluding the header ({self.header} bytes) and footer ({self.footer} bytes), "
            f"input file {path} has a body which is not a multiple of the record length "
            f"({self.size} bytes): {left} bytes are left."
        )

    def parameters(self) -> Sequence[Any]:
        return [*super().parameters(), self.size, self.header, self.footer]
