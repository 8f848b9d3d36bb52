"""Metrics that tf.metrics lacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphio.evaluation import metrics, metrics_best, metrics_thresholds
from graphio.evaluation.metrics import Metric, before_update, metric_variable, registered, weighted
from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import order
from graphio.ops.array import surface as array
from graphio.ops.linalg.matrices import diag_part
from graphio.ops.math import comparison, elementwise, reduction
from graphio.ops.math.arithmetic import div_no_nan
from graphio.ops.nn import core as nn
from graphio.support import api_guard
from graphio.variables.variable_scope import variable_scope

__all__ = [
    "accuracy",
    "aggregate_metric_map",
    "aggregate_metrics",
    "cohen_kappa",
    "confusion_matrix",
    "count",
    "f1_score",
    "sparse_recall_at_top_k",
    "streaming_covariance",
    "streaming_false_negative_rate",
    "streaming_false_negative_rate_at_thresholds",
    "streaming_false_negatives_at_thresholds",
    "streaming_false_positive_rate",
    "streaming_false_positive_rate_at_thresholds",
    "streaming_false_positives_at_thresholds",
    "streaming_pearson_correlation",
    "streaming_recall_at_k",
    "streaming_true_negatives_at_thresholds",
    "streaming_true_positives_at_thresholds",
]


@api_guard.operator
def accuracy(predictions: Any, labels: Any, weights: Any = None, name: str | None = None) -> Tensor:
    """The share of labels in a batch that are predicted.

    Args:
        predictions, labels: of one dtype: bool, integer or string.
        weights: of the elements; None: all have 1.

    Raises:
        ValueError: the dtypes differ, or are others.
    """
    guess, truth = convert_to_tensor(predictions), convert_to_tensor(labels)
    if not (truth.dtype.is_integer or truth.dtype in (dtypes.bool, dtypes.string)):
        raise ValueError(f"Labels should have bool, integer, or string dtype, not {truth.dtype!r}")
    if not truth.dtype.is_compatible_with(guess.dtype):
        raise ValueError(
            "Dtypes of predictions and labels should match. Given: predictions "
            f"({guess.dtype!r}) and labels ({truth.dtype!r})"
        )
    with scopes.name_scope(name, "accuracy"):
        hits = elementwise.cast(comparison.equal(guess, truth), dtypes.float32)
        if weights is None:
            return reduction.reduce_mean(hits)
        factors = elementwise.multiply(weights, array.ones_like(hits))
        found = reduction.reduce_sum(elementwise.multiply(hits, factors))
        return elementwise.truediv(found, reduction.reduce_sum(factors))


@api_guard.operator
def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    dtype: Any = dtypes.int32,
    name: str | None = None,
    weights: Any = None,
) -> Tensor:
    """tf.confusion_matrix: how often each class (row) is predicted as each (column)."""
    return order.confusion_matrix(labels, predictions, num_classes, dtype, name, weights)


@api_guard.unguarded
def aggregate_metrics(*value_update_tuples: Metric) -> tuple[list[Any], list[Any]]:
    """The values of metrics, and their updates.

    Raises:
        ValueError: there are none.
    """
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    return [pair[0] for pair in value_update_tuples], [pair[1] for pair in value_update_tuples]


@api_guard.unguarded
def aggregate_metric_map(
    names_to_tuples: Mapping[str, Metric],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values of metrics by name, and their updates."""
    return (
        {name: pair[0] for name, pair in names_to_tuples.items()},
        {name: pair[1] for name, pair in names_to_tuples.items()},
    )


@api_guard.makes_variables
def count(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: Any = None,
) -> Metric:
    """The number of elements, or the sum of their weights: value and update."""
    given = convert_to_tensor(values)
    with variable_scope(name, "count", (given, weights)):
        total = metric_variable([], dtypes.float32, "count")
        number = elementwise.cast(array.size(given), dtypes.float32)
        if weights is not None:
            number = reduction.reduce_sum(weighted(weights, given))
        return registered(
            before_update(total), total.assign_add(number), metrics_collections, updates_collections
        )


