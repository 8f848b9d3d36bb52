"""The best sequence of tags of a linear chain (Viterbi's algorithm)."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.contrib.crf.scores import CrfForwardRnnCell, without_last
from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.layers.rnn import dynamic_rnn
from graphio.layers.rnn_cell import RNNCell
from graphio.ops.array import surface as array
from graphio.ops.array.arranging import reverse_sequence
from graphio.ops.array.index import batch_gather
from graphio.ops.math import elementwise, reduction
from graphio.support import api_guard

__all__ = [
    "CrfDecodeBackwardRnnCell",
    "CrfDecodeForwardRnnCell",
    "crf_decode",
    "viterbi_decode",
]


class CrfDecodeForwardRnnCell(CrfForwardRnnCell):
    """The step forward: the state has the scores of the best paths, the outputs the tags before.

    Args:
        transition_params: (tags, tags), from the tag before to the tag.
    """

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """(the best tag before each tag, int32; next state).

        Args:
            inputs: (batch, tags), the unary scores of a step.
            state: (batch, tags).
            scope: accepted; there are no variables.
        """
        scores = array.expand_dims(state, 2) + self._transitions
        before = elementwise.cast(reduction.argmax(scores, 1), dtypes.int32)
        return before, inputs + reduction.reduce_max(scores, [1])


class CrfDecodeBackwardRnnCell(RNNCell):
    """The step backward, from a tag to the best one before it.

    Args:
        num_tags: number of tags.
    """

    def __init__(self, num_tags: int) -> None:
        super().__init__()
        self._tags = num_tags

    @property
    def state_size(self) -> Any:
        """1."""
        return 1

    @property
    def output_size(self) -> Any:
        """1."""
        return 1

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """The tag before, twice.

        Args:
            inputs: int32 (batch, tags), the best tag before each tag.
            state: int32 (batch, 1), the tag.
            scope: accepted; there are no variables.
        """
        tags = batch_gather(inputs, state)
        return tags, tags


@api_guard.operator
def crf_decode(potentials: Any, transition_params: Any, sequence_length: Any) -> Any:
    """The best sequences of tags.

    Args:
        potentials: (batch, time, tags), the scores of tags.
        transition_params: (tags, tags).
        sequence_length: ints (batch).

    Returns:
        (tags (batch, time) int32, zeros past the lengths; scores (batch)).
    """
    scores = convert_to_tensor(potentials)
    last, steps = scores[:, 0], scores.shape[1].value
    rest = without_last(sequence_length)
    if steps != 1:
        cell = CrfDecodeForwardRnnCell(transition_params)
        before, last = dynamic_rnn(cell, scores[:, 1:], rest, last)
    tags = array.expand_dims(elementwise.cast(reduction.argmax(last, 1), dtypes.int32), -1)
    if steps != 1:
        backward = CrfDecodeBackwardRnnCell(scores.shape[2].value)
        backwards = reverse_sequence(before, rest, seq_axis=1)
        found, _ = dynamic_rnn(backward, backwards, rest, tags)
        tags = array.concat([tags, array.squeeze(found, [2])], 1)
        tags = reverse_sequence(tags, sequence_length, seq_axis=1)
    return tags, reduction.reduce_max(last, 1)


@api_guard.unguarded
def viterbi_decode(score: Any, transition_params: Any) -> tuple[list[Any], Any]:
    """The best sequence of tags, of arrays and outside of a graph.

    Args:
        score: array (time, tags).
        transition_params: array (tags, tags).

    Returns:
        (list of tags, their score).
    """
    best, before = score[0], []
    for row in score[1:]:
        paths = np.expand_dims(best, 1) + transition_params
        best = row + paths.max(0)
        before.append(paths.argmax(0))
    tags: list[Any] = [np.argmax(best)]
    for step in reversed(before):
        tags.append(step[tags[-1]])
    return tags[::-1], best.max()
