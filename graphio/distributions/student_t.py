"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphio.distributions import checks
from graphio.distributions.parameters import another_seed
from graphio.distributions.reparameterization import FULLY_REPARAMETERIZED
from graphio.distributions.scalar import ScalarDistribution, parameter_shapes, same_floats
from graphio.framework import scopes
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.array.shaping import where_v2
from graphio.ops.checks.asserts import assert_positive
from graphio.ops.math import elementwise
from graphio.ops.math.incomplete import betainc
from graphio.ops.math.special import digamma, lgamma
from graphio.ops.random.core import random_normal
from graphio.ops.random.more import random_gamma

__all__ = ["StudentT"]


class StudentT(ScalarDistribution):
    """Student's t: density (1 + z^2 / df)^(-(df + 1) / 2), normalized, of z = (x - loc) / scale.

    Args:
        df: floating tensor, the degrees of freedom, above 0.
        loc: floating tensor, the positions.
        scale: floating tensor; its sign has no effect. The three broadcast.
        validate_args: True: a run fails if df is not above 0.
        allow_nan_stats: True: mean and variance are nan where df is at most 1. False: their runs
            fail.
        name: of the scope of its operations.

    Raises:
        ValueError: dtypes differ, or are not floating.
    """

    _PARAMETERS = ("df", "loc", "scale")

    def __init__(
        self,
        df: Any,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentT",
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name, values=[df, loc, scale]) as entered:
            needed = [assert_positive(df)] if validate_args else []
            with scopes.control_dependencies(needed):
                self._df, self._loc, self._scale = same_floats(df=df, loc=loc, scale=scale)
        super().__init__(
            dtype=self._scale.dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._df, self._loc, self._scale],
            name=entered,
        )

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Tensor]:
        return parameter_shapes(sample_shape, "df", "loc", "scale")

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self._df

    @property
    def loc(self) -> Tensor:
        """The positions."""
        return self._loc

    @property
    def scale(self) -> Tensor:
        """The scales, which are less than standard deviations."""
        return self._scale

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        drawn = random_normal(self._drawn_shape(n), dtype=self.dtype, seed=seed)
        df = self.df * self._everywhere(1.0)
        other = another_seed(seed, salt="student_t")
        square = random_gamma([n], 0.5 * df, beta=0.5, dtype=self.dtype, seed=other)
        return drawn * elementwise.rsqrt(square / df) * self.scale + self.loc

    def _log_prob(self, value: Tensor) -> Tensor:
        z = (value - self.loc) / self.scale
        power = -0.5 * (self.df + 1.0) * elementwise.log1p(elementwise.square(z) / self.df)
        return power - self._log_normalization()

    def _log_normalization(self) -> Tensor:
        widths = elementwise.log(elementwise.abs(self.scale)) + 0.5 * elementwise.log(self.df)
        gammas = lgamma(0.5 * self.df) - lgamma(0.5 * (self.df + 1.0))
        return widths + 0.5 * math.log(math.pi) + gammas

    def _cdf(self, value: Tensor) -> Tensor:
        z = (value - self.loc) / elementwise.abs(self.scale)
        outside = self.df / (elementwise.square(z) + self.df)
        tail = 0.5 * betainc(0.5 * self.df, 0.5, outside)
        return where_v2(z < 0.0, tail, 1.0 - tail)

    def _entropy(self) -> Tensor:
        df = self.df * self._everywhere(1.0)
        half, more = 0.5 * df, 0.5 * (df + 1.0)
        log_beta = lgamma(half) + math.lgamma(0.5) - lgamma(more)
        widths = elementwise.log(elementwise.abs(self.scale)) + 0.5 * elementwise.log(df)
        return widths + log_beta + more * (digamma(more) - digamma(half))

    def _mean(self) -> Tensor:
        mean = self.loc * self._everywhere(1.0)
        words = "mean not defined for components of df <= 1"
        return checks.defined(mean, self.allow_nan_stats, (self.df, 1.0, words))

    def _variance(self) -> Tensor:
        finite = self.df > 2.0
        # 1 stands for what is not above 0, so that gradients stay finite
        excess = where_v2(finite, self.df - 2.0, array.ones_like(self.df))
        variance = self._everywhere(1.0) * elementwise.square(self.scale) * self.df / excess
        variance = where_v2(finite, variance, self._everywhere(np.inf))
        words = "variance not defined for components of df <= 1"
        return checks.defined(variance, self.allow_nan_stats, (self.df, 1.0, words))

    def _mode(self) -> Tensor:
        return array.identity(self.loc)
