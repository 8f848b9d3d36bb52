"""The step of a training: gradients, changed on their way, applied; and the loop over steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from graphio.framework import scopes
from graphio.framework.collections import GraphKeys
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.indexed_slices import IndexedSlices
from graphio.ops.checks.check import check_numerics as finite
from graphio.ops.control_flow.branches import no_op, with_dependencies
from graphio.ops.math import clip
from graphio.summary import ops as summary
from graphio.support import api_guard, logging
from graphio.train.loops.monitored_session import MonitoredTrainingSession
from graphio.train.loops.step_counter import get_or_create_global_step
from graphio.train.optimizers.optimizer import Optimizer
from graphio.variables.variables import trainable_variables

__all__ = [
    "USE_GLOBAL_STEP",
    "Pairs",
    "add_gradients_summaries",
    "clip_gradient_norms",
    "clip_gradient_norms_fn",
    "create_train_op",
    "multiply_gradients",
    "summaries",
    "train",
]

Pairs = list[tuple[Any, Any]]
#: of create_train_op: the graph's global step
USE_GLOBAL_STEP = 0


def _changed(gradient: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(change(gradient.values), gradient.indices, gradient.dense_shape)
    return change(gradient)


@api_guard.guarded
def add_gradients_summaries(grads_and_vars: Iterable[Any]) -> list[Tensor]:
    """Summaries of gradients: of each, a histogram NAME_gradient and its norm NAME_gradient_norm.

    Args:
        grads_and_vars: pairs of gradient and variable; a gradient that is None is skipped.
    """
    return summaries(grads_and_vars, "_gradient")


def summaries(grads_and_vars: Iterable[Any], suffix: str) -> list[Tensor]:
    """As add_gradients_summaries, with a suffix of the variables' names."""
    found = []
    for gradient, variable in grads_and_vars:
        if gradient is None:
            logging.info("Var %s has no gradient", variable.op.name)
            continue
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        name = f"{variable.op.name}{suffix}"
        found.append(summary.histogram(name, values))
        found.append(summary.scalar(f"{name}_norm", clip.global_norm([values])))
    return found


@api_guard.guarded
def clip_gradient_norms(gradients_to_variables: Iterable[Any], max_norm: Any) -> Pairs:
    """Pairs of gradient and variable, each gradient scaled down to a norm where it is larger.

    Args:
        gradients_to_variables: the pairs.
        max_norm: the norm.
    """
    return [
        (g if g is None else _changed(g, lambda x: clip.clip_by_norm(x, max_norm)), v)
        for g, v in gradients_to_variables
    ]


@api_guard.unguarded
def clip_gradient_norms_fn(max_norm: Any) -> Callable[[Iterable[Any]], Pairs]:
    """clip_gradient_norms as a function of the pairs, for create_train_op's transform_grads_fn."""
    return lambda gradients_to_variables: clip_gradient_norms(gradients_to_variables, max_norm)


@api_guard.guarded
def multiply_gradients(grads_and_vars: Pairs, gradient_multipliers: Mapping[Any, Any]) -> Pairs:
    """Pairs of gradient and variable, some gradients multiplied.

    Args:
        grads_and_vars: list of pairs.
        gradient_multipliers: a dictionary from variables or their names to factors.

    Raises:
        ValueError: an argument is not such a list or dictionary, or a gradient to multiply is None.
    """
    if not isinstance(grads_and_vars, list):
        raise ValueError("`grads_and_vars` must be a list.")
    if not gradient_multipliers:
        raise ValueError("`gradient_multipliers` is empty.")
    if not isinstance(gradient_multipliers, dict):
        raise ValueError("`gradient_multipliers` must be a dict.")
    return [(_multiplied(g, v, gradient_multipliers), v) for g, v in grads_and_vars]


def _multiplied(gradient: Any, variable: Any, factors: Mapping[Any, Any]) -> Any:
    factor = factors.get(variable, factors.get(variable.op.name))
    if factor is None:
        return gradient
    if gradient is None:
        raise ValueError(f"Requested multiple of `None` gradient: {variable.op.name}")
    scale = convert_to_tensor(factor, gradient.dtype)
    return _changed(gradient, lambda x: x * scale)


