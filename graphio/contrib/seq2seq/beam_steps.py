"""The choice of a beam search: which beams follow, with which scores and states."""

from __future__ import annotations

from typing import Any, NamedTuple

from graphio.contrib.seq2seq.attention_wrapper import AttentionWrapperState
from graphio.framework import dtypes, nest
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.array import surface as array
from graphio.ops.array.index import gather, one_hot
from graphio.ops.array.order import top_k
from graphio.ops.control_flow.tensor_array import TensorArray
from graphio.ops.math import comparison, elementwise, reduction
from graphio.ops.nn import core as nn

__all__ = ["Beams", "Chosen", "Penalties", "choose", "gather"]


class Beams:
    """The layout of beams: (batch, beams, ...) or, merged, (batch * beams, ...).

    Args:
        batch: the batch size, a scalar tensor.
        static: the batch size as a number, or None.
        width: the number of beams.
    """

    def __init__(self, batch: Any, static: int | None, width: int) -> None:
        self.batch, self.static, self.width = batch, static, width

    def merge(self, x: Any) -> Any:
        """(batch * beams, ...)."""
        rows = array.expand_dims(self.batch * self.width, 0)
        made = array.reshape(x, array.concat([rows, array.shape(x)[2:]], 0))
        known = None if self.static is None else self.static * self.width
        made.set_shape(TensorShape([known, *x.shape.as_list()[2:]]))
        return made

    def split(self, x: Any) -> Any:
        """(batch, beams, ...)."""
        rows = array.stack([self.batch, convert_to_tensor(self.width)])
        made = array.reshape(x, array.concat([rows, array.shape(x)[1:]], 0))
        expected = TensorShape([self.static, self.width, *x.shape.as_list()[1:]])
        if not made.shape.is_compatible_with(expected):
            raise ValueError(
                "Unexpected behavior when reshaping between beam width and batch size.  The "
                f"reshaped tensor has shape: {made.shape}.  We expected it to have shape "
                f"(batch_size, beam_width, depth) == {expected}.  Perhaps you forgot to create a "
                "zero_state with batch_size=encoder_batch_size * beam_width?"
            )
        made.set_shape(expected)
        return made

    def merge_state(self, x: Any) -> Any:
        """A part of a state, merged; a scalar or a TensorArray as it is."""
        return self.merge(x) if _rank(x) >= 2 else x

    def split_state(self, x: Any) -> Any:
        """A part of a state, split; a scalar or a TensorArray as it is."""
        x = x if isinstance(x, TensorArray) else convert_to_tensor(x)
        return self.split(x) if _rank(x) >= 1 else x

    def may_hold(self, shape: TensorShape) -> bool:
        """Whether elements of a shape count as rows of beams, as TensorFlow decides it: of those
        whose first two sizes are known, only (batch, beams, ...) do."""
        first, *others = shape.as_list()
        if first is None or self.static is None:
            return True
        if others and others[0] is not None:
            return (first, others[0]) == (self.static, self.width)
        return bool(first == self.static * self.width)

    def gathered(self, x: Any, parents: Any) -> Any:
        """(batch, beams, ...) of those beams; a scalar or a TensorArray as it is."""
        if _rank(x) < 2:
            return x
        numbers = array.expand_dims(array.range(self.batch) * self.width, 1)
        flat = self.merge(x)
        made = gather(flat, array.reshape(parents + numbers, [-1]))
        made = array.reshape(made, array.shape(x))
        made.set_shape(x.shape)
        return made


def _rank(x: Any) -> int:
    if isinstance(x, TensorArray):
        return 0
    if x.shape.ndims is None:
        raise ValueError(f"Expected tensor ({x}) to have known rank, but ndims == None.")
    return int(x.shape.ndims)


