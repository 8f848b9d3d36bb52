"""The beta distribution."""

from __future__ import annotations

from typing import Any

from graphio.distributions import checks
from graphio.distributions.divergence import RegisterKL
from graphio.distributions.parameters import another_seed
from graphio.distributions.reparameterization import FULLY_REPARAMETERIZED
from graphio.distributions.scalar import ScalarDistribution, parameter_shapes
from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.checks.assert_types import assert_same_float_dtype
from graphio.ops.checks.asserts import assert_less, assert_positive
from graphio.ops.control_flow.branches import with_dependencies
from graphio.ops.math import elementwise
from graphio.ops.math.arithmetic import xlogy
from graphio.ops.math.incomplete import betainc
from graphio.ops.math.special import digamma, lgamma
from graphio.ops.random.more import random_gamma

__all__ = ["Beta"]

_POSITIVE = "Concentration parameter must be positive."


class Beta(ScalarDistribution):
    """The beta distribution: density x^(concentration1 - 1) (1 - x)^(concentration0 - 1),
    normalized, for x from 0 to 1.

    Args:
        concentration1: floating tensor, above 0; the weight of 1.
        concentration0: floating tensor, above 0; the weight of 0. Broadcasts with concentration1.
        validate_args: True: a run fails if a parameter is not above 0, or a value not between 0
            and 1.
        allow_nan_stats: True: the mode is nan where a parameter is at most 1. False: its run
            fails.
        name: of the scope of its operations.

    Raises:
        ValueError: dtypes differ, or are not floating.
    """

    _PARAMETERS = ("total_concentration",)

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Beta",
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name, values=[concentration1, concentration0]) as entered:
            one = convert_to_tensor(concentration1, name="concentration1")
            zero = convert_to_tensor(concentration0, name="concentration0")
            self._concentration1 = checks.positive(one, validate_args, _POSITIVE)
            self._concentration0 = checks.positive(zero, validate_args, _POSITIVE)
            assert_same_float_dtype([self._concentration1, self._concentration0])
            self._total_concentration = self._concentration1 + self._concentration0
        super().__init__(
            dtype=self._total_concentration.dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._concentration1, self._concentration0, self._total_concentration],
            name=entered,
        )

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Tensor]:
        return parameter_shapes(sample_shape, "concentration1", "concentration0")

    @property
    def concentration1(self) -> Tensor:
        """The weight of 1."""
        return self._concentration1

    @property
    def concentration0(self) -> Tensor:
        """The weight of 0."""
        return self._concentration0

    @property
    def total_concentration(self) -> Tensor:
        """The sum of both."""
        return self._total_concentration

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        ones = array.ones_like(self.total_concentration)
        one = random_gamma([n], ones * self.concentration1, dtype=self.dtype, seed=seed)
        other = another_seed(seed, "beta")
        zero = random_gamma([n], ones * self.concentration0, dtype=self.dtype, seed=other)
        return one / (one + zero)

    def _log_prob(self, value: Tensor) -> Tensor:
        x = self._valid(value)
        one = xlogy(self.concentration1 - 1.0, x)
        zero = (self.concentration0 - 1.0) * elementwise.log1p(-x)
        return one + zero - self._log_normalization()

    def _log_normalization(self) -> Tensor:
        parts = lgamma(self.concentration1) + lgamma(self.concentration0)
        return parts - lgamma(self.total_concentration)

    def _cdf(self, value: Tensor) -> Tensor:
        return betainc(self.concentration1, self.concentration0, value)

    def _entropy(self) -> Tensor:
        one, zero, total = self.concentration1, self.concentration0, self.total_concentration
        parts = (one - 1.0) * digamma(one) + (zero - 1.0) * digamma(zero)
        return self._log_normalization() - parts + (total - 2.0) * digamma(total)

    def _mean(self) -> Tensor:
        return self.concentration1 / self.total_concentration

    def _variance(self) -> Tensor:
        mean = self._mean()
        return mean * (1.0 - mean) / (1.0 + self.total_concentration)

    def _mode(self) -> Tensor:
        mode = (self.concentration1 - 1.0) / (self.total_concentration - 2.0)
        return checks.defined(
            mode,
            self.allow_nan_stats,
            (self.concentration1, 1.0, "Mode undefined for concentration1 <= 1."),
            (self.concentration0, 1.0, "Mode undefined for concentration0 <= 1."),
        )

    def _valid(self, value: Tensor) -> Tensor:
        if not self.validate_args:
            return value
        one = array.ones([], self.dtype)
        found: Tensor = with_dependencies(
            [
                assert_positive(value, message="sample must be positive"),
                assert_less(value, one, message="sample must be less than `1`."),
            ],
            value,
        )
        return found


@RegisterKL(Beta, Beta)
def _divergence(a: Beta, b: Beta, name: str | None = None) -> Tensor:
    values = [
        a.concentration1, a.concentration0, a.total_concentration,
        b.concentration1, b.concentration0, b.total_concentration,
    ]  # fmt: skip
    with scopes.name_scope(name, "kl_beta_beta", values=values):
        found = b._log_normalization() - a._log_normalization()
        for mine, its in zip(values[:2], values[3:5], strict=True):
            found = found - digamma(mine) * (its - mine)
        total = a.total_concentration
        return found + digamma(total) * (b.total_concentration - total)
