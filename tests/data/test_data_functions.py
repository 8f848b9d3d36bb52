"""Functions of datasets: errors, effects, graphs and seeds; caches and generators."""

from __future__ import annotations

import errno
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data_elements import elements, nan_at

import graphio as tf


def test_an_assert_in_a_function_runs_although_nothing_reads_it() -> None:
    D = tf.data.Dataset

    def checked(i: Any) -> Any:
        tf.assert_less(i, np.int64(2))
        return i

    with tf.Graph().as_default():
        data = D.range(4).map(checked)
        with pytest.raises(tf.errors.InvalidArgumentError):
            elements(data)
        assert elements(data.apply(tf.data.experimental.ignore_errors())) == [0, 1]


def test_a_function_sees_the_collections_around_it_and_adds_to_its_own() -> None:
    with tf.Graph().as_default() as graph:
        graph.add_to_collection("words", "outer")

        def look(i: Any) -> Any:
            assert tf.get_collection("words") == ["outer"]
            tf.add_to_collection("words", "inner")
            return i

        tf.data.Dataset.range(1).map(look)
        assert graph.get_collection("words") == ["outer"]


def test_a_window_fails_only_for_the_elements_that_it_has() -> None:
    with tf.Graph().as_default():
        spread = nan_at(1, 3).window(2, 2, 2).flat_map(lambda w: w.batch(2))
        assert [e.tolist() for e in elements(spread)] == [[0, 2], [2, 4], [4, 6], [6]]
        with pytest.raises(tf.errors.InvalidArgumentError, match="no number"):
            elements(nan_at(2).window(2, 2, 2).flat_map(lambda w: w.batch(2)))


def test_map_and_batch_loses_the_batch_of_an_element_that_fails() -> None:
    def even(i: Any) -> Any:
        if i % 5 == 4:
            raise StopIteration
        return i

    with tf.Graph().as_default(), tf.Session() as session:
        both = tf.data.experimental.map_and_batch(lambda i: tf.py_func(even, [i], tf.int64), 3)
        step = tf.data.Dataset.range(9).apply(both).make_one_shot_iterator().get_next()
        assert session.run(step).tolist() == [0, 1, 2]
        with pytest.raises(tf.errors.InvalidArgumentError, match="gives no element"):
            session.run(step)
        assert session.run(step).tolist() == [6, 7, 8]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(step)


