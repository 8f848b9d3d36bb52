"""Tensors of which not even the rank is known while the graph is built: values and gradients are
those of the same operations on tensors of known shape, in both engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
RNG = np.random.RandomState(0)
A, B = RNG.randn(2, 3).astype(np.float32), RNG.randn(4, 2, 3).astype(np.float32)
LABELS, LENGTHS = np.eye(3, dtype=np.float32)[[0, 2]], np.int32([2, 0, 3])
sparse_loss = tf.nn.sparse_softmax_cross_entropy_with_logits
dense_loss = tf.nn.softmax_cross_entropy_with_logits

CASES: dict[str, tuple[Callable[..., Any], list[np.ndarray]]] = {
    "a matmul with the second transposed": (
        lambda a, b: tf.matmul(a, b, transpose_b=True),
        [A, A],
    ),
    "a matmul with the first transposed": (lambda a, b: tf.matmul(a, b, transpose_a=True), [B, B]),
    "matrices transposed": (tf.matrix_transpose, [B]),
    "no matrices transposed": (tf.matrix_transpose, [B[:0]]),
    "a loss of rows": (lambda x: dense_loss(labels=LABELS, logits=x), [A]),
    "a loss of unknown labels": (lambda x, y: dense_loss(labels=y, logits=x), [A, LABELS]),
    "a loss of blocks": (lambda x: sparse_loss(labels=[[1, 0]] * 4, logits=x), [B]),
    "the largest": (lambda x: tf.nn.top_k(x, 2).values, [B]),
    "copies": (lambda x: tf.tile(x, [2, 3]), [A]),
    "positions before the ends": (lambda n: tf.sequence_mask(n, 4, tf.float32), [LENGTHS]),
}


@TARGETS
@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients_are_those_of_known_shapes(target: str, case: str) -> None:
    build, values = CASES[case]
    found = []
    for shaped in (True, False):
        with tf.Graph().as_default(), tf.Session(target) as session:
            fed = [tf.placeholder(v.dtype, v.shape if shaped else None) for v in values]
            y = build(*fed)
            xs = [x for x in fed if x.dtype.is_floating]
            gradients = [g for g in tf.gradients(y * y, xs) if g is not None] if xs else []
            found.append(session.run([y, *gradients], dict(zip(fed, values, strict=True))))
    for known, unknown in zip(*found, strict=True):
        assert known.shape == unknown.shape
        np.testing.assert_allclose(unknown, known, rtol=1e-5, atol=1e-6)


@TARGETS
def test_logits_to_draw_from_are_rows(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        logits = tf.placeholder(tf.float32)
        drawn = tf.multinomial(logits, 5)
        assert drawn.shape.as_list() == [None, 5]
        certain = [[0.0, -1e9], [-1e9, 0.0]]
        assert session.run(drawn, {logits: certain}).tolist() == [[0] * 5, [1] * 5]
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(drawn, {logits: certain[0]})


@TARGETS
@pytest.mark.parametrize("known", ["condition", "operands", "neither"])
@pytest.mark.parametrize(
    ("condition", "shape"),
    [
        (True, ()),
        (False, (2, 2)),
        ([True, False], (2,)),
        ([True, False], (2, 2)),
        ([True, False, True], (3, 2, 3)),
        ([[True, False], [False, True]], (2, 2)),
        ([], (0, 2)),
    ],
)
def test_a_vector_as_a_condition_chooses_rows(
    target: str, known: str, condition: Any, shape: tuple[int, ...]
) -> None:
    chosen, a, b = np.array(condition, bool), np.array(RNG.randn(*shape)), np.ones(shape)
    with tf.Graph().as_default(), tf.Session(target) as session:
        c = tf.placeholder(tf.bool, chosen.shape if known == "condition" else None)
        x, y = (tf.placeholder(tf.float64, shape if known == "operands" else None) for _ in "xy")
        z = tf.where(c, x, y)
        fetches = [z, *tf.gradients(z * z, [x, y])]
        found = session.run(fetches, {c: chosen, x: a, y: b})
    rows = chosen.reshape(chosen.shape + (1,) * (len(shape) - chosen.ndim))
    expected = [np.where(rows, a, b), np.where(rows, 2 * a, 0), np.where(rows, 0, 2 * b)]
    for value, right in zip(found, expected, strict=True):
        assert value.shape == shape
        np.testing.assert_array_equal(value, right)


@TARGETS
def test_rows_are_chosen_by_a_column_of_themselves(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        a = tf.placeholder(tf.float32)
        x = np.float32([[1, -2], [-3, 4]])
        assert session.run(tf.where(a[:, 0] > 0, a, -a), {a: x}).tolist() == [[1, -2], [3, -4]]


NUMBERS = np.arange(6.0, dtype=np.float32)
#: of a number n without a shape; c holds NUMBERS
SIZES: dict[str, Callable[[Any, Any], Any]] = {
    "zeros": lambda n, c: tf.zeros([n, 2]),
    "fill": lambda n, c: tf.fill([n, n], 1.0),
    "reshape": lambda n, c: tf.reshape(c, [n, -1]),
    "from": lambda n, c: c[n:],
    "to": lambda n, c: c[:n],
    "between": lambda n, c: tf.reshape(c, [2, 3])[n - 1, tf.newaxis, n - 2 : n],
    "strided_slice": lambda n, c: tf.strided_slice(c, [n], [n + 3], [1]),
    "tile": lambda n, c: tf.tile(c, [n]),
    "slice": lambda n, c: tf.slice(c, [n], [n + 1]),
    "split": lambda n, c: tf.concat(tf.split(c, [n, 6 - n])[::-1], 0),
    "broadcast_to": lambda n, c: tf.broadcast_to(c, [n, 6]),
    "scatter_nd": lambda n, c: tf.scatter_nd([[0], [1]], c[:2], [n]),
    "sparse_to_dense": lambda n, c: tf.sparse_to_dense([[0, 1]], [n, 2], c[:1]),
    "eye": lambda n, c: tf.eye(n, batch_shape=[n]),
    "sparse eye": lambda n, c: tf.sparse_tensor_to_dense(tf.sparse.eye(n, n + 1)),
    "sum": lambda n, c: tf.reduce_sum(tf.reshape(c, [2, 3]), [n - 1]),
    "transpose": lambda n, c: tf.transpose(tf.reshape(c, [2, 3]), [n - 1, 0]),
    "zero_state": lambda n, c: tf.nn.rnn_cell.BasicLSTMCell(4).zero_state(n, tf.float32).c,
    "conv2d_transpose": lambda n, c: tf.nn.conv2d_transpose(
        tf.reshape(c[:4], [1, 2, 2, 1]), tf.ones([3, 3, 1, 1]), [n - 1, 4, 4, 1], [1, 2, 2, 1]
    ),
    "crop": lambda n, c: tf.image.crop_to_bounding_box(tf.reshape(c, [2, 3, 1]), 0, n - 1, n, n),
    "resize": lambda n, c: tf.image.resize_images(tf.reshape(c, [2, 3, 1]), [n, n]),
}
DRAWS: dict[str, Callable[[Any], Any]] = {
    "random_normal": lambda n: tf.random_normal([n, 3]),
    "random_uniform": lambda n: tf.random_uniform([n, 3]),
    "random_crop": lambda n: tf.random_crop(NUMBERS.reshape(2, 3), [n, 3]),
    "multinomial": lambda n: tf.multinomial(tf.zeros([2, 3]), n + 1),
    "dropout": lambda n: tf.nn.dropout(tf.ones([2, 3]), 0.5, noise_shape=[n, 1]),
}


@TARGETS
@pytest.mark.parametrize("case", SIZES)
def test_a_number_without_a_shape_is_a_scalar(target: str, case: str) -> None:
    found = []
    for shape in ([], None):
        with tf.Graph().as_default(), tf.Session(target) as session:
            n, c = tf.placeholder(tf.int32, shape), tf.constant(NUMBERS)
            y = SIZES[case](n, c)
            (dc,) = tf.gradients(y, c)
            found.append(session.run([y, *([] if dc is None else [dc])], {n: 2}))
    for known, unknown in zip(*found, strict=True):
        np.testing.assert_array_equal(unknown, known)


@TARGETS
@pytest.mark.parametrize("case", DRAWS)
def test_as_many_are_drawn_as_a_number_without_a_shape_says(target: str, case: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        n = tf.placeholder(tf.int32)
        assert session.run(DRAWS[case](n), {n: 2}).shape == (2, 3)


@TARGETS
def test_a_vector_is_no_size(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        n = tf.placeholder(tf.int32)
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(tf.zeros([n, 2]), {n: [2, 3]})
