"""tf.train.batch and its relatives: threads put examples into a queue, batches come out of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.framework.indexed_slices import convert_to_tensor_or_indexed_slices
from graphio.framework.sparse_tensor import SparseTensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.array.scattering import dynamic_partition
from graphio.ops.base.emit import scope
from graphio.ops.control_flow.branches import no_op, smart_cond
from graphio.ops.math import elementwise
from graphio.queues.queue_ops import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from graphio.queues.queue_runner import QueueRunner, add_queue_runner
from graphio.queues.sparse_elements import pack, pack_rows, unpack
from graphio.summary.ops import scalar
from graphio.support import api_guard

__all__ = [
    "batch",
    "batch_join",
    "maybe_batch",
    "maybe_batch_join",
    "maybe_shuffle_batch",
    "maybe_shuffle_batch_join",
    "shuffle_batch",
    "shuffle_batch_join",
]


@dataclass(frozen=True)
class _Settings:
    """The arguments that the functions have in common.

    Attributes:
        scope: the default name scope.
        batch_size, capacity, enqueue_many, shapes, allow_smaller_final_batch, shared_name, name,
            keep_input: arguments of the functions.
        threads: how many threads run each operation that enqueues.
        dynamic_pad: of those that do not shuffle.
        least: min_after_dequeue of those that shuffle; None: of the others.
        seed: of those that shuffle.
    """

    scope: str
    batch_size: Any
    capacity: int
    enqueue_many: bool
    shapes: Any
    allow_smaller_final_batch: bool
    shared_name: str | None
    name: str | None
    keep_input: Any = True
    threads: int = 1
    dynamic_pad: bool = False
    least: int | None = None
    seed: int | None = None

    def queue(self, kinds: list[DType], shapes: Any) -> QueueBase:
        """The queue between."""
        if self.least is not None:
            return RandomShuffleQueue(
                self.capacity, self.least, kinds, shapes, seed=self.seed,
                shared_name=self.shared_name,
            )  # fmt: skip
        kind = PaddingFIFOQueue if self.dynamic_pad else FIFOQueue
        return kind(self.capacity, kinds, shapes, shared_name=self.shared_name)

    def summarize(self, queue: QueueBase) -> None:
        """Adds a summary of how full the queue is."""
        least, size = self.least, queue.size()
        if least is None:
            share = elementwise.cast(size, dtypes.float32) * (1.0 / self.capacity)
            scalar(f"fraction_of_{self.capacity}_full", share)
            return
        above = self.capacity - least
        found = elementwise.cast(elementwise.maximum(0, size - least), dtypes.float32)
        scalar(f"fraction_over_{least}_of_{above}_full", found * (1.0 / above))


def _batched(tensors_list: Sequence[Any], settings: _Settings) -> Any:
    """Batches of examples, which come from one set of tensors or more."""
    if not tensors_list:
        raise ValueError("Expected at least one set of tensors")
    first = tensors_list[0]
    listed = [_listed(tensors, first) for tensors in tensors_list]
    with scope(settings.name, settings.scope) as at:
        if settings.least is not None and settings.capacity <= settings.least:
            raise ValueError(
                f"capacity {settings.capacity} must be bigger than min_after_dequeue "
                f"{settings.least}."
            )
        sets = [[_converted(t) for t in tensors] for tensors in listed]
        if not sets[0]:
            raise ValueError(f"Expected at least one tensor in {settings.scope}().")
        keep = _checked_keep(settings)
        sparse = [t if isinstance(t, SparseTensor) else None for t in sets[0]]
        stored = [_stored(tensors, sparse, settings.enqueue_many) for tensors in sets]
        queue = settings.queue(_common_dtypes(stored), _common_shapes(stored, settings))
        _fill(queue, stored, keep, settings)
        settings.summarize(queue)
        take = queue.dequeue_up_to if settings.allow_smaller_final_batch else queue.dequeue_many
        taken = take(settings.batch_size, name=at)
        found = taken if isinstance(taken, list) else [taken]
        results = [
            t if s is None else unpack(t, s.dtype, _rank(s, settings.enqueue_many))
            for t, s in zip(found, sparse, strict=True)
        ]
    if isinstance(first, dict):
        return dict(zip(sorted(first, key=str), results, strict=True))
    return results if len(results) > 1 else results[0]


def _converted(given: Any) -> Any:
    return given if isinstance(given, SparseTensor) else convert_to_tensor_or_indexed_slices(given)


def _listed(tensors: Any, like: Any) -> list[Any]:
    """The tensors of a list or dict in order; the keys must be those of another one."""
    if not isinstance(like, dict):
        return list(tensors)
    if set(tensors) != set(like):
        raise ValueError("All dictionaries in tensors_list must have the same keys")
    return [tensors[key] for key in sorted(tensors, key=str)]


def _rank(sparse: SparseTensor, rows: bool) -> int | None:
    known = sparse.dense_shape.shape.with_rank(1).as_list()[0]
    return None if known is None else known - rows


def _checked_keep(settings: _Settings) -> Tensor:
    keep = convert_to_tensor(settings.keep_input)
    if keep.shape.ndims is None:
        raise ValueError("`keep_input` dimensions must be known at graph construction.")
    if not settings.enqueue_many and keep.shape.ndims == 1:
        raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    if keep.shape.ndims > 1:
        raise ValueError("`keep_input` must be 0 or 1 dimensions.")
    return keep


def _stored(tensors: list[Any], like: Sequence[Any], rows: bool) -> list[Tensor]:
    """The tensors as the queue holds them: SparseTensors are strings there."""
    for tensor, sparse in zip(tensors, like, strict=True):
        if isinstance(tensor, SparseTensor) != (sparse is not None):
            raise ValueError(f"Inconsistent SparseTensors list: {tensors} vs. {list(like)}")
        if sparse is not None and tensor.dtype != sparse.dtype:
            raise TypeError(
                f"Expected types to be consistent: {sparse.dtype.name} vs. {tensor.dtype.name}."
            )
        if sparse is not None and not tensor.dense_shape.shape.is_compatible_with(
            sparse.dense_shape.shape
        ):
            raise ValueError(f"SparseMetaData objects are incompatible: {sparse} vs. {tensor}")
    store = pack_rows if rows else pack
    return [store(t) if isinstance(t, SparseTensor) else t for t in tensors]


def _common_dtypes(sets: Sequence[Sequence[Tensor]]) -> list[DType]:
    found = [[t.dtype.base_dtype for t in tensors] for tensors in sets]
    for other in found[1:]:
        if other != found[0]:
            one, two = (", ".join(kind.name for kind in kinds) for kinds in (found[0], other))
            raise TypeError(f"Expected types to be consistent: {one} vs. {two}.")
    return found[0]


def _common_shapes(sets: Sequence[Sequence[Tensor]], settings: _Settings) -> Any:
    """The shapes of an example's components."""
    if settings.shapes is not None:
        return settings.shapes
    return [_common_shape(tensors, settings.enqueue_many) for tensors in zip(*sets, strict=True)]


