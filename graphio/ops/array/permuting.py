"""Axes in an order that only a run knows, of a rank that may be unknown, too."""

from __future__ import annotations

from graphio.framework import dtypes
from graphio.framework.graph import Tensor
from graphio.ops.array import filling, index, order, run_axis
from graphio.ops.array import surface as array
from graphio.ops.base import primitive, registered
from graphio.ops.base.emit import describe
from graphio.ops.base.shapes import dims_of
from graphio.ops.checks import assertion, run_checks
from graphio.ops.math import comparison, elementwise, reduction
from graphio.ops.math.arithmetic import cumprod

__all__ = ["as_matrix", "transposed"]


@registered.transposed.register
def transposed(x: Tensor, perm: Tensor, at: str) -> Tensor:
    """x with its axes in the order of perm, by a gather of its elements.

    Raises:
        ValueError: the number of axes is known and not that of perm.
        InvalidArgumentError: of the run, perm is not a permutation.
    """
    what = describe(at, "Transpose")
    given = dims_of(perm)
    if given is not None and len(given) != 1:
        raise ValueError(f"perm must be a vector, but has {perm.shape} for {what}")
    length = None if given is None else given[0]
    rank = x.shape.ndims if length is None else length
    if x.shape.ndims not in (None, rank):
        raise ValueError(f"Dimension must be {x.shape.ndims} but is {rank} for {what}")
    axes = _checked(elementwise.cast(perm, dtypes.int64), filling.rank(x) if rank is None else rank)
    sizes = array.shape(x, out_type=dtypes.int64)
    steps = index.gather(_steps(sizes), axes)
    target = index.gather(sizes, axes)
    if rank is None:
        moved = index.gather(array.reshape(x, [-1]), _positions(target, steps))
        return array.reshape(moved, target, name=at)
    position = array.zeros([1] * rank, dtypes.int64)
    for axis in range(rank):
        numbers = array.range(target[axis]) * steps[axis]
        position = position + array.reshape(numbers, [-1 if a == axis else 1 for a in range(rank)])
    result = index.gather(array.reshape(x, [-1]), position, name=at)
    result.set_shape([None] * rank)
    return result


def _steps(sizes: Tensor) -> Tensor:
    """The row-major stride of each axis, in elements."""
    return cumprod(sizes, exclusive=True, reverse=True)


def _positions(target: Tensor, steps: Tensor) -> Tensor:
    """The offsets of the elements of a tensor of the target's sizes in memory with given steps, for
    any number of axes: each element's number as coordinates (elements, axes)."""
    count = reduction.reduce_prod(target)
    numbers = array.expand_dims(array.range(count), 1)
    # Without elements there are no numbers, and sizes of 0 divide none.
    steps_of_target, sizes = (elementwise.maximum(t, 1) for t in (_steps(target), target))
    coordinates = elementwise.floormod(elementwise.floordiv(numbers, steps_of_target), sizes)
    return reduction.reduce_sum(coordinates * steps, [1])


def _checked(axes: Tensor, rank: Tensor | int) -> Tensor:
    axes = array.reshape(axes, [-1])
    numbers = array.range(elementwise.cast(rank, dtypes.int64))
    complete = comparison.equal(order.sort(axes), numbers)
    of = f"{rank} axes" if isinstance(rank, int) else "the axes"
    words = f"perm is not a permutation of {of}:"
    return assertion.once(axes, reduction.reduce_all(complete), words)


def as_matrix(x: Tensor, axes: Tensor, op: str, own_first: bool = False) -> tuple[Tensor, Tensor]:
    """x as (elements along the other axes, elements along these), and the sizes of the others.

    Args:
        x: tensor of any rank.
        axes: integers, each axis once; those along them come in this order.
        op: for errors.
        own_first: True exchanges the two axes of the result.

    Raises:
        InvalidArgumentError: of the run, an axis is out of range or comes twice.
    """
    given = run_axis.checked_axes(x, axes, op)
    own = run_checks.distinct(given, f"{op} names an axis twice:")
    numbers = array.range(elementwise.cast(filling.rank(x), dtypes.int64))
    others = order.setdiff1d(numbers, own).out
    sizes = array.shape(x, out_type=dtypes.int64)
    groups = [own, others] if own_first else [others, own]
    moved = transposed(x, primitive.concat(groups, 0), "transposed")
    counts = [reduction.reduce_prod(index.gather(sizes, g), keepdims=True) for g in groups]
    return (
        primitive.reshape_to(moved, primitive.concat(counts, 0), (None, None)),
        index.gather(sizes, others),
    )
