"""Linear equations, factors, the gamma function: values in both engines, gradients, refusals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import engines
import gradient_check
import numpy as np
import pytest
import tf_names
from hypothesis import given, settings
from hypothesis import strategies as st

import graphio as tf

RNG = np.random.RandomState(5)
A = RNG.randn(2, 3, 3) + 3 * np.eye(3)
B = RNG.randn(2, 3, 2)
S = np.matmul(A, np.swapaxes(A, 1, 2))
TALL, SIDE = RNG.randn(5, 3), RNG.randn(5, 2)
RANK_TWO = np.array([[2.0, 3, -2], [-1, 1, -2], [3, 2, 0], [1, 4, -4]])
T = np.swapaxes


def gamma_digits(x: Any) -> Any:
    return np.vectorize(math.lgamma)(np.asarray(x, float))


#: builder, inputs, what numpy says
CASES: dict[str, tuple[Callable[..., Any], list[Any], Any]] = {
    "solve": (tf.matrix_solve, [A, B], np.linalg.solve(A, B)),
    "solve transposed": (
        lambda a, b: tf.matrix_solve(a, b, adjoint=True), [A, B], np.linalg.solve(T(A, 1, 2), B),
    ),
    "inverse": (tf.linalg.inv, [A], np.linalg.inv(A)),
    "inverse transposed": (
        lambda a: tf.matrix_inverse(a, adjoint=True), [A], np.linalg.inv(T(A, 1, 2)),
    ),
    "lower triangle": (
        tf.linalg.triangular_solve, [A, B], np.linalg.solve(np.tril(A), B),
    ),
    "upper triangle transposed": (
        lambda a, b: tf.matrix_triangular_solve(a, b, lower=False, adjoint=True), [A, B],
        np.linalg.solve(T(np.triu(A), 1, 2), B),
    ),
    "cholesky": (tf.cholesky, [S], np.linalg.cholesky(S)),
    "cholesky reads the lower triangle": (
        tf.cholesky, [np.tril(S)], np.linalg.cholesky(S),
    ),
    "cholesky_solve": (
        tf.cholesky_solve, [np.linalg.cholesky(S), B], np.linalg.solve(S, B),
    ),
    "logdet": (tf.linalg.logdet, [S], np.linalg.slogdet(S)[1]),
    "slogdet": (tf.linalg.slogdet, [A - 4 * np.eye(3)], np.linalg.slogdet(A - 4 * np.eye(3))),
    "least squares": (
        tf.linalg.lstsq, [TALL, SIDE], np.linalg.lstsq(TALL, SIDE, rcond=None)[0],
    ),
    "least squares, wide": (
        tf.matrix_solve_ls, [TALL.T, SIDE[:3]], np.linalg.lstsq(TALL.T, SIDE[:3], rcond=None)[0],
    ),
    "ridge": (
        lambda a, b: tf.matrix_solve_ls(a, b, 0.5), [TALL, SIDE],
        np.linalg.solve(TALL.T @ TALL + 0.5 * np.eye(3), TALL.T @ SIDE),
    ),
    "matvec": (tf.linalg.matvec, [A, B[..., 0]], (A @ B[..., :1])[..., 0]),
    "matvec transposed": (
        lambda a, b: tf.linalg.matvec(a, b, transpose_a=True), [A, B[..., 0]],
        (T(A, 1, 2) @ B[..., :1])[..., 0],
    ),
    "adjoint": (tf.linalg.adjoint, [A], T(A, 1, 2)),
    "normalize": (
        lambda a: tf.linalg.normalize(a, axis=-1), [A],
        [A / np.linalg.norm(A, axis=-1, keepdims=True), np.linalg.norm(A, axis=-1, keepdims=True)],
    ),
    "eigenvalues": (tf.self_adjoint_eigvals, [S], np.linalg.eigvalsh(S)),
    "eigenvectors": (
        lambda a: tf.matmul(tf.linalg.eigh(a)[1] * tf.linalg.eigh(a)[0][:, None],
                            tf.linalg.eigh(a)[1], transpose_b=True),
        [S], S,
    ),
    "qr": (
        lambda a: [tf.matmul(*tf.qr(a)), tf.matmul(tf.qr(a).q, tf.qr(a).q, transpose_a=True)],
        [TALL], [TALL, np.eye(3)],
    ),
    "singular values": (
        lambda a: tf.svd(a, compute_uv=False), [TALL.T], np.linalg.svd(TALL, compute_uv=False),
    ),
    "singular vectors": (
        lambda a: tf.matmul(tf.svd(a)[1] * tf.svd(a)[0], tf.svd(a)[2], transpose_b=True),
        [TALL], TALL,
    ),
    "singular vectors of a wide matrix": (
        lambda a: tf.matmul(tf.svd(a)[1] * tf.svd(a)[0], tf.svd(a)[2], transpose_b=True),
        [TALL.T], TALL.T,
    ),
    "singular values that are 0": (
        lambda a: tf.svd(a, compute_uv=False), [RANK_TWO], np.linalg.svd(RANK_TWO)[1],
    ),
    "all singular vectors": (
        lambda a: [tf.matmul(t, t, transpose_a=True) for t in tf.svd(a, full_matrices=True)[1:]],
        [TALL], [np.eye(len(TALL)), np.eye(3)],
    ),
    "all singular vectors of a wide matrix": (
        lambda a: [tf.matmul(t, t, transpose_a=True) for t in tf.svd(a, full_matrices=True)[1:]],
        [TALL.T], [np.eye(3), np.eye(len(TALL))],
    ),
    "inverse with a limit for each matrix": (
        lambda a: tf.linalg.pinv(a, [1e-3, 0.5]), [np.stack([TALL, TALL])],
        np.linalg.pinv(np.stack([TALL, TALL]), [1e-3, 0.5]),
    ),
    "lgamma": (tf.lgamma, [np.array([0.1, 0.5, 1, 1.5, 2, 7.3, 150, -0.5, -2.3])],
               gamma_digits([0.1, 0.5, 1, 1.5, 2, 7.3, 150, -0.5, -2.3])),
    "lgamma at its ends": (
        tf.math.lgamma, [np.array([0.0, -1.0, np.inf, -np.inf])], [np.inf] * 4,
    ),
    "digamma": (
        tf.digamma, [np.array([1.0, 0.5, 10.0, -0.5])],
        [-np.euler_gamma, -np.euler_gamma - 2 * math.log(2), 2.251752589066721,
         0.03648997397857652],
    ),
    "lbeta": (
        tf.lbeta, [np.array([[1.0, 2.0], [0.5, 3.0]])],
        [math.log(0.5), math.lgamma(0.5) + math.lgamma(3) - math.lgamma(3.5)],
    ),
    "polyval": (
        lambda x: tf.math.polyval([2.0, 0.0, 1.0], x), [np.array([1.0, -3.0])], [3.0, 19.0],
    ),
    "parts of real numbers": (
        lambda x: [tf.real(x), tf.imag(x), tf.conj(x), tf.angle(x)], [np.array([1.0, -2.0])],
        [np.array([1.0, -2.0]), np.zeros(2), np.array([1.0, -2.0]), np.array([0, np.pi])],
    ),
}  # fmt: skip


@engines.BOTH
@pytest.mark.parametrize("case", CASES)
def test_values(engine: str, case: str) -> None:
    build, values, want = CASES[case]
    wide = [np.asarray(v, np.float64) for v in values]
    tf_names.compare(engine, build, wide, want, rtol=1e-9)
    narrow = [v.astype(np.float32) for v in wide]
    tf_names.compare(engine, build, narrow, want, rtol=2e-4)


#: differentiable functions of float64 tensors, and where
SLOPES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "solve": (tf.matrix_solve, [A, B]),
    "inverse": (tf.matrix_inverse, [A[0]]),
    "triangle": (tf.matrix_triangular_solve, [A[0], B[0]]),
    "cholesky": (lambda a: tf.cholesky(a + tf.matrix_transpose(a)), [S[0]]),
    "cholesky_solve": (tf.cholesky_solve, [np.linalg.cholesky(S[0]), B[0]]),
    "logdet": (lambda a: tf.linalg.logdet(a + tf.matrix_transpose(a)), [S[0]]),
    "least squares": (tf.linalg.lstsq, [TALL, SIDE]),
    "eigenvalues": (lambda a: tf.self_adjoint_eigvals(a + tf.matrix_transpose(a)), [S[0]]),
    "eigenvectors": (lambda a: tf.linalg.eigh(a + tf.matrix_transpose(a))[1], [S[0]]),
    "q": (lambda a: tf.qr(a).q, [TALL]),
    "r": (lambda a: tf.qr(a).r, [TALL]),
    "singular values": (lambda a: tf.svd(a, compute_uv=False), [TALL]),
    "u": (lambda a: tf.svd(a)[1], [TALL]),
    "lgamma": (tf.lgamma, [np.array([0.3, 1.7, 6.0, -0.7, -3.4])]),
    "digamma": (tf.digamma, [np.array([0.3, 1.7, 6.0, -0.7])]),
    "ensure_shape": (lambda x: tf.ensure_shape(x, [None, 2]), [SIDE]),
}


@pytest.mark.parametrize("case", SLOPES)
def test_gradients(case: str) -> None:
    build, values = SLOPES[case]
    gradient_check.check(build, values, second=case in ("solve", "lgamma"))


def test_shapes_are_refused_while_the_graph_is_built() -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="3 and 2"):
            tf.matrix_inverse(tf.ones([3, 2]))
        with pytest.raises(ValueError, match="at least rank 2"):
            tf.cholesky(tf.ones([3]))
        with pytest.raises(ValueError, match="2 and 3"):
            tf.matrix_solve(tf.ones([2, 2]), tf.ones([3, 1]))
        with pytest.raises(ValueError, match="equal rank"):
            tf.matrix_solve(tf.ones([2, 2]), tf.ones([2]))
        with pytest.raises(TypeError, match="int32"):
            tf.cholesky(tf.ones([2, 2], tf.int32))
        with pytest.raises(ValueError, match="coeffs must be list"):
            tf.math.polyval((1.0,), 2.0)


@engines.BOTH
def test_a_matrix_without_an_inverse_is_an_error_of_the_run(engine: str) -> None:
    engines.module(engine)
    with tf.Graph().as_default(), tf.Session(engine) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Input matrix is not invertible"):
            session.run(tf.matrix_inverse(tf.ones([2, 2])))
        given = np.array([[1.0, 2.0], [2.0, 1.0]])
        np.testing.assert_array_equal(session.run(tf.cholesky(given)), [[np.nan, 0], [np.nan] * 2])


@engines.BOTH
def test_triangular_solve_broadcasts_its_leading_axes(engine: str) -> None:
    engines.module(engine)
    triangles, right = np.tril(np.arange(1.0, 13.0).reshape(3, 2, 2)), np.array([[3.0], [5.0]])
    with tf.Graph().as_default(), tf.Session(engine) as session:
        x = tf.placeholder(tf.float64, [None, 2, 2])
        solved = tf.matrix_triangular_solve(x, right)
        (slope,) = tf.gradients(solved, x)
        found, slopes = session.run([solved, slope], {x: triangles})
        np.testing.assert_allclose(triangles @ found, np.broadcast_to(right, (3, 2, 1)))
        assert slopes.shape == (3, 2, 2)


def test_equations_of_halves_are_refused_as_tensorflow_does_and_inverses_are_not() -> None:
    half = np.array([[2, 0], [0, 4]], np.float16)
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="cast the matrix"):
            tf.matrix_solve(half, half)
        assert session.run(tf.matrix_inverse(half)).tolist() == [[0.5, 0], [0, 0.25]]


@engines.BOTH
def test_matrices_without_elements_have_inverses(engine: str) -> None:
    engines.module(engine)
    with tf.Graph().as_default(), tf.Session(engine) as session:
        x = tf.placeholder(tf.float32, [None, None, None])
        inverse = tf.matrix_inverse(x)
        found = session.run(
            [inverse, tf.gradients(inverse, x)[0], tf.matrix_inverse(tf.zeros([0, 0]))],
            {x: np.zeros([3, 0, 0])},
        )
        assert [f.shape for f in found] == [(3, 0, 0), (3, 0, 0), (0, 0)]


def test_a_matmul_of_batches_has_tensorflow_s_type() -> None:
    with tf.Graph().as_default() as graph:
        batch, matrix = tf.placeholder(tf.float32, [2, 3, 3]), tf.ones([3, 3])
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 1, 2], logits=matrix)
        slope = tf.gradients(tf.reduce_sum(loss), matrix)[0]
        assert tf.matmul(matrix, matrix).op.type == "MatMul"
        assert tf.matmul(batch, matrix, transpose_a=True).op.type == "BatchMatMulV2"
        assert tf.matmul(tf.placeholder(tf.float32), matrix).op.type == "BatchMatMulV2"
        before = len(graph.get_operations())
        assert tf.gradients(slope, matrix)[0].shape == matrix.shape
        added = {op.type for op in graph.get_operations()[before:]}
        assert "BatchMatMulV2" in added
        held = graph.as_graph_def()
    with tf.Graph().as_default():
        (multiplied,) = tf.import_graph_def(held, return_elements=["MatMul_1:0"], name="")
        assert multiplied.op.type == "BatchMatMulV2"


@settings(max_examples=12, deadline=None)
@given(st.integers(1, 9), st.integers(0, 2**31))
def test_the_engines_agree_about_inverses(size: int, seed: int) -> None:
    matrix = np.random.RandomState(seed % 2**31).randn(size, size) + 2 * np.eye(size)
    found = [tf_names.run(engine, tf.matrix_inverse, [matrix]) for engine in engines.NAMES]
    scale = np.abs(found[0]).max()
    np.testing.assert_allclose(found[1], found[0], atol=1e-9 * scale * np.linalg.cond(matrix))


def _matrix_norm(x: np.ndarray, order: Any, axis: Any, keep: bool) -> Any:
    return np.linalg.norm(x, ord=order, axis=axis, keepdims=keep)


@engines.BOTH
@pytest.mark.parametrize("known", [True, False])
def test_norms_of_matrices(engine: str, known: bool) -> None:
    cases = [
        (order, axis, keep)
        for order in ("fro", 1, 2, np.inf)
        for axis in ((-2, -1), (0, 2), (2, 1))
        for keep in (False, True)
        if known or order != 2 or axis == (-2, -1)
    ]
    with tf.Graph().as_default(), tf.Session(engine) as session:
        x = tf.placeholder(tf.float64, A.shape if known else None)
        found = session.run([tf.norm(x, *case) for case in cases], {x: A})
    for value, case in zip(found, cases, strict=True):
        np.testing.assert_allclose(value, _matrix_norm(A, *case), rtol=1e-9, err_msg=str(case))


@pytest.mark.parametrize(
    ("order", "axis", "words"),
    [
        ("fro", None, "vector norm"), (0, -1, "vector norm"), ("foo", (0, 1), "matrix norm"),
        (1.1, (0, 1), "matrix norm"), (-1, (0, 1), "matrix norm"), (2, [], "'axis'"),
        (2, [0], "'axis'"), (2, [0, 0], "'axis'"), (2, [0, 1, 2], "'axis'"), (2, 0.5, "'axis'"),
    ],
)  # fmt: skip
def test_what_is_no_norm_is_refused(order: Any, axis: Any, words: str) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=words):
        tf.norm(A, order, axis)


@engines.BOTH
def test_the_exponential_of_what_is_not_finite_ends(engine: str) -> None:
    with tf.Graph().as_default(), tf.Session(engine) as session:
        found = session.run(tf.linalg.expm(np.array([[np.inf, 1.0], [1.0, 1.0]])))
        assert np.isnan(found).all()


def test_a_clip_norm_does_not_widen_what_it_clips() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(ValueError, match="clip_norm of shape"):
            tf.clip_by_norm(tf.ones([2, 3, 1]), [1.0, 2.0])
        clipped = session.run(tf.clip_by_norm(tf.constant([[3.0, 4.0]]), [1.0, 10.0], axes=[1]))
        np.testing.assert_allclose(clipped, [[0.6, 4.0]], rtol=1e-6)


@pytest.mark.parametrize("function", [tf.real, tf.imag, tf.conj, tf.angle])
def test_parts_of_strings_are_refused(function: Any) -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError, match="string"):
        function(["a"])


def test_axes_that_are_no_vector_or_out_of_range_are_refused() -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="at most rank 1"):
            tf.reduce_sum(tf.placeholder(tf.float32), [[1], [2]])
        with pytest.raises(IndexError, match=r"\[7\]"):
            tf.tensordot(A, A, [[0], [7]])
        with pytest.raises(tf.errors.InvalidArgumentError, match="not a permutation"):
            tf.transpose(A, [0, 1, 1])


@engines.BOTH
def test_axes_that_only_the_run_knows_must_fit(engine: str) -> None:
    with tf.Graph().as_default(), tf.Session(engine) as session:
        x, axes = tf.placeholder(tf.float64), tf.placeholder(tf.int32)
        multiplied, summed = tf.tensordot(x, x, axes), tf.einsum("...ij->ij", x)
        with pytest.raises(tf.errors.InvalidArgumentError, match="two rows"):
            session.run(multiplied, {x: A, axes: [0, 1]})
        assert session.run(summed, {x: A[0]}).shape == (3, 3)
        with pytest.raises(tf.errors.InvalidArgumentError, match="ellipsis"):
            session.run(summed, {x: A})


@engines.BOTH
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_least_squares_of_unknown_shape_choose_their_form_at_the_run(
    engine: str, dtype: type
) -> None:
    engines.module(engine)
    with tf.Graph().as_default():
        a, b = tf.placeholder(dtype), tf.placeholder(dtype)
        x = tf.matrix_solve_ls(a, b)
        slopes = tf.gradients(tf.reduce_sum(tf.abs(x)), b)[0]
        with tf.Session(engine) as session:
            for matrix in (TALL, TALL.T, TALL[:3]):
                rhs = SIDE[: len(matrix)]
                got, slope = session.run([x, slopes], {a: matrix, b: rhs})
                expected = np.linalg.pinv(matrix) @ rhs
                np.testing.assert_allclose(got, expected, rtol=1e-9)
                towards = np.linalg.pinv(matrix).T @ np.sign(expected)
                np.testing.assert_allclose(slope, towards, rtol=1e-8)
