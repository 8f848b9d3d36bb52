"""The gamma distribution."""

from __future__ import annotations

from typing import Any

from graphio.distributions import checks
from graphio.distributions.concentration_rate import ConcentrationRate
from graphio.distributions.divergence import RegisterKL
from graphio.distributions.reparameterization import FULLY_REPARAMETERIZED
from graphio.framework import scopes
from graphio.framework.graph import Tensor
from graphio.ops.math import elementwise
from graphio.ops.math.arithmetic import xlogy
from graphio.ops.math.incomplete import igamma, igammac
from graphio.ops.math.special import digamma, lgamma
from graphio.ops.random.more import random_gamma

__all__ = ["Gamma"]


class Gamma(ConcentrationRate):
    """The gamma distribution: density x^(concentration - 1) exp(-rate x), normalized, for x > 0.

    Args:
        concentration: floating tensor of shapes, above 0.
        rate: floating tensor of inverse scales, above 0; broadcasts with concentration.
        validate_args: True: a run fails if a parameter or a value is not above 0.
        allow_nan_stats: True: the mode is nan where concentration is at most 1. False: its run
            fails.
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
        name: str = "Gamma",
    ) -> None:
        super().__init__(
            concentration, rate, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, name
        )

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return random_gamma([n], self.concentration, self.rate, dtype=self.dtype, seed=seed)

    def _log_prob(self, value: Tensor) -> Tensor:
        x = self._valid(value)
        powers = xlogy(self.concentration - 1.0, x) - self.rate * x
        return powers - self._log_normalization()

    def _log_normalization(self) -> Tensor:
        return lgamma(self.concentration) - self.concentration * elementwise.log(self.rate)

    def _cdf(self, value: Tensor) -> Tensor:
        return igamma(self.concentration, self.rate * self._valid(value))

    def _survival_function(self, value: Tensor) -> Tensor:
        return igammac(self.concentration, self.rate * self._valid(value))

    def _log_survival_function(self, value: Tensor) -> Tensor:
        return elementwise.log(self._survival_function(value))

    def _entropy(self) -> Tensor:
        form = self.concentration
        scale = form - elementwise.log(self.rate)
        return scale + lgamma(form) + (1.0 - form) * digamma(form)

    def _mean(self) -> Tensor:
        return self.concentration / self.rate

    def _variance(self) -> Tensor:
        return self.concentration / elementwise.square(self.rate)

    def _stddev(self) -> Tensor:
        return elementwise.sqrt(self.concentration) / self.rate

    def _mode(self) -> Tensor:
        mode = (self.concentration - 1.0) / self.rate
        words = "mode not defined when any concentration <= 1"
        return checks.defined(mode, self.allow_nan_stats, (self.concentration, 1.0, words))


@RegisterKL(Gamma, Gamma)
def _divergence(a: Gamma, b: Gamma, name: str | None = None) -> Tensor:
    values = [a.concentration, a.rate, b.concentration, b.rate]
    with scopes.name_scope(name, "kl_gamma_gamma", values=values):
        forms = (a.concentration - b.concentration) * digamma(a.concentration)
        forms = forms + lgamma(b.concentration) - lgamma(a.concentration)
        logarithms = elementwise.log(a.rate) - elementwise.log(b.rate)
        scales = a.concentration * (b.rate / a.rate - 1.0)
        return forms + b.concentration * logarithms + scales