def test_one_iterator_at_a_time_writes_a_cache(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        data = tf.data.Dataset.range(2).cache(str(tmp_path / "kept"))
        one, two = (data.make_one_shot_iterator().get_next() for _ in range(2))
        assert session.run(one) == 0
        with pytest.raises(tf.errors.AlreadyExistsError, match="another iterator"):
            session.run(two)
        assert session.run(one) == 1
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(one)
        assert session.run(two) == 0


def test_a_cache_is_written_where_the_file_system_has_no_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_locks(file: Any, mode: int) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr("graphio.data.caching.fcntl.flock", without_locks)
    with tf.Graph().as_default():
        data = tf.data.Dataset.range(2).cache(str(tmp_path / "kept"))
        assert elements(data) == elements(data) == [0, 1]


def test_caches_that_end_together_are_all_complete(tmp_path: Path) -> None:
    D = tf.data.Dataset
    with tf.Graph().as_default():
        kept = [D.range(2).cache(str(tmp_path / name)) for name in "abc"]
        elements(D.zip(tuple(kept)))
        assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b", "c"]


def test_a_generator_ends_when_nothing_more_is_taken() -> None:
    ended = []

    def endless() -> Iterator[int]:
        try:
            while True:
                yield 1
        finally:
            ended.append(True)

    with tf.Graph().as_default(), tf.Session() as session:
        data = tf.data.Dataset.from_generator(endless, tf.int64).take(2).repeat(2)
        step = data.make_one_shot_iterator().get_next()
        assert [session.run(step) for _ in range(3)] == [1, 1, 1]
        assert ended == [True]
        session.run(step)
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(step)
        assert ended == [True, True]


def test_a_reduction_without_an_end_stops_when_its_session_is_closed() -> None:
    reached = threading.Event()

    def note(n: Any) -> Any:
        reached.set()
        return n

    with tf.Graph().as_default():
        endless = tf.data.Dataset.range(1).repeat().map(lambda n: tf.py_func(note, [n], tf.int64))
        total = endless.reduce(np.int64(0), lambda state, n: state + n)
        session = tf.Session()
        threading.Thread(target=lambda: (reached.wait(), session.close()), daemon=True).start()
        with pytest.raises(tf.errors.CancelledError, match="the session was closed"):
            session.run(total)


def test_groups_that_are_not_full_come_by_their_keys() -> None:
    with tf.Graph().as_default():
        numbers = tf.data.Dataset.from_tensor_slices(np.array([5, 3, 4, 3, 5, 4, 3]))
        made = numbers.group_by_window(lambda x: x, lambda _, group: group.batch(9), 3)
        assert [e.tolist() for e in elements(made)] == [[3, 3, 3], [4, 4], [5, 5]]


def test_a_scan_does_not_end_where_its_function_has_no_element() -> None:
    def stop(n: Any) -> Any:
        raise StopIteration

    with tf.Graph().as_default():
        data = tf.data.Dataset.range(2).scan(0, lambda s, n: (s, tf.py_func(stop, [n], tf.int64)))
        with pytest.raises(tf.errors.InvalidArgumentError, match="gives no element"):
            elements(data)


def test_datasets_are_chosen_until_one_has_ended() -> None:
    D = tf.data.Dataset
    with tf.Graph().as_default():
        pair = [D.range(1), D.range(10, 14)]
        choices = D.from_tensor_slices(np.array([1, 0, 1, 0, 1]))
        assert elements(D.choose_from_datasets(pair, choices)) == [10, 0, 11]
        assert elements(D.choose_from_datasets(pair, choices, False)) == [10, 0, 11, 12]
        drawn = elements(D.sample_from_datasets(pair, seed=3, stop_on_empty_dataset=True))
        assert drawn.count(0) == 1 and len(drawn) <= 5
        with pytest.raises(ValueError, match="there are no datasets"):
            D.choose_from_datasets([], D.range(1))


def test_odds_may_be_a_tensor_or_change_with_every_draw() -> None:
    D = tf.data.Dataset
    with tf.Graph().as_default():
        pair = [D.range(3), D.range(10, 13)]
        fixed = D.sample_from_datasets(pair, tf.constant([0.0, 1.0]))
        assert elements(fixed) == [10, 11, 12]
        turns = D.from_tensor_slices([[1.0, 0.0], [0.0, 1.0]]).repeat(2)
        assert elements(D.sample_from_datasets(pair, turns)) == [0, 10, 1, 11]
        with pytest.raises(tf.errors.InvalidArgumentError, match="3 weights for 2 datasets"):
            elements(D.sample_from_datasets(pair, tf.constant([1.0, 2.0, 3.0])))
        for whole in (tf.constant([1, 1]), [1, 1], np.array([1, 1])):
            with pytest.raises(TypeError, match=r"are int\d\d; they must be of `tf.float32`"):
                D.sample_from_datasets(pair, whole)


#: uses of a dataset of another graph than the default one
ELSEWHERE: dict[str, Callable[[Any], Any]] = {
    "batch": lambda data: data.batch(2),
    "map": lambda data: data.map(tf.square),
    "zipped with one of this graph": lambda data: tf.data.Dataset.zip(
        (data, tf.data.Dataset.range(3))
    ),
    "one-shot": lambda data: data.make_one_shot_iterator(),
    "initializable": lambda data: data.make_initializable_iterator(),
    "re-initializable": lambda data: tf.data.Iterator.from_structure(tf.int64, []).make_initializer(
        data
    ),
    "reduce": lambda data: data.reduce(np.int64(0), lambda a, b: a + b),
    "single element": tf.data.experimental.get_single_element,
    "cardinality": tf.data.experimental.cardinality,
    "written": lambda data: tf.data.experimental.TFRecordWriter("x").write(data),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_dataset_is_used_in_its_own_graph(name: str) -> None:
    with tf.Graph().as_default():
        data = tf.data.Dataset.range(3)
        if name == "written":
            data = data.map(tf.as_string)
    with tf.Graph().as_default() as other, pytest.raises(ValueError, match="from the same graph"):
        ELSEWHERE[name](data)
    with data.graph.as_default():
        ELSEWHERE[name](data.take(1))
    assert not [op for op in other.get_operations() if op.type == "MakeIterator"]


def test_datasets_of_one_graph_are_joined_in_it_and_used_in_functions() -> None:
    with tf.Graph().as_default() as graph:
        data = tf.data.Dataset.range(2)
    with tf.Graph().as_default():
        twice = data.concatenate(data)
    with graph.as_default():
        assert elements(twice) == [0, 1, 0, 1]
        nested = data.flat_map(lambda x: data.map(lambda y: x * 10 + y))
        assert elements(nested) == [0, 1, 10, 11]


def test_a_function_that_draws_by_the_seed_around_it_says_so() -> None:
    D = tf.data.Dataset
    with tf.Graph().as_default() as graph:
        D.range(3).map(lambda x: tf.random_shuffle([x, x]))  # no seed, no warning
        graph.seed = 10
        with pytest.warns(UserWarning, match=r"Seed 10 .*map \(test_data_functions"):
            D.range(3).map(lambda x: tf.random_shuffle([x, x]))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            D.range(3).map(lambda x: tf.random_shuffle([x, x], seed=3)).shuffle(2)


def test_a_legacy_function_does_not_assign_the_variables_that_it_makes() -> None:
    def count(_: Any) -> Any:
        with tf.variable_scope("counted", reuse=tf.AUTO_REUSE):
            v = tf.get_variable("n", [], tf.int32, tf.zeros_initializer(), use_resource=True)
        return v.assign_add(1)

    with tf.Graph().as_default() as graph:
        data = tf.data.Dataset.range(2)
        with pytest.raises(AttributeError, match="variable 'counted/n' is made in a function"):
            data.map_with_legacy_function(count)
        assert not tf.global_variables()
        data.map(count)  # makes the variable
        assert data.map_with_legacy_function(count, 1).graph is graph


def test_a_tensor_array_from_outside_goes_through_no_branch_in_a_function() -> None:
    def grow(array: Any, x: Any, reset: Any) -> Any:
        grown = array.write(array.size(), x)
        return tf.cond(x > 1, lambda: reset, lambda: grown), grown.stack()

    with tf.Graph().as_default():
        empty = tf.TensorArray(tf.int64, 0, dynamic_size=True, element_shape=[])
        scan = tf.data.experimental.scan
        with pytest.raises(NotImplementedError, match="construct a new TensorArray inside"):
            tf.data.Dataset.range(4).apply(scan(empty, lambda a, x: grow(a, x, empty)))
        inside = lambda: tf.TensorArray(tf.int64, 0, dynamic_size=True, element_shape=[])  # noqa: E731
        rows = tf.data.Dataset.range(4).apply(scan(empty, lambda a, x: grow(a, x, inside())))
        assert [row.tolist() for row in elements(rows)] == [[0], [0, 1], [0, 1, 2], [3]]
