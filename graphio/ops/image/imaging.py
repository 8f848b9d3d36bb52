"""tf.image: sizes, flips and colours of images (h, w, c) or (n, h, w, c); crops: cropping.py."""

from __future__ import annotations

import functools
import math as _math
from collections.abc import Callable
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.ops.array import filling, index, joining
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import (
    INTEGER,
    NUMERIC,
    cut,
    describe,
    ints,
    is_symbolic,
    like,
    node,
    require,
    scalar,
    scope,
    static_ints,
)
from graphio.ops.base.primitive import binary, cast, compare, select
from graphio.ops.base.shapes import dims_of
from graphio.ops.checks import run_checks
from graphio.ops.control_flow.branches import switch_case
from graphio.ops.linalg import matmul
from graphio.ops.linalg.any_rank import of_any_rank
from graphio.ops.math import elementwise, reduction
from graphio.ops.random import core as random
from graphio.support import api_guard, errors

__all__ = [
    "ResizeMethod",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "convert_image_dtype",
    "flip_left_right",
    "flip_up_down",
    "grayscale_to_rgb",
    "image_gradients",
    "per_image_standardization",
    "random_brightness",
    "random_contrast",
    "random_flip_left_right",
    "random_flip_up_down",
    "resize_area",
    "resize_bicubic",
    "resize_bilinear",
    "resize_images",
    "resize_nearest_neighbor",
    "rgb_to_grayscale",
    "rot90",
    "total_variation",
    "transpose_image",
]


class ResizeMethod:
    """The methods of resize_images; those of TensorFlow 2 alone (strings) are refused."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


# ---- shared by all ----


def image_and_row(value: Any, op: str, at: str) -> tuple[Tensor, int]:
    """An image or a batch of them, and the axis of height."""
    x = convert_to_tensor(value, name="image")
    rank = x.shape.ndims
    if rank not in (3, 4):
        raise ValueError(
            f"'image' must have either 3 or 4 dimensions. Its shape is {shapes.text_of(x)} for "
            f"{describe(at, op)}"
        )
    if 0 in x.shape.as_list()[-3:]:
        raise ValueError(
            f"all dims of 'image.shape' must be > 0: {shapes.text_of(x)} for {describe(at, op)}"
        )
    return x, rank - 3


def axis_size(x: Tensor, axis: int) -> Tensor:
    return primitive.gather(primitive.shape_of(x), scalar(axis, dtypes.int64), 0)


# ---- sizes ----


def height_and_width(size: Any, op: str) -> tuple[Tensor, tuple[int | None, int | None]]:
    """Height and width as a tensor and as far as they are known."""
    target = ints(cut(size), op, "size")
    dims = primitive.static_vector(target) or (None, None)
    if len(dims) != 2:
        raise ValueError(f"{op}: 'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    if any(d is not None and d <= 0 for d in dims):
        raise ValueError(f"{op}: output dimensions must be positive, got {shapes.text(dims)}")
    return target, (dims[0], dims[1])


def _resize(
    tf_type: str, images: Any, size: Any, align_corners: bool, half_pixel_centers: bool,
    name: str | None, **attrs: Any,
) -> Tensor:  # fmt: skip
    if align_corners and half_pixel_centers:
        raise ValueError("If half_pixel_centers is True, align_corners must be False.")
    with scope(name, tf_type) as at:
        x = convert_to_tensor(images, name="images")
        require(x, NUMERIC, tf_type, "images")
        if x.shape.ndims not in (4, None):
            raise ValueError(
                f"Shape must be rank 4 but is rank {x.shape.ndims} for {describe(at, tf_type)} "
                f"with input shapes: {shapes.text_of(x)}."
            )
        target, (h, w) = height_and_width(size, tf_type)
        if attrs["mode"] != "nearest":
            x = cast(x, dtypes.float32)
        dims = dims_of(x) or (None,) * 4
        sizes = primitive.shape_of(x)
        whole = primitive.concat(
            [
                primitive.slice_axes(sizes, [0], [1], [0]),
                target,
                primitive.slice_axes(sizes, [3], [4], [0]),
            ],
            0,
        )
        way = "align_corners" if align_corners else "asymmetric"
        check_size((dims[0], h, w, dims[3]), describe(at, tf_type))
        return node(
            "Resize",
            [x, None, None, whole],
            x.dtype,
            (dims[0], h, w, dims[3]),
            name=at,
            tf_type=tf_type,
            coordinate_transformation_mode="half_pixel" if half_pixel_centers else way,
            **attrs,
        )


def check_size(dims: tuple[int | None, ...], what: str) -> None:
    """Refuses a result of more elements than int64 counts."""
    if _math.prod(d for d in dims if d is not None) > dtypes.int64.max:
        raise errors.InvalidArgumentError(
            message=f"the result would have shape {shapes.text(dims)}, more elements than there "
            f"are numbers for them, for {what}"
        )


@api_guard.operator
def resize_bilinear(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Images in another size, by linear interpolation between the four nearest elements.

    Args:
        images: numeric (n, h, w, c).
        size: new height and width.
        align_corners: True: the centres of the corner elements stay where they are.
        name: of the operation.
        half_pixel_centers: True: elements count as squares, not as points at their corners.

    Returns:
        A float32 tensor (n, new h, new w, c), of images of any dtype.

    Raises:
        ValueError: the rank is not 4, or size is not two positive numbers.
    """
    return _resize("ResizeBilinear", images, size, align_corners, half_pixel_centers, name,
                   mode="linear")  # fmt: skip


