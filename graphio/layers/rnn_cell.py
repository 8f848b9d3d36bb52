"""tf.nn.rnn_cell: one step of a recurrent net, from an input and a state to an output and a state.

A cell is a layer whose variables are made in the scope of the net that calls it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from graphio.framework import api_boundary, dtypes, nest, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import Dimension, TensorShape
from graphio.layers.base import Layer
from graphio.layers.configs import activation_of_cell, described, named
from graphio.layers.input_spec import InputSpec
from graphio.ops.array import surface as array
from graphio.ops.linalg import matmul
from graphio.ops.math import elementwise
from graphio.ops.nn import core as nn
from graphio.ops.random import core as random
from graphio.variables import initializers
from graphio.variables.variable_scope import variable_scope

__all__ = [
    "BasicLSTMCell",
    "BasicRNNCell",
    "DeviceWrapper",
    "DropoutWrapper",
    "GRUCell",
    "LSTMCell",
    "LSTMStateTuple",
    "MultiRNNCell",
    "RNNCell",
    "ResidualWrapper",
]


class LSTMStateTuple(NamedTuple):
    """The state of an LSTM: the cells' values c and the output h."""

    c: Any
    h: Any

    @property
    def dtype(self) -> Any:
        """The dtype of both. Raises TypeError if they differ."""
        if self.c.dtype != self.h.dtype:
            raise TypeError(f"Inconsistent internal state: {self.c.dtype} vs {self.h.dtype}")
        return self.c.dtype


class RNNCell(Layer):
    """A step of a recurrent net; subclasses give state_size, output_size and call(inputs, state).

    A cell called as cell(inputs, state) gives (output, next state). Sizes are ints, TensorShapes
    or structures of them.

    Args:
        trainable: whether optimizers change its variables.
        name: of its scope; None: the class's name in lower case.
        dtype: of its variables; None: that of the first input.
    """

    #: arguments of the constructor that the configuration has, each the attribute `_argument`
    _configured: tuple[str, ...] = ()

    @api_boundary.rolling_back
    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """The output and the next state.

        Args:
            inputs: (batch, size).
            state: of state_size, each part (batch, size).
            scope: variable scope of its variables; None: the one around with the cell's name.

        Raises:
            ValueError: the input's rank or size is not what the cell takes.
        """
        return super().__call__(inputs, state, scope=scope)

    def get_config(self) -> dict[str, Any]:
        """The arguments of a constructor call that makes an equal cell.

        Initializers are {"class_name": ..., "config": ...}, activations names, the dtype is its
        name or None, all others are as they were given.
        """
        found = {
            "name": self._name,
            "trainable": self.trainable,
            "dtype": None if self._dtype is None else self._dtype.name,
        }
        arguments = {name: described(getattr(self, f"_{name}")) for name in self._configured}
        return {**found, **arguments}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> RNNCell:
        """The cell that get_config describes.

        Raises:
            ValueError: an initializer or activation has an unknown name.
        """
        return cls(**config)

    @property
    def state_size(self) -> Any:
        """The size of the state, or a structure of sizes."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        """The size of the output, or a structure of sizes."""
        raise NotImplementedError("Abstract method")

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """A state of zeros; batch_size: int or int scalar tensor."""
        with scopes.name_scope(type(self).__name__ + "ZeroState"):
            return nest.map_structure(
                lambda size: zeros_of(batch_size, size, dtype), self.state_size
            )

    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: Any = None
    ) -> Any:
        """A state of zeros; batch size and dtype are those of inputs where it is given.

        Raises:
            ValueError: neither inputs nor both of the others are given, or one of them is not that
                of inputs.
        """
        if inputs is not None:
            first: Any = convert_to_tensor(inputs)
            _check_same(first, batch_size, dtype)
            shape: Any = array.shape(first)
            batch_size, dtype = shape[0], first.dtype
        if batch_size is None or dtype is None:
            raise ValueError(
                "batch_size and dtype cannot be None while constructing initial state: "
                f"batch_size={batch_size}, dtype={dtype}"
            )
        return self.zero_state(batch_size, dtype)


def _check_same(inputs: Tensor, batch_size: Any, dtype: Any) -> None:
    static = _known(batch_size)
    own = inputs.shape[0].value if inputs.shape.ndims else None
    if static is not None and own != static:
        raise ValueError(
            f"batch size from input tensor is different from the input param. Input tensor batch: "
            f"{own}, batch_size: {batch_size}"
        )
    if dtype is not None and inputs.dtype != dtypes.as_dtype(dtype):
        raise ValueError(
            f"dtype from input tensor is different from the input param. Input tensor dtype: "
            f"{inputs.dtype.name}, dtype: {dtypes.as_dtype(dtype).name}"
        )


def _known(size: Any) -> int | None:
    """A size as a number, where it is known."""
    known = constant_value(size) if isinstance(size, Tensor) else size
    known = known.value if isinstance(known, Dimension) else known
    return None if known is None else int(known)


def zeros_of(batch_size: Any, size: Any, dtype: Any) -> Tensor:
    """Zeros (batch_size, size...)."""
    dims = sizes(size)
    if not isinstance(batch_size, (int, Dimension)):
        batch_size = elementwise.cast(convert_to_tensor(batch_size), dtypes.int32)
    made: Tensor = array.zeros([batch_size, *dims], dtype)
    return made


def sizes(size: Any) -> list[int]:
    """A cell's size as the dimensions after the batch."""
    dims = size.as_list() if isinstance(size, TensorShape) else [size]
    known = [d.value if isinstance(d, Dimension) else d for d in dims]
    if None in known:
        raise ValueError(f"a cell's size is {size}, expected all of it to be known")
    return [int(d) for d in known if d is not None]


