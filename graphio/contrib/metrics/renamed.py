"""The metrics of tf.metrics under contrib's names, in whose calls predictions come first."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from graphio.evaluation import metrics, metrics_best, metrics_thresholds
from graphio.evaluation.metrics import Metric
from graphio.support import api_guard

__all__ = [
    "streaming_accuracy",
    "streaming_auc",
    "streaming_false_negatives",
    "streaming_false_positives",
    "streaming_mean",
    "streaming_mean_absolute_error",
    "streaming_mean_cosine_distance",
    "streaming_mean_iou",
    "streaming_mean_relative_error",
    "streaming_mean_squared_error",
    "streaming_mean_tensor",
    "streaming_percentage_less",
    "streaming_precision",
    "streaming_precision_at_thresholds",
    "streaming_recall",
    "streaming_recall_at_thresholds",
    "streaming_root_mean_squared_error",
    "streaming_sensitivity_at_specificity",
    "streaming_sparse_average_precision_at_k",
    "streaming_sparse_average_precision_at_top_k",
    "streaming_sparse_precision_at_k",
    "streaming_sparse_precision_at_top_k",
    "streaming_sparse_recall_at_k",
    "streaming_specificity_at_sensitivity",
    "streaming_true_negatives",
    "streaming_true_positives",
]


def _streaming(
    builder: Callable[..., Metric], name: str, predictions: str = "predictions", left_out: str = ""
) -> Callable[..., Metric]:
    """A metric of tf.metrics as a function whose first arguments are predictions and labels.

    Args:
        builder: the function of tf.metrics.
        name: of the new function.
        predictions: its first argument.
        left_out: an argument that it lacks.
    """
    known = {n: p for n, p in inspect.signature(builder).parameters.items() if n != left_out}
    theirs = "predictions_idx" if "predictions_idx" in known else "predictions"
    order = list(known.values())
    if "labels" in known:
        rest = [p for n, p in known.items() if n not in ("labels", theirs)]
        order = [known[theirs].replace(name=predictions), known["labels"], *rest]
    signature = inspect.Signature(order)

    @api_guard.makes_variables
    def call(*arguments: Any, **options: Any) -> Metric:
        given = dict(signature.bind(*arguments, **options).arguments)
        if predictions in given:
            given[theirs] = given.pop(predictions)
        return builder(**given)

    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__name__ = call.__qualname__ = name
    public = getattr(builder, "__name__", name)
    call.__doc__ = f"tf.metrics.{public} with the arguments in this order: value and update."
    return call


streaming_accuracy = _streaming(metrics.accuracy, "streaming_accuracy")
streaming_auc = _streaming(metrics_thresholds.auc, "streaming_auc")
streaming_mean = _streaming(metrics.mean, "streaming_mean")
streaming_mean_tensor = _streaming(metrics.mean_tensor, "streaming_mean_tensor")
streaming_percentage_less = _streaming(metrics.percentage_below, "streaming_percentage_less")
streaming_precision = _streaming(metrics.precision, "streaming_precision")
streaming_recall = _streaming(metrics.recall, "streaming_recall")
streaming_mean_absolute_error = _streaming(
    metrics.mean_absolute_error, "streaming_mean_absolute_error"
)
streaming_mean_cosine_distance = _streaming(
    metrics.mean_cosine_distance, "streaming_mean_cosine_distance"
)
streaming_mean_iou = _streaming(metrics.mean_iou, "streaming_mean_iou")
streaming_mean_relative_error = _streaming(
    metrics.mean_relative_error, "streaming_mean_relative_error"
)
streaming_mean_squared_error = _streaming(
    metrics.mean_squared_error, "streaming_mean_squared_error"
)
streaming_root_mean_squared_error = _streaming(
    metrics.root_mean_squared_error, "streaming_root_mean_squared_error"
)

# ---- counts ----

streaming_true_positives = _streaming(metrics.true_positives, "streaming_true_positives")
streaming_true_negatives = _streaming(metrics.true_negatives, "streaming_true_negatives")
streaming_false_positives = _streaming(metrics.false_positives, "streaming_false_positives")
streaming_false_negatives = _streaming(metrics.false_negatives, "streaming_false_negatives")
streaming_precision_at_thresholds = _streaming(
    metrics_thresholds.precision_at_thresholds, "streaming_precision_at_thresholds"
)
streaming_recall_at_thresholds = _streaming(
    metrics_thresholds.recall_at_thresholds, "streaming_recall_at_thresholds"
)
streaming_sensitivity_at_specificity = _streaming(
    metrics_thresholds.sensitivity_at_specificity, "streaming_sensitivity_at_specificity"
)
streaming_specificity_at_sensitivity = _streaming(
    metrics_thresholds.specificity_at_sensitivity, "streaming_specificity_at_sensitivity"
)

# ---- the best k ----

streaming_sparse_recall_at_k = _streaming(metrics_best.recall_at_k, "streaming_sparse_recall_at_k")
streaming_sparse_precision_at_k = _streaming(
    metrics_best.precision_at_k, "streaming_sparse_precision_at_k"
)
streaming_sparse_precision_at_top_k = _streaming(
    metrics_best.precision_at_top_k, "streaming_sparse_precision_at_top_k", "top_k_predictions", "k"
)
streaming_sparse_average_precision_at_k = _streaming(
    metrics_best.average_precision_at_k, "streaming_sparse_average_precision_at_k"
)
streaming_sparse_average_precision_at_top_k = _streaming(
    metrics_best.average_precision_at_top_k,
    "streaming_sparse_average_precision_at_top_k",
    "top_k_predictions",
)
