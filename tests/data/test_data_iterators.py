"""tf.data: iterators, in both engines."""

from __future__ import annotations

from typing import Any

import engines
import numpy as np
import pytest
from data_pipelines import drain, plain, rest

import graphio as tf
from graphio.model.export import SignatureSpec, build_model
from graphio.schema import container

D = tf.data.Dataset


@pytest.fixture(params=engines.NAMES)
def session(request: pytest.FixtureRequest) -> Any:
    engines.module(request.param)
    with tf.Graph().as_default(), tf.Session(request.param) as made:
        yield made


def test_an_initializer_begins_anew_also_midway(session: Any) -> None:
    iterator = D.range(3).make_initializable_iterator()
    element = iterator.get_next()
    with pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"):
        session.run(element)
    for _ in range(2):
        session.run(iterator.initializer)
        assert [session.run(element), session.run(element)] == [0, 1]
    assert rest(session, element) == [2]
    session.run(iterator.initializer)
    assert rest(session, element) == [0, 1, 2]


def test_the_end_is_an_error_of_the_iterators_operation(session: Any) -> None:
    element = D.range(0).make_one_shot_iterator().get_next(name="pull")
    assert (element.op.type, element.name) == ("IteratorGetNext", "pull:0")
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence") as caught:
        session.run(element + 1)
    assert caught.value.op is element.op


def test_an_initializer_reads_what_is_fed_and_an_element_what_variables_hold(session: Any) -> None:
    fed = tf.placeholder(tf.float32, [None])
    count = tf.placeholder(tf.int64, [])
    factor = tf.Variable(2.0)
    data = D.from_tensor_slices(fed).map(lambda x: x * factor).repeat(count)
    iterator = data.make_initializable_iterator()
    element = iterator.get_next()
    session.run(tf.global_variables_initializer())
    session.run(iterator.initializer, {fed: [1, 2], count: 2})
    assert session.run(element) == 2
    session.run(factor.assign(10.0))
    assert rest(session, element) == [20, 10, 20]
    session.run(iterator.initializer, {fed: [3], count: 1})
    assert rest(session, element) == [30]
    with pytest.raises(tf.errors.InvalidArgumentError, match="must feed a value"):
        session.run(iterator.initializer)


def test_a_one_shot_iterator_captures_constants_only(session: Any) -> None:
    fed, variable = tf.placeholder(tf.int64, [], name="fed"), tf.Variable(1, name="held")
    with pytest.raises(ValueError, match=r"Cannot capture a placeholder \(name:fed, "):
        D.range(3).map(lambda x: x + fed).make_one_shot_iterator()
    with pytest.raises(ValueError, match=r"Cannot capture a placeholder \(name:fed, "):
        D.range(3).batch(fed).make_one_shot_iterator()
    with pytest.raises(ValueError, match=r"Cannot capture a stateful node \(name:held"):
        D.range(3).map(lambda x: tf.cast(x, tf.int32) + variable).make_one_shot_iterator()
    with pytest.raises(ValueError, match="Cannot capture a stateful node"):
        D.from_tensors(tf.random_uniform([])).make_one_shot_iterator()
    shift = tf.constant(10, tf.int64) * 2
    element = D.range(2).map(lambda x: x + shift).make_one_shot_iterator().get_next()
    assert rest(session, element) == [20, 21]


def test_a_one_shot_iterator_has_no_initializer() -> None:
    with pytest.raises(ValueError, match="does not have an initializer"):
        _ = D.range(1).make_one_shot_iterator().initializer


def test_each_get_next_is_a_step_and_one_get_next_is_one_for_all_fetches(session: Any) -> None:
    iterator = D.range(10).make_one_shot_iterator()
    one, two = iterator.get_next(), iterator.get_next()
    assert sorted(session.run([one, two])) == [0, 1]
    first, doubled = session.run([one, one * 2])
    assert (first, doubled) == (2, 4)


def test_every_session_begins_at_the_beginning(session: Any) -> None:
    element = D.range(5).make_one_shot_iterator().get_next()
    assert [session.run(element) for _ in range(2)] == [0, 1]
    with tf.Session(session.sess_str) as other:
        assert other.run(element) == 0
    assert session.run(element) == 2


