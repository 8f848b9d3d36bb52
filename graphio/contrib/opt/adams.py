"""Relatives of Adam: with Nesterov's momentum, with the maximum norm, lazy on sparse gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio.framework.graph import Tensor
from graphio.framework.indexed_slices import IndexedSlices
from graphio.ops.array import surface as array
from graphio.ops.math import elementwise
from graphio.train.optimizers.adam import AdamOptimizer
from graphio.train.optimizers.optimizer import touched_rows
from graphio.variables.variables import Variable

__all__ = ["AdaMaxOptimizer", "LazyAdamOptimizer", "NadamOptimizer"]


class LazyAdamOptimizer(AdamOptimizer):
    """Adam, in which a sparse gradient leaves the moments of the rows it lacks alone.

    The arguments are those of tf.train.AdamOptimizer.
    """

    _sparse_touches_only_rows = True


class NadamOptimizer(AdamOptimizer):
    """Adam with Nesterov's momentum (Dozat 2015).

    variable -= rate * (beta1 * m + (1 - beta1) * g) / (sqrt(v) + epsilon), with Adam's rate and
    moments m and v. A sparse gradient changes its rows of the variable and decays the moments of
    all rows. The arguments are those of tf.train.AdamOptimizer.
    """

    _rows: Tensor | None = None

    def _apply(self, gradient: Any, variable: Variable) -> list[Any]:
        sparse = isinstance(gradient, IndexedSlices)
        self._rows = touched_rows(gradient, variable.read_value()) if sparse else None
        return super()._apply(gradient, variable)

    def _update(
        self, parameter: Tensor, gradient: Tensor, slots: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        dtype = parameter.dtype
        rate, beta1, beta2, epsilon = self._hyperparameters(dtype)
        power1, power2 = (
            elementwise.cast(self._power_now[name], dtype) for name in ("beta1", "beta2")
        )
        down = elementwise.truediv(elementwise.sqrt(1.0 - power2), 1.0 - power1)
        m = slots["m"] + (gradient - slots["m"]) * (1.0 - beta1)
        v = slots["v"] + (elementwise.square(gradient) - slots["v"]) * (1.0 - beta2)
        ahead = gradient * (1.0 - beta1) + beta1 * m
        change = ahead * (rate * down) / (elementwise.sqrt(v) + epsilon)
        new = parameter - change
        if self._rows is not None:
            new = array.where(self._rows, new, parameter)
        return {"": new, "m": m, "v": v}


class AdaMaxOptimizer(AdamOptimizer):
    """AdaMax (Kingma and Ba 2015): the second moment is a maximum.

    v = max(beta2 * v, |g|); variable -= learning_rate / (1 - beta1^t) * m / (v + epsilon). A sparse
    gradient leaves the rows it lacks alone.

    Args:
        learning_rate, beta1, beta2, epsilon, use_locking, name: as tf.train.AdamOptimizer's.
    """

    _sparse_touches_only_rows = True

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "AdaMax",
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)

    def _power_names(self) -> Sequence[str]:
        return ("beta1",)

    def _update(
        self, parameter: Tensor, gradient: Tensor, slots: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        rate, beta1, beta2, epsilon = self._hyperparameters(parameter.dtype)
        power = elementwise.cast(self._power_now["beta1"], parameter.dtype)
        m = slots["m"] + (gradient - slots["m"]) * (1.0 - beta1)
        v = elementwise.maximum(beta2 * slots["v"], elementwise.abs(gradient))
        change = rate / (1.0 - power) * (m / (v + epsilon))
        return {"": parameter - change, "m": m, "v": v}
