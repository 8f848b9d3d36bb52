"""The decoder that keeps the best beams of each sequence."""

from __future__ import annotations

from typing import Any, NamedTuple

from graphio.contrib.seq2seq import beam_steps
from graphio.contrib.seq2seq.basic_decoder import (
    embedding_function,
    inputs_unless_finished,
    start_and_end,
)
from graphio.contrib.seq2seq.beam_steps import Beams
from graphio.contrib.seq2seq.decoder import Decoder
from graphio.contrib.seq2seq.gather_tree import gather_tree
from graphio.framework import dtypes, nest, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.layers.base import Layer
from graphio.layers.rnn_cell import _check_cell
from graphio.ops.array import surface as array
from graphio.ops.array.index import one_hot
from graphio.ops.control_flow.tensor_array import TensorArray
from graphio.ops.math import comparison, elementwise, reduction
from graphio.support import api_guard

__all__ = [
    "BeamSearchDecoder",
    "BeamSearchDecoderOutput",
    "BeamSearchDecoderState",
    "FinalBeamSearchDecoderOutput",
    "tile_batch",
]


class BeamSearchDecoderState(NamedTuple):
    """The state of a BeamSearchDecoder; tensors begin with (batch, beams)."""

    cell_state: Any
    log_probs: Any
    finished: Any
    lengths: Any
    accumulated_attention_probs: Any


class BeamSearchDecoderOutput(NamedTuple):
    """The outputs of a step, (batch, beams): scores, ids, and the beams that they came from."""

    scores: Any
    predicted_ids: Any
    parent_ids: Any


class FinalBeamSearchDecoderOutput(NamedTuple):
    """The sequences of the best beams, and the outputs of the steps."""

    predicted_ids: Any
    beam_search_decoder_output: Any


@api_guard.operator
def tile_batch(t: Any, multiplier: int, name: str | None = None) -> Any:
    """Each row of a batch several times, one after the other.

    Args:
        t: tensor (batch, ...) or a structure of such.
        multiplier: how many times.
        name: of the operations.

    Returns:
        (batch * multiplier, ...).

    Raises:
        ValueError: a tensor's rank is unknown, or 0.
    """
    with scopes.name_scope(name, "tile_batch"):
        return nest.map_structure(lambda one: _tiled(one, multiplier), t)


def _tiled(t: Any, times: int) -> Any:
    t = convert_to_tensor(t, name="t")
    if not t.shape.ndims:
        raise ValueError("t must have statically known rank")
    shape, batch = array.shape(t), t.shape[0].value
    made = array.tile(array.expand_dims(t, 1), [1, times] + [1] * (t.shape.ndims - 1))
    made = array.reshape(made, array.concat([[shape[0] * times], shape[1:]], 0))
    made.set_shape(TensorShape([None if batch is None else batch * times, *t.shape.as_list()[1:]]))
    return made


