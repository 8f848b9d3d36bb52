"""Queues: their elements, their errors and what waits; in both engines."""

from __future__ import annotations

import os
import signal
import threading
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


class _Run:
    """A run in a thread, and what it gave or raised."""

    def __init__(self, session: tf.Session, fetches: Any, feeds: Any = None) -> None:
        self.result: Any = None
        self._thread = threading.Thread(target=self._run, args=(session, fetches, feeds))
        self._thread.start()

    def _run(self, session: tf.Session, fetches: Any, feeds: Any) -> None:
        try:
            self.result = session.run(fetches, feeds)
        except Exception as error:
            self.result = error

    def waits(self) -> bool:
        self._thread.join(0.05)
        return self._thread.is_alive()

    def end(self) -> Any:
        self._thread.join(20)
        assert not self._thread.is_alive()
        return self.result


# ---- elements ----


@TARGETS
def test_elements_come_in_their_order_one_by_one_and_stacked(target: str) -> None:
    queue = tf.FIFOQueue(10, [tf.int64, tf.string], shapes=[(2,), ()])
    rows = np.arange(8).reshape(4, 2)
    add = queue.enqueue_many([rows, ["a", "b", "", "ä"]])
    one, more = queue.enqueue([[8, 9], "z"]), queue.dequeue()
    stacked = queue.dequeue_many(3)
    assert [t.shape.as_list() for t in stacked] == [[3, 2], [3]]
    with tf.Session(target) as session:
        session.run([add])
        session.run(one)
        assert session.run(queue.size()) == 5
        first = session.run(more)
        assert first[0].tolist() == [0, 1] and first[1] == b"a"
        numbers, words = session.run(stacked)
        np.testing.assert_array_equal(numbers, rows[1:])
        assert numbers.dtype == np.int64 and words.tolist() == [b"b", b"", "ä".encode()]
        assert session.run(more[1]) == b"z" and session.run(queue.size()) == 0


@TARGETS
def test_each_session_has_its_elements(target: str) -> None:
    queue = tf.FIFOQueue(10, tf.float32)
    with tf.Session(target) as one, tf.Session(target) as two:
        one.run(queue.enqueue(1.0))
        assert (one.run(queue.size()), two.run(queue.size())) == (1, 0)


def test_elements_of_a_queue_with_names_are_dicts() -> None:
    queue = tf.FIFOQueue(5, [tf.int32, tf.float32], shapes=[(), ()], names=["i", "f"])
    with pytest.raises(ValueError, match="must enqueue a dictionary"):
        queue.enqueue([1, 2.0])
    with pytest.raises(ValueError, match="do not match names of Queue"):
        queue.enqueue({"i": 1})
    with tf.Session() as session:
        session.run(queue.enqueue_many({"f": [0.5, 1.5], "i": [1, 2]}))
        assert session.run(queue.dequeue()) == {"i": 1, "f": 0.5}
        assert {k: v.tolist() for k, v in session.run(queue.dequeue_many(1)).items()} == {
            "i": [2], "f": [1.5],
        }  # fmt: skip


@TARGETS
def test_a_padding_queue_fills_up_to_the_largest_element_of_a_batch(target: str) -> None:
    queue = tf.PaddingFIFOQueue(9, [tf.int32, tf.string], [[None, 2], [None]])
    x, words = tf.placeholder(tf.int32, [None, 2]), tf.placeholder(tf.string, [None])
    add, taken = queue.enqueue([x, words]), queue.dequeue_many(2)
    with tf.Session(target) as session:
        session.run(add, {x: [[1, 2]], words: ["a", "b"]})
        session.run(add, {x: [[3, 4], [5, 6]], words: []})
        numbers, text = session.run(taken)
        assert numbers.tolist() == [[[1, 2], [0, 0]], [[3, 4], [5, 6]]]
        assert text.tolist() == [[b"a", b"b"], [b"", b""]]


@TARGETS
def test_the_least_priority_comes_first_and_equal_ones_in_order(target: str) -> None:
    queue = tf.PriorityQueue(20, tf.string, shapes=[()])
    keys = np.array([3, 1, 2, 1, 3, 1])
    with tf.Session(target) as session:
        session.run(queue.enqueue_many([keys, list("abcdef")]))
        priorities, names = session.run(queue.dequeue_many(6))
        assert priorities.tolist() == sorted(keys) and b"".join(names) == b"bdfcae"


