"""tf.image: the best of many boxes by scores that get less, by given overlaps, and for classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.ops.array import filling, order
from graphio.ops.array import surface as array
from graphio.ops.array.index import scatter_nd
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import describe, node, scalar, scope
from graphio.ops.base.primitive import binary, cast, compare, select
from graphio.ops.base.shapes import dims_of
from graphio.ops.control_flow.loops import while_loop
from graphio.ops.image.boxes import size_of, threshold_vector
from graphio.ops.image.imaging import axis_size
from graphio.ops.math import elementwise, reduction
from graphio.support import api_guard, errors

__all__ = [
    "CombinedNonMaxSuppression",
    "combined_non_max_suppression",
    "non_max_suppression_overlaps",
    "non_max_suppression_with_scores",
]

_LEAST = float("-inf")


# ---- one by one ----


@api_guard.operator
def non_max_suppression_with_scores(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = _LEAST,
    soft_nms_sigma: Any = 0.0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The best boxes in descending order of score, where boxes that overlap a better one get a
    lower score (Bodla et al. 2017).

    Args:
        boxes: float32 (n, 4): two opposite corners y1, x1, y2, x2.
        scores: float32 (n).
        max_output_size: how many at most; this and the following may be scalar tensors.
        iou_threshold: the part in common, of two boxes' union, above which the worse one goes where
            soft_nms_sigma is 0.
        score_threshold: boxes whose score is not above it go.
        soft_nms_sigma: the larger, the less a score gets lower; 0: not at all.
        name: of the operation.

    Returns:
        The numbers of the boxes, an int32 vector, and their scores, a float32 vector.

    Raises:
        ValueError: the shapes do not fit.
    """
    op = "NonMaxSuppressionV5"
    with scope(name, "non_max_suppression_with_scores") as at:
        corners = convert_to_tensor(boxes, dtype=dtypes.float32, name="boxes")
        values = convert_to_tensor(scores, dtype=dtypes.float32, name="scores")
        shapes.merge(dims_of(corners), (None, 4), describe(at, op))
        shapes.merge(dims_of(values), (dims_of(corners) or (None,))[:1], describe(at, op))
        limit, sigma = (
            convert_to_tensor(v, dtype=dtypes.float32, name=what)
            for v, what in ((iou_threshold, "iou_threshold"), (soft_nms_sigma, "soft_nms_sigma"))
        )
        soft = compare("Greater", sigma, scalar(0, dtypes.float32))
        one, zero = scalar(1, dtypes.float32), scalar(0, dtypes.float32)
        half = binary("Div", scalar(-0.5, dtypes.float32), select(soft, sigma, one))
        scale, hard = select(soft, half, zero), primitive.unary("Not", soft)

        def lowered(values: Tensor, best: Tensor) -> Tensor:
            part = _overlap(corners, primitive.gather(corners, best, 0))
            weight = elementwise.exp(binary("Mul", scale, elementwise.square(part)))
            over = compare("And", compare("Greater", part, limit), hard)
            return select(over, scalar(_LEAST, dtypes.float32), binary("Mul", values, weight))

        return _best_first(values, max_output_size, score_threshold, lowered, at)


@api_guard.operator
def non_max_suppression_overlaps(
    overlaps: Any,
    scores: Any,
    max_output_size: Any,
    overlap_threshold: Any = 0.5,
    score_threshold: Any = _LEAST,
    name: str | None = None,
) -> Tensor:
    """The best of n things in descending order of score, without those that overlap a better one.

    Args:
        overlaps: float32 (n, n): how much two overlap.
        scores: float32 (n).
        max_output_size: how many at most; this and the thresholds may be scalar tensors.
        overlap_threshold: above it the worse one goes.
        score_threshold: those whose score is not above it go.
        name: of the operation.

    Returns:
        Their numbers, an int32 vector.

    Raises:
        ValueError: the shapes do not fit.
    """
    op = "NonMaxSuppressionWithOverlaps"
    with scope(name, "non_max_suppression_overlaps") as at:
        parts = convert_to_tensor(overlaps, dtype=dtypes.float32, name="overlaps")
        values = convert_to_tensor(scores, dtype=dtypes.float32, name="scores")
        found = (shapes.merge(dims_of(parts), (None, None), describe(at, op)) or (None,))[:1]
        shapes.merge(dims_of(parts), found * 2, describe(at, op))
        shapes.merge(dims_of(values), found, describe(at, op))
        limit = convert_to_tensor(overlap_threshold, dtype=dtypes.float32, name="overlap_threshold")

        def without(values: Tensor, best: Tensor) -> Tensor:
            over = compare("Greater", primitive.gather(parts, best, 1), limit)
            return select(over, scalar(_LEAST, dtypes.float32), values)

        return _best_first(values, max_output_size, score_threshold, without, at)[0]


