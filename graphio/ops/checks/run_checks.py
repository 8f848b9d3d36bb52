"""Conditions on numbers that only a run knows; a run in which one does not hold fails."""

from __future__ import annotations

import numpy as np

from graphio.framework import dtypes
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.ops.array import distinct_values
from graphio.ops.base import primitive
from graphio.ops.base.emit import node
from graphio.ops.base.primitive import cast
from graphio.ops.base.shapes import dims_of
from graphio.ops.checks.assertion import once
from graphio.ops.math import comparison

__all__ = [
    "ascending",
    "below",
    "distinct",
    "in_range",
    "matrices",
    "not_negative",
    "positive",
    "spread",
    "vector",
    "within",
]


def ascending(ids: Tensor) -> Tensor:
    """Segment numbers, once they are known not to descend."""
    known = constant_value(ids)
    if known is not None and not np.any(np.diff(known.ravel()) < 0):
        return ids
    return once(ids, distinct_values.is_non_decreasing(ids), "segment ids are not increasing")


def distinct(x: Tensor, words: str) -> Tensor:
    """A vector, once its elements are known to differ."""
    known = constant_value(x)
    if known is not None and len(np.unique(known)) == len(known):
        return x
    values, _ = distinct_values.unique(x)
    count, of_each = (primitive.count(t, dtypes.int64) for t in (values, x))
    return once(x, comparison.equal(count, of_each), words)


def matrices(x: Tensor, op: str) -> Tensor:
    """Matrices, once they are known to be of rank 2 or more."""
    if x.shape.ndims is not None:
        return x
    holds = comparison.greater_equal(primitive.rank_of(x), 2)
    return once(x, holds, f"{op}: expected a matrix, of rank 2 or more")


def vector(x: Tensor, words: str) -> Tensor:
    """x, once it is known to be of rank 1."""
    if x.shape.ndims == 1:
        return x
    found = once(x, comparison.equal(primitive.rank_of(x), 1), words)
    return node("Identity", [found], x.dtype, (None,))


def not_negative(x: Tensor, words: str) -> Tensor:
    """Integers, once they are known to be 0 or more."""
    known = constant_value(x)
    if known is not None and not np.any(known < 0):
        return x
    return once(x, primitive.all_of(comparison.greater_equal(x, 0)), words)


def below(x: Tensor, limit: Tensor, words: str) -> Tensor:
    """Integers, once they are known to be below a limit of their dtype."""
    known, most = constant_value(x), constant_value(limit)
    if known is not None and most is not None and not np.any(known >= most):
        return x
    return once(x, primitive.all_of(comparison.less(x, limit)), words)


def positive(x: Tensor, words: str) -> Tensor:
    """Integers, once they are known to be 1 or more.

    Raises:
        ValueError: it is known while building that they are not.
    """
    known = constant_value(x)
    if known is not None and np.any(known < 1):
        raise ValueError(f"{words}, but are {known.tolist()}")
    if known is not None:
        return x
    return once(x, primitive.all_of(comparison.greater_equal(x, 1)), words)


def spread(x: Tensor, like: Tensor, words: str) -> Tensor:
    """A tensor, once it is known to be a scalar or to have another's rank and sizes of 1 or its."""
    own, other = primitive.shape_of(x), primitive.shape_of(like)
    rank, expected = (primitive.count(shape, dtypes.int64) for shape in (own, other))
    same_rank = comparison.equal(rank, expected)
    # Shapes of different ranks are compared as far as the shorter one goes.
    length = primitive.unsqueeze(primitive.binary("Min", rank, expected), [0])
    zero, axis = primitive.int_vector([0]), primitive.int_vector([0])
    own, other = (
        node("Slice", [shape, zero, length, axis], dtypes.int64, (None,)) for shape in (own, other)
    )
    fits = comparison.logical_or(comparison.equal(own, 1), comparison.equal(own, other))
    fits = comparison.logical_and(same_rank, primitive.all_of(fits))
    return once(x, comparison.logical_or(comparison.equal(rank, 0), fits), words)


def within(x: Tensor, limit: int, words: str) -> Tensor:
    """Integers, once they are known to be in [0, limit)."""
    known = constant_value(x)
    if known is not None and not np.any((known < 0) | (known >= limit)):
        return x
    inside = comparison.logical_and(comparison.greater_equal(x, 0), comparison.less(x, limit))
    return once(x, primitive.all_of(inside), words)


def in_range(positions: Tensor, size: int | None = None, name: str | None = None) -> Tensor:
    """Indices, once they are known to be 0 or more and, where it is given, less than the size."""
    known = constant_value(positions)
    if known is not None and not np.any(known < 0):
        return positions  # the kernels that read and write by number look at the upper end
    if positions.dtype.name not in ("int32", "int64"):
        positions = cast(positions, dtypes.int64)
    limit = -1 if size is None else size
    return node(
        "IndexRange", [positions], positions.dtype, dims_of(positions), name=name, domain="graphio",
        limit=limit,
    )  # fmt: skip
