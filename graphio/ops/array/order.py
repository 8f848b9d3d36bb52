"""Sorting, the largest elements, and counting values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.ops.array import filling, index, reshaping, run_axis
from graphio.ops.array.distinct_values import vector
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import (
    FLOATING,
    INTEGER,
    NUMERIC,
    describe,
    int_value,
    integers,
    is_symbolic,
    like,
    node,
    operands,
    operation,
    require,
    scalar,
    scope,
)
from graphio.ops.base.primitive import binary, cast, compare
from graphio.ops.base.shapes import dims_of
from graphio.ops.checks import run_checks
from graphio.ops.math import elementwise, reduction
from graphio.ops.math.counting import length_for
from graphio.support import api_guard, errors

__all__ = [
    "argsort",
    "confusion_matrix",
    "histogram_fixed_width",
    "invert_permutation",
    "searchsorted",
    "setdiff1d",
    "sort",
    "top_k",
]


class TopKV2(NamedTuple):
    """The results of top_k."""

    values: Tensor
    indices: Tensor


class ListDiff(NamedTuple):
    """The results of setdiff1d."""

    out: Tensor
    idx: Tensor


# ---- order ----


def _ranked(
    x: Tensor,
    count: Tensor,
    axis: int,
    largest: bool,
    ordered: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The first `count` values along axis in order, and their int64 indices."""
    dims = dims_of(x)
    known = constant_value(count)
    if dims is not None:
        size = None if known is None else int(known.reshape(()))
        dims = (*dims[:axis], size, *dims[axis + 1 :])
    made = operation(
        "TopK",
        [x, count],
        [(x.dtype, dims), (dtypes.int64, dims)],
        attrs={"axis": axis, "largest": int(largest), "sorted": int(ordered)},
        name=name,
        tf_type="TopKV2",
    )
    return made.outputs[0], made.outputs[1]


@api_guard.operator
def top_k(input: Any, k: Any = 1, sorted: bool = True, name: str | None = None) -> TopKV2:
    """The k largest elements along the last axis, the first of equal ones first.

    Args:
        input: numeric tensor (..., n) of known rank.
        k: how many, up to n; an integer scalar.
        sorted: accepted; the values come in descending order.
        name: of the operation.

    Returns:
        values (..., k) and their indices (..., k), int32.

    Raises:
        ValueError: input is a scalar or of unknown rank, or k is known and negative or above n.
    """
    with scope(name, "TopKV2") as at:
        x = convert_to_tensor(input, name="input")
        require(x, NUMERIC, "TopKV2", "input")
        number = integers(k, "TopKV2", "k")
        dims, known = dims_of(x), constant_value(number)
        if dims == ():
            raise ValueError(
                f"Shape must be at least rank 1 but is rank 0 for {describe(at, 'TopKV2')} with "
                "input shapes: []."
            )
        size = None if dims is None else dims[-1]
        if known is not None and (known < 0 or (size is not None and known > size)):
            raise ValueError(
                f"input must have last dimension >= k = {int(known)} but is {size} for "
                f"{describe(at, 'TopKV2')} with input shapes: {shapes.text(dims)}."
            )
        count = primitive.reshape(cast(number, dtypes.int64), [1])
        axis = -1 if dims is None else len(dims) - 1
        values, positions = _ranked(x, count, axis, largest=True, name=at)
        return TopKV2(values, cast(positions, dtypes.int32))


def _sorted(values: Any, axis: Any, direction: str, tf_type: str, at: str) -> tuple[Tensor, Tensor]:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(
            f"{tf_type}: direction is {direction!r}, expected 'ASCENDING' or 'DESCENDING'"
        )
    x = convert_to_tensor(values, name="values")
    require(x, NUMERIC, tf_type, "values")
    rank = x.shape.ndims
    if rank == 0:
        raise ValueError(f"{tf_type}: values is a scalar, expected rank 1 or more")
    if rank is None or run_axis.is_open(axis):
        cut = run_axis.Cut(x, axis, tf_type)
        pair = _sorted(cut.flat, run_axis.AXIS, direction, tf_type, at)
        ordered, positions = (cut.restored(part) for part in pair)
        return ordered, positions
    position = shapes.normalize_axis(int_value(axis, tf_type, "axis"), rank, describe(at, tf_type))
    size = primitive.slice_axes(primitive.shape_of(x), [position], [position + 1], [0])
    return _ranked(x, size, position, direction == "DESCENDING")


@api_guard.operator
def sort(
    values: Any, axis: Any = -1, direction: str = "ASCENDING", name: str | None = None
) -> Tensor:
    """values in order along axis.

    Args:
        values: numeric tensor of rank 1 or more.
        axis: which axis.
        direction: ASCENDING or DESCENDING.
        name: of the operation.

    Raises:
        ValueError: axis is out of range, or direction is neither.
    """
    with scope(name, "sort") as at:
        return primitive.unary("Identity", _sorted(values, axis, direction, "sort", at)[0], at)


