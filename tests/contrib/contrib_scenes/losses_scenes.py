"""Scenes of tf.contrib.losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from contrib_scenes.recording import numbers

Scene = Callable[[Any, Any], Any]
SAMPLES = np.float32([0.5, 0.0, 2.0])


def loss(
    name: str, *, shape: tuple[int, ...] = (3, 4), kind: str = "float", **options: Any
) -> Scene:
    """A loss of a variable, and the collected ones."""

    def scene(tf: Any, contrib: Any) -> Any:
        losses = contrib("losses")
        guess = tf.get_variable("guess", shape)
        truth: Any = numbers("truth", shape)
        if kind == "one":
            truth = np.float32(truth > 0)
        elif kind == "class":
            truth = np.int64([[1], [0], [3]])
        elif kind == "one hot":
            truth = np.eye(4, dtype=np.float32)[[1, 0, 3]]
        if name == "log_loss":
            guess = tf.sigmoid(guess)
        found = getattr(losses, name)(guess, tf.constant(truth), **options)
        return [found, *losses.get_losses(), tf.constant(len(losses.get_losses()))]

    return scene


def total(tf: Any, contrib: Any) -> Any:
    """The sum of losses, and of those of regularization."""
    losses = contrib("losses")
    v = tf.get_variable("v", [3], regularizer=lambda x: tf.reduce_sum(x * x))
    losses.absolute_difference(v, tf.zeros([3]))
    losses.add_loss(tf.constant(2.0))
    losses.add_loss(tf.constant(5.0), None)
    return [
        losses.get_total_loss(),
        losses.get_total_loss(False),
        *losses.get_regularization_losses(),
    ]


def embedded(name: str, *labels: int, **options: Any) -> Scene:
    """A loss of embeddings."""

    def scene(tf: Any, contrib: Any) -> Any:
        learning = contrib("losses").metric_learning
        one, two = (tf.get_variable(n, [len(labels), 3]) for n in ("one", "two"))
        given = [one] if name in ("triplet_semihard_loss", "lifted_struct_loss") else [one, two]
        return getattr(learning, name)(tf.constant(labels), *given, **options)

    return scene


SCENES: dict[str, Scene] = {
    "absolute_difference": loss("absolute_difference"),
    "absolute_difference of samples": loss("absolute_difference", weights=SAMPLES),
    "absolute_difference of elements": loss(
        "absolute_difference", weights=np.float32(numbers("w", (3, 4)) > 0)
    ),
    "mean_squared_error": loss("mean_squared_error", weights=0.5),
    "mean_squared_error of columns": loss("mean_squared_error", weights=SAMPLES[:, None]),
    "mean_squared_error of images": loss("mean_squared_error", shape=(3, 2, 2), weights=SAMPLES),
    "mean_squared_error of nothing": loss("mean_squared_error", weights=np.zeros(3, np.float32)),
    "log_loss": loss("log_loss", kind="one", epsilon=1e-3),
    "hinge_loss": loss("hinge_loss", kind="one"),
    "cosine_distance": loss("cosine_distance", axis=1, weights=SAMPLES),
    "mean_pairwise_squared_error": loss("mean_pairwise_squared_error"),
    "mean_pairwise_squared_error of samples": loss("mean_pairwise_squared_error", weights=SAMPLES),
    "sigmoid_cross_entropy": loss("sigmoid_cross_entropy", kind="one", label_smoothing=0.1),
    "softmax_cross_entropy": loss("softmax_cross_entropy", kind="one hot"),
    "softmax_cross_entropy smoothed": loss(
        "softmax_cross_entropy", kind="one hot", label_smoothing=0.2, weights=SAMPLES
    ),
    "sparse_softmax_cross_entropy": loss(
        "sparse_softmax_cross_entropy", kind="class", weights=SAMPLES
    ),
    "total": total,
    "contrastive_loss": embedded("contrastive_loss", 1, 0, 1, 0, margin=0.8),
    "npairs_loss": embedded("npairs_loss", 3, 1, 3, 2),
    "triplet_semihard_loss": embedded("triplet_semihard_loss", 1, 2, 1, 2, 1),
    "triplet_semihard_loss of a small margin": embedded(
        "triplet_semihard_loss", 1, 1, 2, 2, 3, margin=0.1
    ),
    "lifted_struct_loss": embedded("lifted_struct_loss", 1, 2, 1, 2, 1),
}
