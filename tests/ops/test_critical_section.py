"""CriticalSection: executions one after the other, in both engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


def _before_adding(count: tf.Variable, amount: Any) -> tf.Tensor:
    value = count.value()
    with tf.control_dependencies([value]):
        with tf.control_dependencies([count.assign_add(amount)]):
            return tf.identity(value)


@TARGETS
def test_each_execution_sees_the_one_before_in_full(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        count = tf.Variable(0.0, use_resource=True)
        section = tf.CriticalSection(name="section")
        amounts = [1.0, 2.0, 4.0, 8.0]
        values = [section.execute(lambda: _before_adding(count, amount)) for amount in amounts]  # noqa: B023
        assert section.name == "section"
        session.run(count.initializer)
        np.testing.assert_array_equal(session.run(values), np.cumsum([0.0, *amounts[:-1]]))
        assert session.run(values[2]) == 15.0
        assert session.run(count) == 19.0


@TARGETS
def test_what_the_function_gives_keeps_its_structure(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        count = tf.Variable(1, use_resource=True)
        section = tf.CriticalSection()
        done = section.execute(lambda: {"op": count.assign_add(2).op, "x": (tf.constant(3),)})
        alone = section.execute(lambda: tf.group(count.assign_add(10)))
        session.run(count.initializer)
        assert session.run(done) == {"op": None, "x": (3,)}
        session.run(alone)
        assert session.run(count) == 13


@TARGETS
def test_it_works_in_branches_and_loops(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        count = tf.Variable(0, use_resource=True)
        section, chosen = tf.CriticalSection(), tf.placeholder(tf.bool, [])
        branch = tf.cond(
            chosen,
            lambda: section.execute(lambda: count.assign_add(1) + 0),
            lambda: count.read_value(),
        )
        loop = tf.while_loop(
            lambda i: i < 5, lambda i: section.execute(lambda: count.assign_add(1) * 0 + i + 1), [0]
        )
        session.run(count.initializer)
        assert [session.run(branch, {chosen: on}) for on in (True, False, True)] == [1, 1, 2]
        assert (session.run(loop), session.run(count)) == (5, 7)


def test_what_would_never_end_or_be_interleaved_is_refused() -> None:
    with tf.Graph().as_default():
        section = tf.CriticalSection(shared_name="one")
        same, queue = tf.CriticalSection(shared_name="one"), tf.FIFOQueue(1, tf.float32)
        with pytest.raises(ValueError, match="Attempting to lock a CriticalSection"):
            section.execute(lambda: same.execute(lambda: tf.constant(1)))
        with pytest.raises(tf.errors.UnimplementedError, match="waits for other runs"):
            section.execute(queue.dequeue)
        section.execute(lambda: tf.constant(1))  # it was left by the calls that failed


def test_sections_do_not_share_a_variable_that_one_has_alone() -> None:
    with tf.Graph().as_default():
        one, other = tf.CriticalSection(), tf.CriticalSection()
        alone, shared = (tf.Variable(0.0, use_resource=True) for _ in range(2))
        one.execute(lambda: alone + 1.0)
        one.execute(lambda: shared.read_value(), exclusive_resource_access=False)
        for given in (True, False):
            with pytest.raises(ValueError, match="requested exclusive resource access"):
                other.execute(lambda: alone - 1.0, exclusive_resource_access=given)
        other.execute(lambda: shared + 1.0, exclusive_resource_access=False)
        with pytest.raises(ValueError, match="requested exclusive resource access"):
            other.execute(lambda: shared * 2.0)
