"""tf.register_tensor_conversion_function: what TensorFlow 2.21 gives for the same classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphio as tf
from graphio.framework import conversions


@pytest.fixture(autouse=True)
def a_graph_and_registry_of_its_own(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(conversions._Registry, "rows", list(conversions._Registry.rows))
    monkeypatch.setattr(conversions._Registry, "classes", conversions._Registry.classes)
    with tf.Graph().as_default():
        yield


class Money:
    """A class of a program."""


class Dollars(Money):
    """A subclass."""


class Row(list[int]):
    """A list, which converts itself."""


def number(value: float, known: bool = True) -> Any:
    def convert(of: Any, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
        return tf.constant(value, dtype or tf.float32) if known else NotImplemented

    return convert


def converted(value: Any) -> Any:
    with tf.Session() as session:
        return session.run(tf.convert_to_tensor(value))


def test_of_equal_priorities_the_first_conversion_counts() -> None:
    tf.register_tensor_conversion_function(Money, number(1.0))
    tf.register_tensor_conversion_function(Money, number(2.0))
    tf.register_tensor_conversion_function(Dollars, number(3.0))
    assert converted(Money()) == converted(Dollars()) == 1.0
    tf.register_tensor_conversion_function(Dollars, number(4.0), priority=50)
    assert converted(Dollars()) == 4.0 and converted(Money()) == 1.0
    with tf.Session() as session:
        assert session.run(tf.constant(1.0) + Dollars()) == 5.0
        assert session.run(tf.stack([Money(), tf.constant(7.0)])).tolist() == [1.0, 7.0]


def test_a_conversion_may_leave_a_value_to_the_next_one() -> None:
    tf.register_tensor_conversion_function((Money, Row), number(0.0, known=False), 10)
    tf.register_tensor_conversion_function(Money, number(5.0))
    assert converted(Money()) == 5.0


def test_lists_convert_themselves_but_for_an_earlier_conversion() -> None:
    tf.register_tensor_conversion_function(Row, number(7.0))
    assert converted(Row([1, 2])).tolist() == [1, 2]
    tf.register_tensor_conversion_function(Row, number(8.0), 99)
    assert converted(Row([1, 2])) == 8.0


@pytest.mark.parametrize(
    ("base", "function", "text"),
    [
        (int, number(1.0), "Cannot register conversions for Python numeric types"),
        (np.ndarray, number(1.0), "Cannot register conversions for Python numeric types"),
        ("x", number(1.0), "`base_type` must be a type or a tuple of types. Obtained: x"),
        (Money, 3, "`conversion_func` must be callable. Received 3"),
    ],
)
def test_what_is_not_a_class_or_a_function_is_refused(base: Any, function: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        tf.register_tensor_conversion_function(base, function)


def test_a_conversion_gives_a_tensor_of_the_requested_dtype() -> None:
    def of_float(of: Any, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
        return tf.constant(1.0)

    tf.register_tensor_conversion_function(Dollars, of_float)
    with pytest.raises(RuntimeError, match="requested = int32, actual = float32"):
        tf.convert_to_tensor(Dollars(), tf.int32)
    tf.register_tensor_conversion_function(Money, lambda *given, **options: 3.0)
    with pytest.raises(RuntimeError, match=r"returned non-Tensor: 3\.0"):
        tf.convert_to_tensor(Money())


def test_the_preferred_dtype_is_taken_where_the_conversion_can() -> None:
    tf.register_tensor_conversion_function(Money, number(1.0))
    assert tf.convert_to_tensor(Money(), preferred_dtype=tf.float64).dtype == tf.float64
    assert tf.convert_to_tensor(Money(), preferred_dtype=tf.int32).dtype == tf.float32
