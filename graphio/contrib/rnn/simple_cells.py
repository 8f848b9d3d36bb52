"""Cells with one tensor as their state, and independently recurrent ones."""

from __future__ import annotations

from typing import Any

from graphio.contrib.rnn.base import Cell, depth_of, with_initializer
from graphio.framework.tensor_shape import TensorShape
from graphio.layers.configs import activation_of_cell
from graphio.layers.input_spec import InputSpec
from graphio.layers.rnn_cell import LSTMStateTuple, RNNCell
from graphio.ops.array import surface as array
from graphio.ops.linalg import matmul
from graphio.ops.math.elementwise import sigmoid, tanh
from graphio.ops.nn import core as nn
from graphio.variables import initializers
from graphio.variables.variable_scope import variable_scope

__all__ = [
    "IndRNNCell",
    "IndyGRUCell",
    "IndyLSTMCell",
    "IntersectionRNNCell",
    "SRUCell",
    "UGRNNCell",
]


class UGRNNCell(Cell):
    """The update gate cell of Collins et al. (2016): g * state + (1 - g) * activation(new).

    Args:
        num_units: size of the state.
        initializer: of the variables; None: the scope's.
        forget_bias: added to the gate g.
        activation: a function.
        reuse: True takes the variables of the scope.

    Variables: kernel (depth + n, 2 n), bias (2 n).
    """

    def __init__(
        self,
        num_units: int,
        initializer: Any = None,
        forget_bias: float = 1.0,
        activation: Any = tanh,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._initializer = num_units, initializer
        self._forget_bias, self._activation = forget_bias, activation

    @property
    def state_size(self) -> Any:
        """The number of units."""
        return self._num_units

    @property
    def output_size(self) -> Any:
        """The number of units."""
        return self._num_units

    def call(self, inputs: Any, state: Any) -> Any:
        """Builds the step."""
        depth_of(inputs)
        with with_initializer(self._initializer):
            both = self.linear(array.concat([inputs, state], 1), 2 * self._num_units)
        g, new = array.split(both, 2, axis=1)
        g = sigmoid(g + self._forget_bias)
        output = g * state + (1.0 - g) * self._activation(new)
        return output, output


class IntersectionRNNCell(Cell):
    """The cell of Collins et al. (2016) with a gate over time and one over depth.

    Args:
        num_units: size of state and output, and of the inputs.
        num_in_proj: not None projects inputs of another size to num_units.
        initializer: of the variables; None: the scope's.
        forget_bias: added to both gates.
        y_activation: of the new output; None: relu.
        reuse: True takes the variables of the scope.

    Variables: kernel (2 n, 4 n), bias (4 n); in_projection/kernel, in_projection/bias.
    """

    def __init__(
        self,
        num_units: int,
        num_in_proj: int | None = None,
        initializer: Any = None,
        forget_bias: float = 1.0,
        y_activation: Any = nn.relu,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._projects = num_units, num_in_proj
        self._initializer, self._forget_bias = initializer, forget_bias
        self._activation = y_activation

    @property
    def state_size(self) -> Any:
        """The number of units."""
        return self._num_units

    @property
    def output_size(self) -> Any:
        """The number of units."""
        return self._num_units

    def call(self, inputs: Any, state: Any) -> Any:
        """Builds the step."""
        n = self._num_units
        with with_initializer(self._initializer):
            if depth_of(inputs) != n:
                inputs = self._projected(inputs)
            both = self.linear(array.concat([inputs, state], 1), 4 * n)
        gate_h, h, gate_y, y = array.split(both, 4, axis=1)
        gate_h, gate_y = (sigmoid(gate + self._forget_bias) for gate in (gate_h, gate_y))
        following = gate_h * state + (1.0 - gate_h) * tanh(h)
        return gate_y * inputs + (1.0 - gate_y) * self._activation(y), following

    def _projected(self, inputs: Any) -> Any:
        if not self._projects:
            raise ValueError(
                "Must have input size == output size for Intersection RNN. To fix, num_in_proj "
                "should be set to num_units at cell init."
            )
        with variable_scope("in_projection"):
            return self.linear(inputs, self._num_units)


class _Units(RNNCell):
    """A cell of num_units whose variables are made when it is built."""

    input_spec = InputSpec(ndim=2)

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: Any = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(_reuse=reuse, **options)
        self._num_units = num_units
        self._activation = activation_of_cell(activation)
        self._kernel, self._bias = kernel_initializer, bias_initializer

    @property
    def state_size(self) -> Any:
        """The number of units."""
        return self._num_units

    @property
    def output_size(self) -> Any:
        """The number of units."""
        return self._num_units

    def _depth(self, input_shape: Any) -> int:
        depth = TensorShape(input_shape)[1].value
        if depth is None:
            raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {input_shape}")
        return int(depth)

    def _independent(
        self, input_shape: Any, gates: int, of_inputs: str, of_state: str, bias: str, first: float
    ) -> tuple[Any, Any, Any]:
        """A matrix for the inputs, a row for the state, and a bias."""
        size = gates * self._num_units
        start = initializers.constant_initializer(first) if self._bias is None else self._bias
        uniform = initializers.random_uniform_initializer(-1, 1)
        shape = [self._depth(input_shape), size]
        return (
            self.add_variable(of_inputs, shape, initializer=self._kernel),
            self.add_variable(of_state, [1, size], initializer=uniform),
            self.add_variable(bias, [size], initializer=start),
        )


def _gated(inputs: Any, state: Any, weights: Any, times: int) -> Any:
    """inputs W + state * u + b; the state is repeated for each gate."""
    of_inputs, of_state, bias = weights
    repeated = array.tile(state, [1, times]) if times > 1 else state
    return nn.bias_add(matmul.matmul(inputs, of_inputs) + repeated * of_state, bias)


class SRUCell(_Units):
    """The simple recurrent unit of Lei et al. (2017), whose gates see the inputs only.

    Args:
        num_units: size of the state.
        activation: a function or its name; None: tanh.
        reuse: True takes the variables of the scope.
        name: of its scope; None: "sru_cell".
        options: dtype and trainable, as RNNCell's.

    Variables: kernel (depth, 4 n), bias (2 n).
    """

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(num_units, activation, reuse, name=name, **options)

    def build(self, input_shape: Any) -> None:
        """Makes the variables."""
        n, zeros = self._num_units, initializers.zeros_initializer()
        self._matrix = self.add_variable("kernel", [self._depth(input_shape), 4 * n])
        self._gates = self.add_variable("bias", [2 * n], initializer=zeros)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """Builds the step."""
        n, made = self._num_units, matmul.matmul(inputs, self._matrix)
        gates = sigmoid(nn.bias_add(made[:, n : 3 * n], self._gates))
        f, r = array.split(gates, 2, axis=1)
        c = f * state + (1.0 - f) * made[:, :n]
        return r * self._activation(c) + (1.0 - r) * made[:, 3 * n :], c


class IndRNNCell(_Units):
    """The independently recurrent net of Li et al. (2018): activation(x W + state * u + b).

    Args:
        num_units: size of the state.
        activation: a function or its name; None: tanh.
        reuse: True takes the variables of the scope.
        name, dtype: as RNNCell's.

    Variables: kernel_w (depth, n), kernel_u (1, n), bias (n).
    """

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_units, activation, reuse, name=name, dtype=dtype)

    def build(self, input_shape: Any) -> None:
        """Makes the variables."""
        self._weights = self._independent(input_shape, 1, "kernel_w", "kernel_u", "bias", 0.0)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """Builds the step."""
        output = self._activation(_gated(inputs, state, self._weights, 1))
        return output, output


class IndyGRUCell(_Units):
    """A GRU whose units do not see each other's states.

    Args:
        num_units: size of the state.
        activation: a function or its name; None: tanh.
        reuse: True takes the variables of the scope.
        kernel_initializer: of the matrices; None: the scope's.
        bias_initializer: None: ones for the gates, zeros for the candidate.
        name, dtype: as RNNCell's.

    Variables: gates/kernel_w (depth, 2 n), gates/kernel_u (1, 2 n), gates/bias (2 n),
    candidate/kernel (depth, n), candidate/kernel_u (1, n), candidate/bias (n).
    """

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: Any = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        both = kernel_initializer, bias_initializer
        super().__init__(num_units, activation, reuse, *both, name=name, dtype=dtype)

    def build(self, input_shape: Any) -> None:
        """Makes the variables."""
        names = "gates/kernel_w", "gates/kernel_u", "gates/bias"
        self._gates = self._independent(input_shape, 2, *names, 1.0)
        names = "candidate/kernel", "candidate/kernel_u", "candidate/bias"
        self._candidate = self._independent(input_shape, 1, *names, 0.0)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """Builds the step."""
        r, u = array.split(sigmoid(_gated(inputs, state, self._gates, 2)), 2, axis=1)
        new = self._activation(_gated(inputs, r * state, self._candidate, 1))
        output = u * state + (1 - u) * new
        return output, output


class IndyLSTMCell(_Units):
    """An LSTM whose units do not see each other's outputs.

    Args:
        num_units: size of c and h.
        forget_bias: added to the forget gate.
        activation: a function or its name; None: tanh.
        reuse: True takes the variables of the scope.
        kernel_initializer: of the matrix; None: the scope's.
        bias_initializer: None: zeros.
        name, dtype: as RNNCell's.

    Variables: kernel_w (depth, 4 n), kernel_u (1, 4 n), bias (4 n).
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        activation: Any = None,
        reuse: Any = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        both = kernel_initializer, bias_initializer
        super().__init__(num_units, activation, reuse, *both, name=name, dtype=dtype)
        self._forget_bias = forget_bias

    @property
    def state_size(self) -> Any:
        """LSTMStateTuple of the sizes."""
        return LSTMStateTuple(self._num_units, self._num_units)

    def build(self, input_shape: Any) -> None:
        """Makes the variables."""
        self._weights = self._independent(input_shape, 4, "kernel_w", "kernel_u", "bias", 0.0)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """Builds the step."""
        c, h = state
        i, j, f, o = array.split(_gated(inputs, h, self._weights, 4), 4, axis=1)
        c = c * sigmoid(f + self._forget_bias) + sigmoid(i) * self._activation(j)
        h = self._activation(c) * sigmoid(o)
        return h, LSTMStateTuple(c, h)
