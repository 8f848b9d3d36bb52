"""Trains and evaluates a graph, with a Supervisor and monitors."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphio.contrib.framework.checkpoints import load_variable
from graphio.contrib.framework.variables import assert_or_get_global_step
from graphio.contrib.learn import monitors as monitors_lib
from graphio.framework.collections import GraphKeys
from graphio.framework.graph import Graph, Tensor
from graphio.ops.control_flow.branches import group
from graphio.queues.queue_runner import start_queue_runners
from graphio.schema.summary_pb2 import Summary
from graphio.summary.ops import merge_all
from graphio.summary.writer import FileWriterCache
from graphio.support import api_guard, errors, logging
from graphio.train.checkpoints.saver import Saver
from graphio.train.loops.coordinator import Coordinator
from graphio.train.loops.hooks import NanLossDuringTrainingError
from graphio.train.loops.session_manager import SessionManager
from graphio.train.loops.supervisor import Supervisor
from graphio.variables.table_initializers import tables_initializer
from graphio.variables.variables import (
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)

__all__ = ["clear_summary_writers", "evaluate", "get_summary_writer", "train"]


@api_guard.unguarded
def get_summary_writer(logdir: str) -> Any:
    """The FileWriter of a folder, one for each."""
    return FileWriterCache.get(logdir)


@api_guard.unguarded
def clear_summary_writers() -> None:
    """Closes and forgets the writers of get_summary_writer."""
    FileWriterCache.clear()


@api_guard.unguarded
def train(
    graph: Graph, output_dir: str, train_op: Any, loss_op: Any, global_step_tensor: Any = None,
    init_op: Any = None, init_feed_dict: Any = None, init_fn: Any = None,
    log_every_steps: int = 10, supervisor_is_chief: bool = True, supervisor_master: str = "",
    supervisor_save_model_secs: float = 600, keep_checkpoint_max: int = 5,
    supervisor_save_summaries_steps: int = 100, feed_fn: Callable[[], Any] | None = None,
    steps: int | None = None, fail_on_nan_loss: bool = True,
    monitors: Sequence[Any] | None = None, max_steps: int | None = None,
) -> Any:  # fmt: skip
    """Trains a graph until the steps, or the data, are at their end. A folder with a checkpoint is
    continued.

    Args:
        graph: the graph, which has a global step.
        output_dir: the folder of checkpoints and events.
        train_op: an operation that increments the global step. loss_op: a scalar.
        global_step_tensor: None: that of the graph.
        init_op, init_feed_dict, init_fn: as those of tf.train.Supervisor.
        log_every_steps: how often the loss is logged.
        supervisor_is_chief: whether this process initializes and saves.
        supervisor_master: the target of the session.
        supervisor_save_model_secs: seconds between checkpoints; one comes at the end, too.
        keep_checkpoint_max: checkpoints that are kept.
        supervisor_save_summaries_steps: steps between summaries.
        feed_fn: gives the feeds of a step; StopIteration ends the training.
        steps: how many more steps; max_steps: the last step. None: without end.
        fail_on_nan_loss: whether a loss that is NaN is an error.
        monitors: None: those of get_default_monitors. Outputs are by the tensors' names.

    Returns:
        The loss of the last step; None: there was none.

    Raises:
        ValueError: steps and max_steps are both given, or a tensor, the global step or output_dir
            is missing.
        NanLossDuringTrainingError: the loss is NaN.
    """
    _check(output_dir, train_op, loss_op, steps, max_steps)
    with graph.as_default():
        step = assert_or_get_global_step(graph, global_step_tensor)
        if step is None:
            raise ValueError('No "global_step" was provided or found in the graph.')
        writer = get_summary_writer(output_dir) if supervisor_is_chief else None
        used = list(monitors or [])
        if not used and supervisor_is_chief:
            used = monitors_lib.get_default_monitors(
                loss_op, _summary(graph), supervisor_save_summaries_steps, summary_writer=writer
            )
        if not supervisor_is_chief:
            used = [monitor for monitor in used if monitor.run_on_all_workers]
        last = _reached(output_dir, step) + steps if steps and max_steps is None else max_steps
        for monitor in used:
            monitor.begin(max_steps=last)
        variables = graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
        variables += graph.get_collection(GraphKeys.SAVEABLE_OBJECTS)
        saver = Saver(variables, sharded=True, max_to_keep=keep_checkpoint_max)
    supervisor = Supervisor(
        graph, init_op=init_op or Supervisor.USE_DEFAULT, init_feed_dict=init_feed_dict,
        is_chief=supervisor_is_chief, logdir=output_dir, saver=saver, global_step=step,
        summary_op=None, summary_writer=writer, save_model_secs=supervisor_save_model_secs,
        init_fn=init_fn,
    )  # fmt: skip
    session = supervisor.PrepareSession(master=supervisor_master)
    supervisor.StartQueueRunners(session)
    loop = _Loop(session, step, loss_op, last, log_every_steps, fail_on_nan_loss)
    with session:
        try:
            loop.run(supervisor.ShouldStop, train_op, feed_fn, used)
        finally:
            _finish(supervisor, session, step, used)
    return loop.loss


def _check(output_dir: Any, train_op: Any, loss_op: Any, steps: Any, max_steps: Any) -> None:
    if steps is not None and max_steps is not None:
        raise ValueError("Can not provide both steps and max_steps.")
    if not output_dir:
        raise ValueError(f"Output directory should be non-empty {output_dir}.")
    if train_op is None:
        raise ValueError("Missing train_op.")
    if loss_op is None:
        raise ValueError("Missing loss_op.")


def _summary(graph: Graph) -> Any:
    """The summary of the collection SUMMARY_OP, else one of all; None: there is none."""
    known = graph.get_collection(GraphKeys.SUMMARY_OP)
    if known:
        return known[0]
    made = merge_all()
    if made is not None:
        graph.add_to_collection(GraphKeys.SUMMARY_OP, made)
    return made


def _reached(folder: str, step: Any) -> int:
    """The step of a folder's checkpoint."""
    try:
        return int(load_variable(folder, step.op.name))
    except (errors.NotFoundError, ValueError):
        return 0


