"""Distributions whose parameters are functions of the sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphio.distributions.distribution import Distribution
from graphio.distributions.parameters import another_seed
from graphio.framework import scopes
from graphio.framework.graph import Tensor

__all__ = ["Autoregressive"]


class Autoregressive(Distribution):
    """A distribution of vectors of which each number depends on those before it.

    Args:
        distribution_fn: function from a vector to a distribution of vectors, of which number i
            depends on the vector's numbers before i; it is called without one if sample0 is None.
        sample0: the vector of the first call.
        num_steps: how often a sample goes through the function; None: as often as it has numbers.
        validate_args: of the distribution.
        allow_nan_stats: of the distribution.
        name: of the scope of its operations.

    Raises:
        ValueError: num_steps is None and the event's shape is not known, or it is below 1.
    """

    def __init__(
        self,
        distribution_fn: Callable[..., Distribution],
        sample0: Any = None,
        num_steps: int | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Autoregressive",
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name) as entered:
            self._distribution_fn, self._sample0 = distribution_fn, sample0
            given = () if sample0 is None else (sample0,)
            self._distribution0 = distribution_fn(*given)
            steps = num_steps
            if steps is None:
                steps = self._distribution0.event_shape.num_elements()
            if steps is None:
                raise ValueError(
                    "distribution_fn must generate a distribution with fully known `event_shape`."
                )
            if steps < 1:
                raise ValueError(f"num_steps ({steps}) must be at least 1.")
            self._num_steps = steps
        super().__init__(
            dtype=self._distribution0.dtype,
            reparameterization_type=self._distribution0.reparameterization_type,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=self._distribution0._graph_parents,
            name=entered,
        )

    @property
    def distribution_fn(self) -> Callable[..., Distribution]:
        """The function from a vector to a distribution."""
        return self._distribution_fn

    @property
    def sample0(self) -> Any:
        """The vector of the first call."""
        return self._sample0

    @property
    def num_steps(self) -> int:
        """How often a sample goes through the function."""
        return self._num_steps

    @property
    def distribution0(self) -> Distribution:
        """The function's distribution for sample0."""
        return self._distribution0

    def _batch_shape(self) -> Any:
        return self.distribution0.batch_shape

    def _batch_shape_tensor(self) -> Tensor:
        return self.distribution0.batch_shape_tensor()

    def _event_shape(self) -> Any:
        return self.distribution0.event_shape

    def _event_shape_tensor(self) -> Tensor:
        return self.distribution0.event_shape_tensor()

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        if seed is None:  # every step draws the same noise
            seed = another_seed(int(np.random.randint(2**31 - 1)), "autoregressive")
        drawn: Tensor = self.distribution0.sample(n, seed=seed)
        for _ in range(self._num_steps):
            drawn = self.distribution_fn(drawn).sample(seed=seed)
        return drawn

    def _log_prob(self, value: Tensor) -> Tensor:
        return self.distribution_fn(value).log_prob(value)

    def _prob(self, value: Tensor) -> Tensor:
        return self.distribution_fn(value).prob(value)
