"""tf.data: what works ahead in threads keeps its order, its errors and its bounds."""

from __future__ import annotations

import gc
import threading
import time
from typing import Any

import engines
import pytest
from data_pipelines import rest

import graphio as tf

D = tf.data.Dataset


@pytest.fixture(params=engines.NAMES, autouse=True)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    engines.module(request.param)
    monkeypatch.setenv("GRAPHIO_TARGET", request.param)


def workers() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name in ("prefetch", "map")]


def gone(seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while workers() and time.monotonic() < end:
        gc.collect()  # again: one that is going on in another thread makes it do nothing
        time.sleep(0.01)
    return not workers()


def pipeline(count: int = 10**6) -> Any:
    return D.range(count).map(lambda x: x * 2, num_parallel_calls=3).prefetch(2)


def test_threads_end_with_the_session() -> None:
    with tf.Graph().as_default():
        element = pipeline().make_one_shot_iterator().get_next()
        with tf.Session() as session:
            assert rest(session, element, 5) == [0, 2, 4, 6, 8]
            assert sorted(workers()) == ["map"] * 3 + ["prefetch"]
        assert gone()


def test_threads_end_when_the_iterator_begins_anew() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        iterator = pipeline().make_initializable_iterator()
        element = iterator.get_next()
        for _ in range(5):
            session.run(iterator.initializer)
            assert rest(session, element, 3) == [0, 2, 4]
        end = time.monotonic() + 5
        while len(workers()) > 4 and time.monotonic() < end:
            time.sleep(0.01)
        assert sorted(workers()) == ["map"] * 3 + ["prefetch"]


def test_threads_end_with_a_session_that_is_forgotten() -> None:
    with tf.Graph().as_default():
        element = pipeline().make_one_shot_iterator().get_next()
        session = tf.Session()
        assert rest(session, element, 2) == [0, 2]
        del session, element
    assert gone()


def test_prefetch_is_ahead_by_its_size_and_no_more() -> None:
    made: list[int] = []

    def generator() -> Any:
        for i in range(100):
            made.append(i)
            yield i

    with tf.Graph().as_default(), tf.Session() as session:
        data = D.from_generator(generator, tf.int32).prefetch(3)
        element = data.make_one_shot_iterator().get_next()
        assert session.run(element) == 0
        end = time.monotonic() + 5
        while len(made) < 4 and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.05)
        assert made == [0, 1, 2, 3]


@pytest.mark.parametrize("parallel", [None, 3])
def test_an_error_comes_in_its_turn_and_the_data_goes_on(parallel: int | None) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        data = D.from_tensor_slices([0, 1, 7, 0])
        data = data.map(lambda i: tf.gather([10, 20], i), num_parallel_calls=parallel).prefetch(4)
        element = data.make_one_shot_iterator().get_next()
        assert [session.run(element) for _ in range(2)] == [10, 20]
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[map \(test_data_threads.py"):
            session.run(element)
        assert rest(session, element) == [10]


def test_an_error_of_a_source_comes_in_its_turn() -> None:
    def generator() -> Any:
        yield 1
        raise RuntimeError("no more")

    with tf.Graph().as_default(), tf.Session() as session:
        data = D.from_generator(generator, tf.int32).map(lambda x: x, num_parallel_calls=2)
        element = data.prefetch(2).make_one_shot_iterator().get_next()
        assert session.run(element) == 1
        with pytest.raises(tf.errors.UnknownError, match="no more"):
            session.run(element)


def test_a_parallel_map_waits_side_by_side() -> None:
    both = threading.Barrier(2, timeout=10)

    def wait(x: Any) -> Any:
        both.wait()
        return x

    if not hasattr(tf, "py_func"):
        pytest.skip("there is no py_func")
    with tf.Graph().as_default(), tf.Session() as session:
        data = D.range(4).map(lambda x: tf.py_func(wait, [x], tf.int64), num_parallel_calls=2)
        assert rest(session, data.make_one_shot_iterator().get_next()) == [0, 1, 2, 3]


def test_many_threads_may_run_one_iterator() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        element = D.range(200).shuffle(50).make_one_shot_iterator().get_next()
        found: list[int] = []
        threads = [
            threading.Thread(target=lambda: found.extend(rest(session, element))) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(found) == list(range(200))
