"""Python's indexing of tensors, x[1, ::-1, ..., None], and strided_slice.

One Slice takes all ranges, a Gather each number (from the last axis to the first), an
Unsqueeze adds the new axes; the last of them bears the name.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import Dimension
from graphio.ops.array.index import boolean_mask
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import ints, is_symbolic, node, scalar, scope, static_ints
from graphio.ops.base.primitive import compare, last, select
from graphio.ops.base.shapes import Dims, dims_of
from graphio.support import api_guard

__all__ = ["newaxis", "strided_slice"]

newaxis = None


def getitem(tensor: Any, item: Any) -> Tensor:
    """tensor[item] by Python's rules.

    Args:
        tensor: tensor or variable.
        item: an integer, slice, Ellipsis, None (a new axis) or scalar integer tensor, or a tuple
            of them. Bounds of slices may be tensors, steps must be numbers. Or a tensor or array
            of bools, which is boolean_mask's mask.

    Raises:
        TypeError: something in item is none of these.
        ValueError: too many indices, two ellipses, or an index known to be out of range.
    """
    if _is_mask(item):
        return boolean_mask(tensor, item)
    items = list(item) if isinstance(item, (list, tuple)) else [item]
    with scope(None, "strided_slice") as at:
        return _Indexing(convert_to_tensor(tensor), items).emit(at)


def _is_mask(item: Any) -> bool:
    """Whether an index is a tensor or array of bools."""
    if isinstance(item, np.ndarray):
        return bool(item.dtype == np.bool_)
    return is_symbolic(item) and item.dtype.base_dtype == dtypes.bool


@api_guard.operator
def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Tensor:
    """input_[begin:end:strides], axis by axis; bit i of a mask changes entry i.

    Args:
        input_: tensor.
        begin: integers, the first of each range.
        end: integers, the ends, not included.
        strides: steps; None: 1.
        begin_mask: the range starts at the border.
        end_mask: the range ends at the border.
        ellipsis_mask: the entry stands for all axes not named (one bit at most).
        new_axis_mask: the entry makes a new axis.
        shrink_axis_mask: the entry is one index, whose axis goes.
        var: must be None.
        name: of the operation.

    Raises:
        ValueError: the lengths differ or are not known, or var is given.
    """
    if var is not None:
        raise ValueError("strided_slice: var is not supported; assign the full value")
    firsts, ends = _entries(begin, "begin"), _entries(end, "end")
    steps = [1] * len(firsts) if strides is None else _entries(strides, "strides")
    if not len(firsts) == len(ends) == len(steps):
        raise ValueError(
            f"strided_slice: begin, end and strides have {len(firsts)}, {len(ends)} and "
            f"{len(steps)} entries; they must be as many"
        )
    items: list[Any] = []
    for i, (first, stop, step) in enumerate(zip(firsts, ends, steps, strict=True)):
        bit = 1 << i
        if ellipsis_mask & bit:
            items.append(Ellipsis)
        elif new_axis_mask & bit:
            items.append(None)
        elif shrink_axis_mask & bit:
            items.append(first)
        else:
            items.append(
                slice(None if begin_mask & bit else first, None if end_mask & bit else stop, step)
            )
    with scope(name, "StridedSlice") as at:
        return _Indexing(convert_to_tensor(input_, name="input"), items).emit(at)


def _entries(value: Any, label: str) -> list[Any]:
    """The entries of a vector: numbers, or scalar tensors where they are not known."""
    if isinstance(value, (list, tuple)):
        return list(value)
    known = static_ints(value)
    if known is None:
        raise ValueError(f"strided_slice: the length of {label} must be known, got {value!r}")
    if None not in known:
        return list(known)
    vector = ints(value, "strided_slice", label)
    return [
        primitive.squeeze(primitive.slice_axes(vector, [i], [i + 1], [0]), [0])
        if number is None
        else number
        for i, number in enumerate(known)
    ]


class _Indexing:
    """An index expression, analysed axis by axis."""

    def __init__(self, tensor: Tensor, items: Sequence[Any]) -> None:
        self.tensor = tensor
        self.dims = dims_of(tensor)
        self.ranges: list[tuple[int, Any, Any, Any]] = []  # axis, start, end, step
        self.numbers: list[tuple[int, Any]] = []  # axis, index
        self.new_axes: list[int] = []  # indices in the result
        before, after = self._around_ellipsis(items)
        self._add(before, 0, 0)
        kept = sum(item is None or isinstance(item, slice) for item in after)
        self._add(after, -sum(item is not None for item in after), -kept)

    def _add(self, items: Sequence[Any], axis: int, position: int) -> None:
        """Notes what the items ask for from an axis on; below 0 both are counted from the end."""
        for item in items:
            if item is None:
                self.new_axes.append(position)
                position += 1
            elif isinstance(item, slice):
                self._add_range(axis, item)
                axis, position = axis + 1, position + 1
            else:
                self.numbers.append((axis, self._index(axis, item)))
                axis += 1

    def _around_ellipsis(self, items: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The items with the ellipsis written out; where the rank is unknown those before it and
        those after it."""
        positions = [i for i, item in enumerate(items) if item is Ellipsis]
        if len(positions) > 1:
            raise ValueError("an index expression may hold one ellipsis, got two")
        taken = sum(item is not None and item is not Ellipsis for item in items)
        rank = None if self.dims is None else len(self.dims)
        if rank is not None and taken > rank:
            raise ValueError(
                f"Index out of range: '{self.tensor.name}' has {rank} axes, but {taken} are indexed"
            )
        if not positions:
            return list(items), []
        before, after = items[: positions[0]], items[positions[0] + 1 :]
        if rank is None:
            return list(before), list(after)
        return [*before, *[slice(None)] * (rank - taken), *after], []

    def _size(self, axis: int) -> int | None:
        return None if self.dims is None else self.dims[axis]

    def _add_range(self, axis: int, item: slice) -> None:
        start, end, step = (_bound(v) for v in (item.start, item.stop, item.step))
        step = 1 if step is None else step
        if isinstance(step, int) and step == 0:
            raise ValueError("slice step must not be 0")
        if start is None and end is None and isinstance(step, int) and step == 1:
            return
        if start is None:
            start = _by_direction(step, 0, last)
        if end is None:
            end = _by_direction(step, last, -last - 1)
        self.ranges.append((axis, start, end, step))

    def _index(self, axis: int, item: Any) -> Any:
        index = _bound(item)
        size = self._size(axis)
        if isinstance(index, int) and size is not None:
            if not -size <= index < size:
                raise ValueError(
                    f"slice index {index} of dimension {axis} out of bounds. The axis has size "
                    f"{size} (in '{self.tensor.name}' of shape {shapes.text(self.dims)})"
                )
            return index % size
        return index

    def emit(self, name: str) -> Tensor:
        steps: list[Callable[[Tensor, str | None], Tensor]] = []
        if self.ranges:
            steps.append(self._slice)
        # outwards from the ellipsis, so that no axis is renumbered before its turn
        for axis, index in sorted(self.numbers, key=lambda n: n[0] if n[0] < 0 else -n[0]):
            steps.append(functools.partial(_pick, axis=axis, index=index))
        if self.new_axes:
            steps.append(lambda x, n: primitive.unsqueeze(x, self.new_axes, n))
        if not steps:
            return primitive.unary("Identity", self.tensor, name)
        result = self.tensor
        for i, step in enumerate(steps):
            result = step(result, name if i == len(steps) - 1 else None)
        result.op.tf_type = "StridedSlice"
        return result

    def _slice(self, x: Tensor, name: str | None) -> Tensor:
        axes, starts, ends, strides = (list(column) for column in zip(*self.ranges, strict=True))
        if all(isinstance(v, int) for v in (*starts, *ends, *strides)):
            return primitive.slice_axes(x, starts, ends, axes, strides, name)
        result: Dims = self.dims
        if result is not None:
            sizes = list(result)
            for axis, start, end, step in self.ranges:
                sizes[axis] = _range_size(sizes[axis], start, end, step)
            result = tuple(sizes)
        inputs = [
            x,
            ints(starts, "strided_slice", "starts"),
            ints(ends, "strided_slice", "ends"),
            primitive.int_vector(axes, "axes"),
            ints(strides, "strided_slice", "steps"),
        ]
        return node("Slice", inputs, x.dtype, result, name=name, tf_type="StridedSlice")


