"""tf.contrib.opt's optimizers of the global step, RegAdagrad and LARS's rate, against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphio as tf

START = np.array([[0.5, -0.25], [1.0, 0.75], [-0.5, 0.25]])
SLOPES = np.array([[[0.1, -0.2], [0.3, 0.05]], [[-0.3, 0.1], [0.2, 0.15]], [[0.1, 0.3], [-0.4, 0]]])
ROWS = [[0, 2], [1, 2], [0, 1]]
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


@TARGETS
@pytest.mark.parametrize("lazy", [False, True])
def test_adam_counts_by_the_global_step(lazy: bool, target: str) -> None:
    step = tf.Variable(4, trainable=False, dtype=tf.int64)
    kind = tf.contrib.opt.LazyAdamGSOptimizer if lazy else tf.contrib.opt.AdamGSOptimizer
    optimizer = kind(global_step=step, learning_rate=0.1)
    v = tf.get_variable("v", initializer=tf.constant(START, tf.float32))
    values, rows = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.int64, [None])
    train = optimizer.apply_gradients([(tf.IndexedSlices(values, rows), v)], global_step=step)
    assert {one.op.name for one in optimizer.variables()} == {"v/Adam", "v/Adam_1"}
    w, m, s = START.copy(), np.zeros_like(START), np.zeros_like(START)
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        for t, (slope, chosen) in enumerate(zip(SLOPES, ROWS, strict=True), 5):
            session.run(train, {values: slope, rows: chosen})
            g = np.zeros_like(START)
            g[chosen] = slope
            touched = chosen if lazy else slice(None)
            m[touched] = (0.9 * m + 0.1 * g)[touched]
            s[touched] = (0.999 * s + 0.001 * g * g)[touched]
            rate = 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
            w[touched] -= (rate * m / (np.sqrt(s) + 1e-8))[touched]
        np.testing.assert_allclose(session.run(v), w, rtol=2e-5)


@TARGETS
def test_steps_may_leave_the_accumulator_of_adagrad_alone(target: str) -> None:
    optimizer = tf.contrib.opt.RegAdagradOptimizer(0.1)
    v = tf.get_variable("v", initializer=tf.constant(START[:2], tf.float32))
    values = tf.placeholder(tf.float32, [2, 2])
    train = optimizer.apply_gradients([(values, v)])
    with optimizer.avoid_updating_slots():
        regularize = optimizer.apply_gradients([(values, v)])
    train_again = optimizer.apply_gradients([(values, v)])
    (slot,) = optimizer.variables()
    assert slot.op.name == "v/RegAdagrad"
    w, a = START[:2].copy(), np.full((2, 2), 0.1)
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        for slope, one in zip(SLOPES, (train, regularize, train_again), strict=True):
            session.run(one, {values: slope})
            a += 0 if one is regularize else slope**2
            w -= 0.1 * slope / np.sqrt(a)
        np.testing.assert_allclose(session.run(v), w, rtol=1e-5)
        np.testing.assert_allclose(session.run(slot), a, rtol=1e-5)


@TARGETS
def test_lars_gives_the_rate_of_a_variable(target: str) -> None:
    optimizer = tf.contrib.opt.LARSOptimizer(0.5, weight_decay=0.02, eeta=0.01, skip_list=["bias"])
    v = tf.get_variable("v", initializer=tf.constant(START, tf.float32))
    slope = np.array([[0.1, -0.2], [0.3, 0.05], [-0.1, 0.2]])
    rate, decayed = optimizer.compute_lr(tf.constant(slope, tf.float32), v)
    one, two = np.linalg.norm(START), np.linalg.norm(slope)
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        found = session.run([rate, decayed])
    np.testing.assert_allclose(found[0], 0.5 * 0.01 * one / (two + 0.02 * one), rtol=1e-5)
    np.testing.assert_allclose(found[1], slope + 0.02 * START, rtol=1e-5)
    bias = tf.get_variable("bias", initializer=tf.zeros([2]))
    assert optimizer.compute_lr("gradient", bias) == (0.5, "gradient")
