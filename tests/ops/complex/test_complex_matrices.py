"""Equations, factors and norms of complex matrices against numpy's; gradients against finite
differences."""

from __future__ import annotations

import functools
from typing import Any

import hypothesis
import numpy as np
import pytest
from complex_values import KINDS, TARGETS, agree, check_gradient, numbers, run
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import graphio as tf

Array = np.ndarray[Any, Any]


def adjoint(x: Array) -> Array:
    return np.swapaxes(np.conj(x), -1, -2)


def definite(x: Any) -> Any:
    """Hermitian positive definite matrices of square ones."""
    return tf.matmul(x, x, adjoint_b=True) + tf.eye(int(x.shape[-1]), dtype=x.dtype)


def of_numpy(x: Array) -> Array:
    return x @ adjoint(x) + np.eye(x.shape[-1])


SQUARE, SIDES = numbers(2, 3, 3), numbers(2, 3, 2, seed=1)
TALL, WIDE = numbers(2, 4, 3, seed=2), numbers(2, 3, 4, seed=3)
#: name: function, numpy's, inputs
CASES: dict[str, tuple[Any, ...]] = {
    "solve": (tf.linalg.solve, np.linalg.solve, SQUARE, SIDES),
    "solve adjoint": (
        lambda a, b: tf.linalg.solve(a, b, adjoint=True),
        lambda a, b: np.linalg.solve(adjoint(a), b), SQUARE, SIDES,
    ),
    "inverse": (tf.linalg.inv, np.linalg.inv, SQUARE),
    "inverse adjoint": (
        lambda a: tf.linalg.inv(a, adjoint=True), lambda a: np.linalg.inv(adjoint(a)), SQUARE,
    ),
    "lower triangle": (
        tf.linalg.triangular_solve, lambda a, b: np.linalg.solve(np.tril(a), b), SQUARE, SIDES,
    ),
    "upper triangle's adjoint": (
        lambda a, b: tf.linalg.triangular_solve(a, b, lower=False, adjoint=True),
        lambda a, b: np.linalg.solve(adjoint(np.triu(a)), b), SQUARE, SIDES,
    ),
    "cholesky": (
        lambda x: tf.cholesky(definite(x)), lambda x: np.linalg.cholesky(of_numpy(x)), SQUARE,
    ),
    "cholesky_solve": (
        lambda x, b: tf.cholesky_solve(tf.cholesky(definite(x)), b),
        lambda x, b: np.linalg.solve(of_numpy(x), b), SQUARE, SIDES,
    ),
    "least squares": (
        lambda a, b: tf.matrix_solve_ls(a, b, 0.5),
        lambda a, b: np.linalg.solve(adjoint(a) @ a + 0.5 * np.eye(3), adjoint(a) @ b),
        TALL, numbers(2, 4, 2),
    ),
    "the shortest solution": (
        tf.matrix_solve_ls, lambda a, b: adjoint(a) @ np.linalg.solve(a @ adjoint(a), b),
        WIDE, SIDES,
    ),
    "determinant": (tf.matrix_determinant, np.linalg.det, SQUARE),
    "sign of the determinant": (
        lambda x: tf.linalg.slogdet(x)[0], lambda x: np.linalg.slogdet(x)[0], SQUARE,
    ),
    "size of the determinant": (
        lambda x: tf.linalg.slogdet(x)[1], lambda x: np.linalg.slogdet(x)[1] + 0j, SQUARE,
    ),
    "logdet": (
        lambda x: tf.linalg.logdet(definite(x)), lambda x: np.linalg.slogdet(of_numpy(x))[1],
        SQUARE,
    ),
    "eigenvalues": (
        lambda x: tf.self_adjoint_eigvals(definite(x)),
        lambda x: np.linalg.eigvalsh(of_numpy(x)) + 0j, SQUARE,
    ),
    "projections on eigenvectors": (
        lambda x: _weighted(*tf.self_adjoint_eig(definite(x))),
        lambda x: _weighted_by_numpy(*np.linalg.eigh(of_numpy(x))), SQUARE,
    ),
    "singular values": (
        lambda x: tf.svd(x, compute_uv=False), lambda x: np.linalg.svd(x, compute_uv=False), TALL,
    ),
    "singular vectors, tall": (
        lambda x: _outer(*tf.svd(x)), lambda x: _outer_by_numpy(*np.linalg.svd(x, False)), TALL,
    ),
    "singular vectors, wide": (
        lambda x: _outer(*tf.svd(x)), lambda x: _outer_by_numpy(*np.linalg.svd(x, False)), WIDE,
    ),
    "q": (lambda x: tf.qr(x).q, lambda x: _with_real_diagonal(x)[0], TALL),
    "r": (lambda x: tf.qr(x).r, lambda x: _with_real_diagonal(x)[1], TALL),
    "adjoint": (tf.linalg.adjoint, adjoint, TALL),
    "matvec": (
        lambda a, b: tf.linalg.matvec(a, b, adjoint_a=True),
        lambda a, b: (adjoint(a) @ b[..., None])[..., 0], TALL, numbers(2, 4),
    ),
    "trace": (tf.trace, lambda x: np.trace(x, axis1=-2, axis2=-1), TALL),
    "diag": (tf.diag, np.diag, numbers(3)),
    "diag_part": (tf.diag_part, np.diag, numbers(3, 3)),
    "matrix_diag": (tf.matrix_diag, lambda x: x[..., None] * np.eye(3), numbers(2, 3)),
    "matrix_diag_part": (
        tf.matrix_diag_part, lambda x: np.diagonal(x, axis1=-2, axis2=-1), TALL,
    ),
    "diagonals": (
        lambda x: tf.linalg.diag_part(x, k=(-1, 1)), lambda x: _diagonals(x), numbers(3, 3),
    ),
    "matrix_set_diag": (
        tf.matrix_set_diag,
        lambda x, d: np.where(np.eye(3), d[..., None], x), SQUARE, numbers(2, 3, seed=4),
    ),
    "band_part": (
        lambda x: tf.matrix_band_part(x, 1, 0), lambda x: np.tril(np.triu(x, -1)), TALL,
    ),
    "norm": (tf.norm, lambda x: np.linalg.norm(x.ravel()) + 0j, TALL),
    "norm of rows, 1": (
        lambda x: tf.norm(x, 1, axis=-1), lambda x: np.abs(x).sum(-1), TALL,
    ),
    "norm of rows, inf": (
        lambda x: tf.norm(x, np.inf, axis=-1), lambda x: np.abs(x).max(-1), TALL,
    ),
    "norm of rows, 3": (
        lambda x: tf.norm(x, 3, axis=-1), lambda x: (np.abs(x) ** 3).sum(-1) ** (1 / 3), TALL,
    ),
    "norm of matrices, 1": (
        lambda x: tf.norm(x, 1, axis=[-2, -1]),
        lambda x: np.linalg.norm(x, 1, axis=(-2, -1)), TALL,
    ),
    "norm of matrices, 2": (
        lambda x: tf.norm(x, 2, axis=[-2, -1]),
        lambda x: np.linalg.norm(x, 2, axis=(-2, -1)), TALL,
    ),
    "normalize": (
        lambda x: tf.linalg.normalize(x, axis=-1)[0],
        lambda x: x / np.linalg.norm(x, axis=-1, keepdims=True), TALL,
    ),
    "cross": (tf.cross, np.cross, numbers(2, 3), numbers(2, 3, seed=1)),
    "tensordot": (
        lambda a, b: tf.tensordot(a, b, [[1], [0]]), lambda a, b: np.tensordot(a, b, 1),
        numbers(2, 3), numbers(3, 2, seed=1),
    ),
}  # fmt: skip


