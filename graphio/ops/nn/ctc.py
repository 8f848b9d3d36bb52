"""Connectionist temporal classification: labels of a sequence without their times (Graves et al.
2006), in log space; the last class is the blank."""

from __future__ import annotations

from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.sparse_tensor import SparseTensor
from graphio.ops.array import index
from graphio.ops.array import surface as array
from graphio.ops.base import primitive
from graphio.ops.base.emit import FLOATING, describe, require, scope
from graphio.ops.checks import assertion
from graphio.ops.control_flow.functional import scan
from graphio.ops.math import comparison, elementwise, reduction
from graphio.ops.nn import core as nn
from graphio.ops.sparse.conversion import sparse_tensor_to_dense
from graphio.support import api_guard

__all__ = ["ctc_greedy_decoder", "ctc_loss"]

#: the logarithm of what does not happen: finite, so that no difference of two is NaN
_NEVER = -1e30


def _logits(inputs: Any, op: str, at: str) -> Tensor:
    x = convert_to_tensor(inputs, name="inputs")
    require(x, FLOATING, op, "inputs")
    if x.shape.ndims != 3:
        raise ValueError(
            f"Shape must be rank 3 but is rank {x.shape.ndims} for {describe(at, op)}: inputs are "
            "(time, batch, classes)"
        )
    return x


def _lengths(sequence_length: Any, steps: Tensor) -> Tensor:
    lengths = convert_to_tensor(sequence_length, dtype=dtypes.int32, name="sequence_length")
    fits = reduction.reduce_all(comparison.less_equal(lengths, steps))
    return assertion.once(lengths, fits, "sequence_length is more than there are steps:")


@api_guard.operator
def ctc_loss(
    labels: SparseTensor,
    inputs: Any = None,
    sequence_length: Any = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: Any = None,
) -> Tensor:
    """The negative logarithm of the chance that a sequence reads as its labels.

    Args:
        labels: SparseTensor (batch, longest) of int32: the labels, below classes - 1.
        inputs: floating (time, batch, classes), no probabilities; the last class is the blank.
        sequence_length: int32 (batch): how many steps of each sequence count.
        preprocess_collapse_repeated, ctc_merge_repeated: only their defaults are supported.
        ignore_longer_outputs_than_inputs: True: the loss is 0 where the labels need more steps
            than there are, in the place of an error.
        time_major: False: inputs are (batch, time, classes).
        logits: the newer name of inputs.

    Returns:
        A vector (batch) of inputs' dtype.

    Raises:
        TypeError: labels are not a SparseTensor. NotImplementedError: another way to merge.
        ValueError: inputs have not three dimensions.
        InvalidArgumentError: of the run: a label is not a class, or the labels need more steps.
    """
    if not isinstance(labels, SparseTensor):
        raise TypeError("Expected labels (first argument) to be a SparseTensor")
    if preprocess_collapse_repeated or not ctc_merge_repeated:
        raise NotImplementedError(
            "ctc_loss: equal labels that follow one another are kept apart, and equal classes "
            "that follow one another merged; other ways are not supported"
        )
    with scope(None, "CTCLoss") as at:
        x = _logits(inputs if logits is None else logits, "CTCLoss", at)
        x = x if time_major else array.transpose(x, [1, 0, 2])
        sizes = array.shape(x)
        lengths = _lengths(sequence_length, sizes[0])
        # Steps past the end have no gradient, whatever padding has there: NaN, or infinity.
        steps = array.expand_dims(array.expand_dims(array.range(sizes[0]), 1), 2)
        counted = comparison.less(steps, array.expand_dims(lengths, 1))
        x = primitive.select(counted, x, array.zeros_like(x))
        dense = elementwise.cast(sparse_tensor_to_dense(labels, -1), dtypes.int32)
        known = reduction.reduce_all(comparison.less(dense, sizes[2] - 1))
        dense = assertion.once(dense, known, "a label is not below the number of the blank:")
        counts = reduction.reduce_sum(
            elementwise.cast(comparison.greater_equal(dense, 0), dtypes.int32), 1
        )
        fits = comparison.less_equal(counts + _repeats(dense), lengths)
        if not ignore_longer_outputs_than_inputs:
            words = "Not enough time for the labels; sequence_length:"
            lengths = assertion.once(lengths, reduction.reduce_all(fits), words)
        chances = _chances(x, _with_blanks(dense, sizes[2] - 1), lengths, counts)
        return array.where(fits, elementwise.negative(chances), array.zeros_like(chances), name=at)


def _repeats(dense: Tensor) -> Tensor:
    """The number of labels of each row that equal their predecessor: they need a blank between."""
    same = comparison.equal(dense[:, 1:], dense[:, :-1])
    repeated = comparison.logical_and(same, comparison.greater_equal(dense[:, 1:], 0))
    return reduction.reduce_sum(elementwise.cast(repeated, dtypes.int32), 1)


