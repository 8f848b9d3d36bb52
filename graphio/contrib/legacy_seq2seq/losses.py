"""Losses of lists of steps, and models for several lengths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.ops.array import surface as array
from graphio.ops.math import elementwise, reduction
from graphio.ops.nn.crossentropy import sparse_softmax_cross_entropy_with_logits
from graphio.support import api_guard
from graphio.variables.variable_scope import get_variable_scope, variable_scope

__all__ = ["model_with_buckets", "sequence_loss", "sequence_loss_by_example"]


@api_guard.guarded
def sequence_loss_by_example(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """The weighted cross-entropy of each sequence of a batch.

    Args:
        logits: list of (batch, symbols), one a step.
        targets: list of ints (batch).
        weights: list of (batch).
        average_across_timesteps: whether the sum is divided by that of the weights.
        softmax_loss_function: from labels and logits, by these names, to losses; None:
            tf.nn.sparse_softmax_cross_entropy_with_logits.
        name: of the operations.

    Returns:
        (batch).

    Raises:
        ValueError: the lists differ in length.
    """
    if len(targets) != len(logits) or len(weights) != len(logits):
        raise ValueError(
            "Lengths of logits, weights, and targets must be the same "
            f"{len(logits)}, {len(weights)}, {len(targets)}."
        )
    with scopes.name_scope(name, "sequence_loss_by_example"):
        losses = []
        for logit, target, weight in zip(logits, targets, weights, strict=True):
            if softmax_loss_function is None:
                labels = array.reshape(target, [-1])
                loss = sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logit)
            else:
                loss = softmax_loss_function(labels=target, logits=logit)
            losses.append(loss * weight)
        total = elementwise.add_n(losses)
        if average_across_timesteps:
            total = total / (elementwise.add_n(list(weights)) + 1e-12)
        return total


@api_guard.guarded
def sequence_loss(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """The sum of sequence_loss_by_example over the batch.

    Args:
        logits, targets, weights, average_across_timesteps, softmax_loss_function: as there.
        average_across_batch: whether it is divided by the batch size.
        name: of the operations.

    Returns:
        A scalar.

    Raises:
        ValueError: the lists differ in length.
    """
    with scopes.name_scope(name, "sequence_loss"):
        cost = reduction.reduce_sum(
            sequence_loss_by_example(
                logits, targets, weights, average_across_timesteps, softmax_loss_function
            )
        )
        if not average_across_batch:
            return cost
        batch = array.shape(convert_to_tensor(targets[0]))[0]
        return cost / elementwise.cast(batch, cost.dtype)


@api_guard.makes_variables
def model_with_buckets(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    buckets: Sequence[tuple[int, int]],
    seq2seq: Callable[[Any, Any], Any],
    softmax_loss_function: Callable[..., Any] | None = None,
    per_example_loss: bool = False,
    name: str | None = None,
) -> Any:
    """A model for each of several lengths, all with the same variables.

    Args:
        encoder_inputs, decoder_inputs, targets, weights: lists of tensors, one a step.
        buckets: list of lengths (of the inputs, of the outputs), the longest last.
        seq2seq: from encoder_inputs and decoder_inputs to (outputs, state).
        softmax_loss_function: as sequence_loss's.
        per_example_loss: whether a loss is one number for each sequence; False: for the batch.
        name: of the operations.

    Returns:
        (list of the buckets' lists of outputs, list of their losses).

    Raises:
        ValueError: a list is shorter than the last bucket.
    """
    for what, given, length in (
        ("encoder_inputs", encoder_inputs, buckets[-1][0]),
        ("targets", targets, buckets[-1][1]),
        ("weights", weights, buckets[-1][1]),
    ):
        if len(given) < length:
            raise ValueError(
                f"Length of {what} ({len(given)}) must be at least that of last bucket ({length})."
            )
    loss = sequence_loss_by_example if per_example_loss else sequence_loss
    outputs, losses = [], []
    with scopes.name_scope(name, "model_with_buckets"):
        for k, (before, after) in enumerate(buckets):
            with variable_scope(get_variable_scope(), reuse=True if k > 0 else None):
                made, _ = seq2seq(encoder_inputs[:before], decoder_inputs[:after])
                outputs.append(made)
                losses.append(
                    loss(
                        made, targets[:after], weights[:after],
                        softmax_loss_function=softmax_loss_function,
                    )
                )  # fmt: skip
    return outputs, losses