class _Loop:
    """The steps of a training, of which a last one may be the end.

    Attributes:
        loss: that of the last step.
    """

    def __init__(
        self, session: Any, step: Any, loss_op: Any, last: int | None, log_every: int, fails: bool
    ) -> None:
        self._session, self._step, self._loss_op = session, step, loss_op
        self._last, self._log_every, self._fails = last, log_every, fails
        self.loss: Any = None

    def run(
        self, should_stop: Callable[[], bool], train_op: Any, feed_fn: Any, monitors: list[Any]
    ) -> None:
        """Runs steps until the data end, a monitor stops, or the last step was."""
        done = logged = int(self._session.run(self._step))
        try:
            while not should_stop() and (self._last is None or done < self._last):
                began = time.time()
                feed = feed_fn() if feed_fn is not None else None
                if self._one(done + 1, train_op, feed, monitors):
                    return
                before, done = done, int(self._session.run(self._step))
                if done <= before:
                    logging.error("train_op did not increment the global step %d", before)
                if done == self._last or done - logged >= self._log_every:
                    seconds = time.time() - began
                    logging.info("training step %d, loss = %.5f (%.3f sec/batch).",
                                 done, self.loss, seconds)  # fmt: skip
                    logged = done
        except errors.OutOfRangeError as error:
            logging.warning("The training data have ended: %s", error)
        except StopIteration:
            logging.info("The training data have ended.")

    def _one(self, number: int, train_op: Any, feed: Any, monitors: list[Any]) -> bool:
        """A step; whether a monitor stops."""
        requested = [train_op, self._loss_op]
        for monitor in monitors:
            requested += monitor.step_begin(number)
        fetched = list(dict.fromkeys(requested))
        values = self._session.run(fetched, feed_dict=feed)
        outputs: dict[Any, Any] = {}
        for key, value in zip(fetched, values, strict=True):
            # a monitor finds its values by what it has requested, and by names
            outputs[key] = value
            if isinstance(key, Tensor):
                outputs[key.name] = value
        self.loss = outputs[self._loss_op]
        ends = [monitor.step_end(number, outputs) for monitor in monitors]
        if np.isnan(self.loss):
            if self._fails:
                raise NanLossDuringTrainingError
            logging.warning("Model diverged with loss = NaN.")
        for monitor in monitors:
            monitor.post_step(number, self._session)
        return any(ends)


def _finish(supervisor: Supervisor, session: Any, step: Any, monitors: list[Any]) -> None:
    """Stops the threads, saves the last step and ends the monitors."""
    try:
        supervisor.Stop(close_summary_writer=False)
        if supervisor.is_chief:
            done = int(session.run(step))
            supervisor.saver.save(session, supervisor.save_path, global_step=done)
            for monitor in monitors:
                monitor.end(session)
    except errors.OutOfRangeError as error:
        logging.warning("The data have ended: %s", error)


