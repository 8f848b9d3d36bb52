"""TFRecord files written and read outside of a graph: tf.python_io."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from typing import IO, Any

from graphio.data import records
from graphio.storage.gfile import failing_as_tensorflow
from graphio.support import api_guard, errors

__all__ = [
    "TFRecordCompressionType",
    "TFRecordOptions",
    "TFRecordWriter",
    "tf_record_iterator",
]


class TFRecordCompressionType:
    """The compression of a file of records."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


_KINDS = {None: "", 0: "", 1: "ZLIB", 2: "GZIP", "": "", "NONE": "", "ZLIB": "ZLIB", "GZIP": "GZIP"}


class TFRecordOptions:
    """Options of a file of records; those of zlib say how small it becomes.

    Args:
        compression_type: a TFRecordCompressionType, "ZLIB", "GZIP" or "".
        flush_mode: how zlib is flushed when input_buffer_size bytes have been packed; None:
            zlib.Z_NO_FLUSH.
        input_buffer_size: bytes that are packed at once; None: 256 KiB.
        output_buffer_size: accepted; it changes nothing that a reader sees.
        window_bits: 8 to 15, how far back zlib looks; None: 15.
        compression_level: 0 to 9; None: zlib's own.
        compression_method: zlib.DEFLATED or None, the only one.
        mem_level: 1 to 9; None: 9.
        compression_strategy: one of zlib's; None: zlib.Z_DEFAULT_STRATEGY.
    """

    def __init__(
        self, compression_type: Any = None, flush_mode: int | None = None,
        input_buffer_size: int | None = None, output_buffer_size: int | None = None,
        window_bits: int | None = None, compression_level: int | None = None,
        compression_method: int | None = None, mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:  # fmt: skip
        self.compression_type = self.get_compression_type_string(compression_type)
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

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
    """Writes a TFRecord file, which is complete when the writer is closed, or given up.

    Args:
        path: of the file, which is overwritten.
        options: TFRecordOptions, or a compression type.

    Raises:
        NotFoundError: there is no such folder.
    """

    def __init__(self, path: str | os.PathLike[str], options: Any = None) -> None:
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(options)
        self._zlib = _packer(options)
        self._mode = options.flush_mode or zlib.Z_NO_FLUSH
        self._at_once = options.input_buffer_size or 1 << 18
        self._waiting = bytearray()
        with failing_as_tensorflow(os.fspath(path)):
            self._file = open(path, "wb")

    def write(self, record: bytes) -> None:
        """Adds a record.

        Raises:
            TypeError: record is not bytes.
            FailedPreconditionError: the writer is closed.
        """
        if isinstance(record, str) or not isinstance(record, (bytes, bytearray, memoryview)):
            raise TypeError(f"a record must be bytes, got {type(record).__name__}")
        if self._file.closed:
            raise errors.FailedPreconditionError(message="Writer is closed")
        data = records.framed(bytes(record))
        if self._zlib is None:
            self._file.write(data)
            return
        if len(self._waiting) + len(data) > self._at_once:
            self._pack(self._mode)
        self._waiting += data

    def _pack(self, mode: int) -> None:
        """Packs and writes what is waiting, and flushes zlib in a mode."""
        assert self._zlib is not None
        self._file.write(self._zlib.compress(self._waiting))
        self._waiting.clear()
        if mode != zlib.Z_NO_FLUSH:
            self._file.write(self._zlib.flush(mode))

    def flush(self) -> None:
        """Hands what was written to the operating system.

        Raises:
            FailedPreconditionError: the writer is closed.
        """
        if self._file.closed:
            raise errors.FailedPreconditionError(message="Writer is closed")
        if self._zlib is not None:
            self._pack(zlib.Z_SYNC_FLUSH)
        self._file.flush()

    def close(self) -> None:
        """Ends the file."""
        if self._file.closed:
            return
        try:
            if self._zlib is not None:
                self._pack(zlib.Z_FINISH)
        finally:
            self._file.close()

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self.close()

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *details: Any) -> None:
        self.close()


def _packer(options: TFRecordOptions) -> Any:
    """zlib's object for a file of these options; None: it is not packed."""
    if not options.compression_type:
        return None

    def given(value: int | None, default: int) -> int:
        return default if value is None else value

    window = max(given(options.window_bits, zlib.MAX_WBITS), 9)  # zlib itself takes 8 for 9
    return zlib.compressobj(
        given(options.compression_level, zlib.Z_DEFAULT_COMPRESSION),
        given(options.compression_method, zlib.DEFLATED),
        window + 16 if options.compression_type == "GZIP" else window,
        given(options.mem_level, 9),
        given(options.compression_strategy, zlib.Z_DEFAULT_STRATEGY),
    )


@api_guard.guarded
def tf_record_iterator(path: str | os.PathLike[str], options: Any = None) -> Iterator[bytes]:
    """The records of a file, as bytes.

    Of a file that is not packed, an iterator that has met the end or a record cut short can be
    used again: it goes on where it was, with what has been written since.

    Raises:
        NotFoundError: there is no such file.
        DataLossError: it is damaged.
    """
    return _Records(os.fspath(path), TFRecordOptions.get_compression_type_string(options))


class _Records(Iterator[bytes]):
    def __init__(self, path: str, compression: str) -> None:
        self._path, self._compression = path, compression
        self._file: IO[bytes] | None = None
        self._offset = 0

    def __next__(self) -> bytes:
        if self._file is None:
            self._file = records.opened(self._path, self._compression)
        try:
            record = records.read_record(self._file, self._path, self._offset)
        except errors.DataLossError:
            if not self._compression:
                self._file.seek(self._offset)
            raise
        if record is None:
            raise StopIteration
        self._offset += len(record) + 16
        return record

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()
