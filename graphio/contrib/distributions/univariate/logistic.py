"""The logistic distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphio.distributions.location_scale import LocationScale
from graphio.framework.graph import Tensor
from graphio.ops.math import elementwise
from graphio.ops.nn.core import softplus
from graphio.ops.random.core import random_uniform

__all__ = ["Logistic"]


class Logistic(LocationScale):
    """The logistic distribution, of which the share below x is sigmoid((x - loc) / scale).

    Args:
        loc: floating tensor, the means.
        scale: floating tensor, the widths, above 0; broadcasts with loc.
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
        name: str = "Logistic",
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        least = np.finfo(self.dtype.as_numpy_dtype).tiny  # the logarithm of 0 is infinite
        uniform = random_uniform(
            self._drawn_shape(n), minval=least, maxval=1.0, dtype=self.dtype, seed=seed
        )
        odds = elementwise.log(uniform) - elementwise.log1p(-uniform)
        return odds * self.scale + self.loc

    def _log_prob(self, value: Tensor) -> Tensor:
        z = self._z(value)
        return -z - 2.0 * softplus(-z) - elementwise.log(self.scale)

    def _log_cdf(self, value: Tensor) -> Tensor:
        return -softplus(-self._z(value))

    def _cdf(self, value: Tensor) -> Tensor:
        return elementwise.sigmoid(self._z(value))

    def _log_survival_function(self, value: Tensor) -> Tensor:
        return -softplus(self._z(value))

    def _survival_function(self, value: Tensor) -> Tensor:
        return elementwise.sigmoid(-self._z(value))

    def _entropy(self) -> Tensor:
        return 2.0 + elementwise.log(self._scales())

    def _mean(self) -> Tensor:
        return self._locs()

    def _stddev(self) -> Tensor:
        return self._scales() * (math.pi / math.sqrt(3.0))

    def _mode(self) -> Tensor:
        return self._locs()
