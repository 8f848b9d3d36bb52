"""Monitors: what training calls around its steps. RunHookAdapterForMonitors makes a hook of them,
for tf.train.MonitoredSession.

The outputs of a step are values by what step_begin has requested: names of tensors, or tensors.
base_monitors has the bases, saving_monitors those that write checkpoints or keep values.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphio.contrib.learn.base_monitors import BaseMonitor, EveryN
from graphio.contrib.learn.saving_monitors import (
    CheckpointSaver,
    GraphDump,
    LoggingTrainable,
    StepCounter,
    ValidationMonitor,
)
from graphio.framework import api_boundary, refusals, scopes
from graphio.summary.writer import FileWriter
from graphio.support import api_guard, logging
from graphio.train.loops.hooks import NanLossDuringTrainingError
from graphio.train.loops.session_run_hook import SessionRunArgs, SessionRunHook
from graphio.train.loops.step_counter import get_global_step

__all__ = [
    "BaseMonitor",
    "CaptureVariable",
    "CheckpointSaver",
    "EveryN",
    "GraphDump",
    "LoggingTrainable",
    "NanLoss",
    "NanLossDuringTrainingError",
    "PrintTensor",
    "RunHookAdapterForMonitors",
    "StepCounter",
    "StopAtStep",
    "SummarySaver",
    "ValidationMonitor",
    "get_default_monitors",
    "replace_monitors_with_hooks",
]


class StopAtStep(BaseMonitor):
    """Ends the training.

    Args:
        num_steps: after so many steps.
        last_step: or after this one.

    Raises:
        ValueError: both are given, or none.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        super().__init__()
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps, self._last_step = num_steps or 0, last_step

    @property
    def run_on_all_workers(self) -> bool:
        """True."""
        return True

    def step_begin(self, step: int) -> list[Any]:
        """Finds the last step."""
        super().step_begin(step)
        if self._last_step is None:
            self._last_step = step + self._num_steps - 1
        return []

    def step_end(self, step: int, output: Mapping[Any, Any]) -> bool:
        """Whether this was the last step."""
        super().step_end(step, output)
        return self._last_step is not None and step >= self._last_step


class PrintTensor(EveryN):
    """Logs values of tensors.

    Args:
        tensor_names: names of tensors, or a dict of them by what is shown.
        every_n, first_n: as EveryN's.
    """

    def __init__(
        self, tensor_names: Mapping[str, str] | Sequence[str], every_n: int = 100, first_n: int = 1
    ) -> None:
        super().__init__(every_n, first_n)
        named = tensor_names if isinstance(tensor_names, Mapping) else {n: n for n in tensor_names}
        self._tensor_names = dict(named)

    def every_n_step_begin(self, step: int) -> list[Any]:
        """The tensors."""
        return list(self._tensor_names.values())

    def every_n_step_end(self, step: int, outputs: Mapping[Any, Any]) -> bool:
        """Logs the values."""
        shown = [f"{tag} = {outputs[n]}" for tag, n in self._tensor_names.items() if n in outputs]
        logging.info("Step %d: %s", step, ", ".join(shown))
        return False


class CaptureVariable(EveryN):
    """Keeps values of a variable.

    Args:
        var_name: its name.
        every_n, first_n: as EveryN's.
    """

    def __init__(self, var_name: str, every_n: int = 100, first_n: int = 1) -> None:
        super().__init__(every_n, first_n)
        self._var_name = var_name
        self._values: dict[int, Any] = {}

    @property
    def values(self) -> dict[int, Any]:
        """The values by steps."""
        return self._values

    def every_n_step_begin(self, step: int) -> list[Any]:
        """The variable."""
        return [self._var_name]

    def every_n_step_end(self, step: int, outputs: Mapping[Any, Any]) -> bool:
        """Keeps the value."""
        self._values[step] = outputs[self._var_name]
        return False


class NanLoss(EveryN):
    """Ends the training when a loss is NaN.

    Args:
        loss_tensor: the loss.
        every_n_steps: as EveryN's.
        fail_on_nan_loss: whether that is an error.
    """

    def __init__(
        self, loss_tensor: Any, every_n_steps: int = 100, fail_on_nan_loss: bool = True
    ) -> None:
        super().__init__(every_n_steps)
        self._loss_tensor, self._fails = loss_tensor, fail_on_nan_loss

    def every_n_step_begin(self, step: int) -> list[Any]:
        """The loss."""
        return [self._loss_tensor]

    def every_n_step_end(self, step: int, outputs: Mapping[Any, Any]) -> bool:
        """Whether the loss is NaN. Raises NanLossDuringTrainingError."""
        if not np.isnan(outputs[self._loss_tensor]):
            return False
        if self._fails:
            raise NanLossDuringTrainingError
        logging.warning("Model diverged with loss = NaN.")
        return True


