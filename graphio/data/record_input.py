"""RecordInput: records of TFRecord files in random order, epoch after epoch."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from graphio.data import records
from graphio.data.writing import TFRecordOptions
from graphio.framework import api_boundary, dtypes
from graphio.framework.tensor import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.array import surface as array
from graphio.ops.base.host import host_call
from graphio.storage import gfile
from graphio.support import errors

__all__ = ["RecordInput"]


class RecordInput:
    """Gives records of TFRecord files in random order; every epoch has each record once.

    The files come in another order in each epoch, and a buffer mixes their records. Each session
    reads from the beginning, and no checkpoint has the position.

    Args:
        file_pattern: of the files' paths, with wildcards.
        batch_size: records of a run; with batches, of a batch.
        buffer_size: records that are mixed.
        parallelism: it has no effect, files are read one after the other.
        shift_ratio: the share of the files by which each epoch begins later.
        seed: of the order.
        name: of the operation.
        batches: of a run; None: one tensor of batch_size.
        compression_type: see tf.python_io.TFRecordOptions; None: there is none.
    """

    def __init__(
        self,
        file_pattern: str,
        batch_size: int = 1,
        buffer_size: int = 1,
        parallelism: int = 1,
        shift_ratio: float = 0,
        seed: int = 0,
        name: str | None = None,
        batches: int | None = None,
        compression_type: Any = None,
    ) -> None:
        self._pattern, self._buffer, self._shift = file_pattern, buffer_size, shift_ratio
        self._batch = batch_size * (1 if batches is None else batches)
        self._batches, self._seed, self._name = batches, seed, name
        kind = 0 if compression_type is None else compression_type
        self._compression = TFRecordOptions.get_compression_type_string(TFRecordOptions(kind))
        self._sizes = {"batch_size": batch_size, "buffer_size": buffer_size,
                       "parallelism": parallelism}  # fmt: skip

    @api_boundary.rolling_back
    def get_yield_op(self) -> Any:
        """The next records: a string tensor [batch_size]; with batches a list of that many lists
        of batch_size scalars.

        Raises, when run:
            NotFoundError: no file has such a path, or they have no records.
            InvalidArgumentError: a size is less than 1, or shift_ratio is not between 0 and 1.
        """

        def bind(session: Any) -> Any:
            lock, running = threading.Lock(), self._endless()

            def call(inputs: Any) -> list[Any]:
                self._check()
                with lock:
                    found = [next(running) for _ in range(self._batch)]
                made = np.empty(self._batch, object)
                made[:] = found
                return [made]

            return call

        made = host_call(
            bind,
            [],
            [(dtypes.string, TensorShape([max(self._batch, 0)]))],
            function="RecordInput",
            name=self._name or "RecordInput",
            tf_type="RecordInput",
        )
        found: Tensor = made.outputs[0]
        if self._batches is None:
            return found
        parts = [array.reshape(part, []) for part in array.split(found, self._batch, 0)]
        return [parts[i :: self._batches] for i in range(self._batches)]

    def _endless(self) -> Iterator[bytes]:
        draws, epoch = np.random.RandomState(self._seed), 0
        while True:
            paths = sorted(gfile.glob(self._pattern))
            if not paths:
                raise errors.NotFoundError(message=f"Found no files at {self._pattern}")
            draws.shuffle(paths)
            first = int(epoch * self._shift * len(paths)) % len(paths)
            is_empty = True
            for record in self._mixed(paths[first:] + paths[:first], draws):
                is_empty = False
                yield record
            if is_empty:  # the next epoch would look for one without end
                raise errors.NotFoundError(
                    message=f"Found no records at {self._pattern}: the files are empty"
                )
            epoch += 1

    def _check(self) -> None:
        for name, size in self._sizes.items():
            if size < 1:
                raise errors.InvalidArgumentError(
                    message=f"RecordInput: {name} is {size}, not 1 up"
                )
        if not 0 <= self._shift <= 1:
            raise errors.InvalidArgumentError(
                message=f"RecordInput: shift_ratio is {self._shift}, expected 0 to 1"
            )

    def _mixed(self, paths: list[str], draws: Any) -> Iterator[bytes]:
        kept: list[bytes] = []
        for record in self._records(paths):
            kept.append(record)
            if len(kept) >= self._buffer:
                yield _drawn(kept, draws)
        while kept:
            yield _drawn(kept, draws)

    def _records(self, paths: list[str]) -> Iterator[bytes]:
        for path in paths:
            with records.opened(path, self._compression) as file:
                while (record := records.read_record(file, path, 0)) is not None:
                    yield record


def _drawn(kept: list[bytes], draws: Any) -> bytes:
    """One of kept, which it leaves."""
    at = draws.randint(len(kept))
    kept[at], kept[-1] = kept[-1], kept[at]
    return kept.pop()
