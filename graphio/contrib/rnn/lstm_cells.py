"""Variants of the LSTM on vectors."""

from __future__ import annotations

from typing import Any

from graphio.contrib.rnn.base import (
    LSTMShapedCell,
    ProjectedCell,
    depth_of,
    limited,
    normalized,
    sharded,
    with_initializer,
)
from graphio.framework.tensor_shape import TensorShape
from graphio.layers.rnn_cell import LSTMStateTuple
from graphio.ops.array import surface as array
from graphio.ops.linalg import matmul
from graphio.ops.math import elementwise
from graphio.ops.math.elementwise import sigmoid, tanh
from graphio.ops.nn import core as nn
from graphio.variables import initializers
from graphio.variables.variable_scope import variable_scope

__all__ = [
    "CoupledInputForgetGateLSTMCell",
    "GLSTMCell",
    "LayerNormBasicLSTMCell",
    "NASCell",
    "PhasedLSTMCell",
]


class CoupledInputForgetGateLSTMCell(ProjectedCell):
    """An LSTM whose input gate is one minus its forget gate (Greff et al., 2015).

    With j, f, o = [inputs, h] W + B and f = sigmoid(f + forget_bias), the next c is
    f * c + (1 - f) * activation(j), and h is sigmoid(o) * activation(c).

    Args:
        num_units: size of c.
        use_peepholes: True lets the gates see c.
        initializer: accepted, without an effect, as in TensorFlow: the scope's is used.
        num_proj: size of h, which is projected; None: num_units, and it is not.
        proj_clip: the projection is limited to this.
        num_unit_shards, num_proj_shards: number of variables that W and W_P consist of.
        forget_bias: added to the forget gate.
        state_is_tuple: False joins c and h into one tensor.
        activation: a function.
        reuse: True takes the variables of the scope.
        layer_norm: True normalizes the gates and c; B is then made, but not added.
        norm_gain, norm_shift: first values of the normalizations' gamma and beta.

    Variables: W_0, W_1 and so on, B; W_F_diag, W_O_diag; W_P_0 and so on.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int = 1,
        num_proj_shards: int = 1,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = tanh,
        reuse: Any = None,
        layer_norm: bool = False,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
    ) -> None:
        super().__init__(num_units, num_proj, reuse)
        self._peepholes, self._proj_clip = use_peepholes, proj_clip
        self._shards = num_unit_shards, num_proj_shards
        self._forget_bias, self._activation = forget_bias, activation
        self._state_is_tuple, self._layer_norm = state_is_tuple, layer_norm
        self._norm = norm_gain, norm_shift

    @property
    def state_size(self) -> Any:
        """LSTMStateTuple of the sizes; their sum where the state is not a tuple."""
        pair = super().state_size
        return pair if self._state_is_tuple else sum(pair)

    def call(self, inputs: Any, state: Any) -> Any:
        """Builds the step."""
        n, kind, act = self._num_units, inputs.dtype, self._activation
        c, h = state if self._state_is_tuple else (state[:, :n], state[:, n:])
        rows = depth_of(inputs) + self.output_size
        kernel = sharded(self, "W", [rows, 3 * n], self._shards[0])
        bias = self.variable("B", [3 * n], kind, initializer=initializers.zeros_initializer())
        gates = matmul.matmul(array.concat([inputs, h], 1), kernel)
        gates = gates if self._layer_norm else nn.bias_add(gates, bias)
        j, f, o = array.split(gates, 3, axis=1)
        j, f = self._normal(j, "transform"), self._normal(f, "forget")
        o, of_f, of_o = self._normal(o, "output"), 0.0, 0.0
        if self._peepholes:
            of_f, of_o = (self.variable(f"W_{gate}_diag", [n], kind) for gate in "FO")
        f = f + self._forget_bias
        f = sigmoid(f + of_f * c if self._peepholes else f)
        c = self._normal(f * c + (1 - f) * act(j), "state")
        h = sigmoid(o + of_o * c if self._peepholes else o) * act(c)
        if self._num_proj is not None:
            projection = sharded(self, "W_P", [n, self._num_proj], self._shards[1])
            h = limited(matmul.matmul(h, projection), self._proj_clip)
        return h, LSTMStateTuple(c, h) if self._state_is_tuple else array.concat([c, h], 1)

    def _normal(self, x: Any, scope: str) -> Any:
        return normalized(self, x, scope, *self._norm) if self._layer_norm else x


class LayerNormBasicLSTMCell(LSTMShapedCell):
    """An LSTM with layer normalization and dropout of the new values (Ba et al., 2016; Semeniuta
    et al., 2016).

    Args:
        num_units: size of c and h.
        forget_bias: added to the forget gate.
        input_size: accepted.
        activation: a function.
        layer_norm: False adds a bias instead.
        norm_gain, norm_shift: first values of the normalizations' gamma and beta.
        dropout_keep_prob: probability to keep a new value; number or scalar tensor.
        dropout_prob_seed: of its random numbers.
        reuse: True takes the variables of the scope.

    Variables: kernel (depth + n, 4 n); gamma and beta (n) in each of input, transform, forget,
    output and state, or bias (4 n).
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        input_size: Any = None,
        activation: Any = tanh,
        layer_norm: bool = True,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        dropout_keep_prob: Any = 1.0,
        dropout_prob_seed: int | None = None,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._forget_bias = num_units, forget_bias
        self._activation, self._layer_norm = activation, layer_norm
        self._norm = norm_gain, norm_shift
        self._keep_prob, self._seed = dropout_keep_prob, dropout_prob_seed

    def call(self, inputs: Any, state: Any) -> Any:
        """Builds the step."""
        c, h = state
        gates = self.linear([inputs, h], 4 * self._num_units, bias=False)
        if not self._layer_norm:
            gates = nn.bias_add(gates, self.variable("bias", [4 * self._num_units], inputs.dtype))
        scopes = ("input", "transform", "forget", "output")
        pairs = zip(array.split(gates, 4, axis=1), scopes, strict=True)
        i, j, f, o = (self._normal(gate, scope) for gate, scope in pairs)
        new = self._activation(j)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            new = nn.dropout(new, keep_prob=self._keep_prob, seed=self._seed)
        c = c * sigmoid(f + self._forget_bias) + sigmoid(i) * new
        c = self._normal(c, "state")
        h = self._activation(c) * sigmoid(o)
        return h, LSTMStateTuple(c, h)

    def _normal(self, x: Any, scope: str) -> Any:
        return normalized(self, x, scope, *self._norm) if self._layer_norm else x


