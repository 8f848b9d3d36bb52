"""tf.metrics: numbers gathered over many runs, in local variables.

A metric is a pair: its value now, and an update to run with each batch, which is the value after
it. `local_variables_initializer` sets it back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from graphio.framework import dtypes
from graphio.framework.collections import GraphKeys, add_to_collections
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.variable_reads import at_start
from graphio.ops.array import order
from graphio.ops.array import surface as array
from graphio.ops.base.signatures import Counter, documented
from graphio.ops.linalg import matrices
from graphio.ops.math import comparison, elementwise, reduction
from graphio.ops.math.arithmetic import div_no_nan
from graphio.ops.state import assigning
from graphio.support import api_guard
from graphio.variables.variable_scope import variable_scope
from graphio.variables.variables import Variable

__all__ = [
    "Metric",
    "accuracy",
    "before_update",
    "false_negatives",
    "false_positives",
    "matched",
    "mean",
    "mean_absolute_error",
    "mean_cosine_distance",
    "mean_iou",
    "mean_per_class_accuracy",
    "mean_relative_error",
    "mean_squared_error",
    "mean_tensor",
    "metric_variable",
    "percentage_below",
    "precision",
    "recall",
    "registered",
    "root_mean_squared_error",
    "true_negatives",
    "true_positives",
    "weighted",
]

Value = TypeVar("Value")
Update = TypeVar("Update")
#: the value now, the update
Metric = tuple[Tensor, Tensor]


# ---- building blocks ----


def metric_variable(
    shape: Sequence[int | None], dtype: Any, name: str, validate_shape: bool = True
) -> Variable:
    """A local variable of zeros, in the current scope, that checkpoints leave out.

    Args:
        validate_shape: False lets its shape change.
    """
    keys = [GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES]
    zeros = array.zeros(list(shape), dtype)
    return Variable(
        zeros, trainable=False, collections=keys, validate_shape=validate_shape, name=name
    )


def before_update(variable: Variable) -> Tensor:
    """The variable as the metric's value shows it, also in a run that updates the metric."""
    return at_start(variable.value(), f"{variable.op.name}/read/")


def registered(value: Value, update: Update, values: Any, updates: Any) -> tuple[Value, Update]:
    """The pair, in the collections whose names are given."""
    for collections, tensor in ((values, value), (updates, update)):
        if collections:
            add_to_collections(collections, tensor)
    return value, update


def matched(labels: Any, predictions: Any) -> tuple[Tensor, Tensor]:
    """Both as tensors; a last axis of size 1 that only one of them has goes.

    Raises:
        ValueError: the shapes do not fit.
    """
    expected, found = convert_to_tensor(labels, name="labels"), convert_to_tensor(predictions)
    rank, other = expected.shape.ndims, found.shape.ndims
    if rank is not None and other is not None:
        if rank - other == 1 and expected.shape[-1].value in (1, None):
            expected = array.squeeze(expected, [-1])
        elif other - rank == 1 and found.shape[-1].value in (1, None):
            found = array.squeeze(found, [-1])
    if not found.shape.is_compatible_with(expected.shape):
        raise ValueError(
            f"Shapes {found.shape} and {expected.shape} are incompatible: predictions and labels "
            "of a metric have one shape"
        )
    return expected, found


def weighted(weights: Any, like: Tensor) -> Tensor:
    """The weights, float32, spread over the shape of the values.

    Raises:
        ValueError: they do not broadcast to it.
    """
    given = elementwise.cast(convert_to_tensor(weights, name="weights"), dtypes.float32)
    ones = array.ones_like(like, dtype=dtypes.float32)
    if given.shape.ndims is not None and like.shape.ndims is not None:
        if given.shape.ndims == like.shape.ndims + 1 and given.shape[-1].value == 1:
            given = array.squeeze(given, [-1])
        elif given.shape.ndims == like.shape.ndims - 1:
            given = array.expand_dims(given, -1)
        elif given.shape.ndims not in (0, like.shape.ndims):
            raise ValueError(
                f"weights can not be broadcast to values: weights.rank={given.shape.ndims}, "
                f"values.rank={like.shape.ndims}"
            )
    return given * ones


