"""SparseTensors put in order, reshaped, joined, cut, and filled up."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.framework.sparse_tensor import SparseTensor, SparseTensorValue
from graphio.ops.array import index, order, reshaping
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import (
    as_invalid_argument,
    describe,
    int_value,
    ints,
    node,
    scalar,
    scope,
    single,
    static_ints,
)
from graphio.ops.base.primitive import binary, cast, compare, int_vector, last, select
from graphio.ops.base.shapes import dims_of
from graphio.ops.checks import assertion
from graphio.ops.math import reduction
from graphio.ops.sparse import parts
from graphio.ops.sparse.parts import as_sparse, checked, picked, rank_of
from graphio.support import api_guard, errors

__all__ = [
    "sparse_concat",
    "sparse_expand_dims",
    "sparse_fill_empty_rows",
    "sparse_merge",
    "sparse_reorder",
    "sparse_reset_shape",
    "sparse_reshape",
    "sparse_retain",
    "sparse_slice",
    "sparse_split",
    "sparse_transpose",
]


class SparseFillEmptyRows(NamedTuple):
    """The results of sparse_fill_empty_rows."""

    sp_ordered_output: SparseTensor
    empty_row_indicator: Tensor


def _part(vector: Tensor, begin: int, end: int) -> Tensor:
    return primitive.slice_axes(vector, [begin], [end], [0])


def _after(axis: int) -> int:
    """The index at which the axes after one begin, from the end if the rank is not known."""
    return last if axis == -1 else axis + 1


def _size_at(shape: Tensor, axis: int) -> Tensor:
    """The size of an axis, a vector of one."""
    return _part(shape, axis, _after(axis))


def _inserted(axis: int) -> int:
    """The index of an axis for insertion, counted in the result."""
    return axis if axis >= 0 else _after(axis)


def _axis(axis: Any, rank: int | None, op: str, at: str) -> int:
    with as_invalid_argument():
        return shapes.normalize_axis(int_value(axis, op, "axis"), rank, describe(at, op))


# ---- order and shape ----


@api_guard.operator
def sparse_reorder(sp_input: Any, name: str | None = None) -> SparseTensor:
    """The same elements in ascending order of their indices, the first coordinate first.

    Args:
        sp_input: SparseTensor.
        name: of the operation.

    Raises:
        TypeError: sp_input is not a SparseTensor.
    """
    sp = as_sparse(sp_input)
    with scope(name, "SparseReorder") as at:
        return _ordered(sp, parts.numbers(sp), "SparseReorder", at)


def _ordered(sp: SparseTensor, keys: Tensor, tf_type: str, at: str) -> SparseTensor:
    """The elements in ascending order of their keys; those of equal keys stay as they are."""
    where = cast(order.argsort(keys), dtypes.int64)
    indices = primitive.gather(sp.indices, where, 0)
    return SparseTensor(indices, picked(sp.values, where, tf_type, at), sp.dense_shape)


@api_guard.operator
def sparse_reshape(sp_input: Any, shape: Any, name: str | None = None) -> SparseTensor:
    """The same elements, in row-major order, in another shape.

    Args:
        sp_input: SparseTensor.
        shape: integer vector; one -1 stands for what is left.
        name: of the operation.

    Raises:
        TypeError: sp_input is not a SparseTensor.
        ValueError: more than one -1, or another number of elements than is known.
        InvalidArgumentError: of the run: the same, where the SparseTensor's shape is not known.
    """
    sp = as_sparse(sp_input)
    with scope(name, "SparseReshape") as at:
        requested = ints(shape, "SparseReshape", "shape")
        requested = _checked_reshape(sp, requested)
        total, one = parts.total_size(sp.dense_shape), int_vector([1])
        open_size = compare("Less", requested, int_vector([0]))
        # With two sizes left open, the number of elements does not fit.
        given = parts.total_size(select(open_size, one, requested))
        if constant_value(requested) is None:
            given = _tells_the_rest(given, open_size)
        guarded = binary("Max", given, scalar(1, dtypes.int64))
        full = select(open_size, binary("Div", total, guarded), requested)
        count = primitive.unsqueeze(parts.total_size(full), [0])
        message = "Input to reshape has another number of dense values than the requested shape"
        same = parts.check_equal(primitive.unsqueeze(total, [0]), count, message)
        found = parts.numbers(sp)
        where = checked(primitive.unsqueeze(found, [1]), same)
        positions = parts.positions(primitive.squeeze(where, [1]), full)
        values = node("Identity", [sp.values], sp.dtype, dims_of(sp.values), name=at,
                      tf_type="SparseReshape")  # fmt: skip
        found_rows = dims_of(sp.indices) or (None,)
        (rank,) = dims_of(requested) or (None,)
        reshaped = SparseTensor(positions, values, _completed(sp, requested, full))
        return _of_rank(reshaped, rank, found_rows[0])


def _completed(sp: SparseTensor, requested: Tensor, full: Tensor) -> Tensor:
    """The sizes of the new shape, as numbers where the old shape determines the open one."""
    sizes, total = primitive.static_vector(requested), shapes.num_elements(dims_of(sp.shape))
    if sizes is None or total is None:
        return full
    known = [size for size in sizes if size is not None and size >= 0]
    rest = int(np.prod(known, dtype=np.int64))
    if len(sizes) - len(known) != 1 or not rest or total % rest:
        return full
    return int_vector([total // rest if s is None or s < 0 else s for s in sizes])


def _tells_the_rest(given: Tensor, open_size: Tensor) -> Tensor:
    """The product of the sizes that are given, not 0 where a size is left open."""
    nothing = compare("Equal", given, scalar(0, dtypes.int64))
    several = compare("And", reduction.reduce_any(open_size), nothing)
    holds = node("Not", [several], dtypes.bool, ())
    return assertion.once(given, holds, "reshape cannot infer a size next to one of 0:")


def _checked_reshape(sp: SparseTensor, requested: Tensor) -> Tensor:
    """The requested sizes, checked as far as they are known; the run checks the others."""
    known = constant_value(requested)
    if known is None:
        return requested
    implied = int(np.sum(known == -1))
    size = shapes.num_elements(dims_of(sp.shape))
    if implied > 1:
        words = "At most one dimension can be inferred (-1)."
        if size is not None:
            raise ValueError(f"{words} Found: {known.tolist()}")
        return assertion.never(requested, words)
    rest = int(np.prod(known[known != -1], dtype=np.int64))
    if implied and not rest:
        raise errors.InvalidArgumentError(
            message=f"reshape cannot infer the size left open in {known.tolist()}: next to "
            "one of 0 it may be any"
        )
    if size is None:
        return requested
    filled = [size // max(rest, 1) if v == -1 else int(v) for v in known.tolist()]
    if int(np.prod(filled, dtype=np.int64)) != size:
        raise ValueError(
            f"Cannot reshape a tensor with {size} elements to shape {known.tolist()} "
            f"({int(np.prod(filled, dtype=np.int64))} elements)."
        )
    return requested


@api_guard.operator
def sparse_transpose(sp_input: Any, perm: Any = None, name: str | None = None) -> SparseTensor:
    """The axes in another order, the elements in ascending order of their new indices.

    Args:
        sp_input: SparseTensor.
        perm: a permutation of the axes; None: their reverse.
        name: name scope of the operations.

    Raises:
        TypeError: sp_input is not a SparseTensor.
        ValueError: perm is not a permutation of the axes.
    """
    sp = as_sparse(sp_input)
    with scope(name, "SparseTranspose") as at:
        if perm is None:
            where, shape = (primitive.slice_axes(part, [last], [-last - 1], [axis], [-1])
                            for part, axis in ((sp.indices, 1), (sp.dense_shape, 0)))  # fmt: skip
        else:
            axes = _permutation(perm, rank_of(sp))
            where, shape = parts.columns(sp.indices, axes), parts.sized(sp.dense_shape, axes)
        moved = SparseTensor(where, sp.values, shape)
        return _ordered(moved, parts.numbers(moved), "SparseReorder", at)


def _permutation(perm: Any, rank: int | None) -> list[int]:
    given = static_ints(perm) or []
    axes = [a for a in given if a is not None]
    size = len(axes) if rank is None else rank
    if len(given) != size or sorted(axes) != list(range(size)):
        raise ValueError(
            f"sparse_transpose: perm is {perm!r}, expected a permutation of 0 ... {size - 1}"
        )
    return axes


@api_guard.operator
def sparse_expand_dims(sp_input: Any, axis: Any = None, name: str | None = None) -> SparseTensor:
    """A SparseTensor with one more axis, of size 1.

    Args:
        sp_input: SparseTensor.
        axis: where the axis comes, counted in the result; None: the last.
        name: name scope of the operations.

    Raises:
        ValueError: axis is out of range.
    """
    sp = as_sparse(sp_input)
    with scope(name, "expand_dims") as at:
        rank = rank_of(sp)
        whole = None if rank is None else rank + 1
        position = _inserted(_axis(-1 if axis is None else axis, whole, "expand_dims", at))
        column = primitive.slice_axes(sp.indices, [0], [0], [1])
        pads, nought = int_vector([0, 0, 0, 1]), scalar(0, dtypes.int64)
        rows = (dims_of(sp.indices) or (None,))[0]
        zeros = node("Pad", [column, pads, nought], dtypes.int64, (rows, 1), mode="constant")
        before = primitive.slice_axes(sp.indices, [0], [position], [1])
        after = primitive.slice_axes(sp.indices, [position], [last], [1])
        sizes = [_part(sp.dense_shape, 0, position), int_vector([1]),
                 _part(sp.dense_shape, position, last)]  # fmt: skip
        where = primitive.concat([before, zeros, after], 1)
        return SparseTensor(where, sp.values, primitive.concat(sizes, 0))


@api_guard.operator
def sparse_reset_shape(sp_input: Any, new_shape: Any = None) -> SparseTensor:
    """The same elements in a larger shape, or in the smallest one that holds them.

    Args:
        sp_input: SparseTensor.
        new_shape: integer vector, as long as the shape and nowhere less; None: the smallest.

    Raises:
        TypeError: sp_input is not a SparseTensor.
        ValueError: new_shape has another rank or a smaller size.
        InvalidArgumentError: the same, found at run time.
    """
    sp = as_sparse(sp_input)
    with scope(None, "SparseResetShape"):
        if new_shape is None:
            wide = primitive.expand(int_vector([-1]), primitive.shape_of(sp.dense_shape))
            floor = primitive.unsqueeze(wide, [0])
            reached = primitive.concat([sp.indices, floor], 0)
            highest = node("ReduceMax", [reached, int_vector([0])], dtypes.int64,
                           dims_of(sp.dense_shape), keepdims=0)  # fmt: skip
            smallest = binary("Add", highest, int_vector([1]))
            return SparseTensor(sp.indices, sp.values, smallest)
        requested = ints(new_shape, "sparse_reset_shape", "new_shape")
        _check_larger(dims_of(sp.shape), primitive.static_vector(requested))
        largest = binary("Max", requested, sp.dense_shape)
        message = "the new shape is smaller than that of the SparseTensor"
        held = parts.check_equal(requested, largest, message)
        return SparseTensor(sp.indices, sp.values, held)


def _check_larger(old: shapes.Dims, new: shapes.Dims) -> None:
    if old is None or new is None:
        return
    small = len(old) != len(new) or any(
        m is not None and n is not None and n < m for m, n in zip(old, new, strict=True)
    )
    if small:
        raise ValueError(
            f"sparse_reset_shape: new_shape {shapes.text(new)} must have the rank of "
            f"{shapes.text(old)} and be nowhere smaller"
        )


# ---- joining and cutting ----


@api_guard.operator
def sparse_concat(
    axis: Any,
    sp_inputs: Any,
    name: str | None = None,
    expand_nonconcat_dim: bool = False,
    concat_dim: Any = None,
    expand_nonconcat_dims: bool | None = None,
) -> SparseTensor:
    """SparseTensors one after another along axis, in ascending order of indices.

    Args:
        axis: along which they are joined.
        sp_inputs: list of SparseTensors of one dtype and rank.
        name: name scope of the operations.
        expand_nonconcat_dim: True: the other axes may differ, the result has the largest sizes.
        concat_dim: old name of axis.
        expand_nonconcat_dims: other name of expand_nonconcat_dim.

    Raises:
        TypeError: sp_inputs is not a list of SparseTensors of one dtype.
        ValueError: the ranks differ.
        InvalidArgumentError: of the run: the shapes do not fit; or axis is out of range, which a
            single SparseTensor does not look at.
    """
    if not isinstance(sp_inputs, (list, tuple)) or not sp_inputs:
        raise TypeError(f"sp_inputs must be a list of SparseTensors, but got {sp_inputs!r}")
    given = [as_sparse(sp, f"sp_inputs[{i}]") for i, sp in enumerate(sp_inputs)]
    if len(given) == 1:
        return given[0]
    expand = expand_nonconcat_dim if expand_nonconcat_dims is None else expand_nonconcat_dims
    with scope(name, "SparseConcat") as at:
        rank = next((r for r in map(rank_of, given) if r is not None), None)
        position = _axis(axis if concat_dim is None else concat_dim, rank, "SparseConcat", at)
        sizes = [_size_at(sp.dense_shape, position) for sp in given]
        rest = [_other_sizes(sp.dense_shape, position) for sp in given]
        around = rest[0]
        for other in rest[1:]:
            message = f"{describe(at, 'SparseConcat')}: all dimensions but {position} must be equal"
            around = (
                binary("Max", around, other)
                if expand
                else parts.check_equal(around, other, message)
            )
        total = sizes[0]
        moved = [checked(given[0].indices, given[0].dense_shape)]
        for sp, size in zip(given[1:], sizes[1:], strict=True):
            moved.append(
                _shifted(checked(sp.indices, sp.dense_shape), sp.dense_shape, position, total)
            )
            total = binary("Add", total, size)
        among = _inserted(position)
        shape = [_part(around, 0, among), total, _part(around, among, last)]
        dense_shape = primitive.concat(shape, 0)
        first = given[0].values.dtype
        values = [convert_to_tensor(sp.values, dtype=first) for sp in given]
        joined = SparseTensor(primitive.concat(moved, 0), primitive.concat(values, 0), dense_shape)
        return _of_rank(_ordered(joined, parts.numbers(joined), "SparseConcat", at), rank)


def _of_rank(sp: SparseTensor, rank: int | None, rows: int | None = None) -> SparseTensor:
    """The same, with what is known of the rank and of the number of elements."""
    sp.indices.set_shape([rows, rank])
    sp.values.set_shape([rows])
    sp.dense_shape.set_shape([rank])
    return sp


def _other_sizes(shape: Tensor, axis: int) -> Tensor:
    return primitive.concat([_part(shape, 0, axis), _part(shape, _after(axis), last)], 0)


def _along(shape: Tensor, axis: int, by: Tensor) -> Tensor:
    """A vector of zeros, one an axis, with `by`, a vector of one, at one axis."""
    before, after = _part(shape, 0, axis), _part(shape, _after(axis), last)
    return primitive.concat([primitive.fill_like(before, 0), by, primitive.fill_like(after, 0)], 0)


def _shifted(indices: Tensor, shape: Tensor, axis: int, by: Tensor) -> Tensor:
    """indices with `by` added to the coordinate of an axis."""
    return binary("Add", indices, _along(shape, axis, by))


def _within(
    sp: SparseTensor, start: Tensor, shape: Tensor, tf_type: str, at: str | None = None
) -> SparseTensor:
    """The part of a shape that begins at start."""
    end = binary("Add", start, shape)
    after = compare("GreaterOrEqual", sp.indices, start)
    inside = node("And", [after, compare("Less", sp.indices, end)], dtypes.bool, dims_of(after))
    kept = _rows(reduction.reduce_all(inside, [1]))
    where = binary("Sub", primitive.gather(sp.indices, kept, 0), start)
    return SparseTensor(where, picked(sp.values, kept, tf_type, at), shape)


def _rows(mask: Tensor) -> Tensor:
    """The numbers of the rows where a bool vector holds."""
    return primitive.squeeze(reshaping.where(mask), [1])


@api_guard.operator
def sparse_slice(sp_input: Any, start: Any, size: Any, name: str | None = None) -> SparseTensor:
    """A part of a SparseTensor, cut where the tensor ends.

    Args:
        sp_input: SparseTensor.
        start: integer vector (rank): where the part begins.
        size: integer vector (rank): how large it is.
        name: of the operation.

    Raises:
        TypeError: sp_input is not a SparseTensor.
        ValueError: start or size has not an entry for each axis.
    """
    sp = as_sparse(sp_input)
    with scope(name, "SparseSlice") as at:
        begin, extent = ints(start, "SparseSlice", "start"), ints(size, "SparseSlice", "size")
        for vector, label in ((begin, "start"), (extent, "size")):
            shapes.merge(dims_of(vector), dims_of(sp.dense_shape), f"SparseSlice: {label}")
        left = binary("Max", binary("Sub", sp.dense_shape, begin), int_vector([0]))
        shape = binary("Max", binary("Min", extent, left), int_vector([0]))
        return _within(sp, begin, shape, "SparseSlice", at)


@api_guard.operator
def sparse_split(
    keyword_required: Any = None,
    sp_input: Any = None,
    num_split: Any = None,
    axis: Any = None,
    name: str | None = None,
    split_dim: Any = None,
) -> list[SparseTensor]:
    """A SparseTensor cut into parts along axis; the first ones are larger by 1 if need be.

    Args:
        keyword_required: nothing: all that follows is given by keyword.
        sp_input: SparseTensor.
        num_split: how many parts.
        axis: along which it is cut.
        name: name scope of the operations.
        split_dim: old name of axis.

    Raises:
        ValueError: an argument is given by position or is missing, or num_split is out of range.
    """
    if keyword_required is not None:
        raise ValueError("Keyword arguments are required for this function.")
    if sp_input is None or num_split is None or (axis is None and split_dim is None):
        raise ValueError("sp_input, num_split and axis are required")
    sp = as_sparse(sp_input)
    with scope(name, "SparseSplit") as at:
        given = axis if split_dim is None else split_dim
        position = _axis(given, rank_of(sp), "SparseSplit", at)
        count = int_value(num_split, "SparseSplit", "num_split")
        sizes = dims_of(sp.shape)
        length = None if sizes is None else sizes[position]
        if count < 1 or (length is not None and count > length):
            raise ValueError(
                f"sparse_split: num_split is {count}, expected 1 to the size of axis {position}, "
                f"{'?' if length is None else length}"
            )
        return [_nth_part(sp, i, count, position) for i in range(count)]


def _nth_part(sp: SparseTensor, number: int, count: int, axis: int) -> SparseTensor:
    """Part `number` of `count`: the first ones are larger by 1 if the size does not divide."""
    size = _size_at(sp.dense_shape, axis)
    parts_in_all = int_vector([count])
    each = binary("Div", size, parts_in_all)
    left = binary("Sub", size, binary("Mul", each, parts_in_all))
    begin = binary("Add", binary("Mul", each, int_vector([number])),
                   binary("Min", left, int_vector([number])))  # fmt: skip
    longer = binary("Min", binary("Max", binary("Sub", left, int_vector([number])),
                                  int_vector([0])), int_vector([1]))  # fmt: skip
    extent = binary("Add", each, longer)
    before, after = _part(sp.dense_shape, 0, axis), _part(sp.dense_shape, _after(axis), last)
    start = _along(sp.dense_shape, axis, begin)
    shape = primitive.concat([before, extent, after], 0)
    return _within(sp, start, shape, "SparseSplit")


@api_guard.operator
def sparse_retain(sp_input: Any, to_retain: Any) -> SparseTensor:
    """Some elements of a SparseTensor.

    Args:
        sp_input: SparseTensor of n elements.
        to_retain: bool vector (n): which ones stay.

    Raises:
        TypeError: sp_input is not a SparseTensor.
        ValueError: to_retain has another length.
    """
    sp = as_sparse(sp_input)
    with scope(None, "SparseRetain") as at:
        mask = convert_to_tensor(to_retain, dtype=dtypes.bool, name="to_retain")
        shapes.merge(dims_of(sp.values), dims_of(mask), describe(at, "SparseRetain"))
        kept = _rows(mask)
        return SparseTensor(
            primitive.gather(sp.indices, kept, 0), index.gather(sp.values, kept), sp.dense_shape
        )


# ---- filling up and merging ----


@api_guard.operator
def sparse_fill_empty_rows(
    sp_input: Any, default_value: Any, name: str | None = None
) -> SparseFillEmptyRows:
    """One element at the start of each row that has none; the elements in order of their rows.

    Args:
        sp_input: SparseTensor of rank 1 or more; a row is what has one first coordinate.
        default_value: scalar of sp_input's dtype: the new elements.
        name: of the operation.

    Returns:
        The SparseTensor, and a bool vector: which rows were empty.

    Raises:
        TypeError: sp_input is not a SparseTensor.
        ValueError: its rank is 0.
    """
    sp = as_sparse(sp_input)
    with scope(name, "SparseFillEmptyRows") as at:
        rank = rank_of(sp)
        if rank == 0:
            raise ValueError("sparse_fill_empty_rows: sp_input is a scalar, it has no rows")
        default = convert_to_tensor(default_value, dtype=sp.dtype, name="default_value")
        if default.shape.ndims not in (0, None):
            raise ValueError(
                f"sparse_fill_empty_rows: default_value has shape {default.shape}, expected ()"
            )
        rows = primitive.squeeze(_size_at(sp.dense_shape, 0), [0])
        row_of = primitive.squeeze(
            primitive.slice_axes(checked(sp.indices, sp.dense_shape), [0], [1], [1]), [1]
        )
        ones = primitive.fill_like(row_of, 1)
        empty = compare("Equal", index.scatter_sum(row_of, ones, rows), scalar(0, dtypes.int64))
        added = reshaping.where(empty)
        others = binary("Sub", primitive.shape_of(sp.dense_shape), int_vector([1]))
        pads, nought = primitive.concat([int_vector([0] * 3), others], 0), scalar(0, dtypes.int64)
        positions = node("Pad", [added, pads, nought], dtypes.int64, (None, rank), mode="constant")
        count = _part(primitive.shape_of(added), 0, 1)
        new = primitive.expand(default, count)
        filled = SparseTensor(
            primitive.concat([sp.indices, positions], 0),
            primitive.concat([sp.values, new], 0),
            sp.dense_shape,
        )
        keys = primitive.concat([row_of, primitive.squeeze(added, [1])], 0)
        return SparseFillEmptyRows(_ordered(filled, keys, "SparseFillEmptyRows", at), empty)


@api_guard.operator
def sparse_merge(
    sp_ids: Any,
    sp_values: Any,
    vocab_size: Any,
    name: str | None = None,
    already_sorted: bool = False,
) -> SparseTensor:
    """Values under the numbers that have the same indices, which replace the last coordinate.

    Args:
        sp_ids: SparseTensor of int32 or int64, or a list of them: the new last coordinates.
        sp_values: SparseTensor of the same indices.
        vocab_size: integer scalar or a list of them: the sizes of the new axes.
        name: name scope of the operations.
        already_sorted: True leaves the elements in their order.

    Raises:
        TypeError: an argument is not a SparseTensor, or ids are not integers.
        ValueError: there are not as many sizes as sp_ids.
    """
    several = isinstance(sp_ids, (list, tuple)) and not isinstance(sp_ids, SparseTensorValue)
    ids_list = list(sp_ids) if several else [sp_ids]
    sizes = list(vocab_size) if isinstance(vocab_size, (list, tuple)) else [vocab_size]
    if len(ids_list) != len(sizes):
        raise ValueError(f"sp_ids and vocab_size have different lengths: {len(ids_list)} and "
                         f"{len(sizes)}")  # fmt: skip
    ids = [as_sparse(sp, "sp_ids") for sp in ids_list]
    held = as_sparse(sp_values, "sp_values")
    with scope(name, "SparseMerge") as at:
        new = []
        for sp in ids:
            if sp.dtype not in (dtypes.int32, dtypes.int64):
                raise TypeError(
                    f"sparse_merge: sp_ids are {sp.dtype.name}, expected int32 or int64"
                )
            new.append(primitive.unsqueeze(cast(sp.values, dtypes.int64), [1]))
        where = primitive.concat([primitive.slice_axes(ids[0].indices, [0], [-1], [1]), *new], 1)
        ends = [single(size, "sparse_merge", "vocab_size") for size in sizes]
        shape = primitive.concat([_part(ids[0].dense_shape, 0, -1), *ends], 0)
        merged = SparseTensor(where, held.values, shape)
        if already_sorted:
            return merged
        return _ordered(merged, parts.numbers(merged), "SparseReorder", at)
