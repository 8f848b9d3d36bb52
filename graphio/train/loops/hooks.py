"""The hooks that programs use most: stopping, logging, saving, summaries."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from graphio.execution.config import RunOptions
from graphio.execution.fetching import AsComputed
from graphio.framework import scopes
from graphio.observe.timeline import Timeline
from graphio.schema.summary_pb2 import Summary
from graphio.summary.writer import FileWriterCache
from graphio.support import errors, logging
from graphio.train.loops.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from graphio.train.loops.step_counter import get_global_step

__all__ = [
    "FeedFnHook", "FinalOpsHook", "GlobalStepWaiterHook",
    "LoggingTensorHook", "NanLossDuringTrainingError", "NanTensorHook", "ProfilerHook",
    "SecondOrStepTimer", "StepCounterHook", "StopAtStepHook", "SummarySaverHook",
]  # fmt: skip


class SecondOrStepTimer:
    """Says when to do something again: every so many steps, or seconds.

    Raises:
        ValueError: both or neither are given.
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._secs, self._steps = every_secs, every_steps
        self.reset()

    def reset(self) -> None:
        """Restarts the timer."""
        self._last_step: int | None = None
        self._last_time = 0.0

    def should_trigger_for_step(self, step: int) -> bool:
        """Whether it is time; the first step always is, one step never twice."""
        if self._last_step is None:
            return True
        if self._last_step == step:
            return False
        if self._secs is not None:
            return time.time() >= self._last_time + self._secs
        assert self._steps is not None
        return step >= self._last_step + self._steps

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Notes that it was done; (seconds, steps) since it was before, None for the first."""
        now = time.time()
        since: tuple[float | None, int | None] = (None, None)
        if self._last_step is not None:
            since = (now - self._last_time, step - self._last_step)
        self._last_step, self._last_time = step, now
        return since

    def last_triggered_step(self) -> int | None:
        """The step of the last time."""
        return self._last_step


def step_tensor(what: str) -> Any:
    """A fetch of the global step at the start of a run, which a training step in the run is to
    change; RuntimeError if the default graph has none, for a hook."""
    found = get_global_step()
    if found is None:
        raise RuntimeError(
            f"Global step should be created to use {what}: tf.train.get_or_create_global_step(), "
            "given to minimize"
        )
    return AsComputed(found.graph.as_graph_element(found))


class StopAtStepHook(SessionRunHook):
    """Requests a stop at a global step.

    Args:
        num_steps: how many steps after the first.
        last_step: the global step.

    Raises:
        ValueError: both or neither are given.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if (num_steps is None) == (last_step is None):
            raise ValueError("One of num_steps or last_step must be specified, and not both.")
        self._num, self._last = num_steps, last_step

    def begin(self) -> None:
        self._step = step_tensor("StopAtStepHook")

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._last is None:
            assert self._num is not None
            self._last = int(session.run(self._step)) + self._num

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        assert self._last is not None
        # A run may give the step before or after its own change of it.
        if run_values.results + 1 >= self._last:
            if run_context.session.run(self._step) >= self._last:
                run_context.request_stop()