def _with_blanks(dense: Tensor, blank: Tensor) -> Tensor:
    """(batch, 2 longest + 1): the labels with a blank before each and at the end."""
    labels = array.where(comparison.less(dense, 0), array.fill(array.shape(dense), blank), dense)
    pairs = array.stack([array.fill(array.shape(labels), blank), labels], 2)
    rows, longest = array.shape(labels)[0], array.shape(labels)[1]
    flat = array.reshape(pairs, array.stack([rows, 2 * longest]))
    return array.concat([flat, array.fill(array.stack([rows, 1]), blank)], 1)


def _chances(x: Tensor, path: Tensor, lengths: Tensor, counts: Tensor) -> Tensor:
    """The logarithm of each path's chance, over all ways to stay and to leave out blanks."""
    sizes, width = array.shape(x), array.shape(path)[1]
    flat = array.reshape(nn.log_softmax(x), array.stack([sizes[0], sizes[1] * sizes[2]]))
    positions = path + array.expand_dims(array.range(sizes[1]) * sizes[2], 1)
    emitted = index.gather(flat, positions, axis=1)
    dtype = x.dtype
    # A label may follow the one before it, without the blank between them, unless they are equal.
    changed = array.pad(comparison.not_equal(path[:, 2:], path[:, :-2]), [[0, 0], [2, 0]])[
        :, :width
    ]
    never = array.fill(array.stack([sizes[1], width]), convert_to_tensor(_NEVER, dtype))
    numbers = array.range(width) + array.zeros_like(path)
    start = array.where(comparison.equal(numbers, 0), array.zeros_like(never), never)

    def step(before: Tensor, now: tuple[Tensor, Tensor]) -> Tensor:
        chance, time = now
        moved = array.concat([never[:, :1], before[:, :-1]], 1)
        skipped = array.concat([never[:, :2], before[:, :-2]], 1)[:, :width]
        skipped = array.where(changed, skipped, never)
        ways = array.stack([before, moved, skipped], 0)
        after = reduction.reduce_logsumexp(ways, 0) + chance
        return array.where(comparison.less(time, lengths), after, before)

    last = scan(step, (emitted, array.range(sizes[0])), initializer=start)[-1]
    ends = comparison.equal(numbers, array.expand_dims(2 * counts, 1))
    ends = comparison.logical_or(
        ends, comparison.equal(numbers, array.expand_dims(2 * counts - 1, 1))
    )
    return reduction.reduce_logsumexp(array.where(ends, last, never), 1)


@api_guard.operator
def ctc_greedy_decoder(
    inputs: Any,
    sequence_length: Any,
    merge_repeated: bool = True,
    blank_index: int | None = None,
) -> tuple[list[SparseTensor], Tensor]:
    """The labels of the best class of every step.

    Args:
        inputs: floating (time, batch, classes).
        sequence_length: int32 (batch): how many steps of each sequence count.
        merge_repeated: True: equal classes that follow one another count as one label.
        blank_index: the class that is the blank; a negative one counts from the end; None: the
            last class.

    Returns:
        A list of one SparseTensor (batch, longest) of int64, and (batch, 1): minus the sum of the
        best inputs.

    Raises:
        ValueError: inputs have not three dimensions, or there is no class blank_index.
        InvalidArgumentError: of the run: sequence_length is more than there are steps.
    """
    with scope(None, "CTCGreedyDecoder") as at:
        x = _logits(inputs, "CTCGreedyDecoder", at)
        requested = -1 if blank_index is None else blank_index
        classes = x.shape.as_list()[2]
        if classes is not None and not -classes <= requested < classes:
            raise ValueError(
                f"ctc_greedy_decoder: blank_index is {requested}, expected {-classes} to "
                f"{classes - 1}: inputs have {classes} classes"
            )
        sizes = array.shape(x)
        lengths = _lengths(sequence_length, sizes[0])
        counted = comparison.less(array.range(sizes[0]), array.expand_dims(lengths, 1))
        best = array.transpose(reduction.argmax(x, 2))
        blank = elementwise.cast(sizes[2] + requested if requested < 0 else requested, dtypes.int64)
        kept = comparison.logical_and(counted, comparison.not_equal(best, blank))
        if merge_repeated:
            new = comparison.not_equal(best[:, 1:], best[:, :-1])
            kept = comparison.logical_and(
                kept, array.pad(new, [[0, 0], [1, 0]], constant_values=True)
            )
        number = elementwise.cast(kept, dtypes.int64)
        column = reduction.cumsum(number, 1, exclusive=True)
        where = array.where(kept)
        positions = array.stack([where[:, 0], index.read_at(column, where)], 1)
        many = reduction.reduce_sum(number, 1)
        longest = reduction.reduce_max(array.concat([many, [0]], 0))
        shape = array.stack([elementwise.cast(sizes[1], dtypes.int64), longest])
        highest = array.transpose(reduction.reduce_max(x, 2))
        total = reduction.reduce_sum(
            array.where(counted, highest, array.zeros_like(highest)), 1, keepdims=True
        )
        found = SparseTensor(positions, index.read_at(best, where), shape)
        return [found], elementwise.negative(total, name=at)