def _count(num_units: Any) -> int:
    """A cell's size. Raises TypeError or ValueError if it is not an integer of 1 or more."""
    if not hasattr(num_units, "__index__"):
        raise TypeError(f"num_units is {num_units!r}, expected an integer of 1 or more")
    if operator.index(num_units) < 1:
        raise ValueError(f"num_units is {num_units!r}, expected an integer of 1 or more")
    return operator.index(num_units)


# ---- cells ----


class _Gated(RNNCell):
    """A cell of num_units that multiplies [inputs, state] by kernels."""

    input_spec = InputSpec(ndim=2)
    _configured: tuple[str, ...] = ("num_units", "activation", "reuse")

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(name=name, dtype=dtype, _reuse=reuse, **options)
        self._num_units = _count(num_units)
        self._activation = activation_of_cell(activation)

    @property
    def state_size(self) -> Any:
        """The number of units."""
        return self._num_units

    @property
    def output_size(self) -> Any:
        """The number of units."""
        return self._num_units

    def _depth(self, input_shape: TensorShape) -> int:
        depth = input_shape[-1].value
        if depth is None:
            raise ValueError(
                f"Expected inputs.shape[-1] to be known, saw shape: {input_shape}; give the inputs "
                "a last dimension with set_shape"
            )
        return int(depth)

    def _weights(
        self, rows: int, columns: int, prefix: str = "", kernel: Any = None, bias: Any = None
    ) -> tuple[Any, Any]:
        """A kernel and a bias, which begins with zeros."""
        if self._dtype is not None and not self._dtype.is_floating:
            raise ValueError(
                f"RNN cell only supports floating point inputs, but saw dtype: {self._dtype.name}"
            )
        bias = initializers.zeros_initializer() if bias is None else bias
        made = self.add_variable(prefix + "kernel", shape=[rows, columns], initializer=kernel)
        return made, self.add_variable(prefix + "bias", shape=[columns], initializer=bias)


def _projected(parts: Sequence[Any], kernel: Any, bias: Any) -> Tensor:
    projected = matmul.matmul(array.concat(list(parts), 1), kernel)
    return nn.bias_add(projected, bias)


