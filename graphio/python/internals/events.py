"""Event files without TensorBoard's package: of pywrap_tensorflow."""

from __future__ import annotations

import os
import socket
import time
from typing import Any

from graphio.data.writing import TFRecordWriter
from graphio.schema.summary_pb2 import Event
from graphio.support import api_guard

__all__ = ["EventsWriter"]


class EventsWriter:
    """Writes events to one file: filename_prefix.out.tfevents.SECONDS.HOST, made at the first
    event.

    Args:
        filename_prefix: a path, as text or bytes.
    """

    def __init__(self, filename_prefix: Any) -> None:
        self._prefix, self._suffix = os.fsdecode(filename_prefix), ""
        self._path = ""
        self._writer: TFRecordWriter | None = None

    @api_guard.unguarded
    def InitWithSuffix(self, suffix: Any) -> None:
        """Ends the file's name with a suffix."""
        self._suffix = os.fsdecode(suffix)

    @api_guard.unguarded
    def FileName(self) -> bytes:
        """The path of the file, which is made."""
        self._open()
        return os.fsencode(self._path)

    @api_guard.unguarded
    def WriteEvent(self, event: Any) -> None:
        """Adds a tf.Event."""
        self._open().write(event.SerializeToString())

    @api_guard.unguarded
    def Flush(self) -> bool:
        """Writes what waits to the file."""
        if self._writer is not None:
            self._writer.flush()
        return True

    @api_guard.unguarded
    def Close(self) -> bool:
        """Closes the file; a later event makes another."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        return True

    def _open(self) -> TFRecordWriter:
        if self._writer is None:
            now = time.time()
            named = f"out.tfevents.{int(now):010d}.{socket.gethostname()}"
            self._path = f"{self._prefix}.{named}{self._suffix}"
            self._writer = TFRecordWriter(self._path)
            first = Event(wall_time=now, file_version="brain.Event:2")
            self._writer.write(first.SerializeToString())
        return self._writer
