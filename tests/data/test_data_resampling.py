"""rejection_resample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from data_elements import elements
from value_cases import TARGETS

import graphio as tf

D = tf.data.Dataset


def counted(resampled: Any, target: str = "runtime") -> tuple[np.ndarray[Any, Any], int]:
    """How often each class came, checked against the elements, and how many elements."""
    found = elements(resampled, target)
    assert all(kind == value[0] == int(value[1]) for kind, value in found)
    return np.bincount([kind for kind, _ in found]), len(found)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("initial", [[0.25, 0.25, 0.5], None])
def test_classes_come_as_often_as_required(initial: Any, target: str) -> None:
    # Expected by the formulas in numpy: with the chance m an element comes unfiltered, and of each
    # element that the filter reads the share of sum(p * a) passes. The bounds are five
    # standard deviations of a binomial.
    required, have = np.array([0.6, 0.2, 0.2]), np.array([0.25, 0.25, 0.5])
    ratio = required / have
    m = ratio.min()
    accepted = (ratio - m) / (ratio.max() - m)
    expected = 1 / (m + (1 - m) / (have * accepted).sum())  # elements that one costs
    count = 1200
    with tf.Graph().as_default():
        classes = np.random.default_rng(3).choice(3, count, p=have)
        data = D.from_tensor_slices(classes).map(lambda c: (c, tf.as_string(c)))
        resampled = data.repeat(2).apply(
            tf.data.experimental.rejection_resample(
                lambda c, text: c, required.astype(np.float32), initial, seed=5
            )
        )
        numbers, total = counted(resampled.take(700), target)
    assert total == 700 if expected > 0.4 else total
    shares = numbers / total
    loose = 0.02 if initial is None else 0  # the estimate is smoothed
    assert (abs(shares - required) < 5 * np.sqrt(required * (1 - required) / total) + loose).all()


def test_equal_shares_drop_nothing_and_a_class_that_is_not_required_is_dropped() -> None:
    with tf.Graph().as_default():
        data = D.range(40).map(lambda i: (i % 2, tf.as_string(i % 2)))
        same = data.rejection_resample(lambda c, text: c, [0.5, 0.5], [0.5, 0.5])
        assert counted(same)[0].tolist() == [20, 20]
        one = data.rejection_resample(lambda c, text: c, np.array([0.0, 1.0]), [0.5, 0.5])
        assert counted(one)[0].tolist() == [0, 20]


def test_the_shares_hold_up_to_the_end_of_the_data() -> None:
    with tf.Graph().as_default():
        data = D.range(2000).map(lambda i: (i % 2, tf.as_string(i % 2)))
        found, total = counted(data.rejection_resample(lambda c, text: c, [0.9, 0.1], [0.5, 0.5]))
    assert total >= 1000 and abs(found[1] / total - 0.1) < 5 * np.sqrt(0.09 / total)


def test_an_estimate_begins_with_ten_of_each_class() -> None:
    with tf.Graph().as_default():
        # 32 of class 0: (42, 10) / 52, so m = 0.5 * 52 / 42; the filter passes none and ends all.
        data = D.from_tensor_slices(np.zeros(32, np.int64)).map(lambda c: (c, tf.as_string(c)))
        drawn = [
            counted(data.rejection_resample(lambda c, text: c, [0.5, 0.5], seed=seed))[1]
            for seed in range(6)
        ]
    assert 0 < max(drawn) < 32


def test_what_cannot_be_resampled_is_refused() -> None:
    with tf.Graph().as_default():
        with pytest.raises(TypeError, match="`target_dist` is int32, expected floats"):
            D.range(3).rejection_resample(lambda i: i, [1, 0])
        with pytest.raises(TypeError, match="`class_func` gives float32, expected int32 or int64"):
            D.range(3).rejection_resample(lambda i: tf.cast(i, tf.float32), [1.0, 0.0])
