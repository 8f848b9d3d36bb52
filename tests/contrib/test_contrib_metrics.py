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
        for one, two in zip(found[key], expected[key], strict=True):
            np.testing.assert_allclose(as_floats(one), as_floats(two), rtol=2e-5)


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


def test_a_joined_axis_must_exist_and_the_others_be_known() -> None:
    metrics = tf.contrib.metrics
    with pytest.raises(ValueError, match=r"axis = 2 not in \[0, 2\)"):
        metrics.streaming_concat(tf.zeros([2, 3]), axis=2)
    with pytest.raises(ValueError, match="statically known size"):
        metrics.streaming_concat(tf.placeholder(tf.float32, [2, None]))
    with pytest.raises(ValueError, match="statically known rank"):
        metrics.streaming_concat(tf.placeholder(tf.float32))


def test_curves_of_other_names_and_levels_beyond_1_are_refused() -> None:
    metrics = tf.contrib.metrics
    for metric in (metrics.streaming_curve_points, metrics.streaming_dynamic_auc):
        with pytest.raises(ValueError, match="curve must be either ROC or PR, XY unknown"):
            metric([True], [0.5], curve="XY")
    with pytest.raises(ValueError, match="alpha must be between 0 and 1"):
        metrics.auc_with_confidence_intervals([True], [0.5], alpha=1.0)


def test_a_histogram_takes_bool_labels_in_a_vector() -> None:
    metrics = tf.contrib.metrics
    with pytest.raises(ValueError, match="should have dtype bool"):
        metrics.auc_using_histogram([1], [0.5], [0.0, 1.0])
    labels = tf.placeholder(tf.bool, [2, 1])
    _, update = metrics.auc_using_histogram(labels, [[0.5], [0.1]], [0.0, 1.0])
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match="should have rank 1"):
            session.run(update, {labels: [[True], [False]]})


def test_a_label_beyond_1_is_refused_when_it_is_met() -> None:
    labels = tf.placeholder(tf.int32, [1])
    for metric in ("streaming_dynamic_auc", "auc_with_confidence_intervals"):
        _, update = getattr(tf.contrib.metrics, metric)(labels, [0.5])
        with tf.Session() as session:
            session.run(tf.local_variables_initializer())
            with pytest.raises(tf.errors.InvalidArgumentError, match="at least one is >1"):
                session.run(update, {labels: [2]})
