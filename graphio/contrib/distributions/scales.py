"""Linear operators from the arguments that name the parts of a scale."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.contrib.distributions.bijectors.base import checked
from graphio.distributions import shapes
from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.framework.variable import Variable
from graphio.linear_operators import (
    LinearOperator,
    LinearOperatorDiag,
    LinearOperatorIdentity,
    LinearOperatorLowerTriangular,
    LinearOperatorScaledIdentity,
)
from graphio.ops.array import surface as array
from graphio.ops.checks import asserts
from graphio.ops.linalg import matrices

__all__ = [
    "common_dtype",
    "diagonal_scale",
    "last_axis",
    "matmul_vectors",
    "solve_vectors",
    "triangular_scale",
]


def common_dtype(values: list[Any], default: Any = dtypes.float32) -> Any:
    """The dtype of the first of the values that has one."""
    for value in values:
        if isinstance(value, (Tensor, Variable)):
            return value.dtype.base_dtype
        if hasattr(value, "dtype") and value.dtype is not None:
            return dtypes.as_dtype(value.dtype)
    return default


def last_axis(x: Any) -> Any:
    """The size of the last axis: a number, or a tensor where it is unknown."""
    known = x.shape[-1].value if x.shape.ndims is not None else None
    return array.shape(x)[-1] if known is None else known


def _tensor(value: Any, name: str, dtype: Any) -> Any:
    return None if value is None else convert_to_tensor(value, dtype, name=name)


def _nonzero(x: Any, numbers: Any, validate_args: bool, assert_positive: bool | None) -> Any:
    """x, after a check of its diagonal."""
    if not validate_args:
        return x
    if assert_positive:
        return checked(
            x, [asserts.assert_positive(numbers, message="diagonal part must be positive")]
        )
    zero = array.zeros([], numbers.dtype)
    return checked(
        x, [asserts.assert_none_equal(numbers, zero, message="diagonal part must be non-zero")]
    )


def diagonal_scale(
    loc: Any = None,
    scale_diag: Any = None,
    scale_identity_multiplier: Any = None,
    shape_hint: Any = None,
    validate_args: bool = False,
    assert_positive: bool | None = False,
    name: str | None = None,
    dtype: Any = None,
) -> LinearOperator:
    """The operator of diag(scale_diag) + scale_identity_multiplier I.

    Args:
        loc: tensor whose last axis gives the size where the others don't.
        scale_diag: tensor (..., n), or None.
        scale_identity_multiplier: tensor (...), or None.
        shape_hint: n.
        validate_args: whether runs check the diagonal.
        assert_positive: whether the diagonal is to be positive, and not only different from 0.
        name: of the operations.
        dtype: None: that of the arguments.

    Raises:
        ValueError: nothing gives the size.
    """
    given = [loc, scale_diag, scale_identity_multiplier]
    with scopes.name_scope(name, "make_diag_scale", values=given):
        dtype = dtype or common_dtype(given)
        loc = _tensor(loc, "loc", dtype)
        diag = _tensor(scale_diag, "scale_diag", dtype)
        factor = _tensor(scale_identity_multiplier, "scale_identity_multiplier", dtype)
        if diag is not None:
            diag = diag if factor is None else diag + array.expand_dims(factor, -1)
            return LinearOperatorDiag(
                _nonzero(diag, diag, validate_args, assert_positive),
                is_non_singular=True,
                is_self_adjoint=True,
                is_positive_definite=assert_positive,
            )
        if loc is None and shape_hint is None:
            raise ValueError(
                "Cannot infer `event_shape` unless `loc` or `shape_hint` is specified."
            )
        rows = last_axis(loc) if shape_hint is None else shape_hint
        if factor is None:
            return LinearOperatorIdentity(rows, dtype=dtype, assert_proper_shapes=validate_args)
        return LinearOperatorScaledIdentity(
            rows,
            _nonzero(factor, factor, validate_args, assert_positive),
            is_non_singular=True,
            is_self_adjoint=True,
            is_positive_definite=assert_positive,
            assert_proper_shapes=validate_args,
        )


def triangular_scale(
    loc: Any = None,
    scale_tril: Any = None,
    scale_diag: Any = None,
    scale_identity_multiplier: Any = None,
    shape_hint: Any = None,
    validate_args: bool = False,
    assert_positive: bool | None = False,
    name: str | None = None,
) -> LinearOperator:
    """As diagonal_scale, plus the lower triangle of scale_tril."""
    if scale_tril is None:
        return diagonal_scale(
            loc,
            scale_diag,
            scale_identity_multiplier,
            shape_hint,
            validate_args,
            assert_positive,
            name,
        )
    given = [loc, scale_tril, scale_diag, scale_identity_multiplier]
    with scopes.name_scope(name, "make_tril_scale", values=given):
        tril = convert_to_tensor(scale_tril, name="scale_tril")
        tril = matrices.matrix_band_part(tril, -1, 0)
        diag = matrices.matrix_diag_part(tril)
        if scale_diag is not None:
            diag = diag + convert_to_tensor(scale_diag, tril.dtype, name="scale_diag")
        if scale_identity_multiplier is not None:
            factor = convert_to_tensor(scale_identity_multiplier, tril.dtype)
            diag = diag + array.expand_dims(factor, -1)
        if scale_diag is not None or scale_identity_multiplier is not None:
            tril = matrices.matrix_set_diag(tril, diag)
        return LinearOperatorLowerTriangular(
            _nonzero(tril, diag, validate_args, assert_positive),
            is_non_singular=True,
            is_self_adjoint=False,
            is_positive_definite=assert_positive,
        )


def matmul_vectors(operator: LinearOperator, x: Any) -> Any:
    """An operator applied to vectors (..., n)."""
    if operator.batch_shape.ndims != 0:
        return operator.matvec(x)
    return _as_rows(x, operator.matmul(_rows(x), adjoint_arg=True))


def solve_vectors(operator: LinearOperator, x: Any) -> Any:
    """The solutions of an operator's systems for vectors (..., n)."""
    if operator.batch_shape.ndims != 0:
        return operator.solvevec(x)
    return _as_rows(x, operator.solve(_rows(x), adjoint_arg=True))


