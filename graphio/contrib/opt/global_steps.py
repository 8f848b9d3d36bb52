"""Optimizers that count steps by the program's global step, or skip the update of their slots."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.math import elementwise
from graphio.train.optimizers.adam import AdamOptimizer
from graphio.train.optimizers.adaptive import AdagradOptimizer

__all__ = ["AdamGSOptimizer", "LazyAdamGSOptimizer", "RegAdagradOptimizer"]


class AdamGSOptimizer(AdamOptimizer):
    """Adam whose t is the global step + 1, so that there are no variables of powers of beta.

    Args:
        global_step: the variable that counts the steps, or a number.
        learning_rate, beta1, beta2, epsilon, use_locking, name: as tf.train.AdamOptimizer's.
    """

    def __init__(
        self,
        global_step: Any = 0,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)
        self._global_step = global_step

    def _power_names(self) -> Sequence[str]:
        return ()

    def _prepare(self) -> None:
        super()._prepare()
        before = array.identity(convert_to_tensor(self._global_step))
        step = elementwise.cast(before, dtypes.float32) + 1.0
        self._power_now = {
            name: elementwise.pow(self._scalars[name](dtypes.float32), step)
            for name in ("beta1", "beta2")
        }


class LazyAdamGSOptimizer(AdamGSOptimizer):
    """AdamGSOptimizer, in which a sparse gradient leaves the moments of the rows it lacks alone."""

    _sparse_touches_only_rows = True


class RegAdagradOptimizer(AdagradOptimizer):
    """Adagrad with steps that leave the accumulator alone, such as those of a regularization loss.

    The arguments are those of tf.train.AdagradOptimizer.
    """

    _updates_slots = True

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "RegAdagrad",
    ) -> None:
        super().__init__(learning_rate, initial_accumulator_value, use_locking, name)

    @contextlib.contextmanager
    def avoid_updating_slots(self) -> Iterator[None]:
        """Operations that are built in this context divide by the root of the accumulator as it
        is, and do not change it."""
        before, self._updates_slots = self._updates_slots, False
        try:
            yield
        finally:
            self._updates_slots = before

    def _update(
        self, parameter: Tensor, gradient: Tensor, slots: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        if self._updates_slots:
            return super()._update(parameter, gradient, slots)
        (rate,) = self._hyperparameters(parameter.dtype)
        kept = slots["accumulator"]
        return {"": parameter - rate * gradient / elementwise.sqrt(kept), "accumulator": kept}
