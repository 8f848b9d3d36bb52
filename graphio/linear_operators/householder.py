"""Reflections at hyperplanes."""

from __future__ import annotations

from typing import Any

from graphio.framework import scopes
from graphio.linear_operators import batches, checks
from graphio.linear_operators.operator import LinearOperator
from graphio.ops.array import surface as array
from graphio.ops.complex import parts
from graphio.ops.control_flow.branches import no_op
from graphio.ops.linalg import matmul, matrices, solving
from graphio.ops.linalg.norms import norm
from graphio.ops.math import elementwise
from graphio.support import errors

__all__ = ["LinearOperatorHouseholder"]


class LinearOperatorHouseholder(LinearOperator):
    """Reflections I - 2 v v^H for unit vectors v.

    Args:
        reflection_axis: floating or complex tensor (..., N), the directions of v.
        is_non_singular: True or None.
        is_self_adjoint: True or None.
        is_positive_definite: False or None.
        is_square: True or None.
        name: of the scope of all operations.
    """

    def __init__(
        self,
        reflection_axis: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorHouseholder",
    ) -> None:
        with scopes.name_scope(name, values=[reflection_axis]):
            self._reflection_axis = batches.operand(reflection_axis, "reflection_axis")
        checks.require_rank(self._reflection_axis, "reflection_axis", 1)
        checks.refuse_false(is_self_adjoint, "A Householder operator is always self adjoint.")
        if is_positive_definite:
            raise ValueError("A Householder operator is always non-positive definite.")
        checks.refuse_false(is_square, "A Householder operator is always square.")
        super().__init__(
            self._reflection_axis.dtype,
            [self._reflection_axis],
            is_non_singular,
            True,
            False,
            True,
            name,
        )

    @property
    def reflection_axis(self) -> Any:
        """The directions of v."""
        return self._reflection_axis

    def _shape(self) -> Any:
        return self._reflection_axis.shape.concatenate(self._reflection_axis.shape[-1:])

    def _shape_tensor(self) -> Any:
        sizes = array.shape(self._reflection_axis)
        return array.concat([sizes, sizes[-1:]], 0)

    def _assert_non_singular(self) -> Any:
        return no_op("assert_non_singular")

    def _assert_self_adjoint(self) -> Any:
        return no_op("assert_self_adjoint")

    def _assert_positive_definite(self) -> Any:
        raise errors.InvalidArgumentError(
            message="Householder operators are always non-positive definite."
        )

    def _unit(self) -> Any:
        axis = self._reflection_axis
        return axis / elementwise.cast(norm(axis, axis=-1, keepdims=True), self.dtype)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = solving.adjoint(x) if adjoint_arg else x
        unit = array.expand_dims(self._unit(), -1)
        return x - 2.0 * unit * matmul.matmul(unit, x, adjoint_a=True)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _trace(self) -> Any:
        count = elementwise.cast(self.domain_dimension_tensor() - 2, self.dtype)
        return count * array.ones(self.batch_shape_tensor(), self.dtype)

    def _determinant(self) -> Any:
        return -array.ones(self.batch_shape_tensor(), self.dtype)

    def _log_abs_determinant(self) -> Any:
        return array.zeros(self.batch_shape_tensor(), self.dtype)

    def _to_dense(self) -> Any:
        unit = array.expand_dims(self._unit(), -1)
        matrix = -2.0 * matmul.matmul(unit, unit, adjoint_b=True)
        return matrices.matrix_set_diag(matrix, 1.0 + matrices.matrix_diag_part(matrix))

    def _diag_part(self) -> Any:
        unit = self._unit()
        return 1.0 - 2.0 * unit * parts.conj(unit)
