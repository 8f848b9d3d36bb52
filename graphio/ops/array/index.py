"""Reading and writing by position: slices, gathers, scatters, one-hot."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.framework import dtypes, registered, scopes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.ops.array import run_axis
from graphio.ops.array import surface as array
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import (
    INTEGER,
    cut,
    describe,
    int_value,
    integers,
    ints,
    is_symbolic,
    node,
    operation,
    require,
    scalar,
    scope,
    static_ints,
    whole,
)
from graphio.ops.base.primitive import binary, cast, compare, last, select
from graphio.ops.base.shapes import Dims, dims_of
from graphio.ops.checks import assertion, run_checks
from graphio.support import api_guard, errors

__all__ = [
    "batch_gather",
    "boolean_mask",
    "gather",
    "gather_nd",
    "one_hot",
    "reverse",
    "reverse_v2",
    "scatter_nd",
    "scatter_sum",
    "segment_sum",
    "slice",
    "unsorted_segment_sum",
]

# ---- slices of ranges ----


@api_guard.operator
def slice(input_: Any, begin: Any, size: Any, name: str | None = None) -> Tensor:
    """size elements along each axis, from begin on.

    Args:
        input_: tensor of rank n.
        begin: n integers, from 0.
        size: n integers; -1 takes all that is left.
        name: of the operation.

    Raises:
        ValueError: begin and size differ in length.
        InvalidArgumentError: a part reaches beyond its axis.
        InvalidArgumentError: of the run, a part reaches beyond its axis.
    """
    with scope(name, "Slice") as at:
        x = convert_to_tensor(input_, name="input")
        dims, first, count = dims_of(x), static_ints(begin), static_ints(size)
        _check_slice(dims, first, count, describe(at, "Slice"))
        starts = run_checks.in_range(ints(begin, "Slice", "begin"), name="begin_checked")
        rank = next((len(known) for known in (dims, first, count) if known is not None), None)
        result: Dims = None
        if rank is not None:
            result = tuple(_slice_size(i, dims, first, count) for i in range(rank))
        if rank is None or not all(_size_tells(i, dims, first, count) for i in range(rank)):
            stop, checks = _checked_end(x, starts, size, first, count)
            with scopes.control_dependencies(checks):
                return node("Slice", [x, starts, stop], x.dtype, result, name=at)
        inputs = [x, starts, _end(starts, size, first, count)]
        if not _may_end_early(dims, first, result):
            return node("Slice", inputs, x.dtype, result, name=at)
        part = node("Slice", inputs, x.dtype, result)
        whole = [-1 if d is None else d for d in result or ()]
        made = operation(
            "EnsureShape", [part], [(x.dtype, result)], name=at, domain="graphio",
            tf_type="Slice", attrs={"dims": whole},
        )  # fmt: skip
        return made.outputs[0]


def _size_tells(
    axis: int, dims: Dims, begin: list[int | None] | None, size: list[int | None] | None
) -> bool:
    """Whether a part along an axis has the requested size only if it is inside the axis."""
    requested = None if size is None else size[axis]
    first = None if begin is None else begin[axis]
    if requested is None:
        return False
    known = dims is not None and dims[axis] is not None and first is not None
    return known or requested > 0 or first == 0


def _end(
    starts: Tensor, size: Any, begin: list[int | None] | None, count: list[int | None] | None
) -> Tensor:
    """The end of the part, axis by axis."""
    first, requested = _all_known(begin), _all_known(count)
    if first is not None and requested is not None:
        ends = [last if c == -1 else f + c for f, c in zip(first, requested, strict=True)]
        return primitive.int_vector(ends, "ends")
    sizes = ints(size, "Slice", "size")
    return select(_takes_rest(sizes), constant(np.asarray(last)), binary("Add", starts, sizes))


def _all_known(numbers: list[int | None] | None) -> list[int] | None:
    known = [n for n in numbers or () if n is not None]
    return None if numbers is None or len(known) < len(numbers) else known


def _takes_rest(sizes: Tensor) -> Tensor:
    return compare("Equal", sizes, constant(np.asarray(-1, np.int64)))


def _checked_end(
    x: Tensor,
    starts: Tensor,
    size: Any,
    begin: list[int | None] | None,
    count: list[int | None] | None,
) -> tuple[Tensor, list[Tensor]]:
    """As _end, with the checks that must run first, after which the part is within x."""
    limits, label = primitive.shape_of(x), "left_after_slice"
    first, requested = _all_known(begin), _all_known(count)
    if first is not None and requested is not None:
        needed = primitive.int_vector(
            [f + max(c, 0) for f, c in zip(first, requested, strict=True)]
        )
        left = run_checks.in_range(binary("Sub", limits, needed), name=label)
        return _end(starts, size, begin, count), [left]
    sizes = ints(size, "Slice", "size")
    end = select(_takes_rest(sizes), limits, binary("Add", starts, sizes))
    found = run_checks.in_range(binary("Sub", end, starts), name="size_checked")
    left = run_checks.in_range(binary("Sub", binary("Sub", limits, starts), found), name=label)
    return binary("Sub", limits, left), []


def _may_end_early(dims: Dims, begin: list[int | None] | None, result: Dims) -> bool:
    """Whether an axis of unknown size might be shorter than the requested part."""
    for axis, size in enumerate(result or ()):
        known = dims is not None and dims[axis] is not None and begin is not None
        if size is not None and not (known and begin is not None and begin[axis] is not None):
            return True
    return False


def _slice_size(
    axis: int,
    dims: Dims,
    begin: list[int | None] | None,
    size: list[int | None] | None,
) -> int | None:
    requested = None if size is None else size[axis]
    if requested is None or requested >= 0:
        return requested
    full = None if dims is None else dims[axis]
    first = None if begin is None else begin[axis]
    return None if full is None or first is None else full - first


def _check_slice(
    dims: Dims, begin: list[int | None] | None, size: list[int | None] | None, what: str
) -> None:
    if begin is not None and size is not None and len(begin) != len(size):
        raise ValueError(f"slice: begin has {len(begin)} entries, size {len(size)} for {what}")
    for parameter, numbers, least in (("begin", begin, 0), ("size", size, -1)):
        if numbers is not None and dims is not None and len(numbers) != len(dims):
            raise ValueError(
                f"slice: {parameter} has {len(numbers)} entries, but the tensor has rank "
                f"{len(dims)} for {what}"
            )
        for axis, number in enumerate(numbers or ()):
            if number is not None and number < least:
                raise errors.InvalidArgumentError(
                    message=f"Expected {parameter}[{axis}] to be {least} or more, but got {number} "
                    f"for {what}"
                )
    if dims is None or begin is None or size is None:
        return
    for axis, (full, first, count) in enumerate(zip(dims, begin, size, strict=True)):
        if full is None or first is None or count is None:
            continue
        if first + max(count, 0) > full:
            raise errors.InvalidArgumentError(
                message=f"Expected begin[{axis}] in [0, {full}] and begin + size <= {full}, but "
                f"got begin {first} and size {count} for {what} with input shapes: "
                f"{shapes.text(dims)}."
            )


@api_guard.operator
def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """tensor with the order along the axes reversed.

    Raises:
        ValueError: an axis is out of range or comes twice.
    """
    with scope(name, "ReverseV2") as at:
        x = convert_to_tensor(tensor, name="tensor")
        found = static_ints(axis)
        if found is None or None in found:
            return _reversed(x, ints(axis, "ReverseV2", "axis"), at)
        axes = shapes.normalize_axes(
            [a for a in found if a is not None], x.shape.ndims, describe(at, "ReverseV2")
        )
        if not axes:
            return primitive.unary("Identity", x, at)
        n = len(axes)
        return primitive.slice_axes(x, [last] * n, [-last - 1] * n, axes, [-1] * n, at)


def _reversed(x: Tensor, axis: Tensor, name: str) -> Tensor:
    """x reversed along a vector of axes that only the run knows, each of them once."""
    checked = run_axis.checked_axes(x, axis, "ReverseV2")
    axes = run_checks.distinct(checked, "reverse names an axis twice:")
    count = primitive.shape_of(axes)
    bounds = [
        primitive.expand(primitive.int_vector([v]), count, (None,))
        for v in (last, -last - 1, -1)
    ]  # fmt: skip
    inputs = [x, bounds[0], bounds[1], axes, bounds[2]]
    return node("Slice", inputs, x.dtype, dims_of(x), name=name, tf_type="ReverseV2")


reverse_v2 = reverse


# ---- rows by number ----


@api_guard.operator
def gather(
    params: Any,
    indices: Any,
    validate_indices: bool | None = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: int = 0,
) -> Tensor:
    """The slices of params along axis that indices names.

    Args:
        params: tensor of rank 1 or more.
        indices: integer tensor of any shape, each in [0, size of the axis).
        validate_indices: False takes negative indices as counted from the end.
        name: of the operation.
        axis: which axis; None: batch_dims.
        batch_dims: how many leading axes params and indices share; negative counts from the end
            of indices.

    Returns:
        A tensor of params' shape with the axis replaced by indices' shape, without the shared
        axes.

    Raises:
        TypeError: indices is not an integer tensor.
        ValueError: axis or batch_dims is out of range, or a rank that batch_dims needs is unknown.
        InvalidArgumentError: of the run, an index is out of range.
    """
    with scope(name, "GatherV2") as at:
        x = convert_to_tensor(params, name="params")
        positions = convert_to_tensor(indices, name="indices")
        require(positions, INTEGER, "GatherV2", "indices")
        if run_axis.is_open(axis) and not batch_dims:
            return run_axis.along(
                x, axis, "GatherV2", at,
                lambda flat: gather(flat, positions, validate_indices, axis=run_axis.AXIS),
            )  # fmt: skip
        number = batch_dims if axis is None else int_value(axis, "gather", "axis")
        if batch_dims:
            if validate_indices is not False:
                positions = run_checks.in_range(positions)
            return _gather_in_batches(x, positions, number if axis is not None else None,
                                      batch_dims, at)  # fmt: skip
        if x.shape.ndims == 0:
            raise ValueError(
                f"Shape must be at least rank 1 but is rank 0 for {describe(at, 'GatherV2')} "
                "with input shapes: []; a scalar has no slices"
            )
        number = shapes.normalize_axis(number, x.shape.ndims, describe(at, "GatherV2"))
        if validate_indices is not False:
            positions = run_checks.in_range(
                positions, None if x.shape.ndims is None else x.shape[number].value
            )
        return primitive.gather(x, positions, number, at, "GatherV2")


def _gather_in_batches(
    x: Tensor, positions: Tensor, axis: int | None, batch_dims: int, name: str
) -> Tensor:
    """The axis is moved after the shared ones, where a GatherND with coordinates of one number
    does the rest, and what it leaves is put in order."""
    what, rank, own = describe(name, "GatherV2"), x.shape.ndims, positions.shape.ndims
    if rank is None or own is None:
        raise ValueError(f"gather: batch_dims needs the ranks of params and indices for {what}")
    shared = batch_dims + own if batch_dims < 0 else batch_dims
    at = shapes.normalize_axis(shared if axis is None else axis, rank, what)
    if not 0 <= shared <= min(own, at):
        raise ValueError(
            f"batch_dims is {batch_dims}, expected at most axis {at} and the rank {own} of indices "
            f"for {what}"
        )
    dims, of_positions = dims_of(x), dims_of(positions)
    assert dims is not None and of_positions is not None
    shapes.merge(dims[:shared], of_positions[:shared], what)
    between = list(range(shared, at))
    if between:
        x = primitive.transpose(x, [*range(shared), at, *between, *range(at + 1, rank)])
    wide = primitive.unsqueeze(cast(positions, dtypes.int64), [own])
    if not between:
        return read_at(x, wide, shared, name)
    found = read_at(x, wide, shared)
    # (shared, indices, between, rest): between goes before indices.
    order = [*range(shared), *range(own, own + len(between)), *range(shared, own)]
    whole = own + rank - 1 - shared
    return primitive.transpose(found, [*order, *range(own + len(between), whole)], name)


@api_guard.operator
def batch_gather(params: Any, indices: Any, name: str | None = None) -> Tensor:
    """Along the last axis, the elements of params that indices names row by row.

    Args:
        params: tensor (..., n).
        indices: integer tensor (..., m) of the same leading sizes, each in [0, n). It may have
            fewer axes than params: then it chooses slices of the axis that its last one stands for.
        name: of the operation.

    Returns:
        A tensor (..., m), followed by the axes of slices.

    Raises:
        InvalidArgumentError: of the run, an index is out of range.
    """
    with scope(name, "BatchGather") as at:
        x = convert_to_tensor(params, name="params")
        dims = dims_of(x)
        positions = whole(indices, "BatchGather", "indices")
        own = positions.shape.ndims
        if dims is not None and own is not None and 0 < own < len(dims):
            return _gather_in_batches(x, run_checks.in_range(positions), None, own - 1, at)
        result = read_along(x, run_checks.in_range(positions, dims[-1] if dims else None), at)
        if dims is not None and own == len(dims):
            result.set_shape([*dims[:-1], None])
        return result


def read_along(x: Tensor, indices: Tensor, name: str | None = None) -> Tensor:
    """Along the last axis of x, the elements at indices, int64, known to be 0 or more."""
    axis = -1 if x.shape.ndims is None else x.shape.ndims - 1
    return node("GatherElements", [x, indices], x.dtype, dims_of(indices), name=name, axis=axis)


@api_guard.operator
def gather_nd(params: Any, indices: Any, name: str | None = None, batch_dims: Any = 0) -> Tensor:
    """The elements or slices of params at full or partial coordinates.

    Args:
        params: tensor (d0, d1, ..., rest).
        indices: integer tensor (..., k); its last axis holds coordinates of the first k axes.
        name: of the operation.
        batch_dims: how many leading axes params and indices share; an integer, or a tensor of one
            that is known while the graph is built.

    Returns:
        A tensor of shape indices.shape[:-1] + params.shape[k:].

    Raises:
        TypeError: indices is not an integer tensor.
        ValueError: k exceeds the rank of params.
        InvalidArgumentError: of the run, a coordinate is out of range.
    """
    with scope(name, "GatherNd") as at:
        x = convert_to_tensor(params, name="params")
        positions = convert_to_tensor(indices, name="indices")
        require(positions, INTEGER, "GatherNd", "indices")
        counts = static_ints(batch_dims)
        if counts is None or len(counts) != 1 or counts[0] is None:
            raise TypeError(f"gather_nd: batch_dims is {batch_dims}, expected one known integer")
        batches = counts[0]
        dims = dims_of(positions)
        depth = None if not dims else dims[-1]
        if depth is not None and x.shape.ndims is not None and depth > x.shape.ndims - batches:
            raise ValueError(
                f"indices.shape[-1] must be <= params.rank, but saw indices shape: "
                f"{shapes.text(dims)} and params shape: {shapes.text_of(x)} for "
                f"{describe(at, 'GatherNd')}"
            )
        checked = run_checks.in_range(cast(positions, dtypes.int64))
        if batches or not getattr(params, "use_resource", False):
            return read_at(x, checked, batches, at)
        return primitive.unary("Identity", read_at(x, checked, 0, at, "ResourceGatherNd"))


def read_at(
    x: Tensor,
    indices: Tensor,
    batch_dims: int = 0,
    name: str | None = None,
    tf_type: str = "GatherNd",
) -> Tensor:
    """The elements or slices of x at coordinates, int64 (..., k), known to be 0 or more."""
    dims, at = dims_of(x), dims_of(indices)
    result: Dims = None
    if dims is not None and at is not None and at[-1] is not None:
        result = (*at[:-1], *dims[batch_dims + at[-1] :])
    return node(
        "GatherND",
        [x, indices],
        x.dtype,
        result,
        name=name,
        tf_type=tf_type,
        batch_dims=batch_dims,
    )


@api_guard.operator
def boolean_mask(tensor: Any, mask: Any, name: str = "boolean_mask", axis: Any = None) -> Tensor:
    """The elements or rows of tensor where mask holds.

    Args:
        tensor: any, of rank at least that of mask.
        mask: bool tensor of known rank 1 or more; its shape is that of tensor's axes
            from axis on.
        name: name scope of the operations.
        axis: which axis of tensor is the mask's first; None: 0.

    Raises:
        ValueError: mask's rank is 0 or unknown, the shapes do not fit, or axis is out of range.
    """
    with scope(name, "boolean_mask"):
        x = convert_to_tensor(tensor, name="tensor")
        chosen = convert_to_tensor(mask, dtype=dtypes.bool, name="mask")
        k = chosen.shape.ndims
        if not k:
            raise ValueError("boolean_mask: mask must be of known rank and no scalar")
        first = 0 if axis is None else int_value(axis, "boolean_mask", "axis")
        first = shapes.normalize_axis(first, x.shape.ndims, "'boolean_mask'")
        dims = dims_of(x)
        if dims is not None:
            shapes.merge(dims[first : first + k], dims_of(chosen), "'boolean_mask'")
        sizes = primitive.shape_of(x)
        before = primitive.slice_axes(sizes, [0], [first], [0])
        rest = primitive.slice_axes(sizes, [first + k], [last], [0])
        whole = primitive.int_vector([-1])
        if dims is None or not all(dims):  # next to a size of 0, -1 is ambiguous
            own = primitive.slice_axes(sizes, [first], [first + k], [0])
            whole = node("ReduceProd", [own], dtypes.int64, (1,), keepdims=1)
        x = array.reshape(x, primitive.concat([before, whole, rest], 0))
        found = array.where(array.reshape(chosen, [-1]))
        return gather(x, primitive.squeeze(found, [1]), False, axis=first)


# ---- writing by number ----


@api_guard.operator
def scatter_nd(indices: Any, updates: Any, shape: Any, name: str | None = None) -> Tensor:
    """A tensor of zeros with updates added at coordinates.

    Args:
        indices: integer tensor (..., k).
        updates: tensor of shape indices.shape[:-1] + shape[k:].
        shape: of the result.
        name: of the operation.

    Raises:
        ValueError: the shapes do not fit, or the result has no elements to scatter into.
        InvalidArgumentError: of the run, a coordinate is out of range.
    """
    with scope(name, "ScatterNd") as at:
        positions = run_checks.in_range(whole(indices, "ScatterNd", "indices"))
        values = convert_to_tensor(updates, name="updates")
        _check_scattered(
            dims_of(positions), dims_of(values), static_ints(shape), describe(at, "ScatterNd")
        )
        blank = array.zeros(shape, values.dtype)
        return add_at(blank, positions, values, at)


def _check_scattered(
    positions: Dims, values: Dims, shape: list[int | None] | None, what: str
) -> None:
    """Refuses shapes of indices and updates that cannot fit each other or the result's."""
    if positions is not None and values is not None:
        shapes.merge(positions[:-1], values[: len(positions) - 1], what)
        depth = positions[-1]
        if depth is not None and shape is not None:
            shapes.merge(values[len(positions) - 1 :], tuple(shape[depth:]), what)
    if shape is not None and 0 in shape:
        counts = [shapes.num_elements(dims) for dims in (positions, values)]
        if all(counts):
            raise ValueError(f"Indices and updates specified for empty output for {what}")


