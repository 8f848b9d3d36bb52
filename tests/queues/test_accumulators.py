"""ConditionalAccumulator: means of gradients, in both engines."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@TARGETS
def test_the_mean_of_the_gradients_since_the_last_one_is_taken(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        means = tf.ConditionalAccumulator(tf.float32, shape=[2])
        sums = tf.ConditionalAccumulator(tf.float32, reduction_type="SUM")
        x, step = tf.placeholder(tf.float32), tf.placeholder(tf.int64, [])
        add = [means.apply_grad(x, step), sums.apply_grad(x, step)]
        taken = [means.take_grad(2), sums.take_grad(2)]
        count = means.num_accumulated()
        rows = np.float32([[1.0, 2.0], [4.0, 8.0], [-2.0, 0.5]])
        for row in rows:
            session.run(add, {x: row, step: 0})
        assert session.run(count) == 3
        mean, total = session.run(taken)
        np.testing.assert_allclose(mean, rows.mean(0), rtol=1e-6)
        np.testing.assert_array_equal(total, rows.sum(0))
        session.run(add, {x: rows[0], step: 0})  # the step is 1 now
        assert session.run(count) == 0
        session.run(add, {x: rows[0], step: 1})
        assert session.run(count) == 1
        session.run(means.set_global_step(5))
        session.run(add, {x: rows[0], step: 4})
        assert session.run(count) == 1


@TARGETS
def test_taking_waits_for_enough_and_keeps_what_a_run_that_ends_leaves(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        means = tf.ConditionalAccumulator(tf.float64, shape=())
        add, taken = means.apply_grad(3.0), means.take_grad(2)
        session.run(add)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(taken, options=tf.RunOptions(timeout_in_ms=20))
        timer = threading.Timer(0.05, session.run, (add,))
        timer.start()
        assert session.run(taken) == 3.0


def test_what_does_not_fit_an_accumulator_is_refused() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        means, x = tf.ConditionalAccumulator(tf.float32, shape=[2]), tf.placeholder(tf.float32)
        with pytest.raises(ValueError):
            means.apply_grad([1.0])
        with pytest.raises(ValueError, match="reduction_type is 'MAX'"):
            tf.ConditionalAccumulator(tf.float32, reduction_type="MAX")
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"expected \[2\], got \[3\]"):
            session.run(means.apply_grad(x), {x: [1.0, 2.0, 3.0]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="num_required is 0"):
            session.run(means.take_grad(0))
