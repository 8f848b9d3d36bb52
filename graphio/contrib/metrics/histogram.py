"""The area under the ROC curve from histograms of the scores of true and of false labels."""

from __future__ import annotations

from typing import Any

from graphio.evaluation.metrics import before_update, matched
from graphio.framework import dtypes, scopes
from graphio.framework.collections import GraphKeys
from graphio.framework.graph import Operation, Tensor
from graphio.ops.array import index, order
from graphio.ops.array import surface as array
from graphio.ops.checks.assertion import Assert
from graphio.ops.control_flow.branches import group
from graphio.ops.math import comparison, elementwise, reduction
from graphio.support import api_guard
from graphio.variables.initializers import zeros_initializer
from graphio.variables.variable_scope import get_variable, variable_scope

__all__ = ["auc_using_histogram"]


@api_guard.makes_variables
def auc_using_histogram(
    boolean_labels: Any,
    scores: Any,
    score_range: Any,
    nbins: int = 100,
    collections: Any = None,
    check_shape: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Operation]:
    """The area under the ROC curve, by counts in equal parts of the range of scores.

    The trapezoids are those of Bouckaert 2006, with the highest scores first.

    Args:
        boolean_labels: bool (n).
        scores: numbers (n).
        score_range: the two ends, of scores' dtype; scores beyond count at the ends.
        nbins: how many parts.
        collections: names of collections for the two variables; None: the local variables.
        check_shape: whether both are checked to be vectors.
        name: of the scope of its variables.

    Returns:
        The area, float32 (not a number before there are labels of both kinds), and the update.

    Raises:
        ValueError: the labels are not bool.

    Raises, when run:
        InvalidArgumentError: labels or scores are not a vector.
    """
    with variable_scope(name, "auc_using_histogram", [boolean_labels, scores, score_range]):
        truth, given = matched(boolean_labels, scores)
        if truth.dtype != dtypes.bool:
            raise ValueError(
                f"Argument boolean_labels should have dtype bool.  Found: {truth.dtype.name}"
            )
        if check_shape:
            truth = _vector(truth, "boolean_labels")
            given = _vector(given, "scores")
        batch = _histograms(truth, given, score_range, nbins)
        keys = [GraphKeys.LOCAL_VARIABLES] if collections is None else collections
        with variable_scope(None, "hist_accumulate"):
            kept = [
                get_variable(
                    f"hist_{kind}_acc", [nbins], dtypes.int64, zeros_initializer(),
                    collections=keys, trainable=False,
                )
                for kind in ("true", "false")
            ]  # fmt: skip
            now = [before_update(variable) for variable in kept]
            update = group(
                *(v.assign_add(x) for v, x in zip(kept, batch, strict=True)), name="update_op"
            )
        return _area(now[0], now[1]), update


def _vector(x: Tensor, argument: str) -> Tensor:
    shown = [f"Argument {argument} should have rank 1.  Found: ", x.name, array.shape(x)]
    with scopes.control_dependencies([Assert(comparison.equal(1, array.rank(x)), shown)]):
        return array.identity(x)


def _histograms(truth: Tensor, scores: Tensor, ends: Any, nbins: int) -> list[Tensor]:
    with variable_scope(None, "make_auc_histograms"):
        return [
            order.histogram_fixed_width(
                index.boolean_mask(scores, which), ends, nbins, dtypes.int64, name=name
            )
            for which, name in (
                (truth, "hist_true"),
                (comparison.logical_not(truth), "hist_false"),
            )
        ]


def _area(hits: Tensor, misses: Tensor) -> Tensor:
    """The area by trapezoids, from the number of hits and of misses in each part."""
    dy, dx = (
        elementwise.to_float(
            index.reverse(elementwise.truediv(counts, reduction.reduce_sum(counts)), [0])
        )
        for counts in (hits, misses)
    )
    y = reduction.cumsum(dy)
    return reduction.reduce_sum(dx * (y - dy / 2.0), name="auc")
