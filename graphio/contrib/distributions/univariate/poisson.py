"""The Poisson distribution."""

from __future__ import annotations

from typing import Any

from graphio.distributions import checks
from graphio.distributions.reparameterization import NOT_REPARAMETERIZED
from graphio.distributions.scalar import ScalarDistribution
from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.checks.asserts import assert_positive
from graphio.ops.math import elementwise
from graphio.ops.math.incomplete import igammac
from graphio.ops.math.special import lgamma
from graphio.ops.random.more import random_poisson

__all__ = ["Poisson"]


class Poisson(ScalarDistribution):
    """The Poisson distribution: probability rate^k exp(-rate) / k! of k = 0, 1, ...

    Args:
        rate: floating tensor of means, above 0.
        log_rate: floating tensor, their logarithms; instead of rate.
        validate_args: True: a run fails if a rate is not above 0, or a value negative or not
            an integer. False: at values that are not integers, log_prob is the formula's.
        allow_nan_stats: without effect, all statistics exist.
        name: of the scope of its operations.

    Raises:
        ValueError: rate and log_rate are given, or neither.
        TypeError: they are not floating.
    """

    _PARAMETERS = ("rate",)

    def __init__(
        self,
        rate: Any = None,
        log_rate: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Poisson",
    ) -> None:
        parameters = dict(locals())
        given = [each for each in (rate, log_rate) if each is not None]
        with scopes.name_scope(name, values=given) as entered:
            if len(given) != 1:
                raise ValueError("Must specify exactly one of `rate` and `log_rate`.")
            if log_rate is None:
                mean = _floating(rate, "rate")
                needed = [assert_positive(mean)] if validate_args else []
                with scopes.control_dependencies(needed):
                    self._rate = array.identity(mean, name="rate")
                    self._log_rate = elementwise.log(mean, name="log_rate")
            else:
                self._log_rate = _floating(log_rate, "log_rate")
                self._rate = elementwise.exp(self._log_rate, name="rate")
        super().__init__(
            dtype=self._rate.dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._rate],
            name=entered,
        )

    @property
    def rate(self) -> Tensor:
        """The means."""
        return self._rate

    @property
    def log_rate(self) -> Tensor:
        """The logarithms of the means."""
        return self._log_rate

    def _log_prob(self, value: Tensor) -> Tensor:
        x = self._valid(value)
        return x * self.log_rate - lgamma(1.0 + x) - self.rate

    def _cdf(self, value: Tensor) -> Tensor:
        return igammac(1.0 + self._valid(value), self.rate)

    def _mean(self) -> Tensor:
        return array.identity(self.rate)

    def _variance(self) -> Tensor:
        return array.identity(self.rate)

    def _mode(self) -> Tensor:
        return elementwise.floor(self.rate)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return random_poisson(self.rate, [n], dtype=self.dtype, seed=seed)

    def _valid(self, value: Tensor) -> Tensor:
        return checks.counts(value) if self.validate_args else value


def _floating(value: Any, name: str) -> Tensor:
    found = convert_to_tensor(value, name=name)
    if not found.dtype.is_floating:
        raise TypeError(f"{name}.dtype ({found.dtype.name}) is a not a float-type.")
    return found
