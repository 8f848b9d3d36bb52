"""The half-normal distribution."""

from __future__ import annotations

import math
from typing import Any

from graphio.distributions import special_math
from graphio.distributions.reparameterization import FULLY_REPARAMETERIZED
from graphio.distributions.scalar import ScalarDistribution, parameter_shapes
from graphio.framework import scopes
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.checks.asserts import assert_positive
from graphio.ops.math import elementwise
from graphio.ops.math.error_function import erfc
from graphio.ops.nn.core import relu
from graphio.ops.random.core import random_normal

__all__ = ["HalfNormal"]


class HalfNormal(ScalarDistribution):
    """The distribution of |x| for x of Normal(0, scale).

    Args:
        scale: floating tensor, above 0.
        validate_args: True: a run fails if a scale is not above 0.
        allow_nan_stats: without effect, all statistics exist.
        name: of the scope of its operations.
    """

    _PARAMETERS = ("scale",)

    def __init__(
        self,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "HalfNormal",
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name, values=[scale]) as entered:
            checks = [assert_positive(scale)] if validate_args else []
            with scopes.control_dependencies(checks):
                self._scale = array.identity(scale, name="scale")
        super().__init__(
            dtype=self._scale.dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._scale],
            name=entered,
        )

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Tensor]:
        return parameter_shapes(sample_shape, "scale")

    @property
    def scale(self) -> Tensor:
        """The standard deviations of x."""
        return self._scale

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        drawn = random_normal(self._drawn_shape(n), dtype=self.dtype, seed=seed)
        return elementwise.abs(drawn * self.scale)

    def _prob(self, value: Tensor) -> Tensor:
        density = elementwise.exp(-0.5 * elementwise.square(value / self.scale))
        there = elementwise.cast(value >= 0.0, self.dtype)
        return math.sqrt(2.0 / math.pi) / self.scale * density * there

    def _cdf(self, value: Tensor) -> Tensor:
        return elementwise.erf(relu(value) / self.scale / math.sqrt(2.0))

    def _survival_function(self, value: Tensor) -> Tensor:
        return erfc(relu(value) / self.scale / math.sqrt(2.0))

    def _log_survival_function(self, value: Tensor) -> Tensor:
        return elementwise.log(self._survival_function(value))

    def _entropy(self) -> Tensor:
        return 0.5 * elementwise.log(math.pi * elementwise.square(self.scale) / 2.0) + 0.5

    def _mean(self) -> Tensor:
        return self.scale * math.sqrt(2.0 / math.pi)

    def _quantile(self, value: Tensor) -> Tensor:
        return math.sqrt(2.0) * self.scale * special_math.erfinv(value)

    def _mode(self) -> Tensor:
        return self._everywhere(0.0)

    def _variance(self) -> Tensor:
        return elementwise.square(self.scale) * (1.0 - 2.0 / math.pi)
