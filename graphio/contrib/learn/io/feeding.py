"""Queues that threads fill with rows of arrays, of DataFrames or of generators."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import placeholder
from graphio.framework.graph import Tensor
from graphio.framework.scopes import name_scope
from graphio.ops.math import elementwise
from graphio.queues.feeding import FeedingQueueRunner
from graphio.queues.queue_ops import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from graphio.queues.queue_runner import add_queue_runner
from graphio.summary.ops import scalar
from graphio.support import errors, logging

__all__ = ["Options", "batch_of", "generator_queue", "rows_queue"]

#: the values of each component of a queue, for several of its elements
_Columns = Sequence[Any]


class Options(NamedTuple):
    """How a queue is filled.

    Attributes:
        batch_size: rows that are enqueued, and dequeued, at once.
        num_epochs: how often each thread gives all rows; None: without end.
        shuffle: whether rows have a random order.
        capacity: of the queue.
        num_threads: threads that fill it, each with all rows.
        min_after_dequeue: rows that stay in a shuffled queue; None: a quarter of the capacity.
    """

    batch_size: int
    num_epochs: int | None
    shuffle: bool
    capacity: int
    num_threads: int
    min_after_dequeue: int | None = None

    @property
    def rows_kept(self) -> int:
        """The rows that stay in the queue."""
        if not self.shuffle:
            return 0
        quarter = self.capacity // 4
        return quarter if self.min_after_dequeue is None else self.min_after_dequeue


def rows_queue(
    kinds: Sequence[tuple[Any, Sequence[int]]],
    count: int,
    take: Callable[[Any], _Columns],
    options: Options,
) -> QueueBase:
    """A queue of rows that are found by their numbers.

    Args:
        kinds: dtype and shape of the components of a row.
        count: rows.
        take: the columns of rows of the given numbers, an integer vector.

    Raises:
        ValueError: there are no rows.
    """
    if not count:
        raise ValueError("the data have no rows: expected at least one")

    def batches() -> Iterator[_Columns]:
        # a random first row, as TensorFlow's: the queue mixes only neighbours
        start = random.Random().randrange(count) if options.shuffle else 0
        for numbers in _numbers(count, start, options):
            yield take(numbers)

    return _queue(kinds, batches, options, None)


def _numbers(count: int, start: int, options: Options) -> Iterator[Any]:
    """The numbers of the rows of each batch; batches continue over the ends of epochs."""
    epochs = options.num_epochs
    total = None if epochs is None else epochs * count
    for first in itertools.count(0, options.batch_size):
        if total is not None and first >= total:
            return
        end = first + options.batch_size
        yield (start + np.arange(first, end if total is None else min(end, total))) % count


def generator_queue(
    rows: Callable[[], Iterator[Mapping[str, Any]]],
    keys: Sequence[str],
    kinds: Sequence[tuple[Any, Sequence[int]]],
    options: Options,
    pad_value: Any,
) -> QueueBase:
    """A queue of the dicts that a generator yields.

    Args:
        keys: those of a row, in the order of the queue's components.
        pad_value: fills the last dimension of shorter rows; None: all rows have one shape.
    """

    def batches() -> Iterator[_Columns]:
        taken, epochs = rows(), 0
        # a batch is full at batch_size values, not rows, and the last one ends in the next epoch
        needed = -(-options.batch_size // len(keys))
        while not options.num_epochs or epochs < options.num_epochs:
            batch: list[Mapping[str, Any]] = []
            while len(batch) < needed:
                row = next(taken, None)
                if row is None:
                    taken, epochs = rows(), epochs + 1
                    row = next(taken)
                batch.append(row)
            yield [_stacked([_value(row, key, keys) for row in batch], pad_value) for key in keys]

    return _queue(kinds, batches, options, pad_value)


def _value(row: Mapping[str, Any], key: str, keys: Sequence[str]) -> Any:
    if key not in row:
        raise KeyError(
            f"key mismatch between dicts emitted by the generator: expected the keys "
            f"{list(keys)}; got {list(row)}"
        )
    return row[key]


def _stacked(values: Sequence[Any], pad_value: Any) -> Any:
    """One array of all values, whose last dimensions are filled up to the largest."""
    if pad_value is None:
        return np.asarray(values)
    arrays = [np.asarray(value) for value in values]
    if any(one.shape[:-1] != arrays[0].shape[:-1] or one.ndim != arrays[0].ndim for one in arrays):
        raise ValueError(
            f"Array shapes must match in all but the last dimension: {[a.shape for a in arrays]}"
        )
    if not arrays[0].ndim:
        return np.asarray(arrays)
    longest = max(one.shape[-1] for one in arrays)
    shape = (len(arrays), *arrays[0].shape[:-1], longest)
    found = np.full(shape, pad_value, arrays[0].dtype)
    for filled, one in zip(found, arrays, strict=True):
        filled[..., : one.shape[-1]] = one
    return found


def _queue(
    kinds: Sequence[tuple[Any, Sequence[int]]],
    batches: Callable[[], Iterator[_Columns]],
    options: Options,
    pad_value: Any,
) -> QueueBase:
    """The queue with its runner and a summary of how full it is."""
    types = [dtypes.as_dtype(kind) for kind, _ in kinds]
    shapes = [tuple(shape) for _, shape in kinds]
    with name_scope("enqueue_input"):
        if pad_value is not None and options.shuffle:
            raise NotImplementedError(
                "padding and shuffling data at the same time is not implemented"
            )
        _warn(options)
        least = options.rows_kept
        queue: QueueBase
        if options.shuffle:
            queue = RandomShuffleQueue(options.capacity, least, types, shapes)
        elif pad_value is not None:
            open_shapes = [(*shape[:-1], None) if shape else shape for shape in shapes]
            queue = PaddingFIFOQueue(options.capacity, types, open_shapes)
        else:
            queue = FIFOQueue(options.capacity, types, shapes)
        enqueues, feeds = [], []
        for _ in range(options.num_threads):
            fed = [placeholder(kind) for kind in types]
            enqueues.append(queue.enqueue_many(fed))
            feeds.append(_feeds(fed, batches, options.num_epochs))
        add_queue_runner(FeedingQueueRunner(queue, enqueues, feed_fns=feeds))
        rest = options.capacity - least
        filled = elementwise.cast(elementwise.maximum(0, queue.size() - least), dtypes.float32)
        scalar(f"queue/{queue.name}fraction_over_{least}_of_{rest}_full", filled * (1.0 / rest))
    return queue


def _warn(options: Options) -> None:
    if options.num_threads > 1 and options.num_epochs is not None:
        logging.warning(
            "num_epochs is counted by each thread: num_threads %d gives the rows %d times",
            options.num_threads,
            options.num_threads * options.num_epochs,
        )
    if options.num_threads > 1 and not options.shuffle:
        logging.warning(
            "shuffle=False with num_threads > 1: each thread gives the rows in their order; take "
            "one thread for rows in order"
        )


def _feeds(
    fed: Sequence[Tensor], batches: Callable[[], Iterator[_Columns]], num_epochs: int | None
) -> Callable[[], dict[Tensor, Any]]:
    """A function that gives the feeds of one run after the other."""
    left = batches()

    def feed() -> dict[Tensor, Any]:
        columns = next(left, None)
        if columns is None:
            raise errors.OutOfRangeError(None, None, f"Already emitted {num_epochs} epochs.")
        return dict(zip(fed, columns, strict=True))

    return feed


def batch_of(queue: QueueBase, options: Options) -> list[Any]:
    """The components of a batch; where the epochs end the last one may be smaller."""
    take = queue.dequeue_many if options.num_epochs is None else queue.dequeue_up_to
    batch = take(options.batch_size)
    return batch if isinstance(batch, list) else [batch]
