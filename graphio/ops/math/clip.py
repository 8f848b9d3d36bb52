"""Norms, and gradients limited by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.indexed_slices import IndexedSlices
from graphio.ops.base import primitive
from graphio.ops.base.emit import FLOATING, like, require, scalar, scope
from graphio.ops.base.primitive import binary, compare, select
from graphio.ops.math import elementwise, reduction
from graphio.support import api_guard

__all__ = [
    "clip_by_average_norm",
    "clip_by_global_norm",
    "clip_by_norm",
    "global_norm",
]


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
        TypeError: one is not floating.
    """
    with scope(name, "global_norm") as at:
        parts = [_values(t) for t in t_list if t is not None]
        if not parts:
            raise ValueError("global_norm: expected at least one tensor, got none")
        for part in parts:
            require(part, FLOATING, "L2Loss", "t")
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
