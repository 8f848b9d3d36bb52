"""Optimizers that scale each element's step by its past gradients: RMSProp, Adagrad, Adadelta.

The updates are compositions of elementwise nodes, in the order that the docstrings give. A sparse
gradient changes only the rows that it has, parameters and slots alike; those of rows that are
looked up inside a loop or a branch are dense.
"""

from __future__ import annotations

from typing import Any

from graphio.framework.graph import Tensor
from graphio.ops.math import elementwise
from graphio.train.optimizers.optimizer import Optimizer

__all__ = ["AdadeltaOptimizer", "AdagradOptimizer", "RMSPropOptimizer", "positive"]


def positive(value: float, name: str) -> float:
    """value, if it is greater than 0.

    Raises:
        ValueError: it is not.
    """
    if not value > 0:
        raise ValueError(f"{name} must be positive: {value}")
    return value


class RMSPropOptimizer(Optimizer):
    """RMSProp (Tieleman and Hinton 2012) in TensorFlow's form.

    rms += (g*g - rms)(1 - decay); mom = momentum * mom + learning_rate * g / sqrt(rms + epsilon);
    variable -= mom. Centered (Graves 2013) also keeps mg += (g - mg)(1 - decay) and takes the root
    of rms - mg*mg + epsilon. The slot "rms" starts at 1; "mg" (when centered) and "momentum" at 0.

    Args:
        learning_rate: number, scalar tensor, or a callable that gives one.
        decay: of the mean square, likewise.
        momentum: likewise.
        epsilon: likewise; inside the root.
        use_locking: accepted; a run has no races.
        centered: whether to divide by the gradient's deviation, not by its mean square.
        name: of the training operation.
    """

    _sparse_touches_only_rows = True

    def __init__(
        self,
        learning_rate: Any,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self._slot_values = {"rms": (name, 1.0)}
        if centered:
            self._slot_values["mg"] = (name, 0.0)
        self._slot_values["momentum"] = (name, 0.0)
        self._given = {
            "learning_rate": learning_rate,
            "decay": decay,
            "momentum": momentum,
            "epsilon": epsilon,
        }

    def _update(
        self, parameter: Tensor, gradient: Tensor, slots: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        rate, decay, momentum, epsilon = self._hyperparameters(parameter.dtype)
        fresh = 1 - decay
        after = {"rms": slots["rms"] + (gradient * gradient - slots["rms"]) * fresh}
        spread = after["rms"] + epsilon
        if "mg" in slots:
            after["mg"] = slots["mg"] + (gradient - slots["mg"]) * fresh
            spread = after["rms"] - after["mg"] * after["mg"] + epsilon
        step = slots["momentum"] * momentum + rate * gradient / elementwise.sqrt(spread)
        return {"": parameter - step, **after, "momentum": step}


class AdagradOptimizer(Optimizer):
    """Adagrad (Duchi et al. 2011): a += g*g; variable -= learning_rate * g / sqrt(a).

    There is no epsilon: the slot "accumulator" starts above 0.

    Args:
        learning_rate: number, scalar tensor, or a callable that gives one.
        initial_accumulator_value: where the accumulator starts; greater than 0.
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
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        super().__init__(use_locking, name)
        start = positive(initial_accumulator_value, "initial_accumulator_value")
        self._slot_values = {"accumulator": (name, start)}
        self._given = {"learning_rate": learning_rate}

    def _update(
        self, parameter: Tensor, gradient: Tensor, slots: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        (rate,) = self._hyperparameters(parameter.dtype)
        total = slots["accumulator"] + gradient * gradient
        return {"": parameter - rate * gradient / elementwise.sqrt(total), "accumulator": total}


class AdadeltaOptimizer(Optimizer):
    """Adadelta (Zeiler 2012) in TensorFlow's form.

    a = rho * a + (1 - rho) * g*g; step = sqrt(u + epsilon) / sqrt(a + epsilon) * g;
    variable -= learning_rate * step; u = rho * u + (1 - rho) * step*step. The slots "accum" (a)
    and "accum_update" (u) start at 0.

    Args:
        learning_rate: number, scalar tensor, or a callable that gives one; the paper's is 1.
        rho: decay of both means, likewise.
        epsilon: likewise; inside the roots.
        use_locking: accepted; a run has no races.
        name: of the training operation.
    """

    _sparse_touches_only_rows = True

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        self._slot_values = {"accum": (name, 0.0), "accum_update": (name, 0.0)}
        self._given = {"learning_rate": learning_rate, "rho": rho, "epsilon": epsilon}

    def _update(
        self, parameter: Tensor, gradient: Tensor, slots: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        rate, rho, epsilon = self._hyperparameters(parameter.dtype)
        fresh = 1 - rho
        squares = slots["accum"] * rho + gradient * gradient * fresh
        size = elementwise.sqrt(slots["accum_update"] + epsilon)
        step = size / elementwise.sqrt(squares + epsilon) * gradient
        steps = slots["accum_update"] * rho + step * step * fresh
        return {"": parameter - rate * step, "accum": squares, "accum_update": steps}