def test_a_reinitializable_iterator_goes_from_dataset_to_dataset(session: Any) -> None:
    one, two = D.range(2), D.range(10, 12)
    iterator = tf.data.Iterator.from_structure(one.output_types, one.output_shapes)
    element = iterator.get_next()
    first, second = iterator.make_initializer(one), iterator.make_initializer(two, name="second")
    assert second.name == "second"
    with pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"):
        session.run(element)
    for initializer, expected in ((first, [0, 1]), (second, [10, 11]), (first, [0, 1])):
        session.run(initializer)
        assert rest(session, element) == expected


def test_a_dataset_of_other_elements_is_refused_by_a_reinitializable_iterator() -> None:
    iterator = tf.data.Iterator.from_structure(tf.int64, tf.TensorShape([]))
    with pytest.raises(TypeError, match="the types differ"):
        iterator.make_initializer(D.from_tensors(1.0))
    with pytest.raises(TypeError, match="Expected output shapes compatible with"):
        iterator.make_initializer(D.range(4).batch(2))
    with pytest.raises(ValueError, match="use make_initializer"):
        _ = iterator.initializer


def test_a_string_handle_feeds_one_of_several_iterators(session: Any) -> None:
    handle = tf.placeholder(tf.string, [])
    train, test = D.range(3).repeat(), D.range(100, 103)
    chosen = tf.data.Iterator.from_string_handle(handle, train.output_types, train.output_shapes)
    element = chosen.get_next()
    train_iterator = train.make_one_shot_iterator()
    test_iterator = test.make_initializable_iterator()
    first, second = session.run([train_iterator.string_handle(), test_iterator.string_handle()])
    assert session.run(element, {handle: first}) == 0
    with pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"):
        session.run(element, {handle: second})
    session.run(test_iterator.initializer)
    assert [session.run(element, {handle: h}) for h in (second, first, second)] == [100, 1, 101]
    with pytest.raises(tf.errors.InvalidArgumentError, match="names no iterator"):
        session.run(element, {handle: b"nothing"})


def test_a_string_handle_of_other_elements_is_refused(session: Any) -> None:
    other = D.from_tensors(1.5).make_one_shot_iterator().string_handle()
    chosen = tf.data.Iterator.from_string_handle(other, tf.int64, [])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Data type mismatch"):
        session.run(chosen.get_next())


def test_an_initializer_may_stand_among_the_tables(session: Any) -> None:
    iterator = D.range(2).make_initializable_iterator()
    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    session.run(tf.group(tf.global_variables_initializer(), tf.tables_initializer()))
    assert rest(session, iterator.get_next()) == [0, 1]
    with tf.Graph().as_default():
        assert tf.tables_initializer().name == "init_all_tables"


def test_python_neither_iterates_nor_counts() -> None:
    with pytest.raises(RuntimeError, match="cannot be iterated over"):
        list(D.range(3))
    with pytest.raises(TypeError, match="has no len"):
        len(D.range(3))


def test_an_iterator_knows_its_elements() -> None:
    data = D.from_tensor_slices({"a": np.zeros([3, 2], np.float32)}).batch(2)
    iterator = tf.data.make_initializable_iterator(data)
    assert iterator.output_types == {"a": tf.float32}
    assert str(iterator.output_shapes["a"]) == "(?, 2)"
    assert iterator.get_next()["a"].shape.as_list() == [None, 2]
    assert tf.data.get_output_types(iterator) == {"a": tf.float32}


def test_training_steps_until_the_data_ends(session: Any) -> None:
    xs = np.random.RandomState(0).randn(64, 3).astype(np.float32)
    ys = xs @ np.float32([[1], [-2], [0.5]])
    data = D.from_tensor_slices((xs, ys)).shuffle(64, seed=0).repeat(30).batch(16)
    x, y = data.make_one_shot_iterator().get_next()
    w = tf.Variable(tf.zeros([3, 1]))
    step = tf.train.GradientDescentOptimizer(0.2).minimize(
        tf.reduce_mean((tf.matmul(x, w) - y) ** 2)
    )
    session.run(tf.global_variables_initializer())
    count = 0
    with pytest.raises(tf.errors.OutOfRangeError):
        while True:
            session.run(step)
            count += 1
    assert count == 120
    np.testing.assert_allclose(session.run(w)[:, 0], [1, -2, 0.5], atol=1e-3)


