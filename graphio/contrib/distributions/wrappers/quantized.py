"""A distribution's samples, rounded up to whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.distributions import checks
from graphio.distributions.distribution import Distribution
from graphio.distributions.reparameterization import NOT_REPARAMETERIZED
from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.array.shaping import where_v2
from graphio.ops.checks.assert_types import assert_same_float_dtype
from graphio.ops.checks.asserts import assert_less
from graphio.ops.control_flow.branches import with_dependencies
from graphio.ops.math import elementwise

__all__ = ["QuantizedDistribution"]


class QuantizedDistribution(Distribution):
    """The whole numbers at or above samples of a distribution, within bounds.

    Args:
        distribution: of numbers; it gives cdf or survival_function.
        low: floating tensor, the minimum; None: there is none.
        high: floating tensor, the largest; None: there is none.
        validate_args: True: a run fails if a bound or a value is not an integer, or low is not
            below high.
        name: of the scope of its operations.

    Raises:
        ValueError: dtypes differ.
    """

    def __init__(
        self,
        distribution: Distribution,
        low: Any = None,
        high: Any = None,
        validate_args: bool = False,
        name: str = "QuantizedDistribution",
    ) -> None:
        parameters = dict(locals())
        self._distribution = distribution
        with scopes.name_scope(name) as entered:
            bounds = [
                None if value is None else convert_to_tensor(value, name=label)
                for value, label in ((low, "low"), (high, "high"))
            ]
            assert_same_float_dtype([distribution, *bounds])
            if validate_args:
                bounds = _valid_bounds(*bounds)
        self._low, self._high = bounds
        super().__init__(
            dtype=distribution.dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=distribution.allow_nan_stats,
            parameters=parameters,
            graph_parents=[*distribution._graph_parents, *(b for b in bounds if b is not None)],
            name=entered,
        )

    @property
    def distribution(self) -> Distribution:
        """The distribution whose samples are rounded."""
        return self._distribution

    @property
    def low(self) -> Tensor | None:
        """The minimum."""
        return self._low

    @property
    def high(self) -> Tensor | None:
        """The largest of the numbers."""
        return self._high

    def _batch_shape_tensor(self) -> Tensor:
        return self.distribution.batch_shape_tensor()

    def _batch_shape(self) -> Any:
        return self.distribution.batch_shape

    def _event_shape_tensor(self) -> Tensor:
        return self.distribution.event_shape_tensor()

    def _event_shape(self) -> Any:
        return self.distribution.event_shape

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        with scopes.name_scope("transform"):
            drawn = elementwise.ceil(self.distribution.sample(n, seed=seed))
            if self._low is not None:
                drawn = elementwise.maximum(drawn, self._low)
            return drawn if self._high is None else elementwise.minimum(drawn, self._high)

    def _log_prob(self, value: Tensor) -> Tensor:
        y = self._whole(value)
        below, before = self.log_cdf(y), self.log_cdf(y - 1.0)
        try:
            above, after = self.log_survival_function(y - 1.0), self.log_survival_function(y)
        except NotImplementedError:
            return _log_difference(below, before)
        # the side with less of the distribution loses fewer digits
        by_above = after < below
        return _log_difference(where_v2(by_above, above, below), where_v2(by_above, after, before))

    def _prob(self, value: Tensor) -> Tensor:
        y = self._whole(value)
        below, before = self.cdf(y), self.cdf(y - 1.0)
        try:
            above, after = self.survival_function(y - 1.0), self.survival_function(y)
        except NotImplementedError:
            return below - before
        return where_v2(after < below, above - after, below - before)

    def _log_cdf(self, value: Tensor) -> Tensor:
        j = elementwise.floor(value)
        return self._bounded(j, self.distribution.log_cdf(j), -np.inf, 0.0)

    def _cdf(self, value: Tensor) -> Tensor:
        j = elementwise.floor(value)
        return self._bounded(j, self.distribution.cdf(j), 0.0, 1.0)

    def _log_survival_function(self, value: Tensor) -> Tensor:
        j = elementwise.ceil(value)
        return self._bounded(j, self.distribution.log_survival_function(j), 0.0, -np.inf)

    def _survival_function(self, value: Tensor) -> Tensor:
        j = elementwise.ceil(value)
        return self._bounded(j, self.distribution.survival_function(j), 1.0, 0.0)

    def _bounded(self, j: Tensor, share: Tensor, below: float, above: float) -> Tensor:
        """A share at j, with its values outside of the bounds."""
        ones = array.ones_like(share)
        if self._low is not None:
            share = where_v2(j < self._low, below * ones, share)
        if self._high is not None:
            share = where_v2(j >= self._high, above * ones, share)
        return share

    def _whole(self, value: Tensor) -> Tensor:
        return _whole(value) if self.validate_args else value


def _valid_bounds(low: Tensor | None, high: Tensor | None) -> list[Tensor | None]:
    needed = []
    if low is not None and high is not None:
        words = "low must be strictly less than high."
        needed.append(assert_less(low, high, message=words))
    with scopes.control_dependencies(needed):
        return [None if bound is None else _whole(bound) for bound in (low, high)]


def _whole(value: Tensor) -> Tensor:
    words = "value has non-integer components."
    check = checks.assert_integer_form(value, message=words)
    found: Tensor = with_dependencies([check], value)
    return found


def _log_difference(large: Tensor, small: Tensor) -> Tensor:
    """log(exp(large) - exp(small))."""
    return elementwise.log(1.0 - elementwise.exp(small - large)) + large
