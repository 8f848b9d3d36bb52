"""Norms of vectors and matrices: tf.norm and tf.linalg.normalize."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import describe, renamed, scope
from graphio.ops.linalg import factoring
from graphio.ops.math import elementwise, reduction
from graphio.support import api_guard

__all__ = ["norm", "normalize"]


@api_guard.operator
def norm(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The norm of vectors or matrices; of a complete tensor as one vector where axis is None.

    Args:
        tensor: floating or complex tensor; roots of sums of squares keep its dtype, other norms
            of complex tensors are real.
        ord: of vectors: euclidean (or 2), 1, np.inf, or another positive number. Of matrices:
            euclidean or fro (the root of the sum of squares), 1 (the largest sum along the first
            axis given), np.inf (along the second), 2 (the largest singular value).
        axis: an axis; or a tuple or list of two, the rows and columns of matrices.
        keepdims: True leaves the axes with size 1.
        name: of the operation.
        keep_dims: the old name of keepdims.

    Raises:
        ValueError: ord is none of these, or axis is something else.
    """
    keep = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    with scope(name, "norm") as at:
        x = convert_to_tensor(tensor, name="tensor")
        pair = _axes_of_norm(axis)
        _check_order(ord, pair is not None)
        if pair is not None and ord in (1, 2, np.inf):
            return _matrix_norm(x, ord, *pair, keep, at)
        if ord in ("euclidean", "fro", 2):
            other = primitive.unary("Conj", x) if x.dtype.is_complex else x
            squares = elementwise.multiply(x, other)
            return elementwise.sqrt(reduction.reduce_sum(squares, axis, keep), name=at)
        size = elementwise.abs(x)
        if ord == 1:
            return reduction.reduce_sum(size, axis, keep, name=at)
        if ord == np.inf:
            return reduction.reduce_max(size, axis, keep, name=at)
        total = reduction.reduce_sum(elementwise.pow(size, float(ord)), axis, keep)
        return elementwise.pow(total, 1.0 / ord, name=at)


def _axes_of_norm(axis: Any) -> tuple[int, int] | None:
    """The two axes of matrices, None for vectors."""
    listed = axis if isinstance(axis, (list, tuple)) else () if axis is None else [axis]
    whole = all(isinstance(a, (int, np.integer)) for a in listed)
    pair = isinstance(axis, (list, tuple))
    if not whole or (pair and (len(listed) != 2 or listed[0] == listed[1])):
        raise ValueError(
            f"norm: 'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis!r}"
        )
    return (int(listed[0]), int(listed[1])) if pair else None


def _check_order(order: Any, of_matrices: bool) -> None:
    if of_matrices:
        if order in ("euclidean", "fro", 1, 2, np.inf):
            return
        raise ValueError(
            f"norm: 'ord' must be a supported matrix norm: euclidean, fro, 1, 2 or np.inf, got "
            f"{order!r}"
        )
    if order == "euclidean" or (not isinstance(order, str) and order > 0):
        return
    raise ValueError(
        f"norm: 'ord' must be a supported vector norm: euclidean, np.inf or a number above 0, got "
        f"{order!r}; 'fro' is a norm of matrices: give two axes"
    )


def _matrix_norm(x: Tensor, order: Any, rows: int, columns: int, keep: bool, at: str) -> Tensor:
    """The largest sum along an axis, or the largest singular value."""
    if order != 2:
        summed, rest = (rows, columns) if order == 1 else (columns, rows)
        sums = reduction.reduce_sum(elementwise.abs(x), summed, keepdims=True)
        largest = reduction.reduce_max(sums, rest, keepdims=True)
        largest = largest if keep else array.squeeze(largest, [rows, columns])
        return primitive.unary("Identity", largest, at)
    rank = x.shape.ndims
    if rank is None and {rows, columns} != {-1, -2}:
        raise ValueError(
            f"norm: the rank of '{x.name}' must be known for singular values along the axes "
            f"{rows} and {columns}; make them the last two"
        )
    if rank is not None:
        rows, columns = shapes.normalize_axes([rows, columns], rank, describe(at, "norm"))
        others = [axis for axis in range(rank) if axis not in (rows, columns)]
        x = array.transpose(x, [*others, rows, columns])
    largest = reduction.reduce_max(factoring.svd(x, compute_uv=False), -1)
    if keep:
        for axis in (-1, -1) if rank is None else sorted((rows, columns)):
            largest = array.expand_dims(largest, axis)
    return primitive.unary("Identity", largest, at)


@api_guard.operator
def normalize(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """A tensor over its norm, and the norm; see norm for the arguments."""
    with scope(name, "normalize") as at:
        x = convert_to_tensor(tensor, name="tensor")
        length = elementwise.cast(norm(x, ord=ord, axis=axis, keepdims=True), x.dtype)
        return elementwise.divide(x, length, name=at), length
