"""tf.contrib.metrics against tf-slim's over TensorFlow: variables, updates and values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from contrib_scenes import metrics_scenes, recording

import graphio as tf

EXPECTED = recording.stored("metrics")
#: metrics whose local variables have other names, here as in tf.metrics
NAMED_OTHERWISE = {"streaming_sparse_average_precision_at_k"}


def as_floats(values: Any) -> Any:
    return np.array(values, dtype=np.float64)  # "nan" becomes a number, too


@pytest.mark.parametrize("target", ["runtime", "cinfer"])
@pytest.mark.parametrize("name", EXPECTED)
def test_a_metric_has_the_variables_and_values_of_tensorflow(name: str, target: str) -> None:
    scene = metrics_scenes.SCENES[name]
    found = metrics_scenes.record(tf, lambda part: getattr(tf.contrib, part), scene, target=target)
    expected = EXPECTED[name]
    if name not in NAMED_OTHERWISE:
        assert found["variables"] == expected["variables"]
    for key in ("updates", "values"):
        np.testing.assert_allclose(as_floats(found[key]), as_floats(expected[key]), rtol=2e-5)


def test_every_scene_is_recorded() -> None:
    assert list(EXPECTED) == list(metrics_scenes.SCENES)


def test_values_and_updates_of_metrics_are_listed_and_mapped() -> None:
    metrics = tf.contrib.metrics
    one, two = metrics.streaming_mean(tf.constant([1.0])), metrics.count(tf.constant([2.0]))
    assert metrics.aggregate_metrics(one, two) == ([one[0], two[0]], [one[1], two[1]])
    found = metrics.aggregate_metric_map({"a": one, "b": two})
    assert found == ({"a": one[0], "b": two[0]}, {"a": one[1], "b": two[1]})
    with pytest.raises(ValueError, match="at least one"):
        metrics.aggregate_metrics()


def test_a_confusion_matrix_has_labels_as_rows() -> None:
    found = tf.contrib.metrics.confusion_matrix([0, 1, 1], [1, 1, 0])
    with tf.Session() as sess:
        np.testing.assert_array_equal(sess.run(found), [[0, 1], [1, 1]])


def test_an_accuracy_of_other_dtypes_is_refused() -> None:
    with pytest.raises(ValueError, match="Labels should have bool"):
        tf.contrib.metrics.accuracy(tf.constant([1.0]), tf.constant([1.0]))
    with pytest.raises(ValueError, match="should match"):
        tf.contrib.metrics.accuracy(tf.constant([1]), tf.constant([True]))
