"""Arithmetic of SparseTensors: sums, reductions, softmax, and the larger and smaller elements."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.sparse_tensor import SparseTensor, SparseTensorValue
from graphio.ops.array import reshaping, scattering
from graphio.ops.array.index import one_hot
from graphio.ops.array.surface import stop_gradient
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import (
    FLOATING,
    NUMERIC,
    as_invalid_argument,
    describe,
    ints,
    node,
    renamed,
    require,
    scalar,
    scope,
    static_ints,
)
from graphio.ops.base.primitive import binary, compare, int_vector, last, select
from graphio.ops.base.shapes import dims_of
from graphio.ops.base.signatures import SparseReduction
from graphio.ops.math import elementwise, reduction
from graphio.ops.math.comparison import logical_not
from graphio.ops.sparse import parts
from graphio.ops.sparse.parts import as_sparse, checked, picked
from graphio.support import api_guard

__all__ = [
    "sparse_add",
    "sparse_maximum",
    "sparse_minimum",
    "sparse_reduce_max",
    "sparse_reduce_max_sparse",
    "sparse_reduce_sum",
    "sparse_reduce_sum_sparse",
    "sparse_softmax",
]

#: Values, each one's group, how many groups there are: one value a group.
Combine = Callable[[Tensor, Tensor, Tensor], Tensor]

# ---- two SparseTensors ----


class _Union:
    """The ascending indices of the elements of two SparseTensors of a shape, each once."""

    def __init__(self, a: SparseTensor, b: SparseTensor, what: str) -> None:
        if a.dtype != b.dtype:
            raise TypeError(
                f"the SparseTensors are {a.dtype.name} and {b.dtype.name} for {what}; cast one"
            )
        message = f"The shapes of the SparseTensors differ for {what}"
        self.shape = parts.check_equal(a.dense_shape, b.dense_shape, message)
        both = primitive.concat([a.indices, b.indices], 0)
        keys = parts.numbers_within(checked(both, self.shape), self.shape)
        self.keys, self.groups, self.count = parts.grouped(keys)
        self._first = primitive.slice_axes(primitive.shape_of(a.values), [0], [1], [0])

    def groups_of(self, second: bool) -> Tensor:
        """The position among the indices of each element of one of the two."""
        begin, end = int_vector([0]), self._first
        if second:
            begin, end = self._first, int_vector([last])
        inputs = [self.groups, begin, end, int_vector([0])]
        return node("Slice", inputs, dtypes.int64, (None,))

    def spread(self, sp: SparseTensor, second: bool) -> Tensor:
        """The elements of one of the two at all the indices, 0 where it has none."""
        return parts.group_sums(sp.values, self.groups_of(second), self.count)

    def with_values(self, values: Tensor) -> SparseTensor:
        """The SparseTensor of one value for each index."""
        return parts.with_numbers(self.keys, values, self.shape)


@api_guard.operator
def sparse_add(a: Any, b: Any, threshold: Any = None, thresh: Any = None) -> Any:
    """The sum of two tensors of which at least one is sparse.

    Args:
        a: SparseTensor or tensor of numbers.
        b: the other one, of the same shape and dtype.
        threshold: scalar: with two SparseTensors, sums whose size is less are left out; None: 0,
            which keeps also those that are 0.
        thresh: old name of threshold.

    Returns:
        A SparseTensor, in ascending order of its indices, if both are; else a tensor.

    Raises:
        TypeError: neither is a SparseTensor, or the dtypes differ.
        ValueError: the shapes are known and differ.
        InvalidArgumentError: the same, found at run time.
    """
    if thresh is not None and threshold is not None:
        raise ValueError("Cannot specify both 'thresh' and 'threshold'")
    limit = thresh if threshold is None else threshold
    kinds = (SparseTensor, SparseTensorValue)
    if not isinstance(a, kinds) and not isinstance(b, kinds):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if not isinstance(b, kinds):
        return _plus_dense(as_sparse(a), b)
    if not isinstance(a, kinds):
        return _plus_dense(as_sparse(b), a)
    with scope(None, "SparseAdd") as at:
        one, two = as_sparse(a), as_sparse(b)
        union = _Union(one, two, describe(at, "SparseAdd"))
        values = primitive.concat([one.values, two.values], 0)
        sums = parts.group_sums(values, union.groups, union.count, at)
        if limit is None or (isinstance(limit, (int, float)) and limit <= 0):
            return union.with_values(sums)
        least = convert_to_tensor(limit, dtype=one.dtype, name="threshold")
        large = compare("GreaterOrEqual", primitive.unary("Abs", sums), least)
        kept = primitive.squeeze(reshaping.where(large), [1])
        keys = primitive.gather(union.keys, kept, 0)
        return parts.with_numbers(keys, picked(sums, kept, "SparseAdd"), union.shape)


def _plus_dense(sp: SparseTensor, dense: Any) -> Tensor:
    with scope(None, "SparseTensorDenseAdd") as at:
        what = describe(at, "SparseTensorDenseAdd")
        x = convert_to_tensor(dense, dtype=sp.dtype, name="b")
        message = f"The shapes of the sparse and the dense tensor differ for {what}"
        shape = parts.check_equal(sp.dense_shape, primitive.shape_of(x), message)
        inputs = [x, checked(sp.indices, shape), sp.values]
        return node("ScatterND", inputs, x.dtype, dims_of(x), name=at, version=16,
                    tf_type="SparseTensorDenseAdd", reduction="add")  # fmt: skip


def _chosen(op: str, tf_type: str, sp_a: Any, sp_b: Any, name: str | None) -> SparseTensor:
    with scope(name, tf_type) as at:
        one, two = as_sparse(sp_a, "sp_a"), as_sparse(sp_b, "sp_b")
        union = _Union(one, two, describe(at, tf_type))
        first, second = union.spread(one, second=False), union.spread(two, second=True)
        return union.with_values(binary(op, first, second, at))


@api_guard.operator
def sparse_maximum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """The larger elements of two SparseTensors of a shape; what is not stored is 0.

    Args:
        sp_a: SparseTensor of numbers.
        sp_b: SparseTensor of the same shape and dtype.
        name: of the operation.

    Returns:
        A SparseTensor of all indices that one of the two has, in ascending order.

    Raises:
        TypeError: an argument is not a SparseTensor, or the dtypes differ.
        ValueError: the shapes are known and differ.
        InvalidArgumentError: the same, found at run time.
    """
    return _chosen("Max", "SparseSparseMaximum", sp_a, sp_b, name)


@api_guard.operator
def sparse_minimum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """The smaller elements of two SparseTensors of a shape; see sparse_maximum."""
    return _chosen("Min", "SparseSparseMinimum", sp_a, sp_b, name)


# ---- reductions ----


def _among_the_axes(given: Tensor, sizes: Tensor) -> Tensor:
    """Whether each axis is listed, where only the run knows the rank or the list."""
    rank = primitive.shape_of(sizes)
    numbers = select(compare("Less", given, int_vector([0])), binary("Add", given, rank), given)
    held = primitive.squeeze(checked(primitive.unsqueeze(numbers, [1]), rank), [1])
    spread = one_hot(held, primitive.squeeze(rank, [0]), True, False)
    return reduction.reduce_any(spread, [0])


class _Reduction:
    """The parts of a SparseTensor that a reduction keeps: axes, sizes, and indices."""

    def __init__(self, sp: SparseTensor, axis: Any, keepdims: bool, tf_type: str, at: str) -> None:
        found = None if axis is None else static_ints(axis)
        axes = [a for a in found or () if a is not None]
        is_open = axis is not None and (found is None or len(axes) != len(found))
        one, rank, sizes = int_vector([1]), parts.rank_of(sp), sp.dense_shape
        if axis is None:
            whole = primitive.fill_like(sizes, 1)
            self._keep(sp, [])
        elif rank is None or is_open:
            reduced = _among_the_axes(ints(axis, tf_type, "axis"), sizes)
            self._keep(sp, primitive.squeeze(reshaping.where(logical_not(reduced)), [1]))
            whole = select(reduced, one, sizes)
        else:
            with as_invalid_argument():
                numbers = {shapes.normalize_axis(a, rank, describe(at, tf_type)) for a in axes}
            self._keep(sp, [a for a in range(rank) if a not in numbers])
            pieces = [one if a in numbers else primitive.slice_axes(sizes, [a], [a + 1], [0])
                      for a in range(rank)]  # fmt: skip
            whole = primitive.concat(pieces, 0) if pieces else int_vector([])
        self.shape = whole if keepdims else self.sizes

    def _keep(self, sp: SparseTensor, axes: parts.Axes) -> None:
        self.sizes = parts.sized(sp.dense_shape, axes)
        where = parts.columns(checked(sp.indices, sp.dense_shape), axes)
        self.keys = parts.numbers_within(where, self.sizes)

    def dense(self, combined: Callable[[Tensor, Tensor], Tensor], at: str) -> Tensor:
        """combined(numbers of the groups, how many there are), a value a group, in its shape."""
        flat = combined(self.keys, parts.total_size(self.sizes))
        dims = primitive.static_vector(self.shape)
        return primitive.reshape_to(flat, self.shape, dims, at)

    def sparse(self, combined: Callable[[Tensor, Tensor], Tensor]) -> SparseTensor:
        """The same for the groups that have an element."""
        keys, groups, count = parts.grouped(self.keys)
        return parts.with_numbers(keys, combined(groups, count), self.shape)


def _largest(values: Tensor, groups: Tensor, count: Tensor) -> Tensor:
    """The largest value of each group, 0 where it has none."""
    top = scattering.unsorted_segment_max(values, groups, count)
    members = parts.group_sums(primitive.fill_like(groups, 1), groups, count)
    some = compare("Greater", members, scalar(0, dtypes.int64))
    return select(some, top, scalar(0, values.dtype))


def _reduction_builder(
    function: str, tf_type: str, sparse: bool, combine: Any, summary: str
) -> SparseReduction:
    @api_guard.operator
    def build(
        sp_input: Any,
        axis: Any = None,
        keepdims: bool | None = None,
        reduction_axes: Any = None,
        keep_dims: bool | None = None,
    ) -> Any:
        sp = as_sparse(sp_input, "sp_input")
        with scope(None, tf_type) as at:
            require(sp.values, NUMERIC, tf_type, "sp_input")
            axes = renamed("axis", axis, "reduction_axes", reduction_axes)
            keep = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
            kept = _Reduction(sp, axes, keep, tf_type, at)
            combined = functools.partial(combine, sp.values)
            return kept.sparse(combined) if sparse else kept.dense(combined, at)

    build.__name__ = build.__qualname__ = function
    result = "SparseTensor" if sparse else "tensor"
    build.__doc__ = (
        f"{summary} along axes, as a {result}.\n\n    Args:\n        sp_input: SparseTensor of "
        "numbers, of known rank.\n        axis: which axes; None: all of them.\n        keepdims: "
        "True keeps the axes, with size 1.\n        reduction_axes: old name of axis.\n        "
        "keep_dims: old name of keepdims.\n\n    Raises:\n        TypeError: sp_input is not a "
        "SparseTensor of numbers.\n        ValueError: an axis is out of range.\n    "
    )
    return build


_SUM = "The sum of the elements"
_MAX = "The largest of the elements that are stored, 0 where there is none,"
sparse_reduce_sum = _reduction_builder(
    "sparse_reduce_sum", "SparseReduceSum", False, parts.group_sums, _SUM
)
sparse_reduce_sum_sparse = _reduction_builder(
    "sparse_reduce_sum_sparse", "SparseReduceSumSparse", True, parts.group_sums, _SUM
)
sparse_reduce_max = _reduction_builder(
    "sparse_reduce_max", "SparseReduceMax", False, _largest, _MAX
)
sparse_reduce_max_sparse = _reduction_builder(
    "sparse_reduce_max_sparse", "SparseReduceMaxSparse", True, _largest, _MAX
)


@api_guard.operator
def sparse_softmax(sp_input: Any, name: str | None = None) -> SparseTensor:
    """Softmax along the last axis over the elements that are stored.

    Args:
        sp_input: SparseTensor of a floating dtype and rank 2 or more.
        name: of the operation.

    Returns:
        A SparseTensor of the same indices.

    Raises:
        TypeError: sp_input is not a SparseTensor of a floating dtype.
        ValueError: its rank is less than 2.
    """
    sp = as_sparse(sp_input, "sp_input")
    with scope(name, "SparseSoftmax") as at:
        require(sp.values, FLOATING, "SparseSoftmax", "sp_input")
        rank = parts.rank_of(sp)
        if rank is not None and rank < 2:
            raise ValueError(
                f"sp_input has rank {rank}, expected 2 or more for {describe(at, 'SparseSoftmax')}"
            )
        where = primitive.slice_axes(checked(sp.indices, sp.dense_shape), [0], [-1], [1])
        keys = parts.numbers_within(where, primitive.slice_axes(sp.dense_shape, [0], [-1], [0]))
        _, groups, count = parts.grouped(keys)
        top = stop_gradient(scattering.unsorted_segment_max(sp.values, groups, count))
        powers = elementwise.exp(binary("Sub", sp.values, picked(top, groups, "SparseSoftmax")))
        sums = picked(parts.group_sums(powers, groups, count), groups, "SparseSoftmax")
        return SparseTensor(sp.indices, binary("Div", powers, sums, at), sp.dense_shape)
