"""Nets of several layers over all steps, with the weights of cuDNN's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphio.contrib.cudnn_rnn.cells import (
    BasicCell,
    CudnnCompatibleGRUCell,
    CudnnCompatibleLSTMCell,
    Weights,
)
from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.layers.base import Layer
from graphio.layers.input_spec import InputSpec
from graphio.layers.rnn import bidirectional_dynamic_rnn, dynamic_rnn
from graphio.layers.rnn_cell import LSTMStateTuple
from graphio.ops.array import surface as array
from graphio.ops.math import elementwise
from graphio.ops.nn import core as nn
from graphio.variables import initializers

__all__ = ["CudnnGRU", "CudnnLSTM", "CudnnRNNRelu", "CudnnRNNTanh", "checked_net", "prefixes"]

_DIRECTIONS = {"unidirectional": 1, "bidirectional": 2}
_INPUT_MODES = ("linear_input", "skip_input", "auto_select")


def checked_net(input_mode: str, direction: str, depth: int | None, num_units: int) -> int:
    """The number of directions.

    Args:
        depth: of the inputs; None: it is not known yet.

    Raises:
        ValueError: the direction or the mode is none of them, or would leave weights out.
    """
    if direction not in _DIRECTIONS:
        raise ValueError(
            f"Invalid direction: {direction}, expecting unidirectional or bidirectional"
        )
    if input_mode not in _INPUT_MODES:
        raise ValueError(f"Invalid input_mode: {input_mode}, expect one of {_INPUT_MODES}")
    if input_mode == "skip_input":
        raise ValueError(
            "input_mode='skip_input', inputs without weights, is not supported: use 'linear_input'"
        )
    if input_mode == "auto_select" and depth == num_units:
        raise ValueError(
            "input_mode='auto_select' leaves the weights of inputs out where their depth is "
            "num_units, which is not supported: use 'linear_input'"
        )
    return _DIRECTIONS[direction]


def prefixes(cell_name: str, k: int, direction: str) -> list[str]:
    """The beginnings of the names of layer k's variables, one for each direction."""
    if direction == "unidirectional":
        return [f"rnn/multi_rnn_cell/cell_{k}/{cell_name}"]
    inner = f"stack_bidirectional_rnn/cell_{k}/bidirectional_rnn"
    return [f"{inner}/{way}/{cell_name}" for way in ("fw", "bw")]


class _Pieces:
    """An initializer of a variable that gives each of cuDNN's pieces its first values.

    Args:
        weights: the variable.
        initializer: of a piece, (n, rows) or (n).
        n: number of units.
    """

    def __init__(self, weights: Weights, initializer: Any, n: int) -> None:
        self._weights, self._of_piece, self._n = weights, initializer, n

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return array.concat([self._gate(dtype) for _ in range(self._weights.gates)], -1)

    def _gate(self, dtype: Any) -> Any:
        if not self._weights.rows:
            pieces = [self._of_piece([self._n], dtype=dtype) for _ in range(self._weights.times)]
            return elementwise.add_n(pieces)
        sizes = self._weights.rows
        pieces = [self._of_piece([self._n, size], dtype=dtype) for size in sizes]
        return array.concat([array.transpose(piece) for piece in pieces], 0)


