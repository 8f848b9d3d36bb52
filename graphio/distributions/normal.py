"""The normal distribution."""

from __future__ import annotations

import math
from typing import Any

from graphio.distributions import special_math
from graphio.distributions.divergence import RegisterKL
from graphio.distributions.location_scale import LocationScale
from graphio.framework import scopes
from graphio.framework.graph import Tensor
from graphio.ops.math import elementwise
from graphio.ops.random.core import random_normal

__all__ = ["Normal"]


class Normal(LocationScale):
    """The normal distribution: density exp(-((x - loc) / scale)^2 / 2) / (scale sqrt(2 pi)).

    Args:
        loc: floating tensor, the means.
        scale: floating tensor, the standard deviations, above 0; broadcasts with loc.
        validate_args: True: a run fails if a scale is not above 0.
        allow_nan_stats: without effect, all statistics exist.
        name: of the scope of its operations.

    Raises:
        ValueError: dtypes differ, or are not floating.
    """

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Normal",
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        drawn = random_normal(self._drawn_shape(n), dtype=self.dtype, seed=seed)
        return drawn * self.scale + self.loc

    def _log_prob(self, value: Tensor) -> Tensor:
        normalization = 0.5 * math.log(2.0 * math.pi) + elementwise.log(self.scale)
        return -0.5 * elementwise.square(self._z(value)) - normalization

    def _log_cdf(self, value: Tensor) -> Tensor:
        return special_math.log_ndtr(self._z(value))

    def _cdf(self, value: Tensor) -> Tensor:
        return special_math.ndtr(self._z(value))

    def _log_survival_function(self, value: Tensor) -> Tensor:
        return special_math.log_ndtr(-self._z(value))

    def _survival_function(self, value: Tensor) -> Tensor:
        return special_math.ndtr(-self._z(value))

    def _quantile(self, value: Tensor) -> Tensor:
        return special_math.ndtri(value) * self.scale + self.loc

    def _entropy(self) -> Tensor:
        return 0.5 * math.log(2.0 * math.pi * math.e) + elementwise.log(self._stddev())

    def _mean(self) -> Tensor:
        return self._locs()

    def _stddev(self) -> Tensor:
        return self._scales()

    def _mode(self) -> Tensor:
        return self._mean()


@RegisterKL(Normal, Normal)
def _divergence(a: Normal, b: Normal, name: str | None = None) -> Tensor:
    with scopes.name_scope(name, "kl_normal_normal", [a.loc, b.loc]):
        square = elementwise.square(b.scale)
        ratio = elementwise.square(a.scale) / square
        apart = elementwise.squared_difference(a.loc, b.loc) / (2.0 * square)
        return apart + 0.5 * (ratio - 1.0 - elementwise.log(ratio))
