"""Images read at positions between their pixels."""

from __future__ import annotations

from typing import Any

from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import filling
from graphio.ops.array import surface as array
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import FLOATING, describe, require, scalar, scope
from graphio.ops.base.primitive import binary, cast, compare, select
from graphio.ops.base.shapes import dims_of
from graphio.ops.image.boxes import read_pixels
from graphio.ops.image.imaging import axis_size
from graphio.ops.math import elementwise
from graphio.support import api_guard

__all__ = ["resampler"]


@api_guard.operator
def resampler(data: Any, warp: Any, name: str = "resampler") -> Tensor:
    """Images at positions between their pixels, interpolated bilinearly, with zeros around them.

    Args:
        data: floating (n, h, w, c).
        warp: floating (n, ..., 2): x and y of each position, in pixels.
        name: of the operation.

    Returns:
        A tensor (n, ..., c) of data's dtype.

    Raises:
        ValueError: a shape does not fit.
        TypeError: an argument is not floating.
    """
    with scope(name, "resampler") as at:
        x = convert_to_tensor(data, name="data")
        require(x, FLOATING, "Resampler", "data")
        what = describe(at, "Resampler")
        dims = shapes.merge(dims_of(x), (None,) * 4, what) or (None,) * 4
        positions = convert_to_tensor(warp, x.dtype.base_dtype, name="warp")
        if positions.shape.ndims is None or positions.shape.ndims < 2:
            raise ValueError(f"warp should be at least a matrix, got {positions.shape} for {what}")
        inner = (None,) * (positions.shape.ndims - 2)
        sizes = shapes.merge(dims_of(positions), (dims[0], *inner, 2), what) or ()
        batch = primitive.unsqueeze(axis_size(x, 0), [0])
        flat = primitive.concat([batch, primitive.int_vector([-1, 1, 2])], 0)
        parts = primitive.reshape(positions, flat, (None, None, 1, 2))
        found = _interpolated(x, parts[..., 1], parts[..., 0])
        ends = primitive.unsqueeze(axis_size(x, 3), [0])
        target = primitive.concat([primitive.shape_of(positions)[:-1], ends], 0)
        return primitive.reshape_to(found, target, (*sizes[:-1], dims[3]), at)


def _interpolated(x: Tensor, y: Tensor, w: Tensor) -> Tensor:
    """The images at rows y and columns w (n, m, 1): (n, m, 1, c)."""
    number = primitive.unsqueeze(filling.range(axis_size(x, 0)), [1, 2])
    one = scalar(1, x.dtype)
    total = None
    top, left = elementwise.floor(y), elementwise.floor(w)
    for row, column in ((0, 0), (0, 1), (1, 0), (1, 1)):
        at_row = binary("Add", top, one) if row else top
        at_column = binary("Add", left, one) if column else left
        weight = binary("Mul", _weight(y, top, row), _weight(w, left, column))
        inside = compare("And", _within(x, at_row, 1), _within(x, at_column, 2))
        pixels = read_pixels(x, number, at_row, at_column)
        kept = select(inside, weight, array.zeros_like(weight))
        part = binary("Mul", primitive.unsqueeze(kept, [3]), pixels)
        total = part if total is None else binary("Add", total, part)
    assert total is not None
    return total


def _weight(at: Tensor, low: Tensor, upper: int) -> Tensor:
    part = binary("Sub", at, low)
    return part if upper else binary("Sub", scalar(1, at.dtype), part)


def _within(x: Tensor, lines: Tensor, axis: int) -> Tensor:
    end = cast(axis_size(x, axis), x.dtype)
    return compare(
        "And",
        compare("GreaterOrEqual", lines, scalar(0, x.dtype)),
        compare("Less", lines, end),
    )
