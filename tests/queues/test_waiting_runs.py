"""Runs with operations of queues among others: their parts, branches, loops, and files."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g


@TARGETS
def test_one_run_takes_computes_and_adds(target: str) -> None:
    one, two = (tf.FIFOQueue(9, tf.float32, shapes=[(2,)]) for _ in range(2))
    x = one.dequeue()
    moved = two.enqueue(tf.square(x) + 1.0)
    with tf.control_dependencies([moved]):
        size = two.size()
    with tf.Session(target) as session:
        session.run(one.enqueue_many([[[1.0, 2.0], [3.0, 4.0]]]))
        assert session.run([size, moved]) == [1, None]
        assert session.run([size, x])[1].tolist() == [3.0, 4.0]
        assert session.run(two.dequeue_many(2)).tolist() == [[2.0, 5.0], [10.0, 17.0]]


@TARGETS
def test_an_element_that_one_run_adds_and_takes_passes_in_either_order(target: str) -> None:
    queue = tf.FIFOQueue(1, tf.int32)
    taken = queue.dequeue()
    added = queue.enqueue(5)
    with tf.Session(target) as session:
        assert session.run([taken, added]) == [5, None]


@TARGETS
def test_an_operation_with_an_effect_runs_once_in_all_parts(target: str) -> None:
    queue = tf.FIFOQueue(9, [tf.float32, tf.float32], shapes=[(), ()])
    count = tf.Variable(0.0)
    drawn = tf.random_uniform([])
    with tf.control_dependencies([count.assign_add(1.0)]):
        noted = tf.identity(drawn)
    add = queue.enqueue([noted, drawn])
    with tf.control_dependencies([add]):
        more = tf.group(count.assign_add(10.0))
    with tf.Session(target) as session:
        session.run(count.initializer)
        found, other, _ = session.run([drawn, noted, more])
        assert session.run(count) == 11.0 and found == other
        assert [float(v) for v in session.run(queue.dequeue())] == [float(found)] * 2
        assert session.run([count, more])[0] == 22.0  # a fetched variable: the value at the end


@TARGETS
def test_a_variable_that_is_added_and_assigned_is_fetched_at_the_end(target: str) -> None:
    queue, v = tf.FIFOQueue(9, tf.float32), tf.Variable(1.0)
    add, more = queue.enqueue(v), tf.assign_add(v, 5.0)
    double = v * 2.0
    with tf.Session(target) as session:
        session.run(v.initializer)
        assert session.run([v, add, more, double]) == [6.0, None, 6.0, 2.0]
        assert session.run(queue.dequeue()) == 1.0


@TARGETS
def test_branches_take_and_add(target: str) -> None:
    one, two = (tf.FIFOQueue(9, tf.float32, shapes=[()]) for _ in range(2))
    pred, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
    taken = tf.cond(pred, lambda: one.dequeue() * x, lambda: two.dequeue() - x)
    added = tf.cond(pred, lambda: one.enqueue(x * x), tf.no_op)
    nested = tf.cond(pred, lambda: tf.cond(x > 5.0, one.dequeue, two.dequeue), lambda: x)
    with tf.Session(target) as session:
        session.run([one.enqueue_many([[1.0, 2.0]]), two.enqueue_many([[10.0, 20.0]])])
        assert session.run(taken, {pred: True, x: 3.0}) == 3.0
        assert session.run(taken, {pred: False, x: 3.0}) == 7.0
        session.run(added, {pred: True, x: 7.0})
        session.run(added, {pred: False, x: 8.0})
        assert session.run([one.size(), two.size()]) == [2, 1]
        assert session.run(nested, {pred: True, x: 6.0}) == 2.0
        assert session.run(nested, {pred: True, x: 1.0}) == 20.0
        assert session.run(nested, {pred: False, x: 1.0}) == 1.0
        assert session.run(one.dequeue()) == 49.0


@TARGETS
def test_a_branch_waits_for_another_run(target: str) -> None:
    queue, pred = tf.FIFOQueue(9, tf.float32), tf.placeholder(tf.bool, [])
    taken = tf.cond(pred, lambda: queue.dequeue() + 1.0, lambda: 0.0)
    added = queue.enqueue(4.0)
    with tf.Session(target) as session:
        timer = threading.Timer(0.05, session.run, (added,))
        timer.start()
        assert session.run(taken, {pred: True}) == 5.0


@TARGETS
def test_a_loop_takes_what_is_there_and_cannot_wait(target: str) -> None:
    queue, n = tf.FIFOQueue(9, tf.int32, shapes=[()], name="looped"), tf.placeholder(tf.int32, [])
    _, total = tf.while_loop(
        lambda i, t: i < n, lambda i, t: (i + 1, t + queue.dequeue()), [0, 0]
    )  # fmt: skip
    with tf.Session(target) as session:
        session.run(queue.enqueue_many([[1, 2, 3]]))
        assert session.run(total, {n: 3}) == 6
        with pytest.raises(tf.errors.FailedPreconditionError, match="looped.*would have to wait"):
            session.run(total, {n: 1})


@TARGETS
def test_training_takes_what_threads_add_in_order(target: str) -> None:
    queue = tf.FIFOQueue(4, tf.float32, shapes=[()])
    source = tf.Variable(0.0, trainable=False)
    w = tf.Variable(1.0)
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(source.assign_add(1.0))]))
    x = queue.dequeue()
    step = tf.train.GradientDescentOptimizer(0.01).minimize(tf.square(w * x - 3.0), var_list=[w])
    expected = np.float32(1.0)
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        assert len(threads) == 2
        for i in range(1, 15):
            given, _ = session.run([x, step])
            assert given == i
            expected -= np.float32(0.01 * 2 * (expected * i - 3.0) * i)
        np.testing.assert_allclose(session.run(w), expected, rtol=1e-5)
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=10)


def test_a_runner_keeps_its_error_or_gives_it_to_the_coordinator() -> None:
    queue = tf.FIFOQueue(4, tf.float32)
    bad = queue.enqueue(tf.check_numerics(tf.constant(np.nan), "not a number"))
    runner = tf.train.QueueRunner(queue, [bad])
    with tf.Session() as session:
        coord = tf.train.Coordinator()
        threads = runner.create_threads(session, coord, start=True)
        with pytest.raises(tf.errors.InvalidArgumentError, match="not a number"):
            coord.join(threads)
        assert runner.exceptions_raised == []


def test_a_runner_closes_its_queue_when_the_data_ends_and_can_begin_again() -> None:
    queue = tf.FIFOQueue(100, tf.int64)
    ending = tf.Variable(0, dtype=tf.int64)
    runner = tf.train.QueueRunner(queue, [queue.enqueue(ending.count_up_to(5))])
    again = tf.train.QueueRunner.from_proto(runner.to_proto())
    assert [again.name, again.close_op, again.cancel_op] == [
        queue.name, runner.close_op, runner.cancel_op,
    ]  # fmt: skip
    with tf.Session() as session:
        session.run(ending.initializer)
        for thread in runner.create_threads(session, start=True):
            thread.join(10)
        assert session.run([queue.is_closed(), queue.size()]) == [True, 5]
        assert runner.create_threads(session) != []


@TARGETS
def test_a_monitored_session_starts_the_runners_and_ends_with_the_data(target: str) -> None:
    queue = tf.train.range_input_producer(7, num_epochs=1, shuffle=False)
    taken = queue.dequeue_up_to(3)
    creator = tf.train.ChiefSessionCreator(master=target)
    found: list[int] = []
    with tf.train.MonitoredSession(creator) as session:
        while not session.should_stop():
            found += session.run(taken).tolist()
    assert found == list(range(7))


@TARGETS
def test_metadata_and_callables_are_there_in_such_runs(target: str) -> None:
    queue, x = tf.FIFOQueue(9, tf.float32), tf.placeholder(tf.float32, [])
    y = queue.dequeue() * 2.0
    with tf.Session(target) as session:
        add = session.make_callable(queue.enqueue(x), [x])
        add(4.0)
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        assert session.run(y, options=options, run_metadata=metadata) == 8.0
        assert metadata.step_stats.dev_stats


@TARGETS
def test_a_value_of_a_queue_can_be_fed(target: str) -> None:
    taken = tf.FIFOQueue(9, [tf.float32, tf.float32], shapes=[(), ()]).dequeue()
    total = taken[0] + taken[1]
    with tf.Session(target) as session:
        assert session.run(total, {taken[0]: 1.0, taken[1]: 2.0}) == 3.0


def test_a_file_with_queues_runs_what_does_not_reach_them(tmp_path: Path) -> None:
    queue = tf.FIFOQueue(9, tf.float32, name="examples")
    v, x = tf.Variable(2.0), tf.placeholder(tf.float32, [], name="x")
    through = tf.multiply(queue.dequeue(), v, name="through")
    fed = tf.multiply(x, v, name="fed")
    with tf.Session() as session:
        session.run([v.initializer, queue.enqueue(1.0)])
        tf.train.Saver().save(session, str(tmp_path / "m"))
        tf.saved_model.simple_save(
            session, str(tmp_path / "s"), {"x": x}, {"fed": fed, "through": through}
        )
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(str(tmp_path / "m.meta"))
        saver.restore(session, str(tmp_path / "m"))
        assert session.run("fed:0", {"x:0": 3.0}) == 6.0
    with tf.Graph().as_default(), tf.Session() as session:
        tf.saved_model.load(session, ["serve"], str(tmp_path / "s"))
        assert session.run("fed:0", {"x:0": 3.0}) == 6.0
        with pytest.raises(tf.errors.FailedPreconditionError, match="'examples' is not bound"):
            session.run("through:0")


@TARGETS
@pytest.mark.parametrize("check", ["numerics", "assertion"])
def test_a_run_whose_check_fails_does_not_wait(target: str, check: str) -> None:
    queue = tf.FIFOQueue(2, tf.float32, [[]])
    taken, x, count = queue.dequeue(), tf.placeholder(tf.float32, []), tf.Variable(1.0)
    total = x * 2.0 + count
    if check == "numerics":
        checked: tf.Tensor | tf.Operation = tf.check_numerics(total, "the total")
    else:
        checked = tf.Assert(tf.is_finite(total), [total])
    with tf.Session(target) as session:
        session.run(count.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError):
            ending = tf.RunOptions(timeout_in_ms=30_000)
            session.run([taken, checked], {x: np.nan}, options=ending)
        session.run(queue.enqueue(3.0))  # the run that failed takes no element of it
        assert session.run([taken, checked], {x: 1.0})[0] == 3.0
        assert session.run(queue.size()) == 0


@TARGETS
def test_a_check_of_the_element_itself_waits_for_it(target: str) -> None:
    queue = tf.FIFOQueue(2, tf.float32, [[]])
    taken = queue.dequeue()
    checked = tf.check_numerics(taken, "the element")
    with tf.Session(target) as session:
        thread = threading.Timer(0.05, session.run, [queue.enqueue(np.nan)])
        thread.start()
        with pytest.raises(tf.errors.InvalidArgumentError, match="the element"):
            session.run([taken, checked])
        thread.join()


@TARGETS
def test_a_check_after_an_effect_is_made_once(target: str) -> None:
    queue, count = tf.FIFOQueue(2, tf.float32, [[]]), tf.Variable(0.0)
    taken = queue.dequeue()
    checked = tf.check_numerics(count.assign_add(1.0), "the count")
    with tf.Session(target) as session:
        session.run(count.initializer)
        thread = threading.Timer(0.05, session.run, [queue.enqueue(2.0)])
        thread.start()
        assert session.run([taken, checked]) == [2.0, 1.0]
        thread.join()
        assert session.run(count) == 1.0
