"""tf.losses: weighted means of losses, which are also put into a collection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphio.framework import dtypes, scopes
from graphio.framework.collections import GraphKeys, add_to_collection, get_collection
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import node, renamed, scalar, scope
from graphio.ops.base.primitive import binary, cast, compare, select
from graphio.ops.base.shapes import dims_of
from graphio.ops.base.signatures import Loss, documented
from graphio.ops.checks import run_checks
from graphio.ops.math import elementwise, reduction
from graphio.ops.math.arithmetic import div_no_nan
from graphio.ops.nn import core as nn
from graphio.ops.nn import crossentropy
from graphio.support import api_guard

__all__ = [
    "Reduction",
    "absolute_difference",
    "add_loss",
    "compute_weighted_loss",
    "cosine_distance",
    "get_losses",
    "get_regularization_loss",
    "get_regularization_losses",
    "get_total_loss",
    "hinge_loss",
    "huber_loss",
    "log_loss",
    "mean_pairwise_squared_error",
    "mean_squared_error",
    "sigmoid_cross_entropy",
    "softmax_cross_entropy",
    "sparse_softmax_cross_entropy",
]


class Reduction:
    """Reductions of a tensor of losses to one number."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """All of them."""
        return (cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_BY_NONZERO_WEIGHTS)

    @classmethod
    def validate(cls, key: str) -> None:
        """Raises ValueError for a key that is none of them."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}; expected one of {', '.join(cls.all())}")


