"""A training step in one call, and a limit of gradients that adapts to their norms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphio.contrib.layers.moving_averages import assign_moving_average
from graphio.framework import dtypes
from graphio.framework.collections import GraphKeys, get_collection
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.indexed_slices import IndexedSlices
from graphio.ops.array import surface as array
from graphio.ops.checks.assert_shapes import assert_scalar
from graphio.ops.control_flow.branches import with_dependencies
from graphio.ops.math import clip, comparison, elementwise
from graphio.ops.random import core as random
from graphio.summary import ops as summary
from graphio.support import api_guard
from graphio.train.loops.step_counter import assert_global_step, get_global_step
from graphio.train.optimizers.adam import AdamOptimizer
from graphio.train.optimizers.adaptive import AdagradOptimizer, RMSPropOptimizer
from graphio.train.optimizers.gradient_descent import GradientDescentOptimizer, MomentumOptimizer
from graphio.train.optimizers.optimizer import Optimizer
from graphio.train.optimizers.regularized import FtrlOptimizer
from graphio.variables.initializers import constant_initializer, zeros_initializer
from graphio.variables.variable_scope import get_variable, variable_scope
from graphio.variables.variables import trainable_variables

__all__ = ["OPTIMIZER_CLS_NAMES", "OPTIMIZER_SUMMARIES", "adaptive_clipping_fn", "optimize_loss"]

Pairs = list[tuple[Any, Any]]

#: optimizers by the names that optimize_loss takes
OPTIMIZER_CLS_NAMES: dict[str, Callable[..., Any]] = {
    "Adagrad": AdagradOptimizer,
    "Adam": AdamOptimizer,
    "Ftrl": FtrlOptimizer,
    "Momentum": lambda learning_rate: MomentumOptimizer(learning_rate, momentum=0.9),
    "RMSProp": RMSPropOptimizer,
    "SGD": GradientDescentOptimizer,
}
#: the summaries that optimize_loss can make
OPTIMIZER_SUMMARIES = [
    "learning_rate",
    "loss",
    "gradients",
    "gradient_norm",
    "global_gradient_norm",
]


@api_guard.makes_variables
def optimize_loss(
    loss: Any,
    global_step: Any,
    learning_rate: Any,
    optimizer: Any,
    gradient_noise_scale: float | None = None,
    gradient_multipliers: Any = None,
    clip_gradients: Any = None,
    learning_rate_decay_fn: Callable[[Any, Any], Any] | None = None,
    update_ops: Any = None,
    variables: Sequence[Any] | None = None,
    name: Any = None,
    summaries: Sequence[str] | None = None,
    colocate_gradients_with_ops: bool = False,
    increment_global_step: bool = True,
) -> Tensor:
    """The loss, once a step of an optimizer is done.

    Args:
        loss: a scalar.
        global_step: a variable; None: the graph's, if there is one.
        learning_rate: a float, which becomes a variable; a scalar tensor; or None for an
            optimizer that has its own.
        optimizer: a name of OPTIMIZER_CLS_NAMES, a class or an instance of Optimizer, or a
            function of the rate, or of nothing where the rate is None, to an instance.
        gradient_noise_scale: standard deviation of the noise that is added; None: none.
        gradient_multipliers: a dictionary from variables or their names to factors.
        clip_gradients: limit of the global norm (a float), or a function from pairs of gradient
            and variable to such pairs; None: none.
        learning_rate_decay_fn: from rate and global step to the rate to use.
        update_ops: operations to run before the loss; None: the collection UPDATE_OPS.
        variables: to train; None: the trainable ones.
        name: of the scope; None: OptimizeLoss.
        summaries: entries of OPTIMIZER_SUMMARIES; None: loss, learning_rate and
            global_gradient_norm.
        colocate_gradients_with_ops: without an effect, as there are no devices.
        increment_global_step: whether the step counts.

    Variables: `learning_rate` for a float, and those of the optimizer.

    Raises:
        ValueError: the loss is not a scalar, or an argument is not one of those above.
    """
    loss = convert_to_tensor(loss)
    assert_scalar(loss)
    if global_step is None:
        global_step = get_global_step()
    else:
        assert_global_step(global_step)
    with variable_scope(name, "OptimizeLoss", [loss, global_step]):
        updates = get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else list(update_ops)
        if updates:
            loss = with_dependencies(list(dict.fromkeys(updates)), loss)
        rate = _rate(learning_rate)
        shown = _summaries(summaries)
        if rate is not None and learning_rate_decay_fn is not None:
            if global_step is None:
                raise ValueError("global_step is required for learning_rate_decay_fn.")
            rate = learning_rate_decay_fn(rate, global_step)
            if "learning_rate" in shown:
                summary.scalar("learning_rate", rate)
        chosen = _optimizer(optimizer, rate)
        trained = trainable_variables() if variables is None else variables
        gradients: Pairs = chosen.compute_gradients(
            loss, trained, colocate_gradients_with_ops=colocate_gradients_with_ops
        )
        if gradient_noise_scale is not None:
            gradients = _noisy(gradients, gradient_noise_scale)
        if gradient_multipliers is not None:
            gradients = _multiplied(gradients, gradient_multipliers)
        gradients = _clipped(gradients, clip_gradients, shown)
        if "loss" in shown:
            summary.scalar("loss", loss)
        _summarize(gradients, clip_gradients is not None, shown)
        step = global_step if increment_global_step else None
        train = chosen.apply_gradients(gradients, global_step=step, name="train")
        done: Tensor = with_dependencies([train], loss)
        return done


def _rate(given: Any) -> Any:
    if given is None or (isinstance(given, Tensor) and given.get_shape().ndims == 0):
        return given
    if not isinstance(given, float):
        raise ValueError(
            f"Learning rate should be 0d Tensor or float. Got {given} of type {type(given)}"
        )
    if given < 0.0:
        raise ValueError(f"Invalid learning_rate {given}.")
    return get_variable(
        "learning_rate", [], trainable=False, initializer=constant_initializer(given)
    )


def _summaries(given: Sequence[str] | None) -> Sequence[str]:
    if given is None:
        return ("loss", "learning_rate", "global_gradient_norm")
    for name in given:
        if name not in OPTIMIZER_SUMMARIES:
            raise ValueError(
                f"Summaries should be one of [{', '.join(OPTIMIZER_SUMMARIES)}], you provided "
                f"{name}."
            )
    return given


def _optimizer(given: Any, rate: Any) -> Optimizer:
    if isinstance(given, Optimizer):
        return given
    by_name = isinstance(given, str)
    if by_name and given not in OPTIMIZER_CLS_NAMES:
        raise ValueError(
            f"Optimizer name should be one of [{', '.join(OPTIMIZER_CLS_NAMES)}], you provided "
            f"{given}."
        )
    of_class = isinstance(given, type) and issubclass(given, Optimizer)
    if (by_name or of_class) and rate is None:
        raise ValueError(
            f"Learning rate is None, but should be specified if optimizer is {given!r}."
        )
    if by_name:
        return OPTIMIZER_CLS_NAMES[given](learning_rate=rate)  # type: ignore[no-any-return]
    if of_class:
        return given(learning_rate=rate)  # type: ignore[no-any-return]
    made = None
    if callable(given):
        made = given() if rate is None else given(rate)
    if not isinstance(made, Optimizer):
        raise ValueError(
            "Unrecognized optimizer: should be string, subclass of Optimizer, instance of "
            f"subclass of Optimizer or function with one argument that returns one. Got {given!r}."
        )
    return made


# ---- gradients ----


def _scaled(gradient: Any, factor: Any) -> Any:
    if gradient is None:
        return None
    if isinstance(gradient, IndexedSlices):
        values = elementwise.multiply(gradient.values, factor)
        return IndexedSlices(values, gradient.indices, gradient.dense_shape)
    return elementwise.multiply(gradient, factor)


def _noisy(pairs: Pairs, scale: float) -> Pairs:
    def noisy(gradient: Any) -> Any:
        if gradient is None:
            return None
        dense = convert_to_tensor(gradient)
        noise = random.truncated_normal(array.shape(dense), dtype=dense.dtype)
        return elementwise.add(dense, elementwise.multiply(noise, scale))

    return [(noisy(gradient), variable) for gradient, variable in pairs]


def _multiplied(pairs: Pairs, factors: Any) -> Pairs:
    found: Pairs = []
    for gradient, variable in pairs:
        factor = factors.get(variable, factors.get(variable.name))
        if gradient is not None and factor is not None:
            gradient = _scaled(gradient, elementwise.cast(factor, gradient.dtype))
        found.append((gradient, variable))
    if not found:
        raise ValueError(
            "Empty list of (gradient, var) pairs encountered. This is most likely to be caused by "
            "an improper value of gradient_multipliers."
        )
    return found


def _norm(pairs: Pairs) -> Tensor:
    return clip.global_norm([gradient for gradient, _ in pairs])


def _clipped(pairs: Pairs, limit: Any, shown: Sequence[str]) -> Pairs:
    if "global_gradient_norm" in shown or "gradient_norm" in shown:
        summary.scalar("global_norm/gradient_norm", _norm(pairs))
    if limit is None:
        return pairs
    if isinstance(limit, float):
        clipped, _ = clip.clip_by_global_norm([gradient for gradient, _ in pairs], limit)
        return list(zip(clipped, [variable for _, variable in pairs], strict=True))
    if callable(limit):
        return list(limit(pairs))
    raise ValueError(f"Unknown type {type(limit)} for clip_gradients")


def _summarize(pairs: Pairs, clipped: bool, shown: Sequence[str]) -> None:
    for gradient, variable in pairs:
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        if values is None:
            continue
        name = variable.name.replace(":", "_")
        if "gradients" in shown:
            summary.histogram(f"gradients/{name}", values)
        if "gradient_norm" in shown:
            summary.scalar(f"gradient_norm/{name}", clip.global_norm([values]))
    if clipped and ("global_gradient_norm" in shown or "gradient_norm" in shown):
        summary.scalar("global_norm/clipped_gradient_norm", _norm(pairs))


# ---- the adaptive limit ----


@api_guard.unguarded
def adaptive_clipping_fn(
    std_factor: float = 2.0,
    decay: float = 0.95,
    static_max_norm: float | None = None,
    global_step: Any = None,
    report_summary: bool = False,
    epsilon: float = 1e-8,
    name: Any = None,
) -> Callable[[Pairs], Pairs]:
    """A function for clip_gradients: norms far above their usual size are brought down to it.

    Args:
        std_factor: how many standard deviations of the norms' logarithms are left as they are.
        decay: what the averages keep of themselves; smaller in the first steps if there is a
            global_step.
        static_max_norm: a limit that always holds; None: none.
        report_summary: whether the limit is summarized.
        epsilon: added to the norm.
        name: of the scope; None: AdaptiveMaxNorm.
    """

    def limit(pairs: Pairs) -> Pairs:
        norm = _norm(pairs)
        most, log_mean = _usual(norm, std_factor, decay, global_step, epsilon, name)
        if report_summary:
            summary.scalar("global_norm/adaptive_max_gradient_norm", most)
        down = elementwise.truediv(elementwise.exp(log_mean), norm)
        factor = array.where(comparison.less(norm, most), array.ones_like(norm), down)
        if static_max_norm is not None:
            factor = elementwise.minimum(elementwise.truediv(static_max_norm, norm), factor)
        return [(_scaled(gradient, factor), variable) for gradient, variable in pairs]

    return limit


def _usual(
    norm: Tensor, std_factor: float, decay: Any, global_step: Any, epsilon: float, name: Any
) -> tuple[Tensor, Tensor]:
    """The largest usual norm, and the mean of the norms' logarithms."""
    with variable_scope(name, "AdaptiveMaxNorm", [norm]):
        log_norm = elementwise.log(elementwise.add(norm, epsilon))
        kept = decay
        if global_step is not None:
            n = elementwise.cast(global_step, dtypes.float32)
            kept = elementwise.minimum(decay, elementwise.truediv(n, elementwise.add(n, 1.0)))

        def average(of: str, value: Tensor) -> Tensor:
            variable = get_variable(
                of, shape=value.get_shape(), dtype=value.dtype, initializer=zeros_initializer(),
                trainable=False,
            )  # fmt: skip
            return assign_moving_average(variable, value, kept)

        mean = average("mean", log_norm)
        squares = average("sq_mean", elementwise.square(log_norm))
        variance = elementwise.subtract(squares, elementwise.square(mean))
        deviation = elementwise.sqrt(elementwise.maximum(epsilon, variance))
        reach = elementwise.multiply(std_factor, deviation)
        return elementwise.exp(elementwise.add(mean, reach)), mean