@TARGETS
def test_a_shuffling_queue_keeps_elements_back_and_has_a_seeds_order(target: str) -> None:
    def order() -> list[int]:
        with tf.Graph().as_default(), tf.Session(target) as session:
            queue = tf.RandomShuffleQueue(40, 10, tf.int32, shapes=[()], seed=5)
            session.run(queue.enqueue_many([list(range(30))]))
            taken = queue.dequeue()
            found = [int(session.run(taken)) for _ in range(20)]
            with pytest.raises(tf.errors.DeadlineExceededError):
                session.run(taken, options=tf.RunOptions(timeout_in_ms=20))
            session.run(queue.close())
            return found + session.run(queue.dequeue_many(10)).tolist()

    found = order()
    assert sorted(found) == list(range(30)) != found
    assert order() == found


def test_from_list_takes_the_queue_of_a_number() -> None:
    queues = [tf.FIFOQueue(5, tf.int32, shapes=[()]) for _ in range(3)]
    at = tf.placeholder(tf.int32, [])
    chosen = tf.QueueBase.from_list(at, queues)
    add, taken = chosen.enqueue(tf.multiply(at, 10)), [q.dequeue() for q in queues]
    with tf.Session() as session:
        for number in (2, 0, 1):
            session.run(add, {at: number})
        assert session.run(taken) == [0, 10, 20]
    with pytest.raises(TypeError, match="matching component dtypes"):
        tf.QueueBase.from_list(0, [queues[0], tf.FIFOQueue(5, tf.float32)])


def test_queues_of_one_shared_name_are_one_and_must_agree() -> None:
    one = tf.FIFOQueue(5, tf.int32, shared_name="both")
    two = tf.FIFOQueue(5, tf.int32, shared_name="both")
    other = tf.FIFOQueue(6, tf.int32, shared_name="both")
    shuffled = tf.RandomShuffleQueue(5, 1, tf.int32, shared_name="both")
    with tf.Session() as session:
        session.run(one.enqueue(7))
        assert session.run(two.dequeue()) == 7
        with pytest.raises(tf.errors.InvalidArgumentError, match="capacity 5 but requested"):
            session.run(other.size())
        with pytest.raises(tf.errors.InvalidArgumentError, match="type 'FIFOQueue' that does not"):
            session.run(shuffled.size())


# ---- refused ----


def test_what_does_not_fit_is_refused_when_it_is_built() -> None:
    queue = tf.FIFOQueue(5, [tf.int32, tf.float32], shapes=[(2,), ()])
    with pytest.raises(ValueError):
        queue.enqueue([[1, 2, 3], 1.0])
    with pytest.raises(ValueError):
        queue.enqueue_many([[[1, 2]], [1.0, 2.0]])
    with pytest.raises((TypeError, ValueError)):
        queue.enqueue([[1, 2], "word"])
    with pytest.raises(ValueError, match="2 components, got 1"):
        queue.enqueue([[1, 2]])
    with pytest.raises(ValueError, match="fully defined"):
        tf.FIFOQueue(5, tf.int32, shapes=[(None,)])
    with pytest.raises(ValueError, match="same length as dtypes"):
        tf.FIFOQueue(5, [tf.int32] * 2, shapes=[()])
    with pytest.raises(ValueError, match="list of shapes must be provided"):
        tf.PaddingFIFOQueue(5, tf.int32, None)
    assert queue.dtypes == [tf.int32, tf.float32] and queue.shapes[0].as_list() == [2]


