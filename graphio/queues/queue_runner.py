"""QueueRunner: threads that fill a queue by running operations again and again."""

from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from graphio.execution.session import Session, get_default_session
from graphio.framework import api_boundary, scopes
from graphio.framework.collections import GraphKeys
from graphio.framework.graph import Operation
from graphio.model import registered
from graphio.support import api_guard, errors, logging

__all__ = ["QueueRunner", "QueueRunnerDef", "add_queue_runner", "start_queue_runners"]

#: the classes of sessions that start the runners themselves, by name as in TensorFlow
_STARTED = ("MonitoredSession", "SingularMonitoredSession")


@dataclass
class QueueRunnerDef:
    """A QueueRunner as names of operations.

    Attributes:
        queue_name, close_op_name, cancel_op_name: of its operations.
        enqueue_op_name: list of them.
        queue_closed_exception_types: list of error codes.
    """

    queue_name: str = ""
    enqueue_op_name: list[str] = field(default_factory=list)
    close_op_name: str = ""
    cancel_op_name: str = ""
    queue_closed_exception_types: list[int] = field(default_factory=list)


class QueueRunner:
    """Threads that fill a queue, one for each operation that enqueues.

    Args:
        queue: a queue.
        enqueue_ops: list of operations to run.
        close_op: closes the queue when the data has ended; None: queue.close().
        cancel_op: closes it when a coordinator stops; None: queue.close with its pending enqueues
            cancelled.
        queue_closed_exception_types: tuple of error classes that say that the data has ended; None:
            OutOfRangeError.
        queue_runner_def: a QueueRunnerDef, instead of all these.
        import_scope: name scope of that one's operations.

    Raises:
        ValueError: queue or enqueue_ops is missing, or given besides queue_runner_def.
        TypeError: queue_closed_exception_types is not a tuple of tf.errors' classes.
    """

    @api_boundary.rolling_back
    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Sequence[Any] | None = None,
        close_op: Any = None,
        cancel_op: Any = None,
        queue_closed_exception_types: Any = None,
        queue_runner_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if queue_runner_def:
            if queue or enqueue_ops:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            self._read(queue_runner_def, import_scope)
        else:
            if not queue or not enqueue_ops:
                raise ValueError("Must provide queue and enqueue_ops.")
            self._closed_types = _closed_types(queue_closed_exception_types)
            self._queue: Any = queue
            self._enqueue_ops = list(enqueue_ops)
            self._close_op = queue.close() if close_op is None else close_op
            self._cancel_op = (
                queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
            )
        self._lock = threading.Lock()
        #: threads that run, by session
        self._running: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._exceptions_raised: list[Exception] = []

    def _read(self, given: QueueRunnerDef, import_scope: str | None) -> None:
        graph = scopes.get_default_graph()

        def find(name: str) -> Any:
            return graph.as_graph_element(f"{import_scope}/{name}" if import_scope else name)

        self._queue = find(given.queue_name)
        self._enqueue_ops = [find(name) for name in given.enqueue_op_name]
        self._close_op, self._cancel_op = find(given.close_op_name), find(given.cancel_op_name)
        classes = tuple(errors.BY_CODE[code] for code in given.queue_closed_exception_types)
        self._closed_types = classes or (errors.OutOfRangeError,)

    @property
    def queue(self) -> Any:
        """The queue."""
        return self._queue

    @property
    def enqueue_ops(self) -> list[Any]:
        """The operations that the threads run."""
        return self._enqueue_ops

    @property
    def close_op(self) -> Any:
        """The operation that runs when the data has ended."""
        return self._close_op

    @property
    def cancel_op(self) -> Any:
        """The operation that runs when a coordinator stops."""
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> tuple[type[errors.OpError], ...]:
        """The errors that say that the data has ended."""
        return self._closed_types

    @property
    def exceptions_raised(self) -> list[Exception]:
        """The errors of threads that have no coordinator."""
        return self._exceptions_raised

    @property
    def name(self) -> str:
        """The queue's name."""
        name: str = self._queue.name
        return name

    def create_threads(
        self, sess: Any, coord: Any = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Threads that run the operations until the data ends or the coordinator stops.

        Args:
            sess: a session; it has one set of threads at a time.
            coord: a Coordinator that stops them and gets their errors, None: there is none.
            daemon: whether they may be left behind by the program's end.
            start: whether they are started.

        Returns:
            One for each operation, and with coord one that closes the queue when it stops; none
            if those that were made before for the session still run.
        """
        with self._lock:
            if self._running.get(sess, 0) > 0:
                return []
            self._running[sess] = len(self._enqueue_ops)
            self._exceptions_raised = []
        threads = [
            threading.Thread(
                target=self._run,
                args=(sess, number, coord),
                name=f"QueueRunnerThread-{self.name}-{op.name}",
            )
            for number, op in enumerate(self._enqueue_ops)
        ]
        if coord is not None:
            name = f"QueueRunnerThread-{self.name}-close_on_stop"
            threads.append(
                threading.Thread(target=self._close_on_stop, args=(sess, coord), name=name)
            )
        for thread in threads:
            if coord is not None:
                coord.register_thread(thread)
            thread.daemon = thread.daemon or daemon
            if start:
                thread.start()
        return threads

    def _enqueuer(self, sess: Any, number: int) -> Callable[[], Any]:
        """The call that runs the operation of this number once."""
        call: Callable[[], Any] = sess.make_callable(self._enqueue_ops[number])
        return call

    def _run(self, sess: Any, number: int, coord: Any) -> None:
        """The body of a thread."""
        ended = False
        try:
            call = self._enqueuer(sess, number)
            while coord is None or not coord.should_stop():
                try:
                    call()
                except self._closed_types:
                    ended = True
                    self._leave(sess, close=True)
                    return
        except Exception as error:
            if coord is not None:
                coord.request_stop(error)
            else:
                logging.error("Exception in QueueRunner: %s", str(error))
                with self._lock:
                    self._exceptions_raised.append(error)
                raise
        finally:
            if not ended:
                self._leave(sess, close=False)

    def _leave(self, sess: Any, close: bool) -> None:
        """Notes the end of a thread; the last one whose data has ended closes the queue."""
        with self._lock:
            self._running[sess] -= 1
            if not close or self._running[sess]:
                return
            _try_to_run(sess, self._close_op)

    def _close_on_stop(self, sess: Any, coord: Any) -> None:
        coord.wait_for_stop()
        _try_to_run(sess, self._cancel_op)

    def to_proto(self, export_scope: str | None = None) -> QueueRunnerDef | None:
        """The runner as names of operations; None: it is not in the name scope.

        Args:
            export_scope: a name scope, which the names are without.
        """
        prefix = f"{export_scope}/" if export_scope else ""
        if not self.name.startswith(prefix):
            return None
        cut = len(prefix)
        return QueueRunnerDef(
            self.name[cut:],
            [op.name[cut:] for op in self._enqueue_ops],
            self._close_op.name[cut:],
            self._cancel_op.name[cut:],
            [error.code for error in self._closed_types],
        )

    def as_item(self) -> bytes:
        """The runner as an item of a collection in a file."""
        return json.dumps(asdict(self.to_proto() or QueueRunnerDef())).encode()

    @staticmethod
    def from_proto(queue_runner_def: Any, import_scope: str | None = None) -> QueueRunner:
        """The runner of a QueueRunnerDef in the default graph."""
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


@registered.queue_runner_of.register
def queue_runner_of(item: bytes, operations: Mapping[str, Operation]) -> QueueRunner | None:
    """The runner of an item of a collection in a file.

    Args:
        item: of QueueRunner.as_item.
        operations: those of the file by their names there, in the default graph.

    Returns:
        The runner; None if the item is not one, its operations are not in the graph, or its queue
        has no host function, as in a file that another process wrote: its threads would fail.
    """
    try:
        found = QueueRunnerDef(**json.loads(item))
        enqueue = [operations[name].name for name in found.enqueue_op_name]
        queue, close, cancel = (
            operations[name].name
            for name in (found.queue_name, found.close_op_name, found.cancel_op_name)
        )
        functions = operations[found.queue_name].graph.root.host_functions
        if functions.get(operations[found.queue_name].attrs.get("function", "")) is None:
            return None
        codes = [int(code) for code in found.queue_closed_exception_types]
        return QueueRunner.from_proto(QueueRunnerDef(queue, enqueue, close, cancel, codes))
    except (TypeError, ValueError, KeyError, RecursionError):  # the file is untrusted input
        return None


def _try_to_run(sess: Any, operation: Any) -> None:
    """Runs an operation of a session that may be closed."""
    try:
        sess.run(operation)
    except Exception as error:
        logging.vlog(1, "Ignored exception: %s", str(error))


def _closed_types(given: Any) -> tuple[type[errors.OpError], ...]:
    """The error classes that end the data."""
    if given is None:
        return (errors.OutOfRangeError,)
    if (
        not isinstance(given, tuple)
        or not given
        or not all(isinstance(kind, type) and issubclass(kind, errors.OpError) for kind in given)
    ):
        raise TypeError(
            "queue_closed_exception_types, when provided, must be a tuple of tf.error types, but "
            f"saw: {given}"
        )
    return given


@api_guard.unguarded
def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Adds a QueueRunner to a collection, for start_queue_runners."""
    scopes.get_default_graph().add_to_collection(collection, qr)


@api_guard.unguarded
def start_queue_runners(
    sess: Any = None,
    coord: Any = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Starts the threads of all QueueRunners of a collection; see QueueRunner.create_threads.

    Args:
        sess: a Session; None: the default one.
        coord, daemon, start: as create_threads'.
        collection: of the session's graph.

    Returns:
        The threads; none for a MonitoredSession, which has started them.

    Raises:
        ValueError: there is no session. TypeError: sess is not one.
    """
    chosen = get_default_session() if sess is None else sess
    if chosen is None:
        raise ValueError(
            "Cannot start queue runners: No default session is registered. Use `with "
            "sess.as_default()` or pass an explicit session to "
            "tf.train.start_queue_runners(sess=sess)"
        )
    if not isinstance(chosen, Session):
        if type(chosen).__name__ in _STARTED:
            return []
        raise TypeError(f"sess must be a `tf.Session` object. Given class: {type(chosen)}")
    runners = chosen.graph.get_collection(collection)
    if not runners:
        logging.warning(
            "`tf.train.start_queue_runners()` was called when no queue runners were defined. You "
            "can safely remove the call to this deprecated function."
        )
    threads: list[threading.Thread] = []
    with chosen.graph.as_default():
        for runner in runners:
            threads += runner.create_threads(chosen, coord, daemon, start)
    return threads
