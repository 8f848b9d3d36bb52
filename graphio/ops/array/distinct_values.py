"""The distinct elements of a vector, and whether elements ascend."""

from __future__ import annotations

from typing import Any, NamedTuple

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.gradient_registry import lacks_gradient
from graphio.framework.graph import Tensor
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import NUMERIC, describe, operation, require, scope
from graphio.ops.base.primitive import cast, compare
from graphio.ops.base.shapes import dims_of
from graphio.support import api_guard

__all__ = [
    "is_non_decreasing",
    "is_strictly_increasing",
    "unique",
    "unique_with_counts",
    "vector",
]

for _type in ("Unique", "UniqueWithCounts"):
    lacks_gradient(_type, "gather distinct elements by their indices, or cut the path")


class Unique(NamedTuple):
    """The results of unique."""

    y: Tensor
    idx: Tensor


class UniqueWithCounts(NamedTuple):
    """The results of unique_with_counts."""

    y: Tensor
    idx: Tensor
    count: Tensor  # type: ignore[assignment]


def _neighbours(x: Any, op: str, tf_type: str, name: str | None) -> Tensor:
    with scope(name, tf_type) as at:
        tensor = convert_to_tensor(x, name="x")
        require(tensor, NUMERIC, tf_type)
        flat = primitive.reshape(tensor, [-1])
        after = primitive.slice_axes(flat, [1], [primitive.last], [0])
        before = primitive.slice_axes(flat, [0], [-1], [0])
        return primitive.all_of(compare(op, after, before), at)


@api_guard.operator
def is_non_decreasing(x: Any, name: str | None = None) -> Tensor:
    """Whether no element is below the one before it, row by row: a bool scalar."""
    return _neighbours(x, "GreaterOrEqual", "is_non_decreasing", name)


@api_guard.operator
def is_strictly_increasing(x: Any, name: str | None = None) -> Tensor:
    """Whether each element is above the one before it, row by row: a bool scalar."""
    return _neighbours(x, "Greater", "is_strictly_increasing", name)


def vector(value: Any, tf_type: str, at: str, parameter: str = "x") -> Tensor:
    """A value as a tensor that may be a vector.

    Raises:
        ValueError: it has another rank.
    """
    x = convert_to_tensor(value, name=parameter)
    if x.shape.ndims not in (1, None):
        raise ValueError(
            f"Shape must be rank 1 but is rank {x.shape.ndims} for {describe(at, tf_type)} with "
            f"input shapes: {shapes.text_of(x)}; {parameter} is a vector"
        )
    return x


def _distinct(x: Any, out_idx: Any, tf_type: str, at: str) -> list[Tensor]:
    tensor = vector(x, tf_type, at)
    kind = dtypes.as_dtype(out_idx).base_dtype
    rows = dims_of(tensor) or (None,)
    found = [(tensor.dtype, (None,)), (dtypes.int64, (None,)), (dtypes.int64, rows)]
    outputs = [*found, (dtypes.int64, (None,))]
    attrs = {"sorted": 0}
    made = operation("Unique", [tensor], outputs, attrs=attrs, name=at, tf_type=tf_type).outputs
    return [made[0], cast(made[2], kind), cast(made[3], kind)]


@api_guard.operator
def unique(x: Any, out_idx: Any = dtypes.int32, name: str | None = None) -> Unique:
    """The distinct elements of a vector in the order of their first occurrence.

    Args:
        x: vector (n).
        out_idx: int32 or int64.
        name: name scope of the operations.

    Returns:
        y, the distinct elements, and idx (n), the index in y of each element of x.

    Raises:
        ValueError: x is not a vector.
    """
    with scope(name, "Unique") as at:
        return Unique(*_distinct(x, out_idx, "Unique", at)[:2])


@api_guard.operator
def unique_with_counts(
    x: Any, out_idx: Any = dtypes.int32, name: str | None = None
) -> UniqueWithCounts:
    """unique, and how often each distinct element occurs.

    Args:
        x: vector (n).
        out_idx: int32 or int64, of idx and count.
        name: name scope of the operations.

    Raises:
        ValueError: x is not a vector.
    """
    with scope(name, "UniqueWithCounts") as at:
        return UniqueWithCounts(*_distinct(x, out_idx, "UniqueWithCounts", at))
