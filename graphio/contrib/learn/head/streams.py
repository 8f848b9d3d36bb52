"""Metrics of heads: values and the operations that update them."""

from __future__ import annotations

from typing import Any

from graphio.contrib.learn.head.losses import spread
from graphio.evaluation import metrics, metrics_thresholds
from graphio.framework import dtypes
from graphio.framework.graph import Tensor
from graphio.framework.scopes import name_scope
from graphio.ops.array import surface as array
from graphio.ops.math import comparison, elementwise

__all__ = [
    "Metric",
    "accuracy_at",
    "area",
    "mean_of",
    "precision_at",
    "recall_at",
    "share_of_class",
]

#: the value, and the operation that adds a batch to it
Metric = tuple[Tensor, Tensor]


def _floats(weights: Any) -> Any:
    if weights is None:
        return None
    with name_scope(None, "float_weights", [weights]) as name:
        return elementwise.cast(weights, dtypes.float32, name=name)


def _column_of(values: Any, weights: Any, class_id: int | None) -> tuple[Any, Any]:
    """Values with weights of the same shape; of one class, its column of both."""
    factors = _floats(weights)
    if factors is not None:
        factors = spread(factors, values)
    if class_id is None:
        return values, factors
    return values[:, class_id], None if factors is None else factors[:, class_id]


def mean_of(values: Any, weights: Any = None, class_id: int | None = None) -> Metric:
    """The mean of values, or of a class's column."""
    floats = elementwise.cast(values, dtypes.float32)
    found: Metric = metrics.mean(*_column_of(floats, weights, class_id))
    return found


def share_of_class(classes: Any, weights: Any, class_id: int) -> Metric:
    """How often a class is one of the numbers."""
    numbers = elementwise.cast(classes, dtypes.int32)
    hits = comparison.equal(elementwise.cast(class_id, dtypes.int32), numbers)
    found: Metric = metrics.mean(elementwise.cast(hits, classes.dtype), weights)
    return found


def area(
    predictions: Any, labels: Any, weights: Any = None, class_id: int | None = None,
    curve: str = "ROC",
) -> Metric:  # fmt: skip
    """The area under a curve, of all predictions or of a class's column."""
    scores = elementwise.cast(predictions, dtypes.float32)
    truth = labels
    if labels.dtype.base_dtype != dtypes.bool:
        truth = elementwise.cast(labels, dtypes.bool)
    scores, factors = _column_of(scores, weights, class_id)
    if class_id is not None:
        truth = truth[:, class_id]
    found: Metric = metrics_thresholds.auc(truth, scores, factors, curve=curve)
    return found


def accuracy_at(predictions: Any, labels: Any, weights: Any, threshold: float) -> Metric:
    """The accuracy of predictions that are 1 from the threshold on."""
    ones = elementwise.cast(comparison.greater_equal(predictions, threshold), dtypes.float32)
    found: Metric = metrics.accuracy(labels, ones, weights)
    return found


def precision_at(predictions: Any, labels: Any, weights: Any, threshold: float) -> Metric:
    """The precision with a threshold."""
    return _single(
        metrics_thresholds.precision_at_thresholds, predictions, labels, weights, threshold
    )


def recall_at(predictions: Any, labels: Any, weights: Any, threshold: float) -> Metric:
    """The recall with a threshold."""
    return _single(metrics_thresholds.recall_at_thresholds, predictions, labels, weights, threshold)


def _single(metric: Any, predictions: Any, labels: Any, weights: Any, threshold: float) -> Metric:
    value, update = metric(labels, predictions, (threshold,), _floats(weights))
    return array.squeeze(value), array.squeeze(update)
