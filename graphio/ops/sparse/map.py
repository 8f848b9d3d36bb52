"""map_fn over sparse tensors: a loop, for rows hold different numbers of elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphio.framework import dtypes, nest
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.framework.sparse_tensor import SparseTensor
from graphio.ops.array import index
from graphio.ops.array import surface as array
from graphio.ops.array.order import argsort, searchsorted
from graphio.ops.base import primitive as p
from graphio.ops.checks.assertion import once
from graphio.ops.control_flow.loops import while_loop
from graphio.ops.control_flow.tensor_array import TensorArray
from graphio.ops.math import comparison, elementwise

__all__ = ["has_sparse", "map_rows"]


def has_sparse(elems: Any) -> bool:
    """Whether a sparse tensor is among what is mapped."""
    return any(isinstance(leaf, SparseTensor) for leaf in nest.flatten(elems))


def map_rows(
    fn: Callable[[Any], Any],
    elems: Any,
    kinds: Sequence[DType | None],
    check: Callable[[Any], list[Any]],
    back_prop: bool,
) -> list[Any]:
    """The stacked results of fn for each row.

    Args:
        fn: from a row, in elems' structure; that of a sparse tensor has one axis less.
        elems: structure of tensors and sparse tensors of as many rows.
        kinds: dtypes of the dense results; None: the result is sparse, as the element there.
        check: from what fn returned to its leaves.
        back_prop: False: no gradient passes.
    """
    leaves: list[Any] = [
        x if isinstance(x, SparseTensor) else convert_to_tensor(x) for x in nest.flatten(elems)
    ]
    count = _count(leaves[0])
    for leaf in leaves[1:]:
        alike = comparison.equal(_count(leaf), count)
        count = once(count, alike, "map_fn: elems differ in their number of rows; the first's is")
    rows = [_Rows(x, count) if isinstance(x, SparseTensor) else x for x in leaves]
    start = [
        _nothing(leaves[k], count) if kind is None else TensorArray(kind, count)
        for k, kind in enumerate(kinds)
    ]

    def step(i: Tensor, made: list[Any]) -> tuple[Tensor, list[Any]]:
        pieces = [x.row(i) if isinstance(x, _Rows) else index.gather(x, i) for x in rows]
        results = check(fn(nest.pack_sequence_as(elems, pieces)))
        pairs = zip(made, results, strict=True)
        return i + 1, [_with_row(before, i, result) for before, result in pairs]

    _, made = while_loop(lambda i, _: i < count, step, (constant(0), start), back_prop=back_prop)
    return [y.stack() if isinstance(y, TensorArray) else y for y in made]


def _count(x: Any) -> Tensor:
    """The number of rows: int32 scalar."""
    shape = x.dense_shape if isinstance(x, SparseTensor) else array.shape(x)
    return elementwise.cast(shape[0], dtypes.int32)


class _Rows:
    """A sparse tensor taken apart into its rows.

    Args:
        x: the sparse tensor; its elements may be in any order.
        count: how many rows it has.
    """

    def __init__(self, x: SparseTensor, count: Tensor) -> None:
        numbers = x.indices[:, 0]
        order = argsort(numbers, stable=True)
        self._indices = index.gather(x.indices, order)[:, 1:]
        self._values = index.gather(x.values, order)
        self._shape = x.dense_shape[1:]
        ends = elementwise.cast(array.range(count + 1), dtypes.int64)
        self._bounds = searchsorted(index.gather(numbers, order), ends)

    def row(self, i: Tensor) -> SparseTensor:
        """The row of a number."""
        begin, end = self._bounds[i], self._bounds[i + 1]
        return SparseTensor(self._indices[begin:end], self._values[begin:end], self._shape)


def _nothing(like: SparseTensor, count: Tensor) -> SparseTensor:
    """A sparse tensor of as many rows and axes, without an element."""
    rank = like.indices.shape.as_list()[1]
    if rank is None:
        raise ValueError(
            "map_fn: elems hold a sparse tensor of unknown rank; give its indices a shape"
        )
    whole = array.concat(
        [[elementwise.cast(count, dtypes.int64)], p.int_vector([0] * (rank - 1))], 0
    )
    nowhere = array.zeros([0, rank], dtypes.int64)
    return SparseTensor(nowhere, array.zeros([0], like.values.dtype), whole)


def _with_row(before: Any, i: Tensor, result: Any) -> Any:
    """The results with those of one more row; sparse ones are as large as the largest row."""
    if isinstance(before, TensorArray):
        return before.write(i, result)
    if not isinstance(result, SparseTensor):
        raise TypeError(
            f"map_fn: fn returned {type(result).__name__} where elems have a SparseTensor, "
            "expected a SparseTensor; give dtype= for dense results"
        )
    number = array.fill([array.shape(result.values)[0], 1], elementwise.cast(i, dtypes.int64))
    positions = array.concat([number, result.indices], 1)
    largest = elementwise.maximum(before.dense_shape[1:], result.dense_shape)
    return SparseTensor(
        array.concat([before.indices, positions], 0),
        array.concat([before.values, result.values], 0),
        array.concat([before.dense_shape[:1], largest], 0),
    )
