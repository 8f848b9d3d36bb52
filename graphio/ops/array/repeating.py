"""Each element, or part along an axis, again and again."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.ops.array import filling, index, order, reshaping
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import INTEGER, describe, require, scope
from graphio.ops.base.shapes import dims_of
from graphio.ops.math import elementwise, reduction
from graphio.support import api_guard

__all__ = ["repeat"]


@api_guard.operator
def repeat(input: Any, repeats: Any, axis: int | None = None, name: str | None = None) -> Tensor:
    """Each part of input along axis as often as repeats says, one after another.

    Args:
        input: tensor of any dtype.
        repeats: how often, integers: a scalar or a vector of one for all parts, or a vector of
            one for each. Below 0 is as 0.
        axis: a Python integer; None: input is taken as one vector.
        name: of the operations.

    Returns:
        input's dtype and shape, but along axis the sum of repeats.

    Raises:
        TypeError: axis is not a Python integer, or repeats are not integers.
        ValueError: axis is out of range, or repeats are neither a scalar nor a vector, or
            their number is neither one nor that of the parts.
        InvalidArgumentError: of the run, repeats are neither one nor as many as the parts.

    Example:
        >>> tf.Session().run(tf.repeat([3, 4], [1, 2]))
        array([3, 4, 4], dtype=int32)
    """
    with scope(name, "Repeat") as at:
        x = convert_to_tensor(input, name="input")
        counts = convert_to_tensor(repeats, name="repeats")
        require(counts, INTEGER, "Repeat", "repeats")
        if (counts.shape.ndims or 0) > 1:
            raise ValueError(
                f"repeat: repeats has shape {shapes.text_of(counts)}, expected () or (n)"
            )
        if axis is None:
            x, axis_index = reshaping.reshape(x, [-1]), 0
        else:
            axis_index = _axis(axis, x, describe(at, "Repeat"))
        # An axis in front makes the gradient one tensor, as that of a lookup in rows is not.
        rows = reshaping.expand_dims(x, 0)
        axis_index = axis_index + 1 if axis_index >= 0 else axis_index
        dims = dims_of(rows)
        size = None if dims is None else dims[axis_index]
        found = index.gather(rows, _positions(counts, rows, axis_index, size), axis=axis_index)
        return reshaping.squeeze(found, [0], name=at)


def _axis(axis: Any, x: Tensor, what: str) -> int:
    if isinstance(axis, Tensor) or not hasattr(axis, "__index__"):
        raise TypeError(f"repeat: axis must be a Python integer, got {axis!r}")
    return shapes.normalize_axis(operator.index(axis), x.shape.ndims, what)


def _positions(counts: Tensor, rows: Tensor, axis: int, size: int | None) -> Tensor:
    """The numbers of the parts along axis in the order of the result: int64 (n)."""
    known = constant_value(counts)
    many = 1 if known is None else known.size
    if size is not None and many not in (1, size):
        raise ValueError(f"repeat: {many} repeats for {size} parts; give one, or one for each")
    if known is not None and size is not None:
        return constant(np.repeat(np.arange(size), np.maximum(known.reshape(-1), 0)))
    length = primitive.gather(primitive.shape_of(rows), primitive.int_vector([axis]), 0)
    each = elementwise.maximum(elementwise.cast(counts, dtypes.int64), np.int64(0))
    ends = reduction.cumsum(reshaping.broadcast_to(each, length))
    total = reshaping.reshape(primitive.slice_axes(ends, [-1], [primitive.last], [0]), [])
    return order.searchsorted(ends, filling.range(total), "right", dtypes.int64)
