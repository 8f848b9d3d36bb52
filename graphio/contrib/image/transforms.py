"""Projective transformations of images.

A transformation is eight numbers [a0, a1, a2, b0, b1, b2, c0, c1]: the output's pixel (x, y) is the
input's ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k), where k = c0 x + c1 y + 1.
"""

from __future__ import annotations

from typing import Any

from graphio.autodiff.custom_gradients import custom_gradient
from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import index
from graphio.ops.array import surface as array
from graphio.ops.linalg.matmul import matmul
from graphio.ops.linalg.solving import matrix_inverse
from graphio.ops.math import comparison, elementwise
from graphio.support import api_guard

__all__ = [
    "angles_to_projective_transforms",
    "compose_transforms",
    "flat_transforms_to_matrices",
    "matrices_to_flat_transforms",
    "rotate",
    "transform",
    "translate",
    "translations_to_projective_transforms",
]

_KINDS = ("uint8", "int32", "int64", "float16", "float32", "float64")


@api_guard.operator
def transform(
    images: Any,
    transforms: Any,
    interpolation: str = "NEAREST",
    output_shape: Any = None,
    name: str | None = None,
) -> Tensor:
    """Images under transformations; pixels from outside are 0.

    The gradient is that of TensorFlow: the slopes under the inverse transformations.

    Args:
        images: (n, height, width, channels), (height, width, channels) or (height, width).
        transforms: eight numbers, or (n, 8), or (1, 8) for all images.
        interpolation: NEAREST or BILINEAR.
        output_shape: height and width of the result; None: those of images.

    Raises:
        TypeError: a rank is unknown or another, or the dtype is not one of images.
        ValueError: there is no such interpolation, or output_shape is not of two sizes.
    """
    with scopes.name_scope(name, "transform"):
        given = convert_to_tensor(images, name="images")
        four = _as_four(given)
        mode = interpolation.upper()
        if mode not in ("NEAREST", "BILINEAR"):
            raise ValueError(f"interpolation is {interpolation!r}, expected NEAREST or BILINEAR")
        flat = convert_to_tensor(transforms, dtypes.float32, name="transforms")
        if flat.get_shape().ndims not in (1, 2):
            raise TypeError("Transforms should have rank 1 or 2.")
        eight = array.reshape(flat, [-1, 8])
        shape = array.shape(four)[1:3] if output_shape is None else output_shape
        sizes = convert_to_tensor(shape, dtypes.int32, name="output_shape")
        if not sizes.get_shape().is_compatible_with([2]):
            raise ValueError(
                "output_shape must be a 1-D Tensor of 2 elements: new_height, new_width"
            )
        result = _transformed(four, eight, sizes, mode)
        if output_shape is None:
            result.set_shape(four.shape)
        return _of_rank(result, given.get_shape().ndims or 4)


def _as_four(images: Tensor) -> Tensor:
    rank = images.get_shape().ndims
    if images.dtype.base_dtype.name not in _KINDS:
        raise TypeError(f"Invalid dtype {images.dtype}; images have one of {', '.join(_KINDS)}")
    if rank is None:
        raise TypeError("image_or_images rank must be statically known")
    if rank not in (2, 3, 4):
        raise TypeError(f"Images should have rank between 2 and 4, not {rank}.")
    four = images if rank == 4 else array.expand_dims(images, 0)
    return array.expand_dims(four, -1) if rank == 2 else four


def _of_rank(images: Tensor, rank: int) -> Tensor:
    return array.squeeze(images, {2: [0, 3], 3: [0]}[rank]) if rank < 4 else images


def _transformed(images: Tensor, transforms: Tensor, sizes: Tensor, mode: str) -> Tensor:
    """The images; their gradient: see transform."""
    if not images.dtype.is_floating:
        return _sampled(images, transforms, sizes, mode)

    @custom_gradient
    def sampled(x: Tensor) -> Any:
        def gradient(dy: Tensor) -> Tensor:
            back = matrices_to_flat_transforms(
                matrix_inverse(flat_transforms_to_matrices(transforms))
            )
            return _sampled(dy, back, array.shape(x)[1:3], mode)

        return _sampled(x, transforms, sizes, mode), gradient

    made: Tensor = sampled(images)
    return made


