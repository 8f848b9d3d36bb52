"""Elements of a TensorArray that differ in their first size, kept as rows of the largest.

What was written to a row beyond its element's end are zeros. A row's mark says how long its element
is: TAKEN and 1 more than the length, or TAKEN for one as long as the rows; below TAKEN nothing was
written yet.
"""

from __future__ import annotations

from graphio.framework import dtypes
from graphio.framework.graph import Tensor
from graphio.ops.base import primitive as p
from graphio.ops.base.emit import node, scalar
from graphio.ops.base.shapes import dims_of
from graphio.ops.checks.assertion import once
from graphio.ops.math import comparison, reduction

__all__ = ["TAKEN", "cut", "fitted", "joined", "mark"]

#: where a write to a row that was written goes: beyond any end
TAKEN = 1 << 40


def _first_size(rows: Tensor) -> Tensor:
    """The first size of the rows (n, size, ...): int64 scalar."""
    return p.squeeze(p.slice_axes(p.shape_of(rows), [1], [2], [0]), [0])


def mark(values: Tensor) -> Tensor:
    """The mark of rows to which values (k, size, ...) are written."""
    return p.binary("Add", _first_size(values), scalar(TAKEN + 1, dtypes.int64))


def fitted(
    rows: Tensor, marks: Tensor, values: Tensor, before: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Rows, marks and values to write, of which the shorter have become as long as the longer.

    Args:
        rows, marks: of the array.
        values: to be written.
        before: the rows as they were when the elements were written that are as long as they.
    """
    whole = p.compare("Equal", marks, scalar(TAKEN, dtypes.int64))
    marks = p.select(whole, mark(before), marks)
    longer = p.binary("Max", _first_size(rows), _first_size(values))
    return _padded(rows, longer), marks, _padded(values, longer)


def _padded(rows: Tensor, size: Tensor) -> Tensor:
    dims = dims_of(rows)
    assert dims is not None
    rank = len(dims)
    more = p.unsqueeze(p.binary("Sub", size, _first_size(rows)), [0])
    pads = p.concat([p.int_vector([0] * (rank + 1)), more, p.int_vector([0] * (rank - 2))], 0)
    return node("Pad", [rows, pads], rows.dtype, (dims[0], None, *dims[2:]))


def _lengths(rows: Tensor, marks: Tensor) -> tuple[Tensor, Tensor]:
    """How long the elements are, -1 where nothing was written, and the longest of them."""
    zero, size = scalar(0, dtypes.int64), _first_size(rows)
    beyond = p.binary("Sub", marks, scalar(TAKEN, dtypes.int64))
    least = p.binary("Max", beyond, scalar(-1, dtypes.int64))
    ended = p.binary("Sub", beyond, scalar(1, dtypes.int64))
    found = p.select(
        p.compare("Greater", beyond, zero), ended,
        p.select(p.compare("Equal", beyond, zero), size, least),
    )  # fmt: skip
    every = p.concat([p.reshape(found, [-1]), p.int_vector([-1])], 0)
    longest = node("ReduceMax", [every], dtypes.int64, (), keepdims=0)
    written = p.compare("Less", scalar(-1, dtypes.int64), longest)
    return found, p.select(written, longest, size)


def cut(rows: Tensor, taken: Tensor, marks: Tensor) -> Tensor:
    """The taken rows, one (size, ...) or several (k, size, ...), cut at the ends of their elements,
    which must be of one length.

    Args:
        rows: of the array.
        taken: of the rows.
        marks: of what was taken.
    """
    lengths, longest = _lengths(rows, marks)
    axis = 0 if marks.shape.ndims == 0 else 1
    if axis:
        alike = p.compare("Equal", lengths, longest)
        none = p.compare("Less", lengths, scalar(0, dtypes.int64))
        held = reduction.reduce_all(comparison.logical_or(alike, none))
        words = (
            "TensorArray: stacked elements are of inconsistent shapes; the longest's first size is"
        )
        longest = once(longest, held, words)
    dims = dims_of(taken)
    ends = p.unsqueeze(longest, [0])
    kept = None if dims is None else (*dims[:axis], None, *dims[axis + 1 :])
    inputs = [taken, p.int_vector([0]), ends, p.int_vector([axis])]
    return node("Slice", inputs, taken.dtype, kept)


def joined(rows: Tensor, marks: Tensor) -> Tensor:
    """The elements one after the other along their first axis."""
    lengths, longest = _lengths(rows, marks)
    none = p.compare("Less", lengths, scalar(0, dtypes.int64))
    lengths = p.unsqueeze(p.select(none, longest, lengths), [1])
    start, one = scalar(0, dtypes.int64), scalar(1, dtypes.int64)
    numbers = node("Range", [start, _first_size(rows), one], dtypes.int64, (None,))
    inside = p.reshape(p.compare("Less", numbers, lengths), [-1], (None,))
    dims = dims_of(rows)
    assert dims is not None
    rest = p.slice_axes(p.shape_of(rows), [2], [p.last], [0])
    flat = p.concat([p.shape_of(inside), rest], 0)
    every = p.reshape(rows, flat, (None, *dims[2:]))
    return node("Compress", [every, inside], rows.dtype, (None, *dims[2:]), axis=0)