class BasicRNNCell(_Gated):
    """output = next state = activation([inputs, state] kernel + bias).

    Args:
        num_units: size of the state.
        activation: a function or its name; None: tanh.
        reuse: True takes the variables of the scope.
        name, dtype: as RNNCell's.

    Variables: kernel (depth + num_units, num_units), bias (num_units).
    """

    def build(self, input_shape: Any) -> None:
        """Makes the variables."""
        depth = self._depth(input_shape)
        self._kernel, self._bias = self._weights(depth + self._num_units, self._num_units)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """Builds the step."""
        output = self._activation(_projected([inputs, state], self._kernel, self._bias))
        return output, output


class GRUCell(_Gated):
    """The gated recurrent unit of Cho et al. (2014).

    With r, u = sigmoid([inputs, state] gates), the next state and output is u * state +
    (1 - u) * activation([inputs, r * state] candidate).

    Args:
        num_units: size of the state.
        activation: a function or its name; None: tanh.
        reuse: True takes the variables of the scope.
        kernel_initializer: of both kernels; None: the scope's.
        bias_initializer: of both biases; None: ones for the gates, zeros for the candidate.
        name, dtype: as RNNCell's.

    Variables: gates/kernel (depth + n, 2 n), gates/bias (2 n), candidate/kernel (depth + n, n),
    candidate/bias (n).
    """

    _configured: tuple[str, ...] = (
        *("num_units", "kernel_initializer", "bias_initializer", "activation", "reuse"),
    )

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: Any = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype, **options)
        self._kernel_initializer = named("initializer", kernel_initializer)
        self._bias_initializer = named("initializer", bias_initializer)

    def build(self, input_shape: Any) -> None:
        """Makes the variables."""
        n, kernel, bias = self._num_units, self._kernel_initializer, self._bias_initializer
        rows = self._depth(input_shape) + n
        ones = initializers.ones_initializer() if bias is None else bias
        self._gates = self._weights(rows, 2 * n, "gates/", kernel, ones)
        self._candidate = self._weights(rows, n, "candidate/", kernel, bias)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """Builds the step."""
        gates = elementwise.sigmoid(_projected([inputs, state], *self._gates))
        r, u = array.split(gates, 2, axis=1)
        candidate = self._activation(_projected([inputs, r * state], *self._candidate))
        output = u * state + (1.0 - u) * candidate
        return output, output


class _LSTM(_Gated):
    """The code that both LSTM cells share: the state c and h, as a pair or joined."""

    _state_is_tuple: bool
    _output: int

    @property
    def state_size(self) -> Any:
        """LSTMStateTuple of the sizes; their sum where the state is not a tuple."""
        pair = LSTMStateTuple(self._num_units, self._output)
        return pair if self._state_is_tuple else sum(pair)

    @property
    def output_size(self) -> Any:
        """The size of the output."""
        return self._output

    def _apart(self, state: Any) -> tuple[Any, Any]:
        if self._state_is_tuple:
            c, h = state
            return c, h
        n = self._num_units
        return state[:, :n], state[:, n:]

    def _together(self, c: Any, h: Any) -> Any:
        return LSTMStateTuple(c, h) if self._state_is_tuple else array.concat([c, h], 1)


