"""Norms, and gradients limited by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.indexed_slices import IndexedSlices
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import describe, like, renamed, scalar, scope
from graphio.ops.base.primitive import binary, compare, select
from graphio.ops.math import elementwise, reduction
from graphio.support import api_guard

__all__ = [
    "clip_by_average_norm",
    "clip_by_global_norm",
    "clip_by_norm",
    "global_norm",
    "norm",
]


@api_guard.operator
def norm(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The norm of vectors or matrices; of a whole tensor as one vector where axis is None.

    Args:
        tensor: floating tensor.
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
            return elementwise.sqrt(
                reduction.reduce_sum(elementwise.square(x), axis, keep), name=at
            )
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
    from graphio.ops.array import surface as array
    from graphio.ops.linalg import factoring

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
def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """t, scaled down where its Euclidean norm over axes exceeds clip_norm.

    Args:
        t: floating tensor, or IndexedSlices, which stay that and whose values count.
        clip_norm: the largest norm; a number, or a tensor that broadcasts to t's shape.
        axes: None: all.
        name: of the operation.

    Raises:
        ValueError: clip_norm does not broadcast to t's shape.
    """
    if isinstance(t, IndexedSlices):
        values = clip_by_norm(t.values, clip_norm, axes, name)
        return IndexedSlices(values, t.indices, t.dense_shape)
    with scope(name, "clip_by_norm") as at:
        x = convert_to_tensor(t, name="t")
        limit = like(clip_norm, x, "clip_by_norm", ("t", "clip_norm"))
        total = reduction.reduce_sum(elementwise.square(x), axes, keepdims=True)
        # At 0 the root's slope is infinite: there it is taken of 1.
        positive = compare("Greater", total, scalar(0, x.dtype))
        length = elementwise.sqrt(select(positive, total, scalar(1, x.dtype)))
        safe = select(positive, length, total)
        scaled = elementwise.multiply(x, limit)
        if not x.shape.is_compatible_with(scaled.shape):
            raise ValueError(
                f"clip_by_norm: a clip_norm of shape {limit.shape} makes {scaled.shape} of "
                f"{x.shape}; give a scalar, or a shape that broadcasts to t's"
            )
        return elementwise.realdiv(scaled, elementwise.maximum(safe, limit), name=at)


@api_guard.operator
def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Tensor:
    """t, scaled down where its Euclidean norm over the number of its elements exceeds clip_norm."""
    with scope(name, "clip_by_average_norm") as at:
        x = convert_to_tensor(t, name="t")
        limit = like(clip_norm, x, "clip_by_average_norm", ("t", "clip_norm"))
        size = primitive.count(x, x.dtype)
        average = elementwise.realdiv(
            elementwise.sqrt(reduction.reduce_sum(elementwise.square(x))), size
        )
        return elementwise.realdiv(
            elementwise.multiply(x, limit), elementwise.maximum(average, limit), name=at
        )


@api_guard.operator
def global_norm(t_list: Sequence[Any], name: str | None = None) -> Tensor:
    """The Euclidean norm of all tensors together; None entries are left out.

    Args:
        t_list: floating tensors or IndexedSlices, whose values count.
        name: of the operation.

    Raises:
        ValueError: there is no tensor.
    """
    with scope(name, "global_norm") as at:
        parts = [_values(t) for t in t_list if t is not None]
        if not parts:
            raise ValueError("global_norm: expected at least one tensor, got none")
        squares = [reduction.reduce_sum(elementwise.square(p)) for p in parts]
        return elementwise.sqrt(elementwise.add_n(squares), name=at)


def _values(t: Any) -> Tensor:
    return t.values if isinstance(t, IndexedSlices) else convert_to_tensor(t)


@api_guard.operator
def clip_by_global_norm(
    t_list: Sequence[Any], clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Tensor]:
    """All tensors scaled by one factor so that their global norm is at most clip_norm.

    Args:
        t_list: floating tensors, IndexedSlices (which stay that) or None (which stays None).
        clip_norm: the largest norm; a number or scalar tensor.
        use_norm: the global norm, if it is known already.
        name: name scope of the operations.

    Returns:
        (the tensors, their global norm before). A norm that is not finite makes them nan.

    Raises:
        ValueError: there is no tensor.
    """
    with scope(name, "clip_by_global_norm"):
        whole = global_norm(t_list) if use_norm is None else convert_to_tensor(use_norm)
        limit = like(clip_norm, whole, "clip_by_global_norm", ("use_norm", "clip_norm"))
        factor = elementwise.realdiv(limit, elementwise.maximum(whole, limit))
        nan = scalar(float("nan"), whole.dtype)
        factor = select(elementwise.is_finite(whole), factor, nan)
        return [None if t is None else _scaled(t, factor) for t in t_list], whole


def _scaled(t: Any, factor: Tensor) -> Any:
    if isinstance(t, IndexedSlices):
        return IndexedSlices(binary("Mul", t.values, factor), t.indices, t.dense_shape)
    return binary("Mul", convert_to_tensor(t), factor)
