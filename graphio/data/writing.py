"""TFRecord files written and read outside of a graph: tf.python_io."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from typing import Any

from graphio.data import records
from graphio.io.gfile import failing_as_tensorflow
from graphio.schema import errors

__all__ = [
    "TFRecordCompressionType",
    "TFRecordOptions",
    "TFRecordWriter",
    "tf_record_iterator",
]


class TFRecordCompressionType:
    """How a file of records is packed."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


_KINDS = {None: "", 0: "", 1: "ZLIB", 2: "GZIP", "": "", "NONE": "", "ZLIB": "ZLIB", "GZIP": "GZIP"}


class TFRecordOptions:
    """Options of a file of records.

    Args:
        compression_type: a TFRecordCompressionType, "ZLIB", "GZIP" or "".
        compression_level: 0 to 9; None: zlib's own.
        options: accepted are zlib's others, which change nothing that a reader sees.
    """

    def __init__(
        self, compression_type: Any = None, compression_level: int | None = None, **options: Any
    ) -> None:
        self.compression_type = self.get_compression_type_string(compression_type)
        self.compression_level = compression_level

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """ "", "ZLIB" or "GZIP" of options or a compression type.

        Raises:
            ValueError: there is no such type.
        """
        if isinstance(options, TFRecordOptions):
            return options.compression_type
        if options not in _KINDS:
            raise ValueError(f"Not a valid compression_type: {options!r}; valid are '', ZLIB, GZIP")
        return _KINDS[options]


class TFRecordWriter:
    """Writes a TFRecord file.

    Args:
        path: of the file, which is written anew.
        options: TFRecordOptions, or a compression type.

    Raises:
        NotFoundError: there is no such folder.
    """

    def __init__(self, path: str | os.PathLike[str], options: Any = None) -> None:
        kind = TFRecordOptions.get_compression_type_string(options)
        level = getattr(options, "compression_level", None)
        with failing_as_tensorflow(os.fspath(path)):
            self._file: Any = open(path, "wb")
        self._under = self._file
        self._zlib: Any = None
        if kind == "GZIP":
            self._file = gzip.GzipFile("", "wb", 9 if level is None else level, self._under, 0)
        elif kind == "ZLIB":
            self._zlib = zlib.compressobj(-1 if level is None else level)

    def write(self, record: bytes) -> None:
        """Adds a record.

        Raises:
            TypeError: record is no bytes.
            FailedPreconditionError: the writer is closed.
        """
        if isinstance(record, str) or not isinstance(record, (bytes, bytearray, memoryview)):
            raise TypeError(f"a record must be bytes, got {type(record).__name__}")
        if self._under.closed:
            raise errors.FailedPreconditionError(message="Writer is closed")
        data = records.framed(bytes(record))
        self._file.write(data if self._zlib is None else self._zlib.compress(data))

    def flush(self) -> None:
        """Hands what was written to the operating system.

        Raises:
            FailedPreconditionError: the writer is closed.
        """
        if self._under.closed:
            raise errors.FailedPreconditionError(message="Writer is closed")
        if self._zlib is not None:
            self._file.write(self._zlib.flush(zlib.Z_SYNC_FLUSH))
        self._file.flush()
        self._under.flush()

    def close(self) -> None:
        """Ends the file."""
        if self._under.closed:
            return
        if self._zlib is not None:
            self._file.write(self._zlib.flush())
        self._file.close()
        self._under.close()

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *details: Any) -> None:
        self.close()


def tf_record_iterator(path: str | os.PathLike[str], options: Any = None) -> Iterator[bytes]:
    """The records of a file, as bytes.

    Raises:
        NotFoundError: there is no such file.
        DataLossError: it is damaged.
    """
    name = os.fspath(path)
    file = records.opened(name, TFRecordOptions.get_compression_type_string(options))
    offset = 0
    try:
        while (record := records.read_record(file, name, offset)) is not None:
            yield record
            offset += len(record) + 16
    finally:
        file.close()
