"""Operators that are given as matrices: any, or lower triangles."""

from __future__ import annotations

from typing import Any

from graphio.framework import dtypes, scopes
from graphio.linear_operators import batches, checks
from graphio.linear_operators.operator import LinearOperator
from graphio.ops.array import surface as array
from graphio.ops.linalg import matmul, matrices, solving
from graphio.ops.math import reduction

__all__ = ["LinearOperatorFullMatrix", "LinearOperatorLowerTriangular"]

_DTYPES = (
    dtypes.float16,
    dtypes.float32,
    dtypes.float64,
    dtypes.complex64,
    dtypes.complex128,
)


class LinearOperatorFullMatrix(LinearOperator):
    """Matrices without a structure.

    Args:
        matrix: floating or complex tensor (..., M, N).
        is_non_singular: see LinearOperator.
        is_self_adjoint: see LinearOperator.
        is_positive_definite: see LinearOperator.
        is_square: see LinearOperator.
        name: of the scope of all operations.
    """

    def __init__(
        self,
        matrix: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorFullMatrix",
    ) -> None:
        with scopes.name_scope(name, values=[matrix]):
            self._matrix = batches.operand(matrix, "matrix")
        if self._matrix.dtype.base_dtype not in _DTYPES:
            raise TypeError(
                f"Argument matrix must have dtype in {[d.name for d in _DTYPES]}.  "
                f"Found: {self._matrix.dtype}"
            )
        checks.require_rank(self._matrix, "matrix", 2)
        super().__init__(
            self._matrix.dtype,
            [self._matrix],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )

    @property
    def matrix(self) -> Any:
        """The matrices, as they were given."""
        return self._matrix

    def _shape(self) -> Any:
        return self._matrix.shape

    def _shape_tensor(self) -> Any:
        return array.shape(self._matrix)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return matmul.matmul(self._matrix, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _to_dense(self) -> Any:
        return self._matrix


class LinearOperatorLowerTriangular(LinearOperator):
    """Lower triangles.

    Args:
        tril: floating or complex tensor (..., N, N), whose upper triangles are not read.
        is_non_singular: see LinearOperator.
        is_self_adjoint: see LinearOperator.
        is_positive_definite: see LinearOperator.
        is_square: True or None.
        name: of the scope of all operations.
    """

    def __init__(
        self,
        tril: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowerTriangular",
    ) -> None:
        checks.refuse_false(
            is_square, "Only square lower triangular operators supported at this time."
        )
        with scopes.name_scope(name, values=[tril]):
            self._tril = batches.operand(tril, "tril")
        checks.require_rank(self._tril, "tril", 2)
        super().__init__(
            self._tril.dtype,
            [self._tril],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
        )

    @property
    def tril(self) -> Any:
        """The matrices, as they were given."""
        return self._tril

    def _triangle(self) -> Any:
        return matrices.matrix_band_part(self._tril, -1, 0)

    def _diag_part(self) -> Any:
        return matrices.matrix_diag_part(self._tril)

    def _shape(self) -> Any:
        return self._tril.shape

    def _shape_tensor(self) -> Any:
        return array.shape(self._tril)

    def _assert_non_singular(self) -> Any:
        return checks.assert_no_zeros(
            self._diag_part(), "Singular operator:  Diagonal contained zero values."
        )

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return matmul.matmul(self._triangle(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _determinant(self) -> Any:
        return reduction.reduce_prod(self._diag_part(), [-1])

    def _log_abs_determinant(self) -> Any:
        return checks.log_abs_sum(self._diag_part(), [-1], self.dtype)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = solving.adjoint(rhs) if adjoint_arg else rhs
        return batches.triangular_solve(self._triangle(), rhs, adjoint=adjoint)

    def _to_dense(self) -> Any:
        return self._triangle()
