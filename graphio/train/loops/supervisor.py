"""Supervisor: a session with threads that save checkpoints and write summaries.

The loop that programs wrote before there was tf.train.MonitoredTrainingSession.
"""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from graphio.execution.session import Session
from graphio.framework import dtypes, scopes
from graphio.framework.collections import GraphKeys
from graphio.framework.graph import Graph
from graphio.protos.graph_io import write_graph
from graphio.protos.meta_graph import export_meta_graph
from graphio.schema.summary_pb2 import SessionLog
from graphio.summary.ops import merge_all
from graphio.summary.writer import FileWriter
from graphio.support import api_guard, errors, logging
from graphio.train.checkpoints.saver import Saver
from graphio.train.loops.coordinator import Coordinator, LooperThread
from graphio.train.loops.scaffold import Scaffold
from graphio.train.loops.session_manager import SessionManager
from graphio.train.loops.step_counter import global_step as step_of
from graphio.train.loops.supervisor_threads import (
    SVStepCounterThread,
    SVSummaryThread,
    SVTimerCheckpointThread,
)
from graphio.variables.variables import (
    global_variables,
    global_variables_initializer,
    report_uninitialized_variables,
    variables_of,
)

__all__ = ["Supervisor", "basic_train_loop"]

#: of arguments: the member of a collection, or what the Supervisor makes
_USE_DEFAULT = 0


def _nothing() -> None:
    return None


def _saver_of_variables() -> Saver | None:
    return Saver() if global_variables() else None


def _step_by_name() -> Any:
    """The tensor named global_step, if it is an integer."""
    try:
        found = scopes.get_default_graph().get_tensor_by_name("global_step:0")
    except KeyError:
        return None
    if found.dtype.base_dtype in (dtypes.int32, dtypes.int64):
        return found
    logging.warning("Found 'global_step' is not an int type: %s", found.dtype)
    return None


#: piece -> the collection whose first member it is by default, and what is made and added to the
#: collection where there is none
_PIECES: dict[str, tuple[str, Callable[[], Any]]] = {
    "ready_op": (GraphKeys.READY_OP, report_uninitialized_variables),
    "ready_for_local_init_op": (GraphKeys.READY_FOR_LOCAL_INIT_OP, _nothing),
    "init_op": (GraphKeys.INIT_OP, global_variables_initializer),
    "local_init_op": (GraphKeys.LOCAL_INIT_OP, Scaffold.default_local_init_op),
    "saver": (GraphKeys.SAVERS, _saver_of_variables),
    "summary_op": (GraphKeys.SUMMARY_OP, merge_all),
    "global_step": (GraphKeys.GLOBAL_STEP, _step_by_name),
}


def _default(name: str) -> Any:
    """The first member of the collection of a piece; one that is made where there is none."""
    collection, make = _PIECES[name]
    graph = scopes.get_default_graph()
    members = graph.get_collection(collection)
    if len(members) > 1:
        logging.info("Found %d %s operations. Returning the first one.", len(members), collection)
    if members:
        return members[0]
    made = make()
    if made is not None:
        graph.add_to_collection(collection, made)
    return made


