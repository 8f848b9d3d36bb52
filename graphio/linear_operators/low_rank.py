"""Sums of an operator and matrices of a low rank."""

from __future__ import annotations

import functools
from typing import Any

from graphio.framework import scopes
from graphio.linear_operators import batches, checks
from graphio.linear_operators.diagonal import LinearOperatorDiag
from graphio.linear_operators.identity import LinearOperatorIdentity
from graphio.linear_operators.operator import LinearOperator
from graphio.ops.array import shaping
from graphio.ops.array import surface as array
from graphio.ops.linalg import matmul, matrices, solving
from graphio.ops.math import elementwise

__all__ = ["LinearOperatorLowRankUpdate"]


class LinearOperatorLowRankUpdate(LinearOperator):
    """L + U D V^H, by the Woodbury identity and the lemma of determinants.

    Args:
        base_operator: L, (..., M, N).
        u: tensor (..., M, K).
        diag_update: the diagonal of D, (..., K); None: ones.
        v: tensor (..., N, K); None: u.
        is_diag_update_positive: whether diag_update is positive.
        is_non_singular: see LinearOperator.
        is_self_adjoint: see LinearOperator.
        is_positive_definite: see LinearOperator.
        is_square: see LinearOperator.
        name: of the scope of all operations.

    Raises:
        ValueError: hints contradict each other, or the sizes don't fit.
    """

    def __init__(
        self,
        base_operator: LinearOperator,
        u: Any,
        diag_update: Any = None,
        v: Any = None,
        is_diag_update_positive: bool | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowRankUpdate",
    ) -> None:
        dtype = base_operator.dtype
        if diag_update is None:
            checks.refuse_false(
                is_diag_update_positive,
                "Default diagonal is the identity, which is positive.  However, user set "
                "'is_diag_update_positive' to False.",
            )
            is_diag_update_positive = True
        symmetric = base_operator.is_self_adjoint and v is None
        self._use_cholesky = bool(
            symmetric and base_operator.is_positive_definite and is_diag_update_positive
        )
        if symmetric and not dtype.is_complex:
            checks.refuse_false(
                is_self_adjoint,
                "A = L + UDU^H, with L self-adjoint and D real diagonal.  Since UDU^H is "
                "self-adjoint, this must be a self-adjoint operator.",
            )
            is_self_adjoint = True
        if self._use_cholesky:
            if False in (is_positive_definite, is_self_adjoint, is_non_singular):
                raise ValueError("Arguments imply this is self-adjoint positive-definite operator.")
            is_positive_definite = is_self_adjoint = True
        with scopes.name_scope(name, values=[u, diag_update, v]):
            self._u = batches.operand(u, "u")
            self._v = self._u if v is None else batches.operand(v, "v")
            self._diag_update = (
                None if diag_update is None else batches.operand(diag_update, "diag_update")
            )
        own = [t for t in (self._u, self._diag_update, self._v) if t is not None]
        super().__init__(
            dtype,
            base_operator.graph_parents + own,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )
        self._base_operator = base_operator
        self._is_diag_update_positive = is_diag_update_positive
        self._diag_operator = self._middle()
        self._check_shapes()

    def _middle(self) -> LinearOperator:
        if self._diag_update is not None:
            return LinearOperatorDiag(
                self._diag_update, is_positive_definite=self._is_diag_update_positive
            )
        known = self._u.shape[-1].value if self._u.shape.ndims is not None else None
        rank = array.shape(self._u)[-1] if known is None else known
        return LinearOperatorIdentity(rank, dtype=self.dtype)

    def _check_shapes(self) -> None:
        both = shaping.broadcast_static_shape(self._u.shape, self._v.shape)
        lead = shaping.broadcast_static_shape(self._base_operator.batch_shape, both[:-2])
        if both.ndims is not None:
            self._base_operator.domain_dimension.assert_is_compatible_with(both[-2])
        if self._diag_update is not None and self._diag_update.shape.ndims is not None:
            if both.ndims is not None:
                both[-1].assert_is_compatible_with(self._diag_update.shape[-1])
            shaping.broadcast_static_shape(lead, self._diag_update.shape[:-1])

    @property
    def base_operator(self) -> LinearOperator:
        """L."""
        return self._base_operator

    @property
    def u(self) -> Any:
        """U."""
        return self._u

    @property
    def v(self) -> Any:
        """V."""
        return self._v

    @property
    def diag_update(self) -> Any:
        """The diagonal of D, or None."""
        return self._diag_update

    @property
    def is_diag_update_positive(self) -> bool | None:
        """The hint that D is positive."""
        return self._is_diag_update_positive

    @property
    def diag_operator(self) -> LinearOperator:
        """The operator of D."""
        return self._diag_operator

    def _shape(self) -> Any:
        base = self._base_operator
        leads = [base.batch_shape, self._diag_operator.batch_shape]
        leads += [matrix.shape[:-2] for matrix in (self._u, self._v)]
        lead = functools.reduce(shaping.broadcast_static_shape, leads)
        return lead.concatenate(base.shape[-2:])

    def _shape_tensor(self) -> Any:
        base = self._base_operator
        leads = [base.batch_shape_tensor(), self._diag_operator.batch_shape_tensor()]
        leads += [array.shape(matrix)[:-2] for matrix in (self._u, self._v)]
        lead = functools.reduce(shaping.broadcast_dynamic_shape, leads)
        return array.concat([lead, base.shape_tensor()[-2:]], 0)

    def _outer(self, adjoint: bool) -> tuple[Any, Any]:
        """U and V of the matrices or their adjoints."""
        return (self._v, self._u) if adjoint else (self._u, self._v)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        u, v = self._outer(adjoint)
        first = self._base_operator.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        inner = matmul.matmul(v, x, adjoint_a=True, adjoint_b=adjoint_arg)
        return first + matmul.matmul(u, self._diag_operator.matmul(inner, adjoint=adjoint))

    def _capacitance(self) -> Any:
        """D^-1 + V^H L^-1 U."""
        inner = matmul.matmul(self._v, self._base_operator.solve(self._u), adjoint_a=True)
        return self._diag_operator.inverse().add_to_tensor(inner)

    def _determinant(self) -> Any:
        if self.is_positive_definite:
            return elementwise.exp(self.log_abs_determinant())
        inner = matrices.matrix_determinant(self._capacitance())
        return inner * self._diag_operator.determinant() * self._base_operator.determinant()

    def _log_abs_determinant(self) -> Any:
        if self._use_cholesky:
            inner = batches.twice_log_diagonal(solving.cholesky(self._capacitance()))
        else:
            inner = checks.log_abs_sum(
                array.expand_dims(matrices.matrix_determinant(self._capacitance()), -1),
                [-1],
                self.dtype,
            )
        return (
            inner
            + self._diag_operator.log_abs_determinant()
            + self._base_operator.log_abs_determinant()
        )

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        base = self._base_operator
        checks.refuse_false(
            base.is_non_singular,
            "Solve not implemented unless this is a perturbation of a non-singular LinearOperator.",
        )
        u, v = self._outer(adjoint)
        first = base.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        inner = matmul.matmul(v, first, adjoint_a=True)
        if self._use_cholesky:
            solved = batches.cholesky_solve(solving.cholesky(self._capacitance()), inner)
        else:
            solved = batches.solve(self._capacitance(), inner, adjoint=adjoint)
        return first - base.solve(matmul.matmul(u, solved), adjoint=adjoint)
