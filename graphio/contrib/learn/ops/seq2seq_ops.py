"""Networks from sequences to sequences, over lists of steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio.framework import dtypes
from graphio.framework.graph import Tensor
from graphio.framework.scopes import name_scope
from graphio.layers.rnn import static_rnn
from graphio.ops.array import surface as array
from graphio.ops.math import elementwise, reduction
from graphio.ops.nn import core
from graphio.ops.nn.crossentropy import softmax_cross_entropy_with_logits
from graphio.support import api_guard
from graphio.variables.variable_scope import get_variable_scope, variable_scope

__all__ = ["rnn_decoder", "rnn_seq2seq", "seq2seq_inputs", "sequence_classifier"]


@api_guard.operator
def sequence_classifier(
    decoding: Sequence[Any], labels: Sequence[Any], sampling_decoding: Sequence[Any] | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Probabilities of classes at each step, and the cross-entropy, summed over steps and rows.

    Args:
        decoding: list of scores [batch, classes].
        labels: list of [batch, classes] of 0 and 1.
        sampling_decoding: the scores of the probabilities; None: decoding.

    Returns:
        probabilities [batch, steps, classes], and the loss.
    """
    with name_scope(name, "sequence_classifier", [decoding, labels]):
        losses = [
            softmax_cross_entropy_with_logits(
                labels=labels[number], logits=scores, name=f"sequence_loss/xent_raw{number}"
            )
            for number, scores in enumerate(decoding)
        ]
        shown = [core.softmax(scores) for scores in sampling_decoding or decoding]
        sums = elementwise.add_n(losses, name="sequence_loss/xent")
        return array.stack(shown, axis=1), reduction.reduce_sum(sums, name="sequence_loss")


@api_guard.operator
def seq2seq_inputs(
    x: Any, y: Any, input_length: int, output_length: int, sentinel: Any = None,
    name: str | None = None,
) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:  # fmt: skip
    """The steps of an encoder and a decoder.

    Args:
        x, y: [batch, steps, features].
        input_length, output_length: have no effect, as in TensorFlow: the steps are those of x, y.
        sentinel: [batch, features], the first input of the decoder and the last output; None:
            zeros.

    Returns:
        the inputs of the encoder, those of the decoder, and its outputs.
    """
    with name_scope(name, "seq2seq_inputs", [x, y]):
        steps, outputs = list(array.unstack(x, axis=1)), list(array.unstack(y, axis=1))
        if sentinel is None:
            features = outputs[0].shape.as_list()[1]
            sentinel = array.zeros(array.stack([array.shape(x)[0], features]))
            sentinel.set_shape(outputs[0].shape)
        return steps, [sentinel, *outputs], [*outputs, sentinel]


@api_guard.makes_variables
def rnn_decoder(
    decoder_inputs: Sequence[Any], initial_state: Any, cell: Any, scope: Any = None
) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """A cell over inputs, for training, and over its own outputs, for sampling.

    Args:
        decoder_inputs: list of [batch, features].
        initial_state: that of the cell.
        scope: None: dnn_decoder.

    Returns:
        outputs and states for training, outputs and states for sampling; states begin with the
        initial one.
    """
    with variable_scope(scope or "dnn_decoder"):
        states, sampled_states = [initial_state], [initial_state]
        outputs: list[Any] = []
        sampled: list[Any] = []
        with name_scope("training", values=[decoder_inputs, initial_state]):
            for number, given in enumerate(decoder_inputs):
                if number:
                    get_variable_scope().reuse_variables()
                output, state = cell(given, states[-1])
                outputs.append(output)
                states.append(state)
        with name_scope("sampling", values=[initial_state]):
            for number in range(len(outputs)):
                output, state = (
                    cell(sampled[-1], sampled_states[-1]) if number else (outputs[0], states[0])
                )
                sampled.append(output)
                sampled_states.append(state)
    return outputs, states, sampled, sampled_states


@api_guard.makes_variables
def rnn_seq2seq(
    encoder_inputs: Sequence[Any], decoder_inputs: Sequence[Any], encoder_cell: Any,
    decoder_cell: Any = None, dtype: Any = dtypes.float32, scope: Any = None,
) -> tuple[list[Any], list[Any], list[Any], list[Any]]:  # fmt: skip
    """A cell over the encoder's inputs, and rnn_decoder from its last state.

    Args:
        encoder_inputs, decoder_inputs: lists of [batch, features].
        decoder_cell: None: encoder_cell.
        dtype: of the first state.
        scope: None: rnn_seq2seq.

    Returns:
        as rnn_decoder.
    """
    with variable_scope(scope or "rnn_seq2seq"):
        _, state = static_rnn(encoder_cell, encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, decoder_cell or encoder_cell)
