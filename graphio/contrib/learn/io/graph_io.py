"""Records of files in batches, by queues. Threads that tf.train.start_queue_runners starts fill
them.

Common arguments:
    file_pattern: a pattern of paths, or a list of patterns.
    batch_size: records of a batch.
    reader: makes a reader, such as tf.TFRecordReader.
    features: as those of tf.parse_example.
    randomize_input: whether files and records have random order; else files have that of names.
    num_epochs: how often the files are read, then the last batch may be smaller; None: without end.
    queue_capacity: records of the queue.
    num_threads, reader_num_threads: readers.
    read_batch_size: records that are read at once.
    parse_fn: maps the records, strings, to a tensor or a dict of them; None: they stay.
    feature_queue_capacity: batches of the queue of parsed features.
    num_enqueue_threads, num_queue_runners: threads that fill it.
    seed: of the order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from graphio.contrib.learn.io.shared_names import shared_names_queue
from graphio.framework import dtypes
from graphio.framework.constants import constant
from graphio.framework.graph import Tensor
from graphio.framework.scopes import name_scope
from graphio.framework.sparse_tensor import SparseTensor
from graphio.ops.math import elementwise
from graphio.ops.strings.example import parse_example
from graphio.queues.batching import batch_join, shuffle_batch_join
from graphio.queues.producers import string_input_producer
from graphio.queues.queue_ops import FIFOQueue
from graphio.queues.queue_runner import QueueRunner, add_queue_runner
from graphio.queues.readers import TFRecordReader
from graphio.storage import gfile
from graphio.summary.ops import scalar
from graphio.support import api_guard, errors

__all__ = [
    "queue_parsed_features",
    "read_batch_examples",
    "read_batch_features",
    "read_batch_record_features",
    "read_keyed_batch_examples",
    "read_keyed_batch_examples_shared_queue",
    "read_keyed_batch_features",
    "read_keyed_batch_features_shared_queue",
]

#: the key of the records' names among the features of parse_fn
_KEY = "__key__"


@api_guard.makes_variables
def read_batch_examples(
    file_pattern: Any, batch_size: Any, reader: Callable[[], Any], randomize_input: bool = True,
    num_epochs: int | None = None, queue_capacity: int = 10000, num_threads: int = 1,
    read_batch_size: int = 1, parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None, seed: int | None = None,
) -> Any:  # fmt: skip
    """The records of files in batches. Arguments are described at the head of the module.

    Returns:
        strings [batch_size], or what parse_fn gives, with the batch as first dimension.

    Raises:
        ValueError: no file matches, or a number is not positive.
    """
    return read_keyed_batch_examples(
        file_pattern, batch_size, reader, randomize_input, num_epochs, queue_capacity, num_threads,
        read_batch_size, parse_fn, name, seed,
    )[1]  # fmt: skip


@api_guard.makes_variables
def read_keyed_batch_examples(
    file_pattern: Any, batch_size: Any, reader: Callable[[], Any], randomize_input: bool = True,
    num_epochs: int | None = None, queue_capacity: int = 10000, num_threads: int = 1,
    read_batch_size: int = 1, parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None, seed: int | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """As read_batch_examples, with the names that the reader gives records.

    Returns:
        the names, strings [batch_size], and the records.
    """
    return _read_keyed(
        False, file_pattern, batch_size, reader, randomize_input, num_epochs, queue_capacity,
        num_threads, read_batch_size, parse_fn, name, seed,
    )  # fmt: skip


@api_guard.makes_variables
def read_keyed_batch_examples_shared_queue(
    file_pattern: Any, batch_size: Any, reader: Callable[[], Any], randomize_input: bool = True,
    num_epochs: int | None = None, queue_capacity: int = 10000, num_threads: int = 1,
    read_batch_size: int = 1, parse_fn: Callable[[Any], Any] | None = None,
    name: str | None = None, seed: int | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """As read_keyed_batch_examples, of files whose position is in global variables of the scope
    obtain_next: a session that restores them continues with the next file. The files' order is
    drawn when the graph is built.
    """
    return _read_keyed(
        True, file_pattern, batch_size, reader, randomize_input, num_epochs, queue_capacity,
        num_threads, read_batch_size, parse_fn, name, seed,
    )  # fmt: skip


def _read_keyed(
    is_shared: bool, file_pattern: Any, batch_size: Any, reader: Callable[[], Any],
    randomize_input: bool, num_epochs: int | None, queue_capacity: int, num_threads: int,
    read_batch_size: int, parse_fn: Callable[[Any], Any] | None, name: str | None,
    seed: int | None,
) -> tuple[Any, Any]:  # fmt: skip
    paths = _paths(file_pattern, randomize_input)
    _check(batch_size, queue_capacity, read_batch_size, num_threads, num_epochs)
    with name_scope(name, "read_batch_examples", [file_pattern]) as scope:
        with name_scope("file_name_queue") as queue_scope:
            names = (
                shared_names_queue(paths, randomize_input, num_epochs, seed)
                if is_shared
                else string_input_producer(
                    constant(paths, name="input"), num_epochs=num_epochs, shuffle=randomize_input,
                    seed=seed, name=queue_scope,
                )
            )  # fmt: skip
        with name_scope("read"):
            read = [_read(names, reader, read_batch_size, parse_fn) for _ in range(num_threads)]
        options: dict[str, Any] = {
            "capacity": queue_capacity, "enqueue_many": read_batch_size > 1, "name": scope,
            "allow_smaller_final_batch": num_epochs is not None,
        }  # fmt: skip
        if randomize_input:
            least = _least(batch_size, queue_capacity)
            found = shuffle_batch_join(
                read, batch_size, min_after_dequeue=least, seed=seed, **options
            )
        else:
            found = batch_join(read, batch_size, **options)
    if isinstance(found, dict):
        return found.pop(_KEY), found
    keys, records = found
    return keys, records


def _paths(file_pattern: Any, randomize_input: bool) -> list[str]:
    patterns = file_pattern if isinstance(file_pattern, list) else [file_pattern]
    if not patterns:
        raise ValueError("No files given to dequeue_examples.")
    found = [path for pattern in patterns for path in gfile.glob(pattern)]
    if not found:
        raise ValueError(f"No files match {file_pattern}.")
    return found if randomize_input else sorted(found)


def _check(batch_size: Any, capacity: Any, at_once: Any, threads: Any, epochs: Any) -> None:
    if not capacity or capacity <= 0:
        raise ValueError(f"Invalid queue_capacity {capacity}.")
    is_number = not isinstance(batch_size, Tensor)
    if batch_size is None or (is_number and not 0 < batch_size < capacity):
        raise ValueError(f"Invalid batch_size {batch_size}, with queue_capacity {capacity}.")
    for name, value in (("read_batch_size", at_once), ("num_threads", threads)):
        if value is None or value <= 0:
            raise ValueError(f"Invalid {name} {value}.")
    if epochs is not None and epochs <= 0:
        raise ValueError(f"Invalid num_epochs {epochs}.")


def _least(batch_size: Any, capacity: int) -> int:
    """The records that stay in the queue, so that their order is random."""
    if isinstance(batch_size, Tensor):
        return int(capacity * 0.4)
    return max(capacity - 3 * int(batch_size), int(batch_size))


def _read(names: Any, reader: Callable[[], Any], at_once: int, parse_fn: Any) -> Any:
    made = reader()
    keys, records = made.read_up_to(names, at_once) if at_once > 1 else made.read(names)
    parsed = parse_fn(records) if parse_fn else records
    return {**parsed, _KEY: keys} if isinstance(parsed, dict) else (keys, parsed)


@api_guard.makes_variables
def read_batch_features(
    file_pattern: Any, batch_size: Any, features: Any, reader: Callable[[], Any],
    randomize_input: bool = True, num_epochs: int | None = None, queue_capacity: int = 10000,
    feature_queue_capacity: int = 100, reader_num_threads: int = 1, num_enqueue_threads: int = 2,
    parse_fn: Callable[[Any], Any] | None = None, name: str | None = None,
    read_batch_size: int | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The features of records of files, in batches. Arguments are described at the head of the
    module; without read_batch_size it is batch_size.

    Returns:
        by name, a tensor or SparseTensor of a batch.

    Raises:
        ValueError: as read_batch_examples.
    """
    found: dict[str, Any] = read_keyed_batch_features(
        file_pattern, batch_size, features, reader, randomize_input, num_epochs, queue_capacity,
        reader_num_threads, feature_queue_capacity, num_enqueue_threads, parse_fn, name,
        read_batch_size,
    )[1]  # fmt: skip
    return found