def add_at(data: Tensor, indices: Tensor, updates: Tensor, name: str | None = None) -> Tensor:
    """data with updates added at coordinates, int64 (..., k), known to be 0 or more."""
    inputs = [data, indices, updates]
    return node(
        "ScatterND",
        inputs,
        data.dtype,
        dims_of(data),
        name=name,
        tf_type="ScatterNd",
        version=16,
        reduction="add",
    )


def scatter_sum(indices: Any, values: Any, rows: Any, name: str | None = None) -> Tensor:
    """A tensor of `rows` rows, each the sum of the values whose index names it.

    Args:
        indices: integer tensor of any shape, each in [0, rows).
        values: tensor of indices' shape followed by the shape of a row.
        rows: integer scalar.
        name: of the operation.

    Returns:
        A tensor (rows, ...).
    """
    with scope(name, "ScatterSum") as at:
        positions = convert_to_tensor(indices, name="indices")
        parts = convert_to_tensor(values, name="values")
        count = convert_to_tensor(rows, name="rows")
        dims, at_dims = dims_of(parts), dims_of(positions)
        known = constant_value(count)
        result: Dims = None
        if dims is not None and at_dims is not None:
            result = (None if known is None else int(known), *dims[len(at_dims) :])
        inputs = [positions, parts, cast(count, dtypes.int64)]
        return node("ScatterSum", inputs, parts.dtype, result, name=at, domain="graphio")


