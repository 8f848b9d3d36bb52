"""Linear equations, inverses and factors of matrices in the last two axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.gradient_registry import gradient
from graphio.framework.graph import Operation, Tensor
from graphio.ops.array import reshaping, shaping
from graphio.ops.array import surface as array
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import FLOATING_OR_COMPLEX, describe, node, operands, require, scope
from graphio.ops.base.shapes import dims_of
from graphio.ops.complex import parts
from graphio.ops.control_flow import branches
from graphio.ops.linalg import matmul, matrices
from graphio.ops.linalg.any_rank import of_any_rank
from graphio.ops.linalg.operator_arguments import takes_operators
from graphio.ops.math import elementwise, reduction
from graphio.support import api_guard, errors

__all__ = [
    "adjoint",
    "cholesky",
    "cholesky_solve",
    "logdet",
    "matrix_inverse",
    "matrix_solve",
    "matrix_solve_ls",
    "matrix_triangular_solve",
    "matvec",
]

Gradients = Sequence["Tensor | None"]


def square(value: Any, tf_type: str, at: str, parameter: str = "input") -> Tensor:
    """value as a floating or complex tensor of square matrices, as far as that is known."""
    x = convert_to_tensor(value, name=parameter)
    require(x, FLOATING_OR_COMPLEX, tf_type, parameter)
    dims = dims_of(x)
    if dims is None or len(dims) < 2:
        raise ValueError(
            f"Shape must be at least rank 2 but is rank {'?' if dims is None else len(dims)} for "
            f"{describe(at, tf_type)} with input shapes: {shapes.text(dims)}."
        )
    shapes.merge(dims[-2:-1], dims[-1:], describe(at, tf_type))
    return x


def _adjoint(x: Tensor) -> Tensor:
    return matmul.matrix_transpose(x, conjugate=True)


@api_guard.operator
@takes_operators
@of_any_rank("MatrixSolve", 2, 2)
def matrix_solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """x with matrix x = rhs.

    Args:
        matrix: floating or complex tensor (..., n, n).
        rhs: tensor (..., n, k) of the same dtype.
        adjoint: True: of the adjoint matrix, transposed and conjugate.
        name: of the operation.

    Returns:
        A tensor (..., n, k).

    Raises:
        ValueError: the shapes do not fit.
        InvalidArgumentError: the dtype is float16 or bfloat16; of the run, a matrix has no inverse.
    """
    with scope(name, "MatrixSolve") as at:
        a, b = operands(matrix, rhs, "MatrixSolve", ("matrix", "rhs"))
        if a.dtype in (dtypes.float16, dtypes.bfloat16):
            raise errors.InvalidArgumentError(
                message=f"MatrixSolve has no kernel for {a.dtype.name}: cast the matrix and the "
                "right side to float32"
            )
        a = square(a, "MatrixSolve", at, "matrix")
        return _solve(_adjoint(a) if adjoint else a, b, at)


def _solve(a: Tensor, b: Tensor, name: str | None = None) -> Tensor:
    what = describe(name or "", "MatrixSolve")
    left, right = dims_of(a), dims_of(b)
    if left is not None and right is not None:
        if len(right) != len(left):
            raise ValueError(
                f"Shapes must be equal rank, but are {len(left)} and {len(right)} for {what} with "
                f"input shapes: {shapes.text(left)}, {shapes.text(right)}."
            )
        rows = shapes.merge(left[:-1], right[:-1], what)
        right = None if rows is None else (*rows, right[-1])
    return node("MatrixSolve", [a, b], a.dtype, right, name=name, domain="graphio")


@gradient("MatrixSolve", domain="graphio")
def _solve_gradient(op: Operation, dy: Tensor) -> Gradients:
    transposed = matmul.matrix_transpose(op.inputs[0])
    right = _solve(transposed, dy)
    return [elementwise.negative(matmul.matmul(right, op.outputs[0], transpose_b=True)), right]


def _least_squares(a: Tensor, b: Tensor, weight: Tensor, name: str | None = None) -> Tensor:
    """x with the smallest |a x - b|^2 + weight |x|^2, by the normal equations."""
    gram = matmul.matmul(a, a, adjoint_a=True)
    gram = gram + weight * _identity_like(gram)
    return _solve(gram, matmul.matmul(a, b, adjoint_a=True), name)


def _shortest(a: Tensor, b: Tensor, weight: Tensor, name: str | None = None) -> Tensor:
    """The shortest x with a x = b, for more columns than rows; weight as in _least_squares."""
    gram = matmul.matmul(a, a, adjoint_b=True)
    gram = gram + weight * _identity_like(gram)
    return matmul.matmul(a, _solve(gram, b), adjoint_a=True, name=name)


def _identity_like(a: Tensor) -> Tensor:
    """Unit matrices of a's shape."""
    lines = primitive.slice_axes(primitive.shape_of(a), [0], [-1], [0])
    return matrices.matrix_set_diag(array.zeros_like(a), array.ones(lines, a.dtype))


