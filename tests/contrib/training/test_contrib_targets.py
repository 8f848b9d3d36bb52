"""Target columns of tf.contrib.layers against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphio as tf

layers = tf.contrib.layers
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
LOGITS = np.float32([[0.5], [-1.0], [2.0], [0.25]])
CLASSES = np.float32([[0.5, 0, 1], [-1, 2, 0.5], [2, 1, 0], [0.25, 0.5, 0]])
WIDE = np.float32([[0.5, 0], [-1, 2], [2, 1], [0.25, 0.5]])
BINARY, NUMBERS = np.int64([1, 0, 0, 1]), np.int64([2, 1, 1, 0])
WEIGHTS = np.float32([1, 2, 0.5, 1])


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-np.float64(x)))


def softmax(x: Any) -> Any:
    powers = np.exp(np.float64(x))
    return powers / powers.sum(-1, keepdims=True)


#: name -> the target, logits, labels, the loss of each element, and what is predicted
CASES: dict[str, tuple[Any, Any, Any, Any, Any]] = {
    "regression": (
        layers.regression_target, LOGITS, WEIGHTS, (LOGITS[:, 0] - WEIGHTS) ** 2, LOGITS[:, 0],
    ),
    "regression of two numbers": (
        lambda **names: layers.regression_target(label_dimension=2, **names),
        WIDE, WIDE[::-1].copy(), (WIDE - WIDE[::-1]) ** 2, WIDE,
    ),
    "two classes": (
        lambda **names: layers.multi_class_target(2, **names),
        LOGITS, BINARY, -np.log(np.where(BINARY, sigmoid(LOGITS[:, 0]), sigmoid(-LOGITS[:, 0]))),
        LOGITS[:, 0] > 0,
    ),
    "three classes": (
        lambda **names: layers.multi_class_target(3, **names),
        CLASSES, NUMBERS, -np.log(softmax(CLASSES)[range(4), NUMBERS]), CLASSES.argmax(-1),
    ),
    "hinge": (
        layers.binary_svm_target,
        LOGITS, BINARY, np.maximum(0, 1 - (2 * BINARY - 1) * LOGITS[:, 0]), LOGITS[:, 0] > 0,
    ),
}  # fmt: skip


@TARGETS
@pytest.mark.parametrize("name", CASES)
def test_a_target_has_a_loss_and_predictions(name: str, target: str) -> None:
    build, logits, labels, each, predictions = CASES[name]
    column = build(label_name="y", weight_column_name=None)
    found = [
        column.loss(logits, tf.constant(labels), {}),
        column.training_loss(logits, {"y": tf.constant(labels)}, {}),
        column.logits_to_predictions(logits),
    ]
    with tf.Session(target=target) as session:
        loss, training, predicted = session.run(found)
    np.testing.assert_allclose([loss, training], [np.mean(each)] * 2, rtol=1e-6)
    np.testing.assert_array_equal(predicted, predictions)
    assert (column.label_name, column.num_label_columns) == ("y", logits.shape[1])


@TARGETS
@pytest.mark.parametrize("name", [name for name in CASES if name != "regression of two numbers"])
def test_weights_count_in_the_loss_and_in_the_metrics(name: str, target: str) -> None:
    build, logits, labels, each, predictions = CASES[name]
    column, features = build(weight_column_name="w"), {"w": tf.constant(WEIGHTS[:, None])}
    metrics = {"share": tf.contrib.metrics.streaming_accuracy}
    evaluated = column.get_eval_ops(features, logits, tf.constant(labels), metrics)
    training = column.training_loss(logits, tf.constant(labels), features)
    with tf.Session(target=target) as session:
        session.run(tf.local_variables_initializer())
        found = session.run([training, evaluated["loss"][1], evaluated["share"][1]])
    total = np.sum(WEIGHTS * each)
    share = np.sum(WEIGHTS * (predictions == labels)) / WEIGHTS.sum()
    np.testing.assert_allclose(found, [total / 4, total / WEIGHTS.sum(), share], rtol=1e-6)


@TARGETS
def test_two_classes_have_the_metrics_of_probabilities(target: str) -> None:
    column = layers.multi_class_target(2)
    evaluated = column.get_eval_ops({}, LOGITS, tf.constant(BINARY))
    probabilities = {("mean", "probabilities"): lambda p, y: tf.contrib.metrics.streaming_mean(p)}
    more = column.get_eval_ops({}, LOGITS, tf.constant(BINARY), probabilities)
    with tf.Session(target=target) as session:
        session.run(tf.local_variables_initializer())
        session.run([update for _, update in (*evaluated.values(), *more.values())])
        found = session.run({name: value for name, (value, _) in evaluated.items()})
        mean = session.run(more["mean"][0])
    scores = sigmoid(LOGITS[:, 0])
    positive, hits = scores >= 0.5, BINARY == 1
    pairs = scores[hits][:, None] > scores[~hits]
    expected = {
        "loss": np.mean(CASES["two classes"][3]),
        "labels/prediction_mean": scores.mean(),
        "labels/actual_target_mean": 0.5,
        "accuracy/baseline_target_mean": 0.5,
        "auc": pairs.mean(),
        "accuracy/threshold_0.500000_mean": (positive == hits).mean(),
        "precision/positive_threshold_0.500000_mean": hits[positive].mean(),
        "recall/positive_threshold_0.500000_mean": positive[hits].mean(),
        "accuracy": (positive == hits).mean(),
    }
    assert set(found) == set(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-4, err_msg=name)
    np.testing.assert_allclose(mean, 0.5, rtol=1e-6)  # of both classes


def test_targets_refuse_what_they_cannot_compute() -> None:
    with pytest.raises(ValueError, match="n_classes must be > 1 for classification, got 1"):
        layers.multi_class_target(1)
    with pytest.raises(ValueError, match="Target's dtype should be integer"):
        layers.multi_class_target(3).loss(CLASSES, tf.constant(WEIGHTS), {})
    with pytest.raises(ValueError, match="logits to probabilities is not supported"):
        layers.binary_svm_target().logits_to_predictions(LOGITS, proba=True)
    with pytest.raises(ValueError, match="Its name is neither a string nor a pair"):
        layers.multi_class_target(2).get_eval_ops({}, LOGITS, BINARY, {("a", "b", "c"): None})
    assert layers.multi_class_target(2).problem_type == layers.ProblemType.CLASSIFICATION


def test_default_metrics_of_two_classes_are_those_of_numpy() -> None:
    predictions, labels = np.float32([0.9, 0.4, 0.6, 0.2]), np.float32([1, 1, 0, 0])
    with tf.Graph().as_default(), tf.Session() as session:
        metrics = tf.contrib.slim.get_default_binary_metrics_for_eval([0.5])
        made = {
            name: f(tf.constant(predictions), tf.constant(labels)) for name, f in metrics.items()
        }
        session.run(tf.local_variables_initializer())
        session.run([update for _, update in made.values()])
        found = {name: float(np.squeeze(session.run(value))) for name, (value, _) in made.items()}
    expected = {
        "labels/prediction_mean": 0.525,
        "labels/actual_target_mean": 0.5,
        "accuracy/baseline_target_mean": 0.5,
        "auc": 0.75,
        "accuracy/threshold_0.500000_mean": 0.5,
        "precision/positive_threshold_0.500000_mean": 0.5,
        "recall/positive_threshold_0.500000_mean": 0.5,
    }
    assert found == pytest.approx(expected, abs=2e-3)
