"""Batch renormalisation (Ioffe 2017): corrections that let a batch be normalised like inference."""

from __future__ import annotations

from typing import Any

from graphio.framework import scopes
from graphio.framework.graph import Tensor
from graphio.layers.core import chosen
from graphio.ops.array import reshaping
from graphio.ops.array import surface as array
from graphio.ops.base import emit
from graphio.ops.math import elementwise
from graphio.variables import initializers

__all__ = ["Renorm"]

_LIMITS = ("rmax", "rmin", "dmax")


class Renorm:
    """The averages of a BatchNormalization layer's moments, and what they correct.

    Args:
        clipping: None, or a dictionary of rmin, rmax (limits of the factor r) and dmax (limit of
            the size of the summand d).
        momentum: what an average keeps of itself in an update.
        epsilon: added to the variance before its root is taken.

    Raises:
        ValueError: clipping has another key.
    """

    def __init__(self, clipping: Any, momentum: float, epsilon: float) -> None:
        self._clipping = dict(clipping or {})
        if strange := sorted(set(self._clipping) - set(_LIMITS)):
            raise ValueError(
                f"renorm_clipping {self._clipping} contains keys not in {list(_LIMITS)}: {strange}"
            )
        self._momentum, self._epsilon = momentum, epsilon

    def build(self, layer: Any, shape: list[int], kind: Any) -> None:
        """Makes the layer's variables renorm_mean, renorm_stddev, and the weight of each."""
        for name in ("renorm_mean", "renorm_stddev"):
            for made, dims in ((name, shape), (f"{name}_weight", [])):
                zeros = initializers.zeros_initializer()
                setattr(layer, made, layer.add_weight(made, dims, kind, zeros, None, False))
        # A weight is what the average lacks of 0, its first value, so it takes the bias out.
        self._mean = (layer.renorm_mean, layer.renorm_mean_weight)
        self._stddev = (layer.renorm_stddev, layer.renorm_stddev_weight)

    def corrections(
        self, mean: Tensor, variance: Tensor, training: Any
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The factor, the summand, and the mean and variance that the moving ones follow.

        Factor and summand are 1 and 0 in a run that does not train, and constants in gradients.
        """
        stddev = elementwise.sqrt(elementwise.add(variance, self._epsilon))
        mixed_mean, mixed_stddev = _mixed(self._mean, mean), _mixed(self._stddev, stddev)
        r = elementwise.truediv(stddev, mixed_stddev)
        d = elementwise.truediv(elementwise.subtract(mean, mixed_mean), mixed_stddev)
        limits = self._clipping
        r = _clipped(r, limits.get("rmin"), limits.get("rmax"))
        if limits.get("dmax") is not None:
            d = _clipped(d, -limits["dmax"], limits["dmax"])
        r = chosen(training, lambda: r, lambda: array.ones_like(r))
        d = chosen(training, lambda: d, lambda: array.zeros_like(d))
        new_mean = self._followed(self._mean, mean, training)
        new_stddev = self._followed(self._stddev, stddev, training)
        new_variance = elementwise.subtract(elementwise.square(new_stddev), self._epsilon)
        stop = reshaping.stop_gradient
        return stop(r, "renorm_r"), stop(d, "renorm_d"), new_mean, new_variance

    def _followed(self, average: Any, value: Tensor, training: Any) -> Tensor:
        """The average without its bias after the update, which changes nothing unless training."""
        kind = value.dtype
        share = chosen(
            training,
            lambda: emit.scalar(1.0 - self._momentum, kind),
            lambda: emit.scalar(0, kind),
        )
        updated = []
        for variable, new in zip(average, (value, emit.scalar(1, kind)), strict=True):
            with scopes.name_scope("AssignMovingAvg"):
                step = elementwise.multiply(elementwise.subtract(variable.read_value(), new), share)
                updated.append(variable.assign_sub(step))
        total, weight = updated
        result: Tensor = chosen(
            training, lambda: elementwise.truediv(total, weight), lambda: array.identity(total)
        )
        return result


def _mixed(average: Any, value: Tensor) -> Tensor:
    """The average, with the batch's own value for as much as its weight lacks of 1."""
    variable, weight = average
    lacking = elementwise.subtract(emit.scalar(1, value.dtype), weight)
    return elementwise.add(variable, elementwise.multiply(lacking, value))


def _clipped(value: Tensor, least: Any, most: Any) -> Tensor:
    if least is not None:
        value = elementwise.maximum(value, least)
    return value if most is None else elementwise.minimum(value, most)
