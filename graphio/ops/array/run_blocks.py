"""space_to_batch_nd and batch_to_space_nd with block sizes, borders or a rank that only the run
knows.

The axes behind those that are cut become one, so that each step has a known rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.ops.array import joining
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import node, whole
from graphio.ops.base.primitive import binary
from graphio.ops.base.shapes import Dims, dims_of
from graphio.ops.checks import assertion, run_checks
from graphio.ops.math import comparison, reduction

__all__ = ["from_batches", "to_batches"]


class _Cut:
    """Sizes and values that both directions use.

    Attributes:
        axes: how many axes are cut into blocks.
        blocks: their block sizes (axes), 1 or more.
        borders: numbers of elements added or cut before and after (axes, 2).
        lead: the sizes of the batches and of the axes that are cut (1 + axes).
        tail: the sizes of the others.
        flat: the tensor, with one axis in place of the others.
    """

    def __init__(self, x: Tensor, block_shape: Any, borders: Any, label: str, op: str) -> None:
        self.op = op
        block_shape = convert_to_tensor(block_shape, name="block_shape")
        borders = convert_to_tensor(borders, name=label)
        self.axes = _count(block_shape, borders, op)
        if x.shape.ndims is not None and x.shape.ndims <= self.axes:
            raise ValueError(
                f"{op}: input has shape {shapes.text_of(x)}, expected rank > {self.axes}"
            )
        self.blocks = _vector(block_shape, op, "block_shape", [self.axes])
        self.borders = _vector(borders, op, label, [self.axes, 2])
        self.blocks = run_checks.positive(self.blocks, f"{op}: block_shape must be positive")
        self.borders = run_checks.not_negative(self.borders, f"{op}: {label} cannot be negative")
        sizes = primitive.shape_of(x)
        self.lead = primitive.gather(sizes, primitive.int_vector(range(self.axes + 1)), 0)
        self.tail = primitive.slice_axes(sizes, [self.axes + 1], [primitive.last], [0])
        rest = node("ReduceProd", [self.tail], dtypes.int64, (1,), keepdims=1)
        self.flat = primitive.reshape_to(
            x, primitive.concat([self.lead, rest], 0), (None,) * (self.axes + 2)
        )
        self.rest = rest
        self.all = node("ReduceProd", [self.blocks], dtypes.int64, (1,), keepdims=1)

    def dims(self, x: Tensor, batches: int | None) -> Dims:
        """The static shape of a result with so many batches."""
        dims = dims_of(x)
        if dims is None:
            return None
        return (batches, *[None] * self.axes, *dims[self.axes + 1 :])

    def batches_of(self, x: Tensor) -> int | None:
        dims = dims_of(x)
        return None if dims is None else dims[0]

    def blocks_in_all(self) -> int | None:
        known = constant_value(self.blocks)
        return None if known is None else int(np.prod(known))

    def permuted(self, sizes: Sequence[Tensor], order: Sequence[int], target: Tensor) -> Tensor:
        """The tensor in a shape whose axes are permuted, then in the target's."""
        split = primitive.reshape(self.flat, primitive.concat(sizes, 0), (None,) * len(order))
        return primitive.reshape_to(
            primitive.transpose(split, order), target, (None,) * (self.axes + 2)
        )

    def with_tail(self, y: Tensor, dims: Dims, name: str) -> Tensor:
        """y with the axes in place that had become one."""
        lead = primitive.slice_axes(primitive.shape_of(y), [0], [self.axes + 1], [0])
        return primitive.reshape_to(y, primitive.concat([lead, self.tail], 0), dims, name)


def _count(block_shape: Tensor, borders: Tensor, op: str) -> int:
    for dims in (dims_of(block_shape), dims_of(borders)):
        if dims and dims[0] is not None:
            return dims[0]
    raise ValueError(f"{op}: the length of block_shape must be known; use set_shape")


def _vector(value: Any, op: str, name: str, shape: Sequence[int]) -> Tensor:
    tensor = whole(value, op, name)
    if tensor.shape.is_fully_defined():
        shapes.merge(dims_of(tensor), tuple(shape), f"{name} of {op}")
        return tensor
    return primitive.reshape(tensor, list(shape))


def to_batches(x: Tensor, block_shape: Any, paddings: Any, op: str, name: str) -> Tensor:
    """See graphio.ops.array.arranging.space_to_batch_nd."""
    cut = _Cut(x, block_shape, paddings, "paddings", op)
    m = cut.axes
    none = primitive.reshape(primitive.int_vector([0, 0]), [1, 2])
    cut.flat = joining.pad(cut.flat, primitive.concat([none, cut.borders, none], 0))
    batches = primitive.slice_axes(cut.lead, [0], [1], [0])
    spaces = primitive.slice_axes(primitive.shape_of(cut.flat), [1], [m + 1], [0])
    small = binary("Div", spaces, cut.blocks)
    fits = reduction.reduce_all(comparison.equal(binary("Mul", small, cut.blocks), spaces))
    small = assertion.once(small, fits, f"{op}: padded sizes are not multiples of the blocks:")
    sizes = [batches, _in_turn(small, cut.blocks), cut.rest]
    order = [*range(2, 2 * m + 1, 2), 0, *range(1, 2 * m + 1, 2), 2 * m + 1]
    target = primitive.concat([binary("Mul", batches, cut.all), small, cut.rest], 0)
    given, factor = cut.batches_of(x), cut.blocks_in_all()
    count = None if given is None or factor is None else given * factor
    return cut.with_tail(cut.permuted(sizes, order, target), cut.dims(x, count), name)


def from_batches(x: Tensor, block_shape: Any, crops: Any, op: str, name: str) -> Tensor:
    """See graphio.ops.array.arranging.batch_to_space_nd."""
    cut = _Cut(x, block_shape, crops, "crops", op)
    m = cut.axes
    given = primitive.slice_axes(cut.lead, [0], [1], [0])
    batches = binary("Div", given, cut.all)
    fits = reduction.reduce_all(comparison.equal(binary("Mul", batches, cut.all), given))
    batches = assertion.once(batches, fits, f"{op}: the batches are not a multiple of the blocks:")
    spaces = primitive.slice_axes(cut.lead, [1], [m + 1], [0])
    large = binary("Mul", spaces, cut.blocks)
    sizes = [cut.blocks, batches, spaces, cut.rest]
    order = [m, *(axis for i in range(m) for axis in (m + 1 + i, i)), 2 * m + 1]
    joined = cut.permuted(sizes, order, primitive.concat([batches, large, cut.rest], 0))
    start, behind = (primitive.squeeze(part, [1]) for part in _columns(cut.borders))
    stop = binary("Sub", large, behind)
    fits = reduction.reduce_all(comparison.less_equal(start, stop))
    stop = assertion.once(stop, fits, f"{op}: crops take more than there is:")
    axes = primitive.int_vector(range(1, m + 1))
    kept = node("Slice", [joined, start, stop, axes], x.dtype, (None,) * (m + 2))
    known, factor = cut.batches_of(x), cut.blocks_in_all()
    count = None if known is None or factor is None else known // factor
    return cut.with_tail(kept, cut.dims(x, count), name)


def _columns(pairs: Tensor) -> tuple[Tensor, Tensor]:
    first = primitive.slice_axes(pairs, [0], [1], [1])
    return first, primitive.slice_axes(pairs, [1], [2], [1])


def _in_turn(first: Tensor, second: Tensor) -> Tensor:
    """first[0], second[0], first[1], ..."""
    columns = [primitive.unsqueeze(t, [1]) for t in (first, second)]
    return primitive.reshape(primitive.concat(columns, 1), [-1])