@api_guard.operator
def resize_bicubic(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Images in another size, by cubic interpolation between the sixteen nearest elements.

    The kernel's parameter is -0.75, with borders repeated; with half_pixel_centers it is -0.5 and
    pixels outside are left out. Arguments as resize_bilinear's.
    """
    attrs: dict[str, Any] = {"mode": "cubic", "cubic_coeff_a": -0.75}
    if half_pixel_centers:
        attrs.update(cubic_coeff_a=-0.5, exclude_outside=1)
    return _resize("ResizeBicubic", images, size, align_corners, half_pixel_centers, name, **attrs)


@api_guard.operator
def resize_nearest_neighbor(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Images in another size, of the nearest elements; keeps the dtype.

    Arguments as resize_bilinear's.
    """
    nearest = "round_prefer_ceil" if align_corners else "floor"
    if half_pixel_centers:
        # (i + 0.5) * scale rounded down is the element that (i + 0.5) * scale - 0.5 is nearest to.
        nearest = "round_prefer_ceil"
    return _resize("ResizeNearestNeighbor", images, size, align_corners, half_pixel_centers, name,
                   mode="nearest", nearest_mode=nearest)  # fmt: skip


@api_guard.operator
def resize_area(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None
) -> Tensor:
    """Images in another size, each element the mean of the area that it covers.

    Args:
        images: numeric (n, h, w, c).
        size: new height and width.
        align_corners: True: the corners stay where they are.
        name: of the operation.

    Returns:
        A float32 tensor (n, new h, new w, c), of images of any dtype.

    Raises:
        ValueError: the rank is known and not 4.
    """
    with scope(name, "ResizeArea") as at:
        x = convert_to_tensor(images, name="images")
        require(x, NUMERIC, "ResizeArea", "images")
        if x.shape.ndims is None:
            x = primitive.reshape_to(x, primitive.shape_of(x), (None,) * 4)
        dims = dims_of(x)
        target, new = height_and_width(size, "ResizeArea")
        if dims is None or len(dims) != 4:
            raise ValueError(f"resize_area: images have shape {shapes.text(dims)}, expected rank 4")
        check_size((dims[0], *new, dims[3]), describe(at, "ResizeArea"))
        x = cast(x, dtypes.float32)
        high, wide = (
            _open_areas(axis_size(x, axis), target[axis - 1], align_corners, x.dtype)
            if old is None or n is None
            else constant(_areas(old, n, align_corners).astype(x.dtype.as_numpy_dtype))
            for axis, old, n in zip((1, 2), dims[1:3], new, strict=True)
        )
        columns = primitive.transpose(x, [0, 3, 1, 2])
        across = matmul.matmul(columns, primitive.transpose(wide, [1, 0]))
        return primitive.transpose(matmul.matmul(high, across), [0, 2, 3, 1], at)


def _areas(old: int, new: int, align_corners: bool) -> np.ndarray[Any, Any]:
    """(new, old): the part that each old element has in each new one."""
    scale = (old - 1) / (new - 1) if align_corners and new > 1 else old / new
    starts = np.arange(new)[:, None] * scale
    below = np.maximum(np.arange(old), starts)
    above = np.minimum(np.arange(old) + 1, starts + scale)
    # Beyond the border, the last element is repeated.
    beyond = np.maximum(starts + scale - np.maximum(old, starts), 0)
    weights = np.maximum(above - below, 0)
    weights[:, -1:] += beyond
    return np.asarray(weights / scale)


def _open_areas(old: Tensor, new: Tensor, align_corners: bool, dtype: dtypes.DType) -> Tensor:
    """As _areas, of sizes that only the run knows."""
    olds, news = (cast(filling.range(size), dtypes.float64) for size in (old, new))
    before, after = cast(old, dtypes.float64), cast(new, dtypes.float64)
    scale = before / after
    if align_corners:
        inner = (before - 1.0) / elementwise.maximum(after - 1.0, 1.0)
        scale = select(compare("Greater", new, scalar(1, new.dtype)), inner, scale)
    starts = primitive.unsqueeze(news * scale, [1])
    below = elementwise.maximum(olds, starts)
    above = elementwise.minimum(olds + 1.0, starts + scale)
    beyond = elementwise.maximum(starts + scale - elementwise.maximum(before, starts), 0.0)
    at_border = cast(compare("Equal", olds, before - 1.0), dtypes.float64)
    weights = elementwise.maximum(above - below, 0.0) + beyond * at_border
    return cast(weights / scale, dtype)


#: by number and by TensorFlow 2's name
_METHODS: dict[int | str, Callable[..., Tensor]] = {
    ResizeMethod.BILINEAR: resize_bilinear,
    ResizeMethod.NEAREST_NEIGHBOR: resize_nearest_neighbor,
    ResizeMethod.BICUBIC: resize_bicubic,
    ResizeMethod.AREA: resize_area,
    "bilinear": resize_bilinear,
    "nearest": resize_nearest_neighbor,
    "bicubic": resize_bicubic,
    "area": resize_area,
}


@api_guard.operator
def resize_images(
    images: Any,
    size: Any,
    method: int | str = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images in another size.

    Args:
        images: numeric (n, h, w, c) or (h, w, c).
        size: new height and width.
        method: of ResizeMethod: BILINEAR, NEAREST_NEIGHBOR, BICUBIC or AREA; or their names,
            "bilinear", "nearest", "bicubic" or "area".
        align_corners: True: the centres of the corner elements stay where they are.
        preserve_aspect_ratio: True: size is the largest; sizes must be known then.
        name: of the operation.

    Returns:
        A tensor with the new height and width, float32 unless the method is NEAREST_NEIGHBOR or
        the size is known to be the old one, which keep the dtype.

    Raises:
        ValueError: the rank is neither 3 nor 4, method is unknown, or size is not two integers.
    """
    build = _METHODS.get(method)
    if build is None:
        raise ValueError(
            f"Resize method is not implemented: {method!r}; there are tf.image.ResizeMethod's "
            "BILINEAR, NEAREST_NEIGHBOR, BICUBIC and AREA"
        )
    with scope(name, "resize_images") as at:
        x, row = image_and_row(images, "resize_images", at)
        dims = dims_of(x)
        assert dims is not None
        old = dims[row : row + 2]
        if preserve_aspect_ratio:
            size = _within(old, size)
        try:
            _, new = height_and_width(size, "resize_images")
        except TypeError as error:
            raise ValueError(str(error)) from None
        if None not in new and old == new:
            return primitive.unary("Identity", x, at)
        if row:
            return build(x, size, align_corners=align_corners, name=at)
        y = build(primitive.unsqueeze(x, [0]), size, align_corners=align_corners)
        return primitive.squeeze(y, [0], at)


def _within(old: Any, size: Any) -> list[int]:
    """The largest size of the old one's proportions."""
    requested = static_ints(size)
    if requested is None or None in requested or None in old:
        raise ValueError("resize_images: preserve_aspect_ratio needs known sizes")
    factor = min(n / o for n, o in zip(requested, old, strict=True))
    return [int(_math.floor(o * factor + 0.5)) for o in old]


# ---- flips and rotations ----


def _flipped(image: Any, axis: int, op: str, name: str | None) -> Tensor:
    with scope(name, op) as at:
        x, row = image_and_row(image, op, at)
        return index.reverse(x, [row + axis], name=at)


@api_guard.operator
@of_any_rank("flip_left_right", 3)
def flip_left_right(image: Any, name: str | None = None) -> Tensor:
    """Images with left and right exchanged; (h, w, c) or (n, h, w, c)."""
    return _flipped(image, 1, "flip_left_right", name)


@api_guard.operator
@of_any_rank("flip_up_down", 3)
def flip_up_down(image: Any, name: str | None = None) -> Tensor:
    """Images with top and bottom exchanged; (h, w, c) or (n, h, w, c)."""
    return _flipped(image, 0, "flip_up_down", name)


def _flipped_or_not(image: Any, axis: int, op: str, seed: int | None) -> Tensor:
    with scope(None, op) as at:
        x, row = image_and_row(image, op, at)
        dims = dims_of(x)
        count = primitive.slice_axes(primitive.shape_of(x), [0], [row], [0])
        shape = primitive.concat([count, primitive.int_vector([1, 1, 1])], 0)
        draw = random.random_uniform(shape, seed=seed)
        turns = compare("Less", draw, scalar(0.5, draw.dtype))
        y = select(turns, index.reverse(x, [row + axis]), x, at)
        y.set_shape(dims)
        return y


@api_guard.operator
@of_any_rank("random_flip_left_right", 3)
def random_flip_left_right(image: Any, seed: int | None = None) -> Tensor:
    """Each image with left and right exchanged, or as it is, with equal chances."""
    return _flipped_or_not(image, 1, "random_flip_left_right", seed)


@api_guard.operator
@of_any_rank("random_flip_up_down", 3)
def random_flip_up_down(image: Any, seed: int | None = None) -> Tensor:
    """Each image with top and bottom exchanged, or as it is, with equal chances."""
    return _flipped_or_not(image, 0, "random_flip_up_down", seed)


@api_guard.operator
@of_any_rank("transpose_image", 3)
def transpose_image(image: Any, name: str | None = None) -> Tensor:
    """Images with height and width exchanged; (h, w, c) or (n, h, w, c)."""
    with scope(name, "transpose_image") as at:
        x, row = image_and_row(image, "transpose_image", at)
        return primitive.transpose(x, [*range(row), row + 1, row, row + 2], at)


@api_guard.operator
@of_any_rank("rot90", 3)
def rot90(image: Any, k: Any = 1, name: str | None = None) -> Tensor:
    """Images rotated counter-clockwise by k times 90 degrees; (h, w, c) or (n, h, w, c).

    Args:
        image: of any dtype.
        k: an integer, or an integer scalar tensor.
        name: of the operation.

    Raises:
        ValueError: the rank is neither 3 nor 4, or k is not a scalar.
    """
    with scope(name, "rot90") as at:
        x, row = image_and_row(image, "rot90", at)
        turns = convert_to_tensor(k, name="k")
        require(turns, INTEGER, "rot90", "k")
        if turns.shape.ndims not in (0, None):
            raise ValueError(f"rot90: k has shape {turns.shape}, expected a scalar")
        known = constant_value(turns)
        if known is not None:
            return _quarters(x, row, int(known) % 4, at)
        return _reversed_in_run(x, row, elementwise.floormod(turns, scalar(4, turns.dtype)), at)


def _quarters(x: Tensor, row: int, turns: int, name: str | None = None) -> Tensor:
    """Images rotated by 0 to 3 times 90 degrees."""
    if turns in (1, 3):
        x = transpose_image(x)
    axes = [row] * (turns in (1, 2)) + [row + 1] * (turns in (2, 3))
    return index.reverse(x, axes, name=name)


def _reversed_in_run(x: Tensor, row: int, turns: Tensor, name: str) -> Tensor:
    ways = [functools.partial(_quarters, x, row, n) for n in range(4)]
    y = primitive.unary("Identity", switch_case(cast(turns, dtypes.int32), ways), name)
    dims = dims_of(x) or ()
    y.set_shape([*dims[:row], None, None, dims[-1]])
    return y


# ---- colours ----


@api_guard.operator
def convert_image_dtype(
    image: Any, dtype: Any, saturate: bool = False, name: str | None = None
) -> Tensor:
    """Images in another dtype, whose range stands for the same colours: floats have [0, 1).

    Args:
        image: numeric.
        dtype: of the result.
        saturate: True limits what the dtype cannot hold.
        name: of the operation.
    """
    x = convert_to_tensor(image, name="image")
    requested = dtypes.as_dtype(dtype).base_dtype
    old = x.dtype.base_dtype
    to = elementwise.saturate_cast if saturate else elementwise.cast
    with scope(name, "convert_image") as at:
        require(x, NUMERIC, "convert_image", "image")
        if old == requested:
            return primitive.unary("Identity", x, at)
        if old.is_floating and requested.is_floating:
            return cast(x, requested, at)
        if old.is_integer and requested.is_integer:
            if old.max > requested.max:
                scale = (old.max + 1) // (requested.max + 1)
                return to(elementwise.floordiv(x, scalar(scale, old)), requested, name=at)
            scale = (requested.max + 1) // (old.max + 1)
            return binary("Mul", to(x, requested), scalar(scale, requested), at)
        if old.is_integer:
            return binary("Mul", cast(x, requested), scalar(1.0 / old.max, requested), at)
        return to(binary("Mul", x, scalar(requested.max + 0.5, old)), requested, name=at)


@api_guard.operator
def per_image_standardization(image: Any) -> Tensor:
    """Each image less its mean, over its standard deviation or 1 / sqrt(size), if that is more.

    Args:
        image: numeric (..., h, w, c).

    Returns:
        A float32 tensor of image's shape.

    Raises:
        ValueError: the rank is below 3.
    """
    with scope(None, "per_image_standardization") as at:
        x = convert_to_tensor(image, name="image")
        require(x, NUMERIC, "per_image_standardization", "image")
        rank = x.shape.ndims
        if rank is not None and rank < 3:
            raise ValueError(
                f"'image' (shape {shapes.text_of(x)}) must be at least three-dimensional for "
                f"{describe(at, 'per_image_standardization')}"
            )
        x = cast(x, dtypes.float32)
        sizes = primitive.slice_axes(primitive.shape_of(x), [-3], [primitive.last], [0])
        count = cast(node("ReduceProd", [sizes], dtypes.int64, (), keepdims=0), x.dtype)
        axes = [-3, -2, -1]
        apart = binary("Sub", x, reduction.reduce_mean(x, axes, keepdims=True))
        spread = elementwise.sqrt(
            reduction.reduce_mean(elementwise.square(apart), axes, keepdims=True)
        )
        return binary("Div", apart, binary("Max", spread, elementwise.rsqrt(count)), at)


@api_guard.operator
def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    """The brightness 0.2989 r + 0.587 g + 0.114 b of images (..., 3), as (..., 1).

    Integers are taken as convert_image_dtype does, and come back in their dtype.

    Raises:
        ValueError: the last axis is not 3.
    """
    with scope(name, "rgb_to_grayscale") as at:
        x = convert_to_tensor(images, name="images")
        dims = dims_of(x)
        if dims is not None and (not dims or dims[-1] not in (3, None)):
            raise ValueError(
                f"images have shape {shapes.text(dims)}, expected (..., 3) for "
                f"{describe(at, 'rgb_to_grayscale')}"
            )
        old = x.dtype.base_dtype
        colours = x if old.is_floating else convert_image_dtype(x, dtypes.float32)
        kind = colours.dtype.base_dtype.as_numpy_dtype
        weights = constant(np.asarray([0.2989, 0.587, 0.114], kind))
        grey = reduction.reduce_sum(binary("Mul", colours, weights), [-1], keepdims=True)
        return convert_image_dtype(grey, old, saturate=not old.is_floating, name=at)


@api_guard.operator
def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Images (..., 1) with three equal channels.

    Raises:
        ValueError: the last axis is not 1.
    """
    with scope(name, "grayscale_to_rgb") as at:
        x = convert_to_tensor(images, name="images")
        dims = dims_of(x)
        if dims is not None and (not dims or dims[-1] not in (1, None)):
            raise ValueError(
                f"images have shape {shapes.text(dims)}, expected (..., 1) for "
                f"{describe(at, 'grayscale_to_rgb')}"
            )
        return primitive.concat([x, x, x], -1, at)


def _as_floats(image: Any, op: str) -> tuple[Tensor, dtypes.DType]:
    x = convert_to_tensor(image, name="images")
    require(x, NUMERIC, op, "images")
    old = x.dtype.base_dtype
    return (x if old.is_floating else convert_image_dtype(x, dtypes.float32)), old


@api_guard.operator
def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """Images with delta added to every colour in [0, 1); integers are taken as such."""
    with scope(None, "adjust_brightness") as at:
        x, old = _as_floats(image, "adjust_brightness")
        amount = like(delta, x, "adjust_brightness", ("image", "delta"))
        return convert_image_dtype(binary("Add", x, amount), old, saturate=True, name=at)


@api_guard.operator
def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """Images with each channel's distance from its mean times contrast_factor.

    Args:
        images: numeric (..., h, w, c).
        contrast_factor: number or scalar.

    Raises:
        ValueError: contrast_factor is not a scalar.
    """
    with scope(None, "adjust_contrast") as at:
        x, old = _as_floats(images, "adjust_contrast")
        factor = like(contrast_factor, x, "adjust_contrast", ("images", "contrast_factor"))
        if factor.shape.ndims not in (0, None):
            raise ValueError(f"contrast_factor must be scalar: its shape is {factor.shape}")
        mean = reduction.reduce_mean(x, [-3, -2], keepdims=True)
        far = binary("Mul", binary("Sub", x, mean), factor)
        return convert_image_dtype(binary("Add", far, mean), old, saturate=True, name=at)


@api_guard.operator
def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """adjust_brightness by a random number in [-max_delta, max_delta).

    Raises:
        ValueError: max_delta is negative.
    """
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, _drawn(image, -max_delta, max_delta, seed))


@api_guard.operator
def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """adjust_contrast by a random factor in [lower, upper).

    Raises:
        ValueError: lower is negative, or not below upper.
    """
    if upper <= lower or lower < 0:
        raise ValueError("upper must be > lower, and lower must be non-negative.")
    return adjust_contrast(image, _drawn(image, lower, upper, seed))


def _drawn(image: Any, low: float, high: float, seed: int | None) -> Tensor:
    kind = convert_to_tensor(image, name="image").dtype.base_dtype
    requested = kind if kind.is_floating else dtypes.float32
    return cast(random.random_uniform([], low, high, seed=seed), requested)


@api_guard.operator
def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """gain times the colours in [0, 1) to the power of gamma.

    Raises:
        ValueError: gamma is a negative number.
        InvalidArgumentError: of the run, gamma is a tensor with a negative number in it.
    """
    words = "Gamma should be a non-negative real number."
    if not is_symbolic(gamma) and np.any(np.asarray(gamma) < 0):
        raise ValueError(words)
    with scope(None, "adjust_gamma") as at:
        x, old = _as_floats(image, "adjust_gamma")
        exponent = like(gamma, x, "adjust_gamma", ("image", "gamma"))
        power = binary("Pow", x, run_checks.not_negative(exponent, words))
        scaled = binary("Mul", power, like(gain, x, "adjust_gamma", ("image", "gain")))
        return convert_image_dtype(scaled, old, saturate=True, name=at)


# ---- differences ----


@api_guard.operator
def total_variation(images: Any, name: str | None = None) -> Tensor:
    """The sum of absolute differences of neighbours: of an image a scalar, of a batch (n)."""
    with scope(name, "total_variation") as at:
        x, row = image_and_row(images, "total_variation", at)
        sums = []
        for axis in (row, row + 1):
            after = primitive.slice_axes(x, [1], [primitive.last], [axis])
            before = primitive.slice_axes(x, [0], [-1], [axis])
            apart = elementwise.abs(binary("Sub", after, before))
            sums.append(reduction.reduce_sum(apart, [row, row + 1, row + 2]))
        return binary("Add", sums[0], sums[1], at)


@api_guard.operator
def image_gradients(image: Any) -> tuple[Tensor, Tensor]:
    """The differences to the next row and to the next column, 0 in the last: (dy, dx).

    Args:
        image: numeric (n, h, w, c).

    Raises:
        ValueError: the rank is not 4.
    """
    with scope(None, "image_gradients") as at:
        x = convert_to_tensor(image, name="image")
        if x.shape.ndims != 4:
            raise ValueError(
                f"image_gradients expects a 4D tensor [batch_size, h, w, d], not "
                f"{shapes.text_of(x)} for {describe(at, 'image_gradients')}"
            )
        found = []
        for axis in (1, 2):
            after = primitive.slice_axes(x, [1], [primitive.last], [axis])
            before = primitive.slice_axes(x, [0], [-1], [axis])
            ends = [[0, int(a == axis)] for a in range(4)]
            found.append(joining.pad(binary("Sub", after, before), ends))
        return found[0], found[1]
