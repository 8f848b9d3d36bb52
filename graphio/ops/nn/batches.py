"""Inputs of convolutions with more axes of batches than one."""

from __future__ import annotations

from collections.abc import Callable

from graphio.framework.graph import Tensor
from graphio.ops.base import primitive
from graphio.ops.base.shapes import dims_of

__all__ = ["has_more_batches", "over_batches"]


def has_more_batches(x: Tensor, rank: int) -> bool:
    """Whether x is known to have more axes than a rank with a single one for the batch."""
    return x.shape.ndims is not None and x.shape.ndims > rank


def over_batches(x: Tensor, rank: int, name: str, build: Callable[[Tensor], Tensor]) -> Tensor:
    """The result of build on x with all axes before its last ones joined, which are then restored.

    Args:
        x: tensor of more axes than rank.
        rank: of what build takes and gives.
        name: of the result.
        build: from a tensor (batch, ...) to one (batch, ...).
    """
    dims = dims_of(x) or ()
    count = len(dims) - rank + 1
    rest = primitive.slice_axes(primitive.shape_of(x), [count], [primitive.last], [0])
    flat = primitive.reshape_to(
        x, primitive.concat([primitive.int_vector([-1]), rest], 0), (None, *dims[count:])
    )
    y = build(flat)
    lead = primitive.slice_axes(primitive.shape_of(x), [0], [count], [0])
    tail = primitive.slice_axes(primitive.shape_of(y), [1], [primitive.last], [0])
    static = (*dims[:count], *(dims_of(y) or (None,) * rank)[1:])
    return primitive.reshape_to(y, primitive.concat([lead, tail], 0), static, name)
