"""Scores and likelihoods of sequences of tags in a linear chain (Lafferty et al., 2001)."""

from __future__ import annotations

from typing import Any

from graphio.framework.constants import convert_to_tensor
from graphio.layers.rnn import dynamic_rnn
from graphio.layers.rnn_cell import RNNCell
from graphio.ops.array import surface as array
from graphio.ops.array.arranging import sequence_mask
from graphio.ops.array.index import gather, gather_nd
from graphio.ops.math import comparison, elementwise, reduction
from graphio.support import api_guard
from graphio.variables.variable_scope import get_variable

__all__ = [
    "CrfForwardRnnCell",
    "crf_binary_score",
    "crf_log_likelihood",
    "crf_log_norm",
    "crf_multitag_sequence_score",
    "crf_sequence_score",
    "crf_unary_score",
    "without_last",
]


class CrfForwardRnnCell(RNNCell):
    """The step of the forward algorithm: the state has the logarithms of sums of all paths.

    Args:
        transition_params: (tags, tags), from the tag before to the tag.
    """

    def __init__(self, transition_params: Any) -> None:
        super().__init__()
        matrix = convert_to_tensor(transition_params)
        self._transitions, self._tags = array.expand_dims(matrix, 0), matrix.shape[0].value

    @property
    def state_size(self) -> Any:
        """The number of tags."""
        return self._tags

    @property
    def output_size(self) -> Any:
        """The number of tags."""
        return self._tags

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """The next state, twice.

        Args:
            inputs: (batch, tags), the unary scores of a step.
            state: (batch, tags).
            scope: accepted; there are no variables.
        """
        scores = array.expand_dims(state, 2) + self._transitions
        alphas = inputs + reduction.reduce_logsumexp(scores, [1])
        return alphas, alphas


def without_last(lengths: Any) -> Any:
    """Lengths without the first step, 0 or more."""
    lengths = convert_to_tensor(lengths)
    return elementwise.maximum(lengths - 1, array.zeros_like(lengths))


@api_guard.operator
def crf_unary_score(tag_indices: Any, sequence_lengths: Any, inputs: Any) -> Any:
    """The sum of the tags' scores, without transitions.

    Args:
        tag_indices: ints (batch, time).
        sequence_lengths: ints (batch).
        inputs: (batch, time, tags), the scores.

    Returns:
        (batch).
    """
    scores, tags = convert_to_tensor(inputs), convert_to_tensor(tag_indices)
    batch, steps, count = (array.shape(scores)[k] for k in range(3))
    first = array.expand_dims(array.range(batch) * steps * count, 1)
    first = first + array.expand_dims(array.range(steps) * count, 0)
    positions = elementwise.cast(first, tags.dtype) + tags
    chosen = gather(array.reshape(scores, [-1]), array.reshape(positions, [-1]))
    chosen = array.reshape(chosen, array.stack([batch, steps]))
    mask = sequence_mask(sequence_lengths, array.shape(tags)[1], scores.dtype)
    return reduction.reduce_sum(chosen * mask, 1)


@api_guard.operator
def crf_binary_score(tag_indices: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """The sum of the transitions' scores.

    Args:
        tag_indices: ints (batch, time).
        sequence_lengths: ints (batch).
        transition_params: (tags, tags).

    Returns:
        (batch).
    """
    matrix, tags = convert_to_tensor(transition_params), convert_to_tensor(tag_indices)
    pairs = array.stack([tags[:, :-1], tags[:, 1:]], -1)
    mask = sequence_mask(sequence_lengths, array.shape(tags)[1], matrix.dtype)
    return reduction.reduce_sum(gather_nd(matrix, pairs) * mask[:, 1:], 1)


@api_guard.operator
def crf_sequence_score(
    inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any
) -> Any:
    """The unnormalized score of a sequence of tags.

    Args:
        inputs: (batch, time, tags), the scores of tags.
        tag_indices: ints (batch, time).
        sequence_lengths: ints (batch).
        transition_params: (tags, tags).

    Returns:
        (batch); 0 for an empty sequence.
    """
    unary = crf_unary_score(tag_indices, sequence_lengths, inputs)
    return unary + crf_binary_score(tag_indices, sequence_lengths, transition_params)


@api_guard.operator
def crf_multitag_sequence_score(
    inputs: Any, tag_bitmap: Any, sequence_lengths: Any, transition_params: Any
) -> Any:
    """The logarithm of the sum over all sequences of allowed tags.

    Args:
        inputs: (batch, time, tags), the scores of tags.
        tag_bitmap: bools (batch, time, tags): which tags a step may have.
        sequence_lengths: ints (batch).
        transition_params: (tags, tags).

    Returns:
        (batch).
    """
    scores = convert_to_tensor(inputs)
    never = array.fill(array.shape(scores), convert_to_tensor(-float("inf"), scores.dtype))
    allowed = array.where(tag_bitmap, scores, never)
    return crf_log_norm(allowed, sequence_lengths, transition_params)


@api_guard.operator
def crf_log_norm(inputs: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """The logarithm of the sum over all sequences of tags.

    Args:
        inputs: (batch, time, tags), the scores of tags.
        sequence_lengths: ints (batch).
        transition_params: (tags, tags).

    Returns:
        (batch); 0 for an empty sequence.
    """
    scores, lengths = convert_to_tensor(inputs), convert_to_tensor(sequence_lengths)
    first = scores[:, 0]
    alphas = first
    if scores.shape[1].value != 1:
        cell = CrfForwardRnnCell(transition_params)
        _, alphas = dynamic_rnn(cell, scores[:, 1:], without_last(lengths), first)
    norm = reduction.reduce_logsumexp(alphas, [1])
    return array.where(comparison.less_equal(lengths, 0), array.zeros_like(norm), norm)


@api_guard.makes_variables
def crf_log_likelihood(
    inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any = None
) -> Any:
    """The log-likelihood of sequences of tags.

    Args:
        inputs: (batch, time, tags), the scores of tags.
        tag_indices: ints (batch, time).
        sequence_lengths: ints (batch).
        transition_params: (tags, tags); None: a variable "transitions" of the scope.

    Returns:
        ((batch), transition_params).
    """
    scores = convert_to_tensor(inputs)
    tags = scores.shape[2].value
    if transition_params is None:
        transition_params = get_variable("transitions", [tags, tags])
    score = crf_sequence_score(scores, tag_indices, sequence_lengths, transition_params)
    return score - crf_log_norm(scores, sequence_lengths, transition_params), transition_params