def _weighted(values: Any, vectors: Any) -> Any:
    """A function of eigenvectors that does not change as each turns by a number of size 1."""
    weights = tf.constant([1.0 + 0j, 2.0, 4.0], vectors.dtype)
    return tf.matmul(vectors * weights, vectors, adjoint_b=True)


def _weighted_by_numpy(values: Array, vectors: Array) -> Array:
    return (vectors * [1.0, 2.0, 4.0]) @ adjoint(vectors)


def _outer(s: Any, u: Any, v: Any) -> Any:
    return tf.matmul(u * tf.constant([1.0 + 0j, 2.0, 4.0], u.dtype), v, adjoint_b=True)


def _outer_by_numpy(u: Array, s: Array, v: Array) -> Array:
    return (u * [1.0, 2.0, 4.0]) @ v


def _with_real_diagonal(x: Array) -> tuple[Array, Array]:
    """numpy's factors; its diagonal is real, too, of the same signs."""
    q, r = np.linalg.qr(x)
    return q, r


def _diagonals(x: Array) -> Array:
    """In rows, those above the main diagonal with a 0 in front, those below with one at the end."""
    above, below = np.diagonal(x, 1), np.diagonal(x, -1)
    return np.stack([np.append(0, above), np.diagonal(x), np.append(below, 0)])


