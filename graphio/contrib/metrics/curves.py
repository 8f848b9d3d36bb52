"""Metrics that choose a threshold by the precision or the recall there, and counts at many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from graphio.evaluation.metrics import (
    Metric,
    before_update,
    matched,
    metric_variable,
    registered,
    weighted,
)
from graphio.evaluation.metrics_thresholds import counts_at_thresholds, spread_thresholds
from graphio.framework import dtypes, scopes
from graphio.framework.constants import constant
from graphio.framework.graph import Operation, Tensor
from graphio.framework.indexed_slices import IndexedSlices
from graphio.ops.array import surface as array
from graphio.ops.array.index import gather
from graphio.ops.checks.assert_types import assert_type
from graphio.ops.checks.asserts import assert_greater_equal, assert_less_equal
from graphio.ops.control_flow.branches import group
from graphio.ops.math import comparison, elementwise, reduction
from graphio.support import api_guard
from graphio.variables.variable_scope import variable_scope

__all__ = [
    "precision_at_recall",
    "precision_recall_at_equal_thresholds",
    "recall_at_precision",
    "streaming_curve_points",
]

_TINY = 1e-7
_LITTLE = 1e-6
_RANGE = "predictions must be in [0, 1]"
#: tp, fn, tn and fp of each threshold
Counts = dict[str, Tensor]


class PrecisionRecallData(NamedTuple):
    """Counts at thresholds between 0 and 1, and what follows from them: vectors.

    Attributes:
        tp, fp, tn, fn: the sums of weights of true and false positives and negatives.
        precision, recall: of each threshold.
        thresholds: the thresholds.
    """

    tp: Tensor
    fp: Tensor
    tn: Tensor
    fn: Tensor
    precision: Tensor
    recall: Tensor
    thresholds: Tensor


def _at_threshold(
    what: str, labels: Any, predictions: Any, weights: Any, count: int,
    choose: Callable[[Counts], Tensor], values: Any, updates: Any, name: str | None,
) -> Metric:  # fmt: skip
    """A metric that choose makes of the counts at count thresholds."""
    edges = spread_thresholds(count)
    with variable_scope(name, what, (labels, predictions, weights)):
        kinds = ["tp", "fn", "tn", "fp"]
        now, then = counts_at_thresholds(labels, predictions, edges, weights, kinds)
        return registered(
            array.identity(choose(now), name="value"),
            array.identity(choose(then), name="update_op"),
            values,
            updates,
        )


def _checked(share: float, name: str) -> None:
    if not 0 <= share <= 1:
        raise ValueError(f"`{name}` must be in the range [0, 1], got {share}.")


@api_guard.makes_variables
def recall_at_precision(
    labels: Any,
    predictions: Any,
    precision: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
    strict_mode: bool = False,
) -> Metric:
    """The recall at the threshold whose precision is nearest to the one given: value and update.

    Args:
        labels: true or false.
        predictions: between 0 and 1.
        precision: between 0 and 1.
        num_thresholds: how many thresholds are tried.
        strict_mode: True takes the smallest precision that reaches the one given, and gives 0
            where none does.

    Raises:
        ValueError: precision is not between 0 and 1.
    """
    _checked(precision, "precision")

    def choose(counts: Counts) -> Tensor:
        tp, fp, fn = counts["tp"], counts["fp"], counts["fn"]
        found = elementwise.truediv(tp, tp + fp + _TINY)
        distance = found - precision
        if strict_mode:  # a small distance above 0 comes first, then a large one, then those below
            best = reduction.argmax(elementwise.truediv(1.0, distance + _TINY), 0)
        else:
            best = reduction.argmin(elementwise.abs(distance), 0)
        hits = gather(tp, best)
        recall = elementwise.truediv(hits, hits + gather(fn, best) + _TINY)
        if not strict_mode:
            return recall
        reached = comparison.greater_equal(gather(found, best), precision)
        return array.where(reached, recall, array.zeros_like(recall))

    return _at_threshold(
        "recall_at_precision", labels, predictions, weights, num_thresholds, choose,
        metrics_collections, updates_collections, name,
    )  # fmt: skip


@api_guard.makes_variables
def precision_at_recall(
    labels: Any,
    predictions: Any,
    target_recall: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The precision at the highest threshold whose recall reaches the target: value and update.

    Args:
        labels: true or false.
        predictions: between 0 and 1.
        target_recall: between 0 and 1.
        num_thresholds: how many thresholds are tried.

    Raises:
        ValueError: target_recall is not between 0 and 1.
    """
    _checked(target_recall, "target_recall")

    def choose(counts: Counts) -> Tensor:
        tp, fp, fn = counts["tp"], counts["fp"], counts["fn"]
        recall = elementwise.truediv(tp, tp + fn + _TINY)
        reached = elementwise.cast(comparison.greater_equal(recall, target_recall), dtypes.int64)
        last = reduction.reduce_sum(reached) - 1
        # where none reaches it, for example without a label, -1 means the last threshold
        best = array.where(last < 0, last + num_thresholds, last)
        hits = gather(tp, best)
        return elementwise.truediv(hits + _TINY, hits + gather(fp, best) + _TINY)

    return _at_threshold(
        "precision_at_recall", labels, predictions, weights, num_thresholds, choose,
        metrics_collections, updates_collections, name,
    )  # fmt: skip


