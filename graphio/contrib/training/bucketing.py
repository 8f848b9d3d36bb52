"""Batches of examples that are alike: each comes from one of several queues, the buckets."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Operation, Tensor
from graphio.framework.sparse_tensor import SparseTensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.base.emit import scope
from graphio.ops.control_flow.branches import cond, group, no_op, smart_cond
from graphio.ops.math import comparison, elementwise
from graphio.ops.math.reduction import argmax
from graphio.queues.queue_ops import FIFOQueue, PaddingFIFOQueue, QueueBase
from graphio.queues.queue_runner import QueueRunner, add_queue_runner
from graphio.queues.sparse_elements import pack, unpack
from graphio.summary.ops import scalar
from graphio.support import api_guard, errors

__all__ = ["bucket", "bucket_by_sequence_length"]

_ENDS = (errors.OutOfRangeError, errors.CancelledError)


@api_guard.makes_variables
def bucket(
    tensors: Any,
    which_bucket: Any,
    batch_size: Any,
    num_buckets: int,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Tensor, Any]:
    """Batches of examples of one bucket each; their runners join the collection QUEUE_RUNNERS.

    Args:
        tensors: list or dict of the tensors of an example.
        which_bucket: int32 scalar: the example's bucket.
        batch_size: how many examples; a list: in each bucket.
        num_buckets: how many buckets.
        num_threads: how many threads put examples into buckets.
        capacity: how many batches wait, and how many examples in a bucket by default.
        bucket_capacities: list of how many examples wait in each bucket.
        shapes: of an example's tensors; None: as the tensors have them.
        dynamic_pad: True: tensors of a batch are filled up with zeros to the same shape.
        allow_smaller_final_batch: True: the last batches may have fewer examples.
        keep_input: bool scalar: whether the example is taken.
        shared_name: of the queues.
        name: name scope.

    Returns:
        The bucket, an int32 scalar, and the batches of the tensors as a list or dict; a tensor
        where there is one.

    Raises:
        ValueError: there is no tensor, a shape is not known, or a list has not num_buckets
            elements.
        OutOfRangeError: of the run: the data has ended.
    """
    if isinstance(batch_size, (list, tuple)) and len(batch_size) != num_buckets:
        raise ValueError("If batch_size is a list it must have num_buckets elements")
    sizes = (
        list(batch_size) if isinstance(batch_size, (list, tuple)) else [batch_size] * num_buckets
    )
    capacities = [capacity] * num_buckets if bucket_capacities is None else list(bucket_capacities)
    if len(capacities) != num_buckets:
        raise ValueError(
            f"The list bucket_capacities ({capacities}) must have exactly num_buckets "
            f"({num_buckets}) elements."
        )
    listed = _listed(tensors)
    if not listed:
        raise ValueError("Expected at least one tensor in bucket().")
    with scope(name, "bucket"):
        stored = [pack(t) if isinstance(t, SparseTensor) else convert_to_tensor(t) for t in listed]
        kinds = [t.dtype.base_dtype for t in stored]
        known = [t.shape for t in stored] if shapes is None else [TensorShape(s) for s in shapes]
        make = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queues: list[QueueBase] = [
            make(
                capacities[i], kinds, known, name=f"bucket_queue_{i}",
                shared_name=None if shared_name is None else f"{shared_name}_{i}",
            )
            for i in range(num_buckets)
        ]  # fmt: skip
        varies = allow_smaller_final_batch or isinstance(batch_size, (list, tuple))
        rows = TensorShape([None if varies else _static(batch_size)])
        top = PaddingFIFOQueue(
            capacity, [dtypes.int32, *kinds],
            [TensorShape([]), *(rows.concatenate(shape) for shape in queues[0].shapes)],
            shared_name=shared_name, name="top_queue",
        )  # fmt: skip
        chosen = convert_to_tensor(which_bucket, dtypes.int32, name="which_bucket")
        added = smart_cond(keep_input, lambda: _put(queues, chosen, stored), no_op)
        moved = [
            top.enqueue([constant(i), *_taken(queue, size, allow_smaller_final_batch, i)],
                        name=f"enqueue_from_bucket_{i}")
            for i, (queue, size) in enumerate(zip(queues, sizes, strict=True))
        ]  # fmt: skip
        _run(top, queues, moved, [added] * num_threads)
        _summarize(top, queues, capacity)
        found = top.dequeue(name="dequeue_top")
    return found[0], _like(tensors, _restored(found[1:], listed))


def _listed(tensors: Any) -> list[Any]:
    if isinstance(tensors, Mapping):
        return [tensors[key] for key in sorted(tensors, key=str)]
    return list(tensors)


def _like(tensors: Any, found: list[Any]) -> Any:
    if isinstance(tensors, Mapping):
        return dict(zip(sorted(tensors, key=str), found, strict=True))
    return found if len(found) > 1 else found[0]


def _restored(found: Sequence[Tensor], listed: Sequence[Any]) -> list[Any]:
    """Sparse tensors where the examples have some."""
    return [
        unpack(t, given.dtype, given.dense_shape.shape.as_list()[0])
        if isinstance(given, SparseTensor)
        else t
        for t, given in zip(found, listed, strict=True)
    ]


def _static(size: Any) -> int | None:
    found = constant_value(size) if isinstance(size, Tensor) else size
    return None if found is None else int(found)


def _put(queues: Sequence[QueueBase], chosen: Tensor, stored: Sequence[Tensor]) -> Operation:
    """Puts an example into its bucket."""
    puts = [
        cond(comparison.equal(chosen, i), functools.partial(queue.enqueue, list(stored)), no_op)
        for i, queue in enumerate(queues)
    ]
    return group(*puts, name="group_enqueues")


def _taken(queue: QueueBase, size: Any, up_to: bool, number: int) -> list[Tensor]:
    take = queue.dequeue_up_to if up_to else queue.dequeue_many
    found = take(size, name=f"read_bucket_{number}")
    return list(found) if isinstance(found, (list, tuple)) else [found]


def _run(top: QueueBase, queues: Sequence[QueueBase], moved: list[Any], added: list[Any]) -> None:
    """Adds the runners: of the buckets' batches, and of the examples."""
    add_queue_runner(
        QueueRunner(
            queues[0], moved, close_op=top.close(),
            cancel_op=top.close(cancel_pending_enqueues=True), queue_closed_exception_types=_ENDS,
        )
    )  # fmt: skip
    add_queue_runner(
        QueueRunner(
            top, added, close_op=group(*[queue.close() for queue in queues]),
            cancel_op=group(*[queue.close(cancel_pending_enqueues=True) for queue in queues]),
            queue_closed_exception_types=_ENDS,
        )
    )  # fmt: skip


