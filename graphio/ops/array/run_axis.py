"""Operators along an axis that only the run knows, of a rank that may be unknown, too.

The axes before it are joined into one, and those after it, so that it is the second of three.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphio.framework import dtypes, scopes
from graphio.framework.graph import Tensor
from graphio.ops.base import primitive
from graphio.ops.base.emit import is_symbolic, node, scalar, static_ints, whole
from graphio.ops.checks import assertion

__all__ = [
    "AXIS",
    "Cut",
    "along",
    "along_same",
    "checked_axes",
    "is_open",
    "joined",
    "numbers_of_axes",
    "together",
    "with_ones",
]

#: the index of the axis in a Cut
AXIS = 1


def is_open(axis: Any) -> bool:
    """Whether an axis, or one in a list, is a tensor whose value is not known while the graph is
    built."""
    if isinstance(axis, (list, tuple)):
        return any(is_open(a) for a in axis)
    found = static_ints(axis) if is_symbolic(axis) else []
    return found is None or None in found


def checked_axes(x: Tensor, axes: Any, op: str, count: int | None = None) -> Tensor:
    """A vector of axes of x counted from the front, int64; count: how many, if that is known. A
    run in which one is out of range fails: it reads the numbers 0 to rank - 1 at the axes."""
    positions = primitive.reshape(whole(axes, op, "axis"), [-1 if count is None else count])
    return primitive.gather(numbers_of_axes(x), positions, 0, "axis_in_range")


def numbers_of_axes(x: Tensor) -> Tensor:
    """0, 1, ... rank - 1."""
    if x.shape.ndims is not None:
        return primitive.int_vector(range(x.shape.ndims))
    rank = node("Size", [primitive.shape_of(x)], dtypes.int64, ())
    zero, one = scalar(0, dtypes.int64), scalar(1, dtypes.int64)
    return node("Range", [zero, rank, one], dtypes.int64, (None,))


def with_ones(x: Tensor, axes: Tensor) -> Tensor:
    """The sizes of x, 1 for those of a vector of axes that are counted from the front."""
    given = primitive.unsqueeze(axes, [0])
    equal = primitive.compare("Equal", primitive.unsqueeze(numbers_of_axes(x), [1]), given)
    hits = primitive.reduce_sum(primitive.cast(equal, dtypes.int64), [1], keepdims=False)
    one = primitive.int_vector([1])
    return primitive.select(primitive.cast(hits, dtypes.bool), one, primitive.shape_of(x))


class Cut:
    """A tensor as (elements before the axis, along it, after it)."""

    def __init__(self, x: Tensor, axis: Any, op: str) -> None:
        sizes = primitive.shape_of(x)
        position = checked_axes(x, axis, op, 1)
        after = primitive.binary("Add", position, primitive.int_vector([1]))
        self.rank = x.shape.ndims
        self.before = _part(sizes, primitive.int_vector([0]), position)
        self.behind = _part(sizes, after, primitive.int_vector([primitive.last]))
        own = primitive.gather(sizes, position, 0)
        ends = [node("ReduceProd", [part], dtypes.int64, (1,), keepdims=1)
                for part in (self.before, self.behind)]  # fmt: skip
        target = primitive.concat([ends[0], own, ends[1]], 0)
        self.flat = primitive.reshape_to(x, target, (None, None, None))

    def restored(self, y: Tensor, name: str | None = None) -> Tensor:
        """y, whose first axis is all before the axis and whose last is all after it, with these
        axes as they were."""
        inner = primitive.slice_axes(primitive.shape_of(y), [1], [-1], [0])
        sizes = primitive.concat([self.before, inner, self.behind], 0)
        known = self.rank is not None and y.shape.ndims is not None
        dims = (None,) * ((self.rank or 0) + (y.shape.ndims or 0) - 3) if known else None
        return primitive.reshape_to(y, sizes, dims, name)


def _part(sizes: Tensor, start: Tensor, end: Tensor) -> Tensor:
    return node("Slice", [sizes, start, end, primitive.int_vector([0])], dtypes.int64, (None,))


def along(
    x: Tensor, axis: Any, op: str, name: str | None, build: Callable[[Tensor], Tensor]
) -> Tensor:
    """The result of build on x along the axis, the second of the three axes that it is given; the
    first and the last one stay."""
    cut = Cut(x, axis, op)
    return cut.restored(build(cut.flat), name)


def along_same(
    x: Tensor, axis: Any, op: str, name: str | None, build: Callable[[Tensor], Tensor]
) -> Tensor:
    """As along, of what keeps the shape."""
    result = along(x, axis, op, name, build)
    result.set_shape(x.shape)
    return result


def joined(tensors: Sequence[Tensor], axis: Any, op: str, name: str) -> Tensor:
    """Tensors one after another along the axis.

    Raises:
        InvalidArgumentError: of the run, they differ off the axis.
    """
    first, flat = together(tensors, axis, op)
    return first.restored(primitive.concat(flat, AXIS), name)


def together(tensors: Sequence[Tensor], axis: Any, op: str) -> tuple[Cut, list[Tensor]]:
    """Tensors cut along one axis, and how the first one was.

    Raises:
        InvalidArgumentError: of the run, they differ off the axis.
    """
    first, *others = [Cut(x, axis, op) for x in tensors]
    sizes = _beside(first)
    return first, [first.flat, *(_alike(cut, sizes, op) for cut in others)]


def _beside(cut: Cut) -> Tensor:
    """The sizes of the other axes."""
    return primitive.concat([cut.before, cut.behind], 0)


def _alike(cut: Cut, requested: Tensor, op: str) -> Tensor:
    """The flat tensor of a Cut, once its sizes off the axis are checked to be the expected ones."""
    found = _beside(cut)
    equal = primitive.cast(primitive.compare("Equal", found, requested), dtypes.int64)
    holds = primitive.cast(node("ReduceMin", [equal], dtypes.int64, (), keepdims=0), dtypes.bool)
    checked = assertion.once(found, holds, f"{op}: sizes off the axis are not those of the first:")
    with scopes.control_dependencies([checked]):
        return primitive.unary("Identity", cut.flat)
