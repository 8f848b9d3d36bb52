"""Cells whose steps TensorFlow computes by one operator, and nets over all steps at once.

Here a step is built of the usual operators, with the variables of TensorFlow's names.
"""

from __future__ import annotations

import abc
from typing import Any

from graphio.autodiff.custom_gradients import grad_pass_through
from graphio.contrib.rnn.base import limited
from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.layers.base import Layer
from graphio.layers.input_spec import InputSpec
from graphio.layers.rnn import dynamic_rnn, static_rnn
from graphio.layers.rnn_cell import GRUCell, LSTMCell, LSTMStateTuple
from graphio.ops.array import arranging, filling, index
from graphio.ops.array import surface as array
from graphio.ops.math import elementwise
from graphio.variables import initializers

__all__ = [
    "FusedRNNCell",
    "FusedRNNCellAdaptor",
    "GRUBlockCell",
    "GRUBlockCellV2",
    "LSTMBlockCell",
    "LSTMBlockFusedCell",
    "LSTMBlockWrapper",
    "TimeReversedFusedRNN",
]


class LSTMBlockCell(LSTMCell):
    """An LSTM with the variables of tf.nn.rnn_cell.LSTMCell.

    Args:
        num_units: size of c and h.
        forget_bias: added to the forget gate.
        cell_clip: c is limited to this; None, or a number that is not above 0: it is not.
        use_peephole: True lets the gates see c.
        dtype: of the variables; None: that of the first input.
        reuse: True takes the variables of the scope.
        name: of its scope.

    Variables: kernel (depth + n, 4 n), bias (4 n); w_i_diag, w_f_diag, w_o_diag (n).
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        dtype: Any = None,
        reuse: Any = None,
        name: str = "lstm_cell",
    ) -> None:
        clip = cell_clip if cell_clip is not None and cell_clip > 0 else None
        super().__init__(
            num_units, use_peephole, clip, forget_bias=forget_bias, dtype=dtype, reuse=reuse,
            name=name,
        )  # fmt: skip

    def build(self, input_shape: Any) -> None:
        """Makes the variables."""
        self.take(
            *lstm_variables(self, self._depth(input_shape), self._num_units, self._use_peepholes)
        )

    def take(self, kernel: Any, bias: Any, peepholes: list[Any]) -> None:
        """Takes variables instead of making them; peepholes: of i, f and o."""
        self._kernel, self._bias = kernel, bias
        if peepholes:
            of_i, of_f, of_o = peepholes
            self._peepholes = [of_f, of_i, of_o]
        self.built = True

    def _clipped(self, c: Any) -> Any:
        """c within the limits; as TensorFlow's operator, gradients pass them by."""
        if self._cell_clip is None:
            return c
        return grad_pass_through(lambda x: limited(x, self._cell_clip))(c)


def lstm_variables(layer: Layer, depth: int, n: int, peepholes: bool) -> tuple[Any, Any, list[Any]]:
    """The variables of an LSTM of n units, made by a layer: kernel, bias, peepholes."""
    zeros = initializers.zeros_initializer()
    kernel = layer.add_variable("kernel", [depth + n, 4 * n])
    bias = layer.add_variable("bias", [4 * n], initializer=zeros)
    seen = "ifo" if peepholes else ""
    return kernel, bias, [layer.add_variable(f"w_{gate}_diag", [n]) for gate in seen]


class GRUBlockCell(GRUCell):
    """A GRU.

    Args:
        num_units: size of the state.
        cell_size: an older name of num_units.
        reuse: True takes the variables of the scope.
        name: of its scope.

    Variables: w_ru (depth + n, 2 n), b_ru (2 n), w_c (depth + n, n), b_c (n).

    Raises:
        ValueError: not exactly one of num_units and cell_size is given.
    """

    _names = (("w_ru", "b_ru"), ("w_c", "b_c"))

    def __init__(
        self,
        num_units: int | None = None,
        cell_size: int | None = None,
        reuse: Any = None,
        name: str = "gru_cell",
    ) -> None:
        found = [size for size in (num_units, cell_size) if size is not None]
        if len(found) != 1:
            raise ValueError("Exactly one of num_units or cell_size must be provided.")
        super().__init__(found[0], reuse=reuse, name=name)

    def build(self, input_shape: Any) -> None:
        """Makes the variables."""
        n = self._num_units
        rows, made = self._depth(input_shape) + n, []
        for (kernel, bias), size, first in zip(self._names, (2 * n, n), (1.0, 0.0), strict=True):
            start = initializers.constant_initializer(first)
            matrix = self.add_variable(kernel, [rows, size])
            made.append((matrix, self.add_variable(bias, [size], initializer=start)))
        self._gates, self._candidate = made
        self.built = True


class GRUBlockCellV2(GRUBlockCell):
    """A GRUBlockCell with the variables of tf.nn.rnn_cell.GRUCell: gates/kernel, gates/bias,
    candidate/kernel and candidate/bias.

    Args: as GRUBlockCell's.
    """

    _names = (("gates/kernel", "gates/bias"), ("candidate/kernel", "candidate/bias"))


class FusedRNNCell(abc.ABC):
    """A recurrent net over all steps at once; subclasses give the call."""

    @abc.abstractmethod
    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> Any:
        """The outputs and the last state.

        Args:
            inputs: (time, batch, depth), or a list of (batch, depth).
            initial_state: the first state; None: zeros.
            dtype: of the first state; only where initial_state is None.
            sequence_length: ints (batch); None: all have the length of the inputs.
            scope: variable scope.
        """


