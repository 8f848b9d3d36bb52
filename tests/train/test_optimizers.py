"""Optimizers against their formulas in numpy float64, in both engines; slots and names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
STEPS = 6
Step = Callable[[np.ndarray, np.ndarray, int], np.ndarray]


def descent(rate: float) -> Step:
    return lambda v, g, t: v - rate * g


def momentum(rate: float, m: float, nesterov: bool) -> Step:
    a = np.zeros(4)

    def step(v: np.ndarray, g: np.ndarray, t: int) -> np.ndarray:
        a[:] = m * a + g
        return v - rate * (g + m * a if nesterov else a)

    return step


def adam(rate: float, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Step:
    m, s = np.zeros(4), np.zeros(4)

    def step(v: np.ndarray, g: np.ndarray, t: int) -> np.ndarray:
        m[:] = b1 * m + (1 - b1) * g
        s[:] = b2 * s + (1 - b2) * g * g
        return v - rate * np.sqrt(1 - b2**t) / (1 - b1**t) * m / (np.sqrt(s) + eps)

    return step


CASES: dict[str, tuple[Callable[[], tf.train.Optimizer], Callable[[], Step]]] = {
    "gradient descent": (lambda: tf.train.GradientDescentOptimizer(0.1), lambda: descent(0.1)),
    "momentum": (lambda: tf.train.MomentumOptimizer(0.1, 0.9), lambda: momentum(0.1, 0.9, False)),
    "nesterov": (
        lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
        lambda: momentum(0.1, 0.9, True),
    ),
    "adam": (lambda: tf.train.AdamOptimizer(0.05), lambda: adam(0.05)),
    "adam, other betas": (
        lambda: tf.train.AdamOptimizer(0.05, beta1=0.5, beta2=0.9, epsilon=1e-3),
        lambda: adam(0.05, 0.5, 0.9, 1e-3),
    ),
}


@TARGETS
@pytest.mark.parametrize("name", CASES)
def test_an_optimizer_takes_the_steps_of_its_formula(name: str, target: str) -> None:
    make, formula = CASES[name]
    start = np.float64([1.0, -2.0, 0.5, 3.0])
    goal = np.float64([0.0, 1.0, 0.25, -1.0])
    with tf.Graph().as_default(), tf.Session(target) as session:
        v = tf.Variable(start.astype(np.float32))
        count = tf.Variable(0, trainable=False, dtype=tf.int64, name="global_step")
        train = make().minimize(
            tf.reduce_sum((v - goal.astype(np.float32)) ** 2), global_step=count
        )
        session.run(tf.global_variables_initializer())
        step, want = formula(), start
        for t in range(1, STEPS + 1):
            session.run(train)
            want = step(want, 2 * (want - goal), t)
            np.testing.assert_allclose(session.run(v), want, rtol=2e-5, atol=1e-6)
        assert session.run(count) == STEPS


def test_slots_and_names_are_tensorflows() -> None:
    with tf.Graph().as_default():
        v = tf.Variable([1.0], name="v")
        loss = tf.reduce_sum(v * v)
        one = tf.train.AdamOptimizer()
        assert one.minimize(loss).name == "Adam"
        assert one.get_slot_names() == ["m", "v"]
        assert [one.get_slot(v, s).op.name for s in ("m", "v")] == ["v/Adam", "v/Adam_1"]
        names = [x.op.name for x in tf.global_variables()]
        assert {"beta1_power", "beta2_power", "v/Adam", "v/Adam_1"} < set(names)
        assert [x.op.name for x in tf.trainable_variables()] == ["v"]
        two = tf.train.AdamOptimizer()
        two.minimize(loss)
        assert two.get_slot(v, "m").op.name == "v/Adam_2"
        momentum_ = tf.train.MomentumOptimizer(0.1, 0.9)
        momentum_.minimize(loss)
        assert momentum_.get_slot(v, "momentum").op.name == "v/Momentum"


def test_what_cannot_be_optimised_is_refused() -> None:
    with tf.Graph().as_default():
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        with pytest.raises(ValueError, match="No variables to optimize"):
            optimizer.minimize(tf.constant(1.0))
        v = tf.Variable(1.0)
        with pytest.raises(ValueError, match="No gradients provided for any variable"):
            optimizer.minimize(tf.constant(1.0))
        with pytest.raises(ValueError, match="No variables provided"):
            optimizer.apply_gradients([])
        with pytest.raises(ValueError, match="gate_gradients must be one of"):
            optimizer.compute_gradients(v * v, gate_gradients=7)
        with pytest.raises(ValueError, match="gate_gradients must be one of"):
            optimizer.minimize(v * v, gate_gradients=7)
        with pytest.raises(TypeError, match="not a variable"):
            optimizer.compute_gradients(v * v, [1.0])
        with pytest.raises(NotImplementedError, match="unsupported type 'v'"):
            optimizer.apply_gradients([(v * v, "v")])
        with pytest.raises(TypeError, match="global_step must be a variable"):
            optimizer.minimize(v * v, global_step=3)
        with pytest.raises(TypeError, match="Only variables and tensors"):
            tf.train.ExponentialMovingAverage(0.9).apply([3])


def test_a_gradient_has_its_variables_shape() -> None:
    with tf.Graph().as_default():
        v = tf.Variable([[1.0, 2.0]])
        optimizer = tf.train.AdamOptimizer()
        rows = tf.IndexedSlices(tf.constant([[1.0, 2.0, 3.0]]), tf.constant([0]))
        for gradient in (tf.constant(1.0), tf.constant([[1.0], [2.0]]), rows):
            with pytest.raises(ValueError, match="Shapes must be equal, but the gradient has"):
                optimizer.apply_gradients([(gradient, v)])
        assert tf.global_variables() == [v]


ALL: list[Callable[[], tf.train.Optimizer]] = [
    *(make for make, _ in CASES.values()),
    lambda: tf.train.RMSPropOptimizer(0.1),
    lambda: tf.train.AdagradOptimizer(0.1),
    lambda: tf.train.AdadeltaOptimizer(0.1),
    lambda: tf.train.FtrlOptimizer(0.1),
    lambda: tf.train.ProximalGradientDescentOptimizer(0.1),
    lambda: tf.train.ProximalAdagradOptimizer(0.1),
    lambda: tf.train.AdagradDAOptimizer(0.1, tf.train.get_or_create_global_step()),
]


@TARGETS
def test_slices_need_no_dense_shape(target: str) -> None:
    start = np.arange(1, 7, dtype=np.float32).reshape(3, 2)
    for make in ALL:
        with tf.Graph().as_default(), tf.Session(target) as session:
            with_shape, without = tf.Variable(start), tf.Variable(start)
            loss = tf.reduce_sum(tf.nn.embedding_lookup(with_shape, [0, 2]) ** 2)
            optimizer = make()
            ((g, _),) = optimizer.compute_gradients(loss, [with_shape])
            values = tf.clip_by_norm(g.values, 1.0)
            rows = tf.IndexedSlices(values, g.indices, g.dense_shape)
            bare = tf.IndexedSlices(values, g.indices)
            train = optimizer.apply_gradients([(rows, with_shape), (bare, without)])
            session.run(tf.global_variables_initializer())
            session.run(train)
            one, two = session.run([with_shape, without])
            np.testing.assert_array_equal(one, two)
            assert not np.array_equal(two[[0, 2]], start[[0, 2]])
            if isinstance(optimizer, tf.train.GradientDescentOptimizer):
                want = 2 * start[[0, 2]] / np.linalg.norm(2 * start[[0, 2]])
                np.testing.assert_allclose(two[[0, 2]], start[[0, 2]] - 0.1 * want, rtol=1e-6)
                np.testing.assert_array_equal(two[1], start[1])


def test_hyperparameters_are_scalars() -> None:
    train = tf.train
    for name, make in (
        ("learning_rate", lambda: train.RMSPropOptimizer([0.1, 0.0])),
        ("decay", lambda: train.RMSPropOptimizer(0.1, decay=np.array([0.9, 0.1]))),
        ("learning_rate", lambda: train.AdagradOptimizer((0.1,))),
        ("learning_rate", lambda: train.AdadeltaOptimizer(tf.constant([0.1, 0.2]))),
        ("learning_rate", lambda: train.FtrlOptimizer(lambda: tf.constant([0.1]))),
        ("l1_regularization_strength", lambda: train.ProximalAdagradOptimizer(0.1, 0.1, [0.0])),
        ("learning_rate", lambda: train.ProximalGradientDescentOptimizer([tf.constant(0.1)])),
        ("learning_rate", lambda: train.GradientDescentOptimizer([0.1])),
        ("momentum", lambda: train.MomentumOptimizer(0.1, [0.9])),
        ("learning_rate", lambda: train.AdamOptimizer([0.1])),
    ):
        with tf.Graph().as_default():
            v = tf.Variable([1.0, 2.0])
            with pytest.raises(ValueError, match=f"{name} is .*, expected a number or a scalar"):
                make().minimize(v * v)


LOOKUPS: dict[str, Callable[[Any], Any]] = {
    "one variable": lambda parts: tf.gather(parts[0], [0, 0]),
    "its copy": lambda parts: tf.gather(tf.identity(parts[0]), [0]),
    "its value read here": lambda parts: tf.gather(parts[0].read_value(), [0]),
    "parts in turns": lambda parts: tf.nn.embedding_lookup(parts, [0]),
    "parts one after the other": lambda parts: tf.nn.embedding_lookup(parts, [0], "div"),
    "parts of a sparse tensor": lambda parts: tf.nn.embedding_lookup_sparse(
        parts, tf.SparseTensor([[0, 0]], [0], [1, 1]), None
    ),
    "parts joined by hand": lambda parts: tf.gather(tf.concat(parts, 0), [0]),
}


@TARGETS
@pytest.mark.parametrize("lookup", LOOKUPS)
def test_rows_that_are_not_looked_up_stay(lookup: str, target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        parts = [tf.Variable(np.ones((2, 1), np.float32)) for _ in range(2)]
        loss = tf.reduce_sum(LOOKUPS[lookup](parts))
        optimizer = tf.train.FtrlOptimizer(0.1, l2_regularization_strength=0.1)
        train = optimizer.minimize(loss)
        session.run(tf.global_variables_initializer())
        session.run(train)
        first, second = session.run(parts)
        assert first[0, 0] < 1
        assert first[1, 0] == 1 and second.tolist() == [[1], [1]]


@TARGETS
def test_slices_of_joined_parts_sum_to_the_dense_gradient(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        parts = [tf.constant(np.ones((n, 2), np.float32)) for n in (2, 0, 3)]
        factors = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        joined = tf.gather(tf.concat(parts, 0), [4, 1, 4])
        found = tf.gradients(joined * joined * factors, parts)
        assert all(isinstance(g, tf.IndexedSlices) for g in found)
        first, empty, last = session.run([tf.convert_to_tensor(g) for g in found])
        assert first.tolist() == [[0, 0], [6, 8]] and empty.shape == (0, 2)
        assert last.tolist() == [[0, 0], [0, 0], [12, 16]]
        beside = tf.concat([parts[0], parts[0] * 2], 1)
        (dense,) = tf.gradients(tf.gather(beside, [1]), parts[0])
        assert session.run(dense).tolist() == [[0, 0], [3, 3]]


@TARGETS
def test_var_list_may_be_one_variable_or_tensors(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        v = tf.Variable(3.0)
        optimizer = tf.train.GradientDescentOptimizer(0.5)
        train = optimizer.minimize(v * v, var_list=v)
        between = v * 2.0
        pairs = optimizer.compute_gradients(between * between, [between])
        session.run(tf.global_variables_initializer())
        assert session.run(pairs[0][0]) == 12
        session.run(train)
        assert session.run(v) == 0
        with pytest.raises(NotImplementedError, match="Trying to update a Tensor"):
            optimizer.apply_gradients(pairs)
        assert optimizer.compute_gradients(tf.constant(1.0), [v])[0][0] is None


@TARGETS
def test_a_sparse_gradient_moves_only_its_rows_under_momentum(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        table = tf.Variable(tf.ones([4, 2]))
        ids = tf.placeholder(tf.int32, [None])
        loss = tf.reduce_sum(tf.gather(table, ids))
        train = tf.train.MomentumOptimizer(0.1, 0.5).minimize(loss)
        session.run(tf.global_variables_initializer())
        session.run(train, {ids: [1, 1, 2]})
        session.run(train, {ids: [2]})
        rows = session.run(table)[:, 0]
        # row 1: one step of gradient 2; row 2: gradient 1, then momentum 0.5 + 1
        np.testing.assert_allclose(rows, [1, 0.8, 1 - 0.1 - 0.15, 1], rtol=1e-6)