def check_segments(data: Tensor, ids: Tensor, is_sorted: bool, what: str) -> Tensor:
    """The numbers of segments, if their shape fits the data's; sorted ones that are known to be
    more or fewer than the data's rows are an error of the run.

    Raises:
        ValueError: sorted ones are not a vector, or the data's shape does not start with theirs.
        InvalidArgumentError: the segments have more elements than a tensor can; of the run,
            sorted ones are not a vector.
    """
    rank, own = data.shape.ndims, ids.shape.ndims
    if is_sorted and own is not None and own != 1:
        raise ValueError(f"Shape must be rank 1 but is rank {own} for {what}: segment_ids")
    if is_sorted and own is None:
        ids, own = run_checks.vector(ids, f"{what}: segment_ids should be a vector"), 1
    if rank is None or own is None:
        return ids
    if rank < own:
        raise ValueError(f"Shape must be at least rank {own} but is rank {rank} for {what}: data")
    if is_sorted:
        _check_count(dims_of(data) or (), ids, what)
    begin, requested = (dims_of(data) or ())[:own], dims_of(ids) or ()
    if is_sorted and None not in (*begin, *requested) and begin != requested:
        words = f"{what}: segment_ids should be the same size as dimension 0 of the input"
        # Their number is left open, so that nothing else refuses them while the graph is built.
        return node("Identity", [assertion.never(ids, words)], ids.dtype, (None,))
    shapes.merge(begin, requested, what)
    return ids


