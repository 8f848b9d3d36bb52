"""Vectors scale X + loc for a linear operator and vectors X of independent numbers."""

from __future__ import annotations

from typing import Any, ClassVar

from graphio.contrib.distributions import scales
from graphio.contrib.distributions.bijectors.affine import AffineLinearOperator
from graphio.contrib.distributions.transformed.transformed import TransformedDistribution
from graphio.distributions.distribution import Distribution
from graphio.distributions.divergence import RegisterKL
from graphio.distributions.exponential import Exponential
from graphio.distributions.laplace import Laplace
from graphio.distributions.normal import Normal
from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.linear_operators import LinearOperatorLowRankUpdate
from graphio.ops.array import surface as array
from graphio.ops.array.shaping import broadcast_static_shape
from graphio.ops.linalg import matrices
from graphio.ops.math import elementwise, reduction

__all__ = [
    "MultivariateNormalLinearOperator",
    "VectorExponentialDiag",
    "VectorExponentialLinearOperator",
    "VectorLaplaceDiag",
    "VectorLaplaceLinearOperator",
]


class _OfLinearOperator(TransformedDistribution):
    """scale X + loc, of which a subclass gives the distribution of a number of X.

    Args:
        loc: floating tensor (..., n); None: 0.
        scale: LinearOperator (..., n, n) of a floating dtype.
        validate_args: whether runs check values.
        allow_nan_stats: see Distribution.
        name: of the scope of its operations.

    Raises:
        ValueError: scale is None, or the sizes don't fit.
        TypeError: scale's dtype is not floating.
    """

    #: the variance of a number of X
    _VARIANCE: ClassVar[float] = 1.0

    def __init__(
        self,
        loc: Any = None,
        scale: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "",
    ) -> None:
        if scale is None:
            raise ValueError("Missing required `scale` parameter.")
        if not scale.dtype.is_floating:
            raise TypeError("`scale` parameter must have floating-point dtype.")
        parameters = dict(locals())
        with scopes.name_scope(name, values=[loc, *scale.graph_parents]) as scope:
            loc = None if loc is None else convert_to_tensor(loc, name="loc")
            batch, event = scales.shapes_of(loc, scale)
            number = self._number(array.zeros([], scale.dtype), array.ones([], scale.dtype))
            affine = AffineLinearOperator(loc, scale, validate_args=validate_args)
        super().__init__(
            number,
            affine,
            batch_shape=batch,
            event_shape=event,
            validate_args=validate_args,
            name=scope,
        )
        self._parameters = parameters

    def _number(self, zero: Any, one: Any) -> Distribution:
        """The distribution of a number of X, given 0 and 1 of its dtype."""
        raise NotImplementedError("_number not implemented")

    @property
    def loc(self) -> Any:
        """The loc, or None."""
        return self._bijector.shift

    @property
    def scale(self) -> Any:
        """The LinearOperator."""
        return self._bijector.scale

    def _everywhere(self, number: float) -> Any:
        """A number everywhere in the batch and the events."""
        known = self.batch_shape.concatenate(self.event_shape)
        shape: Any = known
        if not known.is_fully_defined():
            shape = array.concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0)
        return array.ones(shape, self.dtype) * number if number else array.zeros(shape, self.dtype)

    def _at(self, number: float) -> Any:
        """scale X + loc for an X of one number."""
        found = self._everywhere(number)
        if number:
            found = self.scale.matvec(found)
        return found if self.loc is None else found + self.loc

    def _mean(self) -> Any:
        return self._at(0.0)

    def _mode(self) -> Any:
        return self._at(0.0)

    def _square(self) -> Any:
        """scale scale^T."""
        return self.scale.matmul(self.scale.to_dense(), adjoint_arg=True)

    def _covariance(self) -> Any:
        if scales.is_diagonal(self.scale):
            return self._VARIANCE * matrices.matrix_diag(elementwise.square(self.scale.diag_part()))
        return self._VARIANCE * self._square()

    def _variance(self) -> Any:
        if scales.is_diagonal(self.scale):
            return self._VARIANCE * elementwise.square(self.scale.diag_part())
        if isinstance(self.scale, LinearOperatorLowRankUpdate) and self.scale.is_self_adjoint:
            square = self.scale.matmul(self.scale.to_dense())
        else:
            square = self._square()
        return self._VARIANCE * matrices.matrix_diag_part(square)

    def _stddev(self) -> Any:
        if scales.is_diagonal(self.scale):
            return self._VARIANCE**0.5 * elementwise.abs(self.scale.diag_part())
        return elementwise.sqrt(self._variance())