class BasicLSTMCell(_LSTM):
    """The LSTM of Hochreiter and Schmidhuber (1997) with forget gates, without peepholes.

    With i, j, f, o = [inputs, h] kernel + bias, the next c is c * sigmoid(f + forget_bias) +
    sigmoid(i) * activation(j) and the next h, the output, is activation(c) * sigmoid(o).

    Args:
        num_units: size of c and h.
        forget_bias: added to the forget gate.
        state_is_tuple: False joins c and h into one tensor.
        activation: a function or its name; None: tanh.
        reuse: True takes the variables of the scope.
        name, dtype: as RNNCell's.

    Variables: kernel (depth + n, 4 n), bias (4 n).
    """

    _configured: tuple[str, ...] = (
        *("num_units", "forget_bias", "state_is_tuple", "activation", "reuse"),
    )

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype, **options)
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._output = self._num_units

    def build(self, input_shape: Any) -> None:
        """Makes the variables."""
        n = self._num_units
        self._kernel, self._bias = self._weights(self._depth(input_shape) + n, 4 * n)
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """Builds the step."""
        c, h = self._apart(state)
        gates = _projected([inputs, h], self._kernel, self._bias)
        i, j, f, o = array.split(gates, 4, axis=1)
        act = self._activation
        c = c * elementwise.sigmoid(f + self._forget_bias) + elementwise.sigmoid(i) * act(j)
        h = act(c) * elementwise.sigmoid(o)
        return h, self._together(c, h)


class LSTMCell(_LSTM):
    """The LSTM of Sak et al. (2014): BasicLSTMCell's with peepholes, clipping and a projection.

    Args:
        num_units: size of c.
        use_peepholes: True lets the gates see c.
        cell_clip: c is limited to this; None: it is not.
        initializer: of the kernels and peepholes; None: the scope's.
        num_proj: size of h, which is projected; None: num_units, and it is not.
        proj_clip: the projection is limited to this.
        num_unit_shards, num_proj_shards: accepted.
        forget_bias: added to the forget gate.
        state_is_tuple: False joins c and h into one tensor.
        activation: a function or its name; None: tanh.
        reuse: True takes the variables of the scope.
        name, dtype: as RNNCell's.

    Variables: kernel (depth + num_proj, 4 n), bias (4 n); w_f_diag, w_i_diag, w_o_diag (n) with
    peepholes; projection/kernel (n, num_proj).
    """

    _configured: tuple[str, ...] = (
        *("num_units", "use_peepholes", "cell_clip", "initializer", "num_proj", "proj_clip"),
        *("num_unit_shards", "num_proj_shards", "forget_bias", "state_is_tuple"),
        *("activation", "reuse"),
    )

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: Any = None,
        num_proj_shards: Any = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype, **options)
        self._use_peepholes, self._cell_clip = use_peepholes, cell_clip
        self._initializer = named("initializer", initializer)
        self._num_proj, self._proj_clip = num_proj, proj_clip
        self._num_unit_shards, self._num_proj_shards = num_unit_shards, num_proj_shards
        self._forget_bias, self._state_is_tuple = forget_bias, state_is_tuple
        self._output = num_proj or self._num_units

    def build(self, input_shape: Any) -> None:
        """Makes the variables."""
        n, initializer = self._num_units, self._initializer
        rows = self._depth(input_shape) + self._output
        self._kernel, self._bias = self._weights(rows, 4 * n, kernel=initializer)
        if self._use_peepholes:
            self._peepholes = [
                self.add_variable(f"w_{gate}_diag", shape=[n], initializer=initializer)
                for gate in "fio"
            ]
        if self._num_proj is not None:
            self._projection = self.add_variable(
                "projection/kernel", shape=[n, self._num_proj], initializer=initializer
            )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """Builds the step."""
        c, h = self._apart(state)
        gates = _projected([inputs, h], self._kernel, self._bias)
        i, j, f, o = array.split(gates, 4, axis=1)
        f = f + self._forget_bias
        act = self._activation
        if self._use_peepholes:
            of_f, of_i, of_o = self._peepholes
            f, i = f + of_f * c, i + of_i * c
        c = elementwise.sigmoid(f) * c + elementwise.sigmoid(i) * act(j)
        c = self._clipped(c)
        if self._use_peepholes:
            o = o + of_o * c
        h = elementwise.sigmoid(o) * act(c)
        if self._num_proj is not None:
            h = _limited(matmul.matmul(h, self._projection), self._proj_clip)
        return h, self._together(c, h)

    def _clipped(self, c: Any) -> Any:
        return _limited(c, self._cell_clip)


