"""Distributions of numbers: an event has no axes, and the batch is that of the parameters."""

from __future__ import annotations

from typing import Any, ClassVar

from graphio.distributions import shapes
from graphio.distributions.distribution import Distribution
from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.array import surface as array
from graphio.ops.checks.assert_types import assert_same_float_dtype

__all__ = ["ScalarDistribution", "parameter_shapes", "same_floats"]


class ScalarDistribution(Distribution):
    """A distribution whose batch shape is its parameters' broadcast shape."""

    #: the properties that hold parameters which broadcast
    _PARAMETERS: ClassVar[tuple[str, ...]] = ()

    def _values(self) -> list[Tensor]:
        return [getattr(self, name) for name in self._PARAMETERS]

    def _batch_shape(self) -> TensorShape:
        return shapes.broadcast_shape(*self._values())

    def _batch_shape_tensor(self) -> Tensor:
        return shapes.broadcast_shape_tensor(*self._values())

    def _event_shape(self) -> TensorShape:
        return TensorShape([])

    def _event_shape_tensor(self) -> Tensor:
        return shapes.no_axes()

    def _drawn_shape(self, n: Any) -> Tensor:
        """The shape of n draws for each distribution of the batch."""
        return array.concat([[n], self.batch_shape_tensor()], 0)

    def _everywhere(self, number: float) -> Tensor:
        """A number for each distribution of the batch."""
        return array.fill(self.batch_shape_tensor(), convert_to_tensor(number, self.dtype))


def parameter_shapes(sample_shape: Any, *names: str) -> dict[str, Tensor]:
    """The same shape for each of the parameters, see Distribution.param_shapes."""
    shape = convert_to_tensor(sample_shape, dtypes.int32)
    return dict.fromkeys(names, shape)


def same_floats(**values: Any) -> list[Tensor]:
    """Parameters as tensors of these names.

    Raises:
        ValueError: their dtypes differ, or are not floating.
    """
    found = [array.identity(value, name=name) for name, value in values.items()]
    assert_same_float_dtype(found)
    return found
