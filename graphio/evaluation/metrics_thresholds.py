"""tf.metrics that compare predictions with thresholds, or take the k best classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.evaluation.metrics import (
    Metric,
    before_update,
    matched,
    metric_variable,
    registered,
    weighted,
)
from graphio.framework import dtypes
from graphio.framework.constants import constant
from graphio.framework.graph import Tensor
from graphio.ops.array import index
from graphio.ops.array import surface as array
from graphio.ops.base.signatures import CounterAtThresholds, documented
from graphio.ops.math import comparison, elementwise, reduction
from graphio.ops.math.arithmetic import div_no_nan
from graphio.support import api_guard
from graphio.variables.variable_scope import variable_scope

__all__ = [
    "auc",
    "counts_at_thresholds",
    "false_negatives_at_thresholds",
    "false_positives_at_thresholds",
    "precision_at_thresholds",
    "recall_at_thresholds",
    "sensitivity_at_specificity",
    "specificity_at_sensitivity",
    "spread_thresholds",
    "true_negatives_at_thresholds",
    "true_positives_at_thresholds",
]

#: the four counts, by what label and prediction are
_KINDS = {
    "tp": ("true_positives", True, True),
    "fn": ("false_negatives", True, False),
    "tn": ("true_negatives", False, False),
    "fp": ("false_positives", False, True),
}
_TINY = 1e-7


def counts_at_thresholds(
    labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any, kinds: Sequence[str]
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The counts of the kinds for each threshold: now, and after the batch."""
    expected, found = matched(labels, predictions)
    edges = constant(np.asarray(thresholds, np.float32).reshape(-1, 1), name="thresholds")
    score = array.reshape(elementwise.cast(found, dtypes.float32), [1, -1])
    positive = array.reshape(elementwise.cast(expected, dtypes.bool), [1, -1])
    above = comparison.greater(score, edges)
    factors = None
    if weights is not None:
        factors = array.reshape(weighted(weights, elementwise.cast(found, dtypes.float32)), [1, -1])
    now, then = {}, {}
    for kind in kinds:
        name, label, prediction = _KINDS[kind]
        count = metric_variable([len(thresholds)], dtypes.float32, name)
        hit = comparison.logical_and(
            positive if label else comparison.logical_not(positive),
            above if prediction else comparison.logical_not(above),
        )
        ones = elementwise.cast(hit, dtypes.float32)
        if factors is not None:
            ones = ones * factors
        now[kind] = before_update(count)
        then[kind] = count.assign_add(reduction.reduce_sum(ones, 1))
    return now, then


_MOST = 100_000  # each is a row of every comparison


def spread_thresholds(count: int) -> list[float]:
    """So many thresholds from just below 0 to just above 1."""
    if not 2 <= count <= _MOST:
        raise ValueError(f"num_thresholds is {count}, expected 2 to {_MOST}")
    inner = [(i + 1) / (count - 1) for i in range(count - 2)]
    return [-_TINY, *inner, 1.0 + _TINY]


# ---- area under a curve ----


