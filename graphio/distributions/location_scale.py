"""Distributions of loc + scale z, for z of a distribution without parameters."""

from __future__ import annotations

from typing import Any

from graphio.distributions.reparameterization import FULLY_REPARAMETERIZED
from graphio.distributions.scalar import ScalarDistribution, parameter_shapes, same_floats
from graphio.framework import scopes
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.checks.asserts import assert_positive

__all__ = ["LocationScale"]


class LocationScale(ScalarDistribution):
    """A distribution of numbers with a position and a width.

    Args:
        loc: floating tensor, the positions.
        scale: floating tensor, the widths, above 0; broadcasts with loc.
        validate_args: True: a run fails if a scale is not above 0.
        allow_nan_stats: whether statistics that do not exist are nan.
        name: of the scope of its operations.

    Raises:
        ValueError: dtypes differ, or are not floating.
    """

    _PARAMETERS = ("loc", "scale")

    def __init__(
        self, loc: Any, scale: Any, validate_args: bool, allow_nan_stats: bool, name: str
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name, values=[loc, scale]) as entered:
            checks = [assert_positive(scale)] if validate_args else []
            with scopes.control_dependencies(checks):
                self._loc, self._scale = same_floats(loc=loc, scale=scale)
        super().__init__(
            dtype=self._scale.dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._loc, self._scale],
            name=entered,
        )

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Tensor]:
        return parameter_shapes(sample_shape, "loc", "scale")

    @property
    def loc(self) -> Tensor:
        """The positions."""
        return self._loc

    @property
    def scale(self) -> Tensor:
        """The widths."""
        return self._scale

    def _locs(self) -> Tensor:
        """The position of each distribution of the batch."""
        return self.loc + array.zeros_like(self.scale)

    def _scales(self) -> Tensor:
        """The width of each distribution of the batch."""
        return self.scale + array.zeros_like(self.loc)

    def _z(self, value: Tensor) -> Tensor:
        """value as a number of widths from the position."""
        with scopes.name_scope("standardize", values=[value]):
            return (value - self.loc) / self.scale
