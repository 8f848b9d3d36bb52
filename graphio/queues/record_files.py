"""The records of a reader's files, with their keys: a generator for each kind of reader."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from graphio.storage import gfile

__all__ = ["KINDS", "Kind"]

#: key and value
Record = tuple[bytes, bytes]
_AT_ONCE = 1 << 18  # bytes


@dataclass(frozen=True)
class Kind:
    """A kind of reader.

    Attributes:
        tf_type: TensorFlow's type.
        records: from an element of the queue, most often the name of a file, and the settings to
            the records.
        serializes: whether the reader has serialize_state: it is never inside of a file.
    """

    tf_type: str
    records: Callable[..., Iterator[Record]]
    serializes: bool = False


def _itself(work: bytes) -> Iterator[Record]:
    yield work, work


def _whole_file(work: bytes) -> Iterator[Record]:
    with gfile.GFile(work.decode(), "rb") as file:
        yield work, file.read()


def _lines(work: bytes, skip_header_lines: int) -> Iterator[Record]:
    """Lines without their ends; the key has the line's number, from 1."""
    from graphio.data.records import opened  # late: most programs have no reader

    with opened(work.decode(), "") as file:
        for number, line in enumerate(file, 1):
            if number > skip_header_lines:
                yield b"%s:%d" % (work, number), line.removesuffix(b"\n").replace(b"\r", b"")


def _tf_records(work: bytes, compression: str) -> Iterator[Record]:
    """The key has the record's offset."""
    from graphio.data.records import opened, read_record

    path, offset = work.decode(), 0
    with opened(path, compression) as file:
        while (record := read_record(file, path, offset)) is not None:
            yield b"%s:%d" % (work, offset), record
            offset += len(record) + 16


def _fixed_length(
    work: bytes, record_bytes: int, header_bytes: int, footer_bytes: int, hop_bytes: int,
    encoding: str,
) -> Iterator[Record]:  # fmt: skip
    """Records that begin hop_bytes after each other; the key has the record's number, from 0."""
    from graphio.data.records import opened

    with opened(work.decode(), encoding) as file:
        file.read(header_bytes)
        ahead, number = b"", 0
        while True:
            while len(ahead) < record_bytes + footer_bytes:
                part = file.read(max(_AT_ONCE, record_bytes))
                if not part:
                    return
                ahead += part
            yield b"%s:%d" % (work, number), ahead[:record_bytes]
            ahead, number = _without(ahead, hop_bytes, file), number + 1


def _without(ahead: bytes, count: int, file: Any) -> bytes:
    """The bytes after the first count."""
    if len(ahead) < count:
        file.read(count - len(ahead))
    return ahead[count:]


def _lmdb_entries(work: bytes) -> Iterator[Record]:
    from graphio.data.bases.lmdb_files import entries

    return entries(work.decode())


#: by the name of the class
KINDS = {
    "FixedLengthRecordReader": Kind("FixedLengthRecordReaderV2", _fixed_length),
    "IdentityReader": Kind("IdentityReaderV2", _itself, serializes=True),
    "LMDBReader": Kind("LMDBReader", _lmdb_entries),
    "TFRecordReader": Kind("TFRecordReaderV2", _tf_records),
    "TextLineReader": Kind("TextLineReaderV2", _lines),
    "WholeFileReader": Kind("WholeFileReaderV2", _whole_file, serializes=True),
}
