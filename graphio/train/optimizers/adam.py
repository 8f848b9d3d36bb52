"""Adam in TensorFlow's form of the update."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio.framework import dtypes
from graphio.framework.graph import Tensor
from graphio.ops.math import elementwise
from graphio.train.optimizers.optimizer import Optimizer
from graphio.train.optimizers.step_operators import step_operator
from graphio.variables.variables import Variable

__all__ = ["AdamOptimizer"]


class AdamOptimizer(Optimizer):
    """Adam (Kingma and Ba 2015) in TensorFlow's form.

    rate = learning_rate * sqrt(1 - beta2^t) / (1 - beta1^t); m += (g - m)(1 - beta1);
    v += (g*g - v)(1 - beta2); variable -= rate * m / (sqrt(v) + epsilon): epsilon stands
    outside the bias correction. Slots "m" and "v" start at 0; beta1_power and beta2_power are
    variables. A sparse gradient decays the moments of all rows.

    Args:
        learning_rate: number, scalar tensor, or a callable that gives one.
        beta1: decay of the first moment, likewise.
        beta2: decay of the second moment, likewise.
        epsilon: likewise.
        use_locking: accepted; a run has no races.
        name: of the training operation.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(use_locking, name)
        self._slot_values = {"m": (name, 0.0), "v": (name, 0.0)}
        self._given = {
            "learning_rate": learning_rate,
            "beta1": beta1,
            "beta2": beta2,
            "epsilon": epsilon,
        }
        self._powers: dict[str, Variable] = {}

    def _power_names(self) -> Sequence[str]:
        """The decays whose powers are kept."""
        return ("beta1", "beta2")

    def _create_slots(self, variables: Sequence[Variable]) -> None:
        if not self._powers:
            dtype = variables[0].dtype.base_dtype
            for name in self._power_names():
                value = self._given[name]
                self._powers[name] = Variable(
                    value() if callable(value) else value,
                    trainable=False,
                    name=f"{name}_power",
                    dtype=dtype,
                )
        super()._create_slots(variables)

    def _prepare(self) -> None:
        super()._prepare()
        self._power_now = {name: v.read_value() for name, v in self._powers.items()}

    def _update(
        self, parameter: Tensor, gradient: Tensor, slots: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        dtype = parameter.dtype
        powers = [elementwise.cast(self._power_now[name], dtype) for name in ("beta1", "beta2")]
        inputs = [parameter, slots["m"], slots["v"], *powers]
        inputs += self._hyperparameters(dtype)
        new, m, v = step_operator("AdamStep", [*inputs, gradient], 3, "ApplyAdam")
        return {"": new, "m": m, "v": v}

    def _after(self, updates: Sequence[Tensor]) -> list[Any]:
        finished = []
        for name, variable in self._powers.items():
            factor = self._scalars[name](dtypes.as_dtype(variable.dtype.base_dtype))
            finished.append(variable.assign(elementwise.multiply(self._power_now[name], factor)))
        return finished

    def _other_variables(self) -> list[Variable]:
        return list(self._powers.values())