@api_guard.makes_variables
def precision_recall_at_equal_thresholds(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> tuple[PrecisionRecallData, Operation]:
    """Counts, precision and recall at thresholds of equal distance: values and update.

    A prediction that equals a threshold is positive there. Sums are of float64.

    Args:
        labels: bool.
        predictions: between 0 and 1, floats.
        weights: of the elements; None: all have 1.
        num_thresholds: how many, from 0 to 1; None: 201.
        use_locking: accepted; a run has no races.

    Raises:
        TypeError: labels are not bool.

    Raises, when run:
        InvalidArgumentError: a prediction is not between 0 and 1.
    """
    count = 201 if num_thresholds is None else num_thresholds
    what = "precision_recall_at_equal_thresholds"
    with variable_scope(name, what, (labels, predictions, weights)):
        expected, found = matched(labels, predictions)
        assert_type(expected, dtypes.bool)
        checks = [
            assert_greater_equal(found, elementwise.cast(0.0, found.dtype), message=_RANGE),
            assert_less_equal(found, elementwise.cast(1.0, found.dtype), message=_RANGE),
        ]
        with scopes.control_dependencies(checks):
            bucket = elementwise.floor(array.reshape(found, [-1]) * float(count - 1))
        bucket = elementwise.cast(bucket, dtypes.int32)
        truth = elementwise.cast(expected, dtypes.float64)
        factors = elementwise.cast(
            weighted(1.0 if weights is None else weights, found), truth.dtype
        )
        sums, updates = [], []
        for kind, ones in (("tp", truth * factors), ("fp", (1.0 - truth) * factors)):
            buckets = metric_variable([count], dtypes.float64, f"variables/{kind}_buckets")
            sums.append(reduction.cumsum(before_update(buckets), reverse=True, name=kind))
            updates.append(buckets.scatter_add(IndexedSlices(array.reshape(ones, [-1]), bucket)))
        return _rates(sums[0], sums[1], found.dtype, count), group(*updates)


def _rates(tp: Tensor, fp: Tensor, dtype: dtypes.DType, count: int) -> PrecisionRecallData:
    tn, fn = fp[0] - fp, tp[0] - tp
    precision = elementwise.truediv(tp, elementwise.maximum(tp + fp, _TINY))
    recall = elementwise.truediv(tp, elementwise.maximum(tp + fn, _TINY))
    thresholds = constant(np.linspace(0, 1, count, dtype=np.float32))
    found = (tp, fp, tn, fn, precision, recall, thresholds)
    return PrecisionRecallData(*(elementwise.cast(one, dtype) for one in found))


@api_guard.makes_variables
def streaming_curve_points(
    labels: Any = None,
    predictions: Any = None,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    curve: str = "ROC",
    name: str | None = None,
) -> tuple[Tensor, Operation]:
    """Points of the ROC or the precision-recall curve at thresholds of equal distance.

    Args:
        labels: true or false.
        predictions: between 0 and 1, of the same shape.
        weights: of the elements; None: all have 1.
        num_thresholds: how many, from just below 0 to just above 1.
        metrics_collections: names of collections for the points.
        updates_collections: names of collections for the update.
        curve: "ROC": shares of false and of true positives; "PR": recall and precision.
        name: of the scope of its variables.

    Returns:
        The points (num_thresholds, 2), float32, and the update.

    Raises:
        ValueError: the curve is none of these, or the shapes do not fit.
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    edges = spread_thresholds(num_thresholds)
    with variable_scope(name, "curve_points", (labels, predictions, weights)):
        kinds = ["tp", "fn", "tn", "fp"]
        now, then = counts_at_thresholds(labels, predictions, edges, weights, kinds)
        tp, fn, tn, fp = (now[kind] for kind in kinds)
        recall = elementwise.truediv(tp + _LITTLE, tp + fn + _LITTLE)
        if curve == "ROC":
            pair = elementwise.truediv(fp, fp + tn + _LITTLE), recall
        else:
            pair = recall, elementwise.truediv(tp + _LITTLE, tp + fp + _LITTLE)
        update = group(*then.values())
        points = array.stack(pair, axis=1)
        return registered(points, update, metrics_collections, updates_collections)
