"""Linear models: what they predict, and their losses."""

from __future__ import annotations

from typing import Any

from graphio.evaluation import losses
from graphio.framework.graph import Tensor
from graphio.framework.scopes import name_scope
from graphio.ops.array import surface as array
from graphio.ops.nn import core
from graphio.support import api_guard

__all__ = ["mean_squared_error_regressor", "softmax_classifier"]


@api_guard.operator
def mean_squared_error_regressor(
    tensor_in: Any, labels: Any, weights: Any, biases: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Predictions tensor_in weights + biases, and their mean squared error.

    Args:
        tensor_in: [batch, features].
        labels: a tensor [batch, outputs], or [batch] where there is one output.
        weights, biases: [features, outputs] and [outputs].

    Returns:
        predictions, in the shape of the labels, and the loss, which is one of the collection.
    """
    with name_scope(name, "mean_squared_error_regressor", [tensor_in, labels]):
        found = core.xw_plus_b(tensor_in, weights, biases)
        if len(labels.shape) == 1 and len(found.shape) == 2:
            found = array.squeeze(found, axis=[1])
        return found, losses.mean_squared_error(labels, found)


@api_guard.operator
def softmax_classifier(
    tensor_in: Any,
    labels: Any,
    weights: Any,
    biases: Any,
    class_weight: Any = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Probabilities of classes, and the mean cross-entropy.

    Args:
        tensor_in: [batch, features].
        labels: [batch, classes] of 0 and 1.
        weights, biases: [features, classes] and [classes].
        class_weight: [classes], factors of the scores; None: none.

    Returns:
        probabilities [batch, classes], and the loss, which is one of the collection.
    """
    with name_scope(name, "softmax_classifier", [tensor_in, labels]):
        scores = core.xw_plus_b(tensor_in, weights, biases)
        if class_weight is not None:
            scores = scores * class_weight
        return core.softmax(scores), losses.softmax_cross_entropy(labels, scores)