class LoggingTensorHook(SessionRunHook):
    """Logs values of tensors at INFO.

    Args:
        tensors: a list of tensors or their names, or a dictionary from what to call them.
        every_n_iter: every so many runs.
        every_n_secs: or every so many seconds.
        at_end: or, or also, at the end.
        formatter: from the dictionary of values to a string; None: "name = value, ...".
    """

    def __init__(
        self,
        tensors: Any,
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[dict[str, Any]], str] | None = None,
    ) -> None:
        if every_n_iter is not None and every_n_secs is not None:
            raise ValueError("Exactly one of every_n_iter and every_n_secs must be provided.")
        if every_n_iter is None and every_n_secs is None and not at_end:
            raise ValueError(
                "Either at_end and/or exactly one of every_n_iter and every_n_secs must be "
                "provided."
            )
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        if isinstance(tensors, (str, bytes)):
            raise TypeError(f"tensors is {tensors!r}, expected a list or a dict of tensors")
        self._given = tensors if isinstance(tensors, dict) else {_label(t): t for t in tensors}
        only_at_end = every_n_iter is None and every_n_secs is None
        self._timer = None if only_at_end else SecondOrStepTimer(every_n_secs, every_n_iter)
        self._at_end, self._formatter = at_end, formatter

    def begin(self) -> None:
        graph = scopes.get_default_graph()
        self._tensors = {label: graph.as_graph_element(t) for label, t in self._given.items()}
        self._count = 0
        if self._timer is not None:
            self._timer.reset()

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        timer = self._timer
        self._requested = timer is not None and timer.should_trigger_for_step(self._count)
        return SessionRunArgs(self._tensors) if self._requested else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._requested:
            self._log(run_values.results)
        self._count += 1

    def end(self, session: Any) -> None:
        if self._at_end:
            self._log(session.run(self._tensors))

    def _log(self, values: dict[str, Any]) -> None:
        elapsed = None
        if self._timer is not None:
            elapsed, _ = self._timer.update_last_triggered_step(self._count)
        if self._formatter is not None:
            logging.info(self._formatter(values))
            return
        text = ", ".join(f"{label} = {values[label]}" for label in self._tensors)
        logging.info(text if elapsed is None else f"{text} ({elapsed:.3f} sec)")


def _label(tensor: Any) -> str:
    return tensor if isinstance(tensor, str) else str(tensor.name)


class NanLossDuringTrainingError(RuntimeError):
    """The loss is NaN."""

    def __str__(self) -> str:
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    """Raises NanLossDuringTrainingError when a tensor is NaN; or stops, if fail_on_nan_loss is
    False."""

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._tensor, self._fail = loss_tensor, fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if np.isnan(run_values.results).any():
            if self._fail:
                logging.error("Model diverged with loss = NaN.")
                raise NanLossDuringTrainingError
            logging.warning("Model diverged with loss = NaN.")
            run_context.request_stop()


class FeedFnHook(SessionRunHook):
    """Feeds what a function without arguments returns, a feed_dict, in each run."""

    def __init__(self, feed_fn: Callable[[], Any]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())


class FinalOpsHook(SessionRunHook):
    """Runs fetches when the session ends; final_ops_values has their values."""

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None) -> None:
        self._fetches, self._feeds = final_ops, final_ops_feed_dict
        self._values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """The values of the fetches; None before the end."""
        return self._values

    def end(self, session: Any) -> None:
        if self._fetches is None:
            return
        try:
            self._values = session.run(self._fetches, self._feeds)
        except (errors.OutOfRangeError, StopIteration) as error:
            logging.warning(
                "An OutOfRangeError or StopIteration exception is raised by the final ops of "
                "FinalOpsHook. This typically means that they have a dependency back to some input "
                "source, which has ended by then: %s",
                error,
            )
            raise


class GlobalStepWaiterHook(SessionRunHook):
    """Delays the first run until the global step, which another process counts, is a number.

    Args:
        wait_until_step: the number; 0: the first run is not delayed.
    """

    def __init__(self, wait_until_step: int) -> None:
        self._until = wait_until_step

    def begin(self) -> None:
        self._step = step_tensor("GlobalStepWaiterHook")
        self._waits = self._until > 0

    def before_run(self, run_context: SessionRunContext) -> None:
        if self._waits:
            logging.info("Waiting for global step %d before starting training.", self._until)
            while run_context.session.run(self._step) < self._until:
                time.sleep(0.5)
            self._waits = False


