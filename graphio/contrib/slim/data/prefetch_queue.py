"""A queue of batches that are made in advance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphio.contrib.slim.data.parallel_reader import summarize
from graphio.framework.constants import convert_to_tensor
from graphio.ops.base.emit import scope
from graphio.queues.queue_ops import FIFOQueue, PaddingFIFOQueue, QueueBase
from graphio.queues.queue_runner import QueueRunner, add_queue_runner
from graphio.support import api_guard

__all__ = ["prefetch_queue"]


@api_guard.guarded
def prefetch_queue(
    tensors: Sequence[Any] | Mapping[str, Any],
    capacity: int = 8,
    num_threads: int = 1,
    dynamic_pad: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> QueueBase:
    """A queue that threads fill with tensors; its runner joins the collection QUEUE_RUNNERS.

    Args:
        tensors: list, or dict: then the queue's elements are dicts.
        capacity: the most elements.
        num_threads: how many threads.
        dynamic_pad: whether sizes of the tensors may be unknown.
        shared_name: queues of one name are one in a session; None: it is separate.
        name: name scope; None: prefetch_queue.

    Raises:
        ValueError: a shape is not known and dynamic_pad is False.
    """
    names = sorted(tensors) if isinstance(tensors, Mapping) else None
    listed = [tensors[n] for n in names] if isinstance(tensors, Mapping) and names else tensors
    with scope(name, "prefetch_queue"):
        converted = [convert_to_tensor(tensor) for tensor in listed]
        kinds, shapes = [t.dtype for t in converted], [t.shape for t in converted]
        make = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queue: QueueBase = make(capacity, kinds, shapes, names=names, shared_name=shared_name)
        given = converted if names is None else dict(zip(names, converted, strict=True))
        add_queue_runner(QueueRunner(queue, [queue.enqueue(given)] * num_threads))
        summarize(queue, capacity)
        return queue
