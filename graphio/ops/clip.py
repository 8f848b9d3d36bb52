"""Norms, and gradients limited by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.constants import convert_to_tensor
from graphio.graph import Tensor
from graphio.indexed_slices import IndexedSlices
from graphio.ops import math, primitive, reduction
from graphio.ops.emit import like, renamed, scalar, scope
from graphio.ops.primitive import binary, compare, select

__all__ = [
    "clip_by_average_norm",
    "clip_by_global_norm",
    "clip_by_norm",
    "global_norm",
    "norm",
]


def norm(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """The norm of vectors; of a whole tensor as one vector where axis is None.

    Args:
        tensor: floating tensor.
        ord: euclidean (or 2), 1, np.inf, or another positive number; fro where axis names two.
        axis: an axis or a list of them.
        keepdims: True leaves the axes with size 1.
        name: of the operation.
        keep_dims: the old name of keepdims.

    Raises:
        ValueError: ord is none of these, or an axis comes twice.
    """
    keep = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    with scope(name, "norm") as at:
        x = convert_to_tensor(tensor, name="tensor")
        if isinstance(axis, (list, tuple)) and len(set(axis)) != len(axis):
            raise ValueError(f"norm: axis is {axis!r}, which names an axis twice")
        if ord == "fro" and not (isinstance(axis, (list, tuple)) and len(axis) == 2):
            raise ValueError("norm: 'fro' is a norm of matrices; give two axes, or 'euclidean'")
        if ord in ("euclidean", "fro", 2, 2.0):
            return math.sqrt(reduction.reduce_sum(math.square(x), axis, keep), name=at)
        if isinstance(ord, str) or ord <= 0:
            raise ValueError(f"norm: ord is {ord!r}, expected euclidean, np.inf or a number > 0")
        size = math.abs(x)
        if ord == 1:
            return reduction.reduce_sum(size, axis, keep, name=at)
        if ord == np.inf:
            return reduction.reduce_max(size, axis, keep, name=at)
        total = reduction.reduce_sum(math.pow(size, float(ord)), axis, keep)
        return math.pow(total, 1.0 / ord, name=at)


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """t, scaled down where its Euclidean norm over axes exceeds clip_norm.

    Args:
        t: floating tensor, or IndexedSlices, which stay that and whose values count.
        clip_norm: the largest norm; a number or scalar tensor.
        axes: None: all.
        name: of the operation.
    """
    if isinstance(t, IndexedSlices):
        values = clip_by_norm(t.values, clip_norm, axes, name)
        return IndexedSlices(values, t.indices, t.dense_shape)
    with scope(name, "clip_by_norm") as at:
        x = convert_to_tensor(t, name="t")
        limit = like(clip_norm, x, "clip_by_norm", ("t", "clip_norm"))
        total = reduction.reduce_sum(math.square(x), axes, keepdims=True)
        # At 0 the root's slope is infinite: there it is taken of 1.
        positive = compare("Greater", total, scalar(0, x.dtype))
        length = math.sqrt(select(positive, total, scalar(1, x.dtype)))
        safe = select(positive, length, total)
        return math.realdiv(math.multiply(x, limit), math.maximum(safe, limit), name=at)


def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Tensor:
    """t, scaled down where its Euclidean norm over the number of its elements exceeds clip_norm."""
    with scope(name, "clip_by_average_norm") as at:
        x = convert_to_tensor(t, name="t")
        limit = like(clip_norm, x, "clip_by_average_norm", ("t", "clip_norm"))
        size = primitive.count(x, x.dtype)
        average = math.realdiv(math.sqrt(reduction.reduce_sum(math.square(x))), size)
        return math.realdiv(math.multiply(x, limit), math.maximum(average, limit), name=at)


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
        squares = [reduction.reduce_sum(math.square(p)) for p in parts]
        return math.sqrt(math.add_n(squares), name=at)


def _values(t: Any) -> Tensor:
    return t.values if isinstance(t, IndexedSlices) else convert_to_tensor(t)


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
        factor = math.realdiv(limit, math.maximum(whole, limit))
        nan = scalar(float("nan"), whole.dtype)
        factor = select(math.is_finite(whole), factor, nan)
        return [None if t is None else _scaled(t, factor) for t in t_list], whole


def _scaled(t: Any, factor: Tensor) -> Any:
    if isinstance(t, IndexedSlices):
        return IndexedSlices(binary("Mul", t.values, factor), t.indices, t.dense_shape)
    return binary("Mul", convert_to_tensor(t), factor)