def _summarize(top: QueueBase, queues: Sequence[QueueBase], capacity: int) -> None:
    for queue in queues:
        scalar(f"bucket/{queue.name}/size", elementwise.cast(top.size(), dtypes.float32))
    share = elementwise.cast(top.size(), dtypes.float32) * (1.0 / capacity)
    scalar(f"bucket/{top.name}/fraction_of_{capacity}_full", share)


@api_guard.makes_variables
def bucket_by_sequence_length(
    input_length: Any,
    tensors: Any,
    batch_size: Any,
    bucket_boundaries: Sequence[int],
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Tensor, Any]:
    """Batches of sequences of similar lengths, by bucket.

    Args:
        input_length: int32 scalar: the example's length.
        bucket_boundaries: increasing integers: the first bucket has lengths below the first one,
            the last those from the last one on.
        others: as bucket's.

    Returns:
        The lengths, an int32 vector, and the batches of the tensors, as bucket's.

    Raises:
        TypeError, ValueError: bucket_boundaries are not such a list; as bucket.
    """
    _check_boundaries(bucket_boundaries)
    with scope(name, "bucket_by_sequence_length"):
        length = convert_to_tensor(input_length, dtypes.int32, name="input_length")
        limits = [*bucket_boundaries, np.iinfo(np.int32).max]
        inside = comparison.less(length, constant(np.array(limits, np.int32)))
        which = argmax(elementwise.cast(inside, dtypes.int32), 0, output_type=dtypes.int32)
        _, found = bucket(
            [length, *_listed(tensors)], which, batch_size, len(limits), num_threads, capacity,
            bucket_capacities, None if shapes is None else [TensorShape([]), *shapes], dynamic_pad,
            allow_smaller_final_batch, keep_input, shared_name,
        )  # fmt: skip
        return found[0], _like(tensors, found[1:])


def _check_boundaries(boundaries: Any) -> None:
    if not isinstance(boundaries, (list, tuple)):
        raise TypeError(f"bucket_boundaries must be a list or tuple, but received: {boundaries}")
    if not boundaries:
        raise ValueError("bucket_boundaries must not be empty")
    for one, two in zip(boundaries, boundaries[1:], strict=False):
        if not isinstance(one, int) or not isinstance(two, int):
            raise TypeError(f"bucket boundaries must be integers, but saw: {one} and {two}")
        if one >= two:
            raise ValueError(
                f"Buckets must contain sequential increasing lengths, but saw: {one} before {two}"
            )
