"""Posteriors of the mean of a normal distribution whose deviation is known."""

from __future__ import annotations

from typing import Any

from graphio.distributions.normal import Normal
from graphio.framework.graph import Tensor
from graphio.ops.math import elementwise
from graphio.support import api_guard

__all__ = [
    "normal_conjugates_known_scale_posterior",
    "normal_conjugates_known_scale_predictive",
]


@api_guard.operator
def normal_conjugates_known_scale_posterior(prior: Normal, scale: Any, s: Any, n: Any) -> Normal:
    """The distribution of the mean after n observations.

    Args:
        prior: the distribution before them.
        scale: tensor, the deviation of an observation.
        s: tensor of prior's dtype, the sum of the observations.
        n: integer tensor, how many there are.

    Raises:
        TypeError: prior is not a Normal, or s has another dtype.
    """
    mean, variance, _ = _posterior(prior, scale, s, n)
    return Normal(loc=mean, scale=elementwise.sqrt(variance))


@api_guard.operator
def normal_conjugates_known_scale_predictive(prior: Normal, scale: Any, s: Any, n: Any) -> Normal:
    """The distribution of a further observation after n; see
    normal_conjugates_known_scale_posterior."""
    mean, variance, noise = _posterior(prior, scale, s, n)
    return Normal(loc=mean, scale=elementwise.sqrt(variance + noise))


def _posterior(prior: Normal, scale: Any, s: Any, n: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The mean, its variance, and that of an observation."""
    if not isinstance(prior, Normal):
        raise TypeError("Expected prior to be an instance of type Normal")
    if s.dtype != prior.dtype:
        raise TypeError(
            f"Observation sum s.dtype does not match prior dtype: {s.dtype} vs. {prior.dtype}"
        )
    before, noise = elementwise.square(prior.scale), elementwise.square(scale)
    variance = 1.0 / (1.0 / before + elementwise.cast(n, prior.dtype) / noise)
    return (prior.loc / before + s / noise) * variance, variance, noise
