"""Gradient descent, plain and with momentum, in TensorFlow's forms of the updates."""

from __future__ import annotations

from typing import Any

from graphio.framework.graph import Tensor
from graphio.train.optimizers.optimizer import Optimizer
from graphio.train.optimizers.step_operators import step_operator

__all__ = ["GradientDescentOptimizer", "MomentumOptimizer"]


class GradientDescentOptimizer(Optimizer):
    """variable -= learning_rate * gradient.

    Args:
        learning_rate: number, scalar tensor, or a callable that gives one.
        use_locking: accepted; a run has no races.
        name: of the training operation.
    """

    def __init__(
        self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent"
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _prepare(self) -> None:
        self._rate = self._scalar(self._learning_rate, "learning_rate")

    def _update(
        self, parameter: Tensor, gradient: Tensor, slots: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        inputs = [parameter, self._rate(parameter.dtype), gradient]
        (new,) = step_operator("GradientDescentStep", inputs, 1, "ApplyGradientDescent")
        return {"": new}


class MomentumOptimizer(Optimizer):
    """accumulator = momentum * accumulator + gradient; variable -= learning_rate * accumulator.

    With use_nesterov: variable -= learning_rate * (gradient + momentum * accumulator), after
    Sutskever et al. 2013. The slot "momentum" starts at 0. A sparse gradient touches only the
    rows that it has; those of rows looked up inside a loop or a branch are dense.

    Args:
        learning_rate: number, scalar tensor, or a callable that gives one.
        momentum: likewise.
        use_locking: accepted; a run has no races.
        name: of the training operation.
        use_nesterov: whether to look ahead.
    """

    _slot_values = {"momentum": ("Momentum", 0.0)}
    _sparse_touches_only_rows = True

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self._slot_values = {"momentum": (name, 0.0)}
        self._learning_rate, self._momentum_value = learning_rate, momentum
        self._op = "NesterovMomentumStep" if use_nesterov else "MomentumStep"

    def _prepare(self) -> None:
        self._rate = self._scalar(self._learning_rate, "learning_rate")
        self._momentum = self._scalar(self._momentum_value, "momentum")

    def _update(
        self, parameter: Tensor, gradient: Tensor, slots: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        dtype = parameter.dtype
        inputs = [parameter, slots["momentum"], self._rate(dtype), gradient, self._momentum(dtype)]
        new, accumulator = step_operator(self._op, inputs, 2, "ApplyMomentum")
        return {"": new, "momentum": accumulator}