class SummarySaver(EveryN):
    """Writes summaries.

    Args:
        summary_op: a summary; None: that of scaffold.
        save_steps: n of EveryN.
        output_dir: the folder of a new writer.
        summary_writer: or a writer.
        scaffold: a tf.train.Scaffold.
    """

    def __init__(
        self,
        summary_op: Any,
        save_steps: int = 100,
        output_dir: Any = None,
        summary_writer: Any = None,
        scaffold: Any = None,
    ) -> None:
        super().__init__(save_steps)
        self._summary_op, self._scaffold = summary_op, scaffold
        self._writer = summary_writer
        if summary_writer is None and output_dir:
            self._writer = FileWriter(output_dir)

    def set_estimator(self, estimator: Any) -> None:
        """Takes the model, whose model_dir is the folder if none was given."""
        super().set_estimator(estimator)
        if self._writer is None:
            self._writer = FileWriter(estimator.model_dir)

    def every_n_step_begin(self, step: int) -> list[Any]:
        """The summary."""
        if self._summary_op is None and self._scaffold is not None:
            self._summary_op = self._scaffold.summary_op
        return [] if self._summary_op is None else [self._summary_op]

    def every_n_step_end(self, step: int, outputs: Mapping[Any, Any]) -> bool:
        """Writes it."""
        if self._summary_op is not None and self._writer:
            self._writer.add_summary(outputs[self._summary_op], step)
        return False

    def end(self, session: Any = None) -> None:
        """Flushes the writer."""
        super().end(session)
        if self._writer:
            self._writer.flush()


class RunHookAdapterForMonitors(SessionRunHook):
    """A hook that calls monitors; steps are counted from 1 by the global step.

    Args:
        monitors: the monitors.
    """

    def __init__(self, monitors: Sequence[Any]) -> None:
        self._monitors = monitors
        self._step: int | None = None
        self._global_step: Any = None

    def begin(self) -> None:
        """Calls each begin."""
        self._step, self._global_step = None, get_global_step()
        for monitor in self._monitors:
            monitor.begin(max_steps=None)

    def before_run(self, run_context: Any) -> SessionRunArgs:
        """Calls each step_begin. Raises ValueError where one gives no list."""
        if self._step is None:
            self._step = int(run_context.session.run(self._global_step)) + 1
        requested: list[Any] = []
        for monitor in self._monitors:
            own = monitor.step_begin(self._step)
            if own and not isinstance(own, list):
                raise ValueError("Monitor.step_begin should return a list.")
            requested += own or []
        fetches = {one: _fetched(one) for one in requested}
        return SessionRunArgs({"step": self._global_step, "monitors": fetches})

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Calls each step_end and post_step."""
        for monitor in self._monitors:
            if monitor.step_end(self._step, run_values.results["monitors"]):
                run_context.request_stop()
        for monitor in self._monitors:
            monitor.post_step(self._step, run_context.session)
        self._step = int(run_values.results["step"]) + 1

    def end(self, session: Any) -> None:
        """Calls each end."""
        self._step = None
        for monitor in self._monitors:
            monitor.end(session=session)


@api_guard.unguarded
def get_default_monitors(
    loss_op: Any = None, summary_op: Any = None, save_summary_steps: int = 100,
    output_dir: Any = None, summary_writer: Any = None,
) -> list[Any]:  # fmt: skip
    """The usual monitors.

    Args:
        loss_op: a PrintTensor logs it; None: there is none.
        summary_op, save_summary_steps, output_dir, summary_writer: arguments of a SummarySaver;
            without summary_op there is none.
    """
    found: list[Any] = []
    if loss_op is not None:
        found.append(PrintTensor({"loss": loss_op.name}))
    if summary_op is not None:
        found.append(SummarySaver(summary_op, save_summary_steps, output_dir, summary_writer))
    return found


@api_guard.unguarded
def replace_monitors_with_hooks(monitors_or_hooks: Any, estimator: Any) -> list[Any]:
    """A list in which one hook stands for all monitors.

    Args:
        monitors_or_hooks: list of both, or None.
        estimator: what the monitors get by set_estimator. Unless its config.is_chief is true, the
            monitors for the chief alone are left out.
    """
    given = list(monitors_or_hooks or [])
    hooks = [one for one in given if isinstance(one, SessionRunHook)]
    monitors = [one for one in given if not isinstance(one, SessionRunHook)]
    if not estimator.config.is_chief:
        monitors = [monitor for monitor in monitors if monitor.run_on_all_workers]
    for monitor in monitors:
        monitor.set_estimator(estimator)
    return [*hooks, RunHookAdapterForMonitors(monitors)] if monitors else hooks


def _fetched(requested: Any) -> Any:
    """The tensor of a name; that of an operation means its first output."""
    if not isinstance(requested, str):
        return requested
    name = requested if ":" in requested else f"{requested}:0"
    return scopes.get_default_graph().get_tensor_by_name(name)


api_boundary.guard_namespace(sys.modules[__name__])
__getattr__ = refusals.getter(__name__)
