"""tf.metrics of the k best classes."""

from __future__ import annotations

from typing import Any, NamedTuple

from graphio.evaluation.metrics import Metric, before_update, metric_variable, registered, weighted
from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from graphio.ops.array import order
from graphio.ops.array import surface as array
from graphio.ops.math import comparison, elementwise, reduction
from graphio.ops.math.arithmetic import div_no_nan
from graphio.ops.sparse import conversion
from graphio.support import api_guard
from graphio.variables.variable_scope import variable_scope

__all__ = [
    "average_precision_at_k",
    "average_precision_at_top_k",
    "precision_at_k",
    "precision_at_top_k",
    "recall_at_k",
    "recall_at_top_k",
]

_NO_LABEL = dtypes.int64.min


@api_guard.makes_variables
def recall_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The share of labels that are among the k classes of the highest predictions.

    Args:
        labels: integer tensor or SparseTensor (..., labels an example), or (...) for one. Those
            outside of the classes are never among the best.
        predictions: floating tensor (..., classes).
        k: how many classes count.
        class_id: only this class; None: all.
        weights: scalar or tensor (...); None: 1.
        metrics_collections: names of collections for the value.
        updates_collections: names of collections for the update.
        name: of the scope of its variables.
    """
    return _share(_RECALL, labels, predictions, k, class_id, weights, metrics_collections,
                  updates_collections, name, ranked=False)  # fmt: skip


@api_guard.makes_variables
def precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The share of the k classes of the highest predictions that are labels; see recall_at_k."""
    return _share(_PRECISION, labels, predictions, k, class_id, weights, metrics_collections,
                  updates_collections, name, ranked=False)  # fmt: skip


