"""Optimizers that programs write themselves, the way TensorFlow 1 asks for; clipped gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g


class Sign(tf.train.Optimizer):
    """Steps by the sign of a running sum of gradients, and counts its steps."""

    def __init__(self, rate: Any, name: str = "Sign") -> None:
        super().__init__(False, name)
        self._rate = rate

    def _create_slots(self, var_list: Any) -> None:
        for v in var_list:
            self._zeros_slot(v, "sum", self._name)
            self._get_or_make_slot(v, tf.ones_like(v.initial_value), "one", self._name)
        self._create_non_slot_variable(0, "steps", var_list[0])

    def _prepare(self) -> None:
        self._rate_tensor = tf.convert_to_tensor(self._call_if_callable(self._rate), name="rate")

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        total = self.get_slot(var, "sum").assign_add(grad)
        one = self.get_slot(var, "one")
        return tf.assign_sub(var, self._rate_tensor * tf.sign(total) * one)

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return tf.scatter_sub(var, grad.indices, self._rate_tensor * tf.sign(grad.values))

    def _finish(self, update_ops: Any, name_scope: str) -> Any:
        with tf.control_dependencies(update_ops):
            count = self._get_non_slot_variable("steps").assign_add(1)
        return tf.group(*update_ops, count, name=name_scope)


@TARGETS
def test_an_optimizer_of_the_programs_own(target: str) -> None:
    v = tf.Variable([1.0, -2.0], name="v")
    optimizer = Sign(lambda: 0.25)
    step = tf.train.get_or_create_global_step()
    train = optimizer.minimize(tf.reduce_sum(v * v), global_step=step)
    assert train.name == "Sign" and optimizer.get_slot_names() == ["one", "sum"]
    assert [x.name for x in optimizer.variables()] == ["steps:0", "v/Sign:0", "v/Sign_1:0"]
    assert tf.trainable_variables() == [v]
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(2):
            assert session.run(train) is None
        assert session.run(v).tolist() == [0.5, -1.5]
        assert session.run([step, optimizer._get_non_slot_variable("steps")]) == [2, 2]


@TARGETS
def test_rows_of_a_sparse_gradient_come_once(target: str) -> None:
    table = tf.Variable(np.zeros((3, 1), np.float32))
    optimizer = Sign(1.0)
    ((slices, _),) = optimizer.compute_gradients(tf.reduce_sum(tf.gather(table, [2, 2, 0])))
    bare = tf.IndexedSlices(slices.values, slices.indices)
    trains = [optimizer.apply_gradients([(g, table)]) for g in (slices, bare)]
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        for i, train in enumerate(trains):
            session.run(train)
            assert session.run(table).ravel().tolist() == [-1 - i, 0, -1 - i]


@TARGETS
def test_the_newer_name_of_the_hook(target: str) -> None:
    class Plain(tf.train.Optimizer):
        def _resource_apply_dense(self, grad: Any, handle: Any) -> Any:
            return handle.assign_sub(0.5 * grad)

    v = tf.Variable(3.0)
    train = Plain(name="Plain").minimize(v * v)
    with tf.Session(target) as session:
        session.run(v.initializer)
        session.run(train)
        assert session.run(v) == 0.0


def test_an_optimizer_without_a_step_says_so() -> None:
    v = tf.Variable(1.0)
    with pytest.raises(NotImplementedError):
        tf.train.Optimizer(name="Nothing").minimize(v * v)


@TARGETS
def test_clipped_slices_stay_slices(target: str) -> None:
    table = tf.constant([[3.0], [4.0], [0.0]])
    (slices,) = tf.gradients(tf.reduce_sum(tf.gather(table, [0, 1]) ** 2), [table])
    clipped = [
        tf.clip_by_norm(slices, 5.0), tf.clip_by_value(slices, -7.0, 7.0),
        tf.clip_by_global_norm([slices], 5.0)[0][0],
    ]  # fmt: skip
    assert all(isinstance(c, tf.IndexedSlices) for c in clipped)
    with tf.Session(target) as session:
        found = [v.values.ravel() for v in session.run(clipped)]
    np.testing.assert_allclose(found, [[3, 4], [6, 7], [3, 4]], rtol=1e-6)


def test_slots_by_their_names_and_the_variables_they_belong_to() -> None:
    v, w = tf.Variable([1.0], name="v"), tf.Variable([2.0], name="w")
    optimizer = tf.train.FtrlOptimizer(0.1, initial_accumulator_value=0.5)
    optimizer.minimize(tf.reduce_sum(v * w))
    assert {name: len(slots) for name, slots in optimizer._slots.items()} == {
        "accum": 2,
        "linear": 2,
    }
    assert optimizer._slots["accum"][v.graph, "v"] is optimizer.get_slot(v, "accum")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert [x.tolist() for x in session.run(optimizer._slots)["accum"].values()] == [[0.5]] * 2
