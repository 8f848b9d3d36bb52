"""Optimizers with L1 and L2 regularization in the step: Ftrl, AdagradDA and the proximal ones.

The L1 term leaves exact zeros, which a penalty in the loss does not. The updates are compositions
of elementwise nodes. A sparse gradient changes only the rows that it has; those of rows that are
looked up inside a loop or a branch are dense.
"""

from __future__ import annotations

from typing import Any

from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.base.primitive import select
from graphio.ops.math import comparison, elementwise
from graphio.train.optimizers.adaptive import positive
from graphio.train.optimizers.optimizer import Optimizer
from graphio.variables.variables import Variable

__all__ = [
    "AdagradDAOptimizer",
    "FtrlOptimizer",
    "ProximalAdagradOptimizer",
    "ProximalGradientDescentOptimizer",
]


def _shrunk(x: Tensor, by: Tensor) -> Tensor:
    """sign(x) * max(|x| - by, 0)."""
    return elementwise.sign(x) * elementwise.maximum(elementwise.abs(x) - by, 0)


def _proximal(point: Tensor, rate: Tensor, l1: Tensor, l2: Tensor) -> Tensor:
    """A proximal step to point: shrunk by rate * l1, then divided by 1 + rate * l2."""
    return _shrunk(point, rate * l1) / (1 + rate * l2)


