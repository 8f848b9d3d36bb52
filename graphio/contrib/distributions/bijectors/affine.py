"""Affine bijectors of vectors."""

from __future__ import annotations

from typing import Any

from graphio.contrib.distributions import scales
from graphio.contrib.distributions.bijectors.base import Bijector, checked
from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.linear_operators import LinearOperator, LinearOperatorLowRankUpdate
from graphio.ops.array import surface as array
from graphio.ops.checks import asserts
from graphio.ops.math import elementwise

__all__ = ["Affine", "AffineLinearOperator"]


class _AffineOfOperator(Bijector):
    """Y = A X + shift for an operator A, or None for the unit matrix."""

    _shift: Any
    _scale: Any

    @property
    def shift(self) -> Any:
        """The shift, or None."""
        return self._shift

    @property
    def scale(self) -> Any:
        """The operator."""
        return self._scale

    def _assertions(self) -> list[Any]:
        if not self.validate_args:
            return []
        try:
            return [self._scale.assert_non_singular()]
        except NotImplementedError:
            return []

    def _forward(self, x: Any) -> Any:
        y = x
        if self._scale is not None:
            with scopes.control_dependencies(self._assertions()):
                y = scales.matmul_vectors(self._scale, y)
        return y if self._shift is None else y + self._shift

    def _inverse(self, y: Any) -> Any:
        x = y if self._shift is None else y - self._shift
        return x if self._scale is None else scales.solve_vectors(self._scale, x)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        if self._scale is None:
            return array.zeros([], x.dtype)
        with scopes.control_dependencies(self._assertions()):
            return self._scale.log_abs_determinant()


def _require_one_dtype(shift: Any, scale: Any) -> None:
    if shift is not None and shift.dtype.base_dtype != scale.dtype.base_dtype:
        raise TypeError(
            f"shift.dtype({shift.dtype}) is incompatible with scale.dtype({scale.dtype})."
        )


class AffineLinearOperator(_AffineOfOperator):
    """Y = scale X + shift for vectors X.

    Args:
        shift: tensor (..., n); None: 0.
        scale: LinearOperator (..., n, n); None: the unit matrix.
        validate_args: whether runs check that the matrices have inverses.
        name: of the scope of its operations.

    Raises:
        TypeError: scale is not a LinearOperator, or has another dtype than shift.
        ValueError: validate_args, and scale is not marked as non-singular.
    """

    def __init__(
        self,
        shift: Any = None,
        scale: Any = None,
        validate_args: bool = False,
        name: str = "affine_linear_operator",
    ) -> None:
        parents: list[Any] = []
        dtype: Any = dtypes.float32
        with scopes.name_scope(name), scopes.name_scope("init", values=[shift]):
            if shift is not None:
                shift = convert_to_tensor(shift, name="shift")
                parents.append(shift)
                dtype = shift.dtype.base_dtype
        if scale is not None:
            if not isinstance(scale, LinearOperator):
                raise TypeError("scale is not an instance of tf.LinearOperator")
            _require_one_dtype(shift, scale)
            if validate_args and not scale.is_non_singular:
                raise ValueError("Scale matrix must be non-singular.")
            parents += scale.graph_parents
            dtype = scale.dtype
        self._shift, self._scale = shift, scale
        super().__init__(
            parents,
            is_constant_jacobian=True,
            validate_args=validate_args,
            dtype=dtype,
            forward_min_event_ndims=1,
            name=name,
        )


