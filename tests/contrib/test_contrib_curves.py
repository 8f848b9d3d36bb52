"""Counts at many thresholds against numpy, and what the metrics of one threshold refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphio as tf

metrics = tf.contrib.metrics
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


@TARGETS
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_precision_and_recall_are_those_of_every_threshold(
    weighted: bool, target: str
) -> None:
    random = np.random.default_rng(3)
    labels = random.random((2, 20)) > 0.4
    scores = np.float32(random.random((2, 20)))
    scores[0, :3] = [0.0, 0.25, 1.0]  # thresholds themselves
    weights = np.float32(random.integers(0, 4, (2, 20))) if weighted else np.ones((2, 20))
    fed = [tf.placeholder(dtype, [20]) for dtype in (tf.bool, tf.float32, tf.float32)]
    options = {"weights": fed[2]} if weighted else {}
    value, update = metrics.precision_recall_at_equal_thresholds(
        fed[0], fed[1], num_thresholds=9, **options
    )
    names = [v.op.name for v in tf.local_variables()]
    scope = "precision_recall_at_equal_thresholds/variables"
    assert names == [f"{scope}/tp_buckets", f"{scope}/fp_buckets"]
    with tf.Session(target) as session:
        session.run(tf.local_variables_initializer())
        for batch in zip(labels, scores, weights, strict=True):
            session.run(update, dict(zip(fed, batch, strict=True)))
        found = session.run(value)
    thresholds = np.linspace(0, 1, 9)
    positive = scores.reshape(-1) >= thresholds[:, None]
    truth, each = labels.reshape(-1), weights.reshape(-1)
    tp, fp = (positive & truth) @ each, (positive & ~truth) @ each
    tn, fn = (~positive & ~truth) @ each, (~positive & truth) @ each
    expected = (tp, fp, tn, fn, tp / np.maximum(tp + fp, 1e-7), tp / (tp + fn), thresholds)
    for one, two in zip(found, expected, strict=True):
        assert one.dtype == np.float32
        np.testing.assert_allclose(one, two, rtol=1e-6)


def test_a_prediction_outside_0_and_1_is_refused() -> None:
    score = tf.placeholder(tf.float32, [1])
    _, update = metrics.precision_recall_at_equal_thresholds([True], score)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"must be in \[0, 1\]"):
            session.run(update, {score: [1.5]})
    with pytest.raises(TypeError, match="bool"):
        metrics.precision_recall_at_equal_thresholds([1.0], [0.5])


def test_a_share_outside_0_and_1_is_refused() -> None:
    with pytest.raises(ValueError, match=r"`precision` must be in the range \[0, 1\]"):
        metrics.recall_at_precision([True], [0.5], 1.5)
    with pytest.raises(ValueError, match=r"`target_recall` must be in the range \[0, 1\]"):
        metrics.precision_at_recall([True], [0.5], -0.1)