def _rows(x: Any) -> Any:
    """Vectors (..., n) as the rows of one matrix, so that one matrix meets all of them at once."""
    return array.reshape(x, array.stack([-1, array.shape(x)[-1]]))


def _as_rows(x: Any, columns: Any) -> Any:
    made = array.reshape(array.transpose(columns), array.shape(x))
    made.set_shape(x.shape)
    return made


def is_diagonal(scale: Any) -> bool:
    """Whether an operator has diagonal matrices."""
    return isinstance(
        scale, (LinearOperatorIdentity, LinearOperatorScaledIdentity, LinearOperatorDiag)
    )


def shapes_of(loc: Any, scale: LinearOperator) -> tuple[Any, Any]:
    """The shapes of the batch and the events of scale X + loc, as int32 vectors.

    Raises:
        ValueError: the sizes of loc and scale don't fit.
    """
    with scopes.name_scope("shapes_from_loc_and_scale"):
        rows = scale.range_dimension_tensor()
        known = constant_value(rows)
        event = array.reshape(rows, [1]) if known is None else known.reshape([1])
        batch = shapes.prefer_static_value(scale.batch_shape_tensor())
        if loc is None:
            return batch, event
        size = loc.shape[-1].value if loc.shape.ndims is not None else None
        if None not in (size, known) and size not in (1, known):
            raise ValueError(
                f"Event size of 'scale' ({known}) could not be broadcast up to that of 'loc' "
                f"({size})."
            )
        known_lead = loc.shape.with_rank_at_least(1)[:-1]
        lead: Any = known_lead if known_lead.is_fully_defined() else array.shape(loc)[:-1]
        joined = shapes.prefer_static_broadcast_shape(batch, lead)
        if isinstance(joined, TensorShape):
            return np.array(joined.as_list(), np.int32), event
        return joined, event
