"""tf.image: boxes, the best of many and the parts of images in them."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.ops.array import filling, index, joining
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import (
    FLOATING,
    NUMERIC,
    describe,
    integers,
    is_symbolic,
    node,
    require,
    scalar,
    scope,
    static_ints,
)
from graphio.ops.base.primitive import binary, cast, compare, select
from graphio.ops.base.shapes import dims_of
from graphio.ops.image.imaging import axis_size, height_and_width
from graphio.ops.math import elementwise
from graphio.support import api_guard, errors

__all__ = [
    "crop_and_resize",
    "non_max_suppression",
    "non_max_suppression_padded",
    "read_pixels",
    "size_of",
    "threshold_vector",
]


@api_guard.operator
def non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """The best boxes in descending order of score, without those that overlap a better one.

    Args:
        boxes: float32 (n, 4): two opposite corners y1, x1, y2, x2.
        scores: float32 (n).
        max_output_size: how many at most; this and the thresholds may be scalar tensors.
        iou_threshold: the part in common, of two boxes' union, above which the worse one goes.
        score_threshold: boxes whose score is not above it go.
        name: of the operation.

    Returns:
        The numbers of the boxes, an int32 vector.

    Raises:
        ValueError: the shapes do not fit, or a number is not a scalar.
        TypeError: max_output_size is not an integer, or a Python integer beyond int32.
    """
    op = "NonMaxSuppressionV3"
    with scope(name, op) as at:
        corners = convert_to_tensor(boxes, dtype=dtypes.float32, name="boxes")
        values = convert_to_tensor(scores, dtype=dtypes.float32, name="scores")
        what = describe(at, op)
        shapes.merge(dims_of(corners), (None, 4), what)
        shapes.merge(dims_of(values), (dims_of(corners) or (None,))[:1], what)
        limit = primitive.reshape(size_of(max_output_size, "max_output_size", what), [1])
        inputs: list[Tensor | None] = [
            primitive.unsqueeze(corners, [0]),
            primitive.unsqueeze(values, [0, 1]),
            limit,
            threshold_vector(iou_threshold, "iou_threshold", what),
        ]
        if is_symbolic(score_threshold) or score_threshold != float("-inf"):
            inputs.append(threshold_vector(score_threshold, "score_threshold", what))
        found = node("NonMaxSuppression", inputs, dtypes.int64, (None, 3), center_point_box=0)
        column = primitive.gather(found, scalar(2, dtypes.int64), 1)
        return cast(column, dtypes.int32, at)


def size_of(value: Any, name: str, what: str) -> Tensor:
    """How many there are at most, an int64 scalar.

    Raises:
        ValueError: the value is not a scalar.
        TypeError: it is not an integer, or known to be beyond int32.
    """
    number = integers(value, what, name)
    most = constant_value(number)
    if most is not None and most.size and int(most.max()) > dtypes.int32.max:
        raise TypeError(
            f"Input '{name}' of {what} is {most}, of type int64 that does not match expected type "
            "of int32; give a smaller number"
        )
    _require_scalar(number, name, what)
    return cast(number, dtypes.int64)


def _require_scalar(tensor: Tensor, name: str, what: str) -> None:
    if tensor.shape.ndims not in (0, None):
        raise ValueError(f"{name} has shape {tensor.shape}, expected a scalar for {what}")


def threshold_vector(value: Any, name: str, what: str) -> Tensor:
    """A number or scalar tensor as a float32 vector of one."""
    tensor = convert_to_tensor(value, dtype=dtypes.float32, name=name)
    _require_scalar(tensor, name, what)
    return primitive.reshape(tensor, [1])


@api_guard.operator
def non_max_suppression_padded(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    pad_to_max_output_size: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """non_max_suppression, if wished with zeros up to max_output_size, and how many are valid."""
    with scope(name, "non_max_suppression_padded") as at:
        chosen = non_max_suppression(boxes, scores, max_output_size, iou_threshold, score_threshold)
        count = primitive.count(chosen, dtypes.int32)
        if not pad_to_max_output_size:
            return primitive.unary("Identity", chosen, at), count
        limit = cast(convert_to_tensor(max_output_size), dtypes.int32)
        ends = joining.stack([scalar(0, dtypes.int32), binary("Sub", limit, count)])
        padded = joining.pad(chosen, primitive.unsqueeze(ends, [0]), name=at)
        known = static_ints([max_output_size])
        padded.set_shape([known[0] if known else None])
        return padded, count


@api_guard.operator
def crop_and_resize(
    image: Any,
    boxes: Any = None,
    box_ind: Any = None,
    crop_size: Any = None,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    name: str | None = None,
    box_indices: Any = None,
) -> Tensor:
    """Parts of images, each in the same size.

    Args:
        image: numeric (n, h, w, c).
        boxes: float32 (m, 4): y1, x1, y2, x2 with 0 and 1 the first and the last row or column;
            they may reach beyond the image, and be reversed.
        box_ind: integer vector (m), the image of each box.
        crop_size: height and width of the parts.
        method: bilinear or nearest.
        extrapolation_value: outside the image.
        name: of the operation.
        box_indices: the new name of box_ind.

    Returns:
        A float tensor (m, height, width, c): float32 unless image is float64.

    Raises:
        ValueError: the shapes do not fit, or method is neither.
        InvalidArgumentError: boxes are known to have a number that is not finite, or the result to
            have more elements than int64 counts.
    """
    if method not in ("bilinear", "nearest"):
        raise ValueError(f"method must be 'bilinear' or 'nearest', got {method!r}")
    with scope(name, "CropAndResize") as at:
        x = convert_to_tensor(image, name="image")
        require(x, NUMERIC, "CropAndResize", "image")
        what = describe(at, "CropAndResize")
        shapes.merge(dims_of(x), (None,) * 4, what)
        if x.dtype.base_dtype != dtypes.float64:
            x = cast(x, dtypes.float32)
        region = convert_to_tensor(boxes, None if is_symbolic(boxes) else dtypes.float32, "boxes")
        require(region, FLOATING, "CropAndResize", "boxes")
        known = constant_value(region)
        if known is not None and not np.isfinite(known).all():
            raise errors.InvalidArgumentError(
                message=f"Boxes contains at least one element that is not finite for {what}"
            )
        shapes.merge(dims_of(region), (None, 4), what)
        given = box_ind if box_indices is None else box_indices
        numbers = integers(given, "CropAndResize", "box_ind")
        shapes.merge(dims_of(numbers), (dims_of(region) or (None,))[:1], what)
        region = cast(region, x.dtype)
        target, sizes = height_and_width(crop_size, "CropAndResize")
        _check_count(
            (*(dims_of(region) or (None,))[:1], *sizes, *(dims_of(x) or (None,))[-1:]), what
        )
        rows, columns = (_lines(x, region, target, axis) for axis in (0, 1))
        y, w = primitive.unsqueeze(rows, [2]), primitive.unsqueeze(columns, [1])
        position = primitive.unsqueeze(cast(numbers, dtypes.int64), [1, 2])
        build = _nearest if method == "nearest" else _bilinear
        inside = compare("And", _within_axis(x, y, 1), _within_axis(x, w, 2))
        found = build(x, position, y, w)
        return select(primitive.unsqueeze(inside, [3]), found,
                      scalar(extrapolation_value, x.dtype), at)  # fmt: skip


def _check_count(dims: shapes.Dims, what: str) -> None:
    count = shapes.num_elements(dims)
    if count is not None and count >= 2**63:
        raise errors.InvalidArgumentError(
            message=f"the parts {shapes.text(dims)} have {count} elements, more than int64 counts, "
            f"for {what}; crop to smaller sizes"
        )


def _lines(x: Tensor, boxes: Tensor, target: Tensor, axis: int) -> Tensor:
    """(m, size): the positions of the lines of each part along an axis of the images."""
    kind = x.dtype
    one, half = scalar(1, kind), scalar(0.5, kind)
    size = primitive.squeeze(primitive.slice_axes(target, [axis], [axis + 1], [0]), [0])
    low, high = (primitive.slice_axes(boxes, [i], [i + 1], [1]) for i in (axis, axis + 2))
    span = binary("Sub", cast(axis_size(x, axis + 1), kind), one)
    steps = binary("Sub", cast(size, kind), one)
    single = compare("Less", steps, half)
    # A single line is in the middle.
    stride = binary(
        "Div", binary("Mul", binary("Sub", high, low), span), select(single, one, steps)
    )
    first = select(
        single,
        binary("Mul", binary("Mul", half, binary("Add", low, high)), span),
        binary("Mul", low, span),
    )
    positions = cast(filling.range(size), kind)
    return binary("Add", first, binary("Mul", primitive.unsqueeze(positions, [0]), stride))


def _within_axis(x: Tensor, at: Tensor, axis: int) -> Tensor:
    end = binary("Sub", cast(axis_size(x, axis), x.dtype), scalar(1, x.dtype))
    return compare(
        "And", compare("GreaterOrEqual", at, scalar(0, x.dtype)), compare("LessOrEqual", at, end)
    )


def read_pixels(x: Tensor, position: Tensor, y: Tensor, w: Tensor) -> Tensor:
    """(m, height, width, c): the elements at integer coordinates, clamped to the image."""
    zero, parts = scalar(0, dtypes.int64), [position]
    for at, axis in ((y, 1), (w, 2)):
        end = binary("Sub", axis_size(x, axis), scalar(1, dtypes.int64))
        parts.append(binary("Max", binary("Min", cast(at, dtypes.int64), end), zero))
    spread = binary("Mul", binary("Add", parts[1], parts[2]), zero)
    wide = [primitive.unsqueeze(binary("Add", p, spread), [3]) for p in parts]
    return index.read_at(x, primitive.concat(wide, 3))


def _nearest(x: Tensor, position: Tensor, y: Tensor, w: Tensor) -> Tensor:
    half = scalar(0.5, x.dtype)
    up, left = (elementwise.floor(binary("Add", v, half)) for v in (y, w))
    return read_pixels(x, position, up, left)


def _bilinear(x: Tensor, position: Tensor, y: Tensor, w: Tensor) -> Tensor:
    top, left = elementwise.floor(y), elementwise.floor(w)
    bottom, right = elementwise.ceil(y), elementwise.ceil(w)
    down, along = (primitive.unsqueeze(binary("Sub", a, b), [3]) for a, b in ((y, top), (w, left)))

    def mixed(a: Tensor, b: Tensor, part: Tensor) -> Tensor:
        return binary("Add", a, binary("Mul", binary("Sub", b, a), part))

    upper, lower = (
        mixed(read_pixels(x, position, line, left), read_pixels(x, position, line, right), along)
        for line in (top, bottom)
    )
    return mixed(upper, lower, down)