@api_guard.makes_variables
def cohen_kappa(
    labels: Any,
    predictions_idx: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: Any = None,
) -> Metric:
    """How far two raters agree beyond chance (Cohen 1960): value and update, float64.

    Args:
        labels, predictions_idx: numbers of classes (n) or (n, 1).

    Raises:
        ValueError: num_classes is below 2.
    """
    if num_classes < 2:
        raise ValueError(f"`num_classes` must be >= 2.Found: {num_classes}")
    with variable_scope(name, "cohen_kappa", (labels, predictions_idx, weights)):
        truth, guess = metrics.matched(labels, predictions_idx)
        flat = [array.reshape(x, [-1]) for x in (truth, guess)]
        factors = None if weights is None else array.reshape(weighted(weights, truth), [-1])
        kind = dtypes.int64 if factors is None else dtypes.float32
        table = order.confusion_matrix(flat[0], flat[1], num_classes, dtype=kind, weights=factors)
        batch = {
            "po": diag_part(table),
            "pe_row": reduction.reduce_sum(table, axis=0),
            "pe_col": reduction.reduce_sum(table, axis=1),
        }
        now, then = [], []
        for key, sums in batch.items():
            total = metric_variable([num_classes], kind, key)
            now.append(before_update(total))
            then.append(total.assign_add(sums))
        return registered(
            _kappa(now, "value"), _kappa(then, "update_op"), metrics_collections,
            updates_collections,
        )  # fmt: skip


def _kappa(sums: Sequence[Tensor], name: str) -> Tensor:
    agreed, rows, columns = (elementwise.cast(x, dtypes.float64) for x in sums)
    total = reduction.reduce_sum(rows)
    by_chance = reduction.reduce_sum(div_no_nan(elementwise.multiply(rows, columns), total))
    above = elementwise.subtract(reduction.reduce_sum(agreed), by_chance)
    return div_no_nan(above, elementwise.subtract(total, by_chance), name=name)


@api_guard.makes_variables
def f1_score(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: Any = None,
) -> Metric:
    """The best F1 score of all thresholds: value and update.

    Args:
        labels: true or false.
        predictions: between 0 and 1.
        num_thresholds: how many thresholds are tried.
    """
    tiny = 1e-7
    edges = metrics_thresholds.spread_thresholds(num_thresholds)
    with variable_scope(name, "f1", (labels, predictions, weights)):
        now, then = metrics_thresholds.counts_at_thresholds(
            labels, predictions, edges, weights, ["tp", "fn", "fp"]
        )

        def best(tp: Any, fn: Any, fp: Any) -> Tensor:
            precision = elementwise.truediv(tp, elementwise.add(elementwise.add(tiny, tp), fp))
            recall = elementwise.truediv(tp, elementwise.add(elementwise.add(tiny, tp), fn))
            both = elementwise.add(elementwise.add(precision, recall), tiny)
            twice = elementwise.multiply(elementwise.multiply(2.0, precision), recall)
            return reduction.reduce_max(elementwise.truediv(twice, both))

        return registered(best(**now), best(**then), metrics_collections, updates_collections)


# ---- rates ----


def _rate(wrong: Metric, right: Metric, values: Any, updates: Any) -> Metric:
    found = [
        div_no_nan(bad, elementwise.add(bad, good), name=name)
        for bad, good, name in zip(wrong, right, ("value", "update_op"), strict=True)
    ]
    return registered(found[0], found[1], values, updates)


@api_guard.makes_variables
def streaming_false_positive_rate(
    predictions: Any,
    labels: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: Any = None,
) -> Metric:
    """The share of false labels that are predicted as true: value and update."""
    with variable_scope(name, "false_positive_rate", (predictions, labels, weights)):
        wrong = metrics.false_positives(labels, predictions, weights)
        right = metrics.true_negatives(labels, predictions, weights)
        return _rate(wrong, right, metrics_collections, updates_collections)


