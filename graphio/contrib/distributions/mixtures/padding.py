"""Axes of size 1 for sums over the components of mixtures."""

from __future__ import annotations

from typing import Any

from graphio.distributions.distribution import Distribution
from graphio.framework import dtypes, scopes
from graphio.ops.array import surface as array
from graphio.ops.math import elementwise

__all__ = ["pad_mixture_dimensions"]


def _rank(distribution: Distribution) -> Any:
    known = distribution.batch_shape.ndims
    return array.size(distribution.batch_shape_tensor()) if known is None else known


def pad_mixture_dimensions(
    x: Any, mixture: Distribution, categorical: Distribution, event_ndims: Any
) -> Any:
    """Numbers of classes (..., k) with axes of 1 that fit samples of the components.

    Args:
        x: tensor (samples, batch of the categorical one, k).
        mixture: the mixture.
        categorical: the distribution over its components.
        event_ndims: the number of axes of an event.

    Returns:
        (samples, batch of the mixture, k, ones for events).
    """
    with scopes.name_scope("pad_mix_dims", values=[x]):
        more = _rank(mixture) - _rank(categorical)
        sizes = array.shape(x)
        ones = [
            array.ones([elementwise.cast(n, "int32")], dtypes.int32) for n in (more, event_ndims)
        ]
        return array.reshape(x, array.concat([sizes[:-1], ones[0], sizes[-1:], ones[1]], 0))
