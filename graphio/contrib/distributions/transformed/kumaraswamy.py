"""Kumaraswamy's distribution."""

from __future__ import annotations

from typing import Any

from graphio.contrib.distributions import bijectors
from graphio.contrib.distributions.transformed.transformed import TransformedDistribution
from graphio.distributions import checks, shapes
from graphio.distributions.reparameterization import FULLY_REPARAMETERIZED
from graphio.distributions.uniform import Uniform
from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.math import elementwise
from graphio.ops.math.special import digamma, lgamma

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """The distribution of numbers from 0 to 1 of which the share 1 - (1 - x^a)^b is below x.

    Args:
        concentration1: a, floating tensor, above 0.
        concentration0: b, floating tensor, above 0; broadcasts with a.
        validate_args: True: a run fails if a parameter or a value is invalid.
        allow_nan_stats: True: the mode is nan where a parameter is at most 1. False: its run
            fails.
        name: of the scope of its operations.
    """

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Kumaraswamy",
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name, values=[concentration1, concentration0]) as entered:
            one = convert_to_tensor(concentration1, name="concentration1")
            zero = convert_to_tensor(concentration0, name="concentration0")
            known = shapes.broadcast_shape(one, zero)
            batch = (
                known.as_list()
                if known.is_fully_defined()
                else shapes.broadcast_shape_tensor(one, zero)
            )
            unit = Uniform(
                array.zeros([], one.dtype),
                array.ones([], one.dtype),
                allow_nan_stats=allow_nan_stats,
            )
        super().__init__(
            unit,
            bijectors.Kumaraswamy(one, zero, validate_args=validate_args),
            batch_shape=batch,
            name=entered,
        )
        self._parameters = parameters
        self._reparameterization_type = FULLY_REPARAMETERIZED

    @property
    def concentration1(self) -> Tensor:
        """a."""
        found: Tensor = self.bijector.concentration1
        return found

    @property
    def concentration0(self) -> Tensor:
        """b."""
        found: Tensor = self.bijector.concentration0
        return found

    def _entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = digamma(b + 1.0) - digamma(array.ones([], b.dtype))
        # TensorFlow 1.15 swaps a and b and has another sign, against the definition
        logarithms = elementwise.log(a) + elementwise.log(b)
        return 1.0 - 1.0 / b + (1.0 - 1.0 / a) * harmonic - logarithms

    def _moment(self, n: float) -> Tensor:
        """The mean of x^n."""
        a, b = self.concentration1, self.concentration0
        power = 1.0 + n / a
        return elementwise.exp(elementwise.log(b) + lgamma(power) + lgamma(b) - lgamma(power + b))

    def _mean(self) -> Tensor:
        return self._moment(1.0)

    def _variance(self) -> Tensor:
        return self._moment(2.0) - elementwise.square(self._moment(1.0))

    def _mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return checks.defined(
            elementwise.pow((a - 1.0) / (a * b - 1.0), 1.0 / a),
            self.allow_nan_stats,
            (a, 1.0, "Mode undefined for concentration1 <= 1."),
            (b, 1.0, "Mode undefined for concentration0 <= 1."),
        )
