"""Decoders over lists of inputs, with and without attention."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from graphio.contrib.rnn.base import depth_of, linear
from graphio.framework import nest
from graphio.framework.constants import convert_to_tensor
from graphio.ops.array import surface as array
from graphio.ops.math import elementwise, reduction
from graphio.ops.nn import core as nn
from graphio.ops.nn.conv import conv2d
from graphio.support import api_guard
from graphio.variables.variable_scope import get_variable, get_variable_scope, variable_scope

__all__ = [
    "attention_decoder",
    "check_projection",
    "embedding_attention_decoder",
    "embedding_rnn_decoder",
    "loop_over_symbols",
    "rnn_decoder",
]

Loop = Callable[[Any, int], Any]


def loop_over_symbols(embedding: Any, projection: Any = None, updates: bool = True) -> Loop:
    """A loop function: the vectors of the most likely symbols of the output before.

    Args:
        embedding: the symbols' vectors.
        projection: (weights, biases) from outputs to symbols, or None.
        updates: whether gradients reach the vectors by this way.
    """

    def following(before: Any, step: int) -> Any:
        if projection is not None:
            before = nn.xw_plus_b(before, projection[0], projection[1])
        made = nn.embedding_lookup(embedding, reduction.argmax(before, 1))
        return made if updates else array.stop_gradient(made)

    return following


def check_projection(projection: Any, symbols: int, dtype: Any) -> None:
    """Raises ValueError where (weights, biases) are not of as many columns as symbols."""
    if projection is not None:
        weights, biases = (convert_to_tensor(x, dtype) for x in projection)
        weights.shape.assert_is_compatible_with([None, symbols])
        biases.shape.assert_is_compatible_with([symbols])


def _looped(loop_function: Loop | None, before: Any, step: int, x: Any) -> Any:
    """The input of a step: the given one, or what a loop function makes of the output before."""
    if loop_function is None or before is None:
        return x
    with variable_scope("loop_function", reuse=True):
        return loop_function(before, step)


@api_guard.makes_variables
def rnn_decoder(
    decoder_inputs: Iterable[Any],
    initial_state: Any,
    cell: Any,
    loop_function: Loop | None = None,
    scope: Any = None,
) -> Any:
    """A recurrent net over a list of inputs, which may be replaced by the output before.

    Args:
        decoder_inputs: list of (batch, depth).
        initial_state: the cell's first state.
        cell: an RNNCell.
        loop_function: from the output before and the number of the step to its input; None: the
            given inputs are used. The first input always is.
        scope: variable scope; None: "rnn_decoder".

    Returns:
        (list of outputs, last state).
    """
    with variable_scope(scope or "rnn_decoder"):
        state, outputs, before = initial_state, [], None
        for i, x in enumerate(decoder_inputs):
            x = _looped(loop_function, before, i, x)
            if i > 0:
                get_variable_scope().reuse_variables()
            before, state = cell(x, state)
            outputs.append(before)
    return outputs, state


@api_guard.makes_variables
def embedding_rnn_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    scope: Any = None,
) -> Any:
    """rnn_decoder over symbols, of which it has the vectors.

    Args:
        decoder_inputs: list of ints (batch).
        initial_state, cell: as rnn_decoder's.
        num_symbols: number of symbols.
        embedding_size: size of a vector.
        output_projection: (weights, biases) from outputs to symbols, for feed_previous; None: the
            outputs are of symbols.
        feed_previous: whether an input is the most likely symbol of the output before, but for the
            first.
        update_embedding_for_previous: whether gradients reach the vectors by this way.
        scope: variable scope; None: "embedding_rnn_decoder".

    Returns:
        (list of outputs, last state).

    Raises:
        ValueError: output_projection is of another size.
    """
    with variable_scope(scope or "embedding_rnn_decoder") as opened:
        check_projection(output_projection, num_symbols, opened.dtype)
        embedding = get_variable("embedding", [num_symbols, embedding_size])
        loop = None
        if feed_previous:
            loop = loop_over_symbols(embedding, output_projection, update_embedding_for_previous)
        inputs = [nn.embedding_lookup(embedding, x) for x in decoder_inputs]
        return rnn_decoder(inputs, initial_state, cell, loop)


class _Heads:
    """Attention to the rows of a memory by several heads, with variables of the current scope.

    Args:
        memory: (batch, time, size).
        heads: how many.
        dtype: of the variables.
    """

    def __init__(self, memory: Any, heads: int, dtype: Any) -> None:
        self._dtype, self._size = dtype, memory.shape[2].value
        length = memory.shape[1].value
        self._length = array.shape(memory)[1] if length is None else length
        self._hidden = array.reshape(memory, [-1, self._length, 1, self._size])
        self._features, self._vectors = [], []
        for a in range(heads):
            shape = [1, 1, self._size, self._size]
            matrix = get_variable(f"AttnW_{a}", shape, dtype=dtype)
            self._features.append(conv2d(self._hidden, matrix, [1, 1, 1, 1], "SAME"))
            self._vectors.append(get_variable(f"AttnV_{a}", [self._size], dtype=dtype))

    def nothing(self, x: Any) -> list[Any]:
        """Zeros in place of what is seen, for the batch of x."""
        rows = array.shape(x)[0]
        made = [array.zeros([rows, self._size], self._dtype) for _ in self._vectors]
        for zeros in made:
            zeros.set_shape([None, self._size])
        return made

    def seen(self, state: Any) -> list[Any]:
        """The mean of the memory's rows that each head sees from a state."""
        query = array.concat(nest.flatten(state), 1) if nest.is_nested(state) else state
        return [self._head(a, query) for a in range(len(self._vectors))]

    def _head(self, a: int, query: Any) -> Any:
        with variable_scope(f"Attention_{a}"):
            y = array.reshape(linear(query, self._size), [-1, 1, 1, self._size])
            y = elementwise.cast(y, self._dtype)
            hidden = elementwise.tanh(self._features[a] + y)
            score = reduction.reduce_sum(self._vectors[a] * hidden, [2, 3])
            weights = nn.softmax(elementwise.cast(score, "float32"))
            weights = array.reshape(
                elementwise.cast(weights, self._dtype), [-1, self._length, 1, 1]
            )
            mean = reduction.reduce_sum(weights * self._hidden, [1, 2])
            return array.reshape(mean, [-1, self._size])


