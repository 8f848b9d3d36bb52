"""SinhArcsinh: a location-scale family with skewness and weight of the tails."""

from __future__ import annotations

from typing import Any

from graphio.contrib.distributions import scales
from graphio.contrib.distributions.bijectors.affine import Affine
from graphio.contrib.distributions.bijectors.base import checked
from graphio.contrib.distributions.bijectors.composed import Chain
from graphio.contrib.distributions.bijectors.parametric import AffineScalar
from graphio.contrib.distributions.bijectors.parametric import SinhArcsinh as Transform
from graphio.contrib.distributions.transformed.transformed import TransformedDistribution
from graphio.distributions import shapes
from graphio.distributions.distribution import Distribution
from graphio.distributions.normal import Normal
from graphio.distributions.reparameterization import FULLY_REPARAMETERIZED
from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.ops.array import surface as array
from graphio.ops.checks import asserts

__all__ = ["SinhArcsinh", "VectorSinhArcsinhDiag", "scalar_assertions"]


def scalar_assertions(distribution: Distribution, dtype: Any, validate_args: bool) -> list[Any]:
    """Checks that a distribution is of one number.

    Raises:
        TypeError: it has another dtype.
        ValueError: it is known to have a batch or events of vectors; or validate_args, and its
            samples have no gradients.
    """
    if distribution.dtype != dtype:
        raise TypeError(
            f'dtype mismatch; distribution.dtype="{distribution.dtype.name}" is not "{dtype.name}"'
        )
    kind = distribution.reparameterization_type
    if validate_args and kind is not FULLY_REPARAMETERIZED:
        raise ValueError(
            "Base distribution should be reparameterized or be a function of non-trainable "
            f'variables; distribution.reparameterization_type = "{kind}" != '
            '"FULLY_REPARAMETERIZED".'
        )
    needed = []
    for word in ("is_scalar_event", "is_scalar_batch"):
        holds = getattr(distribution, word)()
        message = f"distribution must be scalar; distribution.{word}=False is not True"
        known = constant_value(holds)
        if known is not None and not known:
            raise ValueError(message)
        if known is None and validate_args:
            needed.append(asserts.assert_equal(holds, True, message=message))
    return needed


def _base(distribution: Distribution | None, dtype: Any, allow_nan_stats: bool) -> Distribution:
    """The distribution that is transformed; the standard normal one where none is given."""
    if distribution is not None:
        return distribution
    zero, one = array.zeros([], dtype), array.ones([], dtype)
    return Normal(zero, one, allow_nan_stats=allow_nan_stats)


def _weights(skewness: Any, tailweight: Any, dtype: Any) -> tuple[Any, Any, Any, Any]:
    """Skewness and tailweight as tensors, their transform, and what it makes of 2 without
    skewness: 2 / that keeps the spread that scale names."""
    skew = convert_to_tensor(0.0 if skewness is None else skewness, dtype, name="skewness")
    tail = convert_to_tensor(1.0 if tailweight is None else tailweight, dtype, name="tailweight")
    transform = Transform(skew, tail)
    plain = transform if skewness is None else Transform(array.zeros([], dtype), tail)
    return skew, tail, transform, plain.forward(convert_to_tensor(2.0, dtype))


class SinhArcsinh(TransformedDistribution):
    """Y = loc + C F(Z), F(Z) = sinh((arcsinh(Z) + skewness) tailweight), C = 2 scale / F0(2),
    where F0 is F without skewness.

    Args:
        loc: floating tensor.
        scale: tensor of the same dtype.
        skewness: tensor; None: 0.
        tailweight: positive tensor; None: 1.
        distribution: of Z, scalar; None: the standard normal one.
        validate_args: whether runs check values.
        allow_nan_stats: see Distribution.
        name: of the scope of its operations.
    """

    def __init__(
        self,
        loc: Any,
        scale: Any,
        skewness: Any = None,
        tailweight: Any = None,
        distribution: Distribution | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "SinhArcsinh",
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name, values=[loc, scale, skewness, tailweight]) as scope:
            loc = convert_to_tensor(loc, name="loc")
            scale = convert_to_tensor(scale, loc.dtype, name="scale")
            if distribution is not None:
                needed = scalar_assertions(distribution, loc.dtype, validate_args)
                loc = checked(loc, needed)
            skew, tail, transform, two = _weights(skewness, tailweight, loc.dtype)
            both = [loc, scale, tail, skew]
            known = shapes.broadcast_shape(*both)
            batch = known if known.is_fully_defined() else shapes.broadcast_shape_tensor(*both)
            affine = AffineScalar(loc, 2.0 * scale / two, validate_args=validate_args)
            super().__init__(
                _base(distribution, loc.dtype, allow_nan_stats),
                Chain([affine, transform]),
                batch_shape=batch,
                validate_args=validate_args,
                name=scope,
            )
        self._parameters = parameters
        self._loc, self._scale, self._skewness, self._tailweight = loc, scale, skew, tail

    @property
    def loc(self) -> Any:
        """The loc."""
        return self._loc

    @property
    def scale(self) -> Any:
        """The scale."""
        return self._scale

    @property
    def skewness(self) -> Any:
        """The skewness."""
        return self._skewness

    @property
    def tailweight(self) -> Any:
        """The tailweight."""
        return self._tailweight


class VectorSinhArcsinhDiag(TransformedDistribution):
    """Vectors of independent numbers as those of SinhArcsinh.

    Args:
        loc: floating tensor (..., n); None: 0.
        scale_diag: tensor (..., n); None: 0, or 1 where scale_identity_multiplier is None.
        scale_identity_multiplier: tensor (...), which is added to scale_diag; None: 0.
        skewness: tensor that broadcasts with (..., n); None: 0.
        tailweight: positive tensor that broadcasts with (..., n); None: 1.
        distribution: of the numbers before the transform, scalar; None: the standard normal one.
        validate_args: whether runs check values.
        allow_nan_stats: see Distribution.
        name: of the scope of its operations.
    """

    def __init__(
        self,
        loc: Any = None,
        scale_diag: Any = None,
        scale_identity_multiplier: Any = None,
        skewness: Any = None,
        tailweight: Any = None,
        distribution: Distribution | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalLinearOperator",
    ) -> None:
        parameters = dict(locals())
        given = [loc, scale_diag, scale_identity_multiplier, skewness, tailweight]
        with scopes.name_scope(name, values=given) as scope:
            loc = None if loc is None else convert_to_tensor(loc, name="loc")
            operator = scales.diagonal_scale(loc, scale_diag, scale_identity_multiplier)
            batch, event = scales.shapes_of(loc, operator)
            diag = operator.diag_part()
            if distribution is not None:
                diag = checked(diag, scalar_assertions(distribution, diag.dtype, validate_args))
            skew, tail, transform, two = _weights(skewness, tailweight, diag.dtype)
            affine = Affine(loc, scale_diag=2.0 * diag / two, validate_args=validate_args)
            super().__init__(
                _base(distribution, diag.dtype, allow_nan_stats),
                Chain([affine, transform]),
                batch_shape=batch,
                event_shape=event,
                validate_args=validate_args,
                name=scope,
            )
        self._parameters = parameters
        self._loc, self._scale, self._skewness, self._tailweight = loc, operator, skew, tail

    @property
    def loc(self) -> Any:
        """The loc."""
        return self._loc

    @property
    def scale(self) -> Any:
        """The LinearOperator of scale_diag and scale_identity_multiplier."""
        return self._scale

    @property
    def skewness(self) -> Any:
        """The skewness."""
        return self._skewness

    @property
    def tailweight(self) -> Any:
        """The tailweight."""
        return self._tailweight
