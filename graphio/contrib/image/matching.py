"""Rows matched to columns by their distances; connected pixels."""

from __future__ import annotations

from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import filling
from graphio.ops.array import surface as array
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import describe, integers, scalar, scope
from graphio.ops.base.primitive import binary, cast, compare, select
from graphio.ops.base.shapes import dims_of
from graphio.ops.control_flow.loops import while_loop
from graphio.ops.math import comparison, reduction
from graphio.support import api_guard

__all__ = ["bipartite_match", "connected_components"]


# ---- rows and columns ----


@api_guard.operator
def bipartite_match(
    distance_mat: Any, num_valid_rows: Any, top_k: int = -1, name: str = "bipartite_match"
) -> tuple[Tensor, Tensor]:
    """Pairs of rows and columns, always the two of the smallest distance that are both free.

    Args:
        distance_mat: float32 (rows, columns).
        num_valid_rows: how many rows may be matched, an integer scalar or vector of one; below 0:
            all.
        top_k: how many pairs at most; below 0: no limit.
        name: of the operation.

    Returns:
        The column of each row and the row of each column, int32 vectors; -1: it has none.

    Raises:
        ValueError: distance_mat is not a matrix.
    """
    with scope(name, "bipartite_match") as at:
        distances = convert_to_tensor(distance_mat, dtype=dtypes.float32, name="distance_mat")
        shapes.merge(dims_of(distances), (None, None), describe(at, "BipartiteMatch"))
        size = primitive.shape_of(distances)
        rows, columns = (filling.range(size[k]) for k in (0, 1))
        given = cast(integers(num_valid_rows, "BipartiteMatch", "num_valid_rows"), dtypes.int64)
        valid = primitive.reshape(given, [])
        zero, one = scalar(0, dtypes.int64), scalar(1, dtypes.int64)
        allowed = compare("Or", compare("Less", valid, zero), compare("Less", rows, valid))
        most = reduction.reduce_min(size)
        if top_k >= 0:
            most = binary("Min", most, scalar(top_k, dtypes.int64))
        free = primitive.expand(primitive.unsqueeze(allowed, [1]), size, dims_of(distances))
        nothing = scalar(-1, dtypes.int64)

        def further(step: Tensor, free: Tensor, of_rows: Tensor, of_columns: Tensor) -> Tensor:
            return compare("And", compare("Less", step, most), reduction.reduce_any(free))

        def pair(step: Tensor, free: Tensor, of_rows: Tensor, of_columns: Tensor) -> list[Tensor]:
            far = scalar(float("inf"), dtypes.float32)
            # where all free distances are infinite, the first free pair is taken
            hidden = select(free, distances, far)
            least = reduction.reduce_min(hidden)
            best = compare("And", free, compare("LessOrEqual", hidden, least))
            flat = cast(primitive.reshape(best, [-1]), dtypes.int32)
            found = reduction.argmax(flat, 0)
            row, column = found // size[1], found % size[1]
            this_row, this_column = compare("Equal", rows, row), compare("Equal", columns, column)
            taken = compare("Or", primitive.unsqueeze(this_row, [1]),
                            primitive.unsqueeze(this_column, [0]))  # fmt: skip
            return [
                binary("Add", step, one),
                compare("And", free, primitive.unary("Not", taken)),
                select(this_row, column, of_rows),
                select(this_column, row, of_columns),
            ]

        starts = [
            zero,
            free,
            primitive.expand(nothing, primitive.shape_of(rows), dims_of(rows)),
            primitive.expand(nothing, primitive.shape_of(columns), dims_of(columns)),
        ]
        invariants = [start.shape for start in starts]
        _, _, of_rows, of_columns = while_loop(further, pair, starts, invariants, back_prop=False)
        return (
            cast(of_rows, dtypes.int32, f"{at}row_to_col_match_indices"),
            cast(of_columns, dtypes.int32, f"{at}col_to_row_match_indices"),
        )


# ---- pixels ----


@api_guard.operator
def connected_components(images: Any) -> Tensor:
    """The number of the component that each pixel is in.

    A component consists of pixels of one image that have the same value, not zero or False, and are
    joined through neighbours above, below, left and right. Components of all images are numbered
    from 1, in the order of their first pixels.

    Args:
        images: (h, w) or (n, h, w), bool or numeric.

    Returns:
        An int32 tensor of images' shape; 0 where the value is zero.

    Raises:
        TypeError: the rank is neither 2 nor 3.
    """
    with scope(None, "connected_components") as at:
        x = convert_to_tensor(images, name="images")
        if x.shape.ndims not in (2, 3):
            raise TypeError(f"images should have rank 2 (HW) or 3 (NHW). Static shape is {x.shape}")
        batch = primitive.unsqueeze(x, [0]) if x.shape.ndims == 2 else x
        there = comparison.not_equal(batch, array.zeros_like(batch))
        joined = [
            compare("And", there, _neighbour(comparison.equal, batch, axis, step))
            for axis in (1, 2)
            for step in (-1, 1)
        ]
        count = primitive.count(batch, dtypes.int64)
        own = primitive.reshape_to(filling.range(count), primitive.shape_of(batch), dims_of(batch))
        found = _first_of_component(own, joined)
        first = compare("And", there, compare("Equal", found, own))
        numbers = reduction.cumsum(cast(primitive.reshape(first, [-1]), dtypes.int32), 0)
        made = select(there, primitive.gather(numbers, found, 0), scalar(0, dtypes.int32))
        return primitive.squeeze(made, [0]) if x.shape.ndims == 2 else array.identity(made, name=at)


def _first_of_component(own: Tensor, joined: list[Tensor]) -> Tensor:
    """The position of the first pixel of each pixel's component.

    Args:
        own: positions (n, h, w).
        joined: for each direction, whether a pixel is joined to its neighbour there.
    """

    def nearer(labels: Tensor, changed: Tensor) -> list[Tensor]:
        least = labels
        directions = [(axis, step) for axis in (1, 2) for step in (-1, 1)]
        for (axis, step), same in zip(directions, joined, strict=True):
            least = binary("Min", least, select(same, _shifted(labels, axis, step), labels))
        # a label is the position of a pixel, whose label may be nearer
        jumped = primitive.gather(primitive.reshape(least, [-1]), least, 0)
        return [jumped, reduction.reduce_any(comparison.not_equal(jumped, labels))]

    start = [own, convert_to_tensor(True)]
    found, _ = while_loop(
        lambda labels, changed: changed, nearer, start, [own.shape, start[1].shape], back_prop=False
    )
    made: Tensor = found
    return made


def _shifted(x: Tensor, axis: int, step: int) -> Tensor:
    """The neighbours along an axis; those at the border see themselves."""
    far = 2**31 - 1
    if step < 0:
        parts = [
            primitive.slice_axes(x, [0], [1], [axis]),
            primitive.slice_axes(x, [0], [-1], [axis]),
        ]
    else:
        parts = [
            primitive.slice_axes(x, [1], [far], [axis]),
            primitive.slice_axes(x, [-1], [far], [axis]),
        ]
    return primitive.concat(parts, axis)


def _neighbour(compared: Any, x: Tensor, axis: int, step: int) -> Tensor:
    """Whether a pixel and its neighbour compare so."""
    made: Tensor = compared(x, _shifted(x, axis, step))
    return made
