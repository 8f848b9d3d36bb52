"""tf.contrib.opt's optimizers of local variables, stale gradients and several tasks, against
numpy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf

START = np.array([1.0, -2.0, 0.5])
GOAL = np.array([0.25, 1.0, -1.0])
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


def model(getter: Any) -> tuple[Any, Any]:
    """A variable under a custom getter, and a loss whose slope is v - GOAL."""
    with tf.variable_scope("", custom_getter=getter):
        v = tf.get_variable("v", initializer=START.astype(np.float32))
    return v, tf.reduce_sum(tf.square(v - GOAL.astype(np.float32))) / 2


def names(variables: Any) -> list[str]:
    return [v.op.name for v in variables]


def run(target: str, train: Any, hook: Any, fetches: Any, steps: int) -> list[Any]:
    """The values of fetches after each step."""
    with tf.train.MonitoredSession(
        tf.train.ChiefSessionCreator(master=target), hooks=[hook]
    ) as session:
        found = []
        for _ in range(steps):
            session.run(train)
            found.append(session.run(fetches))
        return found


@TARGETS
def test_averages_of_models_are_taken_at_intervals(target: str) -> None:
    getter = tf.contrib.opt.ModelAverageCustomGetter("/cpu:0")
    v, loss = model(getter)
    step = tf.train.get_or_create_global_step()
    inner = tf.train.GradientDescentOptimizer(0.5)
    optimizer = tf.contrib.opt.ModelAverageOptimizer(inner, 1, True, getter, interval_steps=3)
    train = optimizer.minimize(loss, global_step=step)
    assert names(tf.global_variables()) == ["global_center_variable/v", "global_step"]
    assert names(tf.local_variables()) == ["v", "local_step"]
    assert names(tf.trainable_variables()) == ["v"]
    assert v.device == "/device:CPU:0"
    center = tf.global_variables()[0]
    found = run(target, train, optimizer.make_session_run_hook(), [v, center, step], 7)
    expected, kept = START, START
    for number, (now, held, count) in enumerate(found, 1):
        expected = expected - 0.5 * (expected - GOAL)
        kept = expected if number % 3 == 0 else kept
        np.testing.assert_allclose(now, expected, rtol=1e-6)
        np.testing.assert_allclose(held, kept, rtol=1e-6)
        assert count == number // 3


def test_averages_do_not_wait_for_workers_that_cannot_exist() -> None:
    getter = tf.contrib.opt.ModelAverageCustomGetter("/job:worker")
    inner = tf.train.GradientDescentOptimizer(0.5)
    for workers, chief in ((2, True), (1, False)):
        with pytest.raises(ValueError, match="expected 1 and True"):
            tf.contrib.opt.ModelAverageOptimizer(inner, workers, chief, getter)
    with pytest.raises(ValueError, match="Global step is required"):
        v, loss = model(getter)
        tf.contrib.opt.ModelAverageOptimizer(inner, 1, True, getter).minimize(loss)


@TARGETS
@pytest.mark.parametrize("momentum", [False, True])
def test_elastic_averages_pull_variable_and_center_together(momentum: bool, target: str) -> None:
    getter = tf.contrib.opt.ElasticAverageCustomGetter("/cpu:0")
    v, loss = model(getter)
    step = tf.train.get_or_create_global_step()
    inner: Any = tf.train.GradientDescentOptimizer(0.5)
    if momentum:
        inner = tf.train.MomentumOptimizer(0.5, 0.5)
    optimizer = tf.contrib.opt.ElasticAverageOptimizer(
        inner, 2, getter, communication_period=2, moving_rate=0.25, rho=0.125
    )
    train = optimizer.minimize(loss, global_step=step)
    slots = ["v/Momentum"] if momentum else []
    assert names(tf.global_variables()) == ["global_center_variable/v", "global_step"]
    assert names(tf.local_variables()) == ["v", "local_center_variable/v", "local_step", *slots]
    fetches = [v, tf.global_variables()[0], tf.local_variables()[1], step]
    found = run(target, train, optimizer.make_session_run_hook(True, 0), fetches, 5)
    w, center, local, velocity = START, START, START, np.zeros(3)
    for number, values in enumerate(found, 1):
        velocity = (0.5 if momentum else 0) * velocity + (w - GOAL) + 0.125 * (w - local)
        w = w - 0.5 * velocity
        if number % 2 == 0:
            local = center
            change = 0.25 * (w - local)
            w, center = w - change, center + change
        for one, other in zip(values, (w, center, local, number // 2), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)


def test_the_rates_of_elastic_averages_come_from_period_workers_and_learning_rate() -> None:
    getter = tf.contrib.opt.ElasticAverageCustomGetter("")
    _, loss = model(getter)
    for inner in (tf.train.GradientDescentOptimizer(0.5), tf.train.MomentumOptimizer(0.5, 0.9)):
        with tf.variable_scope(inner.get_name()):
            made = tf.contrib.opt.ElasticAverageOptimizer(inner, 3, getter, 10)
        assert made._moving_rate == pytest.approx(0.9 / 10 / 3)
        assert made._rho == pytest.approx(0.9 / 10 / 3 / 0.5)
    with pytest.raises(ValueError, match="synchronous with num_worker 3"):
        tf.contrib.opt.ElasticAverageOptimizer(inner, 3, getter, synchronous=True)


@TARGETS
def test_the_swapping_saver_saves_centers_under_the_names_of_variables(
    tmp_path: Path, target: str
) -> None:
    getter = tf.contrib.opt.ElasticAverageCustomGetter("")
    inner = tf.train.GradientDescentOptimizer(0.5)
    optimizer = tf.contrib.opt.ElasticAverageOptimizer(inner, 1, getter, 1, 0.25, 0.0)
    with pytest.raises(RuntimeError, match="global_center_variable is empty"):
        optimizer.swapping_saver()
    _, loss = model(getter)
    train = optimizer.minimize(loss)
    saver = optimizer.swapping_saver()
    with tf.Session(target) as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        session.run(optimizer.get_init_op(0))
        session.run(train)
        path = saver.save(session, str(tmp_path / "m"))
    after = START - 0.5 * (START - GOAL)
    expected = START + 0.25 * (after - START)
    np.testing.assert_allclose(tf.train.load_variable(path, "v"), expected, rtol=1e-6)
    assert tf.train.list_variables(path) == [("v", [3])]


@TARGETS
def test_accumulated_gradients_are_normalized_and_applied_to_the_center(target: str) -> None:
    getter = tf.contrib.opt.AGNCustomGetter("/cpu:0")
    v, loss = model(getter)
    step = tf.train.get_or_create_global_step()
    inner = tf.train.MomentumOptimizer(0.5, 0.5)
    optimizer = tf.contrib.opt.AGNOptimizer(inner, 1, getter, communication_period=2)
    train = optimizer.minimize(loss, global_step=step)
    assert names(tf.global_variables()) == [
        "global_center_variable/v", "global_step", "global_center_variable/v/Momentum",
    ]  # fmt: skip
    assert names(tf.local_variables()) == ["v", "grad_variable/v", "local_step", "v/Momentum"]
    fetches = [v, tf.global_variables()[0], tf.local_variables()[1], step]
    found = run(target, train, optimizer.make_session_run_hook(True, 0), fetches, 5)
    w, center, total = START, START, np.zeros(3)
    velocity, other = np.zeros(3), np.zeros(3)
    for number, values in enumerate(found, 1):
        g = w - GOAL
        total, velocity = total + g, 0.5 * velocity + g
        w = w - 0.5 * velocity
        if number % 2 == 0:
            other = 0.5 * other + total / 2
            center = center - 0.5 * other
            w, total = center, np.zeros(3)
        for one, expected in zip(values, (w, center, total, number // 2), strict=True):
            np.testing.assert_allclose(one, expected, rtol=1e-6)


@pytest.mark.parametrize("kind", ["ModelAverage", "ElasticAverage", "AGN"])
def test_variables_of_another_getter_are_refused(kind: str) -> None:
    getter = getattr(tf.contrib.opt, f"{kind}CustomGetter")("")
    given: Any = (1, True, getter) if kind == "ModelAverage" else (1, getter)
    optimizer = getattr(tf.contrib.opt, f"{kind}Optimizer")(tf.train.AdamOptimizer(0.5), *given)
    _, loss = model(None)
    with pytest.raises(KeyError, match="'v' has no center: make it by get_variable under"):
        optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())


@pytest.mark.parametrize("kind", ["ModelAverage", "ElasticAverage", "AGN"])
def test_a_variable_that_is_used_again_has_one_center(kind: str) -> None:
    getter = getattr(tf.contrib.opt, f"{kind}CustomGetter")("")
    for _ in range(2):
        with tf.variable_scope("a", custom_getter=getter, reuse=tf.AUTO_REUSE):
            tf.get_variable("w", [2])
    assert names(tf.global_variables()) == ["global_center_variable/a/w"]


@TARGETS
def test_getters_share_variables_parts_and_leave_others_alone(target: str) -> None:
    getter = tf.contrib.opt.AGNCustomGetter("")
    split = tf.fixed_size_partitioner(2)
    with tf.variable_scope("a", custom_getter=getter):
        tf.get_variable("w", [4], partitioner=split, initializer=tf.ones_initializer())
        tf.get_variable("fixed", [2], trainable=False)
        one = tf.get_variable("b", [2])
    with tf.variable_scope("a", custom_getter=getter, reuse=True):
        assert tf.get_variable("b", [2]) is one
    assert names(tf.global_variables()) == [
        *(f"global_center_variable/a/w/part_{n}" for n in (0, 1)),
        "a/fixed", "global_center_variable/a/b",
    ]  # fmt: skip
    assert names(tf.trainable_variables()) == ["a/w/part_0", "a/w/part_1", "a/b"]


@TARGETS
@pytest.mark.parametrize("staleness", [0, 2])
def test_gradients_of_earlier_steps_are_dropped(staleness: int, target: str) -> None:
    step = tf.train.get_or_create_global_step()
    v = tf.get_variable("v", initializer=START.astype(np.float32))
    optimizer = tf.contrib.opt.DropStaleGradientOptimizer(
        tf.train.MomentumOptimizer(0.5, 0.9), staleness
    )
    pairs = optimizer.compute_gradients(tf.reduce_sum(v))
    others = tf.placeholder(tf.int64, [])
    with tf.control_dependencies([step.assign_add(others)]):  # as other workers do
        train = optimizer.apply_gradients(pairs, global_step=step)
    counter = tf.get_default_graph().get_tensor_by_name("stale_counter:0")
    summary = tf.summary.merge_all()
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        assert session.run(train, {others: 0}) == 0
        assert session.run(train, {others: 1}) == (staleness < 1)
        assert session.run(train, {others: 3}) == (staleness < 1) + 1
        applied, dropped, count = session.run([v, counter, step])
        text = tf.Summary.FromString(session.run(summary, {others: 0})).value[0]
    assert optimizer.get_slot(v, "momentum").op.name == "v/Momentum"
    assert dropped == 2 - (staleness == 2)
    # slopes are 1: momenta of 1, then 1.9
    rate = 0.5 if staleness == 0 else 0.5 + 0.95
    np.testing.assert_allclose(applied, START - rate, rtol=1e-6)
    assert count == 3 + 1 + (1 if staleness == 0 else 2)
    assert text.tag == "Gradient_staleness_percentage"


def test_stale_gradients_need_a_global_step() -> None:
    optimizer = tf.contrib.opt.DropStaleGradientOptimizer(tf.train.AdamOptimizer(), 0)
    with pytest.raises(TypeError, match="there is no global step"):
        optimizer.compute_gradients(tf.reduce_sum(tf.get_variable("u", [3])))
    with pytest.raises(ValueError, match="needs global_step, after compute_gradients"):
        optimizer.apply_gradients([(tf.ones([3]), tf.get_variable("v", [3]))])


@TARGETS
def test_delayed_gradients_are_compensated_by_the_way_since_the_shadow(target: str) -> None:
    v = tf.get_variable("v", initializer=START.astype(np.float32))
    optimizer = tf.contrib.opt.DelayCompensatedGradientDescentOptimizer(0.5, 2.0, num_workers=2)
    loss = tf.reduce_sum(tf.square(v - GOAL.astype(np.float32))) / 2
    trains = [optimizer.minimize(loss, worker_index=n) for n in (0, 1)]
    assert optimizer.get_slot_names() == ["shadow_0", "shadow_1"]
    w, shadows = START, [START, START]
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        for worker in (0, 1, 1, 0):
            session.run(trains[worker])
            g = w - GOAL
            w = w - 0.5 * (g + 2 * g * g * (w - shadows[worker]))
            shadows[worker] = w
            np.testing.assert_allclose(session.run(v), w, rtol=1e-5)
    with pytest.raises(ValueError, match=r"in the range \[0, 2\): 2"):
        optimizer.minimize(loss, worker_index=2)
    with pytest.raises(ValueError, match="num_workers must be positive: 0"):
        tf.contrib.opt.DelayCompensatedGradientDescentOptimizer(0.5, 2.0, 0)


@TARGETS
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", ["GradientDescent", "Momentum", "Adam"])
def test_gradients_of_zeros_leave_slots_alone(kind: str, sparse: bool, target: str) -> None:
    makers: dict[str, Any] = {
        "GradientDescent": lambda: tf.train.GradientDescentOptimizer(0.5),
        "Momentum": lambda: tf.train.MomentumOptimizer(0.5, 0.9),
        "Adam": lambda: tf.train.AdamOptimizer(0.5),
    }
    one, two = (tf.get_variable(n, initializer=START.astype(np.float32)) for n in ("one", "two"))
    slopes = [tf.placeholder(tf.float32, [3]) for _ in range(2)]
    given: list[Any] = [tf.IndexedSlices(s, tf.range(3)) for s in slopes] if sparse else slopes
    optimizer = tf.contrib.opt.MultitaskOptimizerWrapper(makers[kind]())
    train = optimizer.apply_gradients(list(zip(given, (one, two), strict=True)))
    slots = [optimizer.get_slot(one, name) for name in optimizer.get_slot_names()]
    zero, some = np.zeros(3), np.array([0.5, -1.0, 0.0])
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        session.run(train, dict(zip(slopes, (some, some), strict=True)))
        before = session.run([one, slots])
        session.run(train, dict(zip(slopes, (zero, some), strict=True)))
        after, other = session.run([one, slots]), session.run(two)
        session.run(train, dict(zip(slopes, (some, zero), strict=True)))
        last, same = session.run([one, two])
    np.testing.assert_array_equal(before[0], after[0])
    for a, b in zip(before[1], after[1], strict=True):
        np.testing.assert_array_equal(a, b)
    assert other[0] != before[0][0]
    np.testing.assert_array_equal(other, same)
    if kind != "Adam":  # whose powers of beta count all steps
        np.testing.assert_allclose(last, other, rtol=1e-6)
    assert last[0] != before[0][0]


def test_only_optimizers_are_wrapped_for_several_tasks() -> None:
    with pytest.raises(TypeError, match="must be an instance of tf.train.Optimizer"):
        tf.contrib.opt.MultitaskOptimizerWrapper("Adam")


@TARGETS
def test_gradients_of_several_tasks_are_clipped_together(target: str) -> None:
    v = [tf.get_variable(n, [2]) for n in "abc"]
    given = [
        (tf.constant([3.0, 0.0]), v[0]),
        (tf.zeros([2]), v[1]),
        (tf.constant([0.0, 4.0]), v[2]),
    ]
    pairs, norm = tf.contrib.opt.clip_gradients_by_global_norm([*given, (None, v[0])], 2.5)
    assert [variable for _, variable in pairs] == [*v, v[0]]
    assert pairs[3][0] is None
    with tf.Session(target) as session:
        found, length = session.run([[g for g, _ in pairs[:3]], norm])
    assert length == 5
    np.testing.assert_allclose(found, [[1.5, 0], [0, 0], [0, 2]], rtol=1e-6)
