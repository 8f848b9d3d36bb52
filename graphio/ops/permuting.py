"""transpose by a permutation that only a run knows."""

from __future__ import annotations

from graphio import dtypes
from graphio.graph import Tensor
from graphio.ops import array, comparison, index, math, order, reduction, run_checks
from graphio.ops.arithmetic import cumprod
from graphio.ops.emit import describe
from graphio.ops.shapes import dims_of

__all__ = ["transposed"]


def transposed(x: Tensor, perm: Tensor, at: str) -> Tensor:
    """x with its axes in the order of perm: its elements, gathered from where they lie in a row.

    Raises:
        ValueError: the number of axes is not known, or is not that of perm.
        InvalidArgumentError: of the run, perm is no permutation.
    """
    what = describe(at, "Transpose")
    given = dims_of(perm)
    if given is not None and len(given) != 1:
        raise ValueError(f"perm must be a vector, but has {perm.shape} for {what}")
    length = None if given is None else given[0]
    rank = x.shape.ndims if length is None else length
    if rank is None:
        raise ValueError(
            f"{what}: neither the rank of x nor the length of perm is known; use set_shape"
        )
    if x.shape.ndims not in (None, rank):
        raise ValueError(f"Dimension must be {x.shape.ndims} but is {rank} for {what}")
    axes = _checked(math.cast(perm, dtypes.int64), rank)
    sizes = array.shape(x, out_type=dtypes.int64)
    steps = index.gather(cumprod(sizes, exclusive=True, reverse=True), axes)
    target = index.gather(sizes, axes)
    place = array.zeros([1] * rank, dtypes.int64)
    for axis in range(rank):
        numbers = array.range(target[axis]) * steps[axis]
        place = place + array.reshape(numbers, [-1 if a == axis else 1 for a in range(rank)])
    result = index.gather(array.reshape(x, [-1]), place, name=at)
    result.set_shape([None] * rank)
    return result


def _checked(axes: Tensor, rank: int) -> Tensor:
    complete = comparison.equal(order.sort(axes), array.range(rank, dtype=dtypes.int64))
    return run_checks.once(
        axes, reduction.reduce_all(complete), f"perm is no permutation of {rank} axes:"
    )