@api_guard.operator
def compute_weighted_loss(
    losses: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """losses times weights, reduced to a scalar and put into a collection.

    Args:
        losses: floating tensor.
        weights: scalar, or of losses' rank with each size either 1 or the same.
        scope: name scope of the operations.
        loss_collection: None, or where the result is put.
        reduction: see Reduction; with NONE the result has losses' shape.

    Raises:
        ValueError: weights does not fit losses, or reduction is unknown.
        InvalidArgumentError: of the run: weights does not fit losses.
    """
    Reduction.validate(reduction)
    with _scope(scope, "weighted_loss"):
        each = convert_to_tensor(losses, name="losses")
        dtype = each.dtype
        if not dtype.is_floating:
            each = cast(each, dtypes.float32)
        weight = cast(convert_to_tensor(weights, name="weights"), each.dtype)
        weight = checked_weights(weight, each)
        weighted = elementwise.multiply(each, weight)
        loss = _reduced(weighted, each, weight, reduction)
        loss = cast(loss, dtype)
        add_loss(loss, loss_collection)
        return loss


def _scope(name: str | None, default: str) -> Any:
    return scope(name, default)


def checked_weights(weights: Tensor, losses: Tensor) -> Tensor:
    """The weights, once they are known to fit: scalar, or of the losses' rank, each size 1 or the
    same."""
    given, expected = dims_of(weights), dims_of(losses)
    if given == ():
        return weights
    if given is None or expected is None:
        return run_checks.spread(weights, losses, "weights can not be broadcast to values")
    if len(given) != len(expected) or any(
        m not in (1, None, n) and n is not None for m, n in zip(given, expected, strict=True)
    ):
        raise ValueError(
            f"weights can not be broadcast to values: weights has shape {shapes.text(given)}, the "
            f"losses {shapes.text(expected)}; weights must be a scalar or have the same rank, each "
            "size 1 or the same"
        )
    # Where a loss of size 1 meets a larger weight the result would be larger than the losses.
    if any(m != 1 and n in (1, None) for m, n in zip(given, expected, strict=True)):
        return run_checks.spread(weights, losses, "weights can not be broadcast to values")
    return weights


def _reduced(weighted: Tensor, losses: Tensor, weights: Tensor, how: str) -> Tensor:
    if how == Reduction.NONE:
        return weighted
    total = _sum(weighted)
    if how == Reduction.SUM:
        return total
    if how == Reduction.SUM_OVER_BATCH_SIZE:
        divisor = primitive.count(losses, losses.dtype)
    elif how == Reduction.MEAN:
        divisor = _sum(binary("Mul", array.ones_like(losses), weights))
    else:
        used = cast(compare("Equal", weights, scalar(0, weights.dtype)), dtypes.int32)
        present = cast(binary("Sub", scalar(1, dtypes.int32), used), losses.dtype)
        divisor = _sum(binary("Mul", array.ones_like(losses), present))
    return _safe_division(total, divisor)


def _sum(x: Tensor) -> Tensor:
    """The sum of all elements."""
    return reduction.reduce_sum(x)


def _safe_division(total: Tensor, divisor: Tensor) -> Tensor:
    """total / divisor, 0 where the divisor is 0."""
    zero, one = scalar(0, total.dtype), scalar(1, total.dtype)
    empty = compare("Equal", divisor, zero)
    return select(empty, zero, binary("Div", total, select(empty, one, divisor)), "value")


def _pair(labels: Any, predictions: Any, keep_dtype: bool = False) -> tuple[Tensor, Tensor]:
    """Both in float32, of one shape; keep_dtype: in predictions' dtype if that is floating."""
    if labels is None or predictions is None:
        raise ValueError("labels and predictions must not be None.")
    guess = convert_to_tensor(predictions, name="predictions")
    if not (keep_dtype and guess.dtype.is_floating):
        guess = cast(guess, dtypes.float32)
    truth = cast(convert_to_tensor(labels, name="labels"), guess.dtype)
    a, b = dims_of(guess), dims_of(truth)
    shapes.merge(a, b, "the shapes of predictions and labels")
    return truth, guess


def _loss(build: Callable[[Tensor, Tensor], Tensor]) -> Loss:
    """The public form of a loss: of labels and predictions, weighted and reduced."""

    @api_guard.operator
    def call(
        labels: Any,
        predictions: Any,
        weights: Any = 1.0,
        scope: str | None = None,
        loss_collection: str | None = GraphKeys.LOSSES,
        reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
    ) -> Tensor:
        with _scope(scope, build.__name__) as at:
            each = build(*_pair(labels, predictions))
            return compute_weighted_loss(each, weights, at, loss_collection, reduction)

    return documented(call, build.__name__, build.__doc__)


@_loss
def absolute_difference(truth: Tensor, guess: Tensor) -> Tensor:
    """|predictions - labels|; see compute_weighted_loss.

    Raises:
        ValueError: the shapes differ.
    """
    return elementwise.abs(elementwise.subtract(guess, truth))


@_loss
def mean_squared_error(truth: Tensor, guess: Tensor) -> Tensor:
    """(predictions - labels)^2; see compute_weighted_loss.

    Raises:
        ValueError: the shapes differ.
    """
    return elementwise.squared_difference(guess, truth)


@api_guard.operator
def huber_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    delta: float = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """d^2 / 2 where d = |predictions - labels| <= delta, beyond it linear.

    Raises:
        ValueError: the shapes differ.
    """
    with _scope(scope, "huber_loss") as at:
        truth, guess = _pair(labels, predictions)
        apart = elementwise.abs(elementwise.subtract(guess, truth))
        near = elementwise.minimum(apart, delta)
        far = elementwise.subtract(apart, near)
        half = elementwise.multiply(elementwise.multiply(near, near), 0.5)
        each = elementwise.add(half, elementwise.multiply(far, delta))
        return compute_weighted_loss(each, weights, at, loss_collection, reduction)


@api_guard.operator
def log_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """-labels log(p + epsilon) - (1 - labels) log(1 - p + epsilon), p the predictions.

    Raises:
        ValueError: the shapes differ.
    """
    with _scope(scope, "log_loss") as at:
        truth, guess = _pair(labels, predictions)
        one = scalar(1, guess.dtype)
        hit = elementwise.multiply(truth, elementwise.log(elementwise.add(guess, epsilon)))
        miss = elementwise.log(elementwise.add(elementwise.subtract(one, guess), epsilon))
        rest = elementwise.multiply(elementwise.subtract(one, truth), miss)
        each = elementwise.subtract(elementwise.negative(hit), rest)
        return compute_weighted_loss(each, weights, at, loss_collection, reduction)


@api_guard.operator
def hinge_loss(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """max(0, 1 - logits (2 labels - 1)), labels being 0 or 1.

    Raises:
        ValueError: the shapes differ.
    """
    with _scope(scope, "hinge_loss") as at:
        truth, guess = _pair(labels, logits)
        one = scalar(1, guess.dtype)
        signs = elementwise.subtract(elementwise.multiply(truth, 2.0), one)
        each = nn.relu(elementwise.subtract(one, elementwise.multiply(signs, guess)))
        return compute_weighted_loss(each, weights, at, loss_collection, reduction)


@api_guard.operator
def cosine_distance(
    labels: Any,
    predictions: Any,
    axis: int | None = None,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
    dim: int | None = None,
) -> Tensor:
    """1 - sum(labels * predictions) along axis, both of length 1 there.

    Raises:
        ValueError: the shapes differ, or axis is not given.
    """
    along = renamed("axis", axis, "dim", dim)
    if along is None:
        raise ValueError("You must specify 'axis'.")
    with _scope(scope, "cosine_distance_loss") as at:
        truth, guess = _pair(labels, predictions)
        total = _sum_along(elementwise.multiply(guess, truth), along)
        each = elementwise.subtract(scalar(1, guess.dtype), total)
        return compute_weighted_loss(each, weights, at, loss_collection, reduction)


def _sum_along(x: Tensor, axis: int) -> Tensor:
    return reduction.reduce_sum(x, [axis], keepdims=True)


@api_guard.operator
def sigmoid_cross_entropy(
    multi_class_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """tf.crossentropy.sigmoid_cross_entropy_with_logits; see compute_weighted_loss.

    Args:
        multi_class_labels: tensor of logits' shape, 0 to 1.
        logits: floating tensor.
        weights: see compute_weighted_loss.
        label_smoothing: draws labels towards 1/2.
        scope: name scope of the operations.
        loss_collection: where the result is put.
        reduction: see Reduction.

    Raises:
        ValueError: the shapes differ.
    """
    with _scope(scope, "sigmoid_cross_entropy_loss") as at:
        truth, guess = _pair(multi_class_labels, logits, keep_dtype=True)
        if label_smoothing > 0:
            truth = elementwise.add(
                elementwise.multiply(truth, 1 - label_smoothing), 0.5 * label_smoothing
            )
        each = crossentropy.sigmoid_cross_entropy_with_logits(labels=truth, logits=guess)
        return compute_weighted_loss(each, weights, at, loss_collection, reduction)


@api_guard.operator
def softmax_cross_entropy(
    onehot_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """tf.nn.softmax_cross_entropy_with_logits_v2; labels conduct no gradient.

    Args:
        onehot_labels: distribution along the last axis, of logits' shape.
        logits: floating tensor.
        weights: see compute_weighted_loss; a scalar or one for each row.
        label_smoothing: draws labels towards 1 / classes.
        scope: name scope of the operations.
        loss_collection: where the result is put.
        reduction: see Reduction.

    Raises:
        ValueError: the shapes differ.
    """
    with _scope(scope, "softmax_cross_entropy_loss") as at:
        truth, guess = _pair(onehot_labels, logits, keep_dtype=True)
        if label_smoothing > 0:
            dims = dims_of(guess)
            classes = None if dims is None else dims[-1]
            if classes is None:
                raise ValueError("label_smoothing needs the number of classes; use set_shape")
            smoothed = elementwise.multiply(truth, 1 - label_smoothing)
            truth = elementwise.add(smoothed, label_smoothing / classes)
        fixed = array.stop_gradient(truth)
        each = crossentropy.softmax_cross_entropy_with_logits_v2(labels=fixed, logits=guess)
        return compute_weighted_loss(each, weights, at, loss_collection, reduction)


@api_guard.operator
def sparse_softmax_cross_entropy(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """tf.crossentropy.sparse_softmax_cross_entropy_with_logits; see compute_weighted_loss.

    Args:
        labels: integer tensor (n), or (n, 1).
        logits: floating tensor (n, classes).
        weights: see compute_weighted_loss.
        scope: name scope of the operations.
        loss_collection: where the result is put.
        reduction: see Reduction.

    Raises:
        ValueError: the shapes do not fit.
    """
    with _scope(scope, "sparse_softmax_cross_entropy_loss") as at:
        guess = convert_to_tensor(logits, name="logits")
        truth = convert_to_tensor(labels, name="labels")
        rank, expected = truth.shape.ndims, guess.shape.ndims
        if rank is not None and rank == expected:
            truth = array.squeeze(truth, [rank - 1])
        each = crossentropy.sparse_softmax_cross_entropy_with_logits(labels=truth, logits=guess)
        weight = cast(convert_to_tensor(weights, name="weights"), each.dtype)
        if weight.shape.ndims is None or each.shape.ndims is None:
            weight = _without_last_axis(weight, each)
        elif weight.shape.ndims not in (0, each.shape.ndims):
            weight = array.squeeze(weight, [-1])
        return compute_weighted_loss(each, weight, at, loss_collection, reduction)


def _without_last_axis(weights: Tensor, losses: Tensor) -> Tensor:
    """The weights without their last axis, if a run finds that they have one more than the
    losses."""
    sizes = primitive.shape_of(weights)
    rank, expected = (
        primitive.count(shape, dtypes.int64) for shape in (sizes, primitive.shape_of(losses))
    )
    surplus = binary("Sub", rank, expected)
    one = compare("Equal", surplus, scalar(1, dtypes.int64))
    kept = primitive.unsqueeze(binary("Sub", rank, cast(one, dtypes.int64)), [0])
    bounds = [primitive.int_vector([0]), kept, primitive.int_vector([0])]
    target = node("Slice", [sizes, *bounds], dtypes.int64, (None,))
    return primitive.reshape_to(weights, target, None)


# ---- the collections ----


@api_guard.operator
def add_loss(loss: Tensor, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Puts a loss into a collection; None: nowhere."""
    if loss_collection:
        add_to_collection(loss_collection, loss)


@api_guard.operator
def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Tensor]:
    """The losses of a collection, those of one name scope if it is given."""
    return list(get_collection(loss_collection, scope))


@api_guard.operator
def get_regularization_losses(scope: str | None = None) -> list[Tensor]:
    """The losses that regularizers made."""
    return list(get_collection(GraphKeys.REGULARIZATION_LOSSES, scope))


@api_guard.operator
def get_regularization_loss(
    scope: str | None = None, name: str = "total_regularization_loss"
) -> Tensor:
    """The sum of get_regularization_losses, 0 if there is none."""
    found = get_regularization_losses(scope)
    return elementwise.add_n(found, name=name) if found else convert_to_tensor(0.0)


@api_guard.operator
def get_total_loss(
    add_regularization_losses: bool = True,
    name: str = "total_loss",
    scope: str | None = None,
) -> Tensor:
    """The sum of all losses, with those of regularizers by default.

    Raises:
        ValueError: there is none.
    """
    found: Sequence[Tensor] = get_losses(scope)
    if add_regularization_losses:
        found = [*found, *get_regularization_losses(scope)]
    if not found:
        raise ValueError("get_total_loss: no loss has been added; call a function of tf.losses")
    return elementwise.add_n(list(found), name=name)


@api_guard.operator
def mean_pairwise_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Tensor:
    """The squared difference between how two predictions and how their labels differ, over all
    pairs within each row.

    Args:
        labels: tensor (n, ...).
        predictions: floating tensor of that shape.
        weights: scalar, or of predictions' rank with each size either 1 or the same; those of a
            row are summed, and where they are 0 its elements do not count as present.
        scope: name of the operations.
        loss_collection: to which the loss is added; None: to none.

    Returns:
        A scalar, the weighted sum of the rows' means.

    Raises:
        ValueError: the shapes do not fit.
    """
    with scopes.name_scope(scope, "mean_pairwise_squared_error"):
        found = cast(convert_to_tensor(predictions, name="predictions"), dtypes.float32)
        expected = cast(convert_to_tensor(labels, name="labels"), dtypes.float32)
        shapes.merge(dims_of(found), dims_of(expected), "mean_pairwise_squared_error")
        factor = cast(convert_to_tensor(weights, name="weights"), dtypes.float32)
        factor = checked_weights(factor, found)
        rows = array.concat([array.shape(found)[:1], [-1]], 0)
        difference = array.reshape(found - expected, rows)
        absent = cast(compare("Equal", factor, array.zeros_like(factor)), dtypes.float32)
        present = 1.0 - absent
        count = reduction.reduce_sum(array.reshape(present + array.zeros_like(found), rows), 1)
        squares = reduction.reduce_sum(elementwise.square(difference), 1)
        square = elementwise.square(reduction.reduce_sum(difference, 1))
        means = 2.0 * div_no_nan(squares, elementwise.maximum(count - 1.0, 0.0)) - 2.0 * div_no_nan(
            square, elementwise.maximum(count * (count - 1.0), 0.0)
        )
        lead = array.concat([array.shape(factor), [1]], 0)[:1]
        each = reduction.reduce_sum(array.reshape(factor, array.concat([lead, [-1]], 0)), 1)
        loss = reduction.reduce_sum(means * each, name="value")
        if loss_collection:
            add_to_collection(loss_collection, loss)
        return loss