class BeamSearchDecoder(Decoder):
    """A decoder that keeps beam_width sequences of each batch entry.

    Args:
        cell: an RNNCell.
        embedding: from ids to vectors: a function, or a tensor for tf.nn.embedding_lookup.
        start_tokens: int32 (batch).
        end_token: int32 scalar, the id that finishes a sequence.
        initial_state: the cell's first state, of batch * beam_width rows; see tile_batch.
        beam_width: number of beams.
        output_layer: a layer such as tf.layers.Dense that makes logits of outputs; None: none.
        length_penalty_weight: by which power of its length a score is divided; 0.0: none.
        coverage_penalty_weight: weight of the penalty for rows of the memory that were not attended
            to; 0.0: none.
        reorder_tensor_arrays: whether TensorArrays of the cell's state, such as the history of
            alignments, are in the order of the final beams; they are tensors then.

    Raises:
        TypeError: cell or output_layer is of another class.
        ValueError: start_tokens is not a vector, or end_token not a scalar.
    """

    def __init__(
        self,
        cell: Any,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        initial_state: Any,
        beam_width: int,
        output_layer: Any = None,
        length_penalty_weight: float = 0.0,
        coverage_penalty_weight: float = 0.0,
        reorder_tensor_arrays: bool = True,
    ) -> None:
        _check_cell(cell)
        if output_layer is not None and not isinstance(output_layer, Layer):
            raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")
        self._cell, self._output_layer = cell, output_layer
        self._embedding, self._reorders = embedding_function(embedding), reorder_tensor_arrays
        self._penalties = beam_steps.Penalties(length_penalty_weight, coverage_penalty_weight)
        start, self._end_token, batch = start_and_end(start_tokens, end_token)
        self._beams = Beams(batch, start.shape[0].value, beam_width)
        self._first = nest.map_structure(self._beams.split_state, initial_state)
        tiled = array.tile(array.expand_dims(start, 1), [1, beam_width])
        self._start_inputs = self._embedding(tiled)

    @property
    def batch_size(self) -> Any:
        """The number of start tokens, a scalar tensor."""
        return self._beams.batch

    @property
    def tracks_own_finished(self) -> bool:
        """True: beams change their order."""
        return True

    @property
    def output_size(self) -> Any:
        """BeamSearchDecoderOutput of shapes."""
        shape = TensorShape([self._beams.width])
        return BeamSearchDecoderOutput(shape, shape, shape)

    @property
    def output_dtype(self) -> Any:
        """BeamSearchDecoderOutput of dtypes."""
        kind = nest.flatten(self._first)[0].dtype
        return BeamSearchDecoderOutput(kind, dtypes.int32, dtypes.int32)

    def initialize(self, name: str | None = None) -> Any:
        """The first beam of each sequence is likely and unfinished, the others are neither."""
        kind, width = nest.flatten(self._first)[0].dtype, self._beams.width
        first = array.zeros([self._beams.batch], dtypes.int32)
        finished = one_hot(first, width, on_value=False, off_value=True, dtype=dtypes.bool)
        zero, never = (convert_to_tensor(x, kind) for x in (0.0, -float("inf")))
        log_probs = one_hot(first, width, on_value=zero, off_value=never, dtype=kind)
        attended = self._penalties.attended(self._first)
        state = BeamSearchDecoderState(
            cell_state=self._first,
            log_probs=log_probs,
            finished=finished,
            lengths=array.zeros([self._beams.batch, width], dtypes.int64),
            accumulated_attention_probs=() if attended is None else attended,
        )
        return finished, self._start_inputs, state

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> Any:
        """A step of the cell for all beams, and the best of what may follow."""
        beams = self._beams
        with scopes.name_scope(name, "BeamSearchDecoderStep"):
            joined = nest.map_structure(beams.merge, inputs)
            before = nest.map_structure(beams.merge_state, state.cell_state)
            outputs, following = self._cell(joined, before)
            outputs = nest.map_structure(beams.split, outputs)
            following = nest.map_structure(beams.split_state, following)
            logits = outputs if self._output_layer is None else self._output_layer(outputs)
            chosen = beam_steps.choose(
                beams, self._penalties, logits, following, state, self._end_token
            )
            made = BeamSearchDecoderOutput(chosen.scores, chosen.ids, chosen.parents)
            after = BeamSearchDecoderState(
                chosen.cell_state, chosen.log_probs, chosen.finished, chosen.lengths,
                chosen.attended,
            )  # fmt: skip
            next_inputs = inputs_unless_finished(
                chosen.finished, lambda: self._start_inputs, lambda: self._embedding(chosen.ids)
            )
        return made, after, next_inputs, chosen.finished

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> Any:
        """The sequences of the final beams."""
        longest = elementwise.cast(reduction.reduce_max(final_state.lengths, 1), dtypes.int32)
        parents = outputs.parent_ids
        ids = gather_tree(outputs.predicted_ids, parents, longest, self._end_token)
        if self._reorders:
            cell_state = nest.map_structure(
                lambda t: self._in_order(t, parents, final_state.lengths), final_state.cell_state
            )
            final_state = final_state._replace(cell_state=cell_state)
        return FinalBeamSearchDecoderOutput(ids, outputs), final_state

    def _in_order(self, t: Any, parents: Any, lengths: Any) -> Any:
        """The elements of a TensorArray in the order of the final beams; another state as it is."""
        if not isinstance(t, TensorArray) or not t.element_shape.ndims:
            return t
        if not self._beams.may_hold(t.element_shape):
            return t
        return _gathered(self._beams, t.stack(), parents, lengths)


def _gathered(beams: Beams, rows: Any, parents: Any, lengths: Any) -> Any:
    """Rows (time, batch * beams, ...) in the order of the final beams."""
    steps, width = array.shape(parents)[0], beams.width
    own = array.tile(array.reshape(array.range(width), [1, 1, -1]), [steps, beams.batch, 1])
    longest = elementwise.cast(reduction.reduce_max(lengths, 1), dtypes.int32)
    order = gather_tree(own, parents, longest, width + 1)
    numbers = array.reshape(array.range(steps), [-1, 1, 1])
    inside = comparison.less(
        elementwise.cast(numbers, lengths.dtype), array.expand_dims(lengths, 0)
    )
    order = array.where(inside, order, own)
    first = array.reshape(array.range(steps * beams.batch) * width, [steps, beams.batch, 1])
    shape = array.shape(rows)
    flat = array.reshape(rows, [steps * beams.batch * width, -1])
    return array.reshape(beam_steps.gather(flat, array.reshape(order + first, [-1])), shape)
