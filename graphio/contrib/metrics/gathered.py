"""Metrics that keep all elements of the batches: curves through every prediction."""

from __future__ import annotations

import statistics
from typing import Any, NamedTuple

from graphio.evaluation.metrics import before_update, matched, metric_variable, registered
from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Operation, Tensor
from graphio.ops.array import distinct_values, index, order
from graphio.ops.array import surface as array
from graphio.ops.checks.asserts import assert_greater_equal, assert_less_equal
from graphio.ops.control_flow.branches import cond, group, no_op
from graphio.ops.math import comparison, elementwise, reduction
from graphio.support import api_guard
from graphio.variables.variable_scope import variable_scope
from graphio.variables.variables import Variable, assign

__all__ = ["auc_with_confidence_intervals", "streaming_concat", "streaming_dynamic_auc"]

_TINY = 1e-7


@api_guard.makes_variables
def streaming_concat(
    values: Any,
    axis: int = 0,
    max_size: int | None = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The batches' elements one after another along an axis: value and update.

    The update gives the length of that axis. The variable behind grows by half when it is full,
    so that the time of all updates is linear in the elements.

    Args:
        values: a batch, of known rank and known sizes of all axes but the one given.
        axis: along which the batches are joined; a negative one counts from the last.
        max_size: elements of that axis after which others are left out; None: all are kept.
        metrics_collections: names of collections for the value.
        updates_collections: names of collections for the update.
        name: of the scope of its variables, `array` and `size`.

    Raises:
        ValueError: the rank or a size is not known, or there is no such axis.
    """
    batch = convert_to_tensor(values, name="values")
    with variable_scope(name, "streaming_concat", (batch,)):
        rank = batch.shape.ndims
        if rank is None:
            raise ValueError("`values` must have known statically known rank")
        joined = axis + rank if axis < 0 else axis
        if not 0 <= joined < rank:
            raise ValueError(f"axis = {axis} not in [0, {rank})")
        others = [n for n in range(rank) if n != joined]
        sizes = [batch.shape[n].value for n in others]
        if None in sizes:
            raise ValueError(
                f"`values` has shape {batch.shape}; all dimensions of `values` other than the "
                f"dimension {joined}, along which they are joined, must have statically known size"
            )
        kept = metric_variable([max_size or 0, *sizes], batch.dtype, "array", validate_shape=False)
        size = metric_variable([], dtypes.int32, "size")
        known = before_update(kept)[: before_update(size)]
        known.set_shape([None, *sizes])
        back = [0 if n == joined else n + 1 if n < joined else n for n in range(rank)]
        value = array.transpose(known, back, name="concat")
        rows = array.transpose(batch, [joined, *others])
        update = _append(kept, size, rows, max_size)
        return registered(value, update, metrics_collections, updates_collections)


def _append(kept: Variable, size: Variable, rows: Tensor, most: int | None) -> Tensor:
    """The assignments that put rows behind the first `size` ones; gives their number then."""
    start = size.value()
    count = array.shape(rows)[0]
    if most is not None:
        count = elementwise.minimum(count, most - start)
        rows = rows[:count]
    end = start + count
    capacity = array.shape(kept.value())[0]

    def grow() -> Operation:
        more = array.concat([[end + end // 2 - capacity], array.shape(rows)[1:]], 0)
        longer = array.concat([kept.value(), array.zeros(more, rows.dtype)], 0)
        with scopes.control_dependencies([assign(kept, longer, validate_shape=False)]):
            return no_op()

    with scopes.control_dependencies([cond(end > capacity, grow, no_op)]):
        written = kept[start:end].assign(rows)
    with scopes.control_dependencies([written]):
        return size.assign(end)


# ---- areas under curves ----


def _checked(labels: Any) -> Tensor:
    """The labels as a vector of int64, checked when they are used."""
    flat = array.reshape(elementwise.to_int64(labels), [-1])
    ends = (
        assert_greater_equal(
            flat, array.zeros_like(flat), message="labels must be 0 or 1, at least one is <0"
        ),
        assert_less_equal(
            flat, array.ones_like(flat), message="labels must be 0 or 1, at least one is >1"
        ),
    )
    with scopes.control_dependencies(ends):
        return array.identity(flat)


def _all(**parts: Tensor) -> tuple[list[Tensor], Operation]:
    """The elements of all batches of each part, and the operation that adds this one's."""
    pairs = [streaming_concat(part, name=f"concat_{name}") for name, part in parts.items()]
    return [value for value, _ in pairs], group(*(update for _, update in pairs))


@api_guard.makes_variables
def streaming_dynamic_auc(
    labels: Any,
    predictions: Any,
    curve: str = "ROC",
    metrics_collections: Any = (),
    updates_collections: Any = (),
    name: str | None = None,
    weights: Any = None,
) -> tuple[Tensor, Operation]:
    """The area under a curve whose thresholds are all the predictions; 0 if all labels are equal.

    All elements are kept in variables.

    Args:
        labels: 0 or 1.
        predictions: numbers of the same shape.
        curve: "ROC" or "PR", precision over recall.
        metrics_collections: names of collections for the value.
        updates_collections: names of collections for the update.
        name: of the scope of its variables.
        weights: of the elements; None: all have 1.

    Returns:
        The area, float64, and the update, an operation.

    Raises:
        ValueError: the curve is another, or the shapes do not fit.

    Raises, when run:
        InvalidArgumentError: a label is neither 0 nor 1.
    """
    if curve not in ("PR", "ROC"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    with variable_scope(name, "dynamic_auc"):
        truth, scores = convert_to_tensor(labels), convert_to_tensor(predictions)
        truth.shape.assert_is_compatible_with(scores.shape)
        parts = {"preds": _flat(scores), "labels": _checked(truth)}
        if weights is not None:
            parts["weights"] = _flat(weights)
        kept, update = _all(**parts)
        factors = kept[2] if len(kept) == 3 else array.ones_like(kept[0])
        area = _dynamic_area(kept[1], kept[0], factors, curve)
        return registered(area, update, metrics_collections, updates_collections)


def _flat(x: Any) -> Tensor:
    return array.reshape(elementwise.cast(convert_to_tensor(x), dtypes.float64), [-1])


def _dynamic_area(labels: Tensor, scores: Tensor, weights: Tensor, curve: str) -> Tensor:
    """The area by trapezoids between the points of all different scores, the highest first."""
    positive = weights * elementwise.cast(labels, dtypes.float64)
    total, total_positive = reduction.reduce_sum(weights), reduction.reduce_sum(positive)
    sorted_indices = order.argsort(scores, direction="DESCENDING", stable=True)
    _, _, counts = distinct_values.unique_with_counts(index.gather(scores, sorted_indices))
    ends = array.pad(reduction.cumsum(counts), [[1, 0]])

    def before_each_end(x: Tensor) -> Tensor:
        sums = array.pad(reduction.cumsum(index.gather(x, sorted_indices)), [[1, 0]])
        return index.gather(sums, ends)

    hits = before_each_end(positive)
    recall = elementwise.truediv(hits, total_positive)
    if curve == "ROC":
        misses = before_each_end(weights - positive)
        x, y = elementwise.truediv(misses, total - total_positive), recall
    else:
        precision = elementwise.truediv(hits, before_each_end(weights))
        x, y = recall, array.where(ends > 0, precision, array.ones_like(precision))
    area = reduction.reduce_sum((y[1:] + y[:-1]) / 2.0 * elementwise.abs(x[1:] - x[:-1]))
    trivial = comparison.logical_or(
        comparison.equal(total_positive, 0.0), comparison.equal(total_positive, total)
    )
    return array.where(trivial, array.zeros_like(area), area)


class AucData(NamedTuple):
    """An area and the ends of its confidence interval, float32.

    Attributes:
        auc: the area under the ROC curve.
        lower, upper: the ends.
    """

    auc: Tensor
    lower: Tensor
    upper: Tensor


@api_guard.makes_variables
def auc_with_confidence_intervals(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    alpha: float = 0.95,
    logit_transformation: bool = True,
    metrics_collections: Any = (),
    updates_collections: Any = (),
    name: str | None = None,
) -> tuple[AucData, Operation]:
    """The area under the ROC curve and its confidence interval, by placement values.

    Placement values are those of DeLong, DeLong and Clarke-Pearson 1988, computed as Sun and Xu
    2014 do. All elements are kept in variables. Where the labels of a batch are all equal, or its
    weights sum to less than 1, the three values of its run are 0.

    Args:
        labels: 0 or 1.
        predictions: float32 numbers of the same shape.
        weights: of the elements, float32; None: all have 1.
        alpha: the level of confidence, between 0 and 1.
        logit_transformation: whether the interval is that of the area's logit, so that it lies
            between 0 and 1.
        metrics_collections: names of collections for the value.
        updates_collections: names of collections for the update.
        name: of the scope of its variables.

    Raises:
        ValueError: alpha is not between 0 and 1, or the shapes do not fit.

    Raises, when run:
        InvalidArgumentError: a label is neither 0 nor 1.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1; currently {alpha:.02f}")
    with variable_scope(name, "auc_with_confidence_intervals", (labels, predictions, weights)):
        truth, scores = matched(labels, predictions)
        each = array.ones_like(scores) if weights is None else convert_to_tensor(weights)
        if each.shape.ndims == 0:
            each = each * array.ones_like(scores)
        kept, update = _all(
            preds=_flat(scores), labels=_checked(truth), weights=array.reshape(each, [-1])
        )
        given = array.reshape(elementwise.to_int64(truth), [-1])
        both = comparison.logical_and(
            comparison.equal(reduction.reduce_min(given), 0),
            comparison.equal(reduction.reduce_max(given), 1),
        )
        valid = comparison.logical_and(both, reduction.reduce_sum(each) >= 1.0)
        area, error = _placement_area(kept[1], kept[0], kept[2])
        below = statistics.NormalDist().inv_cdf((1.0 - alpha) / 2.0)
        lower, upper = _interval(area, error, below, logit_transformation)
        found = (array.where(valid, x, array.zeros_like(x)) for x in (area, lower, upper))
        return registered(AucData(*found), update, metrics_collections, updates_collections)


def _placement_area(labels: Tensor, scores: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """The area and its standard error.

    The placement value of an element is the weight of the elements of the other label with lower
    scores, and half of that of those with the same one, divided by the weight of all of them.
    """
    sorted_indices = order.argsort(scores, stable=True)
    _, groups = distinct_values.unique(index.gather(scores, sorted_indices))
    positive = elementwise.to_float(index.gather(labels, sorted_indices))
    ordered = index.gather(weights, sorted_indices)
    areas: list[Tensor] = []
    variances: list[Tensor] = []
    totals: list[Tensor] = []
    for own in (1.0 - positive, positive):
        mine, others = ordered * own, ordered * (1.0 - own)
        sums = index.segment_sum(others, groups)
        lower = reduction.cumsum(sums, exclusive=True) + sums / 2.0
        placement = index.gather(
            elementwise.truediv(lower, reduction.reduce_sum(sums) + _TINY), groups
        )
        if not areas:  # of the label 0 the elements above count
            placement = 1.0 - placement
        total = reduction.reduce_sum(mine)
        area = elementwise.truediv(reduction.reduce_sum(mine * placement), total + _TINY)
        squares = reduction.reduce_sum(mine * elementwise.square(placement - area))
        variance = elementwise.truediv(squares, total - 1.0 + _TINY)
        areas.append(area)
        variances.append(elementwise.truediv(variance, total + _TINY))
        totals.append(total)
    error = elementwise.sqrt(variances[0] + variances[1])
    return array.where(totals[0] < totals[1], areas[1], areas[0]), error


def _interval(area: Tensor, error: Tensor, below: float, logit: bool) -> tuple[Tensor, Tensor]:
    """The ends, `below` standard errors (a negative number) from the area; those of an area of 0
    or 1 are the area."""
    estimate, spread = area, error
    if logit:
        rest = 1.0 - area + _TINY
        estimate = elementwise.log(elementwise.truediv(area, rest))
        spread = elementwise.truediv(error, area * rest)
    ends = [estimate + below * spread, estimate - below * spread]
    if logit:
        ends = [
            elementwise.truediv(1.0, 1.0 + elementwise.exp(elementwise.negative(x)) + _TINY)
            for x in ends
        ]
    certain = comparison.logical_or(comparison.equal(area, 1.0), comparison.equal(area, 0.0))
    lower, upper = (array.where(certain, area, x) for x in ends)
    return lower, upper
