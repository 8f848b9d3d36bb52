"""tf.image: parts of images, and images with zeros around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Operation, Tensor
from graphio.ops.array import index, joining, shaping
from graphio.ops.base import primitive
from graphio.ops.base.emit import (
    describe,
    int_value,
    ints,
    is_symbolic,
    node,
    scope,
    static_ints,
    whole,
)
from graphio.ops.base.primitive import cast
from graphio.ops.base.shapes import dims_of
from graphio.ops.checks.assertion import Assert
from graphio.ops.image.imaging import axis_size, check_size, image_and_row, resize_images
from graphio.ops.linalg.any_rank import of_any_rank
from graphio.ops.math import comparison, elementwise, reduction
from graphio.support import api_guard, errors

__all__ = [
    "central_crop",
    "crop_to_bounding_box",
    "pad_to_bounding_box",
    "resize_image_with_crop_or_pad",
    "resize_image_with_pad",
]

# ---- shared by all ----


def _one_or_many(image: Any, op: str, at: str) -> tuple[Tensor, int]:
    """An image or a batch of them, and the axis of height; of unknown rank it is one image."""
    x = convert_to_tensor(image, name="image")
    if x.shape.ndims is None:
        x = shaping.ensure_shape(x, [None] * 3)
    return image_and_row(x, op, at)


def _number(value: Any, op: str, parameter: str) -> Any:
    """A number of rows or columns: an integer, or an int64 scalar that the run computes."""
    if is_symbolic(value):
        return primitive.reshape(whole(value, op, parameter), [])
    return int_value(value, op, parameter)


def _offset_and_target(pair: tuple[Any, Any], op: str, side: str) -> tuple[Any, Any]:
    return _number(pair[0], op, f"offset_{side}"), _number(pair[1], op, f"target_{side}")


def _size(x: Tensor, axis: int) -> Any:
    """Of an axis: an integer, or an int64 scalar that the run computes."""
    known = x.shape[axis].value
    return axis_size(x, axis) if known is None else known


def _holds(condition: Any, words: str, what: str) -> list[Operation]:
    """Nothing if the condition is a true bool; the Assert of one that only the run knows."""
    if isinstance(condition, Tensor):
        if constant_value(condition) is not None and not constant_value(condition):
            raise errors.InvalidArgumentError(message=f"assertion failed: [{words}] for {what}")
        return [Assert(condition, [words])]
    if not condition:
        raise ValueError(f"{words} for {what}")
    return []


def _not_empty(x: Tensor) -> list[Operation]:
    """The Assert that an image of unknown sizes has elements."""
    if x.shape.is_fully_defined():
        return []
    some = reduction.reduce_all(comparison.greater(primitive.shape_of(x), 0))
    return [Assert(some, ["all dims of 'image.shape' must be > 0."])]


def _after(checks: Sequence[Operation], x: Tensor) -> Tensor:
    """x, once the checks have run."""
    if not checks:
        return x
    with scopes.control_dependencies(checks):
        return primitive.unary("Identity", x)


def _shaped(y: Tensor, x: Tensor, row: int, height: Any, width: Any) -> Tensor:
    """y with x's shape but for height and width, as far as these are known."""
    dims = dims_of(x) or ()
    high, wide = ((static_ints([n]) or [None])[0] for n in (height, width))
    y.set_shape([*dims[:row], high, wide, dims[-1]])
    return y


# ---- the functions ----


@api_guard.operator
def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """A part of images.

    Args:
        image: (h, w, c) or (n, h, w, c); of unknown rank it must be one image.
        offset_height: rows above the part; this and the other numbers may be tensors.
        offset_width: columns to its left.
        target_height: its height.
        target_width: its width.

    Raises:
        ValueError: the part is known to reach beyond the image, or one of them to be empty.
        InvalidArgumentError: of the run, the same of tensors and unknown sizes.
    """
    op = "crop_to_bounding_box"
    with scope(None, op) as at:
        x, row = _one_or_many(image, op, at)
        what, checks = describe(at, op), _not_empty(x)
        starts, ends = [], []
        requested = {
            "height": (offset_height, target_height),
            "width": (offset_width, target_width),
        }
        for axis, (side, pair) in enumerate(requested.items(), row):
            offset, target = _offset_and_target(pair, op, side)
            checks += _holds(offset >= 0, f"offset_{side} must be >= 0", what)
            checks += _holds(target > 0, f"target_{side} must be > 0", what)
            inside = _size(x, axis) >= target + offset
            checks += _holds(inside, f"{side} must be >= target + offset", what)
            starts.append(offset)
            ends.append(target + offset)
        bounds = [ints(starts, op, "starts"), ints(ends, op, "ends")]
        axes = primitive.int_vector([row, row + 1], "axes")
        dims = (None,) * (row + 3)
        y = node("Slice", [_after(checks, x), *bounds, axes], x.dtype, dims, name=at)
        return _shaped(y, x, row, target_height, target_width)


