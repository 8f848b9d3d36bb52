"""Optimizers by the agreement of the signs of gradient and momentum (Bello and others 2017)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.math import comparison, elementwise
from graphio.support import api_guard
from graphio.train.optimizers.optimizer import Optimizer

__all__ = [
    "AddSignOptimizer",
    "PowerSignOptimizer",
    "get_cosine_decay_fn",
    "get_linear_decay_fn",
    "get_restart_decay_fn",
]

Decay = Callable[[Any], Tensor]


class _SignOptimizer(Optimizer):
    """variable -= learning_rate * f(decay * sign(g) * sign(m)) * g; m follows the gradients.

    Args:
        beta: what m keeps of itself.
        sign_decay_fn: from the global step to decay; None: 1.
    """

    def __init__(
        self, learning_rate: Any, beta: Any, sign_decay_fn: Decay | None, name: str, **given: Any
    ) -> None:
        super().__init__(False, name)
        self._slot_values = {"m": (name, 0.0)}
        self._given = {"learning_rate": learning_rate, "beta": beta, **given}
        self._sign_decay_fn = sign_decay_fn
        self._sign_decay: Tensor | None = None

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: Any = None
    ) -> Any:
        """As tf.train.Optimizer.apply_gradients; sign_decay_fn gets global_step."""
        self._sign_decay = None
        if self._sign_decay_fn is not None:
            self._sign_decay = convert_to_tensor(self._sign_decay_fn(global_step))
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _update(
        self, parameter: Tensor, gradient: Tensor, slots: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        rate, beta, *others = self._hyperparameters(parameter.dtype)
        m = slots["m"] * beta + gradient * (1.0 - beta)
        agreement = elementwise.sign(gradient) * elementwise.sign(m)
        if self._sign_decay is not None:
            agreement = elementwise.cast(self._sign_decay, parameter.dtype) * agreement
        return {"": parameter - rate * self._factor(agreement, *others) * gradient, "m": m}

    def _factor(self, agreement: Tensor, *others: Tensor) -> Tensor:
        raise NotImplementedError


class AddSignOptimizer(_SignOptimizer):
    """variable -= learning_rate * (alpha + decay * sign(g) * sign(m)) * g.

    Args:
        learning_rate, alpha: numbers or scalar tensors.
        beta: what the average m of the gradients keeps of itself.
        sign_decay_fn: from the global step to decay, such as get_linear_decay_fn(1000); None: 1.
        use_locking: accepted; a run has no races.
        name: of the training operation.
    """

    def __init__(
        self,
        learning_rate: Any = 0.1,
        alpha: Any = 1.0,
        beta: Any = 0.9,
        sign_decay_fn: Decay | None = None,
        use_locking: bool = False,
        name: str = "AddSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, beta, sign_decay_fn, name, alpha=alpha)

    def _factor(self, agreement: Tensor, *others: Tensor) -> Tensor:
        return others[0] + agreement


class PowerSignOptimizer(_SignOptimizer):
    """variable -= learning_rate * base^(decay * sign(g) * sign(m)) * g.

    Args:
        learning_rate: number or scalar tensor.
        base: a number above 0.
        beta, sign_decay_fn, use_locking, name: as AddSignOptimizer's.
    """

    def __init__(
        self,
        learning_rate: Any = 0.1,
        base: float = math.e,
        beta: Any = 0.9,
        sign_decay_fn: Decay | None = None,
        use_locking: bool = False,
        name: str = "PowerSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, beta, sign_decay_fn, name, logbase=math.log(base))

    def _factor(self, agreement: Tensor, *others: Tensor) -> Tensor:
        return elementwise.exp(others[0] * agreement)


# ---- decays by the global step ----


def _step(given: Any, most: int) -> Tensor:
    if given is None:
        raise ValueError("global_step is required for a decay of signs: give it to minimize")
    steps = elementwise.minimum(convert_to_tensor(given), most)
    return elementwise.cast(steps, dtypes.float32)


def _cosine(fraction: Tensor) -> Tensor:
    angle = elementwise.multiply(math.pi, fraction)
    return elementwise.multiply(0.5, elementwise.add(1.0, elementwise.cos(angle)))


def _zero_from(limit: float | None, period: Tensor, value: Tensor) -> Tensor:
    if limit is None:
        return value
    return array.where(comparison.greater_equal(period, limit), array.zeros_like(value), value)


@api_guard.unguarded
def get_linear_decay_fn(decay_steps: int) -> Decay:
    """A function from the global step to 1 - step / decay_steps, at least 0."""

    def decay(global_step: Any) -> Tensor:
        rest = elementwise.subtract(float(decay_steps), _step(global_step, decay_steps))
        return elementwise.maximum(0.0, elementwise.truediv(rest, float(decay_steps)))

    return decay


@api_guard.unguarded
def get_cosine_decay_fn(
    decay_steps: int, num_periods: float = 0.5, zero_after: float | None = None
) -> Decay:
    """A function from the global step to (1 + cos(2 pi num_periods * step / decay_steps)) / 2.

    Args:
        zero_after: number of periods after which it is 0; None: never.
    """

    def decay(global_step: Any) -> Tensor:
        done = elementwise.truediv(_step(global_step, decay_steps), float(decay_steps))
        fraction = elementwise.multiply(2.0 * num_periods, done)
        limit = None if zero_after is None else 2 * zero_after
        return _zero_from(limit, fraction, _cosine(fraction))

    return decay


@api_guard.unguarded
def get_restart_decay_fn(
    decay_steps: int, num_periods: float = 1, zero_after: float | None = None
) -> Decay:
    """A function from the global step to halves of cosines, which begin num_periods times.

    Args:
        zero_after: number of periods after which it is 0; None: never.
    """

    def decay(global_step: Any) -> Tensor:
        step = elementwise.multiply(float(num_periods), _step(global_step, decay_steps))
        fraction = elementwise.truediv(
            elementwise.mod(step, float(decay_steps)), float(decay_steps)
        )
        period = elementwise.truediv(step, float(decay_steps))
        return _zero_from(zero_after, period, _cosine(fraction))

    return decay
