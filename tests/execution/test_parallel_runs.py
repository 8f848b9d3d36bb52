"""Operations at the same time: the results of the sequential order, more than one at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

import graphio as tf
from graphio.ops.base.host import host_call, host_call_to

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g


def session(threads: int = 4, target: str = "runtime") -> tf.Session:
    """Of the Python runtime; the C library calls host functions at the same time, no more."""
    return tf.Session(target, config=tf.ConfigProto(inter_op_parallelism_threads=threads))


def call(function, *inputs) -> tf.Tensor:
    return tf.py_func(function, list(inputs), tf.float32)


# ---- together ----


@TARGETS
def test_independent_operations_meet(target: str) -> None:
    barrier = threading.Barrier(4, timeout=20)

    def meet() -> np.float32:
        barrier.wait()
        return np.float32(1.0)

    x = tf.placeholder(tf.float32, [])
    parts = [tf.py_func(lambda v: meet() * v, [x], tf.float32) for _ in range(4)]
    total = tf.add_n(parts)
    with session(4, target) as s:
        assert s.run(total, {x: 1.0}) == 4.0
        assert s.run(total, {x: 2.0}) == 8.0


@TARGETS
def test_there_are_no_more_at_a_time_than_requested(target: str) -> None:
    lock, now, most = threading.Lock(), [0], [0]

    def work() -> np.float32:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.01)
        with lock:
            now[0] -= 1
        return np.float32(0.0)

    total = tf.add_n([call(work) for _ in range(8)])
    for threads, expected in ((0, {1}), (1, {1}), (3, {2, 3})):
        most[0] = 0
        with session(threads, target) as s:
            s.run(total)
        assert most[0] in expected, threads


@TARGETS
def test_what_depends_on_another_waits_for_it(target: str) -> None:
    order: list[str] = []

    def step(label: str):
        def run(*_: np.ndarray) -> np.float32:
            time.sleep(0.002)
            order.append(label)
            return np.float32(0.0)

        return run

    a = call(step("a"))
    b = call(step("b"), a)
    with tf.control_dependencies([b]):
        c = call(step("c"))
    with tf.control_dependencies([tf.identity(c)]):
        d = call(step("d"))
    with session(4, target) as s:
        s.run([d, a, b])
    assert order == ["a", "b", "c", "d"]


# ---- the sequential results ----


@TARGETS
def test_calls_of_one_function_keep_their_order(target: str) -> None:
    steps = tf.data.Dataset.range(90).make_one_shot_iterator()
    elements = [steps.get_next() for _ in range(3)]
    with session(4, target) as s:
        for i in range(0, 90, 3):
            assert s.run(elements) == [i, i + 1, i + 2]


@TARGETS
def test_an_iterator_begins_before_its_next_element_is_taken(target: str) -> None:
    def slow() -> np.int64:
        time.sleep(0.05)
        return np.int64(7)

    data = tf.data.Dataset.from_tensors(tf.py_func(slow, [], tf.int64)).repeat()
    steps = data.make_initializable_iterator()
    element = steps.get_next()
    with session(4, target) as s:
        assert s.run([steps.initializer, element]) == [None, 7]


def test_reads_and_assignments_keep_their_order() -> None:
    v = tf.Variable(np.zeros(1000, np.float32))
    fetches: list[tf.Tensor] = []
    for i in range(12):
        fetches.append(v.read_value() + 1.0)
        fetches.append(tf.assign(v, tf.fill([1000], float(i))))
        fetches.append(tf.assign_add(v, v.read_value() * 0.5))
    results = []
    for threads in (1, 4):
        with session(threads) as s:
            s.run(v.initializer)
            results.append([s.run(fetches) for _ in range(5)])
    for one, other in zip(*results, strict=True):
        for x, y in zip(one, other, strict=True):
            np.testing.assert_array_equal(x, y)


def test_training_has_the_same_bits() -> None:
    rng = np.random.RandomState(0)
    x = tf.placeholder(tf.float32, [None, 8])
    hidden = tf.nn.relu(tf.layers.dense(x, 16) if hasattr(tf.layers, "dense") else x)
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(hidden, 1) - 1.0))
    w = tf.Variable(tf.ones([8]))
    loss += tf.reduce_sum(tf.square(x * w))
    train = tf.train.AdamOptimizer(0.1).minimize(loss)
    tf.set_random_seed(1)
    feeds = [rng.randn(5, 8) for _ in range(6)]
    results = []
    for threads in (1, 4):
        with session(threads) as s:
            s.run(tf.global_variables_initializer())
            losses = [s.run([loss, train], {x: f})[0] for f in feeds]
            results.append((losses, s.run(w).tolist()))
    assert results[0][1] == results[1][1]


def test_generators_give_their_numbers_in_order() -> None:
    draws = [tf.random_uniform([3], seed=s) for s in (1, 2)]
    v = tf.Variable(tf.random_normal([2], seed=3))
    results = []
    for threads in (1, 4):
        with session(threads) as s:
            s.run(v.initializer)
            results.append(np.concatenate([np.concatenate(s.run([*draws, v])) for _ in range(4)]))
    np.testing.assert_array_equal(*results)


def test_loops_and_branches_run_inside_one_step() -> None:
    v = tf.Variable(0.0)
    x = tf.placeholder(tf.bool, [])
    branch = tf.cond(x, lambda: tf.assign_add(v, 1.0), lambda: tf.assign_add(v, 10.0))
    with tf.control_dependencies([branch]):
        after = v.read_value()
    loop = tf.while_loop(lambda i: i < 50.0, lambda i: i + 1.0, [0.0])
    with session() as s:
        s.run(v.initializer)
        assert s.run([branch, after, loop], {x: False}) == [10.0, 10.0, 50.0]
        assert s.run([loop, after], {x: True}) == [50.0, 11.0]


def test_values_are_the_callers_own() -> None:
    x = tf.placeholder(tf.float32, [100, 100])
    y = x * 2.0
    z, same = -y, tf.identity(y)
    with session() as s:
        first = s.run([y, z, same], {x: np.ones((100, 100))})
        first[0][:] = 7.0
        assert (first[1] == -2.0).all() and (first[2] == 2.0).all()
        assert (s.run(z, {x: np.ones((100, 100))}) == -2.0).all()


# ---- failures ----


@TARGETS
def test_the_first_failure_in_order_is_reported(target: str) -> None:
    late = threading.Event()

    def slow() -> np.float32:
        late.wait(5)
        raise ValueError("first")

    def fast() -> np.float32:
        late.set()
        raise ValueError("second")

    a, b = call(slow), call(fast)
    with session(4, target) as s:
        for _ in range(3):
            late.clear()
            with pytest.raises(tf.errors.InvalidArgumentError, match="first") as caught:
                s.run(a + b)
            assert caught.value.op is a.op
        assert s.run(tf.constant(1.0) + 1.0) == 2.0


def test_functions_on_other_threads_may_not_run_cinfers_session_either() -> None:
    x = tf.constant(3.0) * 2.0
    with session(4, "cinfer") as s:
        inner = [call(lambda: s.run(x)) for _ in range(3)]
        with pytest.raises(tf.errors.OpError):
            s.run(tf.add_n(inner))
        assert s.run(x) == 6.0


def test_a_function_may_run_its_session() -> None:
    x = tf.constant(3.0) * 2.0
    with session() as s:
        inner = [call(lambda: s.run(x)) for _ in range(3)]
        assert s.run(tf.add_n(inner)) == 18.0


def test_threads_may_share_a_session() -> None:
    v = tf.Variable(0)
    add = tf.assign_add(v, 1)
    with session() as s:
        s.run(v.initializer)
        threads = [
            threading.Thread(target=lambda: [s.run(add) for _ in range(40)]) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert s.run(v) == 160


def test_a_deadline_ends_a_parallel_run() -> None:
    endless = tf.while_loop(lambda i: i >= 0, lambda i: (i + 1) % 1000, [0])
    with session() as s, pytest.raises(tf.errors.DeadlineExceededError):
        s.run([endless, tf.constant(1.0)], options=tf.RunOptions(timeout_in_ms=50))


def test_a_traced_run_names_its_threads() -> None:
    barrier = threading.Barrier(2, timeout=20)

    def meet() -> np.float32:
        barrier.wait()
        return np.float32(1.0)

    a, b = call(meet), call(meet)
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with session() as s:
        s.run([a, b], options=options, run_metadata=metadata)
    nodes = metadata.step_stats.dev_stats[0].node_stats
    assert len({n.thread_id for n in nodes if n.node_name.startswith("PyFunc")}) == 2


@TARGETS
def test_calls_of_one_function_take_turns(target: str) -> None:
    busy = threading.Lock()
    order: list[float] = []

    def work(inputs: list[np.ndarray]) -> list[np.ndarray]:
        assert busy.acquire(blocking=False), "two calls at once"
        time.sleep(0.005)
        order.append(float(inputs[0]))
        busy.release()
        return [inputs[0] + 1.0]

    x = tf.placeholder(tf.float32, [])
    kind = [(tf.float32, x.shape)]
    first = host_call(lambda _: work, [x], kind, function="work")
    name = first.attrs["function"]
    others = [host_call_to(name, [x * float(i)], kind).outputs[0] for i in (2, 3)]
    with session(4, target) as s:
        assert s.run([first.outputs[0], *others], {x: 1.0}) == [2.0, 3.0, 4.0]
    assert order == [1.0, 2.0, 3.0]
