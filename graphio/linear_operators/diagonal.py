"""Diagonal matrices."""

from __future__ import annotations

from typing import Any

from graphio.framework import scopes
from graphio.linear_operators import batches, checks
from graphio.linear_operators.operator import LinearOperator
from graphio.ops.array import surface as array
from graphio.ops.complex import parts
from graphio.ops.linalg import matrices, solving
from graphio.ops.math import reduction

__all__ = ["LinearOperatorDiag"]


class LinearOperatorDiag(LinearOperator):
    """Diagonal matrices.

    Args:
        diag: floating or complex tensor (..., N), the diagonals.
        is_non_singular: see LinearOperator.
        is_self_adjoint: see LinearOperator; a real diagonal's is True.
        is_positive_definite: see LinearOperator.
        is_square: True or None.
        name: of the scope of all operations.
    """

    def __init__(
        self,
        diag: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorDiag",
    ) -> None:
        with scopes.name_scope(name, values=[diag]):
            self._diag = batches.operand(diag, "diag")
        checks.require_rank(self._diag, "diag", 1)
        is_self_adjoint = checks.hint_of_real(
            self._diag, is_self_adjoint, "A real diagonal operator is always self adjoint."
        )
        checks.refuse_false(is_square, "Only square diagonal operators currently supported.")
        super().__init__(
            self._diag.dtype,
            [self._diag],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
        )

    @property
    def diag(self) -> Any:
        """The diagonals."""
        return self._diag

    def _shape(self) -> Any:
        return self._diag.shape.concatenate(self._diag.shape[-1:])

    def _shape_tensor(self) -> Any:
        sizes = array.shape(self._diag)
        return array.concat([sizes, sizes[-1:]], 0)

    def _assert_non_singular(self) -> Any:
        return checks.assert_no_zeros(
            self._diag, "Singular operator:  Diagonal contained zero values."
        )

    def _assert_positive_definite(self) -> Any:
        if self.dtype.is_complex:
            message = (
                "Diagonal operator had diagonal entries with non-positive real part, thus was not "
                "positive definite."
            )
        else:
            message = (
                "Real diagonal operator had non-positive diagonal entries, thus was not positive "
                "definite."
            )
        return checks.assert_positive_real(self._diag, message)

    def _assert_self_adjoint(self) -> Any:
        return checks.assert_real(
            self._diag,
            "This diagonal operator contained non-zero imaginary values.   Thus it was not "
            "self-adjoint.",
        )

    def _entries(self, adjoint: bool) -> Any:
        return parts.conj(self._diag) if adjoint and self.dtype.is_complex else self._diag

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = solving.adjoint(x) if adjoint_arg else x
        return array.expand_dims(self._entries(adjoint), -1) * x

    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        return self._entries(adjoint) * x

    def _determinant(self) -> Any:
        return reduction.reduce_prod(self._diag, [-1])

    def _log_abs_determinant(self) -> Any:
        return checks.log_abs_sum(self._diag, [-1], self.dtype)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = solving.adjoint(rhs) if adjoint_arg else rhs
        return rhs * array.expand_dims(1.0 / self._entries(adjoint), -1)

    def _to_dense(self) -> Any:
        return matrices.matrix_diag(self._diag)

    def _diag_part(self) -> Any:
        return array.identity(self._diag)

    def _add_to_tensor(self, x: Any) -> Any:
        return matrices.matrix_set_diag(x, self._diag + matrices.matrix_diag_part(x))