class FusedRNNCellAdaptor(FusedRNNCell):
    """A net over all steps that consists of a cell.

    Args:
        cell: an RNNCell.
        use_dynamic_rnn: whether the steps are a loop of the graph; False: they are built one by
            one, which needs a known number of them.
    """

    def __init__(self, cell: Any, use_dynamic_rnn: bool = False) -> None:
        self._cell, self._dynamic = cell, use_dynamic_rnn

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> Any:
        """See FusedRNNCell."""
        is_list = isinstance(inputs, list)
        rest = {"initial_state": initial_state, "dtype": dtype, "scope": scope}
        rest["sequence_length"] = sequence_length
        if self._dynamic:
            stacked = array.stack(inputs) if is_list else inputs
            outputs, state = dynamic_rnn(self._cell, stacked, time_major=True, **rest)
            return (array.unstack(outputs) if is_list else outputs), state
        pieces = inputs if is_list else array.unstack(convert_to_tensor(inputs))
        outputs, state = static_rnn(self._cell, pieces, **rest)
        return (outputs if is_list else array.stack(outputs)), state


class TimeReversedFusedRNN(FusedRNNCell):
    """A net over all steps that starts at the ends of the sequences.

    Args:
        cell: a FusedRNNCell.
    """

    def __init__(self, cell: Any) -> None:
        self._cell = cell

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> Any:
        """See FusedRNNCell."""
        outputs, state = self._cell(
            _backwards(inputs, sequence_length), initial_state=initial_state, dtype=dtype,
            sequence_length=sequence_length, scope=scope,
        )  # fmt: skip
        return _backwards(outputs, sequence_length), state


def _backwards(x: Any, lengths: Any) -> Any:
    if isinstance(x, list):
        return x[::-1]
    if lengths is None:
        return index.reverse(x, [0])
    return arranging.reverse_sequence(x, lengths, seq_axis=0, batch_axis=1)


class LSTMBlockWrapper(Layer):
    """An LSTM over all steps; subclasses give num_units, build and _call_cell.

    A net called as net(inputs, initial_state, dtype, sequence_length) gives the outputs, zeros past
    the end of a sequence, and the last LSTMStateTuple of each sequence. Inputs are
    (time, batch, depth), or a list of (batch, depth) for a list of outputs.
    """

    input_spec = InputSpec(ndim=3)

    @property
    def num_units(self) -> int:
        """Size of c and h."""
        raise NotImplementedError("Abstract method")

    def __call__(self, inputs: Any, *arguments: Any, **options: Any) -> Any:
        """The outputs and the last state.

        Args:
            inputs: as the class says.
            arguments, options: initial_state, a pair of c and h, or None for zeros; dtype of the
                zeros; sequence_length, ints (batch), or None.

        Raises:
            ValueError: neither initial_state nor dtype is given.
        """
        if not isinstance(inputs, list):
            return super().__call__(inputs, *arguments, **options)
        outputs, state = super().__call__(array.stack(inputs), *arguments, **options)
        return array.unstack(outputs), state

    def call(
        self, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None
    ) -> Any:
        """Builds the net."""
        if initial_state is None:
            if dtype is None:
                raise ValueError("Either initial_state or dtype needs to be specified")
            zeros = array.zeros([array.shape(inputs)[1], self.num_units], dtype)
            initial_state = (zeros, zeros)
        elif len(initial_state) != 2:
            raise ValueError("Expecting initial_state to be a tuple with length 2 or None")
        return self._over_time(inputs, LSTMStateTuple(*initial_state), sequence_length)

    def _over_time(self, inputs: Any, state: LSTMStateTuple, lengths: Any) -> Any:
        cells, outputs = self._call_cell(inputs, state.c, state.h, state.c.dtype, lengths)
        if lengths is None:
            return outputs, LSTMStateTuple(cells[-1], outputs[-1])
        size = array.shape(inputs)
        known = array.transpose(arranging.sequence_mask(lengths, size[0], outputs.dtype))
        outputs *= array.expand_dims(known, -1)
        ends = elementwise.cast(lengths, dtypes.int32)
        at = array.stack([ends, filling.range(size[1])], axis=1)
        # an empty sequence ends with its first state
        ended = [
            index.gather_nd(array.concat([array.expand_dims(first, 0), steps], 0), at)
            for first, steps in ((state.c, cells), (state.h, outputs))
        ]
        return outputs, LSTMStateTuple(*ended)

    def _call_cell(
        self,
        inputs: Any,
        initial_cell_state: Any,
        initial_output: Any,
        dtype: Any,
        sequence_length: Any,
    ) -> tuple[Any, Any]:
        """The states c and the outputs of all steps, each (time, batch, num_units)."""
        raise NotImplementedError("Abstract method")


class LSTMBlockFusedCell(LSTMBlockWrapper):
    """An LSTM over all steps.

    Args:
        num_units: size of c and h.
        forget_bias, cell_clip, use_peephole: as LSTMBlockCell's.
        reuse: True takes the variables of the scope.
        dtype: of the variables; None: that of the inputs.
        name: of its scope.

    Variables: as LSTMBlockCell's.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        reuse: Any = None,
        dtype: Any = None,
        name: str = "lstm_fused_cell",
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._step = LSTMBlockCell(num_units, forget_bias, cell_clip, use_peephole, dtype)
        self._peepholes = use_peephole

    @property
    def num_units(self) -> int:
        """Size of c and h."""
        return int(self._step.output_size)

    def build(self, input_shape: Any) -> None:
        """Makes the variables."""
        depth = input_shape[2].value
        if depth is None:
            raise ValueError(f"Expecting inputs_shape[2] to be set: {input_shape}")
        self._step.take(*lstm_variables(self, depth, self.num_units, self._peepholes))
        self.built = True

    def _over_time(self, inputs: Any, state: LSTMStateTuple, lengths: Any) -> Any:
        return dynamic_rnn(
            self._step, inputs, sequence_length=lengths, initial_state=state, time_major=True
        )