@api_guard.operator
def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """Images with zeros around them.

    Args:
        image: (h, w, c) or (n, h, w, c); of unknown rank it must be one image.
        offset_height: rows of zeros above; this and the other numbers may be tensors.
        offset_width: columns of zeros to the left.
        target_height: height of the result.
        target_width: width of the result.

    Raises:
        ValueError: an offset is negative, or the image is known to be empty or not to fit.
        InvalidArgumentError: of the run, the same of tensors and unknown sizes.
    """
    op = "pad_to_bounding_box"
    with scope(None, op) as at:
        x, row = _one_or_many(image, op, at)
        what, checks = describe(at, op), _not_empty(x)
        before: list[Any] = [0] * (row + 3)
        after: list[Any] = [0] * (row + 3)
        requested = {
            "height": (offset_height, target_height),
            "width": (offset_width, target_width),
        }
        for axis, (side, pair) in enumerate(requested.items(), row):
            offset, target = _offset_and_target(pair, op, side)
            rest = target - offset - _size(x, axis)
            checks += _holds(offset >= 0, f"offset_{side} must be >= 0", what)
            checks += _holds(rest >= 0, f"{side} must be <= target - offset", what)
            before[axis], after[axis] = offset, rest
        known = [(static_ints([n]) or [None])[0] for n in (target_height, target_width)]
        check_size((*x.shape.as_list()[:row], *known, x.shape[-1].value), what)
        amounts = primitive.reshape(ints([*before, *after], op, "paddings"), [2, row + 3])
        y = joining.pad(_after(checks, x), primitive.transpose(amounts, [1, 0]), name=at)
        return _shaped(y, x, row, target_height, target_width)


@api_guard.operator
def resize_image_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Tensor:
    """Images cut or filled with zeros around their middle to a size.

    Args:
        image: (h, w, c) or (n, h, w, c); of unknown rank it must be one image.
        target_height: the new height, an integer or a tensor.
        target_width: the new width, an integer or a tensor.

    Raises:
        ValueError: a size is not positive, or the image is known to be empty.
        InvalidArgumentError: of the run, the same of tensors and unknown sizes.
    """
    op = "resize_image_with_crop_or_pad"
    with scope(None, op) as at:
        x, row = _one_or_many(image, op, at)
        what, checks = describe(at, op), _not_empty(x)
        targets = {"height": target_height, "width": target_width}
        parts = []
        for axis, (side, value) in enumerate(targets.items(), row):
            target = _number(value, op, f"target_{side}")
            checks += _holds(target > 0, f"target_{side} must be > 0", what)
            parts.append(_about_the_middle(_size(x, axis), target))
        (top, above, high), (left, before, wide) = parts
        cut = crop_to_bounding_box(_after(checks, x), top, left, high, wide)
        return pad_to_bounding_box(cut, above, before, target_height, target_width)


