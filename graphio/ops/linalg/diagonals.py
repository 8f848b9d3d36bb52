"""Bands of diagonals of matrices in the last two axes: taken out, put in, and made matrices of.

The diagonals of a band are the rows of a matrix, the uppermost first, or a vector if there
is one. Shorter ones are filled up at the side that `align` says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphio.framework import dtypes, scopes
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.ops.array import filling, joining
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import describe, is_symbolic, like, scalar, scope, static_ints, whole
from graphio.ops.base.primitive import select
from graphio.ops.base.shapes import dims_of
from graphio.ops.checks.assertion import Assert
from graphio.ops.linalg.any_rank import of_any_rank
from graphio.ops.math import comparison, elementwise, reduction
from graphio.support import errors

__all__ = ["Band", "is_main", "replaced", "spread", "taken"]

#: how diagonals above and below the main one are filled up: whether they begin at the left
_ALIGNED = {
    "RIGHT_LEFT": (False, True),
    "LEFT_RIGHT": (True, False),
    "LEFT_LEFT": (True, True),
    "RIGHT_RIGHT": (False, False),
}


def is_main(k: Any) -> bool:
    """Whether k is known to mean the main diagonal alone."""
    return static_ints(k) in ([0], [0, 0])


class Band:
    """The diagonals that k names: a number (0: the main one, 1: the next one above), or the lowest
    and the uppermost one.

    Raises:
        ValueError: k is none of these, or align is none of TensorFlow's words.
    """

    def __init__(self, k: Any, align: str, op: str) -> None:
        sides = _ALIGNED.get(align)
        if sides is None:
            raise ValueError(f"{op}: align is {align!r}, expected one of {', '.join(_ALIGNED)}")
        self.op, (self.above_left, self.below_left) = op, sides
        known = static_ints(k)
        if known is not None and len(known) == 2 and None not in known:
            first, last = known[0] or 0, known[1] or 0
        elif known is not None and len(known) == 1 and known[0] is not None:
            first = last = known[0]
        elif is_symbolic(k) and k.shape.ndims in (0, None):
            first = last = 0
        else:
            raise ValueError(
                f"{op}: k is {k!r}, expected a number, a scalar, or a pair of numbers that are "
                "known while the graph is built"
            )
        if first > last:
            raise errors.InvalidArgumentError(
                message=f"{op}: k is {k!r}, expected the lowest diagonal before the uppermost one"
            )
        self.count = last - first + 1
        self.is_open = is_symbolic(k) and known is None
        number = primitive.reshape(whole(k, op, "k"), []) if self.is_open else None
        self.first = scalar(first, dtypes.int64) if number is None else number
        self.last = scalar(last, dtypes.int64) if number is None else number

    @property
    def axes(self) -> int:
        """The number of axes of the diagonals."""
        return 1 if self.count == 1 else 2

    def longest(self, rows: Tensor, columns: Tensor) -> Tensor:
        """The number of elements of the longest diagonal."""
        return elementwise.minimum(
            rows + elementwise.minimum(self.last, 0), columns - elementwise.maximum(self.first, 0)
        )

    def begins(self, number: Tensor, rows: Tensor, columns: Tensor, longest: Tensor) -> Tensor:
        """The index in its row at which each diagonal begins."""
        length = self.length(number, rows, columns)
        left = comparison.logical_or(
            comparison.logical_and(number >= 0, self.above_left),
            comparison.logical_and(number <= 0, self.below_left),
        )
        return select(left, scalar(0, dtypes.int64), longest - length)

    @staticmethod
    def length(number: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        """The number of elements of each diagonal."""
        return elementwise.minimum(
            rows + elementwise.minimum(number, 0), columns - elementwise.maximum(number, 0)
        )

    def cells(self, rows: Tensor, columns: Tensor, longest: Tensor) -> tuple[Tensor, Tensor]:
        """For each element of a matrix its index among those of all diagonals, row-major, and
        whether it is in the band."""
        down = primitive.unsqueeze(filling.range(rows), [1])
        across = primitive.unsqueeze(filling.range(columns), [0])
        number = across - down
        inside = comparison.logical_and(number >= self.first, number <= self.last)
        position = elementwise.minimum(down, across) + self.begins(number, rows, columns, longest)
        return (self.last - number) * longest + position, inside

    def positions(self, rows: Tensor, columns: Tensor, longest: Tensor) -> tuple[Tensor, Tensor]:
        """For each element of the diagonals its row-major index in a matrix, and whether it has
        one."""
        below = primitive.unsqueeze(filling.range(scalar(self.count, dtypes.int64)), [1])
        number = self.last - below
        along = primitive.unsqueeze(filling.range(longest), [0])
        along = along - self.begins(number, rows, columns, longest)
        length = self.length(number, rows, columns)
        inside = comparison.logical_and(along >= 0, along < length)
        down = along - elementwise.minimum(number, 0)
        return down * columns + along + elementwise.maximum(number, 0), inside

    def check(self, rows: Tensor, columns: Tensor, at: str) -> list[Any]:
        """The checks that must run first, which fail where the matrices lack a diagonal."""
        found = comparison.logical_and(self.first + rows > 0, self.last < columns)
        main = comparison.logical_and(
            comparison.equal(self.first, 0), comparison.equal(self.last, 0)
        )
        words = f"k names a diagonal that the matrices have not, for {describe(at, self.op)}"
        facts = {**self.facts, "rows": rows, "columns": columns}
        return _required(comparison.logical_or(found, main), words, facts)

    @property
    def facts(self) -> dict[str, Tensor]:
        """The values of k for error messages."""
        if self.count == 1:
            return {"k": self.first}
        return {"lowest k": self.first, "uppermost k": self.last}


def _required(holds: Tensor, words: str, facts: Mapping[str, Tensor]) -> list[Any]:
    """The checks that must run first, which fail where a condition does not hold.

    Args:
        words: what an error says.
        facts: numbers that it shows, by what they are.

    Raises:
        InvalidArgumentError: it is known not to hold.
    """
    known = constant_value(holds)
    if known is None:
        shown = [part for label, number in facts.items() for part in (f"{label}:", number)]
        return [Assert(holds, [words, *shown])]
    if not np.all(known):
        values = {label: constant_value(number) for label, number in facts.items()}
        shown_values = ", ".join(f"{label} {v}" for label, v in values.items() if v is not None)
        raise errors.InvalidArgumentError(message=f"{words}: {shown_values}")
    return []


def _size(x: Tensor, axis: int) -> Tensor:
    """A size as an int64 scalar; axis from the end."""
    known = x.shape[axis].value
    if known is not None:
        return scalar(known, dtypes.int64)
    position = scalar((x.shape.ndims or 0) + axis, dtypes.int64)
    return primitive.gather(primitive.shape_of(x), position, 0)


def _chosen(
    x: Tensor, own: int, padding: Tensor, positions: Tensor, inside: Tensor, name: str | None
) -> Tensor:
    """For each index an element of the last axes of x, which count as one; outside the padding,
    which comes after them all."""
    lead = (x.shape.ndims or 0) - own
    sizes = primitive.slice_axes(primitive.shape_of(x), [0], [lead], [0])
    dims = dims_of(x) or ()
    count = shapes.num_elements(dims[lead:])
    own_sizes = primitive.slice_axes(primitive.shape_of(x), [lead], [primitive.last], [0])
    total = reduction.reduce_prod(own_sizes, keepdims=True)
    flat = primitive.reshape(x, primitive.concat([sizes, total], 0), (*dims[:lead], count))
    ends = [*[[0, 0]] * lead, [0, 1]]
    filled = joining.pad(flat, ends, constant_values=padding)
    chosen = select(inside, positions, primitive.squeeze(total, [0]))
    return primitive.gather(filled, chosen, lead, name)


def spread(
    diagonal: Tensor, band: Band, num_rows: Any, num_cols: Any, padding_value: Any, name: str | None
) -> Tensor:
    """Matrices with these diagonals, and the padding elsewhere.

    Raises:
        InvalidArgumentError: there are not as many diagonals, or the sizes are not the smallest
            possible.
    """

    def build(diagonal: Tensor, name: str | None = None) -> Tensor:
        with scope(name, band.op) as at:
            filler = _filler(padding_value, diagonal)
            padding = like(filler, diagonal, band.op, ("diagonal", "padding_value"))
            longest = _size(diagonal, -1)
            least = (
                longest - elementwise.minimum(band.last, 0),
                longest + elementwise.maximum(band.first, 0),
            )
            rows, columns = _matrix_sizes(num_rows, num_cols, *least, band.op)
            known = [constant_value(n) for n in (rows, columns)]
            shapes.check_countable(
                tuple(None if n is None else int(n) for n in known), describe(at, band.op)
            )
            checks = _of_band(diagonal, band, at)
            fits = [rows >= least[0], columns >= least[1], _either(rows, columns, *least)]
            words = "the number of rows or columns does not fit the diagonals, for "
            facts = {**band.facts, "length of the longest diagonal": longest}
            facts |= {"rows": rows, "columns": columns}
            for holds in fits:
                checks += _required(holds, words + describe(at, band.op), facts)
            with scopes.control_dependencies(checks):
                positions, inside = band.cells(rows, columns, longest)
            return _chosen(diagonal, band.axes, padding, positions, inside, at)

    return _of(build, band.axes, diagonal, band, name)


def _filler(value: Any, x: Tensor) -> Any:
    """The padding; among bools a number is one."""
    return bool(value) if x.dtype == dtypes.bool and isinstance(value, (int, float)) else value


def _either(rows: Tensor, columns: Tensor, least_rows: Tensor, least_columns: Tensor) -> Tensor:
    return comparison.logical_or(
        comparison.equal(rows, least_rows), comparison.equal(columns, least_columns)
    )


def _of_band(diagonal: Tensor, band: Band, at: str) -> list[Any]:
    """Checks that there are as many diagonals as in the band."""
    if band.count == 1:
        return []
    rows = _size(diagonal, -2)
    words = f"diagonal has not {band.count} rows, one a diagonal of k, for {describe(at, band.op)}"
    facts = {**band.facts, "rows of diagonal": rows}
    return _required(comparison.equal(rows, band.count), words, facts)


def _matrix_sizes(
    num_rows: Any, num_cols: Any, least_rows: Tensor, least_columns: Tensor, op: str
) -> tuple[Tensor, Tensor]:
    """The requested sizes; -1 is the minimum, for both the minimum of a square matrix."""
    given = [
        primitive.reshape(whole(n, op, label), [])
        for n, label in ((num_rows, "num_rows"), (num_cols, "num_cols"))
    ]
    lacks = [comparison.equal(n, -1) for n in given]
    square = elementwise.maximum(least_rows, least_columns)
    both = comparison.logical_and(lacks[0], lacks[1])
    rows, columns = (
        select(lack, select(both, square, least), number)
        for lack, least, number in zip(lacks, (least_rows, least_columns), given, strict=True)
    )
    return rows, columns


def taken(x: Tensor, band: Band, padding_value: Any, name: str | None) -> Tensor:
    """The diagonals of matrices, and the padding where one is shorter than the longest.

    Raises:
        InvalidArgumentError: the matrices lack a diagonal.
    """

    def build(input: Tensor, name: str | None = None) -> Tensor:
        with scope(name, band.op) as at:
            filler = _filler(padding_value, input)
            padding = like(filler, input, band.op, ("input", "padding_value"))
            rows, columns = _size(input, -2), _size(input, -1)
            with scopes.control_dependencies(band.check(rows, columns, at)):
                longest = band.longest(rows, columns)
                positions, inside = band.positions(rows, columns, longest)
            if band.count == 1:
                positions, inside = (primitive.squeeze(t, [0]) for t in (positions, inside))
            return _chosen(input, 2, padding, positions, inside, at)

    return _of(build, 2, x, band, name)


def replaced(x: Tensor, diagonal: Tensor, band: Band, name: str | None) -> Tensor:
    """Matrices with other diagonals.

    Raises:
        InvalidArgumentError: the matrices lack a diagonal, or diagonal is not of their sizes.
    """

    def build(input: Tensor, diagonal: Tensor, name: str | None = None) -> Tensor:
        with scope(name, band.op) as at:
            rows, columns = _size(input, -2), _size(input, -1)
            longest = band.longest(rows, columns)
            checks = [*band.check(rows, columns, at), *_of_band(diagonal, band, at)]
            length = _size(diagonal, -1)
            facts = {**band.facts, "length": length, "expected length": longest}
            facts |= {"rows": rows, "columns": columns}
            words = (
                "diagonal is not as long as the longest diagonal of the matrices, for "
                f"{describe(at, band.op)}"
            )
            checks += _required(comparison.equal(length, longest), words, facts)
            with scopes.control_dependencies(checks):
                positions, inside = band.cells(rows, columns, longest)
            zero = scalar(0, input.dtype)
            return select(
                inside, _chosen(diagonal, band.axes, zero, positions, inside, None), input, at
            )

    call = of_any_rank(band.op, 2, band.axes)(build)
    return call(input=x, diagonal=diagonal, name=name)


def _of(build: Any, axes: int, x: Tensor, band: Band, name: str | None) -> Tensor:
    made: Tensor = of_any_rank(band.op, axes)(build)(x, name=name)
    return made