def _limited(x: Any, bound: float | None) -> Any:
    return x if bound is None else elementwise.clip_by_value(x, -bound, bound)


# ---- cells of cells ----


class MultiRNNCell(RNNCell):
    """Cells one above the other: the output of one is the input of the next.

    Args:
        cells: list of cells.
        state_is_tuple: False joins all states into one tensor.

    Raises:
        ValueError: there are no cells, or the states are structures and state_is_tuple is False.
        TypeError: cells is not a list, or has an element that is not a cell.
    """

    def __init__(self, cells: Sequence[Any], state_is_tuple: bool = True) -> None:
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not isinstance(cells, (list, tuple)):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells}.")
        for cell in cells:
            _check_cell(cell)
        self._cells, self._state_is_tuple = list(cells), state_is_tuple
        if not state_is_tuple and any(nest.is_nested(c.state_size) for c in cells):
            raise ValueError(
                "Some cells return tuples of states, but the flag state_is_tuple is not set. State "
                f"sizes are: {[c.state_size for c in cells]}"
            )

    @property
    def state_size(self) -> Any:
        """A tuple of the cells' sizes; their sum where the state is not a tuple."""
        found = tuple(cell.state_size for cell in self._cells)
        return found if self._state_is_tuple else sum(found)

    @property
    def output_size(self) -> Any:
        """The size of the last cell's output."""
        return self._cells[-1].output_size

    @property
    def trainable_variables(self) -> list[Any]:
        """Those of all cells."""
        return [v for cell in self._cells for v in cell.trainable_variables]

    @property
    def non_trainable_variables(self) -> list[Any]:
        """Those of all cells."""
        return [v for cell in self._cells for v in cell.non_trainable_variables]

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """The zero states of the cells."""
        if not self._state_is_tuple:
            return super().zero_state(batch_size, dtype)
        with scopes.name_scope(type(self).__name__ + "ZeroState"):
            return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)

    def call(self, inputs: Any, state: Any) -> Any:
        """Builds the step."""
        if self._state_is_tuple and (not nest.is_nested(state) or len(state) != len(self._cells)):
            raise ValueError(
                f"Expected state to be a tuple of length {len(self._cells)}, but received: {state}"
            )
        output, following, at = inputs, [], 0
        for i, cell in enumerate(self._cells):
            with variable_scope(f"cell_{i}"):
                if self._state_is_tuple:
                    before = state[i]
                else:
                    before = state[:, at : at + cell.state_size]
                    at += cell.state_size
                output, after = cell(output, before)
                following.append(after)
        joined = tuple(following) if self._state_is_tuple else array.concat(following, 1)
        return output, joined


def _check_cell(cell: Any) -> None:
    """A cell is what behaves like one."""
    needed = ("output_size", "state_size", "zero_state")
    if not callable(cell) or not all(hasattr(type(cell), key) for key in needed):
        raise TypeError(f"The parameter cell is not a RNNCell: {cell!r}")


class _Wrapper(RNNCell):
    """A cell around another, whose variables keep their names."""

    def __init__(self, cell: Any, **options: Any) -> None:
        super().__init__(**options)
        _check_cell(cell)
        self.cell = cell

    def get_config(self) -> dict[str, Any]:
        """The arguments of a constructor call, with the cell inside as its class and config."""
        inside = {"class_name": type(self.cell).__name__, "config": self.cell.get_config()}
        return {**super().get_config(), "cell": inside}

    @classmethod
    def from_config(cls, config: Mapping[str, Any], custom_objects: Any = None) -> RNNCell:
        """The wrapper that get_config describes, with a cell in place of its description.

        Args:
            config: of get_config.
            custom_objects: accepted; no function is stored by its name.

        Raises:
            ValueError: the config has the description.
        """
        if isinstance(config["cell"], Mapping):
            raise ValueError(
                "RNNCellWrapper cannot reconstruct the wrapped cell. Please overwrite the cell in "
                "the config with a RNNCell instance."
            )
        return cls(**config)

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """The output and the next state, see RNNCell."""
        return self._wrapped(inputs, state, scope)

    def _wrapped(self, inputs: Any, state: Any, scope: Any) -> Any:
        return self.cell(inputs, state, scope=scope)

    @property
    def wrapped_cell(self) -> Any:
        """The cell inside."""
        return self.cell

    @property
    def state_size(self) -> Any:
        """That of the cell inside."""
        return self.cell.state_size

    @property
    def output_size(self) -> Any:
        """That of the cell inside."""
        return self.cell.output_size

    @property
    def trainable_variables(self) -> list[Any]:
        """Those of the cell inside."""
        return list(self.cell.trainable_variables)

    @property
    def non_trainable_variables(self) -> list[Any]:
        """Those of the cell inside."""
        return list(self.cell.non_trainable_variables)

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """That of the cell inside."""
        return self.cell.zero_state(batch_size, dtype)


