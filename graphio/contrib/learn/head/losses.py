"""Losses of heads: a loss that is trained, the mean over the rows, and one that is reported, the
mean over the weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphio.evaluation import losses
from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.scopes import control_dependencies, name_scope
from graphio.ops.array import surface as array
from graphio.ops.checks.assertion import Assert
from graphio.ops.math import comparison, elementwise, reduction
from graphio.ops.nn import crossentropy, statistics

__all__ = [
    "Loss",
    "hinge",
    "log_loss",
    "mean_squared",
    "of_function",
    "poisson",
    "sigmoid",
    "softmax",
    "spread",
]

#: labels, logits and weights -> the loss that is trained, and that which is reported
Loss = Callable[..., tuple[Tensor, Tensor]]


def spread(weights: Any, values: Tensor) -> Tensor:
    """The weights in the shape of the values. Raises ValueError where they do not fit."""
    return losses.checked_weights(weights, values) * array.ones_like(values)


def _weighted(rows: Tensor, weights: Any) -> tuple[Tensor, Tensor]:
    with name_scope("loss", values=[rows, weights]) as scope:
        if weights is None:
            mean = reduction.reduce_mean(rows, name=scope)
            return mean, mean
        factors = spread(weights, rows)
        with name_scope(None, "weighted_loss", [rows, factors]) as name:
            scaled = elementwise.multiply(rows, factors, name=name)
        mean = reduction.reduce_mean(scaled, name=scope)
        total = elementwise.cast(reduction.reduce_sum(factors), dtypes.float32)
        reported = elementwise.divide(
            reduction.reduce_sum(scaled), total, name="weighted_average_loss"
        )
        return mean, reported


def _column(values: Any) -> Tensor:
    """A vector as a column; others stay."""
    found = convert_to_tensor(values)
    return array.expand_dims(found, 1) if found.shape.ndims == 1 else found


def _columns(labels: Any, logits: Any) -> tuple[Tensor, Tensor]:
    one, two = _column(labels), _column(logits)
    two.shape.assert_is_compatible_with(one.shape)
    return one, two


def mean_squared(labels: Any, logits: Any, weights: Any = None) -> tuple[Tensor, Tensor]:
    """Squared differences."""
    with name_scope(None, "mean_squared_loss", [logits, labels]) as name:
        truth, found = _columns(labels, logits)
        floats = elementwise.cast(truth, dtypes.float32)
        return _weighted(elementwise.squared_difference(found, floats, name=name), weights)


def poisson(labels: Any, logits: Any, weights: Any = None) -> tuple[Tensor, Tensor]:
    """tf.nn.log_poisson_loss with Stirling's approximation."""
    with name_scope(None, "_poisson_loss", [logits, labels]) as name:
        truth, found = _columns(labels, logits)
        rows = statistics.log_poisson_loss(truth, found, compute_full_loss=True, name=name)
        return _weighted(rows, weights)


def log_loss(labels: Any, logits: Any, weights: Any = None) -> tuple[Tensor, Tensor]:
    """Cross-entropy of two classes by one score."""
    with name_scope(None, "log_loss_with_two_classes", [logits, labels]) as name:
        truth = _column(elementwise.cast(labels, dtypes.float32))
        rows = crossentropy.sigmoid_cross_entropy_with_logits(
            labels=truth, logits=convert_to_tensor(logits), name=name
        )
        return _weighted(rows, weights)


def softmax(labels: Any, logits: Any, weights: Any = None) -> tuple[Tensor, Tensor]:
    """Cross-entropy of classes by their numbers.

    Raises:
        ValueError: the labels are not integers.
    """
    with name_scope(None, "softmax_cross_entropy_loss", [logits, labels]) as name:
        truth = convert_to_tensor(labels)
        if not truth.dtype.is_integer:
            raise ValueError(f"Labels dtype should be integer Instead got {truth.dtype}.")
        is_column = truth.shape.ndims == 2
        rows = crossentropy.sparse_softmax_cross_entropy_with_logits(
            labels=array.squeeze(truth, axis=(1,)) if is_column else truth,
            logits=logits,
            name=name,
        )
        return _weighted(array.expand_dims(rows, 1) if is_column else rows, weights)


def sigmoid(labels: Any, logits: Any, weights: Any = None) -> tuple[Tensor, Tensor]:
    """Cross-entropy of classes that are each there or not."""
    with name_scope(None, "sigmoid_cross_entropy_loss", [logits, labels]) as name:
        truth = elementwise.cast(labels, dtypes.float32)
        rows = crossentropy.sigmoid_cross_entropy_with_logits(
            labels=truth, logits=logits, name=name
        )
        return _weighted(rows, weights)


def hinge(labels: Any, logits: Any, weights: Any = None) -> tuple[Tensor, Tensor]:
    """Hinge loss of two classes by one score."""
    with name_scope(None, "hinge_loss", [logits, labels]) as name:
        is_known = comparison.less_equal(array.rank(labels), 2)
        check = Assert(is_known, ["labels shape should be either [batch_size, 1] or [batch_size]"])
        with control_dependencies([check]):
            column = array.reshape(labels, (-1, 1))
        rows = losses.hinge_loss(
            labels=column, logits=logits, scope=name, reduction=losses.Reduction.NONE
        )
        return _weighted(rows, weights)


def of_function(function: Callable[..., Tensor]) -> Loss:
    """The loss of a program's function of labels, logits and weights, which is already weighted."""

    def loss(labels: Any, logits: Any, weights: Any = None) -> tuple[Tensor, Tensor]:
        given = () if weights is None else (weights,)
        found = function(labels, logits, *given)
        return found, found

    return loss
