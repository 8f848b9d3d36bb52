"""The inverse gamma distribution."""

from __future__ import annotations

from typing import Any

from graphio.distributions import checks
from graphio.distributions.concentration_rate import ConcentrationRate
from graphio.distributions.reparameterization import NOT_REPARAMETERIZED
from graphio.framework.graph import Tensor
from graphio.ops.math import elementwise
from graphio.ops.math.incomplete import igamma, igammac
from graphio.ops.math.special import digamma, lgamma
from graphio.ops.random.more import random_gamma

__all__ = ["InverseGamma"]


class InverseGamma(ConcentrationRate):
    """The distribution of 1 / x for x of Gamma(concentration, rate).

    Args:
        concentration: floating tensor, above 0.
        rate: floating tensor, the scales, above 0; broadcasts with concentration.
        validate_args: True: a run fails if a parameter or a value is not above 0.
        allow_nan_stats: True: the mean is nan where concentration is at most 1, the variance where
            it is at most 2. False: their runs fail.
        name: of the scope of its operations.

    Raises:
        ValueError: dtypes differ, or are not floating.
    """

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "InverseGamma",
    ) -> None:
        super().__init__(
            concentration, rate, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, name
        )

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return 1.0 / random_gamma([n], self.concentration, self.rate, dtype=self.dtype, seed=seed)

    def _log_prob(self, value: Tensor) -> Tensor:
        x, form = self._valid(value), self.concentration
        normalization = lgamma(form) - form * elementwise.log(self.rate)
        return -(1.0 + form) * elementwise.log(x) - self.rate / x - normalization

    def _cdf(self, value: Tensor) -> Tensor:
        return igammac(self.concentration, self.rate / self._valid(value))

    def _survival_function(self, value: Tensor) -> Tensor:
        return igamma(self.concentration, self.rate / self._valid(value))

    def _log_survival_function(self, value: Tensor) -> Tensor:
        return elementwise.log(self._survival_function(value))

    def _entropy(self) -> Tensor:
        form = self.concentration
        scale = form + elementwise.log(self.rate)
        return scale + lgamma(form) - (1.0 + form) * digamma(form)

    def _mean(self) -> Tensor:
        mean = self.rate / (self.concentration - 1.0)
        words = "mean undefined when any concentration <= 1"
        return checks.defined(mean, self.allow_nan_stats, (self.concentration, 1.0, words))

    def _variance(self) -> Tensor:
        square = elementwise.square(self.rate / (self.concentration - 1.0))
        words = "variance undefined when any concentration <= 2"
        needs = (self.concentration, 2.0, words)
        return checks.defined(square / (self.concentration - 2.0), self.allow_nan_stats, needs)

    def _mode(self) -> Tensor:
        return self.rate / (1.0 + self.concentration)
