"""The exponential distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.distributions.gamma import Gamma
from graphio.distributions.scalar import parameter_shapes
from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.math import elementwise
from graphio.ops.random.core import random_uniform

__all__ = ["Exponential"]


class Exponential(Gamma):
    """The exponential distribution: density rate exp(-rate x) for x > 0.

    Args:
        rate: floating tensor, 1 / mean, above 0.
        validate_args: True: a run fails if a rate or a value is not above 0.
        allow_nan_stats: as that of Gamma.
        name: of the scope of its operations.

    Raises:
        ValueError: rate is not floating.
    """

    def __init__(
        self,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Exponential",
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name, values=[rate]) as entered:
            given = convert_to_tensor(rate, name="rate")
        super().__init__(
            concentration=array.ones([], dtype=given.dtype),
            rate=given,
            allow_nan_stats=allow_nan_stats,
            validate_args=validate_args,
            name=entered,
        )
        self._parameters = parameters

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Tensor]:
        return parameter_shapes(sample_shape, "rate")

    def _log_survival_function(self, value: Tensor) -> Tensor:
        return self._log_prob(value) - elementwise.log(self.rate)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        least = np.finfo(self.dtype.as_numpy_dtype).tiny  # the logarithm of 0 is infinite
        shape = array.concat([[n], array.shape(self.rate)], 0)
        uniform = random_uniform(shape, minval=least, maxval=1.0, seed=seed, dtype=self.dtype)
        return -elementwise.log(uniform) / self.rate
