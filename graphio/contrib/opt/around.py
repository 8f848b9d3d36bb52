"""Optimizers around others: averages of variables, limits of their norms; LARS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphio.framework import scopes
from graphio.framework.graph import Tensor
from graphio.framework.indexed_slices import IndexedSlices
from graphio.ops.array import surface as array
from graphio.ops.control_flow.branches import group
from graphio.ops.linalg.norms import norm
from graphio.ops.math import clip, comparison
from graphio.train.checkpoints.saver import Saver
from graphio.train.optimizers.delegating import DelegatingOptimizer
from graphio.train.optimizers.moving_averages import ExponentialMovingAverage
from graphio.train.optimizers.optimizer import Optimizer
from graphio.variables.variables import Variable, global_variables

__all__ = ["LARSOptimizer", "MovingAverageOptimizer", "VariableClippingOptimizer"]


class MovingAverageOptimizer(Optimizer):
    """Another optimizer, whose variables have moving averages.

    Args:
        opt: the optimizer.
        average_decay: what an average keeps of itself.
        num_updates: variable that counts updates, for a smaller decay at the beginning.
        sequential_update: whether the averages follow the variables' new values.
    """

    def __init__(
        self,
        opt: Optimizer,
        average_decay: Any = 0.9999,
        num_updates: Any = None,
        sequential_update: bool = True,
    ) -> None:
        super().__init__(False, opt.get_name())
        self._optimizer = opt
        self._ema = ExponentialMovingAverage(average_decay, num_updates=num_updates)
        self._sequential = sequential_update
        self._swapped: dict[str, Variable] | None = None

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """The other optimizer's."""
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: Any = None
    ) -> Any:
        """The other optimizer's, and the updates of the averages."""
        pairs = list(grads_and_vars)
        train = self._optimizer.apply_gradients(pairs, global_step=global_step, name=name)
        trained = [variable for gradient, variable in pairs if gradient is not None]
        with scopes.control_dependencies([train] if self._sequential else []):
            averaged = self._ema.apply(trained)
        self._swapped = {}
        for variable in trained:
            average: Any = self._ema.average(variable)
            self._swapped[variable.op.name] = average
            self._swapped[average.op.name] = variable
        return group(train, averaged, name="train_with_avg")

    def swapping_saver(
        self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any
    ) -> Saver:
        """A Saver that saves the averages under the variables' names, and the reverse.

        Args:
            var_list: variables, or a dictionary of them by name; None: all.
            kwargs: of Saver.

        Raises:
            RuntimeError: there are no averages: apply_gradients was not called.
            ValueError: var_list lacks an average or its variable.
        """
        if self._swapped is None:
            raise RuntimeError(
                "Must call apply_gradients or minimize before creating the swapping_saver"
            )
        given = global_variables() if var_list is None else var_list
        named = dict(given) if isinstance(given, Mapping) else {v.op.name: v for v in given}
        found = {}
        for key, variable in named.items():
            other = self._swapped.get(key)
            if other is not None and other.op.name not in named:
                raise ValueError(
                    f"Variable to swap {other.op.name} is not part of variables to save. This "
                    "breaks MovingAverageOptimizer."
                )
            found[key] = variable if other is None else named[other.op.name]
        return Saver(found, name=name, **kwargs)


