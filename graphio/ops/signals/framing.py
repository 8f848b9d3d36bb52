"""tf.signal.frame and overlap_and_add: a signal in pieces that overlap, and their sum."""

from __future__ import annotations

from typing import Any

from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import describe, int_value, like, scope
from graphio.ops.linalg.any_rank import of_any_rank
from graphio.ops.math import reduction
from graphio.ops.signals import lengths
from graphio.ops.signals.lengths import Length
from graphio.support import api_guard

__all__ = ["frame", "overlap_and_add"]


# ---- frame ----


@api_guard.operator
def frame(
    signal: Any,
    frame_length: Any,
    frame_step: Any,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """Pieces of a signal, which overlap where frame_step is less than frame_length.

    Args:
        signal: tensor (..., n, ...) of any dtype, of rank 1 or more.
        frame_length: integer, or scalar tensor: elements of a frame.
        frame_step: integer, or scalar tensor: elements from one frame to the next.
        pad_end: whether frames that begin in the signal and end after it are filled up; else they
            are left out.
        pad_value: scalar that fills them.
        axis: of n; it becomes two: (..., frames, frame_length, ...).
        name: of the operation.

    Raises:
        ValueError: the signal is a scalar, a length is not a scalar or too small, or the axis is
            out of range, or not negative while the signal's rank is unknown.
    """
    with scope(name, "frame") as at:
        x = convert_to_tensor(signal, name="signal")
        length = lengths.given(frame_length, "frame", "frame_length")
        step = lengths.given(frame_step, "frame", "frame_step", minimum=1)
        position = int_value(axis, "frame", "axis")
        filler = like(pad_value, x, "frame", ("signal", "pad_value")) if pad_end else None
        if filler is not None and filler.shape.ndims not in (None, 0):
            raise ValueError(f"frame: pad_value has shape {filler.shape}, expected a scalar")
        if x.shape.ndims is not None:
            position = shapes.normalize_axis(position, x.shape.ndims, describe(at, "frame"))
            return _framed(x, length, step, filler, position, at)
        if position >= 0:
            raise ValueError(
                f"frame: axis is {position} and the signal's rank unknown; set its shape, or count "
                "the axis from the end"
            )

        def of_known_rank(x: Tensor, name: str | None = None) -> Tensor:
            return _framed(x, length, step, filler, 1, name)

        result: Tensor = of_any_rank("frame", -position)(of_known_rank)(x, name=at)
        return result


def _framed(
    x: Tensor, length: Length, step: Length, filler: Tensor | None, axis: int, name: str | None
) -> Tensor:
    size = lengths.of(x, axis)
    if filler is None:
        frames = lengths.largest(0, 1 + (size - length) // step)
    else:
        frames = -(-size // step)
        missing = lengths.largest(0, step * (frames - 1) + length - size)
        paddings: list[list[Any]] = [[0, 0] for _ in x.shape.as_list()]
        paddings[axis][1] = missing
        x = array.pad(x, paddings, constant_values=filler)
    begins = array.expand_dims(lengths.counted(frames) * lengths.as_tensor(step), 1)
    positions = begins + lengths.counted(length)
    return primitive.gather(x, positions, axis, name)


# ---- overlap_and_add ----


@api_guard.operator
@of_any_rank("overlap_and_add", 2)
def overlap_and_add(signal: Any, frame_step: Any, name: str | None = None) -> Tensor:
    """The sum of frames, each shifted by frame_step against the one before: undoes frame where
    the windows of the frames add up to 1.

    Args:
        signal: tensor (..., frames, frame_length) of numbers.
        frame_step: integer, or scalar tensor of integers.
        name: of the operation.

    Returns:
        A tensor (..., (frames - 1) * frame_step + frame_length). Each element is a sum in the order
        of the frames' parts, which does not depend on the engine's threads.

    Raises:
        ValueError: the signal's rank is below 2, or frame_step is not a scalar or less than 1.
        TypeError: frame_step is not an integer.
    """
    with scope(name, "overlap_and_add") as at:
        x = convert_to_tensor(signal, name="signal")
        if x.shape.ndims is None or x.shape.ndims < 2:
            raise ValueError(
                f"overlap_and_add: signal has shape {x.shape}, expected rank 2 or more"
            )
        step = lengths.given(frame_step, "overlap_and_add", "frame_step", minimum=1)
        rank = x.shape.ndims
        outer = [lengths.of(x, i) for i in range(rank - 2)]
        frames, length = lengths.of(x, rank - 2), lengths.of(x, rank - 1)
        if isinstance(step, int) and step == length:
            return array.reshape(x, [*outer, frames * step], name="fast_path")
        added = _added(x, outer, frames, length, step)
        result = lengths.largest(0, (frames - 1) * step + length)
        return array.identity(added[..., :result], name=at)


def _added(x: Tensor, outer: list[Length], frames: Length, length: Length, step: Length) -> Tensor:
    """The frames are cut into parts of step elements. Row i of the part k belongs to row i + k of
    the result: rows for all parts, each with as many empty rows behind as there are parts, read
    with one row less a part, are shifted by one row for each part, and add up."""
    kept = [[0, 0]] * len(outer)
    parts = -(-length // step)
    x = array.pad(x, [*kept, [0, 0], [0, parts * step - length]])
    x = array.reshape(x, [*outer, frames, parts, step])
    lead = list(range(len(outer)))
    count = len(outer)
    x = array.transpose(x, [*lead, count + 1, count, count + 2])
    x = array.pad(x, [*kept, [0, 0], [0, parts], [0, 0]])
    rows = frames + parts
    x = array.reshape(x, [*outer, parts * rows, step])
    x = x[..., : parts * (rows - 1), :]
    x = array.reshape(x, [*outer, parts, rows - 1, step])
    return array.reshape(reduction.reduce_sum(x, axis=count), [*outer, (rows - 1) * step])
