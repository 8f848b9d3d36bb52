"""Triangular factors of square matrices by elimination, and what is solved with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.ops.array import filling
from graphio.ops.array import surface as array
from graphio.ops.base import primitive
from graphio.ops.base.emit import (
    FLOATING_OR_COMPLEX,
    INTEGER,
    operands,
    require,
    scalar,
    scope,
)
from graphio.ops.complex.embedding import zeros
from graphio.ops.complex.factors import log_determinant, with_gradient
from graphio.ops.control_flow.loops import while_loop
from graphio.ops.linalg import matmul, matrices, solving
from graphio.ops.linalg.any_rank import of_any_rank
from graphio.ops.math import comparison, elementwise, reduction
from graphio.support import api_guard

__all__ = ["lu", "lu_matrix_inverse", "lu_reconstruct", "lu_solve", "slogdet"]


class Lu(NamedTuple):
    """The results of lu."""

    lu: Tensor
    p: Tensor


@api_guard.operator
@of_any_rank("Lu", 2)
def lu(input: Any, output_idx_type: Any = dtypes.int32, name: str | None = None) -> Lu:
    """Triangular factors L U of matrices with exchanged rows, the largest of a column on top.

    Computed in double, rounded once.

    Args:
        input: floating or complex tensor (..., n, n).
        output_idx_type: int32 or int64, of the permutation.
        name: of the operations.

    Returns:
        lu (..., n, n), the upper triangle U and below it L, whose diagonal is 1; and p (..., n),
        the row of input that is each row of L U.

    Raises:
        ValueError: the matrices are not square.

    Example:
        >>> factors, rows = tf.linalg.lu([[1.0, 2.0], [4.0, 2.0]])
        >>> tf.Session().run([factors, rows])
        [array([[4.  , 2.  ],
               [0.25, 1.5 ]], dtype=float32), array([1, 0], dtype=int32)]
    """
    with scope(name, "Lu") as at:
        x = solving.square(input, "Lu", at)
        wide = dtypes.complex128 if x.dtype.is_complex else dtypes.float64
        eliminated, rows = _eliminated(elementwise.cast(x, wide))
        factors = elementwise.cast(eliminated, x.dtype)
        permutation = elementwise.cast(rows, dtypes.as_dtype(output_idx_type))

        def slope(made: Sequence[Tensor], arriving: Sequence[Any]) -> Tensor:
            return _slope(made[0], made[1], arriving[0])

        return Lu(*with_gradient(x, [factors, permutation], slope))


class LogMatrixDeterminant(NamedTuple):
    """The results of slogdet."""

    sign: Tensor
    log_abs_determinant: Tensor


@api_guard.operator
@of_any_rank("LogMatrixDeterminant", 2)
def slogdet(input: Any, name: str | None = None) -> LogMatrixDeterminant:
    """The sign of determinants, and the logarithm of their size, both of input's dtype.

    Computed in double from the factors of the matrices, so that no determinant is too large or too
    small for its logarithm. Of complex matrices the sign is a complex number of size 1, or 0.

    Args:
        input: floating or complex tensor (..., n, n).
        name: of the operations.

    Returns:
        sign (...) and log_abs_determinant (...): 0 and -infinity of a singular matrix.

    Raises:
        ValueError: the matrices are not square.

    Example:
        >>> tf.Session().run(tf.linalg.slogdet([[1e-30, 0.0], [0.0, -1e-30]]))
        LogMatrixDeterminant(sign=np.float32(-1.0), log_abs_determinant=np.float32(-138.15511))
    """
    with scope(name, "LogMatrixDeterminant") as at:
        x = solving.square(input, "LogMatrixDeterminant", at)
        if x.dtype.is_complex:
            return LogMatrixDeterminant(*log_determinant(x))
        eliminated, rows = _eliminated(elementwise.cast(x, dtypes.float64))
        diagonal = matrices.matrix_diag_part(eliminated)
        sign = reduction.reduce_prod(elementwise.sign(diagonal), -1) * _parity(rows)
        log = reduction.reduce_sum(elementwise.log(elementwise.abs(diagonal)), -1)

        def slope(made: Sequence[Tensor], arriving: Sequence[Any]) -> Tensor:
            spread = array.expand_dims(array.expand_dims(arriving[1], -1), -1)
            return spread * matmul.matrix_transpose(solving.matrix_inverse(x))

        results = [elementwise.cast(t, x.dtype) for t in (sign, log)]
        return LogMatrixDeterminant(*with_gradient(x, results, slope))


def _parity(rows: Tensor) -> Tensor:
    """1 for an even permutation (..., n), -1 for an odd one: by its pairs out of order."""
    later = comparison.greater(array.expand_dims(rows, -1), array.expand_dims(rows, -2))
    pairs = matrices.matrix_band_part(elementwise.cast(later, dtypes.int64), 0, -1)
    odd = elementwise.floormod(reduction.reduce_sum(pairs, [-2, -1]), 2)
    return elementwise.cast(1 - 2 * odd, dtypes.float64)


def _eliminated(x: Tensor) -> tuple[Tensor, Tensor]:
    """The factors in one matrix, and the permutation as int64."""
    count = array.shape(x, out_type=dtypes.int64)[-1]
    steps = filling.range(count)
    rank = x.shape.ndims or 2

    def body(k: Tensor, x: Tensor, rows: Tensor) -> list[Tensor]:
        size = elementwise.abs(primitive.gather(x, k, rank - 1))
        size = primitive.select(comparison.less(steps, k), scalar(-1, size.dtype), size)
        best = array.expand_dims(reduction.argmax(size, -1), -1)
        here, pivot = (array.expand_dims(comparison.equal(steps, t), -1) for t in (k, best))
        moved, order = (_exchanged(t, k, here, pivot) for t in (x, rows))
        made = _step(moved, k, steps)
        made.set_shape(x.shape)
        order.set_shape(rows.shape)
        return [k + 1, made, order]

    one = scalar(1, dtypes.int64)
    rows = array.expand_dims(steps, -1) + zeros(x, count, one, dtypes.int64)
    start = [primitive.int_vector([0])[0], x, rows]
    _, made, order = while_loop(lambda k, *_: comparison.less(k, count), body, start)
    return made, array.squeeze(order, [-1])


def _exchanged(x: Tensor, k: Tensor, here: Tensor, pivot: Tensor) -> Tensor:
    """x with row k, where here holds, and the pivot's row exchanged."""
    upper = array.expand_dims(primitive.gather(x, k, (x.shape.ndims or 2) - 2), -2)
    chosen = primitive.select(pivot, x, scalar(0, x.dtype))
    lower = reduction.reduce_sum(chosen, -2, keepdims=True)
    return primitive.select(here, lower, primitive.select(pivot, upper, x))


