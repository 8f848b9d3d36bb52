"""Losses of embeddings: of equal labels they shall be near, of others far from each other."""

from __future__ import annotations

from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.linalg.matmul import matmul
from graphio.ops.math import comparison, elementwise, reduction
from graphio.ops.nn import crossentropy
from graphio.ops.state.console import Print
from graphio.support import api_guard

__all__ = ["contrastive_loss", "lifted_struct_loss", "npairs_loss", "triplet_semihard_loss"]


@api_guard.operator
def contrastive_loss(
    labels: Any, embeddings_anchor: Any, embeddings_positive: Any, margin: float = 1.0
) -> Tensor:
    """The mean of d^2 for pairs of label 1 and of max(margin - d, 0)^2 for label 0.

    d is the distance of a pair (Hadsell, Chopra and LeCun 2006).

    Args:
        labels: 0 or 1 (n).
        embeddings_anchor, embeddings_positive: (n, depth).
        margin: distance from which pairs of label 0 have no loss.
    """
    change = elementwise.subtract(embeddings_anchor, embeddings_positive)
    distances = elementwise.sqrt(reduction.reduce_sum(elementwise.square(change), 1))
    equal = elementwise.cast(labels, distances.dtype)
    missing = elementwise.maximum(elementwise.subtract(margin, distances), 0.0)
    near = elementwise.multiply(equal, elementwise.square(distances))
    far = elementwise.multiply(elementwise.subtract(1.0, equal), elementwise.square(missing))
    return reduction.reduce_mean(elementwise.add(near, far), name="contrastive_loss")


@api_guard.operator
def npairs_loss(
    labels: Any,
    embeddings_anchor: Any,
    embeddings_positive: Any,
    reg_lambda: float = 0.002,
    print_losses: bool = False,
) -> Tensor:
    """The cross entropy of similarities of all pairs, and a penalty of norms (Sohn 2016).

    Args:
        labels: integers (n).
        embeddings_anchor, embeddings_positive: (n, depth).
        reg_lambda: of the penalty.
        print_losses: whether a run prints both parts.
    """
    anchor, positive = convert_to_tensor(embeddings_anchor), convert_to_tensor(embeddings_positive)
    norms = [
        reduction.reduce_mean(reduction.reduce_sum(elementwise.square(x), 1))
        for x in (anchor, positive)
    ]
    both = elementwise.add(norms[0], norms[1])
    penalty = elementwise.multiply(0.25 * reg_lambda, both, name="l2loss")
    similar = matmul(anchor, positive, transpose_b=True)
    equal = elementwise.cast(_equal(labels), dtypes.float32)
    target = elementwise.truediv(equal, reduction.reduce_sum(equal, 1, keepdims=True))
    entropy = reduction.reduce_mean(
        crossentropy.softmax_cross_entropy_with_logits(labels=target, logits=similar),
        name="xentropy",
    )
    if print_losses:
        entropy = Print(entropy, ["cross entropy:", entropy, "l2loss:", penalty])
    return elementwise.add(penalty, entropy)


@api_guard.operator
def triplet_semihard_loss(labels: Any, embeddings: Any, margin: float = 1.0) -> Tensor:
    """The mean over pairs of equal labels of max(margin + d^2 - d'^2, 0).

    d is the distance of the pair, d' the smallest larger one of another label, or else the largest
    of another label (Schroff, Kalenichenko and Philbin 2015).

    Args:
        labels: integers (n).
        embeddings: (n, depth), of norm 1.
    """
    squares = _distances(convert_to_tensor(embeddings), squared=True)
    equal = _equal(labels)
    other = elementwise.cast(comparison.logical_not(equal), dtypes.float32)
    # axes: anchor, positive, negative
    third = array.expand_dims(squares, 1)
    farther = comparison.greater(third, array.expand_dims(squares, 2))
    outside = elementwise.multiply(
        elementwise.cast(farther, dtypes.float32), array.expand_dims(other, 1)
    )
    exists = comparison.greater(reduction.reduce_sum(outside, 2), 0.0)
    nearest = array.squeeze(_masked_minimum(third, outside, 2), [2])
    farthest = array.tile(_masked_maximum(squares, other, 1), [1, array.shape(squares)[0]])
    negative = array.where(exists, nearest, farthest)
    losses = elementwise.add(margin, elementwise.subtract(squares, negative))
    positive = _positives(equal)
    total = reduction.reduce_sum(elementwise.maximum(elementwise.multiply(losses, positive), 0.0))
    return elementwise.truediv(total, reduction.reduce_sum(positive), name="triplet_semihard_loss")


