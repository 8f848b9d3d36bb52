"""Multivariate normal distributions by the parts of their scale or covariance."""

from __future__ import annotations

from typing import Any

from graphio.contrib.distributions import scales
from graphio.contrib.distributions.bijectors.base import checked
from graphio.contrib.distributions.multivariate.linear_operator import (
    MultivariateNormalLinearOperator,
)
from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.linear_operators import (
    LinearOperatorIdentity,
    LinearOperatorLowerTriangular,
    LinearOperatorLowRankUpdate,
)
from graphio.ops.checks import asserts
from graphio.ops.linalg import solving
from graphio.ops.linalg.matmul import matrix_transpose
from graphio.ops.nn.core import softplus

__all__ = [
    "MultivariateNormalDiag",
    "MultivariateNormalDiagPlusLowRank",
    "MultivariateNormalDiagWithSoftplusScale",
    "MultivariateNormalFullCovariance",
    "MultivariateNormalTriL",
]


def _tensor(value: Any, name: str) -> Any:
    return None if value is None else convert_to_tensor(value, name=name)


class MultivariateNormalDiag(MultivariateNormalLinearOperator):
    """The normal distribution of vectors with independent numbers.

    Args:
        loc: floating tensor (..., n), the means; None: 0.
        scale_diag: tensor (..., n), the standard deviations; None: 0, or 1 where
            scale_identity_multiplier is None.
        scale_identity_multiplier: tensor (...), which is added to scale_diag; None: 0.
        validate_args: whether runs check values.
        allow_nan_stats: without an effect, all statistics exist.
        name: of the scope of its operations.

    Raises:
        ValueError: nothing gives n, or the sizes don't fit.
    """

    def __init__(
        self,
        loc: Any = None,
        scale_diag: Any = None,
        scale_identity_multiplier: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiag",
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name) as scope, scopes.name_scope("init"):
            scale = scales.diagonal_scale(loc, scale_diag, scale_identity_multiplier)
        super().__init__(loc, scale, validate_args, allow_nan_stats, scope)
        self._parameters = parameters


class MultivariateNormalDiagWithSoftplusScale(MultivariateNormalDiag):
    """MultivariateNormalDiag with softplus(scale_diag).

    Args:
        loc: floating tensor (..., n), the means.
        scale_diag: tensor (..., n) of any numbers.
        validate_args: whether runs check values.
        allow_nan_stats: without an effect, all statistics exist.
        name: of the scope of its operations.
    """

    def __init__(
        self,
        loc: Any,
        scale_diag: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiagWithSoftplusScale",
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name, values=[scale_diag]) as scope:
            positive = softplus(convert_to_tensor(scale_diag))
        super().__init__(
            loc,
            positive,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            name=scope,
        )
        self._parameters = parameters


class MultivariateNormalDiagPlusLowRank(MultivariateNormalLinearOperator):
    """The normal distribution of vectors with scale S = diag(scale_diag) +
    scale_identity_multiplier I + F diag(d) F^T and covariance S S^T.

    Args:
        loc: floating tensor (..., n), the means; None: 0.
        scale_diag: tensor (..., n); None: 0, or 1 where scale_identity_multiplier is None.
        scale_identity_multiplier: tensor (...); None: 0.
        scale_perturb_factor: F, tensor (..., n, r); None: there is no such part.
        scale_perturb_diag: d, tensor (..., r); None: ones.
        validate_args: whether runs check values.
        allow_nan_stats: without an effect, all statistics exist.
        name: of the scope of its operations.
    """

    def __init__(
        self,
        loc: Any = None,
        scale_diag: Any = None,
        scale_identity_multiplier: Any = None,
        scale_perturb_factor: Any = None,
        scale_perturb_diag: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiagPlusLowRank",
    ) -> None:
        parameters = dict(locals())
        low_rank = scale_perturb_factor is not None or scale_perturb_diag is not None
        with scopes.name_scope(name) as scope, scopes.name_scope("init"):
            scale = scales.diagonal_scale(
                loc,
                scale_diag,
                scale_identity_multiplier,
                validate_args=validate_args,
                assert_positive=low_rank,
            )
            if low_rank:
                scale = LinearOperatorLowRankUpdate(
                    scale,
                    _tensor(scale_perturb_factor, "scale_perturb_factor"),
                    _tensor(scale_perturb_diag, "scale_perturb_diag"),
                    is_diag_update_positive=scale_perturb_diag is None,
                    is_non_singular=True,
                    is_self_adjoint=True,
                    is_positive_definite=True,
                    is_square=True,
                )
        super().__init__(loc, scale, validate_args, allow_nan_stats, scope)
        self._parameters = parameters


class MultivariateNormalTriL(MultivariateNormalLinearOperator):
    """The normal distribution of vectors with covariance L L^T.

    Args:
        loc: floating tensor (..., n), the means; None: 0.
        scale_tril: L, tensor (..., n, n) of lower triangles with diagonals that are not 0; None:
            the unit matrix.
        validate_args: whether runs check values.
        allow_nan_stats: without an effect, all statistics exist.
        name: of the scope of its operations.

    Raises:
        ValueError: both are None, or the sizes don't fit.
    """

    def __init__(
        self,
        loc: Any = None,
        scale_tril: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalTriL",
    ) -> None:
        parameters = dict(locals())
        if loc is None and scale_tril is None:
            raise ValueError("Must specify one or both of `loc`, `scale_tril`.")
        with scopes.name_scope(name) as scope, scopes.name_scope("init"):
            loc, tril = _tensor(loc, "loc"), _tensor(scale_tril, "scale_tril")
            scale: Any
            if tril is None:
                scale = LinearOperatorIdentity(
                    scales.last_axis(loc),
                    dtype=loc.dtype,
                    assert_proper_shapes=validate_args,
                )
            else:
                scale = LinearOperatorLowerTriangular(
                    tril, is_non_singular=True, is_self_adjoint=False, is_positive_definite=False
                )
        super().__init__(loc, scale, validate_args, allow_nan_stats, scope)
        self._parameters = parameters


class MultivariateNormalFullCovariance(MultivariateNormalTriL):
    """The normal distribution of vectors with a covariance.

    Args:
        loc: floating tensor (..., n), the means; None: 0.
        covariance_matrix: tensor (..., n, n), symmetric and positive definite; None: the unit
            matrix.
        validate_args: whether runs check that the covariance is symmetric.
        allow_nan_stats: without an effect, all statistics exist.
        name: of the scope of its operations.

    Raises:
        ValueError: both are None, or the sizes don't fit.
    """

    def __init__(
        self,
        loc: Any = None,
        covariance_matrix: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalFullCovariance",
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name) as scope, scopes.name_scope("init"):
            tril = None
            if covariance_matrix is not None:
                covariance = convert_to_tensor(covariance_matrix, name="covariance_matrix")
                if validate_args:
                    symmetric = asserts.assert_near(
                        covariance,
                        matrix_transpose(covariance),
                        message="Matrix was not symmetric",
                    )
                    covariance = checked(covariance, [symmetric])
                tril = solving.cholesky(covariance)
        super().__init__(loc, tril, validate_args, allow_nan_stats, scope)
        self._parameters = parameters