class NASCell(ProjectedCell):
    """The cell that an architecture search found (Zoph and Le, 2016).

    Args:
        num_units: size of c.
        num_proj: size of the output, which is projected; None: num_units, and it is not.
        use_bias: whether a bias is added to the part of the state.
        reuse: True takes the variables of the scope.
        options: name, dtype and trainable, as RNNCell's.

    Variables: recurrent_kernel (num_proj, 8 n), kernel (depth, 8 n), bias (8 n),
    projection_weights (n, num_proj).
    """

    def __init__(
        self,
        num_units: int,
        num_proj: int | None = None,
        use_bias: bool = False,
        reuse: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(num_units, num_proj, reuse, **options)
        self._use_bias = use_bias

    def build(self, input_shape: Any) -> None:
        """Makes the variables."""
        n, depth = self._num_units, TensorShape(input_shape).with_rank(2)[1].value
        if depth is None:
            raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
        size = n if self._num_proj is None else self._num_proj
        self.recurrent_kernel = self.add_variable("recurrent_kernel", [size, 8 * n])
        self.kernel = self.add_variable("kernel", [depth, 8 * n])
        if self._use_bias:
            zeros = initializers.zeros_initializer()
            self.bias = self.add_variable("bias", [8 * n], initializer=zeros)
        if self._num_proj is not None:
            self.projection_weights = self.add_variable("projection_weights", [n, self._num_proj])
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """Builds the step: eight values, which a tree of operations joins in three levels."""
        c, h = state
        of_state = matmul.matmul(h, self.recurrent_kernel)
        if self._use_bias:
            of_state = nn.bias_add(of_state, self.bias)
        ours = array.split(of_state, 8, axis=1)
        theirs = array.split(matmul.matmul(inputs, self.kernel), 8, axis=1)
        sums = [x + y for x, y in zip(theirs, ours, strict=True)]
        left = tanh(sigmoid(sums[0]) * nn.relu(sums[1]))
        right = tanh(sigmoid(sums[2]) + nn.relu(theirs[3] * ours[3]))
        other = tanh(sums[4]), sigmoid(sums[5]), tanh(sums[6]), sigmoid(sums[7])
        c = tanh(left + c) * right
        gate = tanh(tanh(other[0] * other[1]) + sigmoid(other[2] + other[3]))
        h = tanh(c * gate)
        if self._num_proj is not None:
            h = matmul.matmul(h, self.projection_weights)
        return h, LSTMStateTuple(c, h)


class GLSTMCell(ProjectedCell):
    """An LSTM whose inputs and state are split into groups with a kernel each (Kuchaiev and
    Ginsburg, 2017).

    Args:
        num_units: size of c; a multiple of the number of groups.
        initializer: of the variables; None: the scope's.
        num_proj: size of the output, which is projected, also a multiple; None: num_units, and it
            is not.
        number_of_groups: 1 or more.
        forget_bias: added to the forget gate.
        activation: of c in the output; new values get tanh.
        reuse: True takes the variables of the scope.

    Variables: group0/kernel and so on; bias_i, bias_j, bias_f, bias_o (n); projection/kernel.

    Raises:
        ValueError: the number of groups does not divide a size.
    """

    def __init__(
        self,
        num_units: int,
        initializer: Any = None,
        num_proj: int | None = None,
        number_of_groups: int = 1,
        forget_bias: float = 1.0,
        activation: Any = tanh,
        reuse: Any = None,
    ) -> None:
        super().__init__(num_units, num_proj, reuse)
        for what, size in {"num_units": num_units, "num_proj": num_proj or 0}.items():
            if size % number_of_groups:
                raise ValueError(f"{what} must be divisible by number_of_groups")
        self._initializer, self._groups = initializer, number_of_groups
        self._forget_bias, self._activation = forget_bias, activation

    def call(self, inputs: Any, state: Any) -> Any:
        """Builds the step."""
        c, h = state
        groups, depth = self._groups, depth_of(inputs)
        if depth % groups:
            raise ValueError(
                f"input size ({depth}) must be divisible by number_of_groups ({groups})"
            )
        with with_initializer(self._initializer):
            pieces = [array.split(x, groups, axis=1) for x in (inputs, h)]
            parts = []
            for k, both in enumerate(zip(*pieces, strict=True)):
                with variable_scope(f"group{k}"):
                    joined = array.concat(both, 1)
                    made = self.linear(joined, 4 * self._num_units // groups, bias=False)
                    parts.append(array.split(made, 4, axis=1))
            columns = zip("ijfo", zip(*parts, strict=True), strict=True)
            i, j, f, o = (self._gate(name, column) for name, column in columns)
        c = sigmoid(f + self._forget_bias) * c + sigmoid(i) * tanh(j)
        h = sigmoid(o) * self._activation(c)
        if self._num_proj is not None:
            with variable_scope("projection"):
                h = self.linear(h, self._num_proj, bias=False)
        return h, LSTMStateTuple(c, h)

    def _gate(self, name: str, parts: Any) -> Any:
        joined, zeros = array.concat(parts, 1), initializers.zeros_initializer()
        bias = self.variable(f"bias_{name}", [self._num_units], joined.dtype, initializer=zeros)
        return nn.bias_add(joined, bias)


class PhasedLSTMCell(LSTMShapedCell):
    """An LSTM that changes its state only in a part of a cycle of time (Neil et al., 2016).

    Its inputs are a pair: time (batch, 1), of float32 or float64, and the features (batch, depth).

    Args:
        num_units: size of c and h.
        use_peepholes: True lets the gates see c.
        leak: how much the state changes in the closed part of a cycle.
        ratio_on: the first value of the open part of a cycle.
        trainable_ratio_on: whether it is trained.
        period_init_min, period_init_max: bounds of the first periods, which are uniform in their
            logarithms.
        reuse: True takes the variables of the scope.

    Variables: kernel and bias in each of mask_gates, new_input and output_gate; period, phase and
    ratio_on (n).
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        leak: float = 0.001,
        ratio_on: float = 0.1,
        trainable_ratio_on: bool = True,
        period_init_min: float = 1.0,
        period_init_max: float = 1000.0,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._peepholes = num_units, use_peepholes
        self._leak, self._ratio_on, self._trainable = leak, ratio_on, trainable_ratio_on
        self._periods = period_init_min, period_init_max

    def call(self, inputs: Any, state: Any) -> Any:
        """Builds the step."""
        (time, x), (c, h), n = inputs, state, self._num_units
        with variable_scope("mask_gates"):
            seen = [x, h, c] if self._peepholes else [x, h]
            i, f = array.split(sigmoid(self.linear(seen, 2 * n)), 2, axis=1)
        with variable_scope("new_input"):
            new_c = c * f + i * tanh(self.linear([x, h], n))
        with variable_scope("output_gate"):
            seen = [x, h, new_c] if self._peepholes else [x, h]
            new_h = tanh(new_c) * sigmoid(self.linear(seen, n))
        openness = self._openness(time)
        new_c = openness * new_c + (1 - openness) * c
        new_h = openness * new_h + (1 - openness) * h
        return new_h, LSTMStateTuple(new_c, new_h)

    def _openness(self, time: Any) -> Any:
        """How much of the new state is taken: rises and falls within ratio_on of the period."""
        size = [self._num_units]
        period = self.variable("period", size, initializer=_LogUniform(*self._periods))
        uniform = initializers.random_uniform_initializer(0.0, period.initial_value)
        phase = self.variable("phase", size, initializer=uniform)
        start = initializers.constant_initializer(self._ratio_on)
        ratio_on = self.variable("ratio_on", size, initializer=start, trainable=self._trainable)
        turn = elementwise.cast(period, time.dtype)
        shifted = time - elementwise.cast(phase, time.dtype)
        # the gradient passes a remainder by as if it were its dividend
        rest = array.stop_gradient(elementwise.mod(shifted, turn) - shifted) + shifted
        ratio = elementwise.cast(rest / turn, "float32")
        rising = 2 * ratio / ratio_on
        late = array.where(ratio < ratio_on, 2 - rising, self._leak * ratio)
        return array.where(ratio < 0.5 * ratio_on, rising, late)


class _LogUniform:
    """An initializer whose logarithms are uniform between those of two numbers."""

    def __init__(self, least: float, most: float) -> None:
        log = elementwise.log
        self._uniform = initializers.random_uniform_initializer(log(least), log(most))

    def __call__(self, shape: Any, dtype: Any = "float32", partition_info: Any = None) -> Any:
        return elementwise.exp(self._uniform(shape, dtype))
