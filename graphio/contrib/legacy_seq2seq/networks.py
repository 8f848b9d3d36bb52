"""Encoders with decoders over lists of inputs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphio.contrib.legacy_seq2seq.decoders import (
    Loop,
    check_projection,
    embedding_attention_decoder,
    embedding_rnn_decoder,
    loop_over_symbols,
    rnn_decoder,
)
from graphio.contrib.rnn.wrappers import EmbeddingWrapper, OutputProjectionWrapper
from graphio.framework import dtypes, nest
from graphio.layers.rnn import static_rnn
from graphio.layers.rnn_cell import RNNCell
from graphio.ops.array import surface as array
from graphio.ops.control_flow.branches import cond
from graphio.ops.nn import core as nn
from graphio.support import api_guard
from graphio.variables.variable_scope import get_variable, get_variable_scope, variable_scope

__all__ = [
    "basic_rnn_seq2seq",
    "embedding_attention_seq2seq",
    "embedding_rnn_seq2seq",
    "embedding_tied_rnn_seq2seq",
    "one2many_rnn_seq2seq",
    "tied_rnn_seq2seq",
]


@api_guard.makes_variables
def basic_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    dtype: Any = dtypes.float32,
    scope: Any = None,
) -> Any:
    """An encoder and a decoder with two cells of the same kind.

    Args:
        encoder_inputs, decoder_inputs: lists of (batch, depth).
        cell: an RNNCell; the encoder gets a copy.
        dtype: of the encoder's first state.
        scope: variable scope; None: "basic_rnn_seq2seq".

    Returns:
        (list of the decoder's outputs, its last state).
    """
    with variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


@api_guard.makes_variables
def tied_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    loop_function: Loop | None = None,
    dtype: Any = dtypes.float32,
    scope: Any = None,
) -> Any:
    """An encoder and a decoder with the same variables.

    Args:
        encoder_inputs, decoder_inputs: lists of (batch, depth).
        cell: an RNNCell.
        loop_function: as rnn_decoder's.
        dtype: of the encoder's first state.
        scope: variable scope within "combined_tied_rnn_seq2seq"; None: "tied_rnn_seq2seq".

    Returns:
        (list of the decoder's outputs, its last state).
    """
    with variable_scope("combined_tied_rnn_seq2seq"):
        inner = scope or "tied_rnn_seq2seq"
        _, state = static_rnn(cell, encoder_inputs, dtype=dtype, scope=inner)
        get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function, inner)


def _either(feed_previous: Any, build: Callable[[bool], Any]) -> Any:
    """build(True) or build(False): (outputs, state), as a bool or a bool tensor says."""
    if isinstance(feed_previous, bool):
        return build(feed_previous)
    kept: list[Any] = []

    def branch(feeds: bool) -> Any:
        with variable_scope(get_variable_scope(), reuse=None if feeds else True):
            outputs, state = build(feeds)
        kept[:] = [len(outputs), state]
        return [*outputs, *nest.flatten(state)]

    found = cond(feed_previous, lambda: branch(True), lambda: branch(False))
    count, state = kept
    return list(found[:count]), nest.pack_sequence_as(state, list(found[count:]))


@api_guard.makes_variables
def embedding_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> Any:
    """An encoder and a decoder of symbols, of which they have the vectors.

    Args:
        encoder_inputs, decoder_inputs: lists of ints (batch).
        cell: an RNNCell; the encoder gets a copy.
        num_encoder_symbols, num_decoder_symbols: number of symbols.
        embedding_size: size of a vector.
        output_projection: (weights, biases) from outputs to symbols; None: the outputs are
            projected to symbols.
        feed_previous: whether an input of the decoder is the most likely symbol of the output
            before; a bool, or a bool tensor, with which no gradient goes that way.
        dtype: of the encoder's first state; None: the scope's.
        scope: variable scope; None: "embedding_rnn_seq2seq".

    Returns:
        (list of the decoder's outputs, its last state).
    """
    with variable_scope(scope or "embedding_rnn_seq2seq") as opened:
        if dtype is None:
            dtype = opened.dtype
        else:
            opened.set_dtype(dtype)
        encoder = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        _, state = static_rnn(encoder, encoder_inputs, dtype=dtype)
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
        updates = isinstance(feed_previous, bool)
        return _either(
            feed_previous,
            lambda feeds: embedding_rnn_decoder(
                decoder_inputs, state, cell, num_decoder_symbols, embedding_size,
                output_projection, feeds, updates,
            ),
        )  # fmt: skip


@api_guard.makes_variables
def embedding_tied_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_decoder_symbols: int | None = None,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> Any:
    """An encoder and a decoder of the same symbols, with the same variables.

    Args:
        encoder_inputs, decoder_inputs: lists of ints (batch).
        cell: an RNNCell.
        num_symbols: number of symbols.
        embedding_size: size of a vector.
        num_decoder_symbols: number of symbols of the outputs; None: num_symbols.
        output_projection, feed_previous: as embedding_rnn_seq2seq's.
        dtype: of the variables; None: the scope's.
        scope: variable scope; None: "embedding_tied_rnn_seq2seq".

    Returns:
        (list of the decoder's outputs, its last state).

    Raises:
        ValueError: output_projection is of another size.
    """
    with variable_scope(scope or "embedding_tied_rnn_seq2seq", dtype=dtype) as opened:
        kind = opened.dtype
        check_projection(output_projection, num_symbols, kind)
        embedding = get_variable("embedding", [num_symbols, embedding_size], dtype=kind)
        before, after = (
            [nn.embedding_lookup(embedding, x) for x in inputs]
            for inputs in (encoder_inputs, decoder_inputs)
        )
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols or num_symbols)
        loop = loop_over_symbols(embedding, output_projection, isinstance(feed_previous, bool))
        return _either(
            feed_previous,
            lambda feeds: tied_rnn_seq2seq(before, after, cell, loop if feeds else None, kind),
        )


@api_guard.makes_variables
def embedding_attention_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> Any:
    """embedding_rnn_seq2seq whose decoder attends to the encoder's outputs.

    Args:
        encoder_inputs, decoder_inputs, cell, num_encoder_symbols, num_decoder_symbols,
            embedding_size, output_projection, feed_previous: as embedding_rnn_seq2seq's.
        num_heads: how often the outputs are looked at in a step.
        dtype: of the variables; None: the scope's.
        scope: variable scope; None: "embedding_attention_seq2seq".
        initial_state_attention: as attention_decoder's.

    Returns:
        (list of the decoder's outputs, its last state).
    """
    with variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as opened:
        encoder = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        outputs, state = static_rnn(encoder, encoder_inputs, dtype=opened.dtype)
        memory = array.concat([array.reshape(y, [-1, 1, cell.output_size]) for y in outputs], 1)
        size = None
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
            size = num_decoder_symbols
        updates = isinstance(feed_previous, bool)
        return _either(
            feed_previous,
            lambda feeds: embedding_attention_decoder(
                decoder_inputs, state, memory, cell, num_decoder_symbols, embedding_size,
                num_heads, size, output_projection, feeds, updates,
                initial_state_attention=initial_state_attention,
            ),
        )  # fmt: skip


@api_guard.makes_variables
def one2many_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs_dict: Mapping[str, Sequence[Any]],
    enc_cell: Any,
    dec_cells_dict: Mapping[str, Any],
    num_encoder_symbols: int,
    num_decoder_symbols_dict: Mapping[str, int],
    embedding_size: int,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> Any:
    """An encoder with several decoders.

    Args:
        encoder_inputs: list of ints (batch).
        decoder_inputs_dict: the decoders' names and their lists of ints (batch).
        enc_cell: the encoder's cell.
        dec_cells_dict: the decoders' cells by name.
        num_encoder_symbols: number of symbols.
        num_decoder_symbols_dict: the decoders' numbers of symbols by name.
        embedding_size: size of a vector.
        feed_previous: as embedding_rnn_seq2seq's.
        dtype: of the variables; None: the scope's.
        scope: variable scope; None: "one2many_rnn_seq2seq".

    Returns:
        (lists of outputs by name, last states by name).

    Raises:
        TypeError: a cell is none.
        ValueError: the names differ.
    """
    if not isinstance(enc_cell, RNNCell):
        raise TypeError(f"enc_cell is not an RNNCell: {type(enc_cell)}")
    if set(dec_cells_dict) != set(decoder_inputs_dict):
        raise ValueError("keys of dec_cells_dict != keys of decoder_inputs_dict")
    for cell in dec_cells_dict.values():
        if not isinstance(cell, RNNCell):
            raise TypeError(f"dec_cell is not an RNNCell: {type(cell)}")
    outputs, states = {}, {}
    with variable_scope(scope or "one2many_rnn_seq2seq", dtype=dtype) as opened:
        encoder = EmbeddingWrapper(enc_cell, num_encoder_symbols, embedding_size)
        _, state = static_rnn(encoder, encoder_inputs, dtype=opened.dtype)
        for name, inputs in decoder_inputs_dict.items():
            symbols = num_decoder_symbols_dict[name]
            with variable_scope(f"one2many_decoder_{name}"):
                cell = OutputProjectionWrapper(dec_cells_dict[name], symbols)
                outputs[name], states[name] = _either(
                    feed_previous, _decoder(inputs, state, cell, symbols, embedding_size)
                )
    return outputs, states


def _decoder(
    inputs: Sequence[Any], state: Any, cell: Any, symbols: int, size: int
) -> Callable[[bool], Any]:
    return lambda feeds: embedding_rnn_decoder(
        inputs, state, cell, symbols, size, feed_previous=feeds
    )