@TARGETS
def test_what_does_not_fit_is_refused_when_it_runs(target: str) -> None:
    queue = tf.FIFOQueue(5, tf.int32, shapes=[(2,)])
    x = tf.placeholder(tf.int32)
    add, many = queue.enqueue(x), queue.enqueue_many([x])
    count = tf.placeholder(tf.int32, [])
    loose = tf.FIFOQueue(5, tf.int32).dequeue_many(1)
    with tf.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Expected \[2\], got \[3\]"):
            session.run(add, {x: [1, 2, 3]})
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Expected \[1,2\], got \[1,3\]"):
            session.run(many, {x: [[1, 2, 3]]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="requested -1 < 0"):
            session.run(queue.dequeue_many(count), {count: -1})
        with pytest.raises(tf.errors.InvalidArgumentError, match="have specified shapes"):
            session.run(loose)
        assert session.run(queue.dequeue_many(count), {count: 0}).shape == (0, 2)
        assert session.run(queue.size()) == 0


# ---- waiting ----


@TARGETS
def test_a_run_waits_for_an_element_and_for_capacity(target: str) -> None:
    queue, x = tf.FIFOQueue(1, tf.int32), tf.placeholder(tf.int32, [])
    add, taken = queue.enqueue(x), queue.dequeue()
    with tf.Session(target) as session:
        waiting = _Run(session, taken)
        assert waiting.waits()
        session.run(add, {x: 1})
        assert waiting.end() == 1
        session.run(add, {x: 2})
        waiting = _Run(session, add, {x: 3})
        assert waiting.waits()
        assert session.run(taken) == 2 and waiting.end() is None
        assert session.run(taken) == 3


@TARGETS
def test_many_elements_pass_through_a_small_queue(target: str) -> None:
    queue = tf.FIFOQueue(2, tf.int32, shapes=[()])
    add, taken = queue.enqueue_many([list(range(50))]), queue.dequeue_many(50)
    with tf.Session(target) as session:
        waiting = _Run(session, add)
        assert session.run(taken).tolist() == list(range(50)) and waiting.end() is None


@TARGETS
def test_a_run_that_ends_early_gives_back_what_it_took(target: str) -> None:
    queue = tf.FIFOQueue(9, tf.int32, shapes=[()])
    taken = queue.dequeue_many(4)
    with tf.Session(target) as session:
        session.run(queue.enqueue_many([[1, 2, 3]]))
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(taken, options=tf.RunOptions(timeout_in_ms=20))
        assert session.run(queue.size()) == 3
        session.run(queue.enqueue(4))
        assert session.run(taken).tolist() == [1, 2, 3, 4]


@TARGETS
def test_a_closed_queue_gives_its_rest_and_then_its_end(target: str) -> None:
    queue = tf.FIFOQueue(9, tf.int32, shapes=[()], name="q")
    up_to, many, one = queue.dequeue_up_to(3), queue.dequeue_many(3), queue.dequeue()
    with tf.Session(target) as session:
        session.run(queue.enqueue_many([[1, 2, 3, 4, 5]]))
        assert not session.run(queue.is_closed())
        session.run(queue.close())
        assert session.run(queue.is_closed())
        assert session.run(up_to).tolist() == [1, 2, 3]
        end = r"FIFOQueue '_0_q' is closed and has insufficient elements \(requested 3, current s"
        with pytest.raises(tf.errors.OutOfRangeError, match=end + r"ize 2\)") as caught:
            session.run(many)
        assert caught.value.op is many.op
        assert session.run(up_to).tolist() == [4, 5]
        with pytest.raises(tf.errors.OutOfRangeError, match=r"requested 1, current size 0\)"):
            session.run(one)
        with pytest.raises(tf.errors.CancelledError, match="FIFOQueue '_0_q' is closed."):
            session.run(queue.enqueue(1))


@TARGETS
def test_closing_waits_for_what_waits_or_cancels_it(target: str) -> None:
    queue = tf.FIFOQueue(1, tf.int32)
    add, taken, close = queue.enqueue(1), queue.dequeue(), queue.close()
    cancel = queue.close(cancel_pending_enqueues=True)
    with tf.Session(target) as session:
        session.run(add)
        adding = _Run(session, add)
        assert adding.waits()
        closing = _Run(session, close)
        assert closing.waits()
        assert session.run(taken) == 1 and adding.end() is None and closing.end() is None
    with tf.Session(target) as session:
        session.run(add)
        adding = _Run(session, add)
        assert adding.waits()
        session.run(cancel)
        error = adding.end()
        assert isinstance(error, tf.errors.CancelledError) and "Enqueue operation was" in str(error)
        assert session.run(taken) == 1


@TARGETS
def test_closing_the_session_wakes_its_runs(target: str) -> None:
    taken = tf.FIFOQueue(1, tf.int32).dequeue()
    session = tf.Session(target)
    waiting = [_Run(session, taken) for _ in range(3)]
    assert all(run.waits() for run in waiting)
    session.close()
    for run in waiting:
        error = run.end()
        assert isinstance(error, tf.errors.CancelledError) and "Dequeue operation was" in str(error)


@TARGETS
def test_an_interrupt_ends_a_run_that_waits(target: str) -> None:
    queue = tf.FIFOQueue(1, tf.int32)
    taken = queue.dequeue()
    with tf.Session(target) as session:
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            session.run(taken)
        session.run(queue.enqueue(3))
        assert session.run(taken) == 3


@pytest.mark.parametrize("fed", [["a", "é"], np.array(["a", "é"]), np.array(["a", "é"], object)])
def test_strings_that_are_fed_come_back_as_bytes(fed):
    with tf.Graph().as_default(), tf.Session() as session:
        strings = tf.placeholder(tf.string)
        queue = tf.FIFOQueue(4, tf.string, [[]])
        session.run(queue.enqueue_many(strings), {strings: fed})
        assert session.run(queue.dequeue_many(2)).tolist() == [b"a", "é".encode()]
