"""The bases of monitors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["BaseMonitor", "EveryN"]


class BaseMonitor:
    """The base of monitors, which checks that the calls come in their order."""

    def __init__(self) -> None:
        self._begun = False
        self._current_epoch: int | None = None
        self._current_step: int | None = None
        self._max_steps: int | None = None
        self._estimator: Any = None

    @property
    def run_on_all_workers(self) -> bool:
        """Whether the monitor is not for the chief alone: False."""
        return False

    def set_estimator(self, estimator: Any) -> None:
        """Takes the model. Raises ValueError for None."""
        if estimator is None:
            raise ValueError("Missing estimator.")
        self._estimator = estimator

    def begin(self, max_steps: int | None = None) -> None:
        """Called before the first step. Raises ValueError at a second call without end."""
        if self._begun:
            raise ValueError("begin called twice without end.")
        self._max_steps, self._begun = max_steps, True

    def end(self, session: Any = None) -> None:
        """Called after the last step. Raises ValueError without begin."""
        if not self._begun:
            raise ValueError("end called without begin.")
        self._max_steps, self._begun = None, False

    def epoch_begin(self, epoch: int) -> None:
        """Called before an epoch. Raises ValueError inside one, or for a negative number."""
        if self._current_epoch is not None:
            raise ValueError("epoch_begin called twice without epoch_end.")
        if epoch < 0:
            raise ValueError(f"Invalid epoch {epoch}.")
        self._current_epoch = epoch

    def epoch_end(self, epoch: int) -> None:
        """Called after an epoch. Raises ValueError for another than that which began."""
        if self._current_epoch != epoch:
            raise ValueError(f"epoch_end expected {self._current_epoch} but got {epoch}.")
        self._current_epoch = None

    def step_begin(self, step: int) -> list[Any]:
        """Called before a step.

        Returns:
            names of tensors, or tensors, whose values step_end gets.

        Raises:
            ValueError: the step is negative or beyond max_steps.
        """
        if step < 0 or (self._max_steps is not None and step > self._max_steps):
            raise ValueError(f"Invalid step {step}.")
        self._current_step = step
        return []

    def step_end(self, step: int, output: Mapping[Any, Any]) -> bool:
        """Called after a step with its outputs; True ends the training. Raises ValueError for
        another step than that which began."""
        if self._current_step != step:
            raise ValueError(f"step_end expected {self._current_step} but got {step}.")
        self._current_step = None
        return False

    def post_step(self, step: int, session: Any) -> None:
        """Called after step_end."""


class EveryN(BaseMonitor):
    """Acts in the first steps, then in each n-th after that in which it last acted, and in the last
    one; a subclass gives every_n_step_begin, every_n_step_end and every_n_post_step.

    Args:
        every_n_steps: n.
        first_n_steps: the steps up to this one are the first.
    """

    def __init__(self, every_n_steps: int = 100, first_n_steps: int = 1) -> None:
        super().__init__()
        self._every_n_steps, self._first_n_steps = every_n_steps, first_n_steps
        self._last_successful_step: int | None = None
        self._last_active_step = 0
        self._acts = False

    def every_n_step_begin(self, step: int) -> list[Any]:
        """As step_begin, in steps in which the monitor acts."""
        return []

    def every_n_step_end(self, step: int, outputs: Mapping[Any, Any]) -> bool:
        """As step_end, in steps in which the monitor acts."""
        return False

    def every_n_post_step(self, step: int | None, session: Any) -> None:
        """As post_step, in steps in which the monitor acts, and at the end."""

    def step_begin(self, step: int) -> list[Any]:
        """Decides whether the monitor acts in a step."""
        super().step_begin(step)
        is_due = step >= self._every_n_steps + self._last_active_step
        self._acts = step <= self._first_n_steps or is_due or step == self._max_steps
        return self.every_n_step_begin(step) if self._acts else []

    def step_end(self, step: int, output: Mapping[Any, Any]) -> bool:
        """Whether training ends."""
        super().step_end(step, output)
        return self.every_n_step_end(step, output) if self._acts else False

    def post_step(self, step: int, session: Any) -> None:
        """Keeps the step."""
        super().post_step(step, session)
        if self._acts:
            self.every_n_post_step(step, session)
            self._last_active_step = step
        self._last_successful_step = step

    def end(self, session: Any = None) -> None:
        """Acts once more, unless it did in the last step."""
        super().end(session)
        if self._last_successful_step != self._last_active_step:
            self.every_n_post_step(self._last_successful_step, session)
