"""Variables that the functions of datasets read and assign."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from value_cases import TARGETS

import graphio as tf


@pytest.fixture
def counter() -> Iterator[Any]:
    """A variable that begins at 0, in a new graph."""
    with tf.Graph().as_default():
        yield tf.get_variable("v", [], tf.int64, tf.zeros_initializer(), use_resource=True)


def begun(target: str, *iterators: Any) -> Any:
    session = tf.Session(target)
    session.run([tf.global_variables_initializer(), *(i.initializer for i in iterators)])
    return session


@pytest.mark.parametrize("target", TARGETS)
def test_a_function_assigns_a_variable_at_each_element(target: str, counter: Any) -> None:
    data = tf.data.Dataset.from_tensors(0).repeat(3).map(lambda _: counter.assign_add(1), 4)
    iterator = tf.data.make_initializable_iterator(data.prefetch(2))
    following = iterator.get_next()
    with begun(target, iterator) as session:
        for i in range(3):
            assert session.run(counter) == i
            assert session.run(following) == i + 1
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(following)
        assert session.run(counter) == 3


@pytest.mark.parametrize("target", TARGETS)
def test_a_function_reads_a_variable_at_each_element(target: str, counter: Any) -> None:
    data = tf.data.Dataset.range(3).map(lambda i: (i, counter.read_value()))
    kept = data.filter(lambda i, _: counter.read_value() < 20)
    iterator = tf.data.make_initializable_iterator(kept)
    following, more = iterator.get_next(), counter.assign_add(10)
    with begun(target, iterator) as session:
        assert session.run([following, more]) == [(0, 0), 10]
        assert session.run([following, more]) == [(1, 10), 20]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(following)


@pytest.mark.parametrize("target", TARGETS)
def test_two_elements_of_a_run_count_one_after_the_other(target: str, counter: Any) -> None:
    data = tf.data.Dataset.range(4).map(lambda _: counter.assign_add(1))
    iterator = tf.data.make_initializable_iterator(data)
    one, two = iterator.get_next(), iterator.get_next()
    with begun(target, iterator) as session:
        assert session.run([one, two]) == [1, 2] and session.run([two, one]) == [4, 3]
        assert session.run(counter) == 4


@pytest.mark.parametrize("target", TARGETS)
def test_branches_and_inner_datasets_assign_variables(target: str, counter: Any) -> None:
    def step(i: Any) -> Any:
        return tf.cond(i < 1, lambda: counter.assign_add(1), lambda: counter.assign_add(10))

    def inner(i: Any) -> Any:
        return tf.data.Dataset.range(2).map(lambda j: counter.assign_add(i * 100))

    data = tf.data.Dataset.range(2)
    iterator = tf.data.make_initializable_iterator(data.map(step).concatenate(data.flat_map(inner)))
    following = iterator.get_next()
    with begun(target, iterator) as session:
        assert [int(session.run(following)) for _ in range(6)] == [1, 11, 11, 11, 111, 211]
        assert session.run(counter) == 211


@pytest.mark.parametrize("target", TARGETS)
def test_a_whole_dataset_assigns_a_variable_in_one_run(
    target: str, counter: Any, tmp_path: Path
) -> None:
    data, path = tf.data.Dataset.range(3), str(tmp_path / "records")
    total = data.reduce(np.int64(0), lambda state, _: state + counter.assign_add(1))
    one = tf.data.experimental.get_single_element(data.take(1).map(lambda _: counter.assign_add(5)))
    strings = data.map(lambda _: tf.as_string(counter.assign_add(1)))
    write = tf.data.experimental.TFRecordWriter(path).write(strings)
    with begun(target) as session:
        assert (session.run(total), session.run(counter)) == (6, 3)
        assert (session.run(one), session.run(counter)) == (8, 8)
        session.run(write)
        assert session.run(counter) == 11
    assert list(tf.python_io.tf_record_iterator(path)) == [b"9", b"10", b"11"]


def test_variables_and_iterators_come_back_from_a_checkpoint(counter: Any, tmp_path: Path) -> None:
    data = tf.data.Dataset.range(4).map(lambda i: (i, counter.assign_add(1)))
    iterator, saver = tf.data.make_initializable_iterator(data), tf.train.Saver()
    following = iterator.get_next()
    with begun("", iterator) as session:
        session.run(following)
        path = saver.save(session, str(tmp_path / "c"))
        assert [session.run(following) for _ in range(2)] == [(1, 2), (2, 3)]
        saver.restore(session, path)
        assert session.run(following) == (1, 2)


def test_the_error_names_where_functions_cannot_have_variables(counter: Any) -> None:
    touching = tf.data.Dataset.range(2).map(lambda _: counter.assign_add(1))
    with pytest.raises(ValueError, match=r"stateful node \(name:v, type:VarHandleOp\) by value"):
        tf.data.make_one_shot_iterator(touching)
    late = tf.data.Iterator.from_structure(tf.int64, [])
    late.get_next()
    with pytest.raises(ValueError, match="variable 'v'; call make_initializer before get_next"):
        late.make_initializer(touching)
    begun_late = tf.data.make_initializable_iterator(touching)
    following = begun_late.get_next()
    with tf.Session() as session:
        session.run(begun_late.initializer)
        with pytest.raises(tf.errors.NotFoundError, match="uninitialized value v"):
            session.run(following)


@pytest.mark.parametrize("target", TARGETS)
def test_an_iterator_whose_functions_have_variables_has_a_string_handle(
    target: str, counter: Any
) -> None:
    counting = tf.data.Dataset.range(2).map(lambda _: counter.assign_add(1))
    reading = tf.data.Dataset.range(3).map(lambda _: 100 * counter)
    iterators = [tf.data.make_initializable_iterator(d) for d in (counting, reading)]
    handle = tf.placeholder(tf.string, [])
    following = tf.data.Iterator.from_string_handle(handle, tf.int64, []).get_next()
    with begun(target, *iterators) as session:
        first, second = session.run([i.string_handle() for i in iterators])
        found = [session.run(following, {handle: h}) for h in (first, second, first, second)]
        assert found == [1, 100, 2, 200]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(following, {handle: first})
        assert session.run([following, counter], {handle: second}) == [200, 2]
    late = tf.get_variable("late", [], tf.int64)
    other = tf.data.make_initializable_iterator(tf.data.Dataset.range(2).map(lambda i: i + late))
    with pytest.raises(ValueError, match="'late'; make the iterator before the get_next"):
        other.string_handle()


#: uses of a variable in a function that adds 1 to it before and after the use
PLAIN_USES: dict[str, Any] = {
    "a value": lambda v: v.value(),
    "an identity": lambda v: tf.identity(v),
    "a sum": lambda v: v + 0,
    "a stack": lambda v: tf.stack([v])[0],
    "a branch": lambda v: tf.cond(tf.constant(True), lambda: v + 0, lambda: 2 * v),
    "a loop": lambda v: tf.while_loop(lambda i: i < 1, lambda i: i + tf.sign(v + 1), [v * 0]) * v,
    "a dataset": lambda v: tf.data.experimental.get_single_element(
        tf.data.Dataset.range(1).map(lambda _: tf.identity(v))
    ),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", PLAIN_USES)
def test_a_plain_use_reads_the_variable_at_the_call(name: str, target: str, counter: Any) -> None:
    read = PLAIN_USES[name]

    def step(_: Any) -> Any:
        before = read(counter)
        with tf.control_dependencies([counter.assign_add(1)]):
            return tf.stack([before, read(counter)])

    assigning = tf.data.make_initializable_iterator(tf.data.Dataset.range(6).map(step))
    reading = tf.data.make_initializable_iterator(
        tf.data.Dataset.range(6).map(lambda _: read(counter))
    )
    one, other, more = assigning.get_next(), reading.get_next(), counter.assign_add(10)
    with begun(target, assigning, reading) as session:
        assert [session.run(one).tolist() for _ in range(3)] == [[0, 1], [1, 2], [2, 3]]
        assert [session.run(other), session.run(more), session.run(other)] == [3, 13, 13]


@pytest.mark.parametrize("target", TARGETS)
def test_what_a_function_returns_is_read_where_it_says(target: str) -> None:
    with tf.Graph().as_default():
        v = tf.Variable(0, name="v")

        def step(_: Any) -> Any:
            with tf.name_scope("v/"):
                placed = v.read_value()
            before, alias = v.value(), tf.identity(v)
            with tf.control_dependencies([v.assign_add(1)]):
                return placed, before, alias, v.value(), v[...]

        iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(6).map(step))
        following = iterator.get_next()
        with begun(target, iterator) as session:
            assert session.run([following, v]) == [(0, 0, 0, 1, 1), 1]
            assert session.run(following) == (1, 1, 1, 2, 2)


@pytest.mark.parametrize("target", TARGETS)
def test_a_function_has_gradients_with_respect_to_a_variable(target: str) -> None:
    with tf.Graph().as_default():
        v = tf.Variable(3.0)
        data = tf.data.Dataset.range(2).map(lambda _: tf.gradients([v * v + 5.0 * v], v)[0])
        iterator, doubled = tf.data.make_initializable_iterator(data), v.assign(2 * v)
        following = iterator.get_next()
        with begun(target, iterator) as session:
            assert [session.run(following), session.run(doubled)] == [11, 6]
            assert session.run(following) == 17


@pytest.mark.parametrize("target", TARGETS)
def test_what_was_computed_outside_is_of_the_initializer(target: str, counter: Any) -> None:
    twice = 2 * counter
    data = tf.data.Dataset.range(3).map(lambda i: (i + twice, tf.random_shuffle(twice + [0, 1])[0]))
    iterator, more = tf.data.make_initializable_iterator(data), counter.assign_add(10)
    following = iterator.get_next()
    with begun(target) as session:
        session.run(iterator.initializer)
        assert session.run(following)[0] == 0 and session.run(more) == 10
        assert session.run(following)[0] == 1
        session.run(iterator.initializer)
        assert session.run(following)[0] == 20


@pytest.mark.parametrize("target", TARGETS)
def test_a_call_that_fails_or_ends_the_data_assigns(target: str, counter: Any) -> None:
    def failing(_: Any) -> Any:
        added = counter.assign_add(1)
        with tf.control_dependencies([added]):
            with tf.control_dependencies([tf.Assert(added < 3, ["more than 2"])]):
                return tf.identity(added)

    def none(_: Any) -> Any:
        with tf.control_dependencies([counter.assign_add(1)]):
            return tf.constant(False)

    data = tf.data.Dataset.range(5)
    cases = [
        (data.map(lambda _: counter.assign_add(1)).batch(3, drop_remainder=True), [[1, 2, 3]], 5),
        (data.filter(none), [], 5),
        (data.map(failing), [1, 2], 3),
    ]
    iterators = [tf.data.make_initializable_iterator(d) for d, _, _ in cases]
    nexts = [iterator.get_next() for iterator in iterators]
    whole = tf.data.experimental.get_single_element(data.filter(none))
    for iterator, following, (_, given, left) in zip(iterators, nexts, cases, strict=True):
        with begun(target, iterator) as session:
            assert [np.asarray(session.run(following)).tolist() for _ in given] == given
            with pytest.raises((tf.errors.OutOfRangeError, tf.errors.InvalidArgumentError)):
                session.run(following)
            assert session.run(counter) == left
    with begun(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="empty dataset"):
            session.run(whole)
        assert session.run(counter) == 5