@api_guard.makes_variables
def auc(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    curve: str = "ROC",
    name: str | None = None,
    summation_method: str = "trapezoidal",
    thresholds: Sequence[float] | None = None,
) -> Metric:
    """The area under the ROC or the precision-recall curve, by a Riemann sum.

    Args:
        labels: tensor, cast to bool.
        predictions: floating tensor of the same shape, values in [0, 1].
        weights: tensor that broadcasts to them; None: 1.
        num_thresholds: how many points the curve has.
        metrics_collections: names of collections for the value.
        updates_collections: names of collections for the update.
        curve: "ROC" or "PR".
        name: of the scope of its variables.
        summation_method: "trapezoidal", "minoring", "majoring", or for "PR"
            "careful_interpolation" (Davis and Goadrich 2006).
        thresholds: in the place of num_thresholds, those between 0 and 1.

    Raises:
        ValueError: the curve or the method is none of these.
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    methods = ["trapezoidal", "minoring", "majoring"]
    if summation_method not in (*methods, *["careful_interpolation"] * (curve == "PR")):
        raise ValueError(f"Invalid summation_method: {summation_method} for the curve {curve}")
    edges = spread_thresholds(num_thresholds)
    if thresholds is not None:
        edges = [-_TINY, *sorted(thresholds), 1.0 + _TINY]
    with variable_scope(name, "auc", [labels, predictions, weights]):
        both = counts_at_thresholds(labels, predictions, edges, weights, ["tp", "fn", "tn", "fp"])
        value, update = (_area(c, curve, summation_method) for c in both)
        return registered(
            array.identity(value, name="value"), array.identity(update, name="update_op"),
            metrics_collections, updates_collections,
        )  # fmt: skip


def _area(counts: dict[str, Tensor], curve: str, method: str) -> Tensor:
    if method == "careful_interpolation":
        return _interpolated(counts)
    tp, fn, tn, fp = (counts[k] for k in ("tp", "fn", "tn", "fp"))
    recall = (tp + _TINY) / (tp + fn + _TINY)
    if curve == "ROC":
        x, y = fp / (fp + tn + _TINY), recall
    else:
        x, y = recall, (tp + _TINY) / (tp + fp + _TINY)
    left, right = y[:-1], y[1:]
    heights = {
        "trapezoidal": lambda: (left + right) / 2.0,
        "minoring": lambda: elementwise.minimum(left, right),
        "majoring": lambda: elementwise.maximum(left, right),
    }
    return reduction.reduce_sum((x[:-1] - x[1:]) * heights[method]())


def _interpolated(counts: dict[str, Tensor]) -> Tensor:
    """Precision between two points follows from counts that change in a straight line."""
    tp, fp, fn = (counts[k] for k in ("tp", "fp", "fn"))
    found = tp + fp
    gained = tp[:-1] - tp[1:]
    slope = div_no_nan(gained, found[:-1] - found[1:])
    start = tp[1:] - slope * found[1:]
    both = comparison.logical_and(
        comparison.greater(found[:-1], 0.0), comparison.greater(found[1:], 0.0)
    )
    ratio = array.where(both, div_no_nan(found[:-1], found[1:]), array.ones_like(found[1:]))
    return reduction.reduce_sum(
        div_no_nan(slope * (gained + start * elementwise.log(ratio)), tp[1:] + fn[1:])
    )


# ---- one number for each threshold ----


def _counting(kind: str, summary: str) -> CounterAtThresholds:
    """The metric that counts one of the kinds for each threshold."""

    @api_guard.makes_variables
    def count(
        labels: Any,
        predictions: Any,
        thresholds: Sequence[float],
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Metric:
        with variable_scope(name, _KINDS[kind][0], [labels, predictions, weights]):
            now, then = counts_at_thresholds(labels, predictions, thresholds, weights, [kind])
            value = array.identity(now[kind])
            return registered(value, then[kind], metrics_collections, updates_collections)

    return documented(count, f"{_KINDS[kind][0]}_at_thresholds", f"""{summary}, for each threshold.

    A prediction above a threshold counts as true.

    Args:
        labels: tensor, cast to bool.
        predictions: floating tensor of the same shape, values in [0, 1].
        thresholds: Python floats (n).
        weights: tensor that broadcasts to predictions; None: 1.
        metrics_collections: names of collections for the value.
        updates_collections: names of collections for the update.
        name: of the scope of its variable.

    Returns:
        The counts (n), and the update that gives them after a batch.

    Raises:
        ValueError: the shapes do not fit.
    """)  # fmt: skip


true_positives_at_thresholds = _counting("tp", "How many predictions and labels are both true")
true_negatives_at_thresholds = _counting("tn", "How many predictions and labels are both false")
false_positives_at_thresholds = _counting("fp", "How many predictions are true, the label false")
false_negatives_at_thresholds = _counting("fn", "How many predictions are false, the label true")


def _shares(
    what: str, against: str, labels: Any, predictions: Any, thresholds: Sequence[float],
    weights: Any, values: Any, updates: Any, name: str | None,
) -> Metric:  # fmt: skip
    with variable_scope(name, f"{what}_at_thresholds", [labels, predictions, weights]):
        both = counts_at_thresholds(labels, predictions, thresholds, weights, ["tp", against])
        value, update = (
            div_no_nan(c["tp"], c["tp"] + c[against], name=f"{what}_{part}")
            for c, part in zip(both, ("value", "update_op"), strict=True)
        )
        return registered(value, update, values, updates)


def _share_at_thresholds(kind: str, misses: str) -> CounterAtThresholds:
    """The metric that is the share of the true positives among them and the misses."""

    @api_guard.makes_variables
    def call(
        labels: Any,
        predictions: Any,
        thresholds: Sequence[float],
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Metric:
        more = metrics_collections, updates_collections, name
        return _shares(kind, misses, labels, predictions, thresholds, weights, *more)

    summary = f"{kind.capitalize()} for each threshold; see true_positives_at_thresholds."
    return documented(call, f"{kind}_at_thresholds", summary)


precision_at_thresholds = _share_at_thresholds("precision", "fp")
recall_at_thresholds = _share_at_thresholds("recall", "fn")


@api_guard.makes_variables
def specificity_at_sensitivity(
    labels: Any,
    predictions: Any,
    sensitivity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The specificity at the threshold whose sensitivity is nearest to the one given.

    Raises:
        ValueError: sensitivity is not in [0, 1].
    """
    return _opposite(
        "specificity_at_sensitivity", sensitivity, labels, predictions, weights, num_thresholds,
        metrics_collections, updates_collections, name,
    )  # fmt: skip


@api_guard.makes_variables
def sensitivity_at_specificity(
    labels: Any,
    predictions: Any,
    specificity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The sensitivity at the threshold whose specificity is nearest to the one given.

    Raises:
        ValueError: specificity is not in [0, 1].
    """
    return _opposite(
        "sensitivity_at_specificity", specificity, labels, predictions, weights, num_thresholds,
        metrics_collections, updates_collections, name,
    )  # fmt: skip


def _opposite(
    what: str, given: float, labels: Any, predictions: Any, weights: Any, num_thresholds: int,
    values: Any, updates: Any, name: str | None,
) -> Metric:  # fmt: skip
    side = what.rsplit("_", 1)[-1]
    if not 0 <= given <= 1:
        raise ValueError(f"`{side}` must be in the range [0, 1], got {given}")
    with variable_scope(name, what, [labels, predictions, weights]):
        kinds = ["tp", "fn", "tn", "fp"]
        both = counts_at_thresholds(
            labels, predictions, spread_thresholds(num_thresholds), weights, kinds
        )
        found = []
        for counts, part in zip(both, ("value", "update_op"), strict=True):
            shares = {
                "sensitivity": counts["tp"] / (counts["tp"] + counts["fn"] + _TINY),
                "specificity": counts["tn"] / (counts["tn"] + counts["fp"] + _TINY),
            }
            distance = elementwise.abs(shares.pop(side) - given)
            (other,) = shares.values()
            if side == "sensitivity":  # of thresholds that are as near, the highest
                distance, other = (index.reverse(t, [0]) for t in (distance, other))
            nearest = reduction.argmin(distance, 0)
            found.append(index.gather(other, nearest, validate_indices=False, name=part))
        return registered(found[0], found[1], values, updates)
