"""Variables whose shape is not known before the run, in plans of the C library."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import graphio as tf

BOTH = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g


def session(target: str) -> tf.Session:
    made = tf.Session(target)
    made.run(tf.global_variables_initializer())
    return made


@BOTH
def test_a_shape_that_a_run_finds_is_read_behind_it(target: str) -> None:
    x = tf.placeholder(tf.float32, [None])
    v = tf.Variable([1.0], validate_shape=False)
    with tf.control_dependencies([v.assign(tf.boolean_mask(x, x > 1))]):
        total = tf.reduce_sum(v.read_value() * 2)
    s = session(target)
    for values in ([0, 2, 3], [5], [0.0], [4, 4, 4, 4]):
        found = s.run([total, v], {x: values})
        assert found[0] == 2 * sum(i for i in values if i > 1)
    assert s.run(v).tolist() == [4, 4, 4, 4]


@BOTH
def test_a_shape_that_a_branch_may_change_is_read_behind_it(target: str) -> None:
    longer = tf.placeholder(tf.bool, [])
    v = tf.Variable([1.0], validate_shape=False)
    chosen = tf.cond(longer, lambda: v.assign(tf.ones([3])), lambda: tf.zeros([1]))
    with tf.control_dependencies([chosen]):
        size = tf.size(v.read_value())
    s = session(target)
    assert [int(s.run(size, {longer: value})) for value in (False, True, False)] == [1, 3, 3]


def test_a_branch_that_gives_no_value_leaves_a_variable_without_one() -> None:
    gives = tf.placeholder(tf.bool, [])
    v = tf.Variable([1.0], validate_shape=False, name="v")
    chosen = tf.cond(gives, lambda: v.assign(tf.ones([3])), lambda: tf.zeros([1]))
    with tf.control_dependencies([chosen]):
        total = tf.reduce_sum(v.read_value())
    s = tf.Session("cinfer")
    with pytest.raises(tf.errors.FailedPreconditionError, match="v"):
        s.run(total, {gives: False})
    assert s.run(total, {gives: True}) == 3
    assert s.run(total, {gives: False}) == 3


@BOTH
def test_plans_follow_the_shape_of_a_variable(target: str) -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    v = tf.Variable(np.ones((2, 3), np.float32), validate_shape=False)
    change = v.assign(x)
    total = tf.reduce_sum(v, 0)
    s = session(target)
    for rows in (2, 4, 4, 1, 2):
        s.run(change, {x: np.full((rows, 3), 2.0)})
        assert s.run(total).tolist() == [2.0 * rows] * 3
