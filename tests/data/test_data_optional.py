"""tf.data.experimental.Optional and get_next_as_optional."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from data_elements import elements
from value_cases import TARGETS

import graphio as tf

D = tf.data.Dataset
Optional = tf.data.experimental.Optional
SPARSE = tf.SparseTensorValue([[0, 1]], np.array([7], np.int32), [2, 3])


def plain(value: Any) -> Any:
    """Arrays as lists, in dicts and tuples, too."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return np.asarray(value).tolist()


@pytest.mark.parametrize("target", TARGETS)
def test_an_optional_has_its_value_or_none(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target=target) as session:
        value = {"a": 37.0, "b": (np.array(["x"]), SPARSE)}
        spec = {
            "a": tf.TensorSpec([]),
            "b": (tf.TensorSpec([1], tf.string), tf.SparseTensorSpec([2, 3], tf.int32)),
        }
        full, empty = Optional.from_value(value), Optional.none_from_structure(spec)
        assert full.value_structure == spec == empty.value_structure
        assert tf.OptionalSpec(spec).is_compatible_with(full)
        assert tf.OptionalSpec.from_value(empty) == tf.OptionalSpec(spec)
        assert not tf.OptionalSpec(spec).is_compatible_with(tf.zeros([]))
        assert tf.OptionalSpec(spec).value_type is Optional
        assert session.run([full.has_value(), empty.has_value()]) == [True, False]
        found = session.run(full.get_value())
        assert plain(found) == {"a": 37, "b": ([b"x"], ([[0, 1]], [7], [2, 3]))}
        with pytest.raises(tf.errors.InvalidArgumentError, match="does not have a value"):
            session.run(empty.get_value())
        with pytest.raises(TypeError, match="none_from_structure: a component is"):
            Optional.none_from_structure(tf.int32)


@pytest.mark.parametrize("target", TARGETS)
def test_an_optional_holds_another_and_a_dataset(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target=target) as session:
        outer = Optional.from_value((Optional.from_value(5), D.range(4)))
        inside = tf.data.DatasetSpec(tf.TensorSpec([], tf.int64))
        assert outer.value_structure == (tf.OptionalSpec(tf.TensorSpec([], tf.int32)), inside)
        inner, data = outer.get_value()
        total = data.reduce(np.int64(0), lambda a, b: a + b)
        assert session.run([inner.has_value(), inner.get_value(), total]) == [True, 5, 6]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", ["one_shot", "initializable", "handle"])
def test_the_end_of_the_data_is_an_optional_without_a_value(kind: str, target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target=target) as session:
        data = D.range(2).map(lambda i: (i, tf.SparseTensor([[i]], [i + 1], [3])))
        if kind == "one_shot":
            iterator = data.make_one_shot_iterator()
        else:
            iterator = data.make_initializable_iterator()
        if kind == "handle":
            iterator = tf.data.Iterator.from_string_handle(
                iterator.string_handle(), data.output_types, data.output_shapes, data.output_classes
            )
        step = tf.data.experimental.get_next_as_optional(iterator)
        assert isinstance(step, Optional) and step.value_structure == data.element_spec
        has, value = step.has_value(), step.get_value()
        if kind != "one_shot":
            with pytest.raises(tf.errors.FailedPreconditionError):
                session.run(has)
            session.run(tf.get_default_graph().get_operation_by_name("MakeIterator"))
        for i in range(2):
            assert plain(session.run((has, value))) == (True, (i, ([[i]], [i + 1], [3])))
        for _ in range(2):
            assert not session.run(has)
            with pytest.raises(tf.errors.InvalidArgumentError, match="does not have a value"):
                session.run(value)
    with pytest.raises(TypeError, match="expected a tf.data.Iterator"):
        tf.data.experimental.get_next_as_optional(3)


@pytest.mark.parametrize("target", TARGETS)
def test_variables_are_assigned_also_at_the_end(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target=target) as session:
        count = tf.Variable(0, use_resource=True)
        data = D.range(2).map(lambda i: tf.cast(i, tf.int32) + count.assign_add(1))
        iterator = data.make_initializable_iterator()
        step = tf.data.experimental.get_next_as_optional(iterator)
        has, value = step.has_value(), step.get_value()
        session.run([tf.global_variables_initializer(), iterator.initializer])
        assert [session.run([has, value]) for _ in range(2)] == [[True, 1], [True, 3]]
        assert not session.run(has) and session.run(count) == 2


@pytest.mark.parametrize("target", TARGETS)
def test_an_optional_is_a_component_of_elements(target: str) -> None:
    with tf.Graph().as_default():
        spec = tf.TensorSpec([], tf.int64)

        def odd(i: Any) -> Any:
            return {"o": Optional.from_value(i), "n": Optional.none_from_structure(spec)}

        data = D.range(3).map(odd)
        assert data.element_spec == {"n": tf.OptionalSpec(spec), "o": tf.OptionalSpec(spec)}
        assert data.output_types == data.output_classes == data.output_shapes == data.element_spec
        back = data.map(lambda e: (e["o"].get_value(), e["n"].has_value()))
        assert elements(back, target) == [(0, False), (1, False), (2, False)]
        step = data.make_one_shot_iterator().get_next()
        with tf.Session(target=target) as session:
            assert session.run([step["o"].get_value(), step["n"].has_value()]) == [0, False]
        for bad in (lambda: data.batch(2), lambda: D.from_tensor_slices(Optional.from_value([1]))):
            with pytest.raises(TypeError, match="an Optional, which is neither"):
                bad()
