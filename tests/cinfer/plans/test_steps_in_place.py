"""Steps that write into the variable that they read: what others see stays what it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphio as tf
from graphio.cinfer._native import ffi, lib

SIZE = 1 << 16
RNG = np.random.RandomState(0)
FIRST, GRADIENT = (RNG.randn(SIZE).astype(np.float32) for _ in range(2))


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g


def results(target: str, build: Callable[[], Any], runs: int = 3) -> list[Any]:
    """The results of several runs and the final values of the variables."""
    with tf.Graph().as_default() as graph:
        fetches = build()
        session = tf.Session(target, graph=graph)
        session.run(tf.global_variables_initializer())
        found = []
        for _ in range(runs):
            found.append(session.run(fetches))
            found.append(session.run(tf.global_variables()))
    return found


def step() -> tuple[tf.Variable, tf.Operation]:
    w = tf.Variable(FIRST)
    return w, tf.train.GradientDescentOptimizer(0.1).apply_gradients([(tf.constant(GRADIENT), w)])


def plain() -> Any:
    return step()[1]


def read_before() -> Any:
    w, update = step()
    return [tf.reduce_sum(w), update]


def old_value_is_expected_after() -> Any:
    w, update = step()
    old = tf.identity(w)
    with tf.control_dependencies([update]):
        return [tf.reduce_sum(old * 2), w.read_value()]


def old_value_is_fetched() -> Any:
    w, update = step()
    return [w, update]


def new_value_is_fetched() -> Any:
    w = tf.Variable(FIRST)
    return w.assign(w - 0.1 * GRADIENT)


def new_value_is_used() -> Any:
    w = tf.Variable(FIRST)
    return tf.reduce_max(w.assign(w * 0.5) + 1)


def assigned_twice() -> Any:
    w, update = step()
    with tf.control_dependencies([update]):
        return tf.group(w.assign(w.read_value() * 2))


def two_from_one_step() -> Any:
    w, v = tf.Variable(FIRST), tf.Variable(GRADIENT)
    new = w * 2
    return tf.group(w.assign(new), v.assign(new))


def crossed() -> Any:
    w, v = tf.Variable(FIRST), tf.Variable(GRADIENT)
    return tf.group(w.assign(v * 2), v.assign(w * 3))


def through_a_reshape() -> Any:
    w = tf.Variable(FIRST.reshape(256, 256))
    transposed = tf.reshape(tf.transpose(w), [256, 256])
    return tf.group(w.assign(w + transposed))


def in_a_branch() -> Any:
    w, update = step()
    with tf.control_dependencies([update]):
        return tf.cond(w.read_value()[0] > 0, lambda: w.assign(w * 2), lambda: w.assign(w * 3))


def adam() -> Any:
    w = tf.Variable(FIRST)
    return tf.train.AdamOptimizer(0.01).minimize(tf.reduce_sum(tf.square(w)))


def momentum() -> Any:
    w = tf.Variable(FIRST)
    return tf.train.MomentumOptimizer(0.01, 0.9).minimize(tf.reduce_sum(tf.square(w)))


BUILDS = (
    *(plain, read_before, old_value_is_expected_after, old_value_is_fetched, new_value_is_fetched),
    *(new_value_is_used, assigned_twice, two_from_one_step, crossed, through_a_reshape),
    *(in_a_branch, adam, momentum),
)


@pytest.mark.parametrize("build", BUILDS, ids=[b.__name__ for b in BUILDS])
def test_both_engines_give_the_same(build: Callable[[], Any]) -> None:
    ours, expected = results("cinfer", build), results("runtime", build)
    for one, other in zip(ours, expected, strict=True):
        one, other = (v if isinstance(v, list) else [v] for v in (one, other))
        for a, b in zip(one, other, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_a_step_needs_no_memory_for_its_result() -> None:
    _, update = step()
    session = tf.Session("cinfer")
    session.run(tf.global_variables_initializer())
    session.run(update)
    plan = list(session._plans.values())[-1]
    stats = ffi.new("ci_stats *", {"size": ffi.sizeof("ci_stats")})
    lib.ci_session_stats(plan._signature._handles.session, stats)
    assert stats.arena_bytes < FIRST.nbytes


def test_a_run_that_fails_behind_the_step_tells_of_it() -> None:
    x = tf.placeholder(tf.float32, [])
    w, update = step()
    with tf.control_dependencies([update]):
        failing = tf.Assert(x > 0, [x])
    session = tf.Session("cinfer")
    session.run(tf.global_variables_initializer())
    with pytest.raises(tf.errors.InvalidArgumentError, match="already assigned by this run: Vari"):
        session.run(failing, {x: -1.0})
    np.testing.assert_array_equal(session.run(w), FIRST - np.float32(0.1) * GRADIENT)


def test_a_run_that_fails_before_the_step_leaves_the_variable() -> None:
    x = tf.placeholder(tf.float32, [])
    with tf.control_dependencies([tf.Assert(x > 0, [x])]):
        checked = tf.identity(x)
    w = tf.Variable(FIRST)
    update = w.assign(w - checked).op
    session = tf.Session("cinfer")
    session.run(tf.global_variables_initializer())
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(update, {x: -1.0})
    np.testing.assert_array_equal(session.run(w), FIRST)
