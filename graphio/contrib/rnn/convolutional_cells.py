"""Convolutional LSTMs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio.contrib.rnn.base import Cell
from graphio.framework.tensor_shape import TensorShape
from graphio.layers.rnn_cell import LSTMStateTuple
from graphio.ops.array import surface as array
from graphio.ops.math.elementwise import sigmoid, tanh
from graphio.ops.nn.conv import conv2d
from graphio.ops.nn.windows import conv1d, conv3d
from graphio.variables import initializers

__all__ = ["Conv1DLSTMCell", "Conv2DLSTMCell", "Conv3DLSTMCell", "ConvLSTMCell"]


class ConvLSTMCell(Cell):
    """An LSTM that convolves instead of multiplying matrices (Shi et al., 2015).

    Args:
        conv_ndims: 1, 2 or 3, the number of axes that the convolution goes along.
        input_shape: list of the inputs' sizes after the batch, the channels last.
        output_channels: of c and h.
        kernel_shape: list of the window's sizes.
        use_bias: whether a bias is added.
        skip_connection: whether the inputs are joined to the output, and so to the next h.
        forget_bias: added to the forget gate.
        initializers: accepted, without an effect, as in TensorFlow.
        name: of its scope.

    Variables: kernel (window, channels of inputs and h, 4 output_channels),
    biases (4 output_channels).

    Raises:
        ValueError: input_shape has another number of axes.
    """

    def __init__(
        self,
        conv_ndims: int,
        input_shape: Sequence[int],
        output_channels: int,
        kernel_shape: Sequence[int],
        use_bias: bool = True,
        skip_connection: bool = False,
        forget_bias: float = 1.0,
        initializers: Any = None,
        name: str = "conv_lstm_cell",
    ) -> None:
        super().__init__(name=name)
        if conv_ndims != len(input_shape) - 1:
            raise ValueError(f"Invalid input_shape {input_shape} for conv_ndims={conv_ndims}.")
        self._windows, self._shape = conv_ndims, list(input_shape)
        self._channels, self._window = output_channels, list(kernel_shape)
        self._use_bias, self._skips, self._forget_bias = use_bias, skip_connection, forget_bias

    @property
    def state_size(self) -> Any:
        """LSTMStateTuple of shapes."""
        shape = TensorShape([*self._shape[:-1], self._channels])
        return LSTMStateTuple(shape, shape)

    @property
    def output_size(self) -> Any:
        """The shape of an output."""
        more = self._shape[-1] if self._skips else 0
        return TensorShape([*self._shape[:-1], self._channels + more])

    def call(self, inputs: Any, state: Any) -> Any:
        """Builds the step."""
        c, h = state
        gates = self._convolved(array.concat([inputs, h], self._windows + 1))
        i, j, f, o = array.split(gates, 4, axis=self._windows + 1)
        c = sigmoid(f + self._forget_bias) * c + sigmoid(i) * tanh(j)
        output = tanh(c) * sigmoid(o)
        if self._skips:
            output = array.concat([output, inputs], -1)
        return output, LSTMStateTuple(c, output)

    def _convolved(self, x: Any) -> Any:
        depth, size, ones = x.shape[-1].value, 4 * self._channels, [1] * (self._windows + 2)
        kernel = self.variable("kernel", [*self._window, depth, size], x.dtype)
        if self._windows == 1:
            made = conv1d(x, kernel, 1, "SAME")
        else:
            made = (conv2d if self._windows == 2 else conv3d)(x, kernel, ones, "SAME")
        if not self._use_bias:
            return made
        zeros = initializers.zeros_initializer()
        return made + self.variable("biases", [size], x.dtype, initializer=zeros)


class Conv1DLSTMCell(ConvLSTMCell):
    """A ConvLSTMCell over (batch, width, channels).

    Args:
        name: of its scope.
        options: the other arguments of ConvLSTMCell.
    """

    def __init__(self, name: str = "conv_1d_lstm_cell", **options: Any) -> None:
        super().__init__(conv_ndims=1, name=name, **options)


class Conv2DLSTMCell(ConvLSTMCell):
    """A ConvLSTMCell over (batch, height, width, channels).

    Args:
        name: of its scope.
        options: the other arguments of ConvLSTMCell.
    """

    def __init__(self, name: str = "conv_2d_lstm_cell", **options: Any) -> None:
        super().__init__(conv_ndims=2, name=name, **options)


class Conv3DLSTMCell(ConvLSTMCell):
    """A ConvLSTMCell over (batch, depth, height, width, channels).

    Args:
        name: of its scope.
        options: the other arguments of ConvLSTMCell.
    """

    def __init__(self, name: str = "conv_3d_lstm_cell", **options: Any) -> None:
        super().__init__(conv_ndims=3, name=name, **options)