def _sampled(images: Tensor, transforms: Tensor, sizes: Tensor, mode: str) -> Tensor:
    """(n, height, width, channels) of the pixels that each pixel of the result comes from."""
    rows = elementwise.to_float(array.reshape(array.range(sizes[0]), [1, -1, 1]))
    columns = elementwise.to_float(array.reshape(array.range(sizes[1]), [1, 1, -1]))
    number = array.shape(images)[0]
    ones = array.ones(array.stack([number, 1]), dtypes.float32)
    parts = array.unstack(elementwise.multiply(transforms, ones), num=8, axis=1)
    a0, a1, a2, b0, b1, b2, c0, c1 = (array.reshape(p, [-1, 1, 1]) for p in parts)
    depth = c0 * columns + c1 * rows + 1.0
    x = (a0 * columns + a1 * rows + a2) / depth
    y = (b0 * columns + b1 * rows + b2) / depth
    if mode == "NEAREST":
        return _pixels(images, _half_away(y), _half_away(x))
    top, left = elementwise.floor(y), elementwise.floor(x)
    kind = images.dtype
    below, right = array.expand_dims(y - top, 3), array.expand_dims(x - left, 3)

    def row(at: Tensor) -> Tensor:
        one = elementwise.to_float(_pixels(images, at, left))
        two = elementwise.to_float(_pixels(images, at, left + 1.0))
        return (1.0 - right) * one + right * two

    mixed = (1.0 - below) * row(top) + below * row(top + 1.0)
    return elementwise.cast(mixed, kind)


def _half_away(x: Tensor) -> Tensor:
    """x rounded; halves away from 0."""
    size = elementwise.floor(elementwise.abs(x) + 0.5)
    return elementwise.sign(x) * size