@api_guard.operator
@takes_operators
@of_any_rank("MatrixInverse", 2)
def matrix_inverse(input: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Inverses of matrices; see matrix_solve.

    Args:
        input: floating or complex tensor (..., n, n).
        adjoint: True: of the adjoint matrix, transposed and conjugate.
        name: of the operation.
    """
    with scope(name, "MatrixInverse") as at:
        a = square(input, "MatrixInverse", at)
        return _solve(_adjoint(a) if adjoint else a, _identity_like(a), at)


@api_guard.operator
@of_any_rank("MatrixTriangularSolve", 2, 2)
def matrix_triangular_solve(
    matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """x with triangle x = rhs, where only one triangle of the matrix is read.

    Args:
        matrix: floating or complex tensor (..., n, n).
        rhs: tensor (..., n, k) of the same dtype; leading axes broadcast with the matrix's.
        lower: whether it is the lower triangle.
        adjoint: True: of the adjoint triangle.
        name: of the operation.
    """
    with scope(name, "MatrixTriangularSolve") as at:
        a, b = operands(matrix, rhs, "MatrixTriangularSolve", ("matrix", "rhs"))
        a = square(a, "MatrixTriangularSolve", at, "matrix")
        a, b = _of_one_batch(a, b)
        part = matrices.matrix_band_part(a, *((-1, 0) if lower else (0, -1)))
        return _solve(_adjoint(part) if adjoint else part, b, at)


def _of_one_batch(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Matrices and right sides of known ranks with their leading axes broadcast."""
    left, right = dims_of(a), dims_of(b)
    assert left is not None and right is not None
    known = None not in (*left[:-2], *right[:-2])
    if len(right) < 2 or (left[:-2] == right[:-2] and known):
        return a, b
    sizes = [primitive.slice_axes(primitive.shape_of(t), [0], [-2], [0]) for t in (a, b)]
    lead = shaping.broadcast_dynamic_shape(*sizes)
    tails = [
        primitive.slice_axes(primitive.shape_of(t), [-2], [primitive.last], [0]) for t in (a, b)
    ]
    wide_a, wide_b = (
        reshaping.broadcast_to(t, primitive.concat([lead, tail], 0))
        for t, tail in zip((a, b), tails, strict=True)
    )
    return wide_a, wide_b


@api_guard.operator
@takes_operators
@of_any_rank("Cholesky", 2)
def cholesky(input: Any, name: str | None = None) -> Tensor:
    """Lower triangular L with L L^H = input.

    Args:
        input: floating or complex tensor (..., n, n) of Hermitian positive definite matrices; only
            their lower triangles are read. The lower triangle of the result is NaN where a matrix
            is not positive definite.
        name: of the operation.
    """
    with scope(name, "Cholesky") as at:
        a = square(input, "Cholesky", at)
        return node("Cholesky", [a], a.dtype, dims_of(a), name=at, domain="graphio")


@gradient("Cholesky", domain="graphio")
def _cholesky_gradient(op: Operation, dy: Tensor) -> Gradients:
    """Murray 2016: L^-T phi(L^T dL) L^-1, made symmetric; phi is the lower triangle, its diagonal
    halved."""
    low = op.outputs[0]
    inverse = _solve(low, _identity_like(low))
    middle = matmul.matmul(low, dy, transpose_a=True)
    middle = matrices.matrix_set_diag(middle, 0.5 * matrices.matrix_diag_part(middle))
    middle = matrices.matrix_band_part(middle, -1, 0)
    whole = matmul.matmul(matmul.matmul(inverse, middle, transpose_a=True), inverse)
    return [0.5 * (whole + matmul.matrix_transpose(whole))]


@api_guard.operator
@of_any_rank("cholesky_solve", 2, 2)
def cholesky_solve(chol: Any, rhs: Any, name: str | None = None) -> Tensor:
    """x with (chol chol^H) x = rhs, from the factor that cholesky gives."""
    with scope(name, "cholesky_solve") as at:
        a, b = operands(chol, rhs, "cholesky_solve", ("chol", "rhs"))
        low = matrices.matrix_band_part(square(a, "cholesky_solve", at, "chol"), -1, 0)
        return _solve(_adjoint(low), _solve(low, b), at)


@api_guard.operator
@of_any_rank("matrix_solve_ls", 2, 2)
def matrix_solve_ls(
    matrix: Any, rhs: Any, l2_regularizer: Any = 0.0, fast: bool = True, name: str | None = None
) -> Tensor:
    """x of least squares |matrix x - rhs|^2 + l2_regularizer |x|^2, by the normal equations.

    Args:
        matrix: floating or complex tensor (..., m, n) of full rank, m >= n; for m < n the
            shortest x.
        rhs: tensor (..., m, k) of the same dtype.
        l2_regularizer: scalar.
        fast: accepted; there is one way.
        name: of the operation.
    """
    with scope(name, "matrix_solve_ls") as at:
        a, b = operands(matrix, rhs, "matrix_solve_ls", ("matrix", "rhs"))
        require(a, FLOATING_OR_COMPLEX, "matrix_solve_ls", "matrix")
        weight = _weight(l2_regularizer, a.dtype)
        dims = dims_of(a)
        if dims is not None and dims[-2] is not None and dims[-1] is not None:
            solved = _shortest if dims[-2] < dims[-1] else _least_squares
            return solved(a, b, weight, at)
        sizes = primitive.shape_of(a)
        solution: Tensor = branches.cond(
            sizes[-2] < sizes[-1],
            lambda: _shortest(a, b, weight),
            lambda: _least_squares(a, b, weight),
            name=at,
        )
        return solution


def _weight(value: Any, dtype: DType) -> Tensor:
    """A real number, of a complex dtype where the matrices have it."""
    return elementwise.cast(
        convert_to_tensor(value, dtype.real_dtype, name="l2_regularizer"), dtype
    )


@api_guard.operator
@takes_operators
def logdet(matrix: Any, name: str | None = None) -> Tensor:
    """The logarithm, a real number, of the determinant of positive definite matrices."""
    with scope(name, "logdet") as at:
        diagonal = parts.real(matrices.matrix_diag_part(cholesky(matrix)))
        total = reduction.reduce_sum(elementwise.log(diagonal), -1)
        return elementwise.add(total, total, name=at)


@api_guard.operator
def matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Matrices (..., n, k) times vectors (..., k)."""
    with scope(name, "MatVec") as at:
        x, y = operands(a, b, "MatVec", ("a", "b"))
        multiplied = matmul.matmul(
            x, array.expand_dims(y, -1), transpose_a=transpose_a, adjoint_a=adjoint_a
        )
        return array.squeeze(multiplied, [-1], name=at)


@api_guard.operator
@takes_operators
def adjoint(matrix: Any, name: str | None = None) -> Tensor:
    """Matrices transposed, with conjugate elements."""
    return matmul.matrix_transpose(matrix, name or "adjoint", conjugate=True)
