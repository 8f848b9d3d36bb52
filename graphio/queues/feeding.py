"""FeedingQueueRunner: threads that fill a queue with values that Python functions give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from graphio.framework import api_boundary
from graphio.queues.queue_runner import QueueRunner
from graphio.support import errors

__all__ = ["FeedingQueueRunner"]


class FeedingQueueRunner(QueueRunner):
    """A QueueRunner each of whose runs feeds values.

    Args:
        queue, enqueue_ops, close_op, cancel_op: as QueueRunner's.
        feed_fns: for each of enqueue_ops a function without arguments, called before each run; it
            gives the run's feeds, tensor to value, or raises an OutOfRangeError when the data has
            ended. None: nothing is fed.
        queue_closed_exception_types: as QueueRunner's; None: OutOfRangeError, CancelledError.

    Raises:
        ValueError, TypeError: as QueueRunner; feed_fns has another length than enqueue_ops.
        NotImplementedError: of to_proto: functions have no such form.

    Example:
        >>> x = tf.placeholder(tf.float32, [])
        >>> queue = tf.FIFOQueue(2, tf.float32, [[]])
        >>> runner = tf.contrib.training.FeedingQueueRunner(
        ...     queue, [queue.enqueue(x)], feed_fns=[lambda: {x: 3.0}])
        >>> tf.train.add_queue_runner(runner)
    """

    @api_boundary.rolling_back
    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Sequence[Any] | None = None,
        close_op: Any = None,
        cancel_op: Any = None,
        feed_fns: Sequence[Callable[[], Mapping[Any, Any]] | None] | None = None,
        queue_closed_exception_types: Any = None,
    ) -> None:
        if queue_closed_exception_types is None:
            queue_closed_exception_types = (errors.OutOfRangeError, errors.CancelledError)
        super().__init__(queue, enqueue_ops, close_op, cancel_op, queue_closed_exception_types)
        if feed_fns is not None and len(feed_fns) != len(self.enqueue_ops):
            raise ValueError(
                f"feed_fns has {len(feed_fns)} functions, expected one for each of the "
                f"{len(self.enqueue_ops)} enqueue_ops"
            )
        self._feed_fns = list(feed_fns or [None] * len(self.enqueue_ops))

    def _enqueuer(self, sess: Any, number: int) -> Callable[[], Any]:
        feeds = self._feed_fns[number]
        if feeds is None:
            return super()._enqueuer(sess, number)
        operation = self.enqueue_ops[number]
        return lambda: sess.run(operation, feed_dict=feeds())

    def to_proto(self, export_scope: str | None = None) -> NoReturn:
        """Raises NotImplementedError: functions have no such form."""
        raise NotImplementedError(
            f"{type(self).__name__} does not support serialization to proto: its feed_fns are "
            "Python functions"
        )
