"""The training operation as slim makes it: that of tf.contrib.training, with limits and factors of
gradients as arguments; summaries under slim's names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from graphio.contrib.training import steps
from graphio.contrib.training.steps import (
    USE_GLOBAL_STEP,
    Pairs,
    clip_gradient_norms,
    multiply_gradients,
)
from graphio.framework import scopes
from graphio.framework.graph import Tensor
from graphio.support import api_guard
from graphio.train.optimizers.optimizer import Optimizer

__all__ = [
    "add_gradients_summaries",
    "clip_gradient_norms",
    "create_train_op",
    "multiply_gradients",
]


@api_guard.guarded
def add_gradients_summaries(grads_and_vars: Iterable[Any]) -> list[Tensor]:
    """A histogram NAME/gradient and the norm NAME/gradient_norm of each gradient.

    Args:
        grads_and_vars: pairs of gradient and variable; a gradient that is None is skipped.
    """
    return steps.summaries(grads_and_vars, "/gradient")


@api_guard.makes_variables
def create_train_op(
    total_loss: Any,
    optimizer: Optimizer,
    global_step: Any = USE_GLOBAL_STEP,
    update_ops: Any = None,
    variables_to_train: Any = None,
    clip_gradient_norm: float = 0,
    summarize_gradients: bool = False,
    gate_gradients: int = Optimizer.GATE_OP,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    gradient_multipliers: Any = None,
    check_numerics: bool = True,
) -> Tensor:
    """The loss, once a step of the optimizer is done; it joins the collection TRAIN_OP.

    Args:
        clip_gradient_norm: limit of each gradient's norm; 0: none.
        gradient_multipliers: as multiply_gradients's, before the limit; None: none.
        others: as tf.contrib.training.create_train_op's.

    Raises:
        ValueError: gradient_multipliers is not a dictionary.
        AssertionError: there is no variable to train, or one that is not trainable.
        InvalidArgumentError: in a run, the loss is infinite or not a number.
    """

    def changed(pairs: Pairs) -> Pairs:
        if gradient_multipliers:
            with scopes.name_scope("multiply_grads"):
                pairs = multiply_gradients(pairs, gradient_multipliers)
        if clip_gradient_norm > 0:
            with scopes.name_scope("clip_grads"):
                pairs = clip_gradient_norms(pairs, clip_gradient_norm)
        return pairs

    return steps.create_train_op(
        total_loss, optimizer, global_step, update_ops, variables_to_train, changed,
        summarize_gradients, gate_gradients, aggregation_method, colocate_gradients_with_ops,
        check_numerics,
    )  # fmt: skip