@api_guard.operator
def argsort(
    values: Any,
    axis: Any = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """The indices that sort values along axis: int32 of values' shape.

    Args:
        values: numeric tensor of rank 1 or more.
        axis: which axis.
        direction: ASCENDING or DESCENDING.
        stable: accepted; equal values always keep their order.
        name: of the operation.

    Raises:
        ValueError: axis is out of range, or direction is neither.
    """
    with scope(name, "argsort") as at:
        return cast(_sorted(values, axis, direction, "argsort", at)[1], dtypes.int32, at)


@api_guard.operator
def searchsorted(
    sorted_sequence: Any,
    values: Any,
    side: str = "left",
    out_type: Any = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """The indices at which values can be inserted into ascending sequences, which stay ascending.

    Every value is compared with every element of its sequence.

    Args:
        sorted_sequence: numeric tensor (..., n), ascending along the last axis.
        values: tensor (..., m) of the same dtype and leading sizes.
        side: left: before elements equal to the value; right: after them.
        out_type: int32 or int64.
        name: of the operation.

    Returns:
        A tensor (..., m) of numbers in [0, n].

    Raises:
        ValueError: side is neither, or a rank is 0 or unknown.
        TypeError: the dtypes differ.
    """
    if side not in ("left", "right"):
        raise ValueError(f"side must be either 'right' or 'left'. Saw: {side}.")
    with scope(name, "searchsorted") as at:
        row, searched = operands(
            sorted_sequence, values, "SearchSorted", ("sorted_sequence", "values")
        )
        require(row, NUMERIC, "SearchSorted", "sorted_sequence")
        dims, of_values = dims_of(row), dims_of(searched)
        if not dims or not of_values:
            raise ValueError("searchsorted: both tensors need a known rank of 1 or more")
        shapes.merge(dims[:-1], of_values[:-1], describe(at, "SearchSorted"))
        rank = len(dims)
        a, b = primitive.unsqueeze(row, [rank - 1]), primitive.unsqueeze(searched, [rank])
        below = compare("Less" if side == "left" else "LessOrEqual", a, b)
        number = dtypes.as_dtype(out_type).base_dtype
        counted = primitive.reduce_sum(cast(below, number), [rank], keepdims=False)
        return primitive.unary("Identity", counted, at)


# ---- distinct values ----


@api_guard.operator
def setdiff1d(x: Any, y: Any, index_dtype: Any = dtypes.int32, name: str | None = None) -> ListDiff:
    """The elements of a vector that another one lacks, in order, repeats kept.

    Every element is compared with every other one.

    Args:
        x: vector.
        y: vector of the same dtype.
        index_dtype: int32 or int64.
        name: name scope of the operations.

    Returns:
        out, the elements, and idx, their indices in x.

    Raises:
        ValueError: x or y is not a vector.
        TypeError: the dtypes differ.
    """
    with scope(name, "ListDiff") as at:
        tensor = vector(x, "ListDiff", at)
        others = like(vector(y, "ListDiff", at, "y") if isinstance(y, Tensor) else y,
                      tensor, "ListDiff", ("x", "y"))  # fmt: skip
        equal = compare("Equal", primitive.unsqueeze(tensor, [1]), primitive.unsqueeze(others, [0]))
        absent = node("Not", [reduction.reduce_any(equal, [1])], dtypes.bool, dims_of(tensor))
        positions = primitive.squeeze(reshaping.where(absent), [1])
        kind = dtypes.as_dtype(index_dtype).base_dtype
        return ListDiff(primitive.gather(tensor, positions, 0), cast(positions, kind))


@api_guard.operator
def invert_permutation(x: Any, name: str | None = None) -> Tensor:
    """The permutation that takes another one back: y[x[i]] = i.

    Args:
        x: vector of int32 or int64 with each of 0 ... n - 1 once.
        name: of the operation.

    Raises:
        ValueError: x is not a vector.
        InvalidArgumentError: of the run, a number is out of range or comes twice.
    """
    with scope(name, "InvertPermutation") as at:
        tensor = vector(x, "InvertPermutation", at)
        require(tensor, INTEGER, "InvertPermutation")
        wide = run_checks.in_range(cast(tensor, dtypes.int64), tensor.shape[0].value)
        wide = run_checks.distinct(wide, "invert_permutation: a number is duplicated")
        size = primitive.squeeze(primitive.shape_of(wide), [0])
        numbers = cast(filling.range(size), tensor.dtype)
        inputs = [tensor, wide, numbers]
        return node("ScatterElements", inputs, tensor.dtype, dims_of(tensor), name=at, axis=0)


# ---- counting ----


@api_guard.operator
def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    dtype: Any = dtypes.int32,
    name: str | None = None,
    weights: Any = None,
) -> Tensor:
    """The counts of each pair of classes: one row a label, one column a prediction.

    Args:
        labels: integer vector (n), or (n, 1).
        predictions: integer vector (n), or (n, 1).
        num_classes: of classes; None: one more than the largest number.
        dtype: of the result.
        name: of the operation.
        weights: tensor (n); None: 1 each.

    Returns:
        A tensor (num_classes, num_classes).

    Raises:
        ValueError: the shapes differ.
        InvalidArgumentError: of the run, a class is out of range.
    """
    with scope(name, "confusion_matrix") as at:
        kind = dtypes.as_dtype(dtype).base_dtype
        pair, names = [], ("labels", "predictions")
        for value, label in zip((labels, predictions), names, strict=True):
            numbers = convert_to_tensor(value, name=label)
            if not numbers.dtype.is_integer:
                require(numbers, FLOATING, "confusion_matrix", label)
            pair.append(primitive.reshape(cast(numbers, dtypes.int64), [-1]))
        shapes.merge(dims_of(pair[0]), dims_of(pair[1]), describe(at, "confusion_matrix"))
        if num_classes is None:
            count = binary("Max", length_for(pair[0]), length_for(pair[1]))
        else:
            number = convert_to_tensor(num_classes, name="num_classes")
            count = primitive.reshape(cast(number, dtypes.int64), [])
        known = constant_value(count)
        size = None if known is None else int(known)
        pair = [run_checks.in_range(p, size, n) for p, n in zip(pair, names, strict=True)]
        if weights is None:
            parts = primitive.fill_like(pair[0], 1, kind)
        else:
            parts = cast(convert_to_tensor(weights, name="weights"), kind)
        side = primitive.unsqueeze(count, [0])
        positions = primitive.concat([primitive.unsqueeze(p, [1]) for p in pair], 1)
        shape = primitive.concat([side, side], 0)
        result = index.add_at(filling.zeros(shape, parts.dtype), positions, parts, at)
        if size is not None:
            result.set_shape([size, size])
        return result


def check_bins(value_range: Any, nbins: Any) -> None:
    """Refuses ends and a number of bins that are known and cannot be.

    Raises:
        ValueError: there are not two ends.
        InvalidArgumentError: there are no bins, or the ends do not ascend.
    """
    ends, count = (
        constant_value(v) if is_symbolic(v) else np.asarray(v) for v in (value_range, nbins)
    )
    if count is not None and count.dtype != object and np.any(count <= 0):
        raise errors.InvalidArgumentError(message=f"nbins should be > 0, got {count}")
    if ends is not None and ends.dtype != object and ends.shape != (2,):
        raise ValueError(f"value_range should be a vector of 2 elements, got shape {ends.shape}")
    if ends is not None and ends.dtype != object and ends[0] >= ends[1]:
        raise errors.InvalidArgumentError(message=f"value_range should ascend, got {ends.tolist()}")


@api_guard.operator
def histogram_fixed_width(
    values: Any,
    value_range: Any,
    nbins: Any = 100,
    dtype: Any = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """The number of values in each of equal parts of a range; those beyond count at its ends.

    Args:
        values: floating or integer tensor of any shape.
        value_range: two numbers of values' dtype, the ends.
        nbins: how many parts.
        dtype: of the result.
        name: of the operation.

    Returns:
        A vector (nbins).

    Raises:
        InvalidArgumentError: the ends are known not to ascend, or nbins not to be above 0.
    """
    with scope(name, "histogram_fixed_width") as at:
        check_bins(value_range, nbins)
        x = convert_to_tensor(values, name="values")
        require(x, NUMERIC, "histogram_fixed_width", "values")
        ends = cast(like(value_range, x, "HistogramFixedWidth", ("values", "value_range")),
                    dtypes.float64)  # fmt: skip
        low, high = (primitive.gather(ends, scalar(i, dtypes.int64), 0) for i in (0, 1))
        count = primitive.reshape(cast(convert_to_tensor(nbins, name="nbins"), dtypes.int64), [])
        wide = cast(count, dtypes.float64)
        apart = binary("Sub", cast(x, dtypes.float64), low)
        position = elementwise.floor(
            binary("Div", binary("Mul", apart, wide), binary("Sub", high, low))
        )
        zero, one = (scalar(v, dtypes.float64) for v in (0, 1))
        inside = binary("Max", binary("Min", position, binary("Sub", wide, one)), zero)
        positions = primitive.reshape(cast(inside, dtypes.int64), [-1])
        ones = primitive.fill_like(positions, 1, dtypes.as_dtype(dtype))
        return index.scatter_sum(positions, ones, count, name=at)
