"""tf.image: boxes drawn into images."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import filling
from graphio.ops.array import surface as array
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import describe, scalar, scope
from graphio.ops.base.primitive import binary, cast, compare, select
from graphio.ops.base.shapes import dims_of
from graphio.ops.control_flow.functional import foldl
from graphio.ops.image.imaging import axis_size
from graphio.ops.math import elementwise
from graphio.support import api_guard

__all__ = ["draw_bounding_boxes"]

#: of the boxes in turn where none are given: red, green, blue, opacity
_COLOURS = (
    (1.0, 1.0, 0.0, 1.0), (0.0, 0.0, 1.0, 1.0), (1.0, 0.0, 0.0, 1.0), (0.0, 1.0, 0.0, 1.0),
    (0.5, 0.0, 0.5, 1.0), (0.5, 0.5, 0.0, 1.0), (0.5, 0.0, 0.0, 1.0), (0.0, 0.0, 0.5, 1.0),
    (0.0, 1.0, 1.0, 1.0), (1.0, 0.0, 1.0, 1.0),
)  # fmt: skip


@api_guard.operator
def draw_bounding_boxes(
    images: Any, boxes: Any, name: str | None = None, colors: Any = None
) -> Tensor:
    """Images with the outlines of boxes, one pixel wide, later boxes over earlier ones.

    Args:
        images: float32 or float16 (n, h, w, c) of 1, 3 or 4 channels.
        boxes: float32 (n, m, 4): y1, x1, y2, x2, in [0, 1] where they are inside of the image; a
            box whose second corner comes before its first is not drawn.
        name: of the operation.
        colors: float32 (k, 4), RGBA, taken in turn; None: ten fixed ones, white where c is 1.

    Returns:
        A tensor of images' dtype and shape, through which no gradient passes.

    Raises:
        ValueError: a shape does not fit.
        TypeError: images have another dtype.
    """
    op = "DrawBoundingBoxes"
    with scope(name, op) as at:
        x = convert_to_tensor(images, name="images")
        what = describe(at, op)
        if x.dtype.base_dtype not in (dtypes.float32, dtypes.float16):
            raise TypeError(f"images of {what} are {x.dtype.name}, expected float32 or float16")
        channels = (shapes.merge(dims_of(x), (None,) * 4, what) or (None,))[-1]
        if channels not in (None, 1, 3, 4):
            raise ValueError(f"Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA): "
                             f"images of {what} have shape {x.shape}")  # fmt: skip
        corners = convert_to_tensor(boxes, dtype=dtypes.float32, name="boxes")
        shapes.merge(dims_of(corners), (*(dims_of(x) or (None,))[:1], None, 4), what)
        lines = primitive.transpose(_lines(x, corners), [1, 0, 2])
        table = _table(colors, channels, what)
        found = foldl(
            lambda canvas, one: _drawn(canvas, *one),
            (lines, _in_turn(table, lines, x)),
            initializer=x,
            back_prop=False,
        )
        found.set_shape(x.shape)
        return array.stop_gradient(found, name=at)


def _table(colors: Any, channels: int | None, what: str) -> Tensor:
    if colors is not None:
        given = convert_to_tensor(colors, dtype=dtypes.float32, name="colors")
        shapes.merge(dims_of(given), (None, 4), what)
        if given.shape.ndims is None or given.shape[0].value != 0:
            return given
    table = np.array(_COLOURS, np.float32)
    if channels == 1:
        table[:, 0] = 1
    return constant(table)


def _in_turn(table: Tensor, lines: Tensor, x: Tensor) -> Tensor:
    """The colour of each box (m, c)."""
    number = filling.range(axis_size(lines, 0))
    rows = primitive.gather(table, elementwise.floormod(number, axis_size(table, 0)), 0)
    return cast(rows[:, : axis_size(x, 3)], x.dtype)


def _lines(x: Tensor, boxes: Tensor) -> Tensor:
    """The rows and columns of the corners, int64 (n, m, 4)."""
    one = scalar(1, dtypes.int64)
    height, width = (cast(binary("Sub", axis_size(x, k), one), dtypes.float32) for k in (1, 2))
    return cast(binary("Mul", boxes, array.stack([height, width, height, width])), dtypes.int64)


def _drawn(canvas: Tensor, corners: Tensor, colour: Tensor) -> Tensor:
    """Images with a box in each: corners (n, 4), colour (c)."""
    top, left, bottom, right = (
        primitive.unsqueeze(primitive.slice_axes(corners, [k], [k + 1], [1]), [2]) for k in range(4)
    )
    rows = primitive.unsqueeze(filling.range(axis_size(canvas, 1)), [0, 2])
    columns = primitive.unsqueeze(filling.range(axis_size(canvas, 2)), [0, 1])
    drawn = _or(
        _and(_on(rows, top, bottom), _between(columns, left, right)),
        _and(_on(columns, left, right), _between(rows, top, bottom)),
    )
    upright = _and(compare("LessOrEqual", top, bottom), compare("LessOrEqual", left, right))
    return select(primitive.unsqueeze(_and(drawn, upright), [3]), colour, canvas)


def _and(x: Tensor, y: Tensor) -> Tensor:
    return compare("And", x, y)


def _or(x: Tensor, y: Tensor) -> Tensor:
    return compare("Or", x, y)


def _on(lines: Tensor, first: Tensor, last: Tensor) -> Tensor:
    return _or(compare("Equal", lines, first), compare("Equal", lines, last))


def _between(lines: Tensor, first: Tensor, last: Tensor) -> Tensor:
    return _and(compare("GreaterOrEqual", lines, first), compare("LessOrEqual", lines, last))