class ResidualWrapper(_Wrapper):
    """A cell whose inputs are added to its outputs.

    Args:
        cell: the cell.
        residual_fn: from inputs and outputs to the outputs; None: their sum.
        options: name, trainable and dtype, as RNNCell's.
    """

    def __init__(
        self, cell: Any, residual_fn: Callable[[Any, Any], Any] | None = None, **options: Any
    ) -> None:
        super().__init__(cell, **options)
        self._residual = residual_fn

    def get_config(self) -> dict[str, Any]:
        """As the base's, with residual_fn, the function itself, where one is given."""
        given = {} if self._residual is None else {"residual_fn": self._residual}
        return {**super().get_config(), **given}

    def _wrapped(self, inputs: Any, state: Any, scope: Any) -> Any:
        output, following = self.cell(inputs, state, scope=scope)
        if self._residual is not None:
            return self._residual(inputs, output), following
        nest.assert_same_structure(inputs, output)
        for x, y in zip(nest.flatten(inputs), nest.flatten(output), strict=True):
            y.shape.assert_is_compatible_with(x.shape)
        return nest.map_structure(elementwise.add, inputs, output), following


class DeviceWrapper(_Wrapper):
    """A cell whose operations wish for a device.

    Args:
        cell: the cell.
        device: as tf.device takes it.
        options: name, trainable and dtype, as RNNCell's.
    """

    def __init__(self, cell: Any, device: Any, **options: Any) -> None:
        super().__init__(cell, **options)
        self._wish = device

    def get_config(self) -> dict[str, Any]:
        """As the base's, with the device."""
        return {**super().get_config(), "device": self._wish}

    def _wrapped(self, inputs: Any, state: Any, scope: Any) -> Any:
        with scopes.device(self._wish):
            return self.cell(inputs, state, scope=scope)