@api_guard.makes_variables
def recall_at_top_k(
    labels: Any,
    predictions_idx: Any,
    k: int | None = None,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The share of labels that are among the predicted classes.

    Args:
        labels: as recall_at_k's.
        predictions_idx: integer tensor (..., k), the predicted classes of each example.
        k: for the name alone.
        class_id, weights, metrics_collections, updates_collections, name: as recall_at_k's.
    """
    return _share(_RECALL, labels, predictions_idx, k, class_id, weights, metrics_collections,
                  updates_collections, name, ranked=True)  # fmt: skip


@api_guard.makes_variables
def precision_at_top_k(
    labels: Any,
    predictions_idx: Any,
    k: int | None = None,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The share of the predicted classes that are labels; see recall_at_top_k."""
    return _share(_PRECISION, labels, predictions_idx, k, class_id, weights, metrics_collections,
                  updates_collections, name, ranked=True)  # fmt: skip


@api_guard.makes_variables
def average_precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The mean average precision of the k classes of the highest predictions.

    That of an example is the sum of the precisions among the first 1, 2, ... k classes, of those
    that are labels, divided by the number of labels or k, whichever is smaller.

    Args:
        labels, predictions, k, weights, metrics_collections, updates_collections, name: as
            recall_at_k's.

    Raises:
        ValueError: k is less than 1.
    """
    if k < 1:
        raise ValueError(f"Invalid k={k}: average_precision_at_k has 1 or more classes")
    scope = _at_k("average_precision", k, None)
    with variable_scope(name, scope, [predictions, labels, weights]):
        best = order.top_k(predictions, k)[1]
        return _mean_average_precision(
            labels, best, k, weights, metrics_collections, updates_collections
        )


@api_guard.makes_variables
def average_precision_at_top_k(
    labels: Any,
    predictions_idx: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """The mean average precision of the predicted classes; see average_precision_at_k.

    Args:
        labels: as recall_at_k's.
        predictions_idx: integer tensor (..., k) of known k, the best class first.
        weights, metrics_collections, updates_collections, name: as recall_at_k's.

    Raises:
        ValueError: k is not known.
    """
    best = convert_to_tensor(predictions_idx, name="predictions_idx")
    k = best.shape[-1].value if best.shape.ndims else None
    if not k:
        raise ValueError(
            f"predictions_idx has shape {best.shape}, expected (..., k) with k, the number of "
            "predicted classes, known and above 0: set it with tf.ensure_shape"
        )
    with variable_scope(name, "average_precision_at_top_k", [best, labels, weights]):
        return _mean_average_precision(
            labels, best, k, weights, metrics_collections, updates_collections
        )


def _mean_average_precision(
    labels: Any, best: Tensor, k: int, weights: Any, values: Any, updates: Any
) -> Metric:
    """The metric of the k predicted classes best (..., k), in the current scope."""
    found = _Found(labels, best, None)
    hits = elementwise.cast(found.hit, dtypes.float64)
    ranks = elementwise.cast(array.range(1, array.shape(hits)[-1] + 1), dtypes.float64)
    sums = reduction.reduce_sum(reduction.cumsum(hits, -1) / ranks * hits, -1)
    count = reduction.reduce_sum(elementwise.cast(found.given > _NO_LABEL, dtypes.float64), -1)
    each = sums / elementwise.minimum(count, float(k))
    share = elementwise.cast(weighted(1.0 if weights is None else weights, each), dtypes.float64)
    now, then = [], []
    for numbers, label in ((share, "max"), (each * share, "total")):
        kept = metric_variable([], dtypes.float64, label)
        now.append(before_update(kept))
        then.append(kept.assign_add(reduction.reduce_sum(numbers)))
    value = div_no_nan(now[1], now[0], name="mean")
    update = div_no_nan(then[1], then[0], name="update")
    return registered(value, update, values, updates)


def _at_k(what: str, k: int | None, class_id: int | None) -> str:
    """A name of a scope or variable."""
    of_class = "" if class_id is None else f"_class{class_id}"
    return f"{what}_at_{'k' if k is None else k}{of_class}"


class _Found:
    """Labels and predicted classes, aligned.

    Attributes:
        given: labels (..., n), _NO_LABEL where there is none.
        hit: bools (..., k): which predicted classes are labels,
        wrong: and which are none.
        missed: bools (..., n): which labels are not predicted, each of them once.
    """

    def __init__(self, labels: Any, best: Any, class_id: int | None) -> None:
        found = elementwise.cast(convert_to_tensor(best, name="predictions_idx"), dtypes.int64)
        self.given = _dense_labels(labels, found)
        pairs = comparison.equal(array.expand_dims(found, -1), array.expand_dims(self.given, -2))
        counted, real = _first_of_each(found), self.given > _NO_LABEL
        required = comparison.logical_and(real, _first_of_each(self.given))
        if class_id is not None:
            counted, required = (
                comparison.logical_and(which, comparison.equal(t, int(class_id)))
                for which, t in ((counted, found), (required, self.given))
            )
        right = reduction.reduce_any(pairs, -1)
        predicted = reduction.reduce_any(pairs, -2)
        self.hit = comparison.logical_and(counted, right)
        self.wrong = comparison.logical_and(counted, comparison.logical_not(right))
        self.missed = comparison.logical_and(required, comparison.logical_not(predicted))


def _first_of_each(numbers: Tensor) -> Tensor:
    """Bools: which elements of the last axis have no equal one before them."""
    numbered = array.range(array.shape(numbers)[-1])
    before = array.expand_dims(numbered, 0) < array.expand_dims(numbered, 1)
    same = comparison.equal(array.expand_dims(numbers, -1), array.expand_dims(numbers, -2))
    again = reduction.reduce_any(comparison.logical_and(same, before), -1)
    return comparison.logical_not(again)


def _dense_labels(labels: Any, best: Tensor) -> Tensor:
    """The labels as an int64 tensor (..., n); _NO_LABEL where sparse ones have none."""
    labels = convert_to_tensor_or_sparse_tensor(labels, name="labels")
    if isinstance(labels, SparseTensor):
        wide = SparseTensor(
            labels.indices, elementwise.cast(labels.values, dtypes.int64), labels.dense_shape
        )
        given = conversion.sparse_tensor_to_dense(wide, _NO_LABEL)
    else:
        given = elementwise.cast(labels, dtypes.int64)
    one = given.shape.ndims is not None and given.shape.ndims == (best.shape.ndims or 0) - 1
    return array.expand_dims(given, -1) if one else given


class _Kind(NamedTuple):
    """A share of hits: its name, what else counts, and the attribute of _Found that has that."""

    name: str
    others: str
    attribute: str


_RECALL = _Kind("recall", "false_negative", "missed")
_PRECISION = _Kind("precision", "false_positive", "wrong")


def _share(
    kind: _Kind, labels: Any, predictions: Any, k: int | None, class_id: int | None, weights: Any,
    values: Any, updates: Any, name: str | None, *, ranked: bool,
) -> Metric:  # fmt: skip
    """The share of hits among hits and others, each on the last axis; NaN of none. ranked: whether
    the predictions are the classes themselves."""
    with variable_scope(name, _at_k(kind.name, k, class_id), [predictions, labels, weights]):
        best = predictions if ranked else order.top_k(predictions, k)[1]
        found = _Found(labels, best, class_id)
        now, then = [], []
        for what, bools in (
            ("true_positive", found.hit),
            (kind.others, getattr(found, kind.attribute)),
        ):
            each = reduction.reduce_sum(elementwise.cast(bools, dtypes.float32), -1)
            if weights is not None:
                each = each * weighted(weights, each)
            count = metric_variable([], dtypes.float64, _at_k(what, k, class_id))
            now.append(before_update(count))
            then.append(
                count.assign_add(elementwise.cast(reduction.reduce_sum(each), dtypes.float64))
            )
        value = elementwise.truediv(now[0], now[0] + now[1], name="value")
        update = elementwise.truediv(then[0], then[0] + then[1], name="update_op")
        return registered(value, update, values, updates)
