"""Monitors that save checkpoints, measure speed, evaluate, and keep values of a graph."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from graphio.contrib.learn.base_monitors import BaseMonitor, EveryN
from graphio.framework import scopes
from graphio.framework.collections import GraphKeys
from graphio.schema.summary_pb2 import SessionLog, Summary
from graphio.summary.writer import FileWriterCache
from graphio.support import logging
from graphio.train.checkpoints.checkpoint_state import latest_checkpoint

__all__ = [
    "CheckpointSaver",
    "GraphDump",
    "LoggingTrainable",
    "StepCounter",
    "ValidationMonitor",
]


class LoggingTrainable(EveryN):
    """Logs the values of variables that are trained.

    Args:
        scope: the names of the variables begin with this regular expression; None: all.
        every_n, first_n: as EveryN's.
    """

    def __init__(self, scope: str | None = None, every_n: int = 100, first_n: int = 1) -> None:
        super().__init__(every_n, first_n)
        self._scope = scope
        self._names: list[str] = []

    def every_n_step_begin(self, step: int) -> list[Any]:
        """The variables."""
        graph = scopes.get_default_graph()
        trained = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES, self._scope)
        self._names = [variable.name for variable in trained]
        return list(self._names)

    def every_n_step_end(self, step: int, outputs: Mapping[Any, Any]) -> bool:
        """Logs the values."""
        shown = [f"{name} = {outputs[name]}" for name in self._names if name in outputs]
        logging.info("Logging Trainable: Step %d: %s", step, ", ".join(shown))
        return False


class CheckpointSaver(BaseMonitor):
    """Saves a checkpoint after the first step, then every so many steps or seconds, and at the end.

    Args:
        checkpoint_dir: the folder; its event file notes the checkpoints.
        save_secs, save_steps: how often: one of them.
        saver: a Saver; None: that of scaffold, a tf.train.Scaffold.
        checkpoint_basename: the files' names, before the step.

    Raises:
        ValueError: both of save_secs and save_steps are given, or none.
    """

    def __init__(
        self, checkpoint_dir: str, save_secs: float | None = None, save_steps: int | None = None,
        saver: Any = None, checkpoint_basename: str = "model.ckpt", scaffold: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if save_steps is None and save_secs is None:
            raise ValueError("Either save_steps or save_secs should be provided")
        if save_steps is not None and save_secs is not None:
            raise ValueError("Can not provide both save_steps and save_secs.")
        self._saver, self._scaffold = saver, scaffold
        self._writer = FileWriterCache.get(checkpoint_dir)
        self._path = os.path.join(checkpoint_dir, checkpoint_basename)
        self._save_secs, self._save_steps = save_secs, save_steps
        self._saved_at: float | None = None
        self._saved_step = self._begun_step = -1

    def begin(self, max_steps: int | None = None) -> None:
        """Forgets when it saved."""
        super().begin(max_steps)
        self._saved_at = None
        self._saved_step = self._begun_step = -1

    def step_begin(self, step: int) -> list[Any]:
        """Keeps the step for the end."""
        super().step_begin(step)
        self._begun_step = step
        return []

    def post_step(self, step: int, session: Any) -> None:
        """Saves where it is time."""
        super().post_step(step, session)
        if self._saved_at is None:
            self._save(step, session)
        elif self._save_steps is not None:
            if step >= self._saved_step + self._save_steps:
                self._save(step, session)
        elif self._save_secs is not None and time.time() >= self._saved_at + self._save_secs:
            self._save(step, session)

    def end(self, session: Any = None) -> None:
        """Saves the last step. Raises ValueError without a session, unless that is saved."""
        super().end(session)
        self._save(self._begun_step, session)

    def _save(self, step: int, session: Any) -> None:
        if step == self._saved_step:
            return
        logging.info("Saving checkpoints for %d into %s.", step, self._path)
        self._saved_at, self._saved_step = time.time(), step
        saver = self._scaffold.saver if self._saver is None else self._saver
        saver.save(session, self._path, global_step=step)
        log = SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=self._path)
        self._writer.add_session_log(log, step)


class StepCounter(EveryN):
    """Writes a summary global_step/sec, the steps in a second.

    Args:
        every_n_steps: as EveryN's.
        output_dir: the folder of the event file; None: that of the estimator.
        summary_writer: or a writer.
    """

    def __init__(
        self, every_n_steps: int = 100, output_dir: str | None = None, summary_writer: Any = None
    ) -> None:
        super().__init__(every_n_steps)
        self._writer = summary_writer
        if summary_writer is None and output_dir:
            self._writer = FileWriterCache.get(output_dir)
        self._reported: tuple[int, float] | None = None

    def set_estimator(self, estimator: Any) -> None:
        """Takes the model, whose model_dir is the folder if none was given."""
        super().set_estimator(estimator)
        if self._writer is None:
            self._writer = FileWriterCache.get(estimator.model_dir)

    def every_n_step_end(self, step: int, outputs: Mapping[Any, Any]) -> bool:
        """Writes the speed since the last time."""
        now = time.time()
        if self._reported is not None and self._writer:
            rate = (step - self._reported[0]) / (now - self._reported[1])
            value = Summary.Value(tag="global_step/sec", simple_value=rate)
            self._writer.add_summary(Summary(value=[value]), step)
        self._reported = step, now
        return False


class ValidationMonitor(EveryN):
    """Evaluates a model when there is a new checkpoint, and may end the training.

    The model, an object with evaluate() and model_dir, is what set_estimator takes; its evaluate
    returns a dict of metrics.

    Args:
        x, y, input_fn, batch_size, metrics, hooks, name: arguments of evaluate.
        eval_steps: its argument steps.
        every_n_steps: as EveryN's.
        early_stopping_rounds: training ends when the metric has not become better for so many
            steps; None: it goes on.
        early_stopping_metric: the key of the metric.
        early_stopping_metric_minimize: whether less is better.
        check_interval_secs: seconds from one look for a checkpoint to the next; None: none.

    Raises:
        ValueError: neither x nor input_fn is given. Of a step: set_estimator was not called, or
            evaluate gives no such metric.
    """

    def __init__(
        self, x: Any = None, y: Any = None, input_fn: Any = None, batch_size: int | None = None,
        eval_steps: int | None = None, every_n_steps: int = 100, metrics: Any = None,
        hooks: Any = None, early_stopping_rounds: int | None = None,
        early_stopping_metric: str = "loss", early_stopping_metric_minimize: bool = True,
        name: str | None = None, check_interval_secs: float | None = 5,
    ) -> None:  # fmt: skip
        super().__init__(every_n_steps, first_n_steps=-1)
        if x is None and input_fn is None:
            raise ValueError("Either x or input_fn should be provided.")
        self.x, self.y, self.input_fn, self.batch_size = x, y, input_fn, batch_size
        self.eval_steps, self.metrics, self.hooks, self.name = eval_steps, metrics, hooks, name
        self.early_stopping_rounds = early_stopping_rounds
        self.early_stopping_metric = early_stopping_metric
        self.early_stopping_metric_minimize = early_stopping_metric_minimize
        self._check_interval_secs = check_interval_secs
        self._checked_at: float | None = None
        self._latest_path: str | None = None
        self._best: tuple[int, Any, dict[str, Any]] | None = None
        self._early_stopped = False

    @property
    def early_stopped(self) -> bool:
        """Whether the monitor ended the training."""
        return self._early_stopped

    @property
    def best_step(self) -> int | None:
        """The step with the best metric."""
        return self._best[0] if self._best else None

    @property
    def best_value(self) -> Any:
        """The best metric."""
        return self._best[1] if self._best else None

    @property
    def best_metrics(self) -> dict[str, Any] | None:
        """All metrics of that step."""
        return self._best[2] if self._best else None

    def every_n_step_end(self, step: int, outputs: Mapping[Any, Any]) -> bool:
        """Whether the training ends."""
        if self._estimator is None:
            raise ValueError("Missing call to set_estimator.")
        if not self._is_new():
            return False
        found = self._estimator.evaluate(
            x=self.x, y=self.y, input_fn=self.input_fn, batch_size=self.batch_size,
            steps=self.eval_steps, metrics=self.metrics, hooks=self.hooks, name=self.name,
        )  # fmt: skip
        shown = ", ".join(f"{key} = {value}" for key, value in found.items())
        logging.info("Validation (step %d): %s", step, shown)
        return self.early_stopping_rounds is not None and self._is_stale(step, found)

    def _is_new(self) -> bool:
        """Whether it is time, and there is a checkpoint that was not evaluated."""
        now, pause = time.time(), self._check_interval_secs
        if None not in (pause, self._checked_at) and now - self._checked_at <= pause:  # type: ignore[operator]
            return False
        self._checked_at = now
        path = latest_checkpoint(self._estimator.model_dir)
        if path is None or path == self._latest_path:
            return False
        self._latest_path = path
        return True

    def _is_stale(self, step: int, found: dict[str, Any]) -> bool:
        if self.early_stopping_metric not in found:
            raise ValueError(
                f"Metric {self.early_stopping_metric} missing from outputs {set(found)}."
            )
        value = found[self.early_stopping_metric]
        if self._best is None or (
            value < self._best[1] if self.early_stopping_metric_minimize else value > self._best[1]
        ):
            self._best = step, value, copy.deepcopy(found)
        if step - self._best[0] < self.early_stopping_rounds:  # type: ignore[operator]
            return False
        logging.info(
            "Stopping. Best step: %d with %s = %s.",
            self._best[0], self.early_stopping_metric, self._best[1],
        )  # fmt: skip
        self._early_stopped = True
        return True


class GraphDump(BaseMonitor):
    """Keeps the values of nearly all tensors at each step: for small graphs.

    Args:
        ignore_ops: types of operations whose values are not kept; None: IGNORE_OPS.
    """

    IGNORE_OPS: ClassVar[list[str]] = [
        "Const", "Assign", "Identity", "Placeholder", "RandomUniform", "Cast", "RestoreSlice",
    ]  # fmt: skip

    def __init__(self, ignore_ops: Sequence[str] | None = None) -> None:
        super().__init__()
        self._ignore_ops = ignore_ops or self.IGNORE_OPS
        self._names: list[str] = []
        self._data: dict[int, dict[str, Any]] = {}

    @property
    def data(self) -> dict[int, dict[str, Any]]:
        """By step, the values by names of tensors."""
        return self._data

    def begin(self, max_steps: int | None = None) -> None:
        """Finds the tensors: the first output of each operation of the default graph."""
        super().begin(max_steps)
        graph = scopes.get_default_graph()
        kinds = {node.name: node.op for node in graph.as_graph_def().node}
        self._names = [
            f"{operation.name}:0"
            for operation in graph.get_operations()
            if operation.outputs and kinds.get(operation.name) not in (None, *self._ignore_ops)
        ]

    def step_begin(self, step: int) -> list[Any]:
        """The tensors."""
        super().step_begin(step)
        return list(self._names)

    def step_end(self, step: int, output: Mapping[Any, Any]) -> bool:
        """Keeps the values."""
        super().step_end(step, output)
        self._data[step] = {name: output[name] for name in self._names}
        return False

    def compare(
        self, other_dump: GraphDump, step: int, atol: float = 1e-6
    ) -> tuple[list[str], dict[str, Any]]:
        """The values of a step against those of another monitor.

        Args:
            atol: how far numbers may be apart, besides 1e-5 of the other one.

        Returns:
            the names of tensors with equal values; those of others, with the difference of
            arrays of numbers, or both values. Strings are not compared.

        Raises:
            ValueError: the other monitor lacks a value.
        """
        matched: list[str] = []
        others: dict[str, Any] = {}
        theirs = other_dump.data.get(step, {})
        for name, value in self.data.get(step, {}).items():
            if name not in theirs:
                raise ValueError(f"{name} missing at step {step}.")
            one, two = np.asarray(value), np.asarray(theirs[name])
            if one.dtype.kind in "OSU":
                continue
            if one.shape == two.shape and np.allclose(one, two, atol=atol):
                matched.append(name)
            else:
                has_difference = one.ndim and one.shape == two.shape and one.dtype != np.bool_
                others[name] = one - two if has_difference else (one, two)
        return matched, others