@api_guard.operator
def lifted_struct_loss(labels: Any, embeddings: Any, margin: float = 1.0) -> Tensor:
    """The loss of a pair of equal labels against all others of both (Song and others 2015).

    Args:
        labels: integers (n).
        embeddings: (n, depth).
        margin: distance from which pairs of different labels hardly matter.
    """
    distances = _distances(convert_to_tensor(embeddings))
    equal = _equal(labels)
    other = elementwise.cast(comparison.logical_not(equal), dtypes.float32)
    near = elementwise.subtract(margin, distances)
    most = _masked_maximum(near, other, 1)
    largest = elementwise.maximum(most, array.transpose(most))
    # axes: one of a pair, the other one, an element of another label than the first
    excess = elementwise.subtract(array.expand_dims(near, 1), array.expand_dims(largest, 2))
    weights = elementwise.multiply(elementwise.exp(excess), array.expand_dims(other, 1))
    sums = reduction.reduce_sum(weights, 2)
    joint = elementwise.log(elementwise.add(sums, array.transpose(sums)))
    losses = elementwise.add(elementwise.add(largest, joint), distances)
    positive = _positives(equal)
    limited = elementwise.maximum(elementwise.multiply(losses, positive), 0.0)
    total = elementwise.multiply(0.25, reduction.reduce_sum(elementwise.square(limited)))
    pairs = elementwise.truediv(reduction.reduce_sum(positive), 2.0)
    return elementwise.truediv(total, pairs, name="liftedstruct_loss")


def _equal(labels: Any) -> Tensor:
    """(n, n): whether two labels are equal."""
    given = convert_to_tensor(labels)
    if given.get_shape().ndims != 1:
        raise ValueError(f"labels have the shape {given.get_shape()}, expected a vector")
    return comparison.equal(array.expand_dims(given, 1), array.expand_dims(given, 0))


def _positives(equal: Tensor) -> Tensor:
    """1 for pairs of equal labels, 0 on the diagonal."""
    same = elementwise.cast(equal, dtypes.float32)
    return elementwise.subtract(same, array.eye(array.shape(same)[0]))


def _distances(x: Tensor, squared: bool = False) -> Tensor:
    """(n, n): distances of rows, 0 on the diagonal and where rounding makes a square negative."""
    squares = reduction.reduce_sum(elementwise.square(x), 1, keepdims=True)
    sums = elementwise.add(squares, array.transpose(squares))
    dots = elementwise.multiply(2.0, matmul(x, x, transpose_b=True))
    found = elementwise.maximum(elementwise.subtract(sums, dots), 0.0)
    zero = elementwise.cast(comparison.less_equal(found, 0.0), dtypes.float32)
    if not squared:
        # the root of 0 has no slope
        found = elementwise.sqrt(elementwise.add(found, elementwise.multiply(zero, 1e-16)))
    found = elementwise.multiply(found, elementwise.subtract(1.0, zero))
    return elementwise.multiply(found, elementwise.subtract(1.0, array.eye(array.shape(x)[0])))


def _masked_maximum(x: Tensor, mask: Tensor, axis: int) -> Tensor:
    """The largest element where the mask is 1; where it is nowhere, the smallest of all."""
    low = reduction.reduce_min(x, axis, keepdims=True)
    above = elementwise.multiply(elementwise.subtract(x, low), mask)
    return elementwise.add(reduction.reduce_max(above, axis, keepdims=True), low)


def _masked_minimum(x: Tensor, mask: Tensor, axis: int) -> Tensor:
    """The smallest element where the mask is 1; where it is nowhere, the largest of all."""
    high = reduction.reduce_max(x, axis, keepdims=True)
    below = elementwise.multiply(elementwise.subtract(x, high), mask)
    return elementwise.add(reduction.reduce_min(below, axis, keepdims=True), high)
