"""Records of several files by several readers, through one queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphio.framework import dtypes as kinds
from graphio.framework.graph import Tensor
from graphio.ops.base.emit import scope as name_scope
from graphio.ops.math import elementwise
from graphio.queues.producers import string_input_producer
from graphio.queues.queue_ops import FIFOQueue, QueueBase, RandomShuffleQueue
from graphio.queues.queue_runner import QueueRunner, add_queue_runner
from graphio.queues.readers import ReaderBase
from graphio.storage import gfile
from graphio.summary.ops import scalar
from graphio.support import api_guard

__all__ = ["ParallelReader", "get_data_files", "parallel_read", "single_pass_read"]


class ParallelReader(ReaderBase):
    """Readers whose threads put records into one queue; it joins the collection QUEUE_RUNNERS.

    Args:
        reader_class: class of the readers, such as tf.TFRecordReader.
        common_queue: a queue of two strings, key and value.
        num_readers: how many.
        reader_kwargs: arguments of the class.

    Raises:
        TypeError: the queue is not of two strings.
    """

    def __init__(
        self,
        reader_class: Any,
        common_queue: QueueBase,
        num_readers: int = 4,
        reader_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        if list(common_queue.dtypes) != [kinds.string, kinds.string]:
            raise TypeError("common_queue.dtypes must be [tf.string, tf.string]")
        self._readers = [reader_class(**(reader_kwargs or {})) for _ in range(num_readers)]
        self._common_queue = common_queue

    @property
    def num_readers(self) -> int:
        """How many readers there are."""
        return len(self._readers)

    @property
    def common_queue(self) -> QueueBase:
        """The queue of the records."""
        return self._common_queue

    def read(self, queue: Any, name: str | None = None) -> Any:
        """The next record, key and value, of the files whose names are in a queue."""
        self._start(queue)
        return self._common_queue.dequeue(name=name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """The next records, at most num_records, as vectors of keys and values."""
        self._start(queue)
        return self._common_queue.dequeue_up_to(num_records, name)

    def _start(self, queue: Any) -> None:
        added = [self._common_queue.enqueue(list(r.read(queue))) for r in self._readers]
        add_queue_runner(QueueRunner(self._common_queue, added))

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """The number of records of all readers, an int64 scalar."""
        return elementwise.add_n([r.num_records_produced() for r in self._readers], name=name)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """The number of files that all readers have read, an int64 scalar."""
        return elementwise.add_n([r.num_work_units_completed() for r in self._readers], name=name)


@api_guard.makes_variables
def parallel_read(
    data_sources: Any,
    reader_class: Any,
    num_epochs: int | None = None,
    num_readers: int = 4,
    reader_kwargs: Mapping[str, Any] | None = None,
    shuffle: bool = True,
    dtypes: Sequence[Any] | None = None,
    capacity: int = 256,
    min_after_dequeue: int = 128,
    seed: int | None = None,
    scope: str | None = None,
) -> Any:
    """The next record of files, key and value, read by a ParallelReader.

    Args:
        data_sources: a file, a pattern, or a list of them.
        reader_class, num_readers, reader_kwargs: as ParallelReader's.
        num_epochs: how often each file is read, counted in a local variable; None: no limit.
        shuffle: whether files and records come in a random order.
        dtypes: of the queue; None: two strings.
        capacity: of the queue.
        min_after_dequeue: of the queue, if shuffle.
        seed: of the order.
        scope: name scope; None: parallel_read.

    Raises:
        ValueError: there are no such files.
    """
    files = get_data_files(data_sources)
    with name_scope(scope, "parallel_read"):
        names = string_input_producer(
            files, num_epochs=num_epochs, shuffle=shuffle, seed=seed, name="filenames"
        )
        types = dtypes or [kinds.string, kinds.string]
        queue: QueueBase
        if shuffle:
            queue = RandomShuffleQueue(
                capacity, min_after_dequeue, types, seed=seed, name="common_queue"
            )
        else:
            queue = FIFOQueue(capacity, types, name="common_queue")
        summarize(queue, capacity)
        return ParallelReader(reader_class, queue, num_readers, reader_kwargs).read(names)


def summarize(queue: QueueBase, capacity: int) -> None:
    """A summary of how full a queue is."""
    share = elementwise.cast(queue.size(), kinds.float32) * (1.0 / capacity)
    scalar(f"fraction_of_{capacity}_full", share)


@api_guard.makes_variables
def single_pass_read(
    data_sources: Any,
    reader_class: Any,
    reader_kwargs: Mapping[str, Any] | None = None,
    scope: str | None = None,
) -> Any:
    """The next record of files, key and value, each once and in order.

    Args:
        data_sources, reader_class, reader_kwargs: as parallel_read's.
        scope: name scope; None: single_pass_read.

    Raises:
        ValueError: there are no such files.
    """
    files = get_data_files(data_sources)
    with name_scope(scope, "single_pass_read"):
        names = string_input_producer(
            files, num_epochs=1, shuffle=False, capacity=1, name="filenames"
        )
        return reader_class(**(reader_kwargs or {})).read(names)


@api_guard.unguarded
def get_data_files(data_sources: Any) -> list[str]:
    """The files of a pattern, of a name, or of a list of both.

    Raises:
        ValueError: there are none.
    """
    if isinstance(data_sources, (list, tuple)):
        found = [file for source in data_sources for file in get_data_files(source)]
    elif any(sign in data_sources for sign in "*?["):
        found = gfile.glob(data_sources)
    else:
        found = [data_sources]
    if not found:
        raise ValueError(f"No data files found in {data_sources}")
    return found
