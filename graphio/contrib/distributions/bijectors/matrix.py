"""Bijectors of matrices."""

from __future__ import annotations

import math
from typing import Any

from graphio.contrib.distributions.bijectors.base import Bijector, checked
from graphio.contrib.distributions.bijectors.composed import Chain
from graphio.contrib.distributions.bijectors.elementwise import Softplus
from graphio.contrib.distributions.bijectors.parametric import AffineScalar
from graphio.contrib.distributions.triangles import fill_triangular, fill_triangular_inverse
from graphio.framework import scopes
from graphio.ops.array import surface as array
from graphio.ops.checks import assert_shapes, asserts
from graphio.ops.linalg import matmul, matrices, solving
from graphio.ops.math import elementwise, reduction

__all__ = [
    "CholeskyOuterProduct",
    "FillTriangular",
    "MatrixInverseTriL",
    "ScaleTriL",
    "TransformDiagonal",
]


def _square_assertions(x: Any, *words: str) -> list[Any]:
    """Checks that a tensor has square matrices."""
    shape = array.shape(x)
    return [
        assert_shapes.assert_rank_at_least(x, 2, message=words[0]),
        asserts.assert_equal(shape[-2], shape[-1], message=words[1]),
    ]


class CholeskyOuterProduct(Bijector):
    """Y = X X^T for lower triangles X with positive diagonals.

    Args:
        validate_args: whether runs check values.
        name: of the scope of its operations.
    """

    def __init__(self, validate_args: bool = False, name: str = "cholesky_outer_product") -> None:
        super().__init__(forward_min_event_ndims=2, validate_args=validate_args, name=name)

    def _valid(self, x: Any, more: Any = ()) -> Any:
        if not self.validate_args:
            return x
        words = [f"Input must be a (batch of) {kind}matrix." for kind in ("", "square ")]
        return checked(x, [*_square_assertions(x, *words), *more])

    def _forward(self, x: Any) -> Any:
        x = matrices.matrix_band_part(self._valid(x), -1, 0)
        return matmul.matmul(x, x, adjoint_b=True)

    def _inverse(self, y: Any) -> Any:
        return solving.cholesky(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        """p log 2 + sum_i (p - i) log x_ii, i from 0."""
        diag = matrices.matrix_diag_part(x)
        if self.validate_args:
            positive = asserts.assert_positive(diag, message="Input must be positive definite.")
            diag = matrices.matrix_diag_part(self._valid(x, [positive]))
        size = array.shape(x)[-1]
        powers = elementwise.cast(size - array.range(size), x.dtype)
        logs = reduction.reduce_sum(powers * elementwise.log(diag), -1)
        return elementwise.cast(size, x.dtype) * math.log(2.0) + logs


class MatrixInverseTriL(Bijector):
    """Y = X^-1 for lower triangles X.

    Args:
        validate_args: whether runs check values.
        name: of the scope of its operations.
    """

    def __init__(self, validate_args: bool = False, name: str = "matrix_inverse_tril") -> None:
        super().__init__(forward_min_event_ndims=2, validate_args=validate_args, name=name)

    def _assertions(self, x: Any) -> list[Any]:
        if not self.validate_args:
            return []
        diag = matrices.matrix_diag_part(x)
        above = matrices.matrix_band_part(
            matrices.matrix_set_diag(x, array.zeros_like(diag)), 0, -1
        )
        return [
            *_square_assertions(
                x, "Input must have rank at least 2.", "Input must be a square matrix."
            ),
            asserts.assert_equal(
                above, array.zeros_like(above), message="Input must be lower triangular."
            ),
            asserts.assert_none_equal(
                diag,
                array.zeros_like(diag),
                message="Input must have all diagonal entries nonzero.",
            ),
        ]

    def _forward(self, x: Any) -> Any:
        with scopes.control_dependencies(self._assertions(x)):
            shape = array.shape(x)
            known = x.shape[:-2]
            lead = known.as_list() if known.is_fully_defined() else shape[:-2]
            unit = array.eye(shape[-1], batch_shape=lead, dtype=x.dtype)
            made = solving.matrix_triangular_solve(x, unit, lower=True)
            made.set_shape(x.shape)
            return made

    def _inverse(self, y: Any) -> Any:
        return self._forward(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        """-2 p sum log |x_ii|: that of the inverses of all matrices, not of triangles alone."""
        with scopes.control_dependencies(self._assertions(x)):
            logs = elementwise.log(elementwise.abs(matrices.matrix_diag_part(x)))
            size = elementwise.cast(array.shape(x)[-1], x.dtype)
            return -2.0 * size * reduction.reduce_sum(logs, -1)


class FillTriangular(Bijector):
    """Y is the triangle with the numbers of the vector X; see fill_triangular.

    Args:
        upper: whether the triangles are upper ones.
        validate_args: whether runs check shapes.
        name: of the scope of its operations.
    """

    def __init__(
        self, upper: bool = False, validate_args: bool = False, name: str = "fill_triangular"
    ) -> None:
        self._upper = upper
        super().__init__(
            forward_min_event_ndims=1,
            inverse_min_event_ndims=2,
            validate_args=validate_args,
            name=name,
        )

    def _forward(self, x: Any) -> Any:
        return fill_triangular(x, upper=self._upper)

    def _inverse(self, y: Any) -> Any:
        return fill_triangular_inverse(y, upper=self._upper)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return array.zeros_like(x[..., 0])

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return array.zeros_like(y[..., 0, 0])

    def _forward_event_shape(self, input_shape: Any) -> Any:
        length = input_shape[-1].value
        size = None if length is None else (math.isqrt(8 * length + 1) - 1) // 2
        if size is not None and size * (size + 1) != 2 * length:
            raise ValueError("Vector length is not a triangular number.")
        return input_shape[:-1].concatenate([size, size])

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        rows, columns = output_shape[-2].value, output_shape[-1].value
        length = None
        if rows is not None and columns is not None:
            if rows != columns:
                raise ValueError(f"Matrix must be square. (saw [{rows}, {columns}])")
            length = rows * (rows + 1) // 2
        return output_shape[:-2].concatenate([length])

    def _forward_event_shape_tensor(self, input_shape: Any) -> Any:
        length = input_shape[-1]
        root = elementwise.sqrt(1.0 + 8.0 * elementwise.cast(length, "float32"))
        size = elementwise.cast((root - 1.0) / 2.0, "int32")
        if self.validate_args:
            fits = asserts.assert_equal(
                size * (size + 1),
                2 * length,
                message="Vector length is not a triangular number",
            )
            size = checked(size, [fits])
        return array.concat([input_shape[:-1], array.stack([size, size])], 0)

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Any:
        size = output_shape[-1]
        if self.validate_args:
            message = "Matrix must be square."
            size = checked(size, [asserts.assert_equal(size, output_shape[-2], message=message)])
        length = array.expand_dims(size * (size + 1) // 2, 0)
        return array.concat([output_shape[:-2], length], 0)


class TransformDiagonal(Bijector):
    """Y is X with a bijector of its diagonal.

    Args:
        diag_bijector: the bijector.
        validate_args: without an effect.
        name: of the scope of its operations.
    """

    def __init__(
        self, diag_bijector: Any, validate_args: bool = False, name: str = "transform_diagonal"
    ) -> None:
        self._diag_bijector = diag_bijector
        super().__init__(
            forward_min_event_ndims=2,
            inverse_min_event_ndims=2,
            validate_args=validate_args,
            name=name,
        )

    def _forward(self, x: Any) -> Any:
        changed = self._diag_bijector.forward(matrices.matrix_diag_part(x))
        return matrices.matrix_set_diag(x, changed)

    def _inverse(self, y: Any) -> Any:
        changed = self._diag_bijector.inverse(matrices.matrix_diag_part(y))
        return matrices.matrix_set_diag(y, changed)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        diag = matrices.matrix_diag_part(x)
        return self._diag_bijector.forward_log_det_jacobian(diag, event_ndims=1)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        diag = matrices.matrix_diag_part(y)
        return self._diag_bijector.inverse_log_det_jacobian(diag, event_ndims=1)


class ScaleTriL(Chain):
    """Vectors to lower triangles with positive diagonals: FillTriangular, then a bijector and a
    shift of the diagonal.

    Args:
        diag_bijector: bijector of the diagonal; None: Softplus.
        diag_shift: what is added to the diagonal; None: nothing.
        validate_args: of the Softplus.
        name: of the scope of its operations.
    """

    def __init__(
        self,
        diag_bijector: Any = None,
        diag_shift: Any = 1e-5,
        validate_args: bool = False,
        name: str = "scale_tril",
    ) -> None:
        if diag_bijector is None:
            diag_bijector = Softplus()
        if diag_shift is not None:
            diag_bijector = Chain([AffineScalar(shift=diag_shift), diag_bijector])
        parts = [TransformDiagonal(diag_bijector), FillTriangular()]
        super().__init__(parts, validate_args=validate_args, name=name)