class Affine(_AffineOfOperator):
    """Y = scale X + shift for vectors X, where scale is the sum of the parts that are given:
    scale_identity_multiplier I + diag(scale_diag) + scale_tril
    + scale_perturb_factor diag(scale_perturb_diag) scale_perturb_factor^T.

    Args:
        shift: tensor (..., n); None: 0.
        scale_identity_multiplier: tensor (...); None: 1 if there is no other part, else 0.
        scale_diag: tensor (..., n); None: 0.
        scale_tril: tensor (..., n, n), whose lower triangles are read; None: 0.
        scale_perturb_factor: tensor (..., n, r); None: 0.
        scale_perturb_diag: tensor (..., r); None: ones.
        validate_args: whether runs check that the matrices have inverses.
        name: of the scope of its operations.

    Raises:
        ValueError: scale_perturb_diag without scale_perturb_factor, or nothing gives n.
        TypeError: the dtypes of shift and scale differ.
    """

    def __init__(
        self,
        shift: Any = None,
        scale_identity_multiplier: Any = None,
        scale_diag: Any = None,
        scale_tril: Any = None,
        scale_perturb_factor: Any = None,
        scale_perturb_diag: Any = None,
        validate_args: bool = False,
        name: str = "affine",
    ) -> None:
        if scale_perturb_diag is not None and scale_perturb_factor is None:
            raise ValueError(
                "When scale_perturb_diag is specified, scale_perturb_factor must be specified."
            )
        others = (scale_diag, scale_tril, scale_perturb_factor)
        self._is_only_identity_multiplier = all(part is None for part in others)
        parents: list[Any] = []
        with (
            scopes.name_scope(name),
            scopes.name_scope("init", values=[shift, scale_identity_multiplier, *others]),
        ):
            if shift is not None:
                shift = convert_to_tensor(shift, name="shift")
                parents = [shift]
            self._shift = shift
            if self._is_only_identity_multiplier:
                dtype = dtypes.float32 if shift is None else shift.dtype.base_dtype
                number = 1.0 if scale_identity_multiplier is None else scale_identity_multiplier
                self._scale = _multiplier(
                    number, dtype if scale_identity_multiplier is None else None, validate_args
                )
            else:
                self._scale = self._sum(
                    scale_identity_multiplier, *others, scale_perturb_diag, validate_args
                )
                _require_one_dtype(shift, self._scale)
                parents = [*self._scale.graph_parents, *parents]
        super().__init__(
            parents,
            is_constant_jacobian=True,
            validate_args=validate_args,
            dtype=self._scale.dtype.base_dtype,
            forward_min_event_ndims=1,
            name=name,
        )

    def _sum(
        self, factor: Any, diag: Any, tril: Any, perturb: Any, perturb_diag: Any, validate: bool
    ) -> LinearOperator:
        if perturb is not None:
            perturb = convert_to_tensor(perturb, name="perturb_factor")
        scale = scales.triangular_scale(
            self._shift,
            tril,
            diag,
            factor,
            shape_hint=None if perturb is None else _rows(perturb),
            validate_args=validate,
        )
        if perturb is None:
            return scale
        return LinearOperatorLowRankUpdate(
            scale,
            perturb,
            None if perturb_diag is None else convert_to_tensor(perturb_diag, name="perturb_diag"),
            is_diag_update_positive=perturb_diag is None,
            is_non_singular=True,
            is_self_adjoint=True,
            is_positive_definite=True,
            is_square=True,
        )

    def _forward(self, x: Any) -> Any:
        if not self._is_only_identity_multiplier:
            return super()._forward(x)
        y = x * self._scale
        return y if self._shift is None else y + self._shift

    def _inverse(self, y: Any) -> Any:
        if not self._is_only_identity_multiplier:
            return super()._inverse(y)
        return (y if self._shift is None else y - self._shift) / self._scale

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        if not self._is_only_identity_multiplier:
            return self._scale.log_abs_determinant()
        size = elementwise.cast(array.shape(x)[-1], self._scale.dtype)
        return elementwise.log(elementwise.abs(self._scale)) * size


def _rows(matrix: Any) -> Any:
    known = matrix.shape[-2].value if matrix.shape.ndims is not None else None
    return array.shape(matrix)[-2] if known is None else known


def _multiplier(value: Any, dtype: Any, validate_args: bool) -> Any:
    factor = convert_to_tensor(value, dtype, name="identity_multiplier")
    if not validate_args:
        return factor
    zero = array.zeros([], factor.dtype)
    message = "identity_multiplier should be non-zero."
    return checked(factor, [asserts.assert_none_equal(factor, zero, message=message)])
