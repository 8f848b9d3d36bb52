"""tf.train.SyncReplicasOptimizer in one process, against the same steps in numpy."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import graphio as tf

SLOPES = [np.array([1.0, -2.0]), np.array([3.0, 0.5]), np.array([-1.0, 1.0]), np.array([0.5, 2.0])]
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


def wait(session: Any, step: Any, count: int) -> None:
    """Until the chief's thread has made `count` updates."""
    for _ in range(5000):
        if session.run(step) == count:
            return
        time.sleep(0.002)
    raise AssertionError(f"the global step stays at {session.run(step)}")


@TARGETS
@pytest.mark.parametrize("together", [1, 2])
def test_updates_are_by_the_mean_of_several_gradients(together: int, target: str) -> None:
    v = tf.get_variable("v", initializer=np.array([1.0, 2.0], np.float32))
    step = tf.train.get_or_create_global_step()
    slope = tf.placeholder(tf.float32, [2])
    inner = tf.train.MomentumOptimizer(0.5, 0.5)
    optimizer = tf.train.SyncReplicasOptimizer(inner, together, total_num_replicas=1)
    train = optimizer.apply_gradients([(slope, v)], global_step=step)
    assert [w.op.name for w in tf.local_variables()] == ["sync_rep_local_step"]
    assert [w.op.name for w in tf.global_variables()] == ["v", "global_step", "v/Momentum"]
    assert optimizer.get_slot(v, "momentum") is optimizer.variables()[0]
    hook = optimizer.make_session_run_hook(True, num_tokens=together - 1)
    creator = tf.train.ChiefSessionCreator(master=target)
    w, velocity = np.array([1.0, 2.0]), np.zeros(2)
    with tf.train.MonitoredSession(creator, hooks=[hook]) as session:
        for number in range(0, 4, together):
            for one in SLOPES[number : number + together]:
                session.run(train, {slope: one})
            wait(session, step, number // together + 1)
            velocity = 0.5 * velocity + np.mean(SLOPES[number : number + together], axis=0)
            w = w - 0.5 * velocity
            np.testing.assert_allclose(session.run(v), w, rtol=1e-6)


@TARGETS
def test_a_gradient_with_a_token_of_an_earlier_update_is_dropped(target: str) -> None:
    v = tf.get_variable("v", initializer=np.array([1.0, 2.0], np.float32))
    step = tf.train.get_or_create_global_step()
    slope = tf.placeholder(tf.float32, [2])
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 1)
    train = optimizer.apply_gradients([(slope, v)], global_step=step)
    creator = tf.train.ChiefSessionCreator(master=target)
    hook = optimizer.make_session_run_hook(True)  # adds a token of step 0
    with tf.train.MonitoredSession(creator, hooks=[hook]) as session:
        session.run(train, {slope: SLOPES[0]})
        wait(session, step, 1)
        for one in SLOPES[1:3]:
            session.run(train, {slope: one})
        wait(session, step, 2)
        expected = np.array([1.0, 2.0]) - SLOPES[0] - SLOPES[2]
        np.testing.assert_allclose(session.run(v), expected, rtol=1e-6)


@TARGETS
def test_averages_follow_the_updates(target: str) -> None:
    v = tf.get_variable("v", initializer=4.0)
    step = tf.train.get_or_create_global_step()
    averages = tf.train.ExponentialMovingAverage(0.75)
    optimizer = tf.train.SyncReplicasOptimizer(
        tf.train.GradientDescentOptimizer(1.0), 1, 1, averages, [v]
    )
    train = optimizer.minimize(v, global_step=step)
    average: Any = None
    with tf.train.MonitoredSession(
        tf.train.ChiefSessionCreator(master=target), hooks=[optimizer.make_session_run_hook(True)]
    ) as session:
        session.run(train)
        wait(session, step, 1)
        average = averages.average(v)
        for _ in range(5000):
            if session.run(average) != 4:
                break
            time.sleep(0.002)
        assert session.run([v, average]) == [3, 3.75]


def test_steps_without_what_they_need_are_refused() -> None:
    v = tf.get_variable("v", [2])
    step = tf.train.get_or_create_global_step()
    made = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 3, 1)
    with pytest.raises(ValueError, match="Must supply at least one variable"):
        made.apply_gradients([], global_step=step)
    with pytest.raises(ValueError, match="Global step is required"):
        made.apply_gradients([(tf.ones([2]), v)])
    with pytest.raises(ValueError, match="called after apply_gradients"):
        made.get_chief_queue_runner()
    with pytest.raises(ValueError, match="called after apply_gradients"):
        made.get_init_tokens_op()
    with pytest.raises(ValueError, match="apply_gradient should be called before"):
        made.make_session_run_hook(True).begin()
    made.apply_gradients([(tf.ones([2]), v)], global_step=step)
    hook = made.make_session_run_hook(False)
    with tf.Session() as session, pytest.raises(RuntimeError, match="initialized: v, global_step"):
        hook.after_create_session(session, None)
    with pytest.raises(ValueError, match=r"Too few tokens to finish the first step: 1 \(given\)"):
        made.get_init_tokens_op(1)


@TARGETS
def test_a_row_moves_by_the_mean_of_the_gradients_that_have_it(target: str) -> None:
    v = tf.get_variable("v", initializer=np.array([[1.0], [2.0], [3.0]], np.float32))
    rows, values = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.float32, [None, 1])
    step = tf.train.get_or_create_global_step()
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 2, 1)
    slices = tf.IndexedSlices(values, rows, tf.constant([3, 1]))
    train = optimizer.apply_gradients([(slices, v)], global_step=step)
    hook = optimizer.make_session_run_hook(True, num_tokens=1)
    creator = tf.train.ChiefSessionCreator(master=target)
    with tf.train.MonitoredSession(creator, hooks=[hook]) as session:
        session.run(train, {rows: [0, 2], values: [[1.0], [2.0]]})
        session.run(train, {rows: [2], values: [[8.0]]})
        wait(session, step, 1)
        np.testing.assert_array_equal(session.run(v), [[0.0], [2.0], [-2.0]])
