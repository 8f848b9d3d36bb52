"""Gradients of earlier values of their variables: dropped, or corrected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.indexed_slices import IndexedSlices
from graphio.ops.array import surface as array
from graphio.ops.control_flow.branches import cond
from graphio.ops.math import comparison, elementwise
from graphio.summary import ops as summary
from graphio.train.loops.step_counter import get_global_step
from graphio.train.optimizers.delegating import DelegatingOptimizer
from graphio.train.optimizers.optimizer import Optimizer
from graphio.variables.initializers import zeros_initializer
from graphio.variables.variable_scope import get_variable
from graphio.variables.variables import Variable

__all__ = ["DelayCompensatedGradientDescentOptimizer", "DropStaleGradientOptimizer"]


class DropStaleGradientOptimizer(DelegatingOptimizer):
    """Another optimizer, which drops gradients if the global step has grown since their loss.

    The variable stale_counter counts what was dropped; a summary has its share of the steps.

    Args:
        opt: the optimizer.
        staleness: the largest growth of the global step at which gradients are applied.
        use_locking: accepted; a run has no races.
        name: of the optimizer.
    """

    def __init__(
        self,
        opt: Optimizer,
        staleness: int,
        use_locking: bool = False,
        name: str = "DropStaleGradient",
    ) -> None:
        super().__init__(opt, use_locking, name)
        self._staleness = staleness
        self._begun: Tensor | None = None

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> Any:
        """The other optimizer's, after the global step was read.

        Raises:
            TypeError: there is no global step.
        """
        step: Any = get_global_step()
        if step is None:
            raise TypeError(
                f"{self._name}: there is no global step; make it by "
                "tf.train.get_or_create_global_step() before compute_gradients"
            )
        self._begun = step.read_value() + 0
        with scopes.control_dependencies([self._begun]):
            return super().compute_gradients(array.identity(loss), *args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: Any = None
    ) -> Any:
        """The new value of stale_counter, after the other optimizer's update or without it.

        Raises:
            ValueError: global_step is None, or compute_gradients was not called.
        """
        if global_step is None or self._begun is None:
            raise ValueError(
                f"{self._name}: apply_gradients needs global_step, after compute_gradients"
            )
        pairs = list(grads_and_vars)
        counter = get_variable(
            "stale_counter", [], initializer=zeros_initializer(), trainable=False
        )
        known = [g.values if isinstance(g, IndexedSlices) else g for g, _ in pairs if g is not None]

        def applied() -> Tensor:
            train = self._opt.apply_gradients(pairs, global_step=global_step, name=name)
            with scopes.control_dependencies([train]):
                return array.identity(convert_to_tensor(0.0))

        with scopes.control_dependencies(known):
            growth = array.reshape(global_step.read_value() - self._begun, [])
        fresh = comparison.less_equal(growth, self._staleness)
        counted = counter.assign_add(cond(fresh, applied, lambda: convert_to_tensor(1.0)))
        steps = elementwise.cast(global_step.read_value() + 1, counted.dtype)
        summary.scalar("Gradient staleness percentage", counter.read_value() / steps)
        return counted


class DelayCompensatedGradientDescentOptimizer(Optimizer):
    """variable -= learning_rate * (g + variance_parameter * g * g * (variable - shadow)).

    shadow is the variable after the worker's last step (Zheng and others 2017); slots shadow_0,
    shadow_1 ... have it for each worker, and begin with the variable's initial value.

    Args:
        learning_rate, variance_parameter: numbers or scalar tensors.
        num_workers: number of shadows.
        use_locking: accepted; a run has no races.
        name: of the training operation.

    Raises:
        ValueError: num_workers is less than 1.
        NotImplementedError: a gradient is sparse.
    """

    def __init__(
        self,
        learning_rate: Any,
        variance_parameter: Any,
        num_workers: int = 1,
        use_locking: bool = False,
        name: str = "DelayCompensatedGradientDescent",
    ) -> None:
        if num_workers <= 0:
            raise ValueError(f"num_workers must be positive: {num_workers}")
        super().__init__(use_locking, name)
        self._given = {"learning_rate": learning_rate, "lambda": variance_parameter}
        self._num_workers, self._worker = num_workers, 0

    def minimize(
        self, loss: Any, *args: Any, worker_index: int | None = None, **kwargs: Any
    ) -> Any:
        """As tf.train.Optimizer.minimize.

        Args:
            worker_index: whose shadow is meant; None: 0.

        Raises:
            ValueError: worker_index is not below num_workers.
        """
        with self._of_worker(worker_index):
            return super().minimize(loss, *args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, *args: Any, worker_index: int | None = None, **kwargs: Any
    ) -> Any:
        """As tf.train.Optimizer.apply_gradients; worker_index as of minimize."""
        with self._of_worker(self._worker if worker_index is None else worker_index):
            return super().apply_gradients(grads_and_vars, *args, **kwargs)

    @contextmanager
    def _of_worker(self, worker_index: int | None) -> Iterator[None]:
        """worker_index holds for the updates that are built in this context."""
        before, worker = self._worker, worker_index or 0
        if not 0 <= worker < self._num_workers:
            raise ValueError(
                f"worker index must be in the range [0, {self._num_workers}): {worker_index}"
            )
        self._worker = worker
        try:
            yield
        finally:
            self._worker = before

    def _create_slots(self, variables: Sequence[Variable]) -> None:
        for number in range(self._num_workers):
            for variable in variables:
                first = array.identity(variable.initialized_value())
                self._get_or_make_slot(variable, first, f"shadow_{number}", self._name)

    def _apply_dense(self, grad: Tensor, var: Variable) -> Any:
        rate, variance = self._hyperparameters(var.dtype.base_dtype)
        shadow = self.get_slot(var, f"shadow_{self._worker}")
        now = var.read_value()
        change = grad + variance * grad * grad * (now - shadow.read_value())
        return shadow.assign(var.assign(now - rate * change))
