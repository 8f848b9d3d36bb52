"""Loss scales: a loss is multiplied, its gradients divided, so that small ones stay above 0."""

from __future__ import annotations

import abc
from typing import Any

from graphio.framework import dtypes, nest
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Graph, Operation, Tensor
from graphio.framework.indexed_slices import IndexedSlices
from graphio.framework.modes import init_scope
from graphio.framework.scopes import get_default_graph
from graphio.ops.array import surface as array
from graphio.ops.control_flow.branches import cond, group, no_op
from graphio.ops.math import comparison, elementwise, reduction
from graphio.train.optimizers.optimizer import Optimizer
from graphio.variables.variables import Variable

__all__ = [
    "DynamicLossScale",
    "FixedLossScale",
    "LossScale",
    "MixedPrecisionLossScaleOptimizer",
]


class LossScale(abc.ABC):
    """Base class: a call gives the scale, `update` changes it."""

    _tracks_attributes = True  # by tf.train.Checkpoint

    def __init__(self) -> None:
        self._weights: dict[tuple[str, Graph], Variable] = {}

    @abc.abstractmethod
    def __call__(self) -> Tensor:
        """The scale, a float32 scalar."""

    @abc.abstractmethod
    def update(self, grads: Any) -> tuple[Operation, Any]:
        """An operation that changes the scale, and whether the gradients are to be applied.

        Args:
            grads: structure of gradients, already divided by the scale; None is ignored.

        Returns:
            (the operation, a bool or a bool scalar tensor).
        """

    def get_config(self) -> dict[str, Any]:
        """The arguments of the class."""
        raise NotImplementedError

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """A scale by get_config's arguments."""
        return cls(**config)

    def _add_weight(self, name: str, initial_value: Any, dtype: Any = None) -> Variable:
        """A variable of the scale's own.

        Raises:
            RuntimeError: the graph has one of that name.
        """
        key = name, get_default_graph().root
        if key in self._weights:
            raise RuntimeError(f"Duplicate variables detected. {key}")
        with init_scope():
            made = Variable(initial_value, trainable=False, name=name, dtype=dtype)
        self._weights[key] = made
        return made

    def _tracked_children(self) -> dict[str, Variable]:
        """The variables of the default graph, for tf.train.Checkpoint."""
        here = get_default_graph().root
        return {name: v for (name, graph), v in sorted(
            self._weights.items(), key=lambda item: item[0][0]
        ) if graph is here}  # fmt: skip


class FixedLossScale(LossScale):
    """A scale that stays.

    Args:
        loss_scale_value: the scale, at least 1.

    Raises:
        ValueError: it is less, or not a number.
    """

    def __init__(self, loss_scale_value: float) -> None:
        super().__init__()
        if not isinstance(loss_scale_value, (int, float)):
            raise ValueError("loss_scale_value must be a Python int or float.")
        if loss_scale_value < 1:
            raise ValueError("loss_scale_value must be at least 1.")
        self._value = float(loss_scale_value)

    def __call__(self) -> Tensor:
        return convert_to_tensor(self._value)

    def update(self, grads: Any) -> tuple[Operation, Any]:
        """An operation that does nothing, and True."""
        return no_op(), True

    def get_config(self) -> dict[str, Any]:
        """The arguments of the class."""
        return {"loss_scale_value": self._value}

    def __repr__(self) -> str:
        return f"FixedLossScale({self._value})"


