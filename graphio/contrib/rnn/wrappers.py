"""Cells around cells: projections, embeddings, attention over former outputs, highways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphio.contrib.rnn.base import Wrapper, depth_of
from graphio.framework import nest, scopes
from graphio.layers.rnn_cell import _Wrapper
from graphio.ops.array import surface as array
from graphio.ops.math import reduction
from graphio.ops.math.elementwise import sigmoid, tanh
from graphio.ops.nn import core as nn
from graphio.ops.nn.conv import conv2d
from graphio.ops.nn.core import embedding_lookup
from graphio.variables import initializers
from graphio.variables.variable_scope import get_variable, get_variable_scope, variable_scope

__all__ = [
    "AttentionCellWrapper",
    "CompiledWrapper",
    "EmbeddingWrapper",
    "HighwayWrapper",
    "InputProjectionWrapper",
    "OutputProjectionWrapper",
]


class EmbeddingWrapper(Wrapper):
    """A cell whose inputs are numbers of classes, of which it has the vectors.

    Args:
        cell: the cell.
        embedding_classes: number of classes.
        embedding_size: of a vector.
        initializer: of the vectors; None: the scope's, or uniform within the root of 3.
        reuse: True takes the variables of the scope.

    Variables: embedding (embedding_classes, embedding_size), of the state's dtype.

    Raises:
        ValueError: a size is not 1 or more.
    """

    def __init__(
        self,
        cell: Any,
        embedding_classes: int,
        embedding_size: int,
        initializer: Any = None,
        reuse: Any = None,
    ) -> None:
        super().__init__(cell, reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(
                f"Both embedding_classes and embedding_size must be > 0: {embedding_classes}, "
                f"{embedding_size}."
            )
        self._table, self._initializer = [embedding_classes, embedding_size], initializer

    def call(self, inputs: Any, state: Any) -> Any:
        """Builds the step."""
        with scopes.device("/cpu:0"):
            start = self._initializer or get_variable_scope().initializer
            if start is None:
                start = initializers.random_uniform_initializer(-(3**0.5), 3**0.5)
            kind = nest.flatten(state)[0].dtype
            embedding = self.variable("embedding", self._table, kind, initializer=start)
            return self._cell(embedding_lookup(embedding, array.reshape(inputs, [-1])), state)


class InputProjectionWrapper(Wrapper):
    """A cell whose inputs are projected.

    Args:
        cell: the cell.
        num_proj: size of what the cell gets.
        activation: of the projection, a function; None: none.
        input_size: accepted.
        reuse: True takes the variables of the scope.

    Variables: kernel (depth, num_proj), bias (num_proj).
    """

    def __init__(
        self,
        cell: Any,
        num_proj: int,
        activation: Callable[[Any], Any] | None = None,
        input_size: Any = None,
        reuse: Any = None,
    ) -> None:
        super().__init__(cell, reuse)
        self._size, self._activation = num_proj, activation

    def call(self, inputs: Any, state: Any) -> Any:
        """Builds the step."""
        projected = self.linear(inputs, self._size)
        return self._cell(self._activation(projected) if self._activation else projected, state)


class OutputProjectionWrapper(Wrapper):
    """A cell whose outputs are projected.

    Args:
        cell: the cell.
        output_size: of the projection.
        activation: of the projection, a function; None: none.
        reuse: True takes the variables of the scope.

    Variables: kernel (the cell's output size, output_size), bias (output_size).

    Raises:
        ValueError: output_size is not 1 or more.
    """

    def __init__(
        self,
        cell: Any,
        output_size: int,
        activation: Callable[[Any], Any] | None = None,
        reuse: Any = None,
    ) -> None:
        super().__init__(cell, reuse)
        if output_size < 1:
            raise ValueError(f"Parameter output_size must be > 0: {output_size}.")
        self._size, self._activation = output_size, activation

    @property
    def output_size(self) -> Any:
        """The size of the projection."""
        return self._size

    def call(self, inputs: Any, state: Any) -> Any:
        """Builds the step."""
        output, following = self._cell(inputs, state)
        projected = self.linear(output, self._size)
        return (self._activation(projected) if self._activation else projected), following


class AttentionCellWrapper(Wrapper):
    """A cell that attends to its last outputs (Bahdanau et al., 2014).

    Args:
        cell: the cell.
        attn_length: number of outputs that it sees.
        attn_size: of an output; None: the cell's output size.
        attn_vec_size: of the vectors that are compared; None: attn_size.
        input_size: of what the cell gets; None: that of the inputs.
        state_is_tuple: False joins the state into one tensor.
        reuse: True takes the variables of the scope.

    Variables: kernel, bias; attention/attn_w, attention/attn_v, attention/kernel, attention/bias;
    attn_output_projection/kernel, attn_output_projection/bias.

    Raises:
        ValueError: attn_length is not 1 or more, or the cell's state is a tuple and
            state_is_tuple is False.
    """

    def __init__(
        self,
        cell: Any,
        attn_length: int,
        attn_size: int | None = None,
        attn_vec_size: int | None = None,
        input_size: int | None = None,
        state_is_tuple: bool = True,
        reuse: Any = None,
    ) -> None:
        super().__init__(cell, reuse)
        if nest.is_nested(cell.state_size) and not state_is_tuple:
            raise ValueError(
                "Cell returns tuple of states, but the flag state_is_tuple is not set. State size "
                f"is: {cell.state_size}"
            )
        if attn_length <= 0:
            raise ValueError(f"attn_length should be greater than zero, got {attn_length}")
        self._length, self._state_is_tuple = attn_length, state_is_tuple
        self._attn_size = cell.output_size if attn_size is None else attn_size
        self._compared = attn_vec_size or self._attn_size
        self._input_size = input_size

    @property
    def state_size(self) -> Any:
        """That of the cell, of what is attended to, and of the outputs; or their sum."""
        sizes = (self._cell.state_size, self._attn_size, self._attn_size * self._length)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        """attn_size."""
        return self._attn_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """A state of zeros."""
        return super(Wrapper, self).zero_state(batch_size, dtype)

    def call(self, inputs: Any, state: Any) -> Any:
        """Builds the step."""
        before, attended, outputs = state if self._state_is_tuple else self._apart(state)
        outputs = array.reshape(outputs, [-1, self._length, self._attn_size])
        size = depth_of(inputs) if self._input_size is None else self._input_size
        output, after = self._cell(self.linear([inputs, attended], size), before)
        query = array.concat(nest.flatten(after), 1) if self._state_is_tuple else after
        with variable_scope("attention"):
            attended = self._attention(query, outputs)
        with variable_scope("attn_output_projection"):
            output = self.linear([output, attended], self._attn_size)
        last = array.concat([outputs[:, 1:], array.expand_dims(output, 1)], 1)
        last = array.reshape(last, [-1, self._length * self._attn_size])
        following = (after, attended, last)
        return output, following if self._state_is_tuple else array.concat(list(following), 1)

    def _apart(self, state: Any) -> tuple[Any, Any, Any]:
        first = self._cell.state_size
        second = first + self._attn_size
        return state[:, :first], state[:, first:second], state[:, second:]

    def _attention(self, query: Any, outputs: Any) -> Any:
        """The mean of the outputs, weighted by how well they fit the query."""
        size, compared, length = self._attn_size, self._compared, self._length
        matrix = self.variable("attn_w", [1, 1, size, compared], query.dtype)
        vector = self.variable("attn_v", [compared], query.dtype)
        hidden = array.reshape(outputs, [-1, length, 1, size])
        features = conv2d(hidden, matrix, [1, 1, 1, 1], "SAME")
        y = array.reshape(self.linear(query, compared), [-1, 1, 1, compared])
        weights = nn.softmax(reduction.reduce_sum(vector * tanh(features + y), [2, 3]))
        weighted = array.reshape(weights, [-1, length, 1, 1]) * hidden
        return array.reshape(reduction.reduce_sum(weighted, [1, 2]), [-1, size])


class HighwayWrapper(_Wrapper):
    """A cell whose outputs are mixed with its inputs (Srivastava et al., 2015).

    Args:
        cell: the cell.
        couple_carry_transform_gates: whether the weight of the outputs is one minus that of the
            inputs.
        carry_bias_init: first value of the inputs' bias; minus that is the outputs'.

    Variables, in the scope around: carry_w, carry_b; transform_w, transform_b.
    """

    def __init__(
        self, cell: Any, couple_carry_transform_gates: bool = True, carry_bias_init: float = 1.0
    ) -> None:
        super().__init__(cell)
        self._couples, self._first = couple_carry_transform_gates, carry_bias_init

    def _wrapped(self, inputs: Any, state: Any, scope: Any) -> Any:
        output, following = self.cell(inputs, state, scope=scope)
        nest.assert_same_structure(inputs, output)
        for x, y in zip(nest.flatten(inputs), nest.flatten(output), strict=True):
            x.shape.assert_is_compatible_with(y.shape)
        return nest.map_structure(self._mixed, inputs, output), following

    def _mixed(self, x: Any, y: Any) -> Any:
        carry = self._gate(x, "carry", self._first)
        transform = 1 - carry if self._couples else self._gate(x, "transform", -self._first)
        return x * carry + y * transform

    def _gate(self, x: Any, name: str, first: float) -> Any:
        size, start = depth_of(x), initializers.constant_initializer(first)
        weights = get_variable(f"{name}_w", [size, size])
        bias = get_variable(f"{name}_b", [size], initializer=start)
        return sigmoid(nn.xw_plus_b(x, weights, bias))


class CompiledWrapper(_Wrapper):
    """The cell itself: graphs are compiled here, single cells are not.

    Args:
        cell: the cell.
        compile_stateful: accepted, without an effect.
    """

    def __init__(self, cell: Any, compile_stateful: bool = False) -> None:
        super().__init__(cell)