class Supervisor:
    """Makes a session whose variables have values, and threads that save while it is used.

    The graph is finalized. An argument whose default is USE_DEFAULT is then the first member of its
    collection, such as INIT_OP, or is made; None is none.

    Args:
        graph: None: the default graph.
        ready_op: a string vector that is empty when all variables have values.
        ready_for_local_init_op: the same of those that local_init_op needs; by default none.
        is_chief: False is of a program in several processes: such a Supervisor initialises, saves
            and writes nothing, and waits for a session that is ready.
        init_op: gives the variables values where there is no checkpoint.
        init_feed_dict: what it is fed with.
        local_init_op: run in each session; by default for local variables and tables.
        logdir: the folder of checkpoints and summaries; None: nothing is saved.
        summary_op: by default all summaries.
        saver: by default of all variables.
        global_step: by default what is named global_step.
        save_summaries_secs, save_model_secs: time from one summary, or checkpoint, to the next; 0:
            none.
        recovery_wait_secs: time from one look for a checkpoint to the next.
        stop_grace_secs: how long threads may run after a stop.
        checkpoint_basename: the name of checkpoints in logdir.
        session_manager: a SessionManager; None: one of these arguments.
        summary_writer: by default a FileWriter of logdir, if tensorboard is installed.
        init_fn: called with the session after init_op.
        local_init_run_options: a RunOptions for local_init_op.

    Raises:
        ValueError: is_chief is False and a variable has no device.
    """

    USE_DEFAULT = _USE_DEFAULT

    def __init__(
        self,
        graph: Graph | None = None,
        ready_op: Any = _USE_DEFAULT,
        ready_for_local_init_op: Any = _USE_DEFAULT,
        is_chief: bool = True,
        init_op: Any = _USE_DEFAULT,
        init_feed_dict: Any = None,
        local_init_op: Any = _USE_DEFAULT,
        logdir: str | None = None,
        summary_op: Any = _USE_DEFAULT,
        saver: Any = _USE_DEFAULT,
        global_step: Any = _USE_DEFAULT,
        save_summaries_secs: float = 120,
        save_model_secs: float = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: SessionManager | None = None,
        summary_writer: Any = _USE_DEFAULT,
        init_fn: Callable[[Session], Any] | None = None,
        local_init_run_options: Any = None,
    ) -> None:
        given = {
            "ready_op": ready_op, "ready_for_local_init_op": ready_for_local_init_op,
            "init_op": init_op, "local_init_op": local_init_op, "saver": saver,
            "summary_op": summary_op, "global_step": global_step,
        }  # fmt: skip
        self._graph = scopes.get_default_graph() if graph is None else graph
        with self._graph.as_default():
            self._pieces = {
                name: _default(name) if _is_default(value) else value
                for name, value in given.items()
            }
            saver_def = self.saver.saver_def if self.saver else None
            self._meta_graph = export_meta_graph(saver_def=saver_def)
        self._init = {"init_feed_dict": init_feed_dict, "init_fn": init_fn}
        self._is_chief, self._coord, self._grace = is_chief, Coordinator(), stop_grace_secs
        if logdir is not None and not isinstance(logdir, (str, bytes, os.PathLike)):
            raise TypeError(
                f"expected str, bytes or os.PathLike object, not {type(logdir).__name__}: logdir="
                f"{logdir!r} of a Supervisor is the path of a folder, or None to save nothing"
            )
        # Only a chief writes.
        self._logdir = logdir if is_chief else None
        self._summaries_secs = save_summaries_secs if is_chief else None
        self._model_secs = save_model_secs if is_chief else None
        self._save_path = os.path.join(self._logdir, checkpoint_basename) if self._logdir else None
        self._writer = self._writer_of(summary_writer) if is_chief else None
        self._shows_graph, self._is_writing = False, True
        self._manager = session_manager or SessionManager(
            local_init_op=self.local_init_op,
            ready_op=self.ready_op,
            ready_for_local_init_op=self.ready_for_local_init_op,
            graph=self._graph,
            recovery_wait_secs=recovery_wait_secs,
            local_init_run_options=local_init_run_options,
        )
        self._check_devices()
        self._graph.finalize()

    def _writer_of(self, given: Any) -> Any:
        if not _is_default(given):
            return given
        if not self._logdir:
            return None
        try:
            return FileWriter(self._logdir)
        except ImportError as error:
            warnings.warn(f"no summaries are written: {error}", stacklevel=4)
            return None

    def _check_devices(self) -> None:
        if self._is_chief:
            return
        for variable in variables_of(self._graph).values():
            if not variable.device:
                raise ValueError(
                    "When using replicas, all Variables must have their device set: "
                    f"{variable.op.name}"
                )

    @property
    def is_chief(self) -> bool:
        """Whether it initialises and saves."""
        return self._is_chief

    @property
    def session_manager(self) -> SessionManager:
        """The SessionManager."""
        return self._manager

    @property
    def coord(self) -> Coordinator:
        """The Coordinator of the threads."""
        return self._coord

    @property
    def init_op(self) -> Any:
        """The operation that initialises, or None."""
        return self._pieces["init_op"]

    @property
    def init_feed_dict(self) -> Any:
        """The feeds of init_op."""
        return self._init["init_feed_dict"]

    @property
    def ready_op(self) -> Any:
        """A vector of the variables without a value, or None."""
        return self._pieces["ready_op"]

    @property
    def ready_for_local_init_op(self) -> Any:
        """The same for local_init_op, or None."""
        return self._pieces["ready_for_local_init_op"]

    @property
    def local_init_op(self) -> Any:
        """The operation that is run in each session, or None."""
        return self._pieces["local_init_op"]

    @property
    def summary_writer(self) -> Any:
        """The FileWriter, or None."""
        return self._writer

    @property
    def summary_op(self) -> Any:
        """The summaries that are written, or None."""
        return self._pieces["summary_op"]

    @property
    def save_summaries_secs(self) -> float | None:
        """Seconds from one summary to the next."""
        return self._summaries_secs

    @property
    def global_step(self) -> Any:
        """The counter of steps, or None."""
        return self._pieces["global_step"]

    @property
    def saver(self) -> Any:
        """The Saver, or None."""
        return self._pieces["saver"]

    @property
    def save_model_secs(self) -> float | None:
        """Seconds from one checkpoint to the next."""
        return self._model_secs

    @property
    def save_path(self) -> str | None:
        """The prefix of checkpoints; None: nothing is saved."""
        return self._save_path

    def prepare_or_wait_for_session(
        self,
        master: str = "",
        config: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Session:
        """A session that is ready: of the newest checkpoint, else with initial values.

        Args:
            master: the session's target.
            config: a ConfigProto.
            wait_for_checkpoint: whether to wait for one that another process writes.
            max_wait_secs: the longest to wait.
            start_standard_services: whether the threads that save, and those of queues, start.

        Raises:
            RuntimeError: the variables have no values after all.
            DeadlineExceededError: is_chief is False, and no session was ready.
        """
        self._coord.clear_stop()
        if self._writer:
            self._writer.reopen()
            self._is_writing = True
        if self._is_chief:
            session = self._manager.prepare_session(
                master, init_op=self.init_op, saver=self.saver, checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint, max_wait_secs=max_wait_secs,
                config=config, **self._init,
            )  # fmt: skip
            self._write_graph()
            if start_standard_services:
                logging.info("Starting standard services.")
                self.start_standard_services(session)
        else:
            session = self._manager.wait_for_session(master, config, max_wait_secs)
        if start_standard_services:
            logging.info("Starting queue runners.")
            self.start_queue_runners(session)
        return session

    def _write_graph(self) -> None:
        if self._logdir:
            write_graph(self._graph, self._logdir, "graph.pbtxt")
        if self._writer and not self._shows_graph:
            self._writer.add_graph(self._graph)
            self._writer.add_meta_graph(self._meta_graph)
            self._shows_graph = True

    def start_standard_services(self, sess: Any) -> list[LooperThread] | None:
        """Starts the threads that write summaries and steps a second and save checkpoints.

        Returns:
            The threads; None: there is no logdir.

        Raises:
            RuntimeError: is_chief is False.
        """
        if not self._is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. Because only chief supervisors "
                "can write events."
            )
        if not self._logdir:
            logging.warning("Standard services need a 'logdir' passed to the SessionManager")
            return None
        if self.global_step is not None and self._writer:
            step = step_of(sess, self.global_step)
            self._writer.add_session_log(SessionLog(status=SessionLog.START), step)
        threads: list[LooperThread] = []
        if self._summaries_secs and self._writer:
            if self.summary_op is not None:
                threads.append(SVSummaryThread(self, sess))
            if self.global_step is not None:
                threads.append(SVStepCounterThread(self, sess))
        if self.saver and self._model_secs:
            threads.append(SVTimerCheckpointThread(self, sess))
        for thread in threads:
            thread.start()
        return threads

    def start_queue_runners(
        self, sess: Any, queue_runners: Iterable[Any] | None = None
    ) -> list[threading.Thread]:
        """Starts the threads of queue runners; None: those of the collection QUEUE_RUNNERS."""
        if queue_runners is None:
            queue_runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS)
        threads: list[threading.Thread] = []
        for runner in queue_runners:
            threads.extend(runner.create_threads(sess, coord=self._coord, daemon=True, start=True))
        return threads

    def loop(
        self,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """A thread that was started: see LooperThread.loop. stop waits for it."""
        return LooperThread.loop(self._coord, timer_interval_secs, target, args, kwargs)

    def stop(
        self,
        threads: Iterable[threading.Thread] | None = None,
        close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:
        """Stops the threads and waits for them; the session stays open.

        Args:
            threads: to wait for in addition to the Supervisor's.
            close_summary_writer: whether summary_writer is closed.
            ignore_live_threads: whether threads that still run then are not an error.

        Raises:
            RuntimeError: threads still run.
            Exception: the error of a thread.
        """
        self._coord.request_stop()
        try:
            self._coord.join(
                threads,
                stop_grace_period_secs=self._grace,
                ignore_live_threads=ignore_live_threads,
            )
        finally:
            # a thread may use the writer until here
            if close_summary_writer and self._writer and self._is_writing:
                self._writer.add_session_log(SessionLog(status=SessionLog.STOP))
                self._writer.close()
                self._shows_graph = self._is_writing = False

    def request_stop(self, ex: Any = None) -> None:
        """As Coordinator.request_stop."""
        self._coord.request_stop(ex)

    def should_stop(self) -> bool:
        """Whether a stop was requested."""
        return self._coord.should_stop()

    def stop_on_exception(self) -> contextlib.AbstractContextManager[None]:
        """A context whose exception becomes a request to stop."""
        return self._coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Waits for a request to stop."""
        self._coord.wait_for_stop()

    def summary_computed(self, sess: Any, summary: Any, global_step: int | None = None) -> None:
        """Writes a summary.

        Args:
            sess: the session.
            summary: the value of a summary operation, or a tf.Summary.
            global_step: the number of the step; None: that of the session.

        Raises:
            RuntimeError: there is no summary_writer.
        """
        if not self._writer:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self.global_step is not None:
            global_step = step_of(sess, self.global_step)
        self._writer.add_summary(summary, global_step)

    @contextlib.contextmanager
    def managed_session(
        self,
        master: str = "",
        config: Any = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Session]:
        """A context with a session; its end stops the threads and closes the session.

        The error of the context, or of a thread, is raised at the end, unless it is
        OutOfRangeError, the end of the data.

        Args:
            master, config, start_standard_services: as prepare_or_wait_for_session's.
            close_summary_writer: as stop's.
        """
        session = None
        try:
            session = self.prepare_or_wait_for_session(
                master, config, start_standard_services=start_standard_services
            )
            yield session
        except Exception as error:
            self.request_stop(error)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                # wakes threads that wait in a queue
                if session is not None:
                    with contextlib.suppress(Exception):
                        session.close()

    PrepareSession = prepare_or_wait_for_session
    StartQueueRunners = start_queue_runners
    StartStandardServices = start_standard_services
    Stop = stop
    RequestStop = request_stop
    Loop = loop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    WaitForStop = wait_for_stop
    SummaryComputed = summary_computed


def _is_default(value: Any) -> bool:
    return isinstance(value, int) and value == _USE_DEFAULT


@api_guard.unguarded
def basic_train_loop(
    supervisor: Supervisor,
    train_step_fn: Callable[..., Any],
    args: Iterable[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    master: str = "",
) -> None:
    """Calls a function with a session again and again until the supervisor stops.

    After AbortedError it goes on with a new session.

    Args:
        supervisor: makes the session.
        train_step_fn: called with the session, args and kwargs.
        args, kwargs: None: none.
        master: the session's target.
    """
    again = True
    while again:
        again = False
        try:
            with supervisor.managed_session(master) as session:
                while not supervisor.should_stop():
                    train_step_fn(session, *(args or ()), **(kwargs or {}))
        except errors.AbortedError:
            again = True
