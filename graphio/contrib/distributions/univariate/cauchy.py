"""The Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphio.distributions.location_scale import LocationScale
from graphio.framework.graph import Tensor
from graphio.ops.math import elementwise
from graphio.ops.random.core import random_uniform

__all__ = ["Cauchy"]


class Cauchy(LocationScale):
    """The Cauchy distribution: density 1 / (pi scale (1 + ((x - loc) / scale)^2)).

    Args:
        loc: floating tensor, the positions.
        scale: floating tensor, the widths, above 0; broadcasts with loc.
        validate_args: True: a run fails if a scale is not above 0.
        allow_nan_stats: True: mean, stddev and variance are nan. False: they are a ValueError.
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
        name: str = "Cauchy",
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return self._quantile(random_uniform(self._drawn_shape(n), dtype=self.dtype, seed=seed))

    def _log_prob(self, value: Tensor) -> Tensor:
        powers = elementwise.log1p(elementwise.square(self._z(value)))
        return -powers - math.log(math.pi) - elementwise.log(self.scale)

    def _cdf(self, value: Tensor) -> Tensor:
        return elementwise.atan(self._z(value)) / math.pi + 0.5

    def _log_cdf(self, value: Tensor) -> Tensor:
        twice = 2.0 / math.pi * elementwise.atan(self._z(value))
        return elementwise.log1p(twice) - math.log(2.0)

    def _entropy(self) -> Tensor:
        return math.log(4.0 * math.pi) + elementwise.log(self._scales())

    def _quantile(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * elementwise.tan(math.pi * (value - 0.5))

    def _mode(self) -> Tensor:
        return self._locs()

    def _mean(self) -> Tensor:
        return self._undefined("mean")

    def _stddev(self) -> Tensor:
        return self._undefined("stddev")

    def _undefined(self, what: str) -> Tensor:
        if not self.allow_nan_stats:
            raise ValueError(f"`{what}` is undefined for Cauchy distribution.")
        return self._everywhere(np.nan)