class DropoutWrapper(_Wrapper):
    """A cell with dropout of its inputs, outputs and states.

    Args:
        cell: the cell.
        input_keep_prob, output_keep_prob, state_keep_prob: probability to keep an element; number
            in (0, 1] or scalar tensor.
        variational_recurrent: True drops the same elements in every step.
        input_size: size of the inputs, which variational dropout of them needs.
        dtype: of what is dropped, which variational dropout needs.
        seed: of the random numbers.
        dropout_state_filter_visitor: from a part of the state to whether it is dropped, or a
            structure of that; None: all but c of an LSTM.
        options: name and trainable, as RNNCell's.

    Raises:
        TypeError: the cell is none.
        ValueError: a probability is out of range, or what variational dropout needs is missing.
    """

    def __init__(
        self,
        cell: Any,
        input_keep_prob: Any = 1.0,
        output_keep_prob: Any = 1.0,
        state_keep_prob: Any = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: Any = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Callable[[Any], Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(cell, dtype=dtype, **options)
        self._keep = {
            "input": _probability(input_keep_prob, "input_keep_prob"),
            "state": _probability(state_keep_prob, "state_keep_prob"),
            "output": _probability(output_keep_prob, "output_keep_prob"),
        }
        self._seed = seed
        self._filter = dropout_state_filter_visitor or _but_c
        self._variational_recurrent, self._input_size = variational_recurrent, input_size
        self._noise: dict[str, Any] = {}
        if variational_recurrent:
            self._make_noise(input_size, dtype)

    def get_config(self) -> dict[str, Any]:
        """As the base's, with the arguments; a dropout_state_filter_visitor is the function."""
        kept = {f"{what}_keep_prob": self._keep[what] for what in ("input", "output", "state")}
        found = {
            **super().get_config(),
            **kept,
            "variational_recurrent": self._variational_recurrent,
            "input_size": self._input_size,
            "seed": self._seed,
        }
        given = {} if self._filter is _but_c else {"dropout_state_filter_visitor": self._filter}
        return {**found, **given}

    def _make_noise(self, input_size: Any, dtype: Any) -> None:
        if dtype is None:
            raise ValueError("When variational_recurrent=True, dtype must be provided")
        if input_size is None and self._drops("input"):
            raise ValueError(
                "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, "
                "input_size must be provided"
            )
        every = {"input": input_size, "state": self.state_size, "output": self.output_size}
        for what, size in every.items():
            if size is None or not self._drops(what):
                continue
            flat = [
                random.random_uniform([1, *sizes(one)], seed=self._seed_of(what, i), dtype=dtype)
                for i, one in enumerate(nest.flatten(size))
            ]
            self._noise[what] = nest.pack_sequence_as(size, flat)

    def _drops(self, what: str) -> bool:
        keep = self._keep[what]
        return not isinstance(keep, float) or keep < 1.0

    def _seed_of(self, what: str, i: int = 0) -> int | None:
        """Another one for each part that is dropped."""
        if self._seed is None:
            return None
        return self._seed + 1000 * ("input", "state", "output").index(what) + i

    def _dropped(self, values: Any, what: str, chosen: Any = None) -> Any:
        if not self._drops(what):
            return values
        flat, keep = nest.flatten(values), self._keep[what]
        which = [True] * len(flat) if chosen is None else chosen
        noise = nest.flatten(self._noise.get(what, [None] * len(flat)))
        made = []
        for i, (x, mask, needed) in enumerate(zip(flat, noise, which, strict=True)):
            if not needed:
                made.append(x)
            elif mask is None:
                made.append(nn.dropout(x, keep_prob=keep, seed=self._seed_of(what, i)))
            else:
                kept = elementwise.floor(mask + keep)
                made.append(elementwise.truediv(x, elementwise.cast(keep, x.dtype)) * kept)
        return nest.pack_sequence_as(values, made)

    def _wrapped(self, inputs: Any, state: Any, scope: Any) -> Any:
        output, following = self.cell(self._dropped(inputs, "input"), state, scope=scope)
        chosen = _chosen(self._filter, following)
        return self._dropped(output, "output"), self._dropped(following, "state", chosen)


def _but_c(part: Any) -> Any:
    return LSTMStateTuple(c=False, h=True) if isinstance(part, LSTMStateTuple) else True


def _chosen(visitor: Callable[[Any], Any], part: Any) -> list[bool]:
    """For each leaf of a state what the visitor says of it or of what holds it."""
    answer = visitor(part)
    if nest.is_nested(answer):
        return [bool(a) for a in nest.flatten(answer)]
    if not nest.is_nested(part):
        return [bool(answer)]
    return [a for inner in nest.children(part) for a in _chosen(visitor, inner)]


def _probability(value: Any, name: str) -> Any:
    if isinstance(value, (int, float)):
        if not 0.0 < value <= 1.0:
            raise ValueError(f"Parameter {name} must be between 0 and 1: {value}")
        return float(value)
    tensor = convert_to_tensor(value)
    tensor.shape.assert_is_compatible_with(TensorShape([]))
    return tensor