@api_guard.makes_variables
def read_keyed_batch_features(
    file_pattern: Any, batch_size: Any, features: Any, reader: Callable[[], Any],
    randomize_input: bool = True, num_epochs: int | None = None, queue_capacity: int = 10000,
    reader_num_threads: int = 1, feature_queue_capacity: int = 100, num_enqueue_threads: int = 2,
    parse_fn: Callable[[Any], Any] | None = None, name: str | None = None,
    read_batch_size: int | None = None,
) -> tuple[Any, dict[str, Any]]:  # fmt: skip
    """As read_batch_features, with the names that the reader gives records.

    Returns:
        the names, strings [batch_size], and the features.
    """
    with name_scope(name, "read_batch_features", [file_pattern]) as scope:
        keys, records = read_keyed_batch_examples(
            file_pattern, batch_size, reader, randomize_input, num_epochs, queue_capacity,
            reader_num_threads, batch_size if read_batch_size is None else read_batch_size,
            parse_fn, name=scope,
        )  # fmt: skip
        return queue_parsed_features(
            parse_example(records, features), keys, feature_queue_capacity, num_enqueue_threads,
            name=scope,
        )  # fmt: skip


@api_guard.makes_variables
def read_keyed_batch_features_shared_queue(
    file_pattern: Any, batch_size: Any, features: Any, reader: Callable[[], Any],
    randomize_input: bool = True, num_epochs: int | None = None, queue_capacity: int = 10000,
    reader_num_threads: int = 1, feature_queue_capacity: int = 100, num_queue_runners: int = 2,
    parse_fn: Callable[[Any], Any] | None = None, name: str | None = None,
) -> tuple[Any, dict[str, Any]]:  # fmt: skip
    """As read_keyed_batch_features, of files as those of read_keyed_batch_examples_shared_queue.

    Args:
        num_queue_runners: threads that fill the queue of parsed features.
    """
    with name_scope(name, "read_batch_features", [file_pattern]) as scope:
        keys, records = read_keyed_batch_examples_shared_queue(
            file_pattern, batch_size, reader, randomize_input, num_epochs, queue_capacity,
            reader_num_threads, batch_size, parse_fn, name=scope,
        )  # fmt: skip
        return queue_parsed_features(
            parse_example(records, features), keys, feature_queue_capacity, num_queue_runners,
            name=scope,
        )  # fmt: skip