def _pixels(images: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """The pixels of rows y and columns x, both (n, height, width), whole numbers; outside: 0."""
    shape = array.shape(images)
    height, width = elementwise.to_float(shape[1]), elementwise.to_float(shape[2])
    inside = comparison.logical_and(
        comparison.logical_and(comparison.greater_equal(y, 0.0), comparison.less(y, height)),
        comparison.logical_and(comparison.greater_equal(x, 0.0), comparison.less(x, width)),
    )
    zero = array.zeros_like(y)
    row = elementwise.to_int32(array.where(inside, y, zero))
    column = elementwise.to_int32(array.where(inside, x, zero))
    number = array.reshape(array.range(shape[0]), [-1, 1, 1])
    at = (number * shape[1] + row) * shape[2] + column
    flat = array.reshape(images, array.stack([-1, shape[3]]))
    found = index.gather(flat, at)
    mask = elementwise.cast(array.expand_dims(inside, 3), images.dtype)
    return found * mask


@api_guard.operator
def rotate(
    images: Any, angles: Any, interpolation: str = "NEAREST", name: str | None = None
) -> Tensor:
    """Images rotated counterclockwise around their centres by angles in radians.

    Args:
        images: as of transform.
        angles: a scalar, or one for each image.
        interpolation: NEAREST or BILINEAR.

    Raises:
        TypeError: a rank is another.
    """
    with scopes.name_scope(name, "rotate"):
        given = convert_to_tensor(images)
        sizes = array.shape(_as_four(given))
        height, width = (array.reshape(elementwise.to_float(sizes[i]), [1]) for i in (1, 2))
        flat = angles_to_projective_transforms(angles, height, width)
        return transform(given, flat, interpolation)


@api_guard.operator
def translate(
    images: Any, translations: Any, interpolation: str = "NEAREST", name: str | None = None
) -> Tensor:
    """Images moved by (dx, dy), or by one such pair for each image (n, 2).

    Raises:
        TypeError: a rank is another.
    """
    with scopes.name_scope(name, "translate"):
        return transform(images, translations_to_projective_transforms(translations), interpolation)


@api_guard.operator
def angles_to_projective_transforms(
    angles: Any, image_height: Any, image_width: Any, name: str | None = None
) -> Tensor:
    """The transformations (n, 8) of rotations around the centres of images.

    Args:
        angles: in radians, a scalar or a vector.

    Raises:
        TypeError: angles has a higher rank.
    """
    with scopes.name_scope(name, "angles_to_projective_transforms"):
        given = convert_to_tensor(angles, dtypes.float32, name="angles")
        if given.get_shape().ndims not in (0, 1):
            raise TypeError("Angles should have rank 0 or 1.")
        angle = array.reshape(given, [-1])
        right = elementwise.subtract(image_width, 1.0)
        down = elementwise.subtract(image_height, 1.0)
        cosine, sine = elementwise.cos(angle), elementwise.sin(angle)
        x = (right - (cosine * right - sine * down)) / 2.0
        y = (down - (sine * right + cosine * down)) / 2.0
        zero = array.zeros_like(angle)
        return array.stack([cosine, -sine, x, sine, cosine, y, zero, zero], axis=1)


@api_guard.operator
def translations_to_projective_transforms(translations: Any, name: str | None = None) -> Tensor:
    """The transformations (n, 8) of movements by (dx, dy), one or (n, 2).

    Raises:
        TypeError: translations has another rank.
    """
    with scopes.name_scope(name, "translations_to_projective_transforms"):
        given = convert_to_tensor(translations, dtypes.float32, name="translations")
        if given.get_shape().ndims not in (1, 2):
            raise TypeError("Translations should have rank 1 or 2.")
        pairs = array.reshape(given, [-1, 2])
        x, y = pairs[:, 0], pairs[:, 1]
        one, zero = array.ones_like(x), array.zeros_like(x)
        return array.stack([one, zero, -x, zero, one, -y, zero, zero], axis=1)


@api_guard.operator
def compose_transforms(*transforms: Any) -> Tensor:
    """The transformation that has the effect of several, each eight numbers or (n, 8).

    Raises:
        AssertionError: there are none.
    """
    if not transforms:
        raise AssertionError("transforms cannot be empty")
    with scopes.name_scope("compose_transforms"):
        composed = flat_transforms_to_matrices(transforms[0])
        for further in transforms[1:]:
            composed = matmul(composed, flat_transforms_to_matrices(further))
        return matrices_to_flat_transforms(composed)


@api_guard.operator
def flat_transforms_to_matrices(transforms: Any) -> Tensor:
    """Eight numbers or (n, 8) as matrices (n, 3, 3).

    Raises:
        ValueError: transforms has another rank.
    """
    with scopes.name_scope("flat_transforms_to_matrices"):
        given = convert_to_tensor(transforms, name="transforms")
        if given.shape.ndims not in (1, 2):
            raise ValueError(f"Transforms should be 1D or 2D, got: {given}")
        rows = array.reshape(given, [-1, 8])
        ones = array.ones(array.stack([array.shape(rows)[0], 1]), given.dtype)
        return array.reshape(array.concat([rows, ones], 1), [-1, 3, 3])


@api_guard.operator
def matrices_to_flat_transforms(transform_matrices: Any) -> Tensor:
    """Matrices (3, 3) or (n, 3, 3) as transformations (n, 8), scaled to a last entry of 1.

    Raises:
        ValueError: transform_matrices has another rank.
    """
    with scopes.name_scope("matrices_to_flat_transforms"):
        given = convert_to_tensor(transform_matrices, name="transform_matrices")
        if given.shape.ndims not in (2, 3):
            raise ValueError(f"Matrices should be 2D or 3D, got: {given}")
        rows = array.reshape(given, [-1, 9])
        return (rows / rows[:, 8:9])[:, :8]