class _CudnnRNN(Layer):
    """A net of several layers.

    A net called as net(inputs, initial_state=None, sequence_lengths=None, time_major=True,
    training=True) gives the outputs (time, batch, directions * n) and a tuple of the last states
    (layers * directions, batch, n). With time_major=False the batch comes first.
    """

    input_spec = InputSpec(ndim=3)
    _cell: Callable[[int], Any]
    _cell_name: str
    _parts = 1

    def __init__(
        self,
        num_layers: int,
        num_units: int,
        input_mode: str = "linear_input",
        direction: str = "unidirectional",
        dropout: float = 0.0,
        seed: int | None = None,
        dtype: Any = dtypes.float32,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(dtype=dtype, name=name)
        checked_net(input_mode, direction, None, num_units)
        if self._dtype not in (dtypes.float16, dtypes.float32, dtypes.float64):
            raise ValueError(f"Only support float16, float32, float64, provided {dtype}")
        self._num_layers, self._num_units = num_layers, num_units
        self._input_mode, self._direction = input_mode, direction
        self._dropout, self._seed = dropout, seed
        self._kernel_start = kernel_initializer or initializers.glorot_uniform_initializer(seed)
        self._bias_start = bias_initializer or initializers.zeros_initializer()
        self._input_size: int | None = None
        self._cells: list[list[Any]] = []

    @property
    def num_layers(self) -> int:
        """The number of layers."""
        return self._num_layers

    @property
    def num_units(self) -> int:
        """The size of a state."""
        return self._num_units

    @property
    def input_mode(self) -> str:
        """As it was given."""
        return self._input_mode

    @property
    def input_size(self) -> int:
        """The inputs' depth. Raises ValueError before the layer is built."""
        if not self._input_size:
            raise ValueError("'input_size' is unknown since layer has not been built.")
        return self._input_size

    @property
    def direction(self) -> str:
        """As it was given."""
        return self._direction

    @property
    def num_dirs(self) -> int:
        """1, or 2 for a bidirectional net."""
        return _DIRECTIONS[self._direction]

    @property
    def saveable(self) -> None:
        """None: the variables are those of the checkpoint."""
        return

    def state_shape(self, batch_size: Any) -> tuple[list[Any], ...]:
        """The shapes of the states."""
        shape = [self._num_layers * self.num_dirs, batch_size, self._num_units]
        return tuple(list(shape) for _ in range(self._parts))

    def build(self, input_shape: Any) -> None:
        """Makes the variables, by the names that TensorFlow's checkpoints have."""
        depth = TensorShape(input_shape)[-1].value
        if depth is None:
            raise ValueError(
                "The last dimension of the inputs to `CudnnRNN` should be defined. Found `None`."
            )
        self._input_size, self._cells = depth, []
        self.input_spec = InputSpec(ndim=3, axes={-1: depth})
        checked_net(self._input_mode, self._direction, depth, self._num_units)
        for k in range(self._num_layers):
            self._cells.append(
                [
                    self._built(prefix, depth)
                    for prefix in prefixes(self._cell_name, k, self._direction)
                ]
            )
            depth = self._num_units * self.num_dirs
        self.built = True

    def _built(self, prefix: str, depth: int) -> Any:
        cell = type(self)._cell(self._num_units)
        n, made = self._num_units, []
        for one in cell.cudnn_weights(depth, n):
            of_piece = self._kernel_start if one.rows else self._bias_start
            start = _Pieces(one, of_piece, n)
            name = f"{prefix}/{one.name}"
            made.append(self.add_variable(name, one.shape(n), initializer=start))
        cell.adopt(made)
        return cell

    def call(
        self,
        inputs: Any,
        initial_state: Any = None,
        sequence_lengths: Any = None,
        time_major: bool = True,
        training: bool = True,
    ) -> Any:
        """Builds the net.

        Args:
            inputs: (time, batch, depth), or (batch, time, depth) unless time_major.
            initial_state: tuple of the first states, h and c of an LSTM; None: zeros.
            sequence_lengths: int32 (batch); None: all have the length of the inputs.
            time_major: the layout of inputs, outputs and states.
            training: whether the inputs of layers but the first are dropped out.
        """
        if initial_state is not None and not isinstance(initial_state, tuple):
            raise TypeError(f"Invalid initial_state type: {initial_state}, expecting tuple.")
        x = inputs
        firsts = self._firsts(inputs, initial_state, time_major)
        lasts: list[Any] = []
        for k, cells in enumerate(self._cells):
            if k > 0 and training and self._dropout:
                x = nn.dropout(x, keep_prob=1.0 - self._dropout, seed=self._seed)
            starts = firsts[k * self.num_dirs : (k + 1) * self.num_dirs]
            x, states = self._layer(cells, x, sequence_lengths, starts, time_major)
            lasts += states
        axis = 0 if time_major else 1
        parts = zip(*(self._apart(state) for state in lasts), strict=True)
        return x, tuple(array.stack(part, axis) for part in parts)

    def _layer(
        self, cells: list[Any], x: Any, lengths: Any, starts: list[Any], time_major: bool
    ) -> tuple[Any, list[Any]]:
        if len(cells) == 1:
            y, state = dynamic_rnn(cells[0], x, lengths, starts[0], time_major=time_major)
            return y, [state]
        there, back = cells
        outputs, both = bidirectional_dynamic_rnn(
            there, back, x, lengths, starts[0], starts[1], time_major=time_major
        )
        return array.concat(list(outputs), 2), list(both)

    def _firsts(self, inputs: Any, given: Any, time_major: bool) -> list[Any]:
        """The first state of each cell."""
        count = self._num_layers * self.num_dirs
        if given is None:
            batch = array.shape(inputs)[1 if time_major else 0]
            zeros = array.zeros([batch, self._num_units], self._dtype)
            return [self._together([zeros] * self._parts)] * count
        if len(given) != self._parts:
            raise ValueError(f"initial_state has {len(given)} parts, expected {self._parts}")
        axis = 0 if time_major else 1
        parts = [array.unstack(convert_to_tensor(p, self._dtype), count, axis) for p in given]
        return [self._together(list(one)) for one in zip(*parts, strict=True)]

    def _together(self, parts: list[Any]) -> Any:
        return parts[0]

    def _apart(self, state: Any) -> tuple[Any, ...]:
        return (state,)


class CudnnLSTM(_CudnnRNN):
    """A net of LSTMs, with the weights and results of cuDNN's.

    A net called as net(inputs, initial_state=None, sequence_lengths=None, time_major=True,
    training=True) gives the outputs (time, batch, directions * n) and the last states (h, c), each
    (layers * directions, batch, n). With time_major=False the batch comes first.

    Args:
        num_layers: number of layers.
        num_units: size of h and c.
        input_mode: "linear_input", or "auto_select" where the inputs' depth is another one than
            num_units; "skip_input" is refused.
        direction: "unidirectional" or "bidirectional".
        dropout: probability to drop an element of the inputs of a layer but the first.
        seed: of the dropout and of the default initializer.
        dtype: of the variables; float16, float32 or float64.
        kernel_initializer: of each of cuDNN's matrices; None: Glorot uniform.
        bias_initializer: of each of cuDNN's biases, of which two are summed; None: zeros.
        name: of its scope.

    There is no opaque buffer: the variables are those that TensorFlow's checkpoints have, such as
    cudnn_lstm/rnn/multi_rnn_cell/cell_0/cudnn_compatible_lstm_cell/kernel or, bidirectional,
    cudnn_lstm/stack_bidirectional_rnn/cell_0/bidirectional_rnn/fw/cudnn_compatible_lstm_cell/bias.

    Raises:
        ValueError: an argument has another value.
    """

    _cell, _cell_name, _parts = CudnnCompatibleLSTMCell, "cudnn_compatible_lstm_cell", 2

    def _together(self, parts: list[Any]) -> Any:
        h, c = parts
        return LSTMStateTuple(c, h)

    def _apart(self, state: Any) -> tuple[Any, ...]:
        return state.h, state.c


class CudnnGRU(_CudnnRNN):
    """A net of GRUs, with the weights and results of cuDNN's.

    Args, calls and errors: as CudnnLSTM's, with one state h. The variables are those of
    CudnnCompatibleGRUCell.
    """

    _cell, _cell_name = CudnnCompatibleGRUCell, "cudnn_compatible_gru_cell"


class CudnnRNNTanh(_CudnnRNN):
    """A net of tanh([inputs, state] kernel + bias), with the weights and results of cuDNN's.

    Args, calls and errors: as CudnnLSTM's, with one state h. The variables are those of
    tf.nn.rnn_cell.BasicRNNCell.
    """

    _cell, _cell_name = BasicCell, "basic_rnn_cell"


class CudnnRNNRelu(_CudnnRNN):
    """A net of relu([inputs, state] kernel + bias), with the weights and results of cuDNN's.

    Args, calls and errors: as CudnnLSTM's, with one state h. The variables are those of
    tf.nn.rnn_cell.BasicRNNCell.
    """

    _cell_name = "basic_rnn_cell"

    @staticmethod
    def _cell(num_units: int) -> BasicCell:
        return BasicCell(num_units, activation=nn.relu)