def _by_direction(step: Any, forwards: int, backwards: int) -> Any:
    """A bound that depends on the sign of the step."""
    if isinstance(step, int):
        return forwards if step > 0 else backwards
    ahead = compare("Greater", step, scalar(0, step.dtype))
    return select(ahead, scalar(forwards, dtypes.int64), scalar(backwards, dtypes.int64))


def _range_size(size: int | None, start: Any, end: Any, step: Any) -> int | None:
    if not (isinstance(start, int) and isinstance(end, int) and isinstance(step, int)):
        return None
    return shapes.sliced(size, start, None if step < 0 and end < -last else end, step)


def _bound(value: Any) -> Any:
    """None, a Python integer, or an integer tensor."""
    if isinstance(value, Dimension):
        value = value.value
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if isinstance(value, (np.integer, np.ndarray)) and _is_integer_scalar(value):
        return int(value)
    if is_symbolic(value):
        tensor = convert_to_tensor(value)
        if tensor.dtype.is_integer:
            if tensor.shape.ndims not in (0, None):
                raise ValueError(
                    f"a tensor as index must be a scalar, '{tensor.name}' has shape "
                    f"{tensor.shape}; use gather or boolean_mask"
                )
            known = static_ints(tensor)
            return tensor if known is None or known[0] is None else known[0]
    raise TypeError(
        f"an index must be an integer, slice, Ellipsis, None or integer tensor, got {value!r} "
        f"({type(value).__name__})"
    )


def _is_integer_scalar(value: Any) -> bool:
    array = np.asarray(value)
    return array.ndim == 0 and array.dtype.kind in "iu"


def _pick(x: Tensor, name: str | None, *, index: Any, axis: int) -> Tensor:
    position = index if isinstance(index, Tensor) else constant(np.asarray(index, np.int64))
    return primitive.gather(x, position, axis, name, tf_type="StridedSlice")


Tensor.overload("__getitem__", getitem)
