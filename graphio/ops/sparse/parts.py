"""Building blocks of the operations on SparseTensors: checks, flat indices, selection.

The number of an element is its row-major position in the dense tensor. Numbers and indices sort
alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant
from graphio.framework.folding import constant_value
from graphio.framework.gradient_registry import not_differentiable
from graphio.framework.graph import Tensor
from graphio.framework.sparse_tensor import SparseTensor, SparseTensorValue
from graphio.ops.array import index
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import node, operation, scalar
from graphio.ops.base.primitive import binary, int_vector
from graphio.ops.base.shapes import dims_of
from graphio.support import errors

__all__ = [
    "as_sparse",
    "check_equal",
    "checked",
    "columns",
    "group_sums",
    "grouped",
    "numbers",
    "numbers_within",
    "picked",
    "positions",
    "rank_of",
    "sized",
    "total_size",
    "with_numbers",
]

#: Numbers of axes, perhaps known by the run alone.
Axes = Sequence[int] | Tensor

not_differentiable("CheckSparseIndices", "CheckEqual", domain="graphio")


def as_sparse(value: Any, parameter: str = "Input") -> SparseTensor:
    """value as a SparseTensor.

    Raises:
        TypeError: it is neither that nor a SparseTensorValue.
    """
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if isinstance(value, SparseTensor):
        return value
    raise TypeError(f"{parameter} must be a SparseTensor, but got {value!r}")


def rank_of(sp: SparseTensor) -> int | None:
    """The rank of the dense tensor, None if it is not known while the graph is built."""
    sizes, positions = dims_of(sp.dense_shape), dims_of(sp.indices)
    rank = None if sizes is None else sizes[0]
    return rank if rank is not None or positions is None else positions[1]


# ---- checks at run time ----


def checked(indices: Tensor, shape: Tensor, ordered: bool = False) -> Tensor:
    """The indices, once a run has checked that they are inside shape (and strictly ascending)."""
    return node(
        "CheckSparseIndices",
        [indices, shape],
        dtypes.int64,
        dims_of(indices),
        domain="graphio",
        ordered=int(ordered),
    )


def check_equal(
    x: Tensor, y: Tensor, message: str, name: str = "", by_the_run: bool = True
) -> Tensor:
    """The vector x, known to equal y: now, or once a run has seen it.

    Raises:
        InvalidArgumentError: they are known to differ, by_the_run in the number of elements; what
            differs else is an error of the run.
    """
    one, two = primitive.static_vector(x), primitive.static_vector(y)
    if one is not None and two is not None:
        differ = len(one) != len(two) or any(
            m is not None and n is not None and m != n for m, n in zip(one, two, strict=True)
        )
        if differ and (len(one) != len(two) or not by_the_run):
            raise errors.InvalidArgumentError(
                message=f"{name}{message}: {shapes.text(one)} and {shapes.text(two)}"
            )
        if None not in one and one == two:
            return x
    return node("CheckEqual", [x, y], dtypes.int64, dims_of(x), domain="graphio", message=message)


# ---- indices and their numbers ----


def total_size(sizes: Tensor) -> Tensor:
    """All elements of a vector multiplied, a scalar."""
    known = constant_value(sizes)
    if known is not None:
        return scalar(int(np.prod(known, dtype=np.int64)), dtypes.int64)
    return node("ReduceProd", [sizes], dtypes.int64, (), keepdims=0)


def _strides(shape: Tensor) -> Tensor:
    """The row-major stride of each axis, in elements."""
    known = constant_value(shape)
    if known is not None:
        ends = np.cumprod(known[::-1], dtype=np.int64)
        return int_vector([1, *ends.tolist()][: len(ends)][::-1])
    inputs = [shape, constant(np.asarray(0, np.int64), name="axis")]
    return node("CumProd", inputs, dtypes.int64, dims_of(shape), exclusive=1, reverse=1)


def numbers_within(indices: Tensor, shape: Tensor) -> Tensor:
    """The numbers (n) of the indices (n, r) in a tensor of the shape."""
    return primitive.reduce_sum(binary("Mul", indices, _strides(shape)), [1], keepdims=False)


def numbers(sp: SparseTensor) -> Tensor:
    """The numbers of the indices of a SparseTensor, which a run checks to be inside its shape."""
    return numbers_within(checked(sp.indices, sp.dense_shape), sp.dense_shape)


def positions(found: Tensor, shape: Tensor) -> Tensor:
    """The indices (n, r) of numbers (n)."""
    one = scalar(1, dtypes.int64)
    steps = binary("Max", _strides(shape), one)
    column = primitive.unsqueeze(found, [1])
    counted, sizes = binary("Div", column, steps), binary("Max", shape, one)
    return node("Mod", [counted, sizes], dtypes.int64, dims_of(counted), fmod=0)


def columns(indices: Tensor, axes: Axes) -> Tensor:
    """The coordinates of some axes: (n, len(axes))."""
    at = axes if isinstance(axes, Tensor) else int_vector(axes)
    return primitive.gather(indices, at, 1)


def sized(shape: Tensor, axes: Axes) -> Tensor:
    """The sizes of some axes."""
    return primitive.gather(shape, axes if isinstance(axes, Tensor) else int_vector(axes), 0)


# ---- groups and choices ----


def grouped(found: Tensor, ordered: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """The distinct numbers (in ascending order), each one's group (n), and how many there are."""
    outputs = [(dtypes.int64, (None,))] * 2 + [(dtypes.int64, dims_of(found))]
    outputs = [*outputs, (dtypes.int64, (None,))]
    made = operation("Unique", [found], outputs, attrs={"sorted": int(ordered)})
    return made.outputs[0], made.outputs[2], primitive.count(made.outputs[0], dtypes.int64)


def group_sums(values: Tensor, groups: Tensor, count: Tensor, name: str | None = None) -> Tensor:
    """The sum of each group's values."""
    return index.scatter_sum(groups, values, count, name=name)


def picked(values: Tensor, at: Tensor, tf_type: str, name: str | None = None) -> Tensor:
    """values[at]; its gradient is a tensor, no IndexedSlices."""
    return primitive.gather(values, at, 0, name=name, tf_type=tf_type)


def with_numbers(found: Tensor, values: Tensor, shape: Tensor) -> SparseTensor:
    """The SparseTensor of numbers and values."""
    return SparseTensor(positions(found, shape), values, shape)
