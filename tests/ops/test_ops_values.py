"""Results of the builders in a session, against numpy: the corners above all."""

from __future__ import annotations

import numpy as np
import pytest

import graphio as tf

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def value(tensor: object, feeds: object = None) -> np.ndarray:
    with tf.Session() as session:
        return session.run(tensor, feeds or {})


@pytest.fixture(autouse=True)
def _graph() -> object:
    with tf.Graph().as_default():
        yield


SIGNS = (np.array([7, -7, 7, -7, 6, -6]), np.array([2, 2, -2, -2, 3, -3]))


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_floordiv_and_mod_floor(dtype: str) -> None:
    a, b = (tf.constant(v.astype(dtype)) for v in SIGNS)
    np.testing.assert_array_equal(value(a // b), SIGNS[0] // SIGNS[1])
    np.testing.assert_array_equal(value(a % b), SIGNS[0] % SIGNS[1])
    np.testing.assert_array_equal(value(tf.div(a, b)), np.asarray(
        SIGNS[0] // SIGNS[1] if "int" in dtype else SIGNS[0] / SIGNS[1], dtype))  # fmt: skip


def test_floordiv_at_the_ends_of_int32() -> None:
    least = np.iinfo(np.int32).min
    a, b = (
        tf.constant([least, least, 2**31 - 1], tf.int32),
        tf.constant([3, 2**31 - 1, -2], tf.int32),
    )
    np.testing.assert_array_equal(value(a // b), [least // 3, -2, -(2**30)])


def test_small_arguments_of_expm1_and_log1p_keep_their_digits() -> None:
    x = np.array([1e-12, -1e-12, 1e-5, 0.0, 3.0, -0.9, 50.0])
    np.testing.assert_allclose(value(tf.expm1(tf.constant(x))), np.expm1(x), rtol=1e-14)
    np.testing.assert_allclose(value(tf.log1p(tf.constant(x))), np.log1p(x), rtol=1e-14)


def test_one_hot_out_of_range_is_off() -> None:
    found = value(tf.one_hot([0, -1, 2, 3], 3))
    np.testing.assert_array_equal(found, [[1, 0, 0], [0, 0, 0], [0, 0, 1], [0, 0, 0]])
    found = value(tf.one_hot([1, -2], 2, on_value=5.0, off_value=-1.0, axis=0))
    np.testing.assert_array_equal(found, [[-1, -1], [5, -1]])


def test_integer_means_truncate() -> None:
    assert value(tf.reduce_mean(tf.constant([1, 2]))) == 1
    assert value(tf.reduce_mean(tf.constant([-1, -2]))) == -1
    x = tf.placeholder(tf.int32, [None, 2])
    np.testing.assert_array_equal(value(tf.reduce_mean(x, 0), {x: [[1, 5], [4, 6]]}), [2, 5])


def test_any_and_all_of_nothing() -> None:
    empty = tf.zeros([0, 2], tf.bool)
    np.testing.assert_array_equal(value(tf.reduce_any(empty, 0)), [False, False])
    np.testing.assert_array_equal(value(tf.reduce_all(empty, 0)), [True, True])
    some = tf.constant([[True, False], [True, True]])
    np.testing.assert_array_equal(value(tf.reduce_any(some, 1)), [True, True])
    np.testing.assert_array_equal(value(tf.reduce_all(some, 1)), [False, True])


def test_no_axes_reduce_nothing() -> None:
    np.testing.assert_array_equal(value(tf.reduce_sum(tf.constant(X), [])), X)


def test_logsumexp_does_not_overflow() -> None:
    np.testing.assert_allclose(value(tf.reduce_logsumexp([1000.0, 1000.0])), 1000 + np.log(2))
    assert value(tf.reduce_logsumexp([-np.inf, -np.inf])) == -np.inf


INDICES = [
    np.s_[1], np.s_[-1], np.s_[:, 1], np.s_[..., 1], np.s_[0, 1, 2], np.s_[1, ..., -2], np.s_[::-1],
    np.s_[:, ::-2], np.s_[:, 5:0:-1], np.s_[None], np.s_[:, None, 1], np.s_[..., None], np.s_[:],
    np.s_[1:, :2, 1:3], np.s_[:, -2:], np.s_[0:0], np.s_[1, None, ::2, 0], np.s_[:, 7:], np.s_[...],
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize("known", [True, False])
def test_indexing_as_numpy_does(index: object, known: bool) -> None:
    x = tf.placeholder(tf.float32, X.shape if known else [None, None, None])
    np.testing.assert_array_equal(value(x[index], {x: X}), X[index])


def test_indexing_by_tensors() -> None:
    x, i = tf.constant(X), tf.placeholder(tf.int32, [])
    for k in (0, 1, -1):
        np.testing.assert_array_equal(value(x[i], {i: k}), X[k])
        np.testing.assert_array_equal(value(x[:, i], {i: k}), X[:, k])
    np.testing.assert_array_equal(value(x[:, i : i + 1], {i: 1}), X[:, 1:2])
    np.testing.assert_array_equal(value(x[0, :i], {i: -1}), X[0, :-1])


def test_strided_slice_with_masks() -> None:
    x = tf.constant(X)
    found = value(tf.strided_slice(x, [0, 1, 0], [2, 2, 4], [1, 1, 2], shrink_axis_mask=2))
    np.testing.assert_array_equal(found, X[0:2, 1, 0:4:2])
    found = value(tf.strided_slice(x, [0, 1], [0, 3], begin_mask=1, end_mask=1, new_axis_mask=0))
    np.testing.assert_array_equal(found, X[:, 1:3])


def test_slice_with_sizes_from_tensors() -> None:
    x, n = tf.constant(X), tf.placeholder(tf.int32, [3])
    found = tf.slice(x, [0, 1, 0], n)
    np.testing.assert_array_equal(value(found, {n: [1, -1, 2]}), X[:1, 1:, :2])


def test_shapes_known_only_at_run_time() -> None:
    x = tf.placeholder(tf.float32, None)
    feeds = {x: X}
    assert value(tf.rank(x), feeds) == 3
    assert value(tf.size(x), feeds) == 24
    np.testing.assert_array_equal(value(tf.shape(x), feeds), [2, 3, 4])
    np.testing.assert_array_equal(value(tf.zeros_like(x), feeds), np.zeros_like(X))
    np.testing.assert_array_equal(value(tf.ones(tf.shape(x)), feeds), np.ones_like(X))
    np.testing.assert_array_equal(value(tf.fill(tf.shape(x), 7), feeds), np.full(X.shape, 7))
    np.testing.assert_array_equal(value(tf.transpose(x), feeds), X.T)


def test_joining_and_taking_apart() -> None:
    x = tf.constant(X)
    np.testing.assert_array_equal(value(tf.concat([x, x], -1)), np.concatenate([X, X], -1))
    np.testing.assert_array_equal(value(tf.stack([x, x], -1)), np.stack([X, X], -1))
    np.testing.assert_array_equal(value(tf.stack(x)), X)
    np.testing.assert_array_equal(value(tf.stack([x])), X[None])
    for found, expected in zip(value(tf.unstack(x, axis=1)), np.moveaxis(X, 1, 0), strict=True):
        np.testing.assert_array_equal(found, expected)
    parts = value(tf.split(x, [1, -1], 2))
    np.testing.assert_array_equal(parts[1], X[:, :, 1:])
    np.testing.assert_array_equal(value(tf.tile(x, [1, 2, 1])), np.tile(X, [1, 2, 1]))
    around = [[0, 0], [1, 2], [2, 1]]
    np.testing.assert_array_equal(value(tf.pad(x, around, constant_values=9)),
                                  np.pad(X, around, constant_values=9))  # fmt: skip
    np.testing.assert_array_equal(value(tf.pad(x, around, "REFLECT")), np.pad(X, around, "reflect"))
    np.testing.assert_array_equal(value(tf.reverse(x, [0, -1])), X[::-1, :, ::-1])


def test_matmuls() -> None:
    a, b = np.random.RandomState(0).randn(2, 3, 4), np.random.RandomState(1).randn(4, 5)
    np.testing.assert_allclose(value(tf.matmul(a, b)), a @ b, rtol=1e-12)
    np.testing.assert_allclose(value(tf.constant(a) @ b), a @ b, rtol=1e-12)
    np.testing.assert_allclose(value(tf.tensordot(a, b, 1)), np.tensordot(a, b, 1), rtol=1e-12)
    np.testing.assert_allclose(value(tf.tensordot(a, a, [[0, 2], [0, 2]])),
                               np.tensordot(a, a, [[0, 2], [0, 2]]), rtol=1e-12)  # fmt: skip


def test_scatters_and_segments() -> None:
    rows = tf.constant(np.arange(8.0).reshape(4, 2))
    np.testing.assert_array_equal(
        value(tf.segment_sum(rows, [0, 0, 2, 2])), [[2, 4], [0, 0], [10, 12]]
    )
    found = value(tf.unsorted_segment_sum(rows, [1, -1, 1, 0], 3))
    np.testing.assert_array_equal(found, [[6, 7], [4, 6], [0, 0]])
    found = value(tf.scatter_nd([[1], [1], [3]], [1.0, 2.0, 4.0], [4]))
    np.testing.assert_array_equal(found, [0, 3, 0, 4])


def test_eye_diag_range() -> None:
    np.testing.assert_array_equal(value(tf.eye(2, 3)), np.eye(2, 3))
    np.testing.assert_array_equal(value(tf.eye(2, batch_shape=[2])), np.stack([np.eye(2)] * 2))
    np.testing.assert_array_equal(value(tf.diag([1, 2])), np.diag([1, 2]))
    np.testing.assert_array_equal(value(tf.range(5, 0, -2)), [5, 3, 1])


def test_where_chooses_rows() -> None:
    a = tf.constant([[1, 2], [3, 4]])
    np.testing.assert_array_equal(value(tf.where([True, False], a, -a)), [[1, 2], [-3, -4]])


def test_cross_entropies_stay_finite() -> None:
    logits = tf.constant([[1000.0, 0.0], [0.0, -1000.0]])
    labels = [[0.0, 1.0], [1.0, 0.0]]
    found = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    np.testing.assert_allclose(value(found), [1000, 0])
    found = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1, 0], logits=logits)
    np.testing.assert_allclose(value(found), [1000, 0])
    found = tf.nn.sigmoid_cross_entropy_with_logits(labels=[1.0, 0.0], logits=[-800.0, -800.0])
    np.testing.assert_allclose(value(found), [800, 0])


def test_pooling_leaves_padding_out() -> None:
    image = tf.constant(-np.ones((1, 3, 3, 1), np.float32))
    for pool in (tf.nn.max_pool, tf.nn.avg_pool):
        np.testing.assert_array_equal(value(pool(image, 2, 2, "SAME")), -np.ones((1, 2, 2, 1)))


def test_nchw_agrees_with_nhwc() -> None:
    x = np.random.RandomState(0).randn(2, 5, 4, 3).astype(np.float32)
    w = np.random.RandomState(1).randn(3, 3, 3, 2).astype(np.float32)
    last = value(tf.nn.conv2d(x, w, 1, "SAME"))
    first = value(tf.nn.conv2d(x.transpose(0, 3, 1, 2), w, 1, "SAME", data_format="NCHW"))
    np.testing.assert_allclose(first, last.transpose(0, 3, 1, 2), rtol=1e-5, atol=1e-5)


def test_dropout_keeps_the_mean() -> None:
    x = tf.ones([4000])
    for found in (value(tf.nn.dropout(x, 0.25)), value(tf.nn.dropout(x, rate=0.75))):
        assert set(np.unique(found)) == {0.0, 4.0}
        assert abs(found.mean() - 1) < 0.15
    assert tf.nn.dropout(x, keep_prob=1.0) is x


def test_random_numbers_have_their_moments_and_bounds() -> None:
    normal = value(tf.random_normal([4000], 3.0, 2.0))
    assert abs(normal.mean() - 3) < 0.2 and abs(normal.std() - 2) < 0.2
    cut = value(tf.truncated_normal([4000], stddev=2.0))
    assert np.abs(cut).max() <= 4
    uniform = value(tf.random_uniform([4000], -1.0, 3.0))
    assert uniform.min() >= -1 and uniform.max() < 3 and abs(uniform.mean() - 1) < 0.2
    whole = value(tf.random_uniform([4000], 2, 5, tf.int32))
    assert set(whole) == {2, 3, 4}


def huber(d: np.ndarray) -> np.ndarray:
    return np.where(d < 1, d**2 / 2, d - 0.5)


LOSSES = [
    ("mean_squared_error", lambda y, g: np.mean((y - g) ** 2)),
    ("absolute_difference", lambda y, g: np.mean(np.abs(y - g))),
    ("huber_loss", lambda y, g: np.mean(huber(np.abs(y - g)))),
    ("log_loss", lambda y, g: np.mean(-y * np.log(g + 1e-7) - (1 - y) * np.log(1 - g + 1e-7))),
]


@pytest.mark.parametrize(("name", "formula"), LOSSES, ids=[row[0] for row in LOSSES])
def test_losses_and_their_collection(name: str, formula: object) -> None:
    y, g = np.float32([[0, 1], [1, 0]]), np.float32([[0.2, 0.6], [0.9, 0.4]])
    loss = getattr(tf.losses, name)(y, g)
    np.testing.assert_allclose(value(loss), formula(y, g), rtol=1e-5)
    assert tf.get_collection(tf.GraphKeys.LOSSES) == [loss]
    assert value(tf.losses.get_total_loss()) == value(loss)


def test_weights_of_losses() -> None:
    y, g = np.float32([[0, 1], [1, 0]]), np.float32([[1, 1], [3, 0]])
    assert value(tf.losses.mean_squared_error(y, g, weights=[[1.0], [0.0]])) == 0.5
    total = tf.losses.mean_squared_error(y, g, reduction=tf.losses.Reduction.SUM)
    assert value(total) == 5
    assert value(tf.losses.mean_squared_error(y, g, weights=0.0)) == 0
    with pytest.raises(ValueError, match="can not be broadcast"):
        tf.losses.mean_squared_error(y, g, weights=[1.0, 2.0, 3.0])


def test_cross_entropy_losses() -> None:
    logits = np.float32([[1, 2, 3], [3, 2, 1]])
    rows = -np.log(np.exp(logits) / np.exp(logits).sum(1, keepdims=True))[[0, 1], [2, 1]]
    onehot = np.float32([[0, 0, 1], [0, 1, 0]])
    np.testing.assert_allclose(
        value(tf.losses.softmax_cross_entropy(onehot, logits)), rows.mean(), rtol=1e-6
    )
    for labels in ([2, 1], [[2], [1]]):
        found = value(tf.losses.sparse_softmax_cross_entropy(labels, logits))
        np.testing.assert_allclose(found, rows.mean(), rtol=1e-6)


def test_initializers() -> None:
    shape = [50, 40]
    assert np.all(value(tf.zeros_initializer()(shape)) == 0)
    assert np.all(value(tf.ones_initializer()(shape, tf.int32)) == 1)
    np.testing.assert_array_equal(value(tf.constant_initializer([1, 2])([4])), [1, 2, 2, 2])
    glorot = value(tf.glorot_uniform_initializer()(shape))
    limit = np.sqrt(6 / 90)
    assert np.abs(glorot).max() <= limit and np.abs(glorot).max() > 0.95 * limit
    scaled = value(tf.variance_scaling_initializer(2.0)(shape))
    assert abs(scaled.std() / np.sqrt(2 / 50) - 1) < 0.1
    kept = tf.random_normal_initializer(1.0, 2.0, seed=5).get_config()
    assert kept == {"mean": 1.0, "stddev": 2.0, "seed": 5, "dtype": "float32"}


def test_orthogonal_initializer_has_orthonormal_columns() -> None:
    q = value(tf.orthogonal_initializer(seed=1)([6, 4]))
    np.testing.assert_allclose(q.T @ q, np.eye(4), atol=1e-6)


def test_clipping_by_norms() -> None:
    x = tf.constant([3.0, 4.0])
    assert value(tf.norm(x)) == 5
    np.testing.assert_allclose(value(tf.clip_by_norm(x, 1.0)), [0.6, 0.8], rtol=1e-6)
    np.testing.assert_array_equal(value(tf.clip_by_norm(x, 9.0)), [3, 4])
    clipped, whole = tf.clip_by_global_norm([x, None, tf.constant([12.0])], 6.5)
    assert clipped[1] is None and value(whole) == 13
    np.testing.assert_allclose(value(clipped[2]), [6], rtol=1e-6)
    zero = tf.zeros([2])
    (slope,) = tf.gradients(tf.clip_by_norm(zero, 1.0), [zero])
    np.testing.assert_array_equal(value(slope), [1, 1])