class Penalties(NamedTuple):
    """The weights of the penalties of a score."""

    length: Any
    coverage: Any

    def attended(self, cell_state: Any) -> Any:
        """The weights of the memory's rows (batch, beams, time); None without their penalty.

        Raises:
            ValueError: no state is that of an AttentionWrapper.
        """
        if _is_zero(self.coverage):
            return None
        states = [cell_state]
        if not isinstance(cell_state, AttentionWrapperState) and isinstance(cell_state, tuple):
            states = list(cell_state)
        found = [_mean(s.alignments) for s in states if isinstance(s, AttentionWrapperState)]
        if not found:
            raise ValueError("coverage_penalty_weight must be 0.0 if no cell is attentional.")
        return _mean(tuple(found))

    def scores(self, log_probs: Any, lengths: Any, finished: Any, attended: Any) -> Any:
        """The scores of sequences (batch, beams, vocabulary)."""
        if not _is_zero(self.length):
            power = convert_to_tensor(self.length, dtypes.float32)
            longer = (5.0 + elementwise.cast(lengths, dtypes.float32)) ** power
            penalty = longer / convert_to_tensor(6.0) ** power
            log_probs = log_probs / elementwise.cast(penalty, log_probs.dtype)
        if attended is None:
            return log_probs
        weight = convert_to_tensor(self.coverage, dtypes.float32)
        if weight.shape.ndims != 0:
            raise ValueError(
                f"coverage_penalty_weight should be a scalar, but saw shape: {weight.shape}"
            )
        ones = array.ones_like(attended)
        seen = array.where(comparison.equal(attended, 0.0), ones, attended)
        logs = reduction.reduce_sum(elementwise.log(elementwise.minimum(seen, 1.0)), 2)
        penalty = logs * elementwise.cast(finished, dtypes.float32) * weight
        return log_probs + array.expand_dims(penalty, 2)


def _is_zero(weight: Any) -> bool:
    known = constant_value(convert_to_tensor(weight))
    return known is not None and not known.any()


def _mean(parts: Any) -> Any:
    if not isinstance(parts, tuple):
        return parts
    return parts[0] if len(parts) == 1 else reduction.reduce_mean(array.stack(parts, -1), -1)


class Chosen(NamedTuple):
    """The beams that follow, (batch, beams)."""

    scores: Any
    ids: Any
    parents: Any
    cell_state: Any
    log_probs: Any
    finished: Any
    lengths: Any
    attended: Any


def choose(
    beams: Beams, penalties: Penalties, logits: Any, cell_state: Any, state: Any, end: Any
) -> Chosen:
    """The best continuations of the beams of a state.

    Args:
        beams: the layout.
        penalties: of scores.
        logits: (batch, beams, vocabulary).
        cell_state: the cell's next state.
        state: of the beams before.
        end: the id that finishes a sequence.
    """
    words = logits.shape[-1].value or array.shape(logits)[-1]
    unfinished = comparison.logical_not(state.finished)
    totals = array.expand_dims(state.log_probs, 2) + _log_probs(logits, end, state.finished, words)
    grows = one_hot(end, words, on_value=0, off_value=1, dtype=dtypes.int32)
    more = array.expand_dims(elementwise.cast(unfinished, dtypes.int64), 2)
    lengths = array.expand_dims(state.lengths, 2)
    lengths = lengths + elementwise.cast(array.reshape(grows, [1, 1, -1]), dtypes.int64) * more
    attended = penalties.attended(cell_state)
    if attended is not None:
        alive = array.expand_dims(elementwise.cast(unfinished, dtypes.float32), 2)
        attended = state.accumulated_attention_probs + attended * alive
    scores = penalties.scores(totals, lengths, state.finished, attended)
    flat = array.reshape(scores, array.stack([beams.batch, convert_to_tensor(-1)]))
    best, indices = top_k(flat, k=beams.width)
    best.set_shape([beams.static, beams.width])
    indices.set_shape([beams.static, beams.width])
    ids, parents = indices % words, indices // words
    offsets = array.expand_dims(array.range(beams.batch) * (beams.width * words), 1)
    probs = gather(array.reshape(totals, [-1]), indices + offsets)
    probs.set_shape([beams.static, beams.width])
    finished = beams.gathered(state.finished, parents)
    longer = elementwise.cast(comparison.logical_not(finished), dtypes.int64)
    return Chosen(
        scores=best,
        ids=ids,
        parents=parents,
        cell_state=nest.map_structure(lambda x: beams.gathered(x, parents), cell_state),
        log_probs=probs,
        finished=comparison.logical_or(finished, comparison.equal(ids, end)),
        lengths=beams.gathered(state.lengths, parents) + longer,
        attended=() if attended is None else beams.gathered(attended, parents),
    )


def _log_probs(logits: Any, end: Any, finished: Any, words: Any) -> Any:
    """The logarithms of the probabilities of words; a finished beam goes on with the end only."""
    kind = logits.dtype
    zero, never = convert_to_tensor(0.0, kind), convert_to_tensor(float(kind.min), kind)
    only_end = one_hot(end, words, on_value=zero, off_value=never, dtype=kind)
    logs = nn.log_softmax(logits)
    rows = array.zeros_like(logs) + array.reshape(only_end, [1, 1, -1])
    wide = comparison.logical_and(
        array.expand_dims(finished, 2), array.ones_like(logs, dtype=dtypes.bool)
    )
    return array.where(wide, rows, logs)