@api_guard.makes_variables
def create_train_op(
    total_loss: Any,
    optimizer: Optimizer,
    global_step: Any = USE_GLOBAL_STEP,
    update_ops: Any = None,
    variables_to_train: Any = None,
    transform_grads_fn: Callable[[Pairs], Pairs] | None = None,
    summarize_gradients: bool = False,
    gate_gradients: int = Optimizer.GATE_OP,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    check_numerics: bool = True,
) -> Tensor:
    """The loss, after a step of an optimizer; it is in the collection TRAIN_OP.

    Args:
        total_loss: scalar.
        optimizer: takes the step.
        global_step: a variable that counts steps; the default is the graph's, made if there is
            none; None: none is counted.
        update_ops: operations that run before the loss is computed; None: those of the collection
            UPDATE_OPS.
        variables_to_train: list of variables; None: the trainable ones.
        transform_grads_fn: from pairs of gradient and variable to such pairs; None: none.
        summarize_gradients: whether gradients get summaries.
        gate_gradients, aggregation_method, colocate_gradients_with_ops: as
            Optimizer.compute_gradients'.
        check_numerics: whether a run fails where the loss is infinite or not a number.

    Raises:
        AssertionError: there are no variables to train, or one is not trainable.
    """
    if global_step is USE_GLOBAL_STEP:
        global_step = get_or_create_global_step()
    loss = _after_updates(convert_to_tensor(total_loss), update_ops)
    pairs: Any = optimizer.compute_gradients(
        loss, _trained(variables_to_train), gate_gradients, aggregation_method,
        colocate_gradients_with_ops,
    )  # fmt: skip
    if transform_grads_fn is not None:
        pairs = transform_grads_fn(pairs)
    if summarize_gradients:
        with scopes.name_scope("summarize_grads"):
            add_gradients_summaries(pairs)
    updates = optimizer.apply_gradients(pairs, global_step=global_step)
    with scopes.name_scope("train_op"):
        if check_numerics:
            loss = finite(loss, "LossTensor is inf or nan")
        train_op: Tensor = with_dependencies([updates], loss)
    scopes.get_default_graph().add_to_collection(GraphKeys.TRAIN_OP, train_op)
    return train_op


def _after_updates(loss: Tensor, update_ops: Any) -> Tensor:
    every = list(dict.fromkeys(scopes.get_default_graph().get_collection(GraphKeys.UPDATE_OPS)))
    chosen = every if update_ops is None else list(dict.fromkeys(update_ops))
    if not set(every) <= set(chosen):
        logging.warning(
            "update_ops in create_train_op does not contain all the update_ops in "
            "GraphKeys.UPDATE_OPS"
        )
    if not chosen:
        return loss
    with scopes.control_dependencies(chosen):
        barrier = no_op(name="update_barrier")
    made: Tensor = with_dependencies([barrier], loss)
    return made


def _trained(variables: Any) -> list[Any]:
    every = trainable_variables()
    chosen = every if variables is None else list(variables)
    for variable in chosen:
        if not (variable.trainable or any(variable is other for other in every)):
            raise AssertionError(f"create_train_op: {variable.op.name} is not trainable")
    if not chosen:
        raise AssertionError("create_train_op: there are no variables to train")
    return chosen


@api_guard.guarded
def train(
    train_op: Any,
    logdir: str | None,
    master: str = "",
    is_chief: bool = True,
    scaffold: Any = None,
    hooks: Any = None,
    chief_only_hooks: Any = None,
    save_checkpoint_secs: Any = 600,
    save_summaries_steps: Any = 100,
    config: Any = None,
    max_wait_secs: float = 7200,
    run_metadata: Any = None,
) -> Any:
    """Runs a train_op until a hook ends the training.

    Args:
        train_op: of create_train_op.
        logdir: folder of checkpoints and summaries; None where neither is saved.
        master, is_chief, scaffold, hooks, chief_only_hooks, save_checkpoint_secs,
            save_summaries_steps, config, max_wait_secs: as tf.train.MonitoredTrainingSession's.
        run_metadata: as Session.run's.

    Returns:
        The last value of train_op; None if there was no step.

    Raises:
        ValueError: logdir is None, but something is to be saved.
    """
    if logdir is None and is_chief:
        kept = {
            "save_summaries_steps": save_summaries_steps,
            "save_checkpoint_secs": save_checkpoint_secs,
        }
        for what, value in kept.items():
            if value:
                raise ValueError(f"logdir cannot be None when {what} is not None")
    loss = None
    with MonitoredTrainingSession(
        master=master, is_chief=is_chief, checkpoint_dir=logdir, scaffold=scaffold, hooks=hooks,
        chief_only_hooks=chief_only_hooks, save_checkpoint_secs=save_checkpoint_secs,
        save_summaries_steps=save_summaries_steps, config=config, max_wait_secs=max_wait_secs,
    ) as session:  # fmt: skip
        while not session.should_stop():
            loss = session.run(train_op, run_metadata=run_metadata)
    return loss
