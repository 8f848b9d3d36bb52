"""Weight decay that is apart from the gradient (Loshchilov and Hutter 2017)."""

from __future__ import annotations

from typing import Any

from graphio.framework import scopes
from graphio.framework.indexed_slices import IndexedSlices
from graphio.ops.array import index
from graphio.ops.math import elementwise
from graphio.ops.state.assigning import scatter_sub
from graphio.support import api_guard
from graphio.train.optimizers.adam import AdamOptimizer
from graphio.train.optimizers.gradient_descent import MomentumOptimizer
from graphio.train.optimizers.optimizer import Optimizer
from graphio.variables.variables import Variable

__all__ = [
    "AdamWOptimizer",
    "DecoupledWeightDecayExtension",
    "MomentumWOptimizer",
    "extend_with_decoupled_weight_decay",
]


class DecoupledWeightDecayExtension:
    """A first base class of optimizers: variable -= weight_decay * variable, then their step.

    A sparse gradient decays its rows alone. The decay does not depend on the learning rate.

    Args:
        weight_decay: number, scalar tensor, or a callable that gives one.
        kwargs: of the other base class.
    """

    def __init__(self, weight_decay: Any, **kwargs: Any) -> None:
        self._weight_decay = weight_decay
        self._decayed: list[Any] | None = None
        super().__init__(**kwargs)

    def minimize(
        self, loss: Any, *arguments: Any, decay_var_list: Any = None, **options: Any
    ) -> Any:
        """As tf.train.Optimizer.minimize; decay_var_list: variables that decay, None: all."""
        # apply_gradients, which minimize calls, gets no such list
        self._decayed = list(decay_var_list) if decay_var_list else None
        try:
            return super().minimize(loss, *arguments, **options)  # type: ignore[misc]
        finally:
            self._decayed = None

    def apply_gradients(
        self, grads_and_vars: Any, *arguments: Any, decay_var_list: Any = None, **options: Any
    ) -> Any:
        """As tf.train.Optimizer.apply_gradients; decay_var_list: as of minimize."""
        if decay_var_list:
            self._decayed = list(decay_var_list)
        try:
            return super().apply_gradients(grads_and_vars, *arguments, **options)  # type: ignore[misc]
        finally:
            if decay_var_list:
                self._decayed = None

    def _apply(self, gradient: Any, variable: Variable) -> list[Any]:
        decays = self._decayed is None or any(variable is v for v in self._decayed)
        if not decays:
            return super()._apply(gradient, variable)  # type: ignore[misc, no-any-return]
        with scopes.control_dependencies([self._decay(gradient, variable)]):
            return super()._apply(gradient, variable)  # type: ignore[misc, no-any-return]

    def _decay(self, gradient: Any, variable: Variable) -> Any:
        given = self._weight_decay() if callable(self._weight_decay) else self._weight_decay
        factor = elementwise.cast(given, variable.dtype.base_dtype)
        if not isinstance(gradient, IndexedSlices):
            return variable.assign_sub(elementwise.multiply(factor, variable.read_value()))
        rows = index.gather(variable.read_value(), gradient.indices)
        return scatter_sub(variable, gradient.indices, elementwise.multiply(factor, rows))


@api_guard.unguarded
def extend_with_decoupled_weight_decay(base_optimizer: type[Optimizer]) -> type[Any]:
    """A class of optimizers with weight decay, whose first argument is weight_decay.

    Args:
        base_optimizer: the class that gets it.
    """

    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecayExtension, base_optimizer):  # type: ignore[misc, valid-type]
        """The optimizer with weight decay."""

        def __init__(self, weight_decay: Any, *args: Any, **kwargs: Any) -> None:
            self._weight_decay, self._decayed = weight_decay, None
            base_optimizer.__init__(self, *args, **kwargs)

    return OptimizerWithDecoupledWeightDecay


class MomentumWOptimizer(DecoupledWeightDecayExtension, MomentumOptimizer):
    """tf.train.MomentumOptimizer with weight decay.

    Args:
        weight_decay: number, scalar tensor, or a callable that gives one.
        learning_rate, momentum, use_locking, name, use_nesterov: as MomentumOptimizer's.
    """

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "MomentumW",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            momentum=momentum,
            use_locking=use_locking,
            name=name,
            use_nesterov=use_nesterov,
        )


class AdamWOptimizer(DecoupledWeightDecayExtension, AdamOptimizer):
    """tf.train.AdamOptimizer with weight decay.

    Args:
        weight_decay: number, scalar tensor, or a callable that gives one.
        learning_rate, beta1, beta2, epsilon, use_locking, name: as AdamOptimizer's.
    """

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "AdamW",
    ) -> None:
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            use_locking=use_locking,
            name=name,
        )