def _step(x: Tensor, k: Tensor, steps: Tensor) -> Tensor:
    """x with multiples of row k taken from those below, and the factors in column k."""
    rank, nought = x.shape.ndims or 2, scalar(0, x.dtype)
    row = array.expand_dims(primitive.gather(x, k, rank - 2), -2)
    column = array.expand_dims(primitive.gather(x, k, rank - 1), -1)
    pivot = array.expand_dims(primitive.gather(row, k, rank - 1), -1)
    below = array.expand_dims(comparison.greater(steps, k), -1)
    # A column of zeros below a pivot of 0 has the factors 0.
    empty = comparison.equal(pivot, nought)
    factors = elementwise.divide(column, primitive.select(empty, scalar(1, x.dtype), pivot))
    factors = primitive.select(below, factors, nought)
    right = primitive.select(comparison.greater(steps, k), row, nought)
    left = x - factors * right
    in_column = comparison.logical_and(below, comparison.equal(steps, k))
    return primitive.select(in_column, factors, left)


def _parts(factors: Tensor) -> tuple[Tensor, Tensor]:
    """L, with its diagonal of 1, and U."""
    low = matrices.matrix_band_part(factors, -1, 0)
    ones = array.ones_like(matrices.matrix_diag_part(factors))
    return matrices.matrix_set_diag(low, ones), matrices.matrix_band_part(factors, 0, -1)


