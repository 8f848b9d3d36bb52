"""The loss of predicted sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.ops.array import surface as array
from graphio.ops.math import elementwise, reduction
from graphio.ops.math.arithmetic import div_no_nan
from graphio.ops.nn.crossentropy import sparse_softmax_cross_entropy_with_logits
from graphio.support import api_guard

__all__ = ["sequence_loss"]


@api_guard.operator
def sequence_loss(
    logits: Any,
    targets: Any,
    weights: Any,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    sum_over_timesteps: bool = False,
    sum_over_batch: bool = False,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """The weighted cross-entropy of predicted sequences.

    Args:
        logits: (batch, time, classes).
        targets: ints (batch, time).
        weights: (batch, time), of logits' dtype.
        average_across_timesteps, average_across_batch: along which axes the losses are summed and
            divided by the sum of the weights.
        sum_over_timesteps, sum_over_batch: along which axes they are summed and divided by the
            number of weights that are not 0.
        softmax_loss_function: from labels and logits, by these names, to losses; None:
            tf.nn.sparse_softmax_cross_entropy_with_logits.
        name: of the operations.

    Returns:
        A scalar, or (batch) or (time) where one axis stays, or (batch, time).

    Raises:
        ValueError: a rank is another one, or an axis is to be averaged and summed.
    """
    logits, targets, weights = (convert_to_tensor(x) for x in (logits, targets, weights))
    _check(logits, targets, weights)
    if average_across_timesteps and sum_over_timesteps:
        raise ValueError(
            "average_across_timesteps and sum_over_timesteps cannot be set to True at same time."
        )
    if average_across_batch and sum_over_batch:
        raise ValueError(
            "average_across_batch and sum_over_batch cannot be set to True at same time."
        )
    with scopes.name_scope(name, "sequence_loss"):
        function = softmax_loss_function or sparse_softmax_cross_entropy_with_logits
        flat = array.reshape(logits, [-1, array.shape(logits)[2]])
        losses = function(labels=array.reshape(targets, [-1]), logits=flat)
        losses = losses * array.reshape(weights, [-1])
        if average_across_timesteps and average_across_batch:
            return div_no_nan(reduction.reduce_sum(losses), reduction.reduce_sum(weights))
        if sum_over_timesteps and sum_over_batch:
            count = elementwise.cast(reduction.count_nonzero(weights), losses.dtype)
            return div_no_nan(reduction.reduce_sum(losses), count)
        losses = array.reshape(losses, array.shape(logits)[0:2])
        if average_across_timesteps or average_across_batch:
            axis = [0] if average_across_batch else [1]
            total = reduction.reduce_sum(weights, axis)
        elif sum_over_timesteps or sum_over_batch:
            axis = [0] if sum_over_batch else [1]
            total = elementwise.cast(reduction.count_nonzero(weights, axis), losses.dtype)
        else:
            return losses
        return div_no_nan(reduction.reduce_sum(losses, axis), total)


def _check(logits: Any, targets: Any, weights: Any) -> None:
    ranks = {"Logits": (logits, 3), "Targets": (targets, 2), "Weights": (weights, 2)}
    axes = ("batch_size", "sequence_length", "logits")
    for what, (x, rank) in ranks.items():
        if x.shape.ndims != rank:
            shape = " x ".join(axes[:rank])
            raise ValueError(f"{what} must be a [{shape}] tensor, but the shape is {x.shape}")