def _overlap(boxes: Tensor, one: Tensor) -> Tensor:
    """The part in common of each box (n, 4) and one (4), of their union."""
    sides = [_sides(boxes), _sides(one)]
    common = scalar(1, dtypes.float32)
    for axis in (0, 1):
        low = binary("Max", sides[0][axis][0], sides[1][axis][0])
        high = binary("Min", sides[0][axis][1], sides[1][axis][1])
        length = binary("Max", binary("Sub", high, low), scalar(0, dtypes.float32))
        common = binary("Mul", common, length)
    first, second = (_area(both) for both in sides)
    union = binary("Sub", binary("Add", first, second), common)
    zero = scalar(0, dtypes.float32)
    real = compare("And", compare("Greater", first, zero), compare("Greater", second, zero))
    return select(
        real, binary("Div", common, select(real, union, primitive.fill_like(union, 1.0))), zero
    )


def _area(sides: list[tuple[Tensor, Tensor]]) -> Tensor:
    (top, bottom), (left, right) = sides
    return binary("Mul", binary("Sub", bottom, top), binary("Sub", right, left))


def _sides(boxes: Tensor) -> list[tuple[Tensor, Tensor]]:
    """The lower and the upper end of boxes along y and x."""
    ends = [boxes[..., k] for k in range(4)]
    return [
        (binary("Min", ends[k], ends[k + 2]), binary("Max", ends[k], ends[k + 2])) for k in (0, 1)
    ]


def _best_first(
    scores: Tensor,
    max_output_size: Any,
    score_threshold: Any,
    lowered: Callable[[Tensor, Tensor], Tensor],
    at: str,
) -> tuple[Tensor, Tensor]:
    """The numbers and scores that are the best, one after the other.

    Args:
        scores: float32 (n).
        max_output_size, score_threshold: as in the functions above.
        lowered: from the scores and the number of the best one to the scores after it.
        at: name of the numbers.
    """
    most = size_of(max_output_size, "max_output_size", f"'{at.rstrip('/')}'")
    limit = convert_to_tensor(score_threshold, dtype=dtypes.float32, name="score_threshold")
    least = scalar(_LEAST, dtypes.float32)
    one, zero = scalar(1, dtypes.int64), scalar(0, dtypes.int64)
    count = axis_size(scores, 0)
    numbers = filling.range(count)
    values = select(compare("Greater", scores, limit), scores, least)
    late = primitive.expand(count, primitive.shape_of(scores), dims_of(scores))

    def further(step: Tensor, values: Tensor, turns: Tensor, found: Tensor) -> Tensor:
        above = compare("Greater", reduction.reduce_max(values), limit)
        return compare("And", compare("Less", step, most), above)

    def take(step: Tensor, values: Tensor, turns: Tensor, found: Tensor) -> list[Tensor]:
        best = reduction.argmax(values, 0)
        chosen = compare("Equal", numbers, best)
        rest = select(chosen, least, lowered(values, best))
        return [
            binary("Add", step, one),
            select(compare("Greater", rest, limit), rest, least),
            select(chosen, step, turns),
            select(chosen, values, found),
        ]

    invariants = [step.shape for step in (zero, values, late, scores)]
    given = [zero, values, late, scores]
    steps, _, turns, found = while_loop(further, take, given, invariants, back_prop=False)
    sequence = order.argsort(turns, stable=True)
    first = sequence[:steps]
    return cast(first, dtypes.int32, at), primitive.gather(found, first, 0)


