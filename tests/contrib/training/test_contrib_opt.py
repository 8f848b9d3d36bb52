"""tf.contrib.opt against the same steps in numpy and float64."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf

START = np.array([[0.5, -0.25], [1.0, 0.75], [-0.5, 0.25]])
SLOPES = [
    np.array([[0.1, -0.2], [0.3, 0.05], [-0.1, 0.2]]),
    np.array([[-0.3, 0.1], [0.2, 0.15], [0.25, -0.05]]),
    np.array([[0.05, 0.3], [-0.4, 0.1], [0.1, 0.1]]),
]
ROWS = [[0, 2], [1, 2], [0, 1]]
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])

#: a step in numpy: from step number, variable, slots, gradient and the rows of it (None: all)
Step = Callable[[int, Any, dict[str, Any], Any, Any], Any]


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


def trained(optimizer: Any, sparse: bool, target: str, steps: int = 3) -> Any:
    """The variable after three steps with given gradients."""
    v = tf.get_variable("v", initializer=tf.constant(START, tf.float32))
    counter = tf.train.get_or_create_global_step()
    values = tf.placeholder(tf.float32, [None, 2])
    rows = tf.placeholder(tf.int64, [None])
    gradient = tf.IndexedSlices(values, rows) if sparse else values
    train = optimizer.apply_gradients([(gradient, v)], global_step=counter)
    with tf.Session(target) as sess:
        sess.run(tf.global_variables_initializer())
        for slope, chosen in zip(SLOPES[:steps], ROWS, strict=False):
            feeds = {values: slope[chosen], rows: chosen} if sparse else {values: slope}
            sess.run(train, feeds)
        return sess.run(v)


def expected(step: Step, sparse: bool, steps: int = 3) -> Any:
    v, slots = START.copy(), {}  # type: ignore[var-annotated]
    for t, (slope, chosen) in enumerate(zip(SLOPES[:steps], ROWS, strict=False), 1):
        dense = np.zeros_like(slope)
        dense[chosen] = slope[chosen]
        v = step(t, v, slots, dense if sparse else slope, chosen if sparse else None)
    return v


def moment(slots: dict[str, Any], name: str, value: Any, decay: float, rows: Any = None) -> Any:
    """An average of values, of some rows."""
    old = slots.get(name, np.zeros_like(value))
    new = decay * old + (1 - decay) * value
    if rows is not None:
        kept = old.copy()
        kept[rows] = new[rows]
        new = kept
    slots[name] = new
    return new


def only(rows: Any, change: Any) -> Any:
    """A change of some rows; None: of all."""
    if rows is None:
        return change
    found = np.zeros_like(change)
    found[rows] = change[rows]
    return found


def adam(lazy: bool = False, nesterov: bool = False, decay: float = 0.0) -> Step:
    def step(t: int, v: Any, slots: Any, g: Any, rows: Any) -> Any:
        v = v - only(rows, decay * v)
        touched = rows if lazy else None
        m = moment(slots, "m", g, 0.9, touched)
        s = moment(slots, "v", g * g, 0.999, touched)
        rate = 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        if nesterov:
            m, touched = 0.9 * m + 0.1 * g, rows
        return v - only(touched, rate * m / (np.sqrt(s) + 1e-8))

    return step


def adamax(t: int, v: Any, slots: Any, g: Any, rows: Any) -> Any:
    m = moment(slots, "m", g, 0.9, rows)
    old = slots.get("u", np.zeros_like(g))
    slots["u"] = old + only(rows, np.maximum(0.999 * old, np.abs(g)) - old)
    return v - only(rows, 0.1 / (1 - 0.9**t) * m / (slots["u"] + 1e-8))


def momentum_w(t: int, v: Any, slots: Any, g: Any, rows: Any) -> Any:
    v = v - only(rows, 0.05 * v)
    old = slots.get("a", np.zeros_like(g))
    slots["a"] = old + only(rows, 0.9 * old + g - old)
    return v - only(rows, 0.1 * slots["a"])


def add_sign(t: int, v: Any, slots: Any, g: Any, rows: Any) -> Any:
    m = moment(slots, "m", g, 0.9)
    return v - 0.1 * (0.5 + np.sign(g) * np.sign(m)) * g


def power_sign(t: int, v: Any, slots: Any, g: Any, rows: Any) -> Any:
    m = moment(slots, "m", g, 0.9)
    decay = max(0.0, 1 - (t - 1) / 2)  # by the steps before this one
    return v - 0.1 * 2.0 ** (decay * np.sign(g) * np.sign(m)) * g


def lars(nesterov: bool = False, skip: bool = False) -> Step:
    def step(t: int, v: Any, slots: Any, g: Any, rows: Any) -> Any:
        rate = 0.1
        if rows is None and not skip:
            one, two = np.linalg.norm(v), np.linalg.norm(g)
            rate *= 0.01 * one / (two + 0.02 * one + 0.1)
            g = g + 0.02 * v
        old = slots.get("a", np.zeros_like(g))
        slots["a"] = old + only(rows, 0.9 * old + rate * g - old)
        change = rate * g + 0.9 * slots["a"] if nesterov else slots["a"]
        return v - only(rows, change)

    return step


LARS = {"learning_rate": 0.1, "weight_decay": 0.02, "eeta": 0.01, "epsilon": 0.1}
CASES: dict[str, tuple[Callable[[Any], Any], Step]] = {
    "NadamOptimizer": (lambda opt: opt.NadamOptimizer(0.1), adam(nesterov=True)),
    "LazyAdamOptimizer": (lambda opt: opt.LazyAdamOptimizer(0.1), adam(lazy=True)),
    "AdaMaxOptimizer": (lambda opt: opt.AdaMaxOptimizer(0.1), adamax),
    "AdamWOptimizer": (lambda opt: opt.AdamWOptimizer(0.05, 0.1), adam(decay=0.05)),
    "MomentumWOptimizer": (lambda opt: opt.MomentumWOptimizer(0.05, 0.1, 0.9), momentum_w),
    "extend_with_decoupled_weight_decay": (
        lambda opt: opt.extend_with_decoupled_weight_decay(tf.train.MomentumOptimizer)(
            weight_decay=0.05, learning_rate=0.1, momentum=0.9
        ),
        momentum_w,
    ),
    "AddSignOptimizer": (lambda opt: opt.AddSignOptimizer(0.1, alpha=0.5), add_sign),
    "PowerSignOptimizer": (
        lambda opt: opt.PowerSignOptimizer(0.1, base=2.0, sign_decay_fn=opt.get_linear_decay_fn(2)),
        power_sign,
    ),
    "LARSOptimizer": (lambda opt: opt.LARSOptimizer(**LARS), lars()),
    "LARSOptimizer of Nesterov": (
        lambda opt: opt.LARSOptimizer(**LARS, use_nesterov=True),
        lars(nesterov=True),
    ),
    "LARSOptimizer that skips": (
        lambda opt: opt.LARSOptimizer(**LARS, skip_list=["v"]),
        lars(skip=True),
    ),
}


@TARGETS
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_an_optimizer_takes_the_steps_of_its_formula(name: str, sparse: bool, target: str) -> None:
    if name == "LARSOptimizer of Nesterov" and sparse:
        pytest.skip("momentum of Nesterov is checked on dense gradients")
    make, step = CASES[name]
    found = trained(make(tf.contrib.opt), sparse, target)
    np.testing.assert_allclose(found, expected(step, sparse), rtol=2e-5, atol=1e-6)


def test_slots_and_counts_have_the_names_of_tensorflow() -> None:
    opt = tf.contrib.opt
    trained(opt.AdaMaxOptimizer(0.1), False, "runtime", 1)
    names = [v.op.name for v in tf.global_variables()]
    assert names == ["v", "global_step", "beta1_power", "v/AdaMax", "v/AdaMax_1"]


def test_weights_that_are_not_listed_do_not_decay() -> None:
    one, two = (tf.get_variable(n, initializer=tf.ones([2])) for n in ("one", "two"))
    optimizer = tf.contrib.opt.MomentumWOptimizer(0.25, 0.0, 0.9)
    train = optimizer.minimize(tf.reduce_sum(one * two), decay_var_list=[two])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        assert sess.run([one, two])[0].tolist() == [1, 1]
        assert sess.run(two).tolist() == [0.75, 0.75]


@pytest.mark.parametrize(
    ("make", "formula"),
    [
        (lambda opt: opt.get_linear_decay_fn(4), lambda t: 1 - min(t, 4) / 4),
        (lambda opt: opt.get_cosine_decay_fn(4), lambda t: (1 + np.cos(np.pi * min(t, 4) / 4)) / 2),
        (
            lambda opt: opt.get_cosine_decay_fn(4, 2, zero_after=1.2),
            lambda t: (1 + np.cos(np.pi * 4 * min(t, 4) / 4)) / 2 if min(t, 4) < 2.4 else 0,
        ),
        (
            lambda opt: opt.get_restart_decay_fn(4, 2),
            lambda t: (1 + np.cos(np.pi * (2 * min(t, 4) % 4) / 4)) / 2,
        ),
    ],
)
def test_decays_of_signs_follow_their_formula(make: Any, formula: Any) -> None:
    step = tf.placeholder(tf.int64, [])
    found = make(tf.contrib.opt)(step)
    with tf.Session() as sess:
        values = [sess.run(found, {step: t}) for t in range(7)]
    np.testing.assert_allclose(values, [formula(t) for t in range(7)], atol=1e-6)
    with pytest.raises(ValueError, match="global_step is required"):
        make(tf.contrib.opt)(None)


@TARGETS
def test_averages_are_saved_under_the_names_of_variables(tmp_path: Path, target: str) -> None:
    v = tf.get_variable("v", initializer=tf.constant([1.0, 2.0]))
    other = tf.get_variable("other", initializer=tf.constant(5.0), trainable=False)
    inner = tf.train.GradientDescentOptimizer(0.5)
    optimizer = tf.contrib.opt.MovingAverageOptimizer(inner, average_decay=0.75)
    with pytest.raises(RuntimeError, match="before creating the swapping_saver"):
        optimizer.swapping_saver()
    train = optimizer.minimize(tf.reduce_sum(v))
    saver, plain = optimizer.swapping_saver(), tf.train.Saver()
    with tf.Session(target) as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        path = saver.save(sess, str(tmp_path / "m"))
        average = [1 * 0.75 + 0.5 * 0.25, 2 * 0.75 + 1.5 * 0.25]
        np.testing.assert_allclose(tf.train.load_variable(path, "v"), average)
        swapped = tf.train.load_variable(path, "v/ExponentialMovingAverage")
        np.testing.assert_allclose(swapped, [0.5, 1.5])
        assert tf.train.load_variable(path, "other") == 5
        plain.restore(sess, path)
        np.testing.assert_allclose(sess.run(v), average)
    assert other is not None


@TARGETS
@pytest.mark.parametrize("sparse", [False, True])
def test_norms_are_limited_after_a_step(sparse: bool, target: str) -> None:
    inner = tf.train.GradientDescentOptimizer(1.0)
    v = tf.get_variable("v", initializer=tf.constant(START, tf.float32))
    optimizer = tf.contrib.opt.VariableClippingOptimizer(inner, {v: [1]}, 0.9)
    slope = tf.constant(SLOPES[0], tf.float32)
    gradient = tf.IndexedSlices(slope, tf.constant([0, 1, 2])) if sparse else slope
    train = optimizer.apply_gradients([(gradient, v)])
    with tf.Session(target) as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        found = sess.run(v)
    after = START - SLOPES[0]
    norms = np.linalg.norm(after, axis=1, keepdims=True)
    np.testing.assert_allclose(found, after * np.minimum(1, 0.9 / norms), rtol=1e-5)


@TARGETS
def test_scipy_finds_the_minimum_within_bounds_and_constraints(target: str) -> None:
    pytest.importorskip("scipy")
    x = tf.get_variable("x", initializer=tf.constant([7.0, 7.0]))
    y = tf.get_variable("y", initializer=tf.constant(0.5))
    loss = tf.reduce_sum(tf.square(x)) + tf.square(y - 2.0)
    seen: list[Any] = []
    optimizer = tf.contrib.opt.ScipyOptimizerInterface(
        loss, equalities=[tf.reduce_sum(x) - 2.0], inequalities=[x[0] - 1.5],
        var_to_bounds={y: (-1.0, 1.0)}, method="SLSQP", options={"maxiter": 50},
    )  # fmt: skip
    with tf.Session(target) as sess:
        sess.run(tf.global_variables_initializer())
        optimizer.minimize(sess, fetches=[loss], loss_callback=seen.append)
        np.testing.assert_allclose(sess.run(x), [1.5, 0.5], atol=1e-4)
        np.testing.assert_allclose(sess.run(y), 1.0, atol=1e-5)
    assert seen[0] == pytest.approx(7.0**2 * 2 + 1.5**2)
    with pytest.raises(ValueError, match="var_to_bounds"), tf.Session(target) as sess:
        sess.run(tf.global_variables_initializer())
        tf.contrib.opt.ScipyOptimizerInterface(loss, bounds=[]).minimize(sess)
