"""Layers that pool, and metrics at thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np
from name_scenes import BEFORE, Scene, numbers

LINE, IMAGE, VIDEO = numbers(2, 9, 3), numbers(2, 6, 7, 3), numbers(1, 4, 5, 6, 2)
CHANCES = np.array([[0.05, 0.4, 0.6], [0.9, 0.35, 0.5]], np.float32)
TRUTH = np.array([[0, 1, 1], [1, 0, 1]])
WEIGHTS = np.array([[1.0, 0.5, 2.0], [1.5, 1.0, 0.0]], np.float32)


def pooling(tf: Any) -> Any:
    """Layers as functions, with gradients."""
    kinds = tf.layers
    line, image, video = map(tf.constant, (LINE, IMAGE, VIDEO))
    made = [
        kinds.average_pooling1d(line, 3, 2), kinds.max_pooling1d(line, 2, 2, padding="same"),
        kinds.max_pooling1d(line, [3], [1], data_format="channels_first"),
        kinds.average_pooling2d(image, (2, 3), 2, "same"),
        kinds.average_pooling2d(image, 3, (1, 2)),
        kinds.average_pooling3d(video, 2, 2, padding="same"),
        kinds.max_pooling3d(video, (2, 3, 2), (2, 1, 2)),
    ]  # fmt: skip
    return [made, tf.gradients([tf.reduce_sum(y * y) for y in made], [line, image, video])]


def pooling_objects(tf: Any) -> Any:
    """Layers as objects."""
    kinds = tf.layers
    return [
        kinds.AveragePooling1D(2, 2, padding="same")(LINE),
        kinds.AveragePooling3D(pool_size=2, strides=(1, 2, 2))(tf.constant(VIDEO)),
        kinds.MaxPooling3D([2, 2, 3], 1, "same")(tf.constant(VIDEO)),
        kinds.AveragePooling1D(3, 1, data_format="channels_first").apply(LINE),
    ]  # fmt: skip


def separated(tf: Any) -> Any:
    """A separable convolution of one dimension, with gradients."""
    line = tf.constant(LINE)

    def given(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return tf.constant(numbers(*map(int, shape)))

    made = tf.layers.separable_conv1d(
        line, 4, 3, 2, "same", depth_multiplier=2, depthwise_initializer=given,
        pointwise_initializer=given, bias_initializer=given, activation=tf.nn.tanh,
    )  # fmt: skip
    return [made, tf.gradients(tf.reduce_sum(made * made), [line, *tf.trainable_variables()])]


def at_thresholds(tf: Any) -> Any:
    """Metrics at thresholds: their values after an update."""
    kinds = tf.metrics
    made = []
    for metric in (
        *(kinds.true_positives_at_thresholds, kinds.false_positives_at_thresholds),
        *(kinds.true_negatives_at_thresholds, kinds.false_negatives_at_thresholds),
        *(kinds.precision_at_thresholds, kinds.recall_at_thresholds),
    ):
        for weights in (None, WEIGHTS):
            value, update = metric(TRUTH, CHANCES, [0.0, 0.4, 0.55, 1.0], weights=weights)
            tf.add_to_collection(BEFORE, update)
            made.append(value)
    return made


SCENES: dict[str, Scene] = {
    f.__name__: f for f in (pooling, pooling_objects, separated, at_thresholds)
}