def _moves(perm: Tensor, dtype: DType) -> Tensor:
    """The matrices that move the rows of input to those of L U."""
    size = array.shape(perm, out_type=dtypes.int64)[-1]
    same = comparison.equal(
        array.expand_dims(elementwise.cast(perm, dtypes.int64), -1), filling.range(size)
    )
    return elementwise.cast(same, dtype)


def _slope(factors: Tensor, perm: Tensor, by: Tensor) -> Tensor:
    """P^T L^-H (low(L^H dL) + up(dU U^H)) U^-H."""
    low, up = _parts(factors)
    by_low = matrices.matrix_band_part(by, -1, 0)
    by_low = matrices.matrix_set_diag(by_low, array.zeros_like(matrices.matrix_diag_part(by)))
    inner = matmul.matmul(low, by_low, adjoint_a=True)
    inner = inner - matrices.matrix_band_part(inner, 0, -1)
    by_up = matmul.matmul(matrices.matrix_band_part(by, 0, -1), up, adjoint_b=True)
    inner = inner + matrices.matrix_band_part(by_up, 0, -1)
    left = solving.matrix_triangular_solve(low, inner, adjoint=True)
    right = solving.matrix_triangular_solve(up, solving.adjoint(left), lower=False)
    return matmul.matmul(_moves(perm, by.dtype), solving.adjoint(right), transpose_a=True)


def _given(lower_upper: Any, perm: Any, op: str) -> tuple[Tensor, Tensor]:
    factors = convert_to_tensor(lower_upper, name="lower_upper")
    require(factors, FLOATING_OR_COMPLEX, op, "lower_upper")
    rows = convert_to_tensor(perm, name="perm")
    require(rows, INTEGER, op, "perm")
    return factors, rows


@api_guard.operator
def lu_solve(
    lower_upper: Any, perm: Any, rhs: Any, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """x with matrix x = rhs, from the factors that lu gives.

    Args:
        lower_upper: floating or complex tensor (..., n, n), the first result of lu.
        perm: integers (..., n), the second one.
        rhs: tensor (..., n, k) of the same dtype; leading axes broadcast.
        validate_args: accepted; shapes are always checked.
        name: of the operation.
    """
    with scope(name, "lu_solve") as at:
        factors, rows = _given(lower_upper, perm, "lu_solve")
        factors, right = operands(factors, rhs, "lu_solve", ("lower_upper", "rhs"))
        low, up = _parts(factors)
        moved = matmul.matmul(_moves(rows, right.dtype), right)
        first = solving.matrix_triangular_solve(low, moved)
        return solving.matrix_triangular_solve(up, first, lower=False, name=at)


@api_guard.operator
def lu_matrix_inverse(
    lower_upper: Any, perm: Any, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The inverse of matrices from the factors that lu gives; see lu_solve."""
    with scope(name, "lu_matrix_inverse") as at:
        factors, rows = _given(lower_upper, perm, "lu_matrix_inverse")
        return lu_solve(factors, rows, _parts(array.zeros_like(factors))[0], name=at)


@api_guard.operator
def lu_reconstruct(
    lower_upper: Any, perm: Any, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The matrices whose factors lu gives; see lu_solve."""
    with scope(name, "lu_reconstruct") as at:
        factors, rows = _given(lower_upper, perm, "lu_reconstruct")
        low, up = _parts(factors)
        moves = _moves(rows, factors.dtype)
        return matmul.matmul(moves, matmul.matmul(low, up), transpose_a=True, name=at)
