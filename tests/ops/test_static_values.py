"""tf.get_static_value: what is known of a tensor's numbers without a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphio as tf

X = np.arange(120.0).reshape(3, 5, 8)


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as made:
        yield made


KNOWN: dict[str, tuple[Callable[[], Any], Any]] = {
    "a constant": (lambda: tf.constant(X), X),
    "text": (lambda: tf.constant(["a", "b"]), np.array([b"a", b"b"], object)),
    "cast": (lambda: tf.cast(tf.constant(X), tf.int32), X.astype(np.int32)),
    "cast to bool": (lambda: tf.cast(tf.constant([0, 2]), tf.bool), np.array([False, True])),
    "concat": (lambda: tf.concat([X, X], 1), np.concatenate([X, X], 1)),
    "stack": (lambda: tf.stack([tf.constant(X), X + 1.0]), np.stack([X, X + 1.0])),
    "a part of unstack": (lambda: tf.unstack(tf.constant(X))[1], X[1]),
    "a part of split": (lambda: tf.split(tf.constant(X), [2, 6], 2)[1], X[:, :, 2:]),
    "fill": (lambda: tf.fill([100], -1.5), np.full(100, -1.5, np.float32)),
    "broadcast_to": (lambda: tf.broadcast_to(tf.constant("q"), [2]), np.array([b"q"] * 2, object)),
    "range": (lambda: tf.range(0.5, 3.0), np.array([0.5, 1.5, 2.5], np.float32)),
    "identity": (lambda: tf.identity(tf.stop_gradient(tf.constant(X))), X),
    "equal": (lambda: tf.equal([[0.0, 1.0]], [[0.0], [1.0]]), np.eye(2, dtype=bool)),
    "not_equal": (lambda: tf.not_equal(tf.constant(1.0), 2.0), np.True_),
    "expand_dims": (lambda: tf.expand_dims(tf.constant(X), 0), X[None]),
    "a shape": (lambda: tf.shape(X) + 1, np.array([4, 6, 9], np.int32)),
    "a value that is not a tensor": (lambda: 3.5, 3.5),
}


@pytest.mark.parametrize("what", KNOWN)
def test_a_value_that_follows_from_constants_is_known(what: str) -> None:
    build, expected = KNOWN[what]
    found = tf.get_static_value(build())
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    np.testing.assert_array_equal(found, expected)


UNKNOWN: dict[str, Callable[[], Any]] = {
    "a placeholder": lambda: tf.placeholder(tf.float32, [2]),
    "a variable": lambda: tf.Variable(1.0),
    "a variable's value": lambda: tf.Variable(1.0).value(),
    "part of a concat": lambda: tf.concat([[1.0], tf.placeholder(tf.float32, [1])], 0),
    "the axis of a concat": lambda: tf.concat([X, X], tf.placeholder(tf.int32, [])),
    "a random number": lambda: tf.random_uniform([2]) + 1.0,
}


@pytest.mark.parametrize("what", UNKNOWN)
def test_a_value_of_the_run_is_not_known(what: str) -> None:
    assert tf.get_static_value(UNKNOWN[what]()) is None


def test_of_a_stack_the_known_parts_can_be_had() -> None:
    stacked = tf.stack([X[0], tf.placeholder(tf.float64, [5, 8])])
    assert tf.get_static_value(stacked) is None
    first, second = tf.get_static_value(stacked, partial=True)
    np.testing.assert_array_equal(first, X[0])
    assert second is None
    parts = [tf.get_static_value(part, partial=True) for part in tf.unstack(stacked)]
    np.testing.assert_array_equal(parts[0], X[0])
    assert parts[1] is None
    halves = [tf.get_static_value(part, partial=True) for part in tf.split(stacked, 2)]
    np.testing.assert_array_equal(halves[0][0], X[0])
    assert halves[1].tolist() == [None]


def test_a_scalar_comparison_is_a_numpy_bool() -> None:
    assert tf.get_static_value(tf.equal(1, 1)) is np.True_
    assert tf.get_static_value(tf.not_equal(1, 1)) is np.False_


def test_the_value_is_the_programs_own() -> None:
    x = tf.constant([1.0, 2.0])
    found = tf.get_static_value(x)
    found[0] = 5.0
    assert tf.get_static_value(x).tolist() == [1.0, 2.0]


def test_a_long_chain_is_followed() -> None:
    x = tf.constant(X)
    for _ in range(3000):
        x = tf.identity(x)
    np.testing.assert_array_equal(tf.get_static_value(x), X)


def test_a_stack_of_parts_of_unknown_rank_knows_how_many_they_are() -> None:
    unknown = tf.placeholder(tf.float64)
    assert tf.stack([X, unknown], 1).shape.as_list() == [3, 2, 5, 8]
    assert tf.stack([unknown, unknown]).shape.ndims is None