class MultivariateNormalLinearOperator(_OfLinearOperator):
    """The normal distribution of vectors with mean loc and covariance scale scale^T.

    Args:
        loc: floating tensor (..., n); None: 0.
        scale: LinearOperator (..., n, n) of the same dtype.
        validate_args: whether runs check values.
        allow_nan_stats: see Distribution.
        name: of the scope of its operations.
    """

    def __init__(
        self,
        loc: Any = None,
        scale: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalLinearOperator",
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _number(self, zero: Any, one: Any) -> Distribution:
        return Normal(zero, one)


class VectorLaplaceLinearOperator(_OfLinearOperator):
    """scale X + loc for vectors X of Laplace's numbers.

    Args:
        loc: floating tensor (..., n); None: 0.
        scale: LinearOperator (..., n, n) of the same dtype.
        validate_args: whether runs check values.
        allow_nan_stats: see Distribution.
        name: of the scope of its operations.
    """

    _VARIANCE = 2.0

    def __init__(
        self,
        loc: Any = None,
        scale: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "VectorLaplaceLinearOperator",
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _number(self, zero: Any, one: Any) -> Distribution:
        return Laplace(zero, one)


class VectorExponentialLinearOperator(_OfLinearOperator):
    """scale X + loc for vectors X of exponential numbers.

    Args:
        loc: floating tensor (..., n); None: 0.
        scale: LinearOperator (..., n, n) of the same dtype.
        validate_args: whether runs check values.
        allow_nan_stats: see Distribution.
        name: of the scope of its operations.
    """

    def __init__(
        self,
        loc: Any = None,
        scale: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "VectorExponentialLinearOperator",
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _number(self, zero: Any, one: Any) -> Distribution:
        return Exponential(one)

    def _mean(self) -> Any:
        return self._at(1.0)


class VectorExponentialDiag(VectorExponentialLinearOperator):
    """Vectors of independent exponential numbers.

    Args:
        loc: floating tensor (..., n), the minimum of each number; None: 0.
        scale_diag: tensor (..., n); None: 0, or 1 where scale_identity_multiplier is None.
        scale_identity_multiplier: tensor (...), which is added to scale_diag; None: 0.
        validate_args: whether runs check values.
        allow_nan_stats: see Distribution.
        name: of the scope of its operations.

    Raises:
        ValueError: nothing gives n.
    """

    def __init__(
        self,
        loc: Any = None,
        scale_diag: Any = None,
        scale_identity_multiplier: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "VectorExponentialDiag",
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name) as scope, scopes.name_scope("init"):
            scale = scales.diagonal_scale(loc, scale_diag, scale_identity_multiplier)
        super().__init__(loc, scale, validate_args, allow_nan_stats, scope)
        self._parameters = parameters


class VectorLaplaceDiag(VectorLaplaceLinearOperator):
    """Vectors of independent numbers of Laplace.

    Args:
        loc: floating tensor (..., n), the means; None: 0.
        scale_diag: tensor (..., n); None: 0, or 1 where scale_identity_multiplier is None.
        scale_identity_multiplier: tensor (...), which is added to scale_diag; None: 0.
        validate_args: whether runs check values.
        allow_nan_stats: see Distribution.
        name: of the scope of its operations.

    Raises:
        ValueError: nothing gives n.
    """

    def __init__(
        self,
        loc: Any = None,
        scale_diag: Any = None,
        scale_identity_multiplier: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "VectorLaplaceDiag",
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name) as scope, scopes.name_scope("init"):
            scale = scales.diagonal_scale(loc, scale_diag, scale_identity_multiplier)
        super().__init__(loc, scale, validate_args, allow_nan_stats, scope)
        self._parameters = parameters


@RegisterKL(MultivariateNormalLinearOperator, MultivariateNormalLinearOperator)
def _divergence(a: Any, b: Any, name: str | None = None) -> Any:
    """log |B| - log |A| + (|B^-1 A|^2 + |B^-1 (mean_b - mean_a)|^2 - n) / 2, with Frobenius' norms
    of the scales A and B."""
    values = [a.loc, b.loc, *a.scale.graph_parents, *b.scale.graph_parents]
    with scopes.name_scope(name, "kl_mvn", values=values):
        if scales.is_diagonal(a.scale) and scales.is_diagonal(b.scale):
            ratio = array.expand_dims(a.stddev() / b.stddev(), -1)
        else:
            ratio = b.scale.solve(a.scale.to_dense())
        apart = b.scale.solve(array.expand_dims(b.mean() - a.mean(), -1))
        size = elementwise.cast(a.scale.domain_dimension_tensor(), a.dtype)
        squares = [reduction.reduce_sum(elementwise.square(x), [-2, -1]) for x in (ratio, apart)]
        logs = b.scale.log_abs_determinant() - a.scale.log_abs_determinant()
        found = logs + 0.5 * (squares[0] + squares[1] - size)
        found.set_shape(broadcast_static_shape(a.batch_shape, b.batch_shape))
        return found
