"""Axes that only a run knows give what known ones give, for known and unknown ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from value_cases import TARGETS

import graphio as tf

X = (np.random.RandomState(0).permutation(24).reshape(2, 3, 4) / 7).astype(np.float32)
INVALID = tf.errors.InvalidArgumentError
#: functions of a tensor and an axis
ALONG: dict[str, Any] = {
    "argmax": tf.argmax,
    "argmin": lambda x, axis: tf.argmin(x, axis, output_type=tf.int32),
    "cumsum": lambda x, axis: tf.cumsum(x, axis, exclusive=True),
    "cumprod": lambda x, axis: tf.cumprod(x, axis, reverse=True),
    "cumulative_logsumexp": tf.math.cumulative_logsumexp,
    "reverse": lambda x, axis: tf.reverse(x, [axis]),
    "expand_dims": tf.expand_dims,
    "moments": lambda x, axis: tf.nn.moments(x, [axis])[0],
    "weighted_moments": lambda x, axis: tf.nn.weighted_moments(x, [axis], tf.abs(x))[1],
    "sort": lambda x, axis: tf.sort(x, axis),
    "argsort": lambda x, axis: tf.argsort(x, axis, "DESCENDING"),
    "cross entropy": lambda x, axis: tf.nn.softmax_cross_entropy_with_logits_v2(
        tf.constant(X), x, axis
    ),
    "softmax": lambda x, axis: tf.nn.softmax(x, axis) * tf.range(4.0),
    "log_softmax": tf.nn.log_softmax,
    "concat": lambda x, axis: tf.concat([x, 2 * x], axis),
    "split": lambda x, axis: tf.split(x, 1, axis)[0],
    "gather": lambda x, axis: tf.gather(x, [[0, 1], [1, 1]], axis=axis),
    "roll": lambda x, axis: tf.roll(x, 5, axis),
}


def _results(y: tf.Tensor, x: tf.Tensor) -> list[tf.Tensor]:
    """The value, and where it has one the gradient of its squares."""
    if not y.dtype.is_floating:
        return [y]
    return [y, tf.convert_to_tensor(tf.gradients(y * y, x)[0])]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ALONG)
def test_a_fed_axis_gives_value_and_gradient_of_a_known_one(name: str, target: str) -> None:
    build = ALONG[name]
    with tf.Graph().as_default(), tf.Session(target) as session:
        fixed = tf.constant(X)
        expected = session.run({n: _results(build(fixed, n), fixed) for n in (-3, 1, 2)})
        for shape, rank in ((X.shape, []), (None, None)):
            x, axis = tf.placeholder(tf.float32, shape), tf.placeholder(tf.int32, rank)
            found = _results(build(x, axis), x)
            for number, values in expected.items():
                given = session.run(found, {x: X, axis: number})
                for one, other in zip(given, values, strict=True):
                    np.testing.assert_allclose(one, other, rtol=1e-5)
                    assert one.shape == other.shape
            with pytest.raises(INVALID):
                session.run(found[0], {x: X, axis: 4})


def test_no_more_is_known_of_shapes_than_their_ranks() -> None:
    x, axis = tf.zeros([2, 4]), tf.placeholder(tf.int32, [])
    assert tf.split(x, 2, axis)[0].shape.as_list() == [None, None]
    assert tf.concat([x, x], axis).shape.as_list() == [None, None]
    assert tf.gather(x, [[1]], axis=axis).shape.as_list() == [None, None, None]
    assert tf.argmax(x, axis).shape.as_list() == [None]
    assert tf.expand_dims(x, axis).shape.as_list() == [None, None, None]
    assert tf.nn.softmax(x, axis).shape.as_list() == [2, 4]
    assert tf.cumsum(x, axis).shape.as_list() == [2, 4]


@pytest.mark.parametrize("target", TARGETS)
def test_an_unknown_rank_takes_a_known_axis_or_all(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(tf.float32)
        loss = tf.nn.softmax_cross_entropy_with_logits_v2(x, x, axis=0)
        expected = tf.nn.softmax_cross_entropy_with_logits_v2(X, X, axis=0)
        pairs = [loss, tf.sort(x, 1), *tf.nn.moments(x, None)]
        fixed = [expected, tf.sort(X, 1), *tf.nn.moments(X, None)]
        for one, other in zip(*session.run([pairs, fixed], {x: X}), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5)
            assert np.shape(one) == np.shape(other)


def test_an_axis_that_is_known_builds_no_more_nodes_than_a_number() -> None:
    counts = []
    for axis in (1, tf.constant(1)):
        with tf.Graph().as_default() as graph:
            x = tf.placeholder(tf.float32, [2, 4])
            known = axis if isinstance(axis, int) else tf.constant(1)
            before = len(graph.get_operations())
            tf.nn.softmax(x, known)
            counts.append(len(graph.get_operations()) - before)
    assert counts[0] == counts[1] == 1


@pytest.mark.parametrize("target", TARGETS)
def test_what_cannot_be_joined_or_permuted_is_refused_by_the_run(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        axis, axes = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [None])
        both = tf.concat([tf.zeros([2, 3]), tf.zeros([3, 2])], axis)
        with pytest.raises(INVALID, match="sizes off the axis are not those of the first"):
            session.run(both, {axis: 0})
        loss = tf.nn.softmax_cross_entropy_with_logits(
            labels=tf.zeros([3, 2, 2]), logits=tf.zeros([2, 3, 2]), dim=axis - 1
        )
        with pytest.raises(INVALID, match="sizes off the axis are not those of the first"):
            session.run(loss, {axis: 0})
        transposed = tf.reverse(X, axes)
        np.testing.assert_array_equal(session.run(transposed, {axes: [0, -1]}), X[::-1, :, ::-1])
        np.testing.assert_array_equal(session.run(transposed, {axes: []}), X)
        with pytest.raises(INVALID, match="names an axis twice"):
            session.run(transposed, {axes: [0, -3]})


@pytest.mark.parametrize("target", TARGETS)
def test_rows_move_along_axes_and_by_shifts_that_are_fed(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        axes, shifts = tf.placeholder(tf.int32, [2]), tf.placeholder(tf.int32)
        moved = tf.roll(X, shifts, axes)
        given = {axes: [0, -1], shifts: [1, -3]}
        np.testing.assert_array_equal(session.run(moved, given), np.roll(X, [1, -3], [0, 2]))
        with pytest.raises(INVALID, match="a scalar or a vector"):
            session.run(moved, {**given, shifts: [[1, -3]]})
        one = tf.roll(tf.placeholder_with_default(X, None), -1, -2)
        np.testing.assert_array_equal(session.run(one), np.roll(X, -1, -2))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("build", [tf.sparse_reduce_sum, tf.sparse_reduce_max])
def test_sparse_values_are_reduced_along_fed_axes(build: Any, target: str) -> None:
    value = tf.SparseTensorValue([[0, 1], [1, 1], [1, 2]], [1.0, 2.0, 4.0], [2, 3])
    with tf.Graph().as_default(), tf.Session(target) as session:
        x, axes = tf.sparse_placeholder(tf.float32, [2, 3]), tf.placeholder(tf.int32, [None])
        open_, sums = build(x, axes, keepdims=True), {}
        for chosen in ([0], [-1], [0, 1]):
            sums = session.run([open_, build(x, chosen, keepdims=True)], {x: value, axes: chosen})
            np.testing.assert_array_equal(*sums)
        with pytest.raises(INVALID):
            session.run(open_, {x: value, axes: [2]})


@pytest.mark.parametrize("target", TARGETS)
def test_a_part_takes_what_is_left_of_an_axis_that_only_the_run_knows(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x, axis = tf.placeholder(tf.float32), tf.placeholder(tf.int32, [])
        long, sizes = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.int32, [2])
        fed = tf.split(long, sizes)
        by_axis, by_size = tf.split(x, [1, -1], axis), tf.split(long, [-1, 2])
        mixed = tf.split(X, [sizes[0], 2], axis=2)
        for number in (-3, 1, 2):
            found, expected = session.run(by_axis, {x: X, axis: number}), np.split(X, [1], number)
            assert all(map(np.array_equal, found, expected))
        rows = X.reshape(6, 4)
        assert all(map(np.array_equal, session.run(by_size, {long: rows}), np.split(rows, [4])))
        assert [part.shape for part in session.run(mixed, {sizes: [-1, 0]})] == [(2, 3, 2)] * 2
        for given, first in (([-1, 1], 5), ([2, -1], 2), ([0, 6], 0), ([-1, 6], 0)):
            found = session.run(fed, {long: rows, sizes: given})
            assert all(map(np.array_equal, found, np.split(rows, [first])))
        for wrong in ([-1, -1], [7, -1], [-1, 7]):
            with pytest.raises(INVALID, match=r"7|\[-1, -1\]|0 or more and sum to 6"):
                session.run(fed, {long: rows, sizes: wrong})
        assert by_size[1].shape.as_list() == [2, 4] and by_size[0].shape.as_list() == [None, 4]
        with pytest.raises(ValueError, match="more than one -1"):
            tf.split(long, [-1, -1])
