"""Permutations, tensordot and reductions whose axes or ranks only a run knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from value_cases import TARGETS

import graphio as tf

RANDOM = np.random.RandomState(0)
X, Y = RANDOM.rand(2, 3, 4), RANDOM.rand(4, 3, 5)
STRINGS = np.array([[[b"a", b"b"], [b"c", b"d"]], [[b"e", b"f"], [b"g", b"h"]]])
INVALID = tf.errors.InvalidArgumentError
RANKS = pytest.mark.parametrize("known", [True, False], ids=["known rank", "open rank"])
BOTH = pytest.mark.parametrize("target", TARGETS)


def _alike(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)
        assert np.shape(one) == np.shape(other)


@BOTH
def test_a_tensor_of_any_rank_is_transposed_by_a_fed_permutation(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x, perm = tf.placeholder(tf.float64), tf.placeholder(tf.int32)
        y = tf.transpose(x, perm)
        gradient = tf.gradients(y * y, x)[0]
        for value in (X, X[:, :0], X[0], X[0, 0, 0]):
            order = list(range(value.ndim))[::-1]
            order = [*order[1:], *order[:1]]
            found = session.run([y, gradient], {x: value, perm: np.array(order, np.int32)})
            _alike(found, [value.transpose(order), 2 * value])
        for wrong in ([0, 1], [0, 0, 1], [0, 1, 3]):
            with pytest.raises(INVALID):
                session.run(y, {x: X, perm: wrong})


#: axes of tensordot: as Python numbers, and as a tensor
AXES: dict[str, tuple[Any, Any]] = {
    "a number": (1, 1),
    "none": (0, 0),
    "two rows": ([[2, 1], [0, 1]], None),
    "two numbers": ([[-1], [0]], None),
}


@BOTH
@RANKS
@pytest.mark.parametrize("name", AXES)
def test_products_over_axes_that_are_fed(name: str, known: bool, target: str) -> None:
    axes, number = AXES[name]
    with tf.Graph().as_default(), tf.Session(target) as session:
        fed = tf.placeholder(tf.int32)
        x, y = (tf.placeholder(tf.float64, v.shape if known else None) for v in (X, Y))
        matmul = tf.tensordot(x, y, fed if number is None else number)
        found = [matmul, *tf.gradients(matmul * matmul, [x, y])]
        a, b = tf.constant(X), tf.constant(Y)
        fixed = tf.tensordot(a, b, axes)
        expected = session.run([fixed, *tf.gradients(fixed * fixed, [a, b])])
        _alike(session.run(found, {x: X, y: Y, fed: axes}), expected)


@BOTH
def test_axes_of_a_matmul_may_be_tensors_in_lists(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        axis = tf.placeholder(tf.int32, [])
        known = tf.tensordot(X, Y, tf.constant([[2, 1], [0, 1]]))
        assert known.shape == [2, 5]
        found = session.run([known, tf.tensordot(X, Y, [[axis], [0]])], {axis: 2})
        _alike(found, [np.tensordot(X, Y, [[2, 1], [0, 1]]), np.tensordot(X, Y, [[2], [0]])])
        for wrong in (3, 0):  # there is no such axis, and one of another size
            with pytest.raises(INVALID):
                session.run(tf.tensordot(X, Y, [[axis], [0]]), {axis: wrong})


def test_a_negative_number_of_axes_is_refused() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="expected 0 or more"):
        tf.tensordot(tf.placeholder(tf.float64), Y, -1)


@BOTH
@RANKS
def test_strings_are_joined_along_fed_axes(known: bool, target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        strings = tf.placeholder(tf.string, STRINGS.shape if known else None)
        axes = tf.placeholder(tf.int32)
        for keep in (False, True):
            joined = tf.reduce_join(strings, axes, keepdims=keep, separator="-")
            for listed in ([0], [1, 0], [0, 1], [0, -1, 1], -1):
                fixed = tf.reduce_join(STRINGS, listed, keepdims=keep, separator="-")
                one, other = session.run([joined, fixed], {strings: STRINGS, axes: listed})
                np.testing.assert_array_equal(one, other)
                assert np.shape(one) == np.shape(other)
            for wrong, words in (([0, 0], "names an axis twice"), ([3], "outside")):
                with pytest.raises(INVALID, match=words):
                    session.run(joined, {strings: STRINGS, axes: wrong})
        assert session.run(tf.reduce_join(strings), {strings: STRINGS}) == b"abcdefgh"


@BOTH
@RANKS
def test_singular_values_of_matrices_of_open_sizes(known: bool, target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        for value in (X, X[0], X[0].T):
            x = tf.placeholder(tf.float64, [None] * value.ndim if known else None)
            s, u, v = tf.svd(x)
            fixed = tf.constant(value)
            expected = tf.svd(fixed, compute_uv=False)
            pairs = [[s, tf.gradients(s, x)[0]], [expected, tf.gradients(expected, fixed)[0]]]
            values, left, right = session.run([s, u, v], {x: value})
            _alike(*session.run(pairs, {x: value}))
            rebuilt = (left * values[..., None, :]) @ np.swapaxes(right, -1, -2)
            _alike([rebuilt], [value])


@BOTH
@RANKS
def test_ranks_and_inverses_of_matrices_of_open_sizes(known: bool, target: str) -> None:
    poor = np.array([[[2.0, 3, -2, 2], [-1, 1, -2, 4], [3, 2, 0, -2]], np.eye(3, 4)])
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(tf.float64, [None, None, None] if known else None)
        rank, inverse = tf.linalg.matrix_rank(x), tf.linalg.pinv(x)
        for value in (poor, np.swapaxes(poor, 1, 2)):
            found, inverted = session.run([rank, inverse], {x: value})
            assert found.tolist() == [2, 3]
            np.testing.assert_allclose(inverted, np.linalg.pinv(value), atol=1e-12)
        if not known:
            with pytest.raises(INVALID, match="rank"):
                session.run(rank, {x: [1.0]})


@BOTH
def test_indices_of_fewer_axes_choose_slices_row_by_row(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        rows = tf.batch_gather(X, tf.constant([1]))
        planes = tf.batch_gather(X, tf.constant([[2, 0], [1, 1]]))
        _alike(session.run([rows, planes]), [X[[1]], np.stack([X[0][[2, 0]], X[1][[1, 1]]])])
        open_rows = tf.placeholder(tf.int32, [None, None])
        assert tf.batch_gather(np.zeros([1, 3]), open_rows).shape.as_list() == [1, None]


@BOTH
def test_sequences_of_a_rank_that_is_fed_are_reversed(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x, lengths = tf.placeholder(tf.float64), tf.placeholder(tf.int64, [None])
        for time, batch in ((1, 0), (0, 1), (2, 0), (-1, 1), (0, -1)):
            sizes = [1 + i for i in range(X.shape[batch])]
            sizes = [min(n, X.shape[time]) for n in sizes]
            found, known = (
                tf.reverse_sequence(v, lengths, seq_axis=time, batch_axis=batch) for v in (x, X)
            )
            gradient = tf.gradients(found * found, x)[0]
            one, other, slope = session.run([found, known, gradient], {x: X, lengths: sizes})
            np.testing.assert_array_equal(one, other)
            np.testing.assert_allclose(slope, 2 * X)
        same = tf.reverse_sequence(x, lengths, seq_axis=2, batch_axis=-1)
        with pytest.raises(INVALID):
            session.run(same, {x: X, lengths: [1] * 4})


@BOTH
def test_indices_of_any_rank_say_where_rows_are_stitched(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        where, rows = tf.placeholder(tf.int32), tf.placeholder(tf.float64)
        mixed = tf.dynamic_stitch([where, [3]], [rows, [[7.0, 8.0]]])
        assert mixed.shape.as_list() == [None, 2]
        alone = tf.dynamic_stitch([where], [rows])
        assert tf.dynamic_stitch([where, 1], [40, 60]).shape.as_list() == [None]
        gradient = tf.gradients(mixed * mixed, rows)[0]
        values = np.arange(8.0).reshape(2, 2, 2)
        feeds = {where: [[0, 2], [1, 4]], rows: values}
        found = session.run([mixed, alone, gradient], feeds)
        expected = np.array([[0.0, 1], [4, 5], [2, 3], [7, 8], [6, 7]])
        _alike(found, [expected, np.where([[1], [1], [1], [0], [1]], expected, 0), 2 * values])
        one = session.run(alone, {where: 1, rows: [5.0, 6.0]})
        assert one.tolist() == [[0, 0], [5, 6]]


ROWS = np.array([[1.0, 2.0], [-np.inf, 4.0], [5.0, 6.0]], np.float32)
SORTED = {
    "sum": (tf.segment_sum, np.sum), "mean": (tf.segment_mean, np.mean),
    "max": (tf.segment_max, np.max), "min": (tf.segment_min, np.min),
    "prod": (tf.segment_prod, np.prod),
}  # fmt: skip
UNSORTED = {
    "sum": (tf.unsorted_segment_sum, np.sum), "mean": (tf.unsorted_segment_mean, np.mean),
    "max": (tf.unsorted_segment_max, np.max), "min": (tf.unsorted_segment_min, np.min),
    "prod": (tf.unsorted_segment_prod, np.prod),
    "sqrt_n": (tf.unsorted_segment_sqrt_n, lambda x, axis: x.sum(axis) / np.sqrt(len(x))),
}  # fmt: skip


@BOTH
def test_segments_of_ranks_that_only_the_run_knows(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x, ids = tf.placeholder(tf.float32), tf.placeholder(tf.int32)
        ascending = {n: f(x, ids) for n, (f, _) in SORTED.items()}
        others = {n: f(x, ids, 2) for n, (f, _) in UNSORTED.items()}
        for data in (ROWS, ROWS[:, 0], ROWS[:, :, None]):
            feed = {x: data, ids: [0, 1, 1]}
            for made, table in ((ascending, SORTED), (others, UNSORTED)):
                found = session.run(made, feed)
                for name, (_, reduce) in table.items():
                    expected = [reduce(data[:1], axis=0), reduce(data[1:], axis=0)]
                    np.testing.assert_allclose(found[name], expected, rtol=1e-6, err_msg=name)
        tiled = session.run(others, {x: ROWS[::2], ids: [[0, 1], [1, -1]]})
        np.testing.assert_allclose(tiled["mean"], [1, 3.5])


@BOTH
def test_the_largest_of_endless_numbers_is_endless(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = np.array([-np.inf, np.inf, 1], np.float32)
        made = [tf.segment_max(x, [0, 1, 3]), tf.segment_min(x, [0, 1, 3])]
        assert session.run(made[0]).tolist() == [-np.inf, np.inf, 0, 1]
        assert session.run(made[1]).tolist() == [-np.inf, np.inf, 0, 1]


@BOTH
def test_numbers_of_sorted_segments_are_checked_by_the_run(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        ids = tf.placeholder(tf.int32)
        for segments, _ in SORTED.values():
            made = segments(ROWS, ids)
            for wrong in ([-1, 0, 1], [1, 0, 1], [[0, 1, 1]], 0):
                with pytest.raises(INVALID):
                    session.run(made, {ids: wrong})


IMAGES: dict[str, Any] = {
    "lrn": tf.nn.lrn,
    "dilation2d": lambda x: tf.nn.dilation2d(
        x, tf.ones([2, 2, 2]), strides=[1] * 4, rates=[1] * 4, padding="SAME"
    ),
    "per_image_standardization": tf.image.per_image_standardization,
}


@BOTH
@pytest.mark.parametrize("name", IMAGES)
def test_images_of_unknown_rank_give_what_known_ones_do(name: str, target: str) -> None:
    image = np.arange(32, dtype=np.float32).reshape(1, 4, 4, 2)
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(tf.float32)
        found, expected = session.run([IMAGES[name](x), IMAGES[name](image)], {x: image})
        np.testing.assert_array_equal(found, expected)
        with pytest.raises(INVALID):
            session.run(IMAGES[name](x), {x: image[0, 0]})


@BOTH
@pytest.mark.parametrize("options", [{}, {"reverse": True}, {"exclusive": True}])
def test_the_gradient_of_cumulative_products_of_unknown_rank(options: Any, target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(tf.float64)
        for axis in (0, -1):
            found = tf.cumprod(x, axis, **options)
            known = tf.cumprod(tf.constant(X), axis, **options)
            made = [found, tf.gradients(found * found, x)[0], known]
            [source] = known.op.inputs[:1]
            made.append(tf.gradients(known * known, source)[0])
            values = session.run(made, {x: X})
            _alike(values[:2], values[2:])
