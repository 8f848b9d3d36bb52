"""The training operation: gradients, changed on their way, applied; and their summaries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from graphio.framework import scopes
from graphio.framework.collections import GraphKeys, add_to_collection, get_collection
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.indexed_slices import IndexedSlices
from graphio.ops.checks import check
from graphio.ops.control_flow.branches import no_op, with_dependencies
from graphio.ops.math import clip, elementwise
from graphio.summary import ops as summary
from graphio.support import api_guard, logging
from graphio.train.loops.step_counter import get_or_create_global_step
from graphio.train.optimizers.optimizer import Optimizer
from graphio.variables.variables import trainable_variables

__all__ = [
    "add_gradients_summaries",
    "clip_gradient_norms",
    "create_train_op",
    "multiply_gradients",
]

Pairs = list[tuple[Any, Any]]
#: of create_train_op: the graph's global step
_USE_GLOBAL_STEP = 0


def _changed(gradient: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(change(gradient.values), gradient.indices, gradient.dense_shape)
    return change(gradient)


@api_guard.guarded
def clip_gradient_norms(gradients_to_variables: Iterable[Any], max_norm: Any) -> Pairs:
    """Pairs of gradient and variable, each gradient scaled down to a norm where it is larger."""
    return [
        (g if g is None else _changed(g, lambda x: clip.clip_by_norm(x, max_norm)), v)
        for g, v in gradients_to_variables
    ]


@api_guard.guarded
def multiply_gradients(grads_and_vars: Any, gradient_multipliers: Any) -> Pairs:
    """Pairs of gradient and variable, some gradients multiplied.

    Args:
        grads_and_vars: list of pairs.
        gradient_multipliers: a dictionary from variables or their names to factors.

    Raises:
        ValueError: an argument is not such a list or dictionary, or a gradient to multiply is
            None.
    """
    if not isinstance(grads_and_vars, list):
        raise ValueError("`grads_and_vars` must be a list.")
    if not gradient_multipliers:
        raise ValueError("`gradient_multipliers` is empty.")
    if not isinstance(gradient_multipliers, dict):
        raise ValueError("`gradient_multipliers` must be a dict.")
    found: Pairs = []
    for gradient, variable in grads_and_vars:
        by_name = gradient_multipliers.get(variable.op.name)
        factor = gradient_multipliers.get(variable, by_name)
        if factor is not None:
            if gradient is None:
                raise ValueError(f"Requested multiple of `None` gradient: {variable.op.name}")
            scale = convert_to_tensor(factor, dtype=gradient.dtype)
            gradient = _multiplied(gradient, scale)
        found.append((gradient, variable))
    return found


def _multiplied(gradient: Any, scale: Tensor) -> Any:
    return _changed(gradient, lambda x: elementwise.multiply(x, scale))


@api_guard.guarded
def add_gradients_summaries(grads_and_vars: Iterable[Any]) -> list[Tensor]:
    """A histogram and the norm of each gradient."""
    found = []
    for gradient, variable in grads_and_vars:
        if gradient is None:
            logging.info("Var %s has no gradient", variable.op.name)
            continue
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        name = f"{variable.op.name}/gradient"
        found.append(summary.histogram(name, values))
        found.append(summary.scalar(f"{name}_norm", clip.global_norm([values])))
    return found


@api_guard.makes_variables
def create_train_op(
    total_loss: Any,
    optimizer: Optimizer,
    global_step: Any = _USE_GLOBAL_STEP,
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
        total_loss: a scalar.
        global_step: a variable; the default is the graph's, made if there is none; None: no
            steps are counted.
        update_ops: operations to run before the loss; None: the collection UPDATE_OPS.
        variables_to_train: None: the trainable ones.
        clip_gradient_norm: limit of each gradient's norm; 0: none.
        summarize_gradients: whether to summarize each gradient.
        gate_gradients, aggregation_method, colocate_gradients_with_ops: as
            Optimizer.compute_gradients's.
        gradient_multipliers: as multiply_gradients's, before the limit; None: none.
        check_numerics: whether a loss that is not finite is an error in a run.

    Raises:
        ValueError: gradient_multipliers is not a dictionary.
        AssertionError: there is no variable to train, or one that is not trainable.
        InvalidArgumentError: in a run, the loss is infinite or not a number.
    """
    if global_step is _USE_GLOBAL_STEP:
        global_step = get_or_create_global_step()
    total_loss = _after_updates(convert_to_tensor(total_loss), update_ops)
    trained = _to_train(variables_to_train)
    pairs: Pairs = optimizer.compute_gradients(
        total_loss,
        trained,
        gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
    )
    if gradient_multipliers:
        with scopes.name_scope("multiply_grads"):
            pairs = multiply_gradients(pairs, gradient_multipliers)
    if clip_gradient_norm > 0:
        with scopes.name_scope("clip_grads"):
            pairs = clip_gradient_norms(pairs, clip_gradient_norm)
    if summarize_gradients:
        with scopes.name_scope("summarize_grads"):
            add_gradients_summaries(pairs)
    applied = optimizer.apply_gradients(pairs, global_step=global_step)
    with scopes.name_scope("train_op"):
        if check_numerics:
            total_loss = _finite(total_loss)
        train_op: Tensor = with_dependencies([applied], total_loss)
    add_to_collection(GraphKeys.TRAIN_OP, train_op)
    return train_op


def _finite(loss: Tensor) -> Tensor:
    return check.check_numerics(loss, "LossTensor is inf or nan")


def _after_updates(loss: Tensor, update_ops: Any) -> Tensor:
    collected = list(dict.fromkeys(get_collection(GraphKeys.UPDATE_OPS)))
    updates = collected if update_ops is None else list(dict.fromkeys(update_ops))
    if any(not any(op is given for given in updates) for op in collected):
        logging.warning(
            "update_ops in create_train_op does not contain all the update_ops in "
            "GraphKeys.UPDATE_OPS"
        )
    if not updates:
        return loss
    with scopes.control_dependencies(updates):
        barrier = no_op(name="update_barrier")
    after: Tensor = with_dependencies([barrier], loss)
    return after


def _to_train(given: Any) -> list[Any]:
    trainable = trainable_variables()
    if given is None:
        given = trainable
    for v in given:
        if not (getattr(v, "trainable", False) or any(v is other for other in trainable)):
            raise AssertionError(f"create_train_op: {v.op.name} is not trainable")
    if not given:
        raise AssertionError("create_train_op: there are no variables to train")
    return list(given)