class SummarySaverHook(SessionRunHook):
    """Writes summaries every so often, and the graph into the event file of output_dir, once.

    Args:
        save_steps: every so many global steps.
        save_secs: or every so many seconds.
        output_dir: the folder of the event file.
        summary_writer: or the writer.
        scaffold: whose summary_op is written.
        summary_op: or the operation, or a list of them.

    Raises:
        ValueError: not exactly one of scaffold and summary_op.
        ImportError: when the first is written, the package tensorboard is not installed.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: Any = None,
        scaffold: Any = None,
        summary_op: Any = None,
    ) -> None:
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._op, self._scaffold = summary_op, scaffold
        self._folder, self._writer = output_dir, summary_writer
        self._timer = SecondOrStepTimer(save_secs, save_steps)

    def begin(self) -> None:
        self._step = step_tensor("SummarySaverHook")
        self._next: int | None = None

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._folder is not None and self._writer is None:
            FileWriterCache.show_graph(self._folder, session.graph)

    def _operations(self) -> list[Any]:
        found = self._op if self._scaffold is None else self._scaffold.summary_op
        if found is None:
            return []
        return list(found) if isinstance(found, (list, tuple)) else [found]

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        step = self._next
        self._requested = step is None or self._timer.should_trigger_for_step(step)
        return SessionRunArgs((self._step, self._operations() if self._requested else []))

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        stale, contents = run_values.results
        step = int(stale) + 1
        if self._requested:
            step = int(run_context.session.run(self._step))
            self._timer.update_last_triggered_step(step)
            for content in contents:
                self._file().add_summary(content, step)
        self._next = step + 1

    def _file(self) -> Any:
        if self._writer is None:
            assert self._folder is not None, "SummarySaverHook needs output_dir or summary_writer"
            self._writer = FileWriterCache.get(self._folder)
        return self._writer

    def end(self, session: Any) -> None:
        if self._writer is not None:
            self._writer.flush()


class ProfilerHook(SessionRunHook):
    """Writes the times of a run every so often, as a trace for chrome://tracing.

    Args:
        save_steps: every so many global steps; or
        save_secs: every so many seconds.
        output_dir: the folder of the files timeline-<step>.json.
        show_dataflow, show_memory: see Timeline.generate_chrome_trace_format.

    Raises:
        ValueError: not exactly one of save_steps and save_secs.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
    ) -> None:
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._folder = output_dir
        self._dataflow, self._memory = show_dataflow, show_memory

    def begin(self) -> None:
        self._step = step_tensor("ProfilerHook")
        self._next: int | None = None

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        # The first run makes plans and arenas: its times say little.
        self._requested = self._next is not None and self._timer.should_trigger_for_step(self._next)
        full = RunOptions(trace_level=RunOptions.FULL_TRACE)
        return SessionRunArgs(self._step, options=full if self._requested else None)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        step = int(run_values.results) + 1
        if self._next is None:
            self._timer.update_last_triggered_step(step - 1)
        if self._requested:
            step = int(run_context.session.run(self._step))
            self._timer.update_last_triggered_step(step)
            trace = Timeline(run_values.run_metadata.step_stats)
            os.makedirs(self._folder or ".", exist_ok=True)
            path = os.path.join(self._folder, f"timeline-{step}.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write(trace.generate_chrome_trace_format(self._dataflow, self._memory))
        self._next = step + 1


class StepCounterHook(SessionRunHook):
    """Logs how many global steps a second there are, and writes them as a summary.

    Args:
        every_n_steps: how often, in steps; or
        every_n_secs: in seconds.
        output_dir: the folder of the event file; None: only logs.
        summary_writer: or the writer.
    """

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: Any = None,
    ) -> None:
        self._timer = SecondOrStepTimer(every_n_secs, every_n_steps)
        self._folder, self._writer = output_dir, summary_writer

    def begin(self) -> None:
        self._step = step_tensor("StepCounterHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._timer.should_trigger_for_step(int(run_values.results) + 1):
            step = int(run_context.session.run(self._step))
            if self._timer.should_trigger_for_step(step):
                seconds, steps = self._timer.update_last_triggered_step(step)
                if seconds and steps:
                    self._tell(steps / seconds, step)

    def _tell(self, rate: float, step: int) -> None:
        tag = f"{self._step.tensor.op.name}/sec"
        logging.info("%s: %g", tag, rate)
        if self._writer is None and self._folder is not None:
            try:
                self._writer = FileWriterCache.get(self._folder)
            except ImportError:
                self._folder = None  # the log is enough
        if self._writer is not None:
            value = Summary.Value(tag=tag, simple_value=rate)
            self._writer.add_summary(Summary(value=[value]), step)
