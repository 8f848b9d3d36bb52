"""tf.metrics: values gathered over batches, in both engines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
RNG = np.random.RandomState(3)
LABELS = RNG.randint(0, 2, (3, 8))
SCORES = RNG.rand(3, 8).astype(np.float32)
WEIGHTS = RNG.randint(0, 3, (3, 8)).astype(np.float32)


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g


def gathered(target: str, build: Any, *batches: Any) -> tuple[Any, Any]:
    """The last update's value and the metric's value after all batches."""
    positions = [tf.placeholder(np.asarray(b).dtype, np.shape(b)[1:]) for b in batches]
    value, update = build(*positions)
    with tf.Session(target) as session:
        session.run(tf.local_variables_initializer())
        for batch in zip(*batches, strict=True):
            last = session.run(update, dict(zip(positions, batch, strict=True)))
        return last, session.run(value)


@TARGETS
def test_the_mean_is_of_all_batches(target: str) -> None:
    last, value = gathered(target, tf.metrics.mean, SCORES)
    np.testing.assert_allclose([last, value], SCORES.mean(), rtol=1e-6)
    names = [v.name for v in tf.local_variables()]
    assert names == ["mean/total:0", "mean/count:0"]
    assert tf.get_collection(tf.GraphKeys.METRIC_VARIABLES) == tf.local_variables()
    assert tf.global_variables() == [] == tf.trainable_variables()


@TARGETS
def test_weights_spread_over_the_values(target: str) -> None:
    last, _ = gathered(target, lambda x, w: tf.metrics.mean(x, w), SCORES, WEIGHTS)
    assert last == pytest.approx(np.average(SCORES, weights=WEIGHTS), rel=1e-6)
    with pytest.raises(ValueError, match="can not be broadcast"):
        tf.metrics.mean(tf.zeros([2, 3, 4]), tf.ones([4]))


@TARGETS
def test_before_the_first_batch_the_mean_is_0(target: str) -> None:
    value, _ = tf.metrics.mean(tf.constant([1.0]), name="m")
    assert [v.name for v in tf.local_variables()] == ["m/total:0", "m/count:0"]
    with tf.Session(target) as session:
        session.run(tf.local_variables_initializer())
        assert session.run(value) == 0.0


ERRORS = {
    "mean_absolute_error": lambda y, p: np.abs(y - p).mean(),
    "mean_squared_error": lambda y, p: ((y - p) ** 2).mean(),
    "root_mean_squared_error": lambda y, p: np.sqrt(((y - p) ** 2).mean()),
    "accuracy": lambda y, p: (y == p).mean(),
}


@TARGETS
@pytest.mark.parametrize("name", ERRORS)
def test_errors_of_predictions(target: str, name: str) -> None:
    labels = np.round(SCORES * 3)
    predictions = np.round(RNG.rand(3, 8) * 3).astype(np.float32)
    last, value = gathered(target, getattr(tf.metrics, name), labels, predictions)
    np.testing.assert_allclose([last, value], ERRORS[name](labels, predictions), rtol=1e-5)


@TARGETS
def test_relative_errors_distances_and_shares(target: str) -> None:
    y, p = SCORES, SCORES[::-1]
    last, _ = gathered(target, lambda a, b: tf.metrics.mean_relative_error(a, b, a), y, p)
    assert last == pytest.approx((np.abs(y - p) / y).mean(), rel=1e-5)
    last, _ = gathered(target, lambda a, b: tf.metrics.mean_cosine_distance(a, b, 0), y, p)
    assert last == pytest.approx(1 - (y * p).sum(1).mean(), rel=1e-5)
    last, _ = gathered(target, lambda a: tf.metrics.percentage_below(a, 0.5), y)
    assert last == pytest.approx((y < 0.5).mean(), rel=1e-6)
    last, _ = gathered(target, tf.metrics.mean_tensor, y)
    np.testing.assert_allclose(last, y.mean(0), rtol=1e-6)


@TARGETS
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_counts_precision_and_recall(target: str, weighted: bool) -> None:
    found = (SCORES > 0.4).astype(np.int64)
    w = WEIGHTS if weighted else np.ones_like(WEIGHTS)
    tp, fp = (w * (LABELS & found)).sum(), (w * ((1 - LABELS) & found)).sum()
    fn, tn = (w * (LABELS & (1 - found))).sum(), (w * ((1 - LABELS) & (1 - found))).sum()
    wants = {
        "true_positives": tp, "false_positives": fp, "false_negatives": fn, "true_negatives": tn,
        "precision": tp / (tp + fp), "recall": tp / (tp + fn),
    }  # fmt: skip
    for name, want in wants.items():
        metric = getattr(tf.metrics, name)
        if weighted:
            results = gathered(target, lambda y, p, w: metric(y, p, w), LABELS, found, w)  # noqa: B023
        else:
            results = gathered(target, metric, LABELS, found)
        np.testing.assert_allclose(results, want, rtol=1e-6, err_msg=name)


def test_precision_keeps_its_counts_under_its_name() -> None:
    tf.metrics.precision([1, 0], [1, 1])
    assert [v.name for v in tf.local_variables()] == [
        "precision/true_positives/count:0",
        "precision/false_positives/count:0",
    ]


@TARGETS
def test_thresholds(target: str) -> None:
    edges = [0.2, 0.5, 0.8]
    above = SCORES[None] > np.reshape(edges, (3, 1, 1))
    tp = (above & (LABELS == 1)).sum((1, 2))
    fp = (above & (LABELS == 0)).sum((1, 2))
    wants = {
        "true_positives": tp, "false_positives": fp, "false_negatives": LABELS.sum() - tp,
        "true_negatives": (1 - LABELS).sum() - fp, "precision": tp / (tp + fp),
        "recall": tp / LABELS.sum(),
    }  # fmt: skip
    for name, want in wants.items():
        metric = getattr(tf.metrics, f"{name}_at_thresholds")
        results = gathered(target, lambda y, p: metric(y, p, edges), LABELS, SCORES)  # noqa: B023
        for found in results:
            np.testing.assert_allclose(found, want, rtol=1e-6, err_msg=name)


def rank_area(labels: Any, scores: Any) -> float:
    """The share of pairs of a positive and a negative that are in the right order."""
    positive, negative = scores[labels == 1], scores[labels == 0]
    return float((positive[:, None] > negative[None]).mean())


@TARGETS
def test_the_area_under_the_roc_curve_is_the_share_of_ordered_pairs(target: str) -> None:
    last, value = gathered(target, tf.metrics.auc, LABELS, SCORES)
    assert last == value == pytest.approx(rank_area(LABELS.ravel(), SCORES.ravel()), abs=0.02)
    assert [v.name for v in tf.local_variables()] == [
        "auc/true_positives:0",
        "auc/false_negatives:0",
        "auc/true_negatives:0",
        "auc/false_positives:0",
    ]
    assert tf.local_variables()[0].shape == [200]


@TARGETS
def test_areas_by_other_sums(target: str) -> None:
    areas = {}
    for curve in ("ROC", "PR"):
        for method in ("minoring", "trapezoidal", "majoring"):
            areas[method], _ = gathered(
                target,
                lambda y, p: tf.metrics.auc(y, p, curve=curve, summation_method=method),  # noqa: B023
                LABELS,
                SCORES,
            )
        assert areas["minoring"] <= areas["trapezoidal"] <= areas["majoring"]
    careful, _ = gathered(
        target,
        lambda y, p: tf.metrics.auc(y, p, curve="PR", summation_method="careful_interpolation"),
        LABELS,
        SCORES,
    )
    assert careful == pytest.approx(areas["trapezoidal"], abs=0.05)
    with pytest.raises(ValueError, match="curve must be either ROC or PR"):
        tf.metrics.auc([1], [0.5], curve="X")
    with pytest.raises(ValueError, match="Invalid summation_method"):
        tf.metrics.auc([1], [0.5], summation_method="careful_interpolation")


@TARGETS
def test_a_perfect_predictor_is_sensitive_and_specific(target: str) -> None:
    scores = LABELS.astype(np.float32)
    for name in ("sensitivity_at_specificity", "specificity_at_sensitivity"):
        metric = getattr(tf.metrics, name)
        last, _ = gathered(target, lambda y, p: metric(y, p, 0.9), LABELS, scores)  # noqa: B023
        assert last == pytest.approx(1.0, abs=1e-5)
        with pytest.raises(ValueError, match="must be in the range"):
            metric([1], [0.5], 2.0)


@TARGETS
def test_intersection_over_union_and_accuracy_of_classes(target: str) -> None:
    labels, found = RNG.randint(0, 3, (2, 9)), RNG.randint(0, 3, (2, 9))
    hits = np.array([((labels == c) & (found == c)).sum() for c in range(3)])
    union = np.array([((labels == c) | (found == c)).sum() for c in range(3)])
    each = hits / np.array([(labels == c).sum() for c in range(3)])
    matrix, value = gathered(target, lambda y, p: tf.metrics.mean_iou(y, p, 3), labels, found)
    assert value == pytest.approx((hits / union).mean(), rel=1e-6)
    np.testing.assert_array_equal(np.diag(matrix), hits)
    per_class, value = gathered(
        target, lambda y, p: tf.metrics.mean_per_class_accuracy(y, p, 3), labels, found
    )
    np.testing.assert_allclose(per_class, each, rtol=1e-6)
    assert value == pytest.approx(each.mean(), rel=1e-6)


@TARGETS
def test_the_k_best_classes(target: str) -> None:
    labels = np.array([[0, 1, 2, 3, 4, 1], [1, 4, 3, 2, 1, 0]])
    scores = np.random.RandomState(3).rand(2, 6, 5).astype(np.float32)
    best = np.argsort(-scores, axis=-1)[..., :2]
    hits = (best == labels[..., None]).any(-1)
    last, _ = gathered(target, lambda y, p: tf.metrics.recall_at_k(y, p, 2), labels, scores)
    assert last == pytest.approx(hits.mean())
    last, _ = gathered(target, lambda y, p: tf.metrics.precision_at_k(y, p, 2), labels, scores)
    assert last == pytest.approx(hits.mean() / 2)
    last, _ = gathered(
        target, lambda y, p: tf.metrics.recall_at_k(y, p, 2, class_id=1), labels, scores
    )
    assert last == pytest.approx(hits[labels == 1].mean())


@TARGETS
def test_labels_that_are_no_class_are_missed_and_nothing_has_no_share(target: str) -> None:
    scores = np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]])
    padded = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], np.array([3, 0, -5]), [2, 2])
    for labels, class_id, expected in (
        (np.array([[3, 9], [0, -1]]), None, 2 / 4),
        (np.array([[3, 9], [9, 9]]), None, 1 / 3),
        (np.array([[3, 9], [9, 9]]), 9, 0),
        (np.array([3, 9]), 1, np.nan),
        (padded, None, 2 / 3),
    ):
        value, update = tf.metrics.recall_at_k(labels, scores, 1, class_id=class_id)
        with tf.Session(target) as session:
            session.run(tf.local_variables_initializer())
            np.testing.assert_allclose(session.run(update), expected)
            np.testing.assert_allclose(session.run(value), expected)
    precision = tf.metrics.precision_at_k(np.array([3, 0]), scores, 1, weights=[0.0, 0.0])
    with tf.Session(target) as session:
        session.run(tf.local_variables_initializer())
        assert np.isnan(session.run(precision)).all()


@TARGETS
def test_predicted_classes_are_compared_with_labels(target: str) -> None:
    scores = np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]], np.float32)
    labels, predicted = np.array([[3, 1], [2, 2]]), np.array([[3, 0], [2, 2]])
    padded = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], np.array([3, 1, 9]), [2, 2])
    average = tf.metrics.average_precision_at_k
    metrics = [
        (tf.metrics.precision_at_top_k(labels, predicted), 2 / 3),
        (tf.metrics.recall_at_top_k(labels, predicted, class_id=1), 0),
        (average(labels, scores, 1), 1 / 2),
        (average(labels, scores, 3), (5 / 6 + 1 / 6) / 2),
        (average(padded, scores, 3), 5 / 12),
        (average(labels, scores, 2, weights=[2.0, 0.0]), 1 / 2),
    ]
    with tf.Session(target) as session:
        session.run(tf.local_variables_initializer())
        found = session.run([update for (_, update), _ in metrics])
        again = session.run([value for (value, _), _ in metrics])
    np.testing.assert_allclose([found, again], [[e for _, e in metrics]] * 2)
    names = [v.op.name for v in tf.local_variables()[2:4]]
    assert names == [f"recall_at_k_class1/{kind}_at_k_class1" for kind in
                     ("true_positive", "false_negative")]  # fmt: skip


def test_collections_hold_what_is_requested() -> None:
    value, update = tf.metrics.accuracy([1], [1], None, ["values"], ["updates"])
    assert tf.get_collection("values") == [value] and tf.get_collection("updates") == [update]
    assert (value.op.name, update.op.name) == ("accuracy/value", "accuracy/update_op")


def test_predictions_and_labels_have_one_shape() -> None:
    tf.metrics.accuracy(tf.zeros([3, 1]), tf.zeros([3]))  # a last axis of 1 goes
    with pytest.raises(ValueError, match="incompatible"):
        tf.metrics.accuracy(tf.zeros([3]), tf.zeros([4]))


def test_a_curve_of_too_many_points_is_refused() -> None:
    for count in (1, 2**70):
        with pytest.raises(ValueError, match="num_thresholds"):
            tf.metrics.auc([True], [0.5], num_thresholds=count)
