"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any

from graphio.distributions import checks
from graphio.distributions.parameters import WithOdds, another_seed, logits_and_probs
from graphio.distributions.reparameterization import NOT_REPARAMETERIZED
from graphio.distributions.scalar import ScalarDistribution
from graphio.framework import scopes
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.checks.asserts import assert_positive
from graphio.ops.math import elementwise
from graphio.ops.math.incomplete import betainc
from graphio.ops.math.special import lgamma
from graphio.ops.random.more import random_gamma, random_poisson

__all__ = ["NegativeBinomial"]


class NegativeBinomial(WithOdds, ScalarDistribution):
    """How many draws of a Bernoulli distribution are 1 before the total_count-th 0.

    Args:
        total_count: floating tensor, above 0.
        logits: floating tensor, log(p / (1 - p)); broadcasts with total_count.
        probs: floating tensor, p; instead of logits.
        validate_args: True: a run fails if a parameter is invalid, or a value negative or not
            an integer.
        allow_nan_stats: without effect, all statistics exist.
        name: of the scope of its operations.

    Raises:
        ValueError: logits and probs are given, or neither.
        TypeError: they are not floating.
    """

    _PARAMETERS = ("total_count", "probs")

    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "NegativeBinomial",
    ) -> None:
        parameters = dict(locals())
        given = [each for each in (total_count, logits, probs) if each is not None]
        with scopes.name_scope(name, values=given) as entered:
            self._logits, self._probs = logits_and_probs(
                logits, probs, validate_args=validate_args, name=entered
            )
            needed = [assert_positive(total_count)] if validate_args else []
            with scopes.control_dependencies(needed):
                self._total_count = array.identity(total_count)
        super().__init__(
            dtype=self._probs.dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._total_count, self._probs, self._logits],
            name=entered,
        )

    @property
    def total_count(self) -> Tensor:
        """The numbers of 0 that end the draws."""
        return self._total_count

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        inverse = elementwise.exp(-self.logits)
        rate = random_gamma([n], self.total_count, inverse, dtype=self.dtype, seed=seed)
        return random_poisson(rate, [], self.dtype, another_seed(seed, "negative_binom"))

    def _cdf(self, value: Tensor) -> Tensor:
        other = elementwise.sigmoid(-self.logits)
        return betainc(self.total_count, 1.0 + self._valid(value), other)

    def _log_prob(self, value: Tensor) -> Tensor:
        x, n = self._valid(value), self.total_count
        zeros = n * elementwise.log_sigmoid(-self.logits)
        ones = x * elementwise.log_sigmoid(self.logits)
        return zeros + ones + lgamma(n + x) - lgamma(1.0 + x) - lgamma(n)

    def _mean(self) -> Tensor:
        return self.total_count * elementwise.exp(self.logits)

    def _mode(self) -> Tensor:
        count = elementwise.maximum(self.total_count - 1.0, 0.0)
        return elementwise.floor(count * elementwise.exp(self.logits))

    def _variance(self) -> Tensor:
        return self._mean() / elementwise.sigmoid(-self.logits)

    def _valid(self, value: Tensor) -> Tensor:
        return checks.counts(value) if self.validate_args else value
