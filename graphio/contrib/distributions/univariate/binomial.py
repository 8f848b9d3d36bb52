"""The binomial distribution."""

from __future__ import annotations

from typing import Any

from graphio.distributions import checks
from graphio.distributions.parameters import WithOdds, logits_and_probs
from graphio.distributions.reparameterization import NOT_REPARAMETERIZED
from graphio.distributions.scalar import ScalarDistribution
from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.array.shaping import where_v2
from graphio.ops.checks.asserts import assert_less_equal, assert_non_negative
from graphio.ops.control_flow.branches import with_dependencies
from graphio.ops.math import comparison, elementwise
from graphio.ops.math.incomplete import betainc
from graphio.ops.math.special import lgamma

__all__ = ["Binomial"]


class Binomial(WithOdds, ScalarDistribution):
    """How often 1 is among total_count draws of a Bernoulli distribution.

    As in TensorFlow 1, it has no samples: sum those of a Bernoulli distribution.

    Args:
        total_count: floating tensor of integers.
        logits: floating tensor, log(p / (1 - p)); broadcasts with total_count.
        probs: floating tensor, p; instead of logits.
        validate_args: True: a run fails if a parameter is invalid, or a value not an integer,
            negative or above total_count.
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
        name: str = "Binomial",
    ) -> None:
        parameters = dict(locals())
        given = [each for each in (total_count, logits, probs) if each is not None]
        with scopes.name_scope(name, values=given) as entered:
            total = convert_to_tensor(total_count, name="total_count")
            self._total_count = _valid_total(total) if validate_args else total
            self._logits, self._probs = logits_and_probs(
                logits, probs, validate_args=validate_args, name=entered
            )
        super().__init__(
            dtype=self._probs.dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._total_count, self._logits, self._probs],
            name=entered,
        )

    @property
    def total_count(self) -> Tensor:
        """The numbers of draws."""
        return self._total_count

    def _log_prob(self, value: Tensor) -> Tensor:
        k, n = self._valid(value), self.total_count
        ways = lgamma(1.0 + n) - lgamma(1.0 + k) - lgamma(1.0 + n - k)
        ones = k * elementwise.log(self.probs)
        return ones + (n - k) * elementwise.log1p(-self.probs) + ways

    def _prob(self, value: Tensor) -> Tensor:
        return elementwise.exp(self._log_prob(value))

    def _cdf(self, value: Tensor) -> Tensor:
        k = self._valid(value) + array.zeros_like(self.probs)
        zeros = self.total_count - k
        certain = comparison.equal(zeros, 0.0)
        share = betainc(where_v2(certain, array.ones_like(zeros), zeros), k + 1.0, 1.0 - self.probs)
        return where_v2(certain, array.ones_like(share), share)

    def _mean(self) -> Tensor:
        return self.total_count * self.probs

    def _variance(self) -> Tensor:
        return self._mean() * (1.0 - self.probs)

    def _mode(self) -> Tensor:
        return elementwise.floor((1.0 + self.total_count) * self.probs)

    def _valid(self, value: Tensor) -> Tensor:
        if not self.validate_args:
            return value
        words = "counts are not less than or equal to n."
        most = assert_less_equal(value, self.total_count, message=words)
        found: Tensor = with_dependencies([most], checks.counts(value))
        return found


def _valid_total(total: Tensor) -> Tensor:
    words = "total_count cannot contain fractional components."
    needed = [
        assert_non_negative(total, message="total_count must be non-negative."),
        checks.assert_integer_form(total, message=words),
    ]
    found: Tensor = with_dependencies(needed, total)
    return found