@api_guard.makes_variables
def streaming_false_negative_rate(
    predictions: Any,
    labels: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: Any = None,
) -> Metric:
    """The share of true labels that are predicted as false: value and update."""
    with variable_scope(name, "false_negative_rate", (predictions, labels, weights)):
        wrong = metrics.false_negatives(labels, predictions, weights)
        right = metrics.true_positives(labels, predictions, weights)
        return _rate(wrong, right, metrics_collections, updates_collections)


def _rate_at(kinds: list[str], given: Sequence[Any], values: Any, updates: Any) -> Metric:
    """The second count / (tiny + the sum of both) for each threshold."""
    labels, predictions, thresholds, weights = given
    both = metrics_thresholds.counts_at_thresholds(labels, predictions, thresholds, weights, kinds)
    good, bad = kinds
    found = []
    for counts, name in zip(both, ("value", "update_op"), strict=True):
        total = elementwise.add(elementwise.add(1e-7, counts[bad]), counts[good])
        found.append(elementwise.truediv(counts[bad], total, name=name))
    return registered(found[0], found[1], values, updates)


@api_guard.makes_variables
def streaming_false_positive_rate_at_thresholds(
    predictions: Any,
    labels: Any,
    thresholds: Sequence[float],
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: Any = None,
) -> Metric:
    """streaming_false_positive_rate of predictions above each threshold: value and update."""
    with variable_scope(name, "false_positive_rate_at_thresholds", (predictions, labels, weights)):
        return _rate_at(
            ["tn", "fp"],
            (labels, predictions, thresholds, weights), metrics_collections, updates_collections,
        )  # fmt: skip


@api_guard.makes_variables
def streaming_false_negative_rate_at_thresholds(
    predictions: Any,
    labels: Any,
    thresholds: Sequence[float],
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: Any = None,
) -> Metric:
    """streaming_false_negative_rate of predictions above each threshold: value and update."""
    with variable_scope(name, "false_negative_rate_at_thresholds", (predictions, labels, weights)):
        return _rate_at(
            ["tp", "fn"],
            (labels, predictions, thresholds, weights), metrics_collections, updates_collections,
        )  # fmt: skip


@api_guard.makes_variables
def streaming_recall_at_k(
    predictions: Any,
    labels: Any,
    k: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: Any = None,
) -> Metric:
    """The share of labels among the k best predictions: value and update.

    Args:
        predictions: (n, classes); labels: numbers of classes (n).
    """
    hits = elementwise.to_float(nn.in_top_k(predictions, labels, k))
    return metrics.mean(
        hits, weights, metrics_collections, updates_collections, name or f"recall_at_{k}"
    )


@api_guard.makes_variables
def sparse_recall_at_top_k(
    labels: Any,
    top_k_predictions: Any,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: Any = None,
) -> Metric:
    """tf.metrics.recall_at_top_k: value and update."""
    return metrics_best.recall_at_top_k(
        labels, top_k_predictions, None, class_id, weights, metrics_collections,
        updates_collections, name,
    )  # fmt: skip


# ---- correlations ----