# ---- for classes ----


class CombinedNonMaxSuppression(NamedTuple):
    """The results of combined_non_max_suppression.

    Attributes:
        nmsed_boxes: float32 (b, k, 4).
        nmsed_scores: float32 (b, k).
        nmsed_classes: float32 (b, k).
        valid_detections: int32 (b): how many of the k are boxes; the others are zeros.
    """

    nmsed_boxes: Tensor
    nmsed_scores: Tensor
    nmsed_classes: Tensor
    valid_detections: Tensor


@api_guard.operator
def combined_non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size_per_class: Any,
    max_total_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = _LEAST,
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> CombinedNonMaxSuppression:
    """The best boxes of each image over all classes: non_max_suppression for each class, and the
    best of what is left.

    Args:
        boxes: float32 (b, n, q, 4): two opposite corners y1, x1, y2, x2 of each box; q is 1 or the
            number of classes, which then have separate boxes.
        scores: float32 (b, n, classes).
        max_output_size_per_class: how many boxes of a class at most, a Python integer or tensor.
        max_total_size: how many boxes of an image at most, a Python integer or known tensor.
        iou_threshold: the part in common, of two boxes' union, above which the worse one goes.
        score_threshold: boxes whose score is not above it go.
        pad_per_class: whether there are no more rows than max_output_size_per_class for each class.
        clip_boxes: whether the results are limited to [0, 1].
        name: of the operation.

    Returns:
        Boxes, scores, classes and how many are valid, for each image.

    Raises:
        ValueError: the shapes do not fit, or a size that must be known is not.
        InvalidArgumentError: a size is not above 0.
    """
    op = "CombinedNonMaxSuppression"
    with scope(name, "combined_non_max_suppression") as at:
        corners = convert_to_tensor(boxes, dtype=dtypes.float32, name="boxes")
        values = convert_to_tensor(scores, dtype=dtypes.float32, name="scores")
        what = describe(at, op)
        boxed = shapes.merge(dims_of(corners), (None, None, None, 4), what) or (None,) * 4
        shapes.merge(dims_of(values), (*boxed[:2], None), what)
        if None not in (boxed[2], values.shape[-1].value) and boxed[2] not in (
            1, values.shape[-1].value,
        ):  # fmt: skip
            raise ValueError(
                f"boxes of {what} have shape {corners.shape} and scores {values.shape}: the third "
                "size must be 1 or the number of classes"
            )
        per_class = size_of(max_output_size_per_class, "max_output_size_per_class", what)
        total = size_of(max_total_size, "max_total_size", what)
        for number, parameter in (
            (per_class, "max_output_size_per_class"),
            (total, "max_total_size"),
        ):
            known = constant_value(number)
            if known is not None and (known <= 0).any():
                raise errors.InvalidArgumentError(
                    message=f"{parameter} must be > 0, is {known} for {what}"
                )
        if pad_per_class:
            each = binary("Mul", per_class, axis_size(values, 2))
            total = binary("Min", total, each)
        by_class = primitive.transpose(values, [0, 2, 1])
        rows = _for_each_class(corners, by_class)
        limits = [
            primitive.reshape(per_class, [1]),
            threshold_vector(iou_threshold, "iou_threshold", what),
            threshold_vector(score_threshold, "score_threshold", what),
        ]
        ranked = _of_chosen(rows, by_class, limits)
        return _best_of_all(rows, ranked, axis_size(values, 1), total, clip_boxes, at)


def _for_each_class(boxes: Tensor, scores: Tensor) -> Tensor:
    """Boxes (b, classes, n, 4) for scores (b, classes, n)."""
    rows = primitive.transpose(boxes, [0, 2, 1, 3])
    four = primitive.int_vector([4])
    return primitive.expand(rows, primitive.concat([primitive.shape_of(scores), four], 0))


