"""Losses of tf.contrib.nn: cross entropies whose logits come first, and a sampled one."""

from __future__ import annotations

from typing import Any

from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.nn import crossentropy
from graphio.ops.nn.candidates import sampled_softmax_loss
from graphio.support import api_guard

__all__ = [
    "deprecated_flipped_sigmoid_cross_entropy_with_logits",
    "deprecated_flipped_softmax_cross_entropy_with_logits",
    "deprecated_flipped_sparse_softmax_cross_entropy_with_logits",
    "sampled_sparse_softmax_loss",
]


@api_guard.operator
def deprecated_flipped_sigmoid_cross_entropy_with_logits(
    logits: Any, targets: Any, name: str | None = None
) -> Tensor:
    """tf.nn.sigmoid_cross_entropy_with_logits with the arguments of TensorFlow 0.12.

    Args:
        logits: floating tensor.
        targets: of its shape and dtype, in 0..1.
        name: of the operation.
    """
    return crossentropy.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name=name)


@api_guard.operator
def deprecated_flipped_softmax_cross_entropy_with_logits(
    logits: Any, labels: Any, dim: int = -1, name: str | None = None
) -> Tensor:
    """tf.nn.softmax_cross_entropy_with_logits with the arguments of TensorFlow 0.12.

    Args:
        logits: floating tensor.
        labels: distributions, of its shape and dtype.
        dim: axis of the classes.
        name: of the operation.
    """
    return crossentropy.softmax_cross_entropy_with_logits(
        labels=labels, logits=logits, dim=dim, name=name
    )


@api_guard.operator
def deprecated_flipped_sparse_softmax_cross_entropy_with_logits(
    logits: Any, labels: Any, name: str | None = None
) -> Tensor:
    """tf.nn.sparse_softmax_cross_entropy_with_logits with the arguments of TensorFlow 0.12.

    Args:
        logits: floating (..., classes).
        labels: int32 or int64 (...).
        name: of the operation.
    """
    return crossentropy.sparse_softmax_cross_entropy_with_logits(
        labels=labels, logits=logits, name=name
    )


@api_guard.operator
def sampled_sparse_softmax_loss(
    weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int, num_classes: int,
    sampled_values: Any = None, remove_accidental_hits: bool = True,
    partition_strategy: str = "mod", name: str = "sampled_sparse_softmax_loss",
) -> Tensor:  # fmt: skip
    """tf.nn.sampled_softmax_loss for one true class in each row.

    Args:
        weights, biases, inputs, num_sampled, num_classes, sampled_values, remove_accidental_hits,
            partition_strategy: see tf.nn.sampled_softmax_loss.
        labels: the true classes, int64 (n, 1) or (n).
        name: name scope of the operations.

    Returns:
        A tensor (n).
    """
    return sampled_softmax_loss(
        weights, biases, array.reshape(labels, [-1, 1]), inputs, num_sampled, num_classes, 1,
        sampled_values, remove_accidental_hits, partition_strategy, name,
    )  # fmt: skip
