"""Sparse tensors as elements of datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data_elements import SPARSE, SPARSE_ROWS, elements, rows_of
from value_cases import TARGETS

import graphio as tf


@pytest.mark.parametrize("target", TARGETS)
def test_a_sparse_value_is_an_element(target: str) -> None:
    value = tf.SparseTensorValue([[0, 1]], np.array([5], np.int32), [1, 2])
    with tf.Graph().as_default():
        (found,) = elements(tf.data.Dataset.from_tensors({"x": (value, 1)}), target)
    assert found["x"][0].values.tolist() == [5] and found["x"][1] == 1
    assert found["x"][0].dense_shape.tolist() == [1, 2]


def test_a_function_may_give_a_sparse_value() -> None:
    with tf.Graph().as_default():
        numbers = tf.data.Dataset.range(3)
        made = numbers.map(lambda i: tf.SparseTensorValue([[0]], tf.reshape(i, [1]), [1]))
        assert [e.values.tolist() for e in elements(made)] == [[0], [1], [2]]


def test_a_function_may_give_sparse_values_that_differ_in_their_sizes() -> None:
    def ones(count: Any) -> Any:
        indices = tf.reshape(tf.range(count), [-1, 1])
        return tf.SparseTensor(indices, tf.ones_like(indices[:, 0]), tf.reshape(count + 1, [1]))

    with tf.Graph().as_default():
        (batch,) = elements(tf.data.Dataset.range(3).map(ones).batch(3))
        one = tf.data.Dataset.range(4).map(
            lambda i: tf.SparseTensor([[0]], tf.reshape(i, [1]), [1])
        )
        pairs = elements(one.batch(2).batch(2))
    assert batch.indices.tolist() == [[1, 0], [2, 0], [2, 1]]
    assert batch.values.tolist() == [1, 1, 1] and batch.dense_shape.tolist() == [3, 3]
    assert pairs[0].indices.tolist() == [[i, j, 0] for i in (0, 1) for j in (0, 1)]
    assert pairs[0].values.tolist() == [0, 1, 2, 3] and pairs[0].dense_shape.tolist() == [2, 2, 1]


@pytest.mark.parametrize("target", TARGETS)
def test_a_sparse_value_has_rows(target: str) -> None:
    data = tf.data.Dataset
    with tf.Graph().as_default():
        assert rows_of(elements(data.from_tensor_slices(SPARSE), target)) == SPARSE_ROWS
        joined = elements(data.from_tensor_slices({"s": SPARSE, "d": [1, 2, 3]}), target)
        assert rows_of(e["s"] for e in joined) == SPARSE_ROWS and [e["d"] for e in joined] == [
            1,
            2,
            3,
        ]
        assert (
            rows_of(elements(data.from_tensors(SPARSE).repeat(2).unbatch(), target))
            == SPARSE_ROWS * 2
        )
        reordered = tf.SparseTensorValue([[2, 0], [0, 1], [2, 2]], np.array([7, 5, 6]), [3, 3])
        assert rows_of(elements(data.from_tensor_slices(reordered), target)) == SPARSE_ROWS
        tuples = elements(data.from_sparse_tensor_slices(tf.SparseTensor(*SPARSE)), target)
        assert [tuple(part.tolist() for part in t) for t in tuples] == SPARSE_ROWS


def test_rows_of_sparse_values_come_together_again() -> None:
    with tf.Graph().as_default():
        slices = tf.data.Dataset.from_tensor_slices(SPARSE)
        (again,) = elements(slices.batch(3))
        windows = slices.window(2).flat_map(lambda window: window.batch(2))
        assert rows_of([again])[0] == ([*map(list, SPARSE[0])], [5, 7, 6], [3, 3])
        assert [w.dense_shape.tolist() for w in elements(windows)] == [[2, 3], [1, 3]]


@pytest.mark.parametrize(
    ("parts", "kind", "words"),
    [
        (([[1, 0], [0, 0]], [1, 2], [2, 2]), tf.errors.UnimplementedError, "must be ordered"),
        (([[0, 0]], [1, 2], [2, 2]), tf.errors.InvalidArgumentError, "do not fit each other"),
        (([[0, 0]], [1], [2]), tf.errors.InvalidArgumentError, "do not fit each other"),
        (([[2, 0]], [1], [2, 2]), tf.errors.InvalidArgumentError, "in another row"),
        (([[-1, 0]], [1], [2, 2]), tf.errors.InvalidArgumentError, "in another row"),
    ],
)
def test_what_has_no_sparse_rows_is_refused(parts: Any, kind: Any, words: str) -> None:
    with tf.Graph().as_default():
        shapes = [[None, None], [None], [None]]
        fed = [tf.placeholder(tf.int64, shape) for shape in shapes]
        made = tf.data.Dataset.from_sparse_tensor_slices(tf.SparseTensor(*fed))
        iterator = tf.data.make_initializable_iterator(made)
        with tf.Session() as session, pytest.raises(kind, match=words):
            session.run(iterator.initializer, dict(zip(fed, parts, strict=True)))
        with pytest.raises(TypeError, match="`sparse_tensor` must be"):
            tf.data.Dataset.from_sparse_tensor_slices([1])
        with pytest.raises(ValueError, match="component 0 is a scalar"):
            scalar = tf.SparseTensorValue(np.zeros([1, 0]), [1], np.zeros([0]))
            tf.data.Dataset.from_tensor_slices(scalar)


def test_a_sparse_value_is_a_state(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        data = tf.data.Dataset.range(3).map(
            lambda i: tf.SparseTensor([[0, 0]], tf.reshape(i, [1]), [1, 1])
        )
        start = {"s": tf.SparseTensorValue([[0, 0]], np.array([7]), [1, 1]), "n": np.int64(0)}
        last = data.reduce(start, lambda state, s: {"s": s, "n": state["n"] + 1}, name="last")
        found = session.run(last)
        assert (found["s"].values.tolist(), found["n"]) == ([2], 3)
        with pytest.raises(tf.errors.InvalidArgumentError, match="gives no tensors"):
            data.reduce(0, lambda state, s: ())


def test_an_iterator_of_sparse_values_is_declared_by_its_class() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        made = tf.data.Dataset.from_tensors((SPARSE, 1))
        types, shapes = made.output_types, made.output_shapes
        assert (types, made.output_classes) == (
            (tf.int64, tf.int32),
            (tf.SparseTensor, tf.Tensor),
        )
        assert [s.ndims for s in shapes] == [2, 0]
        iterator = tf.data.Iterator.from_structure(types, shapes, None, made.output_classes)
        following = iterator.get_next()
        session.run(iterator.make_initializer(made))
        assert rows_of([session.run(following)[0]])[0][1] == [5, 7, 6]
        text = iterator.string_handle()
        assert iterator.string_handle() is text and text.graph is graph
        assert iterator.string_handle("mine").op.name == "mine"
        named = tf.data.Iterator.from_string_handle(text, types, shapes, made.output_classes)
        session.run(iterator.make_initializer(made))
        assert session.run(named.get_next())[1] == 1
        dense = tf.data.Iterator.from_string_handle(text, types, shapes)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Data type mismatch"):
            session.run(dense.get_next())
