"""Heads of one problem.

Common arguments:
    label_name: the key of the labels, where they are a dict.
    weight_column_name: the key of the rows' weights in the features; None: there are none.
    enable_centered_bias: whether a bias is trained that starts at zeros.
    head_name: the end of the names of metrics and summaries, and the default scope of variables.
    thresholds: of metrics; None: 0.5.
    metric_class_ids: numbers of classes that have metrics.
    loss_fn: from labels, logits and weights, by these names, to a scalar; None: the usual loss.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from graphio.contrib.learn.head import losses, streams
from graphio.contrib.learn.head.base import Head, SingleHead
from graphio.contrib.learn.head.streams import Metric
from graphio.contrib.learn.keys import MetricKey, PredictionKey, ProblemType
from graphio.contrib.lookup.tables import (
    index_table_from_tensor,
    index_to_string_table_from_tensor,
)
from graphio.evaluation import metrics
from graphio.framework import dtypes
from graphio.framework.graph import Tensor
from graphio.framework.scopes import name_scope
from graphio.framework.sparse_tensor import SparseTensor
from graphio.ops.array import surface as array
from graphio.ops.math import comparison, elementwise, reduction
from graphio.ops.nn import core
from graphio.ops.sparse.conversion import sparse_to_indicator
from graphio.ops.strings.numbers import as_string
from graphio.support import api_guard

__all__ = [
    "binary_svm_head",
    "multi_class_head",
    "multi_label_head",
    "poisson_regression_head",
    "regression_head",
]


class _Regression(SingleHead):
    SCOPE = "regression_head"

    def __init__(self, dimension: int, link: Callable[[Tensor], Tensor], **shared: Any) -> None:
        super().__init__(ProblemType.LINEAR_REGRESSION, dimension, **shared)
        self._link = link

    def predictions(self, logits: Tensor) -> dict[str, Tensor]:
        name = PredictionKey.SCORES
        if self.logits_dimension == 1:
            logits = array.squeeze(logits, axis=(1,), name=name)
        return {name: self._link(logits)}


def _two_classes(logits: Tensor) -> Tensor:
    """The scores of two classes, the first of which has always zero."""
    return array.concat((array.zeros_like(logits), logits), 1)


class _Classification(SingleHead):
    """A head whose outputs for serving are probabilities, with the names of all classes."""

    def __init__(self, keys: Any = None, *given: Any, **shared: Any) -> None:
        super().__init__(*given, **shared)
        self._keys = keys

    def outputs(self, predictions: dict[str, Tensor]) -> dict[Any, Any]:
        probabilities = predictions[PredictionKey.PROBABILITIES]
        with name_scope(None, "_classification_output_alternatives", [probabilities]):
            shape = array.shape(probabilities)
            names = self._keys or array.range(shape[1])
            multiples = array.stack([shape[0], 1])
            tiled = array.tile(array.expand_dims(names, 0), multiples)
            classes = tiled if self._keys else as_string(tiled, name="classes_tensor")
        found = {
            PredictionKey.PROBABILITIES: probabilities,
            PredictionKey.CLASSES: array.identity(classes) if self._keys else classes,
        }
        return {self.head_name: (self._problem_type, found)}


class _BinaryLogistic(_Classification):
    SCOPE = "binary_logistic_head"

    def __init__(self, thresholds: Sequence[float], **shared: Any) -> None:
        super().__init__(None, ProblemType.LOGISTIC_REGRESSION, 1, **shared)
        self._thresholds = thresholds

    def predictions(self, logits: Tensor) -> dict[str, Tensor]:
        two = _two_classes(logits)
        names = PredictionKey
        return {
            names.LOGITS: logits,
            names.LOGISTIC: elementwise.sigmoid(logits, name=names.LOGISTIC),
            names.PROBABILITIES: core.softmax(two, name=names.PROBABILITIES),
            names.CLASSES: reduction.argmax(two, 1, name=names.CLASSES),
        }

    def measures(
        self, predictions: dict[str, Tensor], truth: Any, weights: Any
    ) -> dict[str, Metric]:
        logistic = predictions[PredictionKey.LOGISTIC]
        classes = predictions[PredictionKey.CLASSES]
        found = {
            MetricKey.ACCURACY: metrics.accuracy(truth, classes, weights),
            MetricKey.PREDICTION_MEAN: streams.mean_of(logistic, weights),
            MetricKey.LABEL_MEAN: streams.mean_of(truth, weights),
            MetricKey.ACCURACY_BASELINE: streams.mean_of(truth, weights),
            MetricKey.AUC: streams.area(logistic, truth, weights),
            MetricKey.AUC_PR: streams.area(logistic, truth, weights, curve="PR"),
        }
        at = {
            MetricKey.ACCURACY_MEAN: streams.accuracy_at,
            MetricKey.PRECISION_MEAN: streams.precision_at,
            MetricKey.RECALL_MEAN: streams.recall_at,
        }
        for threshold in self._thresholds:
            for name, metric in at.items():
                found[name % threshold] = metric(logistic, truth, weights, threshold)
        return found


class _MultiClass(_Classification):
    """The truth is a pair: the labels as they are given, and as numbers."""

    SCOPE = "multi_class_head"

    def __init__(self, count: int, keys: Any, class_ids: Sequence[int], **shared: Any) -> None:
        super().__init__(keys, ProblemType.CLASSIFICATION, count, **shared)
        if keys and len(keys) != count:
            raise ValueError("Length of label_keys must equal n_classes.")
        self._class_ids = class_ids

    def truth(self, labels: Any) -> Any:
        found = super().truth(labels)
        if not self._keys:
            return found, found
        return found, index_table_from_tensor(self._keys, name="label_id_lookup").lookup(found)

    def loss(self, truth: Any, logits: Tensor, weights: Any) -> tuple[Tensor, Tensor]:
        return super().loss(truth[1], logits, weights)

    def predictions(self, logits: Tensor) -> dict[str, Tensor]:
        names = PredictionKey
        numbers = reduction.argmax(logits, 1, name=names.CLASSES)
        classes = numbers
        if self._keys:
            table = index_to_string_table_from_tensor(self._keys, name="class_string_lookup")
            classes = table.lookup(numbers)
        return {
            names.LOGITS: logits,
            names.PROBABILITIES: core.softmax(logits, name=names.PROBABILITIES),
            names.CLASSES: classes,
        }

    def measures(
        self, predictions: dict[str, Tensor], truth: Any, weights: Any
    ) -> dict[str, Metric]:
        labels, numbers = truth
        classes = predictions[PredictionKey.CLASSES]
        found = {MetricKey.ACCURACY: metrics.accuracy(labels, classes, weights)}
        for number in () if self._keys else self._class_ids:
            found[MetricKey.CLASS_PREDICTION_MEAN % number] = streams.share_of_class(
                classes, weights, number
            )
            found[MetricKey.CLASS_LABEL_MEAN % number] = streams.share_of_class(
                numbers, weights, number
            )
            found.update(_class_means(predictions, weights, number))
        return found


def _class_means(predictions: dict[str, Tensor], weights: Any, number: int) -> dict[str, Metric]:
    probabilities = predictions[PredictionKey.PROBABILITIES]
    logits = predictions[PredictionKey.LOGITS]
    return {
        MetricKey.CLASS_PROBABILITY_MEAN % number: streams.mean_of(probabilities, weights, number),
        MetricKey.CLASS_LOGITS_MEAN % number: streams.mean_of(logits, weights, number),
    }


class _BinarySvm(SingleHead):
    SCOPE = "binary_svm_head"

    def predictions(self, logits: Tensor) -> dict[str, Tensor]:
        classes = reduction.argmax(_two_classes(logits), 1, name=PredictionKey.CLASSES)
        return {PredictionKey.LOGITS: logits, PredictionKey.CLASSES: classes}

    def measures(
        self, predictions: dict[str, Tensor], truth: Any, weights: Any
    ) -> dict[str, Metric]:
        classes = predictions[PredictionKey.CLASSES]
        return {MetricKey.ACCURACY: metrics.accuracy(truth, classes, weights)}


class _MultiLabel(_Classification):
    SCOPE = "multi_label_head"

    def __init__(self, count: int, class_ids: Sequence[int], **shared: Any) -> None:
        super().__init__(None, ProblemType.CLASSIFICATION, count, **shared)
        self._class_ids = class_ids

    def truth(self, labels: Any) -> Any:
        if not isinstance(labels, SparseTensor):
            return labels
        dense = sparse_to_indicator(labels, self.logits_dimension)
        return elementwise.cast(dense, dtypes.int64)

    def predictions(self, logits: Tensor) -> dict[str, Tensor]:
        names = PredictionKey
        positive = comparison.greater(logits, 0)
        return {
            names.LOGITS: logits,
            names.PROBABILITIES: elementwise.sigmoid(logits, name=names.PROBABILITIES),
            names.CLASSES: elementwise.cast(positive, dtypes.int64, name=names.CLASSES),
        }

    def measures(
        self, predictions: dict[str, Tensor], truth: Any, weights: Any
    ) -> dict[str, Metric]:
        classes = predictions[PredictionKey.CLASSES]
        probabilities = predictions[PredictionKey.PROBABILITIES]
        found = {
            MetricKey.ACCURACY: metrics.accuracy(truth, classes, weights),
            MetricKey.AUC: streams.area(probabilities, truth, weights),
            MetricKey.AUC_PR: streams.area(probabilities, truth, weights, curve="PR"),
        }
        for number in self._class_ids:
            found |= {
                MetricKey.CLASS_PREDICTION_MEAN % number: streams.mean_of(classes, weights, number),
                MetricKey.CLASS_LABEL_MEAN % number: streams.mean_of(truth, weights, number),
                **_class_means(predictions, weights, number),
                MetricKey.CLASS_AUC % number: streams.area(probabilities, truth, weights, number),
                MetricKey.CLASS_AUC_PR % number: streams.area(
                    probabilities, truth, weights, number, "PR"
                ),
            }
        return found


# ---- the functions ----


@api_guard.unguarded
def regression_head(
    label_name: str | None = None, weight_column_name: str | None = None, label_dimension: int = 1,
    enable_centered_bias: bool = False, head_name: str | None = None,
    link_fn: Callable[[Tensor], Tensor] | None = None,
) -> Head:  # fmt: skip
    """The head of a regression with the mean squared error. Further arguments are described at the
    head of the module.

    Args:
        label_dimension: labels of a row.
        link_fn: from the logits to the predictions; None: they are the same.

    Raises:
        ValueError: label_dimension is less than 1.
    """
    return _Regression(
        label_dimension, link_fn or array.identity, loss=losses.mean_squared,
        label_name=label_name, weight_column_name=weight_column_name, head_name=head_name,
        enable_centered_bias=enable_centered_bias,
    )  # fmt: skip


@api_guard.unguarded
def poisson_regression_head(
    label_name: str | None = None, weight_column_name: str | None = None, label_dimension: int = 1,
    enable_centered_bias: bool = False, head_name: str | None = None,
) -> Head:  # fmt: skip
    """The head of a regression of counts: the predictions are exp(logits). Arguments are those of
    regression_head."""
    return _Regression(
        label_dimension, elementwise.exp, loss=losses.poisson, label_name=label_name,
        weight_column_name=weight_column_name, head_name=head_name,
        enable_centered_bias=enable_centered_bias,
    )  # fmt: skip


@api_guard.unguarded
def multi_class_head(
    n_classes: int, label_name: str | None = None, weight_column_name: str | None = None,
    enable_centered_bias: bool = False, head_name: str | None = None,
    thresholds: Sequence[float] | None = None, metric_class_ids: Sequence[int] | None = None,
    loss_fn: Callable[..., Tensor] | None = None, label_keys: Sequence[str] | None = None,
) -> Head:  # fmt: skip
    """The head of a classification: with two classes one logit, else one each. Further arguments
    are described at the head of the module.

    Args:
        n_classes: at least 2.
        label_keys: the classes, where labels and predictions are strings; for more than two.

    Raises:
        ValueError: n_classes is less than 2, label_keys has another length, an argument is not for
            two classes, metric_class_ids has no class, or loss_fn lacks an argument.
    """
    if n_classes is None or n_classes < 2:
        raise ValueError(f"n_classes must be > 1 for classification: {n_classes}.")
    usual = losses.log_loss if n_classes == 2 else losses.softmax
    shared: dict[str, Any] = {
        "loss": _loss(loss_fn, usual), "label_name": label_name,
        "weight_column_name": weight_column_name, "head_name": head_name,
        "enable_centered_bias": enable_centered_bias,
    }  # fmt: skip
    if n_classes == 2:
        if metric_class_ids:
            raise ValueError("metric_class_ids invalid for n_classes==2.")
        if label_keys:
            raise ValueError("label_keys is not supported for n_classes=2.")
        return _BinaryLogistic(thresholds or (0.5,), **shared)
    keys = list(label_keys) if label_keys else None
    return _MultiClass(n_classes, keys, _class_ids(metric_class_ids, n_classes), **shared)


@api_guard.unguarded
def binary_svm_head(
    label_name: str | None = None, weight_column_name: str | None = None,
    enable_centered_bias: bool = False, head_name: str | None = None,
    thresholds: Sequence[float] | None = None,
) -> Head:  # fmt: skip
    """The head of two classes with the hinge loss. Arguments are described at the head of the
    module; thresholds has no effect, as in TensorFlow."""
    return _BinarySvm(
        ProblemType.LOGISTIC_REGRESSION, 1, losses.hinge, label_name, weight_column_name,
        head_name, enable_centered_bias,
    )  # fmt: skip


@api_guard.unguarded
def multi_label_head(
    n_classes: int, label_name: str | None = None, weight_column_name: str | None = None,
    enable_centered_bias: bool = False, head_name: str | None = None,
    thresholds: Sequence[float] | None = None, metric_class_ids: Sequence[int] | None = None,
    loss_fn: Callable[..., Tensor] | None = None,
) -> Head:  # fmt: skip
    """The head of classes that are each there or not: labels are [batch, n_classes] of 0 and 1, or
    a SparseTensor of numbers of classes. Further arguments are described at the head of the
    module; thresholds has no effect, as in TensorFlow.

    Args:
        n_classes: at least 2.

    Raises:
        ValueError: n_classes is less than 2, metric_class_ids has no class, or loss_fn lacks an
            argument.
    """
    if n_classes < 2:
        raise ValueError("n_classes must be > 1 for classification.")
    return _MultiLabel(
        n_classes, _class_ids(metric_class_ids, n_classes), loss=_loss(loss_fn, losses.sigmoid),
        label_name=label_name, weight_column_name=weight_column_name, head_name=head_name,
        enable_centered_bias=enable_centered_bias,
    )  # fmt: skip


def _class_ids(given: Iterable[int] | None, count: int) -> tuple[int, ...]:
    found = tuple(given or ())
    for number in found:
        if not 0 <= number < count:
            raise ValueError(f"Class ID {number} not in [0, {count}).")
    return found


def _loss(function: Callable[..., Tensor] | None, usual: losses.Loss) -> losses.Loss:
    if not function:
        return usual
    known = inspect.signature(function).parameters
    for name in ("labels", "logits", "weights"):
        if name not in known:
            raise ValueError(f"Argument {name} not found in loss_fn.")
    return losses.of_function(function)