def _check_count(dims: tuple[int | None, ...], ids: Tensor, what: str) -> None:
    known, row = constant_value(ids), shapes.num_elements(dims[1:])
    if known is None or row is None:
        return
    count = int(known.max(initial=-1)) + 1
    if count * row > int(dtypes.int64.max):
        raise errors.InvalidArgumentError(
            message=f"{count} segments of {row} elements are more than a tensor can hold for {what}"
        )


@api_guard.operator
def segment_sum(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """Sums of the rows of each segment.

    Args:
        data: numeric tensor (n, ...).
        segment_ids: integer vector (n), ascending from 0 or more.
        name: of the operation.

    Returns:
        A tensor (1 + last id, ...).
    """
    with scope(name, "SegmentSum") as at:
        ids = whole(segment_ids, "SegmentSum", "segment_ids")
        data = convert_to_tensor(data, name="data")
        ids = check_segments(data, ids, True, describe(at, "SegmentSum"))
        ids = run_checks.ascending(ids)
        known = constant_value(ids)
        if known is not None:
            count = constant(np.asarray(known.max(initial=-1) + 1, np.int64))
        else:
            largest = node("ReduceMax", [ids], dtypes.int64, (), keepdims=0)
            one, none = (constant(np.asarray(v, np.int64)) for v in (1, 0))
            count = binary("Max", binary("Add", largest, one), none)
        return scatter_sum(ids, data, count, name=at)


@api_guard.operator
def unsorted_segment_sum(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Tensor:
    """Sums of the rows of each segment, in any order; rows with a negative id are left out.

    Args:
        data: numeric tensor (n, ...).
        segment_ids: integer tensor whose shape is that of data's first axes.
        num_segments: integer scalar.
        name: of the operation.

    Returns:
        A tensor (num_segments, ...).
    """
    with scope(name, "UnsortedSegmentSum") as at:
        ids = whole(segment_ids, "SegmentSum", "segment_ids")
        data = convert_to_tensor(data, name="data")
        check_segments(data, ids, False, describe(at, "UnsortedSegmentSum"))
        count = whole(cut(num_segments), "UnsortedSegmentSum", "num_segments")
        known = constant_value(ids)
        if known is not None and not np.any(known < 0):
            return scatter_sum(ids, data, count, name=at)
        # The rows to leave out go to one more segment, which is then cut off.
        zero, one = (constant(np.asarray(v, np.int64)) for v in (0, 1))
        placed = select(compare("Less", ids, zero), count, ids)
        total = scatter_sum(placed, data, binary("Add", count, one))
        end = primitive.unsqueeze(count, [0])
        inputs = [total, primitive.int_vector([0]), end, primitive.int_vector([0])]
        dims, rows = dims_of(total), constant_value(count)
        if dims is not None:
            dims = (None if rows is None else int(rows), *dims[1:])
        return node("Slice", inputs, total.dtype, dims, name=at)


@api_guard.operator
def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """on_value at the position given by each index along a new axis, off_value elsewhere.

    Args:
        indices: integer tensor; one outside [0, depth) gives off_value alone.
        depth: size of the new axis.
        on_value: scalar; None: 1.
        off_value: scalar; None: 0.
        axis: index of the new axis; None: the last.
        dtype: of the result; None: that of on_value or off_value, else float32.
        name: of the operation.

    Raises:
        TypeError: on_value, off_value and dtype do not agree.
    """
    with scope(name, "one_hot") as at:
        positions = cast(integers(indices, "OneHot", "indices"), dtypes.int64)
        size = whole(cut(depth), "OneHot", "depth")
        requested = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
        given = [v for v in (on_value, off_value) if v is not None]
        if requested is None:
            given = [convert_to_tensor(v) for v in given]
        kinds = {v.dtype.base_dtype for v in given if is_symbolic(v)} | {requested} - {None}
        if len(kinds) > 1:
            named = ", ".join(sorted(kind.name for kind in kinds if kind is not None))
            raise TypeError(
                f"one_hot: on_value, off_value and dtype are of different types: {named}"
            )
        if requested is None:
            requested = given[0].dtype if given else dtypes.float32
        on, off = (
            scalar(default, requested)
            if value is None
            else convert_to_tensor(value, dtype=requested, name=label)
            for value, default, label in ((on_value, 1, "on_value"), (off_value, 0, "off_value"))
        )
        # ONNX counts negative indices from the end; depth itself is out of range.
        negative = compare("Less", positions, constant(np.asarray(0, np.int64)))
        guarded = select(negative, size, positions)
        values = primitive.concat([primitive.unsqueeze(v, [0]) for v in (off, on)], 0)
        dims, known = dims_of(positions), constant_value(size)
        position = -1 if axis is None else int(axis)
        result: Dims = None
        if dims is not None:
            where = shapes.normalize_axis(position, len(dims) + 1, describe(at, "OneHot"))
            result = (*dims[:where], None if known is None else int(known), *dims[where:])
        inputs = [guarded, size, values]
        return node("OneHot", inputs, requested, result, name=at, axis=position)


@registered.dense_of_rows.register
def _dense_of_rows(
    indices: Tensor, values: Tensor, dense_shape: Tensor, name: str | None
) -> Tensor:
    shape = cast(dense_shape, dtypes.int64)
    rows = array.squeeze(primitive.slice_axes(shape, [0], [1], [0]), [0])
    return scatter_sum(indices, values, rows, name=name)
