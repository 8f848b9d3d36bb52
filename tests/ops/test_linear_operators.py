"""tf.linalg.LinearOperator* against numpy's matrices, in both engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import graphio as tf

linalg = tf.linalg
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


def grid(*shape: int, start: float = 0.0) -> Any:
    """Different numbers between -1 and 1."""
    return np.sin(np.arange(np.prod(shape)) * 1.7 + 0.4 + start).reshape(shape)


class Case(NamedTuple):
    """An operator and its matrices.

    Args:
        make: from a function of arrays to tensors, to the operator.
        matrix: the matrices; leading axes may broadcast.
        inverts: whether they have inverses.
    """

    make: Callable[[Callable[[Any], Any]], Any]
    matrix: Any
    inverts: bool = True


def toeplitz(column: Any, row: Any) -> Any:
    n = len(column)
    return np.array([[column[i - j] if i >= j else row[j - i] for j in range(n)] for i in range(n)])


def circulant(spectrum: Any) -> Any:
    """Circulant matrices of one, two or three axes, by their transforms of unit vectors."""
    axes = tuple(range(spectrum.ndim))
    units = np.eye(spectrum.size).reshape(-1, *spectrum.shape)
    moved = tuple(a + 1 for a in axes)
    columns = np.fft.ifftn(spectrum * np.fft.fftn(units, axes=moved), axes=moved)
    return columns.reshape(spectrum.size, spectrum.size).T


def block_diagonal(*blocks: Any) -> Any:
    size = sum(len(block) for block in blocks)
    made, at = np.zeros((size, size)), 0
    for block in blocks:
        made[at : at + len(block), at : at + len(block)] = block
        at += len(block)
    return made


def positive(*shape: int) -> Any:
    root = grid(*shape)
    return root @ np.swapaxes(root, -1, -2) + np.eye(shape[-1])


DIAGONAL, LOWER = grid(2, 3) + 1.5, np.tril(grid(3, 3)) + 2 * np.eye(3)
FULL, WIDE = grid(2, 3, 3) + 2 * np.eye(3), grid(2, 4, start=2.0)
FACTOR, OTHER = grid(3, 2), grid(3, 2, start=5.0)
COMPLEX = grid(3) + 1.5 + 1j * grid(3, start=3.0)
EVEN = np.fft.fft(np.array([2.0, 0.5, 0.1, 0.5])).real  # of a symmetric column
TWO, ONE = positive(2, 2), grid(2, 2) + 2 * np.eye(2)
AXIS = grid(3) + 0.2
SQUARE_ROOT = {"is_self_adjoint": True, "is_positive_definite": True}


def full(t: Callable[[Any], Any], matrix: Any, **hints: Any) -> Any:
    return linalg.LinearOperatorFullMatrix(t(matrix), **hints)


def diagonal(t: Callable[[Any], Any], numbers: Any, **hints: Any) -> Any:
    return linalg.LinearOperatorDiag(t(numbers), **hints)


CASES: dict[str, Case] = {
    "full": Case(lambda t: full(t, FULL), FULL),
    "rectangle": Case(lambda t: full(t, WIDE), WIDE, False),
    "symmetric": Case(lambda t: full(t, positive(3, 3), **SQUARE_ROOT), positive(3, 3)),
    "complex": Case(lambda t: full(t, FULL + 1j * FULL[::-1]), FULL + 1j * FULL[::-1]),
    "lower": Case(lambda t: linalg.LinearOperatorLowerTriangular(t(LOWER)), LOWER),
    "diagonal": Case(lambda t: diagonal(t, DIAGONAL), DIAGONAL[:, :, None] * np.eye(3)),
    "complex_diagonal": Case(lambda t: diagonal(t, COMPLEX), np.diag(COMPLEX)),
    "identity": Case(lambda t: linalg.LinearOperatorIdentity(3, dtype=tf.float64), np.eye(3)),
    "identities": Case(
        lambda t: linalg.LinearOperatorIdentity(3, [2], dtype=tf.float64), np.stack([np.eye(3)] * 2)
    ),
    "multiples": Case(
        lambda t: linalg.LinearOperatorScaledIdentity(3, t(DIAGONAL[:, 0])),
        DIAGONAL[:, 0, None, None] * np.eye(3),
    ),
    "zeros": Case(
        lambda t: linalg.LinearOperatorZeros(
            2, 4, [2], tf.float64, is_square=False, is_self_adjoint=False
        ),
        np.zeros([2, 2, 4]),
        False,
    ),
    "reflection": Case(
        lambda t: linalg.LinearOperatorHouseholder(t(AXIS)),
        np.eye(3) - 2 * np.outer(AXIS, AXIS) / (AXIS @ AXIS),
    ),
    "low_rank": Case(
        lambda t: linalg.LinearOperatorLowRankUpdate(
            diagonal(t, DIAGONAL, is_positive_definite=True), t(FACTOR)
        ),
        DIAGONAL[:, :, None] * np.eye(3) + FACTOR @ FACTOR.T,
    ),
    "low_rank_of_two": Case(
        lambda t: linalg.LinearOperatorLowRankUpdate(
            full(t, FULL), t(FACTOR), t(grid(2)), t(OTHER)
        ),
        FULL + FACTOR * grid(2) @ OTHER.T,
    ),
    "circulant": Case(
        lambda t: linalg.LinearOperatorCirculant(t(COMPLEX), tf.complex128), circulant(COMPLEX)
    ),
    "real_circulant": Case(
        lambda t: linalg.LinearOperatorCirculant(t(EVEN), tf.float64), circulant(EVEN).real
    ),
    "circulant_2d": Case(
        lambda t: linalg.LinearOperatorCirculant2D(t(grid(2, 3) + 2), tf.complex128),
        circulant(grid(2, 3) + 2),
    ),
    "circulant_3d": Case(
        lambda t: linalg.LinearOperatorCirculant3D(t(grid(2, 2, 2) + 2), tf.complex128),
        circulant(grid(2, 2, 2) + 2),
    ),
    "toeplitz": Case(
        lambda t: linalg.LinearOperatorToeplitz(t(grid(3) + [3, 0, 0]), t(grid(3, start=4.0))),
        toeplitz(grid(3) + [3, 0, 0], grid(3, start=4.0)),
    ),
    "composition": Case(
        lambda t: linalg.LinearOperatorComposition([full(t, FULL), diagonal(t, DIAGONAL[0])]),
        FULL * DIAGONAL[0],
    ),
    "blocks": Case(
        lambda t: linalg.LinearOperatorBlockDiag(
            [full(t, ONE, is_square=True), diagonal(t, DIAGONAL[0])]
        ),
        block_diagonal(ONE, np.diag(DIAGONAL[0])),
    ),
    "kronecker": Case(
        lambda t: linalg.LinearOperatorKronecker([full(t, ONE), full(t, FULL[0]), full(t, TWO)]),
        np.kron(np.kron(ONE, FULL[0]), TWO),
    ),
    "kronecker_rectangles": Case(
        lambda t: linalg.LinearOperatorKronecker([full(t, WIDE), full(t, ONE)]),
        np.kron(WIDE, ONE),
        False,
    ),
    "adjoint": Case(
        lambda t: linalg.LinearOperatorAdjoint(full(t, FULL)), np.swapaxes(FULL, -1, -2)
    ),
    "inversion": Case(lambda t: linalg.LinearOperatorInversion(full(t, FULL)), np.linalg.inv(FULL)),
}


def adjoint(matrix: Any) -> Any:
    return np.conj(np.swapaxes(matrix, -1, -2))


@pytest.mark.parametrize(
    ("target", "static"), [("runtime", True), ("cinfer", False)], ids=["known shape", "open shape"]
)
@pytest.mark.parametrize("name", CASES)
def test_an_operator_does_what_its_matrices_do(name: str, static: bool, target: str) -> None:
    case, matrix = CASES[name], CASES[name].matrix
    rows, columns = matrix.shape[-2:]

    def tensor(value: Any) -> Any:
        return tf.constant(value) if static else tf.placeholder_with_default(value, None)

    operator = case.make(tensor)
    complex_numbers = operator.dtype.is_complex
    x = grid(columns, 2) + (1j * grid(columns, 2, start=1.0) if complex_numbers else 0)
    y = grid(rows, 2) + (1j * grid(rows, 2, start=1.0) if complex_numbers else 0)
    diagonal_of = np.diagonal(matrix, axis1=-2, axis2=-1)
    pairs: dict[str, tuple[Any, Any]] = {
        "shape": (operator.shape_tensor(), matrix.shape),
        "dense": (operator.to_dense(), matrix),
        "matmul": (operator.matmul(tensor(x)), matrix @ x),
        "adjoint matmul": (operator.matmul(tensor(y), adjoint=True), adjoint(matrix) @ y),
        "of an adjoint": (operator.matmul(tensor(adjoint(x)), adjoint_arg=True), matrix @ x),
        "matvec": (operator.matvec(tensor(x[:, 0])), matrix @ x[:, 0]),
        "adjoint": (operator.adjoint().to_dense(), adjoint(matrix)),
        "diagonal": (operator.diag_part(), diagonal_of),
        "trace": (operator.trace(), diagonal_of.sum(-1)),
        "sum": (operator.add_to_tensor(tensor(matrix)), 2 * matrix),
    }
    if case.inverts:
        inverse = np.linalg.inv(matrix)
        pairs.update(
            {
                "solve": (operator.solve(tensor(y)), inverse @ y),
                "adjoint solution": (operator.solve(tensor(x), adjoint=True), adjoint(inverse) @ x),
                "solvevec": (operator.solvevec(tensor(y[:, 0])), inverse @ y[:, 0]),
                "inverse": (operator.inverse().to_dense(), inverse),
                "determinant": (operator.determinant(), np.linalg.det(matrix)),
                "logarithm": (operator.log_abs_determinant(), np.linalg.slogdet(matrix)[1]),
            }
        )
    with tf.Session(target=target) as session:
        found = session.run({word: given for word, (given, _) in pairs.items()})
    for word, (_, expected) in pairs.items():
        np.testing.assert_allclose(found[word], expected, rtol=1e-8, atol=1e-10, err_msg=word)
    if static:
        assert operator.shape.as_list() == list(matrix.shape)


#: two operators whose composition and solution have a special class
PAIRS: dict[str, tuple[str, str, str, str]] = {
    "diagonals": ("diagonal", "diagonal", "LinearOperatorDiag", "LinearOperatorDiag"),
    "a diagonal and multiples": (
        "diagonal",
        "multiples",
        "LinearOperatorDiag",
        "LinearOperatorDiag",
    ),
    "multiples and a diagonal": (
        "multiples",
        "diagonal",
        "LinearOperatorDiag",
        "LinearOperatorDiag",
    ),
    "a diagonal and a triangle": (
        *("diagonal", "lower"),
        *["LinearOperatorLowerTriangular"] * 2,
    ),
    "a triangle and a diagonal": (
        *("lower", "diagonal", "LinearOperatorLowerTriangular"),
        "LinearOperatorComposition",
    ),
    "the identity and a matrix": ("identity", "full", *["LinearOperatorFullMatrix"] * 2),
    "circulants": ("circulant", "circulant", *["LinearOperatorCirculant"] * 2),
    "matrices": ("full", "lower", *["LinearOperatorComposition"] * 2),
    "an inverse": ("inversion", "full", *["LinearOperatorComposition"] * 2),
}


@TARGETS
@pytest.mark.parametrize("name", PAIRS)
def test_operators_give_operators(name: str, target: str) -> None:
    left, right, composed, solution = PAIRS[name]
    a, b = (CASES[word].make(tf.constant) for word in (left, right))
    expected = [
        CASES[left].matrix @ CASES[right].matrix,
        np.linalg.solve(CASES[left].matrix, CASES[right].matrix),
    ]
    made = [a.matmul(b), a.solve(b)]
    assert [type(operator).__name__ for operator in made] == [composed, solution]
    with tf.Session(target=target) as session:
        found = session.run([operator.to_dense() for operator in made])
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)


@TARGETS
def test_cholesky_factors_are_operators(target: str) -> None:
    matrices = [positive(3, 3), np.diag(DIAGONAL[0]), 2.0 * np.eye(3)]
    operators = [
        full(tf.constant, matrices[0], **SQUARE_ROOT),
        diagonal(tf.constant, DIAGONAL[0], is_positive_definite=True),
        linalg.LinearOperatorScaledIdentity(
            3, tf.constant(2.0, tf.float64), is_positive_definite=True
        ),
    ]
    operators.append(linalg.LinearOperatorBlockDiag(operators[:2]))
    matrices.append(block_diagonal(*matrices[:2]))
    operators.append(linalg.LinearOperatorKronecker(operators[:2]))
    matrices.append(np.kron(*matrices[:2]))
    with tf.Session(target=target) as session:
        found = session.run([operator.cholesky().to_dense() for operator in operators])
    for ours, matrix in zip(found, matrices, strict=True):
        np.testing.assert_allclose(ours, np.linalg.cholesky(matrix), rtol=1e-8, atol=1e-12)


@TARGETS
def test_assertions_fail_in_the_run(target: str) -> None:
    zero = tf.placeholder_with_default([1.0, 0.0], [2])
    singular = linalg.LinearOperatorDiag(zero)
    lopsided = linalg.LinearOperatorFullMatrix(
        tf.placeholder_with_default([[1.0, 2.0], [0.0, 1.0]], [2, 2])
    )
    with tf.Session(target=target) as session:
        session.run(lopsided.assert_non_singular())
        for failing in (
            singular.assert_non_singular(),
            singular.assert_positive_definite(),
            lopsided.assert_self_adjoint(),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(failing)


def test_an_operator_follows_its_variable() -> None:
    diag = tf.Variable([1.0, 2.0])
    operator = linalg.LinearOperatorDiag(diag)
    assert operator.variables == operator.trainable_variables == (diag,)
    total = operator.trace()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(total) == 3.0
        session.run(diag.assign([5.0, 2.0]))
        assert session.run(total) == 7.0


#: calls that are refused: what is called, the class of the error, and words of it
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "hints that contradict": (
        lambda: linalg.LinearOperatorFullMatrix(np.eye(2), False, is_positive_definite=True),
        ValueError,
        "always non-singular",
    ),
    "a square that is none": (
        lambda: linalg.LinearOperatorFullMatrix(np.eye(2), is_square=False).is_square,
        ValueError,
        "was square",
    ),
    "another dtype": (
        lambda: linalg.LinearOperatorIdentity(2).matmul(np.eye(2)),
        TypeError,
        "Expected argument to have dtype",
    ),
    "sizes that don't fit": (
        lambda: linalg.LinearOperatorDiag([1.0, 2.0]).matmul(tf.zeros([3, 1])),
        ValueError,
        "3",
    ),
    "a solution of a rectangle": (
        lambda: linalg.LinearOperatorFullMatrix(np.ones([2, 3])).solve(np.ones([2, 1])),
        NotImplementedError,
        "not be square",
    ),
    "an inverse of zeros": (
        lambda: linalg.LinearOperatorZeros(2).inverse(),
        ValueError,
        "singular matrix",
    ),
    "a factor without hints": (
        lambda: linalg.LinearOperatorFullMatrix(np.eye(2)).cholesky(),
        ValueError,
        "Cholesky",
    ),
    "no operators": (lambda: linalg.LinearOperatorKronecker([]), ValueError, "non-empty"),
    "integers": (lambda: linalg.LinearOperatorFullMatrix([[1]]), TypeError, "must have dtype"),
    "a size below 0": (lambda: linalg.LinearOperatorIdentity(-1), ValueError, "non-negative"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_call_is_refused_at_once(name: str) -> None:
    call, kind, words = REFUSED[name]
    with pytest.raises(kind, match=words):
        call()


# ---- functions of matrices ----


@TARGETS
def test_functions_of_matrices_take_operators(target: str) -> None:
    a, b = positive(3, 3), grid(3, 2)
    operator = linalg.LinearOperatorFullMatrix(
        tf.constant(a), is_self_adjoint=True, is_positive_definite=True
    )
    z = grid(3, 3) + 1j * grid(3, 3, start=2.0) + 3 * np.eye(3)
    skewed = linalg.LinearOperatorFullMatrix(tf.constant(z))
    x = tf.constant(b)
    pairs = {
        "matmul": (tf.matmul(operator, x), a @ b),
        "of a tensor": (tf.matmul(tf.constant(b.T.copy()), operator), b.T @ a),
        "by @": (tf.constant(b.T.copy()) @ operator, b.T @ a),
        "of adjoints": (
            tf.matmul(tf.constant(z), skewed, adjoint_a=True, adjoint_b=True),
            z.conj().T @ z.conj().T,
        ),
        "of two": (tf.linalg.matmul(skewed, skewed, adjoint_a=True).to_dense(), z.conj().T @ z),
        "solve": (linalg.solve(operator, x), np.linalg.solve(a, b)),
        "inv": (linalg.inv(skewed, adjoint=True).to_dense(), np.linalg.inv(z).conj().T),
        "adjoint": (linalg.adjoint(skewed).to_dense(), z.conj().T),
        "cholesky": (linalg.cholesky(operator).to_dense(), np.linalg.cholesky(a)),
        "det": (linalg.det(operator), np.linalg.det(a)),
        "logdet": (linalg.logdet(operator), np.log(np.linalg.det(a))),
        "diag_part": (linalg.diag_part(operator), np.diag(a)),
        "trace": (linalg.trace(operator), np.trace(a)),
    }
    with tf.Session(target=target) as session:
        found = session.run({name: tensor for name, (tensor, _) in pairs.items()})
    for name, (_, expected) in pairs.items():
        np.testing.assert_allclose(found[name], expected, rtol=1e-9, err_msg=name)


def test_functions_of_matrices_say_which_calls_with_operators_there_are() -> None:
    operator = linalg.LinearOperatorFullMatrix(tf.constant(grid(2, 2)))
    with pytest.raises(ValueError, match="takes adjoint_a and adjoint_b"):
        tf.matmul(operator, tf.ones([2, 2], tf.float64), transpose_b=True)
    with pytest.raises(ValueError, match="leave a_is_sparse and b_is_sparse"):
        tf.matmul(operator, tf.ones([2, 2], tf.float64), b_is_sparse=True)
    with pytest.raises(ValueError, match="`rhs` as a LinearOperator is not supported"):
        linalg.solve(tf.ones([2, 2], tf.float64), operator)
    with pytest.raises(ValueError, match="Expected matrix to be self-adjoint positive definite"):
        linalg.logdet(operator)
    with pytest.raises(ValueError, match="gives the main diagonal; found k"):
        linalg.diag_part(operator, k=1)


def test_a_tensor_of_another_size_says_which_axis_does_not_fit() -> None:
    operator = linalg.LinearOperatorFullMatrix(tf.constant(grid(2, 2)))
    text = r"Dimensions 2 and 3 are not compatible: .* axis -2 has size 2, found shape \(3, 1\)"
    for call in (operator.matmul, operator.solve):
        with pytest.raises(ValueError, match=text):
            call(tf.ones([3, 1], tf.float64))