def _about_the_middle(size: Any, target: Any) -> tuple[Any, Any, Any]:
    """How much of an axis of a number or tensor of elements is cut at its beginning, how much is
    put before it, and how much of it stays."""
    if not isinstance(size, Tensor) and not isinstance(target, Tensor):
        return max((size - target) // 2, 0), max((target - size) // 2, 0), min(size, target)
    return (
        elementwise.maximum((size - target) // 2, 0),
        elementwise.maximum((target - size) // 2, 0),
        elementwise.minimum(size, target)
        if isinstance(size, Tensor)
        else elementwise.minimum(target, size),
    )


@api_guard.operator
def resize_image_with_pad(
    image: Any, target_height: Any, target_width: Any, method: Any = 0, align_corners: bool = False
) -> Tensor:
    """Images resized without changing their proportions, zeros filling the rest.

    Args:
        image: (h, w, c) or (n, h, w, c); of unknown rank it must be one image.
        target_height: of the result, an integer or a tensor.
        target_width: of the result, an integer or a tensor.
        method: see ResizeMethod.
        align_corners: see resize_images.

    Raises:
        ValueError: a size is not positive, or the image is known to be empty.
        InvalidArgumentError: of the run, the same of tensors and unknown sizes.
    """
    op = "resize_image_with_pad"
    with scope(None, op) as at:
        x, row = _one_or_many(image, op, at)
        what, checks = describe(at, op), _not_empty(x)
        sizes = [_size(x, row), _size(x, row + 1)]
        targets = [
            _number(target_height, op, "target_height"),
            _number(target_width, op, "target_width"),
        ]
        for side, target in zip(("height", "width"), targets, strict=True):
            checks += _holds(target > 0, f"target_{side} must be > 0", what)
        new, before = _fitting(sizes, targets)
        smaller = resize_images(_after(checks, x), new, method, align_corners)
        return pad_to_bounding_box(smaller, *before, *targets)


def _fitting(sizes: Sequence[Any], targets: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The largest height and width of an image's proportions within the targets, and what is put
    before them; in float32, as TensorFlow computes them."""
    numbers = [*sizes, *targets]
    if not any(isinstance(n, Tensor) for n in numbers):
        high, wide, to_high, to_wide = (np.float32(n) for n in numbers)
        ratio = max(wide / to_wide, high / to_high)
        fit = (high / ratio, wide / ratio)
        rest = (to_high - fit[0], to_wide - fit[1])
        return [int(n) for n in fit], [max(int(np.floor(r / np.float32(2))), 0) for r in rest]
    floats = [cast(convert_to_tensor(n), dtypes.float32) for n in numbers]
    ratio = elementwise.maximum(floats[1] / floats[3], floats[0] / floats[2])
    new, before = [], []
    for size, target in zip(floats[:2], floats[2:], strict=True):
        exact = size / ratio
        new.append(cast(elementwise.floor(exact), dtypes.int32))
        half = elementwise.floor((target - exact) / 2.0)
        before.append(elementwise.maximum(cast(half, dtypes.int32), 0))
    return new, before


@api_guard.operator
@of_any_rank("central_crop", 3)
def central_crop(image: Any, central_fraction: Any) -> Tensor:
    """The middle of images.

    Args:
        image: (h, w, c) or (n, h, w, c).
        central_fraction: the part of height and width that stays, in (0, 1], a number or a scalar
            tensor; 1 gives the image.

    Raises:
        ValueError: central_fraction is out of range.
        InvalidArgumentError: of the run, the same of a tensor.
    """
    words = "central_fraction must be within (0, 1]"
    with scope(None, "central_crop") as at:
        x, row = image_and_row(image, "central_crop", at)
        if is_symbolic(central_fraction):
            fraction = cast(convert_to_tensor(central_fraction), dtypes.float64)
            within = comparison.logical_and(fraction > 0.0, fraction <= 1.0)
            x = _after(_holds(within, words, describe(at, "central_crop")), x)
            return _central(x, row, fraction, at)
        if not 0.0 < central_fraction <= 1.0:
            raise ValueError(f"{words}, got {central_fraction}")
        if central_fraction == 1.0:
            return x
        return _central(x, row, central_fraction, at)


def _central(x: Tensor, row: int, fraction: Any, at: str) -> Tensor:
    """The middle of images: a fraction, which may be a tensor, of height and width."""
    begin: list[Any] = [0] * (row + 3)
    size: list[Any] = [-1] * (row + 3)
    for axis in (row, row + 1):
        known = x.shape[axis].value
        if known is None or isinstance(fraction, Tensor):
            begin[axis], size[axis] = _middle(axis_size(x, axis), fraction)
        else:
            begin[axis] = int((known - known * fraction) / 2)
            size[axis] = known - 2 * begin[axis]
    return index.slice(x, begin, size, name=at)


def _middle(size: Tensor, fraction: Any) -> tuple[Tensor, Tensor]:
    """Where the middle of an axis begins, and how long it is."""
    exact = cast(size, dtypes.float64)
    start = cast((exact - exact * fraction) / 2.0, dtypes.int64)
    return start, size - 2 * start
