"""The uniform distribution."""

from __future__ import annotations

import math
from typing import Any

from graphio.distributions.reparameterization import FULLY_REPARAMETERIZED
from graphio.distributions.scalar import ScalarDistribution, parameter_shapes, same_floats
from graphio.framework import scopes
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.array.shaping import where_v2
from graphio.ops.checks.asserts import assert_less
from graphio.ops.math import elementwise
from graphio.ops.random.core import random_uniform

__all__ = ["Uniform"]


class Uniform(ScalarDistribution):
    """The uniform distribution: density 1 / (high - low) for x in [low, high).

    Args:
        low: floating tensor.
        high: floating tensor, above low; broadcasts with it.
        validate_args: True: a run fails if low is not below high.
        allow_nan_stats: without effect, all statistics exist.
        name: of the scope of its operations.

    Raises:
        ValueError: dtypes differ, or are not floating.
    """

    _PARAMETERS = ("low", "high")

    def __init__(
        self,
        low: Any = 0.0,
        high: Any = 1.0,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Uniform",
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name, values=[low, high]) as entered:
            words = "uniform not defined when low >= high."
            checks = [assert_less(low, high, message=words)] if validate_args else []
            with scopes.control_dependencies(checks):
                self._low, self._high = same_floats(low=low, high=high)
        super().__init__(
            dtype=self._low.dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._low, self._high],
            name=entered,
        )

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Tensor]:
        return parameter_shapes(sample_shape, "low", "high")

    @property
    def low(self) -> Tensor:
        """The lower bounds."""
        return self._low

    @property
    def high(self) -> Tensor:
        """The upper bounds."""
        return self._high

    def range(self, name: str = "range") -> Tensor:
        """high - low."""
        with self._name_scope(name):
            return self.high - self.low

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        uniform = random_uniform(self._drawn_shape(n), dtype=self.dtype, seed=seed)
        return self.low + self.range() * uniform

    def _prob(self, value: Tensor) -> Tensor:
        x = value * array.ones(self.batch_shape_tensor(), value.dtype)
        outside = (x < self.low) | (x >= self.high)
        density = where_v2(outside, array.zeros_like(x), array.ones_like(x) / self.range())
        return where_v2(elementwise.is_nan(x), x, density)

    def _cdf(self, value: Tensor) -> Tensor:
        x = value * array.ones(self.batch_shape_tensor(), value.dtype)
        share = where_v2(x < self.low, array.zeros_like(x), (x - self.low) / self.range())
        return where_v2(x >= self.high, array.ones_like(x), share)

    def _entropy(self) -> Tensor:
        return elementwise.log(self.range())

    def _mean(self) -> Tensor:
        return (self.low + self.high) / 2.0

    def _variance(self) -> Tensor:
        return elementwise.square(self.range()) / 12.0

    def _stddev(self) -> Tensor:
        return self.range() / math.sqrt(12.0)
