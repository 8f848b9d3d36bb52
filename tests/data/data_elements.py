"""The elements of a dataset in tests, and sparse elements to compare with."""

from __future__ import annotations

from typing import Any

import numpy as np

import graphio as tf


def elements(dataset: Any, target: str = "runtime") -> list[Any]:
    """All elements of a dataset that was made in the default graph."""
    iterator = tf.data.make_initializable_iterator(dataset)
    following, found = iterator.get_next(), []
    with tf.Session(target) as session:
        session.run(iterator.initializer)
        while True:
            try:
                found.append(session.run(following))
            except tf.errors.OutOfRangeError:
                return found


def rows_of(value: Any) -> list[tuple[Any, ...]]:
    return [(r.indices.tolist(), r.values.tolist(), r.dense_shape.tolist()) for r in value]


SPARSE_ROWS = [([[1]], [5], [3]), ([], [], [3]), ([[0], [2]], [7, 6], [3])]
SPARSE = tf.SparseTensorValue([[0, 1], [2, 0], [2, 2]], np.array([5, 7, 6]), [3, 3])


def nan_at(*indices: int) -> Any:
    """A dataset of 0 to 7 whose elements at the given indices fail."""
    numbers = np.arange(8, dtype=np.float32)
    numbers[list(indices)] = np.nan
    data = tf.data.Dataset.from_tensor_slices(numbers)
    return data.map(lambda x: tf.check_numerics(x, "no number"))