def test_a_failing_function_names_the_transformation_and_the_users_line(session: Any) -> None:
    data = D.range(3).map(lambda x: tf.gather([1, 2], x))
    element = data.make_one_shot_iterator().get_next()
    assert [session.run(element) for _ in range(2)] == [1, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[map \(test_data_iterators.py:"):
        session.run(element)


def test_functions_run_in_both_engines(session: Any) -> None:
    def function(x: Any, d: Any) -> Any:
        total = tf.while_loop(lambda i, t: i < x, lambda i, t: (i + 1, t + i), [np.int64(0), x])[1]
        return [total, {"s": d["s"], "big": tf.cond(x > 1, lambda: x * 100, lambda: x)}]

    def make() -> Any:
        return D.zip((D.range(3), D.from_tensor_slices({"s": ["a", "b", "c"]}))).map(function)

    expected = [
        (0, {"s": b"a", "big": 0}),
        (1, {"s": b"b", "big": 1}),
        (3, {"s": b"c", "big": 200}),
    ]
    assert drain(make, session.sess_str) == expected


def test_variables_that_functions_make_belong_to_the_graph_around(session: Any) -> None:
    def counted(x: Any) -> Any:
        with tf.variable_scope("inside", reuse=tf.AUTO_REUSE):
            count = tf.get_variable("v", (), tf.int64, tf.zeros_initializer())
        return count.assign_add(x + 1)

    with tf.variable_scope("around"):
        iterator = D.range(3).map(counted).map(counted).make_initializable_iterator()
    assert [v.op.name for v in tf.global_variables()] == ["around/inside/v"]
    following = iterator.get_next()
    session.run([tf.global_variables_initializer(), iterator.initializer])
    assert [session.run(following) for _ in range(2)] == [3, 11]
    assert session.run(tf.global_variables()) == [11]
    with pytest.raises(ValueError, match="or a function of a dataset"):
        D.range(3).map(lambda x: tf.Variable(x))


def test_a_dataset_may_be_used_by_several_iterators(session: Any) -> None:
    data = D.range(3)
    one = data.make_one_shot_iterator().get_next()
    two = data.make_one_shot_iterator().get_next()
    assert (rest(session, one), rest(session, two)) == ([0, 1, 2], [0, 1, 2])


def test_one_get_next_in_a_loop_steps_once_an_iteration(session: Any) -> None:
    iterator = D.range(10).make_one_shot_iterator()
    total = tf.while_loop(
        lambda i, t: i < 4, lambda i, t: (i + 1, t + iterator.get_next()), [0, np.int64(0)]
    )[1]
    assert plain(session.run(total)) == 6


def test_a_saved_model_names_its_iterators_and_runs_when_they_are_rebound(session: Any) -> None:
    element = D.range(3).make_one_shot_iterator().get_next()
    spec = SignatureSpec("step", [], [("y", element * 2)])
    model, arrays = build_model(session.graph, [spec])
    assert [(r.name, r.iterator.source) for r in model.resource] == [("OneShotIterator",) * 2]
    engine = engines.module(session.sess_str)
    data = container.pack(model, arrays)
    with pytest.raises(tf.errors.FailedPreconditionError, match="'OneShotIterator' is not bound"):
        engine.load(data).signature().run([])
    stream = iter([np.int64(7)])
    bound = engine.load(data, host={"OneShotIterator": lambda inputs: [next(stream)]}).signature()
    assert bound.run([])[0] == 14
    with pytest.raises(tf.errors.OutOfRangeError):
        bound.run([])


def test_a_function_may_step_another_iterator(session: Any) -> None:
    inner = D.range(10, 20).make_one_shot_iterator()
    outer = D.range(2).map(lambda x: x + inner.get_next()).make_one_shot_iterator()
    assert rest(session, outer.get_next()) == [10, 12]
