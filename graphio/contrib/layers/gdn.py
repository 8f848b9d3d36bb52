"""Generalised divisive normalisation (Balle, Laparra and Simoncelli 2016)."""

from __future__ import annotations

from typing import Any

from graphio.autodiff.custom_gradients import custom_gradient
from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.layers.base import Layer, channels_axis, functional, size_of
from graphio.layers.input_spec import InputSpec
from graphio.ops.array import surface as array
from graphio.ops.linalg.matmul import tensordot
from graphio.ops.math import comparison, elementwise
from graphio.support import api_guard

__all__ = ["GDN", "gdn"]


class GDN(Layer):
    """x[i] / sqrt(beta[i] + sum over j of gamma[j, i] * x[j]^2), i and j channels.

    Args:
        inverse: whether to multiply instead of dividing.
        beta_min: least value of beta.
        gamma_init: initial value of gamma's diagonal; the rest begins with 0.
        reparam_offset: a small number that keeps gradients away from 0: beta and gamma are
            squares of the variables, less its square.
        data_format: channels_last or channels_first.
        activity_regularizer: from the result to a loss.
        trainable: whether optimizers change the variables.
        name: of the layer.

    Variables: `reparam_beta` (channels), `reparam_gamma` (channels, channels).

    Raises:
        ValueError: there is no such data_format; or, at the first call, the rank is not 3 to 5 or
            the number of channels is not known.
    """

    input_spec = InputSpec(min_ndim=3, max_ndim=5)

    def __init__(
        self,
        inverse: bool = False,
        beta_min: float = 1e-6,
        gamma_init: float = 0.1,
        reparam_offset: float = 2**-18,
        data_format: str = "channels_last",
        activity_regularizer: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(trainable, name, activity_regularizer=activity_regularizer, **options)
        self.inverse, self.data_format = inverse, data_format
        self._beta_min, self._gamma_init = beta_min, gamma_init
        self._offset = reparam_offset
        self._first = channels_axis(data_format, "GDN")
        self.beta: Any = None
        self.gamma: Any = None

    def build(self, input_shape: Any) -> None:
        """Makes the variables."""
        axis = 1 if self._first else len(input_shape) - 1
        channels = size_of(input_shape[axis])
        if channels is None:
            raise ValueError("The channel dimension of the inputs to `GDN` must be defined.")
        self.input_spec = InputSpec(min_ndim=3, max_ndim=5, axes={axis: channels})
        pedestal = self._offset**2
        beta = self._variable("reparam_beta", [channels], lambda s, d: array.ones(s, dtype=d))
        gamma = self._variable(
            "reparam_gamma", [channels, channels],
            lambda s, d: elementwise.multiply(self._gamma_init, array.eye(channels, dtype=d)),
        )  # fmt: skip
        self.beta = self._square(beta, (self._beta_min + pedestal) ** 0.5)
        self.gamma = self._square(gamma, self._offset)
        self.built = True

    def _variable(self, name: str, shape: list[int], start: Any) -> Any:
        """A variable whose square, less the pedestal, begins as start says."""

        def initial(shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
            kind = dtypes.as_dtype(dtype or self._dtype)
            return elementwise.sqrt(elementwise.add(start(shape, kind), self._offset**2))

        return self.add_weight(name, shape, initializer=initial)

    def _square(self, variable: Any, bound: float) -> Tensor:
        limited = _at_least(convert_to_tensor(variable), bound)
        return elementwise.subtract(elementwise.square(limited), self._offset**2)

    def call(self, inputs: Tensor, *arguments: Any, **options: Any) -> Tensor:
        """The result, of the shape of inputs."""
        rank = inputs.shape.ndims or 0
        axis = 1 if self._first else rank - 1
        sums = tensordot(elementwise.square(inputs), self.gamma, [[axis], [0]])
        scale = elementwise.sqrt(elementwise.add(sums, self.beta))
        if self._first:
            scale = array.transpose(scale, [0, rank - 1, *range(1, rank - 1)])
        change = elementwise.multiply if self.inverse else elementwise.truediv
        outputs = change(inputs, scale)
        outputs.set_shape(inputs.shape)
        return outputs


def _at_least(x: Tensor, bound: float) -> Tensor:
    """max(x, bound), whose gradient also goes to x below the bound where it leads upwards."""

    @custom_gradient
    def limited(x: Tensor) -> Any:
        def gradient(dy: Tensor) -> Tensor:
            upwards = comparison.less(dy, 0.0)
            passes = comparison.logical_or(comparison.greater_equal(x, bound), upwards)
            return elementwise.multiply(elementwise.cast(passes, dy.dtype), dy)

        return elementwise.maximum(x, bound), gradient

    with scopes.name_scope("GDNLowerBound"):
        made: Tensor = limited(x)
        return made


gdn = api_guard.makes_variables(functional(GDN, "Generalised divisive normalisation of inputs."))