def _of_chosen(boxes: Tensor, scores: Tensor, limits: list[Tensor]) -> Tensor:
    """The scores (b, classes, n), minus infinity for those of boxes that are not chosen.

    Args:
        boxes: (b, classes, n, 4).
        scores: (b, classes, n).
        limits: how many of a class at most, and both thresholds, vectors of one.
    """
    count = axis_size(scores, 2)
    end = primitive.unsqueeze(count, [0])
    single = primitive.concat([primitive.int_vector([-1, 1]), end], 0)
    corners = primitive.concat([primitive.int_vector([-1]), end, primitive.int_vector([4])], 0)
    inputs: list[Tensor | None] = [
        primitive.reshape(boxes, corners, (None, None, 4)),
        primitive.reshape(scores, single, (None, 1, None)),
        *limits,
    ]
    found = node("NonMaxSuppression", inputs, dtypes.int64, (None, 3), center_point_box=0)
    rows, indices = (primitive.gather(found, scalar(k, dtypes.int64), 1) for k in (0, 2))
    at = binary("Add", binary("Mul", rows, count), indices)
    size = primitive.unsqueeze(primitive.count(scores, dtypes.int64), [0])
    marks = primitive.expand(scalar(1.0, dtypes.float32), primitive.shape_of(at))
    chosen = scatter_nd(primitive.unsqueeze(at, [1]), marks, size)
    chosen = primitive.reshape(chosen, primitive.shape_of(scores), dims_of(scores))
    half, least = scalar(0.5, dtypes.float32), scalar(_LEAST, dtypes.float32)
    return select(compare("Greater", chosen, half), scores, least)


def _best_of_all(
    boxes: Tensor, scores: Tensor, count: Tensor, total: Tensor, clip_boxes: bool, at: str
) -> CombinedNonMaxSuppression:
    """The best boxes of each image.

    Args:
        boxes: (b, classes, n, 4).
        scores: (b, classes, n), minus infinity for those that are not chosen.
        count: n.
        total: how many.
        clip_boxes: whether boxes are limited to [0, 1].
        at: name scope.
    """
    batch = primitive.unsqueeze(axis_size(scores, 0), [0])
    several = binary("Mul", axis_size(scores, 1), count)
    wide = primitive.concat([batch, primitive.unsqueeze(several, [0])], 0)
    flat = primitive.reshape(scores, wide, (None, None))
    values, indices = order.top_k(flat, binary("Min", total, several))
    missing = binary("Sub", total, binary("Min", total, several))
    static = constant_value(total)
    dims = (*(dims_of(scores) or (None,))[:1], None if static is None else int(static))

    def filled(x: Tensor, name: str) -> Tensor:
        ends = primitive.concat(
            [primitive.int_vector([0, 0, 0]), primitive.unsqueeze(missing, [0])], 0
        )
        tail = x.shape.ndims == 3
        pads = primitive.reshape(ends, [2, 2])
        if tail:
            pads = primitive.concat(
                [pads, primitive.reshape(primitive.int_vector([0, 0]), [1, 2])], 0
            )
        made = array.pad(x, pads, name=f"{at}{name}")
        made.set_shape([*dims, 4] if tail else dims)
        return made

    valid = compare("Greater", values, scalar(_LEAST, dtypes.float32))
    zero = scalar(0, dtypes.float32)
    index = cast(indices, dtypes.int64)
    first = binary("Mul", filling.range(axis_size(scores, 0)), several)
    positions = binary("Add", index, primitive.unsqueeze(first, [1]))
    chosen = primitive.gather(primitive.reshape(boxes, [-1, 4], (None, 4)), positions, 0)
    if clip_boxes:
        chosen = binary("Max", binary("Min", chosen, scalar(1, dtypes.float32)), zero)
    classes = cast(binary("Div", index, count), dtypes.float32)
    return CombinedNonMaxSuppression(
        filled(select(primitive.unsqueeze(valid, [2]), chosen, zero), "boxes"),
        filled(select(valid, values, zero), "scores"),
        filled(select(valid, classes, zero), "classes"),
        reduction.reduce_sum(cast(valid, dtypes.int32), [1], name=f"{at}valid_detections"),
    )
