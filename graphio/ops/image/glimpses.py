"""tf.image: windows of images around positions."""

from __future__ import annotations

from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import filling
from graphio.ops.array import surface as array
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import describe, scalar, scope
from graphio.ops.base.primitive import binary, cast, compare, select
from graphio.ops.base.shapes import dims_of
from graphio.ops.image.boxes import read_pixels
from graphio.ops.image.imaging import axis_size, height_and_width
from graphio.ops.math import reduction
from graphio.ops.random.core import random_uniform
from graphio.support import api_guard

__all__ = ["extract_glimpse"]


@api_guard.operator
def extract_glimpse(
    input: Any,
    size: Any,
    offsets: Any,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    name: str | None = None,
) -> Tensor:
    """A window of each image, with noise where it reaches beyond the image.

    Args:
        input: float32 (n, h, w, c).
        size: int32 (2): height and width of the windows.
        offsets: float32 (n, 2): y and x of the centre of each window.
        centered: whether they count from the centre of the image; False: from its corner.
        normalized: whether they are parts of the image's size; False: pixels. With centered, -1
            and 1 are its borders.
        uniform_noise: has no effect, as in TensorFlow's Python: noise is uniform between the
            minimum and the maximum of the image.
        name: of the operation.

    Returns:
        A float32 tensor (n, height, width, c), through which no gradient passes, as in TensorFlow.

    Raises:
        ValueError: a shape does not fit.
    """
    op = "ExtractGlimpse"
    with scope(name, op) as at:
        x = convert_to_tensor(input, dtype=dtypes.float32, name="input")
        what = describe(at, op)
        shapes.merge(dims_of(x), (None,) * 4, what)
        positions = convert_to_tensor(offsets, dtype=dtypes.float32, name="offsets")
        shapes.merge(dims_of(positions), (*(dims_of(x) or (None,))[:1], 2), what)
        target, sizes = height_and_width(size, op)
        rows, columns = (
            primitive.unsqueeze(
                _lines(x, positions, target, axis, centered, normalized), [2 - axis]
            )
            for axis in (0, 1)
        )
        number = primitive.unsqueeze(filling.range(axis_size(x, 0)), [1, 2])
        found = read_pixels(x, number, rows, columns)
        inside = compare("And", _within(x, rows, 1), _within(x, columns, 2))
        noise = _noise(x, primitive.shape_of(found))
        made = select(primitive.unsqueeze(inside, [3]), found, noise)
        dims = dims_of(x) or (None,) * 4
        made.set_shape([dims[0], *sizes, dims[3]])
        return array.stop_gradient(made, name=at)


def _lines(
    x: Tensor, offsets: Tensor, target: Tensor, axis: int, centered: bool, normalized: bool
) -> Tensor:
    """(n, size): the rows or columns of the windows, int64."""
    half = scalar(0.5, dtypes.float32)
    at = primitive.slice_axes(offsets, [axis], [axis + 1], [1])
    size = cast(axis_size(x, axis + 1), dtypes.float32)
    if normalized:
        at = binary("Mul", at, size)
    if centered:
        at = binary("Add", binary("Mul", at, half), binary("Mul", size, half))
    count = primitive.squeeze(primitive.slice_axes(target, [axis], [axis + 1], [0]), [0])
    at = binary("Sub", at, binary("Mul", cast(count, dtypes.float32), half))
    steps = primitive.unsqueeze(filling.range(cast(count, dtypes.int64)), [0])
    return binary("Add", cast(at, dtypes.int64), steps)


def _within(x: Tensor, lines: Tensor, axis: int) -> Tensor:
    return compare(
        "And",
        compare("GreaterOrEqual", lines, scalar(0, dtypes.int64)),
        compare("Less", lines, axis_size(x, axis)),
    )


def _noise(x: Tensor, shape: Tensor) -> Tensor:
    """Numbers between the minimum and the maximum of each image."""
    least, most = (f(x, [1, 2, 3], True) for f in (reduction.reduce_min, reduction.reduce_max))
    return binary("Add", least, binary("Mul", random_uniform(shape), binary("Sub", most, least)))
