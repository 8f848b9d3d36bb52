"""Counts of integers: tf.math.bincount."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.framework.sparse_tensor import SparseTensor
from graphio.ops.array import index
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import describe, node, scalar, scope, whole
from graphio.ops.base.primitive import binary, cast, compare
from graphio.ops.base.shapes import dims_of
from graphio.ops.checks import run_checks
from graphio.support import api_guard

__all__ = ["bincount", "length_for"]


class _Counted(NamedTuple):
    """The input of a count: int64 numbers (n), their weights (n) or None, and, where each row is
    counted by itself, their rows (n) and how many rows there are."""

    numbers: Tensor
    weights: Tensor | None
    rows: Tensor | None = None
    row_count: Tensor | None = None


@api_guard.operator
def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = dtypes.int32,
    name: str | None = None,
    axis: int | None = None,
    binary_output: bool = False,
) -> Tensor:
    """The number of occurrences of each integer, or the sums of its weights.

    Args:
        arr: int32 or int64 tensor of any shape, no number negative; of a SparseTensor its values
            are counted.
        weights: tensor of arr's shape, or SparseTensor with arr's indices; None: 1 each.
        minlength: the minimum length of the result.
        maxlength: the largest length of the result; numbers from it on are left out.
        dtype: of the result without weights.
        name: of the operation.
        axis: None or 0: all numbers are counted together; -1: those of each row of a matrix.
        binary_output: True: whether a number occurs, 1 or 0, instead of how often.

    Returns:
        A vector of length max(arr) + 1, within minlength and maxlength; with axis -1 a matrix, a
        row for each of arr's.

    Raises:
        ValueError: axis is another one, arr is not a matrix and axis is -1, the shapes of arr and
            weights differ, or there are weights and binary_output.
    """
    if axis not in (None, 0, -1):
        raise ValueError(f"bincount: axis is {axis!r}, expected None, 0 or -1")
    if weights is not None and binary_output:
        raise ValueError("bincount: weights and binary_output exclude each other; give one")
    with scope(name, "bincount") as at:
        found = _sparse if isinstance(arr, SparseTensor) else _dense
        counted = found(arr, weights, axis == -1, describe(at, "Bincount"))
        parts = counted.weights
        if parts is None:
            parts = primitive.fill_like(counted.numbers, 1, dtypes.as_dtype(dtype))
        size = _limited(length_for(counted.numbers), minlength, maxlength)
        if not binary_output:
            return _summed(counted, parts, size, maxlength is not None, at)
        total = _summed(counted, parts, size, maxlength is not None, None)
        return cast(compare("Greater", total, scalar(0, total.dtype)), total.dtype, at)


def _dense(arr: Any, weights: Any, by_row: bool, what: str) -> _Counted:
    numbers = whole(arr, "Bincount", "arr")
    dims = dims_of(numbers)
    parts = None
    if weights is not None:
        given = convert_to_tensor(weights, name="weights")
        shapes.merge(dims_of(given), dims, what)
        parts = primitive.reshape(given, [-1])
    flat = primitive.reshape(numbers, [-1])
    if not by_row or (dims is not None and len(dims) == 1):
        return _Counted(flat, parts)
    if dims is None or len(dims) != 2:
        raise ValueError(f"arr has shape {shapes.text(dims)}, expected a matrix for {what}")
    sizes = primitive.shape_of(numbers)
    rows = primitive.slice_axes(sizes, [0], [1], [0])
    each = node("Range", [scalar(0, dtypes.int64), primitive.squeeze(rows, [0]),
                          scalar(1, dtypes.int64)], dtypes.int64, dims[:1])  # fmt: skip
    spread = primitive.expand(primitive.unsqueeze(each, [1]), sizes, dims)
    return _Counted(flat, parts, primitive.reshape(spread, [-1]), rows)


def _sparse(arr: SparseTensor, weights: Any, by_row: bool, what: str) -> _Counted:
    numbers = whole(arr.values, "Bincount", "arr")
    parts = None
    if weights is not None:
        if not isinstance(weights, SparseTensor):
            raise ValueError(f"weights must be a SparseTensor, as arr is one, for {what}")
        shapes.merge(dims_of(weights.values), dims_of(numbers), what)
        parts = weights.values
    if not by_row:
        return _Counted(numbers, parts)
    shapes.merge(dims_of(arr.dense_shape), (2,), what)
    rows = primitive.squeeze(primitive.slice_axes(arr.indices, [0], [1], [1]), [1])
    return _Counted(numbers, parts, rows, primitive.slice_axes(arr.dense_shape, [0], [1], [0]))


def length_for(numbers: Tensor) -> Tensor:
    """One more than the largest of a vector of int64, 0 if there is none."""
    known = constant_value(numbers)
    if known is not None:
        return constant(np.asarray(known.max(initial=-1) + 1, np.int64))
    floor = primitive.concat([numbers, primitive.int_vector([-1])], 0)
    largest = node("ReduceMax", [floor], dtypes.int64, (), keepdims=0)
    return binary("Add", largest, scalar(1, dtypes.int64))


def _limited(size: Tensor, least: Any, most: Any) -> Tensor:
    for limit, op in ((least, "Max"), (most, "Min")):
        if limit is not None:
            number = convert_to_tensor(limit, name="length")
            size = binary(op, size, primitive.reshape(cast(number, dtypes.int64), []))
    return size


def _summed(counted: _Counted, parts: Tensor, size: Tensor, cut: bool, name: str | None) -> Tensor:
    """The sums of the parts of each number below size; cut: there are others, too."""
    numbers, width = counted.numbers, size
    if cut:  # Larger numbers go into one more bin, which is cut off.
        numbers = binary("Min", numbers, size)
        width = binary("Add", size, scalar(1, dtypes.int64))
    if counted.rows is None:
        total = index.scatter_sum(numbers, parts, width, name=None if cut else name)
        start, ends = primitive.int_vector([0]), primitive.unsqueeze(size, [0])
        dims: shapes.Dims = (None,)
    else:
        assert counted.row_count is not None
        numbers = run_checks.not_negative(numbers, "bincount: a number is negative:")
        positions = binary("Add", binary("Mul", counted.rows, width), numbers)
        count = primitive.squeeze(counted.row_count, [0])
        flat = index.scatter_sum(positions, parts, binary("Mul", count, width))
        shape = primitive.concat([counted.row_count, primitive.unsqueeze(width, [0])], 0)
        dims = (None, None)
        total = primitive.reshape_to(flat, shape, dims, None if cut else name)
        start = primitive.int_vector([0, 0])
        ends = primitive.concat([counted.row_count, primitive.unsqueeze(size, [0])], 0)
    if not cut:
        return total
    return node("Slice", [total, start, ends], total.dtype, dims, name=name)
