"""Losses whose predictions come first, and whose weights may lack the last axes of the losses."""

from __future__ import annotations

from typing import Any

from graphio.contrib.framework.arg_scope import add_arg_scope
from graphio.evaluation import losses as builders
from graphio.framework import dtypes, scopes
from graphio.framework.collections import GraphKeys
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.math import arithmetic, comparison, elementwise, reduction
from graphio.ops.nn import core as nn
from graphio.ops.nn import crossentropy
from graphio.support import api_guard

__all__ = [
    "absolute_difference",
    "add_loss",
    "compute_weighted_loss",
    "cosine_distance",
    "get_losses",
    "get_regularization_losses",
    "get_total_loss",
    "hinge_loss",
    "log_loss",
    "mean_pairwise_squared_error",
    "mean_squared_error",
    "sigmoid_cross_entropy",
    "softmax_cross_entropy",
    "sparse_softmax_cross_entropy",
]


@api_guard.operator
def compute_weighted_loss(losses: Any, weights: Any = 1.0, scope: str | None = None) -> Tensor:
    """The mean of losses times weights over the losses whose weights are not 0.

    The mean joins the collection LOSSES.

    Args:
        losses: of known rank.
        weights: a scalar, or of the first axes of losses, such as one for each of a batch; a
            last axis of size 1 is left out.

    Raises:
        ValueError: a rank is not known.
    """
    with scopes.name_scope(scope, "weighted_loss"):
        given = convert_to_tensor(losses)
        found = elementwise.cast(convert_to_tensor(weights), dtypes.float32)
        for name, tensor in (("losses", given), ("weights", found)):
            if tensor.get_shape().ndims is None:
                raise ValueError(f"{name}.get_shape().ndims cannot be None")
        last = found.get_shape().as_list()[-1:]
        if (found.get_shape().ndims or 0) > 1 and last in ([1], [None]):
            found = array.squeeze(found, [-1])
        rank, known = given.get_shape().ndims or 0, found.get_shape().ndims or 0
        for _ in range(rank - known if known else 0):
            found = array.expand_dims(found, -1)
        return builders.compute_weighted_loss(given, found)


def _pair(predictions: Any, labels: Any, dtype: Any = dtypes.float32) -> tuple[Tensor, Tensor]:
    one, two = convert_to_tensor(predictions), convert_to_tensor(labels)
    one.get_shape().assert_is_compatible_with(two.get_shape())
    kind = one.dtype if dtype is None else dtype
    return elementwise.cast(one, kind), elementwise.cast(two, kind)


@api_guard.operator
def absolute_difference(
    predictions: Any, labels: Any = None, weights: Any = 1.0, scope: str | None = None
) -> Tensor:
    """The weighted mean of |predictions - labels|; see compute_weighted_loss.

    Raises:
        ValueError: the shapes differ.
    """
    with scopes.name_scope(scope, "absolute_difference"):
        guess, truth = _pair(predictions, labels)
        return compute_weighted_loss(elementwise.abs(elementwise.subtract(guess, truth)), weights)


@api_guard.operator
def mean_squared_error(
    predictions: Any, labels: Any = None, weights: Any = 1.0, scope: str | None = None
) -> Tensor:
    """The weighted mean of (predictions - labels)^2; see compute_weighted_loss.

    Raises:
        ValueError: the shapes differ.
    """
    with scopes.name_scope(scope, "mean_squared_error"):
        guess, truth = _pair(predictions, labels)
        return compute_weighted_loss(
            elementwise.square(elementwise.subtract(guess, truth)), weights
        )


@api_guard.operator
def log_loss(
    predictions: Any,
    labels: Any = None,
    weights: Any = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
) -> Tensor:
    """The weighted mean of -labels log(predictions) - (1 - labels) log(1 - predictions).

    Args:
        epsilon: added before the logarithms.

    Raises:
        ValueError: the shapes differ.
    """
    with scopes.name_scope(scope, "log_loss"):
        guess, truth = _pair(predictions, labels)
        positive = elementwise.multiply(truth, elementwise.log(elementwise.add(guess, epsilon)))
        rest = elementwise.log(elementwise.add(elementwise.subtract(1.0, guess), epsilon))
        negative = elementwise.multiply(elementwise.subtract(1.0, truth), rest)
        losses = elementwise.negative(elementwise.add(positive, negative))
        return compute_weighted_loss(losses, weights)


@api_guard.operator
def hinge_loss(logits: Any, labels: Any = None, scope: str | None = None) -> Tensor:
    """max(0, 1 - (2 labels - 1) logits) for each element, which is not reduced or collected.

    Raises:
        ValueError: the shapes differ.
    """
    with scopes.name_scope(scope, "hinge_loss"):
        guess, truth = _pair(logits, labels, None)
        sign = elementwise.subtract(elementwise.multiply(2.0, truth), 1.0)
        return nn.relu(elementwise.subtract(1.0, elementwise.multiply(sign, guess)))


