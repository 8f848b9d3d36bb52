"""Adaptive and regularized optimizers, decays, global step and moving averages, in both engines.

The expected values are numpy's, from the formulas, and some that TensorFlow publishes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
STEPS = 5
Array = np.ndarray
Slots = dict[str, Array]
#: (value, gradient, slots, number of the step from 1): the new value and the new slots
Rule = Callable[[Array, Array, Slots, int], tuple[Array, Slots]]


@pytest.fixture(autouse=True)
def new_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


# ---- the formulas ----


def shrink(x: Array, by: Any) -> Array:
    return np.where(x > by, x - by, np.where(x < -by, x + by, 0.0))


def rmsprop(v: Array, g: Array, s: Slots, t: int) -> tuple[Array, Slots]:
    r = 0.8 * s["rms"] + 0.2 * g**2
    m = 0.5 * s["momentum"] + 0.1 * g / np.sqrt(r + 1e-3)
    return v - m, {"rms": r, "momentum": m}


def rmsprop_centered(v: Array, g: Array, s: Slots, t: int) -> tuple[Array, Slots]:
    r, c = 0.9 * s["rms"] + 0.1 * g**2, 0.9 * s["mg"] + 0.1 * g
    m = 0.1 * g / np.sqrt(r - c**2 + 1e-10)
    return v - m, {"rms": r, "mg": c, "momentum": m}


def adagrad(v: Array, g: Array, s: Slots, t: int) -> tuple[Array, Slots]:
    a = s["accumulator"] + g**2
    return v - 0.3 * g / np.sqrt(a), {"accumulator": a}


def adadelta(v: Array, g: Array, s: Slots, t: int) -> tuple[Array, Slots]:
    a = 0.9 * s["accum"] + 0.1 * g**2
    d = np.sqrt(s["accum_update"] + 1e-6) / np.sqrt(a + 1e-6) * g
    return v - 2.0 * d, {"accum": a, "accum_update": 0.9 * s["accum_update"] + 0.1 * d**2}


def adagrad_da(v: Array, g: Array, s: Slots, t: int) -> tuple[Array, Slots]:
    total = s["gradient_accumulator"] + g
    squares = s["gradient_squared_accumulator"] + g**2
    v = -0.3 * shrink(total, 0.2 * t) / (0.1 * t * 0.3 + np.sqrt(squares))
    return v, {"gradient_accumulator": total, "gradient_squared_accumulator": squares}


def proximal_descent(v: Array, g: Array, s: Slots, t: int) -> tuple[Array, Slots]:
    return shrink(v - 0.1 * g, 0.1 * 0.5) / (1 + 0.1 * 0.3), {}


def proximal_adagrad(v: Array, g: Array, s: Slots, t: int) -> tuple[Array, Slots]:
    a = s["accumulator"] + g**2
    r = 0.3 / np.sqrt(a)
    return shrink(v - r * g, r * 0.2) / (1 + r * 0.4), {"accumulator": a}


def ftrl(power: float, l1: float, l2: float, shrinkage: float) -> Rule:
    def rule(v: Array, g: Array, s: Slots, t: int) -> tuple[Array, Slots]:
        a = s["accum"] + g**2
        sigma = (a**-power - s["accum"] ** -power) / 0.5
        z = s["linear"] + g + 2 * shrinkage * v - sigma * v
        return -shrink(z, l1) / (a**-power / 0.5 + 2 * l2), {"accum": a, "linear": z}

    return rule


def step_variable() -> tf.Variable:
    return tf.train.get_or_create_global_step()


#: optimizer of a learning rate, that rate, the rule, and the slots' first values
CASES: dict[str, tuple[Callable[[Any], tf.train.Optimizer], float, Rule, dict[str, float]]] = {
    "rmsprop": (
        lambda rate: tf.train.RMSPropOptimizer(rate, decay=0.8, momentum=0.5, epsilon=1e-3),
        0.1,
        rmsprop,
        {"rms": 1.0, "momentum": 0.0},
    ),
    "rmsprop, centered": (
        lambda rate: tf.train.RMSPropOptimizer(rate, centered=True),
        0.1,
        rmsprop_centered,
        {"rms": 1.0, "mg": 0.0, "momentum": 0.0},
    ),
    "adagrad": (
        lambda rate: tf.train.AdagradOptimizer(rate, initial_accumulator_value=0.2),
        0.3,
        adagrad,
        {"accumulator": 0.2},
    ),
    "adadelta": (
        lambda rate: tf.train.AdadeltaOptimizer(rate, rho=0.9, epsilon=1e-6),
        2.0,
        adadelta,
        {"accum": 0.0, "accum_update": 0.0},
    ),
    "adagrad da": (
        lambda rate: tf.train.AdagradDAOptimizer(
            rate,
            step_variable(),
            l1_regularization_strength=0.2,
            l2_regularization_strength=0.1,
        ),
        0.3,
        adagrad_da,
        {"gradient_accumulator": 0.0, "gradient_squared_accumulator": 0.1},
    ),
    "proximal gradient descent": (
        lambda rate: tf.train.ProximalGradientDescentOptimizer(rate, 0.5, 0.3),
        0.1,
        proximal_descent,
        {},
    ),
    "proximal adagrad": (
        lambda rate: tf.train.ProximalAdagradOptimizer(rate, 0.1, 0.2, 0.4),
        0.3,
        proximal_adagrad,
        {"accumulator": 0.1},
    ),
    "ftrl": (
        lambda rate: tf.train.FtrlOptimizer(rate),
        0.5,
        ftrl(-0.5, 0, 0, 0),
        {"accum": 0.1, "linear": 0.0},
    ),
    "ftrl, regularized": (
        lambda rate: tf.train.FtrlOptimizer(
            rate,
            initial_accumulator_value=0.0,
            l1_regularization_strength=0.7,
            l2_regularization_strength=0.2,
            l2_shrinkage_regularization_strength=0.05,
        ),
        0.5,
        ftrl(-0.5, 0.7, 0.2, 0.05),
        {"accum": 0.0, "linear": 0.0},
    ),
    "ftrl, another power": (
        lambda rate: tf.train.FtrlOptimizer(rate, -0.8, l1_regularization_strength=0.1),
        0.5,
        ftrl(-0.8, 0.1, 0, 0),
        {"accum": 0.1, "linear": 0.0},
    ),
}
EACH = pytest.mark.parametrize("name", CASES)
TOLERANCE = {np.float32: {"rtol": 3e-5, "atol": 3e-6}, np.float64: {"rtol": 1e-10, "atol": 1e-12}}


@TARGETS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@EACH
def test_dense_steps_are_those_of_the_formula(name: str, dtype: Any, target: str) -> None:
    make, rate, rule, initial = CASES[name]
    start, goal = np.array([1.0, -2.0, 0.5, 0.01]), np.array([0.0, 1.0, 0.25, 0.0])
    v = tf.Variable(start.astype(dtype), name="v")
    optimizer = make(rate)
    loss = tf.reduce_sum((v - goal.astype(dtype)) ** 2)
    train = optimizer.minimize(loss, global_step=step_variable())
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        want, slots = start, {k: np.full(4, x) for k, x in initial.items()}
        for t in range(1, STEPS + 1):
            assert session.run(train) is None
            want, slots = rule(want, 2 * (want - goal), slots, t)
            np.testing.assert_allclose(session.run(v), want, **TOLERANCE[dtype])
            for key, value in slots.items():
                found = session.run(optimizer.get_slot(v, key))
                assert found.dtype == dtype
                np.testing.assert_allclose(found, value, **TOLERANCE[dtype])


@TARGETS
@EACH
def test_sparse_steps_change_their_rows_alone(name: str, target: str) -> None:
    make, rate, rule, initial = CASES[name]
    start = np.random.RandomState(0).randn(5, 2)
    table = tf.Variable(start, name="table")
    ids = tf.placeholder(tf.int32, [None])
    optimizer = make(rate)
    loss = tf.reduce_sum(tf.gather(table, ids) ** 2)
    train = optimizer.minimize(loss, global_step=step_variable())
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        want, slots = start.copy(), {k: np.full((5, 2), x) for k, x in initial.items()}
        for t, chosen in enumerate(([0, 3, 3], [3], [1, 0, 1, 1], [], [4, 4]), 1):
            session.run(train, {ids: chosen})
            counts = np.bincount(np.int64(chosen), minlength=5)[:, None]
            new, new_slots = rule(want, 2 * want * counts, slots, t)
            want = np.where(counts > 0, new, want)
            slots = {k: np.where(counts > 0, new_slots[k], slots[k]) for k in slots}
            np.testing.assert_allclose(session.run(table), want, rtol=1e-10, atol=1e-12)
            for key, value in slots.items():
                found = session.run(optimizer.get_slot(table, key))
                np.testing.assert_allclose(found, value, rtol=1e-10, atol=1e-12)


@TARGETS
@EACH
def test_a_checkpoint_resumes_to_the_same_bits(name: str, target: str, tmp_path: Path) -> None:
    make, rate, _, initial = CASES[name]
    v = tf.Variable([1.0, -2.0, 0.5], name="v")
    optimizer = make(rate)
    train = optimizer.minimize(tf.reduce_sum((v - 0.3) ** 2), global_step=step_variable())
    owned = [v, *optimizer.variables()]
    assert len(owned) == 1 + len(initial)
    saver = tf.train.Saver()
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(train)
        prefix = saver.save(session, tmp_path / "m")
        at_save = session.run(owned)
        for _ in range(2):
            session.run(train)
        expected = session.run(owned)
    with tf.Session(target) as session:
        saver.restore(session, prefix)
        assert [x.tobytes() for x in session.run(owned)] == [x.tobytes() for x in at_save]
        for _ in range(2):
            session.run(train)
        assert [x.tobytes() for x in session.run(owned)] == [x.tobytes() for x in expected]


@EACH
def test_a_rate_may_be_a_tensor_a_variable_or_a_callable(name: str) -> None:
    make, rate, _, _ = CASES[name]
    start = np.float32([1.0, -2.0])
    fed = tf.placeholder(tf.float64, [])
    given = [rate, fed, tf.Variable(rate, trainable=False), lambda: tf.constant(rate) * 1]
    values = [tf.Variable(start, name=f"v{i}") for i in range(len(given))]
    # One step each, at the same global step.
    trains = [make(g).minimize(tf.reduce_sum(v * v)) for g, v in zip(given, values, strict=False)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(trains, {fed: rate})
        first, *others = session.run(values)
        assert np.all(first != start)
        for other in others:
            np.testing.assert_allclose(other, first, rtol=1e-6)


@pytest.mark.parametrize("name", [n for n in CASES if "power" not in n])  # Pow may differ
def test_both_engines_give_the_same_bits(name: str) -> None:
    make, rate, _, _ = CASES[name]
    v = tf.Variable(np.random.RandomState(0).randn(1003).astype(np.float32))
    optimizer = make(rate)
    train = optimizer.minimize(tf.reduce_sum((v - 0.3) ** 2), global_step=step_variable())
    found = []
    for target in ("runtime", "cinfer"):
        with tf.Session(target) as session:
            session.run(tf.global_variables_initializer())
            for _ in range(STEPS):
                session.run(train)
            found.append([x.tobytes() for x in session.run([v, *optimizer.variables()])])
    assert found[0] == found[1]


#: Values that TensorFlow's own tests expect of the constant gradients below after so many steps.
PUBLISHED: dict[str, tuple[Callable[[], tf.train.Optimizer], int, list[list[float]]]] = {
    "ftrl": (
        lambda: tf.train.FtrlOptimizer(3.0),
        3,
        [[-2.55607247, -3.98729396], [-0.28232238, -0.56096673]],
    ),
    "ftrl, l1": (
        lambda: tf.train.FtrlOptimizer(3.0, l1_regularization_strength=0.001),
        10,
        [[-7.66718769, -10.91273689], [-0.93460727, -1.86147261]],
    ),
    "ftrl, l1 l2 shrinkage": (
        lambda: tf.train.FtrlOptimizer(
            3.0,
            l1_regularization_strength=0.001,
            l2_regularization_strength=2.0,
            l2_shrinkage_regularization_strength=0.1,
        ),
        10,
        [[-0.22578995, -0.44345796], [-0.14378493, -0.13229476]],
    ),
    "adagrad da": (
        lambda: tf.train.AdagradDAOptimizer(3.0, step_variable(), 0.1, 0.001, 2.0),
        1,
        [[-0.046907, -0.093659], [-0.004275, -0.009023]],
    ),
    "proximal gradient descent": (
        lambda: tf.train.ProximalGradientDescentOptimizer(3.0, 0.001, 2.0),
        10,
        [[-0.0495, -0.0995], [-0.0045, -0.0095]],
    ),
    "proximal adagrad": (
        lambda: tf.train.ProximalAdagradOptimizer(3.0, 0.1, 0.001, 0.0),
        10,
        [[-6.663634, -9.190331], [2.959304, 1.029232]],
    ),
}


@TARGETS
@pytest.mark.parametrize("name", PUBLISHED)
def test_the_values_that_tensorflow_publishes(name: str, target: str) -> None:
    make, steps, expected = PUBLISHED[name]
    pair = tf.Variable([1.0, 2.0]), tf.Variable([4.0, 3.0])
    gradients = tf.constant([0.1, 0.2]), tf.constant([0.01, 0.02])
    train = make().apply_gradients(zip(gradients, pair, strict=True), global_step=step_variable())
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            session.run(train)
        np.testing.assert_allclose(session.run(pair), expected, rtol=2e-4)


# ---- names, dtypes and refusals ----


def test_slots_and_training_operations_have_tensorflows_names() -> None:
    v = tf.Variable([1.0], name="v")
    expected = {
        "rmsprop, centered": ("RMSProp", ["v/RMSProp", "v/RMSProp_1", "v/RMSProp_2"]),
        "adagrad": ("Adagrad", ["v/Adagrad"]),
        "adadelta": ("Adadelta", ["v/Adadelta", "v/Adadelta_1"]),
        "adagrad da": ("AdagradDA", ["v/AdagradDA", "v/AdagradDA_1"]),
        "proximal gradient descent": ("ProximalGradientDescent", []),
        "proximal adagrad": ("ProximalAdagrad", ["v/ProximalAdagrad"]),
        "ftrl": ("Ftrl", ["v/Ftrl", "v/Ftrl_1"]),
    }
    for name, (train, names) in expected.items():
        make, rate, _, initial = CASES[name]
        optimizer = make(rate)
        assert optimizer.minimize(tf.reduce_sum(v * v)).name == train
        assert optimizer.get_slot_names() == sorted(initial)
        assert [optimizer.get_slot(v, s).op.name for s in initial] == names
        assert [x.op.name for x in optimizer.variables()] == sorted(names)
        assert not any(x.trainable for x in optimizer.variables())
    named = tf.train.FtrlOptimizer(0.1, accum_name="a", linear_name="z")
    named.minimize(tf.reduce_sum(v * v))
    assert [x.op.name for x in named.variables()] == ["v/a", "v/z"]


@TARGETS
@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
def test_half_variables_have_half_slots(dtype: tf.DType, target: str) -> None:
    v = tf.Variable(tf.constant([1.0, -2.0], dtype=dtype))
    optimizer = tf.train.RMSPropOptimizer(0.25, momentum=0.5, epsilon=0.25)
    train = optimizer.minimize(tf.reduce_sum(v * v))
    assert {x.dtype for x in optimizer.variables()} == {dtype}
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        g = np.float64([2.0, -4.0])
        want = [1.0, -2.0] - 0.25 * g / np.sqrt(0.9 + 0.1 * g**2 + 0.25)
        np.testing.assert_allclose(np.float64(session.run(v)), want, rtol=0.02)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tf.train.AdagradOptimizer(0.1, 0.0), "initial_accumulator_value must be positive"),
        (lambda: tf.train.ProximalAdagradOptimizer(0.1, -1.0), "must be positive: -1.0"),
        (lambda: tf.train.AdagradDAOptimizer(0.1, 0, 0.0), "squared_accumulator_value must be"),
        (lambda: tf.train.FtrlOptimizer(0.1, 0.5), "learning_rate_power 0.5 needs to be negative"),
        (lambda: tf.train.FtrlOptimizer(0.1, initial_accumulator_value=-1), "positive or zero"),
        (lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=-1), "l1_regularization"),
        (lambda: tf.train.FtrlOptimizer(0.1, l2_regularization_strength=-1), "l2_regularization"),
        (
            lambda: tf.train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=math.nan),
            "l2_shrinkage_regularization_strength nan needs",
        ),
        (lambda: tf.train.RMSPropOptimizer(0.1, name=""), "a name"),
    ],
)
def test_hyperparameters_on_the_wrong_side_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_loss_of_integers_is_refused() -> None:
    v = tf.Variable([1.0])
    with pytest.raises(ValueError, match=r"Invalid type int32 for .*expected: float16"):
        tf.train.AdagradOptimizer(0.1).minimize(tf.cast(tf.reduce_sum(v), tf.int32))


def test_a_constraint_holds_after_each_step_and_refuses_slices() -> None:
    v = tf.Variable([1.0, 0.3], constraint=lambda x: tf.maximum(x, 0.5))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(v))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        np.testing.assert_allclose(session.run(v), [0.9, 0.5])
    with pytest.raises(RuntimeError, match="constraint function on a sparse variable"):
        tf.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(tf.gather(v, [0])))


# ---- the global step ----


def test_the_global_step_is_one_integer_scalar() -> None:
    assert tf.train.get_global_step() is None
    with tf.name_scope("inner"):
        step = tf.train.get_or_create_global_step()
    assert (step.name, step.dtype, step.trainable) == ("global_step:0", tf.int64, False)
    assert step in tf.global_variables()
    assert tf.get_collection(tf.GraphKeys.GLOBAL_STEP) == [step]
    assert tf.train.get_or_create_global_step() is step is tf.train.get_global_step()
    with pytest.raises(ValueError, match="already exists"):
        tf.train.create_global_step()
    other = tf.Graph()
    assert tf.train.get_global_step(other) is None
    assert tf.train.create_global_step(other).graph is other
    with tf.Session() as session:
        session.run(step.initializer)
        session.run(step.assign_add(3))
        assert tf.train.global_step(session, step) == 3


def test_a_variable_named_global_step_is_found() -> None:
    step = tf.Variable(0, name="global_step", trainable=False)
    assert tf.train.get_global_step() is step
    tf.add_to_collection(tf.GraphKeys.GLOBAL_STEP, step)
    tf.add_to_collection(tf.GraphKeys.GLOBAL_STEP, tf.Variable(0))
    assert tf.train.get_global_step() is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: 3, "must be a Variable or Tensor"),
        (lambda: tf.Variable(1.0), "does not have integer type: float32"),
        (lambda: tf.Variable([1, 2]), "is not scalar"),
    ],
)
def test_what_cannot_count_steps_is_refused(make: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        tf.train.assert_global_step(make())


# ---- decays ----


def polynomial(s: float, cycle: bool) -> float:
    n = 10 * max(1, math.ceil(s / 10)) if cycle else 10
    return (0.5 - 0.01) * (1 - min(s, n) / n) ** 2 + 0.01


def restarts(s: float, t_mul: float) -> float:
    length, peak = 10.0, 1.0
    while s >= length:
        s, length, peak = s - length, length * t_mul, peak * 0.5
    return 0.5 * (0.9 * peak * 0.5 * (1 + math.cos(math.pi * s / length)) + 0.1)


def linear_cosine(s: float) -> float:
    t = min(s, 10) / 10
    return 0.5 * ((0.1 + 1 - t) * 0.5 * (1 + math.cos(2 * math.pi * 2 * t)) + 0.01)


DECAYS: dict[str, tuple[Callable[[Any], Any], Callable[[float], float]]] = {
    "exponential": (
        lambda s: tf.train.exponential_decay(0.5, s, 10, 0.8),
        lambda s: 0.5 * 0.8 ** (s / 10),
    ),
    "exponential, stairs": (
        lambda s: tf.train.exponential_decay(0.5, s, 10, 0.8, staircase=True),
        lambda s: 0.5 * 0.8 ** (s // 10),
    ),
    "natural exponential": (
        lambda s: tf.train.natural_exp_decay(0.5, s, 10, 0.8),
        lambda s: 0.5 * math.exp(-0.8 * s / 10),
    ),
    "natural exponential, stairs": (
        lambda s: tf.train.natural_exp_decay(0.5, s, 10, 0.8, staircase=True),
        lambda s: 0.5 * math.exp(-0.8 * (s // 10)),
    ),
    "inverse time": (
        lambda s: tf.train.inverse_time_decay(0.5, s, 10, 0.8),
        lambda s: 0.5 / (1 + 0.8 * s / 10),
    ),
    "inverse time, stairs": (
        lambda s: tf.train.inverse_time_decay(0.5, s, 10, 0.8, staircase=True),
        lambda s: 0.5 / (1 + 0.8 * (s // 10)),
    ),
    "polynomial": (
        lambda s: tf.train.polynomial_decay(0.5, s, 10, 0.01, power=2),
        lambda s: polynomial(s, False),
    ),
    "polynomial, cycles": (
        lambda s: tf.train.polynomial_decay(0.5, s, 10, 0.01, power=2, cycle=True),
        lambda s: polynomial(s, True),
    ),
    "piecewise": (
        lambda s: tf.train.piecewise_constant(s, [3, 10], [1.0, 0.5, 0.25]),
        lambda s: 1.0 if s <= 3 else 0.5 if s <= 10 else 0.25,
    ),
    "cosine": (
        lambda s: tf.train.cosine_decay(0.5, s, 10, alpha=0.1),
        lambda s: 0.5 * (0.9 * 0.5 * (1 + math.cos(math.pi * min(s, 10) / 10)) + 0.1),
    ),
    "cosine restarts": (
        lambda s: tf.train.cosine_decay_restarts(0.5, s, 10, m_mul=0.5, alpha=0.1),
        lambda s: restarts(s, 2.0),
    ),
    "cosine restarts, even": (
        lambda s: tf.train.cosine_decay_restarts(0.5, s, 10, 1.0, 0.5, 0.1),
        lambda s: restarts(s, 1.0),
    ),
    "cosine restarts, tensors": (
        lambda s: tf.train.cosine_decay_restarts(0.5, s, 10, tf.constant(2.0), 0.5, 0.1),
        lambda s: restarts(s, 2.0),
    ),
    "cosine restarts, even tensors": (
        lambda s: tf.train.cosine_decay_restarts(0.5, s, 10, tf.constant(1.0), 0.5, 0.1),
        lambda s: restarts(s, 1.0),
    ),
    "linear cosine": (
        lambda s: tf.train.linear_cosine_decay(0.5, s, 10, 2, alpha=0.1, beta=0.01),
        linear_cosine,
    ),
}


@TARGETS
def test_decays_are_their_formulas(target: str) -> None:
    step = tf.placeholder(tf.int64, [])
    made = {name: build(step) for name, (build, _) in DECAYS.items()}
    assert all(x.shape.as_list() == [] and x.dtype == tf.float32 for x in made.values())
    with tf.Session(target) as session:
        for s in (0, 1, 3, 4, 9, 11, 15, 25, 44):
            found = session.run(made, {step: s})
            for name, (_, formula) in DECAYS.items():
                assert found[name] == pytest.approx(formula(s), rel=2e-5, abs=2e-6), (name, s)


@TARGETS
def test_the_noise_of_the_noisy_decay_has_the_variance_of_the_step(target: str) -> None:
    step = tf.placeholder(tf.int64, [])
    tf.set_random_seed(1)
    noisy = tf.train.noisy_linear_cosine_decay(0.5, step, 10, 0.25, 2.0, 2, alpha=0.1, beta=0.01)
    even = tf.train.noisy_linear_cosine_decay(0.5, step, 10, 0.0, 2.0, 2, alpha=0.1, beta=0.01)
    with tf.Session(target) as session:
        for s in (0, 3, 15):
            assert session.run(even, {step: s}) == pytest.approx(linear_cosine(s), rel=2e-5)
            drawn = np.array([session.run(noisy, {step: s}) for _ in range(800)], np.float64)
            wave = (1 + np.cos(4 * np.pi * min(s, 10) / 10)) / 2
            noise = (drawn - linear_cosine(s)) / (0.5 * wave)
            deviation = 0.5 / (1 + min(s, 10))
            assert abs(noise.mean()) < 4 * deviation / np.sqrt(800)
            assert noise.std() == pytest.approx(deviation, rel=0.1)


def test_a_decay_follows_a_step_variable_and_has_the_rates_dtype() -> None:
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(tf.constant(0.5, tf.float64), step, 2, 0.5)
    assert (rate.op.name, rate.dtype) == ("ExponentialDecay", tf.float64)
    v = tf.Variable(1.0)
    minimize = tf.train.GradientDescentOptimizer(rate).minimize(v * v, global_step=step)
    want = 1.0
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for s in range(4):
            session.run(minimize)
            want -= 0.5 * 0.5 ** (s / 2) * 2 * want
        assert session.run(v) == pytest.approx(want, rel=1e-5)


def test_wrong_decays_are_refused() -> None:
    for name in ("exponential_decay", "natural_exp_decay", "inverse_time_decay"):
        with pytest.raises(ValueError, match=f"global_step is required for {name}"):
            getattr(tf.train, name)(0.1, None, 10, 0.5)
    for name in (
        "polynomial_decay", "cosine_decay", "cosine_decay_restarts", "linear_cosine_decay",
        "noisy_linear_cosine_decay",
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"global_step is required for {name}"):
            getattr(tf.train, name)(0.1, None, 10)
    x = tf.Variable(0, dtype=tf.int64)
    with pytest.raises(ValueError, match="length of boundaries should be 1 less"):
        tf.train.piecewise_constant(x, [1, 2], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"Boundaries \(float32\) must have the same dtype as x"):
        tf.train.piecewise_constant(x, [1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="Values must have elements all with the same dtype"):
        tf.train.piecewise_constant(x, [1], [1.0, 2])


# ---- moving averages ----


@TARGETS
def test_averages_of_variables_start_at_their_first_values(target: str) -> None:
    v = tf.Variable([10.0, -1.0], name="v")
    w = tf.Variable(2.0, name="w", trainable=False)
    ema = tf.train.ExponentialMovingAverage(0.75)
    change = v.assign_add([1.0, 2.0])
    with tf.control_dependencies([change]):
        update = ema.apply()
    assert update.name == "ExponentialMovingAverage"
    assert ema.average(w) is None
    average = ema.average(v)
    assert (average.op.name, average.trainable) == ("v/ExponentialMovingAverage", False)
    assert tf.moving_average_variables() == [v]
    assert average in tf.global_variables()
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        want = value = np.float64([10.0, -1.0])
        for _ in range(4):
            session.run(update)
            value = value + [1.0, 2.0]
            want = 0.75 * want + 0.25 * value
            np.testing.assert_allclose(session.run(average), want, rtol=1e-6)


@TARGETS
@pytest.mark.parametrize("debias", [False, True])
def test_averages_of_tensors_start_at_zero(debias: bool, target: str) -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    twice = tf.multiply(x, 2.0, name="twice")
    ema = tf.train.ExponentialMovingAverage(0.9, zero_debias=debias, name="avg")
    update = ema.apply([twice])
    names = {v.op.name for v in tf.global_variables()}
    extra = {"twice/avg/biased", "twice/avg/local_step"} if debias else set()
    assert names == {"twice/avg"} | extra
    assert tf.moving_average_variables() == []
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        total = np.zeros(2)
        for t in range(1, 5):
            value = np.float64([t, -t])
            session.run(update, {x: value})
            total = 0.9 * total + 0.1 * 2 * value
            want = total / (1 - 0.9**t) if debias else total
            np.testing.assert_allclose(session.run(ema.average(twice)), want, rtol=1e-5)


@TARGETS
def test_averages_may_be_made_in_a_branch(target: str) -> None:
    x = tf.placeholder(tf.float32, [2])
    training = tf.placeholder(tf.bool, [])
    ema = tf.train.ExponentialMovingAverage(0.5)
    with tf.variable_scope("bn"):
        mean = tf.identity(x, name="mean")

        def updated() -> tf.Tensor:
            with tf.control_dependencies([ema.apply([mean])]):
                return tf.identity(mean)

        used = tf.cond(training, updated, lambda: ema.average(mean))
    assert [v.op.name for v in tf.global_variables()] == ["bn/bn/mean/ExponentialMovingAverage"]
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        for fed, flag, want in [
            (4.0, True, 4.0),
            (9.0, False, 2.0),
            (4.0, True, 4.0),
            (9.0, False, 3.0),
        ]:
            assert session.run(used, {x: [fed, fed], training: flag}).tolist() == [want, want]


@TARGETS
def test_num_updates_lowers_the_decay_at_first(target: str) -> None:
    v = tf.Variable(0.0, name="v", dtype=tf.float64)
    step = tf.train.get_or_create_global_step()
    ema = tf.train.ExponentialMovingAverage(0.3, num_updates=step)
    with tf.control_dependencies([v.assign_add(1.0)]):
        update = ema.apply([v])
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        want = 0.0
        for s in (0, 1, 2, 100):
            session.run(step.assign(s))
            session.run(update)
            decay = min(0.3, (1 + s) / (10 + s))
            want = decay * want + (1 - decay) * session.run(v)
            assert session.run(ema.average(v)) == pytest.approx(want, rel=1e-6)


def test_averages_are_restored_into_their_variables(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable([4.0], name="v")
        tf.Variable(7.0, name="other", trainable=False)
        ema = tf.train.ExponentialMovingAverage(0.5)
        update = ema.apply()
        session.run(tf.global_variables_initializer())
        session.run(v.assign([0.0]))
        session.run(update)
        prefix = tf.train.Saver().save(session, tmp_path / "m")
    v = tf.Variable([0.0], name="v")
    other = tf.Variable(0.0, name="other", trainable=False)
    ema = tf.train.ExponentialMovingAverage(0.5)
    assert ema.average_name(v) == "v/ExponentialMovingAverage"
    names = ema.variables_to_restore()
    assert names == {"v/ExponentialMovingAverage": v, "other": other}
    with tf.Session() as session:
        tf.train.Saver(names).restore(session, prefix)
        assert session.run([v, other]) == [[2.0], 7.0]


def test_an_average_of_integers_or_of_an_unknown_shape_is_refused() -> None:
    ema = tf.train.ExponentialMovingAverage(0.9)
    with pytest.raises(TypeError, match="must be half, float, or double"):
        ema.apply([tf.Variable(1)])
    with pytest.raises(ValueError, match="needs its full shape"):
        ema.apply([tf.placeholder(tf.float32, [None])])


@pytest.mark.parametrize("target", ["runtime", "cinfer"])
def test_a_loss_may_be_a_function_and_a_variable_of_unknown_shape(target: str) -> None:
    def training() -> tuple[list[tf.Variable], tf.Operation]:
        fixed = tf.Variable([1.0, 2.0])
        free = tf.Variable(tf.placeholder_with_default([1.0, 2.0], [None]), validate_shape=False)
        step = tf.train.AdagradOptimizer(0.5).minimize(
            lambda: tf.reduce_sum(tf.square(fixed)) + tf.reduce_sum(tf.square(free))
        )
        return [fixed, free], step

    with tf.Graph().as_default(), tf.Session(target) as session:
        variables, step = training()
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(step)
        fixed, free = session.run(variables)
    assert (fixed == free).all() and (fixed < [1, 2]).all()