@pytest.mark.parametrize(
    ("target", "kind"),
    [("runtime", "complex128"), ("cinfer", "complex128"), ("cinfer", "complex64")],
)
@pytest.mark.parametrize("case", CASES)
def test_values_are_numpys(target: str, kind: str, case: str) -> None:
    agree(target, kind, *CASES[case], times=4.0)


@pytest.mark.parametrize("case", CASES)
def test_gradients_are_those_of_finite_differences(case: str) -> None:
    """In one engine: gradients are made of operators that the values test in both."""
    function, _, *arrays = CASES[case]
    check_gradient("cinfer", function, *arrays, tolerance=1e-5)


# ---- factors ----


def near(found: Array, expected: Array, size: float = 1.0) -> None:
    np.testing.assert_allclose(found, expected, atol=1e-12 * max(1.0, size))


def are_orthonormal(vectors: Array) -> None:
    same = adjoint(vectors) @ vectors
    np.testing.assert_allclose(
        same, np.broadcast_to(np.eye(same.shape[-1]), same.shape), atol=1e-13
    )


def check_eig(x: Array, values: Array, vectors: Array) -> None:
    """The factors of Hermitian matrices give the matrices, and the vectors are orthonormal."""
    size = np.abs(x).max(initial=0.0)
    near(values, np.linalg.eigvalsh(x), size)
    near(vectors * values[..., None, :] @ adjoint(vectors), x, size)
    are_orthonormal(vectors)


def check_svd(x: Array, s: Array, u: Array, v: Array) -> None:
    least, size = min(x.shape[-2:]), np.abs(x).max(initial=0.0)
    near(s, np.linalg.svd(x, compute_uv=False), size)
    near(u[..., :least] * s[..., None, :] @ adjoint(v[..., :least]), x, size)
    assert u.shape[-1] == u.shape[-2] and v.shape[-1] == v.shape[-2]
    are_orthonormal(u)
    are_orthonormal(v)


def check_qr(x: Array, q: Array, r: Array) -> None:
    near(q @ r, x, np.abs(x).max(initial=0.0))
    are_orthonormal(q)
    np.testing.assert_array_equal(r, np.triu(r))
    np.testing.assert_array_equal(np.diagonal(r, axis1=-2, axis2=-1).imag, 0.0)


def full_svd(x: Any) -> list[Any]:
    return list(tf.svd(x, full_matrices=True))


@TARGETS
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (5, 3), (2, 2, 4, 4), (0, 3, 3), (2, 0, 0)])
def test_factors_give_the_matrices(target: str, shape: tuple[int, ...]) -> None:
    x = numbers(*shape)
    check_qr(x, *run(target, lambda t: list(tf.qr(t)), x))
    if 0 not in shape:
        check_qr(x, *run(target, lambda t: list(tf.qr(t, full_matrices=True)), x))
        check_svd(x, *run(target, full_svd, x))
    if shape[-1] == shape[-2]:
        x = x + adjoint(x)
        check_eig(x, *run(target, tf.self_adjoint_eig, x))


#: Hermitian matrices whose eigenvalues come several times, or whose columns are 0
DEGENERATE = {
    "zeros": np.zeros((3, 3), complex),
    "identity": np.eye(4) + 0j,
    "ones": np.ones((4, 4), complex),
    "pauli y": np.kron(np.eye(2), [[0, -1j], [1j, 0]]),
    "two of each": np.kron(np.eye(2), [[2, 1 + 1j], [1 - 1j, 3]]),
    "one column": np.outer([1, 1j, -1, 2], np.conj([1, 1j, -1, 2])),
    "nearly equal": np.diag([1.0, 1.0 + 1e-15, 1.0 - 1e-15]) + 1e-15j * np.triu(np.ones((3, 3)), 1)
    - 1e-15j * np.tril(np.ones((3, 3)), -1),
    "real": np.array([[2.0 + 0j, 1.0], [1.0, 2.0]]),
}  # fmt: skip


@TARGETS
@pytest.mark.parametrize("case", DEGENERATE)
def test_vectors_of_equal_eigenvalues_are_orthonormal(target: str, case: str) -> None:
    x = DEGENERATE[case]
    check_eig(x, *run(target, tf.self_adjoint_eig, x))
    check_svd(x, *run(target, full_svd, x))
    check_qr(x, *run(target, lambda t: list(tf.qr(t)), x))