@api_guard.unguarded
def evaluate(
    graph: Graph, output_dir: str, checkpoint_path: Any, eval_dict: dict[str, Any],
    update_op: Any = None, global_step_tensor: Any = None, supervisor_master: str = "",
    log_every_steps: int = 10, feed_fn: Callable[[], Any] | None = None,
    max_steps: int | None = None,
) -> tuple[dict[str, Any] | None, Any]:  # fmt: skip
    """Evaluates tensors of a graph until the steps, or the data, are at their end, and writes the
    last values as summaries.

    Args:
        graph: the graph, which has a global step.
        output_dir: the folder of the event file.
        checkpoint_path: a checkpoint, or a folder with one; None: variables are initialized.
        eval_dict: scalars by tags.
        update_op: what each step runs; None: it evaluates eval_dict.
        global_step_tensor: None: that of the graph.
        supervisor_master: the target of the session.
        log_every_steps: how often the values are evaluated and logged.
        feed_fn: gives the feeds of a step; StopIteration ends the evaluation.
        max_steps: how many steps; None: without end.

    Returns:
        The last values by tags, None where there was no step, and the global step.

    Raises:
        ValueError: output_dir is empty.
    """
    if not output_dir:
        raise ValueError(f"Output directory should be non-empty {output_dir}.")
    with graph.as_default():
        step_tensor = assert_or_get_global_step(graph, global_step_tensor)
        session, saver = _restored(graph, supervisor_master, checkpoint_path)
        coordinator = Coordinator()
        threads = start_queue_runners(session, coordinator)
    loop = _Evaluation(session, eval_dict, update_op, feed_fn, log_every_steps)
    with session:
        reached = session.run(step_tensor)
        try:
            loop.run(max_steps)
        except (errors.OutOfRangeError, StopIteration) as error:
            logging.info("The data have ended after %d steps: %s", loop.step, error)
        finally:
            coordinator.request_stop()
            coordinator.join(threads, stop_grace_period_secs=120)
    _write(output_dir, loop.found or {}, int(reached))
    return loop.found, reached


class _Evaluation:
    """The steps of an evaluation.

    Attributes:
        found: the last values; None: there are none.
        step: that of the last update.
    """

    def __init__(
        self, session: Any, eval_dict: dict[str, Any], update_op: Any, feed_fn: Any, log_every: int
    ) -> None:
        self._session, self._eval_dict, self._update_op = session, eval_dict, update_op
        self._feed_fn, self._log_every = feed_fn, log_every
        self._feed: Any = None
        self._evaluated_step: int | None = None
        self.found: dict[str, Any] | None = None
        self.step = 0

    def run(self, most: int | None) -> None:
        """Runs steps, and evaluates the last one unless it was."""
        try:
            while most is None or self.step < most:
                self.step += 1
                self._feed = self._feed_fn() if self._feed_fn is not None else None
                if self._update_op is not None:
                    self._session.run(self._update_op, feed_dict=self._feed)
                if self._update_op is None or self.step % self._log_every == 0:
                    self._evaluate()
        finally:
            if self.found is None or self._evaluated_step != self.step:
                self._evaluate()

    def _evaluate(self) -> None:
        self.found = self._session.run(self._eval_dict, feed_dict=self._feed)
        self._evaluated_step = self.step


def _restored(graph: Graph, master: str, checkpoint: Any) -> tuple[Any, Saver | None]:
    """A session of the default graph with the values of a checkpoint."""

    def first(key: str, make: Callable[[], Any]) -> Any:
        collected = graph.get_collection_ref(key)
        if not collected:
            made = make()
            if made is not None:
                collected.append(made)
        return collected[0] if collected else None

    has_variables = bool(graph.get_collection(GraphKeys.GLOBAL_VARIABLES))
    saver = first(GraphKeys.SAVERS, lambda: Saver() if has_variables else None)
    manager = SessionManager(
        local_init_op=first(
            GraphKeys.LOCAL_INIT_OP,
            lambda: group(local_variables_initializer(), tables_initializer()),
        ),
        ready_op=first(GraphKeys.READY_OP, report_uninitialized_variables),
        ready_for_local_init_op=first(GraphKeys.READY_FOR_LOCAL_INIT_OP, lambda: None),
    )
    initializer = global_variables_initializer()
    session, is_ready = manager.recover_session(
        master=master, saver=saver, checkpoint_dir=checkpoint
    )
    if not is_ready:
        logging.warning("Failed to initialize from %s.", checkpoint)
        session.run(initializer)
        if checkpoint and saver is not None:
            saver.restore(session, checkpoint)
    return session, saver


def _write(folder: str, found: dict[str, Any], step: int) -> None:
    """The values that are floats as summaries."""
    writer = get_summary_writer(folder)
    floats = {tag: value for tag, value in found.items() if isinstance(value, (float, np.float32))}
    values = [Summary.Value(tag=tag, simple_value=float(value)) for tag, value in floats.items()]
    writer.add_summary(Summary(value=values), step)
    writer.flush()
