"""Target columns: a loss, predictions and metrics for the logits of a model's last layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphio.evaluation.metrics import Metric
from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.checks.assertion import Assert
from graphio.ops.math import comparison, elementwise, reduction
from graphio.ops.nn import core as nn
from graphio.ops.nn import crossentropy
from graphio.support import api_guard

__all__ = [
    "ProblemType",
    "binary_svm_target",
    "get_default_binary_metrics_for_eval",
    "multi_class_target",
    "regression_target",
]

#: from predictions, labels and perhaps weights to a metric
MetricFunction = Callable[..., Metric]


def _renamed() -> Any:
    from graphio.contrib.metrics import renamed  # metrics are loaded where they are used

    return renamed


class ProblemType:
    """The kinds of targets."""

    UNSPECIFIED = 0
    CLASSIFICATION = 1
    LINEAR_REGRESSION = 2
    LOGISTIC_REGRESSION = 3


class TargetColumn:
    """A target; see regression_target, multi_class_target and binary_svm_target.

    Attributes:
        label_name: the key of the labels where they are a dict.
        weight_column_name: the key of the weights in the features; None: all have 1.
        num_label_columns: how many logits an example has.
        problem_type: one of ProblemType.
    """

    def __init__(
        self, loss_fn: Callable[[Tensor, Tensor], Tensor], num_label_columns: int,
        label_name: str | None, weight_column_name: str | None, problem_type: int,
    ) -> None:  # fmt: skip
        self._loss_fn = loss_fn
        self.num_label_columns = num_label_columns
        self.label_name, self.weight_column_name = label_name, weight_column_name
        self.problem_type = problem_type

    def logits_to_predictions(self, logits: Any, proba: bool = False) -> Tensor:
        """The predictions of logits; proba: the probabilities of the classes."""
        raise NotImplementedError

    def get_weight_tensor(self, features: Mapping[str, Any]) -> Tensor | None:
        """The weights of the examples, a float32 vector; None: all have 1."""
        if not self.weight_column_name:
            return None
        weights = elementwise.cast(features[self.weight_column_name], dtypes.float32)
        return array.reshape(weights, [-1])

    def _losses(self, logits: Any, target: Any) -> Tensor:
        given = target[self.label_name] if isinstance(target, Mapping) else target
        return self._loss_fn(convert_to_tensor(logits), convert_to_tensor(given))

    def training_loss(
        self, logits: Any, target: Any, features: Mapping[str, Any], name: str = "training_loss"
    ) -> Tensor:
        """The sum of the weighted losses, divided by the number of examples.

        Args:
            logits: (examples, num_label_columns).
            target: labels, or a dict that has them under label_name.
            features: a dict that has the weights.
            name: of the operation.
        """
        each, weights = self._losses(logits, target), self.get_weight_tensor(features)
        if weights is not None:
            each = elementwise.multiply(array.reshape(each, [-1]), weights)
        return reduction.reduce_mean(each, name=name)

    def loss(self, logits: Any, target: Any, features: Mapping[str, Any]) -> Tensor:
        """The weighted mean of the losses; see training_loss."""
        each, weights = self._losses(logits, target), self.get_weight_tensor(features)
        if weights is None:
            return reduction.reduce_mean(each, name="loss")
        total = reduction.reduce_sum(elementwise.multiply(array.reshape(each, [-1]), weights))
        return elementwise.truediv(total, reduction.reduce_sum(weights), name="loss")

    def get_eval_ops(
        self, features: Mapping[str, Any], logits: Any, labels: Any,
        metrics: Mapping[Any, MetricFunction] | None = None,
    ) -> dict[str, Metric]:  # fmt: skip
        """Metrics by name: the mean of the loss as "loss", and those given.

        Args:
            features: a dict that has the weights.
            logits: (examples, num_label_columns).
            labels: of the examples.
            metrics: names to functions of predictions, labels and, where there are some, weights.
        """
        found = {"loss": _renamed().streaming_mean(self.loss(logits, labels, features))}
        if metrics:
            weights = self.get_weight_tensor(features)
            predictions = self.logits_to_predictions(logits)
            found.update(_evaluated(predictions, labels, metrics, weights))
        return found


def _evaluated(
    predictions: Tensor, labels: Any, metrics: Mapping[str, MetricFunction], weights: Tensor | None
) -> dict[str, Metric]:
    truth = elementwise.cast(labels, predictions.dtype)
    options = {} if weights is None else {"weights": weights}
    return {name: metric(predictions, truth, **options) for name, metric in metrics.items()}


class _Regression(TargetColumn):
    def logits_to_predictions(self, logits: Any, proba: bool = False) -> Tensor:
        given = convert_to_tensor(logits)
        return array.squeeze(given, axis=[1]) if self.num_label_columns == 1 else given


class _MultiClass(TargetColumn):
    def logits_to_predictions(self, logits: Any, proba: bool = False) -> Tensor:
        given = convert_to_tensor(logits)
        if self.num_label_columns == 1:
            given = array.concat([array.zeros_like(given), given], 1)
        return nn.softmax(given) if proba else reduction.argmax(given, 1)

    def get_eval_ops(
        self, features: Mapping[str, Any], logits: Any, labels: Any,
        metrics: Mapping[Any, MetricFunction] | None = None,
    ) -> dict[str, Metric]:  # fmt: skip
        """As TargetColumn's, with those of get_default_binary_metrics_for_eval for two classes.

        Args:
            metrics: of names, or of pairs (name, "classes" or "probabilities") that say which
                predictions the function takes. None: the accuracy.

        Raises:
            ValueError: a name is something else.
        """
        found = super().get_eval_ops(features, logits, labels)
        if self.num_label_columns == 1:
            predictions = nn.sigmoid(convert_to_tensor(logits))
            truth = elementwise.cast(labels, dtypes.float32)
            for name, metric in get_default_binary_metrics_for_eval([0.5]).items():
                found[name] = metric(predictions, truth)
        if metrics is None:
            metrics = {("accuracy", "classes"): _renamed().streaming_accuracy}
        weights = self.get_weight_tensor(features)
        for kind, chosen in _by_kind(metrics).items():
            if chosen:
                predictions = self.logits_to_predictions(logits, proba=kind == "probabilities")
                found.update(_evaluated(predictions, labels, chosen, weights))
        return found


def _by_kind(metrics: Mapping[Any, MetricFunction]) -> dict[str, dict[str, MetricFunction]]:
    kinds: dict[str, dict[str, MetricFunction]] = {"classes": {}, "probabilities": {}}
    for name, metric in metrics.items():
        pair = (name, "classes") if isinstance(name, str) else name
        if not isinstance(pair, tuple) or len(pair) != 2 or pair[1] not in kinds:
            raise ValueError(
                f"Ignoring metric {name}. Its name is neither a string nor a pair of one and "
                "'classes' or 'probabilities'"
            )
        kinds[pair[1]][pair[0]] = metric
    return kinds


class _BinarySvm(_MultiClass):
    def logits_to_predictions(self, logits: Any, proba: bool = False) -> Tensor:
        if proba:
            raise ValueError(
                "logits to probabilities is not supported for binary_svm_target: its logits are "
                "distances; use multi_class_target(2)"
            )
        return super().logits_to_predictions(logits)


# ---- losses of each example ----


def _column(target: Tensor) -> Tensor:
    return array.expand_dims(target, 1) if target.shape.ndims == 1 else target


def _squares(logits: Tensor, target: Tensor) -> Tensor:
    expected = _column(target)
    logits.shape.assert_is_compatible_with(expected.shape)
    return elementwise.squared_difference(logits, elementwise.to_float(expected))


def _of_two_classes(logits: Tensor, target: Tensor) -> Tensor:
    expected = elementwise.to_float(_column(target))
    return crossentropy.sigmoid_cross_entropy_with_logits(labels=expected, logits=logits)


def _of_classes(logits: Tensor, target: Tensor) -> Tensor:
    if not target.dtype.is_integer:
        raise ValueError(f"Target's dtype should be integer Instead got {target.dtype.name}.")
    numbers = array.squeeze(target, axis=[1]) if target.shape.ndims == 2 else target
    return crossentropy.sparse_softmax_cross_entropy_with_logits(labels=numbers, logits=logits)


def _hinge(logits: Tensor, target: Tensor) -> Tensor:
    from graphio.contrib.losses.weighted import hinge_loss  # loaded where it is used

    text = "target's shape should be either [batch_size, 1] or [batch_size]"
    checked = Assert(comparison.less_equal(array.rank(target), 2), [text])
    with scopes.control_dependencies([checked]):
        column = array.reshape(target, [array.shape(target)[0], 1])
    return hinge_loss(logits, column)


# ---- public functions ----


@api_guard.unguarded
def regression_target(
    label_name: str | None = None,
    weight_column_name: str | None = None,
    label_dimension: int = 1,
) -> TargetColumn:
    """The target of a linear regression, by squared differences.

    Args:
        label_name: the key of the labels where they are a dict.
        weight_column_name: the key of the weights in the features; None: all have 1.
        label_dimension: how many numbers an example has.
    """
    kind = ProblemType.LINEAR_REGRESSION
    return _Regression(_squares, label_dimension, label_name, weight_column_name, kind)


@api_guard.unguarded
def multi_class_target(
    n_classes: int, label_name: str | None = None, weight_column_name: str | None = None
) -> TargetColumn:
    """The target of one class of several, by the cross entropy of a softmax; of two by a sigmoid.

    Args:
        n_classes: how many classes.
        label_name, weight_column_name: as regression_target's.

    Raises:
        ValueError: there are less than two classes.
    """
    if n_classes < 2:
        raise ValueError(f"n_classes must be > 1 for classification, got {n_classes}.")
    loss, count = (_of_two_classes, 1) if n_classes == 2 else (_of_classes, n_classes)
    return _MultiClass(loss, count, label_name, weight_column_name, ProblemType.CLASSIFICATION)


@api_guard.unguarded
def binary_svm_target(
    label_name: str | None = None, weight_column_name: str | None = None
) -> TargetColumn:
    """The target of two classes by the hinge loss, as of support vector machines.

    Args:
        label_name, weight_column_name: as regression_target's.
    """
    return _BinarySvm(_hinge, 1, label_name, weight_column_name, ProblemType.CLASSIFICATION)


@api_guard.unguarded
def get_default_binary_metrics_for_eval(thresholds: Sequence[float]) -> dict[str, MetricFunction]:
    """Metrics of predictions between 0 and 1 and of labels 0 or 1, by name.

    Args:
        thresholds: for accuracy, precision and recall.

    Returns:
        Functions of predictions, labels and weights (None: all have 1).
    """
    found: dict[str, MetricFunction] = {
        "labels/prediction_mean": lambda predictions, labels, weights=None: (
            _renamed().streaming_mean(predictions, weights=weights)
        ),
        "labels/actual_target_mean": _mean_label,
        "accuracy/baseline_target_mean": _mean_label,
        "auc": _renamed().streaming_auc,
    }
    for threshold in thresholds:
        found[f"accuracy/threshold_{threshold:f}_mean"] = _accuracy_at(threshold)
        for name, metric in (
            ("precision", _renamed().streaming_precision_at_thresholds),
            ("recall", _renamed().streaming_recall_at_thresholds),
        ):
            found[f"{name}/positive_threshold_{threshold:f}_mean"] = _at(metric, threshold)
    return found


def _mean_label(predictions: Any, labels: Any, weights: Any = None) -> Metric:
    found: Metric = _renamed().streaming_mean(labels, weights=weights)
    return found


def _accuracy_at(threshold: float) -> MetricFunction:
    def metric(predictions: Any, labels: Any, weights: Any = None) -> Metric:
        reached = elementwise.to_float(comparison.greater_equal(predictions, threshold))
        found: Metric = _renamed().streaming_accuracy(reached, labels, weights)
        return found

    return metric


def _at(at_thresholds: MetricFunction, threshold: float) -> MetricFunction:
    def metric(predictions: Any, labels: Any, weights: Any = None) -> Metric:
        value, update = at_thresholds(predictions, labels, [threshold], weights)
        return array.squeeze(value), update

    return metric
