"""The gradient of MaxRoiPool by x: dy added to the largest element of each bin."""

from __future__ import annotations

import numpy as np

from graphio.framework import dtypes
from graphio.framework.gradient_registry import gradient
from graphio.framework.graph import Operation, Tensor
from graphio.ops.base.emit import node, scalar
from graphio.ops.base.primitive import (
    binary,
    cast,
    compare,
    count,
    gather,
    reduce_sum,
    reshape,
    select,
    shape_of,
    slice_axes,
    squeeze,
    unary,
    unsqueeze,
)
from graphio.ops.base.shapes import dims_of
from graphio.ops.control_flow.loops import scan_node
from graphio.ops.image.sampling import positions, size, sized


@gradient("MaxRoiPool")
def _max_roi_pool(op: Operation, dy: Tensor) -> list[Tensor | None]:
    x, rois = op.inputs[:2]
    assert x is not None and rois is not None
    shape, scale = op.attrs["pooled_shape"], float(op.attrs.get("spatial_scale", 1.0))
    wide = cast(rois, dtypes.float64)
    ends = binary("Mul", wide, scalar(scale, dtypes.float64))
    rows = _bins(ends, 2, int(shape[0]), x, 2)
    columns = _bins(ends, 1, int(shape[1]), x, 3)
    images = cast(squeeze(slice_axes(wide, [0], [1], [1]), [1]), dtypes.int64)

    def sample_positions(
        state: list[Tensor], pieces: list[Tensor]
    ) -> tuple[list[Tensor], list[Tensor]]:
        return [], [_largest(x, *pieces)]

    (at,) = scan_node(sample_positions, [], [images, rows, columns])  # (r, c, oh, ow)
    nothing = compare("Less", at, scalar(0, dtypes.int64))
    flat = reshape(select(nothing, scalar(0, dtypes.int64), at), [-1])
    values = reshape(select(nothing, scalar(0, dy.dtype), dy), [-1])
    inputs = [flat, values, count(x, dtypes.int64)]
    summed = node("ScatterSum", inputs, dy.dtype, (None,), domain="graphio")
    return [reshape(summed, shape_of(x), dims_of(x)), None]


def _bins(ends: Tensor, first: int, out: int, x: Tensor, axis: int) -> Tensor:
    """The positions along an axis of x that each bin has, (r, out, size); ends of regions are
    rounded half away from 0."""
    low, high = (_rounded(slice_axes(ends, [k], [k + 1], [1])) for k in (first, first + 2))
    one, parts = scalar(1, dtypes.float64), scalar(out, dtypes.float64)
    span = binary("Max", binary("Add", binary("Sub", high, low), one), one)
    step = binary("Div", span, parts)  # (r, 1)
    i = positions(out, dtypes.float64)
    start = binary("Add", unary("Floor", binary("Mul", i, step)), low)
    stop = binary("Add", unary("Ceil", binary("Mul", binary("Add", i, one), step)), low)
    position = positions(size(x, axis), dtypes.float64)
    after = compare("LessOrEqual", unsqueeze(start, [2]), position)
    return compare("And", after, compare("Less", position, unsqueeze(stop, [2])))


def _rounded(v: Tensor) -> Tensor:
    half = scalar(0.5, v.dtype)
    return binary("Mul", unary("Sign", v), unary("Floor", binary("Add", unary("Abs", v), half)))


def _largest(x: Tensor, image: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """The flat index in x of the first largest element of each bin of one region, -1 for an empty
    bin: (c, oh, ow) from which rows (oh, h) and columns (ow, w) the bins have."""
    lowest = scalar(-np.inf, x.dtype)
    plane = gather(x, image, 0)  # (c, h, w)
    c, h, w = (size(x, a) for a in (1, 2, 3))
    oh, ow = size(rows, 0), size(columns, 0)
    inside = sized(columns, 1, 1, ow, w)
    column, best = _first_largest(select(inside, sized(plane, c, h, 1, w), lowest), 3)
    column, best = sized(column, c, h, ow), sized(best, c, 1, h, ow)
    row, _ = _first_largest(select(sized(rows, 1, oh, h, 1), best, lowest), 2)
    row = sized(row, c, oh, ow)
    column = node("GatherElements", [column, row], dtypes.int64, dims_of(row), axis=1)
    channels = sized(positions(c, dtypes.int64), c, 1, 1)
    sizes = shape_of(x)
    at = image
    for axis, position in ((1, channels), (2, row), (3, column)):
        many = squeeze(slice_axes(sizes, [axis], [axis + 1], [0]), [0])
        at = binary("Add", binary("Mul", at, many), position)
    some = compare("And", sized(_any(rows), oh, 1), sized(_any(columns), 1, ow))
    return select(some, at, scalar(-1, dtypes.int64))


def _first_largest(x: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """The index of the first largest element along an axis, kept with size 1, and its value."""
    dims = dims_of(x)
    kept = None if dims is None else (*dims[:axis], 1, *dims[axis + 1 :])
    at = node("ArgMax", [x], dtypes.int64, kept, axis=axis, keepdims=1)
    return at, node("GatherElements", [x, at], x.dtype, kept, axis=axis)


def _any(mask: Tensor) -> Tensor:
    """Whether a row of (rows, n) has an element."""
    total = reduce_sum(cast(mask, dtypes.float32), [1], keepdims=False)
    return compare("Greater", total, scalar(0, dtypes.float32))
