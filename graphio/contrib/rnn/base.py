"""The base of the cells of this package: variables that are made where a cell is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphio.framework.graph import Tensor
from graphio.layers.rnn_cell import LSTMStateTuple, RNNCell, _check_cell
from graphio.ops.array import surface as array
from graphio.ops.linalg import matmul
from graphio.ops.math import elementwise
from graphio.ops.nn import core as nn
from graphio.variables import initializers
from graphio.variables.variable_scope import get_variable, get_variable_scope, variable_scope

__all__ = [
    "Cell",
    "LSTMShapedCell",
    "ProjectedCell",
    "Wrapper",
    "depth_of",
    "limited",
    "linear",
    "normalized",
    "sharded",
    "with_initializer",
]


class Cell(RNNCell):
    """A cell whose variables are made in `call`, in the variable scopes that it opens."""

    def variable(self, name: str, shape: Sequence[int], dtype: Any = None, **options: Any) -> Any:
        """A variable of the current scope, which the cell lists among its own once.

        Args:
            name, shape: of the variable.
            dtype: None: float32.
            options: initializer and trainable, as tf.get_variable's.
        """
        lists = (self._own_trainable, self._own_others)
        known = [list(one) for one in lists]
        made = self.add_variable(name, shape=list(shape), dtype=dtype or "float32", **options)
        for one, before in zip(lists, known, strict=True):
            one[:] = before + [v for v in one[len(before) :] if not any(v is b for b in before)]
        return made

    def linear(self, inputs: Any, size: int, bias: bool = True) -> Tensor:
        """As the function linear, with variables of the cell."""
        return linear(inputs, size, bias, self.variable)


class LSTMShapedCell(Cell):
    """A cell with the state and the output of an LSTM without projection."""

    _num_units: int

    @property
    def state_size(self) -> Any:
        """LSTMStateTuple of the sizes."""
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> Any:
        """The number of units."""
        return self._num_units


class ProjectedCell(Cell):
    """A cell with the state of an LSTM, whose output may be projected to another size."""

    def __init__(self, num_units: int, num_proj: int | None, reuse: Any, **options: Any) -> None:
        super().__init__(_reuse=reuse, **options)
        self._num_units, self._num_proj = num_units, num_proj

    @property
    def state_size(self) -> Any:
        """LSTMStateTuple of the sizes."""
        return LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self) -> Any:
        """num_proj; without one the number of units."""
        return self._num_proj or self._num_units


class Wrapper(Cell):
    """A cell around another, which adds variables of its scope to those of the other."""

    def __init__(self, cell: Any, reuse: Any = None) -> None:
        super().__init__(_reuse=reuse)
        _check_cell(cell)
        self._cell = cell

    @property
    def state_size(self) -> Any:
        """That of the cell inside."""
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        """That of the cell inside."""
        return self._cell.output_size

    @property
    def trainable_variables(self) -> list[Any]:
        """Those of the wrapper and of the cell inside."""
        return [*super().trainable_variables, *self._cell.trainable_variables]

    @property
    def non_trainable_variables(self) -> list[Any]:
        """Those of the wrapper and of the cell inside."""
        return [*super().non_trainable_variables, *self._cell.non_trainable_variables]

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """That of the cell inside."""
        return self._cell.zero_state(batch_size, dtype)


def linear(
    inputs: Any, size: int, bias: bool = True, variable: Callable[..., Any] = get_variable
) -> Tensor:
    """inputs kernel + bias, whose variables are in the current scope.

    Args:
        inputs: tensor (batch, depth) or a list of such, which are joined.
        size: of the result, (batch, size).
        bias: whether there is one.
        variable: makes the variables from name, shape and dtype.

    Raises:
        ValueError: an input has another rank, or its depth is unknown.
    """
    parts = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    depth = sum(depth_of(x) for x in parts)
    joined = parts[0] if len(parts) == 1 else array.concat(parts, 1)
    dtype, zeros = parts[0].dtype, initializers.zeros_initializer()
    made = matmul.matmul(joined, variable("kernel", [depth, size], dtype))
    return nn.bias_add(made, variable("bias", [size], dtype, initializer=zeros)) if bias else made


def depth_of(x: Any) -> int:
    """The size of the last dimension of a matrix.

    Raises:
        ValueError: the tensor is not a matrix, or the size is unknown.
    """
    if x.shape.ndims != 2:
        raise ValueError(f"'{x.name}' has shape {x.shape}, expected (batch, depth)")
    depth = x.shape[-1].value
    if depth is None:
        raise ValueError(
            f"'{x.name}' has shape {x.shape}, expected a known depth; give it one with set_shape"
        )
    return int(depth)


def limited(x: Any, bound: float | None) -> Any:
    """The values of x within -bound and bound; None: x."""
    return x if bound is None else elementwise.clip_by_value(x, -bound, bound)


def with_initializer(initializer: Any) -> Any:
    """The current scope with another initializer of variables; None: with its own."""
    return variable_scope(get_variable_scope(), initializer=initializer)


def sharded(cell: Cell, name: str, shape: Sequence[int], shards: int) -> Any:
    """A matrix that consists of variables NAME_0, NAME_1 and so on, each with some of its rows.

    Raises:
        ValueError: there are more shards than rows.
    """
    rows, *others = shape
    if shards > rows:
        raise ValueError(f"Too many shards: shape={list(shape)}, num_shards={shards}")
    least, more = divmod(rows, shards)
    parts = [
        cell.variable(f"{name}_{i}", [least + (i < more), *others], cell.dtype)
        for i in range(shards)
    ]
    return parts[0] if shards == 1 else array.concat(parts, 0)


def normalized(cell: Cell, x: Any, scope: str, gain: float, shift: float) -> Tensor:
    """Layer normalization of rows; its variables are gamma and beta in the scope.

    Args:
        cell: has the variables.
        x: (batch, size).
        scope: the name of the variable scope.
        gain, shift: the first values of gamma and beta.
    """
    size, start = [depth_of(x)], initializers.constant_initializer
    with variable_scope(scope):
        gamma = cell.variable("gamma", size, x.dtype, initializer=start(gain))
        beta = cell.variable("beta", size, x.dtype, initializer=start(shift))
        mean, variance = nn.moments(x, [1], keep_dims=True)
        least = 1e-3 if x.dtype.size == 2 else 1e-12
        return nn.batch_normalization(x, mean, variance, beta, gamma, least)