@api_guard.operator
def cosine_distance(
    predictions: Any,
    labels: Any = None,
    axis: int | None = None,
    weights: Any = 1.0,
    scope: str | None = None,
    dim: int | None = None,
) -> Tensor:
    """The weighted mean of 1 - the sum of predictions * labels, which have norm 1 along an axis.

    Args:
        axis: of the vectors; dim: the same in an older word.

    Raises:
        ValueError: axis is missing, or the shapes differ.
    """
    along = dim if axis is None else axis
    if along is None:
        raise ValueError("You must specify 'axis'.")
    with scopes.name_scope(scope, "cosine_distance_loss"):
        guess, truth = _pair(predictions, labels)
        cosine = reduction.reduce_sum(elementwise.multiply(guess, truth), axis=[along])
        return compute_weighted_loss(elementwise.subtract(1.0, cosine), weights)


@api_guard.operator
def mean_pairwise_squared_error(
    predictions: Any, labels: Any = None, weights: Any = 1.0, scope: str | None = None
) -> Tensor:
    """The squared errors of the differences of all pairs of elements of a sample.

    Args:
        weights: a scalar, or one for each sample.

    Raises:
        ValueError: the shapes differ, or a rank is not known.
    """
    with scopes.name_scope(scope, "mean_pairwise_squared_error"):
        guess, truth = _pair(predictions, labels)
        found = elementwise.cast(convert_to_tensor(weights), dtypes.float32)
        differences = elementwise.subtract(guess, truth)
        for name, tensor in (("diffs", differences), ("weights", found)):
            if tensor.get_shape().ndims is None:
                raise ValueError(f"{name}.get_shape().ndims cannot be None")
        axes = list(range(1, differences.get_shape().ndims or 0))
        count = reduction.reduce_sum(array.ones_like(differences), axes)
        present = elementwise.cast(comparison.not_equal(found, 0.0), dtypes.float32)
        number = elementwise.multiply(count, present)
        squares = reduction.reduce_sum(elementwise.square(differences), axes)
        sums = elementwise.square(reduction.reduce_sum(differences, axes))
        spread = elementwise.subtract(
            arithmetic.div_no_nan(squares, number),
            arithmetic.div_no_nan(sums, elementwise.square(number)),
        )
        weighted = elementwise.multiply(elementwise.multiply(2.0, spread), found)
        loss = reduction.reduce_sum(weighted)
        builders.add_loss(loss)
        return loss


@api_guard.operator
def sigmoid_cross_entropy(
    logits: Any,
    multi_class_labels: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
) -> Tensor:
    """The weighted mean of the cross entropies of sigmoid(logits).

    Args:
        label_smoothing: how far labels are moved towards 1/2.

    Raises:
        ValueError: the shapes differ.
    """
    with scopes.name_scope(scope, "sigmoid_cross_entropy_loss"):
        guess, truth = _pair(logits, multi_class_labels, None)
        if label_smoothing > 0:
            kept = elementwise.multiply(truth, 1 - label_smoothing)
            truth = elementwise.add(kept, 0.5 * label_smoothing)
        losses = crossentropy.sigmoid_cross_entropy_with_logits(
            labels=truth, logits=guess, name="xentropy"
        )
        return compute_weighted_loss(losses, weights)


@api_guard.operator
def softmax_cross_entropy(
    logits: Any,
    onehot_labels: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
) -> Tensor:
    """The weighted mean of the cross entropies of softmax(logits).

    Args:
        label_smoothing: how far labels are moved towards 1 / number of classes.

    Raises:
        ValueError: the shapes differ.
    """
    with scopes.name_scope(scope, "softmax_cross_entropy_loss"):
        guess, truth = _pair(logits, onehot_labels, None)
        if label_smoothing > 0:
            classes = elementwise.cast(array.shape(truth)[1], guess.dtype)
            kept = elementwise.multiply(truth, 1.0 - label_smoothing)
            truth = elementwise.add(kept, elementwise.truediv(label_smoothing, classes))
        losses = crossentropy.softmax_cross_entropy_with_logits(
            labels=truth, logits=guess, name="xentropy"
        )
        return compute_weighted_loss(losses, weights)


@api_guard.operator
def sparse_softmax_cross_entropy(
    logits: Any, labels: Any, weights: Any = 1.0, scope: str | None = None
) -> Tensor:
    """The weighted mean of the cross entropies of softmax(logits) for numbers of classes.

    Args:
        labels: integers (n) or (n, 1).
    """
    with scopes.name_scope(scope, "sparse_softmax_cross_entropy_loss"):
        given = convert_to_tensor(labels)
        flat = array.reshape(given, [array.shape(given)[0]])
        losses = crossentropy.sparse_softmax_cross_entropy_with_logits(
            labels=flat, logits=logits, name="xentropy"
        )
        return compute_weighted_loss(losses, weights)


# ---- the collection ----


@api_guard.unguarded
@add_arg_scope
def add_loss(loss: Tensor, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Adds a loss to a collection; None: to none."""
    builders.add_loss(loss, loss_collection)


@api_guard.unguarded
def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Tensor]:
    """The losses of a collection whose names begin with a scope."""
    return builders.get_losses(scope, loss_collection)


@api_guard.unguarded
def get_regularization_losses(scope: str | None = None) -> list[Tensor]:
    """The regularization losses whose names begin with a scope."""
    return builders.get_regularization_losses(scope)


@api_guard.guarded
def get_total_loss(
    add_regularization_losses: bool = True, name: str | None = "total_loss"
) -> Tensor:
    """The sum of all losses; by default also of the regularization losses."""
    losses = get_losses()
    if add_regularization_losses:
        losses = losses + get_regularization_losses()
    return elementwise.add_n(losses, name=name)
