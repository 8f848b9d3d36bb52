"""Losses of several tasks: a gradient of zeros alone leaves its variable and slots alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from graphio.framework.graph import Operation, Tensor
from graphio.framework.indexed_slices import IndexedSlices
from graphio.ops.control_flow.branches import cond, group, no_op
from graphio.ops.math import clip, comparison, reduction
from graphio.support import api_guard
from graphio.train.optimizers.optimizer import Optimizer
from graphio.variables.variables import Variable

__all__ = ["MultitaskOptimizerWrapper", "clip_gradients_by_global_norm"]


class MultitaskOptimizerWrapper:
    """An optimizer that ignores gradients of zeros alone, such as those of an absent task.

    Everything else is the other optimizer's, which ignores them from then on, too.

    Args:
        opt: the optimizer.

    Raises:
        TypeError: opt is not an Optimizer.
    """

    def __init__(self, opt: Optimizer) -> None:
        if not isinstance(opt, Optimizer):
            raise TypeError("Supplied optimizer must be an instance of tf.train.Optimizer")
        self._opt = opt
        apply = opt._apply

        def apply_unless_zero(gradient: Any, variable: Variable) -> list[Any]:
            def applied() -> Operation:
                return group(*apply(gradient, variable))

            return [cond(_is_all_zeros(gradient), no_op, applied)]

        opt._apply = apply_unless_zero  # type: ignore[method-assign]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opt, name)


def _is_all_zeros(gradient: Any) -> Tensor:
    values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
    return comparison.equal(reduction.count_nonzero(values), 0)


@api_guard.unguarded
def clip_gradients_by_global_norm(
    gradients_variables: Iterable[tuple[Any, Any]], clip_norm: Any = 20.0
) -> tuple[list[tuple[Any, Any]], Tensor]:
    """Pairs whose gradients are scaled so that their global norm is at most clip_norm.

    Gradients of zeros alone stay that, so that MultitaskOptimizerWrapper ignores them.

    Args:
        gradients_variables: pairs (gradient, variable).
        clip_norm: the largest norm.

    Returns:
        (the pairs, the global norm before).
    """
    gradients, variables = zip(*gradients_variables, strict=True)
    clipped, norm = clip.clip_by_global_norm(list(gradients), clip_norm)
    return list(zip(clipped, variables, strict=True)), norm