@api_guard.makes_variables
def streaming_covariance(
    predictions: Any,
    labels: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: Any = None,
) -> Metric:
    """The covariance of predictions and labels, unbiased: value and update.

    It is not a number until there are two elements. Batches are joined by their comoments
    (Chan, Golub and LeVeque 1979).
    """
    with variable_scope(name, "covariance", (predictions, labels, weights)):
        truth, guess = metrics.matched(labels, predictions)
        names = ("count", "mean_prediction", "mean_label", "comoment")
        state = {key: metric_variable([], dtypes.float32, key) for key in names}
        factors = array.ones_like(truth) if weights is None else weighted(weights, truth)
        number = reduction.reduce_sum(factors)
        after = state["count"].assign_add(number)
        before = elementwise.subtract(after, number)
        residuals, gaps = factors, []
        for key, x in (("mean_prediction", guess), ("mean_label", truth)):
            own = div_no_nan(reduction.reduce_sum(elementwise.multiply(x, factors)), number)
            old = before_update(state[key])
            step = elementwise.multiply(elementwise.subtract(own, old), number)
            change = div_no_nan(step, after)
            new = state[key].assign_add(change)
            residuals = elementwise.multiply(residuals, elementwise.subtract(x, own))
            gaps.append(elementwise.subtract(elementwise.subtract(new, change), own))
        share = elementwise.truediv(elementwise.multiply(before, number), after)
        between = elementwise.multiply(elementwise.multiply(gaps[0], gaps[1]), share)
        comoment = elementwise.add(reduction.reduce_sum(residuals), between)
        total = state["comoment"].assign_add(comoment)
        value = _unbiased(before_update(state["comoment"]), before_update(state["count"]))
        update = _unbiased(total, after, "update_op")
        return registered(value, update, metrics_collections, updates_collections)


def _unbiased(comoment: Tensor, number: Tensor, name: str = "covariance") -> Tensor:
    quotient = elementwise.truediv(comoment, elementwise.subtract(number, 1.0))
    unknown = elementwise.multiply(array.ones_like(quotient), float("nan"))
    return array.where(comparison.less_equal(number, 1.0), unknown, quotient, name=name)


@api_guard.makes_variables
def streaming_pearson_correlation(
    predictions: Any,
    labels: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: Any = None,
) -> Metric:
    """The correlation of predictions and labels: value and update; see streaming_covariance."""
    with variable_scope(name, "pearson_r", (predictions, labels, weights)):
        truth, guess = metrics.matched(labels, predictions)
        factors = None if weights is None else weighted(weights, truth)
        parts = [
            streaming_covariance(one, two, factors, name=part)
            for one, two, part in (
                (guess, truth, "covariance"),
                (guess, guess, "variance_predictions"),
                (truth, truth, "variance_labels"),
            )
        ]
        found = [
            elementwise.truediv(
                both, elementwise.multiply(elementwise.sqrt(one), elementwise.sqrt(two)), name=part
            )
            for both, one, two, part in zip(*parts, ("pearson_r", "update_op"), strict=True)
        ]
        return registered(found[0], found[1], metrics_collections, updates_collections)


# ---- counts at thresholds ----


def _counts(kind: str, predictions: Any, labels: Any, thresholds: Any, weights: Any) -> Metric:
    now, then = metrics_thresholds.counts_at_thresholds(
        labels, predictions, thresholds, weights, [kind]
    )
    return now[kind], then[kind]


@api_guard.makes_variables
def streaming_true_positives_at_thresholds(
    predictions: Any, labels: Any, thresholds: Sequence[float], weights: Any = None
) -> Metric:
    """The number of true labels that are predicted above each threshold: value and update."""
    return _counts("tp", predictions, labels, thresholds, weights)


@api_guard.makes_variables
def streaming_false_negatives_at_thresholds(
    predictions: Any, labels: Any, thresholds: Sequence[float], weights: Any = None
) -> Metric:
    """The number of true labels that are predicted up to each threshold: value and update."""
    return _counts("fn", predictions, labels, thresholds, weights)


@api_guard.makes_variables
def streaming_false_positives_at_thresholds(
    predictions: Any, labels: Any, thresholds: Sequence[float], weights: Any = None
) -> Metric:
    """The number of false labels that are predicted above each threshold: value and update."""
    return _counts("fp", predictions, labels, thresholds, weights)


@api_guard.makes_variables
def streaming_true_negatives_at_thresholds(
    predictions: Any, labels: Any, thresholds: Sequence[float], weights: Any = None
) -> Metric:
    """The number of false labels that are predicted up to each threshold: value and update."""
    return _counts("tn", predictions, labels, thresholds, weights)
