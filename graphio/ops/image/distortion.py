"""tf.image: random parts of images that cover enough of their objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.base import shapes
from graphio.ops.base.emit import INTEGER, describe, require, scope
from graphio.ops.base.shapes import dims_of
from graphio.ops.media.calls import call, scalar_of
from graphio.ops.random.core import random_uniform
from graphio.support import api_guard, errors

__all__ = ["SampleDistortedBoundingBox", "sample_distorted_bounding_box"]


class SampleDistortedBoundingBox(NamedTuple):
    """The results of sample_distorted_bounding_box.

    Attributes:
        begin: of image_size's dtype (3): y, x and 0, for tf.slice.
        size: of image_size's dtype (3): height, width and -1, for tf.slice.
        bboxes: float32 (1, 1, 4): the part as a box, for tf.image.draw_bounding_boxes.
    """

    begin: Tensor
    size: Tensor
    bboxes: Tensor


@api_guard.operator
def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Sequence[float] | None = None,
    area_range: Sequence[float] | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> SampleDistortedBoundingBox:
    """A random part of an image that covers enough of one of its objects.

    Parts are drawn in the same way as in TensorFlow, from other random numbers.

    Args:
        image_size: integer (3): height, width and channels.
        bounding_boxes: float32 (..., 4) of objects: y1, x1, y2, x2 in [0, 1].
        seed: of the draws, see tf.set_random_seed.
        seed2: a second seed; together with seed it makes one.
        min_object_covered: how much of an object must be in the part, a scalar.
        aspect_ratio_range: smallest and largest width / height of the part; None: 0.75 and 1.33.
        area_range: smallest and largest part of the image; None: 0.05 and 1.
        max_attempts: how often a part is drawn, before the complete image is taken; None: 100.
        use_image_if_no_bounding_boxes: whether the image is the object where there is none; else
            that is an error.
        name: of the operation.

    Returns:
        begin and size of the part for tf.slice, and its box.

    Raises:
        ValueError: a shape does not fit.
        InvalidArgumentError: a range is empty or below 0; of the run: boxes are not as described.

    Example:
        begin, size, _ = tf.image.sample_distorted_bounding_box(tf.shape(image), boxes)
        part = tf.slice(image, begin, size)
    """
    op = "SampleDistortedBoundingBoxV2"
    with scope(name, "sample_distorted_bounding_box") as at:
        sizes = convert_to_tensor(image_size, name="image_size")
        require(sizes, INTEGER, op, "image_size")
        shapes.merge(dims_of(sizes), (3,), describe(at, op))
        boxes = convert_to_tensor(bounding_boxes, dtype=dtypes.float32, name="bounding_boxes")
        if boxes.shape.ndims is not None and boxes.shape.as_list()[-1:] not in ([4], [None]):
            raise ValueError(
                f"bounding_boxes of {describe(at, op)} have shape {boxes.shape}, expected [..., 4]"
            )
        covered = convert_to_tensor(min_object_covered, dtypes.float32, name="min_object_covered")
        attempts = 100 if max_attempts is None else max_attempts
        if attempts <= 0:
            raise errors.InvalidArgumentError(message=f"Max attempts must be > 0, got {attempts}")
        inputs = [
            sizes,
            boxes,
            scalar_of(covered, op, at),
            _range(aspect_ratio_range or (0.75, 1.33), "aspect_ratio_range", op),
            _range(area_range or (0.05, 1.0), "area_range", op),
            _words(4 * attempts, seed, seed2),
        ]
        dtype = sizes.dtype.base_dtype
        outputs = [(dtype, (3,)), (dtype, (3,)), (dtypes.float32, (1, 1, 4))]
        options = {"use_image_if_no_bounding_boxes": bool(use_image_if_no_bounding_boxes)}
        return SampleDistortedBoundingBox(*call(op, inputs, outputs, at, **options).outputs)


def _range(ends: Sequence[float], what: str, op: str) -> Tensor:
    if len(ends) != 2 or not 0 < ends[0] <= ends[1]:
        raise errors.InvalidArgumentError(
            message=f"{what} of {op} is {list(ends)}, expected two numbers above 0, "
            "the smaller first"
        )
    if what == "area_range" and ends[1] > 1:
        raise errors.InvalidArgumentError(
            message=f"area_range of {op} is {list(ends)}, expected up to 1"
        )
    return convert_to_tensor(list(ends), dtypes.float32, name=what)


def _words(count: int, seed: int | None, seed2: int | None) -> Tensor:
    """Random words of 32 bits, int64."""
    both = seed if not seed2 else (seed or 0) + (seed2 << 32)
    return random_uniform([count], 0, 1 << 32, dtype=dtypes.int64, seed=both)
