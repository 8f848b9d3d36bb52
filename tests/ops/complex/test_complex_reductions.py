"""Reductions, contractions, segments and scatters of complex numbers, against numpy's; gradients
against finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from complex_values import KINDS, TARGETS, agree, check_gradient, numbers, run

import graphio as tf

IDS = [0, 0, 1, 1, 1, 3]


def by_segment(z: Any, combine: Any, empty: float) -> Any:
    """One result a segment of the rows."""
    rows = [[v for v, i in zip(z, IDS, strict=True) if i == k] for k in range(4)]
    return np.array(
        [combine(np.array(r), axis=0) if r else np.full(z.shape[1:], empty) for r in rows]
    )


#: name: function, numpy's, inputs
CASES: dict[str, tuple[Any, ...]] = {
    "sum of all": (tf.reduce_sum, np.sum, numbers(2, 3)),
    "sum of columns": (
        lambda z: tf.reduce_sum(z, [0, 2], True), lambda z: z.sum((0, 2), keepdims=True),
        numbers(2, 3, 2),
    ),
    "mean": (lambda z: tf.reduce_mean(z, 1), lambda z: z.mean(1), numbers(2, 3)),
    "prod of all": (tf.reduce_prod, np.prod, numbers(2, 3)),
    "prod of rows": (lambda z: tf.reduce_prod(z, -1), lambda z: z.prod(-1), numbers(2, 3)),
    "prod that keeps axes": (
        lambda z: tf.reduce_prod(z, [0, -1], True), lambda z: z.prod((0, -1), keepdims=True),
        numbers(2, 3, 2),
    ),
    "variance": (lambda z: tf.math.reduce_variance(z, 0), lambda z: z.var(0), numbers(4, 2)),
    "deviation": (tf.math.reduce_std, np.std, numbers(4, 2)),
    "euclidean norm": (
        tf.math.reduce_euclidean_norm, lambda z: np.sqrt((z * z.conj()).sum()), numbers(4, 2),
    ),
    "norm": (lambda z: tf.norm(z, axis=1), lambda z: np.linalg.norm(z, axis=1) + 0j, numbers(3, 2)),
    "norm 1": (lambda z: tf.norm(z, 1), lambda z: np.abs(z).sum(), numbers(3, 2)),
    "cumsum": (lambda z: tf.cumsum(z, 1), lambda z: z.cumsum(1), numbers(2, 5)),
    "cumprod": (lambda z: tf.math.cumprod(z, 1), lambda z: z.cumprod(1), numbers(2, 5)),
    "cumprod from the end": (
        lambda z: tf.math.cumprod(z, 0, exclusive=True, reverse=True),
        lambda z: np.concatenate([z[::-1].cumprod(0)[:-1][::-1], np.ones((1, 2))]), numbers(3, 2),
    ),
    "einsum": (
        lambda x, y: tf.einsum("ij,jk->ki", x, y), lambda x, y: (x @ y).T,
        numbers(2, 3), numbers(3, 2, seed=1),
    ),
    "einsum of three": (
        lambda x, y, z: tf.einsum("ij,jk,kl->il", x, y, z), lambda x, y, z: x @ y @ z,
        numbers(2, 3), numbers(3, 2, seed=1), numbers(2, 2, seed=2),
    ),
    "einsum of one": (lambda x: tf.einsum("ii->", x), np.trace, numbers(3, 3)),
    "tensordot": (
        lambda x, y: tf.tensordot(x, y, [[1], [0]]), lambda x, y: np.tensordot(x, y, [[1], [0]]),
        numbers(2, 3, 2), numbers(3, 2, seed=1),
    ),
    "trace": (tf.trace, np.trace, numbers(3, 3)),
    "transpose": (
        lambda z: tf.transpose(z, conjugate=True), lambda z: z.conj().T, numbers(2, 3),
    ),
    "segment_sum": (
        lambda z: tf.segment_sum(z, IDS), lambda z: by_segment(z, np.sum, 0), numbers(6, 2),
    ),
    "segment_prod": (
        lambda z: tf.segment_prod(z, IDS), lambda z: by_segment(z, np.prod, 1), numbers(6, 2),
    ),
    "segment_mean": (
        lambda z: tf.segment_mean(z, IDS), lambda z: by_segment(z, np.mean, 0), numbers(6, 2),
    ),
    "unsorted_segment_prod": (
        lambda z: tf.unsorted_segment_prod(z, IDS, 4), lambda z: by_segment(z, np.prod, 1),
        numbers(6, 2),
    ),
    "unsorted_segment_mean": (
        lambda z: tf.unsorted_segment_mean(z, IDS, 4), lambda z: by_segment(z, np.mean, 0),
        numbers(6, 2),
    ),
    "gather": (lambda z: tf.gather(z, [2, 0, 2]), lambda z: z[[2, 0, 2]], numbers(3, 2)),
    "gather_nd": (
        lambda z: tf.gather_nd(z, [[2, 0], [0, 1]]), lambda z: z[[2, 0], [0, 1]], numbers(3, 2),
    ),
    "scatter": (
        lambda z: tf.scatter_nd([[1], [1], [3]], z, [4, 2]),
        lambda z: np.array([z[0] * 0, z[0] + z[1], z[0] * 0, z[2]]), numbers(3, 2),
    ),
    "add at positions": (
        lambda x, z: tf.tensor_scatter_nd_add(x, [[1], [1]], z),
        lambda x, z: x + np.array([z[0] * 0, z[0] + z[1], z[0] * 0]),
        numbers(3, 2), numbers(2, 2, seed=1),
    ),
    "div_no_nan": (
        lambda x, y: tf.div_no_nan(x, y * [1, 0, 1]), lambda x, y: x / y * [1, 0, 1],
        numbers(3), numbers(3, seed=1),
    ),
    "squared_difference": (
        tf.squared_difference, lambda x, y: abs(x - y) ** 2 + 0j, numbers(3), numbers(3, seed=1),
    ),
}  # fmt: skip


@TARGETS
@KINDS
@pytest.mark.parametrize("case", CASES)
def test_values_are_numpys(target: str, kind: str, case: str) -> None:
    agree(target, kind, *CASES[case], times=3)


@TARGETS
@pytest.mark.parametrize("case", CASES)
def test_gradients_are_those_of_finite_differences(target: str, case: str) -> None:
    function, _, *arrays = CASES[case]
    check_gradient(target, function, *arrays)


@TARGETS
def test_zeros_among_the_multiplied_have_gradients(target: str) -> None:
    z = numbers(4)
    for zeros in ([1], [1, 2]):
        z[zeros] = 0
        check_gradient(target, tf.reduce_prod, z)
        check_gradient(target, tf.math.cumprod, z)
        check_gradient(target, lambda z: tf.segment_prod(z, [0, 0, 0, 1]), z)


@TARGETS
def test_axes_and_shapes_of_the_run_are_taken(target: str) -> None:
    z = numbers(2, 3)
    with tf.Graph().as_default(), tf.Session(target=target) as session:
        x, axes = tf.placeholder(tf.complex128), tf.placeholder(tf.int32, [None])
        feeds = {x: z, axes: [1]}
        fetches = [
            tf.reduce_sum(x, axes), tf.reduce_prod(x, axes), tf.reduce_prod(x, axes, True),
            tf.reduce_prod(x), tf.math.cumprod(x, -1),
        ]  # fmt: skip
        found = session.run(fetches, feeds)
    expected = [z.sum(1), z.prod(1), z.prod(1, keepdims=True), z.prod(), z.cumprod(-1)]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)
        assert one.shape == other.shape


@TARGETS
def test_multiplications_of_nothing_are_one(target: str) -> None:
    empty = np.zeros((2, 0), complex)
    found = run(
        target, lambda z: [tf.reduce_prod(z, 1), tf.reduce_sum(z, 1), tf.reduce_prod(z)], empty
    )
    assert [f.tolist() for f in found] == [[1, 1], [0, 0], 1]


@TARGETS
def test_sparse_matrices_multiply_by_their_adjoint(target: str) -> None:
    b = numbers(2, 2, seed=3)

    def multiplied(z: Any) -> Any:
        sparse = tf.SparseTensor([[0, 0], [1, 1], [2, 0]], z, [3, 2])
        return [
            tf.sparse_tensor_dense_matmul(sparse, tf.constant(b)),
            tf.sparse_tensor_dense_matmul(
                sparse, tf.constant(np.ones((3, 1), complex)), adjoint_a=True
            ),
        ]

    z = numbers(3)
    a = np.array([[z[0], 0], [0, z[1]], [z[2], 0]])
    plain, adjoint = run(target, multiplied, z)
    np.testing.assert_allclose(plain, a @ b, rtol=1e-14)
    np.testing.assert_allclose(adjoint, a.conj().T @ np.ones((3, 1)), rtol=1e-14)
    check_gradient(target, multiplied, z)
