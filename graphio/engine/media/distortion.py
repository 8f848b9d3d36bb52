"""Random parts of a picture that cover enough of its objects, drawn as TensorFlow draws them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from graphio.engine.media.pixels import Array
from graphio.support import errors

__all__ = ["sample"]

_f32 = np.float32


@dataclass(frozen=True)
class _Part:
    """Rows and columns of a picture, the ends not included."""

    top: int
    left: int
    bottom: int
    right: int

    @property
    def area(self) -> int:
        return max(self.bottom - self.top, 0) * max(self.right - self.left, 0)

    def shared(self, other: _Part) -> _Part:
        """The intersection of both."""
        return _Part(
            max(self.top, other.top), max(self.left, other.left),
            min(self.bottom, other.bottom), min(self.right, other.right),
        )  # fmt: skip


class _Draws:
    """Random numbers from the words of a generator."""

    def __init__(self, words: Array) -> None:
        self._words: Iterator[int] = iter(words.tolist() * 2)  # of 2**32 numbers few are rejected

    def uniform(self) -> np.float32:
        """A number of [0, 1)."""
        word = next(self._words) & 0x7FFFFF | 127 << 23
        found: np.float32 = np.uint32(word).view(_f32) - _f32(1)
        return found

    def below(self, count: int) -> int:
        """An integer of [0, count)."""
        if count & (count - 1) == 0:
            return next(self._words) & (count - 1)
        rejected = (1 << 32) % count
        while True:
            word = next(self._words)
            if word >= rejected:
                return word % count


def sample(
    size: Array,
    boxes: Array,
    covered: Array,
    aspects: Array,
    areas: Array,
    words: Array,
    use_image_if_no_bounding_boxes: int = 0,
) -> list[Array]:
    """A part of a picture: begin and size for tf.slice, and its box float32 [1, 1, 4].

    Args:
        size: of the picture: height, width, channels.
        boxes: float32 [..., 4] of objects: y1, x1, y2, x2 in [0, 1].
        covered: scalar: minimum fraction of an object in the part.
        aspects, areas: smallest and largest width / height, and fraction of the picture.
        words: random uint32, four for each attempt.
        use_image_if_no_bounding_boxes: 1 takes the picture for the object where there is none.

    Raises:
        InvalidArgumentError: sizes or boxes are not as described.
    """
    height, width = _size(size)
    objects = _objects(boxes, height, width)
    if not objects and not use_image_if_no_bounding_boxes:
        raise errors.InvalidArgumentError(
            message="No bounding boxes provided as input. One must enable "
            "use_image_if_no_bounding_boxes if you wish to not provide any bounding boxes."
        )
    complete = _Part(0, 0, height, width)
    found, draws = complete, _Draws(words)
    for _ in range(len(words) // 4):
        low, high = (_f32(v) for v in aspects)
        aspect = draws.uniform() * (high - low) + low
        part = _random_part(height, width, areas, aspect, draws)
        if part is not None and _covers(part, objects or [complete], _f32(covered)):
            found = part
            break
    return _outputs(found, height, width, size.dtype)


def _size(size: Array) -> tuple[int, int]:
    if size.shape != (3,) or (size[:2] <= 0).any() or (size > np.iinfo(np.int32).max).any():
        raise errors.InvalidArgumentError(
            message=f"image_size must contain 3 elements above 0, height, width and channels, got "
            f"{size.tolist()}"
        )
    return int(size[0]), int(size[1])


def _objects(boxes: Array, height: int, width: int) -> list[_Part]:
    rows = boxes.reshape(-1, 4)
    if not ((rows >= 0) & (rows <= 1)).all():
        raise errors.InvalidArgumentError(
            message=f"bounding boxes must be in [0, 1], got {rows.tolist()}"
        )
    if not (rows[:, :2] < rows[:, 2:]).all():
        raise errors.InvalidArgumentError(
            message="each bounding box must have its first corner before its second, y1 < y2 and "
            f"x1 < x2, got {rows.tolist()}"
        )
    scale = np.array([height, width, height, width], np.float32)
    return [_Part(*row) for row in (rows * scale).astype(np.int64).tolist()]


def _rounded(value: float | np.float32) -> int:
    return int(np.rint(_f32(value)))


def _random_part(
    height: int, width: int, areas: Array, aspect: np.float32, draws: _Draws
) -> _Part | None:
    """A part of an aspect; None: none has the aspect and an area in the range."""
    least = _f32(areas[0]) * _f32(width) * _f32(height)
    most = _f32(areas[1]) * _f32(width) * _f32(height)
    if areas[1] <= 0 or aspect <= 0 or areas[0] > areas[1]:
        return None
    rows = _rounded(np.sqrt(least / aspect))
    tallest = _rounded(np.sqrt(most / aspect))
    if _rounded(tallest * aspect) > width:
        tallest = int((width + 0.5 - 1e-7) / float(aspect))
        if _rounded(tallest * aspect) > width:
            tallest -= 1
    tallest = min(tallest, height)
    rows = min(rows, tallest)
    if rows < tallest:
        rows += draws.below(tallest - rows + 1)
    columns = _rounded(rows * aspect)
    if rows * columns < least:
        rows += 1
        columns = _rounded(rows * aspect)
    if rows * columns > most:
        rows -= 1
        columns = _rounded(rows * aspect)
    fits = 0 < rows <= height and 0 < columns <= width
    if not fits or not least <= rows * columns <= most:
        return None
    top = draws.below(height - rows) if rows < height else 0
    left = draws.below(width - columns) if columns < width else 0
    return _Part(top, left, top + rows, left + columns)


def _covers(part: _Part, objects: list[_Part], covered: np.float32) -> bool:
    """Whether enough of one object is in the part."""
    for one in objects:
        if one.area > 0 and _f32(part.shared(one).area) / _f32(one.area) >= covered:
            return True
    return False


def _outputs(part: _Part, height: int, width: int, dtype: object) -> list[Array]:
    begin = np.array([part.top, part.left, 0], dtype)  # type: ignore[call-overload]
    size = np.array([part.bottom - part.top, part.right - part.left, -1], dtype)  # type: ignore[call-overload]
    corners = np.array([part.top, part.left, part.bottom, part.right], np.float32)
    box = corners / np.array([height, width, height, width], np.float32)
    return [begin, size, box.reshape(1, 1, 4)]