@functools.cache
def _of_unknown_sizes() -> tuple[Any, Any, list[Any]]:
    """A session, a placeholder and what is computed from it."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.complex128, [None, None])
        wide = tf.matmul(x, x, adjoint_b=True)
        factors = [tf.svd(x, full_matrices=True), tf.qr(x, full_matrices=True)]
        results = [*factors, tf.self_adjoint_eig(wide), tf.matrix_determinant(wide)]
        return tf.Session(target="cinfer"), x, results


@hypothesis.given(
    x=hnp.arrays(
        np.complex128,
        st.tuples(st.integers(1, 5), st.integers(1, 5)),
        elements=st.builds(complex, st.integers(-2, 2), st.integers(-2, 2)),
    )
)
@hypothesis.settings(max_examples=40, deadline=None)
def test_factors_of_small_integers_give_the_matrices(x: Array) -> None:
    session, fed, results = _of_unknown_sizes()
    svd, qr, eig, determinant = session.run(results, {fed: x})
    check_svd(x, *svd)
    check_qr(x, *qr)
    wide = x @ adjoint(x)
    check_eig(wide, *eig)
    np.testing.assert_allclose(determinant, np.linalg.det(wide), atol=1e-8)


# ---- particular values ----


@TARGETS
def test_only_the_lower_triangle_and_a_real_diagonal_are_read(target: str) -> None:
    x = of_numpy(numbers(3, 3))
    other = np.tril(x) + np.triu(numbers(3, 3, seed=7), 1) + 5j * np.eye(3)
    np.testing.assert_array_equal(run(target, tf.cholesky, other), run(target, tf.cholesky, x))
    for one, two in zip(
        run(target, tf.self_adjoint_eig, other), run(target, tf.self_adjoint_eig, x), strict=True
    ):
        np.testing.assert_array_equal(one, two)


@TARGETS
def test_the_factor_of_a_matrix_that_is_not_definite_is_nan_below(target: str) -> None:
    x = np.stack([np.eye(2), -np.eye(2)]).astype(np.complex64)
    found = run(target, tf.cholesky, x)
    np.testing.assert_array_equal(found[0], np.eye(2))
    assert np.isnan(found[1][np.tril_indices(2)]).all() and found[1, 0, 1] == 0


@TARGETS
def test_singular_matrices_have_no_inverse_and_the_determinant_0(target: str) -> None:
    x = np.array([[1 + 1j, 2 + 2j], [0, 0]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
        run(target, tf.linalg.inv, x)
    assert run(target, tf.matrix_determinant, x) == 0
    sign, log = run(target, tf.linalg.slogdet, x)
    assert sign == 0 and log.real == -np.inf


@TARGETS
def test_matrices_of_unknown_sizes_are_solved_and_factored(target: str) -> None:
    x, b = numbers(2, 3, 3), numbers(2, 3, 2, seed=1)
    with tf.Graph().as_default(), tf.Session(target=target) as session:
        a = tf.placeholder(tf.complex128)
        right = tf.placeholder(tf.complex128, [None, None, None])
        a3 = tf.placeholder(tf.complex128, [None, None, None])
        q, r = tf.qr(a3)
        s, u, v = tf.svd(a3)
        results = [
            tf.matrix_determinant(a), tf.linalg.inv(a), tf.linalg.slogdet(a)[0],
            tf.matrix_solve(a3, right), tf.matmul(q, r),
            tf.matmul(u * tf.cast(s, tf.complex128)[:, None], v, adjoint_b=True),
        ]  # fmt: skip
        found = session.run(results, {a: x, a3: x, right: b})
        wide = session.run(results[4:], {a3: numbers(1, 2, 4)})
    expected = [
        np.linalg.det(x), np.linalg.inv(x), np.linalg.slogdet(x)[0], np.linalg.solve(x, b), x, x,
    ]  # fmt: skip
    for one, two in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-12)
    for one in wide:
        np.testing.assert_allclose(one, numbers(1, 2, 4), atol=1e-13)


@TARGETS
def test_determinants_that_leave_the_range_have_logarithms(target: str) -> None:
    x = 1e-30 * np.exp(0.3j) * np.eye(20)
    sign, log = run(target, tf.linalg.slogdet, x.astype(np.complex64))
    np.testing.assert_allclose(sign, np.exp(6j), rtol=1e-5)
    np.testing.assert_allclose(log, 20 * np.log(1e-30), rtol=1e-5)


def test_the_gradient_of_full_factors_is_refused() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.complex64, [4, 3])
        for y in (tf.qr(x, full_matrices=True).q, tf.svd(x, full_matrices=True)[1]):
            with pytest.raises(NotImplementedError, match="needs full_matrices=False"):
                tf.gradients(tf.abs(y), x)


# ---- triangular factors by elimination, the exponential ----


@TARGETS
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (2, 3, 4, 4), (0, 2, 2), (2, 0, 0)])
def test_lu_gives_the_matrix_with_exchanged_rows(
    target: str, dtype: str, shape: tuple[int, ...]
) -> None:
    x = numbers(*shape)
    x = (x if dtype.startswith("complex") else x.real).astype(dtype)
    factors, rows = run(target, lambda t: list(tf.linalg.lu(t, tf.int64)), x)
    assert factors.dtype == x.dtype and rows.dtype == np.int64
    low = np.tril(factors, -1) + np.eye(shape[-1])
    found, least = low @ np.triu(factors), 50 * np.finfo(dtype).eps
    np.testing.assert_allclose(found, np.take_along_axis(x, rows[..., None], -2), atol=least)
    assert (np.abs(np.tril(factors, -1)) <= 1 + least).all()


@TARGETS
def test_lu_solves_inverts_and_gives_the_matrix_back(target: str) -> None:
    def all_of(a: Any, b: Any) -> list[Any]:
        factors, rows = tf.linalg.lu(a)
        return [
            tf.linalg.lu_solve(factors, rows, b),
            tf.linalg.lu_matrix_inverse(factors, rows),
            tf.linalg.lu_reconstruct(factors, rows),
        ]

    found = run(target, all_of, SQUARE, SIDES)
    for one, two in zip(
        found, [np.linalg.solve(SQUARE, SIDES), np.linalg.inv(SQUARE), SQUARE], strict=True
    ):
        np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-12)


@TARGETS
def test_lu_of_a_singular_matrix_has_a_0_on_the_diagonal(target: str) -> None:
    x = np.array([[0, 0, 1], [0, 0, 2], [0, 0, 3j]])
    factors, rows = run(target, lambda t: list(tf.linalg.lu(t)), x)
    found = (np.tril(factors, -1) + np.eye(3)) @ np.triu(factors)
    np.testing.assert_allclose(found, x[rows], atol=1e-15)


@TARGETS
def test_gradients_of_lu_are_those_of_finite_differences(target: str) -> None:
    check_gradient(target, lambda x: tf.linalg.lu(x).lu, SQUARE, tolerance=1e-5)
    check_gradient(
        target, lambda x, b: tf.linalg.lu_solve(*tf.linalg.lu(x), b), SQUARE, SIDES, tolerance=1e-5
    )


@TARGETS
@KINDS
def test_the_exponential_is_that_of_scipy(target: str, kind: str) -> None:
    linalg = pytest.importorskip("scipy.linalg")

    def exponential(x: Array) -> Array:
        return np.stack([linalg.expm(each) for each in x])

    agree(target, kind, tf.linalg.expm, exponential, 2 * SQUARE, times=40.0)


@TARGETS
def test_gradients_of_wide_qr_are_those_of_finite_differences(target: str) -> None:
    check_gradient(target, lambda x: list(tf.qr(x)), WIDE, tolerance=1e-5)
    check_gradient(target, tf.linalg.expm, SQUARE[0], tolerance=1e-5)


# ---- tridiagonal matrices ----


@TARGETS
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("size", [1, 2, 7])
def test_tridiagonal_matrices_have_the_eigenvalues_of_complete_ones(
    target: str, dtype: str, size: int
) -> None:
    alpha, beta = (numbers(n, seed=3) for n in (size, size - 1))
    if dtype == "float64":
        alpha, beta = alpha.real, beta.real
    matrix = np.diag(alpha.real) + np.diag(beta, 1) + np.diag(np.conj(beta), -1)

    def all_of(a: Any, b: Any) -> list[Any]:
        values = np.linalg.eigvalsh(matrix)
        some = tf.linalg.eigh_tridiagonal(a, b, select="i", select_range=(1, 2))
        between = (values[0] - 1, values[0] + 1e-9)
        first = tf.linalg.eigh_tridiagonal(a, b, select="v", select_range=between)
        return [*tf.linalg.eigh_tridiagonal(a, b, eigvals_only=False), some, first]

    values, vectors, some, first = run(target, all_of, alpha, beta)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix), atol=1e-13)
    np.testing.assert_allclose(vectors * values @ adjoint(vectors), matrix, atol=1e-13)
    np.testing.assert_array_equal(some, values[1:3])
    np.testing.assert_array_equal(first, values[:1])


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_a_selection_without_a_range_is_refused(dtype: type) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="'i' or 'v' with a pair"):
        tf.linalg.eigh_tridiagonal(np.ones(2, dtype), np.ones(1, dtype), select="i")


# ---- eigenvalues of any matrices ----

GENERAL = {
    "complex": numbers(2, 4, 4),
    "real": numbers(5, 5).real,
    "one element": numbers(1, 1),
    "rotation": np.array([[0.0, 1.0], [-1.0, 0.0]]),
    "cycle": np.roll(np.eye(6), 1, 0),
    "zeros": np.zeros((2, 3, 3)),
    "triangular": np.triu(numbers(4, 4)),
    "without a basis": np.array([[2.0, 1.0], [0.0, 2.0]]),
    "no rows": np.zeros((2, 0, 0)),
    "no matrices": np.zeros((0, 3, 3)),
}


@TARGETS
@pytest.mark.parametrize("case", GENERAL)
def test_eigenvectors_of_any_matrix_are_mapped_to_multiples(target: str, case: str) -> None:
    x = GENERAL[case]
    values, vectors = run(target, tf.linalg.eig, x)
    assert values.dtype == vectors.dtype == np.complex128
    np.testing.assert_allclose(x @ vectors, vectors * values[..., None, :], atol=1e-13)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=-2), np.ones(values.shape), rtol=1e-13)
    for index in np.ndindex(*x.shape[:-2]):
        found = values[index]
        for each in np.linalg.eigvals(x[index]):
            at = np.argmin(np.abs(found - each))
            np.testing.assert_allclose(found[at], each, atol=1e-12)
            found = np.delete(found, at)
    alone = run(target, tf.linalg.eigvals, x.astype(np.complex64))
    assert alone.dtype == np.complex64


def test_gradients_of_eig_are_those_of_finite_differences() -> None:
    def without_direction(x: Any) -> list[Any]:
        e, v = tf.linalg.eig(x)
        return [e, tf.abs(v), tf.matmul(v, v, adjoint_b=True)]

    check_gradient("cinfer", without_direction, numbers(2, 3, 3, seed=6), tolerance=1e-5)


# ---- roots and logarithms of matrices ----

ROOTS = {
    "complex": numbers(2, 4, 4),
    "definite": of_numpy(numbers(3, 3)).real + 0j,
    "zeros": np.zeros((2, 2), complex),
    "triangular": np.triu(numbers(4, 4)),
    "no rows": np.zeros((2, 0, 0), complex),
}


@TARGETS
@pytest.mark.parametrize("case", ROOTS)
def test_roots_and_exponentials_of_logarithms_are_the_matrices(target: str, case: str) -> None:
    x = ROOTS[case]
    root = run(target, tf.linalg.sqrtm, x)
    np.testing.assert_allclose(root @ root, x, atol=1e-12)
    assert (np.linalg.eigvals(root).real >= -1e-12).all()
    if case not in ("zeros", "no rows"):
        linalg = pytest.importorskip("scipy.linalg")
        found = run(target, tf.linalg.logm, x)
        expected = [linalg.logm(each) for each in x.reshape(-1, *x.shape[-2:])]
        np.testing.assert_allclose(found, np.reshape(expected, x.shape), atol=1e-12)


@TARGETS
def test_real_matrices_have_roots_and_no_logarithms(target: str) -> None:
    x = of_numpy(numbers(3, 3)).real.astype(np.float32)
    root = run(target, tf.linalg.sqrtm, x)
    assert root.dtype == np.float32
    np.testing.assert_allclose(root @ root, x, rtol=1e-5)
    with tf.Graph().as_default(), pytest.raises(TypeError, match="expected a complex dtype"):
        tf.linalg.logm(x)


@pytest.mark.parametrize("function", ["sqrtm", "logm"])
def test_gradients_of_roots_and_logarithms_are_those_of_finite_differences(function: str) -> None:
    x = numbers(2, 3, 3, seed=6) + 2 * np.eye(3)
    check_gradient("cinfer", getattr(tf.linalg, function), x, tolerance=1e-5)
