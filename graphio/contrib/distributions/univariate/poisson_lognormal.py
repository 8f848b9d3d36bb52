"""The Poisson distribution whose mean is drawn from a log-normal one, by quadrature."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graphio.contrib.distributions.univariate.poisson import Poisson
from graphio.distributions import shapes
from graphio.distributions.categorical import Categorical
from graphio.distributions.distribution import Distribution
from graphio.distributions.normal import Normal
from graphio.distributions.parameters import another_seed
from graphio.distributions.reparameterization import NOT_REPARAMETERIZED
from graphio.framework import scopes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.array import surface as array
from graphio.ops.array.index import one_hot
from graphio.ops.math import elementwise, reduction
from graphio.ops.random.more import random_poisson
from graphio.support import api_guard

__all__ = [
    "PoissonLogNormalQuadratureCompound",
    "quadrature_scheme_lognormal_gauss_hermite",
    "quadrature_scheme_lognormal_quantiles",
]


@api_guard.operator
def quadrature_scheme_lognormal_gauss_hermite(
    loc: Any,
    scale: Any,
    quadrature_size: int,
    validate_args: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Logarithms of rates and their probabilities, by Gauss-Hermite quadrature.

    Args:
        loc: floating tensor, the means of the rates' logarithms.
        scale: tensor, their deviations.
        quadrature_size: how many rates.
        validate_args: without effect.
        name: of the operations.

    Returns:
        A tensor (..., quadrature_size) of logarithms, and one (quadrature_size) of probabilities.
    """
    with scopes.name_scope(name, "vector_diffeomixture_quadrature_gauss_hermite", [loc, scale]):
        grid, weights = np.polynomial.hermite.hermgauss(deg=quadrature_size)
        kind = loc.dtype.as_numpy_dtype
        probs = constant((weights / weights.sum()).astype(kind), name="probs")
        width = math.sqrt(2.0) * shapes.with_last_axis(scale)
        return shapes.with_last_axis(loc) + width * constant(grid.astype(kind)), probs


@api_guard.operator
def quadrature_scheme_lognormal_quantiles(
    loc: Any,
    scale: Any,
    quadrature_size: int,
    validate_args: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Logarithms of rates, all of the same probability, between quantiles.

    As in TensorFlow 1, the quantiles are those of the log-normal distribution.

    Args:
        loc: floating tensor, the means of the rates' logarithms.
        scale: tensor, their deviations.
        quadrature_size: how many rates.
        validate_args: True: a run fails if a scale is not above 0.
        name: of the operations.

    Returns:
        A tensor (..., quadrature_size) of logarithms, and one (quadrature_size) of probabilities.
    """
    with scopes.name_scope(name, "quadrature_scheme_lognormal_quantiles", [loc, scale]):
        normal = Normal(loc, scale, validate_args=validate_args)
        edges = np.linspace(0.0, 1.0, quadrature_size + 3)[1:-1]
        shares = constant(edges.astype(normal.dtype.as_numpy_dtype))
        inner = Normal(shapes.with_last_axis(normal.loc), shapes.with_last_axis(normal.scale))
        quantiles = elementwise.exp(inner.quantile(shares))
        grid = (quantiles[..., :-1] + quantiles[..., 1:]) / 2.0
        grid.set_shape(normal.batch_shape.concatenate([quadrature_size]))
        share = convert_to_tensor(1.0 / quadrature_size, normal.dtype)
        return grid, array.fill([quadrature_size], share)


class PoissonLogNormalQuadratureCompound(Distribution):
    """A mixture of Poisson distributions that stands for one of log-normal means.

    Args:
        loc: floating tensor, the means of the rates' logarithms.
        scale: tensor, their deviations; broadcasts with loc.
        quadrature_size: how many Poisson distributions.
        quadrature_fn: gives the rates' logarithms and their probabilities, see
            quadrature_scheme_lognormal_quantiles.
        validate_args: True: a run fails if a parameter or a value is invalid.
        allow_nan_stats: without effect, all statistics exist.
        name: of the scope of its operations.

    Raises:
        TypeError: the dtypes of logarithms and probabilities differ.
    """

    def __init__(
        self,
        loc: Any,
        scale: Any,
        quadrature_size: int = 8,
        quadrature_fn: Callable[..., Any] = quadrature_scheme_lognormal_quantiles,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "PoissonLogNormalQuadratureCompound",
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name, values=[loc, scale]) as entered:
            self._loc = convert_to_tensor(loc, name="loc")
            self._scale = convert_to_tensor(scale, self._loc.dtype, name="scale")
            self._quadrature_size = quadrature_size
            grid, probs = quadrature_fn(self._loc, self._scale, quadrature_size, validate_args)
            if grid.dtype.base_dtype != probs.dtype.base_dtype:
                raise TypeError(
                    f"Quadrature grid dtype ({grid.dtype.name}) does not match quadrature probs "
                    f"dtype ({probs.dtype.name})."
                )
            self._distribution = Poisson(
                log_rate=grid, validate_args=validate_args, allow_nan_stats=allow_nan_stats
            )
            self._mixture = Categorical(
                logits=elementwise.log(probs),
                validate_args=validate_args,
                allow_nan_stats=allow_nan_stats,
            )
            super().__init__(
                dtype=grid.dtype,
                reparameterization_type=NOT_REPARAMETERIZED,
                validate_args=validate_args,
                allow_nan_stats=allow_nan_stats,
                parameters=parameters,
                graph_parents=[self._loc, self._scale],
                name=entered,
            )

    @property
    def mixture_distribution(self) -> Categorical:
        """The choice of a Poisson distribution."""
        return self._mixture

    @property
    def distribution(self) -> Poisson:
        """The Poisson distributions, along the last axis of its batch."""
        return self._distribution

    @property
    def loc(self) -> Tensor:
        """The means of the rates' logarithms."""
        return self._loc

    @property
    def scale(self) -> Tensor:
        """The deviations of the rates' logarithms."""
        return self._scale

    @property
    def quadrature_size(self) -> int:
        """How many Poisson distributions."""
        return self._quadrature_size

    def _batch_shape_tensor(self) -> Tensor:
        return shapes.broadcast_shape_tensor(self.distribution.rate, self._mixture.logits)[:-1]

    def _batch_shape(self) -> Any:
        return shapes.broadcast_shape(self.distribution.rate, self._mixture.logits)[:-1]

    def _event_shape_tensor(self) -> Tensor:
        return shapes.no_axes()

    def _event_shape(self) -> TensorShape:
        return TensorShape([])

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        other = another_seed(seed, "poisson_lognormal_quadrature_compound")
        shape = array.concat([[n], self.batch_shape_tensor()], 0)
        choice = self._mixture.sample(shape, seed=other)
        chosen = one_hot(choice, self._quadrature_size, dtype=self.dtype)
        rate = reduction.reduce_sum(chosen * self.distribution.rate, -1)
        return random_poisson(rate, [], self.dtype, seed)

    def _log_prob(self, value: Tensor) -> Tensor:
        parts = self.distribution.log_prob(shapes.with_last_axis(value))
        return reduction.reduce_logsumexp(self._mixture.logits + parts, -1)

    def _mean(self) -> Tensor:
        parts = self._mixture.logits + self.distribution.log_rate
        return elementwise.exp(reduction.reduce_logsumexp(parts, -1))

    def _variance(self) -> Tensor:
        apart = self.distribution.mean() - shapes.with_last_axis(self._mean())
        parts = self.distribution.rate + elementwise.square(apart)
        return reduction.reduce_sum(self._mixture.probs * parts, -1)
