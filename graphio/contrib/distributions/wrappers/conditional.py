"""Distributions whose methods take further arguments."""

from __future__ import annotations

from typing import Any

from graphio.distributions.distribution import Distribution
from graphio.framework import api_boundary
from graphio.framework.graph import Tensor

__all__ = ["ConditionalDistribution"]


class ConditionalDistribution(Distribution):
    """A distribution whose methods give their further arguments to those with an underscore."""

    @api_boundary.rolling_back
    def sample(
        self, sample_shape: Any = (), seed: int | None = None, name: str = "sample", **options: Any
    ) -> Any:
        """As Distribution.sample; _sample_n gets the options."""
        return self._call_sample_n(sample_shape, seed, name, **options)

    @api_boundary.rolling_back
    def log_prob(self, value: Any, name: str = "log_prob", **options: Any) -> Tensor:
        """As Distribution.log_prob; _log_prob gets the options."""
        return self._call_log_prob(value, name, **options)

    @api_boundary.rolling_back
    def prob(self, value: Any, name: str = "prob", **options: Any) -> Tensor:
        """As Distribution.prob; _prob gets the options."""
        return self._call_prob(value, name, **options)

    @api_boundary.rolling_back
    def log_cdf(self, value: Any, name: str = "log_cdf", **options: Any) -> Tensor:
        """As Distribution.log_cdf; _log_cdf gets the options."""
        return self._call_log_cdf(value, name, **options)

    @api_boundary.rolling_back
    def cdf(self, value: Any, name: str = "cdf", **options: Any) -> Tensor:
        """As Distribution.cdf; _cdf gets the options."""
        return self._call_cdf(value, name, **options)

    @api_boundary.rolling_back
    def log_survival_function(
        self, value: Any, name: str = "log_survival_function", **options: Any
    ) -> Tensor:
        """As Distribution.log_survival_function; _log_survival_function gets the options."""
        return self._call_log_survival_function(value, name, **options)

    @api_boundary.rolling_back
    def survival_function(
        self, value: Any, name: str = "survival_function", **options: Any
    ) -> Tensor:
        """As Distribution.survival_function; _survival_function gets the options."""
        return self._call_survival_function(value, name, **options)