def _common_shape(tensors: Sequence[Tensor], rows: bool) -> TensorShape:
    for tensor in tensors:
        if tensor.shape.ndims is None:
            raise ValueError(f"Cannot infer Tensor's rank: {tensor}")
    shapes = [t.shape.with_rank_at_least(1)[1:] if rows else t.shape for t in tensors]
    for shape in shapes[1:]:
        shapes[0].merge_with(shape)  # refuses one that does not fit
    return TensorShape(shapes[0].as_list())


def _fill(
    queue: QueueBase, sets: Sequence[list[Tensor]], keep: Tensor, settings: _Settings
) -> None:
    """Adds the QueueRunner."""
    operations = [
        _enqueued(queue.enqueue_many if settings.enqueue_many else queue.enqueue, tensors, keep)
        for tensors in sets
    ]
    add_queue_runner(QueueRunner(queue, operations * settings.threads))


def _enqueued(enqueue: Callable[..., Any], tensors: list[Tensor], keep: Tensor) -> Any:
    if keep.shape.ndims == 1:
        side = elementwise.cast(keep, dtypes.int32)
        return enqueue([dynamic_partition(tensor, side, 2)[1] for tensor in tensors])
    return smart_cond(keep, lambda: enqueue(tensors), no_op)


@api_guard.makes_variables
def batch(
    tensors: Any, batch_size: Any, num_threads: int = 1, capacity: int = 32,
    enqueue_many: bool = False, shapes: Any = None, dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False, shared_name: str | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Batches of examples, which threads of start_queue_runners compute in advance.

    Args:
        tensors: list or dict of the tensors, or SparseTensors, of an example.
        batch_size: how many examples, an integer or a scalar tensor.
        num_threads: how many threads; with more than one the order is not fixed.
        capacity: how many examples the queue holds.
        enqueue_many: True: the tensors' first dimension counts examples.
        shapes: of an example's tensors; None: as the tensors have them.
        dynamic_pad: True: tensors of a batch are filled up with zeros to the same shape.
        allow_smaller_final_batch: True: the last batch may have fewer examples.
        shared_name: of the queue.
        name: of the operations.

    Returns:
        The batches of the tensors in a list or dict; a tensor where there is one.

    Raises:
        ValueError: there is no tensor, or a shape is not known.
        OutOfRangeError: of the run: the data has ended.
    """
    return _batched([tensors], _Settings(
        "batch", batch_size, capacity, enqueue_many, shapes, allow_smaller_final_batch,
        shared_name, name, threads=num_threads, dynamic_pad=dynamic_pad,
    ))  # fmt: skip


@api_guard.makes_variables
def maybe_batch(
    tensors: Any, keep_input: Any, batch_size: Any, num_threads: int = 1, capacity: int = 32,
    enqueue_many: bool = False, shapes: Any = None, dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False, shared_name: str | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """As batch, of the examples for which keep_input is true: a bool scalar, or a vector with
    enqueue_many."""
    return _batched([tensors], _Settings(
        "batch", batch_size, capacity, enqueue_many, shapes, allow_smaller_final_batch,
        shared_name, name, keep_input, num_threads, dynamic_pad,
    ))  # fmt: skip


@api_guard.makes_variables
def batch_join(
    tensors_list: Sequence[Any], batch_size: Any, capacity: int = 32, enqueue_many: bool = False,
    shapes: Any = None, dynamic_pad: bool = False, allow_smaller_final_batch: bool = False,
    shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """As batch, of examples from several lists or dicts of tensors, with a thread for each.

    Args:
        tensors_list: list of lists or dicts as batch's tensors, of the same dtypes.
        batch_size, capacity, enqueue_many, shapes, dynamic_pad, allow_smaller_final_batch,
            shared_name, name: as batch's.

    Raises:
        As batch; TypeError: dtypes differ.
    """
    return _batched(tensors_list, _Settings(
        "batch_join", batch_size, capacity, enqueue_many, shapes, allow_smaller_final_batch,
        shared_name, name, dynamic_pad=dynamic_pad,
    ))  # fmt: skip


@api_guard.makes_variables
def maybe_batch_join(
    tensors_list: Sequence[Any], keep_input: Any, batch_size: Any, capacity: int = 32,
    enqueue_many: bool = False, shapes: Any = None, dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False, shared_name: str | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """As batch_join, of the examples for which keep_input is true; see maybe_batch."""
    return _batched(tensors_list, _Settings(
        "batch_join", batch_size, capacity, enqueue_many, shapes, allow_smaller_final_batch,
        shared_name, name, keep_input, dynamic_pad=dynamic_pad,
    ))  # fmt: skip


@api_guard.makes_variables
def shuffle_batch(
    tensors: Any, batch_size: Any, capacity: int, min_after_dequeue: int, num_threads: int = 1,
    seed: int | None = None, enqueue_many: bool = False, shapes: Any = None,
    allow_smaller_final_batch: bool = False, shared_name: str | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """As batch, in a random order.

    Args:
        min_after_dequeue: how many examples stay in the queue, so that the order is random.
        seed: of the order. With one thread it gives the same order each time, not TensorFlow's.
        tensors, batch_size, capacity, num_threads, enqueue_many, shapes,
            allow_smaller_final_batch, shared_name, name: as batch's.

    Raises:
        As batch; ValueError: capacity is not more than min_after_dequeue.
    """
    return _batched([tensors], _Settings(
        "shuffle_batch", batch_size, capacity, enqueue_many, shapes, allow_smaller_final_batch,
        shared_name, name, threads=num_threads, least=min_after_dequeue, seed=seed,
    ))  # fmt: skip


@api_guard.makes_variables
def maybe_shuffle_batch(
    tensors: Any, batch_size: Any, capacity: int, min_after_dequeue: int, keep_input: Any,
    num_threads: int = 1, seed: int | None = None, enqueue_many: bool = False, shapes: Any = None,
    allow_smaller_final_batch: bool = False, shared_name: str | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """As shuffle_batch, of the examples for which keep_input is true; see maybe_batch."""
    return _batched([tensors], _Settings(
        "shuffle_batch", batch_size, capacity, enqueue_many, shapes, allow_smaller_final_batch,
        shared_name, name, keep_input, num_threads, least=min_after_dequeue, seed=seed,
    ))  # fmt: skip


@api_guard.makes_variables
def shuffle_batch_join(
    tensors_list: Sequence[Any], batch_size: Any, capacity: int, min_after_dequeue: int,
    seed: int | None = None, enqueue_many: bool = False, shapes: Any = None,
    allow_smaller_final_batch: bool = False, shared_name: str | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """As batch_join, in a random order; see shuffle_batch."""
    return _batched(tensors_list, _Settings(
        "shuffle_batch_join", batch_size, capacity, enqueue_many, shapes,
        allow_smaller_final_batch, shared_name, name, least=min_after_dequeue, seed=seed,
    ))  # fmt: skip


@api_guard.makes_variables
def maybe_shuffle_batch_join(
    tensors_list: Sequence[Any], batch_size: Any, capacity: int, min_after_dequeue: int,
    keep_input: Any, seed: int | None = None, enqueue_many: bool = False, shapes: Any = None,
    allow_smaller_final_batch: bool = False, shared_name: str | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """As shuffle_batch_join, of the examples for which keep_input is true; see maybe_batch."""
    return _batched(tensors_list, _Settings(
        "shuffle_batch_join", batch_size, capacity, enqueue_many, shapes,
        allow_smaller_final_batch, shared_name, name, keep_input, least=min_after_dequeue,
        seed=seed,
    ))  # fmt: skip