class ProximalGradientDescentOptimizer(Optimizer):
    """Gradient descent with L1 and L2 (Duchi and Singer 2009, FOBOS).

    p = variable - learning_rate * g;
    variable = sign(p) * max(|p| - learning_rate * l1, 0) / (1 + learning_rate * l2).

    Args:
        learning_rate: number, scalar tensor, or a callable that gives one.
        l1_regularization_strength: l1, likewise.
        l2_regularization_strength: l2, likewise.
        use_locking: accepted; a run has no races.
        name: of the training operation.
    """

    _sparse_touches_only_rows = True

    def __init__(
        self,
        learning_rate: Any,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        super().__init__(use_locking, name)
        self._given = {
            "learning_rate": learning_rate,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
        }

    def _update(
        self, parameter: Tensor, gradient: Tensor, slots: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        rate, l1, l2 = self._hyperparameters(parameter.dtype)
        return {"": _proximal(parameter - rate * gradient, rate, l1, l2)}


class ProximalAdagradOptimizer(Optimizer):
    """Adagrad with L1 and L2: the proximal step with learning_rate / sqrt(a) for each element.

    a += g*g; r = learning_rate / sqrt(a); p = variable - r * g;
    variable = sign(p) * max(|p| - r * l1, 0) / (1 + r * l2).

    Args:
        learning_rate: number, scalar tensor, or a callable that gives one.
        initial_accumulator_value: where the slot "accumulator" (a) starts; greater than 0.
        l1_regularization_strength: l1, as learning_rate.
        l2_regularization_strength: l2, likewise.
        use_locking: accepted; a run has no races.
        name: of the training operation.

    Raises:
        ValueError: initial_accumulator_value is not positive.
    """

    _sparse_touches_only_rows = True

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        super().__init__(use_locking, name)
        start = positive(initial_accumulator_value, "initial_accumulator_value")
        self._slot_values = {"accumulator": (name, start)}
        self._given = {
            "learning_rate": learning_rate,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
        }

    def _update(
        self, parameter: Tensor, gradient: Tensor, slots: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        rate, l1, l2 = self._hyperparameters(parameter.dtype)
        total = slots["accumulator"] + gradient * gradient
        rates = rate / elementwise.sqrt(total)
        new = _proximal(parameter - rates * gradient, rates, l1, l2)
        return {"": new, "accumulator": total}


class AdagradDAOptimizer(Optimizer):
    """Adagrad with dual averaging (Duchi et al. 2011), for sparse linear models.

    s += g; a += g*g; with T the number of this step, from 1:
    variable = -learning_rate * sign(s) * max(|s| - l1 * T, 0) / (l2 * T * learning_rate + sqrt(a)).
    The slots are "gradient_accumulator" (s), which starts at 0, and
    "gradient_squared_accumulator" (a). The value before the first step plays no part.

    Args:
        learning_rate: number, scalar tensor, or a callable that gives one.
        global_step: integer scalar variable, tensor or number: the steps done before; T is one
            more.
        initial_gradient_squared_accumulator_value: where a starts; greater than 0.
        l1_regularization_strength: l1, as learning_rate.
        l2_regularization_strength: l2, likewise.
        use_locking: accepted; a run has no races.
        name: of the training operation.

    Raises:
        ValueError: initial_gradient_squared_accumulator_value is not positive.
    """

    _sparse_touches_only_rows = True

    def __init__(
        self,
        learning_rate: Any,
        global_step: Any,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        super().__init__(use_locking, name)
        start = positive(
            initial_gradient_squared_accumulator_value,
            "initial_gradient_squared_accumulator_value",
        )
        self._slot_values = {
            "gradient_accumulator": (name, 0.0),
            "gradient_squared_accumulator": (name, start),
        }
        self._global_step = global_step
        self._given = {
            "learning_rate": learning_rate,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
        }

    def _prepare(self) -> None:
        super()._prepare()
        done = self._global_step
        now = done.read_value() if isinstance(done, Variable) else convert_to_tensor(done)
        self._step_number = self._scalar(now + 1, "global_step")

    def _update(
        self, parameter: Tensor, gradient: Tensor, slots: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        rate, l1, l2 = self._hyperparameters(parameter.dtype)
        number = self._step_number(parameter.dtype)
        total = slots["gradient_accumulator"] + gradient
        squares = slots["gradient_squared_accumulator"] + gradient * gradient
        width = l2 * number * rate + elementwise.sqrt(squares)
        return {
            "": -rate * _shrunk(total, l1 * number) / width,
            "gradient_accumulator": total,
            "gradient_squared_accumulator": squares,
        }


class FtrlOptimizer(Optimizer):
    """Follow the regularized leader (McMahan et al. 2013).

    With h = g + 2 * shrinkage * variable and n = a + g*g:
    z += h - (n^-power - a^-power) / learning_rate * variable; then
    variable = (l1 * sign(z) - z) / (n^-power / learning_rate + 2 * l2) where |z| > l1, else 0;
    a = n. The slots are "accum" (a) and "linear" (z), which starts at 0.

    Args:
        learning_rate: number, scalar tensor, or a callable that gives one.
        learning_rate_power: power, a number up to 0; 0 is a fixed learning rate.
        initial_accumulator_value: where a starts; 0 or greater.
        l1_regularization_strength: l1, a number from 0.
        l2_regularization_strength: l2, a number from 0.
        use_locking: accepted; a run has no races.
        name: of the training operation.
        accum_name: of the slot variables for "accum"; None: name.
        linear_name: of those for "linear"; None: name.
        l2_shrinkage_regularization_strength: shrinkage, a number from 0. It pulls at the values
            and does not count in a, unlike an L2 penalty in the loss.

    Raises:
        ValueError: one of these numbers is on the wrong side of 0.
    """

    _sparse_touches_only_rows = True

    def __init__(
        self,
        learning_rate: Any,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
    ) -> None:
        super().__init__(use_locking, name)
        strengths = {
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
            "l2_shrinkage_regularization_strength": l2_shrinkage_regularization_strength,
        }
        bounded = {"initial_accumulator_value": initial_accumulator_value, **strengths}
        for label, value in bounded.items():
            if not value >= 0:
                raise ValueError(f"{label} {value} needs to be positive or zero")
        if not learning_rate_power <= 0:
            raise ValueError(
                f"learning_rate_power {learning_rate_power} needs to be negative or zero"
            )
        self._slot_values = {
            "accum": (accum_name or name, initial_accumulator_value),
            "linear": (linear_name or name, 0.0),
        }
        self._power, self._shrinks = learning_rate_power, l2_shrinkage_regularization_strength > 0
        self._given = {"learning_rate": learning_rate, **strengths}

    def _update(
        self, parameter: Tensor, gradient: Tensor, slots: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        rate, l1, l2, shrinkage = self._hyperparameters(parameter.dtype)
        pull = gradient + 2 * shrinkage * parameter if self._shrinks else gradient
        total = slots["accum"] + gradient * gradient
        grown = self._root(total)
        linear = slots["linear"] + pull - (grown - self._root(slots["accum"])) / rate * parameter
        new = (l1 * elementwise.sign(linear) - linear) / (grown / rate + 2 * l2)
        # An element that had no gradient and starts from a = 0 is 0/0, which the choice leaves out.
        zero = convert_to_tensor(0, dtype=parameter.dtype)
        kept = select(comparison.greater(elementwise.abs(linear), l1), new, zero)
        return {"": kept, "accum": total, "linear": linear}

    def _root(self, x: Tensor) -> Tensor:
        """x to the power of -learning_rate_power."""
        with scopes.name_scope("root"):
            return elementwise.sqrt(x) if self._power == -0.5 else elementwise.pow(x, -self._power)
