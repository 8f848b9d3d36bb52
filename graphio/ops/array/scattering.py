"""Writing into copies of tensors by coordinates, reductions of segments, parts by number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.ops.array import index
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import (
    FLOATING_OR_COMPLEX,
    INTEGER,
    NUMERIC,
    cut,
    describe,
    int_value,
    integers,
    like,
    node,
    require,
    scalar,
    scope,
    whole,
)
from graphio.ops.base.primitive import binary, cast, compare, select
from graphio.ops.base.shapes import Dims, dims_of
from graphio.ops.base.signatures import Segments, UnsortedSegments
from graphio.ops.checks import run_checks
from graphio.ops.math.elementwise import TRUEDIV_OF
from graphio.ops.sparse import parts as sparse_parts
from graphio.support import api_guard

__all__ = [
    "dynamic_partition",
    "dynamic_stitch",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "tensor_scatter_add",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update",
    "tensor_scatter_sub",
    "tensor_scatter_update",
    "unsorted_segment_max",
    "unsorted_segment_mean",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sqrt_n",
]

# ---- writing ----


def _scattered(
    data: Tensor, positions: Tensor, updates: Tensor, reduction: str, name: str | None = None
) -> Tensor:
    version = {"none": 11, "add": 16, "mul": 16}.get(reduction, 18)
    attrs = {} if reduction == "none" else {"reduction": reduction}
    inputs = [data, positions, updates]
    return node("ScatterND", inputs, data.dtype, dims_of(data), name=name, version=version, **attrs)


def _write(
    tf_type: str, tensor: Any, indices: Any, updates: Any, name: str | None, sign: int
) -> Tensor:
    with scope(name, tf_type) as at:
        x = convert_to_tensor(tensor, name="tensor")
        positions = convert_to_tensor(indices, name="indices")
        require(positions, INTEGER, tf_type, "indices")
        values = like(updates, x, tf_type, ("tensor", "updates"))
        dims, coordinates = dims_of(x), dims_of(positions)
        if coordinates == () or (
            dims and coordinates and coordinates[-1] and coordinates[-1] > len(dims)
        ):
            raise ValueError(
                f"indices have shape {shapes.text(coordinates)}, their last size must be at most "
                f"the rank of {shapes.text(dims)} for {describe(at, tf_type)}"
            )
        if dims is not None and coordinates is not None and coordinates[-1] is not None:
            expected = (*coordinates[:-1], *dims[coordinates[-1] :])
            shapes.merge(dims_of(values), expected, describe(at, tf_type))
        if sign < 0:
            values = primitive.unary("Neg", values)
        wide = run_checks.in_range(cast(positions, dtypes.int64))
        return _scattered(x, wide, values, "add" if sign else "none", at)


@api_guard.operator
def tensor_scatter_update(
    tensor: Any, indices: Any, updates: Any, name: str | None = None
) -> Tensor:
    """A copy of a tensor with other elements or slices at coordinates.

    Args:
        tensor: any (d0, d1, ...).
        indices: integer tensor (..., k) of coordinates of the first k axes.
        updates: tensor of shape indices.shape[:-1] + tensor.shape[k:]; where a coordinate comes
            twice, the last one stays.
        name: of the operation.

    Raises:
        ValueError: the shapes do not fit.
        TypeError: the dtypes differ, or indices are not integers.
        InvalidArgumentError: of the run, a coordinate is out of range.
    """
    return _write("TensorScatterUpdate", tensor, indices, updates, name, 0)


@api_guard.operator
def tensor_scatter_add(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """A copy of a tensor with updates added at coordinates; see tensor_scatter_update."""
    return _write("TensorScatterAdd", tensor, indices, updates, name, 1)


@api_guard.operator
def tensor_scatter_sub(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """A copy of a tensor with updates taken away at coordinates; see tensor_scatter_update."""
    return _write("TensorScatterSub", tensor, indices, updates, name, -1)


tensor_scatter_nd_update = tensor_scatter_update
tensor_scatter_nd_add = tensor_scatter_add
tensor_scatter_nd_sub = tensor_scatter_sub


# ---- segments ----


def _segments(
    tf_type: str, reduction: str, empty: str, data: Any, segment_ids: Any, num_segments: Any,
    name: str | None,
) -> Tensor:  # fmt: skip
    """The reduction of each segment's rows; num_segments None: ids ascend up to the last one."""
    with scope(name, tf_type) as at:
        x = convert_to_tensor(data, name="data")
        require(x, FLOATING_OR_COMPLEX if reduction == "sqrt_n" else NUMERIC, tf_type, "data")
        ids = convert_to_tensor(segment_ids, name="segment_ids")
        require(ids, INTEGER, tf_type, "segment_ids")
        ids = index.check_segments(x, ids, num_segments is None, describe(at, tf_type))
        wide = cast(ids, dtypes.int64)
        if num_segments is None:
            wide = run_checks.not_negative(run_checks.ascending(wide), "segment ids must be >= 0")
        count = _count(wide) if num_segments is None else primitive.reshape(
            whole(cut(num_segments), "UnsortedSegmentSum", "num_segments"), []
        )  # fmt: skip
        if x.shape.ndims is None or wide.shape.ndims is None:
            x, wide = _stitched_rows(wide, x, None), primitive.reshape(wide, [-1])
        if reduction in ("mean", "sqrt_n"):
            if reduction == "mean" and num_segments is not None:
                x = _divisible(x)
            return _mean(x, wide, count, reduction, at)
        value = _neutral(x, reduction, empty == "kept")
        total = _reduced(x, wide, count, reduction, value)
        if empty == "kept":
            return primitive.unary("Identity", total, at)
        found = _members(wide, count, x)
        return select(compare("Greater", found, scalar(0, found.dtype)), total,
                      scalar(0 if reduction != "mul" else 1, x.dtype), at)  # fmt: skip


