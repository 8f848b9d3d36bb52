"""Labels of sequences, for CTC."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.sparse_tensor import SparseTensor
from graphio.ops.array import index, surface
from graphio.ops.base.emit import scope
from graphio.ops.base.shapes import dims_of
from graphio.ops.math import comparison, elementwise
from graphio.ops.nn import ctc
from graphio.ops.strings import python_strings
from graphio.support import api_guard

__all__ = ["collapse_repeated", "ctc_beam_search_decoder", "ctc_beam_search_decoder_v2",
           "ctc_loss_v2", "ctc_unique_labels"]  # fmt: skip

Array = np.ndarray[Any, Any]


@api_guard.operator
def collapse_repeated(labels: Any, seq_length: Any, name: str | None = None) -> tuple[Any, Any]:
    """Rows of labels in which equal neighbours are one, and their new lengths.

    Args:
        labels: integers (batch, longest).
        seq_length: int (batch): how many labels of each row count.
        name: of the operation.

    Returns:
        The labels, as wide as the longest row and filled with 0, and int32 lengths.
    """
    with scope(name, "collapse_repeated_labels") as at:
        given = convert_to_tensor(labels, name="labels")
        lengths = convert_to_tensor(seq_length, name="seq_length")

        def work(rows: Array, counts: Array) -> Any:
            kept = [_merged(row[: int(n)]) for row, n in zip(rows, counts, strict=True)]
            made = np.zeros((len(kept), max(map(len, kept), default=0)), rows.dtype)
            for row, values in zip(made, kept, strict=True):
                row[: len(values)] = values
            return [made, np.array([len(values) for values in kept], counts.dtype)]

        outputs: Any = [(given.dtype, (None, None)), (lengths.dtype, (None,))]
        found = python_strings.call("CollapseRepeated", work, [given, lengths], outputs, at).outputs
        return found[0], found[1]


def _merged(row: Array) -> list[Any]:
    return [value for i, value in enumerate(row) if i == 0 or value != row[i - 1]]


@api_guard.operator
def ctc_unique_labels(labels: Any, name: str | None = None) -> tuple[Any, Any]:
    """The distinct labels of each row, and where each label is among them.

    Args:
        labels: int (batch, longest).
        name: of the operation.

    Returns:
        The distinct labels (batch, longest), filled with 0; int32 positions of the labels' shape.
    """
    with scope(name, "ctc_unique_labels") as at:
        given = convert_to_tensor(labels, name="labels")

        def work(rows: Array) -> Any:
            made, positions = np.zeros_like(rows), np.zeros(rows.shape, rows.dtype)
            for i, row in enumerate(rows):
                order: dict[Any, int] = {}
                for label in row.tolist():
                    order.setdefault(label, len(order))
                made[i, : len(order)] = list(order)
                positions[i] = [order[label] for label in row.tolist()]
            return [made, positions]

        outputs = [(given.dtype, dims_of(given))] * 2
        found = python_strings.call("CtcUniqueLabels", work, [given], outputs, at).outputs
        return found[0], found[1]


@api_guard.operator
def ctc_loss_v2(
    labels: Any, logits: Any, label_length: Any, logit_length: Any, logits_time_major: bool = True,
    unique: Any = None, blank_index: int | None = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """tf.nn.ctc_loss of labels as a SparseTensor or as rows, whose blank is any class.

    Args:
        labels: SparseTensor (batch, longest) of int32, or int (batch, longest).
        logits: floating (time, batch, classes).
        label_length: int (batch), of rows; None for a SparseTensor.
        logit_length: int (batch).
        logits_time_major: False: logits are (batch, time, classes).
        unique: has no effect here: TensorFlow's saves it work.
        blank_index: the blank's class, negative from the end; None: 0, of rows.
        name: of the operation.

    Returns:
        A vector (batch).

    Raises:
        ValueError: blank_index is not given for a SparseTensor, or no class.
    """
    with scope(name, "ctc_loss"):
        x = convert_to_tensor(logits, name="logits")
        classes = x.shape.with_rank(3).as_list()[2]
        if classes is None:
            raise ValueError("ctc_loss_v2: the number of classes of logits must be known")
        if blank_index is None:
            if isinstance(labels, SparseTensor):
                raise ValueError(
                    "Argument `blank_index` must be provided when labels is a SparseTensor."
                )
            blank_index = 0
        blank = blank_index + classes if blank_index < 0 else blank_index
        if not 0 <= blank < classes:
            raise ValueError(f"blank_index is {blank_index}, expected a class of {classes}")
        sparse = labels if isinstance(labels, SparseTensor) else _sparse(labels, label_length)
        if blank != classes - 1:
            order = [*range(blank), *range(blank + 1, classes), blank]
            x = index.gather(x, order, axis=2)
            values = elementwise.subtract(
                sparse.values,
                elementwise.cast(comparison.greater(sparse.values, blank), sparse.values.dtype),
            )
            sparse = SparseTensor(sparse.indices, values, sparse.dense_shape)
        return ctc.ctc_loss(sparse, x, logit_length, time_major=logits_time_major)


def _sparse(labels: Any, lengths: Any) -> SparseTensor:
    """Rows of labels as a SparseTensor."""
    rows = elementwise.cast(convert_to_tensor(labels), dtypes.int32)
    count = convert_to_tensor(lengths)
    wide = surface.shape(rows)[1]
    inside = comparison.less(
        surface.expand_dims(surface.range(wide), 0),
        surface.expand_dims(elementwise.cast(count, dtypes.int32), 1),
    )
    indices = surface.where(inside)
    return SparseTensor(
        indices, index.gather_nd(rows, indices), surface.shape(rows, out_type=dtypes.int64)
    )


# ---- beam search ----


@api_guard.operator
def ctc_beam_search_decoder(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1,
    merge_repeated: bool = True,
) -> tuple[list[SparseTensor], Tensor]:  # fmt: skip
    """The most probable labels of sequences, by a search over beam_width prefixes.

    It is computed by Python: a model saved with it needs its function again to run it.

    Args:
        inputs: floating (time, batch, classes), no probabilities; the last class is the blank.
        sequence_length: int (batch): how many steps of each sequence count.
        beam_width: prefixes that are kept after each step.
        top_paths: results for each sequence, at most beam_width.
        merge_repeated: True: equal neighbours of a result are one, as TensorFlow 1 has it.

    Returns:
        For each path a SparseTensor (batch, longest) of int64; log probabilities
        (batch, top_paths).

    Raises:
        ValueError: top_paths is more than beam_width.
    """
    return _searched(inputs, sequence_length, beam_width, top_paths, merge_repeated)


@api_guard.operator
def ctc_beam_search_decoder_v2(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Tensor]:
    """As ctc_beam_search_decoder; equal neighbours of a result stay."""
    return _searched(inputs, sequence_length, beam_width, top_paths, False)


def _searched(
    inputs: Any, lengths: Any, width: int, count: int, merged: bool
) -> tuple[list[SparseTensor], Tensor]:
    if not 0 < count <= width:
        raise ValueError(f"top_paths is {count}, expected 1 to beam_width ({width})")
    x, n = convert_to_tensor(inputs, name="inputs"), convert_to_tensor(lengths)

    def work(logits: Array, steps: Array, width: int, count: int, merged: bool) -> Any:
        found = [
            _paths(logits[: int(steps[b]), b].astype(np.float64), width, count)
            for b in range(logits.shape[1])
        ]
        outputs: list[list[Array]] = [[], [], []]
        for path in range(count):
            rows = [_merged(np.array(f[path][0])) if merged else f[path][0] for f in found]
            positions = [[b, i] for b, row in enumerate(rows) for i in range(len(row))]
            outputs[0].append(np.array(positions, np.int64).reshape(-1, 2))
            outputs[1].append(np.array([label for row in rows for label in row], np.int64))
            outputs[2].append(np.array([len(rows), max(map(len, rows), default=0)], np.int64))
        chances = np.array([[f[path][1] for path in range(count)] for f in found], logits.dtype)
        return [*outputs[0], *outputs[1], *outputs[2], chances.reshape(-1, count)]

    parts: Any = [(dtypes.int64, (None, 2)), (dtypes.int64, (None,)), (dtypes.int64, (2,))]
    kinds = [part for part in parts for _ in range(count)]
    batch = x.shape.with_rank(3).as_list()[1]
    with scope(None, "CTCBeamSearchDecoder") as at:
        made = python_strings.call(
            "CTCBeamSearchDecoder", work, [x, n], [*kinds, (x.dtype, (batch, count))], at,
            width=width, count=count, merged=merged,
        ).outputs  # fmt: skip
    decoded = [SparseTensor(made[i], made[count + i], made[2 * count + i]) for i in range(count)]
    return decoded, made[-1]


def _paths(logits: Array, width: int, count: int) -> list[tuple[tuple[int, ...], float]]:
    """The best prefixes with their log probabilities; logits (time, classes), the blank last."""
    chances = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    none = -np.inf
    #: by prefix: log probabilities of the ways that end with the blank, and of the others
    beams: dict[tuple[int, ...], tuple[float, float]] = {(): (0.0, none)}
    for step in chances:
        new: dict[tuple[int, ...], list[float]] = {}
        for prefix, (blank, other) in beams.items():
            whole = np.logaddexp(blank, other)
            kept = new.setdefault(prefix, [none, none])
            kept[0] = np.logaddexp(kept[0], whole + step[-1])
            for label, chance in enumerate(step[:-1]):
                before = whole
                if prefix and label == prefix[-1]:
                    kept[1] = np.logaddexp(kept[1], other + chance)
                    before = blank
                longer = new.setdefault((*prefix, label), [none, none])
                longer[1] = np.logaddexp(longer[1], before + chance)
        order = sorted(new, key=lambda p: -np.logaddexp(new[p][0], new[p][1]))
        beams = {prefix: (new[prefix][0], new[prefix][1]) for prefix in order[:width]}
    ends = [(prefix, float(np.logaddexp(both[0], both[1]))) for prefix, both in beams.items()]
    return (ends + [((), none)] * count)[:count]