class DynamicLossScale(LossScale):
    """A scale that grows while gradients are finite, and shrinks when one is not.

    The variables current_loss_scale and good_steps keep its state.

    Args:
        initial_loss_scale: the first scale.
        increment_period: number of finite steps, one after the other, after which it grows.
        multiplier: factor when it grows, and divisor when it shrinks, to 1 at least.
    """

    def __init__(
        self,
        initial_loss_scale: float = 2.0**15,
        increment_period: int = 2000,
        multiplier: float = 2.0,
    ) -> None:
        super().__init__()
        self._first = float(initial_loss_scale)
        self._period, self._multiplier = int(increment_period), float(multiplier)
        self._scale = self._add_weight("current_loss_scale", self._first, dtypes.float32)
        self._steps = self._add_weight("good_steps", 0, dtypes.int64)

    @property
    def initial_loss_scale(self) -> float:
        """The first scale."""
        return self._first

    @property
    def increment_period(self) -> int:
        """Number of finite steps after which it grows."""
        return self._period

    @property
    def multiplier(self) -> float:
        """Factor when it grows."""
        return self._multiplier

    def __call__(self) -> Tensor:
        return convert_to_tensor(self._scale)

    def update(self, grads: Any) -> tuple[Operation, Any]:
        """An operation that changes the scale, and whether all gradients are finite."""
        finite = _all_finite(nest.flatten(grads))
        scale, steps = self._scale.read_value(), self._steps.read_value()
        grown = scale * self._multiplier
        due = comparison.greater_equal(steps + 1, self._period)
        grows = comparison.logical_and(due, elementwise.is_finite(grown))
        kept = array.where(grows, grown, scale)
        shrunk = elementwise.maximum(scale / self._multiplier, 1.0)
        counted = array.where(due, array.zeros_like(steps), steps + 1)
        change = group(
            self._scale.assign(array.where(finite, kept, shrunk)),
            self._steps.assign(array.where(finite, counted, array.zeros_like(steps))),
        )
        return change, finite

    def get_config(self) -> dict[str, Any]:
        """The arguments of the class."""
        return {
            "initial_loss_scale": self._first,
            "increment_period": self._period,
            "multiplier": self._multiplier,
        }

    def __repr__(self) -> str:
        return (
            f"DynamicLossScale(initial_loss_scale={self._first}, "
            f"increment_period={self._period}, multiplier={self._multiplier})"
        )


def _all_finite(gradients: list[Any]) -> Tensor:
    found = [
        reduction.reduce_all(elementwise.is_finite(g.values if isinstance(g, IndexedSlices) else g))
        for g in gradients
        if g is not None
    ]
    return reduction.reduce_all(array.stack(found)) if found else convert_to_tensor(True)


def _of(given: Any) -> LossScale:
    """A scale: itself, a number's, or of "dynamic".

    Raises:
        ValueError: it is something else.
    """
    if isinstance(given, LossScale):
        return given
    if given == "dynamic":
        return DynamicLossScale()
    if isinstance(given, (int, float)):
        return FixedLossScale(given)
    raise ValueError(f"Could not interpret loss scale identifier: {given}")


class MixedPrecisionLossScaleOptimizer(Optimizer):
    """Another optimizer, of a loss that is multiplied by a scale.

    Gradients are divided by the scale. With a DynamicLossScale, a step with a gradient that is not
    finite changes nothing but the scale.

    Args:
        opt: the optimizer.
        loss_scale: a LossScale, a number, or "dynamic".

    Raises:
        ValueError: opt is not an Optimizer, or loss_scale something else.
    """

    def __init__(self, opt: Optimizer, loss_scale: Any) -> None:
        if not isinstance(opt, Optimizer):
            raise ValueError(
                f'"opt" must be an instance of Optimizer, but got: {type(opt).__name__}'
            )
        super().__init__(False, opt.get_name())
        self._optimizer, self._loss_scale = opt, _of(loss_scale)

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> Any:
        """The other optimizer's of the scaled loss, divided by the scale."""
        scale = self._loss_scale()
        given = loss() if callable(loss) else loss
        scaled = given * elementwise.cast(scale, given.dtype)
        pairs = self._optimizer.compute_gradients(scaled, *args, **kwargs)
        inverse = 1.0 / scale
        return [(None if g is None else _times(g, inverse), v) for g, v in pairs]

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """The other optimizer's, if the scale allows it, and the update of the scale."""
        pairs = list(grads_and_vars)
        if not isinstance(self._loss_scale, DynamicLossScale):
            return self._optimizer.apply_gradients(pairs, global_step, name)
        title = name or self.get_name()
        change, finite = self._loss_scale.update([g for g, _ in pairs])

        def applied() -> Operation:
            return self._optimizer.apply_gradients(pairs, global_step, f"{title}-wrapped")

        return group(cond(finite, applied, no_op), change, name=title)

    def _tracked_children(self) -> dict[str, Any]:
        """The parts that tf.train.Checkpoint saves."""
        return {"base_optimizer": self._optimizer, "loss_scale": self._loss_scale}


def _times(gradient: Any, factor: Tensor) -> Any:
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(
            gradient.values * elementwise.cast(factor, gradient.values.dtype),
            gradient.indices,
            gradient.dense_shape,
        )
    return gradient * elementwise.cast(factor, gradient.dtype)
