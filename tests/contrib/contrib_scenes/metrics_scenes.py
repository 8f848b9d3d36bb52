"""Scenes of tf.contrib.metrics: metrics of three batches."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from contrib_scenes.recording import numbers, plain

N = 6
WEIGHTS = np.float32([0.5, 1, 0, 2, 1, 1])


class Scene(NamedTuple):
    """A metric.

    Attributes:
        name: of the function.
        kinds: of its first arguments: see batches.
        arguments, options: the others.
    """

    name: str
    kinds: tuple[str, ...] = ("float", "float")
    arguments: tuple[Any, ...] = ()
    options: dict[str, Any] = {}


def batches(name: str, kind: str) -> Any:
    """Three batches of predictions or labels."""
    draws = numbers(name, (3, N, 4)) if kind in ("scores", "best") else numbers(name, (3, N))
    if kind == "bool":
        return draws > 0
    if kind == "share":
        return np.float32(draws + 0.6) / np.float32(1.2)
    if kind == "tied":
        return np.float32(np.round(draws * 4) / 4)
    if kind == "class":
        return np.int64((draws + 0.6) / 1.21 * 4)
    if kind == "best":
        return np.argsort(draws, -1)[..., :2]
    return draws


def record(tf: Any, contrib: Any, scene: Scene, **session: Any) -> dict[str, Any]:
    """Local variables, the updates' values of three batches, and the value after each; None for an
    update that has no value."""
    data = [batches(f"argument {i}", kind) for i, kind in enumerate(scene.kinds)]
    with tf.Graph().as_default():
        fed = [tf.placeholder(tf.as_dtype(x.dtype), x.shape[1:]) for x in data]
        function = getattr(contrib("metrics"), scene.name)
        found = function(*fed, *scene.arguments, **scene.options)
        value, update = found if isinstance(found, tuple) else (found, found)
        counts = isinstance(update, tf.Tensor) and update.dtype != tf.bool
        variables = [
            [v.op.name, None if v.shape.ndims is None else v.shape.as_list()]
            for v in tf.local_variables()
        ]
        updates, values = [], []
        with tf.Session(**session) as run:
            run.run(tf.local_variables_initializer())
            for number in range(3):
                feeds = dict(zip(fed, (x[number] for x in data), strict=True))
                done = run.run(update, feeds)
                updates.append(plain(done) if counts else None)
                values.append(plain(run.run(value, feeds)))
    return {"variables": variables, "updates": updates, "values": values}


def pairs(*names: str, kinds: tuple[str, ...] = ("float", "float")) -> dict[str, Scene]:
    """Metrics without further arguments, and with weights."""
    plainly = {name: Scene(name, kinds) for name in names}
    weighted = {f"{name} weighted": Scene(name, kinds, (), {"weights": WEIGHTS}) for name in names}
    return {**plainly, **weighted}


SCENES: dict[str, Scene] = {
    **pairs(
        "streaming_mean_absolute_error",
        "streaming_mean_squared_error",
        "streaming_root_mean_squared_error",
        "streaming_covariance",
        "streaming_pearson_correlation",
    ),
    **pairs("streaming_mean", "count", kinds=("float",)),
    "streaming_mean_tensor": Scene("streaming_mean_tensor", ("float",)),
    "streaming_percentage_less": Scene("streaming_percentage_less", ("float",), (0.1,)),
    **pairs("streaming_accuracy", kinds=("class", "class")),
    **pairs("accuracy", kinds=("class", "class")),
    **pairs(
        "streaming_precision",
        "streaming_recall",
        "streaming_true_positives",
        "streaming_true_negatives",
        "streaming_false_positives",
        "streaming_false_negatives",
        "streaming_false_positive_rate",
        "streaming_false_negative_rate",
        kinds=("bool", "bool"),
    ),
    **{
        f"streaming_{name}_at_thresholds": Scene(
            f"streaming_{name}_at_thresholds", ("share", "bool"), ([0.2, 0.5, 0.8],)
        )
        for name in (
            *("precision", "recall", "true_positives", "true_negatives", "false_positives"),
            *("false_negatives", "false_positive_rate", "false_negative_rate"),
        )
    },
    **pairs("streaming_auc", kinds=("share", "bool")),
    "streaming_auc PR": Scene(
        "streaming_auc", ("share", "bool"), (), {"curve": "PR", "num_thresholds": 20}
    ),
    **pairs("f1_score", kinds=("bool", "share")),
    "streaming_sensitivity_at_specificity": Scene(
        "streaming_sensitivity_at_specificity", ("share", "bool"), (0.5,)
    ),
    "streaming_specificity_at_sensitivity": Scene(
        "streaming_specificity_at_sensitivity", ("share", "bool"), (0.5,)
    ),
    "streaming_mean_relative_error": Scene(
        "streaming_mean_relative_error", ("float", "float"), (np.full(N, 0.5, np.float32),)
    ),
    "streaming_mean_cosine_distance": Scene(
        "streaming_mean_cosine_distance", ("scores", "scores"), (1,)
    ),
    "streaming_mean_iou": Scene("streaming_mean_iou", ("class", "class"), (4,)),
    "cohen_kappa": Scene("cohen_kappa", ("class", "class"), (4,)),
    "streaming_recall_at_k": Scene("streaming_recall_at_k", ("scores", "class"), (2,)),
    "streaming_sparse_recall_at_k": Scene(
        "streaming_sparse_recall_at_k", ("scores", "class"), (2,)
    ),
    "streaming_sparse_precision_at_k": Scene(
        "streaming_sparse_precision_at_k", ("scores", "class"), (2,), {"class_id": 1}
    ),
    "streaming_sparse_precision_at_top_k": Scene(
        "streaming_sparse_precision_at_top_k", ("best", "class")
    ),
    "sparse_recall_at_top_k": Scene("sparse_recall_at_top_k", ("class", "best")),
    "streaming_sparse_average_precision_at_k": Scene(
        "streaming_sparse_average_precision_at_k", ("scores", "class"), (3,)
    ),
    **{
        f"recall_at_precision {share}{' strict' * strict}": Scene(
            "recall_at_precision", ("bool", "share"), (share,), {"strict_mode": strict}
        )
        for share in (0.3, 0.6, 1.0)
        for strict in (False, True)
    },
    **{
        f"precision_at_recall {share}": Scene("precision_at_recall", ("bool", "share"), (share,))
        for share in (0.3, 0.6, 1.0)
    },
    **pairs("streaming_curve_points", kinds=("bool", "share")),
    "streaming_curve_points PR": Scene(
        "streaming_curve_points", ("bool", "share"), (), {"curve": "PR", "num_thresholds": 7}
    ),
    **{
        f"streaming_dynamic_auc {curve}{' weighted' * len(options)}": Scene(
            "streaming_dynamic_auc", ("bool", "tied"), (curve,), options
        )
        for curve in ("ROC", "PR")
        for options in ({}, {"weights": WEIGHTS})
    },
    "streaming_concat": Scene("streaming_concat", ("scores",)),
    "streaming_concat of an axis": Scene("streaming_concat", ("scores",), (-1, 7)),
    **pairs("auc_with_confidence_intervals", kinds=("bool", "tied")),
    "auc_with_confidence_intervals plain": Scene(
        "auc_with_confidence_intervals",
        ("bool", "share"),
        (),
        {"alpha": 0.9, "logit_transformation": False},
    ),
    "auc_with_confidence_intervals light": Scene(
        "auc_with_confidence_intervals", ("bool", "share"), (np.float32([0, 0, 0, 0.1, 0.2, 0.1]),)
    ),
    "auc_using_histogram": Scene("auc_using_histogram", ("bool", "share"), ([0.2, 0.8], 5)),
    "streaming_sparse_average_precision_at_top_k": Scene(
        "streaming_sparse_average_precision_at_top_k", ("best", "class")
    ),
    "streaming_sparse_average_precision_at_top_k weighted": Scene(
        "streaming_sparse_average_precision_at_top_k", ("best", "class"), (WEIGHTS,)
    ),
    "precision_at_recall weighted": Scene(
        "precision_at_recall", ("bool", "share"), (0.5,), {"weights": WEIGHTS}
    ),
}