@api_guard.makes_variables
def attention_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    output_size: int | None = None,
    num_heads: int = 1,
    loop_function: Loop | None = None,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> Any:
    """A recurrent net over a list of inputs that attends to a memory (Vinyals et al., 2014).

    Args:
        decoder_inputs: list of (batch, depth).
        initial_state: the cell's first state.
        attention_states: (batch, time, size), the memory.
        cell: an RNNCell.
        output_size: of an output; None: the cell's.
        num_heads: how often the memory is looked at in a step.
        loop_function: as rnn_decoder's.
        dtype: of the variables; None: the scope's.
        scope: variable scope; None: "attention_decoder".
        initial_state_attention: whether the memory is looked at before the first step, too; False:
            that sees zeros.

    Returns:
        (list of outputs, last state).

    Raises:
        ValueError: there are no inputs or no heads, or a size is unknown.
    """
    if not decoder_inputs:
        raise ValueError("Must provide at least 1 input to attention decoder.")
    if num_heads < 1:
        raise ValueError("With less than 1 heads, use a non-attention decoder.")
    memory = convert_to_tensor(attention_states)
    if memory.shape[2].value is None:
        raise ValueError(f"Shape[2] of attention_states must be known: {memory.shape}")
    size = cell.output_size if output_size is None else output_size
    with variable_scope(scope or "attention_decoder", dtype=dtype) as opened:
        kind = opened.dtype
        heads = _Heads(memory, num_heads, kind)
        state, outputs, before = initial_state, [], None
        attended = heads.nothing(decoder_inputs[0])
        if initial_state_attention:
            attended = heads.seen(state)
        for i, x in enumerate(decoder_inputs):
            if i > 0:
                get_variable_scope().reuse_variables()
            x = _looped(loop_function, before, i, x)
            parts = [elementwise.cast(part, kind) for part in (x, *attended)]
            output, state = cell(linear(parts, depth_of(x)), state)
            again = True if i == 0 and initial_state_attention else None
            with variable_scope(get_variable_scope(), reuse=again):
                attended = heads.seen(state)
            with variable_scope("AttnOutputProjection"):
                before = linear([elementwise.cast(output, kind), *attended], size)
            outputs.append(before)
    return outputs, state


@api_guard.makes_variables
def embedding_attention_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_size: int | None = None,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> Any:
    """attention_decoder over symbols, of which it has the vectors.

    Args:
        decoder_inputs: list of ints (batch).
        initial_state, attention_states, cell, num_heads, output_size, dtype,
            initial_state_attention: as attention_decoder's.
        num_symbols, embedding_size, output_projection, feed_previous,
            update_embedding_for_previous: as embedding_rnn_decoder's.
        scope: variable scope; None: "embedding_attention_decoder".

    Returns:
        (list of outputs, last state).

    Raises:
        ValueError: as attention_decoder, or output_projection is of another size.
    """
    size = cell.output_size if output_size is None else output_size
    if output_projection is not None:
        biases = convert_to_tensor(output_projection[1], dtype)
        biases.shape.assert_is_compatible_with([num_symbols])
    with variable_scope(scope or "embedding_attention_decoder", dtype=dtype):
        embedding = get_variable("embedding", [num_symbols, embedding_size])
        loop = None
        if feed_previous:
            loop = loop_over_symbols(embedding, output_projection, update_embedding_for_previous)
        inputs = [nn.embedding_lookup(embedding, x) for x in decoder_inputs]
        return attention_decoder(
            inputs, initial_state, attention_states, cell, size, num_heads, loop,
            initial_state_attention=initial_state_attention,
        )  # fmt: skip