def _neutral(x: Tensor, reduction: str, finite: bool) -> Any:
    """The neutral element of the reduction; TensorFlow gives unsorted segments without rows the
    finite bounds of floats."""
    if reduction == "mul":
        return 1
    if x.dtype.is_floating and not finite:
        return -np.inf if reduction == "max" else np.inf
    return x.dtype.min if reduction == "max" else x.dtype.max


def _count(ids: Tensor) -> Tensor:
    known = constant_value(ids)
    if known is not None:
        return constant(np.asarray(known.max(initial=-1) + 1, np.int64))
    floor = primitive.concat([primitive.reshape(ids, [-1]), primitive.int_vector([-1])], 0)
    largest = node("ReduceMax", [floor], dtypes.int64, (), keepdims=0)
    return binary("Add", largest, scalar(1, dtypes.int64))


def _placed(ids: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
    """ids with the negative ones in one more segment, and the number of segments then."""
    left_out = compare("Less", ids, scalar(0, dtypes.int64))
    return select(left_out, count, ids), binary("Add", count, scalar(1, dtypes.int64))


def _reduced(x: Tensor, ids: Tensor, count: Tensor, reduction: str, value: Any) -> Tensor:
    rank = ids.shape.ndims or 0
    placed, rows = _placed(ids, count)
    rest = primitive.slice_axes(primitive.shape_of(x), [rank], [primitive.last], [0])
    shape = primitive.concat([primitive.unsqueeze(rows, [0]), rest], 0)
    filling = np.asarray([value], x.dtype.base_dtype.as_numpy_dtype)
    dims = primitive.static_vector(shape)
    blank = node("ConstantOfShape", [shape], x.dtype, dims, value=filling)
    total = _scattered(blank, primitive.unsqueeze(placed, [rank]), x, reduction)
    return primitive.slice_axes(total, [0], [-1], [0])


def _members(ids: Tensor, count: Tensor, x: Tensor) -> Tensor:
    """The number of rows of each segment, int32, in a shape that broadcasts to the result's."""
    placed, rows = _placed(ids, count)
    ones = primitive.fill_like(ids, 1, dtypes.int32)
    found = primitive.slice_axes(index.scatter_sum(placed, ones, rows), [0], [-1], [0])
    rank, own = x.shape.ndims, ids.shape.ndims or 0
    if rank is not None:
        return primitive.unsqueeze(found, list(range(1, rank - own + 1)))
    rest = primitive.slice_axes(primitive.shape_of(x), [1], [primitive.last], [0])
    sizes = [primitive.int_vector([-1]), primitive.fill_like(rest, 1)]
    return primitive.reshape(found, primitive.concat(sizes, 0), None)


def _divisible(x: Tensor) -> Tensor:
    """Integers in the dtype that true division makes of them."""
    return cast(x, TRUEDIV_OF.get(x.dtype.base_dtype, x.dtype))


def _mean(x: Tensor, ids: Tensor, count: Tensor, how: str, at: str) -> Tensor:
    total = index.unsorted_segment_sum(x, ids, count)
    kind = x.dtype.real_dtype
    members = cast(_members(ids, count, x), kind)
    divisor = binary("Max", members, scalar(1, kind))
    if how == "sqrt_n":
        divisor = primitive.unary("Sqrt", divisor)
    return binary("Div", total, cast(divisor, x.dtype), at)


def _sorted_builder(function: str, tf_type: str, reduction: str, summary: str) -> Segments:
    @api_guard.operator
    def build(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
        return _segments(tf_type, reduction, "neutral", data, segment_ids, None, name)

    build.__name__ = build.__qualname__ = function
    build.__doc__ = (
        f"{summary} over segments of rows.\n\n    Args:\n        data: numeric tensor "
        "(n, ...).\n        segment_ids: integer vector (n), ascending from 0 or "
        "more.\n        name: of the operation.\n\n    Returns:\n        A tensor (1 + last id, "
        "...); an id that is missing has "
        f"{'1' if reduction == 'mul' else '0'}.\n    "
    )
    return build


segment_mean = _sorted_builder("segment_mean", "SegmentMean", "mean", "Mean")
segment_max = _sorted_builder("segment_max", "SegmentMax", "max", "Maximum")
segment_min = _sorted_builder("segment_min", "SegmentMin", "min", "Minimum")
segment_prod = _sorted_builder("segment_prod", "SegmentProd", "mul", "Product")


def _unsorted_builder(
    function: str, tf_type: str, reduction: str, summary: str, none: str
) -> UnsortedSegments:
    @api_guard.operator
    def build(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
        return _segments(tf_type, reduction, "kept", data, segment_ids, num_segments, name)

    build.__name__ = build.__qualname__ = function
    build.__doc__ = (
        f"{summary} over segments of rows, in any order; rows with a negative id are left "
        "out.\n\n    Args:\n        data: numeric tensor (n, ...).\n        "
        "segment_ids: integer tensor whose shape is that of data's first axes.\n        "
        "num_segments: integer scalar.\n        name: of the operation.\n\n    Returns:\n"
        f"        A tensor (num_segments, ...); a segment without rows has {none}.\n    "
    )
    return build


unsorted_segment_mean = _unsorted_builder(
    "unsorted_segment_mean", "UnsortedSegmentMean", "mean", "Mean", "0"
)
unsorted_segment_sqrt_n = _unsorted_builder(
    "unsorted_segment_sqrt_n", "UnsortedSegmentSqrtN", "sqrt_n",
    "Sum divided by the root of the count,", "0",
)  # fmt: skip
unsorted_segment_max = _unsorted_builder(
    "unsorted_segment_max", "UnsortedSegmentMax", "max", "Maximum", "the dtype's lowest value"
)
unsorted_segment_min = _unsorted_builder(
    "unsorted_segment_min", "UnsortedSegmentMin", "min", "Minimum", "its largest value"
)
unsorted_segment_prod = _unsorted_builder(
    "unsorted_segment_prod", "UnsortedSegmentProd", "mul", "Product", "1"
)

# ---- parts ----


@api_guard.operator
def dynamic_partition(
    data: Any, partitions: Any, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """The rows of data by the number of their partition.

    Args:
        data: tensor (n, ...).
        partitions: int32 tensor whose shape is that of data's first axes; a scalar is the number
            of data as a whole.
        num_partitions: how many parts.
        name: name scope of the operations.

    Returns:
        A list of num_partitions tensors (count, ...).

    Raises:
        ValueError: the shapes do not fit, or the rank of partitions is unknown.
        InvalidArgumentError: of the run, a number is none of theirs, or the shapes do not fit.
    """
    parts = int_value(num_partitions, "dynamic_partition", "num_partitions")
    if not 1 <= parts < 2**31:
        raise ValueError(f"dynamic_partition: num_partitions is {parts}, expected 1 or more")
    with scope(name, "DynamicPartition"):
        x = convert_to_tensor(data, name="data")
        numbers = integers(partitions, "DynamicPartition", "partitions")
        if numbers.shape.ndims == 0:  # all of data is one row
            x, numbers = (primitive.unsqueeze(t, [0]) for t in (x, numbers))
        words = f"partitions is not in [0, {parts})"
        numbers = _leading(x, run_checks.within(numbers, parts, words))
        return [
            index.boolean_mask(x, compare("Equal", numbers, scalar(i, numbers.dtype)))
            for i in range(parts)
        ]


def _leading(data: Tensor, partitions: Tensor) -> Tensor:
    """partitions, once their shape is known to be that of data's first axes."""
    rank = partitions.shape.ndims
    if not rank:
        return partitions  # boolean_mask says what is wrong with it
    own = primitive.shape_of(partitions)
    lead = primitive.slice_axes(primitive.shape_of(data), [0], [rank], [0])
    message = "dynamic_partition: data.shape must start with partitions.shape"
    fitting = sparse_parts.check_equal(own, lead, message)
    if fitting is own:
        return partitions
    return primitive.reshape(partitions, fitting, dims_of(partitions))


def _stitched_rows(indices: Tensor, data: Tensor, rest: Dims) -> Tensor:
    """data with one row an index; rest: what is known of the shape of a row."""
    dims, rank = dims_of(data), indices.shape.ndims
    shape = primitive.shape_of(data)
    if rank is None:
        start = primitive.shape_of(primitive.shape_of(indices))
        end, axis = primitive.int_vector([primitive.last]), primitive.int_vector([0])
        inner = node("Slice", [shape, start, end, axis], dtypes.int64, (None,))
    else:
        inner = primitive.slice_axes(shape, [rank], [primitive.last], [0])
    count = primitive.count(indices, dtypes.int64)
    whole = primitive.concat([primitive.unsqueeze(count, [0]), inner], 0)
    length = None if dims is None or rank is None else shapes.num_elements(dims[:rank])
    return primitive.reshape(data, whole, None if rest is None else (length, *rest))


@api_guard.operator
def dynamic_stitch(indices: Sequence[Any], data: Sequence[Any], name: str | None = None) -> Tensor:
    """Rows of several tensors put at the positions given by indices; of equal ones the last row
    stays.

    Args:
        indices: a list of integer tensors.
        data: a list of tensors of one dtype; the shape of each starts with that of its indices.
        name: of the operation.

    Returns:
        A tensor (1 + the largest index, ...); rows that no index names are 0.

    Raises:
        ValueError: the lists are empty or differ in length.
        InvalidArgumentError: of the run, an index is negative.
    """
    if not indices or len(indices) != len(data):
        raise ValueError(
            f"dynamic_stitch: {len(indices)} indices and {len(data)} data, expected as many, and "
            "at least one"
        )
    with scope(name, "DynamicStitch") as at:
        first = convert_to_tensor(data[0], name="data_0")
        pieces: list[tuple[Tensor, Tensor]] = []
        rest: Dims = None
        for i, (where, what) in enumerate(zip(indices, data, strict=True)):
            x = first if i == 0 else like(what, first, "DynamicStitch", ("data[0]", f"data[{i}]"))
            at_rows = integers(where, "DynamicStitch", f"indices_{i}")
            pieces.append((at_rows, x))
            rank, dims = at_rows.shape.ndims, dims_of(x)
            if rank is not None and dims is not None:
                shapes.merge(dims_of(at_rows), dims[:rank], describe(at, "DynamicStitch"))
                rest = shapes.merge(rest, dims[rank:], describe(at, "DynamicStitch"))
        positions = [primitive.reshape(cast(i, dtypes.int64), [-1]) for i, _ in pieces]
        rows = [_stitched_rows(at_rows, x, rest) for at_rows, x in pieces]
        joined = positions[0] if len(positions) == 1 else primitive.concat(positions, 0)
        joined = run_checks.not_negative(joined, "dynamic_stitch: an index is negative")
        values = rows[0] if len(rows) == 1 else primitive.concat(rows, 0)
        tail = primitive.slice_axes(primitive.shape_of(values), [1], [primitive.last], [0])
        size = _count(joined)
        whole = primitive.concat([primitive.unsqueeze(size, [0]), tail], 0)
        zero = np.zeros(1, first.dtype.base_dtype.as_numpy_dtype)
        dims = primitive.static_vector(whole)
        blank = node("ConstantOfShape", [whole], first.dtype, dims, value=zero)
        return _scattered(blank, primitive.unsqueeze(joined, [1]), values, "none", at)