class VariableClippingOptimizer(DelegatingOptimizer):
    """Another optimizer, after whose steps the norms of some variables are limited.

    Args:
        opt: the optimizer.
        vars_to_clip_dims: from variables to the axes of their norms.
        max_norm: the limit.
        use_locking, colocate_clip_ops_with_vars: accepted; a run has no races and no devices.
        name: of the training operation.
    """

    def __init__(
        self,
        opt: Optimizer,
        vars_to_clip_dims: Mapping[Any, Sequence[int]],
        max_norm: float,
        use_locking: bool = False,
        colocate_clip_ops_with_vars: bool = False,
        name: str = "VariableClipping",
    ) -> None:
        super().__init__(opt, use_locking, name)
        self._max_norm = max_norm
        self._dims = {var: list(dims) for var, dims in vars_to_clip_dims.items()}

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: Any = None
    ) -> Any:
        """The other optimizer's, and the limits."""
        pairs = list(grads_and_vars)
        with scopes.name_scope(name, self._name) as scope:
            done = [self._opt.apply_gradients(pairs, global_step=global_step)]
            with scopes.control_dependencies(list(done)):
                for gradient, variable in pairs:
                    if gradient is not None and variable in self._dims:
                        done.append(self._limit(variable))
            return group(*done, name=scope)

    def _limit(self, variable: Variable) -> Any:
        with scopes.name_scope(f"clip_{variable.op.name}"):
            value = variable.read_value()
            return variable.assign(clip.clip_by_norm(value, self._max_norm, self._dims[variable]))


class LARSOptimizer(Optimizer):
    """Momentum whose rate is scaled for each variable by norms (You, Gitman and Ginsburg 2017).

    rate = learning_rate * eeta * |v| / (|g| + weight_decay * |v| + epsilon), and g gets
    weight_decay * v; both only where neither norm is 0.

    Args:
        learning_rate, momentum, weight_decay, eeta, epsilon: numbers.
        name: of the training operation.
        skip_list: parts of names of variables whose rate is learning_rate, without weight decay.
        use_nesterov: whether momentum is Nesterov's.

    Raises:
        ValueError: momentum or weight_decay is negative.
    """

    _sparse_touches_only_rows = True

    def __init__(
        self,
        learning_rate: Any,
        momentum: float = 0.9,
        weight_decay: float = 0.0001,
        eeta: float = 0.001,
        epsilon: float = 0.0,
        name: str = "LARSOptimizer",
        skip_list: Sequence[str] | None = None,
        use_nesterov: bool = False,
    ) -> None:
        for argument, value in (("momentum", momentum), ("weight_decay", weight_decay)):
            if value < 0.0:
                raise ValueError(f"{argument} should be positive: {value}")
        super().__init__(False, name)
        self._slot_values = {"momentum": (name, 0.0)}
        self._given = {"learning_rate": learning_rate, "momentum": momentum}
        self._weight_decay, self._eeta, self._epsilon = weight_decay, eeta, epsilon
        self._skip_list, self._nesterov = skip_list or (), use_nesterov
        self._scales = True

    def compute_lr(self, grad: Any, var: Variable) -> tuple[Any, Any]:
        """The rate of a variable, and its gradient with weight decay.

        Args:
            grad: a tensor.
            var: the variable; where skip_list has a part of its name, the results are the learning
                rate and grad.
        """
        rate = self._given["learning_rate"]
        if self._is_skipped(var):
            return rate, grad
        now = var.read_value()
        return rate * self._trust(now, grad), grad + self._weight_decay * now

    def _is_skipped(self, variable: Variable) -> bool:
        return any(part in variable.name for part in self._skip_list)

    def _apply(self, gradient: Any, variable: Variable) -> list[Any]:
        sparse = isinstance(gradient, IndexedSlices)
        self._scales = not sparse and not self._is_skipped(variable)
        return super()._apply(gradient, variable)

    def _update(
        self, parameter: Tensor, gradient: Tensor, slots: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        rate, momentum = self._hyperparameters(parameter.dtype)
        if self._scales:
            rate = rate * self._trust(parameter, gradient)
            gradient = gradient + self._weight_decay * parameter
        scaled = gradient * rate
        velocity = slots["momentum"] * momentum + scaled
        step = scaled + velocity * momentum if self._nesterov else velocity
        return {"": parameter - step, "momentum": velocity}

    def _trust(self, parameter: Tensor, gradient: Tensor) -> Tensor:
        ours, theirs = norm(parameter, ord=2), norm(gradient, ord=2)
        ratio = self._eeta * ours / (theirs + self._weight_decay * ours + self._epsilon)
        both = comparison.logical_and(
            comparison.greater(ours, 0.0), comparison.greater(theirs, 0.0)
        )
        return array.where(both, ratio, array.ones_like(ratio))