def _ratio(top: Tensor, bottom: Tensor, name: str) -> Tensor:
    """0 where nothing was counted."""
    return div_no_nan(top, elementwise.maximum(bottom, 0.0), name=name)


# ---- means ----


@api_guard.makes_variables
def mean(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The mean of all values seen.

    Args:
        values: numeric tensor of any shape.
        weights: tensor that broadcasts to values; None: 1.
        metrics_collections: names of collections for the value.
        updates_collections: names of collections for the update.
        name: of the scope of its variables, `total` and `count`.

    Returns:
        The mean, and the update that gives it after a batch; 0 before the first.
    """
    with variable_scope(name, "mean", [values, weights]):
        numbers = elementwise.cast(convert_to_tensor(values, name="values"), dtypes.float32)
        total = metric_variable([], dtypes.float32, "total")
        count = metric_variable([], dtypes.float32, "count")
        if weights is None:
            seen = elementwise.cast(array.size(numbers), dtypes.float32)
        else:
            factors = weighted(weights, numbers)
            numbers, seen = numbers * factors, reduction.reduce_sum(factors)
        before = before_update(total), before_update(count)
        more, longer = total.assign_add(reduction.reduce_sum(numbers)), count.assign_add(seen)
        value = _ratio(*before, "value")
        update = _ratio(more, longer, "update_op")
        return registered(value, update, metrics_collections, updates_collections)


def _mean_of(build: Callable[[Any, Any], Tensor]) -> Counter:
    """The metric that is the mean of a function of labels and predictions."""

    @api_guard.makes_variables
    def call(
        labels: Any,
        predictions: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Metric:
        chosen = name or build.__name__
        values = build(labels, predictions)
        return mean(values, weights, metrics_collections, updates_collections, chosen)

    return documented(call, build.__name__, build.__doc__)


@_mean_of
def accuracy(labels: Any, predictions: Any) -> Tensor:
    """The share of predictions that are their labels; see mean for the other arguments.

    Args:
        labels: tensor of any shape.
        predictions: tensor of that shape.
    """
    expected, found = matched(labels, predictions)
    if expected.dtype != found.dtype:
        found = elementwise.cast(found, expected.dtype)
    return elementwise.cast(comparison.equal(found, expected), dtypes.float32)


@_mean_of
def mean_absolute_error(labels: Any, predictions: Any) -> Tensor:
    """The mean distance of predictions from labels; see mean for the other arguments."""
    expected, found = _floats(labels, predictions)
    return elementwise.abs(found - expected)


@_mean_of
def mean_squared_error(labels: Any, predictions: Any) -> Tensor:
    """The mean squared difference; see mean for the other arguments."""
    expected, found = _floats(labels, predictions)
    return elementwise.squared_difference(expected, found)


@api_guard.makes_variables
def root_mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The root of the mean squared difference; see mean for the other arguments."""
    chosen = name or "root_mean_squared_error"
    pair = mean_squared_error(labels, predictions, weights, None, None, chosen)
    value, update = (elementwise.sqrt(t) for t in pair)
    return registered(value, update, metrics_collections, updates_collections)


@api_guard.makes_variables
def mean_relative_error(
    labels: Any,
    predictions: Any,
    normalizer: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The mean of |labels - predictions| / normalizer, 0 where that is 0; see mean."""
    expected, found = _floats(labels, predictions)
    error = div_no_nan(
        elementwise.abs(expected - found), elementwise.cast(normalizer, dtypes.float32)
    )
    chosen = name or "mean_relative_error"
    return mean(error, weights, metrics_collections, updates_collections, chosen)


@api_guard.makes_variables
def mean_cosine_distance(
    labels: Any,
    predictions: Any,
    dim: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """1 less the mean dot product along dim of unit vectors; see mean."""
    expected, found = _floats(labels, predictions)
    dot_product = reduction.reduce_sum(expected * found, [dim], keepdims=True)
    pair = mean(dot_product, weights, None, None, name or "mean_cosine_distance")
    value, update = (1.0 - t for t in pair)
    return registered(value, update, metrics_collections, updates_collections)


@api_guard.makes_variables
def percentage_below(
    values: Any,
    threshold: float,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The share of values less than a threshold; see mean for the other arguments."""
    below = elementwise.cast(comparison.less(convert_to_tensor(values), threshold), dtypes.float32)
    chosen = name or "percentage_below_threshold"
    return mean(below, weights, metrics_collections, updates_collections, chosen)


@api_guard.makes_variables
def mean_tensor(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The mean of all tensors seen, element by element; see mean.

    Raises:
        ValueError: the shape of values is not known.
    """
    with variable_scope(name, "mean", [values, weights]):
        numbers = elementwise.cast(convert_to_tensor(values, name="values"), dtypes.float32)
        if not numbers.shape.is_fully_defined():
            raise ValueError(
                f"mean_tensor: values have shape {numbers.shape}, expected a known one"
            )
        total = metric_variable(numbers.shape.as_list(), dtypes.float32, "total_tensor")
        count = metric_variable(numbers.shape.as_list(), dtypes.float32, "count_tensor")
        factors = weighted(1.0 if weights is None else weights, numbers)
        before = before_update(total), before_update(count)
        more, longer = total.assign_add(numbers * factors), count.assign_add(factors)
        value = _ratio(*before, "value")
        update = _ratio(more, longer, "update_op")
        return registered(value, update, metrics_collections, updates_collections)


def _floats(labels: Any, predictions: Any) -> tuple[Tensor, Tensor]:
    expected, found = matched(labels, predictions)
    return elementwise.cast(expected, dtypes.float32), elementwise.cast(found, dtypes.float32)


# ---- counts ----


def _counting(kind: str, summary: str) -> Counter:
    """The metric that counts how often label and prediction, as bools, are as the kind says."""

    @api_guard.makes_variables
    def count(
        labels: Any,
        predictions: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Metric:
        with variable_scope(name, kind, [labels, predictions, weights]):
            expected, found = (
                elementwise.cast(t, dtypes.bool) for t in matched(labels, predictions)
            )
            right, positive = kind.startswith("true"), kind.endswith("positives")
            label = expected if right == positive else comparison.logical_not(expected)
            prediction = found if positive else comparison.logical_not(found)
            hits = elementwise.cast(comparison.logical_and(label, prediction), dtypes.float32)
            if weights is not None:
                hits = hits * weighted(weights, hits)
            so_far = metric_variable([], dtypes.float32, "count")
            before = before_update(so_far)
            update = so_far.assign_add(reduction.reduce_sum(hits))
            value = array.identity(before)
            return registered(value, update, metrics_collections, updates_collections)

    return documented(count, kind, f"""{summary}

    Args:
        labels: tensor, cast to bool.
        predictions: tensor of the same shape, cast to bool.
        weights: tensor that broadcasts to predictions; None: 1.
        metrics_collections: names of collections for the value.
        updates_collections: names of collections for the update.
        name: of the scope of its variable.

    Returns:
        The count, a float32 scalar, and the update that gives it after a batch.

    Raises:
        ValueError: the shapes do not fit.
    """)  # fmt: skip


true_positives = _counting("true_positives", "How many predictions and labels are both true.")
true_negatives = _counting("true_negatives", "How many predictions and labels are both false.")
false_positives = _counting("false_positives", "How many predictions are true, the label false.")
false_negatives = _counting("false_negatives", "How many predictions are false, the label true.")


def _share_of_true_positives(kind: str, misses: Counter, summary: str) -> Counter:
    """The metric that is the share of the true positives among them and the misses."""

    @api_guard.makes_variables
    def call(
        labels: Any,
        predictions: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Metric:
        with variable_scope(name, kind, [labels, predictions, weights]):
            hits = true_positives(labels, predictions, weights)
            missed = misses(labels, predictions, weights)
            return _share(hits, missed, metrics_collections, updates_collections)

    return documented(call, kind, f"{summary}; see mean.")


precision = _share_of_true_positives(
    "precision",
    false_positives,
    "The share of true labels among the predictions that are true",
)
recall = _share_of_true_positives(
    "recall",
    false_negatives,
    "The share of true predictions among the labels that are true",
)


def _share(hits: Metric, misses: Metric, values: Any, updates: Any) -> Metric:
    found = [
        _ratio(hit, hit + miss, name)
        for hit, miss, name in zip(hits, misses, ("value", "update_op"), strict=True)
    ]
    return registered(found[0], found[1], values, updates)


# ---- confusion matrices ----


def _confusion(labels: Any, predictions: Any, classes: int, weights: Any) -> tuple[Tensor, Tensor]:
    """The matrix so far and its update: rows are labels, columns predictions."""
    total = metric_variable([classes, classes], dtypes.float64, "total_confusion_matrix")
    flat = [
        array.reshape(elementwise.cast(t, dtypes.int64), [-1]) for t in matched(labels, predictions)
    ]
    factors = None
    if weights is not None:
        spread = weighted(weights, convert_to_tensor(predictions))
        factors = array.reshape(elementwise.cast(spread, dtypes.float64), [-1])
    matrix = order.confusion_matrix(
        flat[0], flat[1], classes, dtype=dtypes.float64, weights=factors
    )
    return before_update(total), total.assign_add(matrix)


@api_guard.makes_variables
def mean_iou(
    labels: Any,
    predictions: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The mean over classes of intersection over union of labels and predictions.

    Args:
        labels: integer tensor of classes.
        predictions: of the same shape.
        num_classes: how many there are.

    Returns:
        The mean, and the update, which gives the confusion matrix after a batch.
    """
    with variable_scope(name, "mean_iou", [labels, predictions, weights]):
        so_far, update = _confusion(labels, predictions, num_classes, weights)
        matrix = elementwise.cast(so_far, dtypes.float32)
        rows, columns = (reduction.reduce_sum(matrix, axis) for axis in (0, 1))
        hits = matrices.diag_part(matrix)
        union = rows + columns - hits
        present = reduction.reduce_sum(
            elementwise.cast(comparison.not_equal(union, 0.0), dtypes.float32)
        )
        value = div_no_nan(reduction.reduce_sum(div_no_nan(hits, union)), present, name="mean_iou")
        return registered(value, update, metrics_collections, updates_collections)


@api_guard.makes_variables
def mean_per_class_accuracy(
    labels: Any,
    predictions: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The mean over classes of the share of a class's labels that were predicted.

    Args:
        labels: integer tensor of classes.
        predictions: of the same shape.
        num_classes: how many there are.

    Returns:
        The mean, and the update, which gives the share of each class (num_classes) after a batch.
    """
    with variable_scope(name, "mean_accuracy", [labels, predictions, weights]):
        expected, found = matched(labels, predictions)
        classes = array.reshape(elementwise.cast(expected, dtypes.int64), [-1])
        hits = elementwise.cast(
            comparison.equal(elementwise.cast(found, expected.dtype), expected), dtypes.float32
        )
        counts = array.ones_like(hits)
        if weights is not None:
            factors = weighted(weights, hits)
            hits, counts = hits * factors, counts * factors
        total = metric_variable([num_classes], dtypes.float32, "total")
        count = metric_variable([num_classes], dtypes.float32, "count")
        before = before_update(total), before_update(count)
        more, longer = (
            assigning.scatter_add(v, classes, array.reshape(t, [-1]))
            for v, t in ((total, hits), (count, counts))
        )
        each = _ratio(*before, "per_class_accuracy")
        value = reduction.reduce_mean(each, name="mean_accuracy")
        update = _ratio(more, longer, "update_op")
        return registered(value, update, metrics_collections, updates_collections)
