"""The Laplace distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphio.distributions import special_math
from graphio.distributions.location_scale import LocationScale
from graphio.framework.graph import Tensor
from graphio.ops.math import elementwise
from graphio.ops.random.core import random_uniform

__all__ = ["Laplace"]


class Laplace(LocationScale):
    """The Laplace distribution: density exp(-|x - loc| / scale) / (2 scale).

    Args:
        loc: floating tensor, the means.
        scale: floating tensor, above 0; broadcasts with loc.
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
        name: str = "Laplace",
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        kind = self.dtype.as_numpy_dtype
        least = np.nextafter(kind(-1.0), kind(0.0))  # the logarithm of 1 - |-1| is infinite
        uniform = random_uniform(
            self._drawn_shape(n), minval=least, maxval=1.0, dtype=self.dtype, seed=seed
        )
        distance = elementwise.log1p(-elementwise.abs(uniform))
        return self.loc - self.scale * elementwise.sign(uniform) * distance

    def _log_prob(self, value: Tensor) -> Tensor:
        return -elementwise.abs(self._z(value)) - math.log(2.0) - elementwise.log(self.scale)

    def _prob(self, value: Tensor) -> Tensor:
        return elementwise.exp(self._log_prob(value))

    def _log_cdf(self, value: Tensor) -> Tensor:
        return special_math.log_cdf_laplace(self._z(value))

    def _log_survival_function(self, value: Tensor) -> Tensor:
        return special_math.log_cdf_laplace(-self._z(value))

    def _cdf(self, value: Tensor) -> Tensor:
        z = self._z(value)
        half = 1.0 - elementwise.exp(-elementwise.abs(z))
        return 0.5 + 0.5 * elementwise.sign(z) * half

    def _entropy(self) -> Tensor:
        return math.log(2.0) + 1.0 + elementwise.log(self._scales())

    def _mean(self) -> Tensor:
        return self._locs()

    def _stddev(self) -> Tensor:
        return math.sqrt(2.0) * self._scales()

    def _mode(self) -> Tensor:
        return self._mean()
