"""Cells that compute what cuDNN's nets do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from graphio.contrib.rnn.fused_cells import LSTMBlockCell
from graphio.layers.rnn_cell import BasicRNNCell, GRUCell
from graphio.ops.array import surface as array
from graphio.ops.linalg import matmul
from graphio.ops.math.elementwise import sigmoid
from graphio.ops.nn import core as nn
from graphio.variables import initializers

__all__ = ["BasicCell", "CudnnCompatibleGRUCell", "CudnnCompatibleLSTMCell", "Weights"]


class Weights(NamedTuple):
    """A variable that cuDNN has in pieces of n columns.

    A matrix has a piece for each gate and each of the parts that rows has the sizes of; a bias has
    no rows, and is the sum of as many pieces for each gate as times says.
    """

    name: str
    gates: int
    rows: tuple[int, ...] = ()
    times: int = 1

    def shape(self, n: int) -> list[int]:
        """The variable's shape."""
        return [sum(self.rows), self.gates * n] if self.rows else [self.gates * n]


class CudnnCompatibleLSTMCell(LSTMBlockCell):
    """The cell of CudnnLSTM, an LSTM without a forget bias.

    Args:
        num_units: size of c and h.
        reuse: True takes the variables of the scope.

    Variables: kernel (depth + n, 4 n), bias (4 n).
    """

    def __init__(self, num_units: int, reuse: Any = None) -> None:
        super().__init__(num_units, 0.0, reuse=reuse, name="cudnn_compatible_lstm_cell")

    @staticmethod
    def cudnn_weights(depth: int, n: int) -> list[Weights]:
        """The variables for inputs of a depth."""
        return [Weights("kernel", 4, (depth, n)), Weights("bias", 4, times=2)]

    def adopt(self, variables: Sequence[Any]) -> None:
        """Takes variables, in the order of cudnn_weights, instead of making them."""
        kernel, bias = variables
        self.take(kernel, bias, [])


class CudnnCompatibleGRUCell(GRUCell):
    """The cell of CudnnGRU, a GRU that resets the state after multiplying it.

    With r, u = sigmoid([inputs, state] gates), the next state and output is u * state +
    (1 - u) * activation(inputs W + b + r * (state R + c)).

    Args:
        num_units: size of the state.
        reuse: True takes the variables of the scope.
        kernel_initializer: of the matrices; None: the scope's.

    Variables: gates/kernel (depth + n, 2 n), gates/bias (2 n), candidate/input_projection/kernel
    (depth, n), candidate/hidden_projection/kernel (n, n), candidate/input_projection/bias (n),
    candidate/hidden_projection/bias (n).
    """

    def __init__(self, num_units: int, reuse: Any = None, kernel_initializer: Any = None) -> None:
        super().__init__(num_units, reuse=reuse, kernel_initializer=kernel_initializer)

    @staticmethod
    def cudnn_weights(depth: int, n: int) -> list[Weights]:
        """The variables for inputs of a depth."""
        return [
            Weights("gates/kernel", 2, (depth, n)),
            Weights("gates/bias", 2, times=2),
            Weights("candidate/input_projection/kernel", 1, (depth,)),
            Weights("candidate/hidden_projection/kernel", 1, (n,)),
            Weights("candidate/input_projection/bias", 1),
            Weights("candidate/hidden_projection/bias", 1),
        ]

    def adopt(self, variables: Sequence[Any]) -> None:
        """Takes variables, in the order of cudnn_weights, instead of making them."""
        self._made, self.built = list(variables), True

    def build(self, input_shape: Any) -> None:
        """Makes the variables."""
        n, made = self._num_units, []
        for one in self.cudnn_weights(self._depth(input_shape), n):
            first = initializers.constant_initializer(1.0 if one.name == "gates/bias" else 0.0)
            start = self._kernel_initializer if one.rows else first
            made.append(self.add_variable(one.name, one.shape(n), initializer=start))
        self.adopt(made)

    def call(self, inputs: Any, state: Any) -> Any:
        """Builds the step."""
        gates, gates_bias, of_inputs, of_state, inputs_bias, state_bias = self._made
        both = matmul.matmul(array.concat([inputs, state], 1), gates)
        r, u = array.split(sigmoid(nn.bias_add(both, gates_bias)), 2, axis=1)
        new = nn.bias_add(matmul.matmul(inputs, of_inputs), inputs_bias)
        new = new + r * nn.bias_add(matmul.matmul(state, of_state), state_bias)
        output = (1 - u) * self._activation(new) + u * state
        return output, output


class BasicCell(BasicRNNCell):
    """The cell of CudnnRNNTanh and CudnnRNNRelu."""

    @staticmethod
    def cudnn_weights(depth: int, n: int) -> list[Weights]:
        """The variables for inputs of a depth."""
        return [Weights("kernel", 1, (depth, n)), Weights("bias", 1, times=2)]

    def adopt(self, variables: Sequence[Any]) -> None:
        """Takes variables, in the order of cudnn_weights, instead of making them."""
        self._kernel, self._bias = variables
        self.built = True
