"""SparseConditionalAccumulator: means of gradients of some rows, in both engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@TARGETS
@pytest.mark.parametrize("reduction", ["MEAN", "SUM"])
def test_a_row_is_the_mean_of_the_gradients_that_have_it(target: str, reduction: str) -> None:
    random = np.random.default_rng(5)
    with tf.Graph().as_default(), tf.Session(target) as session:
        sums = tf.SparseConditionalAccumulator(
            tf.float64, shape=[None, 3], reduction_type=reduction
        )
        rows, values = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.float64)
        add = sums.apply_indexed_slices_grad(tf.IndexedSlices(values, rows))
        total, count = np.zeros((8, 3)), np.zeros((8, 1))
        for size in (3, 5, 2, 6):
            chosen = np.sort(random.permutation(8)[:size])
            given = random.normal(size=(size, 3))
            session.run(add, {rows: chosen, values: given})
            total[chosen] += given
            count[chosen] += 1
        assert session.run(sums.num_accumulated()) == 4
        found = session.run(sums.take_indexed_slices_grad(4))
        touched = np.flatnonzero(count)
        expected = (total / np.maximum(count, 1) if reduction == "MEAN" else total)[touched]
        np.testing.assert_array_equal(found.indices, touched)
        np.testing.assert_allclose(found.values, expected, rtol=1e-12)
        np.testing.assert_array_equal(found.dense_shape, [-1, 3])
        assert session.run(sums.num_accumulated()) == 0


@TARGETS
def test_rows_out_of_order_are_added_as_tensorflow_adds_them(target: str) -> None:
    # values of TensorFlow 2.21
    with tf.Graph().as_default(), tf.Session(target) as session:
        sums = tf.sparse.SparseConditionalAccumulator(tf.float32, reduction_type="SUM")
        first, second = sums.apply_grad([3, 1], [1.0, 2.0]), sums.apply_grad([1, 0], [5.0, 6.0])
        session.run(first)
        session.run(second)
        rows, values, shape = session.run(sums.take_grad(2))
        np.testing.assert_array_equal(rows, [1, 0, 3, 1])
        np.testing.assert_array_equal(values, np.float32([5.0, 6.0, 1.0, 2.0]))
        np.testing.assert_array_equal(shape, [-1])


@TARGETS
def test_gradients_of_an_earlier_step_are_dropped(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        sums = tf.SparseConditionalAccumulator(tf.float32)
        old, new = (sums.apply_grad([0], [2.0], local_step=step) for step in (0, 1))
        taken, types = sums.take_grad(1), [sums.num_accumulated().op.type, old.type]
        assert types == ["AccumulatorNumAccumulated", "SparseAccumulatorApplyGradient"]
        session.run(old)
        session.run(taken)
        session.run(old)
        assert session.run(sums.num_accumulated()) == 0
        session.run(new)
        assert session.run(sums.num_accumulated()) == 1


@pytest.mark.parametrize(
    "rows, values, shape, words",
    [
        ([0], [[[1.0], [2.0]]], [9], "expected shape rank at least 2, got 1"),
        ([0], [[[1.0], [2.0]]], [9, 3, 1], "expected shape dim 1 to be 2, got 3"),
        ([0, 9], [[[1.0], [2.0]]] * 2, None, "index of slice 1 exceeded limits of shape"),
        ([0], [[1.0]], None, "expected values dim 1 to be 2, got 1"),
        ([0], [1.0], None, "expected values rank at least 2, got 1"),
        ([[0]], [[[1.0], [2.0]]], None, "indices should be vector"),
        ([0, 1], [[[1.0], [2.0]]], None, "Input indices and values have 2 and 1 rows"),
        ([0], [[[1.0, 2.0], [3.0, 4.0]]], None, "expected values dim 2 to be 1, got 2"),
        ([0], [[1.0, 2.0]], None, "expected values rank 3, got 2"),
    ],
)
def test_a_gradient_that_does_not_fit_is_refused(
    rows: Any, values: Any, shape: Any, words: str
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        sums = tf.SparseConditionalAccumulator(tf.float64, shape=[9, 2])
        session.run(sums.apply_grad([1], [[[1.0], [2.0]]]))
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            session.run(sums.apply_grad(np.array(rows, int), values, shape))
        assert session.run(sums.num_accumulated()) == 1


@TARGETS
@pytest.mark.parametrize("shape", [None, [5, 2]])
def test_a_gradient_without_rows_counts(target: str, shape: Any) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        sums = tf.SparseConditionalAccumulator(tf.float32, shape=shape)
        nothing = sums.apply_grad(
            np.zeros([0], np.int64), np.zeros([0, 2], np.float32), local_step=9
        )
        one, taken = sums.apply_grad([1], [[1.0, 2.0]], local_step=9), sums.take_grad(3)
        for order in ([nothing, one, nothing], [one, nothing, nothing], [nothing, nothing, one]):
            for step in order:
                session.run(step)
            assert session.run(sums.num_accumulated()) == 3
            indices, values, _ = session.run(taken)
            assert (indices.tolist(), values.tolist()) == ([1], [[1.0, 2.0]])