@api_guard.makes_variables
def read_batch_record_features(
    file_pattern: Any, batch_size: Any, features: Any, randomize_input: bool = True,
    num_epochs: int | None = None, queue_capacity: int = 10000, reader_num_threads: int = 1,
    name: str = "dequeue_record_examples",
) -> dict[str, Any]:  # fmt: skip
    """read_batch_features of files of records."""
    return read_batch_features(
        file_pattern, batch_size, features, TFRecordReader, randomize_input, num_epochs,
        queue_capacity, reader_num_threads=reader_num_threads, name=name,
    )  # fmt: skip


class _Position(NamedTuple):
    """Where the tensors of a feature are in the queue's elements."""

    name: str
    parts: int


@api_guard.makes_variables
def queue_parsed_features(
    parsed_features: dict[str, Any], keys: Any = None, feature_queue_capacity: int = 100,
    num_enqueue_threads: int = 2, name: str | None = None,
) -> tuple[Any, dict[str, Any]]:  # fmt: skip
    """Puts batches of features through a queue, so that they are parsed before they are needed.

    Args:
        parsed_features: by name, a tensor or SparseTensor.
        keys: the names of the records; None: none.

    Returns:
        keys and features as the queue gives them.
    """
    given = [*parsed_features.values(), *([] if keys is None else [keys])]
    with name_scope(name, "queue_parsed_features", given):
        parts: list[Any] = []
        positions = []
        for key in sorted(parsed_features):
            value = parsed_features[key]
            is_sparse = isinstance(value, SparseTensor)
            own = [value.indices, value.values, value.dense_shape] if is_sparse else [value]
            positions.append(_Position(key, len(own)))
            parts += own
        if keys is not None:
            parts.append(keys)
        queue = FIFOQueue(feature_queue_capacity, [part.dtype for part in parts])
        filled = elementwise.cast(queue.size(), dtypes.float32) * (1.0 / feature_queue_capacity)
        scalar(
            f"queue/parsed_features/{queue.name}/fraction_of_{feature_queue_capacity}_full", filled
        )
        enqueues = [queue.enqueue(parts) for _ in range(num_enqueue_threads)]
        closed = (errors.OutOfRangeError, errors.CancelledError)
        add_queue_runner(QueueRunner(queue, enqueues, queue_closed_exception_types=closed))
        taken = queue.dequeue()
        taken = taken if isinstance(taken, list) else [taken]
        for one, part in zip(taken, parts, strict=True):
            one.set_shape(part.shape)
        return (None if keys is None else taken[-1]), _features(taken, positions)


def _features(taken: list[Any], positions: list[_Position]) -> dict[str, Any]:
    found, at = {}, 0
    for position in positions:
        own = taken[at : at + position.parts]
        found[position.name] = SparseTensor(*own) if position.parts > 1 else own[0]
        at += position.parts
    return found
